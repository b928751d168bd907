/* reader_mpi.c - /mpi of a result file. The matrix stays in the file until it is asked for, and its
 * rows are checked then. */
#include "autoconf.h"

#include "reader_tables.h"

#include <stdlib.h>

#include <rankclock/status.h>

enum { BUCKETS_MAX = 4096, MATRIX_ROWS = 16384 };

/* ---- transfers ---- */

static int load_sizes(struct rkc_reader *reader, size_t n, struct rkc_array *sizes)
{
    struct rkc_array edges;
    struct rkc_array_shape shape = {RKC_ARRAY_INT, 2, n, RKC_ANY_SIZE};
    int status = rkc_source_read(&reader->source, "mpi/transfers/size_histogram", &shape, sizes);
    if (status)
        return status;
    if (!rkc_within((int64_t)sizes->columns, 1, BUCKETS_MAX))
        return rkc_reader_bad(reader, "mpi/transfers/size_histogram", 0,
                              "too many buckets or none");
    shape = (struct rkc_array_shape){RKC_ARRAY_INT, 1, sizes->columns + 1, 1};
    status = rkc_source_read(&reader->source, "mpi/size_edges_bytes", &shape, &edges);
    if (status)
        return status;
    for (size_t i = 0; i < sizes->columns; i++)
        if (edges.ints[i] < 0 || edges.ints[i] > edges.ints[i + 1])
            return rkc_reader_bad(reader, "mpi/size_edges_bytes", i, "edges fall");
    reader->size_buckets = sizes->columns;
    reader->size_edges = edges.ints;
    return 0;
}

/* The columns that there are from schema 1.2 on. */
static int load_kinds(struct rkc_reader *reader, size_t n)
{
    static const struct rkc_column columns[] = {RKC_TRANSFERS_KIND_LIST(RKC_COLUMN_ROW)};
    enum { SEND_DEVICE, RECV_DEVICE, NONCONTIGUOUS, COLUMNS };
    struct rkc_array arrays[COLUMNS];
    if (!rkc_source_has(&reader->source, "mpi/transfers/send_device"))
        return 0;
    int status =
        rkc_source_table(&reader->source, "mpi/transfers", columns, COLUMNS, arrays);
    if (status)
        return status;
    if (arrays[0].rows != n)
        return rkc_source_fail(&reader->source, RKC_EFORMAT,
                               "/mpi/transfers/send_device is not of the type and size it should "
                               "be");
    for (size_t i = 0; i < n; i++) {
        int64_t from = arrays[SEND_DEVICE].ints[i], to = arrays[RECV_DEVICE].ints[i];
        int64_t noncontiguous = arrays[NONCONTIGUOUS].ints[i];
        if (!rkc_within(from, -1, INT32_MAX) || !rkc_within(to, -1, INT32_MAX) ||
            noncontiguous < RKC_READER_ABSENT)
            return rkc_reader_bad(reader, "mpi/transfers", i, "it has no such device");
        reader->transfers[i].send_device = (int32_t)from;
        reader->transfers[i].recv_device = (int32_t)to;
        reader->transfers[i].noncontiguous = noncontiguous;
    }
    rkc_reader_release(reader, arrays, COLUMNS, columns);
    return 0;
}

int rkc_reader_load_transfers(struct rkc_reader *reader)
{
    static const struct rkc_column columns[] = {RKC_TRANSFERS_LIST(RKC_COLUMN_ROW)};
    if (!rkc_source_has(&reader->source, "mpi/transfers"))
        return 0;
    struct rkc_array sizes, arrays[RKC_TRANSFERS_OLD_COLUMNS];
    int status = rkc_source_table(&reader->source, "mpi/transfers", columns,
                                  RKC_TRANSFERS_OLD_COLUMNS, arrays);
    if (!status)
        status = load_sizes(reader, arrays[0].rows, &sizes);
    if (status)
        return status;
    size_t n = arrays[0].rows;
    reader->transfers = rkc_source_alloc(&reader->source, n, sizeof *reader->transfers);
    if (!reader->transfers)
        return reader->source.status;
    for (size_t i = 0; i < n; i++) {
        int64_t path = arrays[RKC_TRANSFERS_CALLPATH].ints[i];
        int64_t call = arrays[RKC_TRANSFERS_CALL].ints[i];
        if (!rkc_within(path, 0, (int64_t)reader->n_paths - 1) ||
            !rkc_within(call, 0, (int64_t)reader->n_regions - 1))
            return rkc_reader_bad(reader, "mpi/transfers", i, "it has no such call path or call");
        reader->transfers[i] = (struct rkc_reader_transfer){
            .size = sizeof *reader->transfers,
            .callpath = (int32_t)path,
            .call = (int32_t)call,
            .send_kind = rkc_text_at(&arrays[RKC_TRANSFERS_SEND_KIND], i),
            .recv_kind = rkc_text_at(&arrays[RKC_TRANSFERS_RECV_KIND], i),
            .calls = arrays[RKC_TRANSFERS_CALLS].ints[i],
            .bytes_sent = arrays[RKC_TRANSFERS_BYTES_SENT].ints[i],
            .bytes_received = arrays[RKC_TRANSFERS_BYTES_RECEIVED].ints[i],
            .ns = arrays[RKC_TRANSFERS_NS].ints[i],
            .blocked_ns = arrays[RKC_TRANSFERS_BLOCKED].ints[i],
            .in_flight_ns = arrays[RKC_TRANSFERS_IN_FLIGHT].ints[i],
            .size_histogram = sizes.ints + i * sizes.columns,
            .send_device = -1,
            .recv_device = -1,
            .noncontiguous = RKC_READER_ABSENT,
        };
    }
    reader->n_transfers = n;
    rkc_reader_release(reader, arrays, RKC_TRANSFERS_OLD_COLUMNS, columns);
    return load_kinds(reader, n);
}

/* ---- waits ---- */

/* The highest rank that there can be. */
static int64_t last_rank(const struct rkc_reader *reader)
{
    int64_t ranks = rkc_reader_job_int(reader, "ranks");
    return ranks > 0 && ranks <= INT32_MAX ? ranks - 1 : INT32_MAX;
}

static int load_wait(struct rkc_reader *reader, const struct rkc_array *arrays, size_t i)
{
    int64_t value[RKC_WAITS_COLUMNS], last = last_rank(reader);
    for (int k = 0; k < RKC_WAITS_COLUMNS; k++)
        value[k] = arrays[k].ints[i];
    if (!rkc_within(value[RKC_WAITS_CALLPATH], 0, (int64_t)reader->n_paths - 1))
        return rkc_reader_bad(reader, "mpi/waits", i, "it has no such call path");
    if (!rkc_within(value[RKC_WAITS_COMM_SIZE], 1, INT32_MAX) ||
        !rkc_within(value[RKC_WAITS_RANKS], 1, INT32_MAX) ||
        !rkc_within(value[RKC_WAITS_COMM_FIRST], 0, last) ||
        !rkc_within(value[RKC_WAITS_AWAITED], 0, last))
        return rkc_reader_bad(reader, "mpi/waits", i, "it has no such ranks");
    if (value[RKC_WAITS_CALLS] < 0 || value[RKC_WAITS_SUM] < 0 || value[RKC_WAITS_LEAST] < 0 ||
        value[RKC_WAITS_MOST] < value[RKC_WAITS_LEAST] ||
        value[RKC_WAITS_WAIT] < RKC_READER_ABSENT || value[RKC_WAITS_SYNC] < RKC_READER_ABSENT)
        return rkc_reader_bad(reader, "mpi/waits", i, "less than no time");
    reader->waits[i] = (struct rkc_reader_wait){
        .size = sizeof *reader->waits,
        .callpath = (int32_t)value[RKC_WAITS_CALLPATH],
        .comm_key = (uint64_t)value[RKC_WAITS_COMM_KEY],
        .comm_size = (int32_t)value[RKC_WAITS_COMM_SIZE],
        .comm_first = (int32_t)value[RKC_WAITS_COMM_FIRST],
        .ranks = (int32_t)value[RKC_WAITS_RANKS],
        .awaited_rank = (int32_t)value[RKC_WAITS_AWAITED],
        .calls = value[RKC_WAITS_CALLS],
        .sum_ns = value[RKC_WAITS_SUM],
        .least_ns = value[RKC_WAITS_LEAST],
        .most_ns = value[RKC_WAITS_MOST],
        .wait_ns = value[RKC_WAITS_WAIT],
        .sync_ns = value[RKC_WAITS_SYNC],
    };
    return 0;
}

int rkc_reader_load_waits(struct rkc_reader *reader)
{
    static const struct rkc_column columns[] = {RKC_WAITS_LIST(RKC_COLUMN_ROW)};
    if (!rkc_source_has(&reader->source, "mpi/waits"))
        return 0;
    struct rkc_array arrays[RKC_WAITS_COLUMNS];
    int status =
        rkc_source_table(&reader->source, "mpi/waits", columns, RKC_WAITS_COLUMNS, arrays);
    if (status)
        return status;
    size_t n = arrays[0].rows;
    reader->waits = rkc_source_alloc(&reader->source, n, sizeof *reader->waits);
    if (!reader->waits)
        return reader->source.status;
    for (size_t i = 0; i < n && !status; i++)
        status = load_wait(reader, arrays, i);
    if (status)
        return status;
    reader->n_waits = n;
    rkc_reader_release(reader, arrays, RKC_WAITS_COLUMNS, columns);
    return 0;
}

/* ---- matrix ---- */

int rkc_reader_load_matrix(struct rkc_reader *reader)
{
    static const char *const names[] = {
#define NAME(id, name, kind, units, description) "mpi/matrix/" name,
        RKC_MATRIX_LIST(NAME)
#undef NAME
    };
    struct rkc_array array = {0};
    struct rkc_array_shape shape = {RKC_ARRAY_INT, 1, RKC_ANY_SIZE, 1};
    if (!rkc_source_has(&reader->source, "mpi/matrix"))
        return 0;
    for (int i = 0; i < RKC_MATRIX_COLUMNS; i++) {
        reader->matrix[i] = rkc_source_dataset(&reader->source, names[i], &shape, &array);
        if (reader->matrix[i] < 0)
            return RKC_EFORMAT;
        shape.rows = array.rows;
    }
    reader->n_matrix = array.rows;
    return 0;
}

/* Read n rows of all columns, MATRIX_ROWS apart. */
static int read_rows(const struct rkc_reader *reader, size_t first, size_t n, int64_t *values)
{
    hsize_t start = first, count = n;
    hid_t memory = H5Screate_simple(1, &count, NULL);
    int status = memory < 0 ? RKC_EFORMAT : 0;
    for (int i = 0; i < RKC_MATRIX_COLUMNS && !status; i++) {
        hid_t file = H5Dget_space(reader->matrix[i]);
        if (file < 0 || H5Sselect_hyperslab(file, H5S_SELECT_SET, &start, NULL, &count, NULL) < 0 ||
            H5Dread(reader->matrix[i], H5T_NATIVE_INT64, memory, file, H5P_DEFAULT,
                    values + (size_t)i * MATRIX_ROWS) < 0)
            status = RKC_EFORMAT;
        if (file >= 0)
            H5Sclose(file);
    }
    if (memory >= 0)
        H5Sclose(memory);
    return status;
}

/* Whether a row is one, and then the pair. */
static int take_pair(const int64_t *values, int64_t last, struct rkc_reader_pair *pair)
{
    int64_t source = values[RKC_MATRIX_SOURCE * MATRIX_ROWS];
    int64_t target = values[RKC_MATRIX_TARGET * MATRIX_ROWS];
    *pair = (struct rkc_reader_pair){.size = sizeof *pair,
                                     .source = (int32_t)source,
                                     .target = (int32_t)target,
                                     .messages = values[RKC_MATRIX_MESSAGES * MATRIX_ROWS],
                                     .bytes = values[RKC_MATRIX_BYTES * MATRIX_ROWS]};
    return rkc_within(source, -1, last) && rkc_within(target, -1, last) &&
           (source >= 0 || target >= 0) && pair->messages >= 0 && pair->bytes >= 0;
}

size_t rkc_reader_n_matrix(const struct rkc_reader *reader)
{
    return reader->n_matrix;
}

int rkc_reader_matrix(struct rkc_reader *reader,
                      int (*take)(void *context, const struct rkc_reader_pair *pair),
                      void *context)
{
    int64_t *values = malloc((size_t)RKC_MATRIX_COLUMNS * MATRIX_ROWS * sizeof *values);
    int64_t last = last_rank(reader);
    int status = values ? 0 : RKC_ENOMEM;
    for (size_t first = 0; first < reader->n_matrix && !status; first += MATRIX_ROWS) {
        size_t n = reader->n_matrix - first < MATRIX_ROWS ? reader->n_matrix - first : MATRIX_ROWS;
        struct rkc_quiet quiet;
        rkc_quiet_begin(&quiet);
        status = read_rows(reader, first, n, values);
        rkc_quiet_end(&quiet);
        for (size_t i = 0; i < n && !status; i++) {
            struct rkc_reader_pair pair;
            status = take_pair(values + i, last, &pair) ? take(context, &pair) : RKC_EFORMAT;
        }
    }
    free(values);
    return status;
}
