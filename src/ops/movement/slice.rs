//! Narrow, Slice and Split: parts of a tensor. A part that lies in one piece is a view.

use super::rearrange::{Rearrange, rearrange};
use super::strided::{StridedCopy, VIEW_ALIGNMENT, block_dims, signed_strides};
use super::types::{EVERY, WIDTHS};
use crate::ops::{Attribute, Attributes, Case, Inputs, Lowering, Operator, Reference};
use crate::tensor::{ElementType, Tensor, TensorType, list_text, normalize_axis};
use crate::{Result, attributes, ensure};

attributes! {
    /// Elements start..start+len along `axis`.
    pub struct Narrow { axis: i64, start: usize, len: usize }
}

attributes! {
    /// Elements start, start+step, .. before end along some axes, as ONNX Slice.
    pub struct Slice { starts: Vec<i64>, ends: Vec<i64>, axes: Option<Vec<i64>>, steps: Option<Vec<i64>> }
}

attributes! {
    /// Parts of these sizes along `axis`, one an output.
    pub struct Split { axis: i64, sizes: Vec<i64> }
}

crate::entries!(Narrow: narrow_cases, Slice: slice_cases, Split: split_cases);
rearrange!(Narrow, Slice);

/// The copy of `len` elements from `start` along an axis.
fn part(x: &TensorType, axis: usize, start: usize, len: usize) -> StridedCopy {
    let block = if axis + 1 == x.rank() { x.element.block_elements() } else { 1 };
    let mut dims = block_dims(x);
    let strides = signed_strides(&dims);
    dims[axis] = len / block;
    let bytes = x.element.block_bytes();
    StridedCopy::to_dense(bytes, &dims, &strides).starting(start / block * strides[axis] as usize * bytes, 0)
}

/// Checks a part of a tensor of packed blocks: along the last axis it must consist of whole ones.
fn check_blocks(x: &TensorType, axis: usize, numbers: &[usize]) -> Result<()> {
    let block = if axis + 1 == x.rank() { x.element.block_elements() } else { 1 };
    let odd = numbers.iter().find(|n| !n.is_multiple_of(block));
    ensure!(odd.is_none(), InvalidGraph, "{} along the last axis of {x} splits a block of {block}", odd.unwrap_or(&0));
    Ok(())
}

impl Rearrange for Narrow {
    const BLOCKS: bool = true;

    fn dims(&self, x: &TensorType) -> Result<Vec<usize>> {
        let axis = normalize_axis(self.axis, x.rank())?;
        let (start, len, extent) = (self.start, self.len, x.dims[axis]);
        let fits = start.checked_add(len).is_some_and(|end| end <= extent);
        ensure!(fits, InvalidGraph, "start {start} + len {len} passes the {extent} elements of axis {axis} of {x}");
        check_blocks(x, axis, &[start, len])?;
        let mut dims = x.dims.clone();
        dims[axis] = len;
        Ok(dims)
    }

    fn copy(&self, x: &TensorType, _y: &TensorType) -> StridedCopy {
        let axis = normalize_axis(self.axis, x.rank()).expect("the shape rule checked the axis");
        part(x, axis, self.start, self.len)
    }
}

/// First element, number of elements and step along one axis.
struct Range {
    start: usize,
    count: usize,
    step: i64,
}

impl Slice {
    /// One an axis of x, by the rules of ONNX: negative bounds count from the end, then they are clamped.
    fn ranges(&self, dims: &[usize]) -> Result<Vec<Range>> {
        let n = self.starts.len();
        ensure!(self.ends.len() == n, InvalidGraph, "{n} starts, {} ends", self.ends.len());
        let axes: Vec<i64> = self.axes.clone().unwrap_or_else(|| (0..n as i64).collect());
        ensure!(axes.len() == n, InvalidGraph, "{n} starts, {} axes", axes.len());
        let steps = self.steps.clone().unwrap_or_else(|| vec![1; n]);
        ensure!(steps.len() == n, InvalidGraph, "{n} starts, {} steps", steps.len());
        let mut ranges: Vec<Range> = dims.iter().map(|&d| Range { start: 0, count: d, step: 1 }).collect();
        let mut seen = Vec::new();
        for i in 0..n {
            let axis = normalize_axis(axes[i], dims.len())?;
            ensure!(!seen.contains(&axis), InvalidGraph, "axes {axes} name axis {axis} twice", axes = list_text(&axes));
            ensure!(steps[i] != 0, InvalidGraph, "the step along axis {axis} is 0");
            seen.push(axis);
            ranges[axis] = range(dims[axis] as i128, self.starts[i].into(), self.ends[i].into(), steps[i]);
        }
        Ok(ranges)
    }
}

fn range(extent: i128, start: i128, end: i128, step: i64) -> Range {
    let from_end = |v: i128| if v < 0 { v + extent } else { v };
    let (low, high) = if step > 0 { (0, extent) } else { (-1, extent - 1) };
    let start = from_end(start).clamp(0, high.max(0));
    let end = from_end(end).clamp(low, high.max(low));
    let wide = i128::from(step);
    let count = if extent == 0 { 0 } else { ((end - start + wide - wide.signum()) / wide).max(0) };
    Range { start: if count == 0 { 0 } else { start as usize }, count: count as usize, step }
}

impl Rearrange for Slice {
    fn dims(&self, x: &TensorType) -> Result<Vec<usize>> {
        Ok(self.ranges(&x.dims)?.iter().map(|r| r.count).collect())
    }

    fn copy(&self, x: &TensorType, y: &TensorType) -> StridedCopy {
        let ranges = self.ranges(&x.dims).expect("the shape rule checked the ranges");
        let strides = signed_strides(&x.dims);
        let start: usize = ranges.iter().zip(&strides).map(|(r, &s)| r.start * s as usize).sum();
        // A step that is never taken may be as large as an i64.
        let from: Vec<i64> = ranges.iter().zip(&strides).map(|(r, &s)| if r.count > 1 { r.step * s } else { 0 }).collect();
        let bytes = x.element.block_bytes();
        StridedCopy::to_dense(bytes, &y.dims, &from).starting(start * bytes, 0)
    }
}

impl Split {
    /// The copy of each output.
    fn copies(&self, x: &TensorType) -> Result<Vec<StridedCopy>> {
        let axis = normalize_axis(self.axis, x.rank())?;
        let mut start = 0;
        Ok(self
            .sizes
            .iter()
            .map(|&size| {
                start += size as usize;
                part(x, axis, start - size as usize, size as usize)
            })
            .collect())
    }
}

fn is_view(copy: &StridedCopy) -> bool {
    !copy.is_empty() && copy.is_contiguous() && copy.from_start.is_multiple_of(VIEW_ALIGNMENT)
}

impl Operator for Split {
    fn name(&self) -> &'static str {
        "Split"
    }

    fn attributes(&self) -> Attributes {
        self.to_attributes()
    }

    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        ins.expect(1..=1)?;
        let x = ins.get(0)?;
        let axis = normalize_axis(self.axis, x.rank())?;
        let sizes: Option<Vec<usize>> = self.sizes.iter().map(|&s| usize::try_from(s).ok()).collect();
        let sum = sizes.as_ref().and_then(|s| s.iter().try_fold(0usize, |sum, &v| sum.checked_add(v)));
        ensure!(
            sum == Some(x.dims[axis]) && !self.sizes.is_empty(),
            InvalidGraph,
            "sizes {} do not make the {} elements of axis {axis} of {x}",
            list_text(&self.sizes),
            x.dims[axis]
        );
        let sizes = sizes.expect("their sum was checked");
        check_blocks(x, axis, &sizes)?;
        let sized = |size: usize| {
            let mut dims = x.dims.clone();
            dims[axis] = size;
            x.with_dims(dims)
        };
        Ok(sizes.into_iter().map(sized).collect())
    }

    fn output_count(&self, _inputs: usize) -> usize {
        self.sizes.len()
    }

    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        let x = at.input(0)?;
        let mut out: Vec<Tensor> = at.outputs.iter().map(|ty| Tensor::zeros(ty.clone())).collect();
        for (copy, y) in self.copies(x.ty())?.iter().zip(&mut out) {
            copy.apply(x.bytes(), y.bytes_mut());
        }
        Ok(out)
    }

    fn lower(&self, at: &mut Lowering) -> Result<()> {
        for (o, copy) in self.copies(at.input_type(0))?.into_iter().enumerate() {
            if at.output_used(o) && !is_view(&copy) {
                copy.lower(at, at.input(0), at.output(o))?;
            }
        }
        Ok(())
    }

    fn views(&self, ins: &Inputs<TensorType>, _outs: &[TensorType]) -> Vec<Option<(usize, usize)>> {
        let copies = ins.opt(0).and_then(|x| self.copies(x).ok()).unwrap_or_default();
        copies.iter().map(|copy| is_view(copy).then_some((0, copy.from_start))).collect()
    }
}

fn narrow_cases() -> Vec<Case> {
    let case = |axis: i64, start: i64, len: i64, element: ElementType, dims: &[usize]| {
        let attributes = [("axis", axis), ("start", start), ("len", len)].map(|(name, v)| (name, Attribute::Int(v)));
        Case::new("Narrow", &attributes).input(element, dims)
    };
    let mut out: Vec<Case> = EVERY.iter().map(|&e| case(-1, 5, 13, e, &[3, 29])).collect();
    for &element in WIDTHS {
        out.push(case(0, 1, 3, element, &[7, 5]));
        out.push(case(0, 16, 32, element, &[64, 16]));
        out.push(case(1, 16, 32, element, &[5, 64, 2]));
        out.push(case(-3, 1, 3, element, &[2, 3, 5, 1, 3]));
    }
    out.push(case(1, 2, 0, ElementType::F32, &[4, 5]));
    out.push(case(1, 1, 2, ElementType::F32, &[65537, 3]));
    out
}

fn slice(starts: &[i64], ends: &[i64], axes: &[i64], steps: &[i64]) -> Case {
    let attributes = [("starts", starts), ("ends", ends), ("axes", axes), ("steps", steps)];
    Case::new("Slice", &attributes.map(|(name, v)| (name, Attribute::Ints(v.to_vec()))))
}

fn slice_cases() -> Vec<Case> {
    let mut out: Vec<Case> = EVERY.iter().map(|&e| slice(&[7], &[1], &[0], &[-3]).input(e, &[9])).collect();
    for &element in WIDTHS {
        out.push(slice(&[1, 4], &[3, 0], &[1, 4], &[1, -1]).input(element, &[2, 3, 4, 2, 5]));
        out.push(slice(&[-1], &[i64::MIN], &[0], &[-1]).input(element, &[257, 3]));
        out.push(slice(&[2], &[1025], &[-1], &[1]).input(element, &[7, 1031]));
        out.push(slice(&[16], &[i64::MAX], &[-1], &[1]).input(element, &[7, 1024]));
    }
    out.push(slice(&[3], &[2], &[0], &[1]).input(ElementType::F32, &[5, 3]));
    out.push(slice(&[1], &[3], &[1], &[i64::MAX]).input(ElementType::F32, &[65537, 3]));
    out
}

fn split_cases() -> Vec<Case> {
    let case = |axis: i64, sizes: &[i64], element: ElementType, dims: &[usize]| {
        Case::new("Split", &[("axis", Attribute::Int(axis)), ("sizes", Attribute::Ints(sizes.to_vec()))]).input(element, dims)
    };
    let mut out: Vec<Case> = EVERY.iter().map(|&e| case(-1, &[1, 4, 2], e, &[3, 7])).collect();
    for &element in WIDTHS {
        out.push(case(0, &[2, 0, 3], element, &[5]));
        out.push(case(0, &[16, 3, 13], element, &[32, 5]));
        out.push(case(1, &[1024, 1024, 512], element, &[3, 2560]));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sliced(n: usize, start: i64, end: i64, step: i64) -> Vec<usize> {
        let r = range(n as i128, start.into(), end.into(), step);
        (0..r.count as i64).map(|i| (r.start as i64 + i * r.step) as usize).collect()
    }

    #[test]
    fn bounds_follow_onnx() {
        assert_eq!(sliced(2, -1, i64::MIN, -1), [1, 0]);
        assert_eq!(sliced(5, i64::MIN, i64::MAX, 1), [0, 1, 2, 3, 4]);
        assert_eq!(sliced(5, 100, -100, -2), [4, 2, 0]);
        assert_eq!(sliced(5, 3, 2, 1), [0usize; 0]);
        assert_eq!(sliced(5, -3, -1, 1), [2, 3]);
        assert_eq!(sliced(5, 1, 5, i64::MAX), [1]);
        assert_eq!(sliced(5, 3, i64::MIN, i64::MIN), [3]);
        assert_eq!(sliced(0, -1, i64::MIN, -1), [0usize; 0]);
        assert_eq!(sliced(0, 0, i64::MAX, 1), [0usize; 0]);
        assert_eq!(sliced(13, 11, 0, -2), [11, 9, 7, 5, 3, 1]);
    }

    #[test]
    fn mistakes_are_named() {
        let x = TensorType::new(ElementType::F32, [4, 5]);
        let slice = |axes: &[i64], steps: &[i64]| {
            let n = axes.len();
            Slice { starts: vec![0; n], ends: vec![3; n], axes: Some(axes.to_vec()), steps: Some(steps.to_vec()) }.dims(&x)
        };
        assert!(slice(&[0, -2], &[1, 1]).is_err());
        assert!(slice(&[2], &[1]).is_err());
        assert!(slice(&[0], &[0]).is_err());
        assert!(slice(&[0], &[1, 1]).is_err());
        assert!(Narrow { axis: 1, start: 3, len: 3 }.dims(&x).is_err());
        assert!(Narrow { axis: 1, start: usize::MAX, len: 3 }.dims(&x).is_err());
        assert!(Split { axis: 1, sizes: vec![3, 3] }.infer(&Inputs(&[Some(&x)])).is_err());
        assert!(Split { axis: 1, sizes: vec![6, -1] }.infer(&Inputs(&[Some(&x)])).is_err());
    }

    #[test]
    fn packed_rows_are_cut_between_blocks() {
        let w = TensorType::new(ElementType::Q4_0, [6, 64]);
        assert_eq!(Narrow { axis: 0, start: 2, len: 3 }.copy(&w, &w).from_start, 2 * 36);
        assert_eq!(Narrow { axis: 1, start: 32, len: 32 }.copy(&w, &w).from_start, 18);
        assert!(Narrow { axis: 1, start: 16, len: 32 }.dims(&w).is_err());
    }
}
