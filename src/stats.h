/* stats.h - the arithmetic of measurements: exact sums, histograms, statistics over ranks. */
#ifndef RKC_STATS_H
#define RKC_STATS_H

#include <stdint.h>

__extension__ typedef unsigned __int128 rkc_u128;
__extension__ typedef __int128 rkc_i128;

/* Duration histogram: two buckets per octave of nanoseconds. Bucket 2e holds
 * [2^e, 1.5 * 2^e), bucket 2e+1 [1.5 * 2^e, 2^(e+1)); bucket 0 also 0 ns, bucket 1
 * nothing, and the last one everything from 58 hours up. */
enum { RKC_TIME_BUCKETS = 96 };

static inline unsigned rkc_time_bucket(uint64_t ns)
{
    unsigned octave = 63u - (unsigned)__builtin_clzll(ns | 1);
    unsigned half = octave ? (unsigned)(ns >> (octave - 1)) & 1u : 0;
    unsigned bucket = 2 * octave + half;
    return bucket < RKC_TIME_BUCKETS ? bucket : RKC_TIME_BUCKETS - 1;
}

/* The same for a duration that is not negative and was scaled from ticks: an octave and its half
 * are the exponent and the first bit of the fraction. */
static inline unsigned rkc_time_bucket_scaled(double ns)
{
    uint64_t bits;
    __builtin_memcpy(&bits, &ns, sizeof bits);
    uint64_t bucket = (bits >> 51) - 2 * 1023;
    if (__builtin_expect(bucket - 2 < RKC_TIME_BUCKETS - 2, 1))
        return (unsigned)bucket;
    return ns < 2 ? 0 : RKC_TIME_BUCKETS - 1;
}

/* The least ns that falls into a bucket; for RKC_TIME_BUCKETS, INT64_MAX. Bucket b holds
 * edge(b) <= ns < edge(b + 1), and as bucket 1 is empty its edge is that of bucket 2. */
int64_t rkc_time_bucket_edge(unsigned bucket);

/* Size histogram: bucket 0 holds empty messages, bucket k [2^(k-1), 2^k) bytes. */
enum { RKC_SIZE_BUCKETS = 64 };

static inline unsigned rkc_size_bucket(uint64_t bytes)
{
    unsigned bucket = bytes ? 64u - (unsigned)__builtin_clzll(bytes) : 0;
    return bucket < RKC_SIZE_BUCKETS ? bucket : RKC_SIZE_BUCKETS - 1;
}

/* The least size that falls into a bucket; for RKC_SIZE_BUCKETS, INT64_MAX. */
int64_t rkc_size_bucket_edge(unsigned bucket);

/* One metric of one call path over ranks. `ranks` counts those that have it; when
 * it is 0 the rest means nothing. Equal extremes belong to the lowest rank. */
struct rkc_stat {
    rkc_i128 sum;
    rkc_u128 sumsq; /* saturates */
    int64_t min, max;
    int32_t min_rank, max_rank;
    int64_t ranks;
};

/* The statistic of one rank alone. */
void rkc_stat_set(struct rkc_stat *stat, int64_t value, int32_t rank);

/* Add one rank, as merging what rkc_stat_set makes of it does. */
void rkc_stat_add(struct rkc_stat *into, int64_t value, int32_t rank);

/* Add the ranks of `from` to those of `into`. Commutative and associative. */
void rkc_stat_merge(struct rkc_stat *into, const struct rkc_stat *from);

/* A 128-bit sum as int64, clamped; then *saturated is set to 1, else left alone. */
int64_t rkc_stat_sum64(rkc_i128 sum, int *saturated);

/* a + b, or the largest number where that is too large. */
rkc_u128 rkc_u128_add(rkc_u128 a, rkc_u128 b);

/* Duration below which `percent` of the visits in a histogram lie: interpolated inside
 * the bucket, never outside [min_ns, max_ns]; -1 for an empty histogram. */
int64_t rkc_time_percentile(const uint64_t buckets[RKC_TIME_BUCKETS], double percent,
                            int64_t min_ns, int64_t max_ns);

/* The same for sizes in bytes, without known extremes. */
int64_t rkc_size_percentile(const uint64_t buckets[RKC_SIZE_BUCKETS], double percent);

#endif
