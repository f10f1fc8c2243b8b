/* Buffers and handles: what stays on the device between runs. */
#include "harness.h"

/* next = state + x; rows [4, 2]: an input that comes out as it went in */
static caldera_executable *counter(caldera_device *device) {
    const int64_t dims[] = {4, 2};
    caldera_graph *graph = NULL;
    caldera_executable *executable = NULL;
    caldera_value x, state, next, twice;
    OK(caldera_graph_new(&graph, err()));
    x = input_f32(graph, "x", dims, 2);
    state = input_f32(graph, "state", dims, 2);
    OK(caldera_add(graph, state, x, &next, err()));
    OK(caldera_add(graph, next, next, &twice, err()));
    OK(caldera_graph_output(graph, "next", next, err()));
    OK(caldera_graph_output(graph, "twice", twice, err()));
    OK(caldera_compile(device, graph, NULL, &executable, err()));
    caldera_graph_free(graph);
    return executable;
}

static const float ONES[8] = {1, 1, 1, 1, 1, 1, 1, 1};

static void buffers(caldera_device *device) {
    const int64_t dims[] = {4, 2}, huge[] = {(int64_t)1 << 31, (int64_t)1 << 31}, nine[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    caldera_buffer *buffer = NULL, *copy = NULL;
    float got[8];
    FAILS(CALDERA_INVALID_ARGUMENT, "number 0", caldera_buffer_new(device, 0, dims, 2, &buffer, err()));
    CHECK(caldera_buffer_new(device, CALDERA_Q4_K, dims, 2, &buffer, err()) != CALDERA_OK);
    FAILS(CALDERA_INVALID_ARGUMENT, "too many elements", caldera_buffer_new(device, CALDERA_F32, huge, 2, &buffer, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "rank 9", caldera_buffer_new(device, CALDERA_F32, nine, 9, &buffer, err()));
    CHECK(buffer == NULL);
    OK(caldera_buffer_new(device, CALDERA_F32, dims, 2, &buffer, err()));
    CHECK(caldera_buffer_bytes(buffer) == 32 && caldera_buffer_bytes(NULL) == 0);
    OK(caldera_buffer_read(buffer, 0, got, sizeof got, err()));
    CHECK(got[0] == 0 && got[7] == 0);
    OK(caldera_buffer_write(buffer, 4, ONES, 8, err()));
    OK(caldera_buffer_clone(buffer, &copy, err()));
    OK(caldera_buffer_write(buffer, 0, ONES, 32, err()));
    OK(caldera_buffer_read(copy, 0, got, sizeof got, err()));
    CHECK(got[0] == 0 && got[1] == 1 && got[2] == 1 && got[3] == 0);
    FAILS(CALDERA_INVALID_ARGUMENT, "", caldera_buffer_write(buffer, 28, ONES, 8, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "", caldera_buffer_read(buffer, SIZE_MAX, got, 8, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "data is NULL", caldera_buffer_write(buffer, 0, NULL, 8, err()));
    OK(caldera_buffer_write(buffer, 0, NULL, 0, err()));
    caldera_buffer_free(buffer);
    caldera_buffer_free(copy);
    caldera_buffer_free(NULL);
}

static void feeds(caldera_device *device) {
    caldera_executable *executable = counter(device);
    caldera_run_input x = {"x", ONES, sizeof ONES}, both[2] = {{"x", ONES, sizeof ONES}, {"state", ONES, sizeof ONES}};
    caldera_executable *twin = NULL;
    float got[8];
    uint32_t has = 9;
    int i;
    OK(caldera_has_handle(executable, "state", &has, err()));
    CHECK(has == 0);
    FAILS(CALDERA_INVALID_ARGUMENT, "has no handle", caldera_read_handle(executable, "state", 0, got, sizeof got, err()));
    CHECK(caldera_set_handle_feed(executable, "state", "next", err()) == CALDERA_INVALID_ARGUMENT);
    FAILS(CALDERA_INVALID_ARGUMENT, "32", caldera_bind_handle_data(executable, "state", ONES, 12, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "\"no\"", caldera_bind_handle_data(executable, "no", ONES, sizeof ONES, err()));
    OK(caldera_bind_handle_data(executable, "state", ONES, sizeof ONES, err()));
    OK(caldera_has_handle(executable, "state", &has, err()));
    CHECK(has == 1);
    FAILS(CALDERA_INVALID_ARGUMENT, "\"state\"", caldera_run(executable, both, 2, NULL, 0, err())); /* it is not given any more */
    OK(caldera_set_handle_feed(executable, "state", "next", err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "\"no\"", caldera_set_handle_feed(executable, "state", "no", err()));
    for (i = 0; i < 5; i++) OK(caldera_run(executable, &x, 1, NULL, 0, err()));
    OK(caldera_read_handle(executable, "state", 8, got, 8, err()));
    CHECK(got[0] == 6 && got[1] == 6);
    OK(caldera_clone(executable, &twin, err()));
    OK(caldera_run(twin, &x, 1, NULL, 0, err()));
    OK(caldera_read_handle(twin, "state", 0, got, sizeof got, err()));
    CHECK(got[0] == 7);
    OK(caldera_read_handle(executable, "state", 0, got, sizeof got, err()));
    CHECK(got[0] == 6);
    CHECK(caldera_unbind_handle(executable, "state", err()) == CALDERA_INVALID_ARGUMENT); /* an output feeds it */
    caldera_executable_free(executable);
    caldera_executable_free(twin);
}

static void shared_buffer(caldera_device *device) {
    const int64_t dims[] = {4, 2}, wrong[] = {4, 3};
    caldera_executable *one = counter(device), *two = counter(device);
    caldera_run_input x = {"x", ONES, sizeof ONES};
    caldera_buffer *buffer = NULL, *other = NULL;
    float got[8];
    OK(caldera_buffer_new(device, CALDERA_F32, dims, 2, &buffer, err()));
    OK(caldera_buffer_new(device, CALDERA_F32, wrong, 2, &other, err()));
    CHECK(caldera_bind_handle(one, "state", other, err()) == CALDERA_INVALID_ARGUMENT);
    FAILS(CALDERA_INVALID_ARGUMENT, "buffer is NULL", caldera_bind_handle(one, "state", NULL, err()));
    OK(caldera_bind_handle(one, "state", buffer, err()));
    OK(caldera_bind_handle(two, "state", buffer, err()));
    OK(caldera_bind_output(one, "next", buffer, err())); /* in place */
    caldera_buffer_free(other);
    OK(caldera_run(one, &x, 1, NULL, 0, err()));
    OK(caldera_run(one, &x, 1, NULL, 0, err()));
    OK(caldera_run(two, &x, 1, NULL, 0, err()));
    OK(caldera_buffer_read(buffer, 0, got, sizeof got, err()));
    CHECK(got[0] == 2 && got[7] == 2);
    OK(caldera_read_output(two, "next", got, sizeof got, err()));
    CHECK(got[0] == 3 && got[7] == 3);
    OK(caldera_bind_output(one, "next", NULL, err()));
    CHECK(caldera_bind_output(one, "no", buffer, err()) == CALDERA_INVALID_ARGUMENT);
    caldera_buffer_free(buffer); /* the executables keep it */
    OK(caldera_run(one, &x, 1, NULL, 0, err()));
    OK(caldera_read_handle(one, "state", 0, got, sizeof got, err()));
    CHECK(got[0] == 2);
    OK(caldera_unbind_handle(one, "state", err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "\"state\"", caldera_run(one, &x, 1, NULL, 0, err()));
    caldera_executable_free(one);
    caldera_executable_free(two);
}

static void rows(caldera_device *device) {
    caldera_executable *executable = counter(device);
    const float xs[8] = {1, 2, 3, 4, 5, 6, 7, 8}, zeros[8] = {0};
    caldera_run_input x = {"x", xs, sizeof xs};
    float got[8];
    OK(caldera_bind_handle_data(executable, "state", zeros, sizeof zeros, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "\"no\"", caldera_register_row_feed(executable, "state", "no", err()));
    OK(caldera_register_row_feed(executable, "state", "twice", err()));
    CHECK(caldera_feed_row(executable, 0, 0, 2, err()) == CALDERA_INVALID_ARGUMENT); /* before the first run */
    OK(caldera_run(executable, &x, 1, NULL, 0, err()));
    OK(caldera_feed_row(executable, 1, 3, 2, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "4", caldera_feed_row(executable, 4, 0, 2, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "4", caldera_feed_row(executable, 0, 4, 2, err()));
    OK(caldera_read_handle(executable, "state", 0, got, sizeof got, err()));
    CHECK(got[0] == 0 && got[5] == 0 && got[6] == 6 && got[7] == 8);
    OK(caldera_set_active_extent(executable, 2, 4, err()));
    CHECK(caldera_set_active_extent(executable, 6, 4, err()) == CALDERA_INVALID_ARGUMENT);
    OK(caldera_set_active_extent(executable, 4, 4, err()));
    caldera_executable_free(executable);
}

/* A buffer that two outputs would be written to, however they come there. */
static void one_writer(caldera_device *device) {
    const int64_t dims[] = {4, 2};
    const char *both = "outputs \"next\" and \"twice\" would be written to one buffer";
    caldera_executable *executable = counter(device);
    caldera_run_input x = {"x", ONES, sizeof ONES};
    caldera_buffer *buffer = NULL, *other = NULL;
    float got[8];
    OK(caldera_buffer_new(device, CALDERA_F32, dims, 2, &buffer, err()));
    OK(caldera_buffer_new(device, CALDERA_F32, dims, 2, &other, err()));
    OK(caldera_bind_output(executable, "next", buffer, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, both, caldera_bind_output(executable, "twice", buffer, err()));
    OK(caldera_bind_output(executable, "next", buffer, err())); /* again: it is its own */
    OK(caldera_bind_handle(executable, "state", buffer, err())); /* in place */
    FAILS(CALDERA_INVALID_ARGUMENT, both, caldera_set_handle_feed(executable, "state", "twice", err()));
    OK(caldera_set_handle_feed(executable, "state", "next", err())); /* the same output twice */
    OK(caldera_run(executable, &x, 1, NULL, 0, err()));
    OK(caldera_run(executable, &x, 1, NULL, 0, err()));
    OK(caldera_buffer_read(buffer, 0, got, sizeof got, err()));
    CHECK(got[0] == 2 && got[7] == 2);
    OK(caldera_bind_handle(executable, "state", other, err()));
    OK(caldera_bind_output(executable, "next", NULL, err()));
    OK(caldera_bind_output(executable, "twice", buffer, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "\"twice\" and \"next\"", caldera_bind_handle(executable, "state", buffer, err()));
    OK(caldera_run(executable, &x, 1, NULL, 0, err())); /* state is in other still */
    OK(caldera_buffer_read(other, 0, got, sizeof got, err()));
    CHECK(got[0] == 1 && got[7] == 1);
    OK(caldera_buffer_read(buffer, 0, got, sizeof got, err()));
    CHECK(got[0] == 2 && got[7] == 2);
    caldera_executable_free(executable);
    caldera_buffer_free(buffer);
    caldera_buffer_free(other);
}

/* Feeds end: then the handle keeps its value, and can be unbound. */
static void feeds_end(caldera_device *device) {
    caldera_executable *executable = counter(device);
    caldera_run_input x = {"x", ONES, sizeof ONES};
    float got[8];
    FAILS(CALDERA_INVALID_ARGUMENT, "\"no\"", caldera_set_handle_feed(executable, "no", NULL, err()));
    OK(caldera_bind_handle_data(executable, "state", ONES, sizeof ONES, err()));
    OK(caldera_set_handle_feed(executable, "state", NULL, err())); /* nothing to end */
    OK(caldera_set_handle_feed(executable, "state", "next", err()));
    OK(caldera_register_row_feed(executable, "state", "twice", err()));
    OK(caldera_run(executable, &x, 1, NULL, 0, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "end that first", caldera_unbind_handle(executable, "state", err()));
    OK(caldera_set_handle_feed(executable, "state", NULL, err()));
    OK(caldera_run(executable, &x, 1, NULL, 0, err()));
    OK(caldera_read_handle(executable, "state", 0, got, sizeof got, err()));
    CHECK(got[0] == 2 && got[7] == 2);
    FAILS(CALDERA_INVALID_ARGUMENT, "end that first", caldera_unbind_handle(executable, "state", err()));
    OK(caldera_register_row_feed(executable, "state", NULL, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "no row feed", caldera_feed_row(executable, 0, 0, 2, err()));
    OK(caldera_set_handle_feed(executable, "state", "twice", err())); /* another output */
    OK(caldera_run(executable, &x, 1, NULL, 0, err()));
    OK(caldera_read_handle(executable, "state", 0, got, sizeof got, err()));
    CHECK(got[0] == 6 && got[7] == 6);
    OK(caldera_set_handle_feed(executable, "state", NULL, err()));
    OK(caldera_unbind_handle(executable, "state", err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "\"state\"", caldera_run(executable, &x, 1, NULL, 0, err()));
    caldera_executable_free(executable);
}

static void random_numbers(caldera_device *device) {
    const int64_t dims[] = {5};
    caldera_graph *graph = NULL;
    caldera_executable *executable = NULL;
    caldera_value r;
    float a[5], b[5], c[5];
    caldera_run_output out = {"r", a, sizeof a};
    OK(caldera_graph_new(&graph, err()));
    OK(caldera_rng_uniform(graph, CALDERA_NO_VALUE, CALDERA_F32, dims, 1, 0, 1, 0, &r, err()));
    OK(caldera_graph_output(graph, "r", r, err()));
    OK(caldera_compile(device, graph, NULL, &executable, err()));
    caldera_graph_free(graph);
    OK(caldera_run(executable, NULL, 0, &out, 1, err()));
    out.data = b;
    OK(caldera_run(executable, NULL, 0, &out, 1, err()));
    CHECK(memcmp(a, b, sizeof a) != 0);
    OK(caldera_set_rng(executable, 0, 0, err()));
    out.data = c;
    OK(caldera_run(executable, NULL, 0, &out, 1, err()));
    CHECK(memcmp(a, c, sizeof a) == 0);
    OK(caldera_set_rng(executable, 0, 1, err()));
    OK(caldera_run(executable, NULL, 0, &out, 1, err()));
    CHECK(memcmp(b, c, sizeof a) == 0);
    OK(caldera_set_rng(executable, UINT64_MAX, 0, err()));
    OK(caldera_run(executable, NULL, 0, &out, 1, err()));
    CHECK(memcmp(a, c, sizeof a) != 0);
    caldera_executable_free(executable);
}

int main(void) {
    caldera_device *device = open_device();
    buffers(device);
    feeds(device);
    shared_buffer(device);
    rows(device);
    one_writer(device);
    feeds_end(device);
    random_numbers(device);
    caldera_device_free(device);
    return finish();
}
