#version 460
// Rows beside each other: y[row, :] = x0[row, :], x1[row, :], .., for up to 8 operands (a missing one has the end of the one before).
// table: units of a row across all operands, multiplier, shift, units between rows of y; then the end of each operand in a row.
// A workgroup moves 1024 units. Limit: count below 2^31.
#include "common/types.glsl"
#include "movement/unit.glsl"

layout(local_size_x = 256) in;
layout(push_constant) uniform Push {
    uvec2 x0, x1, x2, x3, x4, x5, x6, x7, y, table;
    uint count;
} p;

const uint EACH = 4u;

void main() {
    uvec4 row_of = ref_u32x4(p.table).v[0], ends = ref_u32x4(p.table).v[1], more = ref_u32x4(p.table).v[2];
    uvec2 x[8] = uvec2[8](resolve(p.x0), resolve(p.x1), resolve(p.x2), resolve(p.x3), resolve(p.x4), resolve(p.x5), resolve(p.x6), resolve(p.x7));
    uint end[8] = uint[8](ends.x, ends.y, ends.z, ends.w, more.x, more.y, more.z, more.w);
    uvec2 y = resolve(p.y);
    uint first = group_index() * (256u * EACH) + gl_LocalInvocationID.x;
    for (uint k = 0u; k < EACH; ++k) {
        uint i = first + k * 256u;
        if (i >= p.count) return;
        uint row = divide(i, row_of.y, row_of.z), at = i - row * row_of.x;
        uvec2 from = x[0];
        uint start = 0u, stop = end[0];
        [[unroll]] for (uint o = 1u; o < 8u; ++o) {
            if (at >= end[o - 1u] && end[o] > end[o - 1u]) {
                from = x[o];
                start = end[o - 1u];
                stop = end[o];
            }
        }
        store_unit(y, row * row_of.w + at, load_unit(from, row * (stop - start) + at - start));
    }
}
