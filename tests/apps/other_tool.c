/* Another tool, for the shell tests: it counts some of MPI's functions, and says how often each
 * was called in the file $OTHER_TOOL.RANK, at MPI_Finalize and again at exit.
 *
 * It hands a call on by its PMPI_ name or, compiled with -DCHAINED, to the next MPI_ function in
 * line; and calls functions of MPI itself, by their MPI_ names, as tools do. C and C++.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include <dlfcn.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef __cplusplus
#define LINKAGE extern "C"
#else
#define LINKAGE
#endif

/* Gets `found` the function of that name that stands next, or MPI's own. */
#ifdef CHAINED
#define NEXT(name) (*(void **)&found = dlsym(RTLD_NEXT, "MPI_" #name))
#else
#define NEXT(name) (found = PMPI_##name)
#endif

static struct {
    int init, initialized, send, recv, allreduce, pcontrol, finalize;
} calls;

static int me = -1, active;

static void say(void)
{
    const char *name = getenv("OTHER_TOOL");
    char path[4096];
    if (!name)
        return;
    snprintf(path, sizeof path, "%s.%d", name, me);
    FILE *file = fopen(path, "w");
    if (!file)
        return;
    fprintf(file, "Init %d Initialized %d Send %d Recv %d Allreduce %d Pcontrol %d Finalize %d\n",
            calls.init, calls.initialized, calls.send, calls.recv, calls.allreduce, calls.pcontrol,
            calls.finalize);
    fclose(file);
}

/* Only the outermost call counts: what is called in turn, by its MPI_ name, comes by here again. */
static void count(int *counter)
{
    *counter += active == 0;
}

LINKAGE int MPI_Init(int *argc, char ***argv)
{
    int (*found)(int *, char ***);
    count(&calls.init);
    active++;
    NEXT(Init);
    int rc = found(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    active--;
    return rc;
}

LINKAGE int MPI_Initialized(int *flag)
{
    int (*found)(int *);
    count(&calls.initialized);
    NEXT(Initialized);
    return found(flag);
}

LINKAGE int MPI_Send(const void *buf, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    int (*found)(const void *, int, MPI_Datatype, int, int, MPI_Comm);
    int flag, size;
    count(&calls.send);
    active++;
    NEXT(Send);
    MPI_Initialized(&flag);
    MPI_Type_size(type, &size);
    int rc = found(buf, n, type, to, tag, comm);
    active--;
    return rc;
}

LINKAGE int MPI_Recv(void *buf, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                     MPI_Status *status)
{
    int (*found)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status *);
    count(&calls.recv);
    NEXT(Recv);
    return found(buf, n, type, from, tag, comm, status);
}

LINKAGE int MPI_Allreduce(const void *in, void *out, int n, MPI_Datatype type, MPI_Op op,
                          MPI_Comm comm)
{
    int (*found)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);
    count(&calls.allreduce);
    NEXT(Allreduce);
    return found(in, out, n, type, op, comm);
}

/* Two arguments more, if the level is 5: 6 and "seven". */
LINKAGE int MPI_Pcontrol(const int level, ...)
{
    int (*found)(const int, ...);
    va_list more;
    va_start(more, level);
    if (level == 5 && va_arg(more, int) == 6 && va_arg(more, const char *)[0] == 's')
        count(&calls.pcontrol);
    va_end(more);
    NEXT(Pcontrol);
    return found(level, 6, "seven");
}

LINKAGE int MPI_Finalize(void)
{
    int (*found)(void);
    count(&calls.finalize);
    say();
    NEXT(Finalize);
    return found();
}

__attribute__((destructor)) static void leave(void)
{
    if (calls.finalize)
        say();
}
