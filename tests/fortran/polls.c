/* polls.c - loops of calls that ask, as polls.F90 makes them: first in vain, then not. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { MANY = 20, ASKED = 150 };

static int in[MANY][8], out[8], n_requests;
static MPI_Request request[MANY];
static MPI_Status status[MANY];

static void check(int good, const char *what)
{
    if (good)
        return;
    printf("FAIL %s\n", what);
    exit(3);
}

static void post(int n)
{
    n_requests = n;
    for (int i = 0; i < n; i++)
        MPI_Irecv(in[i], 8, MPI_INT, 0, i, MPI_COMM_SELF, &request[i]);
}

static void answer(void)
{
    for (int i = 0; i < n_requests; i++)
        MPI_Send(out, 1 + i % 5, MPI_INT, 0, i, MPI_COMM_SELF);
}

static void test(int wanted)
{
    int flag;
    post(1);
    for (int i = 1; i <= ASKED + 1; i++) {
        if (i == ASKED + 1)
            answer();
        MPI_Test(&request[0], &flag, wanted ? &status[0] : MPI_STATUS_IGNORE);
        check(flag == (i > ASKED), "test");
    }
}

static void testall(int n, int wanted)
{
    int flag;
    post(n);
    for (int i = 1; i <= ASKED + 1; i++) {
        if (i == ASKED + 1)
            answer();
        MPI_Testall(n, request, &flag, wanted ? status : MPI_STATUSES_IGNORE);
        check(flag == (i > ASKED), "testall");
    }
}

static void testany(int n, int wanted)
{
    int flag, index;
    post(n);
    for (int i = 1; i <= ASKED + n; i++) {
        if (i == ASKED + 1)
            answer();
        MPI_Testany(n, request, &index, &flag, wanted ? &status[0] : MPI_STATUS_IGNORE);
        check(flag == (i > ASKED), "testany");
    }
}

static void testsome(int n, int wanted)
{
    int done, at[MANY];
    post(n);
    for (int i = 1; i <= ASKED + 1; i++) {
        if (i == ASKED + 1)
            answer();
        MPI_Testsome(n, request, &done, at, wanted ? status : MPI_STATUSES_IGNORE);
        check(done == (i > ASKED ? n : 0), "testsome");
    }
}

static void probe(int wanted)
{
    int flag;
    MPI_Request sent;
    MPI_Message message;
    for (int i = 1; i <= ASKED; i++) {
        MPI_Iprobe(0, 1, MPI_COMM_SELF, &flag, wanted ? &status[0] : MPI_STATUS_IGNORE);
        check(!flag, "iprobe");
    }
    MPI_Isend(out, 6, MPI_INT, 0, 1, MPI_COMM_SELF, &sent);
    MPI_Iprobe(0, 1, MPI_COMM_SELF, &flag, wanted ? &status[0] : MPI_STATUS_IGNORE);
    check(flag, "iprobe");
    for (int i = 1; i <= ASKED; i++) {
        MPI_Improbe(0, 2, MPI_COMM_SELF, &flag, &message, wanted ? &status[0] : MPI_STATUS_IGNORE);
        check(!flag, "improbe");
    }
    MPI_Improbe(0, 1, MPI_COMM_SELF, &flag, &message, wanted ? &status[0] : MPI_STATUS_IGNORE);
    check(flag, "improbe");
    MPI_Mrecv(in[0], 8, MPI_INT, &message, MPI_STATUS_IGNORE);
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int me;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    for (int wanted = 0; wanted <= 1; wanted++) {
        test(wanted);
        testall(3, wanted);
        testany(3, wanted);
        testany(MANY, wanted);
        testsome(3, wanted);
        probe(wanted);
    }
    MPI_Finalize();
    if (me == 0)
        puts("OK");
    return 0;
}
