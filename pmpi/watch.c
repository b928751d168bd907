/* watch.c - the requests of a call that may complete many.
 *
 * What one gets wrong here: a status of Fortran has the size of C's, but lies where integers may.
 */
#include "autoconf.h"

#include "watch.h"

#include <stdlib.h>
#include <string.h>

#ifdef MPI_F_STATUS_SIZE
_Static_assert(MPI_F_STATUS_SIZE * sizeof(MPI_Fint) == sizeof(MPI_Status),
               "an array of statuses is the same in both languages");
#endif

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
static int make_room(struct rkc_watch *watch, int n)
{
    watch->keys = watch->few_keys;
    watch->completed = watch->few_completed;
    watch->statuses = watch->few_statuses;
    if (n <= RKC_WATCH_FEW)
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

/* Whatever they are: the fewest are ever looked at. */
static void keep_handles(uint64_t *keys, int n, struct rkc_handles handles)
{
    if (sizeof(MPI_Request) == sizeof *keys && !handles.fortran)
        memcpy(keys, handles.first, (size_t)n * sizeof *keys);
    else
        for (int i = 0; i < n; i++)
            keys[i] = (uint64_t)(uintptr_t)rkc_handle(handles, i);
}

/* The i-th request's, or 0. */
static uint64_t key_of(const struct rkc_watch *watch, int i)
{
    return watch->keys[i] == (uint64_t)(uintptr_t)MPI_REQUEST_NULL ? 0 : watch->keys[i];
}

void rkc_watch_begin_slow(struct rkc_watch *watch, int n, struct rkc_handles handles,
                          MPI_Status *given)
{
    watch->thread = rkc_thread_own();
    if (!make_room(watch, n)) {
        watch->statuses = given;
        return;
    }
    watch->n = n;
    watch->handles = handles;
    keep_handles(watch->keys, n, handles);
    if (given != MPI_STATUSES_IGNORE)
        watch->statuses = given;
}

static void complete(struct rkc_watch *watch, int i, const MPI_Status *status, uint64_t now)
{
    struct rkc_request request;
    uint64_t key = i >= 0 && i < watch->n ? key_of(watch, i) : 0;
    if (!key || !rkc_request_complete(key, &request))
        return;
    rkc_request_book(&request, status, now);
    watch->completed[watch->n_completed++] = request.traffic;
}

/* The i-th status; `copy` is where one of Fortran goes. */
static const MPI_Status *status_at(const struct rkc_watch *watch, int i, MPI_Status *copy)
{
    if (!watch->handles.fortran)
        return &watch->statuses[i];
    const char *at = (const char *)watch->statuses + (size_t)i * sizeof *watch->statuses;
    PMPI_Status_f2c((const MPI_Fint *)at, copy);
    return copy;
}

/* The i-th request was given back by a call with result `rc`, with the k-th status. */
static void complete_if_good(struct rkc_watch *watch, int i, int rc, int k, uint64_t now)
{
    MPI_Status copy;
    const MPI_Status *status = status_at(watch, k, &copy);
    if (rc == MPI_SUCCESS || status->MPI_ERROR == MPI_SUCCESS)
        complete(watch, i, status, now);
    else if (i >= 0 && i < watch->n)
        rkc_watch_failed(key_of(watch, i), rkc_handle(watch->handles, i));
}

void rkc_watch_give_back(struct rkc_watch *watch)
{
    give_buffer(watch->thread, watch->memory);
}

/* Share the time of the call among the requests that it completed; done with the memory. */
static void end(struct rkc_watch *watch, const struct rkc_mpi_call *call)
{
    if (call->thread && watch->n_completed) {
        uint64_t n = (uint64_t)watch->n_completed, ticks = call->end - call->begin;
        for (uint64_t i = 0; i < n; i++) {
            struct rkc_traffic *traffic = rkc_image_at(call->thread->base, watch->completed[i]);
            rkc_traffic_add(&traffic->blocked, ticks / n + (i < ticks % n));
        }
    }
    rkc_watch_none(watch);
}

void rkc_watch_all(struct rkc_watch *watch, const struct rkc_mpi_call *call, int rc)
{
    if (watch->n && (rc == MPI_SUCCESS || rc == MPI_ERR_IN_STATUS)) {
        uint64_t now = rkc_watch_now(call);
        for (int i = 0; i < watch->n; i++)
            complete_if_good(watch, i, rc, i, now);
    }
    end(watch, call);
}

void rkc_watch_any(struct rkc_watch *watch, const struct rkc_mpi_call *call, int rc, int index)
{
    MPI_Status copy;
    int i = watch->n && index != MPI_UNDEFINED ? index - watch->handles.index : -1;
    if (i >= 0 && i < watch->n && rc == MPI_SUCCESS)
        complete(watch, i, status_at(watch, 0, &copy), rkc_watch_now(call));
    else if (i >= 0 && i < watch->n)
        rkc_watch_failed(key_of(watch, i), rkc_handle(watch->handles, i));
    end(watch, call);
}

void rkc_watch_some(struct rkc_watch *watch, const struct rkc_mpi_call *call, int rc, int outcount,
                    const int *indices)
{
    if (watch->n && (rc == MPI_SUCCESS || rc == MPI_ERR_IN_STATUS)) {
        uint64_t now = rkc_watch_now(call);
        int n = outcount == MPI_UNDEFINED ? 0 : outcount;
        for (int k = 0; k < n; k++)
            complete_if_good(watch, indices[k] - watch->handles.index, rc, k, now);
    }
    end(watch, call);
}

uint64_t rkc_watch_freeing(struct rkc_handles handles, struct rkc_request *was)
{
    uint64_t key = rkc_watch_held() && handles.first ? rkc_request_key(rkc_handle(handles, 0)) : 0;
    return key && rkc_request_forget(key, was) ? key : 0;
}

void rkc_watch_freed(uint64_t key, const struct rkc_request *was, int rc)
{
    if (key && rc != MPI_SUCCESS) {
        rkc_request_add(key, was);
    } else if (key && (was->flags & RKC_REQUEST_ACTIVE)) {
        struct rkc_image_header *header = rkc_image_header(rkc_private_image());
        atomic_fetch_add_explicit(&header->freed, 1, memory_order_relaxed);
    }
}
