//! Drops nodes that no output depends on.

use crate::Result;
use crate::graph::{Graph, Node};

pub fn run(graph: &Graph) -> Result<Graph> {
    // A node that writes an input in place (KvAppend on a handle) acts even if its result is not read.
    let acts =
        |node: &Node| node.operator.updates().iter().any(|u| node.inputs[u.1].is_some_and(|id| graph.inputs().contains(&id)));
    let live = graph.live(acts);
    graph.rewrite(|r, i| if live[i] { r.keep(i) } else { Ok(()) })
}
