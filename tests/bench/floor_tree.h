/* floor_tree.h - the least a region profiler can do: one call tree per thread, whose nodes
 * hold count, sum, min, max and sum of squares, and nothing to catch a mistake.
 *
 * floor_begin finds the child by a small dense number, floor_begin_name by hashing and
 * comparing its name. Nodes live until the process ends.
 */
#ifndef RKC_FLOOR_TREE_H
#define RKC_FLOOR_TREE_H

#include "bench.h"

#include <stdlib.h>
#include <string.h>

enum { FLOOR_SLOTS = 2048 }; /* a power of two, above the number of regions of any benchmark */

struct floor_node {
    uint64_t begin, count, sum, min, max;
    double sumsq;
    struct floor_node *parent;
    struct floor_node **child, **named; /* by number, by name: FLOOR_SLOTS, when needed */
    char *name;
    uint64_t hash;
};

static __thread struct floor_node floor_root;
static __thread struct floor_node *floor_open;

static __attribute__((noinline)) struct floor_node *
floor_add(struct floor_node *parent, unsigned slot, const char *name, uint64_t hash)
{
    struct floor_node ***slots = name ? &parent->named : &parent->child;
    struct floor_node *node = calloc(1, sizeof *node);
    if (!*slots)
        *slots = calloc(FLOOR_SLOTS, sizeof **slots);
    if (!node || !*slots)
        abort();
    node->min = UINT64_MAX;
    node->parent = parent;
    node->name = name ? strdup(name) : NULL;
    node->hash = hash;
    (*slots)[slot] = node;
    return node;
}

static inline struct floor_node *floor_parent(void)
{
    return floor_open ? floor_open : &floor_root;
}

static inline void floor_start(struct floor_node *node)
{
    floor_open = node;
    node->begin = bench_ticks();
}

static inline void floor_begin(int id)
{
    struct floor_node *parent = floor_parent();
    struct floor_node *node = parent->child ? parent->child[id] : NULL;
    if (__builtin_expect(!node, 0))
        node = floor_add(parent, (unsigned)id, NULL, 0);
    floor_start(node);
}

static inline uint64_t floor_hash(const char *text)
{
    const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
    size_t length = strlen(text);
    uint64_t hash = length, word;
    for (; length >= sizeof word; length -= sizeof word, text += sizeof word) {
        memcpy(&word, text, sizeof word);
        hash = (hash ^ word) * odd;
        hash ^= hash >> 29;
    }
    for (; length; length--, text++)
        hash = (hash ^ (unsigned char)*text) * odd;
    hash = (hash ^ hash >> 32) * odd;
    return hash ^ hash >> 32;
}

static inline void floor_begin_name(const char *name)
{
    struct floor_node *parent = floor_parent(), *node = NULL;
    uint64_t hash = floor_hash(name);
    unsigned slot = (unsigned)hash & (FLOOR_SLOTS - 1);
    while (parent->named && (node = parent->named[slot]) &&
           (node->hash != hash || strcmp(node->name, name) != 0))
        slot = (slot + 1) & (FLOOR_SLOTS - 1);
    if (__builtin_expect(!node, 0))
        node = floor_add(parent, slot, name, hash);
    floor_start(node);
}

static inline void floor_end(void)
{
    uint64_t end = bench_ticks();
    struct floor_node *node = floor_open;
    uint64_t elapsed = end - node->begin;
    node->count++;
    node->sum += elapsed;
    node->min = elapsed < node->min ? elapsed : node->min;
    node->max = elapsed > node->max ? elapsed : node->max;
    node->sumsq += (double)elapsed * (double)elapsed;
    floor_open = node->parent;
}

#endif
