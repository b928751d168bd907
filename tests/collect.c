/* collect.c - from an image to the numbers of a rank, whatever instant the image is of. */
#include "autoconf.h"

#include <stdio.h>
#include <unistd.h>

#include <rankclock/region.h>

#include "tree.h"

static struct rkc_node *node_of(const struct tree *tree, const char *path)
{
    int64_t at = local_path(&tree->local, path);
    for (uint32_t i = 0; i < tree->local.n_nodes; i++)
        if (tree->local.nodes[i].path == at)
            return rkc_image_at(tree->image.base,
                                rkc_image_unit(tree->image.base, tree->local.nodes[i].node));
    return NULL;
}

/* ---- instants ---- */

enum { VISITS = 5 };

/* A tree with some visits of "a", of 10, 20 … ns, folded or not. */
static uint32_t begin_visits(struct tree *tree, int folded)
{
    tree_init(tree);
    uint32_t a = tree_user(tree, "a");
    for (uint64_t i = 1; i <= VISITS; i++)
        tree_visit(tree, a, 1000, 1000 + 10 * i);
    if (folded)
        rkc_private_fold(tree->thread);
    tree_collect(tree, 2000);
    return a;
}

static void is_whole(const struct tree *tree, const char *rule)
{
    const struct rkc_local *local = &tree->local;
    int whole = local_visits(local, "a") == VISITS && local_counted(local, "a") == VISITS &&
                local_value(local, "a", RKC_METRIC_INCLUSIVE) == 150 &&
                local_value(local, "a", RKC_METRIC_VISIT_MIN) == 10 &&
                local_value(local, "a", RKC_METRIC_VISIT_MAX) == 50 &&
                local_squares(local, "a") == 5500;
    ok(whole, rule);
}

static void test_instants(void)
{
    struct tree tree;
    begin_visits(&tree, 0);
    is_whole(&tree, "visits in the ring count");
    tree_free(&tree);

    begin_visits(&tree, 1);
    is_whole(&tree, "visits that were folded count once");
    struct rkc_ring *ring = tree.thread->ring;
    uint64_t tail = atomic_load(&ring->tail);
    for (uint64_t back = 1; back <= VISITS; back++) {
        atomic_store(&ring->tail, tail - back);
        tree_collect_again(&tree, 0);
        is_whole(&tree, "as they do where the fold has not come to moving the ring's tail");
    }
    atomic_store(&ring->tail, tail);

    struct rkc_node *node = node_of(&tree, "a");
    struct rkc_sums *old = &node->sums[rkc_node_current(node) == node->sums];
    old->visits = 77;
    old->sum = old->square_low = UINT64_MAX;
    tree_collect_again(&tree, 0);
    is_whole(&tree, "sums that are being written are not looked at");
    tree_free(&tree);
}

static void test_half_folded(void)
{
    struct tree tree;
    uint32_t a = begin_visits(&tree, 1);
    struct rkc_ring *ring = tree.thread->ring;
    tree_visit(&tree, a, 1000, 1060);
    tree_collect_again(&tree, 0);
    is_int(local_visits(&tree.local, "a"), VISITS + 1, "what came after the fold is added to it");
    is_int(local_counted(&tree.local, "a"), VISITS + 1, "in the histogram, too");
    is_int(local_value(&tree.local, "a", RKC_METRIC_VISIT_MAX), 60, "with its time");

    struct rkc_node *node = node_of(&tree, "a");
    node->hist[rkc_time_bucket(60)]++;
    tree_collect_again(&tree, 0);
    is_int(local_counted(&tree.local, "a"), VISITS + 1,
           "a bucket that the fold has come to before its sums counts once");
    node->hist[rkc_time_bucket(60)]--;

    uint64_t head = atomic_load(&ring->head);
    atomic_store(&ring->head, head + 10 * RKC_RING_RECORDS);
    tree_collect_again(&tree, 0);
    is_int(local_visits(&tree.local, "a"), VISITS, "a ring whose ends do not fit is left alone");
    atomic_store(&ring->head, head);
    tree_free(&tree);
}

static void test_live(void)
{
    struct tree tree;
    uint32_t a = begin_visits(&tree, 1);
    tree_visit(&tree, a, 1000, 1060);
    tree_begin(&tree, a, 1500);
    tree_collect_again(&tree, 1);
    is_whole(&tree, "of a live image neither ring nor open visits count");
    is_int(tree.local.row.open_path, local_path(&tree.local, "a"), "but what is open is told");
    tree_collect_again(&tree, 0);
    is_int(local_visits(&tree.local, "a"), VISITS + 2, "of a dead one both do");
    is_int(local_value(&tree.local, "a", RKC_METRIC_INCLUSIVE), 150 + 60 + 500, "with their time");
    tree_free(&tree);
}

/* ---- times ---- */

static void test_mpi(void)
{
    struct tree tree;
    tree_init(&tree);
    uint32_t step = tree_user(&tree, "step"), sync = tree_user(&tree, "sync");
    uint32_t send = tree_region(&tree, RKC_REGION_MPI, "MPI_Send");
    struct rkc_region_block *block = rkc_image_at(tree.image.base, sync);
    atomic_store(&block->flags, RKC_WAIT);
    atomic_store(&rkc_image_header(&tree.image)->init_ticks, 11u);

    /* step: 0..1000, MPI_Send 100..300, sync 400..500 with MPI_Send 410..440 in it */
    tree_begin(&tree, step, 0);
    struct rkc_node *node = tree_begin(&tree, send, 100);
    struct rkc_traffic *traffic = rkc_image_block(&tree.image, RKC_BLOCK_TRAFFIC, sizeof *traffic);
    node->traffic = rkc_image_unit(tree.image.base, traffic);
    atomic_store(&traffic->sent, 4096u);
    struct rkc_sizes *sizes = rkc_image_block(&tree.image, RKC_BLOCK_SIZES, sizeof *sizes);
    rkc_image_publish(&sizes->block);
    traffic->sizes = rkc_image_unit(tree.image.base, sizes);
    unsigned bucket = rkc_size_bucket(4096);
    atomic_store(&traffic->size_first, RKC_SIZE_BUCKETS + bucket - 2);
    atomic_store(&traffic->size[2], 1u);
    atomic_store(&traffic->size[3], 2u);
    atomic_store(&sizes->size[bucket], 4u);
    atomic_store(&sizes->size[0], 8u);
    rkc_image_publish(&traffic->block);
    tree_end(&tree, send, 300);
    tree_begin(&tree, sync, 400);
    tree_visit(&tree, send, 410, 440);
    tree_end(&tree, sync, 500);
    tree_end(&tree, step, 1000);
    tree_collect(&tree, 2000);

    const struct rkc_local *local = &tree.local;
    is_int(local_value(local, "step", RKC_METRIC_MPI), 230,
           "time in MPI is that of the calls inside");
    is_int(local_value(local, "step", RKC_METRIC_USEFUL), 1000 - 200 - 100,
           "time that waits, for MPI or a device, is not useful, and counts once");
    is_int(local_value(local, "step/sync", RKC_METRIC_USEFUL), 0, "nor is any inside");
    is_int(local_value(local, "step/sync/MPI_Send", RKC_METRIC_MPI), 30, "a call's is all its own");
    is_int(local->row.mpi_ns, 230, "the rank's row has the same");
    is_int(local->row.useful_ns, 2000 - 300, "of its wall time");
    is_int(local->row.init_ns, 11, "and its time in MPI_Init");
    is_int(local_value(local, "step/MPI_Send", RKC_METRIC_BYTES_SENT), 4096, "bytes are there");
    is_int(local_value(local, "step/MPI_Send", RKC_METRIC_BYTES_RECEIVED), 0, "or are none");
    is_int(local_value(local, "step/MPI_Send", RKC_METRIC_IN_FLIGHT), RKC_ABSENT,
           "without a request no time in flight");
    is_int(local_value(local, "step", RKC_METRIC_BYTES_SENT), RKC_ABSENT,
           "a region that is no call moves nothing");
    struct rkc_path_hist hist;
    rkc_local_hist(local, (uint32_t)local_path(local, "step/MPI_Send"), &hist);
    is_int((int64_t)hist.size[bucket], 1 + 4, "sizes are in a histogram, wherever they were counted");
    is_int((int64_t)hist.size[bucket + 1], 2, "each in its own bucket");
    is_int((int64_t)hist.size[0], 8, "those far from the others, too");

    atomic_store(&traffic->completed, 2u);
    atomic_store(&traffic->in_flight, 500u);
    atomic_store(&traffic->blocked, 50u);
    tree_collect_again(&tree, 0);
    is_int(local_value(local, "step/MPI_Send", RKC_METRIC_IN_FLIGHT), 500, "of requests it is");
    is_int(local_value(local, "step/MPI_Send", RKC_METRIC_BLOCKED), 50, "with the time blocked");
    tree_free(&tree);
}

/* ---- devices ---- */

static struct rkc_timed *add_timed(struct tree *tree, struct rkc_node *node)
{
    struct rkc_timed *timed = rkc_image_block(&tree->image, RKC_BLOCK_TIMED, sizeof *timed);
    node->timed = rkc_image_unit(tree->image.base, timed);
    rkc_image_publish(&timed->block);
    return timed;
}

static struct rkc_device_block *add_device(struct tree *tree, const char *uuid)
{
    struct rkc_device_block *block =
        rkc_image_block(&tree->image, RKC_BLOCK_DEVICE, sizeof *block);
    snprintf(block->uuid, sizeof block->uuid, "%s", uuid);
    rkc_image_publish(&block->block);
    return block;
}

/* kernel: 3 visits with device time of 100, 20 and 60 ns, 2 without; step is no GPU region */
static struct rkc_timed *make_kernel(struct tree *tree)
{
    tree_init(tree);
    uint32_t step = tree_user(tree, "step"), kernel = tree_user(tree, "kernel");
    tree_begin(tree, step, 0);
    struct rkc_node *node = tree_begin(tree, kernel, 0);
    tree_end(tree, kernel, 5);
    for (uint64_t i = 1; i < 5; i++)
        tree_visit(tree, kernel, 10 * i, 10 * i + 5);
    tree_end(tree, step, 100);
    struct rkc_timed *timed = add_timed(tree, node);
    atomic_store(&timed->visits, 3u);
    atomic_store(&timed->ns, 180u);
    atomic_store(&timed->min_ns, 20u);
    atomic_store(&timed->max_ns, 100u);
    atomic_store(&timed->lag_visits, 2u);
    atomic_store(&timed->lag_ns, 9u);
    atomic_store(&timed->unavailable[RKC_GPU_POOL], 2u);
    return timed;
}

static void test_device_times(void)
{
    struct tree tree;
    struct rkc_timed *timed = make_kernel(&tree);
    tree_collect(&tree, 2000);
    const struct rkc_local *local = &tree.local;
    is_int(local_value(local, "step/kernel", RKC_METRIC_DEVICE_VISITS), 3,
           "visits with device time are counted");
    is_int(local_value(local, "step/kernel", RKC_METRIC_DEVICE), 180, "their time is summed");
    is_int(local_value(local, "step/kernel", RKC_METRIC_DEVICE_MIN), 20, "with the shortest");
    is_int(local_value(local, "step/kernel", RKC_METRIC_DEVICE_MAX), 100, "and the longest");
    is_int(local_value(local, "step/kernel", RKC_METRIC_LAG), 9, "launch lag is a sum");
    is_int(local_value(local, "step/kernel", RKC_METRIC_LAG_VISITS), 2, "over visits");
    is_int(local_value(local, "step/kernel", RKC_METRIC_DEVICE_POOL), 2,
           "visits without device time are counted by reason");
    is_int(local_value(local, "step/kernel", RKC_METRIC_DEVICE_LOST), RKC_ABSENT,
           "a reason that there was not is absent");
    is_int(local_value(local, "step/kernel", RKC_METRIC_RESOLUTION), RKC_ABSENT,
           "exact visits have no resolution");
    is_int(local_value(local, "step/kernel", RKC_METRIC_INCLUSIVE), 25, "host time is as it was");
    is_int(local_value(local, "step", RKC_METRIC_DEVICE), RKC_ABSENT,
           "the region around it is no GPU region, and has no device time");
    is_int(local_value(local, "step", RKC_METRIC_INCLUSIVE), 100, "but its host time");
    is_int(local_notes(local, RKC_NOTE_GPU_POOL, "kernel"), 2, "a note says what is missing");
    is_int(local_notes(local, RKC_NOTE_GPU_COARSE, NULL), 0, "and nothing of what is not");
    const uint32_t wanted = 1u << RKC_METRIC_DEVICE | 1u << RKC_METRIC_DEVICE_POOL |
                            1u << RKC_METRIC_BYTES_SENT; /* the host's are always there */
    const uint32_t none = 1u << RKC_METRIC_DEVICE_LOST;
    ok((local->metrics & wanted) == wanted && !(local->metrics & none),
       "the rank knows which metrics it has");

    atomic_store(&timed->visits, 0u);
    atomic_store(&timed->coarse, 1u);
    atomic_store(&timed->coarse_ns, 244u);
    tree_collect_again(&tree, 0);
    is_int(local_value(local, "step/kernel", RKC_METRIC_DEVICE_VISITS), 0, "no visit is a number");
    is_int(local_value(local, "step/kernel", RKC_METRIC_DEVICE), RKC_ABSENT,
           "but no device time of 0");
    is_int(local_value(local, "step/kernel", RKC_METRIC_RESOLUTION), 244, "coarse visits say so");
    is_int(local_notes(local, RKC_NOTE_GPU_COARSE, "kernel"), 1, "in a note, too");
    tree_free(&tree);
}

/* A GPU region inside another, both of one name. */
static void test_device_nesting(void)
{
    struct tree tree;
    make_kernel(&tree);
    tree_collect(&tree, 2000);
    struct rkc_node *node = node_of(&tree, "step/kernel"), *step = node_of(&tree, "step");
    struct rkc_timed *more = add_timed(&tree, step);
    step->region = node->region;
    atomic_store(&more->visits, 1u);
    atomic_store(&more->ns, 7u);
    atomic_store(&more->min_ns, 7u);
    atomic_store(&more->max_ns, 7u);
    rkc_view_own(&tree.view, &tree.image);
    tree_collect_again(&tree, 0);
    is_int(local_value(&tree.local, "kernel", RKC_METRIC_DEVICE), 7,
           "each call path has its own device time");
    is_int(local_value(&tree.local, "kernel/kernel", RKC_METRIC_DEVICE), 180,
           "which is not added up over those inside");

    struct rkc_numbers window;
    const uint32_t map[4] = {0, 1, 1};
    rkc_numbers_init(&window, 0, 2);
    rkc_local_add(&tree.local, map, &window);
    const struct rkc_stat *stats = window.stats + RKC_METRICS;
    ok(stats[RKC_METRIC_DEVICE].sum == 187 && stats[RKC_METRIC_DEVICE_MIN].min == 7,
       "call paths that share a number share their device time");
    rkc_numbers_free(&window);
    tree_free(&tree);
}

static void test_devices(void)
{
    struct tree tree;
    make_kernel(&tree);
    struct rkc_device_block *first = add_device(&tree, "GPU-1");
    first->driver_version = 12080;
    first->numa_node = 3;
    first->rank_numa_node = -7;
    atomic_store(&first->covered_ns, 150u);
    atomic_store(&first->ns, UINT64_MAX);
    add_device(&tree, "MIG-2")->index = 1;
    tree_collect(&tree, 2000);
    const struct rkc_local *local = &tree.local;
    is_int(local->row.n_devices, 2, "a rank has the devices that it used");
    is_str(local->devices[1].uuid, "MIG-2", "by name");
    is_int(local->devices[0].covered_ns, 150, "with the time covered");
    is_int(local->devices[0].numa_node, 3, "and NUMA nodes");
    is_int(local->devices[0].rank_numa_node, -1, "where they are known");
    is_int(local->devices[0].ns, INT64_MAX, "no time is negative");
    is_str(rkc_job_get(&local->job, "gpu"), "cuda 12.8", "the driver's version is a fact");
    is_int(local_notes(local, RKC_NOTE_DAMAGED, NULL), 0, "nothing is damaged");

    memset(first->uuid, 'x', sizeof first->uuid);
    tree_collect_again(&tree, 0);
    is_int((int64_t)strlen(local->devices[0].uuid), sizeof first->uuid - 1,
           "a text without end is cut");
    is_int(local_notes(local, RKC_NOTE_DAMAGED, NULL), 1, "and is damage");
    strcpy(first->uuid, "GPU-1");
    first->block.bytes = RKC_UNIT;
    tree_collect_again(&tree, 0);
    is_int(local_notes(local, RKC_NOTE_DAMAGED, NULL), 1, "as is a block that is too short");
    first->block.bytes = (sizeof *first + RKC_UNIT - 1) / RKC_UNIT * RKC_UNIT;

    for (int i = 2; i < RKC_RANK_DEVICES_MAX + 3; i++)
        add_device(&tree, "GPU-more");
    rkc_view_own(&tree.view, &tree.image);
    tree_collect_again(&tree, 0);
    is_int(local->row.n_devices, RKC_RANK_DEVICES_MAX, "of more than 16 devices 16 are kept");
    is_int(local_notes(local, RKC_NOTE_DEVICES, NULL), 3, "and the others counted");
    tree_free(&tree);
}

static void test_hostile_devices(void)
{
    struct tree tree;
    struct rkc_timed *timed = make_kernel(&tree);
    tree_collect(&tree, 2000);
    struct rkc_node *node = node_of(&tree, "step/kernel");
    const uint32_t saved = node->timed, wrong[] = {1, RKC_HEADER_SIZE / RKC_UNIT, node->parent,
                                                   UINT32_MAX, saved + 1};
    int found = 0;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        node->timed = wrong[i];
        tree_collect_again(&tree, 0);
        found += local_value(&tree.local, "step/kernel", RKC_METRIC_DEVICE) != RKC_ABSENT;
    }
    is_int(found, 0, "a node whose device times are elsewhere has none");
    node->timed = saved;
    atomic_store(&timed->visits, UINT64_MAX);
    atomic_store(&timed->min_ns, UINT64_MAX);
    atomic_store(&timed->unavailable[RKC_GPU_ERROR], UINT64_MAX);
    tree_collect_again(&tree, 0);
    is_int(local_value(&tree.local, "step/kernel", RKC_METRIC_DEVICE_VISITS), INT64_MAX,
           "a number beyond 63 bits is the largest");
    is_int(local_value(&tree.local, "step/kernel", RKC_METRIC_DEVICE_MIN), INT64_MAX,
           "and never absent");
    is_int(local_notes(&tree.local, RKC_NOTE_GPU_ERROR, NULL), INT64_MAX, "nor negative in a note");
    tree_free(&tree);
}

/* ---- who ---- */

static void add_fact(struct tree *tree, const char *key, const char *value)
{
    struct rkc_fact_block *fact = rkc_image_block(&tree->image, RKC_BLOCK_FACT,
                                                  sizeof *fact + strlen(key) + strlen(value) + 2);
    strcpy(fact->text, key);
    strcpy(fact->text + strlen(key) + 1, value);
    rkc_image_publish(&fact->block);
}

static void test_identity(void)
{
    struct tree tree;
    tree_init(&tree);
    struct rkc_image_header *header = rkc_image_header(&tree.image);
    strcpy(header->host, "node7");
    atomic_store(&header->state, (uint32_t)RKC_STATE_SIGNAL);
    atomic_store(&header->signal, 11);
    add_fact(&tree, "launcher", "mpirun");
    add_fact(&tree, "launcher", "srun");
    add_fact(&tree, "restart", "");
    tree_collect(&tree, 5000);
    rkc_local_free(&tree.local);
    rkc_local_collect(&tree.local, &tree.view, 3);
    const struct rkc_local *local = &tree.local;
    is_int(local->row.rank, 3, "an image that knows no rank is given one");
    is_str(local->row.node, "node7", "the host's name is in the row");
    is_int(local->row.state, RKC_STATE_SIGNAL, "and how it ended");
    is_int(local->row.signal, 11, "with the signal");
    is_int(local->row.pid, getpid(), "and the process");
    is_str(rkc_job_get(&local->job, "launcher"), "srun", "of facts the last one holds");
    is_int(local->paths.ranks[0].first, 3, "the profile is of that rank");

    atomic_store(&header->rank, 9);
    atomic_store(&header->state, 99u);
    tree_collect_again(&tree, 0);
    is_int(tree.local.row.rank, 9, "its own rank is stronger");
    is_int(tree.local.row.state, RKC_STATE_RUNNING, "a state that is none is running");
    tree_free(&tree);
}

/* ---- damage ---- */

static void test_damage(void)
{
    struct tree tree;
    tree_init(&tree);
    uint32_t a = tree_user(&tree, "a"), b = tree_user(&tree, "b"), c = tree_user(&tree, "c");
    tree_visit(&tree, a, 0, 10);
    tree_begin(&tree, b, 10);
    tree_visit(&tree, c, 10, 20);
    tree_end(&tree, b, 30);
    tree_collect(&tree, 2000);
    is_int(local_notes(&tree.local, RKC_NOTE_DAMAGED, NULL), 0, "a whole image is not damaged");

    struct rkc_node *node = node_of(&tree, "b");
    const uint32_t ring = rkc_image_unit(tree.image.base, tree.thread->ring);
    const uint32_t saved = node->region, wrong[] = {0, 1, UINT32_MAX, 1u << 30, ring, ring + 1};
    int unseen = 0;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        node->region = wrong[i];
        tree_collect_again(&tree, 0);
        unseen += local_notes(&tree.local, RKC_NOTE_DAMAGED, NULL) != 1 ||
                  local_visits(&tree.local, "a") != 1 || local_path(&tree.local, "b") >= 0;
    }
    is_int(unseen, 0, "a node of no region is left out, the others stay, and a note tells");
    node->region = saved;

    uint32_t parent = node->parent;
    node->parent = rkc_image_unit(tree.image.base, node);
    tree_collect_again(&tree, 0);
    is_int(local_notes(&tree.local, RKC_NOTE_DAMAGED, NULL), 1, "a node below itself is damage");
    node->parent = parent;

    struct rkc_region_block *block = rkc_image_at(tree.image.base, a);
    block->name_bytes = 200;
    tree_collect_again(&tree, 0);
    is_int(local_visits(&tree.local, "b/c"), 1,
           "a region without an end to its name spoils no other");
    block->name_bytes = 0;
    block->text[0] = 0;
    tree_collect_again(&tree, 0);
    is_int(local_visits(&tree.local, "b/c"), 1, "nor one without a name");
    tree_free(&tree);
}

static void test_nothing(void)
{
    struct rkc_image image;
    struct rkc_view view;
    struct rkc_local local;
    rkc_image_create(&image, NULL, 0);
    rkc_view_own(&view, &image);
    is_int(rkc_local_collect(&local, &view, 0), RKC_EFORMAT,
           "an image without a call path is refused");
    rkc_image_destroy(&image);
}

/* ---- handing over ---- */

/* The call paths of one rank among those of others. */
static void test_windows(void)
{
    struct tree tree;
    tree_init(&tree);
    uint32_t a = tree_user(&tree, "a"), b = tree_user(&tree, "b");
    tree_begin(&tree, a, 0);
    tree_visit(&tree, b, 10, 30);
    tree_end(&tree, a, 50);
    tree_collect(&tree, 2000);
    const struct rkc_local *local = &tree.local;
    const uint32_t map[3] = {0, 5, 3}; /* (run), a, a/b */

    struct rkc_numbers window, whole, unpacked;
    struct rkc_buffer buffer = {0};
    rkc_numbers_init(&window, 3, 2);
    rkc_numbers_init(&whole, 0, 6);
    rkc_local_add(local, map, &window);
    rkc_local_add(local, map, &whole);
    const struct rkc_stat *stat = &window.stats[RKC_METRIC_INCLUSIVE];
    ok(stat->ranks == 1 && stat->sum == 20 && stat->max == 20, "a window has the call paths in it");
    is_int(window.stats[RKC_METRICS + RKC_METRIC_INCLUSIVE].ranks, 0, "and of others nothing");
    is_int((int64_t)whole.stats[5 * RKC_METRICS + RKC_METRIC_INCLUSIVE].sum, 50,
           "the whole has all");
    is_int((int64_t)window.hist[0].time[rkc_time_bucket(20)], 1, "with histograms");

    is_int(rkc_local_pack(local, map, 0, 6, &buffer), 0, "the numbers can be packed");
    struct rkc_cursor cursor = {buffer.data, buffer.data + buffer.size, 0};
    is_int(rkc_numbers_unpack(&unpacked, &cursor), 0, "and unpacked");
    int bad = memcmp(unpacked.hist, whole.hist, 6 * sizeof *whole.hist) != 0;
    for (int i = 0; i < 6 * RKC_METRICS; i++)
        bad += unpacked.stats[i].ranks != whole.stats[i].ranks ||
               (whole.stats[i].ranks && (unpacked.stats[i].sum != whole.stats[i].sum ||
                                         unpacked.stats[i].sumsq != whole.stats[i].sumsq ||
                                         unpacked.stats[i].min != whole.stats[i].min ||
                                         unpacked.stats[i].max_rank != whole.stats[i].max_rank));
    is_int(bad, 0, "to what adding them gives");

    int64_t row[2][6];
    uint32_t metrics = 1u << RKC_METRIC_VISITS | 1u << RKC_METRIC_INCLUSIVE;
    rkc_local_row(local, map, metrics, 6, 6, row[0]);
    ok(row[0][5] == 1 && row[1][5] == 50 && row[1][3] == 20, "a rank's row has the metrics wanted");
    ok(row[0][1] == RKC_ABSENT && row[1][4] == RKC_ABSENT, "and is absent elsewhere");
    rkc_numbers_free(&window);
    rkc_numbers_free(&whole);
    rkc_numbers_free(&unpacked);
    rkc_buffer_free(&buffer);
    tree_free(&tree);
}

int main(void)
{
    test_instants();
    test_half_folded();
    test_live();
    test_mpi();
    test_device_times();
    test_device_nesting();
    test_devices();
    test_hostile_devices();
    test_identity();
    test_damage();
    test_nothing();
    test_windows();
    return done_testing();
}
