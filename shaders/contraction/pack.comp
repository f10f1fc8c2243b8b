#version 460
// Copies a strided tensor into a dense one, as the same type or (WIDE) as the type products are summed in.
// axes: for each axis from the innermost out its extent and its stride in x, in elements. A workgroup covers 256 elements.
#include "common/types.glsl"
#include "contraction/address.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 0) const bool WIDE = false;
layout(push_constant) uniform Push {
    uvec2 x, y, axes;
    uint count, rank;
} p;

void main() {
    uint group = group_index(), id = group * 256u + gl_LocalInvocationID.x;
    if (group >= (p.count + 255u) / 256u || id >= p.count) return;
    uvec2 x = resolve(p.x), axes = resolve(p.axes), at = uvec2(0u);
    uint rest = id;
    for (uint axis = 0u; axis < p.rank; ++axis) {
        uint extent = load_u32(axes, 2u * axis);
        at = plus(at, times(rest % extent, load_u32(axes, 2u * axis + 1u)));
        rest /= extent;
    }
    x = move(x, at, T_BYTES == 8u ? 3u : T_BYTES == 4u ? 2u : 1u);
    uvec2 y = resolve(p.y);
#ifdef USE_f64
    store_f64(y, id, load_f64(x, 0u));
#else
    if (WIDE) {
        store_f32(y, id, T_load(x, 0u));
    } else {
        T_store(y, id, T_load(x, 0u));
    }
#endif
}
