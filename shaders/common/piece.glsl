// 16 bytes of a tensor of type T at once: PIECE elements. Include types.glsl first. The address of a piece is a multiple of 16.

#if defined(T_f64)
#define PIECE 2u
#elif defined(T_f32)
#define PIECE 4u
#else
#define PIECE 8u
#endif

// The piece that load_piece() has read, and that store_piece() will write.
T_compute piece[PIECE];

void load_piece(uvec2 base, uint i) {
    uvec4 u = ref_u32x4(base).v[i];
#if defined(T_f64)
    piece[0] = packDouble2x32(u.xy);
    piece[1] = packDouble2x32(u.zw);
#elif defined(T_f32)
    [[unroll]] for (uint e = 0u; e < 4u; ++e) piece[e] = uintBitsToFloat(u[e]);
#else
    [[unroll]] for (uint e = 0u; e < 4u; ++e) {
#ifdef T_f16
        piece[2u * e] = f16_to_f32(u[e] & 0xffffu);
        piece[2u * e + 1u] = f16_to_f32(u[e] >> 16);
#else
        piece[2u * e] = bf16_to_f32(u[e] & 0xffffu);
        piece[2u * e + 1u] = bf16_to_f32(u[e] >> 16);
#endif
    }
#endif
}

void store_piece(uvec2 base, uint i) {
    uvec4 u;
#if defined(T_f64)
    u = uvec4(unpackDouble2x32(piece[0]), unpackDouble2x32(piece[1]));
#elif defined(T_f32)
    [[unroll]] for (uint e = 0u; e < 4u; ++e) u[e] = floatBitsToUint(piece[e]);
#else
    [[unroll]] for (uint e = 0u; e < 4u; ++e) {
#ifdef T_f16
        u[e] = f32_to_f16(piece[2u * e]) | f32_to_f16(piece[2u * e + 1u]) << 16;
#else
        u[e] = f32_to_bf16(piece[2u * e]) | f32_to_bf16(piece[2u * e + 1u]) << 16;
#endif
    }
#endif
    ref_u32x4(base).v[i] = u;
}
