#version 460
// y[r, c] = one where c - r is k, zero bytes elsewhere. `one` is the first bytes of (one_low, one_high).
#include "common/types.glsl"
#include "movement/unit.glsl"

layout(local_size_x = 256) in;
layout(push_constant) uniform Push {
    uvec2 y;
    uint count, columns, one_low, one_high;
    int k;
} p;

void main() {
    uint i = group_index() * 256u + gl_LocalInvocationID.x;
    if (i >= p.count) return;
    bool one = int(i % p.columns) - int(i / p.columns) == p.k;
#ifdef UNIT_b8
    store_unit(resolve(p.y), i, one ? uvec2(p.one_low, p.one_high) : uvec2(0u));
#else
    store_unit(resolve(p.y), i, one ? p.one_low : 0u);
#endif
}
