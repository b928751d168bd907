/* report_model.c - every number of a report comes from here. Means are over all ranks, not over
 * those that have a call path: else a region of one rank would look as costly as one of all. */
#include "autoconf.h"

#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Below this share of a region's time its useful time is too little to compare ranks by. */
static const double useful_least_share = 0.05;

/* Below it the ranks are alike, and none is the slow one. */
static const double least_imbalance = 1.005;

const char *rkc_report_region_name(const struct rkc_reader *reader, uint32_t path)
{
    size_t n;
    const struct rkc_reader_path *paths = rkc_reader_paths(reader, &n);
    return rkc_reader_regions(reader, &n)[paths[path].region].name;
}

int rkc_report_is_mpi(const struct rkc_reader *reader, uint32_t path)
{
    size_t n;
    const struct rkc_reader_path *paths = rkc_reader_paths(reader, &n);
    return strcmp(rkc_reader_regions(reader, &n)[paths[path].region].kind, "mpi") == 0;
}

const struct rkc_reader_stat *rkc_report_stat(const struct rkc_reader *reader, const char *metric,
                                              uint32_t path)
{
    const struct rkc_reader_stat *stats = rkc_reader_profile(reader, metric);
    return stats && stats[path].ranks > 0 ? &stats[path] : NULL;
}

void rkc_report_path(const struct rkc_reader *reader, uint32_t path, char *out, size_t size)
{
    size_t n, end = size - 1;
    const struct rkc_reader_path *paths = rkc_reader_paths(reader, &n);
    out[end] = '\0';
    for (int32_t at = (int32_t)path; at >= 0 && end > 0; at = paths[at].parent) {
        if (paths[at].parent < 0 && at != (int32_t)path)
            break;
        if (at != (int32_t)path)
            out[--end] = '/';
        const char *name = rkc_report_region_name(reader, (uint32_t)at);
        size_t length = strlen(name);
        size_t keep = length < end ? length : end;
        end -= keep;
        memcpy(out + end, name + length - keep, keep);
    }
    memmove(out, out + end, size - end);
}

double rkc_report_scale(const struct rkc_reader *reader, uint32_t path)
{
    const struct rkc_reader_stat *visits = rkc_report_stat(reader, "visits", path);
    const struct rkc_reader_stat *left_out = rkc_report_stat(reader, "sampled_out", path);
    if (!visits || !left_out || left_out->sum <= 0 || left_out->sum >= visits->sum)
        return 1;
    return (double)visits->sum / (double)(visits->sum - left_out->sum);
}

/* Sum of a metric over ranks, or NaN. */
static double sum_of(const struct rkc_reader *reader, const char *metric, uint32_t path)
{
    const struct rkc_reader_stat *stat = rkc_report_stat(reader, metric, path);
    return stat ? (double)stat->sum : NAN;
}

/* Time of the slowest thread, which is wall time also where threads share a call path. */
static const struct rkc_reader_stat *elapsed_stat(const struct rkc_reader *reader, uint32_t path)
{
    const struct rkc_reader_stat *stat = rkc_report_stat(reader, "slowest_thread_ns", path);
    return stat ? stat : rkc_report_stat(reader, "inclusive_ns", path);
}

static void set_efficiency(struct rkc_efficiency *efficiency, double useful_sum, double useful_max,
                           double elapsed_ns, int64_t ranks)
{
    double mean = useful_sum / (double)ranks;
    *efficiency = (struct rkc_efficiency){NAN, NAN, NAN, elapsed_ns, ranks};
    if (ranks <= 0 || !(elapsed_ns > 0) || !(useful_max >= 0))
        return;
    efficiency->parallel = mean / elapsed_ns;
    efficiency->balance = useful_max > 0 ? mean / useful_max : NAN;
    efficiency->communication = useful_max / elapsed_ns;
}

static void add_present(double *sum, int64_t value)
{
    *sum += value > 0 ? (double)value : 0;
}

/* The numbers of the run, from the rows of the ranks. */
static void measure_run(struct rkc_report *report)
{
    size_t n;
    const struct rkc_reader_rank *ranks = rkc_reader_ranks(report->reader, &n);
    double useful = 0, wall = 0, init = 0, mpi = 0, overhead = 0, elapsed = 0;
    int has_overhead = 0;
    for (size_t i = 0; i < n; i++) {
        add_present(&useful, ranks[i].useful_ns);
        add_present(&wall, ranks[i].wall_ns);
        add_present(&init, ranks[i].init_ns);
        add_present(&mpi, ranks[i].mpi_ns);
        add_present(&overhead, ranks[i].overhead_ns);
        has_overhead |= ranks[i].overhead_ns >= 0;
        int64_t own_init = ranks[i].init_ns > 0 ? ranks[i].init_ns : 0;
        elapsed = fmax(elapsed, (double)ranks[i].wall_ns - (double)own_init);
        report->wall_ns = fmax(report->wall_ns, (double)ranks[i].wall_ns);
        if (report->most_useful < 0 || ranks[i].useful_ns > ranks[report->most_useful].useful_ns)
            report->most_useful = (int32_t)i;
    }
    if (n == 0)
        return;
    int64_t job_overhead = rkc_reader_job_int(report->reader, "overhead_ns");
    if (job_overhead >= 0) {
        overhead = (double)job_overhead;
        has_overhead = 1;
    }
    report->most_useful_ns = (double)ranks[report->most_useful].useful_ns;
    report->mean_useful_ns = useful / (double)n;
    report->mean_wall_ns = wall / (double)n;
    report->init_ns = init / (double)n;
    report->mpi_ns = mpi / (double)n;
    report->overhead = has_overhead && wall > 0 ? overhead / wall : NAN;
    set_efficiency(&report->efficiency, useful, report->most_useful_ns, elapsed, (int64_t)n);
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

size_t rkc_report_distinct(const char **texts, size_t n)
{
    size_t kept = 0;
    if (n > 0)
        qsort(texts, n, sizeof *texts, compare_texts);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || strcmp(texts[i], texts[kept - 1]) != 0)
            texts[kept++] = texts[i];
    return kept;
}

static int count_nodes(struct rkc_report *report)
{
    size_t n;
    const struct rkc_reader_rank *ranks = rkc_reader_ranks(report->reader, &n);
    const char **names = calloc(n + 1, sizeof *names);
    if (!names)
        return RKC_ENOMEM;
    for (size_t i = 0; i < n; i++)
        names[i] = ranks[i].node;
    report->n_nodes = rkc_report_distinct(names, n);
    free(names);
    return 0;
}

static void measure_region(const struct rkc_report *report, struct rkc_report_region *region)
{
    const struct rkc_reader *reader = report->reader;
    double n = (double)report->n_ranks;
    uint32_t path = region->path;
    double scale = rkc_report_scale(reader, path);
    const struct rkc_reader_stat *elapsed = elapsed_stat(reader, path);
    const struct rkc_reader_stat *useful = rkc_report_stat(reader, "useful_ns", path);
    const struct rkc_reader_stat *threads = rkc_report_stat(reader, "threads", path);
    const struct rkc_reader_stat *visits = rkc_report_stat(reader, "visits", path);

    region->estimated = scale > 1;
    region->wall_ns = elapsed ? scale * (double)elapsed->sum / n : NAN;
    region->exclusive_ns = scale * sum_of(reader, "exclusive_ns", path) / n;
    region->mpi_ns = scale * sum_of(reader, "mpi_ns", path) / n;
    region->device_ns = scale * sum_of(reader, "device_ns", path) / n;
    region->device_share =
        report->gpu.device_ns > 0 ? sum_of(reader, "device_ns", path) / report->gpu.device_ns : NAN;
    region->visits = visits ? visits->sum : -1;
    region->ranks = visits ? visits->ranks : elapsed ? elapsed->ranks : 0;
    region->threads = threads ? threads->max : 1;
    if (path == 0 && report->n_ranks > 0) {
        region->wall_ns = report->mean_wall_ns;
        region->mpi_ns = report->mpi_ns;
        region->ranks = (int64_t)report->n_ranks;
    }
    region->share = report->mean_wall_ns > 0 ? region->wall_ns / report->mean_wall_ns : NAN;

    set_efficiency(&region->efficiency, NAN, NAN, elapsed ? scale * (double)elapsed->max : NAN,
                   region->ranks);
    if (useful && elapsed && region->threads <= 1)
        set_efficiency(&region->efficiency, scale * (double)useful->sum,
                       scale * (double)useful->max, scale * (double)elapsed->max, region->ranks);
    if (path == 0)
        region->efficiency = report->efficiency;

    /* Not by inclusive time: the ranks that wait for the slowest one have just as much. */
    int is_telling = useful && elapsed && useful->sum > 0 &&
                     (double)useful->sum >= useful_least_share * (double)elapsed->sum;
    region->imbalance = is_telling ? (double)useful->max * n / (double)useful->sum : NAN;
    region->slowest = region->imbalance >= least_imbalance ? useful->max_rank : -1;
}

static int by_parent_and_time(const void *a, const void *b)
{
    const struct rkc_report_region *x = a, *y = b;
    if (x->parent != y->parent)
        return x->parent < y->parent ? -1 : 1;
    double first = x->wall_ns >= 0 ? x->wall_ns : -1, second = y->wall_ns >= 0 ? y->wall_ns : -1;
    if (first != second)
        return first > second ? -1 : 1;
    return x->path < y->path ? -1 : 1;
}

/* Put rows, whose `parent` is a path, in the order of the tree; then `parent` is a row. */
static int order_tree(struct rkc_report *report, size_t n_paths)
{
    size_t n = report->n_regions;
    qsort(report->regions, n, sizeof *report->regions, by_parent_and_time);
    struct rkc_report_region *ordered = calloc(n + 1, sizeof *ordered);
    size_t *first_child = calloc(n_paths + 1, sizeof *first_child); /* sorted row + 1, by path */
    size_t *waiting = calloc(n + 1, sizeof *waiting);
    int32_t *row_of = calloc(n_paths + 1, sizeof *row_of);
    int status = ordered && first_child && waiting && row_of ? 0 : RKC_ENOMEM;
    if (status == 0) {
        for (size_t i = n; i-- > 0;)
            if (report->regions[i].parent >= 0)
                first_child[report->regions[i].parent] = i + 1;
        size_t done = 0, depth = 0;
        waiting[depth++] = 0; /* the root sorts first: its parent is -1 */
        while (depth > 0) {
            size_t i = waiting[depth - 1];
            const struct rkc_report_region *row = &report->regions[i];
            int has_sibling = i + 1 < n && row[1].parent == row->parent;
            if (has_sibling)
                waiting[depth - 1] = i + 1;
            else
                depth--;
            row_of[row->path] = (int32_t)done;
            ordered[done] = *row;
            ordered[done].parent = row->parent < 0 ? -1 : row_of[row->parent];
            ordered[done].depth = row->parent < 0 ? 0 : ordered[ordered[done].parent].depth + 1;
            done++;
            if (first_child[row->path])
                waiting[depth++] = first_child[row->path] - 1;
        }
        free(report->regions);
        report->regions = ordered;
        ordered = NULL;
    }
    free(ordered);
    free(first_child);
    free(waiting);
    free(row_of);
    return status;
}

static int collect_regions(struct rkc_report *report)
{
    size_t n;
    const struct rkc_reader_path *paths = rkc_reader_paths(report->reader, &n);
    int32_t *outer = calloc(n + 1, sizeof *outer); /* nearest call path above that is not MPI's */
    report->regions = calloc(n + 1, sizeof *report->regions);
    if (!outer || !report->regions) {
        free(outer);
        return RKC_ENOMEM;
    }
    for (size_t i = 0; i < n; i++) {
        int32_t parent = paths[i].parent;
        outer[i] = parent < 0 || !rkc_report_is_mpi(report->reader, (uint32_t)parent)
                       ? parent
                       : outer[parent];
        if (rkc_report_is_mpi(report->reader, (uint32_t)i))
            continue;
        struct rkc_report_region *region = &report->regions[report->n_regions++];
        region->path = (uint32_t)i;
        region->parent = outer[i];
        measure_region(report, region);
    }
    free(outer);
    return order_tree(report, n);
}

/* The regions that take most time, at most RKC_REPORT_TOP, in the order of the tree. */
static void choose_top(struct rkc_report *report)
{
    for (size_t i = 1; i < report->n_regions; i++) {
        double wall_ns = report->regions[i].wall_ns;
        if (!(report->regions[i].share >= 0.01))
            continue;
        size_t least = 0;
        for (size_t k = 1; k < report->n_top; k++)
            if (report->regions[report->top[k]].wall_ns <
                report->regions[report->top[least]].wall_ns)
                least = k;
        if (report->n_top == RKC_REPORT_TOP) {
            if (report->regions[report->top[least]].wall_ns >= wall_ns)
                continue;
            memmove(report->top + least, report->top + least + 1,
                    (report->n_top - least - 1) * sizeof *report->top);
            report->n_top--;
        }
        report->top[report->n_top++] = i;
    }
}

int rkc_report_init(struct rkc_report *report, struct rkc_reader *reader, size_t pairs)
{
    size_t n_ranges;
    *report = (struct rkc_report){.reader = reader, .most_useful = -1};
    report->overhead = NAN;
    set_efficiency(&report->efficiency, NAN, NAN, NAN, 0);
    rkc_reader_ranks(reader, &report->n_ranks);
    const struct rkc_reader_range *missing = rkc_reader_missing(reader, &n_ranges);
    for (size_t i = 0; i < n_ranges; i++)
        report->n_missing += (size_t)(missing[i].last - missing[i].first) + 1;

    measure_run(report);
    int status = count_nodes(report);
    if (status == 0)
        status = rkc_report_measure_gpu(report);
    if (status == 0)
        status = collect_regions(report);
    if (status == 0)
        status = rkc_report_measure_waits(report);
    if (status == 0)
        status = rkc_report_measure_calls(report);
    if (status == 0)
        status = rkc_report_measure_matrix(report, pairs);
    if (status == 0)
        status = rkc_report_measure_where(report);
    if (status != 0)
        return status;
    choose_top(report);
    return rkc_report_judge(report);
}

void rkc_report_free(struct rkc_report *report)
{
    free(report->regions);
    free(report->calls);
    free(report->kinds);
    free(report->waits);
    free(report->awaited);
    free(report->places);
    free(report->place_rows);
    free(report->findings);
    free(report->gpu.devices);
    free(report->matrix.pairs);
    free(report->matrix.ranks);
}
