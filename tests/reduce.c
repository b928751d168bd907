/* RANKS 7 */
/* Many ranks' profiles become one. Each communicator of 1 to 7 ranks is a run of its own; what
 * rank 0 hands to its sink is compared with what one process makes of the same profiles. */
#include "autoconf.h"

#define TESTED "../src/reduce.c"
#include "ranks.h"

/* One reduction with n_common shared call paths; `missing` is a bit for each rank. */
static int run_with(int n_common, unsigned missing, int rows, struct rkc_sink *sink, int seconds)
{
    struct rkc_link link = link_for(seconds);
    struct rkc_local local = make_local(rank, n_common);
    char text[RKC_SINK_TEXT_MAX];
    int64_t write_ns = 0;
    int status =
        rkc_reduce(&link, missing >> rank & 1 ? NULL : &local, rows, sink, text, &write_ns);
    rkc_local_free(&local);
    return status;
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
    ok(job_has_devices(), "it has the devices of all ranks, and no metric that none has");
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
    struct rkc_finish_sums sums = {.ranks = 1, .metrics = (1u << 15) - 1};
    rkc_job_init(&job);
    /* 256 MiB are 15 metrics of 8 bytes for 1000 call paths and 2236.9 ranks */
    rkc_finish_job(&job, &sums, RKC_ROWS_AUTO, 2236, 1000);
    is_str(rkc_job_get(&job, "per_rank_rows"), "all", "all metrics are kept up to 256 MiB");
    rkc_finish_job(&job, &sums, RKC_ROWS_AUTO, 2237, 1000);
    is_str(rkc_job_get(&job, "per_rank_rows"), "host", "beyond that, times alone");
    is_int(job.row_metrics, 1 << RKC_METRIC_INCLUSIVE | 1 << RKC_METRIC_MPI,
           "which are inclusive and MPI time");
    sums.metrics = 1u << RKC_METRIC_INCLUSIVE | 1u << RKC_METRIC_DEVICE;
    rkc_finish_job(&job, &sums, RKC_ROWS_AUTO, 2237, 1000000);
    is_int(job.row_metrics, sums.metrics, "with device time where there is some");
    rkc_finish_job(&job, &sums, RKC_ROWS_ALL, 2237, 1000);
    is_str(rkc_job_get(&job, "per_rank_rows"), "all", "unless all are asked for");
    rkc_job_free(&job);
}

/* Peers come in parts of no more than is held at once and those of one more rank. */
static void test_peers(void)
{
    int all[8];
    forget();
    peers_each = 40000;
    gather(run_with(3, 0, RKC_ROWS_AUTO, &kept.sink, 60), all);
    ok(all_are(all, 0), "ranks may have many peers");
    if (rank == 0) {
        ok(rows_are_right(0), "and all of them arrive");
        is_int(kept.most_peers, 80000, "some ranks' at a time");
    }
    peers_each = 0;
}

static void test_sink_fails(void)
{
    static const char *const functions[] = {"job", "profile", "numbers", "rows", "finish"};
    static const int calls[] = {1, 2, 3, 7, 8}; /* 156 call paths make four windows */
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

/* Refuse one rank its n-th allocation, for each n; on the others all is well. */
static void test_memory(int victim)
{
    int all[8], bad = 0, n = 0, failed = 0, partial = 0;
    char what[80];
    for (int more = 1; more && n < 1000; n++) {
        forget();
        struct rkc_local local = make_local(rank, 3);
        struct rkc_link link = link_for(600);
        char text[RKC_SINK_TEXT_MAX];
        int64_t write_ns;
        refused = 0;
        allowance = rank == victim ? n : -1;
        int status = rkc_reduce(&link, &local, RKC_ROWS_AUTO, &kept.sink, text, &write_ns);
        allowance = -1;
        rkc_local_free(&local);
        gather(status, all);
        more = refused;
        PMPI_Bcast(&more, 1, MPI_INT, victim, comm.shared);
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
    struct rkc_link link = link_for(600);
    char text[RKC_SINK_TEXT_MAX];
    int64_t write_ns;
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

static void test(int n, int last)
{
    test_whole();
    if (n >= 6)
        test_missing();
    if (n == 3) {
        test_no_root();
        test_rows();
        test_peers();
        test_folded();
    }
    if (n == 4) {
        test_sink_fails();
        for (int victim = 0; victim < 4; victim++)
            test_memory(victim);
    }
    if (last)
        test_absent();
}

int main(int argc, char **argv)
{
    setenv("RANKCLOCK_ENABLE", "off", 1);
    MPI_Init(&argc, &argv);
    rkc_log_set_level(RKC_LOG_WARNING - 1); /* what fails here is meant to */
    each_size(test);
    forget();
    MPI_Finalize();
    return done_testing();
}
