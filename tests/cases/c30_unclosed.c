/* A function returns early on the rank that has no work, and its region stays open there: what
 * follows hangs below it on that rank, and a note names it (ECP-copa/Cabana#736,
 * arborx/ArborX#375).
 *
 * RUN np=3
 * REGION * build visits=1 parent=(run)
 * REGION 0 build unclosed=1
 * REGION 1,2 build unclosed=0
 * REGION 0 next visits=1 parent=build
 * REGION 1,2 next visits=1 parent=(run)
 * REGION all next visits=3 ranks=3
 * NOTES unclosed region=build count=1
 * EXPECT * MPI_Barrier calls=1
 */
#include "case.h"

static int build(int n_items)
{
    int sum = 0;

    region_begin("build");
    if (n_items == 0)
        return 0;
    for (int i = 1; i <= n_items; i++)
        sum += i;
    region_end("build");
    return sum;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    case_whoami(3);
    CHECK(build(me) == me * (me + 1) / 2);
    region_begin("next");
    MPI_Barrier(MPI_COMM_WORLD);
    region_end("next");
    case_done();
    MPI_Finalize();
    return 0;
}
