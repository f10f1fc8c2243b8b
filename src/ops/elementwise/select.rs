//! Where.

use super::broadcast::{Map, walk};
use crate::kernels::kernel;
use crate::ops::{Attributes, Case, Inputs, Lowering, Operator, Reference};
use crate::tensor::{ElementType, Tensor, TensorType, broadcast};
use crate::{Result, attributes, ensure};

attributes! {
    /// cond ? a : b, all three broadcast.
    pub struct Where {}
}

crate::entries!(Where: cases);

impl Operator for Where {
    fn name(&self) -> &'static str {
        "Where"
    }
    fn attributes(&self) -> Attributes {
        self.to_attributes()
    }
    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        ins.expect(3..=3)?;
        let (cond, a, b) = (ins.get(0)?, ins.get(1)?, ins.get(2)?);
        ensure!(cond.element == ElementType::Bool, InvalidGraph, "the condition is {}, not bool", cond.element);
        ensure!(a.element == b.element, InvalidGraph, "operands are {} and {}", a.element, b.element);
        ensure!(!a.element.is_block(), InvalidGraph, "does not take the packed type {}", a.element);
        Ok(vec![TensorType::new(a.element, broadcast(&[&cond.dims, &a.dims, &b.dims])?)])
    }
    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        let (cond, a, b, ty) = (at.input(0)?, at.input(1)?, at.input(2)?, at.output_type(0).clone());
        let bytes = ty.element.bytes();
        let mut y = Tensor::zeros(ty.clone());
        let (chosen, out) = (cond.bytes(), y.bytes_mut());
        walk(&[cond.dims(), a.dims(), b.dims()], &ty.dims, |i, [c, j, k]| {
            let (from, at) = if chosen[c] != 0 { (a, j) } else { (b, k) };
            out[i * bytes..][..bytes].copy_from_slice(&from.bytes()[at * bytes..][..bytes]);
        });
        Ok(vec![y])
    }
    fn lower(&self, at: &mut Lowering) -> Result<()> {
        let kernel = kernel::select(&format!("b{}", at.output_type(0).element.bytes()))?;
        Map { kernel, spec: Vec::new(), floats: None }.lower(at)
    }
}

fn cases() -> Vec<Case> {
    use ElementType::*;
    let mut out = Vec::new();
    for element in [F32, F16, Bf16, F64, I8, I16, I32, I64, U8, U16, U32, U64, Bool, C64] {
        for (c, a, b) in [
            (&[5usize, 29][..], &[5usize, 29][..], &[5usize, 29][..]),
            (&[2, 1, 3], &[4, 1], &[3]),
            (&[0], &[1], &[]),
            (&[], &[1025], &[]),
        ] {
            out.push(Case::new("Where", &[]).input(Bool, c).input(element, a).input(element, b));
        }
    }
    out.push(Case::new("Where", &[]).input(Bool, &[65537, 1]).input(F32, &[65537, 3]).input(F32, &[3]));
    out
}
