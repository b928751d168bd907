/* stream.c - a default stream's handle means the context that is current at each call: the object's
 * own is made so around it. */
#include "autoconf.h"

#include <rankclock/gpu.h>

#include <stdlib.h>

#include "gpu/context.h"
#include "gpu/per_thread.h"

struct rkc_stream {
    CUstream handle;
    int device, priority;
    int is_external;
    CUcontext context;
    uint64_t context_id;
};

static int bad_argument(const char *function)
{
    return rkc_gpu_fail(RKC_EARG, "%s: %s", function, rkc_strerror(RKC_EARG));
}

/* ---- to make and to destroy ---- */

/* A stream as the driver knows it. */
static int describe(struct rkc_stream *stream, CUcontext context, CUstream handle)
{
    stream->handle = handle;
    stream->context = context;
    stream->context_id = rkc_context_id(context);
    int status = rkc_context_device(context, &stream->device);
    if (status)
        return rkc_gpu_fail(status, "device of the stream: %s", rkc_strerror(status));
    return rkc_gpu_check(rkc_driver_table.stream_get_priority(handle, &stream->priority),
                         "cuStreamGetPriority");
}

static int make_handle(CUcontext context, int priority, CUstream *handle)
{
    int status = rkc_context_push(context);
    if (status)
        return rkc_gpu_fail(status, "cuCtxPushCurrent: %s", rkc_strerror(status));
    status = rkc_gpu_check(
        rkc_driver_table.stream_create(handle, RKC_CUDA_STREAM_NON_BLOCKING, priority),
        "cuStreamCreateWithPriority");
    rkc_context_pop();
    return status;
}

static int create(struct rkc_stream *stream, int device, int priority)
{
    CUcontext context;
    CUstream handle = NULL;
    int status = device >= 0 ? 0 : rkc_context_current_device(&device);
    if (!status)
        status = rkc_context_of_device(device, &context);
    if (status)
        return rkc_gpu_fail(status, "context of device %d: %s", device, rkc_strerror(status));
    status = make_handle(context, priority, &handle);
    if (status)
        return status;
    status = describe(stream, context, handle);
    if (status)
        rkc_driver_status(rkc_driver_table.stream_destroy(handle));
    return status;
}

static int wrap(struct rkc_stream *stream, int device, CUstream handle)
{
    CUcontext context;
    int status = rkc_context_of_stream(handle, &context);
    if (status)
        return rkc_gpu_fail(status, "stream %p: %s", (void *)handle, rkc_strerror(status));
    status = describe(stream, context, handle);
    if (!status && device >= 0 && device != stream->device)
        status = rkc_gpu_fail(RKC_EDEVICE, "a stream of device %d, not of device %d",
                              stream->device, device);
    stream->is_external = 1;
    return status;
}

/* Memory for a stream, when the driver can be called. */
static int allocate(struct rkc_stream **stream)
{
    int status = rkc_gpu_ready();
    if (status)
        return status;
    *stream = calloc(1, sizeof **stream);
    return *stream ? 0 : rkc_gpu_fail(RKC_ENOMEM, "no memory for a stream");
}

int rkc_stream_create(int device, int priority, struct rkc_stream **stream)
{
    struct rkc_stream *made;
    if (!stream)
        return bad_argument("rkc_stream_create");
    int status = allocate(&made);
    if (status)
        return status;
    status = create(made, device, priority);
    if (status)
        free(made);
    else
        *stream = made;
    return status;
}

int rkc_stream_external(int device, void *handle, struct rkc_stream **stream)
{
    struct rkc_stream *made;
    if (!stream)
        return bad_argument("rkc_stream_external");
    int status = allocate(&made);
    if (status)
        return status;
    status = wrap(made, device, handle);
    if (status)
        free(made);
    else
        *stream = made;
    return status;
}

void rkc_stream_destroy(struct rkc_stream *stream)
{
    if (!stream)
        return;
    if (!stream->is_external && rkc_driver_get() &&
        rkc_context_check(stream->context, stream->context_id) != RKC_ELOST)
        rkc_driver_status(rkc_driver_table.stream_destroy(stream->handle));
    free(stream);
}

void *rkc_stream_handle(const struct rkc_stream *stream)
{
    return stream->handle;
}

int rkc_stream_device(const struct rkc_stream *stream)
{
    return stream->device;
}

int rkc_stream_priority(const struct rkc_stream *stream)
{
    return stream->priority;
}

/* ---- to use ---- */

/* Until leave, the stream's handle means this stream. */
static int enter(const struct rkc_stream *stream)
{
    int status = rkc_gpu_ready();
    if (status)
        return status;
    status = rkc_context_check(stream->context, stream->context_id);
    if (status)
        return rkc_gpu_fail(status, "context of the stream: %s", rkc_strerror(status));
    if (!rkc_stream_is_special(stream->handle))
        return 0;
    status = rkc_context_push(stream->context);
    return status ? rkc_gpu_fail(status, "cuCtxPushCurrent: %s", rkc_strerror(status)) : 0;
}

static void leave(const struct rkc_stream *stream)
{
    if (rkc_stream_is_special(stream->handle))
        rkc_context_pop();
}

/* What a public function is to be given for the handle, NULL being the current stream. */
static void *name_of(const struct rkc_stream *stream)
{
    return stream->handle ? (void *)stream->handle : (void *)1;
}

/* Asking a stream that is being captured would break the capture. */
static int ask_entered(const struct rkc_stream *stream, CUresult (*function)(CUstream stream),
                       const char *call)
{
    CUstreamCaptureMode mode;
    int status = rkc_stream_check_capture(stream->handle);
    if (!status)
        status = rkc_capture_relax(&mode);
    if (status)
        return rkc_gpu_fail(status, "%s: %s", call, rkc_strerror(status));
    status = rkc_gpu_check(function(stream->handle), call);
    rkc_capture_restrict(mode);
    return status;
}

static int ask(const struct rkc_stream *stream, CUresult (*function)(CUstream stream),
               const char *call)
{
    int status = enter(stream);
    if (status)
        return status;
    status = ask_entered(stream, function, call);
    leave(stream);
    return status;
}

int rkc_stream_query(struct rkc_stream *stream)
{
    if (!stream)
        return bad_argument("rkc_stream_query");
    return ask(stream, rkc_driver_table.stream_query, "cuStreamQuery");
}

int rkc_stream_synchronize(struct rkc_stream *stream)
{
    if (!stream)
        return bad_argument("rkc_stream_synchronize");
    return ask(stream, rkc_driver_table.stream_synchronize, "cuStreamSynchronize");
}

int rkc_stream_wait_event(struct rkc_stream *stream, struct rkc_event *event)
{
    if (!stream)
        return bad_argument("rkc_stream_wait_event");
    int status = enter(stream);
    if (status)
        return status;
    status = rkc_event_wait(event, name_of(stream));
    leave(stream);
    return status;
}

static int record(struct rkc_stream *stream, struct rkc_event *event)
{
    int status = enter(stream);
    if (status)
        return status;
    status = rkc_event_record(event, name_of(stream));
    leave(stream);
    return status;
}

int rkc_stream_wait_stream(struct rkc_stream *stream, struct rkc_stream *other)
{
    struct rkc_event *event;
    if (!stream || !other)
        return bad_argument("rkc_stream_wait_stream");
    int status = rkc_event_create(-1, 0, &event);
    if (status)
        return status;
    status = record(other, event);
    if (!status)
        status = rkc_stream_wait_event(stream, event);
    rkc_event_destroy(event);
    return status;
}

int rkc_stream_record_event(struct rkc_stream *stream, struct rkc_event **event, unsigned flags)
{
    struct rkc_event *made = NULL;
    if (!stream || !event)
        return bad_argument("rkc_stream_record_event");
    if (*event)
        return record(stream, *event);
    int status = rkc_event_create(-1, flags, &made);
    if (!status)
        status = record(stream, made);
    if (status)
        rkc_event_destroy(made);
    else
        *event = made;
    return status;
}
