/*
 * Caldera: runs neural networks on any Vulkan GPU. Made from src/ffi by `./run regen`: do not edit.
 *
 * - A call that can fail returns a caldera_status. Its last parameter, `caldera_error **error`, may be NULL; else a failing call puts an error
 *   there, which says what was wrong with names and numbers; free it with caldera_error_free. A failing call changes nothing, and writes no other
 *   out-parameter.
 * - Every pointer may be NULL: the call then returns CALDERA_INVALID_ARGUMENT, unless its description says what NULL means. Every free takes NULL.
 * - Calls with a const object may overlap on it; calls with a non-const one are exclusive on it: a second at the same time returns CALDERA_BUSY.
 *   Different objects never need a lock of the caller.
 * - NULL where it may not be, an object that another thread is in (CALDERA_BUSY), a lost device (CALDERA_DEVICE_LOST) and a fault of Caldera's own
 *   (CALDERA_INTERNAL) are answered by every call: functions do not list them again.
 * - Lists and texts come by count-then-fill: with NULL for the room the call sets the count to what there is; with room, whose size the count holds on
 *   the way in, it fills it as well. Too little room is no error: a list is filled as far as it goes, a text is cut and still ends with a zero, and the
 *   count says what there is. Counts of text are bytes, with the zero.
 * - Structs that begin with struct_size are begun from their _INIT macro; zero means "not given". A size that no release had is refused.
 * - A name begins with what it works on: caldera_device_, caldera_buffer_, caldera_weights_, caldera_graph_, caldera_executable_, caldera_gguf_. What is
 *   done again and again with an executable has its verb alone (caldera_run, caldera_bind_handle), and so have the builders, which are named after
 *   their operator (caldera_matmul).
 * - Where a list's count is 0 its pointer is not looked at.
 * - A builder returns CALDERA_INVALID_GRAPH where its operator refuses types, shapes or attributes, and CALDERA_INVALID_ARGUMENT for a value that is not of
 *   the graph; the message names the operator and what it got.
 * - Flags are uint32_t: 0 is false, anything else true. Axes may be negative: counted from the end.
 * - C90 with <stdint.h> of C99, or newer; C++11 or newer.
 * - Text is UTF-8 and ends with a zero.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#ifndef CALDERA_H
#define CALDERA_H

#include <stddef.h>
#include <stdint.h>

/** The version of the binary interface. Compare with `caldera_abi_version()`. */
#define CALDERA_ABI_VERSION 2

/** What became of a call. The numbers never change. */
typedef enum caldera_status {
    CALDERA_OK = 0,
    /** A pointer is NULL, a number is out of range, a name is unknown, a size or type does not fit. */
    CALDERA_INVALID_ARGUMENT = 1,
    /** A graph breaks a rule of an operator: shapes, types, attributes. */
    CALDERA_INVALID_GRAPH = 2,
    /** Right in itself, but this device or this version cannot do it. */
    CALDERA_UNSUPPORTED = 3,
    /** Device or host memory is exhausted. Everything made before still works. */
    CALDERA_OUT_OF_MEMORY = 4,
    /** The device was lost. Every later call on it returns this; frees still work, and a new device can be opened. */
    CALDERA_DEVICE_LOST = 5,
    /** No Vulkan loader, no driver, or no device that fits the request. */
    CALDERA_NO_DEVICE = 6,
    /** A file cannot be read or written, or its content is broken. */
    CALDERA_FILE = 7,
    /** A kernel met an index outside its range. The run is over; its outputs are not to be used. */
    CALDERA_INDEX_OUT_OF_RANGE = 8,
    /** Another thread is in an exclusive call on the same object, or a run of it is in flight. */
    CALDERA_BUSY = 9,
    /** A wait ended before the work did. Wait again. */
    CALDERA_TIMEOUT = 10,
    /** A fault of Caldera itself. The object that was being changed refuses further use. */
    CALDERA_INTERNAL = 11
} caldera_status;

/** How much a log line matters. */
typedef enum caldera_log_level {
    CALDERA_LOG_ERROR = 1,
    CALDERA_LOG_WARNING = 2,
    CALDERA_LOG_INFO = 3,
    CALDERA_LOG_DEBUG = 4
} caldera_log_level;

/**
 * The type of a tensor's elements. From 64 on: packed block types of weights, as GGUF files have them; their rows are multiples of the block.
 */
typedef enum caldera_type {
    CALDERA_F32 = 1,
    CALDERA_F16 = 2,
    CALDERA_BF16 = 3,
    CALDERA_F64 = 4,
    CALDERA_I8 = 5,
    CALDERA_I16 = 6,
    CALDERA_I32 = 7,
    CALDERA_I64 = 8,
    CALDERA_U8 = 9,
    CALDERA_U16 = 10,
    CALDERA_U32 = 11,
    CALDERA_U64 = 12,
    /** A byte: 0 or 1. */
    CALDERA_BOOL = 13,
    /** Two f32: the real part, then the imaginary part. */
    CALDERA_C64 = 14,
    CALDERA_Q4_0 = 64,
    CALDERA_Q4_1 = 65,
    CALDERA_Q5_0 = 66,
    CALDERA_Q5_1 = 67,
    CALDERA_Q8_0 = 68,
    CALDERA_Q2_K = 69,
    CALDERA_Q3_K = 70,
    CALDERA_Q4_K = 71,
    CALDERA_Q5_K = 72,
    CALDERA_Q6_K = 73,
    CALDERA_Q8_K = 74,
    CALDERA_IQ4_NL = 75,
    CALDERA_IQ4_XS = 76,
    CALDERA_IQ2_XXS = 77,
    CALDERA_IQ2_XS = 78,
    CALDERA_IQ2_S = 79,
    CALDERA_IQ3_XXS = 80,
    CALDERA_IQ3_S = 81,
    CALDERA_IQ1_S = 82,
    CALDERA_IQ1_M = 83,
    CALDERA_TQ1_0 = 84,
    CALDERA_TQ2_0 = 85,
    CALDERA_MXFP4 = 86
} caldera_type;

/** How a device is attached, in the order of preference. 0 means "not given". */
typedef enum caldera_device_kind {
    CALDERA_DEVICE_ANY = 0,
    CALDERA_DEVICE_DISCRETE = 1,
    CALDERA_DEVICE_INTEGRATED = 2,
    CALDERA_DEVICE_VIRTUAL = 3,
    CALDERA_DEVICE_OTHER = 4,
    /** A Vulkan driver that computes on the CPU. */
    CALDERA_DEVICE_SOFTWARE = 5,
    /** The built-in CPU device, which needs no Vulkan. */
    CALDERA_DEVICE_CPU = 6
} caldera_device_kind;

/** How `caldera_graph_print` writes. */
typedef enum caldera_print_format {
    /** One line a value. */
    CALDERA_PRINT_TEXT = 0,
    /** Graphviz. */
    CALDERA_PRINT_DOT = 1
} caldera_print_format;

/** How `caldera_executable_profile` writes. */
typedef enum caldera_profile_format {
    /** A table, the dearest operator first. */
    CALDERA_PROFILE_TEXT = 0,
    /** The trace format that chrome://tracing and Perfetto read. */
    CALDERA_PROFILE_CHROME = 1
} caldera_profile_format;

/** Which field of a `caldera_attribute` holds the value. */
typedef enum caldera_attribute_kind {
    /** `i`. For flags 0 or 1. */
    CALDERA_ATTRIBUTE_INT = 1,
    /** `f`. */
    CALDERA_ATTRIBUTE_FLOAT = 2,
    /** `s`. Element types and enums are text: "f16", "NeoX". */
    CALDERA_ATTRIBUTE_TEXT = 3,
    /** `ints`, `count` of them. */
    CALDERA_ATTRIBUTE_INTS = 4,
    /** `floats`, `count` of them. */
    CALDERA_ATTRIBUTE_FLOATS = 5,
    /** `data`, `count` bytes, of element type `i` and dimensions `ints`, `rank` of them. */
    CALDERA_ATTRIBUTE_TENSOR = 6,
    /** `data`, a `caldera_graph *`, which is copied. `caldera_if` says what a graph within a graph may hold. */
    CALDERA_ATTRIBUTE_GRAPH = 7
} caldera_attribute_kind;

/** What is applied to the result of a product or a convolution, before it is rounded to its type. */
typedef enum caldera_activation {
    CALDERA_ACTIVATION_NONE = 0,
    CALDERA_ACTIVATION_RELU = 1,
    CALDERA_ACTIVATION_GELU = 2,
    CALDERA_ACTIVATION_GELU_TANH = 3,
    CALDERA_ACTIVATION_SILU = 4
} caldera_activation;

/** How the weights of `caldera_dequant_matmul` are packed. */
typedef enum caldera_scheme {
    /** As the block type of w says. */
    CALDERA_SCHEME_BLOCK = 0,
    /** i8 [K, N]: q s. */
    CALDERA_SCHEME_INT8_BLOCK = 1,
    /** i8 [K, N]: (q - z) s. */
    CALDERA_SCHEME_INT8_BLOCK_ASYM = 2,
    /** u8 [K, N / 2], two a byte along N, the low nibble first: (q - z) s; z may be left out. */
    CALDERA_SCHEME_INT4_BLOCK = 3,
    /** u8 [K, N], largest finite 448; a scale for each column. */
    CALDERA_SCHEME_FP8_E4M3 = 4,
    /** u8 [K, N]; a scale for each column. */
    CALDERA_SCHEME_FP8_E5M2 = 5,
    /** u8 [K, N / 2], two E2M1 a byte along N; E4M3 scales u8 [ceil(K / 16), N] and one f32 [1] in place of zero. */
    CALDERA_SCHEME_NVFP4 = 6
} caldera_scheme;

/** What `caldera_reduce` makes of the elements. In brackets: of no elements. */
typedef enum caldera_reduce_kind {
    /** (0) */
    CALDERA_REDUCE_SUM = 1,
    /** (NaN) */
    CALDERA_REDUCE_MEAN = 2,
    /** NaN if one is NaN (-infinity; the lowest integer). */
    CALDERA_REDUCE_MAX = 3,
    /** NaN if one is NaN (+infinity; the highest integer). */
    CALDERA_REDUCE_MIN = 4,
    /** (1) */
    CALDERA_REDUCE_PROD = 5,
    /** The sum of squares (0). */
    CALDERA_REDUCE_SUM_SQUARE = 6,
    /** The sum of absolute values (0). */
    CALDERA_REDUCE_L1 = 7,
    /** The square root of the sum of squares (0). */
    CALDERA_REDUCE_L2 = 8,
    /** The logarithm of the sum (-infinity). */
    CALDERA_REDUCE_LOG_SUM = 9,
    /** The logarithm of the sum of e^x, without overflow (-infinity). */
    CALDERA_REDUCE_LOG_SUM_EXP = 10
} caldera_reduce_kind;

/** The order of batch (B), sequence (S), heads (H) and head dimensions (D). 0 means "not given". */
typedef enum caldera_layout {
    /** Heads and dimensions are one axis; for `caldera_rope` only. */
    CALDERA_LAYOUT_BSH = 1,
    CALDERA_LAYOUT_BSHD = 2,
    CALDERA_LAYOUT_BHSD = 3
} caldera_layout;

/** Which keys a query sees. Its position is its index, plus the number of keys, minus the number of queries. */
typedef enum caldera_mask {
    /** All. */
    CALDERA_MASK_NONE = 0,
    /** Those up to its own position. */
    CALDERA_MASK_CAUSAL = 1,
    /** Those at its position and `window` before it. */
    CALDERA_MASK_SLIDING_WINDOW = 2,
    /** Those where the mask is true, or a number of 0.5 or more. */
    CALDERA_MASK_CUSTOM = 3,
    /** All; the mask is added to the scores, and -infinity hides. */
    CALDERA_MASK_BIAS = 4
} caldera_mask;

/** Which elements of a head are turned together. 0 means "not given". */
typedef enum caldera_rope_style {
    /** i and i + n_rot / 2. */
    CALDERA_ROPE_NEOX = 1,
    /** 2 i and 2 i + 1. */
    CALDERA_ROPE_GPTJ = 2
} caldera_rope_style;

/** The activation of the gate of `caldera_swiglu`. */
typedef enum caldera_glu_activation {
    CALDERA_GLU_SILU = 0,
    CALDERA_GLU_GELU = 1,
    CALDERA_GLU_GELU_TANH = 2
} caldera_glu_activation;

/** What `caldera_pad` puts around. */
typedef enum caldera_pad_mode {
    /** One value. */
    CALDERA_PAD_CONSTANT = 0,
    /** The elements mirrored at the first and the last one, which are not repeated. */
    CALDERA_PAD_REFLECT = 1,
    /** The first and the last element. */
    CALDERA_PAD_EDGE = 2,
    /** The elements from the other end. */
    CALDERA_PAD_WRAP = 3
} caldera_pad_mode;

/** How an update and what is there are combined. */
typedef enum caldera_scatter_reduction {
    /** The update replaces it; of several the last wins. */
    CALDERA_SCATTER_NONE = 0,
    CALDERA_SCATTER_ADD = 1,
    CALDERA_SCATTER_MUL = 2,
    /** NaN if either is NaN. */
    CALDERA_SCATTER_MAX = 3,
    /** NaN if either is NaN. */
    CALDERA_SCATTER_MIN = 4
} caldera_scatter_reduction;

/** What `caldera_pool` makes of a window. In brackets: of a window of padding only. */
typedef enum caldera_pool_kind {
    /** NaN if one is NaN (-infinity). */
    CALDERA_POOL_MAX = 1,
    /** (NaN) */
    CALDERA_POOL_MEAN = 2,
    /** NaN if one is NaN (+infinity). */
    CALDERA_POOL_MIN = 3,
    /** (0) */
    CALDERA_POOL_SUM = 4,
    /** The p-th root of the sum of |x|^p (0). */
    CALDERA_POOL_LP = 5
} caldera_pool_kind;

/** How `caldera_resize` and `caldera_grid_sample` interpolate. 0 means "not given". */
typedef enum caldera_interpolation {
    CALDERA_INTERPOLATE_NEAREST = 1,
    CALDERA_INTERPOLATE_LINEAR = 2,
    CALDERA_INTERPOLATE_CUBIC = 3
} caldera_interpolation;

/** Where the elements of a resized axis lie, as in ONNX. */
typedef enum caldera_coordinate_mode {
    CALDERA_COORDINATE_HALF_PIXEL = 0,
    CALDERA_COORDINATE_ASYMMETRIC = 1,
    CALDERA_COORDINATE_ALIGN_CORNERS = 2,
    CALDERA_COORDINATE_PYTORCH_HALF_PIXEL = 3,
    CALDERA_COORDINATE_HALF_PIXEL_SYMMETRIC = 4
} caldera_coordinate_mode;

/** Which element is the nearest, as in ONNX. */
typedef enum caldera_nearest_mode {
    CALDERA_NEAREST_ROUND_PREFER_FLOOR = 0,
    CALDERA_NEAREST_ROUND_PREFER_CEIL = 1,
    CALDERA_NEAREST_FLOOR = 2,
    CALDERA_NEAREST_CEIL = 3
} caldera_nearest_mode;

/** What `caldera_grid_sample` takes outside of the picture. */
typedef enum caldera_border {
    CALDERA_BORDER_ZEROS = 0,
    CALDERA_BORDER_EDGE = 1,
    CALDERA_BORDER_REFLECTION = 2
} caldera_border;

/** The activation of `caldera_rnn`. */
typedef enum caldera_rnn_activation {
    CALDERA_RNN_TANH = 0,
    CALDERA_RNN_RELU = 1
} caldera_rnn_activation;

/** How a Fourier transform of n elements is scaled. */
typedef enum caldera_fft_norm {
    /** 1 / n in the inverse. */
    CALDERA_FFT_BACKWARD = 0,
    /** 1 / n forward. */
    CALDERA_FFT_FORWARD = 1,
    /** 1 / sqrt(n) both ways. */
    CALDERA_FFT_ORTHO = 2,
    /** Not at all. */
    CALDERA_FFT_NONE = 3
} caldera_fft_norm;

/**
 * A device-resident tensor that outlives runs: a KV cache, a state, a zero-copy input or output. It can be bound to several executables
 * at once; they keep it alive, so it may be freed before them.
 */
typedef struct caldera_buffer caldera_buffer;

/** One opened device. Shared by any number of threads. Objects made of it keep it alive: it may be freed before them. */
typedef struct caldera_device caldera_device;

/** Why a call failed. Made by a failing call that was given a place for it; free it with `caldera_error_free`. */
typedef struct caldera_error caldera_error;

/**
 * A compiled graph: memory plan, recorded commands, its own activations, bound handles.
 *
 * One thread at a time may change or run it (a second gets BUSY). Different executables never need the caller's lock, also on one device and
 * with shared weights.
 */
typedef struct caldera_executable caldera_executable;

/** An opened GGUF file (version 2 or 3, split files too): metadata and tensors, memory-mapped. Any thread may use it. */
typedef struct caldera_gguf caldera_gguf;

/**
 * A graph under construction, or read from a file.
 *
 * One thread at a time may change it (a second gets BUSY); functions that take it const may overlap. It may be freed once it is compiled.
 */
typedef struct caldera_graph caldera_graph;

/**
 * A set of named parameters in device memory, shared by every executable that is compiled against it. Any thread may use it at any time;
 * setting a weight while a run that reads it is in flight gives that run old or new bytes.
 */
typedef struct caldera_weights caldera_weights;

/** Called with each log line, from any thread, also at the same time. `text` lives during the call. It must not call Caldera. */
typedef void (*caldera_log_callback)(caldera_log_level level, const char *text, void *user);

/** What a device is. */
typedef struct caldera_device_properties {
    /** A `caldera_device_kind`. */
    uint32_t kind;
    /** 1 if it can be opened, 0 if it lacks something that Caldera needs. */
    uint32_t usable;
    uint8_t uuid[16];
    /** Zero-terminated, cut to fit. */
    char name[256];
    char driver[256];
    /** Optional features it has, separated by spaces. */
    char features[256];
    /** Bytes of device-local memory; 0 for the CPU device. */
    uint64_t memory;
    /** Vulkan version: major, minor, patch; zeros for the CPU device. */
    uint32_t api_version[3];
    uint32_t reserved;
} caldera_device_properties;

/** Options of `caldera_device_open`. Start from `CALDERA_DEVICE_OPTIONS_INIT`. Zero means "not given". */
typedef struct caldera_device_options {
    /** sizeof(caldera_device_options). */
    uint32_t struct_size;
    /** A `caldera_device_kind`: the best device of this kind. */
    uint32_t kind;
    /**
     * An index ("0", as in `caldera_device_list`), a UUID in hexadecimal, a kind ("discrete", "integrated", "virtual", "software", "cpu") or
     * NULL. Excludes `kind`.
     */
    const char *select;
    /** 1: with nothing selected, a software Vulkan driver may be taken where there is no GPU. */
    uint32_t allow_software;
    /** 1: with nothing selected, the CPU device may be taken where there is no Vulkan device. */
    uint32_t allow_cpu;
    /** 1: Vulkan validation layers; what they say goes to the log. UNSUPPORTED where they are not installed. */
    uint32_t validation;
    uint32_t reserved;
    /**
     * A pipeline cache that `caldera_device_save_cache` or `caldera_device_cache` gave, or NULL. One of another driver is ignored with a log line.
     */
    const void *cache;
    size_t cache_bytes;
    /** A file that `caldera_device_save_cache` wrote, or NULL. A missing file is no error. */
    const char *cache_path;
} caldera_device_options;

/** Where a caldera_device_options begins. */
#define CALDERA_DEVICE_OPTIONS_INIT {sizeof(caldera_device_options), 0, 0, 0, 0, 0, 0, 0, 0, 0}

/** Called now and then with how many bytes of how many are loaded, on the calling thread. */
typedef void (*caldera_progress_callback)(uint64_t done, uint64_t total, void *user);

/** A value of a graph: an input, a param, a constant, or the result of an operator. Valid for the graph that gave it. */
typedef uint32_t caldera_value;

/** Options of `caldera_compile`. Start from `CALDERA_COMPILE_OPTIONS_INIT`. Zero means "not given". */
typedef struct caldera_compile_options {
    /** sizeof(caldera_compile_options). */
    uint32_t struct_size;
    /** 0 or 1: exact f32 products. 2: f16 or bf16 products with f32 sums on matrix units, where the device has them. */
    uint32_t precision;
    /** 0: the best kernel for matrix products; 1: scalar; 2: tiled; 3: cooperative matrices. For people who debug. */
    uint32_t matmul;
    /** 1: a barrier before every dispatch. For people who debug. */
    uint32_t full_barriers;
    /** 1: GPU timestamps around every dispatch, for `caldera_executable_profile`. */
    uint32_t profiling;
    /** 1: out-of-range indices are clamped instead of being an error. */
    uint32_t unchecked_indices;
    /** The weights to read params from, shared with other executables; NULL: the executable's own. */
    const caldera_weights *weights;
    /** Refuse a plan that needs more than this many bytes of device memory; 0: no limit. */
    uint64_t memory_limit;
    /** Seed of the random operators. */
    uint64_t seed;
} caldera_compile_options;

/** Where a caldera_compile_options begins. */
#define CALDERA_COMPILE_OPTIONS_INIT {sizeof(caldera_compile_options), 0, 0, 0, 0, 0, 0, 0, 0}

/** An input, output or param of an executable. */
typedef struct caldera_port_info {
    /** Lives as long as the executable. */
    const char *name;
    /** A `caldera_type`. */
    uint32_t type;
    uint32_t rank;
    int64_t dims[8];
    uint64_t bytes;
} caldera_port_info;

/** A value given to a run. */
typedef struct caldera_run_input {
    const char *name;
    const void *data;
    /** In bytes: what type and shape need. */
    size_t size;
} caldera_run_input;

/** Room for an output of a run. */
typedef struct caldera_run_output {
    const char *name;
    void *data;
    /** In bytes: what type and shape need. */
    size_t size;
} caldera_run_output;

/** Counts and sizes of an executable. */
typedef struct caldera_stats {
    /** sizeof(caldera_stats), set by the caller. */
    uint32_t struct_size;
    /** Operators after all rewrites. */
    uint32_t operators;
    /** Kernel launches of a run. */
    uint32_t dispatches;
    /** Pipeline barriers of a run. */
    uint32_t barriers;
    /** Operators that the host computes: 0 on Vulkan, all on the CPU device. */
    uint32_t host_operators;
    uint32_t reserved;
    /** Submits since compile. */
    uint64_t submits;
    /** Allocations of device memory since the device was opened, by anybody. */
    uint64_t device_allocations;
    /** Bytes of activations as planned. */
    uint64_t arena_bytes;
    /** The most bytes of activations that live at one moment: no plan can be smaller. */
    uint64_t arena_lower_bound;
    /** Bytes of activations if nothing shared memory. */
    uint64_t arena_no_reuse;
    uint64_t constant_bytes;
    uint64_t weight_bytes;
    /** Bytes of inputs and outputs that no buffer is bound to. */
    uint64_t port_bytes;
} caldera_stats;

/** Where a caldera_stats begins. */
#define CALDERA_STATS_INIT {sizeof(caldera_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

/** A tensor of a GGUF file. */
typedef struct caldera_gguf_tensor_info {
    /** Lives as long as the file. */
    const char *name;
    /** A `caldera_type`. */
    uint32_t type;
    uint32_t rank;
    /** Outermost first: a matrix is [rows, elements of a row]. */
    int64_t dims[8];
    /** The bytes as they are in the file; they live as long as it. */
    const void *data;
    uint64_t bytes;
} caldera_gguf_tensor_info;

/** Options of `caldera_graph_load_gguf`. Start from `CALDERA_MODEL_OPTIONS_INIT`. Zero means "not given". */
typedef struct caldera_model_options {
    /** sizeof(caldera_model_options). */
    uint32_t struct_size;
    /** Tokens a run: 1 (the default) to decode, more to process a prompt in chunks. */
    uint32_t tokens;
    /** The longest sequence. 0: what the file says, at most 4096. */
    uint32_t context;
    /** Element type of the caches, a `caldera_type`: f16 (the default), bf16 or f32. */
    uint32_t cache_type;
    /** 1: the graph draws the next token itself, output `token` i64 [1], with the four settings below. */
    uint32_t sampling;
    /** 0: the most likely token. */
    float temperature;
    /** Only the k most likely; 0: no limit. */
    uint32_t top_k;
    /** Only the most likely that together reach this probability; 0: no limit. */
    float top_p;
    /** Only those at least this times as likely as the most likely. */
    float min_p;
    /** Sequences that run together; 0: one. */
    uint32_t batch;
    /**
     * Rows of the caches beyond the context. A chunk writes its padding too: with as many spare rows as it has tokens it may end anywhere in
     * the context.
     */
    uint32_t spare;
    /** 1: log-probabilities of known tokens instead of logits, for perplexities. */
    uint32_t scores;
} caldera_model_options;

/** Where a caldera_model_options begins. */
#define CALDERA_MODEL_OPTIONS_INIT {sizeof(caldera_model_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

/** An attribute of `caldera_graph_node`. Zero what is not used. */
typedef struct caldera_attribute {
    /** As `caldera_graph_print` shows it, such as "axis". */
    const char *name;
    /** A `caldera_attribute_kind`. */
    uint32_t kind;
    uint32_t rank;
    int64_t i;
    double f;
    const char *s;
    const int64_t *ints;
    const double *floats;
    const void *data;
    size_t count;
} caldera_attribute;

/** Options of `caldera_attention`. Start from `CALDERA_ATTENTION_OPTIONS_INIT`. Zero means "not given". */
typedef struct caldera_attention_options {
    /** sizeof(caldera_attention_options). */
    uint32_t struct_size;
    /** Query heads. Must be given. */
    uint32_t num_heads;
    /** Key and value heads; 0: as many as query heads. Query head h uses head h / (num_heads / num_kv_heads). */
    uint32_t num_kv_heads;
    /** Dimensions of a query and key head. Must be given; at most 512. */
    uint32_t head_dim;
    /** Dimensions of a value head; 0: `head_dim`. */
    uint32_t v_head_dim;
    /** A `caldera_layout`: BSHD or BHSD. Must be given. */
    uint32_t layout;
    /** A `caldera_mask`. */
    uint32_t mask;
    /** For CALDERA_MASK_SLIDING_WINDOW: how many keys before its own position a query sees. */
    uint32_t window;
    /** What the products are multiplied with; 0: 1 / sqrt(head_dim). */
    double scale;
    /** c: scores s become c tanh(s / c) before the mask; 0: they do not. */
    double softcap;
} caldera_attention_options;

/** Where a caldera_attention_options begins. */
#define CALDERA_ATTENTION_OPTIONS_INIT {sizeof(caldera_attention_options), 0, 0, 0, 0, 0, 0, 0, 0, 0}

/**
 * Options of `caldera_conv` and `caldera_conv_transpose`. Start from `CALDERA_CONV_OPTIONS_INIT`. Of each list the first `spatial` are used.
 */
typedef struct caldera_conv_options {
    /** sizeof(caldera_conv_options). */
    uint32_t struct_size;
    /** How many spatial axes there are: 1, 2 or 3. Must be given. */
    uint32_t spatial;
    /** 0: 1. */
    int64_t stride[3];
    int64_t pad_begin[3];
    int64_t pad_end[3];
    /** 0: 1. */
    int64_t dilation[3];
    /** For `caldera_conv_transpose` only. */
    int64_t output_padding[3];
    /** 0: 1. */
    uint32_t groups;
    /** A `caldera_activation`, for `caldera_conv` only. */
    uint32_t act;
} caldera_conv_options;

/** Where a caldera_conv_options begins. */
#define CALDERA_CONV_OPTIONS_INIT {sizeof(caldera_conv_options), 0, {0}, {0}, {0}, {0}, {0}, 0, 0}

/** Options of `caldera_pool`. Start from `CALDERA_POOL_OPTIONS_INIT`. Of each list the first `spatial` are used. */
typedef struct caldera_pool_options {
    /** sizeof(caldera_pool_options). */
    uint32_t struct_size;
    /** A `caldera_pool_kind`. Must be given. */
    uint32_t kind;
    /** How many spatial axes there are: 1, 2 or 3. Must be given. */
    uint32_t spatial;
    /** 1: a last window that is not whole is kept, unless it would start in the end padding. */
    uint32_t ceil;
    /** 1: CALDERA_POOL_MEAN counts padding, but nothing beyond it. */
    uint32_t count_include_pad;
    /** For CALDERA_POOL_LP; 0: 2. */
    uint32_t p;
    /** Must be given. */
    int64_t kernel[3];
    /** 0: 1. */
    int64_t stride[3];
    int64_t pad_begin[3];
    int64_t pad_end[3];
    /** 0: 1. */
    int64_t dilation[3];
} caldera_pool_options;

/** Where a caldera_pool_options begins. */
#define CALDERA_POOL_OPTIONS_INIT {sizeof(caldera_pool_options), 0, 0, 0, 0, 0, {0}, {0}, {0}, {0}, {0}}

/** Options of `caldera_resize`. Start from `CALDERA_RESIZE_OPTIONS_INIT`. */
typedef struct caldera_resize_options {
    /** sizeof(caldera_resize_options). */
    uint32_t struct_size;
    /** A `caldera_interpolation`. Must be given. */
    uint32_t mode;
    /** A `caldera_coordinate_mode`. */
    uint32_t coordinate_mode;
    /** A `caldera_nearest_mode`. */
    uint32_t nearest_mode;
    /** 1: the filter widens when an axis shrinks. */
    uint32_t antialias;
    /** How many of `sizes` or `scales` there are: the rank of x. */
    uint32_t rank;
    /** The dimensions of the result, or NULL. */
    const int64_t *sizes;
    /** How much longer each axis gets, or NULL: floor(scale n). One of the two must be given. */
    const double *scales;
    /** The coefficient of CALDERA_INTERPOLATE_CUBIC; 0: -0.75. */
    double cubic_a;
} caldera_resize_options;

/** Where a caldera_resize_options begins. */
#define CALDERA_RESIZE_OPTIONS_INIT {sizeof(caldera_resize_options), 0, 0, 0, 0, 0, 0, 0, 0}

/** Options of `caldera_roi_align`. Start from `CALDERA_ROI_ALIGN_OPTIONS_INIT`. */
typedef struct caldera_roi_align_options {
    /** sizeof(caldera_roi_align_options). */
    uint32_t struct_size;
    /** 0: 1. */
    uint32_t output_height;
    /** 0: 1. */
    uint32_t output_width;
    /** Points a cell and axis; 0: as many as the cell has pixels, rounded up. */
    uint32_t sampling_ratio;
    /** 1: the largest of the weighted corner values; 0: the mean. */
    uint32_t maximum;
    /** 1: coordinates are not moved by half a pixel, and boxes have a side of at least 1. */
    uint32_t output_half_pixel;
    /** Pixels a unit of the boxes; 0: 1. */
    double spatial_scale;
} caldera_roi_align_options;

/** Where a caldera_roi_align_options begins. */
#define CALDERA_ROI_ALIGN_OPTIONS_INIT {sizeof(caldera_roi_align_options), 0, 0, 0, 0, 0, 0}

/** Stands for an optional input that is left out. */
#define CALDERA_NO_VALUE 4294967295

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Versions and the log ---- */

/** The version of the library, such as "0.1.0". Static. */
const char *caldera_version(void);

/** The binary interface that the library has. A program built against another `CALDERA_ABI_VERSION` must not go on. */
uint32_t caldera_abi_version(void);

/**
 * Checks that the program was built for this library: call it with `CALDERA_ABI_VERSION` of the header.
 *
 * Errors: UNSUPPORTED, naming both versions.
 */
caldera_status caldera_check_abi(uint32_t abi_version, caldera_error **error);

/**
 * Sends log lines to `callback` from now on; NULL turns the log off. Off is the default. For the whole process.
 *
 * The message of every failing call is a line of CALDERA_LOG_ERROR; TIMEOUT and BUSY are CALDERA_LOG_DEBUG.
 */
void caldera_set_log_callback(caldera_log_callback callback, void *user);

/* ---- Errors ---- */

/** The message: what was wrong, with names and numbers. Lives as long as the error. NULL gives an empty text. */
const char *caldera_error_message(const caldera_error *error);

/** The status that the failing call returned. NULL gives CALDERA_OK. */
caldera_status caldera_error_status(const caldera_error *error);

/** Frees an error. NULL is allowed. */
void caldera_error_free(caldera_error *error);

/** The name of a status, such as "INVALID_ARGUMENT". Static. */
const char *caldera_status_name(int32_t status);

/* ---- Devices ---- */

/**
 * Lists the devices, best first; the CPU device is the last. By count-then-fill.
 *
 * Errors: INVALID_ARGUMENT if `count` is NULL. No driver is no error: the CPU device is always there.
 */
caldera_status caldera_device_list(caldera_device_properties *infos, size_t *count, caldera_error **error);

/**
 * Opens a device. `options` may be NULL: the best GPU, no software driver, no CPU device.
 *
 * The environment variable CALDERA_DEVICE (an index, a UUID, a kind or "cpu") replaces "nothing selected".
 * Free it with `caldera_device_free`. Errors: NO_DEVICE (no loader, no driver, nothing fits), UNSUPPORTED (a device without buffer device
 * addresses, timeline semaphores or scalar block layout; validation layers not installed), FILE (`cache_path` is there and cannot be read),
 * INVALID_ARGUMENT.
 */
caldera_status caldera_device_open(const caldera_device_options *options, caldera_device **device, caldera_error **error);

/** What an opened device is. */
caldera_status caldera_device_info(const caldera_device *device, caldera_device_properties *info, caldera_error **error);

/**
 * Bytes of device memory that Caldera uses, and that it has reserved from the driver. Zeros for the CPU device. Either may be NULL.
 */
caldera_status caldera_device_memory(const caldera_device *device, uint64_t *used, uint64_t *reserved, caldera_error **error);

/** Gives reserved memory that nothing uses back to the driver. */
caldera_status caldera_device_trim(const caldera_device *device, caldera_error **error);

/** The pipelines made so far as a blob, by count-then-fill in bytes. Only this device and driver will take it. */
caldera_status caldera_device_cache(const caldera_device *device, void *data, size_t *size, caldera_error **error);

/**
 * Writes the pipelines made so far to a file, for `cache_path` another day. The file is replaced as a whole or not at all.
 *
 * Errors: FILE.
 */
caldera_status caldera_device_save_cache(const caldera_device *device, const char *path, caldera_error **error);

/** A line of text about a device: name, kind, driver, memory. By count-then-fill in bytes, with the zero at the end. */
caldera_status caldera_device_describe(const caldera_device *device, char *out, size_t *size, caldera_error **error);

/** Frees the handle. The device itself closes when the last object made of it is freed. NULL is allowed. */
void caldera_device_free(caldera_device *device);

/* ---- Buffers ---- */

/**
 * Makes a buffer of zeros. `type` is a `caldera_type`. Free it with `caldera_buffer_free`.
 *
 * Errors: INVALID_ARGUMENT (an unknown or packed type, a bad shape), OUT_OF_MEMORY, DEVICE_LOST.
 */
caldera_status caldera_buffer_new(const caldera_device *device, uint32_t type, const int64_t *dims, uint32_t rank, caldera_buffer
    **buffer, caldera_error **error);

/**
 * Writes `size` bytes at byte `offset`, and returns when they are on the device. No run that uses the buffer may be in flight.
 *
 * Errors: INVALID_ARGUMENT if the range is outside the buffer, DEVICE_LOST.
 */
caldera_status caldera_buffer_write(caldera_buffer *buffer, size_t offset, const void *data, size_t size, caldera_error **error);

/**
 * Reads `size` bytes at byte `offset`. No run that writes the buffer may be in flight.
 *
 * Errors: INVALID_ARGUMENT if the range is outside the buffer, DEVICE_LOST.
 */
caldera_status caldera_buffer_read(const caldera_buffer *buffer, size_t offset, void *data, size_t size, caldera_error **error);

/** A new buffer with the same contents, copied on the device. Errors: OUT_OF_MEMORY, DEVICE_LOST. */
caldera_status caldera_buffer_clone(const caldera_buffer *buffer, caldera_buffer **copy, caldera_error **error);

/** The size of a buffer in bytes; 0 for NULL. */
size_t caldera_buffer_bytes(const caldera_buffer *buffer);

/** Frees the handle; the memory goes when no executable is bound to it any more. NULL is allowed. */
void caldera_buffer_free(caldera_buffer *buffer);

/* ---- Weights ---- */

/** Makes an empty set. Free it with `caldera_weights_free`; executables keep what they use. */
caldera_status caldera_weights_new(const caldera_device *device, caldera_weights **weights, caldera_error **error);

/**
 * Sets a weight. The first use of a name, here or in a compiled graph, fixes its type and shape; f32, f16, bf16 and f64 data is converted to it,
 * other data must be of that very type. `size` is in bytes.
 *
 * Errors: INVALID_ARGUMENT (an empty name, an unknown type, a bad shape, a type or size that does not fit), naming the weight, what was given and
 * what is needed; OUT_OF_MEMORY; DEVICE_LOST.
 */
caldera_status caldera_weights_set(const caldera_weights *weights, const char *name, uint32_t type, const int64_t *dims, uint32_t
    rank, const void *data, size_t size, caldera_error **error);

/**
 * Sets every tensor of a safetensors file as a weight under its name, converted as `caldera_weights_set` does. All are set, or none.
 * `progress` may be NULL.
 *
 * Errors: FILE (unreadable, broken), UNSUPPORTED (an element type, naming the tensor), INVALID_ARGUMENT (a tensor that does not fit what the name
 * already has), OUT_OF_MEMORY, DEVICE_LOST.
 */
caldera_status caldera_weights_load_safetensors(const caldera_weights *weights, const char *path, caldera_progress_callback
    progress, void *user, caldera_error **error);

/** Frees the handle. NULL is allowed. */
void caldera_weights_free(caldera_weights *weights);

/* ---- Graphs ---- */

/** Makes an empty graph. Free it with `caldera_graph_free`. */
caldera_status caldera_graph_new(caldera_graph **graph, caldera_error **error);

/** Frees a graph. Executables made of it live on. NULL is allowed. */
void caldera_graph_free(caldera_graph *graph);

/**
 * An input: filled at each run, or by a bound handle. `type` is a `caldera_type`.
 *
 * A dimension of -1 is symbolic: `dim_names[i]` names it, and `caldera_graph_bind_dim` gives it a size before compiling. `dim_names` may be NULL if
 * no dimension is symbolic. Errors: INVALID_GRAPH (a name that is taken or empty, a packed type, more than 8 dimensions), INVALID_ARGUMENT.
 */
caldera_status caldera_graph_input(caldera_graph *graph, const char *name, uint32_t type, const int64_t *dims, const char *const
    *dim_names, uint32_t rank, caldera_value *value, caldera_error **error);

/**
 * A weight: set once, shared by every executable that is compiled against the same weights. `type` may be a packed block type.
 *
 * Errors: INVALID_GRAPH (a name that is taken or empty, rows that are no multiple of the block, more than 8 dimensions), INVALID_ARGUMENT.
 */
caldera_status caldera_graph_param(caldera_graph *graph, const char *name, uint32_t type, const int64_t *dims, uint32_t rank,
    caldera_value *value, caldera_error **error);

/**
 * Data inside the graph, copied by the call. `size` is in bytes and must be what type and dims need.
 *
 * Errors: INVALID_ARGUMENT (an unknown type, a bad shape, a size that does not fit).
 */
caldera_status caldera_graph_constant(caldera_graph *graph, uint32_t type, const int64_t *dims, uint32_t rank, const void *data,
    size_t size, caldera_value *value, caldera_error **error);

/**
 * Marks a value as an output under a name of its own. A value may be several outputs.
 *
 * Errors: INVALID_ARGUMENT (no value of this graph), INVALID_GRAPH (a name that is taken or empty, a packed type).
 */
caldera_status caldera_graph_output(caldera_graph *graph, const char *name, caldera_value value, caldera_error **error);

/**
 * Names the operator that made a value, for messages, profiles and printing. Without it the name is made of operator and number.
 *
 * Errors: INVALID_ARGUMENT (no value of this graph, one that no operator made), INVALID_GRAPH (an empty name).
 */
caldera_status caldera_graph_set_name(caldera_graph *graph, caldera_value value, const char *name, caldera_error **error);

/**
 * Element type and shape of a value. `*rank` is the room in `dims` on the way in (8 is always enough) and the rank on the way out; `type` and `dims` may
 * be NULL.
 *
 * Errors: INVALID_ARGUMENT (no value of this graph, too little room: nothing is written then), INVALID_GRAPH while the shape depends on a symbolic
 * dimension that is not bound.
 */
caldera_status caldera_graph_value_type(const caldera_graph *graph, caldera_value value, uint32_t *type, int64_t *dims, uint32_t
    *rank, caldera_error **error);

/**
 * Gives a symbolic dimension its size. Binding again changes it. A graph from a file is read anew by it: add to it after that.
 *
 * Errors: INVALID_ARGUMENT (an unknown name, a negative size, a graph from a file that was added to), INVALID_GRAPH (an operator refuses the shapes that follow; nothing changes then).
 */
caldera_status caldera_graph_bind_dim(caldera_graph *graph, const char *name, int64_t size, caldera_error **error);

/**
 * Binds an input of a graph from a file to a value: for inputs that shapes or an If depend on (a sampling rate, a length). It is then no input of
 * the graph any more. The data is copied.
 *
 * Errors: INVALID_ARGUMENT (the graph is not from a file, was added to or has no such input, a bad shape, another type or size), INVALID_GRAPH (an
 * operator refuses the shapes that follow; nothing changes then).
 */
caldera_status caldera_graph_bind_input(caldera_graph *graph, const char *name, uint32_t type, const int64_t *dims, uint32_t rank,
    const void *data, size_t size, caldera_error **error);

/**
 * The graph as text, by count-then-fill: `size` is the room in bytes on the way in, and what the text needs with its zero on the way out. `format`
 * is a `caldera_print_format`.
 */
caldera_status caldera_graph_print(const caldera_graph *graph, uint32_t format, char *out, size_t *size, caldera_error **error);

/**
 * Reads an ONNX file. Weights stay in the file until they are needed; a compile sets them. Free the graph with `caldera_graph_free`.
 *
 * Where the file computes with a symbolic dimension, everything but `caldera_graph_bind_dim`, `caldera_graph_bind_input` and `caldera_graph_free` gives
 * INVALID_GRAPH, naming what is still to be bound, until it is.
 * Errors: FILE (unreadable, broken), UNSUPPORTED (lists every operator that is missing), INVALID_GRAPH.
 */
caldera_status caldera_graph_load_onnx(const char *path, caldera_graph **graph, caldera_error **error);

/**
 * Writes the graph as it is now as an ONNX file, every operator in the domain `caldera`; reading it back gives the same graph. `weights` has the values
 * of the params; for those of a graph that came from a file it may be NULL. More than 1 GiB of weights go into a file beside it, PATH.data. Each file
 * is replaced as a whole or not at all.
 *
 * A dimension that was bound is a number in the file: constants may have been computed from it. One that was not stays a name, to be bound after reading.
 * A graph from a file that computes with a symbolic dimension (most transformers) can be saved only when that is bound.
 * Errors: FILE; INVALID_ARGUMENT (a param without a value, or with another type, naming it), INVALID_GRAPH (no outputs; dimensions or inputs that must
 * be bound first, naming them), DEVICE_LOST.
 */
caldera_status caldera_graph_save_onnx(const caldera_graph *graph, const caldera_weights *weights, const char *path, caldera_error
    **error);

/**
 * Reads an ONNX model from memory, which may be freed after the call. It cannot have external data. All else is as for `caldera_graph_load_onnx`.
 */
caldera_status caldera_graph_load_onnx_memory(const void *data, size_t size, caldera_graph **graph, caldera_error **error);

/* ---- Executables ---- */

/**
 * Compiles a graph for a device. `options` may be NULL. The graph may be freed after it. Free the executable with `caldera_executable_free`.
 *
 * Weights that came with a file are set, unless the weights hold that name already. Everything a run needs is planned here; pipelines are made at
 * the first run or by `caldera_executable_warm_up`.
 * Errors: INVALID_GRAPH (no outputs, symbolic dimensions not bound), UNSUPPORTED (an operator and the feature that the device lacks),
 * INVALID_ARGUMENT (weights of another device or type), OUT_OF_MEMORY, DEVICE_LOST.
 */
caldera_status caldera_compile(const caldera_device *device, const caldera_graph *graph, const caldera_compile_options *options,
    caldera_executable **executable, caldera_error **error);

/** Frees an executable; a run in flight is waited for. NULL is allowed. */
void caldera_executable_free(caldera_executable *executable);

/** The inputs, by count-then-fill. The names live as long as the executable. */
caldera_status caldera_executable_inputs(const caldera_executable *executable, caldera_port_info *infos, size_t *count,
    caldera_error **error);

/** The outputs, by count-then-fill. */
caldera_status caldera_executable_outputs(const caldera_executable *executable, caldera_port_info *infos, size_t *count,
    caldera_error **error);

/** The params, by count-then-fill. */
caldera_status caldera_executable_params(const caldera_executable *executable, caldera_port_info *infos, size_t *count,
    caldera_error **error);

/**
 * Sets a weight of this graph. `type` is f32, f16, bf16 or f64 (converted to the declared type), or the declared type with exactly its bytes.
 *
 * Errors: INVALID_ARGUMENT, naming the param, the operator that reads it, the bytes given and the bytes needed; BUSY during a run.
 */
caldera_status caldera_set_param(caldera_executable *executable, const char *name, uint32_t type, const void *data, size_t size,
    caldera_error **error);

/**
 * Makes an input persistent: from now on it lives in `buffer`, and is not given to runs. Binding another buffer (the next conversation's cache)
 * costs an address written to memory. The executable keeps the buffer alive. The buffer must have the input's type and as many bytes; its shape does
 * not matter. One buffer can be bound to several executables, such as prefill and decode over one cache: what a run wrote is there for the next run
 * of either, once it was waited for.
 *
 * Errors: INVALID_ARGUMENT (an unknown input, a buffer of another device, type or size, a buffer that two outputs would be written to), BUSY during a
 * run.
 */
caldera_status caldera_bind_handle(caldera_executable *executable, const char *input, const caldera_buffer *buffer, caldera_error
    **error);

/**
 * Makes an input persistent in a new buffer of the executable's own, filled once with `data`.
 *
 * Errors: INVALID_ARGUMENT (an unknown input, another size), OUT_OF_MEMORY, BUSY during a run.
 */
caldera_status caldera_bind_handle_data(caldera_executable *executable, const char *input, const void *data, size_t size,
    caldera_error **error);

/** Sets `*has` to 1 if the input has a handle, else 0. */
caldera_status caldera_has_handle(const caldera_executable *executable, const char *input, uint32_t *has, caldera_error **error);

/**
 * Reads the present value of a handle: `size` bytes from byte `offset`.
 *
 * Errors: INVALID_ARGUMENT (an unknown input, no handle, a range outside of it), BUSY during a run.
 */
caldera_status caldera_read_handle(const caldera_executable *executable, const char *input, size_t offset, void *data, size_t size,
    caldera_error **error);

/**
 * Makes the input one that is given at each run again.
 *
 * Errors: INVALID_ARGUMENT if it has no handle, or if an output feeds it (`caldera_set_handle_feed` or `caldera_register_row_feed` with NULL ends that);
 * BUSY during a run.
 */
caldera_status caldera_unbind_handle(caldera_executable *executable, const char *input, caldera_error **error);

/**
 * Puts an output into a buffer at each run; NULL puts it back into the executable's own memory. The buffer must have the output's type and as many
 * bytes; its shape does not matter. It can be the buffer of an input's handle: the input is then read before the output is written.
 *
 * Errors: INVALID_ARGUMENT (an unknown output, a buffer of another device, type or size, a buffer that another output of this executable is written to,
 * by `caldera_bind_output` or a feed), BUSY during a run.
 */
caldera_status caldera_bind_output(caldera_executable *executable, const char *output, const caldera_buffer *buffer, caldera_error
    **error);

/**
 * After every run the output becomes the handle's next value, on the device. With an active extent only the valid rows are carried: the first
 * actual * (elements / (upper + 1)) elements. `output` NULL: nothing feeds the handle any more, which is left with the value it has.
 *
 * Errors: INVALID_ARGUMENT (an unknown name, no handle bound, another type, an output with fewer elements than the handle, a handle that another output
 * feeds, a buffer that another output is written to), UNSUPPORTED (the output is another input, as it is), BUSY during a run.
 */
caldera_status caldera_set_handle_feed(caldera_executable *executable, const char *handle, const char *output, caldera_error
    **error);

/**
 * Lets `caldera_feed_row` write rows of the output to the handle. `output` NULL: rows of no output any more.
 *
 * Errors: INVALID_ARGUMENT (an unknown name, no handle bound, another type), BUSY during a run.
 */
caldera_status caldera_register_row_feed(caldera_executable *executable, const char *handle, const char *output, caldera_error
    **error);

/**
 * Writes row `src_row` of the output of every registered row feed to row `dst_row` of its handle, on the device. A row is `row_elements` elements.
 * The active extent plays no part: every row that the output has can be taken, also one that is padding.
 *
 * Errors: INVALID_ARGUMENT if a row is outside either (nothing is written then), without a registered row feed, or before the first run; BUSY during
 * a run.
 */
caldera_status caldera_feed_row(caldera_executable *executable, size_t src_row, size_t dst_row, size_t row_elements, caldera_error
    **error);

/** Sets how many rows of a bucket-padded graph of `upper` rows are valid. */
caldera_status caldera_set_active_extent(caldera_executable *executable, size_t actual, size_t upper, caldera_error **error);

/** Seeds the random operators. `run` is the number that the next run has for them; each run counts it up by one. */
caldera_status caldera_set_rng(caldera_executable *executable, uint64_t seed, uint32_t run, caldera_error **error);

/**
 * Makes the pipelines and records the commands now instead of at the first run.
 *
 * Errors: INVALID_ARGUMENT (a param that is not set, naming it), OUT_OF_MEMORY, DEVICE_LOST, BUSY during a run.
 */
caldera_status caldera_executable_warm_up(caldera_executable *executable, caldera_error **error);

/**
 * Runs: uploads the inputs, one submit, reads the outputs asked for (none, some, all), and waits.
 *
 * Every input without a handle must be given, once: here or by `caldera_set_input`. Errors: INVALID_ARGUMENT (unknown, missing or doubled names,
 * wrong sizes, params that are not set; nothing has run then), INDEX_OUT_OF_RANGE (an operator met a bad index: it is named with position and value;
 * the outputs are not written, and what handles that the run writes hold is not defined), DEVICE_LOST.
 */
caldera_status caldera_run(caldera_executable *executable, const caldera_run_input *inputs, size_t input_count, const
    caldera_run_output *outputs, size_t output_count, caldera_error **error);

/**
 * Gives an input its value for the next run, one call an input: the form of `caldera_run`'s list for languages that must not hand out structs with
 * pointers. `size` is in bytes: what type and shape need. The data is copied by the call. Setting again replaces it. A run that starts uses up what
 * was set, one that is refused does not; a handle that is bound to the input replaces it.
 *
 * Errors: INVALID_ARGUMENT (an unknown input, one with a handle, a wrong size), BUSY during a run.
 */
caldera_status caldera_set_input(caldera_executable *executable, const char *input, const void *data, size_t size, caldera_error
    **error);

/**
 * Lets the next run that starts bring an output to the host, as the list of `caldera_run` does: `caldera_read_output` then copies from there, without
 * a submit of its own. Wanting it twice is once.
 *
 * Errors: INVALID_ARGUMENT (an unknown output), BUSY during a run.
 */
caldera_status caldera_want_output(caldera_executable *executable, const char *output, caldera_error **error);

/**
 * Takes back every `caldera_set_input` and `caldera_want_output` since the last run, for a run that was given up. Errors: BUSY during a run.
 */
caldera_status caldera_clear_run(caldera_executable *executable, caldera_error **error);

/**
 * Starts a run and returns; the inputs may then be reused. `caldera_wait` ends the run. Until then calls that change or read the executable give
 * BUSY; `caldera_poll`, the lists of ports and `caldera_executable_stats` do not.
 *
 * Errors: as `caldera_run`, but for what happens during the run, which `caldera_wait` says.
 */
caldera_status caldera_submit(caldera_executable *executable, const caldera_run_input *inputs, size_t input_count, caldera_error
    **error);

/**
 * Waits for the run in flight, at most so many nanoseconds (UINT64_MAX: without end; 0: asks). Without one it returns at once.
 *
 * A call of another thread on the executable, also one that is refused because a run is in flight, is waited for too; calls that other threads begin
 * meanwhile give BUSY. After OK, INDEX_OUT_OF_RANGE and DEVICE_LOST no run is in flight any more; after TIMEOUT it still is.
 * Errors: TIMEOUT (wait again), BUSY (another thread waits for the run already), INDEX_OUT_OF_RANGE, DEVICE_LOST.
 */
caldera_status caldera_wait(caldera_executable *executable, uint64_t nanoseconds, caldera_error **error);

/** Sets `*done` to 1 if no run is in flight or the one in flight is over (`caldera_wait` then returns at once), else 0. */
caldera_status caldera_poll(const caldera_executable *executable, uint32_t *done, caldera_error **error);

/**
 * Reads an output of the last run: all of it.
 *
 * Errors: INVALID_ARGUMENT (an unknown output, another size, no run yet), BUSY during a run.
 */
caldera_status caldera_read_output(const caldera_executable *executable, const char *output, void *data, size_t size, caldera_error
    **error);

/**
 * Reads row `row` of an output of the last run: the elements at that index of its first dimension. `size` is the bytes of a row.
 *
 * Errors: INVALID_ARGUMENT (an unknown output, no such row, another size, no run yet), BUSY during a run.
 */
caldera_status caldera_read_output_row(const caldera_executable *executable, const char *output, size_t row, void *data, size_t
    size, caldera_error **error);

/**
 * An independent twin: its own activations, copies of the handles' contents, the same feeds, extent and random numbers. It shares weights and
 * pipelines. Its outputs are bound to no buffer, and it has not run yet.
 *
 * Errors: OUT_OF_MEMORY, DEVICE_LOST, BUSY during a run.
 */
caldera_status caldera_clone(const caldera_executable *executable, caldera_executable **twin, caldera_error **error);

/** Counts and sizes. Set `stats->struct_size` first (`CALDERA_STATS_INIT`): only so much of it is written. */
caldera_status caldera_executable_stats(const caldera_executable *executable, caldera_stats *stats, caldera_error **error);

/**
 * GPU time of each operator of the last run, by count-then-fill in bytes. `format` is a `caldera_profile_format`.
 *
 * Errors: INVALID_ARGUMENT unless compiled with `profiling` and run, UNSUPPORTED on the CPU device.
 */
caldera_status caldera_executable_profile(const caldera_executable *executable, uint32_t format, char *out, size_t *size,
    caldera_error **error);

/* ---- GGUF files and language models ---- */

/**
 * Opens a GGUF file; of a split model, its first part. Free it with `caldera_gguf_free`.
 *
 * Errors: FILE. No size in the file is trusted: a broken file is an error, and costs no memory.
 */
caldera_status caldera_gguf_open(const char *path, caldera_gguf **gguf, caldera_error **error);

/** Frees the file. Graphs and weights made of it live on. NULL is allowed. */
void caldera_gguf_free(caldera_gguf *gguf);

/** A text of the metadata, by count-then-fill in bytes. Errors: INVALID_ARGUMENT if there is no such key, or if it is no text. */
caldera_status caldera_gguf_metadata_text(const caldera_gguf *gguf, const char *key, char *out, size_t *size, caldera_error
    **error);

/**
 * A number of the metadata: integers, floats and bools. Errors: INVALID_ARGUMENT if there is no such key, or if it is no number.
 */
caldera_status caldera_gguf_metadata_number(const caldera_gguf *gguf, const char *key, double *value, caldera_error **error);

/**
 * Any value of the metadata as text, by count-then-fill in bytes: a text as it is, numbers in decimal, bools as true and false, a list in brackets
 * with its texts in quotes. Errors: INVALID_ARGUMENT if there is no such key.
 */
caldera_status caldera_gguf_metadata(const caldera_gguf *gguf, const char *key, char *out, size_t *size, caldera_error **error);

/**
 * The key at place `index` of the metadata, in the order of the file, by count-then-fill in bytes. `*keys` is set to how many there are; it may be
 * NULL. Errors: INVALID_ARGUMENT if there are not so many.
 */
caldera_status caldera_gguf_metadata_key(const caldera_gguf *gguf, size_t index, char *out, size_t *size, size_t *keys,
    caldera_error **error);

/** The tensor of this name. Its name and data live as long as the file. Errors: INVALID_ARGUMENT if there is none. */
caldera_status caldera_gguf_tensor(const caldera_gguf *gguf, const char *name, caldera_gguf_tensor_info *info, caldera_error
    **error);

/** The tensors, by count-then-fill. Names and data live as long as the file. */
caldera_status caldera_gguf_tensors(const caldera_gguf *gguf, caldera_gguf_tensor_info *infos, size_t *count, caldera_error
    **error);

/**
 * Makes the graph of the language model in the file.
 *
 * Inputs, with B the batch and S the tokens of a run: `tokens` i64 [B,S], `position` i32 [B] (where the first token of each sequence stands),
 * with S above 1 also `last` i32 [B] (the row, 0 .. S - 1, whose logits are wanted: rows after it are padding), and for each layer L `cache_k.L` and
 * `cache_v.L` [B, context + spare, kv heads, head size]: bind a buffer to each. A run writes its rows of the caches in place. Recurrent layers have
 * `cache_conv.L` and `cache_ssm.L`, zeros at the start, and outputs `cache_conv.L.next` and `cache_ssm.L.next`: set handle feeds; with B above 1 they
 * have `last` also where S is 1 (-1: nothing counts).
 * A token of -1 is the last one of the vocabulary, as `caldera_gather` counts, and so on; one outside of it fails the run with INDEX_OUT_OF_RANGE.
 * Outputs: `logits` f32 [B, vocabulary] and, with sampling, `token` i64 [B]; with scores: input `targets` i64 [B,S] and output `scores` f32 [B,S].
 * Encoders (bert) have inputs `tokens` i64 [B,S] and `count` i32 [B], outputs `states` f32 [B,S,width] and `embedding` f32 [B,width].
 * Params have the names of the file's tensors: graphs of one file share one `caldera_weights`.
 * Errors: UNSUPPORTED (an architecture that is not known, naming it), FILE (metadata or tensors are missing), INVALID_ARGUMENT.
 */
caldera_status caldera_graph_load_gguf(const caldera_gguf *gguf, const caldera_model_options *options, caldera_graph **graph,
    caldera_error **error);

/**
 * Sets every tensor of the file as a weight under its name, packed as it is in the file. All are set, or none. `progress` may be NULL.
 */
caldera_status caldera_weights_load_gguf(const caldera_weights *weights, const caldera_gguf *gguf, caldera_progress_callback
    progress, void *user, caldera_error **error);

/* ---- Builders: any operator by its name ---- */

/**
 * Adds a node of any operator. `operator_name` is spelled as `caldera_graph_print` shows it ("RmsNorm" is what `caldera_rms_norm` adds);
 * `node_name`, for messages, may be NULL.
 *
 * Inputs are those of the operator's builder, in its order, one that is left out is CALDERA_NO_VALUE; attributes have the names, kinds and spellings that
 * are printed, and those that are not given their defaults. `*n_outputs` is the room in `outputs`
 * on the way in and the number of results on the way out; with `outputs` NULL nothing is added, and the number says what room is needed. Errors:
 * UNSUPPORTED (no such operator), INVALID_GRAPH (an attribute or input that is wrong, missing or unknown), INVALID_ARGUMENT (NULL, too little room:
 * nothing is added then).
 */
caldera_status caldera_graph_node(caldera_graph *graph, const char *operator_name, const char *node_name, const caldera_value
    *inputs, size_t n_inputs, const caldera_attribute *attributes, size_t n_attributes, caldera_value *outputs, size_t *n_outputs,
    caldera_error **error);

/* ---- Builders: one operand, element by element; the result has the shape of x ---- */

/** -x. Integers wrap. */
caldera_status caldera_neg(caldera_graph *graph, caldera_value x, caldera_value *out, caldera_error **error);

/** |x|. Integers wrap: the lowest one stays. */
caldera_status caldera_abs(caldera_graph *graph, caldera_value x, caldera_value *out, caldera_error **error);

/** -1, 0 or 1; NaN stays NaN. */
caldera_status caldera_sign(caldera_graph *graph, caldera_value x, caldera_value *out, caldera_error **error);

/** The largest integer that is not above x. */
caldera_status caldera_floor(caldera_graph *graph, caldera_value x, caldera_value *out, caldera_error **error);

/** The smallest integer that is not below x. */
caldera_status caldera_ceil(caldera_graph *graph, caldera_value x, caldera_value *out, caldera_error **error);

/** The nearest integer, ties to the even one. */
caldera_status caldera_round(caldera_graph *graph, caldera_value x, caldera_value *out, caldera_error **error);

/** x without its fraction. */
caldera_status caldera_trunc(caldera_graph *graph, caldera_value x, caldera_value *out, caldera_error **error);

/** 1 / x. */
caldera_status caldera_recip(caldera_graph *graph, caldera_value x, caldera_value *out, caldera_error **error);

/** The square root; NaN below 0. */
caldera_status caldera_sqrt(caldera_graph *graph, caldera_value x, caldera_value *out, caldera_error **error);

/** 1 / sqrt(x). */
caldera_status caldera_rsqrt(caldera_graph *graph, caldera_value x, caldera_value *out, caldera_error **error);

/** e^x. */
caldera_status caldera_exp(caldera_graph *graph, caldera_value x, caldera_value *out, caldera_error **error);

/** e^x - 1, accurate near 0. */
caldera_status caldera_expm1(caldera_graph *graph, caldera_value x, caldera_value *out, caldera_error **error);

/** The natural logarithm; -infinity at 0, NaN below. */
caldera_status caldera_log(caldera_graph *graph, caldera_value x, caldera_value *out, caldera_error **error);

/** log(1 + x), accurate near 0. */
caldera_status caldera_log1p(caldera_graph *graph, caldera_value x, caldera_value *out, caldera_error **error);

/** The sine of x in radians. */
caldera_status caldera_sin(caldera_graph *graph, caldera_value x, caldera_value *out, caldera_error **error);

/** The cosine of x in radians. */
caldera_status caldera_cos(caldera_graph *graph, caldera_value x, caldera_value *out, caldera_error **error);

/** The tangent of x in radians. */
caldera_status caldera_tan(caldera_graph *graph, caldera_value x, caldera_value *out, caldera_error **error);

/** The arc sine; NaN outside [-1, 1]. */
caldera_status caldera_asin(caldera_graph *graph, caldera_value x, caldera_value *out, caldera_error **error);

/** The arc cosine; NaN outside [-1, 1]. */
caldera_status caldera_acos(caldera_graph *graph, caldera_value x, caldera_value *out, caldera_error **error);

/** The arc tangent. */
caldera_status caldera_atan(caldera_graph *graph, caldera_value x, caldera_value *out, caldera_error **error);

/** The hyperbolic sine. */
caldera_status caldera_sinh(caldera_graph *graph, caldera_value x, caldera_value *out, caldera_error **error);

/** The hyperbolic cosine. */
caldera_status caldera_cosh(caldera_graph *graph, caldera_value x, caldera_value *out, caldera_error **error);

/** The hyperbolic tangent. */
caldera_status caldera_tanh(caldera_graph *graph, caldera_value x, caldera_value *out, caldera_error **error);

/** The inverse hyperbolic sine. */
caldera_status caldera_asinh(caldera_graph *graph, caldera_value x, caldera_value *out, caldera_error **error);

/** The inverse hyperbolic cosine; NaN below 1. */
caldera_status caldera_acosh(caldera_graph *graph, caldera_value x, caldera_value *out, caldera_error **error);

/** The inverse hyperbolic tangent; NaN outside [-1, 1]. */
caldera_status caldera_atanh(caldera_graph *graph, caldera_value x, caldera_value *out, caldera_error **error);

/** The error function. */
caldera_status caldera_erf(caldera_graph *graph, caldera_value x, caldera_value *out, caldera_error **error);

/** 1 / (1 + e^-x). */
caldera_status caldera_sigmoid(caldera_graph *graph, caldera_value x, caldera_value *out, caldera_error **error);

/** max(x, 0); NaN stays NaN. */
caldera_status caldera_relu(caldera_graph *graph, caldera_value x, caldera_value *out, caldera_error **error);

/** 0.5 x erfc(-x / sqrt(2)): the exact form, accurate in the negative tail too. NaN at -infinity. */
caldera_status caldera_gelu(caldera_graph *graph, caldera_value x, caldera_value *out, caldera_error **error);

/** 0.5 x (1 + tanh(u)) with u = sqrt(2 / pi) (x + 0.044715 x^3), accurate in the negative tail too. NaN at -infinity. */
caldera_status caldera_gelu_tanh(caldera_graph *graph, caldera_value x, caldera_value *out, caldera_error **error);

/** x sigmoid(1.702 x). NaN at -infinity. */
caldera_status caldera_gelu_quick(caldera_graph *graph, caldera_value x, caldera_value *out, caldera_error **error);

/** x sigmoid(x). NaN at -infinity. */
caldera_status caldera_silu(caldera_graph *graph, caldera_value x, caldera_value *out, caldera_error **error);

/** log(1 + e^x), without overflow. */
caldera_status caldera_softplus(caldera_graph *graph, caldera_value x, caldera_value *out, caldera_error **error);

/** x tanh(softplus(x)). NaN at -infinity. */
caldera_status caldera_mish(caldera_graph *graph, caldera_value x, caldera_value *out, caldera_error **error);

/** x / 6 + 1/2 limited to [0, 1]. */
caldera_status caldera_hard_sigmoid(caldera_graph *graph, caldera_value x, caldera_value *out, caldera_error **error);

/** x times its hard sigmoid. NaN at -infinity. */
caldera_status caldera_hard_swish(caldera_graph *graph, caldera_value x, caldera_value *out, caldera_error **error);

/** x / (1 + |x|). */
caldera_status caldera_softsign(caldera_graph *graph, caldera_value x, caldera_value *out, caldera_error **error);

/** log(sigmoid(x)), without underflow. */
caldera_status caldera_log_sigmoid(caldera_graph *graph, caldera_value x, caldera_value *out, caldera_error **error);

/** The opposite of a bool. */
caldera_status caldera_not(caldera_graph *graph, caldera_value x, caldera_value *out, caldera_error **error);

/** Every bit of an integer turned. */
caldera_status caldera_bit_not(caldera_graph *graph, caldera_value x, caldera_value *out, caldera_error **error);

/** true where x is NaN: a bool of the shape of x. */
caldera_status caldera_is_nan(caldera_graph *graph, caldera_value x, caldera_value *out, caldera_error **error);

/** true where x is +infinity or -infinity: a bool of the shape of x. */
caldera_status caldera_is_inf(caldera_graph *graph, caldera_value x, caldera_value *out, caldera_error **error);

/* ---- Builders: two operands of one type, element by element; shapes broadcast ---- */

/** a + b. Integers wrap. */
caldera_status caldera_add(caldera_graph *graph, caldera_value a, caldera_value b, caldera_value *out, caldera_error **error);

/** a - b. Integers wrap. */
caldera_status caldera_sub(caldera_graph *graph, caldera_value a, caldera_value b, caldera_value *out, caldera_error **error);

/** a b. Integers wrap. */
caldera_status caldera_mul(caldera_graph *graph, caldera_value a, caldera_value b, caldera_value *out, caldera_error **error);

/** a / b. Integers truncate toward zero, and give 0 where b is 0. */
caldera_status caldera_div(caldera_graph *graph, caldera_value a, caldera_value b, caldera_value *out, caldera_error **error);

/** The larger of a and b; NaN if either is NaN. */
caldera_status caldera_max(caldera_graph *graph, caldera_value a, caldera_value b, caldera_value *out, caldera_error **error);

/** The smaller of a and b; NaN if either is NaN. */
caldera_status caldera_min(caldera_graph *graph, caldera_value a, caldera_value b, caldera_value *out, caldera_error **error);

/**
 * a to the power of b, as pow() of C: (-2)^3 = -8, (-2)^0.5 = NaN. Integers are exact and wrap; a negative exponent gives the
 * exact value truncated, 0 for base 0.
 */
caldera_status caldera_pow(caldera_graph *graph, caldera_value a, caldera_value b, caldera_value *out, caldera_error **error);

/** The rest of a / b with the sign of b (floored division). Integers: 0 where b is 0; floats: NaN. */
caldera_status caldera_mod(caldera_graph *graph, caldera_value a, caldera_value b, caldera_value *out, caldera_error **error);

/** The exact rest of a / b with the sign of a, as fmod() of C. Integers: 0 where b is 0; floats: NaN. */
caldera_status caldera_fmod(caldera_graph *graph, caldera_value a, caldera_value b, caldera_value *out, caldera_error **error);

/** The angle of the point (b, a), in [-pi, pi], as atan2(a, b) of C. */
caldera_status caldera_atan2(caldera_graph *graph, caldera_value a, caldera_value b, caldera_value *out, caldera_error **error);

/** Bits that are set in a and in b. Integers. */
caldera_status caldera_bit_and(caldera_graph *graph, caldera_value a, caldera_value b, caldera_value *out, caldera_error **error);

/** Bits that are set in a or in b. Integers. */
caldera_status caldera_bit_or(caldera_graph *graph, caldera_value a, caldera_value b, caldera_value *out, caldera_error **error);

/** Bits that are set in one of a and b. Integers. */
caldera_status caldera_bit_xor(caldera_graph *graph, caldera_value a, caldera_value b, caldera_value *out, caldera_error **error);

/** a shifted left by b bits. Integers. An amount below 0, or of the width or more, gives 0. */
caldera_status caldera_shl(caldera_graph *graph, caldera_value a, caldera_value b, caldera_value *out, caldera_error **error);

/**
 * a shifted right by b bits; signed values keep their sign. Integers. An amount below 0, or of the width or more, gives 0, and
 * -1 for negative a.
 */
caldera_status caldera_shr(caldera_graph *graph, caldera_value a, caldera_value b, caldera_value *out, caldera_error **error);

/** a = b: a bool. NaN compares as in IEEE 754: only "differs" is true of it. */
caldera_status caldera_eq(caldera_graph *graph, caldera_value a, caldera_value b, caldera_value *out, caldera_error **error);

/** a differs from b: a bool. */
caldera_status caldera_ne(caldera_graph *graph, caldera_value a, caldera_value b, caldera_value *out, caldera_error **error);

/** a < b: a bool. */
caldera_status caldera_lt(caldera_graph *graph, caldera_value a, caldera_value b, caldera_value *out, caldera_error **error);

/** a <= b: a bool. */
caldera_status caldera_le(caldera_graph *graph, caldera_value a, caldera_value b, caldera_value *out, caldera_error **error);

/** a > b: a bool. */
caldera_status caldera_gt(caldera_graph *graph, caldera_value a, caldera_value b, caldera_value *out, caldera_error **error);

/** a >= b: a bool. */
caldera_status caldera_ge(caldera_graph *graph, caldera_value a, caldera_value b, caldera_value *out, caldera_error **error);

/** a and b, of bools. */
caldera_status caldera_and(caldera_graph *graph, caldera_value a, caldera_value b, caldera_value *out, caldera_error **error);

/** a or b, of bools. */
caldera_status caldera_or(caldera_graph *graph, caldera_value a, caldera_value b, caldera_value *out, caldera_error **error);

/** either a or b, but not both, of bools. */
caldera_status caldera_xor(caldera_graph *graph, caldera_value a, caldera_value b, caldera_value *out, caldera_error **error);

/* ---- Builders: other operators, element by element ---- */

/**
 * x as another element type, a `caldera_type`.
 * Float to integer truncates toward zero and stops at the type's limits, NaN gives 0. Integer to integer wraps. To bool: x is
 * not 0. To a narrower float: rounded to nearest even, overflow gives infinity.
 */
caldera_status caldera_cast(caldera_graph *graph, caldera_value x, uint32_t to, caldera_value *out, caldera_error **error);

/** a where the condition (a bool) is true, b elsewhere. The three shapes broadcast. */
caldera_status caldera_where(caldera_graph *graph, caldera_value condition, caldera_value a, caldera_value b, caldera_value *out,
    caldera_error **error);

/** a b + c. The three shapes broadcast. */
caldera_status caldera_fma(caldera_graph *graph, caldera_value a, caldera_value b, caldera_value c, caldera_value *out,
    caldera_error **error);

/**
 * x limited to [min, max]; -INFINITY and INFINITY leave a side open. NaN stays NaN; min above max gives max.
 * For integers min is rounded up and max down, and both are limited to the type's range. Errors: INVALID_GRAPH if min or max is NaN.
 */
caldera_status caldera_clip(caldera_graph *graph, caldera_value x, double min, double max, caldera_value *out, caldera_error
    **error);

/** x where x >= 0, alpha x below. (ONNX takes alpha = 0.01 if it is not given.) */
caldera_status caldera_leaky_relu(caldera_graph *graph, caldera_value x, double alpha, caldera_value *out, caldera_error **error);

/** x where x >= 0, alpha (e^x - 1) below. (ONNX takes alpha = 1 if it is not given.) */
caldera_status caldera_elu(caldera_graph *graph, caldera_value x, double alpha, caldera_value *out, caldera_error **error);

/** max(0, x) + min(0, alpha (e^(x / alpha) - 1)). (ONNX takes alpha = 1 if it is not given.) */
caldera_status caldera_celu(caldera_graph *graph, caldera_value x, double alpha, caldera_value *out, caldera_error **error);

/**
 * gamma x where x > 0, gamma alpha (e^x - 1) elsewhere. (ONNX takes alpha = 1.6732632 and gamma = 1.050701 if they are
 * not given.)
 */
caldera_status caldera_selu(caldera_graph *graph, caldera_value x, double alpha, double gamma, caldera_value *out, caldera_error
    **error);

/** x where x > alpha, 0 elsewhere; NaN stays NaN. (ONNX takes alpha = 1 if it is not given.) */
caldera_status caldera_thresholded_relu(caldera_graph *graph, caldera_value x, double alpha, caldera_value *out, caldera_error
    **error);

/** x where x >= 0, slope x below. The slope broadcasts to the shape of x. */
caldera_status caldera_prelu(caldera_graph *graph, caldera_value x, caldera_value slope, caldera_value *out, caldera_error **error);

/* ---- Builders: matrix products ---- */

/**
 * The matrix product of a [.., M, K] and b [.., K, N]: [.., M, N]. Floats.
 * The leading axes broadcast; an operand of rank 1 is a row (a) or a column (b), whose axis the result does not have.
 * `transpose_a` 1: a is [.., K, M]. `transpose_b` 1: b is [.., N, K], as weights are stored on disk. Transposing needs rank 2
 * or more. K = 0 gives zeros.
 */
caldera_status caldera_matmul(caldera_graph *graph, caldera_value a, caldera_value b, uint32_t transpose_a, uint32_t transpose_b,
    caldera_value *out, caldera_error **error);

/**
 * Sums of products over the axes `a_contract` of a and `b_contract` of b, pair by pair, for each index of the axes `a_batch`
 * and `b_batch`, pair by pair. Floats.
 * The axes of the result: the batch axes, then those of a that are left, then those of b.
 */
caldera_status caldera_dot_general(caldera_graph *graph, caldera_value a, caldera_value b, const int64_t *a_contract, const int64_t
    *b_contract, uint32_t n_contract, const int64_t *a_batch, const int64_t *b_batch, uint32_t n_batch, caldera_value *out,
    caldera_error **error);

/**
 * act(x w + bias) in one kernel: x [.., K], w [K, N] (with `transpose_b` 1: [N, K]), bias [N]; the result is [.., N]. Floats.
 * `act` is a `caldera_activation`.
 */
caldera_status caldera_matmul_bias_act(caldera_graph *graph, caldera_value x, caldera_value w, caldera_value bias, uint32_t
    transpose_b, uint32_t act, caldera_value *out, caldera_error **error);

/** x w + scale (x a) b: x [.., K], w [K, N], a [K, R], b [R, N]; the result is [.., N]. Floats. */
caldera_status caldera_lora_matmul(caldera_graph *graph, caldera_value x, caldera_value w, caldera_value a, caldera_value b, double
    scale, caldera_value *out, caldera_error **error);

/**
 * Row i of the result is row i of x times the matrix w[idx[i]]: x [M, K], w [E, K, N] (with `transpose_b` 1: [E, N, K]), idx
 * [M] of integers; the result is [M, N].
 * A run whose idx is outside 0 .. E - 1 fails with INDEX_OUT_OF_RANGE.
 */
caldera_status caldera_grouped_matmul(caldera_graph *graph, caldera_value x, caldera_value w, caldera_value idx, uint32_t
    transpose_b, caldera_value *out, caldera_error **error);

/* ---- Builders: packed weights ---- */

/**
 * x [.., K] times packed weights, which are never expanded in memory: [.., N]. `scheme` is a `caldera_scheme`.
 * CALDERA_SCHEME_BLOCK: w is a param [N, K] of a block type (CALDERA_Q4_K and so on), and the result is x w^T; `scale` and
 * `zero` are CALDERA_NO_VALUE, `block` is 0. The other schemes: w is row-major over K; `scale` and `zero` are [ceil(K /
 * block), N] of the type of x ([N] for the fp8 schemes), `block` is how many rows share one (0 where the scheme says it).
 */
caldera_status caldera_dequant_matmul(caldera_graph *graph, caldera_value x, caldera_value w, caldera_value scale, caldera_value
    zero, uint32_t scheme, uint32_t block, caldera_value *out, caldera_error **error);

/**
 * Row i of the result is row i of x [M, K] times the transpose of the packed matrix w[idx[i]]: w is a param [E, N, K] of a
 * block type, idx [M] of integers; the result is [M, N].
 * A run whose idx is outside 0 .. E - 1 fails with INDEX_OUT_OF_RANGE.
 */
caldera_status caldera_dequant_grouped_matmul(caldera_graph *graph, caldera_value x, caldera_value w, caldera_value idx,
    caldera_value *out, caldera_error **error);

/** Packed weights [.., N, K] expanded: floats of the type `to`, a `caldera_type` (0: f32). `transpose` 1: [.., K, N]. */
caldera_status caldera_dequantize(caldera_graph *graph, caldera_value w, uint32_t to, uint32_t transpose, caldera_value *out,
    caldera_error **error);

/** `caldera_dequantize` for the packed weights of experts: [E, N, K]. */
caldera_status caldera_dequant_moe_weights(caldera_graph *graph, caldera_value w, uint32_t to, uint32_t transpose, caldera_value
    *out, caldera_error **error);

/**
 * Rows of the packed matrix w [N, K] at the indices, expanded: the dimensions of idx, then K, of the float type `to`, a
 * `caldera_type` (0: f32). idx is i32, i64, u32 or u64; negative indices count from the end. The embedding of tokens.
 * A run whose idx is outside -N .. N - 1 fails with INDEX_OUT_OF_RANGE.
 */
caldera_status caldera_dequant_gather(caldera_graph *graph, caldera_value w, caldera_value idx, uint32_t to, caldera_value *out,
    caldera_error **error);

/* ---- Builders: reductions, orders, softmax ---- */

/**
 * Reduces x over `axes`, in any order; none: over all. `kind` is a `caldera_reduce_kind`.
 * `keep_dims` 1: the axes stay, with extent 1. MEAN, L2, LOG_SUM and LOG_SUM_EXP take floats, the others integers too, which
 * wrap. Errors: INVALID_GRAPH for an axis that is out of range or named twice.
 */
caldera_status caldera_reduce(caldera_graph *graph, caldera_value x, uint32_t kind, const int64_t *axes, uint32_t n_axes, uint32_t
    keep_dims, caldera_value *out, caldera_error **error);

/**
 * Where the largest element along `axis` is: i64. Of equal ones the first, with `select_last` 1 the last. The first NaN wins
 * over all. Errors: INVALID_GRAPH if the axis has extent 0.
 */
caldera_status caldera_argmax(caldera_graph *graph, caldera_value x, int64_t axis, uint32_t keep_dims, uint32_t select_last,
    caldera_value *out, caldera_error **error);

/**
 * Where the smallest element along `axis` is: i64. Of equal ones the first, with `select_last` 1 the last. The first NaN wins
 * over all. Errors: INVALID_GRAPH if the axis has extent 0.
 */
caldera_status caldera_argmin(caldera_graph *graph, caldera_value x, int64_t axis, uint32_t keep_dims, uint32_t select_last,
    caldera_value *out, caldera_error **error);

/**
 * Running sums along `axis`: element i is the sum of elements 0 .. i. `exclusive` 1: without element i. `reverse` 1: from the
 * end. Integers wrap.
 */
caldera_status caldera_cumsum(caldera_graph *graph, caldera_value x, int64_t axis, uint32_t exclusive, uint32_t reverse,
    caldera_value *out, caldera_error **error);

/**
 * The k largest elements along `axis` (with `largest` 0: the smallest), in order, and their indices (i64). Of equal ones the
 * smaller index comes first; NaN counts as the largest. `sorted` 0 allows any order.
 * `values` and `indices` may each be NULL. Errors: INVALID_GRAPH if k is above the extent of the axis.
 */
caldera_status caldera_topk(caldera_graph *graph, caldera_value x, int64_t k, int64_t axis, uint32_t largest, uint32_t sorted,
    caldera_value *values, caldera_value *indices, caldera_error **error);

/** e^(x - max) / sum of e^(x - max) along `axis`. Floats. A row that is all -infinity gives zeros; a row with NaN gives NaN. */
caldera_status caldera_softmax(caldera_graph *graph, caldera_value x, int64_t axis, caldera_value *out, caldera_error **error);

/** The logarithm of the softmax along `axis`. Floats. A row that is all -infinity gives NaN. */
caldera_status caldera_log_softmax(caldera_graph *graph, caldera_value x, int64_t axis, caldera_value *out, caldera_error **error);

/* ---- Builders: random numbers (Philox4x32-10; the same on every device) ---- */

/**
 * Draws one index a row: logits [B, V] to i64 [B].
 * In this order: logits / temperature; the `top_k` largest (0: all); softmax; the smallest set of the most likely that reaches
 * `top_p` (1: all, 0: one); those with at least `min_p` times the highest probability (0: all); the rest made to sum to 1; a
 * draw. `temperature` 0 takes the largest logit. Random operators with different keys draw independent numbers;
 * `caldera_set_rng` sets the seed. NaN is never chosen; a row with no logit above -infinity gives 0.
 */
caldera_status caldera_sample(caldera_graph *graph, caldera_value logits, double temperature, int64_t top_k, double top_p, double
    min_p, uint32_t key, caldera_value *out, caldera_error **error);

/**
 * Random numbers in [low, high), all of them multiples of (high - low) / 2^24 above low.
 * The shape is that of `like`, or, where that is CALDERA_NO_VALUE, `dims`. `type` is a `caldera_type` of floats; 0: that of
 * `like`, or f32. Operators with different keys draw independent numbers.
 */
caldera_status caldera_rng_uniform(caldera_graph *graph, caldera_value like, uint32_t type, const int64_t *dims, uint32_t rank,
    double low, double high, uint32_t key, caldera_value *out, caldera_error **error);

/**
 * Normally distributed random numbers with this mean and standard deviation.
 * The shape is that of `like`, or, where that is CALDERA_NO_VALUE, `dims`. `type` is a `caldera_type` of floats; 0: that of
 * `like`, or f32. Operators with different keys draw independent numbers.
 */
caldera_status caldera_rng_normal(caldera_graph *graph, caldera_value like, uint32_t type, const int64_t *dims, uint32_t rank,
    double mean, double std, uint32_t key, caldera_value *out, caldera_error **error);

/* ---- Builders: normalisations of floats; eps keeps the divisor above 0 ---- */

/**
 * (x - mean) / sqrt(variance + eps) gamma + beta over the axes `axis` .. last, with the biased variance, in two passes: right
 * also where the mean is far above the spread.
 * gamma and beta have the shape of those axes; beta may be CALDERA_NO_VALUE.
 */
caldera_status caldera_layer_norm(caldera_graph *graph, caldera_value x, caldera_value gamma, caldera_value beta, int64_t axis,
    double eps, caldera_value *out, caldera_error **error);

/**
 * x / sqrt(mean of x^2 + eps) gamma + beta over the axes `axis` .. last. Right also where x^2 leaves the range of f32.
 * gamma and beta have the shape of those axes; beta may be CALDERA_NO_VALUE.
 */
caldera_status caldera_rms_norm(caldera_graph *graph, caldera_value x, caldera_value gamma, caldera_value beta, int64_t axis, double
    eps, caldera_value *out, caldera_error **error);

/**
 * Layer normalisation of each of `groups` groups of channels: x [N, C, ..], gamma [C], beta [C]. C must be a multiple of
 * `groups`.
 */
caldera_status caldera_group_norm(caldera_graph *graph, caldera_value x, caldera_value gamma, caldera_value beta, uint32_t groups,
    double eps, caldera_value *out, caldera_error **error);

/** Layer normalisation over the channels at each place: x [N, C, H, W], gamma [C], beta [C]. */
caldera_status caldera_layer_norm2d(caldera_graph *graph, caldera_value x, caldera_value gamma, caldera_value beta, double eps,
    caldera_value *out, caldera_error **error);

/** (x - mean) / sqrt(variance + eps) gamma + beta for each channel: x [N, C, ..], the others [C]. */
caldera_status caldera_batch_norm(caldera_graph *graph, caldera_value x, caldera_value gamma, caldera_value beta, caldera_value
    mean, caldera_value variance, double eps, caldera_value *out, caldera_error **error);

/** Layer normalisation of each channel of each item by itself: x [N, C, ..], gamma [C], beta [C]. */
caldera_status caldera_instance_norm(caldera_graph *graph, caldera_value x, caldera_value gamma, caldera_value beta, double eps,
    caldera_value *out, caldera_error **error);

/** x / max(sqrt(sum of x^2), eps) along `axis`. */
caldera_status caldera_l2_norm(caldera_graph *graph, caldera_value x, int64_t axis, double eps, caldera_value *out, caldera_error
    **error);

/**
 * sum = x + residual + bias; out = the layer normalisation of the sum over the last axis, times gamma, plus beta. `bias`
 * (added to the sum), `beta` and both results may be left out: CALDERA_NO_VALUE, NULL. The normalisation takes the sum before
 * it is rounded.
 */
caldera_status caldera_residual_layer_norm(caldera_graph *graph, caldera_value x, caldera_value residual, caldera_value bias,
    caldera_value gamma, caldera_value beta, double eps, caldera_value *out, caldera_value *sum, caldera_error **error);

/**
 * sum = x + residual + bias; out = sum / sqrt(mean of sum^2 + eps) gamma + beta over the last axis. `bias` (added to the sum),
 * `beta` and both results may be left out: CALDERA_NO_VALUE, NULL. The normalisation takes the sum before it is rounded.
 */
caldera_status caldera_residual_rms_norm(caldera_graph *graph, caldera_value x, caldera_value residual, caldera_value bias,
    caldera_value gamma, caldera_value beta, double eps, caldera_value *out, caldera_value *sum, caldera_error **error);

/* ---- Builders: transformers ---- */

/**
 * softmax(scale q k^T + mask) v for each head: grouped-query attention. Floats.
 * q [B, S, heads, D], k [B, T, kv heads, D], v [B, T, kv heads, Dv] (layout BSHD; BHSD has heads before the sequence); the
 * result is [B, S, heads, Dv], in the same layout.
 * `mask`: for CALDERA_MASK_CUSTOM, of a shape that broadcasts to [B, 1, S, T], or [B, T]; for CALDERA_MASK_BIAS, to [B, heads,
 * S, T]; else CALDERA_NO_VALUE. `kv_len` i32 [1] or [B]: how many keys there are, in place of T; the rest of k and v is not
 * read. It counts the rows of k as they come to this operator: where k is the result of `caldera_kv_append`, those appended in
 * the same run too. The last query stands at the last key. `sinks` [heads]: one more logit of each query, which no value has.
 * All three may be CALDERA_NO_VALUE.
 * A query that sees no key gives zeros. A run fails with INDEX_OUT_OF_RANGE if kv_len is above T.
 */
caldera_status caldera_attention(caldera_graph *graph, caldera_value q, caldera_value k, caldera_value v, caldera_value mask,
    caldera_value kv_len, caldera_value sinks, const caldera_attention_options *options, caldera_value *out, caldera_error **error);

/**
 * Turns pairs (x1, x2) of each head to (x1 c - x2 s, x2 c + x1 s): rotary positions. Floats.
 * x [B, S, H D], [B, S, H, D] or [B, H, S, D], as `layout`, a `caldera_layout`, says (0: BSH); rank 2 is B = 1. `style` is a
 * `caldera_rope_style`. `n_rot` (0: `head_dim`) is how many dimensions of a head turn; the others are copied. cos and sin
 * [rows, n_rot / 2] or [rows, D / 2].
 * The row is `positions` (i32 or i64, [S] or [B, S]), or, where that is CALDERA_NO_VALUE, the index in the sequence (the index
 * of the token where there are B S rows). A position outside the rows fails the run with INDEX_OUT_OF_RANGE.
 */
caldera_status caldera_rope(caldera_graph *graph, caldera_value x, caldera_value cos, caldera_value sin, caldera_value positions,
    uint32_t head_dim, uint32_t n_rot, uint32_t style, uint32_t layout, caldera_value *out, caldera_error **error);

/**
 * A whole attention layer: one product for q, k and v, rotary positions (NeoX), attention with a custom mask, and the product
 * at the end.
 * hidden [B, S, H], qkv_w [H, 3 heads D], out_w [heads D, H]. `qkv_b` with `out_b`, and `cos` with `sin`, may be
 * CALDERA_NO_VALUE.
 */
caldera_status caldera_fused_attention_block(caldera_graph *graph, caldera_value hidden, caldera_value qkv_w, caldera_value out_w,
    caldera_value mask, caldera_value qkv_b, caldera_value out_b, caldera_value cos, caldera_value sin, uint32_t num_heads, uint32_t
    head_dim, caldera_value *out, caldera_error **error);

/**
 * The cache [B, C, ..] with `rows` [B, n, ..] written at positions at .. at + n - 1; at is i32 [1] or [B].
 * Bind a buffer to the input that the cache is, and to the output that this result is: the rows are then written in place, and
 * nothing else is copied. `ring` 1: positions are taken modulo C. Otherwise a row past the end fails the run with
 * INDEX_OUT_OF_RANGE.
 */
caldera_status caldera_kv_append(caldera_graph *graph, caldera_value cache, caldera_value rows, caldera_value at, uint32_t ring,
    caldera_value *out, caldera_error **error);

/**
 * act(gate) up. `act` is a `caldera_glu_activation`.
 * With `up` CALDERA_NO_VALUE, `gate` holds both halves in its last axis: the gate first if `gate_first` is 1, last if it is 0.
 * With two operands `gate_first` must be 1.
 */
caldera_status caldera_swiglu(caldera_graph *graph, caldera_value gate, caldera_value up, uint32_t act, uint32_t gate_first,
    caldera_value *out, caldera_error **error);

/* ---- Builders: moving data ---- */

/** The same elements in other dimensions. 0 takes the dimension of x, one -1 what is left. No data moves. */
caldera_status caldera_reshape(caldera_graph *graph, caldera_value x, const int64_t *dims, uint32_t rank, caldera_value *out,
    caldera_error **error);

/** The bits of x as another element type of the same width, a `caldera_type`. No data moves. */
caldera_status caldera_bit_cast(caldera_graph *graph, caldera_value x, uint32_t to, caldera_value *out, caldera_error **error);

/** x. No data moves. */
caldera_status caldera_stop_gradient(caldera_graph *graph, caldera_value x, caldera_value *out, caldera_error **error);

/** Axis i of the result is axis perm[i] of x. */
caldera_status caldera_transpose(caldera_graph *graph, caldera_value x, const int64_t *perm, uint32_t rank, caldera_value *out,
    caldera_error **error);

/** The elements start .. start + len - 1 of `axis`. */
caldera_status caldera_narrow(caldera_graph *graph, caldera_value x, int64_t axis, int64_t start, int64_t len, caldera_value *out,
    caldera_error **error);

/**
 * The elements from starts[i], by steps of steps[i], before ends[i], of axis axes[i], for each of `count` axes. As Slice of
 * ONNX: negative numbers count from the end, numbers beyond an end stop there, negative steps go backward.
 * `axes` NULL: the first `count` axes. `steps` NULL: 1.
 */
caldera_status caldera_slice(caldera_graph *graph, caldera_value x, const int64_t *starts, const int64_t *ends, const int64_t *axes,
    const int64_t *steps, uint32_t count, caldera_value *out, caldera_error **error);

/** `count` tensors beside each other along `axis`; their other dimensions and their types are the same. */
caldera_status caldera_concat(caldera_graph *graph, const caldera_value *xs, uint32_t count, int64_t axis, caldera_value *out,
    caldera_error **error);

/** x cut along `axis` into `count` parts of these sizes, which together are its extent. `outs` has room for `count` values. */
caldera_status caldera_split(caldera_graph *graph, caldera_value x, int64_t axis, const int64_t *sizes, uint32_t count,
    caldera_value *outs, caldera_error **error);

/** x broadcast with these dimensions, as in NumPy. */
caldera_status caldera_expand(caldera_graph *graph, caldera_value x, const int64_t *dims, uint32_t rank, caldera_value *out,
    caldera_error **error);

/** x repeated repeats[i] times along axis i. */
caldera_status caldera_tile(caldera_graph *graph, caldera_value x, const int64_t *repeats, uint32_t rank, caldera_value *out,
    caldera_error **error);

/**
 * x with pads[i] elements before and pads[rank + i] elements after axis i; negative ones crop. `count` is twice the rank.
 * `mode` is a `caldera_pad_mode`; `value` is for CALDERA_PAD_CONSTANT.
 * Errors: INVALID_GRAPH if CALDERA_PAD_REFLECT is to add more than the extent of the axis less one.
 */
caldera_status caldera_pad(caldera_graph *graph, caldera_value x, const int64_t *pads, uint32_t count, uint32_t mode, double value,
    caldera_value *out, caldera_error **error);

/** x with the order of these axes turned round. */
caldera_status caldera_reverse(caldera_graph *graph, caldera_value x, const int64_t *axes, uint32_t n_axes, caldera_value *out,
    caldera_error **error);

/* ---- Builders: moving data by indices, and making it ---- */

/**
 * The elements of data at the indices along `axis`: its dimensions before the axis, then those of idx, then its dimensions
 * after the axis. Negative indices count from the end. Rows of packed weights stay packed.
 */
caldera_status caldera_gather(caldera_graph *graph, caldera_value data, caldera_value idx, int64_t axis, caldera_value *out,
    caldera_error **error);

/** out[c] = data[c, but idx[c] along `axis`], for each place c of idx. Negative indices count from the end. */
caldera_status caldera_gather_elements(caldera_graph *graph, caldera_value data, caldera_value idx, int64_t axis, caldera_value
    *out, caldera_error **error);

/** The parts of data at the coordinates in the last axis of idx. The first `batch_dims` axes of both go together. */
caldera_status caldera_gather_nd(caldera_graph *graph, caldera_value data, caldera_value idx, int64_t batch_dims, caldera_value
    *out, caldera_error **error);

/**
 * `rows` rows of zeros, to which row i of the updates [U, ..] is added at idx[i], for each i of idx [U]. The same bits at
 * every run.
 */
caldera_status caldera_scatter_add(caldera_graph *graph, caldera_value updates, caldera_value idx, int64_t rows, caldera_value *out,
    caldera_error **error);

/**
 * data, where the element at c, but idx[c] along `axis`, is combined with updates[c], for each place c of idx. `reduction` is
 * a `caldera_scatter_reduction`. The same bits at every run.
 */
caldera_status caldera_scatter_elements(caldera_graph *graph, caldera_value data, caldera_value idx, caldera_value updates, int64_t
    axis, uint32_t reduction, caldera_value *out, caldera_error **error);

/**
 * data, where the part at the coordinates in the last axis of idx is combined with that of the updates. `reduction` is a
 * `caldera_scatter_reduction`. The same bits at every run.
 */
caldera_status caldera_scatter_nd(caldera_graph *graph, caldera_value data, caldera_value idx, caldera_value updates, uint32_t
    reduction, caldera_value *out, caldera_error **error);

/**
 * A new axis of `depth` elements at `axis`: values[1] where the coordinate is the index, values[0] elsewhere. Negative indices
 * count from the end; one outside -depth .. depth - 1 gives values[0] only.
 */
caldera_status caldera_one_hot(caldera_graph *graph, caldera_value idx, caldera_value values, int64_t depth, int64_t axis,
    caldera_value *out, caldera_error **error);

/**
 * The upper (`upper` 1) or lower triangle of the matrices in the last two axes, zeros elsewhere. The triangle ends at the
 * diagonal that is k right of the main one.
 */
caldera_status caldera_trilu(caldera_graph *graph, caldera_value x, int64_t k, uint32_t upper, caldera_value *out, caldera_error
    **error);

/**
 * Ones on the diagonal that is k right of the main one, zeros elsewhere, in the dimensions of the matrix x. `dtype` is a
 * `caldera_type`; 0: that of x.
 */
caldera_status caldera_eye_like(caldera_graph *graph, caldera_value x, int64_t k, uint32_t dtype, caldera_value *out, caldera_error
    **error);

/**
 * start, start + delta, .. before limit: [max(0, ceil((limit - start) / delta))]. The three point to one number each, of the
 * `caldera_type` `type`. Errors: INVALID_GRAPH if delta is 0, one of them is NaN, or there are 2e9 numbers or more.
 */
caldera_status caldera_range(caldera_graph *graph, uint32_t type, const void *start, const void *limit, const void *delta,
    caldera_value *out, caldera_error **error);

/* ---- Builders: pictures and other grids ---- */

/**
 * Convolution: x [N, Cin, spatial..], w [Cout, Cin / groups, kernel..], bias [Cout] or CALDERA_NO_VALUE; the result is [N,
 * Cout, spatial..]. Floats. 1, 2 or 3 spatial axes.
 */
caldera_status caldera_conv(caldera_graph *graph, caldera_value x, caldera_value w, caldera_value bias, const caldera_conv_options
    *options, caldera_value *out, caldera_error **error);

/**
 * The transpose of a convolution: x [N, Cin, spatial..], w [Cin, Cout / groups, kernel..], bias [Cout] or CALDERA_NO_VALUE;
 * the result is [N, Cout, spatial..]. Floats. 1, 2 or 3 spatial axes.
 */
caldera_status caldera_conv_transpose(caldera_graph *graph, caldera_value x, caldera_value w, caldera_value bias, const
    caldera_conv_options *options, caldera_value *out, caldera_error **error);

/** Windows of x [N, C, spatial..], each made one element. */
caldera_status caldera_pool(caldera_graph *graph, caldera_value x, const caldera_pool_options *options, caldera_value *out,
    caldera_error **error);

/** x with other dimensions, interpolated as Resize of ONNX does. */
caldera_status caldera_resize(caldera_graph *graph, caldera_value x, const caldera_resize_options *options, caldera_value *out,
    caldera_error **error);

/** Each element of x [N, C, H, W] four times: [N, C, 2 H, 2 W]. */
caldera_status caldera_resize_nearest2x(caldera_graph *graph, caldera_value x, caldera_value *out, caldera_error **error);

/**
 * The windows of x [N, C, H, W] as rows: (n, i, j) by (c, k, l). Each list has two numbers, for H and W; padding is on both
 * sides, with zeros.
 */
caldera_status caldera_im2col(caldera_graph *graph, caldera_value x, const int64_t *kernel, const int64_t *stride, const int64_t
    *padding, const int64_t *dilation, caldera_value *out, caldera_error **error);

/**
 * Samples x [N, C, spatial..] at the places in grid [N, out.., axes], which are in [-1, 1], x first: [N, C, out..]. `mode` is
 * a `caldera_interpolation` (0: linear), `padding_mode` a `caldera_border`. `align_corners` 1: -1 and 1 are the middles of the
 * outermost elements, not their outer edges.
 */
caldera_status caldera_grid_sample(caldera_graph *graph, caldera_value x, caldera_value grid, uint32_t mode, uint32_t padding_mode,
    uint32_t align_corners, caldera_value *out, caldera_error **error);

/**
 * Cuts boxes out of x [N, C, H, W] and resamples them: [R, C, output_height, output_width]. rois [R, 4] are x1, y1, x2, y2;
 * batch [R] of integers says which picture.
 */
caldera_status caldera_roi_align(caldera_graph *graph, caldera_value x, caldera_value rois, caldera_value batch, const
    caldera_roi_align_options *options, caldera_value *out, caldera_error **error);

/**
 * Channels of x [N, C, H, W] become blocks of pixels: [N, C / b^2, H b, W b]. The channel axis is split into (block row, block
 * column, channel); with `crd` 1 into (channel, block row, block column).
 */
caldera_status caldera_depth_to_space(caldera_graph *graph, caldera_value x, int64_t blocksize, uint32_t crd, caldera_value *out,
    caldera_error **error);

/** Blocks of pixels of x [N, C, H, W] become channels, as (block row, block column, channel): [N, C b^2, H / b, W / b]. */
caldera_status caldera_space_to_depth(caldera_graph *graph, caldera_value x, int64_t blocksize, caldera_value *out, caldera_error
    **error);

/* ---- Builders: recurrent networks and state-space models ---- */

/**
 * Long short-term memory: x [B, S, I] to y [B, S, D H] and the last states h and c [layers D, B, H], with D = 2 if
 * `bidirectional` is 1, else 1.
 * Gates are in the order input, forget, cell, output. w_ih, w_hh and bias hold one block for each layer and direction, layer
 * by layer: [4 H, I] (after the first layer [4 H, D H]), [4 H, H] and [4 H]. h0 and c0 [layers D, B, H] may be
 * CALDERA_NO_VALUE: zeros. `lengths` i32 [B]: how many steps of each item count; the result is 0 after them. The reverse
 * direction starts at the last step that counts. `peepholes` may be CALDERA_NO_VALUE; else it holds blocks [3 H] of the gates
 * input, forget and output: they add p c to the sums of the first two, and p times the new c to that of the output gate. y, h
 * and c may each be NULL.
 */
caldera_status caldera_lstm(caldera_graph *graph, caldera_value x, caldera_value w_ih, caldera_value w_hh, caldera_value bias,
    caldera_value h0, caldera_value c0, caldera_value lengths, caldera_value peepholes, uint32_t hidden, uint32_t layers, uint32_t
    bidirectional, caldera_value *y, caldera_value *h, caldera_value *c, caldera_error **error);

/**
 * Gated recurrent unit: x [B, S, I] to y [B, S, D H] and the last state h [layers D, B, H], with D = 2 if `bidirectional` is
 * 1, else 1.
 * Gates are in the order reset, update, new: h' = (1 - z) n + z h, with n = tanh(W x + b_in + r (W h + b_hn))
 * (`linear_before_reset` 1) or tanh(W x + b_in + W (r h) + b_hn) (0). Blocks as in `caldera_lstm`, with 3 H rows. h0 may be
 * CALDERA_NO_VALUE: zeros. `lengths` i32 [B]: how many steps of each item count; the result is 0 after them. y and h may each
 * be NULL.
 */
caldera_status caldera_gru(caldera_graph *graph, caldera_value x, caldera_value w_ih, caldera_value w_hh, caldera_value b_ih,
    caldera_value b_hh, caldera_value h0, caldera_value lengths, uint32_t hidden, uint32_t layers, uint32_t bidirectional, uint32_t
    linear_before_reset, caldera_value *y, caldera_value *h, caldera_error **error);

/**
 * A plain recurrent network, h' = act(W x + W h + bias): x [B, S, I] to y [B, S, D H] and the last state h [layers D, B, H],
 * with D = 2 if `bidirectional` is 1, else 1. `act` is a `caldera_rnn_activation`.
 * Blocks as in `caldera_lstm`, with H rows. h0 may be CALDERA_NO_VALUE: zeros. `lengths` i32 [B]: how many steps of each item
 * count; the result is 0 after them. y and h may each be NULL.
 */
caldera_status caldera_rnn(caldera_graph *graph, caldera_value x, caldera_value w_ih, caldera_value w_hh, caldera_value bias,
    caldera_value h0, caldera_value lengths, uint32_t hidden, uint32_t layers, uint32_t bidirectional, uint32_t act, caldera_value
    *y, caldera_value *h, caldera_error **error);

/**
 * The scan of a selective state-space model: h = e^(delta a) h + delta b x; y = sum over n of c h, plus d x.
 * x and delta [B, S, H], a [H, N], b and c [B, S, N], d [H], state [B, H, N]; y [B, S, H], the last state [B, H, N]. d and
 * state may be CALDERA_NO_VALUE, y and last NULL.
 */
caldera_status caldera_selective_scan(caldera_graph *graph, caldera_value x, caldera_value delta, caldera_value a, caldera_value b,
    caldera_value c, caldera_value d, caldera_value state, caldera_value *y, caldera_value *last, caldera_error **error);

/**
 * The scan of Mamba 2: S = e^(dt a) S + dt x b^T; y = S c.
 * x [B, S, H, P], dt [B, S, H], a [H], b and c [B, S, G, N] (head h uses group h / (H / G)), state [B, H, P, N]; y [B, S, H,
 * P], the last state [B, H, P, N]. state may be CALDERA_NO_VALUE, y and last NULL.
 */
caldera_status caldera_mamba2(caldera_graph *graph, caldera_value x, caldera_value dt, caldera_value a, caldera_value b,
    caldera_value c, caldera_value state, caldera_value *y, caldera_value *last, caldera_error **error);

/**
 * The gated delta rule: S = e^g S; d = beta (v - S^T k); S = S + k d^T; y = scale S^T q.
 * q and k [B, S, H, N], v [B, S, H, M], g [B, S, H] or [B, S, H, N], beta [B, S, H], state [B, H, N, M]; y [B, S, H, M], the
 * last state [B, H, N, M]. `scale` 0: 1 / sqrt(N). state may be CALDERA_NO_VALUE, y and last NULL.
 */
caldera_status caldera_gated_delta_net(caldera_graph *graph, caldera_value q, caldera_value k, caldera_value v, caldera_value g,
    caldera_value beta, caldera_value state, double scale, caldera_value *y, caldera_value *last, caldera_error **error);

/**
 * A convolution of each channel with what came before: x [B, S, C], w [C, K], whose last column is for the present step, bias
 * [C], state [B, C, K - 1] with the inputs before the first step, the oldest first; y [B, S, C], the last state [B, C, K - 1].
 * `act`, a `caldera_activation`, is applied to y. bias and state may be CALDERA_NO_VALUE, y and last NULL.
 */
caldera_status caldera_causal_conv1d(caldera_graph *graph, caldera_value x, caldera_value w, caldera_value bias, caldera_value
    state, uint32_t act, caldera_value *y, caldera_value *last, caldera_error **error);

/* ---- Builders: Fourier transforms ---- */

/**
 * The discrete Fourier transform along `axis`, of any length from 1 on; `inverse` 1: the inverse one. `norm` is a
 * `caldera_fft_norm`.
 * x is c64, or f32 with a last axis of n real parts, then n imaginary parts; the result has its type and shape.
 */
caldera_status caldera_fft(caldera_graph *graph, caldera_value x, int64_t axis, uint32_t inverse, uint32_t norm, caldera_value *out,
    caldera_error **error);

/**
 * The Fourier transform of n real numbers along the last axis: f32 [.., L] to c64 [.., n / 2 + 1]. L is cropped, or padded
 * with zeros, to n.
 */
caldera_status caldera_rfft(caldera_graph *graph, caldera_value x, int64_t n, caldera_value *out, caldera_error **error);

/**
 * The inverse of `caldera_rfft`, scaled by 1 / n: c64 [.., L] to f32 [.., n]. L is cropped, or padded with zeros, to n / 2 +
 * 1; the imaginary parts of bins 0 and n / 2 are ignored.
 */
caldera_status caldera_irfft(caldera_graph *graph, caldera_value x, int64_t n, caldera_value *out, caldera_error **error);

/* ---- Builders: control flow ---- */

/**
 * The results of `then_graph` where `pred`, a bool of one element, is true, else those of `else_graph`.
 *
 * Both graphs take the `n_captured` values of `captured` as their inputs, in the order in which those were made, and have `n_outs` outputs of the same
 * types, which `outs` receives. What a branch needs of `graph` is passed to it in this way; constants and params it may have of its own (a param is
 * then one of `graph`, under the same name). A symbolic dimension of a branch's input that is not bound takes the size that it is given. The branches are
 * copied: they may be changed or freed after the call, and used again. A branch that is not taken has no effect, and no index in it is checked; on Vulkan both are
 * computed where `pred` is not known at compile.
 * Errors: INVALID_GRAPH (inputs or outputs that do not fit), INVALID_ARGUMENT (another number of outputs, a value that is not of `graph`).
 */
caldera_status caldera_if(caldera_graph *graph, caldera_value pred, const caldera_graph *then_graph, const caldera_graph
    *else_graph, const caldera_value *captured, uint32_t n_captured, caldera_value *outs, uint32_t n_outs, caldera_error **error);

/**
 * Runs `body` on the `n_carried` values of `carried` as long as `cond` of them is true, at most `max_iter` times. `outs` receives the carried values
 * at the end, `n_carried` of them.
 *
 * Both graphs take the carried values and then the `n_captured` values of `captured` as their inputs; `cond` gives one bool of one element, `body` the
 * next carried values, of the same types. Bodies are passed, copied and may hold what those of `caldera_if` may. `max_iter` -1: no limit. On Vulkan
 * the steps are written out when the graph is compiled, and what comes after the end is computed for nothing: that needs a limit, unless `cond` is
 * known at compile in every step, and at most 65536 nodes in sum; otherwise `caldera_compile` gives UNSUPPORTED.
 * Errors: as `caldera_if`.
 */
caldera_status caldera_while(caldera_graph *graph, const caldera_graph *cond, const caldera_graph *body, int64_t max_iter, const
    caldera_value *carried, uint32_t n_carried, const caldera_value *captured, uint32_t n_captured, caldera_value *outs,
    caldera_error **error);

/**
 * Runs `body` `length` times, step i on slice i of the `n_scanned` values of `scanned`, whose first axis is `length`.
 *
 * `body` takes the `n_carried` values of `carried`, the `n_captured` of `captured`, and a slice, without that axis, of each of `scanned`. Its outputs
 * are the next carried values, of the same types, and then any number of values that are collected. `outs` receives as many values, `n_outs`: the
 * carried ones at the end, or if `trajectory` is 1 those after every step, [length, ..]; then the collected ones, [length, ..]. The body is passed,
 * copied and may hold what those of `caldera_if` may. On Vulkan the steps are written out when the graph is compiled, 65536 nodes in sum at most;
 * above, `caldera_compile` gives UNSUPPORTED.
 * Errors: as `caldera_if`.
 */
caldera_status caldera_scan(caldera_graph *graph, const caldera_graph *body, int64_t length, uint32_t trajectory, const
    caldera_value *carried, uint32_t n_carried, const caldera_value *captured, uint32_t n_captured, const caldera_value *scanned,
    uint32_t n_scanned, caldera_value *outs, uint32_t n_outs, caldera_error **error);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  /* CALDERA_H */
