/* misc.c - the functions of misc.def; four ranks. */
#include "autoconf.h"

#include <stddef.h>

static const char *const rows[] = {
#define ROWS "../../pmpi/misc.def"
#include "rows.h"
    NULL,
};

#include "every.h"

static const struct every_excuse excuses[] = {
    {"MPI_Init", "a process begins once; the programs of the other rows begin with it"},
    {"MPI_Finalize", "what is recorded ends with it; tests/lifecycle.sh looks at that"},
    {"MPI_Abort", "the job ends with it; tests/cases/c23_abort.c is a job of its own"},
    {NULL, NULL},
};

extern const struct every_program every_environment[], every_external[], every_infos[];

static const struct every_program *const programs[] = {
    every_environment,
    every_external,
    every_infos,
    NULL,
};

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    return every_main(argv, "MPI_Init_thread", programs, rows, excuses);
}
