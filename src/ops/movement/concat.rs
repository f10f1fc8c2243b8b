//! Concat: operands beside each other along one axis.

use super::strided::{StridedCopy, common_unit, divider, unit_name};
use super::types::{EVERY, WIDTHS};
use crate::kernels::kernel;
use crate::ops::{Attribute, Attributes, Case, Inputs, Lowering, Operator, Reference};
use crate::tensor::{ElementType, Tensor, TensorType, element_count, normalize_axis};
use crate::{Result, attributes, ensure, error};

attributes! {
    /// x1..xn beside each other along `axis`.
    pub struct Concat { axis: i64 }
}

crate::entries!(Concat: cases);

/// Operands that one dispatch of concat.comp takes.
const OPERANDS: usize = 8;

/// Where one operand goes: rows of so many bytes, at an offset in the rows of the result.
struct Part {
    operand: usize,
    offset: usize,
    bytes: usize,
}

impl Concat {
    fn axis(&self, rank: usize) -> usize {
        normalize_axis(self.axis, rank).expect("the shape rule checked the axis")
    }

    /// Rows before the axis, bytes of a row of the result, and the operands that are not empty.
    fn parts(&self, ins: &[&TensorType], out: &TensorType) -> (usize, usize, Vec<Part>) {
        let axis = self.axis(out.rank());
        let row = |ty: &TensorType| element_count(&ty.dims[axis..]) * ty.element.block_bytes();
        let mut parts = Vec::new();
        let mut offset = 0;
        for (operand, ty) in ins.iter().enumerate() {
            if ty.elements() > 0 {
                parts.push(Part { operand, offset, bytes: row(ty) });
                offset += row(ty);
            }
        }
        (element_count(&out.dims[..axis]), row(out), parts)
    }
}

impl Operator for Concat {
    fn name(&self) -> &'static str {
        "Concat"
    }

    fn attributes(&self) -> Attributes {
        self.to_attributes()
    }

    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        let first = ins.get(0)?;
        ensure!(!first.element.is_block(), InvalidGraph, "does not take the packed type {}", first.element);
        let axis = normalize_axis(self.axis, first.rank())?;
        let mut dims = first.dims.clone();
        for i in 1..ins.len() {
            let other = ins.get(i)?;
            ensure!(other.element == first.element, InvalidGraph, "input 0 is {}, input {i} is {}", first.element, other.element);
            let same = other.rank() == first.rank() && (0..first.rank()).all(|d| d == axis || other.dims[d] == first.dims[d]);
            ensure!(same, InvalidGraph, "input 0 is {first}, input {i} is {other}: they differ beside axis {axis}");
            let sum = dims[axis].checked_add(other.dims[axis]);
            dims[axis] = sum.ok_or_else(|| error!(InvalidGraph, "the sum of the extents of axis {axis} is too large"))?;
        }
        Ok(vec![first.with_dims(dims)])
    }

    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        let ins: Vec<&Tensor> = (0..at.inputs.len()).map(|i| at.input(i)).collect::<Result<_>>()?;
        let types: Vec<&TensorType> = ins.iter().map(|t| t.ty()).collect();
        let mut y = Tensor::zeros(at.output_type(0).clone());
        let (rows, width, parts) = self.parts(&types, at.output_type(0));
        for part in parts {
            let x = ins[part.operand].bytes();
            for row in 0..rows {
                y.bytes_mut()[row * width + part.offset..][..part.bytes].copy_from_slice(&x[row * part.bytes..][..part.bytes]);
            }
        }
        Ok(vec![y])
    }

    fn lower(&self, at: &mut Lowering) -> Result<()> {
        let types: Vec<&TensorType> = (0..at.input_count()).map(|i| at.input_type(i)).collect();
        let (rows, width, parts) = self.parts(&types, at.output_type(0));
        let unit = common_unit(parts.iter().flat_map(|p| [p.offset, p.bytes]).chain([width]));
        if rows > 1 && rows * (width / unit) < 1 << 31 {
            return parts.chunks(OPERANDS).try_for_each(|some| lower_together(some, rows, width, unit, at));
        }
        // One piece an operand, or more units than one dispatch moves.
        parts.iter().try_for_each(|part| {
            let axes = [(rows, part.bytes as i64, width as i64), (part.bytes, 1, 1)];
            let y = if rows == 1 { at.output(0).part(part.offset, part.bytes) } else { at.output(0) };
            StridedCopy::new(1, axes).starting(0, if rows == 1 { 0 } else { part.offset }).lower(at, at.input(part.operand), y)
        })
    }

    fn views(&self, ins: &Inputs<TensorType>, outs: &[TensorType]) -> Vec<Option<(usize, usize)>> {
        let full: Vec<usize> = (0..ins.len()).filter(|&i| ins.opt(i).is_some_and(|ty| ty.elements() > 0)).collect();
        match (&full[..], outs) {
            (&[only], [y]) if y.elements() > 0 => vec![Some((only, 0))],
            _ => Vec::new(),
        }
    }
}

/// One dispatch for up to `OPERANDS` operands that lie beside each other in the result.
fn lower_together(parts: &[Part], rows: usize, width: usize, unit: usize, at: &mut Lowering) -> Result<()> {
    let first = parts[0].offset;
    let ends: Vec<usize> = parts.iter().map(|p| (p.offset + p.bytes - first) / unit).collect();
    let across = ends[ends.len() - 1];
    let [multiplier, shift] = divider(across)?;
    let operand = |k: usize| &parts[k.min(parts.len() - 1)];
    let mut words: Vec<u32> = vec![across as u32, multiplier, shift, (width / unit) as u32];
    words.extend((0..OPERANDS).map(|k| ends[k.min(ends.len() - 1)] as u32));
    let table = at.constants(&words);
    let xs: Vec<_> = (0..OPERANDS).map(|k| at.input(operand(k).operand)).collect();
    let y = at.output(0);
    let y = y.part(first, y.bytes - first);
    let mut dispatch =
        at.dispatch(kernel::concat(&unit_name(unit))?).write("y", y).read("table", table).uint("count", rows * across);
    for (k, x) in xs.into_iter().enumerate() {
        dispatch = dispatch.read(&format!("x{k}"), x);
    }
    dispatch.groups((rows * across).div_ceil(1024))
}

fn cases() -> Vec<Case> {
    let case = |axis: i64, element: ElementType, shapes: &[&[usize]]| {
        shapes.iter().fold(Case::new("Concat", &[("axis", Attribute::Int(axis))]), |case, dims| case.input(element, dims))
    };
    let mut out: Vec<Case> = EVERY.iter().map(|&e| case(1, e, &[&[3, 3], &[3, 2]])).collect();
    for &element in WIDTHS {
        out.push(case(0, element, &[&[2, 5], &[3, 5]]));
        out.push(case(-1, element, &[&[7, 1], &[7, 64], &[7, 0], &[7, 3]]));
        out.push(case(1, element, &[&[5, 64, 4], &[5, 32, 4], &[5, 128, 4]]));
        out.push(case(-3, element, &[&[2, 1, 1, 3, 2], &[2, 1, 2, 3, 2]]));
        out.push(case(1, element, &[[2usize, 1], [2, 2], [2, 3]].repeat(6).iter().map(|d| &d[..]).collect::<Vec<_>>()));
    }
    out.push(case(0, ElementType::F32, &[&[0, 3], &[2, 3], &[0, 3]]));
    out.push(case(0, ElementType::F32, &[&[0, 3], &[0, 3]]));
    out.push(case(1, ElementType::F32, &[&[65537, 1], &[65537, 2]]));
    out.push(case(0, ElementType::I64, &[&[5]]));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_must_agree() {
        let infer = |types: &[TensorType]| {
            let types: Vec<Option<&TensorType>> = types.iter().map(Some).collect();
            Concat { axis: 1 }.infer(&Inputs(&types))
        };
        let f32 = |dims: &[usize]| TensorType::new(ElementType::F32, dims);
        assert_eq!(infer(&[f32(&[2, 3]), f32(&[2, 5])]).expect("fits"), [f32(&[2, 8])]);
        assert!(infer(&[f32(&[2, 3]), f32(&[3, 3])]).is_err());
        assert!(infer(&[f32(&[2, 3]), f32(&[2, 3, 1])]).is_err());
        assert!(infer(&[f32(&[2, 3]), TensorType::new(ElementType::F16, [2, 3])]).is_err());
        assert!(infer(&[f32(&[4])]).is_err());
        assert!(infer(&[]).is_err());
    }
}
