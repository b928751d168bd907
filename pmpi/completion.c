/* completion.c - the calls that start, await, cancel and free requests. */
#include "autoconf.h"

#include "next.h"
#include "watch.h"

#define OWN_STATUS(key, status) ((key) && (status) == MPI_STATUS_IGNORE ? &call.status : (status))

static inline struct rkc_handles handles_of(const MPI_Request *requests)
{
    return (struct rkc_handles){.first = requests};
}

/* ---- one request ---- */

RKC_API int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    struct rkc_mpi_call call;
    uint64_t key = rkc_watch_one(handles_of(request));
    MPI_Status *used = OWN_STATUS(key, status);
    rkc_mpi_enter(&call, RKC_MPI_FUNCTION(Wait));
    int rc = RKC_MPI_NEXT(Wait)(request, used);
    rkc_mpi_leave(&call, RKC_MPI_FUNCTION(Wait));
    if (rc == MPI_SUCCESS)
        rkc_watch_completed(&call, key, used);
    else if (key)
        rkc_watch_failed(key, *request);
    return rc;
}

/* ---- many requests ---- */

RKC_API int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
    struct rkc_mpi_call call;
    struct rkc_watch watch;
    rkc_watch_begin(&watch, count, handles_of(requests), statuses);
    rkc_mpi_enter(&call, RKC_MPI_FUNCTION(Waitall));
    int rc = RKC_MPI_NEXT(Waitall)(count, requests, watch.statuses);
    rkc_mpi_leave(&call, RKC_MPI_FUNCTION(Waitall));
    rkc_watch_all(&watch, &call, rc);
    return rc;
}

RKC_API int MPI_Waitany(int count, MPI_Request requests[], int *index, MPI_Status *status)
{
    struct rkc_mpi_call call;
    struct rkc_watch watch;
    rkc_watch_begin(&watch, count, handles_of(requests), status);
    rkc_mpi_enter(&call, RKC_MPI_FUNCTION(Waitany));
    int rc = RKC_MPI_NEXT(Waitany)(count, requests, index, watch.statuses);
    rkc_mpi_leave(&call, RKC_MPI_FUNCTION(Waitany));
    rkc_watch_any(&watch, &call, rc, watch.n ? *index : MPI_UNDEFINED);
    return rc;
}

RKC_API int MPI_Waitsome(int incount, MPI_Request requests[], int *outcount, int indices[],
                         MPI_Status statuses[])
{
    struct rkc_mpi_call call;
    struct rkc_watch watch;
    rkc_watch_begin(&watch, incount, handles_of(requests), statuses);
    rkc_mpi_enter(&call, RKC_MPI_FUNCTION(Waitsome));
    int rc = RKC_MPI_NEXT(Waitsome)(incount, requests, outcount, indices, watch.statuses);
    rkc_mpi_leave(&call, RKC_MPI_FUNCTION(Waitsome));
    rkc_watch_some(&watch, &call, rc, watch.n ? *outcount : 0, indices);
    return rc;
}

/* ---- starting, cancelling, freeing ---- */

RKC_API int MPI_Start(MPI_Request *request)
{
    struct rkc_mpi_call call;
    rkc_mpi_enter(&call, RKC_MPI_FUNCTION(Start));
    int rc = RKC_MPI_NEXT(Start)(request);
    rkc_mpi_leave(&call, RKC_MPI_FUNCTION(Start));
    rkc_watch_started(&call, rc, handles_of(request), 0);
    return rc;
}

RKC_API int MPI_Startall(int count, MPI_Request requests[])
{
    struct rkc_mpi_call call;
    rkc_mpi_enter(&call, RKC_MPI_FUNCTION(Startall));
    int rc = RKC_MPI_NEXT(Startall)(count, requests);
    rkc_mpi_leave(&call, RKC_MPI_FUNCTION(Startall));
    for (int i = 0; i < count; i++)
        rkc_watch_started(&call, rc, handles_of(requests), i);
    return rc;
}

RKC_API int MPI_Cancel(MPI_Request *request)
{
    struct rkc_mpi_call call;
    uint64_t key = rkc_watch_one(handles_of(request));
    rkc_mpi_enter(&call, RKC_MPI_FUNCTION(Cancel));
    int rc = RKC_MPI_NEXT(Cancel)(request);
    rkc_mpi_leave(&call, RKC_MPI_FUNCTION(Cancel));
    if (rc == MPI_SUCCESS && key)
        rkc_request_cancel(key);
    return rc;
}

RKC_API int MPI_Request_free(MPI_Request *request)
{
    struct rkc_mpi_call call;
    struct rkc_request was;
    uint64_t key = rkc_watch_freeing(handles_of(request), &was);
    rkc_mpi_enter(&call, RKC_MPI_FUNCTION(Request_free));
    int rc = RKC_MPI_NEXT(Request_free)(request);
    rkc_mpi_leave(&call, RKC_MPI_FUNCTION(Request_free));
    rkc_watch_freed(key, &was, rc);
    return rc;
}
