/* wait.h - the visits of blocking collectives by the communicator they are in, so that ranks can be
 * compared with those they have met.
 *
 * Most call paths use one communicator: then nothing is written but its name at the first visit.
 * A call path's further ones have counters of their own. With RANKCLOCK_MPI_SYNC a barrier before
 * the call measures what the comparison can only bound.
 */
#ifndef RKC_PMPI_WAIT_H
#define RKC_PMPI_WAIT_H

#include "call.h"

/* Whether a barrier precedes each blocking collective. */
extern int rkc_mpi_sync;

/* The image's block for MPI_COMM_WORLD; 0 until a collective has asked. */
extern _Atomic uint32_t rkc_wait_world;

void rkc_wait_book_slow(const struct rkc_mpi_call *call, MPI_Comm comm);

/* Wait for all of a communicator before a call in it. */
void rkc_wait_sync(struct rkc_mpi_call *call, MPI_Comm comm);

/* Book what was measured so, after the call. */
void rkc_wait_book_sync(const struct rkc_mpi_call *call, MPI_Comm comm);

/* Book a recorded visit of a collective that nobody leaves before all have come. */
static inline void rkc_wait_book(const struct rkc_mpi_call *call, MPI_Comm comm)
{
    if (RKC_LIKELY(call->node != NULL && comm == MPI_COMM_WORLD && call->node->comm &&
                   call->node->comm ==
                       atomic_load_explicit(&rkc_wait_world, memory_order_relaxed)))
        return;
    rkc_wait_book_slow(call, comm);
}

#endif
