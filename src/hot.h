/* hot.h - begin and end of a region when all is well; anything else goes to calltree.c.
 *
 * Order matters here. A begin stores its time before it becomes the open node; an end
 * leaves the node before it commits the visit by the release store of the ring's head, so
 * that a visit is never both open and counted.
 */
#ifndef RKC_HOT_H
#define RKC_HOT_H

#include "calltree.h"
#include "thread.h"

#define RKC_LIKELY(x) __builtin_expect(!!(x), 1)
#define RKC_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* Whether the thread may take the hot path, which reads the counter without asking. */
static inline int rkc_hot_ready(const struct rkc_thread *thread)
{
    return thread && atomic_load_explicit(&thread->gate, memory_order_relaxed) == RKC_GATE_OPEN;
}

static inline struct rkc_node *rkc_hot_open(const struct rkc_thread *thread)
{
    return rkc_image_at(thread->base,
                        atomic_load_explicit(&thread->ring->open, memory_order_relaxed));
}

/* The child of the open node for `region`, if it is the one begun last or the one that
 * followed that the last time; else NULL. */
static inline struct rkc_node *rkc_hot_child(struct rkc_thread *thread, uint32_t region)
{
    struct rkc_node *open = rkc_hot_open(thread);
    struct rkc_node *last = rkc_image_at(thread->base, open->last);
    if (RKC_LIKELY(last->region == region))
        return last;
    struct rkc_node *follow = rkc_image_at(thread->base, last->follow);
    if (follow->region != region)
        return NULL;
    open->last = last->follow;
    return follow;
}

/* Begin a visit of a child of the open node, now. */
static inline void rkc_hot_begin(struct rkc_thread *thread, struct rkc_node *node)
{
    uint32_t unit = rkc_image_unit(thread->base, node);
    node->begin = rkc_clock_counter();
    atomic_store_explicit(&thread->ring->open, unit, memory_order_release);
}

/* Commit a visit of the open node `node` that ends at `now`. A full ring is folded before it
 * is written to: a signal handler that jumps away after the commit would skip a fold there. */
static inline void rkc_hot_end(struct rkc_thread *thread, struct rkc_node *node, uint64_t now)
{
    struct rkc_ring *ring = thread->ring;
    uint64_t ticks = now - node->begin;
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    if (RKC_UNLIKELY(head % RKC_RING_RECORDS == 0))
        rkc_private_fold(thread);
    struct rkc_record *record = &ring->record[head % RKC_RING_RECORDS];
    record->node = atomic_load_explicit(&ring->open, memory_order_relaxed);
    record->ticks = ticks;
    atomic_store_explicit(&ring->open, node->parent, memory_order_relaxed);
    atomic_store_explicit(&ring->head, head + 1, memory_order_release);
}

#endif
