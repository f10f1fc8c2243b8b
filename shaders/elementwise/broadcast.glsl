// How elementwise kernels find the elements of their operands. An invocation does EACH elements, 256 apart; a workgroup 256 * EACH.
//
// MODE_x of an operand: 0 its elements lie as the result's; 1 it is one element; 2 it has strides of its own.
// axes (only read with a mode 2), four words an axis, the innermost first, in shape: size, multiplier, shift, 0; then a row of strides in
// elements for up to four operands.
#include "movement/unit.glsl"

layout(constant_id = 10) const uint MODE_A = 0u;
layout(constant_id = 11) const uint MODE_B = 0u;
layout(constant_id = 12) const uint MODE_C = 0u;
layout(constant_id = 13) const uint AXES = 0u; // 0: the count stands in the last word of the first four

const uint EACH = 4u;

uint first_element() { return group_index() * (256u * EACH) + gl_LocalInvocationID.x; }

// Element numbers of the operands for element i of the result.
uvec3 operands_of(uvec2 axes, uint i) {
    uvec3 at = uvec3(MODE_A == 0u ? i : 0u, MODE_B == 0u ? i : 0u, MODE_C == 0u ? i : 0u);
    if (MODE_A != 2u && MODE_B != 2u && MODE_C != 2u) return at;
    uvec3 on = uvec3(MODE_A == 2u ? 1u : 0u, MODE_B == 2u ? 1u : 0u, MODE_C == 2u ? 1u : 0u);
    uint left = i;
    uint count = AXES != 0u ? AXES : ref_u32x4(axes).v[0].w;
    for (uint a = 0u; a < count; ++a) {
        uvec4 size = ref_u32x4(axes).v[2u * a], stride = ref_u32x4(axes).v[2u * a + 1u];
        uint q = a + 1u < count ? divide(left, size.y, size.z) : 0u;
        at += on * stride.xyz * (left - q * size.x);
        left = q;
    }
    return at;
}
