/* backend_host.c - the backends that need no GPU: the host's clock as events, and no events. */
#include "autoconf.h"

#include "gpu/backend.h"

#include <stdlib.h>

#include "clock.h"
#include "gpu/per_thread.h"

struct host_event {
    int64_t at_ns;
};

static int host_record(void *self, void *stream, void **event)
{
    (void)self;
    (void)stream;
    struct host_event *recorded = event ? *event : NULL;
    if (!event)
        return rkc_gpu_fail(RKC_EARG, "no place for the event");
    if (!recorded)
        recorded = malloc(sizeof *recorded);
    if (!recorded)
        return rkc_gpu_fail(RKC_ENOMEM, "no memory for an event");
    recorded->at_ns = rkc_clock_monotonic_ns();
    *event = recorded;
    return 0;
}

static int host_query(void *self, void *event)
{
    (void)self;
    return event ? 0 : rkc_gpu_fail(RKC_EARG, "NULL is no event");
}

static int host_elapsed(void *self, void *start, void *end, int64_t *ns)
{
    const struct host_event *from = start, *to = end;
    (void)self;
    if (!from || !to || !ns)
        return rkc_gpu_fail(RKC_EARG, "an argument is NULL");
    if (to->at_ns < from->at_ns)
        return rkc_gpu_fail(RKC_EARG, "the end came before the start");
    *ns = to->at_ns - from->at_ns;
    return 0;
}

static void host_release(void *self, void *event)
{
    (void)self;
    free(event);
}

static int host_synchronize(void *self)
{
    (void)self;
    return 0;
}

const struct rkc_gpu_backend rkc_backend_host = {
    .size = sizeof(struct rkc_gpu_backend),
    .version = RKC_GPU_BACKEND_VERSION,
    .name = "host",
    .record_event = host_record,
    .query = host_query,
    .elapsed_time_ns = host_elapsed,
    .release = host_release,
    .synchronize = host_synchronize,
};

/* ---- none ---- */

static int none_record(void *self, void *stream, void **event)
{
    (void)self;
    (void)stream;
    return event ? 0 : rkc_gpu_fail(RKC_EARG, "no place for the event");
}

static int none_query(void *self, void *event)
{
    (void)self;
    (void)event;
    return 0;
}

static int none_elapsed(void *self, void *start, void *end, int64_t *ns)
{
    (void)self;
    (void)start;
    (void)end;
    (void)ns;
    return rkc_gpu_fail(RKC_ENOTSUP, "the backend none has no times");
}

static void none_release(void *self, void *event)
{
    (void)self;
    (void)event;
}

const struct rkc_gpu_backend rkc_backend_none = {
    .size = sizeof(struct rkc_gpu_backend),
    .version = RKC_GPU_BACKEND_VERSION,
    .name = "none",
    .record_event = none_record,
    .query = none_query,
    .elapsed_time_ns = none_elapsed,
    .release = none_release,
};
