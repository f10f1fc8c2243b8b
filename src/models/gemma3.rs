//! Gemma 3: norms before and after each part, norms of queries and keys; five layers with a window and a rotary base of their own,
//! then one that sees all.

use super::attention::{Attend, QkNorm};
use super::builder::Builder;
use super::gemma;
use super::rope::{Rotary, Scaling};
use crate::Result;
use crate::graph::ValueId;

pub fn build(b: &mut Builder) -> Result<()> {
    let (heads, windows, scale) = (b.heads()?, b.windows(6)?, gemma::scale(b, 62)?);
    let h = gemma::embed(b)?;
    let sequence = b.sequence(false)?;
    let global = Rotary { base: b.float("rope.freq_base", 1e6)?, ..b.rotary(heads, "NeoX")? };
    let base = b.float("rope.freq_base_swa", 1e4)?;
    let local = Rotary { base, scaling: Scaling::None, magnitude: 1.0, ..global.clone() };
    let global = b.rope_tables("rope", &global)?;
    let local = b.rope_tables("rope_local", &local)?;
    let mix = |b: &mut Builder, layer: usize, block: &str, x: ValueId| {
        let window = windows.of(layer);
        let rope = if windows.slides(layer) { &local } else { &global };
        let qk_norm = QkNorm::EachHead;
        let y = b.attention(x, layer, &Attend { window, scale, qk_norm, ..Attend::causal(heads, &sequence, rope) })?;
        b.rms_norm(y, &format!("{block}.post_attention_norm"))
    };
    let x = b.pre_norm(h, &[("attn_norm", &mix), ("ffn_norm", &gemma::feed)])?;
    b.head(x, &sequence)
}
