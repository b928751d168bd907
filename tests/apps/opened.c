/* opened.c - opens the library by hand, and closes it before a thread ends that had a region. */
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

struct rkc_region;

static struct {
    struct rkc_region *(*get)(const char *name);
    void (*begin)(struct rkc_region *region);
    void (*end)(struct rkc_region *region);
} library;

static pthread_barrier_t meeting;

static void *work(void *arg)
{
    struct rkc_region *region = library.get("opened");
    library.begin(region);
    library.end(region);
    pthread_barrier_wait(&meeting); /* it may be closed */
    pthread_barrier_wait(&meeting); /* it is */
    return arg;
}

int main(void)
{
    pthread_t thread;
    void *handle = dlopen("librankclock.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return 1;
    *(void **)&library.get = dlsym(handle, "rkc_region_get");
    *(void **)&library.begin = dlsym(handle, "rkc_region_begin");
    *(void **)&library.end = dlsym(handle, "rkc_region_end");
    pthread_barrier_init(&meeting, NULL, 2);
    if (pthread_create(&thread, NULL, work, NULL) != 0)
        return 1;
    pthread_barrier_wait(&meeting);
    dlclose(handle);
    pthread_barrier_wait(&meeting);
    pthread_join(thread, NULL);
    return 0;
}
