/* Messages of nothing: a type of size zero, a count of zero with a null buffer. A tool that
 * divides by the type's size, or that takes MPI_UNDEFINED for a count of bytes, fails on them.
 *
 * RUN np=2
 * EXPECT 0 MPI_Send calls=2 out=0
 * EXPECT 0 MPI_Isend calls=1 out=0
 * EXPECT 1 MPI_Recv calls=2 in=0
 * EXPECT 1 MPI_Irecv calls=1 in=0
 * EXPECT * MPI_Bcast calls=1 out=0 in=0
 * EXPECT * MPI_Allgather calls=1 out=0 in=0
 * EXPECT * MPI_Allreduce calls=1 out=0 in=0
 * EXPECT * MPI_Sendrecv calls=1 out=0 in=0
 * TOTAL * out=0 in=0
 */
#include "case.h"

static void exchange(MPI_Datatype empty)
{
    MPI_Request request;
    MPI_Status status;
    int n_bytes = -1;

    if (me == 0) {
        MPI_Send(NULL, 5, empty, 1, 1, MPI_COMM_WORLD);
        MPI_Send(NULL, 0, MPI_DOUBLE, 1, 2, MPI_COMM_WORLD);
        MPI_Isend(NULL, 3, empty, 1, 3, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        return;
    }
    MPI_Recv(NULL, 5, empty, 0, 1, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_BYTE, &n_bytes);
    CHECK(n_bytes == 0);
    MPI_Recv(NULL, 0, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Irecv(NULL, 3, empty, 0, 3, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, &status);
    CHECK(status.MPI_SOURCE == 0 && status.MPI_TAG == 3);
}

int main(int argc, char **argv)
{
    MPI_Datatype empty;
    int x = 0, y = 0;

    MPI_Init(&argc, &argv);
    case_whoami(2);
    MPI_Type_contiguous(0, MPI_INT, &empty);
    MPI_Type_commit(&empty);
    exchange(empty);
    MPI_Bcast(NULL, 4, empty, 0, MPI_COMM_WORLD);
    MPI_Allgather(&x, 2, empty, &y, 2, empty, MPI_COMM_WORLD);
    MPI_Allreduce(&x, &y, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Sendrecv(NULL, 0, MPI_INT, 1 - me, 4, NULL, 0, MPI_INT, 1 - me, 4, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Type_free(&empty);
    case_done();
    MPI_Finalize();
    return 0;
}
