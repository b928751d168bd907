/* A rank that becomes another program before MPI_Init, as start scripts and interpreters do, and
 * has been through a region by then. The process stays, what was measured in it does not count.
 *
 * RUN np=2
 * REGION * before visits=0
 * REGION * after visits=1 parent=(run)
 * EXPECT * MPI_Init calls=1
 * EXPECT * MPI_Barrier calls=1
 */
#include "case.h"

#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc == 1) {
        region_begin("before");
        region_end("before");
        region_begin("before");
        execl(argv[0], argv[0], "again", (char *)NULL);
        return 127;
    }
    MPI_Init(&argc, &argv);
    case_whoami(2);
    region_begin("after");
    MPI_Barrier(MPI_COMM_WORLD);
    region_end("after");
    case_done();
    MPI_Finalize();
    return 0;
}
