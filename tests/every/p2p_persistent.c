/* p2p_persistent.c - persistent and partitioned requests. */
#include "autoconf.h"

#include "every.h"

#ifndef EVERY_LARGE
enum { N = 16 };
#endif

/* What they move is booked to the calls that start them, each time. */
PROGRAM(persistent_requests)
{
    int out[N] = {0}, in[4][N];
    static char room[1000 + MPI_BSEND_OVERHEAD];
    void *was;
    int size;
    MPI_Request receives[4], sends[4];
    PMPI_Buffer_attach(room, sizeof room);
    for (int tag = 0; tag < 4; tag++)
        CALL(C(Recv_init), (in[tag], N, MPI_INT, left, tag, world, &receives[tag]));
    CALL(C(Send_init), (out, 1, MPI_INT, right, 0, world, &sends[0]));
    CALL(C(Bsend_init), (out, 2, MPI_INT, right, 1, world, &sends[1]));
    CALL(C(Rsend_init), (out, 3, MPI_INT, right, 2, world, &sends[2]));
    CALL(C(Ssend_init), (out, 4, MPI_INT, right, 3, world, &sends[3]));
    for (int round = 0; round < 2; round++) {
        CALL(Startall, (4, receives));
        PMPI_Barrier(world);
        for (int i = 0; i < 4; i++) {
            ALSO(Startall, 0, 4 * (i + 1));
            COMPLETED(Startall, 1);
            POST(Start, (&sends[i]), 4 * (i + 1), 0);
            MESSAGE(right, 4 * (i + 1));
        }
        CALL(Waitall, (4, receives, MPI_STATUSES_IGNORE));
        CALL(Waitall, (4, sends, MPI_STATUSES_IGNORE));
    }
    for (int i = 0; i < 4; i++) {
        CALL(Request_free, (&receives[i]));
        CALL(Request_free, (&sends[i]));
    }
    PMPI_Buffer_detach(&was, &size);
}

PROGRAM(persistent_with_nobody)
{
    int out[N] = {0}, in[N];
    MPI_Request requests[2];
    CALL(C(Send_init), (out, N, MPI_INT, MPI_PROC_NULL, 0, world, &requests[0]));
    CALL(C(Recv_init), (in, N, MPI_INT, MPI_PROC_NULL, 0, world, &requests[1]));
    for (int round = 0; round < 2; round++) {
        CALL(Startall, (2, requests));
        for (int i = 0; i < 2; i++)
            ALSO(Startall, 0, 0);
        COMPLETED(Startall, 2);
        CALL(Waitall, (2, requests, MPI_STATUSES_IGNORE));
    }
    CALL(Request_free, (&requests[0]));
    CALL(Request_free, (&requests[1]));
}

#if defined RKC_HAVE_MPI_PARTITIONED && !defined EVERY_LARGE
/* Four partitions of three numbers. */
PROGRAM(partitioned)
{
    int out[12] = {0}, in[12], flag = 0;
    const int listed[] = {0};
    MPI_Request send, receive;
    CALL(Psend_init, (out, 4, 3, MPI_INT, right, 0, world, MPI_INFO_NULL, &send));
    CALL(Precv_init, (in, 4, 3, MPI_INT, left, 0, world, MPI_INFO_NULL, &receive));
    POST(Start, (&receive), 0, 48);
    POST(Start, (&send), 48, 0);
    MESSAGE(right, 48);
    CALL(Pready, (3, send));
    CALL(Pready_range, (1, 2, send));
    CALL(Pready_list, (1, (void *)(uintptr_t)listed, send));
    while (!flag)
        CALL(Parrived, (receive, 1, &flag));
    CALL(Wait, (&send, MPI_STATUS_IGNORE));
    CALL(Wait, (&receive, MPI_STATUS_IGNORE));
    CALL(Request_free, (&send));
    CALL(Request_free, (&receive));
}
#endif

PROGRAMS(persistent) = {
    P(persistent_requests),
    P(persistent_with_nobody),
#if defined RKC_HAVE_MPI_PARTITIONED && !defined EVERY_LARGE
    P(partitioned),
#endif
    {NULL, NULL},
};

#if defined RKC_HAVE_MPI_LARGE_COUNT && !defined EVERY_LARGE
#define EVERY_LARGE
#include "p2p_persistent.c"
#endif
