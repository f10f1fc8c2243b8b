#version 460
// Sets `count` words to 0.
#include "common/types.glsl"

layout(local_size_x = 256) in;
layout(push_constant) uniform Push {
    uvec2 y;
    uint count;
} p;

void main() {
    uint i = group_index() * 256u + gl_LocalInvocationID.x;
    if (i < p.count) store_u32(resolve(p.y), i, 0u);
}
