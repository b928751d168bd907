/* What an interposed library adds to MPI calls: blocks of MPI_X, which it sees, alternate
 * with blocks of PMPI_X, which it does not, in one process of one rank.
 *
 *   mpi_bench [-b BLOCKS] [-n PERCENT] [CELL ...]
 *
 * For each cell it prints "cell, least block of MPI_X, least block of PMPI_X" in nanoseconds
 * an operation, tabs between. The one rank sends to itself: waiting for another core would
 * hide what is added. PERCENT scales the length of a block.
 */
#include "bench.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REQUESTS = 8, SELF = 0 };

/* The same calls by either set of names. */
struct calls {
    int (*comm_rank)(MPI_Comm, int *);
    int (*iprobe)(int, int, MPI_Comm, int *, MPI_Status *);
    int (*send)(const void *, int, MPI_Datatype, int, int, MPI_Comm);
    int (*recv)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status *);
    int (*isend)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
    int (*irecv)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
    int (*waitall)(int, MPI_Request *, MPI_Status *);
    int (*allreduce)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);
    int (*barrier)(MPI_Comm);
    int (*testany)(int, MPI_Request *, int *, int *, MPI_Status *);
};

static struct calls seen = {MPI_Comm_rank, MPI_Iprobe,  MPI_Send,      MPI_Recv,    MPI_Isend,
                            MPI_Irecv,     MPI_Waitall, MPI_Allreduce, MPI_Barrier, MPI_Testany};
static struct calls unseen = {PMPI_Comm_rank, PMPI_Iprobe, PMPI_Send,    PMPI_Recv,
                              PMPI_Isend,     PMPI_Irecv,  PMPI_Waitall, PMPI_Allreduce,
                              PMPI_Barrier,   PMPI_Testany};

static void comm_rank(const struct calls *mpi, long n)
{
    int rank;
    while (n--)
        mpi->comm_rank(MPI_COMM_WORLD, &rank);
}

static void iprobe(const struct calls *mpi, long n)
{
    int flag;
    while (n--)
        mpi->iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

/* Of requests that are never done, as programs poll. */
static void testany(const struct calls *mpi, long n)
{
    double in[REQUESTS];
    MPI_Request request[REQUESTS];
    int index, flag;
    for (int i = 0; i < REQUESTS; i++)
        mpi->irecv(&in[i], 1, MPI_DOUBLE, SELF, 98, MPI_COMM_WORLD, &request[i]);
    while (n--)
        mpi->testany(REQUESTS, request, &index, &flag, MPI_STATUS_IGNORE);
    for (int i = 0; i < REQUESTS; i++) {
        PMPI_Cancel(&request[i]);
        mpi->testany(1, &request[i], &index, &flag, MPI_STATUS_IGNORE);
    }
}

static void send_recv(const struct calls *mpi, long n)
{
    double value = 1;
    while (n--) {
        mpi->send(&value, 1, MPI_DOUBLE, SELF, 1, MPI_COMM_WORLD);
        mpi->recv(&value, 1, MPI_DOUBLE, SELF, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void requests(const struct calls *mpi, long n)
{
    double in[REQUESTS], out[REQUESTS] = {0};
    MPI_Request request[2 * REQUESTS];
    while (n--) {
        for (int i = 0; i < REQUESTS; i++)
            mpi->irecv(&in[i], 1, MPI_DOUBLE, SELF, i, MPI_COMM_WORLD, &request[i]);
        for (int i = 0; i < REQUESTS; i++)
            mpi->isend(&out[i], 1, MPI_DOUBLE, SELF, i, MPI_COMM_WORLD, &request[REQUESTS + i]);
        mpi->waitall(2 * REQUESTS, request, MPI_STATUSES_IGNORE);
    }
}

static void allreduce(const struct calls *mpi, long n)
{
    double in = 1, out;
    while (n--)
        mpi->allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void barrier(const struct calls *mpi, long n)
{
    while (n--)
        mpi->barrier(MPI_COMM_WORLD);
}

/* Blocks of about half a millisecond. */
static const struct cell {
    const char *name;
    void (*run)(const struct calls *mpi, long n);
    struct calls *with, *without;
    long n;
} cells[] = {
    /* clang-format off */
    {"control", iprobe, &unseen, &unseen, 10000},
    {"comm_rank", comm_rank, &seen, &unseen, 20000},
    {"iprobe", iprobe, &seen, &unseen, 10000},
    {"testany", testany, &seen, &unseen, 10000},
    {"barrier", barrier, &seen, &unseen, 10000},
    {"allreduce", allreduce, &seen, &unseen, 5000},
    {"send_recv", send_recv, &seen, &unseen, 2000},
    {"requests", requests, &seen, &unseen, 300},
    /* clang-format on */
};

static double block_ns(const struct cell *cell, const struct calls *mpi, long n)
{
    int64_t begin_ns = bench_now_ns();
    cell->run(mpi, n);
    return (double)(bench_now_ns() - begin_ns) / (double)n;
}

static void run_cell(const struct cell *cell, int percent, int blocks)
{
    static double with[BENCH_MAX_BLOCKS], without[BENCH_MAX_BLOCKS];
    long n = cell->n * percent / 100 + 1;
    block_ns(cell, cell->without, n);
    block_ns(cell, cell->with, n);
    for (int b = 0; b < blocks; b++) {
        without[b] = block_ns(cell, cell->without, n);
        with[b] = block_ns(cell, cell->with, n);
    }
    printf("%s\t%.3f\t%.3f\n", cell->name, bench_least(with, blocks), bench_least(without, blocks));
    fflush(stdout);
}

static int is_chosen(const char *name, int n, char **chosen)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(chosen[i], name))
            return 1;
    return n == 0;
}

int main(int argc, char **argv)
{
    int blocks = 101, percent = 100, option, ranks;
    while ((option = getopt(argc, argv, "b:n:")) != -1) {
        if (option == 'b')
            blocks = atoi(optarg);
        else if (option == 'n')
            percent = atoi(optarg);
        else
            return 2;
    }
    if (blocks < 1 || blocks > BENCH_MAX_BLOCKS || percent < 1)
        return 2;
    MPI_Init(&argc, &argv);
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks != 1) {
        fprintf(stderr, "mpi_bench: run it on one rank\n");
        PMPI_Abort(MPI_COMM_WORLD, 2);
    }
    for (size_t c = 0; c < sizeof cells / sizeof *cells; c++)
        if (is_chosen(cells[c].name, argc - optind, argv + optind))
            run_cell(&cells[c], percent, blocks);
    MPI_Finalize();
    return 0;
}
