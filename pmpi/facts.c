/* facts.c - nothing here communicates: what only a message could tell stays unknown. */
#include "autoconf.h"

#include "facts.h"

#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "next.h"
#include "runtime.h"

/* More than any MPI_MAX_LIBRARY_VERSION_STRING: the library may not be the one of mpi.h. */
enum { VERSION_MAX = 16384, TOOLS_MAX = 1024 };

#ifdef OPEN_MPI
enum { BUILT_FOR_OPEN_MPI = 1 };
#else
enum { BUILT_FOR_OPEN_MPI = 0 };
#endif

/* The two have handles of different kinds; the other MPIs share MPICH's binary interface. */
int rkc_facts_check_library(char *text, int size)
{
    static char version[VERSION_MAX];
    int length = 0;
    version[0] = '\0';
    PMPI_Get_library_version(version, &length);
    version[strcspn(version, "\r\n")] = '\0';
    for (char *tab = version; (tab = strchr(tab, '\t')) != NULL;) /* MPICH's */
        *tab = ' ';
    snprintf(text, (size_t)size, "%s", version);
    return (strncmp(version, "Open MPI", strlen("Open MPI")) == 0) == BUILT_FOR_OPEN_MPI;
}

static const char *launcher(void)
{
    if (getenv("OMPI_COMM_WORLD_SIZE"))
        return "Open MPI mpirun";
    if (getenv("SLURM_STEP_ID") && (getenv("PMI_RANK") || getenv("PMIX_RANK")))
        return "Slurm srun";
    if (getenv("PMI_RANK"))
        return "Hydra mpiexec";
    return getenv("PMIX_RANK") ? "unknown, by PMIx" : "none";
}

static const char *level_name(int level)
{
    switch (level) {
    case MPI_THREAD_SINGLE:
        return "MPI_THREAD_SINGLE";
    case MPI_THREAD_FUNNELED:
        return "MPI_THREAD_FUNNELED";
    case MPI_THREAD_SERIALIZED:
        return "MPI_THREAD_SERIALIZED";
    case MPI_THREAD_MULTIPLE:
        return "MPI_THREAD_MULTIPLE";
    default:
        return "unknown";
    }
}

/* Whether MPI takes device buffers, as it says itself, and what said it. MPI was initialized. */
struct gpu_aware {
    const char *answer, *by;
};

static struct gpu_aware asked(const char *name, int yes)
{
    return (struct gpu_aware){yes ? "yes" : "no", name};
}

/* The functions by which MPIs say what they were built for. */
static struct gpu_aware ask_for_gpu(void)
{
    int (*cuda)(void);
#ifdef MPIX_GPU_SUPPORT_CUDA
    int (*gpu)(int, int *), yes = 0;
    *(void **)&gpu = dlsym(RTLD_DEFAULT, "MPIX_GPU_query_support");
    if (gpu && gpu(MPIX_GPU_SUPPORT_CUDA, &yes) == MPI_SUCCESS)
        return asked("MPIX_GPU_query_support", yes);
#endif
    *(void **)&cuda = dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support");
    if (cuda)
        return asked("MPIX_Query_cuda_support", cuda());
    return (struct gpu_aware){"unknown", NULL};
}

/* Open MPI can be told not to do what it was built for, which its function does not say; its
 * variable does, the one that ompi_info shows under that name. */
static struct gpu_aware gpu_aware(void)
{
    struct gpu_aware aware = ask_for_gpu();
    const _Bool *enabled = dlsym(RTLD_DEFAULT, "opal_cuda_support");
    if (enabled && !(aware.by && strcmp(aware.answer, "no") == 0)) {
        if (!*enabled || !aware.by)
            aware = asked("opal_cuda_support", *enabled);
    }
    return aware;
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Add a file's name to the list, unless it is ours or there already. */
static void add_tool(char list[TOOLS_MAX], const char *path, size_t length)
{
    char name[256];
    snprintf(name, sizeof name, "%.*s", (int)length, path);
    const char *base = base_of(name);
    size_t used = strlen(list);
    if (!*base || strncmp(base, "librankclock", strlen("librankclock")) == 0 || strstr(list, base))
        return;
    snprintf(list + used, TOOLS_MAX - used, "%s%s", used ? ", " : "", base);
}

/* What is preloaded beside us, and what stands before or behind us in the line for MPI's
 * functions. */
static void find_tools(char list[TOOLS_MAX])
{
    list[0] = '\0';
    const char *preload = getenv("LD_PRELOAD");
    while (preload && *preload) {
        size_t length = strcspn(preload, ": ");
        add_tool(list, preload, length);
        preload += length + (preload[length] != '\0');
    }
    const char *file;
    for (int i = 0; (file = rkc_mpi_next_tool(i)); i++)
        add_tool(list, file, strlen(file));
}

void rkc_facts_before_init(void)
{
    rkc_private_fact("launcher", launcher());
}

void rkc_facts_after_init(int level)
{
    char text[256], tools[TOOLS_MAX];
    int version = 0, subversion = 0;
    rkc_facts_check_library(text, sizeof text);
    rkc_private_fact("mpi_library", text);
    PMPI_Get_version(&version, &subversion);
    snprintf(text, sizeof text, "%d.%d", version, subversion);
    rkc_private_fact("mpi_standard", text);
    rkc_private_fact("thread_level", level_name(level));
    struct gpu_aware aware = gpu_aware();
    rkc_private_fact("gpu_aware", aware.answer);
    rkc_private_fact("gpu_aware_by", aware.by);
    find_tools(tools);
    rkc_private_fact("other_tools", tools);
}

/* The first of some variables that is a number, or -1. */
static int number_of(const char *const *names)
{
    for (; *names; names++) {
        const char *value = getenv(*names);
        char *end;
        long number = value ? strtol(value, &end, 10) : -1;
        if (number >= 0 && number <= INT32_MAX && end != value && *end == '\0')
            return (int)number;
    }
    return -1;
}

int rkc_facts_local_rank(void)
{
    return number_of((const char *const[]){"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                                           "SLURM_LOCALID", NULL});
}

int rkc_facts_local_size(void)
{
    return number_of((const char *const[]){"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", NULL});
}
