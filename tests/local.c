/* local.c - which metrics a rank has, and what packing leaves of its image in memory. */
#include "autoconf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tree.h"

enum { PATHS = 1000 };

static char folder[] = "/tmp/rankclock-local.XXXXXX";

/* KiB in memory of the mapping that begins at an address, -1 where the system does not tell. */
static long resident_kib(const void *base)
{
    char line[512], begin[32];
    long kib = -1;
    int here = 0;
    FILE *maps = fopen("/proc/self/smaps", "r");
    snprintf(begin, sizeof begin, "%lx-", (unsigned long)(uintptr_t)base);
    while (maps && kib < 0 && fgets(line, sizeof line, maps)) {
        here |= strncmp(line, begin, strlen(begin)) == 0;
        if (here && sscanf(line, "Rss: %ld", &kib) == 1)
            break;
    }
    if (maps)
        fclose(maps);
    return kib;
}

/* A tree of many call paths, with or without a file. */
static void grow(struct tree *tree, const char *spool)
{
    char name[32];
    tree_init_in(tree, spool);
    for (uint64_t i = 0; i < PATHS; i++) {
        snprintf(name, sizeof name, "region %d", (int)i);
        tree_visit(tree, tree_user(tree, name), 1000 * i, 1000 * i + i + 1);
    }
    tree_collect(tree, 1000 * PATHS);
}

static struct rkc_buffer pack(const struct tree *tree)
{
    uint32_t n = tree->local.paths.n_paths, *map = malloc(n * sizeof *map);
    struct rkc_buffer buffer = {0};
    for (uint32_t i = 0; i < n; i++)
        map[i] = i;
    is_int(rkc_local_pack(&tree->local, map, 0, n, &buffer), 0, "the numbers can be packed");
    free(map);
    return buffer;
}

static void test_letting_go(void)
{
    struct tree tree;
    grow(&tree, NULL);
    struct rkc_buffer from_memory = pack(&tree);
    tree_free(&tree);

    grow(&tree, folder);
    long before = resident_kib(tree.image.base);
    struct rkc_buffer from_file = pack(&tree);
    long after = resident_kib(tree.image.base);
    ok(from_file.size == from_memory.size &&
           memcmp(from_file.data, from_memory.data, from_file.size) == 0,
       "from a file the same as from memory");
    if (before < 0)
        skip(1, "the system does not tell how much of a mapping is in memory");
    else
        ok(before >= 400 && after <= 64, "what has been read leaves memory");
    struct rkc_buffer again = pack(&tree);
    ok(again.size == from_file.size && memcmp(again.data, from_file.data, again.size) == 0,
       "and is read again if need be");
    rkc_buffer_free(&again);
    rkc_buffer_free(&from_file);
    rkc_buffer_free(&from_memory);
    tree_free(&tree);
}

/* What no call path has is not to be in the file. */
static void test_metrics(void)
{
    const uint32_t rare = UINT32_C(1) << RKC_METRIC_IN_FLIGHT | UINT32_C(1) << RKC_METRIC_BLOCKED;
    const uint32_t sampled = UINT32_C(1) << RKC_METRIC_SAMPLED_OUT;
    const uint32_t unclosed = UINT32_C(1) << RKC_METRIC_UNCLOSED;
    struct tree tree;
    tree_init(&tree);
    tree_visit(&tree, tree_user(&tree, "step"), 100, 200);
    tree_collect(&tree, 1000);
    ok(tree.local.metrics == (RKC_ALL_METRICS & ~RKC_RARE_METRICS),
       "a plain region has those of every region");
    tree_free(&tree);

    tree_init(&tree);
    uint32_t step = tree_user(&tree, "step");
    for (uint64_t i = 0; i < 4; i++) {
        tree_begin_every(&tree, step, 2, 100 * i);
        tree_end(&tree, step, 100 * i + 50);
    }
    tree_begin(&tree, tree_user(&tree, "open"), 500);
    tree_collect(&tree, 1000);
    ok(tree.local.metrics & sampled && tree.local.metrics & unclosed,
       "and of what was left out, or is open, where there is such");
    is_int(tree.local.metrics & rare, 0, "none of requests where there are none");
    tree_free(&tree);
}

int main(void)
{
    if (!mkdtemp(folder))
        exit(1);
    test_metrics();
    test_letting_go();
    rmdir(folder);
    return done_testing();
}
