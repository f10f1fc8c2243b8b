//! GroupQueryAttention: attention on a key and value cache, with rotation and an attention window.

use super::attention::{Rotation, heads};
use crate::formats::onnx::attention::{Extent, Heads, Mask, Offset, attend, merge_heads, rank4, split_heads, visible};
use crate::formats::onnx::context::Context;
use crate::formats::onnx::express::{full, int};
use crate::formats::onnx::read::Operand;
use crate::formats::onnx::standard::Convert;
use crate::tensor::{ElementType, Tensor};
use crate::{Result, ensure};

pub const ROWS: &[(&str, Convert)] = &[("GroupQueryAttention", group_query)];

/// The cache before and after this call.
struct Cache {
    /// Keys and values in it, with those of this call: [batch, heads, capacity, head].
    k: Operand,
    v: Operand,
    /// Keys before this call, i64 [batch].
    before: Operand,
    /// Keys in all, i64 [batch].
    total: Operand,
    /// True if all batch items have as many keys as queries fit: the last query is at the last key.
    aligned: bool,
}

/// Inputs: query, key, value (or all packed in the query), past key, past value, last valid position of each batch item, total
/// length, cos, sin, positions, attention bias, sinks. Outputs: y, present key, present value.
fn group_query(cx: &mut Context) -> Result<Vec<Operand>> {
    let (q_heads, kv_heads) = (heads(cx, "num_heads")?, heads(cx, "kv_num_heads")?);
    ensure!(!cx.flag("smooth_softmax", false)?, Unsupported, "smooth_softmax = 1");
    for name in ["k_quant_type", "v_quant_type"] {
        ensure!(cx.attributes.text(name)?.is_none_or(|t| t == "NONE"), Unsupported, "a quantized cache");
    }
    cx.attributes.ignore(&["kv_cache_bit_width", "qk_output"]);
    let [q, k, v] = operands(cx, q_heads, kv_heads)?;
    let queries = cx.ty(&q)?.dims[1];
    let batch = cx.ty(&q)?.dims[0];
    let last = cx.input(5)?;
    let last = cx.cast(&last, ElementType::I64)?;
    let last = cx.reshape(&last, &[batch])?;
    let total = cx.with_scalar("Add", &last, 1.0)?;
    let before = cx.with_scalar("Sub", &total, queries as f64)?;
    let before = cx.with_scalar("Max", &before, 0.0)?;
    let (q, k) = rotated(cx, q, k, &before, queries, q_heads, kv_heads)?;
    let (q, k, v) = (split_heads(cx, &q, q_heads)?, split_heads(cx, &k, kv_heads)?, split_heads(cx, &v, kv_heads)?);
    let cache = cached(cx, &k, &v, before, total, queries)?;
    let at = Heads {
        q,
        k: cache.k.clone(),
        v: cache.v.clone(),
        kv_len: Some(cache.total.clone()),
        scale: cx.attributes.float("scale")?.filter(|&s| s != 0.0),
        softcap: cx.attributes.float("softcap")?.unwrap_or(0.0),
    };
    let n = at.extent(cx)?;
    let mask = mask(cx, &n, &cache)?;
    let sinks = cx.opt(11);
    let y = attend(cx, &at, &mask, sinks)?;
    Ok(vec![merge_heads(cx, &y)?, cache.k, cache.v])
}

fn operands(cx: &mut Context, q_heads: usize, kv_heads: usize) -> Result<[Operand; 3]> {
    let query = cx.input(0)?;
    if let (Some(key), Some(value)) = (cx.opt(1), cx.opt(2)) {
        return Ok([query, key, value]);
    }
    let width = cx.ty(&query)?.last();
    let head = width / (q_heads + 2 * kv_heads);
    let parts = cx.split(&query, 2, &[q_heads * head, kv_heads * head, kv_heads * head])?;
    <[Operand; 3]>::try_from(parts).map_err(|_| crate::error!(Internal, "three parts"))
}

fn rotated(
    cx: &mut Context,
    q: Operand,
    k: Operand,
    before: &Operand,
    queries: usize,
    q_heads: usize,
    kv_heads: usize,
) -> Result<(Operand, Operand)> {
    if !cx.flag("do_rotary", false)? {
        cx.attributes.ignore(&["rotary_interleaved"]);
        return Ok((q, k));
    }
    let positions = match cx.opt(9) {
        Some(positions) => positions,
        None => {
            let batch = cx.ty(before)?.elements();
            let first = cx.reshape(before, &[batch, 1])?;
            let step: Vec<i64> = (0..queries as i64).collect();
            cx.binary("Add", &first, &Operand::constant(Tensor::from_slice(&[1, queries], &step)))?
        }
    };
    let cos = cx.input(7)?;
    let rotation = Rotation {
        rotated: Some(2 * cx.ty(&cos)?.last()),
        cos,
        sin: cx.input(8)?,
        positions: Some(positions),
        interleaved: cx.flag("rotary_interleaved", false)?,
    };
    Ok((rotation.apply(cx, &q, q_heads)?, rotation.apply(cx, &k, kv_heads)?))
}

/// The new keys and values behind those of the past. Where the past has room for them they are written into it.
fn cached(cx: &mut Context, k: &Operand, v: &Operand, before: Operand, total: Operand, queries: usize) -> Result<Cache> {
    let wanted = cx.constant_ints(6)?.first().and_then(|&n| usize::try_from(n).ok()).unwrap_or(0);
    let batch = cx.ty(k)?.dims[0];
    let mut parts = Vec::new();
    for (new, input) in [(k, 3), (v, 4)] {
        let past = match cx.opt(input) {
            Some(past) if cx.ty(&past)?.dims.get(2).is_some_and(|&n| n > 0) => past,
            _ => {
                parts.push(new.clone());
                continue;
            }
        };
        let ty = cx.ty(&past)?;
        let room = ty.dims[2];
        let past = if room < wanted {
            let mut more = ty.dims.clone();
            more[2] = wanted - room;
            cx.concat(&[past, full(ty.element, &more, 0.0)], 2)?
        } else {
            past
        };
        // The operator has the sequence on axis 1.
        let (past, new) = (cx.transpose(&past, &[0, 2, 1, 3])?, cx.transpose(new, &[0, 2, 1, 3])?);
        let at = cx.cast(&before, ElementType::I32)?;
        let all = cx.emit1("KvAppend", vec![("ring", int(false))], &[past, new, at])?;
        parts.push(cx.transpose(&all, &[0, 2, 1, 3])?);
    }
    let [k, v] = <[Operand; 2]>::try_from(parts).map_err(|_| crate::error!(Internal, "keys and values"))?;
    // Shorter prompts of a batch are padded at their end: their last query is past their last key.
    Ok(Cache { k, v, before, total, aligned: batch == 1 || queries == 1 })
}

/// The window counts the query's own key: w keys in all.
fn mask(cx: &mut Context, n: &Extent, cache: &Cache) -> Result<Mask> {
    let window = cx.attributes.int("local_window_size")?.and_then(|w| usize::try_from(w).ok()).filter(|&w| w > 0);
    let left = window.map(|w| w - 1);
    let bias = cx.opt(10);
    if cache.aligned && bias.is_none() {
        return Ok(left.map_or(Mask::Causal, Mask::Window));
    }
    let seen = visible(cx, n, &Offset::Batch(cache.before.clone()), left, Some(0))?;
    Ok(match (seen, bias) {
        (Some(seen), None) => Mask::Visible(seen),
        (None, None) => Mask::None,
        (seen, Some(bias)) => {
            let mut bias = rank4(cx, &bias)?;
            let keys = cx.ty(&bias)?.last();
            if keys > n.keys {
                bias = cx.narrow(&bias, 3, 0, n.keys)?;
            }
            match seen {
                Some(seen) => {
                    let hidden = full(cx.ty(&bias)?.element, &[], f64::NEG_INFINITY);
                    Mask::Bias(cx.select(&seen, &bias, &hidden)?)
                }
                None => Mask::Bias(bias),
            }
        }
    })
}
