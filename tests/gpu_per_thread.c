/* A program that is compiled for per-thread default streams: NULL is the thread's own. */
#include "autoconf.h"

#define CUDA_API_PER_THREAD_DEFAULT_STREAM
#include <rankclock/gpu.h>

#include "gpu_double.h"
#include "tap.h"

/* Whether a call without a stream goes to this one. */
static int goes_to(void *stream)
{
    struct rkc_event *event = NULL;
    rkc_event_create(-1, 0, &event);
    fakecuda_hold(stream);
    rkc_event_record(event, NULL);
    int recorded = rkc_event_query(event) == RKC_ENOTREADY;
    fakecuda_release(stream);
    rkc_event_destroy(event);
    return recorded;
}

int main(void)
{
    struct rkc_stream *object = NULL;
    struct rkc_event *event = NULL, *second = NULL;
    gpu_start(1);
    CUstream other = gpu_stream(CU_STREAM_NON_BLOCKING);
    ok(goes_to((void *)2), "NULL is the thread's own stream");
    ok(!goes_to(other), "and no other");
    is_int(rkc_stream_push(other), 0, "unless a stream is current");
    ok(goes_to(other), "which it is then");
    is_int(rkc_stream_push(NULL), 0, "pushed it is");
    ok(goes_to((void *)2) && rkc_stream_current(-1, NULL) == (void *)2, "the thread's own");
    is_int(rkc_stream_external(0, NULL, &object), 0, "as an object");
    ok(rkc_stream_handle(object) == (void *)2, "it is, too");
    rkc_event_create(-1, 0, &event);
    rkc_event_create(-1, 0, &second);
    fakecuda_hold(other);
    rkc_event_record(event, other);
    is_int(rkc_event_wait(event, NULL), 0, "it can wait");
    rkc_event_record(second, (void *)2);
    is_int(rkc_event_query(second), RKC_ENOTREADY, "and does");
    fakecuda_release(other);
    rkc_event_destroy(event);
    rkc_event_destroy(second);
    rkc_stream_destroy(object);
    rkc_driver_forget();
    fakecuda_reset();
    return done_testing();
}
