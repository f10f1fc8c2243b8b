#version 460
// y[r, :] = updates[winners[r] - 1, :], or data[r, :] where winners[r] is 0. Rows of `units` units. y may be data.
// LANES invocations work on a row, a workgroup on 256 / LANES rows and up to 4 * LANES units of them.
#include "common/types.glsl"
#include "movement/unit.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 0) const uint LANES = 1u;
layout(push_constant) uniform Push {
    uvec2 data, updates, winners, y;
    uint rows, units, chunks, row_low, row_high;
} p;

const uint EACH = 4u;

void main() {
    uint group = group_index(), block = group / p.chunks, lane = gl_LocalInvocationID.x % LANES;
    uint row = block * (256u / LANES) + gl_LocalInvocationID.x / LANES;
    if (row >= p.rows) return;
    uvec2 pitch = uvec2(p.row_low, p.row_high);
    uint winner = load_u32(p.winners, row);
    uvec2 x = winner == 0u ? add64(resolve(p.data), times64(row, pitch)) : add64(resolve(p.updates), times64(winner - 1u, pitch));
    uvec2 y = add64(resolve(p.y), times64(row, pitch));
    uint first = (group - block * p.chunks) * (LANES * EACH) + lane;
    [[unroll]] for (uint k = 0u; k < EACH; ++k) {
        uint u = first + k * LANES;
        if (u < p.units) store_unit(y, u, load_unit(x, u));
    }
}
