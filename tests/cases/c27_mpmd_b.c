/* The second program of the case that c27_mpmd_a.c describes. */
#include "case.h"

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    case_whoami(3);
    if (me == 1) {
        region_begin("shared");
        region_end("shared");
        for (int i = 0; i < 2; i++) {
            region_begin("b_only");
            region_end("b_only");
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    case_done();
    MPI_Finalize();
    return 0;
}
