//! Nodes that carry state along a sequence.

use super::Convert;
use crate::formats::onnx::context::Context;
use crate::formats::onnx::express::{full, int, text};
use crate::formats::onnx::read::Operand;
use crate::ops::Attribute;
use crate::tensor::{ElementType, Tensor, list_text, normalize_axis};
use crate::{Result, bail, ensure};

pub const ROWS: &[(&str, Convert)] = &[
    ("LinearAttention", linear_attention),
    ("CausalConvWithState", causal_conv),
    ("TensorScatter", tensor_scatter),
    ("CumProd", cumprod),
    ("SwiGLU", swiglu),
];

/// Steps that are written out one by one.
const MAX_STEPS: usize = 4096;

/// What linear attention works on: heads split, key heads repeated for their query heads.
struct Linear {
    /// [batch, steps, heads, size]
    q: Operand,
    k: Operand,
    v: Operand,
    /// Logarithm of the decay, [batch, steps, heads] or [batch, steps, heads, size].
    decay: Option<Operand>,
    /// [batch, steps, heads]
    beta: Option<Operand>,
    /// [batch, heads, key size, value size]
    state: Option<Operand>,
    scale: f64,
}

/// Inputs: query, key, value [batch, steps, heads * size], state, decay, beta.
fn linear_attention(cx: &mut Context) -> Result<Vec<Operand>> {
    cx.attributes.ignore(&["chunk_size"]);
    let count = |name: &str| Ok::<usize, crate::Error>(cx.attributes.int(name)?.and_then(|n| usize::try_from(n).ok()).unwrap_or(0));
    let (heads, kv_heads) = (count("q_num_heads")?, count("kv_num_heads")?);
    ensure!(
        kv_heads > 0 && heads.is_multiple_of(kv_heads) && heads > 0,
        InvalidGraph,
        "{heads} query heads on {kv_heads} key heads"
    );
    let rule = cx.attributes.text("update_rule")?.unwrap_or("gated_delta");
    let q = cx.input(0)?;
    let q = split(cx, &q, heads)?;
    let key_size = cx.ty(&q)?.dims[3];
    let scale = cx.attributes.float("scale")?.filter(|&s| s != 0.0).unwrap_or(1.0 / (key_size as f64).sqrt());
    let mut wide = Vec::new();
    for i in 1..3 {
        let x = cx.input(i)?;
        let x = split(cx, &x, kv_heads)?;
        wide.push(repeated(cx, &x, 2, heads)?);
    }
    let decay = match cx.opt(4).filter(|_| matches!(rule, "gated" | "gated_delta")) {
        Some(decay) => {
            let decay = split(cx, &decay, kv_heads)?;
            let decay = repeated(cx, &decay, 2, heads)?;
            let dims = cx.ty(&decay)?.dims;
            Some(if dims[3] == 1 { cx.reshape(&decay, &dims[..3])? } else { decay })
        }
        None => None,
    };
    let beta = match cx.opt(5).filter(|_| matches!(rule, "delta" | "gated_delta")) {
        Some(beta) => {
            let dims = cx.ty(&beta)?.dims;
            let beta = cx.expand(&beta, &[dims[0], dims[1], if dims[2] == 1 { heads } else { kv_heads }])?;
            Some(if dims[2] == 1 { beta } else { repeated(cx, &beta, 2, heads)? })
        }
        None => None,
    };
    let state = match cx.opt(3) {
        Some(state) => Some(repeated(cx, &state, 1, heads)?),
        None => None,
    };
    let [k, v] = [wide[0].clone(), wide[1].clone()];
    let at = Linear { q, k, v, decay, beta, state, scale };
    let (y, state) = match rule {
        "delta" | "gated_delta" => delta(cx, at)?,
        "linear" | "gated" => additive(cx, at)?,
        other => bail!(InvalidGraph, "update_rule {other}"),
    };
    let dims = cx.ty(&y)?.dims;
    let y = cx.reshape(&y, &[dims[0], dims[1], dims[2] * dims[3]])?;
    // All query heads of a key head have the same state.
    let per = heads / kv_heads;
    let d = cx.ty(&state)?.dims;
    let state = cx.reshape(&state, &[d[0], kv_heads, per, d[2], d[3]])?;
    let state = cx.narrow(&state, 2, 0, 1)?;
    Ok(vec![y, cx.reshape(&state, &[d[0], kv_heads, d[2], d[3]])?])
}

fn split(cx: &mut Context, x: &Operand, heads: usize) -> Result<Operand> {
    let ty = cx.ty(x)?;
    ensure!(ty.rank() == 3 && ty.dims[2].is_multiple_of(heads), InvalidGraph, "{ty} has no {heads} heads");
    cx.reshape(x, &[ty.dims[0], ty.dims[1], heads, ty.dims[2] / heads])
}

/// Each element along `axis` as often as it takes to make `heads` of them.
fn repeated(cx: &mut Context, x: &Operand, axis: usize, heads: usize) -> Result<Operand> {
    let mut dims = cx.ty(x)?.dims;
    if dims[axis] == heads {
        return Ok(x.clone());
    }
    let per = heads / dims[axis];
    dims.insert(axis + 1, 1);
    let x = cx.reshape(x, &dims)?;
    dims[axis + 1] = per;
    let x = cx.expand(&x, &dims)?;
    dims.remove(axis + 1);
    dims[axis] = heads;
    cx.reshape(&x, &dims)
}

/// The operator GatedDeltaNet.
fn delta(cx: &mut Context, at: Linear) -> Result<(Operand, Operand)> {
    let ty = cx.ty(&at.q)?;
    let decay = at.decay.unwrap_or_else(|| full(ty.element, &ty.dims[..3], 0.0));
    let beta = at.beta.unwrap_or_else(|| full(ty.element, &ty.dims[..3], 1.0));
    let mut inputs = vec![Some(at.q), Some(at.k), Some(at.v), Some(decay), Some(beta)];
    inputs.extend(at.state.map(Some));
    let outputs = cx.emit("GatedDeltaNet", vec![("scale", Attribute::Float(at.scale))], &inputs)?;
    Ok((outputs[0].clone(), outputs[1].clone()))
}

/// S = exp(g) S + k v, y = scale q S, step by step.
fn additive(cx: &mut Context, at: Linear) -> Result<(Operand, Operand)> {
    let (q, v) = (cx.ty(&at.q)?, cx.ty(&at.v)?);
    let [batch, steps, heads, key] = [q.dims[0], q.dims[1], q.dims[2], q.dims[3]];
    let value = v.dims[3];
    ensure!(steps <= MAX_STEPS, Unsupported, "more than {MAX_STEPS} steps of this update rule");
    let mut state = at.state.unwrap_or_else(|| full(q.element, &[batch, heads, key, value], 0.0));
    let mut rows = Vec::with_capacity(steps);
    for step in 0..steps {
        let part = |cx: &mut Context, x: &Operand, dims: &[usize]| {
            let x = cx.narrow(x, 1, step, 1)?;
            cx.reshape(&x, dims)
        };
        if let Some(decay) = &at.decay {
            let per = cx.ty(decay)?.elements() / (batch * steps * heads).max(1);
            let decay = part(cx, decay, &[batch, heads, per, 1])?;
            let decay = cx.unary("Exp", &decay)?;
            state = cx.binary("Mul", &state, &decay)?;
        }
        let k = part(cx, &at.k, &[batch, heads, key, 1])?;
        let v = part(cx, &at.v, &[batch, heads, 1, value])?;
        let product = cx.binary("Mul", &k, &v)?;
        state = cx.binary("Add", &state, &product)?;
        let q = part(cx, &at.q, &[batch, heads, 1, key])?;
        let y = cx.matmul(&q, &state)?;
        let y = cx.with_scalar("Mul", &y, at.scale)?;
        rows.push(cx.reshape(&y, &[batch, 1, heads, value])?);
    }
    ensure!(!rows.is_empty(), Unsupported, "a sequence of no steps");
    Ok((cx.concat(&rows, 1)?, state))
}

/// Inputs: x [batch, channels, steps], kernel [channels, 1, k], bias, state. The operator has the channels last.
fn causal_conv(cx: &mut Context) -> Result<Vec<Operand>> {
    let (x, w) = (cx.input(0)?, cx.input(1)?);
    let dims = cx.ty(&w)?.dims;
    ensure!(dims.len() == 3 && dims[1] == 1, InvalidGraph, "a kernel of {dims}", dims = list_text(&dims));
    let act = match cx.attributes.text("activation")?.unwrap_or("none") {
        "none" => "None",
        "silu" | "swish" => "Silu",
        other => bail!(InvalidGraph, "activation {other}"),
    };
    let x = cx.transpose(&x, &[0, 2, 1])?;
    let w = cx.reshape(&w, &[dims[0], dims[2]])?;
    let mut inputs = vec![Some(x), Some(w), cx.opt(2), cx.opt(3)];
    while inputs.last().is_some_and(Option::is_none) {
        inputs.pop();
    }
    let mut outputs = cx.emit("CausalConv1d", vec![("act", text(act))], &inputs)?;
    outputs[0] = cx.transpose(&outputs[0].clone(), &[0, 2, 1])?;
    Ok(outputs)
}

/// Writes rows of a cache along one axis, from a place of its own in each batch item.
fn tensor_scatter(cx: &mut Context) -> Result<Vec<Operand>> {
    let (cache, update) = (cx.input(0)?, cx.input(1)?);
    let rank = cx.ty(&cache)?.rank();
    let axis = cx.axis(-2, rank)?;
    ensure!(axis > 0, InvalidGraph, "the axis is the batch");
    let ring = match cx.attributes.text("mode")?.unwrap_or("linear") {
        "linear" => false,
        "circular" => true,
        other => bail!(InvalidGraph, "mode {other}"),
    };
    let at = match cx.opt(2) {
        Some(at) => cx.cast(&at, ElementType::I32)?,
        None => Operand::constant(Tensor::from_slice(&[1], &[0i32])),
    };
    let mut perm: Vec<usize> = (0..rank).filter(|&a| a != axis).collect();
    perm.insert(1, axis);
    let (cache, update) = (cx.transpose(&cache, &perm)?, cx.transpose(&update, &perm)?);
    let y = cx.emit1("KvAppend", vec![("ring", int(ring))], &[cache, update, at])?;
    let mut back = vec![0; rank];
    perm.iter().enumerate().for_each(|(to, &from)| back[from] = to);
    Ok(vec![cx.transpose(&y, &back)?])
}

/// Products of the elements so far, step by step.
fn cumprod(cx: &mut Context) -> Result<Vec<Operand>> {
    let x = cx.input(0)?;
    let ty = cx.ty(&x)?;
    let axis = normalize_axis(cx.constant_ints(1)?.first().copied().unwrap_or(0), ty.rank())?;
    let (exclusive, reverse) = (cx.flag("exclusive", false)?, cx.flag("reverse", false)?);
    let n = ty.dims[axis];
    ensure!(n <= MAX_STEPS, Unsupported, "more than {MAX_STEPS} elements");
    if n == 0 {
        return Ok(vec![x]);
    }
    let mut dims = ty.dims.clone();
    dims[axis] = 1;
    let mut product = full(ty.element, &dims, 1.0);
    let mut rows = Vec::with_capacity(n);
    for step in 0..n {
        let at = if reverse { n - 1 - step } else { step };
        let before = product.clone();
        let part = cx.narrow(&x, axis, at, 1)?;
        product = cx.binary("Mul", &product, &part)?;
        rows.push(if exclusive { before } else { product.clone() });
    }
    if reverse {
        rows.reverse();
    }
    Ok(vec![cx.concat(&rows, axis)?])
}

fn swiglu(cx: &mut Context) -> Result<Vec<Operand>> {
    let (gate, up) = (cx.input(0)?, cx.input(1)?);
    let alpha = cx.attributes.float("alpha")?.unwrap_or(1.0);
    if alpha == 1.0 {
        return Ok(vec![cx.emit1("SwiGlu", vec![("act", text("Silu"))], &[gate, up])?]);
    }
    let scaled = cx.with_scalar("Mul", &gate, alpha)?;
    let opened = cx.unary("Sigmoid", &scaled)?;
    let gate = cx.binary("Mul", &gate, &opened)?;
    Ok(vec![cx.binary("Mul", &gate, &up)?])
}
