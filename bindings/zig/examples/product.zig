//! The product of a matrix and a vector.
const std = @import("std");
const caldera = @import("caldera");

fn product(allocator: std.mem.Allocator, w: *const [4]f32, x: *const [2]f32) ![2]f32 {
    var device = try caldera.Device.open(.{ .allow_software = true, .allow_cpu = true });
    defer device.deinit();
    var graph = try caldera.Graph.init();
    defer graph.deinit();
    const a = try graph.param("w", .f32, &.{ 2, 2 });
    const b = try graph.input("x", .f32, &.{2});
    // Any operator of the contract, with its attributes.
    try graph.output("y", try graph.op("MatMul", &.{ a, b }, .{ .transpose_a = false }));
    var run = try device.compile(allocator, graph, .{});
    defer run.deinit();
    try run.setParam("w", w);
    var y: [2]f32 = undefined;
    try run.run(.{ .x = x }, .{ .y = &y });
    return y;
}

pub fn main() !void {
    const y = product(std.heap.page_allocator, &.{ 1, 2, 3, 4 }, &.{ 5, 6 }) catch |problem| {
        std.debug.print("{s}: {s}\n", .{ @errorName(problem), caldera.lastMessage() });
        return problem;
    };
    std.debug.print("{d} {d}\n", .{ y[0], y[1] }); // 17 39
}

test product {
    try std.testing.expectEqual([2]f32{ 17, 39 }, try product(std.testing.allocator, &.{ 1, 2, 3, 4 }, &.{ 5, 6 }));
}
