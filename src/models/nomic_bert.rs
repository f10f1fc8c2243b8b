//! Nomic BERT, for embeddings: rotary positions, norms after each part, SwiGLU.

use super::builder::Builder;
use crate::Result;

pub fn build(b: &mut Builder) -> Result<()> {
    b.check_text_length()?;
    let heads = b.heads()?;
    let (mut h, texts) = b.texts()?;
    let rotary = b.rotary(heads, "NeoX")?;
    let rope = b.rope_tables("rope", &rotary)?;
    for layer in 0..b.layers()? {
        let block = format!("blk.{layer}");
        h = b.text_attention(h, &block, heads, &texts, Some(&rope))?;
        let f = b.gated(h, &block, "Silu")?;
        h = b.layer_norm(f, Some(h), &format!("{block}.layer_output_norm"))?;
    }
    b.pool(h, &texts)
}
