#version 460
// Moves units between two strided layouts: y[start_y + sum c_a to_a] = x[start_x + sum c_a from_a] for all coordinates c of the axes
// (AXES of them, or axis_count where AXES is 0).
// axes, two words of four an axis, the innermost first: (size, multiplier, shift, -), (from low, from high, to low, to high).
// Strides are in units; with WIDE, where an offset may pass 2^31 units, in bytes. Starts are in bytes. A workgroup moves 1024 units.
// Limit: count below 2^31.
#include "common/types.glsl"
#include "movement/unit.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 0) const uint AXES = 0u;
layout(constant_id = 1) const bool WIDE = false;
layout(push_constant) uniform Push {
    uvec2 x, y, axes;
    uint x_low, x_high, y_low, y_high, count, axis_count;
} p;

const uint EACH = 4u;

void locate(uint i, out uvec2 from, out uvec2 to) {
    from = uvec2(0u);
    to = uvec2(0u);
    const uint axes = AXES != 0u ? AXES : p.axis_count;
    for (uint a = 0u; a < axes; ++a) {
        uvec4 stride = ref_u32x4(p.axes).v[2u * a + 1u];
        uint c = i;
        if (a + 1u < axes) {
            uvec4 size = ref_u32x4(p.axes).v[2u * a];
            uint q = divide(i, size.y, size.z);
            c = i - q * size.x;
            i = q;
        }
        if (WIDE) {
            from = add64(from, times64(c, stride.xy));
            to = add64(to, times64(c, stride.zw));
        } else {
            from.x += c * stride.x;
            to.x += c * stride.z;
        }
    }
}

void main() {
    uint first = group_index() * (256u * EACH) + gl_LocalInvocationID.x;
    uvec2 x = add64(resolve(p.x), uvec2(p.x_low, p.x_high)), y = add64(resolve(p.y), uvec2(p.y_low, p.y_high));
    UNIT held[EACH];
    uvec2 to[EACH];
    [[unroll]] for (uint k = 0u; k < EACH; ++k) {
        uint i = first + k * 256u;
        if (i < p.count) {
            uvec2 from;
            locate(i, from, to[k]);
            held[k] = WIDE ? load_unit(add64(x, from), 0u) : load_unit(x, from.x);
        }
    }
    [[unroll]] for (uint k = 0u; k < EACH; ++k) {
        if (first + k * 256u < p.count) {
            if (WIDE) {
                store_unit(add64(y, to[k]), 0u, held[k]);
            } else {
                store_unit(y, to[k].x, held[k]);
            }
        }
    }
}
