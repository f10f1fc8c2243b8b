//! Mamba: a convolution, then a scan whose step, input and output weights depend on the token. Falcon Mamba adds norms without weights.

use super::builder::Builder;
use super::experts::swiglu;
use crate::Result;
use crate::graph::ValueId;

pub fn build(b: &mut Builder) -> Result<()> {
    let (inner, n, kernel) = (b.size("ssm.inner_size")?, b.size("ssm.state_size")?, b.size("ssm.conv_kernel")?);
    let (rank, norms) = (b.size("ssm.time_step_rank")?, b.flag("ssm.dt_b_c_rms")?.unwrap_or(false));
    let h = b.embed()?;
    let rows = b.counted_rows()?;
    let mix = |b: &mut Builder, layer: usize, block: &str, x: ValueId| {
        let packed = b.linear(x, &format!("{block}.ssm_in"))?;
        let halves = b.split(packed, &[inner, inner], &format!("{block}.halves"))?;
        let x = b.causal_conv(halves[0], layer, kernel, &rows)?;
        let packed = b.linear(x, &format!("{block}.ssm_x"))?;
        let mut parts = b.split(packed, &[rank, n, n], &format!("{block}.parts"))?;
        if norms {
            for (part, name) in parts.iter_mut().zip(["dt", "b", "c"]) {
                *part = b.bare_norm(*part, &format!("{block}.{name}_norm"))?;
            }
        }
        let dt = b.linear(parts[0], &format!("{block}.ssm_dt"))?;
        let dt = b.time_step(dt, &rows, block)?;
        let (a, d) = (b.vector(&format!("{block}.ssm_a"))?, b.vector(&format!("{block}.ssm_d"))?);
        let state = [b.options.batch, inner, n];
        let y = b.scan("SelectiveScan", layer, &[x, dt, a, parts[1], parts[2], d], &state)?;
        let y = swiglu(b, &format!("{block}.gate"), halves[1], y)?;
        b.linear(y, &format!("{block}.ssm_out"))
    };
    let x = b.pre_norm(h, &[("attn_norm", &mix)])?;
    b.head(x, &rows.sequence)
}
