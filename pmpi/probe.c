/* probe.c - the calls that ask whether something has happened yet.
 *
 * Each comes in two: what a rank that polls runs through, small, and kept together with its like,
 * and what times it. */
#include "autoconf.h"

#include "next.h"
#include "poll.h"
#include "watch.h"

#define POLLS RKC_POLLS RKC_API
#define FIRST static __attribute__((noinline))
#define FIRST_OF_PAGE __attribute__((aligned(4096)))
#define FRAME __builtin_frame_address(0)

static inline struct rkc_handles handles_of(const MPI_Request *requests)
{
    return (struct rkc_handles){.first = requests};
}

/* ---- messages ---- */

FIRST int first_iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status,
                       const char *frame)
{
    struct rkc_mpi_call call;
    rkc_mpi_enter_from(&call, RKC_MPI_FUNCTION(Iprobe), frame);
    int rc = RKC_MPI_NEXT(Iprobe)(source, tag, comm, flag, status);
    rkc_mpi_leave(&call, RKC_MPI_FUNCTION(Iprobe));
    rkc_poll_again(&call, RKC_MPI_Iprobe, rc == MPI_SUCCESS && !*flag);
    return rc;
}

FIRST void hit(struct rkc_poll *poll)
{
    struct rkc_mpi_call call;
    rkc_poll_hit(poll, &call);
}

FIRST int first_improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message,
                        MPI_Status *status, const char *frame)
{
    struct rkc_mpi_call call;
    rkc_mpi_enter_from(&call, RKC_MPI_FUNCTION(Improbe), frame);
    int rc = RKC_MPI_NEXT(Improbe)(source, tag, comm, flag, message, status);
    rkc_mpi_leave(&call, RKC_MPI_FUNCTION(Improbe));
    rkc_poll_again(&call, RKC_MPI_Improbe, rc == MPI_SUCCESS && !*flag);
    return rc;
}

/* ---- one request ---- */

static void after_test(const struct rkc_mpi_call *call, uint64_t key, int rc, int flag,
                       const MPI_Request *request, const MPI_Status *status)
{
    if (rc == MPI_SUCCESS && flag)
        rkc_watch_completed(call, key, status);
    else if (rc != MPI_SUCCESS && key)
        rkc_watch_failed(key, *request);
}

FIRST int first_test(MPI_Request *request, int *flag, MPI_Status *status, const char *frame)
{
    struct rkc_mpi_call call;
    uint64_t key = rkc_watch_one(handles_of(request));
    MPI_Status *used = key && status == MPI_STATUS_IGNORE ? &call.status : status;
    rkc_mpi_enter_from(&call, RKC_MPI_FUNCTION(Test), frame);
    int rc = RKC_MPI_NEXT(Test)(request, flag, used);
    rkc_mpi_leave(&call, RKC_MPI_FUNCTION(Test));
    rkc_poll_again(&call, RKC_MPI_Test, rc == MPI_SUCCESS && !*flag);
    after_test(&call, key, rc, *flag, request, used);
    return rc;
}

FIRST void hit_test(struct rkc_poll *poll, const MPI_Request *was, int rc, int flag,
                    const MPI_Request *request, const MPI_Status *status)
{
    struct rkc_mpi_call call;
    rkc_poll_hit(poll, &call);
    after_test(&call, rkc_watch_one(handles_of(was)), rc, flag, request, status);
}

/* ---- many requests ---- */

/* Of more requests a call is like any other. */
enum { FEW = 16 };

/* Handles before a call that may clear them. */
struct kept {
    MPI_Request handles[FEW];
    MPI_Status statuses[FEW];
};

/* For a few handles the processor's own loop for strings takes longer to begin than this to end; so
 * the compiler must not see one. */
static inline void keep(struct kept *kept, int n, const MPI_Request *requests)
{
    for (int i = 0; i < n; i++) {
        kept->handles[i] = requests[i];
        __asm__ volatile("");
    }
}

static inline int is_few(int n)
{
    return n > 0 && n <= FEW;
}

/* End such a call, as if it had been watched. */
static void hit_many(struct rkc_poll *poll, struct rkc_mpi_call *call, struct rkc_watch *watch,
                     const struct kept *kept, int n, const MPI_Request *requests,
                     MPI_Status *statuses)
{
    rkc_poll_hit(poll, call);
    rkc_watch_begin(watch, n, handles_of(kept->handles), statuses);
    watch->handles = handles_of(requests);
}

static void after_testall(struct rkc_watch *watch, const struct rkc_mpi_call *call, int rc,
                          int nothing)
{
    if (nothing)
        rkc_watch_none(watch);
    else
        rkc_watch_all(watch, call, rc);
}

FIRST int first_testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[],
                        const char *frame)
{
    struct rkc_mpi_call call;
    struct rkc_watch watch;
    rkc_watch_begin(&watch, count, handles_of(requests), statuses);
    rkc_mpi_enter_from(&call, RKC_MPI_FUNCTION(Testall), frame);
    int rc = RKC_MPI_NEXT(Testall)(count, requests, flag, watch.statuses);
    rkc_mpi_leave(&call, RKC_MPI_FUNCTION(Testall));
    int nothing = rc == MPI_SUCCESS && !*flag;
    rkc_poll_again(&call, RKC_MPI_Testall, nothing);
    after_testall(&watch, &call, rc, nothing);
    return rc;
}

FIRST void hit_testall(struct rkc_poll *poll, const struct kept *kept, int rc, int count,
                       const MPI_Request *requests, MPI_Status *statuses, int nothing)
{
    struct rkc_mpi_call call;
    struct rkc_watch watch;
    hit_many(poll, &call, &watch, kept, count, requests, statuses);
    after_testall(&watch, &call, rc, nothing);
}

static void after_testany(struct rkc_watch *watch, const struct rkc_mpi_call *call, int rc,
                          int nothing, const int *index)
{
    if (nothing)
        rkc_watch_none(watch);
    else
        rkc_watch_any(watch, call, rc, watch->n ? *index : MPI_UNDEFINED);
}

FIRST int first_testany(int count, MPI_Request requests[], int *index, int *flag,
                        MPI_Status *status, const char *frame)
{
    struct rkc_mpi_call call;
    struct rkc_watch watch;
    rkc_watch_begin(&watch, count, handles_of(requests), status);
    rkc_mpi_enter_from(&call, RKC_MPI_FUNCTION(Testany), frame);
    int rc = RKC_MPI_NEXT(Testany)(count, requests, index, flag, watch.statuses);
    rkc_mpi_leave(&call, RKC_MPI_FUNCTION(Testany));
    int nothing = rc == MPI_SUCCESS && !*flag;
    rkc_poll_again(&call, RKC_MPI_Testany, nothing);
    after_testany(&watch, &call, rc, nothing, index);
    return rc;
}

FIRST void hit_testany(struct rkc_poll *poll, const struct kept *kept, int rc, int count,
                       const MPI_Request *requests, MPI_Status *statuses, int nothing,
                       const int *index)
{
    struct rkc_mpi_call call;
    struct rkc_watch watch;
    hit_many(poll, &call, &watch, kept, count, requests, statuses);
    after_testany(&watch, &call, rc, nothing, index);
}

static void after_testsome(struct rkc_watch *watch, const struct rkc_mpi_call *call, int rc,
                           int nothing, const int *outcount, const int *indices)
{
    if (nothing)
        rkc_watch_none(watch);
    else
        rkc_watch_some(watch, call, rc, watch->n ? *outcount : 0, indices);
}

FIRST int first_testsome(int count, MPI_Request requests[], int *outcount, int indices[],
                         MPI_Status statuses[], const char *frame)
{
    struct rkc_mpi_call call;
    struct rkc_watch watch;
    rkc_watch_begin(&watch, count, handles_of(requests), statuses);
    rkc_mpi_enter_from(&call, RKC_MPI_FUNCTION(Testsome), frame);
    int rc = RKC_MPI_NEXT(Testsome)(count, requests, outcount, indices, watch.statuses);
    rkc_mpi_leave(&call, RKC_MPI_FUNCTION(Testsome));
    int nothing = rc == MPI_SUCCESS && *outcount == 0;
    rkc_poll_again(&call, RKC_MPI_Testsome, nothing);
    after_testsome(&watch, &call, rc, nothing, outcount, indices);
    return rc;
}

FIRST void hit_testsome(struct rkc_poll *poll, const struct kept *kept, int rc, int count,
                        const MPI_Request *requests, MPI_Status *statuses, int nothing,
                        const int *outcount, const int *indices)
{
    struct rkc_mpi_call call;
    struct rkc_watch watch;
    hit_many(poll, &call, &watch, kept, count, requests, statuses);
    after_testsome(&watch, &call, rc, nothing, outcount, indices);
}

/* ---- what a rank that polls runs through ----
 *
 * One page, in this order: in the 64 sets of a level 1 cache, some lines of a page are those that
 * Linux 6.18's sched_yield and Open MPI 4.1's progress run through, above all 0x380 to 0x600, and a
 * poll that gives up its core and comes back to those has to wait 10 to 20 ns for each time. So
 * what is rarely polled lies there. */

FIRST_OF_PAGE POLLS int MPI_Testany(int count, MPI_Request requests[], int *index, int *flag,
                                    MPI_Status *status)
{
    struct rkc_poll *poll = is_few(count) ? rkc_poll_begin(RKC_MPI_Testany, FRAME) : NULL;
    if (!poll)
        return first_testany(count, requests, index, flag, status, FRAME);
    struct kept kept;
    MPI_Status *used = status == MPI_STATUS_IGNORE ? kept.statuses : status;
    keep(&kept, count, requests);
    int rc = RKC_POLL_NEXT(poll, Testany)(count, requests, index, flag, used);
    uint64_t now = rkc_clock_counter();
    int nothing = rc == MPI_SUCCESS && !*flag;
    if (RKC_UNLIKELY(!rkc_poll_missed(poll, now, nothing)))
        hit_testany(poll, &kept, rc, count, requests, used, nothing, index);
    return rc;
}

POLLS int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    struct rkc_poll *poll = rkc_poll_begin(RKC_MPI_Test, FRAME);
    if (!poll)
        return first_test(request, flag, status, FRAME);
    MPI_Request was = *request;
    MPI_Status own, *used = status == MPI_STATUS_IGNORE ? &own : status;
    int rc = RKC_POLL_NEXT(poll, Test)(request, flag, used);
    uint64_t now = rkc_clock_counter();
    if (RKC_UNLIKELY(!rkc_poll_missed(poll, now, rc == MPI_SUCCESS && !*flag)))
        hit_test(poll, &was, rc, *flag, request, used);
    return rc;
}

POLLS int MPI_Improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message,
                      MPI_Status *status)
{
    struct rkc_poll *poll = rkc_poll_begin(RKC_MPI_Improbe, FRAME);
    if (!poll)
        return first_improbe(source, tag, comm, flag, message, status, FRAME);
    int rc = RKC_POLL_NEXT(poll, Improbe)(source, tag, comm, flag, message, status);
    uint64_t now = rkc_clock_counter();
    if (RKC_UNLIKELY(!rkc_poll_missed(poll, now, rc == MPI_SUCCESS && !*flag)))
        hit(poll);
    return rc;
}

POLLS int MPI_Testsome(int count, MPI_Request requests[], int *outcount, int indices[],
                       MPI_Status statuses[])
{
    struct rkc_poll *poll = is_few(count) ? rkc_poll_begin(RKC_MPI_Testsome, FRAME) : NULL;
    if (!poll)
        return first_testsome(count, requests, outcount, indices, statuses, FRAME);
    struct kept kept;
    MPI_Status *used = statuses == MPI_STATUSES_IGNORE ? kept.statuses : statuses;
    keep(&kept, count, requests);
    int rc = RKC_POLL_NEXT(poll, Testsome)(count, requests, outcount, indices, used);
    uint64_t now = rkc_clock_counter();
    int nothing = rc == MPI_SUCCESS && *outcount == 0;
    if (RKC_UNLIKELY(!rkc_poll_missed(poll, now, nothing)))
        hit_testsome(poll, &kept, rc, count, requests, used, nothing, outcount, indices);
    return rc;
}

POLLS int MPI_Testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
    struct rkc_poll *poll = is_few(count) ? rkc_poll_begin(RKC_MPI_Testall, FRAME) : NULL;
    if (!poll)
        return first_testall(count, requests, flag, statuses, FRAME);
    struct kept kept;
    MPI_Status *used = statuses == MPI_STATUSES_IGNORE ? kept.statuses : statuses;
    keep(&kept, count, requests);
    int rc = RKC_POLL_NEXT(poll, Testall)(count, requests, flag, used);
    uint64_t now = rkc_clock_counter();
    int nothing = rc == MPI_SUCCESS && !*flag;
    if (RKC_UNLIKELY(!rkc_poll_missed(poll, now, nothing)))
        hit_testall(poll, &kept, rc, count, requests, used, nothing);
    return rc;
}

POLLS int MPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    struct rkc_poll *poll = rkc_poll_begin(RKC_MPI_Iprobe, FRAME);
    if (!poll)
        return first_iprobe(source, tag, comm, flag, status, FRAME);
    int rc = RKC_POLL_NEXT(poll, Iprobe)(source, tag, comm, flag, status);
    uint64_t now = rkc_clock_counter();
    if (RKC_UNLIKELY(!rkc_poll_missed(poll, now, rc == MPI_SUCCESS && !*flag)))
        hit(poll);
    return rc;
}
