//! ScatterElements, ScatterND and ScatterAdd: updates written or combined at indices. The result does not depend on the order in which
//! a device works: of several replacements of one place the last wins, and sums are taken in the order of the updates.

use super::gather_elements::{axis_words, check_fit, positions};
use super::index::{Tuples, check_index_type};
use super::scatter_lower::{Layout, Points, lower};
use super::types::{EVERY, WIDTHS};
use crate::ops::{Attribute, Attributes, Case, Fill, Inputs, Lowering, Operator, Reference};
use crate::tensor::{ElementType, Tensor, TensorType, dims_text, element_count, normalize_axis};
use crate::{Result, attribute_enum, attributes, ensure};

attribute_enum! {
    /// How an update and what is there are combined.
    pub enum Reduction {
        /// The update replaces it; of several the last wins.
        None = "None",
        Add = "Add",
        Mul = "Mul",
        /// NaN if either is.
        Max = "Max",
        Min = "Min",
    }
}

attributes! {
    /// y = data, but y[c with its coordinate along `axis` replaced by index[c]] is combined with updates[c]. Inputs: data, index, updates.
    pub struct ScatterElements { axis: i64 = 0, reduction: Reduction = Reduction::None }
}

attributes! {
    /// y = data, but y[index[.., :], ..] is combined with updates[..]. Inputs: data, index, updates.
    pub struct ScatterND { reduction: Reduction = Reduction::None }
}

attributes! {
    /// `rows` rows of zeros, to which row u of the updates is added at idx[u]. Inputs: updates, idx.
    pub struct ScatterAdd { rows: usize }
}

crate::entries!(ScatterAdd: add_cases, ScatterElements: elements_cases, ScatterND: nd_cases);

fn check_type(ty: &TensorType, reduction: Reduction) -> Result<()> {
    let moves = reduction == Reduction::None && !ty.element.is_block();
    let fits = moves || ty.element.is_float() || ty.element.is_integer();
    ensure!(fits, InvalidGraph, "reduction {} does not take {}", reduction.text(), ty.element);
    Ok(())
}

/// Rows of `columns` elements of data, combined with the updates at their targets.
fn combine(data: Tensor, updates: &Tensor, targets: &[usize], columns: usize, reduction: Reduction) -> Tensor {
    let ty = data.ty().clone();
    let row = columns * ty.element.block_bytes();
    if reduction == Reduction::None {
        let mut y = data;
        for (u, &target) in targets.iter().enumerate() {
            y.bytes_mut()[target * row..][..row].copy_from_slice(&updates.bytes()[u * row..][..row]);
        }
        return y;
    }
    if ty.element.is_float() {
        let f: fn(f64, f64) -> f64 = match reduction {
            Reduction::Mul => |a, b| a * b,
            Reduction::Max => |a, b| if a.is_nan() || a > b { a } else { b },
            Reduction::Min => |a, b| if a.is_nan() || a < b { a } else { b },
            _ => |a, b| a + b,
        };
        return Tensor::from_f64(ty, &folded(data.to_f64(), &updates.to_f64(), targets, columns, f));
    }
    let f: fn(i128, i128) -> i128 = match reduction {
        // Only the low 64 bits matter: the tensor's type is at most as wide.
        Reduction::Mul => |a, b| a.wrapping_mul(b),
        Reduction::Max => i128::max,
        Reduction::Min => i128::min,
        _ => i128::wrapping_add,
    };
    Tensor::from_i128(ty, &folded(data.to_i128(), &updates.to_i128(), targets, columns, f))
}

fn folded<T: Copy>(mut data: Vec<T>, updates: &[T], targets: &[usize], columns: usize, f: fn(T, T) -> T) -> Vec<T> {
    for (u, &target) in targets.iter().enumerate() {
        for c in 0..columns {
            let at = &mut data[target * columns + c];
            *at = f(*at, updates[u * columns + c]);
        }
    }
    data
}

impl Operator for ScatterElements {
    fn name(&self) -> &'static str {
        "ScatterElements"
    }

    fn attributes(&self) -> Attributes {
        self.to_attributes()
    }

    fn checked_inputs(&self) -> &'static [usize] {
        &[1]
    }
    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        ins.expect(3..=3)?;
        let (data, index, updates) = (ins.get(0)?, ins.get(1)?, ins.get(2)?);
        check_type(data, self.reduction)?;
        check_fit(self.axis, data, index)?;
        ensure!(
            *updates == index.with_element(data.element),
            InvalidGraph,
            "data is {data}, the index {index}, the updates {updates}"
        );
        Ok(vec![data.clone()])
    }

    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        let (data, index, updates) = (at.input(0)?, at.input(1)?, at.input(2)?);
        let targets = positions(at, self.axis, data.ty(), index)?;
        Ok(vec![combine(data.clone(), updates, &targets, 1, self.reduction)])
    }

    fn lower(&self, at: &mut Lowering) -> Result<()> {
        let (data, index) = (at.input_type(0), at.input_type(1));
        let axis = normalize_axis(self.axis, data.rank())?;
        let layout = Layout { rows: data.elements(), columns: 1, updates: index.elements() };
        let points = Points {
            elements: true,
            words: if index.elements() > 0 { axis_words(index, data, 1)? } else { Vec::new() },
            axis_count: data.rank(),
            axis: data.rank() - 1 - axis,
            extent: data.dims[axis],
            per_batch: 1,
        };
        lower(at, self.reduction, layout, points, (Some(0), 1, 2))
    }

    fn in_place(&self, _ins: &Inputs<TensorType>) -> Vec<(usize, usize)> {
        vec![(0, 0)]
    }

    fn terms(&self, ins: &Inputs<TensorType>) -> usize {
        ins.opt(1).map_or(1, TensorType::elements)
    }
}

impl ScatterND {
    /// Coordinates of a tuple.
    fn coordinates(data: &TensorType, index: &TensorType) -> Result<usize> {
        ensure!(index.rank() > 0, InvalidGraph, "the index needs a last axis of coordinates");
        let k = index.last();
        ensure!((1..=data.rank()).contains(&k), InvalidGraph, "{k} coordinates a tuple, data {data} takes 1 to {}", data.rank());
        Ok(k)
    }

    fn tuples(data: &TensorType, index: &TensorType) -> Result<Tuples> {
        let k = Self::coordinates(data, index)?;
        let after = |axis: usize| element_count(&data.dims[axis..]);
        let row = after(k);
        let count = index.elements() / k;
        // Strides in rows: a row of no elements has no place.
        let axes = (0..k).map(|axis| (data.dims[axis], after(axis + 1).checked_div(row).unwrap_or(0))).collect();
        Ok(Tuples { count, per_batch: count.max(1), shared: false, batch_bytes: 0, axes, row_bytes: 1 })
    }
}

impl Operator for ScatterND {
    fn name(&self) -> &'static str {
        "ScatterND"
    }

    fn attributes(&self) -> Attributes {
        self.to_attributes()
    }

    fn checked_inputs(&self) -> &'static [usize] {
        &[1]
    }
    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        ins.expect(3..=3)?;
        let (data, index, updates) = (ins.get(0)?, ins.get(1)?, ins.get(2)?);
        check_type(data, self.reduction)?;
        check_index_type(index)?;
        let k = Self::coordinates(data, index)?;
        let want = [&index.dims[..index.rank() - 1], &data.dims[k..]].concat();
        let fits = updates.element == data.element && updates.dims == want;
        ensure!(fits, InvalidGraph, "the updates are {updates}, not {} {}", data.element, dims_text(&want));
        Ok(vec![data.clone()])
    }

    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        let (data, index, updates) = (at.input(0)?, at.input(1)?, at.input(2)?);
        let targets = Self::tuples(data.ty(), index.ty())?.offsets(at, index)?;
        let columns = element_count(&data.dims()[index.ty().last()..]);
        Ok(vec![combine(data.clone(), updates, &targets, columns, self.reduction)])
    }

    fn lower(&self, at: &mut Lowering) -> Result<()> {
        let (data, index) = (at.input_type(0), at.input_type(1));
        let k = index.last();
        let layout =
            Layout { rows: element_count(&data.dims[..k]), columns: element_count(&data.dims[k..]), updates: index.elements() / k };
        lower(at, self.reduction, layout, Points::tuples(&Self::tuples(data, index)?)?, (Some(0), 1, 2))
    }

    fn in_place(&self, _ins: &Inputs<TensorType>) -> Vec<(usize, usize)> {
        vec![(0, 0)]
    }

    fn terms(&self, ins: &Inputs<TensorType>) -> usize {
        ins.opt(1).map_or(1, TensorType::elements)
    }
}

impl ScatterAdd {
    fn tuples(&self, idx: &TensorType) -> Tuples {
        let count = idx.elements();
        Tuples { count, per_batch: count.max(1), shared: false, batch_bytes: 0, axes: vec![(self.rows, 1)], row_bytes: 1 }
    }
}

impl Operator for ScatterAdd {
    fn name(&self) -> &'static str {
        "ScatterAdd"
    }

    fn attributes(&self) -> Attributes {
        self.to_attributes()
    }

    fn checked_inputs(&self) -> &'static [usize] {
        &[1]
    }
    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        ins.expect(2..=2)?;
        let (updates, idx) = (ins.get(0)?, ins.get(1)?);
        check_type(updates, Reduction::Add)?;
        check_index_type(idx)?;
        ensure!(updates.rank() > 0, InvalidGraph, "the updates are a scalar");
        ensure!(idx.dims == updates.dims[..1], InvalidGraph, "the updates are {updates}, idx is {idx}");
        let mut dims = updates.dims.clone();
        dims[0] = self.rows;
        Ok(vec![updates.with_dims(dims)])
    }

    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        let (updates, idx) = (at.input(0)?, at.input(1)?);
        let targets = self.tuples(idx.ty()).offsets(at, idx)?;
        let columns = element_count(&updates.dims()[1..]);
        Ok(vec![combine(Tensor::zeros(at.output_type(0).clone()), updates, &targets, columns, Reduction::Add)])
    }

    fn lower(&self, at: &mut Lowering) -> Result<()> {
        let (updates, idx) = (at.input_type(0), at.input_type(1));
        let layout = Layout { rows: self.rows, columns: element_count(&updates.dims[1..]), updates: idx.elements() };
        lower(at, Reduction::Add, layout, Points::tuples(&self.tuples(idx))?, (None, 1, 0))
    }

    fn terms(&self, ins: &Inputs<TensorType>) -> usize {
        ins.opt(1).map_or(1, TensorType::elements)
    }
}

fn reduction(r: Reduction) -> (&'static str, Attribute) {
    ("reduction", Attribute::Text(r.text().into()))
}

fn numbers() -> impl Iterator<Item = ElementType> {
    EVERY.iter().copied().filter(|e| e.is_float() || e.is_integer())
}

fn elements_cases() -> Vec<Case> {
    let case = |axis: i64, r: Reduction, element, dims: &[usize], index_type, index: &[usize], extent: f64| {
        Case::new("ScatterElements", &[("axis", Attribute::Int(axis)), reduction(r)])
            .input(element, dims)
            .fill(index_type, index, Fill::Range(-extent, extent))
            .input(element, index)
    };
    use ElementType::{F32, I32, I64};
    let mut out: Vec<Case> = EVERY.iter().map(|&e| case(1, Reduction::None, e, &[3, 5], I64, &[3, 7], 5.0)).collect();
    for &r in &Reduction::ALL[1..] {
        out.extend(numbers().map(|e| case(1, r, e, &[3, 5], I32, &[3, 7], 5.0)));
        out.push(case(0, r, F32, &[300, 3], I64, &[65537, 1], 300.0));
        out.push(case(0, r, F32, &[3], I32, &[2049], 3.0));
    }
    for &element in WIDTHS {
        out.push(case(2, Reduction::None, element, &[2, 1, 3, 2, 2], I32, &[1, 1, 4, 2, 1], 3.0));
        out.push(case(0, Reduction::None, element, &[257], I32, &[65537], 257.0));
    }
    out.push(case(1, Reduction::None, F32, &[2, 3], I64, &[2, 0], 3.0));
    out.push(case(1, Reduction::Add, F32, &[2, 3], I64, &[2, 0], 3.0));
    out
}

fn nd_cases() -> Vec<Case> {
    let case = |r: Reduction, element, dims: &[usize], index_type, index: &[usize], extent: f64| {
        let k = index[index.len() - 1];
        let updates = [&index[..index.len() - 1], &dims[k..]].concat();
        Case::new("ScatterND", &[reduction(r)])
            .input(element, dims)
            .fill(index_type, index, Fill::Range(-extent, extent))
            .input(element, &updates)
    };
    use ElementType::{F32, I32, I64};
    let mut out: Vec<Case> = EVERY.iter().map(|&e| case(Reduction::None, e, &[5, 3], I64, &[7, 1], 5.0)).collect();
    for &r in Reduction::ALL {
        out.push(case(r, F32, &[4, 3, 64], I32, &[31, 2], 3.0));
        out.push(case(r, F32, &[4, 1031], I64, &[3, 5, 1], 4.0));
        out.push(case(r, F32, &[7, 9], I64, &[3000, 1], 7.0));
        out.push(case(r, F32, &[3, 0], I64, &[2, 1], 3.0));
        out.push(case(r, F32, &[3, 2], I64, &[0, 1], 3.0));
    }
    for &element in WIDTHS {
        out.push(case(Reduction::None, element, &[7, 64], I64, &[5, 1], 7.0));
    }
    out
}

fn add_cases() -> Vec<Case> {
    let case = |rows: usize, element, updates: &[usize], index_type| {
        Case::new("ScatterAdd", &[("rows", Attribute::Int(rows as i64))]).input(element, updates).fill(
            index_type,
            &updates[..1],
            Fill::Range(-(rows as f64), rows as f64),
        )
    };
    use ElementType::{F32, I32, I64};
    let mut out: Vec<Case> = numbers().map(|e| case(7, e, &[29, 5], I32)).collect();
    out.push(case(4, F32, &[2049, 3, 43], I64));
    out.push(case(70000, F32, &[1000, 2], I64));
    out.push(case(1, F32, &[1000, 300], I32));
    out.push(case(3, F32, &[100_000], I32));
    out.push(case(2, F32, &[0, 3], I32));
    out.push(case(0, F32, &[0, 3], I32));
    out.push(case(5, F32, &[3, 0], I32));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(op: &dyn Operator, inputs: &[&Tensor]) -> Result<Vec<f64>> {
        let tensors: Vec<Option<&Tensor>> = inputs.iter().copied().map(Some).collect();
        let types: Vec<Option<&TensorType>> = inputs.iter().map(|t| Some(t.ty())).collect();
        let outputs = op.infer(&Inputs(&types))?;
        let at = Reference { inputs: Inputs(&tensors), outputs: &outputs, run: Default::default(), unchecked_indices: false };
        Ok(op.reference(&at)?[0].to_f64())
    }

    #[test]
    fn duplicates_add_and_the_last_replacement_wins() {
        let data = Tensor::from_slice(&[1, 3, 5], &[0f32; 15]);
        let index = Tensor::from_slice(&[1, 2, 3], &[0i64, 1, 2, 0, 1, 1]);
        let updates = Tensor::from_slice(&[1, 2, 3], &[1f32, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let op = |reduction| ScatterElements { axis: 1, reduction };
        let mut want = [0.0; 15];
        (want[0], want[6], want[7], want[12]) = (5.0, 7.0, 6.0, 3.0);
        assert_eq!(run(&op(Reduction::Add), &[&data, &index, &updates]).expect("fits"), want);
        (want[0], want[6]) = (4.0, 5.0);
        assert_eq!(run(&op(Reduction::None), &[&data, &index, &updates]).expect("fits"), want);
    }

    #[test]
    fn largest_and_smallest_keep_nan() {
        let data = Tensor::from_slice(&[3], &[1f32, f32::NAN, 2.0]);
        let index = Tensor::from_slice(&[3], &[0i32, 1, -1]);
        let updates = Tensor::from_slice(&[3], &[f32::NAN, 5.0, 3.0]);
        for (reduction, last) in [(Reduction::Max, 3.0), (Reduction::Min, 2.0)] {
            let got = run(&ScatterElements { axis: 0, reduction }, &[&data, &index, &updates]).expect("fits");
            assert!(got[0].is_nan() && got[1].is_nan() && got[2] == last);
        }
    }

    #[test]
    fn bad_indices_and_shapes_are_errors() {
        let data = Tensor::from_slice(&[2, 2], &[0i32; 4]);
        let index = |v: &[i64]| Tensor::from_slice(&[v.len(), 1], v);
        let updates = Tensor::from_slice(&[1, 2], &[1i32, 2]);
        let op = ScatterND { reduction: Reduction::Add };
        assert_eq!(run(&op, &[&data, &index(&[-2]), &updates]).expect("fits"), [1.0, 2.0, 0.0, 0.0]);
        assert!(run(&op, &[&data, &index(&[2]), &updates]).is_err());
        assert!(run(&op, &[&data, &index(&[-3]), &updates]).is_err());
        assert!(run(&op, &[&data, &index(&[0, 1]), &updates]).is_err());
        let flags = Tensor::zeros(TensorType::new(ElementType::Bool, [2, 2]));
        assert!(run(&op, &[&flags, &index(&[0]), &flags]).is_err());
    }
}
