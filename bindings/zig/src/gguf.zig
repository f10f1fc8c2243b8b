const std = @import("std");
const caldera = @import("caldera.zig");
const c = caldera.c;
const Error = caldera.Error;
const call = caldera.call;

/// What graph to make of a language model. Zero means "not given".
pub const ModelOptions = struct {
    /// Tokens a run: 1 (the default) to decode, more to process a prompt in chunks.
    tokens: u32 = 0,
    /// The longest sequence. 0: what the file says, at most 4096.
    context: u32 = 0,
    /// Element type of the caches: f16 (the default), bf16 or f32.
    cache_type: ?caldera.Type = null,
    /// The graph draws the next token itself, output `token`, with the four settings below.
    sampling: bool = false,
    temperature: f32 = 0,
    top_k: u32 = 0,
    top_p: f32 = 0,
    min_p: f32 = 0,
    /// Sequences that run together; 0: one.
    batch: u32 = 0,
    /// Rows of the caches beyond the context, for padded chunks at its end.
    spare: u32 = 0,
    /// Log-probabilities of known tokens instead of logits.
    scores: bool = false,
};

/// An opened GGUF file: metadata and tensors. Any thread may use it.
pub const Gguf = struct {
    raw: *c.Gguf,

    /// Opens a file; of a split model, its first part.
    pub fn open(path: [:0]const u8) Error!Gguf {
        var made: ?*c.Gguf = null;
        try call(c.caldera_gguf_open, .{ path.ptr, &made });
        return .{ .raw = made.? };
    }

    /// Gives the file up. Graphs and weights made of it live on.
    pub fn deinit(self: *Gguf) void {
        c.caldera_gguf_free(self.raw);
        self.* = undefined;
    }

    /// Any value of the metadata as text. The caller frees it.
    pub fn metadata(self: Gguf, allocator: std.mem.Allocator, key: [:0]const u8) Error![]u8 {
        return caldera.readText(allocator, c.caldera_gguf_metadata, .{ self.raw, key.ptr });
    }

    /// A number of the metadata.
    pub fn number(self: Gguf, key: [:0]const u8) Error!f64 {
        var value: f64 = 0;
        try call(c.caldera_gguf_metadata_number, .{ self.raw, key.ptr, &value });
        return value;
    }

    /// The tensor of this name. Its name and data live as long as the file.
    pub fn tensor(self: Gguf, name: [:0]const u8) Error!c.GgufTensorInfo {
        var info: c.GgufTensorInfo = undefined;
        try call(c.caldera_gguf_tensor, .{ self.raw, name.ptr, &info });
        return info;
    }

    /// The tensors. Names and data live as long as the file; the caller frees the list.
    pub fn tensors(self: Gguf, allocator: std.mem.Allocator) Error![]c.GgufTensorInfo {
        return caldera.readList(c.GgufTensorInfo, allocator, c.caldera_gguf_tensors, .{self.raw});
    }

    /// The graph of the language model in the file. Its inputs and outputs are those of caldera_graph_load_gguf in caldera.h.
    pub fn graph(self: Gguf, options: ModelOptions) Error!caldera.Graph {
        const given: c.ModelOptions = .{
            .tokens = options.tokens,
            .context = options.context,
            .cache_type = if (options.cache_type) |t| @intFromEnum(t) else 0,
            .sampling = caldera.flag(options.sampling),
            .temperature = options.temperature,
            .top_k = options.top_k,
            .top_p = options.top_p,
            .min_p = options.min_p,
            .batch = options.batch,
            .spare = options.spare,
            .scores = caldera.flag(options.scores),
        };
        var made: ?*c.Graph = null;
        try call(c.caldera_graph_load_gguf, .{ self.raw, &given, &made });
        return .{ .raw = made.? };
    }
};
