/* poll.h - calls that ask whether something has happened yet, over and over.
 *
 *   struct rkc_poll *poll = rkc_poll_begin(RKC_MPI_Iprobe, __builtin_frame_address(0));
 *   if (poll) {
 *       int rc = RKC_POLL_NEXT(poll, Iprobe)(...);
 *       if (!rkc_poll_missed(poll, rc == MPI_SUCCESS && !*flag))
 *           rkc_poll_hit(poll, &call);     and go on as after rkc_mpi_leave
 *   } else {
 *       ... as with any other call; and after rkc_mpi_leave
 *       rkc_poll_again(&call, RKC_MPI_Iprobe, rc == MPI_SUCCESS && !*flag);
 *   }
 *
 * A rank that has nothing else to do may poll a million times a second, and where ranks share a
 * core each poll gives it up. What comes back finds its caches and page tables cold: then a call
 * costs less by what it computes than by how many pages it touches, some 10 ns each. So a call that
 * follows one of the same call path which came to nothing, with nothing begun or ended between
 * them, is kept on the few pages that a struct rkc_poll names: its visit goes into the node's
 * struct rkc_polls, timed like any other. It becomes a visit like any other when it does not come
 * to nothing.
 */
#ifndef RKC_PMPI_POLL_H
#define RKC_PMPI_POLL_H

#include "call.h"

/* The loop that the calling thread is in, if it is one of calls of `id`; else NULL. */
static inline struct rkc_poll *rkc_poll_begin(enum rkc_mpi_id id, const char *frame)
{
    struct rkc_hot *hot = &rkc_private_hot;
    if (RKC_LIKELY(hot->next_region) || !hot->thread)
        return NULL;
    uint64_t now = rkc_clock_counter();
    struct rkc_poll *poll = &hot->thread->poll;
    if (!atomic_load_explicit(&poll->armed, memory_order_relaxed) || poll->id != id ||
        poll->node != hot->next || hot->mpi_frame)
        return NULL;
    poll->begin = now;
    hot->mpi_frame = frame;
    hot->open = poll->node;
    atomic_signal_fence(memory_order_release);
    atomic_store_explicit(&poll->block->begin, now, memory_order_relaxed);
    return poll;
}

/* With the type of PMPI_NAME. */
#define RKC_POLL_NEXT(poll, name) ((__typeof__(&PMPI_##name))(poll)->next)

static inline void rkc_poll_add(_Atomic uint64_t *counter, uint64_t n)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
                          memory_order_relaxed);
}

/* Add a visit; it counts from its bucket on. */
static inline void rkc_poll_book(struct rkc_polls *polls, uint64_t ticks, double rate)
{
    unsigned bucket = rkc_time_bucket_scaled((double)(int64_t)ticks * rate);
    rkc_u128 square = (rkc_u128)ticks * ticks;
    uint64_t low =
        atomic_load_explicit(&polls->square_low, memory_order_relaxed) + (uint64_t)square;
    if (RKC_UNLIKELY(ticks < atomic_load_explicit(&polls->min, memory_order_relaxed)))
        atomic_store_explicit(&polls->min, ticks, memory_order_relaxed);
    if (RKC_UNLIKELY(ticks > atomic_load_explicit(&polls->max, memory_order_relaxed)))
        atomic_store_explicit(&polls->max, ticks, memory_order_relaxed);
    rkc_poll_add(&polls->ticks, ticks);
    rkc_poll_add(&polls->square_high, (uint64_t)(square >> 64) + (low < (uint64_t)square));
    atomic_store_explicit(&polls->square_low, low, memory_order_relaxed);
    atomic_store_explicit(&polls->begin, RKC_NO_BEGIN, memory_order_relaxed);
    atomic_signal_fence(memory_order_release);
    rkc_poll_add(&polls->hist[bucket], 1);
}

/* Whether that was one more call that came to nothing; if not, nothing was done. */
static inline int rkc_poll_missed(struct rkc_poll *poll, int came_to_nothing)
{
    struct rkc_hot *hot = &rkc_private_hot;
    uint64_t ticks = rkc_clock_counter() - poll->begin;
    if (RKC_UNLIKELY(!came_to_nothing || hot->next_region || hot->open != poll->node ||
                     !atomic_load_explicit(&poll->armed, memory_order_relaxed) ||
                     (int64_t)ticks < 0))
        return 0;
    rkc_poll_book(poll->block, ticks, poll->rate);
    hot->open = poll->up;
    hot->mpi_frame = NULL;
    return 1;
}

/* End one that did not, or during which something else ended the loop. */
void rkc_poll_hit(struct rkc_poll *poll, struct rkc_mpi_call *call);

/* After a call of a function that polls that was recorded like any other. */
void rkc_poll_again(const struct rkc_mpi_call *call, enum rkc_mpi_id id, int came_to_nothing);

#endif
