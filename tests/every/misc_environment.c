/* misc_environment.c - the environment, errors, memory, ports and what MPI-2 and MPI-3 took away.
 */
#include "autoconf.h"

#include "every.h"

PROGRAM(environment)
{
    int flag = -1, version = 0, subversion = 0, length = 0, level = -1;
    char text[MPI_MAX_LIBRARY_VERSION_STRING], name[MPI_MAX_PROCESSOR_NAME];
    CALL(Initialized, (&flag));
    CHECK(flag == 1);
    CALL(Finalized, (&flag));
    CHECK(flag == 0);
    CALL(Get_version, (&version, &subversion));
    CHECK(version >= 3);
    CALL(Get_library_version, (text, &length));
    CHECK(length > 0);
    CALL(Get_processor_name, (name, &length));
    CHECK(length > 0);
    CALL(Query_thread, (&level));
    CHECK(level >= MPI_THREAD_SINGLE);
    CALL(Is_thread_main, (&flag));
    CHECK(flag == 1);
    CALL(Pcontrol, (3));
}

/* What the program asks for while recording is paused is not counted, and a request is not either.
 */
PROGRAM(paused)
{
    int rank, out = 0, in;
    CALL(Pcontrol, (0));
    MPI_Comm_rank(world, &rank);
    MPI_Sendrecv(&out, 1, MPI_INT, right, 0, &in, 1, MPI_INT, left, 0, world, MPI_STATUS_IGNORE);
    MPI_Pcontrol(1);
    CALL(Initialized, (&rank));
}

PROGRAM(errors)
{
    int class = -1, code = -1, length = 0, got = -1;
    char text[MPI_MAX_ERROR_STRING] = "";
    MPI_Errhandler handler;
    CALL(Add_error_class, (&class));
    CALL(Add_error_code, (class, &code));
    CALL(Add_error_string, (code, "of the program"));
    CALL(Error_class, (code, &got));
    CHECK(got == class);
    CALL(Error_string, (code, text, &length));
    CHECK(strcmp(text, "of the program") == 0);
    PMPI_Comm_get_errhandler(world, &handler);
    CALL(Errhandler_free, (&handler));
}

PROGRAM(memory)
{
    void *memory = NULL;
    CALL(Alloc_mem, (100, MPI_INFO_NULL, &memory));
    CHECK(memory != NULL);
    CALL(Free_mem, (memory));
}

static int copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)key, (void)extra;
    *(void **)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

static int erase(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value;
    ++*(int *)extra;
    return MPI_SUCCESS;
}

/* Attributes as MPI-1 had them. */
PROGRAM(old_attributes)
{
    int key, flag = 0, deleted = 0, *value = NULL;
    CALL(Keyval_create, (copy, erase, &key, &deleted));
    CALL(Attr_put, (world, key, &flag));
    CALL(Attr_get, (world, key, &value, &flag));
    CHECK(flag && value == &flag);
    CALL(Attr_delete, (world, key));
    CHECK(deleted == 1);
    CALL(Keyval_free, (&key));
}

#ifdef RKC_HAVE_MPI_REMOVED
static int handled;

static void handler(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    handled++;
}

PROGRAM(removed_errhandlers)
{
    MPI_Comm twin;
    MPI_Errhandler own, got;
    PMPI_Comm_dup(world, &twin);
    CALL(Errhandler_create, (handler, &own));
    CALL(Errhandler_set, (twin, own));
    CALL(Errhandler_get, (twin, &got));
    PMPI_Comm_call_errhandler(twin, MPI_ERR_OTHER);
    CHECK(handled == 1);
    CALL(Errhandler_free, (&own));
    CALL(Errhandler_free, (&got));
    PMPI_Comm_free(&twin);
}
#endif

/* MPICH on UCX opens no port. */
PROGRAM(ports)
{
    char port[MPI_MAX_PORT_NAME] = "";
    int opens = PMPI_Open_port(MPI_INFO_NULL, port) == MPI_SUCCESS;
    if (opens) {
        PMPI_Close_port(port);
        CALL(Open_port, (MPI_INFO_NULL, port));
        CALL(Close_port, (port));
    } else {
        CHECK(every_is("MPICH"));
        REFUSED(Open_port, (MPI_INFO_NULL, port));
        REFUSED(Close_port, ("nowhere"));
    }
}

PROGRAM(published_names)
{
    char port[MPI_MAX_PORT_NAME] = "";
    if (me == 0) {
        CALL(Publish_name, ("every", MPI_INFO_NULL, "nowhere"));
        CALL(Lookup_name, ("every", MPI_INFO_NULL, port));
        CHECK(strcmp(port, "nowhere") == 0);
        CALL(Unpublish_name, ("every", MPI_INFO_NULL, "nowhere"));
    }
    PMPI_Barrier(world);
}

PROGRAMS(environment) = {
    P(environment),
    P(paused),
    P(errors),
    P(memory),
    P(old_attributes),
#ifdef RKC_HAVE_MPI_REMOVED
    P(removed_errhandlers),
#endif
    P(ports),
    P(published_names),
    {NULL, NULL},
};
