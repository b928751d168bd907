/* poll.c - where a loop of polls begins and ends.
 *
 * What one gets wrong here: whoever shuts the gate disarms the loops after it; so a loop that is
 * being armed looks at the gate once more.
 */
#include "autoconf.h"

#include "poll.h"

#include "mpi_blocks.h"

static uint64_t value(const _Atomic uint64_t *at)
{
    return atomic_load_explicit(at, memory_order_relaxed);
}

static void set(_Atomic uint64_t *at, uint64_t value)
{
    atomic_store_explicit(at, value, memory_order_relaxed);
}

/* One visit; it is folded once its bucket has it. */
static inline void fold(struct rkc_polls *polls, uint64_t ticks, double rate)
{
    unsigned bucket = rkc_time_bucket_scaled((double)(int64_t)ticks * rate);
    rkc_u128 square = (rkc_u128)value(&polls->square_high) << 64 | value(&polls->square_low);
    square += (rkc_u128)ticks * ticks;
    set(&polls->square_low, (uint64_t)square);
    set(&polls->square_high, (uint64_t)(square >> 64));
    set(&polls->ticks, value(&polls->ticks) + ticks);
    if (ticks < value(&polls->min))
        set(&polls->min, ticks);
    if (ticks > value(&polls->max))
        set(&polls->max, ticks);
    atomic_signal_fence(memory_order_release);
    set(&polls->hist[bucket], value(&polls->hist[bucket]) + 1);
}

/* Bring the pending visits into the sums. */
static void fold_all(struct rkc_polls *polls, double rate)
{
    uint64_t visits = value(&polls->visits);
    while (polls->folded < visits) {
        uint64_t ticks = value(&polls->pending[polls->folded % RKC_POLLS_PENDING]);
        fold(polls, ticks, rate);
        atomic_signal_fence(memory_order_release);
        polls->folded++;
    }
}

int rkc_poll_missed_full(struct rkc_poll *poll, uint64_t now)
{
    uint64_t ticks = now - poll->begin;
    if (!rkc_poll_is_whole(poll, ticks))
        return 0;
    fold_all(poll->block, poll->rate);
    rkc_poll_commit(poll, value(&poll->block->visits), ticks);
    return 1;
}

void rkc_poll_hit(struct rkc_poll *poll, struct rkc_mpi_call *call)
{
    struct rkc_hot *hot = &rkc_private_hot;
    *call = (struct rkc_mpi_call){.thread = hot->thread, .node = poll->node, .begin = poll->begin};
    if (hot->open == poll->node) {
        atomic_store_explicit(&poll->node->begin, poll->begin, memory_order_relaxed);
        atomic_store_explicit(&poll->block->begin, RKC_NO_BEGIN, memory_order_relaxed);
    }
    rkc_mpi_leave(call, &rkc_mpi_functions[poll->id]);
}

static struct rkc_polls *block_of(struct rkc_thread *thread, struct rkc_node *node)
{
    return node->polls ? rkc_image_at(thread->base, node->polls) : rkc_private_polls(thread, node);
}

void rkc_poll_again(const struct rkc_mpi_call *call, enum rkc_mpi_id id, int came_to_nothing)
{
    struct rkc_hot *hot = &rkc_private_hot;
    struct rkc_node *node = call->node;
    if (!came_to_nothing || !call->thread || !node || !rkc_hot_ready() || rkc_gate_timed() ||
        hot->next != node || !hot->next_region || hot->open != node->up)
        return;
    struct rkc_poll *poll = &call->thread->poll;
    if (poll->node != node) {
        *poll = (struct rkc_poll){
            .node = node, .up = node->up, .id = id, .block = block_of(call->thread, node)};
        if (!poll->block) {
            poll->node = NULL;
            return;
        }
    }
    poll->hot = hot;
    poll->next = rkc_mpi_functions[id].next;
    poll->rate = rkc_private_ns_per_tick();
    hot->next_region = RKC_POLLED;
    atomic_store(&poll->armed, 1 + (uint32_t)id);
    if (!rkc_hot_ready())
        atomic_store(&poll->armed, 0);
}
