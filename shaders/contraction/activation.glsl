// The activations of an epilogue, for float and (USE_f64) double. A double is computed to the accuracy of a float, which is what
// the operator contract asks for.

#define ACT_NONE 0u
#define ACT_RELU 1u
#define ACT_GELU 2u
#define ACT_GELU_TANH 3u
#define ACT_SILU 4u

// exp(x) to 2 units in the last place; the built-in loses more the larger |x| is. x = n ln 2 + r, a Taylor polynomial for r, and
// 2^n in two factors, so that each stays in range.
float act_exp(float x) {
    x = clamp(x, -110.0, 90.0);
    float n = roundEven(x * 1.44269504);
    float r = fma(n, -0.693359375, x);
    r = fma(n, 2.12194440e-4, r);
    float y = 1.0 / 5040.0;
    y = fma(y, r, 1.0 / 720.0);
    y = fma(y, r, 1.0 / 120.0);
    y = fma(y, r, 1.0 / 24.0);
    y = fma(y, r, 1.0 / 6.0);
    y = fma(y, r, 0.5);
    y = fma(y, r, 1.0);
    y = fma(y, r, 1.0);
    int whole = int(n), part = whole / 2;
    return y * intBitsToFloat((part + 127) << 23) * intBitsToFloat((whole - part + 127) << 23);
}

// erfc(|x| / sqrt(2)) / 2: the tail of the normal distribution, to f32 accuracy relative to itself. With z = |x| / sqrt(2),
// (1 + 2z) exp(z^2) erfc(z) is a Chebyshev series in (z - 3.75) / (z + 3.75) (Shepherd and Laframboise 1981; refitted).
float act_tail(float x) {
    x = min(abs(x), 1e4);
    float z = x * 0.707106781, t = (z - 3.75) / (z + 3.75);
    float y = 2.20467189e-05;
    y = fma(y, t, -0.000224116747);
    y = fma(y, t, 0.000330167456);
    y = fma(y, t, 0.00167591222);
    y = fma(y, t, -0.00977008718);
    y = fma(y, t, 0.0284092524);
    y = fma(y, t, -0.0586854405);
    y = fma(y, t, 0.0922907696);
    y = fma(y, t, -0.108805228);
    y = fma(y, t, 0.08227842);
    y = fma(y, t, 0.00358549531);
    y = fma(y, t, -0.140240658);
    y = fma(y, t, 1.23751263);
    // exp(-x^2 / 2) with the square split, because its rounding error would be multiplied by x^2.
    float high = uintBitsToFloat(floatBitsToUint(x) & 0xfffff000u);
    float bell = act_exp(-0.5 * high * high) * act_exp(-0.5 * (x - high) * (x + high));
    return 0.5 * y / fma(2.0, z, 1.0) * bell;
}

float act_gelu_share(float x) { return x < 0.0 ? act_tail(x) : 1.0 - act_tail(x); }
float act_gelu_tanh_share(float x) { return 1.0 / (1.0 + act_exp(-1.59576912 * fma(0.044715 * x, x * x, x))); }
float act_silu_share(float x) { return 1.0 / (1.0 + act_exp(-x)); }

// x times a share in 0..1, so that NaN stays NaN, -infinity gives NaN (but for Relu) and large values give x or -0.
#define ACTIVATE(type)                                                                                                          \
    type activate(uint act, type x) {                                                                                           \
        if (act == ACT_RELU) return x < type(0) ? type(0) : x;                                                                  \
        if (act == ACT_GELU) return x * type(act_gelu_share(float(x)));                                                         \
        if (act == ACT_GELU_TANH) return x * type(act_gelu_tanh_share(float(x)));                                               \
        if (act == ACT_SILU) return x * type(act_silu_share(float(x)));                                                         \
        return x;                                                                                                               \
    }
#ifdef USE_f64
ACTIVATE(double)
#else
ACTIVATE(float)
#endif
