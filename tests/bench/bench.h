/* bench.h - what the benchmarks share: clocks, the least of many blocks, memory in use.
 *
 * It comes first in a file, for the system's headers read _GNU_SOURCE.
 */
#ifndef RKC_BENCH_H
#define RKC_BENCH_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

enum { BENCH_MAX_BLOCKS = 1001 };

static inline int64_t bench_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The cheapest clock of the machine: what a region cannot cost less than two of. */
static inline uint64_t bench_ticks(void)
{
#if defined(__x86_64__)
    return __rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return (uint64_t)bench_now_ns();
#endif
}

/* Makes the compiler compute a value that nothing uses. */
static inline void bench_keep(uint64_t value)
{
    __asm__ volatile("" : : "r"(value) : "memory");
}

/* The machine can only add to a block's time, so the least block is the one to compare. */
static inline double bench_least(const double *values, int n)
{
    double least = values[0];
    for (int i = 1; i < n; i++)
        if (values[i] < least)
            least = values[i];
    return least;
}

/* How many blocks [-b BLOCKS] asks for; 0 where it is wrong, or there is another option. */
static inline int bench_blocks(int argc, char **argv)
{
    int blocks = 101, option;
    while ((option = getopt(argc, argv, "b:")) != -1) {
        if (option != 'b')
            return 0;
        blocks = atoi(optarg);
    }
    return blocks > 0 && blocks <= BENCH_MAX_BLOCKS ? blocks : 0;
}

/* A field of a file in /proc/self, as in "VmHWM:   1234 kB"; -1 where there is none. */
static inline long bench_proc_kib(const char *path, const char *field)
{
    char line[256];
    size_t length = strlen(field);
    long kib = -1;
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, field, length) && line[length] == ':') {
            sscanf(line + length + 1, "%ld", &kib);
            break;
        }
    if (file)
        fclose(file);
    return kib;
}

/* Memory of the process in RAM, exactly: the faster statm lags by some pages a thread. */
static inline long bench_resident_kib(void)
{
    return bench_proc_kib("/proc/self/smaps_rollup", "Rss");
}

/* The most there ever was. */
static inline long bench_peak_kib(void)
{
    return bench_proc_kib("/proc/self/status", "VmHWM");
}

#endif
