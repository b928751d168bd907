/* request.c - the table of requests: open addressing by handle, in each slot the requests that
 * have it.
 *
 * What one gets wrong here: a handle does not name a request. MPI gives one handle to all
 * requests that were complete when they were posted, and gives it out again as soon as a
 * request has completed, which with several threads is before the completing one comes here.
 * So there the oldest of a handle completes first. With one thread it is the newest, for an
 * older one can only be left over from a completion that was not seen.
 */
#include "autoconf.h"

#include "request.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { SHARDS = 16, SLOTS_FIRST = 256 };

/* A slot whose requests have completed keeps its handle, which is soon used again. */
struct slot {
    uint64_t key;  /* 0: never used */
    uint32_t last; /* index of the request to complete last, whose `next` is the first; or 0 */
    uint32_t zero;
};

struct shard {
    pthread_mutex_t lock;
    int locked; /* the lock is held: several threads may have come in the meantime */
    struct slot *slots;
    uint32_t n_slots, used;   /* a power of two; those with a key */
    struct rkc_request *pool; /* index 0 is none */
    uint32_t pool_size, pool_used;
    uint32_t free; /* first of the list of free ones */
} __attribute__((aligned(64)));

static struct shard shards[SHARDS] = {[0 ... SHARDS - 1] = {.lock = PTHREAD_MUTEX_INITIALIZER}};

_Atomic uint32_t rkc_requests_active RKC_MPI_LOOKED_AT;
_Atomic uint32_t rkc_requests_held RKC_MPI_LOOKED_AT;

static uint64_t mix(uint64_t key)
{
    return key * UINT64_C(0x9e3779b97f4a7c15);
}

static struct shard *enter(uint64_t key)
{
    if (RKC_LIKELY(!rkc_mpi_concurrent))
        return &shards[0];
    struct shard *shard = &shards[mix(key) >> 60];
    pthread_mutex_lock(&shard->lock);
    shard->locked = 1;
    return shard;
}

static void leave(struct shard *shard)
{
    if (RKC_UNLIKELY(shard->locked)) {
        shard->locked = 0;
        pthread_mutex_unlock(&shard->lock);
    }
}

static void count(_Atomic uint32_t *counter, uint32_t n)
{
    if (RKC_UNLIKELY(rkc_mpi_concurrent))
        atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
    else
        atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
                              memory_order_relaxed);
}

/* The slot of a key or, where it would go, one without; NULL while there are no slots. */
static struct slot *find(const struct shard *shard, uint64_t key)
{
    if (RKC_UNLIKELY(!shard->slots))
        return NULL;
    uint32_t mask = shard->n_slots - 1, i = (uint32_t)(mix(key) >> 28) & mask;
    while (shard->slots[i].key != key && shard->slots[i].key)
        i = (i + 1) & mask;
    return &shard->slots[i];
}

static void untracked(void)
{
    struct rkc_image *image = rkc_private_image();
    if (image->base)
        atomic_fetch_add_explicit(&rkc_image_header(image)->untracked, 1, memory_order_relaxed);
}

/* Make room for more keys, and forget those without requests. */
static int rehash(struct shard *shard)
{
    struct slot *old = shard->slots;
    uint32_t old_n = shard->n_slots, wanted = 0;
    for (uint32_t i = 0; i < old_n; i++)
        wanted += old[i].last != 0;
    uint32_t n = SLOTS_FIRST;
    while (n < 4 * wanted)
        n *= 2;
    struct slot *slots = calloc(n, sizeof *slots);
    if (!slots)
        return RKC_ENOMEM;
    shard->slots = slots;
    shard->n_slots = n;
    shard->used = wanted;
    for (uint32_t i = 0; i < old_n; i++)
        if (old[i].last)
            *find(shard, old[i].key) = old[i];
    free(old);
    return 0;
}

static uint32_t take(struct shard *shard)
{
    uint32_t index = shard->free;
    if (index) {
        shard->free = shard->pool[index].next;
        return index;
    }
    if (shard->pool_used == shard->pool_size) {
        uint32_t size = shard->pool_size ? 2 * shard->pool_size : SLOTS_FIRST;
        struct rkc_request *pool = realloc(shard->pool, size * sizeof *pool);
        if (!pool)
            return 0;
        shard->pool = pool;
        shard->pool_size = size;
        shard->pool_used += !shard->pool_used;
    }
    return shard->pool_used++;
}

/* Add to the requests of a slot: in front, or behind where the oldest is to complete first. */
static void link_request(struct shard *shard, struct slot *slot, uint32_t index)
{
    struct rkc_request *request = &shard->pool[index];
    if (!slot->last) {
        request->next = index;
        slot->last = index;
        return;
    }
    request->next = shard->pool[slot->last].next;
    shard->pool[slot->last].next = index;
    if (rkc_mpi_concurrent)
        slot->last = index;
}

/* Take the first request from a slot. */
static void unlink_first(struct shard *shard, struct slot *slot)
{
    uint32_t first = shard->pool[slot->last].next;
    if (first == slot->last)
        slot->last = 0;
    else
        shard->pool[slot->last].next = shard->pool[first].next;
    shard->pool[first].next = shard->free;
    shard->free = first;
    count(&rkc_requests_held, (uint32_t)-1);
}

static struct rkc_request *first_of(const struct shard *shard, const struct slot *slot)
{
    return slot && slot->last ? &shard->pool[shard->pool[slot->last].next] : NULL;
}

/* A new request of a handle, to be filled in but for `next`; NULL after it was counted as
 * untracked. */
static struct rkc_request *insert(struct shard *shard, uint64_t key, uint32_t flags)
{
    struct slot *slot = find(shard, key);
    if (RKC_UNLIKELY(!slot || !slot->key))
        slot = 2 * shard->used >= shard->n_slots && rehash(shard) != 0 ? NULL : find(shard, key);
    int is_full =
        atomic_load_explicit(&rkc_requests_held, memory_order_relaxed) >= RKC_REQUESTS_MAX;
    uint32_t index = slot && !is_full ? take(shard) : 0;
    if (RKC_UNLIKELY(!index)) {
        untracked();
        return NULL;
    }
    if (!slot->key) {
        slot->key = key;
        shard->used++;
    }
    link_request(shard, slot, index);
    count(&rkc_requests_held, 1);
    if (flags & RKC_REQUEST_ACTIVE)
        count(&rkc_requests_active, 1);
    shard->pool[index].flags = flags;
    return &shard->pool[index];
}

int rkc_request_add(uint64_t key, const struct rkc_request *request)
{
    struct shard *shard = enter(key);
    struct rkc_request *added = insert(shard, key, request->flags);
    if (added) {
        uint32_t next = added->next;
        *added = *request;
        added->next = next;
    }
    leave(shard);
    return added ? 0 : RKC_ENOMEM;
}

int rkc_request_complete(uint64_t key, struct rkc_request *request)
{
    struct shard *shard = enter(key);
    struct slot *slot = find(shard, key);
    struct rkc_request *first = first_of(shard, slot);
    int found = first && (first->flags & RKC_REQUEST_ACTIVE);
    if (found) {
        *request = *first;
        count(&rkc_requests_active, (uint32_t)-1);
        if (first->flags & RKC_REQUEST_PERSISTENT)
            first->flags &= ~(uint32_t)(RKC_REQUEST_ACTIVE | RKC_REQUEST_CANCELLED);
        else
            unlink_first(shard, slot);
    }
    leave(shard);
    return found;
}

int rkc_request_start(uint64_t key, uint64_t ticks, uint32_t traffic, struct rkc_request *request)
{
    struct shard *shard = enter(key);
    struct rkc_request *first = first_of(shard, find(shard, key));
    int found = first && (first->flags & RKC_REQUEST_PERSISTENT);
    if (found) {
        if (!(first->flags & RKC_REQUEST_ACTIVE))
            count(&rkc_requests_active, 1);
        first->ticks = ticks;
        first->traffic = traffic;
        first->flags = (first->flags & ~(uint32_t)RKC_REQUEST_CANCELLED) | RKC_REQUEST_ACTIVE;
        *request = *first;
    }
    leave(shard);
    return found;
}

void rkc_request_cancel(uint64_t key)
{
    struct shard *shard = enter(key);
    struct rkc_request *first = first_of(shard, find(shard, key));
    if (first)
        first->flags |= RKC_REQUEST_CANCELLED;
    leave(shard);
}

int rkc_request_forget(uint64_t key, struct rkc_request *request)
{
    struct shard *shard = enter(key);
    struct slot *slot = find(shard, key);
    struct rkc_request *first = first_of(shard, slot);
    if (first) {
        *request = *first;
        if (first->flags & RKC_REQUEST_ACTIVE)
            count(&rkc_requests_active, (uint32_t)-1);
        unlink_first(shard, slot);
    }
    leave(shard);
    return first != NULL;
}

/* ---- booking ---- */

static uint32_t flags_of(const struct rkc_moved *moved)
{
    return (moved->how & RKC_MOVED_ARRIVES ? (uint32_t)RKC_REQUEST_ARRIVES : 0) |
           (moved->how & RKC_MOVED_SIZED ? (uint32_t)RKC_REQUEST_SIZED : 0) |
           (moved->how & RKC_MOVED_MESSAGE ? (uint32_t)RKC_REQUEST_MESSAGE : 0);
}

/* Whether its completion brings data, and with it the entry in the histogram. */
static int brings_data(const struct rkc_request *request)
{
    return (request->flags & RKC_REQUEST_ARRIVES) || request->received;
}

/* Books what the call moves now. `rank`: at the other end. */
static void book_post(struct rkc_traffic *traffic, const struct rkc_moved *moved, int rank)
{
    if (moved->how & (RKC_MOVED_MESSAGE | RKC_MOVED_FETCHED))
        rkc_traffic_message(moved, rank);
    if (moved->sent)
        rkc_traffic_add(&traffic->sent, moved->sent);
    if (moved->received)
        rkc_traffic_add(&traffic->received, moved->received);
    if ((moved->how & (RKC_MOVED_SIZED | RKC_MOVED_ARRIVES)) == RKC_MOVED_SIZED)
        rkc_traffic_size(traffic, moved->sent, moved->received, 1);
}

void rkc_request_post(const struct rkc_mpi_call *call, MPI_Request request,
                      const struct rkc_moved *moved)
{
    uint64_t key = rkc_request_key(request);
    struct rkc_traffic *traffic = rkc_traffic_of(call);
    if (RKC_LIKELY(traffic != NULL) && rkc_kinds_wanted(call->end))
        traffic = rkc_kinds_traffic(call, traffic, moved);
    if (RKC_UNLIKELY(!traffic)) {
        untracked();
        return;
    }
    int rank = moved->how & (RKC_MOVED_MESSAGE | RKC_MOVED_FETCHED) ? rkc_moved_rank(moved) : -1;
    book_post(traffic, moved, rank);
    if (RKC_UNLIKELY(!key))
        return;
    struct shard *shard = enter(key);
    struct rkc_request *entry = insert(shard, key, flags_of(moved) | RKC_REQUEST_ACTIVE);
    if (RKC_LIKELY(entry != NULL)) {
        entry->ticks = call->begin;
        entry->sent = moved->sent;
        entry->received = 0;
        entry->traffic = rkc_image_unit(call->thread->base, traffic);
        entry->rank = rank;
        entry->kinds = (struct rkc_kinds){0};
    }
    leave(shard);
}

void rkc_request_plan(MPI_Request request, const struct rkc_moved *moved)
{
    uint64_t key = rkc_request_key(request), now = rkc_clock_ticks();
    struct rkc_request entry = {.sent = moved->sent,
                                .received = moved->received,
                                .flags = flags_of(moved) | RKC_REQUEST_PERSISTENT,
                                .rank = -1};
    if (!key)
        return;
    if (moved->how & RKC_MOVED_MESSAGE)
        entry.rank = rkc_moved_rank(moved);
    if (rkc_kinds_wanted(now)) {
        entry.kinds = rkc_kinds_of(moved, now);
        entry.flags |= rkc_kinds_gaps(moved, entry.kinds) ? (uint32_t)RKC_REQUEST_GAPS : 0;
    }
    rkc_request_add(key, &entry);
}

/* A request was started whose buffers are not the host's: its counters, or NULL without memory. */
static struct rkc_traffic *start_elsewhere(const struct rkc_mpi_call *call, uint64_t key,
                                           struct rkc_traffic *traffic, struct rkc_request *entry)
{
    struct rkc_traffic *own = rkc_kinds_traffic_of(call, traffic, entry->kinds);
    if (!own)
        return NULL;
    if (entry->flags & RKC_REQUEST_GAPS)
        atomic_fetch_add_explicit(&own->noncontiguous, 1, memory_order_relaxed);
    rkc_request_start(key, call->begin, rkc_image_unit(call->thread->base, own), entry);
    return own;
}

void rkc_request_started(const struct rkc_mpi_call *call, MPI_Request request)
{
    uint64_t key = rkc_request_key(request);
    struct rkc_traffic *traffic = rkc_traffic_of(call);
    struct rkc_request entry;
    if (!traffic || !rkc_request_start(key, call->begin, call->node->traffic, &entry)) {
        untracked();
        return;
    }
    if (RKC_UNLIKELY(entry.kinds.send || entry.kinds.recv)) {
        traffic = start_elsewhere(call, key, traffic, &entry);
        if (!traffic) {
            untracked();
            return;
        }
    }
    rkc_traffic_add(&traffic->sent, entry.sent);
    if ((entry.flags & RKC_REQUEST_SIZED) && !brings_data(&entry))
        rkc_traffic_size(traffic, entry.sent, 0, 1);
    if (entry.flags & RKC_REQUEST_MESSAGE)
        rkc_matrix_add(entry.rank, 0, 1, entry.sent);
}

void rkc_request_book(const struct rkc_request *request, const MPI_Status *status, uint64_t now)
{
    struct rkc_traffic *traffic = rkc_image_at(rkc_private_image()->base, request->traffic);
    int cancelled = 0, sized = (request->flags & RKC_REQUEST_SIZED) != 0;
    int64_t ticks = (int64_t)(now - request->ticks);
    rkc_traffic_add(&traffic->in_flight, ticks > 0 ? (uint64_t)ticks : 0);
    rkc_traffic_add(&traffic->completed, 1);
    if (RKC_UNLIKELY(request->flags & RKC_REQUEST_CANCELLED))
        PMPI_Test_cancelled(status, &cancelled);
    if (cancelled) {
        rkc_traffic_add(&traffic->sent, (uint64_t)0 - request->sent);
        if (request->flags & RKC_REQUEST_MESSAGE)
            rkc_matrix_add(request->rank, 0, (uint64_t)-1, (uint64_t)0 - request->sent);
        if (sized && !brings_data(request))
            rkc_traffic_size(traffic, request->sent, 0, (uint64_t)-1);
    } else if (brings_data(request)) {
        uint64_t received =
            request->flags & RKC_REQUEST_ARRIVES ? rkc_mpi_arrived(status) : request->received;
        rkc_traffic_add(&traffic->received, received);
        if (sized)
            rkc_traffic_size(traffic, request->sent, received, 1);
    }
}
