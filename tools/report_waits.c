/* report_waits.c - who waited for whom. A bound of 0 is one: all ranks spent the same time. */
#include "autoconf.h"

#include "report.h"
#include "table.h"
#include "text.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>

enum { ROWS_MAX = 6 };

/* ---- the numbers ---- */

int64_t rkc_report_wait_ns(const struct rkc_reader_wait *wait)
{
    return wait->sync_ns >= 0 ? wait->sync_ns : wait->wait_ns;
}

/* A row whose waiting is known. */
struct known {
    int32_t rank;
    uint32_t path;
    double ns;
};

static int by_rank_and_path(const void *a, const void *b)
{
    const struct known *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->path < y->path ? -1 : x->path > y->path;
}

static int by_awaited_time(const void *a, const void *b)
{
    const struct rkc_report_awaited *x = a, *y = b;
    if (x->ns != y->ns)
        return x->ns > y->ns ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Sum up rows, which are sorted, by the rank that was awaited. */
static void sum_awaited(struct rkc_report *report, const struct known *rows, size_t n)
{
    for (size_t i = 0; i < n;) {
        struct rkc_report_awaited sum = {.rank = rows[i].rank};
        while (i < n && rows[i].rank == sum.rank) {
            uint32_t path = rows[i].path;
            double ns = 0;
            for (; i < n && rows[i].rank == sum.rank && rows[i].path == path; i++)
                ns += rows[i].ns;
            sum.ns += ns;
            if (ns > sum.path_ns) {
                sum.path_ns = ns;
                sum.path = path;
            }
        }
        report->awaited[report->n_awaited++] = sum;
    }
    if (report->n_awaited > 0)
        qsort(report->awaited, report->n_awaited, sizeof *report->awaited, by_awaited_time);
}

int rkc_report_measure_waits(struct rkc_report *report)
{
    size_t n, n_paths, n_known = 0;
    const struct rkc_reader_wait *waits = rkc_reader_waits(report->reader, &n);
    rkc_reader_paths(report->reader, &n_paths);
    struct known *rows = calloc(n + 1, sizeof *rows);
    double *most = calloc(n_paths + 1, sizeof *most); /* of one row of each path */
    report->waits = calloc(n_paths + 1, sizeof *report->waits);
    report->awaited = calloc(n + 1, sizeof *report->awaited);
    int status = rows && most && report->waits && report->awaited ? 0 : RKC_ENOMEM;
    for (size_t i = 0; i < n_paths && !status; i++)
        report->waits[i] = (struct rkc_report_wait){NAN, -1};
    report->waits_are_measured = n > 0;
    for (size_t i = 0; i < n && !status; i++) {
        struct rkc_report_wait *wait = &report->waits[waits[i].callpath];
        double ns = (double)rkc_report_wait_ns(&waits[i]);
        report->waits_are_measured &= waits[i].sync_ns >= 0;
        if (ns < 0)
            continue;
        wait->ns = isnan(wait->ns) ? ns : wait->ns + ns;
        if (ns > most[waits[i].callpath]) {
            most[waits[i].callpath] = ns;
            wait->awaited = waits[i].awaited_rank;
        }
        if (ns > 0)
            rows[n_known++] =
                (struct known){waits[i].awaited_rank, (uint32_t)waits[i].callpath, ns};
    }
    if (n_known > 0 && !status)
        qsort(rows, n_known, sizeof *rows, by_rank_and_path);
    if (!status)
        sum_awaited(report, rows, n_known);
    free(rows);
    free(most);
    return status;
}

/* ---- the text ---- */

static const struct rkc_reader_wait *waits_to_sort;

/* Most waiting first; then, of what is not known, most time. */
static int by_wait(const void *a, const void *b)
{
    const struct rkc_reader_wait *x = &waits_to_sort[*(const size_t *)a];
    const struct rkc_reader_wait *y = &waits_to_sort[*(const size_t *)b];
    int64_t first = rkc_report_wait_ns(x), second = rkc_report_wait_ns(y);
    if (first != second)
        return first > second ? -1 : 1;
    if (x->sum_ns != y->sum_ns)
        return x->sum_ns > y->sum_ns ? -1 : 1;
    return x < y ? -1 : x > y;
}

static void add_row(const struct rkc_report *report, const struct rkc_page *page,
                    struct rkc_table *table, const struct rkc_reader_wait *wait)
{
    char path[RKC_NAME_CELL], text[RKC_NAME_CELL], cell[RKC_CELL_MAX];
    int decimals = rkc_text_decimals(report->wall_ns);
    double ns = (double)rkc_report_wait_ns(wait), sum_ns = (double)wait->sum_ns;
    rkc_report_path(report->reader, (uint32_t)wait->callpath, path, sizeof path);
    rkc_table_add(table, path, page->utf8);
    snprintf(text, sizeof text, "%" PRId32 " of r%" PRId32 "..", wait->comm_size, wait->comm_first);
    rkc_table_add(table, text, page->utf8);
    if (wait->ranks == wait->comm_size)
        snprintf(text, sizeof text, "all");
    else
        snprintf(text, sizeof text, "%" PRId32, wait->ranks);
    rkc_table_add(table, text, page->utf8);
    rkc_table_add(table, rkc_text_count((double)wait->calls, cell), page->utf8);
    rkc_table_add(table, rkc_text_seconds(sum_ns, decimals, cell), page->utf8);
    rkc_table_add(table, rkc_text_seconds((double)wait->least_ns, decimals, cell), page->utf8);
    rkc_table_add(table, rkc_text_seconds((double)wait->most_ns, decimals, cell), page->utf8);
    rkc_table_add(table, rkc_text_seconds(ns, decimals, cell), page->utf8);
    rkc_table_add(table, rkc_text_percent(ns >= 0 && sum_ns > 0 ? ns / sum_ns : NAN, cell),
                  page->utf8);
    /* Without a bound nobody can be said to have been awaited. */
    rkc_report_rank_name(report, wait->awaited_rank, text, sizeof text);
    rkc_table_add(table, ns > 0 ? text : "-", page->utf8);
}

static void print_rows(const struct rkc_report *report, const struct rkc_page *page,
                       const size_t *order, size_t n)
{
    const struct rkc_table_column columns[] = {
        {"WAITS in collectives", 1, 20, 0, 1, 0},
        {"communicator", 1, 12, 0, 0, 0},
        {"came", 0, 0, 2, 0, 0},
        {"calls", 0, 0, 0, 0, 0},
        {"time s", 0, 0, 0, 0, 0},
        {"least", 0, 0, 1, 0, 0},
        {"most", 0, 0, 1, 0, 0},
        {report->waits_are_measured ? "wait s" : "wait s>=", 0, 0, 0, 0, 0},
        {"%time", 0, 0, 0, 0, 0},
        {"awaited", 1, 12, 0, 0, 0},
    };
    size_t unused;
    const struct rkc_reader_wait *waits = rkc_reader_waits(report->reader, &unused);
    struct rkc_table table;
    rkc_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < n; i++)
        add_row(report, page, &table, &waits[order[i]]);
    rkc_table_print(&table, page->out, page->columns, page->utf8);
    rkc_table_free(&table);
}

void rkc_report_print_waits(const struct rkc_report *report, const struct rkc_page *page,
                            uint32_t path)
{
    size_t n, found = 0;
    const struct rkc_reader_wait *waits = rkc_reader_waits(report->reader, &n);
    size_t *order = calloc(n + 1, sizeof *order);
    if (!order)
        return;
    for (size_t i = 0; i < n; i++)
        if (rkc_report_is_within(report->reader, (uint32_t)waits[i].callpath, path))
            order[found++] = i;
    waits_to_sort = waits;
    if (found > 0) {
        size_t most = page->lines == INT_MAX || found < ROWS_MAX ? found : ROWS_MAX;
        qsort(order, found, sizeof *order, by_wait);
        print_rows(report, page, order, most);
        if (most < found)
            fprintf(page->out, "  %zu more (--all)\n", found - most);
    }
    free(order);
}
