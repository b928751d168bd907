/* lifecycle.h - MPI's beginning, also where it was out of sight: in another language, or in a tool
 * that stands before this library. */
#ifndef RKC_PMPI_LIFECYCLE_H
#define RKC_PMPI_LIFECYCLE_H

/* Learn who we are if MPI is up and nobody has told; called while this process records. Returns
 * whether it still does: not under another MPI than the one that we are built for. */
int rkc_mpi_notice(void);

/* Whether MPI is the one we are built for; if not, recording is turned off. */
int rkc_mpi_is_ours(void);

#endif
