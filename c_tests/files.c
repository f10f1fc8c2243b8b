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

/* y = x + zeros of the shape of x, whose size [n] is a constant once n is known. */
static void shape_model(void) {
    size_t graph, node, opset;
    used = 0;
    put_number(1, 8);
    graph = node = used;
    put(1, "x", 1);
    put(2, "s", 1);
    put(4, "Shape", 5);
    enclose(1, node);
    node = used;
    put(1, "s", 1);
    put(2, "z", 1);
    put(4, "ConstantOfShape", 15);
    enclose(1, node);
    node = used;
    put(1, "x", 1);
    put(1, "z", 1);
    put(2, "y", 1);
    put(4, "Add", 3);
    enclose(1, node);
    put(2, "g", 1);
    value_info(11, "x", "n");
    value_info(12, "y", "n");
    enclose(7, graph);
    opset = used;
    put_number(2, 17);
    enclose(8, opset);
}

static void run_to(caldera_device *device, const caldera_graph *graph, float first, float second) {
    const float x[2] = {3, 4};
    float y[2] = {0, 0};
    caldera_run_input in = {"x", x, sizeof x};
    caldera_run_output out = {"y", y, sizeof y};
    caldera_executable *executable = NULL;
    OK(caldera_compile(device, graph, NULL, &executable, err()));
    OK(caldera_run(executable, &in, 1, &out, 1, err()));
    CHECK(y[0] == first && y[1] == second);
    caldera_executable_free(executable);
}

static void run(caldera_device *device, const caldera_graph *graph) { run_to(device, graph, 9, 16); }

static void onnx(caldera_device *device) {
    const char *path = "caldera_files_test.onnx";
    const int64_t dims[] = {2};
    const float x[2] = {3, 4};
    caldera_graph *graph = NULL;
    caldera_executable *executable = NULL;
    caldera_value added;
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
    OK(caldera_neg(graph, 0, &added, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "bind before", caldera_graph_bind_dim(graph, "n", 2, err())); /* what was added would be lost */
    FAILS(CALDERA_INVALID_ARGUMENT, "bind before", caldera_graph_bind_input(graph, "x", CALDERA_F32, dims, 1, x, sizeof x, err()));
    caldera_graph_free(graph);
    OK(caldera_graph_load_onnx_memory(bytes, used, &graph, err()));
    OK(caldera_graph_bind_dim(graph, "n", 2, err()));
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
    caldera_gguf_tensor_info *tensors, one;
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
    size = sizeof text;
    OK(caldera_gguf_metadata(file, "general.architecture", text, &size, err()));
    CHECK(strcmp(text, "llama") == 0 && size == 6);
    size = sizeof text;
    OK(caldera_gguf_metadata(file, "llama.block_count", text, &size, err()));
    CHECK(strcmp(text, "6") == 0);
    size = sizeof text;
    OK(caldera_gguf_metadata(file, "tokenizer.ggml.tokens", text, &size, err())); /* a list, cut to fit */
    CHECK(text[0] == '[' && strlen(text) == sizeof text - 1 && size > sizeof text);
    FAILS(CALDERA_INVALID_ARGUMENT, "\"no.key\"", caldera_gguf_metadata(file, "no.key", text, &size, err()));
    for (i = 0, count = 1; i < count; i++) {
        char key[128];
        size = sizeof key;
        OK(caldera_gguf_metadata_key(file, i, key, &size, &count, err()));
        OK(caldera_gguf_metadata(file, key, NULL, &size, err()));
        CHECK(size > 1 || strlen(key) > 0);
    }
    CHECK(count > 5);
    FAILS(CALDERA_INVALID_ARGUMENT, "none at", caldera_gguf_metadata_key(file, count, text, &size, NULL, err()));
    OK(caldera_gguf_tensors(file, NULL, &count, err()));
    CHECK(count > 20 && count < 200);
    tensors = (caldera_gguf_tensor_info *)calloc(count, sizeof *tensors);
    OK(caldera_gguf_tensors(file, tensors, &count, err()));
    for (i = 0; i < count; i++) {
        CHECK(strlen(tensors[i].name) > 0 && tensors[i].bytes > 0 && tensors[i].data != NULL);
        OK(caldera_gguf_tensor(file, tensors[i].name, &one, err()));
        CHECK(one.data == tensors[i].data && one.bytes == tensors[i].bytes && one.name == tensors[i].name && one.rank == tensors[i].rank);
    }
    FAILS(CALDERA_INVALID_ARGUMENT, "\"no.tensor\"", caldera_gguf_tensor(file, "no.tensor", &one, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "info is NULL", caldera_gguf_tensor(file, tensors[0].name, NULL, err()));
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

/* Writes a safetensors file: the size of the header, the header, the data. `cut` bytes are left out at the end. */
static void write_safetensors(const char *path, const char *header, const void *data, size_t size, size_t cut) {
    unsigned char all[1024] = {0};
    const size_t length = strlen(header);
    FILE *file = fopen(path, "wb");
    all[0] = (unsigned char)length;
    all[1] = (unsigned char)(length >> 8);
    memcpy(all + 8, header, length);
    memcpy(all + 8 + length, data, size);
    CHECK(file != NULL && fwrite(all, 1, 8 + length + size - cut, file) == 8 + length + size - cut);
    if (file != NULL) fclose(file);
}

/* y = x w + b with w [3, 2] f32, b [2] f16. */
static caldera_graph *linear(void) {
    const int64_t x_dims[] = {2, 3}, w_dims[] = {3, 2}, b_dims[] = {2};
    caldera_graph *graph = NULL;
    caldera_value x, w, b, y;
    OK(caldera_graph_new(&graph, err()));
    x = input_f32(graph, "x", x_dims, 2);
    OK(caldera_graph_param(graph, "w", CALDERA_F32, w_dims, 2, &w, err()));
    OK(caldera_graph_param(graph, "b", CALDERA_F16, b_dims, 1, &b, err()));
    OK(caldera_matmul(graph, x, w, 0, 0, &y, err()));
    OK(caldera_cast(graph, b, CALDERA_F32, &b, err()));
    OK(caldera_add(graph, y, b, &y, err()));
    OK(caldera_graph_output(graph, "y", y, err()));
    return graph;
}

static void run_linear(caldera_device *device, const caldera_graph *graph, const caldera_weights *weights) {
    static const float x[6] = {1, 0, 0, 1, 1, 1};
    float y[4] = {0};
    caldera_run_input in = {"x", x, sizeof x};
    caldera_run_output out = {"y", y, sizeof y};
    caldera_executable *executable = NULL;
    caldera_compile_options options = CALDERA_COMPILE_OPTIONS_INIT;
    options.weights = weights;
    OK(caldera_compile(device, graph, &options, &executable, err()));
    OK(caldera_run(executable, &in, 1, &out, 1, err()));
    CHECK(y[0] == 11 && y[1] == 22 && y[2] == 19 && y[3] == 32);
    caldera_executable_free(executable);
}

#define TENSOR(name, type, shape, from, to) "\"" name "\":{\"dtype\":\"" type "\",\"shape\":" shape ",\"data_offsets\":[" from "," to "]}"

static void safetensors(caldera_device *device) {
    const char *path = "caldera_files_test.safetensors";
    const int64_t b_dims[] = {2}, other_dims[] = {3};
    const float data[] = {1, 2, 3, 4, 5, 6, 10, 20}, zeros[3] = {0};
    caldera_weights *weights = NULL;
    caldera_graph *graph = linear();
    caldera_executable *executable = NULL;
    caldera_compile_options options = CALDERA_COMPILE_OPTIONS_INIT;
    int calls = 0;
    OK(caldera_weights_new(device, &weights, err()));
    options.weights = weights;
    OK(caldera_compile(device, graph, &options, &executable, err())); /* declares w and b: b is converted to f16 */
    write_safetensors(path, "{" TENSOR("w", "F32", "[3,2]", "0", "24") "," TENSOR("b", "F32", "[2]", "24", "32") "}", data, sizeof data, 0);
    OK(caldera_weights_load_safetensors(weights, path, on_progress, &calls, err()));
    CHECK(calls == 2);
    run_linear(device, graph, weights);
    OK(caldera_weights_load_safetensors(weights, path, NULL, NULL, err())); /* again: nothing in the way */
    caldera_executable_free(executable);

    FAILS(CALDERA_FILE, "there_is_no_such_file", caldera_weights_load_safetensors(weights, "there_is_no_such_file", NULL, NULL, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "path is NULL", caldera_weights_load_safetensors(weights, NULL, NULL, NULL, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "weights is NULL", caldera_weights_load_safetensors(NULL, path, NULL, NULL, err()));
    write_safetensors(path, "{" TENSOR("w", "F32", "[3,2]", "0", "24") "}", data, 24, 1);
    FAILS(CALDERA_FILE, path, caldera_weights_load_safetensors(weights, path, NULL, NULL, err()));
    write_safetensors(path, "{" TENSOR("w", "F32", "[3,2]", "0", "20") "}", data, 24, 0);
    FAILS(CALDERA_FILE, path, caldera_weights_load_safetensors(weights, path, NULL, NULL, err()));
    /* All or none: "a" is not set when "b" does not fit. */
    write_safetensors(path, "{" TENSOR("a", "F32", "[3]", "0", "12") "," TENSOR("b", "F32", "[3]", "12", "24") "}", data, 24, 0);
    FAILS(CALDERA_INVALID_ARGUMENT, "\"b\"", caldera_weights_load_safetensors(weights, path, NULL, NULL, err()));
    OK(caldera_weights_set(weights, "a", CALDERA_F32, b_dims, 1, data, 8, err())); /* the name is still free */
    write_safetensors(path, "{" TENSOR("b", "I32", "[2]", "0", "8") "}", data, 8, 0);
    FAILS(CALDERA_INVALID_ARGUMENT, "i32", caldera_weights_load_safetensors(weights, path, NULL, NULL, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "\"a\"", caldera_weights_set(weights, "a", CALDERA_F32, other_dims, 1, zeros, sizeof zeros, err()));
    run_linear(device, graph, weights);
    remove(path);
    caldera_weights_free(weights);
    caldera_graph_free(graph);
}

static void saving(caldera_device *device) {
    const char *path = "caldera_saving_test.onnx";
    const int64_t w_dims[] = {3, 2}, b_dims[] = {2};
    const float w[] = {1, 2, 3, 4, 5, 6}, b[] = {10, 20};
    caldera_weights *weights = NULL;
    caldera_graph *graph = linear(), *again = NULL, *empty = NULL;
    OK(caldera_weights_new(device, &weights, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "\"w\"", caldera_graph_save_onnx(graph, NULL, path, err())); /* no values at all */
    OK(caldera_weights_set(weights, "w", CALDERA_F32, w_dims, 2, w, sizeof w, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "\"b\"", caldera_graph_save_onnx(graph, weights, path, err()));
    OK(caldera_weights_set(weights, "b", CALDERA_F32, b_dims, 1, b, sizeof b, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "\"b\" is f16", caldera_graph_save_onnx(graph, weights, path, err()));
    caldera_weights_free(weights);
    OK(caldera_weights_new(device, &weights, err()));
    OK(caldera_weights_set(weights, "w", CALDERA_F32, w_dims, 2, w, sizeof w, err()));
    {
        const uint16_t half[] = {0x4900, 0x4d00};
        OK(caldera_weights_set(weights, "b", CALDERA_F16, b_dims, 1, half, sizeof half, err()));
    }
    OK(caldera_graph_save_onnx(graph, weights, path, err()));
    OK(caldera_graph_load_onnx(path, &again, err()));
    run_linear(device, again, NULL);
    OK(caldera_graph_save_onnx(again, NULL, path, err())); /* over the file that it reads its weights from */
    caldera_graph_free(again);
    OK(caldera_graph_load_onnx(path, &again, err()));
    run_linear(device, again, NULL);
    caldera_graph_free(again);
    remove(path);
    FAILS(CALDERA_FILE, "no/such/folder", caldera_graph_save_onnx(graph, weights, "no/such/folder/file.onnx", err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "path is NULL", caldera_graph_save_onnx(graph, weights, NULL, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "graph is NULL", caldera_graph_save_onnx(NULL, weights, path, err()));
    OK(caldera_graph_new(&empty, err()));
    FAILS(CALDERA_INVALID_GRAPH, "output", caldera_graph_save_onnx(empty, weights, path, err()));
    caldera_graph_free(empty);
    caldera_graph_free(graph);
    caldera_weights_free(weights);
}

/* What was bound is a number in the file, what was not is a name; either way the file means what the graph meant. */
static void saving_bound(caldera_device *device) {
    const char *path = "caldera_bound_test.onnx", *names[] = {"n"};
    const int64_t open[] = {-1};
    caldera_graph *graph = NULL, *again = NULL;
    caldera_value x, y;
    shape_model();
    OK(caldera_graph_load_onnx_memory(bytes, used, &graph, err()));
    FAILS(CALDERA_INVALID_GRAPH, "before this is bound: n", caldera_graph_save_onnx(graph, NULL, path, err()));
    OK(caldera_graph_bind_dim(graph, "n", 5, err()));
    OK(caldera_graph_bind_dim(graph, "n", 2, err()));
    OK(caldera_graph_save_onnx(graph, NULL, path, err()));
    OK(caldera_graph_load_onnx(path, &again, err()));
    run_to(device, again, 3, 4);
    FAILS(CALDERA_INVALID_ARGUMENT, "\"n\"", caldera_graph_bind_dim(again, "n", 9, err()));
    caldera_graph_free(again);
    caldera_graph_free(graph);

    OK(caldera_graph_new(&graph, err()));
    OK(caldera_graph_input(graph, "x", CALDERA_F32, open, names, 1, &x, err()));
    OK(caldera_mul(graph, x, x, &y, err()));
    OK(caldera_graph_output(graph, "y", y, err()));
    OK(caldera_graph_save_onnx(graph, NULL, path, err()));
    OK(caldera_graph_load_onnx(path, &again, err()));
    OK(caldera_graph_bind_dim(again, "n", 2, err()));
    run(device, again);
    caldera_graph_free(again);
    OK(caldera_graph_bind_dim(graph, "n", 2, err()));
    OK(caldera_graph_save_onnx(graph, NULL, path, err()));
    OK(caldera_graph_load_onnx(path, &again, err()));
    run(device, again);
    FAILS(CALDERA_INVALID_ARGUMENT, "\"n\"", caldera_graph_bind_dim(again, "n", 2, err()));
    caldera_graph_free(again);
    caldera_graph_free(graph);
    remove(path);
}

int main(void) {
    caldera_device *device = open_device();
    safetensors(device);
    saving(device);
    saving_bound(device);
    onnx(device);
    gguf(device);
    caldera_device_free(device);
    return finish();
}
