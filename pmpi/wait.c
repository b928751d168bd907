/* wait.c - from the handle of a communicator to the counters of its members. */
#include "autoconf.h"

#include "wait.h"

#include "group.h"
#include "mpi_blocks.h"

int rkc_mpi_sync RKC_MPI_LOOKED_AT;
_Atomic uint32_t rkc_wait_world RKC_MPI_LOOKED_AT;

static uint32_t unit_of(MPI_Comm comm)
{
    uint32_t unit = rkc_mpi_group_of(comm)->unit;
    if (comm == MPI_COMM_WORLD && unit != RKC_NIL_UNIT)
        atomic_store_explicit(&rkc_wait_world, unit, memory_order_relaxed);
    return unit;
}

/* The node of a recorded call, if it is that of the function alone. */
static struct rkc_node *own_node(const struct rkc_mpi_call *call)
{
    struct rkc_node *node = call->node;
    if (!node)
        return NULL;
    const struct rkc_region_block *region = rkc_image_at(call->thread->base, node->region);
    return region->kind == RKC_REGION_MPI ? node : NULL;
}

void rkc_wait_book_slow(const struct rkc_mpi_call *call, MPI_Comm comm)
{
    struct rkc_node *node = own_node(call);
    if (!node)
        return;
    uint32_t unit = unit_of(comm);
    if (!node->comm)
        node->comm = unit;
    if (node->comm == unit)
        return;
    struct rkc_wait_block *wait = rkc_private_wait_block(call->thread, node, unit);
    if (wait) {
        rkc_traffic_add(&wait->visits, 1);
        rkc_traffic_add(&wait->ticks, call->end - call->begin);
    } else {
        /* What remains after the others is no longer the first one's. */
        node->comm = RKC_NIL_UNIT;
    }
}

void rkc_wait_sync(struct rkc_mpi_call *call, MPI_Comm comm)
{
    call->sync = 0;
    if (!call->thread || comm == MPI_COMM_NULL)
        return;
    uint64_t begin = rkc_clock_ticks();
    if (PMPI_Barrier(comm) == MPI_SUCCESS)
        call->sync = 1 + (rkc_clock_ticks() - begin);
}

void rkc_wait_book_sync(const struct rkc_mpi_call *call, MPI_Comm comm)
{
    struct rkc_node *node = call->thread && call->sync ? own_node(call) : NULL;
    struct rkc_wait_block *wait =
        node ? rkc_private_wait_block(call->thread, node, unit_of(comm)) : NULL;
    if (wait) {
        rkc_traffic_add(&wait->synced, 1);
        rkc_traffic_add(&wait->sync_ticks, call->sync - 1);
    }
}
