//! Reduce: sums, means, extremes and norms over any set of axes.

use crate::kernels::kernel;
use crate::ops::lines::{Lines, Plan, part_element};
use crate::ops::{Attribute, Attributes, Case, Fill, Inputs, Lowering, Operand, Operator, Reference};
use crate::tensor::{ElementType, Tensor, TensorType, element_count, normalize_axis, row_strides};
use crate::{Result, attribute_enum, attributes, ensure};

attribute_enum! {
    /// What is made of the elements; the order is the kernel's.
    pub enum ReduceKind {
        Sum = "Sum", Mean = "Mean", Max = "Max", Min = "Min", Prod = "Prod", SumSquare = "SumSquare", L1 = "L1", L2 = "L2", LogSum = "LogSum",
        LogSumExp = "LogSumExp",
    }
}
attributes! {
    /// Over `axes` (all of them if none is named).
    pub struct Reduce { kind: ReduceKind, axes: Option<Vec<i64>>, keep_dims: bool = false }
}

crate::entries!(Reduce: cases);

impl Reduce {
    /// For each axis, whether it is reduced.
    fn marks(&self, rank: usize) -> Result<Vec<bool>> {
        let axes = self.axes.as_deref().unwrap_or_default();
        let mut marks = vec![axes.is_empty(); rank];
        for &axis in axes {
            let axis = normalize_axis(axis, rank)?;
            ensure!(!marks[axis], InvalidGraph, "axis {axis} is named twice");
            marks[axis] = true;
        }
        Ok(marks)
    }

    fn takes(&self, element: ElementType) -> bool {
        let integer = !matches!(self.kind, ReduceKind::Mean | ReduceKind::L2 | ReduceKind::LogSum | ReduceKind::LogSumExp);
        element.is_float() || (element.is_integer() && integer)
    }

    /// Neighbouring axes that share a fate as one: whether they are reduced, and their elements. Axes of one element are left out.
    fn merged(&self, x: &TensorType) -> Result<Vec<(bool, usize)>> {
        let mut merged: Vec<(bool, usize)> = Vec::new();
        for (&size, mark) in x.dims.iter().zip(self.marks(x.rank())?).filter(|(size, _)| **size != 1) {
            match merged.last_mut().filter(|last| last.0 == mark) {
                Some(last) => last.1 *= size,
                None => merged.push((mark, size)),
            }
        }
        Ok(merged)
    }

    fn float(&self, values: &mut dyn Iterator<Item = f64>, len: usize) -> f64 {
        let nan_or = |f: fn(f64, f64) -> f64| move |a: f64, b: f64| if a.is_nan() || b.is_nan() { f64::NAN } else { f(a, b) };
        match self.kind {
            ReduceKind::Sum => values.sum(),
            ReduceKind::Mean => values.sum::<f64>() / len as f64,
            ReduceKind::Max => values.fold(f64::NEG_INFINITY, nan_or(f64::max)),
            ReduceKind::Min => values.fold(f64::INFINITY, nan_or(f64::min)),
            ReduceKind::Prod => values.product(),
            ReduceKind::SumSquare => values.map(|v| v * v).sum(),
            ReduceKind::L1 => values.map(f64::abs).sum(),
            ReduceKind::L2 => values.map(|v| v * v).sum::<f64>().sqrt(),
            ReduceKind::LogSum => values.sum::<f64>().ln(),
            ReduceKind::LogSumExp => {
                let all: Vec<f64> = values.collect();
                let most = all.iter().copied().fold(f64::NEG_INFINITY, nan_or(f64::max));
                if most.is_finite() { most + all.iter().map(|v| (v - most).exp()).sum::<f64>().ln() } else { most }
            }
        }
    }

    fn integer(&self, values: &mut dyn Iterator<Item = i128>, (least, most): (i128, i128)) -> i128 {
        match self.kind {
            ReduceKind::Max => values.fold(least, i128::max),
            ReduceKind::Min => values.fold(most, i128::min),
            ReduceKind::Prod => values.fold(1, i128::wrapping_mul),
            ReduceKind::SumSquare => values.fold(0, |a, v| a.wrapping_add(v.wrapping_mul(v))),
            ReduceKind::L1 => values.fold(0, |a, v| a.wrapping_add(v.abs())),
            _ => values.fold(0, i128::wrapping_add),
        }
    }
}

/// One reduction of lines, from x to y or to partial results.
#[derive(Clone, Copy)]
struct Stage {
    kind: ReduceKind,
    /// Of the operator's input, and so of the kernel.
    element: ElementType,
    /// x is the operator's input; else it is of what is computed with.
    first: bool,
    /// y is the operator's output.
    last: bool,
    /// Elements of the input that an element of the output is made of.
    count: usize,
}

impl Stage {
    /// Reduces lines of x; in two stages where they are few and long.
    fn lower(self, at: &mut Lowering, x: Operand, lines: Lines) -> Result<Operand> {
        let whole = self.first || self.element == part_element(self.element);
        let plan = lines.streamed(at.caps, whole);
        if plan.parts > 1 {
            let parts = Self { last: false, ..self }.dispatch(at, x, plan)?;
            let element = part_element(self.element);
            let joined = Lines { outer: 1, len: plan.parts, inner: plan.lines(lines.element), element };
            return Self { first: false, ..self }.lower(at, parts, joined);
        }
        self.dispatch(at, x, plan)
    }

    fn dispatch(self, at: &mut Lowering, x: Operand, plan: Plan) -> Result<Operand> {
        let results = plan.parts * plan.lines(self.element);
        let y = if self.last { at.output(0) } else { at.temp(results * part_element(self.element).bytes()) };
        let dispatch = at.dispatch(kernel::reduce(self.element.name(), plan.walk())?).read("x", x).write("y", y);
        plan.set(dispatch)?
            .float("count", self.count as f64)
            .spec("KIND", self.kind as u32)
            .spec("FIRST", self.first.into())
            .spec("LAST", self.last.into())
            .groups(plan.groups())?;
        Ok(y)
    }
}

/// The sums of the parts of lines of input 0, part after part.
pub(super) fn sums_of_parts(at: &mut Lowering, element: ElementType, plan: Plan) -> Result<Operand> {
    let x = at.input(0);
    Stage { kind: ReduceKind::Sum, element, first: true, last: false, count: 1 }.dispatch(at, x, plan)
}

impl Operator for Reduce {
    fn name(&self) -> &'static str {
        "Reduce"
    }
    fn attributes(&self) -> Attributes {
        self.to_attributes()
    }
    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        ins.expect(1..=1)?;
        let x = ins.get(0)?;
        ensure!(self.takes(x.element), InvalidGraph, "{} does not take {}", self.kind.text(), x.element);
        let marks = self.marks(x.rank())?;
        let dims: Vec<usize> = match self.keep_dims {
            true => x.dims.iter().zip(&marks).map(|(&d, &mark)| if mark { 1 } else { d }).collect(),
            false => x.dims.iter().zip(&marks).filter(|(_, mark)| !**mark).map(|(&d, _)| d).collect(),
        };
        Ok(vec![x.with_dims(dims)])
    }
    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        let (x, ty) = (at.input(0)?, at.output_type(0).clone());
        let (marks, strides, len) = (self.marks(x.dims().len())?, row_strides(x.dims()), self.terms(&Inputs(&[Some(x.ty())])));
        let offset = |mark: bool, mut i: usize| {
            let mut at = 0;
            for axis in (0..marks.len()).rev().filter(|&axis| marks[axis] == mark) {
                at += i % x.dims()[axis] * strides[axis];
                i /= x.dims()[axis];
            }
            at
        };
        let within: Vec<usize> = (0..len).map(|i| offset(true, i)).collect();
        let places = |o: usize| {
            let base = offset(false, o);
            within.iter().map(move |i| base + i)
        };
        if x.element().is_float() {
            let xs = x.to_f64();
            let y: Vec<f64> = (0..ty.elements()).map(|o| self.float(&mut places(o).map(|i| xs[i]), len)).collect();
            return Ok(vec![Tensor::from_f64(ty, &y)]);
        }
        let (xs, range) = (x.to_i128(), ty.element.integer_range());
        let y: Vec<i128> = (0..ty.elements()).map(|o| self.integer(&mut places(o).map(|i| xs[i]), range)).collect();
        Ok(vec![Tensor::from_i128(ty, &y)])
    }
    fn lower(&self, at: &mut Lowering) -> Result<()> {
        let (ty, outputs) = (at.input_type(0), at.output_type(0).elements());
        let (mut axes, count, mut x) = (self.merged(ty)?, self.terms(&Inputs(&[Some(ty)])), at.input(0));
        if outputs == 0 {
            return Ok(());
        }
        let mut stage = Stage { kind: self.kind, element: ty.element, first: true, last: true, count };
        // Nothing is summed over several axes at once: a line of no or of one element does for all.
        if count == 0 || axes.iter().all(|axis| !axis.0) {
            let lines = Lines { outer: outputs, len: count, inner: 1, element: ty.element };
            return stage.lower(at, x, lines).map(drop);
        }
        // The innermost first.
        while let Some(k) = axes.iter().rposition(|axis| axis.0) {
            let sizes = |axes: &[(bool, usize)]| axes.iter().map(|axis| axis.1).product::<usize>();
            let element = if stage.first { ty.element } else { part_element(ty.element) };
            let lines = Lines { outer: sizes(&axes[..k]), len: axes[k].1, inner: sizes(&axes[k + 1..]), element };
            axes.remove(k);
            stage.last = axes.iter().all(|axis| !axis.0);
            x = stage.lower(at, x, lines)?;
            stage.first = false;
        }
        Ok(())
    }
    fn terms(&self, ins: &Inputs<TensorType>) -> usize {
        let Some(x) = ins.opt(0) else { return 1 };
        let Ok(marks) = self.marks(x.rank()) else { return 1 };
        element_count(&x.dims.iter().zip(marks).filter(|(_, mark)| *mark).map(|(&d, _)| d).collect::<Vec<_>>())
    }
}

fn cases() -> Vec<Case> {
    use ElementType::*;
    let mut out = Vec::new();
    let case = |kind: ReduceKind, axes: &[i64]| {
        Case::new("Reduce", &[("kind", Attribute::Text(kind.text().into())), ("axes", Attribute::Ints(axes.to_vec()))])
    };
    for &kind in ReduceKind::ALL {
        for element in [F32, F16, Bf16, F64, I8, I16, I32, I64, U8, U32, U64] {
            let op = Reduce { kind, axes: None, keep_dims: false };
            if !op.takes(element) {
                continue;
            }
            let fill = || match kind {
                ReduceKind::LogSum => Fill::Range(0.5, 2.0),
                ReduceKind::Prod if element.is_float() => Fill::Range(0.9, 1.1),
                _ if element.is_float() => Fill::Range(-3.0, 3.0),
                _ => Fill::Any,
            };
            // Along and across, by elements and by pieces of 16 bytes.
            let shapes: &[(&[usize], &[i64])] = match (element, kind) {
                (F32, _) => &[
                    (&[5, 0, 3], &[1]),
                    (&[7], &[]),
                    (&[2, 3, 4, 5, 6], &[-1, 0, 2]),
                    (&[3, 1031], &[1]),
                    (&[300, 1025], &[0]),
                    (&[70, 64], &[0]),
                    (&[3, 64], &[1]),
                ],
                (_, ReduceKind::Sum | ReduceKind::Max | ReduceKind::LogSumExp) => {
                    &[(&[3, 70], &[-1]), (&[3, 80], &[-1]), (&[4, 5, 3], &[1]), (&[4, 5, 16], &[1]), (&[3, 5, 7], &[2, 0])]
                }
                _ => &[(&[3, 80], &[-1]), (&[4, 5, 3], &[1])],
            };
            for (dims, axes) in shapes {
                out.push(case(kind, axes).fill(element, dims, fill()));
            }
        }
        if kind != ReduceKind::LogSum {
            for values in [vec![1.0, f64::NAN, 2.0], vec![f64::NEG_INFINITY; 3], vec![f64::INFINITY, 1.0, f64::NEG_INFINITY]] {
                out.push(case(kind, &[-1]).fill(F32, &[2, 3], Fill::Values(values)));
            }
        }
    }
    out.push(case(ReduceKind::Sum, &[1]).input(F32, &[65537, 3]));
    out.push(case(ReduceKind::Sum, &[1]).input(F32, &[65537, 2, 3]));
    // In parts.
    for kind in [ReduceKind::Sum, ReduceKind::Mean, ReduceKind::Max, ReduceKind::L2, ReduceKind::LogSumExp] {
        out.push(case(kind, &[]).fill(F32, &[1000, 131], Fill::Range(-3.0, 3.0)));
        out.push(case(kind, &[0]).fill(F16, &[20011, 8], Fill::Range(-0.5, 1.0)));
        out.push(case(kind, &[0, 2]).fill(F32, &[3, 2, 40000], Fill::Range(-0.5, 1.0)));
    }
    out.push(case(ReduceKind::Sum, &[0]).fill(I8, &[65537, 3], Fill::Any));
    out.push(case(ReduceKind::Max, &[]).fill(U64, &[50000], Fill::Any));
    out.push(case(ReduceKind::Sum, &[]).fill(I32, &[10000], Fill::Range(0.0, 10000.0)));
    out
}
