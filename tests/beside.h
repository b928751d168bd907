/* beside.h - what the process has recorded beside its MPI call paths, as rows. */
#ifndef TESTS_BESIDE_H
#define TESTS_BESIDE_H

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include <rankclock/region.h>

#include "calltree.h"
#include "collect.h"
#include "runtime.h"

static struct rkc_local beside;

/* Collect anew. */
static inline int beside_collect(void)
{
    static struct rkc_view view;
    rkc_local_free(&beside);
    rkc_view_own(&view, rkc_private_image());
    return rkc_local_collect(&beside, &view, 0);
}

/* Of a row: the name of its call path's function, and of the region around it. */
static inline const char *beside_name(uint32_t path, int above)
{
    for (int i = 0; i < above; i++)
        path = beside.paths.paths[path].parent;
    return beside.paths.regions[beside.paths.paths[path].region].name;
}

/* The only row of waits of REGION/FUNCTION with a communicator of that many ranks, or NULL. */
static inline const struct rkc_wait *beside_wait(const char *region, const char *function, int size)
{
    const struct rkc_wait *found = NULL;
    for (uint32_t i = 0; i < beside.paths.n_waits; i++) {
        const struct rkc_wait *wait = &beside.paths.waits[i];
        if (strcmp(beside_name(wait->path, 0), function) != 0 ||
            strcmp(beside_name(wait->path, 1), region) != 0 || wait->comm.size != size)
            continue;
        if (found)
            return NULL;
        found = wait;
    }
    return found;
}

/* The only transfer of REGION/FUNCTION between two kinds of memory, or NULL. */
static inline const struct rkc_transfer *beside_transfer(const char *region, const char *function,
                                                         int send_kind, int recv_kind)
{
    for (uint32_t i = 0; i < beside.paths.n_transfers; i++) {
        const struct rkc_transfer *row = &beside.paths.transfers[i];
        if (strcmp(beside_name(row->path, 0), function) == 0 &&
            strcmp(beside_name(row->path, 1), region) == 0 && row->send_kind == send_kind &&
            row->recv_kind == recv_kind)
            return row;
    }
    return NULL;
}

static inline uint64_t beside_operations(const struct rkc_transfer *row)
{
    uint64_t n = 0;
    for (int i = 0; i < RKC_SIZE_BUCKETS; i++)
        n += row->size[i];
    return n;
}

/* The messages between two ranks, and their bytes; -1 without such a row. */
static inline int64_t beside_messages(int source, int target, int64_t *bytes)
{
    for (uint32_t i = 0; i < beside.n_peers; i++)
        if (beside.peers[i].source == source && beside.peers[i].target == target) {
            *bytes = beside.peers[i].bytes;
            return beside.peers[i].messages;
        }
    *bytes = -1;
    return -1;
}

#endif
