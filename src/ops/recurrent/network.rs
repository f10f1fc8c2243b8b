//! What Lstm, Gru and Rnn have in common: inputs, shape rule and the order of layers, directions and steps.

use super::types::{expect_element, expect_opt, float_axes};
use crate::ops::contraction::{MatrixView, multiply};
use crate::ops::{Inputs, Reference};
use crate::tensor::{ElementType, Tensor, TensorType};
use crate::{Result, attribute_enum, ensure};

attribute_enum! {
    /// The activation of an Rnn.
    pub enum RnnActivation { Tanh = "Tanh", Relu = "Relu" }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell {
    Lstm,
    /// `after`: the reset gate multiplies the product W h (linear_before_reset), else h before it.
    Gru {
        after: bool,
    },
    Rnn(RnnActivation),
}

impl Cell {
    pub fn gates(self) -> usize {
        match self {
            Cell::Lstm => 4,
            Cell::Gru { .. } => 3,
            Cell::Rnn(_) => 1,
        }
    }
}

/// Where the inputs are, in the order of the contract.
pub const X: usize = 0;
pub const W_IH: usize = 1;
pub const W_HH: usize = 2;
pub const BIAS: usize = 3;

/// Gates of an Lstm that look at c: i, f, o.
pub const PEEPHOLES: usize = 3;

pub struct Network {
    pub cell: Cell,
    pub hidden: usize,
    pub layers: usize,
    pub directions: usize,
}

/// Extents of a checked network.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    pub batch: usize,
    pub steps: usize,
    pub width: usize,
}

impl Network {
    /// The second bias of a Gru.
    pub fn bias_h(&self) -> Option<usize> {
        matches!(self.cell, Cell::Gru { .. }).then_some(BIAS + 1)
    }

    pub fn h0(&self) -> usize {
        if self.bias_h().is_some() { BIAS + 2 } else { BIAS + 1 }
    }

    pub fn c0(&self) -> Option<usize> {
        (self.cell == Cell::Lstm).then(|| self.h0() + 1)
    }

    pub fn lengths(&self) -> usize {
        self.c0().unwrap_or(self.h0()) + 1
    }

    /// The last input of an Lstm: what the gates i and f take of the old c, and o of the new one.
    pub fn peepholes(&self) -> Option<usize> {
        (self.cell == Cell::Lstm).then(|| self.lengths() + 1)
    }

    /// y and h, and c of an Lstm.
    pub fn outputs(&self) -> usize {
        if self.cell == Cell::Lstm { 3 } else { 2 }
    }

    /// Rows of gates of one direction.
    pub fn rows(&self) -> usize {
        self.cell.gates() * self.hidden
    }

    /// Columns of the input of a layer.
    pub fn width_of(&self, layer: usize, sizes: &Sizes) -> usize {
        if layer == 0 { sizes.width } else { self.directions * self.hidden }
    }

    /// Elements of w_ih before this layer.
    pub fn w_ih_start(&self, layer: usize, sizes: &Sizes) -> usize {
        (0..layer).map(|l| self.directions * self.rows() * self.width_of(l, sizes)).sum()
    }

    fn states(&self, sizes: &Sizes) -> [usize; 3] {
        [self.layers * self.directions, sizes.batch, self.hidden]
    }

    pub fn sizes(&self, x: &TensorType) -> Result<Sizes> {
        let [batch, steps, width] = float_axes(x, "x", "[B,S,I]")?;
        Ok(Sizes { batch, steps, width })
    }

    pub fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        ins.expect(BIAS + 1 + usize::from(self.bias_h().is_some())..=self.peepholes().unwrap_or(self.lengths()) + 1)?;
        ensure!(self.layers > 0, InvalidGraph, "layers is 0, there must be at least one");
        let x = ins.get(X)?;
        let sizes = self.sizes(x)?;
        let blocks = self.layers * self.directions * self.rows();
        let biases = [(BIAS, if self.bias_h().is_some() { "b_ih" } else { "bias" }), (BIAS + 1, "b_hh")];
        let mut packed = vec![(W_IH, "w_ih", self.w_ih_start(self.layers, &sizes)), (W_HH, "w_hh", blocks * self.hidden)];
        packed.extend(biases[..1 + usize::from(self.bias_h().is_some())].iter().map(|&(i, name)| (i, name, blocks)));
        let peepholes = self.peepholes().filter(|&i| ins.opt(i).is_some());
        packed.extend(peepholes.map(|i| (i, "peepholes", self.layers * self.directions * PEEPHOLES * self.hidden)));
        for (i, name, elements) in packed {
            let ty = ins.get(i).map_err(|e| e.within(name))?;
            expect_element(name, ty, x)?;
            let (layers, directions, hidden, width) = (self.layers, self.directions, self.hidden, sizes.width);
            ensure!(
                ty.elements() == elements,
                InvalidGraph,
                "{name} is {ty}: for {layers} layers of {hidden} units, {directions} directions and {width} columns of x it must \
                 have {elements} elements"
            );
        }
        let states = self.states(&sizes);
        expect_opt(ins, self.h0(), "h0", x, &states)?;
        if let Some(c0) = self.c0() {
            expect_opt(ins, c0, "c0", x, &states)?;
        }
        if let Some(lengths) = ins.opt(self.lengths()) {
            let fits = lengths.element == ElementType::I32 && lengths.dims == [sizes.batch];
            ensure!(fits, InvalidGraph, "lengths is {lengths}, it must be i32 [{}]", sizes.batch);
        }
        let mut out = vec![x.with_dims([sizes.batch, sizes.steps, self.directions * self.hidden])];
        out.extend((1..self.outputs()).map(|_| x.with_dims(states)));
        Ok(out)
    }

    pub fn terms(&self, ins: &Inputs<TensorType>) -> usize {
        let inner = if self.layers > 1 { self.directions * self.hidden } else { self.hidden };
        ins.opt(X).map_or(1, TensorType::last).max(inner)
    }

    pub fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        let sizes = self.sizes(at.input(X)?.ty())?;
        let values = |i: usize| at.input(i).map(Tensor::to_f64);
        let (w_ih, w_hh, bias) = (values(W_IH)?, values(W_HH)?, values(BIAS)?);
        let bias_h = self.bias_h().map(values).transpose()?;
        let peepholes = self.peepholes().and_then(|i| at.opt(i)).map(Tensor::to_f64);
        let state = |i: Option<usize>| {
            let given = i.and_then(|i| at.opt(i)).map(Tensor::to_f64);
            given.unwrap_or_else(|| vec![0.0; self.states(&sizes).iter().product()])
        };
        let (mut h, mut c) = (state(Some(self.h0())), state(self.c0()));
        let lengths: Vec<usize> = match at.opt(self.lengths()) {
            Some(lengths) => lengths.to_i128().into_iter().map(|l| l.clamp(0, sizes.steps as i128) as usize).collect(),
            None => vec![sizes.steps; sizes.batch],
        };
        let mut x = values(X)?;
        for layer in 0..self.layers {
            let width = self.width_of(layer, &sizes);
            let mut y = vec![0.0; sizes.batch * sizes.steps * self.directions * self.hidden];
            for direction in 0..self.directions {
                let block = layer * self.directions + direction;
                let part = |all: &'_ [f64], columns: usize| all[block * self.rows() * columns..][..self.rows() * columns].to_vec();
                let peephole = |all: &Vec<f64>| all[block * PEEPHOLES * self.hidden..][..PEEPHOLES * self.hidden].to_vec();
                let start = self.w_ih_start(layer, &sizes) + direction * self.rows() * width;
                let states = block * sizes.batch * self.hidden..(block + 1) * sizes.batch * self.hidden;
                let run = Direction {
                    network: self,
                    sizes,
                    reverse: direction == 1,
                    w_ih: &w_ih[start..][..self.rows() * width],
                    w_hh: &part(&w_hh, self.hidden),
                    bias: &part(&bias, 1),
                    bias_h: bias_h.as_ref().map(|b| part(b, 1)),
                    peepholes: peepholes.as_ref().map_or_else(|| vec![0.0; PEEPHOLES * self.hidden], peephole),
                };
                run.run(&x, &lengths, &mut h[states.clone()], &mut c[states], |item, time, h| {
                    let row = (item * sizes.steps + time) * self.directions + direction;
                    y[row * self.hidden..][..self.hidden].copy_from_slice(h);
                });
            }
            x = y;
        }
        let mut out = vec![Tensor::from_f64(at.output_type(0).clone(), &x), Tensor::from_f64(at.output_type(1).clone(), &h)];
        if self.cell == Cell::Lstm {
            out.push(Tensor::from_f64(at.output_type(2).clone(), &c));
        }
        Ok(out)
    }
}

/// One direction of one layer in f64.
struct Direction<'a> {
    network: &'a Network,
    sizes: Sizes,
    reverse: bool,
    w_ih: &'a [f64],
    w_hh: &'a [f64],
    bias: &'a [f64],
    bias_h: Option<Vec<f64>>,
    /// Of the gates i, f, o of an Lstm.
    peepholes: Vec<f64>,
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// x [m,k] times the transpose of w [n,k].
fn linear(x: &[f64], w: &[f64], m: usize, n: usize) -> Vec<f64> {
    let k = x.len() / m.max(1);
    let mut y = vec![0.0; m * n];
    let (a, b) = (MatrixView { values: x, start: 0, row: k, col: 1 }, MatrixView { values: w, start: 0, row: 1, col: k });
    multiply(m, n, k, a, b, &mut y);
    y
}

impl Direction<'_> {
    /// Goes through the steps, calling `put` with the item, the place in its sequence and the state there.
    fn run(&self, x: &[f64], lengths: &[usize], h: &mut [f64], c: &mut [f64], mut put: impl FnMut(usize, usize, &[f64])) {
        let Sizes { batch, steps, .. } = self.sizes;
        let (hidden, rows) = (self.network.hidden, self.network.rows());
        if hidden * batch == 0 {
            return;
        }
        let mut products = linear(x, self.w_ih, batch * steps, rows);
        products.iter_mut().enumerate().for_each(|(i, v)| *v += self.bias[i % rows]);
        for step in 0..steps {
            let recurrent = linear(h, self.w_hh, batch, rows);
            for item in (0..batch).filter(|&b| step < lengths[b]) {
                let time = if self.reverse { lengths[item] - 1 - step } else { step };
                let given = &products[(item * steps + time) * rows..][..rows];
                let (h, c) = (&mut h[item * hidden..][..hidden], &mut c[item * hidden..][..hidden]);
                self.cell(given, &recurrent[item * rows..][..rows], h, c);
                put(item, time, h);
            }
        }
    }

    /// The next state of one item: `given` is the product of x and the first bias, `w` the product of h.
    fn cell(&self, given: &[f64], w: &[f64], h: &mut [f64], c: &mut [f64]) {
        let n = h.len();
        match self.network.cell {
            Cell::Lstm => {
                for j in 0..n {
                    let [i, f, g, o] = [0, 1, 2, 3].map(|gate| given[gate * n + j] + w[gate * n + j]);
                    let [p_i, p_f, p_o] = [0, 1, 2].map(|gate| self.peepholes[gate * n + j]);
                    c[j] = sigmoid(f + p_f * c[j]) * c[j] + sigmoid(i + p_i * c[j]) * g.tanh();
                    h[j] = sigmoid(o + p_o * c[j]) * c[j].tanh();
                }
            }
            Cell::Rnn(act) => {
                for j in 0..n {
                    let sum = given[j] + w[j];
                    h[j] = match act {
                        RnnActivation::Tanh => sum.tanh(),
                        RnnActivation::Relu if sum < 0.0 => 0.0,
                        RnnActivation::Relu => sum,
                    };
                }
            }
            Cell::Gru { after } => {
                let bias = self.bias_h.as_deref().unwrap_or(&[]);
                let gate = |gate: usize, j: usize| sigmoid(given[gate * n + j] + w[gate * n + j] + bias[gate * n + j]);
                let reset: Vec<f64> = (0..n).map(|j| gate(0, j)).collect();
                let new: Vec<f64> = if after {
                    (0..n).map(|j| reset[j] * (w[2 * n + j] + bias[2 * n + j])).collect()
                } else {
                    let kept: Vec<f64> = reset.iter().zip(h.iter()).map(|(r, h)| r * h).collect();
                    linear(&kept, &self.w_hh[2 * n * n..], 1, n).iter().enumerate().map(|(j, v)| v + bias[2 * n + j]).collect()
                };
                for j in 0..n {
                    let z = gate(1, j);
                    h[j] = (1.0 - z) * (given[2 * n + j] + new[j]).tanh() + z * h[j];
                }
            }
        }
    }
}

/// The operator of a struct that says which network it is.
macro_rules! network_operator {
    ($name:ident, |$op:ident| $cell:expr) => {
        impl $name {
            fn network(&self) -> $crate::ops::recurrent::network::Network {
                let $op = self;
                let directions = if self.bidirectional { 2 } else { 1 };
                $crate::ops::recurrent::network::Network { cell: $cell, hidden: self.hidden, layers: self.layers, directions }
            }
        }
        impl $crate::ops::Operator for $name {
            fn name(&self) -> &'static str {
                stringify!($name)
            }
            fn attributes(&self) -> $crate::ops::Attributes {
                self.to_attributes()
            }
            fn output_count(&self, _inputs: usize) -> usize {
                self.network().outputs()
            }
            fn infer(
                &self,
                ins: &$crate::ops::Inputs<$crate::tensor::TensorType>,
            ) -> $crate::Result<Vec<$crate::tensor::TensorType>> {
                self.network().infer(ins)
            }
            fn reference(&self, at: &$crate::ops::Reference) -> $crate::Result<Vec<$crate::tensor::Tensor>> {
                self.network().reference(at)
            }
            fn lower(&self, at: &mut $crate::ops::Lowering) -> $crate::Result<()> {
                self.network().lower(at)
            }
            fn terms(&self, ins: &$crate::ops::Inputs<$crate::tensor::TensorType>) -> usize {
                self.network().terms(ins)
            }
        }
    };
}
pub(super) use network_operator;

impl Sizes {
    /// Products of inputs: one row for each item and step.
    pub fn rows(&self) -> usize {
        self.batch * self.steps
    }
}

/// An element type's size where sums and states are kept.
pub fn wide_bytes(element: ElementType) -> usize {
    if element == ElementType::F64 { 8 } else { 4 }
}
