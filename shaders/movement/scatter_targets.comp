#version 460
// Which row of the result each of `count` updates goes to.
// ELEMENTS: an update is an element; its row is its own coordinate with that of `axis` replaced by its index. table as in
// gather_elements.comp, strides in rows (low word). Otherwise an update is a row and has a tuple of `axis_count` indices; table: rows
// between batches, then for each index of the tuple: extent, stride in rows; the batch is the update / per_batch.
// WINNERS: targets[row] becomes the largest update + 1 of the row (it was 0 before), otherwise targets[update] becomes the row.
// Indices are checked; negative ones count from the end. Limits: below 2^31 updates and rows.
#include "common/types.glsl"
#include "common/run_state.glsl"
#include "movement/unit.glsl"
#include "movement/index.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 0) const bool ELEMENTS = false;
layout(constant_id = 1) const bool WINNERS = false;
layout(push_constant) uniform Push {
    uvec2 index, targets, table, state;
    uint node, count, axis_count, axis, extent, per_batch, rows;
} p;

layout(buffer_reference, scalar, buffer_reference_align = 4) buffer ref_atomic { uint v[]; };

void main() {
    uint i = group_index() * 256u + gl_LocalInvocationID.x;
    if (i >= p.count) return;
    uvec2 indices = resolve(p.index);
    uint target = 0u;
    bool empty = false;
    if (ELEMENTS) {
        uint picked = check_index(p.state, p.node, i, load_index(indices, i), p.extent, true);
        uint rest = i;
        for (uint a = 0u; a < p.axis_count; ++a) {
            uvec4 size = ref_u32x4(p.table).v[2u * a];
            uint q = divide(rest, size.y, size.z), c = rest - q * size.x;
            rest = q;
            target += (a == p.axis ? picked : c) * ref_u32x4(p.table).v[2u * a + 1u].x;
        }
        empty = p.extent == 0u;
    } else {
        target = i / p.per_batch * load_u32(p.table, 0u);
        for (uint k = 0u; k < p.axis_count; ++k) {
            uint extent = load_u32(p.table, 1u + 2u * k), position = i * p.axis_count + k;
            uint picked = check_index(p.state, p.node, position, load_index(indices, position), extent, true);
            target += picked * load_u32(p.table, 2u + 2u * k);
            empty = empty || extent == 0u;
        }
    }
    if (!WINNERS) {
        store_u32(p.targets, i, empty ? p.rows : target);
    } else if (!empty) {
        atomicMax(ref_atomic(p.targets).v[target], i + 1u);
    }
}
