//! Rewrites of a graph whose shapes are known. One rewrite, one file.

mod dead;
mod fold;
mod updates;

use crate::Result;
use crate::graph::Graph;

/// All passes, in their order: what is dead is dropped first and last, updates come after everything that moves uses about.
pub fn optimize(graph: &Graph) -> Result<Graph> {
    let graph = dead::run(graph)?;
    let graph = fold::run(&graph)?;
    let graph = dead::run(&graph)?;
    updates::run(&graph)
}
