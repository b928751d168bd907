/* carrier.c - a request is a pointer in one MPI and a number in another. */
#include "autoconf.h"

#include "carrier.h"

#include <string.h>

_Static_assert(sizeof(MPI_Request) <= sizeof(struct rkc_pending), "a request is kept in it");

/* What a call that makes a request comes to. */
static int keep(int rc, MPI_Request request, struct rkc_pending *pending)
{
    if (rc != MPI_SUCCESS)
        return RKC_EMPI;
    memcpy(pending, &request, sizeof request);
    return 0;
}

static int send_bytes(void *context, const void *data, int bytes, int to, int tag,
                      struct rkc_pending *pending)
{
    const MPI_Comm *comm = context;
    MPI_Request request = MPI_REQUEST_NULL;
    int rc = PMPI_Isend(data, bytes, MPI_BYTE, to, tag, *comm, &request);
    return keep(rc, request, pending);
}

static int receive_bytes(void *context, void *data, int bytes, int from, int tag,
                         struct rkc_pending *pending)
{
    const MPI_Comm *comm = context;
    MPI_Request request = MPI_REQUEST_NULL;
    int rc = PMPI_Irecv(data, bytes, MPI_BYTE, from, tag, *comm, &request);
    return keep(rc, request, pending);
}

static int test_request(struct rkc_pending *pending, int *done)
{
    MPI_Request request;
    memcpy(&request, pending, sizeof request);
    int rc = PMPI_Test(&request, done, MPI_STATUS_IGNORE);
    return keep(rc, request, pending);
}

const struct rkc_carrier rkc_mpi_carrier = {
    .send = send_bytes,
    .receive = receive_bytes,
    .test = test_request,
};

int rkc_carrier_meet(MPI_Comm comm, struct rkc_pending *pending)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int rc = PMPI_Ibarrier(comm, &request);
    return keep(rc, request, pending);
}

int rkc_carrier_duplicate(MPI_Comm comm, MPI_Comm *copy, struct rkc_pending *pending)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int rc = PMPI_Comm_idup(comm, copy, &request);
    return keep(rc, request, pending);
}
