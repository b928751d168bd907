/* rank_rows.c - rows come when rank 0 asks for them, a block of ranks at a time, so that what it
 * needs does not grow with the number of ranks. */
#include "autoconf.h"

#include "rank_rows.h"

#include <stdlib.h>
#include <string.h>

#include <rankclock/status.h>

#include "clock.h"
#include "log.h"

enum {
    BLOCK_BYTES = 1 << 18, /* of values gathered at once */
    BLOCK_RANKS = 256,     /* ranks asked for them at once */
    PEERS_AT_ONCE = 65536, /* held, but for those of one more rank */
};

/* In the order of their messages; others of a reduction are below. */
enum { TAG_GO = 100, TAG_ROW, TAG_VALUES, TAG_DEVICES, TAG_PEERS };

void rkc_outlet_did(struct rkc_outlet *outlet, int64_t begin_ns, int status)
{
    outlet->write_ns += rkc_clock_monotonic_ns() - begin_ns;
    outlet->status = status;
}

void rkc_outlet_fail(struct rkc_outlet *outlet, int status)
{
    if (outlet->status == 0)
        rkc_log(RKC_LOG_WARNING, "cannot reduce the profile: %s", rkc_strerror(status));
    outlet->status = status;
}

static unsigned n_row_metrics(const struct rkc_rank_rows *rows)
{
    return (unsigned)__builtin_popcount(rows->row_metrics);
}

/* Fill this rank's row, and its values unless there is no room for them. */
static void fill_row(struct rkc_rank_rows *rows, int64_t *values)
{
    struct rkc_local *local = rows->local;
    rows->row = (struct rkc_row_message){.present = local != NULL};
    if (!local)
        return;
    rows->row.row = rkc_local_rank(local);
    uint32_t open = local->row.open_path;
    rows->row.row.open_path = open < local->paths.n_paths ? rows->map[open] : RKC_NO_PATH;
    if (values)
        rkc_local_row(local, rows->map, rows->row_metrics, rows->n_paths, rows->n_paths, values);
}

static size_t n_values(const struct rkc_rank_rows *rows)
{
    return (size_t)n_row_metrics(rows) * rows->n_paths;
}

int rkc_rank_rows_send(struct rkc_rank_rows *rows)
{
    const struct rkc_link *link = rows->link;
    struct rkc_pending pending[3];
    int status = rkc_link_receive(link, &rows->go, sizeof rows->go, 0, TAG_GO, &pending[0]);
    if (status == 0)
        status = rkc_link_wait(link, &pending[0]);
    if (status != 0 || !rows->go)
        return status;

    size_t bytes = n_values(rows) * sizeof *rows->values;
    rows->values = rows->local && bytes > 0 ? malloc(bytes) : NULL;
    fill_row(rows, rows->values);
    status = rkc_link_send(link, &rows->row, sizeof rows->row, 0, TAG_ROW, &pending[0]);
    if (status == 0)
        status = rkc_link_send(link, rows->values, rows->values ? (int)bytes : 0, 0, TAG_VALUES,
                               &pending[1]);
    int has_devices = rows->row.row.n_devices > 0;
    if (status == 0 && has_devices)
        status = rkc_devices_send(link, rows->local, TAG_DEVICES, &pending[2]);
    if (status == 0 && rows->row.row.n_peers > 0)
        status = rkc_peers_send(link, rows->local, TAG_PEERS, &rows->peers_out);
    for (int i = 0; i < 2 + has_devices && status == 0; i++)
        status = rkc_link_wait(link, &pending[i]);
    return status != 0 ? status : rkc_packet_settle(link, &rows->peers_out);
}

static void add_missing(struct rkc_rank_rows *rows, struct rkc_outlet *outlet, int32_t rank)
{
    struct rkc_rank_range *last = rows->missing ? &rows->missing[rows->n_missing - 1] : NULL;
    if (last && last->last == rank - 1) {
        last->last = rank;
        return;
    }
    if (rows->n_missing == rows->cap_missing) {
        uint32_t capacity = rows->cap_missing ? 2 * rows->cap_missing : 16;
        struct rkc_rank_range *grown = realloc(rows->missing, capacity * sizeof *grown);
        if (!grown) {
            rkc_outlet_fail(outlet, RKC_ENOMEM);
            return;
        }
        rows->missing = grown;
        rows->cap_missing = capacity;
    }
    rows->missing[rows->n_missing++] = (struct rkc_rank_range){rank, rank};
}

/* Receive the rows of the ranks first .. first + n - 1, but for our own. */
static int receive_rows(struct rkc_rank_rows *rows, int first, int n)
{
    const struct rkc_link *link = rows->link;
    int k = 0, status = 0;
    rows->go = 1;
    for (int i = first == 0; i < n && status == 0; i++) {
        status = rkc_link_receive(link, &rows->rows[i], sizeof rows->rows[i], first + i, TAG_ROW,
                                  &rows->pending[k++]);
        if (status == 0)
            status = rkc_link_receive(link, rows->arrived + (size_t)i * n_values(rows),
                                      (int)(n_values(rows) * sizeof *rows->arrived), first + i,
                                      TAG_VALUES, &rows->pending[k++]);
        if (status == 0)
            status = rkc_link_send(link, &rows->go, sizeof rows->go, first + i, TAG_GO,
                                   &rows->pending[k++]);
    }
    for (int i = 0; i < k && status == 0; i++)
        status = rkc_link_wait(link, &rows->pending[i]);
    return status;
}

/* Of the block that begins with rank `first`, take what belongs to the ranks from begin on, as far
 * as it may be held at once; *end gets where it stopped. */
static int take_lists(struct rkc_rank_rows *rows, int first, int begin, int n, int *end)
{
    const struct rkc_link *link = rows->link;
    int i = begin, status = 0;
    rows->devices.n = rows->peers.n = 0;
    for (; i < n && status == 0 && rows->peers.n < PEERS_AT_ONCE; i++) {
        struct rkc_rank_row *row = &rows->rows[i].row;
        status = rkc_devices_take(&rows->devices, link, first + i, TAG_DEVICES, rows->local, row);
        if (status == 0)
            status = rkc_peers_take(&rows->peers, link, first + i, TAG_PEERS, rows->local, row);
    }
    *end = i;
    return status;
}

/* From rank by rank to metric by metric, without the ranks that have nothing. */
static struct rkc_rows sort_rows(struct rkc_rank_rows *rows, struct rkc_outlet *outlet, int first,
                                 int begin, int end)
{
    struct rkc_rows block = {.n_paths = rows->n_paths,
                             .ranks = rows->ranks,
                             .values = rows->values,
                             .devices = rows->devices.devices,
                             .peers = rows->peers.peers};
    for (int i = begin; i < end; i++) {
        if (rows->rows[i].present)
            rows->ranks[block.n_ranks++] = rows->rows[i].row;
        else
            add_missing(rows, outlet, first + i);
    }
    int64_t *to = rows->values;
    for (size_t metric = 0; metric < n_row_metrics(rows); metric++)
        for (int i = begin; i < end; i++) {
            if (!rows->rows[i].present)
                continue;
            memcpy(to, rows->arrived + (size_t)i * n_values(rows) + metric * rows->n_paths,
                   rows->n_paths * sizeof *to);
            to += rows->n_paths;
        }
    return block;
}

static void write_part(struct rkc_rank_rows *rows, struct rkc_outlet *outlet, int first, int begin,
                       int end)
{
    struct rkc_rows block = sort_rows(rows, outlet, first, begin, end);
    if (block.n_ranks == 0 || outlet->status != 0)
        return;
    int64_t begin_ns = rkc_clock_monotonic_ns();
    rkc_outlet_did(outlet, begin_ns, outlet->sink->ops->rows(outlet->sink, &block));
}

static int gather_block(struct rkc_rank_rows *rows, struct rkc_outlet *outlet, int first, int n)
{
    memset(rows->arrived, 0xff, (size_t)n * n_values(rows) * sizeof *rows->arrived); /* absent */
    if (first == 0) {
        fill_row(rows, rows->arrived);
        rows->rows[0] = rows->row;
    }
    int status = receive_rows(rows, first, n), end;
    for (int begin = 0; begin < n && status == 0; begin = end) {
        status = take_lists(rows, first, begin, n, &end);
        if (rows->devices.failed || rows->peers.failed)
            rkc_outlet_fail(outlet, RKC_ENOMEM);
        if (status == 0)
            write_part(rows, outlet, first, begin, end);
    }
    return status;
}

/* Tell the ranks from `first` on that their rows are not wanted. */
static int decline_rows(struct rkc_rank_rows *rows, int first)
{
    int status = 0;
    rows->go = 0;
    for (int rank = first > 0 ? first : 1; rank < rows->link->size && status == 0; rank++) {
        struct rkc_pending pending;
        status = rkc_link_send(rows->link, &rows->go, sizeof rows->go, rank, TAG_GO, &pending);
        if (status == 0)
            status = rkc_link_wait(rows->link, &pending);
    }
    return status;
}

int rkc_rank_rows_gather(struct rkc_rank_rows *rows, struct rkc_outlet *outlet)
{
    size_t rank_bytes = n_values(rows) * sizeof *rows->values;
    size_t fit = rank_bytes > 0 ? BLOCK_BYTES / rank_bytes : BLOCK_RANKS;
    int size = rows->link->size;
    int step = fit > BLOCK_RANKS ? BLOCK_RANKS : fit < 1 ? 1 : (int)fit;
    size_t n = (size_t)(step > size ? size : step);
    rows->values = malloc(n * rank_bytes + 1);
    rows->rows = calloc(n, sizeof *rows->rows);
    rows->arrived = malloc(n * rank_bytes + 1);
    rows->ranks = calloc(n, sizeof *rows->ranks);
    rows->pending = calloc(3 * n, sizeof *rows->pending);
    if (!rows->values || !rows->rows || !rows->arrived || !rows->ranks || !rows->pending)
        rkc_outlet_fail(outlet, RKC_ENOMEM);

    int status = 0, first = 0;
    for (; first < size && status == 0 && outlet->status == 0; first += step)
        status = gather_block(rows, outlet, first, size - first < step ? size - first : step);
    return status != 0 ? status : decline_rows(rows, first);
}

void rkc_rank_rows_free(struct rkc_rank_rows *rows)
{
    free(rows->values);
    free(rows->rows);
    free(rows->arrived);
    free(rows->ranks);
    free(rows->pending);
    free(rows->devices.devices);
    rkc_peers_free(&rows->peers);
    free(rows->missing);
}
