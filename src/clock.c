/* clock.c - the counter's rate is never asked for: it is measured between pairs of
 * readings, and the further apart they are the better it is (10 ms: 1e-6, 1 s: 1e-8). */
#include "autoconf.h"

#include "clock.h"

#include <time.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

int rkc_private_clock_source = RKC_CLOCK_GETTIME;

static int64_t read_clock(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t rkc_clock_monotonic_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

int64_t rkc_clock_unix_ns(void)
{
    return read_clock(CLOCK_REALTIME);
}

/* Invariant: it ticks at one rate in every power state, on all cores alike
 * (Intel SDM vol. 3, 18.17.1; AMD APM vol. 2, 13.2.4). */
static int counter_available(void)
{
#if defined(__x86_64__)
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & (1u << 8));
#elif defined(__aarch64__)
    return 1;
#else
    return 0;
#endif
}

void rkc_clock_init(int allow_counter)
{
    int source = RKC_CLOCK_GETTIME;
    if (allow_counter && counter_available()) {
#if defined(__aarch64__)
        source = RKC_CLOCK_CNTVCT;
#else
        source = RKC_CLOCK_TSC;
#endif
    }
    rkc_private_clock_source = source;
}

const char *rkc_clock_source_name(int source)
{
    return source == RKC_CLOCK_TSC ? "tsc" : source == RKC_CLOCK_CNTVCT ? "cntvct" : "clock_gettime";
}

void rkc_clock_read(struct rkc_clock_pair *pair)
{
    uint64_t tightest = UINT64_MAX;
    for (int i = 0; i < 5; i++) {
        uint64_t before = rkc_clock_ticks();
        int64_t monotonic_ns = rkc_clock_monotonic_ns();
        uint64_t after = rkc_clock_ticks();
        if (after - before >= tightest)
            continue;
        tightest = after - before;
        pair->ticks = before + (after - before) / 2;
        pair->monotonic_ns = monotonic_ns;
    }
    /* The wall clock only dates things; a microsecond more or less does not show. */
    pair->unix_ns = rkc_clock_unix_ns() - (rkc_clock_monotonic_ns() - pair->monotonic_ns);
}

uint64_t rkc_clock_rate(const struct rkc_clock_pair *from, const struct rkc_clock_pair *to)
{
    /* Pairs may come from a damaged image: unsigned, so that nothing overflows. */
    int64_t ns = (int64_t)((uint64_t)to->monotonic_ns - (uint64_t)from->monotonic_ns);
    int64_t ticks = (int64_t)(to->ticks - from->ticks);
    if (ns < 1000 || ticks <= 0)
        return 0;
    rkc_u128 rate = ((rkc_u128)ns << 56) / (rkc_u128)ticks;
    return rate >> 63 ? 0 : (uint64_t)rate;
}

uint64_t rkc_clock_quick_rate(void)
{
    if (rkc_private_clock_source == RKC_CLOCK_GETTIME)
        return UINT64_C(1) << 56;
    struct rkc_clock_pair from, to;
    rkc_clock_read(&from);
    do
        rkc_clock_read(&to);
    while (to.monotonic_ns - from.monotonic_ns < 15000);
    uint64_t rate = rkc_clock_rate(&from, &to);
    return rate ? rate : UINT64_C(1) << 56;
}
