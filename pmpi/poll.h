/* poll.h - calls that ask whether something has happened yet, over and over.
 *
 *   struct rkc_poll *poll;
 *   if (!rkc_poll_begin(&poll, RKC_MPI_Iprobe, __builtin_frame_address(0)))
 *       ... as with any other call; and after rkc_mpi_leave
 *       rkc_poll_again(&call, RKC_MPI_Iprobe, rc == MPI_SUCCESS && !*flag);
 *   int rc = RKC_POLL_NEXT(poll, Iprobe)(...);
 *   uint64_t now = rkc_clock_counter();
 *   int nothing = rc == MPI_SUCCESS && !*flag;
 *   if (!(nothing && rkc_poll_missed(poll, now)))
 *       ... elsewhere
 *       if (!(nothing && rkc_poll_missed_full(poll, now)))
 *           rkc_poll_hit(poll, &call);     and go on as after rkc_mpi_leave
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

/* Begin one more call of the loop of calls of `id` that the calling thread is in, unless it is in
 * none. What is looked at first is what is there first: a counter read waits for loads before it.
 */
RKC_POLL_INLINE int rkc_poll_begin(struct rkc_poll **begun, enum rkc_mpi_id id, const char *frame)
{
    struct rkc_hot *hot = &rkc_private_hot;
    if (RKC_UNLIKELY(hot->next_region != RKC_POLLED))
        return 0;
    uint64_t now = rkc_clock_counter();
    struct rkc_poll *poll = &hot->thread->poll;
    uint32_t armed = atomic_load_explicit(&poll->armed, memory_order_relaxed);
    if (RKC_UNLIKELY(armed != 1 + (uint32_t)id || hot->mpi_frame))
        return 0;
    hot = poll->hot;
    poll->begin = now;
    hot->mpi_frame = frame;
    hot->open = poll->node;
    atomic_signal_fence(memory_order_release);
    uint64_t visits = atomic_load_explicit(&poll->block->visits, memory_order_relaxed);
    atomic_store_explicit(&poll->block->begin, rkc_polls_stamp(now, visits), memory_order_relaxed);
    *begun = poll;
    return 1;
}

/* With the type of PMPI_NAME. */
#define RKC_POLL_NEXT(poll, name) ((__typeof__(&PMPI_##name))(poll)->next)

/* Whether nothing was begun or ended within a call of so many ticks, and the clock went on. */
RKC_POLL_INLINE int rkc_poll_is_whole(const struct rkc_poll *poll, uint64_t ticks)
{
    return RKC_LIKELY((int64_t)ticks >= 0) && RKC_LIKELY(poll->hot->next_region == RKC_POLLED);
}

/* Count one that came to nothing as the visit of that number; there must be room in the ring. */
RKC_POLL_INLINE void rkc_poll_commit(struct rkc_poll *poll, uint64_t visit, uint64_t ticks)
{
    struct rkc_hot *hot = poll->hot;
    struct rkc_polls *polls = poll->block;
    atomic_store_explicit(&polls->pending[visit % RKC_POLLS_PENDING], ticks, memory_order_relaxed);
    atomic_store_explicit(&polls->visits, visit + 1, memory_order_release);
    hot->open = poll->up;
    hot->mpi_frame = NULL;
}

/* End a call at `now` that came to nothing. 0, and nothing is done, where something else ended the
 * loop within it, or the ring has gone round and is to be folded. */
RKC_POLL_INLINE int rkc_poll_missed(struct rkc_poll *poll, uint64_t now)
{
    uint64_t ticks = now - poll->begin;
    if (RKC_UNLIKELY(!rkc_poll_is_whole(poll, ticks)))
        return 0;
    uint64_t visit = atomic_load_explicit(&poll->block->visits, memory_order_relaxed);
    if (RKC_UNLIKELY(visit % RKC_POLLS_PENDING == 0))
        return 0;
    rkc_poll_commit(poll, visit, ticks);
    return 1;
}

/* The same, and the ring is folded. */
int rkc_poll_missed_full(struct rkc_poll *poll, uint64_t now);

/* End one that did not, or during which something else ended the loop. */
void rkc_poll_hit(struct rkc_poll *poll, struct rkc_mpi_call *call);

/* After a call of a function that polls that was recorded like any other. */
void rkc_poll_again(const struct rkc_mpi_call *call, enum rkc_mpi_id id, int came_to_nothing);

#endif
