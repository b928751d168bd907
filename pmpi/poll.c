/* poll.c - where a loop of polls begins and ends.
 *
 * What one gets wrong here: whoever shuts the gate shuts the polls' after it; so who opens that
 * looks at the gate once more.
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

/* Bring the pending visits into the sums, which exist twice: see fold.c. */
static void fold(struct rkc_polls *polls, double rate)
{
    const struct rkc_sums *from = rkc_sums_current(polls->sums);
    struct rkc_sums *into = &polls->sums[from == polls->sums];
    uint64_t visits = value(&polls->visits), sum = from->sum;
    uint64_t min = value(&polls->min), max = value(&polls->max);
    rkc_u128 square = (rkc_u128)from->square_high << 64 | from->square_low;
    for (uint64_t i = from->visits; i != visits; i++) {
        uint64_t ticks = value(&polls->pending[i % RKC_POLLS_PENDING]);
        unsigned bucket = rkc_time_bucket_scaled((double)(int64_t)ticks * rate);
        set(&polls->hist[bucket], value(&polls->hist[bucket]) + 1);
        square += (rkc_u128)ticks * ticks;
        sum += ticks;
        min = ticks < min ? ticks : min;
        max = ticks > max ? ticks : max;
    }
    set(&polls->min, min);
    set(&polls->max, max);
    into->visits = visits;
    into->sum = sum;
    into->square_low = (uint64_t)square;
    into->square_high = (uint64_t)(square >> 64);
    atomic_store_explicit(&into->applied, visits, memory_order_release);
}

int rkc_poll_missed_full(struct rkc_hot *hot, uint64_t now)
{
    uint64_t ticks = now - hot->poll.begin;
    if (!rkc_poll_is_whole(hot, ticks))
        return 0;
    fold(hot->poll.block, rkc_private_ns_per_tick());
    rkc_poll_commit(hot, value(&hot->poll.block->visits), ticks);
    return 1;
}

void rkc_poll_hit(struct rkc_hot *hot, struct rkc_mpi_call *call)
{
    const struct rkc_poll *poll = &hot->poll;
    *call = (struct rkc_mpi_call){.thread = hot->thread, .node = poll->node, .begin = poll->begin};
    if (hot->open == poll->node) {
        atomic_store_explicit(&poll->node->begin, poll->begin, memory_order_relaxed);
        atomic_store_explicit(&poll->block->begin, RKC_NO_BEGIN, memory_order_relaxed);
    }
    rkc_mpi_leave(call, &rkc_mpi_functions[hot->poll_id]);
}

static struct rkc_polls *block_of(struct rkc_thread *thread, struct rkc_node *node)
{
    return node->polls ? rkc_image_at(thread->base, node->polls) : rkc_private_polls(thread, node);
}

/* ---- the gate ---- */

struct rkc_polls_gate rkc_polls_gate;

static void open_gate(void)
{
    static _Atomic int refused;
    if (atomic_load_explicit(&rkc_polls_gate.place, memory_order_relaxed) || atomic_load(&refused))
        return;
    if (rkc_private_polls_gate(&rkc_polls_gate) != 0) {
        atomic_store(&refused, 1);
        return;
    }
#ifdef RKC_THREAD_POINTER
    intptr_t place = (const char *)&rkc_private_hot - RKC_THREAD_POINTER;
#else
    intptr_t place = 1;
#endif
    atomic_store(&rkc_polls_gate.place, place);
    if (!rkc_hot_ready())
        atomic_store(&rkc_polls_gate.place, 0);
}

void rkc_poll_again(const struct rkc_mpi_call *call, enum rkc_mpi_id id, int came_to_nothing)
{
    struct rkc_hot *hot = &rkc_private_hot;
    struct rkc_node *node = call->node;
    if (!came_to_nothing || !call->thread || !node || !rkc_hot_ready() || rkc_gate_timed() ||
        hot->next != node || !hot->next_region || hot->open != node->up)
        return;
    if (hot->poll.node != node) {
        struct rkc_polls *block = block_of(call->thread, node);
        if (!block)
            return;
        hot->poll = (struct rkc_poll){
            .node = node, .up = node->up, .block = block, .next = rkc_mpi_functions[id].next};
        hot->poll_id = id;
    }
    call->thread->loops++;
    hot->next_region = RKC_POLLED;
    open_gate();
}
