#version 460
// Counts the digits of a block of keys (movement/radix.glsl).
#include "common/types.glsl"
#include "movement/radix.glsl"

layout(local_size_x = 256) in;
layout(push_constant) uniform Push {
    uvec2 keys, table;
    uint count, blocks, shift;
} p;

shared uint tally[DIGITS];

void main() {
    uint block = group_index(), lane = gl_LocalInvocationID.x;
    if (block >= p.blocks) return;
    tally[lane] = 0u;
    barrier();
    for (uint k = lane; k < BLOCK; k += 256u) {
        uint i = block * BLOCK + k;
        if (i < p.count) atomicAdd(tally[load_u32(p.keys, i) >> p.shift & 255u], 1u);
    }
    barrier();
    store_u32(p.table, lane * p.blocks + block, tally[lane]);
}
