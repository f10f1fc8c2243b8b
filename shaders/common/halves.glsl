// Floats of 16 bits, and truth values, by way of the integers that hold them.

#if defined(USE_f16) || defined(USE_bf16) || defined(USE_u16)
float load_f16(uvec2 base, uint i) { return f16_to_f32(load_u16(base, i)); }
void store_f16(uvec2 base, uint i, float v) { store_u16(base, i, f32_to_f16(v)); }
float load_bf16(uvec2 base, uint i) { return bf16_to_f32(load_u16(base, i)); }
void store_bf16(uvec2 base, uint i, float v) { store_u16(base, i, f32_to_bf16(v)); }
#endif
#ifdef USE_bool
uint load_bool(uvec2 base, uint i) { return load_u8(base, i); }
void store_bool(uvec2 base, uint i, uint v) { store_u8(base, i, v); }
#endif
