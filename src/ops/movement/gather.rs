//! Gather and GatherND: rows that indices point to.

use super::index::{Tuples, check_index_type, lanes};
use super::strided::{block_dims, common_unit, halves, unit_name};
use super::types::{EVERY, WIDTHS};
use crate::kernels::kernel;
use crate::ops::{Attribute, Attributes, Case, Fill, Inputs, Lowering, Operator, Reference};
use crate::tensor::{ElementType, Tensor, TensorType, dims_text, element_count, normalize_axis};
use crate::{Result, attributes, ensure};

attributes! {
    /// y = data[.., index, ..] along `axis`. Rows of packed blocks stay packed.
    pub struct Gather { axis: i64 }
}

attributes! {
    /// y[b, ..] = data[b, index[b, .., :]]: the last axis of the index holds coordinates.
    pub struct GatherND { batch_dims: i64 = 0 }
}

crate::entries!(Gather: gather_cases, GatherND: gather_nd_cases);

/// What the two operators have in common.
trait Rows {
    fn dims(&self, data: &TensorType, index: &TensorType) -> Result<Vec<usize>>;
    fn tuples(&self, data: &TensorType, index: &TensorType) -> Tuples;
}

impl Rows for Gather {
    fn dims(&self, data: &TensorType, index: &TensorType) -> Result<Vec<usize>> {
        let axis = normalize_axis(self.axis, data.rank())?;
        ensure!(!data.element.is_block() || axis + 1 < data.rank(), InvalidGraph, "cannot pick single elements of {data}");
        Ok([&data.dims[..axis], &index.dims, &data.dims[axis + 1..]].concat())
    }

    fn tuples(&self, data: &TensorType, index: &TensorType) -> Tuples {
        let axis = normalize_axis(self.axis, data.rank()).expect("the shape rule checked the axis");
        let dims = block_dims(data);
        let row_bytes = element_count(&dims[axis + 1..]) * data.element.block_bytes();
        Tuples {
            count: element_count(&dims[..axis]) * index.elements(),
            per_batch: index.elements(),
            shared: true,
            batch_bytes: dims[axis] * row_bytes,
            axes: vec![(dims[axis], row_bytes)],
            row_bytes,
        }
    }
}

impl Rows for GatherND {
    fn dims(&self, data: &TensorType, index: &TensorType) -> Result<Vec<usize>> {
        ensure!(!data.element.is_block(), InvalidGraph, "does not take the packed type {}", data.element);
        ensure!(index.rank() > 0, InvalidGraph, "the index needs a last axis of coordinates");
        let (batch, k) = (self.batch_dims, index.last());
        let batch = usize::try_from(batch).ok().filter(|&b| b < index.rank() && b <= data.rank());
        let Some(batch) = batch else {
            crate::bail!(InvalidGraph, "batch_dims {} for data {data}, index {index}", self.batch_dims)
        };
        let same = data.dims[..batch] == index.dims[..batch];
        ensure!(
            same,
            InvalidGraph,
            "the first {batch} dims of data {} and index {} differ",
            dims_text(&data.dims),
            dims_text(&index.dims)
        );
        let most = data.rank() - batch;
        ensure!(
            (1..=most).contains(&k),
            InvalidGraph,
            "{k} coordinates a tuple, data {data} with batch_dims {batch} takes 1 to {most}"
        );
        Ok([&index.dims[..index.rank() - 1], &data.dims[batch + k..]].concat())
    }

    fn tuples(&self, data: &TensorType, index: &TensorType) -> Tuples {
        let (batch, k) = (self.batch_dims as usize, index.last());
        let bytes = data.element.block_bytes();
        let after = |axis: usize| element_count(&data.dims[axis..]) * bytes;
        let count = index.elements() / k;
        Tuples {
            count,
            per_batch: (count / element_count(&index.dims[..batch]).max(1)).max(1),
            shared: false,
            batch_bytes: after(batch),
            axes: (batch..batch + k).map(|axis| (data.dims[axis], after(axis + 1))).collect(),
            row_bytes: after(batch + k),
        }
    }
}

fn infer<T: Rows>(op: &T, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
    ins.expect(2..=2)?;
    let (data, index) = (ins.get(0)?, ins.get(1)?);
    check_index_type(index)?;
    Ok(vec![data.with_dims(op.dims(data, index)?)])
}

fn reference<T: Rows>(op: &T, at: &Reference) -> Result<Vec<Tensor>> {
    let (data, index) = (at.input(0)?, at.input(1)?);
    let mut y = Tensor::zeros(at.output_type(0).clone());
    let tuples = op.tuples(data.ty(), index.ty());
    let row = tuples.row_bytes;
    for (r, offset) in tuples.offsets(at, index)?.into_iter().enumerate() {
        y.bytes_mut()[r * row..][..row].copy_from_slice(&data.bytes()[offset..][..row]);
    }
    Ok(vec![y])
}

fn lower<T: Rows>(op: &T, at: &mut Lowering) -> Result<()> {
    let index_type = at.input_type(1);
    let tuples = op.tuples(at.input_type(0), index_type);
    let unit = common_unit(tuples.axes.iter().map(|a| a.1).chain([tuples.row_bytes, tuples.batch_bytes]));
    let units = tuples.row_bytes / unit;
    let lanes = lanes(units);
    let chunks = units.div_ceil(lanes * 4);
    let mut words = [halves(tuples.row_bytes as u64), halves(tuples.batch_bytes as u64)].concat();
    for &(extent, stride) in &tuples.axes {
        let extent = u32::try_from(extent).map_err(|_| crate::error!(Unsupported, "an axis of {extent} elements is indexed"))?;
        words.push(extent);
        words.extend(halves(stride as u64));
    }
    ensure!(units < 1 << 31, Unsupported, "rows of {} bytes are above the limit", tuples.row_bytes);
    let table = at.constants(&words);
    let (data, index, y, state, node) = (at.input(0), at.input(1), at.output(0), at.run_state(), at.node_number());
    at.dispatch(kernel::gather_rows(&unit_name(unit))?)
        .read("data", data)
        .read("index", index)
        .write("y", y)
        .read("table", table)
        .read_write("state", state)
        .uint("node", node as usize)
        .uint("rows", tuples.count)
        .uint("units", units)
        .uint("chunks", chunks)
        .uint("per_batch", tuples.per_batch)
        .uint("tuple", tuples.axes.len())
        .spec("LANES", lanes as u32)
        .spec("SHARE", tuples.shared.into())
        .spec("WIDE_INDEX", (index_type.element == ElementType::I64).into())
        .groups(tuples.count.div_ceil(256 / lanes) * chunks)
}

macro_rules! gathers {
    ($($name:ident),*) => {
        $(impl Operator for $name {
            fn name(&self) -> &'static str {
                stringify!($name)
            }
            fn attributes(&self) -> Attributes {
                self.to_attributes()
            }
            fn checked_inputs(&self) -> &'static [usize] {
                &[1]
            }
            fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
                infer(self, ins)
            }
            fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
                reference(self, at)
            }
            fn lower(&self, at: &mut Lowering) -> Result<()> {
                lower(self, at)
            }
        })*
    };
}
gathers!(Gather, GatherND);

fn gather_cases() -> Vec<Case> {
    let case = |axis: i64, element, dims: &[usize], index_type, index: &[usize], extent: f64| {
        Case::new("Gather", &[("axis", Attribute::Int(axis))]).input(element, dims).fill(
            index_type,
            index,
            Fill::Range(-extent, extent),
        )
    };
    use ElementType::{F32, I32, I64};
    let mut out: Vec<Case> = EVERY.iter().map(|&e| case(0, e, &[13, 5], I64, &[7], 13.0)).collect();
    for &element in WIDTHS {
        out.push(case(1, element, &[3, 11, 2], I32, &[2, 3], 11.0));
        out.push(case(-1, element, &[3, 7], I32, &[], 7.0));
        out.push(case(0, element, &[31, 64], I32, &[5, 2], 31.0));
        out.push(case(0, element, &[7, 4100], I64, &[3], 7.0));
        out.push(case(0, element, &[257], I32, &[65537], 257.0));
    }
    out.push(case(0, F32, &[5, 3], I64, &[0], 5.0));
    out.push(case(0, F32, &[4, 0], I64, &[2], 4.0));
    out
}

fn gather_nd_cases() -> Vec<Case> {
    let case = |batch: i64, element, dims: &[usize], index_type, index: &[usize], extent: f64| {
        Case::new("GatherND", &[("batch_dims", Attribute::Int(batch))]).input(element, dims).fill(
            index_type,
            index,
            Fill::Range(-extent, extent),
        )
    };
    use ElementType::{F32, I32, I64};
    let mut out: Vec<Case> = EVERY.iter().map(|&e| case(0, e, &[3, 4, 5], I64, &[2, 2, 1], 3.0)).collect();
    for &element in WIDTHS {
        out.push(case(1, element, &[3, 4, 5], I64, &[3, 2, 1], 4.0));
        out.push(case(2, element, &[2, 3, 4, 5], I32, &[2, 3, 1], 4.0));
        out.push(case(0, element, &[4, 3, 7], I32, &[65537, 2], 3.0));
        out.push(case(0, element, &[3, 3, 3, 2, 2, 2, 2, 3], I32, &[5, 8], 2.0));
    }
    out.push(case(0, F32, &[3, 4], I64, &[0, 1], 3.0));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_pass_32_bits() {
        // Row 239674 of a table of 262144 x 8960 f16 starts behind 4 GiB.
        let data = TensorType::new(ElementType::F16, [262_144, 8960]);
        let tuples = Gather { axis: 0 }.tuples(&data, &TensorType::new(ElementType::I32, [1]));
        assert_eq!(tuples.axes, [(262_144, 17_920)]);
        let reference = Reference { inputs: Inputs(&[]), outputs: &[], run: Default::default(), unchecked_indices: false };
        let index = Tensor::from_slice(&[1], &[239_674i32]);
        assert_eq!(tuples.offsets(&reference, &index).expect("within"), [239_674 * 17_920]);
        let outside = Tensor::from_slice(&[1], &[262_144i32]);
        assert!(tuples.offsets(&reference, &outside).is_err());
    }

    #[test]
    fn shapes_follow_onnx() {
        let ty = |dims: &[usize]| TensorType::new(ElementType::F32, dims);
        let index = |dims: &[usize]| TensorType::new(ElementType::I64, dims);
        assert_eq!(Gather { axis: 1 }.dims(&ty(&[2, 3, 4]), &index(&[5, 6])).expect("fits"), [2, 5, 6, 4]);
        assert_eq!(Gather { axis: -1 }.dims(&ty(&[2, 3]), &index(&[])).expect("fits"), [2]);
        let nd = |batch_dims| GatherND { batch_dims };
        assert_eq!(nd(1).dims(&ty(&[2, 3, 4]), &index(&[2, 1])).expect("fits"), [2, 4]);
        assert!(nd(1).dims(&ty(&[2, 3, 4]), &index(&[3, 1])).is_err());
        assert!(nd(0).dims(&ty(&[2, 3]), &index(&[2, 3])).is_err());
        assert!(nd(2).dims(&ty(&[2, 3]), &index(&[2, 3])).is_err());
        assert!(nd(-1).dims(&ty(&[2, 3]), &index(&[2, 1])).is_err());
    }
}
