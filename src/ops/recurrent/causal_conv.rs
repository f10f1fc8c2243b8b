//! CausalConv1d: a convolution of each channel with the steps before.

use super::types::{expect_dims, expect_opt, float_axes};
use crate::kernels::kernel;
use crate::ops::contraction::Activation;
use crate::ops::{Attribute, Attributes, Case, Inputs, Lowering, Operator, Reference};
use crate::tensor::{ElementType, Tensor, TensorType};
use crate::{Result, attributes, ensure};

attributes! {
    /// y = act(bias + sum over k of w[c,k] * x[s - (K-1) + k, c]): x [B,S,C], w [C,K], bias [C], state [B,C,K-1], the oldest first.
    pub struct CausalConv1d { act: Activation = Activation::None }
}

crate::entries!(CausalConv1d: cases);

// The inputs, in the order of the contract.
const X: usize = 0;
const W: usize = 1;
const BIAS: usize = 2;
const STATE: usize = 3;

/// Steps of one invocation of shaders/recurrent/causal_conv.comp.
const BLOCK: usize = 8;

/// Batch, steps, channels, kernel.
fn sizes(ins: &Inputs<TensorType>) -> Result<[usize; 4]> {
    let (x, w) = (ins.get(X)?, ins.get(W)?);
    let [batch, steps, channels] = float_axes(x, "x", "[B,S,C]")?;
    ensure!(w.rank() == 2, InvalidGraph, "w is {w}, it must be [C,K]");
    let kernel = w.dims[1];
    ensure!(kernel > 0, InvalidGraph, "w is {w}: K must be at least 1");
    expect_dims(ins, W, "w", x, &[channels, kernel])?;
    expect_opt(ins, BIAS, "bias", x, &[channels])?;
    expect_opt(ins, STATE, "state", x, &[batch, channels, kernel - 1])?;
    Ok([batch, steps, channels, kernel])
}

impl Operator for CausalConv1d {
    fn name(&self) -> &'static str {
        "CausalConv1d"
    }
    fn attributes(&self) -> Attributes {
        self.to_attributes()
    }
    fn output_count(&self, _inputs: usize) -> usize {
        2
    }
    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        ins.expect(2..=4)?;
        let [batch, _, channels, kernel] = sizes(ins)?;
        let x = ins.get(X)?;
        Ok(vec![x.clone(), x.with_dims([batch, channels, kernel - 1])])
    }
    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        let (x, w) = (at.input(X)?, at.input(W)?);
        let [batch, steps, channels] = float_axes(x.ty(), "x", "[B,S,C]")?;
        let (kernel, before) = (w.dims()[1], w.dims()[1] - 1);
        let (x, w) = (x.to_f64(), w.to_f64());
        let (bias, state) = (at.opt(BIAS).map(Tensor::to_f64), at.opt(STATE).map(Tensor::to_f64));
        let mut y = vec![0.0; batch * steps * channels];
        let mut last = vec![0.0; batch * channels * before];
        for row in 0..batch * channels {
            let (b, c) = (row / channels, row % channels);
            // The state, then the steps.
            let mut line: Vec<f64> =
                state.as_ref().map_or_else(|| vec![0.0; before], |state| state[row * before..][..before].to_vec());
            line.extend((0..steps).map(|s| x[(b * steps + s) * channels + c]));
            for s in 0..steps {
                let sum: f64 = (0..kernel).map(|k| w[c * kernel + k] * line[s + k]).sum();
                y[(b * steps + s) * channels + c] = self.act.apply(sum + bias.as_ref().map_or(0.0, |bias| bias[c]));
            }
            last[row * before..][..before].copy_from_slice(&line[steps..]);
        }
        Ok(vec![Tensor::from_f64(at.output_type(0).clone(), &y), Tensor::from_f64(at.output_type(1).clone(), &last)])
    }
    fn lower(&self, at: &mut Lowering) -> Result<()> {
        let ty = at.input_type(X);
        let [batch, steps, channels] = float_axes(ty, "x", "[B,S,C]")?;
        let kernel_size = at.input_type(W).dims[1];
        let blocks = steps.div_ceil(BLOCK);
        let (y_count, last_count) = (batch * blocks * channels, batch * channels * (kernel_size - 1));
        let (y_groups, last_groups) = (y_count.div_ceil(256), last_count.div_ceil(256));
        let (x, w, bias, state) = (at.input(X), at.input(W), at.opt_input(BIAS), at.opt_input(STATE));
        let (has_bias, has_state, y, last) = (at.has_input(BIAS), at.has_input(STATE), at.output(0), at.output(1));
        at.dispatch(kernel::causal_conv(ty.element.name())?)
            .read("x", x)
            .read("w", w)
            .read("bias", bias)
            .read("state", state)
            .write("y", y)
            .write("last", last)
            .uint("steps", steps)
            .uint("channels", channels)
            .uint("kernel", kernel_size)
            .uint("blocks", blocks)
            .uint("y_count", y_count)
            .uint("last_count", last_count)
            .uint("y_groups", y_groups)
            .spec("ACT", self.act as u32)
            .spec("BIAS", has_bias.into())
            .spec("STATE", has_state.into())
            .groups(y_groups + last_groups)
    }
    fn terms(&self, ins: &Inputs<TensorType>) -> usize {
        ins.opt(W).map_or(1, TensorType::last)
    }
}

fn cases() -> Vec<Case> {
    let mut out = Vec::new();
    let case = |act: Activation, element: ElementType, [b, s, c]: [usize; 3], k: usize, bias: bool, state: bool| {
        let mut case = Case::new("CausalConv1d", &[("act", Attribute::Text(act.text().into()))])
            .input(element, &[b, s, c])
            .input(element, &[c, k]);
        case = if bias { case.input(element, &[c]) } else { case.none() };
        if state { case.input(element, &[b, c, k - 1]) } else { case }
    };
    let (none, silu) = (Activation::None, Activation::Silu);
    for element in [ElementType::F32, ElementType::F16, ElementType::Bf16, ElementType::F64] {
        out.push(case(silu, element, [2, 17, 37], 4, true, true));
        // Few steps: parts of the old state stay.
        out.push(case(silu, element, [3, 2, 5], 7, true, true));
    }
    for (dims, k) in [([0, 3, 4], 3), ([2, 0, 3], 4), ([2, 3, 0], 4), ([1, 1, 1], 1), ([2, 8, 33], 1), ([1, 300, 3], 97)] {
        out.push(case(none, ElementType::F32, dims, k, false, k % 2 == 0));
    }
    // The steps of an invocation, one less and one more; the same for the state before the first step.
    for steps in [7, 8, 9, 11, 12] {
        out.push(case(none, ElementType::F32, [2, steps, 19], 4, false, steps % 2 == 0));
    }
    out.push(case(none, ElementType::F32, [70001, 2, 3], 3, true, true));
    for &act in Activation::ALL {
        out.push(case(act, ElementType::F32, [2, 9, 11], 4, true, false));
    }
    out
}
