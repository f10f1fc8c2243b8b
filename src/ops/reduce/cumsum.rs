//! Cumulative sum along one axis.

use super::reduction::sums_of_parts;
use crate::kernels::kernel;
use crate::ops::lines::Lines;
use crate::ops::{Attribute, Attributes, Case, Fill, Inputs, Lowering, Operator, Reference};
use crate::tensor::{ElementType, Tensor, TensorType, normalize_axis, split_at_axis};
use crate::{Result, attributes, ensure};

attributes! {
    /// y[i] = sum of x[..=i] along `axis` (`exclusive`: x[..i]; `reverse`: from the end).
    pub struct Cumsum { axis: i64, exclusive: bool = false, reverse: bool = false }
}

crate::entries!(Cumsum: cases);

impl Cumsum {
    fn run<T: Copy + std::ops::Add<Output = T>>(&self, x: &[T], zero: T, [outer, len, inner]: [usize; 3]) -> Vec<T> {
        let mut y = x.to_vec();
        for row in 0..outer * inner {
            let start = row / inner * len * inner + row % inner;
            let mut sum = zero;
            for n in 0..len {
                let at = start + if self.reverse { len - 1 - n } else { n } * inner;
                let next = sum + x[at];
                y[at] = if self.exclusive { sum } else { next };
                sum = next;
            }
        }
        y
    }
}

impl Operator for Cumsum {
    fn name(&self) -> &'static str {
        "Cumsum"
    }
    fn attributes(&self) -> Attributes {
        self.to_attributes()
    }
    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        ins.expect(1..=1)?;
        let x = ins.get(0)?;
        ensure!(x.element.is_float() || x.element.is_integer(), InvalidGraph, "takes numbers, not {}", x.element);
        normalize_axis(self.axis, x.rank())?;
        Ok(vec![x.clone()])
    }
    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        let x = at.input(0)?;
        let split = split_at_axis(x.dims(), normalize_axis(self.axis, x.dims().len())?);
        Ok(vec![match x.element().is_float() {
            true => Tensor::from_f64(x.ty().clone(), &self.run(&x.to_f64(), 0.0, split)),
            false => Tensor::from_i128(x.ty().clone(), &self.run(&x.to_i128(), 0, split)),
        }])
    }
    fn lower(&self, at: &mut Lowering) -> Result<()> {
        let x = at.input_type(0);
        let [outer, len, inner] = split_at_axis(&x.dims, normalize_axis(self.axis, x.rank())?);
        if x.elements() == 0 {
            return Ok(());
        }
        let plan = Lines { outer, len, inner, element: x.element }.scanned(at.caps);
        let (from, to) = (at.input(0), at.output(0));
        let sums = if plan.parts > 1 { sums_of_parts(at, x.element, plan)? } else { at.opt_input(usize::MAX) };
        let dispatch =
            at.dispatch(kernel::cumsum(x.element.name(), plan.walk())?).read("x", from).read("sums", sums).write("y", to);
        plan.set(dispatch)?.spec("EXCLUSIVE", self.exclusive.into()).spec("REVERSE", self.reverse.into()).groups(plan.groups())
    }
    fn terms(&self, ins: &Inputs<TensorType>) -> usize {
        ins.opt(0).and_then(|x| Some(x.dims[normalize_axis(self.axis, x.rank()).ok()?])).unwrap_or(1)
    }
}

fn cases() -> Vec<Case> {
    use ElementType::*;
    let mut out = Vec::new();
    let case = |axis: i64, exclusive: i64, reverse: i64| {
        Case::new(
            "Cumsum",
            &[("axis", Attribute::Int(axis)), ("exclusive", Attribute::Int(exclusive)), ("reverse", Attribute::Int(reverse))],
        )
    };
    for element in [F32, F16, Bf16, F64, I8, I16, I32, I64, U8, U32, U64] {
        let fill = || Fill::Range(0.0, 3.0);
        for (exclusive, reverse) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
            out.push(case(-1, exclusive, reverse).fill(element, &[2, 304], fill()));
        }
        out.push(case(-1, 0, 0).fill(element, &[3, 29], fill()));
        out.push(case(1, 0, 0).fill(element, &[2, 37, 3], fill()));
        out.push(case(1, 1, 1).fill(element, &[2, 37, 16], fill()));
    }
    for len in [0, 1, 255, 256, 257, 65537] {
        out.push(case(0, 1, 0).fill(I32, &[len], Fill::Range(0.0, 9.0)));
    }
    // In parts, and many lines.
    for (exclusive, reverse) in [(0, 0), (1, 1)] {
        out.push(case(1, exclusive, reverse).fill(I32, &[2, 100_003], Fill::Range(-9.0, 9.0)));
        out.push(case(-1, exclusive, reverse).fill(F32, &[1, 131_072], Fill::Range(0.0, 1.0)));
        out.push(case(0, exclusive, reverse).fill(F32, &[65537, 2], Fill::Range(0.0, 1.0)));
        out.push(case(0, exclusive, reverse).fill(F16, &[3001, 8], Fill::Range(0.0, 0.1)));
        out.push(case(-1, exclusive, reverse).fill(F32, &[65537, 3], Fill::Range(0.0, 1.0)));
    }
    let i = f64::INFINITY;
    out.push(case(-1, 1, 0).fill(F32, &[1, 40000], Fill::Values([vec![1.0; 39000], vec![i], vec![1.0; 999]].concat())));
    out
}
