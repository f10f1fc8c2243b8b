//! Elementwise nodes.

use super::Convert;
use crate::formats::onnx::context::Context;
use crate::formats::onnx::express::{scalar, text};
use crate::formats::onnx::read::Operand;
use crate::formats::onnx::tensor::{element_type, packed_bits};
use crate::ops::Attribute;
use crate::tensor::ElementType;
use crate::{Result, bail, ensure};

pub const ROWS: &[(&str, Convert)] = &[
    ("Abs", same),
    ("Acos", same),
    ("Acosh", same),
    ("Asin", same),
    ("Asinh", same),
    ("Atan", same),
    ("Atanh", same),
    ("Ceil", same),
    ("Cos", same),
    ("Cosh", same),
    ("Erf", same),
    ("Exp", same),
    ("Floor", same),
    ("HardSwish", same),
    ("Log", same),
    ("Mish", same),
    ("Neg", same),
    ("Not", same),
    ("Round", same),
    ("Sigmoid", same),
    ("Sin", same),
    ("Sinh", same),
    ("Softplus", same),
    ("Softsign", same),
    ("Sqrt", same),
    ("Tan", same),
    ("Tanh", same),
    ("Reciprocal", |cx| renamed(cx, "Recip")),
    ("BitwiseNot", |cx| renamed(cx, "BitNot")),
    ("IsNaN", |cx| renamed(cx, "IsNan")),
    ("IsInf", is_inf),
    ("Sign", sign),
    ("Relu", relu),
    ("Gelu", gelu),
    ("HardSigmoid", hard_sigmoid),
    ("LeakyRelu", |cx| with_alpha(cx, 0.01)),
    ("Elu", |cx| with_alpha(cx, 1.0)),
    ("Celu", |cx| with_alpha(cx, 1.0)),
    ("ThresholdedRelu", |cx| with_alpha(cx, 1.0)),
    ("Selu", selu),
    ("PRelu", prelu),
    ("Shrink", shrink),
    ("Swish", swish),
    ("Clip", clip),
    ("Cast", cast),
    ("CastLike", cast_like),
    ("BitCast", bit_cast),
    ("Where", same_types),
];

/// The operator of the same name.
fn same(cx: &mut Context) -> Result<Vec<Operand>> {
    renamed(cx, &cx.node.op_type)
}

fn renamed(cx: &mut Context, name: &str) -> Result<Vec<Operand>> {
    let x = cx.input(0)?;
    Ok(vec![cx.unary(name, &x)?])
}

fn same_types(cx: &mut Context) -> Result<Vec<Operand>> {
    let inputs = cx.inputs.clone();
    cx.emit(&cx.node.op_type, vec![], &inputs)
}

fn is_inf(cx: &mut Context) -> Result<Vec<Operand>> {
    let x = cx.input(0)?;
    let inf = cx.unary("IsInf", &x)?;
    let signs = match (cx.flag("detect_negative", true)?, cx.flag("detect_positive", true)?) {
        (true, true) => return Ok(vec![inf]),
        (false, true) => cx.with_scalar("Gt", &x, 0.0)?,
        (true, false) => cx.with_scalar("Lt", &x, 0.0)?,
        (false, false) => cx.binary("Xor", &inf, &inf)?,
    };
    Ok(vec![cx.binary("And", &inf, &signs)?])
}

fn limited(cx: &mut Context, x: &Operand, min: f64, max: Option<f64>) -> Result<Operand> {
    let mut attributes = vec![("min", Attribute::Float(min))];
    attributes.extend(max.map(|v| ("max", Attribute::Float(v))));
    cx.emit1("Clip", attributes, std::slice::from_ref(x))
}

fn sign(cx: &mut Context) -> Result<Vec<Operand>> {
    let x = cx.input(0)?;
    if cx.ty(&x)?.element.is_float() {
        return same(cx);
    }
    Ok(vec![limited(cx, &x, -1.0, Some(1.0))?])
}

fn relu(cx: &mut Context) -> Result<Vec<Operand>> {
    let x = cx.input(0)?;
    if cx.ty(&x)?.element.is_float() {
        return same(cx);
    }
    Ok(vec![limited(cx, &x, 0.0, None)?])
}

fn gelu(cx: &mut Context) -> Result<Vec<Operand>> {
    match cx.attributes.text("approximate")? {
        None | Some("none") => same(cx),
        Some("tanh") => renamed(cx, "GeluTanh"),
        Some(other) => bail!(Unsupported, "approximate = {other}"),
    }
}

fn hard_sigmoid(cx: &mut Context) -> Result<Vec<Operand>> {
    let (alpha, beta) = (cx.attributes.float("alpha")?.unwrap_or(0.2), cx.attributes.float("beta")?.unwrap_or(0.5));
    // 1/6 as the file's f32 has it.
    if alpha as f32 == 1.0 / 6.0 && beta == 0.5 {
        return same(cx);
    }
    let x = cx.input(0)?;
    let element = cx.ty(&x)?.element;
    let line = cx.emit1("Fma", vec![], &[x, scalar(element, alpha), scalar(element, beta)])?;
    Ok(vec![limited(cx, &line, 0.0, Some(1.0))?])
}

fn with_alpha(cx: &mut Context, default: f64) -> Result<Vec<Operand>> {
    let alpha = cx.attributes.float("alpha")?.unwrap_or(default);
    let x = cx.input(0)?;
    Ok(vec![cx.emit1(&cx.node.op_type, vec![("alpha", Attribute::Float(alpha))], &[x])?])
}

fn selu(cx: &mut Context) -> Result<Vec<Operand>> {
    let alpha = cx.attributes.float("alpha")?.unwrap_or(1.673_263_2);
    let gamma = cx.attributes.float("gamma")?.unwrap_or(1.050_701);
    let x = cx.input(0)?;
    Ok(vec![cx.emit1("Selu", vec![("alpha", Attribute::Float(alpha)), ("gamma", Attribute::Float(gamma))], &[x])?])
}

fn prelu(cx: &mut Context) -> Result<Vec<Operand>> {
    let (x, mut slope) = (cx.input(0)?, cx.input(1)?);
    let (rank, count) = (cx.ty(&x)?.rank(), cx.ty(&slope)?.elements());
    // Before opset 7 there is a slope for each channel, axis 1.
    if cx.version < 7 && count > 1 && rank > 2 {
        let mut dims = vec![1; rank - 1];
        dims[0] = count;
        slope = cx.reshape(&slope, &dims)?;
    }
    if cx.ty(&x)?.element.is_float() {
        return Ok(vec![cx.binary("PRelu", &x, &slope)?]);
    }
    let scaled = cx.binary("Mul", &x, &slope)?;
    let negative = cx.with_scalar("Lt", &x, 0.0)?;
    Ok(vec![cx.select(&negative, &scaled, &x)?])
}

/// x + bias below -lambd, x - bias above lambd, 0 between.
fn shrink(cx: &mut Context) -> Result<Vec<Operand>> {
    let (lambda, bias) = (cx.attributes.float("lambd")?.unwrap_or(0.5), cx.attributes.float("bias")?.unwrap_or(0.0));
    let x = cx.input(0)?;
    let element = cx.ty(&x)?.element;
    let below = cx.with_scalar("Lt", &x, -lambda)?;
    let above = cx.with_scalar("Gt", &x, lambda)?;
    let (raised, lowered) = (cx.with_scalar("Add", &x, bias)?, cx.with_scalar("Sub", &x, bias)?);
    let upper = cx.select(&above, &lowered, &scalar(element, 0.0))?;
    Ok(vec![cx.select(&below, &raised, &upper)?])
}

fn swish(cx: &mut Context) -> Result<Vec<Operand>> {
    let alpha = cx.attributes.float("alpha")?.unwrap_or(1.0);
    if alpha == 1.0 {
        return renamed(cx, "Silu");
    }
    let x = cx.input(0)?;
    let scaled = cx.with_scalar("Mul", &x, alpha)?;
    let gate = cx.unary("Sigmoid", &scaled)?;
    Ok(vec![cx.binary("Mul", &x, &gate)?])
}

/// Limits are attributes before opset 11, inputs since.
fn clip(cx: &mut Context) -> Result<Vec<Operand>> {
    let x = cx.input(0)?;
    let mut attributes = Vec::new();
    let mut limits = Vec::new();
    for (i, name, operator) in [(1, "min", "Max"), (2, "max", "Min")] {
        let attribute = cx.attributes.float(name)?;
        let known = match cx.opt(i) {
            Some(Operand::Known(known)) if known.tensor.ty().elements() == 1 && known.tensor.element() != ElementType::Bool => {
                // Integers past 2^53 are not exact in an attribute.
                Some(known.tensor.to_f64()[0]).filter(|v| v.abs() < 9e15 || known.tensor.element().is_float())
            }
            _ => None,
        };
        match (attribute.or(known), cx.opt(i)) {
            (Some(v), _) => attributes.push((name, Attribute::Float(v))),
            (None, Some(limit)) => limits.push((operator, limit)),
            (None, None) => {}
        }
    }
    if limits.is_empty() {
        return Ok(vec![if attributes.is_empty() { x } else { cx.emit1("Clip", attributes, &[x])? }]);
    }
    // min first, then max, as the limits of a Clip.
    let mut y = x;
    for (name, operator) in [("min", "Max"), ("max", "Min")] {
        if let Some((_, limit)) = limits.iter().find(|l| l.0 == operator) {
            y = cx.binary(operator, &y, limit)?;
        } else if let Some((_, value)) = attributes.iter().find(|a| a.0 == name) {
            y = cx.emit1("Clip", vec![(name, value.clone())], &[y])?;
        }
    }
    Ok(vec![y])
}

fn cast(cx: &mut Context) -> Result<Vec<Operand>> {
    cx.attributes.ignore(&["saturate", "round_mode"]);
    let Some(number) = cx.attributes.int("to")? else { bail!(InvalidGraph, "attribute \"to\" is missing") };
    let number = i32::try_from(number).unwrap_or(-1);
    let x = cx.input(0)?;
    cast_to(cx, &x, element_type(number)?, packed_bits(number)).map(|y| vec![y])
}

fn bit_cast(cx: &mut Context) -> Result<Vec<Operand>> {
    let Some(number) = cx.attributes.int("to")? else { bail!(InvalidGraph, "attribute \"to\" is missing") };
    let (x, to) = (cx.input(0)?, cast_target(number)?);
    ensure!(cx.bits_of_input(0).is_none(), Unsupported, "integers of less than 8 bits");
    Ok(vec![cx.emit1("BitCast", vec![("to", text(to.name()))], &[x])?])
}

/// The type of this number, if it is stored as it is: integers of 4 and 2 bits are kept in bytes here.
pub fn cast_target(number: i64) -> Result<ElementType> {
    let number = i32::try_from(number).unwrap_or(-1);
    ensure!(packed_bits(number).is_none(), Unsupported, "integers of less than 8 bits");
    element_type(number)
}

fn cast_like(cx: &mut Context) -> Result<Vec<Operand>> {
    cx.attributes.ignore(&["saturate", "round_mode"]);
    let (x, to) = (cx.input(0)?, cx.input_type(1)?.element);
    let bits = cx.bits_of_input(1);
    cast_to(cx, &x, to, bits).map(|y| vec![y])
}

/// Integers of few bits are the low bits of wider ones.
fn cast_to(cx: &mut Context, x: &Operand, to: ElementType, bits: Option<usize>) -> Result<Operand> {
    let Some(bits) = bits else { return cx.cast(x, to) };
    let wide = if cx.ty(x)?.element.is_float() { cx.cast(x, ElementType::I32)? } else { x.clone() };
    let x = cx.cast(&wide, ElementType::U8)?;
    let low = cx.with_scalar("BitAnd", &x, f64::from((1 << bits) - 1))?;
    if to != ElementType::I8 {
        return Ok(low);
    }
    // The sign bit of so few bits to the top and back.
    let low = cx.cast(&low, ElementType::I8)?;
    let top = cx.with_scalar("Shl", &low, (8 - bits) as f64)?;
    cx.with_scalar("Shr", &top, (8 - bits) as f64)
}
