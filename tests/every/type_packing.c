/* type_packing.c - packing, and the sizes that it takes. */
#include "autoconf.h"

#include "every.h"

#ifndef EVERY_LARGE
enum { N = 16 };
#endif

PROGRAM(packing)
{
    int out[N] = {0}, in[N];
    char packed[200];
    COUNT position = 0, size = 0;
    CALL(C(Pack_size), (3, MPI_INT, world, &size));
    CHECK(size >= 12);
    MOVE(C(Pack), (out, 3, MPI_INT, packed, sizeof packed, &position, world), 12, 0);
    MOVE(C(Pack), (out, 0, MPI_INT, packed, sizeof packed, &position, world), 0, 0);
    position = 0;
    MOVE(C(Unpack), (packed, sizeof packed, &position, in, 2, MPI_INT, world), 0, 8);
    MOVE(C(Unpack), (packed, sizeof packed, &position, in, 1, MPI_INT, world), 0, 4);
}

PROGRAM(packing_for_others)
{
    int out[N] = {0}, in[N];
    char packed[200];
    EXTENT position = 0, size = 0;
    CALL(C(Pack_external_size), ("external32", 3, MPI_INT, &size));
    CHECK(size == 12);
    MOVE(C(Pack_external), ("external32", out, 3, MPI_INT, packed, sizeof packed, &position), 12,
         0);
    position = 0;
    MOVE(C(Unpack_external), ("external32", packed, sizeof packed, &position, in, 3, MPI_INT), 0,
         12);
}

/* What a receive says of itself. */
PROGRAM(counts_of_statuses)
{
    int out[N] = {0}, in[N];
    COUNT count = -1;
    MPI_Status status;
    MOVE(C(Sendrecv), (out, 3, MPI_INT, right, 0, in, N, MPI_INT, left, 0, world, &status), 12, 12);
    MESSAGE(right, 12);
    CALL(C(Get_count), (&status, MPI_INT, &count));
    CHECK(count == 3);
    CALL(C(Get_elements), (&status, MPI_INT, &count));
    CHECK(count == 3);
#ifndef EVERY_LARGE
    MPI_Count large = -1;
    CALL(Get_elements_x, (&status, MPI_INT, &large));
    CHECK(large == 3);
#endif
}

PROGRAMS(packing) = {
    P(packing),
    P(packing_for_others),
    P(counts_of_statuses),
    {NULL, NULL},
};

#if defined RKC_HAVE_MPI_LARGE_COUNT && !defined EVERY_LARGE
#define EVERY_LARGE
#include "type_packing.c"
#endif
