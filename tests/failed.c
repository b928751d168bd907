/* RANKS 2 */
/* failed.c - a request that fails among others that do not.
 *
 * Without threads: Open MPI 4.1's MPI_Waitall waits for ever where a failed request and another are
 * complete as it begins and MPI_THREAD_MULTIPLE was asked for, with or without rankclock. */
#include "autoconf.h"

#include <mpi.h>

#include "../pmpi/request.h"
#include "counters.h"
#include "tap.h"

static int in[2][8], out[8];

int main(int argc, char **argv)
{
    MPI_Request requests[2];
    int me;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    if (me != 0)
        tap_silence();
    int peer = 1 - me;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    rkc_begin("fail");
    MPI_Irecv(in[0], 1, MPI_INT, peer, 70, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(in[1], 8, MPI_INT, peer, 71, MPI_COMM_WORLD, &requests[1]);
    PMPI_Send(out, 4, MPI_INT, peer, 70, MPI_COMM_WORLD);
    PMPI_Send(out, 3, MPI_INT, peer, 71, MPI_COMM_WORLD);
    PMPI_Barrier(MPI_COMM_WORLD); /* both have arrived */
    int rc = MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    is_int(rc, MPI_ERR_IN_STATUS, "a truncated message fails in the status");
    if (requests[1] != MPI_REQUEST_NULL)
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE); /* was left pending */
    MPI_Irecv(in[0], 1, MPI_INT, peer, 72, MPI_COMM_WORLD, &requests[0]);
    PMPI_Send(out, 4, MPI_INT, peer, 72, MPI_COMM_WORLD);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    rkc_end("fail");
    struct counters irecv = counters_of("fail", "MPI_Irecv");
    is_int(irecv.received, 12, "only the good receive counts");
    is_int(irecv.sizes, 1, "and is an entry");
    is_int(atomic_load(&rkc_requests_active), 0, "no failed request is left");
    is_int(atomic_load(&rkc_requests_held), 0, "nor anything kept of one");
    counters_end();
    return done_testing();
}
