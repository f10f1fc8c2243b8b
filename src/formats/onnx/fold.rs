//! Nodes computed while a file is read: the arithmetic of shapes, and whatever a shape depends on.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::Result;
use crate::graph::{Graph, Source, ValueId};
use crate::ops::{Inputs, Operator, Reference, RunNumbers};
use crate::tensor::{Tensor, TensorType};

/// The outputs of one operator, by its reference.
pub fn evaluate(operator: &dyn Operator, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
    let types: Vec<Option<&TensorType>> = inputs.iter().map(|t| t.map(Tensor::ty)).collect();
    let outputs = operator.infer(&Inputs(&types))?;
    operator.reference(&Reference {
        inputs: Inputs(inputs),
        outputs: &outputs,
        run: RunNumbers::default(),
        unchecked_indices: false,
    })
}

/// Values of a graph that were computed from its constants and params.
#[derive(Default)]
pub struct Folded(HashMap<ValueId, Arc<Tensor>>);

/// What a value turned out to be.
pub enum Outcome {
    Known(Arc<Tensor>),
    /// It depends on these inputs of the graph (or on none, but on random numbers).
    Depends(Vec<ValueId>),
}

impl Folded {
    /// Computes a value of which all sources are constants or params (`param` gives a param's value).
    pub fn value(&mut self, graph: &Graph, id: ValueId, param: &dyn Fn(ValueId) -> Option<Arc<Tensor>>) -> Result<Outcome> {
        let (nodes, inputs, pure) = cone(graph, id, &self.0);
        if !inputs.is_empty() || !pure {
            return Ok(Outcome::Depends(inputs));
        }
        for node in nodes {
            let node = &graph.nodes()[node];
            let inputs: Vec<Option<Arc<Tensor>>> = node.inputs.iter().map(|i| i.and_then(|i| self.leaf(graph, i, param))).collect();
            let borrowed: Vec<Option<&Tensor>> = inputs.iter().map(Option::as_deref).collect();
            let outputs = evaluate(&*node.operator, &borrowed).map_err(|e| e.within(node.title()))?;
            self.0.extend(node.outputs.iter().copied().zip(outputs.into_iter().map(Arc::new)));
        }
        Ok(self.leaf(graph, id, param).map_or_else(|| Outcome::Depends(Vec::new()), Outcome::Known))
    }

    /// The inputs of the graph that a value depends on.
    pub fn inputs_behind(&self, graph: &Graph, id: ValueId) -> Vec<ValueId> {
        cone(graph, id, &self.0).1
    }

    fn leaf(&self, graph: &Graph, id: ValueId, param: &dyn Fn(ValueId) -> Option<Arc<Tensor>>) -> Option<Arc<Tensor>> {
        match &graph.value(id).source {
            Source::Constant(tensor) => Some(tensor.clone()),
            Source::Param => param(id),
            Source::Node { .. } => self.0.get(&id).cloned(),
            Source::Input(_) => None,
        }
    }
}

/// The nodes behind a value that are not computed yet, in order; the graph inputs behind it; and whether all nodes are pure.
fn cone(graph: &Graph, id: ValueId, known: &HashMap<ValueId, Arc<Tensor>>) -> (BTreeSet<usize>, Vec<ValueId>, bool) {
    let (mut nodes, mut inputs, mut pure) = (BTreeSet::new(), Vec::new(), true);
    let mut left = vec![id];
    while let Some(id) = left.pop() {
        match &graph.value(id).source {
            Source::Input(_) if !inputs.contains(&id) => inputs.push(id),
            Source::Node { node, .. } if !known.contains_key(&id) && nodes.insert(*node) => {
                pure &= graph.nodes()[*node].operator.is_pure();
                left.extend(graph.nodes()[*node].inputs.iter().flatten());
            }
            _ => {}
        }
    }
    (nodes, inputs, pure)
}
