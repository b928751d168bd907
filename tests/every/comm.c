/* comm.c - the functions of comm.def; four ranks, and some that they spawn. */
#include "autoconf.h"

#include <stddef.h>

static const char *const rows[] = {
#define ROWS "../../pmpi/comm.def"
#include "rows.h"
    NULL,
};

#include "every.h"

static const struct every_excuse excuses[] = {{NULL, NULL}};

extern const struct every_program every_communicators[], every_groups[], every_topologies[],
    every_processes[], every_sessions[];

static const struct every_program *const programs[] = {
    every_communicators,
    every_groups,
    every_topologies,
    every_processes,
#ifdef RKC_HAVE_MPI_SESSIONS
    every_sessions,
#endif
    NULL,
};

int main(int argc, char **argv)
{
    MPI_Comm parent;
    MPI_Init(&argc, &argv);
    PMPI_Comm_get_parent(&parent);
    return parent == MPI_COMM_NULL ? every_main(argv, "MPI_Init", programs, rows, excuses)
                                   : every_spawned(parent);
}
