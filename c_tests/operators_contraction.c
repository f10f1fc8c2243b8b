/* Builders of matrix products, also on packed weights. */
#include "operators.h"

static void products(void) {
    static const float a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 0, 2, 1, 0, 1}, bias[] = {-5, 100}, low[] = {1, 1, 1}, high[] = {1, 2};
    static const int64_t one[] = {1}, zero[] = {0};
    static const int32_t experts[] = {1, 0};
    static const float stack[] = {1, 0, 2, 1, 0, 1, 0, 0, 0, 0, 1, 1};
    const caldera_value va = given(CALDERA_F32, a, 2, 2, 3), vb = given(CALDERA_F32, b, 2, 3, 2), vbias = given(CALDERA_F32, bias, 1, 2);
    const caldera_value vlow = given(CALDERA_F32, low, 2, 3, 1), vhigh = given(CALDERA_F32, high, 2, 1, 2);
    const caldera_value vstack = given(CALDERA_F32, stack, 3, 2, 3, 2), vidx = given(CALDERA_I32, experts, 1, 2);
    caldera_value y = 0;
    OK(caldera_matmul(graph(), va, vb, 0, 0, &y, err()));
    EXPECT(y, 5, 5, 14, 11);
    OK(caldera_matmul(graph(), va, va, 0, 1, &y, err()));
    EXPECT(y, 14, 32, 32, 77);
    OK(caldera_matmul(graph(), va, va, 1, 0, &y, err()));
    EXPECT(y, 17, 22, 27, 22, 29, 36, 27, 36, 45);
    FAILS(CALDERA_INVALID_GRAPH, "MatMul", caldera_matmul(graph(), va, va, 0, 0, &y, err()));
    OK(caldera_dot_general(graph(), va, vb, one, zero, 1, NULL, NULL, 0, &y, err()));
    EXPECT(y, 5, 5, 14, 11);
    OK(caldera_dot_general(graph(), va, va, one, one, 1, zero, zero, 1, &y, err()));
    EXPECT(y, 14, 77);
    OK(caldera_matmul_bias_act(graph(), va, vb, vbias, 0, CALDERA_ACTIVATION_RELU, &y, err()));
    EXPECT(y, 0, 105, 9, 111);
    OK(caldera_matmul_bias_act(graph(), va, va, vbias, 1, CALDERA_ACTIVATION_NONE, &y, err()));
    EXPECT(y, 9, 132, 27, 177);
    FAILS(CALDERA_INVALID_ARGUMENT, "act", caldera_matmul_bias_act(graph(), va, vb, vbias, 0, 5, &y, err()));
    OK(caldera_lora_matmul(graph(), va, vb, vlow, vhigh, 10, &y, err()));
    EXPECT(y, 65, 125, 164, 311);
    OK(caldera_grouped_matmul(graph(), va, vstack, vidx, 0, &y, err()));
    EXPECT(y, 3, 3, 14, 11);
}

int main(void) {
    caldera_device *device = open_device();
    begin();
    products();
    run_suite(device, __FILE__);
    caldera_device_free(device);
    return finish();
}
