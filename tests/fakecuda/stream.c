/* Streams as the driver API shows them. */
#include "double.h"

/* Each thread has one in each context. */
static struct fake_stream *per_thread(struct fake_context *context)
{
    uint64_t thread = fake_self()->number;
    for (struct fake_stream *s = context->streams; s; s = s->next)
        if (s->thread == thread)
            return s;
    struct fake_stream *stream = fake_stream_new(context, CU_STREAM_DEFAULT, 0);
    stream->thread = thread;
    return stream;
}

static int is_special(CUstream handle)
{
    return !handle || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD;
}

CUresult fake_stream_find(CUstream handle, struct fake_stream **stream)
{
    struct fake_context *context;
    if (!is_special(handle))
        return CUDA_ERROR_INVALID_HANDLE;
    CUresult result = fake_context_get(NULL, &context);
    if (result == CUDA_SUCCESS)
        *stream = handle == CU_STREAM_PER_THREAD ? per_thread(context) : context->legacy;
    return result;
}

static CUresult create_in(struct fake_context *context, CUstream *handle, unsigned flags,
                          int priority)
{
    if (!handle || flags & ~(unsigned)CU_STREAM_NON_BLOCKING)
        return CUDA_ERROR_INVALID_VALUE;
    if (priority > FAKE_LEAST_PRIORITY)
        priority = FAKE_LEAST_PRIORITY;
    if (priority < FAKE_GREATEST_PRIORITY)
        priority = FAKE_GREATEST_PRIORITY;
    fake_streams_reap(context);
    *handle = fake_stream_new(context, flags, priority)->handle;
    return CUDA_SUCCESS;
}

static CUresult create(CUstream *handle, unsigned flags, int priority)
{
    struct fake_context *context;
    CUresult result = fake_context_get(NULL, &context);
    return result == CUDA_SUCCESS ? create_in(context, handle, flags, priority) : result;
}

static CUresult create_green(CUstream *handle, CUgreenCtx green_handle, unsigned flags,
                             int priority)
{
    const struct fake_green *green = fake_object(FAKE_GREEN, green_handle);
    if (!green)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!(flags & CU_STREAM_NON_BLOCKING))
        return CUDA_ERROR_INVALID_VALUE;
    return create_in(green->context, handle, flags, priority);
}

/* What it has queued still takes place. */
static CUresult destroy(CUstream handle)
{
    struct fake_stream *stream = fake_object(FAKE_STREAM, handle);
    if (!stream || is_special(handle))
        return CUDA_ERROR_INVALID_HANDLE;
    fake_capture_leave(stream);
    fake_handle_free(handle);
    stream->is_destroyed = 1;
    fake_streams_reap(stream->context);
    return CUDA_SUCCESS;
}

static CUresult get_priority(CUstream handle, int *priority)
{
    struct fake_stream *stream;
    CUresult result = fake_stream_get(handle, &stream);
    if (result == CUDA_SUCCESS)
        *priority = stream->priority;
    return result;
}

static CUresult get_flags(CUstream handle, unsigned *flags)
{
    struct fake_stream *stream;
    CUresult result = fake_stream_get(handle, &stream);
    if (result == CUDA_SUCCESS)
        *flags = stream->flags;
    return result;
}

static CUresult get_id(CUstream handle, unsigned long long *id)
{
    struct fake_stream *stream;
    CUresult result = fake_stream_get(handle, &stream);
    if (result == CUDA_SUCCESS)
        *id = stream->id;
    return result;
}

static CUresult get_device(CUstream handle, CUdevice *device)
{
    struct fake_stream *stream;
    CUresult result = fake_stream_get(handle, &stream);
    if (result == CUDA_SUCCESS)
        *device = stream->context->device;
    return result;
}

static CUresult get_context(CUstream handle, CUcontext *context)
{
    struct fake_stream *stream;
    CUresult result = fake_stream_get(handle, &stream);
    if (result == CUDA_SUCCESS)
        *context = stream->context->handle;
    return result;
}

/* For the stream of a green context it gives the device's primary one, in which events of the
 * stream cannot be made. */
static CUresult get_contexts(CUstream handle, CUcontext *context, CUgreenCtx *green)
{
    struct fake_stream *stream;
    CUresult result = fake_stream_get(handle, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    const struct fake_context *own = stream->context;
    if (own->green && handle == CU_STREAM_PER_THREAD)
        return CUDA_ERROR_INVALID_HANDLE;
    *context = own->green ? fake.primary[own->device]->handle : own->handle;
    *green = own->green ? own->green->handle : NULL;
    return CUDA_SUCCESS;
}

/* What must not be done to a stream in a capture, nor to a legacy stream beside one. */
static CUresult usable(CUstream handle, struct fake_stream **stream)
{
    CUresult result = fake_stream_get(handle, stream);
    if (result != CUDA_SUCCESS)
        return result;
    if (fake_capture_is_implicit(*stream)) {
        fake_capture_invalidate(*stream);
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    if ((*stream)->capture) {
        fake_capture_invalidate(*stream);
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return CUDA_SUCCESS;
}

/* The legacy stream is idle when those that it waits for are. */
static int is_idle(void *object)
{
    struct fake_stream *stream = object;
    int idle = fake_stream_is_idle(stream);
    if (stream == stream->context->legacy)
        for (struct fake_stream *s = stream->context->streams; s; s = s->next)
            if (!(s->flags & CU_STREAM_NON_BLOCKING))
                idle &= fake_stream_is_idle(s);
    return idle;
}

static CUresult query(CUstream handle)
{
    struct fake_stream *stream;
    CUresult result = usable(handle, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    return is_idle(stream) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

static CUresult synchronize(CUstream handle)
{
    struct fake_stream *stream;
    CUresult result = usable(handle, &stream);
    if (result == CUDA_SUCCESS)
        fake_wait(is_idle, stream);
    return result;
}

FAKE_ENTRY(cuStreamCreate, (CUstream *stream, unsigned int flags), create(stream, flags, 0))
FAKE_ENTRY(cuStreamCreateWithPriority, (CUstream *stream, unsigned int flags, int priority),
           create(stream, flags, priority))
FAKE_ENTRY(cuGreenCtxStreamCreate,
           (CUstream *stream, CUgreenCtx green, unsigned int flags, int priority),
           create_green(stream, green, flags, priority))
FAKE_ENTRY(cuStreamDestroy, (CUstream stream), destroy(stream))
FAKE_ENTRY(cuStreamDestroy_v2, (CUstream stream), destroy(stream))
FAKE_ENTRY(cuStreamGetPriority, (CUstream stream, int *priority), get_priority(stream, priority))
FAKE_ENTRY(cuStreamGetFlags, (CUstream stream, unsigned int *flags), get_flags(stream, flags))
FAKE_ENTRY(cuStreamGetId, (CUstream stream, unsigned long long *id), get_id(stream, id))
FAKE_ENTRY(cuStreamGetDevice, (CUstream stream, CUdevice *device), get_device(stream, device))
FAKE_ENTRY(cuStreamGetCtx, (CUstream stream, CUcontext *context), get_context(stream, context))
FAKE_ENTRY(cuStreamGetCtx_v2, (CUstream stream, CUcontext *context, CUgreenCtx *green),
           get_contexts(stream, context, green))
FAKE_ENTRY(cuStreamQuery, (CUstream stream), query(stream))
FAKE_ENTRY(cuStreamSynchronize, (CUstream stream), synchronize(stream))
