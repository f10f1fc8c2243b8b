//! The product over any axes, as XLA defines it.

use super::product::{BatchAxis, Matrix, Product, lower_product, pack};
use super::reference::{MatrixView, multiply_batch};
use crate::ops::{Attribute, Attributes, Case, Inputs, Lowering, Operand, Operator, Reference};
use crate::tensor::{ElementType, Tensor, TensorType, dims_text, normalize_axis, row_strides};
use crate::{Result, attributes, ensure};

attributes! {
    /// Sums over the contract axes of a and b, pairwise, for each index of the batch axes, pairwise. The result's axes are the
    /// batch, then a's free axes, then b's free axes.
    pub struct DotGeneral {
        a_contract: Vec<i64> = Vec::new(),
        b_contract: Vec<i64> = Vec::new(),
        a_batch: Vec<i64> = Vec::new(),
        b_batch: Vec<i64> = Vec::new(),
    }
}

crate::entries!(DotGeneral: cases);

/// Extent and stride in elements.
type Axis = (usize, usize);

/// An operand's axes by their role.
struct Roles {
    batch: Vec<Axis>,
    free: Vec<Axis>,
    contract: Vec<Axis>,
}

fn roles(name: &str, ty: &TensorType, batch: &[i64], contract: &[i64]) -> Result<Roles> {
    let strides = row_strides(&ty.dims);
    let mut taken = vec![false; ty.rank()];
    let mut pick = |axes: &[i64]| -> Result<Vec<Axis>> {
        let mut out = Vec::new();
        for &axis in axes {
            let i = normalize_axis(axis, ty.rank()).map_err(|e| e.within(name))?;
            ensure!(!taken[i], InvalidGraph, "axis {axis} of {name} {} is named twice", dims_text(&ty.dims));
            taken[i] = true;
            out.push((ty.dims[i], strides[i]));
        }
        Ok(out)
    };
    let (batch, contract) = (pick(batch)?, pick(contract)?);
    let free = (0..ty.rank()).filter(|&i| !taken[i]).map(|i| (ty.dims[i], strides[i])).collect();
    Ok(Roles { batch, free, contract })
}

fn extents(axes: &[Axis]) -> Vec<usize> {
    axes.iter().map(|axis| axis.0).collect()
}

fn count(axes: &[Axis]) -> usize {
    axes.iter().map(|axis| axis.0).product()
}

/// The axes as one of extent `count(axes)`: its stride, if they are evenly spaced.
fn merged(axes: &[Axis]) -> Option<usize> {
    let mut real = axes.iter().rev().filter(|axis| axis.0 != 1);
    let &(mut extent, stride) = real.next().unwrap_or(&(1, 1));
    for &(e, s) in real {
        if s != extent * stride {
            return None;
        }
        extent *= e;
    }
    Some(stride)
}

impl DotGeneral {
    fn both(&self, a: &TensorType, b: &TensorType) -> Result<(Roles, Roles)> {
        for (name, ty) in [("a", a), ("b", b)] {
            ensure!(ty.element.is_float(), InvalidGraph, "{name} must be of a float type, not {}", ty.element);
        }
        ensure!(a.element == b.element, InvalidGraph, "a is {}, b is {}: the types must be the same", a.element, b.element);
        let (ra, rb) = (roles("a", a, &self.a_batch, &self.a_contract)?, roles("b", b, &self.b_batch, &self.b_contract)?);
        for (what, x, y) in [("batch", &ra.batch, &rb.batch), ("contracted", &ra.contract, &rb.contract)] {
            let (x, y) = (dims_text(&extents(x)), dims_text(&extents(y)));
            ensure!(x == y, InvalidGraph, "the {what} axes are {x} in a and {y} in b");
        }
        Ok((ra, rb))
    }
}

/// The operand as a matrix of evenly spaced lines and k, with its strides along the batch; copied into that form if it is not.
fn matrix(at: &mut Lowering, element: ElementType, operand: Operand, roles: &Roles) -> Result<(Matrix, Vec<usize>)> {
    if let (Some(line), Some(k)) = (merged(&roles.free), merged(&roles.contract)) {
        return Ok((Matrix { operand, line, k }, roles.batch.iter().map(|axis| axis.1).collect()));
    }
    let axes = [&roles.batch[..], &roles.free, &roles.contract].concat();
    let (lines, depth) = (count(&roles.free), count(&roles.contract));
    let copy = pack(at, element, operand, &axes, false)?;
    let strides = row_strides(&extents(&roles.batch)).into_iter().map(|s| s * lines * depth).collect();
    Ok((Matrix { operand: copy, line: depth, k: 1 }, strides))
}

/// The values in the order batch, free, contract.
fn ordered(values: &[f64], roles: &Roles) -> Vec<f64> {
    let axes = [&roles.batch[..], &roles.free, &roles.contract].concat();
    let mut index = vec![0; axes.len()];
    let mut offset = 0;
    let mut out = Vec::with_capacity(values.len());
    for _ in 0..values.len() {
        out.push(values[offset]);
        for (i, &(extent, stride)) in index.iter_mut().zip(&axes).rev() {
            *i += 1;
            offset += stride;
            if *i < extent {
                break;
            }
            offset -= extent * stride;
            *i = 0;
        }
    }
    out
}

impl Operator for DotGeneral {
    fn name(&self) -> &'static str {
        "DotGeneral"
    }

    fn attributes(&self) -> Attributes {
        self.to_attributes()
    }

    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        ins.expect(2..=2)?;
        let (a, b) = (ins.get(0)?, ins.get(1)?);
        let (ra, rb) = self.both(a, b)?;
        Ok(vec![a.with_dims([extents(&ra.batch), extents(&ra.free), extents(&rb.free)].concat())])
    }

    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        let (a, b) = (at.input(0)?, at.input(1)?);
        let (ra, rb) = self.both(a.ty(), b.ty())?;
        let (a, b) = (ordered(&a.to_f64(), &ra), ordered(&b.to_f64(), &rb));
        let (m, n, k) = (count(&ra.free), count(&rb.free), count(&ra.contract));
        let values = multiply_batch(count(&ra.batch), [m, n, k], |i| {
            (
                MatrixView { values: &a, start: i * m * k, row: k, col: 1 },
                MatrixView { values: &b, start: i * n * k, row: 1, col: k },
            )
        });
        Ok(vec![Tensor::from_f64(at.output_type(0).clone(), &values)])
    }

    fn lower(&self, at: &mut Lowering) -> Result<()> {
        let element = at.input_type(0).element;
        let (ra, rb) = self.both(at.input_type(0), at.input_type(1))?;
        if at.output_type(0).elements() == 0 {
            return Ok(());
        }
        let sizes = [count(&ra.free), count(&rb.free), count(&ra.contract)];
        let mut product = Product::dense(element, sizes, at.input(0), at.input(1), false, at.output(0));
        if sizes[2] > 0 {
            let (a, b) = (matrix(at, element, at.input(0), &ra)?, matrix(at, element, at.input(1), &rb)?);
            (product.a, product.b) = (a.0, b.0);
            let strides = a.1.into_iter().zip(b.1);
            product.batch = ra.batch.iter().zip(strides).map(|(axis, (a, b))| BatchAxis { extent: axis.0, a, b }).collect();
        } else {
            product.batch = ra.batch.iter().map(|axis| BatchAxis { extent: axis.0, a: 0, b: 0 }).collect();
        }
        lower_product(at, &product)
    }

    fn terms(&self, ins: &Inputs<TensorType>) -> usize {
        ins.get(0).and_then(|a| self.both(a, ins.get(1)?)).map_or(1, |(a, _)| count(&a.contract))
    }
}

fn cases() -> Vec<Case> {
    let mut out = Vec::new();
    type Row = (&'static [usize], &'static [usize], [&'static [i64]; 4]);
    let rows: &[Row] = &[
        (&[3, 4], &[4, 5], [&[1], &[0], &[], &[]]),
        (&[3, 4], &[5, 4], [&[-1], &[-1], &[], &[]]),
        (&[7], &[7], [&[0], &[0], &[], &[]]),
        (&[2, 3], &[4, 5], [&[], &[], &[], &[]]),
        (&[], &[], [&[], &[], &[], &[]]),
        (&[2, 3, 4], &[3, 4, 2], [&[1, 2], &[0, 1], &[0], &[2]]),
        (&[5, 2, 7, 3], &[3, 5, 6, 2], [&[3], &[0], &[0, 1], &[1, 3]]),
        (&[4, 5, 6], &[6, 4, 9], [&[2, 0], &[0, 1], &[], &[]]),
        (&[3, 7, 4, 5], &[9, 4, 2, 7], [&[1, 2], &[3, 1], &[], &[]]),
        (&[2, 8, 3, 4], &[4, 3, 5, 2, 6], [&[2, 3], &[1, 0], &[0], &[3]]),
        (&[2, 0, 3], &[0, 4], [&[1], &[0], &[], &[]]),
        (&[0, 3], &[3, 2], [&[1], &[0], &[], &[]]),
        (&[4, 65, 33], &[4, 33, 70], [&[2], &[1], &[0], &[0]]),
        (&[33, 4, 65], &[33, 70, 4], [&[0], &[0], &[1], &[2]]),
        (&[130, 40], &[40, 150], [&[1], &[0], &[], &[]]),
        (&[1000], &[70], [&[], &[], &[], &[]]),
    ];
    for (i, (a, b, axes)) in rows.iter().enumerate() {
        let names = ["a_contract", "b_contract", "a_batch", "b_batch"];
        let attributes: Vec<(&str, Attribute)> = names.into_iter().zip(axes.iter().map(|x| Attribute::Ints(x.to_vec()))).collect();
        let types = [ElementType::F32, ElementType::F16, ElementType::Bf16, ElementType::F64];
        for element in [ElementType::F32, types[i % 4]] {
            out.push(Case::new("DotGeneral", &attributes).input(element, a).input(element, b));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evenly_spaced_axes_merge() {
        assert_eq!(merged(&[(3, 20), (4, 5)]), Some(5));
        assert_eq!(merged(&[(3, 20), (1, 7), (4, 5)]), Some(5));
        assert_eq!(merged(&[(3, 21), (4, 5)]), None);
        assert_eq!(merged(&[]), Some(1));
    }

    #[test]
    fn mistakes_are_named() {
        let (a, b) = (TensorType::new(ElementType::F32, [2, 3]), TensorType::new(ElementType::F32, [3, 4]));
        let infer = |a_contract: &[i64], b_contract: &[i64]| {
            let op = DotGeneral { a_contract: a_contract.into(), b_contract: b_contract.into(), a_batch: vec![], b_batch: vec![] };
            op.infer(&Inputs(&[Some(&a), Some(&b)])).map(|t| t[0].dims.clone())
        };
        assert_eq!(infer(&[-1], &[0]).expect("fits"), [2, 4]);
        assert!(infer(&[0], &[0]).expect_err("2 and 3").message.contains("[2] in a and [3] in b"));
        assert!(infer(&[1, -1], &[0, 1]).expect_err("twice").message.contains("named twice"));
        assert!(infer(&[2], &[0]).expect_err("rank").message.contains("axis 2"));
    }
}
