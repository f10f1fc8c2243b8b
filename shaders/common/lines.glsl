// Work along lines: the `len` elements along one axis of [outer, len, inner] that are reduced to something together. Include it after
// types.glsl.
//
// LANES invocations share a line and take its steps in turn. Lines that are contiguous (inner = 1) are walked along, EACH elements a
// step; others are walked across: a step is one element of EACH adjacent lines, and adjacent invocations have adjacent lines. A block is
// what LANES invocations have: one line, or EACH of them (WIDTH). A workgroup of GROUP invocations has GROUP / LANES adjacent blocks and one
// part of their steps. The variant WALK says along or across, by elements or by pieces of 16 bytes, and with workgroups of 256 or (wide) 1024.
// These are no specialization constants: arrays that are indexed in loops are registers only where the compiler of the shader unrolls them.

layout(constant_id = 0) const uint LANES = 256u; // a power of two, at most GROUP
layout(constant_id = 1) const uint HELD = 1u;    // steps that an invocation keeps in registers, where the shader does, up to MOST_HELD

#include "common/piece.glsl"
#include "common/subgroup.glsl"

#define X T_compute

#if defined(WALK_along_wide) || defined(WALK_along_pieces_wide) || defined(WALK_across_wide)
#define GROUP 1024u
#else
#define GROUP 256u
#endif
#if defined(WALK_along_pieces) || defined(WALK_along_pieces_wide) || defined(WALK_across_pieces)
#define EACH PIECE
#define PIECES
#else
#define EACH 1u
#endif
#if defined(WALK_across) || defined(WALK_across_pieces) || defined(WALK_across_wide)
// Lines of a block, and what line element e of a step belongs to.
#define ACROSS true
#define WIDTH EACH
#define LINE_OF(e) (e)
#else
#define ACROSS false
#define WIDTH 1u
#define LINE_OF(e) 0u
#endif
#ifdef T_f64
#define MOST_HELD (16u / EACH)
#else
#define MOST_HELD (32u / EACH)
#endif
// Two numbers, and how X lies in memory between stages.
#if defined(T_f64)
#define IS_FLOAT
#define X2 dvec2
#define PART_load load_f64
#define PART_store store_f64
#define PART_BYTES 8u
#elif defined(T_f32) || defined(T_f16) || defined(T_bf16)
#define IS_FLOAT
#define X2 vec2
#define PART_load load_f32
#define PART_store store_f32
#define PART_BYTES 4u
#elif defined(T_i64)
#define PART_load load_i64
#define PART_store store_i64
#define PART_BYTES 8u
#elif defined(T_u64)
#define PART_load load_u64
#define PART_store store_u64
#define PART_BYTES 8u
#elif defined(T_u8) || defined(T_u16) || defined(T_u32)
#define PART_load load_u32
#define PART_store store_u32
#define PART_BYTES 4u
#else
#define PART_load load_i32
#define PART_store store_i32
#define PART_BYTES 4u
#endif
// Bytes of an element of a line, where a shader may read another type than T.
#ifndef LINE_BYTES
#define LINE_BYTES T_BYTES
#endif

// blocks: of all lines. inner: blocks beside each other (across) or 1. steps: of a line. stride: bytes from step to step. parts: of the
// steps, each of `chunk` but the last.
#define LINES uint blocks, inner, steps, stride, parts, chunk;

struct Span {
    bool valid;      // there is such a block and part
    uint block, part;
    uint slice;      // of LANES
    uint begin, end; // steps of this part; none where it is not valid
    uint first;      // number of the line's step 0 among the steps of all
    uint column;     // bytes from there to the block
};

// The invocations of a subgroup have adjacent numbers.
uint invocation() { return gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID; }

// `blocks`, .., `chunk` are those of the push constants.
Span span_of(uint blocks, uint inner, uint steps, uint parts, uint chunk) {
    const uint columns = GROUP / LANES;
    uint i = invocation(), group = group_index(), groups = (blocks + columns - 1u) / columns;
    Span s;
    s.slice = ACROSS ? i / columns : i % LANES;
    s.part = group / groups;
    s.block = group % groups * columns + (ACROSS ? i % columns : i / LANES);
    s.valid = s.block < blocks && s.part < parts;
    s.begin = s.valid ? s.part * chunk : 0u;
    s.end = s.valid ? min(s.begin + chunk, steps) : 0u;
    s.first = (ACROSS ? s.block / inner : s.block) * steps;
    s.column = ACROSS ? s.block % inner * (EACH * LINE_BYTES) : 0u;
    return s;
}

// Where step i of a span lies in a tensor.
uvec2 step_address(uvec2 tensor, Span s, uint i, uint stride) { return advance(advance(tensor, s.first + i, stride), 1u, s.column); }

void load_step(uvec2 address, out X v[EACH]) {
#ifdef PIECES
    load_piece(address, 0u);
    v = piece;
#else
    v[0] = T_load(address, 0u);
#endif
}

void store_step(uvec2 address, X v[EACH]) {
#ifdef PIECES
    piece = v;
    store_piece(address, 0u);
#else
    T_store(address, 0u, v[0]);
#endif
}

// The value of another invocation of the subgroup.
X shuffle(X v, uint lane) {
#if defined(T_i64) || defined(T_u64)
    return X(packUint2x32(subgroupShuffle(unpackUint2x32(uint64_t(v)), lane)));
#else
    return subgroupShuffle(v, lane);
#endif
}

X shuffle_xor(X v, uint mask) { return shuffle(v, gl_SubgroupInvocationID ^ mask); }
#ifdef IS_FLOAT
X2 shuffle_xor(X2 v, uint mask) { return subgroupShuffleXor(v, mask); }
#endif

// Shared memory for the reductions of values of type S.
#define TEAM_AREA(area, S) shared S area[GROUP * WIDTH];

// name(v): v[0] .. v[WIDTH - 1] joined over the invocations that share a block, for all of them. All invocations of the workgroup must
// call it. The order depends on LANES and the subgroup size only: the same device gives the same bits each time. shuffle_xor(S, uint) exists.
// Few barriers: a software driver takes long to compile each.
#define TEAM(name, S, area, JOIN)                                                                                                \
    void name(inout S v[WIDTH]) {                                                                                                \
        if (LANES == 1u) return;                                                                                                 \
        if (ACROSS) {                                                                                                            \
            const uint columns = GROUP / LANES;                                                                                  \
            uint i = invocation();                                                                                               \
            barrier();                                                                                                           \
            [[unroll]] for (uint w = 0u; w < WIDTH; ++w) area[w * GROUP + i] = v[w];                                             \
            barrier();                                                                                                           \
            for (uint line = i; line < columns * WIDTH; line += GROUP) {                                                         \
                uint at = line / columns * GROUP + line % columns;                                                               \
                S joined = area[at];                                                                                             \
                for (uint k = 1u; k < LANES; ++k) joined = JOIN(joined, area[at + k * columns]);                                 \
                area[at] = joined;                                                                                               \
            }                                                                                                                    \
            barrier();                                                                                                           \
            [[unroll]] for (uint w = 0u; w < WIDTH; ++w) v[w] = area[w * GROUP + i % columns];                                   \
        } else {                                                                                                                 \
            for (uint mask = 1u; mask < min(LANES, gl_SubgroupSize); mask <<= 1) v[0] = JOIN(v[0], shuffle_xor(v[0], mask));     \
            if (LANES > gl_SubgroupSize) {                                                                                       \
                barrier();                                                                                                       \
                if (subgroupElect()) area[gl_SubgroupID] = v[0];                                                                 \
                barrier();                                                                                                       \
                uint each = LANES / gl_SubgroupSize, from = gl_SubgroupID / each * each;                                         \
                S joined = area[from];                                                                                           \
                for (uint k = 1u; k < each; ++k) joined = JOIN(joined, area[from + k]);                                          \
                v[0] = joined;                                                                                                   \
            }                                                                                                                    \
        }                                                                                                                        \
    }
