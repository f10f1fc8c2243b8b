/* Threads: one device and one set of weights for many; an exclusive call at the same time on one object is refused, not raced. */
#include "harness.h"

#include <pthread.h>

enum { THREADS = 4, RUNS = 25, N = 64 };

static caldera_device *device;
static caldera_graph *graph;
static caldera_weights *weights;
static float W[N * N], X[N];

typedef struct job {
    pthread_t thread;
    caldera_executable *executable;
    int wrong, busy, done;
    float got[N];
} job;

static int run_once(job *j, caldera_executable *executable) {
    caldera_run_input x = {"x", X, sizeof X};
    caldera_run_output y = {"y", j->got, sizeof j->got};
    const caldera_status status = caldera_run(executable, &x, 1, &y, 1, NULL);
    if (status == CALDERA_BUSY) return 0;
    if (status != CALDERA_OK || j->got[0] != (float)N || j->got[N - 1] != (float)N) j->wrong++;
    return 1;
}

#ifdef __cplusplus
extern "C" {
#endif
/* Compiles its own executable and runs it. */
static void *alone(void *pointer) {
    job *j = (job *)pointer;
    caldera_compile_options options = CALDERA_COMPILE_OPTIONS_INIT;
    int i;
    options.weights = weights;
    if (caldera_compile(device, graph, &options, &j->executable, NULL) != CALDERA_OK) {
        j->wrong++;
        return NULL;
    }
    for (i = 0; i < RUNS; i++) j->done += run_once(j, j->executable);
    caldera_executable_free(j->executable);
    return NULL;
}

/* Calls that come while others submit and wait: refused, or over at once. What they answer does not matter here. */
static void *disturb(void *pointer) {
    job *j = (job *)pointer;
    uint32_t over;
    caldera_executable *twin;
    int i;
    for (i = 0; i < 20 * RUNS; i++) {
        twin = NULL;
        (void)caldera_poll(j->executable, &over, NULL);
        (void)caldera_set_rng(j->executable, 0, 0, NULL);
        (void)caldera_read_output(j->executable, "y", j->got, sizeof j->got, NULL);
        if (i % RUNS == 0) (void)caldera_clone(j->executable, &twin, NULL);
        caldera_executable_free(twin);
    }
    return NULL;
}

/* Submits, and then waits until the run is over: nobody else waits, so that is never BUSY. */
static void *submit_and_wait(void *pointer) {
    job *j = (job *)pointer;
    caldera_run_input x = {"x", X, sizeof X};
    int i, k;
    for (i = 0; i < RUNS; i++) {
        for (k = 0; caldera_submit(j->executable, &x, 1, NULL) != CALDERA_OK; k++) {
            if (k > 1000000) {
                j->wrong++;
                return NULL;
            }
        }
        if (caldera_wait(j->executable, UINT64_MAX, NULL) != CALDERA_OK) j->wrong++;
        j->done++;
    }
    return NULL;
}

/* Everybody waits for one run: who is not BUSY sees it over. */
static void *wait_only(void *pointer) {
    job *j = (job *)pointer;
    const caldera_status status = caldera_wait(j->executable, UINT64_MAX, NULL);
    if (status == CALDERA_BUSY) j->busy++;
    else if (status == CALDERA_OK) j->done++;
    else j->wrong++;
    return NULL;
}

/* Runs one executable that the other threads run too. */
static void *together(void *pointer) {
    job *j = (job *)pointer;
    int i;
    for (i = 0; i < RUNS; i++) {
        if (run_once(j, j->executable)) j->done++;
        else j->busy++;
    }
    return NULL;
}
#ifdef __cplusplus
}
#endif

/* One thread does `first`, the others `work`. */
static int spread(void *(*first)(void *), void *(*work)(void *), caldera_executable *executable, int *busy) {
    static job jobs[THREADS];
    int i, done = 0;
    for (i = 0; i < THREADS; i++) {
        memset(&jobs[i], 0, sizeof jobs[i]);
        jobs[i].executable = executable;
        CHECK(pthread_create(&jobs[i].thread, NULL, i == 0 ? first : work, &jobs[i]) == 0);
    }
    *busy = 0;
    for (i = 0; i < THREADS; i++) {
        CHECK(pthread_join(jobs[i].thread, NULL) == 0);
        CHECK(jobs[i].wrong == 0);
        done += jobs[i].done;
        *busy += jobs[i].busy;
    }
    return done;
}

int main(void) {
    const int64_t x_dims[] = {N}, w_dims[] = {N, N};
    caldera_value x, w, y;
    caldera_executable *executable = NULL;
    caldera_compile_options options = CALDERA_COMPILE_OPTIONS_INIT;
    int i, busy = 0, done;
    for (i = 0; i < N * N; i++) W[i] = 1;
    for (i = 0; i < N; i++) X[i] = 1;
    device = open_device();
    OK(caldera_graph_new(&graph, err()));
    x = input_f32(graph, "x", x_dims, 1);
    OK(caldera_graph_param(graph, "w", CALDERA_F32, w_dims, 2, &w, err()));
    OK(caldera_matmul(graph, x, w, 0, 0, &y, err()));
    OK(caldera_graph_output(graph, "y", y, err()));
    OK(caldera_weights_new(device, &weights, err()));
    OK(caldera_weights_set(weights, "w", CALDERA_F32, w_dims, 2, W, sizeof W, err()));

    CHECK(spread(alone, alone, NULL, &busy) == THREADS * RUNS && busy == 0);
    options.weights = weights;
    OK(caldera_compile(device, graph, &options, &executable, err()));
    done = spread(together, together, executable, &busy);
    CHECK(done >= 1 && done + busy == THREADS * RUNS);
    CHECK(spread(submit_and_wait, disturb, executable, &busy) == RUNS);
    for (i = 0; i < RUNS; i++) {
        caldera_run_input in = {"x", X, sizeof X};
        OK(caldera_submit(executable, &in, 1, err()));
        done = spread(wait_only, wait_only, executable, &busy);
        CHECK(done >= 1 && done + busy == THREADS);
    }
    caldera_executable_free(executable);
    caldera_weights_free(weights);
    caldera_graph_free(graph);
    caldera_device_free(device);
    return finish();
}
