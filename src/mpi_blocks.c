/* mpi_blocks.c - a node's blocks hang from it in lists, which only the thread that owns it extends.
 *
 * What one gets wrong here: a reader of a live process follows no list. It meets the blocks one after
 * the other, and each says whose it is; so that must be in it before it is published. */
#include "autoconf.h"

#include "mpi_blocks.h"

#include <string.h>

#include "runtime.h"

static struct rkc_traffic *make_traffic(struct rkc_thread *thread, struct rkc_node *node,
                                        struct rkc_kinds kinds)
{
    struct rkc_traffic *traffic =
        rkc_image_block(rkc_private_image(), RKC_BLOCK_TRAFFIC, sizeof *traffic);
    if (traffic) {
        traffic->node = rkc_image_unit(thread->base, node);
        traffic->kinds = kinds;
        rkc_image_publish(&traffic->block);
    }
    return traffic;
}

struct rkc_traffic *rkc_private_traffic(struct rkc_thread *thread, struct rkc_node *node)
{
    if (node->traffic)
        return rkc_image_at(thread->base, node->traffic);
    rkc_thread_lock();
    struct rkc_traffic *traffic = make_traffic(thread, node, (struct rkc_kinds){0});
    if (traffic)
        node->traffic = rkc_image_unit(thread->base, traffic);
    rkc_thread_unlock();
    return traffic;
}

struct rkc_traffic *rkc_private_traffic_of_kinds(struct rkc_thread *thread, struct rkc_node *node,
                                                 struct rkc_kinds kinds)
{
    struct rkc_traffic *traffic = rkc_private_traffic(thread, node);
    while (traffic && memcmp(&traffic->kinds, &kinds, sizeof kinds) != 0) {
        uint32_t next = atomic_load_explicit(&traffic->next, memory_order_acquire);
        if (!next) {
            rkc_thread_lock();
            struct rkc_traffic *made = make_traffic(thread, node, kinds);
            if (made)
                atomic_store_explicit(&traffic->next, rkc_image_unit(thread->base, made),
                                      memory_order_release);
            rkc_thread_unlock();
            return made;
        }
        traffic = rkc_image_at(thread->base, next);
    }
    return traffic;
}

struct rkc_polls *rkc_private_polls(struct rkc_thread *thread, struct rkc_node *node)
{
    rkc_thread_lock();
    struct rkc_polls *polls = rkc_image_block(rkc_private_image(), RKC_BLOCK_POLLS, sizeof *polls);
    if (polls) {
        polls->node = rkc_image_unit(thread->base, node);
        polls->begin = RKC_NO_BEGIN;
        polls->min = UINT64_MAX;
        rkc_image_publish(&polls->block);
        node->polls = rkc_image_unit(thread->base, polls);
    }
    rkc_thread_unlock();
    return polls;
}

/* The block of a call path's other sizes, made at its first use. */
static struct rkc_sizes *sizes_of(char *base, struct rkc_traffic *traffic)
{
    uint32_t unit = atomic_load_explicit(&traffic->sizes, memory_order_acquire);
    if (unit)
        return rkc_image_at(base, unit);
    rkc_thread_lock();
    unit = atomic_load_explicit(&traffic->sizes, memory_order_relaxed);
    struct rkc_sizes *sizes =
        unit ? rkc_image_at(base, unit)
             : rkc_image_block(rkc_private_image(), RKC_BLOCK_SIZES, sizeof *sizes);
    if (sizes && !unit) {
        sizes->traffic = rkc_image_unit(base, traffic);
        rkc_image_publish(&sizes->block);
        atomic_store_explicit(&traffic->sizes, rkc_image_unit(base, sizes), memory_order_release);
    }
    rkc_thread_unlock();
    return sizes;
}

/* Several threads may come with the first operation. */
_Atomic uint64_t *rkc_private_traffic_size(struct rkc_traffic *traffic, unsigned bucket)
{
    enum { BELOW = RKC_SIZES_NEAR / 2, LAST = RKC_SIZE_BUCKETS - RKC_SIZES_NEAR };
    uint32_t first = bucket > BELOW ? bucket - BELOW : 0, none = 0;
    first = first < LAST ? first : LAST;
    atomic_compare_exchange_strong(&traffic->size_first, &none, RKC_SIZE_BUCKETS + first);
    unsigned near = rkc_traffic_near(traffic, bucket);
    if (near < RKC_SIZES_NEAR)
        return &traffic->size[near];
    struct rkc_sizes *sizes = sizes_of(rkc_private_image()->base, traffic);
    return sizes ? &sizes->size[bucket] : NULL;
}

/* Open addressing by key; under the image's lock. */
enum { COMM_SLOTS = 2 * RKC_COMMS_MAX };
static uint32_t comms[COMM_SLOTS], n_comms;

static uint32_t make_comm(char *base, uint64_t key, int32_t size, int32_t first)
{
    if (n_comms == RKC_COMMS_MAX)
        return RKC_NIL_UNIT;
    struct rkc_comm_block *comm =
        rkc_image_block(rkc_private_image(), RKC_BLOCK_COMM, sizeof *comm);
    if (!comm)
        return RKC_NIL_UNIT;
    comm->key = key;
    comm->size = size;
    comm->first = first;
    rkc_image_publish(&comm->block);
    n_comms++;
    return rkc_image_unit(base, comm);
}

uint32_t rkc_private_comm(uint64_t key, int32_t size, int32_t first)
{
    char *base = rkc_private_image()->base;
    rkc_thread_lock();
    uint32_t slot = (uint32_t)(key % COMM_SLOTS), unit = RKC_NIL_UNIT;
    for (; comms[slot]; slot = (slot + 1) % COMM_SLOTS) {
        const struct rkc_comm_block *comm = rkc_image_at(base, comms[slot]);
        if (comm->key == key && comm->size == size && comm->first == first)
            break;
    }
    if (comms[slot])
        unit = comms[slot];
    else
        unit = make_comm(base, key, size, first);
    if (unit != RKC_NIL_UNIT)
        comms[slot] = unit;
    else
        atomic_fetch_add_explicit(&rkc_image_header(rkc_private_image())->overcomms, 1,
                                  memory_order_relaxed);
    rkc_thread_unlock();
    return unit;
}

enum { WAITS_MAX = 8192 };
static _Atomic uint32_t n_waits;

struct rkc_wait_block *rkc_private_wait_block(struct rkc_thread *thread, struct rkc_node *node,
                                        uint32_t comm)
{
    for (uint32_t unit = node->wait; unit;) {
        struct rkc_wait_block *wait = rkc_image_at(thread->base, unit);
        if (wait->comm == comm)
            return wait;
        unit = wait->next;
    }
    int full = atomic_load_explicit(&n_waits, memory_order_relaxed) >= WAITS_MAX;
    if (full && comm != RKC_NIL_UNIT)
        return rkc_private_wait_block(thread, node, RKC_NIL_UNIT);
    if (full)
        atomic_fetch_add_explicit(&rkc_image_header(rkc_private_image())->overcomms, 1,
                                  memory_order_relaxed);
    rkc_thread_lock();
    struct rkc_wait_block *wait = rkc_image_block(rkc_private_image(), RKC_BLOCK_WAIT, sizeof *wait);
    if (wait) {
        wait->node = rkc_image_unit(thread->base, node);
        wait->comm = comm;
        wait->next = node->wait;
        rkc_image_publish(&wait->block);
        atomic_fetch_add_explicit(&n_waits, 1, memory_order_relaxed);
        node->wait = rkc_image_unit(thread->base, wait);
    }
    rkc_thread_unlock();
    return wait;
}

struct rkc_peers *rkc_private_peers(uint32_t slots)
{
    rkc_thread_lock();
    struct rkc_peers *peers = rkc_image_block(rkc_private_image(), RKC_BLOCK_PEERS,
                                              sizeof *peers + slots * sizeof *peers->slot);
    if (peers) {
        peers->mask = slots - 1;
        rkc_image_publish(&peers->block);
    }
    rkc_thread_unlock();
    return peers;
}
