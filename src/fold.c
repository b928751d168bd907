/* fold.c - from a thread's ring into its nodes.
 *
 * What one gets wrong here: a node's sums are never changed in place. The fold writes the
 * copy that is not in force and makes it the one by the release store of `applied`, last;
 * whoever reads meanwhile, or after a kill, sees one whole copy or the other.
 */
#include "autoconf.h"

#include "calltree.h"
#include "gpu/timed.h"
#include "hot.h"

/* Where the full ones of a bucket are counted, or NULL. */
static struct rkc_high_block *high_of(struct rkc_thread *thread, struct rkc_node *node,
                                      unsigned bucket)
{
    uint32_t first = bucket / RKC_HIGH_BUCKETS * RKC_HIGH_BUCKETS;
    struct rkc_high_block *high;
    for (uint32_t unit = node->high; unit; unit = high->next) {
        high = rkc_image_at(thread->base, unit);
        if (high->first == first)
            return high;
    }
    high = rkc_thread_new_block(RKC_BLOCK_HIGH, sizeof *high);
    if (!high)
        return NULL;
    high->node = rkc_image_unit(thread->base, node);
    high->next = node->high;
    high->first = first;
    rkc_image_publish(&high->block);
    node->high = rkc_image_unit(thread->base, high);
    return high;
}

/* Count a bucket that is full before it is emptied. */
static __attribute__((noinline)) void carry(struct rkc_thread *thread, struct rkc_node *node,
                                            unsigned bucket)
{
    struct rkc_high_block *high = high_of(thread, node, bucket);
    node->filled = bucket;
    atomic_thread_fence(memory_order_release);
    if (high)
        high->full[bucket % RKC_HIGH_BUCKETS]++;
    atomic_thread_fence(memory_order_release);
}

/* The sums of a node while its records follow one another: of a thousand nodes in turn each is
 * touched once, and what is many times the same is in registers. Instructions are what decides
 * here, and which of them wait for another, the nodes being in the second cache at least. */
struct folded {
    uint64_t visits, sum;
    rkc_u128 square;
    struct rkc_sums *into; /* the copy that is not in force */
};

static inline struct folded take_sums(struct rkc_node *node)
{
    uint64_t first = atomic_load_explicit(&node->sums[0].applied, memory_order_relaxed);
    uint64_t second = atomic_load_explicit(&node->sums[1].applied, memory_order_relaxed);
    const struct rkc_sums *from = &node->sums[0];
    struct rkc_sums *into = &node->sums[1];
    /* A guess, right where a program goes round, so that the sums need not wait for the answer. */
    if (RKC_UNLIKELY(second > first)) {
        from = into;
        into = &node->sums[0];
    }
    return (struct folded){.visits = from->visits,
                           .sum = from->sum,
                           .square = (rkc_u128)from->square_high << 64 | from->square_low,
                           .into = into};
}

/* Put the sums in force, which hold all records before `applied`. */
static inline void put_sums(const struct folded *folded, uint64_t applied)
{
    struct rkc_sums *into = folded->into;
    into->visits = folded->visits;
    into->sum = folded->sum;
    into->square_low = (uint64_t)folded->square;
    into->square_high = (uint64_t)(folded->square >> 64);
    atomic_store_explicit(&into->applied, applied, memory_order_release);
}

/* A clock that went backwards gives no time. */
static uint64_t ticks_back(const struct rkc_thread *thread)
{
    struct rkc_image_header *header = (void *)thread->base;
    atomic_fetch_add_explicit(&header->clock_back, 1, memory_order_relaxed);
    return 0;
}

static inline void apply(struct rkc_thread *thread, struct rkc_node *node, struct folded *folded,
                         uint64_t ticks, double rate)
{
    if (RKC_UNLIKELY((int64_t)ticks < 0))
        ticks = ticks_back(thread);
    unsigned bucket = rkc_time_bucket_scaled((double)(int64_t)ticks * rate);
    uint16_t in_bucket = (uint16_t)(node->hist[bucket] + 1);
    if (RKC_UNLIKELY(in_bucket == 0))
        carry(thread, node, bucket);
    node->hist[bucket] = in_bucket;
    folded->square += (rkc_u128)ticks * ticks;
    folded->visits++;
    folded->sum += ticks;
    if (RKC_UNLIKELY(ticks < node->min))
        node->min = ticks;
    if (RKC_UNLIKELY(ticks > node->max))
        node->max = ticks;
}

/* Bring the records from `tail` to `head` into their nodes. */
static void fold_records(struct rkc_thread *thread, uint64_t tail, uint64_t head)
{
    double rate = (double)rkc_tree_rate() * 0x1p-56;
    struct rkc_sums nobody;
    struct folded folded = {.into = &nobody};
    struct rkc_node *node = NULL;
    while (tail != head) {
        const struct rkc_record *record = &thread->ring->record[tail % RKC_RING_RECORDS];
        uint64_t left = RKC_RING_RECORDS - tail % RKC_RING_RECORDS;
        uint64_t upto = head - tail < left ? head : tail + left;
        for (; tail != upto; tail++, record++) {
            struct rkc_node *next = (void *)(uintptr_t)rkc_record_node(record);
            if (next != node) {
                put_sums(&folded, tail);
                node = next;
                folded = take_sums(node);
            }
            apply(thread, node, &folded, record->ticks, rate);
        }
    }
    put_sums(&folded, head);
}

void rkc_private_end_full(struct rkc_hot *hot, struct rkc_node *node, uint32_t region, uint64_t now)
{
    rkc_private_fold(hot->thread);
    rkc_hot_commit(hot, node, region, now);
}

void rkc_private_fold(struct rkc_thread *thread)
{
    uint64_t mask;
    rkc_thread_change(thread, &mask);
    struct rkc_ring *ring = thread->ring;
    uint64_t head = thread->hot->head; /* the ring's may lag where a handler jumped away */
    atomic_store_explicit(&ring->head, head, memory_order_release);
    fold_records(thread, atomic_load_explicit(&ring->tail, memory_order_relaxed), head);
    atomic_store_explicit(&ring->tail, head, memory_order_release);
    rkc_tree_calibrate(0);
    rkc_thread_changed(thread, &mask);
    if (RKC_UNLIKELY(rkc_gate_timed()))
        rkc_timed_poll(thread);
}
