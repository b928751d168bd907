/* completion.c - the calls that start, complete, cancel and free requests.
 *
 * What one gets wrong here: a completing call clears the handles, so that they are read before
 * it; and the table must be kept right by calls that are not recorded, too, for MPI gives a
 * completed request's handle to the next.
 */
#include "autoconf.h"

#include "next.h"
#include "request.h"

#include <stdlib.h>
#include <string.h>

/* Whether a completing call may find requests of ours. */
static inline int tracking(void)
{
    return atomic_load_explicit(&rkc_requests_active, memory_order_relaxed) &&
           rkc_private_recording();
}

static inline int holding(void)
{
    return atomic_load_explicit(&rkc_requests_held, memory_order_relaxed) &&
           rkc_private_recording();
}

static uint64_t end_of(const struct rkc_mpi_call *call)
{
    return call->thread ? call->end : rkc_clock_ticks();
}

/* ---- one request ---- */

static inline uint64_t watch_one(const MPI_Request *request)
{
    return tracking() && request ? rkc_request_key(*request) : 0;
}

/* A request was completed by a call that takes one. */
static void complete_one(const struct rkc_mpi_call *call, uint64_t key, const MPI_Status *status)
{
    struct rkc_request request;
    if (!key || !rkc_request_complete(key, &request))
        return;
    rkc_request_book(&request, status, end_of(call));
    if (call->thread) {
        struct rkc_traffic *traffic = rkc_image_at(call->thread->base, request.traffic);
        rkc_traffic_add(&traffic->blocked, call->end - call->begin);
    }
}

/* A completing call has failed; the request may have ended with it. */
static void fail_one(uint64_t key, MPI_Request left)
{
    struct rkc_request request;
    if (key && left == MPI_REQUEST_NULL)
        rkc_request_forget(key, &request);
}

#define OWN_STATUS(key, status) ((key) && (status) == MPI_STATUS_IGNORE ? &call.status : (status))

RKC_API int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    struct rkc_mpi_call call;
    uint64_t key = watch_one(request);
    MPI_Status *used = OWN_STATUS(key, status);
    rkc_mpi_enter(&call, RKC_MPI_FUNCTION(Wait));
    int rc = rkc_mpi_next.Wait(request, used);
    rkc_mpi_leave(&call, RKC_MPI_FUNCTION(Wait));
    if (rc == MPI_SUCCESS)
        complete_one(&call, key, used);
    else if (key)
        fail_one(key, *request);
    return rc;
}

RKC_API int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    struct rkc_mpi_call call;
    uint64_t key = watch_one(request);
    MPI_Status *used = OWN_STATUS(key, status);
    rkc_mpi_enter(&call, RKC_MPI_FUNCTION(Test));
    int rc = rkc_mpi_next.Test(request, flag, used);
    rkc_mpi_leave(&call, RKC_MPI_FUNCTION(Test));
    if (rc != MPI_SUCCESS) {
        if (key)
            fail_one(key, *request);
    } else if (*flag) {
        complete_one(&call, key, used);
    }
    return rc;
}

/* ---- many requests ---- */

enum { FEW = 32 };

/* What has to be known of the requests of a call after it. */
struct watch {
    int n;                /* 0: nothing to be done */
    uint64_t *keys;
    uint32_t *completed;  /* units of the counters of those of ours that it completed */
    int n_completed;
    MPI_Status *statuses; /* to be given to MPI */
    void *memory;         /* where the three are if they are many */
    struct rkc_thread *thread;
    uint64_t few_keys[FEW];
    uint32_t few_completed[FEW];
    MPI_Status few_statuses[FEW];
};

/* A thread's memory for many requests; taken away from the thread while in use, since a
 * callback inside the call may wait for requests, too. */
struct buffer {
    size_t bytes;
    max_align_t data[];
};

static struct buffer *take_buffer(struct rkc_thread *thread, size_t bytes)
{
    struct buffer *buffer = thread ? thread->mpi : NULL;
    if (thread)
        thread->mpi = NULL;
    if (buffer && buffer->bytes >= bytes)
        return buffer;
    free(buffer);
    bytes += bytes / 2;
    buffer = malloc(sizeof *buffer + bytes);
    if (buffer)
        buffer->bytes = bytes;
    return buffer;
}

static void give_buffer(struct rkc_thread *thread, struct buffer *buffer)
{
    if (thread && !thread->mpi)
        thread->mpi = buffer;
    else
        free(buffer);
}

/* Find memory for `n` requests; without it the call goes unwatched. */
static int make_room(struct watch *watch, int n)
{
    watch->memory = NULL;
    watch->keys = watch->few_keys;
    watch->completed = watch->few_completed;
    watch->statuses = watch->few_statuses;
    if (n <= FEW)
        return 1;
    size_t one = sizeof *watch->keys + sizeof *watch->statuses + sizeof *watch->completed;
    struct buffer *buffer = take_buffer(watch->thread, (size_t)n * one);
    if (!buffer)
        return 0;
    watch->memory = buffer;
    watch->keys = (uint64_t *)buffer->data;
    watch->statuses = (MPI_Status *)(watch->keys + n);
    watch->completed = (uint32_t *)(watch->statuses + n);
    return 1;
}

/* Look at the handles before a call. Its statuses go to `given` if the program wants them. */
static void watch_many(struct watch *watch, int n, const MPI_Request *requests, MPI_Status *given)
{
    watch->n = 0;
    watch->n_completed = 0;
    watch->statuses = given;
    if (n <= 0 || !requests || !tracking())
        return;
    watch->thread = rkc_thread_own();
    if (!make_room(watch, n)) {
        watch->statuses = given;
        return;
    }
    watch->n = n;
    for (int i = 0; i < n; i++)
        watch->keys[i] = rkc_request_key(requests[i]);
    if (given != MPI_STATUSES_IGNORE)
        watch->statuses = given;
}

static void complete(struct watch *watch, int i, const MPI_Status *status, uint64_t now)
{
    struct rkc_request request;
    if (i < 0 || i >= watch->n || !watch->keys[i] ||
        !rkc_request_complete(watch->keys[i], &request))
        return;
    rkc_request_book(&request, status, now);
    watch->completed[watch->n_completed++] = request.traffic;
}

/* The i-th request was given back by a call with result `rc`, its status being `status`. */
static void complete_if_good(struct watch *watch, int i, int rc, const MPI_Request *requests,
                             const MPI_Status *status, uint64_t now)
{
    if (rc == MPI_SUCCESS || status->MPI_ERROR == MPI_SUCCESS)
        complete(watch, i, status, now);
    else if (i >= 0 && i < watch->n)
        fail_one(watch->keys[i], requests[i]);
}

/* Share the time of the call among the requests that it completed; done with the memory. */
static void unwatch(struct watch *watch, const struct rkc_mpi_call *call)
{
    if (call->thread && watch->n_completed) {
        uint64_t n = (uint64_t)watch->n_completed, ticks = call->end - call->begin;
        for (uint64_t i = 0; i < n; i++) {
            struct rkc_traffic *traffic =
                rkc_image_at(call->thread->base, watch->completed[i]);
            rkc_traffic_add(&traffic->blocked, ticks / n + (i < ticks % n));
        }
    }
    if (watch->n && watch->memory)
        give_buffer(watch->thread, watch->memory);
}

/* After a call that completes all. */
static void all_done(struct watch *watch, const struct rkc_mpi_call *call, int rc,
                     const MPI_Request *requests)
{
    if (watch->n && (rc == MPI_SUCCESS || rc == MPI_ERR_IN_STATUS)) {
        uint64_t now = end_of(call);
        for (int i = 0; i < watch->n; i++)
            complete_if_good(watch, i, rc, requests, &watch->statuses[i], now);
    }
    unwatch(watch, call);
}

/* After a call that completes one, or none with `index` MPI_UNDEFINED. */
static void any_done(struct watch *watch, const struct rkc_mpi_call *call, int rc,
                     const MPI_Request *requests, int index)
{
    if (watch->n && rc == MPI_SUCCESS)
        complete(watch, index, watch->statuses, end_of(call));
    else if (index >= 0 && index < watch->n)
        fail_one(watch->keys[index], requests[index]);
    unwatch(watch, call);
}

/* After a call that completes those named by `indices`. */
static void some_done(struct watch *watch, const struct rkc_mpi_call *call, int rc,
                      const MPI_Request *requests, const int *outcount, const int *indices)
{
    if (watch->n && (rc == MPI_SUCCESS || rc == MPI_ERR_IN_STATUS)) {
        uint64_t now = end_of(call);
        int n = *outcount == MPI_UNDEFINED ? 0 : *outcount;
        for (int i = 0; i < n; i++)
            complete_if_good(watch, indices[i], rc, requests, &watch->statuses[i], now);
    }
    unwatch(watch, call);
}

RKC_API int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
    struct rkc_mpi_call call;
    struct watch watch;
    watch_many(&watch, count, requests, statuses);
    rkc_mpi_enter(&call, RKC_MPI_FUNCTION(Waitall));
    int rc = rkc_mpi_next.Waitall(count, requests, watch.statuses);
    rkc_mpi_leave(&call, RKC_MPI_FUNCTION(Waitall));
    all_done(&watch, &call, rc, requests);
    return rc;
}

RKC_API int MPI_Testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
    struct rkc_mpi_call call;
    struct watch watch;
    watch_many(&watch, count, requests, statuses);
    rkc_mpi_enter(&call, RKC_MPI_FUNCTION(Testall));
    int rc = rkc_mpi_next.Testall(count, requests, flag, watch.statuses);
    rkc_mpi_leave(&call, RKC_MPI_FUNCTION(Testall));
    if (rc == MPI_SUCCESS && !*flag)
        unwatch(&watch, &call);
    else
        all_done(&watch, &call, rc, requests);
    return rc;
}

RKC_API int MPI_Waitany(int count, MPI_Request requests[], int *index, MPI_Status *status)
{
    struct rkc_mpi_call call;
    struct watch watch;
    watch_many(&watch, count, requests, status);
    rkc_mpi_enter(&call, RKC_MPI_FUNCTION(Waitany));
    int rc = rkc_mpi_next.Waitany(count, requests, index, watch.statuses);
    rkc_mpi_leave(&call, RKC_MPI_FUNCTION(Waitany));
    any_done(&watch, &call, rc, requests, watch.n ? *index : MPI_UNDEFINED);
    return rc;
}

RKC_API int MPI_Testany(int count, MPI_Request requests[], int *index, int *flag,
                        MPI_Status *status)
{
    struct rkc_mpi_call call;
    struct watch watch;
    watch_many(&watch, count, requests, status);
    rkc_mpi_enter(&call, RKC_MPI_FUNCTION(Testany));
    int rc = rkc_mpi_next.Testany(count, requests, index, flag, watch.statuses);
    rkc_mpi_leave(&call, RKC_MPI_FUNCTION(Testany));
    if (rc == MPI_SUCCESS && !*flag)
        unwatch(&watch, &call);
    else
        any_done(&watch, &call, rc, requests, watch.n ? *index : MPI_UNDEFINED);
    return rc;
}

RKC_API int MPI_Waitsome(int incount, MPI_Request requests[], int *outcount, int indices[],
                         MPI_Status statuses[])
{
    struct rkc_mpi_call call;
    struct watch watch;
    watch_many(&watch, incount, requests, statuses);
    rkc_mpi_enter(&call, RKC_MPI_FUNCTION(Waitsome));
    int rc = rkc_mpi_next.Waitsome(incount, requests, outcount, indices, watch.statuses);
    rkc_mpi_leave(&call, RKC_MPI_FUNCTION(Waitsome));
    some_done(&watch, &call, rc, requests, outcount, indices);
    return rc;
}

RKC_API int MPI_Testsome(int incount, MPI_Request requests[], int *outcount, int indices[],
                         MPI_Status statuses[])
{
    struct rkc_mpi_call call;
    struct watch watch;
    watch_many(&watch, incount, requests, statuses);
    rkc_mpi_enter(&call, RKC_MPI_FUNCTION(Testsome));
    int rc = rkc_mpi_next.Testsome(incount, requests, outcount, indices, watch.statuses);
    rkc_mpi_leave(&call, RKC_MPI_FUNCTION(Testsome));
    some_done(&watch, &call, rc, requests, outcount, indices);
    return rc;
}

/* ---- starting, cancelling, freeing ---- */

RKC_API int MPI_Start(MPI_Request *request)
{
    struct rkc_mpi_call call;
    rkc_mpi_enter(&call, RKC_MPI_FUNCTION(Start));
    int rc = rkc_mpi_next.Start(request);
    rkc_mpi_leave(&call, RKC_MPI_FUNCTION(Start));
    if (rc == MPI_SUCCESS && call.thread)
        rkc_request_started(&call, *request);
    return rc;
}

RKC_API int MPI_Startall(int count, MPI_Request requests[])
{
    struct rkc_mpi_call call;
    rkc_mpi_enter(&call, RKC_MPI_FUNCTION(Startall));
    int rc = rkc_mpi_next.Startall(count, requests);
    rkc_mpi_leave(&call, RKC_MPI_FUNCTION(Startall));
    if (rc == MPI_SUCCESS && call.thread)
        for (int i = 0; i < count; i++)
            rkc_request_started(&call, requests[i]);
    return rc;
}

RKC_API int MPI_Cancel(MPI_Request *request)
{
    struct rkc_mpi_call call;
    uint64_t key = watch_one(request);
    rkc_mpi_enter(&call, RKC_MPI_FUNCTION(Cancel));
    int rc = rkc_mpi_next.Cancel(request);
    rkc_mpi_leave(&call, RKC_MPI_FUNCTION(Cancel));
    if (rc == MPI_SUCCESS && key)
        rkc_request_cancel(key);
    return rc;
}

/* Forgotten before the call, since the handle may be another thread's right after it. */
RKC_API int MPI_Request_free(MPI_Request *request)
{
    struct rkc_mpi_call call;
    struct rkc_request was;
    uint64_t key = holding() && request ? rkc_request_key(*request) : 0;
    int ours = key && rkc_request_forget(key, &was);
    rkc_mpi_enter(&call, RKC_MPI_FUNCTION(Request_free));
    int rc = rkc_mpi_next.Request_free(request);
    rkc_mpi_leave(&call, RKC_MPI_FUNCTION(Request_free));
    if (ours && rc != MPI_SUCCESS) {
        rkc_request_add(key, &was);
    } else if (ours && (was.flags & RKC_REQUEST_ACTIVE)) {
        struct rkc_image_header *header = rkc_image_header(rkc_private_image());
        atomic_fetch_add_explicit(&header->freed, 1, memory_order_relaxed);
    }
    return rc;
}
