#version 460
// Moves the keys of a block, and their values, to where the table says, in order (movement/radix.glsl). FIRST: the values are the
// positions of the keys.
#include "common/types.glsl"
#include "movement/radix.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 0) const bool FIRST = false;
layout(push_constant) uniform Push {
    uvec2 keys, values, table, new_keys, new_values;
    uint count, blocks, shift;
} p;

shared uint next[DIGITS];
shared uint digits[256];

void main() {
    uint block = group_index(), lane = gl_LocalInvocationID.x;
    if (block >= p.blocks) return;
    next[lane] = load_u32(p.table, lane * p.blocks + block);
    for (uint start = block * BLOCK; start < min((block + 1u) * BLOCK, p.count); start += 256u) {
        uint i = start + lane;
        bool valid = i < p.count;
        uint key = valid ? load_u32(p.keys, i) : 0u, digit = valid ? key >> p.shift & 255u : 256u;
        digits[lane] = digit;
        barrier();
        uint rank = 0u;
        for (uint before = 0u; before < lane; ++before) rank += digits[before] == digit ? 1u : 0u;
        if (valid) {
            uint to = next[digit] + rank;
            store_u32(p.new_keys, to, key);
            store_u32(p.new_values, to, FIRST ? i : load_u32(p.values, i));
        }
        barrier();
        if (valid) atomicAdd(next[digit], 1u);
        barrier();
    }
}
