//! BERT and its kin, for embeddings: learned positions, norms after each part, GELU.

use super::builder::Builder;
use crate::Result;

pub fn build(b: &mut Builder) -> Result<()> {
    b.check_text_length()?;
    let heads = b.heads()?;
    let (mut h, texts) = b.texts()?;
    for layer in 0..b.layers()? {
        let block = format!("blk.{layer}");
        h = b.text_attention(h, &block, heads, &texts, None)?;
        let f = b.linear(h, &format!("{block}.ffn_up"))?;
        let f = b.node1("Gelu", &format!("{block}.gelu"), &[], &[f])?;
        let f = b.linear(f, &format!("{block}.ffn_down"))?;
        h = b.layer_norm(f, Some(h), &format!("{block}.layer_output_norm"))?;
    }
    b.pool(h, &texts)
}
