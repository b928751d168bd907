/* What an interposed library adds to a poll that gives up its core: two ranks on one core, each of
 * which asks MPI_Testany for a message that never comes and does a little between, as HPCC's
 * RandomAccess. What comes back finds its caches and page tables cold.
 *
 *   mpirun -n 2 poll_bench [-b BLOCKS]
 *
 * Prints "poll, least block of MPI_Testany, least block of PMPI_Testany" in nanoseconds a poll of
 * both ranks, tabs between. Both ranks' cores are for the caller to choose: one, that they share;
 * and Open MPI's mpi_yield_when_idle has to be 1.
 */
#include "bench.h"

#include <mpi.h>
#include <stdio.h>

enum { POLLS = 1000, TABLE_BITS = 18 };

typedef int testany(int, MPI_Request *, int *, int *, MPI_Status *);

static uint64_t table[1 << TABLE_BITS];

static void update(void)
{
    static uint64_t x = 88172645463325252;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    table[x >> (64 - TABLE_BITS)] ^= x;
}

static double block_ns(testany *ask, MPI_Request *request)
{
    MPI_Status status;
    int index, flag;
    PMPI_Barrier(MPI_COMM_WORLD);
    int64_t begin_ns = bench_now_ns();
    for (int i = 0; i < POLLS; i++) {
        update();
        ask(1, request, &index, &flag, &status);
    }
    return (double)(bench_now_ns() - begin_ns) / POLLS;
}

int main(int argc, char **argv)
{
    static double with[BENCH_MAX_BLOCKS], without[BENCH_MAX_BLOCKS];
    int blocks = bench_blocks(argc, argv), rank, ranks, message;
    MPI_Request request;
    if (!blocks)
        return 2;
    MPI_Init(&argc, &argv);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks != 2) {
        fprintf(stderr, "poll_bench: run it on two ranks\n");
        PMPI_Abort(MPI_COMM_WORLD, 2);
    }
    PMPI_Irecv(&message, 1, MPI_INT, !rank, 1, MPI_COMM_WORLD, &request);
    for (int b = -1; b < blocks; b++) {
        double seen = block_ns(MPI_Testany, &request), unseen = block_ns(PMPI_Testany, &request);
        if (b >= 0) {
            with[b] = seen;
            without[b] = unseen;
        }
    }
    if (rank == 0)
        printf("poll\t%.3f\t%.3f\n", bench_least(with, blocks), bench_least(without, blocks));
    PMPI_Cancel(&request);
    PMPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
