const std = @import("std");
const caldera = @import("caldera.zig");
const c = caldera.c;
const Error = caldera.Error;
const Value = caldera.Value;
const call = caldera.call;

/// An attribute that is a tensor; `Tensor.of(&dims, &numbers)`.
pub const Tensor = struct {
    type: caldera.Type,
    dims: []const i64,
    bytes: []const u8,

    pub fn of(dims: []const i64, data: anytype) Tensor {
        const view = caldera.look(data);
        return .{ .type = view.type, .dims = dims, .bytes = @as([*]const u8, @ptrCast(view.data))[0..view.size] };
    }
};

/// Element type and dimensions of a value.
pub const ValueType = struct {
    type: caldera.Type = @enumFromInt(0),
    rank: u32 = 8,
    all: [8]i64 = undefined,

    pub fn dims(self: *const ValueType) []const i64 {
        return self.all[0..self.rank];
    }
};

/// A graph under construction, or read from a file.
pub const Graph = struct {
    raw: *c.Graph,

    pub fn init() Error!Graph {
        var made: ?*c.Graph = null;
        try call(c.caldera_graph_new, .{&made});
        return .{ .raw = made.? };
    }

    /// Reads an ONNX file. Weights stay in the file until a compile needs them.
    pub fn loadOnnx(path: [:0]const u8) Error!Graph {
        var made: ?*c.Graph = null;
        try call(c.caldera_graph_load_onnx, .{ path.ptr, &made });
        return .{ .raw = made.? };
    }

    /// Reads an ONNX model from memory. It cannot have external data.
    pub fn parseOnnx(model: []const u8) Error!Graph {
        var made: ?*c.Graph = null;
        try call(c.caldera_graph_load_onnx_memory, .{ model.ptr, model.len, &made });
        return .{ .raw = made.? };
    }

    /// Gives the graph up. Executables made of it live on.
    pub fn deinit(self: *Graph) void {
        c.caldera_graph_free(self.raw);
        self.* = undefined;
    }

    /// An input: it is given at each run, or lives in a buffer (`Executable.bind`).
    pub fn input(self: Graph, name: [:0]const u8, element: caldera.Type, dims: []const i64) Error!Value {
        return self.add(c.caldera_graph_input, .{ name.ptr, element, dims.ptr, null, caldera.rank(dims) });
    }

    /// An input with dimensions of -1, which are symbolic: `bindDim` gives a size to the name at the same place. The other names are not looked at.
    pub fn symbolicInput(self: Graph, name: [:0]const u8, element: caldera.Type, dims: []const i64, names: []const ?[*:0]const u8) Error!Value {
        if (names.len != dims.len) return caldera.fail("input \"{s}\" has {d} dimensions and {d} names", .{ name, dims.len, names.len });
        return self.add(c.caldera_graph_input, .{ name.ptr, element, dims.ptr, names.ptr, caldera.rank(dims) });
    }

    /// A weight, which is set once (`Executable.setParam`, or in `Weights`). Its type may be a packed block type.
    pub fn param(self: Graph, name: [:0]const u8, element: caldera.Type, dims: []const i64) Error!Value {
        return self.add(c.caldera_graph_param, .{ name.ptr, element, dims.ptr, caldera.rank(dims) });
    }

    /// Data inside the graph; it is copied.
    pub fn constant(self: Graph, dims: []const i64, data: anytype) Error!Value {
        const view = caldera.look(data);
        return self.add(c.caldera_graph_constant, .{ view.type, dims.ptr, caldera.rank(dims), view.data, view.size });
    }

    /// Marks a value as an output under a name of its own.
    pub fn output(self: Graph, name: [:0]const u8, value: Value) Error!void {
        return call(c.caldera_graph_output, .{ self.raw, name.ptr, value });
    }

    /// Names the operator that made a value, for messages, profiles and printing.
    pub fn setName(self: Graph, value: Value, name: [:0]const u8) Error!void {
        return call(c.caldera_graph_set_name, .{ self.raw, value, name.ptr });
    }

    pub fn valueType(self: Graph, value: Value) Error!ValueType {
        var out: ValueType = .{};
        try call(c.caldera_graph_value_type, .{ self.raw, value, &out.type, &out.all, &out.rank });
        return out;
    }

    /// Gives a symbolic dimension its size. Binding again changes it.
    pub fn bindDim(self: Graph, name: [:0]const u8, size: i64) Error!void {
        return call(c.caldera_graph_bind_dim, .{ self.raw, name.ptr, size });
    }

    /// Binds an input of a graph from a file to a value, for inputs that shapes depend on. It is then no input any more.
    pub fn bindInput(self: Graph, name: [:0]const u8, dims: []const i64, data: anytype) Error!void {
        const view = caldera.look(data);
        return call(c.caldera_graph_bind_input, .{ self.raw, name.ptr, view.type, dims.ptr, caldera.rank(dims), view.data, view.size });
    }

    /// The graph as text, or for Graphviz. The caller frees it.
    pub fn print(self: Graph, allocator: std.mem.Allocator, format: c.PrintFormat) Error![]u8 {
        return caldera.readText(allocator, c.caldera_graph_print, .{ self.raw, format });
    }

    /// Writes the graph as an ONNX file. `weights` has the values of the params; null will do for those of a graph that came from a file.
    pub fn saveOnnx(self: Graph, path: [:0]const u8, weights: ?caldera.Weights) Error!void {
        const set: ?*const c.Weights = if (weights) |w| w.raw else null;
        return call(c.caldera_graph_save_onnx, .{ self.raw, set, path.ptr });
    }

    /// Adds an operator that has one result: `graph.op("MatMul", &.{ a, b }, .{ .transpose_b = true })`.
    ///
    /// The operator, its inputs and attributes are those of the operator contract. `Value.none` stands for an input that is left out. Attributes are
    /// numbers, bools, texts or enum literals (`.f16`), lists of numbers (`&[_]i64{..}`, `&[_]f64{..}`), a `Tensor`, or a `Graph`, which is copied (the
    /// branches of "If", the body of "Scan").
    pub fn op(self: Graph, operator: [:0]const u8, inputs: []const Value, attributes: anytype) Error!Value {
        return (try self.ops(1, operator, inputs, attributes))[0];
    }

    /// `op` for operators with `count` results.
    pub fn ops(self: Graph, comptime count: usize, operator: [:0]const u8, inputs: []const Value, attributes: anytype) Error![count]Value {
        const fields = std.meta.fields(@TypeOf(attributes));
        var list: [fields.len]c.Attribute = undefined;
        inline for (&list, fields) |*attribute, field| attribute.* = attributeOf(field.name, @field(attributes, field.name));
        var results: [count]Value = undefined;
        // Asked first, so that an operator with fewer results than that is not added.
        var made: usize = 0;
        const head = .{ self.raw, operator.ptr, null, inputs.ptr, inputs.len, &list, list.len };
        try call(c.caldera_graph_node, head ++ .{ null, &made });
        if (made != count) return caldera.fail("{s} has {d} results, not {d}", .{ operator, made, count });
        try call(c.caldera_graph_node, head ++ .{ &results, &made });
        return results;
    }

    fn add(self: Graph, function: anytype, arguments: anytype) Error!Value {
        var value: Value = .none;
        try call(function, .{self.raw} ++ arguments ++ .{&value});
        return value;
    }
};

fn attributeOf(comptime name: [:0]const u8, value: anytype) c.Attribute {
    const T = @TypeOf(value);
    if (T == Tensor) {
        const rank = caldera.rank(value.dims);
        return .{
            .name = name,
            .kind = .tensor,
            .i = @intFromEnum(value.type),
            .ints = value.dims.ptr,
            .rank = rank,
            .data = value.bytes.ptr,
            .count = value.bytes.len,
        };
    }
    if (T == Graph) return .{ .name = name, .kind = .graph, .data = value.raw };
    return switch (@typeInfo(T)) {
        .bool => .{ .name = name, .kind = .int, .i = @intFromBool(value) },
        .int, .comptime_int => .{ .name = name, .kind = .int, .i = value },
        .float, .comptime_float => .{ .name = name, .kind = .float, .f = value },
        .enum_literal, .@"enum" => .{ .name = name, .kind = .text, .s = @tagName(value).ptr },
        .pointer => switch (std.meta.Elem(T)) {
            u8 => .{ .name = name, .kind = .text, .s = @as([:0]const u8, value).ptr },
            i64 => .{ .name = name, .kind = .ints, .ints = @as([]const i64, value).ptr, .count = value.len },
            f64 => .{ .name = name, .kind = .floats, .floats = @as([]const f64, value).ptr, .count = value.len },
            else => @compileError("an attribute is no list of " ++ @typeName(std.meta.Elem(T))),
        },
        else => @compileError("an attribute is no " ++ @typeName(T)),
    };
}
