/* Builders of control flow: bodies are graphs of their own. */
#include "operators.h"

/* A graph with inputs "i0", "i1", .. of one type and shape; `values` receives them. */
static caldera_graph *body_of(uint32_t type, const int64_t *dims, uint32_t rank, uint32_t inputs, caldera_value *values) {
    caldera_graph *body = NULL;
    char name[16];
    uint32_t i;
    OK(caldera_graph_new(&body, err()));
    for (i = 0; i < inputs; i++) {
        sprintf(name, "i%u", i);
        OK(caldera_graph_input(body, name, type, dims, NULL, rank, &values[i], err()));
    }
    return body;
}

static const int64_t two[] = {2};

/* op of two inputs [2] */
static caldera_graph *binary(caldera_status (*op)(caldera_graph *, caldera_value, caldera_value, caldera_value *, caldera_error **)) {
    caldera_value in[2], y = 0;
    caldera_graph *body = body_of(CALDERA_F32, two, 1, 2, in);
    OK(op(body, in[0], in[1], &y, err()));
    OK(caldera_graph_output(body, "y", y, err()));
    return body;
}

static void branches(void) {
    static const float a[] = {1, 2}, b[] = {10, 20}, limit[] = {5};
    static const uint8_t yes[] = {1}, no[] = {0};
    const caldera_value va = given(CALDERA_F32, a, 1, 2), vb = given(CALDERA_F32, b, 1, 2), captured[] = {va, vb};
    const caldera_value vyes = given(CALDERA_BOOL, yes, 0), vno = given(CALDERA_BOOL, no, 1, 1), vlimit = given(CALDERA_F32, limit, 0);
    caldera_graph *add = binary(caldera_add), *mul = binary(caldera_mul), *outer;
    caldera_value y = 0, sum = 0, pred = 0, in[2], outs[2], constant = 0;
    OK(caldera_if(graph(), vyes, add, mul, captured, 2, &y, 1, err()));
    EXPECT(y, 11, 22);
    OK(caldera_if(graph(), vno, add, mul, captured, 2, &y, 1, err()));
    EXPECT(y, 10, 40);
    /* known when the graph is compiled */
    OK(caldera_graph_constant(graph(), CALDERA_BOOL, NULL, 0, no, 1, &constant, err()));
    OK(caldera_if(graph(), constant, add, mul, captured, 2, &y, 1, err()));
    EXPECT(y, 10, 40);
    /* computed on the device; a branch within a branch, and one that gives a constant */
    OK(caldera_reduce(graph(), va, CALDERA_REDUCE_SUM, NULL, 0, 0, &sum, err()));
    OK(caldera_lt(graph(), sum, vlimit, &pred, err()));
    outer = body_of(CALDERA_F32, two, 1, 2, in);
    OK(caldera_reduce(outer, in[0], CALDERA_REDUCE_SUM, NULL, 0, 0, &y, err()));
    OK(caldera_graph_constant(outer, CALDERA_F32, NULL, 0, limit, sizeof limit, &constant, err()));
    OK(caldera_gt(outer, y, constant, &y, err()));
    OK(caldera_if(outer, y, add, mul, in, 2, &y, 1, err()));
    OK(caldera_graph_output(outer, "y", y, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "1 outputs", caldera_if(graph(), pred, outer, add, captured, 2, outs, 2, err()));
    FAILS(CALDERA_INVALID_GRAPH, "takes 2 inputs", caldera_if(graph(), pred, outer, add, captured, 1, &y, 1, err()));
    FAILS(CALDERA_INVALID_GRAPH, "bool", caldera_if(graph(), va, outer, add, captured, 2, &y, 1, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "then_graph is NULL", caldera_if(graph(), pred, NULL, add, captured, 2, &y, 1, err()));
    OK(caldera_if(graph(), pred, outer, add, captured, 2, &y, 1, err()));
    OK(caldera_graph_output(outer, "z", in[1], err())); /* the node has its own copy */
    FAILS(CALDERA_INVALID_GRAPH, "then gives 2 values", caldera_if(graph(), pred, outer, add, captured, 2, outs, 2, err()));
    caldera_graph_free(outer);
    caldera_graph_free(add);
    caldera_graph_free(mul);
    EXPECT(y, 10, 40);
}

/* cond: n < limit; body: n + 1, x * factor. The inputs are n, x, limit, factor. */
static void doubling(caldera_graph **cond, caldera_graph **body) {
    static const float one[] = {1};
    const int64_t dim = 1;
    caldera_value in[4], y = 0, next = 0, c = 0;
    *cond = body_of(CALDERA_F32, &dim, 1, 4, in);
    OK(caldera_lt(*cond, in[0], in[2], &y, err()));
    OK(caldera_graph_output(*cond, "going", y, err()));
    *body = body_of(CALDERA_F32, &dim, 1, 4, in);
    OK(caldera_graph_constant(*body, CALDERA_F32, &dim, 1, one, sizeof one, &c, err()));
    OK(caldera_add(*body, in[0], c, &next, err()));
    OK(caldera_mul(*body, in[1], in[3], &y, err()));
    OK(caldera_graph_output(*body, "n", next, err()));
    OK(caldera_graph_output(*body, "x", y, err()));
}

static void loops(void) {
    static const float zero[] = {0}, x[] = {1.5f}, limit[] = {3}, factor[] = {2};
    const int64_t dim = 1;
    const caldera_value vn = given(CALDERA_F32, zero, 1, 1), vx = given(CALDERA_F32, x, 1, 1), vlimit = given(CALDERA_F32, limit, 1, 1);
    const caldera_value carried[] = {vn, vx}, captured[] = {vlimit, given(CALDERA_F32, factor, 1, 1)};
    caldera_graph *cond, *body;
    caldera_value outs[2], known[4], start[2];
    doubling(&cond, &body);
    OK(caldera_while(graph(), cond, body, 8, carried, 2, captured, 2, outs, err()));
    EXPECT(outs[0], 3);
    EXPECT(outs[1], 12);
    OK(caldera_while(graph(), cond, body, 2, carried, 2, captured, 2, outs, err()));
    EXPECT(outs[0], 2);
    EXPECT(outs[1], 6);
    OK(caldera_while(graph(), cond, body, 0, carried, 2, captured, 2, outs, err()));
    EXPECT(outs[0], 0);
    EXPECT(outs[1], 1.5);
    /* without a limit, where the end is known at compile */
    OK(caldera_graph_constant(graph(), CALDERA_F32, &dim, 1, zero, sizeof zero, &known[0], err()));
    OK(caldera_graph_constant(graph(), CALDERA_F32, &dim, 1, limit, sizeof limit, &known[1], err()));
    start[0] = known[0];
    start[1] = vx;
    known[2] = known[1];
    known[3] = captured[1];
    OK(caldera_while(graph(), cond, body, -1, start, 2, &known[2], 2, outs, err()));
    EXPECT(outs[1], 12);
    FAILS(CALDERA_INVALID_ARGUMENT, "2 outputs", caldera_while(graph(), cond, body, 8, carried, 1, captured, 2, outs, err()));
    FAILS(CALDERA_INVALID_GRAPH, "max_iter", caldera_while(graph(), cond, body, -2, carried, 2, captured, 2, outs, err()));
    FAILS(CALDERA_INVALID_GRAPH, "cond gives 2", caldera_while(graph(), body, body, 8, carried, 2, captured, 2, outs, err()));
    caldera_graph_free(cond);
    caldera_graph_free(body);
}

/* A loop whose end only the device knows needs a limit there. */
static void no_limit(caldera_device *device) {
    const int64_t dim = 1;
    caldera_graph *cond, *body, *whole = NULL;
    caldera_executable *executable = NULL;
    caldera_value in[4], outs[2];
    doubling(&cond, &body);
    whole = body_of(CALDERA_F32, &dim, 1, 4, in);
    OK(caldera_while(whole, cond, body, -1, in, 2, in + 2, 2, outs, err()));
    OK(caldera_graph_output(whole, "n", outs[0], err()));
    if (on_cpu()) OK(caldera_compile(device, whole, NULL, &executable, err()));
    else FAILS(CALDERA_UNSUPPORTED, "max_iter", caldera_compile(device, whole, NULL, &executable, err()));
    caldera_executable_free(executable);
    caldera_graph_free(whole);
    caldera_graph_free(cond);
    caldera_graph_free(body);
}

/* carry * factor + x, and twice that, collected. */
static caldera_graph *step(void) {
    caldera_value in[3], y = 0, twice = 0;
    caldera_graph *body = body_of(CALDERA_F32, two, 1, 3, in);
    OK(caldera_mul(body, in[0], in[1], &y, err()));
    OK(caldera_add(body, y, in[2], &y, err()));
    OK(caldera_add(body, y, y, &twice, err()));
    OK(caldera_graph_output(body, "carry", y, err()));
    OK(caldera_graph_output(body, "twice", twice, err()));
    return body;
}

static void scans(void) {
    static const float init[] = {1, 2}, factor[] = {10, 1}, x[] = {1, 2, 3, 4, 5, 6};
    const caldera_value vi = given(CALDERA_F32, init, 1, 2), vf = given(CALDERA_F32, factor, 1, 2), vx = given(CALDERA_F32, x, 2, 3, 2);
    const caldera_value none = given(CALDERA_F32, x, 2, 0, 2), no = CALDERA_NO_VALUE;
    caldera_graph *body = step();
    caldera_attribute a[5];
    caldera_value outs[2], in[3];
    int64_t dims[8];
    uint32_t rank = 8;
    size_t room = 2;
    OK(caldera_scan(graph(), body, 3, 0, &vi, 1, &vf, 1, &vx, 1, outs, 2, err()));
    EXPECT(outs[0], 1135, 14);
    EXPECT(outs[1], 22, 8, 226, 16, 2270, 28);
    OK(caldera_scan(graph(), body, 3, 1, &vi, 1, &vf, 1, &vx, 1, outs, 2, err()));
    EXPECT(outs[0], 11, 4, 113, 8, 1135, 14);
    /* no step */
    OK(caldera_scan(graph(), body, 0, 0, &vi, 1, &vf, 1, &none, 1, outs, 2, err()));
    EXPECT(outs[0], 1, 2);
    OK(caldera_graph_value_type(graph(), outs[1], NULL, dims, &rank, err()));
    CHECK(rank == 2 && dims[0] == 0 && dims[1] == 2);
    FAILS(CALDERA_INVALID_GRAPH, "4 steps", caldera_scan(graph(), body, 4, 0, &vi, 1, &vf, 1, &vx, 1, outs, 2, err()));
    FAILS(CALDERA_INVALID_GRAPH, "length", caldera_scan(graph(), body, -1, 0, &vi, 1, &vf, 1, &vx, 1, outs, 2, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "2 outputs", caldera_scan(graph(), body, 3, 0, &vi, 1, &vf, 1, &vx, 1, outs, 1, err()));
    FAILS(CALDERA_INVALID_GRAPH, "Scan", caldera_scan(graph(), body, 3, 0, &vi, 1, &vf, 1, &no, 1, outs, 2, err()));
    /* the same by name */
    memset(a, 0, sizeof a);
    a[0].name = "body";
    a[0].kind = CALDERA_ATTRIBUTE_GRAPH;
    a[0].data = body;
    a[1].name = "length";
    a[2].name = "scanned";
    a[3].name = "carries";
    a[1].kind = a[2].kind = a[3].kind = CALDERA_ATTRIBUTE_INT;
    a[1].i = 3;
    a[2].i = a[3].i = 1;
    in[0] = vi;
    in[1] = vf;
    in[2] = vx;
    OK(caldera_graph_node(graph(), "Scan", "by name", in, 3, a, 4, outs, &room, err()));
    EXPECT(outs[0], 1135, 14);
    a[0].data = NULL;
    FAILS(CALDERA_INVALID_ARGUMENT, "data is NULL", caldera_graph_node(graph(), "Scan", "", in, 3, a, 4, outs, &room, err()));
    caldera_graph_free(body);
}

/* A graph with a body that has a param: saved, read, and used as a body itself. */
static void files(caldera_device *device) {
    static const float x[] = {1, 2}, w[] = {3, 4};
    static const uint8_t yes[] = {1};
    const char *path = "control.onnx";
    caldera_graph *with_param = NULL, *plain, *middle = NULL, *back = NULL, *whole = NULL;
    caldera_weights *weights = NULL;
    caldera_executable *executable = NULL;
    caldera_run_input inputs[] = {{"p", yes, sizeof yes}, {"x", x, sizeof x}};
    caldera_run_output output = {"y", NULL, 0};
    caldera_value in[2], w_value = 0, y = 0, pred = 0;
    float got[2] = {0, 0};
    with_param = body_of(CALDERA_F32, two, 1, 1, in);
    OK(caldera_graph_param(with_param, "w", CALDERA_F32, two, 1, &w_value, err()));
    OK(caldera_mul(with_param, in[0], w_value, &y, err()));
    OK(caldera_graph_output(with_param, "y", y, err()));
    plain = body_of(CALDERA_F32, two, 1, 1, in);
    OK(caldera_neg(plain, in[0], &y, err()));
    OK(caldera_graph_output(plain, "y", y, err()));
    OK(caldera_graph_new(&middle, err()));
    OK(caldera_graph_input(middle, "p", CALDERA_BOOL, NULL, NULL, 0, &pred, err()));
    OK(caldera_graph_input(middle, "x", CALDERA_F32, two, NULL, 1, &in[0], err()));
    OK(caldera_if(middle, pred, with_param, plain, in, 1, &y, 1, err()));
    OK(caldera_graph_output(middle, "y", y, err()));
    OK(caldera_weights_new(device, &weights, err()));
    OK(caldera_weights_set(weights, "w", CALDERA_F32, two, 1, w, sizeof w, err()));
    OK(caldera_graph_save_onnx(middle, weights, path, err()));
    OK(caldera_graph_load_onnx(path, &back, err()));
    OK(caldera_graph_new(&whole, err()));
    OK(caldera_graph_input(whole, "p", CALDERA_BOOL, NULL, NULL, 0, &in[0], err()));
    OK(caldera_graph_input(whole, "x", CALDERA_F32, two, NULL, 1, &in[1], err()));
    OK(caldera_if(whole, in[0], back, middle, in, 2, &y, 1, err()));
    OK(caldera_graph_output(whole, "y", y, err()));
    OK(caldera_compile(device, whole, NULL, &executable, err()));
    output.data = got;
    output.size = sizeof got;
    OK(caldera_run(executable, inputs, 2, &output, 1, err()));
    CHECK(got[0] == 3 && got[1] == 8);
    caldera_executable_free(executable);
    caldera_weights_free(weights);
    caldera_graph_free(whole);
    caldera_graph_free(back);
    caldera_graph_free(middle);
    caldera_graph_free(plain);
    caldera_graph_free(with_param);
    remove(path);
}

int main(void) {
    caldera_device *device = open_device();
    begin();
    branches();
    loops();
    scans();
    run_suite(device, __FILE__);
    no_limit(device);
    files(device);
    caldera_device_free(device);
    return finish();
}
