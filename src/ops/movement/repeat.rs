//! Expand, Tile and Reverse: elements repeated or turned round.

use super::rearrange::{Rearrange, rearrange};
use super::strided::{StridedCopy, signed_strides};
use super::types::{EVERY, WIDTHS};
use crate::ops::{Attribute, Case};
use crate::tensor::{ElementType, TensorType, broadcast, list_text, normalize_axis, row_strides};
use crate::{Result, attributes, ensure, error};

attributes! {
    /// x broadcast with these dims.
    pub struct Expand { dims: Vec<i64> }
}

attributes! {
    /// x repeated so often along each axis.
    pub struct Tile { repeats: Vec<i64> }
}

attributes! {
    /// x turned round along these axes.
    pub struct Reverse { axes: Vec<i64> }
}

crate::entries!(Expand: expand_cases, Tile: tile_cases, Reverse: reverse_cases);
rearrange!(Expand, Tile, Reverse);

fn sizes(name: &str, values: &[i64]) -> Result<Vec<usize>> {
    let size = |&v: &i64| {
        usize::try_from(v).map_err(|_| error!(InvalidGraph, "{name} {values} has a negative number", values = list_text(&values)))
    };
    values.iter().map(size).collect()
}

impl Rearrange for Expand {
    fn dims(&self, x: &TensorType) -> Result<Vec<usize>> {
        broadcast(&[&x.dims, &sizes("dims", &self.dims)?])
    }

    fn copy(&self, x: &TensorType, y: &TensorType) -> StridedCopy {
        let mut from = vec![0; y.rank() - x.rank()];
        from.extend(signed_strides(&x.dims).into_iter().zip(&x.dims).map(|(s, &d)| if d == 1 { 0 } else { s }));
        StridedCopy::to_dense(x.element.block_bytes(), &y.dims, &from)
    }
}

impl Rearrange for Tile {
    fn dims(&self, x: &TensorType) -> Result<Vec<usize>> {
        let repeats = sizes("repeats", &self.repeats)?;
        ensure!(repeats.len() == x.rank(), InvalidGraph, "{} repeats for {x}", repeats.len());
        let times = |(&d, r): (&usize, usize)| {
            d.checked_mul(r).ok_or_else(|| error!(InvalidGraph, "{d} elements repeated {r} times are too many"))
        };
        x.dims.iter().zip(repeats).map(times).collect()
    }

    /// Each axis is walked as (repeat, element).
    fn copy(&self, x: &TensorType, y: &TensorType) -> StridedCopy {
        let (from, to) = (row_strides(&x.dims), row_strides(&y.dims));
        let axes = (0..x.rank()).flat_map(|i| {
            let (d, from, to) = (x.dims[i], from[i] as i64, to[i] as i64);
            [(self.repeats[i] as usize, 0, to * d as i64), (d, from, to)]
        });
        StridedCopy::new(x.element.block_bytes(), axes)
    }
}

impl Rearrange for Reverse {
    fn dims(&self, x: &TensorType) -> Result<Vec<usize>> {
        let axes: Vec<usize> = self.axes.iter().map(|&a| normalize_axis(a, x.rank())).collect::<Result<_>>()?;
        for (i, axis) in axes.iter().enumerate() {
            ensure!(!axes[..i].contains(axis), InvalidGraph, "axes {} name axis {axis} twice", list_text(&self.axes));
        }
        Ok(x.dims.clone())
    }

    fn copy(&self, x: &TensorType, y: &TensorType) -> StridedCopy {
        let mut from = signed_strides(&x.dims);
        let mut start = 0;
        for &axis in &self.axes {
            let axis = normalize_axis(axis, x.rank()).expect("the shape rule checked the axes");
            start += (x.dims[axis].max(1) - 1) * from[axis] as usize;
            from[axis] = -from[axis];
        }
        let bytes = x.element.block_bytes();
        StridedCopy::to_dense(bytes, &y.dims, &from).starting(start * bytes, 0)
    }
}

fn ints(name: &str, attribute: &str, values: &[i64]) -> Case {
    Case::new(name, &[(attribute, Attribute::Ints(values.to_vec()))])
}

fn expand_cases() -> Vec<Case> {
    let case = |dims: &[i64], element, from: &[usize]| ints("Expand", "dims", dims).input(element, from);
    let mut out: Vec<Case> = EVERY.iter().map(|&e| case(&[2, 3, 5], e, &[3, 1])).collect();
    for &element in WIDTHS {
        out.push(case(&[1, 2, 1, 2, 2, 3, 2], element, &[2, 1, 3, 1]));
        out.push(case(&[7, 1, 512], element, &[3, 512]));
        out.push(case(&[1031], element, &[]));
    }
    out.push(case(&[0, 3], ElementType::F32, &[1, 3]));
    out.push(case(&[65537, 3], ElementType::F32, &[1, 3]));
    out
}

fn tile_cases() -> Vec<Case> {
    let case = |repeats: &[i64], element, from: &[usize]| ints("Tile", "repeats", repeats).input(element, from);
    let mut out: Vec<Case> = EVERY.iter().map(|&e| case(&[2, 3], e, &[2, 3])).collect();
    for &element in WIDTHS {
        out.push(case(&[2, 2, 2, 2, 2, 2, 2, 2], element, &[2, 1, 2, 3, 2, 1, 2, 2]));
        out.push(case(&[1, 5], element, &[7, 64]));
    }
    out.push(case(&[0, 2], ElementType::F32, &[2, 3]));
    out.push(case(&[], ElementType::F32, &[]));
    out
}

fn reverse_cases() -> Vec<Case> {
    let case = |axes: &[i64], element, from: &[usize]| ints("Reverse", "axes", axes).input(element, from);
    let mut out: Vec<Case> = EVERY.iter().map(|&e| case(&[1], e, &[2, 13])).collect();
    for &element in WIDTHS {
        out.push(case(&[0, 1, 2, 3, 4], element, &[2, 1, 3, 2, 2]));
        out.push(case(&[0], element, &[257, 64]));
        out.push(case(&[-1, 0], element, &[3, 2, 5]));
    }
    out.push(case(&[0], ElementType::F32, &[0, 3]));
    out.push(case(&[], ElementType::F32, &[2, 3]));
    out.push(case(&[1], ElementType::F32, &[65537, 3]));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied<T: Rearrange>(op: &T, dims: &[usize]) -> Vec<u8> {
        let x = TensorType::new(ElementType::U8, dims);
        let y = x.with_dims(op.dims(&x).expect("fits"));
        let data: Vec<u8> = (0..x.elements() as u8).collect();
        let mut out = vec![0; y.elements()];
        op.copy(&x, &y).apply(&data, &mut out);
        out
    }

    #[test]
    fn elements_land_where_numpy_puts_them() {
        assert_eq!(applied(&Tile { repeats: vec![2, 2] }, &[2, 2]), [0, 1, 0, 1, 2, 3, 2, 3, 0, 1, 0, 1, 2, 3, 2, 3]);
        assert_eq!(applied(&Expand { dims: vec![2, 1, 3] }, &[2, 1]), [0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1]);
        assert_eq!(applied(&Reverse { axes: vec![-1] }, &[2, 3]), [2, 1, 0, 5, 4, 3]);
        assert_eq!(applied(&Reverse { axes: vec![0, 1] }, &[2, 3]), [5, 4, 3, 2, 1, 0]);
    }
}
