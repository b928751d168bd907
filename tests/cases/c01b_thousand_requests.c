/* A completion call on a thousand requests: what a tool keeps on its stack, or in a table sized
 * for a few requests, overflows.
 *
 * RUN np=2
 * EXPECT * MPI_Irecv calls=3000 in=12000
 * EXPECT * MPI_Isend calls=3000 out=12000
 * EXPECT * MPI_Testall calls>=1 in=0
 * EXPECT * MPI_Waitsome calls>=1 in=0
 * EXPECT * MPI_Testsome calls>=1 in=0
 * EXPECT * MPI_Waitall calls=3
 * TOTAL * out=12000 in=12000
 */
#include "case.h"

enum { N = 1000 };

static MPI_Request receives[N], sends[N];
static int got[N], given[N];

static void post(int round)
{
    for (int i = 0; i < N; i++)
        MPI_Irecv(&got[i], 1, MPI_INT, 1 - me, i, MPI_COMM_WORLD, &receives[i]);
    for (int i = 0; i < N; i++) {
        given[i] = round * N + i;
        MPI_Isend(&given[i], 1, MPI_INT, 1 - me, i, MPI_COMM_WORLD, &sends[i]);
    }
}

static void complete(int round)
{
    static int which[N];
    int flag = 0, n_done, n_left = N;

    if (round == 0) {
        while (!flag)
            MPI_Testall(N, receives, &flag, MPI_STATUSES_IGNORE);
        return;
    }
    while (n_left > 0) {
        if (round == 1)
            MPI_Waitsome(N, receives, &n_done, which, MPI_STATUSES_IGNORE);
        else
            MPI_Testsome(N, receives, &n_done, which, MPI_STATUSES_IGNORE);
        n_left -= n_done;
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    case_whoami(2);
    for (int round = 0; round < 3; round++) {
        post(round);
        complete(round);
        MPI_Waitall(N, sends, MPI_STATUSES_IGNORE);
        CHECK(got[0] == round * N && got[N - 1] == round * N + N - 1);
    }
    case_done();
    MPI_Finalize();
    return 0;
}
