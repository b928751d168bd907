/* coll_blocking.c - collectives that block. */
#include "autoconf.h"

#include "every.h"

#define WAY blocking
#undef EVERY_WAY
#define EVERY_WAY "blocking "
#define COLLECT(Name, name, sent, received, ...) MOVE(C(Name), (__VA_ARGS__), sent, received)
#define MEET(comm) CALL(Barrier, (comm))
#include "coll_calls.h"

#ifdef RKC_HAVE_MPI_LARGE_COUNT
#define EVERY_LARGE
#include "every.h"

#include "coll_calls.h"
#endif
