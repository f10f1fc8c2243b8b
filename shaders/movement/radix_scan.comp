#version 460
// Replaces each number of a table by the sum of those before it (movement/radix.glsl). One workgroup.
#include "common/types.glsl"

layout(local_size_x = 256) in;
layout(push_constant) uniform Push {
    uvec2 table;
    uint count;
} p;

const uint EACH = 8u;

shared uint sums[256];

void main() {
    uint lane = gl_LocalInvocationID.x, carry = 0u;
    for (uint start = 0u; start < p.count; start += 256u * EACH) {
        uint held[EACH], total = 0u;
        for (uint k = 0u; k < EACH; ++k) {
            uint i = start + lane * EACH + k;
            held[k] = i < p.count ? load_u32(p.table, i) : 0u;
            total += held[k];
        }
        sums[lane] = total;
        barrier();
        for (uint reach = 1u; reach < 256u; reach *= 2u) {
            uint before = lane >= reach ? sums[lane - reach] : 0u;
            barrier();
            sums[lane] += before;
            barrier();
        }
        uint sum = carry + sums[lane] - total;
        carry += sums[255];
        barrier();
        for (uint k = 0u; k < EACH; ++k) {
            uint i = start + lane * EACH + k;
            if (i < p.count) store_u32(p.table, i, sum);
            sum += held[k];
        }
    }
}
