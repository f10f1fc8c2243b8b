/* Builders of operators that move data. */
#include "operators.h"

static void shapes(void) {
    static const float x[] = {0, 1, 2, 3, 4, 5};
    static const int64_t flat[] = {-1}, perm[] = {1, 0}, starts[] = {1, -1}, ends[] = {2, -4}, axes[] = {0, 1}, steps[] = {1, -2};
    static const int64_t sizes[] = {1, 2}, wide[] = {2, 2, 3}, twice[] = {1, 2}, pads[] = {0, 1, 0, -1}, last[] = {-1};
    const caldera_value v = given(CALDERA_F32, x, 2, 2, 3);
    caldera_value y = 0, list[2], parts[2] = {0, 0};
    OK(caldera_reshape(graph(), v, flat, 1, &y, err()));
    EXPECT(y, 0, 1, 2, 3, 4, 5);
    OK(caldera_stop_gradient(graph(), v, &y, err()));
    EXPECT(y, 0, 1, 2, 3, 4, 5);
    OK(caldera_bit_cast(graph(), given(CALDERA_F32, x, 1, 2), CALDERA_I32, &y, err()));
    EXPECT(y, 0, 0x3f800000);
    FAILS(CALDERA_INVALID_GRAPH, "width", caldera_bit_cast(graph(), v, CALDERA_I64, &y, err()));
    OK(caldera_transpose(graph(), v, perm, 2, &y, err()));
    EXPECT(y, 0, 3, 1, 4, 2, 5);
    FAILS(CALDERA_INVALID_GRAPH, "perm", caldera_transpose(graph(), v, perm, 1, &y, err()));
    OK(caldera_narrow(graph(), v, 1, 1, 2, &y, err()));
    EXPECT(y, 1, 2, 4, 5);
    FAILS(CALDERA_INVALID_GRAPH, "Narrow", caldera_narrow(graph(), v, 1, -1, 2, &y, err()));
    OK(caldera_slice(graph(), v, starts, ends, axes, steps, 2, &y, err()));
    EXPECT(y, 5, 3);
    OK(caldera_slice(graph(), v, starts, ends, NULL, NULL, 1, &y, err()));
    EXPECT(y, 3, 4, 5);
    list[0] = list[1] = v;
    OK(caldera_concat(graph(), list, 2, 1, &y, err()));
    EXPECT(y, 0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5);
    FAILS(CALDERA_INVALID_ARGUMENT, "NULL", caldera_concat(graph(), NULL, 2, 1, &y, err()));
    OK(caldera_split(graph(), v, 1, sizes, 2, parts, err()));
    EXPECT(parts[0], 0, 3);
    EXPECT(parts[1], 1, 2, 4, 5);
    FAILS(CALDERA_INVALID_ARGUMENT, "outs is NULL", caldera_split(graph(), v, 1, sizes, 2, NULL, err()));
    OK(caldera_expand(graph(), v, wide, 3, &y, err()));
    EXPECT(y, 0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5);
    OK(caldera_tile(graph(), v, twice, 2, &y, err()));
    EXPECT(y, 0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5);
    OK(caldera_pad(graph(), v, pads, 4, CALDERA_PAD_CONSTANT, 9, &y, err()));
    EXPECT(y, 9, 0, 1, 9, 3, 4);
    OK(caldera_pad(graph(), v, pads, 4, CALDERA_PAD_REFLECT, 0, &y, err()));
    EXPECT(y, 1, 0, 1, 4, 3, 4);
    FAILS(CALDERA_INVALID_ARGUMENT, "mode", caldera_pad(graph(), v, pads, 4, 4, 0, &y, err()));
    OK(caldera_reverse(graph(), v, last, 1, &y, err()));
    EXPECT(y, 2, 1, 0, 5, 4, 3);
}

static void indices(void) {
    static const float x[] = {0, 1, 2, 3, 4, 5}, ups[] = {10, 20}, values[] = {-1, 1};
    static const int64_t rows[] = {1, 1, 0}, elements[] = {2, 0}, pairs[] = {1, 2, 0, 1};
    static const int32_t classes[] = {1, 0};
    static const int64_t start = 2, limit = 9, delta = 3;
    const caldera_value v = given(CALDERA_F32, x, 2, 2, 3);
    const caldera_value vr = given(CALDERA_I64, rows, 1, 3), ve = given(CALDERA_I64, elements, 2, 2, 1), vp = given(CALDERA_I64, pairs, 2, 2, 2);
    const caldera_value vu = given(CALDERA_F32, ups, 2, 2, 1), vu1 = given(CALDERA_F32, ups, 1, 2), vc = given(CALDERA_I32, classes, 1, 2);
    const caldera_value vv = given(CALDERA_F32, values, 1, 2);
    caldera_value y = 0;
    OK(caldera_gather(graph(), v, vr, 0, &y, err()));
    EXPECT(y, 3, 4, 5, 3, 4, 5, 0, 1, 2);
    OK(caldera_gather_elements(graph(), v, ve, 1, &y, err()));
    EXPECT(y, 2, 3);
    OK(caldera_gather_nd(graph(), v, vp, 0, &y, err()));
    EXPECT(y, 5, 1);
    OK(caldera_scatter_add(graph(), vu, vc, 3, &y, err()));
    EXPECT(y, 20, 10, 0);
    OK(caldera_scatter_elements(graph(), v, ve, vu, 1, CALDERA_SCATTER_NONE, &y, err()));
    EXPECT(y, 0, 1, 10, 20, 4, 5);
    OK(caldera_scatter_elements(graph(), v, ve, vu, 1, CALDERA_SCATTER_ADD, &y, err()));
    EXPECT(y, 0, 1, 12, 23, 4, 5);
    OK(caldera_scatter_nd(graph(), v, vp, vu1, CALDERA_SCATTER_MUL, &y, err()));
    EXPECT(y, 0, 20, 2, 3, 4, 50);
    FAILS(CALDERA_INVALID_ARGUMENT, "reduction", caldera_scatter_nd(graph(), v, vp, vu1, 5, &y, err()));
    OK(caldera_one_hot(graph(), vc, vv, 3, -1, &y, err()));
    EXPECT(y, -1, 1, -1, 1, -1, -1);
    OK(caldera_trilu(graph(), v, 0, 1, &y, err()));
    EXPECT(y, 0, 1, 2, 0, 4, 5);
    OK(caldera_trilu(graph(), v, 1, 0, &y, err()));
    EXPECT(y, 0, 1, 0, 3, 4, 5);
    OK(caldera_eye_like(graph(), v, 1, 0, &y, err()));
    EXPECT(y, 0, 1, 0, 0, 0, 1);
    OK(caldera_eye_like(graph(), v, 0, CALDERA_I64, &y, err()));
    EXPECT(y, 1, 0, 0, 0, 1, 0);
    OK(caldera_range(graph(), CALDERA_I64, &start, &limit, &delta, &y, err()));
    EXPECT(y, 2, 5, 8);
    FAILS(CALDERA_INVALID_ARGUMENT, "limit", caldera_range(graph(), CALDERA_I64, &start, NULL, &delta, &y, err()));
}

/* A kernel that meets an index outside of its range says so; nothing else happens. */
static void checked(caldera_device *device) {
    static const float x[] = {0, 1, 2};
    int64_t index[] = {-3, 5};
    float y[2] = {7, 7};
    const int64_t three[] = {3}, two[] = {2};
    caldera_graph *g = NULL;
    caldera_executable *executable = NULL;
    caldera_value v, i, out;
    caldera_run_input inputs[2] = {{"x", x, sizeof x}, {"i", index, sizeof index}};
    caldera_run_output output = {"y", y, sizeof y};
    caldera_compile_options options = CALDERA_COMPILE_OPTIONS_INIT;
    OK(caldera_graph_new(&g, err()));
    OK(caldera_graph_input(g, "x", CALDERA_F32, three, NULL, 1, &v, err()));
    OK(caldera_graph_input(g, "i", CALDERA_I64, two, NULL, 1, &i, err()));
    OK(caldera_gather(g, v, i, 0, &out, err()));
    OK(caldera_graph_output(g, "y", out, err()));
    OK(caldera_compile(device, g, NULL, &executable, err()));
    FAILS(CALDERA_INDEX_OUT_OF_RANGE, "index 5 at position 1 is outside 0 to 2", caldera_run(executable, inputs, 2, &output, 1, err()));
    CHECK(y[0] == 7 && y[1] == 7);
    index[1] = 2;
    OK(caldera_run(executable, inputs, 2, &output, 1, err()));
    CHECK(y[0] == 0 && y[1] == 2);
    caldera_executable_free(executable);
    index[1] = 5;
    options.unchecked_indices = 1;
    OK(caldera_compile(device, g, &options, &executable, err()));
    OK(caldera_run(executable, inputs, 2, &output, 1, err()));
    CHECK(y[0] == 0 && y[1] == 2); /* clamped */
    caldera_executable_free(executable);
    caldera_graph_free(g);
}

int main(void) {
    caldera_device *device = open_device();
    begin();
    shapes();
    indices();
    run_suite(device, __FILE__);
    checked(device);
    caldera_device_free(device);
    return finish();
}
