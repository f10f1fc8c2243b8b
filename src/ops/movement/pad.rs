//! Pad: elements added around, or cropped.

use super::strided::{common_unit, divider, halves, unit_name};
use super::types::{EVERY, WIDTHS};
use crate::kernels::kernel;
use crate::ops::{Attribute, Attributes, Case, Inputs, Lowering, Operator, Reference};
use crate::tensor::{ElementType, Tensor, TensorType, row_strides};
use crate::{Result, attribute_enum, attributes, ensure, error};

attribute_enum! {
    /// What lies around the elements.
    pub enum PadMode {
        Constant = "Constant",
        /// The elements mirrored at the first and the last one, which are not repeated.
        Reflect = "Reflect",
        /// The first and the last element.
        Edge = "Edge",
        /// The elements again.
        Wrap = "Wrap",
    }
}

attributes! {
    /// `pads` elements before each axis, then after each axis; negative ones crop.
    pub struct Pad { pads: Vec<i64>, mode: PadMode = PadMode::Constant, value: f64 = 0.0 }
}

crate::entries!(Pad: cases);

/// One axis: y's size, where what is left of x starts in y, how much of it there is, where that starts in x, its stride in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Axis {
    size: usize,
    first: usize,
    extent: usize,
    start: usize,
    stride: usize,
}

impl Axis {
    fn is_plain(&self) -> bool {
        self.first == 0 && self.start == 0 && self.extent == self.size
    }

    /// The coordinate in x of coordinate `c` of y, if it lies in x.
    fn source(&self, mode: PadMode, c: usize) -> Option<usize> {
        let (c, extent) = (c as i64 - self.first as i64, self.extent as i64);
        let inside = match mode {
            PadMode::Constant if (0..extent).contains(&c) => c,
            PadMode::Constant => return None,
            PadMode::Reflect if c < 0 => -c,
            PadMode::Reflect if c >= extent => 2 * (extent - 1) - c,
            PadMode::Reflect => c,
            PadMode::Edge => c.clamp(0, extent - 1),
            PadMode::Wrap => c.rem_euclid(extent),
        };
        Some(inside as usize + self.start)
    }
}

impl Pad {
    fn axes(&self, x: &TensorType) -> Result<Vec<Axis>> {
        let rank = x.rank();
        ensure!(self.pads.len() == 2 * rank, InvalidGraph, "{} pads for {x}, which needs {}", self.pads.len(), 2 * rank);
        let strides = row_strides(&x.dims);
        (0..rank)
            .map(|i| {
                let (before, after, extent) = (self.pads[i], self.pads[rank + i], x.dims[i]);
                let large = || error!(InvalidGraph, "pads {before} and {after} of axis {i} are too large");
                let sum = (extent as i64).checked_add(before).and_then(|s| s.checked_add(after)).ok_or_else(large)?;
                ensure!(
                    sum.max(before).max(after) < 1 << 48 && sum >= 0,
                    InvalidGraph,
                    "axis {i} of {x} with pads {before} and {after}"
                );
                let start = before.min(0).unsigned_abs() as usize;
                let end = extent.saturating_sub(after.min(0).unsigned_abs() as usize);
                let left = end.saturating_sub(start);
                let most = match self.mode {
                    PadMode::Reflect => left as i64 - 1,
                    PadMode::Edge | PadMode::Wrap if left == 0 => 0,
                    _ => i64::MAX,
                };
                let fits = before.max(after) <= most.max(0) && (left > 0 || self.mode == PadMode::Constant || sum == 0);
                ensure!(fits, InvalidGraph, "{} pads {before} and {after} of axis {i} pass its {left} elements", self.mode.text());
                let stride = strides[i] * x.element.block_bytes();
                Ok(Axis { size: sum as usize, first: before.max(0) as usize, extent: left, start, stride })
            })
            .collect()
    }

    /// The value as an element, repeated to 16 bytes.
    fn pattern(&self, element: ElementType) -> [u32; 4] {
        let one = match element {
            ElementType::C64 => Tensor::from_f64(TensorType::new(ElementType::F32, [2]), &[self.value, 0.0]),
            _ => Tensor::from_f64(TensorType::new(element, [1]), &[self.value]),
        };
        let bytes: Vec<u8> = one.bytes().iter().copied().cycle().take(16).collect();
        std::array::from_fn(|i| u32::from_le_bytes([bytes[4 * i], bytes[4 * i + 1], bytes[4 * i + 2], bytes[4 * i + 3]]))
    }

    /// The axes with neighbours merged, and the innermost in bytes.
    fn merged(&self, axes: &[Axis], bytes: usize) -> Vec<Axis> {
        let mut out: Vec<Axis> = Vec::new();
        let run = Axis { size: bytes, first: 0, extent: bytes, start: 0, stride: 1 };
        for &inner in axes.iter().chain([&run]) {
            match out.last_mut() {
                Some(outer) if inner.is_plain() && (outer.is_plain() || matches!(self.mode, PadMode::Constant | PadMode::Wrap)) => {
                    let n = inner.size;
                    *outer = Axis {
                        size: outer.size * n,
                        first: outer.first * n,
                        extent: outer.extent * n,
                        start: outer.start * n,
                        stride: inner.stride,
                    };
                }
                _ => out.push(inner),
            }
        }
        out
    }
}

impl Operator for Pad {
    fn name(&self) -> &'static str {
        "Pad"
    }

    fn attributes(&self) -> Attributes {
        self.to_attributes()
    }

    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        ins.expect(1..=1)?;
        let x = ins.get(0)?;
        ensure!(!x.element.is_block(), InvalidGraph, "does not take the packed type {}", x.element);
        let dims: Vec<usize> = self.axes(x)?.iter().map(|a| a.size).collect();
        Ok(vec![x.with_dims(dims)])
    }

    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        let x = at.input(0)?;
        let axes = self.axes(x.ty())?;
        let mut y = Tensor::zeros(at.output_type(0).clone());
        let bytes = x.element().block_bytes();
        let pattern = self.pattern(x.element());
        let value: &[u8] = &bytemuck::bytes_of(&pattern)[..bytes];
        let steps = row_strides(at.output_type(0).dims.as_slice());
        for (i, out) in y.bytes_mut().chunks_exact_mut(bytes).enumerate() {
            let from = axes
                .iter()
                .zip(&steps)
                .try_fold(0, |sum, (axis, step)| Some(sum + axis.source(self.mode, i / step % axis.size)? * axis.stride));
            out.copy_from_slice(from.map_or(value, |from| &x.bytes()[from..][..bytes]));
        }
        Ok(vec![y])
    }

    fn lower(&self, at: &mut Lowering) -> Result<()> {
        let ty = at.input_type(0);
        let mut axes = self.merged(&self.axes(ty)?, ty.element.block_bytes());
        let start: usize = axes.iter().filter(|a| a.extent > 0).map(|a| a.start * a.stride).sum();
        let strides = axes[..axes.len() - 1].iter().map(|a| a.stride);
        let last = axes[axes.len() - 1];
        let unit = common_unit(strides.chain([last.size, last.first, last.extent, start]));
        let inner = axes.len() - 1;
        axes[inner] = Axis { size: last.size / unit, first: last.first / unit, extent: last.extent / unit, start: 0, stride: unit };
        let mut words = Vec::with_capacity(axes.len() * 8);
        for axis in axes.iter().rev() {
            let [multiplier, shift] = divider(axis.size)?;
            let [low, high] = halves(axis.stride as u64);
            words.extend([axis.size as u32, multiplier, shift, axis.first as u32, axis.extent.min(1 << 31) as u32, low, high, 0]);
        }
        let count: usize = axes.iter().map(|a| a.size).product();
        let extents_fit = axes.iter().all(|a| a.extent < 1 << 30);
        ensure!(count < 1 << 31 && extents_fit, Unsupported, "{count} units to pad are above the limit");
        let table = at.constants(&words);
        let ([x_low, x_high], value) = (halves(start as u64), self.pattern(ty.element));
        let (x, y) = (at.input(0), at.output(0));
        at.dispatch(kernel::pad(&unit_name(unit))?)
            .read("x", x)
            .write("y", y)
            .read("axes", table)
            .uint("x_low", x_low as usize)
            .uint("x_high", x_high as usize)
            .uint("value0", value[0] as usize)
            .uint("value1", value[1] as usize)
            .uint("value2", value[2] as usize)
            .uint("value3", value[3] as usize)
            .uint("count", count)
            .uint("axis_count", axes.len())
            .spec("MODE", self.mode as u32)
            .threads(count)
    }
}

fn cases() -> Vec<Case> {
    let case = |pads: &[i64], mode: PadMode, value: f64, element, dims: &[usize]| {
        let mode = Attribute::Text(mode.text().into());
        let attributes = [("pads", Attribute::Ints(pads.to_vec())), ("mode", mode), ("value", Attribute::Float(value))];
        Case::new("Pad", &attributes).input(element, dims)
    };
    let mut out: Vec<Case> = EVERY.iter().map(|&e| case(&[1, 0, 2, 3], PadMode::Constant, 3.0, e, &[3, 4])).collect();
    for &element in WIDTHS {
        for &mode in PadMode::ALL {
            out.push(case(&[2, 3, 1, 4], mode, -1.5, element, &[5, 7]));
            out.push(case(&[-1, 2, 0, -2], mode, 9.0, element, &[4, 6]));
            out.push(case(&[0, 1, 2, 0, 1, 0, 1, 0, 0, 3], mode, 0.0, element, &[1, 2, 3, 1, 4]));
            out.push(case(&[0, 1, 1, 0, 0, 1, 1, 0], mode, 0.0, element, &[2, 5, 7, 16]));
        }
        out.push(case(&[4, 7], PadMode::Wrap, 0.0, element, &[3]));
        out.push(case(&[0, 0, 32, 16], PadMode::Constant, 7.0, element, &[33, 64]));
    }
    out.push(case(&[2, 0, 1, 0], PadMode::Constant, 1.0, ElementType::F32, &[0, 3]));
    out.push(case(&[-3, 5], PadMode::Constant, 1.0, ElementType::F32, &[2]));
    out.push(case(&[0, 1, 1, 0], PadMode::Constant, 1.0, ElementType::F32, &[65537, 2]));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn padded(pads: &[i64], mode: PadMode) -> Result<Vec<f64>> {
        let op = Pad { pads: pads.to_vec(), mode, value: 9.0 };
        let x = Tensor::from_slice(&[4], &[1f32, 2.0, 3.0, 4.0]);
        let outputs = op.infer(&Inputs(&[Some(x.ty())]))?;
        let at = Reference { inputs: Inputs(&[Some(&x)]), outputs: &outputs, run: Default::default(), unchecked_indices: false };
        Ok(op.reference(&at)?[0].to_f64())
    }

    #[test]
    fn modes_follow_numpy() {
        use PadMode::*;
        assert_eq!(padded(&[-1, 2], Constant).expect("fits"), [2.0, 3.0, 4.0, 9.0, 9.0]);
        assert_eq!(padded(&[3, 1], Reflect).expect("fits"), [4.0, 3.0, 2.0, 1.0, 2.0, 3.0, 4.0, 3.0]);
        assert_eq!(padded(&[1, 2], Edge).expect("fits"), [1.0, 1.0, 2.0, 3.0, 4.0, 4.0, 4.0]);
        assert_eq!(padded(&[5, -2], Wrap).expect("fits"), [2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0]);
        assert!(padded(&[4, 0], Reflect).is_err());
        assert!(padded(&[-4, 1], Edge).is_err());
        assert!(padded(&[-5, 0], Constant).is_err());
        assert!(padded(&[i64::MAX, i64::MAX], Constant).is_err());
        assert!(padded(&[1], Constant).is_err());
    }
}
