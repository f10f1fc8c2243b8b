//! OneHot, Trilu, Range and EyeLike: tensors made from few numbers.

use super::index::check_index_type;
use super::strided::unit_name;
use super::types::{EVERY, WIDTHS};
use crate::kernels::kernel;
use crate::ops::{Attribute, Attributes, Case, Fill, Inputs, Lowering, Operator, Reference};
use crate::tensor::{ElementType, Tensor, TensorType, element_count, normalize_axis};
use crate::{Result, attributes, bail, ensure};

attributes! {
    /// A new axis of `depth` elements: values[1] where its coordinate is the index, values[0] elsewhere. Inputs: index, values.
    /// (The depth is ONNX's second input.)
    pub struct OneHot { depth: usize, axis: i64 = -1 }
}

attributes! {
    /// The upper or lower triangle of matrices, zeros elsewhere; `k` moves the diagonal to the right. (ONNX's second input.)
    pub struct Trilu { k: i64 = 0, upper: bool = true }
}

attributes! {
    /// start, start + delta, .. before limit: scalars of one type. (ONNX's inputs.)
    pub struct Range { start: Tensor, limit: Tensor, delta: Tensor }
}

attributes! {
    /// Ones on the k-th diagonal of a matrix of x's dims.
    pub struct EyeLike { k: i64 = 0, dtype: Option<ElementType> }
}

crate::entries!(OneHot: one_hot_cases, Trilu: trilu_cases, Range: range_cases, EyeLike: eye_cases);

/// Elements that the kernels of this file write at most: they count in 32 bits.
fn check_count(ty: &TensorType) -> Result<usize> {
    let count = ty.elements();
    ensure!(count < 1 << 31, Unsupported, "{ty} has {count} elements, above the limit of 2^31");
    Ok(count)
}

/// A diagonal's number as the kernels take it: beyond any matrix they can write, they are all alike.
fn diagonal(k: i64) -> i32 {
    k.clamp(i64::from(-i32::MAX), i32::MAX.into()) as i32
}

impl Operator for OneHot {
    fn name(&self) -> &'static str {
        "OneHot"
    }

    fn attributes(&self) -> Attributes {
        self.to_attributes()
    }

    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        ins.expect(2..=2)?;
        let (index, values) = (ins.get(0)?, ins.get(1)?);
        check_index_type(index)?;
        let fits = values.dims == [2] && !values.element.is_block();
        ensure!(fits, InvalidGraph, "values are [off, on], got {values}");
        let axis = normalize_axis(self.axis, index.rank() + 1)?;
        let mut dims = index.dims.clone();
        dims.insert(axis, self.depth);
        Ok(vec![values.with_dims(dims)])
    }

    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        let (index, values) = (at.input(0)?, at.input(1)?);
        let axis = normalize_axis(self.axis, index.dims().len() + 1)?;
        let inner = element_count(&index.dims()[axis..]);
        let bytes = values.element().block_bytes();
        let (off, on) = values.bytes().split_at(bytes);
        let mut y = Tensor::zeros(at.output_type(0).clone());
        let wanted = index.to_i128();
        let depth = self.depth as i128;
        for (i, out) in y.bytes_mut().chunks_exact_mut(bytes).enumerate() {
            let (d, outer) = ((i / inner % self.depth) as i128, i / inner / self.depth);
            let want = wanted[outer * inner + i % inner];
            out.copy_from_slice(if want == d || want + depth == d { on } else { off });
        }
        Ok(vec![y])
    }

    fn lower(&self, at: &mut Lowering) -> Result<()> {
        let (index, y) = (at.input_type(0), at.output_type(0));
        let axis = normalize_axis(self.axis, y.rank())?;
        let count = check_count(y)?;
        let (i, values, out) = (at.input(0), at.input(1), at.output(0));
        at.dispatch(kernel::one_hot(&unit_name(y.element.block_bytes()))?)
            .read("index", i)
            .read("values", values)
            .write("y", out)
            .uint("count", count)
            .uint("depth", self.depth)
            .uint("inner", element_count(&index.dims[axis..]))
            .spec("WIDE_INDEX", (index.element == ElementType::I64).into())
            .threads(count)
    }
}

impl Operator for Trilu {
    fn name(&self) -> &'static str {
        "Trilu"
    }

    fn attributes(&self) -> Attributes {
        self.to_attributes()
    }

    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        ins.expect(1..=1)?;
        let x = ins.get(0)?;
        ensure!(!x.element.is_block(), InvalidGraph, "does not take the packed type {}", x.element);
        ensure!(x.rank() >= 2, InvalidGraph, "takes matrices, not {x}");
        Ok(vec![x.clone()])
    }

    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        let x = at.input(0)?;
        let mut y = x.clone();
        let rank = x.dims().len();
        let (rows, columns) = (x.dims()[rank - 2], x.dims()[rank - 1]);
        for (i, out) in y.bytes_mut().chunks_exact_mut(x.element().block_bytes()).enumerate() {
            let above = (i % columns) as i64 - (i / columns % rows) as i64;
            if !(if self.upper { above >= self.k } else { above <= self.k }) {
                out.fill(0);
            }
        }
        Ok(vec![y])
    }

    fn lower(&self, at: &mut Lowering) -> Result<()> {
        let ty = at.input_type(0);
        let count = check_count(ty)?;
        let (x, y) = (at.input(0), at.output(0));
        at.dispatch(kernel::trilu(&unit_name(ty.element.block_bytes()))?)
            .read("x", x)
            .write("y", y)
            .uint("count", count)
            .uint("rows", ty.dims[ty.rank() - 2])
            .uint("columns", ty.last())
            .int("k", diagonal(self.k))
            .spec("UPPER", self.upper.into())
            .threads(count)
    }

    fn in_place(&self, _ins: &Inputs<TensorType>) -> Vec<(usize, usize)> {
        vec![(0, 0)]
    }
}

impl Range {
    fn count(&self) -> Result<usize> {
        let ty = self.start.ty();
        ensure!(ty.element.is_float() || ty.element.is_integer(), InvalidGraph, "takes numbers, not {}", ty.element);
        for (name, t) in [("start", &self.start), ("limit", &self.limit), ("delta", &self.delta)] {
            let fits = t.element() == ty.element && t.ty().elements() == 1;
            ensure!(fits, InvalidGraph, "{name} is {}, not one {} like start", t.ty(), ty.element);
        }
        let count = if ty.element.is_integer() {
            let [start, limit, delta] = [&self.start, &self.limit, &self.delta].map(|t| t.to_i128()[0]);
            ensure!(delta != 0, InvalidGraph, "delta is 0");
            ((limit - start + delta - delta.signum()) / delta).max(0) as f64
        } else {
            let [start, limit, delta] = [&self.start, &self.limit, &self.delta].map(|t| t.to_f64()[0]);
            ensure!(delta != 0.0, InvalidGraph, "delta is 0");
            ensure!(!(start + limit + delta).is_nan(), InvalidGraph, "a range from {start} to {limit} by {delta}");
            ((limit - start) / delta).ceil().max(0.0)
        };
        if !(0.0..2e9).contains(&count) {
            bail!(InvalidGraph, "{count} elements are too many for a range");
        }
        Ok(count as usize)
    }
}

impl Operator for Range {
    fn name(&self) -> &'static str {
        "Range"
    }

    fn attributes(&self) -> Attributes {
        self.to_attributes()
    }

    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        ins.expect(0..=0)?;
        Ok(vec![TensorType::new(self.start.element(), [self.count()?])])
    }

    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        let ty = at.output_type(0).clone();
        if ty.element.is_integer() {
            let (start, delta) = (self.start.to_i128()[0], self.delta.to_i128()[0]);
            let values: Vec<i128> = (0..ty.elements() as i128).map(|i| start + i * delta).collect();
            return Ok(vec![Tensor::from_i128(ty, &values)]);
        }
        let (start, delta) = (self.start.to_f64()[0], self.delta.to_f64()[0]);
        let values: Vec<f64> = (0..ty.elements()).map(|i| start + i as f64 * delta).collect();
        Ok(vec![Tensor::from_f64(ty, &values)])
    }

    fn lower(&self, at: &mut Lowering) -> Result<()> {
        let mut bytes = [self.start.bytes(), self.delta.bytes()].concat();
        bytes.resize(16, 0);
        let words: Vec<u32> = bytes.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect();
        let table = at.constants(&words);
        let (ty, y) = (at.output_type(0), at.output(0));
        at.dispatch(kernel::range(ty.element.name())?)
            .read("table", table)
            .write("y", y)
            .uint("count", ty.elements())
            .threads(ty.elements())
    }
}

impl EyeLike {
    /// The element 1, in the first of 8 bytes.
    fn one(element: ElementType) -> [u32; 2] {
        let one = match element {
            ElementType::C64 => Tensor::from_f64(TensorType::new(ElementType::F32, [2]), &[1.0, 0.0]),
            _ => Tensor::from_f64(TensorType::new(element, [1]), &[1.0]),
        };
        let mut bytes = one.bytes().to_vec();
        bytes.resize(8, 0);
        [0, 4].map(|i| u32::from_le_bytes([bytes[i], bytes[i + 1], bytes[i + 2], bytes[i + 3]]))
    }
}

impl Operator for EyeLike {
    fn name(&self) -> &'static str {
        "EyeLike"
    }

    fn attributes(&self) -> Attributes {
        self.to_attributes()
    }

    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        ins.expect(1..=1)?;
        let x = ins.get(0)?;
        ensure!(x.rank() == 2, InvalidGraph, "takes a matrix, not {x}");
        let element = self.dtype.unwrap_or(x.element);
        ensure!(!element.is_block(), InvalidGraph, "cannot make the packed type {element}");
        Ok(vec![x.with_element(element)])
    }

    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        let mut y = Tensor::zeros(at.output_type(0).clone());
        let (columns, bytes) = (y.dims()[1], y.element().block_bytes());
        let one = Self::one(y.element());
        for (i, out) in y.bytes_mut().chunks_exact_mut(bytes).enumerate() {
            if (i % columns) as i64 - (i / columns) as i64 == self.k {
                out.copy_from_slice(&bytemuck::bytes_of(&one)[..bytes]);
            }
        }
        Ok(vec![y])
    }

    fn lower(&self, at: &mut Lowering) -> Result<()> {
        let (ty, y) = (at.output_type(0), at.output(0));
        let count = check_count(ty)?;
        let [one_low, one_high] = Self::one(ty.element);
        at.dispatch(kernel::eye(&unit_name(ty.element.block_bytes()))?)
            .write("y", y)
            .uint("count", count)
            .uint("columns", ty.last())
            .uint("one_low", one_low as usize)
            .uint("one_high", one_high as usize)
            .int("k", diagonal(self.k))
            .threads(count)
    }
}

fn one_hot_cases() -> Vec<Case> {
    let case = |depth: i64, axis: i64, index_type, index: &[usize], element| {
        Case::new("OneHot", &[("depth", Attribute::Int(depth)), ("axis", Attribute::Int(axis))])
            .fill(index_type, index, Fill::Range(-8.0, 8.0))
            .input(element, &[2])
    };
    use ElementType::{F32, I32, I64};
    let mut out: Vec<Case> = EVERY.iter().map(|&e| case(5, -1, I64, &[7, 3], e)).collect();
    out.push(case(4, 0, I32, &[5, 3], F32));
    out.push(case(4, 1, I32, &[5, 3], F32));
    out.push(case(6, 0, I32, &[], F32));
    out.push(case(0, 0, I32, &[3], F32));
    out.push(case(7, 1, I64, &[65537], F32));
    out
}

fn trilu_cases() -> Vec<Case> {
    let case = |k: i64, upper: i64, element, dims: &[usize]| {
        Case::new("Trilu", &[("k", Attribute::Int(k)), ("upper", Attribute::Int(upper))]).input(element, dims)
    };
    let mut out: Vec<Case> = EVERY.iter().map(|&e| case(0, 1, e, &[5, 7])).collect();
    for &element in WIDTHS {
        for k in [-2, 1, i64::MAX, i64::MIN] {
            out.push(case(k, 1, element, &[2, 4, 5]));
            out.push(case(k, 0, element, &[2, 4, 5]));
        }
    }
    out.push(case(0, 0, ElementType::F32, &[0, 3]));
    out.push(case(0, 0, ElementType::F32, &[65537, 1, 3]));
    out
}

fn range_cases() -> Vec<Case> {
    let numbers = EVERY.iter().filter(|e| e.is_float() || e.is_integer());
    let mut out = Vec::new();
    for &element in numbers {
        for [start, limit, delta] in [[1.0, 100.0, 3.0], [9.0, 9.0, 1.0], [0.0, 5.0, 7.0]] {
            let scalar = |v: f64| Attribute::Tensor(Tensor::from_f64(TensorType::new(element, []), &[v]));
            out.push(Case::new("Range", &[("start", scalar(start)), ("limit", scalar(limit)), ("delta", scalar(delta))]));
        }
    }
    let i64s = |v: i64| Attribute::Tensor(Tensor::from_slice(&[], &[v]));
    let f32s = |v: f32| Attribute::Tensor(Tensor::from_slice(&[], &[v]));
    let attributes = [("start", i64s((1 << 53) + 1)), ("limit", i64s((1 << 53) - 8)), ("delta", i64s(-2))];
    out.push(Case::new("Range", &attributes));
    out.push(Case::new("Range", &[("start", f32s(-1.0)), ("limit", f32s(7000.0)), ("delta", f32s(0.1))]));
    out
}

fn eye_cases() -> Vec<Case> {
    let case = |k: i64, element: ElementType, dims: &[usize]| {
        let attributes = [("k", Attribute::Int(k)), ("dtype", Attribute::Text(element.name().into()))];
        Case::new("EyeLike", &attributes).input(ElementType::F32, dims)
    };
    let mut out: Vec<Case> = EVERY.iter().map(|&e| case(1, e, &[5, 7])).collect();
    for k in [0, -3, i64::MIN, i64::MAX] {
        out.push(case(k, ElementType::F32, &[7, 5]));
    }
    out.push(case(0, ElementType::F32, &[0, 5]));
    out
}
