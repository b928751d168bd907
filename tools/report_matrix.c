/* report_matrix.c - who sent to whom. The matrix is read once and never held: sums of each rank,
 * and of the pairs those with most bytes, in a heap whose root is the least of them. */
#include "autoconf.h"

#include "report.h"
#include "table.h"
#include "text.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the numbers ---- */

int64_t rkc_report_rank_row(const struct rkc_report *report, int32_t rank)
{
    size_t n, low = 0;
    const struct rkc_reader_rank *ranks = rkc_reader_ranks(report->reader, &n);
    for (size_t high = n; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (ranks[middle].rank < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && ranks[low].rank == rank ? (int64_t)low : -1;
}

static const char *node_of(const struct rkc_report *report, int32_t rank)
{
    size_t n;
    int64_t row = rkc_report_rank_row(report, rank);
    return row < 0 ? NULL : rkc_reader_ranks(report->reader, &n)[row].node;
}

void rkc_report_rank_name(const struct rkc_report *report, int32_t rank, char *out, size_t size)
{
    const char *name = node_of(report, rank);
    char node[RKC_NAME_CELL];
    if (!name) {
        snprintf(out, size, "r%" PRId32, rank);
        return;
    }
    rkc_text_fit(name, 24, rkc_text_utf8(), node, sizeof node);
    snprintf(out, size, "r%" PRId32 " (%.96s)", rank, node);
}

/* Order of what to keep: less bytes, then less messages, then a later pair is less. */
static int is_less(const struct rkc_report_pair *x, const struct rkc_report_pair *y)
{
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes;
    if (x->messages != y->messages)
        return x->messages < y->messages;
    return x->source != y->source ? x->source > y->source : x->target > y->target;
}

static void sift_down(struct rkc_report_pair *heap, size_t n, size_t at)
{
    struct rkc_report_pair moved = heap[at];
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        child += child + 1 < n && is_less(&heap[child + 1], &heap[child]);
        if (!is_less(&heap[child], &moved))
            break;
        heap[at] = heap[child];
    }
    heap[at] = moved;
}

static void keep_pair(struct rkc_report_matrix *matrix, const struct rkc_report_pair *pair)
{
    if (matrix->n_pairs < matrix->cap_pairs) {
        matrix->pairs[matrix->n_pairs++] = *pair;
        if (matrix->n_pairs == matrix->cap_pairs)
            for (size_t i = matrix->n_pairs / 2; i-- > 0;)
                sift_down(matrix->pairs, matrix->n_pairs, i);
        return;
    }
    double left_out = pair->bytes;
    matrix->n_left_out++;
    if (is_less(&matrix->pairs[0], pair)) {
        left_out = matrix->pairs[0].bytes;
        matrix->pairs[0] = *pair;
        sift_down(matrix->pairs, matrix->n_pairs, 0);
    }
    matrix->most_left_out = fmax(matrix->most_left_out, left_out);
}

static void add_pair(struct rkc_report_pair *sum, const struct rkc_report_pair *pair)
{
    sum->messages += pair->messages;
    sum->bytes += pair->bytes;
}

static void add_others(struct rkc_report_matrix *matrix, const struct rkc_report_pair *pair)
{
    int32_t rank = pair->source < 0 ? pair->target : pair->source;
    add_pair(&matrix->others, pair);
    matrix->others_rows++;
    if (matrix->others_rank < 0 || pair->bytes > matrix->others_most) {
        matrix->others_rank = rank;
        matrix->others_most = pair->bytes;
    }
}

/* Add to the sums of both ends, as far as they are in the file, and to those of nodes. */
static void add_ends(const struct rkc_report *report, struct rkc_report_matrix *matrix,
                     const struct rkc_report_pair *pair)
{
    size_t n;
    const struct rkc_reader_rank *ranks = rkc_reader_ranks(report->reader, &n);
    int64_t from = rkc_report_rank_row(report, pair->source);
    int64_t to = rkc_report_rank_row(report, pair->target);
    int is_away = from >= 0 && to >= 0 && strcmp(ranks[from].node, ranks[to].node) != 0;
    if (from >= 0) {
        matrix->ranks[from].sent += pair->messages;
        matrix->ranks[from].bytes_sent += pair->bytes;
        matrix->ranks[from].away += is_away ? pair->bytes : 0;
        matrix->ranks[from].targets++;
    }
    if (to >= 0) {
        matrix->ranks[to].received += pair->messages;
        matrix->ranks[to].bytes_received += pair->bytes;
        matrix->ranks[to].away += is_away ? pair->bytes : 0;
    }
    if (pair->source < 0 || pair->target < 0)
        add_others(matrix, pair);
    else
        add_pair(from < 0 || to < 0 ? &matrix->unknown
                 : is_away          ? &matrix->between
                                    : &matrix->inside,
                 pair);
}

static int take_pair(void *context, const struct rkc_reader_pair *row)
{
    struct rkc_report *report = context;
    struct rkc_report_pair pair = {row->source, row->target, (double)row->messages,
                                   (double)row->bytes};
    add_pair(&report->matrix.all, &pair);
    add_ends(report, &report->matrix, &pair);
    keep_pair(&report->matrix, &pair);
    return 0;
}

static int by_ends(const void *a, const void *b)
{
    const struct rkc_report_pair *x = a, *y = b;
    if (x->source != y->source)
        return x->source < y->source ? -1 : 1;
    return (x->target > y->target) - (x->target < y->target);
}

static int by_most_bytes(const void *a, const void *b)
{
    return is_less(a, b) ? 1 : is_less(b, a) ? -1 : 0;
}

/* Make one row of what both ends counted of a pair, and sort. */
static void join_pairs(struct rkc_report_matrix *matrix)
{
    size_t n = 0;
    if (matrix->n_pairs == 0)
        return;
    qsort(matrix->pairs, matrix->n_pairs, sizeof *matrix->pairs, by_ends);
    for (size_t i = 1; i < matrix->n_pairs; i++) {
        if (by_ends(&matrix->pairs[n], &matrix->pairs[i]) == 0)
            add_pair(&matrix->pairs[n], &matrix->pairs[i]);
        else
            matrix->pairs[++n] = matrix->pairs[i];
    }
    matrix->n_pairs = n + 1;
    qsort(matrix->pairs, matrix->n_pairs, sizeof *matrix->pairs, by_most_bytes);
}

int rkc_report_measure_matrix(struct rkc_report *report, size_t pairs)
{
    struct rkc_report_matrix *matrix = &report->matrix;
    size_t n = rkc_reader_n_matrix(report->reader);
    *matrix = (struct rkc_report_matrix){.others_rank = -1, .others_most = -1};
    matrix->cap_pairs = n < pairs ? n : pairs;
    if (matrix->cap_pairs == 0)
        return 0;
    matrix->pairs = malloc(matrix->cap_pairs * sizeof *matrix->pairs);
    matrix->ranks = calloc(report->n_ranks + 1, sizeof *matrix->ranks);
    if (!matrix->pairs || !matrix->ranks)
        return RKC_ENOMEM;
    int status = rkc_reader_matrix(report->reader, take_pair, report);
    join_pairs(matrix);
    return status;
}

/* ---- the line below the MPI calls ---- */

/* "r17->r16" */
static void pair_name(const struct rkc_report_pair *pair, char *out, size_t size)
{
    char from[RKC_CELL_MAX], to[RKC_CELL_MAX];
    snprintf(out, size, "%s->%s", pair->source < 0 ? "others" : rkc_text_rank(pair->source, from),
             pair->target < 0 ? "others" : rkc_text_rank(pair->target, to));
}

/* " (g07->g06)", or "" where both are on one node or it is not known. */
static void pair_nodes(const struct rkc_report *report, const struct rkc_report_pair *pair,
                       char *out, size_t size)
{
    const char *from = node_of(report, pair->source), *to = node_of(report, pair->target);
    char first[128], second[128];
    out[0] = '\0';
    if (!from || !to || strcmp(from, to) == 0)
        return;
    rkc_text_fit(from, 12, rkc_text_utf8(), first, sizeof first);
    rkc_text_fit(to, 12, rkc_text_utf8(), second, sizeof second);
    snprintf(out, size, " (%.60s->%.60s)", first, second);
}

void rkc_report_print_pairs(const struct rkc_report *report, const struct rkc_page *page)
{
    static const char head[] = "TOP PAIRS  ";
    const struct rkc_report_matrix *matrix = &report->matrix;
    char text[1024] = "", tail[160], bytes[RKC_CELL_MAX], percent[RKC_CELL_MAX];
    if (!(matrix->all.bytes > 0))
        return;
    rkc_text_percent(matrix->between.bytes / matrix->all.bytes, percent);
    rkc_text_volume(matrix->all.bytes, bytes);
    if (report->n_nodes == 1)
        snprintf(tail, sizeof tail, " | of %s", bytes);
    else
        snprintf(tail, sizeof tail, " | of %s, %s %% between nodes", bytes, percent);
    int room = page->columns - (int)sizeof head - (int)strlen(tail), used = 0;
    for (size_t i = 0, shown = 0; i < matrix->n_pairs && shown < 3; i++) {
        const struct rkc_report_pair *pair = &matrix->pairs[i];
        char name[64], nodes[160], more[320];
        if (pair->source < 0 || pair->target < 0)
            continue;
        pair_name(pair, name, sizeof name);
        pair_nodes(report, pair, nodes, sizeof nodes);
        snprintf(more, sizeof more, "%s%s %s%s", shown ? ", " : "", name,
                 rkc_text_volume(pair->bytes, bytes), nodes);
        if (used + rkc_text_columns(more) > room || strlen(text) + strlen(more) >= sizeof text)
            break;
        used += rkc_text_columns(more);
        strcat(text, more);
        shown++;
    }
    fprintf(page->out, "%s%s%s\n", head, text[0] ? text : "-", tail);
}

/* ---- the whole ---- */

/* "inside nodes 62.0 % of bytes, between nodes 38.0 %" */
static void print_sums(const struct rkc_report *report, const struct rkc_page *page)
{
    const struct rkc_report_matrix *matrix = &report->matrix;
    const struct {
        const char *name;
        const struct rkc_report_pair *sum;
    } parts[] = {{"inside nodes", &matrix->inside},
                 {"between nodes", &matrix->between},
                 {"ranks not in the file", &matrix->unknown},
                 {"others", &matrix->others}};
    char text[512], messages[RKC_CELL_MAX], bytes[RKC_CELL_MAX], percent[RKC_CELL_MAX];
    size_t used = (size_t)snprintf(
        text, sizeof text, "%s messages, %s:", rkc_text_count(matrix->all.messages, messages),
        rkc_text_volume(matrix->all.bytes, bytes));
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (i < 2 || parts[i].sum->messages > 0)
            used += (size_t)snprintf(
                text + used, sizeof text - used, "%s %s %s, %s %% of bytes", i ? ";" : "",
                parts[i].name, rkc_text_volume(parts[i].sum->bytes, bytes),
                rkc_text_percent(parts[i].sum->bytes / matrix->all.bytes, percent));
    rkc_text_wrap(page->out, text, 0, page->columns);
    if (matrix->others.messages > 0) {
        char name[160];
        rkc_report_rank_name(report, matrix->others_rank, name, sizeof name);
        snprintf(text, sizeof text,
                 "others: ranks of other worlds, and those beyond a rank's first "
                 "RANKCLOCK_MATRIX_PEERS; %" PRId64 " row%s, most bytes of %s",
                 matrix->others_rows, matrix->others_rows == 1 ? "" : "s", name);
        rkc_text_wrap(page->out, text, 0, page->columns);
    }
}

static void add_rank_cells(const struct rkc_report *report, const struct rkc_page *page,
                           struct rkc_table *table, int32_t rank)
{
    char cell[RKC_CELL_MAX];
    const char *node = node_of(report, rank);
    rkc_table_add(table, rank < 0 ? "others" : rkc_text_rank(rank, cell), page->utf8);
    rkc_table_add(table, node && node[0] ? node : "-", page->utf8);
}

static void print_pair_rows(const struct rkc_report *report, const struct rkc_page *page,
                            size_t rows)
{
    static const struct rkc_table_column columns[] = {
        {"PAIRS  from", 0, 0, 0, 0, 0}, {"node", 1, 8, 0, 0, 0},     {"to", 0, 0, 0, 0, 0},
        {"node", 1, 8, 0, 0, 0},        {"messages", 0, 0, 0, 0, 0}, {"bytes", 0, 0, 0, 0, 0},
        {"mean", 0, 0, 0, 0, 0},        {"% bytes", 0, 0, 0, 0, 0},
    };
    const struct rkc_report_matrix *matrix = &report->matrix;
    struct rkc_table table;
    size_t n = matrix->n_pairs < rows ? matrix->n_pairs : rows;
    rkc_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < n; i++) {
        const struct rkc_report_pair *pair = &matrix->pairs[i];
        char cell[RKC_CELL_MAX];
        add_rank_cells(report, page, &table, pair->source);
        add_rank_cells(report, page, &table, pair->target);
        rkc_table_add(&table, rkc_text_count(pair->messages, cell), page->utf8);
        rkc_table_add(&table, rkc_text_volume(pair->bytes, cell), page->utf8);
        rkc_table_add(&table, rkc_text_size(pair->bytes / pair->messages, cell), page->utf8);
        rkc_table_add(&table, rkc_text_percent(pair->bytes / matrix->all.bytes, cell), page->utf8);
    }
    rkc_table_print(&table, page->out, page->columns, page->utf8);
    rkc_table_free(&table);
    size_t left = matrix->n_pairs - n + matrix->n_left_out;
    double most = fmax(n < matrix->n_pairs ? matrix->pairs[n].bytes : 0, matrix->most_left_out);
    char bytes[RKC_CELL_MAX];
    if (left > 0)
        fprintf(page->out, "  %zu more, %s or less each%s\n", left, rkc_text_volume(most, bytes),
                n < matrix->n_pairs ? " (--all)" : "");
}

static const struct rkc_report_traffic *ranks_to_sort;

static int by_traffic(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    double first = ranks_to_sort[x].bytes_sent + ranks_to_sort[x].bytes_received;
    double second = ranks_to_sort[y].bytes_sent + ranks_to_sort[y].bytes_received;
    if (first != second)
        return first > second ? -1 : 1;
    return (x > y) - (x < y);
}

static void add_rank_row(const struct rkc_report *report, const struct rkc_page *page,
                         struct rkc_table *table, size_t row)
{
    size_t n;
    char cell[RKC_CELL_MAX];
    const struct rkc_report_traffic *traffic = &report->matrix.ranks[row];
    double bytes = traffic->bytes_sent + traffic->bytes_received;
    add_rank_cells(report, page, table, rkc_reader_ranks(report->reader, &n)[row].rank);
    rkc_table_add(table, rkc_text_count((double)traffic->targets, cell), page->utf8);
    rkc_table_add(table, rkc_text_count(traffic->sent, cell), page->utf8);
    rkc_table_add(table, rkc_text_volume(traffic->bytes_sent, cell), page->utf8);
    rkc_table_add(table, rkc_text_count(traffic->received, cell), page->utf8);
    rkc_table_add(table, rkc_text_volume(traffic->bytes_received, cell), page->utf8);
    rkc_table_add(table, rkc_text_percent(bytes > 0 ? traffic->away / bytes : NAN, cell),
                  page->utf8);
}

static void print_rank_rows(const struct rkc_report *report, const struct rkc_page *page,
                            size_t rows)
{
    static const struct rkc_table_column columns[] = {
        {"RANKS", 0, 0, 0, 0, 0},      {"node", 1, 8, 0, 0, 0},
        {"targets", 0, 0, 0, 0, 0},    {"sent", 0, 0, 0, 0, 0},
        {"bytes sent", 0, 0, 0, 0, 0}, {"received", 0, 0, 0, 0, 0},
        {"bytes recv", 0, 0, 0, 0, 0}, {"% other nodes", 0, 0, 0, 0, 0},
    };
    size_t n = report->n_ranks;
    size_t *order = calloc(n + 1, sizeof *order);
    struct rkc_table table;
    if (!order)
        return;
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    ranks_to_sort = report->matrix.ranks;
    if (n > 0)
        qsort(order, n, sizeof *order, by_traffic);
    rkc_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < n && i < rows; i++)
        add_rank_row(report, page, &table, order[i]);
    rkc_table_print(&table, page->out, page->columns, page->utf8);
    rkc_table_free(&table);
    if (rows < n)
        fprintf(page->out, "  %zu more (--all)\n", n - rows);
    free(order);
}

void rkc_report_print_matrix(const struct rkc_report *report, const struct rkc_page *page)
{
    const struct rkc_report_matrix *matrix = &report->matrix;
    rkc_report_print_header(report, page);
    if (matrix->n_pairs == 0) {
        fputs("\nno messages between ranks were counted\n", page->out);
        return;
    }
    /* Headings, blank lines and up to two lines each of what lies where and of others. */
    size_t pairs = matrix->n_pairs + matrix->n_left_out, ranks = report->n_ranks;
    rkc_table_share_lines(page->lines == INT_MAX ? SIZE_MAX : (size_t)page->lines - 12, &pairs,
                          &ranks);
    fputs("\nMESSAGES, point to point and one-sided, as counted by those who send or get\n",
          page->out);
    print_sums(report, page);
    fputc('\n', page->out);
    print_pair_rows(report, page, pairs);
    fputc('\n', page->out);
    print_rank_rows(report, page, ranks);
}
