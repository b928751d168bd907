/* MPI_Finalize with requests that nobody has waited for: sends whose messages have long arrived,
 * and a persistent request that was never freed. The tool neither waits for them nor looks into
 * them, and what it knew of them is in the file.
 *
 * RUN np=2
 * EXPECT 0 MPI_Isend calls=3 out=12
 * EXPECT 0 MPI_Ssend_init calls=1 out=0
 * EXPECT 1 MPI_Recv calls=3 in=12
 */
#include "case.h"

int main(int argc, char **argv)
{
    static int numbers[3];
    MPI_Request requests[4];

    MPI_Init(&argc, &argv);
    case_whoami(2);
    for (int i = 0; i < 3; i++) {
        if (me == 0)
            MPI_Isend(&numbers[i], 1, MPI_INT, 1, i, MPI_COMM_WORLD, &requests[i]);
        else
            MPI_Recv(&numbers[i], 1, MPI_INT, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (me == 0)
        MPI_Ssend_init(numbers, 3, MPI_INT, 1, 9, MPI_COMM_WORLD, &requests[3]);
    MPI_Barrier(MPI_COMM_WORLD);
    case_done();
    MPI_Finalize();
    return 0;
}
