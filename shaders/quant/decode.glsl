// Packed block types (axis W), expanded. The layouts are told in src/tensor/blocks. Include common/types.glsl first.
//
// A block is read in pieces: the bytes that an invocation takes at once. A piece holds RUNS runs of RUN weights that follow each
// other in the row. For each type:
//
//   BLOCK, BLOCK_BYTES, RUN, RUNS
//   Raw fetch(block, piece)            the piece's bytes and scales
//   vec4 unpack(raw, run, t)           weights 4t.. of a run, as integers (or codebook values) plus ZERO
//   scale_of(raw, run), low_of(..)     weight = scale * (unpack - ZERO) - low; HAS_LOW says that there is a low
//   run_start(piece, run)              where in the block a run starts
//   uvec3 find(g)                      piece, run and t of the eight weights 8g.. of a block
//
// A type with a codebook (CODEBOOK words, 16 bits an entry) has it in shared memory; decode_begin() puts it there.
#include "quant/bytes.glsl"
#include "quant/decode_small.glsl"
#include "quant/decode_k.glsl"
#include "quant/decode_codebook.glsl"

#define PIECE (RUN * RUNS)
#define PIECES (BLOCK / PIECE)

#ifndef HAS_LOW
#define low_of(raw, run) 0.0
#endif

// Fills shared tables. All invocations must call, before the first fetch; `codebook` may be anything for types without one.
void decode_begin(uvec2 codebook) {
#ifdef CODEBOOK
    for (uint i = gl_LocalInvocationIndex; i < CODEBOOK; i += gl_WorkGroupSize.x) codebook_words[i] = load_u32(codebook, i);
    barrier();
#endif
#ifdef VALUES16
    if (gl_LocalInvocationIndex < 16u) values16[gl_LocalInvocationIndex] = VALUES16[gl_LocalInvocationIndex];
    barrier();
#endif
}

// Weights 4t.. of a run, rounded as the format says.
vec4 weights(Raw raw, uint run, uint t) {
    vec4 w = scale_of(raw, run) * (unpack(raw, run, t) - ZERO);
#ifdef HAS_LOW
    w -= low_of(raw, run);
#endif
    return w;
}

// Weights 8g.. of a block.
void weights8(uvec2 block, uint g, out vec4 a, out vec4 b) {
    uvec3 place = find(g);
    Raw raw = fetch(block, place.x);
    a = weights(raw, place.y, place.z);
    b = weights(raw, place.y, place.z + 1u);
}
