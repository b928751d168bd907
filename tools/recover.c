/* recover.c - the images of a run that ended early become one file.
 *
 * Each image is read three times, one at a time: for the call paths, for the numbers, for
 * the row of its rank. So the memory needed grows with the call paths, not with the ranks.
 */
#include "autoconf.h"

#include "recover.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rankclock/status.h>

#include "collect.h"
#include "sink/hdf5.h"
#include "tools.h"

enum { ROWS_AT_ONCE = 64, PEERS_AT_ONCE = 65536, DEFAULT_MODE = 0600 };

struct image_file {
    const char *path;
    int32_t rank; /* known after the first pass */
};

struct recovery {
    struct image_file *files;
    size_t n_files;
    size_t refused;
    struct rkc_profile profile; /* call paths, notes, ranks */
    struct rkc_job job;
    char run_id[128], world_id[128];
    int32_t size; /* of the world */
    int finalized, aborted;
    struct rkc_sink *sink;
};

/* By rank; by name while the ranks are not known. */
static int by_rank(const void *a, const void *b)
{
    const struct image_file *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return strcmp(x->path, y->path);
}

/* ---- one image ---- */

/* Read and collect one image. 0, RKC_ENOMEM, or another status after a message. */
static int read_image(const struct image_file *file, struct rkc_view *view, struct rkc_local *local)
{
    char text[RKC_SINK_TEXT_MAX] = "";
    int status = rkc_view_open(view, file->path, text, sizeof text);
    if (status) {
        rkc_tool_error("%s", text);
        return status;
    }
    status = rkc_local_collect(local, view, file->rank);
    if (status == RKC_EFORMAT)
        rkc_tool_error("%s is damaged: no call path in it can be read", file->path);
    if (status)
        rkc_view_close(view);
    return status;
}

static void forget_image(struct rkc_view *view, struct rkc_local *local)
{
    rkc_local_free(local);
    rkc_view_close(view);
}

static int rank_present(const struct rkc_profile *profile, int32_t rank)
{
    for (uint32_t i = 0; i < profile->n_ranks; i++)
        if (rank >= profile->ranks[i].first && rank <= profile->ranks[i].last)
            return 1;
    return 0;
}

/* Whether an image is one of this run and not of a rank seen already. */
static int belongs(struct recovery *r, const struct image_file *file, const struct rkc_view *view,
                   const struct rkc_local *local)
{
    const struct rkc_image_header *header = (const void *)view->base;
    if (strncmp(r->run_id, header->run_id, sizeof r->run_id - 1) != 0 ||
        strncmp(r->world_id, header->world_id, sizeof r->world_id - 1) != 0)
        return 0; /* choose_run has said so */
    if (rank_present(&r->profile, local->row.rank)) {
        rkc_tool_error("%s is left out: another image has rank %d already", file->path,
                       local->row.rank);
        return 0;
    }
    return 1;
}

struct run_count {
    char run_id[128], world_id[128];
    const char *first; /* path */
    size_t images;
};

/* Count an image for its run; `runs` has room for one more. */
static void count_run(struct run_count *runs, size_t *n, const struct rkc_image_header *header,
                      const char *path)
{
    size_t i = 0;
    struct run_count *added = &runs[*n];
    memcpy(added->run_id, header->run_id, sizeof added->run_id - 1);
    memcpy(added->world_id, header->world_id, sizeof added->world_id - 1);
    while (strcmp(runs[i].run_id, added->run_id) != 0 ||
           strcmp(runs[i].world_id, added->world_id) != 0)
        i++;
    if (runs[i].images++ == 0)
        runs[i].first = path;
    *n += i == *n;
}

/* Images of other runs may be many, where all that a user left on a node lies in one folder. */
static void say_others(const struct run_count *runs, size_t n, size_t chosen)
{
    for (size_t i = 0; i < n; i++) {
        char more[64] = "";
        if (i == chosen)
            continue;
        if (runs[i].images > 1)
            snprintf(more, sizeof more, " and %zu more", runs[i].images - 1);
        rkc_tool_error("%s%s left out: of run %s, most images are of run %s", runs[i].first,
                       more[0] ? more : " is", runs[i].run_id, runs[chosen].run_id);
    }
}

/* Which run to recover: the one that most images are of. */
static int choose_run(struct recovery *r)
{
    struct run_count *runs = calloc(r->n_files + 1, sizeof *runs);
    size_t n = 0, most = 0;
    if (!runs)
        return RKC_ENOMEM;
    for (size_t i = 0; i < r->n_files; i++) {
        char text[RKC_SINK_TEXT_MAX];
        struct rkc_view view;
        if (rkc_view_open(&view, r->files[i].path, text, sizeof text) != 0)
            continue;
        count_run(runs, &n, (const void *)view.base, r->files[i].path);
        rkc_view_close(&view);
    }
    for (size_t i = 1; i < n; i++)
        most = runs[i].images > runs[most].images ? i : most;
    memcpy(r->run_id, runs[most].run_id, sizeof r->run_id);
    memcpy(r->world_id, runs[most].world_id, sizeof r->world_id);
    say_others(runs, n, most);
    free(runs);
    return 0;
}

static int take_facts(struct recovery *r, const struct rkc_local *local, int first)
{
    const struct rkc_rank_row *row = &local->row;
    if (first || row->start_unix_ns < r->job.start_unix_ns)
        r->job.start_unix_ns = row->start_unix_ns;
    if (first || row->wall_ns > r->job.wall_ns)
        r->job.wall_ns = row->wall_ns;
    r->job.overhead_ns = (first ? 0 : r->job.overhead_ns) + row->overhead_ns;
    r->job.metrics |= local->metrics;
    r->job.device_uses += row->n_devices;
    r->finalized += row->state == RKC_STATE_FINALIZED;
    r->aborted += row->state == RKC_STATE_ABORTED || row->state == RKC_STATE_SIGNAL;
    for (uint32_t i = 0; i < local->job.n_facts; i++)
        if (!rkc_job_get(&r->job, local->job.facts[i].key) &&
            rkc_job_set(&r->job, local->job.facts[i].key, local->job.facts[i].value) != 0)
            return RKC_ENOMEM;
    return 0;
}

/* ---- three passes ---- */

/* Number the call paths and drop the files that cannot be used. */
static int first_pass(struct recovery *r)
{
    size_t kept = 0;
    qsort(r->files, r->n_files, sizeof *r->files, by_rank);
    int status = choose_run(r);
    for (size_t i = 0; i < r->n_files; i++) {
        struct image_file file = r->files[i];
        struct rkc_view view;
        struct rkc_local local;
        if (!status)
            file.rank = (int32_t)kept; /* of an image that does not know it */
        int bad = status ? status : read_image(&file, &view, &local);
        if (bad == RKC_ENOMEM)
            status = bad;
        if (bad) {
            r->refused++;
            continue;
        }
        if (belongs(r, &file, &view, &local)) {
            int32_t size = atomic_load(&((const struct rkc_image_header *)view.base)->size);
            r->size = size > r->size ? size : r->size;
            file.rank = local.row.rank;
            status = take_facts(r, &local, kept == 0);
            if (!status)
                status = rkc_profile_merge(&r->profile, &local.paths, NULL);
            r->files[kept++] = file;
        } else {
            r->refused++;
        }
        forget_image(&view, &local);
    }
    r->n_files = kept;
    qsort(r->files, kept, sizeof *r->files, by_rank);
    return status;
}

/* The common number of each of an image's call paths. Merging adds none that is new. */
static uint32_t *map_paths(struct recovery *r, const struct rkc_local *local)
{
    uint32_t *map = malloc((local->paths.n_paths + 1) * sizeof *map);
    struct rkc_profile bare = rkc_profile_bare(&local->paths);
    if (map && rkc_profile_merge(&r->profile, &bare, map) != 0) {
        free(map);
        return NULL;
    }
    return map;
}

static int second_pass(struct recovery *r)
{
    struct rkc_numbers numbers;
    int status = rkc_numbers_init(&numbers, 0, r->profile.n_paths);
    for (size_t i = 0; i < r->n_files && !status; i++) {
        struct rkc_view view;
        struct rkc_local local;
        status = read_image(&r->files[i], &view, &local);
        if (status)
            break;
        uint32_t *map = map_paths(r, &local);
        if (map)
            rkc_local_add(&local, map, &numbers);
        else
            status = RKC_ENOMEM;
        free(map);
        forget_image(&view, &local);
    }
    if (!status)
        status = r->sink->ops->numbers(r->sink, &numbers);
    rkc_numbers_free(&numbers);
    return status;
}

/* A block of rows on its way to the sink; values lie ROWS_AT_ONCE ranks apart while it grows. */
struct block {
    struct rkc_rank_row *rows;
    int64_t *values;
    struct rkc_rank_device *devices;
    struct rkc_rank_peer *peers;
    size_t n, n_devices, n_peers, cap_peers;
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
static int add_row(struct recovery *r, const struct image_file *file, struct block *block)
{
    struct rkc_view view;
    struct rkc_local local;
    int status = read_image(file, &view, &local);
    if (status)
        return status;
    size_t paths = r->profile.n_paths;
    uint32_t *map = map_paths(r, &local);
    status = map ? add_peers(block, &local) : RKC_ENOMEM;
    if (!status) {
        struct rkc_rank_row *row = &block->rows[block->n];
        *row = rkc_local_rank(&local);
        if (row->open_path != RKC_NO_PATH)
            row->open_path = map[row->open_path];
        rkc_local_row(&local, map, r->job.row_metrics, r->profile.n_paths, ROWS_AT_ONCE * paths,
                      block->values + block->n * paths);
        if (row->n_devices > 0)
            memcpy(block->devices + block->n_devices, local.devices,
                   (size_t)row->n_devices * sizeof *local.devices);
        block->n_devices += (size_t)row->n_devices;
        block->n++;
    }
    free(map);
    forget_image(&view, &local);
    return status;
}

/* Hand a block to the sink and begin another. */
static int send_block(struct recovery *r, struct block *block)
{
    size_t paths = r->profile.n_paths, metrics = (size_t)__builtin_popcount(r->job.row_metrics);
    for (size_t metric = 1; metric < metrics && block->n < ROWS_AT_ONCE; metric++)
        memmove(block->values + metric * block->n * paths,
                block->values + metric * ROWS_AT_ONCE * paths,
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

static int third_pass(struct recovery *r)
{
    size_t paths = r->profile.n_paths, metrics = (size_t)__builtin_popcount(r->job.row_metrics);
    struct block block = {
        .rows = calloc(ROWS_AT_ONCE, sizeof *block.rows),
        .values = calloc(ROWS_AT_ONCE * (metrics * paths + 1), sizeof *block.values),
        .devices = calloc(ROWS_AT_ONCE * RKC_RANK_DEVICES_MAX, sizeof *block.devices)};
    int status = block.rows && block.values && block.devices ? 0 : RKC_ENOMEM;
    for (size_t i = 0; i < r->n_files && !status; i++) {
        status = add_row(r, &r->files[i], &block);
        int full = block.n == ROWS_AT_ONCE || block.n_peers >= PEERS_AT_ONCE;
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

static int write_file(struct recovery *r, const char *output, struct rkc_recovered *recovered)
{
    char text[RKC_SINK_TEXT_MAX] = "";
    uint32_t n_missing;
    struct rkc_rank_range *missing = missing_ranks(r, &n_missing);
    enum rkc_file_status state = RKC_FILE_PARTIAL;
    int status = missing ? rkc_sink_hdf5_open(output, DEFAULT_MODE, &r->sink, text) : RKC_ENOMEM;
    if (!status)
        status = r->sink->ops->job(r->sink, &r->job);
    if (!status)
        status = r->sink->ops->profile(r->sink, &r->profile);
    if (!status)
        status = second_pass(r);
    if (!status)
        status = third_pass(r);
    if (r->aborted)
        state = RKC_FILE_ABORTED;
    else if (n_missing == 0 && r->finalized == (int)r->n_files)
        state = RKC_FILE_COMPLETE;
    if (!status)
        status = r->sink->ops->finish(r->sink, state, missing, n_missing, text);
    if (r->sink) {
        struct rkc_sink_hdf5_report report;
        rkc_sink_hdf5_report(r->sink, &report);
        if (status && report.text[0])
            snprintf(text, sizeof text, "%s", report.text);
        if (!status && report.note[0])
            rkc_tool_error("%s", report.note);
        r->sink->ops->close(r->sink);
    }
    free(missing);
    if (status) {
        rkc_tool_error("%s", text[0] ? text : rkc_strerror(status));
        return RKC_EXIT_FAILED;
    }
    text[strcspn(text, "\t\n")] = 0;
    snprintf(recovered->path, sizeof recovered->path, "%s", text);
    recovered->ranks = r->n_files;
    recovered->size = r->size;
    recovered->status = state;
    recovered->refused = r->refused;
    return r->refused ? RKC_EXIT_FAILED : RKC_EXIT_OK;
}

static int recover(struct recovery *r, const char *output, struct rkc_recovered *recovered)
{
    int status = first_pass(r);
    if (status) {
        rkc_tool_error("%s", rkc_strerror(status));
        return RKC_EXIT_FAILED;
    }
    if (r->n_files == 0) {
        rkc_tool_error("no image could be used: nothing is written");
        return RKC_EXIT_USAGE;
    }
    if (r->size < (int32_t)r->n_files)
        r->size = (int32_t)r->n_files;
    r->job.ranks = r->size;
    r->job.row_metrics = r->job.metrics;
    if (rkc_job_set(&r->job, "per_rank_rows", "all") != 0)
        return RKC_EXIT_FAILED;
    return write_file(r, output, recovered);
}

int rkc_recover(const char *const paths[], size_t n, const char *output,
                struct rkc_recovered *recovered)
{
    struct recovery r = {.files = calloc(n + 1, sizeof *r.files), .n_files = n};
    *recovered = (struct rkc_recovered){.ranks = 0};
    if (!r.files) {
        rkc_tool_error("%s", rkc_strerror(RKC_ENOMEM));
        return RKC_EXIT_FAILED;
    }
    rkc_profile_init(&r.profile, 0);
    rkc_job_init(&r.job);
    r.job.metrics = 0;
    for (size_t i = 0; i < n; i++)
        r.files[i] = (struct image_file){paths[i], -1};
    int code = recover(&r, output, recovered);
    free(r.files);
    rkc_profile_free(&r.profile);
    rkc_job_free(&r.job);
    return code;
}

const char *rkc_recovered_text(const struct rkc_recovered *recovered, char text[RKC_RECOVERED_TEXT])
{
    static const char *const states[] = {[RKC_FILE_COMPLETE] = "", [RKC_FILE_PARTIAL] = ", PARTIAL",
                                         [RKC_FILE_ABORTED] = ", ABORTED"};
    snprintf(text, RKC_RECOVERED_TEXT, "%zu of %d ranks%s", recovered->ranks, (int)recovered->size,
             states[recovered->status]);
    return text;
}
