/* Building graphs: leaves, names, types, symbolic dimensions, printing, nodes by name. */
#include "harness.h"

static void leaves(caldera_graph *graph) {
    const int64_t dims[] = {2, 3}, negative[] = {2, -3}, symbolic[] = {-1, 3}, huge[] = {INT64_C(1) << 62, 8};
    const int64_t nine[] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    const char *names[] = {"rows", NULL};
    const float data[6] = {0};
    caldera_value value = 1234;
    uint32_t type = 0, rank = 8;
    int64_t got[8];

    FAILS(CALDERA_INVALID_ARGUMENT, "name is NULL", caldera_graph_input(graph, NULL, CALDERA_F32, dims, NULL, 2, &value, err()));
    FAILS(CALDERA_INVALID_GRAPH, "name", caldera_graph_input(graph, "", CALDERA_F32, dims, NULL, 2, &value, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "not UTF-8", caldera_graph_input(graph, "\xff", CALDERA_F32, dims, NULL, 2, &value, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "999", caldera_graph_input(graph, "x", 999, dims, NULL, 2, &value, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "dims is NULL", caldera_graph_input(graph, "x", CALDERA_F32, NULL, NULL, 2, &value, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "-3", caldera_graph_input(graph, "x", CALDERA_F32, negative, NULL, 2, &value, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "dim_names is NULL", caldera_graph_input(graph, "x", CALDERA_F32, symbolic, NULL, 2, &value, err()));
    FAILS(CALDERA_INVALID_GRAPH, "", caldera_graph_input(graph, "x", CALDERA_F32, nine, NULL, 9, &value, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "value is NULL", caldera_graph_input(graph, "x", CALDERA_F32, dims, NULL, 2, NULL, err()));
    CHECK(value == 1234); /* nothing is written by a call that fails */
    CHECK(caldera_graph_input(graph, "x", CALDERA_F32, huge, NULL, 2, &value, err()) != CALDERA_OK);

    OK(caldera_graph_input(graph, "x", CALDERA_F32, symbolic, names, 2, &value, err()));
    FAILS(CALDERA_INVALID_GRAPH, "\"x\"", caldera_graph_input(graph, "x", CALDERA_F32, dims, NULL, 2, &value, err()));
    FAILS(CALDERA_INVALID_GRAPH, "rows", caldera_graph_value_type(graph, value, &type, got, &rank, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "columns", caldera_graph_bind_dim(graph, "columns", 4, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "-4", caldera_graph_bind_dim(graph, "rows", -4, err()));
    OK(caldera_graph_bind_dim(graph, "rows", 4, err()));
    OK(caldera_graph_value_type(graph, value, &type, got, &rank, err()));
    CHECK(type == CALDERA_F32 && rank == 2 && got[0] == 4 && got[1] == 3);
    rank = 1;
    FAILS(CALDERA_INVALID_ARGUMENT, "room for 1", caldera_graph_value_type(graph, value, &type, got, &rank, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "rank is NULL", caldera_graph_value_type(graph, value, &type, got, NULL, err()));
    OK(caldera_graph_value_type(graph, value, NULL, NULL, &rank, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "4000", caldera_graph_value_type(graph, 4000, &type, got, &rank, err()));

    OK(caldera_graph_param(graph, "w", CALDERA_F16, dims, 2, &value, err()));
    FAILS(CALDERA_INVALID_GRAPH, "\"w\"", caldera_graph_param(graph, "w", CALDERA_F16, dims, 2, &value, err()));
    FAILS(CALDERA_INVALID_GRAPH, "", caldera_graph_param(graph, "packed", CALDERA_Q4_K, dims, 2, &value, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "24", caldera_graph_constant(graph, CALDERA_F32, dims, 2, data, 20, &value, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "data is NULL", caldera_graph_constant(graph, CALDERA_F32, dims, 2, NULL, 24, &value, err()));
    OK(caldera_graph_constant(graph, CALDERA_F32, dims, 2, data, sizeof data, &value, err()));
    OK(caldera_graph_constant(graph, CALDERA_F32, NULL, 0, data, 4, &value, err())); /* a scalar */
    FAILS(CALDERA_INVALID_ARGUMENT, "not from a file", caldera_graph_bind_input(graph, "x", CALDERA_F32, dims, 2, data, sizeof data, err()));
}

static void nodes(void) {
    const int64_t dims[] = {2, 3};
    caldera_graph *graph = NULL;
    caldera_value a, b, outs[2];
    caldera_attribute attributes[2];
    size_t count = 1, size = 0, room;
    char *text;
    OK(caldera_graph_new(&graph, err()));
    a = input_f32(graph, "a", dims, 2);
    b = input_f32(graph, "b", dims, 1);
    memset(attributes, 0, sizeof attributes);
    attributes[0].name = "axis";
    attributes[0].kind = CALDERA_ATTRIBUTE_INT;
    attributes[0].i = -1;
    OK(caldera_graph_node(graph, "Softmax", "probabilities", &a, 1, attributes, 1, outs, &count, err()));
    CHECK(count == 1);
    OK(caldera_graph_output(graph, "y", outs[0], err()));
    FAILS(CALDERA_INVALID_GRAPH, "\"y\"", caldera_graph_output(graph, "y", outs[0], err()));
    FAILS(CALDERA_INVALID_GRAPH, "name", caldera_graph_output(graph, "", outs[0], err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "5000", caldera_graph_output(graph, "z", 5000, err()));
    OK(caldera_graph_set_name(graph, outs[0], "better", err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "not the result", caldera_graph_set_name(graph, a, "better", err()));

    FAILS(CALDERA_UNSUPPORTED, "NoSuchThing", caldera_graph_node(graph, "NoSuchThing", NULL, &a, 1, NULL, 0, outs, &count, err()));
    FAILS(CALDERA_INVALID_GRAPH, "\"axis\" is missing", caldera_graph_node(graph, "Softmax", NULL, &a, 1, NULL, 0, outs, &count, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "attributes is NULL", caldera_graph_node(graph, "Softmax", NULL, &a, 1, NULL, 1, outs, &count, err()));
    attributes[1] = attributes[0];
    FAILS(CALDERA_INVALID_ARGUMENT, "twice", caldera_graph_node(graph, "Softmax", NULL, &a, 1, attributes, 2, outs, &count, err()));
    attributes[1].name = "eps";
    FAILS(CALDERA_INVALID_GRAPH, "eps", caldera_graph_node(graph, "Softmax", NULL, &a, 1, attributes, 2, outs, &count, err()));
    attributes[1].kind = 99;
    FAILS(CALDERA_INVALID_ARGUMENT, "kind 99", caldera_graph_node(graph, "Softmax", NULL, &a, 1, attributes, 2, outs, &count, err()));
    count = 0;
    FAILS(CALDERA_INVALID_ARGUMENT, "room for 0", caldera_graph_node(graph, "Softmax", NULL, &a, 1, attributes, 1, outs, &count, err()));
    OK(caldera_graph_node(graph, "Softmax", NULL, &a, 1, attributes, 1, NULL, &count, err())); /* adds nothing: says what room is needed */
    CHECK(count == 1);
    attributes[0].i = 2;
    FAILS(CALDERA_INVALID_GRAPH, "axis 2", caldera_graph_node(graph, "Softmax", NULL, &a, 1, attributes, 1, outs, &count, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "n_outputs is NULL", caldera_graph_node(graph, "Softmax", NULL, &a, 1, attributes, 1, outs, NULL, err()));

    /* Builders name the operator, and what does not fit. */
    FAILS(CALDERA_INVALID_GRAPH, "Add", caldera_add(graph, a, b, &outs[0], err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "value 77", caldera_add(graph, a, 77, &outs[0], err()));
    FAILS(CALDERA_INVALID_GRAPH, "Add", caldera_add(graph, a, CALDERA_NO_VALUE, &outs[0], err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "out is NULL", caldera_add(graph, a, a, NULL, err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "99", caldera_reduce(graph, a, 99, NULL, 0, 0, &outs[0], err()));
    FAILS(CALDERA_INVALID_GRAPH, "kind", caldera_reduce(graph, a, 0, NULL, 0, 0, &outs[0], err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "perm", caldera_transpose(graph, a, NULL, 2, &outs[0], err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "options is NULL", caldera_attention(graph, a, a, a, a, a, a, NULL, &outs[0], err()));

    OK(caldera_graph_print(graph, CALDERA_PRINT_TEXT, NULL, &size, err()));
    text = (char *)malloc(size);
    room = size;
    OK(caldera_graph_print(graph, CALDERA_PRINT_TEXT, text, &room, err()));
    CHECK(strlen(text) + 1 == size && strstr(text, "better") != NULL && strstr(text, "Softmax") != NULL);
    free(text);
    OK(caldera_graph_print(graph, CALDERA_PRINT_DOT, NULL, &size, err()));
    text = (char *)malloc(size);
    OK(caldera_graph_print(graph, CALDERA_PRINT_DOT, text, &size, err()));
    CHECK(strstr(text, "digraph") != NULL);
    free(text);
    FAILS(CALDERA_INVALID_ARGUMENT, "format 7", caldera_graph_print(graph, 7, NULL, &size, err()));
    caldera_graph_free(graph);
}

/* An attribute of each kind. */
static void attribute_kinds(void) {
    const int64_t dims[] = {2, 3}, perm[] = {1, 0}, start = 1, limit = 7, delta = 3;
    const double scales[] = {1, 2};
    caldera_graph *graph = NULL;
    caldera_attribute a[3];
    caldera_value x, y = 0;
    size_t one = 1;
    uint32_t type = 0, rank = 8, i;
    int64_t got[8];
    OK(caldera_graph_new(&graph, err()));
    x = input_f32(graph, "x", dims, 2);
    memset(a, 0, sizeof a);
    a[0].name = "to";
    a[0].kind = CALDERA_ATTRIBUTE_TEXT;
    a[0].s = "f16";
    OK(caldera_graph_node(graph, "Cast", NULL, &x, 1, a, 1, &y, &one, err()));
    OK(caldera_graph_value_type(graph, y, &type, NULL, &rank, err()));
    CHECK(type == CALDERA_F16);
    a[0].s = "f17";
    FAILS(CALDERA_INVALID_GRAPH, "f17", caldera_graph_node(graph, "Cast", NULL, &x, 1, a, 1, &y, &one, err()));
    a[0].s = NULL;
    FAILS(CALDERA_INVALID_ARGUMENT, "s is NULL", caldera_graph_node(graph, "Cast", NULL, &x, 1, a, 1, &y, &one, err()));
    a[0].name = "perm";
    a[0].kind = CALDERA_ATTRIBUTE_INTS;
    a[0].ints = perm;
    a[0].count = 2;
    OK(caldera_graph_node(graph, "Transpose", NULL, &x, 1, a, 1, &y, &one, err()));
    rank = 8;
    OK(caldera_graph_value_type(graph, y, NULL, got, &rank, err()));
    CHECK(rank == 2 && got[0] == 3 && got[1] == 2);
    a[0].ints = NULL;
    FAILS(CALDERA_INVALID_ARGUMENT, "ints is NULL", caldera_graph_node(graph, "Transpose", NULL, &x, 1, a, 1, &y, &one, err()));
    a[0].name = "alpha";
    a[0].kind = CALDERA_ATTRIBUTE_FLOAT;
    a[0].f = 0.5;
    OK(caldera_graph_node(graph, "LeakyRelu", NULL, &x, 1, a, 1, &y, &one, err()));
    /* An empty list may lie anywhere. */
    OK(caldera_graph_node(graph, "Neg", NULL, &x, 1, (const caldera_attribute *)(uintptr_t)0xAAAAAAA9u, 0, &y, &one, err()));
    a[0].name = "scales";
    a[0].kind = CALDERA_ATTRIBUTE_FLOATS;
    a[0].floats = scales;
    a[1].name = "mode";
    a[1].kind = CALDERA_ATTRIBUTE_TEXT;
    a[1].s = "Nearest";
    OK(caldera_graph_node(graph, "Resize", NULL, &x, 1, a, 2, &y, &one, err()));
    rank = 8;
    OK(caldera_graph_value_type(graph, y, NULL, got, &rank, err()));
    CHECK(got[0] == 2 && got[1] == 6);
    memset(a, 0, sizeof a);
    for (i = 0; i < 3; i++) {
        a[i].kind = CALDERA_ATTRIBUTE_TENSOR;
        a[i].i = CALDERA_I64;
        a[i].count = 8;
    }
    a[0].name = "start";
    a[0].data = &start;
    a[1].name = "limit";
    a[1].data = &limit;
    a[2].name = "delta";
    a[2].data = &delta;
    OK(caldera_graph_node(graph, "Range", NULL, NULL, 0, a, 3, &y, &one, err()));
    rank = 8;
    OK(caldera_graph_value_type(graph, y, &type, got, &rank, err()));
    CHECK(type == CALDERA_I64 && rank == 1 && got[0] == 2);
    a[2].count = 4;
    FAILS(CALDERA_INVALID_ARGUMENT, "delta", caldera_graph_node(graph, "Range", NULL, NULL, 0, a, 3, &y, &one, err()));
    caldera_graph_free(graph);
}

int main(void) {
    caldera_graph *graph = NULL;
    OK(caldera_graph_new(&graph, err()));
    leaves(graph);
    caldera_graph_free(graph);
    nodes();
    attribute_kinds();
    return finish();
}
