//! Llama 1 to 3: RMS norms, rotary embedding over pairs (2i, 2i+1), grouped-query attention, SwiGLU.
//!
//! The rotary factors of Llama 3.1 and later come as the tensor `rope_freqs.weight`.

use super::ModelOptions;
use super::layers::{Builder, Heads};
use crate::formats::gguf::Gguf;
use crate::graph::Graph;
use crate::{Result, ensure};

pub fn build(gguf: &Gguf, options: &ModelOptions) -> Result<Graph> {
    let mut b = Builder::new("llama", gguf, options);
    let (layers, width) = (b.size("block_count")?, b.size("embedding_length")?);
    let queries = b.size("attention.head_count")?;
    let keys = b.opt_size("attention.head_count_kv")?.unwrap_or(queries);
    ensure!(queries > 0 && keys > 0 && queries % keys == 0, File, "{queries} query heads over {keys} key heads");
    let size = b.opt_size("attention.key_length")?.unwrap_or(width / queries);
    let heads = Heads { queries, keys, size };
    let eps = b.float("attention.layer_norm_rms_epsilon", 1e-5)?;
    let rotated = b.opt_size("rope.dimension_count")?.unwrap_or(size);
    let base = b.float("rope.freq_base", 1e4)?;
    let factors = match gguf.tensor("rope_freqs.weight") {
        Some(tensor) => Some(gguf.read(tensor)?.to_f64()),
        None => None,
    };

    let mut h = b.embed()?;
    let sequence = b.sequence()?;
    let rope = b.rope_tables(rotated, base, factors.as_deref(), "GptJ")?;
    let mut normed = b.rms_norm(h, "blk.0.attn_norm", eps)?;
    for layer in 0..layers {
        let block = format!("blk.{layer}");
        let q = b.linear(normed, &format!("{block}.attn_q"))?;
        let k = b.linear(normed, &format!("{block}.attn_k"))?;
        let v = b.linear(normed, &format!("{block}.attn_v"))?;
        let q = b.rope(q, heads, &rope, &sequence, &format!("{block}.rope_q"))?;
        let k = b.rope(k, heads, &rope, &sequence, &format!("{block}.rope_k"))?;
        let k = b.cache(&format!("cache_k.{layer}"), k, keys, size, &sequence)?;
        let v = b.cache(&format!("cache_v.{layer}"), v, keys, size, &sequence)?;
        let a = b.attention(q, k, v, heads, &sequence, &format!("{block}.attention"))?;
        let a = b.linear(a, &format!("{block}.attn_output"))?;
        let (f, sum) = b.residual_norm(a, h, &format!("{block}.ffn_norm"), eps)?;
        let gate = b.linear(f, &format!("{block}.ffn_gate"))?;
        let up = b.linear(f, &format!("{block}.ffn_up"))?;
        let f = b.node1("SwiGlu", &format!("{block}.swiglu"), &[], &[gate, up])?;
        let f = b.linear(f, &format!("{block}.ffn_down"))?;
        let next = if layer + 1 < layers { format!("blk.{}.attn_norm", layer + 1) } else { "output_norm".into() };
        (normed, h) = b.residual_norm(f, sum, &next, eps)?;
    }
    let last = b.last_row(normed)?;
    b.head(last)
}
