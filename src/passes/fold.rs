//! Computes nodes whose inputs are all constants.

use std::sync::Arc;

use crate::Result;
use crate::graph::{Graph, ValueId};
use crate::ops::{Inputs, Operator, Reference, RunNumbers};
use crate::tensor::{Tensor, TensorType};

/// Larger results stay computed at run time: a constant costs memory for ever.
const LIMIT: usize = 1 << 24;

/// The results of an operator whose inputs are all constants, if it is one that may be computed now.
pub fn known(graph: &Graph, operator: &dyn Operator, inputs: &[Option<ValueId>]) -> Result<Option<Vec<Tensor>>> {
    let tensors: Vec<Option<&Tensor>> = inputs.iter().map(|id| id.and_then(|id| graph.constant_of(id)).map(|t| &**t)).collect();
    let known = !inputs.is_empty() && inputs.iter().zip(&tensors).all(|(id, tensor)| id.is_none() || tensor.is_some());
    if !known || !operator.is_pure() || !operator.updates().is_empty() {
        return Ok(None);
    }
    let types: Vec<Option<&TensorType>> = tensors.iter().map(|t| t.map(Tensor::ty)).collect();
    let outputs = operator.infer(&Inputs(&types))?;
    if outputs.iter().map(TensorType::bytes).sum::<usize>() > LIMIT {
        return Ok(None);
    }
    let at = Reference { inputs: Inputs(&tensors), outputs: &outputs, run: RunNumbers::default(), unchecked_indices: false };
    operator.reference(&at).map(Some)
}

pub fn run(graph: &Graph) -> Result<Graph> {
    graph.rewrite(|r, i| {
        let node = &r.old.nodes()[i];
        let inputs = r.values(&node.inputs)?;
        let Some(results) = known(&r.new, &*node.operator, &inputs).map_err(|e| e.within(node.title()))? else {
            return r.keep(i);
        };
        for (&old, tensor) in node.outputs.iter().zip(results) {
            let name = r.old.value(old).name.clone();
            let new = r.new.constant(&name, Arc::new(tensor))?;
            r.replace(old, new);
        }
        Ok(())
    })
}
