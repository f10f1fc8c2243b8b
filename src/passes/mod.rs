//! Rewrites of a graph whose shapes are known. One rewrite, one file.

mod control;
mod dead;
mod fold;
mod updates;

use crate::Result;
use crate::graph::Graph;

/// All passes, in their order: what is dead is dropped first and last, updates come after everything that moves uses about. A device without control
/// flow of its own gets it written out.
pub fn optimize(graph: &Graph, write_out: bool) -> Result<Graph> {
    let graph = dead::run(graph)?;
    let mut graph = fold::run(&graph)?;
    if write_out && control::is_in(&graph) {
        graph = fold::run(&control::run(&graph)?)?;
    }
    let graph = dead::run(&graph)?;
    updates::run(&graph)
}
