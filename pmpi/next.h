/* next.h - what a wrapper calls: the function of its name that stands next in line.
 *
 *   int rc = RKC_MPI_NEXT(Send)(...);
 *
 * It is MPI's own PMPI_Send, unless another tool stands between this library and MPI: then it
 * is that tool's MPI_Send, which it would not see otherwise. Queries of our own are none of the
 * program's calls and go to PMPI_ directly.
 */
#ifndef RKC_PMPI_NEXT_H
#define RKC_PMPI_NEXT_H

#include "call.h"

/* With the type of PMPI_NAME. */
#define RKC_MPI_NEXT(name) ((__typeof__(&PMPI_##name))RKC_MPI_FUNCTION(name)->next)

/* Look for other tools, once; before the first call that might be theirs to see. */
void rkc_mpi_next_find(void);

/* The file of the i-th other tool found, before us in line or behind; NULL beyond the last. */
const char *rkc_mpi_next_tool(int i);

#endif
