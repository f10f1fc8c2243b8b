//! Runs neural networks on any GPU that has a Vulkan driver, and on the CPU where there is none.
//!
//! A program opens a `Device`, makes a `Graph` (by its operators, or from an ONNX or a GGUF file), compiles it to an `Executable`, and runs that:
//!
//!     var device = try caldera.Device.open(.{ .allow_software = true, .allow_cpu = true });
//!     defer device.deinit();
//!     ...
//!     try run.run(.{ .x = &x }, .{ .y = &y });
//!
//! A failing call returns an `Error`; `lastMessage()` then says what was wrong with names and numbers. It has changed nothing.
//!
//! Names and texts are given as `[:0]const u8` and copied by the call, like all data. Objects keep alive what they need: a device may be freed before
//! what was made of it, a graph once it is compiled, a buffer while it is bound. Objects may be used by several threads; two calls at the same
//! time that change one are refused with `error.Busy`.
//!
//! What has no method here is a call away: `caldera.call(caldera.c.caldera_device_trim, .{device.raw})`.

const std = @import("std");

/// The C functions.
pub const c = @import("c.zig");

pub const Type = c.Type;
pub const Value = c.Value;
pub const DeviceKind = c.DeviceKind;
pub const LogLevel = c.LogLevel;

const device = @import("device.zig");
const graph = @import("graph.zig");
const executable = @import("executable.zig");

pub const Device = device.Device;
pub const DeviceInfo = device.DeviceInfo;
pub const DeviceOptions = device.DeviceOptions;
pub const devices = device.devices;
pub const Buffer = device.Buffer;
pub const Weights = device.Weights;
pub const Gguf = @import("gguf.zig").Gguf;
pub const ModelOptions = @import("gguf.zig").ModelOptions;
pub const Graph = graph.Graph;
pub const Tensor = graph.Tensor;
pub const Executable = executable.Executable;
pub const CompileOptions = executable.CompileOptions;
pub const Port = executable.Port;

/// What can go wrong.
pub const Error = error{
    /// A number is out of range, a name is unknown, a size or type does not fit.
    InvalidArgument,
    /// A graph breaks a rule of an operator.
    InvalidGraph,
    /// Right in itself, but this device or this version cannot do it.
    Unsupported,
    /// Device or host memory is exhausted. Everything made before still works.
    OutOfMemory,
    /// Every later call on the device returns this too; a new one can be opened.
    DeviceLost,
    /// No Vulkan loader, no driver, or no device that fits the options.
    NoDevice,
    /// A file cannot be read or written, or its content is broken.
    File,
    /// The data of a run pointed outside of a tensor. The run is over; its outputs are not to be used.
    IndexOutOfRange,
    /// Another thread is in a call on the object, or a run of it is in flight.
    Busy,
    /// A wait ended before the work did. Wait again.
    Timeout,
    /// A fault of Caldera itself.
    Internal,
};

threadlocal var message_room: [2048]u8 = undefined;
threadlocal var message_size: usize = 0;

/// Why the last failing call of this thread failed: with names and numbers, cut to 2048 bytes. It lives until the next failing call of the thread.
pub fn lastMessage() []const u8 {
    return message_room[0..message_size];
}

/// Fails with a message of this module's own.
pub fn fail(comptime format: []const u8, arguments: anytype) Error {
    const text = std.fmt.bufPrint(&message_room, format, arguments) catch &message_room;
    message_size = text.len;
    return error.InvalidArgument;
}

fn fromStatus(status: c.Status) Error {
    return switch (status) {
        .invalid_argument => error.InvalidArgument,
        .invalid_graph => error.InvalidGraph,
        .unsupported => error.Unsupported,
        .out_of_memory => error.OutOfMemory,
        .device_lost => error.DeviceLost,
        .no_device => error.NoDevice,
        .file => error.File,
        .index_out_of_range => error.IndexOutOfRange,
        .busy => error.Busy,
        .timeout => error.Timeout,
        else => error.Internal,
    };
}

/// Calls a C function without its last parameter, the error, and makes an error of what goes wrong.
pub fn call(function: anytype, arguments: anytype) Error!void {
    var problem: ?*c.ErrorObject = null;
    const status: c.Status = @call(.auto, function, arguments ++ .{@as(c.ErrorPlace, &problem)});
    if (status == .ok) return;
    defer c.caldera_error_free(problem);
    const text = std.mem.span(c.caldera_error_message(problem));
    message_size = @min(text.len, message_room.len);
    @memcpy(message_room[0..message_size], text[0..message_size]);
    return fromStatus(status);
}

/// The version of the library, such as "0.1.0".
pub fn version() [:0]const u8 {
    return std.mem.span(c.caldera_version());
}

/// Fails if the library that was found is of another binary interface than this module. Opening a device asks too.
pub fn checkAbi() Error!void {
    return call(c.caldera_check_abi, .{c.abi_version});
}

/// Sends the log lines of the library to a function from now on; null, the default, turns the log off. It is called from any thread, also at the same
/// time, and must not call this module.
pub fn setLog(comptime log: ?fn (level: LogLevel, text: [:0]const u8) void) void {
    const to = log orelse return c.caldera_set_log_callback(null, null);
    c.caldera_set_log_callback(struct {
        fn line(level: LogLevel, text: [*:0]const u8, _: ?*anyopaque) callconv(.c) void {
            to(level, std.mem.span(text));
        }
    }.line, null);
}

/// A text by count-then-fill; the caller frees it.
pub fn readText(allocator: std.mem.Allocator, function: anytype, arguments: anytype) Error![]u8 {
    var size: usize = 0;
    try call(function, arguments ++ .{ @as(?[*]u8, null), @as(?*usize, &size) });
    const out = try allocator.alloc(u8, size);
    defer allocator.free(out);
    try call(function, arguments ++ .{ @as(?[*]u8, out.ptr), @as(?*usize, &size) });
    return allocator.dupe(u8, std.mem.sliceTo(out, 0));
}

/// A list by count-then-fill; the caller frees it.
pub fn readList(comptime T: type, allocator: std.mem.Allocator, function: anytype, arguments: anytype) Error![]T {
    var count: usize = 0;
    try call(function, arguments ++ .{ @as(?[*]T, null), @as(?*usize, &count) });
    const out = try allocator.alloc(T, count);
    errdefer allocator.free(out);
    try call(function, arguments ++ .{ @as(?[*]T, out.ptr), @as(?*usize, &count) });
    if (count >= out.len) return out;
    const fewer = try allocator.dupe(T, out[0..count]);
    allocator.free(out);
    return fewer;
}

fn Raw(comptime Bytes: type) type {
    return struct { type: Type, bytes: Bytes };
}

/// Bytes as data of a type that Zig has not: `caldera.raw(.bf16, bytes)`.
pub fn raw(element: Type, bytes: anytype) Raw(if (isMutable(@TypeOf(bytes))) []u8 else []const u8) {
    return .{ .type = element, .bytes = bytes };
}

fn isMutable(comptime Pointer: type) bool {
    return !@typeInfo(Pointer).pointer.is_const;
}

/// The element type of a Zig type.
pub fn typeOf(comptime T: type) Type {
    return switch (T) {
        f16 => .f16,
        f32 => .f32,
        f64 => .f64,
        i8 => .i8,
        i16 => .i16,
        i32 => .i32,
        i64 => .i64,
        u8 => .u8,
        u16 => .u16,
        u32 => .u32,
        u64 => .u64,
        bool => .bool,
        else => @compileError("a tensor has no elements of type " ++ @typeName(T)),
    };
}

/// Where data lies, and what it is. `loose`: bytes, which may be of any type.
fn View(comptime Pointer: type) type {
    return struct {
        data: Pointer,
        size: usize,
        type: Type,
        loose: bool = false,

        /// Data that must be of this type; sizes are for the library to check.
        pub fn of(self: @This(), what: []const u8, name: []const u8, wanted: Type) Error!void {
            if (self.loose or self.type == wanted) return;
            return fail("{s} \"{s}\": got elements of type {s}, its elements are {s}", .{ what, name, tagName(self.type), tagName(wanted) });
        }
    };
}

/// The name of a type: "f32".
pub fn tagName(element: Type) []const u8 {
    return std.enums.tagName(Type, element) orelse "unknown";
}

/// Data to read: a slice or a pointer to an array or to one number, or `raw`.
pub fn look(data: anytype) View(*const anyopaque) {
    if (comptime isRaw(@TypeOf(data))) return .{ .data = data.bytes.ptr, .size = data.bytes.len, .type = data.type };
    const T = Element(@TypeOf(data));
    const bytes = bytesOf(data);
    return .{ .data = bytes.ptr, .size = bytes.len, .type = typeOf(T), .loose = T == u8 };
}

/// Room to fill.
pub fn room(data: anytype) View(*anyopaque) {
    if (comptime isRaw(@TypeOf(data))) return .{ .data = data.bytes.ptr, .size = data.bytes.len, .type = data.type };
    const T = Element(@TypeOf(data));
    if (comptime !isMutable(@TypeOf(data))) @compileError("an output needs a mutable slice or pointer, not " ++ @typeName(@TypeOf(data)));
    const bytes = bytesOf(data);
    return .{ .data = bytes.ptr, .size = bytes.len, .type = typeOf(T), .loose = T == u8 };
}

fn isRaw(comptime T: type) bool {
    return T == Raw([]u8) or T == Raw([]const u8);
}

fn Element(comptime Pointer: type) type {
    if (@typeInfo(Pointer) != .pointer) @compileError("data is a slice or a pointer, not " ++ @typeName(Pointer));
    const info = @typeInfo(Pointer).pointer;
    return switch (info.size) {
        .slice => info.child,
        .one => switch (@typeInfo(info.child)) {
            .array => |array| array.child,
            else => info.child,
        },
        else => @compileError("data is a slice or a pointer to one thing, not " ++ @typeName(Pointer)),
    };
}

fn bytesOf(data: anytype) if (isMutable(@TypeOf(data))) []u8 else []const u8 {
    return if (@typeInfo(@TypeOf(data)).pointer.size == .slice) std.mem.sliceAsBytes(data) else std.mem.asBytes(data);
}

/// Dimensions as the C functions want them: where they lie, and how many.
pub fn rank(dims: []const i64) u32 {
    return @intCast(dims.len);
}

pub fn flag(value: bool) u32 {
    return @intFromBool(value);
}
