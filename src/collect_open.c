/* collect_open.c - what was open when an image was left, and until when its process lived. */
#include "autoconf.h"

#include "collect.h"

#include <stdlib.h>

uint64_t rkc_local_begin(const struct rkc_local *local, const struct rkc_local_node *node)
{
    uint64_t begin = atomic_load_explicit(&node->node->begin, memory_order_acquire);
    const struct rkc_polls *polls = rkc_local_polls(local, node->node);
    return begin == RKC_NO_BEGIN && polls ? rkc_polls_begin(polls) : begin;
}

static int is_root(const struct rkc_local_node *node)
{
    return node->parent == UINT32_MAX;
}

/* Mark the nodes that are open, from the threads' roots down. */
static void find_open(struct rkc_local *local)
{
    for (uint32_t i = 0; i < local->n_nodes; i++) {
        struct rkc_local_node *node = &local->nodes[i];
        if (!is_root(node))
            node->is_open = rkc_local_begin(local, node) != RKC_NO_BEGIN &&
                            local->nodes[node->parent].is_open;
    }
}

/* A process lived on after its clock was read last, which nothing does while a rank waits in MPI: until
 * its last begin, and until what was visited in an open node can have been over, which is all that
 * the node's visits before this one cannot have held. */
static int find_last_instant(struct rkc_local *local)
{
    const struct rkc_image_header *header = (const void *)local->view->base;
    uint64_t last = local->end_ticks, *inside;
    if (atomic_load_explicit(&header->clock.ended, memory_order_acquire))
        return 0;
    inside = calloc(local->n_nodes + 1, sizeof *inside);
    if (!inside)
        return RKC_ENOMEM;
    for (uint32_t i = local->n_nodes; i-- > 0;) {
        const struct rkc_local_node *node = &local->nodes[i];
        if (!is_root(node))
            inside[node->parent] += node->ticks;
        if (!node->is_open)
            continue;
        uint64_t known = inside[i] > node->ticks ? inside[i] - node->ticks : 0;
        uint64_t until = rkc_local_begin(local, node) + known;
        last = (int64_t)(until - last) > 0 ? until : last;
    }
    local->end_ticks = last;
    free(inside);
    return 0;
}

static const struct rkc_local_node *root_of(const struct rkc_local *local,
                                            const struct rkc_local_node *node)
{
    while (!is_root(node))
        node = &local->nodes[node->parent];
    return node;
}

/* Whether an open node tells more of where the rank is than another one of it: of a thread the
 * innermost, of several threads one that is in MPI, else the first. */
static int tells_more(const struct rkc_local *local, const struct rkc_local_node *node,
                      const struct rkc_local_node *named)
{
    if (!named)
        return 1;
    const struct rkc_local_node *root = root_of(local, node), *named_root = root_of(local, named);
    if (root == named_root)
        return node->node->depth > named->node->depth;
    int is_mpi = node->kind == RKC_REGION_MPI;
    if (is_mpi != (named->kind == RKC_REGION_MPI))
        return is_mpi;
    return root < named_root;
}

/* Give the open nodes the time so far, but for a visit that counts one moment and is in the ring the
 * next; the row names one of them. */
static void add_open(struct rkc_local *local)
{
    const struct rkc_local_node *named = NULL;
    int moves = rkc_view_moves(local->view);
    for (uint32_t i = 0; i < local->n_nodes; i++) {
        struct rkc_local_node *node = &local->nodes[i];
        uint64_t begin = rkc_local_begin(local, node);
        if (!node->is_open)
            continue;
        if (!is_root(node) && tells_more(local, node, named))
            named = node;
        int64_t ticks = (int64_t)(local->end_ticks - begin);
        if (!moves)
            node->ticks += ticks > 0 ? (uint64_t)ticks : 0;
    }
    for (uint32_t i = 0; moves && i < local->n_nodes; i++)
        local->nodes[i].is_open = 0;
    if (named)
        local->row.open_path = named->path;
}

int rkc_local_add_open(struct rkc_local *local)
{
    find_open(local);
    int status = find_last_instant(local);
    add_open(local);
    return status;
}
