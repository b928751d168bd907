/* fortran_poll.c - the Fortran calls that ask whether something has happened yet: see poll.h.
 *
 * What one gets wrong here: a number tells which request it was as long as that is not completed,
 * and so has to be looked up before each call, though most come to nothing; a loop's calls have the
 * same numbers, so that they are looked up once. And whether there is a status to read must be
 * known before.
 */
#include "autoconf.h"

#include <stdlib.h>
#include <string.h>

#include "fortran.h"
#include "poll.h"
#include "watch.h"

/* Of more requests a call is like any other. */
enum { FEW = 16 };

/* One that asks: of some requests, or of none. */
struct question {
    struct rkc_fortran *f;
    enum rkc_mpi_id id;
    int done;             /* argument: whether, or how many */
    int n;                /* requests */
    int requests, status; /* arguments */
    enum rkc_fortran_mark ignore;
    /* Book a call that completed some. */
    void (*book)(struct rkc_fortran *f, struct rkc_watch *watch);
};

RKC_POLL_INLINE int is_in_vain(const struct question *asked)
{
    struct rkc_fortran *f = asked->f;
    return !rkc_fortran_failed(f) && !INT(asked->done);
}

static struct rkc_handles handles_of(const struct question *asked)
{
    const struct rkc_fortran *f = asked->f;
    return (struct rkc_handles){.first = ARG(asked->requests), .fortran = 1, .index = 1};
}

static void book(const struct question *asked, struct rkc_watch *watch)
{
    if (is_in_vain(asked)) {
        rkc_watch_none(watch);
        return;
    }
    watch->handles = handles_of(asked);
    asked->book(asked->f, watch);
}

/* ---- which requests ---- */

/* Of a loop that the thread is in, or has been in. */
struct looked_up {
    uint64_t loop;
    int n;
    MPI_Fint number[FEW];
    MPI_Request handle[FEW];
};

/* The handles of requests, until the next call; or NULL without memory. */
static inline const MPI_Request *look_up(const MPI_Fint *numbers, int n)
{
    struct rkc_thread *thread = rkc_private_hot.thread;
    struct looked_up *last = thread->polled;
    if (RKC_UNLIKELY(!last))
        last = thread->polled = calloc(1, sizeof *last);
    if (RKC_UNLIKELY(!last))
        return NULL;
    if (RKC_LIKELY(last->loop == thread->loops && last->n == n &&
                   !memcmp(last->number, numbers, (size_t)n * sizeof *numbers)))
        return last->handle;
    last->loop = thread->loops;
    last->n = n;
    for (int i = 0; i < n; i++) {
        last->number[i] = numbers[i];
        last->handle[i] = PMPI_Request_f2c(numbers[i]);
    }
    return last->handle;
}

/* ---- like any other call ---- */

static void call_it(const struct question *asked)
{
    struct rkc_fortran *f = asked->f;
    rkc_mpi_enter(&f->call, f->function);
    rkc_fortran_forward(f);
    rkc_mpi_leave(&f->call, f->function);
    rkc_poll_again(&f->call, asked->id, is_in_vain(asked));
}

static __attribute__((noinline)) void ask_first(const struct question *asked)
{
    struct rkc_fortran *f = asked->f;
    struct rkc_watch watch;
    if (!asked->requests) {
        call_it(asked);
        return;
    }
    int ignored = rkc_fortran_is(f, ARG(asked->status), asked->ignore);
    MPI_Status *given = ignored ? MPI_STATUSES_IGNORE : ARG(asked->status);
    rkc_watch_begin(&watch, asked->n, handles_of(asked), given);
    if (watch.statuses != given)
        ARG(asked->status) = watch.statuses;
    call_it(asked);
    book(asked, &watch);
}

/* ---- in a loop ---- */

/* Book one that was not in vain, or for which the loop has no room. */
static __attribute__((noinline)) void hit(const struct question *asked, struct rkc_hot *hot,
                                          uint64_t now, const MPI_Request *handles)
{
    struct rkc_fortran *f = asked->f;
    struct rkc_watch watch;
    if (is_in_vain(asked) && rkc_poll_missed_full(hot, now))
        return;
    rkc_poll_hit(hot, &f->call);
    if (!asked->requests)
        return;
    struct rkc_handles kept = {.first = handles, .index = 1};
    rkc_watch_begin(&watch, asked->n, kept, ARG(asked->status));
    book(asked, &watch);
}

RKC_POLL_INLINE int is_few(const struct question *asked)
{
    return !asked->requests || (asked->n > 0 && asked->n <= FEW);
}

/* One for each function, of whose question all is known there. */
RKC_POLL_INLINE void ask(const struct question *asked)
{
    struct rkc_fortran *f = asked->f;
    MPI_Status statuses[FEW];
    const MPI_Request *handles = NULL;
    struct rkc_hot *hot =
        is_few(asked) ? rkc_poll_begin(asked->id, __builtin_frame_address(0)) : NULL;
    if (!hot) {
        ask_first(asked);
        return;
    }
    if (asked->requests) {
        handles = look_up(ARG(asked->requests), asked->n);
        if (rkc_fortran_is(f, ARG(asked->status), asked->ignore))
            ARG(asked->status) = statuses;
    }
    rkc_fortran_forward(f);
    uint64_t now = rkc_clock_counter();
    if (!is_in_vain(asked) || !rkc_poll_missed(hot, now))
        hit(asked, hot, now, handles);
}

/* ---- the functions ---- */

void rkc_fortran_Iprobe(struct rkc_fortran *f)
{
    ask(&(struct question){.f = f, .id = RKC_MPI_Iprobe, .done = 4});
}

void rkc_fortran_Improbe(struct rkc_fortran *f)
{
    ask(&(struct question){.f = f, .id = RKC_MPI_Improbe, .done = 4});
}

/* As if it were one of any, the first. */
static void book_one(struct rkc_fortran *f, struct rkc_watch *watch)
{
    rkc_watch_any(watch, &f->call, rkc_fortran_result(f), 1);
}

static void book_all(struct rkc_fortran *f, struct rkc_watch *watch)
{
    rkc_watch_all(watch, &f->call, rkc_fortran_result(f));
}

static void book_any(struct rkc_fortran *f, struct rkc_watch *watch)
{
    if (watch->n)
        watch->handles.index = rkc_fortran_first_index(f);
    rkc_watch_any(watch, &f->call, rkc_fortran_result(f), INT(3));
}

static void book_some(struct rkc_fortran *f, struct rkc_watch *watch)
{
    if (watch->n)
        watch->handles.index = rkc_fortran_first_index(f);
    rkc_watch_some(watch, &f->call, rkc_fortran_result(f), INT(3), ARG(4));
}

void rkc_fortran_Test(struct rkc_fortran *f)
{
    ask(&(struct question){f, RKC_MPI_Test, 2, 1, 1, 3, RKC_FORTRAN_STATUS_IGNORE, book_one});
}

void rkc_fortran_Testall(struct rkc_fortran *f)
{
    ask(&(struct question){f, RKC_MPI_Testall, 3, INT(1), 2, 4, RKC_FORTRAN_STATUSES_IGNORE,
                           book_all});
}

void rkc_fortran_Testany(struct rkc_fortran *f)
{
    ask(&(struct question){f, RKC_MPI_Testany, 4, INT(1), 2, 5, RKC_FORTRAN_STATUS_IGNORE,
                           book_any});
}

void rkc_fortran_Testsome(struct rkc_fortran *f)
{
    ask(&(struct question){f, RKC_MPI_Testsome, 3, INT(1), 2, 5, RKC_FORTRAN_STATUSES_IGNORE,
                           book_some});
}
