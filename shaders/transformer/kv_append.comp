#version 460
// Writes rows into a cache at the positions read from memory: cache[b, (at[b] + r) % capacity] = rows[b, r] with RING, else
// cache[b, at[b] + r]; a position outside is reported and not written. rows [batch, count, row_units], cache [batch, capacity, row_units].
// A workgroup moves 1024 units; all units of rows are below 2^31.
#include "common/types.glsl"
#include "common/run_state.glsl"
#include "movement/unit.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 0) const bool RING = false;
layout(push_constant) uniform Push {
    uvec2 cache, rows, at, state;
    uint total, row_units, count, capacity, per_batch, node;
} p;

void main() {
    uvec2 cache = resolve(p.cache), rows = resolve(p.rows), at = resolve(p.at);
    uint first = group_index() * 1024u + gl_LocalInvocationID.x;
    [[unroll]] for (uint k = 0u; k < 4u; ++k) {
        uint i = first + k * 256u;
        if (i >= p.total) return;
        uint row = i / p.row_units, unit = i - row * p.row_units, b = row / p.count, r = row - b * p.count;
        int start = load_i32(at, p.per_batch != 0u ? b : 0u);
        if (start < 0) {
            report_index(p.state, p.node, row, widen(start), p.capacity);
            continue;
        }
        uint position = uint(start) + r;
        if (RING) position %= p.capacity;
        if (position >= p.capacity) {
            report_index(p.state, p.node, row, uvec2(position, 0u), p.capacity);
            continue;
        }
        uvec2 target = advance(cache, b * p.capacity + position, p.row_units * UNIT_BYTES);
        store_unit(target, unit, load_unit(rows, i));
    }
}
