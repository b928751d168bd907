/* reduce.c - call paths up the tree, their numbering down, numbers up, rows straight to rank 0,
 * the outcome down. A rank that fails for want of memory goes on with empty packets, so that
 * nobody waits for it; after a deadline nothing is freed, for MPI may still use it. */
#include "autoconf.h"

#include "reduce.h"

#include <stdlib.h>
#include <string.h>

#include <rankclock/status.h>

#include "clock.h"
#include "finish.h"
#include "rank_rows.h"

enum { WINDOW = RKC_NUMBERS_WINDOW }; /* call paths whose numbers travel at once */

/* Those of rows are beyond. */
enum tag { TAG_PATHS = 1, TAG_NUMBERING, TAG_NUMBERS, TAG_OUTCOME };

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
    struct rkc_rank_rows rows;
    struct rkc_outlet outlet; /* rank 0 alone */
};

static int has_children(const struct reduction *red)
{
    return rkc_link_child(&red->link, 0) >= 0;
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
    if (red->outlet.status == 0 && red->merged.n_paths == 0)
        rkc_outlet_fail(&red->outlet, RKC_ENOMEM);
    if (red->outlet.status == 0) {
        int status = rkc_finish_job(job, &red->sums, rows, red->link.size, red->merged.n_paths);
        struct rkc_profile bare = rkc_profile_bare(&red->merged);
        rkc_profile_pack(&bare, &out->body);
        if (status != 0 || out->body.failed)
            rkc_outlet_fail(&red->outlet, RKC_ENOMEM);
    }
    rkc_packet_seal(out);
    red->n_paths = red->merged.n_paths;
    red->row_metrics = job->row_metrics;
    red->folded = red->merged.paths_folded > 0;
    out->head.n_paths = red->n_paths;
    out->head.row_metrics = red->row_metrics;
    out->head.folded = red->folded;
    red->stop = out->head.stop = red->outlet.status;
    return rkc_packet_post_down(&red->link, out, TAG_NUMBERING);
}

static void start_sink(struct reduction *red, const struct rkc_job *job)
{
    if (red->outlet.status != 0)
        return;
    int64_t begin_ns = rkc_clock_monotonic_ns();
    struct rkc_sink *sink = red->outlet.sink;
    int status = sink->ops->job(sink, job);
    if (status == 0)
        status = sink->ops->profile(sink, &red->merged);
    rkc_outlet_did(&red->outlet, begin_ns, status);
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
    struct rkc_profile bare = rkc_profile_bare(&red->local->paths);
    if (rkc_profile_merge(&common, &bare, red->map) != 0 || common.n_paths != n_paths)
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
        rkc_outlet_fail(&red->outlet, status);
    struct rkc_outlet *outlet = &red->outlet;
    if (outlet->status == 0) {
        int64_t begin_ns = rkc_clock_monotonic_ns();
        rkc_outlet_did(outlet, begin_ns, outlet->sink->ops->numbers(outlet->sink, &red->window));
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

/* ---- rows ---- */

static struct rkc_rank_rows *begin_rows(struct reduction *red)
{
    red->rows = (struct rkc_rank_rows){.link = &red->link,
                                       .local = red->local,
                                       .map = red->map,
                                       .n_paths = red->n_paths,
                                       .row_metrics = red->row_metrics};
    return &red->rows;
}

/* ---- the end ---- */

static void finish_sink(struct reduction *red, char text[RKC_SINK_TEXT_MAX])
{
    struct rkc_outlet *outlet = &red->outlet;
    uint32_t n_missing = red->rows.n_missing;
    if (outlet->status != 0)
        return;
    int64_t begin_ns = rkc_clock_monotonic_ns();
    enum rkc_file_status status = n_missing > 0 ? RKC_FILE_PARTIAL : RKC_FILE_COMPLETE;
    rkc_outlet_did(outlet, begin_ns,
                   outlet->sink->ops->finish(outlet->sink, status, red->rows.missing, n_missing,
                                             text));
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
    out->head.status = red->link.rank == 0 ? red->outlet.status : red->in.head.status;
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
        status = rkc_rank_rows_gather(begin_rows(red), &red->outlet);
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
        status = rkc_rank_rows_send(begin_rows(red));
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
    rkc_rank_rows_free(&red->rows);
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
        red->outlet.sink = sink;
        red->outlet.status = sink ? 0 : RKC_EWRITER;
    }

    int status = link->rank == 0 ? reduce_at_root(red, rows, text) : reduce_below(red);
    if (link->rank == 0)
        *write_ns = red->outlet.write_ns;
    if (status == RKC_ETIMEOUT || status == RKC_EMPI)
        return status;
    if (status == 0 && !red->local)
        status = RKC_ENOMEM;
    free_reduction(red);
    return status;
}
