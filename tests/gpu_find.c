/* When CUDA's driver comes into the process, and what RANKCLOCK_GPU says to it. Each case is a
 * child of its own, which loads the double itself; this process never looks. */
#include "autoconf.h"

#include <rankclock/rankclock.h>

#include "gpu/driver.h"
#include "gpu/memory.h"
#include "runtime.h"
#include "tap.h"

#include <dlfcn.h>
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *folder; /* of the doubles */
static void *library;
static int n_opened;

/* In place of the C library's. */
void *dlopen(const char *path, int mode)
{
    static void *(*next)(const char *path, int mode);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "dlopen");
    n_opened++;
    return next(path, mode);
}

static int load(const char *which)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.libs/libcuda.so.1", folder, which);
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return library != NULL;
}

static int call_init(void)
{
    CUresult (*init)(unsigned flags);
    *(void **)&init = dlsym(library, "cuInit");
    return (int)init(0);
}

static long ask_double(const char *name)
{
    long (*ask)(void);
    *(void **)&ask = dlsym(library, name);
    return ask();
}

/* Run a case in a child, with what it writes on stderr in `text`: its result. */
static int in_child(int (*function)(void), char *text, size_t size)
{
    int ends[2], status = -1;
    if (pipe(ends) != 0)
        return -1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        _exit(function());
    }
    close(ends[1]);
    size_t used = 0;
    ssize_t n;
    while (used + 1 < size && (n = read(ends[0], text + used, size - used - 1)) > 0)
        used += (size_t)n;
    text[used] = '\0';
    close(ends[0]);
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int absent(void)
{
    errno = E2BIG;
    int ok = rkc_driver_find() == RKC_ENODRIVER && rkc_driver_find() == RKC_ENODRIVER &&
             rkc_driver_state() == RKC_DRIVER_ABSENT && errno == E2BIG &&
             strcmp(rkc_driver_reason(), "the program has not loaded libcuda.so.1") == 0;
    rkc_driver_say();
    return ok;
}

static int comes_late(void)
{
    int ok = rkc_driver_find() == RKC_ENODRIVER && load("");
    ok = ok && rkc_driver_find() == RKC_ENODRIVER && rkc_driver_state() == RKC_DRIVER_ASLEEP;
    rkc_driver_say();
    return ok && call_init() == 0 && rkc_driver_find() == 0 && rkc_driver_get() != NULL;
}

static int stays(void)
{
    int ok = load("") && call_init() == 0 && rkc_driver_find() == 0;
    dlclose(library);
    int n = 0;
    return ok && rkc_driver_table.device_get_count(&n) == 0 && n == 1;
}

static int is_old(void)
{
    setenv("FAKECUDA_DRIVER_VERSION", "11000", 1);
    int n = 0;
    return load("11.0/") && call_init() == 0 && rkc_driver_find() == 0 &&
           rkc_driver_table.version == 11000 && !rkc_driver_table.ctx_get_id &&
           !rkc_driver_table.device_get_uuid_v2 && rkc_driver_table.event_record &&
           rkc_driver_table.device_get_count(&n) == 0 && n == 1 &&
           ask_double("fakecuda_calls_too_new") == 0;
}

static int is_off(void)
{
    setenv("RANKCLOCK_GPU", "off", 1);
    int ok = load("") && call_init() == 0;
    long before = ask_double("fakecuda_calls_all");
    ok = ok && rkc_driver_find() == RKC_ENODRIVER && rkc_driver_find() == RKC_ENODRIVER &&
         strcmp(rkc_driver_reason(), "RANKCLOCK_GPU is off") == 0 &&
         ask_double("fakecuda_calls_all") == before;
    rkc_driver_say();
    return ok;
}

static int has_no_device(void)
{
    setenv("FAKECUDA_FAIL", "cuDeviceGetCount:100", 1);
    int ok = load("") && call_init() == 0 && rkc_driver_find() == RKC_ENODEVICE;
    rkc_driver_say();
    rkc_driver_say();
    return ok;
}

/* Buffers are asked about once the driver has come, and a context: until then nothing is opened. */
static int looks_cheaply(void)
{
    int ok = !rkc_private_memory_look(); /* the first look is for a driver that was there */
    n_opened = 0;
    for (int i = 0; i < 1000; i++)
        ok = ok && !rkc_private_memory_look();
    ok = ok && n_opened == 0 && rkc_driver_state() == RKC_DRIVER_ABSENT;
    if (!dlopen("libm.so.6", RTLD_NOW) || !ok)
        return 0;
    ok = !rkc_private_memory_look() && n_opened == 1 && load("");
    ok = ok && !rkc_private_memory_look() && rkc_driver_state() == RKC_DRIVER_ASLEEP;
    ok = ok && call_init() == 0 && !rkc_private_memory_look();
    int (*retain)(void **context, int device);
    void *context;
    *(void **)&retain = dlsym(library, "cuDevicePrimaryCtxRetain");
    return ok && retain(&context, 0) == 0 && rkc_private_memory_look() == 1;
}

/* Go on as a process whose loader finds the double, which it looks for only where it was told to as
 * the process began. */
static int begin_anew(const char *setting)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/.libs", folder);
    setenv("LD_LIBRARY_PATH", path, 1);
    execl("/proc/self/exe", "gpu_find", setting, (char *)NULL);
    return 0;
}

static int is_on(void)
{
    return begin_anew("on");
}

static int is_auto(void)
{
    return begin_anew("auto");
}

/* The rest of is_on. */
static int loads_it(void)
{
    int ok = rkc_driver_find() == RKC_ENODRIVER && rkc_driver_state() == RKC_DRIVER_ASLEEP;
    library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    long (*count)(const char *symbol);
    *(void **)&count = library ? dlsym(library, "fakecuda_calls") : NULL;
    return ok && library && count("cuInit") == 0 && call_init() == 0 && rkc_driver_find() == 0;
}

/* The rest of is_auto. */
static int loads_nothing(void)
{
    return rkc_driver_find() == RKC_ENODRIVER && rkc_driver_state() == RKC_DRIVER_ABSENT &&
           !dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD) && dlopen("libcuda.so.1", RTLD_NOW);
}

static int is_on_in_vain(void)
{
    setenv("RANKCLOCK_GPU", "on", 1);
    if (dlopen("libcuda.so.1", RTLD_NOW))
        return 2; /* this machine has one */
    int ok = rkc_driver_find() == RKC_ENODRIVER && rkc_driver_state() == RKC_DRIVER_ABSENT;
    rkc_driver_say();
    return ok;
}

/* Regions on a stream that nobody can time there. */
static int has_regions(void)
{
    struct rkc_region *region = rkc_region_get("kernel");
    for (int i = 0; i < 10; i++) {
        rkc_gpu_begin(region, NULL);
        rkc_gpu_end(region, NULL);
    }
    rkc_private_stop(RKC_STATE_FINALIZED);
    struct rkc_view view;
    const struct rkc_block *block = NULL;
    int broken = 0, told = 0, timed = 0;
    rkc_view_own(&view, rkc_private_image());
    while ((block = rkc_view_next(&view, block, &broken))) {
        const struct rkc_fact_block *fact = (const void *)block;
        told += block->kind == RKC_BLOCK_FACT && strcmp(fact->text, "gpu") == 0;
        timed += block->kind == RKC_BLOCK_TIMED;
    }
    rkc_private_done();
    return told == 1 && timed == 0;
}

int main(int argc, char **argv)
{
    char text[1024];
    folder = getenv("RKC_FAKECUDA");
    unsetenv("RANKCLOCK_GPU");
    if (argc > 1) {
        setenv("RANKCLOCK_GPU", argv[1], 1);
        return strcmp(argv[1], "on") == 0 ? loads_it() : loads_nothing();
    }
    if (!folder)
        skip_all("the environment does not say where the doubles are");
    is_int(in_child(absent, text, sizeof text), 1, "a process without a driver has none");
    is_str(text, "", "and nobody has to know");
    is_int(in_child(has_regions, text, sizeof text), 1, "but of GPU regions the file says why");
    is_str(text,
           "rankclock: GPU regions have host times alone: the program has not loaded "
           "libcuda.so.1\n",
           "they have host times alone, and so does a line");
    is_int(in_child(comes_late, text, sizeof text), 1, "a driver that comes later is found then");
    is_str(text, "", "without a word");
    is_int(in_child(stays, text, sizeof text), 1, "what was found is not unloaded");
    is_int(in_child(is_old, text, sizeof text), 1, "an 11.0 driver lacks what came later");
    is_int(in_child(is_off, text, sizeof text), 1, "with RANKCLOCK_GPU=off none is called");
    is_str(text, "", "as was wanted");
    is_int(in_child(has_no_device, text, sizeof text), 1, "a driver may be of no use");
    is_str(text, "rankclock: no GPU times: the driver sees no device\n", "which is said once");
    is_int(in_child(looks_cheaply, text, sizeof text), 1, "buffers are the host's until then");
    is_int(in_child(is_auto, text, sizeof text), 1, "a driver is not loaded unasked");
    is_int(in_child(is_on, text, sizeof text), 1, "with =on it is loaded, not initialised");
    int result = in_child(is_on_in_vain, text, sizeof text);
    if (result == 2) {
        skip(2, "this machine has a driver");
    } else {
        is_int(result, 1, "with =on it may not be there");
        is_str(text, "rankclock: no GPU times: libcuda.so.1 cannot be loaded\n", "which is said");
    }
    return done_testing();
}
