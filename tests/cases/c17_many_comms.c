/* Communicators by the thousand: a tool that keeps or duplicates them runs the MPI out of ids,
 * one with a table for them grows without end (eth-cscs/DLA-Future#712, cp2k/cp2k#546,
 * dftbplus/dftbplus#1809).
 *
 * What the process has of memory must not grow with them, not even by a byte for each: that of the
 * last 4000 is to be within 64 pages of that of the first.
 *
 * RUN np=2
 * EXPECT * MPI_Comm_dup calls=5000
 * EXPECT * MPI_Comm_split calls=600
 * EXPECT * MPI_Comm_free calls=5600
 * EXPECT * MPI_Barrier calls=5600 out=0 in=0
 * CALLPATHS <=40
 */
#include "case.h"

enum { N_SHORT = 1000, N_HELD = 200, PAGES = 64 };

static long pages(void)
{
    long all = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    CHECK(file != NULL && fscanf(file, "%ld %ld", &all, &resident) == 2);
    fclose(file);
    return resident;
}

static void use_short_ones(void)
{
    for (int i = 0; i < N_SHORT; i++) {
        MPI_Comm copy;
        MPI_Comm_dup(MPI_COMM_WORLD, &copy);
        MPI_Barrier(copy);
        MPI_Comm_free(&copy);
    }
}

static void hold_some(void)
{
    static MPI_Comm held[N_HELD];

    for (int i = 0; i < N_HELD; i++)
        MPI_Comm_split(MPI_COMM_WORLD, i % 2 == 0 ? me : 0, me, &held[i]);
    for (int i = 0; i < N_HELD; i++) {
        MPI_Barrier(held[i]);
        MPI_Comm_free(&held[i]);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    case_whoami(2);
    use_short_ones();
    hold_some();
    long before = pages();
    for (int i = 0; i < 4; i++)
        use_short_ones();
    hold_some();
    hold_some();
    CHECK(pages() <= before + PAGES);
    case_done();
    MPI_Finalize();
    return 0;
}
