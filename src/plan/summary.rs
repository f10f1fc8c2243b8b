//! A program in a few lines, for people who debug.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::Program;

impl Program {
    /// Counts, sizes, and how often each kernel is launched.
    pub fn summary(&self) -> String {
        let m = &self.memory;
        let barriers = self.steps.iter().filter(|s| s.barrier).count();
        let mut out = format!(
            "schedule: {} operators, {} dispatches, {barriers} barriers; bytes: activations {} (at least {}, without reuse {}), constants {}, \
             weights {}, inputs and outputs {}",
            self.graph.nodes().len(),
            self.steps.len(),
            m.arena,
            m.lower_bound,
            m.no_reuse,
            m.constants,
            m.weights,
            m.ports
        );
        let mut counts: BTreeMap<&str, (usize, u64)> = BTreeMap::new();
        for step in &self.steps {
            let row = counts.entry(step.kernel.info().name).or_default();
            row.0 += 1;
            row.1 += step.groups.iter().map(|&g| u64::from(g)).product::<u64>();
        }
        for (kernel, (launches, groups)) in counts {
            let _ = write!(out, "\n{launches:>8} x {kernel}, {groups} workgroups");
        }
        out
    }
}
