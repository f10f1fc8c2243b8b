#version 460
// y = cond ? a : b, moved as units of bytes, with NumPy's broadcasting of all three (operand a of broadcast.glsl is cond).
// y has `count` elements, below 2^31. A workgroup does 1024 of them.
#define USE_bool 1
#include "common/types.glsl"
#include "elementwise/broadcast.glsl"

layout(local_size_x = 256) in;
layout(push_constant) uniform Push {
    uvec2 a, b, c, y, axes;
    uint count;
} p;

void main() {
    uvec2 cond = resolve(p.a), yes = resolve(p.b), no = resolve(p.c), y = resolve(p.y);
    uint first = first_element();
    [[unroll]] for (uint k = 0u; k < EACH; ++k) {
        uint i = first + k * 256u;
        if (i < p.count) {
            uvec3 at = operands_of(p.axes, i);
            bool chosen = load_bool(cond, at.x) != 0u;
            store_unit(y, i, chosen ? load_unit(yes, at.y) : load_unit(no, at.z));
        }
    }
}
