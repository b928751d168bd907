/* The sink that feeds the writer process: what the writer gets, and what becomes of one that
 * fails, ends or hangs. Shell scripts stand in for the writer. */
#include "autoconf.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rankclock/status.h>

#include "clock.h"
#include "log.h"
#include "sink/pipe.h"
#include "sink/stream.h"
#include "tap.h"

static char folder[] = "/tmp/rankclock-pipe-XXXXXX";
static int stderr_saved, stderr_file;

static int64_t in_ms(int64_t ms)
{
    return rkc_clock_monotonic_ns() + ms * 1000000;
}

/* Make a writer that does what the script says. */
static const char *make_writer(const char *script)
{
    static char path[64];
    static int n;
    snprintf(path, sizeof path, "%s/writer%d", folder, n++);
    FILE *file = fopen(path, "w");
    if (!file)
        abort();
    fprintf(file, "#!/bin/sh\ncd %s\n%s\n", folder, script);
    fclose(file);
    chmod(path, 0700);
    return path;
}

static void catch_stderr(void)
{
    if (ftruncate(stderr_file, 0) < 0 || lseek(stderr_file, 0, SEEK_SET) < 0)
        abort();
    dup2(stderr_file, STDERR_FILENO);
}

/* Give stderr back; what was said meanwhile. */
static const char *release_stderr(void)
{
    static char said[8192];
    dup2(stderr_saved, STDERR_FILENO);
    ssize_t n = pread(stderr_file, said, sizeof said - 1, 0);
    said[n > 0 ? n : 0] = '\0';
    return said;
}

static int lines_in(const char *text)
{
    int n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

static struct rkc_job sample_job(void)
{
    struct rkc_job job;
    rkc_job_init(&job);
    rkc_job_set(&job, "program", "heat");
    job.ranks = 2;
    job.row_metrics = 1u << RKC_METRIC_VISITS;
    return job;
}

/* One call path: the root. */
static struct rkc_profile sample_profile(void)
{
    struct rkc_profile profile;
    rkc_profile_init(&profile, 0);
    rkc_profile_region_get(&profile, RKC_REGION_ROOT, "(run)", NULL, 0);
    rkc_profile_path_get(&profile, RKC_NO_PATH, 0);
    return profile;
}

static struct rkc_numbers sample_numbers(uint32_t n)
{
    struct rkc_numbers numbers;
    if (rkc_numbers_init(&numbers, 0, n) != 0)
        abort();
    for (uint32_t i = 0; i < n; i++)
        for (int metric = 0; metric < RKC_METRICS; metric++) {
            rkc_stat_set(&numbers.stats[i * RKC_METRICS + (uint32_t)metric], i, 0);
            rkc_stat_merge(&numbers.stats[i * RKC_METRICS + (uint32_t)metric],
                           &(struct rkc_stat){.sum = 7, .min = 7, .max = 7, .ranks = 1});
        }
    return numbers;
}

static int read_file(const char *name, char **data, size_t *size)
{
    char path[64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    if (!file)
        return 0;
    *data = malloc(1 << 20);
    *size = fread(*data, 1, 1 << 20, file);
    fclose(file);
    return 1;
}

static void test_good(void)
{
    struct rkc_job job = sample_job();
    struct rkc_profile profile = sample_profile();
    struct rkc_numbers numbers = sample_numbers(1);
    struct rkc_rank_row row[2] = {{.rank = 0}, {.rank = 1, .n_peers = 1}};
    int64_t values[2] = {3, 4};
    struct rkc_rank_peer peer = {1, 0, 5, 6};
    struct rkc_rows rows = {
        .n_ranks = 2, .n_paths = 1, .ranks = row, .values = values, .peers = &peer};
    struct rkc_rank_range missing = {2, 5};
    char text[RKC_SINK_TEXT_MAX];
    struct rkc_sink *sink;

    const char *writer = make_writer("echo \"$*\" > args; cat > got; "
                                     "printf 'ok a name.h5\\twrite_ns=1\\nmore\\n'");
    catch_stderr();
    int status = rkc_sink_pipe_open(writer, "wanted.h5", 0640, in_ms(30000), &sink);
    if (status == 0)
        status = sink->ops->job(sink, &job) | sink->ops->profile(sink, &profile) |
                 sink->ops->numbers(sink, &numbers) | sink->ops->rows(sink, &rows) |
                 sink->ops->finish(sink, RKC_FILE_PARTIAL, &missing, 1, text);
    const char *said = release_stderr();
    is_int(status, 0, "a writer that says ok has written");
    is_str(text, "a name.h5", "the name is what it says, up to the tab");
    is_str(said, "", "and nothing is said");
    sink->ops->close(sink);

    struct rkc_buffer wanted = {0};
    rkc_stream_open(&wanted, 0640, "wanted.h5");
    rkc_stream_job(&wanted, &job);
    rkc_stream_profile(&wanted, &profile);
    rkc_stream_numbers(&wanted, &numbers);
    rkc_stream_rows(&wanted, &rows, job.row_metrics);
    rkc_stream_finish(&wanted, RKC_FILE_PARTIAL, &missing, 1);
    char *got = NULL;
    size_t size = 0;
    is_int(read_file("args", &got, &size) && size == 6 && memcmp(got, "write\n", 6) == 0, 1,
           "it is started as WRITER write");
    free(got);
    got = NULL;
    is_int(read_file("got", &got, &size) && size == wanted.size &&
               memcmp(got, wanted.data, size) == 0,
           1, "it gets the frames in the order of the calls");
    free(got);
    rkc_buffer_free(&wanted);
    rkc_job_free(&job);
    rkc_profile_free(&profile);
    rkc_numbers_free(&numbers);
}

/* Send more than any socket holds, then finish; the status, and the text in `text`. */
static int send_much(const char *writer, int64_t ms, char text[RKC_SINK_TEXT_MAX])
{
    struct rkc_sink *sink;
    struct rkc_job job = sample_job();
    text[0] = '\0';
    int status = rkc_sink_pipe_open(writer, "x.h5", 0600, in_ms(ms), &sink);
    if (status == 0) {
        struct rkc_numbers numbers = sample_numbers(1000);
        status = sink->ops->job(sink, &job);
        for (int i = 0; i < 8 && status == 0; i++)
            status = sink->ops->numbers(sink, &numbers);
        if (status == 0)
            status = sink->ops->finish(sink, RKC_FILE_COMPLETE, NULL, 0, text);
        rkc_numbers_free(&numbers);
        sink->ops->close(sink);
    }
    rkc_job_free(&job);
    return status;
}

static void test_failing(const char *script, const char *wanted, const char *what)
{
    char text[RKC_SINK_TEXT_MAX];
    const char *writer = make_writer(script);
    catch_stderr();
    int status = send_much(writer, 30000, text);
    const char *said = release_stderr();
    is_int(status, RKC_EWRITER, what);
    ok(strstr(said, wanted) != NULL, "the reason is said");
    is_int(lines_in(said), 1, "and said once");
}

static void test_slow(void)
{
    char text[RKC_SINK_TEXT_MAX];
    catch_stderr();
    int64_t begin = rkc_clock_monotonic_ns();
    int status = send_much(make_writer("exec sleep 60"), 300, text);
    int64_t full_ms = (rkc_clock_monotonic_ns() - begin) / 1000000;
    begin = rkc_clock_monotonic_ns();
    int mute = send_much(make_writer("cat > /dev/null; exec sleep 60"), 600, text);
    int64_t mute_ms = (rkc_clock_monotonic_ns() - begin) / 1000000;
    const char *said = release_stderr();
    is_int(status, RKC_EWRITER, "a writer that reads nothing fails");
    ok(full_ms >= 299 && full_ms < 30000, "at the deadline");
    is_int(mute, RKC_EWRITER, "one that does not answer fails, too");
    ok(mute_ms >= 599 && mute_ms < 30000, "at the deadline");
    is_int(lines_in(said), 2, "each is said once");
}

static void test_deadline(void)
{
    struct rkc_sink *sink;
    char text[RKC_SINK_TEXT_MAX];
    int status = rkc_sink_pipe_open(make_writer("cat > /dev/null; echo ok late.h5"), "x.h5", 0600,
                                    in_ms(1), &sink);
    usleep(20000);
    if (status == 0) {
        rkc_sink_pipe_set_deadline(sink, in_ms(30000));
        status = sink->ops->finish(sink, RKC_FILE_COMPLETE, NULL, 0, text);
        sink->ops->close(sink);
    }
    is_int(status, 0, "a later deadline takes the place of the first");
}

static void test_missing(void)
{
    char text[RKC_SINK_TEXT_MAX];
    catch_stderr();
    int status = send_much("/nowhere/rankclock", 30000, text);
    const char *said = release_stderr();
    is_int(status, RKC_EWRITER, "a writer that is not there fails");
    is_str(said, "rankclock: cannot start /nowhere/rankclock: No such file or directory\n",
           "with its name and the reason");
}

int main(void)
{
    char command[80];
    if (!mkdtemp(folder))
        return 1;
    char path[64];
    snprintf(path, sizeof path, "%s/stderr", folder);
    stderr_saved = dup(STDERR_FILENO);
    stderr_file = open(path, O_RDWR | O_CREAT | O_APPEND, 0600);

    test_good();
    test_failing("echo error no space is left; exit 1", "no space is left",
                 "a writer that fails early fails the sink");
    test_failing("cat > /dev/null; echo error no space is left", "no space is left",
                 "a writer that fails at the end fails the sink");
    test_failing("exit 0", "ended early", "a writer that just ends fails the sink");
    test_failing("kill -9 $$", "ended early", "a writer that is killed fails the sink");
    test_failing("cat > /dev/null; echo hello; printf bye", "did not answer: hello",
                 "an answer of another kind fails the sink");
    test_failing("cat > /dev/null", "did not answer", "no answer fails the sink");
    test_failing("echo cannot load a library >&2; exit 127", "ended early: cannot load a library",
                 "a writer that cannot run fails the sink");
    test_failing("yes | head -c 9000; echo error no space is left", "no space is left",
                 "an answer behind other output is found; this one fails the sink");
    test_slow();
    test_deadline();
    test_missing();
    is_int(waitpid(-1, NULL, __WALL) == -1 && errno == ECHILD, 1, "no child is left");

    snprintf(command, sizeof command, "rm -rf %s", folder);
    if (system(command) != 0)
        return 1;
    return done_testing();
}
