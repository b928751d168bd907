/* RANKS 1 */
/* instants_mpi.c - what an image tells wherever the process stands in its calls of MPI.
 *
 * The child process is the rank. The steps go over the end of a ring, over loops of polls, which
 * have a ring of their own, and over calls whose call paths are new.
 */
#include "autoconf.h"

#include <mpi.h>
#include <unistd.h>

#include <rankclock/rankclock.h>

#include "steps.h"
#include "tap.h"
#include "thread.h"

enum { BEFORE_END = 30, POLLS = RKC_POLLS_PENDING + 3 };

static void inner(int n)
{
    for (int i = 0; i < n; i++) {
        rkc_begin("inner");
        rkc_end("inner");
    }
}

static void polls(void)
{
    int flag = 0;
    for (int i = 0; i < POLLS; i++)
        MPI_Iprobe(0, 1, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
}

static void exchange(void)
{
    static int in[8], out[8];
    MPI_Request request[2];
    int flag = 0;
    MPI_Irecv(in, 8, MPI_INT, 0, 0, MPI_COMM_SELF, &request[0]);
    MPI_Isend(out, 5, MPI_INT, 0, 0, MPI_COMM_SELF, &request[1]);
    MPI_Testall(2, request, &flag, MPI_STATUSES_IGNORE);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
}

static void work(void)
{
    rkc_begin("outer");
    inner(1);
    exchange();
    inner(2);
    MPI_Allreduce(MPI_IN_PLACE, &(int){0}, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
    rkc_end("outer");
}

static void program(void)
{
    MPI_Init(NULL, NULL);
    do
        work();
    while (rkc_private_hot.head % RKC_RING_RECORDS < RKC_RING_RECORDS - BEFORE_END);
    rkc_begin("outer");
    inner(3);
    polls();
    rkc_end("outer");
    steps_here();
    for (int i = 0; i < 3; i++)
        work();
    rkc_begin("outer");
    polls();
    inner(1);
    polls();
    inner(2);
    rkc_end("outer");
    rkc_begin("new");
    exchange();
    rkc_end("new");
    steps_here();
    MPI_Finalize();
}

int main(void)
{
    struct steps steps;
    if (steps_run(program, &steps) != 0) {
        printf("1..0 # SKIP processes may not be traced here\n");
        return 0;
    }
    ok(steps.instants > 1000, "a program is taken through its calls an instruction at a time");
    is_int(steps.bad, 0, "its image is whole at every instant");
    is_int(steps.visits, 3 * 9 + 4 + 2 * POLLS + 5, "and no call is lost or there twice");
    printf("# %lld instants\n", (long long)steps.instants);
    return done_testing();
}
