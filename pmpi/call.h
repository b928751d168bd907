/* call.h - one intercepted MPI call, from entry to return.
 *
 *   struct rkc_mpi_call call;
 *   rkc_mpi_enter(&call, RKC_MPI_FUNCTION(Send));
 *   int rc = RKC_MPI_NEXT(Send)(...);
 *   rkc_mpi_leave(&call, RKC_MPI_FUNCTION(Send));
 *   if (call.thread) it was recorded, and call.node is its call path
 *
 * Only the outermost call counts: what MPI, or a callback in it, calls in turn passes through.
 */
#ifndef RKC_PMPI_CALL_H
#define RKC_PMPI_CALL_H

#include <mpi.h>
#include <stdatomic.h>
#include <stdint.h>

#define RKC_OUTSIDE /* of librankclock */
#include "gpu/timed.h"
#include "hot.h"
#include "runtime.h"

#ifdef RKC_HAVE_MPI_LARGE_COUNT
#define RKC_MPI_LARGE(...) __VA_ARGS__
#else
#define RKC_MPI_LARGE(...)
#endif

/* RKC_MPI_Send, RKC_MPI_Send_c and so on: the rows of mpi_calls.def. */
enum rkc_mpi_id {
#define CALL(name, ...) RKC_MPI_##name,
#define CALL_C(name, ...) RKC_MPI_##name, RKC_MPI_LARGE(RKC_MPI_##name##_c,)
#define COLLECTIVE CALL
#define COLLECTIVE_C CALL_C
#define CALL_BY_HAND(name) RKC_MPI_##name,
#include "mpi_calls.def"
#undef CALL
#undef CALL_C
#undef COLLECTIVE
#undef COLLECTIVE_C
#undef CALL_BY_HAND
    RKC_MPI_C_FUNCTIONS,
    RKC_MPI_C_LAST = RKC_MPI_C_FUNCTIONS - 1,
#define CALL_OF_FORTRAN(name) RKC_MPI_##name,
#include "fortran_only.def"
#undef CALL_OF_FORTRAN
    RKC_MPI_FUNCTIONS
};

/* An MPI function, all that a call of it needs in one place. */
struct rkc_mpi_function {
    struct rkc_region *_Atomic region; /* NULL before the first call */
    void (*next)(void);                /* next.h */
    _Atomic uint32_t unit; /* of the region; RKC_NEVER_HOT keeps calls off the hot path */
};

extern struct rkc_mpi_function rkc_mpi_functions[RKC_MPI_FUNCTIONS];

#define RKC_MPI_FUNCTION(name) (&rkc_mpi_functions[RKC_MPI_##name])

/* "MPI_Send" and so on. */
const char *rkc_mpi_name(const struct rkc_mpi_function *function);

/* Variables that calls look at lie side by side: a rank that shares its core with others, and gives
 * it up whenever it has nothing to do, finds little of what it needs in the caches. */
#define RKC_MPI_LOOKED_AT __attribute__((section("rkc_looked_at")))

/* Functions of which a process has hundreds and calls few lie apart from the rest, and small, for
 * what lies around a function that is called becomes part of the process, too. */
#define RKC_MPI_SELDOM __attribute__((cold, section("rkc_seldom")))

/* Lives in the wrapper. */
struct rkc_mpi_call {
    struct rkc_thread *thread; /* NULL: not recorded */
    struct rkc_node *node;     /* NULL: counted, but not as a call path of its own */
    uint64_t begin, end;       /* ticks, if recorded */
    uint64_t sync;             /* 1 + ticks in a barrier before it, or 0 (RANKCLOCK_MPI_SYNC) */
    MPI_Status status;         /* stands in for MPI_STATUS_IGNORE */
    int twin;                  /* if not recorded: a Fortran function's own, which keeps the books */
};

/* Added to the stack frame that a thread has on record while one of MPI's Fortran functions runs
 * that may call its C function in turn, until that enters. */
enum { RKC_MPI_TWIN = 1 };

/* Whether the calling function is about to enter as such a C function. */
static inline int rkc_mpi_is_twin(void)
{
    return ((uintptr_t)rkc_private_hot.mpi_frame & RKC_MPI_TWIN) != 0;
}

/* Whether a call, recorded or not, is to keep the table of requests. */
static inline int rkc_mpi_keeps(const struct rkc_mpi_call *call)
{
    return call->thread || (rkc_private_recording() && !call->twin);
}

/* Whether several threads may be in MPI at once. */
extern int rkc_mpi_concurrent;

/* Tell a thread level that MPI provided, as soon as it is known; the highest one holds. */
void rkc_mpi_set_threads(int level);

/* Add to a counter that no other thread adds to now. */
static inline void rkc_traffic_add_alone(_Atomic uint64_t *counter, uint64_t n)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
                          memory_order_relaxed);
}

/* Add to one that several threads may share; `n` may be a negative number in two's complement. */
static inline void rkc_traffic_add(_Atomic uint64_t *counter, uint64_t n)
{
    if (RKC_UNLIKELY(rkc_mpi_concurrent))
        atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
    else
        rkc_traffic_add_alone(counter, n);
}

void rkc_mpi_enter_slow(struct rkc_mpi_call *call, struct rkc_mpi_function *function,
                        const char *frame);
void rkc_mpi_leave_slow(struct rkc_mpi_call *call, struct rkc_mpi_function *function);

static inline void rkc_mpi_enter_from(struct rkc_mpi_call *call, struct rkc_mpi_function *function,
                                      const char *frame)
{
    struct rkc_hot *hot = &rkc_private_hot;
    if (RKC_LIKELY(rkc_hot_ready() && !hot->mpi_frame)) {
        uint32_t unit = atomic_load_explicit(&function->unit, memory_order_relaxed);
        struct rkc_node *node = rkc_hot_begin(hot, unit);
        if (RKC_LIKELY(node != NULL)) {
            hot->mpi_frame = frame;
            call->thread = hot->thread;
            call->node = node;
            call->begin = node->begin;
            return;
        }
    }
    rkc_mpi_enter_slow(call, function, frame);
}

/* Inlined, for the stack frame must be the wrapper's. */
__attribute__((always_inline)) static inline void rkc_mpi_enter(struct rkc_mpi_call *call,
                                                                struct rkc_mpi_function *function)
{
    rkc_mpi_enter_from(call, function, __builtin_frame_address(0));
}

static inline void rkc_mpi_leave(struct rkc_mpi_call *call, struct rkc_mpi_function *function)
{
    struct rkc_hot *hot = &rkc_private_hot;
    if (RKC_UNLIKELY(!call->thread))
        return;
    int ready = rkc_hot_ready();
    call->end = RKC_LIKELY(ready) ? rkc_clock_counter() : rkc_clock_ticks();
    hot->mpi_frame = NULL;
    struct rkc_node *node = call->node;
    if (RKC_LIKELY(ready && hot->open == node && rkc_pair_region(node->self)))
        rkc_hot_end(hot, node, rkc_pair_region(node->self), call->end);
    else
        rkc_mpi_leave_slow(call, function);
    if (RKC_UNLIKELY(rkc_gate_timed()))
        rkc_private_timed_poll();
}

/* The same as functions, for wrappers of what is called seldom, or takes long itself: there are
 * some hundreds of them. `frame` is the wrapper's. */
void rkc_mpi_enter_far(struct rkc_mpi_call *call, struct rkc_mpi_function *function,
                       const char *frame);
void rkc_mpi_leave_far(struct rkc_mpi_call *call, struct rkc_mpi_function *function);

#endif
