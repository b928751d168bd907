/* chain.c - an anchor is an event on a stream that has nothing else to do, so that the device comes
 * to it at once: between two readings of the host's clock around it and a few queries lies the
 * instant that ties both clocks together. */
#include "autoconf.h"

#include "gpu/chain.h"

#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "calltree.h"
#include "clock.h"
#include "gpu/context.h"
#include "gpu/device.h"
#include "gpu/numa.h"
#include "thread.h"

enum { QUERIES = 16 }; /* of a new anchor; most devices are there after a few */

int64_t rkc_chain_due_ns = 125000000;

struct rkc_chain rkc_chain_table[RKC_CHAINS_MAX];

static struct {
    pthread_mutex_t lock;
    _Atomic int n;
} chains = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Other chains may be of the same device. */
static void publish(struct rkc_chain *chain)
{
    struct rkc_device_block *device = chain->device;
    if (!device || !(chain->more_ns | chain->covered_more_ns))
        return;
    atomic_fetch_add_explicit(&device->covered_ns, (uint64_t)chain->covered_more_ns,
                              memory_order_relaxed);
    atomic_fetch_add_explicit(&device->ns, (uint64_t)chain->more_ns, memory_order_relaxed);
    chain->covered_more_ns = chain->more_ns = 0;
}

void rkc_chain_hold(struct rkc_chain **held, struct rkc_chain *chain)
{
    if (*held == chain)
        return;
    if (*held) {
        publish(*held);
        pthread_mutex_unlock(&(*held)->lock);
    }
    if (chain)
        pthread_mutex_lock(&chain->lock);
    *held = chain;
}

void rkc_chain_lose(struct rkc_chain *chain)
{
    atomic_store_explicit(&chain->is_lost, 1, memory_order_relaxed);
}

/* ---- finding and making ---- */

static int find(CUcontext context, uint64_t id)
{
    for (int i = 0; i < atomic_load(&chains.n); i++) {
        struct rkc_chain *chain = &rkc_chain_table[i];
        if (chain->context == context && chain->id == id && !atomic_load(&chain->is_lost))
            return i;
    }
    return RKC_NO_CHAIN;
}

/* The block of a device, shared by contexts of the same one. */
static struct rkc_device_block *device_block(int index)
{
    struct rkc_device device;
    for (int i = 0; i < atomic_load(&chains.n); i++)
        if (rkc_chain_table[i].device && rkc_chain_table[i].device->index == index)
            return rkc_chain_table[i].device;
    if (rkc_device_read(index, &device) != 0)
        return NULL;
    struct rkc_device_block *block =
        rkc_thread_new_block(RKC_BLOCK_DEVICE, sizeof(struct rkc_device_block));
    if (!block)
        return NULL;
    block->index = index;
    block->driver_version = rkc_driver_table.version;
    block->numa_node = rkc_numa_of_device(device.pci_bus_id);
    block->rank_numa_node = rkc_numa_of_cpu(sched_getcpu());
    memcpy(block->uuid, device.uuid, strnlen(device.uuid, sizeof block->uuid - 1));
    memcpy(block->bus_id, device.pci_bus_id, strnlen(device.pci_bus_id, sizeof block->bus_id - 1));
    memcpy(block->name, device.name, strnlen(device.name, sizeof block->name - 1));
    rkc_image_publish(&block->block);
    return block;
}

static void make_stream(struct rkc_chain *chain)
{
    CUstream stream = NULL;
    if (rkc_context_push(chain->context) != 0)
        return;
    if (rkc_driver_status(rkc_driver_table.stream_create(&stream, RKC_CUDA_STREAM_NON_BLOCKING,
                                                         0)) == 0)
        chain->stream = stream;
    rkc_context_pop();
}

/* The lock of the chains is held. */
static int make(CUcontext context, uint64_t id)
{
    int device, n = atomic_load(&chains.n);
    if (n == RKC_CHAINS_MAX)
        return RKC_ELIMIT;
    int status = rkc_context_device(context, &device);
    if (status != 0)
        return status;
    struct rkc_chain *chain = &rkc_chain_table[n];
    *chain = (struct rkc_chain){
        .context = context, .id = id, .lock = PTHREAD_MUTEX_INITIALIZER};
    chain->device = device_block(device);
    make_stream(chain);
    atomic_store(&chains.n, n + 1);
    return n;
}

int rkc_chain_of_stream(CUstream stream)
{
    CUcontext context;
    int status = rkc_context_of_stream(stream, &context);
    if (status != 0)
        return status;
    uint64_t id = rkc_context_id(context);
    pthread_mutex_lock(&chains.lock);
    int index = find(context, id);
    if (index == RKC_NO_CHAIN)
        index = make(context, id);
    pthread_mutex_unlock(&chains.lock);
    return index;
}

void rkc_chain_forget(void)
{
    atomic_store(&chains.n, 0);
    memset(rkc_chain_table, 0, sizeof rkc_chain_table);
}

/* ---- anchors ---- */

/* Link an anchor to the one before it once the device has come to it; the first of all has none.
 * The lock is held. */
static int know(struct rkc_chain *chain, struct rkc_anchor *anchor, const struct rkc_anchor *from)
{
    float ms = 0;
    if (anchor->is_known)
        return 0;
    int status = from ? rkc_driver_status(rkc_driver_table.event_elapsed(&ms, from->event,
                                                                         anchor->event))
                      : rkc_driver_status(rkc_driver_table.event_query(anchor->event));
    if (status == 0)
        rkc_timeline_link(&chain->timeline, anchor, from, ms);
    return status;
}

/* Link what can be linked, from the oldest on; an anchor is never known before those before it. */
static void know_all(struct rkc_chain *chain)
{
    const struct rkc_anchor *from = NULL;
    for (uint32_t i = RKC_ANCHORS; i-- > 0;) {
        struct rkc_anchor *anchor = rkc_timeline_anchor(&chain->timeline, i);
        if (!anchor)
            continue;
        if (know(chain, anchor, from) != 0)
            return;
        from = anchor;
    }
}

/* Record the anchor and see it done, if that is soon. */
static int record(struct rkc_chain *chain, struct rkc_anchor *anchor)
{
    CUevent event = rkc_timeline_spare(&chain->timeline);
    int status = event ? 0 : rkc_context_new_event(chain->context, 0, &event);
    if (status != 0)
        return status;
    anchor->event = event;
    uint64_t before = rkc_clock_ticks(), after = before;
    status = rkc_driver_status(rkc_driver_table.event_record(anchor->event, chain->stream));
    int is_done = 0;
    for (int i = 0; i < QUERIES && status == 0 && !is_done; i++) {
        is_done = rkc_driver_status(rkc_driver_table.event_query(anchor->event)) == 0;
        after = rkc_clock_ticks();
    }
    anchor->host_ticks = before + (after - before) / 2;
    anchor->slack_ns =
        is_done ? rkc_clock_ns((after - before + 1) / 2, rkc_tree_rate()) : INT64_MAX;
    return status;
}

void rkc_chain_extend(struct rkc_chain *chain)
{
    CUstreamCaptureMode mode;
    pthread_mutex_lock(&chain->lock);
    uint64_t now = rkc_clock_ticks();
    /* Another thread may have come first. An anchor nobody knows yet must not be pushed out. */
    struct rkc_anchor *last = rkc_timeline_anchor(&chain->timeline, 0);
    if (chain->stream && rkc_chain_is_due(chain, now, rkc_tree_rate()) &&
        rkc_capture_relax(&mode) == 0) {
        know_all(chain);
        if (!last || last->is_known) {
            struct rkc_anchor anchor = {.event = NULL};
            if (record(chain, &anchor) == 0) {
                rkc_timeline_push(&chain->timeline, &anchor);
                know_all(chain);
            }
        }
        rkc_capture_restrict(mode);
        atomic_store_explicit(&chain->anchored_ticks, now, memory_order_relaxed);
    }
    pthread_mutex_unlock(&chain->lock);
}

int rkc_chain_place(struct rkc_chain *chain, CUevent event, struct rkc_position *position)
{
    float best_ms = 0;
    const struct rkc_anchor *best = NULL;
    for (uint32_t i = 0; i < RKC_ANCHORS; i++) {
        const struct rkc_anchor *anchor = rkc_timeline_anchor(&chain->timeline, i);
        float ms;
        if (!anchor)
            break;
        if (!anchor->is_known)
            continue;
        int status = rkc_driver_status(rkc_driver_table.event_elapsed(&ms, anchor->event, event));
        if (status != 0)
            return status;
        if (!best || (ms < 0 ? -ms : ms) < (best_ms < 0 ? -best_ms : best_ms)) {
            best = anchor;
            best_ms = ms;
        }
        if (ms >= -RKC_LINK_MAX_MS) /* older ones are no nearer, or it is near enough */
            break;
    }
    if (!best)
        return RKC_ENOTFOUND;
    *position = rkc_timeline_place(&chain->timeline, best, best_ms);
    return 0;
}

void rkc_chain_cover(struct rkc_chain *chain, const struct rkc_position *at, int64_t ns)
{
    if (!chain->device)
        return;
    chain->more_ns += ns;
    if (at)
        chain->covered_more_ns += rkc_cover_add(&chain->cover, at->ns, at->ns + ns);
}
