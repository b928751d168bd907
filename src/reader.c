/* reader.c - the public face of a result file; what it hands out was checked when it was opened. */
#include "autoconf.h"

#include <rankclock/reader.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rankclock/status.h>

#include "reader_tables.h"
#include "schema.h"

enum { BUCKETS_MAX = 4096 };

static const char *const stat_names[RKC_PROFILE_STATS] = {
#define STAT(id, name, unit, prefix) name,
    RKC_PROFILE_STAT_LIST(STAT)
#undef STAT
};

static int load_attributes(struct rkc_reader *reader)
{
    struct rkc_source *source = &reader->source;
    reader->schema = rkc_source_attribute(source, "rankclock_schema");
    if (!reader->schema)
        return rkc_source_fail(source, RKC_EFORMAT, "not a rankclock file");
    unsigned major, minor;
    if (sscanf(reader->schema, "%5u.%5u", &major, &minor) != 2)
        return rkc_source_fail(source, RKC_EFORMAT, "its schema has no number");
    if (major > RKC_SCHEMA_MAJOR)
        return rkc_source_fail(source, RKC_EVERSION,
                               "its schema %u.%u is newer than %d.x, which this rankclock reads",
                               major, minor, (int)RKC_SCHEMA_MAJOR);
    if (major < RKC_SCHEMA_MAJOR)
        return rkc_source_fail(source, RKC_EFORMAT, "no released schema is %u.%u", major, minor);
    reader->writer = rkc_source_attribute(source, "writer");
    reader->created = rkc_source_attribute(source, "created");
    reader->status = rkc_source_attribute(source, "status");
    static const char *const words[] = {"COMPLETE", "PARTIAL", "ABORTED"};
    for (int i = 0; reader->status && i < 3; i++)
        if (strcmp(reader->status, words[i]) == 0) {
            reader->state = (enum rkc_reader_state)i;
            return 0;
        }
    return rkc_source_fail(source, RKC_EFORMAT, "its status is unknown");
}

/* Whether a group of /profile has all the statistics of a metric. */
static int is_metric(struct rkc_reader *reader, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "profile/%s", name);
    if (!rkc_source_has_group(&reader->source, path))
        return 0;
    for (int i = 0; i < RKC_PROFILE_STATS; i++) {
        snprintf(path, sizeof path, "profile/%s/%s", name, stat_names[i]);
        if (!rkc_source_has(&reader->source, path))
            return 0;
    }
    return 1;
}

static int fill_stats(struct rkc_reader *reader, struct rkc_reader_metric *metric,
                      const struct rkc_array *arrays)
{
    for (size_t i = 0; i < reader->n_paths; i++) {
        int64_t ranks = arrays[RKC_PROFILE_RANKS].ints[i];
        int64_t min_rank = arrays[RKC_PROFILE_MIN_RANK].ints[i];
        int64_t max_rank = arrays[RKC_PROFILE_MAX_RANK].ints[i];
        if (ranks < 0 || min_rank < -1 || min_rank > INT32_MAX || max_rank < -1 ||
            max_rank > INT32_MAX)
            return rkc_source_fail(&reader->source, RKC_EFORMAT,
                                   "/profile/%s, row %zu: no such rank", metric->name, i);
        struct rkc_reader_stat *stat = &metric->stats[i];
        if (ranks == 0)
            *stat = (struct rkc_reader_stat){RKC_READER_ABSENT, RKC_READER_ABSENT,
                                             RKC_READER_ABSENT, NAN, -1, -1, 0};
        else
            *stat = (struct rkc_reader_stat){
                .sum = arrays[RKC_PROFILE_SUM].ints[i],
                .min = arrays[RKC_PROFILE_MIN].ints[i],
                .max = arrays[RKC_PROFILE_MAX].ints[i],
                .sumsq = arrays[RKC_PROFILE_SUMSQ].floats[i],
                .min_rank = (int32_t)min_rank,
                .max_rank = (int32_t)max_rank,
                .ranks = ranks,
            };
    }
    return 0;
}

static int load_metric(struct rkc_reader *reader, const char *name)
{
    struct rkc_source *source = &reader->source;
    struct rkc_array arrays[RKC_PROFILE_STATS];
    for (int i = 0; i < RKC_PROFILE_STATS; i++) {
        char path[512];
        struct rkc_array_shape shape = {
            i == RKC_PROFILE_SUMSQ ? RKC_ARRAY_FLOAT : RKC_ARRAY_INT, 1, reader->n_paths, 1};
        snprintf(path, sizeof path, "profile/%s/%s", name, stat_names[i]);
        int status = rkc_source_read(source, path, &shape, &arrays[i]);
        if (status)
            return status;
    }
    struct rkc_reader_metric *metric = &reader->metrics[reader->n_metrics];
    metric->name = name;
    metric->stats = rkc_source_alloc(source, reader->n_paths, sizeof *metric->stats);
    if (!metric->stats)
        return source->status;
    int status = fill_stats(reader, metric, arrays);
    if (status)
        return status;
    for (int i = 0; i < RKC_PROFILE_STATS; i++)
        rkc_source_release(source, arrays[i].data);
    reader->n_metrics++;
    return 0;
}

static int load_histogram(struct rkc_reader *reader)
{
    struct rkc_source *source = &reader->source;
    struct rkc_array array, edges;
    if (!rkc_source_has(source, "profile/histogram"))
        return 0;
    struct rkc_array_shape shape = {RKC_ARRAY_INT, 2, reader->n_paths, RKC_ANY_SIZE};
    int status = rkc_source_read(source, "profile/histogram", &shape, &array);
    if (status)
        return status;
    if (array.columns == 0 || array.columns > BUCKETS_MAX)
        return rkc_source_fail(source, RKC_EFORMAT, "/profile/histogram has no sane width");
    shape = (struct rkc_array_shape){RKC_ARRAY_INT, 1, array.columns + 1, 1};
    status = rkc_source_read(source, "profile/histogram_edges_ns", &shape, &edges);
    if (status)
        return status;
    for (size_t i = 0; i < array.columns; i++)
        if (edges.ints[i] < 0 || edges.ints[i] > edges.ints[i + 1])
            return rkc_source_fail(source, RKC_EFORMAT, "/profile/histogram_edges_ns fall");
    for (size_t i = 0; i < array.rows * array.columns; i++)
        if (array.ints[i] < 0)
            return rkc_source_fail(source, RKC_EFORMAT, "/profile/histogram counts below 0");
    reader->histogram = array.ints;
    reader->time_buckets = array.columns;
    reader->time_edges = edges.ints;
    return 0;
}

static int load_profile(struct rkc_reader *reader)
{
    struct rkc_source *source = &reader->source;
    char **names;
    size_t n;
    int status = rkc_source_names(source, "profile", &names, &n);
    if (status)
        return status;
    reader->metrics = rkc_source_alloc(source, n, sizeof *reader->metrics);
    if (!reader->metrics)
        return reader->source.status;
    for (size_t i = 0; i < n && !status; i++)
        if (is_metric(reader, names[i]))
            status = load_metric(reader, names[i]);
    if (!status && rkc_source_has(source, "profile/visit_sumsq_ns2/sum")) {
        struct rkc_array array;
        struct rkc_array_shape shape = {RKC_ARRAY_FLOAT, 1, reader->n_paths, 1};
        status = rkc_source_read(source, "profile/visit_sumsq_ns2/sum", &shape, &array);
        if (!status)
            reader->visit_sumsq = array.floats;
    }
    return status ? status : load_histogram(reader);
}

static int load_rows(struct rkc_reader *reader)
{
    struct rkc_source *source = &reader->source;
    char **names;
    size_t n;
    if (!rkc_source_has_group(source, "per_rank"))
        return 0;
    int status = rkc_source_names(source, "per_rank", &names, &n);
    if (status)
        return status;
    reader->rows = rkc_source_alloc(source, n, sizeof *reader->rows);
    if (!reader->rows)
        return reader->source.status;
    for (size_t i = 0; i < n; i++) {
        char path[512];
        struct rkc_array array;
        struct rkc_array_shape shape = {RKC_ARRAY_INT, 2, reader->n_ranks, reader->n_paths};
        snprintf(path, sizeof path, "per_rank/%s", names[i]);
        hid_t dataset = rkc_source_dataset(source, path, &shape, &array);
        if (dataset < 0)
            return RKC_EFORMAT;
        reader->rows[reader->n_rows++] = (struct rkc_reader_rows){names[i], dataset};
    }
    return 0;
}

static int load(struct rkc_reader *reader)
{
    static int (*const parts[])(struct rkc_reader *) = {
        load_attributes,         rkc_reader_load_job,     rkc_reader_load_regions,
        rkc_reader_load_paths,   rkc_reader_load_ranks,   rkc_reader_load_devices,
        rkc_reader_load_missing, rkc_reader_load_notes,   rkc_reader_load_transfers,
        rkc_reader_load_waits,   rkc_reader_load_matrix,  load_profile,
        load_rows,
    };
    int status = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && !status; i++)
        status = parts[i](reader);
    return status;
}

int rkc_reader_open(const char *path, struct rkc_reader **reader, char *text, size_t size)
{
    struct rkc_quiet quiet;
    struct rkc_reader *new = calloc(1, sizeof *new);
    char *copy = strdup(path);
    if (!new || !copy) {
        free(new);
        free(copy);
        if (text && size > 0)
            snprintf(text, size, "%s: out of memory", path);
        return RKC_ENOMEM;
    }
    rkc_quiet_begin(&quiet);
    int status = rkc_source_open(&new->source, copy, text, size);
    if (!status)
        status = load(new);
    if (status) {
        rkc_source_close(&new->source);
        free(copy);
        free(new);
    } else {
        /* The caller's buffer is not ours any longer; what was left out is no failure. */
        new->source.text = NULL;
        if (text && size > 0)
            text[0] = '\0';
        new->path = copy;
        *reader = new;
    }
    rkc_quiet_end(&quiet);
    return status;
}

void rkc_reader_close(struct rkc_reader *reader)
{
    if (!reader)
        return;
    struct rkc_quiet quiet;
    rkc_quiet_begin(&quiet);
    for (size_t i = 0; i < reader->n_rows; i++)
        H5Dclose(reader->rows[i].dataset);
    for (int i = 0; i < RKC_MATRIX_COLUMNS; i++)
        if (reader->matrix[i] > 0)
            H5Dclose(reader->matrix[i]);
    rkc_source_close(&reader->source);
    rkc_quiet_end(&quiet);
    free(reader->path);
    free(reader);
}

enum rkc_reader_state rkc_reader_state(const struct rkc_reader *reader)
{
    return reader->state;
}

const char *rkc_reader_attribute(const struct rkc_reader *reader, const char *name)
{
    if (strcmp(name, "rankclock_schema") == 0)
        return reader->schema;
    if (strcmp(name, "writer") == 0)
        return reader->writer;
    if (strcmp(name, "created") == 0)
        return reader->created;
    return strcmp(name, "status") == 0 ? reader->status : NULL;
}

static const struct rkc_reader_fact *find_fact(const struct rkc_reader *reader, const char *name)
{
    for (size_t i = 0; i < reader->n_facts; i++)
        if (strcmp(reader->facts[i].name, name) == 0)
            return &reader->facts[i];
    return NULL;
}

const char *rkc_reader_job(const struct rkc_reader *reader, const char *name)
{
    const struct rkc_reader_fact *fact = find_fact(reader, name);
    return fact ? fact->text : NULL;
}

int64_t rkc_reader_job_int(const struct rkc_reader *reader, const char *name)
{
    const struct rkc_reader_fact *fact = find_fact(reader, name);
    return fact ? fact->value : RKC_READER_ABSENT;
}

size_t rkc_reader_n_job(const struct rkc_reader *reader)
{
    return reader->n_facts;
}

const char *rkc_reader_job_name(const struct rkc_reader *reader, size_t i)
{
    return i < reader->n_facts ? reader->facts[i].name : NULL;
}

const struct rkc_reader_rank *rkc_reader_ranks(const struct rkc_reader *reader, size_t *n)
{
    *n = reader->n_ranks;
    return reader->ranks;
}

const struct rkc_reader_region *rkc_reader_regions(const struct rkc_reader *reader, size_t *n)
{
    *n = reader->n_regions;
    return reader->regions;
}

const struct rkc_reader_path *rkc_reader_paths(const struct rkc_reader *reader, size_t *n)
{
    *n = reader->n_paths;
    return reader->paths;
}

const struct rkc_reader_transfer *rkc_reader_transfers(const struct rkc_reader *reader, size_t *n)
{
    *n = reader->n_transfers;
    return reader->transfers;
}

const struct rkc_reader_wait *rkc_reader_waits(const struct rkc_reader *reader, size_t *n)
{
    *n = reader->n_waits;
    return reader->waits;
}

const struct rkc_reader_note *rkc_reader_notes(const struct rkc_reader *reader, size_t *n)
{
    *n = reader->n_notes;
    return reader->notes;
}

const struct rkc_reader_range *rkc_reader_missing(const struct rkc_reader *reader, size_t *n)
{
    *n = reader->n_missing;
    return reader->missing;
}

const struct rkc_reader_device *rkc_reader_devices(const struct rkc_reader *reader, size_t *n)
{
    *n = reader->n_devices;
    return reader->devices;
}

const struct rkc_reader_device_use *rkc_reader_device_use(const struct rkc_reader *reader,
                                                          size_t *n)
{
    *n = reader->n_device_use;
    return reader->device_use;
}

const struct rkc_reader_stat *rkc_reader_profile(const struct rkc_reader *reader,
                                                 const char *metric)
{
    for (size_t i = 0; i < reader->n_metrics; i++)
        if (strcmp(reader->metrics[i].name, metric) == 0)
            return reader->metrics[i].stats;
    return NULL;
}

const char *rkc_reader_metric(const struct rkc_reader *reader, size_t i)
{
    return i < reader->n_metrics ? reader->metrics[i].name : NULL;
}

const double *rkc_reader_visit_sumsq(const struct rkc_reader *reader)
{
    return reader->visit_sumsq;
}

const int64_t *rkc_reader_histogram(const struct rkc_reader *reader, size_t *buckets,
                                    const int64_t **edges_ns)
{
    *buckets = reader->time_buckets;
    *edges_ns = reader->time_edges;
    return reader->histogram;
}

size_t rkc_reader_size_buckets(const struct rkc_reader *reader, const int64_t **edges_bytes)
{
    *edges_bytes = reader->size_edges;
    return reader->size_buckets;
}

static int read_column(struct rkc_reader *reader, hid_t dataset, size_t callpath, int64_t *values)
{
    hsize_t start[2] = {0, callpath}, count[2] = {reader->n_ranks, 1};
    hid_t file = H5Dget_space(dataset);
    hid_t memory = H5Screate_simple(1, count, NULL);
    int status = RKC_EFORMAT;
    if (file >= 0 && memory >= 0 &&
        H5Sselect_hyperslab(file, H5S_SELECT_SET, start, NULL, count, NULL) >= 0 &&
        H5Dread(dataset, H5T_NATIVE_INT64, memory, file, H5P_DEFAULT, values) >= 0)
        status = 0;
    if (file >= 0)
        H5Sclose(file);
    if (memory >= 0)
        H5Sclose(memory);
    return status;
}

int rkc_reader_per_rank(struct rkc_reader *reader, const char *metric, size_t callpath,
                        int64_t *values)
{
    if (callpath >= reader->n_paths)
        return RKC_EARG;
    const struct rkc_reader_rows *rows = NULL;
    for (size_t i = 0; i < reader->n_rows && !rows; i++)
        if (strcmp(reader->rows[i].name, metric) == 0)
            rows = &reader->rows[i];
    if (!rows)
        return RKC_ENOTFOUND;
    if (reader->n_ranks == 0)
        return 0;
    struct rkc_quiet quiet;
    rkc_quiet_begin(&quiet);
    int status = read_column(reader, rows->dataset, callpath, values);
    rkc_quiet_end(&quiet);
    return status;
}
