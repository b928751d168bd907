/* stats.c - exact sums, their limits, buckets and percentiles. */
#include "autoconf.h"

#include "stats.h"

#include <string.h>

#include "tap.h"

static void buckets_of_time(void)
{
    is_int(rkc_time_bucket(0), 0, "no time falls into bucket 0");
    is_int(rkc_time_bucket(1), 0, "1 ns falls into bucket 0");
    is_int(rkc_time_bucket(2), 2, "2 ns begins an octave");
    is_int(rkc_time_bucket(5), 4, "5 ns lies in the lower half of 4..8");
    is_int(rkc_time_bucket(6), 5, "6 ns lies in the upper half of 4..8");
    is_int(rkc_time_bucket(UINT64_MAX), RKC_TIME_BUCKETS - 1, "the last bucket holds all beyond");
    is_int(rkc_time_bucket_edge(0), 0, "time buckets begin at 0");
    is_int(rkc_time_bucket_edge(5), 6, "an upper half begins at 1.5 times its octave");
    is_int(rkc_time_bucket_edge(RKC_TIME_BUCKETS), INT64_MAX, "time buckets end with int64");

    int wrong = 0;
    for (unsigned bucket = 0; bucket < RKC_TIME_BUCKETS; bucket++) {
        int64_t low = rkc_time_bucket_edge(bucket), high = rkc_time_bucket_edge(bucket + 1);
        if (low == high)
            wrong += bucket != 1; /* no whole number lies in [1.5, 2) */
        else
            wrong += rkc_time_bucket((uint64_t)low) != bucket ||
                     rkc_time_bucket((uint64_t)high - 1) != bucket;
    }
    is_int(wrong, 0, "every time bucket holds what lies between its edges");
}

static void buckets_of_size(void)
{
    is_int(rkc_size_bucket(0), 0, "an empty message falls into bucket 0");
    is_int(rkc_size_bucket(1), 1, "1 byte falls into bucket 1");
    is_int(rkc_size_bucket(1024), 11, "1024 bytes begin a bucket");
    is_int(rkc_size_bucket(UINT64_MAX), RKC_SIZE_BUCKETS - 1, "the last bucket holds all beyond");

    int wrong = 0;
    for (unsigned bucket = 0; bucket < RKC_SIZE_BUCKETS; bucket++) {
        int64_t low = rkc_size_bucket_edge(bucket), high = rkc_size_bucket_edge(bucket + 1);
        wrong += rkc_size_bucket((uint64_t)low) != bucket ||
                 rkc_size_bucket((uint64_t)high - 1) != bucket;
    }
    is_int(wrong, 0, "every size bucket holds what lies between its edges");
}

static struct rkc_stat stat_of(int64_t value, int32_t rank)
{
    struct rkc_stat stat;
    rkc_stat_set(&stat, value, rank);
    return stat;
}

static void merging(void)
{
    struct rkc_stat sum = {0}, none = {.sum = 5, .min = -9, .max = 9};
    struct rkc_stat three = stat_of(3, 4), seven = stat_of(7, 2);
    rkc_stat_merge(&sum, &three);
    rkc_stat_merge(&sum, &none);
    is_int(sum.ranks, 1, "what no rank has adds nothing");
    rkc_stat_merge(&sum, &seven);
    is_int((int64_t)sum.sum, 10, "sums add up");
    is_int((int64_t)sum.sumsq, 58, "squares add up");
    is_int(sum.ranks, 2, "ranks are counted");
    is_int(sum.min, 3, "the least value is kept");
    is_int(sum.min_rank, 4, "with its rank");
    is_int(sum.max, 7, "the greatest value is kept");
    is_int(sum.max_rank, 2, "with its rank");

    struct rkc_stat a = stat_of(3, 9), b = stat_of(3, 1);
    struct rkc_stat ab = a, ba = b;
    rkc_stat_merge(&ab, &b);
    rkc_stat_merge(&ba, &a);
    is_int(ab.min_rank, 1, "equal least values belong to the lowest rank");
    is_int(ab.max_rank, 1, "equal greatest values too");
    ok(ba.min_rank == 1 && ba.max_rank == 1, "whichever came first");
}

static void adding(void)
{
    const int64_t values[] = {3, INT64_MIN, 7, 7, -1, INT64_MAX, 0, INT64_MIN, INT64_MAX};
    const int32_t ranks[] = {9, 4, 2, 1, 8, 5, 0, 3, 6};
    struct rkc_stat added = {0}, merged = {0};
    int wrong = 0;
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        struct rkc_stat one = stat_of(values[i], ranks[i]);
        rkc_stat_add(&added, values[i], ranks[i]);
        rkc_stat_merge(&merged, &one);
        wrong += memcmp(&added, &merged, sizeof added) != 0;
    }
    is_int(wrong, 0, "adding a value is merging the statistic of it alone");
}

static void limits(void)
{
    struct rkc_stat sum = {0}, huge = stat_of(INT64_MAX, 0), low = stat_of(INT64_MIN, 1);
    for (int i = 0; i < 1000; i++)
        rkc_stat_merge(&sum, &huge);
    ok(sum.sum == (rkc_i128)INT64_MAX * 1000, "sums are exact beyond 64 bits");
    ok(low.sumsq == (rkc_u128)1 << 126, "the square of the least number is exact");

    struct rkc_stat full = huge;
    full.sumsq = ~(rkc_u128)0 - 1;
    rkc_stat_merge(&full, &huge);
    ok(full.sumsq == ~(rkc_u128)0, "a sum of squares stops at the largest number");
    ok(rkc_u128_add(5, 6) == 11, "short of it addition is exact");

    int saturated = 0;
    is_int(rkc_stat_sum64(INT64_MAX, &saturated), INT64_MAX, "64 bits hold the largest int64");
    is_int(saturated, 0, "which is not saturated");
    is_int(rkc_stat_sum64((rkc_i128)INT64_MAX + 1, &saturated), INT64_MAX, "one more is clamped");
    is_int(saturated, 1, "and said to be");
    saturated = 0;
    is_int(rkc_stat_sum64((rkc_i128)INT64_MIN - 1, &saturated), INT64_MIN, "below as above");
    is_int(saturated, 1, "and said to be");
    rkc_stat_sum64(0, &saturated);
    is_int(saturated, 1, "a sum that fits leaves the mark alone");
}

static void percentiles(void)
{
    uint64_t time[RKC_TIME_BUCKETS] = {0}, size[RKC_SIZE_BUCKETS] = {0};
    is_int(rkc_time_percentile(time, 50, 0, 10), -1, "no visits, no percentile");
    is_int(rkc_size_percentile(size, 50), -1, "no messages, no percentile");

    time[rkc_time_bucket(100)] = 7;
    is_int(rkc_time_percentile(time, 1, 100, 100), 100, "equal visits: any percentile is theirs");
    is_int(rkc_time_percentile(time, 99, 100, 100), 100, "from 1 to 99");

    /* 4 visits in 64..96 ns, 4 in 1024..1536 ns. */
    time[rkc_time_bucket(100)] = 0;
    time[rkc_time_bucket(64)] = 4;
    time[rkc_time_bucket(1024)] = 4;
    is_int(rkc_time_percentile(time, 25, 0, 5000), 80, "a quarter is half way up the lower half");
    is_int(rkc_time_percentile(time, 50, 0, 5000), 96, "a half is its end");
    is_int(rkc_time_percentile(time, 75, 0, 5000), 1280, "three quarters lie in the upper half");
    is_int(rkc_time_percentile(time, 100, 70, 1200), 1200, "the last is the longest visit");
    is_int(rkc_time_percentile(time, 0, 70, 1200), 70, "the first is the shortest");
    is_int(rkc_time_percentile(time, 130, 70, 1200), 1200, "more than all is all");
    is_int(rkc_time_percentile(time, -1, 70, 1200), 70, "less than none is none");

    time[RKC_TIME_BUCKETS - 1] = 100;
    is_int(rkc_time_percentile(time, 100, 70, INT64_MAX), INT64_MAX, "the longest time there is");

    size[0] = 2;
    size[4] = 2; /* 8..15 bytes */
    is_int(rkc_size_percentile(size, 50), 0, "empty messages have no bytes");
    is_int(rkc_size_percentile(size, 75), 11, "sizes are interpolated");
    is_int(rkc_size_percentile(size, 100), 15, "the largest size of a bucket is whole");
    size[RKC_SIZE_BUCKETS - 1] = UINT64_MAX;
    is_int(rkc_size_percentile(size, 100), INT64_MAX - 1, "the last bucket ends with int64");
}

int main(void)
{
    buckets_of_time();
    buckets_of_size();
    merging();
    adding();
    limits();
    percentiles();
    return done_testing();
}
