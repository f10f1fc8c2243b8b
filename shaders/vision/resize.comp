#version 460
// Resamples along several axes at once: y[o] = sum over taps of the product of their weights times x at the taps' coordinates.
// params, 8 words an axis, the innermost first: size in y, multiplier, shift, stride in x in elements (2 words), taps of an output
// coordinate, place of the axis' table in params, -. A table holds for each output coordinate its taps as (coordinate in x, weight as
// f32). An axis that is not resampled has 0 taps and no table. The first two that are resampled are `axis_a` and `axis_b` (the same
// if there is one), the combinations of the taps of the rest are `others`.
// With units (resize_nearest) every axis has at most one tap, and elements are copied. Limits: count below 2^31, 8 axes.
#include "common/types.glsl"
#include "movement/unit.glsl"

#ifdef UNIT
#define ELEMENT_BYTES UNIT_BYTES
#else
#ifdef USE_f64
#define ACC double
#else
#define ACC float
#endif
#define ELEMENT_BYTES T_BYTES
#endif

layout(local_size_x = 256) in;
layout(push_constant) uniform Push {
    uvec2 x, y, params;
    uint count, axes, axis_a, axis_b, others;
} p;

const uint MOST_AXES = 8u;

struct Axis {
    uvec2 stride;
    uint taps, table;
};

Axis axis_of(uint a, uint c) {
    uvec4 v = ref_u32x4(p.params).v[2u * a + 1u];
    return Axis(uvec2(load_u32(p.params, 8u * a + 3u), v.x), v.y, v.z + 2u * v.y * c);
}

void main() {
    uint i = group_index() * 256u + gl_LocalInvocationID.x;
    if (i >= p.count) return;
    uint place[MOST_AXES];
    uvec2 x = resolve(p.x);
    uint rest = i;
    for (uint a = 0u; a < p.axes; ++a) {
        uvec4 size = ref_u32x4(p.params).v[2u * a];
        uint q = divide(rest, size.y, size.z);
        place[a] = rest - q * size.x;
        rest = q;
        Axis axis = axis_of(a, place[a]);
#ifdef UNIT
        uint c = place[a];
        if (axis.taps > 0u) c = load_u32(p.params, axis.table);
        x = add64(x, times64(c, times64(ELEMENT_BYTES, axis.stride)));
#else
        if (axis.taps == 0u) x = add64(x, times64(place[a], times64(ELEMENT_BYTES, axis.stride)));
#endif
    }
#ifdef UNIT
    store_unit(resolve(p.y), i, load_unit(x, 0u));
#else
    Axis along_a = axis_of(p.axis_a, place[p.axis_a]), along_b = axis_of(p.axis_b, place[p.axis_b]);
    if (p.axis_b == p.axis_a) along_b.taps = 1u;
    ACC sum = ACC(0);
    [[dont_unroll]] for (uint other = 0u; other < p.others; ++other) {
        uint left = other;
        uvec2 from = x;
        float weight = 1.0;
        for (uint a = 0u; a < p.axes; ++a) {
            if (a == p.axis_a || a == p.axis_b) continue;
            Axis axis = axis_of(a, place[a]);
            if (axis.taps == 0u) continue;
            uint tap = axis.table + 2u * (left % axis.taps);
            left /= axis.taps;
            from = add64(from, times64(load_u32(p.params, tap), times64(ELEMENT_BYTES, axis.stride)));
            weight *= load_f32(p.params, tap + 1u);
        }
        [[dont_unroll]] for (uint b = 0u; b < along_b.taps; ++b) {
            uvec2 row = from;
            float row_weight = weight;
            if (p.axis_b != p.axis_a) {
                row = add64(row, times64(load_u32(p.params, along_b.table + 2u * b), times64(ELEMENT_BYTES, along_b.stride)));
                row_weight *= load_f32(p.params, along_b.table + 2u * b + 1u);
            }
            ACC row_sum = ACC(0);
            [[dont_unroll]] for (uint a = 0u; a < along_a.taps; ++a) {
                uint tap = along_a.table + 2u * a;
                uvec2 at = add64(row, times64(load_u32(p.params, tap), times64(ELEMENT_BYTES, along_a.stride)));
                row_sum += ACC(load_f32(p.params, tap + 1u)) * T_load(at, 0u);
            }
            sum += ACC(row_weight) * row_sum;
        }
    }
    T_store(resolve(p.y), i, sum);
#endif
}
