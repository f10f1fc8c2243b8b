/* The smallest program that shows a whole life: open, describe, compile, run, free. */
#include <caldera.h>
#include <stdio.h>

static int failed(caldera_error *error) {
    fprintf(stderr, "embed: %s\n", caldera_error_message(error));
    caldera_error_free(error);
    return 1;
}

int main(void) {
    caldera_error *error = NULL;
    if (caldera_check_abi(CALDERA_ABI_VERSION, &error) != CALDERA_OK) return failed(error);

    caldera_device_options options = CALDERA_DEVICE_OPTIONS_INIT;
    options.allow_software = options.allow_cpu = 1; /* any device will do here */
    caldera_device *device = NULL;
    if (caldera_device_open(&options, &device, &error) != CALDERA_OK) return failed(error);

    caldera_graph *graph = NULL;
    caldera_value x, y;
    const int64_t dims[] = {3};
    if (caldera_graph_new(&graph, &error) != CALDERA_OK || caldera_graph_input(graph, "x", CALDERA_F32, dims, NULL, 1, &x, &error) != CALDERA_OK ||
        caldera_add(graph, x, x, &y, &error) != CALDERA_OK || caldera_graph_output(graph, "y", y, &error) != CALDERA_OK)
        return failed(error);

    caldera_executable *executable = NULL;
    if (caldera_compile(device, graph, NULL, &executable, &error) != CALDERA_OK) return failed(error);
    caldera_graph_free(graph);

    const float in[3] = {1, 2, 3};
    float out[3];
    const caldera_run_input input = {"x", in, sizeof in};
    const caldera_run_output output = {"y", out, sizeof out};
    if (caldera_run(executable, &input, 1, &output, 1, &error) != CALDERA_OK) return failed(error);
    printf("embedded: %g %g %g\n", out[0], out[1], out[2]);

    caldera_executable_free(executable);
    caldera_device_free(device);
    return 0;
}
