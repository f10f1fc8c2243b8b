//! Gemma 2: norms before and after each part, soft caps, every second layer sees a window.

use super::attention::Attend;
use super::builder::Builder;
use super::gemma;
use crate::Result;
use crate::graph::ValueId;

pub fn build(b: &mut Builder) -> Result<()> {
    let (heads, windows, scale) = (b.heads()?, b.windows(2)?, gemma::scale(b, 46)?);
    let softcap = b.float("attn_logit_softcapping", 0.0)?;
    let h = gemma::embed(b)?;
    let sequence = b.sequence(false)?;
    let rotary = b.rotary(heads, "NeoX")?;
    let rope = b.rope_tables("rope", &rotary)?;
    let mix = |b: &mut Builder, layer: usize, block: &str, x: ValueId| {
        let how = Attend { window: windows.of(layer), scale, softcap, ..Attend::causal(heads, &sequence, &rope) };
        let y = b.attention(x, layer, &how)?;
        b.rms_norm(y, &format!("{block}.post_attention_norm"))
    };
    let x = b.pre_norm(h, &[("attn_norm", &mix), ("ffn_norm", &gemma::feed)])?;
    b.head(x, &sequence)
}
