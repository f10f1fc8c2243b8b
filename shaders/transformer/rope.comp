#version 460
// Rotary embedding: pairs (i, i + n_rot/2) (NEOX) or (2i, 2i+1) of the first n_rot elements of each head turn by the angle whose cos and sin stand in
// row ROW of the tables; the other elements are copied. y1 = x1 c - x2 s, y2 = x2 c + x1 s.
// x, y: batch x sequence x heads x size (HEADS_FIRST: heads before the sequence). cos, sin [rows, columns].
// The row is: 0 the sequence index, 1 the flat token, 2 positions[sequence], 3 positions[batch, sequence] (checked). One invocation a pair of elements,
// with QUADS four pairs (sizes and columns are then multiples of 8 and 4).
#include "common/types.glsl"
#include "common/run_state.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 0) const bool NEOX = true;
layout(constant_id = 1) const uint ROW = 0u;
layout(constant_id = 2) const bool WIDE_POSITIONS = false;
layout(constant_id = 3) const bool HEADS_FIRST = false;
layout(constant_id = 4) const bool QUADS = false;
layout(push_constant) uniform Push {
    uvec2 x, cos_table, sin_table, positions, y, state;
    uint total, sequence, heads, size, half_rot, rows, columns, node;
} p;

#ifndef USE_f64
// Elements 4i..4i+3.
vec4 load4(uvec2 base, uint i) {
#ifdef USE_f32
    return ref_f32x4(base).v[i];
#else
    uvec2 u = ref_u32x2(base).v[i];
#ifdef USE_f16
    return vec4(unpackHalf2x16(u.x), unpackHalf2x16(u.y));
#else
    return uintBitsToFloat(uvec4(u.x << 16, u.x & 0xffff0000u, u.y << 16, u.y & 0xffff0000u));
#endif
#endif
}

void store4(uvec2 base, uint i, vec4 v) {
#ifdef USE_f32
    ref_f32x4(base).v[i] = v;
#else
#ifdef USE_f16
    uvec4 h = uvec4(f32_to_f16(v.x), f32_to_f16(v.y), f32_to_f16(v.z), f32_to_f16(v.w));
#else
    uvec4 h = uvec4(f32_to_bf16(v.x), f32_to_bf16(v.y), f32_to_bf16(v.z), f32_to_bf16(v.w));
#endif
    ref_u32x2(base).v[i] = uvec2(h.x | h.y << 16, h.z | h.w << 16);
#endif
}

// Four pairs of the head at x, the `quad`-th ones. cos and sin are the addresses of the row.
void turn_quad(uvec2 x, uvec2 y, uint quad, uvec2 cos_row, uvec2 sin_row) {
    uint quads = p.half_rot / 4u;
    if (quad >= quads) {
        [[unroll]] for (uint i = 0u; i < 2u; ++i) store4(y, 2u * quad + i, load4(x, 2u * quad + i));
        return;
    }
    vec4 c = load4(cos_row, quad), n = load4(sin_row, quad);
    if (NEOX) {
        vec4 u = load4(x, quad), v = load4(x, quad + quads);
        store4(y, quad, u * c - v * n);
        store4(y, quad + quads, v * c + u * n);
    } else {
        vec4 a = load4(x, 2u * quad), b = load4(x, 2u * quad + 1u);
        vec4 u = vec4(a.xz, b.xz), v = vec4(a.yw, b.yw), f = u * c - v * n, g = v * c + u * n;
        store4(y, 2u * quad, vec4(f.x, g.x, f.y, g.y));
        store4(y, 2u * quad + 1u, vec4(f.z, g.z, f.w, g.w));
    }
}
#endif

void main() {
    uint i = group_index() * 256u + gl_LocalInvocationID.x;
    if (i >= p.total) return;
    uint units = QUADS ? p.size / 8u : (p.size + 1u) / 2u, unit = i % units, rest = i / units, h = rest % p.heads;
    rest /= p.heads;
    uint s = rest % p.sequence, b = rest / p.sequence, vector = HEADS_FIRST ? (b * p.heads + h) * p.sequence + s : rest * p.heads + h;
    uvec2 x = advance(resolve(p.x), vector, p.size * T_BYTES), y = advance(resolve(p.y), vector, p.size * T_BYTES);
    uint row = ROW == 0u ? s : b * p.sequence + s;
    if (ROW >= 2u) {
        uint at = ROW == 2u ? s : row;
        uvec2 positions = resolve(p.positions), value = WIDE_POSITIONS ? ref_u32x2(positions).v[at] : widen(load_i32(positions, at));
        row = check_index(p.state, p.node, at, value, p.rows, false);
    }
    uvec2 cos_row = advance(resolve(p.cos_table), row, p.columns * T_BYTES), sin_row = advance(resolve(p.sin_table), row, p.columns * T_BYTES);
#ifndef USE_f64
    if (QUADS) {
        turn_quad(x, y, unit, cos_row, sin_row);
        return;
    }
#endif
    if (unit >= p.half_rot) {
        uint e = 2u * unit;
        T_store(y, e, T_load(x, e));
        if (e + 1u < p.size) T_store(y, e + 1u, T_load(x, e + 1u));
        return;
    }
    T_compute c = T_load(cos_row, unit), n = T_load(sin_row, unit);
    uint first = NEOX ? unit : 2u * unit, second = NEOX ? unit + p.half_rot : 2u * unit + 1u;
    T_compute u = T_load(x, first), v = T_load(x, second);
    T_store(y, first, u * c - v * n);
    T_store(y, second, v * c + u * n);
}
