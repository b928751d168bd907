/* numbers.c - the metrics of a window of call paths. All zero means absent: a statistic
 * counts only when its `ranks` is not 0. */
#include "autoconf.h"

#include "profile.h"

#include <stdlib.h>

#include <rankclock/status.h>

int rkc_numbers_init(struct rkc_numbers *numbers, uint32_t first, uint32_t n)
{
    *numbers = (struct rkc_numbers){.first = first, .n = n};
    if (n == 0)
        return 0;
    numbers->stats = calloc((size_t)n * RKC_METRICS, sizeof *numbers->stats);
    numbers->hist = calloc(n, sizeof *numbers->hist);
    if (numbers->stats && numbers->hist)
        return 0;
    rkc_numbers_free(numbers);
    return RKC_ENOMEM;
}

void rkc_numbers_free(struct rkc_numbers *numbers)
{
    if (!numbers)
        return;
    free(numbers->stats);
    free(numbers->hist);
    *numbers = (struct rkc_numbers){0};
}

/* `restrict` lets the compiler add several counts at once. */
static inline void add_counts(uint64_t *restrict into, const uint64_t *restrict from, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        into[i] += from[i];
}

void rkc_numbers_merge_path(struct rkc_stat *into_stats, struct rkc_path_hist *into_hist,
                            const struct rkc_stat *from_stats,
                            const struct rkc_path_hist *from_hist)
{
    int present = 0;
    for (unsigned metric = 0; metric < RKC_METRICS; metric++) {
        if (from_stats[metric].ranks == 0)
            continue;
        rkc_stat_merge(&into_stats[metric], &from_stats[metric]);
        present = 1;
    }
    if (!present)
        return;
    add_counts(into_hist->time, from_hist->time, RKC_TIME_BUCKETS);
    add_counts(into_hist->size, from_hist->size, RKC_SIZE_BUCKETS);
    into_hist->visit_sumsq_ns2 =
        rkc_u128_add(into_hist->visit_sumsq_ns2, from_hist->visit_sumsq_ns2);
}

int rkc_numbers_merge(struct rkc_numbers *into, const struct rkc_numbers *from)
{
    if (into->first != from->first || into->n != from->n)
        return RKC_EARG;
    for (size_t i = 0; i < into->n; i++)
        rkc_numbers_merge_path(into->stats + i * RKC_METRICS, into->hist + i,
                               from->stats + i * RKC_METRICS, from->hist + i);
    return 0;
}
