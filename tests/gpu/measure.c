/* measure.c - what calls of the driver cost the host, and how its event clock runs against the
 * host's. Measures, and judges nothing. */
#include "rules.h"

#include <stdio.h>
#include <stdlib.h>

#include "gpu/timeline.h"

static const int64_t SECOND_NS = 1000000000;

static CUstream stream, pending_stream;
static CUevent done, other_done, pending;
static CUcontext context;
static CUdeviceptr memory;
static char plain[64];

/* --- costs ----------------------------------------------------------------------------------- */

static void record(void)
{
    cuda.cuEventRecord(done, stream);
}

static CUevent untimed;

static void record_untimed(void)
{
    cuda.cuEventRecord(untimed, stream);
}

static void query(void)
{
    cuda.cuEventQuery(other_done);
}

static void query_pending(void)
{
    cuda.cuEventQuery(pending);
}

static void elapsed(void)
{
    float ms;
    cuda.cuEventElapsedTime(&ms, other_done, other_done);
}

static void is_capturing(void)
{
    CUstreamCaptureStatus status;
    cuda.cuStreamIsCapturing(stream, &status);
}

static void get_context(void)
{
    CUcontext found;
    cuda.cuStreamGetCtx(stream, &found);
}

static void get_current(void)
{
    CUcontext found;
    cuda.cuCtxGetCurrent(&found);
}

static void get_id(void)
{
    unsigned long long id;
    if (cuda.cuCtxGetId)
        cuda.cuCtxGetId(context, &id);
}

static void push_and_pop(void)
{
    CUcontext popped;
    cuda.cuCtxPushCurrent_v2(context);
    cuda.cuCtxPopCurrent_v2(&popped);
}

static void exchange(void)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    cuda.cuThreadExchangeStreamCaptureMode(&mode);
    cuda.cuThreadExchangeStreamCaptureMode(&mode);
}

static void ask_pointer(CUdeviceptr pointer)
{
    CUpointer_attribute attributes[] = {
        CU_POINTER_ATTRIBUTE_IS_MANAGED, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    uint64_t slots[3] = {0};
    void *values[] = {&slots[0], &slots[1], &slots[2]};
    cuda.cuPointerGetAttributes(3, attributes, values, pointer);
}

static void ask_device_pointer(void)
{
    ask_pointer(memory);
}

static void ask_host_pointer(void)
{
    ask_pointer((CUdeviceptr)(uintptr_t)plain);
}

static void create_and_destroy(void)
{
    CUevent event;
    if (cuda.cuEventCreate(&event, 0) == CUDA_SUCCESS)
        cuda.cuEventDestroy_v2(event);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Least and median of blocks of calls, in ns for each. */
static void cost(const char *what, void (*call)(void))
{
    enum { BLOCKS = 51, CALLS = 200 };
    double ns[BLOCKS];
    for (int b = 0; b < BLOCKS; b++) {
        int64_t before_ns = now_ns();
        for (int i = 0; i < CALLS; i++)
            call();
        ns[b] = (double)(now_ns() - before_ns) / CALLS;
        cuda.cuStreamSynchronize(stream);
    }
    qsort(ns, BLOCKS, sizeof *ns, by_value);
    measured(what, "%.0f ns, median of blocks %.0f ns", ns[0], ns[BLOCKS / 2]);
}

static void set_up(void)
{
    start();
    warm_up();
    cuda.cuCtxGetCurrent(&context);
    stream = new_stream(CU_STREAM_NON_BLOCKING);
    pending_stream = new_stream(CU_STREAM_NON_BLOCKING);
    done = recorded(stream);
    other_done = recorded(stream);
    untimed = new_event(CU_EVENT_DISABLE_TIMING);
    cuda.cuMemAlloc_v2(&memory, 1 << 20);
    wait_for(other_done);
}

static void measure_costs(void)
{
    set_up();
    cost("cuEventRecord, timed", record);
    cost("cuEventRecord, without timing", record_untimed);
    cost("cuEventQuery, complete", query);
    work(pending_stream, 500000000);
    pending = recorded(pending_stream);
    cost("cuEventQuery, pending", query_pending);
    wait_for(pending);
    cost("cuEventElapsedTime", elapsed);
    cost("cuStreamIsCapturing", is_capturing);
    cost("cuStreamGetCtx", get_context);
    cost("cuCtxGetCurrent", get_current);
    cost("cuCtxGetId", get_id);
    cost("cuCtxPushCurrent and PopCurrent", push_and_pop);
    cost("cuThreadExchangeStreamCaptureMode, twice", exchange);
    cost("cuPointerGetAttributes, device memory", ask_device_pointer);
    cost("cuPointerGetAttributes, plain host memory", ask_host_pointer);
    cost("cuEventCreate and Destroy", create_and_destroy);
}

/* --- clocks ---------------------------------------------------------------------------------- */

struct anchor {
    CUevent event;
    int64_t host_ns, width_ns; /* the middle, and from the record to when it was seen complete */
};

/* The tightest of 16: when an event was by the host's clock. */
static struct anchor anchor(void)
{
    enum { TIMES = 16 };
    struct anchor best = {NULL, 0, INT64_MAX};
    for (int i = 0; i < TIMES; i++) {
        CUevent event = new_event(0);
        int64_t before_ns = now_ns();
        cuda.cuEventRecord(event, stream);
        wait_for(event);
        int64_t after_ns = now_ns();
        if (after_ns - before_ns < best.width_ns)
            best = (struct anchor){event, before_ns + (after_ns - before_ns) / 2,
                                   after_ns - before_ns};
    }
    return best;
}

static void measure_clocks(void)
{
    enum { LINKS = 50 };
    double chain_ns = 0;
    float ms = 0;
    set_up();
    struct anchor first = anchor(), last = first;
    measured("anchor, from the record until it is seen complete", "%.1f us, the tightest of 16",
             (double)first.width_ns * 1e-3);
    CUevent before = first.event;
    for (int i = 0; i < LINKS; i++) {
        sleep_ms(200);
        last = anchor();
        cuda.cuEventElapsedTime(&ms, before, last.event);
        chain_ns += (double)ms * 1e6;
        before = last.event;
    }
    double host_ns = (double)(last.host_ns - first.host_ns);
    double slack_ns = (double)(first.width_ns + last.width_ns) / 2;
    measured("event clock against the host's", "%+.3f ppm over %.2f s, give or take %.3f ppm",
             (chain_ns - host_ns) / host_ns * 1e6, host_ns / (double)SECOND_NS,
             slack_ns / host_ns * 1e6);
    cuda.cuEventElapsedTime(&ms, first.event, last.event);
    measured("elapsed time over the whole",
             "%.6f ms, a step of the float is %lld ns, %.0f ns off "
             "the chain of %d links",
             (double)ms, (long long)rkc_elapsed_step_ns(ms), (double)ms * 1e6 - chain_ns, LINKS);
}

int main(int argc, char **argv)
{
    static const struct trial trials[] = {
        {measure_costs, "costs", 40},
        {measure_clocks, "clocks", 40},
    };
    return rules_main(argc, argv, trials, sizeof trials / sizeof *trials);
}
