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

static const struct rkc_timed *timed_of(const struct rkc_local *local, const struct rkc_node *node)
{
    return rkc_local_block(local, node->timed, RKC_BLOCK_TIMED, sizeof(struct rkc_timed));
}

/* ---- from nodes to paths ---- */

/* A sum that a damaged image cannot make overflow. */
static int64_t plus(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* Add a value, absent until the first. */
static void add_value(int64_t *value, int64_t more)
{
    *value = *value == RKC_ABSENT ? more : plus(*value, more);
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

static void add_traffic(struct rkc_local *local, const struct rkc_local_node *node, int64_t *values)
{
    const struct rkc_traffic *traffic = rkc_local_traffic(local, node->node);
    for (; traffic; traffic = rkc_local_next_traffic(local, traffic)) {
        add_value(&values[RKC_METRIC_BYTES_SENT], rkc_local_count(&traffic->sent));
        add_value(&values[RKC_METRIC_BYTES_RECEIVED], rkc_local_count(&traffic->received));
        if (!rkc_local_count(&traffic->completed))
            continue;
        uint64_t flight = atomic_load_explicit(&traffic->in_flight, memory_order_relaxed);
        uint64_t blocked = atomic_load_explicit(&traffic->blocked, memory_order_relaxed);
        add_value(&values[RKC_METRIC_IN_FLIGHT], rkc_clock_ns(flight, local->rate));
        add_value(&values[RKC_METRIC_BLOCKED], rkc_clock_ns(blocked, local->rate));
    }
}

static void take_least(int64_t *value, int64_t other)
{
    *value = *value == RKC_ABSENT || other < *value ? other : *value;
}

static void take_most(int64_t *value, int64_t other)
{
    *value = other > *value ? other : *value;
}

static int64_t *device_value(struct rkc_local *local, uint32_t path, int metric)
{
    return &local->device_values[path][metric - RKC_HOST_METRICS];
}

static void add_device_count(struct rkc_local *local, uint32_t path, int metric,
                             const _Atomic uint64_t *count)
{
    add_value(device_value(local, path, metric), rkc_local_count(count));
}

/* Of visits without device time there is a number, but no time of 0. */
static void add_timed(struct rkc_local *local, const struct rkc_local_node *node)
{
    const struct rkc_timed *timed = timed_of(local, node->node);
    uint32_t path = node->path;
    if (!timed)
        return;
    add_device_count(local, path, RKC_METRIC_DEVICE_VISITS, &timed->visits);
    if (rkc_local_count(&timed->visits)) {
        add_device_count(local, path, RKC_METRIC_DEVICE, &timed->ns);
        take_least(device_value(local, path, RKC_METRIC_DEVICE_MIN),
                   rkc_local_count(&timed->min_ns));
        take_most(device_value(local, path, RKC_METRIC_DEVICE_MAX),
                  rkc_local_count(&timed->max_ns));
    }
    if (rkc_local_count(&timed->lag_visits)) {
        add_device_count(local, path, RKC_METRIC_LAG, &timed->lag_ns);
        add_device_count(local, path, RKC_METRIC_LAG_VISITS, &timed->lag_visits);
    }
    if (rkc_local_count(&timed->coarse)) {
        add_device_count(local, path, RKC_METRIC_COARSE, &timed->coarse);
        take_most(device_value(local, path, RKC_METRIC_RESOLUTION),
                  rkc_local_count(&timed->coarse_ns));
    }
    for (int reason = 0; reason < RKC_GPU_REASONS; reason++)
        if (rkc_local_count(&timed->unavailable[reason]))
            add_device_count(local, path, RKC_METRIC_DEVICE_CAPTURED + reason,
                             &timed->unavailable[reason]);
}

static rkc_u128 square_ns(rkc_u128 square, uint64_t rate)
{
    double scale = (double)rate / (double)(UINT64_C(1) << 56);
    double ns2 = (double)square * scale * scale;
    return ns2 < 3.4e38 ? (rkc_u128)ns2 : ~(rkc_u128)0;
}

static void add_to_path(struct rkc_local *local, const struct rkc_local_node *node)
{
    int64_t *values = local->values[node->path];
    uint64_t inner = atomic_load_explicit(&node->node->inner, memory_order_relaxed);
    uint64_t sampled_out = atomic_load_explicit(&node->node->sampled_out, memory_order_relaxed);
    uint32_t unclosed = atomic_load_explicit(&node->node->unclosed, memory_order_relaxed);
    int is_root = node->parent == UINT32_MAX;
    uint64_t visits = node->visits + inner + sampled_out + node->is_open;
    if (!visits && !node->inclusive_ns)
        return;

    add_value(&values[RKC_METRIC_VISITS], (int64_t)visits);
    add_value(&values[RKC_METRIC_INCLUSIVE], node->inclusive_ns);
    add_value(&values[RKC_METRIC_EXCLUSIVE], node->exclusive_ns);
    add_value(&values[RKC_METRIC_MPI], node->mpi_ns);
    add_value(&values[RKC_METRIC_USEFUL], node->inclusive_ns - node->busy_elsewhere_ns);
    add_value(&values[RKC_METRIC_THREADS], 1);
    take_most(&values[RKC_METRIC_SLOWEST_THREAD], node->inclusive_ns);
    if (node->visits) {
        take_least(&values[RKC_METRIC_VISIT_MIN], rkc_clock_ns(node->min, local->rate));
        take_most(&values[RKC_METRIC_VISIT_MAX], rkc_clock_ns(node->max, local->rate));
    }
    if (!is_root && (unclosed || node->is_open))
        add_value(&values[RKC_METRIC_UNCLOSED],
                  (int64_t)unclosed + node->is_open + (node->is_open ? node->node->recursion : 0));
    if (sampled_out)
        add_value(&values[RKC_METRIC_SAMPLED_OUT], (int64_t)sampled_out);
    add_traffic(local, node, values);
    add_timed(local, node);
    local->sumsq_ns2[node->path] =
        rkc_u128_add(local->sumsq_ns2[node->path], square_ns(node->square, local->rate));
}

/* Room for the values of all paths, which are absent. */
static int make_values(struct rkc_local *local)
{
    uint32_t n = local->paths.n_paths;
    int has_timed = 0;
    for (uint32_t i = 0; i < local->n_nodes && !has_timed; i++)
        has_timed = timed_of(local, local->nodes[i].node) != NULL;
    local->values = malloc((n + 1) * sizeof *local->values);
    local->device_values = has_timed ? malloc((n + 1) * sizeof *local->device_values) : NULL;
    if (!local->values || (has_timed && !local->device_values))
        return RKC_ENOMEM;
    for (uint32_t path = 0; path < n; path++) {
        for (int metric = 0; metric < RKC_HOST_METRICS; metric++)
            local->values[path][metric] = RKC_ABSENT;
        for (int metric = RKC_HOST_METRICS; has_timed && metric < RKC_METRICS; metric++)
            local->device_values[path][metric - RKC_HOST_METRICS] = RKC_ABSENT;
    }
    return 0;
}

static void find_metrics(struct rkc_local *local)
{
    local->metrics = RKC_ALL_METRICS & ~RKC_GPU_METRICS;
    for (uint32_t path = 0; path < local->paths.n_paths; path++)
        for (int metric = 0; metric < RKC_METRICS; metric++)
            local->metrics |= (uint32_t)(rkc_local_value(local, path, metric) != RKC_ABSENT)
                              << metric;
}

static int make_paths(struct rkc_local *local)
{
    uint32_t n = local->paths.n_paths;
    int status = make_values(local);
    local->sumsq_ns2 = calloc(n + 1, sizeof *local->sumsq_ns2);
    local->first_node = calloc(n + 1, sizeof *local->first_node);
    if (status || !local->sumsq_ns2 || !local->first_node)
        return RKC_ENOMEM;
    for (uint32_t i = local->n_nodes; i-- > 0;) {
        struct rkc_local_node *node = &local->nodes[i];
        settle(local, node);
        add_to_path(local, node);
        node->next = local->first_node[node->path];
        local->first_node[node->path] = i + 1;
    }
    find_metrics(local);
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

/* The metrics whose values are counts of something worth a note, the reasons apart. */
static const struct {
    int metric;
    enum rkc_note_kind kind;
} noted[] = {{RKC_METRIC_UNCLOSED, RKC_NOTE_UNCLOSED},
             {RKC_METRIC_SAMPLED_OUT, RKC_NOTE_SAMPLED},
             {RKC_METRIC_COARSE, RKC_NOTE_GPU_COARSE}};

static int note_value(struct rkc_local *local, uint32_t path, int metric, enum rkc_note_kind kind)
{
    int64_t value = rkc_local_value(local, path, metric);
    return note_count(local, kind, local->paths.paths[path].region, value > 0 ? (uint64_t)value : 0);
}

/* Notes about call paths; *in_other gets the visits in paths named "(other)". */
static int note_paths(struct rkc_local *local, uint64_t *in_other)
{
    for (uint32_t path = 0; path < local->paths.n_paths; path++) {
        const int64_t *values = local->values[path];
        uint32_t region = local->paths.paths[path].region;
        const struct rkc_profile_region *named = &local->paths.regions[region];
        int status = 0;
        for (size_t i = 0; i < sizeof noted / sizeof *noted && !status; i++)
            status = note_value(local, path, noted[i].metric, noted[i].kind);
        for (int reason = 0; reason < RKC_GPU_REASONS && !status; reason++)
            status = note_value(local, path, RKC_METRIC_DEVICE_CAPTURED + reason,
                                (enum rkc_note_kind)(RKC_NOTE_GPU_CAPTURED + reason));
        if (status)
            return status;
        if (named->kind == RKC_REGION_OTHER && strcmp(named->name, "(other)") == 0 &&
            values[RKC_METRIC_VISITS] > 0)
            *in_other += (uint64_t)values[RKC_METRIC_VISITS];
    }
    return 0;
}

static int fill_notes(struct rkc_local *local)
{
    const struct rkc_image_header *header = (const void *)local->view->base;
    uint64_t in_other = 0, overnodes = atomic_load(&header->overnodes);
    int status = note_paths(local, &in_other);
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

/* Add what was counted of a node's full buckets; how many visits that is. Each block lies below the
 * one before, so that a damaged image's list ends as well. */
static uint64_t add_full(const struct rkc_local *local, const struct rkc_node *node, uint64_t *time)
{
    const struct rkc_high_block *high;
    uint64_t counted = 0;
    for (uint32_t unit = node->high, below = UINT32_MAX; unit && unit < below; unit = high->next) {
        high = rkc_local_block(local, unit, RKC_BLOCK_HIGH, sizeof *high);
        if (!high || high->first > RKC_TIME_BUCKETS - RKC_HIGH_BUCKETS)
            break;
        for (int i = 0; i < RKC_HIGH_BUCKETS; i++) {
            time[high->first + (unsigned)i] += high->full[i] * RKC_HIST_FULL;
            counted += high->full[i] * RKC_HIST_FULL;
        }
        below = unit;
    }
    return counted;
}

/* Add a node's histogram, as far as the fold has come. The loop is one for the compiler to widen:
 * most nodes have no full buckets. */
static void add_node_hist(const struct rkc_local *local, const struct rkc_local_node *from,
                          uint64_t *time)
{
    const struct rkc_node *node = from->node;
    const struct rkc_polls *polls = rkc_local_polls(local, node);
    uint64_t visits = from->visits - from->polled, counted = 0;
    for (int bucket = 0; polls && bucket < RKC_TIME_BUCKETS; bucket++)
        time[bucket] += atomic_load_explicit(&polls->hist[bucket], memory_order_relaxed);
    for (int bucket = 0; bucket < RKC_TIME_BUCKETS; bucket++) {
        time[bucket] += node->hist[bucket];
        counted += node->hist[bucket];
    }
    if (!node->high)
        return;
    counted += add_full(local, node, time);
    /* A fold that ended between counting a full bucket and emptying it has counted it twice. */
    if (counted > visits && counted - visits >= RKC_HIST_FULL / 2 &&
        node->filled < RKC_TIME_BUCKETS && time[node->filled] >= RKC_HIST_FULL)
        time[node->filled] -= RKC_HIST_FULL;
}

void rkc_local_hist(const struct rkc_local *local, uint32_t path, struct rkc_path_hist *hist)
{
    memset(hist, 0, sizeof *hist);
    hist->visit_sumsq_ns2 = local->sumsq_ns2[path];
    for (uint32_t i = local->first_node[path]; i; i = local->nodes[i - 1].next) {
        const struct rkc_local_node *node = &local->nodes[i - 1];
        add_node_hist(local, node, hist->time);
        const struct rkc_traffic *traffic = rkc_local_traffic(local, node->node);
        for (; traffic; traffic = rkc_local_next_traffic(local, traffic))
            rkc_local_sizes(local, traffic, hist->size);
    }
    for (uint32_t i = 0; i < local->n_pending; i++)
        if (local->nodes[local->pending[i].node].path == path)
            hist->time[rkc_time_bucket(
                (uint64_t)rkc_clock_ns(local->pending[i].ticks, local->rate))]++;
}

/* One rank's value as a statistic's parts: present, or absent. */
static int has_numbers(const int64_t *values)
{
    return values[RKC_METRIC_VISITS] != RKC_ABSENT;
}

int rkc_local_pack(const struct rkc_local *local, const uint32_t *map, uint32_t first, uint32_t n,
                   struct rkc_buffer *buffer)
{
    uint32_t *path_of = calloc(n + 1, sizeof *path_of); /* by place in the window: 1 + path */
    uint32_t present = 0;
    if (!path_of)
        return RKC_ENOMEM;
    for (uint32_t path = 0; path < local->paths.n_paths; path++)
        if (map[path] >= first && map[path] - first < n && has_numbers(local->values[path])) {
            path_of[map[path] - first] = path + 1;
            present++;
        }
    rkc_numbers_pack_begin(buffer, first, n, present);
    for (uint32_t i = 0; i < n; i++) {
        struct rkc_path_hist hist;
        if (!path_of[i])
            continue;
        int64_t values[RKC_METRICS];
        for (int metric = 0; metric < RKC_METRICS; metric++)
            values[metric] = rkc_local_value(local, path_of[i] - 1, metric);
        rkc_local_hist(local, path_of[i] - 1, &hist);
        rkc_numbers_pack_path(buffer, first + i, local->row.rank, values, &hist);
    }
    free(path_of);
    return buffer->failed ? RKC_ENOMEM : 0;
}

void rkc_local_add(const struct rkc_local *local, const uint32_t *map, struct rkc_numbers *numbers)
{
    for (uint32_t path = 0; path < local->paths.n_paths; path++) {
        struct rkc_stat stats[RKC_METRICS] = {0};
        struct rkc_path_hist hist;
        uint32_t to = map[path] - numbers->first;
        if (map[path] < numbers->first || to >= numbers->n || !has_numbers(local->values[path]))
            continue;
        for (int metric = 0; metric < RKC_METRICS; metric++) {
            int64_t value = rkc_local_value(local, path, metric);
            if (value != RKC_ABSENT)
                rkc_stat_set(&stats[metric], value, local->row.rank);
        }
        rkc_local_hist(local, path, &hist);
        rkc_numbers_merge_path(numbers->stats + (size_t)to * RKC_METRICS, &numbers->hist[to], stats,
                               &hist);
    }
}

void rkc_local_row(const struct rkc_local *local, const uint32_t *map, uint32_t metrics,
                   uint32_t n_paths, size_t stride, int64_t *values)
{
    for (int metric = 0; metric < RKC_METRICS; metric++) {
        if (!(metrics & 1u << metric))
            continue;
        for (uint32_t path = 0; path < n_paths; path++)
            values[path] = RKC_ABSENT;
        for (uint32_t path = 0; path < local->paths.n_paths; path++) {
            int64_t value = rkc_local_value(local, path, metric);
            if (map[path] < n_paths && value != RKC_ABSENT)
                add_value(&values[map[path]], value);
        }
        values += stride;
    }
}

void rkc_local_free(struct rkc_local *local)
{
    rkc_profile_free(&local->paths);
    rkc_job_free(&local->job);
    free(local->values);
    free(local->device_values);
    free(local->devices);
    free(local->peers);
    free(local->sumsq_ns2);
    free(local->nodes);
    free(local->pending);
    free(local->first_node);
    *local = (struct rkc_local){0};
}
