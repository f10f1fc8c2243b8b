//! Reductions, order, softmax.

use super::Convert;
use crate::formats::onnx::context::Context;
use crate::formats::onnx::express::{int, size};
use crate::formats::onnx::read::Operand;
use crate::tensor::{ElementType, element_count, normalize_axis};
use crate::{Result, ensure};

pub const ROWS: &[(&str, Convert)] = &[
    ("ReduceSum", |cx| reduce(cx, "Sum")),
    ("ReduceMean", |cx| reduce(cx, "Mean")),
    ("ReduceMax", |cx| reduce(cx, "Max")),
    ("ReduceMin", |cx| reduce(cx, "Min")),
    ("ReduceProd", |cx| reduce(cx, "Prod")),
    ("ReduceSumSquare", |cx| reduce(cx, "SumSquare")),
    ("ReduceL1", |cx| reduce(cx, "L1")),
    ("ReduceL2", |cx| reduce(cx, "L2")),
    ("ReduceLogSum", |cx| reduce(cx, "LogSum")),
    ("ReduceLogSumExp", |cx| reduce(cx, "LogSumExp")),
    ("ArgMax", arg),
    ("ArgMin", arg),
    ("CumSum", cumsum),
    ("TopK", topk),
    ("Softmax", softmax),
    ("LogSoftmax", softmax),
];

/// Axes are an attribute in older opsets, an input in newer ones. None, or an empty list, means all of them, or with
/// noop_with_empty_axes none of them: then only the elementwise part of the operator is done.
fn reduce(cx: &mut Context, kind: &str) -> Result<Vec<Operand>> {
    let x = cx.input(0)?;
    let ty = cx.ty(&x)?;
    let keep = cx.flag("keepdims", true)?;
    let nothing_when_empty = cx.flag("noop_with_empty_axes", false)?;
    let given = cx.ints_attribute_or_input("axes", 1)?.unwrap_or_default();
    if given.is_empty() && nothing_when_empty {
        return Ok(vec![elementwise_part(cx, kind, &x)?]);
    }
    let axes = cx.axes(&given, ty.rank())?;
    let through = match ty.element {
        ElementType::Bool => ElementType::U8,
        e if e.is_integer() && matches!(kind, "Mean" | "L2" | "LogSum" | "LogSumExp") => ElementType::F64,
        e => e,
    };
    let x = cx.cast(&x, through)?;
    let y = cx.reduce(kind, &x, &axes, keep)?;
    Ok(vec![cx.cast(&y, ty.element)?])
}

fn elementwise_part(cx: &mut Context, kind: &str, x: &Operand) -> Result<Operand> {
    match kind {
        "SumSquare" => cx.binary("Mul", x, x),
        "L1" | "L2" => cx.unary("Abs", x),
        "LogSum" => cx.unary("Log", x),
        _ => Ok(x.clone()),
    }
}

fn arg(cx: &mut Context) -> Result<Vec<Operand>> {
    let x = cx.input(0)?;
    let axis = cx.axis(0, cx.ty(&x)?.rank())?;
    let attributes = vec![
        ("axis", size(axis)),
        ("keep_dims", int(cx.flag("keepdims", true)?)),
        ("select_last", int(cx.flag("select_last_index", false)?)),
    ];
    Ok(vec![cx.emit1(&cx.node.op_type, attributes, &[x])?])
}

fn cumsum(cx: &mut Context) -> Result<Vec<Operand>> {
    let x = cx.input(0)?;
    let axis = cx.constant_ints(1)?;
    ensure!(axis.len() == 1, InvalidGraph, "{} axes, not one", axis.len());
    let axis = normalize_axis(axis[0], cx.ty(&x)?.rank())?;
    let attributes =
        vec![("axis", size(axis)), ("exclusive", int(cx.flag("exclusive", false)?)), ("reverse", int(cx.flag("reverse", false)?))];
    Ok(vec![cx.emit1("Cumsum", attributes, &[x])?])
}

/// k is an attribute before opset 10.
fn topk(cx: &mut Context) -> Result<Vec<Operand>> {
    let x = cx.input(0)?;
    let axis = cx.axis(-1, cx.ty(&x)?.rank())?;
    let k = match cx.attributes.int("k")? {
        Some(k) => k,
        None => cx.constant_ints(1)?.first().copied().unwrap_or(-1),
    };
    let attributes = vec![
        ("k", int(k)),
        ("axis", size(axis)),
        ("largest", int(cx.flag("largest", true)?)),
        ("sorted", int(cx.flag("sorted", true)?)),
    ];
    cx.emit("TopK", attributes, &[Some(x)])
}

/// Before opset 13 all axes from `axis` on count as one.
fn softmax(cx: &mut Context) -> Result<Vec<Operand>> {
    let x = cx.input(0)?;
    let dims = cx.ty(&x)?.dims;
    let name = &cx.node.op_type;
    if cx.version >= 13 {
        let axis = cx.axis(-1, dims.len())?;
        return Ok(vec![cx.emit1(name, vec![("axis", size(axis))], &[x])?]);
    }
    let axis = cx.axis(1, dims.len())?;
    if axis + 1 == dims.len() {
        return Ok(vec![cx.emit1(name, vec![("axis", size(axis))], &[x])?]);
    }
    let flat = cx.reshape(&x, &[element_count(&dims[..axis]), element_count(&dims[axis..])])?;
    let y = cx.emit1(name, vec![("axis", int(1))], &[flat])?;
    Ok(vec![cx.reshape(&y, &dims)?])
}
