/* report_mpi.c - the numbers of the MPI calls. A call path that moved data between one pair of
 * memory kinds is one row with the numbers of the call path; of several, one for each pair. */
#include "autoconf.h"

#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Smaller messages move at the price of a message, not of a byte. */
enum { RATE_LEAST_BYTES = 4096, LETTERS = 7 };

static const char letters[LETTERS + 1] = "-HPDMU?";

int64_t rkc_report_add(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a > 0 ? a : 0, b > 0 ? b : 0, &sum) ? INT64_MAX : sum;
}

char rkc_report_kind_letter(const char *kind)
{
    static const struct {
        const char *kind;
        char letter;
    } kinds[] = {{"none", '-'},   {"host", 'H'},    {"pinned", 'P'},
                 {"device", 'D'}, {"managed", 'M'}, {"unknown", 'U'}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kind, kinds[i].kind) == 0)
            return kinds[i].letter;
    return '?';
}

int rkc_report_is_message(const char *call)
{
    static const char *const parts[] = {"send",    "Send",     "recv",     "Recv",
                                        "MPI_Put", "MPI_Get",  "MPI_Rput", "MPI_Rget",
                                        "MPI_Acc", "MPI_Racc", "MPI_Start"};
    /* MPI_Get_count and the like move nothing. */
    if (strncmp(call, "MPI_Get_", 8) == 0 && strncmp(call, "MPI_Get_accumulate", 18) != 0)
        return 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strstr(call, parts[i]))
            return 1;
    return 0;
}

/* Whether the time of the call is the time of its own data: point to point, one-sided, files. */
static int has_rate(const char *name)
{
    return rkc_report_is_message(name) || strncmp(name, "MPI_File_", 9) == 0;
}

double rkc_report_median_size(const struct rkc_reader *reader, const int64_t *counts)
{
    const int64_t *edges;
    size_t n = rkc_reader_size_buckets(reader, &edges);
    double total = 0, upto = 0;
    for (size_t i = 0; i < n; i++)
        total += (double)counts[i];
    for (size_t i = 0; i < n; i++) {
        upto += (double)counts[i];
        if (counts[i] > 0 && 2 * upto >= total)
            return (double)edges[i];
    }
    return NAN;
}

/* What rows of transfers add up to. */
struct sums {
    int64_t calls, sent, received, ns, blocked_ns, in_flight_ns;
    int64_t *sizes;
};

/* Sum of what is known of both; absent if neither is. */
static int64_t add_known(int64_t a, int64_t b)
{
    return a < 0 ? b : b < 0 ? a : rkc_report_add(a, b);
}

static void add_transfer(const struct rkc_report *report, struct sums *sums,
                         const struct rkc_reader_transfer *row)
{
    const int64_t *edges;
    size_t buckets = rkc_reader_size_buckets(report->reader, &edges);
    sums->calls = add_known(sums->calls, row->calls);
    sums->sent = add_known(sums->sent, row->bytes_sent);
    sums->received = add_known(sums->received, row->bytes_received);
    sums->ns = add_known(sums->ns, row->ns);
    sums->blocked_ns = add_known(sums->blocked_ns, row->blocked_ns);
    sums->in_flight_ns = add_known(sums->in_flight_ns, row->in_flight_ns);
    for (size_t i = 0; i < buckets; i++)
        sums->sizes[i] = rkc_report_add(sums->sizes[i], row->size_histogram[i]);
}

static int64_t whole_sum(const struct rkc_reader *reader, const char *metric, uint32_t path)
{
    const struct rkc_reader_stat *stat = rkc_report_stat(reader, metric, path);
    return stat ? stat->sum : -1;
}

/* The sums of the whole call path, the sizes apart. */
static void sum_path(const struct rkc_reader *reader, uint32_t path, struct sums *sums)
{
    sums->calls = whole_sum(reader, "visits", path);
    sums->sent = whole_sum(reader, "bytes_sent", path);
    sums->received = whole_sum(reader, "bytes_received", path);
    sums->ns = whole_sum(reader, "inclusive_ns", path);
    sums->blocked_ns = whole_sum(reader, "blocked_ns", path);
    sums->in_flight_ns = whole_sum(reader, "in_flight_ns", path);
}

/* A mean over ranks; NaN where nothing is known. */
static double mean_of(const struct rkc_report *report, int64_t sum)
{
    return sum >= 0 ? (double)sum / (double)report->n_ranks : NAN;
}

static void set_call(const struct rkc_report *report, const struct sums *sums,
                     struct rkc_report_call *call)
{
    call->ns = mean_of(report, sums->ns);
    call->share = report->mean_wall_ns > 0 ? call->ns / report->mean_wall_ns : NAN;
    call->blocked_ns = mean_of(report, sums->blocked_ns);
    call->calls = sums->calls;
    call->bytes = add_known(sums->sent, sums->received);
    /* As the histogram counts an operation that sends and receives: by the larger of the two. */
    double larger = (double)(sums->sent > sums->received ? sums->sent : sums->received);
    call->mean_bytes = call->calls > 0 && call->bytes >= 0 ? larger / (double)call->calls : NAN;
    call->median_bytes =
        call->bytes >= 0 ? rkc_report_median_size(report->reader, sums->sizes) : NAN;

    /* A nonblocking operation takes as long as its request is in flight. */
    const char *name = rkc_report_region_name(report->reader, call->path);
    int returns_early = strncmp(name, "MPI_I", 5) == 0 || strncmp(name, "MPI_R", 5) == 0 ||
                        strncmp(name, "MPI_Start", 9) == 0;
    returns_early &= strncmp(name, "MPI_Re", 6) != 0 && strncmp(name, "MPI_Rs", 6) != 0;
    double moving_ns = sums->in_flight_ns > 0 ? (double)sums->in_flight_ns
                       : returns_early        ? NAN
                                              : (double)sums->ns;
    int is_rated = call->mean_bytes >= RATE_LEAST_BYTES && moving_ns > 0 && has_rate(name);
    call->rate = is_rated ? (double)call->bytes / moving_ns : NAN;
}

/* What is known of the whole call path alone. */
static void set_whole(const struct rkc_report *report, struct rkc_report_call *call)
{
    const struct rkc_reader_stat *time =
        rkc_report_stat(report->reader, "inclusive_ns", call->path);
    const struct rkc_reader_stat *visits = rkc_report_stat(report->reader, "visits", call->path);
    const struct rkc_report_wait *wait = &report->waits[call->path];
    call->longest = time ? time->max_rank : -1;
    call->ranks = visits ? visits->ranks : 0;
    call->wait_ns = wait->ns / (double)report->n_ranks;
    call->xfer_ns = fmax(call->ns - call->wait_ns, 0);
    call->xfer_ns = isnan(call->wait_ns) ? NAN : call->xfer_ns;
    call->awaited = wait->awaited;
}

/* ---- from transfers to rows ---- */

struct kinds_row {
    const struct rkc_reader_transfer *row;
    char kinds[3];
};

static int by_path_and_kinds(const void *a, const void *b)
{
    const struct kinds_row *x = a, *y = b;
    if (x->row->callpath != y->row->callpath)
        return x->row->callpath < y->row->callpath ? -1 : 1;
    int order = strcmp(x->kinds, y->kinds);
    return order ? order : (x->row > y->row) - (x->row < y->row);
}

static struct kinds_row *sort_transfers(const struct rkc_report *report, size_t *n)
{
    const struct rkc_reader_transfer *transfers = rkc_reader_transfers(report->reader, n);
    struct kinds_row *rows = calloc(*n + 1, sizeof *rows);
    for (size_t i = 0; rows && i < *n; i++) {
        rows[i].row = &transfers[i];
        rows[i].kinds[0] = rkc_report_kind_letter(transfers[i].send_kind);
        rows[i].kinds[1] = rkc_report_kind_letter(transfers[i].recv_kind);
    }
    if (rows && *n > 0)
        qsort(rows, *n, sizeof *rows, by_path_and_kinds);
    return rows;
}

static int by_bytes(const void *a, const void *b)
{
    const struct rkc_report_kinds *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return strcmp(x->kinds, y->kinds);
}

/* Bytes by pair of kinds. Files before schema 1.2 know of none. */
static int sum_kinds(struct rkc_report *report, const struct kinds_row *rows, size_t n)
{
    double bytes[LETTERS][LETTERS] = {{0}};
    int is_told = 0;
    report->kinds = calloc(LETTERS * LETTERS, sizeof *report->kinds);
    if (!report->kinds)
        return RKC_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        size_t from = (size_t)(strchr(letters, rows[i].kinds[0]) - letters);
        size_t to = (size_t)(strchr(letters, rows[i].kinds[1]) - letters);
        bytes[from][to] +=
            (double)rkc_report_add(rows[i].row->bytes_sent, rows[i].row->bytes_received);
        is_told |= strspn(rows[i].kinds, "U") < 2;
        report->has_kinds |= strspn(rows[i].kinds, "-H") < 2;
    }
    report->has_kinds &= is_told;
    for (size_t from = 0; from < LETTERS; from++)
        for (size_t to = 0; to < LETTERS; to++)
            if (bytes[from][to] > 0 && report->has_kinds)
                report->kinds[report->n_kinds++] =
                    (struct rkc_report_kinds){{letters[from], letters[to], '\0'}, bytes[from][to]};
    if (report->n_kinds > 0)
        qsort(report->kinds, report->n_kinds, sizeof *report->kinds, by_bytes);
    return 0;
}

/* Add the rows of a call path, whose transfers are `rows`. */
static void add_calls(struct rkc_report *report, uint32_t path, const struct kinds_row *rows,
                      size_t n, int64_t *sizes)
{
    const int64_t *edges;
    size_t buckets = rkc_reader_size_buckets(report->reader, &edges);
    int is_one = n == 0 || memcmp(rows[0].kinds, rows[n - 1].kinds, sizeof rows->kinds) == 0;
    size_t i = 0;
    do {
        struct sums sums = {-1, -1, -1, -1, -1, -1, sizes};
        struct rkc_report_call *call = &report->calls[report->n_calls++];
        *call = (struct rkc_report_call){path, "-", NAN, NAN, NAN, NAN, NAN, -1,
                                         -1,   -1,  -1,  0,   NAN, NAN, NAN};
        memset(sizes, 0, buckets * sizeof *sizes);
        if (i < n)
            memcpy(call->kinds, rows[i].kinds, sizeof call->kinds);
        for (size_t first = i;
             i < n && memcmp(rows[i].kinds, rows[first].kinds, sizeof rows->kinds) == 0; i++)
            add_transfer(report, &sums, rows[i].row);
        if (is_one)
            sum_path(report->reader, path, &sums);
        set_call(report, &sums, call);
        if (is_one)
            set_whole(report, call);
    } while (i < n);
}

static int by_call_time(const void *a, const void *b)
{
    const struct rkc_report_call *x = a, *y = b;
    double first = x->ns >= 0 ? x->ns : -1, second = y->ns >= 0 ? y->ns : -1;
    if (first != second)
        return first > second ? -1 : 1;
    if (x->path != y->path)
        return x->path < y->path ? -1 : 1;
    return strcmp(x->kinds, y->kinds);
}

int rkc_report_measure_calls(struct rkc_report *report)
{
    const int64_t *edges;
    size_t n, n_paths, at = 0, buckets = rkc_reader_size_buckets(report->reader, &edges);
    rkc_reader_paths(report->reader, &n_paths);
    struct kinds_row *rows = sort_transfers(report, &n);
    int64_t *sizes = calloc(buckets + 1, sizeof *sizes);
    report->calls = calloc(n_paths + n + 1, sizeof *report->calls);
    int status = rows && sizes && report->calls ? sum_kinds(report, rows, n) : RKC_ENOMEM;
    for (size_t path = 0; path < n_paths && !status; path++) {
        size_t first = at;
        while (at < n && (size_t)rows[at].row->callpath == path)
            at++;
        if (rkc_report_is_mpi(report->reader, (uint32_t)path))
            add_calls(report, (uint32_t)path, rows + first, at - first, sizes);
    }
    free(sizes);
    free(rows);
    if (report->n_calls > 0 && !status)
        qsort(report->calls, report->n_calls, sizeof *report->calls, by_call_time);
    return status;
}
