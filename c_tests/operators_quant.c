/* Builders of operators on packed weights. */
#include "operators.h"

enum { BLOCK = 34 }; /* bytes of a q8_0 block: an f16 scale, 32 signed bytes */

/* A block whose scale is 1 (f16 0x3c00) and whose numbers are first, 0, 0, .. */
static void block(unsigned char *out, int first) {
    memset(out, 0, BLOCK);
    out[1] = 0x3c;
    out[2] = (unsigned char)(signed char)first;
}

static caldera_value packed(caldera_graph *g, const char *name, int64_t experts) {
    const int64_t dims[] = {experts, 2, 32};
    caldera_value value = CALDERA_NO_VALUE;
    OK(caldera_graph_param(g, name, CALDERA_Q8_0, experts > 0 ? dims : dims + 1, experts > 0 ? 3 : 2, &value, err()));
    return value;
}

/* Rows of the two-row matrix by idx [2]: output "rows". */
static caldera_executable *gather(caldera_device *device, const unsigned char *w) {
    const int64_t dims[] = {2};
    caldera_graph *g = NULL;
    caldera_executable *executable = NULL;
    caldera_value idx, out = 0;
    OK(caldera_graph_new(&g, err()));
    OK(caldera_graph_input(g, "idx", CALDERA_I32, dims, NULL, 1, &idx, err()));
    OK(caldera_dequant_gather(g, packed(g, "w", 0), idx, 0, &out, err()));
    OK(caldera_graph_output(g, "rows", out, err()));
    OK(caldera_compile(device, g, NULL, &executable, err()));
    OK(caldera_set_param(executable, "w", CALDERA_Q8_0, w, 2 * BLOCK, err()));
    caldera_graph_free(g);
    return executable;
}

int main(void) {
    static float x[64], y[4], wide[64], stacked[128], grouped[4], affine[2];
    static float rows[64];
    static double rows64[64];
    static const int32_t idx[] = {1, 0};
    static int32_t indices[] = {1, 0};
    static const int8_t q[] = {2, -3};
    static const float scale[] = {0.5f, 2};
    const int64_t x_dims[] = {2, 32}, idx_dims[] = {2}, q_dims[] = {1, 2}, short_dims[] = {1, 1};
    unsigned char w[2 * BLOCK], experts[4 * BLOCK];
    caldera_device *device = open_device();
    caldera_graph *g = NULL;
    caldera_executable *executable = NULL, *rows_only;
    caldera_run_input picked[1] = {{"idx", NULL, 0}};
    caldera_value vx, vw, ve, vi, vs, vq, vscale, out = 0;
    caldera_run_input inputs[3] = {{"x", x, sizeof x}, {"idx", idx, sizeof idx}, {"short", x, 4}};
    caldera_run_output outputs[] = {
        {"y", y, sizeof y}, {"wide", wide, sizeof wide}, {"stacked", stacked, sizeof stacked}, {"grouped", grouped, sizeof grouped},
        {"affine", affine, sizeof affine}, {"rows", rows, sizeof rows}, {"rows64", rows64, sizeof rows64},
    };
    int i;
    for (i = 0; i < 64; i++) x[i] = (float)(i + 1);
    block(w, 3);
    block(w + BLOCK, -4);
    for (i = 0; i < 4; i++) block(experts + i * BLOCK, i + 1);

    OK(caldera_graph_new(&g, err()));
    vx = input_f32(g, "x", x_dims, 2);
    vs = input_f32(g, "short", short_dims, 2);
    OK(caldera_graph_input(g, "idx", CALDERA_I32, idx_dims, NULL, 1, &vi, err()));
    vw = packed(g, "w", 0);
    ve = packed(g, "experts", 2);
    vq = constant(g, CALDERA_I8, q_dims, 2, q, sizeof q);
    vscale = constant(g, CALDERA_F32, q_dims, 2, scale, sizeof scale);
    OK(caldera_dequant_matmul(g, vx, vw, CALDERA_NO_VALUE, CALDERA_NO_VALUE, CALDERA_SCHEME_BLOCK, 0, &out, err()));
    OK(caldera_graph_output(g, "y", out, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "f32", caldera_dequant_matmul(g, vx, vx, CALDERA_NO_VALUE, CALDERA_NO_VALUE, CALDERA_SCHEME_BLOCK, 0, &out, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "99", caldera_dequant_matmul(g, vx, vw, CALDERA_NO_VALUE, CALDERA_NO_VALUE, 99, 0, &out, err()));
    OK(caldera_dequant_matmul(g, vs, vq, vscale, CALDERA_NO_VALUE, CALDERA_SCHEME_INT8_BLOCK, 1, &out, err()));
    OK(caldera_graph_output(g, "affine", out, err()));
    OK(caldera_dequantize(g, vw, 0, 1, &out, err()));
    OK(caldera_graph_output(g, "wide", out, err()));
    OK(caldera_dequant_moe_weights(g, ve, CALDERA_F32, 0, &out, err()));
    OK(caldera_graph_output(g, "stacked", out, err()));
    OK(caldera_dequant_grouped_matmul(g, vx, ve, vi, &out, err()));
    OK(caldera_graph_output(g, "grouped", out, err()));
    OK(caldera_dequant_gather(g, vw, vi, 0, &out, err()));
    OK(caldera_graph_output(g, "rows", out, err()));
    OK(caldera_dequant_gather(g, vw, vi, CALDERA_F64, &out, err()));
    OK(caldera_graph_output(g, "rows64", out, err()));
    FAILS(CALDERA_INVALID_GRAPH, "packed", caldera_dequant_gather(g, vx, vi, 0, &out, err()));
    FAILS(CALDERA_INVALID_GRAPH, "idx", caldera_dequant_gather(g, vw, vx, 0, &out, err()));
    FAILS(CALDERA_INVALID_GRAPH, "i32", caldera_dequant_gather(g, vw, vi, CALDERA_I32, &out, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "999", caldera_dequant_gather(g, vw, vi, 999, &out, err()));
    FAILS(CALDERA_INVALID_GRAPH, "[N,K]", caldera_dequant_gather(g, ve, vi, 0, &out, err()));
    FAILS(CALDERA_INVALID_GRAPH, "takes 2 inputs", caldera_dequant_gather(g, vw, CALDERA_NO_VALUE, 0, &out, err()));
    OK(caldera_compile(device, g, NULL, &executable, err()));
    OK(caldera_set_param(executable, "w", CALDERA_Q8_0, w, sizeof w, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "\"w\"", caldera_set_param(executable, "w", CALDERA_Q8_0, w, sizeof w - 1, err()));
    OK(caldera_set_param(executable, "experts", CALDERA_Q8_0, experts, sizeof experts, err()));
    OK(caldera_run(executable, inputs, 3, outputs, COUNT(outputs), err()));
    CHECK(y[0] == 3 && y[1] == -4 && y[2] == 99 && y[3] == -132);
    CHECK(affine[0] == 1 && affine[1] == -6);
    CHECK(wide[0] == 3 && wide[1] == -4 && wide[2] == 0);
    CHECK(stacked[0] == 1 && stacked[32] == 2 && stacked[96] == 4);
    CHECK(rows[0] == -4 && rows[1] == 0 && rows[32] == 3 && rows64[0] == -4 && rows64[32] == 3);
    indices[0] = -1;
    indices[1] = -2; /* from the end */
    rows[0] = 0;
    rows_only = gather(device, w);
    picked[0].data = indices;
    picked[0].size = sizeof indices;
    OK(caldera_run(rows_only, picked, 1, &outputs[5], 1, err()));
    CHECK(rows[0] == -4 && rows[32] == 3);
    indices[1] = 2;
    FAILS(CALDERA_INDEX_OUT_OF_RANGE, "DequantGather", caldera_run(rows_only, picked, 1, &outputs[5], 1, err()));
    indices[1] = -3;
    FAILS(CALDERA_INDEX_OUT_OF_RANGE, "-3", caldera_run(rows_only, picked, 1, &outputs[5], 1, err()));
    caldera_executable_free(rows_only);
    CHECK(grouped[0] == 3 && grouped[1] == 4 && grouped[2] == 33 && grouped[3] == 66);
    caldera_executable_free(executable);
    caldera_graph_free(g);
    caldera_device_free(device);
    return finish();
}
