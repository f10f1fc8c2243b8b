/*
 * What every C test uses. The tests are valid C99, C11 and C++17: ctest builds and runs them as all three, on the devices that
 * CALDERA_TEST_DEVICE names: "software" (a software Vulkan driver, with validation layers, which must stay silent), "cpu", or any other.
 */
#ifndef HARNESS_H
#define HARNESS_H

#include <caldera.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))

typedef struct harness {
    int failures;
    int checks;
    int validation_lines;
} harness;

static harness test_state;

static inline void check(int good, const char *what, const char *file, int line) {
    test_state.checks++;
    if (!good) {
        test_state.failures++;
        fprintf(stderr, "%s:%d: %s\n", file, line, what);
    }
}

#define CHECK(condition) check((condition) ? 1 : 0, #condition, __FILE__, __LINE__)

/* The place for the error of the next call of OK or FAILS. */
static caldera_error *error_slot;

static inline caldera_error **err(void) {
    caldera_error_free(error_slot);
    error_slot = NULL;
    return &error_slot;
}

static inline void check_ok(caldera_status status, const char *what, const char *file, int line) {
    check(status == CALDERA_OK, what, file, line);
    if (status != CALDERA_OK) fprintf(stderr, "    %s: %s\n", caldera_status_name((int32_t)status), caldera_error_message(error_slot));
    else check(error_slot == NULL, "no error object where nothing failed", file, line);
}

/* The call must fail with this status and a message that holds this text. */
static inline void check_fails(caldera_status wanted, const char *text, caldera_status status, const char *what, const char *file, int line) {
    check(status == wanted, what, file, line);
    if (status != wanted) fprintf(stderr, "    got %s, not %s\n", caldera_status_name((int32_t)status), caldera_status_name((int32_t)wanted));
    if (status == CALDERA_OK) return;
    check(caldera_error_status(error_slot) == status, "the error's status", file, line);
    if (strstr(caldera_error_message(error_slot), text) == NULL) {
        check(0, what, file, line);
        fprintf(stderr, "    \"%s\" lacks \"%s\"\n", caldera_error_message(error_slot), text);
    }
}

/* Calls whose last argument is err(). */
#define OK(call) check_ok((call), #call, __FILE__, __LINE__)
#define FAILS(status, text, call) check_fails((status), (text), (call), #call, __FILE__, __LINE__)

#ifdef __cplusplus
extern "C" {
#endif
static void on_log(caldera_log_level level, const char *text, void *user) {
    const char *marks[] = {"VUID-", "SYNC-HAZARD", "UNASSIGNED-", "Validation Error", "Validation Warning"};
    harness *state = (harness *)user;
    uint32_t i;
    (void)level;
    for (i = 0; i < COUNT(marks); i++) {
        if (strstr(text, marks[i]) != NULL) {
            if (state->validation_lines++ < 5) fprintf(stderr, "validation: %s\n", text);
            return;
        }
    }
}
#ifdef __cplusplus
}
#endif

static inline const char *device_name(void) {
    const char *name = getenv("CALDERA_TEST_DEVICE");
    return name != NULL ? name : "software";
}

static inline int on_cpu(void) { return strcmp(device_name(), "cpu") == 0; }

/* Opens the device of this test run. Without it nothing can be tested: the program ends then. */
static inline caldera_device *open_device(void) {
    caldera_device_options options = CALDERA_DEVICE_OPTIONS_INIT;
    caldera_device *device = NULL;
    caldera_set_log_callback(on_log, &test_state);
    options.select = device_name();
    options.validation = on_cpu() ? 0 : 1;
    OK(caldera_device_open(&options, &device, err()));
    if (device == NULL) exit(1);
    return device;
}

/* The exit code of the program. */
static inline int finish(void) {
    caldera_error_free(error_slot);
    error_slot = NULL;
    caldera_set_log_callback(NULL, NULL);
    CHECK(test_state.validation_lines == 0);
    printf("%d checks, %d failed\n", test_state.checks, test_state.failures);
    return test_state.failures == 0 && test_state.checks > 0 ? 0 : 1;
}

static inline int near_float(float got, float want) {
    if (isnan(want)) return isnan(got);
    if (isinf(want)) return got == want;
    return fabsf(got - want) <= 1e-5f * (1.0f + fabsf(want));
}

static inline caldera_value input_f32(caldera_graph *graph, const char *name, const int64_t *dims, uint32_t rank) {
    caldera_value value = CALDERA_NO_VALUE;
    OK(caldera_graph_input(graph, name, CALDERA_F32, dims, NULL, rank, &value, err()));
    return value;
}

static inline caldera_value constant(caldera_graph *graph, uint32_t type, const int64_t *dims, uint32_t rank, const void *data, size_t size) {
    caldera_value value = CALDERA_NO_VALUE;
    OK(caldera_graph_constant(graph, type, dims, rank, data, size, &value, err()));
    return value;
}

#endif
