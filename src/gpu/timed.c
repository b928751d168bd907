/* timed.c - what one gets wrong here: a call of the driver's that fails tells of a context that the
 * program has destroyed, of an error that is the program's, or of a capture; none of it is ours to
 * report, and each costs the visits concerned their device time, counted by reason, and no more.
 *
 * A pair keeps its two events for good and belongs to one context. It is free, open (the begin is
 * recorded), or waiting (the end is, too). Finishing a run reads other threads' lists: therefore
 * the lock, which is otherwise never contended.
 */
#include "autoconf.h"

#include "gpu/timed.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "calltree.h"
#include "gpu/chain.h"
#include "gpu/context.h"
#include "gpu/pair.h"
#include "hot.h"

enum {
    NO_PAIR = UINT32_MAX,
    POLL_EACH = 16, /* ended visits */
    POLL_MOST = 64, /* pairs looked at in one poll */
};

int64_t rkc_timed_poll_ns = 1000000, rkc_timed_pin_ns = 100000000;

struct list {
    _Atomic int lock;
    uint32_t capacity, used;
    uint32_t first, last, waiting; /* in the order of their ends */
    uint32_t unpolled;             /* ended since the last poll */
    uint64_t polled, pinned;       /* ticks */
    CUstream stream;               /* the last one, */
    int chain;                     /* and its chain, or RKC_NO_CHAIN */
    uint32_t n_open, open[RKC_DEPTH_MAX + 1];
    uint32_t free[RKC_CHAINS_MAX];
    struct rkc_pair pair[];
};

static uint32_t capacity_wanted = 4096;
static int sync_wanted;

void rkc_timed_init(uint32_t capacity, int sync)
{
    capacity_wanted = capacity;
    sync_wanted = sync;
}

/* ---- lists ---- */

/* Fails when a signal handler has come between, or where another thread finishes the run: whoever
 * is in the list then will not leave it soon. */
static int try_lock(struct list *list)
{
    return !atomic_exchange_explicit(&list->lock, 1, memory_order_acquire);
}

static void unlock(struct list *list)
{
    atomic_store_explicit(&list->lock, 0, memory_order_release);
}

static size_t list_bytes(uint32_t capacity)
{
    return sizeof(struct list) + capacity * sizeof(struct rkc_pair);
}

/* The thread's list, made at its first GPU region; NULL without memory. */
static struct list *list_of(struct rkc_thread *thread)
{
    if (RKC_LIKELY(thread->gpu != NULL))
        return thread->gpu;
    uint32_t capacity = capacity_wanted;
    struct list *list = mmap(NULL, list_bytes(capacity), PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (list == MAP_FAILED)
        return NULL;
    madvise(list, list_bytes(capacity), MADV_DONTFORK);
    list->capacity = capacity;
    list->first = list->last = NO_PAIR;
    list->chain = RKC_NO_CHAIN;
    memset(list->free, 0xff, sizeof list->free);
    thread->gpu = list;
    atomic_fetch_add(&rkc_gate_here.timed_threads, 1);
    return list;
}

static void release(struct list *list, uint32_t index)
{
    struct rkc_pair *pair = &list->pair[index];
    pair->next = list->free[pair->chain];
    list->free[pair->chain] = index;
}

static int make_events(int chain, struct rkc_pair *pair)
{
    CUcontext context = rkc_chain_at(chain)->context;
    *pair = (struct rkc_pair){.chain = (int16_t)chain};
    int status = rkc_context_new_event(context, 0, &pair->begin);
    if (status != 0)
        return status;
    status = rkc_context_new_event(context, 0, &pair->end);
    if (status != 0)
        rkc_driver_status(rkc_driver_table.event_destroy(pair->begin));
    return status;
}

/* Once all places are in use: a chain that has a free pair, or RKC_NO_CHAIN. */
static int chain_to_spare(const struct list *list)
{
    for (int i = 0; i < RKC_CHAINS_MAX; i++)
        if (list->free[i] != NO_PAIR)
            return i;
    return RKC_NO_CHAIN;
}

/* Take a chain's free pair away. Its context may be gone, and the events with it: what is known to
 * be is left alone, and the driver refuses the rest. */
static uint32_t take_from(struct list *list, int chain)
{
    uint32_t index = list->free[chain];
    const struct rkc_pair *pair = &list->pair[index];
    list->free[chain] = pair->next;
    if (!atomic_load_explicit(&rkc_chain_at(chain)->is_lost, memory_order_relaxed)) {
        rkc_driver_status(rkc_driver_table.event_destroy(pair->begin));
        rkc_driver_status(rkc_driver_table.event_destroy(pair->end));
    }
    return index;
}

/* Take a pair of a chain; NO_PAIR with *status when there is none. */
static uint32_t take(struct list *list, int chain, int *status)
{
    uint32_t index = list->free[chain];
    if (RKC_LIKELY(index != NO_PAIR)) {
        list->free[chain] = list->pair[index].next;
        return index;
    }
    int is_full = list->used == list->capacity;
    int other = is_full ? chain_to_spare(list) : RKC_NO_CHAIN;
    struct rkc_pair made;
    *status = is_full && other == RKC_NO_CHAIN ? RKC_ELIMIT : make_events(chain, &made);
    if (*status != 0)
        return NO_PAIR;
    index = is_full ? take_from(list, other) : list->used++;
    list->pair[index] = made;
    return index;
}

/* ---- polling: the list's lock is held ---- */

static void poll_waiting(struct list *list, const char *base, uint32_t most)
{
    struct rkc_chain *held = NULL;
    uint32_t before = NO_PAIR, index = list->first;
    for (uint32_t i = 0; i < most && index != NO_PAIR; i++) {
        struct rkc_pair *pair = &list->pair[index];
        uint32_t next = pair->next;
        int status = rkc_pair_settle(pair, base, &held);
        if (status == RKC_ENOTREADY) {
            before = index;
            index = next;
            continue;
        }
        if (status != 0)
            rkc_pair_refuse(pair->node, base, rkc_pair_reason(status));
        if (before == NO_PAIR)
            list->first = next;
        else
            list->pair[before].next = next;
        if (list->last == index)
            list->last = before;
        list->waiting--;
        release(list, index);
        index = next;
    }
    rkc_chain_hold(&held, NULL);
}

static void extend_if_due(int chain, uint64_t now)
{
    struct rkc_chain *at = rkc_chain_at(chain);
    if (RKC_UNLIKELY(rkc_chain_is_due(at, now, rkc_tree_rate())) && rkc_driver_get() &&
        !atomic_load_explicit(&at->is_lost, memory_order_relaxed))
        rkc_chain_extend(at);
}

/* Whatever lasts longer than anchors are kept has to be pinned in time, and its chain extended even
 * if all that begins is of another. */
static void pin_all(struct list *list, const char *base, uint64_t now)
{
    struct rkc_chain *held = NULL;
    for (uint32_t i = 0; i < list->n_open; i++)
        extend_if_due(list->pair[list->open[i]].chain, now);
    for (uint32_t i = 0; i < list->n_open; i++)
        rkc_pair_pin(&list->pair[list->open[i]], base, &held);
    for (uint32_t i = list->first; i != NO_PAIR; i = list->pair[i].next)
        rkc_pair_pin(&list->pair[i], base, &held);
    rkc_chain_hold(&held, NULL);
}

static int passed(uint64_t since, uint64_t now, int64_t ns)
{
    return rkc_clock_ns(now - since, rkc_tree_rate()) >= ns;
}

static void poll(struct list *list, const char *base, uint64_t now, uint32_t most)
{
    CUstreamCaptureMode mode;
    list->polled = now;
    list->unpolled = 0;
    if (!rkc_driver_get()) {
        poll_waiting(list, base, most); /* all of them are lost */
        return;
    }
    if (rkc_capture_relax(&mode) != 0)
        return;
    poll_waiting(list, base, most);
    if (passed(list->pinned, now, rkc_timed_pin_ns)) {
        list->pinned = now;
        pin_all(list, base, now);
    }
    rkc_capture_restrict(mode);
}

void rkc_timed_poll(struct rkc_thread *thread)
{
    struct list *list = thread->gpu;
    if (!list || (!list->waiting && !list->n_open))
        return;
    uint64_t now = rkc_clock_ticks();
    if (!passed(list->polled, now, rkc_timed_poll_ns) || !try_lock(list))
        return;
    if (list->chain != RKC_NO_CHAIN)
        extend_if_due(list->chain, now);
    poll(list, thread->base, now, POLL_MOST);
    unlock(list);
}

void rkc_private_timed_poll(void)
{
    struct rkc_thread *thread = rkc_thread_own();
    if (thread)
        rkc_timed_poll(thread);
}

/* ---- begin and end ---- */

/* Record an event unless the stream is being captured. */
static int record(CUevent event, CUstream stream)
{
    int status = rkc_stream_check_capture(stream);
    return status ? status : rkc_driver_status(rkc_driver_table.event_record(event, stream));
}

static int find_chain(struct list *list, CUstream stream)
{
    list->stream = stream;
    list->chain = RKC_NO_CHAIN;
    int chain = rkc_chain_of_stream(stream);
    if (chain >= 0)
        list->chain = chain;
    return chain;
}

/* The chain of a stream: the last one, as long as the driver takes its events there. */
static int chain_of(struct list *list, CUstream stream)
{
    if (list->chain != RKC_NO_CHAIN && list->stream == stream &&
        !atomic_load_explicit(&rkc_chain_at(list->chain)->is_lost, memory_order_relaxed))
        return list->chain;
    return find_chain(list, stream);
}

/* Take a pair of a chain and record its begin; NO_PAIR with *status. */
static uint32_t begin_in(struct list *list, int chain, CUstream stream, int *status)
{
    uint32_t index = take(list, chain, status);
    if (index == NO_PAIR)
        return NO_PAIR;
    *status = record(list->pair[index].begin, stream);
    if (RKC_LIKELY(*status == 0))
        return index;
    release(list, index);
    return NO_PAIR;
}

/* Record the begin of a pair and return it, or NO_PAIR with *status. A refusal may mean that the
 * handle is another context's now; if it is not, that its context is another one itself. */
static uint32_t begin_pair(struct list *list, const char *base, CUstream stream, uint64_t now,
                           int *status)
{
    enum { TRIES = 3 };
    int chain = chain_of(list, stream), before = RKC_NO_CHAIN;
    for (int i = 0; i < TRIES && chain >= 0; i++) {
        extend_if_due(chain, now);
        uint32_t index = begin_in(list, chain, stream, status);
        if (RKC_UNLIKELY(index == NO_PAIR && *status == RKC_ELIMIT)) {
            poll(list, base, now, UINT32_MAX);
            index = begin_in(list, chain, stream, status);
        }
        if (index != NO_PAIR || (*status != RKC_EHANDLE && *status != RKC_ELOST))
            return index;
        if (chain == before)
            rkc_chain_lose(rkc_chain_at(chain));
        before = chain;
        chain = find_chain(list, stream);
    }
    if (chain < 0)
        *status = chain;
    return NO_PAIR;
}

/* Visits that were ended otherwise, or jumped out of, will have no end on the device. */
static void drop_stale(struct list *list, const char *base)
{
    while (list->n_open > 0) {
        uint32_t index = list->open[list->n_open - 1];
        const struct rkc_pair *pair = &list->pair[index];
        if (atomic_load_explicit(&pair->node->begin, memory_order_relaxed) == pair->host_begin)
            return;
        rkc_pair_refuse(pair->node, base, RKC_GPU_ERROR);
        release(list, index);
        list->n_open--;
    }
}

void rkc_timed_begin(struct rkc_thread *thread, struct rkc_node *node, CUstream stream)
{
    struct list *list = rkc_driver_get() ? list_of(thread) : NULL;
    uint64_t now = atomic_load_explicit(&node->begin, memory_order_relaxed);
    int status;
    if (!list)
        return;
    if (!try_lock(list)) {
        rkc_pair_refuse(node, thread->base, RKC_GPU_ERROR);
        return;
    }
    drop_stale(list, thread->base);
    uint32_t index = begin_pair(list, thread->base, stream, now, &status);
    if (RKC_LIKELY(index != NO_PAIR)) {
        struct rkc_pair *pair = &list->pair[index];
        pair->node = node;
        pair->host_begin = now;
        pair->is_pinned = pair->has_lag = 0;
        list->open[list->n_open++] = index;
    } else {
        rkc_pair_refuse(node, thread->base, rkc_pair_reason(status));
    }
    if (passed(list->polled, now, rkc_timed_poll_ns))
        poll(list, thread->base, now, POLL_MOST);
    unlock(list);
}

static void wait_for(struct list *list, uint32_t index)
{
    struct rkc_pair *pair = &list->pair[index];
    pair->next = NO_PAIR;
    if (list->last == NO_PAIR)
        list->first = index;
    else
        list->pair[list->last].next = index;
    list->last = index;
    list->waiting++;
    list->unpolled++;
}

/* The pair of a node that ends; what is open inside it has ended with it, but not on the device. */
static uint32_t close_pair(struct list *list, const struct rkc_node *node, const char *base)
{
    drop_stale(list, base);
    while (list->n_open > 0) {
        uint32_t index = list->open[list->n_open - 1];
        struct rkc_pair *pair = &list->pair[index];
        if (pair->node->depth < node->depth)
            break;
        list->n_open--;
        if (pair->node == node)
            return index;
        rkc_pair_refuse(pair->node, base, RKC_GPU_ERROR);
        release(list, index);
    }
    return NO_PAIR;
}

static void synchronize(CUevent event)
{
    CUstreamCaptureMode mode;
    if (rkc_capture_relax(&mode) != 0)
        return;
    rkc_driver_status(rkc_driver_table.event_synchronize(event));
    rkc_capture_restrict(mode);
}

void rkc_timed_end(struct rkc_thread *thread, struct rkc_node *node, CUstream stream)
{
    struct list *list = thread->gpu;
    if (!list || list->n_open == 0 || !try_lock(list))
        return;
    uint32_t index = close_pair(list, node, thread->base);
    if (index != NO_PAIR) {
        int status = rkc_driver_get() ? record(list->pair[index].end, stream) : RKC_ELOST;
        if (RKC_LIKELY(status == 0)) {
            wait_for(list, index);
            if (sync_wanted)
                synchronize(list->pair[index].end);
        } else {
            rkc_pair_refuse(node, thread->base, rkc_pair_reason(status));
            release(list, index);
        }
        if (list->unpolled >= POLL_EACH)
            poll(list, thread->base, rkc_clock_ticks(), POLL_MOST);
    }
    unlock(list);
}

/* ---- the end ---- */

static int lock_soon(struct list *list)
{
    for (int i = 0; i < 1000; i++) {
        if (try_lock(list))
            return 1;
        sched_yield();
    }
    return 0;
}

/* How many pairs of all threads are still waiting. */
static uint32_t poll_threads(void)
{
    struct rkc_thread *thread;
    uint32_t waiting = 0;
    for (uint32_t i = 0; (thread = rkc_thread_at(i)); i++) {
        struct list *list = thread->gpu;
        if (!list || !lock_soon(list))
            continue;
        poll(list, thread->base, rkc_clock_ticks(), UINT32_MAX);
        waiting += list->waiting;
        unlock(list);
    }
    return waiting;
}

static void lose_threads(void)
{
    struct rkc_thread *thread;
    for (uint32_t i = 0; (thread = rkc_thread_at(i)); i++) {
        struct list *list = thread->gpu;
        if (!list || !lock_soon(list))
            continue;
        drop_stale(list, thread->base);
        for (uint32_t at = list->first; at != NO_PAIR; at = list->pair[at].next)
            rkc_pair_refuse(list->pair[at].node, thread->base, RKC_GPU_LOST);
        for (uint32_t k = 0; k < list->n_open; k++)
            rkc_pair_refuse(list->pair[list->open[k]].node, thread->base, RKC_GPU_LOST);
        list->first = list->last = NO_PAIR;
        list->waiting = list->n_open = 0;
        unlock(list);
    }
}

void rkc_timed_drain(int64_t limit_ns)
{
    const struct timespec pause = {0, 200000};
    int64_t give_up_ns = rkc_clock_monotonic_ns() + limit_ns;
    if (atomic_load(&rkc_gate_here.timed_threads) == 0)
        return;
    while (poll_threads() > 0 && rkc_driver_get() && rkc_clock_monotonic_ns() < give_up_ns)
        nanosleep(&pause, NULL);
    lose_threads();
}

void rkc_timed_forget(void)
{
    struct rkc_thread *thread;
    for (uint32_t i = 0; (thread = rkc_thread_at(i)); i++) {
        struct list *list = thread->gpu;
        thread->gpu = NULL;
        if (list)
            munmap(list, list_bytes(list->capacity));
    }
    atomic_store(&rkc_gate_here.timed_threads, 0);
    rkc_chain_forget();
}
