/* tree.h - an image with a call tree of the calling thread, and times that the test gives.
 *
 * A tick is a nanosecond. What is collected is asked for by call path, as "step/halo".
 */
#ifndef TESTS_TREE_H
#define TESTS_TREE_H

#include <string.h>

#include "calltree.h"
#include "collect.h"
#include "hot.h"
#include "image.h"
#include "tap.h"
#include "thread.h"

struct tree {
    struct rkc_image image;
    struct rkc_tree_names names;
    struct rkc_thread *thread;
    struct rkc_view view;
    struct rkc_local local; /* after tree_collect */
};

static const uint64_t TICK_IS_NS = UINT64_C(1) << 56;

/* A region's block in the image; its unit. */
static inline uint32_t tree_region(struct tree *tree, enum rkc_region_kind kind, const char *name)
{
    struct rkc_region_block *block =
        rkc_image_block(&tree->image, RKC_BLOCK_REGION, sizeof *block + strlen(name) + 2);
    block->kind = (uint8_t)kind;
    block->name_bytes = (uint32_t)strlen(name);
    strcpy(block->text, name);
    rkc_image_publish(&block->block);
    return rkc_image_unit(tree->image.base, block);
}

/* Begin anew: an image, behind a file if a folder is named, and the calling thread at time 0 in its
 * root. */
static inline void tree_init_in(struct tree *tree, const char *folder)
{
    memset(tree, 0, sizeof *tree);
    if (rkc_image_create(&tree->image, folder, 0) != 0)
        exit(1);
    struct rkc_image_header *header = rkc_image_header(&tree->image);
    header->clock.quick_rate = TICK_IS_NS;
    atomic_store(&header->clock.n, 1u);
    tree->names.root = tree_region(tree, RKC_REGION_ROOT, "(run)");
    tree->names.deep = tree_region(tree, RKC_REGION_OTHER, "(deep)");
    tree->names.other = tree_region(tree, RKC_REGION_OTHER, "(other)");
    rkc_tree_init(&tree->image, &tree->names, TICK_IS_NS);
    rkc_thread_forget();
    if (rkc_thread_init(&tree->image) != 0 || !(tree->thread = rkc_thread_attach()))
        exit(1);
    struct rkc_node *root = rkc_image_at(tree->image.base, tree->thread->ring->root);
    root->begin = 0;
}

static inline void tree_init(struct tree *tree)
{
    tree_init_in(tree, NULL);
}

static inline uint32_t tree_user(struct tree *tree, const char *name)
{
    return tree_region(tree, RKC_REGION_USER, name);
}

static inline struct rkc_node *tree_begin_every(struct tree *tree, uint32_t region, uint32_t every,
                                                uint64_t now)
{
    struct rkc_tree_region what = {region, every};
    struct rkc_node *node = rkc_tree_begin(tree->thread, &what);
    if (node)
        node->begin = now;
    return node;
}

static inline struct rkc_node *tree_begin(struct tree *tree, uint32_t region, uint64_t now)
{
    return tree_begin_every(tree, region, 1, now);
}

static inline int tree_end(struct tree *tree, uint32_t region, uint64_t now)
{
    return rkc_tree_end(tree->thread, region, now);
}

static inline void tree_visit(struct tree *tree, uint32_t region, uint64_t from, uint64_t to)
{
    tree_begin(tree, region, from);
    tree_end(tree, region, to);
}

static inline struct rkc_node *tree_open(const struct tree *tree)
{
    return tree->thread->hot->open;
}

static inline int tree_at_root(const struct tree *tree)
{
    return !tree_open(tree)->up;
}

/* Collect what there is at time `now`; measuring has ended. */
static inline void tree_collect(struct tree *tree, int64_t now)
{
    struct rkc_image_header *header = rkc_image_header(&tree->image);
    header->clock.pair[0] = (struct rkc_clock_pair){0, 0, 0};
    header->clock.end = (struct rkc_clock_pair){(uint64_t)now, now, now};
    atomic_store(&header->clock.ended, 1u);
    rkc_view_own(&tree->view, &tree->image);
    if (rkc_local_collect(&tree->local, &tree->view, 0) != 0)
        exit(1);
}

/* Collect anew, as of a live image or of one that is dead. */
static inline void tree_collect_again(struct tree *tree, int live)
{
    rkc_local_free(&tree->local);
    tree->view.live = live;
    if (rkc_local_collect(&tree->local, &tree->view, 0) != 0)
        exit(1);
}

static inline void tree_free(struct tree *tree)
{
    rkc_local_free(&tree->local);
    rkc_view_close(&tree->view);
    rkc_thread_stop();
    rkc_thread_forget();
    rkc_image_destroy(&tree->image);
}

/* ---- what was collected ---- */

/* The index of a call path below the root ("" is the root), or -1. */
static inline int64_t local_path(const struct rkc_local *local, const char *name)
{
    int64_t at = 0;
    while (*name) {
        size_t length = strcspn(name, "/");
        int64_t found = -1;
        for (uint32_t path = 1; path < local->paths.n_paths && found < 0; path++) {
            const struct rkc_profile_path *this = &local->paths.paths[path];
            const char *text = local->paths.regions[this->region].name;
            if (this->parent == at && strlen(text) == length && memcmp(text, name, length) == 0)
                found = path;
        }
        if (found < 0)
            return -1;
        at = found;
        name += length + (name[length] == '/');
    }
    return at;
}

/* A metric of a call path; RKC_ABSENT where there is none. */
static inline int64_t local_value(const struct rkc_local *local, const char *name,
                                  enum rkc_metric metric)
{
    int64_t path = local_path(local, name);
    return path < 0 ? RKC_ABSENT : rkc_local_value(local, (uint32_t)path, metric);
}

static inline int64_t local_visits(const struct rkc_local *local, const char *name)
{
    return local_value(local, name, RKC_METRIC_VISITS);
}

/* The visits in a call path's histogram. */
static inline int64_t local_counted(const struct rkc_local *local, const char *name)
{
    struct rkc_path_hist hist;
    int64_t path = local_path(local, name), sum = 0;
    if (path < 0)
        return RKC_ABSENT;
    rkc_local_hist(local, (uint32_t)path, &hist);
    for (int bucket = 0; bucket < RKC_TIME_BUCKETS; bucket++)
        sum += (int64_t)hist.time[bucket];
    return sum;
}

/* The sum of the squares of a call path's visits, in ns. */
static inline rkc_u128 local_squares(const struct rkc_local *local, const char *name)
{
    struct rkc_path_hist hist = {0};
    int64_t path = local_path(local, name);
    if (path >= 0)
        rkc_local_hist(local, (uint32_t)path, &hist);
    return hist.visit_sumsq_ns2;
}

/* All visits of all call paths but the root. */
static inline int64_t local_all_visits(const struct rkc_local *local)
{
    int64_t sum = 0;
    for (uint32_t path = 1; path < local->paths.n_paths; path++)
        if (rkc_local_value(local, path, RKC_METRIC_VISITS) > 0)
            sum += rkc_local_value(local, path, RKC_METRIC_VISITS);
    return sum;
}

/* The count of a kind of note; of one region, or with NULL of all. */
static inline int64_t local_notes(const struct rkc_local *local, enum rkc_note_kind kind,
                                  const char *region)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < local->paths.n_notes; i++) {
        const struct rkc_profile_note *note = &local->paths.notes[i];
        if (note->kind != kind)
            continue;
        if (region && (note->region == RKC_NO_PATH ||
                       strcmp(local->paths.regions[note->region].name, region) != 0))
            continue;
        sum += note->count;
    }
    return sum;
}

#endif
