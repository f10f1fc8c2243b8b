#version 460
// What scatter_short.comp leaves: a row with more than LONG updates. Workgroup g finds the row of the sorted key g * LONG, and works on
// it if that is the first multiple of LONG in the row's segment. 256 / LANES invocations share a column: each combines every so many
// updates, then the first combines what they have, in order.
#include "common/types.glsl"
#include "movement/unit.glsl"
#include "movement/scatter_combine.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 0) const uint LANES = 1u;
layout(constant_id = 2) const bool HAS_DATA = true;
layout(push_constant) uniform Push {
    uvec2 data, updates, keys, order, bounds, y;
    uint rows, columns, groups, row_low, row_high;
} p;

shared T_compute parts[256];

void main() {
    uint group = group_index(), lane = gl_LocalInvocationID.x;
    if (group >= p.groups) return;
    uint row = load_u32(p.keys, group * LONG);
    if (row >= p.rows) return;
    uint first = load_u32(p.bounds, row), end = load_u32(p.bounds, row + 1u);
    if (end - first <= LONG || (first + LONG - 1u) / LONG != group) return;
    uvec2 pitch = uvec2(p.row_low, p.row_high), updates = resolve(p.updates);
    const uint slices = 256u / LANES;
    uint slice = lane / LANES;
    for (uint start = 0u; start < p.columns; start += LANES) {
        uint column = start + lane % LANES;
        if (column < p.columns) {
            T_compute sum = T_load(add64(updates, times64(load_u32(p.order, first + slice), pitch)), column);
            for (uint i = first + slice + slices; i < end; i += slices) {
                sum = combine(sum, T_load(add64(updates, times64(load_u32(p.order, i), pitch)), column));
            }
            parts[lane] = sum;
        }
        barrier();
        if (slice == 0u && column < p.columns) {
            T_compute sum = parts[lane];
            for (uint s = 1u; s < slices; ++s) sum = combine(sum, parts[s * LANES + lane]);
            if (HAS_DATA) sum = combine(T_load(add64(resolve(p.data), times64(row, pitch)), column), sum);
            T_store(add64(resolve(p.y), times64(row, pitch)), column, sum);
        }
        barrier();
    }
}
