//! Nodes about images: resizing and sampling.

use super::Convert;
use super::interpolate::Weights;
use crate::formats::onnx::context::Context;
use crate::formats::onnx::express::{int, sizes, text};
use crate::formats::onnx::read::Operand;
use crate::ops::Attribute;
use crate::tensor::{Tensor, TensorType, normalize_axis};
use crate::{Result, bail, ensure};

pub const ROWS: &[(&str, Convert)] = &[
    ("Resize", resize),
    ("Upsample", upsample),
    ("GridSample", grid_sample),
    ("AffineGrid", affine_grid),
    ("RoiAlign", roi_align),
];

/// Inputs of opset 11 on: x, region, scales, sizes; of opset 10: x, scales.
fn resize(cx: &mut Context) -> Result<Vec<Operand>> {
    let x = cx.input(0)?;
    let ty = cx.ty(&x)?;
    let coordinates = match cx.attributes.text("coordinate_transformation_mode")? {
        _ if cx.version < 11 => "asymmetric",
        Some(mode) => mode,
        None => "half_pixel",
    };
    let mode = mode(cx)?;
    let nearest = if cx.version < 11 { "floor" } else { cx.attributes.text("nearest_mode")?.unwrap_or("round_prefer_floor") };
    let cubic_a = cx.attributes.float("cubic_coeff_a")?.unwrap_or(-0.75);
    let exclude_outside = cx.flag("exclude_outside", false)?;
    let antialias = cx.flag("antialias", false)?;
    let extrapolation = cx.attributes.float("extrapolation_value")?.unwrap_or(0.0);
    let axes: Vec<usize> = match cx.attributes.ints("axes")? {
        Some(axes) => axes.iter().map(|&a| normalize_axis(a, ty.rank())).collect::<Result<_>>()?,
        None => (0..ty.rank()).collect(),
    };
    let Some((scales, given)) = extent(cx, &ty, &axes)? else { bail!(InvalidGraph, "there are neither scales nor sizes") };
    // What the operator does not do: a region, weights without what is outside, and scales that do not make whole lengths where
    // corners are aligned, for there files mean the length before it is cut.
    let broken = |(&s, &n): (&f64, &usize)| (s * n as f64).fract() != 0.0;
    let aligned = coordinates == "align_corners" && given.is_none() && scales.iter().zip(&ty.dims).any(broken);
    if coordinates == "tf_crop_and_resize" || exclude_outside || (aligned && !antialias) {
        ensure!(!antialias, Unsupported, "antialias with {coordinates}, exclude_outside = {exclude_outside}");
        let region = if coordinates == "tf_crop_and_resize" { region(cx, &axes, ty.rank())? } else { Vec::new() };
        let how = Weights { mode, coordinates, nearest, cubic_a, exclude_outside, extrapolation, region };
        return Ok(vec![how.resize(cx, &x, &scales, given)?]);
    }
    ensure!(
        matches!(coordinates, "half_pixel" | "asymmetric" | "align_corners" | "pytorch_half_pixel" | "half_pixel_symmetric"),
        InvalidGraph,
        "coordinate_transformation_mode {coordinates}"
    );
    let mut attributes = vec![("mode", text(mode)), ("coordinate_mode", text(coordinates)), ("antialias", int(antialias))];
    match mode {
        "Nearest" => attributes.push(("nearest_mode", text(nearest))),
        "Cubic" => attributes.push(("cubic_a", Attribute::Float(cubic_a))),
        _ => {}
    }
    match given {
        Some(dims) => attributes.push(("sizes", sizes(&dims))),
        None => attributes.push(("scales", Attribute::Floats(scales))),
    }
    Ok(vec![cx.emit1("Resize", attributes, &[x])?])
}

/// Start and end of each axis of the input, as parts of it.
fn region(cx: &mut Context, axes: &[usize], rank: usize) -> Result<Vec<[f64; 2]>> {
    let given = cx.constant(1)?.to_f64();
    ensure!(given.len() == 2 * axes.len(), InvalidGraph, "a region of {} numbers for {} axes", given.len(), axes.len());
    let mut region = vec![[0.0, 1.0]; rank];
    axes.iter().enumerate().for_each(|(k, &axis)| region[axis] = [given[k], given[axes.len() + k]]);
    Ok(region)
}

fn mode(cx: &Context) -> Result<&'static str> {
    Ok(match cx.attributes.text("mode")?.unwrap_or("nearest") {
        "nearest" => "Nearest",
        "linear" | "bilinear" => "Linear",
        "cubic" => "Cubic",
        other => bail!(InvalidGraph, "mode {other}"),
    })
}

type Extent = (Vec<f64>, Option<Vec<usize>>);

/// Scales of all axes, or sizes of all axes.
fn extent(cx: &mut Context, ty: &TensorType, axes: &[usize]) -> Result<Option<Extent>> {
    let at = if cx.version < 11 { 1 } else { 2 };
    if let Some(scales) = cx.opt_constant(at)?.filter(|t| t.ty().elements() > 0) {
        let values = scales.to_f64();
        ensure!(values.len() == axes.len(), InvalidGraph, "{} scales for {} axes", values.len(), axes.len());
        let mut all = vec![1.0; ty.rank()];
        axes.iter().zip(&values).for_each(|(&axis, &v)| all[axis] = v);
        return Ok(Some((all, None)));
    }
    let policy = cx.attributes.text("keep_aspect_ratio_policy")?.unwrap_or("stretch");
    let Some(wanted) = cx.opt_constant_ints(3)? else { return Ok(None) };
    ensure!(wanted.len() == axes.len(), InvalidGraph, "{} sizes for {} axes", wanted.len(), axes.len());
    let wanted = super::shape::sizes(&wanted)?;
    let mut dims = ty.dims.clone();
    axes.iter().zip(&wanted).for_each(|(&axis, &n)| dims[axis] = n);
    if policy == "stretch" {
        return Ok(Some((Vec::new(), Some(dims))));
    }
    // One scale for all axes: the smallest or largest that the sizes ask for; lengths are rounded half up.
    let ratios = axes.iter().zip(&wanted).map(|(&axis, &n)| n as f64 / ty.dims[axis].max(1) as f64);
    let scale = match policy {
        "not_larger" => ratios.fold(f64::INFINITY, f64::min),
        "not_smaller" => ratios.fold(0.0, f64::max),
        other => bail!(InvalidGraph, "keep_aspect_ratio_policy {other}"),
    };
    for &axis in axes {
        dims[axis] = (ty.dims[axis] as f64 * scale + 0.5).floor() as usize;
    }
    Ok(Some((Vec::new(), Some(dims))))
}

/// The forerunner of Resize: scales are an attribute (opset 7) or input 1 (opset 9).
fn upsample(cx: &mut Context) -> Result<Vec<Operand>> {
    let x = cx.input(0)?;
    let mode = mode(cx)?;
    let scales = match cx.attributes.floats("scales")? {
        Some(scales) => scales,
        None => cx.constant(1)?.to_f64(),
    };
    let mut attributes = vec![("mode", text(mode)), ("coordinate_mode", text("asymmetric")), ("scales", Attribute::Floats(scales))];
    if mode == "Nearest" {
        attributes.push(("nearest_mode", text("floor")));
    }
    Ok(vec![cx.emit1("Resize", attributes, &[x])?])
}

/// Modes were called bilinear and bicubic before opset 20.
fn grid_sample(cx: &mut Context) -> Result<Vec<Operand>> {
    let mode = match cx.attributes.text("mode")?.unwrap_or("linear") {
        "bilinear" | "linear" => "linear",
        "bicubic" | "cubic" => "cubic",
        "nearest" => "nearest",
        other => bail!(InvalidGraph, "mode {other}"),
    };
    let padding = cx.attributes.text("padding_mode")?.unwrap_or("zeros");
    let align = cx.flag("align_corners", false)?;
    let (x, grid) = (cx.input(0)?, cx.input(1)?);
    let attributes = vec![("mode", text(mode)), ("padding_mode", text(padding)), ("align_corners", int(align))];
    let element = cx.ty(&x)?.element;
    let grid = cx.cast(&grid, element)?;
    Ok(vec![cx.emit1("GridSample", attributes, &[x, grid])?])
}

/// theta [N, d, d+1] times the coordinates of each pixel, last axis first, in -1..1.
fn affine_grid(cx: &mut Context) -> Result<Vec<Operand>> {
    let theta = cx.input(0)?;
    let ty = cx.ty(&theta)?;
    let shape = super::shape::sizes(&cx.constant_ints(1)?)?;
    ensure!(matches!(shape.len(), 4 | 5), InvalidGraph, "a size of {} axes", shape.len());
    let align = cx.flag("align_corners", false)?;
    let extents = &shape[2..];
    let axes = extents.len();
    let pixels: usize = extents.iter().product();
    let coordinate = |i: usize, n: usize| match (align, n) {
        (true, 1) => 0.0,
        (true, _) => -1.0 + 2.0 * i as f64 / (n - 1) as f64,
        (false, _) => (2 * i + 1) as f64 / n as f64 - 1.0,
    };
    let mut base = Vec::with_capacity(pixels * (axes + 1));
    for pixel in 0..pixels {
        let mut rest = pixel;
        let mut at = vec![0.0; axes];
        for axis in (0..axes).rev() {
            at[axis] = coordinate(rest % extents[axis], extents[axis]);
            rest /= extents[axis];
        }
        base.extend(at.iter().rev());
        base.push(1.0);
    }
    let base = Operand::constant(Tensor::from_f64(TensorType::new(ty.element, [1, pixels, axes + 1]), &base));
    let grid = cx.emit1("MatMul", vec![("transpose_b", int(true))], &[base, theta])?;
    let dims: Vec<usize> = [&shape[..1], extents, &[axes]].concat();
    Ok(vec![cx.reshape(&grid, &dims)?])
}

fn roi_align(cx: &mut Context) -> Result<Vec<Operand>> {
    let default = if cx.version < 16 { "output_half_pixel" } else { "half_pixel" };
    let mode = cx.attributes.text("mode")?.unwrap_or("avg");
    let attributes = vec![
        ("output_height", int(cx.attributes.int("output_height")?.unwrap_or(1))),
        ("output_width", int(cx.attributes.int("output_width")?.unwrap_or(1))),
        ("spatial_scale", Attribute::Float(cx.attributes.float("spatial_scale")?.unwrap_or(1.0))),
        ("sampling_ratio", int(cx.attributes.int("sampling_ratio")?.unwrap_or(0))),
        ("mode", text(mode)),
        ("coordinate_transformation_mode", text(cx.attributes.text("coordinate_transformation_mode")?.unwrap_or(default))),
    ];
    let inputs = [cx.input(0)?, cx.input(1)?, cx.input(2)?];
    Ok(vec![cx.emit1("RoiAlign", attributes, &inputs)?])
}
