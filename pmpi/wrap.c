/* wrap.c - MPI's C functions, one for each row of mpi_calls.def. */
#include "autoconf.h"

#include "next.h"
#include "request.h"
#include "traffic.h"

/* A status to read afterwards, even if the program wants none. */
#define STATUS(status) ((status) == MPI_STATUS_IGNORE && call.thread ? &call.status : (status))

/* When, as traffic.h explains. Plans are kept even where calls are not recorded, since a
 * request made while recording is paused may be started later. */
#define NOTHING (void)0
#define MOVES(data)  \
    if (call.thread) \
        BOOK(&call, data);
#define POSTS(request, data)                         \
    if (call.thread) {                               \
        struct rkc_moved moved = data;               \
        rkc_request_post(&call, *(request), &moved); \
    }
#define PLANS(request, data)                  \
    if (rkc_mpi_keeps(&call)) {               \
        struct rkc_moved moved = data;        \
        rkc_request_plan(*(request), &moved); \
    }

static inline void book(const struct rkc_mpi_call *call, struct rkc_moved moved)
{
    rkc_traffic_book(call, &moved);
}

/* Constant by the standard, but not in the mpi.h of MPICH 4.0. */
#define PARTITION_LIST                                                                    \
    __typeof__(_Generic(&MPI_Pready_list, int (*)(int, int *, MPI_Request): (int *)NULL, \
                        default: (const int *)NULL))

#define WRAP_WITH(before, after, name, params, args, traffic) \
    PLACE RKC_API int MPI_##name params                       \
    {                                                         \
        struct rkc_mpi_call call;                             \
        ENTER(&call, RKC_MPI_FUNCTION(name));                 \
        before;                                               \
        int rc = RKC_MPI_NEXT(name) args;                     \
        LEAVE(&call, RKC_MPI_FUNCTION(name));                 \
        if (RKC_LIKELY(rc == MPI_SUCCESS)) {                  \
            traffic;                                          \
            after;                                            \
        }                                                     \
        return rc;                                            \
    }
#define WRAP(name, params, args, traffic) WRAP_WITH((void)0, (void)0, name, params, args, traffic)

/* With RANKCLOCK_MPI_SYNC a barrier comes before. */
#define WRAP_COLLECTIVE(name, params, args, traffic)                           \
    WRAP_WITH(if (RKC_UNLIKELY(rkc_mpi_sync)) rkc_wait_sync(&call, comm),      \
              if (RKC_UNLIKELY(rkc_mpi_sync)) rkc_wait_book_sync(&call, comm), \
              name, params, args, traffic)

#define CALL_BY_HAND(name)
#define COUNT int
#define DISPL int
#define EXTENT MPI_Aint

/* What may be called millions of times. Flattened: the compiler would share the hot path among
 * functions, at the cost of calling it. */
#define PLACE __attribute__((flatten))
#define ENTER rkc_mpi_enter
#define LEAVE rkc_mpi_leave
#define BOOK rkc_traffic_book_here
#define CALL WRAP
#define CALL_C WRAP
#include "p2p.def"
#undef CALL
#undef CALL_C
#define CALL(...)
#define CALL_C(...)
#define COLLECTIVE WRAP_COLLECTIVE
#define COLLECTIVE_C WRAP_COLLECTIVE
#include "coll.def"
#undef PLACE
#undef ENTER
#undef LEAVE
#undef BOOK

/* The others. */
#define PLACE RKC_MPI_SELDOM
#define ENTER(call, function) rkc_mpi_enter_far(call, function, __builtin_frame_address(0))
#define LEAVE rkc_mpi_leave_far
#define BOOK book
#undef CALL
#undef CALL_C
#undef COLLECTIVE
#undef COLLECTIVE_C
#define CALL WRAP
#define CALL_C WRAP
#define COLLECTIVE(...)
#define COLLECTIVE_C(...)
#include "coll.def"
#undef COLLECTIVE
#undef COLLECTIVE_C
#define COLLECTIVE WRAP_COLLECTIVE
#define COLLECTIVE_C WRAP_COLLECTIVE
#include "comm.def"
#include "io.def"
#include "misc.def"
#include "rma.def"
#include "type.def"
#undef CALL
#undef CALL_C
#undef COLLECTIVE
#undef COLLECTIVE_C
#undef COUNT
#undef DISPL
#undef EXTENT

/* All rows again, in their large-count forms. */
#ifdef RKC_HAVE_MPI_LARGE_COUNT
#define CALL(name, params, args, traffic)
#define CALL_C(name, params, args, traffic) WRAP(name##_c, params, args, traffic)
#define COLLECTIVE(name, params, args, traffic)
#define COLLECTIVE_C(name, params, args, traffic) WRAP_COLLECTIVE(name##_c, params, args, traffic)
#define COUNT MPI_Count
#define DISPL MPI_Aint
#define EXTENT MPI_Count
#include "mpi_calls.def"
#endif
