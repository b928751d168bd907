/* reduce.c - call paths up the tree, their numbering down, numbers up, rows straight to rank 0,
 * the outcome down. A rank that fails for want of memory goes on with empty packets, so that
 * nobody waits for it; after a deadline nothing is freed, for MPI may still use it. */
#include "autoconf.h"

#include "reduce.h"

#include <stdlib.h>
#include <string.h>

#include <rankclock/status.h>

#include "clock.h"
#include "devices.h"
#include "finish.h"
#include "log.h"

enum {
    WINDOW = RKC_NUMBERS_WINDOW, /* call paths whose numbers travel at once */
    ROWS_BYTES = 1 << 18, /* of per-rank values gathered at once */
    ROWS_RANKS = 256,     /* ranks asked for them at once */
};

enum tag {
    TAG_PATHS = 1, TAG_NUMBERING, TAG_NUMBERS, TAG_GO, TAG_ROW, TAG_VALUES, TAG_DEVICES, TAG_OUTCOME
};

struct row_message {
    int32_t present, zero;
    struct rkc_rank_row row;
};

struct reduction {
    struct rkc_link link;
    struct rkc_local *local; /* NULL: this rank takes part with nothing */
    uint32_t *map;           /* number of each of its call paths */
    uint32_t n_paths, row_metrics;
    int folded, stop;

    struct rkc_profile merged;
    struct rkc_finish_sums sums;
    struct rkc_numbers window;
    struct rkc_outgoing out[2];
    struct rkc_incoming in;
    struct row_message row;
    int64_t *values; /* of one rank, or of a block of ranks */
    int32_t go;

    /* Rank 0 alone. */
    struct rkc_sink *sink;
    int sink_status; /* once it is not 0 the sink is left alone */
    int64_t write_ns;
    struct block {
        struct row_message *rows;
        int64_t *values; /* as they come, rank by rank */
        struct rkc_rank_row *ranks;
        struct rkc_pending *pending;
        struct rkc_device_list devices;
    } block;
    struct rkc_rank_range *missing;
    uint32_t n_missing, cap_missing;
};

static int has_children(const struct reduction *red)
{
    return rkc_link_child(&red->link, 0) >= 0;
}

/* ---- the sink ---- */

/* Note what a function of the sink gave back, and how long it took. */
static void sink_did(struct reduction *red, int64_t begin_ns, int status)
{
    red->write_ns += rkc_clock_monotonic_ns() - begin_ns;
    red->sink_status = status;
}

static void fail_sink(struct reduction *red, int status)
{
    if (red->sink_status == 0)
        rkc_log(RKC_LOG_WARNING, "cannot reduce the profile: %s", rkc_strerror(status));
    red->sink_status = status;
}

/* ---- first pass: call paths ---- */

static int merge_child_paths(struct reduction *red)
{
    struct rkc_finish_sums sums = red->in.head.sums;
    rkc_finish_sums_add(&red->sums, &sums);
    if (red->in.head.bytes == 0)
        return 0;
    struct rkc_profile theirs;
    struct rkc_cursor cursor = rkc_packet_body(&red->in);
    int status = rkc_profile_unpack(&theirs, &cursor);
    if (status == 0)
        status = rkc_profile_merge(&red->merged, &theirs, NULL);
    rkc_profile_free(&theirs);
    return status;
}

/* Merge the subtree's call paths into red->merged. A merge that fails is no harm beyond the
 * paths it lacks: whose they are will not find them in the numbering. */
static int merge_subtree(struct reduction *red)
{
    rkc_profile_init(&red->merged, 0);
    if (red->local && rkc_profile_merge(&red->merged, &red->local->paths, red->map) != 0)
        red->local = NULL;
    for (int i = 0; rkc_link_child(&red->link, i) >= 0; i++) {
        int status =
            rkc_packet_receive(&red->link, &red->in, rkc_link_child(&red->link, i), TAG_PATHS);
        if (status != 0)
            return status;
        merge_child_paths(red);
    }
    return 0;
}

static int send_paths_up(struct reduction *red)
{
    struct rkc_outgoing *out = &red->out[0];
    if (has_children(red))
        rkc_profile_pack(&red->merged, &out->body);
    else if (red->local)
        rkc_profile_pack(&red->local->paths, &out->body);
    rkc_profile_free(&red->merged);
    out->head.sums = red->sums;
    rkc_packet_seal(out);
    return rkc_packet_post(&red->link, out, rkc_link_parent(&red->link), TAG_PATHS);
}

/* What rank 0 knows after the first pass, to all. */
static int start_numbering(struct reduction *red, int rows, struct rkc_job *job)
{
    struct rkc_outgoing *out = &red->out[0];
    if (red->sink_status == 0 && red->merged.n_paths == 0)
        fail_sink(red, RKC_ENOMEM);
    if (red->sink_status == 0) {
        int status = rkc_finish_job(job, &red->sums, rows, red->link.size, red->merged.n_paths);
        uint32_t n_notes = red->merged.n_notes;
        red->merged.n_notes = 0;
        rkc_profile_pack(&red->merged, &out->body);
        red->merged.n_notes = n_notes;
        if (status != 0 || out->body.failed)
            fail_sink(red, RKC_ENOMEM);
    }
    rkc_packet_seal(out);
    red->n_paths = red->merged.n_paths;
    red->row_metrics = job->row_metrics;
    red->folded = red->merged.paths_folded > 0;
    out->head.n_paths = red->n_paths;
    out->head.row_metrics = red->row_metrics;
    out->head.folded = red->folded;
    red->stop = out->head.stop = red->sink_status;
    return rkc_packet_post_down(&red->link, out, TAG_NUMBERING);
}

static void start_sink(struct reduction *red, const struct rkc_job *job)
{
    if (red->sink_status != 0)
        return;
    int64_t begin_ns = rkc_clock_monotonic_ns();
    int status = red->sink->ops->job(red->sink, job);
    if (status == 0)
        status = red->sink->ops->profile(red->sink, &red->merged);
    sink_did(red, begin_ns, status);
    rkc_profile_free(&red->merged);
}

/* Find this rank's call paths in the numbering; a rank that misses one has nothing to add. */
static void find_numbers(struct reduction *red)
{
    struct rkc_profile common;
    struct rkc_cursor cursor = rkc_packet_body(&red->in);
    if (!red->local || red->in.head.bytes == 0 || rkc_profile_unpack(&common, &cursor) != 0) {
        red->local = NULL;
        return;
    }
    uint32_t n_paths = common.n_paths;
    if (rkc_profile_merge(&common, &red->local->paths, red->map) != 0 || common.n_paths != n_paths)
        red->local = NULL;
    rkc_profile_free(&common);
}

/* Take the numbering from the parent and pass it on as it came. */
static int take_numbering(struct reduction *red)
{
    struct rkc_outgoing *out = &red->out[1];
    int status =
        rkc_packet_receive(&red->link, &red->in, rkc_link_parent(&red->link), TAG_NUMBERING);
    if (status != 0)
        return status;
    out->head = red->in.head;
    out->body = (struct rkc_buffer){
        .data = red->in.body, .size = red->in.head.bytes, .capacity = red->in.head.bytes};
    status = rkc_packet_post_down(&red->link, out, TAG_NUMBERING);
    if (status != 0)
        return status;
    red->n_paths = out->head.n_paths;
    red->row_metrics = out->head.row_metrics;
    red->folded = out->head.folded;
    red->stop = out->head.stop;
    find_numbers(red);
    red->in.body = NULL; /* the outgoing packet's now */
    return rkc_packet_settle(&red->link, out);
}

/* ---- second pass: numbers ---- */

/* Begin a window with this rank's own numbers. */
static int begin_window(struct reduction *red, uint32_t first, uint32_t n)
{
    struct rkc_numbers *window = &red->window;
    if (!window->stats) {
        int status = rkc_numbers_init(window, first, n);
        if (status != 0)
            return status;
    } else {
        memset(window->stats, 0, (size_t)n * RKC_METRICS * sizeof *window->stats);
        memset(window->hist, 0, n * sizeof *window->hist);
    }
    window->first = first;
    window->n = n;
    if (red->local)
        rkc_local_add(red->local, red->map, window);
    return 0;
}

/* Make the window of this rank and its children. *status says whether it is right. */
static int merge_window(struct reduction *red, uint32_t first, uint32_t n, int *status)
{
    *status = begin_window(red, first, n);
    for (int i = 0; rkc_link_child(&red->link, i) >= 0; i++) {
        int error =
            rkc_packet_receive(&red->link, &red->in, rkc_link_child(&red->link, i), TAG_NUMBERS);
        if (error != 0)
            return error;
        struct rkc_cursor cursor = rkc_packet_body(&red->in);
        if (*status == 0)
            *status = red->in.head.status;
        if (*status == 0 && red->in.head.bytes > 0)
            *status = rkc_numbers_merge_packed(&red->window, &cursor);
    }
    return 0;
}

static int send_window(struct reduction *red, struct rkc_outgoing *out, uint32_t first, uint32_t n)
{
    int error = rkc_packet_renew(&red->link, out);
    if (error != 0)
        return error;
    /* Call paths that share a number have to be added up first. */
    if (has_children(red) || red->folded) {
        error = merge_window(red, first, n, &out->head.status);
        if (error != 0)
            return error;
        if (out->head.status == 0)
            rkc_numbers_pack(&red->window, &out->body);
    } else if (red->local) {
        if (rkc_local_pack(red->local, red->map, first, n, &out->body) != 0)
            out->body.failed = 1;
    }
    rkc_packet_seal(out);
    return rkc_packet_post(&red->link, out, rkc_link_parent(&red->link), TAG_NUMBERS);
}

static int write_window(struct reduction *red, uint32_t first, uint32_t n)
{
    int status;
    int error = merge_window(red, first, n, &status);
    if (error != 0)
        return error;
    if (status != 0)
        fail_sink(red, status);
    if (red->sink_status == 0) {
        int64_t begin_ns = rkc_clock_monotonic_ns();
        sink_did(red, begin_ns, red->sink->ops->numbers(red->sink, &red->window));
    }
    return 0;
}

static int reduce_numbers(struct reduction *red)
{
    int turn = 0, status = 0;
    for (uint32_t first = 0; first < red->n_paths && status == 0; first += WINDOW) {
        uint32_t n = red->n_paths - first < WINDOW ? red->n_paths - first : WINDOW;
        status = red->link.rank == 0 ? write_window(red, first, n)
                                     : send_window(red, &red->out[turn++ % 2], first, n);
    }
    for (int i = 0; i < 2 && status == 0; i++)
        status = rkc_packet_renew(&red->link, &red->out[i]);
    rkc_numbers_free(&red->window);
    return status;
}

/* ---- rows: one for each rank, in blocks ---- */

static unsigned n_row_metrics(const struct reduction *red)
{
    return (unsigned)__builtin_popcount(red->row_metrics);
}

/* Fill this rank's row, and its values unless there is no room for them. */
static void fill_row(struct reduction *red, int64_t *values)
{
    red->row = (struct row_message){.present = red->local != NULL};
    if (!red->local)
        return;
    red->row.row = red->local->row;
    uint32_t open = red->local->row.open_path;
    red->row.row.open_path = open < red->local->paths.n_paths ? red->map[open] : RKC_NO_PATH;
    if (values)
        rkc_local_row(red->local, red->map, red->row_metrics, red->n_paths, red->n_paths, values);
}

static size_t n_values(const struct reduction *red)
{
    return (size_t)n_row_metrics(red) * red->n_paths;
}

/* When rank 0 asks for it, send the row. Without memory the values stay out of it. */
static int send_row(struct reduction *red)
{
    const struct rkc_link *link = &red->link;
    struct rkc_pending pending[3];
    int status = rkc_link_receive(link, &red->go, sizeof red->go, 0, TAG_GO, &pending[0]);
    if (status == 0)
        status = rkc_link_wait(link, &pending[0]);
    if (status != 0 || !red->go)
        return status;

    size_t bytes = n_values(red) * sizeof *red->values;
    red->values = red->local && bytes > 0 ? malloc(bytes) : NULL;
    fill_row(red, red->values);
    status = rkc_link_send(link, &red->row, sizeof red->row, 0, TAG_ROW, &pending[0]);
    if (status == 0)
        status = rkc_link_send(link, red->values, red->values ? (int)bytes : 0, 0, TAG_VALUES,
                               &pending[1]);
    int has_devices = red->row.row.n_devices > 0;
    if (status == 0 && has_devices)
        status = rkc_devices_send(link, red->local, TAG_DEVICES, &pending[2]);
    for (int i = 0; i < 2 + has_devices && status == 0; i++)
        status = rkc_link_wait(link, &pending[i]);
    return status;
}

static void add_missing(struct reduction *red, int32_t rank)
{
    struct rkc_rank_range *last = red->missing ? &red->missing[red->n_missing - 1] : NULL;
    if (last && last->last == rank - 1) {
        last->last = rank;
        return;
    }
    if (red->n_missing == red->cap_missing) {
        uint32_t capacity = red->cap_missing ? 2 * red->cap_missing : 16;
        struct rkc_rank_range *grown = realloc(red->missing, capacity * sizeof *grown);
        if (!grown) {
            fail_sink(red, RKC_ENOMEM);
            return;
        }
        red->missing = grown;
        red->cap_missing = capacity;
    }
    red->missing[red->n_missing++] = (struct rkc_rank_range){rank, rank};
}

/* Receive the rows of the ranks first .. first + n - 1, but for our own. */
static int receive_rows(struct reduction *red, int first, int n)
{
    const struct rkc_link *link = &red->link;
    struct block *block = &red->block;
    int k = 0, status = 0;
    red->go = 1;
    for (int i = first == 0; i < n && status == 0; i++) {
        status = rkc_link_receive(link, &block->rows[i], sizeof block->rows[i], first + i, TAG_ROW,
                                  &block->pending[k++]);
        if (status == 0)
            status = rkc_link_receive(link, block->values + (size_t)i * n_values(red),
                                      (int)(n_values(red) * sizeof *block->values), first + i,
                                      TAG_VALUES, &block->pending[k++]);
        if (status == 0)
            status = rkc_link_send(link, &red->go, sizeof red->go, first + i, TAG_GO,
                                   &block->pending[k++]);
    }
    for (int i = 0; i < k && status == 0; i++)
        status = rkc_link_wait(link, &block->pending[i]);
    block->devices.n = 0;
    for (int i = 0; i < n && status == 0; i++)
        status = rkc_devices_take(&block->devices, link, first + i, TAG_DEVICES, red->local,
                                  &block->rows[i].row);
    if (block->devices.failed)
        fail_sink(red, RKC_ENOMEM);
    return status;
}

/* From rank by rank to metric by metric, without the ranks that have nothing. */
static struct rkc_rows sort_rows(struct reduction *red, int first, int n)
{
    struct block *block = &red->block;
    struct rkc_rows rows = {.n_paths = red->n_paths,
                            .ranks = block->ranks,
                            .values = red->values,
                            .devices = block->devices.devices};
    for (int i = 0; i < n; i++) {
        if (block->rows[i].present)
            block->ranks[rows.n_ranks++] = block->rows[i].row;
        else
            add_missing(red, first + i);
    }
    int64_t *to = red->values;
    for (size_t metric = 0; metric < n_row_metrics(red); metric++)
        for (int i = 0; i < n; i++) {
            if (!block->rows[i].present)
                continue;
            memcpy(to, block->values + (size_t)i * n_values(red) + metric * red->n_paths,
                   red->n_paths * sizeof *to);
            to += red->n_paths;
        }
    return rows;
}

static int gather_block(struct reduction *red, int first, int n)
{
    struct block *block = &red->block;
    memset(block->values, 0xff, (size_t)n * n_values(red) * sizeof *block->values); /* absent */
    if (first == 0) {
        fill_row(red, block->values);
        block->rows[0] = red->row;
    }
    int status = receive_rows(red, first, n);
    if (status != 0)
        return status;
    struct rkc_rows rows = sort_rows(red, first, n);
    if (rows.n_ranks > 0 && red->sink_status == 0) {
        int64_t begin_ns = rkc_clock_monotonic_ns();
        sink_did(red, begin_ns, red->sink->ops->rows(red->sink, &rows));
    }
    return 0;
}

/* Tell the ranks from `first` on that their rows are not wanted. */
static int decline_rows(struct reduction *red, int first)
{
    int status = 0;
    red->go = 0;
    for (int rank = first > 0 ? first : 1; rank < red->link.size && status == 0; rank++) {
        struct rkc_pending pending;
        status = rkc_link_send(&red->link, &red->go, sizeof red->go, rank, TAG_GO, &pending);
        if (status == 0)
            status = rkc_link_wait(&red->link, &pending);
    }
    return status;
}

static int gather_rows(struct reduction *red)
{
    struct block *block = &red->block;
    size_t rank_bytes = n_values(red) * sizeof *red->values;
    size_t fit = rank_bytes > 0 ? ROWS_BYTES / rank_bytes : ROWS_RANKS;
    int size = red->link.size;
    int step = fit > ROWS_RANKS ? ROWS_RANKS : fit < 1 ? 1 : (int)fit;
    size_t n = (size_t)(step > size ? size : step);
    red->values = malloc(n * rank_bytes + 1);
    block->rows = calloc(n, sizeof *block->rows);
    block->values = malloc(n * rank_bytes + 1);
    block->ranks = calloc(n, sizeof *block->ranks);
    block->pending = calloc(3 * n, sizeof *block->pending);
    if (!red->values || !block->rows || !block->values || !block->ranks || !block->pending)
        fail_sink(red, RKC_ENOMEM);

    int status = 0, first = 0;
    for (; first < size && status == 0 && red->sink_status == 0; first += step)
        status = gather_block(red, first, size - first < step ? size - first : step);
    return status != 0 ? status : decline_rows(red, first);
}

/* ---- the end ---- */

static void finish_sink(struct reduction *red, char text[RKC_SINK_TEXT_MAX])
{
    if (red->sink_status != 0)
        return;
    int64_t begin_ns = rkc_clock_monotonic_ns();
    enum rkc_file_status status = red->n_missing > 0 ? RKC_FILE_PARTIAL : RKC_FILE_COMPLETE;
    sink_did(red, begin_ns,
             red->sink->ops->finish(red->sink, status, red->missing, red->n_missing, text));
}

/* How it went, from rank 0 to all. */
static int tell_outcome(struct reduction *red)
{
    struct rkc_outgoing *out = &red->out[0];
    int status = rkc_packet_renew(&red->link, out);
    if (status == 0 && red->link.rank != 0)
        status = rkc_packet_receive(&red->link, &red->in, rkc_link_parent(&red->link), TAG_OUTCOME);
    if (status != 0)
        return status;
    out->head.status = red->link.rank == 0 ? red->sink_status : red->in.head.status;
    status = rkc_packet_post_down(&red->link, out, TAG_OUTCOME);
    if (status == 0)
        status = rkc_packet_settle(&red->link, out);
    return status != 0 ? status : out->head.status;
}

static int reduce_at_root(struct reduction *red, int rows, char text[RKC_SINK_TEXT_MAX])
{
    struct rkc_job none;
    rkc_job_init(&none);
    struct rkc_job *job = red->local ? &red->local->job : &none;
    int status = merge_subtree(red);
    if (status == 0)
        status = start_numbering(red, rows, job);
    if (status == 0 && !red->stop)
        start_sink(red, job);
    rkc_job_free(&none);
    if (status == 0)
        status = rkc_packet_settle(&red->link, &red->out[0]);
    if (status != 0 || red->stop)
        return status != 0 ? status : red->stop;

    status = reduce_numbers(red);
    if (status == 0)
        status = gather_rows(red);
    if (status != 0)
        return status;
    finish_sink(red, text);
    return tell_outcome(red);
}

static int reduce_below(struct reduction *red)
{
    int status = has_children(red) ? merge_subtree(red) : 0;
    if (status == 0)
        status = send_paths_up(red);
    if (status == 0)
        status = take_numbering(red);
    if (status == 0)
        status = rkc_packet_settle(&red->link, &red->out[0]);
    if (status != 0 || red->stop)
        return status != 0 ? status : red->stop;

    status = reduce_numbers(red);
    if (status == 0)
        status = send_row(red);
    if (status != 0)
        return status;
    return tell_outcome(red);
}

static void free_reduction(struct reduction *red)
{
    for (int i = 0; i < 2; i++)
        rkc_buffer_free(&red->out[i].body);
    rkc_profile_free(&red->merged);
    rkc_numbers_free(&red->window);
    free(red->in.body);
    free(red->map);
    free(red->values);
    free(red->block.rows);
    free(red->block.values);
    free(red->block.ranks);
    free(red->block.pending);
    free(red->block.devices.devices);
    free(red->missing);
}

int rkc_reduce(const struct rkc_link *link, struct rkc_local *local, int rows,
               struct rkc_sink *sink, char text[RKC_SINK_TEXT_MAX], int64_t *write_ns)
{
    /* It must not fail, and pending operations may refer to it for good. */
    static struct reduction reduction;
    struct reduction *red = &reduction;
    *red = (struct reduction){.link = *link, .local = local};
    if (local) {
        red->sums = rkc_finish_sums_of(&local->row, local->metrics);
        red->map = malloc((local->paths.n_paths + 1) * sizeof *red->map);
    }
    if (!red->map)
        red->local = NULL;
    if (link->rank == 0) {
        red->sink = sink;
        red->sink_status = sink ? 0 : RKC_EWRITER;
    }

    int status = link->rank == 0 ? reduce_at_root(red, rows, text) : reduce_below(red);
    if (link->rank == 0)
        *write_ns = red->write_ns;
    if (status == RKC_ETIMEOUT || status == RKC_EMPI)
        return status;
    if (status == 0 && !red->local)
        status = RKC_ENOMEM;
    free_reduction(red);
    return status;
}
