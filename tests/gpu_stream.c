/* Streams as objects and the current stream, on the double of libcuda.so.1. */
#include "autoconf.h"

#include "gpu_double.h"
#include "tap.h"

#include <rankclock/gpu.h>

#include <pthread.h>

static struct rkc_stream *new_stream(int device)
{
    struct rkc_stream *stream = NULL;
    if (rkc_stream_create(device, 0, &stream) != 0)
        ok(0, "a stream can be made");
    return stream;
}

static int priority_of(int wanted)
{
    struct rkc_stream *stream;
    int own = 0;
    if (rkc_stream_create(0, wanted, &stream) != 0)
        return 99;
    int priority = rkc_stream_priority(stream);
    cuStreamGetPriority(rkc_stream_handle(stream), &own);
    rkc_stream_destroy(stream);
    return priority == own ? priority : 98;
}

static void test_made(void)
{
    struct rkc_stream *stream = NULL;
    unsigned flags = 0;
    unsigned primary_flags;
    int active;
    gpu_start(2);
    is_int(rkc_stream_create(1, 0, &stream), 0, "a stream can be made for another device");
    is_int(rkc_stream_device(stream), 1, "and is of it");
    cuStreamGetFlags(rkc_stream_handle(stream), &flags);
    is_int(flags, CU_STREAM_NON_BLOCKING, "it does not wait for the legacy stream");
    is_int(rkc_stream_query(stream), 0, "without work it is idle");
    CUcontext current;
    cuCtxGetCurrent(&current);
    ok(current == gpu_contexts[0], "what is current stays so");
    rkc_stream_destroy(stream);
    rkc_stream_destroy(NULL);
    stream = new_stream(-1);
    is_int(rkc_stream_device(stream), 0, "-1 is the current device");
    rkc_stream_destroy(stream);

    is_int(priority_of(0), 0, "a priority is as it was wanted");
    is_int(priority_of(-1), -1, "if there is such a one");
    is_int(priority_of(7), 0, "else the least");
    is_int(priority_of(-100), priority_of(-99), "or the most urgent one");
    ok(priority_of(-100) < -1, "which is read back");

    stream = NULL;
    is_int(rkc_stream_create(2, 0, &stream), RKC_ENODEVICE, "the device has to be there");
    is_int(rkc_stream_create(0, 0, NULL), RKC_EARG, "and a place for the stream");
    cuDevicePrimaryCtxRelease_v2(1);
    is_int(rkc_stream_create(1, 0, &stream), RKC_ENOCONTEXT, "and a context of the device");
    cuDevicePrimaryCtxGetState(1, &primary_flags, &active);
    is_int(active, 0, "none is made");
    cuCtxSetCurrent(NULL);
    is_int(rkc_stream_create(-1, 0, &stream), RKC_ENOCONTEXT, "or a current one");
    ok(!stream, "what fails makes no stream");
    is_int(fakecuda_calls_synchronizing(), 0, "nothing waited for the device");
    is_int(fakecuda_handles(), 3, "and nothing is left over");
}

static void test_external(void)
{
    struct rkc_stream *stream = NULL;
    gpu_start(2);
    CUstream own = gpu_stream(0);
    is_int(rkc_stream_external(-1, own, &stream), 0, "a stream of the program's can be used");
    ok(rkc_stream_handle(stream) == own && rkc_stream_device(stream) == 0, "as it is");
    rkc_stream_destroy(stream);
    is_int(cuStreamQuery(own), 0, "it is not destroyed with the object");
    stream = NULL;
    is_int(rkc_stream_external(1, own, &stream), RKC_EDEVICE, "its device is checked");
    is_str(rkc_gpu_error(), "a stream of device 0, not of device 1", "the text names both");
    is_int(rkc_stream_external(0, (void *)4711, &stream), RKC_EHANDLE, "and that it is one");
    is_int(rkc_stream_external(0, own, NULL), RKC_EARG, "and that there is a place for it");
    ok(!stream, "none of these makes one");
    is_int(rkc_stream_external(0, own, &stream), 0, "the right device is fine");
    cuStreamDestroy_v2(own);
    is_int(rkc_stream_query(stream), RKC_EHANDLE, "an end that nobody told is noticed");
    is_int(rkc_stream_synchronize(stream), RKC_EHANDLE, "at each call");
    rkc_stream_destroy(stream);
}

/* A default stream as an object stays that of its context. */
static void test_default_streams(void)
{
    struct rkc_event *event = NULL;
    gpu_start(2);
    for (uintptr_t handle = 0; handle <= 2; handle++) {
        struct rkc_stream *stream = NULL;
        is_int(rkc_stream_external(-1, (void *)handle, &stream), 0, "a default stream can be used");
        cuCtxSetCurrent(gpu_contexts[1]);
        is_int(rkc_stream_record_event(stream, &event, 0), 0, "with another context current");
        is_int(rkc_event_device(event), 0, "it is of the one that it was made in");
        cuCtxSetCurrent(NULL);
        is_int(rkc_stream_wait_event(stream, event), 0, "or with none");
        is_int(rkc_stream_query(stream), 0, "in any call");
        cuCtxSetCurrent(gpu_contexts[0]);
        rkc_stream_destroy(stream);
        rkc_event_destroy(event);
        event = NULL;
    }
    cuCtxSetCurrent(NULL);
    struct rkc_stream *stream = NULL;
    is_int(rkc_stream_external(-1, NULL, &stream), RKC_ENOCONTEXT,
           "without a context there is no default stream");
}

static void test_work(void)
{
    struct rkc_event *start = NULL, *end = NULL;
    int64_t ns = 0;
    gpu_start(2);
    struct rkc_stream *first = new_stream(0), *second = new_stream(1);
    is_int(rkc_stream_record_event(first, &start, RKC_EVENT_TIMING), 0, "a record makes an event");
    fakecuda_launch(rkc_stream_handle(first), 6400);
    is_int(rkc_stream_record_event(first, &end, RKC_EVENT_TIMING), 0, "with flags");
    struct rkc_event *same = end;
    is_int(rkc_stream_record_event(first, &end, 0), 0, "or takes the one that there is");
    ok(end == same, "as it is");
    is_int(rkc_stream_query(first), RKC_ENOTREADY, "a stream with work is not idle");
    is_int(rkc_stream_wait_stream(second, first), 0, "another stream can wait for it");
    is_int(rkc_stream_query(second), RKC_ENOTREADY, "and does");
    is_int(fakecuda_calls_synchronizing(), 0, "while no thread waits");
    is_int(rkc_stream_synchronize(second), 0, "until one does");
    is_int(rkc_stream_query(first), 0, "then both are idle");
    rkc_event_elapsed_ns(start, end, &ns);
    is_int(ns, 6400, "the time between the events is that of the work");

    fakecuda_hold(rkc_stream_handle(second));
    rkc_stream_record_event(second, &end, 0);
    is_int(rkc_stream_query(first), 0, "a stream does not wait unasked");
    rkc_event_destroy(end);
    end = NULL;
    rkc_stream_record_event(second, &end, 0);
    is_int(rkc_stream_wait_event(first, end), 0, "a stream can wait for an event");
    is_int(rkc_stream_query(first), RKC_ENOTREADY, "of the other device");
    fakecuda_release(rkc_stream_handle(second));
    is_int(rkc_stream_query(first), 0, "until it is complete");
    is_int(rkc_stream_record_event(first, &end, 0), RKC_EDEVICE, "but not record it");
    rkc_event_destroy(start);
    rkc_event_destroy(end);
    rkc_stream_destroy(first);
    rkc_stream_destroy(second);
}

static void test_arguments(void)
{
    struct rkc_event *event = NULL;
    gpu_start(1);
    struct rkc_stream *stream = new_stream(0);
    is_int(rkc_stream_query(NULL), RKC_EARG, "NULL is no stream to ask");
    is_int(rkc_stream_synchronize(NULL), RKC_EARG, "to wait for");
    is_int(rkc_stream_wait_event(NULL, NULL), RKC_EARG, "to wait");
    is_int(rkc_stream_wait_event(stream, NULL), RKC_EARG, "nor an event to be waited for");
    is_int(rkc_stream_wait_stream(stream, NULL), RKC_EARG, "nor a stream");
    is_int(rkc_stream_wait_stream(NULL, stream), RKC_EARG, "either way");
    is_int(rkc_stream_record_event(NULL, &event, 0), RKC_EARG, "nor to be recorded on");
    is_int(rkc_stream_record_event(stream, NULL, 0), RKC_EARG, "without a place for the event");
    is_int(rkc_stream_record_event(stream, &event, 5), RKC_EARG, "or with flags that do not go");
    ok(!event, "no event comes of it");
    rkc_stream_destroy(stream);
}

static void test_captures(void)
{
    CUgraph graph = NULL;
    struct rkc_stream *legacy = NULL;
    gpu_start(1);
    struct rkc_stream *stream = new_stream(0), *other = new_stream(0), *blocking = NULL;
    rkc_stream_external(0, NULL, &legacy);
    rkc_stream_external(0, gpu_stream(0), &blocking);
    cuStreamBeginCapture_v2(rkc_stream_handle(stream), CU_STREAM_CAPTURE_MODE_GLOBAL);
    is_int(rkc_stream_query(stream), RKC_ECAPTURE, "a stream that captures is not asked");
    is_int(rkc_stream_synchronize(stream), RKC_ECAPTURE, "nor waited for");
    is_int(rkc_stream_query(other), 0, "others are");
    is_int(rkc_stream_synchronize(other), 0, "in spite of it");
    is_int(rkc_stream_wait_stream(other, stream), 0, "they can join the capture");
    is_int(rkc_stream_wait_stream(stream, other), 0, "and come back");
    is_int(cuStreamEndCapture(rkc_stream_handle(stream), &graph), 0, "which is whole");
    cuGraphDestroy(graph);
    cuStreamBeginCapture_v2(rkc_stream_handle(blocking), CU_STREAM_CAPTURE_MODE_GLOBAL);
    is_int(rkc_stream_query(legacy), RKC_ECAPTURE, "nor is a legacy stream asked beside one");
    is_int(cuStreamEndCapture(rkc_stream_handle(blocking), &graph), 0, "which would break");
    cuGraphDestroy(graph);
    rkc_stream_destroy(stream);
    rkc_stream_destroy(other);
    rkc_stream_destroy(legacy);
    rkc_stream_destroy(blocking);
}

/* ---- the current stream ---- */

static int is_on(int device, void *stream)
{
    struct rkc_event *event = NULL, *probe = NULL;
    fakecuda_hold(stream);
    rkc_event_create(-1, 0, &event);
    rkc_event_create(-1, 0, &probe);
    rkc_event_record(event, NULL);
    int held = rkc_event_query(event) == RKC_ENOTREADY && rkc_event_device(event) == device;
    fakecuda_release(stream);
    held = held && rkc_event_query(event) == 0;
    rkc_event_destroy(event);
    rkc_event_destroy(probe);
    return held;
}

static void *has_none(void *result)
{
    *(int *)result = rkc_stream_current(0, &result) == &result;
    return NULL;
}

static void test_current(void)
{
    char mark;
    pthread_t thread;
    int alone = 0;
    gpu_start(2);
    CUstream a = gpu_stream(CU_STREAM_NON_BLOCKING), b = gpu_stream(CU_STREAM_NON_BLOCKING);
    cuCtxSetCurrent(gpu_contexts[1]);
    CUstream c = gpu_stream(CU_STREAM_NON_BLOCKING);
    cuCtxSetCurrent(gpu_contexts[0]);
    fakecuda_reset_calls();
    ok(rkc_stream_current(-1, &mark) == &mark && fakecuda_calls_all() == 0,
       "at first none is current, which needs no call");
    ok(is_on(0, NULL), "a record goes to the default stream then");
    is_int(rkc_stream_push(a), 0, "a stream is made current");
    is_int(rkc_stream_push(c), 0, "and one of another device");
    is_int(rkc_stream_push(b), 0, "and another one");
    ok(is_on(0, b), "a record without a stream goes to the last of the device");
    cuCtxSetCurrent(gpu_contexts[1]);
    ok(is_on(1, c), "each device has its own");
    ok(rkc_stream_current(0, NULL) == b && rkc_stream_current(1, NULL) == c &&
           rkc_stream_current(-1, NULL) == c && rkc_stream_current(7, &mark) == &mark,
       "which can be asked for");
    is_int(rkc_stream_pop(0), 0, "one can be popped");
    ok(rkc_stream_current(0, NULL) == a, "the one before is current again");
    ok(rkc_stream_current(1, NULL) == c, "on this device");
    is_int(rkc_stream_pop(-1), 0, "-1 is the current device here, too");
    is_int(rkc_stream_pop(1), RKC_ENOTFOUND, "then it has none");
    pthread_create(&thread, NULL, has_none, &alone);
    pthread_join(thread, NULL);
    is_int(alone, 1, "nor has another thread");
    cuCtxSetCurrent(gpu_contexts[0]);
    is_int(rkc_stream_push(NULL), 0, "the default stream can be pushed");
    ok(is_on(0, NULL) && rkc_stream_current(0, &mark) == NULL, "and is current");
    is_int(rkc_stream_push((void *)4711), RKC_EHANDLE, "what is no stream cannot");
    cuCtxSetCurrent(NULL);
    is_int(rkc_stream_push(NULL), RKC_ENOCONTEXT, "nor one without a context");
    is_int(rkc_stream_pop(-1), RKC_ENOCONTEXT, "or be popped");
    ok(rkc_stream_current(-1, &mark) == &mark, "without a context none is current");
    rkc_stream_pop(0);
    rkc_stream_pop(0);
    is_int(rkc_stream_pop(0), RKC_ENOTFOUND, "what was not pushed is not popped");
    for (int i = 0; i < 100; i++)
        rkc_stream_push(a);
    int n = 0;
    while (rkc_stream_pop(0) == 0)
        n++;
    is_int(n, 100, "as many can be pushed as are wanted");
}

static struct rkc_stream *inherited;

static int child_calls_nothing(void)
{
    struct rkc_stream *stream = NULL;
    fakecuda_reset_calls();
    int good = rkc_stream_query(inherited) == RKC_ENODRIVER &&
               rkc_stream_create(0, 0, &stream) == RKC_ENODRIVER &&
               rkc_stream_push(rkc_stream_handle(inherited)) == RKC_ENODRIVER;
    rkc_stream_destroy(inherited);
    return good && fakecuda_calls_all() == 0;
}

static void test_ends(void)
{
    CUcontext own;
    gpu_start(1);
    inherited = new_stream(0);
    is_int(gpu_in_child(child_calls_nothing), 1, "a forked child calls nothing");
    cuCtxCreate_v2(&own, 0, 0);
    struct rkc_stream *stream = new_stream(-1);
    cuCtxDestroy_v2(own);
    is_int(rkc_stream_query(stream), RKC_ELOST, "a stream goes with its context");
    is_int(rkc_stream_wait_stream(inherited, stream), RKC_ELOST, "for others, too");
    fakecuda_reset_calls();
    rkc_stream_destroy(stream);
    is_int(fakecuda_calls("cuStreamDestroy_v2"), 0, "and is not destroyed again");
    fakecuda_deinit();
    is_int(rkc_stream_query(inherited), RKC_ENODRIVER, "after its end there is no driver");
    fakecuda_reset_calls();
    rkc_stream_destroy(inherited);
    is_int(fakecuda_calls_all(), 0, "and none is called");
}

int main(void)
{
    test_made();
    test_external();
    test_default_streams();
    test_work();
    test_arguments();
    test_captures();
    test_current();
    test_ends();
    rkc_driver_forget();
    fakecuda_reset();
    return done_testing();
}
