/* Contexts. One that was destroyed stays, dead, on the stacks of the threads that had it; a primary
 * context has one handle for good, and a new id each time it comes to life. */
#include "double.h"

#include <stdlib.h>

static struct fake_context *find(CUcontext handle)
{
    return fake_object(FAKE_CONTEXT, handle);
}

CUresult fake_context_get(CUcontext handle, struct fake_context **context)
{
    struct fake_thread *self = fake_self();
    if (!handle && self->depth)
        handle = self->stack[self->depth - 1];
    struct fake_context *found = find(handle);
    if (!found)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!found->is_alive)
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    *context = found;
    return CUDA_SUCCESS;
}

/* --- coming to life and being shut ---------------------------------------------------------- */

static void revive(struct fake_context *context)
{
    context->is_alive = 1;
    context->id = fake_new_id();
    context->legacy = fake_stream_new(context, CU_STREAM_DEFAULT, 0);
}

static struct fake_context *create(CUdevice device, unsigned flags)
{
    struct fake_context *context = fake_alloc(sizeof(*context));
    context->handle = fake_handle_new(FAKE_CONTEXT, context);
    context->device = device;
    context->flags = flags;
    context->next = fake.contexts;
    fake.contexts = context;
    return context;
}

static void free_event_of(void *object, void *data)
{
    struct fake_event *event = object;
    if (event->context == data)
        fake_event_free(event);
}

/* A thread may be in a host function of a stream, which must not go away under it. */
static int nothing_is_busy(void *object)
{
    for (const struct fake_stream *s = ((struct fake_context *)object)->streams; s; s = s->next)
        if (s->is_busy)
            return 0;
    return 1;
}

static void shut(struct fake_context *context)
{
    if (!context->is_alive)
        return;
    fake_wait(nothing_is_busy, context);
    fake_each(FAKE_EVENT, free_event_of, context);
    while (context->streams)
        fake_stream_drop(context->streams);
    context->legacy = NULL;
    fake_modules_clear(context);
    fake_memory_clear(context);
    context->is_alive = 0;
}

void fake_contexts_clear(void)
{
    while (fake.contexts) {
        struct fake_context *context = fake.contexts;
        shut(context);
        fake.contexts = context->next;
        free(context->green);
        free(context);
    }
    for (int i = 0; i < FAKECUDA_MAX_DEVICES; i++)
        fake.primary[i] = NULL;
}

/* --- primary contexts ------------------------------------------------------------------------ */

static int is_device(CUdevice device)
{
    return device >= 0 && device < fake.n_devices;
}

static CUresult retain(CUcontext *handle, CUdevice device)
{
    if (!is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    if (!handle)
        return CUDA_ERROR_INVALID_VALUE;
    struct fake_context **primary = &fake.primary[device];
    if (!*primary) {
        *primary = create(device, 0);
        (*primary)->is_primary = 1;
    }
    if (!(*primary)->is_alive)
        revive(*primary);
    (*primary)->references++;
    *handle = (*primary)->handle;
    return CUDA_SUCCESS;
}

static CUresult release(CUdevice device)
{
    if (!is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    struct fake_context *primary = fake.primary[device];
    if (!primary || primary->references == 0)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (--primary->references == 0)
        shut(primary);
    return CUDA_SUCCESS;
}

/* What retained it before still has to release it. */
static CUresult reset(CUdevice device)
{
    if (!is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    if (fake.primary[device])
        shut(fake.primary[device]);
    fake.sticky = CUDA_SUCCESS;
    return CUDA_SUCCESS;
}

static CUresult set_primary_flags(CUdevice device, unsigned flags)
{
    CUcontext handle;
    CUresult result = CUDA_SUCCESS;
    if (!is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    if (!fake.primary[device]) {
        result = retain(&handle, device);
        release(device);
    }
    fake.primary[device]->flags = flags;
    return result;
}

static CUresult get_primary_state(CUdevice device, unsigned *flags, int *active)
{
    if (!is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    const struct fake_context *primary = fake.primary[device];
    *flags = primary ? primary->flags : 0;
    *active = primary && primary->is_alive;
    return CUDA_SUCCESS;
}

/* --- the stack of a thread ------------------------------------------------------------------- */

static CUresult push(CUcontext handle)
{
    struct fake_thread *self = fake_self();
    const struct fake_context *context = find(handle);
    if (!context || !context->is_alive)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (self->depth == sizeof(self->stack) / sizeof(*self->stack))
        return CUDA_ERROR_OUT_OF_MEMORY;
    self->stack[self->depth++] = handle;
    return CUDA_SUCCESS;
}

static CUresult pop(CUcontext *handle)
{
    struct fake_thread *self = fake_self();
    if (self->depth == 0)
        return CUDA_ERROR_INVALID_CONTEXT;
    self->depth--;
    if (handle)
        *handle = self->stack[self->depth];
    return CUDA_SUCCESS;
}

/* In place of the top of the stack; NULL takes the top away. */
static CUresult set_current(CUcontext handle)
{
    const struct fake_context *context = find(handle);
    if (handle && (!context || !context->is_alive))
        return CUDA_ERROR_INVALID_CONTEXT;
    struct fake_thread *self = fake_self();
    if (self->depth)
        self->depth--;
    return handle ? push(handle) : CUDA_SUCCESS;
}

static CUresult get_current(CUcontext *handle)
{
    const struct fake_thread *self = fake_self();
    *handle = self->depth ? self->stack[self->depth - 1] : NULL;
    return CUDA_SUCCESS;
}

static CUresult create_current(CUcontext *handle, unsigned flags, CUdevice device)
{
    if (!is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    struct fake_context *context = create(device, flags);
    revive(context);
    *handle = context->handle;
    return push(context->handle);
}

static CUresult destroy(CUcontext handle)
{
    struct fake_context *context = find(handle);
    if (!context || context->is_primary || context->green)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!context->is_alive)
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    shut(context);
    struct fake_thread *self = fake_self();
    if (self->depth && self->stack[self->depth - 1] == handle)
        self->depth--;
    return CUDA_SUCCESS;
}

/* --- what a context is ----------------------------------------------------------------------- */

static CUresult get_device(CUdevice *device, CUcontext handle)
{
    struct fake_context *context;
    CUresult result = fake_context_get(handle, &context);
    if (result == CUDA_SUCCESS)
        *device = context->device;
    return result;
}

static CUresult get_flags(unsigned *flags)
{
    struct fake_context *context;
    CUresult result = fake_context_get(NULL, &context);
    if (result == CUDA_SUCCESS)
        *flags = context->flags;
    return result;
}

static CUresult get_id(CUcontext handle, unsigned long long *id)
{
    struct fake_context *context;
    CUresult result = fake_context_get(handle, &context);
    if (result == CUDA_SUCCESS)
        *id = context->id;
    return result;
}

static CUresult get_api_version(CUcontext handle, unsigned *version)
{
    struct fake_context *context;
    CUresult result = fake_context_get(handle, &context);
    if (result == CUDA_SUCCESS)
        *version = 3020;
    return result;
}

static CUresult get_priorities(int *least, int *greatest)
{
    struct fake_context *context;
    CUresult result = fake_context_get(NULL, &context);
    if (result != CUDA_SUCCESS)
        return result;
    if (least)
        *least = FAKE_LEAST_PRIORITY;
    if (greatest)
        *greatest = FAKE_GREATEST_PRIORITY;
    return CUDA_SUCCESS;
}

int fake_context_is_idle(void *object)
{
    int idle = 1;
    for (struct fake_stream *s = ((struct fake_context *)object)->streams; s; s = s->next)
        idle &= fake_stream_is_idle(s);
    return idle;
}

static CUresult synchronize(CUcontext handle)
{
    struct fake_context *context;
    CUresult result = fake_context_get(handle, &context);
    if (result != CUDA_SUCCESS)
        return result;
    /* A context is no more to be waited for than its streams that capture. */
    for (struct fake_stream *s = context->streams; s; s = s->next)
        if (s->capture) {
            fake_capture_invalidate(s);
            result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
    if (result == CUDA_SUCCESS)
        fake_wait(fake_context_is_idle, context);
    return result;
}

/* --- green contexts -------------------------------------------------------------------------- */

static CUresult green_create(CUgreenCtx *handle, CUdevice device, unsigned flags)
{
    CUcontext primary;
    if (!(flags & CU_GREEN_CTX_DEFAULT_STREAM))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = retain(&primary, device);
    if (result != CUDA_SUCCESS)
        return result;
    struct fake_green *green = fake_alloc(sizeof(*green));
    green->handle = fake_handle_new(FAKE_GREEN, green);
    green->context = create(device, 0);
    green->context->green = green;
    revive(green->context);
    *handle = green->handle;
    return CUDA_SUCCESS;
}

static CUresult green_destroy(CUgreenCtx handle)
{
    struct fake_green *green = fake_object(FAKE_GREEN, handle);
    if (!green)
        return CUDA_ERROR_INVALID_HANDLE;
    shut(green->context);
    fake_handle_free(handle);
    return release(green->context->device);
}

static CUresult green_context(CUcontext *context, CUgreenCtx handle)
{
    const struct fake_green *green = fake_object(FAKE_GREEN, handle);
    if (!green)
        return CUDA_ERROR_INVALID_HANDLE;
    *context = green->context->handle;
    return CUDA_SUCCESS;
}

FAKE_ENTRY(cuDevicePrimaryCtxRetain, (CUcontext *context, CUdevice device),
           retain(context, device))
FAKE_ENTRY(cuDevicePrimaryCtxRelease, (CUdevice device), release(device))
FAKE_ENTRY(cuDevicePrimaryCtxRelease_v2, (CUdevice device), release(device))
FAKE_ENTRY(cuDevicePrimaryCtxReset, (CUdevice device), reset(device))
FAKE_ENTRY(cuDevicePrimaryCtxReset_v2, (CUdevice device), reset(device))
FAKE_ENTRY(cuDevicePrimaryCtxSetFlags, (CUdevice device, unsigned int flags),
           set_primary_flags(device, flags))
FAKE_ENTRY(cuDevicePrimaryCtxSetFlags_v2, (CUdevice device, unsigned int flags),
           set_primary_flags(device, flags))
FAKE_ENTRY(cuDevicePrimaryCtxGetState, (CUdevice device, unsigned int *flags, int *active),
           get_primary_state(device, flags, active))
FAKE_ENTRY(cuCtxCreate_v2, (CUcontext *context, unsigned int flags, CUdevice device),
           create_current(context, flags, device))
FAKE_ENTRY(cuCtxCreate_v4,
           (CUcontext *context, CUctxCreateParams *options, unsigned int flags, CUdevice device),
           options ? CUDA_ERROR_NOT_SUPPORTED : create_current(context, flags, device))
FAKE_ENTRY(cuCtxDestroy_v2, (CUcontext context), destroy(context))
FAKE_ENTRY(cuCtxGetCurrent, (CUcontext *context), get_current(context))
FAKE_ENTRY(cuCtxSetCurrent, (CUcontext context), set_current(context))
FAKE_ENTRY(cuCtxPushCurrent_v2, (CUcontext context), push(context))
FAKE_ENTRY(cuCtxPopCurrent_v2, (CUcontext *context), pop(context))
FAKE_ENTRY(cuCtxGetDevice, (CUdevice *device), get_device(device, NULL))
FAKE_ENTRY(cuCtxGetDevice_v2, (CUdevice *device, CUcontext context), get_device(device, context))
FAKE_ENTRY(cuCtxGetFlags, (unsigned int *flags), get_flags(flags))
FAKE_ENTRY(cuCtxGetId, (CUcontext context, unsigned long long *id), get_id(context, id))
FAKE_ENTRY(cuCtxGetApiVersion, (CUcontext context, unsigned int *version),
           get_api_version(context, version))
FAKE_ENTRY(cuCtxGetStreamPriorityRange, (int *least, int *greatest),
           get_priorities(least, greatest))
FAKE_ENTRY(cuCtxSynchronize, (void), synchronize(NULL))
FAKE_ENTRY(cuCtxSynchronize_v2, (CUcontext context), synchronize(context))
FAKE_ENTRY(cuGreenCtxCreate,
           (CUgreenCtx *green, CUdevResourceDesc resources, CUdevice device, unsigned int flags),
           ((void)resources, green_create(green, device, flags)))
FAKE_ENTRY(cuGreenCtxDestroy, (CUgreenCtx green), green_destroy(green))
FAKE_ENTRY(cuCtxFromGreenCtx, (CUcontext *context, CUgreenCtx green),
           green_context(context, green))
