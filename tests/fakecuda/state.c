/* The way into every call and out of it: counters, injected faults, and what all calls share. */
#include "double.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EARLY = 1, STEADY = 2, SYNC = 4, UNSAFE = 8 };

struct entry {
    const char *symbol;
    int version;
    int traits;
    CUresult fault;
    int skip;
    int times; /* negative: all */
};

#define ENTRY(base, version, symbol, traits, parameters) {#symbol, version, traits, 0, 0, 0},
static struct entry entries[FAKE_N_SYMBOLS] = {
#include "entries.def"
};

struct fake_state fake = {.lock = PTHREAD_MUTEX_INITIALIZER};
enum fake_shortcut fake_shortcut;
long fake_calls[FAKE_N_SYMBOLS];
static int is_hollow;
static _Thread_local struct fake_thread self;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void lock_for_fork(void)
{
    pthread_mutex_lock(&fake.lock);
}

static void unlock_in_parent(void)
{
    pthread_mutex_unlock(&fake.lock);
}

static void choose_shortcut(void)
{
    int is_plain = fake.is_free && fake.is_initialized && !fake.is_ended && !fake.is_forked &&
                   !fake.sticky && !fake.captures && !fake.n_faults && !fake.is_logging;
    enum fake_shortcut wanted = is_hollow ? FAKE_HOLLOW : is_plain ? FAKE_PLAIN : FAKE_NO_SHORTCUT;
    if (fake_shortcut != wanted) /* it is read without the lock */
        fake_shortcut = wanted;
}

static void unlock_in_child(void)
{
    fake.is_forked = fake.is_initialized;
    choose_shortcut();
    pthread_mutex_unlock(&fake.lock);
}

static void start(void)
{
    pthread_atfork(lock_for_fork, unlock_in_parent, unlock_in_child);
    fake_settings();
}

void fake_lock(void)
{
    pthread_once(&once, start);
    if (!fake.is_free)
        pthread_mutex_lock(&fake.lock);
}

void fake_unlock(void)
{
    choose_shortcut();
    if (!fake.is_free)
        pthread_mutex_unlock(&fake.lock);
}

struct fake_thread *fake_self(void)
{
    if (self.number == 0 || self.epoch != fake.epoch) {
        memset(&self, 0, sizeof(self));
        self.epoch = fake.epoch;
        self.number = fake_new_id();
    }
    return &self;
}

uint64_t fake_new_id(void)
{
    return ++fake.last_id;
}

void *fake_alloc(size_t size)
{
    void *memory = calloc(1, size);
    if (!memory) {
        fputs("fakecuda: out of memory\n", stderr);
        abort();
    }
    return memory;
}

/* Errors after which the driver's documentation says that the process must be ended. */
static int is_sticky(CUresult fault)
{
    return fault == CUDA_ERROR_ECC_UNCORRECTABLE || fault == CUDA_ERROR_ILLEGAL_ADDRESS ||
           fault == CUDA_ERROR_LAUNCH_TIMEOUT || fault == CUDA_ERROR_ASSERT ||
           (fault >= CUDA_ERROR_HARDWARE_STACK_ERROR && fault <= CUDA_ERROR_LAUNCH_FAILED);
}

static CUresult injected(struct entry *entry)
{
    if (entry->fault == CUDA_SUCCESS || entry->times == 0)
        return CUDA_SUCCESS;
    if (entry->skip > 0) {
        entry->skip--;
        return CUDA_SUCCESS;
    }
    if (entry->times > 0)
        entry->times--;
    if (is_sticky(entry->fault))
        fake.sticky = entry->fault;
    if (entry->fault == CUDA_ERROR_DEINITIALIZED)
        fake.is_ended = 1;
    return entry->fault;
}

/* The state of the driver, then what was injected, then what captures prohibit. */
static CUresult refused(struct entry *entry)
{
    if (entry->version > fake.driver_version) {
        fake.too_new++;
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    if (fake.is_ended)
        return CUDA_ERROR_DEINITIALIZED;
    if (fake.is_forked && entry != &entries[FAKE_cuDriverGetVersion])
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!fake.is_initialized && !(entry->traits & EARLY))
        return CUDA_ERROR_NOT_INITIALIZED;
    if (fake.sticky && !(entry->traits & STEADY))
        return fake.sticky;
    CUresult fault = injected(entry);
    if (fault == CUDA_SUCCESS && entry->traits & UNSAFE && fake.captures && fake_capture_forbids())
        fault = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return fault;
}

static void show(const struct entry *entry, CUresult result)
{
    if (fake.is_logging)
        fprintf(stderr, "fakecuda: %s: %u\n", entry->symbol, result);
}

CUresult fake_enter(enum fake_symbol symbol)
{
    if (self.in_callback) {
        atomic_fetch_add(&fake.violations, 1);
        return CUDA_ERROR_NOT_PERMITTED;
    }
    fake_lock();
    struct entry *entry = &entries[symbol];
    fake_calls[symbol]++;
    CUresult result = refused(entry);
    if (result != CUDA_SUCCESS) {
        show(entry, result);
        fake_unlock();
    }
    return result;
}

void fake_leave(enum fake_symbol symbol, CUresult result)
{
    show(&entries[symbol], result);
    fake_unlock();
}

void fakecuda_hollow(int on)
{
    fake_lock();
    is_hollow = on;
    fake_unlock();
}

void fakecuda_zero_cost(int on)
{
    fake_lock();
    fake.is_virtual = on;
    fake_unlock();
    /* Between the two, for they decide whether there is a lock. */
    fake.is_free = on;
    fake_lock();
    fake_unlock();
}

static struct entry *find(const char *symbol)
{
    for (size_t i = 0; i < FAKE_N_SYMBOLS; i++)
        if (strcmp(entries[i].symbol, symbol) == 0)
            return &entries[i];
    return NULL;
}

CUresult fake_set_fault(const char *symbol, int code, int skip, int times)
{
    struct entry *entry = find(symbol);
    if (!entry)
        return CUDA_ERROR_NOT_FOUND;
    fake.n_faults += (code != 0) - (entry->fault != CUDA_SUCCESS);
    entry->fault = (CUresult)code;
    entry->skip = skip;
    entry->times = times;
    return CUDA_SUCCESS;
}

int fakecuda_fail(const char *symbol, int code, int skip, int times)
{
    fake_lock();
    CUresult result = fake_set_fault(symbol, code, skip, times);
    fake_unlock();
    return (int)result;
}

void fakecuda_sticky(int code)
{
    fake_lock();
    fake.sticky = (CUresult)code;
    fake_unlock();
}

void fakecuda_deinit(void)
{
    fake_lock();
    fake.is_ended = 1;
    fake_unlock();
}

long fakecuda_calls(const char *symbol)
{
    struct entry *entry = find(symbol);
    if (!entry)
        return -1;
    fake_lock();
    long n = fake_calls[entry - entries];
    fake_unlock();
    return n;
}

/* The calls of what has one of the traits; of all entry points, if it is 0. */
static long calls_with(int traits)
{
    fake_lock();
    long n = 0;
    for (size_t i = 0; i < FAKE_N_SYMBOLS; i++)
        if (!traits || entries[i].traits & traits)
            n += fake_calls[i];
    fake_unlock();
    return n;
}

long fakecuda_calls_all(void)
{
    return calls_with(0);
}

long fakecuda_calls_synchronizing(void)
{
    return calls_with(SYNC);
}

long fakecuda_calls_too_new(void)
{
    fake_lock();
    long n = fake.too_new;
    fake_unlock();
    return n;
}

long fakecuda_callback_violations(void)
{
    return atomic_load(&fake.violations);
}

void fakecuda_reset_calls(void)
{
    fake_lock();
    memset(fake_calls, 0, sizeof(fake_calls));
    fake_unlock();
}

void fakecuda_reset(void)
{
    fake_lock();
    fake_captures_clear();
    fake_contexts_clear();
    fake_graphs_clear();
    fake_kernels_clear();
    fake_memory_clear(NULL);
    fake_shared_clear();
    fake_handles_clear();
    fake.epoch++;
    fake.is_initialized = fake.is_ended = fake.is_forked = 0;
    fake.sticky = CUDA_SUCCESS;
    fake.too_new = 0;
    atomic_store(&fake.violations, 0);
    memset(fake_calls, 0, sizeof(fake_calls));
    for (size_t i = 0; i < FAKE_N_SYMBOLS; i++)
        entries[i].fault = CUDA_SUCCESS;
    fake.n_faults = 0;
    is_hollow = 0;
    fake_unlock();
    fake.is_free = 0;
    fake_settings();
    choose_shortcut();
}
