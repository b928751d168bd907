/* Every sum that MPI makes is checked by each rank, with messages around a ring in between; then the
 * rank waits for the seconds that its argument gives, and ends. For tests in which not all ranks are
 * measured: whatever of others' gets between the program's own messages makes a sum wrong.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ROUNDS = 200 };

static int rank, size;

static void need(int holds, const char *what, int round)
{
    if (holds)
        return;
    printf("rank %d: round %d: %s is wrong\n", rank, round, what);
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 9);
}

/* What rank r gives to a sum, and what comes of all. */
static long long given(int r, int round)
{
    return 1000LL * round + r;
}

static long long sum_of(int round)
{
    return 1000LL * round * size + (long long)size * (size - 1) / 2;
}

static long long do_round(int round)
{
    long long mine = given(rank, round), sum = 0, later = 0, before = -1;
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    MPI_Request requests[2];

    MPI_Allreduce(&mine, &sum, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    need(sum == sum_of(round), "the sum", round);
    MPI_Iallreduce(&mine, &later, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[1]);
    MPI_Sendrecv(&mine, 1, MPI_LONG_LONG, right, round, &before, 1, MPI_LONG_LONG, left, round,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    need(before == given(left, round), "the message", round);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    need(later == sum_of(round), "the later sum", round);
    return sum + later + before;
}

int main(int argc, char **argv)
{
    long long total = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int round = 0; round < ROUNDS; round++)
        total += do_round(round);
    printf("rank %d of %d: %lld\n", rank, size, total);
    fflush(stdout);
    if (argc > 1)
        usleep((useconds_t)(atof(argv[1]) * 1e6));
    MPI_Finalize();
    printf("rank %d has ended\n", rank);
    return 0;
}
