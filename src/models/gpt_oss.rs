//! gpt-oss: experts with biases and a clamped gate, a logit a head that takes part in the softmax (sinks), every second layer sees a window.

use super::attention::Attend;
use super::builder::Builder;
use super::experts::Weighing;
use super::rope::Scaling;
use crate::Result;
use crate::graph::ValueId;
use crate::ops::Attribute;

/// Gates are clipped above this value, the other half to both sides.
const LIMIT: f64 = 7.0;

pub fn build(b: &mut Builder) -> Result<()> {
    let (heads, windows) = (b.heads()?, b.windows(2)?);
    let h = b.embed()?;
    let sequence = b.sequence(false)?;
    let mut rotary = b.rotary(heads, "NeoX")?;
    if let Scaling::Yarn(yarn) = &mut rotary.scaling {
        // The model's own code does not round the ends of the ramp.
        yarn.whole = false;
    }
    let rope = b.rope_tables("rope", &rotary)?;
    let mix = |b: &mut Builder, layer: usize, _: &str, x: ValueId| {
        b.attention(x, layer, &Attend { window: windows.of(layer), sinks: true, ..Attend::causal(heads, &sequence, &rope) })
    };
    let feed = |b: &mut Builder, _: usize, block: &str, x: ValueId| b.experts(x, block, Weighing::Chosen, &clamped);
    let x = b.pre_norm(h, &[("attn_norm", &mix), ("post_attention_norm", &feed)])?;
    b.head(x, &sequence)
}

/// g * sigmoid(1.702 g) * (u + 1) with g = min(gate, limit), u = clip(up, -limit, limit).
fn clamped(b: &mut Builder, name: &str, gate: ValueId, up: ValueId) -> Result<ValueId> {
    let float = Attribute::Float;
    let gate = b.node1("Clip", &format!("{name}.gate"), &[("max", float(LIMIT))], &[gate])?;
    let gate = b.node1("GeluQuick", &format!("{name}.act"), &[], &[gate])?;
    let up = b.node1("Clip", &format!("{name}.up"), &[("min", float(-LIMIT)), ("max", float(LIMIT))], &[up])?;
    b.node1("Fma", name, &[], &[gate, up, gate])
}
