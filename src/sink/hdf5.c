/* hdf5.c - the sink takes a run's parts in order and publishes the file once it is whole. */
#include "autoconf.h"

#include "sink/hdf5.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rankclock/status.h>

#include "clock.h"
#include "sink/hdf5_parts.h"
#include "sink/publish.h"

/* What comes next. */
enum stage { AT_PLAN, AT_JOB, AT_PROFILE, AT_NUMBERS, AT_ROWS, AT_END };

enum { NOTES_OWN = 3 };

struct hdf5_sink {
    struct rkc_sink sink;
    enum stage stage;
    struct rkc_publish publish;
    char *name; /* wanted, for messages */
    struct rkc_h5 h5;
    struct rkc_job job;
    hid_t job_group;
    struct rkc_h5_numbers numbers;
    struct rkc_h5_rows rows;
    struct rkc_profile_note *notes; /* room for NOTES_OWN more */
    size_t n_notes;
    int64_t write_ns, fsync_ns;
    char text[RKC_SINK_TEXT_MAX];
};

/* Go on to `stage`, or refuse what comes out of order. */
static int enter(struct hdf5_sink *sink, enum stage first, enum stage last, enum stage next)
{
    if (sink->stage < first || sink->stage > last)
        return rkc_h5_refuse(&sink->h5, RKC_EARG, "its parts came out of order");
    sink->stage = next;
    return 0;
}

static int take_plan(struct rkc_sink *base, uint32_t n_paths, uint32_t metrics)
{
    struct hdf5_sink *sink = (struct hdf5_sink *)base;
    int64_t begin_ns = rkc_clock_monotonic_ns();
    int status = enter(sink, AT_PLAN, AT_PLAN, AT_JOB);
    if (!status)
        status = rkc_h5_numbers_plan(&sink->h5, &sink->numbers, n_paths, metrics);
    sink->write_ns += rkc_clock_monotonic_ns() - begin_ns;
    return status;
}

static int take_job(struct rkc_sink *base, const struct rkc_job *job)
{
    struct hdf5_sink *sink = (struct hdf5_sink *)base;
    int status = enter(sink, AT_PLAN, AT_JOB, AT_PROFILE);
    if (status)
        return status;
    struct rkc_job *copy = &sink->job;
    copy->start_unix_ns = job->start_unix_ns;
    copy->wall_ns = job->wall_ns;
    copy->overhead_ns = job->overhead_ns;
    copy->ranks = job->ranks;
    copy->metrics = job->metrics;
    copy->row_metrics = job->row_metrics;
    copy->device_uses = job->device_uses;
    for (uint32_t i = 0; i < job->n_facts && !status; i++)
        status = rkc_job_set(copy, job->facts[i].key, job->facts[i].value);
    return status ? rkc_h5_refuse(&sink->h5, status, "out of memory") : 0;
}

/* A note of the sink's own. */
static void add_note(struct hdf5_sink *sink, enum rkc_note_kind kind, int32_t rank, int64_t count)
{
    if (count > 0)
        sink->notes[sink->n_notes++] = (struct rkc_profile_note){
            .kind = (uint8_t)kind, .region = RKC_NO_PATH, .rank = rank, .count = count};
}

/* What a bounded profile had no room for. */
static void note_left_out(struct hdf5_sink *sink, const struct rkc_profile *profile)
{
    uint64_t operations = 0;
    for (int i = 0; profile->spilled && i < RKC_SIZE_BUCKETS; i++)
        if (__builtin_add_overflow(operations, profile->spilled->size[i], &operations))
            operations = UINT64_MAX;
    add_note(sink, RKC_NOTE_TRANSFERS, -1,
             operations < INT64_MAX ? (int64_t)operations : INT64_MAX);
    add_note(sink, RKC_NOTE_WAITS, -1, profile->waits_dropped);
}

static int put_head(struct hdf5_sink *sink, const struct rkc_profile *profile)
{
    int status = rkc_h5_put_root(&sink->h5);
    if (!status)
        status = rkc_h5_put_job(&sink->h5, &sink->job, &sink->job_group);
    if (!status && profile->paths_folded > 0)
        status = rkc_h5_put_job_int(&sink->h5, sink->job_group, "callpaths_folded", "1",
                                    "times that a call path beyond the limit was folded into "
                                    "\"(other)\"",
                                    profile->paths_folded);
    if (!status)
        status = rkc_h5_put_profile(&sink->h5, profile);
    if (!status)
        status = rkc_h5_numbers_begin(&sink->h5, &sink->numbers, profile, sink->job.metrics);
    if (!status)
        status = rkc_h5_rows_begin(&sink->h5, &sink->rows, profile->n_paths, &sink->job);
    return status;
}

static int take_profile(struct rkc_sink *base, const struct rkc_profile *profile)
{
    struct hdf5_sink *sink = (struct hdf5_sink *)base;
    int64_t begin_ns = rkc_clock_monotonic_ns();
    int status = enter(sink, AT_PROFILE, AT_PROFILE, AT_NUMBERS);
    if (status)
        return status;
    sink->notes = calloc((size_t)profile->n_notes + NOTES_OWN, sizeof *sink->notes);
    if (!sink->notes)
        return rkc_h5_refuse(&sink->h5, RKC_ENOMEM, "out of memory");
    sink->n_notes = profile->n_notes;
    if (sink->n_notes > 0)
        memcpy(sink->notes, profile->notes, sink->n_notes * sizeof *sink->notes);
    note_left_out(sink, profile);
    status = put_head(sink, profile);
    sink->write_ns += rkc_clock_monotonic_ns() - begin_ns;
    return status;
}

static int take_numbers(struct rkc_sink *base, const struct rkc_numbers *numbers)
{
    struct hdf5_sink *sink = (struct hdf5_sink *)base;
    int64_t begin_ns = rkc_clock_monotonic_ns();
    int status = enter(sink, AT_NUMBERS, AT_NUMBERS, AT_NUMBERS);
    if (!status)
        status = rkc_h5_numbers_add(&sink->h5, &sink->numbers, numbers);
    sink->write_ns += rkc_clock_monotonic_ns() - begin_ns;
    return status;
}

static int take_rows(struct rkc_sink *base, const struct rkc_rows *rows)
{
    struct hdf5_sink *sink = (struct hdf5_sink *)base;
    int64_t begin_ns = rkc_clock_monotonic_ns();
    int status = enter(sink, AT_NUMBERS, AT_ROWS, AT_ROWS);
    if (!status)
        status = rkc_h5_rows_add(&sink->h5, &sink->rows, rows);
    sink->write_ns += rkc_clock_monotonic_ns() - begin_ns;
    return status;
}

/* A file made under SOURCE_DATE_EPOCH is to be the same each time. */
static int put_write_time(struct hdf5_sink *sink, int64_t begin_ns)
{
    int fixed = getenv("SOURCE_DATE_EPOCH") != NULL;
    int64_t now_ns = sink->write_ns + rkc_clock_monotonic_ns() - begin_ns;
    return rkc_h5_put_job_int(&sink->h5, sink->job_group, "write_ns", "ns",
                              "time that building the file took, before it was put to disk; -1 "
                              "if not stored",
                              fixed ? RKC_ABSENT : now_ns);
}

static int put_tail(struct hdf5_sink *sink, enum rkc_file_status file_status,
                    const struct rkc_rank_range *missing, uint32_t n_missing, int64_t begin_ns)
{
    static const char *const words[] = {"COMPLETE", "PARTIAL", "ABORTED"};
    int status = rkc_h5_numbers_end(&sink->h5, &sink->numbers);
    if (!status)
        status = rkc_h5_rows_end(&sink->h5, &sink->rows);
    add_note(sink, RKC_NOTE_SATURATED, sink->numbers.saturated_rank, sink->numbers.saturated);
    if (!status)
        status = rkc_h5_put_notes(&sink->h5, sink->notes, sink->n_notes);
    if (!status)
        status = rkc_h5_put_missing(&sink->h5, missing, n_missing);
    if (!status)
        status = rkc_h5_attribute_text(&sink->h5, sink->h5.file, "status", words[file_status]);
    if (!status)
        status = put_write_time(sink, begin_ns);
    if (sink->job_group > 0)
        H5Gclose(sink->job_group);
    sink->job_group = 0;
    return status;
}

static int finish(struct rkc_sink *base, enum rkc_file_status file_status,
                  const struct rkc_rank_range *missing, uint32_t n_missing,
                  char text[RKC_SINK_TEXT_MAX])
{
    struct hdf5_sink *sink = (struct hdf5_sink *)base;
    int64_t begin_ns = rkc_clock_monotonic_ns();
    int status = enter(sink, AT_NUMBERS, AT_ROWS, AT_END);
    if (!status)
        status = put_tail(sink, file_status, missing, n_missing, begin_ns);
    if (!status)
        status = rkc_h5_close(&sink->h5);
    int64_t written_ns = rkc_clock_monotonic_ns();
    sink->write_ns += written_ns - begin_ns;
    if (status) {
        memcpy(text, sink->text, sizeof sink->text);
        return status;
    }
    status = rkc_publish_finish(&sink->publish, text);
    sink->fsync_ns = rkc_clock_monotonic_ns() - written_ns;
    if (status)
        memcpy(sink->text, text, sizeof sink->text);
    return status;
}

static void close_sink(struct rkc_sink *base)
{
    struct hdf5_sink *sink = (struct hdf5_sink *)base;
    if (!sink)
        return;
    rkc_h5_numbers_free(&sink->h5, &sink->numbers);
    rkc_h5_rows_free(&sink->h5, &sink->rows);
    if (sink->job_group > 0)
        H5Gclose(sink->job_group);
    rkc_publish_abandon(&sink->publish);
    rkc_h5_discard(&sink->h5);
    rkc_publish_abort(&sink->publish);
    rkc_job_free(&sink->job);
    free(sink->notes);
    free(sink->name);
    free(sink);
}

void rkc_sink_hdf5_report(const struct rkc_sink *base, struct rkc_sink_hdf5_report *report)
{
    const struct hdf5_sink *sink = (const struct hdf5_sink *)base;
    *report = (struct rkc_sink_hdf5_report){sink->write_ns, sink->fsync_ns, sink->text,
                                             sink->h5.note};
}

void rkc_sink_hdf5_abandon(struct rkc_sink *base)
{
    rkc_publish_abandon(&((struct hdf5_sink *)base)->publish);
}

int rkc_sink_hdf5_open(const char *output, unsigned mode, struct rkc_sink **sink,
                       char text[RKC_SINK_TEXT_MAX])
{
    static const struct rkc_sink_ops ops = {take_job,  take_profile, take_numbers,
                                            take_rows, finish,       close_sink,
                                            take_plan};
    struct hdf5_sink *new = calloc(1, sizeof *new);
    char *name = strdup(output);
    int status = RKC_ENOMEM;
    if (!new || !name) {
        snprintf(text, RKC_SINK_TEXT_MAX, "cannot create %s: out of memory", output);
        goto failed;
    }
    status = rkc_publish_begin(output, mode, &new->publish, text);
    if (status)
        goto failed;
    new->sink.ops = &ops;
    new->name = name;
    rkc_job_init(&new->job);
    /* At once: whoever has opened the sink may still have to wait for what goes into it. */
    status = rkc_h5_create(&new->h5, new->publish.temporary, name, new->text);
    if (status) {
        memcpy(text, new->text, sizeof new->text);
        close_sink(&new->sink);
        return status;
    }
    *sink = &new->sink;
    return 0;

failed:
    free(new);
    free(name);
    return status;
}
