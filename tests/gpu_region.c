/* gpu_region.c - regions on a stream, on the double of CUDA's driver with its virtual clock. */
#include "autoconf.h"

#include "gpu_double.h"

#include <rankclock/rankclock.h>

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "collect.h"
#include "gpu/chain.h"
#include "gpu/timed.h"
#include "runtime.h"
#include "tap.h"

static const uint64_t MS = 1000000;

/* ---- what the image has of a region: all its nodes together ---- */

static struct rkc_timed sum_of(const char *name)
{
    struct rkc_timed sum = {.node = 0};
    struct rkc_view view;
    const struct rkc_block *block = NULL;
    int broken = 0;
    rkc_view_own(&view, rkc_private_image());
    while ((block = rkc_view_next(&view, block, &broken))) {
        if (block->kind != RKC_BLOCK_TIMED)
            continue;
        const struct rkc_timed *timed = (const void *)block;
        const struct rkc_node *node = rkc_image_at(view.base, timed->node);
        const struct rkc_region_block *region = rkc_image_at(view.base, node->region);
        if (strcmp(region->text, name) != 0)
            continue;
        sum.visits += timed->visits;
        sum.ns += timed->ns;
        sum.min_ns = timed->min_ns;
        sum.max_ns = timed->max_ns;
        sum.lag_visits += timed->lag_visits;
        sum.lag_ns += timed->lag_ns;
        sum.coarse += timed->coarse;
        sum.coarse_ns = timed->coarse_ns;
        for (int i = 0; i < RKC_GPU_REASONS; i++)
            sum.unavailable[i] += timed->unavailable[i];
    }
    return sum;
}

/* Of the driver that was begun with last. */
static const struct rkc_device_block *device_block(int index)
{
    struct rkc_view view;
    const struct rkc_block *block = NULL, *last = NULL;
    int broken = 0;
    rkc_view_own(&view, rkc_private_image());
    while ((block = rkc_view_next(&view, block, &broken)))
        if (block->kind == RKC_BLOCK_DEVICE &&
            ((const struct rkc_device_block *)block)->index == index)
            last = block;
    return (const void *)last;
}

static void drain(void)
{
    rkc_timed_drain(0);
}

/* Begin anew with another driver; what the image has stays. */
static void start(int n_devices)
{
    drain();
    rkc_timed_forget();
    gpu_start(n_devices);
}

/* A visit with work of a length between begin and end. */
static void visit(struct rkc_region *region, CUstream stream, uint64_t ns)
{
    rkc_gpu_begin(region, stream);
    fakecuda_launch(stream, ns);
    rkc_gpu_end(region, stream);
}

/* ---- tests ---- */

static void test_visits(void)
{
    start(1);
    CUstream stream = gpu_stream(CU_STREAM_NON_BLOCKING);
    struct rkc_region *region = rkc_region_get("kernel");
    fakecuda_reset_calls();
    for (uint64_t i = 1; i <= 100; i++)
        visit(region, stream, i * 32000);
    fakecuda_advance(200 * MS);
    long synchronizing = fakecuda_calls_synchronizing();
    drain();
    struct rkc_timed timed = sum_of("kernel");
    is_int((int64_t)timed.visits, 100, "every visit has its device time");
    is_int((int64_t)timed.ns, 5050 * 32000, "exact to the device clock's tick");
    is_int((int64_t)timed.min_ns, 32000, "with the shortest");
    is_int((int64_t)timed.max_ns, 3200000, "and the longest");
    is_int((int64_t)timed.coarse, 0, "none is coarse");
    is_int(synchronizing, 0, "nothing was called that waits for the device");
    const struct rkc_device_block *device = device_block(0);
    ok(device && strncmp(device->uuid, "GPU-", 4) == 0, "the device is in the image");
    is_int(device ? (int64_t)device->ns : 0, 5050 * 32000, "with the time of all regions");
    is_int(device ? (int64_t)device->covered_ns : 0, 5050 * 32000,
           "which cover it as long where none overlap");
}

static void test_overlap(void)
{
    start(1);
    CUstream a = gpu_stream(CU_STREAM_NON_BLOCKING), b = gpu_stream(CU_STREAM_NON_BLOCKING);
    struct rkc_region *outer = rkc_region_get("outer"), *inner = rkc_region_get("inner");
    rkc_gpu_begin(outer, a);
    fakecuda_launch(a, 10 * MS);
    rkc_gpu_begin(inner, b);
    fakecuda_launch(b, 4 * MS);
    rkc_gpu_end(inner, b);
    rkc_gpu_end(outer, a);
    fakecuda_advance(20 * MS);
    drain();
    is_int((int64_t)sum_of("outer").ns, 10 * (int64_t)MS, "regions nest, on streams of their own");
    is_int((int64_t)sum_of("inner").ns, 4 * (int64_t)MS, "each with its own time");
    is_int((int64_t)device_block(0)->covered_ns, 10 * (int64_t)MS,
           "what two cover at once counts once");
}

/* Nothing keeps an end on another stream behind the begin. */
static void test_other_stream(void)
{
    start(1);
    CUstream busy = gpu_stream(CU_STREAM_NON_BLOCKING), idle = gpu_stream(CU_STREAM_NON_BLOCKING);
    struct rkc_region *region = rkc_region_get("elsewhere");
    for (uint64_t ms = 10; ms <= 1000; ms += 990) { /* in one float, and by positions */
        fakecuda_launch(busy, ms * MS);
        rkc_gpu_begin(region, busy);
        rkc_gpu_end(region, idle);
        fakecuda_advance(2 * ms * MS);
    }
    drain();
    is_int((int64_t)sum_of("elsewhere").visits, 2, "an end may be on another stream");
    is_int((int64_t)sum_of("elsewhere").ns, 0, "where it is before its begin there is no time");
}

static void test_scope(void)
{
    start(1);
    CUstream stream = gpu_stream(0);
    for (int i = 0; i < 3; i++) {
        RKC_SCOPE_GPU("scope", stream);
        fakecuda_launch(stream, MS);
        if (i == 1)
            continue;
    }
    fakecuda_advance(10 * MS);
    drain();
    is_int((int64_t)sum_of("scope").visits, 3, "a scope ends however it is left");
    is_int((int64_t)sum_of("scope").ns, 3 * (int64_t)MS, "on the device, too");
}

static void test_pending(void)
{
    start(1);
    CUstream stream = gpu_stream(CU_STREAM_NON_BLOCKING);
    struct rkc_region *region = rkc_region_get("held");
    fakecuda_hold(stream);
    for (int i = 0; i < 5000; i++)
        visit(region, stream, 3200);
    struct rkc_timed timed = sum_of("held");
    is_int((int64_t)timed.visits, 0, "while the device is busy nothing is known");
    is_int((int64_t)timed.unavailable[RKC_GPU_POOL], 5000 - 4096,
           "beyond the most pending visits their device part is left out, and counted");
    fakecuda_release(stream);
    fakecuda_advance(20 * MS);
    for (int i = 0; i < 200; i++) {
        visit(region, stream, 3200);
        fakecuda_advance(MS);
    }
    drain();
    timed = sum_of("held");
    is_int((int64_t)(timed.visits + timed.unavailable[RKC_GPU_POOL]), 5200, "no visit is lost");
    is_int((int64_t)timed.unavailable[RKC_GPU_POOL], 5000 - 4096, "and there is room again");
}

static void test_capture(void)
{
    start(1);
    CUstream stream = gpu_stream(CU_STREAM_NON_BLOCKING);
    CUstream other = gpu_stream(CU_STREAM_NON_BLOCKING);
    struct rkc_region *region = rkc_region_get("captured"), *beside = rkc_region_get("beside");
    CUgraph graph;
    visit(beside, other, MS);
    cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    visit(region, stream, MS);
    for (int i = 0; i < 40; i++) {
        visit(beside, other, MS);
        fakecuda_advance(2 * MS);
    }
    rkc_gpu_begin(region, stream);
    is_int((int)cuStreamEndCapture(stream, &graph), 0, "polling breaks no capture");
    rkc_gpu_end(region, stream);
    rkc_gpu_begin(region, stream);
    cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    rkc_gpu_end(region, stream);
    cuStreamEndCapture(stream, &graph);
    fakecuda_advance(200 * MS);
    drain();
    is_int((int64_t)sum_of("captured").unavailable[RKC_GPU_CAPTURED], 3,
           "a visit that begins or ends in a capture is counted as such");
    is_int((int64_t)sum_of("captured").visits, 0, "and has no time");
    is_int((int64_t)sum_of("beside").visits, 41, "those on other streams have");
}

static void test_sync(void)
{
    start(1);
    CUstream stream = gpu_stream(CU_STREAM_NON_BLOCKING), other = gpu_stream(0);
    struct rkc_region *region = rkc_region_get("waited");
    CUgraph graph;
    int64_t before = fakecuda_now();
    visit(region, stream, 5 * MS);
    is_int(fakecuda_now() - before, 0, "an end does not wait for the device");
    rkc_timed_init(4096, 1);
    cuStreamBeginCapture_v2(other, CU_STREAM_CAPTURE_MODE_GLOBAL);
    visit(region, stream, 5 * MS);
    is_int(fakecuda_now() - before, 10 * (int64_t)MS, "with RANKCLOCK_GPU_SYNC it does");
    is_int((int)cuStreamEndCapture(other, &graph), 0, "and breaks no capture");
    rkc_timed_init(4096, 0);
    drain();
    is_int((int64_t)sum_of("waited").ns, 10 * (int64_t)MS, "the device's time is the same");
}

/* An hour in which steps on a stream of `device` bring the program by. */
static void test_long(const char *name, int device)
{
    start(2);
    CUstream stream = gpu_stream(CU_STREAM_NON_BLOCKING);
    cuCtxSetCurrent(gpu_contexts[device]);
    CUstream other = gpu_stream(CU_STREAM_NON_BLOCKING);
    struct rkc_region *hours = rkc_region_get(name), *step = rkc_region_get("step");
    fakecuda_gpu_clock(7777777777, 3, 32);
    /* The host's clock is not virtual. */
    rkc_chain_due_ns = rkc_timed_poll_ns = rkc_timed_pin_ns = 0;
    for (int i = 0; i < 40; i++) {
        visit(step, stream, 6400 + 32 * (uint64_t)i);
        visit(step, other, 3200 + 32 * (uint64_t)i);
        fakecuda_advance(MS);
    }
    int64_t before = fakecuda_now();
    rkc_gpu_begin(hours, stream);
    fakecuda_hold(stream);
    for (int i = 0; i < 20000; i++) {
        fakecuda_advance(180 * MS);
        visit(step, other, 3200);
    }
    fakecuda_release(stream);
    rkc_gpu_end(hours, stream);
    int64_t took = fakecuda_now() - before;
    fakecuda_advance(MS);
    drain();
    struct rkc_timed timed = sum_of(name);
    printf("# %lld of %lld ns\n", (long long)timed.ns, (long long)took);
    is_int((int64_t)timed.visits, 1, "a visit of an hour is timed");
    int64_t want = (int64_t)((double)took * (1 + 3e-6));
    int64_t off = (int64_t)timed.ns - want;
    ok(off >= -64 && off <= 64, "to two ticks of the device's clock");
    is_int((int64_t)timed.coarse, 0, "and is not called coarse");
    rkc_chain_due_ns = 125000000;
    rkc_timed_poll_ns = 1000000;
    rkc_timed_pin_ns = 100000000;
}

static void test_lost(void)
{
    start(1);
    CUcontext context;
    CUstream stream;
    struct rkc_region *region = rkc_region_get("lost"), *after = rkc_region_get("after");
    cuCtxCreate_v2(&context, 0, 0);
    stream = gpu_stream(CU_STREAM_NON_BLOCKING);
    fakecuda_hold(stream);
    for (int i = 0; i < 10; i++)
        visit(region, stream, MS);
    cuCtxDestroy_v2(context);
    cuCtxSetCurrent(gpu_contexts[0]);
    stream = gpu_stream(CU_STREAM_NON_BLOCKING);
    for (int i = 0; i < 20; i++) {
        visit(after, stream, MS);
        fakecuda_advance(2 * MS);
    }
    drain();
    is_int((int64_t)sum_of("lost").unavailable[RKC_GPU_LOST], 10,
           "what was pending in a context that is destroyed is lost, and counted");
    is_int((int64_t)sum_of("after").visits, 20, "other contexts go on");

    fakecuda_hold(stream);
    visit(region, stream, MS);
    fakecuda_sticky(700);
    visit(region, stream, MS);
    drain();
    is_int((int64_t)sum_of("lost").unavailable[RKC_GPU_LOST], 12,
           "an error of the program's costs the device times from then on");
    fakecuda_sticky(0);
}

/* What is pending is also settled by what has nothing to do with it. */
static void test_fold(void)
{
    start(1);
    CUstream stream = gpu_stream(CU_STREAM_NON_BLOCKING);
    struct rkc_region *host = rkc_region_get("host");
    visit(rkc_region_get("pending"), stream, MS);
    fakecuda_advance(2 * MS);
    usleep(2000);
    for (int i = 0; i < 2 * RKC_RING_RECORDS; i++) {
        rkc_region_begin(host);
        rkc_region_end(host);
    }
    is_int((int64_t)sum_of("pending").visits, 1, "host regions settle what is pending");
}

/* More contexts than pairs, one after the other, as where a program resets its device. */
static void test_many_contexts(void)
{
    enum { CONTEXTS = 40, EACH = 4 };
    start(1);
    rkc_timed_init(2 * EACH, 0);
    struct rkc_region *region = rkc_region_get("in turn");
    for (int i = 0; i < CONTEXTS; i++) {
        CUcontext context;
        cuCtxCreate_v2(&context, 0, 0);
        CUstream stream = gpu_stream(CU_STREAM_NON_BLOCKING);
        for (int k = 0; k < EACH; k++)
            visit(region, stream, MS);
        fakecuda_advance(10 * MS);
        drain();
        cuCtxDestroy_v2(context);
    }
    cuCtxSetCurrent(gpu_contexts[0]);
    rkc_timed_init(4096, 0);
    is_int((int64_t)sum_of("in turn").visits, CONTEXTS * EACH,
           "what contexts leave behind does not use up what may be pending");
}

/* The end of a run waits for the device, and not for ever. */
static void test_drain(void)
{
    start(1);
    CUstream stream = gpu_stream(CU_STREAM_NON_BLOCKING);
    struct rkc_region *region = rkc_region_get("last");
    fakecuda_virtual_clock(0);
    visit(region, stream, 30 * MS);
    rkc_timed_drain(60000 * (int64_t)MS);
    is_int((int64_t)sum_of("last").visits, 1, "what the device still does is waited for");
    fakecuda_hold(stream);
    visit(region, stream, MS);
    int64_t before_ns = rkc_clock_monotonic_ns();
    rkc_timed_drain(50 * (int64_t)MS);
    int64_t took_ns = rkc_clock_monotonic_ns() - before_ns;
    ok(took_ns >= 50 * (int64_t)MS, "what it never ends for as long as was said");
    is_int((int64_t)sum_of("last").unavailable[RKC_GPU_LOST], 1,
           "and then it is lost, and counted");
    fakecuda_release(stream);
    fakecuda_virtual_clock(1);
}

static void test_no_context(void)
{
    start(1);
    struct rkc_region *region = rkc_region_get("without");
    cuCtxSetCurrent(NULL);
    visit(region, NULL, MS);
    is_int((int64_t)sum_of("without").unavailable[RKC_GPU_CONTEXT], 1,
           "a default stream without a context is counted");
    is_int(fakecuda_calls("cuDevicePrimaryCtxRetain"), 0, "and no context is made for it");
    cuCtxSetCurrent(gpu_contexts[0]);
    visit(region, NULL, MS);
    fakecuda_advance(2 * MS);
    drain();
    is_int((int64_t)sum_of("without").visits, 1, "with one it is timed");
}

static void test_refused(void)
{
    static const char *const symbols[] = {"cuEventCreate", "cuEventRecord", "cuEventElapsedTime",
                                          "cuStreamGetCtx", "cuStreamIsCapturing",
                                          "cuStreamCreateWithPriority", "cuEventQuery",
                                          "cuThreadExchangeStreamCaptureMode",
                                          "cuCtxPushCurrent_v2"};
    struct rkc_region *region = rkc_region_get("refused");
    int64_t visits = 0;
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
        for (int skip = 0; skip < 4; skip++) {
            start(1);
            CUstream stream = gpu_stream(CU_STREAM_NON_BLOCKING);
            fakecuda_fail(symbols[i], 999, skip, 1);
            for (int k = 0; k < 5; k++) {
                visit(region, stream, MS);
                fakecuda_advance(2 * MS);
            }
            drain();
            visits += 5;
        }
    struct rkc_timed timed = sum_of("refused");
    int64_t counted = (int64_t)timed.visits;
    for (int i = 0; i < RKC_GPU_REASONS; i++)
        counted += (int64_t)timed.unavailable[i];
    is_int(counted, visits, "whatever call fails, each visit is timed or counted");
    ok((int64_t)timed.visits > visits / 2, "and most are timed");
}

static void test_crossing(void)
{
    start(1);
    CUstream stream = gpu_stream(CU_STREAM_NON_BLOCKING);
    struct rkc_region *outer = rkc_region_get("cross"), *inner = rkc_region_get("crossed");
    rkc_gpu_begin(outer, stream);
    rkc_gpu_begin(inner, stream);
    rkc_gpu_begin(inner, stream); /* recursion: one visit on the device */
    fakecuda_launch(stream, MS);
    rkc_gpu_end(inner, stream);
    rkc_gpu_end(inner, stream);
    rkc_gpu_begin(inner, stream);
    rkc_gpu_end(outer, stream); /* closes the inner one */
    rkc_gpu_begin(inner, stream);
    rkc_region_end(inner); /* on the host alone */
    rkc_gpu_end(outer, stream);
    rkc_gpu_end(NULL, stream);
    rkc_gpu_begin(NULL, stream);
    fakecuda_advance(10 * MS);
    drain();
    is_int((int64_t)sum_of("cross").visits, 1, "an outer region ends inner ones");
    struct rkc_timed timed = sum_of("crossed");
    is_int((int64_t)timed.visits, 1, "recursion is one visit on the device");
    is_int((int64_t)timed.unavailable[RKC_GPU_ERROR], 2,
           "visits not ended as GPU regions are counted");
}

static void *in_thread(void *arg)
{
    CUstream stream = arg;
    struct rkc_region *region = rkc_region_get("threads");
    cuCtxSetCurrent(gpu_contexts[0]);
    for (int i = 0; i < 300; i++)
        visit(region, stream, 3200);
    return NULL;
}

static void test_threads(void)
{
    enum { THREADS = 4 };
    start(1);
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, in_thread, gpu_stream(CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    fakecuda_advance(20 * MS);
    drain();
    is_int((int64_t)sum_of("threads").visits, THREADS * 300,
           "the visits of threads that are gone are timed at the end");
    is_int((int64_t)sum_of("threads").ns, THREADS * 300 * 3200, "in full");
}

static struct rkc_region *handled;
static CUstream handled_stream;

static void on_signal(int number)
{
    (void)number;
    rkc_region_begin(handled);
    rkc_region_end(handled);
}

static int child(void)
{
    fakecuda_reset_calls();
    visit(handled, handled_stream, MS);
    return fakecuda_calls("cuEventRecord") == 0 && rkc_private_recording() == 0;
}

static void test_signals_and_forks(void)
{
    start(1);
    handled = rkc_region_get("handled");
    handled_stream = gpu_stream(CU_STREAM_NON_BLOCKING);
    signal(SIGALRM, on_signal);
    rkc_gpu_begin(handled, handled_stream);
    raise(SIGALRM);
    rkc_gpu_end(handled, handled_stream);
    is_int(gpu_in_child(child), 1, "in a forked child nothing is recorded");
    fakecuda_advance(MS);
    drain();
    is_int((int64_t)sum_of("handled").visits, 1, "a handler's regions disturb none");
}

/* A region behind 50 ms of work; its lag may be no less and no more than this. */
static struct rkc_timed lag_once(const char *name, int64_t *least_ns, int64_t *most_ns)
{
    const int64_t work_ns = 50 * (int64_t)MS;
    const int64_t slack_ns = (int64_t)MS; /* where clocks are tied within 0.1 ms */
    start(1);
    CUstream stream = gpu_stream(CU_STREAM_NON_BLOCKING);
    fakecuda_virtual_clock(0);
    struct rkc_region *region = rkc_region_get(name);
    int64_t before_ns = fakecuda_now();
    fakecuda_launch(stream, (uint64_t)work_ns);
    int64_t launched_ns = fakecuda_now();
    visit(region, stream, MS);
    int64_t visited_ns = fakecuda_now();
    cuStreamSynchronize(stream);
    drain();
    fakecuda_virtual_clock(1);
    *least_ns = before_ns + work_ns - visited_ns - slack_ns;
    *most_ns = work_ns + slack_ns + visited_ns - launched_ns;
    return sum_of(name);
}

/* A thread that has to wait for a core in between may not know the lag, or not well. */
static void test_lag(void)
{
    struct rkc_timed timed = {0};
    int64_t least_ns = 0, most_ns = 0;
    for (int i = 0; i < 100 && (!timed.lag_visits || least_ns < 40 * (int64_t)MS); i++) {
        char name[16];
        snprintf(name, sizeof name, "lag %d", i);
        timed = lag_once(name, &least_ns, &most_ns);
    }
    is_int((int64_t)timed.lag_visits, 1, "the lag of a launch is known where clocks are tied");
    int64_t lag_ns = (int64_t)timed.lag_ns;
    ok(lag_ns >= least_ns && lag_ns <= most_ns, "and is what the stream had to do before");
    printf("# %lld ns of %lld to %lld\n", (long long)lag_ns, (long long)least_ns,
           (long long)most_ns);
}

static void test_gone(void)
{
    start(1);
    CUstream stream = gpu_stream(CU_STREAM_NON_BLOCKING);
    struct rkc_region *region = rkc_region_get("gone");
    fakecuda_hold(stream);
    visit(region, stream, MS);
    fakecuda_deinit();
    visit(region, stream, MS);
    visit(region, stream, MS);
    drain();
    is_int((int64_t)sum_of("gone").visits, 0, "after the driver's end nothing is timed");
    ok(sum_of("gone").unavailable[RKC_GPU_LOST] >= 1, "what was pending is counted");
    fakecuda_reset_calls();
    visit(region, stream, MS);
    is_int(fakecuda_calls_all(), 0, "and the driver is never called again");
}

int main(void)
{
    setenv("RANKCLOCK_OUTPUT", "/dev/null/none.h5", 1);
    rkc_region_get("first");
    test_visits();
    test_overlap();
    test_other_stream();
    test_scope();
    test_pending();
    test_capture();
    test_sync();
    test_long("hours", 0);
    test_long("hours elsewhere", 1);
    test_lost();
    test_fold();
    test_many_contexts();
    test_drain();
    test_no_context();
    test_refused();
    test_crossing();
    test_threads();
    test_signals_and_forks();
    test_lag();
    test_gone();
    rkc_private_stop(RKC_STATE_FINALIZED);
    rkc_private_done();
    return done_testing();
}
