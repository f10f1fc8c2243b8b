//! Softmax and LogSoftmax along one axis.

use crate::kernels::{Kernel, kernel};
use crate::ops::lines::{Lines, Plan};
use crate::ops::{Attribute, Attributes, Case, Fill, Inputs, Lowering, Operand, Operator, Reference};
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
    if ty.elements() == 0 {
        return Ok(());
    }
    let plan = Lines { outer, len, inner, element: ty.element }.held(at.caps, true);
    let kernel = kernel::softmax(ty.element.name(), plan.walk())?;
    let nothing = at.opt_input(usize::MAX);
    if plan.parts == 1 {
        return stage(at, kernel, plan, log, 0, nothing);
    }
    // The maximum and the sum of each part.
    let number = if ty.element == ElementType::F64 { 8 } else { 4 };
    let stats = at.temp(2 * number * plan.lines(ty.element) * plan.parts);
    stage(at, kernel, plan, log, 1, stats)?;
    stage(at, kernel, plan, log, 2, stats)
}

fn stage(at: &mut Lowering, kernel: Kernel, plan: Plan, log: bool, stage: u32, stats: Operand) -> Result<()> {
    let (x, y, nothing) = (at.input(0), at.output(0), at.opt_input(usize::MAX));
    let dispatch = at.dispatch(kernel).read("x", x).write("y", if stage == 1 { nothing } else { y });
    let dispatch = if stage == 1 { dispatch.write("stats", stats) } else { dispatch.read("stats", stats) };
    plan.set(dispatch)?.spec("STAGE", stage).spec("LOG", log.into()).groups(plan.groups())
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
    use ElementType::*;
    let case = |axis: i64| Case::new(name, &[("axis", Attribute::Int(axis))]);
    let mut out = Vec::new();
    for element in [F32, F16, Bf16, F64] {
        for (dims, axis) in [
            (&[0usize, 5][..], -1),
            (&[0, 5], 0),
            (&[3, 0], -1),
            (&[1], -1),
            (&[7, 113], -1),
            (&[7, 113], 0),
            (&[3, 64], -1),
            (&[29, 37, 41], 0),
            (&[2, 29, 16], 1),
        ] {
            out.push(case(axis).input(element, dims));
        }
    }
    // Results spread over many magnitudes: of 65537 alike, all would be subnormal in f16, where one unit is more than the tolerance.
    let spread = || Fill::Range(-30.0, 0.0);
    for element in [F32, F16] {
        out.push(case(0).fill(element, &[65537, 3], spread()));
        out.push(case(-1).fill(element, &[2, 70001], spread()));
        out.push(case(-1).fill(element, &[2, 32000], spread()));
    }
    out.push(case(-1).input(F32, &[65537, 3]));
    out.push(case(1).input(F32, &[65537, 2, 3]));
    out.push(case(-1).input(F32, &[3, 1025]));
    out.push(case(-1).input(F64, &[1, 40000]));
    // What must not leave its line; in parts too.
    let (n, i) = (f64::NAN, f64::INFINITY);
    for values in [
        vec![1.0, n, 2.0, 0.0, 1.0, 2.0],
        vec![-i, -i, -i, 0.0, -i, 1.0],
        vec![i, 0.0, 1.0, n, -i, -i],
        vec![1e4, -1e4, 9e3, 1e-30, 0.0, -0.0],
    ] {
        out.push(case(-1).fill(F32, &[2, 3], Fill::Values(values.clone())));
        let mut long: Vec<f64> = (0..40000).map(|k| if k % 20000 == 7 { values[k / 20000] } else { -i }).collect();
        long.extend((0..40000).map(|k| f64::from(k % 7)));
        out.push(case(-1).fill(F32, &[2, 40000], Fill::Values(long)));
    }
    out
}
