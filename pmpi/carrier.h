/* carrier.h - MPI carries the messages of a reduction, nothing of it blocking. */
#ifndef RKC_PMPI_CARRIER_H
#define RKC_PMPI_CARRIER_H

#include <mpi.h>

#include "link.h"

/* Its context is a pointer to a communicator of our own. */
extern const struct rkc_carrier rkc_mpi_carrier;

/* Begin a barrier, or a duplicate of a communicator; *copy must stay until it is done. Each
 * 0 or RKC_EMPI. */
int rkc_carrier_meet(MPI_Comm comm, struct rkc_pending *pending);
int rkc_carrier_duplicate(MPI_Comm comm, MPI_Comm *copy, struct rkc_pending *pending);

#endif
