/* report_text.c - the report on one screen: each section is first written with as many rows as it
 * would like, and the two tables share the lines that the others leave. */
#include "autoconf.h"

#include "report.h"
#include "table.h"
#include "text.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    NOTES_MAX = 5,
    WARNINGS_MAX = 3,
    ROWS_LEAST = 6, /* of the two tables together, before warnings and notes give way */
    EFFICIENCY_NAME = 28,
    EFFICIENCY_CELL = 12,
};

static const char *fact(const struct rkc_report *report, const char *name)
{
    const char *value = rkc_reader_job(report->reader, name);
    return value && *value ? value : NULL;
}

static void print_fitted(const struct rkc_page *page, const char *name)
{
    char text[RKC_NAME_CELL];
    rkc_text_fit(name, page->columns, page->utf8, text, sizeof text);
    fprintf(page->out, "%s\n", text);
}

/* ---- the top ---- */

/* "4-5, 9" and so on; at most three ranges. */
static void missing_text(const struct rkc_report *report, char *out, size_t size)
{
    size_t n, used = 0;
    const struct rkc_reader_range *missing = rkc_reader_missing(report->reader, &n);
    out[0] = '\0';
    for (size_t i = 0; i < n && used + 1 < size; i++) {
        int last = missing[i].last;
        used += (size_t)snprintf(out + used, size - used, "%s%" PRId32, i ? ", " : "",
                                 missing[i].first);
        if (i == 2 && n > 3) {
            snprintf(out + used, size - used, " ...");
            return;
        }
        if (last > missing[i].first && used + 1 < size)
            used += (size_t)snprintf(out + used, size - used, "-%d", last);
    }
}

/* The first rank that ended badly: "r3 aborted" or "r3 got SIGSEGV"; "" if none did. */
static void culprit_text(const struct rkc_report *report, char *out, size_t size)
{
    size_t n;
    const struct rkc_reader_rank *ranks = rkc_reader_ranks(report->reader, &n);
    const struct rkc_reader_rank *first = NULL;
    int64_t others = 0;
    for (size_t i = 0; i < n; i++) {
        if (!rkc_report_is_failure(&ranks[i]))
            continue;
        others += first != NULL;
        first = first ? first : &ranks[i];
    }
    out[0] = '\0';
    if (!first)
        return;
    char ending[40];
    rkc_report_ending(first, ending, sizeof ending);
    int used = snprintf(out, size, "r%" PRId32 " %s", first->rank, ending);
    if (others > 0 && used > 0 && (size_t)used < size)
        snprintf(out + used, size - (size_t)used, ", %" PRId64 " more", others);
}

static void status_text(const struct rkc_report *report, char *out, size_t size)
{
    static const char *const names[] = {"COMPLETE", "PARTIAL", "ABORTED"};
    char missing[80], culprit[64];
    missing_text(report, missing, sizeof missing);
    culprit_text(report, culprit, sizeof culprit);
    snprintf(out, size, "%s (%zu/%zu ranks%s%s%s%s)", names[rkc_reader_state(report->reader)],
             report->n_ranks, report->n_ranks + report->n_missing, missing[0] ? "; missing " : "",
             missing, culprit[0] ? "; " : "", culprit);
}

static void print_first_line(const struct rkc_report *report, const struct rkc_page *page)
{
    char status[256], left[RKC_NAME_CELL];
    const char *writer = rkc_reader_attribute(report->reader, "writer");
    const char *command = fact(report, "command");
    command = command ? command : fact(report, "program");
    status_text(report, status, sizeof status);
    snprintf(left, sizeof left, "%s  %s", writer ? writer : "rankclock", command ? command : "-");
    int columns = page->columns - 2 - rkc_text_columns(status);
    rkc_text_put(page->out, left, columns > 20 ? columns : 20, page->utf8);
    fprintf(page->out, "  %s\n", status);
}

static void print_job(const struct rkc_report *report, const struct rkc_page *page)
{
    char wall[RKC_CELL_MAX], begun[32] = "-", devices[128];
    const char *id = fact(report, "job_id"), *step = fact(report, "job_step");
    const char *restart = fact(report, "restart");
    int64_t start_ns = rkc_reader_job_int(report->reader, "start_unix_ns");
    time_t start = (time_t)(start_ns / 1000000000);
    struct tm parts;
    if (start_ns > 0 && gmtime_r(&start, &parts))
        strftime(begun, sizeof begun, "%Y-%m-%d %H:%M UTC", &parts);
    char text[640];
    rkc_report_gpu_kind(report, devices, sizeof devices);
    snprintf(text, sizeof text, "%s%.64s%s%.64s%s%s%.16s%s%s  wall %s s | %zu node%s, %zu rank%s%s",
             id ? "Job " : "", id ? id : "", step ? "." : "", step ? step : "", id ? "  " : "",
             restart ? "restart " : "", restart ? restart : "", restart ? "  " : "", begun,
             rkc_text_seconds(report->wall_ns > 0 ? report->wall_ns : NAN,
                              rkc_text_decimals(report->wall_ns), wall),
             report->n_nodes, report->n_nodes == 1 ? "" : "s", report->n_ranks,
             report->n_ranks == 1 ? "" : "s", devices);
    print_fitted(page, text);
}

static void print_mpi(const struct rkc_report *report, const struct rkc_page *page)
{
    const char *library = fact(report, "mpi_library"), *standard = fact(report, "mpi_standard");
    const char *level = fact(report, "thread_level"), *aware = fact(report, "gpu_aware");
    const char *gpu = report->gpu.exists ? fact(report, "gpu") : NULL;
    char overhead[RKC_CELL_MAX], text[512];
    /* Libraries go on for lines about who built them. */
    int length = library ? (int)strcspn(library, ",\n") : 0;
    /* Where the line is too long, the level is missed least. */
    for (int has_level = level != NULL; has_level >= 0; has_level--) {
        snprintf(text, sizeof text,
                 "%.*s%s%.16s%s%s%.16s%s%.40s%s%.30s | tool overhead %s %% of ranks' wall (est.)",
                 library ? (length < 100 ? length : 100) : 6, library ? library : "no MPI",
                 aware ? " (GPU-aware: " : "", aware ? aware : "", aware ? ")" : "",
                 standard ? ", MPI " : "", standard ? standard : "", has_level ? ", " : "",
                 has_level ? level : "", gpu ? ", " : "", gpu ? gpu : "",
                 rkc_text_percent(report->overhead, overhead));
        if (rkc_text_columns(text) <= page->columns)
            break;
    }
    print_fitted(page, text);
}

void rkc_report_print_header(const struct rkc_report *report, const struct rkc_page *page)
{
    print_first_line(report, page);
    print_job(report, page);
    print_mpi(report, page);
}

static void print_top(const struct rkc_report *report, const struct rkc_page *page, size_t warnings)
{
    print_first_line(report, page);
    rkc_report_print_at_end(report, page);
    print_job(report, page);
    print_mpi(report, page);
    size_t most = page->lines == INT_MAX ? report->n_findings : warnings + 1;
    for (size_t i = 0; i < report->n_findings && i < most; i++) {
        const struct rkc_finding *finding = &report->findings[i];
        if (finding->rule[0] == 'V')
            fputs("VERDICT  ", page->out);
        else
            fprintf(page->out, "%-9s", finding->rule);
        rkc_text_wrap(page->out, finding->text, 9, page->columns);
    }
    if (most < report->n_findings)
        fprintf(page->out, "%9s%zu more (--all)\n", "", report->n_findings - most);
}

/* ---- efficiencies ---- */

static const struct rkc_efficiency *column(const struct rkc_report *report, size_t i)
{
    return i == 0 ? &report->efficiency : &report->regions[report->top[i - 1]].efficiency;
}

static void print_ratios(const struct rkc_report *report, const struct rkc_page *page,
                         const char *name, double (*of)(const struct rkc_efficiency *))
{
    rkc_text_put(page->out, name, EFFICIENCY_NAME, page->utf8);
    for (size_t i = 0; i <= report->n_top; i++) {
        char cell[RKC_CELL_MAX];
        fprintf(page->out, "%*s", EFFICIENCY_CELL, rkc_text_ratio(of(column(report, i)), cell));
    }
    fputc('\n', page->out);
}

static double parallel(const struct rkc_efficiency *efficiency)
{
    return efficiency->parallel;
}

static double balance(const struct rkc_efficiency *efficiency)
{
    return efficiency->balance;
}

static double communication(const struct rkc_efficiency *efficiency)
{
    return efficiency->communication;
}

/* A line with the ranks of each column, if they are not all ranks. */
static void print_column_ranks(const struct rkc_report *report, const struct rkc_page *page)
{
    int is_all = 1;
    for (size_t i = 0; i <= report->n_top; i++)
        is_all &= column(report, i)->ranks == (int64_t)report->n_ranks;
    if (is_all)
        return;
    rkc_text_put(page->out, "ranks", EFFICIENCY_NAME, page->utf8);
    for (size_t i = 0; i <= report->n_top; i++) {
        char cell[48];
        snprintf(cell, sizeof cell, "%" PRId64 "/%zu", column(report, i)->ranks, report->n_ranks);
        fprintf(page->out, "%*s", EFFICIENCY_CELL, cell);
    }
    fputc('\n', page->out);
}

static void print_efficiency(const struct rkc_report *report, const struct rkc_page *page)
{
    int decimals = rkc_text_decimals(report->wall_ns);
    rkc_text_put(page->out, "EFFICIENCY, ranks x elapsed", EFFICIENCY_NAME, page->utf8);
    fprintf(page->out, "%*s", EFFICIENCY_CELL, "run");
    for (size_t i = 0; i < report->n_top; i++) {
        char name[RKC_NAME_CELL];
        uint32_t path = report->regions[report->top[i]].path;
        rkc_text_fit(rkc_report_region_name(report->reader, path), EFFICIENCY_CELL - 1, page->utf8,
                     name, sizeof name);
        fprintf(page->out, "%*s%s", EFFICIENCY_CELL - rkc_text_columns(name), "", name);
    }
    fputc('\n', page->out);
    print_ratios(report, page, "Parallel", parallel);
    print_ratios(report, page, " Load balance", balance);
    print_ratios(report, page, " Communication", communication);
    rkc_text_put(page->out, "elapsed s, most of a rank", EFFICIENCY_NAME, page->utf8);
    for (size_t i = 0; i <= report->n_top; i++) {
        char cell[RKC_CELL_MAX];
        double elapsed_ns = column(report, i)->elapsed_ns;
        fprintf(page->out, "%*s", EFFICIENCY_CELL,
                rkc_text_seconds(elapsed_ns > 0 ? elapsed_ns : NAN, decimals, cell));
    }
    fputc('\n', page->out);
    print_column_ranks(report, page);
}

/* ---- notes ---- */

static void print_note(const struct rkc_report *report, const struct rkc_page *page, size_t i)
{
    size_t n;
    const struct rkc_reader_note *note = &rkc_reader_notes(report->reader, &n)[i];
    const struct rkc_reader_region *regions = rkc_reader_regions(report->reader, &n);
    const char *meaning = note->text && note->text[0] ? note->text : note->kind;
    char region[128] = "", rank[RKC_CELL_MAX] = "", count[48], name[RKC_NAME_CELL];
    if (note->region >= 0) {
        rkc_text_fit(regions[note->region].name, 24, page->utf8, name, sizeof name);
        snprintf(region, sizeof region, "region \"%.96s\"", name);
    }
    if (note->rank >= 0)
        snprintf(rank, sizeof rank, "first on r%" PRId32, note->rank);
    snprintf(count, sizeof count, "N%-3zu%" PRId64 " ", i + 1, note->count);

    char text[2 * RKC_NAME_CELL], place[256];
    snprintf(place, sizeof place, region[0] || rank[0] ? " (%s%s%s)" : "%s%s%s", region,
             region[0] && rank[0] ? ", " : "", rank);
    int room = page->columns - (int)strlen(count) - rkc_text_columns(place);
    int is_whole = page->lines == INT_MAX;
    rkc_text_fit(meaning, is_whole ? INT_MAX : room, page->utf8, name, sizeof name);
    snprintf(text, sizeof text, "%s%s", name, place);
    fputs(count, page->out);
    rkc_text_wrap(page->out, text, (int)strlen(count), page->columns);
}

static void print_notes(const struct rkc_report *report, const struct rkc_page *page, size_t rows)
{
    size_t n;
    rkc_reader_notes(report->reader, &n);
    size_t most = page->lines == INT_MAX || n <= rows ? n : rows - 1;
    if (n == 0)
        return;
    fputs("\nNOTES\n", page->out);
    for (size_t i = 0; i < most; i++)
        print_note(report, page, i);
    if (most < n)
        fprintf(page->out, "  %zu more (--all)\n", n - most);
}

/* ---- the page ---- */

/* Lines that a text takes. */
static int count_lines(const char *text)
{
    int lines = 0;
    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

/* What is above the two tables, and below. */
struct frame {
    char *top, *bottom;
};

/* Rows of warnings and of notes: the fewer, the more is left for the tables. */
struct choice {
    size_t warnings, notes;
};

static void frame_free(struct frame *frame)
{
    free(frame->top);
    free(frame->bottom);
    *frame = (struct frame){NULL, NULL};
}

static int frame_make(const struct rkc_report *report, const struct rkc_page *page,
                      struct choice choice, struct frame *frame)
{
    size_t size;
    struct rkc_page part = *page;
    part.out = open_memstream(&frame->top, &size);
    if (!part.out)
        return 0;
    print_top(report, &part, choice.warnings);
    fputc('\n', part.out);
    print_efficiency(report, &part);
    rkc_report_print_gpu(report, &part);
    fclose(part.out);
    part.out = open_memstream(&frame->bottom, &size);
    if (!part.out)
        return 0;
    rkc_report_print_kinds(report, &part);
    rkc_report_print_pairs(report, &part);
    print_notes(report, &part, choice.notes);
    fputs("\ndetails: rankclock report FILE --region NAME | --ranks | --where | --matrix | --all | "
          "--explain\n",
          part.out);
    fclose(part.out);
    return 1;
}

void rkc_report_print(const struct rkc_report *report, const struct rkc_page *page)
{
    static const struct choice choices[] = {
        {WARNINGS_MAX, NOTES_MAX}, {WARNINGS_MAX, 2}, {2, 2}, {1, 2}, {0, 1}};
    enum { CHOICES = sizeof choices / sizeof *choices };
    struct frame frame = {NULL, NULL};
    size_t regions = report->n_regions, calls = report->n_calls;
    int left = 0;
    for (int i = 0; i < CHOICES && left < ROWS_LEAST; i++) {
        frame_free(&frame);
        if (!frame_make(report, page, choices[i], &frame)) {
            frame_free(&frame);
            return;
        }
        /* Two blank lines, two headings, the tables' remark and that there was no MPI call. */
        left = page->lines == INT_MAX ? INT_MAX
                                      : page->lines - count_lines(frame.top) -
                                            count_lines(frame.bottom) - 5 - (calls == 0);
    }
    rkc_table_share_lines(left > 4 ? (size_t)left : 4, &regions, &calls);
    fprintf(page->out, "%s\n", frame.top);
    rkc_report_print_regions(report, page, regions);
    fputc('\n', page->out);
    rkc_report_print_calls(report, page, calls);
    fputs(frame.bottom, page->out);
    frame_free(&frame);
}
