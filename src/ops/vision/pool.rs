//! Pool: the largest, smallest, sum, mean or p-norm of windows.

use super::window::{Window, three};
use crate::kernels::kernel;
use crate::ops::{Attribute, Attributes, Case, Fill, Inputs, Lowering, Operator, Reference};
use crate::tensor::{ElementType, Tensor, TensorType, element_count, list_text};
use crate::{Result, attribute_enum, attributes, ensure};

attribute_enum! {
    /// What is made of a window; the numbers are those of shaders/vision/pool.comp.
    pub enum PoolKind {
        Max = "Max",
        Min = "Min",
        Sum = "Sum",
        Mean = "Mean",
        Lp = "Lp",
    }
}

attributes! {
    /// x [N,C,spatial..]. A window of padding only gives -inf (Max), +inf (Min), 0 (Sum, Lp), NaN (Mean).
    pub struct Pool {
        kind: PoolKind,
        kernel: Vec<i64>,
        stride: Vec<i64>,
        pad_begin: Vec<i64>,
        pad_end: Vec<i64>,
        dilation: Vec<i64>,
        /// Keeps a last window that is not whole, unless it would start in the end padding.
        ceil: bool = false,
        /// Mean counts padding, but nothing beyond it.
        count_include_pad: bool = false,
        /// The power of Lp.
        p: usize = 2,
    }
}

crate::entries!(Pool: cases);

/// Taps of a window from which a workgroup works on it.
const WIDE_WINDOW: usize = 512;

impl Pool {
    fn window(&self, x: &TensorType) -> Result<Window> {
        let sizes: Option<Vec<usize>> = self.kernel.iter().map(|&k| usize::try_from(k).ok()).collect();
        let Some(sizes) = sizes else { crate::bail!(InvalidGraph, "a kernel {}", list_text(&self.kernel)) };
        Window::new(x, &sizes, &self.stride, &self.pad_begin, &self.pad_end, &self.dilation)
    }

    /// One result: the values in the window, and how many elements of x or of its padding the window covers.
    fn value(&self, values: &[f64], counted: usize) -> f64 {
        let sum = || values.iter().sum::<f64>();
        let extreme = |start: f64, better: fn(f64, f64) -> bool| {
            values.iter().fold(start, |best, &v| if best.is_nan() || !(v.is_nan() || better(v, best)) { best } else { v })
        };
        match self.kind {
            PoolKind::Max => extreme(f64::NEG_INFINITY, |v, best| v > best),
            PoolKind::Min => extreme(f64::INFINITY, |v, best| v < best),
            PoolKind::Sum => sum(),
            PoolKind::Mean => sum() / if self.count_include_pad { counted } else { values.len() } as f64,
            PoolKind::Lp => {
                let power = self.p as f64;
                values.iter().map(|v| v.abs().powf(power)).sum::<f64>().powf(1.0 / power)
            }
        }
    }
}

impl Operator for Pool {
    fn name(&self) -> &'static str {
        "Pool"
    }

    fn attributes(&self) -> Attributes {
        self.to_attributes()
    }

    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        ins.expect(1..=1)?;
        let x = ins.get(0)?;
        ensure!(x.element.is_float(), InvalidGraph, "takes floats, not {}", x.element);
        ensure!((1..1 << 16).contains(&self.p), InvalidGraph, "p is {}, outside 1..65536", self.p);
        let counts = self.window(x)?.counts(self.ceil)?;
        Ok(vec![x.with_dims([&x.dims[..2], &counts[..]].concat())])
    }

    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        let x = at.input(0)?;
        let window = self.window(x.ty())?;
        let ty = at.output_type(0).clone();
        let (values, taps) = (x.to_f64(), window.taps());
        let (axes, x_plane, y_plane) = (window.axes(), element_count(&window.extent), element_count(&ty.dims[2..]));
        let mut y = Vec::with_capacity(ty.elements());
        for i in 0..ty.elements() {
            let x = &values[i / y_plane * x_plane..];
            let mut rest = i % y_plane;
            let mut start = vec![0; axes];
            for a in (0..axes).rev() {
                start[a] = rest % ty.dims[2 + a] * window.stride[a];
                rest /= ty.dims[2 + a];
            }
            let (mut found, mut counted) = (Vec::new(), 0);
            for tap in &taps {
                // Coordinates in the padded input.
                let place: Vec<usize> = (0..axes).map(|a| start[a] + tap[a]).collect();
                counted += usize::from((0..axes).all(|a| place[a] < window.begin[a] + window.extent[a] + window.end[a]));
                if (0..axes).all(|a| (window.begin[a]..window.begin[a] + window.extent[a]).contains(&place[a])) {
                    found.push(x[(0..axes).fold(0, |at, a| at * window.extent[a] + place[a] - window.begin[a])]);
                }
            }
            y.push(self.value(&found, counted));
        }
        Ok(vec![Tensor::from_f64(ty, &y)])
    }

    fn lower(&self, at: &mut Lowering) -> Result<()> {
        let (x, y) = (at.input_type(0), at.output_type(0));
        let window = self.window(x)?;
        let (x_plane, y_plane) = (element_count(&window.extent), element_count(&y.dims[2..]));
        let planes = x.dims[0] * x.dims[1];
        let padded = (0..window.axes()).map(|a| window.extent[a] + window.begin[a] + window.end[a] + window.reach(a)).max();
        ensure!(x_plane < 1 << 31 && padded < Some(1 << 31), Unsupported, "{x}: a plane is above the limit of 2^31 elements");
        let mut words = Vec::new();
        for (list, fill) in [
            (&window.extent[..], 1),
            (&window.begin[..], 0),
            (&y.dims[2..], 1),
            (&window.stride[..], 1),
            (&window.kernel[..], 1),
            (&window.dilation[..], 1),
            (&window.end[..], 0),
        ] {
            words.extend(three(list, fill).map(|v: usize| v as u32));
            words.push(0);
        }
        let wide = element_count(&window.kernel) >= WIDE_WINDOW;
        let lanes = y_plane.div_ceil(4).clamp(1, 256).next_power_of_two();
        let chunks = y_plane.div_ceil(lanes * 4);
        let params = at.constants(&words);
        let (from, to) = (at.input(0), at.output(0));
        at.dispatch(kernel::pool(x.element.name())?)
            .read("x", from)
            .write("y", to)
            .read("params", params)
            .uint("planes", planes)
            .uint("chunks", chunks)
            .uint("x_plane", x_plane)
            .uint("y_plane", y_plane)
            .uint("kind", self.kind as usize)
            .uint("count_pad", self.count_include_pad.into())
            .uint("power", self.p)
            .spec("LANES", lanes as u32)
            .spec("WIDE", wide.into())
            .groups(if wide { planes * y_plane } else { planes.div_ceil(256 / lanes) * chunks })
    }

    fn terms(&self, _ins: &Inputs<TensorType>) -> usize {
        self.kernel.iter().product::<i64>().max(1) as usize
    }
}

fn cases() -> Vec<Case> {
    let case = |kind: PoolKind, element, dims: &[usize], lists: [&[i64]; 5], more: &[(&str, i64)]| {
        let names = ["kernel", "stride", "pad_begin", "pad_end", "dilation"];
        let mut attributes = vec![("kind", Attribute::Text(kind.text().into()))];
        attributes.extend(names.into_iter().zip(lists).map(|(name, v)| (name, Attribute::Ints(v.to_vec()))));
        attributes.extend(more.iter().map(|&(name, v)| (name, Attribute::Int(v))));
        Case::new("Pool", &attributes).input(element, dims)
    };
    let square = |k: i64, s: i64, p: i64| [[k, k], [s, s], [p, p], [p, p], [1, 1]];
    let mut out = Vec::new();
    for &kind in PoolKind::ALL {
        for element in [ElementType::F32, ElementType::F16, ElementType::Bf16, ElementType::F64] {
            let lists = square(3, 2, 1);
            out.push(case(kind, element, &[2, 3, 7, 9], lists.each_ref().map(|l| &l[..]), &[]));
        }
        let f32 = ElementType::F32;
        out.push(case(kind, f32, &[1, 2, 7, 8], [&[3, 2], &[2, 3], &[0, 0], &[0, 0], &[1, 1]], &[("ceil", 1)]));
        out.push(case(kind, f32, &[1, 2, 6, 7], [&[3, 2], &[2, 2], &[2, 1], &[1, 2], &[2, 2]], &[("count_include_pad", 1)]));
        out.push(case(kind, f32, &[1, 1, 3], [&[1], &[1], &[1], &[1], &[1]], &[]));
        out.push(case(kind, f32, &[1, 2, 4, 5, 3], [&[2, 3, 2], &[1, 1, 1], &[0, 1, 1], &[0, 1, 1], &[1, 1, 1]], &[]));
        out.push(case(kind, f32, &[2, 5, 29, 31], [&[29, 31], &[1, 1], &[0, 0], &[0, 0], &[1, 1]], &[]));
        out.push(case(kind, f32, &[65537, 1, 2, 2], [&[2, 2], &[1, 1], &[0, 0], &[0, 0], &[1, 1]], &[]));
        out.push(case(kind, f32, &[0, 2, 5], [&[3], &[1], &[0], &[0], &[1]], &[]));
    }
    out.push(case(PoolKind::Lp, ElementType::F32, &[1, 2, 5, 6], [&[2, 3], &[2, 2], &[1, 1], &[1, 1], &[1, 1]], &[("p", 3)]));
    out.push(case(PoolKind::Lp, ElementType::F64, &[1, 2, 5, 6], [&[2, 3], &[2, 2], &[1, 1], &[1, 1], &[1, 1]], &[("p", 1)]));
    let special = [f64::NAN, 1.0, f64::NEG_INFINITY, f64::INFINITY, -1e5, -1e38, 2.0];
    for &kind in PoolKind::ALL {
        let mut odd = case(kind, ElementType::F32, &[1, 1, 64], [&[2], &[2], &[0], &[0], &[1]], &[]);
        odd.inputs[0] = Some((TensorType::new(ElementType::F32, [1, 32, 14]), Fill::Values(special.to_vec())));
        out.push(odd);
    }
    out
}
