/* MPI_Finalize from an exit handler that was set before MPI_Init: it runs after the handlers and
 * perhaps the destructors of everything that was set up later, the tool among them
 * (microsoft/Microsoft-MPI#59, kokkos/kokkos#9506).
 *
 * RUN np=2
 * EXPECT * MPI_Init calls=1
 * EXPECT * MPI_Allreduce calls=1 out=4 in=4
 */
#include "case.h"

static void leave(void)
{
    int finalized = 1;

    MPI_Finalized(&finalized);
    CHECK(!finalized);
    MPI_Finalize();
    case_done();
}

int main(int argc, char **argv)
{
    int one = 1, ranks = 0;

    if (atexit(leave) != 0)
        return 1;
    MPI_Init(&argc, &argv);
    case_whoami(2);
    MPI_Allreduce(&one, &ranks, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(ranks == 2);
    return 0;
}
