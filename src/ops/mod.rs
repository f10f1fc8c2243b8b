//! The operators. One operator (or one close family), one file: attributes, shape rule, CPU reference, Vulkan lowering, cases.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use crate::graph::Graph;
use crate::tensor::{Tensor, TensorType};
use crate::{Result, bail, error};

mod attributes;
mod case;
pub mod compare;
mod copy;
mod lines;
mod lowering;
mod reference;
mod table;

pub mod contraction;
pub mod control;
pub mod elementwise;
pub mod movement;
pub mod norm;
pub mod quant;
pub mod recurrent;
pub mod reduce;
pub mod signal;
pub mod transformer;
pub mod vision;

pub use attributes::{Attribute, AttributeField, AttributeReader, Attributes};
pub use case::{Case, Fill, Random};
pub use copy::{COPY_BYTES_PER_GROUP, Copy, copy_kernel};
pub use lowering::{Access, Dispatch, DispatchBuilder, Lowering, Operand, Place, Region, Sink};
pub use reference::{Reference, RunNumbers, checked_index, out_of_range};
pub use table::{Entry, build, entry, share, table};

/// The inputs of a node, some of which may be absent: types for a shape rule, tensors for a reference.
pub struct Inputs<'a, T>(pub &'a [Option<&'a T>]);

impl<'a, T> Inputs<'a, T> {
    /// Input `i`, or an error that it is missing.
    pub fn get(&self, i: usize) -> Result<&'a T> {
        self.opt(i).ok_or_else(|| error!(InvalidGraph, "input {i} is missing"))
    }

    /// Input `i`, if it is there.
    pub fn opt(&self, i: usize) -> Option<&'a T> {
        self.0.get(i).copied().flatten()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Checks how many inputs there are, absent ones counted.
    pub fn expect(&self, counts: std::ops::RangeInclusive<usize>) -> Result<()> {
        if counts.contains(&self.len()) {
            return Ok(());
        }
        let (low, high) = (counts.start(), counts.end());
        if low == high {
            bail!(InvalidGraph, "takes {low} inputs, got {}", self.len())
        }
        bail!(InvalidGraph, "takes {low} to {high} inputs, got {}", self.len())
    }
}

/// What every operator is.
pub trait Operator: Debug + Send + Sync + Any {
    /// The name in the operator contract.
    fn name(&self) -> &'static str;

    /// The attributes in the operator contract.
    fn attributes(&self) -> Attributes;

    /// Types of the outputs, or what is wrong with the inputs.
    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>>;

    /// Outputs for so many inputs; it must not depend on their types.
    fn output_count(&self, _inputs: usize) -> usize {
        1
    }

    /// The outputs, by plain loops in f64 (integers exactly).
    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>>;

    /// The kernels that compute the outputs.
    fn lower(&self, at: &mut Lowering) -> Result<()>;

    /// For each output, the input of which it is a view, and where it starts there in bytes: no kernel runs for it.
    fn views(&self, _ins: &Inputs<TensorType>, _outs: &[TensorType]) -> Vec<Option<(usize, usize)>> {
        Vec::new()
    }

    /// Pairs (output, input): the output may be written over the input if nobody reads the input afterwards.
    fn in_place(&self, _ins: &Inputs<TensorType>) -> Vec<(usize, usize)> {
        Vec::new()
    }

    /// Pairs (output, input): the output must be written over the input's storage. A graph that still reads the old value gets
    /// a copy of it.
    fn updates(&self) -> Vec<(usize, usize)> {
        Vec::new()
    }

    /// True if the same inputs give the same outputs, so that constants can be folded.
    fn is_pure(&self) -> bool {
        true
    }

    /// Inputs that hold checked indices: zeros take their place where the result is not wanted (a branch that is not taken).
    fn checked_inputs(&self) -> &'static [usize] {
        &[]
    }

    /// The operator for a step of a loop, where it is not the same in every step: random numbers differ.
    fn at_step(&self, _step: u32) -> Option<OperatorRef> {
        None
    }

    /// The graphs that this operator runs, by the names of their attributes.
    fn bodies(&self) -> Vec<(&'static str, &Arc<Graph>)> {
        Vec::new()
    }

    /// The same operator with other graphs in place of its own; none if it has none.
    fn with_bodies(&self, _bodies: Vec<Arc<Graph>>) -> Option<OperatorRef> {
        None
    }

    /// Inputs that come after what the bodies capture.
    fn inputs_after_captures(&self) -> usize {
        0
    }

    /// Terms summed for one result, for the tolerance of a comparison: K of a contraction, the extent of a reduction.
    fn terms(&self, _ins: &Inputs<TensorType>) -> usize {
        1
    }
}

impl dyn Operator {
    /// This operator as a `T`, if it is one.
    pub fn downcast<T: Operator>(&self) -> Option<&T> {
        (self as &dyn Any).downcast_ref()
    }
}

pub type OperatorRef = Arc<dyn Operator>;
