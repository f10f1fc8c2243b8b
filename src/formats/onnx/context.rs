//! What a reader of one node works with.

use std::sync::Arc;

use super::attributes::NodeAttributes;
use super::fold::evaluate;
use super::proto;
use super::read::{Known, Operand, Reader};
use crate::graph::ValueId;
use crate::ops::{Attribute, Attributes, Inputs, Operator, OperatorRef, build};
use crate::tensor::{Tensor, TensorType};
use crate::{Result, error};

/// Nodes of known inputs are computed at once up to this much work: elements read, and terms summed for those written.
const FOLD_LIMIT: usize = 1 << 22;

/// One node of a file, its inputs, and where its operators go.
pub struct Context<'c, 'a> {
    pub reader: &'c mut Reader<'a>,
    pub node: &'c proto::Node,
    pub attributes: NodeAttributes<'c>,
    pub inputs: Vec<Option<Operand>>,
    /// Of the node's operator set.
    pub version: i64,
}

impl<'c, 'a> Context<'c, 'a> {
    pub fn new(reader: &'c mut Reader<'a>, node: &'c proto::Node, inputs: Vec<Option<Operand>>, version: i64) -> Self {
        Self { reader, node, attributes: NodeAttributes::new(node), inputs, version }
    }

    /// The node's name, or that of its first output.
    pub fn name(&self) -> &'c str {
        if !self.node.name.is_empty() {
            return &self.node.name;
        }
        self.node.outputs.iter().find(|o| !o.is_empty()).map_or("", String::as_str)
    }

    pub fn opt(&self, i: usize) -> Option<Operand> {
        self.inputs.get(i).cloned().flatten()
    }

    pub fn input(&self, i: usize) -> Result<Operand> {
        self.opt(i).ok_or_else(|| error!(InvalidGraph, "input {i} is missing"))
    }

    pub fn ty(&self, operand: &Operand) -> Result<TensorType> {
        self.reader.ty(operand)
    }

    pub fn input_type(&self, i: usize) -> Result<TensorType> {
        self.ty(&self.input(i)?)
    }

    /// The tensor of an input that must be known while the file is read.
    pub fn constant(&mut self, i: usize) -> Result<Arc<Tensor>> {
        let operand = self.input(i)?;
        self.reader.known(&operand).map_err(|e| e.within(format!("input {i} \"{}\"", self.node.inputs[i])))
    }

    pub fn opt_constant(&mut self, i: usize) -> Result<Option<Arc<Tensor>>> {
        if self.opt(i).is_some() { self.constant(i).map(Some) } else { Ok(None) }
    }

    /// The results of an operator: computed at once where the inputs are known, a node of the graph otherwise.
    pub fn emit(&mut self, name: &str, attributes: Vec<(&str, Attribute)>, inputs: &[Option<Operand>]) -> Result<Vec<Operand>> {
        let attributes: Attributes = attributes.into_iter().map(|(k, v)| (k.to_string(), v)).collect();
        let operator = build(name, &attributes)?;
        match self.fold(&*operator, inputs).map_err(|e| e.within(name))? {
            Some(outputs) => Ok(outputs),
            None => self.add(operator, inputs),
        }
    }

    /// The result of an operator of one output whose inputs are all there.
    pub fn emit1(&mut self, name: &str, attributes: Vec<(&str, Attribute)>, inputs: &[Operand]) -> Result<Operand> {
        let inputs: Vec<Option<Operand>> = inputs.iter().cloned().map(Some).collect();
        let outputs = self.emit(name, attributes, &inputs)?;
        outputs.into_iter().next().ok_or_else(|| error!(Internal, "{name} has no output"))
    }

    fn fold(&self, operator: &dyn Operator, inputs: &[Option<Operand>]) -> Result<Option<Vec<Operand>>> {
        let mut tensors = Vec::with_capacity(inputs.len());
        let mut bound = false;
        for operand in inputs {
            tensors.push(match operand {
                None => None,
                Some(Operand::Known(known)) => {
                    bound |= known.bound;
                    Some(&*known.tensor)
                }
                Some(_) => return Ok(None),
            });
        }
        let types: Vec<Option<&TensorType>> = tensors.iter().map(|t| t.map(Tensor::ty)).collect();
        let outputs = operator.infer(&Inputs(&types))?;
        let written: usize = outputs.iter().map(TensorType::elements).sum();
        let read: usize = types.iter().flatten().map(|ty| ty.elements()).sum();
        let work = written.saturating_mul(operator.terms(&Inputs(&types))).saturating_add(read);
        if !operator.is_pure() || (work > FOLD_LIMIT && !bound) {
            return Ok(None);
        }
        let known = |tensor| Operand::Known(Known { tensor: Arc::new(tensor), param: None, bound });
        Ok(Some(evaluate(operator, &tensors)?.into_iter().map(known).collect()))
    }

    /// Bits of an input's elements, where they are fewer than 8: such are kept in bytes here.
    pub fn bits_of_input(&self, i: usize) -> Option<usize> {
        let name = self.node.inputs.get(i)?;
        self.reader.model.bits_of(name)
    }

    /// Adds an operator as it is, without computing anything.
    pub fn add(&mut self, operator: OperatorRef, inputs: &[Option<Operand>]) -> Result<Vec<Operand>> {
        let mut ids: Vec<Option<ValueId>> = Vec::with_capacity(inputs.len());
        for operand in inputs {
            ids.push(match operand {
                Some(operand) => Some(self.reader.value(operand)?),
                None => None,
            });
        }
        let outputs = self.reader.graph.add(operator, self.name(), &ids)?;
        Ok(outputs.into_iter().map(Operand::Value).collect())
    }
}
