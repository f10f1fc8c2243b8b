#version 460
// y[o, d, i] = values[1] where index[o, i], counted from the end if negative, is d; values[0] elsewhere. y [outer, depth, inner].
#include "common/types.glsl"
#include "common/run_state.glsl"
#include "movement/unit.glsl"
#include "movement/index.glsl"

layout(local_size_x = 256) in;
layout(push_constant) uniform Push {
    uvec2 index, values, y;
    uint count, depth, inner;
} p;

void main() {
    uint i = group_index() * 256u + gl_LocalInvocationID.x;
    if (i >= p.count) return;
    uint inner = i % p.inner, q = i / p.inner, d = q % p.depth, outer = q / p.depth;
    uvec2 want = load_index(resolve(p.index), outer * p.inner + inner);
    if ((want.y & 0x80000000u) != 0u) want = add64(want, uvec2(p.depth, 0u));
    store_unit(resolve(p.y), i, load_unit(resolve(p.values), want == uvec2(d, 0u) ? 1u : 0u));
}
