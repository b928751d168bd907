/* A tool whose wrapper of a Test call waits instead deadlocks a program that polls
 * (bsc-performance-tools/extrae#3).
 *
 * Rank 1 sends nothing before rank 0 has polled once in vain, round after round with another
 * call, and so the run ends only if each of them comes back empty-handed.
 *
 * RUN np=2
 * EXPECT 0 MPI_Irecv calls=5 out=0 in=120
 * EXPECT 0 MPI_Send calls=5 out=20 in=0
 * EXPECT 0 MPI_Testsome calls>=2 in=0
 * EXPECT 0 MPI_Testany calls>=2 in=0
 * EXPECT 0 MPI_Testall calls>=2 in=0
 * EXPECT 0 MPI_Test calls>=2 in=0
 * EXPECT 0 MPI_Iprobe calls>=2 in=0
 * EXPECT 0 MPI_Recv calls=1 in=8
 * EXPECT 1 MPI_Recv calls=5 in=20
 * EXPECT 1 MPI_Send calls=6 out=128
 * TOTAL 0 out=20 in=128
 * TOTAL 1 out=128 in=20
 */
#include "case.h"

enum { TAG_GO = 90 };

static char inbox[2][64];

static void post(int slot, int bytes, int tag, MPI_Request *request)
{
    MPI_Irecv(inbox[slot], bytes, MPI_CHAR, 1, tag, MPI_COMM_WORLD, request);
}

static void go(void)
{
    int round = 0;

    MPI_Send(&round, 1, MPI_INT, 1, TAG_GO, MPI_COMM_WORLD);
}

static void poll_some(void)
{
    MPI_Request requests[2];
    int n_done, n_left = 2, which[2];

    post(0, 16, 1, &requests[0]);
    post(1, 24, 2, &requests[1]);
    MPI_Testsome(2, requests, &n_done, which, MPI_STATUSES_IGNORE);
    CHECK(n_done == 0);
    go();
    while (n_left > 0) {
        MPI_Testsome(2, requests, &n_done, which, MPI_STATUSES_IGNORE);
        n_left -= n_done;
    }
    CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
}

static void poll_any(void)
{
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int flag, which;

    post(0, 32, 3, &requests[1]);
    MPI_Testany(2, requests, &which, &flag, MPI_STATUS_IGNORE);
    CHECK(!flag && which == MPI_UNDEFINED);
    go();
    while (!flag)
        MPI_Testany(2, requests, &which, &flag, MPI_STATUS_IGNORE);
    CHECK(which == 1);
}

static void poll_all(void)
{
    MPI_Request request;
    int flag;

    post(0, 40, 4, &request);
    MPI_Testall(1, &request, &flag, MPI_STATUSES_IGNORE);
    CHECK(!flag);
    go();
    while (!flag)
        MPI_Testall(1, &request, &flag, MPI_STATUSES_IGNORE);
}

static void poll_one(void)
{
    MPI_Request request;
    int flag;

    post(0, 8, 5, &request);
    MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);
    go();
    while (!flag)
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
}

static void poll_probe(void)
{
    int flag;

    MPI_Iprobe(1, 6, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);
    go();
    while (!flag)
        MPI_Iprobe(1, 6, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    MPI_Recv(inbox[0], 8, MPI_CHAR, 1, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void answer(void)
{
    static const int bytes_of_tag[] = {0, 16, 24, 32, 40, 8, 8};
    static const char message[64];

    for (int tag = 1; tag <= 6; tag++) {
        int round;
        if (tag != 2)
            MPI_Recv(&round, 1, MPI_INT, 0, TAG_GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(message, bytes_of_tag[tag], MPI_CHAR, 0, tag, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    case_whoami(2);
    if (me == 0) {
        poll_some();
        poll_any();
        poll_all();
        poll_one();
        poll_probe();
    } else {
        answer();
    }
    case_done();
    MPI_Finalize();
    return 0;
}
