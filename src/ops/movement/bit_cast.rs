//! BitCast: the same bits as another element type.

use super::types::EVERY;
use crate::ops::{Attribute, Attributes, Case, Copy, Inputs, Lowering, Operator, Reference};
use crate::tensor::{ElementType, Tensor, TensorType};
use crate::{Result, attributes, ensure};

attributes! {
    /// x's bits as elements of another type of the same width. No data moved.
    pub struct BitCast { to: ElementType }
}

crate::entries!(BitCast: cases);

impl Operator for BitCast {
    fn name(&self) -> &'static str {
        "BitCast"
    }
    fn attributes(&self) -> Attributes {
        self.to_attributes()
    }
    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        ins.expect(1..=1)?;
        let x = ins.get(0)?;
        let fits = !x.element.is_block() && !self.to.is_block() && x.element.bytes() == self.to.bytes();
        ensure!(fits, InvalidGraph, "{} and {} are no types of the same width", x.element, self.to);
        // Kernels rely on it that a bool is 0 or 1.
        ensure!(self.to != ElementType::Bool || x.element == self.to, InvalidGraph, "bits of {} may be no bool", x.element);
        Ok(vec![x.with_element(self.to)])
    }
    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        Ok(vec![Tensor::from_bytes(at.output_type(0).clone(), at.input(0)?.bytes())?])
    }
    fn views(&self, _ins: &Inputs<TensorType>, _outs: &[TensorType]) -> Vec<Option<(usize, usize)>> {
        vec![Some((0, 0))]
    }
    fn lower(&self, at: &mut Lowering) -> Result<()> {
        // Where the result must have storage of its own.
        Copy.lower(at)
    }
}

fn cases() -> Vec<Case> {
    let case = |from, to: ElementType, dims: &[usize]| {
        Case::new("BitCast", &[("to", Attribute::Text(to.name().into()))]).input(from, dims)
    };
    let pairs = EVERY.iter().flat_map(|&from| EVERY.iter().map(move |&to| (from, to)));
    let fits = |(from, to): &(ElementType, ElementType)| from.bytes() == to.bytes() && (*to != ElementType::Bool || from == to);
    let mut out: Vec<Case> = pairs.filter(fits).map(|(from, to)| case(from, to, &[3, 7])).collect();
    out.push(case(ElementType::F32, ElementType::I32, &[]));
    out.push(case(ElementType::F32, ElementType::U32, &[0, 2]));
    out
}
