//! An executable on a Vulkan device: memory, cells, recorded commands, one submit a run.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::buffer::{Buffer, Storage};
use super::feed::{DeviceCopy, INDIRECT};
use super::profile::{NodeTime, Profile};
use super::weights::Weight;
use crate::ops::RunNumbers;
use crate::plan::{Location, Program, RUN_STATE_BYTES, Root};
use crate::tensor::TensorType;
use crate::vulkan::{
    Batches, Commands, Copy, Device, MemoryKind, PipelineKey, Recorder, Timeline, Timestamps, Transfer, VulkanBuffer,
};
use crate::{Result, bail, ensure, error};

/// Dispatches of one batch of a submit. Some drivers stop a batch that runs for seconds, as if it hung; between batches they look around.
const STEPS_OF_A_PART: usize = 1024;

/// Where the cells start in the state buffer.
const CELLS: usize = RUN_STATE_BYTES.next_multiple_of(64);

/// Storage of an input or output that is the executable's own, and the commands that move it.
#[derive(Default)]
struct Port {
    own: Option<Arc<VulkanBuffer>>,
    bound: Option<Arc<Buffer>>,
    staging: Option<VulkanBuffer>,
    moves: Option<Commands>,
}

impl Port {
    fn buffer(&self) -> Option<&VulkanBuffer> {
        match &self.bound {
            Some(buffer) => match &buffer.storage {
                Storage::Vulkan(raw) => Some(raw),
                Storage::Host(_) => None,
            },
            None => self.own.as_deref(),
        }
    }
}

/// A copy of an output after each run.
pub(crate) struct OutputCopy {
    output: usize,
    to: Arc<Buffer>,
    /// It carries an output to a handle, and follows the active extent.
    is_feed: bool,
    copy: DeviceCopy,
}

pub(crate) struct VulkanMachine {
    device: Arc<Device>,
    program: Arc<Program>,
    weights: Vec<Arc<Weight>>,
    // The timeline waits when it is dropped: it comes before everything that its work uses.
    timeline: Timeline,
    recorder: Recorder,
    arena: Option<VulkanBuffer>,
    constants: Option<Arc<VulkanBuffer>>,
    state: VulkanBuffer,
    /// Cell of each place that push constants reach through one.
    cells: HashMap<Location, usize>,
    inputs: Vec<Port>,
    outputs: Vec<Port>,
    /// The program, in parts of at most `STEPS_OF_A_PART`.
    main: Vec<Commands>,
    timestamps: Option<Timestamps>,
    profiling: bool,
    rerecord: bool,
    copies: Vec<OutputCopy>,
    /// Copies that were made before and are not needed now, with the output each is for.
    spare: Vec<(usize, DeviceCopy)>,
    row_copies: HashMap<usize, DeviceCopy>,
    /// Reused by submits, so that a steady run allocates nothing.
    scratch: Batches,
    pub extents: [u32; 16],
    pub submits: u64,
}

impl VulkanMachine {
    pub fn new(
        device: &Arc<Device>,
        transfer: &Transfer,
        program: &Arc<Program>,
        weights: Vec<Arc<Weight>>,
        shared_constants: Option<Arc<VulkanBuffer>>,
        profiling: bool,
    ) -> Result<Self> {
        let sizes = program.inputs.iter().map(|p| ("input", p, p.ty.bytes()));
        let sizes = sizes.chain(program.outputs.iter().enumerate().map(|(j, p)| ("output", p, program.output_storage_bytes(j))));
        for (kind, port, bytes) in sizes {
            VulkanBuffer::check_size(device, &format!("{kind} \"{}\" ({})", port.name, port.ty), bytes)?;
        }
        // A constant of no bytes that is an output lies somewhere too.
        let is_output = program.outputs.iter().any(|port| port.location.root == Root::Constants);
        let constants = match shared_constants {
            Some(constants) => Some(constants),
            None if program.constants.is_empty() && !is_output => None,
            None => {
                let buffer = VulkanBuffer::new(device, "the constants", program.constants.len(), MemoryKind::Device)?;
                transfer.write(&buffer, 0, &program.constants)?;
                Some(Arc::new(buffer))
            }
        };
        let arena = match program.memory.arena {
            0 => None,
            bytes => Some(VulkanBuffer::new(device, "the activations", bytes, MemoryKind::Device)?),
        };
        let mut cells = HashMap::new();
        let ports = (0..program.inputs.len()).map(|i| Root::Input(i as u32));
        let ports = ports.chain((0..program.outputs.len()).map(|j| Root::Output(j as u32)));
        let places = ports.map(|root| Location { root, offset: 0 });
        let used = program.steps.iter().flat_map(|s| &s.fixups).map(|f| Location { root: f.root, offset: f.offset });
        for place in places.chain(used.filter(|l| matches!(l.root, Root::Input(_) | Root::Output(_)))) {
            let next = cells.len();
            cells.entry(place).or_insert(next);
        }
        let state = VulkanBuffer::new(device, "the run state", CELLS + 8 * cells.len(), MemoryKind::Upload)?;
        let timestamps = match profiling && device.physical().timestamp_period > 0.0 && !program.steps.is_empty() {
            true => Some(Timestamps::new(device, program.steps.len() as u32 + 1)?),
            false => None,
        };
        Ok(Self {
            device: device.clone(),
            program: program.clone(),
            weights,
            timeline: Timeline::new(device)?,
            recorder: Recorder::new(device)?,
            arena,
            constants,
            state,
            cells,
            inputs: (0..program.inputs.len()).map(|_| Port::default()).collect(),
            outputs: (0..program.outputs.len()).map(|_| Port::default()).collect(),
            main: Vec::new(),
            timestamps,
            profiling,
            rerecord: std::env::var("CALDERA_NO_CACHE").is_ok_and(|v| v == "1"),
            copies: Vec::new(),
            spare: Vec::new(),
            row_copies: HashMap::new(),
            scratch: Batches::default(),
            extents: [0; 16],
            submits: 0,
        })
    }

    /// A twin that shares weights, constants and pipelines.
    pub fn twin(&self, transfer: &Transfer) -> Result<Self> {
        Self::new(&self.device, transfer, &self.program, self.weights.clone(), self.constants.clone(), self.profiling)
    }

    fn key(step: &crate::plan::Step) -> PipelineKey {
        PipelineKey { kernel: step.kernel, spec: step.spec.clone() }
    }

    /// Makes the pipelines and records, so that the first run is as fast as the others.
    pub fn warm_up(&mut self) -> Result<()> {
        let mut keys: Vec<PipelineKey> = self.program.steps.iter().map(Self::key).collect();
        keys.sort_by_key(|k| (k.kernel.index(), k.spec.clone()));
        keys.dedup();
        self.device.warm_up(&keys)?;
        if self.main.is_empty() || self.rerecord {
            self.record()?;
        }
        Ok(())
    }

    /// The address that goes into a push constant for a place.
    fn address(&self, place: Location) -> Result<u64> {
        let base = match place.root {
            Root::Arena => self.arena.as_ref().map_or(0, VulkanBuffer::address),
            Root::Constants => self.constants.as_ref().map_or(0, |c| c.address()),
            Root::RunState => self.state.address(),
            Root::Weight(i) => {
                let (weight, port) = (&self.weights[i as usize], &self.program.params[i as usize]);
                ensure!(weight.is_filled(), InvalidArgument, "param \"{}\" ({}) has not been set", port.name, port.ty);
                match &weight.storage {
                    Storage::Vulkan(buffer) => buffer.address(),
                    Storage::Host(_) => bail!(Internal, "a host weight on a Vulkan device"),
                }
            }
            Root::Input(_) | Root::Output(_) => {
                let cell = self.cells.get(&place).ok_or_else(|| error!(Internal, "a place without a cell"))?;
                return Ok((self.state.address() + (CELLS + 8 * cell) as u64) | INDIRECT);
            }
        };
        Ok(base + place.offset as u64)
    }

    fn record(&mut self) -> Result<()> {
        let program = self.program.clone();
        let mut pushes = Vec::with_capacity(program.steps.len());
        for step in &program.steps {
            let mut push = step.push.clone();
            for f in &step.fixups {
                let address = if f.bytes == 0 { 0 } else { self.address(Location { root: f.root, offset: f.offset })? };
                push[f.push_offset as usize..][..8].copy_from_slice(&address.to_le_bytes());
            }
            pushes.push(push);
        }
        self.main.drain(..).for_each(|commands| self.recorder.free(commands));
        let parts = program.steps.len().div_ceil(STEPS_OF_A_PART).max(1);
        for part in 0..parts {
            match self.record_part(part, parts, &pushes) {
                Ok(commands) => self.main.push(commands),
                Err(error) => {
                    self.main.drain(..).for_each(|commands| self.recorder.free(commands));
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    fn record_part(&self, part: usize, parts: usize, pushes: &[Vec<u8>]) -> Result<Commands> {
        let first = part * STEPS_OF_A_PART;
        let last = self.program.steps.len().min(first + STEPS_OF_A_PART);
        let timestamps = self.timestamps.as_ref();
        let fill = |r: &crate::vulkan::Recording| {
            if part == 0 {
                r.transfers_to_kernels();
                r.kernels_to_kernels();
                if let Some(t) = timestamps {
                    r.reset_timestamps(t);
                    r.timestamp(t, 0);
                }
            }
            for i in first..last {
                let step = &self.program.steps[i];
                if step.barrier {
                    r.kernels_to_kernels();
                }
                r.dispatch(&Self::key(step), &pushes[i], step.groups)?;
                if let Some(t) = timestamps {
                    r.timestamp(t, i as u32 + 1);
                }
            }
            if part + 1 == parts {
                r.kernels_to_host();
            }
            Ok(())
        };
        if part + 1 == parts { self.recorder.record(fill) } else { self.recorder.record_part(fill) }
    }

    fn port_of(&self, root: Root) -> Option<&Port> {
        match root {
            Root::Input(i) => Some(&self.inputs[i as usize]),
            Root::Output(j) => Some(&self.outputs[j as usize]),
            _ => None,
        }
    }

    fn write_cells(&mut self, root: Root) -> Result<()> {
        let Some(base) = self.port_of(root).and_then(Port::buffer).map(VulkanBuffer::address) else { return Ok(()) };
        let cells: Vec<(usize, u64)> =
            self.cells.iter().filter(|(l, _)| l.root == root).map(|(l, &cell)| (cell, base + l.offset as u64)).collect();
        let state = self.state.mapped_mut().ok_or_else(|| error!(Internal, "the run state is not mapped"))?;
        for (cell, address) in cells {
            state[CELLS + 8 * cell..][..8].copy_from_slice(&address.to_le_bytes());
        }
        Ok(())
    }

    /// Puts a buffer in the place of an input's own storage, or takes it away.
    pub fn bind_input(&mut self, i: usize, buffer: Option<Arc<Buffer>>) -> Result<()> {
        self.inputs[i].bound = buffer;
        self.forget_downloads(Root::Input(i as u32));
        self.write_cells(Root::Input(i as u32))
    }

    pub fn bind_output(&mut self, j: usize, buffer: Option<Arc<Buffer>>) -> Result<()> {
        self.outputs[j].bound = buffer;
        self.forget_downloads(Root::Output(j as u32));
        self.write_cells(Root::Output(j as u32))
    }

    /// Downloads copy from a VkBuffer by name: they are recorded again when another buffer takes its place.
    fn forget_downloads(&mut self, root: Root) {
        for (port, output) in self.outputs.iter_mut().zip(&self.program.outputs) {
            if output.location.root == root
                && let Some(commands) = port.moves.take()
            {
                self.recorder.free(commands);
            }
        }
    }

    /// Makes the own storage of inputs and outputs that are not bound, where no earlier run did.
    fn prepare(&mut self) -> Result<()> {
        let program = self.program.clone();
        for (i, port) in program.inputs.iter().enumerate() {
            if self.inputs[i].buffer().is_none() {
                let own =
                    VulkanBuffer::new(&self.device, &format!("input \"{}\"", port.name), port.ty.bytes(), MemoryKind::Device)?;
                self.inputs[i].own = Some(Arc::new(own));
                self.write_cells(Root::Input(i as u32))?;
            }
        }
        for (j, port) in program.outputs.iter().enumerate() {
            if port.location.root == Root::Output(j as u32) && self.outputs[j].buffer().is_none() {
                // The output may be a part of this storage: the plan says how large the whole is.
                let bytes = program.output_storage_bytes(j);
                let own = VulkanBuffer::new(&self.device, &format!("output \"{}\"", port.name), bytes, MemoryKind::Device)?;
                self.outputs[j].own = Some(Arc::new(own));
                self.write_cells(Root::Output(j as u32))?;
            }
        }
        Ok(())
    }

    /// Puts an input's value where the next submit uploads it from.
    pub fn stage(&mut self, i: usize, bytes: &[u8]) -> Result<()> {
        if self.inputs[i].moves.is_none() {
            let port = self.program.inputs[i].clone();
            self.prepare()?;
            let what = format!("input \"{}\"", port.name);
            let staging = VulkanBuffer::new(&self.device, &what, port.ty.bytes(), MemoryKind::Upload)?;
            let own = self.inputs[i].own.clone().ok_or_else(|| error!(Internal, "an input without storage"))?;
            let commands = self.recorder.record(|r| {
                r.kernels_to_transfers();
                r.copy(&staging, &own, Copy { from: 0, to: 0, bytes: port.ty.bytes() });
                Ok(())
            })?;
            self.inputs[i].staging = Some(staging);
            self.inputs[i].moves = Some(commands);
        }
        let staging = self.inputs[i].staging.as_mut().and_then(VulkanBuffer::mapped_mut);
        staging.ok_or_else(|| error!(Internal, "staging memory is not mapped"))?[..bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn prepare_download(&mut self, j: usize) -> Result<()> {
        let port = &self.program.outputs[j];
        let (bytes, location) = (port.ty.bytes(), port.location);
        if self.outputs[j].staging.is_none() {
            let what = format!("output \"{}\"", port.name);
            self.outputs[j].staging = Some(VulkanBuffer::new(&self.device, &what, bytes, MemoryKind::Download)?);
        }
        if self.outputs[j].moves.is_none() {
            // What has no bytes may have no memory either.
            let from = if bytes > 0 { Some(self.location_buffer(location)?) } else { None };
            let to = self.outputs[j].staging.as_ref().ok_or_else(|| error!(Internal, "no staging memory"))?;
            let commands = self.recorder.record(|r| {
                r.kernels_to_transfers();
                r.transfers_to_transfers();
                if let Some(from) = from {
                    r.copy(from, to, Copy { from: location.offset, to: 0, bytes });
                }
                r.transfers_to_host();
                Ok(())
            })?;
            self.outputs[j].moves = Some(commands);
        }
        Ok(())
    }

    /// The buffer in which a place lies.
    fn location_buffer(&self, location: Location) -> Result<&VulkanBuffer> {
        let found = match location.root {
            Root::Constants => self.constants.as_deref(),
            Root::Weight(i) => match &self.weights[i as usize].storage {
                Storage::Vulkan(buffer) => Some(buffer),
                Storage::Host(_) => None,
            },
            root => self.port_of(root).and_then(Port::buffer),
        };
        found.ok_or_else(|| error!(Internal, "output memory is missing"))
    }

    /// One submit: uploads, the program, feeds, downloads.
    pub fn submit(&mut self, given: &[bool], wanted: &[usize], run: RunNumbers) -> Result<()> {
        self.prepare()?;
        if self.main.is_empty() || self.rerecord {
            self.warm_up()?;
        }
        for &j in wanted {
            self.prepare_download(j)?;
        }
        self.write_run_state(run)?;
        let uploads = self.inputs.iter().zip(given).filter(|(_, given)| **given).filter_map(|(p, _)| p.moves.as_ref());
        let copies = self.copies.iter().map(|c| &c.copy.commands);
        let downloads = wanted.iter().filter_map(|&j| self.outputs[j].moves.as_ref());
        let all = uploads.chain(&self.main).chain(copies).chain(downloads);
        self.timeline.submit(all, &mut self.scratch)?;
        self.submits += 1;
        Ok(())
    }

    fn write_run_state(&mut self, run: RunNumbers) -> Result<()> {
        let mut words = [0u32; RUN_STATE_BYTES / 4];
        words[8] = run.seed as u32;
        words[9] = (run.seed >> 32) as u32;
        words[10] = run.run;
        words[11] = self.program.options.unchecked_indices.into();
        words[12..].copy_from_slice(&self.extents);
        let state = self.state.mapped_mut().ok_or_else(|| error!(Internal, "the run state is not mapped"))?;
        state[..RUN_STATE_BYTES].copy_from_slice(bytemuck::cast_slice(&words));
        Ok(())
    }

    /// False if the time ran out. An index error of a kernel is returned here.
    pub fn wait(&self, timeout: Duration) -> Result<bool> {
        if !self.timeline.wait(timeout)? {
            return Ok(false);
        }
        let state = self.state.mapped().ok_or_else(|| error!(Internal, "the run state is not mapped"))?;
        let word = |i: usize| u32::from_le_bytes([state[4 * i], state[4 * i + 1], state[4 * i + 2], state[4 * i + 3]]);
        if word(0) != 0 {
            let wide = |i: usize| (u64::from(word(i + 1)) << 32 | u64::from(word(i))) as i64;
            return Err(self.program.index_error(word(1) as usize, word(2), wide(4), wide(6)));
        }
        Ok(true)
    }

    pub fn is_done(&self) -> Result<bool> {
        self.timeline.is_done()
    }

    /// What a download of the last run brought.
    pub fn downloaded(&self, j: usize) -> Result<&[u8]> {
        let staging = self.outputs[j].staging.as_ref().and_then(VulkanBuffer::mapped);
        staging.map(|s| &s[..self.program.outputs[j].ty.bytes()]).ok_or_else(|| error!(Internal, "this output was not downloaded"))
    }

    /// Reads part of an output where it lies.
    pub fn read_output(&self, transfer: &Transfer, j: usize, offset: usize, bytes: &mut [u8]) -> Result<()> {
        let location = self.program.outputs[j].location;
        transfer.read(self.location_buffer(location)?, location.offset + offset, bytes)
    }

    /// The address of an output and of an input, for copies on the device.
    fn output_address(&self, j: usize) -> Result<u64> {
        let location = self.program.outputs[j].location;
        Ok(self.location_buffer(location)?.address() + location.offset as u64)
    }

    /// From now on these outputs are copied to these buffers after every run: output, buffer, and whether it is a feed. What was recorded for an
    /// output before serves again.
    pub fn set_copies(&mut self, wanted: Vec<(usize, Arc<Buffer>, bool)>) -> Result<()> {
        self.spare.extend(self.copies.drain(..).map(|c| (c.output, c.copy)));
        for (output, to, is_feed) in wanted {
            let copy = match self.spare.iter().position(|s| s.0 == output) {
                Some(i) => self.spare.swap_remove(i).1,
                None => {
                    let ty = &self.program.outputs[output].ty;
                    DeviceCopy::new(&self.device, &self.recorder, ty.element.bytes(), ty.bytes())?
                }
            };
            self.copies.push(OutputCopy { output, to, is_feed, copy });
        }
        Ok(())
    }

    pub fn has_copies(&self) -> bool {
        !self.copies.is_empty()
    }

    /// Sets addresses and lengths of all copies; needed before a run whenever a binding or the extent has changed.
    pub fn refresh_copies(&mut self, bytes: impl Fn(&TensorType, bool) -> usize) -> Result<()> {
        self.prepare()?;
        for i in 0..self.copies.len() {
            let (output, to, is_feed) = (self.copies[i].output, self.copies[i].to.clone(), self.copies[i].is_feed);
            let bytes = bytes(&self.program.outputs[output].ty, is_feed).min(to.ty().bytes());
            let from = self.output_address(output)?;
            let Storage::Vulkan(to) = &to.storage else { bail!(Internal, "a host buffer on a Vulkan device") };
            let to = to.address();
            self.copies[i].copy.set((from, 0), (to, 0), bytes);
        }
        Ok(())
    }

    /// Copies bytes of an output into a buffer, now.
    pub fn copy_now(&mut self, output: usize, from: usize, to: &Buffer, offset: usize, bytes: usize) -> Result<()> {
        let source = self.output_address(output)?;
        let Storage::Vulkan(target) = &to.storage else { bail!(Internal, "a host buffer on a Vulkan device") };
        let target = target.address();
        if !self.row_copies.contains_key(&output) {
            let ty = &self.program.outputs[output].ty;
            let copy = DeviceCopy::new(&self.device, &self.recorder, ty.element.bytes(), ty.bytes())?;
            self.row_copies.insert(output, copy);
        }
        let copy = self.row_copies.get_mut(&output).ok_or_else(|| error!(Internal, "a copy is missing"))?;
        copy.set((source, from), (target, offset), bytes);
        self.timeline.submit([&copy.commands].into_iter(), &mut self.scratch)?;
        self.timeline.wait(Duration::MAX).map(drop)
    }

    /// GPU time of each dispatch of the last run.
    pub fn profile(&self) -> Result<Profile> {
        let Some(timestamps) = &self.timestamps else { return Ok(Profile::default()) };
        let marks = timestamps.read()?;
        let start = marks.first().copied().unwrap_or(0.0);
        let times = self.program.steps.iter().zip(marks.windows(2));
        let times = times.map(|(step, mark)| {
            let node = &self.program.graph.nodes()[step.node];
            NodeTime {
                node: node.name.clone(),
                operator: node.operator.name().into(),
                kernel: step.kernel.info().name,
                start: mark[0] - start,
                nanoseconds: mark[1] - mark[0],
            }
        });
        Ok(Profile { times: times.collect() })
    }
}
