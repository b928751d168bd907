/* Two functions that call each other a thousand levels deep: every level is a call path of its
 * own until a limit, and past it the visits are still counted, with a note.
 *
 * RUN np=2
 * VISITS * user=1001
 * REGION * after visits=1 unclosed=0 parent=(run)
 * NOTES depth count>=1
 * CALLPATHS <=1100
 * STDERR <=4
 */
#include "case.h"

static int odd(int levels);

static int even(int levels)
{
    region_begin("even");
    int result = levels == 0 ? 1 : odd(levels - 1);
    region_end("even");
    return result;
}

static int odd(int levels)
{
    region_begin("odd");
    int result = levels == 0 ? 0 : even(levels - 1);
    region_end("odd");
    return result;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    case_whoami(2);
    CHECK(even(999) == 0);
    region_begin("after");
    region_end("after");
    case_done();
    MPI_Finalize();
    return 0;
}
