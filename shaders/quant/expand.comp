#version 460
// The expanded tensor: w [batch,n,k] of packed blocks to y of the same shape, TRANSPOSE: [batch,k,n].
// GATHER: w [n,k], y [count,k] takes rows idx[i]; negative indices count from the end; idx is checked.
// An invocation expands 8 weights, rounded once to the type of y. eights: all such parts of y, below 2^32.
#include "quant/real.glsl"
#include "common/run_state.glsl"
#include "quant/decode.glsl"
#include "quant/index.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 0) const bool TRANSPOSE = false;
layout(constant_id = 1) const bool GATHER = false;
layout(push_constant) uniform Push {
    uvec2 w, y, idx, state;
#ifdef CODEBOOK
    uvec2 codebook;
#endif
    uint eights, n, k, node;
} p;

void main() {
#ifdef CODEBOOK
    decode_begin(resolve(p.codebook));
#else
    decode_begin(uvec2(0u));
#endif
    uint group = group_index(), id = group * 256u + gl_LocalInvocationIndex;
    if (group >= (p.eights + 255u) / 256u || id >= p.eights) return;
    // Neighbours write next to each other.
    uint per_row = p.k / 8u, g = id % per_row, row = id / per_row, from = row, column = 0u;
    if (TRANSPOSE) {
        column = id % p.n;
        g = id / p.n % per_row;
        row = id / p.n / per_row;
        from = row * p.n + column;
    }
    if (GATHER) from = checked_index(resolve(p.idx), resolve(p.state), p.node, row, p.n, true);
    uvec2 w = advance(resolve(p.w), from, p.k / BLOCK * BLOCK_BYTES);
    vec4 a, b;
    weights8(at_byte(w, g / (BLOCK / 8u) * BLOCK_BYTES), g % (BLOCK / 8u), a, b);
    if (!TRANSPOSE) {
        uvec2 y = advance(resolve(p.y), row, p.k * REAL_BYTES);
        store_real4(y, 8u * g, REAL4(a));
        store_real4(y, 8u * g + 4u, REAL4(b));
        return;
    }
    uvec2 y = advance(resolve(p.y), row * p.k + 8u * g, p.n * REAL_BYTES);
    [[unroll]] for (uint i = 0u; i < 8u; ++i) {
        store_real(y, column, REAL(i < 4u ? a[i & 3u] : b[i & 3u]));
        y = at_byte(y, p.n * REAL_BYTES);
    }
}
