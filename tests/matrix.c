/* matrix.c - messages and bytes by rank of the world, as each rank counts them; four ranks. */
#include "autoconf.h"

#include "beside.h"
#include "counters.h"
#include "tap.h"

enum { RANKS = 4 };

static int me;
static int64_t seen[RANKS + 1][2], seen_bytes[RANKS + 1][2];

/* To (0) or from (1) a rank, or -1, since it was asked last. */
static int64_t messages(int other, int fetched, int64_t *bytes)
{
    int64_t all_bytes, all = beside_messages(fetched ? other : me, fetched ? me : other, &all_bytes);
    int slot = other + 1;
    if (all < 0)
        all = all_bytes = 0;
    int64_t n = all - seen[slot][fetched];
    *bytes = all_bytes - seen_bytes[slot][fetched];
    seen[slot][fetched] = all;
    seen_bytes[slot][fetched] = all_bytes;
    return n;
}

/* Check that since the last time there were so many messages to `other`, or fetched, and none else. */
static void check(int other, int fetched, int wanted, int wanted_bytes, const char *what)
{
    char text[200];
    int64_t bytes, elsewhere = 0;
    is_int(beside_collect(), 0, what);
    snprintf(text, sizeof text, "%s: messages", what);
    is_int(messages(other, fetched, &bytes), wanted, text);
    snprintf(text, sizeof text, "%s: bytes", what);
    is_int(bytes, wanted_bytes, text);
    for (int rank = -1; rank < RANKS; rank++)
        for (int way = 0; way < 2 && !(way && rank == me); way++)
            elsewhere += messages(rank, way, &bytes);
    snprintf(text, sizeof text, "%s: and no others", what);
    is_int(elsewhere, 0, text);
}

static void test_point_to_point(void)
{
    int right = (me + 1) % RANKS, left = (me + RANKS - 1) % RANKS;
    double out[8] = {0}, in[8] = {0};
    MPI_Request requests[2];
    for (int i = 0; i < 3; i++)
        MPI_Sendrecv(out, 2, MPI_DOUBLE, right, 0, in, 2, MPI_DOUBLE, left, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    check(right, 0, 3, 48, "exchanges with the neighbours");
    MPI_Irecv(in, 8, MPI_DOUBLE, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, 5, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    check(left, 0, 1, 40, "a request");
    MPI_Send(out, 8, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    check(right, 0, 0, 0, "what goes to MPI_PROC_NULL");
    MPI_Send_init(out, 1, MPI_DOUBLE, right, 2, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(in, 1, MPI_DOUBLE, left, 2, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < 4; i++) {
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    check(right, 0, 4, 32, "a persistent request, started four times");
    MPI_Bcast(out, 8, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    check(right, 0, 0, 0, "a collective");
}

/* Ranks of a communicator are not those of the world. */
static void test_communicators(void)
{
    double out = 0, in;
    int rank;
    MPI_Comm halves, turned, between, of_one;
    MPI_Comm_split(MPI_COMM_WORLD, me % 2, -me, &halves);
    MPI_Comm_rank(halves, &rank);
    MPI_Sendrecv(&out, 1, MPI_DOUBLE, 1 - rank, 0, &in, 1, MPI_DOUBLE, 1 - rank, 0, halves,
                 MPI_STATUS_IGNORE);
    check((me + 2) % RANKS, 0, 1, 8, "in a half of the world, turned round");
    MPI_Intercomm_create(halves, 0, MPI_COMM_WORLD, me % 2 ? 2 : 3, 5, &between);
    MPI_Sendrecv(&out, 1, MPI_DOUBLE, rank, 0, &in, 1, MPI_DOUBLE, rank, 0, between,
                 MPI_STATUS_IGNORE);
    check(me ^ 1, 0, 1, 8, "between the halves");
    MPI_Comm_free(&between);
    MPI_Comm_free(&halves);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -me, &turned);
    MPI_Sendrecv(&out, 1, MPI_DOUBLE, me, 0, &in, 1, MPI_DOUBLE, me, 0, turned, MPI_STATUS_IGNORE);
    check(RANKS - 1 - me, 0, 1, 8, "in a world turned round");
    MPI_Comm_free(&turned);
    MPI_Comm_dup(MPI_COMM_SELF, &of_one);
    MPI_Sendrecv(&out, 1, MPI_DOUBLE, 0, 0, &in, 1, MPI_DOUBLE, 0, 0, of_one, MPI_STATUS_IGNORE);
    check(me, 0, 1, 8, "with itself");
    MPI_Comm_free(&of_one);
}

/* Handles come back for other communicators. */
static void test_reused_handles(void)
{
    double out = 0, in;
    int64_t bytes, there, all = 0;
    for (int i = 0; i < 64; i++) {
        MPI_Comm comm;
        int rank;
        MPI_Comm_split(MPI_COMM_WORLD, i % 2 ? me % 2 : me / 2, me, &comm);
        MPI_Comm_rank(comm, &rank);
        MPI_Sendrecv(&out, 1, MPI_DOUBLE, 1 - rank, 0, &in, 1, MPI_DOUBLE, 1 - rank, 0, comm,
                     MPI_STATUS_IGNORE);
        MPI_Comm_free(&comm);
    }
    beside_collect();
    there = messages((me + 2) % RANKS, 0, &bytes);
    is_int(there, 32, "communicators that come and go: 32 messages two ranks away");
    there = messages(me ^ 1, 0, &bytes);
    is_int(there, 32, "and 32 to the neighbour");
    for (int rank = -1; rank < RANKS; rank++)
        all += messages(rank, 0, &bytes);
    is_int(all, 0, "and no others");
}

static void test_windows(void)
{
    int right = (me + 1) % RANKS;
    double *base, out[2] = {0}, in[2];
    MPI_Win win;
    MPI_Win_allocate(4 * sizeof *base, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Win_fence(0, win);
    MPI_Put(out, 2, MPI_DOUBLE, right, 0, 2, MPI_DOUBLE, win);
    MPI_Win_fence(0, win);
    check(right, 0, 1, 16, "MPI_Put");
    MPI_Get(in, 2, MPI_DOUBLE, right, 0, 2, MPI_DOUBLE, win);
    MPI_Win_fence(0, win);
    check(right, 1, 1, 16, "MPI_Get");
    MPI_Accumulate(out, 1, MPI_DOUBLE, right, 0, 1, MPI_DOUBLE, MPI_SUM, win);
    MPI_Win_fence(0, win);
    check(right, 0, 1, 8, "MPI_Accumulate");
    MPI_Fetch_and_op(NULL, in, MPI_DOUBLE, right, 0, MPI_NO_OP, win);
    MPI_Win_fence(0, win);
    check(right, 1, 1, 8, "MPI_Fetch_and_op that only fetches");
    MPI_Put(out, 2, MPI_DOUBLE, MPI_PROC_NULL, 0, 2, MPI_DOUBLE, win);
    MPI_Win_fence(0, win);
    check(right, 0, 0, 0, "MPI_Put to MPI_PROC_NULL");
    MPI_Win_free(&win);
}

static void set_limit(int ranks)
{
    struct rkc_config *config = (struct rkc_config *)(uintptr_t)rkc_private_config();
    config->matrix_peers = ranks;
}

/* Beyond the limit ranks are counted together. */
static void test_limit(void)
{
    double out = 0, in;
    int64_t bytes, apart = 0, together;
    set_limit(3);
    for (int round = 0; round < 2; round++)
        for (int step = 0; step < RANKS; step++)
            MPI_Sendrecv(&out, 1, MPI_DOUBLE, (me + step) % RANKS, 0, &in, 1, MPI_DOUBLE,
                         (me + RANKS - step) % RANKS, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    beside_collect();
    together = messages(-1, 0, &bytes);
    for (int rank = 0; rank < RANKS; rank++)
        apart += messages(rank, 0, &bytes);
    is_int(apart, 6, "with a limit of 3 ranks those have their own messages");
    is_int(together, 2, "and those to the fourth are counted together");
    set_limit(16);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    if (me != 0)
        tap_silence();
    test_limit();
    test_point_to_point();
    test_communicators();
    test_reused_handles();
    test_windows();
    rkc_local_free(&beside);
    counters_end();
    return done_testing();
}
