/* What each collective moves by its arguments, own block included: a nonblocking one once, when
 * it is posted. Rank r contributes r + 1 ints where lengths differ, else two.
 *
 * RUN np=3
 * EXPECT * MPI_Bcast calls=1
 * EXPECT 0,2 MPI_Bcast out=0 in=8
 * EXPECT 1 MPI_Bcast out=8 in=0
 * EXPECT * MPI_Reduce calls=1 out=8
 * EXPECT 0,2 MPI_Reduce in=0
 * EXPECT 1 MPI_Reduce in=8
 * EXPECT * MPI_Allreduce calls=1 out=8 in=8
 * EXPECT * MPI_Scan calls=1 out=8 in=8
 * EXPECT * MPI_Exscan calls=1
 * EXPECT * MPI_Barrier calls=1 out=0 in=0
 * EXPECT * MPI_Gather calls=1 out=8
 * EXPECT 0,2 MPI_Gather in=0
 * EXPECT 1 MPI_Gather in=24
 * EXPECT 0 MPI_Gatherv calls=1 out=4 in=0
 * EXPECT 1 MPI_Gatherv calls=1 out=8 in=24
 * EXPECT 2 MPI_Gatherv calls=1 out=12 in=0
 * EXPECT * MPI_Scatter calls=1 in=8
 * EXPECT 0,2 MPI_Scatter out=0
 * EXPECT 1 MPI_Scatter out=24
 * EXPECT 0 MPI_Scatterv calls=1 out=0 in=4
 * EXPECT 1 MPI_Scatterv calls=1 out=24 in=8
 * EXPECT 2 MPI_Scatterv calls=1 out=0 in=12
 * EXPECT * MPI_Allgather calls=1 out=8 in=24
 * EXPECT 0 MPI_Allgatherv calls=1 out=4 in=24
 * EXPECT 1 MPI_Allgatherv calls=1 out=8 in=24
 * EXPECT 2 MPI_Allgatherv calls=1 out=12 in=24
 * EXPECT * MPI_Alltoall calls=1 out=24 in=24
 * EXPECT 0 MPI_Alltoallv calls=1 out=24 in=12
 * EXPECT 1 MPI_Alltoallv calls=1 out=24 in=24
 * EXPECT 2 MPI_Alltoallv calls=1 out=24 in=36
 * EXPECT 0 MPI_Reduce_scatter calls=1 out=24 in=4
 * EXPECT 1 MPI_Reduce_scatter calls=1 out=24 in=8
 * EXPECT 2 MPI_Reduce_scatter calls=1 out=24 in=12
 * EXPECT * MPI_Reduce_scatter_block calls=1 out=24 in=8
 * EXPECT 0 MPI_Igatherv calls=1 out=4 in=0
 * EXPECT 1 MPI_Igatherv calls=1 out=8 in=24
 * EXPECT 2 MPI_Igatherv calls=1 out=12 in=0
 * EXPECT * MPI_Ialltoall calls=1 out=24 in=24
 * EXPECT 0 MPI_Ireduce_scatter calls=1 out=24 in=4
 * EXPECT 1 MPI_Ireduce_scatter calls=1 out=24 in=8
 * EXPECT 2 MPI_Ireduce_scatter calls=1 out=24 in=12
 * EXPECT * MPI_Waitall calls=1 out=0 in=0
 */
#include "case.h"

enum { N = 3, ROOT = 1 };

static const MPI_Comm world = MPI_COMM_WORLD;
static int out[6] = {1, 1, 1, 1, 1, 1}, in[9];
static int lengths[N] = {1, 2, 3}, places[N] = {0, 1, 3};

static void reductions(void)
{
    MPI_Bcast(in, 2, MPI_INT, ROOT, world);
    MPI_Reduce(out, in, 2, MPI_INT, MPI_SUM, ROOT, world);
    CHECK(me != ROOT || in[1] == N);
    MPI_Allreduce(out, in, 2, MPI_INT, MPI_SUM, world);
    CHECK(in[1] == N);
    MPI_Scan(out, in, 2, MPI_INT, MPI_SUM, world);
    CHECK(in[1] == me + 1);
    MPI_Exscan(out, in, 2, MPI_INT, MPI_SUM, world);
    MPI_Barrier(world);
    MPI_Reduce_scatter(out, in, lengths, MPI_INT, MPI_SUM, world);
    CHECK(in[me] == N);
    MPI_Reduce_scatter_block(out, in, 2, MPI_INT, MPI_SUM, world);
    CHECK(in[1] == N);
}

static void rooted(void)
{
    MPI_Gather(out, 2, MPI_INT, in, 2, MPI_INT, ROOT, world);
    MPI_Gatherv(out, lengths[me], MPI_INT, in, lengths, places, MPI_INT, ROOT, world);
    CHECK(me != ROOT || in[5] == 1);
    MPI_Scatter(out, 2, MPI_INT, in, 2, MPI_INT, ROOT, world);
    MPI_Scatterv(out, lengths, places, MPI_INT, in, lengths[me], MPI_INT, ROOT, world);
    CHECK(in[me] == 1);
}

/* Rank r sends lengths[p] ints to rank p and so receives lengths[r] from each. */
static void all_to_all(void)
{
    int own_lengths[N] = {lengths[me], lengths[me], lengths[me]};
    int own_places[N] = {0, lengths[me], 2 * lengths[me]};

    MPI_Allgather(out, 2, MPI_INT, in, 2, MPI_INT, world);
    MPI_Allgatherv(out, lengths[me], MPI_INT, in, lengths, places, MPI_INT, world);
    MPI_Alltoall(out, 2, MPI_INT, in, 2, MPI_INT, world);
    memset(in, 0, sizeof in);
    MPI_Alltoallv(out, lengths, places, MPI_INT, in, own_lengths, own_places, MPI_INT, world);
    CHECK(in[3 * lengths[me] - 1] == 1);
}

static void nonblocking(void)
{
    MPI_Request requests[3];
    int gathered[6], exchanged[6], reduced[3] = {0, 0, 0};

    MPI_Igatherv(out, lengths[me], MPI_INT, gathered, lengths, places, MPI_INT, ROOT, world,
                 &requests[0]);
    MPI_Ialltoall(out, 2, MPI_INT, exchanged, 2, MPI_INT, world, &requests[1]);
    MPI_Ireduce_scatter(out, reduced, lengths, MPI_INT, MPI_SUM, world, &requests[2]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    CHECK(exchanged[5] == 1 && reduced[me] == N);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    case_whoami(N);
    reductions();
    rooted();
    all_to_all();
    nonblocking();
    case_done();
    MPI_Finalize();
    return 0;
}
