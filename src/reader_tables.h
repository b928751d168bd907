/* reader_tables.h - what a reader holds, and the parts that fill it. */
#ifndef RKC_READER_TABLES_H
#define RKC_READER_TABLES_H

#include <rankclock/reader.h>
#include <rankclock/status.h>

#include "reader_file.h"

struct rkc_reader_fact {
    const char *name, *text;
    int64_t value; /* RKC_READER_ABSENT for a text */
};

struct rkc_reader_metric {
    const char *name;
    struct rkc_reader_stat *stats; /* one for each call path */
};

/* Values of a metric for each rank, read when asked for. */
struct rkc_reader_rows {
    const char *name;
    hid_t dataset;
};

struct rkc_reader {
    struct rkc_source source;
    char *path;
    enum rkc_reader_state state;
    const char *schema, *writer, *created, *status;

    struct rkc_reader_fact *facts;
    struct rkc_reader_region *regions;
    struct rkc_reader_path *paths;
    struct rkc_reader_rank *ranks;
    struct rkc_reader_range *missing;
    struct rkc_reader_note *notes;
    struct rkc_reader_transfer *transfers;
    struct rkc_reader_wait *waits;
    struct rkc_reader_device *devices;
    struct rkc_reader_device_use *device_use;
    struct rkc_reader_metric *metrics;
    struct rkc_reader_rows *rows;
    size_t n_facts, n_regions, n_paths, n_ranks, n_missing, n_notes, n_transfers, n_metrics;
    size_t n_rows, n_devices, n_device_use, n_waits, n_matrix;
    hid_t matrix[RKC_MATRIX_COLUMNS]; /* where n_matrix is not 0: read when asked for */
    struct rkc_array nodes;

    const double *visit_sumsq;
    const int64_t *histogram, *time_edges, *size_edges;
    size_t time_buckets, size_buckets;
};

/* Each reads and checks a part of the file; 0, RKC_EFORMAT or RKC_ENOMEM. The first come
 * first: others check their indexes. */
int rkc_reader_load_job(struct rkc_reader *reader);
int rkc_reader_load_regions(struct rkc_reader *reader);
int rkc_reader_load_paths(struct rkc_reader *reader);
int rkc_reader_load_ranks(struct rkc_reader *reader);
int rkc_reader_load_devices(struct rkc_reader *reader);
int rkc_reader_load_missing(struct rkc_reader *reader);
int rkc_reader_load_notes(struct rkc_reader *reader);
int rkc_reader_load_transfers(struct rkc_reader *reader);
int rkc_reader_load_waits(struct rkc_reader *reader);
int rkc_reader_load_matrix(struct rkc_reader *reader);

/* Say which row of a table is wrong, and why; RKC_EFORMAT. */
static inline int rkc_reader_bad(struct rkc_reader *reader, const char *table, size_t row,
                                 const char *what)
{
    return rkc_source_fail(&reader->source, RKC_EFORMAT, "/%s, row %zu: %s", table, row, what);
}

/* Whether a number lies in low..high. */
static inline int rkc_within(int64_t value, int64_t low, int64_t high)
{
    return value >= low && value <= high;
}

static inline const char *rkc_text_at(const struct rkc_array *array, size_t row)
{
    return array->texts + row * array->width;
}

/* Let go of the columns of a table but its texts, which rows point into. */
static inline void rkc_reader_release(struct rkc_reader *reader, struct rkc_array *arrays,
                                      size_t n, const struct rkc_column *columns)
{
    for (size_t i = 0; i < n; i++)
        if (columns[i].kind == RKC_COLUMN_INT)
            rkc_source_release(&reader->source, arrays[i].data);
}

#endif
