// Functions whose accuracy does not depend on the driver: Vulkan lets exp, log, sin, pow and tanh be off by far more than the operators'
// tolerance. Relative error about 1e-6 or better; NaN, infinities and signed zeros as in C. Include it after types.glsl.
//
// With USE_f64 there are forms for double: exp, log, pow and what is built on them over double's whole range, accurate to about 1e-7 (the
// operators promise f32's tolerance); the others go through float.

const float LN2 = 0.693147180559945;
const float PI = 3.14159265358979;

// x * 2^n for any n, in two steps so that neither factor overflows.
float scale2(float x, int n) {
    int half_n = n / 2;
    return x * uintBitsToFloat(uint(half_n + 127) << 23) * uintBitsToFloat(uint(n - half_n + 127) << 23);
}

// exp(x) for a sum x = a + b, b small: a in |a| <= 104 is reduced to r in +-ln2/2, then a Taylor polynomial.
float exp_sum(float a, float b) {
    if (is_nan(a)) return a;
    if (a > 89.0) return INF;
    if (a < -104.0) return 0.0;
    precise float n = floor(a * 1.44269504088896 + 0.5);
    precise float r = (a - n * 0.693359375) + (n * 2.12194440e-4 + b);
    float p = 1.0 + r * (1.0 + r * (0.5 + r * (1.66666667e-1 + r * (4.16666667e-2 + r * (8.33333333e-3 + r * (1.38888889e-3 + r * 1.98412698e-4))))));
    return scale2(p, int(n));
}

float m_exp(float x) { return exp_sum(x, 0.0); }

// exp(x) for x <= 0 in few instructions and no branch: n = round(x / ln2) by an addition that leaves no fraction, and a polynomial fitted
// to 3e-9. Below -87, where results are subnormal, it is 0.
float exp_below(float x) {
    precise float t = x * 1.44269504088896 + 12582912.0;
    precise float n = t - 12582912.0;
    precise float r = (x - n * 0.693359375) + n * 2.12194440e-4;
    float p = 1.0 + r * (1.0 + r * (0.499999934 + r * (0.166665201 + r * (0.0416683942 + r * (0.00836878042 + r * 0.00138144668)))));
    return x < -87.0 ? 0.0 : p * uintBitsToFloat((floatBitsToUint(t) << 23) + 0x3f800000u);
}

float m_expm1(float x) {
    if (abs(x) < 0.5) return x + x * x * (0.5 + x * (1.66666667e-1 + x * (4.16666667e-2 + x * (8.33333333e-3 + x * (1.38888889e-3 + x * (1.98412698e-4 + x * 2.48015873e-5))))));
    return m_exp(x) - 1.0;
}

// x = m * 2^e with m in [sqrt(1/2), sqrt(2)), for finite positive normal x.
float mantissa(float x, out int e) {
    uint bits = floatBitsToUint(x);
    e = int(bits - 0x3f3504f3u) >> 23;
    return uintBitsToFloat(bits - uint(e << 23));
}

// The series of atanh: log(m) = 2 (s + s^3/3 + ..) with s = (m-1)/(m+1); this is what follows s, over 2.
float log_tail(float s) {
    float z = s * s;
    return s * z * (0.333333333 + z * (0.2 + z * (0.142857143 + z * (0.111111111 + z * 0.0909090909))));
}

float m_log(float x) {
    if (is_nan(x) || x < 0.0) return NAN;
    if (x == 0.0) return -INF;
    if (is_inf(x)) return x;
    int e;
    if (x < 1.17549435e-38) { // subnormal, where the device keeps them
        x *= 8388608.0;
        float m = mantissa(x, e), s = (m - 1.0) / (m + 1.0);
        return float(e - 23) * LN2 + 2.0 * (s + log_tail(s));
    }
    float m = mantissa(x, e), s = (m - 1.0) / (m + 1.0);
    precise float low = float(e) * -2.12194440e-4 + 2.0 * (s + log_tail(s));
    return float(e) * 0.693359375 + low;
}

float m_log1p(float x) {
    if (is_inf(x) && x > 0.0) return x;
    precise float u = 1.0 + x;
    precise float d = u - 1.0;
    return d == 0.0 ? x : m_log(u) * (x / d);
}

// The first 256 bits of 1/(2 pi) after the binary point.
const uint INVERSE_TURN[9] = uint[9](0u, 0x28be60dbu, 0x9391054au, 0x7f09d5f4u, 0x7d4d3770u, 0x36d8a566u, 0x4f10e410u, 0x7f9458eau, 0xf7aef158u);

// The angle x as a part of a turn: quadrant q and the rest r in +-pi/4, in integers (Payne and Hanek, 1983), exact for every float.
float reduce_angle(float x, out uint q) {
    uint bits = floatBitsToUint(x), ex = (bits >> 23) & 0xffu, m = (bits & 0x7fffffu) | 0x800000u;
    if (ex < 126u) { // |x| < 1/2
        q = 0u;
        return x;
    }
    uint position = ex - 150u + 32u, word = position >> 5, shift = position & 31u;
    uint w[3];
    [[unroll]] for (uint i = 0u; i < 3u; ++i) {
        uint a = INVERSE_TURN[word + i], b = INVERSE_TURN[word + i + 1u];
        w[i] = shift == 0u ? a : (a << shift) | (b >> (32u - shift));
    }
    uint h1, l1, h2, l2, carry;
    umulExtended(m, w[1], h1, l1);
    umulExtended(m, w[2], h2, l2);
    uint low = uaddCarry(l1, h2, carry);
    uint high = m * w[0] + h1 + carry;
    q = (high + 0x20000000u) >> 30;
    int rest = int(high - (q << 30));
    float turns = float(rest) * 2.32830644e-10 + float(low) * 5.42101086e-20;
    float r = turns * (2.0 * PI);
    if ((bits & 0x80000000u) != 0u) {
        r = -r;
        q = (4u - q) & 3u;
    }
    return r;
}

float sin_poly(float r) {
    float z = r * r;
    return r + r * z * (-1.66666667e-1 + z * (8.33333333e-3 + z * (-1.98412698e-4 + z * 2.75573192e-6)));
}
float cos_poly(float r) {
    float z = r * r;
    return 1.0 + z * (-0.5 + z * (4.16666667e-2 + z * (-1.38888889e-3 + z * (2.48015873e-5 - z * 2.75573192e-7))));
}
float m_sin(float x) {
    if (is_nan(x) || is_inf(x)) return NAN;
    uint q;
    float r = reduce_angle(x, q), v = (q & 1u) != 0u ? cos_poly(r) : sin_poly(r);
    return q >= 2u ? -v : v;
}
float m_cos(float x) {
    if (is_nan(x) || is_inf(x)) return NAN;
    uint q;
    float r = reduce_angle(x, q), v = (q & 1u) != 0u ? sin_poly(r) : cos_poly(r);
    return q == 1u || q == 2u ? -v : v;
}
float m_tan(float x) {
    if (is_nan(x) || is_inf(x)) return NAN;
    uint q;
    float r = reduce_angle(x, q), s = sin_poly(r), c = cos_poly(r);
    return (q & 1u) != 0u ? -c / s : s / c;
}

float atan_poly(float x) { // |x| <= tan(pi/8)
    float z = x * x;
    return x + x * z * (-0.333333333 + z * (0.2 + z * (-0.142857143 + z * (0.111111111 + z * (-0.0909090909 + z * (0.0769230769 + z * (-0.0666666667 + z * 0.0588235294)))))));
}
float m_atan(float x) {
    if (is_nan(x)) return x;
    float a = abs(x), v;
    bool inverse = a > 1.0;
    if (inverse) a = is_inf(a) ? 0.0 : 1.0 / a;
    v = a > 0.41421356 ? 0.25 * PI + atan_poly((a - 1.0) / (a + 1.0)) : atan_poly(a);
    if (inverse) v = 0.5 * PI - v;
    return (floatBitsToUint(x) & 0x80000000u) != 0u ? -v : v;
}
float m_atan2(float y, float x) {
    if (is_nan(x) || is_nan(y)) return NAN;
    bool left = (floatBitsToUint(x) & 0x80000000u) != 0u, below = (floatBitsToUint(y) & 0x80000000u) != 0u;
    float ay = abs(y), ax = abs(x), v;
    if (is_inf(ax) && is_inf(ay)) v = 0.25 * PI;
    else if (ay == 0.0) v = 0.0;
    else if (ax == 0.0) v = 0.5 * PI;
    else v = ay > ax ? 0.5 * PI - m_atan(ax / ay) : m_atan(ay / ax);
    if (left) v = PI - v;
    return below ? -v : v;
}
float m_asin(float x) { return abs(x) > 1.0 ? NAN : x == 0.0 ? x : m_atan2(x, sqrt((1.0 - x) * (1.0 + x))); }
float m_acos(float x) { return abs(x) > 1.0 || is_nan(x) ? NAN : 2.0 * m_atan2(sqrt(1.0 - x), sqrt(1.0 + x)); }

float m_sinh(float x) {
    float a = abs(x), z = x * x;
    if (a < 0.5) return x + x * z * (1.66666667e-1 + z * (8.33333333e-3 + z * 1.98412698e-4));
    float t = m_exp(0.5 * a), v = (0.5 * t) * t - 0.5 / t / t;
    return x < 0.0 ? -v : v;
}
float m_cosh(float x) {
    float t = m_exp(0.5 * abs(x));
    return (0.5 * t) * t + 0.5 / t / t;
}
float m_tanh(float x) {
    if (is_nan(x)) return x;
    float a = abs(x), t = a > 10.0 ? 1.0 : m_expm1(2.0 * a), v = a > 10.0 ? 1.0 : t / (t + 2.0);
    return (floatBitsToUint(x) & 0x80000000u) != 0u ? -v : v;
}
float m_asinh(float x) {
    float a = abs(x), v = a > 1e9 ? m_log(a) + LN2 : m_log1p(a + a * a / (1.0 + sqrt(1.0 + a * a)));
    return x == 0.0 || is_nan(x) ? x : x < 0.0 ? -v : v;
}
float m_acosh(float x) {
    if (!(x >= 1.0)) return NAN;
    float t = x - 1.0;
    return x > 1e9 ? m_log(x) + LN2 : m_log1p(t + sqrt(2.0 * t + t * t));
}
float m_atanh(float x) {
    if (is_nan(x) || abs(x) > 1.0) return NAN;
    if (abs(x) == 1.0) return x < 0.0 ? -INF : INF;
    float a = abs(x), v = 0.5 * m_log1p(2.0 * a / (1.0 - a));
    return x < 0.0 ? -v : x == 0.0 ? x : v;
}

// exp(x^2) erfc(x) for x >= 0.8: a polynomial in t = 1/(1 + x/2), fitted.
float erfcx_poly(float x) {
    float t = 1.0 / (1.0 + 0.5 * x), u = t * 2.8 - 1.0;
    float p = 0.42354284 + u * (0.192195221 + u * (0.0610910662 + u * (0.00994086576 + u * (-0.00122803803 + u * (-0.000889392126 + u * (1.14774014e-05 + u * (8.35640251e-05 + u * (4.62273939e-07 - u * 7.24251104e-06))))))));
    return p * t;
}
float erf_series(float x) { // |x| < 1
    float z = x * x;
    return 1.12837917 * x * (1.0 + z * (-0.333333333 + z * (0.1 + z * (-0.0238095238 + z * (4.62962963e-3 + z * (-7.57575758e-4 + z * (1.06837607e-4 + z * (-1.32275132e-5 + z * (1.45891690e-6 - z * 1.45038522e-7)))))))));
}
// exp(-x^2) without the error of rounding x^2.
float exp_minus_square(float x) {
    float h = uintBitsToFloat(floatBitsToUint(x) & 0xfffff000u);
    precise float rest = (x - h) * (x + h);
    return exp_sum(-h * h, -rest);
}
float m_erfc(float x) {
    if (is_nan(x)) return x;
    float a = abs(x);
    if (a < 0.8) return 1.0 - erf_series(x);
    float v = a > 11.0 ? 0.0 : exp_minus_square(a) * erfcx_poly(a);
    return x < 0.0 ? 2.0 - v : v;
}
float m_erf(float x) {
    if (is_nan(x)) return x;
    float a = abs(x);
    if (a < 0.8) return erf_series(x);
    float v = a > 4.5 ? 1.0 : 1.0 - exp_minus_square(a) * erfcx_poly(a);
    return x < 0.0 ? -v : v;
}

bool is_odd(float y) { return abs(y) < 16777216.0 && floor(y) == y && (int(y) & 1) != 0; }

// C pow. log(x) is carried in two floats, since y multiplies its error.
float m_pow(float x, float y) {
    if (y == 0.0 || x == 1.0) return 1.0;
    if (is_nan(x) || is_nan(y)) return NAN;
    bool negative = (floatBitsToUint(x) & 0x80000000u) != 0u, odd = is_odd(y);
    float a = abs(x);
    if (is_inf(y)) return a == 1.0 ? 1.0 : ((a > 1.0) == (y > 0.0) ? INF : 0.0);
    if (a == 0.0 || is_inf(a)) {
        float v = (a == 0.0) == (y > 0.0) ? 0.0 : INF;
        return negative && odd ? -v : v;
    }
    if (negative && floor(y) != y) return NAN;
    int e;
    bool tiny = a < 1.17549435e-38;
    float m = mantissa(tiny ? a * 8388608.0 : a, e);
    if (tiny) e -= 23;
    precise float f = m - 1.0, g = m + 1.0;
    precise float s = f / g;
    // What the division left: f - s * (2 + f), products split so that they are exact.
    float sh = uintBitsToFloat(floatBitsToUint(s) & 0xfffff000u), gh = uintBitsToFloat(floatBitsToUint(g) & 0xfffff000u);
    precise float gl = f - (gh - 2.0);
    precise float left = ((f - sh * gh) - sh * gl) - (s - sh) * (gh + gl);
    precise float sl = left / g;
    // log(a) = e ln2 + 2 s + 2 sl + 2 tail, as high + low.
    precise float eh = float(e) * 0.693359375, el = float(e) * -2.12194440e-4;
    precise float high = eh + 2.0 * s;
    precise float low = ((eh - high) + 2.0 * s) + (el + 2.0 * (sl + log_tail(s)));
    if (abs(2.0 * s) > abs(eh)) low = ((2.0 * s - high) + eh) + (el + 2.0 * (sl + log_tail(s)));
    float hh = uintBitsToFloat(floatBitsToUint(high) & 0xfffff000u), yh = uintBitsToFloat(floatBitsToUint(y) & 0xfffff000u);
    precise float p = y * high;
    precise float pl = ((yh * hh - p) + yh * (high - hh) + (y - yh) * hh) + (y - yh) * (high - hh);
    pl += y * low;
    float v = abs(p) > 110.0 ? (p > 0.0 ? INF : 0.0) : exp_sum(p, pl);
    return negative && odd ? -v : v;
}

// Remainder with the sign of x, exact as C fmod: the quotient's bits are taken off one by one, the largest first.
float m_fmod(float x, float y) {
    if (is_nan(x) || is_nan(y) || is_inf(x) || y == 0.0) return NAN;
    float a = abs(x), b = abs(y);
    if (is_inf(b) || a < b) return x;
    int ea = int(floatBitsToUint(a) >> 23), eb = int(floatBitsToUint(b) >> 23);
    for (int k = max(ea - eb, 0); k >= 0; --k) {
        float step = scale2(b, k);
        if (a >= step && !is_inf(step)) a -= step;
    }
    return (floatBitsToUint(x) & 0x80000000u) != 0u ? -a : a;
}
// Remainder with the sign of y.
float m_mod(float x, float y) {
    float r = m_fmod(x, y);
    if (is_nan(r)) return r;
    if (r == 0.0) return (floatBitsToUint(y) & 0x80000000u) != 0u ? -0.0 : 0.0;
    return (r < 0.0) != (y < 0.0) ? (is_inf(y) ? y : r + y) : r;
}

float m_sigmoid(float x) {
    float e = m_exp(-abs(x));
    return x >= 0.0 ? 1.0 / (1.0 + e) : is_nan(x) ? x : e / (1.0 + e);
}
float m_softplus(float x) { return is_nan(x) ? x : max(x, 0.0) + m_log1p(m_exp(-abs(x))); }
float m_gelu(float x) { return 0.5 * x * m_erfc(-0.707106781 * x); }
float m_gelu_tanh(float x) { return x * m_sigmoid(1.59576912 * (x + 0.044715 * x * x * x)); }
float m_silu(float x) { return x * m_sigmoid(x); }

#ifdef USE_f64
// 2^n * x for |n| up to about 2000.
double scale2(double x, int n) {
    int half_n = n / 2;
    return x * packDouble2x32(uvec2(0u, uint(half_n + 1023) << 20)) * packDouble2x32(uvec2(0u, uint(n - half_n + 1023) << 20));
}
double m_exp(double x) {
    if (is_nan(x)) return x;
    if (x > 710.0LF) return INF64;
    if (x < -746.0LF) return 0.0LF;
    double n = floor(x * 1.4426950408889634LF + 0.5LF), r = (x - n * 0.693147180369123816LF) - n * 1.90821492927058770e-10LF;
    double p = 1.0LF;
    [[unroll]] for (int k = 11; k >= 1; --k) p = 1.0LF + p * r / double(k);
    return scale2(p, int(n));
}
double exp_below(double x) { return m_exp(x); }
double m_expm1(double x) {
    if (abs(x) >= 0.5LF) return m_exp(x) - 1.0LF;
    double p = 1.0LF;
    [[unroll]] for (int k = 12; k >= 2; --k) p = 1.0LF + p * x / double(k);
    return x * p;
}
double m_log(double x) {
    if (is_nan(x) || x < 0.0LF) return NAN64;
    if (x == 0.0LF) return -INF64;
    if (is_inf(x)) return x;
    int e = 0;
    if (x < 2.2250738585072014e-308LF) {
        x *= 4503599627370496.0LF;
        e = -52;
    }
    uvec2 bits = unpackDouble2x32(x);
    int k = int(bits.y - 0x3fe6a09eu) >> 20;
    double m = packDouble2x32(uvec2(bits.x, bits.y - uint(k << 20))), s = (m - 1.0LF) / (m + 1.0LF), z = s * s, t = 0.0LF;
    [[unroll]] for (int i = 19; i >= 3; i -= 2) t = (t + 1.0LF / double(i)) * z;
    return double(e + k) * 0.69314718055994530942LF + 2.0LF * s * (1.0LF + t);
}
double m_log1p(double x) {
    if (is_inf(x) && x > 0.0LF) return x;
    precise double u = 1.0LF + x;
    precise double d = u - 1.0LF;
    return d == 0.0LF ? x : m_log(u) * (x / d);
}
// Angles are reduced in double, good to about 1e-7 up to 1e8 turns.
float reduced(double x, out uint q) {
    double n = floor(x * 0.63661977236758134308LF + 0.5LF), r = (x - n * 1.57079632673412561417LF) - n * 6.07710050650619224932e-11LF;
    double turns = n - 4.0LF * floor(n * 0.25LF);
    q = uint(turns) & 3u;
    return float(r);
}
double m_sin(double x) {
    if (is_nan(x) || is_inf(x)) return NAN64;
    uint q;
    float r = reduced(x, q), v = (q & 1u) != 0u ? cos_poly(r) : sin_poly(r);
    return double(q >= 2u ? -v : v);
}
double m_cos(double x) {
    if (is_nan(x) || is_inf(x)) return NAN64;
    uint q;
    float r = reduced(x, q), v = (q & 1u) != 0u ? sin_poly(r) : cos_poly(r);
    return double(q == 1u || q == 2u ? -v : v);
}
double m_tan(double x) { return m_sin(x) / m_cos(x); }
double m_atan(double x) { return double(m_atan(float(x))); }
double m_atan2(double y, double x) {
    double big = max(abs(x), abs(y));
    if (big > 1e30LF && !is_inf(big)) { x *= 1e-100LF; y *= 1e-100LF; if (big > 1e200LF) { x *= 1e-100LF; y *= 1e-100LF; } }
    if (big < 1e-30LF && big > 0.0LF) { x *= 1e100LF; y *= 1e100LF; if (big < 1e-200LF) { x *= 1e150LF; y *= 1e150LF; } }
    return double(m_atan2(float(y), float(x)));
}
double m_asin(double x) { return abs(x) > 1.0LF ? NAN64 : m_atan2(x, sqrt((1.0LF - x) * (1.0LF + x))); }
double m_acos(double x) { return abs(x) > 1.0LF || is_nan(x) ? NAN64 : 2.0LF * m_atan2(sqrt(1.0LF - x), sqrt(1.0LF + x)); }
double m_sinh(double x) {
    if (abs(x) < 0.5LF) return x * (1.0LF + x * x / 6.0LF * (1.0LF + x * x / 20.0LF * (1.0LF + x * x / 42.0LF)));
    double t = m_exp(0.5LF * abs(x)), v = (0.5LF * t) * t - 0.5LF / t / t;
    return x < 0.0LF ? -v : v;
}
double m_cosh(double x) {
    double t = m_exp(0.5LF * abs(x));
    return (0.5LF * t) * t + 0.5LF / t / t;
}
double m_tanh(double x) { return abs(x) < 1e-20LF ? x : double(m_tanh(float(x))); }
double m_asinh(double x) {
    double a = abs(x), v = a > 1e9LF ? m_log(a) + 0.69314718055994530942LF : m_log1p(a + a * a / (1.0LF + sqrt(1.0LF + a * a)));
    return x == 0.0LF || is_nan(x) ? x : x < 0.0LF ? -v : v;
}
double m_acosh(double x) {
    if (!(x >= 1.0LF)) return NAN64;
    double t = x - 1.0LF;
    return x > 1e9LF ? m_log(x) + 0.69314718055994530942LF : m_log1p(t + sqrt(2.0LF * t + t * t));
}
double m_atanh(double x) {
    if (is_nan(x) || abs(x) > 1.0LF) return NAN64;
    if (abs(x) == 1.0LF) return x < 0.0LF ? -INF64 : INF64;
    double a = abs(x), v = 0.5LF * m_log1p(2.0LF * a / (1.0LF - a));
    return x < 0.0LF ? -v : x == 0.0LF ? x : v;
}
double m_erfc(double x) {
    if (is_nan(x)) return x;
    double a = abs(x);
    if (a < 0.8LF) return 1.0LF - double(erf_series(float(x)));
    double v = a > 28.0LF ? 0.0LF : m_exp(-a * a) * double(erfcx_poly(float(a)));
    return x < 0.0LF ? 2.0LF - v : v;
}
double m_erf(double x) { return abs(x) < 1e-20LF ? x * 1.1283791670955126LF : double(m_erf(float(x))); }
double m_pow(double x, double y) {
    if (y == 0.0LF || x == 1.0LF) return 1.0LF;
    if (is_nan(x) || is_nan(y)) return NAN64;
    bool negative = (unpackDouble2x32(x).y & 0x80000000u) != 0u;
    double half_y = 0.5LF * y;
    bool whole = floor(y) == y, odd = whole && floor(half_y) != half_y;
    double a = abs(x);
    if (is_inf(y)) return a == 1.0LF ? 1.0LF : ((a > 1.0LF) == (y > 0.0LF) ? INF64 : 0.0LF);
    double v;
    if (a == 0.0LF || is_inf(a)) v = (a == 0.0LF) == (y > 0.0LF) ? 0.0LF : INF64;
    else if (negative && !whole) return NAN64;
    else v = m_exp(y * m_log(a));
    return negative && odd ? -v : v;
}
double m_fmod(double x, double y) {
    if (is_nan(x) || is_nan(y) || is_inf(x) || y == 0.0LF) return NAN64;
    double a = abs(x), b = abs(y);
    if (is_inf(b) || a < b) return x;
    int ea = int(unpackDouble2x32(a).y >> 20), eb = int(unpackDouble2x32(b).y >> 20);
    for (int k = max(ea - eb, 0); k >= 0; --k) {
        double step = scale2(b, k);
        if (a >= step && !is_inf(step)) a -= step;
    }
    return (unpackDouble2x32(x).y & 0x80000000u) != 0u ? -a : a;
}
double m_mod(double x, double y) {
    double r = m_fmod(x, y);
    if (is_nan(r)) return r;
    if (r == 0.0LF) return y < 0.0LF ? -0.0LF : 0.0LF;
    return (r < 0.0LF) != (y < 0.0LF) ? (is_inf(y) ? y : r + y) : r;
}
double m_sigmoid(double x) {
    double e = m_exp(-abs(x));
    return x >= 0.0LF ? 1.0LF / (1.0LF + e) : is_nan(x) ? x : e / (1.0LF + e);
}
double m_softplus(double x) { return is_nan(x) ? x : max(x, 0.0LF) + m_log1p(m_exp(-abs(x))); }
double m_gelu(double x) { return 0.5LF * x * m_erfc(-0.70710678118654752LF * x); }
double m_gelu_tanh(double x) { return x * m_sigmoid(1.5957691216057308LF * (x + 0.044715LF * x * x * x)); }
double m_silu(double x) { return x * m_sigmoid(x); }
#endif
