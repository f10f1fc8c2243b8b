//! While.

use std::sync::Arc;

use super::body;
use super::cases::loops as cases;
use crate::graph::Graph;
use crate::ops::{Attributes, Inputs, Lowering, Operator, OperatorRef, Reference, share};
use crate::tensor::{Tensor, TensorType};
use crate::{Result, attributes, bail, ensure};

attributes! {
    /// Runs `body` on the carried values while `cond` of them is true, at most `max_iter` times. Inputs: the carried values, as many as the body has
    /// outputs, then what cond and body take beside them. Outputs: the carried values at the end.
    pub struct While { cond: Arc<Graph>, body: Arc<Graph>, max_iter: Option<usize> }
}

crate::entries!(While: cases);

impl Operator for While {
    fn name(&self) -> &'static str {
        "While"
    }
    fn attributes(&self) -> Attributes {
        self.to_attributes()
    }
    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        let types = body::given(ins)?;
        let count = self.body.outputs().len();
        ensure!(count > 0, InvalidGraph, "the body carries nothing: it has no outputs");
        ensure!(types.len() >= count, InvalidGraph, "{} inputs, the body carries {count} values", types.len());
        let cond = body::output_types(&*body::fit(&self.cond, "cond", &types)?)?;
        ensure!(cond.len() == 1, InvalidGraph, "cond gives {} values, not 1", cond.len());
        body::check_condition("the result of cond", &cond[0])?;
        let carries = body::output_types(&*body::fit(&self.body, "the body", &types)?)?;
        body::check_carries(&self.body, &types, &carries)?;
        Ok(carries)
    }
    fn output_count(&self, _inputs: usize) -> usize {
        self.body.outputs().len()
    }
    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        let inputs = (0..at.inputs.len()).map(|i| at.input(i)).collect::<Result<Vec<_>>>()?;
        let types: Vec<&TensorType> = inputs.iter().map(|t| t.ty()).collect();
        let (cond, body) = (body::fit(&self.cond, "cond", &types)?, body::fit(&self.body, "the body", &types)?);
        let (begin, captures) = inputs.split_at(self.body.outputs().len());
        let mut carries: Vec<Tensor> = begin.iter().map(|&t| t.clone()).collect();
        for step in 0..self.max_iter.map_or(u64::MAX, |n| n as u64) {
            let inputs: Vec<&Tensor> = carries.iter().chain(captures.iter().copied()).collect();
            if body::run(&body::step_of(&cond, step), &inputs, at)?[0].bytes()[0] == 0 {
                break;
            }
            carries = body::run(&body::step_of(&body, step), &inputs, at)?;
        }
        Ok(carries)
    }
    fn lower(&self, _at: &mut Lowering) -> Result<()> {
        bail!(Internal, "a loop that was not written out")
    }
    /// One without a limit is not computed while a graph is compiled: it might not end.
    fn is_pure(&self) -> bool {
        self.max_iter.is_some() && body::is_pure(&self.cond) && body::is_pure(&self.body)
    }
    fn at_step(&self, step: u32) -> Option<OperatorRef> {
        body::bodies_of_step(self, step)
    }
    fn bodies(&self) -> Vec<(&'static str, &Arc<Graph>)> {
        vec![("cond", &self.cond), ("body", &self.body)]
    }
    fn with_bodies(&self, bodies: Vec<Arc<Graph>>) -> Option<OperatorRef> {
        let [cond, body] = <[_; 2]>::try_from(bodies).ok()?;
        Some(share(Self { cond, body, max_iter: self.max_iter }))
    }
    fn terms(&self, _ins: &Inputs<TensorType>) -> usize {
        body::terms(&self.body).saturating_mul(self.max_iter.unwrap_or(1).max(1))
    }
}
