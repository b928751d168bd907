/* local.c - from the nodes of one image to the numbers of one rank.
 *
 * Times become nanoseconds at the leaves: a node's exclusive ticks are converted, and its
 * inclusive time is the sum of what is below, so that inclusive = exclusive + children holds
 * exactly in the file.
 */
#include "autoconf.h"

#include "collect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const void *rkc_local_block(const struct rkc_local *local, uint32_t unit, enum rkc_block_kind kind,
                            size_t bytes)
{
    if (unit < RKC_BLOCKS_START / RKC_UNIT || unit > local->view->bytes / RKC_UNIT ||
        local->view->bytes - (size_t)unit * RKC_UNIT < bytes)
        return NULL;
    const struct rkc_block *block = rkc_image_at(local->view->base, unit);
    return block->kind == kind && block->bytes >= bytes ? block : NULL;
}

const struct rkc_traffic *rkc_local_traffic(const struct rkc_local *local,
                                            const struct rkc_node *node)
{
    return rkc_local_block(local, node->traffic, RKC_BLOCK_TRAFFIC, sizeof(struct rkc_traffic));
}

/* Later blocks lie higher, so that a damaged image's list ends as well. */
const struct rkc_traffic *rkc_local_next_traffic(const struct rkc_local *local,
                                                 const struct rkc_traffic *traffic)
{
    uint32_t next = atomic_load_explicit(&traffic->next, memory_order_acquire);
    if (next <= rkc_image_unit(local->view->base, traffic))
        return NULL;
    return rkc_local_block(local, next, RKC_BLOCK_TRAFFIC, sizeof *traffic);
}

void rkc_local_sizes(const struct rkc_local *local, const struct rkc_traffic *traffic,
                     uint64_t size[RKC_SIZE_BUCKETS])
{
    const struct rkc_sizes *sizes =
        rkc_local_block(local, atomic_load_explicit(&traffic->sizes, memory_order_acquire),
                        RKC_BLOCK_SIZES, sizeof *sizes);
    for (unsigned bucket = 0; bucket < RKC_SIZE_BUCKETS; bucket++) {
        unsigned near = rkc_traffic_near(traffic, bucket);
        if (near < RKC_SIZES_NEAR)
            size[bucket] += atomic_load_explicit(&traffic->size[near], memory_order_relaxed);
        if (sizes)
            size[bucket] += atomic_load_explicit(&sizes->size[bucket], memory_order_relaxed);
    }
}

const struct rkc_polls *rkc_local_polls(const struct rkc_local *local, const struct rkc_node *node)
{
    return rkc_local_block(local, node->polls, RKC_BLOCK_POLLS, sizeof(struct rkc_polls));
}

/* ---- from nodes to paths ---- */

/* A sum that a damaged image cannot make overflow. */
static int64_t plus(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* What one node has, in ns; its children have been done. */
static void settle(struct rkc_local *local, struct rkc_local_node *node)
{
    uint64_t children = (uint64_t)node->children_ticks;
    uint64_t exclusive = node->ticks > children ? node->ticks - children : 0;
    node->exclusive_ns = rkc_clock_ns(exclusive, local->rate);
    node->inclusive_ns = plus(node->exclusive_ns, node->children_ns);
    if (node->kind == RKC_REGION_MPI)
        node->mpi_ns = node->inclusive_ns;
    if (node->kind == RKC_REGION_MPI || node->wait)
        node->busy_elsewhere_ns = node->inclusive_ns;
    if (node->parent == UINT32_MAX)
        return;
    struct rkc_local_node *parent = &local->nodes[node->parent];
    uint64_t inclusive = exclusive ? node->ticks : children;
    parent->children_ticks = inclusive > INT64_MAX
                                 ? INT64_MAX
                                 : plus(parent->children_ticks, (int64_t)inclusive);
    parent->children_ns = plus(parent->children_ns, node->inclusive_ns);
    parent->mpi_ns = plus(parent->mpi_ns, node->mpi_ns);
    parent->busy_elsewhere_ns = plus(parent->busy_elsewhere_ns, node->busy_elsewhere_ns);
}

/* Settle the nodes, and list those of each path. */
static int make_paths(struct rkc_local *local)
{
    local->first_node = calloc(local->paths.n_paths + 1, sizeof *local->first_node);
    if (!local->first_node)
        return RKC_ENOMEM;
    for (uint32_t i = local->n_nodes; i-- > 0;) {
        struct rkc_local_node *node = &local->nodes[i];
        settle(local, node);
        node->next = local->first_node[node->path];
        local->first_node[node->path] = i + 1;
    }
    return 0;
}

/* ---- the rank's row ---- */

/* MPI and useful time of the rank's busiest thread in MPI: bounded by its wall time. */
static void fill_times(struct rkc_local *local)
{
    const struct rkc_image_header *header = (const void *)local->view->base;
    struct rkc_rank_row *row = &local->row;
    int64_t elsewhere_ns = 0;
    for (uint32_t i = 0; i < local->n_nodes; i++) {
        const struct rkc_local_node *node = &local->nodes[i];
        if (node->parent != UINT32_MAX)
            continue;
        if (node->mpi_ns > row->mpi_ns)
            row->mpi_ns = node->mpi_ns;
        if (node->busy_elsewhere_ns > elsewhere_ns)
            elsewhere_ns = node->busy_elsewhere_ns;
    }
    int64_t wall = (int64_t)(local->end_ticks - header->clock.pair[0].ticks);
    row->wall_ns = rkc_clock_ns(wall > 0 ? (uint64_t)wall : 0, local->rate);
    row->init_ns = rkc_clock_ns(atomic_load(&header->init_ticks), local->rate);
    if (row->init_ns > row->wall_ns)
        row->init_ns = row->wall_ns;
    /* Of a live image the visit of MPI_Init may be one that does not count yet. */
    if (row->mpi_ns < row->init_ns)
        row->mpi_ns = row->init_ns;
    if (elsewhere_ns < row->init_ns)
        elsewhere_ns = row->init_ns;
    row->useful_ns = row->wall_ns > elsewhere_ns ? row->wall_ns - elsewhere_ns : 0;
    row->start_unix_ns = header->clock.pair[0].unix_ns;
    row->measured_until_unix_ns = plus(row->start_unix_ns, row->wall_ns);
}

static void fill_overhead(struct rkc_local *local)
{
    const struct rkc_image_header *header = (const void *)local->view->base;
    double ps = 0;
    for (uint32_t i = 0; i < local->n_nodes; i++) {
        const struct rkc_local_node *node = &local->nodes[i];
        uint32_t cost = node->kind == RKC_REGION_MPI ? atomic_load(&header->call_cost_ps)
                                                     : atomic_load(&header->pair_cost_ps);
        ps += (double)(node->visits + atomic_load(&node->node->inner)) * cost;
    }
    local->row.overhead_ns = plus(ps < 1e21 ? (int64_t)(ps / 1000) : INT64_MAX,
                                  rkc_clock_ns(atomic_load(&header->finalize_ticks), local->rate));
}

/* Where nothing was said of the GPU, its driver tells. */
static int fill_facts(struct rkc_local *local)
{
    char text[32];
    int version = local->row.n_devices > 0 ? local->devices[0].driver_version : 0;
    if (version <= 0 || rkc_job_get(&local->job, "gpu"))
        return 0;
    snprintf(text, sizeof text, "cuda %d.%d", version / 1000, version % 1000 / 10);
    return rkc_job_set(&local->job, "gpu", text);
}

/* ---- notes ---- */

static int note_count(struct rkc_local *local, enum rkc_note_kind kind, uint32_t region,
                      uint64_t count)
{
    if (!count)
        return 0;
    return rkc_profile_note_add(&local->paths, kind, region, local->row.rank,
                                count < INT64_MAX ? (int64_t)count : INT64_MAX, NULL);
}

static int note_value(struct rkc_local *local, enum rkc_note_kind kind, uint32_t region,
                      int64_t value)
{
    return note_count(local, kind, region, value > 0 ? (uint64_t)value : 0);
}

/* The metrics whose values are counts of something worth a note, the reasons apart. */
static const struct {
    int metric;
    enum rkc_note_kind kind;
} noted[] = {{RKC_METRIC_UNCLOSED, RKC_NOTE_UNCLOSED},
             {RKC_METRIC_SAMPLED_OUT, RKC_NOTE_SAMPLED},
             {RKC_METRIC_COARSE, RKC_NOTE_GPU_COARSE}};

static int note_values(struct rkc_local *local, uint32_t region, const int64_t *values)
{
    int status = 0;
    for (size_t i = 0; i < sizeof noted / sizeof *noted && !status; i++)
        status = note_value(local, noted[i].kind, region, values[noted[i].metric]);
    for (int reason = 0; reason < RKC_GPU_REASONS && !status; reason++)
        status = note_value(local, (enum rkc_note_kind)(RKC_NOTE_GPU_CAPTURED + reason), region,
                            values[RKC_METRIC_DEVICE_CAPTURED + reason]);
    return status;
}

/* Find the metrics that there are, and note what is about call paths; *in_other gets the visits in
 * paths named "(other)". */
static int look_at_paths(struct rkc_local *local, uint64_t *in_other)
{
    uint32_t metrics = RKC_ALL_METRICS & ~RKC_RARE_METRICS;
    local->metrics = RKC_ALL_METRICS;
    for (uint32_t path = 0; path < local->paths.n_paths; path++) {
        int64_t values[RKC_METRICS];
        uint32_t region = local->paths.paths[path].region;
        const struct rkc_profile_region *named = &local->paths.regions[region];
        rkc_local_values(local, path, values);
        for (int metric = 0; metric < RKC_METRICS; metric++)
            metrics |= (uint32_t)(values[metric] != RKC_ABSENT) << metric;
        int status = note_values(local, region, values);
        if (status)
            return status;
        if (named->kind == RKC_REGION_OTHER && strcmp(named->name, "(other)") == 0 &&
            values[RKC_METRIC_VISITS] > 0)
            *in_other += (uint64_t)values[RKC_METRIC_VISITS];
    }
    local->metrics = metrics;
    return 0;
}

static int fill_notes(struct rkc_local *local)
{
    const struct rkc_image_header *header = (const void *)local->view->base;
    uint64_t in_other = 0, overnodes = atomic_load(&header->overnodes);
    int status = look_at_paths(local, &in_other);
    const struct {
        enum rkc_note_kind kind;
        uint64_t count;
    } counts[] = {
        {RKC_NOTE_LOST, atomic_load(&header->lost)},
        {RKC_NOTE_CLOCK, atomic_load(&header->clock_back) + local->clock_back},
        {RKC_NOTE_DEPTH, atomic_load(&header->overdeep)},
        {RKC_NOTE_NODES, overnodes},
        {RKC_NOTE_NAMES, in_other > overnodes ? in_other - overnodes : 0},
        {RKC_NOTE_BAD_NAME, atomic_load(&header->bad_names)},
        {RKC_NOTE_REQUESTS, atomic_load(&header->untracked)},
        {RKC_NOTE_FREED, atomic_load(&header->freed)},
        {RKC_NOTE_DAMAGED, local->broken ? 1 : 0},
        {RKC_NOTE_APPROXIMATE, local->approximate ? 1 : 0},
        {RKC_NOTE_DEVICES, local->devices_left_out},
        {RKC_NOTE_WAITS, atomic_load(&header->overcomms)},
    };
    for (size_t i = 0; i < sizeof counts / sizeof *counts && !status; i++)
        status = note_count(local, counts[i].kind, RKC_NO_PATH, counts[i].count);
    return status;
}

int rkc_local_settle(struct rkc_local *local)
{
    int status = make_paths(local);
    if (status)
        return status;
    fill_times(local);
    fill_overhead(local);
    status = rkc_local_settle_mpi(local);
    if (!status)
        status = fill_facts(local);
    return status ? status : fill_notes(local);
}

/* ---- for others to use ---- */

/* Whether a path has any: one that has some has visits. */
static int has_numbers(const int64_t *values)
{
    return values[RKC_METRIC_VISITS] != RKC_ABSENT;
}

/* A rank has most memory while it packs: what lies before the nodes that are read now, most of
 * which are in the order of their paths, has been read. */
static void let_go(const struct rkc_local *local, uint32_t path, size_t *upto)
{
    if (!local->view->kept || !local->first_node[path])
        return;
    const struct rkc_local_node *node = &local->nodes[local->first_node[path] - 1];
    size_t here = (size_t)((const char *)node->node - local->view->base);
    if (here < *upto + RKC_VIEW_STEP)
        return;
    rkc_view_let_go(local->view, *upto, here);
    *upto = here / RKC_VIEW_STEP * RKC_VIEW_STEP;
}

int rkc_local_pack(const struct rkc_local *local, const uint32_t *map, uint32_t first, uint32_t n,
                   struct rkc_buffer *buffer)
{
    uint32_t *path_of = calloc(n + 1, sizeof *path_of); /* by place in the window: 1 + path */
    uint32_t present = 0;
    if (!path_of)
        return RKC_ENOMEM;
    for (uint32_t path = 0; path < local->paths.n_paths; path++)
        if (map[path] >= first && map[path] - first < n)
            path_of[map[path] - first] = path + 1;
    size_t begin = buffer->size, read = 0;
    rkc_numbers_pack_begin(buffer, first, n, 0);
    for (uint32_t i = 0; i < n; i++) {
        int64_t values[RKC_METRICS];
        struct rkc_path_hist hist;
        if (!path_of[i])
            continue;
        let_go(local, path_of[i] - 1, &read);
        rkc_local_values(local, path_of[i] - 1, values);
        if (!has_numbers(values))
            continue;
        rkc_local_hist(local, path_of[i] - 1, &hist);
        rkc_numbers_pack_path(buffer, first + i, local->row.rank, values, &hist);
        present++;
    }
    rkc_view_let_go(local->view, read, local->view->kept);
    rkc_numbers_pack_end(buffer, begin, present);
    free(path_of);
    return buffer->failed ? RKC_ENOMEM : 0;
}

void rkc_local_add(const struct rkc_local *local, const uint32_t *map, struct rkc_numbers *numbers)
{
    for (uint32_t path = 0; path < local->paths.n_paths; path++) {
        int64_t values[RKC_METRICS];
        struct rkc_stat stats[RKC_METRICS] = {0};
        struct rkc_path_hist hist;
        uint32_t to = map[path] - numbers->first;
        if (map[path] < numbers->first || to >= numbers->n)
            continue;
        rkc_local_values(local, path, values);
        if (!has_numbers(values))
            continue;
        for (int metric = 0; metric < RKC_METRICS; metric++)
            if (values[metric] != RKC_ABSENT)
                rkc_stat_set(&stats[metric], values[metric], local->row.rank);
        rkc_local_hist(local, path, &hist);
        rkc_numbers_merge_path(numbers->stats + (size_t)to * RKC_METRICS, &numbers->hist[to], stats,
                               &hist);
    }
}

void rkc_local_row(const struct rkc_local *local, const uint32_t *map, uint32_t metrics,
                   uint32_t n_paths, size_t stride, int64_t *values)
{
    for (unsigned row = 0; row < (unsigned)__builtin_popcount(metrics); row++)
        for (uint32_t path = 0; path < n_paths; path++)
            values[row * stride + path] = RKC_ABSENT;
    for (uint32_t path = 0; path < local->paths.n_paths; path++) {
        int64_t own[RKC_METRICS];
        if (map[path] >= n_paths)
            continue;
        int64_t *value = values + map[path];
        rkc_local_values(local, path, own);
        for (int metric = 0; metric < RKC_METRICS; metric++) {
            if (!(metrics & 1u << metric))
                continue;
            if (own[metric] != RKC_ABSENT)
                *value = *value == RKC_ABSENT ? own[metric] : plus(*value, own[metric]);
            value += stride;
        }
    }
}

void rkc_local_free(struct rkc_local *local)
{
    rkc_profile_free(&local->paths);
    rkc_job_free(&local->job);
    free(local->devices);
    free(local->peers);
    free(local->nodes);
    free(local->pending);
    free(local->first_node);
    *local = (struct rkc_local){0};
}
