/* Builders of recurrent networks, state-space models and Fourier transforms. With weights of zero only biases and states count. */
#include "operators.h"

static double sigma(double x) { return 1 / (1 + exp(-x)); }

static void networks(void) {
    static const float x[] = {1, 2}, zeros[8] = {0}, four[] = {0, 1, 0.5f, 2}, three[] = {0, 0, 0.5f}, new_bias[] = {0, 0, 1}, h0[] = {0.5f}, c0[] = {2};
    static const float w1[] = {1}, u1[] = {0.5f}, b1[] = {0.25f};
    static const float holes[] = {0.5f, 0.25f, -1};
    static const int32_t one_step[] = {1};
    const caldera_value no = CALDERA_NO_VALUE;
    const caldera_value vx = given(CALDERA_F32, x, 3, 1, 2, 1), w4 = given(CALDERA_F32, zeros, 2, 4, 1), b4 = given(CALDERA_F32, four, 1, 4);
    const caldera_value w3 = given(CALDERA_F32, zeros, 2, 3, 1), b3 = given(CALDERA_F32, three, 1, 3), n3 = given(CALDERA_F32, new_bias, 1, 3);
    const caldera_value vh = given(CALDERA_F32, h0, 3, 1, 1, 1), vc = given(CALDERA_F32, c0, 3, 1, 1, 1), vl = given(CALDERA_I32, one_step, 1, 1);
    const caldera_value vp = given(CALDERA_F32, holes, 1, 3);
    const caldera_value w = given(CALDERA_F32, w1, 2, 1, 1), u = given(CALDERA_F32, u1, 2, 1, 1), b = given(CALDERA_F32, b1, 1, 1);
    caldera_value y = 0, h = 0, c = 0;
    /* c' = f c + i g, h' = o tanh(c'); i = 1/2, f = sigma(1), g = tanh(1/2), o = sigma(2) */
    const double f = sigma(1), ig = 0.5 * tanh(0.5), o = sigma(2), c1 = f * 2 + ig, c2 = f * c1 + ig;
    /* the same with peepholes, after the first step */
    const double pc = sigma(1 + 0.25 * 2) * 2 + sigma(0 + 0.5 * 2) * tanh(0.5);
    const double z1 = tanh(1 + 0.25), n1 = tanh(0.5 + 0.5 * 1);
    OK(caldera_lstm(graph(), vx, w4, w4, b4, vh, vc, no, no, 1, 1, 0, &y, &h, &c, err()));
    EXPECT(y, o * tanh(c1), o * tanh(c2));
    EXPECT(h, o * tanh(c2));
    EXPECT(c, c2);
    OK(caldera_lstm(graph(), vx, w4, w4, b4, vh, vc, vl, no, 1, 1, 0, NULL, NULL, &c, err()));
    EXPECT(c, c1);
    OK(caldera_lstm(graph(), vx, w4, w4, b4, vh, vc, vl, vp, 1, 1, 0, NULL, &h, &c, err()));
    EXPECT(c, pc);
    EXPECT(h, sigma(2 - pc) * tanh(pc));
    FAILS(CALDERA_INVALID_GRAPH, "Lstm", caldera_lstm(graph(), vx, w4, w4, b4, vh, vc, no, no, 2, 1, 0, &y, &h, &c, err()));
    /* r = z = 1/2; n = tanh(1/2 + r b_hn); h' = (n + h) / 2 */
    OK(caldera_gru(graph(), vx, w3, w3, b3, n3, vh, vl, 1, 1, 0, 1, &y, &h, err()));
    EXPECT(h, 0.5 * n1 + 0.5 * 0.5);
    EXPECT(y, 0.5 * n1 + 0.5 * 0.5, 0);
    OK(caldera_gru(graph(), vx, w3, w3, b3, n3, vh, vl, 1, 1, 0, 0, NULL, &h, err()));
    EXPECT(h, 0.5 * tanh(1.5) + 0.5 * 0.5);
    OK(caldera_rnn(graph(), vx, w, u, b, no, no, 1, 1, 0, CALDERA_RNN_TANH, &y, &h, err()));
    EXPECT(y, z1, tanh(2 + 0.5 * z1 + 0.25));
    OK(caldera_rnn(graph(), vx, w, u, b, vh, no, 1, 1, 0, CALDERA_RNN_RELU, &y, &h, err()));
    EXPECT(y, 1.5, 3);
    EXPECT(h, 3);
}

static void scans(void) {
    static const float x[] = {1, 2}, delta[] = {1, 0.5f}, a[] = {-1}, b[] = {2, 3}, c[] = {1, 10}, d[] = {100}, state[] = {4}, one[] = {1, 1}, w[] = {1, 10};
    static const float none[] = {0, 0}, half[] = {0.5f, 0.5f};
    const caldera_value vx = given(CALDERA_F32, x, 3, 1, 2, 1), vdelta = given(CALDERA_F32, delta, 3, 1, 2, 1), va = given(CALDERA_F32, a, 2, 1, 1);
    const caldera_value vb = given(CALDERA_F32, b, 3, 1, 2, 1), vc = given(CALDERA_F32, c, 3, 1, 2, 1), vd = given(CALDERA_F32, d, 1, 1);
    const caldera_value vs = given(CALDERA_F32, state, 3, 1, 1, 1), no = CALDERA_NO_VALUE;
    const caldera_value x4 = given(CALDERA_F32, x, 4, 1, 2, 1, 1), a1 = given(CALDERA_F32, a, 1, 1), b4 = given(CALDERA_F32, b, 4, 1, 2, 1, 1);
    const caldera_value c4 = given(CALDERA_F32, c, 4, 1, 2, 1, 1), s4 = given(CALDERA_F32, state, 4, 1, 1, 1, 1), k4 = given(CALDERA_F32, one, 4, 1, 2, 1, 1);
    const caldera_value g3 = given(CALDERA_F32, none, 3, 1, 2, 1), beta = given(CALDERA_F32, half, 3, 1, 2, 1), vw = given(CALDERA_F32, w, 2, 1, 2);
    const double h1 = exp(-1.0) * 4 + 2, h2 = exp(-0.5) * h1 + 3;
    caldera_value y = 0, last = 0;
    OK(caldera_selective_scan(graph(), vx, vdelta, va, vb, vc, vd, vs, &y, &last, err()));
    EXPECT(y, h1 + 100, 10 * h2 + 200);
    EXPECT(last, h2);
    OK(caldera_selective_scan(graph(), vx, vdelta, va, vb, vc, no, no, &y, NULL, err()));
    EXPECT(y, 2, 10 * (exp(-0.5) * 2 + 3));
    OK(caldera_mamba2(graph(), x4, vdelta, a1, b4, c4, s4, &y, &last, err()));
    EXPECT(y, h1, 10 * h2);
    EXPECT(last, h2);
    /* s = 4; d = (1 - 4) / 2, s = 2.5; d = (2 - 2.5) / 2, s = 2.25 */
    OK(caldera_gated_delta_net(graph(), k4, k4, x4, g3, beta, s4, 2, &y, &last, err()));
    EXPECT(y, 5, 4.5);
    EXPECT(last, 2.25);
    OK(caldera_causal_conv1d(graph(), vx, vw, vd, vs, CALDERA_ACTIVATION_NONE, &y, &last, err()));
    EXPECT(y, 4 + 10 + 100, 1 + 20 + 100);
    EXPECT(last, 2);
}

static void transforms(void) {
    static const float x[] = {1, 2, 3, 4}, bins[] = {10, 0, -2, 2, -2, 0};
    const caldera_value vx = given(CALDERA_F32, x, 1, 4), vc = given(CALDERA_C64, x, 1, 2), vb = given(CALDERA_C64, bins, 1, 3);
    caldera_value y = 0;
    OK(caldera_rfft(graph(), vx, 4, &y, err()));
    EXPECT(y, 10, 0, -2, 2, -2, 0);
    OK(caldera_rfft(graph(), vx, 2, &y, err())); /* cropped */
    EXPECT(y, 3, 0, -1, 0);
    OK(caldera_irfft(graph(), vb, 4, &y, err()));
    EXPECT(y, 1, 2, 3, 4);
    OK(caldera_fft(graph(), vc, -1, 0, CALDERA_FFT_BACKWARD, &y, err()));
    EXPECT(y, 4, 6, -2, -2);
    OK(caldera_fft(graph(), vc, -1, 1, CALDERA_FFT_BACKWARD, &y, err()));
    EXPECT(y, 2, 3, -1, -1);
    OK(caldera_fft(graph(), vc, 0, 0, CALDERA_FFT_ORTHO, &y, err()));
    EXPECT(y, 4 / sqrt(2.0), 6 / sqrt(2.0), -sqrt(2.0), -sqrt(2.0));
    FAILS(CALDERA_INVALID_ARGUMENT, "norm", caldera_fft(graph(), vc, 0, 0, 4, &y, err()));
}

int main(void) {
    caldera_device *device = open_device();
    begin();
    networks();
    scans();
    transforms();
    run_suite(device, __FILE__);
    caldera_device_free(device);
    return finish();
}
