/* exit(3) with a region open, in the middle of a run: the status stays 3 for the launcher to
 * see, and what was measured is kept as an image. Hydra's own status is that of the rank which it
 * hears of first: this one, or one of those that it then ends by SIGKILL.
 *
 * RUN np=2 openmpi:rc=3 mpich:rc=3,9
 * FILES 0
 * IMAGES 1..2
 * RECOVERED
 * STATUS PARTIAL
 * REGION 1 step visits=1 unclosed=1 parent=(run)
 * REGION 1 solve visits=1 unclosed=1 parent=step
 * EXPECT 1 MPI_Barrier calls=1
 */
#include "case.h"

#include <unistd.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    case_whoami(2);
    case_done();
    region_begin("step");
    region_begin("solve");
    MPI_Barrier(MPI_COMM_WORLD);
    usleep(50000);
    if (me == 1)
        exit(3);
    region_end("solve");
    MPI_Barrier(MPI_COMM_WORLD);
    region_end("step");
    MPI_Finalize();
    return 0;
}
