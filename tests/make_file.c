/* make_file.c - write a made-up run: make_file [--gpu] OUTPUT [RANKS [PATHS [FIRST_MISSING]]].
 *
 * With --gpu there is device time in it.
 *
 * With OUTPUT "-" its stream goes to stdout, for `rankclock write`; the file is then "stream.h5"
 * in the writer's folder. */
#include "autoconf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sink/hdf5.h"
#include "sink/stream.h"
#include "synthetic.h"

struct stdout_sink {
    struct rkc_sink sink;
    struct rkc_buffer buffer;
    uint32_t row_metrics;
};

static int flush(struct stdout_sink *sink, int status)
{
    size_t size = sink->buffer.size;
    if (!status && fwrite(sink->buffer.data, 1, size, stdout) != size)
        status = RKC_EIO;
    sink->buffer.size = 0;
    return status;
}

static int send_job(struct rkc_sink *base, const struct rkc_job *job)
{
    struct stdout_sink *sink = (struct stdout_sink *)base;
    sink->row_metrics = job->row_metrics;
    return flush(sink, rkc_stream_job(&sink->buffer, job));
}

static int send_profile(struct rkc_sink *base, const struct rkc_profile *profile)
{
    struct stdout_sink *sink = (struct stdout_sink *)base;
    return flush(sink, rkc_stream_profile(&sink->buffer, profile));
}

static int send_numbers(struct rkc_sink *base, const struct rkc_numbers *numbers)
{
    struct stdout_sink *sink = (struct stdout_sink *)base;
    return flush(sink, rkc_stream_numbers(&sink->buffer, numbers));
}

static int send_rows(struct rkc_sink *base, const struct rkc_rows *rows)
{
    struct stdout_sink *sink = (struct stdout_sink *)base;
    return flush(sink, rkc_stream_rows(&sink->buffer, rows, sink->row_metrics));
}

static int send_finish(struct rkc_sink *base, enum rkc_file_status status,
                       const struct rkc_rank_range *missing, uint32_t n_missing,
                       char text[RKC_SINK_TEXT_MAX])
{
    struct stdout_sink *sink = (struct stdout_sink *)base;
    text[0] = '\0';
    return flush(sink, rkc_stream_finish(&sink->buffer, status, missing, n_missing));
}

static void close_stdout(struct rkc_sink *base)
{
    rkc_buffer_free(&((struct stdout_sink *)base)->buffer);
}

int main(int argc, char **argv)
{
    int with_gpu = argc > 1 && strcmp(argv[1], "--gpu") == 0;
    argc -= with_gpu;
    argv += with_gpu;
    if (argc < 2) {
        fputs("usage: make_file [--gpu] OUTPUT [RANKS [PATHS [FIRST_MISSING]]]\n", stderr);
        return 2;
    }
    struct synthetic run = synthetic_run(argc > 2 ? (uint32_t)atoi(argv[2]) : 4,
                                         argc > 3 ? (uint32_t)atoi(argv[3]) : SYNTHETIC_PATHS);
    run.with_gpu = with_gpu;
    if (argc > 4) {
        run.first_missing = atoi(argv[4]);
        run.status = RKC_FILE_PARTIAL;
    }
    char text[RKC_SINK_TEXT_MAX] = "";
    static const struct rkc_sink_ops stdout_ops = {send_job,  send_profile, send_numbers,
                                                   send_rows, send_finish,  close_stdout,
                                                   NULL};
    struct stdout_sink to_stdout = {.sink.ops = &stdout_ops};
    struct rkc_sink *sink = &to_stdout.sink;
    int to_file = strcmp(argv[1], "-") != 0;
    int status = to_file ? rkc_sink_hdf5_open(argv[1], 0644, &sink, text)
                         : flush(&to_stdout, rkc_stream_open(&to_stdout.buffer, 0644,
                                                             "stream.h5"));
    if (status) {
        fprintf(stderr, "%s\n", text[0] ? text : rkc_strerror(status));
        return 1;
    }
    status = synthetic_send(&run, sink, text);
    struct rkc_sink_hdf5_report report = {.text = ""};
    if (to_file)
        rkc_sink_hdf5_report(sink, &report);
    if (status)
        fprintf(stderr, "%s\n", report.text[0] ? report.text : rkc_strerror(status));
    else if (to_file)
        printf("%s\twrite_ns=%lld fsync_ns=%lld\n", text, (long long)report.write_ns,
               (long long)report.fsync_ns);
    sink->ops->close(sink);
    return status != 0;
}
