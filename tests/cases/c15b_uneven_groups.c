/* On an inter-communicator the number of blocks is the size of the other group, here one rank
 * facing three; and the root of a gather or scatter has no block of its own.
 *
 * RUN np=4
 * EXPECT 0 MPI_Allgather calls=1 out=4 in=12
 * EXPECT 1,2,3 MPI_Allgather calls=1 out=4 in=4
 * EXPECT 0 MPI_Alltoall calls=1 out=12 in=12
 * EXPECT 1,2,3 MPI_Alltoall calls=1 out=4 in=4
 * EXPECT 0 MPI_Gather calls=1 out=0 in=12
 * EXPECT 1,2,3 MPI_Gather calls=1 out=4 in=0
 * EXPECT 0 MPI_Scatter calls=1 out=12 in=0
 * EXPECT 1,2,3 MPI_Scatter calls=1 out=0 in=4
 * EXPECT * MPI_Allreduce calls=1 out=4 in=4
 */
#include "case.h"

static void rooted(MPI_Comm bridge)
{
    int mine = me, row[3] = {0, 0, 0};
    MPI_Datatype none = MPI_DATATYPE_NULL;

    if (me == 0) {
        MPI_Gather(NULL, 0, none, row, 1, MPI_INT, MPI_ROOT, bridge);
        CHECK(row[0] == 1 && row[2] == 3);
        MPI_Scatter(row, 1, MPI_INT, NULL, 0, none, MPI_ROOT, bridge);
        return;
    }
    MPI_Gather(&mine, 1, MPI_INT, NULL, 0, none, 0, bridge);
    mine = -1;
    MPI_Scatter(NULL, 0, none, &mine, 1, MPI_INT, 0, bridge);
    CHECK(mine == me);
}

int main(int argc, char **argv)
{
    MPI_Comm side, bridge;
    int out[3] = {1, 1, 1}, in[3] = {0, 0, 0}, sum = 0;

    MPI_Init(&argc, &argv);
    case_whoami(4);
    MPI_Comm_split(MPI_COMM_WORLD, me == 0, me, &side);
    MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, me == 0 ? 1 : 0, 5, &bridge);
    MPI_Allgather(out, 1, MPI_INT, in, 1, MPI_INT, bridge);
    MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, bridge);
    CHECK(in[2] == (me == 0 ? 1 : 0));
    MPI_Allreduce(out, &sum, 1, MPI_INT, MPI_SUM, bridge);
    CHECK(sum == (me == 0 ? 3 : 1));
    rooted(bridge);
    MPI_Comm_free(&bridge);
    MPI_Comm_free(&side);
    case_done();
    MPI_Finalize();
    return 0;
}
