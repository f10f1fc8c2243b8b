#version 460
// Rotary embedding: pairs (i, i + n_rot/2) (NEOX) or (2i, 2i+1) of the first n_rot elements of each head turn by the angle whose cos and sin stand in
// row ROW of the tables; the other elements are copied. y1 = x1 c - x2 s, y2 = x2 c + x1 s.
// x, y: batch x sequence x heads x size, with strides in elements for sequence and heads (batch is outermost). cos, sin [rows, columns].
// The row is: 0 the sequence index, 1 the flat token, 2 positions[sequence], 3 positions[batch, sequence] (checked). One invocation a pair of elements.
#include "common/types.glsl"
#include "common/run_state.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 0) const bool NEOX = true;
layout(constant_id = 1) const uint ROW = 0u;
layout(constant_id = 2) const bool WIDE_POSITIONS = false;
layout(push_constant) uniform Push {
    uvec2 x, cos_table, sin_table, positions, y, state;
    uint total, sequence, heads, size, half_rot, sequence_stride, head_stride, batch_stride, rows, columns, node;
} p;

void main() {
    uint i = group_index() * 256u + gl_LocalInvocationID.x;
    if (i >= p.total) return;
    uint pairs = (p.size + 1u) / 2u;
    uint pair = i % pairs, rest = i / pairs, h = rest % p.heads;
    rest /= p.heads;
    uint s = rest % p.sequence, b = rest / p.sequence;
    uvec2 x = advance(resolve(p.x), b, p.batch_stride * T_BYTES), y = advance(resolve(p.y), b, p.batch_stride * T_BYTES);
    uint base = s * p.sequence_stride + h * p.head_stride;
    if (pair >= p.half_rot) {
        uint e = 2u * p.half_rot + 2u * (pair - p.half_rot);
        if (e < p.size) T_store(y, base + e, T_load(x, base + e));
        if (e + 1u < p.size) T_store(y, base + e + 1u, T_load(x, base + e + 1u));
        return;
    }
    uint row = ROW == 0u ? s : b * p.sequence + s;
    if (ROW >= 2u) {
        uint at = ROW == 2u ? s : row;
        uvec2 positions = resolve(p.positions);
        uvec2 value = WIDE_POSITIONS ? ref_u32x2(positions).v[at] : widen(load_i32(positions, at));
        row = check_index(p.state, p.node, at, value, p.rows, false);
    }
    T_compute c = T_load(resolve(p.cos_table), row * p.columns + pair), n = T_load(resolve(p.sin_table), row * p.columns + pair);
    uint first = base + (NEOX ? pair : 2u * pair), second = base + (NEOX ? pair + p.half_rot : 2u * pair + 1u);
    T_compute u = T_load(x, first), v = T_load(x, second);
    T_store(y, first, u * c - v * n);
    T_store(y, second, v * c + u * n);
}
