/* request.h - the requests that are under way: who posted them, when, and what they move.
 *
 * One table for the process. A request that completes may be completed by another thread than
 * posted it, and counts for the call path that posted it (for a persistent one: that started
 * it). Requests that are not in the table are nobody's: those of pauses, of kinds that are not
 * tracked, and beyond RKC_REQUESTS_MAX.
 */
#ifndef RKC_PMPI_REQUEST_H
#define RKC_PMPI_REQUEST_H

#include "traffic.h"

enum { RKC_REQUESTS_MAX = 1 << 20 };

enum {
    RKC_REQUEST_ACTIVE = 1,     /* posted or started, not yet completed */
    RKC_REQUEST_PERSISTENT = 2, /* stays after completion */
    RKC_REQUEST_ARRIVES = 4,    /* what it received is in the status */
    RKC_REQUEST_SIZED = 8,      /* is an entry in the histogram of sizes */
    RKC_REQUEST_CANCELLED = 16, /* MPI_Cancel was called; the status says whether in time */
    RKC_REQUEST_MESSAGE = 32,   /* what it sends is a message to `rank` */
    RKC_REQUEST_GAPS = 64,      /* persistent: of `kinds`, with gaps */
};

struct rkc_request {
    uint64_t ticks;    /* when it was posted or started */
    uint64_t sent;     /* bytes booked then */
    uint64_t received; /* bytes to book at completion, unless the status tells */
    uint32_t traffic;  /* unit of the counters to book to */
    uint32_t flags;
    uint32_t next;     /* the table's own */
    int rank;          /* in the world, or negative */
    struct rkc_kinds kinds; /* persistent: of its buffers, as they were when it was made */
};

/* The bits of a handle; 0 for MPI_REQUEST_NULL. */
static inline uint64_t rkc_request_key(MPI_Request request)
{
    return request == MPI_REQUEST_NULL ? 0 : (uint64_t)(uintptr_t)request;
}

/* How many are active, and how many are in the table, inactive persistent ones included. */
extern _Atomic uint32_t rkc_requests_active, rkc_requests_held;

/* Add a request. Several may have one handle: MPI gives all that were complete at once the
 * same. 0, or RKC_ENOMEM after it was counted as untracked. */
int rkc_request_add(uint64_t key, const struct rkc_request *request);

/* Take the request of a completed handle: *request is what it was, and it is gone, or inactive
 * if persistent. Returns 0 if there is no active one. */
int rkc_request_complete(uint64_t key, struct rkc_request *request);

/* Make a persistent request active; *request is set. Returns 0 if there is none. */
int rkc_request_start(uint64_t key, uint64_t ticks, uint32_t traffic,
                      struct rkc_request *request);

/* Note that MPI_Cancel was called. */
void rkc_request_cancel(uint64_t key);

/* Forget a handle, active or not; *request is what it was. Returns 0 if there is none. */
int rkc_request_forget(uint64_t key, struct rkc_request *request);

/* A recorded nonblocking call has returned `request`: book what it moves now, and keep what
 * its completion brings. */
void rkc_request_post(const struct rkc_mpi_call *call, MPI_Request request,
                      const struct rkc_moved *moved);

/* A persistent request was made. */
void rkc_request_plan(MPI_Request request, const struct rkc_moved *moved);

/* A recorded call has started a persistent request. */
void rkc_request_started(const struct rkc_mpi_call *call, MPI_Request request);

/* Book the completion of a request at `now`. */
void rkc_request_book(const struct rkc_request *request, const MPI_Status *status, uint64_t now);

#endif
