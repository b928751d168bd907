/* clock.h - ticks for the hot path, nanoseconds for everything else, and the way between. */
#ifndef RKC_CLOCK_H
#define RKC_CLOCK_H

#include <stdint.h>

#include <rankclock/status.h>

#include "stats.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

enum rkc_clock_source { RKC_CLOCK_GETTIME, RKC_CLOCK_TSC, RKC_CLOCK_CNTVCT };

/* Which counter ticks come from. Set once by rkc_clock_init, before any tick is read. */
extern RKC_API int rkc_private_clock_source;

RKC_API int64_t rkc_clock_monotonic_ns(void); /* librankclock-mpi needs it for ticks */
int64_t rkc_clock_unix_ns(void);

/* The processor's counter, where rkc_private_clock_source says that it is used. */
static inline uint64_t rkc_clock_counter(void)
{
#if defined(__x86_64__)
    return __rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return 0;
#endif
}

static inline uint64_t rkc_clock_ticks(void)
{
    if (__builtin_expect(rkc_private_clock_source != RKC_CLOCK_GETTIME, 1))
        return rkc_clock_counter();
    return (uint64_t)rkc_clock_monotonic_ns();
}

/* One instant on all clocks. */
struct rkc_clock_pair {
    uint64_t ticks;
    int64_t monotonic_ns, unix_ns;
};

/* Choose the counter: the time-stamp counter where the processor says it is invariant
 * and `allow_counter` is not 0, else clock_gettime. */
void rkc_clock_init(int allow_counter);

/* "tsc", "cntvct" or "clock_gettime". */
const char *rkc_clock_source_name(int source);

/* Read all clocks at one instant: the tightest of five tries. */
void rkc_clock_read(struct rkc_clock_pair *pair);

/* Nanoseconds in a tick as a fraction of 2^56; from two pairs. 0 when they are too close
 * together (under 1000 ns) or run backwards. */
uint64_t rkc_clock_rate(const struct rkc_clock_pair *from, const struct rkc_clock_pair *to);

/* A span of ticks in ns, to the nearest. */
static inline int64_t rkc_clock_ns(uint64_t ticks, uint64_t rate)
{
    return (int64_t)(((rkc_u128)ticks * rate + ((rkc_u128)1 << 55)) >> 56);
}

/* A rate good to a few thousandths within about 15 µs of waiting, for histograms and
 * until the real one is known. */
uint64_t rkc_clock_quick_rate(void);

#endif
