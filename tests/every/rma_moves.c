/* rma_moves.c - data into windows and out of them, in each kind of epoch. */
#include "autoconf.h"

#include "every.h"

#ifndef EVERY_LARGE
enum { N = 64 };

static int *base;

static MPI_Win window(void)
{
    MPI_Win win;
    PMPI_Win_allocate(N * sizeof *base, sizeof *base, MPI_INFO_NULL, world, &base, &win);
    memset(base, 0, N * sizeof *base);
    PMPI_Barrier(world);
    return win;
}
#endif

PROGRAM(fences)
{
    int out[N] = {0}, in[N];
    MPI_Win win = window();
    CALL(Win_fence, (MPI_MODE_NOPRECEDE, win));
    MOVE(C(Put), (out, 3, MPI_INT, right, 0, 3, MPI_INT, win), 12, 0);
    MESSAGE(right, 12);
    CALL(Win_fence, (0, win));
    MOVE(C(Get), (in, 5, MPI_INT, left, 8, 5, MPI_INT, win), 0, 20);
    FETCHED(left, 20);
    CALL(Win_fence, (0, win));
    MOVE(C(Accumulate), (out, 2, MPI_INT, right, 16, 2, MPI_INT, MPI_SUM, win), 8, 0);
    MESSAGE(right, 8);
    CALL(Win_fence, (0, win));
    MOVE(C(Put), (out, 3, MPI_INT, MPI_PROC_NULL, 0, 3, MPI_INT, win), 0, 0);
    MOVE(C(Get), (in, 3, MPI_INT, MPI_PROC_NULL, 0, 3, MPI_INT, win), 0, 0);
    MOVE(C(Put), (out, 1, MPI_INT, me, 0, 1, MPI_INT, win), 4, 0);
    MESSAGE(me, 4);
    CALL(Win_fence, (MPI_MODE_NOSUCCEED, win));
    PMPI_Win_free(&win);
}

/* Exposed to the left, with access to the right. */
PROGRAM(posts_and_starts)
{
    int out[N] = {0}, done = 0;
    MPI_Group all, to, from;
    MPI_Win win = window();
    PMPI_Comm_group(world, &all);
    PMPI_Group_incl(all, 1, &right, &to);
    PMPI_Group_incl(all, 1, &left, &from);
    for (int round = 0; round < 2; round++) {
        CALL(Win_post, (from, 0, win));
        CALL(Win_start, (to, 0, win));
        MOVE(C(Put), (out, 2, MPI_INT, right, 0, 2, MPI_INT, win), 8, 0);
        MESSAGE(right, 8);
        CALL(Win_complete, (win));
        if (round == 0)
            CALL(Win_wait, (win));
        else
            while (!done)
                CALL(Win_test, (win, &done));
    }
    PMPI_Group_free(&all);
    PMPI_Group_free(&to);
    PMPI_Group_free(&from);
    PMPI_Win_free(&win);
}

PROGRAM(locks)
{
    int out[N] = {0}, in[N];
    MPI_Win win = window();
    CALL(Win_lock, (MPI_LOCK_EXCLUSIVE, right, 0, win));
    MOVE(C(Put), (out, 1, MPI_INT, right, 0, 1, MPI_INT, win), 4, 0);
    MESSAGE(right, 4);
    CALL(Win_flush, (right, win));
    CALL(Win_flush_local, (right, win));
    CALL(Win_unlock, (right, win));
    CALL(Win_lock_all, (0, win));
    MOVE(C(Get), (in, 2, MPI_INT, left, 4, 2, MPI_INT, win), 0, 8);
    FETCHED(left, 8);
    CALL(Win_flush_local_all, (win));
    CALL(Win_flush_all, (win));
    CALL(Win_sync, (win));
    CALL(Win_unlock_all, (win));
    PMPI_Win_free(&win);
}

/* With MPI_NO_OP the origin's arguments are not significant: they are nothing that could be read.
 */
PROGRAM(fetches)
{
    int out[N] = {0}, in[N], none = 0;
    double *nowhere = NULL;
    MPI_Win win = window();
    PMPI_Win_lock_all(0, win);
    MOVE(C(Get_accumulate), (out, 2, MPI_INT, in, 2, MPI_INT, right, 0, 2, MPI_INT, MPI_SUM, win),
         8, 8);
    MESSAGE(right, 8);
    FETCHED(right, 8);
    MOVE(C(Get_accumulate),
         (nowhere, 0, MPI_INT, in, 4, MPI_INT, left, 0, 4, MPI_INT, MPI_NO_OP, win), 0, 16);
    FETCHED(left, 16);
    MOVE(Fetch_and_op, (out, in, MPI_INT, right, 8, MPI_SUM, win), 4, 4);
    MESSAGE(right, 4);
    FETCHED(right, 4);
    MOVE(Fetch_and_op, (nowhere, in, MPI_INT, right, 8, MPI_NO_OP, win), 0, 4);
    FETCHED(right, 4);
    MOVE(Compare_and_swap, (out, &none, in, MPI_INT, left, 12, win), 8, 4);
    MESSAGE(left, 8);
    FETCHED(left, 4);
    MOVE(Compare_and_swap, (out, &none, in, MPI_INT, MPI_PROC_NULL, 12, win), 0, 0);
    MOVE(Fetch_and_op, (out, in, MPI_INT, MPI_PROC_NULL, 8, MPI_SUM, win), 0, 0);
    PMPI_Win_unlock_all(win);
    PMPI_Win_free(&win);
}

PROGRAM(window_requests)
{
    int out[N] = {0}, in[N], in2[N];
    MPI_Request requests[4];
    MPI_Win win = window();
    PMPI_Win_lock_all(0, win);
    POST(C(Rput), (out, 1, MPI_INT, right, 0, 1, MPI_INT, win, &requests[0]), 4, 0);
    MESSAGE(right, 4);
    POST(C(Rget), (in, 2, MPI_INT, left, 4, 2, MPI_INT, win, &requests[1]), 0, 8);
    FETCHED(left, 8);
    POST(C(Raccumulate), (out, 3, MPI_INT, right, 8, 3, MPI_INT, MPI_SUM, win, &requests[2]), 12,
         0);
    MESSAGE(right, 12);
    POST(C(Rget_accumulate),
         (out, 4, MPI_INT, in2, 4, MPI_INT, left, 16, 4, MPI_INT, MPI_SUM, win, &requests[3]), 16,
         16);
    MESSAGE(left, 16);
    FETCHED(left, 16);
    CALL(Waitall, (4, requests, MPI_STATUSES_IGNORE));
    POST(C(Rput), (out, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win, &requests[0]), 0, 0);
    POST(C(Rget), (in, 2, MPI_INT, MPI_PROC_NULL, 4, 2, MPI_INT, win, &requests[1]), 0, 0);
    CALL(Waitall, (2, requests, MPI_STATUSES_IGNORE));
    PMPI_Win_unlock_all(win);
    PMPI_Win_free(&win);
}

/* Ranks of a window are those of its communicator: turned round here. */
PROGRAM(other_ranks)
{
    int out[N] = {0}, in[N], there, beside;
    MPI_Comm turned;
    MPI_Win win;
    PMPI_Comm_split(world, 0, -me, &turned);
    PMPI_Comm_rank(turned, &there);
    beside = (there + 1) % RANKS;
    PMPI_Win_allocate(N * sizeof *base, sizeof *base, MPI_INFO_NULL, turned, &base, &win);
    PMPI_Win_fence(0, win);
    MOVE(C(Put), (out, 3, MPI_INT, beside, 0, 3, MPI_INT, win), 12, 0);
    MESSAGE(RANKS - 1 - beside, 12);
    MOVE(C(Get), (in, 4, MPI_INT, beside, 8, 4, MPI_INT, win), 0, 16);
    FETCHED(RANKS - 1 - beside, 16);
    PMPI_Win_fence(0, win);
    PMPI_Win_free(&win);
    PMPI_Comm_free(&turned);
}

PROGRAMS(moves) = {
    P(fences),          P(posts_and_starts), P(locks),     P(fetches),
    P(window_requests), P(other_ranks),      {NULL, NULL},
};

#if defined RKC_HAVE_MPI_LARGE_COUNT && !defined EVERY_LARGE
#define EVERY_LARGE
#include "rma_moves.c"
#endif
