//! Tests of the error paths.

const std = @import("std");
const caldera = @import("caldera.zig");
const tests = @import("tests.zig");
const testing = std.testing;
const allocator = testing.allocator;

/// The call must fail with this error, and a message that holds this text.
fn fails(problem: caldera.Error, text: []const u8, result: anytype) !void {
    try testing.expectError(problem, result);
    if (std.mem.indexOf(u8, caldera.lastMessage(), text) != null) return;
    std.debug.print("\"{s}\" lacks \"{s}\"\n", .{ caldera.lastMessage(), text });
    return error.TestUnexpectedResult;
}

test "wrong runs" {
    var run = try tests.compiledModel(.{});
    defer run.deinit();
    const x = &tests.data_x;
    var y = [1]f32{9} ** 4;
    var other: [2]f64 = undefined;
    try fails(error.InvalidArgument, "\"x\"", run.run(.{}, .{ .y = &y }));
    try fails(error.InvalidArgument, "\"z\"", run.run(.{ .x = x, .z = x }, .{ .y = &y }));
    try fails(error.InvalidArgument, "got 20 bytes", run.run(.{ .x = x[0..5] }, .{ .y = &y }));
    try fails(error.InvalidArgument, "got elements of type i32, its elements are f32", run.run(.{ .x = &[_]i32{0} ** 6 }, .{ .y = &y }));
    try fails(error.InvalidArgument, "\"nothing\"", run.run(.{ .x = x }, .{ .nothing = &y }));
    try fails(error.InvalidArgument, "16", run.run(.{ .x = x }, .{ .y = y[0..3] }));
    try fails(error.InvalidArgument, "f64", run.run(.{ .x = x }, .{ .y = &other }));
    // A refused run leaves nothing behind.
    try fails(error.InvalidArgument, "\"x\"", run.submit(.{}));
    try run.setInput("x", x);
    try fails(error.InvalidArgument, "twice", run.submit(.{ .x = x }));
    try run.clearRun();
    try fails(error.InvalidArgument, "\"x\"", run.submit(.{}));
    try fails(error.InvalidArgument, "\"z\"", run.setInput("z", x));
    try fails(error.InvalidArgument, "\"z\"", run.wantOutput("z"));
    try testing.expectEqual([1]f32{9} ** 4, y);
    try run.run(.{ .x = x }, .{ .y = &y });
    try testing.expectEqual(tests.want_y, y);
    try fails(error.InvalidArgument, "\"z\"", run.readOutput("z", &y));
    try fails(error.InvalidArgument, "16", run.readOutput("y", y[0..1]));
    try fails(error.InvalidArgument, "no row 2", run.readOutputRow("y", 2, y[0..2]));
}

test "wrong params" {
    var device = try tests.open();
    defer device.deinit();
    var graph = try tests.model();
    defer graph.deinit();
    var run = try device.compile(allocator, graph, .{});
    defer run.deinit();
    const w = &tests.data_w;
    try fails(error.InvalidArgument, "", run.run(.{ .x = &tests.data_x }, .{})); // the weights are not set
    try fails(error.InvalidArgument, "", run.warmUp());
    try fails(error.InvalidArgument, "\"nothing\"", run.setParam("nothing", w));
    try fails(error.InvalidArgument, "\"nothing\"", run.setParam("nothing", &[_]u8{0}));
    try fails(error.InvalidArgument, "got 20 bytes", run.setParam("w", w[0..5]));
    try fails(error.InvalidArgument, "\"w\"", run.setParam("w", &[_]i32{1}));
    try fails(error.InvalidArgument, "99", run.setParam("w", caldera.raw(@enumFromInt(99), @as([]const u8, &.{}))));
    var weights = try device.weights();
    defer weights.deinit();
    try weights.set("w", &.{ 3, 2 }, w);
    try fails(error.InvalidArgument, "\"w\"", weights.set("w", &.{ 2, 3 }, w));
    try fails(error.InvalidArgument, "\"w\"", weights.set("w", &.{ 3, 2 }, w[0..5]));
    try fails(error.InvalidArgument, "-1", weights.set("v", &.{-1}, w));
    try fails(error.File, "nothing.safetensors", weights.loadSafetensors("nothing.safetensors"));
}

test "wrong handles" {
    var device = try tests.open();
    defer device.deinit();
    var run = try tests.counter(device);
    defer run.deinit();
    var buffer = try device.buffer(.f32, &.{ 4, 3 });
    defer buffer.deinit();
    const ones = &tests.ones;
    var got: [8]f32 = undefined;
    var integer: i32 = 0;
    try fails(error.InvalidArgument, "state", run.bind("state", buffer));
    try fails(error.InvalidArgument, "\"no\"", run.bind("no", buffer));
    try fails(error.InvalidArgument, "\"no\"", run.bindOutput("no", buffer));
    try fails(error.InvalidArgument, "32", run.bindData("state", ones[0..3]));
    try fails(error.InvalidArgument, "i32", run.bindData("state", &integer));
    try fails(error.InvalidArgument, "has no handle", run.readHandle("state", 0, &got));
    try fails(error.InvalidArgument, "", run.unbind("state"));
    try fails(error.InvalidArgument, "", run.feed("state", "next"));
    try run.bindData("state", ones);
    try fails(error.InvalidArgument, "\"no\"", run.feed("state", "no"));
    try fails(error.InvalidArgument, "\"no\"", run.registerRowFeed("no", "next"));
    try fails(error.InvalidArgument, "\"state\"", run.run(.{ .x = ones, .state = ones }, .{}));
    try run.registerRowFeed("state", "next");
    try fails(error.InvalidArgument, "", run.feedRow(0, 0, 2)); // before the first run
    try run.run(.{ .x = ones }, .{});
    try fails(error.InvalidArgument, "4", run.feedRow(4, 0, 2));
    try fails(error.InvalidArgument, "6", run.setActiveExtent(6, 4));
    try fails(error.InvalidArgument, "", buffer.write(44, ones));
    try fails(error.InvalidArgument, "i32", buffer.read(0, &integer));
    try fails(error.InvalidArgument, "", device.buffer(.q4_k, &.{ 4, 256 }));
    try fails(error.InvalidArgument, "-4", device.buffer(.f32, &.{-4}));
}

test "wrong graphs" {
    var device = try tests.open();
    defer device.deinit();
    var graph = try caldera.Graph.init();
    defer graph.deinit();
    const x = try graph.input("x", .f32, &.{ 2, 3 });
    try fails(error.InvalidGraph, "\"x\"", graph.input("x", .f32, &.{2}));
    try fails(error.InvalidArgument, "UTF-8", graph.input("\xff", .f32, &.{2}));
    try fails(error.InvalidArgument, "1 dimensions and 2 names", graph.symbolicInput("s", .f32, &.{-1}, &.{ "n", "m" }));
    try fails(error.Unsupported, "NoSuchThing", graph.op("NoSuchThing", &.{x}, .{}));
    try fails(error.InvalidGraph, "\"axis\" is missing", graph.op("Softmax", &.{x}, .{}));
    try fails(error.InvalidGraph, "axis 2", graph.op("Softmax", &.{x}, .{ .axis = 2 }));
    try fails(error.InvalidArgument, "has 2 results, not 1", graph.op("Split", &.{x}, .{ .axis = 1, .sizes = &[_]i64{ 1, 2 } }));
    try fails(error.InvalidArgument, "77", graph.op("Add", &.{ x, @enumFromInt(77) }, .{}));
    try fails(error.InvalidArgument, "", graph.constant(&.{2}, &[_]f32{1}));
    try fails(error.InvalidArgument, "\"n\"", graph.bindDim("n", 2));
    try fails(error.InvalidGraph, "output", device.compile(allocator, graph, .{}));
    try graph.output("y", x);
    try fails(error.OutOfMemory, "the limit is 1", device.compile(allocator, graph, .{ .memory_limit = 1 }));
}

test "wrong files" {
    var folder = testing.tmpDir(.{});
    defer folder.cleanup();
    try folder.dir.writeFile(.{ .sub_path = "broken", .data = "nonsense" });
    const broken = try tests.pathIn(folder, "broken");
    defer allocator.free(broken);
    try fails(error.File, "nothing.onnx", caldera.Graph.loadOnnx("nothing.onnx"));
    try fails(error.File, "", caldera.Graph.loadOnnx(broken));
    try testing.expect(std.meta.isError(caldera.Graph.parseOnnx("")));
    try fails(error.File, "nothing.gguf", caldera.Gguf.open("nothing.gguf"));
    try fails(error.File, "", caldera.Gguf.open(broken));
    var file = try caldera.Gguf.open(tests.model_path);
    defer file.deinit();
    try fails(error.InvalidArgument, "nothing", file.metadata(allocator, "nothing"));
    try fails(error.InvalidArgument, "general.architecture", file.number("general.architecture"));
    try fails(error.InvalidArgument, "nothing", file.tensor("nothing"));
    try fails(error.InvalidArgument, "", file.graph(.{ .cache_type = .i32 }));
}

test "wrong devices" {
    try fails(error.NoDevice, "99", caldera.Device.open(.{ .select = "99" }));
    try fails(error.InvalidArgument, "nonsense", caldera.Device.open(.{ .select = "nonsense" }));
    try fails(error.InvalidArgument, "", caldera.Device.open(.{ .select = "cpu", .kind = .cpu }));
    try fails(error.InvalidArgument, "99", caldera.Device.open(.{ .kind = @enumFromInt(99) }));
    try fails(error.Unsupported, "", caldera.call(caldera.c.caldera_check_abi, .{@as(u32, 1)}));
}

test "an index out of range" {
    var device = try tests.open();
    defer device.deinit();
    var graph = try caldera.Graph.init();
    defer graph.deinit();
    const data = try graph.constant(&.{3}, &[_]f32{ 1, 2, 3 });
    try graph.output("y", try graph.op("Gather", &.{ data, try graph.input("index", .i32, &.{1}) }, .{ .axis = 0 }));
    var run = try device.compile(allocator, graph, .{});
    defer run.deinit();
    var y: f32 = 9;
    try fails(error.IndexOutOfRange, "5", run.run(.{ .index = &@as(i32, 5) }, .{ .y = &y }));
    try testing.expectEqual(9, y);
    try run.run(.{ .index = &@as(i32, 2) }, .{ .y = &y });
    try testing.expectEqual(3, y);
}

test "busy during a run" {
    var run = try tests.compiledModel(.{});
    defer run.deinit();
    var y: [4]f32 = undefined;
    try run.submit(.{ .x = &tests.data_x });
    try fails(error.Busy, "in flight", run.setParam("b", &tests.data_b));
    try fails(error.Busy, "in flight", run.run(.{ .x = &tests.data_x }, .{}));
    try fails(error.Busy, "in flight", run.readOutput("y", &y));
    try run.wait(null);
    try run.readOutput("y", &y);
    try testing.expectEqual(tests.want_y, y);
}

test "no memory on the host" {
    var device = try tests.open();
    defer device.deinit();
    var graph = try tests.model();
    defer graph.deinit();
    // Whichever allocation fails: an error, and nothing leaks.
    for (0..8) |n| {
        var failing = testing.FailingAllocator.init(allocator, .{ .fail_index = n });
        var run = device.compile(failing.allocator(), graph, .{}) catch |problem| {
            try testing.expectEqual(error.OutOfMemory, problem);
            continue;
        };
        run.deinit();
    }
}

test "a long message is cut" {
    var name = [_:0]u8{'n'} ** 4000;
    try testing.expectError(error.File, caldera.Gguf.open(&name));
    try testing.expectEqual(2048, caldera.lastMessage().len);
}
