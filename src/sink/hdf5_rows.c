/* hdf5_rows.c - /ranks, /nodes and /per_rank, written as blocks of ranks arrive.
 *
 * Ranks are held until they fill whole chunks. A run with fewer is written in one go, with
 * datasets of its exact size; with more the datasets grow. */
#include "autoconf.h"

#include "sink/hdf5_parts.h"

#include <stdlib.h>
#include <string.h>

#include <rankclock/status.h>

enum {
    RANKS_CHUNK = 4096,              /* ranks in a chunk, at most */
    HELD_BYTES = 64 * 1024 * 1024,   /* of values, at most unless one rank has more */
    CHUNK_VALUES = 128 * 1024 / 8,
    STATE_WIDTH = 9,
};

static const struct rkc_column columns[] = {RKC_RANKS_LIST(RKC_COLUMN_ROW)
                                                RKC_RANKS_DEVICE_LIST(RKC_COLUMN_ROW)};

static const char *const states[RKC_STATES] = {
#define STATE(id, name) name,
    RKC_STATE_LIST(STATE)
#undef STATE
};

int rkc_h5_rows_begin(struct rkc_h5 *h5, struct rkc_h5_rows *rows, uint32_t n_paths,
                      const struct rkc_job *job)
{
    memset(rows, 0, sizeof *rows);
    rows->n_paths = n_paths;
    rows->row_metrics = job->row_metrics & RKC_ALL_METRICS;
    rows->has_devices = job->device_uses > 0;
    rows->n_columns = rows->has_devices ? RKC_RANKS_COLUMNS : RKC_RANKS_HOST_COLUMNS;
    rows->n_metrics = (uint32_t)__builtin_popcount(rows->row_metrics);
    rows->last_rank = -1;
    rows->ranks.full = rows->values.full = RANKS_CHUNK;
    size_t row = (size_t)n_paths * rows->n_metrics * sizeof(int64_t);
    if (row > HELD_BYTES / RANKS_CHUNK)
        rows->values.full = HELD_BYTES / row ? HELD_BYTES / row : 1;
    rows->ranks_group = rkc_h5_group(h5, h5->file, "ranks", "the processes, one row each");
    rows->per_rank_group =
        rkc_h5_group(h5, h5->file, "per_rank",
                     "metrics of each rank: a row for each row of /ranks, a column for each call "
                     "path; -1 where the rank lacks the call path");
    if (rows->ranks_group < 0 || rows->per_rank_group < 0)
        return RKC_EIO;
    return rows->has_devices ? rkc_h5_devices_begin(h5, &rows->devices) : 0;
}

static uint32_t hash_name(const char *name)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    return hash;
}

static int grow_nodes(struct rkc_h5_rows *rows)
{
    size_t cap = rows->cap_nodes ? 2 * rows->cap_nodes : 64;
    void *nodes = realloc(rows->nodes, cap * sizeof *rows->nodes);
    if (!nodes)
        return RKC_ENOMEM;
    rows->nodes = nodes;
    rows->cap_nodes = cap;
    uint32_t *index = calloc(2 * cap, sizeof *index);
    if (!index)
        return RKC_ENOMEM;
    free(rows->node_index);
    rows->node_index = index;
    rows->node_index_size = 2 * cap;
    for (size_t i = 0; i < rows->n_nodes; i++) {
        size_t at = hash_name(rows->nodes[i]) % rows->node_index_size;
        while (index[at])
            at = (at + 1) % rows->node_index_size;
        index[at] = (uint32_t)i + 1;
    }
    return 0;
}

/* The index of a node, added if new; or RKC_ENOMEM. */
static int64_t node_get(struct rkc_h5_rows *rows, const char raw[RKC_NODE_NAME_MAX])
{
    char name[RKC_NODE_NAME_MAX];
    memcpy(name, raw, sizeof name);
    name[sizeof name - 1] = '\0';
    if (rows->n_nodes == rows->cap_nodes && grow_nodes(rows))
        return RKC_ENOMEM;
    size_t at = hash_name(name) % rows->node_index_size;
    for (; rows->node_index[at]; at = (at + 1) % rows->node_index_size)
        if (strcmp(rows->nodes[rows->node_index[at] - 1], name) == 0)
            return (int64_t)rows->node_index[at] - 1;
    memcpy(rows->nodes[rows->n_nodes], name, sizeof name);
    rows->node_index[at] = (uint32_t)++rows->n_nodes;
    return (int64_t)rows->n_nodes - 1;
}

static void store_rank(struct rkc_h5_rows *rows, const struct rkc_rank_row *rank, int64_t node,
                       int64_t device, int64_t device_ns)
{
    size_t at = rows->ranks.rows++;
    int64_t **column = rows->columns;
    column[RKC_RANKS_RANK][at] = rank->rank;
    column[RKC_RANKS_NODE][at] = node;
    column[RKC_RANKS_PID][at] = rank->pid;
    column[RKC_RANKS_LOCAL_RANK][at] = rank->local_rank;
    column[RKC_RANKS_CPU][at] = rank->cpu;
    column[RKC_RANKS_THREADS][at] = rank->threads;
    column[RKC_RANKS_WALL][at] = rank->wall_ns;
    column[RKC_RANKS_INIT][at] = rank->init_ns;
    column[RKC_RANKS_MPI][at] = rank->mpi_ns;
    column[RKC_RANKS_USEFUL][at] = rank->useful_ns;
    column[RKC_RANKS_OVERHEAD][at] = rank->overhead_ns;
    column[RKC_RANKS_STATE][at] = rank->state;
    column[RKC_RANKS_SIGNAL][at] = rank->signal;
    column[RKC_RANKS_OPEN][at] = rank->open_path < rows->n_paths ? (int64_t)rank->open_path : -1;
    column[RKC_RANKS_START][at] = rank->start_unix_ns;
    column[RKC_RANKS_UNTIL][at] = rank->measured_until_unix_ns;
    if (!rows->has_devices)
        return;
    column[RKC_RANKS_DEVICE][at] = device;
    column[RKC_RANKS_DEVICE_NS][at] = device_ns;
}

static int flush_ranks(struct rkc_h5 *h5, struct rkc_h5_rows *rows, int last)
{
    struct rkc_h5_block *block = &rows->ranks;
    char *words = calloc(block->rows + 1, STATE_WIDTH);
    hid_t word = rkc_h5_text_type(STATE_WIDTH);
    int status = 0;
    if (!words || word < 0)
        status = rkc_h5_refuse(h5, RKC_ENOMEM, "out of memory");
    for (size_t i = 0; i < block->rows && !status; i++) {
        int64_t state = rows->columns[RKC_RANKS_STATE][i];
        const char *name = states[state >= 0 && state < RKC_STATES ? state : RKC_STATE_RUNNING];
        memcpy(words + i * STATE_WIDTH, name, strlen(name));
    }
    struct rkc_h5_shape shape = rkc_h5_block_shape(block, last);
    for (int i = 0; i < rows->n_columns && !status; i++) {
        int text = columns[i].kind == RKC_COLUMN_TEXT;
        if (block->written == 0)
            rows->column_ids[i] = rkc_h5_dataset(h5, rows->ranks_group, columns[i].name,
                                                 text ? word : h5->types[RKC_H5_INT], &shape,
                                                 columns[i].units, columns[i].description);
        if (rows->column_ids[i] < 0)
            status = RKC_EIO;
        else
            status = rkc_h5_block_write(h5, block, rows->column_ids[i], text ? word : H5T_NATIVE_INT64,
                                   1, text ? (const void *)words : rows->columns[i]);
    }
    free(words);
    if (word >= 0)
        H5Tclose(word);
    rkc_h5_block_empty(block);
    return status;
}

static hid_t create_metric(struct rkc_h5 *h5, struct rkc_h5_rows *rows, int metric, int last)
{
    struct rkc_h5_shape shape = rkc_h5_block_shape(&rows->values, last);
    shape.n_dims = 2;
    shape.size[1] = rows->n_paths;
    hsize_t tall = rows->values.rows ? rows->values.rows : 1;
    hsize_t wide = CHUNK_VALUES / tall ? CHUNK_VALUES / tall : 1;
    shape.chunk[0] = tall;
    shape.chunk[1] = wide < rows->n_paths ? wide : rows->n_paths;
    hid_t id = rkc_h5_dataset(h5, rows->per_rank_group, rkc_h5_metrics[metric].name,
                              h5->types[RKC_H5_INT], &shape, rkc_h5_metrics[metric].unit,
                              rkc_h5_metrics[metric].description);
    if (id >= 0 && rkc_h5_attribute_int(h5, id, "absent", RKC_ABSENT)) {
        H5Dclose(id);
        return H5I_INVALID_HID;
    }
    return id;
}

static int flush_values(struct rkc_h5 *h5, struct rkc_h5_rows *rows, int last)
{
    struct rkc_h5_block *block = &rows->values;
    int status = 0;
    for (int metric = 0, i = 0; metric < RKC_METRICS && !status; metric++) {
        if (!(rows->row_metrics >> metric & 1))
            continue;
        if (block->written == 0)
            rows->metric_ids[i] = create_metric(h5, rows, metric, last);
        if (rows->metric_ids[i] < 0)
            status = RKC_EIO;
        else
            status = rkc_h5_block_write(h5, block, rows->metric_ids[i], H5T_NATIVE_INT64,
                                   rows->n_paths, rows->metrics[i]);
        i++;
    }
    rkc_h5_block_empty(block);
    return status;
}

static int add_rank(struct rkc_h5 *h5, struct rkc_h5_rows *rows, const struct rkc_rank_row *rank,
                    const struct rkc_rank_device *devices, const struct rkc_rank_peer *peers)
{
    int64_t device = -1, device_ns = RKC_ABSENT;
    if (rank->rank <= rows->last_rank)
        return rkc_h5_refuse(h5, RKC_EARG, "ranks out of order");
    rows->last_rank = rank->rank;
    int status = rows->ranks.rows == rows->ranks.full ? flush_ranks(h5, rows, 0) : 0;
    if (status)
        return status;
    int64_t node = node_get(rows, rank->node);
    if (node < 0 || rkc_h5_block_grow(&rows->ranks, rows->ranks.rows + 1, rows->columns,
                                      (size_t)rows->n_columns, 1))
        return rkc_h5_refuse(h5, RKC_ENOMEM, "out of memory");
    if (rows->has_devices && rank->n_devices > 0)
        status = rkc_h5_devices_add(h5, &rows->devices, rank->rank, node, devices,
                                    rank->n_devices, &device, &device_ns);
    if (!status)
        store_rank(rows, rank, node, device, device_ns);
    if (!status && rank->n_peers > 0)
        status = rkc_h5_matrix_add(h5, &rows->matrix, peers, (size_t)rank->n_peers);
    return status;
}

static int add_ranks(struct rkc_h5 *h5, struct rkc_h5_rows *rows, const struct rkc_rows *block)
{
    const struct rkc_rank_device *devices = block->devices;
    const struct rkc_rank_peer *peers = block->peers;
    int status = 0;
    for (uint32_t i = 0; i < block->n_ranks && !status; i++) {
        status = add_rank(h5, rows, &block->ranks[i], devices, peers);
        if (block->ranks[i].n_devices > 0)
            devices += block->ranks[i].n_devices;
        if (block->ranks[i].n_peers > 0)
            peers += block->ranks[i].n_peers;
    }
    return status;
}

static int add_values(struct rkc_h5 *h5, struct rkc_h5_rows *rows, const struct rkc_rows *block)
{
    struct rkc_h5_block *held = &rows->values;
    size_t width = rows->n_paths, row = width * sizeof(int64_t);
    for (uint32_t from = 0; from < block->n_ranks;) {
        int status = held->rows == held->full ? flush_values(h5, rows, 0) : 0;
        if (status)
            return status;
        size_t n = block->n_ranks - from;
        if (n > held->full - held->rows)
            n = held->full - held->rows;
        if (rkc_h5_block_grow(held, held->rows + n, rows->metrics, rows->n_metrics, width))
            return rkc_h5_refuse(h5, RKC_ENOMEM, "out of memory");
        for (uint32_t i = 0; i < rows->n_metrics; i++)
            memcpy(rows->metrics[i] + held->rows * width,
                   block->values + ((size_t)i * block->n_ranks + from) * width, n * row);
        held->rows += n;
        from += (uint32_t)n;
    }
    return 0;
}

int rkc_h5_rows_add(struct rkc_h5 *h5, struct rkc_h5_rows *rows, const struct rkc_rows *block)
{
    if (block->n_paths != rows->n_paths && rows->n_metrics > 0)
        return rkc_h5_refuse(h5, RKC_EARG, "ranks with other call paths than the profile");
    int status = add_ranks(h5, rows, block);
    if (!status && rows->n_metrics > 0)
        status = add_values(h5, rows, block);
    return status;
}

static int put_nodes(struct rkc_h5 *h5, const struct rkc_h5_rows *rows)
{
    static const struct rkc_column node_columns[] = {RKC_NODES_LIST(RKC_COLUMN_ROW)};
    const char **names = calloc(rows->n_nodes + 1, sizeof *names);
    if (!names)
        return rkc_h5_refuse(h5, RKC_ENOMEM, "out of memory");
    for (size_t i = 0; i < rows->n_nodes; i++)
        names[i] = rows->nodes[i];
    const void *data[] = {names};
    int status = rkc_h5_table(h5, "nodes", "the machines, one row each", node_columns,
                              RKC_NODES_COLUMNS, data, rows->n_nodes, NULL);
    free(names);
    return status;
}

static int close_ids(struct rkc_h5 *h5, struct rkc_h5_rows *rows)
{
    int status = 0;
    for (int i = 0; i < RKC_RANKS_COLUMNS; i++)
        if (rows->column_ids[i] > 0 && rkc_h5_close_dataset(h5, rows->column_ids[i]))
            status = RKC_EIO;
    for (int i = 0; i < RKC_METRICS; i++)
        if (rows->metric_ids[i] > 0 && rkc_h5_close_dataset(h5, rows->metric_ids[i]))
            status = RKC_EIO;
    if (rows->ranks_group > 0)
        H5Gclose(rows->ranks_group);
    if (rows->per_rank_group > 0)
        H5Gclose(rows->per_rank_group);
    memset(rows->column_ids, 0, sizeof rows->column_ids);
    memset(rows->metric_ids, 0, sizeof rows->metric_ids);
    rows->ranks_group = rows->per_rank_group = 0;
    return status;
}

int rkc_h5_rows_end(struct rkc_h5 *h5, struct rkc_h5_rows *rows)
{
    int status = flush_ranks(h5, rows, 1);
    if (!status)
        status = flush_values(h5, rows, 1);
    int closed = close_ids(h5, rows);
    status = status ? status : closed;
    if (!status && rows->has_devices)
        status = rkc_h5_devices_end(h5, &rows->devices);
    if (!status)
        status = rkc_h5_matrix_end(h5, &rows->matrix);
    return status ? status : put_nodes(h5, rows);
}

void rkc_h5_rows_free(struct rkc_h5 *h5, struct rkc_h5_rows *rows)
{
    close_ids(h5, rows);
    rkc_h5_devices_free(h5, &rows->devices);
    rkc_h5_matrix_free(h5, &rows->matrix);
    for (int i = 0; i < RKC_RANKS_COLUMNS; i++)
        free(rows->columns[i]);
    for (int i = 0; i < RKC_METRICS; i++)
        free(rows->metrics[i]);
    free(rows->nodes);
    free(rows->node_index);
    memset(rows, 0, sizeof *rows);
}
