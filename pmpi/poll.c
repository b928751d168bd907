/* poll.c - where a loop of polls begins and ends.
 *
 * What one gets wrong here: whoever shuts the gate disarms the loops after it; so a loop that is
 * being armed looks at the gate once more.
 */
#include "autoconf.h"

#include "poll.h"

#include "mpi_blocks.h"

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
    poll->next = rkc_mpi_functions[id].next;
    poll->rate = rkc_private_ns_per_tick();
    hot->next_region = 0;
    atomic_store(&poll->armed, 1);
    if (!rkc_hot_ready())
        atomic_store(&poll->armed, 0);
}
