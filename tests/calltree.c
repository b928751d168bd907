/* calltree.c - the call tree of a thread, on ticks that the test gives. */
#include "autoconf.h"

#include "tree.h"

static void test_times(void)
{
    struct tree tree;
    tree_init(&tree);
    uint32_t solve = tree_user(&tree, "solve"), halo = tree_user(&tree, "halo");

    /* solve: 0..100, holding halo: 10..40 and 50..60 */
    tree_begin(&tree, solve, 0);
    tree_visit(&tree, halo, 10, 40);
    tree_visit(&tree, halo, 50, 60);
    tree_end(&tree, solve, 100);
    tree_collect(&tree, 2000);

    const struct rkc_local *local = &tree.local;
    is_int(local_value(local, "solve", RKC_METRIC_INCLUSIVE), 100,
           "inclusive time covers the regions inside");
    is_int(local_value(local, "solve", RKC_METRIC_EXCLUSIVE), 60, "exclusive time does not");
    is_int(local_visits(local, "solve/halo"), 2, "a call path met twice is one");
    is_int(local_value(local, "solve/halo", RKC_METRIC_INCLUSIVE), 40, "its visits add up");
    is_int(local_value(local, "solve/halo", RKC_METRIC_VISIT_MIN), 10, "the shortest is kept");
    is_int(local_value(local, "solve/halo", RKC_METRIC_VISIT_MAX), 30, "and the longest");
    is_int((int64_t)local_squares(local, "solve/halo"), 1000, "squares of durations add up");
    is_int(local_counted(local, "solve/halo"), 2, "the histogram holds every timed visit");
    is_int(local_value(local, "", RKC_METRIC_INCLUSIVE), 2000, "the root lasts until the end");
    is_int(local_visits(local, "halo"), RKC_ABSENT, "a region is booked below where it was begun");
    is_int(local->paths.n_notes, 0, "all is well, and nothing noted");
    tree_free(&tree);
}

static void test_recursion(void)
{
    enum { DEEP = 10000 };
    struct tree tree;
    tree_init(&tree);
    uint32_t walk = tree_user(&tree, "walk");
    for (int i = 0; i < DEEP; i++)
        tree_begin(&tree, walk, (uint64_t)i);
    int bad = 0;
    for (int i = 0; i < DEEP; i++)
        bad += tree_end(&tree, walk, (uint64_t)(DEEP + i)) != 0;
    is_int(bad, 0, "each recursive call is ended");
    ok(tree_at_root(&tree), "and all of them are left");
    tree_collect(&tree, 2 * DEEP);
    is_int(local_visits(&tree.local, "walk"), DEEP, "a region inside itself counts visits");
    is_int(local_value(&tree.local, "walk", RKC_METRIC_INCLUSIVE), 2 * DEEP - 1,
           "but the outermost visit alone adds time");
    is_int(tree.local.paths.n_paths, 2, "on one call path");
    tree_free(&tree);
}

static void test_depth(void)
{
    enum { DEEP = 300 };
    struct tree tree;
    tree_init(&tree);
    uint32_t region[2] = {tree_user(&tree, "a"), tree_user(&tree, "b")};
    int bad = 0, deepest = 0;
    for (int i = 0; i < DEEP; i++) {
        tree_begin(&tree, region[i % 2], (uint64_t)i);
        deepest =
            tree_open(&tree)->depth > (uint32_t)deepest ? (int)tree_open(&tree)->depth : deepest;
    }
    for (int i = DEEP; i-- > 0;)
        bad += tree_end(&tree, region[i % 2], (uint64_t)(2 * DEEP - i)) != 0;
    is_int(bad, 0, "regions nested beyond the limit end as they began");
    ok(tree_at_root(&tree), "and none is left open");
    is_int(deepest, RKC_DEPTH_MAX + 1, "call paths end at the limit, with \"(deep)\" below");
    tree_collect(&tree, 2 * DEEP);
    is_int(local_all_visits(&tree.local), DEEP, "no visit is lost");
    is_int(local_notes(&tree.local, RKC_NOTE_DEPTH, NULL), DEEP - RKC_DEPTH_MAX,
           "each begin that was too deep is noted");
    tree_free(&tree);
}

static void test_children(void)
{
    enum { CHILDREN = 1000, ROUNDS = 3 };
    struct tree tree;
    static uint32_t region[CHILDREN];
    char name[32];
    tree_init(&tree);
    for (int i = 0; i < CHILDREN; i++) {
        snprintf(name, sizeof name, "r%d", i);
        region[i] = tree_user(&tree, name);
    }
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < CHILDREN; i++) /* 7 and 1000 have no common factor */
            tree_visit(&tree, region[i * 7 % CHILDREN], 0, 1);
    tree_collect(&tree, 10);
    is_int(atomic_load(&rkc_image_header(&tree.image)->n_nodes), CHILDREN + 1,
           "of many children each has one node");
    int bad = 0;
    for (uint32_t path = 1; path < tree.local.paths.n_paths; path++)
        bad += rkc_local_value(&tree.local, path, RKC_METRIC_VISITS) != ROUNDS;
    is_int(bad, 0, "and is found in each round");
    tree_free(&tree);
}

static void test_unmatched(void)
{
    struct tree tree;
    tree_init(&tree);
    uint32_t a = tree_user(&tree, "a"), b = tree_user(&tree, "b"), c = tree_user(&tree, "c");

    is_int(tree_end(&tree, a, 0), RKC_ENOTOPEN, "an end without a begin is refused");
    is_int(tree_end(&tree, tree.names.root, 0), RKC_ENOTOPEN, "and one of the root");
    ok(tree_at_root(&tree), "nothing comes of either");

    tree_begin(&tree, a, 0);
    tree_begin(&tree, b, 10);
    tree_begin(&tree, c, 20);
    is_int(tree_end(&tree, a, 50), 0, "an end closes what is open inside");
    ok(tree_at_root(&tree), "and the region itself");
    is_int(tree_end(&tree, c, 60), RKC_ENOTOPEN, "whose own ends come too late");

    tree_begin(&tree, a, 100);
    tree_begin(&tree, b, 110);
    tree_begin(&tree, b, 115);
    tree_end(&tree, a, 150);
    tree_begin(&tree, a, 200); /* left open */
    tree_collect(&tree, 230);

    const struct rkc_local *local = &tree.local;
    is_int(local_value(local, "a/b", RKC_METRIC_INCLUSIVE), 40 + 40, "inner regions end with it");
    is_int(local_value(local, "a/b/c", RKC_METRIC_INCLUSIVE), 30, "at the same time");
    is_int(local_value(local, "a/b", RKC_METRIC_UNCLOSED), 3, "and count as unclosed");
    is_int(local_visits(local, "a"), 3, "an open visit counts");
    is_int(local_value(local, "a", RKC_METRIC_INCLUSIVE), 50 + 50 + 30,
           "with its time up to the last instant known");
    is_int(local_value(local, "a", RKC_METRIC_UNCLOSED), 1, "as unclosed");
    is_int(local_notes(local, RKC_NOTE_END_WITHOUT_BEGIN, "a"), 1, "ends of nothing are noted");
    is_int(local_notes(local, RKC_NOTE_END_WITHOUT_BEGIN, "c"), 1, "by region");
    is_int(local_notes(local, RKC_NOTE_END_CROSSING, "a"), 2, "and so are ends that cross");
    is_int(local->row.open_path, local_path(local, "a"), "the rank's row names the open call path");
    tree_free(&tree);
}

static void test_close(void)
{
    struct tree tree;
    tree_init(&tree);
    uint32_t a = tree_user(&tree, "a"), b = tree_user(&tree, "b");
    tree_begin(&tree, a, 10);
    tree_begin(&tree, b, 20);
    tree_begin(&tree, b, 25);
    rkc_tree_close(tree.thread, 50);
    ok(tree_at_root(&tree), "a thread that ends has left every region");
    atomic_store(&tree.thread->ring->live, 0u);
    tree_collect(&tree, 90);
    is_int(local_value(&tree.local, "a", RKC_METRIC_INCLUSIVE), 40, "at the time of its end");
    is_int(local_value(&tree.local, "a/b", RKC_METRIC_UNCLOSED), 2,
           "which closes what it left open");
    is_int(local_value(&tree.local, "", RKC_METRIC_INCLUSIVE), 50, "its root ends with it");
    is_int(local_value(&tree.local, "", RKC_METRIC_UNCLOSED), RKC_ABSENT, "as it should");
    tree_free(&tree);
}

static void test_sampling(void)
{
    struct tree tree;
    tree_init(&tree);
    uint32_t cell = tree_user(&tree, "cell"), flux = tree_user(&tree, "flux");
    for (uint64_t i = 0; i < 10; i++) {
        tree_begin_every(&tree, cell, 3, 100 * i);
        tree_visit(&tree, flux, 100 * i + 10, 100 * i + 11);
        is_int(tree_end(&tree, cell, 100 * i + 50), 0,
               i ? "a visit that is not timed ends" : "a timed visit ends");
    }
    tree_collect(&tree, 2000);
    const struct rkc_local *local = &tree.local;
    is_int(local_visits(local, "cell"), 10, "of sampled regions every visit counts");
    is_int(local_value(local, "cell", RKC_METRIC_SAMPLED_OUT), 6, "those left out apart");
    is_int(local_counted(local, "cell"), 4, "every third is timed, the first included");
    is_int(local_value(local, "cell", RKC_METRIC_INCLUSIVE), 4 * 50, "and no time made up");
    is_int(local_visits(local, "cell/flux"), 4, "inside a timed visit regions hang from it");
    is_int(local_visits(local, "flux"), 6, "else from the nearest recorded one");
    is_int(local_notes(local, RKC_NOTE_SAMPLED, "cell"), 6, "a note tells that it was sampled");
    tree_free(&tree);
}

static void test_hidden(void)
{
    struct tree tree;
    tree_init(&tree);
    uint32_t a = tree_user(&tree, "a"), b = tree_user(&tree, "b");
    tree_begin(&tree, a, 0);
    rkc_thread_pause(1);
    ok(!tree_begin(&tree, b, 10), "while paused no visit begins");
    ok(!tree_begin(&tree, a, 20), "nor one of a region that is open");
    is_int(tree_end(&tree, a, 30), 0, "its end is taken");
    is_int(tree_end(&tree, b, 40), 0, "for what it is");
    ok(tree_open(&tree)->region == a, "and ends nothing that is recorded");
    tree_begin(&tree, b, 50);
    rkc_thread_pause(0);
    ok(tree_begin(&tree, b, 60) != NULL, "once resumed visits begin");
    tree_end(&tree, b, 70);
    is_int(tree_end(&tree, b, 80), 0, "a region begun while paused may end when resumed");
    is_int(tree_end(&tree, a, 100), 0, "and an open one while paused or not");
    for (int i = 0; i < 1000; i++) {
        rkc_thread_pause(1);
        tree_begin(&tree, b, 100); /* whose end is missing */
        rkc_thread_pause(0);
        tree_visit(&tree, a, 100, 101);
    }
    tree_collect(&tree, 200);
    is_int(local_value(&tree.local, "a", RKC_METRIC_INCLUSIVE), 100 + 1000,
           "an open region keeps its time through a pause");
    is_int(local_visits(&tree.local, "a"), 1 + 1000, "visits made while paused are not there");
    is_int(local_visits(&tree.local, "a/b"), 1, "at any depth");
    is_int(local_visits(&tree.local, "b"), RKC_ABSENT, "even unended ones");
    tree_free(&tree);
}

/* An end that unwinds over regions that are not recorded. */
static void test_hidden_unmatched(void)
{
    struct tree tree;
    tree_init(&tree);
    uint32_t a = tree_user(&tree, "a"), b = tree_user(&tree, "b"), c = tree_user(&tree, "c");
    for (uint64_t i = 0; i < 2; i++) { /* the second b is not timed */
        tree_begin(&tree, a, 10 * i);
        tree_begin_every(&tree, b, 2, 10 * i + 1);
        tree_begin(&tree, c, 10 * i + 2);
        is_int(tree_end(&tree, b, 10 * i + 5), 0, "an end unwinds to its region, timed or not");
        ok(tree_open(&tree)->region == a, "and not further");
        tree_begin_every(&tree, b, 1, 10 * i + 6);
        tree_end(&tree, b, 10 * i + 7);
        tree_end(&tree, a, 10 * i + 9);
    }
    ok(tree_at_root(&tree), "nothing stays open");
    is_int(tree.thread->n_hidden, 0, "or hidden");
    tree_collect(&tree, 50);
    is_int(local_visits(&tree.local, "a/b"), 4, "each visit is counted");
    is_int(local_value(&tree.local, "a/b/c", RKC_METRIC_UNCLOSED), 1, "the inner one as unclosed");
    is_int(local_value(&tree.local, "a/c", RKC_METRIC_UNCLOSED), 1, "wherever it hangs");
    tree_free(&tree);
}

static void test_clock(void)
{
    struct tree tree;
    tree_init(&tree);
    uint32_t a = tree_user(&tree, "a"), b = tree_user(&tree, "b");
    const uint64_t jump = UINT64_C(1) << 55; /* a year */
    tree_visit(&tree, a, 100, 100);
    tree_visit(&tree, a, 100, 40);
    tree_visit(&tree, a, 40, 50);
    tree_visit(&tree, b, 50, jump);
    tree_visit(&tree, b, jump, jump + 5);
    tree_collect(&tree, (int64_t)jump + 10);
    const struct rkc_local *local = &tree.local;
    is_int(local_visits(local, "a"), 3, "a clock that stands or steps back costs no visit");
    is_int(local_value(local, "a", RKC_METRIC_INCLUSIVE), 10,
           "a visit it steps back in has no time");
    is_int(local_value(local, "a", RKC_METRIC_VISIT_MIN), 0, "never a negative one");
    is_int(local_notes(local, RKC_NOTE_CLOCK, NULL), 1, "and is noted");
    is_int(local_value(local, "b", RKC_METRIC_INCLUSIVE), (int64_t)jump - 50 + 5,
           "a clock that jumps is believed");
    is_int(local_value(local, "b", RKC_METRIC_VISIT_MIN), 5, "for that visit alone");
    tree_free(&tree);
}

/* The sums of many visits, which go through the ring several times. */
static void test_fold(void)
{
    enum { VISITS = 5 * RKC_RING_RECORDS + 7 };
    struct tree tree;
    tree_init(&tree);
    uint32_t a = tree_user(&tree, "a"), b = tree_user(&tree, "b");
    const uint64_t long_ns = UINT64_C(5000000000); /* its square does not fit 64 bits */
    int64_t sum[2] = {0};
    double square = 0;
    for (int i = 0; i < VISITS; i++) {
        uint64_t ns = (uint64_t)i;
        tree_begin(&tree, a, 1000);
        tree_visit(&tree, b, 1000, 1000 + ns);
        tree_end(&tree, a, 1000 + long_ns + ns);
        sum[0] += (int64_t)(long_ns + ns);
        sum[1] += (int64_t)ns;
        square += (double)(long_ns + ns) * (double)(long_ns + ns);
    }
    tree_collect(&tree, sum[0] + 1000);
    const struct rkc_local *local = &tree.local;
    is_int(local_visits(local, "a"), VISITS, "however many visits there are, all are counted");
    is_int(local_visits(local, "a/b"), VISITS, "at each depth");
    is_int(local_counted(local, "a/b"), VISITS, "in the histogram, too");
    is_int(local_value(local, "a", RKC_METRIC_INCLUSIVE), sum[0], "their times add up exactly");
    is_int(local_value(local, "a/b", RKC_METRIC_INCLUSIVE), sum[1], "at each depth");
    is_int(local_value(local, "a/b", RKC_METRIC_VISIT_MAX), VISITS - 1,
           "none is longer than it was");
    is_near((double)local_squares(local, "a") / square, 1, 1e-12, "squares go beyond 64 bits");
    ok(atomic_load(&tree.thread->ring->head) - atomic_load(&tree.thread->ring->tail) <=
           RKC_RING_RECORDS,
       "the ring never holds more than it can");
    tree_free(&tree);
}

/* More visits than a node's own buckets hold, of several durations: all counted at any instant. */
static void test_full_buckets(void)
{
    enum { VISITS = 3 * 65536 + 5 };
    struct tree tree;
    tree_init(&tree);
    uint32_t a = tree_user(&tree, "a");
    for (int i = 0; i < VISITS; i++) {
        tree_visit(&tree, a, 0, 100);
        tree_visit(&tree, a, 0, 1000000000);
        if (i % 2 == 0)
            tree_visit(&tree, a, 0, 110);
    }
    rkc_private_fold(tree.thread);
    tree_collect(&tree, 500);
    struct rkc_path_hist hist;
    rkc_local_hist(&tree.local, (uint32_t)local_path(&tree.local, "a"), &hist);
    unsigned bucket = rkc_time_bucket(100);
    is_int((int64_t)hist.time[bucket], VISITS + VISITS / 2 + 1, "a bucket holds more than 2^16");
    is_int((int64_t)hist.time[rkc_time_bucket(1000000000)], VISITS, "and so does another");

    uint32_t unit = rkc_pair_unit(tree.thread->hot->open->last);
    struct rkc_node *node = rkc_image_at(tree.image.base, unit);
    struct rkc_high_block *high = rkc_image_at(tree.image.base, node->high);
    while (high->first != bucket / RKC_HIGH_BUCKETS * RKC_HIGH_BUCKETS)
        high = rkc_image_at(tree.image.base, high->next);
    uint64_t *full = &high->full[bucket % RKC_HIGH_BUCKETS], visits = 4 * RKC_HIST_FULL - 1;
    visits += VISITS; /* of the other duration */
    *full = 4;
    node->hist[bucket] = UINT16_MAX; /* as it is after the bucket was counted */
    node->filled = bucket;
    node->sums[rkc_node_current(node) != node->sums].visits = visits;
    rkc_local_free(&tree.local);
    tree_collect(&tree, 500);
    is_int(local_counted(&tree.local, "a"), (int64_t)visits,
           "a bucket that was counted and not emptied counts once");
    tree_free(&tree);
}

static void test_nodes(void)
{
    enum { WIDE = 300 };
    struct tree tree;
    static uint32_t region[WIDE];
    char name[32];
    int bad = 0;
    tree_init(&tree);
    for (int i = 0; i < WIDE; i++) {
        snprintf(name, sizeof name, "r%d", i);
        region[i] = tree_user(&tree, name);
    }
    for (int i = 0; i < WIDE; i++)
        for (int j = 0; j < WIDE; j++) {
            tree_begin(&tree, region[i], 0);
            tree_begin(&tree, region[j], 1);
            bad += tree_end(&tree, region[j], 2) != 0;
            bad += tree_end(&tree, region[i], 3) != 0;
        }
    is_int(bad, 0, "begins beyond the most call paths are ended as any");
    is_int(atomic_load(&rkc_image_header(&tree.image)->n_nodes), RKC_NODES_MAX,
           "no more call paths are made; the last is \"(other)\"");
    tree_collect(&tree, 10);
    is_int(local_all_visits(&tree.local), 2 * WIDE * WIDE, "and no visit is lost");
    is_int(local_notes(&tree.local, RKC_NOTE_NODES, NULL), local_visits(&tree.local, "(other)"),
           "a note has the number of those in \"(other)\"");
    is_int(local_notes(&tree.local, RKC_NOTE_NAMES, NULL), 0, "which is not for want of names");
    tree_free(&tree);
}

static void test_notes(void)
{
    enum { REGIONS = 1000 };
    struct tree tree;
    char name[32];
    tree_init(&tree);
    for (int i = 0; i < REGIONS; i++) {
        snprintf(name, sizeof name, "r%d", i);
        uint32_t region = tree_user(&tree, name);
        tree_end(&tree, region, 0);
        tree_end(&tree, region, 0);
    }
    tree_collect(&tree, 10);
    is_int(local_notes(&tree.local, RKC_NOTE_END_WITHOUT_BEGIN, NULL), 2 * REGIONS,
           "notes of many regions keep their count");
    is_int(local_notes(&tree.local, RKC_NOTE_END_WITHOUT_BEGIN, "r0"), 2, "the first by region");
    ok(tree.local.paths.n_notes < REGIONS / 2, "the others together");
    tree_free(&tree);
}

static void hot_visit(struct tree *tree, uint32_t region, uint64_t ticks)
{
    struct rkc_node *node = rkc_hot_begin(tree->thread->hot, region);
    if (node)
        rkc_hot_end(tree->thread->hot, node, region, node->begin + ticks);
}

/* The hot path finds the region begun last, and the one that followed it the last time. */
static void test_hot(void)
{
    struct tree tree;
    tree_init(&tree);
    struct rkc_hot *hot = tree.thread->hot;
    uint32_t a = tree_user(&tree, "a"), b = tree_user(&tree, "b"), c = tree_user(&tree, "c");
    ok(!rkc_hot_begin(hot, a), "a region that was never begun is not found");
    tree_visit(&tree, a, 0, 1);
    tree_visit(&tree, b, 1, 2);
    hot_visit(&tree, b, 5);
    tree_visit(&tree, a, 2, 3);
    struct rkc_node *node = rkc_hot_begin(hot, b);
    ok(node && node->region == b, "the one that followed it is");
    ok(tree_open(&tree) == node && node->begin != RKC_NO_BEGIN, "and is open then");
    ok(!rkc_hot_begin(hot, b), "a region does not begin inside itself");
    ok(!rkc_hot_begin(hot, c), "nor any that is not known there");
    rkc_hot_end(hot, node, b, node->begin + 7);
    ok(tree_at_root(&tree) && node->begin == RKC_NO_BEGIN, "an end leaves it");
    tree_collect(&tree, 100);
    is_int(local_visits(&tree.local, "b"), 3, "with its visits counted");
    is_int(local_value(&tree.local, "b", RKC_METRIC_VISIT_MAX), 7, "and their time");
    tree_free(&tree);
}

/* A signal handler may run regions between any two stores of a begin or an end. */
static void test_interrupted(void)
{
    struct tree tree;
    tree_init(&tree);
    struct rkc_hot *hot = tree.thread->hot;
    uint32_t a = tree_user(&tree, "a"), b = tree_user(&tree, "b");
    tree_begin(&tree, a, 0);
    tree_visit(&tree, b, 1, 2);
    tree_end(&tree, a, 3);

    struct rkc_node *node = hot->next; /* a begin of `a` that has come as far as opening it */
    hot->open = node;
    ok(!rkc_hot_begin(hot, a), "a region half begun does not begin again by the hot path");
    ok(!rkc_hot_begin(hot, b), "nor what was last in it, before it is expected");
    tree_begin(&tree, a, 20);
    tree_end(&tree, a, 30);
    node->begin = 10;
    ok(tree_open(&tree) == node, "by the other it does, and stays open");
    hot->next_region = b; /* a begin of `a` with a wrong expectation half stored */
    hot->next = node;
    ok(!rkc_hot_begin(hot, b), "what is expected must be what it says");
    rkc_tree_settle(tree.thread);
    tree_end(&tree, a, 40);
    tree_collect(&tree, 2000);
    is_int(local_visits(&tree.local, "a"), 3, "and each visit counts");
    is_int(tree.local.paths.n_notes, 0, "with nothing amiss");
    tree_free(&tree);
}

int main(void)
{
    test_times();
    test_recursion();
    test_depth();
    test_children();
    test_unmatched();
    test_close();
    test_sampling();
    test_hidden();
    test_hidden_unmatched();
    test_clock();
    test_fold();
    test_full_buckets();
    test_nodes();
    test_notes();
    test_hot();
    test_interrupted();
    return done_testing();
}
