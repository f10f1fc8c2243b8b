//! What an operator uses to say which kernels compute it. Pure data: no device is touched.

use crate::graph::ValueId;
use crate::kernels::{Caps, Kernel, PushKind};
use crate::plan::Options;
use crate::tensor::TensorType;
use crate::{Result, ensure, error};

/// Where bytes live before the planner gives them addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// The storage of a value of the graph.
    Value(ValueId),
    /// Scratch of one node, by number.
    Temp(u32),
    /// Data known at compile, shared by all runs.
    Constants,
    /// The numbers that change from run to run (see `plan::run_state`).
    RunState,
}

/// A range of bytes that a kernel reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    pub place: Place,
    pub offset: usize,
    pub bytes: usize,
}

/// What is given to a push constant of address type.
pub type Operand = Region;

impl Region {
    /// The part that starts `offset` bytes later and has `bytes` bytes.
    pub fn part(self, offset: usize, bytes: usize) -> Self {
        debug_assert!(offset + bytes <= self.bytes);
        Self { place: self.place, offset: self.offset + offset, bytes }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
    ReadWrite,
}

/// One kernel launch.
#[derive(Clone, Debug)]
pub struct Dispatch {
    pub kernel: Kernel,
    /// The node it belongs to.
    pub node: usize,
    /// Specialization constants: id and value.
    pub spec: Vec<(u32, u32)>,
    pub push: Vec<u8>,
    /// Where in `push` the address of which region goes, and what is done there.
    pub regions: Vec<(u32, Region, Access)>,
    pub groups: [u32; 3],
}

/// Collects the dispatches of one node.
pub struct Lowering<'a> {
    pub caps: &'a Caps,
    pub options: &'a Options,
    pub(crate) node: usize,
    pub(crate) inputs: Vec<Option<(ValueId, &'a TensorType)>>,
    pub(crate) outputs: Vec<(ValueId, &'a TensorType)>,
    /// True for outputs that somebody reads.
    pub(crate) used: Vec<bool>,
    pub(crate) sink: &'a mut Sink,
}

/// What lowering adds to: dispatches, scratch sizes, constants.
#[derive(Default)]
pub struct Sink {
    pub dispatches: Vec<Dispatch>,
    pub temps: Vec<usize>,
    pub constants: Vec<u8>,
}

impl<'a> Lowering<'a> {
    pub fn has_input(&self, i: usize) -> bool {
        self.inputs.get(i).is_some_and(Option::is_some)
    }

    pub fn input_count(&self) -> usize {
        self.inputs.len()
    }

    /// The type of an input that the shape rule has checked to be there.
    pub fn input_type(&self, i: usize) -> &'a TensorType {
        self.inputs[i].expect("the shape rule checked that this input is there").1
    }

    pub fn output_type(&self, i: usize) -> &'a TensorType {
        self.outputs[i].1
    }

    /// True if anybody reads this output; false where the graph leaves it out.
    pub fn output_used(&self, i: usize) -> bool {
        self.used[i]
    }

    pub fn input(&self, i: usize) -> Operand {
        let (value, ty) = self.inputs[i].expect("the shape rule checked that this input is there");
        Region { place: Place::Value(value), offset: 0, bytes: ty.bytes() }
    }

    /// Input `i`, or a region of no bytes where it is absent (the kernel must not touch it).
    pub fn opt_input(&self, i: usize) -> Operand {
        if self.has_input(i) { self.input(i) } else { Region { place: Place::Constants, offset: 0, bytes: 0 } }
    }

    pub fn output(&self, i: usize) -> Operand {
        let (value, ty) = self.outputs[i];
        Region { place: Place::Value(value), offset: 0, bytes: ty.bytes() }
    }

    /// Scratch that lives as long as this node.
    pub fn temp(&mut self, bytes: usize) -> Operand {
        self.sink.temps.push(bytes);
        Region { place: Place::Temp(self.sink.temps.len() as u32 - 1), offset: 0, bytes }
    }

    /// Words known at compile, in device memory: for what does not fit into push constants.
    pub fn constants(&mut self, words: &[u32]) -> Operand {
        let constants = &mut self.sink.constants;
        constants.resize(constants.len().next_multiple_of(16), 0);
        let offset = constants.len();
        constants.extend(words.iter().flat_map(|w| w.to_le_bytes()));
        Region { place: Place::Constants, offset, bytes: words.len() * 4 }
    }

    /// The numbers of the run: seed, run counter, status word (shaders/common/run_state.glsl).
    pub fn run_state(&self) -> Operand {
        Region { place: Place::RunState, offset: 0, bytes: crate::plan::RUN_STATE_BYTES }
    }

    /// The node's number, which a kernel writes into the status word with a bad index.
    pub fn node_number(&self) -> u32 {
        self.node as u32
    }

    pub fn dispatch(&mut self, kernel: Kernel) -> DispatchBuilder<'_> {
        let kernel = self.caps.fitting(kernel);
        let info = kernel.info();
        DispatchBuilder {
            max_groups: self.caps.max_groups,
            missing: self.caps.missing(kernel),
            set: vec![false; info.push.len()],
            problem: None,
            dispatch: Dispatch {
                kernel,
                node: self.node,
                spec: Vec::new(),
                push: vec![0; info.push_bytes()],
                regions: Vec::new(),
                groups: [0; 3],
            },
            sink: &mut self.sink.dispatches,
        }
    }
}

/// Sets push and specialization constants of a kernel by name. A name that the shader lacks, a member not set or a type that
/// does not fit is an error of `groups`/`threads`, so that the two sides cannot drift apart.
pub struct DispatchBuilder<'s> {
    dispatch: Dispatch,
    max_groups: [u32; 3],
    missing: Option<&'static str>,
    set: Vec<bool>,
    problem: Option<String>,
    sink: &'s mut Vec<Dispatch>,
}

impl DispatchBuilder<'_> {
    fn member(&mut self, name: &str, kind: &[PushKind]) -> Option<u32> {
        let info = self.dispatch.kernel.info();
        match info.push.iter().position(|m| m.name == name && kind.contains(&m.kind)) {
            Some(i) => {
                self.set[i] = true;
                Some(info.push[i].offset)
            }
            None => {
                self.problem
                    .get_or_insert_with(|| format!("kernel {} has no push constant \"{name}\" of the type that is set", info.name));
                None
            }
        }
    }

    fn region(mut self, name: &str, region: Operand, access: Access) -> Self {
        if let Some(offset) = self.member(name, &[PushKind::Address]) {
            self.dispatch.regions.push((offset, region, access));
        }
        self
    }

    /// The kernel reads this region.
    pub fn read(self, name: &str, region: Operand) -> Self {
        self.region(name, region, Access::Read)
    }

    /// The kernel writes this region, and reads nothing of it that was there before.
    pub fn write(self, name: &str, region: Operand) -> Self {
        self.region(name, region, Access::Write)
    }

    pub fn read_write(self, name: &str, region: Operand) -> Self {
        self.region(name, region, Access::ReadWrite)
    }

    fn word(mut self, name: &str, kind: &[PushKind], bytes: [u8; 4]) -> Self {
        if let Some(offset) = self.member(name, kind) {
            self.dispatch.push[offset as usize..][..4].copy_from_slice(&bytes);
        }
        self
    }

    /// A u32 push constant; an error if the value does not fit.
    pub fn uint(mut self, name: &str, value: usize) -> Self {
        match u32::try_from(value) {
            Ok(v) => self.word(name, &[PushKind::U32], v.to_le_bytes()),
            Err(_) => {
                let kernel = self.dispatch.kernel;
                self.problem
                    .get_or_insert_with(|| format!("kernel {kernel}: \"{name}\" = {value} is above the limit of {}", u32::MAX));
                self
            }
        }
    }

    pub fn int(self, name: &str, value: i32) -> Self {
        self.word(name, &[PushKind::I32], value.to_le_bytes())
    }

    pub fn float(self, name: &str, value: f64) -> Self {
        self.word(name, &[PushKind::F32], (value as f32).to_le_bytes())
    }

    /// A specialization constant (bool as 0 or 1, float as its bits).
    pub fn spec(mut self, name: &str, value: u32) -> Self {
        let info = self.dispatch.kernel.info();
        match info.spec.iter().find(|s| s.0 == name) {
            Some(&(_, id)) => self.dispatch.spec.push((id, value)),
            None => {
                self.problem.get_or_insert_with(|| format!("kernel {} has no specialization constant \"{name}\"", info.name));
            }
        }
        self
    }

    /// Launches `count` workgroups, folded over x, y and z within the device's limits: the shader's `group_index()` undoes it and
    /// must be compared with the real count, since the fold may round up. Nothing is launched for 0.
    pub fn groups(mut self, count: usize) -> Result<()> {
        let [mx, my, mz] = self.max_groups.map(|m| m as usize);
        let y_total = count.div_ceil(mx).max(1);
        let x = count.div_ceil(y_total);
        let z = y_total.div_ceil(my);
        let y = y_total.div_ceil(z.max(1));
        ensure!(z <= mz, Unsupported, "kernel {} needs {count} workgroups, above the limit", self.dispatch.kernel);
        self.dispatch.groups = [x as u32, y as u32, z as u32];
        self.finish()
    }

    /// Launches enough workgroups for `count` invocations along x, folded as `groups` does.
    pub fn threads(self, count: usize) -> Result<()> {
        let local = self.dispatch.kernel.info().local_size[0] as usize;
        self.groups(count.div_ceil(local))
    }

    /// Launches a grid of this very shape; each dimension must be within the device's limit (at least 65535).
    pub fn grid(mut self, groups: [usize; 3]) -> Result<()> {
        for (i, (&n, &max)) in groups.iter().zip(&self.max_groups).enumerate() {
            let kernel = self.dispatch.kernel;
            ensure!(n <= max as usize, Unsupported, "kernel {kernel} needs {n} workgroups along axis {i}, the device allows {max}");
            self.dispatch.groups[i] = n as u32;
        }
        self.finish()
    }

    fn finish(self) -> Result<()> {
        if let Some(problem) = self.problem {
            return Err(error!(Internal, "{problem}"));
        }
        let info = self.dispatch.kernel.info();
        if let Some(i) = self.set.iter().position(|set| !set) {
            return Err(error!(Internal, "kernel {}: push constant \"{}\" is not set", info.name, info.push[i].name));
        }
        if let Some(missing) = self.missing {
            return Err(error!(Unsupported, "kernel {} needs {missing}, which this device lacks", info.name));
        }
        if self.dispatch.groups.iter().all(|&g| g > 0) {
            self.sink.push(self.dispatch);
        }
        Ok(())
    }
}
