/* hot.h - begin and end of a region when all is well; anything else goes to calltree.c.
 *
 * Order matters here, to whoever reads after a kill and to a signal handler that runs regions or
 * jumps away. A node has a begin only while it is on the way up from the open one; an end writes the
 * record, clears the begin, and commits the visit by the release store of the ring's head, so that at
 * any instant a visit is either open or counted (image.h); and a record is whole before any head goes
 * past it. Where a jump leaves the open node without a begin, its visit gets no time (calltree.c).
 *
 * A counter read waits for the loads before it, as far as they are not done after some 15 cycles,
 * and hides no instruction beside it. So what decides a begin lies two loads deep, what can be
 * looked at behind the counter is, and nothing is stored that can be found out from the rest.
 */
#ifndef RKC_HOT_H
#define RKC_HOT_H

#include "calltree.h"
#include "thread.h"

#define RKC_LIKELY(x) __builtin_expect(!!(x), 1)
#define RKC_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* A region that no node's pair has, nor 0. */
#define RKC_NEVER_HOT UINT32_MAX

/* Whether the hot path may be taken, which reads the counter without asking. */
static inline int rkc_hot_ready(void)
{
    return rkc_gate() == RKC_GATE_OPEN;
}

/* The sibling that followed the expected node the last time, if it is of `region`, else NULL. */
static inline struct rkc_node *rkc_hot_sibling(struct rkc_hot *hot, uint32_t region)
{
    uint64_t follow = hot->next->follow;
    if (rkc_pair_region(follow) != region)
        return NULL;
    hot->open->last = follow;
    return rkc_image_at(hot->base, rkc_pair_unit(follow));
}

static inline void rkc_hot_expect(struct rkc_hot *hot, uint64_t pair)
{
    hot->next = rkc_image_at(hot->base, rkc_pair_unit(pair));
    hot->next_region = rkc_pair_region(pair);
}

/* Begin a visit of the open node's child for `region`, now, if it is the one begun last or the
 * one that followed that the last time. Returns it, or NULL when nothing was done. What is looked
 * at behind the clock can only differ when a signal handler came between. */
static inline struct rkc_node *rkc_hot_begin(struct rkc_hot *hot, uint32_t region)
{
    struct rkc_node *node = hot->next;
    if (RKC_UNLIKELY(hot->next_region != region)) {
        node = rkc_hot_sibling(hot, region);
        if (!node)
            return NULL;
    }
    uint64_t now = rkc_clock_counter();
    if (RKC_UNLIKELY(rkc_pair_region(node->self) != region || node->up != hot->open))
        return NULL;
    hot->open = node;
    atomic_signal_fence(memory_order_release);
    atomic_store_explicit(&node->begin, now, memory_order_relaxed);
    rkc_hot_expect(hot, node->last);
    return node;
}

/* The same as rkc_hot_end, where the ring is full: it is folded before it is written to, for a
 * signal handler that jumps away after the commit would skip a fold there. */
RKC_API void rkc_private_end_full(struct rkc_hot *hot, struct rkc_node *node, uint32_t region,
                                  uint64_t now);

static inline void rkc_hot_commit(struct rkc_hot *hot, struct rkc_node *node, uint32_t region,
                                  uint64_t now)
{
    struct rkc_ring *ring = hot->ring;
    uint64_t head = hot->head;
    struct rkc_record *record = &ring->record[head % RKC_RING_RECORDS];
    record->ticks = now - atomic_load_explicit(&node->begin, memory_order_relaxed);
    atomic_signal_fence(memory_order_release);
    atomic_store_explicit(&record->node, (uintptr_t)node + rkc_record_round(head),
                          memory_order_relaxed);
    atomic_signal_fence(memory_order_release);
    atomic_store_explicit(&node->begin, RKC_NO_BEGIN, memory_order_relaxed);
    atomic_signal_fence(memory_order_release);
    hot->open = node->up;
    hot->next = node;
    hot->next_region = region;
    atomic_signal_fence(memory_order_release);
    hot->head = head + 1;
    atomic_store_explicit(&ring->head, head + 1, memory_order_release);
}

/* Commit a visit of the open node `node`, which is of `region`, that ends at `now`. */
static inline void rkc_hot_end(struct rkc_hot *hot, struct rkc_node *node, uint32_t region,
                               uint64_t now)
{
    if (RKC_LIKELY(hot->head % RKC_RING_RECORDS))
        rkc_hot_commit(hot, node, region, now);
    else
        rkc_private_end_full(hot, node, region, now);
}

#endif
