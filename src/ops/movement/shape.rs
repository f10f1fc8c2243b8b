//! Reshape and StopGradient: no data moved.

use super::rearrange::{Rearrange, rearrange};
use super::strided::StridedCopy;
use super::types::EVERY;
use crate::ops::{Attribute, Case};
use crate::tensor::{ElementType, TensorType, dims_text, list_text};
use crate::{Result, attributes, bail, ensure, error};

attributes! {
    /// The same elements under other dims. 0 copies the dimension, one -1 takes what is left.
    pub struct Reshape { dims: Vec<i64> }
}

attributes! {
    /// The identity.
    pub struct StopGradient {}
}

crate::entries!(Reshape: reshape_cases, StopGradient: || vec![Case::new("StopGradient", &[]).input(ElementType::F32, &[3, 5])]);
rearrange!(Reshape, StopGradient);

fn whole(ty: &TensorType) -> StridedCopy {
    StridedCopy { axes: Vec::new(), run: ty.bytes(), from_start: 0, to_start: 0 }
}

impl Rearrange for StopGradient {
    const BLOCKS: bool = true;

    fn dims(&self, x: &TensorType) -> Result<Vec<usize>> {
        Ok(x.dims.clone())
    }

    fn copy(&self, x: &TensorType, _y: &TensorType) -> StridedCopy {
        whole(x)
    }
}

impl Rearrange for Reshape {
    const BLOCKS: bool = true;

    fn dims(&self, x: &TensorType) -> Result<Vec<usize>> {
        let mut open = None;
        let mut dims = Vec::with_capacity(self.dims.len());
        for (i, &d) in self.dims.iter().enumerate() {
            dims.push(match d {
                0 => *x.dims.get(i).ok_or_else(|| error!(InvalidGraph, "dims[{i}] = 0 copies a dimension that {x} lacks"))?,
                -1 if open.is_none() => {
                    open = Some(i);
                    1
                }
                -1 => bail!(InvalidGraph, "dims {} has more than one -1", list_text(&self.dims)),
                d => usize::try_from(d).map_err(|_| error!(InvalidGraph, "dims[{i}] = {d} is negative"))?,
            });
        }
        let known = dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d));
        let Some(known) = known else {
            bail!(InvalidGraph, "{x} has {} elements, dims {} need more than 2^64", x.elements(), list_text(&self.dims))
        };
        if let Some(i) = open {
            ensure!(
                known > 0,
                InvalidGraph,
                "the -1 in dims {} has no single meaning beside a dimension of 0",
                list_text(&self.dims)
            );
            dims[i] = x.elements() / known;
        }
        let count: usize = dims.iter().product();
        ensure!(
            count == x.elements(),
            InvalidGraph,
            "{x} has {} elements, dims {} need {count}",
            x.elements(),
            list_text(&self.dims)
        );
        let block = x.element.block_elements();
        ensure!(
            block == 1 || dims.last().is_some_and(|d| d % block == 0),
            InvalidGraph,
            "rows of {} split blocks of {block}",
            dims_text(&dims)
        );
        Ok(dims)
    }

    fn copy(&self, x: &TensorType, _y: &TensorType) -> StridedCopy {
        whole(x)
    }
}

fn reshape_cases() -> Vec<Case> {
    let case = |dims: &[i64], element, from: &[usize]| {
        Case::new("Reshape", &[("dims", Attribute::Ints(dims.to_vec()))]).input(element, from)
    };
    let mut out: Vec<Case> = EVERY.iter().map(|&e| case(&[4, -1], e, &[2, 6])).collect();
    out.push(case(&[0, -1], ElementType::F32, &[5, 2, 3]));
    out.push(case(&[3, -1], ElementType::F32, &[0, 3]));
    out.push(case(&[], ElementType::I64, &[1, 1]));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dims_are_checked() {
        let dims = |dims: &[i64], x: &[usize]| Reshape { dims: dims.to_vec() }.dims(&TensorType::new(ElementType::F32, x));
        assert_eq!(dims(&[0, -1], &[5, 2, 3]).expect("fits"), [5, 6]);
        assert_eq!(dims(&[3, -1], &[0, 3]).expect("fits"), [3, 0]);
        for (bad, x) in
            [(&[-1, -1][..], &[4][..]), (&[2, 0], &[4]), (&[3], &[4]), (&[-2, 2], &[4]), (&[-1, 3], &[4]), (&[0, -1], &[0, 3])]
        {
            assert!(dims(bad, x).is_err(), "{bad:?}");
        }
    }
}
