/* hdf5_parts.h - the parts of a result file, in the order they are written. */
#ifndef RKC_SINK_HDF5_PARTS_H
#define RKC_SINK_HDF5_PARTS_H

#include "sink/hdf5_file.h"

/* Tables that are written whole: hdf5_tables.c. */

/* Attributes of the file but `status`. */
int rkc_h5_put_root(struct rkc_h5 *h5);
/* /job, left open in *group for facts known later. */
int rkc_h5_put_job(struct rkc_h5 *h5, const struct rkc_job *job, hid_t *group);
/* One integer fact. */
int rkc_h5_put_job_int(struct rkc_h5 *h5, hid_t group, const char *name, const char *units,
                       const char *description, int64_t value);
/* /regions and /callpaths. */
int rkc_h5_put_profile(struct rkc_h5 *h5, const struct rkc_profile *profile);
int rkc_h5_put_notes(struct rkc_h5 *h5, const struct rkc_profile_note *notes, size_t n);
int rkc_h5_put_missing(struct rkc_h5 *h5, const struct rkc_rank_range *missing, size_t n);

/* /mpi/transfers: hdf5_transfers.c. */

struct rkc_h5_transfer {
    int64_t values[RKC_TRANSFERS_COLUMNS]; /* those of text columns unused */
    const char *send_kind, *recv_kind;
    int64_t sizes[RKC_SIZE_BUCKETS];
};

struct rkc_h5_transfers {
    struct rkc_transfer *others; /* other memory than the host's, by call path */
    size_t n_others, next;       /* next: of the next call path */
    struct rkc_h5_transfer *rows;
    size_t n, cap;
};

/* A call path with the numbers of all ranks. */
struct rkc_h5_path {
    uint32_t path, region;
    int is_mpi;
    const struct rkc_stat *stat; /* [RKC_METRICS] */
    const struct rkc_path_hist *hist;
};

int rkc_h5_transfers_begin(struct rkc_h5 *h5, struct rkc_h5_transfers *transfers,
                           const struct rkc_profile *profile);
/* Call paths come one by one and rise. */
int rkc_h5_transfers_add(struct rkc_h5 *h5, struct rkc_h5_transfers *transfers,
                         const struct rkc_h5_path *path);
/* Write the table into the group /mpi. */
int rkc_h5_transfers_end(struct rkc_h5 *h5, struct rkc_h5_transfers *transfers, hid_t mpi);
void rkc_h5_transfers_free(struct rkc_h5_transfers *transfers);

/* /mpi/waits and /mpi/matrix: hdf5_mpi.c. */

int rkc_h5_put_waits(struct rkc_h5 *h5, const struct rkc_profile *profile);

/* What there is one of for each call path: /profile, hdf5_numbers.c, and with it the above. */

struct rkc_h5_numbers {
    uint32_t n_paths, covered; /* call paths, and how many have got their numbers */
    uint32_t metrics;          /* bit 1 << metric for those that are written */
    hid_t profile; /* the group */
    uint32_t *regions; /* of each call path */
    uint8_t *is_mpi;   /* whether that is an MPI function */
    hid_t stats[RKC_METRICS][RKC_PROFILE_STATS], visit_sumsq, histogram;
    struct rkc_h5_transfers transfers;
    hid_t mpi;
    int64_t saturated;
    int32_t saturated_rank;
};

/* Makes the datasets of so many call paths, which `begin` takes if they are right. */
int rkc_h5_numbers_plan(struct rkc_h5 *h5, struct rkc_h5_numbers *numbers, uint32_t n_paths,
                        uint32_t metrics);
int rkc_h5_numbers_begin(struct rkc_h5 *h5, struct rkc_h5_numbers *numbers,
                         const struct rkc_profile *profile, uint32_t metrics);
int rkc_h5_numbers_add(struct rkc_h5 *h5, struct rkc_h5_numbers *numbers,
                       const struct rkc_numbers *window);
/* Closes what is open and writes /mpi/transfers, /mpi being there since the beginning. */
int rkc_h5_numbers_end(struct rkc_h5 *h5, struct rkc_h5_numbers *numbers);
void rkc_h5_numbers_free(struct rkc_h5 *h5, struct rkc_h5_numbers *numbers);

/* What there is one of for each rank: /ranks, /nodes and /per_rank, hdf5_rows.c, and with it what
 * follows. */

/* A run of rows that waits until it fills chunks: hdf5_block.c. */
struct rkc_h5_block {
    size_t rows, cap, full; /* held, allocated, and at which it is written */
    hsize_t written;        /* rows in the file */
};

/* Make room for rows up to `want`; n arrays of rows of `width` numbers. 0 or RKC_ENOMEM. */
int rkc_h5_block_grow(struct rkc_h5_block *block, size_t want, int64_t **arrays, size_t n,
                      size_t width);
/* A dataset grows if rows are written while more may follow. */
struct rkc_h5_shape rkc_h5_block_shape(const struct rkc_h5_block *block, int last);
/* Write the rows held of one dataset, which exists. */
int rkc_h5_block_write(struct rkc_h5 *h5, const struct rkc_h5_block *block, hid_t id, hid_t type,
                       uint32_t width, const void *data);
/* The rows held are written. */
static inline void rkc_h5_block_empty(struct rkc_h5_block *block)
{
    block->written += block->rows;
    block->rows = 0;
}

/* Created with its first rows. */
struct rkc_h5_matrix {
    struct rkc_h5_block block;
    int64_t *columns[RKC_MATRIX_COLUMNS];
    hid_t column_ids[RKC_MATRIX_COLUMNS];
    hid_t group;
};

int rkc_h5_matrix_add(struct rkc_h5 *h5, struct rkc_h5_matrix *matrix,
                      const struct rkc_rank_peer *peers, size_t n);
/* Writes what is held. */
int rkc_h5_matrix_end(struct rkc_h5 *h5, struct rkc_h5_matrix *matrix);
void rkc_h5_matrix_free(struct rkc_h5 *h5, struct rkc_h5_matrix *matrix);

/* /devices and /device_use: hdf5_devices.c. */
struct rkc_h5_device; /* one of /devices */

struct rkc_h5_devices {
    struct rkc_h5_block use;
    int64_t *columns[RKC_DEVICE_USE_COLUMNS];
    hid_t column_ids[RKC_DEVICE_USE_COLUMNS];
    hid_t use_group;
    struct rkc_h5_device *devices;
    size_t n_devices, cap_devices;
    uint32_t *index; /* hash of node and identity -> device + 1 */
    size_t index_size;
};

int rkc_h5_devices_begin(struct rkc_h5 *h5, struct rkc_h5_devices *devices);
/* Add the devices of a rank, which is on `node`. *most gets the row of the one it used most,
 * *ns its time on all. */
int rkc_h5_devices_add(struct rkc_h5 *h5, struct rkc_h5_devices *devices, int32_t rank,
                       int64_t node, const struct rkc_rank_device *used, int32_t n, int64_t *most,
                       int64_t *ns);
/* Writes what is held and /devices. */
int rkc_h5_devices_end(struct rkc_h5 *h5, struct rkc_h5_devices *devices);
void rkc_h5_devices_free(struct rkc_h5 *h5, struct rkc_h5_devices *devices);

struct rkc_h5_rows {
    uint32_t n_paths, row_metrics, n_metrics;
    int has_devices, n_columns; /* columns of /ranks: fewer without devices */
    int64_t last_rank;
    struct rkc_h5_block ranks, values;
    struct rkc_h5_devices devices;
    struct rkc_h5_matrix matrix;
    int64_t *columns[RKC_RANKS_COLUMNS];
    hid_t column_ids[RKC_RANKS_COLUMNS];
    int64_t *metrics[RKC_METRICS]; /* [rank][path], of those in row_metrics */
    hid_t metric_ids[RKC_METRICS];
    hid_t ranks_group, per_rank_group;
    char (*nodes)[RKC_NODE_NAME_MAX];
    size_t n_nodes, cap_nodes;
    uint32_t *node_index; /* hash of name -> node + 1 */
    size_t node_index_size;
};

int rkc_h5_rows_begin(struct rkc_h5 *h5, struct rkc_h5_rows *rows, uint32_t n_paths,
                      const struct rkc_job *job);
int rkc_h5_rows_add(struct rkc_h5 *h5, struct rkc_h5_rows *rows, const struct rkc_rows *block);
/* Writes what is held, devices and the matrix included, and /nodes. */
int rkc_h5_rows_end(struct rkc_h5 *h5, struct rkc_h5_rows *rows);
void rkc_h5_rows_free(struct rkc_h5 *h5, struct rkc_h5_rows *rows);

/* Name, unit and description of a metric. */
struct rkc_h5_metric {
    const char *name, *unit, *description;
};
extern const struct rkc_h5_metric rkc_h5_metrics[RKC_METRICS];

#endif
