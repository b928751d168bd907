/* hdf5_transfers.c - /mpi/transfers, written at the end, for the number of its rows is known last.
 *
 * What a call path moved in other memory than the host's comes with the call paths, all that it
 * moved with its numbers: the host's is what remains. */
#include "autoconf.h"

#include "sink/hdf5_parts.h"

#include <stdlib.h>
#include <string.h>

#include <rankclock/status.h>

#include "profile_mpi.h"

static const char *const kinds[RKC_KINDS] = {
#define KIND(id, name) name,
    RKC_MEMORY_KIND_LIST(KIND)
#undef KIND
};

static int by_key(const void *a, const void *b)
{
    const struct rkc_transfer *x = a, *y = b;
    if (x->path != y->path)
        return x->path < y->path ? -1 : 1;
    if (x->send_kind != y->send_kind)
        return x->send_kind - y->send_kind;
    if (x->recv_kind != y->recv_kind)
        return x->recv_kind - y->recv_kind;
    if (x->send_device != y->send_device)
        return x->send_device - y->send_device;
    return x->recv_device - y->recv_device;
}

int rkc_h5_transfers_begin(struct rkc_h5 *h5, struct rkc_h5_transfers *transfers,
                           const struct rkc_profile *profile)
{
    size_t n = profile->n_transfers;
    memset(transfers, 0, sizeof *transfers);
    transfers->others = calloc(n + 1, sizeof *transfers->others);
    if (!transfers->others)
        return rkc_h5_refuse(h5, RKC_ENOMEM, "out of memory");
    transfers->n_others = n;
    if (n > 0) {
        memcpy(transfers->others, profile->transfers, n * sizeof *transfers->others);
        qsort(transfers->others, n, sizeof *transfers->others, by_key);
    }
    return 0;
}

/* ---- from call paths to rows ---- */

static struct rkc_h5_transfer *add_row(struct rkc_h5 *h5, struct rkc_h5_transfers *transfers)
{
    if (transfers->n == transfers->cap) {
        size_t cap = transfers->cap ? 2 * transfers->cap : 16;
        struct rkc_h5_transfer *more = realloc(transfers->rows, cap * sizeof *more);
        if (!more) {
            rkc_h5_refuse(h5, RKC_ENOMEM, "out of memory");
            return NULL;
        }
        transfers->rows = more;
        transfers->cap = cap;
    }
    return &transfers->rows[transfers->n++];
}

static int64_t clamp64(uint64_t count)
{
    return count > INT64_MAX ? INT64_MAX : (int64_t)count;
}

static int64_t count_of(const struct rkc_transfer *row)
{
    uint64_t count = 0;
    for (int i = 0; i < RKC_SIZE_BUCKETS; i++)
        if (__builtin_add_overflow(count, row->size[i], &count))
            return INT64_MAX;
    return clamp64(count);
}

/* A metric's sum, less what others have of it. */
static int64_t rest(const struct rkc_stat *stat, int64_t others)
{
    int saturated = 0; /* noted with the profile's own sums */
    if (stat->ranks == 0)
        return RKC_ABSENT;
    int64_t sum = rkc_stat_sum64(stat->sum, &saturated);
    return sum > others ? sum - others : 0;
}

/* A call path moves data if a rank counted bytes or requests on it, or sizes. */
static int moves_data(const struct rkc_stat *stat, const struct rkc_path_hist *hist)
{
    if (stat[RKC_METRIC_BYTES_SENT].ranks || stat[RKC_METRIC_BYTES_RECEIVED].ranks ||
        stat[RKC_METRIC_IN_FLIGHT].ranks || stat[RKC_METRIC_BLOCKED].ranks)
        return 1;
    for (int i = 0; i < RKC_SIZE_BUCKETS; i++)
        if (hist->size[i])
            return 1;
    return 0;
}

/* Whether operations or bytes remain. */
static int has_rest(const struct rkc_h5_transfer *row)
{
    if (row->values[RKC_TRANSFERS_BYTES_SENT] > 0 || row->values[RKC_TRANSFERS_BYTES_RECEIVED] > 0)
        return 1;
    for (int i = 0; i < RKC_SIZE_BUCKETS; i++)
        if (row->sizes[i])
            return 1;
    return 0;
}

/* The host's row, left out where all was moved in other memory. */
static int add_host(struct rkc_h5 *h5, struct rkc_h5_transfers *transfers,
                    const struct rkc_h5_path *path, const struct rkc_transfer *others)
{
    struct rkc_h5_transfer *row = add_row(h5, transfers);
    if (!row)
        return RKC_ENOMEM;
    int64_t *value = row->values, count = count_of(others);
    value[RKC_TRANSFERS_CALLPATH] = path->path;
    value[RKC_TRANSFERS_CALL] = path->region;
    value[RKC_TRANSFERS_CALLS] = rest(&path->stat[RKC_METRIC_VISITS], count);
    value[RKC_TRANSFERS_BYTES_SENT] = rest(&path->stat[RKC_METRIC_BYTES_SENT], others->sent);
    value[RKC_TRANSFERS_BYTES_RECEIVED] =
        rest(&path->stat[RKC_METRIC_BYTES_RECEIVED], others->received);
    value[RKC_TRANSFERS_NS] = rest(&path->stat[RKC_METRIC_INCLUSIVE], others->ns);
    value[RKC_TRANSFERS_BLOCKED] = rest(&path->stat[RKC_METRIC_BLOCKED], others->blocked_ns);
    value[RKC_TRANSFERS_IN_FLIGHT] = rest(&path->stat[RKC_METRIC_IN_FLIGHT], others->in_flight_ns);
    value[RKC_TRANSFERS_SEND_DEVICE] = value[RKC_TRANSFERS_RECV_DEVICE] = -1;
    value[RKC_TRANSFERS_NONCONTIGUOUS] = RKC_ABSENT;
    for (int i = 0; i < RKC_SIZE_BUCKETS; i++) {
        uint64_t all = path->hist->size[i];
        row->sizes[i] = all > others->size[i] ? clamp64(all - others->size[i]) : 0;
    }
    row->send_kind = kinds[value[RKC_TRANSFERS_BYTES_SENT] > 0 ? RKC_KIND_HOST : RKC_KIND_NONE];
    row->recv_kind = kinds[value[RKC_TRANSFERS_BYTES_RECEIVED] > 0 ? RKC_KIND_HOST : RKC_KIND_NONE];
    transfers->n -= count > 0 && !has_rest(row);
    return 0;
}

static int add_other(struct rkc_h5 *h5, struct rkc_h5_transfers *transfers,
                     const struct rkc_h5_path *path, const struct rkc_transfer *other)
{
    struct rkc_h5_transfer *row = add_row(h5, transfers);
    if (!row)
        return RKC_ENOMEM;
    int requests = path->stat[RKC_METRIC_IN_FLIGHT].ranks > 0;
    int64_t *value = row->values;
    value[RKC_TRANSFERS_CALLPATH] = path->path;
    value[RKC_TRANSFERS_CALL] = path->region;
    value[RKC_TRANSFERS_CALLS] = count_of(other);
    value[RKC_TRANSFERS_BYTES_SENT] = other->sent;
    value[RKC_TRANSFERS_BYTES_RECEIVED] = other->received;
    value[RKC_TRANSFERS_NS] = other->ns;
    value[RKC_TRANSFERS_BLOCKED] = requests ? other->blocked_ns : RKC_ABSENT;
    value[RKC_TRANSFERS_IN_FLIGHT] = requests ? other->in_flight_ns : RKC_ABSENT;
    value[RKC_TRANSFERS_SEND_DEVICE] = other->send_device;
    value[RKC_TRANSFERS_RECV_DEVICE] = other->recv_device;
    value[RKC_TRANSFERS_NONCONTIGUOUS] = other->noncontiguous;
    for (int i = 0; i < RKC_SIZE_BUCKETS; i++)
        row->sizes[i] = clamp64(other->size[i]);
    row->send_kind = kinds[other->send_kind];
    row->recv_kind = kinds[other->recv_kind];
    return 0;
}

int rkc_h5_transfers_add(struct rkc_h5 *h5, struct rkc_h5_transfers *transfers,
                         const struct rkc_h5_path *path)
{
    struct rkc_transfer sum = {0};
    size_t first = transfers->next, end = first;
    while (end < transfers->n_others && transfers->others[end].path == path->path)
        rkc_transfer_add(&sum, &transfers->others[end++]);
    transfers->next = end;
    int status = 0;
    if (path->is_mpi && moves_data(path->stat, path->hist))
        status = add_host(h5, transfers, path, &sum);
    for (size_t i = first; i < end && !status; i++)
        status = add_other(h5, transfers, path, &transfers->others[i]);
    return status;
}

/* ---- the end ---- */

static int put_sizes(struct rkc_h5 *h5, const struct rkc_h5_transfers *transfers, hid_t mpi,
                     hid_t group)
{
    size_t n = transfers->n;
    int64_t *sizes = calloc(n + 1, sizeof transfers->rows->sizes);
    if (!sizes)
        return rkc_h5_refuse(h5, RKC_ENOMEM, "out of memory");
    for (size_t i = 0; i < n; i++)
        memcpy(sizes + i * RKC_SIZE_BUCKETS, transfers->rows[i].sizes,
               sizeof transfers->rows[i].sizes);
    struct rkc_h5_shape shape = {.n_dims = 2, .size = {n, RKC_SIZE_BUCKETS}, .sparse = 1};
    int status = rkc_h5_put(h5, group, "size_histogram", RKC_H5_INT, &shape, "1",
                            "operations by size, a column for each bucket of "
                            "/mpi/size_edges_bytes",
                            sizes);
    free(sizes);
    if (status)
        return status;
    int64_t edges[RKC_SIZE_BUCKETS + 1];
    for (unsigned i = 0; i <= RKC_SIZE_BUCKETS; i++)
        edges[i] = rkc_size_bucket_edge(i);
    shape = rkc_h5_column(RKC_SIZE_BUCKETS + 1);
    return rkc_h5_put(h5, mpi, "size_edges_bytes", RKC_H5_INT, &shape, "bytes",
                      "bucket i holds sizes from edge i to below edge i + 1", edges);
}

int rkc_h5_transfers_end(struct rkc_h5 *h5, struct rkc_h5_transfers *transfers, hid_t mpi)
{
    static const struct rkc_column columns[] = {RKC_TRANSFERS_LIST(RKC_COLUMN_ROW)
                                                    RKC_TRANSFERS_KIND_LIST(RKC_COLUMN_ROW)};
    size_t n = transfers->n;
    int64_t *values = calloc(RKC_TRANSFERS_COLUMNS * n + 1, sizeof *values);
    const char **words = calloc(2 * n + 1, sizeof *words);
    int status = RKC_ENOMEM;
    if (!values || !words) {
        rkc_h5_refuse(h5, status, "out of memory");
        goto done;
    }
    const void *data[RKC_TRANSFERS_COLUMNS];
    for (int k = 0; k < RKC_TRANSFERS_COLUMNS; k++) {
        int64_t *column = values + (size_t)k * n;
        for (size_t i = 0; i < n; i++)
            column[i] = transfers->rows[i].values[k];
        data[k] = column;
    }
    for (size_t i = 0; i < n; i++) {
        words[i] = transfers->rows[i].send_kind;
        words[n + i] = transfers->rows[i].recv_kind;
    }
    data[RKC_TRANSFERS_SEND_KIND] = words;
    data[RKC_TRANSFERS_RECV_KIND] = words + n;

    hid_t group;
    status = rkc_h5_table(h5, "mpi/transfers", "what each MPI call path moved between which kinds "
                          "of memory, over all ranks", columns, RKC_TRANSFERS_COLUMNS, data, n,
                          &group);
    if (!status) {
        status = put_sizes(h5, transfers, mpi, group);
        H5Gclose(group);
    }
done:
    free(values);
    free(words);
    return status;
}

void rkc_h5_transfers_free(struct rkc_h5_transfers *transfers)
{
    free(transfers->others);
    free(transfers->rows);
    memset(transfers, 0, sizeof *transfers);
}
