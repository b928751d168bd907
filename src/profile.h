/* profile.h - every call path with its metrics: of one rank, or of many. */
#ifndef RKC_PROFILE_H
#define RKC_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#include "schema.h"
#include "stats.h"

#define RKC_NO_PATH UINT32_MAX

enum {
    RKC_PROFILE_PATHS_MAX = 65536,   /* call paths of a merged profile; the rest is "(other)" */
    RKC_PROFILE_REGIONS_MAX = 65536, /* regions of a merged profile; the rest is "(other)" */
    RKC_PROFILE_FILE_MAX = 1023,     /* bytes of a source file's name that are kept */
    RKC_PROFILE_NOTES_MAX = 1024,    /* notes before regions no longer get rows of their own */
    RKC_PROFILE_MOVED_MAX = 65536,   /* rows of transfers, and of waits, in any profile */
    RKC_NOTE_TEXT_MAX = 160,         /* the NUL included */
};

struct rkc_profile_region {
    char *name; /* UTF-8, owned by the profile */
    char *file; /* where in the source, or NULL; owned */
    int32_t line;
    uint8_t kind;   /* enum rkc_region_kind */
    uint8_t flags;  /* RKC_WAIT */
    uint32_t every; /* sampling: every n-th visit timed; 0 or 1: each */
};

/* Path 0 is the root "(run)", its parent RKC_NO_PATH; parents come before children. */
struct rkc_profile_path {
    uint32_t parent;
    uint32_t region;
    uint32_t depth;
};

/* What belongs to a path besides its metrics; where these are all absent it counts for nothing. */
struct rkc_path_hist {
    uint64_t time[RKC_TIME_BUCKETS]; /* timed visits by duration */
    uint64_t size[RKC_SIZE_BUCKETS]; /* MPI operations by the larger of bytes sent and received */
    rkc_u128 visit_sumsq_ns2;        /* sum of squared visit durations; saturates */
};

/* The numbers of the paths first .. first + n - 1: a window, so that a reduction over
 * many paths needs memory for a few at a time. */
struct rkc_numbers {
    uint32_t first, n;
    struct rkc_stat *stats;     /* [n][RKC_METRICS] */
    struct rkc_path_hist *hist; /* [n] */
};

/* Call paths of a window: as many as fit into so much memory. */
enum {
    RKC_NUMBERS_WINDOW = 128 * 1024 / (RKC_METRICS * sizeof(struct rkc_stat) +
                                       sizeof(struct rkc_path_hist)),
};

/* All absent. 0 or RKC_ENOMEM. `n` may be 0. */
int rkc_numbers_init(struct rkc_numbers *numbers, uint32_t first, uint32_t n);
void rkc_numbers_free(struct rkc_numbers *numbers);

/* Add `from` to `into`, path by path; both hold the same window (else RKC_EARG). */
int rkc_numbers_merge(struct rkc_numbers *into, const struct rkc_numbers *from);

/* Add one path's metrics and histograms to another's. */
void rkc_numbers_merge_path(struct rkc_stat *into_stats, struct rkc_path_hist *into_hist,
                            const struct rkc_stat *from_stats,
                            const struct rkc_path_hist *from_hist);

struct rkc_profile_note {
    uint8_t kind;    /* enum rkc_note_kind */
    uint32_t region; /* index, or RKC_NO_PATH */
    int32_t rank;    /* the lowest rank that has it, whose text this is */
    int64_t count;   /* over all ranks; saturates */
    char text[RKC_NOTE_TEXT_MAX];
};

/* What a call path moved from and to other memory than the host's; values add up over ranks.
 * Kinds are enum rkc_memory_kind, devices -1 where the kind is not a device. */
struct rkc_transfer {
    uint32_t path;
    uint8_t send_kind, recv_kind;
    int16_t send_device, recv_device;
    int64_t sent, received; /* bytes; these and the following saturate */
    int64_t ns, blocked_ns, in_flight_ns;
    int64_t noncontiguous;            /* operations whose datatype has gaps */
    uint64_t size[RKC_SIZE_BUCKETS];  /* operations by the larger of sent and received */
};

/* A communicator: the same for those of the same members. */
struct rkc_comm_id {
    uint64_t key;
    int32_t size, first; /* first: the lowest world rank in it */
};

/* The time that ranks spent in a symmetric collective on one communicator. Who spends the least
 * waited the least: the others wait for that rank. */
struct rkc_wait {
    uint32_t path;
    int32_t ranks;      /* that have called */
    int32_t least_rank; /* who has ns_min; of equal ones the lowest */
    struct rkc_comm_id comm;
    int64_t calls_min, calls_max;   /* of a rank */
    int64_t ns_sum, ns_min, ns_max; /* over ranks, of a rank */
    int64_t sync_ns;                /* of ns_sum, measured waiting; RKC_ABSENT if it was not */
};

/* Ranks held, as sorted disjoint ranges; adjacent ones are joined. */
struct rkc_rank_range {
    int32_t first, last;
};

struct rkc_profile {
    struct rkc_profile_region *regions;
    uint32_t n_regions, cap_regions;

    struct rkc_profile_path *paths;
    uint32_t n_paths, cap_paths;

    /* Of all paths (first 0, room for cap_paths), or NULL arrays in a profile of paths alone. */
    struct rkc_numbers numbers;
    int has_numbers;

    struct rkc_profile_note *notes;
    uint32_t n_notes, cap_notes;

    struct rkc_rank_range *ranks;
    uint32_t n_ranks, cap_ranks;

    uint32_t *index; /* hash of (parent, region) -> path + 1, for rkc_profile_path_get */
    uint32_t index_size;
    uint32_t *region_index; /* hash of (kind, name) -> region + 1 */
    uint32_t region_index_size;
    struct rkc_transfer *transfers;
    uint32_t n_transfers, cap_transfers;
    struct rkc_wait *waits;
    uint32_t n_waits, cap_waits;
    uint32_t *transfer_index; /* hash of all that tells a row from others -> row + 1 */
    uint32_t transfer_index_size;
    uint32_t *wait_index;
    uint32_t wait_index_size;
    struct rkc_transfer *spilled; /* sum of transfers beyond RKC_PROFILE_MOVED_MAX, or NULL */
    int64_t waits_dropped;        /* rows of waits of one rank that had no room; saturates */

    /* Call paths that fell into "(other)" for want of room, counted for each profile that
     * was merged with one; saturates. */
    int64_t paths_folded;
};

/* An empty profile: no region, no path. `numbers` 0: paths alone, for numbering. */
void rkc_profile_init(struct rkc_profile *profile, int numbers);

/* Frees what the profile owns, not the struct; NULL is fine. */
void rkc_profile_free(struct rkc_profile *profile);

/* Find or add a region by kind and name. The first file given is kept with its line.
 * Beyond RKC_PROFILE_REGIONS_MAX it is the region "(other)". Returns its index, 0 or more,
 * or RKC_ENOMEM, RKC_ENAME (NULL, empty or too long) or RKC_EARG (no such kind). */
int64_t rkc_profile_region_get(struct rkc_profile *profile, enum rkc_region_kind kind,
                               const char *name, const char *file, int line);

/* Find or add the path of `region` below `parent`; RKC_NO_PATH gives the root, whatever the
 * region once there is one. Beyond RKC_PROFILE_PATHS_MAX it is the path "(other)" below
 * the root, counted in paths_folded. Returns its index, 0 or more, or RKC_ENOMEM, or
 * RKC_EARG (no such region or parent). New paths have no metrics. */
int64_t rkc_profile_path_get(struct rkc_profile *profile, uint32_t parent, uint32_t region);

/* The statistics of a path: RKC_METRICS of them. */
static inline struct rkc_stat *rkc_profile_stats(const struct rkc_profile *profile, uint32_t path)
{
    return profile->numbers.stats + (size_t)path * RKC_METRICS;
}

/* Count a note; equal kind and region are one row, and beyond RKC_PROFILE_NOTES_MAX rows a
 * new region's notes go to the row of their kind without region. `region` is an index or
 * RKC_NO_PATH, `text` may be NULL. 0, RKC_ENOMEM, or RKC_EARG (no such kind or region). */
int rkc_profile_note_add(struct rkc_profile *profile, enum rkc_note_kind kind, uint32_t region,
                         int32_t rank, int64_t count, const char *text);

/* Say that the profile holds ranks first..last. 0, RKC_ENOMEM, or RKC_EARG (no range). */
int rkc_profile_ranks_add(struct rkc_profile *profile, int32_t first, int32_t last);

/* The row of what a path moved between two kinds of memory, to be added to; found or made, all
 * zero. Beyond RKC_PROFILE_MOVED_MAX rows it is profile->spilled. Valid until the next call.
 * NULL without memory or where there is no such path or kind. */
struct rkc_transfer *rkc_profile_transfer_get(struct rkc_profile *profile, uint32_t path,
                                              enum rkc_memory_kind send_kind, int send_device,
                                              enum rkc_memory_kind recv_kind, int recv_device);

/* Add to the profile of one rank, `rank`, the calls of a path on a communicator; sync_ns may be
 * RKC_ABSENT. What is beyond RKC_PROFILE_MOVED_MAX rows, or on a call path "(other)", in which
 * ranks share nothing, is counted in waits_dropped. 0, RKC_ENOMEM, or RKC_EARG (no such path;
 * a negative number). */
int rkc_profile_wait_add(struct rkc_profile *profile, uint32_t path,
                         const struct rkc_comm_id *comm, int32_t rank, int64_t calls, int64_t ns,
                         int64_t sync_ns);

/* A lower bound of the time that the ranks of a row waited, or RKC_ABSENT where none is known:
 * not all members have called, or not equally often. */
int64_t rkc_wait_ns(const struct rkc_wait *wait);

/* The call paths of a profile alone, in the same memory: not to be changed or freed. */
struct rkc_profile rkc_profile_bare(const struct rkc_profile *profile);

/** Add everything in `from` to `into`.
 *
 * Call paths are matched by the names and kinds of their regions, not by index; those
 * of `into` keep their numbers, new ones follow in the order of `from`. Associative while
 * nothing falls into "(other)": merging any bracketing of the same sequence of profiles
 * gives the same profile. Profiles without numbers add none. Paths that both have at the
 * same index are not looked up.
 *
 * In "(other)" sums stay right, but a rank is counted once for each path that fell into it
 * and the extremes are those of single paths.
 *
 * @param from  another profile than `into`
 * @param map   filled with the index in `into` of each path of `from`, or NULL
 *
 * @return 0, or RKC_ENOMEM with `into` usable but incomplete
 */
int rkc_profile_merge(struct rkc_profile *into, const struct rkc_profile *from, uint32_t *map);

#endif
