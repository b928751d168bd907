/* chain.h - what the threads share of a context: its device, its anchors on an own stream, and how
 * much of the device's time GPU regions covered.
 *
 * The driver is ready for all of it. An own stream is non-blocking, so it serialises nothing.
 */
#ifndef RKC_GPU_CHAIN_H
#define RKC_GPU_CHAIN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "clock.h"
#include "gpu/cover.h"
#include "gpu/driver_abi.h"
#include "gpu/timeline.h"
#include "image.h"

enum { RKC_CHAINS_MAX = 64, RKC_NO_CHAIN = -1 };

struct rkc_chain {
    CUcontext context;
    uint64_t id; /* tells it from a context that had the same handle before it; 0 where unknown */
    _Atomic int is_lost; /* its events are of no use any more */
    pthread_mutex_t lock; /* of all below */
    CUstream stream; /* NULL when it could not be made: then there are no anchors */
    struct rkc_timeline timeline;
    _Atomic uint64_t anchored_ticks; /* when the last anchor was recorded */
    struct rkc_cover cover;
    int64_t covered_more_ns, more_ns; /* added to the device's block when the lock is given up */
    struct rkc_device_block *device; /* NULL without memory */
};

/** The chain of a stream's context, made if need be.
 *
 * @return its index; or a status: RKC_ENOCONTEXT, RKC_ELIMIT beyond RKC_CHAINS_MAX, or what the
 *   driver says
 */
int rkc_chain_of_stream(CUstream stream);

extern struct rkc_chain rkc_chain_table[RKC_CHAINS_MAX];

static inline struct rkc_chain *rkc_chain_at(int index)
{
    return &rkc_chain_table[index];
}

/* Lock a chain in place of the one that *held points to, NULL being none, if it is another. */
void rkc_chain_hold(struct rkc_chain **held, struct rkc_chain *chain);

/* Say that a context is gone or failed. */
void rkc_chain_lose(struct rkc_chain *chain);

/* How old the last anchor may be: half of what a link may last, for it is looked at only when the
 * program comes by. Tests change it. */
extern int64_t rkc_chain_due_ns;

/* Whether a new anchor is due at `now`, so that the chain's links stay short. */
static inline int rkc_chain_is_due(const struct rkc_chain *chain, uint64_t now, uint64_t rate)
{
    uint64_t last = atomic_load_explicit(&chain->anchored_ticks, memory_order_relaxed);
    return last == 0 || rkc_clock_ns(now - last, rate) >= rkc_chain_due_ns;
}

/* Record an anchor. What fails leaves the chain as it was. */
void rkc_chain_extend(struct rkc_chain *chain);

/* Where an event is that the device has come to. 0, RKC_ENOTREADY, or a status when there is no
 * anchor to tell by. The lock is held. */
int rkc_chain_place(struct rkc_chain *chain, CUevent event, struct rkc_position *position);

/* Add the interval of a visit to what is covered, unless `at` is NULL, and to the sum. The lock is
 * held by rkc_chain_hold. */
void rkc_chain_cover(struct rkc_chain *chain, const struct rkc_position *at, int64_t ns);

/* Forget all, for tests. */
void rkc_chain_forget(void);

#endif
