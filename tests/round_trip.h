/* round_trip.h - made-up runs through the HDF5 sink and the reader, in a folder of the test's. */
#ifndef TESTS_ROUND_TRIP_H
#define TESTS_ROUND_TRIP_H

#include <stdio.h>
#include <stdlib.h>

#include <rankclock/reader.h>

#include "sink/hdf5.h"
#include "synthetic.h"
#include "tap.h"

static char folder[] = "/tmp/rankclock_test.XXXXXX";

static inline const char *in_folder(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static inline void empty_folder(void)
{
    char command[300];
    snprintf(command, sizeof command, "rm -rf %s; mkdir %s", folder, folder);
    if (system(command))
        exit(1);
}

static inline int write_run(const struct synthetic *run, const char *output,
                            char text[RKC_SINK_TEXT_MAX])
{
    struct rkc_sink *sink;
    text[0] = '\0';
    int status = rkc_sink_hdf5_open(output, 0640, &sink, text);
    if (status)
        return status;
    status = synthetic_send(run, sink, text);
    if (status && text[0] == '\0') {
        struct rkc_sink_hdf5_report report;
        rkc_sink_hdf5_report(sink, &report);
        snprintf(text, RKC_SINK_TEXT_MAX, "%s", report.text);
    }
    sink->ops->close(sink);
    return status;
}

/* Write a run and open what was written; NULL after a check that failed. */
static inline struct rkc_reader *round_trip(const struct synthetic *run, const char *name)
{
    char text[RKC_SINK_TEXT_MAX];
    struct rkc_reader *reader;
    int status = write_run(run, in_folder(name), text);
    if (!tap_ok(status == 0, "a run is written", __FILE__, __LINE__, "%s", text))
        return NULL;
    char path[RKC_SINK_TEXT_MAX];
    strcpy(path, text);
    status = rkc_reader_open(path, &reader, text, sizeof text);
    if (!tap_ok(status == 0, "and read", __FILE__, __LINE__, "%s", text))
        return NULL;
    return reader;
}

/* How many values in /per_rank differ from the run's. */
static inline int64_t wrong_rows(struct rkc_reader *reader, const struct synthetic *run,
                                 uint32_t rank_step)
{
    static const char *const names[] = {
#define NAME(id, name, unit, description) name,
        RKC_METRIC_LIST(NAME)
#undef NAME
    };
    size_t n_ranks, wrong = 0;
    rkc_reader_ranks(reader, &n_ranks);
    int64_t *column = calloc(n_ranks + 1, sizeof *column);
    int64_t (*values)[RKC_METRICS] = calloc(run->n_paths, sizeof *values);
    if (!column || !values)
        exit(1);
    for (int metric = 0; metric < RKC_METRICS; metric++)
        for (uint32_t path = 0; path < run->n_paths; path++) {
            int is_there = synthetic_row_metrics(run) >> metric & 1;
            int status = rkc_reader_per_rank(reader, names[metric], path, column);
            wrong += status != (is_there ? 0 : RKC_ENOTFOUND);
            if (!is_there)
                continue;
            for (uint32_t rank = 0; rank < n_ranks; rank += rank_step) {
                synthetic_rank(run, rank, values);
                wrong += column[rank] != values[path][metric];
            }
        }
    free(column);
    free(values);
    return (int64_t)wrong;
}

#endif
