//! Llama 1 to 3, Mistral (with a sliding window, where the file gives one) and Mixtral (experts).

use super::attention::Attend;
use super::builder::Builder;
use super::experts::{Weighing, swiglu};
use crate::Result;
use crate::graph::ValueId;

pub fn build(b: &mut Builder) -> Result<()> {
    let (heads, windows) = (b.heads()?, b.windows(1)?);
    let experts = b.opt_size("expert_count")?.unwrap_or(0) > 0;
    let h = b.embed()?;
    let sequence = b.sequence(false)?;
    let rotary = b.rotary(heads, "GptJ")?;
    let rope = b.rope_tables("rope", &rotary)?;
    let mix = |b: &mut Builder, layer: usize, _: &str, x: ValueId| {
        b.attention(x, layer, &Attend { window: windows.of(layer), ..Attend::causal(heads, &sequence, &rope) })
    };
    let feed = |b: &mut Builder, _: usize, block: &str, x: ValueId| match experts {
        true => b.experts(x, block, Weighing::AllRenormalized, &swiglu),
        false => b.gated(x, block, "Silu"),
    };
    let x = b.pre_norm(h, &[("attn_norm", &mix), ("ffn_norm", &feed)])?;
    b.head(x, &sequence)
}
