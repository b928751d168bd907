/* On an inter-communicator roots are MPI_ROOT and MPI_PROC_NULL, both negative, insignificant
 * buffers are NULL, and a peer's rank counts in the other group (pmodels/mpich#6351,
 * open-mpi/ompi#14006).
 *
 * World ranks 0 and 1 face 2 and 3. Only rank 1 sends in the broadcast; the reduction takes
 * from ranks 0 and 1 and ends on rank 2.
 *
 * RUN np=4
 * EXPECT * MPI_Bcast calls=1
 * EXPECT 0 MPI_Bcast out=0 in=0
 * EXPECT 1 MPI_Bcast out=16 in=0
 * EXPECT 2,3 MPI_Bcast out=0 in=16
 * EXPECT * MPI_Reduce calls=1
 * EXPECT 0,1 MPI_Reduce out=8 in=0
 * EXPECT 2 MPI_Reduce out=0 in=8
 * EXPECT 3 MPI_Reduce out=0 in=0
 * EXPECT * MPI_Allgather calls=1 out=4 in=8
 * EXPECT * MPI_Barrier calls=1 out=0 in=0
 * EXPECT 0 MPI_Send calls=1 out=20
 * EXPECT 3 MPI_Recv calls=2 in=20
 */
#include "case.h"

/* MPICH 4.0 asks for buffers that are not significant as well. */
#ifdef MPICH_VERSION
static int unused[4];
#else
static int *const unused = NULL;
#endif

static void broadcast(MPI_Comm bridge)
{
    int numbers[4] = {0, 0, 0, me == 1 ? 77 : 0};

    if (me >= 2)
        MPI_Bcast(numbers, 4, MPI_INT, 1, bridge);
    else if (me == 1)
        MPI_Bcast(numbers, 4, MPI_INT, MPI_ROOT, bridge);
    else
        MPI_Bcast(unused, 4, MPI_INT, MPI_PROC_NULL, bridge);
    CHECK(me == 0 || numbers[3] == 77);
}

static void reduce(MPI_Comm bridge)
{
    double given = me + 10, sum = 0;

    if (me < 2)
        MPI_Reduce(&given, unused, 1, MPI_DOUBLE, MPI_SUM, 0, bridge);
    else if (me == 2)
        MPI_Reduce(unused, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_ROOT, bridge);
    else
        MPI_Reduce(unused, unused, 1, MPI_DOUBLE, MPI_SUM, MPI_PROC_NULL, bridge);
    CHECK(me != 2 || sum == 21);
}

static void send_across(MPI_Comm bridge)
{
    int numbers[5] = {0, 0, 0, 0, me};
    MPI_Status status;

    if (me == 0)
        MPI_Send(numbers, 5, MPI_INT, 1, 3, bridge);
    if (me != 3)
        return;
    MPI_Recv(numbers, 5, MPI_INT, MPI_PROC_NULL, 3, bridge, &status);
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL && numbers[4] == 3);
    MPI_Recv(numbers, 5, MPI_INT, MPI_ANY_SOURCE, 3, bridge, &status);
    CHECK(status.MPI_SOURCE == 0 && numbers[4] == 0);
}

int main(int argc, char **argv)
{
    MPI_Comm side, bridge;
    int others[2] = {-1, -1};

    MPI_Init(&argc, &argv);
    case_whoami(4);
    MPI_Comm_split(MPI_COMM_WORLD, me / 2, me, &side);
    MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, me < 2 ? 2 : 0, 5, &bridge);
    broadcast(bridge);
    reduce(bridge);
    MPI_Allgather(&me, 1, MPI_INT, others, 1, MPI_INT, bridge);
    CHECK(others[0] == (me < 2 ? 2 : 0) && others[1] == others[0] + 1);
    send_across(bridge);
    MPI_Barrier(bridge);
    MPI_Comm_free(&bridge);
    MPI_Comm_free(&side);
    case_done();
    MPI_Finalize();
    return 0;
}
