#version 460
// Cumulative sum along one axis: y[i] = sum of x[..i] (EXCLUSIVE: without x[i]; REVERSE: from the end). x, y [outer, len, inner].
// One workgroup a row, 256 elements at a time; the carry goes from tile to tile.
#include "common/types.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 0) const bool EXCLUSIVE = false;
layout(constant_id = 1) const bool REVERSE = false;
layout(push_constant) uniform Push {
    uvec2 x, y;
    uint rows, len, inner;
} p;

#define X T_compute
shared X sums[256];

void main() {
    uint row = group_index(), lane = gl_LocalInvocationID.x;
    if (row >= p.rows) return;
    uint bytes = p.len * p.inner * T_BYTES;
    uvec2 x = advance(resolve(p.x), row / p.inner, bytes), y = advance(resolve(p.y), row / p.inner, bytes);
    uint start = row % p.inner;
    X carry = X(0);
    for (uint tile = 0u; tile < p.len; tile += 256u) {
        uint i = tile + lane, at = start + (REVERSE ? p.len - 1u - i : i) * p.inner;
        X own = i < p.len ? T_load(x, at) : X(0);
        barrier();
        sums[lane] = own;
        barrier();
        for (uint step = 1u; step < 256u; step <<= 1) {
            X before = lane >= step ? sums[lane - step] : X(0);
            barrier();
            sums[lane] += before;
            barrier();
        }
        X here = EXCLUSIVE ? (lane > 0u ? sums[lane - 1u] : X(0)) : sums[lane];
        if (i < p.len) T_store(y, at, carry + here);
        carry += sums[255];
    }
}
