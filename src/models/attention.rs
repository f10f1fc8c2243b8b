//! Self-attention of decoders, with its caches.

use super::builder::Builder;
use super::rope::RopeTables;
use super::sequence::Sequence;
use crate::formats::gguf::Value;
use crate::graph::ValueId;
use crate::ops::Attribute;
use crate::tensor::ElementType;
use crate::{Result, ensure};

/// How the heads of an attention layer are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heads {
    pub queries: usize,
    pub keys: usize,
    /// Elements of a query or key.
    pub size: usize,
    /// Elements of a value.
    pub value_size: usize,
}

/// Norms of queries and keys before they are turned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QkNorm {
    None,
    EachHead,
    AllHeads,
}

/// What an attention layer does beside its products.
pub struct Attend<'a> {
    pub heads: Heads,
    pub sequence: &'a Sequence,
    pub rope: &'a RopeTables,
    pub qk_norm: QkNorm,
    /// Keys that a query sees, its own position counted. None: all before it.
    pub window: Option<usize>,
    /// None: 1 / sqrt(size of a head).
    pub scale: Option<f64>,
    /// 0: none.
    pub softcap: f64,
    /// The file has a logit for each query head that takes part in the softmax.
    pub sinks: bool,
}

impl<'a> Attend<'a> {
    /// Plain causal attention.
    pub fn causal(heads: Heads, sequence: &'a Sequence, rope: &'a RopeTables) -> Self {
        Self { heads, sequence, rope, qk_norm: QkNorm::None, window: None, scale: None, softcap: 0.0, sinks: false }
    }
}

/// Which layers see only a window of keys.
#[derive(Clone, Debug, PartialEq)]
pub struct Windows {
    /// Keys that a query sees, its own position counted.
    window: usize,
    slides: Vec<bool>,
}

impl Windows {
    /// The window of a layer; None: it sees all keys.
    pub fn of(&self, layer: usize) -> Option<usize> {
        Some(self.window).filter(|&w| w > 0 && self.slides[layer])
    }

    /// True for a layer of the kind that has windows, even where the file gives none.
    pub fn slides(&self, layer: usize) -> bool {
        self.slides[layer]
    }
}

impl Builder<'_> {
    /// The heads that the metadata describe.
    pub fn heads(&self) -> Result<Heads> {
        let (width, queries) = (self.size("embedding_length")?, self.size("attention.head_count")?);
        let keys = self.opt_size("attention.head_count_kv")?.unwrap_or(queries);
        ensure!(queries > 0 && keys > 0 && queries % keys == 0, File, "{queries} query heads over {keys} key heads");
        let size = self.opt_size("attention.key_length")?.unwrap_or(width / queries);
        let value_size = self.opt_size("attention.value_length")?.unwrap_or(width / queries);
        ensure!(size > 0 && value_size > 0, File, "{queries} heads of a width of {width}");
        Ok(Heads { queries, keys, size, value_size })
    }

    /// The sliding windows that the metadata describe: `attention.sliding_window`, and which layers have it, as a list of flags or as the
    /// period whose last layer sees all. `period`: where the file does not say; 1: every layer slides.
    pub fn windows(&self, period: usize) -> Result<Windows> {
        let (layers, key) = (self.layers()?, "attention.sliding_window_pattern");
        let window = self.opt_size("attention.sliding_window")?.unwrap_or(0);
        let slides = match self.list(key) {
            Some(list) => {
                let flags: Vec<bool> = list.values().filter_map(|v| flag(&v)).collect();
                ensure!(flags.len() >= layers, File, "{key} has {} flags for {layers} layers", flags.len());
                flags
            }
            None => {
                let period = self.opt_size(key)?.unwrap_or(period);
                (0..layers).map(|l| period == 1 || (period > 1 && (l + 1) % period != 0)).collect()
            }
        };
        Ok(Windows { window, slides })
    }

    /// Appends rows [B,S,heads*size] to a cache and returns all of it: [B, rows of the caches, heads, size].
    fn cache(&mut self, name: &str, rows: ValueId, [heads, size]: [usize; 2], sequence: &Sequence) -> Result<ValueId> {
        let o = self.options;
        let cache = self.input(name, o.cache, &[o.batch, o.rows(), heads, size])?;
        let rows = self.cast(rows, o.cache, &format!("{name}.cast"))?;
        let rows = self.reshape(rows, &[o.batch, o.tokens, heads, size], &format!("{name}.rows"))?;
        self.node1("KvAppend", &format!("{name}.append"), &[], &[cache, rows, sequence.position])
    }

    /// Queries, keys and values: three products, or one.
    pub fn qkv(&mut self, x: ValueId, block: &str, h: Heads) -> Result<[ValueId; 3]> {
        let sizes = [h.queries * h.size, h.keys * h.size, h.keys * h.value_size];
        if self.has(&format!("{block}.attn_qkv.weight")) {
            let packed = self.linear(x, &format!("{block}.attn_qkv"))?;
            let parts = self.split(packed, &sizes, &format!("{block}.qkv"))?;
            return Ok([parts[0], parts[1], parts[2]]);
        }
        let mut linear = |part: &str| self.linear(x, &format!("{block}.{part}"));
        Ok([linear("attn_q")?, linear("attn_k")?, linear("attn_v")?])
    }

    fn qk_norm(&mut self, x: ValueId, norm: QkNorm, [heads, size]: [usize; 2], name: &str) -> Result<ValueId> {
        match norm {
            QkNorm::None => Ok(x),
            QkNorm::AllHeads => self.rms_norm(x, name),
            QkNorm::EachHead => {
                let x = self.reshape(x, &[self.options.batch, self.options.tokens, heads, size], &format!("{name}.heads"))?;
                self.rms_norm(x, name)
            }
        }
    }

    /// Attention of x [B,S,W] over the caches of its layer: [B,S,W].
    pub fn attention(&mut self, x: ValueId, layer: usize, how: &Attend) -> Result<ValueId> {
        let (o, h, s, block) = (self.options, how.heads, how.sequence, format!("blk.{layer}"));
        let [q, k, v] = self.qkv(x, &block, h)?;
        let q = self.qk_norm(q, how.qk_norm, [h.queries, h.size], &format!("{block}.attn_q_norm"))?;
        let k = self.qk_norm(k, how.qk_norm, [h.keys, h.size], &format!("{block}.attn_k_norm"))?;
        let q = self.rope(q, h, how.rope, s.positions, &format!("{block}.rope_q"))?;
        let k = self.rope(k, h, how.rope, s.positions, &format!("{block}.rope_k"))?;
        let k = self.cache(&format!("cache_k.{layer}"), k, [h.keys, h.size], s)?;
        let v = self.cache(&format!("cache_v.{layer}"), v, [h.keys, h.value_size], s)?;
        let q = self.cast(q, o.cache, &format!("{block}.q.cast"))?;
        let q = self.reshape(q, &[o.batch, o.tokens, h.queries, h.size], &format!("{block}.q"))?;
        let sinks = match how.sinks {
            true => {
                let sinks = self.param(&format!("{block}.attn_sinks.weight"))?;
                Some(self.cast(sinks, o.cache, &format!("{block}.sinks"))?)
            }
            false => None,
        };
        let inputs = [Some(q), Some(k), Some(v), None, Some(s.kv_len), sinks];
        let y = self.node("Attention", &format!("{block}.attention"), &how.attributes(), &inputs)?[0];
        let y = self.reshape(y, &[o.batch, o.tokens, h.queries * h.value_size], &format!("{block}.merge"))?;
        let y = self.cast(y, ElementType::F32, &format!("{block}.attention.f32"))?;
        self.linear(y, &format!("{block}.attn_output"))
    }
}

fn flag(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(v) => Some(*v),
        Value::Uint(v) => Some(*v != 0),
        Value::Int(v) => Some(*v != 0),
        _ => None,
    }
}

impl Attend<'_> {
    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let (h, int) = (self.heads, |v: usize| Attribute::Int(v as i64));
        let mask = if self.window.is_some() { "SlidingWindow" } else { "Causal" };
        let mut list = vec![
            ("num_heads", int(h.queries)),
            ("num_kv_heads", int(h.keys)),
            ("head_dim", int(h.size)),
            ("v_head_dim", int(h.value_size)),
            ("layout", Attribute::Text("BSHD".into())),
            ("mask", Attribute::Text(mask.into())),
            ("softcap", Attribute::Float(self.softcap)),
        ];
        // SlidingWindow(w) keeps the query's own position and w before it.
        list.extend(self.window.map(|window| ("window", int(window.saturating_sub(1)))));
        list.extend(self.scale.map(|scale| ("scale", Attribute::Float(scale))));
        list
    }
}
