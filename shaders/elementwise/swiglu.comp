#version 460
// y = act(gate) * up. gate and up are [rows, width] in tensors whose rows are `gate_stride` and `up_stride` elements apart (packed: the halves
// of one tensor). ACT: 0 Silu, 1 Gelu, 2 GeluTanh. A workgroup does 1024 elements of y; count below 2^31.
#include "common/types.glsl"
#include "common/math.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 0) const uint ACT = 0u;
layout(push_constant) uniform Push {
    uvec2 gate, up, y;
    uint count, width, gate_stride, up_stride, gate_start, up_start;
} p;

void main() {
    uvec2 gate = resolve(p.gate), up = resolve(p.up), y = resolve(p.y);
    uint first = group_index() * 1024u + gl_LocalInvocationID.x;
    [[unroll]] for (uint k = 0u; k < 4u; ++k) {
        uint i = first + k * 256u;
        if (i < p.count) {
            uint row = i / p.width, column = i - row * p.width;
            T_compute g = T_load(gate, p.gate_start + row * p.gate_stride + column), u = T_load(up, p.up_start + row * p.up_stride + column);
            T_store(y, i, (ACT == 0u ? m_silu(g) : ACT == 1u ? m_gelu(g) : m_gelu_tanh(g)) * u);
        }
    }
}
