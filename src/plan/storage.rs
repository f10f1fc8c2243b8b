//! Which values share storage, and how long each storage lives.

use crate::Result;
use crate::graph::{Graph, Source, ValueId};
use crate::ops::Inputs;

use super::program::Root;

/// Every value starts at a multiple of this many bytes, so that kernels may use the widest loads. A view that would not is copied.
pub const VALUE_ALIGNMENT: usize = 16;

/// Bytes that one or several values live in.
#[derive(Clone, Debug)]
pub struct Storage {
    pub bytes: usize,
    /// None: the arena.
    pub root: Option<Root>,
    pub first: usize,
    pub last: usize,
    /// Values mapped to it so far.
    values: Vec<ValueId>,
}

pub struct Storages {
    pub list: Vec<Storage>,
    /// Storage and offset of each value; none for values that nobody makes or reads.
    pub of: Vec<Option<(usize, usize)>>,
    /// For each graph output, whether it has a root of its own.
    pub own_output: Vec<bool>,
    /// For each value, whether it is a view: no kernel runs for it.
    pub is_view: Vec<bool>,
}

/// Last node that reads each value; graph outputs are read at the end.
fn last_uses(graph: &Graph) -> Vec<usize> {
    let mut last = vec![0; graph.values().len()];
    for (i, node) in graph.nodes().iter().enumerate() {
        for id in node.inputs.iter().flatten().chain(&node.outputs) {
            last[id.index()] = i;
        }
    }
    for (_, id) in graph.outputs() {
        last[id.index()] = usize::MAX;
    }
    last
}

impl Storages {
    fn new_storage(&mut self, value: ValueId, bytes: usize, root: Option<Root>, first: usize) {
        self.of[value.index()] = Some((self.list.len(), 0));
        self.list.push(Storage { bytes, root, first, last: first, values: vec![value] });
    }

    fn alias(&mut self, value: ValueId, of: ValueId, offset: usize) {
        let (storage, start) = self.of[of.index()].expect("a node's inputs come before it");
        self.of[value.index()] = Some((storage, start + offset));
        self.list[storage].values.push(value);
    }
}

/// Decides views, updates and in-place results, then the roots of outputs and the lifetimes.
pub fn assign(graph: &Graph, constants: &mut Vec<u8>) -> Result<Storages> {
    let last = last_uses(graph);
    let mut out = Storages {
        list: Vec::new(),
        of: vec![None; graph.values().len()],
        own_output: vec![false; graph.outputs().len()],
        is_view: vec![false; graph.values().len()],
    };
    for (i, &id) in graph.inputs().iter().enumerate() {
        out.new_storage(id, graph.ty(id)?.bytes(), Some(Root::Input(i as u32)), 0);
    }
    for (i, &id) in graph.params().iter().enumerate() {
        out.new_storage(id, graph.ty(id)?.bytes(), Some(Root::Weight(i as u32)), 0);
    }
    for (i, value) in graph.values().iter().enumerate() {
        if let Source::Constant(tensor) = &value.source {
            let id = ValueId(i as u32);
            out.new_storage(id, tensor.ty().bytes(), Some(Root::Constants), 0);
            constants.resize(constants.len().next_multiple_of(super::pack::ALIGNMENT), 0);
            out.of[i] = Some((out.list.len() - 1, constants.len()));
            constants.extend_from_slice(tensor.bytes());
        }
    }
    for (n, node) in graph.nodes().iter().enumerate() {
        let types = node.inputs.iter().map(|id| id.map(|id| graph.ty(id)).transpose()).collect::<Result<Vec<_>>>()?;
        let ins = Inputs(&types);
        let outs = node.outputs.iter().map(|&id| graph.ty(id).cloned()).collect::<Result<Vec<_>>>()?;
        let views = node.operator.views(&ins, &outs);
        for (o, &id) in node.outputs.iter().enumerate() {
            let view = views.get(o).copied().flatten().and_then(|(i, offset)| Some((node.inputs[i]?, offset)));
            let update = node.operator.updates().into_iter().find(|u| u.0 == o).and_then(|u| node.inputs[u.1]);
            let starts = view.and_then(|(of, offset)| Some(out.of[of.index()]?.1 + offset));
            if let (Some((of, offset)), true) = (view, starts.is_some_and(|s| s.is_multiple_of(VALUE_ALIGNMENT))) {
                out.alias(id, of, offset);
                out.is_view[id.index()] = true;
            } else if let Some(of) = update {
                out.alias(id, of, 0);
            } else if let Some(of) = in_place(graph, &out, &last, n, o, &ins)? {
                out.alias(id, of, 0);
            } else {
                out.new_storage(id, outs[o].bytes(), None, n);
            }
        }
    }
    for (j, (_, id)) in graph.outputs().iter().enumerate() {
        let (storage, offset) = out.of[id.index()].expect("every value has storage");
        let whole = offset == 0 && out.list[storage].bytes == graph.ty(*id)?.bytes();
        if out.list[storage].root.is_none() {
            out.list[storage].root = Some(Root::Output(j as u32));
            out.own_output[j] = whole;
        }
    }
    for storage in &mut out.list {
        storage.last = storage.values.iter().map(|v| last[v.index()]).max().unwrap_or(storage.first);
    }
    Ok(out)
}

/// The input over which output `o` of node `n` can be written: in the arena, of the same size, and read by nobody later.
fn in_place(
    graph: &Graph,
    out: &Storages,
    last: &[usize],
    n: usize,
    o: usize,
    ins: &Inputs<crate::tensor::TensorType>,
) -> Result<Option<ValueId>> {
    let node = &graph.nodes()[n];
    let bytes = graph.ty(node.outputs[o])?.bytes();
    for (_, i) in node.operator.in_place(ins).into_iter().filter(|p| p.0 == o) {
        let Some(id) = node.inputs.get(i).copied().flatten() else { continue };
        let Some((s, offset)) = out.of[id.index()] else { continue };
        let storage = &out.list[s];
        let dies = storage.values.iter().all(|v| last[v.index()] <= n);
        // Another input in the same storage could be read after it is overwritten.
        let alone = node.inputs.iter().flatten().all(|&other| other == id || out.of[other.index()].is_none_or(|(os, _)| os != s));
        if storage.root.is_none() && offset == 0 && storage.bytes == bytes && dies && alone {
            return Ok(Some(id));
        }
    }
    Ok(None)
}
