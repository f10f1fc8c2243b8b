#version 460
// y = f(a), f(a, b) or f(a, b, c), element by element, with NumPy's broadcasting. OP is the place of the function in `Function` of
// src/ops/elementwise/function.rs; the driver folds the choice away. Narrow types are computed in float, int or uint.
// y has `count` elements (below 2^31) of type T, or bool with R_bool. A workgroup does 1024 of them.
#ifdef R_bool
#define USE_bool 1
#endif
#include "common/types.glsl"
#include "common/math.glsl"
#include "elementwise/broadcast.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 0) const uint OP = 0u;
layout(constant_id = 1) const uint OPERANDS = 1u;
layout(push_constant) uniform Push {
    uvec2 a, b, c, y, axes;
    uint count;
    float p0, p1;
} p;

#if defined(T_f32) || defined(T_f16) || defined(T_bf16) || defined(T_f64)
#define IS_FLOAT 1
#elif defined(T_i8) || defined(T_i16) || defined(T_i32) || defined(T_i64)
#define IS_SIGNED 1
#endif
#ifdef T_f64
#define NUMBER_NAN NAN64
#else
#define NUMBER_NAN NAN
#endif
#define X T_compute
const X ZERO = X(0), ONE = X(1);

#ifdef IS_FLOAT
X unary(X x) {
    switch (OP) {
    case 0u: return -x;
    case 1u: return abs(x);
    case 2u: return is_nan(x) ? x : x > ZERO ? ONE : x < ZERO ? -ONE : x;
    case 3u: return floor(x);
    case 4u: return ceil(x);
    case 5u: {
        X r = floor(x), d = x - r;
        if (is_nan(x) || is_inf(x) || d == ZERO) return x;
        X half_even = X(0.5), up = r + ONE;
        bool odd = floor(r * half_even) * X(2) != r;
        X v = d < half_even ? r : d > half_even ? up : odd ? up : r;
        return v == ZERO ? (x < ZERO ? -ZERO : ZERO) : v;
    }
    case 6u: return x < ZERO ? ceil(x) : floor(x);
    case 7u: return ONE / x;
    case 8u: return x < ZERO ? NUMBER_NAN : sqrt(x);
    case 9u: return x < ZERO ? NUMBER_NAN : ONE / sqrt(x);
    case 10u: return m_exp(x);
    case 11u: return m_expm1(x);
    case 12u: return m_log(x);
    case 13u: return m_log1p(x);
    case 14u: return m_sin(x);
    case 15u: return m_cos(x);
    case 16u: return m_tan(x);
    case 17u: return m_asin(x);
    case 18u: return m_acos(x);
    case 19u: return m_atan(x);
    case 20u: return m_sinh(x);
    case 21u: return m_cosh(x);
    case 22u: return m_tanh(x);
    case 23u: return m_asinh(x);
    case 24u: return m_acosh(x);
    case 25u: return m_atanh(x);
    case 26u: return m_erf(x);
    case 27u: return m_sigmoid(x);
    case 28u: return is_nan(x) ? x : max(x, ZERO);
    case 29u: return m_gelu(x);
    case 30u: return m_gelu_tanh(x);
    case 31u: return x * m_sigmoid(X(1.702) * x);
    case 32u: return m_silu(x);
    case 33u: return m_softplus(x);
    case 34u: return x * m_tanh(m_softplus(x));
    case 35u: return is_nan(x) ? x : clamp(x / X(6) + X(0.5), ZERO, ONE);
    case 36u: return is_nan(x) ? x : x * clamp(x / X(6) + X(0.5), ZERO, ONE);
    case 37u: return x / (ONE + abs(x));
    case 38u: return -m_softplus(-x);
    case 43u: return x < ZERO ? x * X(p.p0) : x;
    case 44u: return x < ZERO ? X(p.p0) * m_expm1(x) : x;
    case 45u: return is_nan(x) ? x : max(x, ZERO) + min(ZERO, X(p.p0) * m_expm1(x / X(p.p0)));
    case 46u: return X(p.p1) * (x <= ZERO ? X(p.p0) * m_expm1(x) : x);
    case 47u: return is_nan(x) || x > X(p.p0) ? x : ZERO;
    }
    return x;
}
X binary(X a, X b) {
    switch (OP) {
    case 50u: return a + b;
    case 51u: return a - b;
    case 52u: return a * b;
    case 53u: return a / b;
    case 54u: return is_nan(a) ? a : is_nan(b) ? b : max(a, b);
    case 55u: return is_nan(a) ? a : is_nan(b) ? b : min(a, b);
    case 56u: return m_pow(a, b);
    case 57u: return m_mod(a, b);
    case 58u: return m_fmod(a, b);
    case 59u: return m_atan2(a, b);
    case 65u: return a < ZERO ? a * b : a;
    }
    return a;
}
X ternary(X a, X b, X c) {
    if (OP == 91u) { // Clip: NaN stays, min > max gives max
        X v = a < b ? b : a;
        return v > c ? c : v;
    }
    precise X product = a * b;
    return product + c;
}
#else
X power(X base, X exponent) {
#ifdef IS_SIGNED
    if (exponent < ZERO) return base == ONE ? ONE : base == -ONE ? ((exponent & ONE) != ZERO ? -ONE : ONE) : ZERO;
#endif
    X v = ONE;
    while (exponent != ZERO) {
        if ((exponent & ONE) != ZERO) v *= base;
        base *= base;
        exponent >>= 1;
    }
    return v;
}
X quotient(X a, X b) {
    if (b == ZERO) return ZERO;
#ifdef IS_SIGNED
    if (b == -ONE) return -a;
#endif
    return a / b;
}
X remainder_of(X a, X b) { return b == ZERO ? ZERO : a - quotient(a, b) * b; }
X unary(X x) {
    switch (OP) {
    case 0u: return -x;
#ifdef IS_SIGNED
    case 1u: return x < ZERO ? -x : x;
    case 2u: return x > ZERO ? ONE : x < ZERO ? -ONE : ZERO;
    case 28u: return x > ZERO ? x : ZERO;
#else
    case 2u: return x > ZERO ? ONE : ZERO;
#endif
    case 39u: return x == ZERO ? ONE : ZERO;
    case 40u: return ~x;
    }
    return x;
}
X binary(X a, X b) {
    switch (OP) {
    case 50u: return a + b;
    case 51u: return a - b;
    case 52u: return a * b;
    case 53u: return quotient(a, b);
    case 54u: return a > b ? a : b;
    case 55u: return a < b ? a : b;
    case 56u: return power(a, b);
    case 57u: {
        X r = remainder_of(a, b);
#ifdef IS_SIGNED
        if (r != ZERO && (r < ZERO) != (b < ZERO)) r += b;
#endif
        return r;
    }
    case 58u: return remainder_of(a, b);
    case 60u: return a & b;
    case 61u: return a | b;
    case 62u: return a ^ b;
    case 63u: return b < ZERO || b >= X(T_BYTES * 8u) ? ZERO : a << int(b);
    case 64u:
#ifdef IS_SIGNED
        return b < ZERO || b >= X(T_BYTES * 8u) ? (a < ZERO ? -ONE : ZERO) : a >> int(b);
#else
        return b >= X(T_BYTES * 8u) ? ZERO : a >> int(b);
#endif
    case 66u: return a & b;
    case 67u: return a | b;
    case 68u: return a ^ b;
    }
    return a;
}
X ternary(X a, X b, X c) {
    if (OP == 91u) {
        X v = a < b ? b : a;
        return v > c ? c : v;
    }
    return a * b + c;
}
#endif

#ifdef R_bool
bool test(X a, X b) {
    switch (OP) {
#ifdef IS_FLOAT
    case 41u: return is_nan(a);
    case 42u: return is_inf(a);
#endif
    case 70u: return a == b;
    case 71u: return a != b;
    case 72u: return a < b;
    case 73u: return a <= b;
    case 74u: return a > b;
    case 75u: return a >= b;
    }
    return false;
}
#endif

void main() {
    uvec2 a = resolve(p.a), b = resolve(p.b), c = resolve(p.c), y = resolve(p.y);
    uint first = first_element();
    X x[3][EACH];
    [[unroll]] for (uint k = 0u; k < EACH; ++k) {
        uint i = first + k * 256u;
        if (i < p.count) {
            uvec3 at = operands_of(p.axes, i);
            x[0][k] = T_load(a, at.x);
            if (OPERANDS > 1u) x[1][k] = T_load(b, at.y);
            if (OPERANDS > 2u) x[2][k] = T_load(c, at.z);
        }
    }
    [[unroll]] for (uint k = 0u; k < EACH; ++k) {
        uint i = first + k * 256u;
        if (i < p.count) {
#ifdef R_bool
            store_bool(y, i, test(x[0][k], OPERANDS > 1u ? x[1][k] : x[0][k]) ? 1u : 0u);
#else
            T_store(y, i, OPERANDS == 1u ? unary(x[0][k]) : OPERANDS == 2u ? binary(x[0][k], x[1][k]) : ternary(x[0][k], x[1][k], x[2][k]));
#endif
        }
    }
}
