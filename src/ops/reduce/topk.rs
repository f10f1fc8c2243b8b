//! TopK: the largest or smallest elements along one axis, in order.

use std::cmp::Ordering;

use crate::kernels::kernel;
use crate::ops::{Attribute, Attributes, Case, Fill, Inputs, Lowering, Operator, Reference};
use crate::tensor::{ElementType, Tensor, TensorType, normalize_axis, split_at_axis};
use crate::{Result, attributes, ensure};

attributes! {
    /// The `k` largest (or smallest) elements along `axis` and their indices; equal ones by their index; NaN counts as largest.
    pub struct TopK { k: usize, axis: i64 = -1, largest: bool = true, sorted: bool = true }
}

crate::entries!(TopK: cases);

impl TopK {
    /// Indices of the chosen elements of a row.
    fn choose<T: Copy>(&self, row: &[T], order: impl Fn(T, T) -> Ordering) -> Vec<usize> {
        let mut places: Vec<usize> = (0..row.len()).collect();
        places.sort_by(|&a, &b| {
            let by_value = order(row[a], row[b]);
            (if self.largest { by_value.reverse() } else { by_value }).then(a.cmp(&b))
        });
        places.truncate(self.k);
        places
    }
}

fn float_order(a: f64, b: f64) -> Ordering {
    a.is_nan().cmp(&b.is_nan()).then(a.partial_cmp(&b).unwrap_or(Ordering::Equal))
}

impl Operator for TopK {
    fn name(&self) -> &'static str {
        "TopK"
    }
    fn attributes(&self) -> Attributes {
        self.to_attributes()
    }
    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        ins.expect(1..=1)?;
        let x = ins.get(0)?;
        ensure!(x.element.is_float() || x.element.is_integer(), InvalidGraph, "takes numbers, not {}", x.element);
        let axis = normalize_axis(self.axis, x.rank())?;
        let mut dims = x.dims.clone();
        ensure!(self.k <= dims[axis], InvalidGraph, "k is {}, axis {axis} of {x} has {}", self.k, dims[axis]);
        dims[axis] = self.k;
        Ok(vec![x.with_dims(dims.clone()), TensorType::new(ElementType::I64, dims)])
    }
    fn output_count(&self, _inputs: usize) -> usize {
        2
    }
    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        let x = at.input(0)?;
        let [outer, len, inner] = split_at_axis(x.dims(), normalize_axis(self.axis, x.dims().len())?);
        let bytes = x.element().bytes();
        let (mut values, mut indices) = (Tensor::zeros(at.output_type(0).clone()), vec![0i128; outer * self.k * inner]);
        for row in 0..outer * inner {
            let at_row = |n: usize, i: usize| (row / inner * n + i) * inner + row % inner;
            let chosen = if x.element().is_float() {
                let all = x.to_f64();
                self.choose(&(0..len).map(|i| all[at_row(len, i)]).collect::<Vec<_>>(), float_order)
            } else {
                let all = x.to_i128();
                self.choose(&(0..len).map(|i| all[at_row(len, i)]).collect::<Vec<_>>(), |a, b| a.cmp(&b))
            };
            for (n, &i) in chosen.iter().enumerate() {
                let (from, to) = (at_row(len, i) * bytes, at_row(self.k, n));
                values.bytes_mut()[to * bytes..][..bytes].copy_from_slice(&x.bytes()[from..from + bytes]);
                indices[to] = i as i128;
            }
        }
        Ok(vec![values, Tensor::from_i128(at.output_type(1).clone(), &indices)])
    }
    fn lower(&self, at: &mut Lowering) -> Result<()> {
        let x = at.input_type(0);
        let [outer, len, inner] = split_at_axis(&x.dims, normalize_axis(self.axis, x.rank())?);
        let (from, values, indices) = (at.input(0), at.output(0), at.output(1));
        at.dispatch(kernel::topk(x.element.name())?)
            .read("x", from)
            .write("values", values)
            .write("indices", indices)
            .uint("rows", outer * inner)
            .uint("len", len)
            .uint("inner", inner)
            .uint("k", self.k)
            .spec("LEAST", (!self.largest).into())
            .groups(outer * inner)
    }
}

fn cases() -> Vec<Case> {
    use ElementType::*;
    let mut out = Vec::new();
    let case = |k: i64, axis: i64, largest: i64| {
        Case::new("TopK", &[("k", Attribute::Int(k)), ("axis", Attribute::Int(axis)), ("largest", Attribute::Int(largest))])
    };
    for element in [F32, F16, Bf16, F64, I8, I16, I32, I64, U8, U32, U64] {
        out.push(case(5, -1, 1).fill(element, &[3, 33], Fill::Range(0.0, 9.0)));
        out.push(case(3, 1, 0).fill(element, &[2, 29, 3], Fill::Range(0.0, 9.0)));
    }
    for k in [0, 1, 2, 17, 32, 33] {
        out.push(case(k, -1, 1).input(F32, &[2, 33]));
    }
    out.push(case(8, -1, 1).fill(F32, &[1, 1000], Fill::Values(vec![0.0])));
    out.push(case(5, -1, 1).fill(F32, &[1, 6], Fill::Values(vec![1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 0.0])));
    out.push(case(5, -1, 0).fill(F32, &[1, 6], Fill::Values(vec![1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 0.0])));
    out.push(case(2, -1, 1).input(F32, &[65537, 4]));
    out
}
