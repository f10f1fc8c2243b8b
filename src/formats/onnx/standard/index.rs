//! Nodes that read or write at indices.

use super::Convert;
use crate::formats::onnx::context::Context;
use crate::formats::onnx::express::{int, size, text};
use crate::formats::onnx::read::Operand;
use crate::tensor::{ElementType, Tensor, TensorType, normalize_axis};
use crate::{Result, bail, ensure};

pub const ROWS: &[(&str, Convert)] = &[
    ("Gather", gather),
    ("GatherElements", gather_elements),
    ("GatherND", gather_nd),
    ("ScatterElements", scatter_elements),
    ("Scatter", scatter_elements),
    ("ScatterND", scatter_nd),
    ("OneHot", one_hot),
    ("Trilu", trilu),
    ("Compress", compress),
    ("NonZero", non_zero),
    ("ReverseSequence", reverse_sequence),
    ("Hardmax", hardmax),
];

fn gather(cx: &mut Context) -> Result<Vec<Operand>> {
    let (data, indices) = (cx.input(0)?, cx.input(1)?);
    let axis = cx.axis(0, cx.ty(&data)?.rank())?;
    Ok(vec![cx.emit1("Gather", vec![("axis", size(axis))], &[data, indices])?])
}

fn gather_elements(cx: &mut Context) -> Result<Vec<Operand>> {
    let (data, indices) = (cx.input(0)?, cx.input(1)?);
    let axis = cx.axis(0, cx.ty(&data)?.rank())?;
    Ok(vec![cx.emit1("GatherElements", vec![("axis", size(axis))], &[data, indices])?])
}

fn gather_nd(cx: &mut Context) -> Result<Vec<Operand>> {
    let (data, indices) = (cx.input(0)?, cx.input(1)?);
    let batch = cx.attributes.int("batch_dims")?.unwrap_or(0);
    Ok(vec![cx.emit1("GatherND", vec![("batch_dims", int(batch))], &[data, indices])?])
}

fn reduction(cx: &Context) -> Result<&'static str> {
    Ok(match cx.attributes.text("reduction")?.unwrap_or("none") {
        "none" => "None",
        "add" => "Add",
        "mul" => "Mul",
        "max" => "Max",
        "min" => "Min",
        other => bail!(InvalidGraph, "reduction {other}"),
    })
}

fn scatter_elements(cx: &mut Context) -> Result<Vec<Operand>> {
    let (data, indices, updates) = (cx.input(0)?, cx.input(1)?, cx.input(2)?);
    let axis = cx.axis(0, cx.ty(&data)?.rank())?;
    let attributes = vec![("axis", size(axis)), ("reduction", text(reduction(cx)?))];
    Ok(vec![cx.emit1("ScatterElements", attributes, &[data, indices, updates])?])
}

fn scatter_nd(cx: &mut Context) -> Result<Vec<Operand>> {
    let (data, indices, updates) = (cx.input(0)?, cx.input(1)?, cx.input(2)?);
    let attributes = vec![("reduction", text(reduction(cx)?))];
    Ok(vec![cx.emit1("ScatterND", attributes, &[data, indices, updates])?])
}

/// 0, 1, 2 .. along one axis of a shape of otherwise ones.
pub fn counting(element: ElementType, rank: usize, axis: usize, len: usize) -> Operand {
    let mut dims = vec![1; rank];
    dims[axis] = len;
    let values: Vec<i128> = (0..len as i128).collect();
    Operand::constant(Tensor::from_i128(TensorType::new(element, dims), &values))
}

/// The depth is an input here; the indices may be of any number type.
fn one_hot(cx: &mut Context) -> Result<Vec<Operand>> {
    let (indices, values) = (cx.input(0)?, cx.input(2)?);
    let depth = cx.constant(1)?;
    ensure!(depth.ty().elements() == 1, InvalidGraph, "the depth is {}, not one number", depth.ty());
    let depth = depth.to_f64()[0];
    ensure!((0.0..1e9).contains(&depth), InvalidGraph, "a depth of {depth}");
    let axis = cx.attributes.int("axis")?.unwrap_or(-1);
    let indices = if cx.ty(&indices)?.element == ElementType::I32 { indices } else { cx.cast(&indices, ElementType::I64)? };
    Ok(vec![cx.emit1("OneHot", vec![("depth", int(depth as i64)), ("axis", int(axis))], &[indices, values])?])
}

fn trilu(cx: &mut Context) -> Result<Vec<Operand>> {
    let x = cx.input(0)?;
    let k = match cx.opt_constant(1)? {
        Some(k) => k.to_i128().first().map_or(0, |&v| v.clamp(i64::MIN.into(), i64::MAX.into()) as i64),
        None => 0,
    };
    let upper = cx.flag("upper", true)?;
    Ok(vec![cx.emit1("Trilu", vec![("k", int(k)), ("upper", int(upper))], &[x])?])
}

/// Keeps the slices whose condition, which must be known, is true.
fn compress(cx: &mut Context) -> Result<Vec<Operand>> {
    let mut x = cx.input(0)?;
    let condition = cx.constant(1)?.to_i128();
    let mut dims = cx.ty(&x)?.dims;
    let axis = match cx.attributes.int("axis")? {
        Some(axis) => normalize_axis(axis, dims.len())?,
        None => {
            dims = vec![dims.iter().product()];
            x = cx.reshape(&x, &dims)?;
            0
        }
    };
    ensure!(condition.len() <= dims[axis], InvalidGraph, "{} conditions for {} elements", condition.len(), dims[axis]);
    let kept: Vec<i64> = (0..condition.len()).filter(|&i| condition[i] != 0).map(|i| i as i64).collect();
    let kept = Operand::constant(Tensor::from_slice(&[kept.len()], &kept));
    Ok(vec![cx.emit1("Gather", vec![("axis", size(axis))], &[x, kept])?])
}

/// The shape of the result depends on the values, so these must be known.
fn non_zero(cx: &mut Context) -> Result<Vec<Operand>> {
    let x = cx.constant(0)?;
    let rank = x.dims().len();
    let found: Vec<usize> = x.to_f64().iter().enumerate().filter(|(_, v)| **v != 0.0).map(|(i, _)| i).collect();
    let strides = crate::tensor::row_strides(x.dims());
    let at = |axis: usize, i: usize| (i / strides[axis] % x.dims()[axis]) as i64;
    let values: Vec<i64> = (0..rank).flat_map(|axis| found.iter().map(move |&i| at(axis, i)).collect::<Vec<_>>()).collect();
    Ok(vec![Operand::constant(Tensor::from_slice(&[rank, found.len()], &values))])
}

/// The first `lens[b]` steps of batch item b in reverse order, the others as they are.
fn reverse_sequence(cx: &mut Context) -> Result<Vec<Operand>> {
    let (x, lens) = (cx.input(0)?, cx.input(1)?);
    let ty = cx.ty(&x)?;
    let batch = normalize_axis(cx.attributes.int("batch_axis")?.unwrap_or(1), ty.rank())?;
    let time = normalize_axis(cx.attributes.int("time_axis")?.unwrap_or(0), ty.rank())?;
    ensure!(batch != time, InvalidGraph, "batch and time are both axis {batch}");
    let mut dims = vec![1; ty.rank()];
    dims[batch] = ty.dims[batch];
    let lens = cx.reshape(&lens, &dims)?;
    let step = counting(ElementType::I64, ty.rank(), time, ty.dims[time]);
    let inside = cx.binary("Lt", &step, &lens)?;
    let last = cx.with_scalar("Sub", &lens, 1.0)?;
    let mirrored = cx.binary("Sub", &last, &step)?;
    let index = cx.select(&inside, &mirrored, &step)?;
    let index = cx.expand(&index, &ty.dims)?;
    Ok(vec![cx.emit1("GatherElements", vec![("axis", size(time))], &[x, index])?])
}

/// 1 at the first largest element along the axis, 0 elsewhere. Before opset 13 all axes from `axis` on count as one.
fn hardmax(cx: &mut Context) -> Result<Vec<Operand>> {
    let mut x = cx.input(0)?;
    let ty = cx.ty(&x)?;
    let mut axis = cx.axis(if cx.version < 13 { 1 } else { -1 }, ty.rank())?;
    if cx.version < 13 {
        x = cx.reshape(&x, &[ty.dims[..axis].iter().product(), ty.dims[axis..].iter().product()])?;
        axis = 1;
    }
    let flat = cx.ty(&x)?;
    let best = cx.emit1("ArgMax", vec![("axis", size(axis)), ("keep_dims", int(true))], &[x])?;
    let hit = cx.binary("Eq", &best, &counting(ElementType::I64, flat.rank(), axis, flat.dims[axis]))?;
    let hit = cx.cast(&hit, ty.element)?;
    Ok(vec![cx.reshape(&hit, &ty.dims)?])
}
