//! Nodes that move data.

use super::Convert;
use super::shape::sizes as checked_sizes;
use crate::formats::onnx::context::Context;
use crate::formats::onnx::express::{int, ints, text};
use crate::formats::onnx::read::Operand;
use crate::ops::Attribute;
use crate::tensor::list_text;
use crate::{Result, bail, ensure};

pub const ROWS: &[(&str, Convert)] = &[
    ("Transpose", transpose),
    ("Concat", concat),
    ("Split", split),
    ("Slice", slice),
    ("Tile", tile),
    ("Pad", pad),
    ("CenterCropPad", center_crop_pad),
    ("DepthToSpace", depth_to_space),
    ("SpaceToDepth", space_to_depth),
    ("EyeLike", eye_like),
];

fn transpose(cx: &mut Context) -> Result<Vec<Operand>> {
    let x = cx.input(0)?;
    let rank = cx.ty(&x)?.rank();
    let perm = match cx.attributes.ints("perm")? {
        Some(perm) => perm.iter().map(|&p| crate::tensor::normalize_axis(p, rank)).collect::<Result<Vec<_>>>()?,
        None => (0..rank).rev().collect(),
    };
    let mut sorted = perm.clone();
    sorted.sort_unstable();
    ensure!(
        sorted.iter().copied().eq(0..rank),
        InvalidGraph,
        "{perm} does not name each of {rank} axes once",
        perm = list_text(&perm)
    );
    Ok(vec![cx.transpose(&x, &perm)?])
}

fn concat(cx: &mut Context) -> Result<Vec<Operand>> {
    let parts: Vec<Operand> = (0..cx.inputs.len()).map(|i| cx.input(i)).collect::<Result<_>>()?;
    ensure!(!parts.is_empty(), InvalidGraph, "there are no inputs");
    let axis = cx.axis(1, cx.ty(&parts[0])?.rank())?;
    Ok(vec![cx.concat(&parts, axis)?])
}

/// Sizes are told by an attribute, by an input, or follow from the number of outputs: equal, the last one smaller if need be.
fn split(cx: &mut Context) -> Result<Vec<Operand>> {
    let x = cx.input(0)?;
    let ty = cx.ty(&x)?;
    let axis = cx.axis(0, ty.rank())?;
    let total = ty.dims[axis];
    let parts = match cx.ints_attribute_or_input("split", 1)? {
        Some(parts) => checked_sizes(&parts)?,
        None => {
            let outputs = cx.node.outputs.len();
            let count = cx.attributes.int("num_outputs")?.map_or(outputs, |n| usize::try_from(n).unwrap_or(0));
            ensure!(count > 0 && count >= outputs, InvalidGraph, "{count} parts for {outputs} outputs");
            let part = total.div_ceil(count);
            (0..count).map(|k| part.min(total.saturating_sub(k * part))).collect()
        }
    };
    cx.attributes.ignore(&["num_outputs"]);
    ensure!(
        parts.iter().sum::<usize>() == total,
        InvalidGraph,
        "parts of {parts} elements do not make {total}",
        parts = list_text(&parts)
    );
    cx.split(&x, axis, &parts)
}

fn slice(cx: &mut Context) -> Result<Vec<Operand>> {
    let x = cx.input(0)?;
    let rank = cx.ty(&x)?.rank() as i64;
    let Some(starts) = cx.ints_attribute_or_input("starts", 1)? else { bail!(InvalidGraph, "there are no starts") };
    let Some(ends) = cx.ints_attribute_or_input("ends", 2)? else { bail!(InvalidGraph, "there are no ends") };
    let axes = cx.ints_attribute_or_input("axes", 3)?.unwrap_or_else(|| (0..starts.len() as i64).collect());
    let steps = cx.opt_constant_ints(4)?.unwrap_or_else(|| vec![1; starts.len()]);
    ensure!(axes.iter().all(|a| (-rank..rank).contains(a)), InvalidGraph, "axes {axes} of rank {rank}", axes = list_text(&axes));
    let attributes = vec![("starts", ints(&starts)), ("ends", ints(&ends)), ("axes", ints(&axes)), ("steps", ints(&steps))];
    Ok(vec![cx.emit1("Slice", attributes, &[x])?])
}

fn tile(cx: &mut Context) -> Result<Vec<Operand>> {
    let x = cx.input(0)?;
    let repeats = cx.constant_ints(1)?;
    Ok(vec![cx.emit1("Tile", vec![("repeats", ints(&repeats))], &[x])?])
}

fn pad(cx: &mut Context) -> Result<Vec<Operand>> {
    let x = cx.input(0)?;
    let rank = cx.ty(&x)?.rank();
    let Some(given) = cx.ints_attribute_or_input("pads", 1)? else { bail!(InvalidGraph, "there are no pads") };
    let axes: Vec<usize> = match cx.opt_constant_ints(3)? {
        Some(axes) => axes.iter().map(|&a| crate::tensor::normalize_axis(a, rank)).collect::<Result<_>>()?,
        None => (0..rank).collect(),
    };
    ensure!(given.len() == 2 * axes.len(), InvalidGraph, "{} pads for {} axes", given.len(), axes.len());
    let mut pads = vec![0; 2 * rank];
    for (k, &axis) in axes.iter().enumerate() {
        pads[axis] = given[k];
        pads[rank + axis] = given[axes.len() + k];
    }
    let value = match cx.opt_constant(2)? {
        Some(value) => value.to_f64().first().copied(),
        None => cx.attributes.float("value")?,
    };
    let mode = match cx.attributes.text("mode")?.unwrap_or("constant") {
        "constant" => "Constant",
        "reflect" => "Reflect",
        "edge" => "Edge",
        "wrap" => "Wrap",
        other => bail!(InvalidGraph, "mode {other}"),
    };
    let mut attributes = vec![("pads", ints(&pads)), ("mode", text(mode))];
    if mode == "Constant" {
        attributes.push(("value", Attribute::Float(value.unwrap_or(0.0))));
    }
    Ok(vec![cx.emit1("Pad", attributes, &[x])?])
}

/// Crops or pads with zeros around the middle. Of an odd difference the larger half is at the end.
fn center_crop_pad(cx: &mut Context) -> Result<Vec<Operand>> {
    let x = cx.input(0)?;
    let ty = cx.ty(&x)?;
    let wanted = checked_sizes(&cx.constant_ints(1)?)?;
    let axes: Vec<usize> = match cx.attributes.ints("axes")? {
        Some(axes) => axes.iter().map(|&a| crate::tensor::normalize_axis(a, ty.rank())).collect::<Result<_>>()?,
        None => (0..ty.rank()).collect(),
    };
    ensure!(wanted.len() == axes.len(), InvalidGraph, "{} sizes for {} axes", wanted.len(), axes.len());
    let mut pads = vec![0i64; 2 * ty.rank()];
    for (&axis, &n) in axes.iter().zip(&wanted) {
        let more = n as i64 - ty.dims[axis] as i64;
        pads[axis] = more / 2;
        pads[ty.rank() + axis] = more - more / 2;
        if more < 0 {
            // Cropping drops floor(-more / 2) in front.
            pads[axis] = -((-more) / 2);
            pads[ty.rank() + axis] = more - pads[axis];
        }
    }
    Ok(vec![cx.emit1("Pad", vec![("pads", ints(&pads)), ("mode", text("Constant"))], &[x])?])
}

fn depth_to_space(cx: &mut Context) -> Result<Vec<Operand>> {
    let block = cx.attributes.int("blocksize")?.unwrap_or(0);
    let mode = cx.attributes.text("mode")?.unwrap_or("DCR");
    let x = cx.input(0)?;
    Ok(vec![cx.emit1("DepthToSpace", vec![("blocksize", int(block)), ("mode", text(mode))], &[x])?])
}

fn space_to_depth(cx: &mut Context) -> Result<Vec<Operand>> {
    let block = cx.attributes.int("blocksize")?.unwrap_or(0);
    let x = cx.input(0)?;
    Ok(vec![cx.emit1("SpaceToDepth", vec![("blocksize", int(block))], &[x])?])
}

fn eye_like(cx: &mut Context) -> Result<Vec<Operand>> {
    let x = cx.input(0)?;
    let mut attributes = vec![("k", int(cx.attributes.int("k")?.unwrap_or(0)))];
    if let Some(number) = cx.attributes.int("dtype")? {
        attributes.push(("dtype", text(super::elementwise::cast_target(number)?.name())));
    }
    Ok(vec![cx.emit1("EyeLike", attributes, &[x])?])
}
