/* Ten thousand nested visits of one region: a fixed stack overflows, a path of ten thousand
 * names takes quadratic time, and time added at every level exceeds the run's own
 * (ESMCI/cime#2431, E3SM-Project/scorpio#350).
 *
 * RUN np=2
 * REGION * descend visits=10000 unclosed=0 parent=(run) inclusive<=wall
 * REGION * after visits=1 parent=(run)
 * CALLPATHS <=40
 */
#include "case.h"

static int descend(int levels)
{
    int below = 0;

    region_begin("descend");
    if (levels > 1)
        below = descend(levels - 1);
    region_end("descend");
    return below + 1;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    case_whoami(2);
    CHECK(descend(10000) == 10000);
    region_begin("after");
    region_end("after");
    case_done();
    MPI_Finalize();
    return 0;
}
