/* The double of libcuda.so.1: contexts, streams and events, and when work ends. Virtual clock. */
#include "autoconf.h"

#include "fakecuda/cuda_abi.h"
#include "fakecuda/fakecuda.h"
#include "tap.h"

#include <math.h>
#include <pthread.h>

static CUcontext context;

/* A fresh driver with a number of devices and the primary context of the first one current. */
static void start(int n_devices)
{
    fakecuda_reset();
    fakecuda_devices(n_devices);
    fakecuda_virtual_clock(1);
    cuInit(0);
    cuDevicePrimaryCtxRetain(&context, 0);
    cuCtxSetCurrent(context);
    fakecuda_reset_calls();
}

static CUstream new_stream(unsigned flags)
{
    CUstream stream = NULL;
    cuStreamCreate(&stream, flags);
    return stream;
}

static CUevent new_event(unsigned flags)
{
    CUevent event = NULL;
    cuEventCreate(&event, flags);
    return event;
}

static double elapsed_ms(CUevent begin, CUevent end)
{
    float ms = -1;
    return cuEventElapsedTime_v2(&ms, begin, end) == CUDA_SUCCESS ? (double)ms : -1;
}

static void test_contexts(void)
{
    CUcontext current = (CUcontext)1, other, popped = NULL;
    CUevent event = NULL;
    CUdevice device;
    unsigned flags;
    int active = 1;

    fakecuda_reset();
    is_int(cuCtxGetCurrent(&current), 3, "nothing works before cuInit");
    cuInit(0);
    cuCtxGetCurrent(&current);
    ok(!current, "no context is current at first");
    is_int(cuEventCreate(&event, 0), 201, "an event needs a current context");
    is_int(cuCtxPopCurrent_v2(&popped), 201, "an empty stack cannot be popped");
    cuDevicePrimaryCtxGetState(0, &flags, &active);
    is_int(active, 0, "a primary context is not active before it is retained");

    start(2);
    is_int(cuDevicePrimaryCtxRetain(&other, 2), 101, "there is no third device");
    cuDevicePrimaryCtxGetState(0, &flags, &active);
    is_int(active, 1, "a retained primary context is active");
    cuDevicePrimaryCtxRetain(&other, 1);
    cuCtxPushCurrent_v2(other);
    cuCtxGetDevice(&device);
    is_int(device, 1, "what was pushed is current");
    cuCtxPopCurrent_v2(&popped);
    cuCtxGetDevice(&device);
    ok(popped == other && device == 0, "what was popped no longer is");
    cuCtxSetCurrent(NULL);
    is_int(cuCtxGetDevice(&device), 201, "NULL takes the current context away");
}

static void *device_of_thread(void *result)
{
    CUdevice device;
    *(CUresult *)result = cuCtxGetDevice(&device);
    return NULL;
}

static void test_destroyed_contexts(void)
{
    CUcontext own;
    CUstream stream;
    CUevent event;
    CUdevice device;
    CUresult result = 0;
    pthread_t thread;
    unsigned long long id = 0, id_before = 0;

    start(1);
    pthread_create(&thread, NULL, device_of_thread, &result);
    pthread_join(thread, NULL);
    is_int(result, 201, "each thread has its own current context");

    cuCtxCreate_v2(&own, 0, 0);
    stream = new_stream(0);
    event = new_event(0);
    cuCtxPushCurrent_v2(context);
    cuCtxDestroy_v2(own);
    is_int(cuEventQuery(event), 400, "an event goes with its context");
    is_int(cuEventDestroy_v2(event), 400, "and is not there to be destroyed");
    is_int(cuStreamQuery(stream), 400, "a stream does, too");
    is_int(cuCtxGetId(own, &id), 709, "a destroyed context has no id");
    is_int(cuCtxSetCurrent(own), 201, "nor can it be made current");
    cuCtxPopCurrent_v2(NULL);
    is_int(cuCtxGetDevice(&device), 709, "one that was current to a thread still is, destroyed");
    is_int(cuEventCreate(&event, 0), 709, "and no event can be made in it");

    start(1);
    event = new_event(0);
    cuCtxGetId(NULL, &id_before);
    cuDevicePrimaryCtxReset_v2(0);
    is_int(cuEventQuery(event), 400, "a reset of the device takes the events along");
    is_int(cuEventCreate(&event, 0), 709, "the reset context is not usable");
    cuDevicePrimaryCtxRetain(&own, 0);
    cuCtxGetId(NULL, &id);
    ok(own == context && id != id_before, "it comes back under its handle, with a new id");
}

static void test_green_contexts(void)
{
    CUgreenCtx green, found_green;
    CUcontext green_context, found;
    CUstream stream;
    CUevent event, own_event;

    start(1);
    cuGreenCtxCreate(&green, NULL, 0, CU_GREEN_CTX_DEFAULT_STREAM);
    cuCtxFromGreenCtx(&green_context, green);
    cuGreenCtxStreamCreate(&stream, green, CU_STREAM_NON_BLOCKING, 0);
    cuStreamGetCtx(stream, &found);
    ok(found == green_context, "the first GetCtx gives the context that a green one stands for");
    cuStreamGetCtx_v2(stream, &found, &found_green);
    ok(found == context && found_green == green, "the second gives the primary and the green one");
    event = new_event(0);
    is_int(cuEventRecord(event, stream), 400, "an event of the primary cannot be recorded there");
    cuCtxPushCurrent_v2(green_context);
    own_event = new_event(0);
    is_int(cuEventRecord(own_event, stream), 0, "one of the first GetCtx's context can");
    is_int(cuStreamGetCtx_v2(CU_STREAM_PER_THREAD, &found, &found_green), 400,
           "a green context has no per-thread stream for the second GetCtx");
    cuCtxPopCurrent_v2(NULL);
    cuStreamGetCtx_v2(new_stream(0), &found, &found_green);
    ok(found == context && !found_green, "a stream of an ordinary context has no green one");
}

static void test_streams(void)
{
    int least, greatest, priority;
    CUstream stream;
    CUcontext found, other;
    CUdevice device;
    unsigned long long id, id_again;

    start(2);
    cuCtxGetStreamPriorityRange(&least, &greatest);
    ok(least == 0 && greatest == -5, "priorities go from 0, the least, to -5");
    cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, -99);
    cuStreamGetPriority(stream, &priority);
    is_int(priority, -5, "a priority is clamped and can be read back");
    is_int(cuStreamCreateWithPriority(&stream, 8, 0), 1, "unknown flags are refused");
    cuStreamGetId(NULL, &id);
    cuStreamGetId(CU_STREAM_LEGACY, &id_again);
    ok(id == id_again, "stream 0 is the legacy stream");
    cuStreamGetId(CU_STREAM_PER_THREAD, &id_again);
    ok(id != id_again, "the per-thread stream is another");
    cuStreamGetId_ptsz(NULL, &id);
    ok(id == id_again, "and is stream 0 for the _ptsz twins");

    cuDevicePrimaryCtxRetain(&other, 1);
    cuCtxSetCurrent(other);
    stream = new_stream(0);
    cuCtxSetCurrent(context);
    cuStreamGetCtx(stream, &found);
    cuStreamGetDevice(stream, &device);
    ok(found == other && device == 1, "a stream knows its context and its device");
    cuCtxSetCurrent(NULL);
    is_int(cuStreamGetCtx(stream, &found), 0, "it does without a current context");
    is_int(cuStreamGetCtx(NULL, &found), 201, "stream 0 does not");
    is_int(cuStreamGetCtx(CU_STREAM_PER_THREAD, &found), 201, "nor the per-thread stream");
    is_int(cuStreamGetCtx((CUstream)0x1000, &found), 400, "an unknown handle is refused");
    is_int(cuStreamDestroy_v2(stream), 0, "a stream is destroyed");
    is_int(cuStreamDestroy_v2(stream), 400, "once");
}

static void test_order(void)
{
    start(1);
    CUstream stream = new_stream(0), free_stream = new_stream(CU_STREAM_NON_BLOCKING);
    CUevent origin = new_event(0), blocking = new_event(0), legacy = new_event(0);
    CUevent not_blocking = new_event(0), per_thread = new_event(0);

    cuEventRecord(origin, free_stream);
    fakecuda_launch(stream, 5000000);
    cuEventRecord(blocking, stream);
    fakecuda_launch(NULL, 1000000);
    cuEventRecord(legacy, NULL);
    fakecuda_launch(free_stream, 1000000);
    cuEventRecord(not_blocking, free_stream);
    fakecuda_launch(CU_STREAM_PER_THREAD, 1000000);
    cuEventRecord(per_thread, CU_STREAM_PER_THREAD);
    is_int(cuEventQuery(not_blocking), 600, "work takes its time");
    fakecuda_advance(10000000);
    is_near(elapsed_ms(origin, blocking), 5, 1e-4, "5 ms of work take 5 ms");
    is_near(elapsed_ms(origin, legacy), 6, 1e-4, "the legacy stream waits for a blocking one");
    is_near(elapsed_ms(origin, not_blocking), 1, 1e-4, "not for a non-blocking one, nor it for it");
    is_near(elapsed_ms(origin, per_thread), 7, 1e-4,
            "the per-thread stream waits for the legacy one");

    CUstream other = new_stream(0);
    cuEventRecord(origin, free_stream);
    fakecuda_launch(stream, 5000000);
    cuEventRecord(legacy, NULL);
    cuEventRecord(blocking, other);
    fakecuda_advance(5000000);
    is_near(elapsed_ms(origin, legacy), 5, 1e-4, "a record on the legacy stream waits");
    is_near(elapsed_ms(origin, blocking), 5, 1e-4, "and what comes after it does, in any stream");

    fakecuda_launch(NULL, 2000000);
    fakecuda_launch(stream, 1000000);
    cuEventRecord(blocking, stream);
    cuEventRecord(origin, free_stream);
    cuStreamSynchronize(stream);
    is_near(elapsed_ms(origin, blocking), 3, 1e-4, "a blocking stream waits for the legacy one");
    is_int(cuStreamQuery(stream), 0, "after a synchronise nothing is left");
    is_int(fakecuda_calls_synchronizing(), 1, "and that one call is counted as waiting");
}

static void test_events(void)
{
    start(2);
    CUstream stream = new_stream(0), waiting = new_stream(0), remote;
    CUevent begin = new_event(0), end = new_event(0), other = new_event(0), far_event;
    CUcontext far_context;
    float ms;

    is_int(cuEventCreate(&far_event, 8), 1, "unknown flags are refused");
    is_int(cuEventCreate(&far_event, CU_EVENT_INTERPROCESS), 1,
           "an interprocess event cannot have timing");
    is_int(cuEventCreate(&far_event, 7), 0, "all flags together can be");
    is_int(cuEventQuery(begin), 0, "an event that was not recorded is complete");
    is_int(cuEventSynchronize(begin), 0, "and is not waited for");
    is_int(cuEventElapsedTime(&ms, begin, end), 400, "but has no time");
    is_int(cuStreamWaitEvent(stream, begin, 0), 0, "nor does a stream wait for it");

    fakecuda_hold(stream);
    cuEventRecord(begin, stream);
    cuEventRecord(end, waiting);
    is_int(cuEventQuery(begin), 600, "an event behind a hold is pending");
    is_int(cuEventElapsedTime(&ms, begin, end), 600, "and so is its time");
    cuStreamWaitEvent(waiting, begin, 0);
    cuEventRecord(begin, waiting);
    cuEventRecord(other, waiting);
    fakecuda_advance(1000000000);
    is_int(cuEventQuery(other), 600, "a stream waits for an event as it was when it was told to");
    is_int(fakecuda_release(stream), 0, "a hold is released");
    is_int(cuEventQuery(other), 0, "and what waited for it goes on");
    is_int(fakecuda_release(stream), 401, "there is no other hold");
    is_near(elapsed_ms(end, other), 1000, 1e-4, "after the time that it was held");

    cuDevicePrimaryCtxRetain(&far_context, 1);
    cuCtxPushCurrent_v2(far_context);
    remote = new_stream(0);
    far_event = new_event(0);
    cuCtxPopCurrent_v2(NULL);
    is_int(cuEventRecord(begin, remote), 400, "event and stream must share a context");
    is_int(cuEventRecord(far_event, remote), 0, "then the current one does not matter");
    is_int(cuEventElapsedTime(&ms, begin, far_event), 400, "two devices have no common time");
    fakecuda_launch(stream, 4000000);
    cuEventRecord(end, stream);
    is_int(cuStreamWaitEvent(remote, end, 0), 0, "a stream may wait for another device's event");
    cuEventRecord(begin, stream);
    cuEventRecord(far_event, remote);
    is_int(cuEventQuery(far_event), 600, "which it does");
    fakecuda_advance(4000000);
    is_int(cuEventQuery(far_event), 0, "until that is done");

    CUevent untimed = new_event(CU_EVENT_DISABLE_TIMING);
    cuEventRecord(untimed, stream);
    is_int(cuEventElapsedTime(&ms, begin, untimed), 400, "an event without timing has no time");
}

static void test_destruction(void)
{
    start(1);
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING), waiting = new_stream(0);
    CUevent event = new_event(0), end = new_event(0);

    fakecuda_hold(stream);
    cuEventRecord(event, stream);
    cuStreamWaitEvent(waiting, event, 0);
    cuEventRecord(end, waiting);
    is_int(cuEventDestroy_v2(event), 0, "a pending event can be destroyed");
    is_int(cuEventQuery(event), 400, "its handle is refused then");
    is_int(cuEventQuery(end), 600, "what waits for it goes on waiting");
    fakecuda_release(stream);
    fakecuda_launch(stream, 1000);
    event = new_event(0);
    cuEventRecord(event, stream);
    is_int(cuStreamDestroy_v2(stream), 0, "a stream with work can be destroyed");
    is_int(cuEventQuery(event), 600, "and its work still takes place");
    fakecuda_advance(1000);
    is_int(cuEventQuery(event), 0, "in its time");

    long before = fakecuda_handles();
    for (int i = 0; i < 1000; i++) {
        cuEventDestroy_v2(new_event(0));
        cuStreamDestroy_v2(new_stream(0));
    }
    is_int(fakecuda_handles(), before, "nothing is left of what was destroyed");
    end = new_event(0);
    cuEventDestroy_v2(end);
    ok(new_event(0) != end && cuEventQuery(end) == 400, "and no handle comes again");
}

static void test_clock(void)
{
    start(1);
    CUstream stream = new_stream(0);
    CUevent begin = new_event(0), end = new_event(0);

    fakecuda_gpu_clock(-5, 0, 1000);
    cuEventRecord(begin, stream);
    fakecuda_launch(stream, 1500);
    cuEventRecord(end, stream);
    fakecuda_advance(1500);
    is_near(elapsed_ms(begin, end) * 1e6, 2000, 0.01, "times are those of whole ticks");

    fakecuda_gpu_clock(0, 100, 1);
    cuEventRecord(begin, stream);
    fakecuda_advance(1000000000);
    cuEventRecord(end, stream);
    is_near(elapsed_ms(begin, end), 1000.1, 1e-4,
            "a clock that drifts by 100 ppm gains 0.1 ms a second");

    fakecuda_gpu_clock(0, 0, 1);
    cuEventRecord(begin, stream);
    fakecuda_advance(INT64_C(3600000000000) + 12345);
    cuEventRecord(end, stream);
    is_near(elapsed_ms(begin, end), (double)(float)3600000.012345, 0, "a time is a float of ms");
    ok(fabs(elapsed_ms(begin, end) - 3600000.012345) > 1e-3, "which cannot tell 12 us in an hour");

    int64_t now_ns = fakecuda_now();
    fakecuda_launch(stream, 7000000000);
    cuStreamSynchronize(stream);
    is_int(fakecuda_now() - now_ns, 7000000000, "waiting moves the virtual clock to the end");
    is_int(fakecuda_calls("cuEventRecord"), 6, "calls are counted by symbol");
    is_int(fakecuda_calls("cuEventRekord"), -1, "of symbols that there are");
}

/* In a double of its own: a stream that has come to a time of the virtual clock is busy until the
 * real one, which begins when the machine does, gets there. */
static void test_real_clock(void)
{
    start(1);
    fakecuda_virtual_clock(0);
    CUstream stream = new_stream(0);
    CUevent begin = new_event(0), end = new_event(0);
    int64_t before_ns = fakecuda_now();
    cuEventRecord(begin, stream);
    fakecuda_launch(stream, 3000000);
    int64_t queued_ns = fakecuda_now();
    cuEventRecord(end, stream);
    cuEventSynchronize(end);
    ok(fakecuda_now() - before_ns >= 3000000, "on the real clock 3 ms of work are waited for");
    double late_ms = (double)(queued_ns - before_ns) * 1e-6; /* at most, that the work was queued */
    double took_ms = elapsed_ms(begin, end);
    ok(took_ms > 3 - 1e-3 && took_ms < 3 + late_ms + 1e-3, "and take 3 ms");
}

/* What a thread does with its own stream and events, in no order: none of it may fail. */
static void *use(void *n_failures)
{
    CUstream stream;
    CUevent events[4];
    cuCtxSetCurrent(context);
    stream = new_stream(0);
    for (int i = 0; i < 4; i++)
        events[i] = new_event(0);
    for (unsigned i = 0; i < 4000; i++) {
        CUevent event = events[i % 4];
        CUresult result = cuEventRecord(event, i % 5 ? stream : NULL);
        fakecuda_launch(stream, 100);
        if (i % 7 == 0)
            result |= cuStreamWaitEvent(CU_STREAM_PER_THREAD, event, 0);
        if (i % 11 == 0)
            fakecuda_advance(1000);
        if (i % 13 == 0) {
            result |= cuEventDestroy_v2(event);
            events[i % 4] = new_event(0);
        } else if (cuEventQuery(event) == CUDA_ERROR_NOT_READY) {
            result |= cuEventSynchronize(event);
        }
        *(int *)n_failures += result != CUDA_SUCCESS;
    }
    for (int i = 0; i < 4; i++)
        cuEventDestroy_v2(events[i]);
    cuStreamDestroy_v2(stream);
    return NULL;
}

static void test_threads(void)
{
    enum { N_THREADS = 4 };
    pthread_t threads[N_THREADS];
    int n_failures[N_THREADS] = {0}, all = 0;
    start(1);
    long before = fakecuda_handles();
    for (int i = 0; i < N_THREADS; i++)
        pthread_create(&threads[i], NULL, use, &n_failures[i]);
    for (int i = 0; i < N_THREADS; i++) {
        pthread_join(threads[i], NULL);
        all += n_failures[i];
    }
    is_int(all, 0, "threads do not get into each other's way");
    is_int(fakecuda_handles(), before + N_THREADS,
           "but for their per-thread streams nothing is left");
}

int main(void)
{
    test_contexts();
    test_destroyed_contexts();
    test_green_contexts();
    test_streams();
    test_order();
    test_events();
    test_destruction();
    test_clock();
    test_real_clock();
    test_threads();
    fakecuda_reset();
    return done_testing();
}
