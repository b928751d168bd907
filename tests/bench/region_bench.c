/* What a region costs: nanoseconds for a begin and its end, against two bare clock reads.
 *
 *   region_bench [-b BLOCKS] [-n PAIRS] [-f FLOOR] ROW ...
 *
 * Blocks of PAIRS pairs of the library alternate with blocks of the same loop around two
 * reads of the machine's cheapest clock, so that both meet the same disturbances. For each
 * row it prints "row, least block of ours, least block of the base", tabs between. FLOOR is
 * the path of floor_shared.so, which the floor_ rows need.
 */
#include "bench.h"

#include <rankclock/rankclock.h>

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ALWAYS_INLINE static inline __attribute__((always_inline))

enum { REGIONS = 1000, DEPTH = 4, MAX_THREADS = 2, MEMORY_REGIONS = 200, MEMORY_VISITS = 1000 };

static char name_text[REGIONS][32], name_copy[REGIONS][32];
static struct rkc_region *region[REGIONS];

static void (*floor_shared_begin)(int id);
static void (*floor_shared_begin_name)(const char *name);
static void (*floor_shared_end)(void);

typedef void probe_fn(int id);
typedef void loop_fn(long pairs, int id);

ALWAYS_INLINE void clock_read(int id)
{
    (void)id;
    bench_keep(bench_ticks());
}

ALWAYS_INLINE void nothing(int id)
{
    bench_keep((uint64_t)id);
}

ALWAYS_INLINE void handle_begin(int id)
{
    rkc_region_begin(region[id]);
}

ALWAYS_INLINE void handle_end(int id)
{
    rkc_region_end(region[id]);
}

ALWAYS_INLINE void name_begin(int id)
{
    rkc_begin(name_text[id]);
}

ALWAYS_INLINE void name_end(int id)
{
    rkc_end(name_text[id]);
}

ALWAYS_INLINE void copied_end(int id)
{
    rkc_end(name_copy[id]);
}

ALWAYS_INLINE void floor_id_begin(int id)
{
    floor_shared_begin(id);
}

ALWAYS_INLINE void floor_name_begin(int id)
{
    floor_shared_begin_name(name_text[id]);
}

ALWAYS_INLINE void floor_any_end(int id)
{
    (void)id;
    floor_shared_end();
}

ALWAYS_INLINE void flat(probe_fn *begin, probe_fn *end, long pairs, int id)
{
    for (long i = 0; i < pairs; i++) {
        begin(id);
        end(id);
    }
}

ALWAYS_INLINE void nested(probe_fn *begin, probe_fn *end, long pairs, int id)
{
    for (long i = 0; i < pairs / DEPTH; i++) {
        begin(id);
        begin(id + 1);
        begin(id + 2);
        begin(id + 3);
        end(id + 3);
        end(id + 2);
        end(id + 1);
        end(id);
    }
}

ALWAYS_INLINE void siblings(probe_fn *begin, probe_fn *end, long pairs, int id)
{
    for (long i = 0; i < pairs; i++) {
        begin(id);
        end(id);
        id = id + 1 == REGIONS ? 0 : id + 1;
    }
}

/* One shape of loop around one kind of pair, the pair inlined. */
#define DEFINE_LOOP(name, shape, begin, end)                                                       \
    static __attribute__((noinline)) void name(long pairs, int id)                                 \
    {                                                                                              \
        shape(begin, end, pairs, id);                                                              \
    }

DEFINE_LOOP(empty_flat, flat, nothing, nothing)
DEFINE_LOOP(base_flat, flat, clock_read, clock_read)
DEFINE_LOOP(base_nested, nested, clock_read, clock_read)
DEFINE_LOOP(base_siblings, siblings, clock_read, clock_read)
DEFINE_LOOP(handle_flat, flat, handle_begin, handle_end)
DEFINE_LOOP(handle_nested, nested, handle_begin, handle_end)
DEFINE_LOOP(handle_siblings, siblings, handle_begin, handle_end)
DEFINE_LOOP(name_flat, flat, name_begin, name_end)
DEFINE_LOOP(name_nested, nested, name_begin, name_end)
DEFINE_LOOP(name_siblings, siblings, name_begin, name_end)
DEFINE_LOOP(copied_flat, flat, name_begin, copied_end)
DEFINE_LOOP(floor_flat, flat, floor_id_begin, floor_any_end)
DEFINE_LOOP(floor_nested, nested, floor_id_begin, floor_any_end)
DEFINE_LOOP(floor_siblings, siblings, floor_id_begin, floor_any_end)
DEFINE_LOOP(floor_name_flat, flat, floor_name_begin, floor_any_end)

static const struct row {
    const char *name;
    loop_fn *ours, *base;
    int threads;
    int apart; /* each thread has a region of its own */
} rows[] = {
    {"control", base_flat, base_flat, 1, 0},
    {"control_threads", base_flat, base_flat, 2, 0},
    {"flat", handle_flat, base_flat, 1, 0},
    {"nested", handle_nested, base_nested, 1, 0},
    {"siblings", handle_siblings, base_siblings, 1, 0},
    {"threads_same", handle_flat, base_flat, 2, 0},
    {"threads_apart", handle_flat, base_flat, 2, 1},
    {"name_flat", name_flat, base_flat, 1, 0},
    {"name_nested", name_nested, base_nested, 1, 0},
    {"name_copied", copied_flat, base_flat, 1, 0},
    {"name_siblings", name_siblings, base_siblings, 1, 0},
    {"off_handle", handle_flat, empty_flat, 1, 0},
    {"off_name", name_flat, empty_flat, 1, 0},
    {"floor_flat", floor_flat, base_flat, 1, 0},
    {"floor_nested", floor_nested, base_nested, 1, 0},
    {"floor_siblings", floor_siblings, base_siblings, 1, 0},
    {"floor_threads", floor_flat, base_flat, 2, 0},
    {"floor_name", floor_name_flat, base_flat, 1, 0},
};

struct worker {
    const struct row *row;
    long pairs;
    int blocks, core, id;
    double ours[BENCH_MAX_BLOCKS], base[BENCH_MAX_BLOCKS];
};

static pthread_barrier_t gate;

static double block_ns(loop_fn *loop, const struct worker *w)
{
    pthread_barrier_wait(&gate);
    int64_t begin_ns = bench_now_ns();
    loop(w->pairs, w->id);
    return (double)(bench_now_ns() - begin_ns) / (double)w->pairs;
}

static void *work(void *arg)
{
    struct worker *w = arg;
    block_ns(w->row->base, w);
    block_ns(w->row->ours, w);
    for (int b = 0; b < w->blocks; b++) {
        w->base[b] = block_ns(w->row->base, w);
        w->ours[b] = block_ns(w->row->ours, w);
    }
    return NULL;
}

static void *work_pinned(void *arg)
{
    const struct worker *w = arg;
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET((size_t)w->core, &cores);
    if (sched_setaffinity(0, sizeof cores, &cores))
        perror("region_bench: sched_setaffinity");
    return work(arg);
}

/* The first n cores this process may use; how many there are. */
static int find_cores(int n, int *core)
{
    cpu_set_t cores;
    int found = 0;
    if (sched_getaffinity(0, sizeof cores, &cores))
        return 0;
    for (int c = 0; c < CPU_SETSIZE && found < n; c++)
        if (CPU_ISSET((size_t)c, &cores))
            core[found++] = c;
    return found;
}

/* The slower thread's block counts. */
static void keep_slower(struct worker *w, const struct worker *other)
{
    for (int b = 0; b < w->blocks; b++) {
        w->ours[b] = other->ours[b] > w->ours[b] ? other->ours[b] : w->ours[b];
        w->base[b] = other->base[b] > w->base[b] ? other->base[b] : w->base[b];
    }
}

static int run_row(const struct row *row, long pairs, int blocks)
{
    static struct worker w[MAX_THREADS];
    pthread_t thread[MAX_THREADS];
    int core[MAX_THREADS] = {0};
    if (row->threads > 1 && find_cores(row->threads, core) < row->threads) {
        fprintf(stderr, "region_bench: %s needs %d cores\n", row->name, row->threads);
        return -1;
    }
    pthread_barrier_init(&gate, NULL, (unsigned)row->threads);
    for (int t = 0; t < row->threads; t++) {
        w[t].row = row;
        w[t].pairs = pairs;
        w[t].blocks = blocks;
        w[t].core = core[t];
        w[t].id = row->apart ? t : 0;
        if (row->threads == 1)
            work(&w[t]);
        else if (pthread_create(&thread[t], NULL, work_pinned, &w[t]))
            abort();
    }
    for (int t = 0; row->threads > 1 && t < row->threads; t++) {
        pthread_join(thread[t], NULL);
        keep_slower(&w[0], &w[t]);
    }
    pthread_barrier_destroy(&gate);
    printf("%s\t%.3f\t%.3f\n", row->name, bench_least(w[0].ours, blocks),
           bench_least(w[0].base, blocks));
    fflush(stdout);
    return 0;
}

/* In a fresh process, before any other row: all that recording makes resident. */
static int run_memory(void)
{
    bench_resident_kib(); /* so that reading itself adds nothing between the two */
    long before_kib = bench_resident_kib();
    for (int visit = 0; visit < MEMORY_VISITS; visit++)
        for (int id = 0; id < MEMORY_REGIONS; id++) {
            struct rkc_region *one = rkc_region_get(name_text[id]);
            rkc_region_begin(one);
            rkc_region_end(one);
        }
    long after_kib = bench_resident_kib();
    if (before_kib < 0 || after_kib < 0) {
        fprintf(stderr, "region_bench: cannot read /proc/self/smaps_rollup\n");
        return -1;
    }
    printf("memory\t%ld\t-\n", after_kib - before_kib);
    return 0;
}

static int run_named(const char *name, long pairs, int blocks)
{
    if (!strcmp(name, "memory"))
        return run_memory();
    if (!region[0])
        for (int r = 0; r < REGIONS; r++)
            region[r] = rkc_region_get(name_text[r]);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(rows[i].name, name)) {
            if (!strncmp(name, "floor_", 6) && !floor_shared_begin) {
                fprintf(stderr, "region_bench: %s needs -f FLOOR\n", name);
                return -1;
            }
            return run_row(&rows[i], pairs, blocks);
        }
    fprintf(stderr, "region_bench: no such row: %s\n", name);
    return -1;
}

static int open_floor(const char *path)
{
    void *module = dlopen(path, RTLD_NOW);
    if (!module) {
        fprintf(stderr, "region_bench: %s\n", dlerror());
        return -1;
    }
    *(void **)&floor_shared_begin = dlsym(module, "floor_shared_begin");
    *(void **)&floor_shared_begin_name = dlsym(module, "floor_shared_begin_name");
    *(void **)&floor_shared_end = dlsym(module, "floor_shared_end");
    return floor_shared_begin && floor_shared_begin_name && floor_shared_end ? 0 : -1;
}

int main(int argc, char **argv)
{
    long pairs = 20000;
    int blocks = 101, option, failed = 0;
    while ((option = getopt(argc, argv, "b:n:f:")) != -1) {
        if (option == 'b')
            blocks = atoi(optarg);
        else if (option == 'n')
            pairs = atol(optarg);
        else if (option != 'f' || open_floor(optarg))
            return 2;
    }
    if (blocks < 1 || blocks > BENCH_MAX_BLOCKS || pairs < DEPTH || optind == argc) {
        fprintf(stderr, "usage: region_bench [-b BLOCKS] [-n PAIRS] [-f FLOOR] ROW ...\n");
        return 2;
    }
    for (int r = 0; r < REGIONS; r++) {
        snprintf(name_text[r], sizeof name_text[r], "solver_step_%04d", r);
        memcpy(name_copy[r], name_text[r], sizeof name_copy[r]);
    }
    for (int i = optind; i < argc; i++)
        failed |= run_named(argv[i], pairs, blocks) != 0;
    return failed;
}
