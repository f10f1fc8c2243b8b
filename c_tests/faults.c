/* A driver that fails (CALDERA_FAULT makes it), no driver at all, and programs that leave without freeing. One case a process: `faults CASE`. */
#include "harness.h"

static const float X[3] = {1, 2, -4};

/* y = x + w, next = x + x; x [3], w a param */
static caldera_graph *model(void) {
    const int64_t dims[] = {3};
    caldera_graph *graph = NULL;
    caldera_value x, w, y, next;
    OK(caldera_graph_new(&graph, err()));
    x = input_f32(graph, "x", dims, 1);
    OK(caldera_graph_param(graph, "w", CALDERA_F32, dims, 1, &w, err()));
    OK(caldera_add(graph, x, w, &y, err()));
    OK(caldera_add(graph, x, x, &next, err()));
    OK(caldera_graph_output(graph, "y", y, err()));
    OK(caldera_graph_output(graph, "next", next, err()));
    return graph;
}

static caldera_device *opened(uint32_t cpu) {
    caldera_device_options options = CALDERA_DEVICE_OPTIONS_INIT;
    caldera_device *device = NULL;
    options.select = cpu ? "cpu" : device_name();
    options.validation = cpu || on_cpu() ? 0 : 1;
    OK(caldera_device_open(&options, &device, err()));
    return device;
}

static void runs(caldera_device *device) {
    caldera_graph *graph = model();
    caldera_executable *executable = NULL;
    float y[3] = {0};
    caldera_run_input in = {"x", X, sizeof X};
    caldera_run_output out = {"y", y, sizeof y};
    OK(caldera_compile(device, graph, NULL, &executable, err()));
    OK(caldera_set_param(executable, "w", CALDERA_F32, X, sizeof X, err()));
    OK(caldera_run(executable, &in, 1, &out, 1, err()));
    CHECK(y[0] == 2 && y[1] == 4 && y[2] == -8);
    caldera_executable_free(executable);
    caldera_graph_free(graph);
}

#define LOST(call) FAILS(CALDERA_DEVICE_LOST, "lost", call)

/* The device is lost at the submit of the second run: from there on every call says so, and every free works. */
static void lost(void) {
    const int64_t dims[] = {3};
    float y[3] = {0};
    caldera_run_input in = {"x", X, sizeof X};
    caldera_run_output out = {"y", y, sizeof y};
    caldera_device *device;
    caldera_graph *graph = model();
    caldera_executable *executable = NULL, *idle = NULL, *none = NULL;
    caldera_weights *weights = NULL, *no_weights = NULL;
    caldera_buffer *buffer = NULL, *no_buffer = NULL;
    caldera_compile_options options = CALDERA_COMPILE_OPTIONS_INIT;
    caldera_device_properties info;
    caldera_port_info ports[2];
    size_t size = 0, count = 2;
    uint64_t used;
    uint32_t flag;
    setenv("CALDERA_FAULT", "submit=4", 1);
    device = opened(0);
    OK(caldera_weights_new(device, &weights, err()));
    OK(caldera_weights_set(weights, "w", CALDERA_F32, dims, 1, X, sizeof X, err())); /* the first submit */
    OK(caldera_buffer_new(device, CALDERA_F32, dims, 1, &buffer, err()));            /* the second: zeros */
    options.weights = weights;
    OK(caldera_compile(device, graph, &options, &idle, err()));
    OK(caldera_compile(device, graph, &options, &executable, err()));
    OK(caldera_run(executable, &in, 1, &out, 1, err()));
    CHECK(y[0] == 2);
    LOST(caldera_run(executable, &in, 1, &out, 1, err()));

    LOST(caldera_run(executable, &in, 1, &out, 1, err()));
    LOST(caldera_run(idle, &in, 1, &out, 1, err()));
    LOST(caldera_submit(idle, &in, 1, err()));
    LOST(caldera_wait(idle, 0, err()));
    LOST(caldera_poll(idle, &flag, err()));
    LOST(caldera_read_output(executable, "y", y, sizeof y, err()));
    LOST(caldera_read_output_row(executable, "y", 0, y, 4, err()));
    LOST(caldera_bind_handle(idle, "x", buffer, err()));
    LOST(caldera_bind_handle_data(idle, "x", X, sizeof X, err()));
    LOST(caldera_bind_output(idle, "y", buffer, err()));
    LOST(caldera_read_handle(idle, "x", 0, y, sizeof y, err()));
    LOST(caldera_unbind_handle(idle, "x", err()));
    LOST(caldera_set_handle_feed(idle, "x", "next", err()));
    LOST(caldera_register_row_feed(idle, "x", "next", err()));
    LOST(caldera_feed_row(idle, 0, 0, 1, err()));
    LOST(caldera_set_active_extent(idle, 1, 2, err()));
    LOST(caldera_set_rng(idle, 1, 0, err()));
    LOST(caldera_set_param(idle, "w", CALDERA_F32, X, sizeof X, err()));
    LOST(caldera_executable_warm_up(idle, err()));
    LOST(caldera_clone(idle, &none, err()));
    LOST(caldera_compile(device, graph, NULL, &none, err()));
    LOST(caldera_weights_new(device, &no_weights, err()));
    LOST(caldera_weights_set(weights, "w", CALDERA_F32, dims, 1, X, sizeof X, err()));
    LOST(caldera_buffer_new(device, CALDERA_F32, dims, 1, &no_buffer, err()));
    LOST(caldera_buffer_write(buffer, 0, X, sizeof X, err()));
    LOST(caldera_buffer_read(buffer, 0, y, sizeof y, err()));
    LOST(caldera_buffer_clone(buffer, &no_buffer, err()));
    LOST(caldera_device_memory(device, &used, NULL, err()));
    LOST(caldera_device_trim(device, err()));
    LOST(caldera_device_cache(device, NULL, &size, err()));
    LOST(caldera_device_save_cache(device, "nothing.cache", err()));
    CHECK(none == NULL && no_weights == NULL && no_buffer == NULL);
    /* What is known without the device can still be asked. */
    OK(caldera_device_info(device, &info, err()));
    OK(caldera_executable_inputs(idle, ports, &count, err()));
    CHECK(count == 1 && caldera_buffer_bytes(buffer) == 12);

    caldera_buffer_free(buffer);
    caldera_weights_free(weights);
    caldera_executable_free(executable);
    caldera_device_free(device);
    caldera_executable_free(idle);
    unsetenv("CALDERA_FAULT");
    device = opened(0);
    runs(device);
    caldera_device_free(device);
    caldera_graph_free(graph);
}

static void nonsense(void) {
    caldera_device_options options = CALDERA_DEVICE_OPTIONS_INIT;
    caldera_device *device = NULL;
    options.select = device_name();
    setenv("CALDERA_FAULT", "colour=1", 1);
    FAILS(CALDERA_INVALID_ARGUMENT, "colour", caldera_device_open(&options, &device, err()));
    setenv("CALDERA_FAULT", "allocate=1+", 1);
    FAILS(CALDERA_OUT_OF_MEMORY, "memory", caldera_device_open(&options, &device, err()));
    CHECK(device == NULL);
    unsetenv("CALDERA_FAULT");
    device = opened(0);
    runs(device);
    caldera_device_free(device);
}

/* Started with a driver list that names nothing. */
static void no_driver(void) {
    caldera_device_options options = CALDERA_DEVICE_OPTIONS_INIT;
    caldera_device *device = NULL;
    options.allow_software = 1;
    FAILS(CALDERA_NO_DEVICE, "Vulkan", caldera_device_open(&options, &device, err()));
    CHECK(device == NULL);
    caldera_device_free(device); /* destroying after a failed create */
    options.allow_cpu = 1;
    OK(caldera_device_open(&options, &device, err()));
    runs(device);
    caldera_device_free(device);
}

/* Nothing is freed, and a run may still be in flight. */
static void leave(void) {
    caldera_device *device = opened(0);
    caldera_graph *graph = model();
    caldera_executable *executable = NULL;
    caldera_run_input in = {"x", X, sizeof X};
    OK(caldera_compile(device, graph, NULL, &executable, err()));
    OK(caldera_set_param(executable, "w", CALDERA_F32, X, sizeof X, err()));
    OK(caldera_submit(executable, &in, 1, err()));
}

int main(int count, char **arguments) {
    const char *which = count > 1 ? arguments[1] : "";
    caldera_set_log_callback(on_log, &test_state);
    if (strcmp(which, "lost") == 0) lost();
    if (strcmp(which, "nonsense") == 0) nonsense();
    if (strcmp(which, "no_driver") == 0) no_driver();
    if (strcmp(which, "leave") == 0) leave();
    return finish();
}
