#version 460
// Transposes through shared memory: y[batch, i, j] = x[batch, j, i], i < a, j < b. In x the axis of i is dense and that of j has the
// stride x_stride; in y the axis of j is dense and that of i has the stride y_stride (strides in units). The batch is up to 6 more
// axes: (size, from low, from high, to low, to high), the innermost first, strides in bytes.
// A workgroup moves one tile of TILE x TILE units. X_LANES: x is read 16 bytes a lane, which needs `a` and every stride of x to be
// multiples of 16 bytes; Y_LANES: the same for y. Limits: x_stride and y_stride of at most 2^24 units.
#include "common/types.glsl"
#include "movement/unit.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 0) const bool X_LANES = false;
layout(constant_id = 1) const bool Y_LANES = false;
layout(push_constant) uniform Push {
    uvec2 x, y, batch;
    uint tiles, a_tiles, b_tiles, a, b, x_stride, y_stride, batch_axes;
} p;

#ifdef UNIT_b8
const uint TILE = 32u;
#else
const uint TILE = 64u;
#endif
const uint LANE = 16u / UNIT_BYTES;
const uint LANES = TILE * TILE / LANE / 256u; // 16 bytes each, an invocation
const uint PITCH = TILE + 1u;

shared UNIT tile[TILE * PITCH]; // tile[i * PITCH + j]

// Unit `u` of 16 bytes.
UNIT unpack(uvec4 w, uint u) {
#ifdef UNIT_b8
    return u == 0u ? w.xy : w.zw;
#else
    uint bit = u * UNIT_BYTES * 8u;
    uint word = w[bit / 32u];
    return UNIT_BYTES == 4u ? word : bitfieldExtract(word, int(bit % 32u), int(UNIT_BYTES * 8u) & 31);
#endif
}

void pack(inout uvec4 w, uint u, UNIT v) {
#ifdef UNIT_b8
    if (u == 0u) { w.xy = v; } else { w.zw = v; }
#else
    uint bit = u * UNIT_BYTES * 8u;
    w[bit / 32u] |= v << (bit % 32u);
#endif
}

// Row and lane of the n-th 16 bytes of a tile: 8 lanes (or all of a row) beside each other, so that shared memory is reached by
// different banks.
uvec2 lane_of(uint n) {
    const uint across = min(TILE / LANE, 8u);
    return uvec2(n / across % TILE, n % across + n / (across * TILE) * across);
}

void main() {
    uint group = group_index();
    if (group >= p.tiles) return;
    uint q = group / p.b_tiles;
    uint j0 = (group - q * p.b_tiles) * TILE;
    uint item = q / p.a_tiles;
    uint i0 = (q - item * p.a_tiles) * TILE;
    uvec2 x = advance(advance(resolve(p.x), j0, p.x_stride * UNIT_BYTES), i0, UNIT_BYTES);
    uvec2 y = advance(advance(resolve(p.y), i0, p.y_stride * UNIT_BYTES), j0, UNIT_BYTES);
    for (uint axis = 0u; axis < p.batch_axes; ++axis) {
        uint at = axis * 5u, size = load_u32(p.batch, at), rest = item / size, c = item - rest * size;
        item = rest;
        x = add64(x, times64(c, uvec2(load_u32(p.batch, at + 1u), load_u32(p.batch, at + 2u))));
        y = add64(y, times64(c, uvec2(load_u32(p.batch, at + 3u), load_u32(p.batch, at + 4u))));
    }
    uint a = p.a - i0, b = p.b - j0; // what is left here

    if (X_LANES) {
        uvec4 held[LANES];
        [[unroll]] for (uint k = 0u; k < LANES; ++k) {
            uvec2 at = lane_of(k * 256u + gl_LocalInvocationID.x);
            if (at.y * LANE < a && at.x < b) held[k] = ref_u32x4(x).v[(at.x * p.x_stride) / LANE + at.y];
        }
        [[unroll]] for (uint k = 0u; k < LANES; ++k) {
            uvec2 at = lane_of(k * 256u + gl_LocalInvocationID.x);
            [[unroll]] for (uint u = 0u; u < LANE; ++u) tile[(at.y * LANE + u) * PITCH + at.x] = unpack(held[k], u);
        }
    } else {
        for (uint n = gl_LocalInvocationID.x; n < TILE * TILE; n += 256u) {
            uint i = n % TILE, j = n / TILE;
            if (i < a && j < b) tile[i * PITCH + j] = load_unit(x, j * p.x_stride + i);
        }
    }
    barrier();
    if (Y_LANES) {
        [[unroll]] for (uint k = 0u; k < LANES; ++k) {
            uvec2 at = lane_of(k * 256u + gl_LocalInvocationID.x);
            uvec4 w = uvec4(0u);
            [[unroll]] for (uint u = 0u; u < LANE; ++u) pack(w, u, tile[at.x * PITCH + at.y * LANE + u]);
            if (at.x < a && at.y * LANE < b) ref_u32x4(y).v[(at.x * p.y_stride) / LANE + at.y] = w;
        }
    } else {
        for (uint n = gl_LocalInvocationID.x; n < TILE * TILE; n += 256u) {
            uint j = n % TILE, i = n / TILE;
            if (i < a && j < b) store_unit(y, i * p.y_stride + j, tile[i * PITCH + j]);
        }
    }
}
