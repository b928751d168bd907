/* MPI_IN_PLACE makes counts, displacements and types of the send side insignificant, and here
 * they are 0, NULL and MPI_DATATYPE_NULL: a tool that asks for the size of that type aborts the
 * job (nerscadmin/IPM#41, open-mpi/ompi#5459, jeffhammond/mukautuva#13).
 *
 * The bytes come from the receive side, one int per rank and block. What the root of a reduction
 * in place gives itself is not stated.
 *
 * RUN np=3
 * EXPECT * MPI_Allgather calls=1 out=4 in=12
 * EXPECT * MPI_Allgatherv calls=1 out=4 in=12
 * EXPECT * MPI_Gather calls=1
 * EXPECT 0 MPI_Gather out=0 in=12
 * EXPECT 1,2 MPI_Gather out=4 in=0
 * EXPECT * MPI_Scatter calls=1
 * EXPECT 0 MPI_Scatter out=12 in=0
 * EXPECT 1,2 MPI_Scatter out=0 in=4
 * EXPECT * MPI_Alltoall calls=1 out=12 in=12
 * EXPECT * MPI_Alltoallv calls=1 out=12 in=12
 * EXPECT * MPI_Alltoallw calls=1 out=12 in=12
 * EXPECT * MPI_Allreduce calls=1 out=4 in=4
 * EXPECT * MPI_Reduce calls=1
 * EXPECT 0 MPI_Reduce in=4
 * EXPECT 1,2 MPI_Reduce out=4 in=0
 * EXPECT * MPI_Scan calls=1 out=4 in=4
 * EXPECT * MPI_Iallgather calls=1 out=4 in=12
 * EXPECT * MPI_Wait calls=1 out=0 in=0
 */
#include "case.h"

enum { N = 3 };

static const MPI_Datatype none = MPI_DATATYPE_NULL;
static int row[N], ones[N] = {1, 1, 1}, places[N] = {0, 1, 2};

static void fill_own(void)
{
    for (int i = 0; i < N; i++)
        row[i] = i == me ? i : -1;
}

static void fill_all(void)
{
    for (int i = 0; i < N; i++)
        row[i] = me;
}

static void check_row(void)
{
    for (int i = 0; i < N; i++)
        CHECK(row[i] == i);
}

static void gather_to_all(void)
{
    MPI_Request request;

    fill_own();
    MPI_Allgather(MPI_IN_PLACE, 0, none, row, 1, MPI_INT, MPI_COMM_WORLD);
    check_row();
    fill_own();
    MPI_Allgatherv(MPI_IN_PLACE, 0, none, row, ones, places, MPI_INT, MPI_COMM_WORLD);
    check_row();
    fill_own();
    MPI_Iallgather(MPI_IN_PLACE, 0, none, row, 1, MPI_INT, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check_row();
}

static void gather_and_scatter(void)
{
    int mine = -1;

    fill_own();
    if (me != 0) {
        MPI_Gather(&row[me], 1, MPI_INT, NULL, 0, none, 0, MPI_COMM_WORLD);
        MPI_Scatter(NULL, 0, none, &mine, 1, MPI_INT, 0, MPI_COMM_WORLD);
        CHECK(mine == me);
        return;
    }
    MPI_Gather(MPI_IN_PLACE, 0, none, row, 1, MPI_INT, 0, MPI_COMM_WORLD);
    check_row();
    MPI_Scatter(row, 1, MPI_INT, MPI_IN_PLACE, 0, none, 0, MPI_COMM_WORLD);
}

static void all_to_all(void)
{
    int byte_places[N] = {0, sizeof(int), 2 * sizeof(int)};
    MPI_Datatype types[N] = {MPI_INT, MPI_INT, MPI_INT};

    fill_all();
    MPI_Alltoall(MPI_IN_PLACE, 0, none, row, 1, MPI_INT, MPI_COMM_WORLD);
    check_row();
    fill_all();
    MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, none, row, ones, places, MPI_INT, MPI_COMM_WORLD);
    check_row();
    fill_all();
    MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, row, ones, byte_places, types, MPI_COMM_WORLD);
    check_row();
}

static void reductions(void)
{
    int value = me + 1;

    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(value == 6);
    if (me == 0)
        MPI_Reduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    else
        MPI_Reduce(&value, NULL, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    CHECK(value == (me == 0 ? 18 : 6));
    value = 1;
    MPI_Scan(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(value == me + 1);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    case_whoami(N);
    gather_to_all();
    gather_and_scatter();
    all_to_all();
    reductions();
    case_done();
    MPI_Finalize();
    return 0;
}
