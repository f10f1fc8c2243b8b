#version 460
// Sorts row numbers by expert, rows of one expert in their order. One workgroup an expert e: it counts the rows of smaller experts
// (where its rows begin in the list) and its own, and writes their numbers. Each invocation looks at one stretch of idx.
// idx [m] is checked against `experts`. groups (u32): per expert first place and count, then `tiles` pairs that
// group_tiles.comp fills, then the list [m].
#include "common/types.glsl"
#include "common/run_state.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 0) const uint INDEX = 0u; // idx holds 0: i32, 1: u32, 2: i64 or u64
layout(push_constant) uniform Push {
    uvec2 idx, groups, state;
    uint m, experts, tiles, node;
} p;

shared uint own[256], smaller[256];

uvec2 index_at(uvec2 idx, uint i) {
    if (INDEX == 2u) return ref_u32x2(idx).v[i];
    uint v = ref_u32(idx).v[i];
    return INDEX == 1u ? uvec2(v, 0u) : widen(int(v));
}

void main() {
    uint expert = group_index(), lane = gl_LocalInvocationIndex;
    if (expert >= p.experts) return;
    uvec2 idx = resolve(p.idx), groups = resolve(p.groups), state = resolve(p.state);
    uint stretch = (p.m + 255u) / 256u, begin = min(lane * stretch, p.m), end = min(begin + stretch, p.m);
    uint mine = 0u, less = 0u;
    for (uint i = begin; i < end; ++i) {
        uint e = check_index(state, p.node, i, index_at(idx, i), p.experts, false);
        mine += uint(e == expert);
        less += uint(e < expert);
    }
    own[lane] = mine;
    smaller[lane] = less;
    barrier();
    uint first = 0u, before = 0u, count = 0u;
    for (uint i = 0u; i < 256u; ++i) {
        first += smaller[i];
        before += i < lane ? own[i] : 0u;
        count += own[i];
    }
    if (lane == 0u) {
        store_u32(groups, 2u * expert, first);
        store_u32(groups, 2u * expert + 1u, count);
    }
    uint at = 2u * (p.experts + p.tiles) + first + before;
    for (uint i = begin; i < end; ++i) {
        uint e = check_index(state, p.node, i, index_at(idx, i), p.experts, false);
        if (e == expert) store_u32(groups, at++, i);
    }
}
