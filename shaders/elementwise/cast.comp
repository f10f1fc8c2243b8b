#version 460
// y = x as another type. FROM and TO are numbers of element types (f32 1, f16 2, bf16 3, f64 4, i8 5, i16 6, i32 7, i64 8, u8 9, u16 10, u32 11,
// u64 12, bool 13); the driver folds the choice. Floats to integers truncate and saturate, NaN gives 0; integers wrap; to bool: x != 0; to a
// narrower float: nearest even, overflow gives infinity.
// `count` elements, below 2^31. A workgroup does 1024 of them. W_narrow leaves the 64-bit types out, for devices without them.
#define USE_f16 1
#define USE_i16 1
#define USE_u16 1
#define USE_i8 1
#define USE_u8 1
#ifdef W_wide
#define USE_f64 1
#define USE_i64 1
#define USE_u64 1
#endif
#include "common/types.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 0) const uint FROM = 1u;
layout(constant_id = 1) const uint TO = 1u;
layout(push_constant) uniform Push {
    uvec2 x, y;
    uint count;
} p;

uvec2 widen32(int v) { return uvec2(uint(v), v < 0 ? 0xffffffffu : 0u); }
// A word to the nearest float, ties to even; written out because float() may round otherwise.
float rounded(uint word) {
    uint high = word >> 8, low = word & 0xffu;
    if (low > 0x80u || (low == 0x80u && (high & 1u) != 0u)) ++high;
    return float(high) * 256.0;
}
bool is_signed(uint t) { return t >= 5u && t <= 8u; }
uint width_of(uint t) { return t == 5u || t == 9u || t == 13u ? 8u : t == 6u || t == 10u ? 16u : t == 7u || t == 11u ? 32u : 64u; }

float load_float(uvec2 x, uint i) { return FROM == 1u ? load_f32(x, i) : FROM == 2u ? load_f16(x, i) : load_bf16(x, i); }
// Integers of up to 32 bits, sign- or zero-extended to two words.
uvec2 load_words(uvec2 x, uint i) {
    switch (FROM) {
    case 5u: return widen32(load_i8(x, i));
    case 6u: return widen32(load_i16(x, i));
    case 7u: return widen32(load_i32(x, i));
    case 8u: return ref_u32x2(x).v[i];
    case 9u: return uvec2(load_u8(x, i), 0u);
    case 10u: return uvec2(load_u16(x, i), 0u);
    case 11u: return uvec2(load_u32(x, i), 0u);
    case 12u: return ref_u32x2(x).v[i];
    }
    return uvec2(load_u8(x, i), 0u);
}
void store_words(uvec2 y, uint i, uvec2 v) {
    switch (TO) {
    case 5u: case 9u: store_u8(y, i, v.x); return;
    case 6u: case 10u: store_u16(y, i, v.x); return;
    case 7u: case 11u: store_u32(y, i, v.x); return;
    case 8u: case 12u: ref_u32x2(y).v[i] = v; return;
    }
    store_u8(y, i, (v.x | v.y) != 0u ? 1u : 0u);
}
void store_float(uvec2 y, uint i, float v) {
    switch (TO) {
    case 1u: store_f32(y, i, v); return;
    case 2u: store_f16(y, i, v); return;
    case 3u: store_bf16(y, i, v); return;
#ifdef W_wide
    case 4u: store_f64(y, i, double(v)); return;
#endif
    }
}
// Truncated and saturated. The halves of a large float are exact in float arithmetic.
uvec2 float_to_words(float v) {
    uint bits = width_of(TO);
    bool sign = is_signed(TO);
    if (is_nan(v)) return uvec2(0u);
    float t = v < 0.0 ? ceil(v) : floor(v);
    float limit = uintBitsToFloat(((sign ? bits - 1u : bits) + 127u) << 23);
    if (t >= limit) {
        uvec2 most = bits == 64u ? uvec2(0xffffffffu) : bits == 32u ? uvec2(0xffffffffu, 0u) : uvec2((1u << bits) - 1u, 0u);
        if (sign) most = bits == 64u ? uvec2(most.x, most.y >> 1) : uvec2(most.x >> 1, 0u);
        return most;
    }
    if (t < 0.0) {
        if (!sign) return uvec2(0u);
        if (t <= -limit) return bits == 64u ? uvec2(0u, 0x80000000u) : uvec2(0xffffffffu << (bits - 1u), 0xffffffffu);
    }
    float a = abs(t), high = floor(a * 2.32830644e-10);
    uvec2 w = uvec2(uint(a - high * 4294967296.0), uint(high));
    if (t < 0.0) {
        uint carry;
        uint low = uaddCarry(~w.x, 1u, carry);
        w = uvec2(low, ~w.y + carry);
    }
    return w;
}
float rounded_word(uint w) {
    int shift = 31 - findMSB(w); // the top bit to the top
    return rounded(w << shift) * uintBitsToFloat(uint(127 - shift) << 23);
}
// Two words to the nearest float: the low word is folded into a sticky bit, so that there is one rounding.
float words_to_float(uvec2 w, bool sign) {
    bool negative = sign && (w.y & 0x80000000u) != 0u;
    if (negative) {
        uint carry;
        uint low = uaddCarry(~w.x, 1u, carry);
        w = uvec2(low, ~w.y + carry);
    }
    float v;
    if (w.y == 0u) {
        v = w.x < 0x1000000u ? float(w.x) : rounded_word(w.x);
    } else {
        int top = findMSB(w.y), shift = top + 1;
        uint word = shift == 32 ? w.y : (w.y << (32 - shift)) | (w.x >> shift);
        uint lost = shift == 32 ? w.x : w.x << (32 - shift);
        if (lost != 0u) word |= 1u;
        v = rounded(word) * uintBitsToFloat(uint(shift + 127) << 23);
    }
    return negative ? -v : v;
}
#ifdef W_wide
double load_double(uvec2 x, uint i) { return FROM == 4u ? load_f64(x, i) : double(load_float(x, i)); }
// An f32 from which rounding to f16 or bf16 gives what rounding the double once would: toward zero with a sticky last bit.
float to_odd(double v) {
    float nearest = float(v);
    if (is_nan(nearest) || double(nearest) == v) return nearest;
    uint bits = floatBitsToUint(nearest);
    if (abs(double(nearest)) > abs(v)) bits -= 1u;
    return uintBitsToFloat(bits | 1u);
}
#endif

void convert(uvec2 x, uvec2 y, uint i) {
    if (FROM >= 5u) {
        uvec2 w = load_words(x, i);
        if (TO >= 5u) {
            store_words(y, i, w);
            return;
        }
#ifdef W_wide
        if (TO == 4u) {
            double v = is_signed(FROM) ? double(int(w.y)) * 4294967296.0LF + double(w.x) : double(w.y) * 4294967296.0LF + double(w.x);
            store_f64(y, i, v);
            return;
        }
        if (TO != 1u && width_of(FROM) >= 32u) {
            double v = is_signed(FROM) ? double(int(w.y)) * 4294967296.0LF + double(w.x) : double(w.y) * 4294967296.0LF + double(w.x);
            store_float(y, i, to_odd(v));
            return;
        }
#endif
        store_float(y, i, words_to_float(w, is_signed(FROM)));
        return;
    }
#ifdef W_wide
    if (FROM == 4u) {
        double v = load_f64(x, i);
        if (TO == 13u) store_u8(y, i, v != 0.0LF || is_nan(v) ? 1u : 0u);
        else if (TO == 4u) store_f64(y, i, v);
        else if (TO == 1u) store_f32(y, i, float(v));
        else if (TO < 4u) store_float(y, i, to_odd(v));
        else if (width_of(TO) < 64u || abs(v) < 1.0LF || is_nan(v) || abs(v) >= 18446744073709551616.0LF) {
            double t = v < 0.0LF ? ceil(v) : floor(v);
            bool sign = is_signed(TO);
            uint bits = width_of(TO);
            if (bits == 64u) { store_words(y, i, float_to_words(float(v))); return; }
            double most = double(uintBitsToFloat(((sign ? bits - 1u : bits) + 127u) << 23)) - 1.0LF, least = sign ? -most - 1.0LF : 0.0LF;
            double s = is_nan(v) ? 0.0LF : clamp(t, least, most);
            store_words(y, i, s < 0.0LF ? widen32(int(s)) : uvec2(uint(s), 0u));
        } else {
            double t = abs(v < 0.0LF ? ceil(v) : floor(v));
            bool sign = is_signed(TO);
            if (v < 0.0LF && !sign) { store_words(y, i, uvec2(0u)); return; }
            if (sign && t >= 9223372036854775808.0LF) { store_words(y, i, v < 0.0LF ? uvec2(0u, 0x80000000u) : uvec2(0xffffffffu, 0x7fffffffu)); return; }
            double high = floor(t / 4294967296.0LF);
            uvec2 w = uvec2(uint(t - high * 4294967296.0LF), uint(high));
            if (v < 0.0LF) {
                uint carry;
                uint low = uaddCarry(~w.x, 1u, carry);
                w = uvec2(low, ~w.y + carry);
            }
            store_words(y, i, w);
        }
        return;
    }
#endif
    float v = load_float(x, i);
    if (TO == 13u) store_u8(y, i, v != 0.0 || is_nan(v) ? 1u : 0u);
    else if (TO >= 5u) store_words(y, i, float_to_words(v));
    else store_float(y, i, v);
}

void main() {
    uvec2 x = resolve(p.x), y = resolve(p.y);
    uint first = group_index() * 1024u + gl_LocalInvocationID.x;
    [[unroll]] for (uint k = 0u; k < 4u; ++k) {
        uint i = first + k * 256u;
        if (i < p.count) convert(x, y, i);
    }
}
