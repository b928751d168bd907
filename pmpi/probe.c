/* probe.c - the calls that ask whether something has happened yet.
 *
 * Each comes in parts: what a rank that polls runs through, small, and kept together with its like;
 * what times any other call; and what books one of a loop that is not in vain.
 */
#include "autoconf.h"

#include <string.h>

#include "next.h"
#include "poll.h"
#include "watch.h"

#define POLLS RKC_POLLS RKC_API
#define APART static __attribute__((noinline))
#define AT(boundary) __attribute__((aligned(boundary)))
#define FRAME __builtin_frame_address(0)

/* What was noted in memory is read from there again, so that no register has to be saved for it. */
#define NOT_IN_REGISTERS __asm__ volatile("" : : : "memory")

static inline struct rkc_handles handles_of(const MPI_Request *requests)
{
    return (struct rkc_handles){.first = requests};
}

static inline int is_in_vain(int rc, const int *done)
{
    return RKC_LIKELY(rc == MPI_SUCCESS) && RKC_LIKELY(!*done);
}

/* ---- messages ---- */

APART int first_iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status,
                       const char *frame)
{
    struct rkc_mpi_call call;
    rkc_mpi_enter_from(&call, RKC_MPI_FUNCTION(Iprobe), frame);
    int rc = RKC_MPI_NEXT(Iprobe)(source, tag, comm, flag, status);
    rkc_mpi_leave(&call, RKC_MPI_FUNCTION(Iprobe));
    rkc_poll_again(&call, RKC_MPI_Iprobe, is_in_vain(rc, flag));
    return rc;
}

APART int first_improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message,
                        MPI_Status *status, const char *frame)
{
    struct rkc_mpi_call call;
    rkc_mpi_enter_from(&call, RKC_MPI_FUNCTION(Improbe), frame);
    int rc = RKC_MPI_NEXT(Improbe)(source, tag, comm, flag, message, status);
    rkc_mpi_leave(&call, RKC_MPI_FUNCTION(Improbe));
    rkc_poll_again(&call, RKC_MPI_Improbe, is_in_vain(rc, flag));
    return rc;
}

APART int hit_probe(struct rkc_hot *hot, int rc, const int *flag, uint64_t now)
{
    struct rkc_mpi_call call;
    if (!is_in_vain(rc, flag) || !rkc_poll_missed_full(hot, now))
        rkc_poll_hit(hot, &call);
    return rc;
}

/* ---- requests ---- */

/* Of more requests a call is like any other. */
enum { FEW = 16 };

static inline int is_few(int n)
{
    return n > 0 && n <= FEW;
}

/* What a call of a loop was asked. What is looked at again after each lies last, beside what the
 * function keeps on the stack anyway. */
struct asked {
    MPI_Status statuses[FEW]; /* stand in for MPI_STATUSES_IGNORE */
    MPI_Request handles[FEW]; /* before the call, which may clear them */
    MPI_Request handle;       /* of one, that; most ask for one */
    int count;
    MPI_Request *requests;
    MPI_Status *used;
    int *indices; /* or the one */
    int *done;    /* flag, or how many */
    struct rkc_hot *hot;
};

/* Copy `n` handles, at least `half` and at most twice as many. */
static inline void copy(MPI_Request *to, const MPI_Request *from, int n, int half)
{
    memcpy(to, from, (size_t)half * sizeof *to);
    memcpy(to + n - half, from + n - half, (size_t)half * sizeof *to);
}

/* Without a loop, but for very few: where one ends is hard to foresee for a processor that has run
 * other ranks since. The compiler must not make a call of it. */
static inline void keep(MPI_Request *kept, int n, const MPI_Request *requests)
{
    if (n >= FEW / 2) {
        copy(kept, requests, n, FEW / 2);
    } else if (n >= FEW / 4) {
        copy(kept, requests, n, FEW / 4);
    } else {
        for (int i = 0; i < n; i++) {
            kept[i] = requests[i];
            __asm__ volatile("");
        }
    }
}

/* Note what a call is asked, and see to it that it gives statuses. */
RKC_POLL_INLINE MPI_Status *ask(struct asked *asked, struct rkc_hot *hot, int count,
                                MPI_Request *requests, int *indices, int *done,
                                MPI_Status *statuses)
{
    asked->hot = hot;
    asked->done = done;
    asked->indices = indices;
    if (statuses == MPI_STATUSES_IGNORE)
        statuses = asked->statuses;
    asked->used = statuses;
    asked->requests = requests;
    asked->count = count;
    asked->handle = requests[0];
    if (RKC_UNLIKELY(count > 1))
        keep(asked->handles, count, requests);
    NOT_IN_REGISTERS;
    return statuses;
}

/* Whether it came to nothing. */
RKC_POLL_INLINE int is_missed(const struct asked *asked, struct rkc_hot *hot, int rc,
                              uint64_t now)
{
    NOT_IN_REGISTERS;
    return is_in_vain(rc, asked->done) && RKC_LIKELY(rkc_poll_missed(hot, now));
}

/* What comes after a call that was not in vain. */
typedef void booking(struct rkc_watch *watch, const struct rkc_mpi_call *call, int rc,
                     const int *done, const int *indices);

static void book_all(struct rkc_watch *watch, const struct rkc_mpi_call *call, int rc,
                     const int *done, const int *indices)
{
    (void)done;
    (void)indices;
    rkc_watch_all(watch, call, rc);
}

static void book_any(struct rkc_watch *watch, const struct rkc_mpi_call *call, int rc,
                     const int *done, const int *index)
{
    (void)done;
    rkc_watch_any(watch, call, rc, watch->n ? *index : MPI_UNDEFINED);
}

static void book_some(struct rkc_watch *watch, const struct rkc_mpi_call *call, int rc,
                      const int *n_done, const int *indices)
{
    rkc_watch_some(watch, call, rc, watch->n ? *n_done : 0, indices);
}

static void end_first(struct rkc_watch *watch, const struct rkc_mpi_call *call, enum rkc_mpi_id id,
                      int rc, const int *done, const int *indices, booking *book)
{
    int in_vain = is_in_vain(rc, done);
    rkc_poll_again(call, id, in_vain);
    if (in_vain)
        rkc_watch_none(watch);
    else
        book(watch, call, rc, done, indices);
}

/* Book a call that was not in vain, or that the loop's own way has no room for. */
APART int hit(struct asked *asked, int rc, uint64_t now, booking *book)
{
    int in_vain = is_in_vain(rc, asked->done);
    if (in_vain && rkc_poll_missed_full(asked->hot, now))
        return rc;
    struct rkc_mpi_call call;
    struct rkc_watch watch;
    rkc_poll_hit(asked->hot, &call);
    const MPI_Request *handles = asked->count > 1 ? asked->handles : &asked->handle;
    rkc_watch_begin(&watch, asked->count, handles_of(handles), asked->used);
    watch.handles = handles_of(asked->requests);
    if (in_vain)
        rkc_watch_none(&watch);
    else
        book(&watch, &call, rc, asked->done, asked->indices);
    return rc;
}

static void book_test(const struct rkc_mpi_call *call, uint64_t key, int rc, int flag,
                      const MPI_Request *request, const MPI_Status *status)
{
    if (rc == MPI_SUCCESS && flag)
        rkc_watch_completed(call, key, status);
    else if (rc != MPI_SUCCESS && key)
        rkc_watch_failed(key, *request);
}

APART int first_test(MPI_Request *request, int *flag, MPI_Status *status, const char *frame)
{
    struct rkc_mpi_call call;
    uint64_t key = rkc_watch_one(handles_of(request));
    MPI_Status *used = key && status == MPI_STATUS_IGNORE ? &call.status : status;
    rkc_mpi_enter_from(&call, RKC_MPI_FUNCTION(Test), frame);
    int rc = RKC_MPI_NEXT(Test)(request, flag, used);
    rkc_mpi_leave(&call, RKC_MPI_FUNCTION(Test));
    rkc_poll_again(&call, RKC_MPI_Test, is_in_vain(rc, flag));
    book_test(&call, key, rc, *flag, request, used);
    return rc;
}

APART int hit_test(struct asked *asked, int rc, uint64_t now)
{
    if (is_in_vain(rc, asked->done) && rkc_poll_missed_full(asked->hot, now))
        return rc;
    struct rkc_mpi_call call;
    rkc_poll_hit(asked->hot, &call);
    book_test(&call, rkc_watch_one(handles_of(&asked->handle)), rc, *asked->done, asked->requests,
              asked->used);
    return rc;
}

APART int first_testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[],
                        const char *frame)
{
    struct rkc_mpi_call call;
    struct rkc_watch watch;
    rkc_watch_begin(&watch, count, handles_of(requests), statuses);
    rkc_mpi_enter_from(&call, RKC_MPI_FUNCTION(Testall), frame);
    int rc = RKC_MPI_NEXT(Testall)(count, requests, flag, watch.statuses);
    rkc_mpi_leave(&call, RKC_MPI_FUNCTION(Testall));
    end_first(&watch, &call, RKC_MPI_Testall, rc, flag, NULL, book_all);
    return rc;
}

APART int first_testany(int count, MPI_Request requests[], int *index, int *flag,
                        MPI_Status *status, const char *frame)
{
    struct rkc_mpi_call call;
    struct rkc_watch watch;
    rkc_watch_begin(&watch, count, handles_of(requests), status);
    rkc_mpi_enter_from(&call, RKC_MPI_FUNCTION(Testany), frame);
    int rc = RKC_MPI_NEXT(Testany)(count, requests, index, flag, watch.statuses);
    rkc_mpi_leave(&call, RKC_MPI_FUNCTION(Testany));
    end_first(&watch, &call, RKC_MPI_Testany, rc, flag, index, book_any);
    return rc;
}

APART int first_testsome(int count, MPI_Request requests[], int *outcount, int indices[],
                         MPI_Status statuses[], const char *frame)
{
    struct rkc_mpi_call call;
    struct rkc_watch watch;
    rkc_watch_begin(&watch, count, handles_of(requests), statuses);
    rkc_mpi_enter_from(&call, RKC_MPI_FUNCTION(Testsome), frame);
    int rc = RKC_MPI_NEXT(Testsome)(count, requests, outcount, indices, watch.statuses);
    rkc_mpi_leave(&call, RKC_MPI_FUNCTION(Testsome));
    end_first(&watch, &call, RKC_MPI_Testsome, rc, outcount, indices, book_some);
    return rc;
}

/* ---- what a rank that polls runs through ----
 *
 * One page, in this order: in the 64 sets of a level 1 cache, some lines of a page are those that
 * Linux 6.18's sched_yield and Open MPI 4.1's progress run through, above all 0x380 to 0x600 and
 * some of 0x900 to 0xa00, and a poll that gives up its core and comes back to those has to wait 10
 * to 20 ns for each time. So what is rarely polled lies there. What else costs is branches and what
 * is run, not how much code it is: so what a poll in vain does not need is elsewhere. */

AT(4096)
POLLS int MPI_Testany(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status)
{
    struct rkc_hot *hot = is_few(count) ? rkc_poll_begin(RKC_MPI_Testany, FRAME) : NULL;
    if (!hot)
        return first_testany(count, requests, index, flag, status, FRAME);
    struct asked asked;
    status = ask(&asked, hot, count, requests, index, flag, status);
    int rc = RKC_POLL_NEXT(hot, Testany)(count, requests, index, flag, status);
    uint64_t now = rkc_clock_counter();
    if (!is_missed(&asked, hot, rc, now))
        return hit(&asked, rc, now, book_any);
    return MPI_SUCCESS;
}

POLLS int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    struct rkc_hot *hot = rkc_poll_begin(RKC_MPI_Test, FRAME);
    if (!hot)
        return first_test(request, flag, status, FRAME);
    struct asked asked;
    status = ask(&asked, hot, 1, request, NULL, flag, status);
    int rc = RKC_POLL_NEXT(hot, Test)(request, flag, status);
    uint64_t now = rkc_clock_counter();
    if (!is_missed(&asked, hot, rc, now))
        return hit_test(&asked, rc, now);
    return MPI_SUCCESS;
}

POLLS int MPI_Improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message,
                      MPI_Status *status)
{
    struct rkc_hot *hot = rkc_poll_begin(RKC_MPI_Improbe, FRAME);
    if (!hot)
        return first_improbe(source, tag, comm, flag, message, status, FRAME);
    int rc = RKC_POLL_NEXT(hot, Improbe)(source, tag, comm, flag, message, status);
    uint64_t now = rkc_clock_counter();
    if (RKC_UNLIKELY(!is_in_vain(rc, flag) || !rkc_poll_missed(hot, now)))
        return hit_probe(hot, rc, flag, now);
    return MPI_SUCCESS;
}

POLLS int MPI_Testsome(int count, MPI_Request requests[], int *outcount, int indices[],
                       MPI_Status statuses[])
{
    struct rkc_hot *hot = is_few(count) ? rkc_poll_begin(RKC_MPI_Testsome, FRAME) : NULL;
    if (!hot)
        return first_testsome(count, requests, outcount, indices, statuses, FRAME);
    struct asked asked;
    statuses = ask(&asked, hot, count, requests, indices, outcount, statuses);
    int rc = RKC_POLL_NEXT(hot, Testsome)(count, requests, outcount, indices, statuses);
    uint64_t now = rkc_clock_counter();
    if (!is_missed(&asked, hot, rc, now))
        return hit(&asked, rc, now, book_some);
    return MPI_SUCCESS;
}

POLLS int MPI_Testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
    struct rkc_hot *hot = is_few(count) ? rkc_poll_begin(RKC_MPI_Testall, FRAME) : NULL;
    if (!hot)
        return first_testall(count, requests, flag, statuses, FRAME);
    struct asked asked;
    statuses = ask(&asked, hot, count, requests, NULL, flag, statuses);
    int rc = RKC_POLL_NEXT(hot, Testall)(count, requests, flag, statuses);
    uint64_t now = rkc_clock_counter();
    if (!is_missed(&asked, hot, rc, now))
        return hit(&asked, rc, now, book_all);
    return MPI_SUCCESS;
}

AT(512) POLLS int MPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    struct rkc_hot *hot = rkc_poll_begin(RKC_MPI_Iprobe, FRAME);
    if (!hot)
        return first_iprobe(source, tag, comm, flag, status, FRAME);
    int rc = RKC_POLL_NEXT(hot, Iprobe)(source, tag, comm, flag, status);
    uint64_t now = rkc_clock_counter();
    if (RKC_UNLIKELY(!is_in_vain(rc, flag) || !rkc_poll_missed(hot, now)))
        return hit_probe(hot, rc, flag, now);
    return MPI_SUCCESS;
}
