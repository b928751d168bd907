/* RANKS 7 */
/* Small profiles become one at rank 0, by collective operations alone. Each communicator of 1 to 7
 * ranks is a run of its own; what rank 0 hands to its sink is compared with what one process makes
 * of the same profiles. */
#include "autoconf.h"

#define TESTED "../src/gather.c"
#include "ranks.h"

enum { BY_TREE = 1 }; /* instead of a status: nothing was done */

static struct rkc_gather gathering;

/* Agree on the size of packets. */
static int agree_on(struct rkc_link *link, int64_t bytes)
{
    rkc_gather_prepare(&gathering, link, bytes);
    int status = link->carrier->agree(link->context, &gathering.bytes, 1, &gathering.pending);
    return status == 0 ? rkc_link_wait(link, &gathering.pending) : status;
}

static void test_agreement(void)
{
    struct rkc_link link = link_for(600);
    struct rkc_pending pending;
    int64_t values[RKC_AGREE_MAX] = {rank, -rank, rank == 1 ? 9 : 7, -5};
    char word[RKC_TELL_MAX] = "", what[80];
    int all[8], wrong = link.carrier->agree(&comm, values, RKC_AGREE_MAX, &pending);
    wrong |= rkc_link_wait(&link, &pending);
    wrong |= values[0] != size - 1 || values[1] != 0 || values[2] != (size > 1 ? 9 : 7) ||
             values[3] != -5;
    memcpy(word, rank == 0 ? "said by" : "another", sizeof word);
    wrong |= link.carrier->tell(&comm, word, sizeof word, &pending);
    wrong |= rkc_link_wait(&link, &pending);
    gather(wrong | (strcmp(word, "said by") != 0), all);
    snprintf(what, sizeof what, "%d ranks: all have the largest values, and the word of rank 0", size);
    if (rank == 0)
        ok(all_are(all, 0), what);
}

/* Gather what has been made up, in packets of that size. */
static int run_local(struct rkc_local *local, int64_t bytes, int rows, struct rkc_sink *sink)
{
    struct rkc_link link = link_for(600);
    char text[RKC_SINK_TEXT_MAX];
    int64_t write_ns = 0;
    int again = 0, status = agree_on(&link, bytes);
    if (status == 0 && !rkc_gather_fits(&gathering)) {
        rkc_gather_free(&gathering);
        return BY_TREE;
    }
    gathering.soon_ns = link.deadline_ns;
    if (status == 0)
        status = rkc_gather(&link, &gathering, local, rows, sink, text, &write_ns, &again);
    return again ? BY_TREE : status;
}

/* One run with n_common shared call paths; `missing` is a bit for each rank. */
static int run_with(int n_common, unsigned missing, int rows, struct rkc_sink *sink)
{
    struct rkc_local local = make_local(rank, n_common);
    int status = run_local(missing >> rank & 1 ? NULL : &local, 100000, rows, sink);
    rkc_local_free(&local);
    return status;
}

static void test_whole(void)
{
    int all[8];
    char what[80];
    forget();
    int status = run_with(COMMON_PATHS, 0, RKC_ROWS_AUTO, &kept.sink);
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
    int status = run_with(COMMON_PATHS, missing, RKC_ROWS_AUTO, &kept.sink);
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
    gather(run_with(3, 1, RKC_ROWS_AUTO, &kept.sink), all);
    if (rank != 0)
        return;
    is_int(all[0], RKC_ENOMEM, "rank 0 may be the one that has nothing");
    ok(kept.n_missing == 1 && kept.missing[0].last == 0 && kept.n_rows == (uint32_t)size - 1,
       "then it writes the others'");
    forget();
}

/* The bytes of their call paths are the same: they are looked up once. */
static void test_twins(void)
{
    int all[8];
    forget();
    twins = 1;
    gather(run_with(COMMON_PATHS, 4, RKC_ROWS_ALL, &kept.sink), all);
    if (rank == 0) {
        ok(is_as_merged(COMMON_PATHS, 4), "ranks may have the same call paths");
        ok(rows_are_right(4), "each then has its own row");
    }
    twins = 0;
}

static void test_rows(void)
{
    int all[8];
    forget();
    gather(run_with(3, 0, RKC_ROWS_NONE, &kept.sink), all);
    ok(all_are(all, 0), "rows without values are a success");
    if (rank == 0)
        ok(kept.row_metrics == 0 && rows_are_right(0), "the ranks are there all the same");
}

/* 440 call paths have rows of 95 kB: the ranks' are handed over in blocks. */
static void test_blocks(void)
{
    int all[8];
    forget();
    struct rkc_local local = make_local(rank, 440);
    gather(run_local(&local, 250000, RKC_ROWS_ALL, &kept.sink), all);
    rkc_local_free(&local);
    ok(all_are(all, 0), "rows may be many");
    if (rank != 0)
        return;
    is_int(kept.calls, 3 + (size + 1) / 2 + 1, "they come in blocks");
    ok(is_as_merged(440, 0) && rows_are_right(0), "and are right");
}

/* Nothing is done that would have to be done again. */
static void test_too_large(void)
{
    int all[8];
    forget();
    struct rkc_local local = make_local(rank, 0);
    gather(run_local(&local, rank == 1 ? 300000 : 1000, RKC_ROWS_AUTO, &kept.sink), all);
    ok(all_are(all, BY_TREE), "one rank that needs too much makes all take the other way");
    rkc_local_free(&local);

    local = make_local(rank, rank == 1 ? 100 : 0);
    gather(run_local(&local, 3000, RKC_ROWS_AUTO, &kept.sink), all);
    ok(all_are(all, BY_TREE), "so does one that needs more than it thought");
    rkc_local_free(&local);

    /* Regions of different kinds are different ones. */
    local = make_local(rank, 600);
    for (uint32_t i = 1; i < local.paths.n_regions; i++)
        local.paths.regions[i].kind = (uint8_t)(rank % RKC_REGION_KINDS);
    gather(run_local(&local, 200000, RKC_ROWS_AUTO, &kept.sink), all);
    ok(all_are(all, BY_TREE), "so do more call paths in all than rank 0 takes");
    rkc_local_free(&local);
    if (rank == 0)
        is_int(kept.calls, 0, "the sink has then been given nothing");
}

static void test_sink_fails(void)
{
    static const char *const functions[] = {"job", "profile", "numbers", "rows", "finish"};
    int all[8];
    for (int i = 0; i < 5; i++) {
        char what[80];
        forget();
        kept.fail_at = functions[i];
        gather(run_with(COMMON_PATHS, 0, RKC_ROWS_AUTO, &kept.sink), all);
        snprintf(what, sizeof what, "when the sink's %s fails, every rank learns it", functions[i]);
        ok(all_are(all, RKC_EWRITER), what);
        if (rank == 0)
            is_int(kept.calls, i + 1, "and the sink is not called again");
    }
    forget();
    gather(run_with(COMMON_PATHS, 0, RKC_ROWS_AUTO, NULL), all);
    ok(all_are(all, RKC_EWRITER), "without a sink every rank fails at once");
}

/* Read a packet whose head is another; 0 when it is taken for one. */
static int read_damaged(const struct rkc_link *link, struct rkc_gather *from,
                        const struct head *head)
{
    struct root root = {.link = link, .gather = from};
    int again = 0;
    root.parts = calloc((size_t)size, sizeof *root.parts);
    rkc_profile_init(&root.merged, 0);
    rkc_profile_init(&root.missing, 0);
    memcpy(from->all, from->packet.data, (size_t)from->bytes);
    memcpy(from->all, head, sizeof *head);
    int status = take_packet(&root, 0, &again);
    if (status == 0)
        status = add_numbers(&root);
    free_root(&root);
    return status;
}

/* Bytes that cannot be are no profile, and nobody reads beyond them. */
static void test_damaged(void)
{
    enum { BYTES = 8192 };
    int all[8], wrong = 0;
    struct rkc_gather gather_ = {.bytes = BYTES, .room = BYTES};
    struct rkc_link link = link_for(600);
    struct rkc_local local = make_local(0, 3);
    if (rank == 0) {
        gather_.packet.data = calloc(1, BYTES);
        gather_.packet.capacity = BYTES;
        fill_packet(&gather_, &local);
        gather_.all = malloc(BYTES);
        struct head whole, head;
        memcpy(&whole, gather_.packet.data, sizeof whole);
        is_int(read_damaged(&link, &gather_, &whole), 0, "a packet is read");
        for (size_t i = 0; i < 3; i++) {
            size_t bytes[] = {whole.paths_bytes, whole.numbers_bytes, whole.mpi_bytes};
            for (size_t cut = 1; cut < bytes[i]; cut++) {
                uint64_t *const part[] = {&head.paths_bytes, &head.numbers_bytes, &head.mpi_bytes};
                head = whole;
                *part[i] = cut;
                wrong += read_damaged(&link, &gather_, &head) == 0;
            }
        }
        is_int(wrong, 0, "one cut short anywhere is refused");
        static const int32_t lists[][2] = {
            {-1, 0}, {RKC_RANK_DEVICES_MAX + 1, 0}, {0, -1}, {0, RKC_RANK_PEERS_MAX + 1},
            {0, BYTES / sizeof(struct rkc_rank_peer)}};
        for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
            head = whole;
            head.row.n_devices = lists[i][0];
            head.row.n_peers = lists[i][1];
            wrong += read_damaged(&link, &gather_, &head) != RKC_EFORMAT;
        }
        is_int(wrong, 0, "so is one with more devices or peers than there can be, or fewer");
        rkc_buffer_free(&gather_.packet);
        free(gather_.all);
    }
    rkc_local_free(&local);
    gather(0, all);
}

/* Refuse one rank its n-th allocation, for each n; on the others all is well. */
static void test_memory(int victim)
{
    int all[8], bad = 0, n = 0, failed = 0, partial = 0;
    char what[80];
    for (int more = 1; more && n < 1000; n++) {
        forget();
        struct rkc_local local = make_local(rank, 3);
        refused = 0;
        allowance = rank == victim ? n : -1;
        int status = run_local(&local, 10000, RKC_ROWS_AUTO, &kept.sink);
        allowance = -1;
        rkc_local_free(&local);
        gather(status, all);
        more = refused;
        PMPI_Bcast(&more, 1, MPI_INT, victim, comm.shared);
        bad += more ? !all_are(all, 0) && !agree(all) : !all_are(all, 0);
        failed += all_are(all, RKC_ENOMEM) || all_are(all, BY_TREE);
        partial += rank == 0 && kept.finished && kept.n_missing > 0;
    }
    snprintf(what, sizeof what, "rank %d of %d: none of %d allocations refused keeps ranks waiting",
             victim, size, n - 1);
    ok(bad == 0 && n > 2 && n < 1000, what);
    if (rank == 0)
        ok(failed + partial > 0, "and some are seen in the outcome");
}

/* The last of all: what it leaves is pending for good. Packets this small are sent at once, so
 * that nothing but rank 0's word tells whether it is there. */
static void test_absent(void)
{
    forget();
    struct rkc_link link = link_for(600);
    struct rkc_local local = make_local(rank, 3);
    char text[RKC_SINK_TEXT_MAX];
    int64_t write_ns, begin_ns = rkc_clock_monotonic_ns();
    int again = 0, status = agree_on(&link, 3000);
    gathering.soon_ns = rkc_clock_monotonic_ns() + SECOND;
    if (rank == 0)
        status = RKC_ETIMEOUT;
    else if (status == 0)
        status = rkc_gather(&link, &gathering, &local, RKC_ROWS_AUTO, &kept.sink, text, &write_ns,
                            &again);
    int64_t ms = (rkc_clock_monotonic_ns() - begin_ns) / 1000000;
    rkc_local_free(&local);
    int all[8], late = rank > 0 && (ms < 999 || ms > 20000);
    gather(status, all);
    ok(all_are(all, RKC_ETIMEOUT), "when rank 0 does not go on the others give up");
    gather(late, all);
    ok(all_are(all, 0), "and soon, though it may take longer for its work");
}

static void test(int n, int last)
{
    test_agreement();
    test_whole();
    if (n >= 6)
        test_missing();
    if (n == 3) {
        test_no_root();
        test_rows();
        test_twins();
        test_damaged();
    }
    if (n == 4) {
        test_sink_fails();
        for (int victim = 0; victim < 4; victim++)
            test_memory(victim);
    }
    if (n == 5 || last) {
        test_blocks();
        test_too_large();
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
