/* An error under MPI_ERRORS_ARE_FATAL, the default: the MPI itself ends the job from inside a
 * call that the tool is in the middle of.
 *
 * RUN np=2 rc=nonzero limit=20
 * FILES 0
 * IMAGES any
 */
#include "case.h"

#include <unistd.h>

int main(int argc, char **argv)
{
    int number = 0;

    MPI_Init(&argc, &argv);
    case_whoami(2);
    case_done();
    MPI_Barrier(MPI_COMM_WORLD);
    usleep(50000);
    if (me == 0)
        MPI_Send(&number, 1, MPI_INT, 1000, 0, MPI_COMM_WORLD);
    else
        MPI_Recv(&number, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
