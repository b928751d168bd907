/* coll_persistent.c - collectives that are planned once and started twice. */
#include "autoconf.h"

#include "every.h"

#ifdef RKC_HAVE_MPI_PERSISTENT_COLLECTIVES

/* What MPI_Scatter_init made fails in MPICH when it is started again (pmodels/mpich#7550). */
static int rounds_of(const char *name)
{
    return strcmp(name, "Scatter") == 0 && every_is("MPICH Version: 4") ? 1 : 2;
}

#define WAY persistent
#undef EVERY_WAY
#define EVERY_WAY "persistent "
#define COLLECT(Name, name, sent, received, ...)                      \
    do {                                                              \
        MPI_Request request;                                          \
        CALL(C(Name##_init), (__VA_ARGS__, MPI_INFO_NULL, &request)); \
        for (int round = 0; round < rounds_of(#Name); round++) {      \
            POST(Start, (&request), sent, received);                  \
            CALL(Wait, (&request, MPI_STATUS_IGNORE));                \
        }                                                             \
        CALL(Request_free, (&request));                               \
    } while (0)
#define MEET(comm)                                           \
    do {                                                     \
        MPI_Request request;                                 \
        CALL(Barrier_init, (comm, MPI_INFO_NULL, &request)); \
        CALL(Start, (&request));                             \
        COMPLETED(Start, 1);                                 \
        CALL(Wait, (&request, MPI_STATUS_IGNORE));           \
        CALL(Request_free, (&request));                      \
    } while (0)
#include "coll_calls.h"

#ifdef RKC_HAVE_MPI_LARGE_COUNT
#define EVERY_LARGE
#include "every.h"

#include "coll_calls.h"
#endif

#endif
