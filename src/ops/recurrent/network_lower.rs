//! Recurrent networks as dispatches: for each layer the products of all inputs at once, then the recurrence.

use super::network::{BIAS, Cell, Network, PEEPHOLES, RnnActivation, Sizes, W_HH, W_IH, X, wide_bytes};
use crate::Result;
use crate::kernels::{Caps, kernel};
use crate::ops::contraction::{Product, lower_product};
use crate::ops::{Lowering, Operand};
use crate::tensor::ElementType;

/// How the steps of a layer are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recurrence {
    /// One dispatch for all steps, a workgroup an item and direction (network_loop.comp).
    Loop,
    /// A dispatch a step (a Gru that resets h first: two) of network_step.comp.
    Steps(Tile),
}

/// What a workgroup of network_step.comp does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tile {
    items: usize,
    units: usize,
    /// Loads of each row of w on their way at a time.
    stages: usize,
}

/// Units that network_loop.comp can do.
const MOST_LOOPED: usize = 256;
/// Bytes of one direction's w_hh that one workgroup reads again in each step faster than a dependent dispatch starts.
const NEAR_BYTES: usize = 256 << 10;
/// Items that share the loads of w in a step.
const MOST_ITEMS: usize = 8;

fn choose(cell: Cell, hidden: usize, batch: usize, element: ElementType, caps: &Caps) -> Recurrence {
    if hidden <= MOST_LOOPED && cell.gates() * hidden * hidden * element.bytes() <= NEAR_BYTES {
        return Recurrence::Loop;
    }
    let lanes = caps.subgroup_size as usize;
    let items = batch.next_power_of_two().min(MOST_ITEMS).min(lanes);
    let most = if caps.software { 2 } else { 4 };
    Recurrence::Steps(Tile { items, units: (128 / lanes).max(1), stages: (8 / items).clamp(1, most) })
}

/// CELL in shaders/recurrent/cell.glsl; for a Gru that resets h first, of both of its products.
fn cell_numbers(cell: Cell) -> &'static [u32] {
    match cell {
        Cell::Lstm => &[0],
        Cell::Gru { after: true } => &[1],
        Cell::Gru { after: false } => &[2, 3],
        Cell::Rnn(RnnActivation::Tanh) => &[4],
        Cell::Rnn(RnnActivation::Relu) => &[5],
    }
}

/// Operands of one layer.
struct Layer {
    products: Operand,
    w_hh: Operand,
    bias: Operand,
    bias_h: Operand,
    /// None: zeros.
    peepholes: Option<Operand>,
    h0: Option<Operand>,
    c0: Option<Operand>,
    lengths: Option<Operand>,
    y: Operand,
    h: Operand,
    c: Operand,
    /// network_step.comp's slots, and their distance between items.
    states: Operand,
}

impl Network {
    pub fn lower(&self, at: &mut Lowering) -> Result<()> {
        let element = at.input_type(X).element;
        let sizes = self.sizes(at.input_type(X))?;
        if sizes.steps == 0 {
            return self.keep_states(at, &sizes, element);
        }
        let recurrence = choose(self.cell, self.hidden, sizes.batch, element, at.caps);
        let (bytes, wide) = (element.bytes(), wide_bytes(element));
        let columns = self.directions * self.rows();
        let products = at.temp(sizes.rows() * columns * wide);
        let between: Vec<Operand> =
            (1..self.layers.min(3)).map(|_| at.temp(sizes.rows() * self.directions * self.hidden * bytes)).collect();
        let mut x = at.input(X);
        let states = self.initial_states(at, &sizes, element, recurrence)?;
        for (number, states) in states.into_iter().enumerate() {
            let width = self.width_of(number, &sizes);
            let w_ih = at.input(W_IH).part(self.w_ih_start(number, &sizes) * bytes, columns * width * bytes);
            let mut product = Product::dense(element, [sizes.rows(), columns, width], x, w_ih, true, products);
            product.wide = true;
            lower_product(at, &product)?;
            let y = if number + 1 == self.layers { at.output(0) } else { between[number % 2] };
            let layer = self.layer(at, &sizes, element, number, products, y, states);
            match recurrence {
                Recurrence::Loop => self.lower_loop(at, &sizes, element, &layer)?,
                Recurrence::Steps(tile) => self.lower_steps(at, &sizes, element, &layer, tile)?,
            }
            x = y;
        }
        Ok(())
    }

    /// Without a step the final states are the initial ones.
    fn keep_states(&self, at: &mut Lowering, sizes: &Sizes, element: ElementType) -> Result<()> {
        let rows = self.layers * self.directions * sizes.batch;
        for (output, input) in [(1, Some(self.h0())), (2, self.c0())].into_iter().take(self.outputs() - 1) {
            let given = input.filter(|&i| at.has_input(i)).map(|i| at.input(i));
            copy_states(at, element, given, at.output(output), [rows, self.hidden, self.hidden], false)?;
        }
        Ok(())
    }

    fn pitch(&self) -> usize {
        self.hidden.next_multiple_of(8)
    }

    /// The part of a state [layers * directions, batch, hidden] that belongs to a layer.
    fn state_of(&self, state: Operand, layer: usize, sizes: &Sizes, element: ElementType) -> Operand {
        let bytes = self.directions * sizes.batch * self.hidden * element.bytes();
        state.part(layer * bytes, bytes)
    }

    /// For each layer the memory of network_step.comp, with the initial states in it.
    fn initial_states(
        &self,
        at: &mut Lowering,
        sizes: &Sizes,
        element: ElementType,
        recurrence: Recurrence,
    ) -> Result<Vec<Operand>> {
        if recurrence == Recurrence::Loop {
            return Ok(vec![at.opt_input(usize::MAX); self.layers]);
        }
        let rows = self.directions * sizes.batch;
        let slot = rows * self.pitch() * wide_bytes(element);
        let mut out = Vec::new();
        for layer in 0..self.layers {
            let states = at.temp(4 * slot);
            for (number, input) in [(0, Some(self.h0())), (2, self.c0())] {
                let Some(input) = input else { continue };
                let given = at.has_input(input).then(|| self.state_of(at.input(input), layer, sizes, element));
                let to = states.part(number * slot, slot);
                copy_states(at, element, given, to, [rows, self.hidden, self.pitch()], true)?;
            }
            out.push(states);
        }
        Ok(out)
    }

    #[allow(clippy::too_many_arguments)]
    fn layer(
        &self,
        at: &Lowering,
        sizes: &Sizes,
        element: ElementType,
        number: usize,
        products: Operand,
        y: Operand,
        states: Operand,
    ) -> Layer {
        let rows = self.directions * self.rows() * element.bytes();
        let state = |operand: Operand| self.state_of(operand, number, sizes, element);
        let initial = |i: Option<usize>| i.filter(|&i| at.has_input(i)).map(|i| state(at.input(i)));
        let block = |i: usize, columns: usize| at.input(i).part(number * rows * columns, rows * columns);
        let holes = self.directions * PEEPHOLES * self.hidden * element.bytes();
        let peepholes = self.peepholes().filter(|&i| at.has_input(i));
        Layer {
            products,
            w_hh: block(W_HH, self.hidden),
            bias: block(BIAS, 1),
            bias_h: self.bias_h().map_or(at.opt_input(usize::MAX), |i| block(i, 1)),
            peepholes: peepholes.map(|i| at.input(i).part(number * holes, holes)),
            h0: initial(Some(self.h0())),
            c0: initial(self.c0()),
            lengths: at.has_input(self.lengths()).then(|| at.input(self.lengths())),
            y,
            h: state(at.output(1)),
            c: if self.outputs() > 2 { state(at.output(2)) } else { at.opt_input(usize::MAX) },
            states,
        }
    }

    fn lower_loop(&self, at: &mut Lowering, sizes: &Sizes, element: ElementType, layer: &Layer) -> Result<()> {
        let absent = at.opt_input(usize::MAX);
        at.dispatch(kernel::network_loop(element.name())?)
            .read("products", layer.products)
            .read("w", layer.w_hh)
            .read("bias", layer.bias)
            .read("bias_h", layer.bias_h)
            .read("peepholes", layer.peepholes.unwrap_or(absent))
            .read("h0", layer.h0.unwrap_or(absent))
            .read("c0", layer.c0.unwrap_or(absent))
            .read("lengths", layer.lengths.unwrap_or(absent))
            .write("y", layer.y)
            .write("h_last", layer.h)
            .write("c_last", layer.c)
            .uint("batch", sizes.batch)
            .uint("steps", sizes.steps)
            .uint("directions", self.directions)
            .uint("hidden", self.hidden)
            .spec("CELL", cell_numbers(self.cell)[0])
            .spec("LENGTHS", layer.lengths.is_some().into())
            .spec("PEEPHOLES", layer.peepholes.is_some().into())
            .spec("H0", layer.h0.is_some().into())
            .spec("C0", layer.c0.is_some().into())
            .spec("W_VEC", self.whole_vectors(element).into())
            .groups(self.directions * sizes.batch)
    }

    fn lower_steps(
        &self,
        at: &mut Lowering,
        sizes: &Sizes,
        element: ElementType,
        layer: &Layer,
        Tile { items, units, stages }: Tile,
    ) -> Result<()> {
        let absent = at.opt_input(usize::MAX);
        for step in 0..sizes.steps {
            for &cell in cell_numbers(self.cell) {
                at.dispatch(kernel::network_step(element.name())?)
                    .read("products", layer.products)
                    .read("w", layer.w_hh)
                    .read("bias", layer.bias)
                    .read("bias_h", layer.bias_h)
                    .read("peepholes", layer.peepholes.unwrap_or(absent))
                    .read_write("states", layer.states)
                    .read("lengths", layer.lengths.unwrap_or(absent))
                    .write("y", layer.y)
                    .write("h_last", layer.h)
                    .write("c_last", layer.c)
                    .uint("batch", sizes.batch)
                    .uint("steps", sizes.steps)
                    .uint("directions", self.directions)
                    .uint("hidden", self.hidden)
                    .uint("pitch", self.pitch())
                    .uint("step", step)
                    .spec("CELL", cell)
                    .spec("LENGTHS", layer.lengths.is_some().into())
                    .spec("PEEPHOLES", layer.peepholes.is_some().into())
                    .spec("ITEMS", items as u32)
                    .spec("UNITS", units as u32)
                    .spec("STAGES", stages as u32)
                    .spec("W_VEC", self.whole_vectors(element).into())
                    .groups(self.directions * self.hidden.div_ceil(units) * sizes.batch.div_ceil(items))?;
            }
        }
        Ok(())
    }

    /// Rows of w_hh start at multiples of 16 bytes.
    fn whole_vectors(&self, element: ElementType) -> bool {
        (self.hidden * element.bytes()).is_multiple_of(16)
    }
}

/// States [rows, size] into [rows, pitch], zeros where none are given.
fn copy_states(
    at: &mut Lowering,
    element: ElementType,
    given: Option<Operand>,
    to: Operand,
    [rows, size, pitch]: [usize; 3],
    wide: bool,
) -> Result<()> {
    let absent = at.opt_input(usize::MAX);
    at.dispatch(kernel::initial_state(element.name())?)
        .read("x", given.unwrap_or(absent))
        .write("y", to)
        .uint("count", rows * pitch)
        .uint("size", size)
        .uint("pitch", pitch)
        .spec("GIVEN", given.is_some().into())
        .spec("WIDE", wide.into())
        .threads(rows * pitch)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caps(subgroup_size: u32) -> Caps {
        Caps {
            subgroup_size,
            max_groups: [65535; 3],
            shared_bytes: 48 << 10,
            max_invocations: 1024,
            capabilities: Vec::new(),
            coop: Vec::new(),
            software: false,
        }
    }

    #[test]
    fn small_weights_are_looped_over_and_large_ones_shared_by_all_workgroups() {
        let (f32, f16) = (ElementType::F32, ElementType::F16);
        let steps = |items, units, stages| Recurrence::Steps(Tile { items, units, stages });
        let gru = Cell::Gru { after: true };
        for (cell, looped, element) in [(Cell::Lstm, 128, f32), (Cell::Lstm, 181, f16), (gru, 147, f32)] {
            assert_eq!(choose(cell, looped, 1, element, &caps(32)), Recurrence::Loop);
            assert_eq!(choose(cell, looped + 1, 1, element, &caps(32)), steps(1, 4, 4));
        }
        let rnn = Cell::Rnn(RnnActivation::Tanh);
        assert_eq!(choose(rnn, MOST_LOOPED, 64, f16, &caps(32)), Recurrence::Loop);
        assert_eq!(choose(rnn, MOST_LOOPED + 1, 64, f16, &caps(32)), steps(8, 4, 1));
        assert_eq!(choose(Cell::Lstm, 512, 3, f32, &caps(8)), steps(4, 16, 2));
        assert_eq!(choose(Cell::Lstm, 512, 5, f32, &caps(4)), steps(4, 32, 2));
        assert_eq!(choose(Cell::Lstm, 512, 1, f32, &Caps { software: true, ..caps(8) }), steps(1, 16, 2));
    }
}
