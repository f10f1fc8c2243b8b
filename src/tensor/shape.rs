//! Shapes: dense, row-major, rank 0 to 8.

use super::ElementType;
use crate::{Result, bail, ensure, error};

/// The largest rank of a tensor.
pub const MAX_RANK: usize = 8;

/// Element type and dimensions, all known.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TensorType {
    pub element: ElementType,
    pub dims: Vec<usize>,
}

impl TensorType {
    pub fn new(element: ElementType, dims: impl Into<Vec<usize>>) -> Self {
        Self { element, dims: dims.into() }
    }

    /// Checks what every tensor must satisfy: the rank, the block rule, sizes within 63 bits.
    pub fn checked(element: ElementType, dims: &[usize]) -> Result<Self> {
        ensure!(dims.len() <= MAX_RANK, InvalidGraph, "rank {} of {} is above {MAX_RANK}", dims.len(), dims_text(dims));
        let ty = Self::new(element, dims);
        if element.is_block() {
            let Some(&row) = dims.last() else { bail!(InvalidGraph, "a {element} tensor needs at least one dimension") };
            let block = element.block_elements();
            ensure!(
                row % block == 0,
                InvalidGraph,
                "{element} {}: rows of {row} elements are no multiple of the block of {block}",
                dims_text(dims)
            );
        }
        let count =
            dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d)).filter(|n| n.checked_mul(16).is_some_and(|b| b < 1 << 62));
        ensure!(count.is_some(), InvalidGraph, "{element} {} has too many elements", dims_text(dims));
        Ok(ty)
    }

    pub fn rank(&self) -> usize {
        self.dims.len()
    }

    pub fn elements(&self) -> usize {
        element_count(&self.dims)
    }

    /// Bytes in memory, packed blocks counted as they are.
    pub fn bytes(&self) -> usize {
        self.elements() / self.element.block_elements() * self.element.block_bytes()
    }

    /// The same shape with another element type.
    pub fn with_element(&self, element: ElementType) -> Self {
        Self::new(element, self.dims.clone())
    }

    pub fn with_dims(&self, dims: impl Into<Vec<usize>>) -> Self {
        Self::new(self.element, dims)
    }

    /// The last dimension, 1 for a scalar.
    pub fn last(&self) -> usize {
        self.dims.last().copied().unwrap_or(1)
    }
}

impl std::fmt::Display for TensorType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.element, dims_text(&self.dims))
    }
}

/// "[2,3,4]".
pub fn dims_text(dims: &[usize]) -> String {
    list_text(dims)
}

/// "[2,-1]", for messages.
pub fn list_text<T: std::fmt::Display>(list: &[T]) -> String {
    let parts: Vec<String> = list.iter().map(T::to_string).collect();
    format!("[{}]", parts.join(","))
}

pub fn element_count(dims: &[usize]) -> usize {
    dims.iter().product()
}

/// The axis counted from the front; an error if it is not one of `rank` axes.
pub fn normalize_axis(axis: i64, rank: usize) -> Result<usize> {
    let wrapped = if axis < 0 { axis + rank as i64 } else { axis };
    if (0..rank as i64).contains(&wrapped) {
        Ok(wrapped as usize)
    } else {
        bail!(InvalidGraph, "axis {axis} is out of range for rank {rank}")
    }
}

/// Elements before, along and after an axis.
pub fn split_at_axis(dims: &[usize], axis: usize) -> [usize; 3] {
    [element_count(&dims[..axis]), dims[axis], element_count(&dims[axis + 1..])]
}

/// Strides in elements of a dense row-major tensor.
pub fn row_strides(dims: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; dims.len()];
    for i in (0..dims.len().saturating_sub(1)).rev() {
        strides[i] = strides[i + 1] * dims[i + 1];
    }
    strides
}

/// The shape that NumPy gives to operands of these shapes.
pub fn broadcast(shapes: &[&[usize]]) -> Result<Vec<usize>> {
    let rank = shapes.iter().map(|s| s.len()).max().unwrap_or(0);
    let mut out = vec![1; rank];
    for shape in shapes {
        for (o, &d) in out[rank - shape.len()..].iter_mut().zip(*shape) {
            if *o == 1 {
                *o = d;
            } else if d != 1 && d != *o {
                let all: Vec<String> = shapes.iter().map(|s| dims_text(s)).collect();
                return Err(error!(InvalidGraph, "shapes {} do not broadcast", all.join(" and ")));
            }
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broadcasting_follows_numpy() {
        assert_eq!(broadcast(&[&[3, 1, 5], &[4, 1]]).expect("fits"), [3, 4, 5]);
        assert_eq!(broadcast(&[&[0], &[1]]).expect("fits"), [0]);
        assert_eq!(broadcast(&[&[], &[]]).expect("fits"), [0usize; 0]);
        assert!(broadcast(&[&[0], &[3]]).is_err());
    }

    #[test]
    fn block_rows_must_be_whole() {
        assert!(TensorType::checked(ElementType::Q4K, &[2, 300]).is_err());
        assert_eq!(TensorType::checked(ElementType::Q4K, &[2, 512]).expect("whole").bytes(), 2 * 2 * 144);
        assert!(TensorType::checked(ElementType::F32, &[usize::MAX, 2]).is_err());
    }
}
