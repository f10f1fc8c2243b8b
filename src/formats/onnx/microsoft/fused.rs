//! Norms with a residual, activations with a bias, embeddings.

use crate::formats::onnx::context::Context;
use crate::formats::onnx::express::{full, int, size};
use crate::formats::onnx::read::Operand;
use crate::formats::onnx::standard::Convert;
use crate::ops::Attribute;
use crate::tensor::{ElementType, list_text, normalize_axis};
use crate::{Result, bail, ensure};

pub const ROWS: &[(&str, Convert)] = &[
    ("SkipLayerNormalization", |cx| skip_norm(cx, true)),
    ("SkipSimplifiedLayerNormalization", |cx| skip_norm(cx, false)),
    ("SimplifiedLayerNormalization", simplified_layer),
    ("EmbedLayerNormalization", embed),
    ("FastGelu", |cx| biased(cx, "GeluTanh")),
    ("BiasGelu", |cx| biased(cx, "Gelu")),
    ("Gelu", |cx| biased(cx, "Gelu")),
    ("QuickGelu", quick_gelu),
    ("BiasSoftmax", bias_softmax),
    ("BiasAdd", bias_add),
    ("FusedMatMul", fused_matmul),
    ("TransposeMatMul", fused_matmul),
];

/// Outputs: y, two that are for training, and the sum.
fn skip_norm(cx: &mut Context, layer: bool) -> Result<Vec<Operand>> {
    let epsilon = cx.attributes.float("epsilon")?.unwrap_or(1e-12);
    let (x, skip, gamma) = (cx.input(0)?, cx.input(1)?, cx.input(2)?);
    let ty = cx.ty(&x)?;
    // The residual may be the same for the whole batch.
    let skip = cx.expand(&skip, &ty.dims)?;
    let (beta, bias) = if layer { (cx.opt(3), cx.opt(4)) } else { (None, cx.opt(3)) };
    let mut inputs = vec![Some(x), Some(skip), bias, Some(gamma)];
    inputs.extend(beta.map(Some));
    let name = if layer { "ResidualLayerNorm" } else { "ResidualRmsNorm" };
    let outputs = cx.emit(name, vec![("eps", Attribute::Float(epsilon))], &inputs)?;
    ensure!((1..3).all(|k| cx.node.outputs.get(k).is_none_or(String::is_empty)), Unsupported, "outputs for training");
    Ok(vec![outputs[0].clone(), Operand::Absent, Operand::Absent, outputs[1].clone()])
}

/// The root mean square norm. Outputs: y, and 1/deviation.
pub fn simplified_layer(cx: &mut Context) -> Result<Vec<Operand>> {
    cx.attributes.ignore(&["stash_type"]);
    let (x, scale) = (cx.input(0)?, cx.input(1)?);
    let ty = cx.ty(&x)?;
    let axis = cx.axis(-1, ty.rank())?;
    let epsilon = cx.attributes.float("epsilon")?.unwrap_or(1e-5);
    let scale = cx.cast(&scale, ty.element)?;
    let y = cx.emit1("RmsNorm", vec![("axis", size(axis)), ("eps", Attribute::Float(epsilon))], &[x.clone(), scale])?;
    let mut outputs = vec![y];
    if cx.node.outputs.get(1).is_some_and(|name| !name.is_empty()) {
        let x = cx.cast(&x, ElementType::F32)?;
        let squared = cx.binary("Mul", &x, &x)?;
        let mean = cx.reduce("Mean", &squared, &(axis..ty.rank()).collect::<Vec<_>>(), true)?;
        let shifted = cx.with_scalar("Add", &mean, epsilon)?;
        outputs.push(cx.unary("Rsqrt", &shifted)?);
    }
    Ok(outputs)
}

/// Inputs: ids, segment ids, tables of words, positions and segments, gamma, beta, mask, position ids. Outputs: y, the number of
/// tokens that the mask keeps, and the sum of the embeddings.
fn embed(cx: &mut Context) -> Result<Vec<Operand>> {
    cx.attributes.ignore(&["mask_index_type"]);
    let epsilon = cx.attributes.float("epsilon")?.unwrap_or(1e-12);
    let ids = cx.input(0)?;
    let dims = cx.ty(&ids)?.dims;
    ensure!(dims.len() == 2, InvalidGraph, "ids {dims}", dims = list_text(&dims));
    let look_up = |cx: &mut Context, table: usize, rows: &Operand| {
        let table = cx.input(table)?;
        cx.emit1("Gather", vec![("axis", int(0))], &[table, rows.clone()])
    };
    let mut sum = look_up(cx, 2, &ids)?;
    let positions = match cx.opt(8) {
        Some(positions) => look_up(cx, 3, &positions)?,
        None => {
            let table = cx.input(3)?;
            cx.narrow(&table, 0, 0, dims[1])?
        }
    };
    sum = cx.binary("Add", &sum, &positions)?;
    if let (Some(segments), Some(_)) = (cx.opt(1), cx.opt(4)) {
        let segments = look_up(cx, 4, &segments)?;
        sum = cx.binary("Add", &sum, &segments)?;
    }
    let (gamma, beta) = (cx.input(5)?, cx.input(6)?);
    let y = cx.emit1("LayerNorm", vec![("eps", Attribute::Float(epsilon))], &[sum.clone(), gamma, beta])?;
    let kept = match cx.opt(7) {
        Some(mask) => {
            let mask = cx.cast(&mask, ElementType::I32)?;
            cx.reduce("Sum", &mask, &[1], false)?
        }
        None => full(ElementType::I32, &[dims[0]], 0.0),
    };
    Ok(vec![y, kept, sum])
}

fn biased(cx: &mut Context, name: &str) -> Result<Vec<Operand>> {
    let mut x = cx.input(0)?;
    if let Some(bias) = cx.opt(1) {
        x = cx.binary("Add", &x, &bias)?;
    }
    Ok(vec![cx.unary(name, &x)?])
}

fn quick_gelu(cx: &mut Context) -> Result<Vec<Operand>> {
    let alpha = cx.attributes.float("alpha")?.unwrap_or(1.702);
    let x = cx.input(0)?;
    if alpha as f32 == 1.702 {
        return Ok(vec![cx.unary("GeluQuick", &x)?]);
    }
    let scaled = cx.with_scalar("Mul", &x, alpha)?;
    let gate = cx.unary("Sigmoid", &scaled)?;
    Ok(vec![cx.binary("Mul", &x, &gate)?])
}

fn bias_softmax(cx: &mut Context) -> Result<Vec<Operand>> {
    let (x, bias) = (cx.input(0)?, cx.input(1)?);
    let rank = cx.ty(&x)?.rank();
    let axis = normalize_axis(cx.attributes.int("axis")?.unwrap_or(1), rank)?;
    ensure!(axis + 1 == rank, Unsupported, "axis {axis} of rank {rank}");
    let inner = cx.flag("is_inner_broadcast", true)?;
    let ty = cx.ty(&bias)?;
    if !inner && ty.rank() != rank {
        bail!(Unsupported, "a bias {ty} that broadcasts inside");
    }
    let x = cx.binary("Add", &x, &bias)?;
    Ok(vec![cx.emit1("Softmax", vec![("axis", size(axis))], &[x])?])
}

/// x + bias + skip
fn bias_add(cx: &mut Context) -> Result<Vec<Operand>> {
    let (x, bias, skip) = (cx.input(0)?, cx.input(1)?, cx.input(2)?);
    let sum = cx.binary("Add", &x, &bias)?;
    Ok(vec![cx.binary("Add", &sum, &skip)?])
}

fn fused_matmul(cx: &mut Context) -> Result<Vec<Operand>> {
    let alpha = cx.attributes.float("alpha")?.unwrap_or(1.0);
    ensure!(!cx.flag("transBatchA", false)? && !cx.flag("transBatchB", false)?, Unsupported, "transBatchA or transBatchB");
    let (a, b) = (cx.input(0)?, cx.input(1)?);
    let attributes = vec![("transpose_a", int(cx.flag("transA", false)?)), ("transpose_b", int(cx.flag("transB", false)?))];
    let y = cx.emit1("MatMul", attributes, &[a, b])?;
    Ok(vec![if alpha == 1.0 { y } else { cx.with_scalar("Mul", &y, alpha)? }])
}
