#version 460
// The triangle of each matrix: y[.., r, c] = x[.., r, c] where c - r >= k (UPPER) or c - r <= k, zero bytes elsewhere.
#include "common/types.glsl"
#include "movement/unit.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 0) const bool UPPER = true;
layout(push_constant) uniform Push {
    uvec2 x, y;
    uint count, rows, columns;
    int k;
} p;

void main() {
    uint i = group_index() * 256u + gl_LocalInvocationID.x;
    if (i >= p.count) return;
    int c = int(i % p.columns), r = int(i / p.columns % p.rows);
    bool keep = UPPER ? c - r >= p.k : c - r <= p.k;
    UNIT v = UNIT(0u);
    if (keep) v = load_unit(resolve(p.x), i);
    store_unit(resolve(p.y), i, v);
}
