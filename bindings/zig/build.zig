const std = @import("std");

/// The module `caldera`, the example `chat`, and `zig build test`. Caldera itself is found by pkg-config.
pub fn build(b: *std.Build) void {
    const target = b.standardTargetOptions(.{});
    const optimize = b.standardOptimizeOption(.{});

    const caldera = b.addModule("caldera", .{
        .root_source_file = b.path("src/caldera.zig"),
        .target = target,
        .optimize = optimize,
        .link_libc = true,
    });
    caldera.linkSystemLibrary("caldera", .{ .use_pkg_config = .force });

    const chat = b.createModule(.{
        .root_source_file = b.path("examples/chat.zig"),
        .target = target,
        .optimize = optimize,
        .imports = &.{.{ .name = "caldera", .module = caldera }},
    });
    b.installArtifact(b.addExecutable(.{ .name = "chat", .root_module = chat }));
    const product = b.createModule(.{
        .root_source_file = b.path("examples/product.zig"),
        .target = target,
        .optimize = optimize,
        .imports = &.{.{ .name = "caldera", .module = caldera }},
    });
    b.installArtifact(b.addExecutable(.{ .name = "product", .root_module = product }));

    const tests = b.createModule(.{
        .root_source_file = b.path("src/tests.zig"),
        .target = target,
        .optimize = optimize,
        .link_libc = true,
    });
    tests.linkSystemLibrary("caldera", .{ .use_pkg_config = .force });
    tests.addAnonymousImport("caldera.h", .{ .root_source_file = b.path("../../include/caldera.h") });
    tests.addAnonymousImport("README.md", .{ .root_source_file = b.path("README.md") });
    tests.addAnonymousImport("product.zig", .{ .root_source_file = b.path("examples/product.zig") });

    const step = b.step("test", "Run the tests, on the device that CALDERA_TEST_DEVICE names");
    for ([_]*std.Build.Module{ tests, chat, product }) |module| {
        const run = b.addRunArtifact(b.addTest(.{ .root_module = module }));
        run.has_side_effects = true; // it depends on the device
        run.setCwd(b.path("."));
        step.dependOn(&run.step);
    }
}
