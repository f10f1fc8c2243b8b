//! Mamba2: a scan with one decay a head.

use super::diagonal::{Operands, Scan, lower_scan};
use super::types::{expect_dims, expect_opt, float_axes};
use crate::ops::{Attributes, Case, Fill, Inputs, Lowering, Operator, Reference};
use crate::tensor::{ElementType, Tensor, TensorType};
use crate::{Result, attributes, ensure};

attributes! {
    /// S = exp(dt * a) * S + dt * x_p * b_n; y_p = sum over n of S c_n: x [B,S,H,P], dt [B,S,H], a [H], b, c [B,S,G,N], of which head h
    /// uses group h / (H / G), state [B,H,P,N].
    pub struct Mamba2 {}
}

crate::entries!(Mamba2: cases);

// The inputs, in the order of the contract.
const X: usize = 0;
const DT: usize = 1;
const A: usize = 2;
const B: usize = 3;
const C: usize = 4;
const STATE: usize = 5;

/// Batch, steps, heads, size of a head, groups, n.
fn sizes(x: &TensorType, b: &TensorType) -> Result<[usize; 6]> {
    let [batch, steps, heads, size] = float_axes(x, "x", "[B,S,H,P]")?;
    ensure!(b.rank() == 4, InvalidGraph, "b is {b}, it must be [B,S,G,N]");
    let (groups, n) = (b.dims[2], b.dims[3]);
    ensure!(groups > 0 && heads.is_multiple_of(groups), InvalidGraph, "{heads} heads cannot share {groups} groups of b and c");
    Ok([batch, steps, heads, size, groups, n])
}

impl Operator for Mamba2 {
    fn name(&self) -> &'static str {
        "Mamba2"
    }
    fn attributes(&self) -> Attributes {
        self.to_attributes()
    }
    fn output_count(&self, _inputs: usize) -> usize {
        2
    }
    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        ins.expect(5..=6)?;
        let x = ins.get(X)?;
        let [batch, steps, heads, size, groups, n] = sizes(x, ins.get(B)?)?;
        expect_dims(ins, DT, "dt", x, &[batch, steps, heads])?;
        expect_dims(ins, A, "a", x, &[heads])?;
        expect_dims(ins, B, "b", x, &[batch, steps, groups, n])?;
        expect_dims(ins, C, "c", x, &[batch, steps, groups, n])?;
        expect_opt(ins, STATE, "state", x, &[batch, heads, size, n])?;
        Ok(vec![x.clone(), x.with_dims([batch, heads, size, n])])
    }
    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        let [batch, steps, heads, size, groups, n] = sizes(at.input(X)?.ty(), at.input(B)?.ty())?;
        let values = |i: usize| at.input(i).map(Tensor::to_f64);
        let (x, dt, a, b, c) = (values(X)?, values(DT)?, values(A)?, values(B)?, values(C)?);
        let mut state = at.opt(STATE).map_or_else(|| vec![0.0; batch * heads * size * n], Tensor::to_f64);
        let mut y = vec![0.0; x.len()];
        for (i, y) in y.iter_mut().enumerate() {
            let (place, p) = (i / size, i % size);
            let (step, head) = (place / heads, place % heads);
            let decay = (dt[place] * a[head]).exp();
            let s = &mut state[((step / steps * heads + head) * size + p) * n..][..n];
            let from = (step * groups + head / (heads / groups)) * n;
            for k in 0..n {
                s[k] = decay * s[k] + dt[place] * x[i] * b[from + k];
                *y += s[k] * c[from + k];
            }
        }
        Ok(vec![Tensor::from_f64(at.output_type(0).clone(), &y), Tensor::from_f64(at.output_type(1).clone(), &state)])
    }
    fn lower(&self, at: &mut Lowering) -> Result<()> {
        let ty = at.input_type(X);
        let [batch, steps, heads, rows, groups, n] = sizes(ty, at.input_type(B))?;
        let operands = Operands {
            x: at.input(X),
            delta: at.input(DT),
            a: at.input(A),
            b: at.input(B),
            c: at.input(C),
            d: None,
            state: at.has_input(STATE).then(|| at.input(STATE)),
            y: at.output(0),
            last: at.output(1),
        };
        lower_scan(at, &Scan { element: ty.element, per_row: false, batch, steps, heads, rows, groups, n }, &operands)
    }
    fn terms(&self, ins: &Inputs<TensorType>) -> usize {
        ins.opt(B).map_or(1, TensorType::last)
    }
}

fn cases() -> Vec<Case> {
    let mut out = Vec::new();
    let case = |element: ElementType, [b, s, h, p]: [usize; 4], [g, n]: [usize; 2], state: bool| {
        let case = Case::new("Mamba2", &[])
            .input(element, &[b, s, h, p])
            .fill(element, &[b, s, h], Fill::Range(0.0, 1.0))
            .fill(element, &[h], Fill::Range(-2.0, 0.1))
            // In the first step y is x times the sum of b c, one for a row: that sum must not cancel.
            .fill(element, &[b, s, g, n], Fill::Range(-0.5, 1.0))
            .fill(element, &[b, s, g, n], Fill::Range(-0.5, 1.0));
        if state { case.input(element, &[b, h, p, n]) } else { case }
    };
    for element in [ElementType::F32, ElementType::F16, ElementType::Bf16, ElementType::F64] {
        out.push(case(element, [2, 9, 4, 17], [2, 12], true));
        out.push(case(element, [1, 3, 2, 5], [1, 300], false));
    }
    for (i, (dims, group)) in [
        ([0, 3, 4, 5], [2, 3]),
        ([2, 0, 4, 5], [2, 3]),
        ([1, 3, 0, 5], [1, 3]),
        ([1, 3, 2, 0], [1, 3]),
        ([1, 3, 2, 5], [1, 0]),
        ([1, 1, 1, 1], [1, 1]),
        // Several rows a lane, with a part of a block left over.
        ([2, 17, 6, 65], [3, 64]),
        ([65, 5, 2, 16], [1, 128]),
    ]
    .into_iter()
    .enumerate()
    {
        out.push(case(ElementType::F32, dims, group, i % 2 == 0));
    }
    out
}
