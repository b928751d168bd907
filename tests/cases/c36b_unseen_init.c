/* MPI_Init and MPI_Finalize that no C wrapper sees, as those of a Fortran program under Open MPI,
 * whose entry points call PMPI_* directly; other calls and regions are seen. Whether anything is
 * written is open: the program's results and its end are as without the library.
 *
 * RUN np=2
 * FILES any
 * IMAGES any
 */
#include "case.h"

int main(int argc, char **argv)
{
    int in = -1;
    MPI_Request requests[2];

    region_begin("early");
    region_end("early");
    PMPI_Init(&argc, &argv);
    case_whoami(2);
    region_begin("exchange");
    MPI_Irecv(&in, 1, MPI_INT, 1 - me, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(&me, 1, MPI_INT, 1 - me, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    region_end("exchange");
    CHECK(in == 1 - me);
    PMPI_Finalize();
    region_begin("late");
    region_end("late");
    case_done();
    return 0;
}
