/* poll.h - calls that ask whether something has happened yet, over and over.
 *
 *   struct rkc_poll *poll = rkc_poll_begin(RKC_MPI_Iprobe, __builtin_frame_address(0));
 *   if (poll) {
 *       int rc = RKC_POLL_NEXT(poll, Iprobe)(...);
 *       uint64_t now = rkc_clock_counter();
 *       if (!rkc_poll_missed(poll, now, rc == MPI_SUCCESS && !*flag))
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

/* What a loop runs through lies together; a function of its own would lie on a page of its own. */
#define RKC_POLLS __attribute__((section("rkc_polls")))
#define RKC_POLL_INLINE __attribute__((always_inline)) static inline

/* The loop that the calling thread is in, if it is one of calls of `id`; else NULL. */
RKC_POLL_INLINE struct rkc_poll *rkc_poll_begin(enum rkc_mpi_id id, const char *frame)
{
    struct rkc_hot *hot = &rkc_private_hot;
    if (RKC_UNLIKELY(hot->next_region || !hot->thread))
        return NULL;
    struct rkc_poll *poll = &hot->thread->poll;
    if (RKC_UNLIKELY(atomic_load_explicit(&poll->armed, memory_order_relaxed) != 1 + (uint32_t)id ||
                     poll->node != hot->next || hot->mpi_frame))
        return NULL;
    uint64_t now = rkc_clock_counter();
    poll->begin = now;
    hot->mpi_frame = frame;
    hot->open = poll->node;
    atomic_signal_fence(memory_order_release);
    atomic_store_explicit(&poll->block->begin, now, memory_order_relaxed);
    return poll;
}

/* With the type of PMPI_NAME. */
#define RKC_POLL_NEXT(poll, name) ((__typeof__(&PMPI_##name))(poll)->next)

/* Bring the pending visits into the sums. */
void rkc_poll_fold(struct rkc_polls *polls, double rate);

/* Whether that, ended at `now`, was one more call that came to nothing; else nothing was done. */
RKC_POLL_INLINE int rkc_poll_missed(struct rkc_poll *poll, uint64_t now, int came_to_nothing)
{
    struct rkc_hot *hot = &rkc_private_hot;
    uint64_t ticks = now - poll->begin;
    if (RKC_UNLIKELY(!came_to_nothing || hot->next_region || hot->open != poll->node ||
                     (int64_t)ticks < 0))
        return 0;
    struct rkc_polls *polls = poll->block;
    uint64_t visits = atomic_load_explicit(&polls->visits, memory_order_relaxed);
    if (RKC_UNLIKELY(visits - polls->folded >= RKC_POLLS_PENDING))
        rkc_poll_fold(polls, poll->rate);
    atomic_store_explicit(&polls->pending[visits % RKC_POLLS_PENDING], ticks, memory_order_relaxed);
    atomic_store_explicit(&polls->begin, RKC_NO_BEGIN, memory_order_relaxed);
    atomic_store_explicit(&polls->visits, visits + 1, memory_order_release);
    hot->open = poll->up;
    hot->mpi_frame = NULL;
    return 1;
}

/* End one that did not, or during which something else ended the loop. */
void rkc_poll_hit(struct rkc_poll *poll, struct rkc_mpi_call *call);

/* After a call of a function that polls that was recorded like any other. */
void rkc_poll_again(const struct rkc_mpi_call *call, enum rkc_mpi_id id, int came_to_nothing);

#endif
