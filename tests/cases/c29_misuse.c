/* Ends that do not match: without a begin, crossing, on another thread. A tool that crashes, or
 * stops recording, at the first of them is of no use (kokkos/kokkos-tools#54, llnl/Caliper#545).
 *
 * Per rank: ends without a begin are two of "never_begun", one of "good", one of "mine" on a
 * thread that never began it, and one of "B", which the crossing end of "A" has closed.
 *
 * RUN np=2
 * REGION * good visits=10 unclosed=0 parent=(run)
 * REGION * A visits=1 unclosed=0 parent=(run)
 * REGION * B visits=1 unclosed=1 parent=A
 * REGION * mine visits=1 unclosed=0 parent=(run)
 * REGION * never_begun visits=0
 * NOTES end_without_begin count=10
 * NOTES end_without_begin region=never_begun count=4
 * NOTES end_without_begin region=mine count=2
 * NOTES end_crossing count=2
 * STDERR <=6
 */
#include "case.h"

#include <pthread.h>

static void good(int times)
{
    for (int i = 0; i < times; i++) {
        region_begin("good");
        region_end("good");
    }
}

static void *end_foreign(void *unused)
{
    region_end("mine");
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    int level;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    case_whoami(2);
    region_end("never_begun");
    good(3);
    region_end("good");

    region_begin("A");
    region_begin("B");
    region_end("A");
    region_end("B");
    good(3);

    region_begin("mine");
    CHECK(pthread_create(&thread, NULL, end_foreign, NULL) == 0);
    pthread_join(thread, NULL);
    region_end("mine");
    region_end("never_begun");
    good(4);
    case_done();
    MPI_Finalize();
    return 0;
}
