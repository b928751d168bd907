/* counters.h - what the process has recorded of its own MPI calls, read back from its image.
 *
 * A test makes calls inside a region of its own and asks for the call path REGION/MPI_X; with
 * NULL as region, for the sum over all call paths that end in MPI_X.
 */
#ifndef TESTS_COUNTERS_H
#define TESTS_COUNTERS_H

#include <mpi.h>
#include <string.h>

#include <rankclock/region.h>

#include "calltree.h"
#include "image.h"
#include "runtime.h"

struct counters {
    int64_t calls, sent, received;
    int64_t in_flight, blocked; /* ticks */
    int64_t completed;
    int64_t size[RKC_SIZE_BUCKETS];
    int64_t sizes; /* entries in all */
    int64_t ticks; /* in the calls */
};

static inline const char *counters_name(const struct rkc_view *view, uint32_t node_unit)
{
    const struct rkc_node *node = rkc_image_at(view->base, node_unit);
    const struct rkc_region_block *region = rkc_image_at(view->base, node->region);
    return region->text;
}

static inline void counters_add(struct counters *counters, const struct rkc_view *view,
                                const struct rkc_node *node)
{
    const struct rkc_sums *sums = rkc_node_current(node);
    counters->calls += (int64_t)(sums->visits + node->inner);
    counters->ticks += (int64_t)sums->sum;
    const struct rkc_polls *polls = node->polls ? rkc_image_at(view->base, node->polls) : NULL;
    if (polls) {
        counters->calls += (int64_t)polls->visits;
        const struct rkc_sums *folded = rkc_sums_current(polls->sums);
        counters->ticks += (int64_t)folded->sum;
        for (uint64_t i = folded->visits; i < polls->visits; i++)
            counters->ticks += (int64_t)polls->pending[i % RKC_POLLS_PENDING];
    }
    if (!node->traffic)
        return;
    const struct rkc_traffic *traffic = rkc_image_at(view->base, node->traffic);
    counters->sent += (int64_t)traffic->sent;
    counters->received += (int64_t)traffic->received;
    counters->in_flight += (int64_t)traffic->in_flight;
    counters->blocked += (int64_t)traffic->blocked;
    counters->completed += (int64_t)traffic->completed;
    const struct rkc_sizes *far = traffic->sizes ? rkc_image_at(view->base, traffic->sizes) : NULL;
    for (unsigned i = 0; i < RKC_SIZE_BUCKETS; i++) {
        unsigned near = rkc_traffic_near(traffic, i);
        int64_t n = near < RKC_SIZES_NEAR ? (int64_t)traffic->size[near] : 0;
        n += far ? (int64_t)far->size[i] : 0;
        counters->size[i] += n;
        counters->sizes += n;
    }
}

/* Sum over the threads that have ended and the calling one. */
static inline struct counters counters_of(const char *region, const char *function)
{
    struct counters counters = {0};
    struct rkc_view view;
    int broken = 0;
    if (rkc_thread_own())
        rkc_private_fold(rkc_thread_own());
    rkc_view_own(&view, rkc_private_image());
    const struct rkc_block *block = NULL;
    while ((block = rkc_view_next(&view, block, &broken)) != NULL) {
        if (block->kind != RKC_BLOCK_NODES)
            continue;
        const struct rkc_nodes_block *nodes = (const void *)block;
        for (uint32_t i = 0; i < block->count; i++) {
            const struct rkc_node *node = &nodes->node[i];
            uint32_t unit = rkc_image_unit(view.base, node);
            if (node->parent && strcmp(counters_name(&view, unit), function) == 0 &&
                (!region || strcmp(counters_name(&view, node->parent), region) == 0))
                counters_add(&counters, &view, node);
        }
    }
    return counters;
}

/* End the recording, so that MPI_Finalize has nothing to write, and finalize. */
static inline void counters_end(void)
{
    rkc_private_stop(RKC_STATE_FINALIZED);
    rkc_private_done();
    MPI_Finalize();
}

#endif
