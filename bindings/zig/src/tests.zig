//! Tests of the module, on the device that CALDERA_TEST_DEVICE names: "software" or "cpu".

const std = @import("std");
const caldera = @import("caldera.zig");
const testing = std.testing;
const allocator = testing.allocator;

comptime {
    _ = @import("header.zig");
    _ = @import("errors.zig");
}

pub const model_path = "../../examples/tiny-english/model.gguf";

pub fn deviceName() [:0]const u8 {
    return std.posix.getenv("CALDERA_TEST_DEVICE") orelse "software";
}

pub fn onCpu() bool {
    return std.mem.eql(u8, deviceName(), "cpu");
}

/// With validation layers, which must stay silent.
pub fn open() !caldera.Device {
    caldera.setLog(onLog);
    return caldera.Device.open(.{ .select = deviceName(), .validation = !onCpu() });
}

fn onLog(_: caldera.LogLevel, text: [:0]const u8) void {
    for ([_][]const u8{ "VUID-", "SYNC-HAZARD", "UNASSIGNED-", "Validation Error", "Validation Warning" }) |mark| {
        if (std.mem.indexOf(u8, text, mark) != null) std.debug.panic("{s}", .{text});
    }
}

/// y = x w + b and s = the sum of y; x [2,3].
pub fn model() !caldera.Graph {
    const graph = try caldera.Graph.init();
    const x = try graph.input("x", .f32, &.{ 2, 3 });
    const w = try graph.param("w", .f32, &.{ 3, 2 });
    const b = try graph.param("b", .f32, &.{2});
    const product = try graph.op("MatMul", &.{ x, w }, .{});
    try graph.setName(product, "product");
    const y = try graph.op("Add", &.{ product, b }, .{});
    try graph.output("y", y);
    try graph.output("s", try graph.op("Reduce", &.{y}, .{ .kind = .Sum, .axes = &[_]i64{}, .keep_dims = false }));
    return graph;
}

pub const data_w = [6]f32{ 1, 2, 3, 4, 5, 6 };
pub const data_b = [2]f32{ 10, 20 };
pub const data_x = [6]f32{ 1, 0, 0, 1, 1, 1 };
pub const want_y = [4]f32{ 11, 22, 19, 32 };

pub fn compiledModel(options: caldera.CompileOptions) !caldera.Executable {
    var device = try open();
    defer device.deinit(); // what is made of it keeps it
    var graph = try model();
    defer graph.deinit();
    var run = try device.compile(allocator, graph, options);
    errdefer run.deinit();
    try run.setParam("w", &data_w);
    try run.setParam("b", &data_b);
    return run;
}

/// next = state + x and twice = 2 next; rows [4,2].
pub fn counter(device: caldera.Device) !caldera.Executable {
    var graph = try caldera.Graph.init();
    defer graph.deinit();
    const state = try graph.input("state", .f32, &.{ 4, 2 });
    const next = try graph.op("Add", &.{ state, try graph.input("x", .f32, &.{ 4, 2 }) }, .{});
    try graph.output("next", next);
    try graph.output("twice", try graph.op("Add", &.{ next, next }, .{}));
    return device.compile(allocator, graph, .{});
}

pub const ones = [1]f32{1} ** 8;

test "the README has the program of the example" {
    const program = @embedFile("product.zig");
    const main = program[std.mem.indexOf(u8, program, "const std").?..std.mem.indexOf(u8, program, "\ntest ").?];
    try testing.expect(std.mem.indexOf(u8, @embedFile("README.md"), main) != null);
}

test "devices" {
    const list = try caldera.devices(allocator);
    defer allocator.free(list);
    const last = &list[list.len - 1];
    try testing.expect(last.kind() == .cpu and last.usable() and last.name().len > 0 and last.driver().len > 0);
    var device = try open();
    defer device.deinit();
    const info = try device.info();
    try testing.expectEqual(onCpu(), info.kind() == .cpu);
    const line = try device.describe(allocator);
    defer allocator.free(line);
    try testing.expect(std.mem.indexOf(u8, line, info.name()) != null);
    _ = try device.memory();
    try device.trim();
    var folder = testing.tmpDir(.{});
    defer folder.cleanup();
    const path = try pathIn(folder, "cache");
    defer allocator.free(path);
    try device.saveCache(path);
    var again = try caldera.Device.open(.{ .kind = info.kind(), .cache_path = path });
    again.deinit();
    try testing.expect(caldera.version().len > 0);
}

pub fn pathIn(folder: testing.TmpDir, name: []const u8) ![:0]u8 {
    const path = try folder.dir.realpathAlloc(allocator, ".");
    defer allocator.free(path);
    return std.fs.path.joinZ(allocator, &.{ path, name });
}

var logged: usize = 0;

fn countErrors(level: caldera.LogLevel, text: [:0]const u8) void {
    if (level == .@"error" and std.mem.indexOf(u8, text, "nothing.gguf") != null) logged += 1;
}

test "log" {
    caldera.setLog(countErrors);
    try testing.expectError(error.File, caldera.Gguf.open("nothing.gguf"));
    try testing.expectEqual(1, logged);
    caldera.setLog(null);
    try testing.expectError(error.File, caldera.Gguf.open("nothing.gguf"));
    try testing.expectEqual(1, logged);
}

test "run" {
    var run = try compiledModel(.{});
    defer run.deinit();
    try run.warmUp();
    var y: [4]f32 = undefined;
    var s: f32 = undefined;
    try run.run(.{ .x = &data_x }, .{ .y = &y, .s = &s });
    try testing.expectEqual(want_y, y);
    try testing.expectEqual(84, s);
    var bytes: [16]u8 = undefined;
    try run.run(.{ .x = @as([]const f32, &data_x) }, .{ .y = @as([]u8, &bytes) });
    try testing.expectEqual([4]u8{ 0, 0, 0x30, 0x41 }, bytes[0..4].*); // 11
    try run.run(.{ .x = &[_]u8{0} ** 24 }, .{});
    try run.readOutput("y", &y);
    try testing.expectEqual([4]f32{ 10, 20, 10, 20 }, y);
    var row: [2]f32 = undefined;
    try run.readOutputRow("y", 1, &row);
    try testing.expectEqual([2]f32{ 10, 20 }, row);
    try testing.expectEqualSlices(i64, &.{ 2, 3 }, run.inputs[0].dims());
    try testing.expectEqualStrings("s", run.outputs[1].name);
    try testing.expectEqual(24, run.params[0].bytes);
}

test "submit and wait" {
    var run = try compiledModel(.{});
    defer run.deinit();
    try run.wait(0); // nothing is in flight
    try run.submit(.{ .x = &data_x });
    while (true) {
        run.wait(1) catch |problem| {
            try testing.expectEqual(error.Timeout, problem);
            continue;
        };
        break;
    }
    try testing.expect(try run.done());
    var y: [4]f32 = undefined;
    try run.readOutput("y", &y);
    try testing.expectEqual(want_y, y);
    // By names that are known at run time only.
    try run.setInput("x", &[_]f32{0} ** 6);
    try run.setInput("x", &data_x);
    try run.wantOutput("y");
    try run.submit(.{});
    try run.wait(null);
    try run.readOutput("y", &y);
    try testing.expectEqual(want_y, y);
}

test "weights" {
    var device = try open();
    defer device.deinit();
    var graph = try model();
    defer graph.deinit();
    var weights = try device.weights();
    var one = try device.compile(allocator, graph, .{ .weights = weights });
    defer one.deinit();
    var two = try device.compile(allocator, graph, .{ .weights = weights });
    defer two.deinit();
    try weights.set("w", &.{ 3, 2 }, &[_]f64{ 1, 2, 3, 4, 5, 6 }); // converted
    try weights.set("b", &.{2}, caldera.raw(.bf16, @as([]const u8, &.{ 0x20, 0x41, 0xa0, 0x41 })));
    weights.deinit(); // the executables keep it
    for ([_]caldera.Executable{ one, two }) |run| {
        var y: [4]f32 = undefined;
        try run.run(.{ .x = &data_x }, .{ .y = &y });
        try testing.expectEqual(want_y, y);
    }
}

test "params of several types" {
    var run = try compiledModel(.{});
    defer run.deinit();
    inline for (.{ &[_]f32{ 0, 0 }, &[_]f64{ 0, 0 }, &[_]f16{ 0, 0 }, &[_]u8{0} ** 8 }) |zeros| {
        try run.setParam("b", &data_b);
        try run.setParam("b", zeros);
        var y: [4]f32 = undefined;
        try run.run(.{ .x = &data_x }, .{ .y = &y });
        try testing.expectEqual([4]f32{ 1, 2, 9, 12 }, y);
    }
}

test "handles" {
    var device = try open();
    defer device.deinit();
    var one = try counter(device);
    defer one.deinit();
    var two = try counter(device);
    defer two.deinit();
    var buffer = try device.buffer(.f32, &.{ 4, 2 });
    try testing.expectEqual(32, buffer.bytes());
    try one.bind("state", buffer);
    try two.bind("state", buffer);
    try one.bindOutput("next", buffer);
    for ([_]caldera.Executable{ one, one, two }) |run| try run.run(.{ .x = &ones }, .{});
    var got: [8]f32 = undefined;
    try buffer.read(0, &got);
    try testing.expectEqual(2, got[7]);
    try two.readOutput("next", &got);
    try testing.expectEqual(3, got[7]);
    try buffer.write(4, &[_]f32{7});
    var copy = try buffer.clone();
    defer copy.deinit();
    try buffer.write(4, &[_]f32{8});
    try copy.read(0, &got);
    try testing.expectEqual([3]f32{ 2, 7, 2 }, got[0..3].*);
    try one.bindOutput("next", null);
    buffer.deinit(); // the executables keep it
    var second: f32 = undefined;
    try one.readHandle("state", 4, &second);
    try testing.expectEqual(8, second);
    try testing.expect(try one.isBound("state"));
    try one.unbind("state");
    try testing.expect(!try one.isBound("state"));
    try one.run(.{ .x = &ones, .state = &ones }, .{ .twice = &got });
    try testing.expectEqual(4, got[0]);
}

test "feeds and twins" {
    var device = try open();
    defer device.deinit();
    var run = try counter(device);
    defer run.deinit();
    try run.bindData("state", &ones);
    try run.feed("state", "next");
    for (0..5) |_| try run.run(.{ .x = &ones }, .{});
    var got: [8]f32 = undefined;
    try run.readHandle("state", 0, &got);
    try testing.expectEqual(6, got[7]);
    var twin = try run.clone();
    defer twin.deinit();
    try twin.run(.{ .x = &ones }, .{});
    try twin.readHandle("state", 0, &got);
    try testing.expectEqual(7, got[7]);
    try run.feed("state", null); // the feed ends
    try run.run(.{ .x = &ones }, .{});
    try run.readHandle("state", 0, &got);
    try testing.expectEqual(6, got[7]);
}

test "row feed" {
    var device = try open();
    defer device.deinit();
    var run = try counter(device);
    defer run.deinit();
    try run.bindData("state", &[_]f32{0} ** 8);
    try run.registerRowFeed("state", "twice");
    try run.run(.{ .x = &[_]f32{ 1, 2, 3, 4, 5, 6, 7, 8 } }, .{});
    try run.feedRow(1, 3, 2);
    var got: [8]f32 = undefined;
    try run.readHandle("state", 0, &got);
    try testing.expectEqual([8]f32{ 0, 0, 0, 0, 0, 0, 6, 8 }, got);
}

test "active extent" {
    var device = try open();
    defer device.deinit();
    var run = try counter(device);
    defer run.deinit();
    try run.bindData("state", &[_]f32{0} ** 8);
    try run.feed("state", "next");
    try run.setActiveExtent(2, 3); // 2 rows of 2 elements
    try run.run(.{ .x = &ones }, .{});
    var got: [8]f32 = undefined;
    try run.readHandle("state", 0, &got);
    try testing.expectEqual([8]f32{ 1, 1, 1, 1, 0, 0, 0, 0 }, got);
}

test "random numbers" {
    var device = try open();
    defer device.deinit();
    var graph = try caldera.Graph.init();
    defer graph.deinit();
    try graph.output("r", try graph.op("RngUniform", &.{}, .{ .type = .f32, .dims = &[_]i64{5}, .low = 0.0, .high = 1.0 }));
    var run = try device.compile(allocator, graph, .{ .seed = 3 });
    defer run.deinit();
    var numbers: [3][5]f32 = undefined;
    try run.run(.{}, .{ .r = &numbers[0] });
    try run.run(.{}, .{ .r = &numbers[1] });
    try run.setRng(3, 0);
    try run.run(.{}, .{ .r = &numbers[2] });
    try testing.expectEqual(numbers[0], numbers[2]);
    try testing.expect(!std.meta.eql(numbers[0], numbers[1]));
}

test "graphs and ONNX files" {
    var device = try open();
    defer device.deinit();
    var graph = try caldera.Graph.init();
    defer graph.deinit();
    const x = try graph.symbolicInput("x", .f32, &.{ -1, 3 }, &.{ "n", null });
    try graph.bindDim("n", 2);
    const parts = try graph.ops(2, "Split", &.{x}, .{ .axis = 1, .sizes = &[_]i64{ 1, 2 } });
    const half = try graph.op("Cast", &.{parts[1]}, .{ .to = .f16 });
    const is = try graph.valueType(half);
    try testing.expectEqual(.f16, is.type);
    try testing.expectEqualSlices(i64, &.{ 2, 2 }, is.dims());
    const five = try graph.constant(&.{1}, &[_]f32{5});
    try graph.output("y", try graph.op("Mul", &.{ parts[0], five }, .{}));
    try graph.output("z", half);
    const text = try graph.print(allocator, .text);
    defer allocator.free(text);
    const dot = try graph.print(allocator, .dot);
    defer allocator.free(dot);
    try testing.expect(std.mem.indexOf(u8, text, "Split") != null and std.mem.indexOf(u8, dot, "digraph") != null);
    var run = try device.compile(allocator, graph, .{});
    defer run.deinit();
    var y: [2]f32 = undefined;
    var z: [4]f16 = undefined;
    try run.run(.{ .x = &data_x }, .{ .y = &y, .z = &z });
    try testing.expectEqual([2]f32{ 5, 5 }, y);
    try testing.expectEqual([4]f16{ 0, 0, 1, 1 }, z);

    var folder = testing.tmpDir(.{});
    defer folder.cleanup();
    const path = try pathIn(folder, "graph.onnx");
    defer allocator.free(path);
    try graph.saveOnnx(path, null);
    const bytes = try std.fs.cwd().readFileAlloc(allocator, path, 1 << 20);
    defer allocator.free(bytes);
    for (0..2) |way| {
        var loaded = try if (way == 0) caldera.Graph.loadOnnx(path) else caldera.Graph.parseOnnx(bytes);
        defer loaded.deinit();
        var again = try device.compile(allocator, loaded, .{});
        defer again.deinit();
        try again.run(.{ .x = ones[0..6] }, .{ .y = &y });
        try testing.expectEqual([2]f32{ 5, 5 }, y);
    }
}

test "every kind of attribute reaches the library" {
    var device = try open();
    defer device.deinit();
    var graph = try caldera.Graph.init();
    defer graph.deinit();
    const x = try graph.input("x", .f32, &.{ 2, 3 });
    try graph.output("leaky", try graph.op("LeakyRelu", &.{x}, .{ .alpha = 0.5 }));
    try graph.output("resize", try graph.op("Resize", &.{x}, .{ .scales = &[_]f64{ 1, 2 }, .mode = "Nearest" }));
    const numbers = [_]i64{ 2, 6, 3 };
    try graph.output("range", try graph.op("Range", &.{}, .{
        .start = caldera.Tensor.of(&.{}, &numbers[0]),
        .limit = caldera.Tensor.of(&.{}, &numbers[1]),
        .delta = caldera.Tensor.of(&.{}, &numbers[2]),
    }));
    var run = try device.compile(allocator, graph, .{});
    defer run.deinit();
    var leaky: [6]f32 = undefined;
    var resize: [12]f32 = undefined;
    var range: [2]i64 = undefined;
    try run.run(.{ .x = &[_]f32{ -2, 0, 2, 4, 6, 8 } }, .{ .leaky = &leaky, .resize = &resize, .range = &range });
    try testing.expectEqual(-1, leaky[0]);
    try testing.expectEqual([4]f32{ -2, -2, 0, 0 }, resize[0..4].*);
    try testing.expectEqual([2]i64{ 2, 5 }, range);
}

/// op of two inputs [2].
fn branch(operator: [:0]const u8) !caldera.Graph {
    var graph = try caldera.Graph.init();
    errdefer graph.deinit();
    const a = try graph.input("a", .f32, &.{2});
    try graph.output("y", try graph.op(operator, &.{ a, try graph.input("b", .f32, &.{2}) }, .{}));
    return graph;
}

test "control flow" {
    var device = try open();
    defer device.deinit();
    var graph = try caldera.Graph.init();
    defer graph.deinit();
    const pred = try graph.input("pred", .bool, &.{});
    const x = try graph.input("x", .f32, &.{2});
    var add = try branch("Add");
    var mul = try branch("Mul");
    try graph.output("y", try graph.op("If", &.{ pred, x, x }, .{ .then = add, .@"else" = mul }));
    try testing.expectError(error.InvalidGraph, graph.op("If", &.{ pred, x, x }, .{ .then = add, .@"else" = graph })); // other inputs
    add.deinit(); // the branches were copied
    mul.deinit();
    var run = try device.compile(allocator, graph, .{});
    defer run.deinit();
    var y: [2]f32 = undefined;
    try run.run(.{ .pred = &true, .x = &[_]f32{ 3, 4 } }, .{ .y = &y });
    try testing.expectEqual([2]f32{ 6, 8 }, y);
    try run.run(.{ .pred = &false, .x = &[_]f32{ 3, 4 } }, .{ .y = &y });
    try testing.expectEqual([2]f32{ 9, 16 }, y);
}

test "statistics and profiles" {
    var run = try compiledModel(.{ .profiling = true });
    defer run.deinit();
    try run.run(.{ .x = &data_x }, .{});
    const stats = try run.stats();
    try testing.expect(stats.operators > 0 and stats.submits == 1 and stats.weight_bytes >= 32);
    try testing.expectEqual(onCpu(), stats.host_operators > 0);
    if (onCpu()) return testing.expectError(error.Unsupported, run.profile(allocator, .text));
    for ([_]caldera.c.ProfileFormat{ .text, .chrome }) |format| {
        const profile = try run.profile(allocator, format);
        defer allocator.free(profile);
        try testing.expect(std.mem.indexOf(u8, profile, "product") != null);
    }
}

test "GGUF files" {
    var file = try caldera.Gguf.open(model_path);
    defer file.deinit();
    const architecture = try file.metadata(allocator, "general.architecture");
    defer allocator.free(architecture);
    try testing.expectEqualStrings("llama", architecture);
    try testing.expectEqual(256, try file.number("llama.embedding_length"));
    const tensor = try file.tensor("token_embd.weight");
    try testing.expectEqual(.q8_0, tensor.type);
    try testing.expectEqualSlices(i64, &.{ 256, 256 }, tensor.dims[0..tensor.rank]);
    const tensors = try file.tensors(allocator);
    defer allocator.free(tensors);
    try testing.expect(tensors.len > 10);
}

fn fromThread(run: caldera.Executable, scale: f32, good: *std.atomic.Value(u32)) void {
    for (0..20) |_| {
        var y: [4]f32 = undefined;
        run.run(.{ .x = &[_]f32{ scale, 0, 0, 0, 0, 0 } }, .{ .y = &y }) catch continue;
        if (y[0] == 10 + scale and y[1] == 20 + 2 * scale) _ = good.fetchAdd(1, .monotonic);
    }
}

test "twins run at the same time" {
    var run = try compiledModel(.{});
    defer run.deinit();
    var twins: [4]caldera.Executable = undefined;
    var threads: [twins.len]std.Thread = undefined;
    var good = std.atomic.Value(u32).init(0);
    for (&twins) |*twin| twin.* = try run.clone();
    for (&threads, twins, 0..) |*thread, twin, i| {
        thread.* = try std.Thread.spawn(.{}, fromThread, .{ twin, @as(f32, @floatFromInt(i)), &good });
    }
    for (threads, &twins) |thread, *twin| {
        thread.join();
        twin.deinit();
    }
    try testing.expectEqual(20 * twins.len, good.load(.monotonic));
}
