/* p2p.c - the functions of p2p.def; four ranks. */
#include "autoconf.h"

#include <stddef.h>

static const char *const rows[] = {
#define ROWS "../../pmpi/p2p.def"
#include "rows.h"
    NULL,
};

#include "every.h"

static const struct every_excuse excuses[] = {{NULL, NULL}};

extern const struct every_program every_blocking[], every_requests[], every_persistent[],
    every_blocking_c[], every_requests_c[], every_persistent_c[];

static const struct every_program *const programs[] = {
    every_blocking,
    every_requests,
    every_persistent,
#ifdef RKC_HAVE_MPI_LARGE_COUNT
    every_blocking_c,
    every_requests_c,
    every_persistent_c,
#endif
    NULL,
};

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    return every_main(argv, "MPI_Init", programs, rows, excuses);
}
