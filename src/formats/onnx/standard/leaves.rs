//! Values that come from the file itself, and nodes that pass values on.

use super::Convert;
use crate::formats::onnx::context::Context;
use crate::formats::onnx::read::Operand;
use crate::tensor::Tensor;
use crate::{Result, bail};

pub const ROWS: &[(&str, Convert)] = &[("Constant", constant), ("Identity", identity)];

fn constant(cx: &mut Context) -> Result<Vec<Operand>> {
    let external = &cx.reader.model.external;
    let floats = |v: &[f64]| v.iter().map(|&x| x as f32).collect::<Vec<f32>>();
    let tensor = if let Some(tensor) = cx.attributes.tensor("value", external)? {
        tensor
    } else if let Some(v) = cx.attributes.float("value_float")? {
        Tensor::from_slice(&[], &floats(&[v]))
    } else if let Some(v) = cx.attributes.floats("value_floats")? {
        Tensor::from_slice(&[v.len()], &floats(&v))
    } else if let Some(v) = cx.attributes.int("value_int")? {
        Tensor::from_slice(&[], &[v])
    } else if let Some(v) = cx.attributes.ints("value_ints")? {
        Tensor::from_slice(&[v.len()], v)
    } else {
        bail!(Unsupported, "the value is no dense tensor of numbers");
    };
    Ok(vec![Operand::constant(tensor)])
}

fn identity(cx: &mut Context) -> Result<Vec<Operand>> {
    Ok(vec![cx.input(0)?])
}
