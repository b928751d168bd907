/* p2p_requests.c - nonblocking point-to-point calls, and each way to complete a request. */
#include "autoconf.h"

#include "every.h"

#ifndef EVERY_LARGE
enum { N = 16 };
#endif

PROGRAM(nonblocking_sends)
{
    int out[N] = {0}, in[4][N];
    static char room[1000 + MPI_BSEND_OVERHEAD];
    void *was;
    int size;
    MPI_Request requests[8];
    PMPI_Buffer_attach(room, sizeof room);
    for (int tag = 0; tag < 4; tag++)
        POST(C(Irecv), (in[tag], N, MPI_INT, left, tag, world, &requests[tag]), 0, 4 * (tag + 1));
    PMPI_Barrier(world);
    POST(C(Isend), (out, 1, MPI_INT, right, 0, world, &requests[4]), 4, 0);
    POST(C(Ibsend), (out, 2, MPI_INT, right, 1, world, &requests[5]), 8, 0);
    POST(C(Irsend), (out, 3, MPI_INT, right, 2, world, &requests[6]), 12, 0);
    POST(C(Issend), (out, 4, MPI_INT, right, 3, world, &requests[7]), 16, 0);
    for (int n = 1; n <= 4; n++)
        MESSAGE(right, 4 * n);
    CALL(Waitall, (8, requests, MPI_STATUSES_IGNORE));
    PMPI_Buffer_detach(&was, &size);
}

/* Nobody completes it: it is a message all the same. */
PROGRAM(freed_send)
{
    int out[N] = {0}, in[N];
    MPI_Request send, receive;
    PMPI_Irecv(in, N, MPI_INT, left, 0, world, &receive);
    MOVE(C(Isend), (out, 3, MPI_INT, right, 0, world, &send), 12, 0);
    MESSAGE(right, 12);
    CALL(Request_free, (&send));
    PMPI_Wait(&receive, MPI_STATUS_IGNORE);
}

/* It completes, but nothing has arrived. */
PROGRAM(cancelled_receive)
{
    int in[N], cancelled = 0;
    MPI_Status status;
    MPI_Request request;
    CALL(C(Irecv), (in, N, MPI_INT, left, 0, world, &request));
    COMPLETED(C(Irecv), 1);
    CALL(Cancel, (&request));
    CALL(Wait, (&request, &status));
    CALL(Test_cancelled, (&status, &cancelled));
    CHECK(cancelled);
}

PROGRAM(matched_request)
{
    int out[N] = {0}, in[N];
    MPI_Message message;
    MPI_Request send, receive;
    PMPI_Isend(out, 7, MPI_INT, right, 0, world, &send);
    CALL(Mprobe, (MPI_ANY_SOURCE, 0, world, &message, MPI_STATUS_IGNORE));
    POST(C(Imrecv), (in, N, MPI_INT, &message, &receive), 0, 28);
    CALL(Wait, (&receive, MPI_STATUS_IGNORE));
    CALL(Mprobe, (MPI_PROC_NULL, 0, world, &message, MPI_STATUS_IGNORE));
    POST(C(Imrecv), (in, N, MPI_INT, &message, &receive), 0, 0);
    CALL(Wait, (&receive, MPI_STATUS_IGNORE));
    PMPI_Wait(&send, MPI_STATUS_IGNORE);
}

#ifndef EVERY_LARGE
/* Receives of 4 bytes each, and sends of nobody's business. */
static void receive_from_left(MPI_Request *requests, int (*in)[N], MPI_Request *sends)
{
    static const int out[N];
    for (int i = 0; i < 3; i++) {
        PMPI_Isend(out, 1, MPI_INT, right, i, world, &sends[i]);
        POST(Irecv, (in[i], N, MPI_INT, left, i, world, &requests[i]), 0, 4);
    }
}
#endif

PROGRAM(wait_calls)
{
    int in[3][N], index, n, indices[3];
    MPI_Status statuses[3];
    MPI_Request requests[3], sends[3];
    receive_from_left(requests, in, sends);
    CALL(Wait, (&requests[0], &statuses[0]));
    CALL(Waitany, (3, requests, &index, MPI_STATUS_IGNORE));
    CHECK(index == 1 || index == 2);
    CALL(Waitsome, (3, requests, &n, indices, statuses));
    CHECK(n == 1);
    PMPI_Waitall(3, sends, MPI_STATUSES_IGNORE);
    receive_from_left(requests, in, sends);
    CALL(Waitall, (3, requests, statuses));
    PMPI_Waitall(3, sends, MPI_STATUSES_IGNORE);
    CALL(Waitany, (3, requests, &index, MPI_STATUS_IGNORE));
    CHECK(index == MPI_UNDEFINED);
    CALL(Waitsome, (3, requests, &n, indices, MPI_STATUSES_IGNORE));
    CHECK(n == MPI_UNDEFINED);
}

PROGRAM(test_calls)
{
    int in[3][N], index, n, indices[3], flag;
    MPI_Status status;
    MPI_Request requests[3], sends[3];
    receive_from_left(requests, in, sends);
    for (flag = 0; !flag;)
        CALL(Request_get_status, (requests[0], &flag, &status));
    for (flag = 0; !flag;)
        CALL(Test, (&requests[0], &flag, MPI_STATUS_IGNORE));
    for (flag = 0; !flag;)
        CALL(Testany, (3, requests, &index, &flag, MPI_STATUS_IGNORE));
    for (n = 0; n == 0;)
        CALL(Testsome, (3, requests, &n, indices, MPI_STATUSES_IGNORE));
    CHECK(n == 1);
    PMPI_Waitall(3, sends, MPI_STATUSES_IGNORE);
    receive_from_left(requests, in, sends);
    for (flag = 0; !flag;)
        CALL(Testall, (3, requests, &flag, MPI_STATUSES_IGNORE));
    PMPI_Waitall(3, sends, MPI_STATUSES_IGNORE);
}

#ifdef RKC_HAVE_MPI_ISENDRECV
/* With MPICH what arrived is not known, and taken for the room there was (MPIR_Isendrecv_impl). */
PROGRAM(nonblocking_exchanges)
{
    int out[N] = {0}, in[N];
    MPI_Request requests[2];
    POST(C(Isendrecv), (out, 3, MPI_INT, right, 0, in, 5, MPI_INT, left, 0, world, &requests[0]),
         12, every_is("MPICH") ? 20 : 12);
    POST(C(Isendrecv_replace), (out, 2, MPI_INT, left, 1, right, 1, world, &requests[1]), 8, 8);
    MESSAGE(right, 12);
    MESSAGE(left, 8);
    CALL(Waitall, (2, requests, MPI_STATUSES_IGNORE));
}

/* From rank 0 to 1, and from 2 to 3. */
PROGRAM(exchanges_of_one_way)
{
    int out[N] = {0}, in[N], sends = me % 2 == 0, other = sends ? right : left;
    int to = sends ? other : MPI_PROC_NULL, from = sends ? MPI_PROC_NULL : other;
    MPI_Request requests[2];
    POST(C(Isendrecv), (out, 3, MPI_INT, to, 0, in, N, MPI_INT, from, 0, world, &requests[0]),
         sends ? 12 : 0, sends ? 0 : 12);
    POST(C(Isendrecv_replace), (out, 4, MPI_INT, to, 1, from, 1, world, &requests[1]),
         sends ? 16 : 0, sends ? 0 : 16);
    if (sends) {
        MESSAGE(other, 12);
        MESSAGE(other, 16);
    }
    CALL(Waitall, (2, requests, MPI_STATUSES_IGNORE));
}
#endif

PROGRAM(requests_with_nobody)
{
    int out[N] = {0}, in[N];
    MPI_Request requests[2];
    POST(C(Isend), (out, N, MPI_INT, MPI_PROC_NULL, 0, world, &requests[0]), 0, 0);
    POST(C(Irecv), (in, N, MPI_INT, MPI_PROC_NULL, 0, world, &requests[1]), 0, 0);
    CALL(Waitall, (2, requests, MPI_STATUSES_IGNORE));
}

PROGRAMS(requests) = {
    P(nonblocking_sends),
    P(freed_send),
    P(cancelled_receive),
    P(matched_request),
    P(wait_calls),
    P(test_calls),
#ifdef RKC_HAVE_MPI_ISENDRECV
    P(nonblocking_exchanges),
    P(exchanges_of_one_way),
#endif
    P(requests_with_nobody),
    {NULL, NULL},
};

#if defined RKC_HAVE_MPI_LARGE_COUNT && !defined EVERY_LARGE
#define EVERY_LARGE
#include "p2p_requests.c"
#endif
