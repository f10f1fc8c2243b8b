//! Random numbers. Each node draws from a stream of its own; the seed is that of the run, not the file's.

use super::Convert;
use super::elementwise::cast_target;
use super::shape::sizes as checked_sizes;
use crate::formats::onnx::context::Context;
use crate::formats::onnx::express::{int, sizes, text};
use crate::formats::onnx::read::Operand;
use crate::ops::Attribute;
use crate::tensor::{ElementType, TensorType};
use crate::{Result, bail, ensure};

pub const ROWS: &[(&str, Convert)] = &[
    ("RandomNormal", |cx| shaped(cx, true)),
    ("RandomUniform", |cx| shaped(cx, false)),
    ("RandomNormalLike", |cx| like(cx, true)),
    ("RandomUniformLike", |cx| like(cx, false)),
    ("Bernoulli", bernoulli),
    ("Multinomial", multinomial),
];

fn target(cx: &Context, default: ElementType) -> Result<ElementType> {
    cx.attributes.int("dtype")?.map_or(Ok(default), cast_target)
}

fn shaped(cx: &mut Context, normal: bool) -> Result<Vec<Operand>> {
    let Some(shape) = cx.attributes.ints("shape")? else { bail!(InvalidGraph, "there is no shape") };
    let ty = TensorType::new(target(cx, ElementType::F32)?, checked_sizes(shape)?);
    draw(cx, &ty, normal)
}

fn like(cx: &mut Context, normal: bool) -> Result<Vec<Operand>> {
    let ty = cx.input_type(0)?;
    let ty = ty.with_element(target(cx, ty.element)?);
    draw(cx, &ty, normal)
}

fn draw(cx: &mut Context, ty: &TensorType, normal: bool) -> Result<Vec<Operand>> {
    cx.attributes.ignore(&["seed"]);
    let names = if normal { [("mean", "mean", 0.0), ("scale", "std", 1.0)] } else { [("low", "low", 0.0), ("high", "high", 1.0)] };
    let mut parameters = Vec::new();
    for (from, to, default) in names {
        parameters.push((to, cx.attributes.float(from)?.unwrap_or(default)));
    }
    stream(cx, ty, if normal { "RngNormal" } else { "RngUniform" }, &parameters).map(|y| vec![y])
}

fn stream(cx: &mut Context, ty: &TensorType, name: &str, parameters: &[(&str, f64)]) -> Result<Operand> {
    let key = cx.reader.random_key();
    let mut attributes = vec![("dims", sizes(&ty.dims)), ("type", text(ty.element.name())), ("key", int(key))];
    attributes.extend(parameters.iter().map(|&(name, value)| (name, Attribute::Float(value))));
    cx.emit1(name, attributes, &[])
}

/// 1 with the probability that x has.
fn bernoulli(cx: &mut Context) -> Result<Vec<Operand>> {
    cx.attributes.ignore(&["seed"]);
    let x = cx.input(0)?;
    let ty = cx.ty(&x)?;
    let to = target(cx, ty.element)?;
    let u = stream(cx, &ty, "RngUniform", &[("low", 0.0), ("high", 1.0)])?;
    let hit = cx.binary("Lt", &u, &x)?;
    Ok(vec![cx.cast(&hit, to)?])
}

/// x holds logarithms of probabilities, [batch, classes]; each draw is a sampling of its own.
fn multinomial(cx: &mut Context) -> Result<Vec<Operand>> {
    cx.attributes.ignore(&["seed"]);
    let x = cx.input(0)?;
    let ty = cx.ty(&x)?;
    let count = cx.attributes.int("sample_size")?.unwrap_or(1);
    ensure!((1..=1024).contains(&count), Unsupported, "{count} samples");
    let to = target(cx, ElementType::I32)?;
    let mut draws = Vec::new();
    for _ in 0..count {
        let key = cx.reader.random_key();
        let drawn = cx.emit1("Sample", vec![("key", int(key))], std::slice::from_ref(&x))?;
        draws.push(cx.reshape(&drawn, &[ty.dims[0], 1])?);
    }
    let all = cx.concat(&draws, 1)?;
    Ok(vec![cx.cast(&all, to)?])
}
