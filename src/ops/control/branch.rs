//! If.

use std::sync::Arc;

use super::body;
use super::cases::branches as cases;
use crate::graph::Graph;
use crate::ops::{Attribute, AttributeReader, Attributes, Entry, Inputs, Lowering, Operator, OperatorRef, Reference, share};
use crate::tensor::{Tensor, TensorType};
use crate::{Result, bail, ensure};

/// The outputs of `then` if pred is true, else those of `otherwise`. Inputs: pred, then what both take.
#[derive(Clone, Debug, PartialEq)]
pub struct If {
    pub then: Arc<Graph>,
    pub otherwise: Arc<Graph>,
}

pub const ENTRIES: &[Entry] = &[Entry { name: "If", build: |name, a| Ok(share(If::read(name, a)?)), cases }];

impl If {
    fn read(operator: &str, attributes: &Attributes) -> Result<Self> {
        let mut reader = AttributeReader::new(operator, attributes);
        let out = Self { then: reader.field("then", None)?, otherwise: reader.field("else", None)? };
        reader.finish()?;
        Ok(out)
    }
}

impl Operator for If {
    fn name(&self) -> &'static str {
        "If"
    }
    fn attributes(&self) -> Attributes {
        self.bodies().into_iter().map(|(name, body)| (name.to_string(), Attribute::Graph(body.clone()))).collect()
    }
    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        body::check_condition("the condition", ins.get(0)?)?;
        let captures = &body::given(ins)?[1..];
        let then = body::output_types(&*body::fit(&self.then, "then", captures)?)?;
        let otherwise = body::output_types(&*body::fit(&self.otherwise, "else", captures)?)?;
        ensure!(then.len() == otherwise.len(), InvalidGraph, "then gives {} values, else {}", then.len(), otherwise.len());
        for (k, (a, b)) in then.iter().zip(&otherwise).enumerate() {
            ensure!(a == b, InvalidGraph, "value {k} is {a} of then (\"{}\"), {b} of else", self.then.outputs()[k].0);
        }
        Ok(then)
    }
    fn output_count(&self, _inputs: usize) -> usize {
        self.then.outputs().len()
    }
    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        let taken = if at.input(0)?.bytes()[0] != 0 { &self.then } else { &self.otherwise };
        let captures = (1..at.inputs.len()).map(|i| at.input(i)).collect::<Result<Vec<_>>>()?;
        let types: Vec<&TensorType> = captures.iter().map(|t| t.ty()).collect();
        body::run(&*body::fit(taken, "the branch", &types)?, &captures, at)
    }
    fn lower(&self, _at: &mut Lowering) -> Result<()> {
        bail!(Internal, "a branch that was not written out")
    }
    fn is_pure(&self) -> bool {
        body::is_pure(&self.then) && body::is_pure(&self.otherwise)
    }
    fn at_step(&self, step: u32) -> Option<OperatorRef> {
        body::bodies_of_step(self, step)
    }
    fn bodies(&self) -> Vec<(&'static str, &Arc<Graph>)> {
        vec![("then", &self.then), ("else", &self.otherwise)]
    }
    fn with_bodies(&self, bodies: Vec<Arc<Graph>>) -> Option<OperatorRef> {
        let [then, otherwise] = <[_; 2]>::try_from(bodies).ok()?;
        Some(share(Self { then, otherwise }))
    }
    fn terms(&self, _ins: &Inputs<TensorType>) -> usize {
        body::terms(&self.then).max(body::terms(&self.otherwise))
    }
}
