const std = @import("std");
const caldera = @import("caldera.zig");
const c = caldera.c;
const Error = caldera.Error;
const call = caldera.call;

/// An input, output or param of an executable.
pub const Port = struct {
    /// Lives as long as the executable.
    name: [:0]const u8,
    type: caldera.Type,
    rank: u32,
    all: [8]i64,
    /// What type and dimensions need.
    bytes: usize,

    pub fn dims(self: *const Port) []const i64 {
        return self.all[0..self.rank];
    }
};

/// Options of `Device.compile`. Zero means "not given".
pub const CompileOptions = struct {
    /// The weights to read params from, shared with other executables; null: the executable's own.
    weights: ?caldera.Weights = null,
    /// f16 or bf16 products with f32 sums on matrix units, where the device has them.
    fast: bool = false,
    /// GPU timestamps around every operator, for `Executable.profile`.
    profiling: bool = false,
    /// Out-of-range indices are clamped instead of being an error.
    unchecked_indices: bool = false,
    /// Refuse a plan that needs more than this many bytes of device memory.
    memory_limit: u64 = 0,
    /// Seed of the random operators.
    seed: u64 = 0,
};

pub fn compile(allocator: std.mem.Allocator, device: caldera.Device, graph: caldera.Graph, options: CompileOptions) Error!Executable {
    const given: c.CompileOptions = .{
        .precision = if (options.fast) 2 else 0,
        .profiling = caldera.flag(options.profiling),
        .unchecked_indices = caldera.flag(options.unchecked_indices),
        .weights = if (options.weights) |w| w.raw else null,
        .memory_limit = options.memory_limit,
        .seed = options.seed,
    };
    var made: ?*c.Executable = null;
    try call(c.caldera_compile, .{ device.raw, graph.raw, &given, &made });
    return Executable.of(allocator, made.?);
}

/// A compiled graph: its memory, its recorded commands, bound buffers.
pub const Executable = struct {
    raw: *c.Executable,
    allocator: std.mem.Allocator,
    inputs: []const Port,
    outputs: []const Port,
    params: []const Port,

    fn of(allocator: std.mem.Allocator, made: *c.Executable) Error!Executable {
        errdefer c.caldera_executable_free(made);
        const inputs = try ports(allocator, made, c.caldera_executable_inputs);
        errdefer allocator.free(inputs);
        const outputs = try ports(allocator, made, c.caldera_executable_outputs);
        errdefer allocator.free(outputs);
        const params = try ports(allocator, made, c.caldera_executable_params);
        return .{ .raw = made, .allocator = allocator, .inputs = inputs, .outputs = outputs, .params = params };
    }

    /// Frees the executable; a run in flight is waited for.
    pub fn deinit(self: *Executable) void {
        c.caldera_executable_free(self.raw);
        for ([_][]const Port{ self.inputs, self.outputs, self.params }) |list| self.allocator.free(list);
        self.* = undefined;
    }

    /// Sets a weight: floats, which are converted to the declared type, elements of that very type, its bytes, or `caldera.raw`.
    pub fn setParam(self: Executable, name: [:0]const u8, data: anytype) Error!void {
        var view = caldera.look(data);
        if (view.loose) view.type = (try find("param", self.params, name)).type;
        return call(c.caldera_set_param, .{ self.raw, name.ptr, view.type, view.data, view.size });
    }

    /// Makes an input live in a buffer from now on: it is not given to runs any more. The executable keeps the buffer alive.
    pub fn bind(self: Executable, input: [:0]const u8, buffer: caldera.Buffer) Error!void {
        return call(c.caldera_bind_handle, .{ self.raw, input.ptr, buffer.raw });
    }

    /// Makes an input live in a new buffer of the executable's own, filled once.
    pub fn bindData(self: Executable, input: [:0]const u8, data: anytype) Error!void {
        const view = caldera.look(data);
        try view.of("input", input, (try find("input", self.inputs, input)).type);
        return call(c.caldera_bind_handle_data, .{ self.raw, input.ptr, view.data, view.size });
    }

    /// Whether an input has a handle: whether it lives in a buffer.
    pub fn isBound(self: Executable, input: [:0]const u8) Error!bool {
        var has: u32 = 0;
        try call(c.caldera_has_handle, .{ self.raw, input.ptr, &has });
        return has != 0;
    }

    /// Reads the present value of a bound input, from a byte offset.
    pub fn readHandle(self: Executable, input: [:0]const u8, offset: usize, data: anytype) Error!void {
        const view = caldera.room(data);
        try view.of("input", input, (try find("input", self.inputs, input)).type);
        return call(c.caldera_read_handle, .{ self.raw, input.ptr, offset, view.data, view.size });
    }

    /// Makes a bound input one that is given at each run again.
    pub fn unbind(self: Executable, input: [:0]const u8) Error!void {
        return call(c.caldera_unbind_handle, .{ self.raw, input.ptr });
    }

    /// Puts an output into a buffer at each run; null puts it back into the executable's own memory.
    pub fn bindOutput(self: Executable, output: [:0]const u8, buffer: ?caldera.Buffer) Error!void {
        const to: ?*const c.Buffer = if (buffer) |b| b.raw else null;
        return call(c.caldera_bind_output, .{ self.raw, output.ptr, to });
    }

    /// Makes an output the next value of a bound input after every run, on the device; null ends that.
    pub fn feed(self: Executable, input: [:0]const u8, output: ?[:0]const u8) Error!void {
        return call(c.caldera_set_handle_feed, .{ self.raw, input.ptr, pointer(output) });
    }

    /// Lets `feedRow` write rows of the output to a bound input; null: of no output any more.
    pub fn registerRowFeed(self: Executable, input: [:0]const u8, output: ?[:0]const u8) Error!void {
        return call(c.caldera_register_row_feed, .{ self.raw, input.ptr, pointer(output) });
    }

    /// Writes row `from` of the output of every registered row feed to row `to` of its handle, on the device. A row has this many elements.
    pub fn feedRow(self: Executable, from: usize, to: usize, elements: usize) Error!void {
        return call(c.caldera_feed_row, .{ self.raw, from, to, elements });
    }

    /// Sets how many rows of a bucket-padded graph of `upper` rows are valid.
    pub fn setActiveExtent(self: Executable, actual: usize, upper: usize) Error!void {
        return call(c.caldera_set_active_extent, .{ self.raw, actual, upper });
    }

    /// Seeds the random operators. `number` is the one that the next run has for them; each run counts it up.
    pub fn setRng(self: Executable, seed: u64, number: u32) Error!void {
        return call(c.caldera_set_rng, .{ self.raw, seed, number });
    }

    /// Makes the pipelines and records the commands now instead of at the first run. Every param must be set.
    pub fn warmUp(self: Executable) Error!void {
        return call(c.caldera_executable_warm_up, .{self.raw});
    }

    /// Runs: uploads the inputs, computes, fills the outputs asked for, and waits.
    ///
    /// `run(.{ .x = &x }, .{ .y = &y })`: the fields are named after inputs and outputs (`.@"cache_k.0"`), and are slices or pointers to arrays or single
    /// numbers of their types, bytes, or `caldera.raw`. Every input that is not bound must be given, here or by `setInput`.
    pub fn run(self: Executable, inputs: anytype, outputs: anytype) Error!void {
        const list = try self.given(inputs);
        var wanted: [std.meta.fields(@TypeOf(outputs)).len]c.RunOutput = undefined;
        inline for (&wanted, std.meta.fields(@TypeOf(outputs))) |*one, field| {
            const view = caldera.room(@field(outputs, field.name));
            try view.of("output", field.name, (try find("output", self.outputs, field.name)).type);
            one.* = .{ .name = field.name, .data = view.data, .size = view.size };
        }
        return call(c.caldera_run, .{ self.raw, &list, list.len, &wanted, wanted.len });
    }

    /// Starts a run and returns; the inputs may then be reused. `wait` ends it.
    pub fn submit(self: Executable, inputs: anytype) Error!void {
        const list = try self.given(inputs);
        return call(c.caldera_submit, .{ self.raw, &list, list.len });
    }

    fn given(self: Executable, inputs: anytype) Error![std.meta.fields(@TypeOf(inputs)).len]c.RunInput {
        var list: [std.meta.fields(@TypeOf(inputs)).len]c.RunInput = undefined;
        inline for (&list, std.meta.fields(@TypeOf(inputs))) |*one, field| {
            const view = caldera.look(@field(inputs, field.name));
            try view.of("input", field.name, (try find("input", self.inputs, field.name)).type);
            one.* = .{ .name = field.name, .data = view.data, .size = view.size };
        }
        return list;
    }

    /// Gives an input its value for the next run, for names that are known at run time only. Setting again replaces it.
    pub fn setInput(self: Executable, input: [:0]const u8, data: anytype) Error!void {
        const view = caldera.look(data);
        try view.of("input", input, (try find("input", self.inputs, input)).type);
        return call(c.caldera_set_input, .{ self.raw, input.ptr, view.data, view.size });
    }

    /// Lets the next run bring an output to the host's memory: `readOutput` then only copies.
    pub fn wantOutput(self: Executable, output: [:0]const u8) Error!void {
        return call(c.caldera_want_output, .{ self.raw, output.ptr });
    }

    /// Takes back what `setInput` and `wantOutput` left for the next run.
    pub fn clearRun(self: Executable) Error!void {
        return call(c.caldera_clear_run, .{self.raw});
    }

    /// Waits for the run in flight, at most so many nanoseconds; null: without end. `error.Timeout`: wait again.
    pub fn wait(self: Executable, nanoseconds: ?u64) Error!void {
        return call(c.caldera_wait, .{ self.raw, nanoseconds orelse std.math.maxInt(u64) });
    }

    /// Whether no run is in flight or the one in flight is over; `wait` then returns at once.
    pub fn done(self: Executable) Error!bool {
        var out: u32 = 0;
        try call(c.caldera_poll, .{ self.raw, &out });
        return out != 0;
    }

    /// Reads an output of the last run.
    pub fn readOutput(self: Executable, output: [:0]const u8, data: anytype) Error!void {
        const view = caldera.room(data);
        try view.of("output", output, (try find("output", self.outputs, output)).type);
        return call(c.caldera_read_output, .{ self.raw, output.ptr, view.data, view.size });
    }

    /// Reads a row of an output of the last run: the elements at that index of its first dimension.
    pub fn readOutputRow(self: Executable, output: [:0]const u8, row: usize, data: anytype) Error!void {
        const view = caldera.room(data);
        try view.of("output", output, (try find("output", self.outputs, output)).type);
        return call(c.caldera_read_output_row, .{ self.raw, output.ptr, row, view.data, view.size });
    }

    /// An independent twin, with copies of the handles' contents. It shares weights.
    pub fn clone(self: Executable) Error!Executable {
        var twin: ?*c.Executable = null;
        try call(c.caldera_clone, .{ self.raw, &twin });
        return of(self.allocator, twin.?);
    }

    /// Counts and sizes.
    pub fn stats(self: Executable) Error!c.Stats {
        var out: c.Stats = .{};
        try call(c.caldera_executable_stats, .{ self.raw, &out });
        return out;
    }

    /// GPU time of each operator of the last run. It needs `CompileOptions.profiling`. The caller frees it.
    pub fn profile(self: Executable, allocator: std.mem.Allocator, format: c.ProfileFormat) Error![]u8 {
        return caldera.readText(allocator, c.caldera_executable_profile, .{ self.raw, format });
    }
};

fn ports(allocator: std.mem.Allocator, made: *c.Executable, function: anytype) Error![]const Port {
    const infos = try caldera.readList(c.PortInfo, allocator, function, .{made});
    defer allocator.free(infos);
    const list = try allocator.alloc(Port, infos.len);
    for (list, infos) |*port, info| {
        port.* = .{ .name = std.mem.span(info.name), .type = info.type, .rank = info.rank, .all = info.dims, .bytes = @intCast(info.bytes) };
    }
    return list;
}

fn find(kind: []const u8, list: []const Port, name: []const u8) Error!*const Port {
    for (list) |*port| {
        if (std.mem.eql(u8, port.name, name)) return port;
    }
    return caldera.fail("there is no {s} \"{s}\"", .{ kind, name });
}

fn pointer(text: ?[:0]const u8) ?[*:0]const u8 {
    return if (text) |t| t.ptr else null;
}
