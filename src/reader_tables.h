/* reader_tables.h - what a reader holds, and the parts that fill it. */
#ifndef RKC_READER_TABLES_H
#define RKC_READER_TABLES_H

#include <rankclock/reader.h>

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
    struct rkc_reader_device *devices;
    struct rkc_reader_device_use *device_use;
    struct rkc_reader_metric *metrics;
    struct rkc_reader_rows *rows;
    size_t n_facts, n_regions, n_paths, n_ranks, n_missing, n_notes, n_transfers, n_metrics;
    size_t n_rows, n_devices, n_device_use;
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

#endif
