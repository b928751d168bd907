/* collect.h - from an image, one's own or a dead process's, to the numbers of one rank. */
#ifndef RKC_COLLECT_H
#define RKC_COLLECT_H

#include <stdint.h>

#include "image.h"
#include "pack.h"
#include "profile.h"
#include "sink/sink.h"

/* A node in use, with what of it is not yet in the image's sums. */
struct rkc_local_node {
    const struct rkc_node *node;
    uint32_t parent; /* index, or UINT32_MAX */
    uint32_t path;
    uint32_t next;  /* 1 + the next node of the same path */
    uint32_t ahead; /* of its pending records its histogram has the first so many */
    uint8_t kind, wait, is_open;
    uint64_t visits, ticks, min, max, applied;
    uint64_t polled; /* of the visits, those in a struct rkc_polls */
    rkc_u128 square;
    /* Until it is settled, those of its children, inclusive; then its own. */
    union {
        int64_t children_ticks, exclusive_ns;
    };
    union {
        int64_t children_ns, inclusive_ns;
    };
    int64_t mpi_ns, busy_elsewhere_ns; /* in MPI; in MPI or waiting */
};

_Static_assert(sizeof(struct rkc_local_node) == 128, "there is one for each node");

/* A record in a ring that its node does not have yet. */
struct rkc_local_pending {
    uint32_t node; /* index */
    uint64_t ticks;
};

/* The numbers of one rank by call path: threads merged, nothing pending. They are summed from the
 * nodes and the image when they are asked for, so the view must stay open. */
struct rkc_local {
    const struct rkc_view *view;
    struct rkc_profile paths;  /* call paths, transfers, waits, notes and this rank; no numbers */
    uint32_t metrics;          /* bits; of RKC_RARE_METRICS those that some path has */
    struct rkc_rank_row row;
    struct rkc_rank_device *devices; /* row.n_devices of them */
    uint64_t devices_left_out;
    struct rkc_rank_peer *peers; /* n_peers of them, at most RKC_RANK_PEERS_MAX; owned */
    uint32_t n_peers;
    struct rkc_job job;        /* this rank's facts */
    uint64_t rate;             /* see clock.h */
    uint64_t end_ticks;        /* the last instant that the image knows of */
    uint64_t clock_back; /* pending visits whose clock went backwards */
    int broken, approximate;

    struct rkc_local_node *nodes;
    uint32_t n_nodes, cap_nodes;
    struct rkc_local_pending *pending;
    uint32_t n_pending, cap_pending;
    uint32_t *first_node; /* by path: 1 + index of its first node */
};

/** Collect a view.
 *
 * @param rank  what to call it when the image does not know its rank
 *
 * @return 0, RKC_ENOMEM, or RKC_EFORMAT when nothing in it can be used. Damage that
 *   leaves the rest usable becomes a note.
 */
int rkc_local_collect(struct rkc_local *local, const struct rkc_view *view, int32_t rank);
void rkc_local_free(struct rkc_local *local);

/* When the visit of a node began that is open, in ticks; else RKC_NO_BEGIN. */
uint64_t rkc_local_begin(const struct rkc_local *local, const struct rkc_local_node *node);

/* What was open, once rings are in the nodes: mark the nodes, find the last instant, add the time until
 * then. 0 or RKC_ENOMEM. */
int rkc_local_add_open(struct rkc_local *local);

/* The second half of collecting: from the nodes to values, row and notes. 0 or RKC_ENOMEM. */
int rkc_local_settle(struct rkc_local *local);

/* Its part for what MPI calls left beside their call paths. */
int rkc_local_settle_mpi(struct rkc_local *local);

/* A node's polls, or NULL. */
const struct rkc_polls *rkc_local_polls(const struct rkc_local *local, const struct rkc_node *node);

/* The block at a unit if it is one of this kind and lies in the view; else NULL. */
const void *rkc_local_block(const struct rkc_local *local, uint32_t unit, enum rkc_block_kind kind,
                            size_t bytes);

/* What a node moved from and to host memory, or NULL; and the block after one in its list. */
const struct rkc_traffic *rkc_local_traffic(const struct rkc_local *local,
                                            const struct rkc_node *node);
const struct rkc_traffic *rkc_local_next_traffic(const struct rkc_local *local,
                                                 const struct rkc_traffic *traffic);

/* Add its operations by size. */
void rkc_local_sizes(const struct rkc_local *local, const struct rkc_traffic *traffic,
                     uint64_t size[RKC_SIZE_BUCKETS]);

/* A number of the image as a value, which is none that could be taken for absent. */
static inline int64_t rkc_local_count(const _Atomic uint64_t *count)
{
    uint64_t value = atomic_load_explicit(count, memory_order_relaxed);
    return value < INT64_MAX ? (int64_t)value : INT64_MAX;
}

/* The rank's row, which tells how many peers follow it. */
static inline struct rkc_rank_row rkc_local_rank(const struct rkc_local *local)
{
    struct rkc_rank_row row = local->row;
    row.n_peers = (int32_t)local->n_peers;
    return row;
}

/* Sum a path's metrics; RKC_ABSENT where not measured. */
void rkc_local_values(const struct rkc_local *local, uint32_t path, int64_t values[RKC_METRICS]);

/* One of them alone. */
static inline int64_t rkc_local_value(const struct rkc_local *local, uint32_t path, int metric)
{
    int64_t values[RKC_METRICS];
    rkc_local_values(local, path, values);
    return values[metric];
}

/* Sum its histograms. */
void rkc_local_hist(const struct rkc_local *local, uint32_t path, struct rkc_path_hist *hist);

/* Append the numbers of the paths that are in the window [first, first + n) of the common
 * numbering; map[path] is that number. In the form of rkc_numbers_pack. */
int rkc_local_pack(const struct rkc_local *local, const uint32_t *map, uint32_t first, uint32_t n,
                   struct rkc_buffer *buffer);

/* Add the numbers to a window of statistics. */
void rkc_local_add(const struct rkc_local *local, const uint32_t *map,
                   struct rkc_numbers *numbers);

/* Fill values[metric][path] of this rank for the metrics in `metrics` (bits) and the
 * n_paths of the common numbering; `stride` is the distance between metrics in numbers. */
void rkc_local_row(const struct rkc_local *local, const uint32_t *map, uint32_t metrics,
                   uint32_t n_paths, size_t stride, int64_t *values);

#endif
