/* ranks.h - for tests of what makes one profile of many ranks': ranks with made-up profiles, a sink
 * that keeps what it is given, and what should be in it.
 *
 * The modules are compiled into the program, TESTED (a file) last, so that their allocations can
 * be made to fail, one after the other, on any rank. */
#ifndef RANKS_H
#define RANKS_H

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

/* How many more allocations succeed; negative: all. */
static int allowance = -1, refused;

static int refuse(void)
{
    if (allowance != 0)
        return allowance-- == 0;
    refused++;
    return 1;
}

static void *test_malloc(size_t size)
{
    return refuse() ? NULL : malloc(size);
}

static void *test_calloc(size_t n, size_t size)
{
    return refuse() ? NULL : calloc(n, size);
}

static void *test_realloc(void *old, size_t size)
{
    return refuse() ? NULL : realloc(old, size);
}

static char *test_strdup(const char *text)
{
    return refuse() ? NULL : strdup(text);
}

#undef strdup
#define malloc test_malloc
#define calloc test_calloc
#define realloc test_realloc
#define strdup test_strdup
#include "../src/buffer.c"
#include "../src/devices.c"
#include "../src/link.c"
#include "../src/local.c"
#include "../src/pack.c"
#include "../src/pack_mpi.c"
#include "../src/peers.c"
#include "../src/profile.c"
#include "../src/profile_mpi.c"
#include "../src/rank_rows.c"
#include TESTED
#undef malloc
#undef calloc
#undef realloc
#undef strdup

enum { COMMON_PATHS = 150, SECOND = 1000000000 };

#include "../pmpi/carrier.h"
#include "config.h"

/* ---- made-up ranks ---- */

/* A metric that no rank has. */
enum { NEVER = RKC_METRIC_DEVICE_LOST };

/* Some ranks use no device, others several. */
static int n_devices_of(int rank)
{
    static const int n[] = {2, 0, 1, RKC_RANK_DEVICES_MAX};
    return n[rank % 4];
}

static struct rkc_rank_device device_of(int rank, int i)
{
    struct rkc_rank_device device = {.index = i, .covered_ns = 100 * rank + i, .ns = 7};
    snprintf(device.uuid, sizeof device.uuid, "GPU-%d-%d", rank, i);
    return device;
}

/* Not 0: so many peers on each rank. */
static int peers_each;

static int n_peers_of(int rank)
{
    static const int n[] = {3, 0, 1, 20};
    return peers_each ? peers_each : n[rank % 4];
}

/* Every other is one that the rank got something from. */
static struct rkc_rank_peer peer_of(int rank, int i)
{
    return (struct rkc_rank_peer){.source = i % 2 ? i : rank,
                                  .target = i % 2 ? rank : i,
                                  .messages = 1 + i,
                                  .bytes = (int64_t)1000000 * rank + i};
}

static void put_peers(struct rkc_local *local, int rank)
{
    local->n_peers = (uint32_t)n_peers_of(rank);
    local->peers = local->n_peers ? calloc(local->n_peers, sizeof *local->peers) : NULL;
    for (uint32_t i = 0; i < local->n_peers; i++)
        local->peers[i] = peer_of(rank, (int)i);
}

/* In "step", and in the last call path, all on one communicator and some on another. */
static void put_mpi(struct rkc_local *local, int rank)
{
    for (uint32_t path = 1; path < local->paths.n_paths; path += local->paths.n_paths - 2) {
        struct rkc_transfer *row = rkc_profile_transfer_get(&local->paths, path, RKC_KIND_DEVICE,
                                                            rank % 2, RKC_KIND_NONE, -1);
        row->sent = 100 + rank;
        row->size[7]++;
        struct rkc_comm_id comm = {5, 8, 0};
        rkc_profile_wait_add(&local->paths, path, &comm, rank, 3, 50 + rank % 3, RKC_ABSENT);
        comm.first = rank % 2;
        rkc_profile_wait_add(&local->paths, path, &comm, rank, 1, 1, 1);
    }
}

/* What rank `rank` has of metric `metric` in the call path numbered `key`. */
static int64_t value_of(int key, int rank, int metric)
{
    if (metric >= RKC_METRIC_BYTES_SENT && key % 2)
        return RKC_ABSENT;
    if (metric >= RKC_HOST_METRICS && (n_devices_of(rank) == 0 || metric == NEVER))
        return RKC_ABSENT;
    return 1000 * key + 10 * rank + metric;
}

static void put_path(struct rkc_local *local, uint32_t parent, const char *name, int key, int rank)
{
    enum rkc_region_kind kind = parent == RKC_NO_PATH ? RKC_REGION_ROOT : RKC_REGION_USER;
    int64_t region = rkc_profile_region_get(&local->paths, kind, name, NULL, 0);
    rkc_profile_path_get(&local->paths, parent, (uint32_t)region);
    for (int metric = 0; metric < RKC_METRICS; metric++)
        local->metrics |= (uint32_t)(value_of(key, rank, metric) != RKC_ABSENT) << metric;
}

/* The key that a call path was made with, of which its name tells. */
static int key_of(const struct rkc_local *local, uint32_t path)
{
    const char *name = local->paths.regions[local->paths.paths[path].region].name;
    if (strcmp(name, "(run)") == 0)
        return 0;
    if (strncmp(name, "only", 4) == 0)
        return 5000;
    return strncmp(name, "part", 4) == 0 ? 2 + atoi(name + 4) : 1;
}

/* In place of those of local_values.c, for there are no nodes. */
void rkc_local_values(const struct rkc_local *local, uint32_t path, int64_t values[RKC_METRICS])
{
    for (int metric = 0; metric < RKC_METRICS; metric++)
        values[metric] = value_of(key_of(local, path), local->row.rank, metric);
}

void rkc_local_hist(const struct rkc_local *local, uint32_t path, struct rkc_path_hist *hist)
{
    *hist = (struct rkc_path_hist){.visit_sumsq_ns2 =
                                       (rkc_u128)(unsigned)(key_of(local, path) + local->row.rank)};
}

/* Not 0: all ranks have the same call paths in the same order, and no notes. */
static int twins;

/* Call paths that all ranks have, odd ranks in reverse order, and one of its own. */
static struct rkc_local make_local(int rank, int n_common)
{
    static const struct rkc_view nothing;
    struct rkc_local local = {.view = &nothing};
    char name[32];
    rkc_profile_init(&local.paths, 0);
    rkc_job_init(&local.job);
    int n_devices = n_devices_of(rank);
    local.devices = n_devices ? calloc((size_t)n_devices, sizeof *local.devices) : NULL;
    for (int i = 0; i < n_devices; i++)
        local.devices[i] = device_of(rank, i);
    put_path(&local, RKC_NO_PATH, "(run)", 0, rank);
    put_path(&local, 0, "step", 1, rank);
    for (int i = 0; i < n_common; i++) {
        int key = rank % 2 && !twins ? n_common - 1 - i : i;
        snprintf(name, sizeof name, "part%d", key);
        put_path(&local, 1, name, 2 + key, rank);
    }
    snprintf(name, sizeof name, "only%d", twins ? 0 : rank);
    put_path(&local, 0, name, 5000, rank);
    rkc_profile_ranks_add(&local.paths, rank, rank);
    put_peers(&local, rank);
    put_mpi(&local, rank);
    if (!twins)
        rkc_profile_note_add(&local.paths, RKC_NOTE_LOST, RKC_NO_PATH, rank, 1, NULL);
    rkc_job_set(&local.job, "program", rank == 0 ? "first" : "another");
    local.row = (struct rkc_rank_row){.rank = rank,
                                      .open_path = local.paths.n_paths - 1,
                                      .state = RKC_STATE_FINALIZED,
                                      .wall_ns = 100 + rank,
                                      .overhead_ns = 7,
                                      .n_devices = n_devices,
                                      .start_unix_ns = 1000 - rank};
    return local;
}

/* ---- a sink that keeps everything ---- */

static struct kept {
    struct rkc_sink sink;
    const char *fail_at; /* the function that fails, or NULL */
    int calls;
    uint32_t metrics, row_metrics;
    int32_t ranks;
    int64_t start_unix_ns, wall_ns, overhead_ns, device_uses;
    char rows_word[16], program[16];
    struct rkc_profile profile;
    struct rkc_numbers numbers;
    uint32_t covered; /* call paths whose numbers came, in order */
    struct rkc_rank_row row[8];
    uint32_t n_rows;
    int64_t value[8][RKC_METRICS]; /* of the rank's own call path */
    int64_t foreign[8];            /* values that belong to another rank's call path */
    int64_t wrong_devices[8], wrong_peers[8];
    uint32_t most_peers; /* of one block */
    enum rkc_file_status status;
    struct rkc_rank_range missing[8];
    uint32_t n_missing;
    int finished;
} kept;

static int fails(const char *function)
{
    kept.calls++;
    return kept.fail_at && strcmp(kept.fail_at, function) == 0 ? RKC_EWRITER : 0;
}

static int keep_job(struct rkc_sink *sink, const struct rkc_job *job)
{
    (void)sink;
    kept.metrics = job->metrics;
    kept.row_metrics = job->row_metrics;
    kept.device_uses = job->device_uses;
    kept.ranks = job->ranks;
    kept.start_unix_ns = job->start_unix_ns;
    kept.wall_ns = job->wall_ns;
    kept.overhead_ns = job->overhead_ns;
    const char *word = rkc_job_get(job, "per_rank_rows"), *program = rkc_job_get(job, "program");
    snprintf(kept.rows_word, sizeof kept.rows_word, "%s", word ? word : "-");
    snprintf(kept.program, sizeof kept.program, "%s", program ? program : "-");
    return fails("job");
}

static int keep_profile(struct rkc_sink *sink, const struct rkc_profile *profile)
{
    (void)sink;
    rkc_profile_init(&kept.profile, 0);
    if (rkc_profile_merge(&kept.profile, profile, NULL) != 0 ||
        rkc_numbers_init(&kept.numbers, 0, profile->n_paths) != 0)
        return RKC_ENOMEM;
    return fails("profile");
}

static int keep_numbers(struct rkc_sink *sink, const struct rkc_numbers *numbers)
{
    (void)sink;
    if (numbers->first == kept.covered)
        kept.covered += numbers->n;
    memcpy(kept.numbers.stats + (size_t)numbers->first * RKC_METRICS, numbers->stats,
           (size_t)numbers->n * RKC_METRICS * sizeof *numbers->stats);
    memcpy(kept.numbers.hist + numbers->first, numbers->hist, numbers->n * sizeof *numbers->hist);
    return fails("numbers");
}

static int keep_rows(struct rkc_sink *sink, const struct rkc_rows *rows)
{
    (void)sink;
    const struct rkc_rank_device *device = rows->devices;
    const struct rkc_rank_peer *peer = rows->peers;
    if (rkc_rows_peers(rows) > kept.most_peers)
        kept.most_peers = (uint32_t)rkc_rows_peers(rows);
    for (uint32_t i = 0; i < rows->n_ranks && kept.n_rows < 8; i++) {
        kept.row[kept.n_rows] = rows->ranks[i];
        for (int k = 0; k < rows->ranks[i].n_devices; k++, device++) {
            struct rkc_rank_device wanted = device_of(rows->ranks[i].rank, k);
            kept.wrong_devices[kept.n_rows] += memcmp(device, &wanted, sizeof wanted) != 0;
        }
        for (int k = 0; k < rows->ranks[i].n_peers; k++, peer++) {
            struct rkc_rank_peer wanted = peer_of(rows->ranks[i].rank, k);
            kept.wrong_peers[kept.n_rows] += memcmp(peer, &wanted, sizeof wanted) != 0;
        }
        size_t metric = 0;
        for (int m = 0; m < RKC_METRICS; m++) {
            if (!(kept.row_metrics >> m & 1))
                continue;
            const int64_t *row = rows->values + (metric++ * rows->n_ranks + i) * rows->n_paths;
            kept.value[kept.n_rows][m] = row[rows->ranks[i].open_path];
            for (uint32_t k = 0; k < rows->n_ranks; k++)
                if (k != i && row[rows->ranks[k].open_path] != RKC_ABSENT)
                    kept.foreign[kept.n_rows]++;
        }
        kept.n_rows++;
    }
    return fails("rows");
}

static int keep_finish(struct rkc_sink *sink, enum rkc_file_status status,
                       const struct rkc_rank_range *missing, uint32_t n_missing,
                       char text[RKC_SINK_TEXT_MAX])
{
    (void)sink;
    kept.status = status;
    kept.n_missing = n_missing;
    for (uint32_t i = 0; i < n_missing && i < 8; i++)
        kept.missing[i] = missing[i];
    strcpy(text, "kept");
    kept.finished = 1;
    return fails("finish");
}

static void keep_close(struct rkc_sink *sink)
{
    (void)sink;
}

static const struct rkc_sink_ops keep_ops = {keep_job,  keep_profile, keep_numbers,
                                             keep_rows, keep_finish,  keep_close,
                                             NULL};

static void forget(void)
{
    rkc_profile_free(&kept.profile);
    rkc_numbers_free(&kept.numbers);
    kept = (struct kept){.sink = {&keep_ops}};
}

/* ---- running ---- */

enum { AS_MANY = 1000 };
static struct rkc_mpi_comms comm; /* of one run: its ranks talk by it */
static int rank, size;

/* Its deadline is that many seconds away. */
static struct rkc_link link_for(int seconds)
{
    return (struct rkc_link){.carrier = &rkc_mpi_carrier,
                             .context = &comm,
                             .rank = rank,
                             .size = size,
                             .deadline_ns = rkc_clock_monotonic_ns() + (int64_t)seconds * SECOND};
}

/* Gather a number of every rank. */
static void gather(int mine, int all[8])
{
    PMPI_Allgather(&mine, 1, MPI_INT, all, 1, MPI_INT, comm.shared);
}

static int all_are(const int all[8], int wanted)
{
    for (int i = 0; i < size; i++)
        if (all[i] != wanted)
            return 0;
    return 1;
}

/* Whether two profiles have the same transfers and waits, in the same order. */
static int same_mpi(const struct rkc_profile *a, const struct rkc_profile *b)
{
    struct rkc_buffer packed[2] = {{0}, {0}};
    rkc_profile_pack_mpi(a, &packed[0]);
    rkc_profile_pack_mpi(b, &packed[1]);
    int same = packed[0].size == packed[1].size &&
               memcmp(packed[0].data, packed[1].data, packed[0].size) == 0;
    rkc_buffer_free(&packed[0]);
    rkc_buffer_free(&packed[1]);
    return same && a->n_transfers > 0 && a->n_waits > 0;
}

/* Whether the sink got what merging one rank after the other gives. */
static int is_as_merged(int n_common, unsigned missing)
{
    struct rkc_profile merged;
    struct rkc_local local[8];
    uint32_t *map[8];
    rkc_profile_init(&merged, 0);
    for (int r = 0; r < size; r++) {
        local[r] = make_local(r, n_common);
        map[r] = calloc(local[r].paths.n_paths, sizeof **map);
        if (!(missing >> r & 1))
            rkc_profile_merge(&merged, &local[r].paths, map[r]);
    }
    struct rkc_numbers numbers;
    rkc_numbers_init(&numbers, 0, merged.n_paths);
    for (int r = 0; r < size; r++)
        if (!(missing >> r & 1))
            rkc_local_add(&local[r], map[r], &numbers);

    int same = merged.n_paths == kept.profile.n_paths && kept.covered == merged.n_paths &&
               merged.n_notes == kept.profile.n_notes && same_mpi(&merged, &kept.profile) &&
               (twins || merged.notes[0].count == kept.profile.notes[0].count);
    for (uint32_t i = 0; same && i < merged.n_paths; i++)
        same = merged.paths[i].parent == kept.profile.paths[i].parent &&
               strcmp(merged.regions[merged.paths[i].region].name,
                      kept.profile.regions[kept.profile.paths[i].region].name) == 0;
    same = same &&
           memcmp(numbers.stats, kept.numbers.stats,
                  (size_t)numbers.n * RKC_METRICS * sizeof *numbers.stats) == 0 &&
           memcmp(numbers.hist, kept.numbers.hist, numbers.n * sizeof *numbers.hist) == 0;
    for (int r = 0; r < size; r++) {
        rkc_local_free(&local[r]);
        free(map[r]);
    }
    rkc_profile_free(&merged);
    rkc_numbers_free(&numbers);
    return same;
}

/* Whether there is a row of each rank that takes part, with its own values. */
static int rows_are_right(unsigned missing)
{
    uint32_t i = 0;
    for (int r = 0; r < size; r++) {
        if (missing >> r & 1)
            continue;
        if (i >= kept.n_rows || kept.row[i].rank != r || kept.row[i].wall_ns != 100 + r ||
            (!twins && kept.foreign[i] != 0) || kept.row[i].n_devices != n_devices_of(r) ||
            kept.wrong_devices[i] != 0 || kept.row[i].n_peers != n_peers_of(r) ||
            kept.wrong_peers[i] != 0)
            return 0;
        for (int metric = 0; metric < RKC_METRICS; metric++)
            if (kept.row_metrics >> metric & 1 &&
                kept.value[i][metric] != value_of(5000, r, metric))
                return 0;
        i++;
    }
    return kept.n_rows == i;
}

/* Whether the job has what the ranks have together: all metrics but one. */
static int job_has_devices(void)
{
    int64_t uses = 0;
    for (int r = 0; r < size; r++)
        uses += n_devices_of(r);
    return kept.metrics == (RKC_ALL_METRICS & ~(1u << NEVER)) &&
           kept.row_metrics == kept.metrics && kept.device_uses == uses;
}

/* Whether the ranks agree: all failed, or all are in a file but those that say they are not. */
static int agree(const int all[8])
{
    if (all_are(all, all[0]) && all[0] != 0)
        return all[0] != RKC_ETIMEOUT && all[0] != RKC_EMPI;
    int out = 0;
    for (int i = 0; i < size; i++) {
        if (all[i] != 0 && all[i] != RKC_ENOMEM)
            return 0;
        out += all[i] != 0;
    }
    return out;
}

/* Call `test` with the first 1, 2, ... ranks of the world as a run of their own. */
static void each_size(void (*test)(int n, int last))
{
    int world_rank, world_size;
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    if (world_rank != 0)
        tap_silence();
    for (int n = 1; n <= world_size; n++) {
        PMPI_Comm_split(MPI_COMM_WORLD, world_rank < n ? 0 : MPI_UNDEFINED, world_rank,
                        &comm.shared);
        if (comm.shared == MPI_COMM_NULL)
            continue;
        PMPI_Comm_set_errhandler(comm.shared, MPI_ERRORS_RETURN);
        PMPI_Comm_rank(comm.shared, &rank);
        PMPI_Comm_size(comm.shared, &size);
        comm.own = comm.shared;
        comm.rank = rank;
        comm.size = n % 2 ? size : AS_MANY; /* by trees */
        test(n, n == world_size);
        if (n < world_size)
            PMPI_Comm_free(&comm.shared);
    }
}

#endif
