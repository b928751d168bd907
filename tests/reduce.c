/* RANKS 7 */
/* Many ranks' profiles become one. Each communicator of 1 to 7 ranks is a run of its own; what
 * rank 0 hands to its sink is compared with what one process makes of the same profiles.
 *
 * The modules are compiled into this program so that their allocations can be made to fail,
 * one after the other, on any rank. */
#include "autoconf.h"

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
#include "../src/link.c"
#include "../src/local.c"
#include "../src/pack.c"
#include "../src/profile.c"
#include "../src/reduce.c"
#undef malloc
#undef calloc
#undef realloc
#undef strdup

#include "../pmpi/carrier.h"
#include "config.h"

enum { COMMON_PATHS = 150, SECOND = 1000000000 };

/* ---- made-up ranks ---- */

/* What rank `rank` has of metric `metric` in the call path numbered `key`. */
static int64_t value_of(int key, int rank, int metric)
{
    if (metric >= RKC_METRIC_BYTES_SENT && key % 2)
        return RKC_ABSENT;
    return 1000 * key + 10 * rank + metric;
}

static void put_path(struct rkc_local *local, uint32_t parent, const char *name, int key, int rank)
{
    enum rkc_region_kind kind = parent == RKC_NO_PATH ? RKC_REGION_ROOT : RKC_REGION_USER;
    int64_t region = rkc_profile_region_get(&local->paths, kind, name, NULL, 0);
    int64_t path = rkc_profile_path_get(&local->paths, parent, (uint32_t)region);
    for (int metric = 0; metric < RKC_METRICS; metric++)
        local->values[path][metric] = value_of(key, rank, metric);
    local->sumsq_ns2[path] = (rkc_u128)(unsigned)(key + rank);
}

/* Call paths that all ranks have, odd ranks in reverse order, and one of its own. */
static struct rkc_local make_local(int rank, int n_common)
{
    struct rkc_local local = {0};
    char name[32];
    size_t room = (size_t)n_common + 8;
    rkc_profile_init(&local.paths, 0);
    rkc_job_init(&local.job);
    local.values = calloc(room, sizeof *local.values);
    local.sumsq_ns2 = calloc(room, sizeof *local.sumsq_ns2);
    local.first_node = calloc(room, sizeof *local.first_node);
    put_path(&local, RKC_NO_PATH, "(run)", 0, rank);
    put_path(&local, 0, "step", 1, rank);
    for (int i = 0; i < n_common; i++) {
        int key = rank % 2 ? n_common - 1 - i : i;
        snprintf(name, sizeof name, "part%d", key);
        put_path(&local, 1, name, 2 + key, rank);
    }
    snprintf(name, sizeof name, "only%d", rank);
    put_path(&local, 0, name, 5000, rank);
    rkc_profile_ranks_add(&local.paths, rank, rank);
    rkc_profile_note_add(&local.paths, RKC_NOTE_LOST, RKC_NO_PATH, rank, 1, NULL);
    rkc_job_set(&local.job, "program", rank == 0 ? "first" : "another");
    local.row = (struct rkc_rank_row){.rank = rank,
                                      .open_path = local.paths.n_paths - 1,
                                      .state = RKC_STATE_FINALIZED,
                                      .wall_ns = 100 + rank,
                                      .overhead_ns = 7,
                                      .start_unix_ns = 1000 - rank};
    return local;
}

/* ---- a sink that keeps everything ---- */

static struct kept {
    struct rkc_sink sink;
    const char *fail_at; /* the function that fails, or NULL */
    int calls;
    uint32_t row_metrics;
    int32_t ranks;
    int64_t start_unix_ns, wall_ns, overhead_ns;
    char rows_word[16], program[16];
    struct rkc_profile profile;
    struct rkc_numbers numbers;
    uint32_t covered; /* call paths whose numbers came, in order */
    struct rkc_rank_row row[8];
    uint32_t n_rows;
    int64_t value[8][RKC_METRICS]; /* of the rank's own call path */
    int64_t foreign[8];            /* values that belong to another rank's call path */
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
    kept.row_metrics = job->row_metrics;
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
    for (uint32_t i = 0; i < rows->n_ranks && kept.n_rows < 8; i++) {
        kept.row[kept.n_rows] = rows->ranks[i];
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
                                             keep_rows, keep_finish,  keep_close};

static void forget(void)
{
    rkc_profile_free(&kept.profile);
    rkc_numbers_free(&kept.numbers);
    kept = (struct kept){.sink = {&keep_ops}};
}

/* ---- running ---- */

static MPI_Comm comm;
static int rank, size;

/* One reduction with n_common shared call paths; `missing` is a bit for each rank. */
static int run_with(int n_common, unsigned missing, int rows, struct rkc_sink *sink, int seconds)
{
    struct rkc_link link = {.carrier = &rkc_mpi_carrier,
                            .context = &comm,
                            .rank = rank,
                            .size = size,
                            .deadline_ns = rkc_clock_monotonic_ns() + (int64_t)seconds * SECOND};
    struct rkc_local local = make_local(rank, n_common);
    char text[RKC_SINK_TEXT_MAX];
    int64_t write_ns = 0;
    int status =
        rkc_reduce(&link, missing >> rank & 1 ? NULL : &local, rows, sink, text, &write_ns);
    rkc_local_free(&local);
    return status;
}

/* Gather a number of every rank. */
static void gather(int mine, int all[8])
{
    PMPI_Allgather(&mine, 1, MPI_INT, all, 1, MPI_INT, comm);
}

static int all_are(const int all[8], int wanted)
{
    for (int i = 0; i < size; i++)
        if (all[i] != wanted)
            return 0;
    return 1;
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
               merged.n_notes == kept.profile.n_notes &&
               merged.notes[0].count == kept.profile.notes[0].count;
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
            kept.foreign[i] != 0)
            return 0;
        for (int metric = 0; metric < RKC_METRICS; metric++)
            if (kept.row_metrics >> metric & 1 &&
                kept.value[i][metric] != value_of(5000, r, metric))
                return 0;
        i++;
    }
    return kept.n_rows == i;
}

static void test_whole(void)
{
    int all[8];
    char what[80];
    forget();
    int status = run_with(COMMON_PATHS, 0, RKC_ROWS_AUTO, &kept.sink, 60);
    gather(status, all);
    snprintf(what, sizeof what, "%d ranks: every rank succeeds", size);
    ok(all_are(all, 0), what);
    if (rank != 0)
        return;
    ok(is_as_merged(COMMON_PATHS, 0), "paths, notes and numbers are those of merging in order");
    ok(rows_are_right(0), "there is a row for each rank, with its values");
    is_int(kept.status, RKC_FILE_COMPLETE, "the file is complete");
    is_int(kept.n_missing, 0, "no rank is missing");
    is_int(kept.ranks, size, "the job has as many ranks as the world");
    is_int(kept.start_unix_ns, 1000 - (size - 1), "it begins with the first rank");
    is_int(kept.wall_ns, 100 + size - 1, "it lasts as long as the longest rank");
    is_int(kept.overhead_ns, 7 * size, "its overhead is that of all ranks");
    is_str(kept.rows_word, "all", "rows with all metrics are said to be that");
    is_str(kept.program, "first", "its other facts are those of rank 0");
    /* "step" is call path 1: sum over ranks of 1000 + 10 rank */
    is_int((int64_t)rkc_profile_stats(&(struct rkc_profile){.numbers = kept.numbers}, 1)[0].sum,
           1000 * size + 10 * size * (size - 1) / 2, "a sum is that done by hand");
}

static void test_missing(void)
{
    int all[8];
    unsigned missing = 0x26 & ((1u << size) - 1); /* ranks 1, 2 and 5 */
    forget();
    int status = run_with(COMMON_PATHS, missing, RKC_ROWS_AUTO, &kept.sink, 60);
    gather(status, all);
    int right = 1;
    for (int r = 0; r < size; r++)
        right &= all[r] == (missing >> r & 1 ? RKC_ENOMEM : 0);
    ok(right, "a rank that has nothing to add is told that it is not in the file");
    if (rank != 0)
        return;
    ok(is_as_merged(COMMON_PATHS, missing), "the others' numbers are all there");
    ok(rows_are_right(missing), "so are their rows");
    is_int(kept.status, RKC_FILE_PARTIAL, "the file is partial");
    ok(kept.n_missing == 2 && kept.missing[0].first == 1 && kept.missing[0].last == 2 &&
           kept.missing[1].first == 5 && kept.missing[1].last == 5,
       "the missing ranks are named");
}

static void test_no_root(void)
{
    int all[8];
    forget();
    gather(run_with(3, 1, RKC_ROWS_AUTO, &kept.sink, 60), all);
    if (rank != 0)
        return;
    is_int(all[0], RKC_ENOMEM, "rank 0 may be the one that has nothing");
    ok(kept.n_missing == 1 && kept.missing[0].last == 0 && kept.n_rows == (uint32_t)size - 1,
       "then it writes the others'");
    forget();
}

static void test_rows(void)
{
    int all[8];
    forget();
    gather(run_with(3, 0, RKC_ROWS_NONE, &kept.sink, 60), all);
    ok(all_are(all, 0), "rows without values are a success");
    if (rank == 0) {
        is_str(kept.rows_word, "none", "no values are said to be none");
        ok(kept.row_metrics == 0 && rows_are_right(0), "the ranks are there all the same");
    }
    struct rkc_job job;
    struct rkc_finish_sums sums = {.ranks = 1};
    rkc_job_init(&job);
    /* 256 MiB are 15 metrics of 8 bytes for 1000 call paths and 2236.9 ranks */
    rkc_finish_job(&job, &sums, RKC_ROWS_AUTO, 2236, 1000);
    is_str(rkc_job_get(&job, "per_rank_rows"), "all", "all metrics are kept up to 256 MiB");
    rkc_finish_job(&job, &sums, RKC_ROWS_AUTO, 2237, 1000);
    is_str(rkc_job_get(&job, "per_rank_rows"), "host", "beyond that, times alone");
    is_int(job.row_metrics, 1 << RKC_METRIC_INCLUSIVE | 1 << RKC_METRIC_MPI,
           "which are inclusive and MPI time");
    rkc_finish_job(&job, &sums, RKC_ROWS_ALL, 2237, 1000);
    is_str(rkc_job_get(&job, "per_rank_rows"), "all", "unless all are asked for");
    rkc_job_free(&job);
}

static void test_sink_fails(void)
{
    static const char *const functions[] = {"job", "profile", "numbers", "rows", "finish"};
    static const int calls[] = {1, 2, 3, 6, 7}; /* 156 call paths make three windows */
    int all[8];
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        char what[80];
        forget();
        kept.fail_at = functions[i];
        gather(run_with(COMMON_PATHS, 0, RKC_ROWS_AUTO, &kept.sink, 60), all);
        snprintf(what, sizeof what, "when the sink's %s fails, every rank learns it", functions[i]);
        ok(all_are(all, RKC_EWRITER), what);
        if (rank == 0)
            is_int(kept.calls, calls[i], "and the sink is not called again");
    }
    forget();
    gather(run_with(COMMON_PATHS, 0, RKC_ROWS_AUTO, NULL, 60), all);
    ok(all_are(all, RKC_EWRITER), "without a sink every rank fails at once");
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

/* Refuse one rank its n-th allocation, for each n; on the others all is well. */
static void test_memory(int victim)
{
    int all[8], bad = 0, n = 0, failed = 0, partial = 0;
    char what[80];
    for (int more = 1; more && n < 1000; n++) {
        forget();
        struct rkc_local local = make_local(rank, 3);
        struct rkc_link link = {&rkc_mpi_carrier, &comm, rank, size,
                                rkc_clock_monotonic_ns() + 60 * (int64_t)SECOND};
        char text[RKC_SINK_TEXT_MAX];
        int64_t write_ns;
        refused = 0;
        allowance = rank == victim ? n : -1;
        int status = rkc_reduce(&link, &local, RKC_ROWS_AUTO, &kept.sink, text, &write_ns);
        allowance = -1;
        rkc_local_free(&local);
        gather(status, all);
        more = refused;
        PMPI_Bcast(&more, 1, MPI_INT, victim, comm);
        bad += more ? !all_are(all, 0) && !agree(all) : !all_are(all, 0);
        failed += all_are(all, RKC_ENOMEM);
        partial += rank == 0 && kept.finished && kept.n_missing > 0;
    }
    snprintf(what, sizeof what, "rank %d of %d: none of %d allocations refused keeps ranks waiting",
             victim, size, n - 1);
    ok(bad == 0 && n > 5 && n < 1000, what);
    if (rank == 0)
        ok(failed + partial > 0, "and some are seen in the outcome");
}

/* More call paths than a profile holds fold, and no visit is lost. */
static void test_folded(void)
{
    enum { MANY = 40000 };
    int all[8];
    forget();
    struct rkc_local local = make_local(rank, 0);
    struct rkc_link link = {&rkc_mpi_carrier, &comm, rank, size,
                            rkc_clock_monotonic_ns() + 100 * (int64_t)SECOND};
    char text[RKC_SINK_TEXT_MAX];
    int64_t write_ns;
    local.values = realloc(local.values, (MANY + 8) * sizeof *local.values);
    free(local.sumsq_ns2);
    local.sumsq_ns2 = calloc(MANY + 8, sizeof *local.sumsq_ns2);
    free(local.first_node);
    local.first_node = calloc(MANY + 8, sizeof *local.first_node);
    for (int i = 0; i < MANY; i++) {
        char name[32];
        snprintf(name, sizeof name, "p%d", i % 200);
        put_path(&local, i < 200 ? 2 : (uint32_t)(2 + i / 200), name, 1, rank);
    }
    gather(rkc_reduce(&link, &local, RKC_ROWS_NONE, &kept.sink, text, &write_ns), all);
    ok(all_are(all, 0), "more call paths than there is room for are no failure");
    rkc_local_free(&local);
    if (rank != 0)
        return;
    rkc_i128 sum = 0;
    for (uint32_t i = 0; i < kept.numbers.n; i++)
        sum += kept.numbers.stats[(size_t)i * RKC_METRICS + RKC_METRIC_VISITS].sum;
    /* each rank: (run) 10 rank, step 1000 + 10 rank, only 5000000 + 10 rank, MANY times step's */
    int64_t wanted = 0;
    for (int r = 0; r < size; r++)
        wanted += 10 * r + 5000000 + 10 * r + (int64_t)(MANY + 1) * (1000 + 10 * r);
    is_int((int64_t)sum, wanted, "and no visit of theirs is lost");
    ok(kept.profile.n_paths == RKC_PROFILE_PATHS_MAX, "the file has as many as there is room for");
    forget();
}

/* The last of all: what it leaves is pending for good. */
static void test_absent(void)
{
    int64_t begin_ns = rkc_clock_monotonic_ns();
    forget();
    int status = rank == 1 ? RKC_ETIMEOUT : run_with(3, 0, RKC_ROWS_AUTO, &kept.sink, 1);
    int64_t ms = (rkc_clock_monotonic_ns() - begin_ns) / 1000000;
    int all[8];
    gather(status, all);
    ok(all_are(all, RKC_ETIMEOUT), "a rank that never comes makes the others give up");
    if (rank == 0)
        ok(ms >= 999 && ms < 20000, "at the deadline");
}

int main(int argc, char **argv)
{
    int world_rank, world_size;
    setenv("RANKCLOCK_ENABLE", "off", 1);
    MPI_Init(&argc, &argv);
    rkc_log_set_level(RKC_LOG_WARNING - 1); /* what fails here is meant to */
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    if (world_rank != 0)
        tap_silence();
    for (int n = 1; n <= world_size; n++) {
        PMPI_Comm_split(MPI_COMM_WORLD, world_rank < n ? 0 : MPI_UNDEFINED, world_rank, &comm);
        if (comm == MPI_COMM_NULL)
            continue;
        PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        PMPI_Comm_rank(comm, &rank);
        PMPI_Comm_size(comm, &size);
        test_whole();
        if (n >= 6)
            test_missing();
        if (n == 3) {
            test_no_root();
            test_rows();
            test_folded();
        }
        if (n == 4) {
            test_sink_fails();
            for (int victim = 0; victim < 4; victim++)
                test_memory(victim);
        }
        if (n < world_size)
            PMPI_Comm_free(&comm);
    }
    test_absent();
    forget();
    MPI_Finalize();
    return done_testing();
}
