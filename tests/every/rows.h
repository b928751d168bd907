/* rows.h - the names of the functions in ROWS, a file of rows, for a list of texts; see
 * mpi_calls.def. */
#ifdef RKC_HAVE_MPI_LARGE_COUNT
#define CALL_C(name, ...) "MPI_" #name, "MPI_" #name "_c",
#else
#define CALL_C(name, ...) "MPI_" #name,
#endif
#define CALL(name, ...) "MPI_" #name,
#define COLLECTIVE CALL
#define COLLECTIVE_C CALL_C
#define CALL_BY_HAND(name) "MPI_" #name,
#include ROWS
#undef CALL
#undef CALL_C
#undef COLLECTIVE
#undef COLLECTIVE_C
#undef CALL_BY_HAND
