/* poll.h - calls that ask whether something has happened yet, over and over.
 *
 *   struct rkc_hot *hot = rkc_poll_begin(RKC_MPI_Iprobe, __builtin_frame_address(0));
 *   if (!hot)
 *       ... as with any other call; and after rkc_mpi_leave
 *       rkc_poll_again(&call, RKC_MPI_Iprobe, rc == MPI_SUCCESS && !*flag);
 *   int rc = RKC_POLL_NEXT(hot, Iprobe)(...);
 *   uint64_t now = rkc_clock_counter();
 *   int nothing = rc == MPI_SUCCESS && !*flag;
 *   if (!(nothing && rkc_poll_missed(hot, now)))
 *       ... elsewhere
 *       if (!(nothing && rkc_poll_missed_full(hot, now)))
 *           rkc_poll_hit(hot, &call);      and go on as after rkc_mpi_leave
 *
 * A rank that has nothing else to do may poll a million times a second, and where ranks share a
 * core each poll gives it up. What comes back finds its caches and page tables cold: then a call
 * costs less by what it computes than by how many pages and lines it touches, of code and of data.
 * So a call that follows one of the same call path which came to nothing, with nothing begun or
 * ended between them, is kept on few: the code, rkc_polls_gate, the thread's struct rkc_hot, which is
 * beside what the C library keeps for the thread, and the node's struct rkc_polls, into which the
 * visit goes, timed like any other. It becomes a visit like any other when it does not come to
 * nothing.
 */
#ifndef RKC_PMPI_POLL_H
#define RKC_PMPI_POLL_H

#include "call.h"

/* What a loop runs through lies together; a function of its own would lie on a page of its own. */
#define RKC_POLLS __attribute__((section("rkc_polls")))
#define RKC_POLL_INLINE __attribute__((always_inline)) static inline

/* The calling thread's pointer, where the compiler tells. */
#if defined(__has_builtin)
#if __has_builtin(__builtin_thread_pointer)
#define RKC_THREAD_POINTER ((char *)__builtin_thread_pointer())
#endif
#endif

/* The gate of the polls, in the library that polls. */
extern __attribute__((visibility("hidden"))) struct rkc_polls_gate rkc_polls_gate;

/* The calling thread's place, or NULL unless the gate is open. */
RKC_POLL_INLINE struct rkc_hot *rkc_poll_place(void)
{
    intptr_t place = atomic_load_explicit(&rkc_polls_gate.place, memory_order_relaxed);
    if (RKC_UNLIKELY(!place))
        return NULL;
#ifdef RKC_THREAD_POINTER
    return (struct rkc_hot *)(void *)(RKC_THREAD_POINTER + place);
#else
    return &rkc_private_hot;
#endif
}

/* Begin one more call of the loop of calls of `id` that the calling thread is in. Its place, or NULL
 * where it is in none. What is looked at first is what is there first: a counter read waits for
 * loads before it. */
RKC_POLL_INLINE struct rkc_hot *rkc_poll_begin(enum rkc_mpi_id id, const char *frame)
{
    struct rkc_hot *hot = rkc_poll_place();
    if (RKC_UNLIKELY(!hot) || RKC_UNLIKELY(hot->next_region != RKC_POLLED))
        return NULL;
    uint64_t now = rkc_clock_counter();
    if (RKC_UNLIKELY(hot->poll_id != (uint32_t)id) || RKC_UNLIKELY(hot->mpi_frame != NULL))
        return NULL;
    struct rkc_polls *polls = hot->poll.block;
    hot->poll.begin = now;
    hot->mpi_frame = frame;
    hot->open = hot->poll.node;
    atomic_signal_fence(memory_order_release);
    uint64_t visits = atomic_load_explicit(&polls->visits, memory_order_relaxed);
    atomic_store_explicit(&polls->begin, rkc_polls_stamp(now, visits), memory_order_relaxed);
    return hot;
}

/* With the type of PMPI_NAME. */
#define RKC_POLL_NEXT(hot, name) ((__typeof__(&PMPI_##name))(hot)->poll.next)

/* Whether nothing was begun or ended within a call of so many ticks, and the clock went on. */
RKC_POLL_INLINE int rkc_poll_is_whole(const struct rkc_hot *hot, uint64_t ticks)
{
    return RKC_LIKELY((int64_t)ticks >= 0) && RKC_LIKELY(hot->next_region == RKC_POLLED);
}

/* Count one that came to nothing as the visit of that number; there must be room in the ring. */
RKC_POLL_INLINE void rkc_poll_commit(struct rkc_hot *hot, uint64_t visit, uint64_t ticks)
{
    struct rkc_polls *polls = hot->poll.block;
    atomic_store_explicit(&polls->pending[visit % RKC_POLLS_PENDING], ticks, memory_order_relaxed);
    atomic_store_explicit(&polls->visits, visit + 1, memory_order_release);
    hot->open = hot->poll.up;
    hot->mpi_frame = NULL;
}

/* End a call at `now` that came to nothing. 0, and nothing is done, where something else ended the
 * loop within it, or the ring has gone round and is to be folded. */
RKC_POLL_INLINE int rkc_poll_missed(struct rkc_hot *hot, uint64_t now)
{
    uint64_t ticks = now - hot->poll.begin;
    if (RKC_UNLIKELY(!rkc_poll_is_whole(hot, ticks)))
        return 0;
    uint64_t visit = atomic_load_explicit(&hot->poll.block->visits, memory_order_relaxed);
    if (RKC_UNLIKELY(visit % RKC_POLLS_PENDING == 0))
        return 0;
    rkc_poll_commit(hot, visit, ticks);
    return 1;
}

/* The same, and the ring is folded. */
int rkc_poll_missed_full(struct rkc_hot *hot, uint64_t now);

/* End one that did not, or during which something else ended the loop. */
void rkc_poll_hit(struct rkc_hot *hot, struct rkc_mpi_call *call);

/* After a call of a function that polls that was recorded like any other. */
void rkc_poll_again(const struct rkc_mpi_call *call, enum rkc_mpi_id id, int came_to_nothing);

#endif
