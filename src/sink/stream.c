/* stream.c - a frame's length is written last, over a zero, once its body is in the buffer. */
#include "autoconf.h"

#include "sink/stream.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <rankclock/region.h>
#include <rankclock/status.h>

/* More facts than any job has; setting one looks at all the others. */
enum { FACTS_MAX = 1024 };

_Static_assert(sizeof(struct rkc_rank_device) ==
                   offsetof(struct rkc_rank_device, name) + sizeof((struct rkc_rank_device){0}).name &&
               sizeof(struct rkc_rank_device) % 8 == 0, "as are devices");
_Static_assert(sizeof(struct rkc_rank_peer) == 24, "and peers");
_Static_assert(sizeof(struct rkc_rank_row) ==
                   offsetof(struct rkc_rank_row, node) + RKC_NODE_NAME_MAX &&
               sizeof(struct rkc_rank_row) % 8 == 0 && sizeof(struct rkc_frame) % 8 == 0,
               "rows are sent as they are: no padding, and the values behind them aligned");

/* Begin a frame; where it begins. */
static size_t begin_frame(struct rkc_buffer *buffer, enum rkc_frame_kind kind)
{
    struct rkc_frame frame = {.magic = RKC_FRAME_MAGIC, .kind = kind};
    size_t begin = buffer->size;
    rkc_buffer_add(buffer, &frame, sizeof frame);
    return begin;
}

static int end_frame(struct rkc_buffer *buffer, size_t begin)
{
    if (buffer->failed)
        return RKC_ENOMEM;
    uint64_t bytes = buffer->size - begin - sizeof(struct rkc_frame);
    if (bytes > RKC_FRAME_MAX) {
        buffer->size = begin;
        return RKC_EOVERFLOW;
    }
    memcpy(buffer->data + begin + offsetof(struct rkc_frame, bytes), &bytes, sizeof bytes);
    return 0;
}

int rkc_stream_open(struct rkc_buffer *buffer, unsigned mode, const char *output)
{
    size_t begin = begin_frame(buffer, RKC_FRAME_OPEN);
    rkc_buffer_add_u32(buffer, mode);
    rkc_buffer_add_text(buffer, output);
    return end_frame(buffer, begin);
}

int rkc_stream_plan(struct rkc_buffer *buffer, uint32_t n_paths, uint32_t metrics)
{
    size_t begin = begin_frame(buffer, RKC_FRAME_PLAN);
    rkc_buffer_add_u32(buffer, n_paths);
    rkc_buffer_add_u32(buffer, metrics);
    return end_frame(buffer, begin);
}

int rkc_stream_job(struct rkc_buffer *buffer, const struct rkc_job *job)
{
    if (job->n_facts > FACTS_MAX)
        return RKC_EOVERFLOW;
    size_t begin = begin_frame(buffer, RKC_FRAME_JOB);
    rkc_buffer_add_u64(buffer, (uint64_t)job->start_unix_ns);
    rkc_buffer_add_u64(buffer, (uint64_t)job->wall_ns);
    rkc_buffer_add_u64(buffer, (uint64_t)job->overhead_ns);
    rkc_buffer_add_u32(buffer, (uint32_t)job->ranks);
    rkc_buffer_add_u64(buffer, (uint64_t)job->device_uses);
    rkc_buffer_add_u32(buffer, job->metrics);
    rkc_buffer_add_u32(buffer, job->row_metrics);
    rkc_buffer_add_u32(buffer, job->n_facts);
    for (uint32_t i = 0; i < job->n_facts; i++) {
        rkc_buffer_add_text(buffer, job->facts[i].key);
        rkc_buffer_add_text(buffer, job->facts[i].value);
    }
    return end_frame(buffer, begin);
}

int rkc_stream_profile(struct rkc_buffer *buffer, const struct rkc_profile *profile)
{
    size_t begin = begin_frame(buffer, RKC_FRAME_PROFILE);
    rkc_profile_pack(profile, buffer);
    return end_frame(buffer, begin);
}

int rkc_stream_numbers(struct rkc_buffer *buffer, const struct rkc_numbers *numbers)
{
    size_t begin = begin_frame(buffer, RKC_FRAME_NUMBERS);
    rkc_numbers_pack(numbers, buffer);
    return end_frame(buffer, begin);
}

/* Bytes of the values of a block, or more than any frame holds. */
static uint64_t value_bytes(uint32_t n_ranks, uint32_t n_paths, uint32_t row_metrics)
{
    rkc_u128 bytes = (rkc_u128)n_ranks * n_paths * sizeof(int64_t) *
                     (unsigned)__builtin_popcount(row_metrics);
    return bytes > RKC_FRAME_MAX ? UINT64_MAX : (uint64_t)bytes;
}

int rkc_stream_rows(struct rkc_buffer *buffer, const struct rkc_rows *rows, uint32_t row_metrics)
{
    uint64_t bytes = value_bytes(rows->n_ranks, rows->n_paths, row_metrics);
    if (bytes > RKC_FRAME_MAX)
        return RKC_EOVERFLOW;
    size_t begin = begin_frame(buffer, RKC_FRAME_ROWS);
    rkc_buffer_add_u32(buffer, rows->n_ranks);
    rkc_buffer_add_u32(buffer, rows->n_paths);
    rkc_buffer_add(buffer, rows->ranks, rows->n_ranks * sizeof *rows->ranks);
    rkc_buffer_add(buffer, rows->devices, rkc_rows_devices(rows) * sizeof *rows->devices);
    rkc_buffer_add(buffer, rows->peers, rkc_rows_peers(rows) * sizeof *rows->peers);
    rkc_buffer_add(buffer, rows->values, bytes);
    return end_frame(buffer, begin);
}

int rkc_stream_finish(struct rkc_buffer *buffer, enum rkc_file_status status,
                      const struct rkc_rank_range *missing, uint32_t n_missing)
{
    size_t begin = begin_frame(buffer, RKC_FRAME_FINISH);
    rkc_buffer_add_u32(buffer, status);
    rkc_buffer_add_ranges(buffer, missing, n_missing);
    return end_frame(buffer, begin);
}

/* Whether all was there and nothing is left. */
static int at_end(const struct rkc_cursor *cursor)
{
    return !cursor->failed && cursor->at == cursor->end;
}

static int take_fact(struct rkc_cursor *cursor, struct rkc_job *job)
{
    char *key = rkc_cursor_text(cursor, RKC_NAME_MAX - 1);
    char *value = rkc_cursor_text(cursor, RKC_FRAME_MAX);
    int status = cursor->failed || (key && !*key) ? RKC_EFORMAT : RKC_ENOMEM;
    if (status == RKC_ENOMEM && key && value)
        status = rkc_job_set(job, key, value);
    free(key);
    free(value);
    return status;
}

int rkc_unstream_job(struct rkc_cursor *cursor, struct rkc_job *job)
{
    struct rkc_job taken;
    rkc_job_init(&taken);
    taken.start_unix_ns = (int64_t)rkc_cursor_u64(cursor);
    taken.wall_ns = (int64_t)rkc_cursor_u64(cursor);
    taken.overhead_ns = (int64_t)rkc_cursor_u64(cursor);
    taken.ranks = (int32_t)rkc_cursor_u32(cursor);
    taken.device_uses = (int64_t)rkc_cursor_u64(cursor);
    taken.metrics = rkc_cursor_u32(cursor);
    taken.row_metrics = rkc_cursor_u32(cursor);
    uint32_t n_facts = rkc_cursor_u32(cursor);
    if (taken.ranks < 0 || taken.device_uses < 0 || taken.metrics & ~RKC_ALL_METRICS ||
        taken.row_metrics & ~taken.metrics || n_facts > FACTS_MAX)
        return RKC_EFORMAT;

    int status = 0;
    for (uint32_t i = 0; i < n_facts && status == 0; i++)
        status = take_fact(cursor, &taken);
    if (status == 0 && !at_end(cursor))
        status = RKC_EFORMAT;
    if (status == 0)
        *job = taken;
    else
        rkc_job_free(&taken);
    return status;
}

static int is_row(const struct rkc_rank_row *row, uint32_t n_paths)
{
    return row->rank >= 0 && row->state >= 0 && row->state < RKC_STATES &&
           (row->open_path == RKC_NO_PATH || row->open_path < n_paths) &&
           row->n_devices >= 0 && row->n_devices <= RKC_RANK_DEVICES_MAX &&
           row->n_peers >= 0 && row->n_peers <= RKC_RANK_PEERS_MAX &&
           memchr(row->node, '\0', sizeof row->node);
}

static int is_device(const struct rkc_rank_device *device)
{
    return device->numa_node >= -1 && device->rank_numa_node >= -1 &&
           memchr(device->uuid, '\0', sizeof device->uuid) &&
           memchr(device->bus_id, '\0', sizeof device->bus_id) &&
           memchr(device->name, '\0', sizeof device->name);
}

/* Whether all peers are of the ranks that have them. */
static int are_peers(const struct rkc_rows *rows)
{
    const struct rkc_rank_peer *peer = rows->peers;
    for (uint32_t i = 0; i < rows->n_ranks; i++) {
        int32_t rank = rows->ranks[i].rank;
        for (int32_t k = 0; k < rows->ranks[i].n_peers; k++, peer++)
            if ((peer->source != rank && peer->target != rank) || peer->source < -1 ||
                peer->target < -1 || peer->messages < 0 || peer->bytes < 0)
                return 0;
    }
    return 1;
}

int rkc_unstream_rows(struct rkc_cursor *cursor, struct rkc_rows *rows, uint32_t row_metrics)
{
    if ((uintptr_t)cursor->at % 8 != 0)
        return RKC_EARG;
    struct rkc_rows taken = {.n_ranks = rkc_cursor_u32(cursor)};
    taken.n_paths = rkc_cursor_u32(cursor);
    taken.ranks = rkc_cursor_take(cursor, taken.n_ranks * sizeof *taken.ranks);
    if (cursor->failed)
        return RKC_EFORMAT;
    for (uint32_t i = 0; i < taken.n_ranks; i++)
        if (!is_row(&taken.ranks[i], taken.n_paths) ||
            (i > 0 && taken.ranks[i].rank <= taken.ranks[i - 1].rank))
            return RKC_EFORMAT;
    size_t n_devices = rkc_rows_devices(&taken);
    taken.devices = rkc_cursor_take(cursor, n_devices * sizeof *taken.devices);
    taken.peers = rkc_cursor_take(cursor, rkc_rows_peers(&taken) * sizeof *taken.peers);
    taken.values =
        rkc_cursor_take(cursor, value_bytes(taken.n_ranks, taken.n_paths, row_metrics));
    if (!at_end(cursor))
        return RKC_EFORMAT;
    for (size_t i = 0; i < n_devices; i++)
        if (!is_device(&taken.devices[i]))
            return RKC_EFORMAT;
    if (!are_peers(&taken))
        return RKC_EFORMAT;
    *rows = taken;
    return 0;
}

int rkc_unstream_finish(struct rkc_cursor *cursor, enum rkc_file_status *status,
                        struct rkc_rank_range **ranges, uint32_t *n_ranges)
{
    uint32_t taken = rkc_cursor_u32(cursor);
    struct rkc_rank_range *missing;
    uint32_t n_missing;
    int error = rkc_cursor_ranges(cursor, &missing, &n_missing);
    if (error != 0)
        return error;
    if (taken > RKC_FILE_ABORTED || !at_end(cursor)) {
        free(missing);
        return RKC_EFORMAT;
    }
    *status = taken;
    *ranges = missing;
    *n_ranges = n_missing;
    return 0;
}
