/* A whole run: 200 regions, or fewer by its argument, each visited ten times, the last time with an MPI_Allreduce.
 *
 * The library is looked up at run time, so that the same program runs with it (preloaded)
 * and without. Each rank prints one line, tabs between:
 *   life  rank  init_ns  work_ns  finalize_ns  peak_kib
 */
#include "bench.h"

#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { REGIONS = 200, VISITS = 10 };

struct rkc_region;

static struct rkc_region *(*region_get)(const char *name);
static void (*region_begin)(struct rkc_region *region);
static void (*region_end)(struct rkc_region *region);

/* POSIX makes a pointer from dlsym callable; C only lets it be stored. */
static void find_library(void)
{
    *(void **)&region_get = dlsym(RTLD_DEFAULT, "rkc_region_get");
    *(void **)&region_begin = dlsym(RTLD_DEFAULT, "rkc_region_begin");
    *(void **)&region_end = dlsym(RTLD_DEFAULT, "rkc_region_end");
}

static void visit(struct rkc_region *region, int with_call)
{
    double in = 1, out;
    if (region)
        region_begin(region);
    if (with_call)
        MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (region)
        region_end(region);
}

static void visit_all(int regions)
{
    struct rkc_region *region[REGIONS] = {NULL};
    char name[32];
    for (int r = 0; region_get && r < regions; r++) {
        snprintf(name, sizeof name, "solver_step_%04d", r);
        region[r] = region_get(name);
    }
    for (int v = 0; v < VISITS; v++)
        for (int r = 0; r < regions; r++)
            visit(region[r], v == VISITS - 1);
}

int main(int argc, char **argv)
{
    int rank, regions = argc > 1 ? atoi(argv[1]) : REGIONS;
    find_library();
    int64_t init_ns = bench_now_ns();
    MPI_Init(&argc, &argv);
    int64_t work_ns = bench_now_ns();
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    visit_all(regions < REGIONS ? regions : REGIONS);
    PMPI_Barrier(MPI_COMM_WORLD);
    int64_t finalize_ns = bench_now_ns();
    MPI_Finalize();
    int64_t end_ns = bench_now_ns();
    printf("life\t%d\t%lld\t%lld\t%lld\t%ld\n", rank, (long long)(work_ns - init_ns),
           (long long)(finalize_ns - work_ns), (long long)(end_ns - finalize_ns), bench_peak_kib());
    return 0;
}
