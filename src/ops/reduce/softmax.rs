//! Softmax and LogSoftmax along one axis.

use crate::kernels::kernel;
use crate::ops::{Attribute, Attributes, Case, Inputs, Lowering, Operator, Reference};
use crate::tensor::{ElementType, Tensor, TensorType, normalize_axis, split_at_axis};
use crate::{Result, attributes, ensure};

attributes! {
    /// y = exp(x - max) / sum(exp(x - max)) along `axis`. A row that is all -inf gives zeros, a row with NaN is NaN.
    pub struct Softmax { axis: i64 }
}

attributes! {
    /// log(softmax(x)) along `axis`. A row that is all -inf is NaN.
    pub struct LogSoftmax { axis: i64 }
}

crate::entries!(Softmax: || cases("Softmax"), LogSoftmax: || cases("LogSoftmax"));

fn infer(axis: i64, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
    ins.expect(1..=1)?;
    let x = ins.get(0)?;
    ensure!(x.element.is_float(), InvalidGraph, "takes floats, not {}", x.element);
    normalize_axis(axis, x.rank())?;
    Ok(vec![x.clone()])
}

fn reference(axis: i64, log: bool, at: &Reference) -> Result<Vec<Tensor>> {
    let x = at.input(0)?;
    let [outer, len, inner] = split_at_axis(x.dims(), normalize_axis(axis, x.dims().len())?);
    let mut values = x.to_f64();
    for row in 0..outer * inner {
        let start = row / inner * len * inner + row % inner;
        let index = |i: usize| start + i * inner;
        let has_nan = (0..len).any(|i| values[index(i)].is_nan());
        let max = (0..len).map(|i| values[index(i)]).fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = (0..len).map(|i| (values[index(i)] - max).exp()).sum();
        for i in 0..len {
            let v = &mut values[index(i)];
            *v = match (has_nan, max == f64::NEG_INFINITY, log) {
                (true, _, _) => f64::NAN,
                (_, true, false) => 0.0,
                (_, _, false) => (*v - max).exp() / sum,
                (_, _, true) => *v - max - sum.ln(),
            };
        }
    }
    Ok(vec![Tensor::from_f64(x.ty().clone(), &values)])
}

fn lower(axis: i64, log: bool, at: &mut Lowering) -> Result<()> {
    let ty = at.input_type(0);
    let [outer, len, inner] = split_at_axis(&ty.dims, normalize_axis(axis, ty.rank())?);
    let (x, y) = (at.input(0), at.output(0));
    if ty.elements() == 0 {
        return Ok(());
    }
    at.dispatch(kernel::softmax(ty.element.name())?)
        .read("x", x)
        .write("y", y)
        .uint("rows", outer * inner)
        .uint("len", len)
        .uint("inner", inner)
        .spec("LOG", log.into())
        .groups(outer * inner)
}

macro_rules! softmax_operator {
    ($name:ident, $log:literal) => {
        impl Operator for $name {
            fn name(&self) -> &'static str {
                stringify!($name)
            }
            fn attributes(&self) -> Attributes {
                self.to_attributes()
            }
            fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
                infer(self.axis, ins)
            }
            fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
                reference(self.axis, $log, at)
            }
            fn lower(&self, at: &mut Lowering) -> Result<()> {
                lower(self.axis, $log, at)
            }
            fn terms(&self, ins: &Inputs<TensorType>) -> usize {
                ins.opt(0).and_then(|x| Some(x.dims[normalize_axis(self.axis, x.rank()).ok()?])).unwrap_or(1)
            }
        }
    };
}
softmax_operator!(Softmax, false);
softmax_operator!(LogSoftmax, true);

fn cases(name: &str) -> Vec<Case> {
    let mut out = Vec::new();
    for dims in [&[0usize, 5][..], &[3, 0], &[1], &[7, 113], &[29, 37, 41], &[2, 1025], &[65537, 3]] {
        for axis in [-1, 0] {
            for element in [ElementType::F32, ElementType::F16, ElementType::Bf16, ElementType::F64] {
                if dims.len() > 1 || axis == -1 {
                    out.push(Case::new(name, &[("axis", Attribute::Int(axis))]).input(element, dims));
                }
            }
        }
    }
    out
}
