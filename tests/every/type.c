/* type.c - the functions of type.def; four ranks. */
#include "autoconf.h"

#include <stddef.h>

static const char *const rows[] = {
#define ROWS "../../pmpi/type.def"
#include "rows.h"
    NULL,
};

#include "every.h"

static const struct every_excuse excuses[] = {{NULL, NULL}};

extern const struct every_program every_types[], every_packing[], every_types_c[],
    every_packing_c[];

static const struct every_program *const programs[] = {
    every_types,   every_packing,
#ifdef RKC_HAVE_MPI_LARGE_COUNT
    every_types_c, every_packing_c,
#endif
    NULL,
};

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    return every_main(argv, "MPI_Init", programs, rows, excuses);
}
