/* Four threads of each rank in MPI at once, all gone before MPI_Finalize: no call of theirs may
 * be lost, nor the thread level lowered (llnl/mpiP#13, #8).
 *
 * RUN np=2
 * EXPECT * MPI_Init_thread calls=1
 * EXPECT * MPI_Isend calls=2000 out=64000
 * EXPECT * MPI_Recv calls=2000 in=64000
 * EXPECT * MPI_Wait calls=2000
 * TOTAL * out=64000 in=64000
 */
#include "case.h"

#include <pthread.h>

enum { N_THREADS = 4, N_ROUNDS = 500, N_INTS = 8 };

static void *exchange(void *argument)
{
    int lane = *(int *)argument;

    for (int round = 0; round < N_ROUNDS; round++) {
        int out[N_INTS] = {0}, in[N_INTS];
        MPI_Request request;
        out[N_INTS - 1] = N_ROUNDS * lane + round;
        MPI_Isend(out, N_INTS, MPI_INT, 1 - me, lane, MPI_COMM_WORLD, &request);
        MPI_Recv(in, N_INTS, MPI_INT, 1 - me, lane, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(in[N_INTS - 1] == N_ROUNDS * lane + round);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[N_THREADS];
    int lanes[N_THREADS] = {0, 1, 2, 3}, level = 0;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    case_whoami(2);
    CHECK(level == MPI_THREAD_MULTIPLE);
    for (int i = 0; i < N_THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, exchange, &lanes[i]) == 0);
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    case_done();
    MPI_Finalize();
    return 0;
}
