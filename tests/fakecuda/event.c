/* Events. One stands for its last recording; what waits for an earlier one keeps that. */
#include "double.h"

#include <stdlib.h>

struct fake_event *fake_event_new(struct fake_context *context, unsigned flags)
{
    struct fake_event *event = fake_alloc(sizeof(*event));
    event->handle = fake_handle_new(FAKE_EVENT, event);
    event->context = context;
    event->flags = flags;
    return event;
}

void fake_event_free(struct fake_event *event)
{
    fake_record_drop(event->record);
    fake_set_clear(&event->captured);
    if (event->shared)
        fake_shared_drop(event->shared);
    fake_handle_free(event->handle);
    free(event);
}

void fake_event_record(struct fake_event *event, struct fake_stream *stream)
{
    if (!event->record || event->record->references > 1) {
        fake_record_drop(event->record);
        event->record = fake_record_new();
    }
    event->record->is_known = 0;
    event->record->shared = event->shared;
    if (event->shared)
        event->record->sequence = fake_shared_begin(event->shared);
    event->capture_id = 0;
    fake_set_clear(&event->captured);
    fake_queue_record(stream, event->record);
}

/* The last recording, of whichever process; NULL when there is none. The caller drops it. */
static struct fake_record *last_record(const struct fake_event *event)
{
    struct fake_record *record = event->record;
    if (record && (!event->shared || fake_shared_is_last(event->shared, record->sequence))) {
        record->references++;
        return record;
    }
    if (!event->shared)
        return NULL;
    record = fake_record_new();
    record->shared = event->shared;
    return record;
}

static int is_done(void *object)
{
    const struct fake_event *event = object;
    if (event->record && event->record->is_known && !event->shared) /* nobody can drop it now */
        return fake_record_is_done(event->record);
    struct fake_record *record = last_record(object);
    int done = !record || fake_record_is_done(record);
    fake_record_drop(record);
    return done;
}

/* The event with a handle, if its state can be asked for. */
static CUresult get(CUevent handle, struct fake_event **event)
{
    struct fake_event *found = fake_object(FAKE_EVENT, handle);
    if (!found)
        return CUDA_ERROR_INVALID_HANDLE;
    if (found->capture_id)
        return CUDA_ERROR_CAPTURED_EVENT;
    *event = found;
    return CUDA_SUCCESS;
}

static CUresult create(CUevent *handle, unsigned flags)
{
    const unsigned all = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
    struct fake_context *context;
    CUresult result = fake_context_get(NULL, &context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!handle || flags & ~all)
        return CUDA_ERROR_INVALID_VALUE;
    if (flags & CU_EVENT_INTERPROCESS && !(flags & CU_EVENT_DISABLE_TIMING))
        return CUDA_ERROR_INVALID_VALUE;
    *handle = fake_event_new(context, flags)->handle;
    return CUDA_SUCCESS;
}

static CUresult destroy(CUevent handle)
{
    struct fake_event *event = fake_object(FAKE_EVENT, handle);
    if (!event)
        return CUDA_ERROR_INVALID_HANDLE;
    fake_event_free(event);
    return CUDA_SUCCESS;
}

static CUresult record(CUevent handle, CUstream stream_handle, unsigned flags)
{
    struct fake_stream *stream;
    struct fake_event *event = fake_object(FAKE_EVENT, handle);
    int is_taken = 0;
    CUresult result = fake_stream_get(stream_handle, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    if (!event || event->context != stream->context)
        return CUDA_ERROR_INVALID_HANDLE;
    if (flags & ~(unsigned)CU_EVENT_RECORD_EXTERNAL)
        return CUDA_ERROR_INVALID_VALUE;
    result = fake_capture_record(stream, event, flags, &is_taken);
    if (result == CUDA_SUCCESS && !is_taken)
        fake_event_record(event, stream);
    return result;
}

static CUresult query(CUevent handle)
{
    struct fake_event *event;
    CUresult result = get(handle, &event);
    if (result != CUDA_SUCCESS)
        return result;
    return is_done(event) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

static CUresult synchronize(CUevent handle)
{
    struct fake_event *event;
    CUresult result = get(handle, &event);
    if (result == CUDA_SUCCESS)
        fake_wait(is_done, event);
    return result;
}

/* Between two devices' clocks there is no time. */
static CUresult elapsed(float *ms, CUevent start_handle, CUevent end_handle)
{
    struct fake_event *start, *end;
    CUresult result = get(start_handle, &start);
    if (result == CUDA_SUCCESS)
        result = get(end_handle, &end);
    if (result != CUDA_SUCCESS)
        return result;
    if (!start->record || !end->record || start->context->device != end->context->device ||
        (start->flags | end->flags) & CU_EVENT_DISABLE_TIMING)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!is_done(start) || !is_done(end))
        return CUDA_ERROR_NOT_READY;
    int64_t ns = fake_gpu_ns(end->record->end_ns) - fake_gpu_ns(start->record->end_ns);
    *ms = (float)((double)ns * 1e-6);
    return CUDA_SUCCESS;
}

static CUresult wait(CUstream stream_handle, CUevent handle, unsigned flags)
{
    struct fake_stream *stream;
    struct fake_event *event = fake_object(FAKE_EVENT, handle);
    int is_taken = 0;
    CUresult result = fake_stream_get(stream_handle, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    if (!event)
        return CUDA_ERROR_INVALID_HANDLE;
    if (flags & ~(unsigned)CU_EVENT_WAIT_EXTERNAL)
        return CUDA_ERROR_INVALID_VALUE;
    result = fake_capture_wait(stream, event, flags, &is_taken);
    if (result != CUDA_SUCCESS || is_taken)
        return result;
    struct fake_record *record = last_record(event);
    if (record) {
        struct fake_op *op = fake_op_new(FAKE_WAIT, 0);
        op->record = record;
        fake_queue(stream, op);
    }
    return CUDA_SUCCESS;
}

static CUresult get_ipc_handle(CUipcEventHandle *handle, CUevent event_handle)
{
    struct fake_event *event = fake_object(FAKE_EVENT, event_handle);
    if (!event || !(event->flags & CU_EVENT_INTERPROCESS))
        return CUDA_ERROR_INVALID_HANDLE;
    if (!event->shared) {
        event->shared = fake_shared_create();
        if (!event->shared)
            return CUDA_ERROR_MAP_FAILED;
        /* What was recorded before is the first recording that others see. */
        struct fake_record *record = event->record;
        if (record) {
            record->shared = event->shared;
            record->sequence = fake_shared_begin(event->shared);
            if (record->is_known)
                fake_shared_end(event->shared, record->sequence, record->end_ns);
        }
    }
    fake_shared_name(event->shared, handle);
    return CUDA_SUCCESS;
}

static CUresult open_ipc_handle(CUevent *event_handle, const CUipcEventHandle *handle)
{
    struct fake_context *context;
    CUresult result = fake_context_get(NULL, &context);
    if (result != CUDA_SUCCESS)
        return result;
    struct fake_shared *shared = fake_shared_open(handle);
    if (!shared)
        return CUDA_ERROR_INVALID_HANDLE;
    struct fake_event *event =
        fake_event_new(context, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
    event->shared = shared;
    *event_handle = event->handle;
    return CUDA_SUCCESS;
}

FAKE_ENTRY(cuEventCreate, (CUevent *event, unsigned int flags), create(event, flags))
FAKE_ENTRY(cuEventDestroy, (CUevent event), destroy(event))
FAKE_ENTRY(cuEventDestroy_v2, (CUevent event), destroy(event))
FAKE_SHORT_ENTRY(cuEventRecord, (CUevent event, CUstream stream), record(event, stream, 0),
                  (void)0)
FAKE_ENTRY(cuEventRecordWithFlags, (CUevent event, CUstream stream, unsigned int flags),
           record(event, stream, flags))
FAKE_SHORT_ENTRY(cuEventQuery, (CUevent event), query(event), (void)0)
FAKE_ENTRY(cuEventSynchronize, (CUevent event), synchronize(event))
FAKE_SHORT_ENTRY(cuEventElapsedTime, (float *ms, CUevent start, CUevent end),
                  elapsed(ms, start, end), *ms = FAKE_HOLLOW_MS)
FAKE_ENTRY(cuEventElapsedTime_v2, (float *ms, CUevent start, CUevent end), elapsed(ms, start, end))
FAKE_ENTRY(cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned int flags),
           wait(stream, event, flags))
FAKE_ENTRY(cuIpcGetEventHandle, (CUipcEventHandle *handle, CUevent event),
           get_ipc_handle(handle, event))
FAKE_ENTRY(cuIpcOpenEventHandle, (CUevent *event, CUipcEventHandle handle),
           open_ipc_handle(event, &handle))
