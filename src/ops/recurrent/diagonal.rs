//! How scans whose states decay one by one (SelectiveScan, Mamba2) become a dispatch.

use crate::Result;
use crate::kernels::{Caps, kernel};
use crate::ops::{Lowering, Operand};
use crate::tensor::ElementType;

/// A scan as shaders/recurrent/scan_diagonal.comp sees it.
pub struct Scan {
    pub element: ElementType,
    /// Each row has a decay of its own for each of its states, and there is one head.
    pub per_row: bool,
    pub batch: usize,
    pub steps: usize,
    pub heads: usize,
    pub rows: usize,
    pub groups: usize,
    pub n: usize,
}

pub struct Operands {
    pub x: Operand,
    pub delta: Operand,
    pub a: Operand,
    pub b: Operand,
    pub c: Operand,
    pub d: Option<Operand>,
    pub state: Option<Operand>,
    pub y: Operand,
    pub last: Operand,
}

/// How a workgroup of 256 shares its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tiling {
    /// Lanes of a row, states of a lane along n, rows of a lane, and steps read at a time.
    lanes: usize,
    held: usize,
    rows: usize,
    steps: usize,
}

/// States of a row that are scanned in one turn at most: what 32 lanes hold in 8 registers. A software driver takes long to compile many.
const MOST_LANES: usize = 32;

fn most_held(caps: &Caps) -> usize {
    if caps.software { 2 } else { 8 }
}

impl Tiling {
    /// Rows of a workgroup, and states of a row in a turn.
    fn block(self) -> usize {
        256 / self.lanes * self.rows
    }

    fn tile(self) -> usize {
        self.lanes * self.held
    }

    /// Elements in shared memory for each step.
    fn shared(self, per_row: bool) -> usize {
        let deltas = if per_row { self.block() } else { 1 };
        self.block() + deltas + 2 * self.tile() + 256 * self.rows
    }
}

/// The tiling of a scan: lanes follow n. Rows of a lane share its loads of b and c, as long as the device stays full.
fn tiling(scan: &Scan, caps: &Caps) -> Tiling {
    let lanes = scan.n.next_power_of_two().clamp(1, MOST_LANES);
    let held = scan.n.div_ceil(lanes).next_power_of_two().min(most_held(caps));
    let full = if caps.software { 4 } else { 128 };
    let enough = |rows: usize| {
        let block = 256 / lanes * rows;
        block < 2 * scan.rows && scan.batch * scan.heads * scan.rows.div_ceil(block) >= full
    };
    let rows = if scan.per_row { 1 } else { [4, 2].into_iter().find(|&r| enough(r)).unwrap_or(1) };
    let bytes = if scan.element == ElementType::F64 { 8 } else { 4 };
    let budget = (caps.shared_bytes as usize).min(24 << 10) / bytes;
    let mut out = Tiling { lanes, held, rows, steps: 16 };
    // What an invocation reads ahead of each tensor.
    let most_read = if caps.software { 256 } else { 4096 };
    let fits = |t: Tiling| t.steps * t.shared(scan.per_row) <= budget && t.steps * t.block().max(t.tile()) <= most_read;
    while out.steps > 1 && !fits(out) {
        out.steps /= 2;
    }
    out
}

/// Adds the dispatch of a scan.
pub fn lower_scan(at: &mut Lowering, scan: &Scan, operands: &Operands) -> Result<()> {
    let tiling = tiling(scan, at.caps);
    let absent = at.opt_input(usize::MAX);
    let wide = if scan.element == ElementType::F64 { 8 } else { 4 };
    let sums = match scan.n > tiling.tile() {
        true => at.temp(scan.batch * scan.steps * scan.heads * scan.rows * wide),
        false => absent,
    };
    at.dispatch(kernel::scan_diagonal(scan.element.name())?)
        .read("x", operands.x)
        .read("delta", operands.delta)
        .read("a", operands.a)
        .read("b", operands.b)
        .read("c", operands.c)
        .read("d", operands.d.unwrap_or(absent))
        .read("state", operands.state.unwrap_or(absent))
        .write("y", operands.y)
        .write("last", operands.last)
        .read_write("sums", sums)
        .uint("batch", scan.batch)
        .uint("steps", scan.steps)
        .uint("heads", scan.heads)
        .uint("rows", scan.rows)
        .uint("groups", scan.groups)
        .uint("n", scan.n)
        .spec("PER_ROW", scan.per_row.into())
        .spec("D", operands.d.is_some().into())
        .spec("STATE", operands.state.is_some().into())
        .spec("LANES", tiling.lanes as u32)
        .spec("HELD", tiling.held as u32)
        .spec("ROWS", tiling.rows as u32)
        .spec("STEPS", tiling.steps as u32)
        .groups(scan.batch * scan.heads * scan.rows.div_ceil(tiling.block()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caps(software: bool) -> Caps {
        Caps {
            subgroup_size: 32,
            max_groups: [65535; 3],
            shared_bytes: 48 << 10,
            max_invocations: 1024,
            capabilities: Vec::new(),
            coop: Vec::new(),
            software,
        }
    }

    fn scan(per_row: bool, batch: usize, [heads, rows, n]: [usize; 3]) -> Scan {
        Scan { element: ElementType::F32, per_row, batch, steps: 2048, heads, rows, groups: 1, n }
    }

    #[test]
    fn lanes_follow_the_states_and_shared_memory_is_enough() {
        let at = |per_row, shape| tiling(&scan(per_row, 1, shape), &caps(false));
        assert_eq!(at(true, [1, 4096, 16]), Tiling { lanes: 16, held: 1, rows: 1, steps: 16 });
        assert_eq!(at(false, [80, 64, 128]), Tiling { lanes: 32, held: 4, rows: 4, steps: 4 });
        assert_eq!(at(false, [8, 64, 128]).rows, 1);
        assert_eq!(at(true, [1, 5, 0]), Tiling { lanes: 1, held: 1, rows: 1, steps: 4 });
        assert_eq!(at(true, [1, 5, 29]).tile(), 32);
        assert_eq!(at(true, [1, 5, 1000]).tile(), 256);
        for element in [ElementType::F32, ElementType::F64] {
            for n in [0, 1, 2, 3, 16, 17, 33, 64, 200, 257, 5000] {
                for rows in [1, 16, 64, 1000] {
                    for per_row in [false, true] {
                        let t = tiling(&Scan { element, ..scan(per_row, 64, [4, rows, n]) }, &caps(false));
                        let bytes = if element == ElementType::F64 { 8 } else { 4 };
                        assert!(t.steps * t.shared(per_row) * bytes <= 24 << 10, "{t:?}");
                    }
                }
            }
        }
    }
}
