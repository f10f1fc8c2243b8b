/* Models from files: ONNX from memory and from a path, GGUF. CALDERA_SOURCE_DIR is the root of the repository. */
#include "harness.h"

static unsigned char bytes[4096];
static size_t used;

/* Just enough protocol buffers to write an ONNX model: a field of bytes, and one of a number below 128. */
static void put(int field, const void *data, size_t size) {
    bytes[used++] = (unsigned char)(field << 3 | 2);
    bytes[used++] = (unsigned char)size;
    memcpy(bytes + used, data, size);
    used += size;
}

static void put_number(int field, unsigned value) {
    bytes[used++] = (unsigned char)(field << 3);
    bytes[used++] = (unsigned char)value;
}

/* What was written since `start` becomes a field of its own. */
static void enclose(int field, size_t start) {
    unsigned char inner[256];
    const size_t size = used - start;
    memcpy(inner, bytes + start, size);
    used = start;
    put(field, inner, size);
}

/* ValueInfoProto: a name, f32, dims [2] or [n]. */
static void value_info(int field, const char *name, const char *symbol) {
    const size_t info = used;
    size_t type, tensor, shape, dim;
    put(1, name, strlen(name));
    type = tensor = used;
    put_number(1, 1);
    shape = dim = used;
    if (symbol != NULL) put(2, symbol, strlen(symbol));
    else put_number(1, 2);
    enclose(1, dim);
    enclose(2, shape);
    enclose(1, tensor);
    enclose(2, type);
    enclose(field, info);
}

/* y = x <op> x in the standard domain, opset 17. */
static void model(const char *op, const char *symbol) {
    size_t graph, node, opset;
    used = 0;
    put_number(1, 8); /* ir_version */
    graph = node = used;
    put(1, "x", 1);
    put(1, "x", 1);
    put(2, "y", 1);
    put(3, "the_node", 8);
    put(4, op, strlen(op));
    enclose(1, node);
    put(2, "g", 1);
    value_info(11, "x", symbol);
    value_info(12, "y", symbol);
    enclose(7, graph);
    opset = used;
    put_number(2, 17);
    enclose(8, opset);
}

static void run(caldera_device *device, const caldera_graph *graph) {
    const float x[2] = {3, 4};
    float y[2] = {0, 0};
    caldera_run_input in = {"x", x, sizeof x};
    caldera_run_output out = {"y", y, sizeof y};
    caldera_executable *executable = NULL;
    OK(caldera_compile(device, graph, NULL, &executable, err()));
    OK(caldera_run(executable, &in, 1, &out, 1, err()));
    CHECK(y[0] == 9 && y[1] == 16);
    caldera_executable_free(executable);
}

static void onnx(caldera_device *device) {
    const char *path = "caldera_files_test.onnx";
    const int64_t dims[] = {2};
    const float x[2] = {3, 4};
    caldera_graph *graph = NULL;
    caldera_executable *executable = NULL;
    FILE *file;
    size_t n;
    model("Mul", NULL);
    OK(caldera_graph_load_onnx_memory(bytes, used, &graph, err()));
    run(device, graph);
    caldera_graph_free(graph);
    file = fopen(path, "wb");
    CHECK(file != NULL && fwrite(bytes, 1, used, file) == used);
    if (file != NULL) fclose(file);
    OK(caldera_graph_load_onnx(path, &graph, err()));
    run(device, graph);
    caldera_graph_free(graph);
    remove(path);
    graph = NULL;

    model("Mul", "n"); /* a symbolic dimension */
    OK(caldera_graph_load_onnx_memory(bytes, used, &graph, err()));
    FAILS(CALDERA_INVALID_GRAPH, "n", caldera_compile(device, graph, NULL, &executable, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "\"m\"", caldera_graph_bind_dim(graph, "m", 2, err()));
    OK(caldera_graph_bind_dim(graph, "n", 2, err()));
    run(device, graph);
    FAILS(CALDERA_INVALID_ARGUMENT, "\"z\"", caldera_graph_bind_input(graph, "z", CALDERA_F32, dims, 1, x, sizeof x, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "8", caldera_graph_bind_input(graph, "x", CALDERA_F32, dims, 1, x, 4, err()));
    OK(caldera_graph_bind_input(graph, "x", CALDERA_F32, dims, 1, x, sizeof x, err()));
    caldera_graph_free(graph);
    graph = NULL;

    FAILS(CALDERA_FILE, "there_is_no_such_file", caldera_graph_load_onnx("there_is_no_such_file.onnx", &graph, err()));
    model("NoSuchOp", NULL);
    FAILS(CALDERA_UNSUPPORTED, "NoSuchOp", caldera_graph_load_onnx_memory(bytes, used, &graph, err()));
    model("Mul", NULL);
    for (n = 0; n < used; n++) { /* cut off anywhere: an error, or a smaller model, but no crash */
        if (caldera_graph_load_onnx_memory(bytes, n, &graph, err()) == CALDERA_OK) caldera_graph_free(graph);
    }
}

#ifdef __cplusplus
extern "C" {
#endif
static void on_progress(uint64_t done, uint64_t total, void *user) {
    if (done <= total) *(int *)user += 1;
}
#ifdef __cplusplus
}
#endif

static void gguf(caldera_device *device) {
    const char *path = CALDERA_SOURCE_DIR "/examples/tiny-english/model.gguf";
    caldera_gguf *file = NULL;
    caldera_graph *graph = NULL;
    caldera_weights *weights = NULL;
    caldera_gguf_tensor_info *tensors;
    caldera_model_options options = CALDERA_MODEL_OPTIONS_INIT;
    char text[64];
    size_t size = sizeof text, count = 0, i;
    double number = 0;
    int calls = 0;
    FAILS(CALDERA_FILE, "there_is_no_such_file", caldera_gguf_open("there_is_no_such_file.gguf", &file, err()));
    FAILS(CALDERA_FILE, "", caldera_gguf_open(CALDERA_SOURCE_DIR "/include/caldera.h", &file, err()));
    OK(caldera_gguf_open(path, &file, err()));
    OK(caldera_gguf_metadata_text(file, "general.architecture", text, &size, err()));
    CHECK(strcmp(text, "llama") == 0 && size == 6);
    FAILS(CALDERA_INVALID_ARGUMENT, "\"no.key\"", caldera_gguf_metadata_text(file, "no.key", text, &size, err()));
    OK(caldera_gguf_metadata_number(file, "llama.block_count", &number, err()));
    CHECK(number == 6);
    FAILS(CALDERA_INVALID_ARGUMENT, "no number", caldera_gguf_metadata_number(file, "general.architecture", &number, err()));
    OK(caldera_gguf_tensors(file, NULL, &count, err()));
    CHECK(count > 20 && count < 200);
    tensors = (caldera_gguf_tensor_info *)calloc(count, sizeof *tensors);
    OK(caldera_gguf_tensors(file, tensors, &count, err()));
    for (i = 0; i < count; i++) CHECK(strlen(tensors[i].name) > 0 && tensors[i].bytes > 0 && tensors[i].data != NULL);
    free(tensors);
    OK(caldera_weights_new(device, &weights, err()));
    OK(caldera_weights_load_gguf(weights, file, on_progress, &calls, err()));
    CHECK(calls > 0);
    options.tokens = 4;
    options.context = 16;
    options.cache_type = 999;
    FAILS(CALDERA_INVALID_ARGUMENT, "999", caldera_graph_load_gguf(file, &options, &graph, err()));
    options.cache_type = CALDERA_F32;
    OK(caldera_graph_load_gguf(file, &options, &graph, err()));
    caldera_graph_free(graph);
    caldera_weights_free(weights);
    caldera_gguf_free(file);
    caldera_gguf_free(NULL);
}

int main(void) {
    caldera_device *device = open_device();
    onnx(device);
    gguf(device);
    caldera_device_free(device);
    return finish();
}
