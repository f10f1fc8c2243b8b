//! Phi 3 and 4: queries, keys and values in one product, gate and up in one; two sets of rotary factors, for contexts up to the first
//! one and beyond (LongRoPE).

use super::attention::Attend;
use super::builder::Builder;
use super::rope::Rotary;
use crate::Result;
use crate::graph::ValueId;

pub fn build(b: &mut Builder) -> Result<()> {
    let (heads, windows) = (b.heads()?, b.windows(1)?);
    let h = b.embed()?;
    let sequence = b.sequence(false)?;
    let mut rotary = b.rotary(heads, "NeoX")?;
    long_rope(b, &mut rotary)?;
    let rope = b.rope_tables("rope", &rotary)?;
    let mix = |b: &mut Builder, layer: usize, _: &str, x: ValueId| {
        b.attention(x, layer, &Attend { window: windows.of(layer), ..Attend::causal(heads, &sequence, &rope) })
    };
    let feed = |b: &mut Builder, _: usize, block: &str, x: ValueId| b.gated(x, block, "Silu");
    let x = b.pre_norm(h, &[("attn_norm", &mix), ("ffn_norm", &feed)])?;
    b.head(x, &sequence)
}

/// The factors for the context that the graph is made for. Where the file does not say, cos and sin grow with the ratio of the
/// contexts (Ding et al. 2024, section 3.3).
fn long_rope(b: &mut Builder, rotary: &mut Rotary) -> Result<()> {
    let [short, long] = [b.values("rope_factors_short.weight")?, b.values("rope_factors_long.weight")?];
    let (first, all) = (b.original_context()?, b.size("context_length")?);
    let factors = if b.options.context > first { long } else { short };
    if factors.is_some() {
        rotary.factors = factors;
        if b.opt_float("rope.scaling.attn_factor")?.is_none() && all > first {
            rotary.magnitude = (1.0 + (all as f64 / first as f64).ln() / (first as f64).ln()).sqrt();
        }
    }
    Ok(())
}
