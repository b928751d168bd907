/* context.c - a call with a wrong context current fails, or makes what is of no use: no event can
 * be recorded on a stream of another context. */
#include "autoconf.h"

#include "gpu/context.h"

#include <stddef.h>

/* Without a current context cuStreamGetCtx refuses the default streams; it creates none. */
int rkc_context_of_stream(CUstream stream, CUcontext *context)
{
    CUcontext found = NULL;
    int status = rkc_driver_status(rkc_driver_table.stream_get_ctx(stream, &found));
    if (!status)
        *context = found;
    return status;
}

uint64_t rkc_context_id(CUcontext context)
{
    unsigned long long id = 0;
    if (!rkc_driver_table.ctx_get_id ||
        rkc_driver_status(rkc_driver_table.ctx_get_id(context, &id)) != 0)
        return 0;
    return id;
}

int rkc_context_check(CUcontext context, uint64_t id)
{
    unsigned long long found = 0;
    if (id == 0)
        return 0;
    int status = rkc_driver_status(rkc_driver_table.ctx_get_id(context, &found));
    if (status == RKC_ENOCONTEXT || (!status && found != id))
        return RKC_ELOST;
    return status;
}

int rkc_context_current_device(int *device)
{
    CUdevice found;
    int status = rkc_driver_status(rkc_driver_table.ctx_get_device(&found));
    if (!status)
        *device = found;
    return status;
}

int rkc_context_device(CUcontext context, int *device)
{
    int status = rkc_context_push(context);
    if (status)
        return status;
    status = rkc_context_current_device(device);
    rkc_context_pop();
    return status;
}

/* The primary context's handle is only to be had by a reference, given back at once: it stays as
 * alive as the program keeps it. */
static int primary_context(CUdevice device, CUcontext *context)
{
    const struct rkc_driver *driver = &rkc_driver_table;
    unsigned flags;
    int is_active = 0;
    CUcontext found = NULL;
    int status = rkc_driver_status(driver->primary_get_state(device, &flags, &is_active));
    if (!status && !is_active)
        status = RKC_ENOCONTEXT;
    if (!status)
        status = rkc_driver_status(driver->primary_retain(&found, device));
    if (status)
        return status;
    status = rkc_driver_status(driver->primary_release(device));
    if (!status)
        *context = found;
    return status;
}

int rkc_context_of_device(int device, CUcontext *context)
{
    CUcontext current = NULL;
    CUdevice handle;
    int of = -1;
    int status = rkc_driver_status(rkc_driver_table.device_get(&handle, device));
    if (!status)
        status = rkc_driver_status(rkc_driver_table.ctx_get_current(&current));
    if (status)
        return status;
    if (current && rkc_context_current_device(&of) == 0 && of == device) {
        *context = current;
        return 0;
    }
    return primary_context(handle, context);
}

int rkc_context_push(CUcontext context)
{
    return rkc_driver_status(rkc_driver_table.ctx_push(context));
}

/* Tried again if it fails, for the program would go on in a context that is not its own. */
void rkc_context_pop(void)
{
    CUcontext context;
    if (rkc_driver_status(rkc_driver_table.ctx_pop(&context)) != 0)
        rkc_driver_status(rkc_driver_table.ctx_pop(&context));
}

int rkc_context_new_event(CUcontext context, unsigned flags, CUevent *event)
{
    CUevent made = NULL;
    int status = rkc_context_push(context);
    if (status)
        return status;
    status = rkc_driver_status(rkc_driver_table.event_create(&made, flags));
    rkc_context_pop();
    if (!status)
        *event = made;
    return status;
}

int rkc_capture_relax(CUstreamCaptureMode *mode)
{
    CUstreamCaptureMode exchanged = RKC_CUDA_CAPTURE_RELAXED;
    int status = rkc_driver_status(rkc_driver_table.exchange_capture_mode(&exchanged));
    if (!status)
        *mode = exchanged;
    return status;
}

void rkc_capture_restrict(CUstreamCaptureMode mode)
{
    rkc_driver_status(rkc_driver_table.exchange_capture_mode(&mode));
}

int rkc_event_poll(CUevent event)
{
    CUstreamCaptureMode mode;
    int status = rkc_capture_relax(&mode);
    if (status)
        return status;
    status = rkc_driver_status(rkc_driver_table.event_query(event));
    rkc_capture_restrict(mode);
    return status;
}
