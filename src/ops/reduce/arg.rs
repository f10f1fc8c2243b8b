//! ArgMax and ArgMin.

use crate::kernels::kernel;
use crate::ops::lines::{Lines, Plan, part_element};
use crate::ops::{Attribute, Attributes, Case, Fill, Inputs, Lowering, Operand, Operator, Reference};
use crate::tensor::{ElementType, Tensor, TensorType, normalize_axis, split_at_axis};
use crate::{Result, attributes, ensure};

attributes! {
    /// Index of the largest element along `axis`: the first of equals, or the last. The first NaN wins.
    pub struct ArgMax { axis: i64, keep_dims: bool = false, select_last: bool = false }
}
attributes! {
    /// Index of the smallest element along `axis`.
    pub struct ArgMin { axis: i64, keep_dims: bool = false, select_last: bool = false }
}

crate::entries!(ArgMax: || cases("ArgMax"), ArgMin: || cases("ArgMin"));

fn infer(axis: i64, keep_dims: bool, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
    ins.expect(1..=1)?;
    let x = ins.get(0)?;
    ensure!(x.element.is_float() || x.element.is_integer(), InvalidGraph, "takes numbers, not {}", x.element);
    let axis = normalize_axis(axis, x.rank())?;
    let mut dims = x.dims.clone();
    let others: usize = dims.iter().enumerate().filter(|(i, _)| *i != axis).map(|(_, d)| d).product();
    ensure!(dims[axis] > 0 || others == 0, InvalidGraph, "axis {axis} of {x} is empty: it has no extreme");
    if keep_dims {
        dims[axis] = 1
    } else {
        dims.remove(axis);
    }
    Ok(vec![TensorType::new(ElementType::I64, dims)])
}

/// The place that wins, by a comparison that says whether `b` beats `a`.
fn best<T: Copy>(values: impl Iterator<Item = T>, beats: impl Fn(T, T) -> bool) -> i128 {
    let mut found: Option<(usize, T)> = None;
    for (i, v) in values.enumerate() {
        if found.is_none_or(|(_, f)| beats(f, v)) {
            found = Some((i, v));
        }
    }
    found.map_or(0, |f| f.0 as i128)
}

fn reference(axis: i64, last: bool, least: bool, at: &Reference) -> Result<Vec<Tensor>> {
    let x = at.input(0)?;
    let [outer, len, inner] = split_at_axis(x.dims(), normalize_axis(axis, x.dims().len())?);
    let rows = (0..outer * inner).map(|r| r / inner * len * inner + r % inner);
    let indices: Vec<i128> = if x.element().is_float() {
        let xs = x.to_f64();
        let beats = |a: f64, b: f64| !a.is_nan() && (b.is_nan() || if least { b < a } else { b > a } || last && a == b);
        rows.map(|start| best((0..len).map(|i| xs[start + i * inner]), beats)).collect()
    } else {
        let xs = x.to_i128();
        let beats = |a: i128, b: i128| if least { b < a } else { b > a } || last && a == b;
        rows.map(|start| best((0..len).map(|i| xs[start + i * inner]), beats)).collect()
    };
    Ok(vec![Tensor::from_i128(at.output_type(0).clone(), &indices)])
}

fn lower(axis: i64, last: bool, least: bool, at: &mut Lowering) -> Result<()> {
    let ty = at.input_type(0);
    let [outer, len, inner] = split_at_axis(&ty.dims, normalize_axis(axis, ty.rank())?);
    if outer * inner == 0 {
        return Ok(());
    }
    ensure!(len < 1 << 31, Unsupported, "axis {axis} of {ty} is above 2^31");
    let plan = Lines { outer, len, inner, element: ty.element }.streamed(at.caps, true);
    let (x, y, nothing) = (at.input(0), at.output(0), at.opt_input(usize::MAX));
    let stage = |at: &mut Lowering, plan: Plan, (first, x, places): (bool, Operand, Operand), y: Operand, last_stage: bool| {
        let dispatch = at.dispatch(kernel::arg_extreme(ty.element.name(), plan.walk())?).read("x", x).write("y", y);
        let dispatch = if last_stage { dispatch.read("places", places) } else { dispatch.write("places", places) };
        plan.set(dispatch)?
            .spec("LEAST", least.into())
            .spec("LAST_PLACE", last.into())
            .spec("FIRST", first.into())
            .spec("LAST", last_stage.into())
            .groups(plan.groups())
    };
    if plan.parts == 1 {
        return stage(at, plan, (true, x, nothing), y, true);
    }
    let (element, lines) = (part_element(ty.element), plan.lines(ty.element));
    let (values, places) = (at.temp(plan.parts * lines * element.bytes()), at.temp(plan.parts * lines * 4));
    stage(at, plan, (true, x, places), values, false)?;
    let joined = Lines { outer: 1, len: plan.parts, inner: lines, element }.whole(at.caps);
    stage(at, joined, (false, values, places), y, true)
}

macro_rules! arg_operator {
    ($name:ident, $least:literal) => {
        impl Operator for $name {
            fn name(&self) -> &'static str {
                stringify!($name)
            }
            fn attributes(&self) -> Attributes {
                self.to_attributes()
            }
            fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
                infer(self.axis, self.keep_dims, ins)
            }
            fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
                reference(self.axis, self.select_last, $least, at)
            }
            fn lower(&self, at: &mut Lowering) -> Result<()> {
                lower(self.axis, self.select_last, $least, at)
            }
        }
    };
}
arg_operator!(ArgMax, false);
arg_operator!(ArgMin, true);

fn cases(name: &str) -> Vec<Case> {
    use ElementType::*;
    let mut out = Vec::new();
    let case = |axis: i64, last: i64| Case::new(name, &[("axis", Attribute::Int(axis)), ("select_last", Attribute::Int(last))]);
    for element in [F32, F16, Bf16, F64, I8, I16, I32, I64, U8, U32, U64] {
        out.push(case(-1, 0).input(element, &[3, 1031]));
        out.push(case(1, 1).fill(element, &[2, 70, 3], Fill::Range(0.0, 5.0)));
    }
    let n = f64::NAN;
    for values in [vec![1.0, n, 2.0, n], vec![n, 5.0, 1.0, 2.0], vec![f64::NEG_INFINITY; 4]] {
        out.push(case(-1, 0).fill(F32, &[1, 4], Fill::Values(values.clone())));
        out.push(case(-1, 1).fill(F32, &[1, 4], Fill::Values(values)));
    }
    out.push(case(-1, 0).input(F32, &[65537, 3]));
    out.push(case(1, 0).input(F32, &[65537, 2, 2]));
    out.push(case(0, 0).input(F32, &[3, 0]));
    // By pieces of 16 bytes, and in parts.
    for (element, dims, axis) in [
        (F32, &[3, 64][..], -1),
        (F32, &[9, 8], 0),
        (I8, &[5, 48], 1),
        (F16, &[1, 128256], 1),
        (F32, &[65537, 3], 0),
        (I64, &[40000], 0),
    ] {
        out.push(case(axis, 0).fill(element, dims, Fill::Range(-50.0, 50.0)));
        out.push(case(axis, 1).fill(element, dims, Fill::Range(-50.0, 50.0)));
    }
    out
}
