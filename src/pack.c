/* pack.c - the packed form is that of one build: numbers are laid out as in memory, and the
 * mark at the beginning refuses what another byte order or layout wrote.
 *
 * Numbers: mark, window, then for each path that has something an entry: path, which metrics
 * it has, which of these are of one rank; the metrics, a struct rkc_stat or value and rank;
 * the sum of squares; (bucket, count) pairs, size buckets behind time buckets, END_OF_BUCKETS. */
#include "autoconf.h"

#include "pack.h"

#include <stdlib.h>
#include <string.h>

#include <rankclock/region.h>
#include <rankclock/status.h>

#include "profile_mpi.h"

#define PROFILE_MAGIC 0x32465250434b52u /* "RKCPRF2" from the lowest byte up */
#define NUMBERS_MAGIC 0x324d554e434b52u /* "RKCNUM2" */

enum {
    LAYOUT = RKC_METRICS << 24 | RKC_SIZE_BUCKETS << 16 | RKC_TIME_BUCKETS << 8 |
             sizeof(struct rkc_stat),
    ALL_METRICS = (1 << RKC_METRICS) - 1,
    END_OF_BUCKETS = 255,
    NUMBERS_HEADER = 8 + 4 * 4,
    ONE_RANK = 1 << 30, /* in place of which metrics are one rank's: all of this one */
    HAS_NUMBERS = 1, HAS_MPI = 2, /* what follows a profile */
};

_Static_assert(sizeof(struct rkc_stat) == 64, "struct rkc_stat is packed as it is: no padding");
_Static_assert(ONE_RANK > ALL_METRICS, "no metric has its bit");
_Static_assert(RKC_TIME_BUCKETS + RKC_SIZE_BUCKETS < END_OF_BUCKETS, "a bucket takes one byte");

/* Write over a number in the middle of the buffer. */
static void put_u32(struct rkc_buffer *buffer, size_t at, uint32_t value)
{
    if (!buffer->failed)
        memcpy(buffer->data + at, &value, sizeof value);
}

void rkc_numbers_pack_begin(struct rkc_buffer *buffer, uint32_t first, uint32_t n,
                            uint32_t n_present)
{
    rkc_buffer_add_u64(buffer, NUMBERS_MAGIC);
    rkc_buffer_add_u32(buffer, LAYOUT);
    rkc_buffer_add_u32(buffer, first);
    rkc_buffer_add_u32(buffer, n);
    rkc_buffer_add_u32(buffer, n_present);
}

void rkc_numbers_pack_end(struct rkc_buffer *buffer, size_t begin, uint32_t n_present)
{
    put_u32(buffer, begin + NUMBERS_HEADER - sizeof n_present, n_present);
}

static void add_buckets(struct rkc_buffer *buffer, const uint64_t *counts, unsigned n,
                        unsigned first)
{
    for (unsigned i = 0; i < n; i++) {
        if (counts[i] == 0)
            continue;
        rkc_buffer_add(buffer, &(uint8_t){(uint8_t)(first + i)}, 1);
        rkc_buffer_add_u64(buffer, counts[i]);
    }
}

static void add_hist(struct rkc_buffer *buffer, const struct rkc_path_hist *hist)
{
    rkc_u128 sumsq = hist ? hist->visit_sumsq_ns2 : 0;
    rkc_buffer_add(buffer, &sumsq, sizeof sumsq);
    if (hist) {
        add_buckets(buffer, hist->time, RKC_TIME_BUCKETS, 0);
        add_buckets(buffer, hist->size, RKC_SIZE_BUCKETS, RKC_TIME_BUCKETS);
    }
    rkc_buffer_add(buffer, &(uint8_t){END_OF_BUCKETS}, 1);
}

static void add_single(struct rkc_buffer *buffer, int64_t value, int32_t rank)
{
    rkc_buffer_add_u64(buffer, (uint64_t)value);
    rkc_buffer_add_u32(buffer, (uint32_t)rank);
}

void rkc_numbers_pack_path(struct rkc_buffer *buffer, uint32_t path, int32_t rank,
                           const int64_t values[RKC_METRICS], const struct rkc_path_hist *hist)
{
    int64_t present[RKC_METRICS];
    uint32_t have = 0, n = 0;
    for (unsigned metric = 0; metric < RKC_METRICS; metric++) {
        if (values[metric] == RKC_ABSENT)
            continue;
        have |= (uint32_t)1 << metric;
        present[n++] = values[metric];
    }
    const uint32_t head[] = {path, have, ONE_RANK, (uint32_t)rank};
    rkc_buffer_add(buffer, head, sizeof head);
    rkc_buffer_add(buffer, present, n * sizeof *present);
    add_hist(buffer, hist);
}

static int is_present(const struct rkc_stat *stats)
{
    for (unsigned metric = 0; metric < RKC_METRICS; metric++)
        if (stats[metric].ranks != 0)
            return 1;
    return 0;
}

static void add_path_numbers(struct rkc_buffer *buffer, uint32_t path,
                             const struct rkc_stat *stats, const struct rkc_path_hist *hist)
{
    uint32_t have = 0, single = 0;
    for (unsigned metric = 0; metric < RKC_METRICS; metric++) {
        have |= (uint32_t)(stats[metric].ranks != 0) << metric;
        single |= (uint32_t)(stats[metric].ranks == 1) << metric;
    }
    rkc_buffer_add_u32(buffer, path);
    rkc_buffer_add_u32(buffer, have);
    rkc_buffer_add_u32(buffer, single);
    for (unsigned metric = 0; metric < RKC_METRICS; metric++) {
        if (single >> metric & 1)
            add_single(buffer, stats[metric].min, stats[metric].min_rank);
        else if (have >> metric & 1)
            rkc_buffer_add(buffer, &stats[metric], sizeof stats[metric]);
    }
    add_hist(buffer, hist);
}

int rkc_numbers_pack(const struct rkc_numbers *numbers, struct rkc_buffer *buffer)
{
    uint32_t n_present = 0;
    size_t begin = buffer->size;
    rkc_numbers_pack_begin(buffer, numbers->first, numbers->n, 0);
    for (uint32_t i = 0; i < numbers->n; i++) {
        const struct rkc_stat *stats = numbers->stats + (size_t)i * RKC_METRICS;
        if (!is_present(stats))
            continue;
        add_path_numbers(buffer, numbers->first + i, stats, &numbers->hist[i]);
        n_present++;
    }
    rkc_numbers_pack_end(buffer, begin, n_present);
    return buffer->failed ? RKC_ENOMEM : 0;
}

/* Take the mark at the beginning; 0 where it is another's. */
static int take_mark(struct rkc_cursor *cursor, uint64_t magic)
{
    int same = rkc_cursor_u64(cursor) == magic;
    return rkc_cursor_u32(cursor) == LAYOUT && same;
}

static int take_window(struct rkc_cursor *cursor, uint32_t *first, uint32_t *n, uint32_t *n_present)
{
    int same = take_mark(cursor, NUMBERS_MAGIC);
    *first = rkc_cursor_u32(cursor);
    *n = rkc_cursor_u32(cursor);
    *n_present = rkc_cursor_u32(cursor);
    return !cursor->failed && same && *n <= RKC_PROFILE_PATHS_MAX &&
           *first <= RKC_PROFILE_PATHS_MAX - *n && *n_present <= *n;
}

/* Add one statistic as packed; 0 where it is none. */
static int merge_stat(struct rkc_cursor *cursor, struct rkc_stat *into)
{
    struct rkc_stat stat;
    const void *taken = rkc_cursor_take(cursor, sizeof stat);
    if (!taken)
        return 0;
    memcpy(&stat, taken, sizeof stat);
    if (stat.ranks < 1 || stat.min > stat.max || stat.min_rank < 0 || stat.max_rank < 0)
        return 0;
    rkc_stat_merge(into, &stat);
    return 1;
}

/* The same for a value of one rank. */
static int merge_single(struct rkc_cursor *cursor, struct rkc_stat *into)
{
    int64_t value = (int64_t)rkc_cursor_u64(cursor);
    int32_t rank = (int32_t)rkc_cursor_u32(cursor);
    if (cursor->failed || rank < 0)
        return 0;
    rkc_stat_add(into, value, rank);
    return 1;
}

/* What a path's entry begins with. */
struct entry {
    uint32_t have, single;
    int32_t rank;       /* whose it is, where it is one rank's; then its values, not aligned */
    const char *values; /* else NULL: statistics follow */
};

/* Take it; 0 where it is none. */
static int take_entry(struct rkc_cursor *cursor, struct entry *entry)
{
    *entry = (struct entry){.have = rkc_cursor_u32(cursor)};
    entry->single = rkc_cursor_u32(cursor);
    if (cursor->failed || entry->have & ~(uint32_t)ALL_METRICS)
        return 0;
    if (entry->single != ONE_RANK)
        return (entry->single & ~entry->have) == 0;
    entry->rank = (int32_t)rkc_cursor_u32(cursor);
    entry->values = rkc_cursor_take(cursor, (size_t)__builtin_popcount(entry->have) *
                                                sizeof(int64_t));
    return entry->values && entry->rank >= 0;
}

static int64_t value_at(const char *values)
{
    int64_t value;
    memcpy(&value, values, sizeof value);
    return value;
}

/* Add the entry's metrics; 0 where they are none. */
static int merge_metrics(struct rkc_cursor *cursor, const struct entry *entry,
                         struct rkc_stat *stats)
{
    const char *at = entry->values;
    for (uint32_t left = entry->have; left; left &= left - 1) {
        unsigned metric = (unsigned)__builtin_ctz(left);
        if (at) {
            rkc_stat_add(&stats[metric], value_at(at), entry->rank);
            at += sizeof(int64_t);
        } else if (entry->single >> metric & 1 ? !merge_single(cursor, &stats[metric])
                                               : !merge_stat(cursor, &stats[metric])) {
            return 0;
        }
    }
    return 1;
}

/* Add the histograms behind them. */
static int merge_hist(struct rkc_cursor *cursor, struct rkc_path_hist *hist)
{
    rkc_u128 sumsq;
    const void *taken = rkc_cursor_take(cursor, sizeof sumsq);
    if (!taken)
        return 0;
    memcpy(&sumsq, taken, sizeof sumsq);
    hist->visit_sumsq_ns2 = rkc_u128_add(hist->visit_sumsq_ns2, sumsq);
    for (;;) {
        const unsigned char *bucket = rkc_cursor_take(cursor, 1);
        if (!bucket || *bucket == END_OF_BUCKETS)
            return bucket != NULL;
        uint64_t count = rkc_cursor_u64(cursor);
        if (*bucket < RKC_TIME_BUCKETS)
            hist->time[*bucket] += count;
        else if (*bucket < RKC_TIME_BUCKETS + RKC_SIZE_BUCKETS)
            hist->size[*bucket - RKC_TIME_BUCKETS] += count;
        else
            return 0;
    }
}

/* Add one path's entry as packed; 0 where it is none. */
static int merge_entry(struct rkc_cursor *cursor, struct rkc_stat *stats,
                       struct rkc_path_hist *hist)
{
    struct entry entry;
    return take_entry(cursor, &entry) && merge_metrics(cursor, &entry, stats) &&
           merge_hist(cursor, hist);
}

/* Entries that follow a window, to be taken one by one. */
struct entries {
    struct rkc_cursor *cursor;
    uint32_t first, n;   /* the window */
    uint32_t left, least;
};

/* Take the number of the next path, counted from the window's first. */
static int take_path_number(struct entries *entries, uint32_t *path)
{
    *path = rkc_cursor_u32(entries->cursor) - entries->first;
    if (entries->cursor->failed || *path < entries->least || *path >= entries->n)
        return RKC_EFORMAT;
    entries->least = *path + 1;
    entries->left--;
    return 0;
}

/* Add the entries, each to the path that `map` gives for it; NULL: to its own. */
static int merge_entries(struct entries entries, const uint32_t *map, struct rkc_numbers *into)
{
    while (entries.left > 0) {
        uint32_t path;
        if (take_path_number(&entries, &path) != 0)
            return RKC_EFORMAT;
        uint32_t to = map ? map[path] : path;
        if (to >= into->n || !merge_entry(entries.cursor, into->stats + (size_t)to * RKC_METRICS,
                                          &into->hist[to]))
            return RKC_EFORMAT;
    }
    return 0;
}

static int take_entries(struct rkc_cursor *cursor, struct entries *entries)
{
    *entries = (struct entries){.cursor = cursor};
    return take_window(cursor, &entries->first, &entries->n, &entries->left) ? 0 : RKC_EFORMAT;
}

int rkc_numbers_merge_packed(struct rkc_numbers *into, struct rkc_cursor *cursor)
{
    struct entries entries;
    if (take_entries(cursor, &entries) != 0 || entries.first != into->first ||
        entries.n != into->n)
        return RKC_EFORMAT;
    return merge_entries(entries, NULL, into);
}

int rkc_numbers_merge_mapped(struct rkc_numbers *into, const uint32_t *map, uint32_t n,
                             struct rkc_cursor *cursor)
{
    struct entries entries;
    if (take_entries(cursor, &entries) != 0 || entries.first != 0 || entries.n != n)
        return RKC_EFORMAT;
    return merge_entries(entries, map, into);
}

/* Add a value to that of a row, which may have none yet. */
static void add_to_row(int64_t *to, int64_t value)
{
    if (__builtin_add_overflow(*to == RKC_ABSENT ? 0 : *to, value, to))
        *to = INT64_MAX;
}

/* Add an entry's metrics to a row, whose first value of the path is `to`. */
static int take_metrics(struct rkc_cursor *cursor, uint32_t metrics, size_t stride, int64_t *to)
{
    struct entry entry;
    struct rkc_stat stats[RKC_METRICS];
    if (!take_entry(cursor, &entry))
        return 0;
    if (!entry.values) {
        memset(stats, 0, sizeof stats);
        if (!merge_metrics(cursor, &entry, stats))
            return 0;
    }
    const char *at = entry.values;
    for (uint32_t left = entry.have; left; left &= left - 1) {
        unsigned metric = (unsigned)__builtin_ctz(left);
        uint32_t before = metrics & ((UINT32_C(1) << metric) - 1);
        if (metrics >> metric & 1)
            add_to_row(to + (unsigned)__builtin_popcount(before) * stride,
                       at ? value_at(at) : (int64_t)stats[metric].sum);
        at += at ? sizeof(int64_t) : 0;
    }
    return 1;
}

int rkc_numbers_take_row(struct rkc_cursor *cursor, const uint32_t *map, uint32_t n,
                         uint32_t metrics, uint32_t n_paths, size_t stride, int64_t *values)
{
    struct entries entries;
    if (take_entries(cursor, &entries) != 0 || entries.first != 0 || entries.n != n)
        return RKC_EFORMAT;
    struct rkc_path_hist hist = {0}; /* not wanted */
    while (entries.left > 0) {
        uint32_t path;
        if (take_path_number(&entries, &path) != 0 || map[path] >= n_paths ||
            !take_metrics(cursor, metrics, stride, values + map[path]) ||
            !merge_hist(cursor, &hist))
            return RKC_EFORMAT;
    }
    return 0;
}

int rkc_numbers_unpack(struct rkc_numbers *numbers, struct rkc_cursor *cursor)
{
    *numbers = (struct rkc_numbers){0};
    struct entries entries;
    if (take_entries(cursor, &entries) != 0)
        return RKC_EFORMAT;
    int status = rkc_numbers_init(numbers, entries.first, entries.n);
    if (status == 0)
        status = merge_entries(entries, NULL, numbers);
    if (status != 0)
        rkc_numbers_free(numbers);
    return status;
}

int rkc_profile_pack(const struct rkc_profile *profile, struct rkc_buffer *buffer)
{
    rkc_buffer_add_u64(buffer, PROFILE_MAGIC);
    rkc_buffer_add_u32(buffer, LAYOUT);
    rkc_buffer_add_u32(buffer, (profile->has_numbers ? HAS_NUMBERS : 0) |
                                   (rkc_profile_has_mpi(profile) ? HAS_MPI : 0));
    rkc_buffer_add_u64(buffer, (uint64_t)profile->paths_folded);

    rkc_buffer_add_u32(buffer, profile->n_regions);
    for (uint32_t i = 0; i < profile->n_regions; i++) {
        const struct rkc_profile_region *region = &profile->regions[i];
        rkc_buffer_add_text(buffer, region->name);
        rkc_buffer_add_text(buffer, region->file);
        rkc_buffer_add_u32(buffer, (uint32_t)region->line);
        rkc_buffer_add_u32(buffer, region->kind);
        rkc_buffer_add_u32(buffer, region->flags);
        rkc_buffer_add_u32(buffer, region->every);
    }
    rkc_buffer_add_u32(buffer, profile->n_paths);
    for (uint32_t i = 0; i < profile->n_paths; i++) {
        rkc_buffer_add_u32(buffer, profile->paths[i].parent);
        rkc_buffer_add_u32(buffer, profile->paths[i].region);
    }
    rkc_buffer_add_u32(buffer, profile->n_notes);
    for (uint32_t i = 0; i < profile->n_notes; i++) {
        const struct rkc_profile_note *note = &profile->notes[i];
        rkc_buffer_add_u32(buffer, note->kind);
        rkc_buffer_add_u32(buffer, note->region);
        rkc_buffer_add_u32(buffer, (uint32_t)note->rank);
        rkc_buffer_add_u64(buffer, (uint64_t)note->count);
        rkc_buffer_add_text(buffer, note->text);
    }
    rkc_buffer_add_ranges(buffer, profile->ranks, profile->n_ranks);
    if (rkc_profile_has_mpi(profile))
        rkc_profile_pack_mpi(profile, buffer);
    if (profile->has_numbers)
        return rkc_numbers_pack(&profile->numbers, buffer);
    return buffer->failed ? RKC_ENOMEM : 0;
}

/* A status for what the profile gave back where it should have given `wanted`. */
static int expect(int64_t got, int64_t wanted)
{
    if (got == RKC_ENOMEM)
        return RKC_ENOMEM;
    return got == wanted ? 0 : RKC_EFORMAT;
}

static int take_region(struct rkc_cursor *cursor, struct rkc_profile *profile)
{
    uint32_t i = profile->n_regions;
    char *name = rkc_cursor_text(cursor, RKC_NAME_MAX - 1);
    char *file = rkc_cursor_text(cursor, RKC_PROFILE_FILE_MAX);
    int32_t line = (int32_t)rkc_cursor_u32(cursor);
    uint32_t kind = rkc_cursor_u32(cursor);
    uint32_t flags = rkc_cursor_u32(cursor);
    uint32_t every = rkc_cursor_u32(cursor);

    int status = RKC_EFORMAT;
    if (!cursor->failed && (!name || !file))
        status = RKC_ENOMEM;
    else if (!cursor->failed && kind < RKC_REGION_KINDS && flags <= UINT8_MAX)
        status = expect(rkc_profile_region_get(profile, kind, name, file, line), i);
    if (status == 0) {
        profile->regions[i].flags = (uint8_t)flags;
        profile->regions[i].every = every;
    }
    free(name);
    free(file);
    return status;
}

static int take_path(struct rkc_cursor *cursor, struct rkc_profile *profile)
{
    uint32_t i = profile->n_paths;
    uint32_t parent = rkc_cursor_u32(cursor);
    uint32_t region = rkc_cursor_u32(cursor);
    if (cursor->failed)
        return RKC_EFORMAT;
    return expect(rkc_profile_path_get(profile, parent, region), i);
}

static int take_note(struct rkc_cursor *cursor, struct rkc_profile *profile)
{
    uint32_t i = profile->n_notes;
    uint32_t kind = rkc_cursor_u32(cursor);
    uint32_t region = rkc_cursor_u32(cursor);
    int32_t rank = (int32_t)rkc_cursor_u32(cursor);
    int64_t count = (int64_t)rkc_cursor_u64(cursor);
    char *text = rkc_cursor_text(cursor, RKC_NOTE_TEXT_MAX - 1);
    if (!text)
        return cursor->failed ? RKC_EFORMAT : RKC_ENOMEM;

    int status = RKC_EFORMAT;
    if (kind < RKC_NOTES && count >= 0)
        status = expect(rkc_profile_note_add(profile, kind, region, rank, count, text), 0);
    free(text);
    /* A second row of one kind and region would be counted in the first. */
    return status == 0 && profile->n_notes != i + 1 ? RKC_EFORMAT : status;
}

/* Take a count and as many things as it says. */
static int take_list(struct rkc_cursor *cursor, struct rkc_profile *profile,
                     int (*take)(struct rkc_cursor *, struct rkc_profile *))
{
    int status = 0;
    for (uint32_t n = rkc_cursor_u32(cursor); n > 0 && status == 0; n--)
        status = take(cursor, profile);
    return status;
}

static int take_profile(struct rkc_cursor *cursor, struct rkc_profile *profile, int has_mpi)
{
    int status = take_list(cursor, profile, take_region);
    if (status == 0)
        status = take_list(cursor, profile, take_path);
    if (status == 0)
        status = take_list(cursor, profile, take_note);
    if (status == 0)
        status = rkc_cursor_ranges(cursor, &profile->ranks, &profile->n_ranks);
    profile->cap_ranks = profile->n_ranks;
    if (status == 0 && has_mpi)
        status = rkc_profile_merge_packed_mpi(profile, NULL, profile->n_paths, cursor);
    if (status == 0 && profile->has_numbers)
        status = rkc_numbers_merge_packed(&profile->numbers, cursor);
    return status;
}

int rkc_profile_unpack(struct rkc_profile *profile, struct rkc_cursor *cursor)
{
    rkc_profile_init(profile, 0);
    int same = take_mark(cursor, PROFILE_MAGIC);
    uint32_t parts = rkc_cursor_u32(cursor);
    int64_t paths_folded = (int64_t)rkc_cursor_u64(cursor);
    if (cursor->failed || !same || parts > (HAS_NUMBERS | HAS_MPI) || paths_folded < 0)
        return RKC_EFORMAT;

    profile->has_numbers = (parts & HAS_NUMBERS) != 0;
    int status = take_profile(cursor, profile, parts & HAS_MPI);
    profile->paths_folded = paths_folded;
    if (status != 0)
        rkc_profile_free(profile);
    return status;
}
