/* Completion calls on nothing: no requests, or only MPI_REQUEST_NULL. Tools that look every
 * request up, or take the MPI_UNDEFINED that comes back for a count or an index, die there
 * (mpickpt/mana#132, boostorg/mpi#126, sstsimulator/sst-elements#139).
 *
 * Then one live request among null ones, whose bytes must still be found.
 *
 * RUN np=2
 * EXPECT * MPI_Waitall calls=3 in=0
 * EXPECT * MPI_Waitany calls=2 in=0
 * EXPECT * MPI_Waitsome calls=2 in=0
 * EXPECT * MPI_Testall calls=1
 * EXPECT * MPI_Testany calls=1
 * EXPECT * MPI_Testsome calls=1
 * EXPECT * MPI_Wait calls=1
 * EXPECT * MPI_Test calls=1
 * EXPECT * MPI_Irecv calls=2 in=24
 * EXPECT * MPI_Send calls=2 out=24
 */
#include "case.h"

enum { N = 3, UNTOUCHED = -4711 };

static MPI_Request requests[N] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};

static void wait_for_nothing(void)
{
    int index = 1, n_done = 1, which[N] = {UNTOUCHED, UNTOUCHED, UNTOUCHED}, n_items = 1;
    MPI_Status status;

    MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE);
    MPI_Waitall(N, requests, MPI_STATUSES_IGNORE);
    MPI_Waitany(N, requests, &index, MPI_STATUS_IGNORE);
    CHECK(index == MPI_UNDEFINED);
    MPI_Waitsome(N, requests, &n_done, which, MPI_STATUSES_IGNORE);
    CHECK(n_done == MPI_UNDEFINED && which[0] == UNTOUCHED);
    MPI_Wait(&requests[1], &status);
    MPI_Get_count(&status, MPI_INT, &n_items);
    CHECK(n_items == 0 && status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG);
}

static void test_for_nothing(void)
{
    int flag = 0, index = 1, n_done = 1, which[N] = {UNTOUCHED, UNTOUCHED, UNTOUCHED};

    MPI_Testall(N, requests, &flag, MPI_STATUSES_IGNORE);
    CHECK(flag);
    flag = 0;
    MPI_Testany(N, requests, &index, &flag, MPI_STATUS_IGNORE);
    CHECK(flag && index == MPI_UNDEFINED);
    MPI_Testsome(N, requests, &n_done, which, MPI_STATUSES_IGNORE);
    CHECK(n_done == MPI_UNDEFINED && which[N - 1] == UNTOUCHED);
    flag = 0;
    MPI_Test(&requests[2], &flag, MPI_STATUS_IGNORE);
    CHECK(flag && requests[2] == MPI_REQUEST_NULL);
}

static void one_among_null(void)
{
    int in[3] = {0, 0, 0}, out[3] = {me, 10 + me, 20 + me}, peer = 1 - me;
    int index = UNTOUCHED, n_done = UNTOUCHED, which[N];
    MPI_Status status;

    MPI_Irecv(in, 3, MPI_INT, peer, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Send(out, 3, MPI_INT, peer, 1, MPI_COMM_WORLD);
    MPI_Waitany(N, requests, &index, &status);
    CHECK(index == 1 && status.MPI_SOURCE == peer && in[2] == 20 + peer);

    MPI_Irecv(in, 3, MPI_INT, peer, 2, MPI_COMM_WORLD, &requests[2]);
    MPI_Send(out, 3, MPI_INT, peer, 2, MPI_COMM_WORLD);
    MPI_Waitsome(N, requests, &n_done, which, MPI_STATUSES_IGNORE);
    CHECK(n_done == 1 && which[0] == 2 && requests[2] == MPI_REQUEST_NULL);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    case_whoami(2);
    wait_for_nothing();
    test_for_nothing();
    one_among_null();
    MPI_Waitall(N, requests, MPI_STATUSES_IGNORE);
    case_done();
    MPI_Finalize();
    return 0;
}
