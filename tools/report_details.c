/* report_details.c - one region's numbers, and the ranks one by one. */
#include "autoconf.h"

#include "report.h"
#include "table.h"
#include "text.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    METRIC_NAME = 24,
    SLOWEST_RANKS = 5,
    CALLS_BELOW = 5,
    OTHERS_MAX = 5,
};

/* ---- ranks ---- */

static const struct rkc_reader_rank *ranks_to_sort;

static int by_useful(const void *a, const void *b)
{
    const struct rkc_reader_rank *x = &ranks_to_sort[*(const size_t *)a];
    const struct rkc_reader_rank *y = &ranks_to_sort[*(const size_t *)b];
    if (x->useful_ns != y->useful_ns)
        return x->useful_ns > y->useful_ns ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* How long the others waited for each rank, in the order of the rows; 0 where not at all. */
static double *awaited_times(const struct rkc_report *report)
{
    double *times = calloc(report->n_ranks + 1, sizeof *times);
    for (size_t i = 0; times && i < report->n_awaited; i++) {
        int64_t row = rkc_report_rank_row(report, report->awaited[i].rank);
        if (row >= 0)
            times[row] = report->awaited[i].ns;
    }
    return times;
}

static void add_rank(const struct rkc_report *report, const struct rkc_page *page,
                     struct rkc_table *table, const struct rkc_reader_rank *rank, double awaited_ns)
{
    int decimals = rkc_text_decimals(report->wall_ns);
    char cell[RKC_CELL_MAX], path[RKC_NAME_CELL] = "-";
    const int64_t times[] = {rank->wall_ns, rank->init_ns, rank->mpi_ns, rank->useful_ns};
    double share = (double)rank->useful_ns / (double)rank->wall_ns;
    if (rank->open_callpath >= 0)
        rkc_report_path(report->reader, (uint32_t)rank->open_callpath, path, sizeof path);
    snprintf(cell, sizeof cell, "%" PRId32, rank->rank);
    rkc_table_add(table, cell, page->utf8);
    rkc_table_add(table, rank->node, page->utf8);
    rkc_table_add(table, rkc_text_count(rank->cpu, cell), page->utf8);
    rkc_table_add(table, rkc_text_count(rank->threads, cell), page->utf8);
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        rkc_table_add(table, rkc_text_seconds((double)times[i], decimals, cell), page->utf8);
    rkc_table_add(table, rkc_text_percent(rank->wall_ns > 0 ? share : NAN, cell), page->utf8);
    rkc_table_add(table, rkc_text_seconds(awaited_ns, decimals, cell), page->utf8);
    double device_ns = report->gpu.exists ? (double)rank->device_ns : NAN;
    rkc_table_add(table, rkc_text_seconds(device_ns, decimals, cell), page->utf8);
    snprintf(cell, sizeof cell, "%.16s", rank->state);
    rkc_table_add(table, cell, page->utf8);
    rkc_table_add(table, path, page->utf8);
}

/* The ranks in a given order, `cut` of them left out in the middle. */
static void print_rank_table(const struct rkc_report *report, const struct rkc_page *page,
                             const size_t *order, size_t n, size_t cut)
{
    const struct rkc_table_column columns[] = {
        {"rank", 0, 0, 0, 0, 0},
        {"node", 1, 10, 0, 0, 0},
        {"cpu", 0, 0, 2, 0, 0},
        {"thr", 0, 0, 1, 0, 0},
        {"wall s", 0, 0, 0, 0, 0},
        {"init s", 0, 0, 3, 0, 0},
        {"MPI s", 0, 0, 0, 0, 0},
        {"useful s", 0, 0, 0, 0, 0},
        {"%", 0, 0, 0, 0, 0},
        {report->waits_are_measured ? "awaited s" : "awaited s>=", 0, 0, 0, 0, 1},
        {"GPU s", 0, 0, 0, 0, 1},
        {"state", 1, 9, 0, 0, 0},
        {"open at end", 1, 8, 0, 0, 0},
    };
    size_t n_ranks, head = (n - cut + 1) / 2;
    const struct rkc_reader_rank *ranks = rkc_reader_ranks(report->reader, &n_ranks);
    double *awaited = awaited_times(report);
    struct rkc_table table;
    rkc_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; awaited && i < n; i++) {
        if (cut > 0 && i == head) {
            char text[64];
            snprintf(text, sizeof text, "%zu ranks between (--all)", cut);
            rkc_table_add_line(&table, text);
            i += cut - 1;
            continue;
        }
        size_t row = order[i];
        add_rank(report, page, &table, &ranks[row], report->n_awaited > 0 ? awaited[row] : NAN);
    }
    rkc_table_print(&table, page->out, page->columns, page->utf8);
    rkc_table_free(&table);
    free(awaited);
}

void rkc_report_print_ranks(const struct rkc_report *report, const struct rkc_page *page)
{
    size_t n;
    const struct rkc_reader_rank *ranks = rkc_reader_ranks(report->reader, &n);
    size_t *order = calloc(n + 1, sizeof *order);
    if (!order)
        return;
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    ranks_to_sort = ranks;
    qsort(order, n, sizeof *order, by_useful);

    rkc_report_print_header(report, page);
    fprintf(page->out, "\nRANKS by useful time; %% of the rank's own wall%s\n",
            report->n_awaited > 0 ? "; awaited: how long the others waited for it" : "");
    /* Both ends tell most: the ranks that compute most, and those that wait most. */
    size_t room = page->lines == INT_MAX ? n : (size_t)(page->lines > 12 ? page->lines - 7 : 5);
    print_rank_table(report, page, order, n, n > room ? n - room : 0);
    free(order);
}

/* ---- one region ---- */

/* How a metric is shown, by the unit at the end of its name. */
static void metric_name(const char *metric, char *out, size_t size)
{
    size_t length = strlen(metric);
    int is_time = length > 3 && strcmp(metric + length - 3, "_ns") == 0;
    snprintf(out, size, "%.*s%s", (int)(is_time ? length - 3 : length), metric,
             is_time ? " s" : "");
    for (char *at = out; *at; at++)
        *at = *at == '_' ? ' ' : *at;
}

static char *metric_value(const char *metric, double value, int decimals, char out[RKC_CELL_MAX])
{
    size_t length = strlen(metric);
    if (length > 3 && strcmp(metric + length - 3, "_ns") == 0)
        return rkc_text_seconds(value, decimals, out);
    return strncmp(metric, "bytes_", 6) == 0 ? rkc_text_volume(value, out)
                                             : rkc_text_count(value, out);
}

/* Whether it is about one visit, as the shortest: a sum of these would mean nothing. */
static int is_of_one_visit(const char *metric)
{
    static const char *const metrics[] = {"visit_min_ns", "visit_max_ns", "device_visit_min_ns",
                                          "device_visit_max_ns", "device_resolution_ns"};
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++)
        if (strcmp(metric, metrics[i]) == 0)
            return 1;
    return 0;
}

static void print_metrics(const struct rkc_report *report, const struct rkc_page *page,
                          uint32_t path)
{
    const char *metric;
    fprintf(page->out, "%-*s%11s%11s%11s%11s%8s%11s%8s\n", METRIC_NAME,
            "over the ranks that have it", "sum", "mean", "std dev", "min", "on", "max", "on");
    for (size_t i = 0; (metric = rkc_reader_metric(report->reader, i)); i++) {
        const struct rkc_reader_stat *stat = rkc_report_stat(report->reader, metric, path);
        /* What is 0 on all ranks says nothing. */
        if (!stat || (stat->max == 0 && stat->min == 0 && strcmp(metric, "mpi_ns") != 0))
            continue;
        /* Of one visit, thousands of which make a region: more digits. */
        int is_visit = is_of_one_visit(metric);
        int decimals = rkc_text_decimals(is_visit ? 0 : report->wall_ns) + (is_visit ? 2 : 0);
        double n = (double)stat->ranks, mean = (double)stat->sum / n;
        double deviation = sqrt(fmax(stat->sumsq / n - mean * mean, 0));
        char name[64], cells[5][RKC_CELL_MAX], low[RKC_CELL_MAX], high[RKC_CELL_MAX];
        metric_name(metric, name, sizeof name);
        rkc_text_put(page->out, name, METRIC_NAME, page->utf8);
        fprintf(page->out, "%14s%11s%11s%11s%8s%11s%8s\n",
                metric_value(metric, is_visit ? NAN : (double)stat->sum, decimals, cells[0]),
                metric_value(metric, mean, decimals, cells[1]),
                metric_value(metric, deviation, decimals, cells[2]),
                metric_value(metric, (double)stat->min, decimals, cells[3]),
                rkc_text_rank(stat->min_rank, low),
                metric_value(metric, (double)stat->max, decimals, cells[4]),
                rkc_text_rank(stat->max_rank, high));
    }
}

/* The duration below which `fraction` of the timed visits lie, interpolated inside its bucket. */
static double percentile(const struct rkc_reader *reader, uint32_t path, double fraction)
{
    size_t n;
    const int64_t *edges, *counts = rkc_reader_histogram(reader, &n, &edges);
    const struct rkc_reader_stat *low = rkc_report_stat(reader, "visit_min_ns", path);
    const struct rkc_reader_stat *high = rkc_report_stat(reader, "visit_max_ns", path);
    double total = 0, before = 0;
    if (!counts || !low || !high)
        return NAN;
    counts += path * n;
    for (size_t i = 0; i < n; i++)
        total += (double)counts[i];
    for (size_t i = 0; i < n && total > 0; i++) {
        double count = (double)counts[i];
        if (count > 0 && before + count >= fraction * total) {
            double first = (double)edges[i], last = (double)edges[i + 1];
            double at = first + (last - first) * (fraction * total - before) / count;
            return fmin(fmax(at, (double)low->min), (double)high->max);
        }
        before += count;
    }
    return NAN;
}

static void print_visits(const struct rkc_report *report, const struct rkc_page *page,
                         uint32_t path)
{
    static const double fractions[] = {0.5, 0.9, 0.99};
    char cells[3][RKC_CELL_MAX];
    for (int i = 0; i < 3; i++)
        rkc_text_seconds(percentile(report->reader, path, fractions[i]), 6, cells[i]);
    fprintf(page->out, "one visit, s: half take at most %s, 90 %% %s, 99 %% %s\n", cells[0],
            cells[1], cells[2]);
}

struct rank_time {
    size_t row;
    int64_t ns;
};

static int by_time(const void *a, const void *b)
{
    const struct rank_time *x = a, *y = b;
    if (x->ns != y->ns)
        return x->ns > y->ns ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

/* The ranks with most useful time in a call path, or most time if it is MPI's. */
static void print_slowest(const struct rkc_report *report, const struct rkc_page *page,
                          uint32_t path)
{
    size_t n = report->n_ranks, unused;
    const struct rkc_reader_rank *ranks = rkc_reader_ranks(report->reader, &unused);
    int is_mpi = rkc_report_is_mpi(report->reader, path);
    const char *metric = is_mpi ? "inclusive_ns" : "useful_ns";
    int64_t *values = calloc(n + 1, sizeof *values);
    struct rank_time *times = calloc(n + 1, sizeof *times);
    if (values && times && rkc_reader_per_rank(report->reader, metric, path, values) == 0) {
        for (size_t i = 0; i < n; i++)
            times[i] = (struct rank_time){i, values[i]};
        qsort(times, n, sizeof *times, by_time);
        fprintf(page->out, "most %s s:", is_mpi ? "time" : "useful");
        for (size_t i = 0; i < n && i < SLOWEST_RANKS && times[i].ns >= 0; i++) {
            char node[RKC_NAME_CELL], time[RKC_CELL_MAX];
            const struct rkc_reader_rank *rank = &ranks[times[i].row];
            rkc_text_fit(rank->node, 12, page->utf8, node, sizeof node);
            rkc_text_seconds((double)times[i].ns, rkc_text_decimals(report->wall_ns), time);
            fprintf(page->out, "%s r%d %s %s", i ? "," : "", rank->rank, node, time);
        }
        fputc('\n', page->out);
    }
    free(values);
    free(times);
}

int rkc_report_is_within(const struct rkc_reader *reader, uint32_t path, uint32_t top)
{
    size_t n;
    const struct rkc_reader_path *paths = rkc_reader_paths(reader, &n);
    int32_t at = (int32_t)path;
    while (at > (int32_t)top)
        at = paths[at].parent;
    return at == (int32_t)top;
}

static void print_calls_below(const struct rkc_report *report, const struct rkc_page *page,
                              uint32_t path)
{
    static const struct rkc_table_column columns[] = {
        {"MPI below it, mean of all ranks", 1, 40, 0, 1, 0},
        {"kind", 0, 0, 0, 0, 1},
        {"time s", 0, 0, 0, 0, 0},
        {"%wall", 0, 0, 0, 0, 0},
        {"calls", 0, 0, 0, 0, 0},
    };
    size_t found = 0, most = page->lines == INT_MAX ? SIZE_MAX : CALLS_BELOW;
    struct rkc_table table;
    rkc_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < report->n_calls; i++) {
        const struct rkc_report_call *call = &report->calls[i];
        if (call->path == path || !rkc_report_is_within(report->reader, call->path, path) ||
            found++ >= most)
            continue;
        char name[RKC_NAME_CELL], cell[RKC_CELL_MAX];
        rkc_report_path(report->reader, call->path, name, sizeof name);
        rkc_table_add(&table, name, page->utf8);
        rkc_table_add(&table, report->has_kinds ? call->kinds : "-", page->utf8);
        rkc_table_add(&table, rkc_text_seconds(call->ns, rkc_text_decimals(report->wall_ns), cell),
                      page->utf8);
        rkc_table_add(&table, rkc_text_percent(call->share, cell), page->utf8);
        rkc_table_add(&table, rkc_text_count((double)call->calls, cell), page->utf8);
    }
    if (found > 0)
        rkc_table_print(&table, page->out, page->columns, page->utf8);
    rkc_table_free(&table);
    if (found > most)
        fprintf(page->out, "  %zu more (--all)\n", found - most);
}

static const struct rkc_report_region *row_of(const struct rkc_report *report, uint32_t path)
{
    for (size_t i = 0; i < report->n_regions; i++)
        if (report->regions[i].path == path)
            return &report->regions[i];
    return NULL;
}

static void print_path(const struct rkc_report *report, const struct rkc_page *page, uint32_t path)
{
    size_t n, n_paths;
    const struct rkc_reader_path *paths = rkc_reader_paths(report->reader, &n_paths);
    const struct rkc_reader_region *region =
        &rkc_reader_regions(report->reader, &n)[paths[path].region];
    const struct rkc_reader_stat *visits = rkc_report_stat(report->reader, "visits", path);
    const struct rkc_report_region *row = row_of(report, path);
    char name[RKC_NAME_CELL], where[300] = "", right[400];
    rkc_report_path(report->reader, path, name, sizeof name);
    if (region->file[0])
        snprintf(where, sizeof where, ", %.200s:%d", region->file, region->line);
    snprintf(right, sizeof right, "%.20s%s, %" PRId64 "/%zu ranks", region->kind, where,
             visits ? visits->ranks : 0, report->n_ranks);
    int columns = page->columns - (int)strlen(right) - 2;
    rkc_text_put(page->out, name, columns > 30 ? columns : 30, page->utf8);
    fputs("  ", page->out);
    rkc_text_put(page->out, right, (int)strlen(right), page->utf8);
    fputc('\n', page->out);
    if (row) {
        char share[RKC_CELL_MAX], whole[RKC_CELL_MAX], balance[RKC_CELL_MAX], mpi[RKC_CELL_MAX];
        fprintf(page->out,
                "%s%s %% of mean wall; efficiency: parallel %s = load balance %s x "
                "communication %s\n",
                row->estimated ? "~" : "", rkc_text_percent(row->share, share),
                rkc_text_ratio(row->efficiency.parallel, whole),
                rkc_text_ratio(row->efficiency.balance, balance),
                rkc_text_ratio(row->efficiency.communication, mpi));
        if (row->estimated)
            fprintf(page->out,
                    "visits were sampled: the times below are those measured; %.2f x for "
                    "all visits\n",
                    rkc_report_scale(report->reader, path));
    }
    print_metrics(report, page, path);
    print_visits(report, page, path);
    rkc_report_print_device_visits(report, page, path);
    print_slowest(report, page, path);
    print_calls_below(report, page, path);
    rkc_report_print_transfers(report, page, path);
    rkc_report_print_waits(report, page, path);
}

struct match {
    uint32_t path;
    int64_t ns;
};

static int by_match(const void *a, const void *b)
{
    const struct match *x = a, *y = b;
    if (x->ns != y->ns)
        return x->ns > y->ns ? -1 : 1;
    return x->path < y->path ? -1 : 1;
}

/* Call paths whose region, or which themselves, have this name; most time first. */
static size_t find_paths(const struct rkc_report *report, const char *name, struct match *matches,
                         size_t n_paths)
{
    size_t n = 0;
    for (uint32_t i = 0; i < n_paths; i++) {
        char path[RKC_NAME_CELL];
        const char *region = rkc_report_region_name(report->reader, i);
        rkc_report_path(report->reader, i, path, sizeof path);
        if (strcmp(region, name) != 0 && strcmp(path, name) != 0)
            continue;
        const struct rkc_reader_stat *time = rkc_report_stat(report->reader, "inclusive_ns", i);
        matches[n++] = (struct match){i, time ? time->sum : -1};
    }
    qsort(matches, n, sizeof *matches, by_match);
    return n;
}

static void print_other(const struct rkc_report *report, const struct rkc_page *page,
                        const struct match *match)
{
    char name[RKC_NAME_CELL], time[RKC_CELL_MAX];
    double mean_ns = (double)match->ns / (double)report->n_ranks;
    rkc_report_path(report->reader, match->path, name, sizeof name);
    fputs("  ", page->out);
    rkc_text_put(page->out, name, page->columns - 20, page->utf8);
    fprintf(
        page->out, "%12s s\n",
        rkc_text_seconds(match->ns < 0 ? NAN : mean_ns, rkc_text_decimals(report->wall_ns), time));
}

int rkc_report_print_region(const struct rkc_report *report, const struct rkc_page *page,
                            const char *name)
{
    size_t n_paths;
    rkc_reader_paths(report->reader, &n_paths);
    struct match *matches = calloc(n_paths + 1, sizeof *matches);
    if (!matches)
        return RKC_ENOMEM;
    size_t n = find_paths(report, name, matches, n_paths);
    if (n == 0) {
        free(matches);
        return RKC_ENOTFOUND;
    }
    rkc_report_print_header(report, page);
    size_t whole = page->lines == INT_MAX ? n : 1;
    for (size_t i = 0; i < whole; i++) {
        fputc('\n', page->out);
        print_path(report, page, matches[i].path);
    }
    if (whole < n)
        fprintf(page->out, "\n%zu more call path%s of this name (--all), mean of all ranks\n",
                n - whole, n - whole == 1 ? "" : "s");
    for (size_t i = whole; i < n && i < whole + OTHERS_MAX; i++)
        print_other(report, page, &matches[i]);
    free(matches);
    return 0;
}
