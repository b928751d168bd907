/* coll.c - the functions of coll.def; four ranks. */
#include "autoconf.h"

#include <stddef.h>

static const char *const rows[] = {
#define ROWS "../../pmpi/coll.def"
#include "rows.h"
    NULL,
};

#include "every.h"

static const struct every_excuse excuses[] = {{NULL, NULL}};

extern const struct every_program every_blocking[], every_nonblocking[], every_persistent[],
    every_operations[], every_blocking_c[], every_nonblocking_c[], every_persistent_c[],
    every_operations_c[];

static const struct every_program *const programs[] = {
    every_blocking,
    every_nonblocking,
#ifdef RKC_HAVE_MPI_PERSISTENT_COLLECTIVES
    every_persistent,
#endif
    every_operations,
#ifdef RKC_HAVE_MPI_LARGE_COUNT
    every_blocking_c,
    every_nonblocking_c,
    every_operations_c,
#ifdef RKC_HAVE_MPI_PERSISTENT_COLLECTIVES
    every_persistent_c,
#endif
#endif
    NULL,
};

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    return every_main(argv, "MPI_Init", programs, rows, excuses);
}
