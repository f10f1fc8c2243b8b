/* Builders of transformer operators. */
#include "operators.h"

static void attention(void) {
    static const float q[] = {0, 0, 0, 0}, k[] = {1, 2, 3, 4, 5, 6}, v[] = {3, 0, 0, 3, 6, 6}, bias[] = {0, -INFINITY, 0, 0, 0, 0};
    static const uint8_t mask[] = {1, 0, 0};
    static const int32_t two[] = {2};
    static const float sinks[] = {0};
    const caldera_value vq = given(CALDERA_F32, q, 4, 1, 2, 1, 2), vk = given(CALDERA_F32, k, 4, 1, 3, 1, 2), vv = given(CALDERA_F32, v, 4, 1, 3, 1, 2);
    const caldera_value vm = given(CALDERA_BOOL, mask, 2, 1, 3), vb = given(CALDERA_F32, bias, 4, 1, 1, 2, 3), vl = given(CALDERA_I32, two, 1, 1);
    const caldera_value vs = given(CALDERA_F32, sinks, 1, 1);
    const caldera_value no = CALDERA_NO_VALUE;
    caldera_attention_options o = CALDERA_ATTENTION_OPTIONS_INIT;
    caldera_value y = 0;
    o.num_heads = 1;
    o.head_dim = 2;
    FAILS(CALDERA_INVALID_GRAPH, "layout", caldera_attention(graph(), vq, vk, vv, no, no, no, &o, &y, err()));
    o.layout = CALDERA_LAYOUT_BSHD;
    OK(caldera_attention(graph(), vq, vk, vv, no, no, no, &o, &y, err()));
    EXPECT(y, 3, 3, 3, 3);
    OK(caldera_attention(graph(), vq, vk, vv, no, vl, no, &o, &y, err())); /* two keys */
    EXPECT(y, 1.5, 1.5, 1.5, 1.5);
    OK(caldera_attention(graph(), vq, vk, vv, no, no, vs, &o, &y, err())); /* a fourth logit without a value */
    EXPECT(y, 2.25, 2.25, 2.25, 2.25);
    o.mask = CALDERA_MASK_CAUSAL;
    OK(caldera_attention(graph(), vq, vk, vv, no, no, no, &o, &y, err()));
    EXPECT(y, 1.5, 1.5, 3, 3);
    o.mask = CALDERA_MASK_SLIDING_WINDOW;
    o.window = 0;
    OK(caldera_attention(graph(), vq, vk, vv, no, no, no, &o, &y, err()));
    EXPECT(y, 0, 3, 6, 6);
    o.mask = CALDERA_MASK_CUSTOM;
    OK(caldera_attention(graph(), vq, vk, vv, vm, no, no, &o, &y, err()));
    EXPECT(y, 3, 0, 3, 0);
    o.mask = CALDERA_MASK_BIAS;
    OK(caldera_attention(graph(), vq, vk, vv, vb, no, no, &o, &y, err()));
    EXPECT(y, 4.5, 3, 3, 3);
    o.mask = CALDERA_MASK_NONE;
    o.scale = 2;
    o.softcap = 5;
    OK(caldera_attention(graph(), vq, vk, vv, no, no, no, &o, &y, err()));
    EXPECT(y, 3, 3, 3, 3);
    o.mask = 77;
    FAILS(CALDERA_INVALID_ARGUMENT, "mask", caldera_attention(graph(), vq, vk, vv, no, no, no, &o, &y, err()));
    o.struct_size = 1;
    FAILS(CALDERA_INVALID_ARGUMENT, "struct_size", caldera_attention(graph(), vq, vk, vv, no, no, no, &o, &y, err()));
}

static void positions(void) {
    static const float x[] = {1, 2, 3, 4, 1, 2, 3, 4}, c[] = {1, 1, 0, 0}, s[] = {0, 0, 1, 1};
    static const int32_t turned[] = {1, 0};
    const caldera_value vx = given(CALDERA_F32, x, 3, 1, 2, 4), vc = given(CALDERA_F32, c, 2, 2, 2), vs = given(CALDERA_F32, s, 2, 2, 2);
    const caldera_value vp = given(CALDERA_I32, turned, 1, 2);
    caldera_value y = 0;
    OK(caldera_rope(graph(), vx, vc, vs, CALDERA_NO_VALUE, 4, 0, CALDERA_ROPE_NEOX, 0, &y, err()));
    EXPECT(y, 1, 2, 3, 4, -3, -4, 1, 2);
    OK(caldera_rope(graph(), vx, vc, vs, CALDERA_NO_VALUE, 4, 4, CALDERA_ROPE_GPTJ, CALDERA_LAYOUT_BSH, &y, err()));
    EXPECT(y, 1, 2, 3, 4, -2, 1, -4, 3);
    OK(caldera_rope(graph(), vx, vc, vs, vp, 4, 0, CALDERA_ROPE_NEOX, 0, &y, err()));
    EXPECT(y, -3, -4, 1, 2, 1, 2, 3, 4);
    FAILS(CALDERA_INVALID_GRAPH, "style", caldera_rope(graph(), vx, vc, vs, vp, 4, 0, 0, 0, &y, err()));
}

static void rest(void) {
    static const float gate[] = {1, 0}, up[] = {2, 3}, cache[] = {0, 0, 0, 0}, rows[] = {7, 8};
    static const int32_t at[] = {1}, last[] = {3};
    const caldera_value vg = given(CALDERA_F32, gate, 1, 2), vu = given(CALDERA_F32, up, 1, 2);
    const caldera_value vc = given(CALDERA_F32, cache, 3, 1, 4, 1), vr = given(CALDERA_F32, rows, 3, 1, 2, 1);
    const caldera_value va = given(CALDERA_I32, at, 1, 1), vl = given(CALDERA_I32, last, 1, 1);
    const double silu = 1 / (1 + exp(-1.0));
    caldera_value y = 0;
    OK(caldera_swiglu(graph(), vg, vu, CALDERA_GLU_SILU, 1, &y, err()));
    EXPECT(y, 2 * silu, 0);
    OK(caldera_swiglu(graph(), vg, CALDERA_NO_VALUE, CALDERA_GLU_SILU, 0, &y, err())); /* up first */
    EXPECT(y, 0);
    OK(caldera_swiglu(graph(), vu, CALDERA_NO_VALUE, CALDERA_GLU_GELU, 1, &y, err()));
    EXPECT(y, 3 * erfc(-sqrt(2.0)));
    OK(caldera_kv_append(graph(), vc, vr, va, 0, &y, err()));
    EXPECT(y, 0, 7, 8, 0);
    OK(caldera_kv_append(graph(), vc, vr, vl, 1, &y, err())); /* round the end */
    EXPECT(y, 8, 0, 0, 7);
}

static void block(void) {
    static const float hidden[] = {1, 0}, qkv[] = {1, 0, 0, 0, 3, 4, 0, 1, 0, 0, 0, 0}, out_w[] = {0, 1, 1, 0}, one[] = {1};
    const caldera_value h = given(CALDERA_F32, hidden, 3, 1, 1, 2), w = given(CALDERA_F32, qkv, 2, 2, 6), o = given(CALDERA_F32, out_w, 2, 2, 2);
    const caldera_value m = given(CALDERA_F32, one, 2, 1, 1), no = CALDERA_NO_VALUE;
    caldera_value y = 0;
    OK(caldera_fused_attention_block(graph(), h, w, o, m, no, no, no, no, 1, 2, &y, err()));
    EXPECT(y, 4, 3);
}

int main(void) {
    caldera_device *device = open_device();
    begin();
    attention();
    positions();
    rest();
    block();
    run_suite(device, __FILE__);
    caldera_device_free(device);
    return finish();
}
