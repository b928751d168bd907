/* hdf5_tables.c - the tables of a result file that are written whole. */
#include "autoconf.h"

#include "sink/hdf5_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rankclock/status.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

const struct rkc_h5_metric rkc_h5_metrics[RKC_METRICS] = {
#define METRIC(id, name, unit, description) {name, unit, description},
    RKC_METRIC_LIST(METRIC)
#undef METRIC
};

static const struct {
    const char *name, *description;
} known_facts[] = {
#define FACT(name, description) {name, description},
    RKC_FACT_LIST(FACT)
#undef FACT
};

/* Integers of /job, which no fact may name. */
static const char *const integer_facts[] = {"ranks", "start_unix_ns", "wall_ns", "overhead_ns",
                                            "write_ns"};

static const char *const region_kinds[RKC_REGION_KINDS] = {
#define KIND(id, name) name,
    RKC_REGION_KIND_LIST(KIND)
#undef KIND
};

static const struct {
    const char *name, *text;
} note_kinds[RKC_NOTES] = {
#define NOTE(id, name, text) {name, text},
    RKC_NOTE_LIST(NOTE)
#undef NOTE
};

int rkc_h5_put_root(struct rkc_h5 *h5)
{
    time_t now = time(NULL);
    const char *fixed = getenv("SOURCE_DATE_EPOCH");
    if (fixed && *fixed)
        now = (time_t)strtoll(fixed, NULL, 10);
    struct tm utc;
    char created[64] = "";
    if (gmtime_r(&now, &utc))
        strftime(created, sizeof created, "%Y-%m-%dT%H:%M:%SZ", &utc);

    int status = rkc_h5_attribute_text(h5, h5->file, "rankclock_schema", RKC_SCHEMA_TEXT);
    if (!status)
        status = rkc_h5_attribute_text(h5, h5->file, "writer", "rankclock " PACKAGE_VERSION);
    if (!status)
        status = rkc_h5_attribute_text(h5, h5->file, "created", created);
    if (!status)
        status = rkc_h5_attribute_text(h5, h5->file, "description",
                                       "where the time of an MPI program's ranks went");
    return status;
}

static const char *describe_fact(const char *key)
{
    for (size_t i = 0; i < COUNT(known_facts); i++)
        if (strcmp(known_facts[i].name, key) == 0)
            return known_facts[i].description;
    return "a fact about the run";
}

/* Whether a key can be the name of a dataset and is not taken. */
static int usable_key(const char *key)
{
    if (*key == '\0' || strchr(key, '/') || strcmp(key, ".") == 0 || strlen(key) > 255)
        return 0;
    for (size_t i = 0; i < COUNT(integer_facts); i++)
        if (strcmp(integer_facts[i], key) == 0)
            return 0;
    return 1;
}

int rkc_h5_put_job_int(struct rkc_h5 *h5, hid_t group, const char *name, const char *units,
                       const char *description, int64_t value)
{
    struct rkc_h5_shape scalar = {.n_dims = 0};
    return rkc_h5_put(h5, group, name, RKC_H5_INT, &scalar, units, description, &value);
}

int rkc_h5_put_job(struct rkc_h5 *h5, const struct rkc_job *job, hid_t *group)
{
    hid_t id = rkc_h5_group(h5, h5->file, "job", "facts about the run, one dataset each");
    if (id < 0)
        return RKC_EIO;
    struct rkc_h5_shape scalar = {.n_dims = 0};
    int status = 0;
    for (uint32_t i = 0; i < job->n_facts && !status; i++) {
        const struct rkc_fact *fact = &job->facts[i];
        const char *value = fact->value;
        if (usable_key(fact->key))
            status = rkc_h5_put_texts(h5, id, fact->key, &scalar, "text",
                                      describe_fact(fact->key), &value);
    }
    if (!status)
        status = rkc_h5_put_job_int(h5, id, "ranks", "1", "ranks of the run, lost ones included",
                                    job->ranks);
    if (!status)
        status = rkc_h5_put_job_int(h5, id, "start_unix_ns", "ns",
                                    "when the first rank began to measure, since 1970 UTC",
                                    job->start_unix_ns);
    if (!status)
        status = rkc_h5_put_job_int(h5, id, "wall_ns", "ns",
                                    "measured time of the rank that measured longest",
                                    job->wall_ns);
    if (!status)
        status = rkc_h5_put_job_int(h5, id, "overhead_ns", "ns",
                                    "time that measuring itself took, summed over ranks; -1 if "
                                    "unknown",
                                    job->overhead_ns);
    if (status)
        H5Gclose(id);
    else
        *group = id;
    return status;
}

static int put_regions(struct rkc_h5 *h5, const struct rkc_profile *profile)
{
    static const struct rkc_column columns[] = {RKC_REGIONS_LIST(RKC_COLUMN_ROW)};
    size_t n = profile->n_regions;
    const char **texts = calloc(3 * n + 1, sizeof *texts);
    int64_t *lines = calloc(n + 1, sizeof *lines);
    int status = RKC_ENOMEM;
    if (!texts || !lines) {
        rkc_h5_refuse(h5, status, "out of memory");
        goto done;
    }
    const char **names = texts, **kinds = texts + n, **files = texts + 2 * n;
    for (size_t i = 0; i < n; i++) {
        const struct rkc_profile_region *region = &profile->regions[i];
        names[i] = region->name;
        kinds[i] = region_kinds[region->kind < RKC_REGION_KINDS ? region->kind
                                                                : RKC_REGION_OTHER];
        files[i] = region->file;
        lines[i] = region->line;
    }
    const void *data[RKC_REGIONS_COLUMNS] = {names, kinds, files, lines};
    status = rkc_h5_table(h5, "regions", "the named stretches of code", columns,
                          RKC_REGIONS_COLUMNS, data, n, NULL);
done:
    free(texts);
    free(lines);
    return status;
}

int rkc_h5_put_profile(struct rkc_h5 *h5, const struct rkc_profile *profile)
{
    static const struct rkc_column columns[] = {RKC_CALLPATHS_LIST(RKC_COLUMN_ROW)};
    int status = put_regions(h5, profile);
    if (status)
        return status;
    size_t n = profile->n_paths;
    int64_t *numbers = calloc(3 * n + 1, sizeof *numbers);
    if (!numbers)
        return rkc_h5_refuse(h5, RKC_ENOMEM, "out of memory");
    int64_t *parents = numbers, *regions = numbers + n, *depths = numbers + 2 * n;
    for (size_t i = 0; i < n; i++) {
        const struct rkc_profile_path *path = &profile->paths[i];
        parents[i] = path->parent == RKC_NO_PATH ? -1 : (int64_t)path->parent;
        regions[i] = path->region;
        depths[i] = path->depth;
    }
    const void *data[RKC_CALLPATHS_COLUMNS] = {parents, regions, depths};
    status = rkc_h5_table(h5, "callpaths", "the regions from the outermost down, as a tree",
                          columns, RKC_CALLPATHS_COLUMNS, data, n, NULL);
    free(numbers);
    return status;
}

int rkc_h5_put_notes(struct rkc_h5 *h5, const struct rkc_profile_note *notes, size_t n)
{
    static const struct rkc_column columns[] = {RKC_NOTES_LIST(RKC_COLUMN_ROW)};
    const char **texts = calloc(2 * n + 1, sizeof *texts);
    int64_t *numbers = calloc(3 * n + 1, sizeof *numbers);
    int status = RKC_ENOMEM;
    if (!texts || !numbers) {
        rkc_h5_refuse(h5, status, "out of memory");
        goto done;
    }
    const char **kinds = texts, **lines = texts + n;
    int64_t *regions = numbers, *ranks = numbers + n, *counts = numbers + 2 * n;
    for (size_t i = 0; i < n; i++) {
        int known = notes[i].kind < RKC_NOTES;
        kinds[i] = known ? note_kinds[notes[i].kind].name : "other";
        lines[i] = notes[i].text[0] ? notes[i].text
                                    : (known ? note_kinds[notes[i].kind].text : "");
        regions[i] = notes[i].region == RKC_NO_PATH ? -1 : (int64_t)notes[i].region;
        ranks[i] = notes[i].rank;
        counts[i] = notes[i].count;
    }
    const void *data[RKC_NOTES_COLUMNS] = {kinds, regions, ranks, counts, lines};
    status = rkc_h5_table(h5, "notes", "what went wrong with the measurement without ending it",
                          columns, RKC_NOTES_COLUMNS, data, n, NULL);
done:
    free(texts);
    free(numbers);
    return status;
}

int rkc_h5_put_missing(struct rkc_h5 *h5, const struct rkc_rank_range *missing, size_t n)
{
    int64_t *ranges = calloc(2 * n + 1, sizeof *ranges);
    if (!ranges)
        return rkc_h5_refuse(h5, RKC_ENOMEM, "out of memory");
    for (size_t i = 0; i < n; i++) {
        ranges[2 * i] = missing[i].first;
        ranges[2 * i + 1] = missing[i].last;
    }
    struct rkc_h5_shape shape = {.n_dims = 2, .size = {n, 2}};
    int status = rkc_h5_put(h5, h5->file, "missing_ranks", RKC_H5_INT, &shape, "1",
                            "ranks that the file lacks, in ranges: first, last", ranges);
    free(ranges);
    return status;
}
