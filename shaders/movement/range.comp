#version 460
// y[i] = table[0] + i * table[1]; integers wrap.
#include "common/types.glsl"

layout(local_size_x = 256) in;
layout(push_constant) uniform Push {
    uvec2 table, y;
    uint count;
} p;

void main() {
    uint i = group_index() * 256u + gl_LocalInvocationID.x;
    if (i >= p.count) return;
    T_store(resolve(p.y), i, T_compute(i) * T_load(p.table, 1u) + T_load(p.table, 0u));
}
