/* Events as objects, on the double of libcuda.so.1. */
#include "autoconf.h"

#include "gpu_double.h"
#include "tap.h"

#include <rankclock/gpu.h>

#include <pthread.h>

#define TIMING RKC_EVENT_TIMING

static struct rkc_event *new_event(int device, unsigned flags)
{
    struct rkc_event *event = NULL;
    if (rkc_event_create(device, flags, &event) != 0)
        ok(0, "an event can be made");
    return event;
}

static CUstream stream_of(int device)
{
    cuCtxPushCurrent_v2(gpu_contexts[device]);
    CUstream stream = gpu_stream(CU_STREAM_NON_BLOCKING);
    cuCtxPopCurrent_v2(NULL);
    return stream;
}

/* ---- flags ---- */

static unsigned seen_flags;

static CUresult note_flags(CUevent *event, unsigned flags)
{
    seen_flags = flags;
    return cuEventCreate(event, flags);
}

static unsigned flags_of(unsigned flags)
{
    struct rkc_event *event = new_event(-1, flags);
    rkc_event_record(event, NULL);
    rkc_event_destroy(event);
    return seen_flags;
}

static void test_flags(void)
{
    struct rkc_event *event = NULL;
    gpu_start(1);
    is_int(rkc_event_create(-1, RKC_EVENT_TIMING | RKC_EVENT_INTERPROCESS, &event), RKC_EARG,
           "an event for other processes has no timing");
    is_int(rkc_event_create(-1, 8, &event), RKC_EARG, "unknown flags are refused");
    is_int(rkc_event_create(-2, 0, &event), RKC_EARG, "and devices below -1");
    is_int(rkc_event_create(-1, 0, NULL), RKC_EARG, "there has to be a place for the event");
    ok(!event, "what fails makes none");
    rkc_event_destroy(NULL);

    rkc_driver_table.event_create = note_flags;
    is_int(flags_of(0), 2, "timing is off by default");
    is_int(flags_of(RKC_EVENT_TIMING), 0, "or on");
    is_int(flags_of(RKC_EVENT_TIMING | RKC_EVENT_BLOCKING), 1, "waiting may sleep");
    is_int(flags_of(RKC_EVENT_BLOCKING | RKC_EVENT_INTERPROCESS), 7, "the flags go together");
    is_int(fakecuda_handles(), 2, "nothing is left but context and legacy stream");
}

/* ---- life ---- */

static void test_unrecorded(void)
{
    gpu_start(1);
    struct rkc_event *event = new_event(-1, TIMING), *other = new_event(0, TIMING);
    int64_t ns = 77;
    float ms = 77;
    is_int(rkc_event_query(event), 0, "an event that was never recorded is complete");
    is_int(rkc_event_synchronize(event), 0, "there is nothing to wait for");
    is_int(rkc_event_wait(event, NULL), 0, "for streams, too");
    is_int(rkc_event_elapsed_ns(event, other, &ns), RKC_ENOTRECORDED, "it has no time");
    ok(strstr(rkc_gpu_error(), "at the start was never") != NULL, "the text says which");
    is_int(rkc_event_elapsed_ms(event, other, &ms), RKC_ENOTRECORDED, "in milliseconds, too");
    ok(ns == 77 && (int)ms == 77, "the result is left alone");
    is_int(rkc_event_device(event), -1, "its device is not known");
    is_int(rkc_event_device(other), 0, "unless it was said");
    ok(!rkc_event_handle(event), "there is no event of CUDA's");
    is_int(fakecuda_calls_all(), 0, "and no call was made");
    rkc_event_record(event, NULL);
    is_int(rkc_event_elapsed_ns(event, other, &ns), RKC_ENOTRECORDED, "both have to be recorded");
    ok(strstr(rkc_gpu_error(), "at the end was never") != NULL, "the text says which");
    rkc_event_destroy(event);
    rkc_event_destroy(other);
}

static void test_times(void)
{
    gpu_start(1);
    fakecuda_gpu_clock(5, 0, 1);
    CUstream stream = stream_of(0);
    struct rkc_event *start = new_event(-1, TIMING), *end = new_event(-1, TIMING);
    int64_t ns = 77;
    float ms = 0;
    fakecuda_reset_calls();
    is_int(rkc_event_record(start, stream), 0, "an event is recorded");
    fakecuda_launch(stream, 1234567);
    is_int(rkc_event_record(end, stream), 0, "and one after some work");
    is_int(rkc_event_query(start), 0, "the first is complete");
    is_int(rkc_event_query(end), RKC_ENOTREADY, "the second is not");
    is_int(rkc_event_elapsed_ns(start, end, &ns), RKC_ENOTREADY, "so there is no time yet");
    is_int(ns, 77, "nor a result");
    fakecuda_advance(1234567);
    is_int(rkc_event_query(end), 0, "then it is");
    is_int(rkc_event_elapsed_ns(start, end, &ns), 0, "and there is a time");
    is_int(ns, 1234567, "to the ns");
    is_int(rkc_event_elapsed_ns(end, start, &ns), 0, "it can be had backwards");
    is_int(ns, -1234567, "and is negative then");
    is_int(rkc_event_elapsed_ms(start, end, &ms), 0, "in milliseconds it is CUDA's own");
    is_near(ms, 1.234567, 1e-6, "number");
    is_int(fakecuda_calls_synchronizing(), 0, "nothing waited for the device");

    fakecuda_launch(stream, 100);
    rkc_event_record(start, stream);
    is_int(rkc_event_query(start), RKC_ENOTREADY, "recorded again it stands for the new work");
    is_int(rkc_event_synchronize(start), 0, "which can be waited for");
    is_int(rkc_event_query(start), 0, "to its end");
    is_int(fakecuda_calls("cuEventSynchronize"), 1, "by the call for it");
    rkc_event_elapsed_ns(end, start, &ns);
    is_int(ns, 100, "the time is that of the new record");
    fakecuda_launch(stream, 3600000000000);
    rkc_event_record(end, stream);
    fakecuda_advance(3600000000000);
    rkc_event_elapsed_ns(start, end, &ns);
    is_near((double)ns, 3.6e12, 125000, "an hour is known to a float's precision");
    rkc_event_destroy(start);
    rkc_event_destroy(end);
}

static void test_wrong_pairs(void)
{
    gpu_start(2);
    struct rkc_event *timed = new_event(-1, TIMING), *plain = new_event(-1, 0);
    struct rkc_event *far_away = new_event(1, TIMING);
    int64_t ns;
    float ms;
    rkc_event_record(timed, stream_of(0));
    rkc_event_record(plain, stream_of(0));
    rkc_event_record(far_away, stream_of(1));
    is_int(rkc_event_elapsed_ns(timed, plain, &ns), RKC_ENOTIMING, "both need timing");
    is_int(rkc_event_elapsed_ns(plain, timed, &ns), RKC_ENOTIMING, "either way");
    is_int(rkc_event_elapsed_ns(timed, far_away, &ns), RKC_EDEVICE,
           "between devices there is no time");
    is_str(rkc_gpu_error(), "elapsed time from device 0 to device 1", "the text names both");
    is_int(rkc_event_elapsed_ns(NULL, timed, &ns), RKC_EARG, "NULL is no event");
    is_int(rkc_event_elapsed_ms(timed, NULL, &ms), RKC_EARG, "neither here");
    is_int(rkc_event_elapsed_ns(timed, timed, NULL), RKC_EARG, "nor a result");
    is_int(rkc_event_elapsed_ms(timed, timed, NULL), RKC_EARG, "in any form");
    is_int(rkc_event_record(NULL, NULL), RKC_EARG, "nor to be recorded");
    is_int(rkc_event_query(NULL), RKC_EARG, "or asked");
    is_int(rkc_event_synchronize(NULL), RKC_EARG, "or waited for");
    is_int(rkc_event_wait(NULL, NULL), RKC_EARG, "by anyone");
    rkc_event_destroy(timed);
    rkc_event_destroy(plain);
    rkc_event_destroy(far_away);
}

/* ---- devices and contexts ---- */

static void test_devices(void)
{
    CUcontext own;
    gpu_start(2);
    CUstream near_by = stream_of(0), far_away = stream_of(1);
    struct rkc_event *event = new_event(-1, TIMING), *bound = new_event(1, TIMING);
    is_int(rkc_event_record(event, far_away), 0, "the first stream may be of any device");
    is_int(rkc_event_device(event), 1, "it decides the event's");
    is_int(rkc_event_record(event, near_by), RKC_EDEVICE, "then none of another will do");
    is_str(rkc_gpu_error(), "an event of device 1 on a stream of device 0", "the text names both");
    is_int(rkc_event_record(bound, near_by), RKC_EDEVICE, "nor when the device was said before");
    is_str(rkc_gpu_error(), "an event of device 1 on a stream of device 0", "as it names here");
    is_int(rkc_event_record(bound, NULL), RKC_EDEVICE, "default streams are of a device, too");
    ok(!rkc_event_handle(bound), "nothing was made for it");

    is_int(rkc_event_wait(event, near_by), 0, "a stream may wait for another device's event");
    cuCtxCreate_v2(&own, 0, 1);
    CUstream other = gpu_stream(0);
    is_int(rkc_event_record(event, other), RKC_ECONTEXT, "contexts of one device are two things");
    cuCtxSetCurrent(NULL);
    cuCtxPopCurrent_v2(NULL);
    cuCtxSetCurrent(NULL);
    is_int(rkc_event_record(event, NULL), RKC_ENOCONTEXT,
           "without a context there is no default stream");
    is_int(rkc_event_wait(event, NULL), RKC_ENOCONTEXT, "nor does it wait");
    is_int(rkc_event_record(event, far_away), 0, "others are as before");
    is_int(rkc_event_record(event, (void *)4711), RKC_EHANDLE, "what is no stream is refused");
    is_int(rkc_event_wait(event, (void *)4711), RKC_EHANDLE, "by both");
    rkc_event_destroy(event);
    rkc_event_destroy(bound);
}

static void test_cross_device(void)
{
    gpu_start(2);
    CUstream near_by = stream_of(0), far_away = stream_of(1);
    struct rkc_event *first = new_event(-1, 0), *second = new_event(-1, 0);
    fakecuda_launch(far_away, 1000);
    rkc_event_record(first, far_away);
    is_int(rkc_event_wait(first, near_by), 0, "a stream waits for an event");
    rkc_event_record(second, near_by);
    is_int(rkc_event_query(second), RKC_ENOTREADY, "what comes after it waits, too");
    fakecuda_advance(999);
    is_int(rkc_event_query(second), RKC_ENOTREADY, "all the time");
    fakecuda_advance(1);
    is_int(rkc_event_query(second), 0, "until it is complete");
    is_int(fakecuda_calls_synchronizing(), 0, "while no thread waited");
    rkc_event_destroy(first);
    rkc_event_destroy(second);
}

static void test_lost(void)
{
    CUcontext own;
    int64_t ns;
    gpu_start(1);
    cuCtxCreate_v2(&own, 0, 0);
    struct rkc_event *event = new_event(-1, TIMING);
    rkc_event_record(event, NULL);
    cuCtxDestroy_v2(own);
    fakecuda_reset_calls();
    is_int(rkc_event_query(event), RKC_ELOST, "an event goes with its context");
    is_int(rkc_event_elapsed_ns(event, event, &ns), RKC_ELOST, "and its time");
    is_int(rkc_event_synchronize(event), RKC_ELOST, "none waits for it");
    is_int(rkc_event_wait(event, NULL), RKC_ELOST, "on any stream");
    is_int(fakecuda_calls("cuEventQuery") + fakecuda_calls("cuEventSynchronize"), 0,
           "its handle is not used");
    is_int(rkc_event_record(event, NULL), 0, "it can be recorded in another one");
    is_int(rkc_event_query(event), 0, "and is whole again");
    cuDevicePrimaryCtxReset_v2(0);
    cuDevicePrimaryCtxRetain(&gpu_contexts[0], 0);
    is_int(rkc_event_query(event), RKC_ELOST, "a reset of the device is no different");
    is_int(rkc_event_record(event, NULL), 0, "though the context has the handle it had");
    cuDevicePrimaryCtxReset_v2(0);
    fakecuda_reset_calls();
    rkc_event_destroy(event);
    is_int(fakecuda_calls("cuEventDestroy_v2"), 0, "a lost event is not destroyed");

    gpu_start(1);
    event = new_event(-1, TIMING);
    rkc_event_record(event, NULL);
    fakecuda_sticky(700);
    is_int(rkc_event_query(event), RKC_ELOST, "after an error that stays all is lost");
    is_int(rkc_event_record(event, NULL), RKC_ELOST, "and told so, each time");
    rkc_event_destroy(event);
}

/* ---- captures ---- */

static void test_captures(void)
{
    CUgraph graph = NULL;
    gpu_start(1);
    CUstream stream = stream_of(0), other = stream_of(0);
    struct rkc_event *event = new_event(-1, TIMING), *inside = new_event(-1, TIMING);
    int64_t ns;
    rkc_event_record(event, other);
    cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    is_int(rkc_event_query(event), 0, "an event can be asked while another stream captures");
    is_int(rkc_event_elapsed_ns(event, event, &ns), 0, "for its time, too");
    is_int(rkc_event_synchronize(event), 0, "and be waited for");
    is_int(rkc_event_record(inside, stream), 0, "a record becomes part of the capture");
    is_int(rkc_event_query(inside), RKC_ECAPTURE, "and has no state then");
    is_int(rkc_event_elapsed_ns(event, inside, &ns), RKC_ECAPTURE, "nor a time");
    is_int(rkc_event_wait(inside, other), 0, "other streams join by it");
    rkc_event_record(inside, other);
    is_int(rkc_event_wait(inside, stream), 0, "and come back");
    is_int(cuStreamEndCapture(stream, &graph), 0, "the capture is whole");
    cuGraphDestroy(graph);
    is_int(rkc_event_record(inside, stream), 0, "recorded outside again");
    is_int(rkc_event_query(inside), 0, "an event is as before");
    rkc_event_destroy(event);
    rkc_event_destroy(inside);
}

/* ---- ends ---- */

static struct rkc_event *inherited;

static int child_calls_nothing(void)
{
    struct rkc_event *event = NULL;
    fakecuda_reset_calls();
    int good = rkc_event_query(inherited) == RKC_ENODRIVER &&
               rkc_event_record(inherited, NULL) == RKC_ENODRIVER &&
               rkc_event_create(-1, 0, &event) == 0 && rkc_event_query(event) == 0;
    rkc_event_destroy(event);
    rkc_event_destroy(inherited);
    return good && fakecuda_calls_all() == 0;
}

static void test_ends(void)
{
    gpu_start(1);
    inherited = new_event(-1, 0);
    rkc_event_record(inherited, NULL);
    is_int(gpu_in_child(child_calls_nothing), 1, "a forked child calls nothing");
    is_int(rkc_event_query(inherited), 0, "which its parent does not notice");
    fakecuda_deinit();
    is_int(rkc_event_query(inherited), RKC_ENODRIVER, "after its end there is no driver");
    fakecuda_reset_calls();
    is_int(rkc_event_record(inherited, NULL), RKC_ENODRIVER, "for any call");
    ok(strstr(rkc_gpu_error(), "CUDA was shut down") != NULL, "the text says why");
    rkc_event_destroy(inherited);
    is_int(fakecuda_calls_all(), 0, "none is made");

    rkc_driver_forget();
    fakecuda_reset();
    inherited = new_event(-1, 0);
    is_int(rkc_event_record(inherited, NULL), RKC_ENODRIVER, "nor before the program's cuInit");
    is_str(rkc_gpu_error(), "no CUDA: the program has not initialised CUDA", "for this reason");
    rkc_event_destroy(inherited);
}

static void test_old_driver(void)
{
    int64_t ns = 0;
    gpu_set_up(1);
    fakecuda_driver_version(11000);
    struct rkc_event *start = new_event(-1, TIMING), *end = new_event(-1, TIMING);
    is_int(rkc_event_record(start, NULL), 0, "an 11.0 driver records");
    fakecuda_launch(NULL, 320);
    rkc_event_record(end, NULL);
    fakecuda_advance(320);
    is_int(rkc_event_elapsed_ns(start, end, &ns), 0, "and tells times");
    is_int(ns, 320, "the same ones");
    is_int(fakecuda_calls_too_new(), 0, "with nothing that it does not have");
    rkc_event_destroy(start);
    rkc_event_destroy(end);
}

/* ---- threads ---- */

enum { THREADS = 4, ROUNDS = 2000 };

static struct rkc_event *shared;

static void *use(void *failures)
{
    struct rkc_event *start = new_event(-1, TIMING), *end = new_event(-1, TIMING);
    cuCtxSetCurrent(gpu_contexts[0]);
    CUstream stream = gpu_stream(CU_STREAM_NON_BLOCKING);
    for (int i = 0; i < ROUNDS; i++) {
        int64_t ns = 0;
        *(int *)failures += rkc_event_record(start, stream) != 0;
        *(int *)failures += rkc_event_record(shared, stream) != 0;
        *(int *)failures += rkc_event_record(end, stream) != 0;
        *(int *)failures += rkc_event_query(shared) != 0;
        *(int *)failures += rkc_event_synchronize(end) != 0;
        *(int *)failures += rkc_event_elapsed_ns(start, end, &ns) != 0 || ns < 0;
    }
    rkc_event_record(start, (void *)77);
    *(int *)failures += !strstr(rkc_gpu_error(), "stream 0x4d");
    rkc_event_destroy(start);
    rkc_event_destroy(end);
    cuStreamDestroy_v2(stream);
    return NULL;
}

static void test_threads(void)
{
    pthread_t threads[THREADS];
    int failures[THREADS] = {0}, all = 0;
    gpu_start(1);
    rkc_event_query(NULL);
    shared = new_event(-1, TIMING);
    long before = fakecuda_handles();
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, use, &failures[i]);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        all += failures[i];
    }
    is_int(all, 0, "several threads can record, one event among them");
    is_int(fakecuda_handles(), before + 1, "which made one handle");
    ok(strstr(rkc_gpu_error(), "rkc_event_query") != NULL, "each thread has its own error");
    rkc_event_destroy(shared);
}

int main(void)
{
    is_str(rkc_gpu_error(), "", "at first nothing has gone wrong");
    test_flags();
    test_unrecorded();
    test_times();
    test_wrong_pairs();
    test_devices();
    test_cross_device();
    test_lost();
    test_captures();
    test_ends();
    test_old_driver();
    test_threads();
    rkc_driver_forget();
    fakecuda_reset();
    return done_testing();
}
