//! Scan.

use std::sync::Arc;

use super::body;
use super::cases::scans as cases;
use crate::graph::Graph;
use crate::ops::{Attributes, Inputs, Lowering, Operator, OperatorRef, Reference, share};
use crate::tensor::{Tensor, TensorType};
use crate::{Result, attributes, bail, ensure};

attributes! {
    /// Runs `body` `length` times. Inputs: the carried values, what every step takes as it is, and `scanned` tensors of which step i takes slice i of
    /// the first axis. The body gives the carried values, then values that are collected. Outputs: the carried values at the end, or with
    /// `trajectory` those after each step, [length, ..]; then the collected values, [length, ..]. `carries`: how many values are carried; all that
    /// the body gives, if it is not said.
    pub struct Scan { body: Arc<Graph>, length: usize, trajectory: bool = false, scanned: usize = 0, carries: Option<usize> }
}

crate::entries!(Scan: cases);

impl Scan {
    /// Values that are carried from step to step.
    pub fn carried(&self) -> usize {
        self.carries.unwrap_or(self.body.outputs().len())
    }

    /// True for an output that holds a value of every step.
    pub fn is_stacked(&self, output: usize) -> bool {
        self.trajectory || output >= self.carried()
    }

    /// What one step takes of inputs of these types.
    pub fn step_types(&self, types: &[&TensorType]) -> Result<Vec<TensorType>> {
        let (count, outputs) = (self.carried(), self.body.outputs().len());
        ensure!(count <= outputs, InvalidGraph, "{count} carried values, the body gives {outputs}");
        let rest = types.len().checked_sub(count).and_then(|rest| rest.checked_sub(self.scanned));
        ensure!(rest.is_some(), InvalidGraph, "{} inputs, {count} are carried and {} scanned", types.len(), self.scanned);
        let mut out: Vec<TensorType> = types.iter().map(|&ty| ty.clone()).collect();
        let first = types.len() - self.scanned;
        for (k, ty) in out.iter_mut().enumerate().skip(first) {
            ensure!(!ty.element.is_block(), InvalidGraph, "scanned input {k} is of the packed type {}", ty.element);
            let right = ty.dims.first() == Some(&self.length);
            ensure!(right, InvalidGraph, "scanned input {k} is {ty}, there are {} steps", self.length);
            ty.dims.remove(0);
        }
        Ok(out)
    }
}

impl Operator for Scan {
    fn name(&self) -> &'static str {
        "Scan"
    }
    fn attributes(&self) -> Attributes {
        self.to_attributes()
    }
    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        let types = body::given(ins)?;
        let of_step = self.step_types(&types)?;
        let mut out = body::output_types(&*body::fit(&self.body, "the body", &of_step.iter().collect::<Vec<_>>())?)?;
        body::check_carries(&self.body, &types[..self.carried()], &out)?;
        for (k, ty) in out.iter_mut().enumerate().filter(|(k, _)| self.is_stacked(*k)) {
            ensure!(ty.rank() < crate::tensor::MAX_RANK, InvalidGraph, "value {k} of a step, {ty}, cannot have one more axis");
            ty.dims.insert(0, self.length);
        }
        Ok(out)
    }
    fn output_count(&self, _inputs: usize) -> usize {
        self.body.outputs().len()
    }
    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        let inputs = (0..at.inputs.len()).map(|i| at.input(i)).collect::<Result<Vec<_>>>()?;
        let of_step = self.step_types(&inputs.iter().map(|t| t.ty()).collect::<Vec<_>>())?;
        let body = body::fit(&self.body, "the body", &of_step.iter().collect::<Vec<_>>())?;
        let (begin, rest) = inputs.split_at(self.carried());
        let (shared, scanned) = rest.split_at(rest.len() - self.scanned);
        let mut carries: Vec<Tensor> = begin.iter().map(|&t| t.clone()).collect();
        let mut stacks: Vec<Vec<u8>> = vec![Vec::new(); self.body.outputs().len()];
        for step in 0..self.length {
            let mut slices = Vec::with_capacity(scanned.len());
            for (ty, x) in of_step[inputs.len() - scanned.len()..].iter().zip(scanned) {
                slices.push(Tensor::from_bytes(ty.clone(), &x.bytes()[step * ty.bytes()..][..ty.bytes()])?);
            }
            let inputs: Vec<&Tensor> = carries.iter().chain(shared.iter().copied()).chain(&slices).collect();
            let outputs = body::run(&body::step_of(&body, step as u64), &inputs, at)?;
            for (stack, output) in stacks.iter_mut().zip(&outputs) {
                stack.extend_from_slice(output.bytes());
            }
            carries = outputs.into_iter().take(begin.len()).collect();
        }
        let mut last = carries.into_iter();
        let output = |(k, stack): (usize, Vec<u8>)| match (self.is_stacked(k), last.next()) {
            (false, Some(carry)) => Ok(carry),
            _ => Tensor::from_bytes(at.output_type(k).clone(), &stack),
        };
        stacks.into_iter().enumerate().map(output).collect()
    }
    fn lower(&self, _at: &mut Lowering) -> Result<()> {
        bail!(Internal, "a loop that was not written out")
    }
    fn is_pure(&self) -> bool {
        body::is_pure(&self.body)
    }
    fn at_step(&self, step: u32) -> Option<OperatorRef> {
        body::bodies_of_step(self, step)
    }
    fn bodies(&self) -> Vec<(&'static str, &Arc<Graph>)> {
        vec![("body", &self.body)]
    }
    fn with_bodies(&self, bodies: Vec<Arc<Graph>>) -> Option<OperatorRef> {
        let [body] = <[_; 1]>::try_from(bodies).ok()?;
        Some(share(Self { body, ..self.clone() }))
    }
    fn inputs_after_captures(&self) -> usize {
        self.scanned
    }
    fn terms(&self, _ins: &Inputs<TensorType>) -> usize {
        body::terms(&self.body).saturating_mul(self.length.max(1))
    }
}
