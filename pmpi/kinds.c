/* kinds.c - asking about buffers.
 *
 * What one gets wrong here: MPI_IN_PLACE is not an address, and MPI_BOTTOM is one only together
 * with its datatype. Where the data of a derived datatype begins is asked of MPI, and it is the
 * lowest byte that is asked about. */
#include "autoconf.h"

#include "kinds.h"

#include "gpu/memory.h"
#include "mpi_blocks.h"
#include "runtime.h"
#include "traffic.h"

/* Ticks between two looks for a context: 0.5 to 2 ms. */
enum { LOOK_TICKS = 1 << 21 };

_Atomic uint64_t rkc_kinds_due RKC_MPI_LOOKED_AT;

static int is_context_there(uint64_t now)
{
    static _Atomic int found;
    if (atomic_load_explicit(&found, memory_order_relaxed))
        return 1;
    if (rkc_private_config()->gpu == RKC_GPU_OFF) {
        atomic_store_explicit(&rkc_kinds_due, UINT64_MAX, memory_order_relaxed);
        return 0;
    }
    int here = rkc_private_memory_look();
    atomic_store_explicit(&found, here, memory_order_relaxed);
    atomic_store_explicit(&rkc_kinds_due, here ? 0 : now + LOOK_TICKS, memory_order_relaxed);
    return here;
}

static int is_predefined(MPI_Datatype type)
{
    int integers, addresses, types, combiner = MPI_COMBINER_NAMED;
    PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    return combiner == MPI_COMBINER_NAMED;
}

static struct rkc_memory ask(struct rkc_side side)
{
    struct rkc_memory memory = {RKC_KIND_NONE, -1};
    MPI_Aint first = 0, extent;
    if (side.address == MPI_IN_PLACE)
        return memory;
    if (side.type != MPI_DATATYPE_NULL && !is_predefined(side.type))
        PMPI_Type_get_true_extent(side.type, &first, &extent);
    const char *address = (const char *)((uintptr_t)side.address + (uintptr_t)first);
    if (address)
        rkc_private_memory_of(address, &memory);
    return memory;
}

static void take(struct rkc_memory memory, uint8_t *kind, uint8_t *device)
{
    *kind = memory.kind;
    *device = memory.kind == RKC_KIND_DEVICE && memory.device >= 0 && memory.device < RKC_NO_DEVICE
                  ? (uint8_t)memory.device
                  : RKC_NO_DEVICE;
}

static int is_host(uint8_t kind)
{
    return kind == RKC_KIND_NONE || kind == RKC_KIND_HOST;
}

struct rkc_kinds rkc_kinds_of(const struct rkc_moved *moved, uint64_t now)
{
    struct rkc_memory from = {RKC_KIND_NONE, -1}, to = {RKC_KIND_NONE, -1};
    struct rkc_kinds kinds;
    int sends = moved->sent != 0;
    int receives = moved->received || (moved->how & RKC_MOVED_ARRIVES);
    if ((!sends && !receives) || !is_context_there(now))
        return (struct rkc_kinds){0};
    int in_place = sends && moved->from.address == MPI_IN_PLACE;
    if (sends && !in_place)
        from = ask(moved->from);
    if (receives || in_place)
        to = ask(moved->to.address == MPI_IN_PLACE ? moved->from : moved->to);
    if (in_place)
        from = to;
    if (!receives)
        to = (struct rkc_memory){RKC_KIND_NONE, -1};
    if (is_host(from.kind) && is_host(to.kind))
        return (struct rkc_kinds){0};
    take(from, &kinds.send, &kinds.send_device);
    take(to, &kinds.recv, &kinds.recv_device);
    return kinds;
}

static int has_gaps(struct rkc_side side)
{
    MPI_Aint first, extent;
    if (side.type == MPI_DATATYPE_NULL || is_predefined(side.type))
        return 0;
    PMPI_Type_get_true_extent(side.type, &first, &extent);
    return (uint64_t)extent != rkc_mpi_type_size(side.type);
}

int rkc_kinds_gaps(const struct rkc_moved *moved, struct rkc_kinds kinds)
{
    return (!is_host(kinds.send) && moved->from.address != MPI_IN_PLACE && has_gaps(moved->from)) ||
           (!is_host(kinds.recv) && moved->to.address != MPI_IN_PLACE && has_gaps(moved->to));
}

struct rkc_traffic *rkc_kinds_traffic_of(const struct rkc_mpi_call *call,
                                         struct rkc_traffic *traffic, struct rkc_kinds kinds)
{
    if (is_host(kinds.send) && is_host(kinds.recv))
        return traffic;
    struct rkc_traffic *own = rkc_private_traffic_of_kinds(call->thread, call->node, kinds);
    if (own)
        rkc_traffic_add(&own->ticks, call->end - call->begin);
    return own;
}

struct rkc_traffic *rkc_kinds_traffic(const struct rkc_mpi_call *call, struct rkc_traffic *traffic,
                                      const struct rkc_moved *moved)
{
    struct rkc_kinds kinds = rkc_kinds_of(moved, call->end);
    struct rkc_traffic *own = rkc_kinds_traffic_of(call, traffic, kinds);
    if (own && own != traffic && rkc_kinds_gaps(moved, kinds))
        atomic_fetch_add_explicit(&own->noncontiguous, 1, memory_order_relaxed);
    return own;
}
