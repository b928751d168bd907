/* rma.c - the functions of rma.def; four ranks. */
#include "autoconf.h"

#include <stddef.h>

static const char *const rows[] = {
#define ROWS "../../pmpi/rma.def"
#include "rows.h"
    NULL,
};

#include "every.h"

static const struct every_excuse excuses[] = {{NULL, NULL}};

extern const struct every_program every_moves[], every_windows[], every_moves_c[],
    every_windows_c[];

static const struct every_program *const programs[] = {
    every_moves,   every_windows,
#ifdef RKC_HAVE_MPI_LARGE_COUNT
    every_moves_c, every_windows_c,
#endif
    NULL,
};

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    return every_main(argv, "MPI_Init", programs, rows, excuses);
}
