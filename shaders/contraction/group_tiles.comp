#version 460
// Cuts the sorted rows of each expert into tiles of tile_rows: writes for each tile its expert and its first place in the list;
// tiles left over get an expert that does not exist. One workgroup. groups: see group_rows.comp.
#include "common/types.glsl"

layout(local_size_x = 256) in;
layout(push_constant) uniform Push {
    uvec2 groups;
    uint experts, tiles, tile_rows;
} p;

uint tiles_of(uvec2 groups, uint expert) {
    return (load_u32(groups, 2u * expert + 1u) + p.tile_rows - 1u) / p.tile_rows;
}

void main() {
    uvec2 groups = resolve(p.groups), table = advance(groups, p.experts, 8u);
    uint total = 0u;
    for (uint expert = 0u; expert < p.experts; ++expert) {
        uint count = tiles_of(groups, expert);
        if (expert % 256u == gl_LocalInvocationIndex) {
            uint first = load_u32(groups, 2u * expert);
            for (uint t = 0u; t < count; ++t) {
                store_u32(table, 2u * (total + t), expert);
                store_u32(table, 2u * (total + t) + 1u, first + t * p.tile_rows);
            }
        }
        total += count;
    }
    for (uint t = total + gl_LocalInvocationIndex; t < p.tiles; t += 256u) {
        store_u32(table, 2u * t, 0xffffffffu);
        store_u32(table, 2u * t + 1u, 0u);
    }
}
