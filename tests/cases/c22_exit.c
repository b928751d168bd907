/* Leaving by exit(0) without MPI_Finalize: no wait for peers that may be gone, the launcher's
 * status as it was, and what was measured is kept as images, with a word on stderr
 * (llnl/mpiP#31). The launcher ends the other rank as soon as one is gone, so that one image is
 * certain and two are possible. Whether the launcher takes it for a failure is its own choice.
 *
 * RUN np=2 openmpi:rc=nonzero mpich:rc=0
 * FILES 0
 * IMAGES 1..2
 * STDERR 1..4
 * RECOVERED
 * STATUS PARTIAL
 * EXPECT * MPI_Init calls=1
 * EXPECT * MPI_Allreduce calls=1 out=4 in=4
 */
#include "case.h"

#include <unistd.h>

int main(int argc, char **argv)
{
    int one = 1, ranks = 0;

    MPI_Init(&argc, &argv);
    case_whoami(2);
    case_done();
    MPI_Allreduce(&one, &ranks, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(ranks == 2);
    usleep(50000);
    exit(0);
}
