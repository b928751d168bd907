/* driver.c - the library stays open once it is found: its functions are called until the end. */
#include "autoconf.h"

#include "gpu/driver.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "config.h"
#include "log.h"
#include "thread.h"

enum { OLDEST_VERSION = 11000, LOOKUP_VERSION = 11030, LOOKUP_V2_VERSION = 12000 };

static _Atomic int not_looked = RKC_DRIVER_UNKNOWN;
_Atomic int *rkc_driver_state_word = &not_looked;
struct rkc_driver rkc_driver_table;

static struct {
    void *library;
    int setting; /* enum rkc_gpu_setting */
    _Atomic int said;
    char reason[256]; /* of RKC_DRIVER_BROKEN */
    int status;       /* the same */
} process;

static pthread_mutex_t find_lock = PTHREAD_MUTEX_INITIALIZER;

static int status_of(enum rkc_driver_state state)
{
    if (state == RKC_DRIVER_BROKEN)
        return process.status;
    return state == RKC_DRIVER_READY ? 0 : RKC_ENODRIVER;
}

static int set_state(enum rkc_driver_state state)
{
    atomic_store_explicit(rkc_driver_state_word, (int)state, memory_order_release);
    return status_of(state);
}

__attribute__((format(printf, 2, 3))) static int set_broken(int status, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    vsnprintf(process.reason, sizeof process.reason, format, values);
    va_end(values);
    process.status = status;
    return set_state(RKC_DRIVER_BROKEN);
}

/* ---- the library ---- */

/* The driver's library: the program's own, or loaded for it where the user wants that. */
static void *open_library(void)
{
    int existing = process.setting == RKC_GPU_ON ? 0 : RTLD_NOLOAD;
    return dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | existing);
}

/* ---- its functions ---- */

/* cuGetProcAddress in the form that the driver has. */
struct lookup {
    CUresult (*v1)(const char *symbol, void **function, int version, uint64_t flags);
    CUresult (*v2)(const char *symbol, void **function, int version, uint64_t flags,
                   unsigned int *found);
};

struct row {
    const char *base, *symbol;
    int version;
    int is_required;
    size_t offset; /* in struct rkc_driver */
};

static const struct row rows[] = {
#define ROW(member, base, version, symbol, is_required) \
    {#base, #symbol, version, is_required, offsetof(struct rkc_driver, member)},
#define REQUIRED(member, base, version, symbol, parameters) ROW(member, base, version, symbol, 1)
#define OPTIONAL(member, base, version, symbol, parameters) ROW(member, base, version, symbol, 0)
#include "gpu/driver.def"
};

/* One of the versions wanted exists in every driver that is no older: asking for a version above
 * the driver's own is an error. */
static void *find_function(const struct lookup *lookup, const struct row *row, int version)
{
    void *function = NULL;
    CUresult result = RKC_CUDA_INVALID_VALUE;
    if (row->version > version)
        return NULL;
    if (lookup->v2)
        result = lookup->v2(row->base, &function, row->version, RKC_CUDA_LEGACY_STREAM, NULL);
    else if (lookup->v1)
        result = lookup->v1(row->base, &function, row->version, RKC_CUDA_LEGACY_STREAM);
    return result == RKC_CUDA_SUCCESS && function ? function : dlsym(process.library, row->symbol);
}

static void find_lookup(struct lookup *lookup, int version)
{
    void *function = NULL;
    memset(lookup, 0, sizeof *lookup);
    if (version >= LOOKUP_V2_VERSION)
        function = dlsym(process.library, "cuGetProcAddress_v2");
    memcpy(&lookup->v2, &function, sizeof function);
    function = NULL;
    if (version >= LOOKUP_VERSION)
        function = dlsym(process.library, "cuGetProcAddress");
    memcpy(&lookup->v1, &function, sizeof function);
}

/* 0, or RKC_ENODRIVER with the reason. */
static int read_version(int *version)
{
    CUresult (*get_version)(int *version);
    void *function = dlsym(process.library, "cuDriverGetVersion");
    memcpy(&get_version, &function, sizeof function);
    if (!function)
        return set_broken(RKC_ENODRIVER, "libcuda.so.1 has no cuDriverGetVersion");
    CUresult result = get_version(version);
    if (result != RKC_CUDA_SUCCESS)
        return set_broken(RKC_ENODRIVER, "cuDriverGetVersion fails with error %u", result);
    if (*version < OLDEST_VERSION)
        return set_broken(RKC_ENODRIVER, "the driver is for CUDA %d.%d, older than 11.0",
                          *version / 1000, *version % 1000 / 10);
    return 0;
}

static int fill_table(void)
{
    struct rkc_driver table;
    struct lookup lookup;
    memset(&table, 0, sizeof table);
    int status = read_version(&table.version);
    if (status)
        return status;
    find_lookup(&lookup, table.version);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        void *function = find_function(&lookup, &rows[i], table.version);
        if (!function && rows[i].is_required)
            return set_broken(RKC_ENODRIVER, "libcuda.so.1 has no %s", rows[i].symbol);
        memcpy((char *)&table + rows[i].offset, &function, sizeof function);
    }
    rkc_driver_table = table;
    return 0;
}

/* Whether the program has called cuInit with success. */
static int wake(void)
{
    int n = 0;
    CUresult result = rkc_driver_table.device_get_count(&n);
    if (result == RKC_CUDA_NOT_INITIALIZED)
        return set_state(RKC_DRIVER_ASLEEP);
    if (result == RKC_CUDA_DEINITIALIZED)
        return set_state(RKC_DRIVER_GONE);
    if (result == RKC_CUDA_NO_DEVICE || (result == RKC_CUDA_SUCCESS && n == 0))
        return set_broken(RKC_ENODEVICE, "the driver sees no device");
    if (result != RKC_CUDA_SUCCESS)
        return set_broken(RKC_ENODRIVER, "cuDeviceGetCount fails with error %u", result);
    return set_state(RKC_DRIVER_READY);
}

/* ---- finding it ---- */

/* Kernels before 4.14 cannot wipe; there the C library's fork tells us. */
static void wipe(void)
{
    atomic_store(rkc_driver_state_word, RKC_DRIVER_CHILD);
}

static int make_state_word(void)
{
    const size_t bytes = 4096;
    void *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return RKC_ENOMEM;
    if (madvise(page, bytes, MADV_WIPEONFORK) != 0)
        pthread_atfork(NULL, NULL, wipe);
    _Atomic int *word = page;
    atomic_store(word, RKC_DRIVER_UNKNOWN);
    rkc_driver_state_word = word;
    process.setting = rkc_config_gpu();
    return 0;
}

static int look(void)
{
    if (rkc_driver_state_word == &not_looked && make_state_word() != 0)
        return RKC_ENOMEM;
    if (rkc_driver_state() > RKC_DRIVER_ASLEEP)
        return status_of(rkc_driver_state());
    if (process.setting == RKC_GPU_OFF)
        return set_state(RKC_DRIVER_ABSENT);
    if (!process.library) {
        process.library = open_library();
        if (!process.library)
            return set_state(RKC_DRIVER_ABSENT);
        int status = fill_table();
        if (status)
            return status;
    }
    return wake();
}

int rkc_driver_find(void)
{
    enum rkc_driver_state state = rkc_driver_state();
    if (state > RKC_DRIVER_ASLEEP || state == RKC_DRIVER_CHILD)
        return status_of(state);
    int saved = errno;
    uint64_t mask;
    rkc_thread_signals_block(&mask); /* a handler that looks would wait for itself */
    pthread_mutex_lock(&find_lock);
    int status = look();
    pthread_mutex_unlock(&find_lock);
    rkc_thread_signals_restore(&mask);
    errno = saved;
    return status;
}

const char *rkc_driver_reason(void)
{
    switch (rkc_driver_state()) {
    case RKC_DRIVER_CHILD:
        return "this is a forked child";
    case RKC_DRIVER_UNKNOWN:
        return "libcuda.so.1 was not looked for";
    case RKC_DRIVER_ABSENT:
        return process.setting == RKC_GPU_OFF  ? "RANKCLOCK_GPU is off"
               : process.setting == RKC_GPU_ON ? "libcuda.so.1 cannot be loaded"
                                               : "the program has not loaded libcuda.so.1";
    case RKC_DRIVER_ASLEEP:
        return "the program has not initialised CUDA";
    case RKC_DRIVER_BROKEN:
        return process.reason;
    case RKC_DRIVER_GONE:
        return "CUDA was shut down";
    case RKC_DRIVER_READY:
        break;
    }
    return NULL;
}

void rkc_driver_say(void)
{
    enum rkc_driver_state state = rkc_driver_state();
    int missing = state == RKC_DRIVER_ABSENT && process.setting == RKC_GPU_ON;
    if ((state == RKC_DRIVER_BROKEN || missing) && !atomic_exchange(&process.said, 1))
        rkc_log(RKC_LOG_WARNING, "no GPU times: %s", rkc_driver_reason());
}

/* ---- results ---- */

int rkc_driver_failure(CUresult result)
{
    switch (result) {
    case RKC_CUDA_NOT_READY:
        return RKC_ENOTREADY;
    case RKC_CUDA_DEINITIALIZED:
        return set_state(RKC_DRIVER_GONE);
    case RKC_CUDA_NOT_INITIALIZED:
        return RKC_ENODRIVER;
    case RKC_CUDA_OUT_OF_MEMORY:
        return RKC_ENOMEM;
    case RKC_CUDA_NO_DEVICE:
    case RKC_CUDA_INVALID_DEVICE:
        return RKC_ENODEVICE;
    case RKC_CUDA_INVALID_CONTEXT:
        return RKC_ENOCONTEXT;
    case RKC_CUDA_INVALID_HANDLE:
        return RKC_EHANDLE;
    case RKC_CUDA_NOT_SUPPORTED:
        return RKC_ENOTSUP;
    case RKC_CUDA_CONTEXT_IS_DESTROYED:
    case RKC_CUDA_ECC_UNCORRECTABLE:
    case RKC_CUDA_ILLEGAL_ADDRESS:
    case RKC_CUDA_LAUNCH_TIMEOUT:
    case RKC_CUDA_ASSERT:
        return RKC_ELOST;
    default:
        if (result >= RKC_CUDA_HARDWARE_STACK && result <= RKC_CUDA_LAUNCH_FAILED)
            return RKC_ELOST;
        if (result >= RKC_CUDA_CAPTURE_UNSUPPORTED && result <= RKC_CUDA_CAPTURE_WRONG_THREAD)
            return RKC_ECAPTURE;
        return RKC_ECUDA;
    }
}

void rkc_driver_forget(void)
{
    if (rkc_driver_state_word != &not_looked)
        munmap((void *)(uintptr_t)rkc_driver_state_word, 4096);
    rkc_driver_state_word = &not_looked;
    if (process.library)
        dlclose(process.library);
    memset(&process, 0, sizeof process);
    memset(&rkc_driver_table, 0, sizeof rkc_driver_table);
}
