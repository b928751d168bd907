/* What a GPU region costs the host: nanoseconds for a begin and its end, on the driver that it has,
 * the double of CUDA's or a GPU's.
 *
 *   gpu_bench [-b BLOCKS] [-n PAIRS] [-v VISITS]
 *
 * Prints "row, least block of ours, least block of the base", tabs between: gpu_pair, against two
 * bare records; gpu_calls, against all calls of the driver's that a pair needs; gpu_hollow, against
 * two bare records again, on the double, whose calls do nothing then; gpu_memory, the bytes a
 * pending pair takes; with -v gpu_visits, the growth in KiB over so many visits.
 */
#include "bench.h"

#include <rankclock/rankclock.h>

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

typedef int record_fn(void *event, void *stream);
typedef int create_fn(void **event, unsigned flags);

static struct {
    int (*init)(unsigned flags);
    int (*retain)(void **context, int device);
    int (*set_current)(void *context);
    int (*stream_create)(void **stream, unsigned flags);
    int (*synchronize)(void *stream);
    create_fn *event_create;
    record_fn *record;
    int (*is_capturing)(void *stream, int *status);
    int (*elapsed)(float *ms, void *from, void *to);
    void (*zero_cost)(int on); /* the double's alone */
    void (*hollow)(int on);
    int (*hold)(void *stream);
    int (*release)(void *stream);
} cuda;

static struct rkc_region *region;
static void *stream, *event[2];

static int find(void *driver, const char *name, void *to)
{
    *(void **)to = dlsym(driver, name);
    return *(void **)to != NULL;
}

static int start(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW), *context;
    if (!driver) {
        fprintf(stderr, "gpu_bench: %s\n", dlerror());
        return -1;
    }
    if (!find(driver, "cuInit", &cuda.init) ||
        !find(driver, "cuDevicePrimaryCtxRetain", &cuda.retain) ||
        !find(driver, "cuCtxSetCurrent", &cuda.set_current) ||
        !find(driver, "cuStreamCreate", &cuda.stream_create) ||
        !find(driver, "cuStreamSynchronize", &cuda.synchronize) ||
        !find(driver, "cuEventCreate", &cuda.event_create) ||
        !find(driver, "cuEventRecord", &cuda.record) ||
        !find(driver, "cuStreamIsCapturing", &cuda.is_capturing) ||
        !find(driver, "cuEventElapsedTime", &cuda.elapsed))
        return -1;
    find(driver, "fakecuda_hollow", &cuda.hollow);
    find(driver, "fakecuda_hold", &cuda.hold);
    find(driver, "fakecuda_release", &cuda.release);
    if (find(driver, "fakecuda_zero_cost", &cuda.zero_cost))
        cuda.zero_cost(1);
    if (cuda.init(0) || cuda.retain(&context, 0) || cuda.set_current(context) ||
        cuda.stream_create(&stream, 1) || cuda.event_create(&event[0], 0) ||
        cuda.event_create(&event[1], 0)) {
        fprintf(stderr, "gpu_bench: CUDA cannot be used\n");
        return -1;
    }
    region = rkc_region_get("kernel");
    return 0;
}

static double ours_ns(long pairs)
{
    int64_t begin_ns = bench_now_ns();
    for (long i = 0; i < pairs; i++) {
        rkc_gpu_begin(region, stream);
        rkc_gpu_end(region, stream);
    }
    return (double)(bench_now_ns() - begin_ns) / (double)pairs;
}

static double base_ns(long pairs)
{
    int64_t begin_ns = bench_now_ns();
    for (long i = 0; i < pairs; i++) {
        cuda.record(event[0], stream);
        cuda.record(event[1], stream);
    }
    return (double)(bench_now_ns() - begin_ns) / (double)pairs;
}

/* Whether it may record, twice; two records; how long, and where it began. */
static double calls_ns(long pairs)
{
    int status;
    float ms;
    int64_t begin_ns = bench_now_ns();
    for (long i = 0; i < pairs; i++) {
        cuda.is_capturing(stream, &status);
        cuda.record(event[0], stream);
        cuda.is_capturing(stream, &status);
        cuda.record(event[1], stream);
        cuda.elapsed(&ms, event[0], event[1]);
        cuda.elapsed(&ms, event[0], event[1]);
    }
    return (double)(bench_now_ns() - begin_ns) / (double)pairs;
}

static void run_row(const char *name, double (*measure)(long pairs), long pairs, int blocks)
{
    static double ours[BENCH_MAX_BLOCKS], base[BENCH_MAX_BLOCKS];
    ours_ns(pairs);
    measure(pairs);
    for (int b = 0; b < blocks; b++) {
        base[b] = measure(pairs);
        cuda.synchronize(stream); /* so that no queue fills up */
        ours[b] = ours_ns(pairs);
        cuda.synchronize(stream);
    }
    printf("%s\t%.3f\t%.3f\n", name, bench_least(ours, blocks), bench_least(base, blocks));
}

/* What pending pairs take in our memory; the driver's events are its own. */
static void run_memory(void)
{
    enum { PENDING = 4000 };
    static void *more[2 * PENDING];
    if (!cuda.hold || !cuda.release)
        return;
    ours_ns(1); /* the code is in memory */
    cuda.synchronize(stream);
    cuda.hold(stream);
    bench_resident_kib();
    long before_kib = bench_resident_kib();
    for (int i = 0; i < 2 * PENDING; i++)
        if (cuda.event_create(&more[i], 0) == 0)
            cuda.record(more[i], stream);
    long base_kib = bench_resident_kib() - before_kib;
    before_kib += base_kib;
    ours_ns(PENDING);
    long ours_kib = bench_resident_kib() - before_kib - base_kib;
    printf("gpu_memory\t%.1f\t-\n", (double)ours_kib * 1024 / PENDING);
    cuda.release(stream);
}

static void run_visits(long visits)
{
    ours_ns(100000);
    long before_kib = bench_resident_kib();
    for (long done = 0; done < visits; done += 100000) {
        ours_ns(100000);
        cuda.synchronize(stream);
    }
    printf("gpu_visits\t%ld\t-\n", bench_resident_kib() - before_kib);
}

int main(int argc, char **argv)
{
    long pairs = 2000, visits = 0;
    int blocks = 101, option;
    while ((option = getopt(argc, argv, "b:n:v:")) != -1) {
        if (option == 'b')
            blocks = atoi(optarg);
        else if (option == 'n')
            pairs = atol(optarg);
        else if (option == 'v')
            visits = atol(optarg);
        else
            return 2;
    }
    if (blocks < 1 || blocks > BENCH_MAX_BLOCKS || pairs < 1 || optind != argc) {
        fprintf(stderr, "usage: gpu_bench [-b BLOCKS] [-n PAIRS] [-v VISITS]\n");
        return 2;
    }
    if (start() != 0)
        return 1;
    run_memory();
    run_row("gpu_pair", base_ns, pairs, blocks);
    run_row("gpu_calls", calls_ns, pairs, blocks);
    if (cuda.hollow) {
        cuda.hollow(1);
        run_row("gpu_hollow", base_ns, pairs, blocks);
        cuda.hollow(0);
    }
    if (visits > 0)
        run_visits(visits);
    return 0;
}
