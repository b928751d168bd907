/* A program that ends in one of many ways, which its argument names; for the shell tests.
 *
 * Each rank visits the region "work" ten times and takes part in one MPI_Allreduce. What rank 1
 * does then, if the way is one of its own:
 *   finalize        all ranks finalize
 *   exit, _exit     it leaves without MPI_Finalize, with status 3
 *   stop            it is stopped for good
 *   late SECONDS    it comes to MPI_Finalize that much later, from a region "late"
 *   two-late SECONDS  so does rank 0
 *   abort           it calls MPI_Abort(comm, 7)
 *   abort-before    every rank calls MPI_Abort before MPI_Init
 *   twice           every rank calls MPI_Finalize a second time
 *   control         every rank works while paused, and again after it was resumed
 *   snapshot        every rank leaves a snapshot, and ends by _exit(0)
 *   phases          every rank uses IPM's form of MPI_Pcontrol for a region "phase"
 *   names N         every rank works in N further regions
 *   pending [N]     the same, and it leaves two receives of anything from anyone, one persistent
 *   handler [N]     the same, and an error handler on MPI_COMM_WORLD that ends the program
 *   attribute [N]   the same, and an attribute on MPI_COMM_WORLD; prints how often it was copied
 *   hang            no rank ends: rank 0 stays in its region "work", the others in MPI_Recv
 *   thread          every rank asks MPI_Init_thread for MPI_THREAD_MULTIPLE; prints what it gets
 */
#include <dlfcn.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size;

static int call(const char *function, const char *name)
{
    int (*found)(const char *);
    *(void **)&found = dlsym(RTLD_DEFAULT, function);
    return found ? found(name) : 0;
}

static void work(int times)
{
    for (int i = 0; i < times; i++) {
        call("rkc_begin", "work");
        call("rkc_end", "work");
    }
}

/* Not to end; a file says that it has come to that. */
static void hang(void)
{
    char name[32];
    int word;
    snprintf(name, sizeof name, "hangs.%d", rank);
    FILE *here = fopen(name, "w");
    if (here)
        fclose(here);
    call("rkc_begin", "work");
    if (rank > 0)
        MPI_Recv(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (;;)
        pause();
}

static void end_alone(const char *way, const char *how)
{
    if (strcmp(way, "exit") == 0)
        exit(3);
    if (strcmp(way, "_exit") == 0)
        _exit(3);
    if (strcmp(way, "stop") == 0)
        raise(SIGSTOP);
    if (strcmp(way, "late") == 0 || strcmp(way, "two-late") == 0) {
        call("rkc_begin", "late");
        usleep((useconds_t)(atof(how) * 1e6));
        call("rkc_end", "late");
    }
    if (strcmp(way, "abort") == 0)
        MPI_Abort(MPI_COMM_WORLD, 7);
}

static void control(const char *way)
{
    if (strcmp(way, "control") == 0) {
        MPI_Pcontrol(0);
        work(100);
        MPI_Pcontrol(1);
        work(5);
    }
    if (strcmp(way, "snapshot") == 0) {
        MPI_Pcontrol(2);
        MPI_Barrier(MPI_COMM_WORLD);
        _exit(0);
    }
    if (strcmp(way, "phases") == 0) {
        MPI_Pcontrol(1, "phase");
        work(3);
        MPI_Pcontrol(-1, "phase");
        MPI_Pcontrol(0);
        work(4);
    }
}

static void work_in(int names)
{
    char name[32];
    for (int i = 0; i < names; i++) {
        snprintf(name, sizeof name, "part %d", i);
        call("rkc_begin", name);
        call("rkc_end", name);
    }
}

static int received[2] = {-1, -1}, copies;

static void leave_receives(void)
{
    static MPI_Request request[2];
    MPI_Irecv(&received[0], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request[0]);
    MPI_Recv_init(&received[1], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                  &request[1]);
    MPI_Start(&request[1]);
}

static void end_program(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    _exit(7);
}

static int copy_attribute(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)comm;
    (void)key;
    (void)extra;
    *(void **)out = in;
    *flag = 1;
    copies++;
    return MPI_SUCCESS;
}

/* What could be in the way of messages that are not the program's. */
static void leave_something(const char *way)
{
    MPI_Errhandler handler;
    int key;
    if (strcmp(way, "pending") == 0)
        leave_receives();
    if (strcmp(way, "handler") == 0) {
        MPI_Comm_create_errhandler(end_program, &handler);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    }
    if (strcmp(way, "attribute") == 0) {
        MPI_Comm_create_keyval(copy_attribute, MPI_COMM_NULL_DELETE_FN, &key, NULL);
        MPI_Comm_set_attr(MPI_COMM_WORLD, key, &copies);
    }
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "finalize", *how = argc > 2 ? argv[2] : "";
    int one = 1, sum = 0;
    if (strcmp(way, "abort-before") == 0)
        MPI_Abort(MPI_COMM_WORLD, 7);
    if (strcmp(way, "thread") == 0) {
        int provided;
        MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
        printf("level %d\n", provided - MPI_THREAD_SINGLE);
    } else {
        MPI_Init(&argc, &argv);
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    work(10);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (sum != size)
        return 9;
    control(way);
    if (strcmp(way, "late") != 0 && strcmp(way, "two-late") != 0)
        work_in(atoi(how));
    leave_something(way);
    if (strcmp(way, "hang") == 0)
        hang();
    if (rank == 1 || (rank == 0 && strcmp(way, "two-late") == 0))
        end_alone(way, how);
    if (MPI_Finalize() != MPI_SUCCESS)
        return 8;
    printf("rank %d done\n", rank);
    if (strcmp(way, "pending") == 0)
        printf("received %d %d\n", received[0], received[1]);
    if (strcmp(way, "attribute") == 0)
        printf("copies %d\n", copies);
    fflush(stdout);
    if (strcmp(way, "twice") == 0)
        MPI_Finalize();
    return 0;
}
