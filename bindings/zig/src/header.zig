//! Checks the externs of c.zig against caldera.h as Zig's C translator reads it: names, parameters, structs and numbers.

const std = @import("std");
const c = @import("c.zig");

const header = @cImport(@cInclude("caldera.h"));
const text = @embedFile("caldera.h");

/// The enums of c.zig, and how their constants begin in the header.
const enums = .{
    .{ c.Status, "caldera_status", "CALDERA_" },
    .{ c.LogLevel, "caldera_log_level", "CALDERA_LOG_" },
    .{ c.Type, "caldera_type", "CALDERA_" },
    .{ c.DeviceKind, "caldera_device_kind", "CALDERA_DEVICE_" },
    .{ c.PrintFormat, "caldera_print_format", "CALDERA_PRINT_" },
    .{ c.ProfileFormat, "caldera_profile_format", "CALDERA_PROFILE_" },
    .{ c.AttributeKind, "caldera_attribute_kind", "CALDERA_ATTRIBUTE_" },
};

/// Fails to compile unless `Ours` is passed and read like `Theirs`. `where` says what is compared.
fn same(comptime where: []const u8, comptime Ours: type, comptime Theirs: type) void {
    const bad = where ++ ": " ++ @typeName(Ours) ++ " is not " ++ @typeName(Theirs);
    const A = Bare(Ours);
    const B = Bare(Theirs);
    const a = @typeInfo(A);
    const b = @typeInfo(B);
    if (A == B) return;
    switch (a) {
        .@"enum" => |e| same(where, e.tag_type, B),
        .int => if (b != .int or a.int.bits != b.int.bits or a.int.signedness != b.int.signedness) @compileError(bad),
        .pointer => {
            if (b != .pointer) @compileError(bad);
            if (a.pointer.is_const != b.pointer.is_const) @compileError(bad);
            // What has no type in C may have one in Zig.
            if (b.pointer.child == anyopaque) return;
            same(where, a.pointer.child, b.pointer.child);
        },
        .array => {
            if (b != .array or a.array.len != b.array.len) @compileError(bad);
            same(where, a.array.child, b.array.child);
        },
        .@"opaque" => if (b != .@"opaque" or !sameName(A, B)) @compileError(bad),
        .@"struct" => sameStruct(where, A, B),
        .@"fn" => sameFunction(where, A, B),
        else => @compileError(bad),
    }
}

/// Without the optional of pointers: in C every pointer may be NULL.
fn Bare(comptime T: type) type {
    return switch (@typeInfo(T)) {
        .optional => |o| o.child,
        else => T,
    };
}

/// "c.DeviceOptions" and "cimport.struct_caldera_device_options".
fn sameName(comptime A: type, comptime B: type) bool {
    comptime var theirs: []const u8 = @typeName(B);
    theirs = theirs[(std.mem.lastIndexOf(u8, theirs, "caldera_") orelse return false) + "caldera_".len ..];
    comptime var ours: []const u8 = @typeName(A);
    ours = ours[(std.mem.lastIndexOfScalar(u8, ours, '.') orelse return false) + 1 ..];
    if (std.mem.eql(u8, ours, "ErrorObject")) ours = "Error";
    comptime var i = 0;
    for (theirs) |char| {
        if (char == '_') continue;
        if (i == ours.len or std.ascii.toLower(ours[i]) != char) return false;
        i += 1;
    }
    return i == ours.len;
}

fn sameStruct(comptime where: []const u8, comptime A: type, comptime B: type) void {
    const bad = where ++ ": " ++ @typeName(A) ++ " is not " ++ @typeName(B);
    if (@typeInfo(B) != .@"struct" or !sameName(A, B) or @sizeOf(A) != @sizeOf(B)) @compileError(bad);
    const ours = @typeInfo(A).@"struct".fields;
    const theirs = @typeInfo(B).@"struct".fields;
    if (ours.len != theirs.len) @compileError(bad);
    for (ours, theirs) |a, b| {
        const place = where ++ ", field " ++ b.name;
        if (!std.mem.eql(u8, a.name, b.name) or @offsetOf(A, a.name) != @offsetOf(B, b.name)) @compileError(place ++ " is another");
        same(place, a.type, b.type);
    }
}

fn sameFunction(comptime where: []const u8, comptime A: type, comptime B: type) void {
    const a = @typeInfo(A).@"fn";
    const b = @typeInfo(B).@"fn";
    if (a.params.len != b.params.len) @compileError(where ++ " has other parameters");
    if (!std.meta.eql(a.calling_convention, b.calling_convention)) @compileError(where ++ " has another calling convention");
    for (a.params, b.params, 0..) |p, q, i| same(std.fmt.comptimePrint("{s}, parameter {d}", .{ where, i }), p.type.?, q.type.?);
    same(where ++ ", result", a.return_type.?, b.return_type.?);
}

fn upper(comptime name: []const u8) []const u8 {
    var out: [name.len]u8 = undefined;
    for (&out, name) |*to, from| to.* = std.ascii.toUpper(from);
    const done = out;
    return &done;
}

test "every extern is that of the header" {
    @setEvalBranchQuota(1_000_000);
    comptime var functions = 0;
    inline for (@typeInfo(c).@"struct".decls) |decl| {
        if (comptime std.mem.startsWith(u8, decl.name, "caldera_")) {
            comptime same(decl.name, @TypeOf(@field(c, decl.name)), @TypeOf(@field(header, decl.name)));
            functions += 1;
        }
    }
    try std.testing.expect(functions > 70);
    comptime same("caldera_value", c.Value, header.caldera_value);
    comptime same("caldera_log_callback", c.LogCallback, header.caldera_log_callback);
    comptime same("caldera_progress_callback", c.ProgressCallback, header.caldera_progress_callback);
    try std.testing.expectEqual(header.CALDERA_ABI_VERSION, c.abi_version);
    try std.testing.expectEqual(header.CALDERA_NO_VALUE, @intFromEnum(c.Value.none));
}

test "every enum has the header's numbers, and all of them" {
    @setEvalBranchQuota(1_000_000);
    inline for (enums) |row| {
        const names = std.meta.fields(row[0]);
        inline for (names) |field| {
            comptime std.debug.assert(@field(header, row[2] ++ upper(field.name)) == field.value);
        }
        const start = std.mem.indexOf(u8, text, "typedef enum " ++ row[1] ++ " {").?;
        const body = text[start..std.mem.indexOfPos(u8, text, start, "} " ++ row[1] ++ ";").?];
        try std.testing.expectEqual(names.len, std.mem.count(u8, body, " = "));
    }
}

test "every function of the header outside of the builders has its extern" {
    const externs = comptime names: {
        @setEvalBranchQuota(1_000_000);
        var list: []const []const u8 = &.{};
        for (@typeInfo(c).@"struct".decls) |decl| list = list ++ .{decl.name};
        break :names list;
    };
    const end = std.mem.indexOf(u8, text, "/* ---- Builders: one operand").?;
    var lines = std.mem.splitScalar(u8, text[0..end], '\n');
    var count: usize = 0;
    while (lines.next()) |line| {
        // A declaration begins at the margin: "caldera_status caldera_run(..".
        if (line.len == 0 or !std.ascii.isAlphabetic(line[0]) or std.mem.startsWith(u8, line, "typedef")) continue;
        const open = std.mem.indexOfScalar(u8, line, '(') orelse continue;
        const begin = if (std.mem.lastIndexOfAny(u8, line[0..open], " *")) |i| i + 1 else continue;
        const name = line[begin..open];
        count += 1;
        for (externs) |known| {
            if (std.mem.eql(u8, known, name)) break;
        } else {
            std.debug.print("{s} has no extern\n", .{name});
            return error.TestUnexpectedResult;
        }
    }
    try std.testing.expect(count > 70);
}
