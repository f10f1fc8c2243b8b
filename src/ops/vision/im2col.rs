//! Im2Col: the windows of a picture as the rows of a matrix.

use super::window::Window;
use crate::kernels::kernel;
use crate::ops::movement::strided::unit_name;
use crate::ops::{Attribute, Attributes, Case, Inputs, Lowering, Operator, Reference};
use crate::tensor::{ElementType, Tensor, TensorType, element_count, list_text};
use crate::{Result, attributes, ensure};

attributes! {
    /// x [N,C,H,W] to rows (n, i, j) and columns (c, k, l); `padding` on both sides of each axis holds zeros.
    pub struct Im2Col { kernel: Vec<i64>, stride: Vec<i64>, padding: Vec<i64>, dilation: Vec<i64> }
}

crate::entries!(Im2Col: cases);

impl Im2Col {
    fn window(&self, x: &TensorType) -> Result<Window> {
        ensure!(x.rank() == 4, InvalidGraph, "takes [N, C, H, W], not {x}");
        ensure!(!x.element.is_block(), InvalidGraph, "does not take the packed type {}", x.element);
        let sizes: Option<Vec<usize>> = self.kernel.iter().map(|&k| usize::try_from(k).ok()).collect();
        let Some(sizes) = sizes else { crate::bail!(InvalidGraph, "a kernel {}", list_text(&self.kernel)) };
        Window::new(x, &sizes, &self.stride, &self.padding, &self.padding, &self.dilation)
    }
}

impl Operator for Im2Col {
    fn name(&self) -> &'static str {
        "Im2Col"
    }

    fn attributes(&self) -> Attributes {
        self.to_attributes()
    }

    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        ins.expect(1..=1)?;
        let x = ins.get(0)?;
        let window = self.window(x)?;
        let rows = x.dims[0] * element_count(&window.counts(false)?);
        Ok(vec![x.with_dims([rows, x.dims[1] * element_count(&window.kernel)])])
    }

    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        let x = at.input(0)?;
        let window = self.window(x.ty())?;
        let (counts, taps) = (window.counts(false)?, window.taps());
        let mut y = Tensor::zeros(at.output_type(0).clone());
        let (bytes, channels, [height, width]) = (x.element().block_bytes(), x.dims()[1], [window.extent[0], window.extent[1]]);
        let columns = channels * taps.len();
        for (i, out) in y.bytes_mut().chunks_exact_mut(bytes).enumerate() {
            let (row, column) = (i / columns, i % columns);
            let (c, tap) = (column / taps.len(), &taps[column % taps.len()]);
            let (n, position) = (row / (counts[0] * counts[1]), row % (counts[0] * counts[1]));
            let down = (position / counts[1] * window.stride[0] + tap[0]).checked_sub(window.begin[0]);
            let along = (position % counts[1] * window.stride[1] + tap[1]).checked_sub(window.begin[1]);
            if let (Some(down @ 0..), Some(along @ 0..)) = (down, along)
                && down < height
                && along < width
            {
                let from = (((n * channels + c) * height + down) * width + along) * bytes;
                out.copy_from_slice(&x.bytes()[from..][..bytes]);
            }
        }
        Ok(vec![y])
    }

    fn lower(&self, at: &mut Lowering) -> Result<()> {
        let (x, y) = (at.input_type(0), at.output_type(0));
        let window = self.window(x)?;
        let counts = window.counts(false)?;
        let count = y.elements();
        ensure!(count < 1 << 32, Unsupported, "{y} has {count} elements, above the limit of 2^32");
        ensure!(element_count(&window.extent) < 1 << 31, Unsupported, "{x}: a plane is above the limit of 2^31 elements");
        let lists = [&x.dims[1..2], &window.extent, &window.kernel, &window.stride, &window.begin, &window.dilation, &counts];
        let words: Vec<u32> = lists.into_iter().flatten().map(|&v| v as u32).collect();
        let params = at.constants(&words);
        let (from, to) = (at.input(0), at.output(0));
        at.dispatch(kernel::im2col(&unit_name(x.element.block_bytes()))?)
            .read("x", from)
            .write("y", to)
            .read("params", params)
            .uint("count", count)
            .uint("columns", y.last())
            .threads(count)
    }
}

fn cases() -> Vec<Case> {
    let case = |element, dims: &[usize], lists: [&[i64]; 4]| {
        let names = ["kernel", "stride", "padding", "dilation"];
        let attributes: Vec<_> = names.into_iter().zip(lists).map(|(name, v)| (name, Attribute::Ints(v.to_vec()))).collect();
        Case::new("Im2Col", &attributes).input(element, dims)
    };
    let mut out = Vec::new();
    for element in [ElementType::F32, ElementType::F16, ElementType::F64, ElementType::U8] {
        out.push(case(element, &[2, 3, 4, 5], [&[3, 3], &[1, 1], &[1, 1], &[1, 1]]));
        out.push(case(element, &[1, 2, 7, 8], [&[2, 3], &[2, 1], &[0, 1], &[1, 2]]));
    }
    out.push(case(ElementType::F32, &[1, 1, 257, 256], [&[2, 2], &[1, 1], &[0, 0], &[1, 1]]));
    out.push(case(ElementType::F32, &[0, 1, 5, 5], [&[2, 2], &[1, 1], &[0, 0], &[1, 1]]));
    out
}
