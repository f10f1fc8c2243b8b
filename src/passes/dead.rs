//! Drops nodes that no output depends on.

use crate::Result;
use crate::graph::Graph;

pub fn run(graph: &Graph) -> Result<Graph> {
    let mut needed = vec![false; graph.values().len()];
    for (_, id) in graph.outputs() {
        needed[id.index()] = true;
    }
    let mut live = vec![false; graph.nodes().len()];
    for (i, node) in graph.nodes().iter().enumerate().rev() {
        // A node that writes an input in place (KvAppend on a handle) acts even if its result is not read.
        let acts = node.operator.updates().iter().any(|u| node.inputs[u.1].is_some_and(|id| graph.inputs().contains(&id)));
        live[i] = acts || node.outputs.iter().any(|id| needed[id.index()]);
        if live[i] {
            node.inputs.iter().flatten().for_each(|id| needed[id.index()] = true);
        }
    }
    graph.rewrite(|r, i| if live[i] { r.keep(i) } else { Ok(()) })
}
