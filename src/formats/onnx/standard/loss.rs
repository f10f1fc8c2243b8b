//! Losses.

use super::Convert;
use crate::Result;
use crate::formats::onnx::context::Context;
use crate::formats::onnx::express::{full, int, scalar};
use crate::formats::onnx::read::Operand;
use crate::tensor::ElementType;
use crate::{bail, ensure};

pub const ROWS: &[(&str, Convert)] = &[("NegativeLogLikelihoodLoss", likelihood), ("SoftmaxCrossEntropyLoss", cross_entropy)];

fn likelihood(cx: &mut Context) -> Result<Vec<Operand>> {
    let x = cx.input(0)?;
    Ok(vec![loss(cx, &x)?])
}

/// Outputs: the loss, and the logarithms of the probabilities.
fn cross_entropy(cx: &mut Context) -> Result<Vec<Operand>> {
    let x = cx.input(0)?;
    let logs = cx.emit1("LogSoftmax", vec![("axis", int(1))], &[x])?;
    Ok(vec![loss(cx, &logs)?, logs])
}

/// -weight[target] * x[target] over x [batch, classes, ..], summed or averaged; targets to be ignored count nothing.
fn loss(cx: &mut Context, x: &Operand) -> Result<Operand> {
    let (target, weight) = (cx.input(1)?, cx.opt(2));
    let ty = cx.ty(x)?;
    ensure!(ty.rank() >= 2, InvalidGraph, "takes [batch, classes, ..], not {ty}");
    let ignored = cx.attributes.int("ignore_index")?;
    let target = cx.cast(&target, ElementType::I64)?;
    let dims = cx.ty(&target)?.dims;
    // An ignored target may be no class at all: class 0 stands for it.
    let (target, counts) = match ignored {
        Some(index) => {
            let hit = cx.with_scalar("Ne", &target, index as f64)?;
            (cx.select(&hit, &target, &scalar(ElementType::I64, 0.0))?, Some(hit))
        }
        None => (target, None),
    };
    let mut picked = dims.clone();
    picked.insert(1, 1);
    let index = cx.reshape(&target, &picked)?;
    let value = cx.emit1("GatherElements", vec![("axis", int(1))], &[x.clone(), index])?;
    let value = cx.reshape(&value, &dims)?;
    let mut weights = match weight {
        Some(weight) => cx.emit1("Gather", vec![("axis", int(0))], &[weight, target])?,
        None => full(ty.element, &dims, 1.0),
    };
    if let Some(counts) = &counts {
        weights = cx.select(counts, &weights, &scalar(ty.element, 0.0))?;
    }
    let weighted = cx.binary("Mul", &value, &weights)?;
    let losses = cx.unary("Neg", &weighted)?;
    match cx.attributes.text("reduction")?.unwrap_or("mean") {
        "none" => Ok(losses),
        "sum" => cx.reduce("Sum", &losses, &[], false),
        "mean" => {
            let total = cx.reduce("Sum", &losses, &[], false)?;
            let weight = cx.reduce("Sum", &weights, &[], false)?;
            cx.binary("Div", &total, &weight)
        }
        other => bail!(InvalidGraph, "reduction {other}"),
    }
}
