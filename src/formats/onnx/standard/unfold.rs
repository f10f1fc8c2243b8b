//! Windows written out: for nodes that need to know which element of a window it was, and for their reverse.

use super::Convert;
use super::window::Window;
use crate::formats::onnx::context::Context;
use crate::formats::onnx::express::{full, int, size, sizes, text};
use crate::formats::onnx::read::Operand;
use crate::ops::Attribute;
use crate::tensor::{ElementType, Tensor, TensorType, element_count, list_text};
use crate::{Result, bail, ensure};

pub const ROWS: &[(&str, Convert)] = &[("MaxUnpool", max_unpool), ("Col2Im", col2im)];

/// For each window, the position of its first largest element in the whole of x, as i64.
pub fn max_indices(cx: &mut Context, x: &Operand, window: &Window, column_major: bool) -> Result<Operand> {
    let ty = cx.ty(x)?;
    let extents = ty.dims[2..].to_vec();
    let axes = extents.len();
    let counts = window.counts(&extents);
    // Padded so that every window is whole; padding is never the largest, but for a window of nothing else.
    let mut pads = vec![0; 2 * ty.rank()];
    for (axis, &extent) in extents.iter().enumerate() {
        pads[2 + axis] = window.begin[axis] as i64;
        let needed = (counts[axis].max(1) - 1) * window.stride[axis] + window.reach(axis);
        pads[ty.rank() + 2 + axis] = (needed as i64 - (extent + window.begin[axis]) as i64).max(0);
    }
    let attributes =
        vec![("pads", Attribute::Ints(pads)), ("mode", text("Constant")), ("value", Attribute::Float(f64::NEG_INFINITY))];
    let mut windows = cx.emit1("Pad", attributes, std::slice::from_ref(x))?;
    // Axis by axis: [.., n, ..] becomes [.., windows, kernel, ..].
    for axis in 0..axes {
        let starts = (0..counts[axis])
            .flat_map(|w| (0..window.kernel[axis]).map(move |k| w * window.stride[axis] + k * window.dilation[axis]));
        let index: Vec<i64> = starts.map(|i| i as i64).collect();
        let index = Operand::constant(Tensor::from_slice(&[counts[axis], window.kernel[axis]], &index));
        windows = cx.emit1("Gather", vec![("axis", size(2 + 2 * axis))], &[windows, index])?;
    }
    // All window axes, then all kernel axes.
    let perm: Vec<usize> = [0, 1].into_iter().chain((0..axes).map(|a| 2 + 2 * a)).chain((0..axes).map(|a| 3 + 2 * a)).collect();
    let windows = cx.transpose(&windows, &perm)?;
    let (outside, inside) = (element_count(&counts), element_count(&window.kernel));
    let windows = cx.reshape(&windows, &[ty.dims[0], ty.dims[1], outside, inside])?;
    let best = cx.emit1("ArgMax", vec![("axis", int(3)), ("keep_dims", int(true))], &[windows])?;
    // The position in one channel, looked up by window and place in the kernel; then the channel's own start.
    let table = positions(window, &extents, &counts, column_major);
    let table = cx.expand(&Operand::constant(table), &[ty.dims[0], ty.dims[1], outside, inside])?;
    let within = cx.emit1("GatherElements", vec![("axis", int(3))], &[table, best])?;
    let channels = ty.dims[0] * ty.dims[1];
    let starts: Vec<i64> = (0..channels).map(|c| (c * element_count(&extents)) as i64).collect();
    let starts = Operand::constant(Tensor::from_slice(&[ty.dims[0], ty.dims[1], 1, 1], &starts));
    let all = cx.binary("Add", &within, &starts)?;
    cx.reshape(&all, &[&ty.dims[..2], &counts[..]].concat())
}

/// [1, 1, windows, kernel]: where in a channel each element of each window is; 0 for padding.
fn positions(window: &Window, extents: &[usize], counts: &[usize], column_major: bool) -> Tensor {
    let (outside, inside) = (element_count(counts), element_count(&window.kernel));
    let axes = extents.len();
    let mut strides = vec![1; axes];
    if column_major {
        (1..axes).for_each(|a| strides[a] = strides[a - 1] * extents[a - 1]);
    } else {
        strides = crate::tensor::row_strides(extents);
    }
    let mut table = vec![0i64; outside * inside];
    for (i, slot) in table.iter_mut().enumerate() {
        let (mut w, mut k) = (i / inside, i % inside);
        let mut position = Some(0);
        for axis in (0..axes).rev() {
            let at = (w % counts[axis] * window.stride[axis] + k % window.kernel[axis] * window.dilation[axis])
                .checked_sub(window.begin[axis]);
            w /= counts[axis];
            k /= window.kernel[axis];
            position = position.and_then(|p| Some(p + at.filter(|&at| at < extents[axis])? * strides[axis]));
        }
        *slot = position.unwrap_or(0) as i64;
    }
    Tensor::from_slice(&[1, 1, outside, inside], &table)
}

/// Writes elements to the positions that MaxPool gave.
fn max_unpool(cx: &mut Context) -> Result<Vec<Operand>> {
    let (x, indices) = (cx.input(0)?, cx.input(1)?);
    let ty = cx.ty(&x)?;
    let window = Window::read(cx, &ty, None)?;
    let inferred: Vec<usize> = (0..ty.rank() - 2)
        .map(|a| {
            ((ty.dims[2 + a].max(1) - 1) * window.stride[a] + window.kernel[a]).saturating_sub(window.begin[a] + window.end[a])
        })
        .collect();
    let inferred = [&ty.dims[..2], &inferred[..]].concat();
    let dims = match cx.opt_constant_ints(2)? {
        Some(dims) => super::shape::sizes(&dims)?,
        None => inferred.clone(),
    };
    ensure!(
        dims.len() == ty.rank() && dims[..2] == ty.dims[..2],
        InvalidGraph,
        "an output of {dims} for {ty}",
        dims = list_text(&dims)
    );
    // Positions count in the inferred shape; a larger one has zeros behind.
    let zeros = full(ty.element, &[element_count(&inferred)], 0.0);
    let (flat, indices) = (cx.reshape(&x, &[ty.elements()])?, cx.reshape(&indices, &[ty.elements()])?);
    let y = cx.emit1("ScatterElements", vec![("axis", int(0)), ("reduction", text("None"))], &[zeros, indices, flat])?;
    let y = cx.reshape(&y, &inferred)?;
    if dims == inferred {
        return Ok(vec![y]);
    }
    let more = dims.iter().zip(&inferred).map(|(&d, &i)| d as i64 - i as i64);
    let pads: Vec<i64> = vec![0; dims.len()].into_iter().chain(more).collect();
    Ok(vec![cx.emit1("Pad", vec![("pads", Attribute::Ints(pads)), ("mode", text("Constant"))], &[y])?])
}

/// Adds the columns of windows up into an image: the transposed convolution whose kernel has one 1 for each column.
fn col2im(cx: &mut Context) -> Result<Vec<Operand>> {
    let x = cx.input(0)?;
    let ty = cx.ty(&x)?;
    let image = super::shape::sizes(&cx.constant_ints(1)?)?;
    let block = super::shape::sizes(&cx.constant_ints(2)?)?;
    let axes = image.len();
    let inside = element_count(&block);
    let fits = ty.rank() == 3 && block.len() == axes && inside > 0 && ty.dims[1] % inside == 0;
    ensure!(fits, InvalidGraph, "columns {ty} for blocks of {block}", block = list_text(&block));
    let channels = ty.dims[1] / inside;
    let image_type = TensorType::new(ty.element, [&[ty.dims[0], channels], &image[..]].concat());
    let window = Window::read(cx, &image_type, Some(block.clone()))?;
    let counts = window.counts(&image);
    ensure!(
        element_count(&counts) == ty.dims[2],
        InvalidGraph,
        "{} columns, the image has {counts} windows",
        ty.dims[2],
        counts = list_text(&counts)
    );
    let mut more = Vec::with_capacity(axes);
    for axis in 0..axes {
        let reached = (counts[axis].max(1) - 1) * window.stride[axis] + window.reach(axis);
        match (image[axis] + window.begin[axis] + window.end[axis]).checked_sub(reached) {
            Some(n) => more.push(n),
            None => bail!(
                InvalidGraph,
                "an image of {image} for {counts} windows",
                image = list_text(&image),
                counts = list_text(&counts)
            ),
        }
    }
    let columns = cx.reshape(&x, &[&[ty.dims[0], ty.dims[1]], &counts[..]].concat())?;
    let kernel_dims = [&[ty.dims[1], 1], &block[..]].concat();
    let ones: Vec<f64> = (0..ty.dims[1] * inside).map(|i| f64::from(i / inside % inside == i % inside)).collect();
    let kernel = Operand::constant(Tensor::from_f64(TensorType::new(ty.element, kernel_dims), &ones));
    let mut attributes = window.attributes();
    attributes.push(("output_padding", sizes(&more)));
    attributes.push(("groups", size(channels)));
    debug_assert!(ty.element != ElementType::Bool);
    Ok(vec![cx.emit1("ConvTranspose", attributes, &[columns, kernel])?])
}
