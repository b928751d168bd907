/* watch.h - what a call that completes requests has to know of them: C's and Fortran's alike.
 *
 *   struct rkc_watch watch;
 *   rkc_watch_begin(&watch, n, handles, statuses);
 *   ... the call, with watch.statuses ...
 *   rkc_watch_all(&watch, &call, rc);        or _any, _some, _none
 *
 * A completing call clears the handles, so that they are read before it; and the table must be kept
 * right by calls that are not recorded, too, for MPI gives a completed request's handle to the
 * next.
 */
#ifndef RKC_PMPI_WATCH_H
#define RKC_PMPI_WATCH_H

#include "request.h"

/* Handles, or the numbers that stand for them in Fortran. */
struct rkc_handles {
    const void *first;
    int fortran;
    int index; /* of the first */
};

static inline MPI_Request rkc_handle(struct rkc_handles handles, int i)
{
    if (handles.fortran)
        return PMPI_Request_f2c(((const MPI_Fint *)handles.first)[i]);
    return ((const MPI_Request *)handles.first)[i];
}

/* Whether a completing call may find requests of ours. */
static inline int rkc_watch_active(void)
{
    return atomic_load_explicit(&rkc_requests_active, memory_order_relaxed) &&
           rkc_private_recording() && !rkc_mpi_is_twin();
}

/* Whether there are any, inactive ones included. */
static inline int rkc_watch_held(void)
{
    return atomic_load_explicit(&rkc_requests_held, memory_order_relaxed) &&
           rkc_private_recording() && !rkc_mpi_is_twin();
}

static inline uint64_t rkc_watch_now(const struct rkc_mpi_call *call)
{
    return call->thread ? call->end : rkc_clock_ticks();
}

/* ---- one request ---- */

/* Its key if it is to be watched, else 0. */
static inline uint64_t rkc_watch_one(struct rkc_handles handles)
{
    return rkc_watch_active() && handles.first ? rkc_request_key(rkc_handle(handles, 0)) : 0;
}

/* A request was completed by a call that takes one. */
static inline void rkc_watch_completed(const struct rkc_mpi_call *call, uint64_t key,
                                       const MPI_Status *status)
{
    struct rkc_request request;
    if (!key || !rkc_request_complete(key, &request))
        return;
    rkc_request_book(&request, status, rkc_watch_now(call));
    if (call->thread) {
        struct rkc_traffic *traffic = rkc_image_at(call->thread->base, request.traffic);
        rkc_traffic_add(&traffic->blocked, call->end - call->begin);
    }
}

/* A completing call has failed; the request may have ended with it. */
static inline void rkc_watch_failed(uint64_t key, MPI_Request left)
{
    struct rkc_request request;
    if (key && left == MPI_REQUEST_NULL)
        rkc_request_forget(key, &request);
}

/* ---- many requests ---- */

enum { RKC_WATCH_FEW = 32 };

struct rkc_watch {
    int n; /* 0: nothing to be done */
    struct rkc_handles handles;
    uint64_t *keys; /* handles, as rkc_request_key but for MPI_REQUEST_NULL */
    uint32_t *completed; /* units of the counters of those of ours that it completed */
    int n_completed;
    MPI_Status *statuses; /* to be given to MPI */
    void *memory;         /* where the three are if they are many */
    struct rkc_thread *thread;
    uint64_t few_keys[RKC_WATCH_FEW];
    uint32_t few_completed[RKC_WATCH_FEW];
    MPI_Status few_statuses[RKC_WATCH_FEW];
};

void rkc_watch_begin_slow(struct rkc_watch *watch, int n, struct rkc_handles handles,
                          MPI_Status *given);

/* Look at the handles before a call. Its statuses go to `given` if the program wants them, which it
 * does not if that is MPI_STATUSES_IGNORE. */
static inline void rkc_watch_begin(struct rkc_watch *watch, int n, struct rkc_handles handles,
                                   MPI_Status *given)
{
    watch->n = 0;
    watch->n_completed = 0;
    watch->memory = NULL;
    watch->statuses = given;
    if (n > 0 && handles.first && rkc_watch_active())
        rkc_watch_begin_slow(watch, n, handles, given);
}

/* After a call with result `rc` that completes all, one, or those named by `indices`. An index, and
 * `outcount`, may be MPI_UNDEFINED. */
void rkc_watch_all(struct rkc_watch *watch, const struct rkc_mpi_call *call, int rc);
void rkc_watch_any(struct rkc_watch *watch, const struct rkc_mpi_call *call, int rc, int index);
void rkc_watch_some(struct rkc_watch *watch, const struct rkc_mpi_call *call, int rc, int outcount,
                    const int *indices);

void rkc_watch_give_back(struct rkc_watch *watch);

/* After one that completed none. */
static inline void rkc_watch_none(struct rkc_watch *watch)
{
    if (RKC_UNLIKELY(watch->memory != NULL))
        rkc_watch_give_back(watch);
}

/* ---- starting, freeing ---- */

/* After a call with result `rc` has started a request; if the call was recorded. */
static inline void rkc_watch_started(const struct rkc_mpi_call *call, int rc,
                                     struct rkc_handles handles, int i)
{
    if (rc == MPI_SUCCESS && call->thread)
        rkc_request_started(call, rkc_handle(handles, i));
}

/* Forget a request before it is freed, since the handle may be another thread's right after it;
 * *was is what it was. Its key, or 0 if it was none of ours. */
uint64_t rkc_watch_freeing(struct rkc_handles handles, struct rkc_request *was);

/* After the call, with its result and what the former returned. */
void rkc_watch_freed(uint64_t key, const struct rkc_request *was, int rc);

#endif
