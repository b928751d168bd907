/* rules_region.c - GPU regions: their device time against that of others, and what they do to the
 * program. What a region has been given is read from the image in memory. */
#include "rules.h"

#include <rankclock/rankclock.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define RKC_CUDA_TYPES
#include "collect.h"
#include "gpu/timed.h"
#include "runtime.h"

static const uint64_t MS = 1000000;

/* --- what the image has ---------------------------------------------------------------------- */

struct found {
    int64_t visits, ns, coarse, lag_visits, lag_ns, reasons[RKC_GPU_REASONS];
    int64_t covered_ns; /* of the device, by all regions */
};

static void add(struct found *found, const struct rkc_timed *timed)
{
    found->visits += (int64_t)timed->visits;
    found->ns += (int64_t)timed->ns;
    found->coarse += (int64_t)timed->coarse;
    found->lag_visits += (int64_t)timed->lag_visits;
    found->lag_ns += (int64_t)timed->lag_ns;
    for (int i = 0; i < RKC_GPU_REASONS; i++)
        found->reasons[i] += (int64_t)timed->unavailable[i];
}

static struct found look(const char *name)
{
    struct found found = {.visits = 0};
    struct rkc_view view;
    const struct rkc_block *block = NULL;
    int broken = 0;
    rkc_view_own(&view, rkc_private_image());
    while ((block = rkc_view_next(&view, block, &broken))) {
        if (block->kind == RKC_BLOCK_DEVICE)
            found.covered_ns += (int64_t)((const struct rkc_device_block *)block)->covered_ns;
        if (block->kind != RKC_BLOCK_TIMED)
            continue;
        const struct rkc_timed *timed = (const void *)block;
        const struct rkc_node *node = rkc_image_at(view.base, timed->node);
        const struct rkc_region_block *region = rkc_image_at(view.base, node->region);
        if (strcmp(region->text, name) == 0)
            add(&found, timed);
    }
    return found;
}

/* What the device has not done within 5 s is lost. */
static void drain(void)
{
    rkc_timed_drain(5000 * (int64_t)MS);
}

static void begin(void)
{
    start();
    warm_up();
    rkc_gpu_begin(rkc_region_get("first"), new_stream(CU_STREAM_NON_BLOCKING));
    rkc_end("first");
}

static void visit(const char *name, CUstream stream, uint64_t ns)
{
    struct rkc_region *region = rkc_region_get(name);
    rkc_gpu_begin(region, stream);
    work(stream, ns);
    rkc_gpu_end(region, stream);
}

/* --- times ----------------------------------------------------------------------------------- */

static void try_own_events(void)
{
    enum { VISITS = 50 };
    CUevent from[VISITS], to[VISITS];
    double own_ns = 0;
    begin();
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
    struct rkc_region *region = rkc_region_get("own");
    work(stream, 20 * MS); /* so that all that follows waits in the stream */
    for (int i = 0; i < VISITS; i++) {
        rkc_gpu_begin(region, stream);
        from[i] = recorded(stream);
        work(stream, MS / 10);
        to[i] = recorded(stream);
        rkc_gpu_end(region, stream);
    }
    cuda.cuStreamSynchronize(stream);
    drain();
    for (int i = 0; i < VISITS; i++) {
        float ms = 0;
        cuda.cuEventElapsedTime(&ms, from[i], to[i]);
        own_ns += (double)ms * 1e6;
    }
    struct found found = look("own");
    double more_ns = ((double)found.ns - own_ns) / VISITS;
    judge(RULE_R1, found.visits == VISITS && more_ns > -100 && more_ns < 20000,
          "%lld of %d visits, %.0f ns each by the program's events, %.0f ns more by the region's",
          (long long)found.visits, VISITS, own_ns / VISITS, more_ns);
}

static void try_lengths(void)
{
    static const uint64_t lengths_us[] = {10, 100, 1000, 10000, 100000, 500000, 2000000};
    enum { LENGTHS = sizeof lengths_us / sizeof *lengths_us };
    char text[512] = "";
    int good = 0;
    begin();
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
    for (int i = 0; i < LENGTHS; i++) {
        char name[32];
        uint64_t *took_ns;
        snprintf(name, sizeof name, "length %d", i);
        struct rkc_region *region = rkc_region_get(name);
        work(stream, 2 * MS);
        rkc_gpu_begin(region, stream);
        CUresult result = work_measured(stream, lengths_us[i] * 1000, &took_ns);
        rkc_gpu_end(region, stream);
        cuda.cuStreamSynchronize(stream);
        drain();
        double kernel_ns = took_ns ? (double)*took_ns : 0, ns = (double)look(name).ns;
        /* The global timer steps by 1 us on some devices. */
        good += result == CUDA_SUCCESS && ns > kernel_ns - 2100 && ns < kernel_ns * 1.0001 + 50000;
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%.0f: %+.0f", i ? ", " : "",
                 kernel_ns * 1e-3, ns - kernel_ns);
    }
    judge(RULE_R2, good == LENGTHS,
          "length in us by the kernel's timer, and ns more by the region: %s", text);
}

static void try_long(void)
{
    enum { PARTS = 75 };
    CUevent events[PARTS + 1];
    double sum_ns = 0;
    begin();
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
    CUstream other = new_stream(CU_STREAM_NON_BLOCKING);
    struct rkc_region *region = rkc_region_get("long");
    rkc_gpu_begin(region, stream);
    events[0] = recorded(stream);
    for (int i = 1; i <= PARTS; i++) {
        work(stream, 20 * MS);
        events[i] = recorded(stream);
        visit("meanwhile", other, 1000);
        if (i < PARTS)
            cuda.cuEventSynchronize(events[i]);
    }
    rkc_gpu_end(region, stream);
    cuda.cuStreamSynchronize(stream);
    drain();
    for (int i = 1; i <= PARTS; i++) {
        float ms = 0;
        cuda.cuEventElapsedTime(&ms, events[i - 1], events[i]);
        sum_ns += (double)ms * 1e6;
    }
    struct found found = look("long");
    double more_ns = (double)found.ns - sum_ns;
    judge(
        RULE_R3, found.visits == 1 && found.coarse == 0 && more_ns > -200 && more_ns < 50000,
        "%lld visit, %lld coarse, %.0f ns by a chain of the program's events, %.0f ns more by the "
        "region",
        (long long)found.visits, (long long)found.coarse, sum_ns, more_ns);
    found = look("meanwhile");
    measured("launch lag of short kernels meanwhile", "%.1f us of %lld visits",
             found.lag_visits ? (double)found.lag_ns * 1e-3 / (double)found.lag_visits : 0.0,
             (long long)found.lag_visits);
}

static double span_ns(CUevent from, CUevent to)
{
    float ms = 0;
    cuda.cuEventElapsedTime(&ms, from, to);
    return (double)ms * 1e6;
}

static void try_two_streams(void)
{
    begin();
    cuda.cuCtxSynchronize();
    drain();
    int64_t covered_before_ns = look("").covered_ns;
    CUstream a = new_stream(CU_STREAM_NON_BLOCKING), b = new_stream(CU_STREAM_NON_BLOCKING);
    CUevent a_from = recorded(a);
    visit("of a", a, 40 * MS);
    CUevent a_to = recorded(a);
    sleep_ms(10);
    CUevent b_from = recorded(b);
    visit("of b", b, 50 * MS);
    CUevent b_to = recorded(b);
    cuda.cuStreamSynchronize(a);
    cuda.cuStreamSynchronize(b);
    drain();
    struct found of_a = look("of a"), of_b = look("of b");
    double a_ns = span_ns(a_from, a_to), b_ns = span_ns(b_from, b_to);
    double overlap_ns = span_ns(b_from, a_to);
    double covered_ns = (double)(of_b.covered_ns - covered_before_ns);
    double want_ns = a_ns + b_ns - (overlap_ns > 0 ? overlap_ns : 0);
    judge(RULE_R4,
          overlap_ns > 0 && (double)of_a.ns <= a_ns + 100 && (double)of_a.ns > a_ns - 300000 &&
              (double)of_b.ns <= b_ns + 100 && (double)of_b.ns > b_ns - 300000 &&
              covered_ns < want_ns + 300000 && covered_ns > want_ns - 600000,
          "%.3f ms and %.3f ms (by events around them %.3f and %.3f), covered %.3f ms (%.3f)",
          (double)of_a.ns * 1e-6, (double)of_b.ns * 1e-6, a_ns * 1e-6, b_ns * 1e-6,
          covered_ns * 1e-6, want_ns * 1e-6);
}

/* --- captures, contexts, processes ----------------------------------------------------------- */

static void try_capture(void)
{
    CUgraph graph = NULL;
    CUgraphExec exec;
    size_t nodes = 0;
    begin();
    CUstream captured = new_stream(CU_STREAM_NON_BLOCKING);
    CUstream other = new_stream(CU_STREAM_NON_BLOCKING);
    visit("pending", other, 20 * MS);
    cuda.cuStreamBeginCapture_v2(captured, CU_STREAM_CAPTURE_MODE_GLOBAL);
    for (int i = 0; i < 3; i++)
        visit("captured", captured, 1000);
    sleep_ms(30);
    visit("pending", other, 1000); /* polls, and may anchor */
    CUresult end = cuda.cuStreamEndCapture(captured, &graph);
    if (end == CUDA_SUCCESS)
        cuda.cuGraphGetNodes(graph, NULL, &nodes);
    CUresult run = end;
    if (run == CUDA_SUCCESS && cuda.cuGraphInstantiateWithFlags)
        run = cuda.cuGraphInstantiateWithFlags(&exec, graph, 0);
    if (run == CUDA_SUCCESS && cuda.cuGraphInstantiateWithFlags)
        run = cuda.cuGraphLaunch(exec, captured);
    cuda.cuStreamSynchronize(captured);
    drain();
    struct found found = look("captured"), pending = look("pending");
    judge(RULE_R5,
          end == CUDA_SUCCESS && run == CUDA_SUCCESS && nodes == 3 && found.visits == 0 &&
              found.reasons[RKC_GPU_CAPTURED] == 3 && pending.visits == 2,
          "the capture's end %s, %zu nodes of 3 kernels, its launch %s, %lld visits counted as "
          "captured, %lld of 2 on another stream timed",
          result_name(end), nodes, result_name(run), (long long)found.reasons[RKC_GPU_CAPTURED],
          (long long)pending.visits);
}

static void try_destroyed(void)
{
    CUcontext primary = NULL, other = NULL;
    begin();
    cuda.cuCtxGetCurrent(&primary);
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
    if (cuda.cuCtxCreate_v2(&other, 0, 0) != CUDA_SUCCESS) {
        cannot_judge(RULE_R6, "no second context can be made");
        return;
    }
    warm_up();
    CUstream doomed = new_stream(CU_STREAM_NON_BLOCKING);
    for (int i = 0; i < 3; i++)
        visit("doomed", doomed, 5 * MS);
    cuda.cuCtxSetCurrent(primary);
    visit("kept", stream, MS);
    CUresult result = cuda.cuCtxDestroy_v2(other);
    visit("kept", stream, MS);
    cuda.cuStreamSynchronize(stream);
    drain();
    struct found lost = look("doomed"), kept = look("kept");
    int64_t refused = lost.reasons[RKC_GPU_LOST] + lost.reasons[RKC_GPU_ERROR];
    judge(RULE_R6,
          result == CUDA_SUCCESS && lost.visits + refused == 3 && kept.visits == 2 &&
              cuda.cuStreamQuery(stream) == CUDA_SUCCESS,
          "%s; of 3 visits there %lld timed, %lld lost, %lld refused; of 2 elsewhere %lld timed",
          result_name(result), (long long)lost.visits, (long long)lost.reasons[RKC_GPU_LOST],
          (long long)lost.reasons[RKC_GPU_ERROR], (long long)kept.visits);
}

/* Wait for a child for 15 s; its status, or -1. */
static int end_of(pid_t child)
{
    int status = 0;
    for (int i = 0; i < 1500; i++) {
        if (waitpid(child, &status, WNOHANG) == child)
            return status;
        sleep_ms(10);
    }
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return -1;
}

static const char *end_text(int end)
{
    static char text[64];
    if (end == -1)
        return "it hung";
    if (WIFSIGNALED(end))
        snprintf(text, sizeof text, "it ended by signal %d", WTERMSIG(end));
    else
        snprintf(text, sizeof text, "it ended with status %d", WEXITSTATUS(end));
    return text;
}

static void try_fork(void)
{
    begin();
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
    visit("parent", stream, 20 * MS);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        struct rkc_region *region = rkc_region_get("child");
        rkc_gpu_begin(region, stream);
        rkc_gpu_end(region, stream);
        exit(4);
    }
    int end = end_of(child);
    cuda.cuStreamSynchronize(stream);
    drain();
    struct found found = look("parent");
    judge(RULE_R7, WIFEXITED(end) && end != -1 && WEXITSTATUS(end) == 4 && found.visits == 1,
          "%s (of 4); %lld visit of the parent's is timed", end_text(end), (long long)found.visits);
}

static void try_exit(void)
{
    int64_t before_ns = now_ns();
    setenv("RANKCLOCK_OUTPUT", "/nowhere/at/all.h5", 1);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr))
            _exit(9);
        begin();
        visit("at exit", new_stream(CU_STREAM_NON_BLOCKING), 1000 * MS);
        exit(3);
    }
    int end = end_of(child);
    judge(RULE_R8, end != -1 && WIFEXITED(end) && WEXITSTATUS(end) == 3, "%s (of 3) after %.2f s",
          end_text(end), (double)(now_ns() - before_ns) * 1e-9);
}

static void try_no_harm(void)
{
    unsigned flags;
    int active = -1;
    open_driver();
    cuda.cuInit(0);
    struct rkc_region *region = rkc_region_get("early");
    rkc_gpu_begin(region, NULL);
    rkc_gpu_end(region, NULL);
    cuda.cuDevicePrimaryCtxGetState(0, &flags, &active);

    start();
    warm_up();
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
    visit("first", stream, 1000);
    work(stream, 300 * MS);
    long waits = on_double.synchronizing ? on_double.synchronizing() : 0;
    int64_t before_ns = now_ns();
    for (int i = 0; i < 20; i++)
        visit("harmless", stream, 1000);
    double took_ms = (double)(now_ns() - before_ns) * 1e-6;
    if (on_double.synchronizing)
        waits = on_double.synchronizing() - waits;
    judge(RULE_R9, active == 0 && took_ms < 150 && waits == 0,
          "primary context active: %d; 20 visits behind 300 ms of work took the host %.2f ms",
          active, took_ms);
}

int main(int argc, char **argv)
{
    static const struct trial trials[] = {
        {try_own_events, "R1", 0},  {try_lengths, "R2", 40}, {try_long, "R3", 0},
        {try_two_streams, "R4", 0}, {try_capture, "R5", 0},  {try_destroyed, "R6", 0},
        {try_fork, "R7", 0},        {try_exit, "R8", 40},    {try_no_harm, "R9", 0},
    };
    setenv("RANKCLOCK_OUTPUT", "rules.h5", 0);
    return rules_main(argc, argv, trials, sizeof trials / sizeof *trials);
}
