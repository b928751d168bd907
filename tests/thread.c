/* thread.c - threads that come, go, and run at once: one tree each, merged when collected. */
#include "autoconf.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "tree.h"

static struct tree tree;
static uint32_t work, inner;

static void visit(uint32_t region)
{
    struct rkc_tree_region what = {region, 1};
    struct rkc_thread *thread = rkc_thread_own() ? rkc_thread_own() : rkc_thread_attach();
    if (!thread)
        return;
    rkc_tree_begin(thread, &what);
    rkc_tree_end(thread, region, rkc_clock_ticks());
}

static void *run(void *(*function)(void *), void *arg)
{
    pthread_t thread;
    void *result = NULL;
    if (pthread_create(&thread, NULL, function, arg) == 0)
        pthread_join(thread, &result);
    return result;
}

/* ---- many short ones ---- */

static void *short_life(void *arg)
{
    visit(work);
    return arg;
}

static void test_short_threads(void)
{
    enum { THREADS = 20000 };
    tree_init(&tree);
    work = tree_user(&tree, "work");
    run(short_life, NULL);
    size_t used = atomic_load(&rkc_image_header(&tree.image)->used);
    for (int i = 1; i < THREADS; i++)
        run(short_life, NULL);
    is_int((int64_t)atomic_load(&rkc_image_header(&tree.image)->used), (int64_t)used,
           "a thread takes over the memory of one that ended");
    tree_collect(&tree, rkc_clock_monotonic_ns());
    is_int(local_visits(&tree.local, "work"), THREADS, "and adds to its visits");
    is_int(tree.local.row.threads, THREADS + 1, "every thread is counted");
    is_int(local_visits(&tree.local, ""), THREADS + 1, "in the root, too");
    tree_free(&tree);
}

/* ---- many at once ---- */

enum { AT_ONCE = 16, VISITS = 2000 };

static pthread_barrier_t all_there;

static void *long_life(void *arg)
{
    pthread_barrier_wait(&all_there);
    struct rkc_tree_region what = {inner, 1};
    struct rkc_thread *thread = rkc_thread_attach();
    for (int i = 0; i < VISITS; i++) {
        struct rkc_node *node = rkc_tree_begin(thread, &what);
        node->begin = 0;
        rkc_tree_end(thread, inner, (uint64_t)(uintptr_t)arg);
    }
    pthread_barrier_wait(&all_there);
    return thread;
}

static void test_at_once(void)
{
    pthread_t thread[AT_ONCE];
    void *slot[AT_ONCE];
    int same = 0;
    tree_init(&tree);
    inner = tree_user(&tree, "inner");
    pthread_barrier_init(&all_there, NULL, AT_ONCE);
    for (uintptr_t i = 0; i < AT_ONCE; i++)
        pthread_create(&thread[i], NULL, long_life, (void *)(i + 1));
    for (int i = 0; i < AT_ONCE; i++) {
        pthread_join(thread[i], &slot[i]);
        for (int j = 0; j < i; j++)
            same += slot[j] == slot[i];
    }
    is_int(same, 0, "threads that run at once share nothing");
    tree_collect(&tree, rkc_clock_monotonic_ns());
    const struct rkc_local *local = &tree.local;
    is_int(local_visits(local, "inner"), AT_ONCE * VISITS, "their visits are merged");
    is_int(local_counted(local, "inner"), AT_ONCE * VISITS, "with their histograms");
    is_int(local_value(local, "inner", RKC_METRIC_INCLUSIVE), VISITS * AT_ONCE * (AT_ONCE + 1) / 2,
           "and times");
    is_int(local_value(local, "inner", RKC_METRIC_THREADS), AT_ONCE, "the threads are counted");
    is_int(local_value(local, "inner", RKC_METRIC_SLOWEST_THREAD), VISITS * AT_ONCE,
           "and the time of the slowest kept");
    is_int(local_value(local, "inner", RKC_METRIC_VISIT_MIN), 1, "with the shortest visit of all");
    is_int(local_value(local, "inner", RKC_METRIC_VISIT_MAX), AT_ONCE, "and the longest");
    pthread_barrier_destroy(&all_there);
    tree_free(&tree);
}

/* ---- ways to end ---- */

/* A thread that is cancelled leaves what AddressSanitizer keeps beside its variables. */
__attribute__((no_sanitize("address"))) static void *leaves_open(void *arg)
{
    struct rkc_tree_region outer = {work, 1}, within = {inner, 1};
    struct rkc_thread *thread = rkc_thread_attach();
    rkc_tree_begin(thread, &outer);
    rkc_tree_begin(thread, &within);
    if (arg)
        pthread_exit(NULL);
    for (;;)
        pause();
    return NULL;
}

static void *nothing(void *arg)
{
    return arg;
}

static pthread_key_t late_key;

static void visits_late(void *arg)
{
    (void)arg;
    visit(inner);
}

static void *leaves_late(void *arg)
{
    visit(work);
    pthread_setspecific(late_key, &late_key);
    return arg;
}

static void test_ends(void)
{
    pthread_t thread;
    tree_init(&tree);
    work = tree_user(&tree, "work");
    inner = tree_user(&tree, "inner");

    run(leaves_open, &thread);
    pthread_create(&thread, NULL, leaves_open, NULL);
    usleep(20000);
    pthread_cancel(thread);
    pthread_join(thread, NULL);
    run(nothing, NULL);

    pthread_key_create(&late_key, visits_late);
    for (int i = 0; i < 10; i++)
        run(leaves_late, NULL);

    tree_collect(&tree, rkc_clock_monotonic_ns());
    const struct rkc_local *local = &tree.local;
    is_int(local_visits(local, "work"), 2 + 10, "exit and cancellation keep a thread's visits");
    is_int(local_value(local, "work/inner", RKC_METRIC_UNCLOSED), 2, "and close its regions");
    is_int(local_value(local, "work", RKC_METRIC_UNCLOSED), 2, "as unclosed");
    is_int(local_visits(local, "inner"), 10, "regions in destructors of thread data are counted");
    ok(local->row.threads >= 3 + 10, "for a thread that never had a region nothing is");
    pthread_key_delete(late_key);
    tree_free(&tree);
}

/* ---- pause and stop ---- */

static void *paused_life(void *arg)
{
    visit(work);
    return arg;
}

static void test_pause(void)
{
    tree_init(&tree);
    work = tree_user(&tree, "work");
    visit(work);
    rkc_thread_pause(1);
    visit(work);
    run(paused_life, NULL);
    rkc_thread_pause(0);
    visit(work);
    run(paused_life, NULL);
    tree_collect(&tree, rkc_clock_monotonic_ns());
    is_int(local_visits(&tree.local, "work"), 3, "a pause is for all threads, old and new");
    tree_free(&tree);
}

static void test_stop(void)
{
    tree_init(&tree);
    work = tree_user(&tree, "work");
    visit(work);
    ok(rkc_thread_alive(), "a process records once it has begun to");
    rkc_thread_stop();
    ok(!rkc_thread_alive(), "and no longer once stopped");
    ok(!rkc_hot_ready(), "no thread takes the hot path then");
    ok(!rkc_thread_attach(), "or begins to record");
    run(paused_life, NULL);
    rkc_thread_pause(1);
    rkc_thread_pause(0);
    ok(!rkc_hot_ready(), "not even when resumed");
    tree_collect(&tree, rkc_clock_monotonic_ns());
    is_int(local_visits(&tree.local, "work"), 1, "what was recorded stays");
    tree_free(&tree);
}

/* ---- a limit ---- */

static _Atomic int refused;

static void *wait_attached(void *arg)
{
    if (!rkc_thread_attach())
        refused++;
    pthread_barrier_wait(&all_there);
    return arg;
}

static void test_too_many(void)
{
    enum { THREADS = RKC_THREADS_MAX + 5 };
    static pthread_t thread[THREADS];
    pthread_attr_t small;
    int n = 0;
    tree_init(&tree);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 256 << 10);
    pthread_barrier_init(&all_there, NULL, THREADS + 1);
    while (n < THREADS && pthread_create(&thread[n], &small, wait_attached, NULL) == 0)
        n++;
    if (n < THREADS) {
        skip(2, "the system does not allow so many threads");
        exit(done_testing()); /* the others wait for ever */
    }
    pthread_barrier_wait(&all_there);
    for (int i = 0; i < n; i++)
        pthread_join(thread[i], NULL);
    is_int(refused, THREADS + 1 - RKC_THREADS_MAX, "threads beyond the most are not recorded");
    work = tree_user(&tree, "work");
    run(short_life, NULL);
    tree_collect(&tree, rkc_clock_monotonic_ns());
    is_int(local_visits(&tree.local, "work"), 1, "those that come when there is room again are");
    tree_free(&tree);
}

int main(void)
{
    test_short_threads();
    test_at_once();
    test_ends();
    test_pause();
    test_stop();
    test_too_many();
    return done_testing();
}
