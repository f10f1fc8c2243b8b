// The library opened and closed at run time, again and again: nothing may stay behind that crashes. The path is CALDERA_LIBRARY.
#include "harness.h"

#include <dlfcn.h>

#define FUNCTION(name) const auto name##_ = reinterpret_cast<decltype(&name)>(dlsym(library, #name))

static void use(void *library) {
    const int64_t dims[] = {3};
    const float x[3] = {1, 2, 3};
    float y[3] = {0, 0, 0};
    caldera_run_input in = {"x", x, sizeof x};
    caldera_run_output out = {"y", y, sizeof y};
    caldera_device_options options = CALDERA_DEVICE_OPTIONS_INIT;
    caldera_device *device = NULL;
    caldera_graph *graph = NULL;
    caldera_executable *executable = NULL;
    caldera_value value = 0;
    FUNCTION(caldera_device_open);
    FUNCTION(caldera_device_free);
    FUNCTION(caldera_graph_new);
    FUNCTION(caldera_graph_free);
    FUNCTION(caldera_graph_input);
    FUNCTION(caldera_graph_output);
    FUNCTION(caldera_add);
    FUNCTION(caldera_compile);
    FUNCTION(caldera_run);
    FUNCTION(caldera_executable_free);
    options.select = device_name();
    CHECK(caldera_device_open_(&options, &device, NULL) == CALDERA_OK);
    CHECK(caldera_graph_new_(&graph, NULL) == CALDERA_OK);
    CHECK(caldera_graph_input_(graph, "x", CALDERA_F32, dims, NULL, 1, &value, NULL) == CALDERA_OK);
    CHECK(caldera_add_(graph, value, value, &value, NULL) == CALDERA_OK);
    CHECK(caldera_graph_output_(graph, "y", value, NULL) == CALDERA_OK);
    CHECK(caldera_compile_(device, graph, NULL, &executable, NULL) == CALDERA_OK);
    CHECK(caldera_run_(executable, &in, 1, &out, 1, NULL) == CALDERA_OK);
    CHECK(y[0] == 2 && y[2] == 6);
    caldera_executable_free_(executable);
    caldera_graph_free_(graph);
    caldera_device_free_(device);
}

int main(void) {
    int i;
    for (i = 0; i < 40; i++) {
        void *library = dlopen(CALDERA_LIBRARY, RTLD_NOW | RTLD_LOCAL);
        CHECK(library != NULL);
        if (library == NULL) {
            fprintf(stderr, "    %s\n", dlerror());
            return 1;
        }
        if (i % 2 == 0) use(library); /* and in between, closed unused */
        CHECK(dlclose(library) == 0);
    }
    printf("%d checks, %d failed\n", test_state.checks, test_state.failures);
    return test_state.failures == 0 ? 0 : 1;
}
