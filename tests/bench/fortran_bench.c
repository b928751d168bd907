/* What an interposed library adds to MPI calls of Fortran: as mpi_bench.c, of mpi_x_ and pmpi_x_.
 *
 *   fortran_bench [-b BLOCKS]
 *
 * It needs no compiler of Fortran: the MPI's library for it is opened, and where there is none
 * nothing is printed.
 */
#include "bench.h"

#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { REQUESTS = 8 };

#ifdef OPEN_MPI
static const char *const libraries[] = {"libmpi_mpifh.so.40"};
#else
static const char *const libraries[] = {"libmpichfort.so.12", "libmpifort.so.12"};
#endif

typedef MPI_Fint word;

/* The same calls by either set of names. */
struct calls {
    void (*iprobe)(word *source, word *tag, word *comm, word *flag, word *status, word *ierror);
    void (*isend)(void *buf, word *n, word *type, word *to, word *tag, word *comm, word *request,
                  word *ierror);
    void (*irecv)(void *buf, word *n, word *type, word *from, word *tag, word *comm, word *request,
                  word *ierror);
    void (*waitall)(word *n, word *requests, word *statuses, word *ierror);
    void (*allreduce)(void *in, void *out, word *n, word *type, word *op, word *comm, word *ierror);
    void (*barrier)(word *comm, word *ierror);
    void (*testany)(word *n, word *requests, word *index, word *flag, word *status, word *ierror);
};

static struct calls seen, unseen;

/* A pointer to a function comes as one to data. */
static int find(const char *prefix, const char *name, void *call)
{
    char symbol[32];
    snprintf(symbol, sizeof symbol, "%smpi_%s_", prefix, name);
    void *found = dlsym(RTLD_DEFAULT, symbol);
    memcpy(call, &found, sizeof found);
    return found != NULL;
}

static int find_all(const char *prefix, struct calls *calls)
{
    return find(prefix, "iprobe", &calls->iprobe) && find(prefix, "isend", &calls->isend) &&
           find(prefix, "irecv", &calls->irecv) && find(prefix, "waitall", &calls->waitall) &&
           find(prefix, "allreduce", &calls->allreduce) &&
           find(prefix, "barrier", &calls->barrier) && find(prefix, "testany", &calls->testany);
}

static int open_library(void)
{
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        if (dlopen(libraries[i], RTLD_NOW | RTLD_GLOBAL) && find_all("", &seen) &&
            find_all("p", &unseen))
            return 1;
    return 0;
}

/* What Fortran's constants are. */
static word world, real8, sum, self, one = 1, some = REQUESTS, all = 2 * REQUESTS, ierror;
static word statuses[2 * REQUESTS][sizeof(MPI_Status) / sizeof(word)];

static void iprobe(const struct calls *mpi, long n)
{
    word tag = 99, flag;
    while (n--)
        mpi->iprobe(&self, &tag, &world, &flag, statuses[0], &ierror);
}

/* Of requests that are never done, as programs poll. */
static void testany(const struct calls *mpi, long n)
{
    double in[REQUESTS];
    word request[REQUESTS], tag = 98, index, flag;
    for (int i = 0; i < REQUESTS; i++)
        mpi->irecv(&in[i], &one, &real8, &self, &tag, &world, &request[i], &ierror);
    while (n--)
        mpi->testany(&some, request, &index, &flag, statuses[0], &ierror);
    for (int i = 0; i < REQUESTS; i++) {
        MPI_Request handle = PMPI_Request_f2c(request[i]);
        PMPI_Cancel(&handle);
        mpi->testany(&one, &request[i], &index, &flag, statuses[0], &ierror);
    }
}

static void requests(const struct calls *mpi, long n)
{
    double in[REQUESTS], out[REQUESTS] = {0};
    word request[2 * REQUESTS];
    while (n--) {
        for (word i = 0; i < REQUESTS; i++)
            mpi->irecv(&in[i], &one, &real8, &self, &i, &world, &request[i], &ierror);
        for (word i = 0; i < REQUESTS; i++)
            mpi->isend(&out[i], &one, &real8, &self, &i, &world, &request[REQUESTS + i], &ierror);
        mpi->waitall(&all, request, statuses[0], &ierror);
    }
}

static void allreduce(const struct calls *mpi, long n)
{
    double in = 1, out;
    while (n--)
        mpi->allreduce(&in, &out, &one, &real8, &sum, &world, &ierror);
}

static void barrier(const struct calls *mpi, long n)
{
    while (n--)
        mpi->barrier(&world, &ierror);
}

/* Blocks of about half a millisecond. */
static const struct cell {
    const char *name;
    void (*run)(const struct calls *mpi, long n);
    long n;
} cells[] = {{"iprobe", iprobe, 10000},
             {"testany", testany, 10000},
             {"barrier", barrier, 10000},
             {"allreduce", allreduce, 5000},
             {"requests", requests, 300}};

static double block_ns(const struct cell *cell, const struct calls *mpi)
{
    int64_t begin_ns = bench_now_ns();
    cell->run(mpi, cell->n);
    return (double)(bench_now_ns() - begin_ns) / (double)cell->n;
}

static void run_cell(const struct cell *cell, int blocks)
{
    static double with[BENCH_MAX_BLOCKS], without[BENCH_MAX_BLOCKS];
    block_ns(cell, &unseen);
    block_ns(cell, &seen);
    for (int b = 0; b < blocks; b++) {
        without[b] = block_ns(cell, &unseen);
        with[b] = block_ns(cell, &seen);
    }
    printf("fortran_%s\t%.3f\t%.3f\n", cell->name, bench_least(with, blocks),
           bench_least(without, blocks));
    fflush(stdout);
}

int main(int argc, char **argv)
{
    int blocks = bench_blocks(argc, argv), ranks;
    if (!blocks)
        return 2;
    MPI_Init(&argc, &argv);
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks == 1 && open_library()) {
        world = PMPI_Comm_c2f(MPI_COMM_WORLD);
        real8 = PMPI_Type_c2f(MPI_DOUBLE_PRECISION);
        sum = PMPI_Op_c2f(MPI_SUM);
        for (size_t c = 0; c < sizeof cells / sizeof *cells; c++)
            run_cell(&cells[c], blocks);
    }
    MPI_Finalize();
    return 0;
}
