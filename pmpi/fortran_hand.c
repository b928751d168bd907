/* fortran_hand.c - the Fortran calls that are more than a row: those of watch.h and lifecycle.h.
 *
 * Those that ask, over and over, are in fortran_poll.c. What one gets wrong here: a status that the
 * program ignores is replaced by one of ours, in the form of Fortran, which has the size of C's; and
 * LOGICAL has more than one true value.
 */
#include "autoconf.h"

#include "fortran.h"
#include "lifecycle.h"
#include "watch.h"

static void call_it(struct rkc_fortran *f)
{
    rkc_mpi_enter(&f->call, f->function);
    rkc_fortran_forward(f);
    rkc_mpi_leave(&f->call, f->function);
}

static struct rkc_handles handles_of(const struct rkc_fortran *f, int i)
{
    return (struct rkc_handles){.first = ARG(i), .fortran = 1, .index = 1};
}

/* ---- one request ---- */

/* The call, with a status to read in argument `i` if the request is watched. */
static void call_watched(struct rkc_fortran *f, uint64_t key, int i)
{
    if (key && rkc_fortran_is(f, ARG(i), RKC_FORTRAN_STATUS_IGNORE))
        ARG(i) = &f->call.status;
    call_it(f);
}

static void one_done(struct rkc_fortran *f, uint64_t key, int status)
{
    if (!key)
        return;
    if (rkc_fortran_failed(f))
        rkc_watch_failed(key, REQUEST(1));
    else
        rkc_watch_completed(&f->call, key, STATUS(status));
}

void rkc_fortran_Wait(struct rkc_fortran *f)
{
    uint64_t key = rkc_watch_one(handles_of(f, 1));
    call_watched(f, key, 2);
    one_done(f, key, 2);
}

/* ---- indices ---- */

#ifndef OPEN_MPI
static int query(void *extra, MPI_Status *status)
{
    (void)extra;
    PMPI_Status_set_elements(status, MPI_BYTE, 0);
    return PMPI_Status_set_cancelled(status, 0);
}

static int release(void *extra)
{
    (void)extra;
    return MPI_SUCCESS;
}

static int cancel(void *extra, int complete)
{
    (void)extra, (void)complete;
    return MPI_SUCCESS;
}

/* What the function that f calls says of the second of two requests, the first of which is null:
 * MPICH 4.0 counts from 0 in `use mpi_f08`. Takes six arguments, whatever they mean. */
static int index_of_second(const struct rkc_fortran *f)
{
    MPI_Request done;
    if (PMPI_Grequest_start(query, release, cancel, NULL, &done) != MPI_SUCCESS)
        return 2;
    PMPI_Grequest_complete(done);
    MPI_Fint two = 2, ierror = MPI_SUCCESS, third[2] = {0, 0}, fourth[2] = {0, 0};
    MPI_Fint requests[2] = {PMPI_Request_c2f(MPI_REQUEST_NULL), PMPI_Request_c2f(done)};
    MPI_Status status[2];
    int any = f->function == RKC_MPI_FUNCTION(Waitany);
    void *args[] = {
        &two,   requests, third, any ? (void *)status : fourth, any ? (void *)&ierror : status,
        &ierror};
    struct rkc_fortran trial = *f;
    trial.args = args;
    rkc_fortran_forward(&trial);
    return f->function == RKC_MPI_FUNCTION(Waitany) || f->function == RKC_MPI_FUNCTION(Testany)
               ? third[0]
               : fourth[0];
}
#endif

int rkc_fortran_first_index(const struct rkc_fortran *f)
{
#ifndef OPEN_MPI
    static _Atomic char known[RKC_MPI_FUNCTIONS]; /* 1 more; 0: not asked */
    if (rkc_fortran_form(f->entry) == RKC_FORTRAN_F08) {
        _Atomic char *index = &known[rkc_fortran_id(f->entry)];
        if (!atomic_load_explicit(index, memory_order_relaxed))
            atomic_store_explicit(index, (char)index_of_second(f), memory_order_relaxed);
        return atomic_load_explicit(index, memory_order_relaxed) - 1;
    }
#endif
    (void)f;
    return 1;
}

/* ---- many requests ---- */

/* The call, with statuses to read in argument `i` if any request is watched. */
static void call_watching(struct rkc_fortran *f, struct rkc_watch *watch, int i,
                          enum rkc_fortran_mark mark)
{
    MPI_Status *given = rkc_fortran_is(f, ARG(i), mark) ? MPI_STATUSES_IGNORE : ARG(i);
    rkc_watch_begin(watch, INT(1), handles_of(f, 2), given);
    if (watch->statuses != given)
        ARG(i) = watch->statuses;
    call_it(f);
}

void rkc_fortran_Waitall(struct rkc_fortran *f)
{
    struct rkc_watch watch;
    call_watching(f, &watch, 3, RKC_FORTRAN_STATUSES_IGNORE);
    rkc_watch_all(&watch, &f->call, rkc_fortran_result(f));
}

/* The same, of a call that tells which requests it completed. */
static void call_watching_index(struct rkc_fortran *f, struct rkc_watch *watch, int i,
                                enum rkc_fortran_mark mark)
{
    call_watching(f, watch, i, mark);
    if (watch->n)
        watch->handles.index = rkc_fortran_first_index(f);
}

void rkc_fortran_Waitany(struct rkc_fortran *f)
{
    struct rkc_watch watch;
    call_watching_index(f, &watch, 4, RKC_FORTRAN_STATUS_IGNORE);
    rkc_watch_any(&watch, &f->call, rkc_fortran_result(f), INT(3));
}

void rkc_fortran_Waitsome(struct rkc_fortran *f)
{
    struct rkc_watch watch;
    call_watching_index(f, &watch, 5, RKC_FORTRAN_STATUSES_IGNORE);
    rkc_watch_some(&watch, &f->call, rkc_fortran_result(f), INT(3), ARG(4));
}

/* ---- starting, cancelling, freeing ---- */

void rkc_fortran_Start(struct rkc_fortran *f)
{
    call_it(f);
    rkc_watch_started(&f->call, rkc_fortran_result(f), handles_of(f, 1), 0);
}

void rkc_fortran_Startall(struct rkc_fortran *f)
{
    call_it(f);
    for (int i = 0; i < INT(1); i++)
        rkc_watch_started(&f->call, rkc_fortran_result(f), handles_of(f, 2), i);
}

void rkc_fortran_Cancel(struct rkc_fortran *f)
{
    uint64_t key = rkc_watch_one(handles_of(f, 1));
    call_it(f);
    if (key && !rkc_fortran_failed(f))
        rkc_request_cancel(key);
}

void rkc_fortran_Request_free(struct rkc_fortran *f)
{
    struct rkc_request was;
    uint64_t key = rkc_watch_freeing(handles_of(f, 1), &was);
    call_it(f);
    rkc_watch_freed(key, &was, rkc_fortran_result(f));
}

/* ---- the life cycle ---- */

void rkc_fortran_Init(struct rkc_fortran *f)
{
    if (!rkc_mpi_before_init()) {
        rkc_fortran_forward(f);
        return;
    }
    uint64_t begin = rkc_clock_ticks();
    call_it(f);
    if (!rkc_fortran_failed(f))
        rkc_mpi_after_init(rkc_clock_ticks() - begin);
}

void rkc_fortran_Init_thread(struct rkc_fortran *f)
{
    rkc_fortran_Init(f);
}

#ifdef RKC_HAVE_MPI_SESSIONS
void rkc_fortran_Session_init(struct rkc_fortran *f)
{
    if (!rkc_mpi_before_init()) {
        rkc_fortran_forward(f);
        return;
    }
    uint64_t begin = rkc_clock_ticks();
    call_it(f);
    if (!rkc_fortran_failed(f))
        rkc_mpi_after_session_init(PMPI_Session_f2c(INT(3)), rkc_clock_ticks() - begin);
}

void rkc_fortran_Session_finalize(struct rkc_fortran *f)
{
    call_it(f);
    if (!rkc_fortran_failed(f))
        rkc_mpi_after_session_finalize();
}
#endif

void rkc_fortran_Finalize(struct rkc_fortran *f)
{
    rkc_mpi_before_finalize();
    rkc_fortran_forward(f);
}

void rkc_fortran_Abort(struct rkc_fortran *f)
{
    rkc_mpi_before_abort();
    rkc_fortran_forward(f);
}

/* Fortran has the level alone. */
void rkc_fortran_Pcontrol(struct rkc_fortran *f)
{
    call_it(f);
    rkc_mpi_control(INT(1));
}
