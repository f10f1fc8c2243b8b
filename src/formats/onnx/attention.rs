//! Attention, as the files' attention nodes share it.

use super::context::Context;
use super::express::{full, int, size, text};
use super::read::Operand;
use crate::ops::Attribute;
use crate::tensor::{ElementType, Tensor, TensorType};
use crate::{Result, ensure};

/// The operands of an attention, in layout BHSD: [batch, heads, sequence, head].
pub struct Heads {
    pub q: Operand,
    pub k: Operand,
    pub v: Operand,
    /// Valid keys, i32 [batch].
    pub kv_len: Option<Operand>,
    pub scale: Option<f64>,
    pub softcap: f64,
}

/// What hides keys from queries.
#[derive(Clone)]
pub enum Mask {
    None,
    /// Query i sees keys up to offset + i.
    Causal,
    /// Query i sees keys offset + i - window to offset + i.
    Window(usize),
    /// Rank 4, broadcasts to [batch, 1, queries, keys]: true is seen.
    Visible(Operand),
    /// Rank 4, broadcasts to [batch, heads, queries, keys]: added to the scores.
    Bias(Operand),
}

/// Sizes of an attention.
pub struct Extent {
    pub batch: usize,
    pub heads: usize,
    pub kv_heads: usize,
    pub queries: usize,
    pub keys: usize,
    pub head: usize,
    pub v_head: usize,
    pub element: ElementType,
}

impl Heads {
    pub fn extent(&self, cx: &Context) -> Result<Extent> {
        let (q, k, v) = (cx.ty(&self.q)?, cx.ty(&self.k)?, cx.ty(&self.v)?);
        ensure!(
            q.rank() == 4 && k.rank() == 4 && v.rank() == 4,
            InvalidGraph,
            "q {q}, k {k}, v {v}: all must be [batch, heads, sequence, head]"
        );
        let fits = k.dims[..3] == v.dims[..3] && q.dims[0] == k.dims[0] && q.dims[3] == k.dims[3];
        ensure!(fits, InvalidGraph, "q {q}, k {k} and v {v} do not fit");
        Ok(Extent {
            batch: q.dims[0],
            heads: q.dims[1],
            kv_heads: k.dims[1],
            queries: q.dims[2],
            keys: k.dims[2],
            head: q.dims[3],
            v_head: v.dims[3],
            element: q.element,
        })
    }
}

/// [batch, sequence, heads * head] as [batch, heads, sequence, head].
pub fn split_heads(cx: &mut Context, x: &Operand, heads: usize) -> Result<Operand> {
    let ty = cx.ty(x)?;
    ensure!(ty.rank() == 3 && heads > 0 && ty.dims[2] % heads == 0, InvalidGraph, "{ty} has no {heads} heads");
    let x = cx.reshape(x, &[ty.dims[0], ty.dims[1], heads, ty.dims[2] / heads])?;
    cx.transpose(&x, &[0, 2, 1, 3])
}

/// The reverse of `split_heads`.
pub fn merge_heads(cx: &mut Context, x: &Operand) -> Result<Operand> {
    let dims = cx.ty(x)?.dims;
    let x = cx.transpose(x, &[0, 2, 1, 3])?;
    cx.reshape(&x, &[dims[0], dims[2], dims[1] * dims[3]])
}

/// The attention operator. The result is in layout BHSD.
pub fn attend(cx: &mut Context, at: &Heads, mask: &Mask, sinks: Option<Operand>) -> Result<Operand> {
    let n = at.extent(cx)?;
    let (kind, mask, window) = match mask {
        Mask::None => ("None", None, None),
        Mask::Causal => ("Causal", None, None),
        Mask::Window(w) => ("SlidingWindow", None, Some(*w)),
        Mask::Visible(mask) => ("Custom", Some(mask.clone()), None),
        Mask::Bias(bias) => ("Bias", Some(cx.cast(bias, n.element)?), None),
    };
    let mut attributes = vec![
        ("num_heads", size(n.heads)),
        ("num_kv_heads", size(n.kv_heads)),
        ("head_dim", size(n.head)),
        ("v_head_dim", size(n.v_head)),
        ("layout", text("BHSD")),
        ("mask", text(kind)),
        ("softcap", Attribute::Float(at.softcap)),
    ];
    attributes.extend(window.map(|w| ("window", size(w))));
    attributes.extend(at.scale.map(|s| ("scale", Attribute::Float(s))));
    let kv_len = match &at.kv_len {
        Some(len) => Some(cx.cast(len, ElementType::I32)?),
        None => None,
    };
    let mut inputs = vec![Some(at.q.clone()), Some(at.k.clone()), Some(at.v.clone()), mask, kv_len, sinks];
    while inputs.last().is_some_and(Option::is_none) {
        inputs.pop();
    }
    cx.emit("Attention", attributes, &inputs).map(|mut outputs| outputs.remove(0))
}

/// Scores and weights written out, for nodes that give them as outputs.
pub struct Scores {
    pub raw: Operand,
    pub capped: Operand,
    pub biased: Operand,
    pub weights: Operand,
}

/// The scores of all queries and keys, [batch, heads, queries, keys], step by step. `bias` broadcasts to that.
pub fn scores(cx: &mut Context, at: &Heads, bias: Option<&Operand>) -> Result<Scores> {
    let n = at.extent(cx)?;
    let k = repeat_heads(cx, &at.k, n.heads)?;
    let attributes = vec![("transpose_b", int(true))];
    let products = cx.emit1("MatMul", attributes, &[at.q.clone(), k])?;
    let raw = cx.with_scalar("Mul", &products, at.scale.unwrap_or(1.0 / (n.head as f64).sqrt()))?;
    let capped = if at.softcap > 0.0 {
        let x = cx.with_scalar("Div", &raw, at.softcap)?;
        let x = cx.unary("Tanh", &x)?;
        cx.with_scalar("Mul", &x, at.softcap)?
    } else {
        raw.clone()
    };
    let biased = match bias {
        Some(bias) => {
            let bias = cx.cast(bias, n.element)?;
            cx.binary("Add", &capped, &bias)?
        }
        None => capped.clone(),
    };
    let weights = cx.emit1("Softmax", vec![("axis", int(-1))], std::slice::from_ref(&biased))?;
    Ok(Scores { raw, capped, biased, weights })
}

/// Each of the key heads as often as query heads use it.
pub fn repeat_heads(cx: &mut Context, x: &Operand, heads: usize) -> Result<Operand> {
    let d = cx.ty(x)?.dims;
    if d[1] == heads {
        return Ok(x.clone());
    }
    ensure!(d[1] > 0 && heads.is_multiple_of(d[1]), InvalidGraph, "{heads} query heads on {} key heads", d[1]);
    let x = cx.reshape(x, &[d[0], d[1], 1, d[2], d[3]])?;
    let x = cx.expand(&x, &[d[0], d[1], heads / d[1], d[2], d[3]])?;
    cx.reshape(&x, &[d[0], heads, d[2], d[3]])
}

/// True where query i, at position `offset` + i, sees key j: j <= position, and j >= position - left; a side without a bound sees
/// all. `offset` is a number, or i64 [batch].
pub fn visible(
    cx: &mut Context,
    n: &Extent,
    offset: &Offset,
    left: Option<usize>,
    right: Option<usize>,
) -> Result<Option<Operand>> {
    let keys = counted(&[1, 1, 1, n.keys], 0);
    let positions = match offset {
        Offset::Number(offset) => counted(&[1, 1, n.queries, 1], *offset),
        Offset::Batch(offset) => {
            let offset = cx.cast(offset, ElementType::I64)?;
            let offset = cx.reshape(&offset, &[n.batch, 1, 1, 1])?;
            cx.binary("Add", &offset, &counted(&[1, 1, n.queries, 1], 0))?
        }
    };
    let mut all = Vec::new();
    if let Some(right) = right {
        let last = cx.with_scalar("Add", &positions, right as f64)?;
        all.push(cx.binary("Le", &keys, &last)?);
    }
    if let Some(left) = left {
        let first = cx.with_scalar("Sub", &positions, left as f64)?;
        all.push(cx.binary("Ge", &keys, &first)?);
    }
    match all.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(one.clone())),
        [a, b, ..] => cx.binary("And", a, b).map(Some),
    }
}

/// The position of the first query.
pub enum Offset {
    Number(i64),
    Batch(Operand),
}

/// i64 numbers from `first` on.
fn counted(dims: &[usize], first: i64) -> Operand {
    let ty = TensorType::new(ElementType::I64, dims);
    let values: Vec<i64> = (0..ty.elements() as i64).map(|i| i + first).collect();
    Operand::constant(Tensor::from_slice(dims, &values))
}

/// 0 where true, -inf where false.
pub fn bias_of(cx: &mut Context, visible: &Operand, element: ElementType) -> Result<Operand> {
    cx.select(visible, &full(element, &[], 0.0), &full(element, &[], f64::NEG_INFINITY))
}

/// A mask with ones in front up to rank 4.
pub fn rank4(cx: &mut Context, mask: &Operand) -> Result<Operand> {
    let mut dims = cx.ty(mask)?.dims;
    ensure!(dims.len() <= 4, InvalidGraph, "a mask of {} dimensions", dims.len());
    while dims.len() < 4 {
        dims.insert(0, 1);
    }
    cx.reshape(mask, &dims)
}
