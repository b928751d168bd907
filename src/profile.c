/* profile.c - merging matches call paths by name. Regions and paths keep the order in which
 * they were first seen, which is what makes every bracketing of a merge give the same profile. */
#include "autoconf.h"

#include "profile.h"

#include <stdlib.h>
#include <string.h>

#include <rankclock/region.h>
#include <rankclock/status.h>

#include "index.h"
#include "profile_mpi.h"

#define OTHER "(other)"

void rkc_profile_init(struct rkc_profile *profile, int numbers)
{
    *profile = (struct rkc_profile){.has_numbers = numbers != 0};
}

void rkc_profile_free(struct rkc_profile *profile)
{
    if (!profile)
        return;
    for (uint32_t i = 0; i < profile->n_regions; i++) {
        free(profile->regions[i].name);
        free(profile->regions[i].file);
    }
    free(profile->regions);
    free(profile->paths);
    free(profile->notes);
    free(profile->ranks);
    free(profile->index);
    free(profile->region_index);
    rkc_numbers_free(&profile->numbers);
    rkc_profile_free_mpi(profile);
    *profile = (struct rkc_profile){0};
}

static uint32_t hash_name(enum rkc_region_kind kind, const char *name)
{
    /* FNV-1a */
    uint32_t hash = (2166136261u ^ (uint32_t)kind) * 16777619u;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    return hash ^ hash >> 15;
}

static uint32_t hash_pair(uint32_t parent, uint32_t region)
{
    return rkc_hash_words((uint64_t)parent << 32 | region, 0);
}

static uint32_t hash_region(const struct rkc_profile *profile, uint32_t region)
{
    return hash_name(profile->regions[region].kind, profile->regions[region].name);
}

static uint32_t hash_path(const struct rkc_profile *profile, uint32_t path)
{
    return hash_pair(profile->paths[path].parent, profile->paths[path].region);
}

static int region_is(const struct rkc_profile_region *region, enum rkc_region_kind kind,
                     const char *name)
{
    return region->kind == kind && strcmp(region->name, name) == 0;
}

/* The region, or RKC_ENOTFOUND. */
static int64_t find_region(const struct rkc_profile *profile, enum rkc_region_kind kind,
                           const char *name)
{
    if (profile->region_index_size == 0)
        return RKC_ENOTFOUND;
    for (uint32_t hash = hash_name(kind, name);; hash++) {
        uint32_t entry = profile->region_index[hash & (profile->region_index_size - 1)];
        if (entry == 0)
            return RKC_ENOTFOUND;
        if (region_is(&profile->regions[entry - 1], kind, name))
            return entry - 1;
    }
}

static int64_t add_region(struct rkc_profile *profile, enum rkc_region_kind kind, const char *name)
{
    struct rkc_profile_region *regions = rkc_array_grow(profile->regions, profile->n_regions,
                                                        &profile->cap_regions, sizeof *regions);
    if (!regions)
        return RKC_ENOMEM;
    profile->regions = regions;
    if (rkc_index_reserve(&profile->region_index, &profile->region_index_size, profile->n_regions,
                      profile, hash_region) != 0)
        return RKC_ENOMEM;
    char *copy = strdup(name);
    if (!copy)
        return RKC_ENOMEM;

    uint32_t region = profile->n_regions++;
    regions[region] = (struct rkc_profile_region){.name = copy, .kind = (uint8_t)kind};
    rkc_index_put(profile->region_index, profile->region_index_size, hash_region(profile, region),
              region);
    return region;
}

/* Keep the place of a region if it is the first one given. Of a long one the end is kept,
 * for it tells more than the beginning. */
static int set_place(struct rkc_profile_region *region, const char *file, int line)
{
    if (region->file || !file || !*file)
        return 0;
    size_t length = strlen(file);
    if (length > RKC_PROFILE_FILE_MAX)
        file += length - RKC_PROFILE_FILE_MAX;
    region->file = strdup(file);
    if (!region->file)
        return RKC_ENOMEM;
    region->line = line;
    return 0;
}

int64_t rkc_profile_region_get(struct rkc_profile *profile, enum rkc_region_kind kind,
                               const char *name, const char *file, int line)
{
    if (!name || !*name || strnlen(name, RKC_NAME_MAX) == RKC_NAME_MAX)
        return RKC_ENAME;
    if ((unsigned)kind >= RKC_REGION_KINDS)
        return RKC_EARG;
    int64_t region = find_region(profile, kind, name);
    /* Whether "(other)" came first or last, the same number of other regions has room. */
    if (region < 0 && profile->n_regions >= RKC_PROFILE_REGIONS_MAX - 1) {
        int64_t other = find_region(profile, RKC_REGION_OTHER, OTHER);
        if (other < 0 || profile->n_regions >= RKC_PROFILE_REGIONS_MAX) {
            kind = RKC_REGION_OTHER;
            name = OTHER;
            file = NULL;
            region = other;
        }
    }
    if (region < 0)
        region = add_region(profile, kind, name);
    if (region >= 0 && set_place(&profile->regions[region], file, line) != 0)
        return RKC_ENOMEM;
    return region;
}

/* Make room for one more path, its numbers included. What has grown when memory runs out
 * stays, unused. */
static int reserve_path(struct rkc_profile *profile)
{
    if (rkc_index_reserve(&profile->index, &profile->index_size, profile->n_paths, profile,
                      hash_path) != 0)
        return RKC_ENOMEM;
    uint32_t capacity = profile->cap_paths;
    struct rkc_profile_path *paths =
        rkc_array_grow(profile->paths, profile->n_paths, &capacity, sizeof *paths);
    if (!paths)
        return RKC_ENOMEM;
    profile->paths = paths;

    struct rkc_numbers *numbers = &profile->numbers;
    if (profile->has_numbers && capacity > profile->cap_paths) {
        struct rkc_stat *stats = realloc(numbers->stats,
                                         (size_t)capacity * RKC_METRICS * sizeof *stats);
        if (!stats)
            return RKC_ENOMEM;
        numbers->stats = stats;
        struct rkc_path_hist *hist = realloc(numbers->hist, capacity * sizeof *hist);
        if (!hist)
            return RKC_ENOMEM;
        numbers->hist = hist;
    }
    profile->cap_paths = capacity;
    return 0;
}

/* The path, or RKC_ENOTFOUND. */
static int64_t find_path(const struct rkc_profile *profile, uint32_t parent, uint32_t region)
{
    if (profile->index_size == 0)
        return RKC_ENOTFOUND;
    for (uint32_t hash = hash_pair(parent, region);; hash++) {
        uint32_t entry = profile->index[hash & (profile->index_size - 1)];
        if (entry == 0)
            return RKC_ENOTFOUND;
        const struct rkc_profile_path *path = &profile->paths[entry - 1];
        if (path->parent == parent && path->region == region)
            return entry - 1;
    }
}

static int64_t add_path(struct rkc_profile *profile, uint32_t parent, uint32_t region)
{
    if (reserve_path(profile) != 0)
        return RKC_ENOMEM;

    uint32_t path = profile->n_paths++;
    profile->paths[path] = (struct rkc_profile_path){
        .parent = parent,
        .region = region,
        .depth = parent == RKC_NO_PATH ? 0 : profile->paths[parent].depth + 1,
    };
    rkc_index_put(profile->index, profile->index_size, hash_pair(parent, region), path);
    if (profile->has_numbers) {
        profile->numbers.n = profile->n_paths;
        memset(rkc_profile_stats(profile, path), 0, RKC_METRICS * sizeof(struct rkc_stat));
        memset(&profile->numbers.hist[path], 0, sizeof(struct rkc_path_hist));
    }
    return path;
}

/* The path "(other)" below the root, for a path that has no room. */
static int64_t fold_path(struct rkc_profile *profile, uint32_t other)
{
    int64_t path = find_path(profile, 0, other);
    if (path < 0)
        path = add_path(profile, 0, other);
    if (path >= 0)
        profile->paths_folded = rkc_sum_counts(profile->paths_folded, 1);
    return path;
}

int64_t rkc_profile_path_get(struct rkc_profile *profile, uint32_t parent, uint32_t region)
{
    if (region >= profile->n_regions || (parent != RKC_NO_PATH && parent >= profile->n_paths))
        return RKC_EARG;
    if (parent == RKC_NO_PATH)
        return profile->n_paths ? 0 : add_path(profile, parent, region);
    int64_t path = find_path(profile, parent, region);
    if (path >= 0)
        return path;

    if (profile->n_paths >= RKC_PROFILE_PATHS_MAX - 1) {
        int64_t other = rkc_profile_region_get(profile, RKC_REGION_OTHER, OTHER, NULL, 0);
        if (other < 0)
            return other;
        int is_other = parent == 0 && region == other;
        int has_other = find_path(profile, 0, (uint32_t)other) >= 0;
        if (!is_other && (!has_other || profile->n_paths >= RKC_PROFILE_PATHS_MAX))
            return fold_path(profile, (uint32_t)other);
    }
    return add_path(profile, parent, region);
}

/* Copy a text, cut before the first character that does not fit. */
static void copy_note_text(char copy[RKC_NOTE_TEXT_MAX], const char *text)
{
    size_t length = strnlen(text, RKC_NOTE_TEXT_MAX);
    if (length == RKC_NOTE_TEXT_MAX) {
        length--;
        while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
            length--;
    }
    memcpy(copy, text, length);
    copy[length] = '\0';
}

/* Count a note in the row `note`, which has a text of the lowest rank that made one. */
static void count_note(struct rkc_profile_note *note, int32_t rank, int64_t count,
                       const char *text)
{
    note->count = rkc_sum_counts(note->count, count);
    if (rank < note->rank || (rank == note->rank && note->text[0] == '\0'))
        copy_note_text(note->text, text);
    if (rank < note->rank)
        note->rank = rank;
}

int rkc_profile_note_add(struct rkc_profile *profile, enum rkc_note_kind kind, uint32_t region,
                         int32_t rank, int64_t count, const char *text)
{
    if ((unsigned)kind >= RKC_NOTES || (region != RKC_NO_PATH && region >= profile->n_regions))
        return RKC_EARG;
    if (!text)
        text = "";
    for (;;) {
        for (uint32_t i = 0; i < profile->n_notes; i++) {
            struct rkc_profile_note *note = &profile->notes[i];
            if (note->kind == kind && note->region == region) {
                count_note(note, rank, count, text);
                return 0;
            }
        }
        if (region == RKC_NO_PATH || profile->n_notes < RKC_PROFILE_NOTES_MAX)
            break;
        region = RKC_NO_PATH;
    }

    struct rkc_profile_note *notes =
        rkc_array_grow(profile->notes, profile->n_notes, &profile->cap_notes, sizeof *notes);
    if (!notes)
        return RKC_ENOMEM;
    profile->notes = notes;
    struct rkc_profile_note *note = &notes[profile->n_notes++];
    *note = (struct rkc_profile_note){
        .kind = (uint8_t)kind, .region = region, .rank = rank, .count = count};
    copy_note_text(note->text, text);
    return 0;
}

/* Put a range that begins no earlier than the last one behind it, or join the two. */
static uint32_t append_range(struct rkc_rank_range *ranges, uint32_t n, struct rkc_rank_range range)
{
    if (n > 0 && range.first <= (int64_t)ranges[n - 1].last + 1) {
        if (range.last > ranges[n - 1].last)
            ranges[n - 1].last = range.last;
        return n;
    }
    ranges[n] = range;
    return n + 1;
}

/* Add sorted ranges to the sorted ranges of the profile. */
static int merge_ranges(struct rkc_profile *profile, const struct rkc_rank_range *add,
                        uint32_t n_add)
{
    if (n_add == 0)
        return 0;
    const struct rkc_rank_range *have = profile->ranks;
    uint32_t n_have = profile->n_ranks;
    struct rkc_rank_range *merged = malloc(((size_t)n_have + n_add) * sizeof *merged);
    if (!merged)
        return RKC_ENOMEM;

    uint32_t n = 0, i = 0, k = 0;
    while (i < n_have || k < n_add) {
        int from_add = i == n_have || (k < n_add && add[k].first < have[i].first);
        n = append_range(merged, n, from_add ? add[k++] : have[i++]);
    }
    free(profile->ranks);
    profile->ranks = merged;
    profile->n_ranks = n;
    profile->cap_ranks = n_have + n_add;
    return 0;
}

int rkc_profile_ranks_add(struct rkc_profile *profile, int32_t first, int32_t last)
{
    if (first < 0 || last < first)
        return RKC_EARG;
    return merge_ranges(profile, &(struct rkc_rank_range){first, last}, 1);
}

/* Merge what is known of each region of `from` and fill `map` with their indexes in `into`. */
static int merge_regions(struct rkc_profile *into, const struct rkc_profile *from, uint32_t *map)
{
    for (uint32_t i = 0; i < from->n_regions; i++) {
        const struct rkc_profile_region *region = &from->regions[i];
        int64_t found = i;
        /* Ranks of one program mostly have the same regions in the same order. */
        if (i >= into->n_regions || !region_is(&into->regions[i], region->kind, region->name))
            found = rkc_profile_region_get(into, region->kind, region->name, NULL, 0);
        if (found < 0)
            return (int)found;
        map[i] = (uint32_t)found;

        struct rkc_profile_region *known = &into->regions[found];
        if (!region_is(known, region->kind, region->name))
            continue; /* "(other)" is nothing of this one's */
        if (set_place(known, region->file, region->line) != 0)
            return RKC_ENOMEM;
        known->flags |= region->flags;
        if (region->every > known->every)
            known->every = region->every;
    }
    return 0;
}

/* Merge the paths and their numbers and fill `map` with the indexes in `into`. */
static int merge_paths(struct rkc_profile *into, const struct rkc_profile *from,
                       const uint32_t *region_map, uint32_t *map)
{
    int numbers = into->has_numbers && from->has_numbers;
    for (uint32_t i = 0; i < from->n_paths; i++) {
        const struct rkc_profile_path *path = &from->paths[i];
        uint32_t parent = path->parent == RKC_NO_PATH ? RKC_NO_PATH : map[path->parent];
        uint32_t region = region_map[path->region];
        int64_t found = i;
        if (i >= into->n_paths || into->paths[i].parent != parent ||
            into->paths[i].region != region)
            found = rkc_profile_path_get(into, parent, region);
        if (found < 0)
            return (int)found;
        map[i] = (uint32_t)found;
        if (numbers)
            rkc_numbers_merge_path(rkc_profile_stats(into, map[i]), &into->numbers.hist[map[i]],
                                   rkc_profile_stats(from, i), &from->numbers.hist[i]);
    }
    into->paths_folded = rkc_sum_counts(into->paths_folded, from->paths_folded);
    return 0;
}

static int merge_notes(struct rkc_profile *into, const struct rkc_profile *from,
                       const uint32_t *region_map)
{
    for (uint32_t i = 0; i < from->n_notes; i++) {
        const struct rkc_profile_note *note = &from->notes[i];
        uint32_t region = note->region == RKC_NO_PATH ? RKC_NO_PATH : region_map[note->region];
        int status = rkc_profile_note_add(into, note->kind, region, note->rank, note->count,
                                          note->text);
        if (status != 0)
            return status;
    }
    return 0;
}

int rkc_profile_merge(struct rkc_profile *into, const struct rkc_profile *from, uint32_t *map)
{
    size_t n = (size_t)from->n_regions + (map ? 0 : from->n_paths);
    uint32_t *maps = malloc((n ? n : 1) * sizeof *maps);
    if (!maps)
        return RKC_ENOMEM;
    if (!map)
        map = maps + from->n_regions;

    int status = merge_regions(into, from, maps);
    if (status == 0)
        status = merge_paths(into, from, maps, map);
    if (status == 0)
        status = rkc_profile_merge_mpi(into, from, map);
    if (status == 0)
        status = merge_notes(into, from, maps);
    if (status == 0)
        status = merge_ranges(into, from->ranks, from->n_ranks);
    free(maps);
    return status;
}
