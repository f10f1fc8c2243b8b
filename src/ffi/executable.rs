//! Executables as C sees them.

use std::ffi::{CString, c_char, c_void};
use std::time::Duration;

use super::boundary::{
    Exclusive, boundary, bytes, bytes_mut, caldera_status, fill, fill_text, give, list, object, opt_text, quietly, text, wanted,
};
use super::buffer::caldera_buffer;
use super::device::caldera_device;
use super::error::caldera_error;
use super::graph::caldera_graph;
use super::options::options;
use super::weights::caldera_weights;
use crate::plan::{MatmulKernel, Options, Port, Precision};
use crate::runtime::{CompileOptions, Executable};
use crate::tensor::ElementType;
use crate::{Result, bail, ensure, error};

/// A compiled graph: memory plan, recorded commands, its own activations, bound handles.
///
/// One thread at a time may change or run it (a second gets BUSY). Different executables never need the caller's lock, also on one device and
/// with shared weights.
pub struct caldera_executable {
    inner: Exclusive<Executable>,
    /// Names that `caldera_port_info` points to.
    inputs: Vec<CString>,
    outputs: Vec<CString>,
    params: Vec<CString>,
}

impl caldera_executable {
    fn share(inner: Executable) -> *mut Self {
        let program = inner.program();
        let names = |ports: &[Port]| ports.iter().map(|p| CString::new(p.name.replace('\0', " ")).unwrap_or_default()).collect();
        let (inputs, outputs, params) = (names(&program.inputs), names(&program.outputs), names(&program.params));
        Box::into_raw(Box::new(Self { inner: Exclusive::new(inner), inputs, outputs, params }))
    }
}

/// Options of `caldera_compile`. Start from `CALDERA_COMPILE_OPTIONS_INIT`. Zero means "not given".
#[derive(Clone, Copy)]
#[repr(C)]
pub struct caldera_compile_options {
    /// sizeof(caldera_compile_options).
    pub struct_size: u32,
    /// 0 or 1: exact f32 products. 2: f16 or bf16 products with f32 sums on matrix units, where the device has them.
    pub precision: u32,
    /// 0: the best kernel for matrix products; 1: scalar; 2: tiled; 3: cooperative matrices. For people who debug.
    pub matmul: u32,
    /// 1: a barrier before every dispatch. For people who debug.
    pub full_barriers: u32,
    /// 1: GPU timestamps around every dispatch, for `caldera_executable_profile`.
    pub profiling: u32,
    /// 1: out-of-range indices are clamped instead of being an error.
    pub unchecked_indices: u32,
    /// The weights to read params from, shared with other executables; NULL: the executable's own.
    pub weights: *const caldera_weights,
    /// Refuse a plan that needs more than this many bytes of device memory; 0: no limit.
    pub memory_limit: u64,
    /// Seed of the random operators.
    pub seed: u64,
}

/// Counts and sizes of an executable.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct caldera_stats {
    /// sizeof(caldera_stats), set by the caller.
    pub struct_size: u32,
    /// Operators after all rewrites.
    pub operators: u32,
    /// Kernel launches of a run.
    pub dispatches: u32,
    /// Pipeline barriers of a run.
    pub barriers: u32,
    /// Operators that the host computes: 0 on Vulkan, all on the CPU device.
    pub host_operators: u32,
    pub reserved: u32,
    /// Submits since compile.
    pub submits: u64,
    /// Allocations of device memory since the device was opened, by anybody.
    pub device_allocations: u64,
    /// Bytes of activations as planned.
    pub arena_bytes: u64,
    /// The most bytes of activations that live at one moment: no plan can be smaller.
    pub arena_lower_bound: u64,
    /// Bytes of activations if nothing shared memory.
    pub arena_no_reuse: u64,
    pub constant_bytes: u64,
    pub weight_bytes: u64,
    /// Bytes of inputs and outputs that no buffer is bound to.
    pub port_bytes: u64,
}

/// An input, output or param of an executable.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct caldera_port_info {
    /// Lives as long as the executable.
    pub name: *const c_char,
    /// A `caldera_type`.
    pub r#type: u32,
    pub rank: u32,
    pub dims: [i64; 8],
    pub bytes: u64,
}

/// A value given to a run.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct caldera_run_input {
    pub name: *const c_char,
    pub data: *const c_void,
    /// In bytes: what type and shape need.
    pub size: usize,
}

/// Room for an output of a run.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct caldera_run_output {
    pub name: *const c_char,
    pub data: *mut c_void,
    /// In bytes: what type and shape need.
    pub size: usize,
}

/// Compiles a graph for a device. `options` may be NULL. The graph may be freed after it. Free the executable with `caldera_executable_free`.
///
/// Weights that came with a file are set, unless the weights hold that name already. Everything a run needs is planned here; pipelines are made at
/// the first run or by `caldera_executable_warm_up`.
/// Errors: INVALID_GRAPH (no outputs, symbolic dimensions not bound), UNSUPPORTED (an operator and the feature that the device lacks),
/// INVALID_ARGUMENT (weights of another device or type), OUT_OF_MEMORY, DEVICE_LOST.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_compile(
    device: *const caldera_device,
    graph: *const caldera_graph,
    options: *const caldera_compile_options,
    executable: *mut *mut caldera_executable,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let (device, graph) = (object(device, "device")?, object(graph, "graph")?);
        wanted(executable, "executable")?;
        let given = compile_options(options)?;
        let graph = graph.0.read()?;
        let compiled = Executable::compile(&device.0, graph.graph()?, &given)?;
        let weights = compiled.weights().clone();
        for (name, tensor) in &graph.params {
            if compiled.program().params.iter().any(|p| p.name == *name) && !weights.is_set(name) {
                weights.set(name, tensor.element(), Some(tensor.dims()), tensor.bytes())?;
            }
        }
        give(executable, caldera_executable::share(compiled));
        Ok(())
    })
}

fn compile_options(pointer: *const caldera_compile_options) -> Result<CompileOptions> {
    let Some(o) = options(pointer, "options")? else { return Ok(CompileOptions::default()) };
    // SAFETY: a non-NULL handle is one that Caldera made and that was not freed.
    let weights = unsafe { o.weights.as_ref() }.map(|w| w.0.clone());
    Ok(CompileOptions {
        plan: Options {
            precision: match o.precision {
                0 | 1 => Precision::Exact,
                2 => Precision::Fast,
                other => bail!(InvalidArgument, "there is no precision {other}"),
            },
            matmul: match o.matmul {
                0 => MatmulKernel::Auto,
                1 => MatmulKernel::Scalar,
                2 => MatmulKernel::Tiled,
                3 => MatmulKernel::Coop,
                other => bail!(InvalidArgument, "there is no matmul kernel {other}"),
            },
            full_barriers: o.full_barriers != 0,
            unchecked_indices: o.unchecked_indices != 0,
        },
        weights,
        profiling: o.profiling != 0,
        memory_limit: usize::try_from(o.memory_limit).unwrap_or(usize::MAX),
        seed: o.seed,
    })
}

/// Frees an executable; a run in flight is waited for. NULL is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_executable_free(executable: *mut caldera_executable) {
    quietly(|| {
        if !executable.is_null() {
            // SAFETY: the caller gives back what Caldera made, once.
            drop(unsafe { Box::from_raw(executable) });
        }
    });
}

fn ports(names: &[CString], ports: &[Port], infos: *mut caldera_port_info, count: *mut usize) -> Result<()> {
    let info = |(name, port): (&CString, &Port)| {
        let mut dims = [0; 8];
        dims.iter_mut().zip(&port.ty.dims).for_each(|(o, &d)| *o = d as i64);
        let (rank, bytes) = (port.ty.rank() as u32, port.ty.bytes() as u64);
        caldera_port_info { name: name.as_ptr(), r#type: port.ty.element as u32, rank, dims, bytes }
    };
    fill(&names.iter().zip(ports).map(info).collect::<Vec<_>>(), infos, count)
}

/// The inputs, by count-then-fill. The names live as long as the executable.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_executable_inputs(
    executable: *const caldera_executable,
    infos: *mut caldera_port_info,
    count: *mut usize,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let e = object(executable, "executable")?;
        ports(&e.inputs, &e.inner.read()?.program().inputs, infos, count)
    })
}

/// The outputs, by count-then-fill.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_executable_outputs(
    executable: *const caldera_executable,
    infos: *mut caldera_port_info,
    count: *mut usize,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let e = object(executable, "executable")?;
        ports(&e.outputs, &e.inner.read()?.program().outputs, infos, count)
    })
}

/// The params, by count-then-fill.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_executable_params(
    executable: *const caldera_executable,
    infos: *mut caldera_port_info,
    count: *mut usize,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let e = object(executable, "executable")?;
        ports(&e.params, &e.inner.read()?.program().params, infos, count)
    })
}

/// Sets a weight of this graph. `type` is f32, f16, bf16 or f64 (converted to the declared type), or the declared type with exactly its bytes.
///
/// Errors: INVALID_ARGUMENT, naming the param, the operator that reads it, the bytes given and the bytes needed; BUSY during a run.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_set_param(
    executable: *mut caldera_executable,
    name: *const c_char,
    r#type: u32,
    data: *const c_void,
    size: usize,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let (e, name) = (object(executable, "executable")?, text(name, "name")?);
        let element = ElementType::from_number(r#type)?;
        e.inner.write()?.set_param(name, element, bytes(data, size, "data")?)
    })
}

/// Makes an input persistent: from now on it lives in `buffer`, and is not given to runs. Binding another buffer (the next conversation's cache)
/// costs an address written to memory. The executable keeps the buffer alive. The buffer must have the input's type and as many bytes; its shape does
/// not matter. One buffer can be bound to several executables, such as prefill and decode over one cache: what a run wrote is there for the next run
/// of either, once it was waited for.
///
/// Errors: INVALID_ARGUMENT (an unknown input, a buffer of another device, type or size, a buffer that two outputs would be written to), BUSY during a
/// run.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_bind_handle(
    executable: *mut caldera_executable,
    input: *const c_char,
    buffer: *const caldera_buffer,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let (e, input, buffer) = (object(executable, "executable")?, text(input, "input")?, object(buffer, "buffer")?);
        let buffer = buffer.0.read()?.clone();
        let mut e = e.inner.write()?;
        let index = e.input_index(input)?;
        e.bind_handle(index, &buffer)
    })
}

/// Makes an input persistent in a new buffer of the executable's own, filled once with `data`.
///
/// Errors: INVALID_ARGUMENT (an unknown input, another size), OUT_OF_MEMORY, BUSY during a run.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_bind_handle_data(
    executable: *mut caldera_executable,
    input: *const c_char,
    data: *const c_void,
    size: usize,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let (e, input) = (object(executable, "executable")?, text(input, "input")?);
        let data = bytes(data, size, "data")?;
        let mut e = e.inner.write()?;
        let index = e.input_index(input)?;
        e.bind_handle_data(index, data)
    })
}

/// Sets `*has` to 1 if the input has a handle, else 0.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_has_handle(
    executable: *const caldera_executable,
    input: *const c_char,
    has: *mut u32,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let (e, input) = (object(executable, "executable")?, text(input, "input")?);
        wanted(has, "has")?;
        let e = e.inner.read()?;
        give(has, e.handle(e.input_index(input)?).is_some().into());
        Ok(())
    })
}

/// Reads the present value of a handle: `size` bytes from byte `offset`.
///
/// Errors: INVALID_ARGUMENT (an unknown input, no handle, a range outside of it), BUSY during a run.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_read_handle(
    executable: *const caldera_executable,
    input: *const c_char,
    offset: usize,
    data: *mut c_void,
    size: usize,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let (e, input) = (object(executable, "executable")?, text(input, "input")?);
        let data = bytes_mut(data, size, "data")?;
        let e = e.inner.read()?;
        e.idle()?;
        match e.handle(e.input_index(input)?) {
            Some(buffer) => buffer.read(offset, data),
            None => bail!(InvalidArgument, "input \"{input}\" has no handle"),
        }
    })
}

/// Makes the input one that is given at each run again.
///
/// Errors: INVALID_ARGUMENT if it has no handle, or if an output feeds it (`caldera_set_handle_feed` or `caldera_register_row_feed` with NULL ends that);
/// BUSY during a run.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_unbind_handle(
    executable: *mut caldera_executable,
    input: *const c_char,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let (e, input) = (object(executable, "executable")?, text(input, "input")?);
        let mut e = e.inner.write()?;
        let index = e.input_index(input)?;
        e.unbind_handle(index)
    })
}

/// Puts an output into a buffer at each run; NULL puts it back into the executable's own memory. The buffer must have the output's type and as many
/// bytes; its shape does not matter. It can be the buffer of an input's handle: the input is then read before the output is written.
///
/// Errors: INVALID_ARGUMENT (an unknown output, a buffer of another device, type or size, a buffer that another output of this executable is written to,
/// by `caldera_bind_output` or a feed), BUSY during a run.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_bind_output(
    executable: *mut caldera_executable,
    output: *const c_char,
    buffer: *const caldera_buffer,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let (e, output) = (object(executable, "executable")?, text(output, "output")?);
        // SAFETY: a non-NULL handle is one that Caldera made and that was not freed.
        let buffer = unsafe { buffer.as_ref() }.map(|b| Ok::<_, crate::Error>(b.0.read()?.clone())).transpose()?;
        let mut e = e.inner.write()?;
        let index = e.output_index(output)?;
        e.bind_output(index, buffer.as_ref())
    })
}

/// After every run the output becomes the handle's next value, on the device. With an active extent only the valid rows are carried: the first
/// actual * (elements / (upper + 1)) elements. `output` NULL: nothing feeds the handle any more, which is left with the value it has.
///
/// Errors: INVALID_ARGUMENT (an unknown name, no handle bound, another type, an output with fewer elements than the handle, a handle that another output
/// feeds, a buffer that another output is written to), UNSUPPORTED (the output is another input, as it is), BUSY during a run.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_set_handle_feed(
    executable: *mut caldera_executable,
    handle: *const c_char,
    output: *const c_char,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let (e, handle, output) = (object(executable, "executable")?, text(handle, "handle")?, opt_text(output, "output")?);
        let mut e = e.inner.write()?;
        let i = e.input_index(handle)?;
        match output {
            Some(output) => e.output_index(output).and_then(|j| e.set_handle_feed(i, j)),
            None => e.clear_handle_feed(i),
        }
    })
}

/// Lets `caldera_feed_row` write rows of the output to the handle. `output` NULL: rows of no output any more.
///
/// Errors: INVALID_ARGUMENT (an unknown name, no handle bound, another type), BUSY during a run.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_register_row_feed(
    executable: *mut caldera_executable,
    handle: *const c_char,
    output: *const c_char,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let (e, handle, output) = (object(executable, "executable")?, text(handle, "handle")?, opt_text(output, "output")?);
        let mut e = e.inner.write()?;
        let i = e.input_index(handle)?;
        match output {
            Some(output) => e.output_index(output).and_then(|j| e.register_row_feed(i, j)),
            None => e.clear_row_feeds(i),
        }
    })
}

/// Writes row `src_row` of the output of every registered row feed to row `dst_row` of its handle, on the device. A row is `row_elements` elements.
/// The active extent plays no part: every row that the output has can be taken, also one that is padding.
///
/// Errors: INVALID_ARGUMENT if a row is outside either (nothing is written then), without a registered row feed, or before the first run; BUSY during
/// a run.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_feed_row(
    executable: *mut caldera_executable,
    src_row: usize,
    dst_row: usize,
    row_elements: usize,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || object(executable, "executable")?.inner.write()?.feed_row(src_row, dst_row, row_elements))
}

/// Sets how many rows of a bucket-padded graph of `upper` rows are valid.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_set_active_extent(
    executable: *mut caldera_executable,
    actual: usize,
    upper: usize,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || object(executable, "executable")?.inner.write()?.set_active_extent(actual, upper))
}

/// Seeds the random operators. `run` is the number that the next run has for them; each run counts it up by one.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_set_rng(
    executable: *mut caldera_executable,
    seed: u64,
    run: u32,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || object(executable, "executable")?.inner.write()?.set_rng(seed, run))
}

/// Makes the pipelines and records the commands now instead of at the first run.
///
/// Errors: INVALID_ARGUMENT (a param that is not set, naming it), OUT_OF_MEMORY, DEVICE_LOST, BUSY during a run.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_executable_warm_up(
    executable: *mut caldera_executable,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || object(executable, "executable")?.inner.write()?.warm_up())
}

fn start(e: &mut Executable, inputs: &[caldera_run_input], outputs: &[caldera_run_output]) -> Result<()> {
    e.begin()?;
    for output in outputs {
        let index = e.output_index(text(output.name, "the name of an output")?)?;
        e.check_output(index, 0, output.size, true)?;
        bytes_mut(output.data, output.size, "data").map_err(|p| of("output", output.name, p))?;
        e.want(index)?;
    }
    for input in inputs {
        let index = e.input_index(text(input.name, "the name of an input")?)?;
        e.give(index, bytes(input.data, input.size, "data").map_err(|p| of("input", input.name, p))?)?;
    }
    e.launch()
}

/// A problem of the input or output of this name.
fn of(what: &str, name: *const c_char, problem: crate::Error) -> crate::Error {
    problem.within(format!("{what} \"{}\"", text(name, what).unwrap_or_default()))
}

/// Runs: uploads the inputs, one submit, reads the outputs asked for (none, some, all), and waits.
///
/// Every input without a handle must be given, once: here or by `caldera_set_input`. Errors: INVALID_ARGUMENT (unknown, missing or doubled names,
/// wrong sizes, params that are not set; nothing has run then), INDEX_OUT_OF_RANGE (an operator met a bad index: it is named with position and value;
/// the outputs are not written, and what handles that the run writes hold is not defined), DEVICE_LOST.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_run(
    executable: *mut caldera_executable,
    inputs: *const caldera_run_input,
    input_count: usize,
    outputs: *const caldera_run_output,
    output_count: usize,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let e = object(executable, "executable")?;
        let (inputs, outputs) = (list(inputs, input_count, "inputs")?, list(outputs, output_count, "outputs")?);
        let mut e = e.inner.write()?;
        start(&mut e, inputs, outputs)?;
        e.wait(Duration::MAX)?;
        for output in outputs {
            let index = e.output_index(text(output.name, "the name of an output")?)?;
            e.read_output(index, 0, bytes_mut(output.data, output.size, "data")?)?;
        }
        Ok(())
    })
}

/// Gives an input its value for the next run, one call an input: the form of `caldera_run`'s list for languages that must not hand out structs with
/// pointers. `size` is in bytes: what type and shape need. The data is copied by the call. Setting again replaces it. A run that starts uses up what
/// was set, one that is refused does not; a handle that is bound to the input replaces it.
///
/// Errors: INVALID_ARGUMENT (an unknown input, one with a handle, a wrong size), BUSY during a run.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_set_input(
    executable: *mut caldera_executable,
    input: *const c_char,
    data: *const c_void,
    size: usize,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let (e, input) = (object(executable, "executable")?, text(input, "input")?);
        let data = bytes(data, size, "data")?;
        let mut e = e.inner.write()?;
        let index = e.input_index(input)?;
        e.set_input(index, data)
    })
}

/// Lets the next run that starts bring an output to the host, as the list of `caldera_run` does: `caldera_read_output` then copies from there, without
/// a submit of its own. Wanting it twice is once.
///
/// Errors: INVALID_ARGUMENT (an unknown output), BUSY during a run.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_want_output(
    executable: *mut caldera_executable,
    output: *const c_char,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let (e, output) = (object(executable, "executable")?, text(output, "output")?);
        let mut e = e.inner.write()?;
        let index = e.output_index(output)?;
        e.want_ahead(index)
    })
}

/// Takes back every `caldera_set_input` and `caldera_want_output` since the last run, for a run that was given up. Errors: BUSY during a run.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_clear_run(executable: *mut caldera_executable, error: *mut *mut caldera_error) -> caldera_status {
    boundary(error, || object(executable, "executable")?.inner.write()?.clear_ahead())
}

/// Starts a run and returns; the inputs may then be reused. `caldera_wait` ends the run. Until then calls that change or read the executable give
/// BUSY; `caldera_poll`, the lists of ports and `caldera_executable_stats` do not.
///
/// Errors: as `caldera_run`, but for what happens during the run, which `caldera_wait` says.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_submit(
    executable: *mut caldera_executable,
    inputs: *const caldera_run_input,
    input_count: usize,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let e = object(executable, "executable")?;
        let inputs = list(inputs, input_count, "inputs")?;
        start(&mut *e.inner.write()?, inputs, &[])
    })
}

/// Waits for the run in flight, at most so many nanoseconds (UINT64_MAX: without end; 0: asks). Without one it returns at once.
///
/// A call of another thread on the executable, also one that is refused because a run is in flight, is waited for too; calls that other threads begin
/// meanwhile give BUSY. After OK, INDEX_OUT_OF_RANGE and DEVICE_LOST no run is in flight any more; after TIMEOUT it still is.
/// Errors: TIMEOUT (wait again), BUSY (another thread waits for the run already), INDEX_OUT_OF_RANGE, DEVICE_LOST.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_wait(
    executable: *mut caldera_executable,
    nanoseconds: u64,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let e = object(executable, "executable")?;
        let timeout = if nanoseconds == u64::MAX { Duration::MAX } else { Duration::from_nanos(nanoseconds) };
        let done = e.inner.wait(timeout, Executable::wait)?;
        ensure!(done, Timeout, "the run is not done after {nanoseconds} ns");
        Ok(())
    })
}

/// Sets `*done` to 1 if no run is in flight or the one in flight is over (`caldera_wait` then returns at once), else 0.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_poll(
    executable: *const caldera_executable,
    done: *mut u32,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let e = object(executable, "executable")?;
        wanted(done, "done")?;
        give(done, e.inner.read()?.poll()?.into());
        Ok(())
    })
}

/// Reads an output of the last run: all of it.
///
/// Errors: INVALID_ARGUMENT (an unknown output, another size, no run yet), BUSY during a run.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_read_output(
    executable: *const caldera_executable,
    output: *const c_char,
    data: *mut c_void,
    size: usize,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let (e, output) = (object(executable, "executable")?, text(output, "output")?);
        let data = bytes_mut(data, size, "data")?;
        let e = e.inner.read()?;
        let index = e.output_index(output)?;
        e.check_output(index, 0, data.len(), true)?;
        e.read_output(index, 0, data)
    })
}

/// Reads row `row` of an output of the last run: the elements at that index of its first dimension. `size` is the bytes of a row.
///
/// Errors: INVALID_ARGUMENT (an unknown output, no such row, another size, no run yet), BUSY during a run.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_read_output_row(
    executable: *const caldera_executable,
    output: *const c_char,
    row: usize,
    data: *mut c_void,
    size: usize,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let (e, output) = (object(executable, "executable")?, text(output, "output")?);
        let data = bytes_mut(data, size, "data")?;
        let e = e.inner.read()?;
        let index = e.output_index(output)?;
        let ty = &e.program().outputs[index].ty;
        let rows = ty.dims.first().copied().unwrap_or(1);
        ensure!(row < rows, InvalidArgument, "output \"{output}\" {ty} has {rows} rows, there is no row {row}");
        let bytes = ty.bytes() / rows;
        ensure!(size == bytes, InvalidArgument, "output \"{output}\": got room for {size} bytes, a row of {ty} needs {bytes}");
        e.read_output(index, row * bytes, data)
    })
}

/// An independent twin: its own activations, copies of the handles' contents, the same feeds, extent and random numbers. It shares weights and
/// pipelines. Its outputs are bound to no buffer, and it has not run yet.
///
/// Errors: OUT_OF_MEMORY, DEVICE_LOST, BUSY during a run.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_clone(
    executable: *const caldera_executable,
    twin: *mut *mut caldera_executable,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let e = object(executable, "executable")?;
        wanted(twin, "twin")?;
        let made = e.inner.read()?.twin()?;
        give(twin, caldera_executable::share(made));
        Ok(())
    })
}

/// Counts and sizes. Set `stats->struct_size` first (`CALDERA_STATS_INIT`): only so much of it is written.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_executable_stats(
    executable: *const caldera_executable,
    stats: *mut caldera_stats,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let e = object(executable, "executable")?;
        let Some(asked) = options(stats.cast_const(), "stats")? else { bail!(InvalidArgument, "stats is NULL") };
        let s = e.inner.read()?.stats();
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let out = caldera_stats {
            struct_size: asked.struct_size,
            operators: count(s.nodes),
            dispatches: count(s.dispatches),
            barriers: count(s.barriers),
            host_operators: count(s.host_operators),
            reserved: 0,
            submits: s.submits,
            device_allocations: s.device_allocations,
            arena_bytes: s.memory.arena as u64,
            arena_lower_bound: s.memory.lower_bound as u64,
            arena_no_reuse: s.memory.no_reuse as u64,
            constant_bytes: s.memory.constants as u64,
            weight_bytes: s.memory.weights as u64,
            port_bytes: s.memory.ports as u64,
        };
        // SAFETY: the caller's struct holds `struct_size` bytes, at most `caldera_stats` (checked by `options`).
        unsafe { std::ptr::copy_nonoverlapping((&raw const out).cast::<u8>(), stats.cast::<u8>(), asked.struct_size as usize) };
        Ok(())
    })
}

/// How `caldera_executable_profile` writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum caldera_profile_format {
    /// A table, the dearest operator first.
    CALDERA_PROFILE_TEXT = 0,
    /// The trace format that chrome://tracing and Perfetto read.
    CALDERA_PROFILE_CHROME = 1,
}

/// GPU time of each operator of the last run, by count-then-fill in bytes. `format` is a `caldera_profile_format`.
///
/// Errors: INVALID_ARGUMENT unless compiled with `profiling` and run, UNSUPPORTED on the CPU device.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_executable_profile(
    executable: *const caldera_executable,
    format: u32,
    out: *mut c_char,
    size: *mut usize,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let profile = object(executable, "executable")?.inner.read()?.profile()?;
        match format {
            0 => fill_text(&profile.to_text(), out, size),
            1 => fill_text(&profile.to_chrome_trace(), out, size),
            other => Err(error!(InvalidArgument, "there is no profile format {other}")),
        }
    })
}
