//! Reduce: sums, means, extremes and norms over any set of axes.

use crate::kernels::kernel;
use crate::ops::movement::strided::divider;
use crate::ops::{Attribute, Attributes, Case, Fill, Inputs, Lowering, Operator, Reference};
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

/// Axes of x that are walked together, with their strides in elements: those that stay, and those that go.
struct Walk {
    kept: Vec<(usize, usize)>,
    reduced: Vec<(usize, usize)>,
}

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

    fn walk(&self, x: &TensorType) -> Result<Walk> {
        let (marks, strides) = (self.marks(x.rank())?, row_strides(&x.dims));
        let mut walk = Walk { kept: Vec::new(), reduced: Vec::new() };
        let mut before = None;
        for (axis, &mark) in marks.iter().enumerate().filter(|(axis, _)| x.dims[*axis] != 1) {
            let list = if mark { &mut walk.reduced } else { &mut walk.kept };
            match list.last_mut().filter(|_| before == Some(mark)) {
                Some(last) => *last = (last.0 * x.dims[axis], strides[axis]),
                None => list.push((x.dims[axis], strides[axis])),
            }
            before = Some(mark);
        }
        Ok(walk)
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

/// Offset of element `i` of some axes.
fn offset(axes: &[(usize, usize)], mut i: usize) -> usize {
    let mut at = 0;
    for &(size, stride) in axes.iter().rev() {
        at += i % size * stride;
        i /= size;
    }
    at
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
        let (walk, len) = (self.walk(x.ty())?, self.terms(&Inputs(&[Some(x.ty())])));
        let places = |o: usize| {
            let base = offset(&walk.kept, o);
            let reduced = &walk.reduced;
            (0..len).map(move |i| base + offset(reduced, i))
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
        let (x, outputs) = (at.input_type(0), at.output_type(0).elements());
        let (walk, len) = (self.walk(x)?, self.terms(&Inputs(&[Some(x)])));
        ensure!(x.elements() < 1 << 31, Unsupported, "a reduction of {} elements is above 2^31", x.elements());
        let mut words = Vec::new();
        for &(size, stride) in walk.kept.iter().rev().chain(walk.reduced.iter().rev()) {
            let [multiplier, shift] = divider(size.max(1))?;
            words.extend([size as u32, multiplier, shift, stride as u32]);
        }
        // An invocation an output reads its neighbours' neighbours where the innermost axis stays; it needs many outputs to fill a GPU.
        let inner_stays = walk.kept.last().is_some_and(|a| a.1 == 1);
        let grouped = !(inner_stays && outputs >= 1024 || len < 32);
        let (from, to, table) = (at.input(0), at.output(0), at.constants(&words));
        at.dispatch(kernel::reduce(x.element.name())?)
            .read("x", from)
            .write("y", to)
            .read("table", table)
            .uint("outputs", outputs)
            .uint("len", len)
            .uint("kept", walk.kept.len())
            .uint("reduced", walk.reduced.len())
            .spec("KIND", self.kind as u32)
            .spec("GROUPED", grouped.into())
            .groups(if grouped { outputs } else { outputs.div_ceil(256) })
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
            let shapes: &[(&[usize], &[i64])] = if element == F32 {
                &[(&[5, 0, 3], &[1]), (&[7], &[]), (&[2, 3, 4, 5, 6], &[-1, 0, 2]), (&[3, 1031], &[1]), (&[300, 1025], &[0])]
            } else {
                &[(&[3, 70], &[-1]), (&[4, 5, 3], &[1])]
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
    out.push(case(ReduceKind::Sum, &[]).fill(I32, &[10000], Fill::Range(0.0, 10000.0)));
    out
}
