/* victim.c - an MPI program that notes what it does, to be killed, or to come to a bad end by
 * itself.
 *
 *   victim FOLDER SECONDS [WAY STEP]
 *
 * Each rank makes FOLDER/PID, see tests/notes.h. Its ranks pass messages around and reduce for that
 * long, beside a second thread that works without MPI; then they finalize. In step STEP the last
 * rank ends in this WAY:
 *   segv             its second thread writes to nowhere
 *   overflow         its stack overflows; overflow-thread: that of its second thread
 *   overflow-alt     the same with a handler on an alternate stack, that lets it die of the next
 *                    fault; overflow-thread-alt
 *   abort            in the middle of MPI_Allreduce abort() is called, by whoever computes
 *   never            it waits, and never comes to MPI_Finalize; the others do
 */
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <rankclock/rankclock.h>

#include "../notes.h"

enum { FRESH_MOST = 3000, FRESH_EVERY = 2 };

static struct notes *notes;
static const char *way = "";
static long way_step = -1;
static int rank, size;
static _Atomic int over, strike;

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- noting ---- */

static void count(_Atomic int64_t *counter)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1,
                          memory_order_seq_cst);
}

#define NOTE(id, what)                       \
    do {                                     \
        count(&notes->of[NOTED_##id].begun); \
        what;                                \
        count(&notes->of[NOTED_##id].ended); \
    } while (0)

static void begin(int which, const char *name)
{
    count(&notes->of[which].begun);
    rkc_begin(name);
}

static void end(int which, const char *name)
{
    rkc_end(name);
    count(&notes->of[which].ended);
}

static int open_notes(const char *folder)
{
    char name[4096];
    snprintf(name, sizeof name, "%s/%d", folder, (int)getpid());
    int fd = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (fd < 0 || ftruncate(fd, sizeof *notes) != 0)
        return 0;
    notes = mmap(NULL, sizeof *notes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (notes == MAP_FAILED)
        return 0;
    atomic_store(&notes->rank, -1);
    atomic_store(&notes->pid, (int32_t)getpid());
    atomic_store(&notes->stage, STAGE_BEGUN);
    return 1;
}

/* ---- bad ends ---- */

static int *volatile nowhere;

static int dive(int depth)
{
    volatile char frame[1000];
    memset((char *)frame, depth, sizeof frame);
    return depth < 0 ? 0 : dive(depth + 1) + frame[depth % (int)sizeof frame];
}

static void let_die(int signal_number)
{
    signal(signal_number, SIG_DFL);
}

static void overflow(void)
{
    static char memory[65536];
    stack_t stack = {.ss_sp = memory, .ss_size = sizeof memory};
    struct sigaction action = {.sa_handler = let_die, .sa_flags = SA_ONSTACK};
    if (strstr(way, "-alt")) {
        sigaltstack(&stack, NULL);
        sigaction(SIGSEGV, &action, NULL);
    }
    _exit(dive(1));
}

static void strike_thread(void)
{
    if (strcmp(way, "segv") == 0)
        *nowhere = 1;
    overflow();
}

/* The operation of MPI_Allreduce: the largest value, and the end of who is to abort. */
static void largest(void *in, void *inout, int *n, MPI_Datatype *type)
{
    double *from = in, *into = inout;
    (void)type;
    if (atomic_load(&strike) && strcmp(way, "abort") == 0)
        abort();
    for (int i = 0; i < *n; i++)
        into[i] = from[i] > into[i] ? from[i] : into[i];
}

static void come_to_a_bad_end(void)
{
    atomic_store(&notes->struck, strcmp(way, "never") != 0);
    atomic_store(&strike, 1); /* for the thread, and for the operation */
    if (strncmp(way, "overflow", 8) == 0 && !strstr(way, "-thread"))
        overflow();
    if (strcmp(way, "never") == 0) {
        atomic_store(&notes->stage, STAGE_LAST);
        for (;;)
            pause();
    }
    if (strcmp(way, "abort") != 0)
        for (;;)
            pause();
}

/* ---- working ---- */

static void *work(void *unused)
{
    int waits = strcmp(way, "segv") == 0 || strstr(way, "-thread");
    while (!atomic_load_explicit(&over, memory_order_relaxed)) {
        begin(NOTED_WORK, "work");
        for (int i = 0; i < 3; i++) {
            begin(NOTED_PACK, "pack");
            if (waits && atomic_load_explicit(&strike, memory_order_relaxed))
                strike_thread();
            end(NOTED_PACK, "pack");
        }
        end(NOTED_WORK, "work");
    }
    return unused;
}

static void exchange(void)
{
    static char out[MESSAGE_BYTES], in[MESSAGE_BYTES];
    MPI_Request request[2];
    NOTE(IRECV, MPI_Irecv(in, MESSAGE_BYTES, MPI_BYTE, (rank + size - 1) % size, 0, MPI_COMM_WORLD,
                          &request[0]));
    NOTE(ISEND, MPI_Isend(out, MESSAGE_BYTES, MPI_BYTE, (rank + 1) % size, 0, MPI_COMM_WORLD,
                          &request[1]));
    NOTE(WAITALL, MPI_Waitall(2, request, MPI_STATUSES_IGNORE));
}

static void visit_fresh(long i)
{
    char name[32];
    snprintf(name, sizeof name, "fresh %ld", i);
    begin(NOTED_FRESH, name);
    end(NOTED_FRESH, name);
}

/* Whether it was the last. */
static int step(long i, double until_s, MPI_Op op)
{
    double mine = rank == 0 && now_s() >= until_s, all = 0;
    begin(NOTED_STEP, "step");
    begin(NOTED_HALO, "halo");
    exchange();
    end(NOTED_HALO, "halo");
    begin(NOTED_COMPUTE, "compute");
    for (int k = 0; k < 8; k++) {
        begin(NOTED_FLUX, "flux");
        end(NOTED_FLUX, "flux");
    }
    end(NOTED_COMPUTE, "compute");
    if (i % FRESH_EVERY == 0 && i / FRESH_EVERY < FRESH_MOST)
        visit_fresh(i / FRESH_EVERY);
    int never = strcmp(way, "never") == 0;
    if (i == way_step && (rank == size - 1 || strcmp(way, "abort") == 0))
        come_to_a_bad_end();
    if (i == way_step && never)
        all = 1;
    else
        NOTE(ALLREDUCE, MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, op, MPI_COMM_WORLD));
    end(NOTED_STEP, "step");
    return all > 0;
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Op op;
    pthread_t thread;
    if (argc < 3 || !open_notes(argv[1])) {
        fputs("usage: victim FOLDER SECONDS [WAY STEP]\n", stderr);
        return 2;
    }
    if (argc > 4) {
        way = argv[3];
        way_step = atol(argv[4]);
    }
    begin(NOTED_SETUP, "setup");
    end(NOTED_SETUP, "setup");
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    atomic_store(&notes->size, size);
    atomic_store(&notes->rank, rank);
    MPI_Op_create(largest, 1, &op);
    if (pthread_create(&thread, NULL, work, NULL) != 0)
        return 2;
    double until_s = now_s() + atof(argv[2]);
    for (long i = 0; !step(i, until_s, op); i++)
        atomic_store(&notes->stage, STAGE_WORKING);
    atomic_store(&over, 1);
    pthread_join(thread, NULL);
    MPI_Op_free(&op);
    atomic_store(&notes->stage, STAGE_LAST);
    MPI_Finalize();
    atomic_store(&notes->stage, STAGE_FINALIZED);
    return 0;
}
