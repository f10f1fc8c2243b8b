#version 460
// Rows that tuples of indices point to: y[r, :] = data[batch + sum_k index[t, k] * stride_k, :], where batch is r / per_batch and the
// tuple t is r, or r % per_batch where the batches SHARE their tuples.
// table: bytes of a row (2 words), bytes of a batch (2 words), then for each of the `tuple` indices: extent, stride in bytes (2 words).
// Indices are checked; negative ones count from the end. LANES invocations work on a row, a workgroup on 256 / LANES rows and up to
// 4 * LANES units of them. Limit: a row has fewer than 2^31 units.
#include "common/types.glsl"
#include "common/run_state.glsl"
#include "movement/unit.glsl"
#include "movement/index.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 0) const uint LANES = 1u;
layout(constant_id = 1) const bool SHARE = false;
layout(push_constant) uniform Push {
    uvec2 data, index, y, table, state;
    uint node, rows, units, chunks, per_batch, tuple;
} p;

const uint EACH = 4u;

void main() {
    uint group = group_index(), block = group / p.chunks, lane = gl_LocalInvocationID.x % LANES;
    uint row = block * (256u / LANES) + gl_LocalInvocationID.x / LANES;
    if (row >= p.rows) return;
    uint batch = row / p.per_batch, t = SHARE ? row - batch * p.per_batch : row;
    uvec2 y = add64(resolve(p.y), times64(row, ref_u32x2(p.table).v[0]));
    uvec2 x = add64(resolve(p.data), times64(batch, ref_u32x2(p.table).v[1]));
    uvec2 indices = resolve(p.index);
    bool empty = false;
    for (uint k = 0u; k < p.tuple; ++k) {
        uint at = 4u + 3u * k, extent = load_u32(p.table, at), position = t * p.tuple + k;
        uint i = check_index(p.state, p.node, position, load_index(indices, position), extent, true);
        x = add64(x, times64(i, uvec2(load_u32(p.table, at + 1u), load_u32(p.table, at + 2u))));
        empty = empty || extent == 0u;
    }
    uint first = (group - block * p.chunks) * (LANES * EACH) + lane;
    [[unroll]] for (uint k = 0u; k < EACH; ++k) {
        uint u = first + k * LANES;
        if (u < p.units) store_unit(y, u, empty ? UNIT(0u) : load_unit(x, u));
    }
}
