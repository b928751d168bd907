/* gather_bytes.c - how long a rank's packet can be, from one look at its image: all ranks agree on
 * the longest before they stop measuring. A packet that is longer after all goes another way. */
#include "autoconf.h"

#include "gather.h"

#include "collect.h"
#include "pack.h"

/* Bounds of what pack.c makes of things. */
enum {
    REGION_BYTES = 24,
    PATH_BYTES = 8 + 16 + 17 + 8 * (RKC_METRIC_SLOWEST_THREAD + 1 - RKC_METRIC_VISITS),
    SOME_BYTES = 8,        /* a metric that not all have */
    OPEN_BYTES = 32 * 8,   /* that of regions that a thread has not ended, mostly none */
    TRAFFIC_BYTES = 4 * 8, /* the metrics of what is moved */
    TIMED_BYTES = 8 * (RKC_METRICS - RKC_HOST_METRICS),
    BUCKET_BYTES = 9,
    WAIT_BYTES = RKC_PACKED_WAIT_BYTES,
    NOTES_BYTES = 2048,
    NOTE_BYTES = 64
};

static int64_t bytes_of_nodes(const struct rkc_nodes_block *block)
{
    uint32_t n = atomic_load_explicit(&block->block.count, memory_order_acquire);
    int64_t bytes = 0;
    for (uint32_t i = 0; i < n && i < RKC_NODES_PER_BLOCK; i++) {
        bytes += PATH_BYTES;
        bytes += block->node[i].comm ? WAIT_BYTES : 0;
        bytes += block->node[i].unclosed ? SOME_BYTES : 0;
        bytes += block->node[i].sampled_out ? SOME_BYTES : 0;
        for (unsigned bucket = 0; bucket < RKC_TIME_BUCKETS; bucket++)
            bytes += block->node[i].hist[bucket] ? BUCKET_BYTES : 0;
    }
    return bytes;
}

static int64_t bytes_of_counts(const _Atomic uint64_t *size, unsigned n)
{
    int64_t bytes = 0;
    for (unsigned i = 0; i < n; i++)
        bytes += atomic_load_explicit(&size[i], memory_order_relaxed) ? BUCKET_BYTES : 0;
    return bytes;
}

/* A bucket that is full is 0 where it belongs. */
static int64_t bytes_of_high(const struct rkc_high_block *high)
{
    int64_t bytes = 0;
    for (unsigned i = 0; i < RKC_HIGH_BUCKETS; i++)
        bytes += high->full[i] ? BUCKET_BYTES : 0;
    return bytes;
}

static int64_t bytes_of_traffic(const struct rkc_traffic *traffic)
{
    int64_t bytes = traffic->kinds.send || traffic->kinds.recv ? sizeof(struct rkc_transfer) : 0;
    return bytes + TRAFFIC_BYTES + bytes_of_counts(traffic->size, RKC_SIZES_NEAR);
}

/* A visit in the ring may be the first of its bucket. */
static int64_t bytes_of_ring(const struct rkc_ring *ring)
{
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
    int64_t bytes = OPEN_BYTES;
    return head - tail <= RKC_RING_RECORDS ? bytes + (int64_t)(head - tail) * BUCKET_BYTES : bytes;
}

/* What visits lack is a note, too. */
static int64_t bytes_of_timed(const struct rkc_timed *timed)
{
    int64_t bytes = TIMED_BYTES;
    for (int reason = 0; reason < RKC_GPU_REASONS; reason++)
        bytes += rkc_local_count(&timed->unavailable[reason]) ? NOTE_BYTES : 0;
    return bytes + (rkc_local_count(&timed->coarse) ? NOTE_BYTES : 0);
}

static int64_t bytes_of_block(const struct rkc_block *block)
{
    const struct rkc_region_block *region = (const void *)block;
    const struct rkc_peers *peers = (const void *)block;
    switch (block->kind) {
    case RKC_BLOCK_REGION:
        return REGION_BYTES + region->name_bytes + region->file_bytes;
    case RKC_BLOCK_NODES:
        return bytes_of_nodes((const void *)block);
    case RKC_BLOCK_HIGH:
        return bytes_of_high((const void *)block);
    case RKC_BLOCK_TRAFFIC:
        return bytes_of_traffic((const void *)block);
    case RKC_BLOCK_POLLS:
        return bytes_of_counts(((const struct rkc_polls *)(const void *)block)->hist,
                               RKC_TIME_BUCKETS);
    case RKC_BLOCK_SIZES:
        return bytes_of_counts(((const struct rkc_sizes *)(const void *)block)->size,
                              RKC_SIZE_BUCKETS);
    case RKC_BLOCK_THREAD:
        return bytes_of_ring((const void *)block);
    case RKC_BLOCK_NOTE:
        return NOTE_BYTES;
    case RKC_BLOCK_TIMED:
        return bytes_of_timed((const void *)block);
    case RKC_BLOCK_WAIT:
        return WAIT_BYTES;
    case RKC_BLOCK_PEERS:
        return ((int64_t)peers->used + 2) * (int64_t)sizeof(struct rkc_rank_peer);
    case RKC_BLOCK_DEVICE:
        return sizeof(struct rkc_rank_device);
    default:
        return 0;
    }
}

int64_t rkc_gather_body_bytes(const struct rkc_image *image)
{
    struct rkc_view view;
    const struct rkc_block *block = NULL;
    int broken = 0;
    int64_t bytes = NOTES_BYTES + RKC_PACKED_MPI_BYTES;
    rkc_view_own(&view, image);
    while ((block = rkc_view_next(&view, block, &broken)))
        bytes += bytes_of_block(block);
    return bytes;
}
