/* carrier.c - a request is a pointer in one MPI and a number in another.
 *
 * Collective operations of ours never meet the program's messages, nor other collective operations
 * of it than those that not all ranks have begun, which is an error of the program. A message
 * of ours could be taken by a receive that the program left, and ours could take its own: they
 * need a communicator that the program does not know. Making it takes several steps, and memory,
 * and calls the functions by which the program copies its attributes. */
#include "autoconf.h"

#include "carrier.h"

#include <dlfcn.h>
#include <string.h>

_Static_assert(sizeof(MPI_Request) <= sizeof(struct rkc_pending), "a request is kept in it");

/* Trees take several steps, at each of which somebody sleeps, or has no core at once. Open MPI
 * gathers and scatters in one step, so up to so many ranks that is quicker; MPICH has trees in
 * both. What is under way stays where it is, for after a deadline it is so for good. */
#ifdef OPEN_MPI
enum { FEW = 64 };
#else
enum { FEW = 0 };
#endif

/* An agreement of few: rank 0 gathers what all have, and scatters what it comes to. */
static struct {
    int under_way; /* in gathering */
    MPI_Request gathered;
    const struct rkc_mpi_comms *comms;
    int64_t *values;
    int n;
    int64_t mine[RKC_AGREE_MAX], all[64 * RKC_AGREE_MAX];
} agreement;
static char told[64 * RKC_AGREE_MAX * sizeof(int64_t)]; /* by rank 0, to each the same */

/* What a call that makes a request comes to. */
static int keep(int rc, MPI_Request request, struct rkc_pending *pending)
{
    if (rc != MPI_SUCCESS)
        return RKC_EMPI;
    memcpy(pending, &request, sizeof request);
    return 0;
}

static int send_bytes(void *context, const void *data, int bytes, int to, int tag,
                      struct rkc_pending *pending)
{
    const struct rkc_mpi_comms *comms = context;
    MPI_Request request = MPI_REQUEST_NULL;
    int rc = PMPI_Isend(data, bytes, MPI_BYTE, to, tag, comms->own, &request);
    return keep(rc, request, pending);
}

static int receive_bytes(void *context, void *data, int bytes, int from, int tag,
                         struct rkc_pending *pending)
{
    const struct rkc_mpi_comms *comms = context;
    MPI_Request request = MPI_REQUEST_NULL;
    int rc = PMPI_Irecv(data, bytes, MPI_BYTE, from, tag, comms->own, &request);
    return keep(rc, request, pending);
}

/* Bytes of rank 0 to each, where ranks are few. */
static int scatter(const struct rkc_mpi_comms *comms, void *data, int bytes, MPI_Request *request)
{
    if (comms->rank != 0)
        return PMPI_Iscatter(NULL, bytes, MPI_BYTE, data, bytes, MPI_BYTE, 0, comms->shared,
                             request);
    for (int i = 0; i < comms->size; i++)
        memcpy(told + i * bytes, data, (size_t)bytes);
    return PMPI_Iscatter(told, bytes, MPI_BYTE, MPI_IN_PLACE, bytes, MPI_BYTE, 0, comms->shared,
                         request);
}

/* Rank 0 has what all have. */
static int scatter_largest(MPI_Request *request)
{
    int n = agreement.n;
    for (int i = 0; i < agreement.comms->size * n; i++)
        if (agreement.all[i] > agreement.values[i % n])
            agreement.values[i % n] = agreement.all[i];
    return scatter(agreement.comms, agreement.values, n * (int)sizeof(int64_t), request);
}

static int test_request(struct rkc_pending *pending, int *done)
{
    MPI_Request request;
    int rc = MPI_SUCCESS;
    memcpy(&request, pending, sizeof request);
    if (agreement.under_way) {
        rc = PMPI_Test(&agreement.gathered, done, MPI_STATUS_IGNORE);
        if (rc != MPI_SUCCESS || !*done)
            return keep(rc, request, pending);
        agreement.under_way = 0;
        if (agreement.comms->rank == 0)
            rc = scatter_largest(&request);
    }
    if (rc == MPI_SUCCESS)
        rc = PMPI_Test(&request, done, MPI_STATUS_IGNORE);
    return keep(rc, request, pending);
}

/* The others are ready for what rank 0 makes of it. */
static int agree_by_root(const struct rkc_mpi_comms *comms, int64_t *values, int n,
                         MPI_Request *request)
{
    agreement.comms = comms;
    agreement.values = values;
    agreement.n = n;
    memcpy(agreement.mine, values, (size_t)n * sizeof *values);
    int rc = PMPI_Igather(agreement.mine, n, MPI_INT64_T, agreement.all, n, MPI_INT64_T, 0,
                          comms->shared, &agreement.gathered);
    if (rc == MPI_SUCCESS && comms->rank != 0)
        rc = scatter(comms, values, n * (int)sizeof *values, request);
    agreement.under_way = rc == MPI_SUCCESS;
    return rc;
}

static int agree(void *context, int64_t *values, int n, struct rkc_pending *pending)
{
    const struct rkc_mpi_comms *comms = context;
    MPI_Request request = MPI_REQUEST_NULL;
    int rc = comms->size <= FEW ? agree_by_root(comms, values, n, &request)
                                : PMPI_Iallreduce(MPI_IN_PLACE, values, n, MPI_INT64_T, MPI_MAX,
                                                  comms->shared, &request);
    return keep(rc, request, pending);
}

static int gather_bytes(void *context, const void *data, int bytes, void *all,
                        struct rkc_pending *pending)
{
    const struct rkc_mpi_comms *comms = context;
    MPI_Request request = MPI_REQUEST_NULL;
    int rc = PMPI_Igather(data, bytes, MPI_BYTE, all, bytes, MPI_BYTE, 0, comms->shared, &request);
    return keep(rc, request, pending);
}

static int tell_bytes(void *context, void *data, int bytes, struct rkc_pending *pending)
{
    const struct rkc_mpi_comms *comms = context;
    MPI_Request request = MPI_REQUEST_NULL;
    int rc = comms->size <= FEW ? scatter(comms, data, bytes, &request)
                                : PMPI_Ibcast(data, bytes, MPI_BYTE, 0, comms->shared, &request);
    return keep(rc, request, pending);
}

static int duplicate(void *context, struct rkc_pending *pending)
{
    struct rkc_mpi_comms *comms = context;
    MPI_Request request = MPI_REQUEST_NULL;
    int rc = PMPI_Comm_idup(comms->shared, &comms->own, &request);
    return keep(rc, request, pending);
}

/* It has inherited the program's error handler. */
static void use_duplicate(void *context)
{
    const struct rkc_mpi_comms *comms = context;
    PMPI_Comm_set_errhandler(comms->own, MPI_ERRORS_RETURN);
}

/* For ucs_log_push_handler (ucs/debug/log.h): stop, which is 0, at what is no error. */
static int let_errors_pass(const char *file, unsigned line, const char *function, int level)
{
    (void)file;
    (void)line;
    (void)function;
    return level <= 1;
}

/* UCX, by which MPICH sends, warns on stdout of each message that is pending when it ends; the
 * program knows nothing of ours. */
void rkc_mpi_leave_pending(void)
{
    void (*push)(int (*handler)(const char *, unsigned, const char *, int)) = NULL;
    void *library = dlopen("libucs.so.0", RTLD_LAZY | RTLD_NOLOAD);
    if (library)
        *(void **)&push = dlsym(library, "ucs_log_push_handler");
    if (push)
        push(let_errors_pass);
}

const struct rkc_carrier rkc_mpi_carrier = {
    .test = test_request,
    .agree = agree,
    .gather = gather_bytes,
    .tell = tell_bytes,
    .separate = duplicate,
    .separated = use_duplicate,
    .send = send_bytes,
    .receive = receive_bytes,
};
