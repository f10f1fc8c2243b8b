// 16 bytes of a tensor of type T, any type of numbers, at once: PIECE elements. Include types.glsl first. The address of a piece is a multiple
// of 16.

#define PIECE (16u / T_BYTES)

// The piece that load_piece() has read, and that store_piece() will write.
T_compute piece[PIECE];

#ifdef T_f16
// |x| rounded to what an f16 holds, to nearest even, by an addition that leaves no more bits than that; the sign is kept.
float rounded_f16(float x) {
    float big = uintBitsToFloat(max(floatBitsToUint(x) & 0x7f800000u, 0x38800000u) + 0x06800000u);
    precise float r = abs(x) + big;
    r -= big;
    return uintBitsToFloat(floatBitsToUint(r >= 65536.0 ? INF : r) | (floatBitsToUint(x) & 0x80000000u));
}
#endif

void load_piece(uvec2 base, uint i) {
    uvec4 u = ref_u32x4(base).v[i];
#if defined(T_f64)
    piece[0] = packDouble2x32(u.xy);
    piece[1] = packDouble2x32(u.zw);
#elif defined(T_i64) || defined(T_u64)
    piece[0] = T_compute(packUint2x32(u.xy));
    piece[1] = T_compute(packUint2x32(u.zw));
#elif defined(T_f32)
    [[unroll]] for (uint e = 0u; e < 4u; ++e) piece[e] = uintBitsToFloat(u[e]);
#elif defined(T_f16)
    [[unroll]] for (uint e = 0u; e < 4u; ++e) {
        vec2 two = unpackHalf2x16(u[e]);
        piece[2u * e] = two.x;
        piece[2u * e + 1u] = two.y;
    }
#elif defined(T_bf16)
    [[unroll]] for (uint e = 0u; e < 4u; ++e) {
        piece[2u * e] = uintBitsToFloat(u[e] << 16);
        piece[2u * e + 1u] = uintBitsToFloat(u[e] & 0xffff0000u);
    }
#else
    const uint each = 4u / T_BYTES;
    [[unroll]] for (uint e = 0u; e < PIECE; ++e) {
        piece[e] = bitfieldExtract(T_compute(u[e / each]), int(e % each * 8u * T_BYTES), int(8u * T_BYTES));
    }
#endif
}

void store_piece(uvec2 base, uint i) {
    uvec4 u = uvec4(0u);
#if defined(T_f64)
    u = uvec4(unpackDouble2x32(piece[0]), unpackDouble2x32(piece[1]));
#elif defined(T_i64) || defined(T_u64)
    u = uvec4(unpackUint2x32(uint64_t(piece[0])), unpackUint2x32(uint64_t(piece[1])));
#elif defined(T_f32)
    [[unroll]] for (uint e = 0u; e < 4u; ++e) u[e] = floatBitsToUint(piece[e]);
#elif defined(T_f16)
    // Exact for what is rounded already, however the driver rounds.
    [[unroll]] for (uint e = 0u; e < 4u; ++e) u[e] = packHalf2x16(vec2(rounded_f16(piece[2u * e]), rounded_f16(piece[2u * e + 1u])));
#elif defined(T_bf16)
    [[unroll]] for (uint e = 0u; e < 4u; ++e) u[e] = f32_to_bf16(piece[2u * e]) | f32_to_bf16(piece[2u * e + 1u]) << 16;
#else
    const uint each = 4u / T_BYTES;
    [[unroll]] for (uint e = 0u; e < PIECE; ++e) {
        u[e / each] = bitfieldInsert(u[e / each], uint(piece[e]), int(e % each * 8u * T_BYTES), int(8u * T_BYTES));
    }
#endif
    ref_u32x4(base).v[i] = u;
}
