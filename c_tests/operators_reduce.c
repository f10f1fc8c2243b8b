/* Builders of reductions, orders, softmax, random numbers and normalisations. */
#include "operators.h"

static const float X[] = {3, -1, 2, 0, 4, -2};

static void reductions(void) {
    static const int64_t rows[] = {-1}, both[] = {0, 1};
    const caldera_value v = given(CALDERA_F32, X, 2, 2, 3);
    const struct { uint32_t kind; double want[2]; } list[] = {
        {CALDERA_REDUCE_SUM, {4, 2}}, {CALDERA_REDUCE_MEAN, {4.0 / 3, 2.0 / 3}}, {CALDERA_REDUCE_MAX, {3, 4}}, {CALDERA_REDUCE_MIN, {-1, -2}},
        {CALDERA_REDUCE_PROD, {-6, 0}}, {CALDERA_REDUCE_SUM_SQUARE, {14, 20}}, {CALDERA_REDUCE_L1, {6, 6}},
        {CALDERA_REDUCE_L2, {sqrt(14.0), sqrt(20.0)}}, {CALDERA_REDUCE_LOG_SUM, {log(4.0), log(2.0)}},
        {CALDERA_REDUCE_LOG_SUM_EXP, {log(exp(3.0) + exp(-1.0) + exp(2.0)), log(1 + exp(4.0) + exp(-2.0))}},
    };
    caldera_value y = 0, indices = 0;
    uint32_t i, rank = 8;
    int64_t dims[8];
    for (i = 0; i < COUNT(list); i++) {
        OK(caldera_reduce(graph(), v, list[i].kind, rows, 1, 0, &y, err()));
        expect(y, list[i].want, 2, __LINE__);
    }
    OK(caldera_reduce(graph(), v, CALDERA_REDUCE_SUM, NULL, 0, 0, &y, err()));
    EXPECT(y, 6);
    OK(caldera_reduce(graph(), v, CALDERA_REDUCE_SUM, both, 1, 1, &y, err()));
    EXPECT(y, 3, 3, 0);
    OK(caldera_graph_value_type(graph(), y, NULL, dims, &rank, err()));
    CHECK(rank == 2 && dims[0] == 1 && dims[1] == 3);
    OK(caldera_argmax(graph(), v, 1, 0, 0, &y, err()));
    EXPECT(y, 0, 1);
    OK(caldera_argmin(graph(), v, 0, 1, 0, &y, err()));
    EXPECT(y, 1, 0, 1);
    OK(caldera_cumsum(graph(), v, 1, 0, 0, &y, err()));
    EXPECT(y, 3, 2, 4, 0, 4, 2);
    OK(caldera_cumsum(graph(), v, 1, 1, 1, &y, err()));
    EXPECT(y, 1, 2, 0, 2, -2, 0);
    OK(caldera_topk(graph(), v, 2, 1, 1, 1, &y, &indices, err()));
    EXPECT(y, 3, 2, 4, 0);
    EXPECT(indices, 0, 2, 1, 0);
    OK(caldera_topk(graph(), v, 1, 0, 0, 1, NULL, &indices, err()));
    EXPECT(indices, 1, 0, 1);
    FAILS(CALDERA_INVALID_GRAPH, "4", caldera_topk(graph(), v, 4, 1, 1, 1, &y, &indices, err()));
    OK(caldera_softmax(graph(), v, 0, &y, err()));
    EXPECT(y, 1 / (1 + exp(-3.0)), 1 / (1 + exp(5.0)), 1 / (1 + exp(-4.0)), 1 / (1 + exp(3.0)), 1 / (1 + exp(-5.0)), 1 / (1 + exp(4.0)));
    OK(caldera_log_softmax(graph(), v, 0, &y, err()));
    EXPECT(y, -log1p(exp(-3.0)), -log1p(exp(5.0)), -log1p(exp(-4.0)), -log1p(exp(3.0)), -log1p(exp(-5.0)), -log1p(exp(4.0)));
}

static void randoms(void) {
    static const int64_t dims[] = {0};
    static const float logits[] = {0, 9, 1, 5, 2, 3};
    const caldera_value v = given(CALDERA_F32, logits, 2, 2, 3);
    caldera_value y = 0;
    uint32_t type = 0, rank = 8;
    OK(caldera_sample(graph(), v, 0, 0, 1, 0, 0, &y, err()));
    EXPECT(y, 1, 0);
    OK(caldera_sample(graph(), v, 1, 1, 1, 0, 3, &y, err()));
    EXPECT(y, 1, 0);
    OK(caldera_rng_uniform(graph(), CALDERA_NO_VALUE, CALDERA_F16, dims, 1, 0, 1, 0, &y, err()));
    OK(caldera_graph_value_type(graph(), y, &type, NULL, &rank, err()));
    CHECK(type == CALDERA_F16 && rank == 1);
    OK(caldera_rng_uniform(graph(), v, 0, NULL, 0, 4, 4, 1, &y, err())); /* low = high leaves one number */
    EXPECT(y, 4, 4, 4, 4, 4, 4);
    OK(caldera_rng_normal(graph(), v, 0, NULL, 0, 5, 0, 2, &y, err()));
    EXPECT(y, 5, 5, 5, 5, 5, 5);
    FAILS(CALDERA_INVALID_ARGUMENT, "dims", caldera_rng_normal(graph(), CALDERA_NO_VALUE, CALDERA_F32, NULL, 1, 0, 1, 0, &y, err()));
}

static void norms(void) {
    static const float x[] = {1, 3, 2, 6}, gamma[] = {2, 1}, beta[] = {0, 10}, ones[] = {1, 1}, zeros[] = {0, 0}, four[] = {4, 4};
    const caldera_value v = given(CALDERA_F32, x, 2, 2, 2), g = given(CALDERA_F32, gamma, 1, 2), b = given(CALDERA_F32, beta, 1, 2);
    const caldera_value o = given(CALDERA_F32, ones, 1, 2), z = given(CALDERA_F32, zeros, 1, 2), f = given(CALDERA_F32, four, 1, 2);
    const caldera_value picture = given(CALDERA_F32, x, 4, 1, 2, 1, 2);
    const double r5 = sqrt(5.0), r20 = sqrt(20.0);
    caldera_value y = 0, sum = 0;
    OK(caldera_layer_norm(graph(), v, g, b, -1, 0, &y, err()));
    EXPECT(y, -2, 11, -2, 11);
    OK(caldera_layer_norm(graph(), v, g, CALDERA_NO_VALUE, 1, 3, &y, err()));
    EXPECT(y, -1, 0.5, -4 / sqrt(7.0), 2 / sqrt(7.0));
    OK(caldera_rms_norm(graph(), v, g, CALDERA_NO_VALUE, -1, 0, &y, err()));
    EXPECT(y, 2 / r5, 3 / r5, 4 / r20, 6 / r20);
    OK(caldera_rms_norm(graph(), v, o, b, -1, 4, &y, err()));
    EXPECT(y, 1.0 / 3, 11, 2 / sqrt(24.0), 10 + 6 / sqrt(24.0));
    OK(caldera_group_norm(graph(), picture, g, b, 2, 0, &y, err()));
    EXPECT(y, -2, 2, 9, 11);
    OK(caldera_layer_norm2d(graph(), picture, g, b, 0, &y, err()));
    EXPECT(y, -2, -2, 11, 11);
    OK(caldera_batch_norm(graph(), picture, g, b, o, f, 0, &y, err()));
    EXPECT(y, 0, 2, 10.5, 12.5);
    OK(caldera_instance_norm(graph(), picture, g, b, 0, &y, err()));
    EXPECT(y, -2, 2, 9, 11);
    OK(caldera_l2_norm(graph(), v, 1, 0, &y, err()));
    EXPECT(y, 1 / sqrt(10.0), 3 / sqrt(10.0), 2 / sqrt(40.0), 6 / sqrt(40.0));
    OK(caldera_residual_layer_norm(graph(), v, v, b, g, CALDERA_NO_VALUE, 0, &y, &sum, err()));
    EXPECT(y, -2, 1, -2, 1);
    EXPECT(sum, 2, 16, 4, 22);
    OK(caldera_residual_rms_norm(graph(), v, v, CALDERA_NO_VALUE, g, z, 0, &y, &sum, err()));
    EXPECT(y, 2 / r5, 3 / r5, 4 / r20, 6 / r20);
    EXPECT(sum, 2, 6, 4, 12);
    OK(caldera_residual_rms_norm(graph(), v, v, CALDERA_NO_VALUE, o, z, 0, NULL, &sum, err()));
}

int main(void) {
    caldera_device *device = open_device();
    begin();
    reductions();
    randoms();
    norms();
    run_suite(device, __FILE__);
    caldera_device_free(device);
    return finish();
}
