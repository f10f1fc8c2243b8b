//! Transpose: any permutation of the axes.

use super::rearrange::{Rearrange, rearrange};
use super::strided::{Axis, StridedCopy, halves, signed_strides, unit_name};
use super::types::{EVERY, WIDTHS};
use crate::kernels::kernel;
use crate::ops::{Attribute, Case, Lowering, Operand};
use crate::tensor::{ElementType, TensorType, list_text, normalize_axis};
use crate::{Result, attributes, ensure};

attributes! {
    /// y's axis i is x's axis perm[i].
    pub struct Transpose { perm: Vec<i64> }
}

crate::entries!(Transpose: cases);
rearrange!(Transpose);

impl Rearrange for Transpose {
    fn dims(&self, x: &TensorType) -> Result<Vec<usize>> {
        let rank = x.rank();
        ensure!(
            self.perm.len() == rank,
            InvalidGraph,
            "perm {} has {} axes, {x} has {rank}",
            list_text(&self.perm),
            self.perm.len()
        );
        let axes = self.axes(rank)?;
        for (i, axis) in axes.iter().enumerate() {
            ensure!(!axes[..i].contains(axis), InvalidGraph, "perm {} names axis {axis} twice", list_text(&self.perm));
        }
        Ok(axes.iter().map(|&a| x.dims[a]).collect())
    }

    fn copy(&self, x: &TensorType, y: &TensorType) -> StridedCopy {
        let strides = signed_strides(&x.dims);
        let axes = self.axes(x.rank()).expect("the shape rule checked the axes");
        let from: Vec<i64> = axes.iter().map(|&a| strides[a]).collect();
        StridedCopy::to_dense(x.element.block_bytes(), &y.dims, &from)
    }
}

impl Transpose {
    fn axes(&self, rank: usize) -> Result<Vec<usize>> {
        self.perm.iter().map(|&a| normalize_axis(a, rank)).collect()
    }
}

/// Elements along both axes of a tile, below which a tile would stay mostly empty.
const SMALL: usize = 8;

/// Limit of transpose.comp for a stride in units.
const MAX_STRIDE: i64 = 1 << 24;

/// A copy whose inner axis in memory differs between the two sides.
struct Tiles {
    unit: usize,
    /// Dense in x.
    a: Axis,
    /// Dense in y.
    b: Axis,
    batch: Vec<Axis>,
}

impl Tiles {
    fn find(copy: &StridedCopy) -> Option<Self> {
        let unit = copy.run;
        let starts_fit = copy.from_start.is_multiple_of(unit) && copy.to_start.is_multiple_of(unit);
        if !matches!(unit, 1 | 2 | 4 | 8) || !starts_fit {
            return None;
        }
        let mut batch = copy.axes.clone();
        let b = batch.pop().filter(|b| b.to == unit as i64 && b.from > 0)?;
        let a = batch.remove(batch.iter().position(|a| a.from == unit as i64 && a.to > 0)?);
        let fits = |stride: i64| stride / unit as i64 <= MAX_STRIDE && stride % unit as i64 == 0;
        (a.size >= SMALL && b.size >= SMALL && batch.len() <= 6 && fits(a.to) && fits(b.from)).then_some(Self { unit, a, b, batch })
    }

    fn tile(&self) -> usize {
        if self.unit == 8 { 32 } else { 64 }
    }

    /// True if one side can be read or written 16 bytes at a time along an axis of this size.
    fn lanes(&self, size: usize, start: usize, across: i64, batch: fn(&Axis) -> i64) -> bool {
        let bits = self.batch.iter().fold(size * self.unit | start | across as usize, |bits, a| bits | batch(a) as usize);
        bits.is_multiple_of(16)
    }
}

/// Launches a copy: through tiles in shared memory where the two sides run along different axes, straight otherwise.
pub fn lower(copy: StridedCopy, at: &mut Lowering, x: Operand, y: Operand) -> Result<()> {
    match Tiles::find(&copy) {
        Some(tiles) if !copy.is_empty() => lower_tiles(&copy, &tiles, at, x, y),
        _ => copy.lower(at, x, y),
    }
}

fn lower_tiles(copy: &StridedCopy, t: &Tiles, at: &mut Lowering, x: Operand, y: Operand) -> Result<()> {
    let (x, y) = (x.part(copy.from_start, x.bytes - copy.from_start), y.part(copy.to_start, y.bytes - copy.to_start));
    let mut words = Vec::with_capacity(t.batch.len() * 5 + 1);
    for axis in t.batch.iter().rev() {
        words.push(u32::try_from(axis.size).map_err(|_| crate::error!(Unsupported, "an axis has {} elements", axis.size))?);
        words.extend(halves(axis.from as u64).into_iter().chain(halves(axis.to as u64)));
    }
    words.push(0); // never empty
    let batch = at.constants(&words);
    let (a_tiles, b_tiles) = (t.a.size.div_ceil(t.tile()), t.b.size.div_ceil(t.tile()));
    let tiles = a_tiles * b_tiles * t.batch.iter().map(|a| a.size).product::<usize>();
    at.dispatch(kernel::transpose(&unit_name(t.unit))?)
        .read("x", x)
        .write("y", y)
        .read("batch", batch)
        .uint("tiles", tiles)
        .uint("a_tiles", a_tiles)
        .uint("b_tiles", b_tiles)
        .uint("a", t.a.size)
        .uint("b", t.b.size)
        .uint("x_stride", t.b.from as usize / t.unit)
        .uint("y_stride", t.a.to as usize / t.unit)
        .uint("batch_axes", t.batch.len())
        .spec("X_LANES", t.lanes(t.a.size, copy.from_start, t.b.from, |a| a.from).into())
        .spec("Y_LANES", t.lanes(t.b.size, copy.to_start, t.a.to, |a| a.to).into())
        .groups(tiles)
}

fn cases() -> Vec<Case> {
    let case = |perm: &[i64], element: ElementType, dims: &[usize]| {
        Case::new("Transpose", &[("perm", Attribute::Ints(perm.to_vec()))]).input(element, dims)
    };
    let mut out: Vec<Case> = EVERY.iter().map(|&e| case(&[1, 0], e, &[5, 3])).collect();
    for &element in WIDTHS {
        for dims in [[29, 37], [64, 64], [63, 65], [128, 80], [16, 96], [3, 1000], [65537, 2], [0, 5], [1, 7], [66, 1040]] {
            out.push(case(&[1, 0], element, &dims));
        }
        for dims in [[2, 48, 3, 32], [2, 3, 5, 7], [1, 40, 33, 2]] {
            out.push(case(&[0, 2, 1, 3], element, &dims));
            out.push(case(&[2, 3, 0, 1], element, &dims));
            out.push(case(&[0, 3, 2, 1], element, &dims));
        }
        out.push(case(&[4, 2, 0, 3, 1], element, &[7, 3, 2, 5, 11]));
        out.push(case(&[3, 5, 0, 1, 4, 2], element, &[2, 3, 1, 5, 3, 2]));
        out.push(case(&[7, 6, 5, 4, 3, 2, 1, 0], element, &[2, 3, 2, 3, 1, 2, 2, 9]));
        out.push(case(&[1, 7, 0, 3, 2, 5, 4, 6], element, &[9, 1, 2, 2, 2, 2, 2, 11]));
    }
    out.push(case(&[0], ElementType::F32, &[7]));
    out.push(case(&[], ElementType::F32, &[]));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn perms_are_checked() {
        let x = TensorType::new(ElementType::F32, [2, 3, 4]);
        let dims = |perm: &[i64]| Transpose { perm: perm.to_vec() }.dims(&x);
        assert_eq!(dims(&[2, 0, 1]).expect("a permutation"), [4, 2, 3]);
        assert_eq!(dims(&[-1, 0, -2]).expect("a permutation"), [4, 2, 3]);
        for bad in [&[0, 1][..], &[0, 1, 1], &[0, 1, 3], &[0, 2, -1], &[]] {
            assert!(dims(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn elements_land_where_numpy_puts_them() {
        let op = Transpose { perm: vec![2, 0, 1] };
        let (x, y) = (TensorType::new(ElementType::U8, [2, 3, 4]), TensorType::new(ElementType::U8, [4, 2, 3]));
        let data: Vec<u8> = (0..24).collect();
        let mut got = vec![0; 24];
        op.copy(&x, &y).apply(&data, &mut got);
        for (n, &v) in got.iter().enumerate() {
            let (i, j, k) = (n / 6, n / 3 % 2, n % 3);
            assert_eq!(usize::from(v), j * 12 + k * 4 + i);
        }
    }

    #[test]
    fn tiles_are_found() {
        let copy = |perm: &[i64], dims: &[usize]| {
            let (op, x) = (Transpose { perm: perm.to_vec() }, TensorType::new(ElementType::F32, dims));
            let y = x.with_dims(op.dims(&x).expect("a permutation"));
            op.copy(&x, &y)
        };
        let t = Tiles::find(&copy(&[0, 2, 1], &[3, 64, 32])).expect("two axes swap");
        assert_eq!((t.a.size, t.b.size, t.batch.len()), (32, 64, 1));
        assert!(Tiles::find(&copy(&[0, 2, 1, 3], &[2, 8, 16, 64])).is_none());
        assert!(Tiles::find(&copy(&[1, 0], &[64, 3])).is_none());
    }
}
