/* traffic.h - what an MPI call moves: the words of the last column of mpi_calls.def.
 *
 * All numbers are bytes of payload of this rank: count times the size of the datatype, not its
 * extent, in 64 bits. They follow from the arguments; what is received by point-to-point calls
 * is what the status says has arrived. A rank's own block counts like any other. A call that
 * fails moves nothing, and nothing moves to or from MPI_PROC_NULL. Arguments that the standard
 * calls not significant are never looked at.
 *
 * One word says when:
 *
 *   NOTHING              no data, or none that is counted: the call is timed and counted
 *   MOVES(data)          at the call
 *   POSTS(request, data) nonblocking: what is sent, and for collectives what is received, at
 *                        the call; a receive at its completion, booked to this call
 *   PLANS(request, data) persistent: nothing at the call; what is sent at each MPI_Start,
 *                        what is received at each completion, booked to the call of MPI_Start
 *
 * and one says what. "Block" is count times size of the call's own arguments; n is the size
 * of the communicator, of the remote group if it has two.
 *
 *   word                  sent                            received
 *   SENDS                 the block                       -
 *   RECEIVES              -                               what arrived
 *   EXCHANGES             the block                       what arrived
 *   ARRIVES               -                               what arrived, known at completion
 *   SENDS_AND_ARRIVES     the block                       what arrived, known at completion
 *   TAKES                 -                               the block
 *   SYNCHRONIZES          nothing, and no entry among the sizes
 *   BROADCASTS            root: the block                 others: the block
 *   REDUCES               the block                       root: the block
 *   COMBINES              the block                       the block
 *   COMBINES_BEFORE       the block                       the block; rank 0 nothing
 *   REDUCE_SCATTERS       all blocks of the own group     the own block
 *   GATHERS               the block; in place nothing     root: n blocks
 *   SCATTERS              root: n blocks                  the block; in place nothing
 *   ALLGATHERS            the block                       n blocks
 *   ALLTOALLS             n blocks                        n blocks
 *   NEIGHBOR_GATHERS      the block, if it has a target   a block from each source
 *   NEIGHBOR_ALLTOALLS    a block to each target          a block from each source
 *
 * _V sums over blocks of different counts, _W of different types. In place, the block sent by
 * ALLGATHERS and ALLTOALLS is that of the receiving side. Between two groups the rank that
 * gives MPI_ROOT is the root and sends (BROADCASTS, SCATTERS) or receives (REDUCES, GATHERS)
 * alone; one that gives MPI_PROC_NULL moves nothing.
 *
 * Each operation that moves data, or may, is one entry in the histogram of sizes, with the
 * larger of what it sent and received: at the call, or at completion where that brings data.
 */
#ifndef RKC_PMPI_TRAFFIC_H
#define RKC_PMPI_TRAFFIC_H

#include "call.h"

enum {
    RKC_MOVED_SIZED = 1,   /* an entry in the histogram of sizes */
    RKC_MOVED_ARRIVES = 2, /* received: what the status at completion says */
};

struct rkc_moved {
    uint64_t sent, received;
    unsigned how;
};

/* Bytes in an element: not of MPI_DATATYPE_NULL, which has 0. */
uint64_t rkc_mpi_type_size(MPI_Datatype type);

/* Bytes that a receive brought. */
uint64_t rkc_mpi_arrived(const MPI_Status *status);

static inline uint64_t rkc_mpi_bytes(MPI_Count count, MPI_Datatype type)
{
    return count > 0 ? (uint64_t)count * rkc_mpi_type_size(type) : 0;
}

static inline uint64_t rkc_mpi_sends(MPI_Count count, MPI_Datatype type, int peer)
{
    return peer == MPI_PROC_NULL ? 0 : rkc_mpi_bytes(count, type);
}

static inline struct rkc_moved rkc_moved(uint64_t sent, uint64_t received)
{
    return (struct rkc_moved){sent, received, RKC_MOVED_SIZED};
}

/* One block for each peer. */
struct rkc_blocks {
    const void *counts; /* ints or MPI_Counts; NULL: all have `count` */
    size_t width;       /* of one of `counts` */
    MPI_Count count;
    const MPI_Datatype *types; /* NULL: all are of `type` */
    MPI_Datatype type;
};

struct rkc_moved rkc_mpi_broadcasts(MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm);
struct rkc_moved rkc_mpi_reduces(MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm);
struct rkc_moved rkc_mpi_combines_before(uint64_t block, MPI_Comm comm);
struct rkc_moved rkc_mpi_reduce_scatters(struct rkc_blocks blocks, MPI_Comm comm);
struct rkc_moved rkc_mpi_reduce_scatters_block(uint64_t block, MPI_Comm comm);
struct rkc_moved rkc_mpi_gathers(const void *sendbuf, MPI_Count count, MPI_Datatype type,
                                 struct rkc_blocks received, int root, MPI_Comm comm);
struct rkc_moved rkc_mpi_scatters(struct rkc_blocks sent, const void *recvbuf, MPI_Count count,
                                  MPI_Datatype type, int root, MPI_Comm comm);
struct rkc_moved rkc_mpi_allgathers(const void *sendbuf, MPI_Count count, MPI_Datatype type,
                                    struct rkc_blocks received, MPI_Comm comm);
struct rkc_moved rkc_mpi_alltoalls(const void *sendbuf, struct rkc_blocks sent,
                                   struct rkc_blocks received, MPI_Comm comm);
struct rkc_moved rkc_mpi_neighbor_gathers(MPI_Count count, MPI_Datatype type,
                                          struct rkc_blocks received, MPI_Comm comm);
struct rkc_moved rkc_mpi_neighbor_alltoalls(struct rkc_blocks sent, struct rkc_blocks received,
                                            MPI_Comm comm);

/* Blocks of one count, of many, of many types. */
#define RKC_SAME(count, type) ((struct rkc_blocks){NULL, 0, count, NULL, type})
#define RKC_EACH(counts, type) ((struct rkc_blocks){counts, sizeof *(counts), 0, NULL, type})
#define RKC_TYPED(counts, types) \
    ((struct rkc_blocks){counts, sizeof *(counts), 0, types, MPI_DATATYPE_NULL})

#define SENDS(count, type, peer) rkc_moved(rkc_mpi_sends(count, type, peer), 0)
#define RECEIVES(status) rkc_moved(0, rkc_mpi_arrived(status))
#define EXCHANGES(count, type, peer, status) \
    rkc_moved(rkc_mpi_sends(count, type, peer), rkc_mpi_arrived(status))
#define ARRIVES ((struct rkc_moved){0, 0, RKC_MOVED_SIZED | RKC_MOVED_ARRIVES})
#define SENDS_AND_ARRIVES(count, type, peer) \
    ((struct rkc_moved){rkc_mpi_sends(count, type, peer), 0, RKC_MOVED_SIZED | RKC_MOVED_ARRIVES})
#define TAKES(count, type, peer) rkc_moved(0, rkc_mpi_sends(count, type, peer))
#define SYNCHRONIZES ((struct rkc_moved){0, 0, 0})
#define BROADCASTS rkc_mpi_broadcasts
#define REDUCES rkc_mpi_reduces
#define COMBINES(count, type) \
    rkc_moved(rkc_mpi_bytes(count, type), rkc_mpi_bytes(count, type))
#define COMBINES_BEFORE(count, type, comm) \
    rkc_mpi_combines_before(rkc_mpi_bytes(count, type), comm)
#define REDUCE_SCATTERS(counts, type, comm) rkc_mpi_reduce_scatters(RKC_EACH(counts, type), comm)
#define REDUCE_SCATTERS_BLOCK(count, type, comm) \
    rkc_mpi_reduce_scatters_block(rkc_mpi_bytes(count, type), comm)
#define GATHERS(sendbuf, count, type, rcount, rtype, root, comm) \
    rkc_mpi_gathers(sendbuf, count, type, RKC_SAME(rcount, rtype), root, comm)
#define GATHERS_V(sendbuf, count, type, rcounts, rtype, root, comm) \
    rkc_mpi_gathers(sendbuf, count, type, RKC_EACH(rcounts, rtype), root, comm)
#define SCATTERS(scount, stype, recvbuf, count, type, root, comm) \
    rkc_mpi_scatters(RKC_SAME(scount, stype), recvbuf, count, type, root, comm)
#define SCATTERS_V(scounts, stype, recvbuf, count, type, root, comm) \
    rkc_mpi_scatters(RKC_EACH(scounts, stype), recvbuf, count, type, root, comm)
#define ALLGATHERS(sendbuf, count, type, rcount, rtype, comm) \
    rkc_mpi_allgathers(sendbuf, count, type, RKC_SAME(rcount, rtype), comm)
#define ALLGATHERS_V(sendbuf, count, type, rcounts, rtype, comm) \
    rkc_mpi_allgathers(sendbuf, count, type, RKC_EACH(rcounts, rtype), comm)
#define ALLTOALLS(sendbuf, scount, stype, rcount, rtype, comm) \
    rkc_mpi_alltoalls(sendbuf, RKC_SAME(scount, stype), RKC_SAME(rcount, rtype), comm)
#define ALLTOALLS_V(sendbuf, scounts, stype, rcounts, rtype, comm) \
    rkc_mpi_alltoalls(sendbuf, RKC_EACH(scounts, stype), RKC_EACH(rcounts, rtype), comm)
#define ALLTOALLS_W(sendbuf, scounts, stypes, rcounts, rtypes, comm) \
    rkc_mpi_alltoalls(sendbuf, RKC_TYPED(scounts, stypes), RKC_TYPED(rcounts, rtypes), comm)
#define NEIGHBOR_GATHERS(count, type, rcount, rtype, comm) \
    rkc_mpi_neighbor_gathers(count, type, RKC_SAME(rcount, rtype), comm)
#define NEIGHBOR_GATHERS_V(count, type, rcounts, rtype, comm) \
    rkc_mpi_neighbor_gathers(count, type, RKC_EACH(rcounts, rtype), comm)
#define NEIGHBOR_ALLTOALLS(scount, stype, rcount, rtype, comm) \
    rkc_mpi_neighbor_alltoalls(RKC_SAME(scount, stype), RKC_SAME(rcount, rtype), comm)
#define NEIGHBOR_ALLTOALLS_V(scounts, stype, rcounts, rtype, comm) \
    rkc_mpi_neighbor_alltoalls(RKC_EACH(scounts, stype), RKC_EACH(rcounts, rtype), comm)
#define NEIGHBOR_ALLTOALLS_W(scounts, stypes, rcounts, rtypes, comm) \
    rkc_mpi_neighbor_alltoalls(RKC_TYPED(scounts, stypes), RKC_TYPED(rcounts, rtypes), comm)

/* A counter of traffic; `n` may be a negative number in two's complement. */
static inline void rkc_traffic_add(_Atomic uint64_t *counter, uint64_t n)
{
    if (RKC_UNLIKELY(rkc_mpi_concurrent))
        atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
    else
        atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
                              memory_order_relaxed);
}

static inline void rkc_traffic_size(struct rkc_traffic *traffic, uint64_t sent, uint64_t received,
                                    uint64_t n)
{
    unsigned bucket = rkc_size_bucket(sent > received ? sent : received);
    rkc_traffic_add(&traffic->size[bucket], n);
}

/* The counters of a recorded call, or NULL. */
static inline struct rkc_traffic *rkc_traffic_of(const struct rkc_mpi_call *call)
{
    struct rkc_node *node = call->node;
    if (RKC_UNLIKELY(!node))
        return NULL;
    if (RKC_LIKELY(node->traffic))
        return rkc_image_at(call->thread->base, node->traffic);
    return rkc_private_traffic(call->thread, node);
}

/* Book what a recorded call has moved. */
static inline void rkc_traffic_book(const struct rkc_mpi_call *call, struct rkc_moved moved)
{
    struct rkc_traffic *traffic = rkc_traffic_of(call);
    if (RKC_UNLIKELY(!traffic))
        return;
    if (moved.sent)
        rkc_traffic_add(&traffic->sent, moved.sent);
    if (moved.received)
        rkc_traffic_add(&traffic->received, moved.received);
    rkc_traffic_size(traffic, moved.sent, moved.received, 1);
}

#endif
