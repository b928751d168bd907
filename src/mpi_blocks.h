/* mpi_blocks.h - what MPI calls leave in the image beside their call paths: traffic by the kinds of
 * memory at both ends, visits by communicator, messages by rank.
 *
 * All of them are made at their first use, and are NULL, or RKC_NIL_UNIT, without memory.
 */
#ifndef RKC_MPI_BLOCKS_H
#define RKC_MPI_BLOCKS_H

#include <rankclock/region.h>

#include "thread.h"

/* The counters of one of the calling thread's nodes, for host memory. */
RKC_API struct rkc_traffic *rkc_private_traffic(struct rkc_thread *thread, struct rkc_node *node);

/* The same for other kinds of memory. */
RKC_API struct rkc_traffic *rkc_private_traffic_of_kinds(struct rkc_thread *thread,
                                                         struct rkc_node *node,
                                                         struct rkc_kinds kinds);

/* A node's block of polls, made; NULL without memory. */
RKC_API struct rkc_polls *rkc_private_polls(struct rkc_thread *thread, struct rkc_node *node);

/* The counter of the operations of a size, by its bucket. */
RKC_API _Atomic uint64_t *rkc_private_traffic_size(struct rkc_traffic *traffic, unsigned bucket);

/* The block of a group of ranks, by its key: its unit. RKC_NIL_UNIT beyond RKC_COMMS_MAX of them,
 * which is counted. */
RKC_API uint32_t rkc_private_comm(uint64_t key, int32_t size, int32_t first);

/* The visits of a thread's node in a communicator, by the unit of its block. Beyond some thousands of
 * them it is the node's block for visits that are in none, which is counted. */
RKC_API struct rkc_wait_block *rkc_private_wait_block(struct rkc_thread *thread, struct rkc_node *node,
                                                uint32_t comm);

/* A new block of messages by rank, with a power of two of slots. */
RKC_API struct rkc_peers *rkc_private_peers(uint32_t slots);

#endif
