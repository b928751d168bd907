/* traffic.c - counting bytes.
 *
 * What one gets wrong here: MPI is asked only what it cannot refuse, for a refusal would call
 * the program's error handler. All of this runs after the call has succeeded, so that what is
 * significant in its arguments is valid; the rest may be anything and is left alone.
 */
#include "autoconf.h"

#include "traffic.h"

#include <pthread.h>

/* ---- sizes of datatypes ---- */

/* Of the predefined datatypes alone: the handle of any other may name another type tomorrow. A size
 * is there before its type. */
struct rkc_type_size rkc_mpi_type_sizes[RKC_TYPE_SLOTS];

_Atomic(uintptr_t) rkc_mpi_fortran_types[RKC_FORTRAN_TYPES];
_Atomic MPI_Fint rkc_mpi_fortran_world = -1;

static uint64_t ask_size(MPI_Datatype type)
{
    MPI_Count size = 0;
    if (PMPI_Type_size_x(type, &size) != MPI_SUCCESS || size < 0)
        return 0;
    return (uint64_t)size;
}

/* The slot of a datatype, or where it would go. */
static struct rkc_type_size *find_type(MPI_Datatype type)
{
    unsigned i = rkc_mpi_type_slot((uintptr_t)type);
    for (;; i = (i + 1) % RKC_TYPE_SLOTS) {
        uintptr_t found = atomic_load_explicit(&rkc_mpi_type_sizes[i].type, memory_order_acquire);
        if (!found || found == (uintptr_t)type)
            return &rkc_mpi_type_sizes[i];
    }
}

static void remember_type(MPI_Datatype type)
{
    struct rkc_type_size *slot = find_type(type);
    if (type == MPI_DATATYPE_NULL || atomic_load_explicit(&slot->type, memory_order_relaxed))
        return;
    MPI_Fint number = PMPI_Type_c2f(type);
    if (number >= 0 && number < RKC_FORTRAN_TYPES)
        atomic_store_explicit(&rkc_mpi_fortran_types[number], (uintptr_t)type,
                              memory_order_relaxed);
    slot->size = (uint32_t)ask_size(type);
    atomic_store_explicit(&slot->type, (uintptr_t)type, memory_order_release);
}

static _Atomic int types_known;

static void remember_types(void)
{
    static pthread_mutex_t types_lock = PTHREAD_MUTEX_INITIALIZER;
    const MPI_Datatype predefined[] = {
        MPI_CHAR, MPI_SIGNED_CHAR, MPI_UNSIGNED_CHAR, MPI_BYTE, MPI_PACKED, MPI_WCHAR,
        MPI_SHORT, MPI_UNSIGNED_SHORT, MPI_INT, MPI_UNSIGNED, MPI_LONG, MPI_UNSIGNED_LONG,
        MPI_LONG_LONG, MPI_UNSIGNED_LONG_LONG, MPI_FLOAT, MPI_DOUBLE, MPI_LONG_DOUBLE,
        MPI_INT8_T, MPI_INT16_T, MPI_INT32_T, MPI_INT64_T,
        MPI_UINT8_T, MPI_UINT16_T, MPI_UINT32_T, MPI_UINT64_T,
        MPI_C_BOOL, MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_C_LONG_DOUBLE_COMPLEX,
        MPI_AINT, MPI_OFFSET, MPI_COUNT,
        MPI_FLOAT_INT, MPI_DOUBLE_INT, MPI_LONG_INT, MPI_2INT, MPI_SHORT_INT, MPI_LONG_DOUBLE_INT,
        MPI_CHARACTER, MPI_LOGICAL, MPI_INTEGER, MPI_REAL, MPI_DOUBLE_PRECISION,
        MPI_COMPLEX, MPI_DOUBLE_COMPLEX, MPI_INTEGER4, MPI_INTEGER8, MPI_REAL4, MPI_REAL8,
        MPI_2INTEGER, MPI_2REAL, MPI_2DOUBLE_PRECISION,
    };
    pthread_mutex_lock(&types_lock);
    if (!atomic_load_explicit(&types_known, memory_order_relaxed)) {
        for (size_t i = 0; i < sizeof predefined / sizeof *predefined; i++)
            remember_type(predefined[i]);
        atomic_store_explicit(&rkc_mpi_fortran_world, PMPI_Comm_c2f(MPI_COMM_WORLD),
                              memory_order_relaxed);
        atomic_store_explicit(&types_known, 1, memory_order_release);
    }
    pthread_mutex_unlock(&types_lock);
}

uint64_t rkc_mpi_type_size_slow(MPI_Datatype type)
{
    if (RKC_UNLIKELY(!atomic_load_explicit(&types_known, memory_order_acquire)))
        remember_types();
    const struct rkc_type_size *slot = find_type(type);
    if (atomic_load_explicit(&slot->type, memory_order_relaxed))
        return slot->size;
    return type == MPI_DATATYPE_NULL ? 0 : ask_size(type);
}

/* ---- statuses ---- */

_Atomic int rkc_mpi_may_peek RKC_MPI_LOOKED_AT;

/* Whether a status with a known count shows it. */
static int may_peek(void)
{
    const MPI_Count count = (MPI_Count)0x123456789ab;
    MPI_Status status = {0};
    return PMPI_Status_set_elements_x(&status, MPI_BYTE, count) == MPI_SUCCESS &&
           PMPI_Status_set_cancelled(&status, 1) == MPI_SUCCESS &&
           rkc_mpi_peek(&status) == (uint64_t)count &&
           PMPI_Status_set_elements_x(&status, MPI_BYTE, 0) == MPI_SUCCESS &&
           rkc_mpi_peek(&status) == 0;
}

uint64_t rkc_mpi_arrived_slow(const MPI_Status *status)
{
    static _Atomic int tried;
    if (!atomic_exchange_explicit(&tried, 1, memory_order_relaxed) && may_peek())
        atomic_store_explicit(&rkc_mpi_may_peek, 1, memory_order_relaxed);
    MPI_Count count = 0;
    if (PMPI_Get_elements_x(status, MPI_BYTE, &count) != MPI_SUCCESS || count < 0)
        return 0;
    return (uint64_t)count;
}

/* ---- communicators ---- */

static int is_inter(MPI_Comm comm)
{
    int inter = 0;
    PMPI_Comm_test_inter(comm, &inter);
    return inter;
}

static int rank_in(MPI_Comm comm)
{
    int rank = 0;
    PMPI_Comm_rank(comm, &rank);
    return rank;
}

/* Of the own group. */
static int size_of(MPI_Comm comm)
{
    int size = 0;
    PMPI_Comm_size(comm, &size);
    return size;
}

/* How many ranks a rank exchanges blocks with. */
static int peers_in(MPI_Comm comm)
{
    int size = 0;
    if (is_inter(comm))
        PMPI_Comm_remote_size(comm, &size);
    else
        PMPI_Comm_size(comm, &size);
    return size;
}

enum role {
    ROOT,
    LEAF,
    OUTSIDE, /* in the root's group between two groups, but not the root */
};

static enum role role_of(int root, MPI_Comm comm)
{
    if (root == MPI_PROC_NULL)
        return OUTSIDE;
    if (root == MPI_ROOT)
        return ROOT;
    return !is_inter(comm) && rank_in(comm) == root ? ROOT : LEAF;
}

/* ---- blocks ---- */

static MPI_Count count_of(const struct rkc_blocks *blocks, int peer)
{
    if (!blocks->counts)
        return blocks->count;
    if (blocks->width == sizeof(int))
        return ((const int *)blocks->counts)[peer];
    return ((const MPI_Count *)blocks->counts)[peer];
}

static MPI_Datatype type_of(const struct rkc_blocks *blocks, int peer)
{
    if (blocks->fortran_types)
        return rkc_mpi_type_of(blocks->fortran_types[peer].number);
    return blocks->types ? blocks->types[peer] : blocks->type;
}

static uint64_t block_of(const struct rkc_blocks *blocks, int peer)
{
    return rkc_mpi_bytes(count_of(blocks, peer), type_of(blocks, peer));
}

static uint64_t sum_of(const struct rkc_blocks *blocks, int peers)
{
    uint64_t sum = 0;
    if (blocks->types || blocks->fortran_types) {
        for (int i = 0; i < peers; i++)
            sum += block_of(blocks, i);
        return sum;
    }
    if (!blocks->counts)
        return (uint64_t)peers * block_of(blocks, 0);
    for (int i = 0; i < peers; i++)
        sum += (uint64_t)count_of(blocks, i);
    return sum ? sum * rkc_mpi_type_size(blocks->type) : 0;
}

/* ---- collectives ---- */

struct rkc_bytes rkc_mpi_broadcasts(MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm)
{
    enum role role = role_of(root, comm);
    uint64_t block = role == OUTSIDE ? 0 : rkc_mpi_bytes(count, type);
    return role == ROOT ? RKC_BYTES(block, 0) : RKC_BYTES(0, block);
}

struct rkc_bytes rkc_mpi_reduces(MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm)
{
    enum role role = role_of(root, comm);
    uint64_t block = role == OUTSIDE ? 0 : rkc_mpi_bytes(count, type);
    return RKC_BYTES(root == MPI_ROOT ? 0 : block, role == ROOT ? block : 0);
}

struct rkc_bytes rkc_mpi_combines_before(uint64_t block, MPI_Comm comm)
{
    return RKC_BYTES(block, rank_in(comm) == 0 ? 0 : block);
}

struct rkc_bytes rkc_mpi_reduce_scatters(struct rkc_blocks blocks, MPI_Comm comm)
{
    return RKC_BYTES(sum_of(&blocks, size_of(comm)), block_of(&blocks, rank_in(comm)));
}

struct rkc_bytes rkc_mpi_reduce_scatters_block(uint64_t block, MPI_Comm comm)
{
    return RKC_BYTES((uint64_t)size_of(comm) * block, block);
}

struct rkc_bytes rkc_mpi_gathers(const void *sendbuf, MPI_Count count, MPI_Datatype type,
                                 struct rkc_blocks received, int root, MPI_Comm comm)
{
    enum role role = role_of(root, comm);
    int sends = role == LEAF || (root != MPI_ROOT && role == ROOT && sendbuf != MPI_IN_PLACE);
    return RKC_BYTES(sends ? rkc_mpi_bytes(count, type) : 0,
                     role == ROOT ? sum_of(&received, peers_in(comm)) : 0);
}

struct rkc_bytes rkc_mpi_scatters(struct rkc_blocks sent, const void *recvbuf, MPI_Count count,
                                  MPI_Datatype type, int root, MPI_Comm comm)
{
    enum role role = role_of(root, comm);
    int receives = role == LEAF || (root != MPI_ROOT && role == ROOT && recvbuf != MPI_IN_PLACE);
    return RKC_BYTES(role == ROOT ? sum_of(&sent, peers_in(comm)) : 0,
                     receives ? rkc_mpi_bytes(count, type) : 0);
}

struct rkc_bytes rkc_mpi_allgathers(const void *sendbuf, MPI_Count count, MPI_Datatype type,
                                    struct rkc_blocks received, MPI_Comm comm)
{
    uint64_t block = sendbuf == MPI_IN_PLACE ? block_of(&received, rank_in(comm))
                                             : rkc_mpi_bytes(count, type);
    return RKC_BYTES(block, sum_of(&received, peers_in(comm)));
}

struct rkc_bytes rkc_mpi_alltoalls(const void *sendbuf, struct rkc_blocks sent,
                                   struct rkc_blocks received, MPI_Comm comm)
{
    int peers = peers_in(comm);
    return RKC_BYTES(sum_of(sendbuf == MPI_IN_PLACE ? &received : &sent, peers),
                     sum_of(&received, peers));
}

/* ---- neighbours ---- */

struct neighbors {
    MPI_Comm comm;
    int cartesian;
    int sources, targets;
};

static struct neighbors neighbors_in(MPI_Comm comm)
{
    struct neighbors neighbors = {comm, 0, 0, 0};
    int topology = MPI_UNDEFINED, n = 0, weighted;
    PMPI_Topo_test(comm, &topology);
    if (topology == MPI_CART) {
        PMPI_Cartdim_get(comm, &n);
        neighbors = (struct neighbors){comm, 1, 2 * n, 2 * n};
    } else if (topology == MPI_GRAPH) {
        PMPI_Graph_neighbors_count(comm, rank_in(comm), &n);
        neighbors = (struct neighbors){comm, 0, n, n};
    } else if (topology == MPI_DIST_GRAPH) {
        PMPI_Dist_graph_neighbors_count(comm, &neighbors.sources, &neighbors.targets, &weighted);
    }
    return neighbors;
}

/* Whether the i-th neighbour exists: beyond the edge of a grid there is none. */
static int is_there(const struct neighbors *neighbors, int i)
{
    int before, after;
    if (!neighbors->cartesian)
        return 1;
    PMPI_Cart_shift(neighbors->comm, i / 2, 1, &before, &after);
    return (i % 2 ? after : before) != MPI_PROC_NULL;
}

static uint64_t sum_there(const struct rkc_blocks *blocks, const struct neighbors *neighbors,
                          int n)
{
    uint64_t sum = 0;
    for (int i = 0; i < n; i++)
        if (is_there(neighbors, i))
            sum += block_of(blocks, i);
    return sum;
}

struct rkc_bytes rkc_mpi_neighbor_gathers(MPI_Count count, MPI_Datatype type,
                                          struct rkc_blocks received, MPI_Comm comm)
{
    struct neighbors neighbors = neighbors_in(comm);
    int i = 0;
    while (i < neighbors.targets && !is_there(&neighbors, i))
        i++;
    return RKC_BYTES(i < neighbors.targets ? rkc_mpi_bytes(count, type) : 0,
                     sum_there(&received, &neighbors, neighbors.sources));
}

struct rkc_bytes rkc_mpi_neighbor_alltoalls(struct rkc_blocks sent, struct rkc_blocks received,
                                            MPI_Comm comm)
{
    struct neighbors neighbors = neighbors_in(comm);
    return RKC_BYTES(sum_there(&sent, &neighbors, neighbors.targets),
                     sum_there(&received, &neighbors, neighbors.sources));
}

/* ---- booking ---- */

void rkc_traffic_book(const struct rkc_mpi_call *call, const struct rkc_moved *moved)
{
    if (moved->how & RKC_MOVED_TOGETHER)
        rkc_wait_book(call, moved->comm);
    if (!(moved->how & RKC_MOVED_SIZED))
        return;
    struct rkc_traffic *traffic = rkc_traffic_of(call);
    if (RKC_LIKELY(traffic != NULL) && rkc_kinds_wanted(call->end))
        traffic = rkc_kinds_traffic(call, traffic, moved);
    if (RKC_UNLIKELY(!traffic))
        return;
    if (moved->sent)
        rkc_traffic_add(&traffic->sent, moved->sent);
    if (moved->received)
        rkc_traffic_add(&traffic->received, moved->received);
    rkc_traffic_size(traffic, moved->sent, moved->received, 1);
    if (moved->how & (RKC_MOVED_MESSAGE | RKC_MOVED_FETCHED))
        rkc_traffic_message(moved, rkc_moved_rank(moved));
}
