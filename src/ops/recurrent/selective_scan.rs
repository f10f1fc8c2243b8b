//! SelectiveScan: the scan of Mamba.

use super::diagonal::{Operands, Scan, lower_scan};
use super::types::{expect_dims, expect_opt, float_axes};
use crate::ops::{Attributes, Case, Fill, Inputs, Lowering, Operator, Reference};
use crate::tensor::{ElementType, Tensor, TensorType};
use crate::{Result, attributes, ensure};

attributes! {
    /// h = exp(delta * a) * h + delta * b * x; y = sum over n of c * h (+ d * x): x, delta [B,S,H], a [H,N], b, c [B,S,N], d [H],
    /// state [B,H,N].
    pub struct SelectiveScan {}
}

crate::entries!(SelectiveScan: cases);

// The inputs, in the order of the contract.
const X: usize = 0;
const DELTA: usize = 1;
const A: usize = 2;
const B: usize = 3;
const C: usize = 4;
const D: usize = 5;
const STATE: usize = 6;

/// Batch, steps, hidden, n.
fn sizes(x: &TensorType, a: &TensorType) -> Result<[usize; 4]> {
    let [batch, steps, hidden] = float_axes(x, "x", "[B,S,H]")?;
    ensure!(a.rank() == 2, InvalidGraph, "a is {a}, it must be [H,N]");
    Ok([batch, steps, hidden, a.dims[1]])
}

impl Operator for SelectiveScan {
    fn name(&self) -> &'static str {
        "SelectiveScan"
    }
    fn attributes(&self) -> Attributes {
        self.to_attributes()
    }
    fn output_count(&self, _inputs: usize) -> usize {
        2
    }
    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        ins.expect(5..=7)?;
        let x = ins.get(X)?;
        let [batch, steps, hidden, n] = sizes(x, ins.get(A)?)?;
        expect_dims(ins, DELTA, "delta", x, &[batch, steps, hidden])?;
        expect_dims(ins, A, "a", x, &[hidden, n])?;
        expect_dims(ins, B, "b", x, &[batch, steps, n])?;
        expect_dims(ins, C, "c", x, &[batch, steps, n])?;
        expect_opt(ins, D, "d", x, &[hidden])?;
        expect_opt(ins, STATE, "state", x, &[batch, hidden, n])?;
        Ok(vec![x.clone(), x.with_dims([batch, hidden, n])])
    }
    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        let [batch, steps, hidden, n] = sizes(at.input(X)?.ty(), at.input(A)?.ty())?;
        let values = |i: usize| at.input(i).map(Tensor::to_f64);
        let (x, delta, a, b, c) = (values(X)?, values(DELTA)?, values(A)?, values(B)?, values(C)?);
        let d = at.opt(D).map(Tensor::to_f64);
        let mut h = at.opt(STATE).map_or_else(|| vec![0.0; batch * hidden * n], Tensor::to_f64);
        let mut y = vec![0.0; x.len()];
        for (i, y) in y.iter_mut().enumerate() {
            let (step, row) = (i / hidden, i % hidden);
            let h = &mut h[(step / steps * hidden + row) * n..][..n];
            for k in 0..n {
                h[k] = (delta[i] * a[row * n + k]).exp() * h[k] + delta[i] * b[step * n + k] * x[i];
                *y += c[step * n + k] * h[k];
            }
            *y += d.as_ref().map_or(0.0, |d| d[row] * x[i]);
        }
        Ok(vec![Tensor::from_f64(at.output_type(0).clone(), &y), Tensor::from_f64(at.output_type(1).clone(), &h)])
    }
    fn lower(&self, at: &mut Lowering) -> Result<()> {
        let ty = at.input_type(X);
        let [batch, steps, rows, n] = sizes(ty, at.input_type(A))?;
        let optional = |i: usize| at.has_input(i).then(|| at.input(i));
        let operands = Operands {
            x: at.input(X),
            delta: at.input(DELTA),
            a: at.input(A),
            b: at.input(B),
            c: at.input(C),
            d: optional(D),
            state: optional(STATE),
            y: at.output(0),
            last: at.output(1),
        };
        lower_scan(at, &Scan { element: ty.element, per_row: true, batch, steps, heads: 1, rows, groups: 1, n }, &operands)
    }
    fn terms(&self, ins: &Inputs<TensorType>) -> usize {
        ins.opt(A).map_or(1, TensorType::last)
    }
}

fn cases() -> Vec<Case> {
    let mut out = Vec::new();
    let case = |element: ElementType, [b, s, h, n]: [usize; 4], d: bool, state: bool| {
        // Rates of decay are negative in use.
        let mut case = Case::new("SelectiveScan", &[])
            .input(element, &[b, s, h])
            .fill(element, &[b, s, h], Fill::Range(0.0, 1.0))
            .fill(element, &[h, n], Fill::Range(-2.0, 0.25))
            .input(element, &[b, s, n])
            .input(element, &[b, s, n]);
        case = if d { case.input(element, &[h]) } else { case.none() };
        if state { case.input(element, &[b, h, n]) } else { case }
    };
    for element in [ElementType::F32, ElementType::F16, ElementType::Bf16, ElementType::F64] {
        out.push(case(element, [2, 19, 37, 16], true, true));
        // More states than lanes hold: in turns, through scratch memory.
        out.push(case(element, [1, 5, 3, 259], true, element == ElementType::F32));
    }
    for (i, dims) in [
        [0, 3, 4, 5],
        [2, 0, 3, 4],
        [2, 3, 0, 4],
        [2, 3, 5, 0],
        [1, 1, 1, 1],
        [2, 33, 300, 1],
        [1, 16, 17, 29],
        [1, 17, 16, 33],
        [2, 7, 5, 520],
        [300, 3, 5, 16],
    ]
    .into_iter()
    .enumerate()
    {
        out.push(case(ElementType::F32, dims, i % 2 == 1, i % 3 != 1));
    }
    out
}
