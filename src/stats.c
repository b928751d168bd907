/* stats.c - sums wrap or saturate, never overflow: what is merged may come from a damaged file. */
#include "autoconf.h"

#include "stats.h"

int64_t rkc_time_bucket_edge(unsigned bucket)
{
    if (bucket == 0)
        return 0;
    if (bucket == 1)
        return 2;
    if (bucket >= RKC_TIME_BUCKETS)
        return INT64_MAX;
    int64_t half = INT64_C(1) << (bucket / 2 - 1);
    return half * (bucket % 2 ? 3 : 2);
}

int64_t rkc_size_bucket_edge(unsigned bucket)
{
    if (bucket == 0)
        return 0;
    return bucket < RKC_SIZE_BUCKETS ? INT64_C(1) << (bucket - 1) : INT64_MAX;
}

rkc_u128 rkc_u128_add(rkc_u128 a, rkc_u128 b)
{
    rkc_u128 sum = a + b;
    return sum < a ? ~(rkc_u128)0 : sum;
}

static rkc_u128 square(int64_t value)
{
    uint64_t magnitude = value < 0 ? -(uint64_t)value : (uint64_t)value;
    return (rkc_u128)magnitude * magnitude;
}

void rkc_stat_set(struct rkc_stat *stat, int64_t value, int32_t rank)
{
    *stat = (struct rkc_stat){
        .sum = value,
        .sumsq = square(value),
        .min = value,
        .max = value,
        .min_rank = rank,
        .max_rank = rank,
        .ranks = 1,
    };
}

void rkc_stat_add(struct rkc_stat *into, int64_t value, int32_t rank)
{
    if (into->ranks == 0) {
        rkc_stat_set(into, value, rank);
        return;
    }
    into->sum = (rkc_i128)((rkc_u128)into->sum + (rkc_u128)(rkc_i128)value);
    into->sumsq = rkc_u128_add(into->sumsq, square(value));
    into->ranks = (int64_t)((uint64_t)into->ranks + 1);
    if (value < into->min || (value == into->min && rank < into->min_rank)) {
        into->min = value;
        into->min_rank = rank;
    }
    if (value > into->max || (value == into->max && rank < into->max_rank)) {
        into->max = value;
        into->max_rank = rank;
    }
}

void rkc_stat_merge(struct rkc_stat *into, const struct rkc_stat *from)
{
    if (from->ranks == 0)
        return;
    if (into->ranks == 0) {
        *into = *from;
        return;
    }

    into->sum = (rkc_i128)((rkc_u128)into->sum + (rkc_u128)from->sum);
    into->sumsq = rkc_u128_add(into->sumsq, from->sumsq);
    into->ranks = (int64_t)((uint64_t)into->ranks + (uint64_t)from->ranks);
    if (from->min < into->min || (from->min == into->min && from->min_rank < into->min_rank)) {
        into->min = from->min;
        into->min_rank = from->min_rank;
    }
    if (from->max > into->max || (from->max == into->max && from->max_rank < into->max_rank)) {
        into->max = from->max;
        into->max_rank = from->max_rank;
    }
}

int64_t rkc_stat_sum64(rkc_i128 sum, int *saturated)
{
    if (sum >= INT64_MIN && sum <= INT64_MAX)
        return (int64_t)sum;
    *saturated = 1;
    return sum < 0 ? INT64_MIN : INT64_MAX;
}

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    if (value > high)
        value = high;
    return value < low ? low : value;
}

/* Where in a histogram `percent` of the counts lie below: *bucket, and the share of that
 * bucket's own counts that do. 0 when there are no counts. */
static int locate(const uint64_t *buckets, unsigned n, double percent, unsigned *bucket,
                  double *share)
{
    double total = 0;
    for (unsigned i = 0; i < n; i++)
        total += (double)buckets[i];

    double wanted = percent >= 100 ? total : percent > 0 ? total * (percent / 100) : 0;
    double below = 0;
    for (unsigned i = 0; i < n; i++) {
        if (buckets[i] == 0)
            continue;
        double count = (double)buckets[i];
        if (below + count >= wanted) {
            *bucket = i;
            *share = (wanted - below) / count;
            return 1;
        }
        below += count;
    }
    return 0;
}

/* The number that is `share` of the way up from `low`. */
static int64_t between(int64_t low, int64_t high, double share)
{
    if (share >= 1)
        return high;
    return low + (int64_t)((double)(high - low) * share);
}

int64_t rkc_time_percentile(const uint64_t buckets[RKC_TIME_BUCKETS], double percent,
                            int64_t min_ns, int64_t max_ns)
{
    unsigned bucket;
    double share;
    if (!locate(buckets, RKC_TIME_BUCKETS, percent, &bucket, &share))
        return -1;
    int64_t low = clamp(rkc_time_bucket_edge(bucket), min_ns, max_ns);
    int64_t high = clamp(rkc_time_bucket_edge(bucket + 1), min_ns, max_ns);
    return between(low, high, share);
}

int64_t rkc_size_percentile(const uint64_t buckets[RKC_SIZE_BUCKETS], double percent)
{
    unsigned bucket;
    double share;
    if (!locate(buckets, RKC_SIZE_BUCKETS, percent, &bucket, &share))
        return -1;
    int64_t low = rkc_size_bucket_edge(bucket);
    /* Sizes are whole: the largest in a bucket is one less than the next edge. */
    return between(low, rkc_size_bucket_edge(bucket + 1) - 1, share);
}
