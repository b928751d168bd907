/* The library reaches only one of three ranks, as happens where the launcher passes settings on to
 * its own node alone: what that rank does for the others at the end they never answer
 * (open-mpi/ompi#13274, cwpearson/tempi#1). It sees that they are without it, keeps its image and goes on.
 * Where MPICH sends by UCX, that warns on stdout of a message which a rank has not taken.
 *
 * RUN mpmd 1:c74_some_ranks 2:c74_some_ranks preload=first limit=60 mpich:may=ucx
 * FILES 0
 * IMAGES 1
 * STDERR 1
 * RECOVERED
 * STATUS PARTIAL
 * EXPECT 0 MPI_Allreduce calls=1 out=4 in=4
 */
#include "case.h"

int main(int argc, char **argv)
{
    int one = 1, ranks = 0;

    MPI_Init(&argc, &argv);
    case_whoami(3);
    MPI_Allreduce(&one, &ranks, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(ranks == 3);
    case_done();
    MPI_Finalize();
    return 0;
}
