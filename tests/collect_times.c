/* collect_times.c - how the ticks of an image become a rank's nanoseconds. */
#include "autoconf.h"

#include "tree.h"

static void test_rate(void)
{
    struct tree tree;
    tree_init(&tree);
    uint32_t a = tree_user(&tree, "a"), b = tree_user(&tree, "b");
    struct rkc_image_header *header = rkc_image_header(&tree.image);
    for (uint64_t i = 0; i < 1000; i++) { /* ticks of a third of a ns: nothing is whole */
        tree_begin(&tree, a, 10 * i);
        tree_visit(&tree, b, 10 * i + 1, 10 * i + 2);
        tree_visit(&tree, b, 10 * i + 3, 10 * i + 5);
        tree_end(&tree, a, 10 * i + 7);
    }
    tree_collect(&tree, 1000);
    header->clock.end = (struct rkc_clock_pair){30000, 10000, 0};
    tree_collect_again(&tree, 0);
    const struct rkc_local *local = &tree.local;
    is_near((double)local_value(local, "a", RKC_METRIC_INCLUSIVE), 7000 / 3., 2,
            "ticks become ns by the pairs furthest apart");
    is_int(local_value(local, "a", RKC_METRIC_INCLUSIVE),
           local_value(local, "a", RKC_METRIC_EXCLUSIVE) +
               local_value(local, "a/b", RKC_METRIC_INCLUSIVE),
           "inclusive time is exclusive time and that of the regions inside, exactly");
    is_int(local_value(local, "", RKC_METRIC_INCLUSIVE), 10000, "the root's is the whole");
    is_int(local->row.wall_ns, 10000, "as is the rank's wall time");
    is_int(local_notes(local, RKC_NOTE_APPROXIMATE, NULL), 0, "two pairs make a clock");

    atomic_store(&header->clock.ended, 0u);
    header->clock.pair[2] = (struct rkc_clock_pair){9000, 4500, 0};
    header->clock.pair[1] = (struct rkc_clock_pair){12000, 5000, 0};
    atomic_store(&header->clock.n, 2u);
    tree_collect_again(&tree, 0);
    is_int(local->row.wall_ns, 4500, "without an end the pair published last is the end");
    atomic_store(&header->clock.n, 3u);
    tree_collect_again(&tree, 0);
    is_int(local->row.wall_ns, 5000, "in either slot");
    atomic_store(&header->clock.n, 1u);
    tree_collect_again(&tree, 0);
    is_int(local_notes(local, RKC_NOTE_APPROXIMATE, NULL), 1, "one pair alone is approximate");
    is_int(local_value(local, "a", RKC_METRIC_INCLUSIVE), 7000,
           "at the rate measured at the start");
    tree_free(&tree);
}

/* Regions of a tick each in one of five, all of which are nothing to the nearest ns. */
static void test_rounding(void)
{
    struct tree tree;
    const char *inside[] = {"b", "c", "d", "e"};
    tree_init(&tree);
    uint32_t a = tree_user(&tree, "a");
    tree_begin(&tree, a, 0);
    for (uint64_t i = 0; i < 4; i++)
        tree_visit(&tree, tree_user(&tree, inside[i]), i, i + 1);
    tree_end(&tree, a, 5);
    tree_collect(&tree, 1000);
    rkc_image_header(&tree.image)->clock.end = (struct rkc_clock_pair){30000, 10000, 0};
    tree_collect_again(&tree, 0);
    int64_t all = local_value(&tree.local, "a", RKC_METRIC_INCLUSIVE);
    is_int(all, 0, "a region's time is that of its parts to the nearest ns");
    is_int(local_value(&tree.local, "a", RKC_METRIC_VISIT_MAX), all,
           "its only visit is not longer than that");
    is_int(local_value(&tree.local, "a", RKC_METRIC_VISIT_MIN), all, "by neither measure");
    tree_free(&tree);
}

int main(void)
{
    test_rate();
    test_rounding();
    return done_testing();
}
