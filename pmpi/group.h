/* group.h - the ranks of MPI_COMM_WORLD behind those of a communicator or a window.
 *
 * What is known of one is kept as an attribute of it, and goes with it. Finding it takes a look into
 * a small cache. From any thread; only after a call with that communicator or window has succeeded,
 * so that asking about it cannot fail.
 */
#ifndef RKC_PMPI_GROUP_H
#define RKC_PMPI_GROUP_H

#include "call.h"

struct rkc_mpi_group {
    uint64_t handle; /* that this is of, or 0 */
    uint32_t unit;   /* of the image's block for its members; RKC_NIL_UNIT where they have none:
                        between two groups, not all in the world, or too many groups */
    int n;           /* ranks that a message can go to; 0 where nothing is known */
    int *world;      /* by rank: that in the world, negative if outside; NULL: the same */
    struct rkc_mpi_group *next_free;
};

/* MPI_COMM_WORLD can be asked about from here on. */
void rkc_mpi_group_begin(void);

const struct rkc_mpi_group *rkc_mpi_group_of(MPI_Comm comm);
const struct rkc_mpi_group *rkc_mpi_group_of_window(MPI_Win win);

static inline int rkc_mpi_world_rank(const struct rkc_mpi_group *group, int rank)
{
    if (rank < 0 || rank >= group->n)
        return -1;
    return group->world ? group->world[rank] : rank;
}

#endif
