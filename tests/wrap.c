/* RANKS 2 */
/* wrap.c - which MPI calls are recorded, where, and that the program sees nothing of it. */
#include "autoconf.h"

#include <mpi.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../pmpi/call.h"
#include "counters.h"
#include "tap.h"

static int me, peer;

/* Returns what MPI_Initialized says, to be checked once it is known which rank reports. */
static int call_before_init(void)
{
    int flag = 7, version, subversion;
    rkc_begin("before");
    MPI_Initialized(&flag);
    MPI_Get_version(&version, &subversion);
    rkc_end("before");
    return flag;
}

static void test_before_init(int initialized)
{
    is_int(initialized, 0, "MPI_Initialized is answered before MPI_Init");
    is_int(counters_of("before", "MPI_Initialized").calls, 1, "and recorded");
}

static void test_counted(void)
{
    int rank, size;
    rkc_begin("counted");
    for (int i = 0; i < 3; i++) {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        MPI_Barrier(MPI_COMM_SELF);
        PMPI_Comm_size(MPI_COMM_WORLD, &size);
    }
    rkc_end("counted");
    is_int(counters_of("counted", "MPI_Comm_rank").calls, 3, "each call counts once");
    is_int(counters_of("counted", "MPI_Comm_size").calls, 3, "one by its PMPI_ name does not");
    is_int(counters_of("counted", "MPI_Barrier").calls, 3, "and each function has its own path");
}

/* ---- calls inside calls ---- */

static int copy(MPI_Comm comm, int key, void *extra, void *value, void *copied, int *flag)
{
    int rank;
    (void)key, (void)extra, (void)copied, (void)value;
    rkc_begin("in callback");
    MPI_Comm_rank(comm, &rank);
    rkc_end("in callback");
    *flag = 0;
    return MPI_SUCCESS;
}

static void test_outermost(void)
{
    int key, value = 1;
    MPI_Comm dup;
    MPI_Comm_create_keyval(copy, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, &value);
    rkc_begin("outermost");
    MPI_Comm_dup(MPI_COMM_SELF, &dup);
    rkc_end("outermost");
    MPI_Comm_delete_attr(MPI_COMM_SELF, key);
    MPI_Comm_free(&dup);
    MPI_Comm_free_keyval(&key);
    is_int(counters_of("outermost", "MPI_Comm_dup").calls, 1, "a call with a callback counts");
    is_int(counters_of("MPI_Comm_dup", "in callback").calls, 1, "its callback's regions are in it");
    is_int(counters_of("in callback", "MPI_Comm_rank").calls, 0, "its callback's calls are not");
}

static jmp_buf out;

static void jump(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    longjmp(out, 1);
}

__attribute__((noinline)) static void fail(void)
{
    int value = 0;
    MPI_Send(&value, 1, MPI_INT, 77, 0, MPI_COMM_SELF);
}

static void test_left_by_longjmp(void)
{
    MPI_Errhandler handler;
    int size;
    MPI_Comm_create_errhandler(jump, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    rkc_begin("jump");
    if (setjmp(out) == 0)
        fail();
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    rkc_end("jump");
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&handler);
    is_int(counters_of("jump", "MPI_Send").calls, 1, "a call left by longjmp is ended by the next");
    is_int(counters_of("jump", "MPI_Comm_size").calls, 2, "which counts beside it, not in it");
    is_int(counters_of("MPI_Send", "MPI_Comm_size").calls, 0, "nothing hangs from it");
    is_int(counters_of("jump", "MPI_Send").sizes, 0, "and it moved nothing");
}

/* ---- off, paused, excluded, deep ---- */

static void test_paused(void)
{
    int rank;
    rkc_begin("paused");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    rkc_pause();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    rkc_resume();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    rkc_end("paused");
    is_int(counters_of("paused", "MPI_Comm_rank").calls, 2, "no call is recorded during a pause");
}

static void test_excluded(void)
{
    int in = 0, value = me + 1;
    MPI_Request request;
    rkc_begin("excluded");
    MPI_Irecv(&in, 1, MPI_INT, peer, 0, MPI_COMM_WORLD, &request);
    MPI_Send(&value, 1, MPI_INT, peer, 0, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    rkc_end("excluded");
    is_int(in, peer + 1, "a function that the settings exclude still works");
    is_int(counters_of(NULL, "MPI_Wait").calls, 0, "it is not recorded");
    is_int(counters_of("excluded", "MPI_Irecv").received, 4, "but completes what others posted");
}

static void test_deep(void)
{
    enum { LEVELS = RKC_DEPTH_MAX + 10 };
    struct rkc_region *region[2] = {rkc_region_get("even"), rkc_region_get("odd")};
    int value = 0;
    struct counters before = counters_of(NULL, "(deep)");
    for (int i = 0; i < LEVELS; i++)
        rkc_region_begin(region[i % 2]);
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_SELF);
    for (int i = LEVELS - 1; i >= 0; i--)
        rkc_region_end(region[i % 2]);
    struct counters deep = counters_of(NULL, "(deep)");
    is_int(before.sent, 0, "nothing was deep so far");
    is_int(deep.sent, 4, "bytes of calls nested too deep are counted in \"(deep)\"");
}

static void test_fork(void)
{
    int status = -1, flag = 0;
    rkc_begin("fork");
    MPI_Initialized(&flag);
    pid_t child = fork();
    if (child == 0) {
        flag = 0;
        MPI_Initialized(&flag);
        MPI_Initialized(&flag);
        _exit(flag ? 0 : 3);
    }
    waitpid(child, &status, 0);
    rkc_end("fork");
    ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "calls in a forked child pass through");
    is_int(counters_of("fork", "MPI_Initialized").calls, 1, "and are not the parent's");
}

/* ---- what the program sees ---- */

static void test_status(void)
{
    int in[4], value[4] = {1, 2, 3, 4}, mark, n;
    MPI_Status status[3];
    MPI_Request request;
    memset(status, 0x5a, sizeof status);
    mark = status[0].MPI_ERROR;
    MPI_Isend(value, 3, MPI_INT, peer, 8, MPI_COMM_WORLD, &request);
    MPI_Recv(in, 4, MPI_INT, MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, &status[1]);
    PMPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Get_count(&status[1], MPI_INT, &n);
    ok(n == 3 && status[1].MPI_SOURCE == peer && status[1].MPI_TAG == 8,
       "the program's status is filled");
    is_int(status[1].MPI_ERROR, mark, "its MPI_ERROR is left alone");
    ok(status[0].MPI_TAG == mark && status[2].MPI_SOURCE == mark, "as are its neighbours");
}

static int handled;

static void on_error(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    handled++;
}

static void test_errors(void)
{
    MPI_Errhandler handler;
    int value = 0, error_class = -1;
    MPI_Comm_create_errhandler(on_error, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    int rc = MPI_Send(&value, 1, MPI_DATATYPE_NULL, peer, 0, MPI_COMM_WORLD);
    MPI_Error_class(rc, &error_class);
    is_int(error_class, MPI_ERR_TYPE, "the error code is MPI's");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&handler);
    is_int(handled, 1, "the program's error handler runs once");
}

#ifdef RKC_HAVE_MPI_LARGE_COUNT
static void test_large_count(void)
{
    int in[4], value[4] = {0};
    MPI_Count counts[2] = {1, 2};
    MPI_Aint at[2] = {0, 1};
    rkc_begin("large");
    MPI_Sendrecv_c(value, 3, MPI_INT, peer, 0, in, 4, MPI_INT, peer, 0, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
    MPI_Allgatherv_c(value, me + 1, MPI_INT, in, counts, at, MPI_INT, MPI_COMM_WORLD);
    rkc_end("large");
    struct counters gather = counters_of("large", "MPI_Allgatherv_c");
    is_int(counters_of("large", "MPI_Sendrecv_c").received, 12,
           "large-count forms have their own names");
    ok(gather.sent == 4 * (me + 1) && gather.received == 12, "and the same rules");
}
#else
static void test_large_count(void)
{
    skip(2, "this MPI has no large-count functions");
}
#endif

static void test_stopped(void)
{
    int one = 1, sum = 0;
    MPI_Status status;
    struct counters before = counters_of(NULL, "MPI_Allreduce");
    rkc_private_stop(RKC_STATE_FINALIZED);
    rkc_private_done();
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Sendrecv(&one, 1, MPI_INT, peer, 0, &sum, 1, MPI_INT, peer, 0, MPI_COMM_WORLD, &status);
    is_int(sum, 1, "calls pass through once recording has ended");
    is_int(counters_of(NULL, "MPI_Allreduce").calls, before.calls, "and are not recorded");
}

int main(int argc, char **argv)
{
    setenv("RANKCLOCK_EXCLUDE", "MPI_Wait", 1);
    int initialized = call_before_init();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    peer = 1 - me;
    if (me != 0)
        tap_silence();
    test_before_init(initialized);
    test_counted();
    test_outermost();
    test_left_by_longjmp();
    test_paused();
    test_excluded();
    test_deep();
    test_fork();
    test_status();
    test_errors();
    test_large_count();
    test_stopped();
    MPI_Finalize();
    return done_testing();
}
