//! OLMo 2 and 3: norms after each part only, norms of queries and keys over all heads; in 3 three of four layers see a window.

use super::attention::{Attend, QkNorm};
use super::builder::Builder;
use super::rope::{Rotary, Scaling};
use crate::Result;

pub fn build(b: &mut Builder) -> Result<()> {
    let (heads, windows) = (b.heads()?, b.windows(4)?);
    let mut h = b.embed()?;
    let sequence = b.sequence(false)?;
    let rotary = b.rotary(heads, "NeoX")?;
    let rope = b.rope_tables("rope", &rotary)?;
    let local = match rotary.scaling {
        Scaling::None => None,
        // Windows are short: their layers keep the angles as they were.
        _ => Some(b.rope_tables("rope_local", &Rotary { scaling: Scaling::None, magnitude: 1.0, ..rotary })?),
    };
    for layer in 0..b.layers()? {
        let (block, window) = (format!("blk.{layer}"), windows.of(layer));
        let rope = local.as_ref().filter(|_| window.is_some()).unwrap_or(&rope);
        let qk_norm = QkNorm::AllHeads;
        let a = b.attention(h, layer, &Attend { qk_norm, window, ..Attend::causal(heads, &sequence, rope) })?;
        let a = b.rms_norm(a, &format!("{block}.post_attention_norm"))?;
        h = b.node1("Add", &format!("{block}.after_attention"), &[], &[a, h])?;
        let f = b.gated(h, &block, "Silu")?;
        let f = b.rms_norm(f, &format!("{block}.post_ffw_norm"))?;
        h = b.node1("Add", &format!("{block}.out"), &[], &[f, h])?;
    }
    let x = b.rms_norm(h, "output_norm")?;
    b.head(x, &sequence)
}
