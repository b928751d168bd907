/* MPI is begun and ended by a thread that is not the first one, while that one has a region open: a
 * tool that takes the first thread for MPI's loses the calls (llnl/mpiP#13).
 *
 * RUN np=2
 * EXPECT * MPI_Init_thread calls=1
 * EXPECT * MPI_Sendrecv calls=10 out=40 in=40
 * EXPECT * MPI_Finalize calls=1
 * REGION all first visits=2 unclosed=2
 */
#include "case.h"

#include <pthread.h>

static void *use_mpi(void *argument)
{
    int level, in = -1;

    MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level);
    case_whoami(2);
    for (int i = 0; i < 10; i++)
        MPI_Sendrecv(&me, 1, MPI_INT, 1 - me, 0, &in, 1, MPI_INT, 1 - me, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    CHECK(in == 1 - me);
    case_done();
    MPI_Finalize();
    return argument;
}

int main(void)
{
    pthread_t thread;

    region_begin("first");
    CHECK(pthread_create(&thread, NULL, use_mpi, NULL) == 0);
    pthread_join(thread, NULL);
    region_end("first");
    return 0;
}
