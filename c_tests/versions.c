/* Versions, names, errors, the log. */
#include "harness.h"

static int lines;

/* Every size of a struct that no release had is refused. */
#define SIZES(type, initial, call)                                                                       \
    do {                                                                                                 \
        type o = initial;                                                                                \
        uint32_t n;                                                                                      \
        for (n = 0; n < sizeof(type) + 9; n++) {                                                         \
            o.struct_size = n;                                                                           \
            if (n != sizeof(type)) FAILS(CALDERA_INVALID_ARGUMENT, "struct_size is", (call));            \
        }                                                                                                \
        o.struct_size = (uint32_t)sizeof(type);                                                          \
        (void)(call); /* as it is, most of them lack something else */                                   \
        CHECK(strstr(caldera_error_message(error_slot), "struct_size") == NULL);                         \
    } while (0)

static void struct_sizes(void) {
    const int64_t dims[] = {1, 1, 2, 2};
    caldera_device_options cpu = CALDERA_DEVICE_OPTIONS_INIT;
    caldera_device *device = NULL, *other = NULL;
    caldera_graph *graph = NULL, *made = NULL;
    caldera_executable *executable = NULL, *again = NULL;
    caldera_gguf *gguf = NULL;
    caldera_value x, y;
    cpu.select = "cpu";
    OK(caldera_device_open(&cpu, &device, err()));
    OK(caldera_graph_new(&graph, err()));
    x = input_f32(graph, "x", dims, 4);
    OK(caldera_neg(graph, x, &y, err()));
    OK(caldera_graph_output(graph, "y", y, err()));
    OK(caldera_compile(device, graph, NULL, &executable, err()));
    OK(caldera_gguf_open(CALDERA_SOURCE_DIR "/examples/tiny-english/model.gguf", &gguf, err()));
    SIZES(caldera_device_options, cpu, caldera_device_open(&o, &other, err()));
    SIZES(caldera_compile_options, CALDERA_COMPILE_OPTIONS_INIT, caldera_compile(device, graph, &o, &again, err()));
    SIZES(caldera_stats, CALDERA_STATS_INIT, caldera_executable_stats(executable, &o, err()));
    SIZES(caldera_model_options, CALDERA_MODEL_OPTIONS_INIT, caldera_graph_load_gguf(gguf, &o, &made, err()));
    SIZES(caldera_attention_options, CALDERA_ATTENTION_OPTIONS_INIT,
          caldera_attention(graph, x, x, x, CALDERA_NO_VALUE, CALDERA_NO_VALUE, CALDERA_NO_VALUE, &o, &y, err()));
    SIZES(caldera_conv_options, CALDERA_CONV_OPTIONS_INIT, caldera_conv(graph, x, x, CALDERA_NO_VALUE, &o, &y, err()));
    SIZES(caldera_conv_options, CALDERA_CONV_OPTIONS_INIT, caldera_conv_transpose(graph, x, x, CALDERA_NO_VALUE, &o, &y, err()));
    SIZES(caldera_pool_options, CALDERA_POOL_OPTIONS_INIT, caldera_pool(graph, x, &o, &y, err()));
    SIZES(caldera_resize_options, CALDERA_RESIZE_OPTIONS_INIT, caldera_resize(graph, x, &o, &y, err()));
    SIZES(caldera_roi_align_options, CALDERA_ROI_ALIGN_OPTIONS_INIT, caldera_roi_align(graph, x, x, x, &o, &y, err()));
    caldera_graph_free(made);
    caldera_graph_free(graph);
    caldera_executable_free(executable);
    caldera_executable_free(again);
    caldera_gguf_free(gguf);
    caldera_device_free(other);
    caldera_device_free(device);
}

/* What a program meets that polls, or whose threads collide, is no error in the log. */
static void busy_is_no_error(void) {
    const int64_t dims[] = {2};
    const float data[] = {1, 2};
    caldera_device_options cpu = CALDERA_DEVICE_OPTIONS_INIT;
    caldera_device *device = NULL;
    caldera_graph *graph = NULL;
    caldera_executable *executable = NULL;
    caldera_run_input in = {"x", data, sizeof data};
    caldera_value x, y;
    const int before = lines;
    cpu.select = "cpu";
    OK(caldera_device_open(&cpu, &device, err()));
    OK(caldera_graph_new(&graph, err()));
    x = input_f32(graph, "x", dims, 1);
    OK(caldera_neg(graph, x, &y, err()));
    OK(caldera_graph_output(graph, "y", y, err()));
    OK(caldera_compile(device, graph, NULL, &executable, err()));
    OK(caldera_submit(executable, &in, 1, err()));
    FAILS(CALDERA_BUSY, "in flight", caldera_submit(executable, &in, 1, err()));
    CHECK(lines == before);
    in.data = NULL;
    OK(caldera_wait(executable, UINT64_MAX, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "input \"x\": data is NULL, but its size is 8 bytes", caldera_submit(executable, &in, 1, err()));
    CHECK(lines == before + 1);
    caldera_executable_free(executable);
    caldera_graph_free(graph);
    caldera_device_free(device);
}

#ifdef __cplusplus
extern "C" {
#endif
static void count(caldera_log_level level, const char *text, void *user) {
    if (level == CALDERA_LOG_ERROR && text != NULL && user == &lines) lines++;
}
#ifdef __cplusplus
}
#endif

int main(void) {
    caldera_graph *graph = NULL;
    CHECK(strlen(caldera_version()) >= 5);
    CHECK(caldera_abi_version() == CALDERA_ABI_VERSION);
    OK(caldera_check_abi(CALDERA_ABI_VERSION, err()));
    FAILS(CALDERA_UNSUPPORTED, "ABI version 99", caldera_check_abi(99, err()));
    CHECK(caldera_check_abi(99, NULL) == CALDERA_UNSUPPORTED);

    CHECK(strcmp(caldera_status_name(CALDERA_OK), "OK") == 0);
    CHECK(strcmp(caldera_status_name(CALDERA_INTERNAL), "INTERNAL") == 0);
    CHECK(strcmp(caldera_status_name(-1), "UNKNOWN") == 0);
    CHECK(strcmp(caldera_error_message(NULL), "") == 0);
    CHECK(caldera_error_status(NULL) == CALDERA_OK);
    caldera_error_free(NULL);

    /* A failed call says why to the log too, while somebody listens. */
    caldera_set_log_callback(count, &lines);
    FAILS(CALDERA_INVALID_ARGUMENT, "graph is NULL", caldera_graph_new(NULL, err()));
    CHECK(lines == 1);
    CHECK(caldera_graph_new(NULL, NULL) == CALDERA_INVALID_ARGUMENT);
    CHECK(lines == 2);
    busy_is_no_error();
    CHECK(lines == 3);
    caldera_set_log_callback(NULL, NULL);
    CHECK(caldera_graph_new(NULL, NULL) == CALDERA_INVALID_ARGUMENT);
    CHECK(lines == 3);
    struct_sizes();
    OK(caldera_graph_new(&graph, err()));
    CHECK(graph != NULL);
    caldera_graph_free(graph);
    return finish();
}
