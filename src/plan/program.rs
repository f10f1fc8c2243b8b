//! The program: what a backend needs to run a graph, and nothing else.

use std::sync::Arc;

use super::hazard::place_barriers;
use super::pack::{Interval, lower_bound, pack};
use super::storage::{self, Storages};
use super::{Options, pack};
use crate::Result;
use crate::graph::Graph;
use crate::kernels::{Caps, Kernel};
use crate::ops::{Access, Lowering, Place, Region, Sink};
use crate::tensor::TensorType;

/// A block of memory that a backend provides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Root {
    /// Activations, reused within a run.
    Arena,
    /// Data of the program.
    Constants,
    /// The numbers of the run.
    RunState,
    /// Param `i` of the graph.
    Weight(u32),
    /// Input `i`: the executable's own storage, or a bound buffer.
    Input(u32),
    /// Output `j`: the executable's own storage, or a bound buffer.
    Output(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Location {
    pub root: Root,
    pub offset: usize,
}

/// A push constant that holds the address of some bytes.
#[derive(Clone, Copy, Debug)]
pub struct Fixup {
    pub push_offset: u32,
    pub root: Root,
    pub offset: usize,
    pub bytes: usize,
    pub access: Access,
}

/// One dispatch.
#[derive(Clone, Debug)]
pub struct Step {
    pub kernel: Kernel,
    pub node: usize,
    pub spec: Vec<(u32, u32)>,
    pub push: Vec<u8>,
    pub fixups: Vec<Fixup>,
    pub groups: [u32; 3],
    /// It must wait for all steps before it.
    pub barrier: bool,
}

/// An input, output or param.
#[derive(Clone, Debug)]
pub struct Port {
    pub name: String,
    pub ty: TensorType,
    /// Where its value lies (outputs: after the run).
    pub location: Location,
    /// Outputs: it has a root of its own, so that a buffer can be put in its place.
    pub own: bool,
    /// Inputs: a node writes it (KvAppend), so that the bound buffer changes in a run.
    pub updated: bool,
}

/// Sizes of the arena in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryReport {
    pub arena: usize,
    /// The most bytes that live at one moment.
    pub lower_bound: usize,
    /// If nothing shared memory.
    pub no_reuse: usize,
    pub constants: usize,
    pub weights: usize,
    /// The executable's own inputs and outputs.
    pub ports: usize,
}

/// A graph with memory and order decided.
#[derive(Debug)]
pub struct Program {
    pub graph: Graph,
    pub steps: Vec<Step>,
    pub constants: Vec<u8>,
    pub inputs: Vec<Port>,
    pub outputs: Vec<Port>,
    pub params: Vec<Port>,
    pub memory: MemoryReport,
    /// Bytes of the storage behind each output that has a root of its own.
    output_bytes: Vec<usize>,
    pub options: Options,
}

impl Program {
    /// Plans a graph whose shapes are all known. Without `caps` (the CPU device) there are no steps.
    pub fn new(graph: Graph, caps: Option<&Caps>, options: &Options) -> Result<Arc<Program>> {
        let mut sink = Sink::default();
        let storages = storage::assign(&graph, &mut sink.constants)?;
        let mut temps_of = Vec::new();
        if let Some(caps) = caps {
            for n in 0..graph.nodes().len() {
                let before = sink.temps.len();
                lower_node(&graph, n, &storages, caps, options, &mut sink)?;
                temps_of.resize(sink.temps.len(), n);
                debug_assert!(before <= temps_of.len());
            }
        }
        let (arena, memory) = place(&graph, &storages, &sink, &temps_of)?;
        let mut steps: Vec<Step> = sink
            .dispatches
            .into_iter()
            .map(|d| {
                let fixups = d.regions.iter().map(|&(at, region, access)| fixup(at, region, access, &storages, &arena)).collect();
                Step { kernel: d.kernel, node: d.node, spec: d.spec, push: d.push, fixups, groups: d.groups, barrier: false }
            })
            .collect();
        place_barriers(&mut steps, options.full_barriers);
        // By the graph, not by the steps: the CPU device has none.
        let updated: Vec<Root> = graph
            .nodes()
            .iter()
            .flat_map(|node| node.operator.updates().into_iter().map(|(o, _)| node.outputs[o]))
            .filter_map(|id| storages.of[id.index()])
            .map(|(s, offset)| arena.locate(&storages, s, offset).root)
            .collect();
        let port = |name: &str, id, own| -> Result<Port> {
            let (s, offset) = storages.of[crate::graph::ValueId::index(id)].expect("every value has storage");
            let location = arena.locate(&storages, s, offset);
            let updated = matches!(location.root, Root::Input(_)) && updated.contains(&location.root);
            Ok(Port { name: name.into(), ty: graph.ty(id)?.clone(), location, own, updated })
        };
        let inputs = graph.inputs().iter().map(|&id| port(&graph.value(id).name, id, true)).collect::<Result<_>>()?;
        let params = graph.params().iter().map(|&id| port(&graph.value(id).name, id, true)).collect::<Result<_>>()?;
        let outputs = graph
            .outputs()
            .iter()
            .zip(&storages.own_output)
            .map(|((name, id), &own)| port(name, *id, own))
            .collect::<Result<_>>()?;
        let mut output_bytes = vec![0; graph.outputs().len()];
        for s in &storages.list {
            if let Some(Root::Output(j)) = s.root {
                output_bytes[j as usize] = s.bytes;
            }
        }
        Ok(Arc::new(Program {
            output_bytes,
            steps,
            constants: sink.constants,
            inputs,
            outputs,
            params,
            memory,
            options: options.clone(),
            graph,
        }))
    }

    /// Bytes of the storage of output `j`'s own root.
    pub fn output_storage_bytes(&self, j: usize) -> usize {
        self.output_bytes[j]
    }

    /// What is wrong with a node that reported a bad index.
    pub fn index_error(&self, node: usize, position: u32, value: i64, limit: i64) -> crate::Error {
        let title = self.graph.nodes().get(node).map_or("an operator".into(), |n| n.title());
        crate::ops::out_of_range(value.into(), position as usize, limit.into()).within(title)
    }
}

fn lower_node(graph: &Graph, n: usize, storages: &Storages, caps: &Caps, options: &Options, sink: &mut Sink) -> Result<()> {
    let node = &graph.nodes()[n];
    let inputs = node.inputs.iter().map(|id| id.map(|id| Ok((id, graph.ty(id)?))).transpose()).collect::<Result<Vec<_>>>()?;
    let outputs = node.outputs.iter().map(|&id| Ok((id, graph.ty(id)?))).collect::<Result<Vec<_>>>()?;
    if outputs.iter().all(|(id, ty)| storages.is_view[id.index()] || ty.elements() == 0) {
        return Ok(());
    }
    let used = node
        .outputs
        .iter()
        .map(|id| {
            graph.outputs().iter().any(|(_, o)| o == id) || graph.nodes()[n + 1..].iter().any(|m| m.inputs.contains(&Some(*id)))
        })
        .collect();
    let mut at = Lowering { caps, options, node: n, inputs, outputs, used, sink };
    node.operator.lower(&mut at).map_err(|e| e.within(node.title()))
}

/// Offsets in the arena: of storages, and of temps.
struct Arena {
    storages: Vec<usize>,
    temps: Vec<usize>,
}

impl Arena {
    fn locate(&self, storages: &Storages, s: usize, offset: usize) -> Location {
        match storages.list[s].root {
            Some(root) => Location { root, offset },
            None => Location { root: Root::Arena, offset: self.storages[s] + offset },
        }
    }
}

fn place(graph: &Graph, storages: &Storages, sink: &Sink, temps_of: &[usize]) -> Result<(Arena, MemoryReport)> {
    let end = graph.nodes().len();
    let mut intervals: Vec<Interval> = storages
        .list
        .iter()
        .map(|s| Interval { bytes: if s.root.is_none() { s.bytes } else { 0 }, first: s.first, last: s.last.min(end) })
        .collect();
    intervals.extend(sink.temps.iter().zip(temps_of).map(|(&bytes, &n)| Interval { bytes, first: n, last: n }));
    let (offsets, arena) = pack(&intervals);
    let bytes_of = |kind: fn(&Root) -> bool| -> usize {
        storages.list.iter().filter(|s| s.root.as_ref().is_some_and(kind)).map(|s| s.bytes).sum()
    };
    let memory = MemoryReport {
        arena,
        lower_bound: lower_bound(&intervals),
        no_reuse: intervals.iter().map(|i| i.bytes.next_multiple_of(pack::ALIGNMENT)).sum(),
        constants: sink.constants.len(),
        weights: bytes_of(|r| matches!(r, Root::Weight(_))),
        ports: bytes_of(|r| matches!(r, Root::Input(_) | Root::Output(_))),
    };
    let (storage_offsets, temp_offsets) = offsets.split_at(storages.list.len());
    Ok((Arena { storages: storage_offsets.to_vec(), temps: temp_offsets.to_vec() }, memory))
}

fn fixup(push_offset: u32, region: Region, access: Access, storages: &Storages, arena: &Arena) -> Fixup {
    let location = match region.place {
        Place::Value(id) => {
            let (s, offset) = storages.of[id.index()].expect("every value has storage");
            arena.locate(storages, s, offset + region.offset)
        }
        Place::Temp(t) => Location { root: Root::Arena, offset: arena.temps[t as usize] + region.offset },
        Place::Constants => Location { root: Root::Constants, offset: region.offset },
        Place::RunState => Location { root: Root::RunState, offset: region.offset },
    };
    Fixup { push_offset, root: location.root, offset: location.offset, bytes: region.bytes, access }
}
