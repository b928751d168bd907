/* waits.c - visits of collectives by communicator, and the barrier before them; four ranks. */
#include "autoconf.h"

#include "beside.h"
#include "counters.h"
#include "tap.h"

#include "../pmpi/wait.h"

enum { RANKS = 4 };

static int me;
static MPI_Comm halves, copy;

static void check(const char *region, const char *function, int size, int64_t calls,
                  const char *what)
{
    const struct rkc_wait *wait = beside_wait(region, function, size);
    is_int(wait ? wait->calls_max : -1, calls, what);
}

static void test_one(void)
{
    double x = me, y;
    rkc_begin("one");
    for (int i = 0; i < 7; i++)
        MPI_Allreduce(&x, &y, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Bcast(&x, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Scan(&x, &y, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_SELF);
    rkc_end("one");
    is_int(beside_collect(), 0, "a call path with one communicator");
    check("one", "MPI_Allreduce", RANKS, 7, "its visits");
    const struct rkc_wait *wait = beside_wait("one", "MPI_Allreduce", RANKS);
    is_int(wait ? wait->ns_sum : -1,
           rkc_local_value(&beside, wait ? wait->path : 0, RKC_METRIC_INCLUSIVE),
           "its time is that of the call path");
    is_int(wait ? wait->comm.first : -1, 0, "the first rank of the world is 0");
    is_int(wait ? wait->sync_ns : 0, RKC_ABSENT, "nothing was measured apart");
    check("one", "MPI_Bcast", RANKS, -1, "ranks need not meet in MPI_Bcast");
    check("one", "MPI_Scan", RANKS, -1, "nor in MPI_Scan");
    check("one", "MPI_Barrier", 1, -1, "nobody waits in MPI_COMM_SELF");
}

static void test_several(void)
{
    double x = me, y;
    rkc_begin("several");
    for (int i = 0; i < 12; i++)
        MPI_Allreduce(&x, &y, 1, MPI_DOUBLE, MPI_SUM, i < 5 ? halves : MPI_COMM_WORLD);
    for (int i = 0; i < 4; i++)
        MPI_Barrier(i % 2 ? halves : copy);
    rkc_end("several");
    is_int(beside_collect(), 0, "a call path with two communicators");
    check("several", "MPI_Allreduce", 2, 5, "visits of the first");
    check("several", "MPI_Allreduce", RANKS, 7, "visits of the second");
    const struct rkc_wait *first = beside_wait("several", "MPI_Allreduce", 2);
    const struct rkc_wait *second = beside_wait("several", "MPI_Allreduce", RANKS);
    int64_t sum = first && second ? first->ns_sum + second->ns_sum : -1;
    is_near((double)sum,
            (double)rkc_local_value(&beside, first ? first->path : 0, RKC_METRIC_INCLUSIVE), 2,
            "their times make the call path's");
    is_int(first ? first->comm.first : -1, me % 2, "the first rank of a half is that in the world");
    check("several", "MPI_Barrier", 2, 4, "two communicators of the same ranks are one");
}

/* Ranks of two groups are not compared: whom they wait for is in the other. */
static void test_two_groups(void)
{
    MPI_Comm between;
    MPI_Intercomm_create(halves, 0, MPI_COMM_WORLD, me % 2 ? 0 : 1, 5, &between);
    rkc_begin("groups");
    MPI_Barrier(between);
    MPI_Barrier(MPI_COMM_WORLD);
    rkc_end("groups");
    MPI_Comm_free(&between);
    is_int(beside_collect(), 0, "a communicator with two groups");
    check("groups", "MPI_Barrier", RANKS, 1, "has no visits of its own");
    check("groups", "MPI_Barrier", 2, -1, "in either group");
}

static void test_sync(void)
{
    double x = me, y;
    rkc_mpi_sync = 1;
    rkc_begin("sync");
    for (int i = 0; i < 3; i++)
        MPI_Allreduce(&x, &y, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < 2; i++)
        MPI_Bcast(&x, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    rkc_end("sync");
    rkc_mpi_sync = 0;
    is_int(beside_collect(), 0, "with a barrier before");
    const struct rkc_wait *all = beside_wait("sync", "MPI_Allreduce", RANKS);
    const struct rkc_wait *rooted = beside_wait("sync", "MPI_Bcast", RANKS);
    is_int(all ? all->calls_max : -1, 3, "visits are what they were");
    ok(all && all->sync_ns > 0 && all->sync_ns <= all->ns_sum, "the wait is a part of their time");
    is_int(counters_of("sync", "MPI_Barrier").calls, 0, "the barrier is no call of the program's");
    is_int(rooted ? rooted->calls_max : -1, 2, "MPI_Bcast is told by the barrier");
    ok(rooted && rooted->sync_ns > 0 && rooted->sync_ns == rooted->ns_sum,
       "and its time is the barrier's");
}

static void test_large_numbers(void)
{
    enum { MANY = 2000 };
    int rank, size, sum = 0, one = 1;
    rkc_begin("many");
    for (int i = 0; i < MANY; i++) {
        MPI_Comm comm;
        MPI_Comm_dup(halves, &comm);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
        MPI_Comm_free(&comm);
    }
    rkc_end("many");
    MPI_Comm_rank(halves, &rank);
    MPI_Comm_size(halves, &size);
    is_int(beside_collect(), 0, "two thousand communicators that come and go");
    check("many", "MPI_Allreduce", 2, MANY, "are one, of the same ranks");
    is_int(sum, size, "and reduce as they should");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    if (me != 0)
        tap_silence();
    MPI_Comm_split(MPI_COMM_WORLD, me % 2, me, &halves);
    MPI_Comm_dup(halves, &copy);
    test_one();
    test_several();
    test_two_groups();
    test_sync();
    test_large_numbers();
    rkc_local_free(&beside);
    counters_end();
    return done_testing();
}
