/* One rank aborts while the others wait for it: a tool that now waits for its peers makes a hang
 * of it (open-mpi/ompi#3225, cms-sw/cmssw#51839).
 *
 * RUN np=3 rc=7 limit=20
 * FILES 0
 * IMAGES 1..3
 * RECOVERED
 * STATUS ABORTED
 * EXPECT 0 MPI_Barrier calls=1
 * EXPECT 0 MPI_Abort calls=1
 */
#include "case.h"

#include <unistd.h>

int main(int argc, char **argv)
{
    int never;

    MPI_Init(&argc, &argv);
    case_whoami(3);
    case_done();
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) {
        usleep(50000);
        MPI_Abort(MPI_COMM_WORLD, 7);
    }
    MPI_Recv(&never, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return 0;
}
