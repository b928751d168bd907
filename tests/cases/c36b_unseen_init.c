/* MPI_Init and MPI_Finalize that no C wrapper sees, as those of a Fortran program under Open MPI,
 * whose entry points call PMPI_* directly, or of one with a tool that stands before ours: other
 * calls and regions are seen, and so is that MPI has begun and is to end.
 *
 * RUN np=2
 * EXPECT * MPI_Init calls=0
 * EXPECT * MPI_Irecv calls=1 in=4
 * EXPECT * MPI_Isend calls=1 out=4
 * EXPECT * MPI_Waitall calls=1
 * EXPECT * MPI_Finalize calls=1
 * REGION * early visits=1
 * REGION * exchange visits=1
 * REGION * late visits=0
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
