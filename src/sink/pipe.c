/* pipe.c - a writer that fails says why before it goes, so whoever cannot send looks for its
 * answer; or its loader does, on stderr. It is sent to by a socket rather than a pipe, for that
 * can be done without a SIGPIPE. */
#include "autoconf.h"

#include "sink/pipe.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rankclock/status.h>

#include "clock.h"
#include "log.h"
#include "sink/names.h"
#include "sink/spawn.h"
#include "sink/stream.h"

struct pipe_sink {
    struct rkc_sink sink;
    int to, from; /* the writer's stdin and stdout */
    pid_t writer;
    char *output; /* the name wanted */
    int64_t deadline_ns;
    uint32_t row_metrics;
    struct rkc_buffer buffer;
    char text[RKC_SINK_TEXT_MAX]; /* what the writer said last, or what went wrong */
    char hint[256];               /* the first thing that it said and that is no answer */
};

static struct pipe_sink *pipe_of(struct rkc_sink *sink)
{
    return (struct pipe_sink *)sink;
}

static int fail(struct pipe_sink *pipe, const char *why)
{
    if (why != pipe->text)
        snprintf(pipe->text, sizeof pipe->text, "%s", why);
    rkc_log(RKC_LOG_WARNING, "cannot write the profile: %s", pipe->text);
    return RKC_EWRITER;
}

/* Wait until the descriptor is ready; 0 when the deadline comes first. */
static int wait_ready(const struct pipe_sink *pipe, int fd, short events)
{
    for (;;) {
        int64_t left_ns = pipe->deadline_ns - rkc_clock_monotonic_ns();
        if (left_ns < 0)
            left_ns = 0;
        int64_t left_ms = (left_ns + 999999) / 1000000;
        struct pollfd poll_fd = {.fd = fd, .events = events};
        int ready = poll(&poll_fd, 1, left_ms < 3600000 ? (int)left_ms : 3600000);
        if (ready > 0)
            return 1;
        if ((ready == 0 && left_ns == 0) || (ready < 0 && errno != EINTR && errno != EAGAIN))
            return 0;
    }
}

static int begins_with(const char *text, const char *word)
{
    return strncmp(text, word, strlen(word)) == 0;
}

static void take_hint(struct pipe_sink *pipe, const char *line)
{
    if (!pipe->hint[0])
        snprintf(pipe->hint, sizeof pipe->hint, "%.250s", line);
}

/* A line before the answer: something to be told to the user, or a hint. */
static void take_line(struct pipe_sink *pipe, const char *line)
{
    if (begins_with(line, "note "))
        rkc_log(RKC_LOG_WARNING, "%s", line + strlen("note "));
    else
        take_hint(pipe, line);
}

/* Drop the lines before the answer; 1 when that is then at the beginning. */
static int find_answer(struct pipe_sink *pipe, size_t *used)
{
    char *end;
    while ((end = memchr(pipe->text, '\n', *used))) {
        *end = '\0';
        if (begins_with(pipe->text, "ok ") || begins_with(pipe->text, "error "))
            return 1;
        take_line(pipe, pipe->text);
        *used -= (size_t)(end + 1 - pipe->text);
        memmove(pipe->text, end + 1, *used);
    }
    return 0;
}

/* Read the writer's answer to pipe->text; 0 where there is none. A writer that has ended without
 * one had no time to clean up. */
static int read_answer(struct pipe_sink *pipe)
{
    size_t used = 0;
    while (wait_ready(pipe, pipe->from, POLLIN)) {
        ssize_t n = read(pipe->from, pipe->text + used, sizeof pipe->text - 1 - used);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            rkc_names_clean(pipe->output, pipe->writer);
            break;
        }
        used += (size_t)n;
        if (find_answer(pipe, &used))
            return 1;
        if (used == sizeof pipe->text - 1)
            used = 0;
    }
    pipe->text[used] = '\0';
    take_hint(pipe, pipe->text);
    return 0;
}

/* Take the first word off the answer if it is that one. */
static int take_word(struct pipe_sink *pipe, const char *word)
{
    if (!begins_with(pipe->text, word))
        return 0;
    memmove(pipe->text, pipe->text + strlen(word), strlen(pipe->text + strlen(word)) + 1);
    return 1;
}

/* The writer gave no answer. */
static int fail_by_hint(struct pipe_sink *pipe, const char *why)
{
    snprintf(pipe->text, sizeof pipe->text, "%s%s%s", why, pipe->hint[0] ? ": " : "", pipe->hint);
    return fail(pipe, pipe->text);
}

/* The writer takes no more. */
static int fail_by_answer(struct pipe_sink *pipe)
{
    if (read_answer(pipe) && take_word(pipe, "error "))
        return fail(pipe, pipe->text);
    return fail_by_hint(pipe, "the writer process ended early");
}

/* Send what the frame functions have put into the buffer; `status` is theirs. */
static int send_buffer(struct pipe_sink *pipe, int status)
{
    if (status != 0)
        return fail(pipe, rkc_strerror(status));
    const char *at = pipe->buffer.data;
    size_t left = pipe->buffer.size;
    while (left > 0) {
        ssize_t sent = send(pipe->to, at, left, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent >= 0) {
            at += sent;
            left -= (size_t)sent;
        } else if (errno == EPIPE || errno == ECONNRESET) {
            return fail_by_answer(pipe);
        } else if (errno == EAGAIN) {
            if (!wait_ready(pipe, pipe->to, POLLOUT))
                return fail(pipe, "the writer process did not take it in time");
        } else if (errno != EINTR) {
            return fail(pipe, strerror(errno));
        }
    }
    pipe->buffer.size = 0;
    return 0;
}

static int send_plan(struct rkc_sink *sink, uint32_t n_paths, uint32_t metrics)
{
    struct pipe_sink *pipe = pipe_of(sink);
    return send_buffer(pipe, rkc_stream_plan(&pipe->buffer, n_paths, metrics));
}

static int send_job(struct rkc_sink *sink, const struct rkc_job *job)
{
    struct pipe_sink *pipe = pipe_of(sink);
    pipe->row_metrics = job->row_metrics;
    return send_buffer(pipe, rkc_stream_job(&pipe->buffer, job));
}

static int send_profile(struct rkc_sink *sink, const struct rkc_profile *profile)
{
    struct pipe_sink *pipe = pipe_of(sink);
    return send_buffer(pipe, rkc_stream_profile(&pipe->buffer, profile));
}

static int send_numbers(struct rkc_sink *sink, const struct rkc_numbers *numbers)
{
    struct pipe_sink *pipe = pipe_of(sink);
    return send_buffer(pipe, rkc_stream_numbers(&pipe->buffer, numbers));
}

static int send_rows(struct rkc_sink *sink, const struct rkc_rows *rows)
{
    struct pipe_sink *pipe = pipe_of(sink);
    return send_buffer(pipe, rkc_stream_rows(&pipe->buffer, rows, pipe->row_metrics));
}

/* Behind the name, and a tab, the writer says how long it took. */
static void cut_tail(struct pipe_sink *pipe)
{
    char *tab = strrchr(pipe->text, '\t');
    if (!tab)
        return;
    *tab = '\0';
    rkc_log(RKC_LOG_DETAIL, "writer: %s", tab + 1);
}

static int finish(struct rkc_sink *sink, enum rkc_file_status status,
                  const struct rkc_rank_range *missing, uint32_t n_missing,
                  char text[RKC_SINK_TEXT_MAX])
{
    struct pipe_sink *pipe = pipe_of(sink);
    int error = send_buffer(pipe, rkc_stream_finish(&pipe->buffer, status, missing, n_missing));
    if (error == 0)
        shutdown(pipe->to, SHUT_WR);
    if (error == 0 && !read_answer(pipe))
        error = fail_by_hint(pipe, "the writer process did not answer");
    else if (error == 0 && take_word(pipe, "error "))
        error = fail(pipe, pipe->text);
    else if (error == 0 && take_word(pipe, "ok "))
        cut_tail(pipe);
    memcpy(text, pipe->text, sizeof pipe->text);
    return error;
}

static void close_pipe(struct rkc_sink *sink)
{
    struct pipe_sink *pipe = pipe_of(sink);
    close(pipe->to);
    close(pipe->from);
    rkc_buffer_free(&pipe->buffer);
    free(pipe->output);
    free(pipe);
}

static const struct rkc_sink_ops pipe_ops = {
    .job = send_job,
    .profile = send_profile,
    .numbers = send_numbers,
    .rows = send_rows,
    .finish = finish,
    .close = close_pipe,
    .plan = send_plan,
};

void rkc_sink_pipe_set_deadline(struct rkc_sink *sink, int64_t deadline_ns)
{
    pipe_of(sink)->deadline_ns = deadline_ns;
}

/* Start `writer write`. */
static int start_writer(const char *writer, struct pipe_sink *pipe)
{
    char **environment = rkc_spawn_environment();
    if (!environment)
        return RKC_ENOMEM;
    char *argv[] = {(char *)(uintptr_t)writer, (char[]){"write"}, NULL};
    int status = rkc_spawn(argv, environment, &pipe->writer, &pipe->to, &pipe->from);
    if (status != 0)
        rkc_log(RKC_LOG_WARNING, "cannot start %s: %s", writer, strerror(errno));
    free(environment);
    return status;
}

int rkc_sink_pipe_open(const char *writer, const char *output, unsigned mode, int64_t deadline_ns,
                       struct rkc_sink **sink)
{
    struct pipe_sink *pipe = calloc(1, sizeof *pipe);
    if (!pipe)
        return RKC_ENOMEM;
    pipe->sink.ops = &pipe_ops;
    pipe->deadline_ns = deadline_ns;
    pipe->output = strdup(output);
    int status = pipe->output ? start_writer(writer, pipe) : RKC_ENOMEM;
    if (status != 0) {
        free(pipe->output);
        free(pipe);
        return status;
    }
    status = send_buffer(pipe, rkc_stream_open(&pipe->buffer, mode, output));
    if (status != 0) {
        close_pipe(&pipe->sink);
        return status;
    }
    *sink = &pipe->sink;
    return 0;
}
