/* Two or more ranks send around: 7 MPI_Send and 7 MPI_Recv of 8 bytes each, 3 MPI_Allreduce of one
 * double, MPI_Initialized once before MPI_Init and once after MPI_Finalize, one MPI_Pcontrol of a
 * level that means nothing. Each rank prints what it has come to. Half of the MPI_Send are called
 * by the function's address. C and C++.
 */
#include <mpi.h>
#include <stdio.h>

enum { ROUNDS = 7, SUMS = 3 };

static double pass(double value, int rank, int ranks)
{
    int after = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
    int (*volatile send)(const void *, int, MPI_Datatype, int, int, MPI_Comm) = MPI_Send;
    double got = 0;
    if (rank % 2 == 0)
        send(&value, 1, MPI_DOUBLE, after, 3, MPI_COMM_WORLD);
    MPI_Recv(&got, 1, MPI_DOUBLE, before, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank % 2 != 0)
        MPI_Send(&value, 1, MPI_DOUBLE, after, 3, MPI_COMM_WORLD);
    return got;
}

int main(int argc, char **argv)
{
    int before = 1, after = 0, rank, ranks;
    MPI_Initialized(&before);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    double value = rank, sum = 0;
    for (int i = 0; i < ROUNDS; i++)
        value = pass(value, rank, ranks) + 0.5;
    for (int i = 0; i < SUMS; i++) {
        MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        value += sum / 4;
    }
    MPI_Pcontrol(5, 6, "seven");
    int rc = MPI_Finalize();
    MPI_Initialized(&after);
    printf("rank %d of %d: %a %a, initialized %d %d\n", rank, ranks, value, sum, before, after);
    return rc;
}
