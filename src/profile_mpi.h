/* profile_mpi.h - the rows of transfers and waits in a profile, for who merges and packs it. */
#ifndef RKC_PROFILE_MPI_H
#define RKC_PROFILE_MPI_H

#include "profile.h"

void rkc_profile_free_mpi(struct rkc_profile *profile);

/* Whether there is anything of these in a profile. */
static inline int rkc_profile_has_mpi(const struct rkc_profile *profile)
{
    return profile->n_transfers > 0 || profile->n_waits > 0 || profile->spilled ||
           profile->waits_dropped > 0;
}

/* The sum of the transfers that have no row of their own, made if need be; NULL without memory. */
struct rkc_transfer *rkc_profile_spill(struct rkc_profile *profile);

/* Add the values of a row to another's. */
void rkc_transfer_add(struct rkc_transfer *into, const struct rkc_transfer *from);

/* Add a row of waits, of one rank or more, to the row of its call path and communicator. 0 or
 * RKC_ENOMEM. */
int rkc_profile_wait_merge(struct rkc_profile *profile, const struct rkc_wait *wait);

/* Merge the rows; map[path] is the index in `into` of each path of `from`. 0 or RKC_ENOMEM. */
int rkc_profile_merge_mpi(struct rkc_profile *into, const struct rkc_profile *from,
                          const uint32_t *map);

#endif
