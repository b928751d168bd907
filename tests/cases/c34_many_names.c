/* A loop index in the name: a hundred thousand regions a rank, other ones on each. Memory and
 * file stay bounded, the overflow goes to one region, no visit is lost, and one warning is
 * enough (ICLDisco/parsec#507). MPI functions first called after that are still counted as such.
 *
 * RUN np=2 limit=60
 * VISITS * user=100000
 * REGION 0 "step-0 of rank 0" visits=1
 * REGION 1 "step-0 of rank 1" visits=1
 * EXPECT * MPI_Allreduce calls=1 out=4 in=4
 * NOTES names count>=1
 * CALLPATHS <=17000
 * STDERR <=4
 */
#include "case.h"

int main(int argc, char **argv)
{
    char name[64];
    int one = 1, ranks = 0;

    MPI_Init(&argc, &argv);
    case_whoami(2);
    for (int i = 0; i < 100000; i++) {
        snprintf(name, sizeof name, "step-%d of rank %d", i, me);
        region_begin(name);
        region_end(name);
    }
    MPI_Allreduce(&one, &ranks, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(ranks == 2);
    case_done();
    MPI_Finalize();
    return 0;
}
