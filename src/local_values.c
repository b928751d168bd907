/* local_values.c - what the nodes of a call path have is added up when it is asked for: that takes
 * less memory than to keep it, and is asked for once or twice.
 */
#include "autoconf.h"

#include "collect.h"

#include <string.h>

static const struct rkc_timed *timed_of(const struct rkc_local *local, const struct rkc_node *node)
{
    return rkc_local_block(local, node->timed, RKC_BLOCK_TIMED, sizeof(struct rkc_timed));
}

/* A sum that a damaged image cannot make overflow. */
static int64_t plus(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* Add a value, absent until the first. */
static void add_value(int64_t *value, int64_t more)
{
    *value = *value == RKC_ABSENT ? more : plus(*value, more);
}

static void add_traffic(const struct rkc_local *local, const struct rkc_local_node *node,
                        int64_t *values)
{
    const struct rkc_traffic *traffic = rkc_local_traffic(local, node->node);
    for (; traffic; traffic = rkc_local_next_traffic(local, traffic)) {
        add_value(&values[RKC_METRIC_BYTES_SENT], rkc_local_count(&traffic->sent));
        add_value(&values[RKC_METRIC_BYTES_RECEIVED], rkc_local_count(&traffic->received));
        if (!rkc_local_count(&traffic->completed))
            continue;
        uint64_t flight = atomic_load_explicit(&traffic->in_flight, memory_order_relaxed);
        uint64_t blocked = atomic_load_explicit(&traffic->blocked, memory_order_relaxed);
        add_value(&values[RKC_METRIC_IN_FLIGHT], rkc_clock_ns(flight, local->rate));
        add_value(&values[RKC_METRIC_BLOCKED], rkc_clock_ns(blocked, local->rate));
    }
}

static void take_least(int64_t *value, int64_t other)
{
    *value = *value == RKC_ABSENT || other < *value ? other : *value;
}

static void take_most(int64_t *value, int64_t other)
{
    *value = other > *value ? other : *value;
}

static void add_count(int64_t *value, const _Atomic uint64_t *count)
{
    add_value(value, rkc_local_count(count));
}

/* Of visits without device time there is a number, but no time of 0. */
static void add_timed(const struct rkc_local *local, const struct rkc_local_node *node,
                      int64_t *values)
{
    const struct rkc_timed *timed = timed_of(local, node->node);
    if (!timed)
        return;
    add_count(&values[RKC_METRIC_DEVICE_VISITS], &timed->visits);
    if (rkc_local_count(&timed->visits)) {
        add_count(&values[RKC_METRIC_DEVICE], &timed->ns);
        take_least(&values[RKC_METRIC_DEVICE_MIN], rkc_local_count(&timed->min_ns));
        take_most(&values[RKC_METRIC_DEVICE_MAX], rkc_local_count(&timed->max_ns));
    }
    if (rkc_local_count(&timed->lag_visits)) {
        add_count(&values[RKC_METRIC_LAG], &timed->lag_ns);
        add_count(&values[RKC_METRIC_LAG_VISITS], &timed->lag_visits);
    }
    if (rkc_local_count(&timed->coarse)) {
        add_count(&values[RKC_METRIC_COARSE], &timed->coarse);
        take_most(&values[RKC_METRIC_RESOLUTION], rkc_local_count(&timed->coarse_ns));
    }
    for (int reason = 0; reason < RKC_GPU_REASONS; reason++)
        if (rkc_local_count(&timed->unavailable[reason]))
            add_count(&values[RKC_METRIC_DEVICE_CAPTURED + reason], &timed->unavailable[reason]);
}

/* A visit's time; not above all of the node's, which is made of parts to the nearest ns each. */
static int64_t visit_ns(const struct rkc_local *local, const struct rkc_local_node *node,
                        uint64_t ticks)
{
    int64_t ns = rkc_clock_ns(ticks, local->rate);
    return ns < node->inclusive_ns ? ns : node->inclusive_ns;
}

static void add_node(const struct rkc_local *local, const struct rkc_local_node *node,
                     int64_t *values)
{
    uint64_t inner = atomic_load_explicit(&node->node->inner, memory_order_relaxed);
    uint64_t sampled_out = atomic_load_explicit(&node->node->sampled_out, memory_order_relaxed);
    uint32_t unclosed = atomic_load_explicit(&node->node->unclosed, memory_order_relaxed);
    int is_root = node->parent == UINT32_MAX;
    uint64_t visits = node->visits + inner + sampled_out + node->is_open;
    if (!visits && !node->inclusive_ns)
        return;

    add_value(&values[RKC_METRIC_VISITS], (int64_t)visits);
    add_value(&values[RKC_METRIC_INCLUSIVE], node->inclusive_ns);
    add_value(&values[RKC_METRIC_EXCLUSIVE], node->exclusive_ns);
    add_value(&values[RKC_METRIC_MPI], node->mpi_ns);
    add_value(&values[RKC_METRIC_USEFUL], node->inclusive_ns - node->busy_elsewhere_ns);
    add_value(&values[RKC_METRIC_THREADS], 1);
    take_most(&values[RKC_METRIC_SLOWEST_THREAD], node->inclusive_ns);
    if (node->visits) {
        take_least(&values[RKC_METRIC_VISIT_MIN], visit_ns(local, node, node->min));
        take_most(&values[RKC_METRIC_VISIT_MAX], visit_ns(local, node, node->max));
    }
    if (!is_root && (unclosed || node->is_open))
        add_value(&values[RKC_METRIC_UNCLOSED],
                  (int64_t)unclosed + node->is_open + (node->is_open ? node->node->recursion : 0));
    if (sampled_out)
        add_value(&values[RKC_METRIC_SAMPLED_OUT], (int64_t)sampled_out);
    add_traffic(local, node, values);
    add_timed(local, node, values);
}

void rkc_local_values(const struct rkc_local *local, uint32_t path, int64_t values[RKC_METRICS])
{
    for (int metric = 0; metric < RKC_METRICS; metric++)
        values[metric] = RKC_ABSENT;
    for (uint32_t i = local->first_node[path]; i; i = local->nodes[i - 1].next)
        add_node(local, &local->nodes[i - 1], values);
    /* What another thread has measured for the first time since then. */
    for (int metric = 0; metric < RKC_METRICS; metric++)
        if (!(local->metrics >> metric & 1))
            values[metric] = RKC_ABSENT;
}

/* ---- histograms ---- */

static rkc_u128 square_ns(rkc_u128 square, uint64_t rate)
{
    double scale = (double)rate / (double)(UINT64_C(1) << 56);
    double ns2 = (double)square * scale * scale;
    return ns2 < 3.4e38 ? (rkc_u128)ns2 : ~(rkc_u128)0;
}

/* Add what was counted of a node's full buckets; how many visits that is. Each block lies below the
 * one before, so that a damaged image's list ends as well. */
static uint64_t add_full(const struct rkc_local *local, const struct rkc_node *node, uint64_t *time)
{
    const struct rkc_high_block *high;
    uint64_t counted = 0;
    for (uint32_t unit = node->high, below = UINT32_MAX; unit && unit < below; unit = high->next) {
        high = rkc_local_block(local, unit, RKC_BLOCK_HIGH, sizeof *high);
        if (!high || high->first > RKC_TIME_BUCKETS - RKC_HIGH_BUCKETS)
            break;
        for (int i = 0; i < RKC_HIGH_BUCKETS; i++) {
            time[high->first + (unsigned)i] += high->full[i] * RKC_HIST_FULL;
            counted += high->full[i] * RKC_HIST_FULL;
        }
        below = unit;
    }
    return counted;
}

/* Add a node's histogram, as far as the fold has come. The loop is one for the compiler to widen:
 * most nodes have no full buckets. */
static void add_node_hist(const struct rkc_local *local, const struct rkc_local_node *from,
                          uint64_t *time)
{
    const struct rkc_node *node = from->node;
    const struct rkc_polls *polls = rkc_local_polls(local, node);
    uint64_t visits = from->visits - from->polled, counted = 0;
    for (int bucket = 0; polls && bucket < RKC_TIME_BUCKETS; bucket++)
        time[bucket] += atomic_load_explicit(&polls->hist[bucket], memory_order_relaxed);
    for (int bucket = 0; bucket < RKC_TIME_BUCKETS; bucket++) {
        time[bucket] += node->hist[bucket];
        counted += node->hist[bucket];
    }
    if (!node->high)
        return;
    counted += add_full(local, node, time);
    /* A fold that ended between counting a full bucket and emptying it has counted it twice. */
    if (counted > visits && counted - visits >= RKC_HIST_FULL / 2 &&
        node->filled < RKC_TIME_BUCKETS && time[node->filled] >= RKC_HIST_FULL)
        time[node->filled] -= RKC_HIST_FULL;
}

void rkc_local_hist(const struct rkc_local *local, uint32_t path, struct rkc_path_hist *hist)
{
    memset(hist, 0, sizeof *hist);
    for (uint32_t i = local->first_node[path]; i; i = local->nodes[i - 1].next) {
        const struct rkc_local_node *node = &local->nodes[i - 1];
        hist->visit_sumsq_ns2 =
            rkc_u128_add(hist->visit_sumsq_ns2, square_ns(node->square, local->rate));
        add_node_hist(local, node, hist->time);
        const struct rkc_traffic *traffic = rkc_local_traffic(local, node->node);
        for (; traffic; traffic = rkc_local_next_traffic(local, traffic))
            rkc_local_sizes(local, traffic, hist->size);
    }
    for (uint32_t i = 0; i < local->n_pending; i++)
        if (local->nodes[local->pending[i].node].path == path)
            hist->time[rkc_time_bucket(
                (uint64_t)rkc_clock_ns(local->pending[i].ticks, local->rate))]++;
}
