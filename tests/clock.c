/* clock.c - ticks and nanoseconds, and the way between them. */
#include "autoconf.h"

#include "clock.h"
#include "tap.h"

static struct rkc_clock_pair pair(uint64_t ticks, int64_t monotonic_ns)
{
    return (struct rkc_clock_pair){ticks, monotonic_ns, 0};
}

static uint64_t rate(uint64_t ticks, int64_t ns)
{
    struct rkc_clock_pair from = pair(5000, 70000), to = pair(5000 + ticks, 70000 + ns);
    return rkc_clock_rate(&from, &to);
}

static void test_rate(void)
{
    const uint64_t one = UINT64_C(1) << 56;
    is_int((int64_t)rate(1000000, 1000000), (int64_t)one, "a tick of one ns has rate 2^56");
    is_int((int64_t)rate(4000000, 1000000), (int64_t)(one / 4), "one of a quarter a quarter of it");
    is_int((int64_t)rate(50000, 1000000), (int64_t)(one * 20), "one of 20 ns twenty times that");
    is_int((int64_t)rate(5, 999), 0, "pairs too close together give no rate");
    is_int((int64_t)rate((uint64_t)-1000, 1000000), 0, "nor does a counter that runs backwards");
    is_int((int64_t)rate(1000000, -1000000), 0, "or a clock that does");
    is_int((int64_t)rate(1, INT64_MAX - 70000), 0, "or one tick of 300 years");

    /* Near the counter's wrap. */
    struct rkc_clock_pair from = pair(UINT64_MAX - 999, 0), to = pair(1000, 4000);
    is_int((int64_t)rkc_clock_rate(&from, &to), (int64_t)(one * 2),
           "a counter may wrap in between");
}

static void test_ns(void)
{
    const uint64_t quarter = UINT64_C(1) << 54;
    is_int(rkc_clock_ns(0, quarter), 0, "no ticks are no time");
    is_int(rkc_clock_ns(400, quarter), 100, "ticks become ns");
    is_int(rkc_clock_ns(401, quarter), 100, "to the nearest");
    is_int(rkc_clock_ns(402, quarter), 101, "up from the half");
    is_int(rkc_clock_ns(UINT64_C(4) << 60, quarter), INT64_C(1) << 60, "over 36 years");
    uint64_t ghz = rate(UINT64_C(2999999999), INT64_C(1000000000));
    is_near((double)rkc_clock_ns(UINT64_C(2999999999) * 86400, ghz), 86400e9, 2,
            "and within 2 ns in a day");
}

static void test_source(int allow_counter)
{
    rkc_clock_init(allow_counter);
    const char *name = rkc_clock_source_name(rkc_private_clock_source);
    ok(strcmp(name, "tsc") == 0 || strcmp(name, "cntvct") == 0 ||
           strcmp(name, "clock_gettime") == 0,
       "the source has a name");
    if (!allow_counter)
        is_str(name, "clock_gettime", "without the counter it is clock_gettime");

    int64_t fell = 0;
    uint64_t last = rkc_clock_ticks();
    for (int i = 0; i < 100000; i++) {
        uint64_t now = rkc_clock_ticks();
        fell += now < last;
        last = now;
    }
    is_int(fell, 0, "ticks do not fall on one thread");

    struct rkc_clock_pair from, to;
    rkc_clock_read(&from);
    uint64_t quick = rkc_clock_quick_rate();
    do
        rkc_clock_read(&to);
    while (to.monotonic_ns - from.monotonic_ns < 20000000);
    uint64_t real = rkc_clock_rate(&from, &to);
    is_near((double)quick / (double)real, 1, 0.02, "the quick rate is near the real one");
    if (!allow_counter)
        is_near((double)real / (double)(UINT64_C(1) << 56), 1, 1e-3, "of 1 ns a tick");

    struct rkc_clock_pair now;
    rkc_clock_read(&now);
    is_near((double)(rkc_clock_monotonic_ns() - now.monotonic_ns), 0, 1e9,
            "a pair is read at one instant of the monotonic clock");
    is_near((double)(rkc_clock_unix_ns() - now.unix_ns), 0, 1e9, "and of the wall clock");
    is_near((double)rkc_clock_ns(now.ticks - to.ticks, real),
            (double)(now.monotonic_ns - to.monotonic_ns), 2e6, "and of the ticks");
}

int main(void)
{
    test_rate();
    test_ns();
    test_source(0);
    test_source(1);
    return done_testing();
}
