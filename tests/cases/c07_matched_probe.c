/* Messages that are taken by a matched probe are traffic like any other; MPI_MESSAGE_NO_PROC
 * brings nothing and has no request or sender to look up.
 *
 * RUN np=2
 * EXPECT 0 MPI_Improbe calls>=1 in=0
 * EXPECT 0 MPI_Imrecv calls=1 in=48
 * EXPECT 0 MPI_Mprobe calls=2 in=0
 * EXPECT 0 MPI_Mrecv calls=2 in=16
 * EXPECT 1 MPI_Send calls=2 out=64
 */
#include "case.h"

static double numbers[32];

static void take_nonblocking(void)
{
    MPI_Message message;
    MPI_Request request;
    MPI_Status status;
    int found = 0, n_items = 0;

    while (!found)
        MPI_Improbe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &found, &message, MPI_STATUS_IGNORE);
    MPI_Imrecv(numbers, 32, MPI_DOUBLE, &message, &request);
    MPI_Wait(&request, &status);
    MPI_Get_count(&status, MPI_DOUBLE, &n_items);
    CHECK(n_items == 6 && message == MPI_MESSAGE_NULL);
}

static void take_blocking(int source, int n_expected)
{
    MPI_Message message;
    MPI_Status status;
    int n_items = -1;

    MPI_Mprobe(source, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
    CHECK((message == MPI_MESSAGE_NO_PROC) == (source == MPI_PROC_NULL));
    MPI_Mrecv(numbers, 32, MPI_DOUBLE, &message, &status);
    MPI_Get_count(&status, MPI_DOUBLE, &n_items);
    CHECK(n_items == n_expected && status.MPI_SOURCE == source);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    case_whoami(2);
    if (me == 0) {
        take_nonblocking();
        take_blocking(1, 2);
        take_blocking(MPI_PROC_NULL, 0);
    } else {
        MPI_Send(numbers, 6, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
        MPI_Send(numbers, 2, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD);
    }
    case_done();
    MPI_Finalize();
    return 0;
}
