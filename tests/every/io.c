/* io.c - the functions of io.def; four ranks. */
#include "autoconf.h"

#include <stddef.h>

static const char *const rows[] = {
#define ROWS "../../pmpi/io.def"
#include "rows.h"
    NULL,
};

#include "every.h"

static const struct every_excuse excuses[] = {{NULL, NULL}};

extern const struct every_program every_files[], every_accesses[], every_accesses_c[],
    every_files_c[];

static const struct every_program *const programs[] = {
    every_files,   every_accesses,
#ifdef RKC_HAVE_MPI_LARGE_COUNT
    every_files_c, every_accesses_c,
#endif
    NULL,
};

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    return every_main(argv, "MPI_Init", programs, rows, excuses);
}
