/* hdf5_mpi.c - /mpi/waits, written whole, and /mpi/matrix, written as blocks of ranks arrive: it
 * may be larger than memory. Each is there if there is something in it. */
#include "autoconf.h"

#include "sink/hdf5_parts.h"

#include <stdlib.h>
#include <string.h>

#include <rankclock/status.h>

enum { MATRIX_CHUNK = 16384 };

/* ---- waits ---- */

static int by_path(const void *a, const void *b)
{
    const struct rkc_wait *x = a, *y = b;
    if (x->path != y->path)
        return x->path < y->path ? -1 : 1;
    if (x->comm.size != y->comm.size)
        return x->comm.size > y->comm.size ? -1 : 1;
    if (x->comm.first != y->comm.first)
        return x->comm.first < y->comm.first ? -1 : 1;
    return (x->comm.key > y->comm.key) - (x->comm.key < y->comm.key);
}

/* Rows of so many numbers to columns. */
static void fill_waits(const struct rkc_wait *rows, size_t n, int64_t *values)
{
    for (size_t i = 0; i < n; i++) {
        const struct rkc_wait *row = &rows[i];
        int64_t *at = values + i;
        at[RKC_WAITS_CALLPATH * n] = row->path;
        at[RKC_WAITS_COMM_KEY * n] = (int64_t)row->comm.key;
        at[RKC_WAITS_COMM_SIZE * n] = row->comm.size;
        at[RKC_WAITS_COMM_FIRST * n] = row->comm.first;
        at[RKC_WAITS_RANKS * n] = row->ranks;
        at[RKC_WAITS_CALLS * n] = row->calls_max;
        at[RKC_WAITS_SUM * n] = row->ns_sum;
        at[RKC_WAITS_LEAST * n] = row->ns_min;
        at[RKC_WAITS_MOST * n] = row->ns_max;
        at[RKC_WAITS_WAIT * n] = rkc_wait_ns(row);
        at[RKC_WAITS_AWAITED * n] = row->least_rank;
        at[RKC_WAITS_SYNC * n] = row->sync_ns;
    }
}

int rkc_h5_put_waits(struct rkc_h5 *h5, const struct rkc_profile *profile)
{
    static const struct rkc_column columns[] = {RKC_WAITS_LIST(RKC_COLUMN_ROW)};
    size_t n = profile->n_waits;
    if (n == 0)
        return 0;
    struct rkc_wait *rows = malloc(n * sizeof *rows);
    int64_t *values = calloc(n, RKC_WAITS_COLUMNS * sizeof *values);
    int status = RKC_ENOMEM;
    if (!rows || !values) {
        rkc_h5_refuse(h5, status, "out of memory");
        goto done;
    }
    memcpy(rows, profile->waits, n * sizeof *rows);
    qsort(rows, n, sizeof *rows, by_path);
    fill_waits(rows, n, values);
    const void *data[RKC_WAITS_COLUMNS];
    for (size_t k = 0; k < RKC_WAITS_COLUMNS; k++)
        data[k] = values + k * n;
    status = rkc_h5_table(h5, "mpi/waits", "time of ranks in collectives that none can leave "
                          "before all have come, a row for each call path and communicator: who "
                          "spends the least time waited the least", columns, RKC_WAITS_COLUMNS,
                          data, n, NULL);
done:
    free(rows);
    free(values);
    return status;
}

/* ---- matrix ---- */

static const struct rkc_column matrix_columns[] = {RKC_MATRIX_LIST(RKC_COLUMN_ROW)};

static int flush_matrix(struct rkc_h5 *h5, struct rkc_h5_matrix *matrix, int last)
{
    struct rkc_h5_block *block = &matrix->block;
    struct rkc_h5_shape shape = rkc_h5_block_shape(block, last);
    int status = 0;
    for (int i = 0; i < RKC_MATRIX_COLUMNS && !status; i++) {
        if (block->written == 0)
            matrix->column_ids[i] =
                rkc_h5_dataset(h5, matrix->group, matrix_columns[i].name, h5->types[RKC_H5_INT],
                               &shape, matrix_columns[i].units, matrix_columns[i].description);
        status = matrix->column_ids[i] < 0
                     ? RKC_EIO
                     : rkc_h5_block_write(h5, block, matrix->column_ids[i], H5T_NATIVE_INT64, 1,
                                          matrix->columns[i]);
    }
    rkc_h5_block_empty(block);
    return status;
}

static int begin_matrix(struct rkc_h5 *h5, struct rkc_h5_matrix *matrix)
{
    matrix->block.full = MATRIX_CHUNK;
    matrix->group = rkc_h5_group(h5, h5->file, "mpi/matrix", "messages and one-sided transfers "
                                 "between pairs of ranks, as sparse rows in the order of the "
                                 "ranks that counted them: those that sent, and those that "
                                 "fetched by one-sided gets");
    return matrix->group < 0 ? RKC_EIO : 0;
}

int rkc_h5_matrix_add(struct rkc_h5 *h5, struct rkc_h5_matrix *matrix,
                      const struct rkc_rank_peer *peers, size_t n)
{
    struct rkc_h5_block *block = &matrix->block;
    int status = n > 0 && !matrix->group ? begin_matrix(h5, matrix) : 0;
    for (size_t i = 0; i < n && !status; i++) {
        if (block->rows == block->full)
            status = flush_matrix(h5, matrix, 0);
        if (status)
            break;
        if (rkc_h5_block_grow(block, block->rows + 1, matrix->columns, RKC_MATRIX_COLUMNS, 1))
            return rkc_h5_refuse(h5, RKC_ENOMEM, "out of memory");
        size_t at = block->rows++;
        matrix->columns[RKC_MATRIX_SOURCE][at] = peers[i].source;
        matrix->columns[RKC_MATRIX_TARGET][at] = peers[i].target;
        matrix->columns[RKC_MATRIX_MESSAGES][at] = peers[i].messages;
        matrix->columns[RKC_MATRIX_BYTES][at] = peers[i].bytes;
    }
    return status;
}

static int close_matrix(struct rkc_h5 *h5, struct rkc_h5_matrix *matrix)
{
    int status = 0;
    for (int i = 0; i < RKC_MATRIX_COLUMNS; i++)
        if (matrix->column_ids[i] > 0 && rkc_h5_close_dataset(h5, matrix->column_ids[i]))
            status = RKC_EIO;
    if (matrix->group > 0)
        H5Gclose(matrix->group);
    memset(matrix->column_ids, 0, sizeof matrix->column_ids);
    matrix->group = 0;
    return status;
}

int rkc_h5_matrix_end(struct rkc_h5 *h5, struct rkc_h5_matrix *matrix)
{
    int status = matrix->group > 0 ? flush_matrix(h5, matrix, 1) : 0;
    int closed = close_matrix(h5, matrix);
    return status ? status : closed;
}

void rkc_h5_matrix_free(struct rkc_h5 *h5, struct rkc_h5_matrix *matrix)
{
    close_matrix(h5, matrix);
    for (int i = 0; i < RKC_MATRIX_COLUMNS; i++)
        free(matrix->columns[i]);
    memset(matrix, 0, sizeof *matrix);
}
