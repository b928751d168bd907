/* Two threads take turns in MPI under MPI_THREAD_SERIALIZED; a request that one thread posted is
 * completed by the other, and its bytes still belong to the call that posted it.
 *
 * RUN np=2
 * EXPECT * MPI_Irecv calls=200 in=800
 * EXPECT * MPI_Isend calls=200 out=800
 * EXPECT * MPI_Waitall calls=200 out=0 in=0
 */
#include "case.h"

#include <pthread.h>
#include <semaphore.h>

enum { N_ROUNDS = 200 };

static sem_t posted, completed;
static MPI_Request requests[2];
static int out, in;

static void *complete(void *unused)
{
    for (int round = 0; round < N_ROUNDS; round++) {
        sem_wait(&posted);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        CHECK(in == round);
        sem_post(&completed);
    }
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t completer;
    int level = 0;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
    case_whoami(2);
    CHECK(level >= MPI_THREAD_SERIALIZED);
    sem_init(&posted, 0, 0);
    sem_init(&completed, 0, 0);
    CHECK(pthread_create(&completer, NULL, complete, NULL) == 0);
    for (int round = 0; round < N_ROUNDS; round++) {
        out = round;
        MPI_Irecv(&in, 1, MPI_INT, 1 - me, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(&out, 1, MPI_INT, 1 - me, 0, MPI_COMM_WORLD, &requests[1]);
        sem_post(&posted);
        sem_wait(&completed);
    }
    pthread_join(completer, NULL);
    case_done();
    MPI_Finalize();
    return 0;
}
