/* comm_sessions.c - sessions, and communicators of their groups. */
#include "autoconf.h"

#include "every.h"

#ifdef RKC_HAVE_MPI_SESSIONS

static int handled;

static void handler(MPI_Session *session, int *code, ...)
{
    (void)session, (void)code;
    handled++;
}

PROGRAM(sessions)
{
    int n = -1, length = 0;
    char name[MPI_MAX_PSET_NAME_LEN] = "";
    MPI_Session session;
    MPI_Info info;
    MPI_Errhandler own, got;
    CALL(Session_init, (MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    CALL(Session_get_info, (session, &info));
    PMPI_Info_free(&info);
    CALL(Session_get_num_psets, (session, MPI_INFO_NULL, &n));
    CHECK(n >= 2);
    length = sizeof name;
    CALL(Session_get_nth_pset, (session, MPI_INFO_NULL, 0, &length, name));
    CHECK(name[0] != '\0');
    CALL(Session_get_pset_info, (session, "mpi://WORLD", &info));
    PMPI_Info_free(&info);
    CALL(Session_create_errhandler, (handler, &own));
    CALL(Session_set_errhandler, (session, own));
    CALL(Session_get_errhandler, (session, &got));
    CALL(Session_call_errhandler, (session, MPI_ERR_OTHER));
    CHECK(handled == 1);
    PMPI_Errhandler_free(&own);
    PMPI_Errhandler_free(&got);
    CALL(Session_finalize, (&session));
}

PROGRAM(groups_of_sessions)
{
    int out[4] = {0}, in[4], low = me < 2, size = -1;
    const int parts[2][2] = {{0, 1}, {2, 3}};
    MPI_Session session;
    MPI_Group all, own, others;
    MPI_Comm comm, both;
    PMPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    CALL(Group_from_session_pset, (session, "mpi://WORLD", &all));
    PMPI_Group_size(all, &size);
    CHECK(size == RANKS);
    CALL(Comm_create_from_group, (all, "every", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    MOVE(Sendrecv, (out, 2, MPI_INT, right, 0, in, 4, MPI_INT, left, 0, comm, MPI_STATUS_IGNORE), 8,
         8);
    MESSAGE(right, 8);
    PMPI_Group_incl(all, 2, parts[!low], &own);
    PMPI_Group_incl(all, 2, parts[low], &others);
    CALL(Intercomm_create_from_groups,
         (own, 0, others, 0, "both", MPI_INFO_NULL, MPI_ERRORS_RETURN, &both));
    MOVE(Sendrecv, (out, 3, MPI_INT, me % 2, 0, in, 4, MPI_INT, me % 2, 0, both, MPI_STATUS_IGNORE),
         12, 12);
    MESSAGE((me + 2) % RANKS, 12);
    PMPI_Comm_free(&both);
    PMPI_Comm_free(&comm);
    PMPI_Group_free(&own);
    PMPI_Group_free(&others);
    PMPI_Group_free(&all);
    PMPI_Session_finalize(&session);
}

PROGRAMS(sessions) = {P(sessions), P(groups_of_sessions), {NULL, NULL}};

#endif
