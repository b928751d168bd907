/* fortran_traffic.c - what Fortran's calls move: the last column of fortran.def. */
#include "autoconf.h"

/* Of an array of counts. */
#define RKC_WIDTH(counts) (f->entry & RKC_FORTRAN_LARGE ? sizeof(MPI_Count) : sizeof(MPI_Fint))

#include "fortran.h"
#include "request.h"
#include "traffic.h"

/* Words use their arguments more than once: that the same number stands for the same thing while
 * they do saves calls. */
#ifdef OPEN_MPI
extern __typeof__(PMPI_Type_f2c) PMPI_Type_f2c __attribute__((const));
extern __typeof__(PMPI_Comm_f2c) PMPI_Comm_f2c __attribute__((const));
extern __typeof__(PMPI_Win_f2c) PMPI_Win_f2c __attribute__((const));
#endif

#define COUNTS(i) ARG(i)
#define COUNT(i) count_of(f, ARG(i))
#define TYPES(i) ((const struct rkc_fortran_type *)ARG(i))

/* What the call moves, and with which request; once for all rows, of which there are many. */
struct booking {
    enum { NONE, MOVED, POSTED, PLANNED } when;
    MPI_Request request;
    struct rkc_moved moved;
};

static inline MPI_Count count_of(const struct rkc_fortran *f, const void *arg)
{
    return f->entry & RKC_FORTRAN_LARGE ? *(const MPI_Count *)arg : *(const MPI_Fint *)arg;
}

#define NOTHING (void)0
#define MOVES(data)            \
    if (f->call.thread) {      \
        booking->when = MOVED; \
        booking->moved = data; \
    }
#define POSTS(by, data)         \
    if (f->call.thread) {       \
        booking->when = POSTED; \
        booking->request = by;  \
        booking->moved = data;  \
    }
#define PLANS(by, data)            \
    if (rkc_mpi_keeps(&f->call)) { \
        booking->when = PLANNED;   \
        booking->request = by;     \
        booking->moved = data;     \
    }

__attribute__((section("rkc_seldom"))) static void look(struct rkc_fortran *restrict f, struct booking *restrict booking)
{
    booking->when = NONE;
    switch (rkc_fortran_id(f->entry)) {
#define ROW(name, n, texts, collective, traffic) \
    case RKC_MPI_##name:                         \
        traffic;                                 \
        break;
#ifdef RKC_HAVE_MPI_LARGE_COUNT
#define LARGE(name, n, texts, collective, traffic) case RKC_MPI_##name##_c:
#else
#define LARGE(...)
#endif
#define CPTR(name, n)
#define BY_HAND(name, n)
#include "fortran.def"
    default:
        break;
    }
}

void rkc_fortran_book(struct rkc_fortran *f)
{
    struct booking booking;
    look(f, &booking);
    if (booking.when == MOVED)
        rkc_traffic_book(&f->call, &booking.moved);
    else if (booking.when == POSTED)
        rkc_request_post(&f->call, booking.request, &booking.moved);
    else if (booking.when == PLANNED)
        rkc_request_plan(booking.request, &booking.moved);
}
