/* Regions around the whole of main: begun before MPI_Init, ended after MPI_Finalize
 * (llnl/Caliper#535, NCAR/ParallelIO#1484). What is still open when the file is written is given
 * with its time so far and marked; what comes later does no harm.
 *
 * RUN np=2
 * REGION * setup visits=1 unclosed=0 parent=(run)
 * REGION * whole visits=1 unclosed=1 parent=(run)
 * REGION * solve visits=5 unclosed=0 parent=whole
 * REGION * late visits=0
 * NOTES unclosed region=whole count=2
 * EXPECT * MPI_Barrier calls=5
 * EXPECT * MPI_Init calls=1
 */
#include "case.h"

int main(int argc, char **argv)
{
    region_begin("setup");
    region_end("setup");
    region_begin("whole");
    MPI_Init(&argc, &argv);
    case_whoami(2);
    for (int step = 0; step < 5; step++) {
        region_begin("solve");
        MPI_Barrier(MPI_COMM_WORLD);
        region_end("solve");
    }
    MPI_Finalize();
    region_end("whole");
    for (int i = 0; i < 1000; i++) {
        region_begin("late");
        region_end("late");
    }
    case_done();
    return 0;
}
