/* carrier.h - MPI carries the messages of a reduction, nothing of it blocking. */
#ifndef RKC_PMPI_CARRIER_H
#define RKC_PMPI_CARRIER_H

#include <mpi.h>

#include "link.h"

/* The context of the carrier. Zero `own` with MPI_COMM_NULL. */
struct rkc_mpi_comms {
    MPI_Comm shared; /* the program's: collective operations alone */
    MPI_Comm own;    /* a duplicate, once there is one: messages */
    int rank, size;
};

extern const struct rkc_carrier rkc_mpi_carrier;

/* Operations of ours stay pending for good: nobody is to be told of them at the end of MPI. */
void rkc_mpi_leave_pending(void);

#endif
