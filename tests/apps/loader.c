/* A program that loads MPI by hand, in the way that its first argument names:
 *   local, global FILE   it opens FILE, which is linked with MPI and has a function "ring"
 *   handle FILE          it opens FILE, which is MPI, and takes all functions from there
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static void *function(void *handle, const char *name)
{
    void *found = dlsym(handle, name);
    if (!found)
        fprintf(stderr, "there is no %s\n", name);
    return found;
}

static int use_handle(void *handle)
{
    int (*init)(int *, char ***), (*finalize)(void), (*version)(int *, int *);
    int major = 0, minor = 0;
    *(void **)&init = function(handle, "MPI_Init");
    *(void **)&version = function(handle, "MPI_Get_version");
    *(void **)&finalize = function(handle, "MPI_Finalize");
    if (init(NULL, NULL) != 0 || version(&major, &minor) != 0 || finalize() != 0)
        return 1;
    printf("version %d\n", major);
    return 0;
}

int main(int argc, char **argv)
{
    int (*ring)(int, char **);
    if (argc < 3)
        return 2;
    void *handle =
        dlopen(argv[2], RTLD_NOW | (strcmp(argv[1], "local") == 0 ? RTLD_LOCAL : RTLD_GLOBAL));
    if (!handle) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    if (strcmp(argv[1], "handle") == 0)
        return use_handle(handle);
    *(void **)&ring = function(handle, "ring");
    return ring(argc, argv);
}
