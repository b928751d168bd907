/* pack.c - what is packed comes out the same, and what is damaged is refused. */
#include "autoconf.h"

#include "pack.h"

#include <stdlib.h>
#include <string.h>

#include <rankclock/status.h>

#include "tap.h"

static struct rkc_cursor cursor_of(const struct rkc_buffer *buffer)
{
    return (struct rkc_cursor){.at = buffer->data, .end = buffer->data + buffer->size};
}

/* (run), step in it and halo in step; numbers of one rank and of two, a note, two ranges. */
static void make(struct rkc_profile *profile, int numbers)
{
    rkc_profile_init(profile, numbers);
    rkc_profile_region_get(profile, RKC_REGION_ROOT, "(run)", NULL, 0);
    rkc_profile_region_get(profile, RKC_REGION_USER, "step", "main.c", 12);
    rkc_profile_region_get(profile, RKC_REGION_MPI, "halo \xc3\xa9", NULL, 0);
    profile->regions[1].flags = 1;
    profile->regions[1].every = 10;
    for (uint32_t i = 0; i < 3; i++)
        rkc_profile_path_get(profile, i - 1, i);
    rkc_profile_note_add(profile, RKC_NOTE_UNCLOSED, 1, 6, 3, "open at exit");
    rkc_profile_note_add(profile, RKC_NOTE_LOST, RKC_NO_PATH, 2, 1, NULL);
    rkc_profile_ranks_add(profile, 2, 3);
    rkc_profile_ranks_add(profile, 6, 6);
    profile->paths_folded = 17;
    if (!numbers)
        return;
    struct rkc_stat other;
    rkc_stat_set(&rkc_profile_stats(profile, 0)[RKC_METRIC_VISITS], 1, 6);
    rkc_stat_set(&rkc_profile_stats(profile, 2)[RKC_METRIC_BLOCKED], INT64_MAX, 2);
    rkc_stat_set(&other, 0, 6);
    rkc_stat_merge(&rkc_profile_stats(profile, 2)[RKC_METRIC_BLOCKED], &other);
    profile->numbers.hist[2].time[0] = 5;
    profile->numbers.hist[2].time[RKC_TIME_BUCKETS - 1] = UINT64_MAX;
    profile->numbers.hist[2].size[RKC_SIZE_BUCKETS - 1] = 8;
    profile->numbers.hist[2].visit_sumsq_ns2 = ~(rkc_u128)0;
}

static void buffers(void)
{
    struct rkc_buffer buffer = {0};
    rkc_buffer_add_u32(&buffer, 7);
    rkc_buffer_add_text(&buffer, "text");
    rkc_buffer_add_text(&buffer, NULL);
    rkc_buffer_add_u64(&buffer, UINT64_MAX);
    is_int((int64_t)buffer.size, 4 + 8 + 4 + 8, "a text takes its length and its bytes");

    struct rkc_cursor cursor = cursor_of(&buffer);
    is_int(rkc_cursor_u32(&cursor), 7, "numbers come out as they went in");
    char *text = rkc_cursor_text(&cursor, 4);
    is_str(text, "text", "so do texts");
    free(text);
    text = rkc_cursor_text(&cursor, 0);
    is_str(text, "", "no text is an empty one");
    free(text);
    ok(rkc_cursor_u64(&cursor) == UINT64_MAX, "64 bits are whole");
    is_int(cursor.failed, 0, "up to the end nothing fails");
    ok(rkc_cursor_take(&cursor, 1) == NULL, "there is nothing beyond the end");
    cursor.at = buffer.data;
    is_int(rkc_cursor_u32(&cursor), 0, "after a failure every number is 0");

    cursor = cursor_of(&buffer);
    rkc_cursor_u32(&cursor);
    ok(rkc_cursor_text(&cursor, 3) == NULL && cursor.failed, "a text over the limit is refused");
    buffer.data[9] = '\0';
    cursor = cursor_of(&buffer);
    rkc_cursor_u32(&cursor);
    ok(rkc_cursor_text(&cursor, 4) == NULL && cursor.failed, "so is one with a NUL inside");
    rkc_buffer_free(&buffer);

    buffer.size = buffer.capacity = SIZE_MAX - 2;
    rkc_buffer_add_u32(&buffer, 1);
    rkc_buffer_add_text(&buffer, "x");
    is_int(buffer.failed, 1, "a buffer larger than memory fails");
    ok(buffer.size == SIZE_MAX - 2, "and stays as it was");
    rkc_buffer_free(&buffer);
    rkc_buffer_free(NULL);
}

static void ranges(void)
{
    static const struct rkc_rank_range good[] = {{0, 3}, {4, 4}}, crossed[] = {{0, 3}, {3, 4}},
                                       backwards[] = {{5, 4}}, below[] = {{-2, 4}};
    static const struct {
        const struct rkc_rank_range *ranges;
        uint32_t n;
        int status;
        const char *what;
    } cases[] = {
        {good, 2, 0, "rising ranges are taken"},
        {NULL, 0, 0, "so are none"},
        {crossed, 2, RKC_EFORMAT, "ranges that overlap are refused"},
        {backwards, 1, RKC_EFORMAT, "so are those that run backwards"},
        {below, 1, RKC_EFORMAT, "and those that begin below 0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rkc_buffer buffer = {0};
        rkc_buffer_add_ranges(&buffer, cases[i].ranges, cases[i].n);
        struct rkc_cursor cursor = cursor_of(&buffer);
        struct rkc_rank_range *taken = NULL;
        uint32_t n = 9;
        is_int(rkc_cursor_ranges(&cursor, &taken, &n), cases[i].status, cases[i].what);
        ok(cases[i].status ? n == 9 && !taken : n == cases[i].n, "outputs are set on success only");
        free(taken);
        rkc_buffer_free(&buffer);
    }
}

static void round_trip(int numbers)
{
    struct rkc_profile profile, copy;
    struct rkc_buffer buffer = {0}, again = {0};
    make(&profile, numbers);
    is_int(rkc_profile_pack(&profile, &buffer), 0, "a profile is packed");
    rkc_buffer_add_u32(&buffer, 99);
    struct rkc_cursor cursor = cursor_of(&buffer);
    is_int(rkc_profile_unpack(&copy, &cursor), 0, "and unpacked");
    is_int(rkc_cursor_u32(&cursor), 99, "what follows it is left");
    rkc_profile_pack(&copy, &again);
    ok(again.size == buffer.size - 4 && memcmp(again.data, buffer.data, again.size) == 0,
       "packed again it is the same");

    is_int(copy.n_regions, 3, "it has its regions");
    is_str(copy.regions[2].name, "halo \xc3\xa9", "with their names");
    is_str(copy.regions[1].file, "main.c", "and places");
    ok(copy.regions[2].file == NULL, "or none");
    is_int(copy.regions[1].line, 12, "and lines");
    is_int(copy.regions[2].kind, RKC_REGION_MPI, "and kinds");
    is_int(copy.regions[1].flags, 1, "and flags");
    is_int(copy.regions[1].every, 10, "and sampling");
    ok(copy.n_paths == 3 && memcmp(copy.paths, profile.paths, 3 * sizeof *copy.paths) == 0,
       "it has its paths");
    is_int(copy.n_notes, 2, "it has its notes");
    is_str(copy.notes[0].text, "open at exit", "with their texts");
    ok(copy.notes[0].kind == RKC_NOTE_UNCLOSED && copy.notes[0].region == 1 &&
           copy.notes[0].rank == 6 && copy.notes[0].count == 3, "and what they say");
    is_int(copy.notes[1].region, RKC_NO_PATH, "a note may have no region");
    ok(copy.n_ranks == 2 && copy.ranks[1].first == 6, "it has its ranks");
    is_int(copy.paths_folded, 17, "it knows what was folded");
    is_int(copy.has_numbers, numbers, "it has numbers if the other has");
    if (numbers)
        ok(memcmp(copy.numbers.stats, profile.numbers.stats,
                  3 * RKC_METRICS * sizeof *copy.numbers.stats) == 0 &&
               memcmp(copy.numbers.hist, profile.numbers.hist, 3 * sizeof *copy.numbers.hist) == 0,
           "to the last bit");
    is_int(rkc_profile_path_get(&copy, 1, 2), 2, "paths are found as before");
    rkc_profile_free(&profile);
    rkc_profile_free(&copy);
    rkc_buffer_free(&buffer);
    rkc_buffer_free(&again);
}

/* Unpack a copy of just these bytes, so that a read behind them is seen by a checker. */
static int unpack_bytes(const char *bytes, size_t size, struct rkc_profile *profile)
{
    char *copy = malloc(size ? size : 1);
    memcpy(copy, bytes, size);
    struct rkc_cursor cursor = {.at = copy, .end = copy + size};
    int status = rkc_profile_unpack(profile, &cursor);
    free(copy);
    return status;
}

static void damage(void)
{
    struct rkc_profile profile, copy;
    struct rkc_buffer buffer = {0};
    make(&profile, 1);
    rkc_profile_pack(&profile, &buffer);
    rkc_profile_free(&profile);

    int taken = 0, left = 0, odd = 0;
    for (size_t size = 0; size < buffer.size; size++) {
        taken += unpack_bytes(buffer.data, size, &copy) != RKC_EFORMAT;
        left += copy.regions || copy.paths || copy.notes || copy.ranks || copy.numbers.stats;
    }
    is_int(taken, 0, "a profile cut short anywhere is refused");
    is_int(left, 0, "and nothing is left of it");
    for (size_t i = 0; i < buffer.size; i++) {
        for (unsigned bit = 1; bit < 256; bit <<= 1) {
            buffer.data[i] ^= (char)bit;
            int status = unpack_bytes(buffer.data, buffer.size, &copy);
            odd += status != 0 && status != RKC_EFORMAT;
            taken += i < 12 && status == 0;
            rkc_profile_free(&copy);
            buffer.data[i] ^= (char)bit;
        }
    }
    is_int(odd, 0, "a flipped bit gives a profile or is refused");
    is_int(taken, 0, "one in the mark is refused");
    rkc_buffer_free(&buffer);
}

/* The mark of a packed profile and what comes before the regions. */
static void begin_profile(struct rkc_buffer *buffer)
{
    struct rkc_profile none;
    rkc_profile_init(&none, 0);
    rkc_profile_pack(&none, buffer);
    buffer->size -= 4 * sizeof(uint32_t); /* the counts of regions, paths, notes and ranges */
}

static void add_u32s(struct rkc_buffer *buffer, const uint32_t *values, size_t n)
{
    rkc_buffer_add(buffer, values, n * sizeof *values);
}

/* One region, (run), of this kind. */
static void add_run(struct rkc_buffer *buffer, uint32_t kind)
{
    rkc_buffer_add_text(buffer, "(run)");
    rkc_buffer_add_text(buffer, "");
    add_u32s(buffer, (uint32_t[]){0, kind, 0, 0}, 4);
}

static void refused(struct rkc_buffer *buffer, int status, const char *what)
{
    struct rkc_profile profile;
    is_int(unpack_bytes(buffer->data, buffer->size, &profile), status, what);
    rkc_profile_free(&profile);
    rkc_buffer_free(buffer);
}

static void bad_trees(void)
{
    static const struct {
        uint32_t kind, tail[12], n_tail;
        int status;
        const char *what;
    } cases[] = {
        {RKC_REGION_ROOT, {1, RKC_NO_PATH, 0, 0, 0}, 5, 0, "a root alone is a profile"},
        {RKC_REGION_KINDS, {0, 0, 0}, 3, RKC_EFORMAT, "a region has a known kind"},
        {RKC_REGION_ROOT, {1, 0, 0, 0, 0}, 5, RKC_EFORMAT, "a root is below nothing"},
        {RKC_REGION_ROOT, {1, RKC_NO_PATH, 1, 0, 0}, 5, RKC_EFORMAT, "a path has a known region"},
        {RKC_REGION_ROOT, {2, RKC_NO_PATH, 0, 1, 0, 0, 0}, 7, RKC_EFORMAT,
         "a path is not below itself"},
        {RKC_REGION_ROOT, {2, RKC_NO_PATH, 0, RKC_NO_PATH, 0, 0, 0}, 7, RKC_EFORMAT,
         "there is one root"},
        {RKC_REGION_ROOT, {3, RKC_NO_PATH, 0, 0, 0, 0, 0, 0, 0}, 9, RKC_EFORMAT,
         "a path occurs once"},
        {RKC_REGION_ROOT, {UINT32_MAX, RKC_NO_PATH, 0}, 3, RKC_EFORMAT,
         "paths that are not there are refused"},
        {RKC_REGION_ROOT, {0, 1, RKC_NOTES, 0, 0, 1, 0, 0, 0}, 9, RKC_EFORMAT,
         "a note has a known kind"},
        {RKC_REGION_ROOT, {0, 1, 0, 1, 0, 1, 0, 0, 0}, 9, RKC_EFORMAT, "and a known region"},
        {RKC_REGION_ROOT, {0, 1, 0, 0, 0, 1, UINT32_MAX, 0, 0}, 9, RKC_EFORMAT,
         "and no negative count"},
        {RKC_REGION_ROOT, {0, 1, 0, 0, 0, 1, 0, 0, 0}, 9, 0, "then it is taken"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rkc_buffer buffer = {0};
        begin_profile(&buffer);
        rkc_buffer_add_u32(&buffer, 1);
        add_run(&buffer, cases[i].kind);
        add_u32s(&buffer, cases[i].tail, cases[i].n_tail);
        refused(&buffer, cases[i].status, cases[i].what);
    }

    struct rkc_buffer buffer = {0};
    begin_profile(&buffer);
    rkc_buffer_add_u32(&buffer, 2);
    add_run(&buffer, RKC_REGION_ROOT);
    add_run(&buffer, RKC_REGION_ROOT);
    add_u32s(&buffer, (uint32_t[]){0, 0, 0}, 3);
    refused(&buffer, RKC_EFORMAT, "a region occurs once");

    begin_profile(&buffer);
    add_u32s(&buffer, (uint32_t[]){0, 0, 2, 0, RKC_NO_PATH, 0, 1, 0, 0}, 9);
    add_u32s(&buffer, (uint32_t[]){0, RKC_NO_PATH, 0, 1, 0, 0, 0}, 7);
    refused(&buffer, RKC_EFORMAT, "a note occurs once");
}

static void numbers_of_one_rank(void)
{
    struct rkc_numbers numbers;
    rkc_numbers_init(&numbers, 100, 50);
    int64_t values[RKC_METRICS];
    for (int i = 0; i < RKC_METRICS; i++)
        values[i] = i % 3 ? 10 * i : RKC_ABSENT;
    numbers.hist[7].time[3] = 4;
    for (int i = 0; i < RKC_METRICS; i++)
        if (values[i] != RKC_ABSENT)
            rkc_stat_set(&numbers.stats[7 * RKC_METRICS + i], values[i], 12);
    rkc_stat_set(&numbers.stats[9 * RKC_METRICS], 1, 12);

    struct rkc_buffer slow = {0}, quick = {0};
    rkc_numbers_pack(&numbers, &slow);
    rkc_numbers_pack_begin(&quick, 100, 50, 2);
    rkc_numbers_pack_path(&quick, 107, 12, values, &numbers.hist[7]);
    for (int i = 1; i < RKC_METRICS; i++)
        values[i] = RKC_ABSENT;
    values[0] = 1;
    rkc_numbers_pack_path(&quick, 109, 12, values, NULL);
    int64_t present = RKC_METRICS - (RKC_METRICS + 2) / 3;
    is_int((int64_t)slow.size, 24 + (12 + present * 12 + 16 + 9 + 1) + (12 + 12 + 16 + 1),
           "only what is present takes room");
    is_int((int64_t)quick.size, 24 + (16 + present * 8 + 16 + 9 + 1) + (16 + 8 + 16 + 1),
           "one rank's values take less");
    struct rkc_numbers again;
    struct rkc_cursor quick_cursor = cursor_of(&quick);
    is_int(rkc_numbers_unpack(&again, &quick_cursor), 0, "they can be unpacked");
    ok(memcmp(again.stats, numbers.stats, 50 * RKC_METRICS * sizeof *numbers.stats) == 0 &&
           memcmp(again.hist, numbers.hist, 50 * sizeof *numbers.hist) == 0,
       "and are what its statistics are");
    rkc_numbers_free(&again);

    struct rkc_numbers copy;
    struct rkc_cursor cursor = cursor_of(&quick);
    is_int(rkc_numbers_unpack(&copy, &cursor), 0, "numbers are unpacked");
    ok(copy.first == 100 && copy.n == 50, "into their window");
    cursor = cursor_of(&quick);
    is_int(rkc_numbers_merge_packed(&copy, &cursor), 0, "or added where they are packed");
    struct rkc_numbers twice;
    cursor = cursor_of(&slow);
    rkc_numbers_unpack(&twice, &cursor);
    rkc_numbers_merge(&twice, &numbers);
    ok(memcmp(copy.stats, twice.stats, 50 * RKC_METRICS * sizeof *copy.stats) == 0 &&
           memcmp(copy.hist, twice.hist, 50 * sizeof *copy.hist) == 0,
       "which is the same as to unpack and add them");

    struct rkc_numbers other;
    rkc_numbers_init(&other, 101, 50);
    cursor = cursor_of(&quick);
    is_int(rkc_numbers_merge_packed(&other, &cursor), RKC_EFORMAT, "the window is checked");
    rkc_numbers_free(&other);
    rkc_numbers_free(&twice);
    rkc_numbers_free(&copy);
    rkc_numbers_free(&numbers);
    rkc_buffer_free(&slow);
    rkc_buffer_free(&quick);
}

/* Numbers of the window 4..6 with this one statistic, of VISITS, in path 5. */
static int unpack_stat(const struct rkc_stat *stat)
{
    struct rkc_numbers numbers;
    rkc_numbers_init(&numbers, 4, 3);
    numbers.stats[RKC_METRICS] = *stat;
    struct rkc_buffer buffer = {0};
    rkc_numbers_pack(&numbers, &buffer);
    rkc_numbers_free(&numbers);
    struct rkc_cursor cursor = cursor_of(&buffer);
    int status = rkc_numbers_unpack(&numbers, &cursor);
    rkc_numbers_free(&numbers);
    rkc_buffer_free(&buffer);
    return status;
}

static void bad_numbers(void)
{
    struct rkc_stat good = {.sum = 3, .sumsq = 5, .min = 1, .max = 2, .ranks = 2};
    struct rkc_stat bad = good;
    is_int(unpack_stat(&good), 0, "a statistic of two ranks is taken");
    bad.ranks = -1;
    is_int(unpack_stat(&bad), RKC_EFORMAT, "one of fewer than none is refused");
    bad = good;
    bad.min = 3;
    is_int(unpack_stat(&bad), RKC_EFORMAT, "so is one whose least is above its greatest");
    bad = good;
    bad.max_rank = -1;
    is_int(unpack_stat(&bad), RKC_EFORMAT, "and one of a negative rank");

    enum { MAX = RKC_PROFILE_PATHS_MAX, ALL = 1 << RKC_METRICS };
    static const struct {
        uint32_t first, n, n_present, path, have, single;
        uint8_t bucket;
        int status;
        const char *what;
    } cases[] = {
        {4, 3, 1, 6, 0, 0, 159, 0, "the last bucket of sizes is taken"},
        {4, 3, 1, 6, 0, 0, 160, RKC_EFORMAT, "one beyond is refused"},
        {4, 3, 1, 7, 0, 0, 0, RKC_EFORMAT, "so is a path above the window"},
        {4, 3, 1, 3, 0, 0, 0, RKC_EFORMAT, "and one below"},
        {4, 3, 4, 6, 0, 0, 0, RKC_EFORMAT, "more paths than the window"},
        {4, 3, 1, 6, ALL, 0, 0, RKC_EFORMAT, "an unknown metric"},
        {4, 3, 1, 6, 0, 1, 0, RKC_EFORMAT, "a single metric that is absent"},
        {1, MAX, 1, 6, 0, 0, 0, RKC_EFORMAT, "a window beyond the last path"},
        {UINT32_MAX, 2, 1, 0, 0, 0, 0, RKC_EFORMAT, "a window that wraps"},
        {0, MAX, 1, MAX - 1, 0, 0, 0, 0, "the largest window is taken"},
        {4, 3, 2, 6, 0, 0, 0, RKC_EFORMAT, "a path that comes twice is refused"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rkc_buffer buffer = {0};
        rkc_numbers_pack_begin(&buffer, cases[i].first, cases[i].n, cases[i].n_present);
        for (int twice = 0; twice < 2; twice++) {
            add_u32s(&buffer, (uint32_t[]){cases[i].path, cases[i].have, cases[i].single}, 3);
            rkc_buffer_add(&buffer, &(rkc_u128){0}, 16);
            rkc_buffer_add(&buffer, &cases[i].bucket, 1);
            rkc_buffer_add_u64(&buffer, 1);
            rkc_buffer_add(&buffer, &(uint8_t){255}, 1);
        }
        struct rkc_numbers numbers;
        struct rkc_cursor cursor = cursor_of(&buffer);
        is_int(rkc_numbers_unpack(&numbers, &cursor), cases[i].status, cases[i].what);
        rkc_numbers_free(&numbers);
        rkc_buffer_free(&buffer);
    }

    struct rkc_buffer buffer = {0};
    int64_t values[RKC_METRICS] = {1};
    struct rkc_numbers numbers;
    rkc_numbers_pack_begin(&buffer, 0, 1, 1);
    rkc_numbers_pack_path(&buffer, 0, -1, values, NULL);
    struct rkc_cursor cursor = cursor_of(&buffer);
    is_int(rkc_numbers_unpack(&numbers, &cursor), RKC_EFORMAT, "a negative rank is none");
    rkc_buffer_free(&buffer);
}

/* Paths 0 and 2 of three, which are numbers 4 and 1 of five. */
static void other_numbering(void)
{
    const uint32_t map[] = {4, 0, 1};
    struct rkc_buffer buffer = {0};
    struct rkc_numbers numbers;
    int64_t values[RKC_METRICS], row[2 * 5], visits[] = {7, 0, 9};
    struct rkc_path_hist hist = {.time = {[3] = 2}};
    rkc_numbers_pack_begin(&buffer, 0, 3, 2);
    for (uint32_t path = 0; path < 3; path += 2) {
        for (int metric = 0; metric < RKC_METRICS; metric++)
            values[metric] = metric == RKC_METRIC_VISITS ? visits[path] : RKC_ABSENT;
        values[RKC_METRIC_THREADS] = 1;
        rkc_numbers_pack_path(&buffer, path, 6, values, &hist);
    }

    rkc_numbers_init(&numbers, 0, 5);
    struct rkc_cursor cursor = cursor_of(&buffer);
    is_int(rkc_numbers_merge_mapped(&numbers, map, 3, &cursor), 0, "numbers find other places");
    const struct rkc_stat *fourth = numbers.stats + 4 * RKC_METRICS + RKC_METRIC_VISITS;
    ok(fourth->sum == 7 && fourth->min_rank == 6 && numbers.hist[4].time[3] == 2,
       "those of their path's number there");
    is_int((int64_t)numbers.stats[RKC_METRICS + RKC_METRIC_VISITS].sum, 9, "each of them");
    cursor = cursor_of(&buffer);
    is_int(rkc_numbers_merge_mapped(&numbers, map, 4, &cursor), RKC_EFORMAT,
           "of as many paths as the numbering is for");
    numbers.n = 4;
    cursor = cursor_of(&buffer);
    is_int(rkc_numbers_merge_mapped(&numbers, map, 3, &cursor), RKC_EFORMAT,
           "a number that is not there is refused");
    numbers.n = 5;
    rkc_numbers_free(&numbers);

    memset(row, 0xff, sizeof row);
    row[5 + 1] = 100;
    uint32_t metrics = 1 << RKC_METRIC_VISITS | 1 << RKC_METRIC_THREADS;
    cursor = cursor_of(&buffer);
    is_int(rkc_numbers_take_row(&cursor, map, 3, metrics, 5, 5, row), 0, "so do values");
    ok(row[0] == RKC_ABSENT && row[1] == 9 && row[4] == 7, "where there is none it stays absent");
    ok(row[5 + 4] == 1 && row[5 + 1] == 101, "what is there already is added to");
    cursor = cursor_of(&buffer);
    is_int(rkc_numbers_take_row(&cursor, map, 3, metrics, 4, 5, row), RKC_EFORMAT,
           "no value goes beyond the row");
    rkc_buffer_free(&buffer);
}

int main(void)
{
    buffers();
    ranges();
    round_trip(0);
    round_trip(1);
    damage();
    bad_trees();
    numbers_of_one_rank();
    bad_numbers();
    other_numbering();
    return done_testing();
}
