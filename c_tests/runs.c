/* Compiling and running: weights, inputs, outputs, the asynchronous form, twins, statistics. */
#include "harness.h"

/* y = x w + b, sum of y; x [2, 3] */
static caldera_graph *model(void) {
    const int64_t x_dims[] = {2, 3}, w_dims[] = {3, 2}, b_dims[] = {2};
    caldera_graph *graph = NULL;
    caldera_value x, w, b, y, s;
    OK(caldera_graph_new(&graph, err()));
    x = input_f32(graph, "x", x_dims, 2);
    OK(caldera_graph_param(graph, "w", CALDERA_F32, w_dims, 2, &w, err()));
    OK(caldera_graph_param(graph, "b", CALDERA_F32, b_dims, 1, &b, err()));
    OK(caldera_matmul(graph, x, w, 0, 0, &y, err()));
    OK(caldera_graph_set_name(graph, y, "product", err()));
    OK(caldera_add(graph, y, b, &y, err()));
    OK(caldera_reduce(graph, y, CALDERA_REDUCE_SUM, NULL, 0, 0, &s, err()));
    OK(caldera_graph_output(graph, "y", y, err()));
    OK(caldera_graph_output(graph, "s", s, err()));
    return graph;
}

static const float W[6] = {1, 2, 3, 4, 5, 6}, B[2] = {10, 20}, X[6] = {1, 0, 0, 1, 1, 1}, WANT[4] = {11, 22, 19, 32};

static void weights(caldera_device *device, const caldera_graph *graph) {
    const int64_t w_dims[] = {3, 2}, b_dims[] = {2}, wrong[] = {2, 3}, huge[] = {(int64_t)1 << 62, (int64_t)1 << 62};
    caldera_weights *set = NULL;
    caldera_executable *one = NULL, *two = NULL;
    caldera_compile_options options = CALDERA_COMPILE_OPTIONS_INIT;
    caldera_run_input x = {"x", X, sizeof X};
    float got[4];
    caldera_run_output y = {"y", got, sizeof got};
    OK(caldera_weights_new(device, &set, err()));
    OK(caldera_weights_set(set, "w", CALDERA_F32, w_dims, 2, W, sizeof W, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "\"w\"", caldera_weights_set(set, "w", CALDERA_F32, wrong, 2, W, sizeof W, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "\"w\"", caldera_weights_set(set, "w", CALDERA_F32, w_dims, 2, W, 20, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "number 0", caldera_weights_set(set, "w", 0, w_dims, 2, W, sizeof W, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "weight \"h\": f32 [", caldera_weights_set(set, "h", CALDERA_F32, huge, 2, W, sizeof W, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "needs a name", caldera_weights_set(set, "", CALDERA_F32, w_dims, 2, W, sizeof W, err()));
    OK(caldera_weights_set(set, "b", CALDERA_F32, b_dims, 1, B, sizeof B, err()));
    options.weights = set;
    OK(caldera_compile(device, graph, &options, &one, err()));
    OK(caldera_compile(device, graph, &options, &two, err()));
    caldera_weights_free(set);
    OK(caldera_run(one, &x, 1, &y, 1, err()));
    CHECK(memcmp(got, WANT, sizeof got) == 0);
    memset(got, 0, sizeof got);
    OK(caldera_run(two, &x, 1, &y, 1, err()));
    CHECK(memcmp(got, WANT, sizeof got) == 0);
    caldera_executable_free(one);
    caldera_executable_free(two);
}

static void refused_options(caldera_device *device, const caldera_graph *graph) {
    caldera_compile_options options = CALDERA_COMPILE_OPTIONS_INIT;
    caldera_executable *executable = NULL;
    caldera_graph *empty = NULL;
    options.precision = 9;
    FAILS(CALDERA_INVALID_ARGUMENT, "precision 9", caldera_compile(device, graph, &options, &executable, err()));
    options.precision = 0;
    options.matmul = 9;
    FAILS(CALDERA_INVALID_ARGUMENT, "kernel 9", caldera_compile(device, graph, &options, &executable, err()));
    options.matmul = 0;
    options.struct_size = 3;
    FAILS(CALDERA_INVALID_ARGUMENT, "struct_size is 3", caldera_compile(device, graph, &options, &executable, err()));
    OK(caldera_graph_new(&empty, err()));
    FAILS(CALDERA_INVALID_GRAPH, "output", caldera_compile(device, empty, NULL, &executable, err()));
    CHECK(executable == NULL);
    caldera_graph_free(empty);
}

static void ports(const caldera_executable *executable) {
    caldera_port_info infos[4];
    size_t count = 4;
    OK(caldera_executable_inputs(executable, infos, &count, err()));
    CHECK(count == 1 && strcmp(infos[0].name, "x") == 0 && infos[0].type == CALDERA_F32 && infos[0].bytes == 24);
    CHECK(infos[0].rank == 2 && infos[0].dims[0] == 2 && infos[0].dims[1] == 3);
    count = 4;
    OK(caldera_executable_outputs(executable, infos, &count, err()));
    CHECK(count == 2 && strcmp(infos[0].name, "y") == 0 && strcmp(infos[1].name, "s") == 0 && infos[1].rank == 0);
    OK(caldera_executable_params(executable, NULL, &count, err()));
    CHECK(count == 2);
    FAILS(CALDERA_INVALID_ARGUMENT, "count is NULL", caldera_executable_params(executable, infos, NULL, err()));
}

static void wrong_runs(caldera_executable *executable) {
    float got[4];
    caldera_run_input inputs[2] = {{"x", X, sizeof X}, {"x", X, sizeof X}};
    caldera_run_output outputs[2] = {{"y", got, sizeof got}, {"y", got, sizeof got}};
    FAILS(CALDERA_INVALID_ARGUMENT, "\"x\"", caldera_run(executable, NULL, 0, outputs, 1, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "\"x\"", caldera_run(executable, inputs, 2, outputs, 1, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "y", caldera_run(executable, inputs, 1, outputs, 2, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "NULL", caldera_run(executable, NULL, 1, outputs, 1, err()));
    inputs[0].size = 20;
    FAILS(CALDERA_INVALID_ARGUMENT, "24", caldera_run(executable, inputs, 1, outputs, 1, err()));
    inputs[0].size = sizeof X;
    inputs[0].data = NULL;
    FAILS(CALDERA_INVALID_ARGUMENT, "NULL", caldera_run(executable, inputs, 1, outputs, 1, err()));
    inputs[0].data = X;
    inputs[0].name = "z";
    FAILS(CALDERA_INVALID_ARGUMENT, "\"z\"", caldera_run(executable, inputs, 1, outputs, 1, err()));
    inputs[0].name = NULL;
    FAILS(CALDERA_INVALID_ARGUMENT, "NULL", caldera_run(executable, inputs, 1, outputs, 1, err()));
    inputs[0].name = "x";
    outputs[0].name = "nothing";
    FAILS(CALDERA_INVALID_ARGUMENT, "\"nothing\"", caldera_run(executable, inputs, 1, outputs, 1, err()));
    outputs[0].name = "y";
    outputs[0].size = 12;
    FAILS(CALDERA_INVALID_ARGUMENT, "16", caldera_run(executable, inputs, 1, outputs, 1, err()));
}

static void params(caldera_executable *executable) {
    const double w64[6] = {1, 2, 3, 4, 5, 6};
    caldera_run_input x = {"x", X, sizeof X};
    FAILS(CALDERA_INVALID_ARGUMENT, "\"nothing\"", caldera_set_param(executable, "nothing", CALDERA_F32, W, sizeof W, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "got 20 bytes", caldera_set_param(executable, "w", CALDERA_F32, W, 20, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "product", caldera_set_param(executable, "w", CALDERA_F32, W, 20, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "\"w\"", caldera_set_param(executable, "w", CALDERA_I32, W, sizeof W, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "number 0", caldera_set_param(executable, "w", 0, W, sizeof W, err()));
    /* Running before every weight is set. */
    FAILS(CALDERA_INVALID_ARGUMENT, "w", caldera_run(executable, &x, 1, NULL, 0, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "", caldera_executable_warm_up(executable, err()));
    OK(caldera_set_param(executable, "w", CALDERA_F64, w64, sizeof w64, err()));
    OK(caldera_set_param(executable, "b", CALDERA_F32, B, sizeof B, err()));
}

static void asynchronous(caldera_executable *executable) {
    caldera_run_input x = {"x", X, sizeof X};
    float got[4] = {0};
    caldera_status status;
    uint32_t done = 0;
    OK(caldera_poll(executable, &done, err()));
    CHECK(done == 1);
    OK(caldera_wait(executable, 0, err())); /* nothing is in flight */
    FAILS(CALDERA_INVALID_ARGUMENT, "\"x\"", caldera_submit(executable, NULL, 0, err()));
    OK(caldera_submit(executable, &x, 1, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "done is NULL", caldera_poll(executable, NULL, err()));
    status = caldera_wait(executable, 1, err()); /* may be over, may be not */
    CHECK(status == CALDERA_OK || status == CALDERA_TIMEOUT);
    OK(caldera_wait(executable, UINT64_MAX, err()));
    OK(caldera_read_output(executable, "y", got, sizeof got, err()));
    CHECK(memcmp(got, WANT, sizeof got) == 0);
    OK(caldera_poll(executable, &done, err()));
    CHECK(done == 1);
}

/* Inputs set and outputs wanted ahead of the run. */
static void ahead(caldera_executable *executable) {
    const float zeros[6] = {0, 0, 0, 0, 0, 0};
    caldera_run_input x = {"x", X, sizeof X};
    float got[4] = {0}, sum = 0;
    caldera_run_output y = {"y", got, sizeof got};
    FAILS(CALDERA_INVALID_ARGUMENT, "\"z\"", caldera_set_input(executable, "z", X, sizeof X, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "got 20 bytes", caldera_set_input(executable, "x", X, 20, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "NULL", caldera_set_input(executable, "x", NULL, sizeof X, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "\"z\"", caldera_want_output(executable, "z", err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "\"x\"", caldera_submit(executable, NULL, 0, err())); /* no failed call set it */
    OK(caldera_set_input(executable, "x", zeros, sizeof zeros, err()));
    OK(caldera_set_input(executable, "x", X, sizeof X, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "twice", caldera_run(executable, &x, 1, NULL, 0, err()));
    OK(caldera_want_output(executable, "y", err()));
    OK(caldera_want_output(executable, "y", err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "twice", caldera_run(executable, NULL, 0, &y, 1, err()));
    OK(caldera_submit(executable, NULL, 0, err())); /* the refused calls left it as it was */
    OK(caldera_wait(executable, UINT64_MAX, err()));
    OK(caldera_read_output(executable, "y", got, sizeof got, err()));
    CHECK(memcmp(got, WANT, sizeof got) == 0);
    OK(caldera_read_output(executable, "s", &sum, sizeof sum, err())); /* not wanted: read where it lies */
    CHECK(sum == 84);
    OK(caldera_read_output_row(executable, "y", 1, got, 8, err()));
    CHECK(got[0] == 19 && got[1] == 32);
    FAILS(CALDERA_INVALID_ARGUMENT, "\"x\"", caldera_run(executable, NULL, 0, NULL, 0, err())); /* used up */
    OK(caldera_set_input(executable, "x", zeros, sizeof zeros, err()));
    OK(caldera_want_output(executable, "y", err()));
    OK(caldera_clear_run(executable, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "\"x\"", caldera_run(executable, NULL, 0, &y, 1, err()));
    OK(caldera_set_input(executable, "x", zeros, sizeof zeros, err()));
    OK(caldera_bind_handle_data(executable, "x", X, sizeof X, err())); /* replaces what was set */
    FAILS(CALDERA_INVALID_ARGUMENT, "handle", caldera_set_input(executable, "x", zeros, sizeof zeros, err()));
    OK(caldera_run(executable, NULL, 0, &y, 1, err()));
    CHECK(memcmp(got, WANT, sizeof got) == 0);
    OK(caldera_unbind_handle(executable, "x", err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "\"x\"", caldera_run(executable, NULL, 0, &y, 1, err()));
}

static void outputs(caldera_executable *executable) {
    float got[4] = {0}, sum = 0;
    OK(caldera_read_output(executable, "y", got, sizeof got, err()));
    CHECK(memcmp(got, WANT, sizeof got) == 0);
    OK(caldera_read_output(executable, "s", &sum, sizeof sum, err()));
    CHECK(sum == 84);
    FAILS(CALDERA_INVALID_ARGUMENT, "16", caldera_read_output(executable, "y", got, 12, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "\"z\"", caldera_read_output(executable, "z", got, sizeof got, err()));
    OK(caldera_read_output_row(executable, "y", 1, got, 8, err()));
    CHECK(got[0] == 19 && got[1] == 32);
    FAILS(CALDERA_INVALID_ARGUMENT, "no row 2", caldera_read_output_row(executable, "y", 2, got, 8, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "needs 8", caldera_read_output_row(executable, "y", 1, got, 16, err()));
}

static void reports(caldera_executable *executable, int profiled) {
    caldera_stats stats = CALDERA_STATS_INIT;
    size_t size = 0;
    char *text;
    OK(caldera_executable_stats(executable, &stats, err()));
    CHECK(stats.operators >= 1 && stats.weight_bytes >= 32);
    CHECK(on_cpu() ? stats.host_operators == stats.operators : stats.host_operators == 0);
    CHECK(on_cpu() || stats.dispatches >= 1);
    stats.struct_size = 0;
    FAILS(CALDERA_INVALID_ARGUMENT, "struct_size is 0", caldera_executable_stats(executable, &stats, err()));
    if (on_cpu() && profiled) {
        FAILS(CALDERA_UNSUPPORTED, "", caldera_executable_profile(executable, CALDERA_PROFILE_TEXT, NULL, &size, err()));
    } else if (profiled) {
        OK(caldera_executable_profile(executable, CALDERA_PROFILE_TEXT, NULL, &size, err()));
        text = (char *)malloc(size);
        OK(caldera_executable_profile(executable, CALDERA_PROFILE_TEXT, text, &size, err()));
        CHECK(strstr(text, "product") != NULL);
        free(text);
        OK(caldera_executable_profile(executable, CALDERA_PROFILE_CHROME, NULL, &size, err()));
        FAILS(CALDERA_INVALID_ARGUMENT, "format 9", caldera_executable_profile(executable, 9, NULL, &size, err()));
    } else {
        FAILS(CALDERA_INVALID_ARGUMENT, "profiling", caldera_executable_profile(executable, CALDERA_PROFILE_TEXT, NULL, &size, err()));
    }
}

static void twins(caldera_executable *executable) {
    const float other[6] = {0, 0, 0, 0, 0, 0};
    caldera_run_input x = {"x", other, sizeof other};
    caldera_executable *twin = NULL;
    float got[4];
    OK(caldera_clone(executable, &twin, err()));
    OK(caldera_run(twin, &x, 1, NULL, 0, err()));
    OK(caldera_read_output(twin, "y", got, sizeof got, err()));
    CHECK(got[0] == 10 && got[3] == 20);
    OK(caldera_read_output(executable, "y", got, sizeof got, err())); /* untouched */
    CHECK(memcmp(got, WANT, sizeof got) == 0);
    caldera_executable_free(twin);
}

int main(void) {
    caldera_device *device = open_device();
    caldera_graph *graph = model();
    caldera_executable *executable = NULL;
    caldera_compile_options options = CALDERA_COMPILE_OPTIONS_INIT;
    int profiled;
    weights(device, graph);
    refused_options(device, graph);
    for (profiled = 0; profiled < 2; profiled++) {
        options.profiling = (uint32_t)profiled;
        OK(caldera_compile(device, graph, &options, &executable, err()));
        ports(executable);
        params(executable);
        OK(caldera_executable_warm_up(executable, err()));
        wrong_runs(executable);
        ahead(executable);
        asynchronous(executable);
        outputs(executable);
        reports(executable, profiled);
        twins(executable);
        caldera_executable_free(executable);
    }
    /* Objects keep alive what they need: the order of freeing is free. */
    OK(caldera_compile(device, graph, NULL, &executable, err()));
    caldera_device_free(device);
    caldera_graph_free(graph);
    OK(caldera_set_param(executable, "w", CALDERA_F32, W, sizeof W, err()));
    caldera_executable_free(executable);
    caldera_executable_free(NULL);
    caldera_graph_free(NULL);
    caldera_weights_free(NULL);
    return finish();
}
