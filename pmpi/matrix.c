/* matrix.c - a table that grows by a second one.
 *
 * What one gets wrong here: with several threads a slot may be in use while the table grows. So
 * nothing moves: once a table is full a larger one takes its place, in which each rank begins
 * again from 0, and whoever reads the image adds up both. */
#include "autoconf.h"

#include "matrix.h"

#include <pthread.h>

#include "mpi_blocks.h"

enum { SLOTS_FIRST = 16 };

struct rkc_peers *_Atomic rkc_matrix RKC_MPI_LOOKED_AT;

static pthread_mutex_t matrix_lock = PTHREAD_MUTEX_INITIALIZER;

/* A larger table than `full`, unless another thread has made one or the settings want none. */
static struct rkc_peers *grow(struct rkc_peers *full)
{
    uint32_t limit = (uint32_t)rkc_private_config()->matrix_peers;
    pthread_mutex_lock(&matrix_lock);
    struct rkc_peers *peers = atomic_load(&rkc_matrix);
    if (peers == full && limit > 0 && (!full || full->mask + 1 < 2 * limit)) {
        peers = rkc_private_peers(full ? 2 * (full->mask + 1) : SLOTS_FIRST);
        if (peers)
            atomic_store_explicit(&rkc_matrix, peers, memory_order_release);
        else
            peers = full;
    }
    pthread_mutex_unlock(&matrix_lock);
    return peers;
}

/* Whether a table takes no further rank. */
static int is_full(const struct rkc_peers *peers)
{
    uint32_t used = atomic_load_explicit(&peers->used, memory_order_relaxed);
    uint32_t limit = (uint32_t)rkc_private_config()->matrix_peers;
    return used >= limit || 4 * used >= 3 * (peers->mask + 1);
}

/* The slot of a key, taken if need be; NULL where the table takes no more. */
static struct rkc_peer_slot *find(struct rkc_peers *peers, uint32_t home, uint64_t key)
{
    for (uint32_t i = home & peers->mask;; i = (i + 1) & peers->mask) {
        struct rkc_peer_slot *slot = &peers->slot[i];
        uint64_t found = atomic_load_explicit(&slot->key, memory_order_relaxed);
        if (found == key)
            return slot;
        if (found)
            continue;
        if (is_full(peers))
            return NULL;
        if (atomic_compare_exchange_strong(&slot->key, &found, key)) {
            atomic_fetch_add_explicit(&peers->used, 1, memory_order_relaxed);
            return slot;
        }
        if (found == key)
            return slot;
    }
}

void rkc_matrix_add_slow(int rank, int fetched, uint64_t messages, uint64_t bytes)
{
    struct rkc_peers *peers = atomic_load_explicit(&rkc_matrix, memory_order_acquire);
    if (!peers && !(peers = grow(NULL)))
        return;
    struct rkc_peer_slot *slot = NULL;
    while (rank >= 0 && !(slot = find(peers, (uint32_t)(rank + fetched),
                                      rkc_matrix_key(rank, fetched)))) {
        struct rkc_peers *larger = grow(peers);
        if (larger == peers)
            break;
        peers = larger;
    }
    rkc_traffic_add(slot ? &slot->messages : &peers->others[fetched], messages);
    rkc_traffic_add(slot ? &slot->bytes : &peers->others_bytes[fetched], bytes);
}
