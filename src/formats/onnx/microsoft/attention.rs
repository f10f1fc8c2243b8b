//! Attention, MultiHeadAttention, RotaryEmbedding.

use crate::formats::onnx::attention::{
    Extent, Heads, Mask, Offset, attend, bias_of, merge_heads, rank4, scores, split_heads, visible,
};
use crate::formats::onnx::context::Context;
use crate::formats::onnx::express::{full, scalar, size, text};
use crate::formats::onnx::read::Operand;
use crate::formats::onnx::standard::Convert;
use crate::tensor::{ElementType, Tensor, list_text};
use crate::{Result, bail, ensure};

pub const ROWS: &[(&str, Convert)] = &[("Attention", attention), ("MultiHeadAttention", multi_head), ("RotaryEmbedding", rotary)];

pub fn heads(cx: &Context, name: &str) -> Result<usize> {
    let heads = cx.attributes.int(name)?.and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
    ensure!(heads > 0, InvalidGraph, "{name} is {heads}");
    Ok(heads)
}

/// A value at or below this, added to a score, hides a key.
fn filter_value(cx: &Context) -> Result<f64> {
    Ok(cx.attributes.float("mask_filter_value")?.unwrap_or(-10000.0))
}

/// A padding mask as what is added to scores: [batch, keys] or [batch, queries, keys] of 0 and 1, [batch] numbers of valid keys, or
/// [2 * batch] ends and starts of them.
fn padding_bias(cx: &mut Context, mask: &Operand, n: &Extent, filter: f64) -> Result<Operand> {
    let ty = cx.ty(mask)?;
    let keys: Vec<i64> = (0..n.keys as i64).collect();
    let keys = Operand::constant(Tensor::from_slice(&[1, 1, 1, n.keys], &keys));
    let seen = match ty.dims.as_slice() {
        &[d] if d == n.batch || d == 2 * n.batch => {
            let mask = cx.cast(mask, ElementType::I64)?;
            let mut ends = cx.narrow(&mask, 0, 0, n.batch)?;
            ends = cx.reshape(&ends, &[n.batch, 1, 1, 1])?;
            let before_end = cx.binary("Lt", &keys, &ends)?;
            if d == n.batch {
                before_end
            } else {
                let starts = cx.narrow(&mask, 0, n.batch, n.batch)?;
                let starts = cx.reshape(&starts, &[n.batch, 1, 1, 1])?;
                let after_start = cx.binary("Ge", &keys, &starts)?;
                cx.binary("And", &before_end, &after_start)?
            }
        }
        &[batch, last] => {
            let mask = cx.reshape(mask, &[batch, 1, 1, last])?;
            cx.with_scalar("Ne", &mask, 0.0)?
        }
        &[batch, queries, last] => {
            let mask = cx.reshape(mask, &[batch, 1, queries, last])?;
            cx.with_scalar("Ne", &mask, 0.0)?
        }
        _ => bail!(Unsupported, "a mask {ty} for {} keys", n.keys),
    };
    cx.select(&seen, &scalar(n.element, 0.0), &scalar(n.element, filter))
}

/// The masks of a node as one: a bias of padding, a bias that is given, causal order.
fn combined(cx: &mut Context, n: &Extent, biases: &[Operand], causal: bool) -> Result<Mask> {
    let Some((first, more)) = biases.split_first() else {
        return Ok(if causal { Mask::Causal } else { Mask::None });
    };
    let mut bias = rank4(cx, first)?;
    for next in more {
        let next = rank4(cx, next)?;
        bias = cx.binary("Add", &bias, &next)?;
    }
    if causal {
        let past = n.keys as i64 - n.queries as i64;
        if let Some(seen) = visible(cx, n, &Offset::Number(past), None, Some(0))? {
            let hidden = full(n.element, &[], f64::NEG_INFINITY);
            bias = cx.select(&seen, &bias, &hidden)?;
        }
    }
    Ok(Mask::Bias(bias))
}

/// Inputs: x [batch, sequence, size], weights of q, k and v side by side, their bias, mask, past [2, batch, heads, past, head],
/// attention bias. Outputs: y, present.
fn attention(cx: &mut Context) -> Result<Vec<Operand>> {
    ensure!(!cx.flag("do_rotary", false)?, Unsupported, "do_rotary = 1");
    ensure!(!cx.flag("past_present_share_buffer", false)?, Unsupported, "past_present_share_buffer = 1");
    cx.attributes.ignore(&["rotary_embedding_dim"]);
    let heads = heads(cx, "num_heads")?;
    let (x, w) = (cx.input(0)?, cx.input(1)?);
    let columns = cx.ty(&w)?.last();
    let widths = match cx.attributes.ints("qkv_hidden_sizes")?.filter(|w| !w.is_empty()) {
        Some(widths) => crate::formats::onnx::standard::checked_sizes(widths)?,
        None => vec![columns / 3; 3],
    };
    ensure!(
        widths.len() == 3 && widths.iter().sum::<usize>() == columns,
        InvalidGraph,
        "q, k and v of {} in {columns} columns",
        list_text(&widths)
    );
    let qkv = match cx.opt(2) {
        Some(bias) => cx.emit1("MatMulBiasAct", vec![], &[x, w, bias])?,
        None => cx.matmul(&x, &w)?,
    };
    let mut parts = Vec::new();
    for part in cx.split(&qkv, 2, &widths)? {
        parts.push(split_heads(cx, &part, heads)?);
    }
    let wants_present = cx.node.outputs.get(1).is_some_and(|name| !name.is_empty());
    if let Some(past) = cx.opt(4) {
        let halves = cx.split(&past, 0, &[1, 1])?;
        for (k, half) in halves.iter().enumerate() {
            let dims = cx.ty(half)?.dims;
            let half = cx.reshape(half, &dims[1..])?;
            parts[1 + k] = cx.concat(&[half, parts[1 + k].clone()], 2)?;
        }
    }
    let at = Heads {
        q: parts[0].clone(),
        k: parts[1].clone(),
        v: parts[2].clone(),
        kv_len: None,
        scale: cx.attributes.float("scale")?.filter(|&s| s != 0.0),
        softcap: 0.0,
    };
    let n = at.extent(cx)?;
    let causal = cx.flag("unidirectional", false)?;
    let filter = filter_value(cx)?;
    let mut biases = Vec::new();
    if let Some(mask) = cx.opt(3) {
        biases.push(padding_bias(cx, &mask, &n, filter)?);
    }
    biases.extend(cx.opt(5));
    let mask = combined(cx, &n, &biases, causal)?;
    let y = attend(cx, &at, &mask, None)?;
    let mut outputs = vec![merge_heads(cx, &y)?];
    if wants_present {
        let mut halves = Vec::new();
        for part in &parts[1..] {
            let dims = cx.ty(part)?.dims;
            halves.push(cx.reshape(part, &[&[1], &dims[..]].concat())?);
        }
        outputs.push(cx.concat(&halves, 0)?);
    }
    Ok(outputs)
}

/// Inputs: query, key, value [batch, sequence, heads * head] (or key and value as heads of a cache, or all packed in the query),
/// bias, padding mask, attention bias, past key, past value. Outputs: y, present key, present value, scores.
fn multi_head(cx: &mut Context) -> Result<Vec<Operand>> {
    let heads = heads(cx, "num_heads")?;
    ensure!(cx.opt(8).is_none() && cx.opt(9).is_none(), Unsupported, "a cache that is shared or reordered");
    let [mut q, mut k, mut v] = operands(cx, heads)?;
    for (part, input) in [(&mut k, 6), (&mut v, 7)] {
        if let Some(past) = cx.opt(input) {
            *part = cx.concat(&[past, part.clone()], 2)?;
        }
    }
    let at = Heads {
        q: q.clone(),
        k: k.clone(),
        v: v.clone(),
        kv_len: None,
        scale: cx.attributes.float("scale")?.filter(|&s| s != 0.0),
        softcap: 0.0,
    };
    let n = at.extent(cx)?;
    let causal = cx.flag("unidirectional", false)?;
    let filter = filter_value(cx)?;
    let mut biases = Vec::new();
    if let Some(mask) = cx.opt(4) {
        biases.push(padding_bias(cx, &mask, &n, filter)?);
    }
    biases.extend(cx.opt(5));
    let mask = combined(cx, &n, &biases, causal)?;
    q = attend(cx, &at, &mask, None)?;
    let mut outputs = vec![merge_heads(cx, &q)?, k, v];
    if cx.node.outputs.get(3).is_some_and(|name| !name.is_empty()) {
        let bias = match mask {
            Mask::Bias(bias) => Some(bias),
            Mask::Causal => match visible(cx, &n, &Offset::Number(n.keys as i64 - n.queries as i64), None, Some(0))? {
                Some(seen) => Some(bias_of(cx, &seen, n.element)?),
                None => None,
            },
            _ => None,
        };
        outputs.push(scores(cx, &at, bias.as_ref())?.raw);
    }
    Ok(outputs)
}

/// q, k and v as [batch, heads, sequence, head], their biases added.
fn operands(cx: &mut Context, heads: usize) -> Result<[Operand; 3]> {
    let query = cx.input(0)?;
    let ty = cx.ty(&query)?;
    let bias = cx.opt(3);
    let mut parts = Vec::new();
    if ty.rank() == 5 {
        // [batch, sequence, heads, 3, head]
        ensure!(bias.is_none(), Unsupported, "a bias of packed q, k and v");
        let [b, s, n, _, d] = <[usize; 5]>::try_from(ty.dims).map_err(|_| crate::error!(Internal, "rank 5"))?;
        for part in cx.split(&query, 3, &[1, 1, 1])? {
            let part = cx.reshape(&part, &[b, s, n, d])?;
            parts.push(cx.transpose(&part, &[0, 2, 1, 3])?);
        }
        return <[Operand; 3]>::try_from(parts).map_err(|_| crate::error!(Internal, "three parts"));
    }
    let (key, value) = match (cx.opt(1), cx.opt(2)) {
        (Some(key), Some(value)) => (key, value),
        (Some(packed), None) => {
            // [batch, sequence, heads, 2, head]
            let dims = cx.ty(&packed)?.dims;
            ensure!(dims.len() == 5, InvalidGraph, "packed keys and values {dims}", dims = list_text(&dims));
            let halves = cx.split(&packed, 3, &[1, 1])?;
            let flat = [dims[0], dims[1], dims[2] * dims[4]];
            (cx.reshape(&halves[0], &flat)?, cx.reshape(&halves[1], &flat)?)
        }
        _ => bail!(InvalidGraph, "there are no keys"),
    };
    let mut start = 0;
    for x in [query, key, value] {
        let dims = cx.ty(&x)?.dims;
        // Keys of a cache are in heads already, and have no bias.
        let cached = dims.len() == 4;
        let width = if cached { dims[1] * dims[3] } else { dims.last().copied().unwrap_or(0) };
        let mut x = x;
        if let Some(bias) = bias.as_ref().filter(|_| !cached) {
            let part = cx.narrow(bias, 0, start, width)?;
            x = cx.binary("Add", &x, &part)?;
        }
        start += width;
        parts.push(if cached { x } else { split_heads(cx, &x, heads)? });
    }
    <[Operand; 3]>::try_from(parts).map_err(|_| crate::error!(Internal, "three parts"))
}

/// Rotates x [batch, sequence, heads * head] or [batch, heads, sequence, head] at these positions, [batch, sequence].
pub struct Rotation {
    pub cos: Operand,
    pub sin: Operand,
    pub positions: Option<Operand>,
    pub interleaved: bool,
    pub rotated: Option<usize>,
}

impl Rotation {
    pub fn apply(&self, cx: &mut Context, x: &Operand, heads: usize) -> Result<Operand> {
        let ty = cx.ty(x)?;
        let table = cx.ty(&self.cos)?.last();
        let (layout, head) = match ty.rank() {
            4 => ("BHSD", ty.dims[3]),
            3 if heads > 0 => ("BSH", ty.dims[2] / heads),
            // Without a number of heads the tables say how wide one is.
            3 => ("BSH", 2 * table),
            _ => bail!(InvalidGraph, "takes rank 3 or 4, not {ty}"),
        };
        let rotated = self.rotated.unwrap_or(head);
        let style = if self.interleaved { "GptJ" } else { "NeoX" };
        let attributes = vec![("head_dim", size(head)), ("n_rot", size(rotated)), ("style", text(style)), ("layout", text(layout))];
        let mut inputs = vec![Some(x.clone()), Some(cx.cast(&self.cos, ty.element)?), Some(cx.cast(&self.sin, ty.element)?)];
        inputs.extend(self.positions.clone().map(Some));
        cx.emit("Rope", attributes, &inputs).map(|mut outputs| outputs.remove(0))
    }
}

/// Inputs: x, positions ([1]: the first of all; [batch, sequence]: each), cos, sin.
fn rotary(cx: &mut Context) -> Result<Vec<Operand>> {
    ensure!(cx.attributes.float("scale")?.unwrap_or(1.0) == 1.0, Unsupported, "a scale");
    ensure!(!cx.flag("is_packed_batching", false)?, Unsupported, "is_packed_batching = 1");
    let heads = cx.attributes.int("num_heads")?.and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
    let rotated = cx.attributes.int("rotary_embedding_dim")?.and_then(|n| usize::try_from(n).ok()).filter(|&n| n > 0);
    let (x, positions) = (cx.input(0)?, cx.input(1)?);
    let ty = cx.ty(&x)?;
    let steps = if ty.rank() == 4 { ty.dims[2] } else { ty.dims[1] };
    let positions = if cx.ty(&positions)?.elements() == 1 && cx.ty(&positions)?.rank() <= 1 {
        let first = cx.reshape(&positions, &[1])?;
        let first = cx.cast(&first, ElementType::I64)?;
        let step: Vec<i64> = (0..steps as i64).collect();
        cx.binary("Add", &first, &Operand::constant(Tensor::from_slice(&[steps], &step)))?
    } else {
        positions
    };
    let rotation = Rotation {
        cos: cx.input(2)?,
        sin: cx.input(3)?,
        positions: Some(positions),
        interleaved: cx.flag("interleaved", false)?,
        rotated,
    };
    Ok(vec![rotation.apply(cx, &x, heads)?])
}
