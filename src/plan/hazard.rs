//! Where barriers must be: by ranges of bytes, so that parts of one slot do not serialise each other, and reused memory does.

use super::program::{Fixup, Root, Step};
use crate::ops::Access;

/// Accesses since the last barrier.
#[derive(Default)]
struct Pending {
    reads: Vec<(Root, usize, usize)>,
    writes: Vec<(Root, usize, usize)>,
}

fn overlaps(list: &[(Root, usize, usize)], f: &Fixup) -> bool {
    list.iter().any(|&(root, start, end)| root == f.root && f.offset < end && start < f.offset + f.bytes)
}

/// Weights and constants are never written; the run state is written by atomics alone.
fn tracked(f: &Fixup) -> bool {
    f.bytes > 0 && !matches!(f.root, Root::Weight(_) | Root::Constants | Root::RunState)
}

/// Sets `barrier` on the steps that must wait for what was launched before them.
pub fn place_barriers(steps: &mut [Step], everywhere: bool) {
    let mut pending = Pending::default();
    for (i, step) in steps.iter_mut().enumerate() {
        let conflict = step.fixups.iter().filter(|f| tracked(f)).any(|f| match f.access {
            Access::Read => overlaps(&pending.writes, f),
            Access::Write | Access::ReadWrite => overlaps(&pending.writes, f) || overlaps(&pending.reads, f),
        });
        step.barrier = i > 0 && (conflict || everywhere);
        if step.barrier {
            pending = Pending::default();
        }
        for f in step.fixups.iter().filter(|f| tracked(f)) {
            let range = (f.root, f.offset, f.offset + f.bytes);
            match f.access {
                Access::Read => pending.reads.push(range),
                Access::Write | Access::ReadWrite => pending.writes.push(range),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::Kernel;

    fn step(fixups: &[(usize, usize, Access)]) -> Step {
        let fixups = fixups
            .iter()
            .map(|&(offset, bytes, access)| Fixup { push_offset: 0, root: Root::Arena, offset, bytes, access })
            .collect();
        let kernel = Kernel::all().next().expect("there are kernels");
        Step { kernel, node: 0, spec: Vec::new(), push: Vec::new(), fixups, groups: [1; 3], barrier: false }
    }

    #[test]
    fn barriers_follow_byte_ranges() {
        use Access::*;
        let mut steps = [
            step(&[(0, 64, Write)]),
            step(&[(64, 64, Write)]),                   // beside it: none
            step(&[(0, 128, Read), (256, 64, Write)]),  // reads both: barrier
            step(&[(128, 64, Read), (320, 64, Write)]), // nothing pending there: none
            step(&[(32, 8, Write)]),                    // writes what is being read: barrier
        ];
        place_barriers(&mut steps, false);
        assert_eq!(steps.map(|s| s.barrier), [false, false, true, false, true]);
    }
}
