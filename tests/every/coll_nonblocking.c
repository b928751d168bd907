/* coll_nonblocking.c - collectives by requests. */
#include "autoconf.h"

#include "every.h"

#define WAY nonblocking
#undef EVERY_WAY
#define EVERY_WAY "nonblocking "
#define COLLECT(Name, name, sent, received, ...)                   \
    do {                                                           \
        MPI_Request request;                                       \
        POST(C(I##name), (__VA_ARGS__, &request), sent, received); \
        CALL(Wait, (&request, MPI_STATUS_IGNORE));                 \
    } while (0)
#define MEET(comm)                                 \
    do {                                           \
        MPI_Request request;                       \
        CALL(Ibarrier, (comm, &request));          \
        COMPLETED(Ibarrier, 1);                    \
        CALL(Wait, (&request, MPI_STATUS_IGNORE)); \
    } while (0)
#include "coll_calls.h"

#ifdef RKC_HAVE_MPI_LARGE_COUNT
#define EVERY_LARGE
#include "every.h"

#include "coll_calls.h"
#endif
