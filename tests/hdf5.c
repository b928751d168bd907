/* hdf5.c - what goes into the HDF5 sink comes out of the reader, and files are published whole. */
/* LIMIT 240 */
#include "autoconf.h"

#include "sink/hdf5.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "round_trip.h"

/* This program's link(2): the real one, or a file system's that has none. */
static int link_error;

int link(const char *from, const char *to)
{
    if (link_error) {
        errno = link_error;
        return -1;
    }
    return linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
}

static int n_files(void)
{
    char command[300];
    int n = -1;
    snprintf(command, sizeof command, "ls -A %s | wc -l", folder);
    FILE *list = popen(command, "r");
    if (!list || fscanf(list, "%d", &n) != 1)
        n = -1;
    if (list)
        pclose(list);
    return n;
}

static void test_tables(const struct rkc_reader *reader)
{
    size_t n;
    is_int(rkc_reader_state(reader), RKC_READER_COMPLETE, "the status is read back");
    is_str(rkc_reader_attribute(reader, "rankclock_schema"), "1.2", "the schema is told");
    is_str(rkc_reader_job(reader, "launcher"), "mpirun", "a fact of the job is read back");
    is_str(rkc_reader_job(reader, "ranks"), "4", "a number of the job reads as text");
    is_int(rkc_reader_job_int(reader, "start_unix_ns"), SYNTHETIC_START_NS, "and as a number");
    is_int(rkc_reader_job_int(reader, "launcher"), -1, "a text is no number");
    is_str(rkc_reader_job(reader, "no such fact"), NULL, "a fact not stored is NULL");

    const struct rkc_reader_path *paths = rkc_reader_paths(reader, &n);
    const struct rkc_reader_region *regions = rkc_reader_regions(reader, &n);
    is_int((int64_t)n, SYNTHETIC_PATHS, "each region has a row");
    const struct rkc_reader_path *wait = &paths[SYNTHETIC_WAITALL];
    is_str(regions[wait->region].name, "MPI_Waitall", "a call path has its region");
    is_str(regions[wait->region].kind, "mpi", "a region has its kind");
    is_int(wait->parent, SYNTHETIC_HALO, "a call path has its parent");
    is_int(wait->depth, 3, "its depth counts the regions above");
    is_str(regions[paths[SYNTHETIC_HALO].region].file, "stencil.c", "a region has its file");
    is_int(regions[paths[SYNTHETIC_HALO].region].line, 52, "and its line");

    const struct rkc_reader_rank *ranks = rkc_reader_ranks(reader, &n);
    is_int((int64_t)n, 4, "each rank has a row");
    is_str(ranks[3].node, "node001", "a rank has its node");
    is_str(ranks[3].state, "finalized", "a rank has its state");
    is_int(ranks[3].pid, 1003, "a rank has its process id");
    is_int(ranks[3].open_callpath, -1, "no open call path is -1");
    is_int(ranks[3].wall_ns, 1615000000, "a rank has its wall time");

    const struct rkc_reader_note *notes = rkc_reader_notes(reader, &n);
    is_int((int64_t)n, 1, "each note has a row");
    is_str(notes[0].kind, "end_without_begin", "a note has its kind");
    is_int(notes[0].count, 3, "a note has its count");
    rkc_reader_missing(reader, &n);
    is_int((int64_t)n, 0, "no rank is missing from a complete run");
    rkc_reader_devices(reader, &n);
    is_int((int64_t)n, 0, "without device time there is no device");
    is_int(ranks[3].device, -1, "nor is there one of a rank");
    is_int(ranks[3].device_ns, -1, "nor its time");
}

static void test_profile(const struct rkc_reader *reader)
{
    const struct rkc_reader_stat *stats = rkc_reader_profile(reader, "exclusive_ns");
    const struct rkc_reader_stat *compute = &stats[SYNTHETIC_COMPUTE];
    /* 1000, 1100, 1200 and 1300 ms */
    is_int(compute->sum, INT64_C(4600000000), "a sum is over ranks");
    is_int(compute->min, 1000000000, "the least over ranks");
    is_int(compute->max, 1300000000, "the most over ranks");
    is_int(compute->min_rank, 0, "the rank with the least");
    is_int(compute->max_rank, 3, "the rank with the most");
    is_near(compute->sumsq, 5.34e18, 1e6, "the sum of squares");
    is_int(compute->ranks, 4, "how many ranks have it");
    is_int(stats[SYNTHETIC_OUTPUT].ranks, 1, "a call path of one rank has one");
    const struct rkc_reader_stat *bytes = rkc_reader_profile(reader, "bytes_sent");
    is_int(bytes[SYNTHETIC_COMPUTE].ranks, 0, "no rank sends in a region");
    is_int(bytes[SYNTHETIC_COMPUTE].sum, -1, "what no rank has is absent");
    is_int(bytes[SYNTHETIC_ISEND].sum, INT64_C(4) * 200 * 65536, "bytes are summed");
    ok(!rkc_reader_profile(reader, "visit_sumsq_ns2"), "a group without statistics is no metric");
    ok(!rkc_reader_profile(reader, "no such metric"), "a metric not stored is NULL");
    ok(!rkc_reader_profile(reader, "sampled_out") && !rkc_reader_profile(reader, "device_ns"),
       "one that no rank has is not stored");
    is_str(rkc_reader_metric(reader, 0), "blocked_ns", "metrics are listed by name");
    is_str(rkc_reader_metric(reader, RKC_METRICS), NULL, "and end");
    /* 100 visits of 10 ms on rank 0, 11, 12 and 13 on the others */
    is_near(rkc_reader_visit_sumsq(reader)[SYNTHETIC_COMPUTE], 5.34e16, 1e6,
            "squares of visits are summed over visits and ranks");

    size_t buckets;
    const int64_t *edges, *counts = rkc_reader_histogram(reader, &buckets, &edges);
    is_int((int64_t)buckets, RKC_TIME_BUCKETS, "the histogram has its buckets");
    const int64_t *row = counts + SYNTHETIC_COMPUTE * buckets;
    unsigned bucket = rkc_time_bucket(10000000);
    ok(edges[bucket] <= 10000000 && edges[bucket + 1] > 10000000, "edges enclose a bucket");
    is_int(row[bucket], 300, "visits of 10, 11 and 12 ms share a bucket");
    is_int(row[bucket + 1], 100, "and those of 13 ms are in the next");
}

static void test_transfers(const struct rkc_reader *reader)
{
    size_t n;
    const struct rkc_reader_transfer *transfers = rkc_reader_transfers(reader, &n);
    is_int((int64_t)n, 3, "call paths that move data have a row");
    is_int(transfers[0].callpath, SYNTHETIC_IRECV, "in the order of call paths");
    is_int(transfers[0].calls, 800, "with the calls");
    is_int(transfers[0].bytes_received, INT64_C(4) * 200 * 65536, "the bytes");
    is_int(transfers[0].bytes_sent, -1, "absent where not measured");
    is_int(transfers[0].ns, 8000000, "and the time");
    ok(strcmp(transfers[0].send_kind, "none") == 0 && strcmp(transfers[0].recv_kind, "host") == 0,
       "what is not said to be elsewhere is the host's");
    const int64_t *edges;
    size_t buckets = rkc_reader_size_buckets(reader, &edges);
    unsigned bucket = rkc_size_bucket(65536);
    ok(bucket < buckets && edges[bucket] == 65536, "size buckets begin at their edges");
    is_int(transfers[0].size_histogram[bucket], 800, "sizes are counted");
}

static void test_round_trip(void)
{
    struct synthetic run = synthetic_run(4, SYNTHETIC_PATHS);
    struct rkc_reader *reader = round_trip(&run, "small.h5");
    if (!reader)
        return;
    test_tables(reader);
    test_profile(reader);
    test_transfers(reader);
    is_int(wrong_rows(reader, &run, 1), 0, "each rank's values are read back");
    int64_t values[4];
    is_int(rkc_reader_per_rank(reader, "no such metric", 0, values), RKC_ENOTFOUND,
           "rows of a metric not stored are not found");
    is_int(rkc_reader_per_rank(reader, "visits", SYNTHETIC_PATHS, values), RKC_EARG,
           "a call path beyond the last is refused");
    rkc_reader_close(reader);
}

/* Whether the plan was right, or of fewer or more call paths or metrics, makes no difference. */
static void test_planned(void)
{
    struct synthetic run = synthetic_run(4, SYNTHETIC_PATHS);
    uint32_t metrics = synthetic_metrics(&run);
    const uint32_t plans[][2] = {{SYNTHETIC_PATHS, metrics},
                                 {SYNTHETIC_PATHS - 1, metrics},
                                 {SYNTHETIC_PATHS + 1, metrics},
                                 {SYNTHETIC_PATHS, RKC_ALL_METRICS},
                                 {SYNTHETIC_PATHS, metrics & ~(metrics & -metrics)},
                                 {UINT32_MAX, metrics}};
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        run.planned_paths = plans[i][0];
        run.planned_metrics = plans[i][1];
        struct rkc_reader *reader = round_trip(&run, "planned.h5");
        if (!reader)
            continue;
        test_tables(reader);
        test_profile(reader);
        is_int(wrong_rows(reader, &run, 1), 0, "each rank's values are read back");
        rkc_reader_close(reader);
    }
    empty_folder();
}

static void test_partial(void)
{
    struct synthetic run = synthetic_run(6, SYNTHETIC_PATHS);
    run.first_missing = 4;
    run.status = RKC_FILE_PARTIAL;
    run.row_metrics = 1u << RKC_METRIC_INCLUSIVE;
    struct rkc_reader *reader = round_trip(&run, "partial.h5");
    if (!reader)
        return;
    size_t n;
    int64_t values[4];
    const struct rkc_reader_range *missing = rkc_reader_missing(reader, &n);
    is_int(rkc_reader_state(reader), RKC_READER_PARTIAL, "a run with missing ranks is partial");
    is_int((int64_t)n, 1, "missing ranks are ranges");
    ok(missing[0].first == 4 && missing[0].last == 5, "from the first to the last");
    const struct rkc_reader_rank *ranks = rkc_reader_ranks(reader, &n);
    is_int((int64_t)n, 4, "and have no row");
    is_int(ranks[0].open_callpath, SYNTHETIC_WAITALL, "an open call path is told");
    is_int(rkc_reader_per_rank(reader, "visits", 0, values), RKC_ENOTFOUND,
           "a metric left out of the rows is not found");
    is_int(rkc_reader_per_rank(reader, "inclusive_ns", 0, values), 0, "one kept is");
    rkc_reader_close(reader);
}

/* A file's bytes; the size is 0 when it cannot be read. */
static char *slurp(const char *path, size_t *size)
{
    static char buffers[2][1 << 20];
    static int turn;
    turn = !turn;
    FILE *file = fopen(path, "rb");
    *size = file ? fread(buffers[turn], 1, sizeof buffers[turn], file) : 0;
    if (file)
        fclose(file);
    return buffers[turn];
}

static void test_pieces(void)
{
    char text[RKC_SINK_TEXT_MAX];
    struct synthetic run = synthetic_run(7, 40);
    size_t size, pieces_size;
    setenv("SOURCE_DATE_EPOCH", "1700000000", 1);
    is_int(write_run(&run, in_folder("whole.h5"), text), 0, "a run is written in one piece");
    char *whole = slurp(text, &size);
    run.ranks_in_block = 3;
    run.paths_in_window = 11;
    is_int(write_run(&run, in_folder("pieces.h5"), text), 0, "and in pieces");
    char *pieces = slurp(text, &pieces_size);
    ok(size > 0 && size == pieces_size && memcmp(whole, pieces, size) == 0,
       "and the files are the same to the byte");
    unsetenv("SOURCE_DATE_EPOCH");
}

static void test_many_ranks(void)
{
    /* More than fill a chunk of ranks twice, in blocks that do not fill one. */
    struct synthetic run = synthetic_run(9001, 20);
    run.ranks_in_block = 1000;
    struct rkc_reader *reader = round_trip(&run, "many.h5");
    if (!reader)
        return;
    size_t n;
    const struct rkc_reader_rank *ranks = rkc_reader_ranks(reader, &n);
    is_int((int64_t)n, 9001, "ranks of all chunks are there");
    is_int(ranks[9000].rank, 9000, "in order");
    is_str(ranks[9000].node, "node4500", "with their nodes");
    is_int(wrong_rows(reader, &run, 17), 0, "and their values");
    rkc_reader_close(reader);
}

static void test_publish(void)
{
    char text[RKC_SINK_TEXT_MAX];
    struct synthetic run = synthetic_run(2, SYNTHETIC_PATHS);
    struct stat facts;
    empty_folder();
    umask(077);
    is_int(write_run(&run, in_folder("run.h5"), text), 0, "a free name is taken");
    is_str(text, in_folder("run.h5"), "and told");
    ok(stat(text, &facts) == 0 && (facts.st_mode & 0777) == 0640, "the mode is that asked for");
    ino_t first = facts.st_ino;
    is_int(write_run(&run, in_folder("run.h5"), text), 0, "a taken name is no failure");
    is_str(text, in_folder("run.2.h5"), "it gets a number before the suffix");
    write_run(&run, in_folder("run.h5"), text);
    is_str(text, in_folder("run.3.h5"), "and the next one");
    ok(stat(in_folder("run.h5"), &facts) == 0 && facts.st_ino == first,
       "the file that had the name is the same");
    write_run(&run, in_folder("plain"), text);
    write_run(&run, in_folder("plain"), text);
    is_str(text, in_folder("plain.2"), "a name without suffix gets its number at the end");
    is_int(n_files(), 5, "no temporary file is left");

    link_error = EPERM;
    write_run(&run, in_folder("run.h5"), text);
    is_str(text, in_folder("run.4.h5"), "without links the same name is found");
    ok(stat(in_folder("run.h5"), &facts) == 0 && facts.st_ino == first, "and no file replaced");
    is_int(n_files(), 6, "no temporary file is left then, either");
    struct rkc_reader *reader;
    is_int(rkc_reader_open(text, &reader, NULL, 0), 0, "and the file is whole");
    rkc_reader_close(reader);
    link_error = ENOSPC;
    is_int(write_run(&run, in_folder("full.h5"), text), RKC_EIO, "another error fails");
    ok(strstr(text, "cannot create") && strstr(text, "full.h5: No space left on device"),
       "and says why");
    is_int(n_files(), 6, "and leaves nothing");
    link_error = 0;
}

/* Write a run where files may hold 20 kB; in a process of its own, for HDF5 keeps the memory of a
 * file that it could not close. */
static int write_limited(const struct synthetic *run, char text[RKC_SINK_TEXT_MAX])
{
    int ends[2], status = -1;
    if (pipe(ends))
        exit(1);
    pid_t child = fork();
    if (child == 0) {
        struct rlimit limit = {20000, 20000};
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
        status = write_run(run, in_folder("run.h5"), text);
        if (write(ends[1], text, RKC_SINK_TEXT_MAX) != RKC_SINK_TEXT_MAX)
            _exit(1);
        _exit(-status);
    }
    close(ends[1]);
    if (read(ends[0], text, RKC_SINK_TEXT_MAX) != RKC_SINK_TEXT_MAX)
        text[0] = '\0';
    close(ends[0]);
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return 0;
    return -WEXITSTATUS(status);
}

static void test_failures(void)
{
    char text[RKC_SINK_TEXT_MAX];
    struct synthetic run = synthetic_run(2, SYNTHETIC_PATHS);
    struct rkc_sink *sink;
    empty_folder();
    is_int(write_run(&run, in_folder("none/run.h5"), text), RKC_EIO, "a missing folder fails");
    ok(strstr(text, "none/run.h5: No such file or directory") != NULL, "and says so");
    is_int(write_run(&run, in_folder(""), text), RKC_EARG, "a folder is no name of a file");
    is_int(rkc_sink_hdf5_open(in_folder("run.h5"), 0600, &sink, text), 0, "a sink is opened");
    is_int(n_files(), 1, "its file is temporary");
    sink->ops->close(sink);
    is_int(n_files(), 0, "and gone when it is closed without finish");

    is_int(write_limited(&run, text), RKC_EIO, "a file that may not grow fails");
    ok(strstr(text, "run.h5: File too large") != NULL, "with the system's reason");
    is_int(n_files(), 0, "and leaves nothing");
}

static int send_nothing(struct rkc_sink *sink, const struct synthetic *run, int with_numbers)
{
    char text[RKC_SINK_TEXT_MAX];
    struct rkc_job job;
    struct rkc_profile profile;
    struct rkc_numbers numbers;
    synthetic_job(run, 0, &job);
    int status = synthetic_profile(run, &profile);
    if (!status)
        status = sink->ops->job(sink, &job);
    if (!status)
        status = sink->ops->profile(sink, &profile);
    if (!status && with_numbers) {
        /* Leaves out the first call path. */
        status = rkc_numbers_init(&numbers, 1, run->n_paths - 1);
        if (!status) {
            status = sink->ops->numbers(sink, &numbers);
            rkc_numbers_free(&numbers);
        }
    }
    if (!status)
        status = sink->ops->finish(sink, RKC_FILE_COMPLETE, NULL, 0, text);
    rkc_profile_free(&profile);
    rkc_job_free(&job);
    return status;
}

static void test_order(void)
{
    char text[RKC_SINK_TEXT_MAX];
    struct synthetic run = synthetic_run(2, SYNTHETIC_PATHS);
    struct rkc_sink_hdf5_report report;
    struct rkc_sink *sink;
    empty_folder();
    for (int i = 0; i < 3; i++) {
        if (rkc_sink_hdf5_open(in_folder("run.h5"), 0600, &sink, text))
            exit(1);
        if (i == 2)
            is_int(sink->ops->finish(sink, RKC_FILE_COMPLETE, NULL, 0, text), RKC_EARG,
                   "a run without parts is refused");
        else
            is_int(send_nothing(sink, &run, i), RKC_EARG,
                   i ? "call paths out of order are refused" : "missing numbers are refused");
        rkc_sink_hdf5_report(sink, &report);
        ok(strstr(report.text, "cannot write") != NULL, "and the sink can say why");
        sink->ops->close(sink);
    }
    is_int(n_files(), 0, "nothing is published then");
}

/* One region whose name is no UTF-8, and two ranks whose times overflow a sum. */
static void test_extremes(void)
{
    char text[RKC_SINK_TEXT_MAX];
    struct rkc_sink *sink;
    struct rkc_job job;
    struct rkc_profile profile;
    struct rkc_numbers numbers;
    rkc_job_init(&job);
    job.ranks = 2;
    rkc_job_set(&job, "with/slash", "dropped");
    rkc_job_set(&job, "command", "a\tb");
    rkc_profile_init(&profile, 0);
    int64_t root = rkc_profile_region_get(&profile, RKC_REGION_ROOT, "(run)", NULL, 0);
    rkc_profile_path_get(&profile, RKC_NO_PATH, (uint32_t)root);
    int64_t odd = rkc_profile_region_get(&profile, RKC_REGION_USER, "a\xff\x1b[31m\xc3\xa9", NULL,
                                         0);
    rkc_profile_path_get(&profile, 0, (uint32_t)odd);
    if (rkc_numbers_init(&numbers, 0, 2))
        exit(1);
    for (int32_t rank = 0; rank < 2; rank++) {
        struct rkc_stat one;
        rkc_stat_set(&one, INT64_MAX - 1, rank);
        rkc_stat_merge(&numbers.stats[RKC_METRIC_INCLUSIVE], &one);
    }
    if (rkc_sink_hdf5_open(in_folder("odd.h5"), 0600, &sink, text))
        exit(1);
    int status = sink->ops->job(sink, &job);
    status = status ? status : sink->ops->profile(sink, &profile);
    status = status ? status : sink->ops->numbers(sink, &numbers);
    status = status ? status : sink->ops->finish(sink, RKC_FILE_ABORTED, NULL, 0, text);
    sink->ops->close(sink);
    rkc_numbers_free(&numbers);
    rkc_profile_free(&profile);
    rkc_job_free(&job);
    is_int(status, 0, "a run without ranks is written");

    struct rkc_reader *reader;
    char why[512];
    status = rkc_reader_open(text, &reader, why, sizeof why);
    if (!tap_ok(status == 0, "and read", __FILE__, __LINE__, "%s", why))
        return;
    size_t n;
    const struct rkc_reader_stat *stats = rkc_reader_profile(reader, "inclusive_ns");
    is_int(stats[0].sum, INT64_MAX, "a sum beyond 64 bits is the largest number");
    is_int(stats[0].max, INT64_MAX - 1, "its parts are as they were");
    const struct rkc_reader_note *notes = rkc_reader_notes(reader, &n);
    ok(n == 1 && strcmp(notes[0].kind, "saturated") == 0, "and a note says so");
    is_str(rkc_reader_regions(reader, &n)[1].name, "a??[31m\xc3\xa9",
           "bytes that are no text become question marks");
    is_str(rkc_reader_job(reader, "command"), "a?b", "as do control characters");
    is_str(rkc_reader_job(reader, "with/slash"), NULL, "a fact with a slash is left out");
    is_int(rkc_reader_state(reader), RKC_READER_ABORTED, "an aborted run says so");
    rkc_reader_ranks(reader, &n);
    is_int((int64_t)n, 0, "no rank is no row");
    rkc_reader_close(reader);
}

int main(void)
{
    if (!mkdtemp(folder))
        return 1;
    test_round_trip();
    test_planned();
    test_partial();
    test_pieces();
    test_many_ranks();
    test_publish();
    test_failures();
    test_order();
    test_extremes();
    empty_folder();
    rmdir(folder);
    return done_testing();
}
