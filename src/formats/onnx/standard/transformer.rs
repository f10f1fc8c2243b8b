//! Attention and rotary embedding.

use super::Convert;
use crate::formats::onnx::attention::{self, Extent, Heads, Mask, Offset};
use crate::formats::onnx::context::Context;
use crate::formats::onnx::express::{full, size, text};
use crate::formats::onnx::read::Operand;
use crate::tensor::ElementType;
use crate::{Result, bail, ensure};

pub const ROWS: &[(&str, Convert)] = &[("Attention", attention), ("RotaryEmbedding", rotary)];

/// Inputs q, k, v, mask, past key, past value, valid keys. Outputs y, present key, present value, scores.
fn attention(cx: &mut Context) -> Result<Vec<Operand>> {
    cx.attributes.ignore(&["softmax_precision"]);
    let (q, k, v) = (cx.input(0)?, cx.input(1)?, cx.input(2)?);
    let flat = cx.ty(&q)?.rank() == 3;
    let (q_heads, kv_heads) = (cx.attributes.int("q_num_heads")?, cx.attributes.int("kv_num_heads")?);
    let count = |n: Option<i64>| n.and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
    let mut parts = Vec::new();
    for (x, heads) in [(q, q_heads), (k, kv_heads), (v, kv_heads)] {
        parts.push(if flat { attention::split_heads(cx, &x, count(heads))? } else { x });
    }
    let mut past = 0;
    for (part, input) in [(1, 4), (2, 5)] {
        if let Some(before) = cx.opt(input) {
            past = cx.ty(&before)?.dims.get(2).copied().unwrap_or(0);
            parts[part] = cx.concat(&[before, parts[part].clone()], 2)?;
        }
    }
    let [q, k, v] = <[Operand; 3]>::try_from(parts).map_err(|_| crate::error!(Internal, "q, k and v"))?;
    let at = Heads {
        q,
        k: k.clone(),
        v: v.clone(),
        kv_len: cx.opt(6),
        scale: cx.attributes.float("scale")?,
        softcap: cx.attributes.float("softcap")?.unwrap_or(0.0),
    };
    let n = at.extent(cx)?;
    let mask = mask(cx, &n, past)?;
    let mode = cx.attributes.int("qk_matmul_output_mode")?.unwrap_or(0);
    let wants_scores = cx.node.outputs.get(3).is_some_and(|name| !name.is_empty());
    let mut y = attention::attend(cx, &at, &mask, None)?;
    if flat {
        y = attention::merge_heads(cx, &y)?;
    }
    let mut outputs = vec![y, k, v];
    if wants_scores {
        let bias = as_bias(cx, &n, &mask, past)?;
        let scores = attention::scores(cx, &at, bias.as_ref())?;
        outputs.push(match mode {
            0 => scores.raw,
            1 => scores.capped,
            2 => scores.biased,
            3 => scores.weights,
            other => bail!(InvalidGraph, "qk_matmul_output_mode {other}"),
        });
    }
    Ok(outputs)
}

/// Causal order and windows, and the mask of input 3, as one mask.
fn mask(cx: &mut Context, n: &Extent, past: usize) -> Result<Mask> {
    let causal = cx.flag("is_causal", false)?;
    let side = |v: Option<i64>| v.and_then(|v| usize::try_from(v).ok());
    let left = side(cx.attributes.int("left_window_size")?);
    let right = if causal { Some(0) } else { side(cx.attributes.int("right_window_size")?) };
    let given = match cx.opt(3) {
        Some(mask) => Some(padded(cx, &mask, n.keys)?),
        None => None,
    };
    let offset = match cx.opt(6) {
        Some(len) => {
            let len = cx.cast(&len, ElementType::I64)?;
            Offset::Batch(cx.with_scalar("Sub", &len, n.queries as f64)?)
        }
        None => Offset::Number(past as i64),
    };
    // The operator puts the last query at the last key.
    let aligned = match offset {
        Offset::Number(offset) => offset == n.keys as i64 - n.queries as i64,
        Offset::Batch(_) => true,
    };
    let Some(given) = given else {
        return Ok(match (left, right) {
            (None, None) => Mask::None,
            (None, Some(0)) if aligned => Mask::Causal,
            (Some(left), Some(0)) if aligned => Mask::Window(left),
            _ => attention::visible(cx, n, &offset, left, right)?.map_or(Mask::None, Mask::Visible),
        });
    };
    let visible = attention::visible(cx, n, &offset, left, right)?;
    let ty = cx.ty(&given)?;
    if ty.element == ElementType::Bool {
        let both = match visible {
            Some(visible) => cx.binary("And", &visible, &given)?,
            None => given,
        };
        // The operator's own mask has no heads.
        return Ok(if ty.dims[1] == 1 { Mask::Visible(both) } else { Mask::Bias(attention::bias_of(cx, &both, n.element)?) });
    }
    Ok(Mask::Bias(match visible {
        Some(visible) => cx.select(&visible, &given, &full(ty.element, &[], f64::NEG_INFINITY))?,
        None => given,
    }))
}

/// The mask with rank 4, its last axis lengthened to all keys: what is added hides.
fn padded(cx: &mut Context, mask: &Operand, keys: usize) -> Result<Operand> {
    let mask = attention::rank4(cx, mask)?;
    let ty = cx.ty(&mask)?;
    let last = ty.last();
    if last == keys || last == 1 {
        return Ok(mask);
    }
    ensure!(last < keys, InvalidGraph, "the mask {ty} is for more than {keys} keys");
    let mut rest = ty.dims.clone();
    rest[3] = keys - last;
    let hidden = if ty.element == ElementType::Bool { 0.0 } else { f64::NEG_INFINITY };
    cx.concat(&[mask, full(ty.element, &rest, hidden)], 3)
}

/// The mask as what is added to scores.
fn as_bias(cx: &mut Context, n: &Extent, mask: &Mask, past: usize) -> Result<Option<Operand>> {
    let offset = Offset::Number(past as i64);
    let visible = match mask {
        Mask::Bias(bias) => return Ok(Some(bias.clone())),
        Mask::None => return Ok(None),
        Mask::Visible(visible) => Some(visible.clone()),
        Mask::Causal => attention::visible(cx, n, &offset, None, Some(0))?,
        Mask::Window(left) => attention::visible(cx, n, &offset, Some(*left), Some(0))?,
    };
    match visible {
        Some(visible) => attention::bias_of(cx, &visible, n.element).map(Some),
        None => Ok(None),
    }
}

/// Inputs x [batch, sequence, heads * head] or [batch, heads, sequence, head], cos, sin, positions [batch, sequence].
fn rotary(cx: &mut Context) -> Result<Vec<Operand>> {
    let (x, cos, sin) = (cx.input(0)?, cx.input(1)?, cx.input(2)?);
    let ty = cx.ty(&x)?;
    let (layout, head) = match ty.rank() {
        4 => ("BHSD", ty.dims[3]),
        3 => {
            let heads = cx.attributes.int("num_heads")?.and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
            ensure!(heads > 0 && ty.dims[2] % heads == 0, InvalidGraph, "{ty} has no {heads} heads");
            ("BSH", ty.dims[2] / heads)
        }
        _ => bail!(InvalidGraph, "takes rank 3 or 4, not {ty}"),
    };
    cx.attributes.ignore(&["num_heads"]);
    let rotated = match cx.attributes.int("rotary_embedding_dim")?.unwrap_or(0) {
        0 => head,
        n => usize::try_from(n).unwrap_or(0),
    };
    let style = if cx.flag("interleaved", false)? { "GptJ" } else { "NeoX" };
    // Without positions the tables have a row for each token: [batch, sequence, n], or one batch item's.
    let mut tables = Vec::new();
    for table in [cos, sin] {
        let dims = cx.ty(&table)?.dims;
        tables.push(if dims.len() == 3 { cx.reshape(&table, &[dims[0] * dims[1], dims[2]])? } else { table });
    }
    let mut inputs = vec![Some(x), Some(tables[0].clone()), Some(tables[1].clone())];
    inputs.extend(cx.opt(3).map(Some));
    let attributes = vec![("head_dim", size(head)), ("n_rot", size(rotated)), ("style", text(style)), ("layout", text(layout))];
    cx.emit("Rope", attributes, &inputs)
}
