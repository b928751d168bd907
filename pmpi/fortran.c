/* fortran.c - MPI's Fortran entry points, for each row of fortran.def.
 *
 * What one gets wrong here: an MPI's Fortran functions may call its C functions, which come here
 * as well (MPICH), or go past them to PMPI_ (Open MPI), or both. So they are counted here, and
 * what they call is marked, so that request.h's table is not kept twice.
 *
 * There are two thousand names, of which a program uses twenty, and each process pays for the
 * pages they take: an entry point does no more than to load its number, and all share the rest.
 * The spellings of a name are aliases, since an MPI has all that its compilers use.
 */
#include "autoconf.h"

#include "fortran.h"
#include "pmpi/fortran_names.h"
#include "traffic.h"
#include "wait.h"

/* ---- calling ---- */

#define PARAMS_5 void *a1, void *a2, void *a3, void *a4, void *a5
#define PARAMS_6 PARAMS_5, void *a6
#define PARAMS_7 PARAMS_6, void *a7
#define PARAMS_8 PARAMS_7, void *a8
#define PARAMS_9 PARAMS_8, void *a9
#define PARAMS_10 PARAMS_9, void *a10
#define PARAMS_11 PARAMS_10, void *a11
#define PARAMS_12 PARAMS_11, void *a12
#define PARAMS_13 PARAMS_12, void *a13
#define PARAMS_14 PARAMS_13, void *a14

#define ARGS_5 a1, a2, a3, a4, a5
#define ARGS_6 ARGS_5, a6
#define ARGS_7 ARGS_6, a7
#define ARGS_8 ARGS_7, a8
#define ARGS_9 ARGS_8, a9
#define ARGS_10 ARGS_9, a10
#define ARGS_11 ARGS_10, a11
#define ARGS_12 ARGS_11, a12
#define ARGS_13 ARGS_12, a13
#define ARGS_14 ARGS_13, a14

#define EACH_NUMBER(DO) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11) DO(12) DO(13) DO(14)

#define TYPE_OF(n) typedef void *next_##n(PARAMS_##n);
EACH_NUMBER(TYPE_OF)

/* Call with the arguments that there are, or more. */
static inline void *call_next(const struct rkc_fortran *f)
{
    void *a1 = f->args[0], *a2 = f->args[1], *a3 = f->args[2], *a4 = f->args[3], *a5 = f->args[4];
    void **more = f->args;
    switch (f->n) {
    case 5:
        return ((next_5 *)f->next)(ARGS_5);
    case 6:
        return ((next_6 *)f->next)(ARGS_5, more[5]);
    case 7:
        return ((next_7 *)f->next)(ARGS_5, more[5], more[6]);
    case 8:
        return ((next_8 *)f->next)(ARGS_5, more[5], more[6], more[7]);
    case 9:
        return ((next_9 *)f->next)(ARGS_5, more[5], more[6], more[7], more[8]);
    case 10:
        return ((next_10 *)f->next)(ARGS_5, more[5], more[6], more[7], more[8], more[9]);
    case 11:
        return ((next_11 *)f->next)(ARGS_5, more[5], more[6], more[7], more[8], more[9], more[10]);
    case 12:
        return ((next_12 *)f->next)(ARGS_5, more[5], more[6], more[7], more[8], more[9], more[10],
                                    more[11]);
    case 13:
        return ((next_13 *)f->next)(ARGS_5, more[5], more[6], more[7], more[8], more[9], more[10],
                                    more[11], more[12]);
    default:
        return ((next_14 *)f->next)(ARGS_5, more[5], more[6], more[7], more[8], more[9], more[10],
                                    more[11], more[12], more[13]);
    }
}

/* Open MPI's never call their C functions; of MPICH's, those of `use mpi_f08` without buffers
 * do not. */
static int may_call_c(const struct rkc_fortran *f)
{
#ifdef OPEN_MPI
    (void)f;
    return 0;
#else
    return rkc_fortran_form(f->entry) != RKC_FORTRAN_F08 || (f->found & RKC_FORTRAN_DESCRIPTORS);
#endif
}

void *rkc_fortran_forward(struct rkc_fortran *f)
{
    if (!may_call_c(f))
        return call_next(f);
    struct rkc_hot *hot = &rkc_private_hot;
    const char *outer = hot->mpi_frame, *frame = __builtin_frame_address(0);
    hot->mpi_frame = (outer ? outer : frame) + RKC_MPI_TWIN;
    void *result = call_next(f);
    hot->mpi_frame = outer;
    return result;
}

/* ---- entering ---- */

static void call_by_hand(struct rkc_fortran *f)
{
    switch (rkc_fortran_id(f->entry)) {
#define ROW(...)
#define LARGE(...)
#define CPTR(name, n)
#define BY_HAND(name, n)       \
    case RKC_MPI_##name:       \
        rkc_fortran_##name(f); \
        break;
#include "fortran.def"
#undef ROW
#undef LARGE
#undef CPTR
#undef BY_HAND
    default:
        break;
    }
}

/* One that is to be ignored is to be read nonetheless: the last argument but ierror. */
static void keep_status(struct rkc_fortran *f)
{
    void **status = &f->args[rkc_fortran_ierror(f->entry) - 2];
    if (rkc_fortran_is(f, *status, RKC_FORTRAN_STATUS_IGNORE))
        *status = &f->call.status;
}

/* With RANKCLOCK_MPI_SYNC a barrier comes before. */
static int wants_sync(const struct rkc_fortran *f)
{
    return RKC_UNLIKELY(rkc_mpi_sync) && (f->entry & RKC_FORTRAN_COLLECTIVE);
}

static void count_call(struct rkc_fortran *f)
{
    rkc_mpi_enter(&f->call, f->function);
    if (wants_sync(f))
        rkc_wait_sync(&f->call, COMM(rkc_fortran_ierror(f->entry) - 1));
    if ((f->entry & RKC_FORTRAN_MOVES) && f->call.thread)
        keep_status(f);
    rkc_fortran_forward(f);
    rkc_mpi_leave(&f->call, f->function);
    if ((f->entry & RKC_FORTRAN_MOVES) && !rkc_fortran_failed(f)) {
        rkc_fortran_book(f);
        if (wants_sync(f))
            rkc_wait_book_sync(&f->call, COMM(rkc_fortran_ierror(f->entry) - 1));
    }
}

/* Whatever the entry point; of five arguments or fewer there are five. */
__attribute__((noinline, hot)) static void *enter(void **args, int n, unsigned entry)
{
    struct rkc_fortran f;
    f.entry = entry;
    f.n = n;
    f.args = args;
    f.function = &rkc_mpi_functions[rkc_fortran_id(entry)];
    const struct rkc_fortran_target *target = rkc_fortran_target(entry);
    f.next = atomic_load_explicit(&target->function, memory_order_relaxed);
    f.found = target->found;
    if (RKC_UNLIKELY(f.found & RKC_FORTRAN_FOREIGN))
        return call_next(&f);
    f.marks = rkc_fortran_marks_of(entry);
    unsigned ierror = rkc_fortran_ierror(entry);
    f.ierror = MPI_SUCCESS;
    if (ierror && !args[ierror - 1])
        args[ierror - 1] = &f.ierror;
    if (entry & RKC_FORTRAN_BY_HAND)
        call_by_hand(&f);
    else
        count_call(&f);
    return NULL;
}

#define ENTER(n)                                                                 \
    __attribute__((noinline)) static void *enter_##n(PARAMS_##n, unsigned entry) \
    {                                                                            \
        void *args[] = {ARGS_##n};                                               \
        return enter(args, n, entry);                                            \
    }
EACH_NUMBER(ENTER)

/* ---- entry points ---- */

#define PARAMS_1 PARAMS_5
#define PARAMS_2 PARAMS_5
#define PARAMS_3 PARAMS_5
#define PARAMS_4 PARAMS_5
#define ARGS_1 ARGS_5
#define ARGS_2 ARGS_5
#define ARGS_3 ARGS_5
#define ARGS_4 ARGS_5
#define enter_1 enter_5
#define enter_2 enter_5
#define enter_3 enter_5
#define enter_4 enter_5

#define JOIN(a, b) a##b
#define JOINED(a, b) JOIN(a, b)
#define LOWER(name, suffix) JOINED(RKC_LOWER_##name, suffix)
#define UPPER(name, suffix) JOINED(RKC_UPPER_##name, suffix)

/* The compiler wants to have seen a function declared. */
#define POINT(symbol, n, entry)                      \
    RKC_MPI_SELDOM RKC_API void *symbol(PARAMS_##n); \
    RKC_MPI_SELDOM RKC_API void *symbol(PARAMS_##n)  \
    {                                                \
        return enter_##n(ARGS_##n, entry);           \
    }
#define NAME_TEXT(symbol) #symbol
#define NAMED(symbol) NAME_TEXT(symbol)
#define ALSO(symbol, n, point) \
    __attribute__((cold)) RKC_API void *symbol(PARAMS_##n) __attribute__((alias(NAMED(point))));

/* The spellings that compilers make of a name, and what `use mpi` makes of it for a pointer. */
#define PLAIN_POINT(name, suffix, SUFFIX, n, entry)          \
    POINT(LOWER(name, suffix##_), n, entry)                  \
    ALSO(LOWER(name, suffix), n, LOWER(name, suffix##_))     \
    ALSO(LOWER(name, suffix##__), n, LOWER(name, suffix##_)) \
    ALSO(UPPER(name, SUFFIX), n, LOWER(name, suffix##_))

#ifdef OPEN_MPI
#define F08_POINT(name, size, n, entry) POINT(LOWER(name, _f08##size), n, entry)
#else
/* With descriptors for buffers (ts), or without; an MPI has one of the two. */
#define F08_POINT(name, size, n, entry)      \
    POINT(LOWER(name, _f08##size), n, entry) \
    ALSO(LOWER(name, _f08ts##size), n, LOWER(name, _f08##size))
#endif

#define BOTH_POINTS(name, n, ierror, flags)                                                       \
    PLAIN_POINT(name, , , n, RKC_FORTRAN_ENTRY(RKC_MPI_##name, RKC_FORTRAN_PLAIN, ierror, flags)) \
    F08_POINT(name, _, n, RKC_FORTRAN_ENTRY(RKC_MPI_##name, RKC_FORTRAN_F08, ierror, flags))

#define FLAGS(collective, traffic) ((collective) ? RKC_FORTRAN_COLLECTIVE : 0) | (traffic)
#define ROW(name, n, texts, collective, traffic) \
    BOTH_POINTS(name, n, (n) - (texts), FLAGS(collective, traffic))
#ifdef RKC_HAVE_MPI_LARGE_COUNT
#define LARGE(name, n, texts, collective, traffic)                                  \
    F08_POINT(name, _large_, n,                                                     \
              RKC_FORTRAN_ENTRY(RKC_MPI_##name##_c, RKC_FORTRAN_F08, (n) - (texts), \
                                FLAGS(collective, traffic) | RKC_FORTRAN_LARGE))
#else
#define LARGE(name, n, texts, collective, traffic)
#endif
#define CPTR(name, n) \
    PLAIN_POINT(name, _cptr, _CPTR, n, RKC_FORTRAN_ENTRY(RKC_MPI_##name, RKC_FORTRAN_CPTR, n, 0))
#define BY_HAND(name, n) BOTH_POINTS(name, n, n, RKC_FORTRAN_BY_HAND)

#define NOTHING 0
#define MOVES(...) RKC_FORTRAN_MOVES
#define POSTS MOVES
#define PLANS MOVES
#include "fortran.def"
