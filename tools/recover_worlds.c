/* recover_worlds.c - of which run and world each image is: its header says it, nothing else of it
 * is read here. */
#include "autoconf.h"

#include "recover.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rankclock/status.h>

#include "image.h"
#include "sink/sink.h"
#include "tools.h"

struct world {
    char run_id[128], world_id[128];
    const char *first; /* path */
    int64_t begun_unix_ns;
    size_t images;
    size_t run; /* the first world of the same run */
};

struct sorted {
    struct rkc_recover_image *images;
    struct world *worlds;
    size_t n_images, n_worlds, cap_worlds, refused;
};

static struct world *add_world(struct sorted *s, const struct world *added)
{
    if (s->n_worlds == s->cap_worlds) {
        size_t cap = s->cap_worlds ? 2 * s->cap_worlds : 8;
        struct world *bigger = realloc(s->worlds, cap * sizeof *bigger);
        if (!bigger)
            return NULL;
        s->worlds = bigger;
        s->cap_worlds = cap;
    }
    struct world *world = &s->worlds[s->n_worlds++];
    *world = *added;
    world->run = 0;
    while (strcmp(s->worlds[world->run].run_id, world->run_id) != 0)
        world->run++;
    return world;
}

/* The world of an image, which most often is that of the one before it. NULL without memory. */
static struct world *world_of(struct sorted *s, const struct rkc_image_header *header,
                              const char *path)
{
    struct world wanted = {.first = path, .begun_unix_ns = header->clock.pair[0].unix_ns};
    memcpy(wanted.run_id, header->run_id, sizeof wanted.run_id - 1);
    memcpy(wanted.world_id, header->world_id, sizeof wanted.world_id - 1);
    size_t before = s->n_images > 0 ? s->images[s->n_images - 1].world : 0;
    for (size_t i = 0; i < s->n_worlds; i++) {
        struct world *world = &s->worlds[(before + i) % s->n_worlds];
        if (strcmp(world->run_id, wanted.run_id) == 0 &&
            strcmp(world->world_id, wanted.world_id) == 0)
            return world;
    }
    return add_world(s, &wanted);
}

/* How long an image was written to, as far as its clock pairs tell. */
static int64_t ticks_of(const struct rkc_image_header *header)
{
    uint32_t n = atomic_load(&header->clock.n);
    uint64_t last = atomic_load(&header->clock.ended)
                        ? header->clock.end.ticks
                        : header->clock.pair[n >= 2 ? 1 + (n - 1) % 2 : 0].ticks;
    return (int64_t)(last - header->clock.pair[0].ticks);
}

/* 0 or RKC_ENOMEM; an image that cannot be used is told and counted. */
static int take(struct sorted *s, const char *path)
{
    struct rkc_image_header header;
    char text[RKC_SINK_TEXT_MAX];
    if (rkc_view_peek(&header, path, text, sizeof text) != 0) {
        rkc_tool_error("%s", text);
        s->refused++;
        return 0;
    }
    struct world *world = world_of(s, &header, path);
    if (!world)
        return RKC_ENOMEM;
    if (header.clock.pair[0].unix_ns < world->begun_unix_ns)
        world->begun_unix_ns = header.clock.pair[0].unix_ns;
    world->images++;
    s->images[s->n_images++] = (struct rkc_recover_image){.path = path,
                                                          .rank = atomic_load(&header.rank),
                                                          .size = atomic_load(&header.size),
                                                          .until_ticks = ticks_of(&header),
                                                          .begun_unix_ns =
                                                              header.clock.pair[0].unix_ns,
                                                          .pid = header.pid,
                                                          .world = (size_t)(world - s->worlds)};
    return 0;
}

/* The run that most images are of, by its first world; of equal ones the first. The counts of the
 * others are told: they may be many, where all that a user left on a node lies in one folder. */
static size_t choose_run(struct sorted *s)
{
    size_t *images = calloc(s->n_worlds + 1, sizeof *images), most = 0;
    if (!images)
        return SIZE_MAX;
    for (size_t i = 0; i < s->n_worlds; i++)
        images[s->worlds[i].run] += s->worlds[i].images;
    for (size_t i = 1; i < s->n_worlds; i++)
        most = images[i] > images[most] ? i : most;
    for (size_t i = 0; i < s->n_worlds; i++) {
        const struct world *world = &s->worlds[i];
        char more[64] = "";
        if (i == most || images[i] == 0)
            continue;
        if (images[i] > 1)
            snprintf(more, sizeof more, " and %zu more", images[i] - 1);
        rkc_tool_error("%s%s left out: of run %s, most images are of run %s", world->first,
                       more[0] ? more : " is", world->run_id, s->worlds[most].run_id);
        s->refused += images[i];
    }
    free(images);
    return most;
}

static const struct world *worlds_to_sort;

/* The world that was first, whose program started the others, comes first. */
static int by_world(const void *a, const void *b)
{
    const struct rkc_recover_image *x = a, *y = b;
    const struct world *ours = &worlds_to_sort[x->world], *theirs = &worlds_to_sort[y->world];
    if (ours->begun_unix_ns != theirs->begun_unix_ns)
        return ours->begun_unix_ns < theirs->begun_unix_ns ? -1 : 1;
    if (ours->images != theirs->images)
        return ours->images > theirs->images ? -1 : 1;
    if (ours != theirs)
        return ours < theirs ? -1 : 1;
    return strcmp(x->path, y->path);
}

/* An exit status. */
static int recover_run(struct sorted *s, size_t run, const char *output,
                       void (*made)(void *, const struct rkc_recovered *), void *context)
{
    int worst = RKC_EXIT_OK, written = 0;
    worlds_to_sort = s->worlds;
    qsort(s->images, s->n_images, sizeof *s->images, by_world);
    for (size_t first = 0, end; first < s->n_images; first = end) {
        struct rkc_recovered recovered;
        size_t world = s->images[first].world;
        for (end = first; end < s->n_images && s->images[end].world == world;)
            end++;
        if (s->worlds[world].run != run)
            continue;
        int code = rkc_recover_world(s->images + first, end - first, output, &recovered);
        worst = code != RKC_EXIT_OK && worst == RKC_EXIT_OK ? code : worst;
        if (recovered.path[0]) {
            recovered.refused += s->refused;
            written++;
            made(context, &recovered);
        }
    }
    return written > 0 && (worst != RKC_EXIT_OK || s->refused > 0) ? RKC_EXIT_FAILED : worst;
}

int rkc_recover(const char *const paths[], size_t n, const char *output,
                void (*made)(void *context, const struct rkc_recovered *recovered), void *context)
{
    struct sorted s = {.images = calloc(n + 1, sizeof *s.images)};
    int status = s.images ? 0 : RKC_ENOMEM, code = RKC_EXIT_FAILED;
    for (size_t i = 0; i < n && status == 0; i++)
        status = take(&s, paths[i]);
    size_t run = status == 0 ? choose_run(&s) : SIZE_MAX;
    if (run == SIZE_MAX) {
        rkc_tool_error("%s", rkc_strerror(RKC_ENOMEM));
    } else if (s.n_images == 0) {
        rkc_tool_error("no image could be used: nothing is written");
        code = RKC_EXIT_USAGE;
    } else {
        code = recover_run(&s, run, output, made, context);
    }
    free(s.images);
    free(s.worlds);
    return code;
}
