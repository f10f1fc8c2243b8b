//! Nodes that are about shapes: what comes out is known while the file is read, or no data moves.

use super::Convert;
use crate::formats::onnx::context::Context;
use crate::formats::onnx::express::{full, shape_tensor};
use crate::formats::onnx::read::Operand;
use crate::tensor::{ElementType, Tensor, broadcast, element_count, list_text, normalize_axis};
use crate::{Result, bail, ensure};

pub const ROWS: &[(&str, Convert)] = &[
    ("Shape", shape),
    ("Size", size),
    ("ConstantOfShape", constant_of_shape),
    ("Range", range),
    ("Reshape", reshape),
    ("Flatten", flatten),
    ("Squeeze", squeeze),
    ("Unsqueeze", unsqueeze),
    ("Expand", expand),
    ("Dropout", dropout),
];

fn shape(cx: &mut Context) -> Result<Vec<Operand>> {
    let dims = cx.input_type(0)?.dims;
    let rank = dims.len() as i64;
    let bound = |v: i64| (if v < 0 { v + rank } else { v }).clamp(0, rank) as usize;
    let start = bound(cx.attributes.int("start")?.unwrap_or(0));
    let end = bound(cx.attributes.int("end")?.unwrap_or(rank));
    Ok(vec![Operand::constant(shape_tensor(&dims[start..end.max(start)]))])
}

fn size(cx: &mut Context) -> Result<Vec<Operand>> {
    let count = cx.input_type(0)?.elements() as i64;
    Ok(vec![Operand::constant(Tensor::from_slice(&[], &[count]))])
}

/// Sizes that a node is told by a tensor.
pub fn sizes(values: &[i64]) -> Result<Vec<usize>> {
    values
        .iter()
        .map(|&v| {
            usize::try_from(v)
                .ok()
                .filter(|&n| n < 1 << 48)
                .ok_or_else(|| crate::error!(InvalidGraph, "{v} in {values} is no size", values = list_text(&values)))
        })
        .collect()
}

fn constant_of_shape(cx: &mut Context) -> Result<Vec<Operand>> {
    let dims = sizes(&cx.constant_ints(0)?)?;
    let value = cx.attributes.tensor("value", &cx.reader.model.external)?.unwrap_or_else(|| Tensor::from_slice(&[1], &[0f32]));
    ensure!(value.ty().elements() == 1, InvalidGraph, "the value is {}, not one element", value.ty());
    let one = Operand::constant(value.reshaped(&vec![1; dims.len()]));
    Ok(vec![cx.expand(&one, &dims)?])
}

fn range(cx: &mut Context) -> Result<Vec<Operand>> {
    let [start, limit, delta] = [cx.constant(0)?, cx.constant(1)?, cx.constant(2)?];
    let ty = start.ty();
    for other in [&start, &limit, &delta] {
        ensure!(
            other.element() == ty.element && other.ty().elements() == 1,
            InvalidGraph,
            "takes three numbers of one type, got {}",
            other.ty()
        );
    }
    let many = |n: f64| n.is_nan() || n > (1u64 << 28) as f64;
    if ty.element.is_integer() {
        let [s, l, d] = [start.to_i128()[0], limit.to_i128()[0], delta.to_i128()[0]];
        ensure!(d != 0, InvalidGraph, "the step is 0");
        let count = ((l - s + d - d.signum()) / d).max(0);
        ensure!(!many(count as f64), InvalidGraph, "{count} numbers are too many");
        let values: Vec<i128> = (0..count).map(|i| s + i * d).collect();
        return Ok(vec![Operand::constant(Tensor::from_i128(ty.with_dims([values.len()]), &values))]);
    }
    let [s, l, d] = [start.to_f64()[0], limit.to_f64()[0], delta.to_f64()[0]];
    let count = ((l - s) / d).ceil().max(0.0);
    ensure!(!many(count), InvalidGraph, "from {s} to {l} by {d} is no range");
    let values: Vec<f64> = (0..count as usize).map(|i| s + i as f64 * d).collect();
    Ok(vec![Operand::constant(Tensor::from_f64(ty.with_dims([values.len()]), &values))])
}

fn reshape(cx: &mut Context) -> Result<Vec<Operand>> {
    let x = cx.input(0)?;
    let from = cx.ty(&x)?;
    let Some(wanted) = cx.ints_attribute_or_input("shape", 1)? else { bail!(InvalidGraph, "there is no shape") };
    let literal_zero = cx.flag("allowzero", false)?;
    let mut dims = Vec::with_capacity(wanted.len());
    for (axis, &d) in wanted.iter().enumerate() {
        dims.push(match d {
            0 if !literal_zero => match from.dims.get(axis) {
                Some(&n) => n,
                None => bail!(InvalidGraph, "the shape {wanted} copies dimension {axis} of {from}", wanted = list_text(&wanted)),
            },
            -1 => 1,
            _ => sizes(&[d])?[0],
        });
    }
    let unknown: Vec<usize> = (0..wanted.len()).filter(|&axis| wanted[axis] == -1).collect();
    let known = dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d));
    match (unknown.as_slice(), known) {
        ([], _) => {}
        ([axis], Some(known)) if known > 0 => dims[*axis] = from.elements() / known,
        ([axis], Some(0)) if !literal_zero => dims[*axis] = 0,
        _ => bail!(InvalidGraph, "the shape {wanted} for {from} does not say its sizes", wanted = list_text(&wanted)),
    }
    ensure!(dims.len() <= crate::tensor::MAX_RANK, Unsupported, "{} dimensions", dims.len());
    ensure!(
        element_count(&dims) == from.elements(),
        InvalidGraph,
        "{from} does not fit into {wanted}",
        wanted = list_text(&wanted)
    );
    Ok(vec![cx.reshape(&x, &dims)?])
}

fn flatten(cx: &mut Context) -> Result<Vec<Operand>> {
    let x = cx.input(0)?;
    let dims = cx.ty(&x)?.dims;
    // The axis may be the rank: then all of it goes in front.
    let axis = cx.attributes.int("axis")?.unwrap_or(1);
    let axis = if axis == dims.len() as i64 { dims.len() } else { normalize_axis(axis, dims.len())? };
    Ok(vec![cx.reshape(&x, &[element_count(&dims[..axis]), element_count(&dims[axis..])])?])
}

fn squeeze(cx: &mut Context) -> Result<Vec<Operand>> {
    let x = cx.input(0)?;
    let dims = cx.ty(&x)?.dims;
    let axes = match cx.ints_attribute_or_input("axes", 1)? {
        Some(axes) => cx.axes(&axes, dims.len())?,
        None => (0..dims.len()).filter(|&axis| dims[axis] == 1).collect(),
    };
    for &axis in &axes {
        ensure!(dims[axis] == 1, InvalidGraph, "axis {axis} has {} elements, not 1", dims[axis]);
    }
    let left: Vec<usize> = (0..dims.len()).filter(|axis| !axes.contains(axis)).map(|axis| dims[axis]).collect();
    Ok(vec![cx.reshape(&x, &left)?])
}

fn unsqueeze(cx: &mut Context) -> Result<Vec<Operand>> {
    let x = cx.input(0)?;
    let mut left = cx.ty(&x)?.dims.into_iter();
    let Some(axes) = cx.ints_attribute_or_input("axes", 1)? else { bail!(InvalidGraph, "there are no axes") };
    let rank = left.len() + axes.len();
    ensure!(rank <= crate::tensor::MAX_RANK, Unsupported, "{rank} dimensions");
    let axes = cx.axes(&axes, rank)?;
    ensure!(axes.windows(2).all(|w| w[0] != w[1]), InvalidGraph, "an axis is named twice in {axes}", axes = list_text(&axes));
    let dims: Vec<usize> = (0..rank).map(|axis| if axes.contains(&axis) { 1 } else { left.next().unwrap_or(1) }).collect();
    Ok(vec![cx.reshape(&x, &dims)?])
}

fn expand(cx: &mut Context) -> Result<Vec<Operand>> {
    let x = cx.input(0)?;
    let wanted = sizes(&cx.constant_ints(1)?)?;
    let dims = broadcast(&[&cx.ty(&x)?.dims, &wanted])?;
    Ok(vec![cx.expand(&x, &dims)?])
}

/// At inference it passes its input on; the mask keeps all.
fn dropout(cx: &mut Context) -> Result<Vec<Operand>> {
    cx.attributes.ignore(&["seed", "ratio", "is_test"]);
    if cx.opt(2).is_some() {
        let ratio = cx.opt_constant(1)?.map_or(0.5, |t| t.to_f64().first().copied().unwrap_or(0.0));
        let training = cx.constant(2)?.to_i128().first().is_some_and(|&v| v != 0);
        ensure!(!training || ratio == 0.0, Unsupported, "training mode");
    }
    let x = cx.input(0)?;
    let mut outputs = vec![x.clone()];
    if cx.node.outputs.get(1).is_some_and(|name| !name.is_empty()) {
        let ty = cx.ty(&x)?;
        let one = full(ElementType::Bool, &vec![1; ty.rank()], 1.0);
        outputs.push(cx.expand(&one, &ty.dims)?);
    }
    Ok(outputs)
}
