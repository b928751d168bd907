/* Ranks of one job run different programs and know different regions: matching them by their
 * place in a table mixes names up, and a rank without any makes others wait
 * (arborx/ArborX#375).
 *
 * This program is rank 0, c27_mpmd_b the other two. Each meets the names in another order, and
 * rank 2 meets none.
 *
 * RUN mpmd 1:c27_mpmd_a 2:c27_mpmd_b
 * REGION all a_only visits=3 ranks=1
 * REGION all b_only visits=2 ranks=1
 * REGION all shared visits=2 ranks=2
 * REGION 0 a_only visits=3
 * REGION 1 a_only visits=0
 * REGION 1 b_only visits=2
 * REGION 0,1 shared visits=1
 * VISITS 2 user=0
 * EXPECT * MPI_Barrier calls=1
 */
#include "case.h"

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    case_whoami(3);
    for (int i = 0; i < 3; i++) {
        region_begin("a_only");
        region_end("a_only");
    }
    region_begin("shared");
    region_end("shared");
    MPI_Barrier(MPI_COMM_WORLD);
    case_done();
    MPI_Finalize();
    return 0;
}
