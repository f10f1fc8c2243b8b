//! Making a new graph from an old one, node by node.

use super::{Graph, Node, Source, ValueId};
use crate::Result;
use crate::ops::OperatorRef;

/// A rewrite under way: what was kept of the old graph is in `new`.
pub struct Rewriter<'a> {
    pub old: &'a Graph,
    pub new: Graph,
    map: Vec<Option<ValueId>>,
}

impl<'a> Rewriter<'a> {
    /// Inputs and params are kept; constants follow when a node reads them.
    fn start(old: &'a Graph) -> Result<Self> {
        let mut new = Graph { bindings: old.bindings.clone(), ..Graph::new() };
        let mut map = vec![None; old.values.len()];
        for &id in &old.inputs {
            let value = old.value(id);
            let Source::Input(dims) = &value.source else { continue };
            let element = value.element.unwrap_or(crate::tensor::ElementType::F32);
            map[id.index()] = Some(new.input(&value.name, element, dims)?);
        }
        for &id in &old.params {
            let (value, ty) = (old.value(id), old.ty(id)?);
            map[id.index()] = Some(new.param(&value.name, ty.element, &ty.dims)?);
        }
        Ok(Self { old, new, map })
    }

    /// The new value that stands for an old one.
    pub fn value(&mut self, id: ValueId) -> Result<ValueId> {
        if let Some(new) = self.map[id.index()] {
            return Ok(new);
        }
        let value = self.old.value(id);
        let Source::Constant(tensor) = &value.source else {
            return Err(crate::error!(Internal, "value \"{}\" is used before it is made", value.name));
        };
        let new = self.new.constant(&value.name, tensor.clone())?;
        self.map[id.index()] = Some(new);
        Ok(new)
    }

    pub fn values(&mut self, ids: &[Option<ValueId>]) -> Result<Vec<Option<ValueId>>> {
        ids.iter().map(|id| id.map(|id| self.value(id)).transpose()).collect()
    }

    /// From here on `new` stands for `old`.
    pub fn replace(&mut self, old: ValueId, new: ValueId) {
        self.map[old.index()] = Some(new);
    }

    /// Adds the node as it is.
    pub fn keep(&mut self, node: usize) -> Result<()> {
        self.put(node, self.old.nodes[node].operator.clone(), &self.old.nodes[node].inputs)
    }

    /// Adds a node in place of an old one: another operator over old values, the same outputs.
    pub fn put(&mut self, node: usize, operator: OperatorRef, inputs: &[Option<ValueId>]) -> Result<()> {
        let inputs = self.values(inputs)?;
        let old = &self.old.nodes[node];
        let outputs = self.new.add(operator, &old.name, &inputs)?;
        for (&o, &n) in old.outputs.iter().zip(&outputs) {
            self.replace(o, n);
        }
        Ok(())
    }
}

impl Graph {
    /// The graph that `each` makes of every node in turn.
    pub fn rewrite(&self, mut each: impl FnMut(&mut Rewriter, usize) -> Result<()>) -> Result<Graph> {
        let mut rewriter = Rewriter::start(self)?;
        for node in 0..self.nodes.len() {
            each(&mut rewriter, node)?;
        }
        for (name, id) in &self.outputs {
            let id = rewriter.value(*id)?;
            rewriter.new.output(name, id)?;
        }
        Ok(rewriter.new)
    }

    /// The nodes on which an output depends, or which act for another reason.
    pub fn live(&self, acts: impl Fn(&Node) -> bool) -> Vec<bool> {
        let mut needed = vec![false; self.values.len()];
        self.outputs.iter().for_each(|(_, id)| needed[id.index()] = true);
        let mut live = vec![false; self.nodes.len()];
        for (i, node) in self.nodes.iter().enumerate().rev() {
            live[i] = acts(node) || node.outputs.iter().any(|id| needed[id.index()]);
            if live[i] {
                node.inputs.iter().flatten().for_each(|id| needed[id.index()] = true);
            }
        }
        live
    }

    /// For each value, the nodes that read it, and whether it is an output.
    pub fn uses(&self) -> (Vec<Vec<usize>>, Vec<bool>) {
        let mut uses = vec![Vec::new(); self.values.len()];
        for (i, node) in self.nodes.iter().enumerate() {
            for id in node.inputs.iter().flatten() {
                if uses[id.index()].last() != Some(&i) {
                    uses[id.index()].push(i);
                }
            }
        }
        let mut outputs = vec![false; self.values.len()];
        for (_, id) in &self.outputs {
            outputs[id.index()] = true;
        }
        (uses, outputs)
    }
}
