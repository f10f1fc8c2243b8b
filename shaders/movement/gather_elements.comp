#version 460
// y[c] = data[c with c_axis replaced by index[c]], for all coordinates c of the index tensor.
// axes, two words of four an axis, the innermost first: (size, multiplier, shift, -), (stride in data in bytes, 2 words, -, -).
// Indices are checked; negative ones count from the end. Limit: count below 2^31.
#include "common/types.glsl"
#include "common/run_state.glsl"
#include "movement/unit.glsl"
#include "movement/index.glsl"

layout(local_size_x = 256) in;
layout(push_constant) uniform Push {
    uvec2 data, index, y, axes, state;
    uint node, count, axis_count, axis, extent;
} p;

void main() {
    uint i = group_index() * 256u + gl_LocalInvocationID.x;
    if (i >= p.count) return;
    uint picked = check_index(p.state, p.node, i, load_index(resolve(p.index), i), p.extent, true);
    uvec2 x = resolve(p.data);
    uint rest = i;
    for (uint a = 0u; a < p.axis_count; ++a) {
        uvec4 size = ref_u32x4(p.axes).v[2u * a], stride = ref_u32x4(p.axes).v[2u * a + 1u];
        uint q = divide(rest, size.y, size.z), c = rest - q * size.x;
        rest = q;
        x = add64(x, times64(a == p.axis ? picked : c, stride.xy));
    }
    store_unit(resolve(p.y), i, p.extent == 0u ? UNIT(0u) : load_unit(x, 0u));
}
