//! The domain ai.onnx.ml: what of it is arithmetic on tensors.

use super::context::Context;
use super::express::{scalar, size};
use super::read::Operand;
use crate::{Result, bail, ensure};

pub fn convert(cx: &mut Context) -> Result<Vec<Operand>> {
    match cx.node.op_type.as_str() {
        "ArrayFeatureExtractor" => extract(cx),
        "Binarizer" => binarize(cx),
        _ => bail!(Unsupported, "the domain ai.onnx.ml has no such operator here"),
    }
}

/// Columns of x; x of one axis is a row.
fn extract(cx: &mut Context) -> Result<Vec<Operand>> {
    let (mut x, y) = (cx.input(0)?, cx.input(1)?);
    let mut dims = cx.ty(&x)?.dims;
    ensure!(!dims.is_empty(), InvalidGraph, "takes at least one dimension");
    if dims.len() == 1 {
        dims.insert(0, 1);
        x = cx.reshape(&x, &dims)?;
    }
    let y = cx.reshape(&y, &[cx.ty(&y)?.elements()])?;
    Ok(vec![cx.emit1("Gather", vec![("axis", size(dims.len() - 1))], &[x, y])?])
}

/// 1 above the threshold, else 0.
fn binarize(cx: &mut Context) -> Result<Vec<Operand>> {
    let threshold = cx.attributes.float("threshold")?.unwrap_or(0.0);
    let x = cx.input(0)?;
    let element = cx.ty(&x)?.element;
    let above = cx.binary("Gt", &x, &scalar(element, threshold))?;
    Ok(vec![cx.cast(&above, element)?])
}
