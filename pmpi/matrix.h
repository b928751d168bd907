/* matrix.h - messages and bytes by the rank at the other end.
 *
 * A message is counted by the rank that sends it, and one that is fetched from a window by the
 * rank that fetches it. Counted are ranks of MPI_COMM_WORLD; those of other worlds, and those
 * beyond RANKCLOCK_MATRIX_PEERS of them, are counted together.
 */
#ifndef RKC_PMPI_MATRIX_H
#define RKC_PMPI_MATRIX_H

#include "call.h"

/* The block in the image that is being filled; NULL before the first message. */
extern struct rkc_peers *_Atomic rkc_matrix;

void rkc_matrix_add_slow(int rank, int fetched, uint64_t messages, uint64_t bytes);

static inline uint64_t rkc_matrix_key(int rank, int fetched)
{
    return (uint64_t)(unsigned)(rank + 1) << 1 | (unsigned)fetched;
}

/* Count messages to, or fetched from, a rank of the world; a negative one is of another world. */
static inline void rkc_matrix_add(int rank, int fetched, uint64_t messages, uint64_t bytes)
{
    struct rkc_peers *peers = atomic_load_explicit(&rkc_matrix, memory_order_acquire);
    if (RKC_LIKELY(peers != NULL && rank >= 0)) {
        struct rkc_peer_slot *slot = &peers->slot[(uint32_t)(rank + fetched) & peers->mask];
        if (RKC_LIKELY(atomic_load_explicit(&slot->key, memory_order_relaxed) ==
                       rkc_matrix_key(rank, fetched))) {
            rkc_traffic_add(&slot->messages, messages);
            rkc_traffic_add(&slot->bytes, bytes);
            return;
        }
    }
    rkc_matrix_add_slow(rank, fetched, messages, bytes);
}

#endif
