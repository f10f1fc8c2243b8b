//! GatherElements: single elements along one axis.

use super::index::check_index_type;
use super::strided::{divider, halves, unit_name};
use super::types::{EVERY, WIDTHS};
use crate::kernels::kernel;
use crate::ops::{Attribute, Attributes, Case, Fill, Inputs, Lowering, Operator, Reference, checked_index};
use crate::tensor::{ElementType, Tensor, TensorType, normalize_axis, row_strides};
use crate::{Result, attributes, ensure};

attributes! {
    /// y[c] = data[c with its coordinate along `axis` replaced by index[c]].
    pub struct GatherElements { axis: i64 = 0 }
}

crate::entries!(GatherElements: cases);

/// Checks that an index tensor fits into data beside `axis`; gives the axis.
pub fn check_fit(axis: i64, data: &TensorType, index: &TensorType) -> Result<usize> {
    ensure!(!data.element.is_block(), InvalidGraph, "does not take the packed type {}", data.element);
    check_index_type(index)?;
    let axis = normalize_axis(axis, data.rank())?;
    ensure!(index.rank() == data.rank(), InvalidGraph, "data is {data}, the index {index} has another rank");
    let fits = (0..data.rank()).all(|d| d == axis || index.dims[d] <= data.dims[d]);
    ensure!(fits, InvalidGraph, "the index {index} passes data {data} beside axis {axis}");
    Ok(axis)
}

/// Flat positions in data that the elements of an index tensor point to.
pub fn positions(at: &Reference, axis: i64, data: &TensorType, index: &Tensor) -> Result<Vec<usize>> {
    let axis = normalize_axis(axis, data.rank())?;
    let (strides, steps) = (row_strides(&data.dims), row_strides(index.dims()));
    let point = |(i, v): (usize, i128)| {
        let picked = checked_index(at, v, data.dims[axis], true, i)?;
        Ok((0..data.rank()).map(|d| strides[d] * if d == axis { picked } else { i / steps[d] % index.dims()[d] }).sum())
    };
    index.to_i128().into_iter().enumerate().map(point).collect()
}

/// The axes of an index tensor, the innermost first, in the form of the shaders: size, multiplier, shift, 0, and a stride in units of
/// `scale`, 0, 0.
pub fn axis_words(index: &TensorType, data: &TensorType, scale: usize) -> Result<Vec<u32>> {
    let strides = row_strides(&data.dims);
    let mut words = Vec::with_capacity(index.rank() * 8);
    for (&size, stride) in index.dims.iter().zip(strides).rev() {
        let [multiplier, shift] = divider(size)?;
        let [low, high] = halves((stride * scale) as u64);
        words.extend([size as u32, multiplier, shift, 0, low, high, 0, 0]);
    }
    Ok(words)
}

impl Operator for GatherElements {
    fn name(&self) -> &'static str {
        "GatherElements"
    }

    fn attributes(&self) -> Attributes {
        self.to_attributes()
    }

    fn checked_inputs(&self) -> &'static [usize] {
        &[1]
    }
    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        ins.expect(2..=2)?;
        let (data, index) = (ins.get(0)?, ins.get(1)?);
        check_fit(self.axis, data, index)?;
        Ok(vec![index.with_element(data.element)])
    }

    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        let (data, index) = (at.input(0)?, at.input(1)?);
        let mut y = Tensor::zeros(at.output_type(0).clone());
        let bytes = data.element().block_bytes();
        let from = positions(at, self.axis, data.ty(), index)?;
        for (out, from) in y.bytes_mut().chunks_exact_mut(bytes).zip(from) {
            out.copy_from_slice(&data.bytes()[from * bytes..][..bytes]);
        }
        Ok(vec![y])
    }

    fn lower(&self, at: &mut Lowering) -> Result<()> {
        let (data, index) = (at.input_type(0), at.input_type(1));
        let (axis, bytes, count) = (normalize_axis(self.axis, data.rank())?, data.element.block_bytes(), index.elements());
        ensure!(count < 1 << 31, Unsupported, "an index of {count} elements is above the limit");
        let axes = at.constants(&axis_words(index, data, bytes)?);
        let (x, i, y, state, node) = (at.input(0), at.input(1), at.output(0), at.run_state(), at.node_number());
        at.dispatch(kernel::gather_elements(&unit_name(bytes))?)
            .read("data", x)
            .read("index", i)
            .write("y", y)
            .read("axes", axes)
            .read_write("state", state)
            .uint("node", node as usize)
            .uint("count", count)
            .uint("axis_count", data.rank())
            .uint("axis", data.rank() - 1 - axis)
            .uint("extent", data.dims[axis])
            .spec("WIDE_INDEX", (index.element == ElementType::I64).into())
            .threads(count)
    }
}

fn cases() -> Vec<Case> {
    let case = |axis: i64, element, dims: &[usize], index_type, index: &[usize], extent: f64| {
        Case::new("GatherElements", &[("axis", Attribute::Int(axis))]).input(element, dims).fill(
            index_type,
            index,
            Fill::Range(-extent, extent),
        )
    };
    use ElementType::{F32, I32, I64};
    let mut out: Vec<Case> = EVERY.iter().map(|&e| case(1, e, &[3, 5], I64, &[3, 7], 5.0)).collect();
    for &element in WIDTHS {
        out.push(case(0, element, &[4, 5], I32, &[2, 3], 4.0));
        out.push(case(2, element, &[2, 1, 3, 2, 2], I32, &[2, 1, 4, 2, 2], 3.0));
        out.push(case(-2, element, &[65537, 5, 3], I64, &[65537, 2, 3], 5.0));
    }
    out.push(case(1, F32, &[3, 5], I64, &[3, 0], 5.0));
    out
}
