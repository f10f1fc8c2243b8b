//! Tuples of indices that point into the leading axes of a tensor: Gather, GatherND, ScatterND, ScatterAdd.

use crate::ops::{Reference, checked_index};
use crate::tensor::{ElementType, Tensor, TensorType};
use crate::{Result, ensure};

/// Where the tuples of indices of an operator point to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tuples {
    /// Tuples, all batches counted.
    pub count: usize,
    pub per_batch: usize,
    /// True if every batch reads the same `per_batch` tuples of the index tensor.
    pub shared: bool,
    /// Bytes from one batch to the next in the tensor pointed into.
    pub batch_bytes: usize,
    /// Extent and stride in bytes for each index of a tuple.
    pub axes: Vec<(usize, usize)>,
    /// Bytes that a tuple points to.
    pub row_bytes: usize,
}

impl Tuples {
    /// Where in bytes each tuple points to.
    pub fn offsets(&self, at: &Reference, index: &Tensor) -> Result<Vec<usize>> {
        let indices = index.to_i128();
        let k = self.axes.len();
        (0..self.count)
            .map(|r| {
                let batch = r / self.per_batch;
                let first = if self.shared { r % self.per_batch } else { r } * k;
                let mut offset = batch * self.batch_bytes;
                for (i, &(extent, stride)) in self.axes.iter().enumerate() {
                    offset += checked_index(at, indices[first + i], extent, true, first + i)? * stride;
                }
                Ok(offset)
            })
            .collect()
    }
}

/// Checks the type of an index tensor.
pub fn check_index_type(ty: &TensorType) -> Result<()> {
    let fits = matches!(ty.element, ElementType::I32 | ElementType::I64);
    ensure!(fits, InvalidGraph, "indices are i32 or i64, not {}", ty.element);
    Ok(())
}

/// Lanes of 256 that share a row of so many units.
pub fn lanes(units: usize) -> usize {
    units.clamp(1, 256).next_power_of_two()
}
