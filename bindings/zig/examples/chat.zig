//! A small inference engine on the module caldera: continues a text with a language model from a GGUF file, token by token.
//!
//! Usage: chat MODEL.gguf PROMPT [--device NAME] [--tokens N] [--temperature T] [--top-p P] [--seed S] [--context N]
//!
//! Two executables share one set of weights and one set of key/value caches: one takes the prompt in chunks, the other single tokens.
//! The models this program can talk to have a vocabulary of the 256 bytes (tokenizer.ggml.model = "byte").
const std = @import("std");
const caldera = @import("caldera");

const Settings = struct {
    model: [:0]const u8 = "",
    prompt: [:0]const u8 = "",
    device: ?[:0]const u8 = null,
    tokens: u32 = 256,
    context: u32 = 512,
    temperature: f32 = 0.8,
    @"top-p": f32 = 0.95,
    seed: u64 = 1,
};

pub fn main() !u8 {
    var arena = std.heap.ArenaAllocator.init(std.heap.page_allocator);
    defer arena.deinit();
    const settings = parse(try std.process.argsAlloc(arena.allocator())) catch {
        std.debug.print("usage: chat MODEL.gguf PROMPT [--device NAME] [--tokens N] [--temperature T] [--top-p P] [--seed S] [--context N]\n", .{});
        return 2;
    };
    chat(arena.allocator(), settings, std.io.getStdOut().writer()) catch |problem| {
        std.debug.print("chat: {s}: {s}\n", .{ @errorName(problem), caldera.lastMessage() });
        return 1;
    };
    return 0;
}

fn parse(arguments: []const [:0]u8) !Settings {
    var settings: Settings = .{};
    var plain: usize = 0;
    var i: usize = 1;
    while (i < arguments.len) : (i += 1) {
        const name = arguments[i];
        if (!std.mem.startsWith(u8, name, "--")) {
            if (plain == 0) settings.model = name else settings.prompt = name;
            plain += 1;
            continue;
        }
        i += 1;
        if (i == arguments.len) return error.Usage;
        const value = arguments[i];
        if (std.mem.eql(u8, name, "--device")) {
            settings.device = value;
            continue;
        }
        inline for (.{ "tokens", "context", "temperature", "top-p", "seed" }) |known| {
            if (std.mem.eql(u8, name[2..], known)) {
                const field = &@field(settings, known);
                field.* = if (@TypeOf(field.*) == f32) try std.fmt.parseFloat(f32, value) else try std.fmt.parseInt(@TypeOf(field.*), value, 10);
                break;
            }
        } else return error.Usage;
    }
    return if (plain == 2 and settings.prompt.len > 0) settings else error.Usage;
}

/// The language model, compiled for chunks of the prompt and for single tokens.
const Model = struct {
    const chunk = 32;

    device: caldera.Device,
    prompt: caldera.Executable,
    decode: caldera.Executable,
    context: u32,
    logits: [256]f32 = undefined,

    fn init(allocator: std.mem.Allocator, settings: Settings) !Model {
        var device = try caldera.Device.open(.{ .select = settings.device, .allow_software = true, .allow_cpu = true });
        errdefer device.deinit();
        var file = try caldera.Gguf.open(settings.model);
        defer file.deinit();
        if (try file.number("llama.vocab_size") != 256) return error.NotAModelOfBytes;
        var weights = try device.weights();
        defer weights.deinit(); // the executables keep it
        var prompt = try compile(allocator, device, file, weights, chunk, settings.context);
        errdefer prompt.deinit();
        var decode = try compile(allocator, device, file, weights, 1, settings.context);
        errdefer decode.deinit();
        try weights.loadGguf(file);
        for (decode.inputs) |*port| {
            if (!std.mem.startsWith(u8, port.name, "cache_")) continue;
            var buffer = try device.buffer(port.type, port.dims());
            defer buffer.deinit(); // the executables keep it
            try prompt.bind(port.name, buffer);
            try decode.bind(port.name, buffer);
        }
        return .{ .device = device, .prompt = prompt, .decode = decode, .context = settings.context };
    }

    fn compile(allocator: std.mem.Allocator, device: caldera.Device, file: caldera.Gguf, weights: caldera.Weights, tokens: u32, context: u32) !caldera.Executable {
        // A chunk writes its padding too: with spare rows it may end anywhere.
        var graph = try file.graph(.{ .tokens = tokens, .context = context, .spare = chunk });
        defer graph.deinit();
        return device.compile(allocator, graph, .{ .weights = weights });
    }

    fn deinit(self: *Model) void {
        self.decode.deinit();
        self.prompt.deinit();
        self.device.deinit();
    }

    /// Takes the prompt in chunks; the logits are those of its last token.
    fn read(self: *Model, prompt: []const u8) !void {
        if (prompt.len > self.context) return error.PromptTooLong;
        var at: usize = 0;
        while (at < prompt.len) : (at += chunk) {
            const text = prompt[at..@min(at + chunk, prompt.len)];
            var tokens = [_]i64{0} ** chunk;
            for (tokens[0..text.len], text) |*token, byte| token.* = byte;
            const position: i32 = @intCast(at);
            const last: i32 = @intCast(text.len - 1);
            try self.prompt.run(.{ .tokens = &tokens, .position = &position, .last = &last }, .{ .logits = &self.logits });
        }
    }

    /// Takes one more token.
    fn next(self: *Model, token: u8, at: usize) !void {
        const position: i32 = @intCast(at);
        try self.decode.run(.{ .tokens = &[_]i64{token}, .position = &position }, .{ .logits = &self.logits });
    }
};

fn chat(allocator: std.mem.Allocator, settings: Settings, out: anytype) !void {
    var model = try Model.init(allocator, settings);
    defer model.deinit();
    try out.writeAll(settings.prompt);
    try model.read(settings.prompt);
    var random = std.Random.DefaultPrng.init(settings.seed);
    var position = settings.prompt.len;
    var made: u32 = 0;
    while (made < settings.tokens and position < settings.context) : (made += 1) {
        const token = draw(&model.logits, settings, random.random());
        try out.writeByte(token);
        try model.next(token, position);
        position += 1;
    }
    try out.writeByte('\n');
}

/// Draws a token: the most likely ones that together reach top-p, after dividing the logits by the temperature.
fn draw(logits: *const [256]f32, settings: Settings, random: std.Random) u8 {
    var order: [256]u8 = undefined;
    for (&order, 0..) |*token, i| token.* = @intCast(i);
    std.mem.sort(u8, &order, logits, struct {
        fn before(values: *const [256]f32, a: u8, b: u8) bool {
            return values[a] > values[b];
        }
    }.before);
    if (settings.temperature <= 0) return order[0];
    var weights: [256]f32 = undefined;
    var total: f32 = 0;
    for (&weights, order) |*weight, token| {
        weight.* = @exp((logits[token] - logits[order[0]]) / settings.temperature);
        total += weight.*;
    }
    var sum: f32 = 0;
    var count: usize = 0;
    while (count < order.len and sum < settings.@"top-p" * total) : (count += 1) sum += weights[count];
    var u = random.float(f32) * sum;
    for (order[0..count], weights[0..count]) |token, weight| {
        u -= weight;
        if (u < 0) return token;
    }
    return order[0];
}

// ---- tests ---------------------------------------------------------------------------------------

const folder = "../../examples/tiny-english/";

const Case = struct { name: []const u8, prompt: [:0]const u8, logits: []const f64, greedy_text: []const u8 };

fn expected(allocator: std.mem.Allocator) ![]const Case {
    const text = try std.fs.cwd().readFileAlloc(allocator, folder ++ "expected.json", 1 << 20);
    const file = try std.json.parseFromSliceLeaky(struct { cases: []const Case }, allocator, text, .{ .ignore_unknown_fields = true });
    try std.testing.expect(file.cases.len > 0);
    return file.cases;
}

fn greedy() Settings {
    return .{ .model = folder ++ "model.gguf", .device = std.posix.getenv("CALDERA_TEST_DEVICE") orelse "software", .temperature = 0 };
}

test "continuations are those of the reference" {
    var arena = std.heap.ArenaAllocator.init(std.testing.allocator);
    defer arena.deinit();
    for (try expected(arena.allocator())) |case| {
        var settings = greedy();
        settings.prompt = case.prompt;
        settings.tokens = 8;
        var out = std.ArrayList(u8).init(arena.allocator());
        try chat(std.testing.allocator, settings, out.writer());
        const want = try std.mem.concat(arena.allocator(), u8, &.{ case.prompt, case.greedy_text[0..8], "\n" });
        try std.testing.expectEqualStrings(want, out.items);
    }
}

test "logits are those of the reference" {
    var arena = std.heap.ArenaAllocator.init(std.testing.allocator);
    defer arena.deinit();
    var model = try Model.init(std.testing.allocator, greedy());
    defer model.deinit();
    for (try expected(arena.allocator())) |case| {
        try model.read(case.prompt);
        for (case.logits, model.logits) |want, got| try std.testing.expectApproxEqAbs(want, got, 1e-2);
    }
}

test "a text ends with the context" {
    var settings = greedy();
    settings.context = 40;
    settings.prompt = "a" ** 39;
    var out = std.ArrayList(u8).init(std.testing.allocator);
    defer out.deinit();
    try chat(std.testing.allocator, settings, out.writer());
    try std.testing.expectEqual(40 + 1, out.items.len);
    settings.prompt = "a" ** 41;
    try std.testing.expectError(error.PromptTooLong, chat(std.testing.allocator, settings, out.writer()));
}

test "a model that is not there" {
    var settings = greedy();
    settings.model = "nothing.gguf";
    settings.prompt = "a";
    try std.testing.expectError(error.File, chat(std.testing.allocator, settings, std.io.null_writer));
    try std.testing.expect(std.mem.indexOf(u8, caldera.lastMessage(), "nothing.gguf") != null);
}

test parse {
    var arena = std.heap.ArenaAllocator.init(std.testing.allocator);
    defer arena.deinit();
    const given = [_][]const u8{ "chat", "m.gguf", "--tokens", "7", "text", "--top-p", "0.5" };
    var arguments: [given.len][:0]u8 = undefined;
    for (&arguments, given) |*argument, text| argument.* = try arena.allocator().dupeZ(u8, text);
    const settings = try parse(&arguments);
    try std.testing.expectEqual(7, settings.tokens);
    try std.testing.expectEqual(0.5, settings.@"top-p");
    try std.testing.expectEqualStrings("text", settings.prompt);
    try std.testing.expectError(error.Usage, parse(arguments[0..3]));
}
