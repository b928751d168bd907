/* Calls that fail under MPI_ERRORS_RETURN, of every form that moves bytes: the program gets the
 * code, and a request that was never made is not waited for.
 *
 * RUN np=2
 * EXPECT * MPI_Isend calls=1 out=0
 * EXPECT * MPI_Irecv calls=1 in=0
 * EXPECT * MPI_Sendrecv calls=1 out=0 in=0
 * EXPECT * MPI_Send_init calls=1 out=0
 * EXPECT * MPI_Allreduce calls=1 out=0 in=0
 * EXPECT * MPI_Iallreduce calls=1 out=0 in=0
 * EXPECT * MPI_Gather calls=1 out=0 in=0
 * EXPECT * MPI_Alltoallv calls=1 out=0 in=0
 * TOTAL * out=0 in=0
 */
#include "case.h"

static const MPI_Comm world = MPI_COMM_WORLD;
static const MPI_Datatype none = MPI_DATATYPE_NULL;
static int in[2], out[2], ones[2] = {1, 1}, places[2] = {0, 1};

static void expect_class(int code, int class_wanted)
{
    int class = MPI_SUCCESS;

    MPI_Error_class(code, &class);
    CHECK(class == class_wanted);
}

static void point_to_point(void)
{
    MPI_Request request = MPI_REQUEST_NULL;

    expect_class(MPI_Isend(out, 1, none, 1 - me, 0, world, &request), MPI_ERR_TYPE);
    expect_class(MPI_Irecv(in, 1, MPI_INT, 99, 0, world, &request), MPI_ERR_RANK);
    expect_class(MPI_Sendrecv(out, -1, MPI_INT, 1 - me, 0, in, 1, MPI_INT, 1 - me, 0, world,
                              MPI_STATUS_IGNORE),
                 MPI_ERR_COUNT);
    expect_class(MPI_Send_init(out, 1, none, 1 - me, 0, world, &request), MPI_ERR_TYPE);
}

static void collective(void)
{
    MPI_Request request = MPI_REQUEST_NULL;

    expect_class(MPI_Allreduce(out, in, 1, MPI_INT, MPI_OP_NULL, world), MPI_ERR_OP);
    expect_class(MPI_Iallreduce(out, in, 1, MPI_INT, MPI_OP_NULL, world, &request), MPI_ERR_OP);
    expect_class(MPI_Gather(out, 1, MPI_INT, in, 1, MPI_INT, 99, world), MPI_ERR_ROOT);
    expect_class(MPI_Alltoallv(out, ones, places, none, in, ones, places, MPI_INT, world),
                 MPI_ERR_TYPE);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    case_whoami(2);
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    point_to_point();
    collective();
    MPI_Barrier(world);
    case_done();
    MPI_Finalize();
    return 0;
}
