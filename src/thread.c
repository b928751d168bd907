/* thread.c - fork wipes the gate and the structs of all threads: a child, made by a raw clone or
 * not, finds the gate shut. */
#include "autoconf.h"

#include "thread.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "calltree.h"
#include "log.h"

struct table {
    _Atomic uint32_t n_slots;
    uint32_t free_slot; /* 1 + the first free one */
    struct rkc_thread slot[];
};

struct rkc_gate_page rkc_private_gate;
extern struct rkc_gate_page rkc_gate_here __attribute__((alias("rkc_private_gate")));

/* A thread that has not been seen is in a node that no region begins or ends in. */
static struct rkc_node nowhere;
#define NOWHERE {.open = &nowhere, .next = &nowhere}

_Thread_local struct rkc_hot rkc_private_hot __attribute__((tls_model("initial-exec"))) = NOWHERE;

void rkc_thread_forget(void)
{
    rkc_private_hot = (struct rkc_hot)NOWHERE;
}

static struct {
    struct table *table;
    struct rkc_image *image;
    pthread_key_t key;
    int wiped; /* by wipe(), not by the kernel */
    int full;  /* said once */
} threads;

static struct rkc_polls_gate *_Atomic polls_gate; /* NULL before the first loop */

static pthread_mutex_t image_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t image_lock_mask;

void rkc_thread_signals_block(uint64_t *old_mask)
{
    uint64_t all = ~UINT64_C(0);
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, old_mask, sizeof all);
}

void rkc_thread_signals_restore(const uint64_t *old_mask)
{
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, old_mask, NULL, sizeof *old_mask);
}

/* ---- holding still ---- */

static _Atomic uint32_t frozen;

/* How long a saver waits for changes, and changes for a saver. */
static const int64_t CHANGE_NS = 100000000, SAVER_NS = 2000000000;

static void doze(void)
{
    struct timespec time = {.tv_nsec = 50000};
    nanosleep(&time, NULL);
}

void rkc_thread_change(struct rkc_thread *thread, uint64_t *old_mask)
{
    int64_t until_ns = 0;
    rkc_thread_signals_block(old_mask);
    atomic_store(&thread->changing, 1);
    while (atomic_load(&frozen)) {
        int64_t now_ns = rkc_clock_monotonic_ns();
        until_ns = until_ns ? until_ns : now_ns + SAVER_NS;
        if (now_ns > until_ns)
            break;
        atomic_store(&thread->changing, 0);
        doze();
        atomic_store(&thread->changing, 1);
    }
}

void rkc_thread_changed(struct rkc_thread *thread, const uint64_t *old_mask)
{
    atomic_store_explicit(&thread->changing, 0, memory_order_release);
    rkc_thread_signals_restore(old_mask);
}

void rkc_thread_freeze(void)
{
    struct table *table = threads.table;
    int64_t until_ns = rkc_clock_monotonic_ns() + CHANGE_NS;
    atomic_store(&frozen, 1);
    uint32_t n = table ? atomic_load(&table->n_slots) : 0;
    for (uint32_t i = 0; i < n; i++)
        while (atomic_load(&table->slot[i].changing) && rkc_clock_monotonic_ns() < until_ns)
            doze();
}

void rkc_thread_thaw(void)
{
    atomic_store(&frozen, 0);
}

/* ---- the lock ---- */

void rkc_thread_lock(void)
{
    uint64_t mask;
    rkc_thread_signals_block(&mask);
    pthread_mutex_lock(&image_lock);
    image_lock_mask = mask;
}

void rkc_thread_unlock(void)
{
    uint64_t mask = image_lock_mask;
    pthread_mutex_unlock(&image_lock);
    rkc_thread_signals_restore(&mask);
}

int rkc_thread_alive(void)
{
    return atomic_load_explicit(&rkc_gate_here.gate, memory_order_acquire) != 0;
}

struct rkc_thread *rkc_thread_at(uint32_t i)
{
    rkc_thread_lock();
    struct table *table = threads.table;
    struct rkc_thread *thread = table && i < table->n_slots ? &table->slot[i] : NULL;
    rkc_thread_unlock();
    return thread;
}

void *rkc_thread_new_block(enum rkc_block_kind kind, size_t bytes)
{
    rkc_thread_lock();
    void *block = rkc_image_block(threads.image, kind, bytes);
    rkc_thread_unlock();
    return block;
}

int rkc_thread_grow_hidden(struct rkc_thread *thread)
{
    size_t bytes = thread->cap_hidden * sizeof *thread->hidden;
    size_t more = bytes ? 2 * bytes : 4096;
    uint64_t mask;
    rkc_thread_signals_block(&mask); /* so that no handler jumps away with the old address gone */
    void *pages = bytes ? mremap(thread->hidden, bytes, more, MREMAP_MAYMOVE)
                        : mmap(NULL, more, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages != MAP_FAILED) {
        thread->hidden = pages;
        thread->cap_hidden = (uint32_t)(more / sizeof *thread->hidden);
    }
    rkc_thread_signals_restore(&mask);
    return pages == MAP_FAILED ? RKC_ENOMEM : 0;
}

static void free_hidden(struct rkc_thread *thread)
{
    if (thread->hidden)
        munmap(thread->hidden, thread->cap_hidden * sizeof *thread->hidden);
    thread->hidden = NULL;
    thread->cap_hidden = 0;
}

static void give_back(struct table *table, struct rkc_thread *thread)
{
    rkc_thread_lock();
    thread->next_free = table->free_slot;
    table->free_slot = 1 + (uint32_t)(thread - table->slot);
    rkc_thread_unlock();
}

/* A thread that ends leaves its ring and its nodes to the next that begins. */
static void thread_ends(void *arg)
{
    struct rkc_thread *thread = arg;
    if (rkc_thread_own() != thread)
        return;
    rkc_tree_close(thread, rkc_clock_ticks());
    rkc_thread_forget();
    thread->hot = NULL;
    atomic_store_explicit(&thread->ring->live, 0, memory_order_release);
    free_hidden(thread);
    give_back(threads.table, thread);
}

/* Have the threads look at the gate that poll. */
static void shut_polls(void)
{
    struct rkc_polls_gate *gate = atomic_load(&polls_gate);
    if (gate)
        atomic_store(&gate->place, 0);
}

int rkc_private_polls_gate(struct rkc_polls_gate *gate)
{
    if (madvise(gate, sizeof *gate, MADV_WIPEONFORK) != 0 && !threads.wiped)
        return RKC_ENOMEM;
    atomic_store(&polls_gate, gate);
    return 0;
}

/* Kernels before 4.14 cannot wipe; there the C library's fork tells us. */
static void wipe(void)
{
    atomic_store(&rkc_gate_here.gate, 0);
    shut_polls();
}

int rkc_thread_init(struct rkc_image *image)
{
    size_t bytes = sizeof(struct table) + RKC_THREADS_MAX * sizeof(struct rkc_thread);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return RKC_ENOMEM;
    if (pthread_key_create(&threads.key, thread_ends) != 0) {
        munmap(memory, bytes);
        return RKC_ENOMEM;
    }
    if (madvise(memory, bytes, MADV_WIPEONFORK) != 0 ||
        madvise(&rkc_private_gate, sizeof rkc_private_gate, MADV_WIPEONFORK) != 0)
        threads.wiped = pthread_atfork(NULL, NULL, wipe) == 0;
    threads.table = memory;
    threads.image = image;
    uint32_t clock = rkc_private_clock_source == RKC_CLOCK_GETTIME ? RKC_GATE_CLOCK : 0;
    atomic_store_explicit(&rkc_gate_here.gate, RKC_GATE_OPEN | clock, memory_order_release);
    return 0;
}

void rkc_thread_stop(void)
{
    if (!rkc_thread_alive())
        return;
    atomic_store(&rkc_gate_here.gate, 0);
    shut_polls();
}

void rkc_thread_pause(int paused)
{
    uint32_t gate = rkc_gate(), wanted;
    do {
        if (!gate)
            return;
        wanted = paused ? gate | RKC_GATE_PAUSED : gate & ~(uint32_t)RKC_GATE_PAUSED;
    } while (!atomic_compare_exchange_weak(&rkc_gate_here.gate, &gate, wanted));
    if (paused)
        shut_polls();
}

/* A slot to use: one that a thread left, with its ring, or a new one. Lock held. */
static struct rkc_thread *take_slot(struct table *table)
{
    if (table->free_slot) {
        struct rkc_thread *thread = &table->slot[table->free_slot - 1];
        table->free_slot = thread->next_free;
        return thread;
    }
    if (table->n_slots == RKC_THREADS_MAX)
        return NULL;
    return &table->slot[atomic_fetch_add(&table->n_slots, 1)];
}

static int give_ring(struct rkc_thread *thread)
{
    rkc_thread_lock();
    thread->ring = rkc_image_block(threads.image, RKC_BLOCK_THREAD, sizeof *thread->ring);
    rkc_thread_unlock();
    if (!thread->ring)
        return RKC_ENOMEM;
    thread->base = threads.image->base;
    if (rkc_tree_root(thread) != 0) {
        thread->ring = NULL;
        return RKC_ENOMEM;
    }
    return 0;
}

/* A slot with a ring for the calling thread, or NULL. */
static struct rkc_thread *find_slot(struct table *table)
{
    rkc_thread_lock();
    struct rkc_thread *thread = take_slot(table);
    int say = !thread && !threads.full++;
    rkc_thread_unlock();
    if (say)
        rkc_log(RKC_LOG_WARNING, "more than %d threads at once: the others are not recorded",
                RKC_THREADS_MAX);
    if (!thread || thread->ring || give_ring(thread) == 0)
        return thread;
    give_back(table, thread);
    return NULL;
}

static struct rkc_thread *attach(struct table *table)
{
    struct rkc_thread *thread = find_slot(table);
    if (!thread)
        return NULL;
    struct rkc_ring *ring = thread->ring;
    atomic_store_explicit(&ring->tid, (int32_t)syscall(SYS_gettid), memory_order_relaxed);
    atomic_fetch_add_explicit(&ring->uses, 1, memory_order_relaxed);
    struct rkc_node *root = rkc_image_at(thread->base, ring->root);
    atomic_store_explicit(&root->begin, rkc_clock_ticks(), memory_order_relaxed);
    atomic_store_explicit(&ring->live, 1, memory_order_release);
    if (atomic_load_explicit(&ring->uses, memory_order_relaxed) == 1)
        rkc_image_publish(&ring->block);
    pthread_setspecific(threads.key, thread);
    thread->hot = &rkc_private_hot;
    rkc_private_hot = (struct rkc_hot){
        .open = root, .ring = ring, .head = atomic_load(&ring->head),
        .base = thread->base, .thread = thread};
    rkc_tree_settle(thread);
    return thread;
}

struct rkc_thread *rkc_thread_attach(void)
{
    if (!rkc_thread_alive())
        return NULL;
    uint64_t mask;
    rkc_thread_signals_block(&mask); /* a handler with a region would attach the thread twice */
    struct rkc_thread *thread = attach(threads.table);
    rkc_thread_signals_restore(&mask);
    return thread;
}
