/* The program's error handler calls MPI_Abort: from inside a call that the tool is in the middle of
 * (nerscadmin/IPM#41).
 *
 * RUN np=2 rc=9 limit=20
 * FILES 0
 * IMAGES 1..2
 * RECOVERED
 * STATUS ABORTED
 * EXPECT 0 MPI_Barrier calls=1
 */
#include "case.h"

#include <unistd.h>

static void give_up(MPI_Comm *comm, int *code, ...)
{
    (void)code;
    MPI_Abort(*comm, 9);
}

int main(int argc, char **argv)
{
    int number = 0;
    MPI_Errhandler handler;

    MPI_Init(&argc, &argv);
    case_whoami(2);
    MPI_Comm_create_errhandler(give_up, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    case_done();
    MPI_Barrier(MPI_COMM_WORLD);
    usleep(50000);
    if (me == 0)
        MPI_Send(&number, 1, MPI_INT, 1000, 0, MPI_COMM_WORLD);
    else
        MPI_Recv(&number, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 1;
}
