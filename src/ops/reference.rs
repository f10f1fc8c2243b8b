//! What a CPU reference is given.

use super::Inputs;
use crate::tensor::{Tensor, TensorType};
use crate::{Error, Result, error};

/// The numbers of a run that random operators read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunNumbers {
    pub seed: u64,
    /// Runs since compile or since the seed was set.
    pub run: u32,
}

/// The inputs, the types of the outputs, and the numbers of this run.
pub struct Reference<'a> {
    pub inputs: Inputs<'a, Tensor>,
    pub outputs: &'a [TensorType],
    pub run: RunNumbers,
    /// Out-of-range indices are clamped instead of refused.
    pub unchecked_indices: bool,
}

impl<'a> Reference<'a> {
    pub fn input(&self, i: usize) -> Result<&'a Tensor> {
        self.inputs.get(i)
    }

    pub fn opt(&self, i: usize) -> Option<&'a Tensor> {
        self.inputs.opt(i)
    }

    pub fn output_type(&self, i: usize) -> &TensorType {
        &self.outputs[i]
    }
}

/// An index into `extent` elements, negative ones counted from the end where `wrap` says so; the error names position and value.
pub fn checked_index(at: &Reference, index: i128, extent: usize, wrap: bool, position: usize) -> Result<usize> {
    let wrapped = if wrap && index < 0 { index + extent as i128 } else { index };
    if (0..extent as i128).contains(&wrapped) {
        return Ok(wrapped as usize);
    }
    if at.unchecked_indices && extent > 0 {
        return Ok(wrapped.clamp(0, extent as i128 - 1) as usize);
    }
    Err(out_of_range(index, position, extent as i128))
}

/// An index, or a length, that is not one of the `limit` numbers from 0 on.
pub fn out_of_range(value: i128, position: usize, limit: i128) -> Error {
    match limit {
        ..1 => error!(IndexOutOfRange, "index {value} at position {position}: there is nothing to choose from"),
        1 => error!(IndexOutOfRange, "index {value} at position {position} must be 0"),
        _ => error!(IndexOutOfRange, "index {value} at position {position} is outside 0 to {}", limit - 1),
    }
}
