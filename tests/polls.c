/* RANKS 1 */
/* polls.c - loops of calls that ask whether something has happened yet.
 *
 * What stands next in line here is MPI's function only after it was asked some times in vain.
 */
#include "autoconf.h"

#include <mpi.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../pmpi/poll.h"
#include "../pmpi/request.h"
#include "counters.h"
#include "image_checks.h"
#include "tap.h"

enum { MISSES = 3 * RKC_POLLS_PENDING + 5, HALFWAY = MISSES / 2, MANY = 20 };

/* ---- in vain ---- */

static int asked;             /* calls so far */
static void (*halfway)(void); /* called within one of them */
static int is_failing;        /* the last one fails */

static int in_vain(void)
{
    asked++;
    if (asked == HALFWAY && halfway)
        halfway();
    return asked <= MISSES;
}

static int test(MPI_Request *request, int *flag, MPI_Status *status)
{
    *flag = 0;
    return in_vain() ? MPI_SUCCESS : is_failing ? MPI_ERR_OTHER : PMPI_Test(request, flag, status);
}

static int testall(int n, MPI_Request *requests, int *flag, MPI_Status *statuses)
{
    *flag = 0;
    return in_vain() ? MPI_SUCCESS : PMPI_Testall(n, requests, flag, statuses);
}

static int testany(int n, MPI_Request *requests, int *index, int *flag, MPI_Status *status)
{
    *flag = 0;
    return in_vain() ? MPI_SUCCESS : PMPI_Testany(n, requests, index, flag, status);
}

static int testsome(int n, MPI_Request *requests, int *n_done, int *indices, MPI_Status *statuses)
{
    *n_done = 0;
    return in_vain() ? MPI_SUCCESS : PMPI_Testsome(n, requests, n_done, indices, statuses);
}

static int iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    *flag = 0;
    return in_vain() ? MPI_SUCCESS : PMPI_Iprobe(source, tag, comm, flag, status);
}

static int improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message,
                   MPI_Status *status)
{
    *flag = 0;
    return in_vain() ? MPI_SUCCESS : PMPI_Improbe(source, tag, comm, flag, message, status);
}

static void stand_in(void)
{
    RKC_MPI_FUNCTION(Test)->next = (void (*)(void))test;
    RKC_MPI_FUNCTION(Testall)->next = (void (*)(void))testall;
    RKC_MPI_FUNCTION(Testany)->next = (void (*)(void))testany;
    RKC_MPI_FUNCTION(Testsome)->next = (void (*)(void))testsome;
    RKC_MPI_FUNCTION(Iprobe)->next = (void (*)(void))iprobe;
    RKC_MPI_FUNCTION(Improbe)->next = (void (*)(void))improbe;
}

static void again(void (*then)(void))
{
    asked = 0;
    halfway = then;
}

/* ---- each function ---- */

static int in[MANY][4], out[4];

static int ints_of(int i)
{
    return 1 + i % 4;
}

/* Requests that are done, each of another size than the next. */
static void post(int n, MPI_Request *requests)
{
    for (int i = 0; i < n; i++) {
        MPI_Irecv(in[i], 4, MPI_INT, 0, i, MPI_COMM_SELF, &requests[i]);
        PMPI_Send(out, ints_of(i), MPI_INT, 0, i, MPI_COMM_SELF);
    }
}

/* Complete all, however the function's calls are done; returns the calls made. */
static int complete(const char *name, int n, MPI_Request *requests, int wants_status)
{
    MPI_Status statuses[MANY];
    int flag = 0, n_done = 0, calls = 0, all = 0, indices[MANY];
    MPI_Status *one = wants_status ? statuses : MPI_STATUS_IGNORE;
    MPI_Status *many = wants_status ? statuses : MPI_STATUSES_IGNORE;
    memset(statuses, 0, sizeof statuses);
    while (all < n) {
        calls++;
        if (!strcmp(name, "MPI_Test"))
            MPI_Test(&requests[all], &flag, one);
        else if (!strcmp(name, "MPI_Testall"))
            MPI_Testall(n, requests, &flag, many);
        else if (!strcmp(name, "MPI_Testany"))
            MPI_Testany(n, requests, &indices[0], &flag, one);
        else
            MPI_Testsome(n, requests, &n_done, indices, many);
        all += n_done ? n_done : !flag ? 0 : !strcmp(name, "MPI_Testall") ? n : 1;
        flag = n_done = 0;
    }
    return calls;
}

/* Visits of a call path that went by the ring; every visit's time is in it. */
static int64_t in_loop(const char *region, const char *name)
{
    struct rkc_view view;
    struct rkc_local local;
    char path[200];
    int64_t visits = 0;
    rkc_private_fold(rkc_thread_own());
    rkc_view_own(&view, rkc_private_image());
    if (rkc_local_collect(&local, &view, 0) != 0)
        exit(1);
    ok(image_check(&local) == 0, "all sums agree");
    snprintf(path, sizeof path, "(run)/%s/%s", region, name);
    uint32_t at = image_path(&local, path);
    for (uint32_t i = 0; i < local.n_nodes; i++) {
        if (local.nodes[i].path != at)
            continue;
        const struct rkc_polls *polls = rkc_local_polls(&local, local.nodes[i].node);
        visits += polls ? (int64_t)polls->visits : 0;
    }
    rkc_local_free(&local);
    return visits;
}

static void test_function(const char *name, int n, int wants_status)
{
    MPI_Request requests[MANY];
    char region[80];
    int ints = 0;
    for (int i = 0; i < n; i++)
        ints += ints_of(i);
    snprintf(region, sizeof region, "%s of %d%s", name, n, wants_status ? ", statuses" : "");
    rkc_begin(region);
    post(n, requests);
    again(NULL);
    int calls = complete(name, n, requests, wants_status);
    rkc_end(region);
    struct counters irecv = counters_of(region, "MPI_Irecv"), polls = counters_of(region, name);
    is_int(polls.calls, calls, "every call counts");
    ok(polls.calls > MISSES && polls.ticks > 0, "those in vain, too");
    is_int(in_loop(region, name), n > 16 && strcmp(name, "MPI_Test") != 0 ? 0 : MISSES - 1,
           "all but the first of these in the loop's own way, unless the requests are many");
    is_int(irecv.completed, n, "each request has completed");
    is_int(irecv.received, 4 * ints, "with its bytes");
    ok(irecv.blocked > 0 && irecv.blocked <= polls.ticks, "and was waited for");
    is_int(atomic_load(&rkc_requests_active), 0, "no request is left");
}

static void test_probe(const char *name)
{
    int flag = 0, calls = 0;
    MPI_Message message;
    MPI_Request sent;
    PMPI_Isend(out, 3, MPI_INT, 0, 7, MPI_COMM_SELF, &sent);
    again(NULL);
    rkc_begin("probe");
    for (; !flag; calls++) {
        if (!strcmp(name, "MPI_Iprobe"))
            MPI_Iprobe(0, 7, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
        else
            MPI_Improbe(0, 7, MPI_COMM_SELF, &flag, &message, MPI_STATUS_IGNORE);
    }
    rkc_end("probe");
    if (!strcmp(name, "MPI_Iprobe"))
        PMPI_Recv(in, 4, MPI_INT, 0, 7, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    else
        PMPI_Mrecv(in, 4, MPI_INT, &message, MPI_STATUS_IGNORE);
    PMPI_Wait(&sent, MPI_STATUS_IGNORE);
    is_int(counters_of("probe", name).calls, MISSES + 1, "every probe counts");
    is_int(calls, MISSES + 1, "and has the program's answer");
    is_int(in_loop("probe", name), MISSES - 1, "most in the loop's own way");
}

/* ---- what may come between, and within ---- */

static void probe(int n)
{
    int flag;
    while (n--)
        MPI_Iprobe(0, 99, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
}

static void test_between(void)
{
    int flag, size;
    again(NULL);
    rkc_begin("between");
    probe(4);
    rkc_begin("inner");
    probe(3);
    rkc_end("inner");
    probe(2);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    probe(3);
    MPI_Improbe(0, 99, MPI_COMM_SELF, &flag, &(MPI_Message){0}, MPI_STATUS_IGNORE);
    probe(2);
    rkc_end("between");
    is_int(counters_of("between", "MPI_Iprobe").calls, 11,
           "what comes between is no call of the loop");
    is_int(counters_of("inner", "MPI_Iprobe").calls, 3, "each call path has its own");
    is_int(counters_of("between", "inner").calls, 1, "a region between counts");
    is_int(counters_of("between", "MPI_Comm_size").calls, 1, "as does another call");
    is_int(counters_of("between", "MPI_Improbe").calls, 1, "and one that polls");
    is_int(in_loop("between", "MPI_Iprobe"), 3 + 1 + 2 + 1, "a loop begins anew after each");
}

static void region_within(void)
{
    int size;
    rkc_begin("within");
    rkc_end("within");
    MPI_Comm_size(MPI_COMM_WORLD, &size);
}

static void test_within(void)
{
    rkc_begin("callback");
    again(region_within);
    probe(MISSES);
    rkc_end("callback");
    is_int(counters_of("callback", "MPI_Iprobe").calls, MISSES,
           "a call with a callback counts once");
    is_int(counters_of("MPI_Iprobe", "within").calls, 1, "its regions are in it");
    is_int(counters_of(NULL, "MPI_Comm_size").calls, 1, "its calls are not counted");
    in_loop("callback", "MPI_Iprobe");
}

static void region_left_open(void)
{
    rkc_begin("left open");
}

static void test_left_open(void)
{
    rkc_begin("unended");
    again(region_left_open);
    probe(HALFWAY + 3);
    rkc_end("unended");
    is_int(counters_of("unended", "MPI_Iprobe").calls, HALFWAY + 3,
           "a call that leaves a region open counts once");
    is_int(counters_of("MPI_Iprobe", "left open").calls, 1, "and the region is closed with it");
    in_loop("unended", "MPI_Iprobe");
}

static jmp_buf jump;

static void leave(void)
{
    longjmp(jump, 1);
}

static void test_left(void)
{
    rkc_begin("left");
    again(leave);
    if (setjmp(jump) == 0)
        probe(MISSES);
    probe(3);
    rkc_end("left");
    is_int(counters_of("left", "MPI_Iprobe").calls, HALFWAY + 3,
           "a call left by longjmp counts once");
    in_loop("left", "MPI_Iprobe");
}

static void *pause_it(void *unused)
{
    rkc_pause();
    return unused;
}

static void pause_by_another(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, pause_it, NULL);
    pthread_join(thread, NULL);
}

static void test_paused(void (*how)(void), const char *region)
{
    rkc_begin(region);
    again(how);
    probe(MISSES);
    rkc_resume();
    probe(5);
    rkc_end(region);
    is_int(counters_of(region, "MPI_Iprobe").calls, HALFWAY + 5,
           "calls begun while paused do not count");
    in_loop(region, "MPI_Iprobe");
}

/* The innermost call path that is open. */
static char open_name[200];

static void look(void)
{
    struct rkc_view view;
    struct rkc_local local;
    rkc_view_own(&view, rkc_private_image());
    if (rkc_local_collect(&local, &view, 0) != 0)
        exit(1);
    if (local.row.open_path != RKC_NO_PATH)
        image_path_name(&local.paths, local.row.open_path, open_name, sizeof open_name);
    rkc_local_free(&local);
}

static void test_open(void)
{
    rkc_begin("open");
    again(look);
    probe(MISSES);
    rkc_end("open");
    is_str(open_name, "(run)/open/MPI_Iprobe", "who looks finds the call open");
}

static void pass_through(pid_t child)
{
    int status = -1;
    if (child == 0) {
        again(NULL);
        probe(2);
        rkc_begin("child");
        rkc_end("child");
        probe(2);
        _exit(asked == 4 ? 0 : 3);
    }
    waitpid(child, &status, 0);
    ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "calls in a forked child pass through");
}

static void fork_it(void)
{
    pass_through(fork());
}

static void test_fork(void)
{
    rkc_begin("fork");
    again(fork_it);
    probe(MISSES);
    fork_it();
    pass_through((pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)); /* the C library does not know */
    rkc_end("fork");
    is_int(counters_of("fork", "MPI_Iprobe").calls, MISSES, "and are not the parent's");
    in_loop("fork", "MPI_Iprobe");
}

static void test_failing(void)
{
    MPI_Request request;
    int flag = 0, rc = MPI_SUCCESS, calls = 0;
    post(1, &request);
    rkc_begin("failing");
    again(NULL);
    is_failing = 1;
    for (; rc == MPI_SUCCESS && !flag; calls++)
        rc = MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    rkc_end("failing");
    is_failing = 0;
    is_int(rc, MPI_ERR_OTHER, "a call that fails says so");
    is_int(counters_of("failing", "MPI_Test").calls, calls, "and counts");
    MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    is_int(flag, 1, "its request is still there");
    is_int(atomic_load(&rkc_requests_active), 0, "and completes later");
}

/* Handles are kept by halves where there are 8 to 16, or 4 to 7. */
static const int sizes[] = {1, 2, 3, 4, 7, 8, 11, 16, 17, MANY};

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    rkc_mpi_concurrent = 0;
    stand_in();
    for (int wants_status = 0; wants_status <= 1; wants_status++) {
        test_function("MPI_Test", 1, wants_status);
        for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            test_function("MPI_Testall", sizes[i], wants_status);
            test_function("MPI_Testany", sizes[i], wants_status);
            test_function("MPI_Testsome", sizes[i], wants_status);
        }
    }
    test_probe("MPI_Iprobe");
    test_probe("MPI_Improbe");
    test_between();
    test_within();
    test_left_open();
    test_left();
    test_paused(rkc_pause, "paused");
    test_paused(pause_by_another, "paused by another");
    test_open();
    test_fork();
    test_failing();
    counters_end();
    return done_testing();
}
