#version 460
// y[r, c] = data[r, c] (0 without HAS_DATA), combined with updates[order[i], c] for i = bounds[r] .. bounds[r + 1], in this order; rows
// with more than LONG updates are left alone. y may be data.
// LANES invocations work on a row, a workgroup on 256 / LANES rows and LANES columns of them.
#include "common/types.glsl"
#include "movement/unit.glsl"
#include "movement/scatter_combine.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 0) const uint LANES = 1u;
layout(constant_id = 2) const bool HAS_DATA = true;
layout(push_constant) uniform Push {
    uvec2 data, updates, order, bounds, y;
    uint rows, columns, chunks, row_low, row_high;
} p;

void main() {
    uint group = group_index(), block = group / p.chunks;
    uint row = block * (256u / LANES) + gl_LocalInvocationID.x / LANES;
    uint column = (group - block * p.chunks) * LANES + gl_LocalInvocationID.x % LANES;
    if (row >= p.rows || column >= p.columns) return;
    uint first = load_u32(p.bounds, row), end = load_u32(p.bounds, row + 1u);
    if (end - first > LONG) return;
    uvec2 pitch = uvec2(p.row_low, p.row_high), updates = resolve(p.updates);
    T_compute sum = T_compute(0);
    if (HAS_DATA) sum = T_load(add64(resolve(p.data), times64(row, pitch)), column);
    for (uint i = first; i < end; ++i) sum = combine(sum, T_load(add64(updates, times64(load_u32(p.order, i), pitch)), column));
    T_store(add64(resolve(p.y), times64(row, pitch)), column, sum);
}
