/* comm_communicators.c - communicators of one group and of two, and what is kept with them. */
#include "autoconf.h"

#include "every.h"

PROGRAM(communicators)
{
    int rank = -1, size = -1, result = -1, inter = -1;
    MPI_Comm twin, half, node;
    CALL(Comm_rank, (world, &rank));
    CALL(Comm_size, (world, &size));
    CHECK(rank == me && size == RANKS);
    CALL(Comm_dup, (world, &twin));
    CALL(Comm_compare, (world, twin, &result));
    CHECK(result == MPI_CONGRUENT);
    CALL(Comm_free, (&twin));
    CALL(Comm_dup, (world, &twin));
    CALL(Comm_disconnect, (&twin));
    CALL(Comm_split, (world, me % 2, 0, &half));
    CALL(Comm_test_inter, (half, &inter));
    CHECK(inter == 0);
    CALL(Comm_free, (&half));
    CALL(Comm_split_type, (world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    CALL(Comm_free, (&node));
}

/* Its request is no operation of its own: it moves nothing. */
PROGRAM(duplicates)
{
    MPI_Comm twin;
    MPI_Info info;
    MPI_Request request;
    CALL(Comm_idup, (world, &twin, &request));
    CALL(Wait, (&request, MPI_STATUS_IGNORE));
    CALL(Comm_get_info, (twin, &info));
    CALL(Comm_set_info, (twin, info));
    CALL(Comm_free, (&twin));
    CALL(Comm_dup_with_info, (world, info, &twin));
    CALL(Comm_free, (&twin));
#ifdef RKC_HAVE_MPI_SESSIONS
    CALL(Comm_idup_with_info, (world, info, &twin, &request));
    CALL(Wait, (&request, MPI_STATUS_IGNORE));
    CALL(Comm_free, (&twin));
#endif
    PMPI_Info_free(&info);
}

/* Of ranks 1 and 2. */
PROGRAM(communicators_of_groups)
{
    const int two[2] = {1, 2};
    MPI_Group all, group;
    MPI_Comm some;
    CALL(Comm_group, (world, &all));
    PMPI_Group_incl(all, 2, two, &group);
    CALL(Comm_create, (world, group, &some));
    CHECK((some != MPI_COMM_NULL) == (me == 1 || me == 2));
    if (some != MPI_COMM_NULL) {
        CALL(Comm_free, (&some));
        CALL(Comm_create_group, (world, group, 7, &some));
        CALL(Comm_free, (&some));
    }
    PMPI_Group_free(&group);
    PMPI_Group_free(&all);
}

/* The even ranks and the odd ones. A message's rank is that in the world. */
PROGRAM(between_groups)
{
    int size = -1, rank, out[4] = {0}, in[4];
    MPI_Comm half, both, merged;
    MPI_Group others;
    PMPI_Comm_split(world, me % 2, 0, &half);
    CALL(Intercomm_create, (half, 0, world, me % 2 ? 0 : 1, 3, &both));
    CALL(Comm_remote_size, (both, &size));
    CHECK(size == 2);
    CALL(Comm_remote_group, (both, &others));
    PMPI_Group_free(&others);
    PMPI_Comm_rank(half, &rank);
    MOVE(Sendrecv,
         (out, 3, MPI_INT, 1 - rank, 0, in, 4, MPI_INT, 1 - rank, 0, both, MPI_STATUS_IGNORE), 12,
         12);
    MESSAGE((me % 2 ? 0 : 1) + 2 * (1 - rank), 12);
    CALL(Intercomm_merge, (both, me % 2, &merged));
    PMPI_Comm_size(merged, &size);
    CHECK(size == RANKS);
    CALL(Comm_free, (&merged));
    CALL(Comm_free, (&both));
    CALL(Comm_free, (&half));
}

static int copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)key, (void)extra;
    *(void **)out = in;
    *flag = 1;
    return MPI_Topo_test(comm, &key);
}

static int erase(MPI_Comm comm, int key, void *value, void *extra)
{
    int size;
    (void)key, (void)value;
    ++*(int *)extra;
    return MPI_Comm_size(comm, &size);
}

/* What a callback calls is part of the call that calls back. */
PROGRAM(attributes)
{
    int key, flag = 0, deleted = 0, *value = NULL;
    MPI_Comm twin;
    CALL(Comm_create_keyval, (copy, erase, &key, &deleted));
    CALL(Comm_set_attr, (world, key, &flag));
    CALL(Comm_get_attr, (world, key, &value, &flag));
    CHECK(flag && value == &flag);
    CALL(Comm_dup, (world, &twin));
    CALL(Comm_free, (&twin));
    CHECK(deleted == 1);
    CALL(Comm_delete_attr, (world, key));
    CHECK(deleted == 2);
    CALL(Comm_free_keyval, (&key));
}

static int handled;

static void handler(MPI_Comm *comm, int *code, ...)
{
    int size;
    (void)code;
    MPI_Comm_size(*comm, &size);
    handled++;
}

PROGRAM(errors_of_communicators)
{
    int length = 0, value = 0;
    char name[MPI_MAX_OBJECT_NAME] = "";
    MPI_Comm twin;
    MPI_Errhandler own, got;
    PMPI_Comm_dup(world, &twin);
    CALL(Comm_create_errhandler, (handler, &own));
    CALL(Comm_set_errhandler, (twin, own));
    CALL(Comm_get_errhandler, (twin, &got));
    CALL(Comm_call_errhandler, (twin, MPI_ERR_OTHER));
    REFUSED(Send, (&value, 1, MPI_INT, RANKS, 0, twin));
    CHECK(handled == 2);
    CALL(Comm_set_name, (twin, "twin"));
    CALL(Comm_get_name, (twin, name, &length));
    CHECK(strcmp(name, "twin") == 0);
    PMPI_Errhandler_free(&own);
    PMPI_Errhandler_free(&got);
    PMPI_Comm_free(&twin);
}

PROGRAMS(communicators) = {
    P(communicators),  P(duplicates), P(communicators_of_groups),
    P(between_groups), P(attributes), P(errors_of_communicators),
    {NULL, NULL},
};
