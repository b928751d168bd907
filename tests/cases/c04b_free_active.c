/* MPI_Request_free of a request that is still active: the message goes its way, the handle is
 * free for the next request, and a tool that remembers it by its value mixes the two up.
 *
 * What a freed receive brought cannot be known and is not stated; all that follows it is.
 *
 * RUN np=2
 * EXPECT 0 MPI_Isend calls=200 out=8000
 * EXPECT 0 MPI_Send calls=100 out=2400
 * EXPECT 0 MPI_Request_free calls=200
 * EXPECT 1 MPI_Start calls=100
 * EXPECT 1 MPI_Irecv calls=100 in=2400
 * EXPECT 1 MPI_Recv calls=100 in=4000
 * EXPECT 1 MPI_Request_free calls=100
 */
#include "case.h"

enum { ROUNDS = 100 };

static int early[ROUNDS][10], late[ROUNDS][10];

static void give(int round)
{
    MPI_Request request;
    int small[6] = {0, 0, 0, 0, 0, round};

    early[round][9] = round + 1;
    late[round][9] = round + 2;
    MPI_Isend(early[round], 10, MPI_INT, 1, 1, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    MPI_Isend(late[round], 10, MPI_INT, 1, 2, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    MPI_Send(small, 6, MPI_INT, 1, 3, MPI_COMM_WORLD);
}

/* Messages of one pair of ranks do not overtake, and so the freed receive's has come by the end
 * of the others; its buffer is not read all the same. */
static void take(int round)
{
    MPI_Request request;
    int small[6];

    MPI_Recv_init(early[round], 10, MPI_INT, 0, 1, MPI_COMM_WORLD, &request);
    MPI_Start(&request);
    MPI_Request_free(&request);
    MPI_Irecv(small, 6, MPI_INT, 0, 3, MPI_COMM_WORLD, &request);
    MPI_Recv(late[round], 10, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(late[round][9] == round + 2 && small[5] == round);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    case_whoami(2);
    for (int round = 0; round < ROUNDS; round++) {
        if (me == 0)
            give(round);
        else
            take(round);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    case_done();
    MPI_Finalize();
    return 0;
}
