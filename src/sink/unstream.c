/* unstream.c - memory for a frame grows with what arrives, not with what its head claims. */
#include "autoconf.h"

#include "sink/unstream.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rankclock/status.h>

#include "sink/stream.h"

enum { READ_MAX = 1024 * 1024, OUTPUT_MAX = 4096 };

struct reading {
    int fd;
    struct rkc_buffer body;
    const struct rkc_unstream_target *target;
    struct rkc_sink **sink;
    char *text;
    int have_job, finished;
    uint32_t row_metrics;
};

static int explain(struct reading *reading, int status, const char *what)
{
    snprintf(reading->text, RKC_SINK_TEXT_MAX, "%s", what);
    return status;
}

/* Read up to `size` bytes; how many there were, or -1. */
static ssize_t read_all(int fd, char *data, size_t size)
{
    size_t got = 0;
    while (got < size) {
        ssize_t n = read(fd, data + got, size - got);
        if (n == 0)
            break;
        if (n < 0 && errno != EINTR)
            return -1;
        got += n > 0 ? (size_t)n : 0;
    }
    return (ssize_t)got;
}

static int read_exactly(struct reading *reading, char *data, size_t size)
{
    ssize_t got = read_all(reading->fd, data, size);
    if (got < 0)
        return explain(reading, RKC_EIO, strerror(errno));
    if ((size_t)got < size)
        return explain(reading, RKC_EFORMAT, "the stream ended before its last frame");
    return 0;
}

static int read_body(struct reading *reading, uint64_t bytes)
{
    struct rkc_buffer *body = &reading->body;
    body->size = 0;
    while (body->size < bytes) {
        size_t step = bytes - body->size < READ_MAX ? (size_t)(bytes - body->size) : READ_MAX;
        if (body->capacity - body->size < step) {
            size_t capacity = 2 * body->capacity > body->size + step ? 2 * body->capacity
                                                                     : body->size + step;
            char *data = realloc(body->data, capacity);
            if (!data)
                return explain(reading, RKC_ENOMEM, "out of memory");
            body->data = data;
            body->capacity = capacity;
        }
        int status = read_exactly(reading, body->data + body->size, step);
        if (status)
            return status;
        body->size += step;
    }
    return 0;
}

static int damaged(struct reading *reading, int status)
{
    return explain(reading, status, status == RKC_ENOMEM ? "out of memory"
                                                         : "the stream is damaged");
}

/* A sink that fails may know more; its owner asks it. */
static int handed(struct reading *reading, int status)
{
    return status ? explain(reading, status, rkc_strerror(status)) : 0;
}

static int take_open(struct reading *reading, struct rkc_cursor *cursor)
{
    unsigned mode = rkc_cursor_u32(cursor);
    char *output = rkc_cursor_text(cursor, OUTPUT_MAX);
    if (!output || cursor->at != cursor->end || *reading->sink) {
        free(output);
        return damaged(reading, RKC_EFORMAT);
    }
    /* The answer is one line, and a tab ends the name in it. */
    int status = strpbrk(output, "\n\t")
                     ? explain(reading, RKC_EARG, "the output's name holds a tab or a newline")
                     : reading->target->open(output, mode, reading->sink, reading->text);
    free(output);
    return status;
}

static int take_plan(struct reading *reading, struct rkc_cursor *cursor)
{
    uint32_t n_paths = rkc_cursor_u32(cursor), metrics = rkc_cursor_u32(cursor);
    if (cursor->failed || cursor->at != cursor->end || (metrics & ~RKC_ALL_METRICS))
        return damaged(reading, RKC_EFORMAT);
    struct rkc_sink *sink = *reading->sink;
    return sink->ops->plan ? handed(reading, sink->ops->plan(sink, n_paths, metrics)) : 0;
}

static int take_job(struct reading *reading, struct rkc_cursor *cursor)
{
    struct rkc_job job;
    int status = rkc_unstream_job(cursor, &job);
    if (status)
        return damaged(reading, status);
    reading->row_metrics = job.row_metrics;
    reading->have_job = 1;
    status = handed(reading, (*reading->sink)->ops->job(*reading->sink, &job));
    rkc_job_free(&job);
    return status;
}

static int take_profile(struct reading *reading, struct rkc_cursor *cursor)
{
    struct rkc_profile profile;
    int status = rkc_profile_unpack(&profile, cursor);
    if (status)
        return damaged(reading, status);
    status = handed(reading, (*reading->sink)->ops->profile(*reading->sink, &profile));
    rkc_profile_free(&profile);
    return status;
}

static int take_numbers(struct reading *reading, struct rkc_cursor *cursor)
{
    struct rkc_numbers numbers;
    int status = rkc_numbers_unpack(&numbers, cursor);
    if (status)
        return damaged(reading, status);
    status = handed(reading, (*reading->sink)->ops->numbers(*reading->sink, &numbers));
    rkc_numbers_free(&numbers);
    return status;
}

static int take_rows(struct reading *reading, struct rkc_cursor *cursor)
{
    struct rkc_rows rows;
    int status = reading->have_job ? rkc_unstream_rows(cursor, &rows, reading->row_metrics)
                                   : RKC_EFORMAT;
    if (status)
        return damaged(reading, status);
    return handed(reading, (*reading->sink)->ops->rows(*reading->sink, &rows));
}

static int take_finish(struct reading *reading, struct rkc_cursor *cursor)
{
    enum rkc_file_status file_status;
    struct rkc_rank_range *missing;
    uint32_t n_missing;
    int status = rkc_unstream_finish(cursor, &file_status, &missing, &n_missing);
    if (status)
        return damaged(reading, status);
    status = (*reading->sink)->ops->finish(*reading->sink, file_status, missing, n_missing,
                                           reading->text);
    free(missing);
    reading->finished = 1;
    return status;
}

static int take_frame(struct reading *reading)
{
    struct rkc_frame frame;
    int status = read_exactly(reading, (char *)&frame, sizeof frame);
    if (status)
        return status;
    if (frame.magic != RKC_FRAME_MAGIC || frame.bytes > RKC_FRAME_MAX ||
        (!*reading->sink && frame.kind != RKC_FRAME_OPEN))
        return explain(reading, RKC_EFORMAT, "not a stream of this version of rankclock");
    status = read_body(reading, frame.bytes);
    if (status)
        return status;
    struct rkc_cursor cursor = {.at = reading->body.data,
                                .end = reading->body.data + reading->body.size};
    switch (frame.kind) {
    case RKC_FRAME_OPEN:
        return take_open(reading, &cursor);
    case RKC_FRAME_PLAN:
        return take_plan(reading, &cursor);
    case RKC_FRAME_JOB:
        return take_job(reading, &cursor);
    case RKC_FRAME_PROFILE:
        return take_profile(reading, &cursor);
    case RKC_FRAME_NUMBERS:
        return take_numbers(reading, &cursor);
    case RKC_FRAME_ROWS:
        return take_rows(reading, &cursor);
    case RKC_FRAME_FINISH:
        return take_finish(reading, &cursor);
    default:
        return damaged(reading, RKC_EFORMAT);
    }
}

int rkc_unstream(int fd, const struct rkc_unstream_target *target, struct rkc_sink **sink,
                 char text[RKC_SINK_TEXT_MAX])
{
    struct reading reading = {.fd = fd, .target = target, .sink = sink, .text = text};
    *sink = NULL;
    text[0] = '\0';
    int status = 0;
    while (!status && !reading.finished)
        status = take_frame(&reading);
    free(reading.body.data);
    return status;
}
