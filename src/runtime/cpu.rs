//! The CPU device: runs the nodes of a program by their references.

use std::sync::Arc;

use super::buffer::{Buffer, Storage};
use super::weights::Weight;
use crate::graph::Source;
use crate::ops::{Inputs, Reference, RunNumbers};
use crate::plan::{Program, Root};
use crate::tensor::{Tensor, TensorType};
use crate::{Result, bail, ensure, error};

pub(crate) struct CpuMachine {
    program: Arc<Program>,
    weights: Vec<Arc<Weight>>,
    /// Values of inputs that are not bound.
    pub inputs: Vec<Option<Tensor>>,
    pub outputs: Vec<Option<Tensor>>,
    /// Last node that reads each value; graph outputs are kept.
    last: Vec<usize>,
}

/// A value: somebody else's, or made in this run.
enum Slot<'a> {
    Empty,
    Borrowed(&'a Tensor),
    Made(Tensor),
}

impl Slot<'_> {
    fn get(&self) -> Option<&Tensor> {
        match self {
            Slot::Empty => None,
            Slot::Borrowed(tensor) => Some(tensor),
            Slot::Made(tensor) => Some(tensor),
        }
    }
}

impl CpuMachine {
    pub fn new(program: &Arc<Program>, weights: Vec<Arc<Weight>>) -> Self {
        let graph = &program.graph;
        let mut last = vec![0; graph.values().len()];
        for (i, node) in graph.nodes().iter().enumerate() {
            node.inputs.iter().flatten().for_each(|id| last[id.index()] = i);
        }
        graph.outputs().iter().for_each(|(_, id)| last[id.index()] = usize::MAX);
        Self {
            program: program.clone(),
            weights,
            inputs: vec![None; graph.inputs().len()],
            outputs: vec![None; graph.outputs().len()],
            last,
        }
    }

    /// A twin that shares the weights.
    pub fn twin(&self) -> Self {
        Self::new(&self.program, self.weights.clone())
    }

    /// Refuses to run before every weight is set.
    pub fn ready(&self) -> Result<()> {
        for (weight, port) in self.weights.iter().zip(&self.program.params) {
            ensure!(weight.is_filled(), InvalidArgument, "param \"{}\" ({}) has not been set", port.name, port.ty);
        }
        Ok(())
    }

    /// Runs the nodes in order. `bound` are the buffers bound to inputs.
    pub fn run(&mut self, bound: &[Option<Arc<Buffer>>], run: RunNumbers) -> Result<()> {
        self.ready()?;
        let program = self.program.clone();
        let locked = || error!(Internal, "a write to this tensor failed before");
        let host = |storage| match storage {
            &Storage::Host(ref tensor) => tensor.read().map_err(|_| locked()),
            Storage::Vulkan(_) => bail!(Internal, "Vulkan storage on the CPU device"),
        };
        let handles = bound.iter().map(|b| b.as_ref().map(|b| host(&b.storage)).transpose()).collect::<Result<Vec<_>>>()?;
        let weights = self.weights.iter().map(|w| host(&w.storage)).collect::<Result<Vec<_>>>()?;
        let mut slots: Vec<Slot> = (0..program.graph.values().len()).map(|_| Slot::Empty).collect();
        for (i, id) in program.graph.inputs().iter().enumerate() {
            let tensor = handles[i].as_deref().or(self.inputs[i].as_ref());
            slots[id.index()] = tensor.map_or(Slot::Empty, Slot::Borrowed);
        }
        for (weight, id) in weights.iter().zip(program.graph.params()) {
            slots[id.index()] = Slot::Borrowed(weight);
        }
        for (i, value) in program.graph.values().iter().enumerate() {
            if let Source::Constant(tensor) = &value.source {
                slots[i] = Slot::Borrowed(tensor);
            }
        }
        for n in 0..program.graph.nodes().len() {
            self.step(&program, n, &mut slots, run)?;
        }
        let written = Self::written_inputs(&program, &slots);
        let outputs = program.graph.outputs().iter().map(|(_, id)| slots[id.index()].get().cloned()).collect();
        drop(slots);
        drop(handles);
        drop(weights);
        self.outputs = outputs;
        for (i, tensor) in written {
            match (&bound[i], tensor) {
                (Some(buffer), tensor) => {
                    if let Storage::Host(own) = &buffer.storage {
                        *own.write().map_err(|_| locked())? = tensor;
                    }
                }
                (None, tensor) => self.inputs[i] = Some(tensor),
            }
        }
        Ok(())
    }

    fn step(&self, program: &Program, n: usize, slots: &mut [Slot], run: RunNumbers) -> Result<()> {
        let node = &program.graph.nodes()[n];
        let types = node.outputs.iter().map(|&id| program.graph.ty(id).cloned()).collect::<Result<Vec<TensorType>>>()?;
        let inputs: Vec<Option<&Tensor>> = node.inputs.iter().map(|id| id.and_then(|id| slots[id.index()].get())).collect();
        let at = Reference { inputs: Inputs(&inputs), outputs: &types, run, unchecked_indices: program.options.unchecked_indices };
        let results = node.operator.reference(&at).map_err(|e| e.within(node.title()))?;
        for ((id, tensor), ty) in node.outputs.iter().zip(results).zip(&types) {
            if tensor.ty() != ty {
                bail!(Internal, "{}: the reference gave {}, the shape rule {ty}", node.title(), tensor.ty());
            }
            slots[id.index()] = Slot::Made(tensor);
        }
        for id in node.inputs.iter().flatten().chain(&node.outputs) {
            if self.last[id.index()] <= n && matches!(slots[id.index()], Slot::Made(_)) && !self.updates_input(program, *id) {
                slots[id.index()] = Slot::Empty;
            }
        }
        Ok(())
    }

    /// True for a value that is an input's new content.
    fn updates_input(&self, program: &Program, id: crate::graph::ValueId) -> bool {
        let Source::Node { node, output } = program.graph.value(id).source else { return false };
        program.graph.nodes()[node].operator.updates().iter().any(|u| u.0 == output)
    }

    /// The inputs that nodes have written, with their new values.
    fn written_inputs(program: &Program, slots: &[Slot]) -> Vec<(usize, Tensor)> {
        let mut written: Vec<(usize, Tensor)> = Vec::new();
        // An update of an update replaces it, since nodes are in order.
        let mut root: Vec<Option<usize>> = vec![None; program.graph.values().len()];
        for (i, id) in program.graph.inputs().iter().enumerate() {
            root[id.index()] =
                Some(i).filter(|&i| matches!(program.inputs[i].location.root, Root::Input(_)) && program.inputs[i].updated);
        }
        for node in program.graph.nodes() {
            for (o, i) in node.operator.updates() {
                let Some(input) = node.inputs[i].and_then(|id| root[id.index()]) else { continue };
                root[node.outputs[o].index()] = Some(input);
                if let Some(tensor) = slots[node.outputs[o].index()].get() {
                    written.retain(|w| w.0 != input);
                    written.push((input, tensor.clone()));
                }
            }
        }
        written
    }
}
