/* collect_open.c - what an image tells of the call paths that were open. */
#include "autoconf.h"

#include <pthread.h>
#include <stdlib.h>

#include "tree.h"

/* A rank that hangs in what it began after its last clock pair. */
static void test_hanging(void)
{
    struct tree tree;
    tree_init(&tree);
    struct rkc_image_header *header = rkc_image_header(&tree.image);
    tree_begin(&tree, tree_user(&tree, "b"), 50000);
    tree_collect(&tree, 2000);
    is_int(tree.local.row.wall_ns, 2000, "measuring ends where the image says so");
    atomic_store(&header->init_ticks, 400);
    tree_collect_again(&tree, 1);
    ok(tree.local.row.mpi_ns == 400 && tree.local.row.useful_ns == 1600,
       "MPI_Init is no useful time, though its visit does not count yet");

    atomic_store(&header->clock.ended, 0);
    for (int live = 0; live <= 1; live++) {
        tree_collect_again(&tree, live);
        is_int(tree.local.row.wall_ns, 50000, "else with the last begin of an open region");
        is_int(tree.local.row.measured_until_unix_ns - tree.local.row.start_unix_ns, 50000,
               "so the rank's row tells");
    }
    tree_free(&tree);
}

/* The clock was read at 0, and never again: visits and begins tell that the process lived on. */
static void test_last_instant(void)
{
    struct tree tree;
    tree_init(&tree);
    uint32_t a = tree_user(&tree, "a"), b = tree_user(&tree, "b"), c = tree_user(&tree, "c");
    tree_visit(&tree, a, 100, 900);
    tree_begin(&tree, b, 1000);
    tree_collect(&tree, 0);
    atomic_store(&rkc_image_header(&tree.image)->clock.ended, 0u);
    tree_collect_again(&tree, 0);
    is_int(tree.local.row.wall_ns, 1000, "a process that was killed lived until its last begin");
    tree_visit(&tree, c, 1100, 1600);
    tree_visit(&tree, c, 1600, 1700);
    rkc_private_fold(tree.thread);
    for (int live = 0; live < 2; live++) {
        tree_collect_again(&tree, live);
        is_int(tree.local.row.wall_ns, 1600,
               "or until what was visited in it can have been over: 600 from 1000 on");
    }
    tree_collect_again(&tree, 0);
    is_int(local_value(&tree.local, "b", RKC_METRIC_INCLUSIVE), 600, "so long was what is open");
    is_int(local_value(&tree.local, "", RKC_METRIC_INCLUSIVE), 1600, "and the thread");
    tree_end(&tree, b, 1800);
    tree_begin(&tree, b, 2000);
    tree_visit(&tree, c, 2000, 2300);
    tree_collect_again(&tree, 0);
    is_int(tree.local.row.wall_ns, 2100,
           "in a later visit what was inside the earlier ones is not taken for more of it");
    tree_free(&tree);
}

static void test_still(void)
{
    struct tree tree;
    tree_init(&tree);
    uint32_t a = tree_user(&tree, "a");
    tree_visit(&tree, a, 1000, 1060);
    tree_begin(&tree, a, 1500);
    tree_collect(&tree, 2000);
    tree_collect_again(&tree, 1);
    is_int(local_visits(&tree.local, "a"), RKC_ABSENT,
           "of a process that runs the last visits do not count");
    tree.view.still = 1;
    tree_collect_again(&tree, 1);
    is_int(local_visits(&tree.local, "a"), 2, "of one that stands still all do");
    is_int(local_value(&tree.local, "a", RKC_METRIC_INCLUSIVE), 60 + 500, "with their time");
    tree_free(&tree);
}

/* What the second thread of a process has open meanwhile. */
struct second {
    struct tree *tree;
    uint32_t outer, inner; /* regions */
    pthread_barrier_t begun, done;
};

static void *hang(void *arg)
{
    struct second *second = arg;
    struct tree tree = *second->tree;
    tree.thread = rkc_thread_attach();
    if (!tree.thread)
        exit(1);
    tree_begin(&tree, second->outer, 100);
    tree_begin(&tree, second->inner, 200);
    pthread_barrier_wait(&second->begun);
    pthread_barrier_wait(&second->done);
    return NULL;
}

/* The call path named where the first thread is in `first` and the second in outer/inner. */
static void test_threads_open(const char *first, enum rkc_region_kind first_kind, const char *inner,
                              enum rkc_region_kind inner_kind, const char *named, const char *rule)
{
    struct tree tree;
    pthread_t thread;
    tree_init(&tree);
    struct second second = {&tree, tree_user(&tree, "work"), 0, {{0}}, {{0}}};
    second.inner = tree_region(&tree, inner_kind, inner);
    tree_begin(&tree, tree_region(&tree, first_kind, first), 50);
    pthread_barrier_init(&second.begun, NULL, 2);
    pthread_barrier_init(&second.done, NULL, 2);
    if (pthread_create(&thread, NULL, hang, &second) != 0)
        exit(1);
    pthread_barrier_wait(&second.begun);
    tree_collect(&tree, 2000);
    is_int(tree.local.row.open_path, local_path(&tree.local, named), rule);
    pthread_barrier_wait(&second.done);
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&second.begun);
    pthread_barrier_destroy(&second.done);
    tree_free(&tree);
}

static void test_open(void)
{
    test_threads_open("step", RKC_REGION_USER, "MPI_Recv", RKC_REGION_MPI, "work/MPI_Recv",
                      "of two threads' open call paths that in MPI is named");
    test_threads_open("MPI_Bcast", RKC_REGION_MPI, "MPI_Recv", RKC_REGION_MPI, "MPI_Bcast",
                      "of two in MPI the first thread's");
    test_threads_open("step", RKC_REGION_USER, "halo", RKC_REGION_USER, "step",
                      "as of two that are not");
}

int main(void)
{
    test_hanging();
    test_last_instant();
    test_still();
    test_open();
    return done_testing();
}
