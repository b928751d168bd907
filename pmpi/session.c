/* session.c - programs that use MPI by sessions, without MPI_Init and MPI_Finalize.
 *
 * What one gets wrong here: there is no end that the ranks share. After the last session of a
 * process may come another, and its peers may have more sessions or fewer: to communicate in
 * MPI_Session_finalize could wait for ever. So each process ends its run when it exits, alone. */
#include "autoconf.h"

#include "call.h"

#ifdef RKC_HAVE_MPI_SESSIONS

#include <string.h>

#include "clock.h"
#include "facts.h"
#include "lifecycle.h"
#include "next.h"
#include "signals.h"

static _Atomic int n_open; /* sessions of the program */

static int is_world_model(void)
{
    int initialized = 0;
    return PMPI_Initialized(&initialized) == MPI_SUCCESS && initialized;
}

/* Whether the session has the set of all processes: to ask for one that it lacks would call the
 * program's error handler. */
static int has_world(MPI_Session session)
{
    int n = 0;
    if (PMPI_Session_get_num_psets(session, MPI_INFO_NULL, &n) != MPI_SUCCESS)
        return 0;
    for (int i = 0; i < n; i++) {
        char name[MPI_MAX_PSET_NAME_LEN + 1] = "";
        int length = sizeof name;
        if (PMPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, name) != MPI_SUCCESS)
            return 0;
        if (strcmp(name, "mpi://WORLD") == 0)
            return 1;
    }
    return 0;
}

/* The rank and the number of all processes, which are asked for without a message. */
static void find_place(MPI_Session session, int *rank, int *size)
{
    MPI_Group group;
    *rank = 0;
    *size = 1;
    if (!has_world(session) ||
        PMPI_Group_from_session_pset(session, "mpi://WORLD", &group) != MPI_SUCCESS)
        return;
    PMPI_Group_rank(group, rank);
    PMPI_Group_size(group, size);
    PMPI_Group_free(&group);
}

static int level_of(MPI_Session session)
{
    static const struct {
        const char *name;
        int level;
    } levels[] = {{"MPI_THREAD_SINGLE", MPI_THREAD_SINGLE},
                  {"MPI_THREAD_FUNNELED", MPI_THREAD_FUNNELED},
                  {"MPI_THREAD_SERIALIZED", MPI_THREAD_SERIALIZED}};
    MPI_Info info;
    char text[MPI_MAX_INFO_VAL + 1] = "";
    int length = sizeof text, found = 0;
    if (PMPI_Session_get_info(session, &info) != MPI_SUCCESS)
        return MPI_THREAD_MULTIPLE;
    PMPI_Info_get_string(info, "thread_level", &length, text, &found);
    PMPI_Info_free(&info);
    for (size_t i = 0; found && i < sizeof levels / sizeof *levels; i++)
        if (strcmp(text, levels[i].name) == 0)
            return levels[i].level;
    return MPI_THREAD_MULTIPLE; /* or unknown: then none is excluded */
}

/* A session is there: tell who we are, if nobody has. */
static void know_processes(MPI_Session session, uint64_t init_ticks)
{
    struct rkc_image_header *header = rkc_image_header(rkc_private_image());
    int rank, size, level = level_of(session);
    rkc_mpi_set_threads(level);
    atomic_fetch_add(&header->init_ticks, init_ticks);
    if (!is_world_model())
        rkc_private_model(RKC_MODEL_SESSIONS_OPEN);
    if (atomic_load(&header->rank) >= 0)
        return;
    find_place(session, &rank, &size);
    atomic_store(&header->thread_level, level);
    rkc_private_world(rank, size, rkc_facts_local_rank());
    rkc_private_calibrate(1);
    rkc_facts_after_init(level);
    rkc_private_signals_take(rkc_facts_local_size());
}

void rkc_mpi_after_session_init(MPI_Session session, uint64_t ticks)
{
    atomic_fetch_add(&n_open, 1);
    know_processes(session, ticks);
}

RKC_API int MPI_Session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session *session)
{
    if (!rkc_mpi_before_init())
        return RKC_MPI_NEXT(Session_init)(info, errhandler, session);
    struct rkc_mpi_call call;
    uint64_t begin = rkc_clock_ticks();
    rkc_mpi_enter(&call, RKC_MPI_FUNCTION(Session_init));
    int rc = RKC_MPI_NEXT(Session_init)(info, errhandler, session);
    rkc_mpi_leave(&call, RKC_MPI_FUNCTION(Session_init));
    if (rc == MPI_SUCCESS)
        rkc_mpi_after_session_init(*session, rkc_clock_ticks() - begin);
    return rc;
}

void rkc_mpi_after_session_finalize(void)
{
    if (atomic_fetch_sub(&n_open, 1) == 1 && !is_world_model())
        rkc_private_model(RKC_MODEL_SESSIONS_CLOSED);
}

RKC_API int MPI_Session_finalize(MPI_Session *session)
{
    struct rkc_mpi_call call;
    int twin = rkc_mpi_is_twin();
    rkc_mpi_enter(&call, RKC_MPI_FUNCTION(Session_finalize));
    int rc = RKC_MPI_NEXT(Session_finalize)(session);
    rkc_mpi_leave(&call, RKC_MPI_FUNCTION(Session_finalize));
    if (rc == MPI_SUCCESS && !twin)
        rkc_mpi_after_session_finalize();
    return rc;
}

#endif
