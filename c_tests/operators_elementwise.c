/* Builders of elementwise operators: which operator each makes, with which operand first. */
#include "operators.h"

typedef caldera_status (*unary)(caldera_graph *, caldera_value, caldera_value *, caldera_error **);
typedef caldera_status (*binary)(caldera_graph *, caldera_value, caldera_value, caldera_value *, caldera_error **);

static double sigmoid_of(double x) { return 1 / (1 + exp(-x)); }

static void unaries(void) {
    static const float x[] = {-0.75f, 0.5f}, above[] = {1.25f, 2.5f};
    static const uint8_t truth[] = {0, 1}, bits[] = {0, 5};
    static const float special[] = {NAN, INFINITY};
    const double a = -0.75, b = 0.5, c = 1.25, d = 2.5;
    const struct { unary make; double want[2]; } list[] = {
        {caldera_neg, {0.75, -0.5}},
        {caldera_abs, {0.75, 0.5}},
        {caldera_sign, {-1, 1}},
        {caldera_floor, {-1, 0}},
        {caldera_ceil, {0, 1}},
        {caldera_round, {-1, 0}},
        {caldera_trunc, {0, 0}},
        {caldera_recip, {1 / a, 1 / b}},
        {caldera_exp, {exp(a), exp(b)}},
        {caldera_expm1, {expm1(a), expm1(b)}},
        {caldera_log1p, {log1p(a), log1p(b)}},
        {caldera_sin, {sin(a), sin(b)}},
        {caldera_cos, {cos(a), cos(b)}},
        {caldera_tan, {tan(a), tan(b)}},
        {caldera_asin, {asin(a), asin(b)}},
        {caldera_acos, {acos(a), acos(b)}},
        {caldera_atan, {atan(a), atan(b)}},
        {caldera_sinh, {sinh(a), sinh(b)}},
        {caldera_cosh, {cosh(a), cosh(b)}},
        {caldera_tanh, {tanh(a), tanh(b)}},
        {caldera_asinh, {asinh(a), asinh(b)}},
        {caldera_atanh, {atanh(a), atanh(b)}},
        {caldera_erf, {erf(a), erf(b)}},
        {caldera_sigmoid, {sigmoid_of(a), sigmoid_of(b)}},
        {caldera_relu, {0, 0.5}},
        {caldera_gelu, {0.5 * a * erfc(-a / sqrt(2.0)), 0.5 * b * erfc(-b / sqrt(2.0))}},
        {caldera_gelu_tanh, {a * sigmoid_of(2 * 0.7978845608028654 * (a + 0.044715 * a * a * a)),
                             b * sigmoid_of(2 * 0.7978845608028654 * (b + 0.044715 * b * b * b))}},
        {caldera_gelu_quick, {a * sigmoid_of(1.702 * a), b * sigmoid_of(1.702 * b)}},
        {caldera_silu, {a * sigmoid_of(a), b * sigmoid_of(b)}},
        {caldera_softplus, {log1p(exp(a)), log1p(exp(b))}},
        {caldera_mish, {a * tanh(log1p(exp(a))), b * tanh(log1p(exp(b)))}},
        {caldera_hard_sigmoid, {a / 6 + 0.5, b / 6 + 0.5}},
        {caldera_hard_swish, {a * (a / 6 + 0.5), b * (b / 6 + 0.5)}},
        {caldera_softsign, {a / 1.75, b / 1.5}},
        {caldera_log_sigmoid, {-log1p(exp(-a)), -log1p(exp(-b))}},
    };
    const struct { unary make; double want[2]; } list_above[] = {
        {caldera_sqrt, {sqrt(c), sqrt(d)}},
        {caldera_rsqrt, {1 / sqrt(c), 1 / sqrt(d)}},
        {caldera_log, {log(c), log(d)}},
        {caldera_acosh, {acosh(c), acosh(d)}},
    };
    const caldera_value vx = given(CALDERA_F32, x, 1, 2), va = given(CALDERA_F32, above, 1, 2);
    const caldera_value vt = given(CALDERA_BOOL, truth, 1, 2), vb = given(CALDERA_U8, bits, 1, 2), vs = given(CALDERA_F32, special, 1, 2);
    caldera_value y = 0;
    uint32_t i;
    for (i = 0; i < COUNT(list); i++) {
        OK(list[i].make(graph(), vx, &y, err()));
        expect(y, list[i].want, 2, __LINE__);
    }
    for (i = 0; i < COUNT(list_above); i++) {
        OK(list_above[i].make(graph(), va, &y, err()));
        expect(y, list_above[i].want, 2, __LINE__);
    }
    OK(caldera_not(graph(), vt, &y, err()));
    EXPECT(y, 1, 0);
    OK(caldera_bit_not(graph(), vb, &y, err()));
    EXPECT(y, 255, 250);
    OK(caldera_is_nan(graph(), vs, &y, err()));
    EXPECT(y, 1, 0);
    OK(caldera_is_inf(graph(), vs, &y, err()));
    EXPECT(y, 0, 1);
}

static void binaries(void) {
    static const float a[] = {-7, 2}, b[] = {2, 3};
    static const int32_t m[] = {12, -8}, n[] = {3, 2};
    static const uint8_t p[] = {0, 0, 1, 1}, q[] = {0, 1, 0, 1};
    const struct { binary make; double want[2]; } floats[] = {
        {caldera_add, {-5, 5}}, {caldera_sub, {-9, -1}}, {caldera_mul, {-14, 6}}, {caldera_div, {-3.5, 2.0 / 3}},
        {caldera_max, {2, 3}}, {caldera_min, {-7, 2}}, {caldera_pow, {49, 8}}, {caldera_mod, {1, 2}}, {caldera_fmod, {-1, 2}},
        {caldera_atan2, {atan2(-7.0, 2.0), atan2(2.0, 3.0)}},
        {caldera_eq, {0, 0}}, {caldera_ne, {1, 1}}, {caldera_lt, {1, 1}}, {caldera_le, {1, 1}}, {caldera_gt, {0, 0}}, {caldera_ge, {0, 0}},
    };
    const struct { binary make; double want[2]; } integers[] = {
        {caldera_bit_and, {0, 0}}, {caldera_bit_or, {15, -6}}, {caldera_bit_xor, {15, -6}},
        {caldera_shl, {96, -32}}, {caldera_shr, {1, -2}}, {caldera_div, {4, -4}},
    };
    const caldera_value va = given(CALDERA_F32, a, 1, 2), vb = given(CALDERA_F32, b, 1, 2);
    const caldera_value vm = given(CALDERA_I32, m, 1, 2), vn = given(CALDERA_I32, n, 1, 2);
    const caldera_value vp = given(CALDERA_BOOL, p, 1, 4), vq = given(CALDERA_BOOL, q, 1, 4);
    caldera_value y = 0;
    uint32_t i;
    for (i = 0; i < COUNT(floats); i++) {
        OK(floats[i].make(graph(), va, vb, &y, err()));
        expect(y, floats[i].want, 2, __LINE__);
    }
    for (i = 0; i < COUNT(integers); i++) {
        OK(integers[i].make(graph(), vm, vn, &y, err()));
        expect(y, integers[i].want, 2, __LINE__);
    }
    OK(caldera_and(graph(), vp, vq, &y, err()));
    EXPECT(y, 0, 0, 0, 1);
    OK(caldera_or(graph(), vp, vq, &y, err()));
    EXPECT(y, 0, 1, 1, 1);
    OK(caldera_xor(graph(), vp, vq, &y, err()));
    EXPECT(y, 0, 1, 1, 0);
}

static void others(void) {
    static const float x[] = {-2, 0.5f, 3}, slope[] = {0.5f};
    static const uint8_t cond[] = {1, 0, 1};
    const caldera_value vx = given(CALDERA_F32, x, 1, 3), vs = given(CALDERA_F32, slope, 1, 1), vc = given(CALDERA_BOOL, cond, 1, 3);
    caldera_value y = 0;
    OK(caldera_cast(graph(), vx, CALDERA_I32, &y, err()));
    EXPECT(y, -2, 0, 3);
    FAILS(CALDERA_INVALID_ARGUMENT, "Cast: to: unknown element type number 0", caldera_cast(graph(), vx, 0, &y, err()));
    OK(caldera_where(graph(), vc, vx, vs, &y, err()));
    EXPECT(y, -2, 0.5, 3);
    OK(caldera_fma(graph(), vx, vx, vs, &y, err()));
    EXPECT(y, 4.5, 0.75, 9.5);
    OK(caldera_clip(graph(), vx, -1, 1, &y, err()));
    EXPECT(y, -1, 0.5, 1);
    OK(caldera_clip(graph(), vx, -1, INFINITY, &y, err()));
    EXPECT(y, -1, 0.5, 3);
    OK(caldera_clip(graph(), vx, -INFINITY, 1, &y, err()));
    EXPECT(y, -2, 0.5, 1);
    OK(caldera_leaky_relu(graph(), vx, 0.1, &y, err()));
    EXPECT(y, -0.2, 0.5, 3);
    OK(caldera_elu(graph(), vx, 2, &y, err()));
    EXPECT(y, 2 * expm1(-2.0), 0.5, 3);
    OK(caldera_celu(graph(), vx, 2, &y, err()));
    EXPECT(y, 2 * expm1(-1.0), 0.5, 3);
    OK(caldera_selu(graph(), vx, 2, 3, &y, err()));
    EXPECT(y, 6 * expm1(-2.0), 1.5, 9);
    OK(caldera_thresholded_relu(graph(), vx, 1, &y, err()));
    EXPECT(y, 0, 0, 3);
    OK(caldera_prelu(graph(), vx, vs, &y, err()));
    EXPECT(y, -1, 0.5, 3);
}

int main(void) {
    caldera_device *device = open_device();
    begin();
    unaries();
    binaries();
    others();
    run_suite(device, __FILE__);
    caldera_device_free(device);
    return finish();
}
