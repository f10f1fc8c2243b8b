const std = @import("std");
const caldera = @import("caldera.zig");
const executable = @import("executable.zig");
const c = caldera.c;
const Error = caldera.Error;
const call = caldera.call;

/// What a device is.
pub const DeviceInfo = struct {
    properties: c.DeviceProperties,

    pub fn kind(self: *const DeviceInfo) caldera.DeviceKind {
        return self.properties.kind;
    }

    /// It has all that Caldera needs.
    pub fn usable(self: *const DeviceInfo) bool {
        return self.properties.usable != 0;
    }

    pub fn name(self: *const DeviceInfo) []const u8 {
        return std.mem.sliceTo(&self.properties.name, 0);
    }

    pub fn driver(self: *const DeviceInfo) []const u8 {
        return std.mem.sliceTo(&self.properties.driver, 0);
    }

    /// Optional features it has, separated by spaces.
    pub fn features(self: *const DeviceInfo) []const u8 {
        return std.mem.sliceTo(&self.properties.features, 0);
    }
};

/// Lists the devices, best first; the CPU device is the last. The caller frees the list.
pub fn devices(allocator: std.mem.Allocator) Error![]DeviceInfo {
    try caldera.checkAbi();
    const list = try caldera.readList(c.DeviceProperties, allocator, c.caldera_device_list, .{});
    defer allocator.free(list);
    const infos = try allocator.alloc(DeviceInfo, list.len);
    for (infos, list) |*info, properties| info.properties = properties;
    return infos;
}

/// Which device to open. Without any it is the best GPU.
pub const DeviceOptions = struct {
    /// The best device of this kind.
    kind: caldera.DeviceKind = .any,
    /// Its place in `devices` ("0"), a UUID in hexadecimal, or a kind ("discrete", "integrated", "virtual", "software", "cpu").
    select: ?[:0]const u8 = null,
    /// With nothing selected, a software Vulkan driver may be taken where there is no GPU.
    allow_software: bool = false,
    /// With nothing selected, the CPU device may be taken where there is no Vulkan device.
    allow_cpu: bool = false,
    /// Vulkan validation layers; what they say goes to the log.
    validation: bool = false,
    /// A file that `saveCache` wrote. A missing file is no error.
    cache_path: ?[:0]const u8 = null,
};

/// One opened device. Any thread may use it.
pub const Device = struct {
    raw: *c.Device,

    pub fn open(options: DeviceOptions) Error!Device {
        try caldera.checkAbi();
        const given: c.DeviceOptions = .{
            .kind = options.kind,
            .select = if (options.select) |s| s.ptr else null,
            .allow_software = caldera.flag(options.allow_software),
            .allow_cpu = caldera.flag(options.allow_cpu),
            .validation = caldera.flag(options.validation),
            .cache_path = if (options.cache_path) |path| path.ptr else null,
        };
        var made: ?*c.Device = null;
        try call(c.caldera_device_open, .{ &given, &made });
        return .{ .raw = made.? };
    }

    /// Gives the device up. It itself closes when the last object made of it does.
    pub fn deinit(self: *Device) void {
        c.caldera_device_free(self.raw);
        self.* = undefined;
    }

    pub fn info(self: Device) Error!DeviceInfo {
        var out: DeviceInfo = undefined;
        try call(c.caldera_device_info, .{ self.raw, &out.properties });
        return out;
    }

    /// A line of text: name, kind, driver, memory. The caller frees it.
    pub fn describe(self: Device, allocator: std.mem.Allocator) Error![]u8 {
        return caldera.readText(allocator, c.caldera_device_describe, .{self.raw});
    }

    /// Bytes of device memory that Caldera uses, and that it has reserved from the driver.
    pub fn memory(self: Device) Error!struct { used: u64, reserved: u64 } {
        var used: u64 = 0;
        var reserved: u64 = 0;
        try call(c.caldera_device_memory, .{ self.raw, &used, &reserved });
        return .{ .used = used, .reserved = reserved };
    }

    /// Gives reserved memory that nothing uses back to the driver.
    pub fn trim(self: Device) Error!void {
        return call(c.caldera_device_trim, .{self.raw});
    }

    /// Writes the pipelines made so far to a file, for `DeviceOptions.cache_path`.
    pub fn saveCache(self: Device, path: [:0]const u8) Error!void {
        return call(c.caldera_device_save_cache, .{ self.raw, path.ptr });
    }

    /// A buffer of zeros.
    pub fn buffer(self: Device, element: caldera.Type, dims: []const i64) Error!Buffer {
        var made: ?*c.Buffer = null;
        try call(c.caldera_buffer_new, .{ self.raw, element, dims.ptr, caldera.rank(dims), &made });
        return .{ .raw = made.?, .type = element };
    }

    /// An empty set of weights.
    pub fn weights(self: Device) Error!Weights {
        var made: ?*c.Weights = null;
        try call(c.caldera_weights_new, .{ self.raw, &made });
        return .{ .raw = made.? };
    }

    /// Compiles a graph for the device. The graph may be freed after it. The allocator keeps the lists of the executable's ports.
    pub fn compile(self: Device, allocator: std.mem.Allocator, graph: caldera.Graph, options: executable.CompileOptions) Error!executable.Executable {
        return executable.compile(allocator, self, graph, options);
    }
};

/// A tensor on the device that outlives runs: a KV cache, a state, an input or output that is not copied. It can be bound to several executables at once.
pub const Buffer = struct {
    raw: *c.Buffer,
    type: caldera.Type,

    /// Gives the buffer up; its memory goes when no executable is bound to it any more.
    pub fn deinit(self: *Buffer) void {
        c.caldera_buffer_free(self.raw);
        self.* = undefined;
    }

    /// The size in bytes.
    pub fn bytes(self: Buffer) usize {
        return c.caldera_buffer_bytes(self.raw);
    }

    /// Writes elements of the buffer's type, or bytes, at a byte offset.
    pub fn write(self: Buffer, offset: usize, data: anytype) Error!void {
        const view = caldera.look(data);
        try view.of("a write to a", "buffer", self.type);
        return call(c.caldera_buffer_write, .{ self.raw, offset, view.data, view.size });
    }

    /// Reads elements of the buffer's type, or bytes, from a byte offset.
    pub fn read(self: Buffer, offset: usize, data: anytype) Error!void {
        const view = caldera.room(data);
        try view.of("a read of a", "buffer", self.type);
        return call(c.caldera_buffer_read, .{ self.raw, offset, view.data, view.size });
    }

    /// A new buffer with the same contents, copied on the device.
    pub fn clone(self: Buffer) Error!Buffer {
        var made: ?*c.Buffer = null;
        try call(c.caldera_buffer_clone, .{ self.raw, &made });
        return .{ .raw = made.?, .type = self.type };
    }
};

/// A set of named parameters in device memory, shared by every executable that is compiled against it. Any thread may use it.
pub const Weights = struct {
    raw: *c.Weights,

    /// Gives the set up; executables keep what they use.
    pub fn deinit(self: *Weights) void {
        c.caldera_weights_free(self.raw);
        self.* = undefined;
    }

    /// Sets a weight. The first use of a name, here or in a compiled graph, fixes its type and shape; floats are converted to it, other data must be of
    /// that very type.
    pub fn set(self: Weights, name: [:0]const u8, dims: []const i64, data: anytype) Error!void {
        const view = caldera.look(data);
        return call(c.caldera_weights_set, .{ self.raw, name.ptr, view.type, dims.ptr, caldera.rank(dims), view.data, view.size });
    }

    /// Sets every tensor of a safetensors file as a weight under its name. All are set, or none.
    pub fn loadSafetensors(self: Weights, path: [:0]const u8) Error!void {
        return call(c.caldera_weights_load_safetensors, .{ self.raw, path.ptr, null, null });
    }

    /// Sets every tensor of a GGUF file as a weight under its name, packed as it is in the file. All are set, or none.
    pub fn loadGguf(self: Weights, file: caldera.Gguf) Error!void {
        return call(c.caldera_weights_load_gguf, .{ self.raw, file.raw, null, null });
    }
};
