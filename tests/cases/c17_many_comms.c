/* Communicators by the thousand: a tool that keeps or duplicates them runs the MPI out of ids,
 * one with a table for them grows without end (eth-cscs/DLA-Future#712, cp2k/cp2k#546,
 * dftbplus/dftbplus#1809).
 *
 * RUN np=2
 * EXPECT * MPI_Comm_dup calls=2000
 * EXPECT * MPI_Comm_split calls=200
 * EXPECT * MPI_Comm_free calls=2200
 * EXPECT * MPI_Barrier calls=2200 out=0 in=0
 * CALLPATHS <=40
 */
#include "case.h"

enum { N_SHORT = 2000, N_HELD = 200 };

int main(int argc, char **argv)
{
    static MPI_Comm held[N_HELD];

    MPI_Init(&argc, &argv);
    case_whoami(2);
    for (int i = 0; i < N_SHORT; i++) {
        MPI_Comm copy;
        MPI_Comm_dup(MPI_COMM_WORLD, &copy);
        MPI_Barrier(copy);
        MPI_Comm_free(&copy);
    }
    for (int i = 0; i < N_HELD; i++)
        MPI_Comm_split(MPI_COMM_WORLD, i % 2 == 0 ? me : 0, me, &held[i]);
    for (int i = 0; i < N_HELD; i++) {
        MPI_Barrier(held[i]);
        MPI_Comm_free(&held[i]);
    }
    case_done();
    MPI_Finalize();
    return 0;
}
