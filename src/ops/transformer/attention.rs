//! Attention: softmax(q k^T) v with grouped queries, masks, cached keys, soft caps and sinks.

use rayon::prelude::*;

use super::attention_cases::cases;
use super::attention_lower::{Operands, lower_attention};
use crate::ops::{Attributes, Inputs, Lowering, Operator, Reference, out_of_range};
use crate::tensor::{ElementType, Tensor, TensorType, broadcast, list_text, row_strides};
use crate::{Result, attribute_enum, attributes, bail, ensure};

attribute_enum! {
    pub enum HeadLayout { Bshd = "BSHD", Bhsd = "BHSD" }
}
attribute_enum! {
    pub enum MaskKind {
        None = "None",
        /// Keys after the query's own position are hidden.
        Causal = "Causal",
        /// Keys outside [position - window, position] are hidden.
        SlidingWindow = "SlidingWindow",
        /// The mask input hides: false, or a number below 0.5.
        Custom = "Custom",
        /// The mask input is added to the scores.
        Bias = "Bias",
    }
}
attributes! {
    pub struct Attention {
        num_heads: usize,
        num_kv_heads: Option<usize>,
        head_dim: usize,
        v_head_dim: Option<usize>,
        layout: HeadLayout,
        mask: MaskKind,
        window: Option<usize>,
        scale: Option<f64>,
        /// 0: none.
        softcap: f64 = 0.0,
    }
}

crate::entries!(Attention: cases);

/// The largest head that the kernels' shared memory holds.
const MAX_HEAD: usize = 512;

/// Sizes of a checked attention.
#[derive(Clone, Debug)]
pub struct Sizes {
    pub batch: usize,
    pub queries: usize,
    pub keys: usize,
    pub heads: usize,
    pub kv_heads: usize,
    /// Elements of a query or key, and of a value.
    pub size: usize,
    pub value_size: usize,
}

impl Attention {
    /// Strides in elements of batch, head and row.
    pub(super) fn strides(&self, rows: usize, heads: usize, size: usize) -> [usize; 3] {
        match self.layout {
            HeadLayout::Bshd => [rows * heads * size, size, heads * size],
            HeadLayout::Bhsd => [rows * heads * size, rows * size, size],
        }
    }

    fn rows_and_heads(&self, ty: &TensorType, what: &str, heads: usize, size: usize) -> Result<(usize, usize)> {
        let (batch, rows, h) = match (self.layout, &ty.dims[..]) {
            (HeadLayout::Bshd, &[b, s, h, d]) if d == size => (b, s, h),
            (HeadLayout::Bhsd, &[b, h, s, d]) if d == size => (b, s, h),
            _ => bail!(InvalidGraph, "{what} {ty} is not {} with heads of {size}", self.layout.text()),
        };
        ensure!(h == heads, InvalidGraph, "{what} {ty} has {h} heads, not {heads}");
        Ok((batch, rows))
    }

    pub(super) fn sizes(&self, ins: &Inputs<TensorType>) -> Result<Sizes> {
        let (q, k, v) = (ins.get(0)?, ins.get(1)?, ins.get(2)?);
        let (heads, kv_heads) = (self.num_heads, self.num_kv_heads.unwrap_or(self.num_heads));
        ensure!(heads > 0 && kv_heads > 0 && heads % kv_heads == 0, InvalidGraph, "{heads} query heads over {kv_heads} key heads");
        let (size, value_size) = (self.head_dim, self.v_head_dim.unwrap_or(self.head_dim));
        let most = size.max(value_size);
        ensure!(
            (1..=MAX_HEAD).contains(&most) && size > 0,
            InvalidGraph,
            "heads of {size} and {value_size}: the limit is {MAX_HEAD}"
        );
        let (batch, queries) = self.rows_and_heads(q, "q", heads, size)?;
        let (k_batch, keys) = self.rows_and_heads(k, "k", kv_heads, size)?;
        let (v_batch, values) = self.rows_and_heads(v, "v", kv_heads, value_size)?;
        ensure!(batch == k_batch && batch == v_batch && keys == values, InvalidGraph, "q {q}, k {k} and v {v} do not fit together");
        let most = queries.max(keys);
        ensure!(i32::try_from(most).is_ok(), Unsupported, "a sequence of {most} is above {}", i32::MAX);
        Ok(Sizes { batch, queries, keys, heads, kv_heads, size, value_size })
    }

    /// Strides in elements of the mask for batch, head, row and key.
    pub(super) fn mask_strides(&self, mask: &TensorType, s: &Sizes) -> Result<[usize; 4]> {
        let heads = if self.mask == MaskKind::Bias { s.heads } else { 1 };
        let full = [s.batch, heads, s.queries, s.keys];
        // A mask of rank 2 is [B, keys].
        let dims = if mask.rank() == 2 { vec![mask.dims[0], 1, 1, mask.dims[1]] } else { mask.dims.clone() };
        let fits = dims.len() <= 4 && broadcast(&[&dims, &full]).is_ok_and(|d| d == full);
        ensure!(fits, InvalidGraph, "the mask {mask} does not broadcast to {full}", full = list_text(&full));
        let (own, lead) = (row_strides(&dims), 4 - dims.len());
        Ok(std::array::from_fn(|i| if i < lead || dims[i - lead] == 1 { 0 } else { own[i - lead] }))
    }

    pub(super) fn scale(&self) -> f64 {
        self.scale.unwrap_or(1.0 / (self.head_dim as f64).sqrt())
    }
}

impl Operator for Attention {
    fn name(&self) -> &'static str {
        "Attention"
    }
    fn attributes(&self) -> Attributes {
        self.to_attributes()
    }
    fn checked_inputs(&self) -> &'static [usize] {
        &[4]
    }
    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        ins.expect(3..=6)?;
        let s = self.sizes(ins)?;
        let (q, k, v) = (ins.get(0)?, ins.get(1)?, ins.get(2)?);
        ensure!(q.element.is_float(), InvalidGraph, "takes floats, not {}", q.element);
        ensure!(
            q.element == k.element && q.element == v.element,
            InvalidGraph,
            "q is {}, k {}, v {}",
            q.element,
            k.element,
            v.element
        );
        match (self.mask, ins.opt(3)) {
            (MaskKind::Custom | MaskKind::Bias, None) => bail!(InvalidGraph, "mask {} needs a mask input", self.mask.text()),
            (MaskKind::Custom, Some(mask)) => {
                let number =
                    mask.element == q.element || matches!(mask.element, ElementType::Bool | ElementType::I32 | ElementType::I64);
                ensure!(number, InvalidGraph, "a mask of {} (bool, i32, i64 or {})", mask.element, q.element);
                self.mask_strides(mask, &s)?;
            }
            (MaskKind::Bias, Some(bias)) => {
                ensure!(bias.element == q.element, InvalidGraph, "q is {}, the bias {}", q.element, bias.element);
                self.mask_strides(bias, &s)?;
            }
            (_, Some(_)) => bail!(InvalidGraph, "mask {} takes no mask input", self.mask.text()),
            (MaskKind::SlidingWindow, None) => ensure!(self.window.is_some(), InvalidGraph, "SlidingWindow needs a window"),
            _ => {}
        }
        if let Some(len) = ins.opt(4) {
            let fits = len.rank() == 1 && (len.dims[0] == 1 || len.dims[0] == s.batch);
            ensure!(len.element == ElementType::I32 && fits, InvalidGraph, "kv_len is {len}, not i32 [1] or [{}]", s.batch);
        }
        if let Some(sinks) = ins.opt(5) {
            ensure!(
                sinks.element == q.element && sinks.dims == [s.heads],
                InvalidGraph,
                "sinks are {sinks}, not {} [{}]",
                q.element,
                s.heads
            );
        }
        let dims = match self.layout {
            HeadLayout::Bshd => [s.batch, s.queries, s.heads, s.value_size],
            HeadLayout::Bhsd => [s.batch, s.heads, s.queries, s.value_size],
        };
        Ok(vec![q.with_dims(dims)])
    }
    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        let types: Vec<Option<&TensorType>> = (0..at.inputs.len()).map(|i| at.opt(i).map(Tensor::ty)).collect();
        let s = self.sizes(&Inputs(&types))?;
        let (q, k, v) = (at.input(0)?.to_f64(), at.input(1)?.to_f64(), at.input(2)?.to_f64());
        let extents = extents(at, &s)?;
        let mask = at.opt(3).map(|m| Ok::<_, crate::Error>((m.to_f64(), self.mask_strides(m.ty(), &s)?))).transpose()?;
        let sinks = at.opt(5).map(Tensor::to_f64);
        let [qs, ks, vs] = [
            self.strides(s.queries, s.heads, s.size),
            self.strides(s.keys, s.kv_heads, s.size),
            self.strides(s.keys, s.kv_heads, s.value_size),
        ];
        let ys = self.strides(s.queries, s.heads, s.value_size);
        let rows: Vec<(usize, Vec<f64>)> = (0..s.batch * s.heads * s.queries)
            .into_par_iter()
            .map(|i| {
                let (b, h, r) = (i / s.queries / s.heads, i / s.queries % s.heads, i % s.queries);
                let kv = h / (s.heads / s.kv_heads);
                let position = extents[b] as i64 - s.queries as i64 + r as i64;
                let hidden = |j: usize| {
                    let late = j as i64 > position;
                    match self.mask {
                        MaskKind::Causal => late,
                        MaskKind::SlidingWindow => late || (j as i64) < position - self.window.unwrap_or(0) as i64,
                        MaskKind::Custom => {
                            mask.as_ref().is_some_and(|(m, st)| m[b * st[0] + h * st[1] + r * st[2] + j * st[3]] < 0.5)
                        }
                        _ => false,
                    }
                };
                let score = |j: usize| {
                    if hidden(j) {
                        return f64::NEG_INFINITY;
                    }
                    let (a, c) = (&q[b * qs[0] + h * qs[1] + r * qs[2]..], &k[b * ks[0] + kv * ks[1] + j * ks[2]..]);
                    let dot: f64 = (0..s.size).map(|d| a[d] * c[d]).sum::<f64>() * self.scale();
                    let capped = if self.softcap > 0.0 { self.softcap * (dot / self.softcap).tanh() } else { dot };
                    match (&mask, self.mask) {
                        (Some((m, st)), MaskKind::Bias) => capped + m[b * st[0] + h * st[1] + r * st[2] + j * st[3]],
                        _ => capped,
                    }
                };
                let scores: Vec<f64> = (0..extents[b]).map(score).collect();
                let y = mix(&scores, sinks.as_ref().map(|v| v[h]), s.value_size, |j, d| v[b * vs[0] + kv * vs[1] + j * vs[2] + d]);
                (b * ys[0] + h * ys[1] + r * ys[2], y)
            })
            .collect();
        let mut y = vec![0.0; at.output_type(0).elements()];
        for (start, row) in rows {
            y[start..start + row.len()].copy_from_slice(&row);
        }
        Ok(vec![Tensor::from_f64(at.output_type(0).clone(), &y)])
    }
    fn lower(&self, at: &mut Lowering) -> Result<()> {
        let types: Vec<Option<&TensorType>> = (0..at.input_count()).map(|i| at.has_input(i).then(|| at.input_type(i))).collect();
        let sizes = self.sizes(&Inputs(&types))?;
        let mask = at.has_input(3).then(|| (at.input(3), at.input_type(3)));
        let kv_len = at.has_input(4).then(|| (at.input(4), at.input_type(4).dims[0]));
        let sinks = at.has_input(5).then(|| at.input(5));
        let [q, k, v, y] = [at.input(0), at.input(1), at.input(2), at.output(0)];
        lower_attention(at, self, &sizes, &Operands { element: at.input_type(0).element, q, k, v, mask, kv_len, sinks, y })
    }
    fn terms(&self, ins: &Inputs<TensorType>) -> usize {
        self.sizes(ins).map_or(1, |s| s.size.max(s.keys))
    }
}

/// Valid keys of each batch entry.
fn extents(at: &Reference, s: &Sizes) -> Result<Vec<usize>> {
    let Some(len) = at.opt(4) else { return Ok(vec![s.keys; s.batch]) };
    let values = len.to_i128();
    (0..s.batch)
        .map(|b| {
            let place = if values.len() == 1 { 0 } else { b };
            let value = values[place];
            match usize::try_from(value).ok().filter(|&n| n <= s.keys) {
                Some(n) => Ok(n),
                None if at.unchecked_indices => Ok(value.clamp(0, s.keys as i128) as usize),
                None => Err(out_of_range(value, place, s.keys as i128 + 1)),
            }
        })
        .collect()
}

/// The softmax of the scores, with one more logit that has no value, applied to the values. Nothing visible gives zeros.
fn mix(scores: &[f64], sink: Option<f64>, size: usize, value: impl Fn(usize, usize) -> f64) -> Vec<f64> {
    if scores.iter().all(|&s| s == f64::NEG_INFINITY) {
        return vec![0.0; size];
    }
    let most = scores.iter().copied().chain(sink).fold(f64::NEG_INFINITY, f64::max);
    if most == f64::INFINITY || scores.iter().copied().chain(sink).any(f64::is_nan) {
        return vec![f64::NAN; size];
    }
    let weights: Vec<f64> = scores.iter().map(|&s| (s - most).exp()).collect();
    let total = weights.iter().sum::<f64>() + sink.map_or(0.0, |s| (s - most).exp());
    let sum = |d: usize| {
        weights.iter().enumerate().filter(|(j, _)| scores[*j] != f64::NEG_INFINITY).map(|(j, w)| w * value(j, d)).sum::<f64>()
    };
    (0..size).map(|d| sum(d) / total).collect()
}
