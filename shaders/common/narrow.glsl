// Elements of 16 and 8 bits, of types and of units that are moved. Plain kernels have narrow.plain.glsl in its place.

#if defined(USE_f16) || defined(USE_bf16) || defined(USE_u16) || defined(UNIT_b2)
layout(buffer_reference, scalar, buffer_reference_align = 2) buffer ref_u16 { uint16_t v[]; };
uint load_u16(uvec2 base, uint i) { return uint(ref_u16(base).v[i]); }
void store_u16(uvec2 base, uint i, uint v) { ref_u16(base).v[i] = uint16_t(v); }
#endif
#ifdef USE_i16
layout(buffer_reference, scalar, buffer_reference_align = 2) buffer ref_i16 { int16_t v[]; };
int load_i16(uvec2 base, uint i) { return int(ref_i16(base).v[i]); }
void store_i16(uvec2 base, uint i, int v) { ref_i16(base).v[i] = int16_t(v); }
#endif
#if defined(USE_u8) || defined(USE_bool) || defined(UNIT_b1)
layout(buffer_reference, scalar, buffer_reference_align = 1) buffer ref_u8 { uint8_t v[]; };
uint load_u8(uvec2 base, uint i) { return uint(ref_u8(base).v[i]); }
void store_u8(uvec2 base, uint i, uint v) { ref_u8(base).v[i] = uint8_t(v); }
#endif
#ifdef USE_i8
layout(buffer_reference, scalar, buffer_reference_align = 1) buffer ref_i8 { int8_t v[]; };
int load_i8(uvec2 base, uint i) { return int(ref_i8(base).v[i]); }
void store_i8(uvec2 base, uint i, int v) { ref_i8(base).v[i] = int8_t(v); }
#endif
#include "common/halves.glsl"
