//! Gemma 1: embeddings times the root of the width, GELU. Norm weights are in the file with 1 added.

use super::attention::Attend;
use super::builder::Builder;
use crate::Result;
use crate::graph::ValueId;

pub fn build(b: &mut Builder) -> Result<()> {
    let heads = b.heads()?;
    let h = embed(b)?;
    let sequence = b.sequence(false)?;
    let rotary = b.rotary(heads, "NeoX")?;
    let rope = b.rope_tables("rope", &rotary)?;
    let mix = |b: &mut Builder, layer: usize, _: &str, x: ValueId| b.attention(x, layer, &Attend::causal(heads, &sequence, &rope));
    let feed = |b: &mut Builder, _: usize, block: &str, x: ValueId| b.gated(x, block, "GeluTanh");
    let x = b.pre_norm(h, &[("attn_norm", &mix), ("ffn_norm", &feed)])?;
    b.head(x, &sequence)
}

/// Embeddings times the square root of the width.
pub fn embed(b: &mut Builder) -> Result<ValueId> {
    let root = (b.size("embedding_length")? as f64).sqrt();
    let h = b.embed()?;
    b.scale(h, root, "embedding_scale")
}

/// The feed-forward part with a norm after it.
pub fn feed(b: &mut Builder, _: usize, block: &str, x: ValueId) -> Result<ValueId> {
    let y = b.gated(x, block, "GeluTanh")?;
    b.rms_norm(y, &format!("{block}.post_ffw_norm"))
}

/// The scale of attention: 1 / sqrt(width / heads) in the largest model of a generation, which is known by its number of layers.
pub fn scale(b: &Builder, layers_of_largest: usize) -> Result<Option<f64>> {
    let (width, heads) = (b.size("embedding_length")?, b.size("attention.head_count")?);
    Ok((b.layers()? == layers_of_largest).then(|| 1.0 / (width as f64 / heads as f64).sqrt()))
}
