// Affine schemes (axis W): w row-major [k,n], a scale (and zero) for each `block` rows and each column. weight = (q - zero) * scale.
//
//   int8             i8 codes
//   int4             two unsigned codes a byte along n, low half first
//   fp8_e4m3, _e5m2  float codes, one scale a column (block = k)
//   nvfp4            E2M1 codes as int4, scales E4M3 for 16 rows and a column, times one f32
//
// Four columns n.. are read at once, `count` of them wanted (1 to 4); n is a multiple of 4. Include real.glsl first.
#include "quant/bytes.glsl"

// Up to 4 bytes at any address; no word is read that holds none of them.
uint some_bytes(uvec2 at, uint count) {
    ref_u32 words = WORDS_AROUND(at);
    uint shift = BITS_BEFORE(at), last = 0u;
    if (shift + 8u * count > 32u) last = words.v[1];
    return join(words.v[0], last, shift);
}

// OCP E4M3: no infinities, 0x7f is NaN.
float e4m3(uint v) {
    uint exponent = (v >> 3) & 15u, mantissa = v & 7u;
    float magnitude = exponent == 0u ? float(mantissa) * 0.001953125 : uintBitsToFloat((exponent + 120u) << 23 | mantissa << 20);
    if ((v & 0x7fu) == 0x7fu) magnitude = NAN;
    return (v & 0x80u) != 0u ? -magnitude : magnitude;
}

float e5m2(uint v) {
    uint exponent = (v >> 2) & 31u, mantissa = v & 3u;
    float magnitude = exponent == 0u ? float(mantissa) * 0.0000152587890625 : uintBitsToFloat((exponent + 112u) << 23 | mantissa << 21);
    if (exponent == 31u) magnitude = mantissa == 0u ? INF : NAN;
    return (v & 0x80u) != 0u ? -magnitude : magnitude;
}

float e2m1(uint v) {
    uint exponent = (v >> 1) & 3u, mantissa = v & 1u;
    float magnitude = exponent == 0u ? 0.5 * float(mantissa) : uintBitsToFloat((exponent + 126u) << 23 | mantissa << 22);
    return (v & 8u) != 0u ? -magnitude : magnitude;
}

#if defined(W_int4) || defined(W_nvfp4)
#define CODE_BITS 4u
#else
#define CODE_BITS 8u
#endif

// Codes of row k of w, as numbers. `columns` is n of the whole matrix.
vec4 codes4(uvec2 w, uint columns, uint k, uint n, uint count) {
    uvec2 at = at_byte(advance(w, k, columns * CODE_BITS / 8u), n * CODE_BITS / 8u);
    uint v = some_bytes(at, (count * CODE_BITS + 7u) / 8u);
#if defined(W_int8)
    return fields(v ^ 0x80808080u, 0u, 8u) - 384.0;
#elif defined(W_int4)
    return vec4((uvec4(v) >> uvec4(0u, 4u, 8u, 12u)) & 15u);
#elif defined(W_nvfp4)
    return vec4(e2m1(v), e2m1(v >> 4), e2m1(v >> 8), e2m1(v >> 12));
#elif defined(W_fp8_e4m3)
    return vec4(e4m3(v), e4m3(v >> 8), e4m3(v >> 16), e4m3(v >> 24));
#else
    return vec4(e5m2(v), e5m2(v >> 8), e5m2(v >> 16), e5m2(v >> 24));
#endif
}

// Elements n.. of row b of a [.., columns] tensor of x's type.
REAL4 some_reals(uvec2 base, uint columns, uint b, uint n, uint count) {
    uvec2 row = advance(base, b, columns * REAL_BYTES);
    REAL4 v = REAL4(0);
    for (uint e = 0u; e < count; ++e) v[e] = load_real(row, n + e);
    return v;
}

// Scales of block b.
REAL4 scales4(uvec2 scale, uvec2 zero, uint columns, uint b, uint n, uint count) {
#ifdef W_nvfp4
    uint v = some_bytes(at_byte(advance(scale, b, columns), n), count);
    return REAL4(vec4(e4m3(v), e4m3(v >> 8), e4m3(v >> 16), e4m3(v >> 24)) * load_f32(zero, 0u));
#else
    return some_reals(scale, columns, b, n, count);
#endif
}
