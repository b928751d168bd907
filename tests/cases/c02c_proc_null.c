/* MPI_PROC_NULL as a peer: the call succeeds and moves nothing. It is the form in which every
 * halo exchange ends at the edge of its domain.
 *
 * RUN np=2
 * EXPECT * MPI_Sendrecv calls=1 out=0 in=0
 * EXPECT * MPI_Sendrecv_replace calls=1 out=0 in=0
 * EXPECT * MPI_Send calls=1 out=0
 * EXPECT * MPI_Recv calls=1 in=0
 * EXPECT * MPI_Isend calls=1 out=0
 * EXPECT * MPI_Irecv calls=1 in=0
 * EXPECT * MPI_Waitall calls=2 in=0
 * EXPECT * MPI_Send_init calls=1 out=0
 * EXPECT * MPI_Recv_init calls=1 in=0
 * EXPECT * MPI_Startall calls=1 out=0 in=0
 * TOTAL * out=0 in=0
 */
#include "case.h"

static double halo[16];

static void blocking(void)
{
    MPI_Status status;
    int n_items = -1;

    MPI_Sendrecv(halo, 16, MPI_DOUBLE, MPI_PROC_NULL, 0, halo, 16, MPI_DOUBLE, MPI_PROC_NULL, 0,
                 MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_DOUBLE, &n_items);
    CHECK(n_items == 0 && status.MPI_SOURCE == MPI_PROC_NULL);
    MPI_Sendrecv_replace(halo, 16, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_PROC_NULL, 0, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
    MPI_Send(halo, 16, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    MPI_Recv(halo, 16, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void nonblocking(void)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];

    MPI_Isend(halo, 16, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(halo, 16, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, statuses);
    CHECK(statuses[1].MPI_SOURCE == MPI_PROC_NULL);
}

static void persistent(void)
{
    MPI_Request requests[2];

    MPI_Send_init(halo, 16, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(halo, 16, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    case_whoami(2);
    halo[15] = 1.0;
    blocking();
    nonblocking();
    persistent();
    CHECK(halo[15] == 1.0);
    case_done();
    MPI_Finalize();
    return 0;
}
