//! LSTM, GRU and RNN. Files have the sequence first and the gates in another order than the operators here.

use super::Convert;
use super::index::counting;
use crate::formats::onnx::context::Context;
use crate::formats::onnx::express::{int, size, text};
use crate::formats::onnx::read::Operand;
use crate::ops::Attribute;
use crate::tensor::{ElementType, element_count, list_text};
use crate::{Result, bail, ensure};

pub const ROWS: &[(&str, Convert)] = &[("LSTM", lstm), ("GRU", gru), ("RNN", rnn)];

/// What the three have in common.
struct Cell {
    /// [batch, steps, size], steps reversed for a single reverse direction.
    x: Operand,
    hidden: usize,
    directions: usize,
    reversed: bool,
    batch_first: bool,
    lengths: Option<Operand>,
}

impl Cell {
    fn read(cx: &mut Context, activations: &[&str]) -> Result<Self> {
        let (reversed, directions) = match cx.attributes.text("direction")?.unwrap_or("forward") {
            "forward" => (false, 1),
            "reverse" => (true, 1),
            "bidirectional" => (false, 2),
            other => bail!(InvalidGraph, "direction {other}"),
        };
        if let Some(given) = cx.attributes.texts("activations")? {
            let usual = given.iter().zip(activations.iter().cycle()).all(|(g, a)| g.eq_ignore_ascii_case(a));
            ensure!(
                usual && given.len() == activations.len() * directions,
                Unsupported,
                "activations {given}",
                given = list_text(&given)
            );
        }
        ensure!(cx.attributes.float("clip")?.unwrap_or(0.0) == 0.0, Unsupported, "clip");
        ensure!(!cx.flag("input_forget", false)?, Unsupported, "input_forget = 1");
        cx.attributes.ignore(&["hidden_size", "activation_alpha", "activation_beta", "output_sequence"]);
        let batch_first = cx.flag("layout", false)?;
        let mut x = cx.input(0)?;
        ensure!(cx.ty(&x)?.rank() == 3, InvalidGraph, "takes [steps, batch, size], not {}", cx.ty(&x)?);
        if !batch_first {
            x = cx.transpose(&x, &[1, 0, 2])?;
        }
        let recurrent = cx.input_type(2)?;
        ensure!(recurrent.rank() == 3, InvalidGraph, "recurrence weights {recurrent}");
        let lengths = match cx.opt(4) {
            Some(lengths) => Some(cx.cast(&lengths, ElementType::I32)?),
            None => None,
        };
        let mut cell = Self { x, hidden: recurrent.dims[2], directions, reversed, batch_first, lengths };
        if reversed {
            cell.x = cell.reverse(cx, &cell.x.clone())?;
        }
        Ok(cell)
    }

    /// The steps of [batch, steps, n] backwards; of a sequence with a length, those within it.
    fn reverse(&self, cx: &mut Context, x: &Operand) -> Result<Operand> {
        let Some(lengths) = &self.lengths else {
            return cx.emit1("Reverse", vec![("axes", Attribute::Ints(vec![1]))], std::slice::from_ref(x));
        };
        let dims = cx.ty(x)?.dims;
        let lengths = cx.cast(lengths, ElementType::I64)?;
        let lengths = cx.reshape(&lengths, &[dims[0], 1, 1])?;
        let step = counting(ElementType::I64, 3, 1, dims[1]);
        let inside = cx.binary("Lt", &step, &lengths)?;
        let last = cx.with_scalar("Sub", &lengths, 1.0)?;
        let mirrored = cx.binary("Sub", &last, &step)?;
        let index = cx.select(&inside, &mirrored, &step)?;
        let index = cx.expand(&index, &dims)?;
        cx.emit1("GatherElements", vec![("axis", size(1))], &[x.clone(), index])
    }

    /// Weights [directions, gates * hidden, ..] with the gates in another order, flat. `part` picks a half of a bias [directions, 2 *
    /// gates * hidden].
    fn weights(&self, cx: &mut Context, w: &Operand, order: &[usize], part: Option<usize>) -> Result<Operand> {
        let dims = cx.ty(w)?.dims;
        let rows = order.len() * self.hidden;
        let inner = element_count(dims.get(2..).unwrap_or(&[]));
        let halves = if part.is_some() { 2 } else { 1 };
        let fits = dims.len() >= 2 && dims[0] == self.directions && dims[1] == halves * rows;
        ensure!(
            fits,
            InvalidGraph,
            "weights {dims} for {} directions and {rows} rows of gates",
            self.directions,
            dims = list_text(&dims)
        );
        let mut w = w.clone();
        if let Some(part) = part {
            w = cx.narrow(&w, 1, part * rows, rows)?;
        }
        let w = cx.reshape(&w, &[self.directions, order.len(), self.hidden, inner])?;
        let mut gates = Vec::with_capacity(order.len());
        for &gate in order {
            gates.push(cx.narrow(&w, 1, gate, 1)?);
        }
        let w = if order.iter().copied().eq(0..order.len()) { w } else { cx.concat(&gates, 1)? };
        cx.reshape(&w, &[self.directions * rows * inner])
    }

    /// Both halves of the bias added up, zeros without one.
    fn merged_bias(&self, cx: &mut Context, order: &[usize]) -> Result<Operand> {
        let (a, b) = self.biases(cx, order)?;
        cx.binary("Add", &a, &b)
    }

    fn biases(&self, cx: &mut Context, order: &[usize]) -> Result<(Operand, Operand)> {
        match cx.opt(3) {
            Some(bias) => Ok((self.weights(cx, &bias, order, Some(0))?, self.weights(cx, &bias, order, Some(1))?)),
            None => {
                let element = cx.ty(&self.x)?.element;
                let zeros = crate::formats::onnx::express::full(element, &[self.directions * order.len() * self.hidden], 0.0);
                Ok((zeros.clone(), zeros))
            }
        }
    }

    /// An initial state as [directions, batch, hidden].
    fn state(&self, cx: &mut Context, i: usize) -> Result<Option<Operand>> {
        match cx.opt(i) {
            Some(state) if self.batch_first => cx.transpose(&state, &[1, 0, 2]).map(Some),
            state => Ok(state),
        }
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        vec![("hidden", size(self.hidden)), ("layers", int(1)), ("bidirectional", int(self.directions == 2))]
    }

    fn run(
        &self,
        cx: &mut Context,
        name: &str,
        attributes: Vec<(&str, Attribute)>,
        mut inputs: Vec<Option<Operand>>,
        peepholes: Option<Operand>,
    ) -> Result<Vec<Operand>> {
        inputs.extend([self.lengths.clone(), peepholes]);
        while inputs.last().is_some_and(Option::is_none) {
            inputs.pop();
        }
        let outputs = cx.emit(name, attributes, &inputs)?;
        let mut out = vec![self.output(cx, &outputs[0])?];
        for state in &outputs[1..] {
            out.push(if self.batch_first { cx.transpose(state, &[1, 0, 2])? } else { state.clone() });
        }
        Ok(out)
    }

    /// y [batch, steps, directions * hidden] as the file has it: [steps, directions, batch, hidden] or [batch, steps, directions, hidden].
    fn output(&self, cx: &mut Context, y: &Operand) -> Result<Operand> {
        let y = if self.reversed { self.reverse(cx, y)? } else { y.clone() };
        let dims = cx.ty(&y)?.dims;
        let y = cx.reshape(&y, &[dims[0], dims[1], self.directions, self.hidden])?;
        if self.batch_first { Ok(y) } else { cx.transpose(&y, &[1, 2, 0, 3]) }
    }
}

/// Gates in files: input, output, forget, cell. Here: input, forget, cell, output.
fn lstm(cx: &mut Context) -> Result<Vec<Operand>> {
    const ORDER: [usize; 4] = [0, 2, 3, 1];
    let cell = Cell::read(cx, &["Sigmoid", "Tanh", "Tanh"])?;
    let (w, r) = (cx.input(1)?, cx.input(2)?);
    let (w, r) = (cell.weights(cx, &w, &ORDER, None)?, cell.weights(cx, &r, &ORDER, None)?);
    let bias = cell.merged_bias(cx, &ORDER)?;
    // In files: input, output, forget.
    let peepholes = match cx.opt(7) {
        Some(p) => Some(cell.weights(cx, &p, &[0, 2, 1], None)?),
        None => None,
    };
    let inputs = vec![Some(cell.x.clone()), Some(w), Some(r), Some(bias), cell.state(cx, 5)?, cell.state(cx, 6)?];
    cell.run(cx, "Lstm", cell.attributes(), inputs, peepholes)
}

/// Gates in files: update, reset, hidden. Here: reset, update, hidden.
fn gru(cx: &mut Context) -> Result<Vec<Operand>> {
    const ORDER: [usize; 3] = [1, 0, 2];
    let after = cx.flag("linear_before_reset", false)?;
    let cell = Cell::read(cx, &["Sigmoid", "Tanh"])?;
    let (w, r) = (cx.input(1)?, cx.input(2)?);
    let (w, r) = (cell.weights(cx, &w, &ORDER, None)?, cell.weights(cx, &r, &ORDER, None)?);
    let (b_ih, b_hh) = cell.biases(cx, &ORDER)?;
    let inputs = vec![Some(cell.x.clone()), Some(w), Some(r), Some(b_ih), Some(b_hh), cell.state(cx, 5)?];
    let mut attributes = cell.attributes();
    attributes.push(("linear_before_reset", int(after)));
    cell.run(cx, "Gru", attributes, inputs, None)
}

fn rnn(cx: &mut Context) -> Result<Vec<Operand>> {
    let relu = match cx.attributes.texts("activations")? {
        Some(given) => given.first().is_some_and(|a| a.eq_ignore_ascii_case("Relu")),
        None => false,
    };
    let act = if relu { "Relu" } else { "Tanh" };
    let cell = Cell::read(cx, &[act])?;
    let (w, r) = (cx.input(1)?, cx.input(2)?);
    let (w, r) = (cell.weights(cx, &w, &[0], None)?, cell.weights(cx, &r, &[0], None)?);
    let bias = cell.merged_bias(cx, &[0])?;
    let inputs = vec![Some(cell.x.clone()), Some(w), Some(r), Some(bias), cell.state(cx, 5)?];
    let mut attributes = cell.attributes();
    attributes.push(("act", text(act)));
    cell.run(cx, "Rnn", attributes, inputs, None)
}
