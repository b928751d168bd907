/* hdf5_numbers.c - /profile, written as windows of call paths arrive. */
#include "autoconf.h"

#include "sink/hdf5_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rankclock/status.h>

static const struct {
    const char *name, *unit, *prefix;
} stats[RKC_PROFILE_STATS] = {
#define STAT(id, name, unit, prefix) {name, unit, prefix},
    RKC_PROFILE_STAT_LIST(STAT)
#undef STAT
};

static int create_metric(struct rkc_h5 *h5, hid_t parent, const struct rkc_h5_metric *metric,
                         uint32_t n_paths, hid_t ids[RKC_PROFILE_STATS])
{
    hid_t group = rkc_h5_group(h5, parent, metric->name, metric->description);
    if (group < 0)
        return RKC_EIO;
    struct rkc_h5_shape shape = rkc_h5_column(n_paths);
    int status = 0;
    for (int i = 0; i < RKC_PROFILE_STATS && !status; i++) {
        char units[32], description[512];
        int own = !stats[i].unit || stats[i].unit[0] == '^';
        int square = own && stats[i].unit && strcmp(metric->unit, "1") != 0;
        snprintf(units, sizeof units, "%s%s", own ? metric->unit : stats[i].unit,
                 square ? stats[i].unit : "");
        snprintf(description, sizeof description, "%s%s", stats[i].prefix, metric->description);
        int type = i == RKC_PROFILE_SUMSQ ? RKC_H5_FLOAT : RKC_H5_INT;
        ids[i] = rkc_h5_dataset(h5, group, stats[i].name, h5->types[type], &shape, units,
                                description);
        if (ids[i] < 0)
            status = RKC_EIO;
    }
    H5Gclose(group);
    return status;
}

static int create_visit_sumsq(struct rkc_h5 *h5, hid_t parent, struct rkc_h5_numbers *numbers)
{
    const char *description = "squares of the durations of the timed visits";
    hid_t group = rkc_h5_group(h5, parent, "visit_sumsq_ns2", description);
    if (group < 0)
        return RKC_EIO;
    struct rkc_h5_shape shape = rkc_h5_column(numbers->n_paths);
    numbers->visit_sumsq = rkc_h5_dataset(h5, group, "sum", h5->types[RKC_H5_FLOAT], &shape,
                                          "ns^2", "sum over all visits of all ranks: squares of "
                                          "their durations; NaN where no visit was timed");
    H5Gclose(group);
    return numbers->visit_sumsq < 0 ? RKC_EIO : 0;
}

static int put_time_edges(struct rkc_h5 *h5, hid_t parent)
{
    int64_t edges[RKC_TIME_BUCKETS + 1];
    for (unsigned i = 0; i <= RKC_TIME_BUCKETS; i++)
        edges[i] = rkc_time_bucket_edge(i);
    struct rkc_h5_shape shape = rkc_h5_column(RKC_TIME_BUCKETS + 1);
    return rkc_h5_put(h5, parent, "histogram_edges_ns", RKC_H5_INT, &shape, "ns",
                      "bucket i of the histogram holds durations from edge i to below edge i + 1",
                      edges);
}

/* The group with all but the metrics. */
static int create_profile(struct rkc_h5 *h5, struct rkc_h5_numbers *numbers)
{
    hid_t group = rkc_h5_group(h5, h5->file, "profile", "every metric of every call path over "
                               "ranks; one row for each call path, -1 or NaN where no rank has it");
    if (group < 0)
        return RKC_EIO;
    numbers->profile = group;
    int status = create_visit_sumsq(h5, group, numbers);
    if (!status)
        status = put_time_edges(h5, group);
    if (!status) {
        struct rkc_h5_shape shape = {
            .n_dims = 2, .size = {numbers->n_paths, RKC_TIME_BUCKETS}, .sparse = 1};
        numbers->histogram = rkc_h5_dataset(h5, group, "histogram", h5->types[RKC_H5_INT], &shape,
                                            "1", "timed visits by duration: a row for each call "
                                            "path, a column for each bucket");
        status = numbers->histogram < 0 ? RKC_EIO : 0;
    }
    return status;
}

/* One value of one statistic as it is in the file; sumsq is not among them. */
static int64_t stat_value(struct rkc_h5_numbers *numbers, const struct rkc_stat *stat, int which)
{
    if (stat->ranks == 0)
        return which == RKC_PROFILE_RANKS ? 0 : RKC_ABSENT;
    switch (which) {
    case RKC_PROFILE_SUM: {
        int saturated = 0;
        int64_t sum = rkc_stat_sum64(stat->sum, &saturated);
        if (saturated && numbers->saturated++ == 0)
            numbers->saturated_rank = stat->max_rank;
        return sum;
    }
    case RKC_PROFILE_MIN:
        return stat->min;
    case RKC_PROFILE_MAX:
        return stat->max;
    case RKC_PROFILE_MIN_RANK:
        return stat->min_rank;
    case RKC_PROFILE_MAX_RANK:
        return stat->max_rank;
    default:
        return stat->ranks;
    }
}

static int close_ids(struct rkc_h5 *h5, hid_t *ids, size_t n)
{
    int status = 0;
    for (size_t i = 0; i < n; i++) {
        if (ids[i] > 0 && rkc_h5_close_dataset(h5, ids[i]))
            status = RKC_EIO;
        ids[i] = 0;
    }
    return status;
}

static int write_metric(struct rkc_h5 *h5, struct rkc_h5_numbers *numbers,
                        const struct rkc_numbers *window, int metric, int64_t *ints,
                        double *floats)
{
    int status = 0;
    for (int which = 0; which < RKC_PROFILE_STATS && !status; which++) {
        const struct rkc_stat *stat = window->stats + metric;
        int is_float = which == RKC_PROFILE_SUMSQ;
        for (uint32_t k = 0; k < window->n; k++, stat += RKC_METRICS)
            if (is_float)
                floats[k] = stat->ranks ? (double)stat->sumsq : NAN;
            else
                ints[k] = stat_value(numbers, stat, which);
        status = rkc_h5_write_rows(h5, numbers->stats[metric][which],
                                   is_float ? H5T_NATIVE_DOUBLE : H5T_NATIVE_INT64, window->first,
                                   window->n, is_float ? (const void *)floats : ints);
    }
    return status;
}

/* The datasets of a metric are made for the first window and closed behind the last, mostly the
 * same: what is open takes memory. */
static int write_metrics(struct rkc_h5 *h5, struct rkc_h5_numbers *numbers,
                         const struct rkc_numbers *window, int64_t *ints, double *floats)
{
    int status = 0, is_last = window->first + window->n == numbers->n_paths;
    for (int i = 0; i < RKC_METRICS && !status; i++) {
        if (!(numbers->metrics >> i & 1))
            continue;
        if (numbers->stats[i][0] == 0)
            status = create_metric(h5, numbers->profile, &rkc_h5_metrics[i], numbers->n_paths,
                                   numbers->stats[i]);
        if (!status)
            status = write_metric(h5, numbers, window, i, ints, floats);
        if (!status && is_last)
            status = close_ids(h5, numbers->stats[i], RKC_PROFILE_STATS);
    }
    return status;
}

static int write_visit_sumsq(struct rkc_h5 *h5, struct rkc_h5_numbers *numbers,
                             const struct rkc_numbers *window, double *floats)
{
    for (uint32_t i = 0; i < window->n; i++) {
        const struct rkc_stat *timed = &window->stats[(size_t)i * RKC_METRICS +
                                                      RKC_METRIC_VISIT_MAX];
        floats[i] = timed->ranks ? (double)window->hist[i].visit_sumsq_ns2 : NAN;
    }
    return rkc_h5_write_rows(h5, numbers->visit_sumsq, H5T_NATIVE_DOUBLE, window->first,
                             window->n, floats);
}

static int64_t clamp64(uint64_t count)
{
    return count > INT64_MAX ? INT64_MAX : (int64_t)count;
}

/* A few rows at a time, so that the copy stays small. */
static int write_histogram(struct rkc_h5 *h5, struct rkc_h5_numbers *numbers,
                           const struct rkc_numbers *window)
{
    enum { ROWS = 128 };
    int64_t *counts = calloc(ROWS, RKC_TIME_BUCKETS * sizeof *counts);
    if (!counts)
        return rkc_h5_refuse(h5, RKC_ENOMEM, "out of memory");
    int status = 0;
    for (uint32_t first = 0; first < window->n && !status; first += ROWS) {
        uint32_t n = window->n - first < ROWS ? window->n - first : ROWS;
        int64_t *count = counts;
        for (uint32_t i = first; i < first + n; i++)
            for (int bucket = 0; bucket < RKC_TIME_BUCKETS; bucket++)
                *count++ = clamp64(window->hist[i].time[bucket]);
        status = rkc_h5_write_rows(h5, numbers->histogram, H5T_NATIVE_INT64,
                                   window->first + first, n, counts);
    }
    free(counts);
    return status;
}

static int collect_transfers(struct rkc_h5 *h5, struct rkc_h5_numbers *numbers,
                             const struct rkc_numbers *window)
{
    int status = 0;
    for (uint32_t i = 0; i < window->n && !status; i++) {
        uint32_t at = window->first + i;
        struct rkc_h5_path path = {.path = at,
                                   .region = numbers->regions[at],
                                   .is_mpi = numbers->is_mpi[at],
                                   .stat = &window->stats[(size_t)i * RKC_METRICS],
                                   .hist = &window->hist[i]};
        status = rkc_h5_transfers_add(h5, &numbers->transfers, &path);
    }
    return status;
}

int rkc_h5_numbers_add(struct rkc_h5 *h5, struct rkc_h5_numbers *numbers,
                       const struct rkc_numbers *window)
{
    if (window->first != numbers->covered || window->n > numbers->n_paths - numbers->covered)
        return rkc_h5_refuse(h5, RKC_EARG, "call paths out of order");
    int status = numbers->profile ? 0 : create_profile(h5, numbers);
    if (status)
        return status;
    int64_t *ints = calloc((size_t)window->n + 1, sizeof *ints);
    double *floats = calloc((size_t)window->n + 1, sizeof *floats);
    if (!ints || !floats)
        status = rkc_h5_refuse(h5, RKC_ENOMEM, "out of memory");
    if (!status)
        status = write_metrics(h5, numbers, window, ints, floats);
    if (!status)
        status = write_visit_sumsq(h5, numbers, window, floats);
    free(ints);
    free(floats);
    if (!status)
        status = write_histogram(h5, numbers, window);
    if (!status)
        status = collect_transfers(h5, numbers, window);
    if (!status)
        numbers->covered += window->n;
    return status;
}

static int close_datasets(struct rkc_h5 *h5, struct rkc_h5_numbers *numbers)
{
    int metrics = close_ids(h5, &numbers->stats[0][0], (size_t)RKC_METRICS * RKC_PROFILE_STATS);
    int sumsq = close_ids(h5, &numbers->visit_sumsq, 1);
    int histogram = close_ids(h5, &numbers->histogram, 1);
    return metrics || sumsq || histogram ? RKC_EIO : 0;
}

static void close_groups(struct rkc_h5_numbers *numbers)
{
    if (numbers->profile > 0)
        H5Gclose(numbers->profile);
    if (numbers->mpi > 0)
        H5Gclose(numbers->mpi);
    numbers->profile = numbers->mpi = 0;
}

/* ---- the datasets before the numbers ---- */

/* More than these are made one metric after the other: what is open takes memory. */
enum { PLANNED_PATHS = 4096 };

int rkc_h5_numbers_plan(struct rkc_h5 *h5, struct rkc_h5_numbers *numbers, uint32_t n_paths,
                        uint32_t metrics)
{
    if (n_paths == 0 || n_paths > PLANNED_PATHS)
        return 0;
    numbers->n_paths = n_paths;
    numbers->metrics = metrics & RKC_ALL_METRICS;
    int status = create_profile(h5, numbers);
    for (int i = 0; i < RKC_METRICS && !status; i++)
        if (numbers->metrics >> i & 1)
            status = create_metric(h5, numbers->profile, &rkc_h5_metrics[i], n_paths,
                                   numbers->stats[i]);
    return status;
}

static int is_planned(const struct rkc_h5_numbers *numbers, uint32_t n_paths, uint32_t metrics)
{
    return !numbers->profile ||
           (numbers->n_paths == n_paths && numbers->metrics == (metrics & RKC_ALL_METRICS));
}

/* The run is another one than planned. */
static int forget_plan(struct rkc_h5 *h5, struct rkc_h5_numbers *numbers)
{
    int status = close_datasets(h5, numbers);
    close_groups(numbers);
    if (!status && H5Ldelete(h5->file, "profile", H5P_DEFAULT) < 0)
        status = rkc_h5_refuse(h5, RKC_EIO, "HDF5 cannot remove what was planned");
    return status;
}

int rkc_h5_numbers_begin(struct rkc_h5 *h5, struct rkc_h5_numbers *numbers,
                         const struct rkc_profile *profile, uint32_t metrics)
{
    int status = is_planned(numbers, profile->n_paths, metrics) ? 0 : forget_plan(h5, numbers);
    if (status)
        return status;
    numbers->metrics = metrics & RKC_ALL_METRICS;
    numbers->n_paths = profile->n_paths;
    numbers->regions = calloc((size_t)profile->n_paths + 1, sizeof *numbers->regions);
    numbers->is_mpi = calloc((size_t)profile->n_paths + 1, sizeof *numbers->is_mpi);
    if (!numbers->regions || !numbers->is_mpi)
        return rkc_h5_refuse(h5, RKC_ENOMEM, "out of memory");
    for (uint32_t i = 0; i < profile->n_paths; i++) {
        uint32_t region = profile->paths[i].region;
        if (region >= profile->n_regions)
            return rkc_h5_refuse(h5, RKC_EARG, "a call path names no region");
        numbers->regions[i] = region;
        numbers->is_mpi[i] = profile->regions[region].kind == RKC_REGION_MPI;
    }
    numbers->mpi = rkc_h5_group(h5, h5->file, "mpi", "what MPI moved, and how long ranks waited");
    status = numbers->mpi < 0 ? RKC_EIO : rkc_h5_put_waits(h5, profile);
    return status ? status : rkc_h5_transfers_begin(h5, &numbers->transfers, profile);
}

/* The datasets of no call path at all. */
static int add_none(struct rkc_h5 *h5, struct rkc_h5_numbers *numbers)
{
    struct rkc_numbers none;
    int status = rkc_numbers_init(&none, 0, 0);
    if (status)
        return rkc_h5_refuse(h5, status, "out of memory");
    status = rkc_h5_numbers_add(h5, numbers, &none);
    rkc_numbers_free(&none);
    return status;
}

int rkc_h5_numbers_end(struct rkc_h5 *h5, struct rkc_h5_numbers *numbers)
{
    if (numbers->covered < numbers->n_paths)
        return rkc_h5_refuse(h5, RKC_EARG, "call paths without numbers");
    int status = numbers->profile ? 0 : add_none(h5, numbers);
    int closed = close_datasets(h5, numbers);
    status = status ? status : closed;
    if (!status)
        status = rkc_h5_transfers_end(h5, &numbers->transfers, numbers->mpi);
    close_groups(numbers);
    return status;
}

void rkc_h5_numbers_free(struct rkc_h5 *h5, struct rkc_h5_numbers *numbers)
{
    close_datasets(h5, numbers);
    close_groups(numbers);
    free(numbers->regions);
    free(numbers->is_mpi);
    rkc_h5_transfers_free(&numbers->transfers);
    memset(numbers, 0, sizeof *numbers);
}
