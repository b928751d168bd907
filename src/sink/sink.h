/* sink.h - what a profile is written to: a pipe to the writer process, or an HDF5 file.
 *
 * A run is handed over in this order: a plan or none, job, profile (the call paths and notes), numbers
 * (any number of windows that cover all call paths), rows (blocks of ranks, rising),
 * finish. Without a successful finish nothing is published.
 */
#ifndef RKC_SINK_H
#define RKC_SINK_H

#include <stddef.h>
#include <stdint.h>

#include "profile.h"

enum {
    RKC_NODE_NAME_MAX = 64,
    RKC_SINK_TEXT_MAX = 4096,
    RKC_RANK_DEVICES_MAX = 16,
    RKC_RANK_PEERS_MAX = 65536,
};

/* A fact of the job: one dataset of /job. */
struct rkc_fact {
    char *key, *value; /* owned */
};

struct rkc_job {
    struct rkc_fact *facts;
    uint32_t n_facts, cap_facts;
    int64_t start_unix_ns; /* when the first rank began to measure */
    int64_t wall_ns;       /* of the rank that measured longest */
    int64_t overhead_ns;   /* our own cost, summed over ranks; RKC_ABSENT if unknown */
    int32_t ranks;         /* size of the world, or the ranks known */
    uint32_t metrics;      /* bit 1 << metric for each metric to be written: that some rank has */
    uint32_t row_metrics;  /* of these, those that the rows carry */
    int64_t device_uses;   /* devices that ranks have used, summed over ranks */
};

/* No facts; all metrics. */
void rkc_job_init(struct rkc_job *job);
void rkc_job_free(struct rkc_job *job);
/* Set a fact, replacing an earlier value. 0 or RKC_ENOMEM. */
int rkc_job_set(struct rkc_job *job, const char *key, const char *value);
/* The value of a fact, or NULL. */
const char *rkc_job_get(const struct rkc_job *job, const char *key);

/* A row of /ranks. */
struct rkc_rank_row {
    int32_t rank, pid, local_rank, cpu, threads;
    int32_t state; /* enum rkc_state */
    int32_t signal;
    uint32_t open_path; /* innermost open call path when measuring ended, or RKC_NO_PATH */
    int32_t n_devices;  /* struct rkc_rank_device beside it, up to RKC_RANK_DEVICES_MAX */
    int32_t n_peers;    /* struct rkc_rank_peer beside it, up to RKC_RANK_PEERS_MAX */
    int64_t wall_ns, init_ns, mpi_ns, useful_ns, overhead_ns;
    int64_t start_unix_ns, measured_until_unix_ns;
    char node[RKC_NODE_NAME_MAX];
};

/* A device that a rank used; texts are empty where unknown. */
struct rkc_rank_device {
    int32_t index; /* as the rank counts */
    int32_t driver_version;
    int32_t numa_node;      /* that the device is near to, or -1 */
    int32_t rank_numa_node; /* of the processor where the rank first used it, or -1 */
    int64_t covered_ns, ns; /* union and sum of its GPU regions' intervals */
    char uuid[48], bus_id[24], name[112];
};

/* Messages between two ranks of the world, point-to-point and one-sided, as the rank that sent them
 * or fetched them by a one-sided get knows them: it is one of the two. -1: ranks that it had no
 * room to tell apart. */
struct rkc_rank_peer {
    int32_t source, target;
    int64_t messages, bytes;
};

/* A block of ranks with their values of the metrics in rkc_job.row_metrics, metric by
 * metric in rising order: values[metric][rank][path], RKC_ABSENT where not measured. */
struct rkc_rows {
    uint32_t n_ranks, n_paths;
    const struct rkc_rank_row *ranks;
    const int64_t *values;
    const struct rkc_rank_device *devices; /* of the ranks that have some, in their order */
    const struct rkc_rank_peer *peers;     /* the same */
};

/* How many devices the ranks of a block have. */
static inline size_t rkc_rows_devices(const struct rkc_rows *rows)
{
    size_t n = 0;
    for (uint32_t i = 0; i < rows->n_ranks; i++)
        n += (size_t)rows->ranks[i].n_devices;
    return n;
}

static inline size_t rkc_rows_peers(const struct rkc_rows *rows)
{
    size_t n = 0;
    for (uint32_t i = 0; i < rows->n_ranks; i++)
        n += (size_t)rows->ranks[i].n_peers;
    return n;
}

struct rkc_sink;

/* Every function returns 0 or a status; after a failure only `close` may follow. */
struct rkc_sink_ops {
    int (*job)(struct rkc_sink *sink, const struct rkc_job *job);
    int (*profile)(struct rkc_sink *sink, const struct rkc_profile *profile);
    int (*numbers)(struct rkc_sink *sink, const struct rkc_numbers *numbers);
    int (*rows)(struct rkc_sink *sink, const struct rkc_rows *rows);
    /* Publish. `text` gets the published name, or on failure what went wrong. */
    int (*finish)(struct rkc_sink *sink, enum rkc_file_status status,
                  const struct rkc_rank_range *missing, uint32_t n_missing,
                  char text[RKC_SINK_TEXT_MAX]);
    void (*close)(struct rkc_sink *sink);
    /* Before the job, or NULL: how many call paths and which metrics the profile will most likely
     * have, so that work can begin. */
    int (*plan)(struct rkc_sink *sink, uint32_t n_paths, uint32_t metrics);
};

struct rkc_sink {
    const struct rkc_sink_ops *ops;
};

#endif
