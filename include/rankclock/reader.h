/* reader.h - read a rankclock result file.
 *
 * A reader holds the file's tables in memory, except the per-rank values, which are read
 * when asked for. What it returns stays owned by the reader and valid until it is closed.
 * One reader is used by one thread at a time. Files are taken as untrusted: every shape
 * and index is checked when the file is opened.
 */
#ifndef RANKCLOCK_READER_H
#define RANKCLOCK_READER_H

#include <stddef.h>
#include <stdint.h>

#include <rankclock/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rkc_reader; /* opaque */

enum rkc_reader_state { RKC_READER_COMPLETE, RKC_READER_PARTIAL, RKC_READER_ABORTED };

/* The absent value of every int64 below: not measured, which is not 0. */
#define RKC_READER_ABSENT INT64_C(-1)

/* One metric of one call path over ranks. With `ranks` 0 the other fields are absent. */
struct rkc_reader_stat {
    int64_t sum, min, max;
    double sumsq;
    int32_t min_rank, max_rank;
    int64_t ranks; /* how many ranks have it */
};

struct rkc_reader_region {
    const char *name; /* UTF-8 */
    const char *kind; /* "root", "user", "mpi", "other" */
    const char *file; /* source file, or "" */
    int32_t line;
};

/* Call path 0 is the root "(run)" with parent -1; parents come before children. */
struct rkc_reader_path {
    int32_t parent;
    int32_t region;
    int32_t depth;
};

struct rkc_reader_rank {
    int32_t rank, pid, local_rank, cpu, threads;
    const char *node;
    const char *state; /* "running", "finalized", "aborted", "signal" */
    int64_t wall_ns;   /* from the begin of measuring to its end */
    int64_t init_ns;   /* of that, in MPI_Init */
    int64_t mpi_ns;    /* in MPI, MPI_Init included, on the thread with the most */
    int64_t useful_ns; /* wall less MPI less known waiting for a device */
    int64_t overhead_ns;
    int32_t open_callpath; /* innermost call path open at the end, or -1 */
    int64_t measured_until_unix_ns;
    int32_t device;    /* index of the device that it used most, or -1 */
    int64_t device_ns; /* device time of its GPU regions, summed over devices and streams */
    int32_t signal;    /* that ended it, or 0 */
};

/* A device that ranks used: one element whatever the number of ranks. */
struct rkc_reader_device {
    const char *node;
    const char *name;       /* product name */
    const char *uuid;       /* "GPU-..." or "MIG-...", or "" */
    const char *pci_bus_id; /* "domain:bus:device.function", or "" */
    int32_t index;          /* number by which the first of its ranks knows it */
    int32_t driver_version; /* CUDA's: 1000 * major + 10 * minor */
    int32_t numa_node;      /* NUMA node of the host that it is near to, or -1 */
};

/* A device of a rank. */
struct rkc_reader_device_use {
    int32_t rank;       /* its number, as in struct rkc_reader_rank; rising */
    int32_t device;     /* index of a device */
    int32_t index;      /* number by which the rank knows it */
    int64_t covered_ns; /* time with at least one of the rank's GPU regions on it: their union */
    int64_t device_ns;  /* their sum */
    int32_t rank_numa_node; /* NUMA node of the processor where the rank first used it, or -1 */
};

/* What an MPI call path moved between two kinds of memory, over all ranks. A kind is "host",
 * "pinned", "device", "managed", "unknown", or "none" where nothing was sent or received; files
 * before schema 1.2 have "unknown" alone. What was moved is the sum of a call path's rows. */
struct rkc_reader_transfer {
    size_t size;            /* of this struct: so far apart are the elements of the table */
    int32_t callpath, call; /* indexes of a call path and of its region */
    const char *send_kind, *recv_kind;
    int64_t calls; /* of other memory than the host's, operations: a call may start several */
    int64_t bytes_sent, bytes_received, ns;
    int64_t blocked_ns, in_flight_ns; /* or absent */
    const int64_t *size_histogram;    /* operations [rkc_reader_size_buckets] */
    int32_t send_device, recv_device; /* number that the ranks know the device by, or -1 */
    int64_t noncontiguous; /* operations whose datatype has gaps; absent for host memory */
};

/* A symmetric collective at one call path on one communicator. Who spends the least time in it
 * waited the least: the others wait for that rank. */
struct rkc_reader_wait {
    size_t size; /* of this struct: so far apart are the elements of the table */
    int32_t callpath;
    uint64_t comm_key; /* tells communicators apart; the same for those of the same members */
    int32_t comm_size;
    int32_t comm_first;   /* the lowest rank in it */
    int32_t ranks;        /* those that called here */
    int32_t awaited_rank; /* whose time is the least; of equal ones the lowest */
    int64_t calls;        /* of the rank that called most; of each, if wait_ns is known */
    int64_t sum_ns;       /* time in the calls, over the ranks */
    int64_t least_ns, most_ns; /* of a rank */
    int64_t wait_ns; /* at least so much of sum_ns was waiting; absent where that is not known */
    int64_t sync_ns; /* of sum_ns, in a barrier put before (RANKCLOCK_MPI_SYNC), or absent */
};

/* Messages from one rank to another, point-to-point and one-sided. Two ranks may have two rows:
 * from the one that sent, and from the other, if it fetched by one-sided gets. */
struct rkc_reader_pair {
    size_t size;            /* of this struct */
    int32_t source, target; /* ranks; -1: those that the other had no room to tell apart */
    int64_t messages, bytes;
};

struct rkc_reader_note {
    const char *kind, *text;
    int32_t region; /* index, or -1 */
    int32_t rank;   /* the first rank that has it */
    int64_t count;
};

struct rkc_reader_range {
    int32_t first, last;
};

/** Open a result file.
 *
 * @param path    its name
 * @param reader  the new reader, closed with rkc_reader_close
 * @param text    on failure one line that says what is wrong with which file, without a
 *                full stop; may be NULL
 * @param size    of `text` in bytes
 *
 * @return 0, or
 *   RKC_EIO       it cannot be opened or read
 *   RKC_EFORMAT   not HDF5, not rankclock's, or damaged
 *   RKC_EVERSION  its schema has a newer major version
 *   RKC_ENOMEM
 */
RKC_API int rkc_reader_open(const char *path, struct rkc_reader **reader, char *text, size_t size);

/** Close a reader; NULL is fine. */
RKC_API void rkc_reader_close(struct rkc_reader *reader);

/** How much of the run the file holds. */
RKC_API enum rkc_reader_state rkc_reader_state(const struct rkc_reader *reader);

/** Attributes of the file: "rankclock_schema", "writer", "created", "status"; else NULL. */
RKC_API const char *rkc_reader_attribute(const struct rkc_reader *reader, const char *name);

/** A fact of /job as text, or NULL. Integers come as decimal digits. */
RKC_API const char *rkc_reader_job(const struct rkc_reader *reader, const char *name);

/** An integer fact of /job, or RKC_READER_ABSENT. */
RKC_API int64_t rkc_reader_job_int(const struct rkc_reader *reader, const char *name);

/** The number of facts in /job, and the name of the i-th in alphabetical order. */
RKC_API size_t rkc_reader_n_job(const struct rkc_reader *reader);
RKC_API const char *rkc_reader_job_name(const struct rkc_reader *reader, size_t i);

/** Tables; each function gives the first element and the number of them. */
RKC_API const struct rkc_reader_rank *rkc_reader_ranks(const struct rkc_reader *reader, size_t *n);
RKC_API const struct rkc_reader_region *rkc_reader_regions(const struct rkc_reader *reader,
                                                           size_t *n);
RKC_API const struct rkc_reader_path *rkc_reader_paths(const struct rkc_reader *reader, size_t *n);
RKC_API const struct rkc_reader_transfer *rkc_reader_transfers(const struct rkc_reader *reader,
                                                               size_t *n);
RKC_API const struct rkc_reader_wait *rkc_reader_waits(const struct rkc_reader *reader, size_t *n);
RKC_API const struct rkc_reader_note *rkc_reader_notes(const struct rkc_reader *reader, size_t *n);
RKC_API const struct rkc_reader_range *rkc_reader_missing(const struct rkc_reader *reader,
                                                          size_t *n);

/** Devices, and which rank used which; none, with *n 0, in a file without device time. */
RKC_API const struct rkc_reader_device *rkc_reader_devices(const struct rkc_reader *reader,
                                                           size_t *n);
RKC_API const struct rkc_reader_device_use *rkc_reader_device_use(const struct rkc_reader *reader,
                                                                  size_t *n);

/** The statistics of a metric, one for each call path, or NULL if the file lacks it.
 *
 * @param metric  its name in /profile, as "inclusive_ns"
 */
RKC_API const struct rkc_reader_stat *rkc_reader_profile(const struct rkc_reader *reader,
                                                         const char *metric);

/** The names of the metrics that the file holds, alphabetically; NULL past the last. */
RKC_API const char *rkc_reader_metric(const struct rkc_reader *reader, size_t i);

/** Sum of squared visit durations for each call path, ns², NaN where absent; or NULL. */
RKC_API const double *rkc_reader_visit_sumsq(const struct rkc_reader *reader);

/** Visit durations: counts [call paths][buckets] row by row, and their buckets + 1 edges in ns. */
RKC_API const int64_t *rkc_reader_histogram(const struct rkc_reader *reader, size_t *buckets,
                                            const int64_t **edges_ns);

/** Buckets of size_histogram and their buckets + 1 edges in bytes. */
RKC_API size_t rkc_reader_size_buckets(const struct rkc_reader *reader,
                                       const int64_t **edges_bytes);

/** Read a metric of one call path for all ranks.
 *
 * @param metric    its name, as "inclusive_ns"
 * @param callpath  index of the call path
 * @param values    room for as many numbers as there are ranks, in the order of
 *                  rkc_reader_ranks; RKC_READER_ABSENT where a rank lacks the call path
 *
 * @return 0, or
 *   RKC_ENOTFOUND  the file has no per-rank values of this metric
 *   RKC_EARG       no such call path
 *   RKC_EFORMAT    the data are damaged
 */
RKC_API int rkc_reader_per_rank(struct rkc_reader *reader, const char *metric, size_t callpath,
                                int64_t *values);

/** The number of rows of the communication matrix; 0 in a file without. */
RKC_API size_t rkc_reader_n_matrix(const struct rkc_reader *reader);

/** Go through the communication matrix, which is read in parts: it may be larger than memory.
 *
 * @param take     called for each row; anything but 0 ends it. The pair is valid only in the call
 * @param context  handed to it
 *
 * @return 0, what `take` returned, or
 *   RKC_ENOMEM
 *   RKC_EFORMAT  the data are damaged: ranks that the job does not have, or less than nothing
 *
 * Rows come in the order of the ranks that counted the messages.
 */
RKC_API int rkc_reader_matrix(struct rkc_reader *reader,
                              int (*take)(void *context, const struct rkc_reader_pair *pair),
                              void *context);

#ifdef __cplusplus
}
#endif

#endif
