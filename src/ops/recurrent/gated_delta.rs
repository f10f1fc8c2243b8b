//! GatedDeltaNet: linear attention whose state is corrected towards each value.

use super::types::{expect_dims, expect_element, expect_opt, float_axes};
use crate::kernels::{Caps, kernel};
use crate::ops::{Attribute, Attributes, Case, Fill, Inputs, Lowering, Operator, Reference};
use crate::tensor::{ElementType, Tensor, TensorType};
use crate::{Result, attributes, ensure};

attributes! {
    /// S *= exp(g); d_j = (v_j - sum over i of S_ij k_i) * beta; S_ij += k_i d_j; y_j = scale * sum over i of S_ij q_i: q, k [B,S,H,N],
    /// v [B,S,H,M], g [B,S,H] or [B,S,H,N], beta [B,S,H], state [B,H,N,M]. scale is 1 / sqrt(N) if not given.
    pub struct GatedDeltaNet { scale: Option<f64> }
}

crate::entries!(GatedDeltaNet: cases);

// The inputs, in the order of the contract.
const Q: usize = 0;
const K: usize = 1;
const V: usize = 2;
const G: usize = 3;
const BETA: usize = 4;
const STATE: usize = 5;

/// Batch, steps, heads, n, m.
fn sizes(q: &TensorType, v: &TensorType) -> Result<[usize; 5]> {
    let [batch, steps, heads, n] = float_axes(q, "q", "[B,S,H,N]")?;
    ensure!(v.rank() == 4, InvalidGraph, "v is {v}, it must be [B,S,H,M]");
    Ok([batch, steps, heads, n, v.dims[3]])
}

/// How a workgroup of 128 shares its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tiling {
    /// Lanes of a column of the state.
    lanes: usize,
    /// Vectors of 4 states that a lane keeps in registers; 0: the states lie in scratch memory.
    held: usize,
    /// Steps read at a time.
    steps: usize,
}

/// Vectors of 4 states that a lane may keep: more would not stay in registers.
const MOST_HELD: usize = 8;

fn tiling(element: ElementType, n: usize, vector_gate: bool, caps: &Caps) -> Tiling {
    let lanes = (caps.subgroup_size as usize).min(8);
    let held = n.div_ceil(4 * lanes).next_power_of_two();
    if held > MOST_HELD {
        return Tiling { lanes, held: 0, steps: 1 };
    }
    let padded = 4 * lanes * held;
    let gates = if vector_gate || padded > n { padded } else { 4 };
    let a_step = 2 * padded + gates + 128 / lanes + 1;
    let bytes = if element == ElementType::F64 { 8 } else { 4 };
    let budget = (caps.shared_bytes as usize).min(24 << 10) / bytes;
    let steps = (budget / a_step).clamp(1, 8);
    Tiling { lanes, held, steps: 1 << steps.ilog2() }
}

impl GatedDeltaNet {
    fn scale(&self, n: usize) -> f64 {
        self.scale.unwrap_or(1.0 / (n as f64).sqrt())
    }
}

impl Operator for GatedDeltaNet {
    fn name(&self) -> &'static str {
        "GatedDeltaNet"
    }
    fn attributes(&self) -> Attributes {
        self.to_attributes()
    }
    fn output_count(&self, _inputs: usize) -> usize {
        2
    }
    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        ins.expect(5..=6)?;
        let (q, v, g) = (ins.get(Q)?, ins.get(V)?, ins.get(G)?);
        let [batch, steps, heads, n, m] = sizes(q, v)?;
        expect_dims(ins, K, "k", q, &[batch, steps, heads, n])?;
        expect_dims(ins, V, "v", q, &[batch, steps, heads, m])?;
        expect_element("g", g, q)?;
        let fits = g.dims == [batch, steps, heads] || g.dims == [batch, steps, heads, n];
        ensure!(fits, InvalidGraph, "g is {g}, it must be [{batch},{steps},{heads}] or [{batch},{steps},{heads},{n}]");
        expect_dims(ins, BETA, "beta", q, &[batch, steps, heads])?;
        expect_opt(ins, STATE, "state", q, &[batch, heads, n, m])?;
        Ok(vec![v.clone(), q.with_dims([batch, heads, n, m])])
    }
    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        let [batch, steps, heads, n, m] = sizes(at.input(Q)?.ty(), at.input(V)?.ty())?;
        let values = |i: usize| at.input(i).map(Tensor::to_f64);
        let (q, k, v, g, beta) = (values(Q)?, values(K)?, values(V)?, values(G)?, values(BETA)?);
        let vector = at.input(G)?.dims().len() == 4;
        let mut state = at.opt(STATE).map_or_else(|| vec![0.0; batch * heads * n * m], Tensor::to_f64);
        let mut y = vec![0.0; v.len()];
        for place in 0..batch * steps * heads {
            let s = &mut state[(place / heads / steps * heads + place % heads) * n * m..][..n * m];
            let (q, k) = (&q[place * n..][..n], &k[place * n..][..n]);
            for (i, s) in s.iter_mut().enumerate() {
                *s *= g[if vector { place * n + i / m } else { place }].exp();
            }
            for j in 0..m {
                let seen: f64 = (0..n).map(|i| s[i * m + j] * k[i]).sum();
                let d = (v[place * m + j] - seen) * beta[place];
                (0..n).for_each(|i| s[i * m + j] += k[i] * d);
                y[place * m + j] = self.scale(n) * (0..n).map(|i| s[i * m + j] * q[i]).sum::<f64>();
            }
        }
        Ok(vec![Tensor::from_f64(at.output_type(0).clone(), &y), Tensor::from_f64(at.output_type(1).clone(), &state)])
    }
    fn lower(&self, at: &mut Lowering) -> Result<()> {
        let ty = at.input_type(Q);
        let [batch, steps, heads, n, m] = sizes(ty, at.input_type(V))?;
        let vector = at.input_type(G).rank() == 4;
        let tiling = tiling(ty.element, n, vector, at.caps);
        let groups = batch * heads * m.div_ceil(128 / tiling.lanes);
        let scratch = match tiling.held {
            0 => at.temp(groups * n.div_ceil(tiling.lanes) * 128 * if ty.element == ElementType::F64 { 8 } else { 4 }),
            _ => at.opt_input(usize::MAX),
        };
        let padded = tiling.held > 0 && n < 4 * tiling.lanes * tiling.held;
        let (q, k, v, g, beta, state) = (at.input(Q), at.input(K), at.input(V), at.input(G), at.input(BETA), at.opt_input(STATE));
        let (has_state, y, last) = (at.has_input(STATE), at.output(0), at.output(1));
        at.dispatch(kernel::gated_delta(ty.element.name())?)
            .read("q", q)
            .read("k", k)
            .read("v", v)
            .read("g", g)
            .read("beta", beta)
            .read("state", state)
            .write("y", y)
            .write("last", last)
            .read_write("scratch", scratch)
            .uint("batch", batch)
            .uint("steps", steps)
            .uint("heads", heads)
            .uint("n", n)
            .uint("m", m)
            .float("scale", self.scale(n))
            .spec("VECTOR", vector.into())
            .spec("STATE", has_state.into())
            .spec("LANES", tiling.lanes as u32)
            .spec("HELD", tiling.held as u32)
            .spec("STEPS", tiling.steps as u32)
            .spec("PADDED", padded.into())
            .groups(groups)
    }
    fn terms(&self, ins: &Inputs<TensorType>) -> usize {
        ins.opt(Q).map_or(1, TensorType::last)
    }
}

fn cases() -> Vec<Case> {
    let mut out = Vec::new();
    let case = |element: ElementType, [b, s, h, n, m]: [usize; 5], vector: bool, state: bool, scale: Option<f64>| {
        let list: Vec<(&str, Attribute)> = scale.iter().map(|&s| ("scale", Attribute::Float(s))).collect();
        // Keys of length 1 or less, as in use: the state stays within bounds.
        let size = 1.5 / (n as f64).sqrt().max(1.0);
        let gate: &[usize] = if vector { &[b, s, h, n] } else { &[b, s, h] };
        let case = Case::new("GatedDeltaNet", &list)
            .input(element, &[b, s, h, n])
            .fill(element, &[b, s, h, n], Fill::Range(-size, size))
            .input(element, &[b, s, h, m])
            .fill(element, gate, Fill::Range(-1.5, 0.05))
            .fill(element, &[b, s, h], Fill::Range(0.0, 1.0));
        if state { case.input(element, &[b, h, n, m]) } else { case }
    };
    for element in [ElementType::F32, ElementType::F16, ElementType::Bf16, ElementType::F64] {
        out.push(case(element, [2, 9, 3, 19, 17], element == ElementType::F64, true, None));
        // Too many states for registers.
        out.push(case(element, [1, 3, 2, 261, 5], element == ElementType::F16, element != ElementType::F32, None));
    }
    // Every option with heads of 64 and 128, and 1, 2 and 65 steps (BUGS.md 62).
    for (i, (n, steps)) in [(64, 1), (64, 2), (64, 65), (128, 1), (128, 2), (128, 65)].into_iter().enumerate() {
        for (vector, state) in [(false, false), (false, true), (true, false), (true, true)] {
            let scale = (i % 2 == 1).then_some(0.3);
            out.push(case(ElementType::F32, [1, steps, 2, n, n], vector, state, scale));
        }
    }
    for (i, dims) in [
        [0, 3, 2, 4, 5],
        [2, 0, 3, 4, 5],
        [2, 3, 0, 4, 5],
        [1, 3, 2, 0, 5],
        [1, 3, 2, 4, 0],
        [1, 1, 1, 1, 1],
        [1, 5, 2, 256, 33],
        [1, 2, 1, 600, 130],
        [300, 2, 5, 3, 4],
    ]
    .into_iter()
    .enumerate()
    {
        // Sums over no rows times the default scale would be 0 times infinity.
        out.push(case(ElementType::F32, dims, i % 2 == 1, i % 3 == 1, (dims[3] == 0).then_some(1.0)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_stay_in_registers_while_they_fit() {
        let caps = Caps {
            subgroup_size: 32,
            max_groups: [65535; 3],
            shared_bytes: 48 << 10,
            max_invocations: 1024,
            capabilities: Vec::new(),
            coop: Vec::new(),
            software: false,
        };
        let at = |element, n, vector| tiling(element, n, vector, &caps);
        assert_eq!(at(ElementType::F16, 128, false), Tiling { lanes: 8, held: 4, steps: 8 });
        assert_eq!(at(ElementType::F32, 256, true), Tiling { lanes: 8, held: 8, steps: 4 });
        assert_eq!(at(ElementType::F32, 257, true), Tiling { lanes: 8, held: 0, steps: 1 });
        let narrow = Caps { subgroup_size: 4, ..caps };
        assert_eq!(tiling(ElementType::F32, 128, false, &narrow), Tiling { lanes: 4, held: 8, steps: 8 });
    }
}
