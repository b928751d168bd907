/* kinds.h - which memory the buffers of a call lie in.
 *
 * As long as the process has no CUDA context this costs a comparison of two clock values: it is
 * looked for one about once a millisecond, and a context takes longer to make. From then on the
 * driver is asked about each buffer that carries data, once.
 */
#ifndef RKC_PMPI_KINDS_H
#define RKC_PMPI_KINDS_H

#include "call.h"

struct rkc_moved;

/* Buffers are looked at from this instant on: 0 always. */
extern _Atomic uint64_t rkc_kinds_due;

/* Whether a call that ended at `now` has buffers to look at. */
static inline int rkc_kinds_wanted(uint64_t now)
{
    return RKC_UNLIKELY(now >= atomic_load_explicit(&rkc_kinds_due, memory_order_relaxed));
}

/* The kinds of a call's buffers, all 0 where it is host memory at both ends. */
struct rkc_kinds rkc_kinds_of(const struct rkc_moved *moved, uint64_t now);

/* Whether a buffer with gaps lies in memory that is not the host's. */
int rkc_kinds_gaps(const struct rkc_moved *moved, struct rkc_kinds kinds);

/* The counters for a recorded call's buffers, with its time booked; `traffic` are those for host
 * memory. NULL without memory. */
struct rkc_traffic *rkc_kinds_traffic(const struct rkc_mpi_call *call, struct rkc_traffic *traffic,
                                      const struct rkc_moved *moved);

/* The same for a call that has started an operation planned before, by kinds found then. */
struct rkc_traffic *rkc_kinds_traffic_of(const struct rkc_mpi_call *call,
                                         struct rkc_traffic *traffic, struct rkc_kinds kinds);

#endif
