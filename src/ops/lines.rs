//! How kernels walk along lines (shaders/common/lines.glsl): which invocations share a line, what is read at once, and into how many parts
//! lines are cut. A pure choice from shapes and the device.

use super::DispatchBuilder;
use crate::kernels::Caps;
use crate::tensor::ElementType;
use crate::{Result, ensure};

/// Lines of `len` elements along the middle axis of [outer, len, inner].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lines {
    pub outer: usize,
    pub len: usize,
    pub inner: usize,
    /// As they lie in memory.
    pub element: ElementType,
}

/// What is computed with for a type, and how that lies in memory between stages.
pub fn part_element(element: ElementType) -> ElementType {
    use ElementType::*;
    match element {
        F16 | Bf16 => F32,
        I8 | I16 => I32,
        U8 | U16 => U32,
        other => other,
    }
}

/// The variant, the specialization and push constants of lines.glsl.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Invocations of a workgroup: 256 or 1024.
    pub group: usize,
    /// Invocations that share a line.
    pub lanes: usize,
    /// Adjacent invocations have adjacent lines, not adjacent elements of a line.
    pub across: bool,
    /// A piece is 16 bytes, not one element.
    pub vec: bool,
    /// Steps of an invocation that are kept in registers.
    pub held: usize,
    pub blocks: usize,
    pub inner: usize,
    pub steps: usize,
    pub stride: usize,
    pub parts: usize,
    pub chunk: usize,
}

/// Invocations of a workgroup.
const GROUP: usize = 256;
/// A workgroup for long lines.
const WIDE: usize = 1024;
/// Bytes that adjacent invocations should read at once where lines are walked across, and what they must where there are so many.
const RUN: usize = 128;
const SHORTEST_RUN: usize = 64;
/// Elements below which a part is not worth its second reading.
const SHORTEST_PART: usize = 2048;

/// Steps below which a part of a scan is not worth it, and parts above which each has too many sums before it.
const SHORTEST_SCAN: usize = 32;
const MOST_SCANS: usize = 512;

/// Workgroups that fill a large GPU (132 multiprocessors of an H200, rounded down). A software driver has a few threads.
fn full(caps: &Caps) -> usize {
    if caps.software { 4 } else { 128 }
}

fn power_below(n: usize) -> usize {
    1 << n.max(1).ilog2()
}

impl Lines {
    /// Elements that an invocation can keep in registers.
    fn room(&self) -> usize {
        if self.element == ElementType::F64 { 16 } else { 32 }
    }

    fn across(&self) -> bool {
        self.inner > 1
    }

    /// A plan that leaves lanes open: blocks and steps. Wide pieces where `vec` allows and they divide what lies beside each other.
    fn layout(&self, vec: bool) -> Plan {
        let (across, bytes) = (self.across(), self.element.bytes());
        let piece = 16 / bytes;
        let vec = vec && piece > 1 && (if across { self.inner } else { self.len }) % piece == 0;
        let each = if vec { piece } else { 1 };
        let (inner, steps) = if across { (self.inner / each, self.len) } else { (1, self.len / each) };
        let stride = if across { self.inner } else { each } * bytes;
        let blocks = self.outer * inner;
        Plan { group: GROUP, lanes: 1, across, vec, held: 1, blocks, inner, steps, stride, parts: 1, chunk: steps }
    }

    /// Lines that are kept in registers between two looks at them; in parts where they are too long for that.
    pub fn held(&self, caps: &Caps, vec: bool) -> Plan {
        let room = self.room();
        for group in [GROUP, WIDE].into_iter().filter(|&group| group <= caps.max_invocations as usize) {
            // Shared memory is too small for wide pieces of so many.
            let plan = self.layout(vec && !(self.across() && group == WIDE));
            let each = self.each(&plan);
            for columns in self.columns(&plan, group) {
                // Half the room first: more invocations with less each. Software drivers compile much of it slowly.
                let most = group / columns;
                let least = if plan.across { 1 } else { plan.steps.next_power_of_two().min(32) };
                let few = if caps.software { 4 } else { room / 2 };
                let lanes = plan.steps.div_ceil((few / each).max(1)).next_power_of_two().max(least).min(most);
                let held = plan.steps.div_ceil(lanes).next_power_of_two();
                if held * each <= room {
                    return Plan { group, lanes, held, ..plan };
                }
            }
        }
        let plan = self.layout(vec);
        let each = self.each(&plan);
        let lanes = GROUP / self.columns(&plan, GROUP)[0];
        let parts = plan.steps.div_ceil(lanes * (room / each));
        let plan = self.cut(Plan { lanes, ..plan }, parts, caps);
        Plan { held: plan.chunk.div_ceil(lanes).next_power_of_two(), ..plan }
    }

    /// Lines that are read once.
    pub fn streamed(&self, caps: &Caps, vec: bool) -> Plan {
        let plan = self.layout(vec);
        let columns = self.columns(&plan, GROUP)[0];
        let least = if plan.across { 1 } else { plan.steps.next_power_of_two().min(32) };
        let lanes = plan.steps.div_ceil(4).next_power_of_two().max(least).min(GROUP / columns);
        self.cut(Plan { lanes, ..plan }, 1, caps)
    }

    /// Lines that are added up step by step: across, an invocation has its lines alone.
    pub fn scanned(&self, caps: &Caps) -> Plan {
        if !self.across() {
            return self.streamed(caps, true);
        }
        let plan = self.layout(true);
        let wanted = (full(caps) * 2 * GROUP).div_ceil(plan.blocks.max(1)).min(plan.steps / SHORTEST_SCAN).min(MOST_SCANS);
        let chunk = plan.steps.div_ceil(wanted.max(1)).max(1);
        Plan { parts: plan.steps.div_ceil(chunk).max(1), chunk, ..plan }
    }

    /// The same in one part, one by one.
    pub fn whole(&self, caps: &Caps) -> Plan {
        let plan = self.streamed(caps, false);
        Plan { parts: 1, chunk: plan.steps, ..plan }
    }

    fn each(&self, plan: &Plan) -> usize {
        if plan.vec { 16 / self.element.bytes() } else { 1 }
    }

    /// Numbers of adjacent blocks that a workgroup may have, the best first.
    fn columns(&self, plan: &Plan, group: usize) -> Vec<usize> {
        if !plan.across {
            return vec![1];
        }
        let bytes = self.each(plan) * self.element.bytes();
        let blocks = power_below(plan.blocks).min(group);
        let (best, least) = ((RUN / bytes).clamp(1, 32).min(blocks), (SHORTEST_RUN / bytes).max(1).min(blocks));
        let mut columns = vec![best];
        while columns[columns.len() - 1] > least {
            columns.push(columns[columns.len() - 1] / 2);
        }
        columns
    }

    /// Cuts lines into at least so many parts, and into more where there are few.
    fn cut(&self, plan: Plan, least: usize, caps: &Caps) -> Plan {
        let groups = plan.blocks.div_ceil(plan.group / plan.lanes).max(1);
        let worth = plan.steps * self.each(&plan) * (plan.group / plan.lanes) / SHORTEST_PART;
        let wanted = (4 * full(caps)).div_ceil(groups).min(worth);
        let parts = if 2 * groups < 4 * full(caps) { wanted.max(least).max(1) } else { least };
        let chunk = plan.steps.div_ceil(parts).next_multiple_of(plan.lanes);
        Plan { parts: plan.steps.div_ceil(chunk.max(1)).max(1), chunk: chunk.max(1), ..plan }
    }
}

impl Plan {
    /// The variant of the kernel: its axis WALK.
    pub fn walk(&self) -> &'static str {
        match (self.across, self.vec, self.group == WIDE) {
            (false, false, false) => "along",
            (false, true, false) => "along_pieces",
            (false, false, true) => "along_wide",
            (false, true, true) => "along_pieces_wide",
            (true, false, false) => "across",
            (true, true, false) => "across_pieces",
            (true, _, true) => "across_wide",
        }
    }

    /// Lines of all blocks.
    pub fn lines(&self, element: ElementType) -> usize {
        self.blocks * if self.across && self.vec { 16 / element.bytes() } else { 1 }
    }

    pub fn groups(&self) -> usize {
        self.blocks.div_ceil(self.group / self.lanes) * self.parts
    }

    /// Sets what lines.glsl declares.
    pub fn set<'s>(&self, dispatch: DispatchBuilder<'s>) -> Result<DispatchBuilder<'s>> {
        let numbers = (self.blocks / self.inner.max(1)).checked_mul(self.steps).filter(|&n| n < 1 << 32);
        ensure!(
            numbers.is_some() && self.stride < 1 << 32,
            Unsupported,
            "{} lines of {} steps are above 2^32",
            self.blocks,
            self.steps
        );
        Ok(dispatch
            .uint("blocks", self.blocks)
            .uint("inner", self.inner)
            .uint("steps", self.steps)
            .uint("stride", self.stride)
            .uint("parts", self.parts)
            .uint("chunk", self.chunk)
            .spec("LANES", self.lanes as u32)
            .spec("HELD", self.held as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caps(software: bool) -> Caps {
        Caps {
            subgroup_size: 32,
            max_groups: [65535; 3],
            shared_bytes: 32 << 10,
            max_invocations: 1024,
            capabilities: Vec::new(),
            coop: Vec::new(),
            software,
        }
    }

    fn lines(outer: usize, len: usize, inner: usize) -> Lines {
        Lines { outer, len, inner, element: ElementType::F32 }
    }

    #[test]
    fn rows_are_held_by_as_many_lanes_as_they_need() {
        let held = |len| lines(8192, len, 1).held(&caps(false), true);
        for (len, group, lanes, held_steps) in
            [(4096, 256, 256, 4), (8192, 256, 256, 8), (32000, 1024, 1024, 8), (4, 256, 1, 1), (64, 256, 16, 1)]
        {
            let plan = held(len);
            assert_eq!((plan.group, plan.lanes, plan.held, plan.vec, plan.parts), (group, lanes, held_steps, true, 1), "{len}");
        }
        assert!(!held(4097).vec);
        assert_eq!(held(4).groups(), 32, "256 rows a workgroup");
    }

    #[test]
    fn parts_cover_every_step_and_fit_into_registers() {
        for software in [false, true] {
            for (outer, len, inner) in
                [(1, 40009, 1), (32, 1 << 20, 1), (1, 65537, 3), (2, 4099, 16), (1, 1 << 20, 4096), (0, 5, 1), (7, 0, 3)]
            {
                for vec in [false, true] {
                    let plan = lines(outer, len, inner).held(&caps(software), vec);
                    let covered = plan.parts * plan.chunk >= plan.steps && (plan.parts - 1) * plan.chunk < plan.steps.max(1);
                    assert!(
                        covered && plan.chunk <= plan.lanes * plan.held || plan.parts == 1 && plan.steps <= plan.lanes * plan.held,
                        "{plan:?}"
                    );
                    let room = plan.held * if plan.vec { 4 } else { 1 };
                    assert!(room <= 32 && plan.lanes <= plan.group, "{plan:?}");
                }
            }
        }
    }

    #[test]
    fn few_long_lines_are_cut_until_they_fill_the_device() {
        let streamed = |outer, len, inner| lines(outer, len, inner).streamed(&caps(false), true);
        assert_eq!(streamed(1, 4096 * 32000, 1).parts, 512);
        assert_eq!((streamed(1, 4096, 32000).parts, streamed(1, 4096, 32000).groups()), (1, 1000));
        assert_eq!(streamed(1, 8192, 4096).groups(), 512);
        assert_eq!((streamed(65537, 4, 1).lanes, streamed(65537, 4, 1).groups()), (1, 257));
        assert_eq!(streamed(1, 128256, 1).parts, 42);
        assert_eq!((streamed(5, 0, 3).parts, streamed(5, 0, 3).groups()), (1, 1));
    }

    #[test]
    fn scans_across_have_a_line_an_invocation() {
        let plan = lines(1, 65537, 2).scanned(&caps(false));
        assert_eq!((plan.lanes, plan.parts, plan.chunk), (1, 509, 129));
        assert_eq!(lines(1, 4096, 1 << 20).scanned(&caps(false)).parts, 1);
        assert_eq!(lines(3, 0, 2).scanned(&caps(false)).parts, 1);
    }

    #[test]
    fn lines_across_are_read_in_runs() {
        let plan = lines(8, 768, 3136).held(&caps(false), true);
        assert_eq!((plan.group, plan.group / plan.lanes, plan.vec), (1024, 32, false));
        let plan = lines(8, 96, 3136).held(&caps(false), true);
        assert_eq!((plan.group, plan.group / plan.lanes, plan.vec), (256, 8, true));
    }
}
