#version 460
// bounds[r] = how many of the `count` sorted keys are below r, for r = 0 .. rows.
#include "common/types.glsl"

layout(local_size_x = 256) in;
layout(push_constant) uniform Push {
    uvec2 keys, bounds;
    uint count, rows;
} p;

void main() {
    uint r = group_index() * 256u + gl_LocalInvocationID.x;
    if (r > p.rows) return;
    uint low = 0u, high = p.count;
    while (low < high) {
        uint middle = (low + high) / 2u;
        if (load_u32(p.keys, middle) < r) {
            low = middle + 1u;
        } else {
            high = middle;
        }
    }
    store_u32(p.bounds, r, low);
}
