/* The least an MPI profiler can do for the calls that mpi_bench makes: a node of the call
 * tree, updated between two clock reads. Preloaded under mpi_bench; it knows no requests.
 */
#include "floor_tree.h"

#include <mpi.h>

#pragma GCC visibility push(default)

enum { COMM_RANK, IPROBE, SEND, RECV, ISEND, IRECV, WAITALL, ALLREDUCE, BARRIER, TESTANY };

static inline int ended(int status)
{
    floor_end();
    return status;
}

int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    floor_begin(COMM_RANK);
    return ended(PMPI_Comm_rank(comm, rank));
}

int MPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    floor_begin(IPROBE);
    return ended(PMPI_Iprobe(source, tag, comm, flag, status));
}

int MPI_Send(const void *data, int n, MPI_Datatype type, int dest, int tag, MPI_Comm comm)
{
    floor_begin(SEND);
    return ended(PMPI_Send(data, n, type, dest, tag, comm));
}

int MPI_Recv(void *data, int n, MPI_Datatype type, int source, int tag, MPI_Comm comm,
             MPI_Status *status)
{
    floor_begin(RECV);
    return ended(PMPI_Recv(data, n, type, source, tag, comm, status));
}

int MPI_Isend(const void *data, int n, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    floor_begin(ISEND);
    return ended(PMPI_Isend(data, n, type, dest, tag, comm, request));
}

int MPI_Irecv(void *data, int n, MPI_Datatype type, int source, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    floor_begin(IRECV);
    return ended(PMPI_Irecv(data, n, type, source, tag, comm, request));
}

int MPI_Waitall(int n, MPI_Request *requests, MPI_Status *statuses)
{
    floor_begin(WAITALL);
    return ended(PMPI_Waitall(n, requests, statuses));
}

int MPI_Testany(int n, MPI_Request *requests, int *index, int *flag, MPI_Status *status)
{
    floor_begin(TESTANY);
    return ended(PMPI_Testany(n, requests, index, flag, status));
}

int MPI_Allreduce(const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    floor_begin(ALLREDUCE);
    return ended(PMPI_Allreduce(in, out, n, type, op, comm));
}

int MPI_Barrier(MPI_Comm comm)
{
    floor_begin(BARRIER);
    return ended(PMPI_Barrier(comm));
}
