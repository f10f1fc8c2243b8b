// 16 bytes as VEC elements. Include product.glsl first.

#if defined(USE_f64)
void unpack16(uvec4 u, out ACC v[VEC]) {
    v[0] = packDouble2x32(u.xy);
    v[1] = packDouble2x32(u.zw);
}
#elif defined(USE_f32)
void unpack16(uvec4 u, out ACC v[VEC]) {
    vec4 f = uintBitsToFloat(u);
    v[0] = f.x;
    v[1] = f.y;
    v[2] = f.z;
    v[3] = f.w;
}
#else
void unpack16(uvec4 u, out ACC v[VEC]) {
    [[unroll]] for (uint i = 0u; i < 4u; ++i) {
#ifdef USE_f16
        vec2 f = unpackHalf2x16(u[i]);
#else
        vec2 f = uintBitsToFloat(uvec2(u[i] << 16, u[i] & 0xffff0000u));
#endif
        v[2u * i] = f.x;
        v[2u * i + 1u] = f.y;
    }
}
#endif
