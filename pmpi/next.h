/* next.h - what a wrapper calls: the function of its name that stands next in line.
 *
 *   int rc = rkc_mpi_next.Send(...);
 *
 * It is MPI's own PMPI_Send, unless another tool stands between this library and MPI: then it
 * is that tool's MPI_Send, which it would not see otherwise. Queries of our own are none of the
 * program's calls and go to PMPI_ directly.
 */
#ifndef RKC_PMPI_NEXT_H
#define RKC_PMPI_NEXT_H

#include "call.h"

/* Some of them are deprecated, which is for the program to mind. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

struct rkc_mpi_next {
#define CALL(name, ...) __typeof__(&PMPI_##name) name;
#define CALL_C(name, ...) CALL(name) RKC_MPI_LARGE(CALL(name##_c))
#define CALL_BY_HAND(name) CALL(name)
#define COLLECTIVE CALL
#define COLLECTIVE_C CALL_C
#include "mpi_calls.def"
#undef CALL
#undef CALL_C
#undef CALL_BY_HAND
#undef COLLECTIVE
#undef COLLECTIVE_C
};

#pragma GCC diagnostic pop

extern struct rkc_mpi_next rkc_mpi_next;

/* Look for other tools, once; before the first call that might be theirs to see. */
void rkc_mpi_next_find(void);

/* The file of the i-th other tool found, before us in line or behind; NULL beyond the last. */
const char *rkc_mpi_next_tool(int i);

#endif
