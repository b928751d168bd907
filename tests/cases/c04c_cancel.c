/* A cancelled receive brought nothing, whatever its buffer could hold; MPI_Test_cancelled must
 * still say so, with the status that the program's own wait filled.
 *
 * RUN np=2
 * EXPECT * MPI_Irecv calls=2 in=20
 * EXPECT * MPI_Cancel calls=1
 * EXPECT * MPI_Test_cancelled calls=1
 * EXPECT * MPI_Wait calls=2 in=0
 * EXPECT * MPI_Send calls=1 out=20
 * TOTAL * out=20 in=20
 */
#include "case.h"

int main(int argc, char **argv)
{
    int unused[100], in[5], out[5] = {1, 2, 3, 4, 5}, cancelled = 0;
    MPI_Request request;
    MPI_Status status;

    MPI_Init(&argc, &argv);
    case_whoami(2);
    MPI_Irecv(unused, 100, MPI_INT, 1 - me, 66, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    CHECK(cancelled && request == MPI_REQUEST_NULL);

    MPI_Irecv(in, 5, MPI_INT, 1 - me, 67, MPI_COMM_WORLD, &request);
    MPI_Send(out, 5, MPI_INT, 1 - me, 67, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(in[4] == 5);
    case_done();
    MPI_Finalize();
    return 0;
}
