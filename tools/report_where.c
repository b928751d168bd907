/* report_where.c - where each rank was when measuring ended: of a job that hangs that is what one
 * wants to know, so ranks in the same place are one entry, however many they are. */
#include "autoconf.h"

#include "report.h"
#include "text.h"

#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    PATH_COLUMNS = 48,
    NODES_NAMED = 4,
    AT_END_PLACES = 3, /* on the page of the whole run */
    INDENT = 9,
};

/* ---- grouping ---- */

static const struct rkc_reader_rank *ranks_to_sort;

static int by_place(const struct rkc_reader_rank *x, const struct rkc_reader_rank *y)
{
    if (x->open_callpath != y->open_callpath)
        return x->open_callpath < y->open_callpath ? -1 : 1;
    if (x->signal != y->signal)
        return x->signal < y->signal ? -1 : 1;
    return strcmp(x->state, y->state);
}

static int by_place_and_rank(const void *a, const void *b)
{
    const size_t *x = a, *y = b;
    int order = by_place(&ranks_to_sort[*x], &ranks_to_sort[*y]);
    return order != 0 ? order : *x < *y ? -1 : 1;
}

/* What ended early before what did not, failures first; then by number. */
static int weight(const struct rkc_report_place *place)
{
    return rkc_report_is_failure(place->rank) ? 0 : place->is_finalized ? 2 : 1;
}

static int by_weight(const void *a, const void *b)
{
    const struct rkc_report_place *x = a, *y = b;
    if (weight(x) != weight(y))
        return weight(x) - weight(y);
    if (x->n != y->n)
        return x->n > y->n ? -1 : 1;
    return x->rank->rank < y->rank->rank ? -1 : 1;
}

static void add_rank(struct rkc_report_place *place, const struct rkc_reader_rank *rank)
{
    int64_t until_ns = rank->measured_until_unix_ns;
    if (place->n == 0 || until_ns < place->first_ns)
        place->first_ns = until_ns;
    if (place->n == 0 || until_ns > place->last_ns)
        place->last_ns = until_ns;
    place->n++;
}

int rkc_report_measure_where(struct rkc_report *report)
{
    size_t n;
    const struct rkc_reader_rank *ranks = rkc_reader_ranks(report->reader, &n);
    report->place_rows = calloc(n + 1, sizeof *report->place_rows);
    report->places = calloc(n + 1, sizeof *report->places);
    if (!report->place_rows || !report->places)
        return RKC_ENOMEM;
    for (size_t i = 0; i < n; i++)
        report->place_rows[i] = i;
    ranks_to_sort = ranks;
    qsort(report->place_rows, n, sizeof *report->place_rows, by_place_and_rank);
    for (size_t i = 0; i < n; i++) {
        const struct rkc_reader_rank *rank = &ranks[report->place_rows[i]];
        if (i == 0 || by_place(&ranks[report->place_rows[i - 1]], rank) != 0)
            report->places[report->n_places++] =
                (struct rkc_report_place){.rank = rank,
                                          .rows = report->place_rows + i,
                                          .is_finalized = strcmp(rank->state, "finalized") == 0};
        add_rank(&report->places[report->n_places - 1], rank);
    }
    qsort(report->places, report->n_places, sizeof *report->places, by_weight);
    return 0;
}

int rkc_report_is_failure(const struct rkc_reader_rank *rank)
{
    return strcmp(rank->state, "aborted") == 0 || strcmp(rank->state, "signal") == 0;
}

void rkc_report_ending(const struct rkc_reader_rank *rank, char *out, size_t size)
{
    static const struct {
        int number;
        const char *name;
    } signals[] = {
        {SIGABRT, "SIGABRT"}, {SIGALRM, "SIGALRM"}, {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},
        {SIGHUP, "SIGHUP"},   {SIGILL, "SIGILL"},   {SIGINT, "SIGINT"},   {SIGKILL, "SIGKILL"},
        {SIGPIPE, "SIGPIPE"}, {SIGQUIT, "SIGQUIT"}, {SIGSEGV, "SIGSEGV"}, {SIGSYS, "SIGSYS"},
        {SIGTERM, "SIGTERM"}, {SIGTRAP, "SIGTRAP"}, {SIGUSR1, "SIGUSR1"}, {SIGUSR2, "SIGUSR2"},
        {SIGXCPU, "SIGXCPU"}, {SIGXFSZ, "SIGXFSZ"},
    };
    if (strcmp(rank->state, "aborted") == 0) {
        snprintf(out, size, "aborted");
        return;
    }
    snprintf(out, size, rank->signal > 0 ? "got signal %" PRId32 : "got a signal", rank->signal);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (rank->signal == signals[i].number)
            snprintf(out, size, "got %s", signals[i].name);
}

/* ---- texts ---- */

/* "06:03:12", with the day before it where that is not the day when the run began. */
static void put_time(FILE *out, const struct rkc_report *report, int64_t unix_ns)
{
    time_t at = (time_t)(unix_ns / 1000000000);
    time_t start = (time_t)(rkc_reader_job_int(report->reader, "start_unix_ns") / 1000000000);
    struct tm tm, began;
    char text[32] = "?";
    if (unix_ns > 0 && gmtime_r(&at, &tm) && gmtime_r(&start, &began)) {
        int same_day = tm.tm_yday == began.tm_yday && tm.tm_year == began.tm_year;
        strftime(text, sizeof text, same_day ? "%H:%M:%S" : "%Y-%m-%d %H:%M:%S", &tm);
    }
    fputs(text, out);
}

static void put_until(FILE *out, const struct rkc_report *report,
                      const struct rkc_report_place *place)
{
    put_time(out, report, place->first_ns);
    if (place->first_ns / 1000000000 != place->last_ns / 1000000000) {
        fputs(" to ", out);
        put_time(out, report, place->last_ns);
    }
}

/* "in step/halo/MPI_Recv", "got SIGSEGV in step" */
static void put_what(FILE *out, const struct rkc_report *report, const struct rkc_page *page,
                     const struct rkc_report_place *place)
{
    const struct rkc_reader_rank *rank = place->rank;
    char path[RKC_NAME_CELL], name[RKC_NAME_CELL], how[RKC_CELL_MAX + 8] = "";
    if (rkc_report_is_failure(rank))
        rkc_report_ending(rank, how, sizeof how);
    else if (place->is_finalized)
        snprintf(how, sizeof how, "finalized");
    fputs(how, out);
    if (place->is_finalized && rank->open_callpath < 0)
        return;
    if (rank->open_callpath < 0) {
        fprintf(out, "%soutside any region", how[0] ? " " : "");
        return;
    }
    rkc_report_path(report->reader, (uint32_t)rank->open_callpath, path, sizeof path);
    rkc_text_fit(path, page->lines == INT_MAX ? INT_MAX : PATH_COLUMNS, page->utf8, name,
                 sizeof name);
    fprintf(out, "%sin %s", how[0] ? " " : "", name);
}

/* "r0-r3, r8": at most so many ranges, the rest counted. */
static void put_ranks(FILE *out, const struct rkc_reader_rank *ranks,
                      const struct rkc_report_place *place, size_t ranges)
{
    for (size_t i = 0, end, done = 0; i < place->n; i = end, done++) {
        int32_t first = ranks[place->rows[i]].rank, last = first;
        for (end = i + 1; end < place->n && ranks[place->rows[end]].rank == last + 1; end++)
            last++;
        if (done == ranges) {
            fprintf(out, " and %zu more", place->n - i);
            return;
        }
        fprintf(out, last > first ? "%sr%" PRId32 "-r%" PRId32 : "%sr%" PRId32, i > 0 ? ", " : "",
                first, last);
    }
}

/* " on node7", " on 12 nodes: node7, node8 and 10 more". The nodes of a file are one text each. */
static void put_nodes(FILE *out, const struct rkc_reader_rank *ranks, const struct rkc_page *page,
                      const struct rkc_report_place *place, size_t named)
{
    const char **nodes = calloc(place->n, sizeof *nodes);
    size_t n = 0;
    for (size_t i = 0; nodes && i < place->n; i++) {
        const char *node = ranks[place->rows[i]].node;
        if (n == 0 || strcmp(nodes[n - 1], node) != 0)
            nodes[n++] = node;
    }
    n = rkc_report_distinct(nodes, n);
    if (n > 1)
        fprintf(out, " on %zu nodes", n);
    for (size_t i = 0; i < n && (n == 1 || i < named); i++) {
        char name[RKC_NAME_CELL];
        rkc_text_clean(nodes[i], page->utf8, name, sizeof name);
        fprintf(out, "%s%s", n == 1 ? " on " : i == 0 ? ": " : ", ", name);
    }
    if (n > 1 && named > 0 && named < n)
        fprintf(out, " and %zu more", n - named);
    free(nodes);
}

/* ---- on the page of the run ---- */

/* In a line or two for each of the first places. */
void rkc_report_print_at_end(const struct rkc_report *report, const struct rkc_page *page)
{
    size_t n, shown = 0, most = page->lines == INT_MAX ? SIZE_MAX : AT_END_PLACES, left = 0;
    const struct rkc_reader_rank *ranks = rkc_reader_ranks(report->reader, &n);
    for (size_t i = 0; i < report->n_places; i++) {
        const struct rkc_report_place *place = &report->places[i];
        char *text = NULL;
        size_t size;
        if (place->is_finalized)
            continue;
        if (shown == most) {
            left += place->n;
            continue;
        }
        FILE *out = open_memstream(&text, &size);
        if (!out)
            return;
        fprintf(out, "%zu rank%s ", place->n, place->n == 1 ? "" : "s");
        put_what(out, report, page, place);
        fputs(" until ", out);
        put_until(out, report, place);
        fputs(" UTC: ", out);
        put_ranks(out, ranks, place, page->lines == INT_MAX ? SIZE_MAX : 4);
        put_nodes(out, ranks, page, place, 0);
        fclose(out);
        fprintf(page->out, "%-*s", INDENT, shown == 0 ? "AT END" : "");
        rkc_text_wrap(page->out, text, INDENT, page->columns);
        free(text);
        shown++;
    }
    if (left > 0)
        fprintf(page->out, "%*s%zu more rank%s elsewhere (--where)\n", INDENT, "", left,
                left == 1 ? "" : "s");
}

/* ---- rankclock report --where ---- */

/* Which ranks, and where they run, in so many columns: the fewer ranges and nodes the better they
 * fit. To be freed; NULL without memory. */
static char *which_text(const struct rkc_report *report, const struct rkc_page *page,
                        const struct rkc_report_place *place, int columns)
{
    static const size_t most[][2] = {{6, NODES_NAMED}, {4, 3}, {3, 2}, {2, 1}, {1, 0}};
    size_t n, size;
    const struct rkc_reader_rank *ranks = rkc_reader_ranks(report->reader, &n);
    int is_whole = page->lines == INT_MAX;
    char *text = NULL;
    for (size_t i = 0; i < sizeof most / sizeof *most; i++) {
        free(text);
        text = NULL;
        FILE *out = open_memstream(&text, &size);
        if (!out)
            return NULL;
        put_ranks(out, ranks, place, is_whole ? SIZE_MAX : most[i][0]);
        put_nodes(out, ranks, page, place, is_whole ? SIZE_MAX : most[i][1]);
        fclose(out);
        if (is_whole || rkc_text_columns(text) <= columns)
            break;
    }
    return text;
}

static void print_place(const struct rkc_report *report, const struct rkc_page *page,
                        const struct rkc_report_place *place)
{
    char *text = which_text(report, page, place, page->columns - INDENT);
    if (!text)
        return;
    fprintf(page->out, "%7zu  ", place->n);
    put_what(page->out, report, page, place);
    fputs(", until ", page->out);
    put_until(page->out, report, place);
    fprintf(page->out, "\n%*s", INDENT, "");
    rkc_text_wrap(page->out, text, INDENT, page->columns);
    free(text);
}

static void print_missing(const struct rkc_report *report, const struct rkc_page *page)
{
    size_t n, most = page->lines == INT_MAX ? SIZE_MAX : 6, size, left = report->n_missing;
    char *text = NULL;
    const struct rkc_reader_range *missing = rkc_reader_missing(report->reader, &n);
    FILE *out = n > 0 ? open_memstream(&text, &size) : NULL;
    if (!out)
        return;
    for (size_t i = 0; i < n && i < most; i++) {
        int is_one = missing[i].first == missing[i].last;
        fprintf(out, is_one ? "%sr%" PRId32 : "%sr%" PRId32 "-r%" PRId32, i > 0 ? ", " : "",
                missing[i].first, missing[i].last);
        left -= (size_t)(missing[i].last - missing[i].first) + 1;
    }
    if (left > 0)
        fprintf(out, " and %zu more", left);
    fclose(out);
    fprintf(page->out, "%7zu  missing: nothing is known of them\n%*s", report->n_missing, INDENT,
            "");
    rkc_text_wrap(page->out, text, INDENT, page->columns);
    free(text);
}

void rkc_report_print_where(const struct rkc_report *report, const struct rkc_page *page)
{
    size_t n = report->n_places, used = 7 + (report->n_missing > 0 ? 2 : 0), cut = 0;
    size_t room = page->lines == INT_MAX ? n : ((size_t)page->lines - used) / 2;
    rkc_report_print_header(report, page);
    int all = n == 1 && report->places[0].is_finalized && report->n_missing == 0;
    fprintf(page->out,
            "\nWHERE the ranks were when measuring ended, and until when that was (UTC)%s\n",
            all ? ": all came to the end" : "");
    print_missing(report, page);
    if (n > room)
        cut = n - room;
    /* Both ends tell most: where the many wait, and where the few are that they wait for. */
    for (size_t i = 0; i < n; i++) {
        if (cut > 0 && i == (room + 1) / 2) {
            fprintf(page->out, "%*s%zu places between (--all)\n", INDENT, "", cut);
            i += cut - 1;
            continue;
        }
        print_place(report, page, &report->places[i]);
    }
}
