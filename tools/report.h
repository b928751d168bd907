/* report.h - the numbers of a report, computed once, and the texts made of them.
 *
 * What is not measured is NaN or -1. Means are over all ranks in the file, those that lack a
 * call path counted as 0; shares are of the ranks' mean wall time.
 */
#ifndef RKC_REPORT_H
#define RKC_REPORT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <rankclock/reader.h>

enum {
    RKC_REPORT_COLUMNS = 100,
    RKC_REPORT_LINES = 40,
    RKC_REPORT_TOP = 5, /* regions whose efficiencies stand beside the run's */
    RKC_REPORT_REASONS = 5, /* why visits of GPU regions have no device time */
    RKC_REPORT_FINDINGS = 24,
    RKC_REPORT_PAIRS = 4096,       /* pairs of ranks kept for the page */
    RKC_REPORT_ALL_PAIRS = 1 << 18, /* for --matrix */
};

/* POP's multiplicative model: parallel = balance × communication. */
struct rkc_efficiency {
    double parallel, balance, communication;
    double elapsed_ns; /* of the slowest rank */
    int64_t ranks;     /* how many ranks it is about */
};

/* A call path that is no MPI call; the root is the whole run. */
struct rkc_report_region {
    uint32_t path;
    int32_t parent; /* row of the parent, or -1 */
    int depth;
    double wall_ns, share, exclusive_ns, mpi_ns; /* means over ranks */
    double device_ns, device_share;              /* mean over ranks; of all device time */
    double imbalance;                            /* most useful time over mean useful time */
    int32_t slowest;                /* the rank with the most useful time; -1 if they are alike */
    int64_t visits, ranks, threads; /* threads: of the rank with the most */
    int estimated;                  /* visits were sampled; the times are extrapolated */
    struct rkc_efficiency efficiency;
};

/* Visits of GPU regions that have no device time, for one reason. */
struct rkc_report_reason {
    const char *metric, *text;
    double visits;
};

struct rkc_report_device {
    double covered_ns; /* the sum of its ranks' */
    size_t ranks;
};

/* What GPU regions tell of the devices. */
struct rkc_report_gpu {
    int exists; /* there is a GPU region */
    size_t n_devices, n_shared, n_ranks; /* used; of these by several ranks; ranks that use one */
    struct rkc_report_device *devices;   /* as in the file */
    double coverage, least_coverage;     /* of wall: of all ranks' devices; of the rank `least` */
    int32_t least;
    double balance;           /* of what is covered, over devices: mean / most */
    double visits, device_ns; /* over call paths and ranks */
    double lost;              /* visits without device time */
    struct rkc_report_reason reasons[RKC_REPORT_REASONS];
    double lag_ns;            /* mean of the visits whose lag is known */
    double offload, wait_ns;  /* known if a region is marked as waiting; the wait is a mean */
};

/* An MPI function at one call path, or, where that moved data between several kinds of memory, a
 * part of it. */
struct rkc_report_call {
    uint32_t path;
    char kinds[3];                /* a letter for each end, as "DH"; "-" where nothing was moved */
    double ns, share, blocked_ns; /* means over ranks */
    double wait_ns, xfer_ns;      /* means: at least so much waiting; at most so much else */
    int32_t awaited;              /* the rank that most of that was for, or -1 */
    int32_t longest;              /* the rank with the most time, or -1 */
    int64_t calls, bytes, ranks;
    double mean_bytes, median_bytes; /* of one call; the median's is its bucket's lower edge */
    double rate;                     /* bytes per ns, or NaN where it would mean nothing */
};

/* What was moved between two kinds of memory, over all call paths and ranks. */
struct rkc_report_kinds {
    char kinds[3];
    double bytes; /* sent and received */
};

/* The waiting in symmetric collectives of a call path, summed over ranks and communicators. */
struct rkc_report_wait {
    double ns;       /* at least; NaN: not known */
    int32_t awaited; /* the rank that was waited for most in one communicator, or -1 */
};

/* A rank that others waited for, and where most. */
struct rkc_report_awaited {
    int32_t rank;
    uint32_t path;
    double ns, path_ns; /* summed over the ranks that waited: in all, and at `path` */
};

struct rkc_report_pair {
    int32_t source, target; /* -1: others */
    double messages, bytes;
};

/* What a rank has sent and received, by the messages that were counted. */
struct rkc_report_traffic {
    double sent, received, bytes_sent, bytes_received;
    double away;    /* of the bytes, those to and from other nodes */
    int64_t targets; /* rows of the matrix, in which it is the source */
};

/* The communication matrix, as far as it is kept: of more pairs those with most bytes. */
struct rkc_report_matrix {
    struct rkc_report_pair *pairs; /* most bytes first */
    size_t n_pairs, cap_pairs, n_left_out;
    double most_left_out; /* bytes of a pair that is not there, at most */
    struct rkc_report_traffic *ranks; /* as in the file */
    struct rkc_report_pair all, inside, between, unknown, others; /* sums; no ranks in them */
    int64_t others_rows; /* rows of ranks with others: for each, of what it sent and what it got */
    int32_t others_rank; /* the rank with most bytes in one of them, or -1 */
    double others_most;
};

/* Ranks that ended, or were last seen, in the same way and call path. */
struct rkc_report_place {
    const struct rkc_reader_rank *rank; /* the first of them */
    const size_t *rows;                 /* n of the table of ranks, rising */
    size_t n;
    int is_finalized;
    int64_t first_ns, last_ns; /* when measuring ended: the earliest, the latest; Unix time */
};

/* One finding, by a written rule. */
struct rkc_finding {
    const char *rule; /* "V1" … verdicts, "W1" … warnings; --explain tells each */
    char text[512];
};

struct rkc_report {
    struct rkc_reader *reader;
    size_t n_ranks, n_missing, n_nodes;
    double wall_ns;                       /* of the rank measured longest */
    double mean_wall_ns, init_ns, mpi_ns; /* means over ranks */
    double overhead;                      /* of the sum of the ranks' wall time */
    struct rkc_efficiency efficiency;     /* of the run, MPI_Init left out */
    struct rkc_report_gpu gpu;
    struct rkc_report_matrix matrix;
    int32_t most_useful;                  /* row of ranks, or -1 */
    double most_useful_ns, mean_useful_ns;

    struct rkc_report_region *regions; /* in the order of the tree, most time first */
    struct rkc_report_call *calls;     /* most time first */
    struct rkc_report_kinds *kinds;    /* most bytes first; none where no kind was told */
    struct rkc_report_wait *waits;     /* of each call path */
    struct rkc_report_awaited *awaited; /* most time first */
    struct rkc_report_place *places;   /* failures first, finalized ranks last; most ranks first */
    size_t *place_rows;                /* what their rows point to */
    struct rkc_finding *findings;      /* the verdict first */
    size_t n_regions, n_calls, n_kinds, n_awaited, n_places, n_findings;
    int has_kinds; /* some data was not in host memory */
    int waits_are_measured; /* RANKCLOCK_MPI_SYNC: no bounds */
    size_t top[RKC_REPORT_TOP]; /* rows of regions, in the order of the tree */
    size_t n_top;
};

/** Compute a report from an open file, which must stay open.
 *
 * @param pairs  so many pairs of ranks are kept of the matrix
 *
 * @return 0, RKC_ENOMEM or, where the matrix is damaged, RKC_EFORMAT; rkc_report_free in any case
 */
int rkc_report_init(struct rkc_report *report, struct rkc_reader *reader, size_t pairs);
void rkc_report_free(struct rkc_report *report);

/* The numbers of the devices, before those of the regions. 0 or RKC_ENOMEM. */
int rkc_report_measure_gpu(struct rkc_report *report);

/* The waits, then the MPI calls. 0 or RKC_ENOMEM. */
int rkc_report_measure_waits(struct rkc_report *report);
int rkc_report_measure_calls(struct rkc_report *report);

/* The matrix: 0, RKC_ENOMEM or RKC_EFORMAT. */
int rkc_report_measure_matrix(struct rkc_report *report, size_t pairs);

/* Where the ranks were. 0 or RKC_ENOMEM. */
int rkc_report_measure_where(struct rkc_report *report);

/* Sort texts, leave each once, and say how many that are. */
size_t rkc_report_distinct(const char **texts, size_t n);

/* Whether a rank aborted or got a signal; "aborted", "got SIGSEGV". */
int rkc_report_is_failure(const struct rkc_reader_rank *rank);
void rkc_report_ending(const struct rkc_reader_rank *rank, char *out, size_t size);

/* A letter for a memory kind: H, P, D, M, U, "-" for none, "?" for one of a newer schema. */
char rkc_report_kind_letter(const char *kind);

/* What is known of the waiting of a row: measured, or a lower bound, or absent. */
int64_t rkc_report_wait_ns(const struct rkc_reader_wait *wait);

/* Where the rank is in the table of ranks, or -1. */
int64_t rkc_report_rank_row(const struct rkc_report *report, int32_t rank);

/* "r17 (g07)", or "r17" without its node; cut to what fits. */
void rkc_report_rank_name(const struct rkc_report *report, int32_t rank, char *out, size_t size);

/* Sent or received as a message of its own, point to point or one-sided: by its name. */
int rkc_report_is_message(const char *call);

/* The least size in the bucket that holds the median; NaN for an empty histogram. */
double rkc_report_median_size(const struct rkc_reader *reader, const int64_t *counts);

/* a + b, at most INT64_MAX; neither is negative. */
int64_t rkc_report_add(int64_t a, int64_t b);

/* "node7 0000:3b:00.0" */
void rkc_report_device_name(const struct rkc_reader *reader, size_t i, char *out, size_t size);

/* The ranks that use a device, "r0-r3, r8". */
void rkc_report_device_ranks(const struct rkc_reader *reader, size_t device, char *out,
                             size_t size);

/* ", 4 NVIDIA H200" for the header; "" without devices. */
void rkc_report_gpu_kind(const struct rkc_report *report, char *out, size_t size);

/* The findings of a report whose numbers are there. 0 or RKC_ENOMEM. */
int rkc_report_judge(struct rkc_report *report);

/* Add a finding; beyond RKC_REPORT_FINDINGS it is lost. */
__attribute__((format(printf, 3, 4))) void rkc_report_find(struct rkc_report *report,
                                                           const char *rule, const char *format,
                                                           ...);

/* A call path in a sentence: cut in front, where it says least. */
struct rkc_spot {
    char text[160];
};
struct rkc_spot rkc_report_spot(const struct rkc_report *report, uint32_t path);

/* The findings about what MPI moved and what else sees its calls; about settings that perturb. */
void rkc_report_judge_mpi(struct rkc_report *report);
void rkc_report_judge_settings(struct rkc_report *report);

/* Thresholds of the rules, in the order of their names. */
struct rkc_rule {
    const char *name, *text;
};
const struct rkc_rule *rkc_report_rules(size_t *n);

/* The call path from the outermost region down, "step/halo/MPI_Waitall"; "(run)" for the root.
 * Cut in front if it is longer than `size`. */
void rkc_report_path(const struct rkc_reader *reader, uint32_t path, char *out, size_t size);

const char *rkc_report_region_name(const struct rkc_reader *reader, uint32_t path);
int rkc_report_is_mpi(const struct rkc_reader *reader, uint32_t path);

/* How many visits a call path's timed ones stand for: visits / timed visits, 1 if all were. */
double rkc_report_scale(const struct rkc_reader *reader, uint32_t path);

/* A metric's statistic of a call path, or NULL if no rank has it. */
const struct rkc_reader_stat *rkc_report_stat(const struct rkc_reader *reader, const char *metric,
                                              uint32_t path);

/* Where and how it is printed. */
struct rkc_page {
    FILE *out;
    int utf8;
    int columns;
    int lines; /* INT_MAX: no limit */
};

void rkc_report_print(const struct rkc_report *report, const struct rkc_page *page);
void rkc_report_print_header(const struct rkc_report *report, const struct rkc_page *page);
void rkc_report_print_ranks(const struct rkc_report *report, const struct rkc_page *page);
void rkc_report_print_where(const struct rkc_report *report, const struct rkc_page *page);
/* The ranks that did not come to the end, in a few lines; nothing if there are none. */
void rkc_report_print_at_end(const struct rkc_report *report, const struct rkc_page *page);
/* The table of regions, of at most `rows` rows. */
void rkc_report_print_regions(const struct rkc_report *report, const struct rkc_page *page,
                              size_t rows);
/* Columns of a rank, "r17", such that no number runs into the next; at least `least`. */
int rkc_report_rank_columns(const struct rkc_report *report, int least);
/* A block of the page; nothing without GPU regions. */
void rkc_report_print_gpu(const struct rkc_report *report, const struct rkc_page *page);
/* A line about a call path's visits on the device; nothing if it is no GPU region. */
void rkc_report_print_device_visits(const struct rkc_report *report, const struct rkc_page *page,
                                    uint32_t path);
/* The table of MPI calls, of at most `rows` rows. */
void rkc_report_print_calls(const struct rkc_report *report, const struct rkc_page *page,
                            size_t rows);
/* The lines below it: bytes by kind, the pairs with most bytes; nothing if there are none. */
void rkc_report_print_kinds(const struct rkc_report *report, const struct rkc_page *page);
void rkc_report_print_pairs(const struct rkc_report *report, const struct rkc_page *page);
/* What a call path moved, row by row; nothing if all was host memory. */
void rkc_report_print_transfers(const struct rkc_report *report, const struct rkc_page *page,
                                uint32_t path);
/* The collectives at a call path or below it, by communicator; nothing if there are none. */
void rkc_report_print_waits(const struct rkc_report *report, const struct rkc_page *page,
                            uint32_t path);
void rkc_report_print_matrix(const struct rkc_report *report, const struct rkc_page *page);
/* Whether a call path is below another, or is it. */
int rkc_report_is_within(const struct rkc_reader *reader, uint32_t path, uint32_t top);
/* RKC_ENOTFOUND if there is no region or call path of that name. */
int rkc_report_print_region(const struct rkc_report *report, const struct rkc_page *page,
                            const char *name);
void rkc_report_explain(const struct rkc_page *page);
/* The part of it about bytes. */
void rkc_report_explain_bytes(const struct rkc_page *page);

#endif
