/* recover.c - the images of a world that ended early become one file.
 *
 * Each image is read three times, one at a time: for the call paths, for the numbers, for
 * the row of its rank. So the memory needed grows with the call paths, not with the ranks. Those of
 * processes that are running are read once and kept: the next reading would be another one, or find
 * the file gone. One that changes all the same is left out, and all begins anew.
 */
#include "autoconf.h"

#include "recover.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rankclock/status.h>

#include "collect.h"
#include "config.h"
#include "finish.h"
#include "sink/hdf5.h"
#include "tools.h"

enum { ROWS_AT_ONCE = 64, BYTES_AT_ONCE = 64 << 20, PEERS_AT_ONCE = 65536, DEFAULT_MODE = 0600 };

struct image_file {
    const char *path;
    int32_t rank; /* -1 while it is not known */
    int32_t size;
    int64_t until_ticks;
    int64_t begun_unix_ns; /* with the next, whose it is */
    int32_t pid;
    struct rkc_view kept; /* of a running process */
    int changed;
};

struct recovery {
    struct image_file *files;
    size_t n_files;
    size_t refused;
    struct rkc_profile profile; /* call paths, notes, ranks */
    uint32_t n_paths;           /* after the first pass */
    struct rkc_job job;
    struct rkc_finish_sums sums;
    int32_t size; /* of the world; 0: no image knows it */
    size_t finalized, aborted, running;
    struct rkc_sink *sink;
};

/* By rank, those that do not know theirs last; of several of a rank that which was written to
 * longest first. */
static int by_rank(const void *a, const void *b)
{
    const struct image_file *x = a, *y = b;
    if ((x->rank < 0) != (y->rank < 0))
        return x->rank < 0 ? 1 : -1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->until_ticks != y->until_ticks)
        return x->until_ticks > y->until_ticks ? -1 : 1;
    return strcmp(x->path, y->path);
}

/* ---- one image ---- */

/* Read and collect one image. 0, RKC_ENOMEM, or another status after a message. */
static int read_image(const struct image_file *file, struct rkc_view *view, struct rkc_local *local)
{
    char text[RKC_SINK_TEXT_MAX] = "";
    int status = 0;
    if (file->kept.base)
        *view = file->kept;
    else
        status = rkc_view_open(view, file->path, text, sizeof text);
    if (status) {
        rkc_tool_error("%s", text);
        return status;
    }
    status = rkc_local_collect(local, view, file->rank);
    if (status == RKC_EFORMAT)
        rkc_tool_error("%s is damaged: no call path in it can be read", file->path);
    if (status && !file->kept.base)
        rkc_view_close(view);
    return status;
}

static void forget_image(const struct image_file *file, struct rkc_view *view,
                         struct rkc_local *local)
{
    rkc_local_free(local);
    if (!file->kept.base)
        rkc_view_close(view);
}

/* Read an image once more, with the common number of each of its call paths. 0 or RKC_ENOMEM;
 * RKC_EFORMAT where it is no longer what it was. */
static int read_again(struct recovery *r, struct image_file *file, struct rkc_view *view,
                      struct rkc_local *local, uint32_t **map)
{
    int status = read_image(file, view, local);
    if (status == 0) {
        struct rkc_profile bare = rkc_profile_bare(&local->paths);
        *map = malloc((local->paths.n_paths + 1) * sizeof **map);
        status = *map ? rkc_profile_merge(&r->profile, &bare, *map) : RKC_ENOMEM;
        for (uint32_t i = 0; status == 0 && i < local->paths.n_paths; i++)
            if ((*map)[i] >= r->n_paths)
                status = RKC_EFORMAT;
        if (status == 0 && local->row.rank != file->rank)
            status = RKC_EFORMAT;
        if (status == RKC_EFORMAT)
            rkc_tool_error("%s is left out: it changed while it was read", file->path);
        if (status) {
            free(*map);
            forget_image(file, view, local);
        }
    }
    if (status && status != RKC_ENOMEM) {
        file->changed = 1;
        return RKC_EFORMAT;
    }
    return status;
}

/* Whether a program does not survive it by its own fault; others are somebody's wish. */
static int is_fault(int signal)
{
    return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL ||
           signal == SIGABRT || signal == SIGSYS || signal == SIGTRAP;
}

static int take_facts(struct recovery *r, const struct rkc_local *local)
{
    const struct rkc_rank_row *row = &local->row;
    struct rkc_finish_sums sums = rkc_finish_sums_of(row, local->metrics);
    rkc_finish_sums_add(&r->sums, &sums);
    r->finalized += row->state == RKC_STATE_FINALIZED;
    r->aborted += row->state == RKC_STATE_ABORTED ||
                  (row->state == RKC_STATE_SIGNAL && is_fault(row->signal));
    r->running += local->view->live != 0;
    for (uint32_t i = 0; i < local->job.n_facts; i++)
        if (!rkc_job_get(&r->job, local->job.facts[i].key) &&
            rkc_job_set(&r->job, local->job.facts[i].key, local->job.facts[i].value) != 0)
            return RKC_ENOMEM;
    return 0;
}

/* ---- which images ---- */

static void leave_out(struct recovery *r, struct image_file *file)
{
    rkc_view_close(&file->kept);
    r->refused++;
}

static int is_of_same(const struct image_file *file, const struct image_file *before)
{
    return file->rank >= 0 && file->rank == before->rank;
}

/* Leave out an image of a rank that has been met. A rank that is killed when it has saved its image,
 * and not yet removed its spool file, leaves both: of these nothing is said. */
static void leave_second(struct recovery *r, struct image_file *file,
                         const struct image_file *before)
{
    if (file->pid == before->pid && file->begun_unix_ns == before->begun_unix_ns) {
        rkc_view_close(&file->kept);
        return;
    }
    rkc_tool_error("%s is left out: %s is of rank %d, too, and %s", file->path, before->path,
                   file->rank,
                   before->until_ticks > file->until_ticks ? "was written to longer"
                                                           : "comes first");
    leave_out(r, file);
}

/* The size of the world, as most images have it; of equal numbers the larger. */
static int32_t world_size(const struct recovery *r)
{
    int32_t size = 0;
    size_t most = 0;
    for (size_t i = 0; i < r->n_files; i++) {
        size_t votes = 0;
        int32_t here = r->files[i].size;
        if (here <= 0 || here == size)
            continue;
        for (size_t k = 0; k < r->n_files; k++)
            votes += r->files[k].size == here;
        if (votes > most || (votes == most && here > size)) {
            most = votes;
            size = here;
        }
    }
    return size;
}

/* Drop those that say they are of another world than most say. */
static void check_sizes(struct recovery *r)
{
    size_t kept = 0;
    r->size = world_size(r);
    for (size_t i = 0; i < r->n_files; i++) {
        struct image_file *file = &r->files[i];
        if (r->size > 0 && file->rank >= 0 && (file->rank >= r->size || file->size != r->size)) {
            rkc_tool_error("%s is left out: it says that it is rank %d of %d, most images are of "
                           "%d ranks",
                           file->path, file->rank, file->size, r->size);
            leave_out(r, file);
        } else {
            r->files[kept++] = *file;
        }
    }
    r->n_files = kept;
}

/* A process that ended in or before MPI_Init does not know its rank: it gets the lowest number that
 * no image has. */
static int32_t free_rank(const struct recovery *r)
{
    const struct rkc_rank_range *ranks = r->profile.ranks;
    return r->profile.n_ranks == 0 || ranks[0].first > 0 ? 0 : ranks[0].last + 1;
}

/* ---- three passes ---- */

/* Whether an image that meanwhile knows its rank has one that another has, or that cannot be. */
static int is_taken(const struct recovery *r, const struct image_file *file,
                    const struct rkc_local *local)
{
    int32_t rank = local->row.rank;
    int taken = r->size > 0 && rank >= r->size && rank != file->rank;
    for (uint32_t i = 0; i < r->profile.n_ranks; i++)
        taken |= rank >= r->profile.ranks[i].first && rank <= r->profile.ranks[i].last;
    if (taken)
        rkc_tool_error("%s is left out: it says that it is rank %d, %s", file->path, rank,
                       rank < r->size || r->size <= 0 ? "of which there is another image"
                                                      : "which its world does not have");
    return taken;
}

/* Add an image that could be read to the profile. */
static int add_image(struct recovery *r, struct image_file *file, const struct rkc_view *view,
                     const struct rkc_local *local)
{
    int status = take_facts(r, local);
    if (!status)
        status = rkc_profile_merge(&r->profile, &local->paths, NULL);
    file->rank = local->row.rank;
    if (!status && view->live)
        file->kept = *view;
    return status;
}

/* Number the call paths and drop the files that cannot be used. */
static int first_pass(struct recovery *r)
{
    size_t kept = 0;
    int status = 0;
    qsort(r->files, r->n_files, sizeof *r->files, by_rank);
    for (size_t i = 0; i < r->n_files; i++) {
        struct image_file file = r->files[i];
        struct rkc_view view;
        struct rkc_local local;
        if (!status && kept > 0 && is_of_same(&file, &r->files[kept - 1])) {
            leave_second(r, &file, &r->files[kept - 1]);
            continue;
        }
        if (file.rank < 0) {
            file.rank = free_rank(r);
            if (!status && r->size > 0)
                rkc_tool_error("%s does not know its rank: it counts as rank %d, of which there is "
                               "nothing else",
                               file.path, file.rank);
        }
        int bad = status ? status : read_image(&file, &view, &local);
        if (bad == RKC_ENOMEM)
            status = bad;
        if (bad) {
            leave_out(r, &file);
            continue;
        }
        if (is_taken(r, &file, &local)) {
            forget_image(&file, &view, &local);
            leave_out(r, &file);
            continue;
        }
        status = add_image(r, &file, &view, &local);
        forget_image(&file, &view, &local);
        r->files[kept++] = file;
    }
    r->n_files = kept;
    r->n_paths = r->profile.n_paths;
    qsort(r->files, kept, sizeof *r->files, by_rank);
    return status;
}

static int second_pass(struct recovery *r)
{
    struct rkc_numbers numbers;
    int status = rkc_numbers_init(&numbers, 0, r->n_paths);
    for (size_t i = 0; i < r->n_files && !status; i++) {
        struct rkc_view view;
        struct rkc_local local;
        uint32_t *map;
        status = read_again(r, &r->files[i], &view, &local, &map);
        if (status)
            break;
        rkc_local_add(&local, map, &numbers);
        free(map);
        forget_image(&r->files[i], &view, &local);
    }
    if (!status)
        status = r->sink->ops->numbers(r->sink, &numbers);
    rkc_numbers_free(&numbers);
    return status;
}

/* A block of rows on its way to the sink; values lie `room` ranks apart while it grows. */
struct block {
    struct rkc_rank_row *rows;
    int64_t *values;
    struct rkc_rank_device *devices;
    struct rkc_rank_peer *peers;
    size_t n, room, n_devices, n_peers, cap_peers;
};

static int add_peers(struct block *block, const struct rkc_local *local)
{
    size_t n = block->n_peers + local->n_peers;
    if (n > block->cap_peers) {
        struct rkc_rank_peer *bigger = realloc(block->peers, 2 * n * sizeof *bigger);
        if (!bigger)
            return RKC_ENOMEM;
        block->peers = bigger;
        block->cap_peers = 2 * n;
    }
    if (local->n_peers > 0)
        memcpy(block->peers + block->n_peers, local->peers, local->n_peers * sizeof *local->peers);
    block->n_peers = n;
    return 0;
}

/* Put one rank into a block of rows. */
static int add_row(struct recovery *r, struct image_file *file, struct block *block)
{
    struct rkc_view view;
    struct rkc_local local;
    uint32_t *map;
    int status = read_again(r, file, &view, &local, &map);
    if (status)
        return status;
    status = add_peers(block, &local);
    if (!status) {
        struct rkc_rank_row *row = &block->rows[block->n];
        *row = rkc_local_rank(&local);
        if (row->open_path != RKC_NO_PATH)
            row->open_path = map[row->open_path];
        rkc_local_row(&local, map, r->job.row_metrics, r->n_paths, block->room * r->n_paths,
                      block->values + block->n * r->n_paths);
        if (row->n_devices > 0)
            memcpy(block->devices + block->n_devices, local.devices,
                   (size_t)row->n_devices * sizeof *local.devices);
        block->n_devices += (size_t)row->n_devices;
        block->n++;
    }
    free(map);
    forget_image(file, &view, &local);
    return status;
}

/* Hand a block to the sink and begin another. */
static int send_block(struct recovery *r, struct block *block)
{
    size_t paths = r->n_paths, metrics = (size_t)__builtin_popcount(r->job.row_metrics);
    for (size_t metric = 1; metric < metrics && block->n < block->room; metric++)
        memmove(block->values + metric * block->n * paths,
                block->values + metric * block->room * paths,
                block->n * paths * sizeof *block->values);
    struct rkc_rows rows = {.n_ranks = (uint32_t)block->n,
                            .n_paths = (uint32_t)paths,
                            .ranks = block->rows,
                            .values = block->values,
                            .devices = block->devices,
                            .peers = block->peers};
    block->n = block->n_devices = block->n_peers = 0;
    return r->sink->ops->rows(r->sink, &rows);
}

/* As many as have room in BYTES_AT_ONCE, but one. */
static size_t rows_at_once(const struct recovery *r)
{
    size_t row = sizeof(int64_t) * r->n_paths * (size_t)__builtin_popcount(r->job.row_metrics);
    size_t rows = row > 0 ? BYTES_AT_ONCE / row : ROWS_AT_ONCE;
    return rows < 1 ? 1 : rows < ROWS_AT_ONCE ? rows : ROWS_AT_ONCE;
}

static int third_pass(struct recovery *r)
{
    size_t metrics = (size_t)__builtin_popcount(r->job.row_metrics), room = rows_at_once(r);
    struct block block = {.room = room,
                          .rows = calloc(room, sizeof *block.rows),
                          .values = calloc(room * (metrics * r->n_paths + 1), sizeof *block.values),
                          .devices = calloc(room * RKC_RANK_DEVICES_MAX, sizeof *block.devices)};
    int status = block.rows && block.values && block.devices ? 0 : RKC_ENOMEM;
    for (size_t i = 0; i < r->n_files && !status; i++) {
        status = add_row(r, &r->files[i], &block);
        int full = block.n == room || block.n_peers >= PEERS_AT_ONCE;
        if (!status && (full || i + 1 == r->n_files))
            status = send_block(r, &block);
    }
    free(block.rows);
    free(block.values);
    free(block.devices);
    free(block.peers);
    return status;
}

/* ---- the whole ---- */

/* The ranks between those held. The array is the caller's to free. */
static struct rkc_rank_range *missing_ranks(const struct recovery *r, uint32_t *n)
{
    struct rkc_rank_range *missing = calloc(r->profile.n_ranks + 1, sizeof *missing);
    int32_t next = 0;
    *n = 0;
    for (uint32_t i = 0; missing && i <= r->profile.n_ranks; i++) {
        int32_t until = i < r->profile.n_ranks ? r->profile.ranks[i].first : r->size;
        if (until > next)
            missing[(*n)++] = (struct rkc_rank_range){next, until - 1};
        if (i < r->profile.n_ranks)
            next = r->profile.ranks[i].last + 1;
    }
    return missing;
}

static enum rkc_file_status file_status(const struct recovery *r, uint32_t n_missing)
{
    if (r->aborted > 0)
        return RKC_FILE_ABORTED;
    return n_missing == 0 && r->finalized == r->n_files ? RKC_FILE_COMPLETE : RKC_FILE_PARTIAL;
}

/* Send all to the sink. 0, RKC_EFORMAT where an image changed, or another status. */
static int fill_file(struct recovery *r, const struct rkc_rank_range *missing, uint32_t n_missing,
                     char text[RKC_SINK_TEXT_MAX])
{
    int status = r->sink->ops->job(r->sink, &r->job);
    if (!status)
        status = r->sink->ops->profile(r->sink, &r->profile);
    if (!status)
        status = second_pass(r);
    if (!status)
        status = third_pass(r);
    if (!status)
        status = r->sink->ops->finish(r->sink, file_status(r, n_missing), missing, n_missing, text);
    return status;
}

static int any_changed(const struct recovery *r)
{
    for (size_t i = 0; i < r->n_files; i++)
        if (r->files[i].changed)
            return 1;
    return 0;
}

/* 0, or a status after a message unless an image changed. */
static int write_file(struct recovery *r, const char *output, struct rkc_recovered *recovered)
{
    char text[RKC_SINK_TEXT_MAX] = "";
    uint32_t n_missing;
    struct rkc_rank_range *missing = missing_ranks(r, &n_missing);
    int status = missing ? rkc_sink_hdf5_open(output, DEFAULT_MODE, &r->sink, text) : RKC_ENOMEM;
    if (!status)
        status = fill_file(r, missing, n_missing, text);
    if (r->sink) {
        struct rkc_sink_hdf5_report report;
        rkc_sink_hdf5_report(r->sink, &report);
        if (status && report.text[0])
            snprintf(text, sizeof text, "%s", report.text);
        if (!status && report.note[0])
            rkc_tool_error("%s", report.note);
        r->sink->ops->close(r->sink);
        r->sink = NULL;
    }
    free(missing);
    if (status) {
        if (!any_changed(r))
            rkc_tool_error("%s", text[0] ? text : rkc_strerror(status));
        return status;
    }
    text[strcspn(text, "\t\n")] = 0;
    snprintf(recovered->path, sizeof recovered->path, "%s", text);
    recovered->ranks = r->n_files;
    recovered->size = r->size;
    recovered->status = file_status(r, n_missing);
    return 0;
}

/* Once through. 0, or a status after a message unless an image changed. */
static int recover(struct recovery *r, const char *output, struct rkc_recovered *recovered)
{
    int status = first_pass(r);
    if (status) {
        rkc_tool_error("%s", rkc_strerror(status));
        return status;
    }
    if (r->n_files == 0) {
        rkc_tool_error("no image could be used: nothing is written");
        return RKC_ENOTFOUND;
    }
    int32_t ranks = r->files[r->n_files - 1].rank + 1;
    r->size = r->size > ranks ? r->size : ranks;
    status = rkc_finish_job(&r->job, &r->sums, RKC_ROWS_AUTO, r->size, r->n_paths);
    if (status) {
        rkc_tool_error("%s", rkc_strerror(status));
        return status;
    }
    return write_file(r, output, recovered);
}

static void begin(struct recovery *r)
{
    rkc_profile_init(&r->profile, 0);
    rkc_job_init(&r->job);
    r->sums = (struct rkc_finish_sums){0};
    r->finalized = r->aborted = r->running = 0;
}

static void end(struct recovery *r)
{
    size_t kept = 0;
    rkc_profile_free(&r->profile);
    rkc_job_free(&r->job);
    for (size_t i = 0; i < r->n_files; i++)
        if (r->files[i].changed)
            leave_out(r, &r->files[i]);
        else
            r->files[kept++] = r->files[i];
    r->n_files = kept;
}

int rkc_recover_world(struct rkc_recover_image *images, size_t n, const char *output,
                      struct rkc_recovered *recovered)
{
    struct recovery r = {.files = calloc(n + 1, sizeof *r.files), .n_files = n};
    *recovered = (struct rkc_recovered){.ranks = 0};
    if (!r.files) {
        rkc_tool_error("%s", rkc_strerror(RKC_ENOMEM));
        return RKC_EXIT_FAILED;
    }
    for (size_t i = 0; i < n; i++)
        r.files[i] = (struct image_file){.path = images[i].path,
                                         .rank = images[i].rank,
                                         .size = images[i].size,
                                         .until_ticks = images[i].until_ticks,
                                         .begun_unix_ns = images[i].begun_unix_ns,
                                         .pid = images[i].pid};
    check_sizes(&r);
    int status, again;
    do {
        begin(&r);
        status = recover(&r, output, recovered);
        again = any_changed(&r);
        end(&r);
    } while (again);
    for (size_t i = 0; i < r.n_files; i++)
        rkc_view_close(&r.files[i].kept);
    free(r.files);
    recovered->refused = r.refused;
    return status == RKC_ENOTFOUND   ? RKC_EXIT_USAGE
           : status || r.refused > 0 ? RKC_EXIT_FAILED
                                     : RKC_EXIT_OK;
}

const char *rkc_recovered_text(const struct rkc_recovered *recovered, char text[RKC_RECOVERED_TEXT])
{
    static const char *const states[] = {[RKC_FILE_COMPLETE] = "",
                                         [RKC_FILE_PARTIAL] = ", PARTIAL",
                                         [RKC_FILE_ABORTED] = ", ABORTED"};
    snprintf(text, RKC_RECOVERED_TEXT, "%zu of %d ranks%s", recovered->ranks, (int)recovered->size,
             states[recovered->status]);
    return text;
}
