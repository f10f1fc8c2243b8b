// The type of x and y (axis T: f32, half, f64) and what is computed in it. Include it in place of common/types.glsl.
//
// half is f16, or bf16 where BF16 is set: one kernel for both.
#ifdef T_half
#define USE_u16
#endif
#include "common/types.glsl"

#if defined(T_f64)
#define REAL double
#define REAL4 dvec4
#define REAL_BYTES 8u
double load_real(uvec2 base, uint i) { return load_f64(base, i); }
void store_real(uvec2 base, uint i, double v) { store_f64(base, i, v); }
// Elements i.. of four, i a multiple of 4.
dvec4 load_real4(uvec2 base, uint i) {
    ref_f64 r = ref_f64(base);
    return dvec4(r.v[i], r.v[i + 1u], r.v[i + 2u], r.v[i + 3u]);
}
void store_real4(uvec2 base, uint i, dvec4 v) {
    [[unroll]] for (uint e = 0u; e < 4u; ++e) store_f64(base, i + e, v[e]);
}
#else
#define REAL float
#define REAL4 vec4
#endif

#if defined(T_f32)
#define REAL_BYTES 4u
float load_real(uvec2 base, uint i) { return load_f32(base, i); }
void store_real(uvec2 base, uint i, float v) { store_f32(base, i, v); }
vec4 load_real4(uvec2 base, uint i) { return ref_f32x4(base).v[i >> 2]; }
void store_real4(uvec2 base, uint i, vec4 v) { ref_f32x4(base).v[i >> 2] = v; }
#endif

#if defined(T_half)
layout(constant_id = 15) const bool BF16 = false;
#define REAL_BYTES 2u
float widen_half(uint h) { return BF16 ? bf16_to_f32(h) : f16_to_f32(h); }
uint narrow_half(float v) { return BF16 ? f32_to_bf16(v) : f32_to_f16(v); }
float load_real(uvec2 base, uint i) { return widen_half(load_u16(base, i)); }
void store_real(uvec2 base, uint i, float v) { store_u16(base, i, narrow_half(v)); }
vec4 load_real4(uvec2 base, uint i) {
    uvec2 u = ref_u32x2(base).v[i >> 2];
    if (BF16) return uintBitsToFloat(uvec4(u.x << 16, u.x & 0xffff0000u, u.y << 16, u.y & 0xffff0000u));
    return vec4(unpackHalf2x16(u.x), unpackHalf2x16(u.y));
}
void store_real4(uvec2 base, uint i, vec4 v) {
    uvec4 u = uvec4(narrow_half(v.x), narrow_half(v.y), narrow_half(v.z), narrow_half(v.w));
    ref_u32x2(base).v[i >> 2] = u.xz | u.yw << 16;
}
#endif
