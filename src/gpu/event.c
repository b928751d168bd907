/* event.c - the driver's event belongs to one context, so it is made when the first stream is
 * known; and the driver calls an event that was never recorded complete, so that is remembered
 * here. */
#include "autoconf.h"

#include <rankclock/gpu.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/context.h"
#include "gpu/per_thread.h"

struct rkc_event {
    pthread_mutex_t lock; /* of what a first record sets */
    int device;           /* -1: not known yet */
    unsigned flags;       /* RKC_EVENT_* */
    int is_opened;        /* another process's: nobody here knows whether it was recorded */
    int is_recorded;
    CUevent handle; /* NULL: not made yet */
    CUcontext context;
    uint64_t context_id;
};

static int bad_argument(const char *function)
{
    return rkc_gpu_fail(RKC_EARG, "%s: %s", function, rkc_strerror(RKC_EARG));
}

/* ---- one event of the driver's ---- */

static unsigned driver_flags(unsigned flags)
{
    return (flags & RKC_EVENT_TIMING ? 0u : RKC_CUDA_EVENT_DISABLE_TIMING) |
           (flags & RKC_EVENT_BLOCKING ? RKC_CUDA_EVENT_BLOCKING_SYNC : 0u) |
           (flags & RKC_EVENT_INTERPROCESS ? RKC_CUDA_EVENT_INTERPROCESS : 0u);
}

/* Whether the driver's event is still there: RKC_ELOST if not. */
static int check_handle(const struct rkc_event *event)
{
    int status = event->handle ? rkc_context_check(event->context, event->context_id) : 0;
    return status ? rkc_gpu_fail(status, "context of the event: %s", rkc_strerror(status)) : 0;
}

/* Forget a driver's event that is not there any more. */
static int drop_lost(struct rkc_event *event)
{
    int status = check_handle(event);
    if (status != RKC_ELOST || event->is_opened)
        return status;
    event->handle = NULL;
    event->is_recorded = 0;
    return 0;
}

static void take_handle(struct rkc_event *event, int device, CUcontext context, CUevent handle)
{
    event->device = device;
    event->context = context;
    event->context_id = rkc_context_id(context);
    event->handle = handle;
    event->is_recorded = 0;
}

/* Make the driver's event in a context of a device that is the event's, or becomes it. */
static int make_handle(struct rkc_event *event, CUcontext context)
{
    int device;
    CUevent handle;
    int status = rkc_context_device(context, &device);
    if (status)
        return rkc_gpu_fail(status, "device of the stream: %s", rkc_strerror(status));
    if (event->device >= 0 && event->device != device)
        return rkc_gpu_fail(RKC_EDEVICE, "an event of device %d on a stream of device %d",
                            event->device, device);
    status = rkc_context_new_event(context, driver_flags(event->flags), &handle);
    if (status)
        return rkc_gpu_fail(status, "cuEventCreate: %s", rkc_strerror(status));
    take_handle(event, device, context, handle);
    return 0;
}

static int other_context(const struct rkc_event *event, CUcontext context)
{
    int device;
    if (rkc_context_device(context, &device) == 0 && device != event->device)
        return rkc_gpu_fail(RKC_EDEVICE, "an event of device %d on a stream of device %d",
                            event->device, device);
    return rkc_gpu_fail(RKC_ECONTEXT, "event and stream are of two contexts of device %d",
                        event->device);
}

/* Have the driver's event be of a stream's context. */
static int fit_handle(struct rkc_event *event, CUstream stream)
{
    CUcontext context;
    int status = rkc_context_of_stream(stream, &context);
    if (status)
        return rkc_gpu_fail(status, "stream %p: %s", (void *)stream, rkc_strerror(status));
    status = drop_lost(event);
    if (status)
        return status;
    if (!event->handle)
        return make_handle(event, context);
    return event->context == context ? 0 : other_context(event, context);
}

/* The driver's event if it stands for something; NULL if it was never recorded. */
static int get_handle(struct rkc_event *event, CUevent *handle)
{
    int status = 0;
    *handle = NULL;
    pthread_mutex_lock(&event->lock);
    if (event->is_recorded || event->is_opened) {
        status = rkc_gpu_ready();
        if (!status)
            status = check_handle(event);
        if (!status)
            *handle = event->handle;
    }
    pthread_mutex_unlock(&event->lock);
    return status;
}

/* ---- to make, to destroy, to look into ---- */

static int is_good(int device, unsigned flags)
{
    const unsigned all = RKC_EVENT_TIMING | RKC_EVENT_BLOCKING | RKC_EVENT_INTERPROCESS;
    return device >= -1 && !(flags & ~all) &&
           !(flags & RKC_EVENT_TIMING && flags & RKC_EVENT_INTERPROCESS);
}

int rkc_event_create(int device, unsigned flags, struct rkc_event **event)
{
    if (!event || !is_good(device, flags))
        return bad_argument("rkc_event_create");
    struct rkc_event *made = calloc(1, sizeof *made);
    if (!made || pthread_mutex_init(&made->lock, NULL) != 0) {
        free(made);
        return rkc_gpu_fail(RKC_ENOMEM, "no memory for an event");
    }
    made->device = device;
    made->flags = flags;
    *event = made;
    return 0;
}

/* The driver's event is left alone when its context is gone: its handle may be another's by now. */
void rkc_event_destroy(struct rkc_event *event)
{
    if (!event)
        return;
    if (event->handle && rkc_driver_get() &&
        rkc_context_check(event->context, event->context_id) != RKC_ELOST)
        rkc_driver_status(rkc_driver_table.event_destroy(event->handle));
    pthread_mutex_destroy(&event->lock);
    free(event);
}

static pthread_mutex_t *lock_of(const struct rkc_event *event)
{
    return (pthread_mutex_t *)(uintptr_t)&event->lock;
}

int rkc_event_device(const struct rkc_event *event)
{
    pthread_mutex_lock(lock_of(event));
    int device = event->device;
    pthread_mutex_unlock(lock_of(event));
    return device;
}

void *rkc_event_handle(const struct rkc_event *event)
{
    pthread_mutex_lock(lock_of(event));
    void *handle = event->handle;
    pthread_mutex_unlock(lock_of(event));
    return handle;
}

/* ---- to record, to wait ---- */

int rkc_event_record(struct rkc_event *event, void *stream)
{
    if (!event)
        return bad_argument("rkc_event_record");
    int status = rkc_gpu_ready();
    if (status)
        return status;
    CUstream on = rkc_gpu_stream(stream);
    pthread_mutex_lock(&event->lock);
    status = fit_handle(event, on);
    if (!status)
        status = rkc_gpu_check(rkc_driver_table.event_record(event->handle, on), "cuEventRecord");
    if (!status)
        event->is_recorded = 1;
    pthread_mutex_unlock(&event->lock);
    return status;
}

int rkc_event_wait(struct rkc_event *event, void *stream)
{
    CUevent handle;
    if (!event)
        return bad_argument("rkc_event_wait");
    int status = get_handle(event, &handle);
    if (status || !handle)
        return status;
    return rkc_gpu_check(rkc_driver_table.stream_wait_event(rkc_gpu_stream(stream), handle, 0),
                         "cuStreamWaitEvent");
}

static int relax(CUstreamCaptureMode *mode)
{
    int status = rkc_capture_relax(mode);
    return status
               ? rkc_gpu_fail(status, "cuThreadExchangeStreamCaptureMode: %s", rkc_strerror(status))
               : 0;
}

/* Call one of the driver's functions on the event, where a capture would not allow it. */
static int ask(struct rkc_event *event, CUresult (*function)(CUevent event), const char *call)
{
    CUevent handle;
    CUstreamCaptureMode mode;
    int status = get_handle(event, &handle);
    if (status || !handle)
        return status;
    status = relax(&mode);
    if (status)
        return status;
    status = rkc_gpu_check(function(handle), call);
    rkc_capture_restrict(mode);
    return status;
}

int rkc_event_query(struct rkc_event *event)
{
    if (!event)
        return bad_argument("rkc_event_query");
    return ask(event, rkc_driver_table.event_query, "cuEventQuery");
}

int rkc_event_synchronize(struct rkc_event *event)
{
    if (!event)
        return bad_argument("rkc_event_synchronize");
    return ask(event, rkc_driver_table.event_synchronize, "cuEventSynchronize");
}

/* ---- elapsed time ---- */

/* cuEventElapsedTime may keep to itself that work has failed: queries do not. */
static int read_elapsed(CUevent start, CUevent end, float *ms)
{
    const struct rkc_driver *driver = &rkc_driver_table;
    int status = rkc_gpu_check(driver->event_query(end), "cuEventQuery");
    if (!status)
        status = rkc_gpu_check(driver->event_query(start), "cuEventQuery");
    if (!status)
        status = rkc_gpu_check(driver->event_elapsed(ms, start, end), "cuEventElapsedTime");
    return status;
}

static int check_pair(struct rkc_event *start, struct rkc_event *end, CUevent handles[2])
{
    if (!(start->flags & end->flags & RKC_EVENT_TIMING))
        return rkc_gpu_fail(RKC_ENOTIMING, "%s", rkc_strerror(RKC_ENOTIMING));
    int status = get_handle(start, &handles[0]);
    if (!status)
        status = get_handle(end, &handles[1]);
    if (status)
        return status;
    if (!handles[0] || !handles[1])
        return rkc_gpu_fail(RKC_ENOTRECORDED, "the event at the %s was never recorded",
                            handles[0] ? "end" : "start");
    int of_start = rkc_event_device(start), of_end = rkc_event_device(end);
    return of_start == of_end
               ? 0
               : rkc_gpu_fail(RKC_EDEVICE, "elapsed time from device %d to device %d", of_start,
                              of_end);
}

int rkc_event_elapsed_ms(struct rkc_event *start, struct rkc_event *end, float *ms)
{
    CUevent handles[2] = {NULL, NULL};
    CUstreamCaptureMode mode;
    float elapsed_ms;
    if (!start || !end || !ms)
        return bad_argument("elapsed time");
    int status = check_pair(start, end, handles);
    if (!status)
        status = relax(&mode);
    if (status)
        return status;
    status = read_elapsed(handles[0], handles[1], &elapsed_ms);
    rkc_capture_restrict(mode);
    if (!status)
        *ms = elapsed_ms;
    return status;
}

int rkc_event_elapsed_ns(struct rkc_event *start, struct rkc_event *end, int64_t *ns)
{
    float ms;
    if (!ns)
        return bad_argument("elapsed time");
    int status = rkc_event_elapsed_ms(start, end, &ms);
    if (!status)
        *ns = (int64_t)((double)ms * 1e6 + (ms < 0 ? -0.5 : 0.5));
    return status;
}

/* ---- other processes ---- */

static int make_exported(struct rkc_event *event)
{
    CUcontext context = NULL;
    int status = drop_lost(event);
    if (status || event->handle)
        return status;
    status = event->device >= 0 ? rkc_context_of_device(event->device, &context)
                                : rkc_driver_status(rkc_driver_table.ctx_get_current(&context));
    if (!status && !context)
        status = RKC_ENOCONTEXT;
    if (status)
        return rkc_gpu_fail(status, "context of the event: %s", rkc_strerror(status));
    return make_handle(event, context);
}

int rkc_event_export(struct rkc_event *event, void *handle)
{
    CUipcEventHandle exported;
    if (!event || !handle || !(event->flags & RKC_EVENT_INTERPROCESS))
        return bad_argument("rkc_event_export");
    int status = rkc_gpu_ready();
    if (status)
        return status;
    pthread_mutex_lock(&event->lock);
    status = make_exported(event);
    if (!status)
        status = rkc_gpu_check(rkc_driver_table.ipc_get_event(&exported, event->handle),
                               "cuIpcGetEventHandle");
    pthread_mutex_unlock(&event->lock);
    if (!status)
        memcpy(handle, &exported, sizeof exported);
    return status;
}

/* Have the driver open it in a context of the device. */
static int open_handle(struct rkc_event *event, int device, const void *bytes)
{
    CUipcEventHandle exported;
    CUevent handle = NULL;
    CUcontext context = NULL;
    memcpy(&exported, bytes, sizeof exported);
    int status = device >= 0 ? 0 : rkc_context_current_device(&device);
    if (!status)
        status = rkc_context_of_device(device, &context);
    if (!status)
        status = rkc_context_push(context);
    if (status)
        return rkc_gpu_fail(status, "context of device %d: %s", device, rkc_strerror(status));
    status =
        rkc_gpu_check(rkc_driver_table.ipc_open_event(&handle, exported), "cuIpcOpenEventHandle");
    rkc_context_pop();
    if (!status)
        take_handle(event, device, context, handle);
    return status;
}

int rkc_event_open(int device, const void *handle, size_t size, struct rkc_event **event)
{
    struct rkc_event *opened;
    if (!event || !handle || size != RKC_IPC_HANDLE_BYTES)
        return bad_argument("rkc_event_open");
    int status = rkc_gpu_ready();
    if (!status)
        status = rkc_event_create(device, RKC_EVENT_INTERPROCESS, &opened);
    if (status)
        return status;
    status = open_handle(opened, device, handle);
    if (status) {
        rkc_event_destroy(opened);
        return status;
    }
    opened->is_opened = 1;
    *event = opened;
    return 0;
}
