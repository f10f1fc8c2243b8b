#version 460
// Pads and crops. For each axis the coordinate of y minus `first` is the coordinate in what is left of x after cropping; outside of
// it MODE 0 gives the constant `value` (16 bytes of it), 1 reflects, 2 takes the edge, 3 wraps round.
// axes, two words of four an axis, the innermost first: (size in y, multiplier, shift, first), (extent in x, stride in bytes, 2 words, -).
// Limit: count below 2^31.
#include "common/types.glsl"
#include "movement/unit.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 0) const uint MODE = 0u;
layout(push_constant) uniform Push {
    uvec2 x, y, axes;
    uint x_low, x_high, value0, value1, value2, value3, count, axis_count;
} p;

UNIT value() {
#if defined(UNIT_b1)
    return p.value0 & 0xffu;
#elif defined(UNIT_b2)
    return p.value0 & 0xffffu;
#elif defined(UNIT_b4)
    return p.value0;
#elif defined(UNIT_b8)
    return uvec2(p.value0, p.value1);
#else
    return uvec4(p.value0, p.value1, p.value2, p.value3);
#endif
}

void main() {
    uint i = group_index() * 256u + gl_LocalInvocationID.x;
    if (i >= p.count) return;
    uvec2 x = add64(resolve(p.x), uvec2(p.x_low, p.x_high));
    bool inside = true;
    uint rest = i;
    for (uint a = 0u; a < p.axis_count; ++a) {
        uvec4 size = ref_u32x4(p.axes).v[2u * a], more = ref_u32x4(p.axes).v[2u * a + 1u];
        uint q = divide(rest, size.y, size.z);
        int c = int(rest - q * size.x) - int(size.w), extent = int(more.x);
        rest = q;
        if (MODE == 0u) {
            inside = inside && c >= 0 && c < extent;
        } else if (MODE == 1u) {
            c = c < 0 ? -c : c >= extent ? 2 * (extent - 1) - c : c;
        } else if (MODE == 2u) {
            c = clamp(c, 0, extent - 1);
        } else {
            c = c < 0 ? extent - 1 - (-c - 1) % extent : c % extent;
        }
        x = add64(x, times64(uint(c), more.yz));
    }
    UNIT v = value();
    if (inside) v = load_unit(x, 0u);
    store_unit(resolve(p.y), i, v);
}
