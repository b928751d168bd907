/* rma_windows.c - windows of each kind, and what is kept with them. */
#include "autoconf.h"

#include "every.h"

#ifndef EVERY_LARGE
enum { N = 64 };
#endif

PROGRAM(kinds_of_windows)
{
    int memory[N] = {0}, out[N] = {0}, *base;
    MPI_Aint size;
    DISPL unit;
    MPI_Win win;
    MPI_Comm node;
    CALL(C(Win_create), (memory, sizeof memory, sizeof(int), MPI_INFO_NULL, world, &win));
    PMPI_Win_fence(0, win);
    MOVE(C(Put), (out, 2, MPI_INT, right, 0, 2, MPI_INT, win), 8, 0);
    MESSAGE(right, 8);
    PMPI_Win_fence(0, win);
    CALL(Win_free, (&win));
    CALL(C(Win_allocate), (sizeof memory, sizeof(int), MPI_INFO_NULL, world, &base, &win));
    CALL(Win_free, (&win));
    PMPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, me, MPI_INFO_NULL, &node);
    CALL(C(Win_allocate_shared), (sizeof memory, sizeof(int), MPI_INFO_NULL, node, &base, &win));
    CALL(C(Win_shared_query), (win, 0, &size, &unit, &base));
    CHECK(size == sizeof memory && unit == sizeof(int));
    CALL(Win_free, (&win));
    PMPI_Comm_free(&node);
}

#ifndef EVERY_LARGE
PROGRAM(dynamic_window)
{
    static int memory[N], out[N];
    MPI_Aint here, there = 0;
    MPI_Win win;
    CALL(Win_create_dynamic, (MPI_INFO_NULL, world, &win));
    CALL(Win_attach, (win, memory, sizeof memory));
    PMPI_Get_address(memory, &here);
    PMPI_Sendrecv(&here, 1, MPI_AINT, left, 0, &there, 1, MPI_AINT, right, 0, world,
                  MPI_STATUS_IGNORE);
    PMPI_Win_fence(0, win);
    MOVE(Put, (out, 3, MPI_INT, right, there, 3, MPI_INT, win), 12, 0);
    MESSAGE(right, 12);
    PMPI_Win_fence(0, win);
    CALL(Win_detach, (win, memory));
    CALL(Win_free, (&win));
}

static int copy(MPI_Win win, int key, void *extra, void *in, void *out, int *flag)
{
    (void)win, (void)key, (void)extra;
    *(void **)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

/* What a callback calls is part of the call that calls back. */
static int erase(MPI_Win win, int key, void *value, void *extra)
{
    int flag;
    (void)win, (void)key, (void)value;
    ++*(int *)extra;
    return MPI_Initialized(&flag);
}

PROGRAM(window_attributes)
{
    int memory[N], key, flag = 0, deleted = 0, *value = NULL;
    MPI_Win win;
    PMPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, world, &win);
    CALL(Win_create_keyval, (copy, erase, &key, &deleted));
    CALL(Win_set_attr, (win, key, memory));
    CALL(Win_get_attr, (win, key, &value, &flag));
    CHECK(flag && value == memory);
    CALL(Win_delete_attr, (win, key));
    CHECK(deleted == 1);
    CALL(Win_free_keyval, (&key));
    PMPI_Win_free(&win);
}

static int handled;

static void handler(MPI_Win *win, int *code, ...)
{
    (void)win, (void)code;
    handled++;
}

PROGRAM(window_properties)
{
    int memory[N], length = 0, size = 0;
    char name[MPI_MAX_OBJECT_NAME] = "";
    MPI_Win win;
    MPI_Info info;
    MPI_Group group;
    MPI_Errhandler own, got;
    PMPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, world, &win);
    CALL(Win_set_name, (win, "halo"));
    CALL(Win_get_name, (win, name, &length));
    CHECK(strcmp(name, "halo") == 0);
    CALL(Win_get_group, (win, &group));
    PMPI_Group_size(group, &size);
    CHECK(size == RANKS);
    PMPI_Group_free(&group);
    CALL(Win_get_info, (win, &info));
    CALL(Win_set_info, (win, info));
    PMPI_Info_free(&info);
    CALL(Win_create_errhandler, (handler, &own));
    CALL(Win_set_errhandler, (win, own));
    CALL(Win_get_errhandler, (win, &got));
    CALL(Win_call_errhandler, (win, MPI_ERR_OTHER));
    CHECK(handled == 1);
    PMPI_Errhandler_free(&own);
    PMPI_Errhandler_free(&got);
    PMPI_Win_free(&win);
}
#endif

PROGRAMS(windows) = {
    P(kinds_of_windows),
#ifndef EVERY_LARGE
    P(dynamic_window),   P(window_attributes), P(window_properties),
#endif
    {NULL, NULL},
};

#if defined RKC_HAVE_MPI_LARGE_COUNT && !defined EVERY_LARGE
#define EVERY_LARGE
#include "rma_windows.c"
#endif
