/* Makes a result file of many pretend ranks through the real writer process.
 *
 *   file_bench [-r RANKS] [-p PATHS] WRITER FILE
 *
 * WRITER is the rankclock command. Each rank has its row and its values of host and MPI
 * time, which is what a run of this size keeps, waits in every MPI call, and has sent to PEERS
 * ranks. Prints "file_write  seconds  -", tabs
 * between, then the name of the file that the writer published.
 */
#include "bench.h"

#include "profile_mpi.h"
#include "sink/pipe.h"
#include "sink/sink.h"

#include <stdlib.h>
#include <unistd.h>

#define WALL_NS INT64_C(60000000000)
#define BEGIN_UNIX_NS INT64_C(1700000000000000000)
#define DEADLINE_NS INT64_C(600000000000)

enum { BLOCK_RANKS = 512, FANOUT = 9, VISITS = 10, RANKS_PER_NODE = 64, PEERS = 6 };

static void need(int ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "file_bench: %s failed\n", what);
        exit(1);
    }
}

/* Every path takes a twentieth of its parent's time, less up to a sixteenth by rank. */
static int64_t path_ns(const struct rkc_profile *profile, uint32_t path, int32_t rank)
{
    uint32_t mixed = ((uint32_t)rank * 2654435761u) ^ (path * 40503u);
    int64_t ns = WALL_NS;
    for (uint32_t d = profile->paths[path].depth; d > 0; d--)
        ns /= 20;
    return ns - (ns >> 24) * (int64_t)(mixed >> 12);
}

static int is_mpi(const struct rkc_profile *profile, uint32_t path)
{
    return profile->regions[profile->paths[path].region].kind == RKC_REGION_MPI;
}

static int64_t path_mpi_ns(const struct rkc_profile *profile, uint32_t path, int32_t rank)
{
    int64_t ns = path_ns(profile, path, rank);
    return is_mpi(profile, path) ? ns : ns / 4;
}

static uint32_t add_region(struct rkc_profile *profile, enum rkc_region_kind kind, const char *name)
{
    int64_t region = rkc_profile_region_get(profile, kind, name, NULL, 0);
    need(region >= 0, "rkc_profile_region_get");
    return (uint32_t)region;
}

/* The root, then a tree of FANOUT children each; the last of them is an MPI call, whose
 * own children hang from the path before it. */
static void make_paths(struct rkc_profile *profile, int n_paths)
{
    rkc_profile_init(profile, 1);
    uint32_t region = add_region(profile, RKC_REGION_ROOT, "(run)");
    need(rkc_profile_path_get(profile, RKC_NO_PATH, region) == 0, "the root");
    for (int i = 1; i < n_paths; i++) {
        char name[32];
        uint32_t parent = (uint32_t)(i - 1) / FANOUT;
        int moved = is_mpi(profile, parent);
        if (i % FANOUT == 0) {
            region = add_region(profile, RKC_REGION_MPI, moved ? "MPI_Bcast" : "MPI_Allreduce");
        } else {
            snprintf(name, sizeof name, "solver_step_%04d", i);
            region = add_region(profile, RKC_REGION_USER, name);
        }
        need(rkc_profile_path_get(profile, parent - (uint32_t)moved, region) == i,
             "rkc_profile_path_get");
    }
}

static void add_value(struct rkc_stat *stat, int64_t value, int32_t rank)
{
    struct rkc_stat one;
    rkc_stat_set(&one, value, rank);
    rkc_stat_merge(stat, &one);
}

/* In a communicator of all, and in that of the rank's node. */
static void add_wait(struct rkc_profile *profile, uint32_t path, int32_t rank, int64_t ns)
{
    struct rkc_wait wait = {.path = path, .ranks = 1, .least_rank = rank,
                            .comm = {1, INT32_MAX, 0}, .calls_min = VISITS, .calls_max = VISITS,
                            .ns_sum = ns, .ns_min = ns, .ns_max = ns, .sync_ns = RKC_ABSENT};
    need(!rkc_profile_wait_merge(profile, &wait), "rkc_profile_wait_merge");
    wait.comm = (struct rkc_comm_id){2, RANKS_PER_NODE, rank / RANKS_PER_NODE * RANKS_PER_NODE};
    need(!rkc_profile_wait_merge(profile, &wait), "rkc_profile_wait_merge");
}

static void add_rank(struct rkc_profile *profile, int32_t rank)
{
    for (uint32_t path = 0; path < profile->n_paths; path++) {
        struct rkc_stat *stats = rkc_profile_stats(profile, path);
        int64_t ns = path_ns(profile, path, rank);
        int64_t mpi_ns = path_mpi_ns(profile, path, rank);
        add_value(&stats[RKC_METRIC_VISITS], VISITS, rank);
        add_value(&stats[RKC_METRIC_INCLUSIVE], ns, rank);
        add_value(&stats[RKC_METRIC_EXCLUSIVE], ns / 10, rank);
        add_value(&stats[RKC_METRIC_MPI], mpi_ns, rank);
        add_value(&stats[RKC_METRIC_USEFUL], ns - mpi_ns, rank);
        add_value(&stats[RKC_METRIC_VISIT_MIN], ns / VISITS, rank);
        add_value(&stats[RKC_METRIC_VISIT_MAX], ns / VISITS, rank);
        add_value(&stats[RKC_METRIC_THREADS], 1, rank);
        if (is_mpi(profile, path)) {
            add_wait(profile, path, rank, mpi_ns);
            add_value(&stats[RKC_METRIC_BYTES_SENT], 8 * VISITS, rank);
            add_value(&stats[RKC_METRIC_BYTES_RECEIVED], 8 * VISITS, rank);
            profile->numbers.hist[path].size[rkc_size_bucket(8)] += VISITS;
        }
        profile->numbers.hist[path].time[rkc_time_bucket((uint64_t)ns / VISITS)] += VISITS;
    }
}

static void make_profile(struct rkc_profile *profile, int ranks, int n_paths)
{
    make_paths(profile, n_paths);
    for (int32_t rank = 0; rank < ranks; rank++)
        add_rank(profile, rank);
    need(!rkc_profile_ranks_add(profile, 0, ranks - 1), "rkc_profile_ranks_add");
}

static void make_job(struct rkc_job *job, int ranks)
{
    rkc_job_init(job);
    need(!rkc_job_set(job, "program", "file_bench") && !rkc_job_set(job, "command", "file_bench") &&
             !rkc_job_set(job, "per_rank_rows", "host"),
         "rkc_job_set");
    job->start_unix_ns = BEGIN_UNIX_NS;
    job->wall_ns = WALL_NS;
    job->overhead_ns = RKC_ABSENT;
    job->ranks = ranks;
    job->metrics = RKC_ALL_METRICS & ~RKC_GPU_METRICS;
    job->row_metrics = 1u << RKC_METRIC_INCLUSIVE | 1u << RKC_METRIC_MPI;
}

static void make_row(const struct rkc_profile *profile, int32_t rank, struct rkc_rank_row *row)
{
    memset(row, 0, sizeof *row);
    row->rank = rank;
    row->pid = 1000 + rank;
    row->local_rank = rank % RANKS_PER_NODE;
    row->cpu = row->local_rank;
    row->threads = 1;
    row->state = RKC_STATE_FINALIZED;
    row->open_path = RKC_NO_PATH;
    row->wall_ns = path_ns(profile, 0, rank);
    row->mpi_ns = path_mpi_ns(profile, 0, rank);
    row->useful_ns = row->wall_ns - row->mpi_ns;
    row->start_unix_ns = BEGIN_UNIX_NS;
    row->measured_until_unix_ns = BEGIN_UNIX_NS + row->wall_ns;
    row->n_peers = PEERS;
    snprintf(row->node, sizeof row->node, "node%05d", rank / RANKS_PER_NODE);
}

/* Ranks at distances of 1, 47 and 2209 on both sides. */
static void make_peers(int32_t rank, int32_t n_ranks, struct rkc_rank_peer peers[PEERS])
{
    int32_t distance = 1;
    for (int i = 0; i < PEERS; i++) {
        int32_t step = distance % n_ranks;
        int32_t to = i % 2 ? (rank + n_ranks - step) % n_ranks : (rank + step) % n_ranks;
        peers[i] = (struct rkc_rank_peer){rank, to, 1000, 1000 * (int64_t)(1 << i)};
        distance *= i % 2 ? 47 : 1;
    }
}

static void send_block(struct rkc_sink *sink, const struct rkc_profile *profile, int32_t n_ranks,
                       int32_t first, uint32_t n)
{
    static struct rkc_rank_row ranks[BLOCK_RANKS];
    static struct rkc_rank_peer peers[BLOCK_RANKS * PEERS];
    int64_t *values = malloc((size_t)n * profile->n_paths * 2 * sizeof *values), *at = values;
    need(values != NULL, "malloc");
    for (uint32_t r = 0; r < n; r++) {
        make_row(profile, first + (int32_t)r, &ranks[r]);
        make_peers(first + (int32_t)r, n_ranks, peers + (size_t)r * PEERS);
    }
    for (uint32_t r = 0; r < n; r++)
        for (uint32_t path = 0; path < profile->n_paths; path++)
            *at++ = path_ns(profile, path, first + (int32_t)r);
    for (uint32_t r = 0; r < n; r++)
        for (uint32_t path = 0; path < profile->n_paths; path++)
            *at++ = path_mpi_ns(profile, path, first + (int32_t)r);
    struct rkc_rows rows = {n, profile->n_paths, ranks, values, NULL, peers};
    need(!sink->ops->rows(sink, &rows), "writing rows");
    free(values);
}

static void write_file(const char *writer, const char *path, const struct rkc_job *job,
                       const struct rkc_profile *profile, char text[RKC_SINK_TEXT_MAX])
{
    struct rkc_sink *sink;
    need(!rkc_sink_pipe_open(writer, path, 0600, bench_now_ns() + DEADLINE_NS, &sink),
         "starting the writer");
    need(!sink->ops->job(sink, job), "writing the job");
    need(!sink->ops->profile(sink, profile), "writing the profile");
    need(!sink->ops->numbers(sink, &profile->numbers), "writing the numbers");
    for (int32_t first = 0; first < job->ranks; first += BLOCK_RANKS) {
        int32_t rest = job->ranks - first;
        send_block(sink, profile, job->ranks, first,
                   (uint32_t)(rest < BLOCK_RANKS ? rest : BLOCK_RANKS));
    }
    int status = sink->ops->finish(sink, RKC_FILE_COMPLETE, NULL, 0, text);
    if (status)
        fprintf(stderr, "file_bench: %s\n", text);
    need(!status, "publishing");
    sink->ops->close(sink);
}

int main(int argc, char **argv)
{
    int ranks = 100000, n_paths = 100, option;
    char text[RKC_SINK_TEXT_MAX];
    struct rkc_profile profile;
    struct rkc_job job;
    while ((option = getopt(argc, argv, "r:p:")) != -1) {
        if (option == 'r')
            ranks = atoi(optarg);
        else if (option == 'p')
            n_paths = atoi(optarg);
        else
            return 2;
    }
    if (ranks < 1 || n_paths < 1 || argc - optind != 2) {
        fprintf(stderr, "usage: file_bench [-r RANKS] [-p PATHS] WRITER FILE\n");
        return 2;
    }
    make_profile(&profile, ranks, n_paths);
    make_job(&job, ranks);
    int64_t begin_ns = bench_now_ns();
    write_file(argv[optind], argv[optind + 1], &job, &profile, text);
    printf("file_write\t%.3f\t-\n%s\n", (double)(bench_now_ns() - begin_ns) / 1e9, text);
    rkc_job_free(&job);
    rkc_profile_free(&profile);
    return 0;
}
