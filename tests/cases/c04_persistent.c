/* Persistent requests move bytes at every start, none at their creation, and their datatype may
 * be long gone by then: its size must be taken when the request is made
 * (pmodels/mpich#3383, mpi-forum/mpi-issues#270, #858).
 *
 * A hundred messages of 80 bytes, half of them by MPI_Start. A request that is never started,
 * and waiting for inactive ones, move nothing.
 *
 * RUN np=2
 * EXPECT 0 MPI_Send_init calls=2 out=0
 * EXPECT 0 MPI_Ssend_init calls=1 out=0
 * EXPECT 0 MPI_Start calls=50 out=4000
 * EXPECT 0 MPI_Startall calls=25 out=4000
 * EXPECT 0 MPI_Waitall calls=51 out=0
 * EXPECT 0 MPI_Request_free calls=3
 * EXPECT 1 MPI_Recv_init calls=2 in=0
 * EXPECT 1 MPI_Start calls=50 in=4000
 * EXPECT 1 MPI_Startall calls=25 in=4000
 * EXPECT 1 MPI_Waitall calls=51 in=0
 * EXPECT 1 MPI_Request_free calls=2
 * TOTAL 0 out=8000 in=0
 * TOTAL 1 out=0 in=8000
 */
#include "case.h"

static int lanes[2][20];

static void make_requests(MPI_Request requests[2], MPI_Request *unused)
{
    MPI_Datatype ten_ints;

    MPI_Type_contiguous(10, MPI_INT, &ten_ints);
    MPI_Type_commit(&ten_ints);
    for (int lane = 0; lane < 2; lane++) {
        if (me == 0)
            MPI_Send_init(lanes[lane], 2, ten_ints, 1, lane, MPI_COMM_WORLD, &requests[lane]);
        else
            MPI_Recv_init(lanes[lane], 2, ten_ints, 0, lane, MPI_COMM_WORLD, &requests[lane]);
    }
    if (me == 0)
        MPI_Ssend_init(lanes[0], 2, ten_ints, 1, 7, MPI_COMM_WORLD, unused);
    MPI_Type_free(&ten_ints);
}

static void run_round(int round, MPI_Request requests[2])
{
    if (me == 0) {
        lanes[0][19] = round;
        lanes[1][19] = 1000 + round;
    }
    if (round % 2 == 0) {
        MPI_Start(&requests[0]);
        MPI_Start(&requests[1]);
    } else {
        MPI_Startall(2, requests);
    }
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK(requests[0] != MPI_REQUEST_NULL && requests[1] != MPI_REQUEST_NULL);
    CHECK(lanes[0][19] == round && lanes[1][19] == 1000 + round);
}

int main(int argc, char **argv)
{
    MPI_Request requests[2], unused = MPI_REQUEST_NULL;

    MPI_Init(&argc, &argv);
    case_whoami(2);
    make_requests(requests, &unused);
    for (int round = 0; round < 50; round++)
        run_round(round, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (int lane = 0; lane < 2; lane++)
        MPI_Request_free(&requests[lane]);
    if (me == 0)
        MPI_Request_free(&unused);
    case_done();
    MPI_Finalize();
    return 0;
}
