/* synthetic.h - a made-up run of any size, handed to a sink; every number follows from a formula.
 *
 * Its call paths are those of a stencil code whose later ranks compute longer, so that the
 * earlier ones wait in MPI_Waitall; call paths beyond these are leaves of "compute". All ranks
 * have the same inclusive time of the root. Rank 0 alone writes output, and the others wait for it
 * in MPI_Barrier. Each sends to the next and the previous rank. With a GPU, a rank's device time is
 * 3/5 of its time in "compute", and three visits of rank 1 were captured; messages arrive in device
 * memory, and half of them come from there.
 */
#ifndef TESTS_SYNTHETIC_H
#define TESTS_SYNTHETIC_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rankclock/status.h>

#include "profile_mpi.h"
#include "sink/sink.h"

struct synthetic {
    uint32_t n_ranks, n_paths;     /* n_paths at least SYNTHETIC_PATHS */
    uint32_t ranks_in_block;       /* of one call of `rows` */
    uint32_t paths_in_window;      /* of one call of `numbers` */
    uint32_t row_metrics;          /* of those that there are */
    int with_gpu;                  /* "compute" is a GPU region; two ranks of a node share a device */
    uint32_t planned_paths, planned_metrics; /* none: no plan */
    int32_t first_missing;         /* ranks from this one on are missing; -1: none */
    enum rkc_file_status status;
};

enum {
    SYNTHETIC_RUN,
    SYNTHETIC_INIT,
    SYNTHETIC_STEP,
    SYNTHETIC_HALO,
    SYNTHETIC_IRECV,
    SYNTHETIC_ISEND,
    SYNTHETIC_WAITALL,
    SYNTHETIC_COMPUTE,
    SYNTHETIC_DOT,
    SYNTHETIC_ALLREDUCE,
    SYNTHETIC_OUTPUT,
    SYNTHETIC_BARRIER,
    SYNTHETIC_PATHS
};

static const struct {
    const char *name;
    enum rkc_region_kind kind;
    uint32_t parent;
    int line;
} synthetic_paths[SYNTHETIC_PATHS] = {
    {"(run)", RKC_REGION_ROOT, RKC_NO_PATH, 0},
    {"MPI_Init", RKC_REGION_MPI, SYNTHETIC_RUN, 0},
    {"step", RKC_REGION_USER, SYNTHETIC_RUN, 40},
    {"halo", RKC_REGION_USER, SYNTHETIC_STEP, 52},
    {"MPI_Irecv", RKC_REGION_MPI, SYNTHETIC_HALO, 0},
    {"MPI_Isend", RKC_REGION_MPI, SYNTHETIC_HALO, 0},
    {"MPI_Waitall", RKC_REGION_MPI, SYNTHETIC_HALO, 0},
    {"compute", RKC_REGION_USER, SYNTHETIC_STEP, 71},
    {"dot", RKC_REGION_USER, SYNTHETIC_STEP, 90},
    {"MPI_Allreduce", RKC_REGION_MPI, SYNTHETIC_DOT, 0},
    {"output", RKC_REGION_USER, SYNTHETIC_RUN, 120},
    {"MPI_Barrier", RKC_REGION_MPI, SYNTHETIC_RUN, 0},
};

enum { SYNTHETIC_STEPS = 100, SYNTHETIC_MESSAGE_BYTES = 65536 };
#define SYNTHETIC_START_NS INT64_C(1700000000000000000)

static inline uint32_t synthetic_parent(uint32_t path)
{
    return path < SYNTHETIC_PATHS ? synthetic_paths[path].parent : SYNTHETIC_COMPUTE;
}

static inline int synthetic_is_mpi(uint32_t path)
{
    return path < SYNTHETIC_PATHS && synthetic_paths[path].kind == RKC_REGION_MPI;
}

/* Exclusive time; -1 where the rank lacks the call path. */
static inline int64_t synthetic_exclusive_ns(const struct synthetic *run, uint32_t path,
                                             uint32_t rank)
{
    const int64_t ms = 1000000;
    int64_t most = run->n_ranks > 1 ? run->n_ranks - 1 : 1;
    int64_t extra = 300 * ms * (int64_t)rank / most; /* what this rank computes longer */
    switch (path) {
    case SYNTHETIC_RUN:       return 20 * ms;
    case SYNTHETIC_INIT:      return 150 * ms;
    case SYNTHETIC_STEP:      return 8 * ms;
    case SYNTHETIC_HALO:      return 5 * ms;
    case SYNTHETIC_IRECV:     return 2 * ms;
    case SYNTHETIC_ISEND:     return 4 * ms;
    case SYNTHETIC_WAITALL:   return 300 * ms - extra + 30 * ms;
    case SYNTHETIC_COMPUTE:   return 1000 * ms + extra;
    case SYNTHETIC_DOT:       return 10 * ms;
    case SYNTHETIC_ALLREDUCE: return 25 * ms;
    case SYNTHETIC_OUTPUT:    return rank == 0 ? 60 * ms : -1;
    case SYNTHETIC_BARRIER:   return rank == 0 ? 1 * ms : 61 * ms;
    default:                  return 1000 + path;
    }
}

static inline int64_t synthetic_visits(uint32_t path)
{
    switch (path) {
    case SYNTHETIC_RUN:
    case SYNTHETIC_INIT:
    case SYNTHETIC_OUTPUT:
    case SYNTHETIC_BARRIER:
        return 1;
    case SYNTHETIC_IRECV:
    case SYNTHETIC_ISEND:
        return 2 * SYNTHETIC_STEPS;
    default:
        return SYNTHETIC_STEPS;
    }
}

/* Device time of "compute". */
static inline int64_t synthetic_device_ns(const struct synthetic *run, uint32_t rank)
{
    return synthetic_exclusive_ns(run, SYNTHETIC_COMPUTE, rank) / 5 * 3;
}

enum { SYNTHETIC_CAPTURED = 3, SYNTHETIC_LAG_NS = 12000 };

static inline void synthetic_device(const struct synthetic *run, uint32_t rank, int64_t *value)
{
    int64_t captured = rank == 1 ? SYNTHETIC_CAPTURED : 0, visits = SYNTHETIC_STEPS - captured;
    value[RKC_METRIC_DEVICE_VISITS] = visits;
    value[RKC_METRIC_DEVICE] = synthetic_device_ns(run, rank);
    value[RKC_METRIC_DEVICE_MIN] = value[RKC_METRIC_DEVICE] / visits;
    value[RKC_METRIC_DEVICE_MAX] = value[RKC_METRIC_DEVICE_MIN] + 1;
    value[RKC_METRIC_LAG] = visits * SYNTHETIC_LAG_NS;
    value[RKC_METRIC_LAG_VISITS] = visits;
    if (captured)
        value[RKC_METRIC_DEVICE_CAPTURED] = captured;
}

/* The metrics that some rank has, with more than one rank. */
static inline uint32_t synthetic_metrics(const struct synthetic *run)
{
    const uint32_t one = 1, never = one << RKC_METRIC_SAMPLED_OUT;
    uint32_t device = one << RKC_METRIC_DEVICE_VISITS | one << RKC_METRIC_DEVICE |
                      one << RKC_METRIC_DEVICE_MIN | one << RKC_METRIC_DEVICE_MAX |
                      one << RKC_METRIC_LAG | one << RKC_METRIC_LAG_VISITS |
                      one << RKC_METRIC_DEVICE_CAPTURED;
    return (RKC_ALL_METRICS & ~RKC_GPU_METRICS & ~never) | (run->with_gpu ? device : 0);
}

static inline uint32_t synthetic_row_metrics(const struct synthetic *run)
{
    return run->row_metrics & synthetic_metrics(run);
}

/* All metrics of one rank: values[path][metric]. */
static inline void synthetic_rank(const struct synthetic *run, uint32_t rank,
                                  int64_t (*values)[RKC_METRICS])
{
    for (uint32_t path = 0; path < run->n_paths; path++) {
        int64_t own = synthetic_exclusive_ns(run, path, rank), *value = values[path];
        for (int i = 0; i < RKC_METRICS; i++)
            value[i] = RKC_ABSENT;
        if (own < 0)
            continue;
        value[RKC_METRIC_EXCLUSIVE] = value[RKC_METRIC_INCLUSIVE] = own;
        value[RKC_METRIC_MPI] = synthetic_is_mpi(path) ? own : 0;
        value[RKC_METRIC_VISITS] = synthetic_visits(path);
        value[RKC_METRIC_THREADS] = 1;
        value[RKC_METRIC_UNCLOSED] = 0;
    }
    for (uint32_t path = run->n_paths; path-- > 1;) {
        int64_t *value = values[path], *parent = values[synthetic_parent(path)];
        if (value[RKC_METRIC_VISITS] < 0)
            continue;
        parent[RKC_METRIC_INCLUSIVE] += value[RKC_METRIC_INCLUSIVE];
        parent[RKC_METRIC_MPI] += value[RKC_METRIC_MPI];
    }
    for (uint32_t path = 0; path < run->n_paths; path++) {
        int64_t *value = values[path], inclusive = value[RKC_METRIC_INCLUSIVE];
        if (inclusive < 0)
            continue;
        value[RKC_METRIC_USEFUL] = inclusive - value[RKC_METRIC_MPI];
        value[RKC_METRIC_SLOWEST_THREAD] = inclusive;
        value[RKC_METRIC_VISIT_MIN] = inclusive / value[RKC_METRIC_VISITS];
        value[RKC_METRIC_VISIT_MAX] = value[RKC_METRIC_VISIT_MIN];
    }
    values[SYNTHETIC_ISEND][RKC_METRIC_BYTES_SENT] =
        INT64_C(2) * SYNTHETIC_STEPS * SYNTHETIC_MESSAGE_BYTES;
    values[SYNTHETIC_IRECV][RKC_METRIC_BYTES_RECEIVED] =
        INT64_C(2) * SYNTHETIC_STEPS * SYNTHETIC_MESSAGE_BYTES;
    values[SYNTHETIC_IRECV][RKC_METRIC_IN_FLIGHT] =
        values[SYNTHETIC_WAITALL][RKC_METRIC_INCLUSIVE] + 6000000;
    values[SYNTHETIC_IRECV][RKC_METRIC_BLOCKED] =
        values[SYNTHETIC_WAITALL][RKC_METRIC_INCLUSIVE];
    values[SYNTHETIC_ALLREDUCE][RKC_METRIC_BYTES_SENT] = INT64_C(8) * SYNTHETIC_STEPS;
    values[SYNTHETIC_ALLREDUCE][RKC_METRIC_BYTES_RECEIVED] = INT64_C(8) * SYNTHETIC_STEPS;
    if (run->with_gpu)
        synthetic_device(run, rank, values[SYNTHETIC_COMPUTE]);
}

static inline uint32_t synthetic_ranks(const struct synthetic *run)
{
    return run->first_missing < 0 ? run->n_ranks : (uint32_t)run->first_missing;
}

/* Of each rank's messages, those sent from device memory. */
enum { SYNTHETIC_FROM_DEVICE = SYNTHETIC_STEPS };

static inline void synthetic_transfers(const struct synthetic *run, uint32_t rank,
                                       struct rkc_profile *profile)
{
    unsigned bucket = rkc_size_bucket(SYNTHETIC_MESSAGE_BYTES);
    int64_t waitall_ns = synthetic_exclusive_ns(run, SYNTHETIC_WAITALL, rank);
    struct rkc_transfer *row = rkc_profile_transfer_get(profile, SYNTHETIC_ISEND, RKC_KIND_DEVICE,
                                                        0, RKC_KIND_NONE, -1);
    if (!row)
        exit(1);
    row->sent += INT64_C(1) * SYNTHETIC_FROM_DEVICE * SYNTHETIC_MESSAGE_BYTES;
    row->ns += 3000000;
    row->noncontiguous += 10;
    row->size[bucket] += SYNTHETIC_FROM_DEVICE;
    row = rkc_profile_transfer_get(profile, SYNTHETIC_IRECV, RKC_KIND_NONE, -1, RKC_KIND_DEVICE, 0);
    if (!row)
        exit(1);
    row->received += INT64_C(2) * SYNTHETIC_STEPS * SYNTHETIC_MESSAGE_BYTES;
    row->ns += synthetic_exclusive_ns(run, SYNTHETIC_IRECV, rank);
    row->blocked_ns += waitall_ns;
    row->in_flight_ns += waitall_ns + 6000000;
    row->size[bucket] += UINT64_C(2) * SYNTHETIC_STEPS;
}

static inline int synthetic_waits(const struct synthetic *run, uint32_t rank,
                                  struct rkc_profile *profile)
{
    int status = 0;
    for (uint32_t path = SYNTHETIC_ALLREDUCE; path < SYNTHETIC_PATHS && !status; path++) {
        int64_t ns = synthetic_exclusive_ns(run, path, rank);
        struct rkc_wait wait = {.path = path, .ranks = 1, .least_rank = (int32_t)rank,
                                .comm = {1, (int32_t)run->n_ranks, 0},
                                .calls_min = synthetic_visits(path),
                                .calls_max = synthetic_visits(path),
                                .ns_sum = ns, .ns_min = ns, .ns_max = ns, .sync_ns = RKC_ABSENT};
        if (synthetic_is_mpi(path))
            status = rkc_profile_wait_merge(profile, &wait);
    }
    return status;
}

/* The peers of a rank, one or two. */
static inline int32_t synthetic_peers(const struct synthetic *run, uint32_t rank,
                                      struct rkc_rank_peer peers[2])
{
    uint32_t next = (rank + 1) % run->n_ranks, previous = (rank + run->n_ranks - 1) % run->n_ranks;
    int32_t n = next == previous ? 1 : 2;
    for (int32_t i = 0; i < n; i++)
        peers[i] = (struct rkc_rank_peer){
            .source = (int32_t)rank,
            .target = (int32_t)(i ? previous : next),
            .messages = 2 * SYNTHETIC_STEPS / n,
            .bytes = INT64_C(2) * SYNTHETIC_STEPS / n * SYNTHETIC_MESSAGE_BYTES};
    return n;
}

static inline int synthetic_profile(const struct synthetic *run, struct rkc_profile *profile)
{
    rkc_profile_init(profile, 0);
    for (uint32_t path = 0; path < run->n_paths; path++) {
        char name[32];
        snprintf(name, sizeof name, "kernel_%u", path);
        int known = path < SYNTHETIC_PATHS;
        int user = !known || synthetic_paths[path].kind == RKC_REGION_USER;
        int64_t region = rkc_profile_region_get(
            profile, known ? synthetic_paths[path].kind : RKC_REGION_USER,
            known ? synthetic_paths[path].name : name, user ? "stencil.c" : NULL,
            known ? synthetic_paths[path].line : (int)path);
        int64_t index = region < 0 ? region
                                   : rkc_profile_path_get(profile, synthetic_parent(path),
                                                          (uint32_t)region);
        if (index != path)
            return RKC_ENOMEM;
    }
    int status = rkc_profile_ranks_add(profile, 0, (int32_t)synthetic_ranks(run) - 1);
    for (uint32_t rank = 0; rank < synthetic_ranks(run) && !status; rank++) {
        status = synthetic_waits(run, rank, profile);
        if (run->with_gpu)
            synthetic_transfers(run, rank, profile);
    }
    if (!status)
        status = rkc_profile_note_add(profile, RKC_NOTE_END_WITHOUT_BEGIN,
                                      profile->paths[SYNTHETIC_HALO].region, 1, 3, NULL);
    return status;
}

static inline void synthetic_job(const struct synthetic *run, int64_t wall_ns,
                                 struct rkc_job *job)
{
    static const char *const facts[][2] = {
        {"launcher", "mpirun"},
        {"mpi_library", "Open MPI v4.1.4"},
        {"mpi_standard", "3.1"},
        {"thread_level", "MPI_THREAD_SINGLE"},
        {"clock_source", "tsc"},
        {"program", "stencil"},
        {"command", "./stencil --size 4096 --steps 100"},
        {"run_id", "synthetic"},
        {"per_rank_rows", "all"},
        {"overhead_method", "calibrated"},
    };
    rkc_job_init(job);
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (rkc_job_set(job, facts[i][0], facts[i][1]))
            exit(1);
    job->start_unix_ns = SYNTHETIC_START_NS;
    job->wall_ns = wall_ns;
    job->overhead_ns = 2500 * (int64_t)run->n_ranks;
    job->ranks = (int32_t)run->n_ranks;
    job->metrics = synthetic_metrics(run);
    job->row_metrics = synthetic_row_metrics(run);
    job->device_uses = run->with_gpu ? run->n_ranks : 0;
    if (run->with_gpu && rkc_job_set(job, "gpu", "cuda 13.0"))
        exit(1);
}

/* Numbers of all ranks for the call paths first..first+n-1. */
static inline int synthetic_numbers(const struct synthetic *run, int64_t (*values)[RKC_METRICS],
                                    struct rkc_numbers *numbers)
{
    for (uint32_t rank = 0; rank < synthetic_ranks(run); rank++) {
        synthetic_rank(run, rank, values);
        for (uint32_t i = 0; i < numbers->n; i++) {
            const int64_t *value = values[numbers->first + i];
            struct rkc_path_hist *hist = &numbers->hist[i];
            if (value[RKC_METRIC_VISITS] < 0)
                continue;
            for (int metric = 0; metric < RKC_METRICS; metric++) {
                struct rkc_stat one;
                if (value[metric] < 0)
                    continue;
                rkc_stat_set(&one, value[metric], (int32_t)rank);
                rkc_stat_merge(&numbers->stats[(size_t)i * RKC_METRICS + (size_t)metric], &one);
            }
            int64_t visits = value[RKC_METRIC_VISITS], visit = value[RKC_METRIC_VISIT_MAX];
            hist->time[rkc_time_bucket((uint64_t)visit)] += (uint64_t)visits;
            hist->visit_sumsq_ns2 += (rkc_u128)visits * (uint64_t)visit * (uint64_t)visit;
            if (value[RKC_METRIC_BYTES_SENT] > 0 || value[RKC_METRIC_BYTES_RECEIVED] > 0)
                hist->size[rkc_size_bucket((uint64_t)(value[RKC_METRIC_BYTES_SENT] > 0
                                                          ? value[RKC_METRIC_BYTES_SENT]
                                                          : value[RKC_METRIC_BYTES_RECEIVED]) /
                                           (uint64_t)visits)] += (uint64_t)visits;
        }
    }
    return 0;
}

static inline int synthetic_send_numbers(const struct synthetic *run,
                                         int64_t (*values)[RKC_METRICS], struct rkc_sink *sink)
{
    int status = 0;
    for (uint32_t first = 0; first < run->n_paths && !status; first += run->paths_in_window) {
        uint32_t n = run->n_paths - first;
        n = n < run->paths_in_window ? n : run->paths_in_window;
        struct rkc_numbers numbers;
        status = rkc_numbers_init(&numbers, first, n);
        if (status)
            break;
        status = synthetic_numbers(run, values, &numbers);
        if (!status)
            status = sink->ops->numbers(sink, &numbers);
        rkc_numbers_free(&numbers);
    }
    return status;
}

static inline struct rkc_rank_row synthetic_row(const struct synthetic *run, uint32_t rank,
                                                int64_t (*values)[RKC_METRICS])
{
    const int64_t *root = values[SYNTHETIC_RUN];
    struct rkc_rank_row row = {
        .rank = (int32_t)rank,
        .pid = 1000 + (int32_t)rank,
        .local_rank = (int32_t)rank % 2,
        .cpu = (int32_t)rank % 2,
        .threads = 1,
        .state = run->status == RKC_FILE_COMPLETE ? RKC_STATE_FINALIZED : RKC_STATE_RUNNING,
        .open_path = run->status == RKC_FILE_COMPLETE ? RKC_NO_PATH : SYNTHETIC_WAITALL,
        .wall_ns = root[RKC_METRIC_INCLUSIVE],
        .init_ns = values[SYNTHETIC_INIT][RKC_METRIC_INCLUSIVE],
        .mpi_ns = root[RKC_METRIC_MPI],
        .useful_ns = root[RKC_METRIC_USEFUL],
        .overhead_ns = 2500,
        .start_unix_ns = SYNTHETIC_START_NS,
        .measured_until_unix_ns = SYNTHETIC_START_NS + root[RKC_METRIC_INCLUSIVE],
    };
    row.n_devices = run->with_gpu != 0;
    snprintf(row.node, sizeof row.node, "node%03u", rank / 2);
    return row;
}

static inline struct rkc_rank_device synthetic_rank_device(const struct synthetic *run,
                                                           uint32_t rank)
{
    struct rkc_rank_device device = {
        .driver_version = 13000,
        .numa_node = rank % 4 / 2,
        .rank_numa_node = rank % 2 ? (int32_t)rank % 4 / 2 : -1,
        .covered_ns = synthetic_device_ns(run, rank),
        .ns = synthetic_device_ns(run, rank),
        .bus_id = "0000:3b:00.0",
        .name = "NVIDIA H200",
    };
    snprintf(device.uuid, sizeof device.uuid, "GPU-%08x-0000-0000-0000-000000000000", rank / 2);
    return device;
}

static inline int synthetic_send_block(const struct synthetic *run, uint32_t first, uint32_t n,
                                       int64_t (*values)[RKC_METRICS], struct rkc_sink *sink)
{
    uint32_t metrics = synthetic_row_metrics(run);
    size_t n_metrics = (size_t)__builtin_popcount(metrics);
    struct rkc_rank_row *ranks = calloc(n, sizeof *ranks);
    struct rkc_rank_device *devices = calloc(n, sizeof *devices);
    struct rkc_rank_peer *peers = calloc(2 * (size_t)n, sizeof *peers);
    size_t n_peers = 0;
    int64_t *cells = calloc(n_metrics * n * run->n_paths + 1, sizeof *cells);
    int status = RKC_ENOMEM;
    if (ranks && cells && devices && peers) {
        for (uint32_t i = 0; i < n; i++) {
            synthetic_rank(run, first + i, values);
            ranks[i] = synthetic_row(run, first + i, values);
            devices[i] = synthetic_rank_device(run, first + i);
            ranks[i].n_peers = synthetic_peers(run, first + i, peers + n_peers);
            n_peers += (size_t)ranks[i].n_peers;
            size_t k = 0;
            for (int metric = 0; metric < RKC_METRICS; metric++)
                if (metrics >> metric & 1) {
                    for (uint32_t path = 0; path < run->n_paths; path++)
                        cells[(k * n + i) * run->n_paths + path] = values[path][metric];
                    k++;
                }
        }
        struct rkc_rows rows = {n, run->n_paths, ranks, cells, devices, peers};
        status = sink->ops->rows(sink, &rows);
    }
    free(ranks);
    free(devices);
    free(peers);
    free(cells);
    return status;
}

/* Hand the run to a sink and publish it; what each step returns, or 0. */
static inline int synthetic_send(const struct synthetic *run, struct rkc_sink *sink,
                                 char text[RKC_SINK_TEXT_MAX])
{
    struct rkc_job job;
    struct rkc_profile profile;
    int64_t (*values)[RKC_METRICS] = calloc(run->n_paths, sizeof *values);
    if (!values)
        return RKC_ENOMEM;
    synthetic_rank(run, 0, values);
    synthetic_job(run, values[SYNTHETIC_RUN][RKC_METRIC_INCLUSIVE], &job);
    int status = synthetic_profile(run, &profile);
    if (!status && run->planned_paths)
        status = sink->ops->plan(sink, run->planned_paths, run->planned_metrics);
    if (!status)
        status = sink->ops->job(sink, &job);
    if (!status)
        status = sink->ops->profile(sink, &profile);
    if (!status)
        status = synthetic_send_numbers(run, values, sink);
    uint32_t n_ranks = synthetic_ranks(run);
    for (uint32_t first = 0; first < n_ranks && !status; first += run->ranks_in_block) {
        uint32_t n = n_ranks - first;
        n = n < run->ranks_in_block ? n : run->ranks_in_block;
        status = synthetic_send_block(run, first, n, values, sink);
    }
    struct rkc_rank_range missing = {run->first_missing, (int32_t)run->n_ranks - 1};
    if (!status)
        status = sink->ops->finish(sink, run->status, &missing, run->first_missing >= 0, text);
    rkc_profile_free(&profile);
    rkc_job_free(&job);
    free(values);
    return status;
}

static inline struct synthetic synthetic_run(uint32_t n_ranks, uint32_t n_paths)
{
    return (struct synthetic){
        .n_ranks = n_ranks,
        .n_paths = n_paths < SYNTHETIC_PATHS ? SYNTHETIC_PATHS : n_paths,
        .ranks_in_block = n_ranks < 1024 ? n_ranks : 1024,
        .paths_in_window = n_paths < SYNTHETIC_PATHS ? SYNTHETIC_PATHS : n_paths,
        .row_metrics = RKC_ALL_METRICS,
        .first_missing = -1,
        .status = RKC_FILE_COMPLETE,
    };
}

#endif
