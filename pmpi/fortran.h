/* fortran.h - one call of a Fortran entry point of MPI.
 *
 * Its arguments are words, most of them addresses; they are handed on as they are. What counting
 * wants to know of them it asks by the macros below, in which arguments have the numbers of the
 * standard's bindings, from 1.
 */
#ifndef RKC_PMPI_FORTRAN_H
#define RKC_PMPI_FORTRAN_H

#include "call.h"

/* The forms in which a function may be called; each has functions of MPI of its own. */
enum rkc_fortran_form {
    RKC_FORTRAN_PLAIN, /* mpif.h and `use mpi` */
    RKC_FORTRAN_F08,   /* `use mpi_f08`, large counts included */
    RKC_FORTRAN_CPTR,  /* `use mpi`, with a TYPE(C_PTR) */
    RKC_FORTRAN_FORMS
};

/* Which function it is, in one number that an entry point can load at once. */
#define RKC_FORTRAN_ENTRY(id, form, ierror, flags) \
    ((unsigned)(id) | (unsigned)(form) << 12 | (unsigned)(ierror) << 16 | (flags))

enum {
    RKC_FORTRAN_MOVES = 1 << 20, /* its traffic is to be counted */
    RKC_FORTRAN_COLLECTIVE = 1 << 21,
    RKC_FORTRAN_BY_HAND = 1 << 22,
    RKC_FORTRAN_LARGE = 1 << 23, /* counts are MPI_Counts */
};

_Static_assert(RKC_MPI_FUNCTIONS < 1 << 12, "a function's number fits into its place");

static inline unsigned rkc_fortran_id(unsigned entry)
{
    return entry & 0xfff;
}

static inline enum rkc_fortran_form rkc_fortran_form(unsigned entry)
{
    return (enum rkc_fortran_form)(entry >> 12 & 0xf);
}

/* The number of the argument ierror; 0 without. */
static inline unsigned rkc_fortran_ierror(unsigned entry)
{
    return entry >> 16 & 0xf;
}

struct rkc_fortran {
    struct rkc_mpi_call call;
    struct rkc_mpi_function *function;
    unsigned entry;
    unsigned found; /* RKC_FORTRAN_DESCRIPTORS or 0 */
    const struct rkc_fortran_marks *marks; /* of its form */
    int n;
    void **args;
    void (*next)(void);
    MPI_Fint ierror; /* stands in for one that the program left out */
};

#define ARG(i) (f->args[(i) - 1])
#define INT(i) (*(const MPI_Fint *)ARG(i))
#define LONG(i) (*(const MPI_Count *)ARG(i))
#define COMM(i) rkc_mpi_comm_of(INT(i))
#define TYPE(i) rkc_mpi_type_of(INT(i))
#define WIN(i) PMPI_Win_f2c(INT(i))
#define OP(i) PMPI_Op_f2c(INT(i))
#define REQUEST(i) PMPI_Request_f2c(INT(i))
#define STATUS(i) rkc_fortran_status(f, ARG(i))
#define BUF(i) rkc_fortran_buffer(f, ARG(i))

/* ---- fortran_find.c ---- */

enum {
    RKC_FORTRAN_DESCRIPTORS = 1, /* buffers come as descriptors (ISO_Fortran_binding.h) */
    RKC_FORTRAN_FOREIGN = 2,     /* not MPI's: a function of another library that has its name */
};

/* The next definition of an entry point's function after ours. */
struct rkc_fortran_target {
    void (*_Atomic function)(void); /* NULL: not looked for */
    unsigned found;                 /* the flags above */
};

extern struct rkc_fortran_target rkc_fortran_targets[RKC_FORTRAN_FORMS][RKC_MPI_FUNCTIONS];

/* Look for it; ends the process, as the loader would without us, if there is none. */
void rkc_fortran_find(struct rkc_fortran_target *target, unsigned entry);

static inline const struct rkc_fortran_target *rkc_fortran_target(unsigned entry)
{
    struct rkc_fortran_target *target =
        &rkc_fortran_targets[rkc_fortran_form(entry)][rkc_fortran_id(entry)];
    if (RKC_UNLIKELY(!atomic_load_explicit(&target->function, memory_order_acquire)))
        rkc_fortran_find(target, entry);
    return target;
}

enum rkc_fortran_mark {
    RKC_FORTRAN_IN_PLACE,
    RKC_FORTRAN_BOTTOM,
    RKC_FORTRAN_STATUS_IGNORE,
    RKC_FORTRAN_STATUSES_IGNORE,
    RKC_FORTRAN_MARKS
};

enum { RKC_FORTRAN_SPELLINGS = 4 };

struct rkc_fortran_marks {
    _Atomic int ready;
    uint64_t may[RKC_FORTRAN_MARKS]; /* see rkc_fortran_bit */
    uint64_t may_stand;              /* for a buffer */
    /* Of the variables; the last ones of a mark may be NULL. */
    const void *at[RKC_FORTRAN_MARKS][RKC_FORTRAN_SPELLINGS];
};

extern struct rkc_fortran_marks rkc_fortran_marks[2]; /* that of `use mpi_f08` is the second */

void rkc_fortran_find_marks(int f08);
int rkc_fortran_is_one(const struct rkc_fortran_marks *marks, const void *address,
                       enum rkc_fortran_mark mark);

/* Addresses fall into 64 classes, in most of which a mark has no variable. */
static inline uint64_t rkc_fortran_bit(const void *address)
{
    return UINT64_C(1) << ((uintptr_t)address >> 4 & 63);
}

static inline const struct rkc_fortran_marks *rkc_fortran_marks_of(unsigned entry)
{
    int f08 = rkc_fortran_form(entry) == RKC_FORTRAN_F08;
    if (RKC_UNLIKELY(!atomic_load_explicit(&rkc_fortran_marks[f08].ready, memory_order_acquire)))
        rkc_fortran_find_marks(f08);
    return &rkc_fortran_marks[f08];
}

/* Whether the address is that of one of MPI's variables that stand for a constant. */
static inline int rkc_fortran_is(const struct rkc_fortran *f, const void *address,
                                 enum rkc_fortran_mark mark)
{
    return RKC_UNLIKELY(f->marks->may[mark] & rkc_fortran_bit(address)) &&
           rkc_fortran_is_one(f->marks, address, mark);
}

/* The buffer as C has it. */
static inline const void *rkc_fortran_buffer(const struct rkc_fortran *f, const void *arg)
{
    /* The address is the first thing in a descriptor. */
    const void *address = f->found & RKC_FORTRAN_DESCRIPTORS ? *(const void *const *)arg : arg;
    if (RKC_LIKELY(!(f->marks->may_stand & rkc_fortran_bit(address))))
        return address;
    if (rkc_fortran_is(f, address, RKC_FORTRAN_IN_PLACE))
        return MPI_IN_PLACE;
    return rkc_fortran_is(f, address, RKC_FORTRAN_BOTTOM) ? MPI_BOTTOM : address;
}

/* ---- fortran.c ---- */

/* Call the next function. */
void *rkc_fortran_forward(struct rkc_fortran *f);

static inline int rkc_fortran_result(const struct rkc_fortran *f)
{
    return INT(rkc_fortran_ierror(f->entry));
}

static inline int rkc_fortran_failed(const struct rkc_fortran *f)
{
    return rkc_fortran_result(f) != MPI_SUCCESS;
}

/* The status as C has it; not of one that is to be ignored. */
static inline const MPI_Status *rkc_fortran_status(struct rkc_fortran *f, const void *arg)
{
    MPI_Status status;
    PMPI_Status_f2c(arg, &status);
    f->call.status = status;
    return &f->call.status;
}

/* ---- fortran_traffic.c ---- */

/* Count what a call that was successful has moved. */
void rkc_fortran_book(struct rkc_fortran *f);

/* ---- fortran_hand.c, fortran_poll.c ---- */

/* The index that the function gives the first of some requests; not while it runs. */
int rkc_fortran_first_index(const struct rkc_fortran *f);

#define ROW(...)
#define LARGE(...)
#define CPTR(name, n)
#define BY_HAND(name, n) void rkc_fortran_##name(struct rkc_fortran *f);
#include "fortran.def"
#undef ROW
#undef LARGE
#undef CPTR
#undef BY_HAND

#endif
