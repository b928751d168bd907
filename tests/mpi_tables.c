/* mpi_tables.c - what MPI moved, where ranks waited and who sent to whom, from the sink to the
 * reader. */
/* LIMIT 120 */
#include "autoconf.h"

#include <unistd.h>

#include "round_trip.h"

/* ---- memory kinds ---- */

static const struct rkc_reader_transfer *find(const struct rkc_reader *reader, int32_t path,
                                              const char *send, const char *receive)
{
    size_t n;
    const struct rkc_reader_transfer *rows = rkc_reader_transfers(reader, &n);
    for (size_t i = 0; i < n; i++)
        if (rows[i].callpath == path && strcmp(rows[i].send_kind, send) == 0 &&
            strcmp(rows[i].recv_kind, receive) == 0)
            return &rows[i];
    return NULL;
}

static void test_kinds(void)
{
    struct synthetic run = synthetic_run(4, SYNTHETIC_PATHS);
    run.with_gpu = 1;
    struct rkc_reader *reader = round_trip(&run, "kinds.h5");
    if (!reader)
        return;
    size_t n;
    const int64_t *edges;
    rkc_reader_transfers(reader, &n);
    is_int((int64_t)n, 4, "other memory than the host's has rows of its own");
    const struct rkc_reader_transfer *device = find(reader, SYNTHETIC_ISEND, "device", "none");
    const struct rkc_reader_transfer *host = find(reader, SYNTHETIC_ISEND, "host", "none");
    if (!ok(device && host, "the kinds of both ends are told")) {
        rkc_reader_close(reader);
        return;
    }
    ok(device->size == sizeof *device && device + 1 > device, "a row says how large it is");
    is_int(device->calls, 400, "it has the operations");
    is_int(device->bytes_sent, INT64_C(400) * 65536, "the bytes");
    is_int(device->ns, 12000000, "the time");
    is_int(device->noncontiguous, 40, "and those with gaps");
    ok(device->send_device == 0 && device->recv_device == -1, "a device has its number");
    is_int(host->calls, 400, "the host's has the calls that remain");
    is_int(host->bytes_sent, INT64_C(400) * 65536, "their bytes");
    is_int(host->ns, 4000000, "and their time");
    ok(host->send_device == -1 && host->noncontiguous == RKC_READER_ABSENT,
       "what it does not have is absent");
    size_t buckets = rkc_reader_size_buckets(reader, &edges), bucket = rkc_size_bucket(65536);
    ok(bucket < buckets && host->size_histogram[bucket] == 400 &&
           device->size_histogram[bucket] == 400, "sizes are told apart, too");
    ok(!find(reader, SYNTHETIC_IRECV, "none", "host"), "where nothing remains there is no row");
    const struct rkc_reader_transfer *got = find(reader, SYNTHETIC_IRECV, "none", "device");
    const struct rkc_reader_stat *blocked = rkc_reader_profile(reader, "blocked_ns");
    ok(got && got->blocked_ns == blocked[SYNTHETIC_IRECV].sum, "time blocked is the requests'");
    ok(find(reader, SYNTHETIC_ALLREDUCE, "host", "host") != NULL, "the host's alone is as before");
    ok(device->blocked_ns == RKC_READER_ABSENT, "and absent where there were none");
    rkc_reader_close(reader);
}

/* ---- a run whose rows are made up one by one ---- */

struct made {
    struct synthetic run;
    struct rkc_profile profile;
    struct rkc_numbers numbers;
};

static void begin(struct made *made)
{
    made->run = synthetic_run(4, SYNTHETIC_PATHS);
    made->run.row_metrics = 0;
    if (synthetic_profile(&made->run, &made->profile) ||
        rkc_numbers_init(&made->numbers, 0, SYNTHETIC_PATHS))
        exit(1);
    made->profile.n_waits = 0;
    rkc_profile_free_mpi(&made->profile);
    made->profile.waits = NULL;
    made->profile.wait_index = NULL;
    made->profile.cap_waits = made->profile.wait_index_size = 0;
}

/* Write it with the peers of its ranks, `n_peers` of each, and read it. */
static struct rkc_reader *end(struct made *made, int32_t n_peers)
{
    char text[RKC_SINK_TEXT_MAX];
    struct rkc_job job;
    struct rkc_sink *sink;
    struct rkc_reader *reader = NULL;
    struct rkc_rank_peer *peers = calloc((size_t)n_peers + 1, sizeof *peers);
    synthetic_job(&made->run, 0, &job);
    job.ranks = 100000;
    if (!peers || rkc_sink_hdf5_open(in_folder("made.h5"), 0600, &sink, text))
        exit(1);
    int status = sink->ops->job(sink, &job);
    status = status ? status : sink->ops->profile(sink, &made->profile);
    status = status ? status : sink->ops->numbers(sink, &made->numbers);
    for (int32_t rank = 0; rank < 4 && !status; rank++) {
        struct rkc_rank_row row = {.rank = rank, .n_peers = n_peers, .node = "a"};
        struct rkc_rows rows = {.n_ranks = 1, .n_paths = SYNTHETIC_PATHS, .ranks = &row,
                                .peers = peers};
        for (int32_t i = 0; i < n_peers; i++)
            peers[i] = (struct rkc_rank_peer){rank, i - 1, 1000 * rank + i, INT64_MAX - i};
        status = sink->ops->rows(sink, &rows);
    }
    status = status ? status : sink->ops->finish(sink, RKC_FILE_COMPLETE, NULL, 0, text);
    sink->ops->close(sink);
    if (!tap_ok(status == 0, "a made-up run is written", __FILE__, __LINE__, "%s", text) ||
        rkc_reader_open(text, &reader, NULL, 0))
        exit(1);
    free(peers);
    rkc_job_free(&job);
    rkc_numbers_free(&made->numbers);
    rkc_profile_free(&made->profile);
    return reader;
}

/* Each kind of memory at both ends, over two devices, on a call path of no MPI function. */
static void test_all_kinds(void)
{
    struct made made;
    begin(&made);
    for (int send = RKC_KINDS - 1; send >= 0; send--)
        for (int receive = 0; receive < RKC_KINDS; receive++)
            for (int device = 1; device >= 0; device--) {
                struct rkc_transfer *row = rkc_profile_transfer_get(
                    &made.profile, SYNTHETIC_STEP, (enum rkc_memory_kind)send, device,
                    (enum rkc_memory_kind)receive, device);
                row->size[0]++;
            }
    struct rkc_reader *reader = end(&made, 0);
    size_t n, falls = 0, pairs = 0;
    const struct rkc_reader_transfer *rows = rkc_reader_transfers(reader, &n);
    /* Of the 36 pairs of kinds the 11 with a device have two rows. */
    is_int((int64_t)n, 36 + 11, "each pair of kinds has a row, and each device");
    for (size_t i = 0; i < n; i++) {
        falls += i > 0 && rows[i].send_device < rows[i - 1].send_device &&
                 strcmp(rows[i].send_kind, rows[i - 1].send_kind) == 0 &&
                 strcmp(rows[i].recv_kind, rows[i - 1].recv_kind) == 0;
        pairs += strcmp(rows[i].send_kind, "managed") == 0 &&
                 strcmp(rows[i].recv_kind, "pinned") == 0 && rows[i].calls == 2;
    }
    is_int((int64_t)falls, 0, "in an order of its own");
    is_int((int64_t)pairs, 1, "what is no device has no number and one row");
    rkc_reader_close(reader);
}

/* A sum of the host's that is less than what is elsewhere. */
static void test_odd_rest(void)
{
    struct made made;
    begin(&made);
    struct rkc_stat *stats = &made.numbers.stats[SYNTHETIC_ISEND * RKC_METRICS];
    rkc_stat_set(&stats[RKC_METRIC_BYTES_SENT], 100, 0);
    rkc_stat_set(&stats[RKC_METRIC_VISITS], 3, 0);
    made.numbers.hist[SYNTHETIC_ISEND].size[5] = 5;
    struct rkc_transfer *row = rkc_profile_transfer_get(&made.profile, SYNTHETIC_ISEND,
                                                        RKC_KIND_DEVICE, 0, RKC_KIND_NONE, -1);
    row->sent = 101;
    row->ns = 1;
    row->size[5] = 4;
    row->size[6] = UINT64_MAX;
    struct rkc_reader *reader = end(&made, 0);
    const struct rkc_reader_transfer *host = find(reader, SYNTHETIC_ISEND, "none", "none");
    ok(host && host->calls == 0 && host->bytes_sent == 0 && host->size_histogram[5] == 1 &&
           host->size_histogram[6] == 0, "a rest is not less than nothing");
    ok(host && host->ns == RKC_READER_ABSENT && host->in_flight_ns == RKC_READER_ABSENT,
       "and absent where there is no sum");
    const struct rkc_reader_transfer *device = find(reader, SYNTHETIC_ISEND, "device", "none");
    ok(device && device->calls == INT64_MAX, "more operations than can be told are the most");
    rkc_reader_close(reader);
}

/* ---- waits ---- */

static void test_waits(void)
{
    static const struct rkc_comm_id world = {UINT64_MAX, 3, 0}, some = {7, 3, 1};
    struct made made;
    begin(&made);
    for (int32_t rank = 0; rank < 3; rank++) {
        struct rkc_wait wait = {.path = SYNTHETIC_BARRIER, .ranks = 1, .least_rank = rank,
                                .comm = world, .calls_min = 2, .calls_max = 2,
                                .ns_sum = 10 + rank % 2, .ns_min = 10 + rank % 2,
                                .ns_max = 10 + rank % 2, .sync_ns = rank ? rank : RKC_ABSENT};
        rkc_profile_wait_merge(&made.profile, &wait);
        wait.comm = some;
        wait.path = SYNTHETIC_ALLREDUCE;
        if (rank > 0)
            rkc_profile_wait_merge(&made.profile, &wait);
    }
    struct rkc_reader *reader = end(&made, 0);
    size_t n;
    const struct rkc_reader_wait *waits = rkc_reader_waits(reader, &n);
    if (!is_int((int64_t)n, 2, "each call path and communicator has a row"))
        exit(1);
    ok(waits[0].callpath == SYNTHETIC_ALLREDUCE && waits[1].callpath == SYNTHETIC_BARRIER,
       "in the order of call paths");
    ok(waits[1].size == sizeof *waits && waits[1].comm_key == UINT64_MAX &&
           waits[1].comm_size == 3 && waits[1].comm_first == 0, "it has the communicator");
    ok(waits[1].ranks == 3 && waits[1].calls == 2, "the ranks and their calls");
    ok(waits[1].sum_ns == 31 && waits[1].least_ns == 10 && waits[1].most_ns == 11, "their time");
    is_int(waits[1].wait_ns, 1, "what is above the least was waiting");
    is_int(waits[1].awaited_rank, 0, "for the lowest rank with the least");
    is_int(waits[1].sync_ns, 3, "and so much of it was measured");
    ok(waits[0].ranks == 2 && waits[0].wait_ns == RKC_READER_ABSENT && waits[0].awaited_rank == 2,
       "of a communicator whose ranks are not all there, waiting is not known");
    rkc_reader_close(reader);
}

/* What had no room is a note. */
static void test_notes(void)
{
    struct made made;
    begin(&made);
    rkc_profile_spill(&made.profile)->size[3] = 5;
    made.profile.spilled->size[63] = 6;
    made.profile.waits_dropped = 7;
    struct rkc_reader *reader = end(&made, 0);
    size_t n, found = 0;
    const struct rkc_reader_note *notes = rkc_reader_notes(reader, &n);
    for (size_t i = 0; i < n; i++) {
        found += strcmp(notes[i].kind, "transfers") == 0 && notes[i].count == 11;
        found += strcmp(notes[i].kind, "waits") == 0 && notes[i].count == 7;
    }
    is_int((int64_t)found, 2, "transfers and waits that had no room are counted");
    rkc_reader_waits(reader, &n);
    is_int((int64_t)n, 0, "without waits there are none");
    is_int((int64_t)rkc_reader_n_matrix(reader), 0, "nor is there a matrix without peers");
    rkc_reader_close(reader);
}

/* ---- matrix ---- */

struct seen {
    int64_t n, wrong, stop_at;
    int32_t n_peers;
};

static int see(void *context, const struct rkc_reader_pair *pair)
{
    struct seen *seen = context;
    int32_t rank = (int32_t)(seen->n / seen->n_peers), i = (int32_t)(seen->n % seen->n_peers);
    seen->wrong += pair->size != sizeof *pair || pair->source != rank || pair->target != i - 1 ||
                   pair->messages != 1000 * rank + i || pair->bytes != INT64_MAX - i;
    return ++seen->n == seen->stop_at ? 42 : 0;
}

static void test_matrix(int32_t n_peers)
{
    struct made made;
    begin(&made);
    struct rkc_reader *reader = end(&made, n_peers);
    struct seen seen = {.n_peers = n_peers};
    is_int((int64_t)rkc_reader_n_matrix(reader), 4 * n_peers, "each peer of a rank has a row");
    is_int(rkc_reader_matrix(reader, see, &seen), 0, "rows are read");
    is_int(seen.n, 4 * n_peers, "all of them");
    is_int(seen.wrong, 0, "in the order of ranks");
    seen = (struct seen){.n_peers = n_peers, .stop_at = 4 * n_peers - 1};
    is_int(rkc_reader_matrix(reader, see, &seen), 42, "until one is enough");
    is_int(seen.n, 4 * n_peers - 1, "and no further");
    rkc_reader_close(reader);
}

int main(void)
{
    if (!mkdtemp(folder))
        return 1;
    test_kinds();
    test_all_kinds();
    test_odd_rest();
    test_waits();
    test_notes();
    test_matrix(2);
    test_matrix(4096);         /* as many as a chunk has */
    test_matrix(RKC_RANK_PEERS_MAX);
    empty_folder();
    rmdir(folder);
    return done_testing();
}
