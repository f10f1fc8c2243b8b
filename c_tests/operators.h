/* A graph under test: inputs with their data, results with what they must be. */
#ifndef OPERATORS_H
#define OPERATORS_H

#include "harness.h"

#include <stdarg.h>

enum { MOST = 160, LONGEST = 64 };

typedef struct suite {
    caldera_graph *graph;
    uint32_t inputs, outputs;
    caldera_run_input given[MOST];
    char names[2 * MOST][8];
    double want[MOST][LONGEST];
    uint32_t counts[MOST];
    int lines[MOST];
} suite;

static suite the_suite;

static inline caldera_graph *graph(void) { return the_suite.graph; }

static inline void begin(void) {
    memset(&the_suite, 0, sizeof the_suite);
    OK(caldera_graph_new(&the_suite.graph, err()));
}

static inline size_t element_bytes(uint32_t type) {
    switch (type) {
    case CALDERA_F64: case CALDERA_I64: case CALDERA_U64: case CALDERA_C64: return 8;
    case CALDERA_F32: case CALDERA_I32: case CALDERA_U32: return 4;
    case CALDERA_F16: case CALDERA_BF16: case CALDERA_I16: case CALDERA_U16: return 2;
    default: return 1;
    }
}

/* An input of a type, with its data (which must live until `run_suite`), its rank, and its dimensions as int. */
static inline caldera_value given(uint32_t type, const void *data, int rank, ...) {
    suite *s = &the_suite;
    int64_t dims[8];
    size_t size = element_bytes(type);
    caldera_value value = CALDERA_NO_VALUE;
    va_list list;
    int i;
    va_start(list, rank);
    for (i = 0; i < rank; i++) {
        dims[i] = va_arg(list, int);
        size *= (size_t)dims[i];
    }
    va_end(list);
    sprintf(s->names[s->inputs], "x%u", s->inputs);
    OK(caldera_graph_input(s->graph, s->names[s->inputs], type, dims, NULL, (uint32_t)rank, &value, err()));
    s->given[s->inputs].name = s->names[s->inputs];
    s->given[s->inputs].data = data;
    s->given[s->inputs].size = size;
    s->inputs++;
    return value;
}

static inline void expect(caldera_value value, const double *want, uint32_t count, int line) {
    suite *s = &the_suite;
    char *name = s->names[MOST + s->outputs];
    sprintf(name, "y%u", s->outputs);
    check(caldera_graph_output(s->graph, name, value, err()) == CALDERA_OK, "marking an output", __FILE__, line);
    memcpy(s->want[s->outputs], want, count * sizeof want[0]);
    s->counts[s->outputs] = count;
    s->lines[s->outputs] = line;
    s->outputs++;
}

/* The value must hold these numbers. */
#define EXPECT(value, ...)                              \
    do {                                                \
        const double want_[] = {__VA_ARGS__};           \
        expect((value), want_, COUNT(want_), __LINE__); \
    } while (0)

static inline double element(uint32_t type, const void *data, uint32_t i) {
    switch (type) {
    case CALDERA_F32: case CALDERA_C64: return ((const float *)data)[i];
    case CALDERA_F64: return ((const double *)data)[i];
    case CALDERA_I32: return ((const int32_t *)data)[i];
    case CALDERA_U32: return ((const uint32_t *)data)[i];
    case CALDERA_I64: return (double)((const int64_t *)data)[i];
    case CALDERA_I8: return ((const int8_t *)data)[i];
    default: return ((const uint8_t *)data)[i];
    }
}

static inline int near_double(double got, double want) {
    if (isnan(want)) return isnan(got);
    if (isinf(want)) return got == want;
    return fabs(got - want) <= 2e-5 * (1.0 + fabs(want));
}

/* Compiles the graph, runs it once, and compares every result. */
static inline void run_suite(caldera_device *device, const char *file) {
    suite *s = &the_suite;
    caldera_executable *executable = NULL;
    caldera_port_info infos[MOST];
    size_t count = MOST;
    uint32_t i, k;
    OK(caldera_compile(device, s->graph, NULL, &executable, err()));
    caldera_graph_free(s->graph);
    if (executable == NULL) return;
    OK(caldera_run(executable, s->given, s->inputs, NULL, 0, err()));
    OK(caldera_executable_outputs(executable, infos, &count, err()));
    CHECK(count == s->outputs);
    for (i = 0; i < s->outputs && i < count; i++) {
        const uint32_t numbers = (uint32_t)(infos[i].bytes / element_bytes(infos[i].type)) * (infos[i].type == CALDERA_C64 ? 2 : 1);
        unsigned char data[8 * LONGEST];
        check(numbers == s->counts[i] && infos[i].bytes <= sizeof data, "the number of elements", file, s->lines[i]);
        if (numbers != s->counts[i]) {
            fprintf(stderr, "    got %u, want %u\n", numbers, s->counts[i]);
            continue;
        }
        OK(caldera_read_output(executable, infos[i].name, data, (size_t)infos[i].bytes, err()));
        for (k = 0; k < numbers; k++) {
            const double got = element(infos[i].type, data, k);
            if (near_double(got, s->want[i][k])) continue;
            check(0, "a result", file, s->lines[i]);
            fprintf(stderr, "    element %u: got %.9g, want %.9g\n", k, got, s->want[i][k]);
            break;
        }
        check(1, "a result", file, s->lines[i]);
    }
    caldera_executable_free(executable);
}

#endif
