/* coll_operations.c - operations of reductions. */
#include "autoconf.h"

#include "every.h"

#ifndef EVERY_LARGE
static void twice(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *n; i++)
        ((int *)inout)[i] += 2 * ((int *)in)[i];
}
#else
static void twice_c(void *in, void *inout, MPI_Count *n, MPI_Datatype *type)
{
    int m = (int)*n;
    twice(in, inout, &m, type);
}
#endif

/* Within one rank nothing moves. */
PROGRAM(operation)
{
    int in[3] = {1, 2, 3}, out[3] = {1, 1, 1}, commutes = -1;
    MPI_Op op;
    CALL(C(Op_create), (C(twice), 0, &op));
    CALL(Op_commutative, (op, &commutes));
    CHECK(commutes == 0);
    CALL(C(Reduce_local), (in, out, 3, MPI_INT, op));
    CHECK(out[2] == 7);
    MOVE(C(Allreduce), (in, out, 3, MPI_INT, op, world), 12, 12);
    CALL(Op_free, (&op));
}

PROGRAMS(operations) = {P(operation), {NULL, NULL}};

#if defined RKC_HAVE_MPI_LARGE_COUNT && !defined EVERY_LARGE
#define EVERY_LARGE
#include "coll_operations.c"
#endif
