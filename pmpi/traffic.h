/* traffic.h - what an MPI call moves: the words of the last column of mpi_calls.def.
 *
 * All numbers are bytes of payload of this rank: count times the size of the datatype, not its
 * extent, in 64 bits. They follow from the arguments; what is received by point-to-point calls,
 * and what a file took or gave, is what the status says. A rank's own block counts like any
 * other. A call that fails moves nothing, and nothing moves to or from MPI_PROC_NULL. Arguments
 * that the standard calls not significant are never looked at.
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
 * and one says what, with the call's own arguments: the buffers, whose memory may be asked about,
 * and whom it goes to. What each sends and receives stands in words.def, which `rankclock report
 * --explain` prints; _V sums over blocks of different counts, _W of different types.
 *
 * Each operation that moves data, or may, is one entry in the histogram of sizes, with the
 * larger of what it sent and received: at the call, or at completion where that brings data.
 */
#ifndef RKC_PMPI_TRAFFIC_H
#define RKC_PMPI_TRAFFIC_H

#include "call.h"
#include "group.h"
#include "kinds.h"
#include "matrix.h"
#include "mpi_blocks.h"
#include "wait.h"

enum {
    RKC_MOVED_SIZED = 1,    /* an entry in the histogram of sizes */
    RKC_MOVED_ARRIVES = 2,  /* received: what the status at completion says */
    RKC_MOVED_MESSAGE = 4,  /* sent: a message to `peer` of `comm` or `win` */
    RKC_MOVED_FETCHED = 8,  /* received: a message from `peer` of `win` that it knows nothing of */
    RKC_MOVED_TOGETHER = 16 /* a collective of `comm` that nobody leaves before all have come */
};

/* A buffer: `count` of them is not 0. */
struct rkc_side {
    const void *address; /* NULL with MPI_DATATYPE_NULL: there is none */
    MPI_Datatype type;   /* MPI_DATATYPE_NULL: the address is that of the data */
};

struct rkc_moved {
    uint64_t sent, received;
    unsigned how;
    int peer;
    MPI_Comm comm;
    MPI_Win win; /* MPI_WIN_NULL: `peer` is a rank of `comm` */
    struct rkc_side from, to;
};

struct rkc_bytes {
    uint64_t sent, received;
};

/* Sizes of predefined datatypes: open addressing by handle. */
struct rkc_type_size {
    _Atomic(uintptr_t) type; /* 0: free */
    uint32_t size;
};

enum { RKC_TYPE_SLOTS = 256 };

extern struct rkc_type_size rkc_mpi_type_sizes[RKC_TYPE_SLOTS];

uint64_t rkc_mpi_type_size_slow(MPI_Datatype type);

static inline unsigned rkc_mpi_type_slot(uintptr_t type)
{
    return (unsigned)((uint64_t)type * UINT64_C(0x9e3779b97f4a7c15) >> 56);
}

/* Bytes in an element: not of MPI_DATATYPE_NULL, which has 0. */
static inline uint64_t rkc_mpi_type_size(MPI_Datatype type)
{
    const struct rkc_type_size *slot = &rkc_mpi_type_sizes[rkc_mpi_type_slot((uintptr_t)type)];
    if (RKC_LIKELY(atomic_load_explicit(&slot->type, memory_order_acquire) == (uintptr_t)type))
        return slot->size;
    return rkc_mpi_type_size_slow(type);
}

/* Fortran's numbers of the predefined datatypes whose sizes are known, and of MPI_COMM_WORLD, which
 * never stand for another: Open MPI takes some ns to look up each. */
enum { RKC_FORTRAN_TYPES = 128 };

extern _Atomic(uintptr_t) rkc_mpi_fortran_types[RKC_FORTRAN_TYPES]; /* 0: ask */
extern _Atomic MPI_Fint rkc_mpi_fortran_world;                      /* -1: not known */

static inline MPI_Datatype rkc_mpi_type_of(MPI_Fint number)
{
#ifdef OPEN_MPI
    uintptr_t type = 0;
    if (RKC_LIKELY(number >= 0 && number < RKC_FORTRAN_TYPES))
        type = atomic_load_explicit(&rkc_mpi_fortran_types[number], memory_order_relaxed);
    if (RKC_LIKELY(type != 0))
        return (MPI_Datatype)type;
#endif
    return PMPI_Type_f2c(number);
}

static inline MPI_Comm rkc_mpi_comm_of(MPI_Fint number)
{
#ifdef OPEN_MPI
    if (RKC_LIKELY(number == atomic_load_explicit(&rkc_mpi_fortran_world, memory_order_relaxed)))
        return MPI_COMM_WORLD;
#endif
    return PMPI_Comm_f2c(number);
}

/* The count of bytes that the known MPIs keep in a status, private to them. */
static inline uint64_t rkc_mpi_peek(const MPI_Status *status)
{
#if defined(HAVE_MPI_STATUS__UCOUNT)
    return status->_ucount;
#elif defined(HAVE_MPI_STATUS_COUNT_HI_AND_CANCELLED)
    uint64_t high = (uint32_t)status->count_hi_and_cancelled >> 1;
    return high << 32 | (uint32_t)status->count_lo;
#else
    (void)status;
    return UINT64_MAX;
#endif
}

/* Whether it is known to be there. */
extern _Atomic int rkc_mpi_may_peek;

uint64_t rkc_mpi_arrived_slow(const MPI_Status *status);

/* Bytes that a receive brought. */
static inline uint64_t rkc_mpi_arrived(const MPI_Status *status)
{
    if (RKC_LIKELY(atomic_load_explicit(&rkc_mpi_may_peek, memory_order_relaxed)))
        return rkc_mpi_peek(status);
    return rkc_mpi_arrived_slow(status);
}

static inline uint64_t rkc_mpi_bytes(MPI_Count count, MPI_Datatype type)
{
    return count > 0 ? (uint64_t)count * rkc_mpi_type_size(type) : 0;
}

static inline uint64_t rkc_mpi_sends(MPI_Count count, MPI_Datatype type, int peer)
{
    return peer == MPI_PROC_NULL ? 0 : rkc_mpi_bytes(count, type);
}

static inline struct rkc_side rkc_side(const void *address, MPI_Datatype type)
{
    return (struct rkc_side){address, type};
}

#define RKC_NO_SIDE rkc_side(NULL, MPI_DATATYPE_NULL)

/* A datatype as Fortran has it. */
struct rkc_fortran_type {
    MPI_Fint number;
};

/* One block for each peer. */
struct rkc_blocks {
    const void *counts; /* ints or MPI_Counts; NULL: all have `count` */
    size_t width;       /* of one of `counts` */
    MPI_Count count;
    const MPI_Datatype *types; /* NULL: all are of `type` ... */
    const struct rkc_fortran_type *fortran_types; /* ... unless this is not */
    MPI_Datatype type;
};

static inline struct rkc_blocks rkc_blocks_of_types(const void *counts, size_t width,
                                                    const MPI_Datatype *types)
{
    return (struct rkc_blocks){.counts = counts, .width = width, .types = types};
}

static inline struct rkc_blocks
rkc_blocks_of_fortran_types(const void *counts, size_t width, const struct rkc_fortran_type *types)
{
    return (struct rkc_blocks){.counts = counts, .width = width, .fortran_types = types};
}

struct rkc_bytes rkc_mpi_broadcasts(MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm);
struct rkc_bytes rkc_mpi_reduces(MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm);
struct rkc_bytes rkc_mpi_combines_before(uint64_t block, MPI_Comm comm);
struct rkc_bytes rkc_mpi_reduce_scatters(struct rkc_blocks blocks, MPI_Comm comm);
struct rkc_bytes rkc_mpi_reduce_scatters_block(uint64_t block, MPI_Comm comm);
struct rkc_bytes rkc_mpi_gathers(const void *sendbuf, MPI_Count count, MPI_Datatype type,
                                 struct rkc_blocks received, int root, MPI_Comm comm);
struct rkc_bytes rkc_mpi_scatters(struct rkc_blocks sent, const void *recvbuf, MPI_Count count,
                                  MPI_Datatype type, int root, MPI_Comm comm);
struct rkc_bytes rkc_mpi_allgathers(const void *sendbuf, MPI_Count count, MPI_Datatype type,
                                    struct rkc_blocks received, MPI_Comm comm);
struct rkc_bytes rkc_mpi_alltoalls(const void *sendbuf, struct rkc_blocks sent,
                                   struct rkc_blocks received, MPI_Comm comm);
struct rkc_bytes rkc_mpi_neighbor_gathers(MPI_Count count, MPI_Datatype type,
                                          struct rkc_blocks received, MPI_Comm comm);
struct rkc_bytes rkc_mpi_neighbor_alltoalls(struct rkc_blocks sent, struct rkc_blocks received,
                                            MPI_Comm comm);

static inline struct rkc_moved rkc_moved(struct rkc_bytes bytes, unsigned how,
                                         struct rkc_side from, struct rkc_side to)
{
    return (struct rkc_moved){.sent = bytes.sent,
                              .received = bytes.received,
                              .how = how | RKC_MOVED_SIZED,
                              .peer = MPI_PROC_NULL,
                              .comm = MPI_COMM_NULL,
                              .win = MPI_WIN_NULL,
                              .from = from,
                              .to = to};
}

static inline struct rkc_moved rkc_moved_by_message(struct rkc_moved moved, int peer,
                                                    MPI_Comm comm)
{
    moved.how |= peer == MPI_PROC_NULL ? 0 : (unsigned)RKC_MOVED_MESSAGE;
    moved.peer = peer;
    moved.comm = comm;
    return moved;
}

static inline struct rkc_moved rkc_moved_in_window(struct rkc_moved moved, unsigned how, int peer,
                                                   MPI_Win win)
{
    moved.how |= peer == MPI_PROC_NULL ? 0 : how;
    moved.peer = peer;
    moved.win = win;
    return moved;
}

static inline struct rkc_moved rkc_moved_together(struct rkc_moved moved, MPI_Comm comm)
{
    moved.how |= RKC_MOVED_TOGETHER;
    moved.comm = comm;
    return moved;
}

/* A request that sends and receives. MPICH makes it a schedule, in whose status nothing is set, and
 * of one that only sends the status says nothing of a receive (MPIR_Isendrecv_impl). */
static inline struct rkc_moved rkc_moved_exchange(uint64_t sent, struct rkc_side from, int dest,
                                                  uint64_t room, struct rkc_side to, int source)
{
#ifdef MPICH_NAME
    int told = source != MPI_PROC_NULL && dest == MPI_PROC_NULL;
#else
    int told = source != MPI_PROC_NULL;
    (void)dest;
#endif
    return rkc_moved((struct rkc_bytes){sent, told ? 0 : room}, told ? RKC_MOVED_ARRIVES : 0, from,
                     to);
}

/* The origin's arguments of a fetch that changes nothing are not significant. */
static inline struct rkc_moved rkc_moved_fetch(uint64_t received, const void *origin,
                                               MPI_Count count, MPI_Datatype type,
                                               struct rkc_side to, int target, MPI_Op op,
                                               MPI_Win win)
{
    uint64_t sent = op == MPI_NO_OP ? 0 : rkc_mpi_sends(count, type, target);
    struct rkc_side from = op == MPI_NO_OP ? RKC_NO_SIDE : rkc_side(origin, type);
    return rkc_moved_in_window(rkc_moved((struct rkc_bytes){sent, received}, 0, from, to),
                               RKC_MOVED_FETCHED | (op == MPI_NO_OP ? 0 : RKC_MOVED_MESSAGE),
                               target, win);
}

/* What Fortran's arrays of counts have in them depends on the call. */
#ifndef RKC_WIDTH
#define RKC_WIDTH(counts) sizeof *(counts)
#endif

/* Blocks of one count, of many, of many types. */
#define RKC_SAME(n, of) ((struct rkc_blocks){.count = n, .type = of})
#define RKC_EACH(of, type_) \
    ((struct rkc_blocks){.counts = of, .width = RKC_WIDTH(of), .type = type_})
#define RKC_TYPED(counts, types)                                                     \
    _Generic((types), const struct rkc_fortran_type *: rkc_blocks_of_fortran_types, \
             default: rkc_blocks_of_types)(counts, RKC_WIDTH(counts), types)

#define RKC_BYTES(sent, received) ((struct rkc_bytes){sent, received})
#define RKC_IF_ANY(count, address, type) ((count) > 0 ? rkc_side(address, type) : RKC_NO_SIDE)
/* With types of their own for each peer, where the data begins is not asked. */
#define RKC_UNTYPED(address) rkc_side(address, MPI_DATATYPE_NULL)

/* Point-to-point. */
#define SENDS(buf, count, type, dest, comm)                                           \
    rkc_moved_by_message(rkc_moved(RKC_BYTES(rkc_mpi_sends(count, type, dest), 0), 0, \
                                   rkc_side(buf, type), RKC_NO_SIDE),                 \
                         dest, comm)
#define RECEIVES(buf, type, status) \
    rkc_moved(RKC_BYTES(0, rkc_mpi_arrived(status)), 0, RKC_NO_SIDE, rkc_side(buf, type))
#define EXCHANGES(sbuf, scount, stype, dest, rbuf, rtype, comm, status)                      \
    rkc_moved_by_message(                                                                    \
        rkc_moved(RKC_BYTES(rkc_mpi_sends(scount, stype, dest), rkc_mpi_arrived(status)), 0, \
                  rkc_side(sbuf, stype), rkc_side(rbuf, rtype)),                             \
        dest, comm)
#define ARRIVES(buf, count, type) \
    rkc_moved(RKC_BYTES(0, 0), RKC_MOVED_ARRIVES, RKC_NO_SIDE, RKC_IF_ANY(count, buf, type))
#define SENDS_AND_ARRIVES(sbuf, scount, stype, dest, rbuf, rcount, rtype, source, comm)     \
    rkc_moved_by_message(                                                                   \
        rkc_moved_exchange(rkc_mpi_sends(scount, stype, dest), rkc_side(sbuf, stype), dest, \
                           rkc_mpi_sends(rcount, rtype, source),                            \
                           RKC_IF_ANY(rcount, rbuf, rtype), source),                        \
        dest, comm)
#define TAKES(buf, count, type, source)                                         \
    rkc_moved(RKC_BYTES(0, rkc_mpi_sends(count, type, source)), 0, RKC_NO_SIDE, \
              rkc_side(buf, type))

/* Collective. */
#define MEETS(of)                                                               \
    ((struct rkc_moved){.how = RKC_MOVED_TOGETHER, .peer = MPI_PROC_NULL,       \
                        .comm = of, .win = MPI_WIN_NULL, .from = RKC_NO_SIDE, \
                        .to = RKC_NO_SIDE})
#define SYNCHRONIZES                                                  \
    ((struct rkc_moved){.peer = MPI_PROC_NULL, .comm = MPI_COMM_NULL, \
                        .win = MPI_WIN_NULL, .from = RKC_NO_SIDE, .to = RKC_NO_SIDE})
#define BROADCASTS(buf, count, type, root, comm)                                   \
    rkc_moved(rkc_mpi_broadcasts(count, type, root, comm), 0, rkc_side(buf, type), \
              rkc_side(buf, type))
#define REDUCES(sendbuf, recvbuf, count, type, root, comm)                          \
    rkc_moved(rkc_mpi_reduces(count, type, root, comm), 0, rkc_side(sendbuf, type), \
              rkc_side(recvbuf, type))
#define SCANS(sendbuf, recvbuf, count, type, comm)                                  \
    rkc_moved(RKC_BYTES(rkc_mpi_bytes(count, type), rkc_mpi_bytes(count, type)), 0, \
              rkc_side(sendbuf, type), rkc_side(recvbuf, type))
#define COMBINES(sendbuf, recvbuf, count, type, comm) \
    rkc_moved_together(SCANS(sendbuf, recvbuf, count, type, comm), comm)
#define COMBINES_BEFORE(sendbuf, recvbuf, count, type, comm)                \
    rkc_moved(rkc_mpi_combines_before(rkc_mpi_bytes(count, type), comm), 0, \
              rkc_side(sendbuf, type), rkc_side(recvbuf, type))
#define REDUCE_SCATTERS(sendbuf, recvbuf, counts, type, comm)                              \
    rkc_moved_together(rkc_moved(rkc_mpi_reduce_scatters(RKC_EACH(counts, type), comm), 0, \
                                 rkc_side(sendbuf, type), rkc_side(recvbuf, type)),        \
                       comm)
#define REDUCE_SCATTERS_BLOCK(sendbuf, recvbuf, count, type, comm)                    \
    rkc_moved_together(                                                               \
        rkc_moved(rkc_mpi_reduce_scatters_block(rkc_mpi_bytes(count, type), comm), 0, \
                  rkc_side(sendbuf, type), rkc_side(recvbuf, type)),                  \
        comm)
#define GATHERS(sbuf, scount, stype, rbuf, rcount, rtype, root, comm)                       \
    rkc_moved(rkc_mpi_gathers(sbuf, scount, stype, RKC_SAME(rcount, rtype), root, comm), 0, \
              rkc_side(sbuf, stype), rkc_side(rbuf, rtype))
#define GATHERS_V(sbuf, scount, stype, rbuf, rcounts, rtype, root, comm)                     \
    rkc_moved(rkc_mpi_gathers(sbuf, scount, stype, RKC_EACH(rcounts, rtype), root, comm), 0, \
              rkc_side(sbuf, stype), rkc_side(rbuf, rtype))
#define SCATTERS(sbuf, scount, stype, rbuf, rcount, rtype, root, comm)                       \
    rkc_moved(rkc_mpi_scatters(RKC_SAME(scount, stype), rbuf, rcount, rtype, root, comm), 0, \
              rkc_side(sbuf, stype), rkc_side(rbuf, rtype))
#define SCATTERS_V(sbuf, scounts, stype, rbuf, rcount, rtype, root, comm)                     \
    rkc_moved(rkc_mpi_scatters(RKC_EACH(scounts, stype), rbuf, rcount, rtype, root, comm), 0, \
              rkc_side(sbuf, stype), rkc_side(rbuf, rtype))
#define ALLGATHERS(sbuf, scount, stype, rbuf, rcount, rtype, comm)                           \
    rkc_moved_together(                                                                      \
        rkc_moved(rkc_mpi_allgathers(sbuf, scount, stype, RKC_SAME(rcount, rtype), comm), 0, \
                  rkc_side(sbuf, stype), rkc_side(rbuf, rtype)),                             \
        comm)
#define ALLGATHERS_V(sbuf, scount, stype, rbuf, rcounts, rtype, comm)                         \
    rkc_moved_together(                                                                       \
        rkc_moved(rkc_mpi_allgathers(sbuf, scount, stype, RKC_EACH(rcounts, rtype), comm), 0, \
                  rkc_side(sbuf, stype), rkc_side(rbuf, rtype)),                              \
        comm)
#define ALLTOALLS(sbuf, scount, stype, rbuf, rcount, rtype, comm)                  \
    rkc_moved_together(rkc_moved(rkc_mpi_alltoalls(sbuf, RKC_SAME(scount, stype),  \
                                                   RKC_SAME(rcount, rtype), comm), \
                                 0, rkc_side(sbuf, stype), rkc_side(rbuf, rtype)), \
                       comm)
#define ALLTOALLS_V(sbuf, scounts, stype, rbuf, rcounts, rtype, comm)               \
    rkc_moved_together(rkc_moved(rkc_mpi_alltoalls(sbuf, RKC_EACH(scounts, stype),  \
                                                   RKC_EACH(rcounts, rtype), comm), \
                                 0, rkc_side(sbuf, stype), rkc_side(rbuf, rtype)),  \
                       comm)
#define ALLTOALLS_W(sbuf, scounts, stypes, rbuf, rcounts, rtypes, comm)               \
    rkc_moved_together(rkc_moved(rkc_mpi_alltoalls(sbuf, RKC_TYPED(scounts, stypes),  \
                                                   RKC_TYPED(rcounts, rtypes), comm), \
                                 0, RKC_UNTYPED(sbuf), RKC_UNTYPED(rbuf)),            \
                       comm)
#define NEIGHBOR_GATHERS(sbuf, scount, stype, rbuf, rcount, rtype, comm)                 \
    rkc_moved(rkc_mpi_neighbor_gathers(scount, stype, RKC_SAME(rcount, rtype), comm), 0, \
              rkc_side(sbuf, stype), rkc_side(rbuf, rtype))
#define NEIGHBOR_GATHERS_V(sbuf, scount, stype, rbuf, rcounts, rtype, comm)               \
    rkc_moved(rkc_mpi_neighbor_gathers(scount, stype, RKC_EACH(rcounts, rtype), comm), 0, \
              rkc_side(sbuf, stype), rkc_side(rbuf, rtype))
#define NEIGHBOR_ALLTOALLS(sbuf, scount, stype, rbuf, rcount, rtype, comm)                     \
    rkc_moved(                                                                                 \
        rkc_mpi_neighbor_alltoalls(RKC_SAME(scount, stype), RKC_SAME(rcount, rtype), comm), 0, \
        rkc_side(sbuf, stype), rkc_side(rbuf, rtype))
#define NEIGHBOR_ALLTOALLS_V(sbuf, scounts, stype, rbuf, rcounts, rtype, comm)                   \
    rkc_moved(                                                                                   \
        rkc_mpi_neighbor_alltoalls(RKC_EACH(scounts, stype), RKC_EACH(rcounts, rtype), comm), 0, \
        rkc_side(sbuf, stype), rkc_side(rbuf, rtype))
#define NEIGHBOR_ALLTOALLS_W(sbuf, scounts, stypes, rbuf, rcounts, rtypes, comm) \
    rkc_moved(rkc_mpi_neighbor_alltoalls(RKC_TYPED(scounts, stypes),             \
                                         RKC_TYPED(rcounts, rtypes), comm),      \
              0, RKC_UNTYPED(sbuf), RKC_UNTYPED(rbuf))

/* One-sided. */
#define PUTS(buf, count, type, target, win)                                            \
    rkc_moved_in_window(rkc_moved(RKC_BYTES(rkc_mpi_sends(count, type, target), 0), 0, \
                                  rkc_side(buf, type), RKC_NO_SIDE),                   \
                        RKC_MOVED_MESSAGE, target, win)
#define GETS(buf, count, type, target, win)                                            \
    rkc_moved_in_window(rkc_moved(RKC_BYTES(0, rkc_mpi_sends(count, type, target)), 0, \
                                  RKC_NO_SIDE, rkc_side(buf, type)),                   \
                        RKC_MOVED_FETCHED, target, win)
#define FETCHES(obuf, ocount, otype, rbuf, rcount, rtype, target, op, win)     \
    rkc_moved_fetch(rkc_mpi_sends(rcount, rtype, target), obuf, ocount, otype, \
                    rkc_side(rbuf, rtype), target, op, win)
#define SWAPS(obuf, cbuf, rbuf, type, target, win)                                \
    rkc_moved_in_window(rkc_moved(RKC_BYTES(rkc_mpi_sends(2, type, target),       \
                                            rkc_mpi_sends(1, type, target)),      \
                                  0, rkc_side(obuf, type), rkc_side(rbuf, type)), \
                        RKC_MOVED_MESSAGE | RKC_MOVED_FETCHED, target, win)

/* Files and packing. */
#define WRITES(buf, type, status) \
    rkc_moved(RKC_BYTES(rkc_mpi_arrived(status), 0), 0, rkc_side(buf, type), RKC_NO_SIDE)
#define READS RECEIVES
#define WRITES_LATER(buf, count, type) \
    rkc_moved(RKC_BYTES(rkc_mpi_bytes(count, type), 0), 0, rkc_side(buf, type), RKC_NO_SIDE)
#define READS_LATER ARRIVES
#define PACKS WRITES_LATER
#define UNPACKS(buf, count, type) \
    rkc_moved(RKC_BYTES(0, rkc_mpi_bytes(count, type)), 0, RKC_NO_SIDE, rkc_side(buf, type))

/* Of operations of so many bytes; NULL without memory. */
static inline _Atomic uint64_t *rkc_traffic_counter(struct rkc_traffic *traffic, uint64_t bytes)
{
    unsigned bucket = rkc_size_bucket(bytes), near = rkc_traffic_near(traffic, bucket);
    return RKC_LIKELY(near < RKC_SIZES_NEAR) ? &traffic->size[near]
                                             : rkc_private_traffic_size(traffic, bucket);
}

static inline void rkc_traffic_size(struct rkc_traffic *traffic, uint64_t sent, uint64_t received,
                                    uint64_t n)
{
    _Atomic uint64_t *counter = rkc_traffic_counter(traffic, sent > received ? sent : received);
    if (RKC_LIKELY(counter != NULL))
        rkc_traffic_add(counter, n);
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

/* The rank of the world at the other end of a message; negative if it is of another one. */
static inline int rkc_moved_rank(const struct rkc_moved *moved)
{
    if (moved->win == MPI_WIN_NULL && moved->comm == MPI_COMM_WORLD)
        return moved->peer;
    return rkc_mpi_world_rank(moved->win != MPI_WIN_NULL ? rkc_mpi_group_of_window(moved->win)
                                                         : rkc_mpi_group_of(moved->comm),
                              moved->peer);
}

/* Count messages by rank. */
static inline void rkc_traffic_message(const struct rkc_moved *moved, int rank)
{
    if (moved->how & RKC_MOVED_MESSAGE)
        rkc_matrix_add(rank, 0, 1, moved->sent);
    if (moved->how & RKC_MOVED_FETCHED)
        rkc_matrix_add(rank, 1, 1, moved->received);
}

/* Book what a recorded call has moved-> */
void rkc_traffic_book(const struct rkc_mpi_call *call, const struct rkc_moved *moved);

/* The same, without a detour for what is nothing special. */
static inline void rkc_traffic_book_here(const struct rkc_mpi_call *call, struct rkc_moved moved)
{
    struct rkc_node *node = call->node;
    if (RKC_UNLIKELY(!node || rkc_mpi_concurrent ||
                     ((moved.how & RKC_MOVED_SIZED) &&
                      (!node->traffic || rkc_kinds_wanted(call->end))) ||
                     ((moved.how & RKC_MOVED_MESSAGE) && moved.comm != MPI_COMM_WORLD))) {
        struct rkc_moved special = moved;
        rkc_traffic_book(call, &special);
        return;
    }
    if (moved.how & RKC_MOVED_TOGETHER)
        rkc_wait_book(call, moved.comm);
    if (!(moved.how & RKC_MOVED_SIZED))
        return;
    struct rkc_traffic *traffic = rkc_image_at(call->thread->base, node->traffic);
    if (moved.sent)
        rkc_traffic_add_alone(&traffic->sent, moved.sent);
    if (moved.received)
        rkc_traffic_add_alone(&traffic->received, moved.received);
    uint64_t larger = moved.sent > moved.received ? moved.sent : moved.received;
    _Atomic uint64_t *counter = rkc_traffic_counter(traffic, larger);
    if (RKC_LIKELY(counter != NULL))
        rkc_traffic_add_alone(counter, 1);
    if (moved.how & RKC_MOVED_MESSAGE)
        rkc_matrix_add(moved.peer, 0, 1, moved.sent);
}

#endif
