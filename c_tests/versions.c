/* Versions, names, errors, the log. */
#include "harness.h"

static int lines;

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
    caldera_set_log_callback(NULL, NULL);
    CHECK(caldera_graph_new(NULL, NULL) == CALDERA_INVALID_ARGUMENT);
    CHECK(lines == 2);
    OK(caldera_graph_new(&graph, err()));
    CHECK(graph != NULL);
    caldera_graph_free(graph);
    return finish();
}
