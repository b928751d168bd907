/* p2p_blocking.c - sends and receives that block, and probes. */
#include "autoconf.h"

#include "every.h"

#ifndef EVERY_LARGE
enum { N = 16 };

/* A datatype of two doubles 64 bytes apart: 16 bytes, an extent of 72. */
static MPI_Datatype gapped(void)
{
    MPI_Datatype type;
    PMPI_Type_vector(2, 1, 8, MPI_DOUBLE, &type);
    PMPI_Type_commit(&type);
    return type;
}
#endif

/* Receives wait for all four: a ready send needs its own. */
PROGRAM(send_modes)
{
    int out[N] = {0}, in[4][N];
    COUNT size;
    static char room[1000 + MPI_BSEND_OVERHEAD];
    void *was;
    MPI_Request receives[4];
    for (int tag = 0; tag < 4; tag++)
        PMPI_Irecv(in[tag], N, MPI_INT, left, tag, world, &receives[tag]);
    PMPI_Barrier(world);
    CALL(C(Buffer_attach), (room, sizeof room));
    MOVE(C(Send), (out, 1, MPI_INT, right, 0, world), 4, 0);
    MOVE(C(Bsend), (out, 2, MPI_INT, right, 1, world), 8, 0);
    MOVE(C(Rsend), (out, 3, MPI_INT, right, 2, world), 12, 0);
    MOVE(C(Ssend), (out, 16, MPI_INT, right, 3, world), 64, 0);
    CALL(C(Buffer_detach), (&was, &size));
    CHECK(was == room && size == sizeof room);
    MESSAGE(right, 4);
    MESSAGE(right, 8);
    MESSAGE(right, 12);
    MESSAGE(right, 64);
    PMPI_Waitall(4, receives, MPI_STATUSES_IGNORE);
}

/* Count times size, not extent; and nothing is one operation, too. */
PROGRAM(send_datatypes)
{
    double out[N * N] = {0}, in[N * N];
    MPI_Datatype type = gapped();
    MPI_Request receives[3];
    PMPI_Irecv(in, 3, type, left, 0, world, &receives[0]);
    PMPI_Irecv(in, 0, type, left, 1, world, &receives[1]);
    PMPI_Irecv(in, 9, MPI_CHAR, me, 2, world, &receives[2]);
    MOVE(C(Send), (out, 3, type, right, 0, world), 48, 0);
    MOVE(C(Send), (out, 0, type, right, 1, world), 0, 0);
    MOVE(C(Send), (out, 9, MPI_CHAR, me, 2, world), 9, 0);
    MESSAGE(right, 48);
    MESSAGE(right, 0);
    MESSAGE(me, 9);
    PMPI_Waitall(3, receives, MPI_STATUSES_IGNORE);
    PMPI_Type_free(&type);
}

/* What arrived, not what there was room for. */
PROGRAM(receives)
{
    int out[N] = {0}, in[N];
    MPI_Status status;
    MPI_Request sends[3];
    PMPI_Isend(out, 1, MPI_INT, right, 0, world, &sends[0]);
    PMPI_Isend(out, 5, MPI_INT, right, 1, world, &sends[1]);
    PMPI_Isend(out, 0, MPI_INT, right, 2, world, &sends[2]);
    MOVE(C(Recv), (in, N, MPI_INT, left, 0, world, MPI_STATUS_IGNORE), 0, 4);
    MOVE(C(Recv), (in, N, MPI_INT, MPI_ANY_SOURCE, 1, world, &status), 0, 20);
    CHECK(status.MPI_SOURCE == left);
    MOVE(C(Recv), (in, N, MPI_INT, left, MPI_ANY_TAG, world, &status), 0, 0);
    PMPI_Waitall(3, sends, MPI_STATUSES_IGNORE);
}

PROGRAM(exchanges)
{
    int out[N] = {0}, in[N];
    MPI_Status status;
    MOVE(C(Sendrecv), (out, 2, MPI_INT, right, 0, in, N, MPI_INT, left, 0, world, &status), 8, 8);
    MESSAGE(right, 8);
    MOVE(C(Sendrecv),
         (out, me, MPI_INT, right, 0, in, N, MPI_INT, left, 0, world, MPI_STATUS_IGNORE), 4 * me,
         4 * left);
    MESSAGE(right, 4 * me);
    MOVE(C(Sendrecv_replace), (out, 5, MPI_INT, left, 1, right, 1, world, MPI_STATUS_IGNORE), 20,
         20);
    MESSAGE(left, 20);
}

PROGRAM(with_nobody)
{
    int out[N] = {0}, in[N];
    MPI_Status status;
    MOVE(C(Send), (out, N, MPI_INT, MPI_PROC_NULL, 0, world), 0, 0);
    MOVE(C(Recv), (in, N, MPI_INT, MPI_PROC_NULL, 0, world, &status), 0, 0);
    MOVE(C(Sendrecv),
         (out, N, MPI_INT, MPI_PROC_NULL, 0, in, N, MPI_INT, MPI_PROC_NULL, 0, world, &status), 0,
         0);
    CALL(Probe, (MPI_PROC_NULL, 0, world, &status));
}

PROGRAM(probes)
{
    int out[N] = {0}, in[N], flag = 0;
    MPI_Status status;
    MPI_Message message;
    MPI_Request sends[4];
    for (int tag = 0; tag < 4; tag++)
        PMPI_Isend(out, tag + 1, MPI_INT, right, tag, world, &sends[tag]);
    CALL(Probe, (left, 0, world, &status));
    MOVE(C(Recv), (in, N, MPI_INT, left, 0, world, &status), 0, 4);
    while (!flag)
        CALL(Iprobe, (left, 1, world, &flag, MPI_STATUS_IGNORE));
    MOVE(C(Recv), (in, N, MPI_INT, left, 1, world, &status), 0, 8);
    CALL(Mprobe, (left, 2, world, &message, MPI_STATUS_IGNORE));
    MOVE(C(Mrecv), (in, N, MPI_INT, &message, MPI_STATUS_IGNORE), 0, 12);
    for (flag = 0; !flag;)
        CALL(Improbe, (left, 3, world, &flag, &message, &status));
    MOVE(C(Mrecv), (in, N, MPI_INT, &message, &status), 0, 16);
    CALL(Mprobe, (MPI_PROC_NULL, 0, world, &message, &status));
    MOVE(C(Mrecv), (in, N, MPI_INT, &message, &status), 0, 0);
    PMPI_Waitall(4, sends, MPI_STATUSES_IGNORE);
}

/* A call that fails is counted, and moves nothing. */
PROGRAM(refused_calls)
{
    int out[N] = {0}, in[N];
    MPI_Status status;
    REFUSED(C(Send), (out, N, MPI_INT, RANKS, 0, world));
    REFUSED(C(Ssend), (out, -1, MPI_INT, right, 0, world));
    REFUSED(C(Recv), (in, N, MPI_DATATYPE_NULL, left, 0, world, &status));
    REFUSED(C(Sendrecv), (out, N, MPI_INT, RANKS, 0, in, N, MPI_INT, left, 0, world, &status));
}

PROGRAMS(blocking) = {
    P(send_modes),  P(send_datatypes), P(receives),      P(exchanges),
    P(with_nobody), P(probes),         P(refused_calls), {NULL, NULL},
};

#if defined RKC_HAVE_MPI_LARGE_COUNT && !defined EVERY_LARGE
#define EVERY_LARGE
#include "p2p_blocking.c"
#endif
