/* Regions on eight short threads, four of which end with theirs open: each thread has its own
 * stack of open regions, and none hangs below what another has open (kokkos/kokkos#554).
 *
 * RUN np=2
 * REGION * thread visits=8 unclosed=4 parent=(run)
 * REGION * work visits=800 unclosed=0 parent=thread
 * REGION * main visits=1 unclosed=0 parent=(run)
 * NOTES unclosed region=thread count=8
 */
#include "case.h"

#include <pthread.h>

enum { N_THREADS = 8 };

static void *run(void *forgetful)
{
    region_begin("thread");
    for (int i = 0; i < 100; i++) {
        region_begin("work");
        region_end("work");
    }
    if (forgetful == NULL)
        region_end("thread");
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[N_THREADS];
    int level;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    case_whoami(2);
    region_begin("main");
    for (int i = 0; i < N_THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, run, i < N_THREADS / 2 ? &threads[i] : NULL) == 0);
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    region_end("main");
    case_done();
    MPI_Finalize();
    return 0;
}
