/* report_regions.c - the tree of regions: the rows that take most time, each with those around it. */
#include "autoconf.h"

#include "report.h"
#include "text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    REGION_CELLS = 39, /* columns right of the name, those of ranks and those beside apart */
    EXCLUSIVE_CELL = 10,
    DEVICE_CELL = 9,
    SHARE_CELL = 6,
    REGION_NAME = 17, /* columns of the name at least: less important ones go for it */
};

/* Columns of a rank, "r17", and of a part of the ranks, "17/32": no number runs into the next. */
int rkc_report_rank_columns(const struct rkc_report *report, int least)
{
    int columns = snprintf(NULL, 0, "  r%zu", report->n_ranks);
    return columns > least ? columns : least;
}

static int part_columns(const struct rkc_report *report)
{
    int columns = snprintf(NULL, 0, "  %zu/%zu", report->n_ranks, report->n_ranks);
    return columns > 8 ? columns : 8;
}

/* The columns of the region table: those of the name, and which of the others there are. */
struct region_layout {
    int name;
    int has_exclusive, has_device, has_share;
};

static struct region_layout region_layout(const struct rkc_report *report,
                                          const struct rkc_page *page)
{
    int has_device = report->gpu.exists;
    struct region_layout layout = {.has_exclusive = 1, .has_device = has_device,
                                   .has_share = has_device};
    layout.name = page->columns - REGION_CELLS - EXCLUSIVE_CELL - rkc_report_rank_columns(report, 7) -
                  part_columns(report) - (has_device ? DEVICE_CELL + SHARE_CELL : 0);
    if (has_device && layout.name < REGION_NAME) {
        layout.has_exclusive = 0;
        layout.name += EXCLUSIVE_CELL;
    }
    if (has_device && layout.name < REGION_NAME) {
        layout.has_share = 0;
        layout.name += SHARE_CELL;
    }
    return layout;
}

static int by_wall(const void *a, const void *b)
{
    const struct rkc_report_region *x = *(const struct rkc_report_region *const *)a;
    const struct rkc_report_region *y = *(const struct rkc_report_region *const *)b;
    double first = x->wall_ns >= 0 ? x->wall_ns : -1, second = y->wall_ns >= 0 ? y->wall_ns : -1;
    if (first != second)
        return first > second ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* Mark the rows that take most time, each with the rows around it: `most` of them. */
static void choose_rows(const struct rkc_report *report, size_t most, unsigned char *chosen)
{
    size_t n = report->n_regions, taken = 0;
    const struct rkc_report_region **sorted = calloc(n + 1, sizeof *sorted);
    for (size_t i = 0; sorted && i < n; i++)
        sorted[i] = &report->regions[i];
    if (sorted)
        qsort(sorted, n, sizeof *sorted, by_wall);
    for (size_t i = 0; sorted && i < n && taken < most; i++) {
        size_t needed = 0;
        int32_t row = (int32_t)(sorted[i] - report->regions);
        for (int32_t at = row; at >= 0 && !chosen[at]; at = report->regions[at].parent)
            needed++;
        if (taken + needed > most)
            continue;
        taken += needed;
        for (int32_t at = row; at >= 0 && !chosen[at]; at = report->regions[at].parent)
            chosen[at] = 1;
    }
    free(sorted);
}

static void print_region_name(const struct rkc_report *report, const struct rkc_page *page,
                              const struct rkc_report_region *region, int columns)
{
    char name[RKC_NAME_CELL];
    int indent = region->depth > 0 ? 2 * (region->depth - 1) : 0;
    indent = indent > columns / 2 ? columns / 2 : indent;
    int used = snprintf(name, sizeof name, "%*s", indent, "");
    char threads[32] = "";
    if (region->threads > 1)
        snprintf(threads, sizeof threads, " %s%" PRId64, page->utf8 ? "×" : "x", region->threads);
    int room = columns - indent - rkc_text_columns(threads);
    rkc_text_fit(rkc_report_region_name(report->reader, region->path), room, page->utf8,
                 name + used, sizeof name - (size_t)used - sizeof threads);
    strcat(name, threads);
    rkc_text_put(page->out, name, columns, page->utf8);
}

static void print_region(const struct rkc_report *report, const struct rkc_page *page,
                         const struct rkc_report_region *region)
{
    int decimals = rkc_text_decimals(report->wall_ns);
    struct region_layout layout = region_layout(report, page);
    char cell[RKC_CELL_MAX + 1], slowest[RKC_CELL_MAX], visits[RKC_CELL_MAX], ranks[RKC_CELL_MAX];
    print_region_name(report, page, region, layout.name);
    cell[0] = '~';
    rkc_text_seconds(region->wall_ns, decimals, cell + 1);
    fprintf(page->out, "%10s", cell + !region->estimated);
    fprintf(page->out, "%7s", rkc_text_percent(region->share, cell));
    if (layout.has_exclusive)
        fprintf(page->out, "%*s", EXCLUSIVE_CELL,
                rkc_text_seconds(region->exclusive_ns, decimals, cell));
    fprintf(page->out, "%9s", rkc_text_seconds(region->mpi_ns, decimals, cell));
    if (layout.has_device)
        fprintf(page->out, "%*s", DEVICE_CELL, rkc_text_seconds(region->device_ns, decimals, cell));
    if (layout.has_share)
        fprintf(page->out, "%*s", SHARE_CELL, rkc_text_percent(region->device_share, cell));
    snprintf(ranks, sizeof ranks, "%" PRId64 "/%zu", region->ranks, report->n_ranks);
    fprintf(page->out, "%6s%*s%7s%*s\n", rkc_text_ratio(region->imbalance, cell),
            rkc_report_rank_columns(report, 7), rkc_text_rank(region->slowest, slowest),
            rkc_text_count((double)region->visits, visits), part_columns(report), ranks);
}

static void print_region_heads(const struct rkc_report *report, const struct rkc_page *page)
{
    struct region_layout layout = region_layout(report, page);
    rkc_text_put(page->out, layout.name > REGION_NAME ? "REGIONS  mean/rank" : "REGIONS mean/rank",
                 layout.name, page->utf8);
    fprintf(page->out, "%10s%7s", "wall s", "% wall");
    if (layout.has_exclusive)
        fprintf(page->out, "%*s", EXCLUSIVE_CELL, "excl s");
    fprintf(page->out, "%9s", "MPI s");
    if (layout.has_device)
        fprintf(page->out, "%*s", DEVICE_CELL, "GPU s");
    if (layout.has_share)
        fprintf(page->out, "%*s", SHARE_CELL, "%GPU");
    fprintf(page->out, "%6s%*s%7s%*s\n", "imbal", rkc_report_rank_columns(report, 7), "slow", "visits",
            part_columns(report), "ranks");
}

void rkc_report_print_regions(const struct rkc_report *report, const struct rkc_page *page,
                              size_t rows)
{
    unsigned char *chosen = calloc(report->n_regions + 1, 1);
    if (!chosen)
        return;
    choose_rows(report, rows, chosen);
    print_region_heads(report, page);
    size_t left_out = 0;
    double most = 0;
    int has_threads = 0, has_estimates = 0;
    for (size_t i = 0; i < report->n_regions; i++) {
        const struct rkc_report_region *region = &report->regions[i];
        if (!chosen[i]) {
            left_out++;
            most = fmax(most, region->share);
            continue;
        }
        has_threads |= region->threads > 1;
        has_estimates |= region->estimated;
        print_region(report, page, region);
    }
    free(chosen);
    if (left_out > 0) {
        char share[RKC_CELL_MAX];
        fprintf(page->out, "  %zu more, %s %% of wall or less each (--all)\n", left_out,
                rkc_text_percent(most, share));
    }
    if (has_threads || has_estimates)
        fprintf(page->out, "  %s%s%s%s\n", has_estimates ? "~: sampled, extrapolated" : "",
                has_threads && has_estimates ? "; " : "",
                has_threads ? (page->utf8 ? "×n" : "xn") : "",
                has_threads ? ": n threads of a rank; excl and MPI are their sums" : "");
}
