//! The domain ai.onnx.preview.

use super::attention::{Heads, Mask, attend, repeat_heads};
use super::context::Context;
use super::express::int;
use super::proto;
use super::read::Operand;
use super::tensor::element_type;
use crate::tensor::ElementType;
use crate::{Result, bail, ensure, error};

pub fn convert(cx: &mut Context) -> Result<Vec<Operand>> {
    match cx.node.op_type.as_str() {
        "FlexAttention" => flex_attention(cx),
        _ => bail!(Unsupported, "the domain ai.onnx.preview has no such operator here"),
    }
}

/// Attention whose scores, and whose weights after the softmax, a graph of the node may change.
fn flex_attention(cx: &mut Context) -> Result<Vec<Operand>> {
    let (q, k, v) = (cx.input(0)?, cx.input(1)?, cx.input(2)?);
    let at = Heads { q, k, v, kv_len: None, scale: cx.attributes.float("scale")?, softcap: 0.0 };
    let precision = cx.attributes.int("softmax_precision")?;
    let (score_mod, prob_mod) = (cx.attributes.graph("score_mod")?, cx.attributes.graph("prob_mod")?);
    if score_mod.is_none() && prob_mod.is_none() {
        return Ok(vec![attend(cx, &at, &Mask::None, None)?]);
    }
    let n = at.extent(cx)?;
    let wide = match precision {
        Some(number) => element_type(i32::try_from(number).unwrap_or(0))?,
        None if n.element == ElementType::F64 => ElementType::F64,
        None => ElementType::F32,
    };
    let k = repeat_heads(cx, &at.k, n.heads)?;
    let products = cx.emit1("MatMul", vec![("transpose_b", int(true))], &[at.q.clone(), k])?;
    let scores = cx.with_scalar("Mul", &products, at.scale.unwrap_or(1.0 / (n.head as f64).sqrt()))?;
    let scores = cx.cast(&scores, wide)?;
    let scores = changed(cx, score_mod, scores)?;
    let weights = cx.emit1("Softmax", vec![("axis", int(-1))], &[scores])?;
    let weights = changed(cx, prob_mod, weights)?;
    let v = repeat_heads(cx, &at.v, n.heads)?;
    let v = cx.cast(&v, wide)?;
    let y = cx.matmul(&weights, &v)?;
    Ok(vec![cx.cast(&y, n.element)?])
}

/// What a graph of one input and one output makes of x.
fn changed(cx: &mut Context, graph: Option<&proto::Graph>, x: Operand) -> Result<Operand> {
    let Some(graph) = graph else { return Ok(x) };
    let outputs = cx.reader.subgraph(graph, std::slice::from_ref(&x))?;
    let [y]: [Operand; 1] = outputs
        .try_into()
        .map_err(|all: Vec<Operand>| error!(InvalidGraph, "graph \"{}\" has {} outputs, not one", graph.name, all.len()))?;
    let (before, after) = (cx.ty(&x)?, cx.ty(&y)?);
    ensure!(before == after, InvalidGraph, "graph \"{}\" makes {after} of {before}", graph.name);
    Ok(y)
}
