/* profile.c - call paths are merged by name, and the bracketing of a merge does not matter. */
#include "autoconf.h"

#include "profile.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <rankclock/region.h>
#include <rankclock/status.h>

#include "pack.h"
#include "tap.h"

static uint32_t region(struct rkc_profile *profile, const char *name)
{
    return (uint32_t)rkc_profile_region_get(profile, RKC_REGION_USER, name, NULL, 0);
}

static uint32_t path(struct rkc_profile *profile, uint32_t parent, const char *name)
{
    return (uint32_t)rkc_profile_path_get(profile, parent, region(profile, name));
}

static uint32_t root(struct rkc_profile *profile)
{
    int64_t run = rkc_profile_region_get(profile, RKC_REGION_ROOT, "(run)", NULL, 0);
    return (uint32_t)rkc_profile_path_get(profile, RKC_NO_PATH, (uint32_t)run);
}

static void set(struct rkc_profile *profile, uint32_t at, enum rkc_metric metric, int64_t value,
                int32_t rank)
{
    rkc_stat_set(&rkc_profile_stats(profile, at)[metric], value, rank);
}

static const struct rkc_stat *visits(const struct rkc_profile *profile, uint32_t at)
{
    return &rkc_profile_stats(profile, at)[RKC_METRIC_VISITS];
}

static void regions(void)
{
    struct rkc_profile profile;
    rkc_profile_init(&profile, 0);
    is_int(rkc_profile_region_get(&profile, RKC_REGION_USER, "step", NULL, 3), 0, "a new region");
    is_int(rkc_profile_region_get(&profile, RKC_REGION_MPI, "step", NULL, 0), 1,
           "the same name of another kind is another region");
    is_int(rkc_profile_region_get(&profile, RKC_REGION_USER, "step", "a.c", 7), 0, "found again");
    is_int(rkc_profile_region_get(&profile, RKC_REGION_USER, "step", "b.c", 9), 0, "and again");
    is_str(profile.regions[0].file, "a.c", "the first file given is kept");
    is_int(profile.regions[0].line, 7, "with its line");

    char name[RKC_NAME_MAX + 1], file[2000];
    memset(name, 'x', sizeof name);
    name[RKC_NAME_MAX] = '\0';
    is_int(rkc_profile_region_get(&profile, RKC_REGION_USER, name, NULL, 0), RKC_ENAME,
           "a name that is too long is refused");
    is_int(rkc_profile_region_get(&profile, RKC_REGION_USER, name + 1, NULL, 0), 2,
           "the longest name is not");
    is_int(rkc_profile_region_get(&profile, RKC_REGION_USER, "", NULL, 0), RKC_ENAME,
           "an empty name is refused");
    is_int(rkc_profile_region_get(&profile, RKC_REGION_USER, NULL, NULL, 0), RKC_ENAME,
           "so is none");
    is_int(rkc_profile_region_get(&profile, RKC_REGION_KINDS, "step", NULL, 0), RKC_EARG,
           "so is a kind that there is not");

    memset(file, 'd', sizeof file);
    strcpy(file + sizeof file - 5, "/e.c");
    int64_t far = rkc_profile_region_get(&profile, RKC_REGION_USER, "far", file, 1);
    is_int((int64_t)strlen(profile.regions[far].file), RKC_PROFILE_FILE_MAX, "a long file is cut");
    is_str(strrchr(profile.regions[far].file, '/'), "/e.c", "at its beginning");
    rkc_profile_free(&profile);
    rkc_profile_free(NULL);
}

static void paths(void)
{
    struct rkc_profile profile;
    rkc_profile_init(&profile, 1);
    uint32_t step = region(&profile, "step");
    is_int(rkc_profile_path_get(&profile, 0, step), RKC_EARG, "nothing is below no root");
    is_int(root(&profile), 0, "the root is path 0");
    is_int(rkc_profile_path_get(&profile, RKC_NO_PATH, step), 0, "and there is but one");
    is_int(rkc_profile_path_get(&profile, 0, step), 1, "a new path");
    is_int(rkc_profile_path_get(&profile, 1, step), 2, "the same region below it is another");
    is_int(rkc_profile_path_get(&profile, 0, step), 1, "found again");
    is_int(rkc_profile_path_get(&profile, 0, 99), RKC_EARG, "no path of an unknown region");
    is_int(rkc_profile_path_get(&profile, 99, step), RKC_EARG, "nor below an unknown path");
    is_int(profile.paths[2].depth, 2, "depth counts the paths above");
    is_int(profile.numbers.n, 3, "numbers grow with the paths");
    is_int(visits(&profile, 2)->ranks, 0, "a new path has no metrics");

    uint32_t deepest = 2;
    while (profile.n_paths < 50000)
        deepest = path(&profile, deepest, "deep");
    is_int(profile.paths[deepest].depth, 49999, "depth has no limit but that of paths");

    struct rkc_profile copy;
    rkc_profile_init(&copy, 0);
    is_int(rkc_profile_merge(&copy, &profile, NULL), 0, "a very deep tree is merged");
    is_int(copy.n_paths, 50000, "whole");
    rkc_profile_free(&copy);
    rkc_profile_free(&profile);
}

/* Rank 1: (run) 1 visit, step 4, halo in step 10. Rank 0: (run) 1, halo 2, step 8, halo in
 * step 3. */
static void merging(void)
{
    struct rkc_profile a, b;
    rkc_profile_init(&a, 1);
    rkc_profile_init(&b, 1);
    uint32_t a_step = path(&a, root(&a), "step"), a_halo = path(&a, a_step, "halo");
    set(&a, 0, RKC_METRIC_VISITS, 1, 1);
    set(&a, a_step, RKC_METRIC_VISITS, 4, 1);
    set(&a, a_halo, RKC_METRIC_VISITS, 10, 1);
    a.numbers.hist[a_halo].time[20] = 10;
    a.numbers.hist[a_halo].visit_sumsq_ns2 = ~(rkc_u128)0 - 5;
    rkc_profile_ranks_add(&a, 1, 1);

    uint32_t b_top = path(&b, root(&b), "halo"), b_step = path(&b, 0, "step");
    uint32_t b_halo = path(&b, b_step, "halo");
    set(&b, 0, RKC_METRIC_VISITS, 1, 0);
    set(&b, b_top, RKC_METRIC_VISITS, 2, 0);
    set(&b, b_step, RKC_METRIC_VISITS, 8, 0);
    set(&b, b_halo, RKC_METRIC_VISITS, 3, 0);
    b.numbers.hist[b_halo].time[20] = 2;
    b.numbers.hist[b_halo].time[21] = 1;
    b.numbers.hist[b_halo].size[63] = 3;
    b.numbers.hist[b_halo].visit_sumsq_ns2 = 9;
    rkc_profile_ranks_add(&b, 0, 0);

    uint32_t map[4];
    is_int(rkc_profile_merge(&a, &b, map), 0, "two ranks are merged");
    is_int(a.n_paths, 4, "call paths are matched by name");
    is_int(map[0], 0, "the root is the root");
    is_int(map[b_top], 3, "a new path comes behind");
    is_int(map[b_step], a_step, "a known path keeps its number");
    is_int(map[b_halo], a_halo, "in whatever order it came");
    is_int((int64_t)visits(&a, a_halo)->sum, 13, "metrics are added to the matching path");
    is_int(visits(&a, a_halo)->min_rank, 0, "with the rank of the least");
    is_int(visits(&a, 0)->max_rank, 0, "equal extremes belong to the lowest rank");
    is_int(visits(&a, 3)->ranks, 1, "a path of one rank counts one");
    is_int((int64_t)a.numbers.hist[a_halo].time[20], 12, "durations are counted together");
    is_int((int64_t)a.numbers.hist[a_halo].time[21], 1, "bucket by bucket");
    is_int((int64_t)a.numbers.hist[a_halo].size[63], 3, "and sizes");
    ok(a.numbers.hist[a_halo].visit_sumsq_ns2 == ~(rkc_u128)0, "squares of visits saturate");
    ok(a.n_ranks == 1 && a.ranks[0].first == 0 && a.ranks[0].last == 1, "rank ranges are joined");
    rkc_profile_free(&a);
    rkc_profile_free(&b);
}

static void windows(void)
{
    struct rkc_numbers a, b, c;
    is_int(rkc_numbers_init(&a, 10, 2), 0, "a window of numbers");
    rkc_numbers_init(&b, 10, 2);
    rkc_numbers_init(&c, 11, 2);
    rkc_stat_set(&b.stats[RKC_METRICS + RKC_METRIC_BYTES_SENT], 70, 3);
    is_int(rkc_numbers_merge(&a, &b), 0, "windows of the same paths are merged");
    is_int(rkc_numbers_merge(&a, &b), 0, "and again");
    is_int((int64_t)a.stats[RKC_METRICS + RKC_METRIC_BYTES_SENT].sum, 140, "path by path");
    is_int(a.stats[RKC_METRIC_BYTES_SENT].ranks, 0, "the others stay absent");
    is_int(rkc_numbers_merge(&a, &c), RKC_EARG, "windows of other paths are refused");
    rkc_numbers_free(&a);
    rkc_numbers_free(&b);
    rkc_numbers_free(&c);
    rkc_numbers_free(NULL);
    is_int(rkc_numbers_init(&a, 0, 0), 0, "a window may be empty");
    rkc_numbers_free(&a);
}

static void notes(void)
{
    struct rkc_profile a, b;
    rkc_profile_init(&a, 0);
    rkc_profile_init(&b, 0);
    region(&a, "other");
    uint32_t a_step = region(&a, "step"), b_step = region(&b, "step");
    rkc_profile_note_add(&a, RKC_NOTE_UNCLOSED, a_step, 5, 2, "from 5");
    rkc_profile_note_add(&a, RKC_NOTE_UNCLOSED, RKC_NO_PATH, 5, 1, NULL);
    rkc_profile_note_add(&b, RKC_NOTE_UNCLOSED, b_step, 3, 40, "from 3");
    rkc_profile_note_add(&b, RKC_NOTE_UNCLOSED, b_step, 3, INT64_MAX - 41, "again");
    rkc_profile_note_add(&b, RKC_NOTE_LOST, b_step, 3, 1, NULL);
    is_int(b.n_notes, 2, "equal kind and region are one row");
    is_int(rkc_profile_merge(&a, &b, NULL), 0, "notes are merged");
    is_int(a.n_notes, 3, "notes of the same region are one row, whatever its index");
    is_int(a.notes[0].count, INT64_MAX, "counts add up");
    is_int(a.notes[0].rank, 3, "the lowest rank is named");
    is_str(a.notes[0].text, "from 3", "and its first text kept");
    is_int(a.notes[2].region, a_step, "the region of a new note is found by name");
    rkc_profile_merge(&a, &b, NULL);
    is_int(a.notes[0].count, INT64_MAX, "counts saturate");
    is_int(rkc_profile_note_add(&a, RKC_NOTES, 0, 0, 1, NULL), RKC_EARG, "no such kind");
    is_int(rkc_profile_note_add(&a, RKC_NOTE_LOST, 9, 0, 1, NULL), RKC_EARG, "no such region");

    char text[2 * RKC_NOTE_TEXT_MAX];
    memset(text, 'x', sizeof text);
    text[RKC_NOTE_TEXT_MAX - 2] = '\xc3';
    text[RKC_NOTE_TEXT_MAX - 1] = '\xa9';
    text[sizeof text - 1] = '\0';
    rkc_profile_note_add(&a, RKC_NOTE_CLOCK, RKC_NO_PATH, 0, 1, text);
    is_int((int64_t)strlen(a.notes[3].text), RKC_NOTE_TEXT_MAX - 2,
           "a long text is cut between characters");

    for (int i = 0; i < 2 * RKC_PROFILE_NOTES_MAX; i++) {
        char name[32];
        snprintf(name, sizeof name, "r%d", i);
        rkc_profile_note_add(&a, RKC_NOTE_NODES, region(&a, name), i, 1, NULL);
    }
    is_int(a.n_notes, RKC_PROFILE_NOTES_MAX + 1, "rows of regions have a limit");
    is_int(a.notes[RKC_PROFILE_NOTES_MAX].region, RKC_NO_PATH, "beyond it the region is left out");
    is_int(a.notes[RKC_PROFILE_NOTES_MAX].count, RKC_PROFILE_NOTES_MAX + 4, "but still counted");
    rkc_profile_free(&a);
    rkc_profile_free(&b);
}

static void rank_ranges(void)
{
    struct rkc_profile a, b;
    rkc_profile_init(&a, 0);
    rkc_profile_init(&b, 0);
    rkc_profile_ranks_add(&a, 8, 9);
    rkc_profile_ranks_add(&a, 0, 2);
    rkc_profile_ranks_add(&a, 4, 4);
    is_int(a.n_ranks, 3, "ranges with gaps between them stay apart");
    is_int(a.ranks[0].last, 2, "and are sorted");
    rkc_profile_ranks_add(&b, 3, 3);
    rkc_profile_ranks_add(&b, 9, 20);
    rkc_profile_ranks_add(&b, INT32_MAX, INT32_MAX);
    rkc_profile_merge(&a, &b, NULL);
    is_int(a.n_ranks, 3, "what touches is joined");
    ok(a.ranks[0].first == 0 && a.ranks[0].last == 4, "a gap of one is filled");
    ok(a.ranks[1].first == 8 && a.ranks[1].last == 20, "an overlap counts once");
    rkc_profile_ranks_add(&a, 0, INT32_MAX);
    is_int(a.n_ranks, 1, "one range can cover all");
    is_int(rkc_profile_ranks_add(&a, 2, 1), RKC_EARG, "a range does not run backwards");
    is_int(rkc_profile_ranks_add(&a, -1, 1), RKC_EARG, "nor begin below 0");
    rkc_profile_free(&a);
    rkc_profile_free(&b);
}

static uint32_t dice_state = 1;

static uint32_t dice(uint32_t sides)
{
    dice_state = dice_state * 1664525u + 1013904223u;
    return (dice_state >> 8) % sides;
}

/* A few rows of transfers and of a rank's waits, on few call paths and communicators. */
static void add_random_mpi(struct rkc_profile *profile, int32_t rank)
{
    for (uint32_t i = dice(6); i > 0; i--) {
        struct rkc_transfer *row = rkc_profile_transfer_get(
            profile, dice(profile->n_paths), dice(RKC_KINDS), (int)dice(2), dice(RKC_KINDS),
            (int)dice(2));
        row->sent += dice(100);
        row->ns += dice(4) ? dice(100) : INT64_MAX / 16;
        row->size[dice(RKC_SIZE_BUCKETS)] += 1 + dice(3);
    }
    for (uint32_t i = dice(6); i > 0; i--) {
        struct rkc_comm_id comm = {dice(2), 2 + (int32_t)dice(2), (int32_t)dice(2)};
        rkc_profile_wait_add(profile, dice(profile->n_paths), &comm, rank, 1 + dice(2),
                             dice(4) ? dice(5) : INT64_MAX / 2, dice(2) ? dice(9) : RKC_ABSENT);
    }
}

/* A random tree below 30 paths, now and then empty, with some of its metrics absent. */
static void make_random(struct rkc_profile *profile, int32_t rank)
{
    rkc_profile_init(profile, 1);
    rkc_profile_ranks_add(profile, rank, rank + (int32_t)dice(2));
    if (dice(8) == 0)
        return;
    root(profile);
    for (uint32_t i = dice(30); i > 0; i--) {
        char name[2] = {(char)('a' + dice(8)), '\0'}, file[] = "a.c";
        file[0] = name[0];
        uint32_t parent = dice(profile->n_paths);
        int64_t found = rkc_profile_region_get(profile, 1 + dice(2), name, dice(2) ? file : NULL,
                                               name[0]);
        profile->regions[found].flags |= (uint8_t)dice(2);
        profile->regions[found].every = dice(4);
        if (dice(4) == 0)
            rkc_profile_note_add(profile, dice(3), dice(3) ? (uint32_t)found : RKC_NO_PATH, rank,
                                 dice(100), name);
        rkc_profile_path_get(profile, parent, (uint32_t)found);
    }
    for (uint32_t i = 0; i < profile->n_paths; i++) {
        for (unsigned metric = 0; metric < RKC_METRICS; metric++)
            if (dice(3))
                set(profile, i, metric, dice(4) ? dice(5) : INT64_MAX - dice(3), rank);
        profile->numbers.hist[i].time[dice(RKC_TIME_BUCKETS)] = dice(100);
        profile->numbers.hist[i].size[dice(RKC_SIZE_BUCKETS)] = dice(100);
        profile->numbers.hist[i].visit_sumsq_ns2 =
            dice(3) ? dice(100) : ~(rkc_u128)0 / (1 + dice(4));
    }
    add_random_mpi(profile, rank);
}

/* Whether two profiles are the same to the last byte, the numbering included. */
static int same(const struct rkc_profile *a, const struct rkc_profile *b)
{
    struct rkc_buffer packed_a = {0}, packed_b = {0};
    int status = rkc_profile_pack(a, &packed_a) | rkc_profile_pack(b, &packed_b);
    int equal = status == 0 && packed_a.size == packed_b.size &&
                memcmp(packed_a.data, packed_b.data, packed_a.size) == 0;
    rkc_buffer_free(&packed_a);
    rkc_buffer_free(&packed_b);
    return equal;
}

/* Merge a sequence of profiles in random brackets, and into an empty one at random. */
static void merge_random(struct rkc_profile *into, const struct rkc_profile *profiles, uint32_t n)
{
    rkc_profile_init(into, 1);
    if (n == 1) {
        rkc_profile_merge(into, profiles, NULL);
        return;
    }
    uint32_t left = 1 + dice(n - 1);
    struct rkc_profile right;
    merge_random(into, profiles, left);
    merge_random(&right, profiles + left, n - left);
    rkc_profile_merge(into, &right, NULL);
    rkc_profile_free(&right);
}

/* Number the paths and regions of `profile` as `order` does, by merging into its paths. */
static void renumber(struct rkc_profile *into, const struct rkc_profile *order,
                     const struct rkc_profile *profile)
{
    struct rkc_profile bare = rkc_profile_bare(order);
    rkc_profile_init(into, 1);
    rkc_profile_merge(into, &bare, NULL);
    rkc_profile_merge(into, profile, NULL);
}

static int compare_notes(const void *a, const void *b)
{
    const struct rkc_profile_note *x = a, *y = b;
    if (x->kind != y->kind)
        return x->kind - y->kind;
    return (x->region > y->region) - (x->region < y->region);
}

static int compare_transfers(const void *a, const void *b)
{
    return memcmp(a, b, offsetof(struct rkc_transfer, sent));
}

static int compare_waits(const void *a, const void *b)
{
    const struct rkc_wait *x = a, *y = b;
    if (x->path != y->path)
        return x->path < y->path ? -1 : 1;
    return memcmp(&x->comm, &y->comm, sizeof x->comm);
}

/* In an order that does not depend on that in which ranks came. */
static void sort_rows(struct rkc_profile *profile)
{
    if (profile->n_notes)
        qsort(profile->notes, profile->n_notes, sizeof *profile->notes, compare_notes);
    if (profile->n_transfers)
        qsort(profile->transfers, profile->n_transfers, sizeof *profile->transfers,
              compare_transfers);
    if (profile->n_waits)
        qsort(profile->waits, profile->n_waits, sizeof *profile->waits, compare_waits);
}

static void random_merges(void)
{
    enum { PROFILES = 7, TRIALS = 300 };
    int unlike = 0, order_matters = 0, neutral = 0;
    for (int trial = 0; trial < TRIALS; trial++) {
        struct rkc_profile profiles[PROFILES], swapped[PROFILES], all, other, turned;
        for (int i = 0; i < PROFILES; i++)
            make_random(&profiles[i], 2 * i);
        for (int i = 0; i < PROFILES; i++)
            swapped[i] = profiles[(i * 3 + trial) % PROFILES];

        rkc_profile_init(&all, 1);
        for (int i = 0; i < PROFILES; i++)
            rkc_profile_merge(&all, &profiles[i], NULL);
        merge_random(&other, profiles, PROFILES);
        unlike += !same(&all, &other);
        rkc_profile_free(&other);

        merge_random(&other, swapped, PROFILES);
        renumber(&turned, &all, &other);
        sort_rows(&all);
        sort_rows(&turned);
        order_matters += !same(&all, &turned);
        rkc_profile_free(&other);
        rkc_profile_free(&turned);

        rkc_profile_init(&other, 1);
        rkc_profile_init(&turned, 1);
        rkc_profile_merge(&turned, &all, NULL);
        rkc_profile_merge(&turned, &other, NULL);
        neutral += same(&all, &turned);
        rkc_profile_free(&turned);
        rkc_profile_free(&all);
        for (int i = 0; i < PROFILES; i++)
            rkc_profile_free(&profiles[i]);
    }
    is_int(unlike, 0, "every bracketing of a merge gives the same profile");
    is_int(order_matters, 0, "every order gives the same but for the numbering");
    is_int(neutral, TRIALS, "an empty profile adds nothing");
}

/* Rank r visits step 2r times for INT64_MAX / 2 ns, and where 1000 divides r, rare r times. */
static void million_ranks(void)
{
    enum { RANKS = 1000000 };
    struct rkc_profile all, one, rare;
    rkc_profile_init(&all, 1);
    rkc_profile_init(&one, 1);
    rkc_profile_init(&rare, 1);
    uint32_t step = path(&one, root(&one), "step");
    path(&rare, path(&rare, root(&rare), "step"), "rare");
    rkc_profile_ranks_add(&one, 0, 0);
    int failed = 0;
    for (int32_t rank = 0; rank < RANKS; rank++) {
        set(&one, step, RKC_METRIC_VISITS, 2 * (int64_t)rank, rank);
        set(&one, step, RKC_METRIC_INCLUSIVE, INT64_MAX / 2, rank);
        one.numbers.hist[step].time[40] = 2 * (uint64_t)rank;
        one.ranks[0] = (struct rkc_rank_range){rank, rank};
        failed += rkc_profile_merge(&all, &one, NULL) != 0;
        if (rank % 1000 == 0) {
            set(&rare, 2, RKC_METRIC_VISITS, rank, rank);
            failed += rkc_profile_merge(&all, &rare, NULL) != 0;
        }
    }
    const struct rkc_stat *inclusive = &rkc_profile_stats(&all, step)[RKC_METRIC_INCLUSIVE];
    is_int(failed, 0, "a million ranks are merged");
    is_int((int64_t)visits(&all, step)->sum, (int64_t)RANKS * (RANKS - 1), "their sum is exact");
    ok(inclusive->sum == (rkc_i128)(INT64_MAX / 2) * RANKS, "beyond 64 bits too");
    ok(inclusive->sumsq == ~(rkc_u128)0, "squares saturate");
    is_int(inclusive->max_rank, 0, "of equal ranks the lowest is named");
    is_int(visits(&all, step)->max_rank, RANKS - 1, "the greatest is the last");
    is_int(visits(&all, 2)->ranks, RANKS / 1000, "ranks without a path do not count there");
    is_int((int64_t)all.numbers.hist[step].time[40], (int64_t)RANKS * (RANKS - 1),
           "visits are counted by duration");
    ok(all.n_ranks == 1 && all.ranks[0].last == RANKS - 1, "all ranks are one range");
    rkc_profile_free(&all);
    rkc_profile_free(&one);
    rkc_profile_free(&rare);
}

/* Fill a profile up to `n` paths, each below the one before. */
static void fill(struct rkc_profile *profile, uint32_t n)
{
    uint32_t last = profile->n_paths - 1;
    while (profile->n_paths < n)
        last = path(profile, last, "deep");
}

static void folding(void)
{
    struct rkc_profile full, small;
    rkc_profile_init(&full, 1);
    root(&full);
    fill(&full, RKC_PROFILE_PATHS_MAX - 1);
    is_int(full.paths_folded, 0, "one path short of the limit nothing is folded");

    rkc_profile_init(&small, 1);
    uint32_t known = path(&small, path(&small, root(&small), "new"), "newer");
    uint32_t deep = path(&small, 0, "deep");
    set(&small, 1, RKC_METRIC_VISITS, 5, 0);
    set(&small, known, RKC_METRIC_VISITS, 7, 0);
    set(&small, deep, RKC_METRIC_VISITS, 9, 0);
    uint32_t map[4];
    is_int(rkc_profile_merge(&full, &small, map), 0, "paths beyond the limit are merged");
    is_int(full.n_paths, RKC_PROFILE_PATHS_MAX, "into one more");
    is_int(full.paths_folded, 2, "and counted");
    uint32_t other = RKC_PROFILE_PATHS_MAX - 1;
    is_str(full.regions[full.paths[other].region].name, "(other)", "which is called \"(other)\"");
    is_int(full.paths[other].parent, 0, "below the root");
    ok(map[1] == other && map[2] == other, "the map says so");
    is_int((int64_t)visits(&full, other)->sum, 12, "no visit is lost");
    is_int(map[deep], 1, "a path known before is no other");
    is_int((int64_t)visits(&full, 1)->sum, 9, "and counts where it belongs");

    struct rkc_profile again;
    rkc_profile_init(&again, 0);
    rkc_profile_merge(&again, &full, NULL);
    is_int(again.paths_folded, 2, "merged into nothing it folds no more");
    rkc_profile_free(&again);
    rkc_profile_init(&again, 0);
    rkc_profile_merge(&again, &small, NULL);
    rkc_profile_merge(&again, &full, NULL);
    is_int(again.n_paths, RKC_PROFILE_PATHS_MAX, "a profile that had folded stays at the limit");
    is_int(again.paths_folded, 4, "and what it folded stays counted");
    rkc_profile_free(&again);
    rkc_profile_free(&full);

    rkc_profile_init(&full, 0);
    int64_t region_other = rkc_profile_region_get(&full, RKC_REGION_OTHER, "(other)", NULL, 0);
    root(&full);
    is_int(rkc_profile_path_get(&full, 0, (uint32_t)region_other), 1, "\"(other)\" may come first");
    fill(&full, RKC_PROFILE_PATHS_MAX);
    is_int(full.paths_folded, 0, "and as many others find room");
    is_int(path(&full, 0, "new"), 1, "the next falls into it");
    rkc_profile_free(&full);
    rkc_profile_free(&small);
}

static void many_regions(void)
{
    struct rkc_profile full, one;
    rkc_profile_init(&full, 0);
    int64_t last = 0;
    for (int i = 0; i < RKC_PROFILE_REGIONS_MAX + 10; i++) {
        char name[32];
        snprintf(name, sizeof name, "region %d", i);
        last = rkc_profile_region_get(&full, RKC_REGION_USER, name, "a.c", 1);
    }
    is_int(full.n_regions, RKC_PROFILE_REGIONS_MAX, "regions have a limit");
    is_int(last, RKC_PROFILE_REGIONS_MAX - 1, "the last one is that of all others");
    is_str(full.regions[last].name, "(other)", "and is called \"(other)\"");
    ok(full.regions[last].file == NULL, "it has no place in the source");

    rkc_profile_init(&one, 0);
    region(&one, "new");
    one.regions[0].flags = RKC_WAIT;
    rkc_profile_merge(&full, &one, NULL);
    is_int(full.regions[last].flags, 0, "nor any flag of what fell into it");
    rkc_profile_free(&one);
    rkc_profile_free(&full);
}

int main(void)
{
    regions();
    paths();
    merging();
    windows();
    notes();
    rank_ranges();
    random_merges();
    million_ranks();
    folding();
    many_regions();
    return done_testing();
}
