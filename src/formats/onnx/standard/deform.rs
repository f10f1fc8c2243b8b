//! Convolutions whose taps are moved by a tensor.

use super::Convert;
use crate::formats::onnx::context::Context;
use crate::formats::onnx::express::{int, text};
use crate::formats::onnx::read::Operand;
use crate::tensor::{ElementType, Tensor, TensorType, element_count, list_text};
use crate::{Result, ensure, error};

pub const ROWS: &[(&str, Convert)] = &[("DeformConv", deform_conv)];

/// A convolution over two axes.
struct Deformed {
    kernel: [usize; 2],
    stride: [usize; 2],
    dilation: [usize; 2],
    begin: [usize; 2],
    /// Of the result.
    extent: [usize; 2],
}

impl Deformed {
    fn read(cx: &Context, kernel: [usize; 2], extent: [usize; 2]) -> Result<Self> {
        let numbers = |name: &str, default: usize, count: usize| -> Result<Vec<usize>> {
            let Some(given) = cx.attributes.ints(name)? else { return Ok(vec![default; count]) };
            let given: Option<Vec<usize>> = given.iter().map(|&v| usize::try_from(v).ok()).collect();
            given.filter(|v| v.len() == count).ok_or_else(|| error!(InvalidGraph, "{name} must be {count} numbers from 0 on"))
        };
        let shape = numbers("kernel_shape", 0, 2)?;
        ensure!(
            shape == [0, 0] || shape == kernel,
            InvalidGraph,
            "kernel_shape {shape}, the weights have {kernel}",
            shape = list_text(&shape),
            kernel = list_text(&kernel)
        );
        let pair = |v: Vec<usize>| [v[0], v[1]];
        let pads = numbers("pads", 0, 4)?;
        let (stride, dilation) = (pair(numbers("strides", 1, 2)?), pair(numbers("dilations", 1, 2)?));
        Ok(Self { kernel, stride, dilation, begin: [pads[0], pads[1]], extent })
    }

    /// Where along `axis` the taps are before they are moved: [1, taps, results].
    fn places(&self, axis: usize, element: ElementType) -> Operand {
        let (taps, results) = (element_count(&self.kernel), element_count(&self.extent));
        let part = |i: usize, of: &[usize; 2]| if axis == 0 { i / of[1] } else { i % of[1] };
        let place = |tap: usize, result: usize| {
            let steps = part(result, &self.extent) * self.stride[axis] + part(tap, &self.kernel) * self.dilation[axis];
            steps as f64 - self.begin[axis] as f64
        };
        let values: Vec<f64> = (0..taps).flat_map(|t| (0..results).map(move |r| (t, r))).map(|(t, r)| place(t, r)).collect();
        Operand::constant(Tensor::from_f64(TensorType::new(element, [1, taps, results]), &values))
    }
}

/// Inputs x [N,C,H,W], weights, offsets [N, offset groups * taps * 2, h, w], bias, mask [N, offset groups * taps, h, w]. The taps are sampled
/// from x, as a GridSample does; then it is a product of matrices.
fn deform_conv(cx: &mut Context) -> Result<Vec<Operand>> {
    let (x, weights, offset) = (cx.input(0)?, cx.input(1)?, cx.input(2)?);
    let (ty, w, o) = (cx.ty(&x)?, cx.ty(&weights)?, cx.ty(&offset)?);
    ensure!(ty.rank() == 4, Unsupported, "a picture {ty}: only two spatial axes are supported");
    let groups = |name: &str| cx.attributes.int(name).map(|v| usize::try_from(v.unwrap_or(1)).unwrap_or(0));
    let (group, offset_group) = (groups("group")?, groups("offset_group")?);
    let (n, c) = (ty.dims[0], ty.dims[1]);
    let divides = |g: usize, n: usize| g > 0 && n.is_multiple_of(g);
    let fits = w.rank() == 4 && o.rank() == 4 && divides(group, c) && divides(offset_group, c) && divides(group, w.dims[0]);
    ensure!(fits, InvalidGraph, "x {ty}, weights {w}, offsets {o}, {group} groups, {offset_group} groups of offsets");
    let conv = Deformed::read(cx, [w.dims[2], w.dims[3]], [o.dims[2], o.dims[3]])?;
    let (taps, results) = (element_count(&conv.kernel), element_count(&conv.extent));
    ensure!(w.dims[1] == c / group, InvalidGraph, "weights {w} for {c} channels in {group} groups");
    let element = if ty.element == ElementType::F64 { ElementType::F64 } else { ElementType::F32 };

    let offset = cx.cast(&offset, element)?;
    let offset = cx.reshape(&offset, &[n * offset_group, taps, 2, results])?;
    let mut grid = Vec::new();
    // In the grid the last axis comes first, and -1..1 goes from edge to edge.
    for axis in [1, 0] {
        let moved = cx.narrow(&offset, 2, axis, 1)?;
        let moved = cx.reshape(&moved, &[n * offset_group, taps, results])?;
        let place = cx.binary("Add", &moved, &conv.places(axis, element))?;
        let extent = ty.dims[2 + axis] as f64;
        let place = cx.with_scalar("Mul", &place, 2.0 / extent)?;
        let place = cx.with_scalar("Add", &place, 1.0 / extent - 1.0)?;
        grid.push(cx.reshape(&place, &[n * offset_group, taps, results, 1])?);
    }
    let grid = cx.concat(&grid, 3)?;
    let x = cx.cast(&x, element)?;
    let x = cx.reshape(&x, &[n * offset_group, c / offset_group, ty.dims[2], ty.dims[3]])?;
    let attributes = vec![("mode", text("linear")), ("padding_mode", text("zeros")), ("align_corners", int(false))];
    let mut samples = cx.emit1("GridSample", attributes, &[x, grid])?;
    if let Some(mask) = cx.opt(4) {
        let mask = cx.cast(&mask, element)?;
        let mask = cx.reshape(&mask, &[n * offset_group, 1, taps, results])?;
        samples = cx.binary("Mul", &samples, &mask)?;
    }
    let terms = c / group * taps;
    let samples = cx.reshape(&samples, &[n, group, terms, results])?;
    let weights = cx.cast(&weights, element)?;
    let weights = cx.reshape(&weights, &[1, group, w.dims[0] / group, terms])?;
    let y = cx.matmul(&weights, &samples)?;
    let mut y = cx.reshape(&y, &[n, w.dims[0], conv.extent[0], conv.extent[1]])?;
    if let Some(bias) = cx.opt(3) {
        let bias = cx.cast(&bias, element)?;
        let bias = cx.reshape(&bias, &[1, w.dims[0], 1, 1])?;
        y = cx.binary("Add", &y, &bias)?;
    }
    Ok(vec![cx.cast(&y, ty.element)?])
}
