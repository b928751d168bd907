/* stream.c - frames between a measured program and its writer, whole and damaged. */
#include "autoconf.h"

#include "sink/stream.h"

#include <stdlib.h>
#include <string.h>

#include <rankclock/status.h>

#include "tap.h"

/* The body of the frame at the beginning of the buffer. */
static struct rkc_cursor body(const struct rkc_buffer *buffer, uint32_t kind, const char *what)
{
    struct rkc_frame frame;
    memcpy(&frame, buffer->data, sizeof frame);
    ok(frame.magic == RKC_FRAME_MAGIC && frame.kind == kind &&
           frame.bytes == buffer->size - sizeof frame, what);
    return (struct rkc_cursor){.at = buffer->data + sizeof frame,
                               .end = buffer->data + buffer->size};
}

static void facts(void)
{
    struct rkc_job job;
    rkc_job_init(&job);
    is_int(job.overhead_ns, RKC_ABSENT, "at first our cost is not known");
    ok(rkc_job_get(&job, "launcher") == NULL, "nor is any fact");
    is_int(rkc_job_set(&job, "launcher", "mpirun"), 0, "a fact is set");
    rkc_job_set(&job, "job_id", "17");
    rkc_job_set(&job, "launcher", "srun");
    is_str(rkc_job_get(&job, "launcher"), "srun", "a later value replaces an earlier one");
    is_int(job.n_facts, 2, "in its place");
    for (int i = 0; i < 100; i++) {
        char key[16];
        snprintf(key, sizeof key, "key%d", i);
        rkc_job_set(&job, key, key);
    }
    is_str(rkc_job_get(&job, "key99"), "key99", "there may be many");
    is_str(rkc_job_get(&job, "job_id"), "17", "which leaves the others as they are");
    rkc_job_free(&job);
    is_int(job.n_facts, 0, "a freed job has none");
    rkc_job_free(NULL);
}

static void openings(void)
{
    struct rkc_buffer buffer = {0};
    is_int(rkc_stream_open(&buffer, 0640, "run.h5"), 0, "a stream is opened");
    struct rkc_cursor cursor = body(&buffer, RKC_FRAME_OPEN, "by a frame of its kind");
    is_int(rkc_cursor_u32(&cursor), 0640, "with the mode of the file");
    char *output = rkc_cursor_text(&cursor, 100);
    is_str(output, "run.h5", "and its name");
    ok(cursor.at == cursor.end, "and nothing else");
    free(output);
    rkc_buffer_free(&buffer);
}

static void plans(void)
{
    struct rkc_buffer buffer = {0};
    is_int(rkc_stream_plan(&buffer, 403, 5), 0, "a plan is streamed");
    struct rkc_cursor cursor = body(&buffer, RKC_FRAME_PLAN, "in a frame of its kind");
    is_int(rkc_cursor_u32(&cursor), 403, "with the number of call paths");
    is_int(rkc_cursor_u32(&cursor), 5, "and the metrics");
    ok(cursor.at == cursor.end, "and nothing else");
    rkc_buffer_free(&buffer);
}

/* What the tests of every kind have in common: each shorter body is refused, so is a longer one. */
static void cut_short(struct rkc_cursor whole, int (*take)(struct rkc_cursor *), const char *what)
{
    size_t size = (size_t)(whole.end - whole.at);
    int taken = 0;
    for (size_t length = 0; length <= size + 1; length++) {
        char *copy = calloc(1, length ? length : 1);
        memcpy(copy, whole.at, length < size ? length : size);
        struct rkc_cursor cursor = {.at = copy, .end = copy + length};
        if (length != size)
            taken += take(&cursor) != RKC_EFORMAT;
        else
            taken += take(&cursor) != 0;
        free(copy);
    }
    is_int(taken, 0, what);
}

static int take_job(struct rkc_cursor *cursor)
{
    struct rkc_job job;
    int status = rkc_unstream_job(cursor, &job);
    if (status == 0)
        rkc_job_free(&job);
    return status;
}

static void jobs(void)
{
    struct rkc_job job, copy;
    struct rkc_buffer buffer = {0};
    rkc_job_init(&job);
    job.start_unix_ns = 1700000000000000000;
    job.wall_ns = 5;
    job.ranks = 100000;
    job.metrics = 1 << RKC_METRIC_MPI | 1 << RKC_METRIC_DEVICE;
    job.row_metrics = 1 << RKC_METRIC_MPI;
    job.device_uses = 400000;
    rkc_job_set(&job, "command", "./app -n 3");
    rkc_job_set(&job, "restart", "");
    is_int(rkc_stream_job(&buffer, &job), 0, "a job is streamed");
    struct rkc_cursor cursor = body(&buffer, RKC_FRAME_JOB, "in a frame of its kind");
    cut_short(cursor, take_job, "a job is taken whole or not at all");
    is_int(rkc_unstream_job(&cursor, &copy), 0, "and taken apart");
    is_int(copy.start_unix_ns, 1700000000000000000, "it has its start");
    is_int(copy.wall_ns, 5, "and wall time");
    is_int(copy.overhead_ns, RKC_ABSENT, "and overhead");
    is_int(copy.ranks, 100000, "and ranks");
    is_int(copy.metrics, 1 << RKC_METRIC_MPI | 1 << RKC_METRIC_DEVICE, "and metrics");
    is_int(copy.row_metrics, 1 << RKC_METRIC_MPI, "and those of rows");
    is_int(copy.device_uses, 400000, "and devices of ranks");
    is_str(rkc_job_get(&copy, "command"), "./app -n 3", "and facts");
    is_str(rkc_job_get(&copy, "restart"), "", "empty ones too");
    rkc_job_free(&copy);
    buffer.size = 0;

    job.metrics = job.row_metrics = 1u << RKC_METRICS;
    rkc_stream_job(&buffer, &job);
    cursor = body(&buffer, RKC_FRAME_JOB, "a later frame is like the first");
    is_int(rkc_unstream_job(&cursor, &copy), RKC_EFORMAT, "an unknown metric is refused");
    buffer.size = 0;
    job.metrics = 1u << RKC_METRIC_MPI;
    job.row_metrics = 1u << RKC_METRIC_VISITS;
    rkc_stream_job(&buffer, &job);
    cursor = body(&buffer, RKC_FRAME_JOB, "so is the next");
    is_int(rkc_unstream_job(&cursor, &copy), RKC_EFORMAT,
           "rows of a metric that there is not are refused");
    rkc_job_free(&job);
    rkc_buffer_free(&buffer);
}

static void profiles(void)
{
    struct rkc_profile profile, copy;
    struct rkc_buffer buffer = {0};
    rkc_profile_init(&profile, 0);
    rkc_profile_region_get(&profile, RKC_REGION_ROOT, "(run)", NULL, 0);
    is_int(rkc_stream_profile(&buffer, &profile), 0, "a profile is streamed");
    struct rkc_cursor cursor = body(&buffer, RKC_FRAME_PROFILE, "in a frame of its kind");
    is_int(rkc_profile_unpack(&copy, &cursor), 0, "as it is packed");
    is_int(copy.n_regions, 1, "whole");
    rkc_profile_free(&profile);
    rkc_profile_free(&copy);
    buffer.size = 0;

    struct rkc_numbers numbers, taken;
    rkc_numbers_init(&numbers, 3, 2);
    is_int(rkc_stream_numbers(&buffer, &numbers), 0, "numbers are streamed");
    cursor = body(&buffer, RKC_FRAME_NUMBERS, "in a frame of their kind");
    is_int(rkc_numbers_unpack(&taken, &cursor), 0, "as they are packed");
    is_int(taken.first, 3, "with their window");
    rkc_numbers_free(&numbers);
    rkc_numbers_free(&taken);
    rkc_buffer_free(&buffer);
}

enum { TWO_METRICS = 1 << RKC_METRIC_VISITS | 1 << RKC_METRIC_MPI };

static int take_rows(struct rkc_cursor *cursor)
{
    struct rkc_rows rows;
    return rkc_unstream_rows(cursor, &rows, TWO_METRICS);
}

/* The second rank's. */
static struct rkc_rank_device devices[RKC_RANK_DEVICES_MAX + 2] = {
    {.index = 0, .uuid = "GPU-7", .name = "NVIDIA H200", .covered_ns = 5, .ns = 6},
    {.index = 1, .bus_id = "0000:3b:00.0", .driver_version = 13000}};

/* One of the first rank's, two of the second's. */
static struct rkc_rank_peer peers[RKC_RANK_PEERS_MAX + 2] = {
    {4, 9, 10, 1000}, {9, 4, 1, 1}, {-1, 9, INT64_MAX, 0}};

/* How two rows, streamed over three paths, are received. */
static int refused_rows(const struct rkc_rank_row rows[2])
{
    static const int64_t values[12];
    struct rkc_buffer buffer = {0};
    rkc_stream_rows(&buffer, &(struct rkc_rows){2, 3, rows, values, devices, peers}, TWO_METRICS);
    struct rkc_cursor cursor = {.at = buffer.data + sizeof(struct rkc_frame),
                                .end = buffer.data + buffer.size};
    int status = take_rows(&cursor);
    rkc_buffer_free(&buffer);
    return status;
}

static void rows(void)
{
    static const int64_t values[2][2][3] = {{{1, 2, 3}, {4, 5, 6}}, {{7, 8, 9}, {10, -1, 12}}};
    const struct rkc_rank_row good[2] = {
        {.rank = 4, .state = RKC_STATE_FINALIZED, .open_path = RKC_NO_PATH, .n_peers = 1,
         .node = "n0"},
        {.rank = 9, .state = RKC_STATE_SIGNAL, .signal = 9, .open_path = 2, .n_devices = 2,
         .n_peers = 2, .node = "n1"}};
    struct rkc_buffer buffer = {0};
    struct rkc_rows taken;
    struct rkc_rows rows = {2, 3, good, &values[0][0][0], devices, peers};
    is_int(rkc_stream_rows(&buffer, &rows, TWO_METRICS), 0, "rows are streamed");
    struct rkc_cursor cursor = body(&buffer, RKC_FRAME_ROWS, "in a frame of their kind");
    cut_short(cursor, take_rows, "rows are taken whole or not at all");
    struct rkc_cursor odd = {.at = cursor.at + 4, .end = cursor.end};
    is_int(rkc_unstream_rows(&odd, &taken, TWO_METRICS), RKC_EARG, "rows must be aligned");
    odd = cursor;
    is_int(rkc_unstream_rows(&odd, &taken, 1), RKC_EFORMAT, "other metrics do not fit");
    is_int(rkc_unstream_rows(&cursor, &taken, TWO_METRICS), 0, "those of the job do");
    ok(taken.n_ranks == 2 && taken.n_paths == 3, "rows have their numbers of ranks and paths");
    ok(memcmp(taken.ranks, good, sizeof good) == 0, "and their ranks");
    ok(memcmp(taken.values, values, sizeof values) == 0, "and their values");
    ok(rkc_rows_devices(&taken) == 2 && memcmp(taken.devices, devices, 2 * sizeof *devices) == 0,
       "and their devices");
    ok(rkc_rows_peers(&taken) == 3 && memcmp(taken.peers, peers, 3 * sizeof *peers) == 0,
       "and their peers");
    rkc_buffer_free(&buffer);

    struct rkc_rank_row bad[2];
    memcpy(bad, good, sizeof bad);
    bad[1].rank = 4;
    is_int(refused_rows(bad), RKC_EFORMAT, "ranks rise");
    memcpy(bad, good, sizeof bad);
    bad[0].rank = -1;
    is_int(refused_rows(bad), RKC_EFORMAT, "from 0 on");
    memcpy(bad, good, sizeof bad);
    bad[1].state = RKC_STATES;
    is_int(refused_rows(bad), RKC_EFORMAT, "a rank has a known state");
    memcpy(bad, good, sizeof bad);
    bad[1].open_path = 3;
    is_int(refused_rows(bad), RKC_EFORMAT, "and a known open path");
    memcpy(bad, good, sizeof bad);
    memset(bad[1].node, 'n', sizeof bad[1].node);
    is_int(refused_rows(bad), RKC_EFORMAT, "and a node's name that ends");
    memcpy(bad, good, sizeof bad);
    bad[0].n_devices = -1;
    is_int(refused_rows(bad), RKC_EFORMAT, "and no fewer devices than none");
    bad[0].n_devices = 1;
    bad[1].n_devices = RKC_RANK_DEVICES_MAX + 1;
    is_int(refused_rows(bad), RKC_EFORMAT, "nor more than there is room for");
    memset(devices[0].uuid, 'x', sizeof devices[0].uuid);
    is_int(refused_rows(good), RKC_EFORMAT, "whose texts end");
    strcpy(devices[0].uuid, "GPU-7");
    memcpy(bad, good, sizeof bad);
    bad[0].n_peers = -1;
    is_int(refused_rows(bad), RKC_EFORMAT, "there are no fewer peers than none");
    bad[0].n_peers = 0;
    bad[1].n_peers = RKC_RANK_PEERS_MAX + 1;
    is_int(refused_rows(bad), RKC_EFORMAT, "nor more than there is room for");
    static const struct rkc_rank_peer odd_peers[] = {
        {4, 3, 1, 1}, {9, -2, 1, 1}, {-2, 9, 1, 1}, {9, 4, -1, 1}, {9, 4, 1, -1}};
    for (size_t i = 0; i < sizeof odd_peers / sizeof *odd_peers; i++) {
        struct rkc_rank_peer before = peers[1];
        peers[1] = odd_peers[i];
        is_int(refused_rows(good), RKC_EFORMAT, "one is between the rank and another or none");
        peers[1] = before;
    }
    devices[1].rank_numa_node = -2;
    is_int(refused_rows(good), RKC_EFORMAT, "whose NUMA nodes are or are -1");
    devices[1].rank_numa_node = -1;
    is_int(refused_rows(good), 0, "then it is taken");

    rows = (struct rkc_rows){.n_ranks = UINT32_MAX, .n_paths = UINT32_MAX};
    is_int(rkc_stream_rows(&buffer, &rows, TWO_METRICS), RKC_EOVERFLOW,
           "a block larger than a frame is refused");
    is_int((int64_t)buffer.size, 0, "and nothing streamed of it");
    is_int(rkc_stream_rows(&buffer, &(struct rkc_rows){.n_paths = 3}, 0), 0,
           "a block may be empty");
    cursor = body(&buffer, RKC_FRAME_ROWS, "and is a frame all the same");
    is_int(rkc_unstream_rows(&cursor, &taken, 0), 0, "which is taken");

    /* 2^32 - 1 ranks and paths: more bytes than 64 bits count. */
    memset(buffer.data + sizeof(struct rkc_frame), 0xff, 8);
    cursor = body(&buffer, RKC_FRAME_ROWS, "whatever its body");
    is_int(rkc_unstream_rows(&cursor, &taken, TWO_METRICS), RKC_EFORMAT,
           "rows that are not there are refused");
    rkc_buffer_free(&buffer);
}

static int take_finish(struct rkc_cursor *cursor)
{
    enum rkc_file_status status;
    struct rkc_rank_range *ranges;
    uint32_t n;
    int error = rkc_unstream_finish(cursor, &status, &ranges, &n);
    if (error == 0)
        free(ranges);
    return error;
}

static void finishes(void)
{
    static const struct rkc_rank_range missing[] = {{3, 3}, {7, 90}};
    struct rkc_buffer buffer = {0};
    is_int(rkc_stream_finish(&buffer, RKC_FILE_PARTIAL, missing, 2), 0, "the end is streamed");
    struct rkc_cursor cursor = body(&buffer, RKC_FRAME_FINISH, "in a frame of its kind");
    cut_short(cursor, take_finish, "the end is taken whole or not at all");

    enum rkc_file_status status;
    struct rkc_rank_range *ranges;
    uint32_t n;
    is_int(rkc_unstream_finish(&cursor, &status, &ranges, &n), 0, "and taken apart");
    is_int(status, RKC_FILE_PARTIAL, "it has its status");
    ok(n == 2 && memcmp(ranges, missing, sizeof missing) == 0, "and the ranks that are missing");
    free(ranges);

    buffer.data[sizeof(struct rkc_frame)] = RKC_FILE_ABORTED + 1;
    cursor = body(&buffer, RKC_FRAME_FINISH, "a status is not part of the header");
    is_int(take_finish(&cursor), RKC_EFORMAT, "an unknown one is refused");
    rkc_buffer_free(&buffer);
}

int main(void)
{
    facts();
    openings();
    plans();
    jobs();
    profiles();
    rows();
    finishes();
    return done_testing();
}
