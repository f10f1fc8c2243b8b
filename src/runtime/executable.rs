//! A compiled graph: its program, its bindings, and what carries state from run to run.

use std::sync::Arc;
use std::time::Duration;

use super::buffer::Buffer;
use super::cpu::CpuMachine;
use super::device::{Backend, Device};
use super::profile::Profile;
use super::vulkan::VulkanMachine;
use super::weights::Weights;
use crate::graph::Graph;
use crate::ops::RunNumbers;
use crate::plan::{MemoryReport, Options, Port, Program, Root};
use crate::tensor::{ElementType, Tensor};
use crate::{Result, bail, ensure, error, listed, log, passes};

#[derive(Clone, Default)]
pub struct CompileOptions {
    pub plan: Options,
    /// Weights shared with other executables; none: the executable's own.
    pub weights: Option<Arc<Weights>>,
    /// GPU timestamps around every dispatch.
    pub profiling: bool,
    /// Refuse a plan whose arena, constants and weights are above this many bytes; 0: no limit.
    pub memory_limit: usize,
    pub seed: u64,
}

/// Counts and sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    pub nodes: usize,
    pub dispatches: usize,
    pub barriers: usize,
    /// Submits since compile.
    pub submits: u64,
    /// Nodes of the program that the host computes: 0 on Vulkan, all on the CPU device.
    pub host_operators: usize,
    /// Allocations of device memory since the device was opened.
    pub device_allocations: u64,
    pub memory: MemoryReport,
}

pub(super) enum Machine {
    Vulkan(Box<VulkanMachine>),
    Cpu(CpuMachine),
}

/// An output that becomes a handle's next value after each run.
pub(super) struct Feed {
    pub input: usize,
    pub output: usize,
}

pub struct Executable {
    pub(super) device: Arc<Device>,
    pub(super) program: Arc<Program>,
    pub(super) weights: Arc<Weights>,
    pub(super) machine: Machine,
    pub(super) handles: Vec<Option<Arc<Buffer>>>,
    pub(super) bound_outputs: Vec<Option<Arc<Buffer>>>,
    pub(super) feeds: Vec<Feed>,
    pub(super) row_feeds: Vec<Feed>,
    /// Valid rows, and rows of the bucket.
    pub(super) extent: Option<(usize, usize)>,
    pub(super) run: RunNumbers,
    /// Inputs given for the run that is being begun, and outputs wanted of it.
    pub(super) given: Vec<bool>,
    pub(super) wanted: Vec<usize>,
    /// Inputs set and outputs wanted ahead of the next run; a run uses them up.
    pub(super) set: Vec<bool>,
    pub(super) ahead: Vec<usize>,
    /// Outputs that the last run brought to the host.
    pub(super) fetched: Vec<usize>,
    pub(super) in_flight: bool,
    pub(super) has_run: bool,
    pub(super) copies_stale: bool,
    /// Where outputs go is decided. False after a binding that failed half way: the next run decides anew.
    pub(super) placed: bool,
    pub(super) profiling: bool,
    pub(super) submits: u64,
}

impl Executable {
    pub fn compile(device: &Arc<Device>, graph: &Graph, options: &CompileOptions) -> Result<Self> {
        device.check()?;
        let unbound = graph.unbound();
        ensure!(unbound.is_empty(), InvalidGraph, "symbolic dimensions are not bound: {}", unbound.join(", "));
        ensure!(!graph.outputs().is_empty(), InvalidGraph, "the graph has no output");
        let graph = passes::optimize(graph, device.is_vulkan())?;
        let plan = environment(options.plan.clone());
        let caps = match &device.backend {
            Backend::Vulkan(v) => Some(v.device.caps()),
            Backend::Cpu => None,
        };
        let program = Program::new(graph, caps, &plan)?;
        if log::flag("CALDERA_DEBUG") {
            log::log(log::Level::Debug, &program.summary());
        }
        let m = &program.memory;
        let total = m.arena + m.constants + m.weights + m.ports;
        ensure!(
            options.memory_limit == 0 || total <= options.memory_limit,
            OutOfMemory,
            "the plan needs {total} bytes, the limit is {}",
            options.memory_limit
        );
        let weights = options.weights.clone().unwrap_or_else(|| Weights::new(device));
        ensure!(Arc::ptr_eq(weights.device(), device), InvalidArgument, "the weights are of another device");
        let declared = program.params.iter().map(|p| weights.declare(&p.name, &p.ty)).collect::<Result<Vec<_>>>()?;
        let machine = match &device.backend {
            Backend::Vulkan(v) => {
                let m = VulkanMachine::new(&v.device, &v.transfer, &program, declared, None, options.profiling)?;
                Machine::Vulkan(Box::new(m))
            }
            Backend::Cpu => Machine::Cpu(CpuMachine::new(&program, declared)),
        };
        let (inputs, outputs) = (program.inputs.len(), program.outputs.len());
        Ok(Self {
            device: device.clone(),
            program,
            weights,
            machine,
            handles: vec![None; inputs],
            bound_outputs: vec![None; outputs],
            feeds: Vec::new(),
            row_feeds: Vec::new(),
            extent: None,
            run: RunNumbers { seed: options.seed, run: 0 },
            given: vec![false; inputs],
            wanted: Vec::with_capacity(outputs),
            set: vec![false; inputs],
            ahead: Vec::with_capacity(outputs),
            fetched: Vec::with_capacity(outputs),
            in_flight: false,
            has_run: false,
            copies_stale: true,
            placed: true,
            profiling: options.profiling,
            submits: 0,
        })
    }

    pub fn device(&self) -> &Arc<Device> {
        &self.device
    }

    pub fn program(&self) -> &Program {
        &self.program
    }

    pub fn weights(&self) -> &Arc<Weights> {
        &self.weights
    }

    pub fn input_index(&self, name: &str) -> Result<usize> {
        find(&self.program.inputs, "input", name)
    }

    pub fn output_index(&self, name: &str) -> Result<usize> {
        find(&self.program.outputs, "output", name)
    }

    /// An error while a run is in flight, or once the device was lost.
    pub fn idle(&self) -> Result<()> {
        self.device.check()?;
        ensure!(!self.in_flight, Busy, "a run is in flight: wait for it first");
        Ok(())
    }

    /// Fills a weight of this graph; floats are converted to its declared type.
    pub fn set_param(&mut self, name: &str, element: ElementType, data: &[u8]) -> Result<()> {
        self.idle()?;
        let i = find(&self.program.params, "param", name)?;
        let set = self.weights.set(name, element, None, data);
        set.map_err(|e| match self.param_user(i) {
            Some(node) => e.within(node),
            None => e,
        })
    }

    /// The node that reads a param, for messages.
    fn param_user(&self, i: usize) -> Option<String> {
        let graph = &self.program.graph;
        let id = graph.params()[i];
        graph.nodes().iter().find(|n| n.inputs.contains(&Some(id))).map(|n| n.title())
    }

    /// `actual` rows of the bucket of `upper` rows are valid: feeds carry the first actual * (elements / (upper + 1)) elements.
    pub fn set_active_extent(&mut self, actual: usize, upper: usize) -> Result<()> {
        self.idle()?;
        ensure!(actual <= upper.saturating_add(1), InvalidArgument, "extent {actual} is above {upper} + 1");
        ensure!(u32::try_from(upper).is_ok_and(|u| u < u32::MAX), InvalidArgument, "extent {upper} is too large");
        self.extent = Some((actual, upper));
        self.copies_stale = true;
        if let Machine::Vulkan(m) = &mut self.machine {
            m.extents[0] = actual as u32;
            m.extents[1] = upper as u32;
        }
        Ok(())
    }

    /// Seeds the random operators and sets their run counter.
    pub fn set_rng(&mut self, seed: u64, run: u32) -> Result<()> {
        self.idle()?;
        self.run = RunNumbers { seed, run };
        Ok(())
    }

    /// Makes pipelines and records now instead of at the first run. Every param must be set.
    pub fn warm_up(&mut self) -> Result<()> {
        self.idle()?;
        match &mut self.machine {
            Machine::Vulkan(m) => m.warm_up(),
            Machine::Cpu(m) => m.ready(),
        }
    }

    /// Starts a run step by step, without allocating: `begin`, `give` each input, `want` outputs, `launch`, `wait`.
    pub fn begin(&mut self) -> Result<()> {
        self.idle()?;
        self.given.copy_from_slice(&self.set);
        self.wanted.clone_from(&self.ahead);
        Ok(())
    }

    /// Takes the value of an input for the run that `begin` began.
    pub fn give(&mut self, input: usize, bytes: &[u8]) -> Result<()> {
        let port = &self.program.inputs[input];
        ensure!(
            self.handles[input].is_none(),
            InvalidArgument,
            "input \"{}\" is bound to a handle: it cannot be given as well",
            port.name
        );
        ensure!(!self.given[input], InvalidArgument, "input \"{}\" is given twice", port.name);
        let (have, need) = (bytes.len(), port.ty.bytes());
        ensure!(have == need, InvalidArgument, "input \"{}\": got {have} bytes, {} needs {need}", port.name, port.ty);
        match &mut self.machine {
            Machine::Vulkan(m) => m.stage(input, bytes)?,
            Machine::Cpu(m) => match &mut m.inputs[input] {
                Some(tensor) => tensor.bytes_mut().copy_from_slice(bytes),
                empty => *empty = Some(Tensor::from_bytes(port.ty.clone(), bytes)?),
            },
        }
        self.given[input] = true;
        Ok(())
    }

    /// Asks for an output of the run that `begin` began: it comes to the host with the run, for `read_output`.
    pub fn want(&mut self, output: usize) -> Result<()> {
        ensure!(
            !self.wanted.contains(&output),
            InvalidArgument,
            "output \"{}\" is asked for twice",
            self.program.outputs[output].name
        );
        self.wanted.push(output);
        Ok(())
    }

    /// Submits; `wait` ends the run.
    pub fn launch(&mut self) -> Result<()> {
        self.idle()?;
        for ((port, &given), handle) in self.program.inputs.iter().zip(&self.given).zip(&self.handles) {
            ensure!(given || handle.is_some(), InvalidArgument, "input \"{}\" ({}) is missing", port.name, port.ty);
        }
        if !self.placed {
            self.place_outputs()?;
        }
        let run = self.run;
        match &mut self.machine {
            Machine::Vulkan(m) => {
                if self.copies_stale && m.has_copies() {
                    let extent = self.extent;
                    m.refresh_copies(|ty, is_feed| fed_elements(extent.filter(|_| is_feed), ty.elements()) * ty.element.bytes())?;
                }
                self.copies_stale = false;
                m.submit(&self.given, &self.wanted, run)?;
            }
            Machine::Cpu(m) => {
                m.run(&self.handles, run)?;
                self.feed_on_host()?;
            }
        }
        self.set.fill(false);
        self.ahead.clear();
        self.fetched.clone_from(&self.wanted);
        self.submits += 1;
        self.run.run = self.run.run.wrapping_add(1);
        self.in_flight = true;
        Ok(())
    }

    /// The CPU device's form of feeds and bound outputs.
    fn feed_on_host(&mut self) -> Result<()> {
        let Machine::Cpu(machine) = &self.machine else { return Ok(()) };
        for (j, buffer) in self.bound_outputs.iter().enumerate() {
            if let (Some(buffer), Some(value)) = (buffer, &machine.outputs[j]) {
                buffer.write(0, value.bytes())?;
            }
        }
        for feed in &self.feeds {
            let in_place = self.program.outputs[feed.output].location.root == Root::Input(feed.input as u32);
            if let (Some(buffer), Some(value), false) = (&self.handles[feed.input], &machine.outputs[feed.output], in_place) {
                let ty = value.ty();
                let bytes = (fed_elements(self.extent, ty.elements()) * ty.element.bytes()).min(buffer.ty().bytes());
                buffer.write(0, &value.bytes()[..bytes])?;
            }
        }
        Ok(())
    }

    /// Waits for the run in flight. False if the time ran out: wait again. Errors of kernels are returned here, once.
    pub fn wait(&mut self, timeout: Duration) -> Result<bool> {
        if !self.in_flight {
            return self.device.check().map(|()| true);
        }
        let done = match &self.machine {
            Machine::Vulkan(m) => m.wait(timeout),
            Machine::Cpu(_) => Ok(true),
        };
        self.in_flight = matches!(done, Ok(false));
        self.has_run |= matches!(done, Ok(true));
        if done.is_err() {
            self.fetched.clear();
        }
        done
    }

    /// True if no run is in flight, or the one in flight is over (`wait` then returns at once).
    pub fn poll(&self) -> Result<bool> {
        match &self.machine {
            Machine::Vulkan(m) if self.in_flight => m.is_done(),
            _ => self.device.check().map(|()| true),
        }
    }

    /// A whole run: uploads, one submit, and the outputs asked for.
    pub fn run(&mut self, given: &[Option<&[u8]>], outputs: &mut [(usize, &mut [u8])]) -> Result<()> {
        self.begin()?;
        for (j, bytes) in outputs.iter() {
            self.check_output(*j, 0, bytes.len(), true)?;
            self.want(*j)?;
        }
        for (i, bytes) in given.iter().enumerate() {
            if let Some(bytes) = bytes {
                self.give(i, bytes)?;
            }
        }
        self.launch()?;
        self.wait(Duration::MAX)?;
        outputs.iter_mut().try_for_each(|(j, bytes)| self.read_output(*j, 0, bytes))
    }

    /// Checks a range of an output; `whole` demands all of it.
    pub fn check_output(&self, j: usize, offset: usize, bytes: usize, whole: bool) -> Result<()> {
        let port = &self.program.outputs[j];
        let size = port.ty.bytes();
        if whole {
            ensure!(
                bytes == size,
                InvalidArgument,
                "output \"{}\": got room for {bytes} bytes, {} needs {size}",
                port.name,
                port.ty
            );
        }
        let inside = offset.checked_add(bytes).is_some_and(|end| end <= size);
        ensure!(
            inside,
            InvalidArgument,
            "{bytes} bytes at {offset} are outside output \"{}\" {} ({size} bytes)",
            port.name,
            port.ty
        );
        Ok(())
    }

    /// Reads part of an output of the last run: from the host's memory if the run brought it there.
    pub fn read_output(&self, j: usize, offset: usize, bytes: &mut [u8]) -> Result<()> {
        self.idle()?;
        ensure!(self.has_run, InvalidArgument, "output \"{}\": there was no run yet", self.program.outputs[j].name);
        self.check_output(j, offset, bytes.len(), false)?;
        match &self.machine {
            Machine::Vulkan(m) if self.fetched.contains(&j) => {
                bytes.copy_from_slice(&m.downloaded(j)?[offset..offset + bytes.len()]);
                Ok(())
            }
            Machine::Vulkan(m) => m.read_output(&self.device.vulkan()?.transfer, j, offset, bytes),
            Machine::Cpu(m) => {
                let value = m.outputs[j].as_ref().ok_or_else(|| error!(Internal, "an output is missing"))?;
                bytes.copy_from_slice(&value.bytes()[offset..offset + bytes.len()]);
                Ok(())
            }
        }
    }

    /// An independent twin: its own activations, copies of the handles' contents, the same feeds, extent and random numbers. Weights
    /// and pipelines are shared.
    pub fn twin(&self) -> Result<Self> {
        self.idle()?;
        let machine = match &self.machine {
            Machine::Vulkan(m) => Machine::Vulkan(Box::new(m.twin(&self.device.vulkan()?.transfer)?)),
            Machine::Cpu(m) => Machine::Cpu(m.twin()),
        };
        let mut twin = Self {
            device: self.device.clone(),
            program: self.program.clone(),
            weights: self.weights.clone(),
            machine,
            handles: vec![None; self.handles.len()],
            bound_outputs: vec![None; self.bound_outputs.len()],
            feeds: Vec::new(),
            row_feeds: self.row_feeds.iter().map(|f| Feed { input: f.input, output: f.output }).collect(),
            extent: None,
            run: self.run,
            given: vec![false; self.given.len()],
            wanted: Vec::with_capacity(self.bound_outputs.len()),
            set: vec![false; self.set.len()],
            ahead: Vec::with_capacity(self.bound_outputs.len()),
            fetched: Vec::with_capacity(self.bound_outputs.len()),
            in_flight: false,
            has_run: false,
            copies_stale: true,
            placed: true,
            profiling: self.profiling,
            submits: 0,
        };
        for (i, buffer) in self.handles.iter().enumerate() {
            if let Some(buffer) = buffer {
                twin.bind_handle(i, &buffer.duplicate()?)?;
            }
        }
        for feed in &self.feeds {
            twin.set_handle_feed(feed.input, feed.output)?;
        }
        if let Some((actual, upper)) = self.extent {
            twin.set_active_extent(actual, upper)?;
        }
        Ok(twin)
    }

    pub fn stats(&self) -> Stats {
        let nodes = self.program.graph.nodes().len();
        let (allocations, host) = match &self.device.backend {
            Backend::Vulkan(v) => (v.device.allocations(), 0),
            Backend::Cpu => (0, nodes),
        };
        Stats {
            nodes,
            dispatches: self.program.steps.len(),
            barriers: self.program.steps.iter().filter(|s| s.barrier).count(),
            submits: self.submits,
            host_operators: host,
            device_allocations: allocations,
            memory: self.program.memory,
        }
    }

    /// GPU time of each dispatch of the last run; an error unless compiled with profiling.
    pub fn profile(&self) -> Result<Profile> {
        ensure!(self.profiling, InvalidArgument, "the executable was compiled without profiling");
        ensure!(self.has_run, InvalidArgument, "there was no run yet");
        match &self.machine {
            Machine::Vulkan(m) => m.profile(),
            Machine::Cpu(_) => bail!(Unsupported, "the CPU device has no GPU timestamps"),
        }
    }
}

/// Elements that a feed carries.
fn fed_elements(extent: Option<(usize, usize)>, elements: usize) -> usize {
    match extent {
        Some((actual, upper)) => (actual * (elements / (upper + 1))).min(elements),
        None => elements,
    }
}

fn find(ports: &[Port], kind: &str, name: &str) -> Result<usize> {
    let names = || listed(&ports.iter().map(|p| p.name.as_str()).collect::<Vec<_>>());
    match ports.iter().position(|p| p.name == name) {
        Some(i) => Ok(i),
        None => bail!(InvalidArgument, "there is no {kind} \"{name}\"; there are: {}", names()),
    }
}

/// Options that the environment overrides, for people who debug.
fn environment(mut options: Options) -> Options {
    use crate::plan::MatmulKernel;
    match std::env::var("CALDERA_MATMUL").as_deref() {
        Ok("scalar") => options.matmul = MatmulKernel::Scalar,
        Ok("tiled") => options.matmul = MatmulKernel::Tiled,
        Ok("coop") => options.matmul = MatmulKernel::Coop,
        _ => {}
    }
    options.full_barriers |= std::env::var("CALDERA_FULL_BARRIERS").is_ok_and(|v| v == "1");
    options
}

impl Drop for Executable {
    fn drop(&mut self) {
        // Buffers and weights may go right after: nothing may still use them.
        let _ = self.wait(Duration::MAX);
    }
}
