/* Requests of collectives among those of messages: their statuses have no source and no count,
 * and who takes bytes from them invents traffic (jeffhammond/mukautuva#13, boostorg/mpi#56).
 *
 * RUN np=3
 * EXPECT * MPI_Ibarrier calls=1 out=0 in=0
 * EXPECT * MPI_Iallreduce calls=1 out=8 in=8
 * EXPECT * MPI_Ibcast calls=1
 * EXPECT 1 MPI_Ibcast out=12 in=0
 * EXPECT 0,2 MPI_Ibcast out=0 in=12
 * EXPECT * MPI_Isend calls=1 out=40
 * EXPECT * MPI_Irecv calls=1 in=40
 * EXPECT * MPI_Waitany calls=5 out=0 in=0
 * TOTAL 1 out=60 in=48
 * TOTAL 0,2 out=48 in=60
 */
#include "case.h"

enum { N = 5 };

int main(int argc, char **argv)
{
    int out[10], in[10], words[3] = {0, 0, 0}, seen = 0;
    double mine, total = 0;
    MPI_Request requests[N];

    MPI_Init(&argc, &argv);
    case_whoami(3);
    int next = (me + 1) % 3, last = (me + 2) % 3;
    mine = me + 1;
    out[9] = me;
    if (me == 1)
        words[2] = 99;
    MPI_Irecv(in, 10, MPI_INT, last, 4, MPI_COMM_WORLD, &requests[0]);
    MPI_Iallreduce(&mine, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &requests[1]);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(out, 10, MPI_INT, next, 4, MPI_COMM_WORLD, &requests[3]);
    MPI_Ibcast(words, 3, MPI_INT, 1, MPI_COMM_WORLD, &requests[4]);
    for (int i = 0; i < N; i++) {
        int which = -1;
        MPI_Status status;
        MPI_Waitany(N, requests, &which, &status);
        CHECK(which >= 0 && which < N && requests[which] == MPI_REQUEST_NULL);
        CHECK(which != 0 || status.MPI_SOURCE == last);
        seen |= 1 << which;
    }
    CHECK(seen == 31 && total == 6 && words[2] == 99 && in[9] == last);
    case_done();
    MPI_Finalize();
    return 0;
}
