//! Copies between two strided layouts: what most operators that move data come down to.

use crate::kernels::kernel;
use crate::ops::{Lowering, Operand};
use crate::tensor::{TensorType, row_strides};
use crate::{Result, error};

/// A view starts at a multiple of this many bytes in its input, so that every value can be read 16 bytes a lane.
pub const VIEW_ALIGNMENT: usize = 16;

/// Units that one dispatch moves at most: the kernel's division and its offsets are of 31 bits.
const PART: usize = 1 << 31;

/// Units that a workgroup of copy.comp moves.
const GROUP_UNITS: usize = 1024;

/// One axis: its size, and its strides in bytes in what is read and in what is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    pub size: usize,
    pub from: i64,
    pub to: i64,
}

/// y[to_start + sum c.to] = x[from_start + sum c.from] for all coordinates c of `axes` (the innermost last) and every byte of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StridedCopy {
    pub axes: Vec<Axis>,
    /// Bytes that lie beside each other on both sides.
    pub run: usize,
    pub from_start: usize,
    pub to_start: usize,
}

impl StridedCopy {
    /// Axes with strides in elements of `element` bytes; neighbours that can be walked as one axis are merged.
    pub fn new(element: usize, axes: impl IntoIterator<Item = (usize, i64, i64)>) -> Self {
        let scale = element as i64;
        let mut copy = Self { axes: Vec::new(), run: element, from_start: 0, to_start: 0 };
        for (size, from, to) in axes.into_iter().filter(|a| a.0 != 1) {
            let axis = Axis { size, from: from * scale, to: to * scale };
            match copy.axes.last_mut() {
                Some(outer) if outer.from == axis.from * size as i64 && outer.to == axis.to * size as i64 => {
                    *outer = Axis { size: outer.size * size, ..axis };
                }
                _ => copy.axes.push(axis),
            }
        }
        while let Some(&inner) = copy.axes.last()
            && inner.from == copy.run as i64
            && inner.to == copy.run as i64
        {
            copy.run *= inner.size;
            copy.axes.pop();
        }
        copy
    }

    /// A dense result of these dims, read with these strides in elements.
    pub fn to_dense(element: usize, dims: &[usize], from: &[i64]) -> Self {
        let to = row_strides(dims);
        Self::new(element, dims.iter().zip(from).zip(to).map(|((&size, &from), to)| (size, from, to as i64)))
    }

    /// Where it starts, in bytes.
    pub fn starting(mut self, from: usize, to: usize) -> Self {
        (self.from_start, self.to_start) = (from, to);
        self
    }

    pub fn is_empty(&self) -> bool {
        self.run == 0 || self.axes.iter().any(|a| a.size == 0)
    }

    /// True if what is read is one range of bytes, in order.
    pub fn is_contiguous(&self) -> bool {
        self.axes.is_empty()
    }

    /// The widest unit of 1 to 16 bytes that divides the run, the strides and the starts.
    pub fn unit(&self) -> usize {
        let bits = self
            .axes
            .iter()
            .fold(16 | self.run | self.from_start | self.to_start, |bits, a| bits | a.from as usize | a.to as usize);
        1 << bits.trailing_zeros()
    }

    /// Does it.
    pub fn apply(&self, x: &[u8], y: &mut [u8]) {
        if self.is_empty() {
            return;
        }
        let (mut from, mut to) = (self.from_start as i64, self.to_start as i64);
        let mut at = vec![0; self.axes.len()];
        loop {
            y[to as usize..][..self.run].copy_from_slice(&x[from as usize..][..self.run]);
            let mut moved = false;
            for (c, axis) in at.iter_mut().zip(&self.axes).rev() {
                *c += 1;
                (from, to) = (from + axis.from, to + axis.to);
                moved = *c < axis.size;
                if moved {
                    break;
                }
                (from, to) = (from - axis.from * axis.size as i64, to - axis.to * axis.size as i64);
                *c = 0;
            }
            if !moved {
                return;
            }
        }
    }

    /// Cuts it into copies of fewer than `limit` units.
    fn parts(self, unit: usize, limit: usize, out: &mut Vec<StridedCopy>) {
        let inner = |axes: &[Axis]| axes.iter().map(|a| a.size).product::<usize>();
        let units = self.run / unit * inner(&self.axes);
        if units < limit {
            out.push(self);
            return;
        }
        let (outer, from_step, to_step) = match self.axes.first() {
            Some(a) => (a.size, a.from, a.to),
            None => (self.run / unit, unit as i64, unit as i64),
        };
        let below = units / outer;
        let step = ((limit - 1) / below).max(1);
        for first in (0..outer).step_by(step) {
            let count = step.min(outer - first);
            let mut part = self.clone();
            part.from_start = (self.from_start as i64 + first as i64 * from_step) as usize;
            part.to_start = (self.to_start as i64 + first as i64 * to_step) as usize;
            match part.axes.first_mut() {
                Some(_) if count == 1 => drop(part.axes.remove(0)),
                Some(axis) => axis.size = count,
                None => part.run = count * unit,
            }
            part.parts(unit, limit, out);
        }
    }

    /// The axes in units, the run as the last one (unless it is a single unit).
    fn unit_axes(&self, unit: usize) -> Vec<Axis> {
        let mut axes = self.axes.clone();
        if self.run > unit || axes.is_empty() {
            axes.push(Axis { size: self.run / unit, from: unit as i64, to: unit as i64 });
        }
        axes
    }

    /// True if an offset may pass what 31 bits of units hold, or may be negative: drivers differ in how they read a 32-bit index
    /// with its top bit set.
    fn is_wide(&self, unit: usize) -> bool {
        if self.axes.iter().any(|a| a.from < 0 || a.to < 0) {
            return true;
        }
        let span = |stride: fn(&Axis) -> i64| -> usize {
            self.axes.iter().map(|a| stride(a).unsigned_abs() as usize * (a.size - 1)).sum::<usize>() + self.run
        };
        span(|a| a.from).max(span(|a| a.to)) / unit >= PART
    }

    /// Launches it.
    pub fn lower(self, at: &mut Lowering, x: Operand, y: Operand) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        // Values start at multiples of 16 bytes; parts of them may not.
        let unit = common_unit([self.unit(), x.offset, y.offset]);
        let mut parts = Vec::new();
        self.parts(unit, PART, &mut parts);
        parts.into_iter().try_for_each(|part| part.dispatch(unit, at, x, y))
    }

    fn dispatch(&self, unit: usize, at: &mut Lowering, x: Operand, y: Operand) -> Result<()> {
        let axes = self.unit_axes(unit);
        let wide = self.is_wide(unit);
        let mut words = Vec::with_capacity(axes.len() * 8);
        for axis in axes.iter().rev() {
            let [multiplier, shift] = divider(axis.size)?;
            let stride = |bytes: i64| halves(if wide { bytes } else { bytes / unit as i64 } as u64);
            words.extend([axis.size as u32, multiplier, shift, 0]);
            words.extend(stride(axis.from).into_iter().chain(stride(axis.to)));
        }
        let count: usize = axes.iter().map(|a| a.size).product();
        let table = at.constants(&words);
        let ([x_low, x_high], [y_low, y_high]) = (halves(self.from_start as u64), halves(self.to_start as u64));
        at.dispatch(kernel::copy(&unit_name(unit))?)
            .read("x", x)
            .write("y", y)
            .read("axes", table)
            .uint("x_low", x_low as usize)
            .uint("x_high", x_high as usize)
            .uint("y_low", y_low as usize)
            .uint("y_high", y_high as usize)
            .uint("count", count)
            .uint("axis_count", axes.len())
            // Few axes, the usual case, are unrolled; the rare rest shares one pipeline.
            .spec("AXES", if axes.len() <= 4 { axes.len() as u32 } else { 0 })
            .spec("WIDE", wide.into())
            .groups(count.div_ceil(GROUP_UNITS))
    }
}

/// "b4": the name of a unit of so many bytes among the kernels.
pub fn unit_name(bytes: usize) -> String {
    format!("b{bytes}")
}

/// The widest unit of 1 to 16 bytes that divides all of these.
pub fn common_unit(bytes: impl IntoIterator<Item = usize>) -> usize {
    1 << bytes.into_iter().fold(16, |bits, b| bits | b).trailing_zeros()
}

/// Low and high word.
pub fn halves(v: u64) -> [u32; 2] {
    [v as u32, (v >> 32) as u32]
}

/// Multiplier and shift with n / d = (high(n * multiplier) + n) >> shift for n < 2^31 (Granlund and Montgomery, 1994).
pub fn divider(d: usize) -> Result<[u32; 2]> {
    let d = u64::try_from(d).ok().filter(|&d| (1..=1 << 31).contains(&d));
    let d = d.ok_or_else(|| error!(Unsupported, "an axis has more than 2^31 units"))?;
    let shift = d.next_power_of_two().trailing_zeros();
    let multiplier = (((1u64 << shift) - d) << 32) / d + 1;
    Ok([multiplier as u32, shift])
}

/// Dims in which a packed block counts as one element.
pub fn block_dims(ty: &TensorType) -> Vec<usize> {
    let mut dims = ty.dims.clone();
    if let Some(last) = dims.last_mut() {
        *last /= ty.element.block_elements();
    }
    dims
}

/// Strides in elements as signed numbers.
pub fn signed_strides(dims: &[usize]) -> Vec<i64> {
    row_strides(dims).into_iter().map(|s| s as i64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn division_by_multiplication_is_exact() {
        for d in [1usize, 2, 3, 5, 7, 64, 65535, 65536, 65537, 715_827_883, (1 << 31) - 1, 1 << 31] {
            let [multiplier, shift] = divider(d).expect("in range");
            for n in [0u64, 1, d as u64 - 1, d as u64, d as u64 + 1, 2 * d as u64 + 1, 1_000_003, (1 << 31) - 1] {
                let n = n.min((1 << 31) - 1);
                let high = (n * u64::from(multiplier)) >> 32;
                assert_eq!((high + n) >> shift, n / d as u64, "{n} / {d}");
            }
        }
    }

    #[test]
    fn axes_merge_and_units_widen() {
        let dense = StridedCopy::to_dense(4, &[3, 5, 7], &[35, 7, 1]);
        assert!(dense.is_contiguous() && dense.run == 420 && dense.unit() == 4);
        let heads = StridedCopy::to_dense(2, &[2, 8, 1, 16], &[128, 16, 16, 1]);
        assert!(heads.is_contiguous());
        let swapped = StridedCopy::to_dense(2, &[2, 4, 3, 8], &[96, 8, 32, 1]);
        assert_eq!((swapped.axes.len(), swapped.run, swapped.unit()), (3, 16, 16));
        let reversed = StridedCopy::to_dense(4, &[6], &[-1]).starting(20, 0);
        let (x, mut y): (Vec<u8>, _) = ((0..24).collect(), [0; 24]);
        reversed.apply(&x, &mut y);
        assert_eq!(y[..8], [20, 21, 22, 23, 16, 17, 18, 19]);
    }

    #[test]
    fn parts_cover_the_whole() {
        for (copy, bytes) in [
            (StridedCopy::to_dense(4, &[5, 7, 3], &[3, 15, 1]), 420),
            (StridedCopy::to_dense(4, &[7, 9], &[1, 7]), 252),
            (StridedCopy::to_dense(1, &[101], &[1]), 101),
        ] {
            let x: Vec<u8> = (0..bytes).map(|i| i as u8).collect();
            let mut want = vec![0; bytes];
            copy.apply(&x, &mut want);
            for limit in [2, 3, 8, 21, 1000] {
                let (unit, mut parts, mut got) = (copy.unit(), Vec::new(), vec![0; bytes]);
                copy.clone().parts(unit, limit, &mut parts);
                for part in parts {
                    assert!(part.unit_axes(unit).iter().map(|a| a.size).product::<usize>() < limit);
                    part.apply(&x, &mut got);
                }
                assert_eq!(got, want);
            }
        }
    }
}
