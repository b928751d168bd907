/* gpu_region.c - a GPU region is a host region whose visits have events at both ends as well. */
#include "autoconf.h"

#include <rankclock/gpu.h>

#include "clock.h"
#include "gpu/driver.h"
#include "gpu/per_thread.h"
#include "gpu/timed.h"
#include "gpu_region.h"
#include "hot.h"
#include "runtime.h"

/* A driver that is not there yet is looked for again, but not at each visit: a miss takes 18 µs. */
static const int64_t LOOK_AGAIN_NS = 10000000;

static _Atomic uint64_t looked; /* ticks; not 0 once a visit found no driver */

const char *rkc_gpu_missing(void)
{
    return atomic_load_explicit(&looked, memory_order_relaxed) && !rkc_driver_get()
               ? rkc_driver_reason()
               : NULL;
}

static int has_driver(uint64_t now)
{
    if (RKC_LIKELY(rkc_driver_get() != NULL))
        return 1;
    uint64_t last = atomic_load_explicit(&looked, memory_order_relaxed);
    if (last && rkc_clock_ns(now - last, rkc_tree_rate()) < LOOK_AGAIN_NS)
        return 0;
    atomic_store_explicit(&looked, now, memory_order_relaxed);
    return rkc_driver_find() == 0;
}

void rkc_gpu_begin(struct rkc_region *region, void *stream)
{
    struct rkc_hot *hot = &rkc_private_hot;
    if (RKC_UNLIKELY(!region || !region->unit || !rkc_gate()))
        return;
    struct rkc_node *node = rkc_hot_ready() ? rkc_hot_begin(hot, region->hot) : NULL;
    if (RKC_UNLIKELY(!node))
        node = rkc_private_begin(region);
    /* Not timed on the host means not timed at all; "(deep)" is no region's. */
    if (RKC_LIKELY(node && node->region == region->unit && has_driver(node->begin)))
        rkc_timed_begin(hot->thread, node, rkc_gpu_stream(stream));
}

void rkc_gpu_end(struct rkc_region *region, void *stream)
{
    struct rkc_hot *hot = &rkc_private_hot;
    if (RKC_UNLIKELY(!region || !region->unit || !rkc_gate()))
        return;
    if (RKC_LIKELY(hot->thread && hot->thread->gpu)) {
        struct rkc_node *node = hot->open;
        while (RKC_UNLIKELY(node->region != region->unit && node->up))
            node = node->up;
        if (RKC_LIKELY(node->region == region->unit && !node->recursion))
            rkc_timed_end(hot->thread, node, rkc_gpu_stream(stream));
    }
    rkc_region_end(region);
}
