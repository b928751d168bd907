/* report_calls.c - the MPI calls as a table. A column is there where a row has something for it,
 * and where the page is too narrow those that others can be derived from go first. */
#include "autoconf.h"

#include "report.h"
#include "table.h"
#include "text.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KINDS_SHOWN = 4, TRANSFERS_SHOWN = 8 };

/* ---- the table ---- */

static void add_name(const struct rkc_report *report, const struct rkc_page *page,
                     struct rkc_table *table, uint32_t call)
{
    size_t n;
    int32_t parent = rkc_reader_paths(report->reader, &n)[call].parent;
    const char *name = rkc_report_region_name(report->reader, call);
    char path[RKC_NAME_CELL];
    rkc_report_path(report->reader, parent < 0 ? 0 : (uint32_t)parent, path, sizeof path);
    rkc_table_add(table, path, page->utf8);
    rkc_table_add(table, strncmp(name, "MPI_", 4) == 0 ? name + 4 : name, page->utf8);
}

/* Ratios, but never 0.00 where it is not 0. */
static const char *rate_text(double rate, char out[RKC_CELL_MAX])
{
    return rate >= 999.5 ? ">999" : rate > 0 && rate < 0.005 ? "<.01" : rkc_text_ratio(rate, out);
}

static void add_row(const struct rkc_report *report, const struct rkc_page *page,
                    struct rkc_table *table, const struct rkc_report_call *call)
{
    int decimals = rkc_text_decimals(report->wall_ns), is_moving = call->bytes > 0;
    char cell[RKC_CELL_MAX];
    add_name(report, page, table, call->path);
    rkc_table_add(table, report->has_kinds ? call->kinds : "-", page->utf8);
    rkc_table_add(table, rkc_text_seconds(call->ns, decimals, cell), page->utf8);
    rkc_table_add(table, rkc_text_percent(call->share, cell), page->utf8);
    rkc_table_add(table, rkc_text_seconds(call->wait_ns, decimals, cell), page->utf8);
    rkc_table_add(table, rkc_text_rank(call->awaited, cell), page->utf8);
    rkc_table_add(table, rkc_text_seconds(call->xfer_ns, decimals, cell), page->utf8);
    rkc_table_add(table, rkc_text_rank(call->longest, cell), page->utf8);
    rkc_table_add(table, rkc_text_seconds(call->blocked_ns, decimals, cell), page->utf8);
    rkc_table_add(table, rkc_text_count((double)call->calls, cell), page->utf8);
    rkc_table_add(table, rkc_text_volume(is_moving ? (double)call->bytes : NAN, cell), page->utf8);
    rkc_table_add(table, rkc_text_size(is_moving ? call->mean_bytes : NAN, cell), page->utf8);
    rkc_table_add(table, rkc_text_size(is_moving ? call->median_bytes : NAN, cell), page->utf8);
    rkc_table_add(table, rate_text(call->rate, cell), page->utf8);
}

void rkc_report_print_calls(const struct rkc_report *report, const struct rkc_page *page,
                            size_t rows)
{
    const struct rkc_table_column columns[] = {
        {"MPI  mean/rank", 1, 13, 0, 1, 0},
        {"call", 1, 14, 0, 0, 0},
        {"kind", 0, 0, 0, 0, 1},
        {"time s", 0, 0, 0, 0, 0},
        {"%wall", 0, 0, 0, 0, 0},
        {report->waits_are_measured ? "wait" : "wait>=", 0, 0, 0, 0, 1},
        {"for", 0, 0, 3, 0, 1},
        {report->waits_are_measured ? "xfer" : "xfer<=", 0, 0, 4, 0, 1},
        {"most", 0, 0, 6, 0, 0},
        {"blocked", 0, 0, 1, 0, 0},
        {"calls", 0, 0, 0, 0, 0},
        {"bytes", 0, 0, 0, 0, 0},
        {"mean", 0, 0, 5, 0, 0},
        {"p50>=", 0, 0, 2, 0, 0},
        {"GB/s", 0, 0, 0, 0, 0},
    };
    struct rkc_table table;
    size_t n = report->n_calls < rows ? report->n_calls : rows;
    rkc_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < n; i++)
        add_row(report, page, &table, &report->calls[i]);
    rkc_table_print(&table, page->out, page->columns, page->utf8);
    rkc_table_free(&table);
    if (report->n_calls > n) {
        double share = 0;
        char percent[RKC_CELL_MAX];
        for (size_t i = n; i < report->n_calls; i++)
            share += report->calls[i].share > 0 ? report->calls[i].share : 0;
        fprintf(page->out, "  %zu more, %s %% of wall together (--all)\n", report->n_calls - n,
                rkc_text_percent(share, percent));
    }
    if (report->n_calls == 0)
        fputs("  no MPI call was recorded\n", page->out);
}

/* ---- by kind ---- */

void rkc_report_print_kinds(const struct rkc_report *report, const struct rkc_page *page)
{
    char text[512] = "", bytes[RKC_CELL_MAX], percent[RKC_CELL_MAX];
    double all = 0, shown = 0;
    size_t used = 0;
    for (size_t i = 0; i < report->n_kinds; i++)
        all += report->kinds[i].bytes;
    if (report->n_kinds == 0)
        return;
    for (size_t i = 0; i < report->n_kinds && i < KINDS_SHOWN; i++) {
        const struct rkc_report_kinds *kinds = &report->kinds[i];
        shown += kinds->bytes;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %s %%", i ? ", " : "",
                                 kinds->kinds, rkc_text_percent(kinds->bytes / all, percent));
    }
    if (report->n_kinds > KINDS_SHOWN)
        used += (size_t)snprintf(text + used, sizeof text - used, ", others %s %%",
                                 rkc_text_percent(fmax(1 - shown / all, 0), percent));
    snprintf(text + used, sizeof text - used, " of %s sent + received",
             rkc_text_volume(all, bytes));
    fputs("BY KIND    ", page->out);
    rkc_text_wrap(page->out, text, 11, page->columns);
}

/* ---- one call path ---- */

/* "2,0" for both ends, "2" for one, or "-" */
static void devices_text(const struct rkc_reader_transfer *row, char out[RKC_CELL_MAX])
{
    int32_t from = row->send_device, to = row->recv_device;
    if (from >= 0 && to >= 0)
        snprintf(out, RKC_CELL_MAX, "%" PRId32 ",%" PRId32, from, to);
    else if (from >= 0 || to >= 0)
        snprintf(out, RKC_CELL_MAX, "%" PRId32, from >= 0 ? from : to);
    else
        snprintf(out, RKC_CELL_MAX, "-");
}

static const struct rkc_reader_transfer *transfers_to_sort;

static int by_time(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    int64_t first = transfers_to_sort[x].ns, second = transfers_to_sort[y].ns;
    if (first != second)
        return first > second ? -1 : 1;
    return (x > y) - (x < y);
}

static void add_transfer(const struct rkc_report *report, const struct rkc_page *page,
                         struct rkc_table *table, const struct rkc_reader_transfer *row)
{
    int decimals = rkc_text_decimals(report->wall_ns);
    double bytes = (double)rkc_report_add(row->bytes_sent, row->bytes_received);
    double larger =
        (double)(row->bytes_sent > row->bytes_received ? row->bytes_sent : row->bytes_received);
    char path[RKC_NAME_CELL], cell[RKC_CELL_MAX];
    rkc_report_path(report->reader, (uint32_t)row->callpath, path, sizeof path);
    rkc_table_add(table, path, page->utf8);
    snprintf(cell, sizeof cell, "%.10s", row->send_kind);
    rkc_table_add(table, cell, page->utf8);
    snprintf(cell, sizeof cell, "%.10s", row->recv_kind);
    rkc_table_add(table, cell, page->utf8);
    devices_text(row, cell);
    rkc_table_add(table, cell, page->utf8);
    rkc_table_add(table, rkc_text_count((double)row->calls, cell), page->utf8);
    rkc_table_add(table, rkc_text_volume(bytes, cell), page->utf8);
    rkc_table_add(table, rkc_text_size(row->calls > 0 ? larger / (double)row->calls : NAN, cell),
                  page->utf8);
    rkc_table_add(table,
                  rkc_text_size(rkc_report_median_size(report->reader, row->size_histogram), cell),
                  page->utf8);
    rkc_table_add(table, rkc_text_seconds((double)row->ns, decimals, cell), page->utf8);
    rkc_table_add(table, rkc_text_seconds((double)row->blocked_ns, decimals, cell), page->utf8);
    rkc_table_add(table, rkc_text_seconds((double)row->in_flight_ns, decimals, cell), page->utf8);
    rkc_table_add(table, rkc_text_count((double)row->noncontiguous, cell), page->utf8);
}

void rkc_report_print_transfers(const struct rkc_report *report, const struct rkc_page *page,
                                uint32_t path)
{
    static const struct rkc_table_column columns[] = {
        {"MEMORY, sum of ranks", 1, 18, 0, 1, 0},
        {"from", 1, 4, 0, 0, 0},
        {"to", 1, 4, 0, 0, 0},
        {"device", 0, 0, 0, 0, 1},
        {"calls", 0, 0, 0, 0, 0},
        {"bytes", 0, 0, 0, 0, 0},
        {"mean", 0, 0, 2, 0, 0},
        {"p50>=", 0, 0, 1, 0, 0},
        {"time s", 0, 0, 0, 0, 0},
        {"blocked", 0, 0, 0, 0, 1},
        {"in flight", 0, 0, 0, 0, 1},
        {"gaps", 0, 0, 0, 0, 1},
    };
    size_t n, found = 0;
    const struct rkc_reader_transfer *transfers = rkc_reader_transfers(report->reader, &n);
    size_t *order = calloc(n + 1, sizeof *order);
    struct rkc_table table;
    for (size_t i = 0; order && report->has_kinds && i < n; i++)
        if (rkc_report_is_within(report->reader, (uint32_t)transfers[i].callpath, path))
            order[found++] = i;
    if (found > 0) {
        size_t most = page->lines == INT_MAX || found < TRANSFERS_SHOWN ? found : TRANSFERS_SHOWN;
        transfers_to_sort = transfers;
        qsort(order, found, sizeof *order, by_time);
        rkc_table_init(&table, columns, sizeof columns / sizeof *columns);
        for (size_t i = 0; i < most; i++)
            add_transfer(report, page, &table, &transfers[order[i]]);
        rkc_table_print(&table, page->out, page->columns, page->utf8);
        rkc_table_free(&table);
        if (most < found)
            fprintf(page->out, "  %zu more (--all)\n", found - most);
    }
    free(order);
}
