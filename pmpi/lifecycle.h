/* lifecycle.h - what is to be done around MPI's beginning and end, in whatever language; and its
 * beginning where it was out of sight, as in a tool that stands before this library. */
#ifndef RKC_PMPI_LIFECYCLE_H
#define RKC_PMPI_LIFECYCLE_H

#include <mpi.h>
#include <stdint.h>

/* Before MPI_Init, MPI_Init_thread or MPI_Session_init. Returns whether it is to be recorded, and seen to after; not
 * the C function that a Fortran function calls, which has done so. */
int rkc_mpi_before_init(void);

/* After it was successful, and took so many ticks. */
void rkc_mpi_after_init(uint64_t ticks);

#ifdef RKC_HAVE_MPI_SESSIONS
void rkc_mpi_after_session_init(MPI_Session session, uint64_t ticks);
void rkc_mpi_after_session_finalize(void);
#endif

void rkc_mpi_before_finalize(void);
void rkc_mpi_before_abort(void);

/* After MPI_Pcontrol. */
void rkc_mpi_control(int level);

/* Learn who we are if MPI is up and nobody has told; called while this process records. Returns
 * whether it still does: not under another MPI than the one that we are built for. */
int rkc_mpi_notice(void);

/* Whether MPI is the one we are built for; if not, recording is turned off. */
int rkc_mpi_is_ours(void);

#endif
