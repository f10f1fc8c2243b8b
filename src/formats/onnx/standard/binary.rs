//! Nodes of two or more operands that broadcast.

use super::Convert;
use crate::formats::onnx::context::Context;
use crate::formats::onnx::read::Operand;
use crate::tensor::{ElementType, normalize_axis};
use crate::{Result, bail};

pub const ROWS: &[(&str, Convert)] = &[
    ("Add", |cx| pair(cx, "Add")),
    ("Sub", |cx| pair(cx, "Sub")),
    ("Mul", |cx| pair(cx, "Mul")),
    ("Div", |cx| pair(cx, "Div")),
    ("And", |cx| pair(cx, "And")),
    ("Or", |cx| pair(cx, "Or")),
    ("Xor", |cx| pair(cx, "Xor")),
    ("BitwiseAnd", |cx| pair(cx, "BitAnd")),
    ("BitwiseOr", |cx| pair(cx, "BitOr")),
    ("BitwiseXor", |cx| pair(cx, "BitXor")),
    ("Equal", |cx| compare(cx, "Eq")),
    ("Less", |cx| compare(cx, "Lt")),
    ("LessOrEqual", |cx| compare(cx, "Le")),
    ("Greater", |cx| compare(cx, "Gt")),
    ("GreaterOrEqual", |cx| compare(cx, "Ge")),
    ("Pow", pow),
    ("Mod", modulo),
    ("BitShift", shift),
    ("Max", |cx| fold(cx, "Max")),
    ("Min", |cx| fold(cx, "Min")),
    ("Sum", |cx| fold(cx, "Add")),
    ("Mean", mean),
];

fn pair(cx: &mut Context, name: &str) -> Result<Vec<Operand>> {
    let (a, b) = operands(cx)?;
    Ok(vec![cx.binary(name, &a, &b)?])
}

/// Before opset 7 the second operand broadcasts where the node says so, and may start at an axis of the first.
fn operands(cx: &mut Context) -> Result<(Operand, Operand)> {
    let (a, b) = (cx.input(0)?, cx.input(1)?);
    if cx.version >= 7 {
        return Ok((a, b));
    }
    cx.attributes.ignore(&["consumed_inputs", "broadcast"]);
    let Some(axis) = cx.attributes.int("axis")? else { return Ok((a, b)) };
    let (rank, mut dims) = (cx.ty(&a)?.rank(), cx.ty(&b)?.dims);
    let axis = normalize_axis(axis, rank)?;
    while axis + dims.len() < rank {
        dims.push(1);
    }
    let b = cx.reshape(&b, &dims)?;
    Ok((a, b))
}

fn compare(cx: &mut Context, name: &str) -> Result<Vec<Operand>> {
    let (a, b) = operands(cx)?;
    if cx.ty(&a)?.element != ElementType::Bool {
        return Ok(vec![cx.binary(name, &a, &b)?]);
    }
    let differ = cx.binary("Xor", &a, &b)?;
    Ok(vec![cx.unary("Not", &differ)?])
}

/// The exponent may be of another type; the result has the type of the base.
fn pow(cx: &mut Context) -> Result<Vec<Operand>> {
    let (base, exponent) = operands(cx)?;
    let (b, e) = (cx.ty(&base)?.element, cx.ty(&exponent)?.element);
    if b.is_integer() && e.is_float() {
        let base = cx.cast(&base, e)?;
        let power = cx.binary("Pow", &base, &exponent)?;
        return Ok(vec![cx.cast(&power, b)?]);
    }
    let exponent = cx.cast(&exponent, b)?;
    Ok(vec![cx.binary("Pow", &base, &exponent)?])
}

fn modulo(cx: &mut Context) -> Result<Vec<Operand>> {
    if cx.flag("fmod", false)? { pair(cx, "FMod") } else { pair(cx, "Mod") }
}

fn shift(cx: &mut Context) -> Result<Vec<Operand>> {
    match cx.attributes.text("direction")? {
        Some("LEFT") => pair(cx, "Shl"),
        Some("RIGHT") => pair(cx, "Shr"),
        other => bail!(InvalidGraph, "direction is \"{}\", neither LEFT nor RIGHT", other.unwrap_or_default()),
    }
}

fn fold(cx: &mut Context, name: &str) -> Result<Vec<Operand>> {
    let mut result = cx.input(0)?;
    for i in 1..cx.inputs.len() {
        let next = cx.input(i)?;
        result = cx.binary(name, &result, &next)?;
    }
    Ok(vec![result])
}

fn mean(cx: &mut Context) -> Result<Vec<Operand>> {
    let sum = fold(cx, "Add")?.remove(0);
    let count = cx.inputs.len();
    Ok(vec![if count == 1 { sum } else { cx.with_scalar("Div", &sum, count as f64)? }])
}
