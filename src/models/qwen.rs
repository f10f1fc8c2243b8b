//! Qwen 2 (biases on queries, keys and values) and 3 (norms of queries and keys), dense and with experts.

use super::attention::{Attend, QkNorm};
use super::builder::Builder;
use super::experts::{Weighing, swiglu};
use crate::Result;
use crate::graph::ValueId;
use crate::ops::Attribute;

pub fn qwen2(b: &mut Builder) -> Result<()> {
    build(b, QkNorm::None, &dense)
}

pub fn qwen3(b: &mut Builder) -> Result<()> {
    build(b, QkNorm::EachHead, &dense)
}

pub fn qwen2moe(b: &mut Builder) -> Result<()> {
    build(b, QkNorm::None, &with_shared_expert)
}

pub fn qwen3moe(b: &mut Builder) -> Result<()> {
    build(b, QkNorm::EachHead, &|b, block, x| b.experts(x, block, Weighing::AllRenormalized, &swiglu))
}

type Feed<'f> = &'f dyn Fn(&mut Builder, &str, ValueId) -> Result<ValueId>;

fn dense(b: &mut Builder, block: &str, x: ValueId) -> Result<ValueId> {
    b.gated(x, block, "Silu")
}

/// Experts whose weights keep the share of all, and one more for every row, as strong as a gate of its own says.
fn with_shared_expert(b: &mut Builder, block: &str, x: ValueId) -> Result<ValueId> {
    let routed = b.experts(x, block, Weighing::All, &swiglu)?;
    let gate = b.linear(x, &format!("{block}.ffn_gate_shexp"))?;
    let up = b.linear(x, &format!("{block}.ffn_up_shexp"))?;
    let y = swiglu(b, &format!("{block}.shared_swiglu"), gate, up)?;
    let shared = b.linear(y, &format!("{block}.ffn_down_shexp"))?;
    // The gate is a vector: its product with a row is one number.
    let w = b.vector(&format!("{block}.ffn_gate_inp_shexp.weight"))?;
    let width = b.graph.ty(w)?.elements();
    let w = b.reshape(w, &[1, width], &format!("{block}.shared_gate.row"))?;
    let share = b.node1("MatMul", &format!("{block}.shared_gate"), &[("transpose_b", Attribute::Int(1))], &[x, w])?;
    let share = b.node1("Sigmoid", &format!("{block}.shared_share"), &[], &[share])?;
    b.node1("Fma", &format!("{block}.with_shared"), &[], &[shared, share, routed])
}

fn build(b: &mut Builder, qk_norm: QkNorm, feed: Feed) -> Result<()> {
    let heads = b.heads()?;
    let h = b.embed()?;
    let sequence = b.sequence(false)?;
    let rotary = b.rotary(heads, "NeoX")?;
    let rope = b.rope_tables("rope", &rotary)?;
    let mix = |b: &mut Builder, layer: usize, _: &str, x: ValueId| {
        b.attention(x, layer, &Attend { qk_norm, ..Attend::causal(heads, &sequence, &rope) })
    };
    let feed = |b: &mut Builder, _: usize, block: &str, x: ValueId| feed(b, block, x);
    let x = b.pre_norm(h, &[("attn_norm", &mix), ("ffn_norm", &feed)])?;
    b.head(x, &sequence)
}
