/* pack_mpi.c - the packed form of transfers and waits. Of the sizes of a transfer only those that
 * there are take room, and a wait of one rank is packed without what follows from it. */
#include "autoconf.h"

#include "pack.h"

#include <rankclock/status.h>

#include "profile_mpi.h"

enum { END_OF_SIZES = 255 };

_Static_assert(RKC_SIZE_BUCKETS + 0 < END_OF_SIZES, "a bucket takes one byte");
_Static_assert(RKC_PACKED_TRANSFER_BYTES == 4 + 4 + 4 + 6 * 8 + 1 &&
               RKC_PACKED_WAIT_BYTES == 4 + 4 + 4 + 8 + 4 + 4 + 3 * 8 &&
               RKC_PACKED_MPI_BYTES >= 3 * 4 + 8, "as they are packed below");

static void add_i64(struct rkc_buffer *buffer, int64_t value)
{
    rkc_buffer_add_u64(buffer, (uint64_t)value);
}

static void add_row(struct rkc_buffer *buffer, const struct rkc_transfer *row)
{
    rkc_buffer_add_u32(buffer, row->path);
    rkc_buffer_add_u32(buffer, (uint32_t)row->send_kind << 8 | row->recv_kind);
    rkc_buffer_add_u32(buffer, (uint32_t)(uint16_t)row->send_device << 16 |
                                   (uint16_t)row->recv_device);
    const int64_t values[] = {row->sent,       row->received,     row->ns,
                              row->blocked_ns, row->in_flight_ns, row->noncontiguous};
    rkc_buffer_add(buffer, values, sizeof values);
    for (int i = 0; i < RKC_SIZE_BUCKETS; i++) {
        if (row->size[i] == 0)
            continue;
        rkc_buffer_add(buffer, &(uint8_t){(uint8_t)i}, 1);
        rkc_buffer_add_u64(buffer, row->size[i]);
    }
    rkc_buffer_add(buffer, &(uint8_t){END_OF_SIZES}, 1);
}

static void add_wait_row(struct rkc_buffer *buffer, const struct rkc_wait *row)
{
    rkc_buffer_add_u32(buffer, row->path);
    rkc_buffer_add_u32(buffer, (uint32_t)row->ranks);
    rkc_buffer_add_u32(buffer, (uint32_t)row->least_rank);
    rkc_buffer_add_u64(buffer, row->comm.key);
    rkc_buffer_add_u32(buffer, (uint32_t)row->comm.size);
    rkc_buffer_add_u32(buffer, (uint32_t)row->comm.first);
    add_i64(buffer, row->calls_min);
    add_i64(buffer, row->ns_min);
    add_i64(buffer, row->sync_ns);
    if (row->ranks == 1)
        return;
    add_i64(buffer, row->calls_max);
    add_i64(buffer, row->ns_max);
    add_i64(buffer, row->ns_sum);
}

int rkc_profile_pack_mpi(const struct rkc_profile *profile, struct rkc_buffer *buffer)
{
    rkc_buffer_add_u32(buffer, profile->n_transfers);
    rkc_buffer_add_u32(buffer, profile->n_waits);
    rkc_buffer_add_u32(buffer, profile->spilled != NULL);
    add_i64(buffer, profile->waits_dropped);
    for (uint32_t i = 0; i < profile->n_transfers; i++)
        add_row(buffer, &profile->transfers[i]);
    if (profile->spilled)
        add_row(buffer, profile->spilled);
    for (uint32_t i = 0; i < profile->n_waits; i++)
        add_wait_row(buffer, &profile->waits[i]);
    return buffer->failed ? RKC_ENOMEM : 0;
}

/* The next number, which is not below `least`. */
static int64_t take_i64(struct rkc_cursor *cursor, int64_t least)
{
    int64_t value = (int64_t)rkc_cursor_u64(cursor);
    cursor->failed |= value < least;
    return value;
}

static int32_t take_i32(struct rkc_cursor *cursor, int32_t least)
{
    int32_t value = (int32_t)rkc_cursor_u32(cursor);
    cursor->failed |= value < least;
    return value;
}

static int take_sizes(struct rkc_cursor *cursor, uint64_t size[RKC_SIZE_BUCKETS])
{
    for (;;) {
        const unsigned char *bucket = rkc_cursor_take(cursor, 1);
        if (!bucket || *bucket == END_OF_SIZES)
            return bucket != NULL;
        if (*bucket >= RKC_SIZE_BUCKETS)
            return 0;
        size[*bucket] = rkc_cursor_u64(cursor);
    }
}

/* Take a row; 0 where it is none. */
static int take_row(struct rkc_cursor *cursor, struct rkc_transfer *row)
{
    row->path = rkc_cursor_u32(cursor);
    uint32_t kinds = rkc_cursor_u32(cursor), devices = rkc_cursor_u32(cursor);
    row->send_kind = (uint8_t)(kinds >> 8);
    row->recv_kind = (uint8_t)kinds;
    row->send_device = (int16_t)(devices >> 16);
    row->recv_device = (int16_t)devices;
    row->sent = take_i64(cursor, 0);
    row->received = take_i64(cursor, 0);
    row->ns = take_i64(cursor, 0);
    row->blocked_ns = take_i64(cursor, 0);
    row->in_flight_ns = take_i64(cursor, 0);
    row->noncontiguous = take_i64(cursor, 0);
    return kinds >> 16 == 0 && row->send_kind < RKC_KINDS && row->recv_kind < RKC_KINDS &&
           take_sizes(cursor, row->size) && !cursor->failed;
}

static int merge_row(struct rkc_profile *into, const uint32_t *map, uint32_t n,
                     struct rkc_cursor *cursor)
{
    struct rkc_transfer row = {0};
    if (!take_row(cursor, &row) || row.path >= n)
        return RKC_EFORMAT;
    uint32_t path = map ? map[row.path] : row.path;
    if (path >= into->n_paths)
        return RKC_EFORMAT;
    struct rkc_transfer *sum = rkc_profile_transfer_get(into, path, row.send_kind, row.send_device,
                                                        row.recv_kind, row.recv_device);
    if (!sum)
        return RKC_ENOMEM;
    rkc_transfer_add(sum, &row);
    return 0;
}

static int merge_spilled(struct rkc_profile *into, struct rkc_cursor *cursor)
{
    struct rkc_transfer row = {0};
    if (!take_row(cursor, &row) || row.path != RKC_NO_PATH)
        return RKC_EFORMAT;
    struct rkc_transfer *sum = rkc_profile_spill(into);
    if (!sum)
        return RKC_ENOMEM;
    rkc_transfer_add(sum, &row);
    return 0;
}

static int merge_wait_row(struct rkc_profile *into, const uint32_t *map, uint32_t n,
                          struct rkc_cursor *cursor)
{
    struct rkc_wait row = {.path = rkc_cursor_u32(cursor)};
    row.ranks = take_i32(cursor, 1);
    row.least_rank = take_i32(cursor, 0);
    row.comm.key = rkc_cursor_u64(cursor);
    row.comm.size = take_i32(cursor, 1);
    row.comm.first = take_i32(cursor, 0);
    row.calls_min = row.calls_max = take_i64(cursor, 0);
    row.ns_min = row.ns_max = row.ns_sum = take_i64(cursor, 0);
    row.sync_ns = take_i64(cursor, RKC_ABSENT);
    if (row.ranks != 1) {
        row.calls_max = take_i64(cursor, row.calls_min);
        row.ns_max = take_i64(cursor, row.ns_min);
        row.ns_sum = take_i64(cursor, row.ns_max);
    }
    if (cursor->failed || row.path >= n)
        return RKC_EFORMAT;
    row.path = map ? map[row.path] : row.path;
    return row.path < into->n_paths ? rkc_profile_wait_merge(into, &row) : RKC_EFORMAT;
}

int rkc_profile_merge_packed_mpi(struct rkc_profile *into, const uint32_t *map, uint32_t n,
                                 struct rkc_cursor *cursor)
{
    uint32_t n_transfers = rkc_cursor_u32(cursor), n_waits = rkc_cursor_u32(cursor);
    uint32_t has_spilled = rkc_cursor_u32(cursor);
    int64_t dropped = take_i64(cursor, 0);
    int status = cursor->failed || n_transfers > RKC_PROFILE_MOVED_MAX ||
                         n_waits > RKC_PROFILE_MOVED_MAX || has_spilled > 1
                     ? RKC_EFORMAT
                     : 0;
    for (uint32_t i = 0; i < n_transfers && status == 0; i++)
        status = merge_row(into, map, n, cursor);
    if (status == 0 && has_spilled)
        status = merge_spilled(into, cursor);
    for (uint32_t i = 0; i < n_waits && status == 0; i++)
        status = merge_wait_row(into, map, n, cursor);
    if (status == 0 && __builtin_add_overflow(into->waits_dropped, dropped, &into->waits_dropped))
        into->waits_dropped = INT64_MAX;
    return status;
}
