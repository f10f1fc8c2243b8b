//! Mamba 2: a convolution of inputs and weights, then a scan with one decay a head, then a gated norm.

use super::builder::Builder;
use super::experts::swiglu;
use crate::graph::ValueId;
use crate::{Result, ensure};

pub fn build(b: &mut Builder) -> Result<()> {
    let (inner, n, kernel) = (b.size("ssm.inner_size")?, b.size("ssm.state_size")?, b.size("ssm.conv_kernel")?);
    let (heads, groups) = (b.size("ssm.time_step_rank")?, b.opt_size("ssm.group_count")?.unwrap_or(1));
    ensure!(heads > 0 && groups > 0, File, "{heads} heads and {groups} groups");
    ensure!(inner % heads == 0 && inner % groups == 0, File, "a width of {inner} for {heads} heads and {groups} groups");
    let h = b.embed()?;
    let rows = b.counted_rows()?;
    let (batch, tokens, size, mixed) = (b.options.batch, b.options.tokens, inner / heads, inner + 2 * groups * n);
    let mix = |b: &mut Builder, layer: usize, block: &str, x: ValueId| {
        let packed = b.linear(x, &format!("{block}.ssm_in"))?;
        let parts = b.split(packed, &[inner, mixed, heads], &format!("{block}.parts"))?;
        let conv = b.causal_conv(parts[1], layer, kernel, &rows)?;
        let xbc = b.split(conv, &[inner, groups * n, groups * n], &format!("{block}.xbc"))?;
        let bias = b.vector(&format!("{block}.ssm_dt.bias"))?;
        let dt = b.node1("Add", &format!("{block}.dt_bias"), &[], &[parts[2], bias])?;
        let dt = b.time_step(dt, &rows, block)?;
        let (a, d) = (b.vector(&format!("{block}.ssm_a"))?, b.vector(&format!("{block}.ssm_d"))?);
        let (a, d) = (b.reshape(a, &[heads], &format!("{block}.a"))?, b.reshape(d, &[heads, 1], &format!("{block}.d"))?);
        let x = b.reshape(xbc[0], &[batch, tokens, heads, size], &format!("{block}.x"))?;
        let in_weights = b.reshape(xbc[1], &[batch, tokens, groups, n], &format!("{block}.b"))?;
        let out_weights = b.reshape(xbc[2], &[batch, tokens, groups, n], &format!("{block}.c"))?;
        let y = b.scan("Mamba2", layer, &[x, dt, a, in_weights, out_weights], &[batch, heads, size, n])?;
        let y = b.node1("Fma", &format!("{block}.skip"), &[], &[x, d, y])?;
        let y = b.reshape(y, &[batch, tokens, inner], &format!("{block}.y"))?;
        let y = swiglu(b, &format!("{block}.gate"), parts[0], y)?;
        let y = grouped_norm(b, y, groups, &format!("{block}.ssm_norm"))?;
        b.linear(y, &format!("{block}.ssm_out"))
    };
    let x = b.pre_norm(h, &[("attn_norm", &mix)])?;
    b.head(x, &rows.sequence)
}

/// The RMS norm of each group of the last axis, times weights [groups, elements of a group].
fn grouped_norm(b: &mut Builder, x: ValueId, groups: usize, name: &str) -> Result<ValueId> {
    let dims = b.dims(x)?;
    let size = dims[2] / groups;
    let parts = b.reshape(x, &[dims[0], dims[1], groups, size], &format!("{name}.groups"))?;
    let y = b.bare_norm(parts, &format!("{name}.bare"))?;
    let w = b.vector(&format!("{name}.weight"))?;
    let w = b.reshape(w, &[groups, size], &format!("{name}.weights"))?;
    let y = b.node1("Mul", name, &[], &[y, w])?;
    b.reshape(y, &dims, &format!("{name}.flat"))
}
