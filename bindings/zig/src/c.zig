//! caldera.h by hand: every function but the builders of single operators, which `caldera_graph_node` stands in for. Every one is described there.
//! src/header.zig checks names, types and numbers against the header itself.

/// What became of a call.
pub const Status = enum(c_uint) {
    ok = 0,
    invalid_argument = 1,
    invalid_graph = 2,
    unsupported = 3,
    out_of_memory = 4,
    device_lost = 5,
    no_device = 6,
    file = 7,
    index_out_of_range = 8,
    busy = 9,
    timeout = 10,
    internal = 11,
    _,
};

pub const LogLevel = enum(c_uint) {
    @"error" = 1,
    warning = 2,
    info = 3,
    debug = 4,
    _,
};

/// The type of a tensor's elements. From q4_0 on: packed block types of weights.
pub const Type = enum(u32) {
    f32 = 1,
    f16 = 2,
    bf16 = 3,
    f64 = 4,
    i8 = 5,
    i16 = 6,
    i32 = 7,
    i64 = 8,
    u8 = 9,
    u16 = 10,
    u32 = 11,
    u64 = 12,
    bool = 13,
    c64 = 14,
    q4_0 = 64,
    q4_1 = 65,
    q5_0 = 66,
    q5_1 = 67,
    q8_0 = 68,
    q2_k = 69,
    q3_k = 70,
    q4_k = 71,
    q5_k = 72,
    q6_k = 73,
    q8_k = 74,
    iq4_nl = 75,
    iq4_xs = 76,
    iq2_xxs = 77,
    iq2_xs = 78,
    iq2_s = 79,
    iq3_xxs = 80,
    iq3_s = 81,
    iq1_s = 82,
    iq1_m = 83,
    tq1_0 = 84,
    tq2_0 = 85,
    mxfp4 = 86,
    _,
};

/// How a device is attached, in the order of preference.
pub const DeviceKind = enum(u32) {
    any = 0,
    discrete = 1,
    integrated = 2,
    virtual = 3,
    other = 4,
    /// A Vulkan driver that computes on the CPU.
    software = 5,
    /// The built-in CPU device, which needs no Vulkan.
    cpu = 6,
    _,
};

pub const PrintFormat = enum(u32) { text = 0, dot = 1, _ };

pub const ProfileFormat = enum(u32) { text = 0, chrome = 1, _ };

pub const AttributeKind = enum(u32) { int = 1, float = 2, text = 3, ints = 4, floats = 5, tensor = 6, graph = 7, _ };

pub const Buffer = opaque {};
pub const Device = opaque {};
pub const ErrorObject = opaque {};
pub const Executable = opaque {};
pub const Gguf = opaque {};
pub const Graph = opaque {};
pub const Weights = opaque {};

/// Where a failing call puts its error.
pub const ErrorPlace = ?*?*ErrorObject;

/// A value of a graph.
pub const Value = enum(u32) {
    /// Stands for an input that is left out.
    none = 0xFFFF_FFFF,
    _,
};

pub const abi_version = 2;

pub const LogCallback = *const fn (level: LogLevel, text: [*:0]const u8, user: ?*anyopaque) callconv(.c) void;
pub const ProgressCallback = *const fn (done: u64, total: u64, user: ?*anyopaque) callconv(.c) void;

pub const DeviceProperties = extern struct {
    kind: DeviceKind,
    usable: u32,
    uuid: [16]u8,
    name: [256]u8,
    driver: [256]u8,
    features: [256]u8,
    memory: u64,
    api_version: [3]u32,
    reserved: u32,
};

pub const DeviceOptions = extern struct {
    struct_size: u32 = @sizeOf(DeviceOptions),
    kind: DeviceKind = .any,
    select: ?[*:0]const u8 = null,
    allow_software: u32 = 0,
    allow_cpu: u32 = 0,
    validation: u32 = 0,
    reserved: u32 = 0,
    cache: ?*const anyopaque = null,
    cache_bytes: usize = 0,
    cache_path: ?[*:0]const u8 = null,
};

pub const CompileOptions = extern struct {
    struct_size: u32 = @sizeOf(CompileOptions),
    precision: u32 = 0,
    matmul: u32 = 0,
    full_barriers: u32 = 0,
    profiling: u32 = 0,
    unchecked_indices: u32 = 0,
    weights: ?*const Weights = null,
    memory_limit: u64 = 0,
    seed: u64 = 0,
};

pub const PortInfo = extern struct {
    name: [*:0]const u8,
    type: Type,
    rank: u32,
    dims: [8]i64,
    bytes: u64,
};

pub const RunInput = extern struct {
    name: ?[*:0]const u8,
    data: ?*const anyopaque,
    size: usize,
};

pub const RunOutput = extern struct {
    name: ?[*:0]const u8,
    data: ?*anyopaque,
    size: usize,
};

pub const Stats = extern struct {
    struct_size: u32 = @sizeOf(Stats),
    operators: u32 = 0,
    dispatches: u32 = 0,
    barriers: u32 = 0,
    host_operators: u32 = 0,
    reserved: u32 = 0,
    submits: u64 = 0,
    device_allocations: u64 = 0,
    arena_bytes: u64 = 0,
    arena_lower_bound: u64 = 0,
    arena_no_reuse: u64 = 0,
    constant_bytes: u64 = 0,
    weight_bytes: u64 = 0,
    port_bytes: u64 = 0,
};

pub const GgufTensorInfo = extern struct {
    name: [*:0]const u8,
    type: Type,
    rank: u32,
    dims: [8]i64,
    data: [*]const u8,
    bytes: u64,
};

pub const ModelOptions = extern struct {
    struct_size: u32 = @sizeOf(ModelOptions),
    tokens: u32 = 0,
    context: u32 = 0,
    /// 0, or a Type.
    cache_type: u32 = 0,
    sampling: u32 = 0,
    temperature: f32 = 0,
    top_k: u32 = 0,
    top_p: f32 = 0,
    min_p: f32 = 0,
    batch: u32 = 0,
    spare: u32 = 0,
    scores: u32 = 0,
};

pub const Attribute = extern struct {
    name: ?[*:0]const u8,
    kind: AttributeKind,
    rank: u32 = 0,
    i: i64 = 0,
    f: f64 = 0,
    s: ?[*:0]const u8 = null,
    ints: ?[*]const i64 = null,
    floats: ?[*]const f64 = null,
    data: ?*const anyopaque = null,
    count: usize = 0,
};

// Versions and the log
pub extern fn caldera_version() [*:0]const u8;
pub extern fn caldera_abi_version() u32;
pub extern fn caldera_check_abi(abi_version: u32, @"error": ErrorPlace) Status;
pub extern fn caldera_set_log_callback(callback: ?LogCallback, user: ?*anyopaque) void;

// Errors
pub extern fn caldera_error_message(@"error": ?*const ErrorObject) [*:0]const u8;
pub extern fn caldera_error_status(@"error": ?*const ErrorObject) Status;
pub extern fn caldera_error_free(@"error": ?*ErrorObject) void;
pub extern fn caldera_status_name(status: i32) [*:0]const u8;

// Devices
pub extern fn caldera_device_list(infos: ?[*]DeviceProperties, count: ?*usize, @"error": ErrorPlace) Status;
pub extern fn caldera_device_open(options: ?*const DeviceOptions, device: ?*?*Device, @"error": ErrorPlace) Status;
pub extern fn caldera_device_info(device: ?*const Device, info: ?*DeviceProperties, @"error": ErrorPlace) Status;
pub extern fn caldera_device_memory(device: ?*const Device, used: ?*u64, reserved: ?*u64, @"error": ErrorPlace) Status;
pub extern fn caldera_device_trim(device: ?*const Device, @"error": ErrorPlace) Status;
pub extern fn caldera_device_cache(device: ?*const Device, data: ?*anyopaque, size: ?*usize, @"error": ErrorPlace) Status;
pub extern fn caldera_device_save_cache(device: ?*const Device, path: ?[*:0]const u8, @"error": ErrorPlace) Status;
pub extern fn caldera_device_describe(device: ?*const Device, out: ?[*]u8, size: ?*usize, @"error": ErrorPlace) Status;
pub extern fn caldera_device_free(device: ?*Device) void;

// Buffers
pub extern fn caldera_buffer_new(
    device: ?*const Device,
    @"type": Type,
    dims: ?[*]const i64,
    rank: u32,
    buffer: ?*?*Buffer,
    @"error": ErrorPlace,
) Status;
pub extern fn caldera_buffer_write(buffer: ?*Buffer, offset: usize, data: ?*const anyopaque, size: usize, @"error": ErrorPlace) Status;
pub extern fn caldera_buffer_read(buffer: ?*const Buffer, offset: usize, data: ?*anyopaque, size: usize, @"error": ErrorPlace) Status;
pub extern fn caldera_buffer_clone(buffer: ?*const Buffer, copy: ?*?*Buffer, @"error": ErrorPlace) Status;
pub extern fn caldera_buffer_bytes(buffer: ?*const Buffer) usize;
pub extern fn caldera_buffer_free(buffer: ?*Buffer) void;

// Weights
pub extern fn caldera_weights_new(device: ?*const Device, weights: ?*?*Weights, @"error": ErrorPlace) Status;
pub extern fn caldera_weights_set(
    weights: ?*const Weights,
    name: ?[*:0]const u8,
    @"type": Type,
    dims: ?[*]const i64,
    rank: u32,
    data: ?*const anyopaque,
    size: usize,
    @"error": ErrorPlace,
) Status;
pub extern fn caldera_weights_load_safetensors(
    weights: ?*const Weights,
    path: ?[*:0]const u8,
    progress: ?ProgressCallback,
    user: ?*anyopaque,
    @"error": ErrorPlace,
) Status;
pub extern fn caldera_weights_free(weights: ?*Weights) void;

// Graphs
pub extern fn caldera_graph_new(graph: ?*?*Graph, @"error": ErrorPlace) Status;
pub extern fn caldera_graph_free(graph: ?*Graph) void;
pub extern fn caldera_graph_input(
    graph: ?*Graph,
    name: ?[*:0]const u8,
    @"type": Type,
    dims: ?[*]const i64,
    dim_names: ?[*]const ?[*:0]const u8,
    rank: u32,
    value: ?*Value,
    @"error": ErrorPlace,
) Status;
pub extern fn caldera_graph_param(
    graph: ?*Graph,
    name: ?[*:0]const u8,
    @"type": Type,
    dims: ?[*]const i64,
    rank: u32,
    value: ?*Value,
    @"error": ErrorPlace,
) Status;
pub extern fn caldera_graph_constant(
    graph: ?*Graph,
    @"type": Type,
    dims: ?[*]const i64,
    rank: u32,
    data: ?*const anyopaque,
    size: usize,
    value: ?*Value,
    @"error": ErrorPlace,
) Status;
pub extern fn caldera_graph_output(graph: ?*Graph, name: ?[*:0]const u8, value: Value, @"error": ErrorPlace) Status;
pub extern fn caldera_graph_set_name(graph: ?*Graph, value: Value, name: ?[*:0]const u8, @"error": ErrorPlace) Status;
pub extern fn caldera_graph_value_type(graph: ?*const Graph, value: Value, @"type": ?*Type, dims: ?[*]i64, rank: ?*u32, @"error": ErrorPlace) Status;
pub extern fn caldera_graph_bind_dim(graph: ?*Graph, name: ?[*:0]const u8, size: i64, @"error": ErrorPlace) Status;
pub extern fn caldera_graph_bind_input(
    graph: ?*Graph,
    name: ?[*:0]const u8,
    @"type": Type,
    dims: ?[*]const i64,
    rank: u32,
    data: ?*const anyopaque,
    size: usize,
    @"error": ErrorPlace,
) Status;
pub extern fn caldera_graph_print(graph: ?*const Graph, format: PrintFormat, out: ?[*]u8, size: ?*usize, @"error": ErrorPlace) Status;
pub extern fn caldera_graph_load_onnx(path: ?[*:0]const u8, graph: ?*?*Graph, @"error": ErrorPlace) Status;
pub extern fn caldera_graph_save_onnx(graph: ?*const Graph, weights: ?*const Weights, path: ?[*:0]const u8, @"error": ErrorPlace) Status;
pub extern fn caldera_graph_load_onnx_memory(data: ?*const anyopaque, size: usize, graph: ?*?*Graph, @"error": ErrorPlace) Status;

// Executables
pub extern fn caldera_compile(
    device: ?*const Device,
    graph: ?*const Graph,
    options: ?*const CompileOptions,
    executable: ?*?*Executable,
    @"error": ErrorPlace,
) Status;
pub extern fn caldera_executable_free(executable: ?*Executable) void;
pub extern fn caldera_executable_inputs(executable: ?*const Executable, infos: ?[*]PortInfo, count: ?*usize, @"error": ErrorPlace) Status;
pub extern fn caldera_executable_outputs(executable: ?*const Executable, infos: ?[*]PortInfo, count: ?*usize, @"error": ErrorPlace) Status;
pub extern fn caldera_executable_params(executable: ?*const Executable, infos: ?[*]PortInfo, count: ?*usize, @"error": ErrorPlace) Status;
pub extern fn caldera_set_param(
    executable: ?*Executable,
    name: ?[*:0]const u8,
    @"type": Type,
    data: ?*const anyopaque,
    size: usize,
    @"error": ErrorPlace,
) Status;
pub extern fn caldera_bind_handle(executable: ?*Executable, input: ?[*:0]const u8, buffer: ?*const Buffer, @"error": ErrorPlace) Status;
pub extern fn caldera_bind_handle_data(
    executable: ?*Executable,
    input: ?[*:0]const u8,
    data: ?*const anyopaque,
    size: usize,
    @"error": ErrorPlace,
) Status;
pub extern fn caldera_has_handle(executable: ?*const Executable, input: ?[*:0]const u8, has: ?*u32, @"error": ErrorPlace) Status;
pub extern fn caldera_read_handle(
    executable: ?*const Executable,
    input: ?[*:0]const u8,
    offset: usize,
    data: ?*anyopaque,
    size: usize,
    @"error": ErrorPlace,
) Status;
pub extern fn caldera_unbind_handle(executable: ?*Executable, input: ?[*:0]const u8, @"error": ErrorPlace) Status;
pub extern fn caldera_bind_output(executable: ?*Executable, output: ?[*:0]const u8, buffer: ?*const Buffer, @"error": ErrorPlace) Status;
pub extern fn caldera_set_handle_feed(executable: ?*Executable, handle: ?[*:0]const u8, output: ?[*:0]const u8, @"error": ErrorPlace) Status;
pub extern fn caldera_register_row_feed(executable: ?*Executable, handle: ?[*:0]const u8, output: ?[*:0]const u8, @"error": ErrorPlace) Status;
pub extern fn caldera_feed_row(executable: ?*Executable, src_row: usize, dst_row: usize, row_elements: usize, @"error": ErrorPlace) Status;
pub extern fn caldera_set_active_extent(executable: ?*Executable, actual: usize, upper: usize, @"error": ErrorPlace) Status;
pub extern fn caldera_set_rng(executable: ?*Executable, seed: u64, run: u32, @"error": ErrorPlace) Status;
pub extern fn caldera_executable_warm_up(executable: ?*Executable, @"error": ErrorPlace) Status;
pub extern fn caldera_run(
    executable: ?*Executable,
    inputs: ?[*]const RunInput,
    input_count: usize,
    outputs: ?[*]const RunOutput,
    output_count: usize,
    @"error": ErrorPlace,
) Status;
pub extern fn caldera_set_input(executable: ?*Executable, input: ?[*:0]const u8, data: ?*const anyopaque, size: usize, @"error": ErrorPlace) Status;
pub extern fn caldera_want_output(executable: ?*Executable, output: ?[*:0]const u8, @"error": ErrorPlace) Status;
pub extern fn caldera_clear_run(executable: ?*Executable, @"error": ErrorPlace) Status;
pub extern fn caldera_submit(executable: ?*Executable, inputs: ?[*]const RunInput, input_count: usize, @"error": ErrorPlace) Status;
pub extern fn caldera_wait(executable: ?*Executable, nanoseconds: u64, @"error": ErrorPlace) Status;
pub extern fn caldera_poll(executable: ?*const Executable, done: ?*u32, @"error": ErrorPlace) Status;
pub extern fn caldera_read_output(
    executable: ?*const Executable,
    output: ?[*:0]const u8,
    data: ?*anyopaque,
    size: usize,
    @"error": ErrorPlace,
) Status;
pub extern fn caldera_read_output_row(
    executable: ?*const Executable,
    output: ?[*:0]const u8,
    row: usize,
    data: ?*anyopaque,
    size: usize,
    @"error": ErrorPlace,
) Status;
pub extern fn caldera_clone(executable: ?*const Executable, twin: ?*?*Executable, @"error": ErrorPlace) Status;
pub extern fn caldera_executable_stats(executable: ?*const Executable, stats: ?*Stats, @"error": ErrorPlace) Status;
pub extern fn caldera_executable_profile(executable: ?*const Executable, format: ProfileFormat, out: ?[*]u8, size: ?*usize, @"error": ErrorPlace) Status;

// GGUF files and language models
pub extern fn caldera_gguf_open(path: ?[*:0]const u8, gguf: ?*?*Gguf, @"error": ErrorPlace) Status;
pub extern fn caldera_gguf_free(gguf: ?*Gguf) void;
pub extern fn caldera_gguf_metadata_text(gguf: ?*const Gguf, key: ?[*:0]const u8, out: ?[*]u8, size: ?*usize, @"error": ErrorPlace) Status;
pub extern fn caldera_gguf_metadata_number(gguf: ?*const Gguf, key: ?[*:0]const u8, value: ?*f64, @"error": ErrorPlace) Status;
pub extern fn caldera_gguf_metadata(gguf: ?*const Gguf, key: ?[*:0]const u8, out: ?[*]u8, size: ?*usize, @"error": ErrorPlace) Status;
pub extern fn caldera_gguf_metadata_key(gguf: ?*const Gguf, index: usize, out: ?[*]u8, size: ?*usize, keys: ?*usize, @"error": ErrorPlace) Status;
pub extern fn caldera_gguf_tensor(gguf: ?*const Gguf, name: ?[*:0]const u8, info: ?*GgufTensorInfo, @"error": ErrorPlace) Status;
pub extern fn caldera_gguf_tensors(gguf: ?*const Gguf, infos: ?[*]GgufTensorInfo, count: ?*usize, @"error": ErrorPlace) Status;
pub extern fn caldera_graph_load_gguf(gguf: ?*const Gguf, options: ?*const ModelOptions, graph: ?*?*Graph, @"error": ErrorPlace) Status;
pub extern fn caldera_weights_load_gguf(
    weights: ?*const Weights,
    gguf: ?*const Gguf,
    progress: ?ProgressCallback,
    user: ?*anyopaque,
    @"error": ErrorPlace,
) Status;

// Builders: any operator by its name
pub extern fn caldera_graph_node(
    graph: ?*Graph,
    operator_name: ?[*:0]const u8,
    node_name: ?[*:0]const u8,
    inputs: ?[*]const Value,
    n_inputs: usize,
    attributes: ?[*]const Attribute,
    n_attributes: usize,
    outputs: ?[*]Value,
    n_outputs: ?*usize,
    @"error": ErrorPlace,
) Status;
