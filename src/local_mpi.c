/* local_mpi.c - what MPI calls left beside their call paths, as rows of one rank: transfers of other
 * memory than the host's, waits by communicator, messages by peer.
 *
 * What one gets wrong here: what a call path moved from and to host memory, and its visits in the
 * communicator of its first one, are written nowhere. They are what the other rows leave of the
 * call path's own numbers.
 */
#include "autoconf.h"

#include "collect.h"

#include <stdlib.h>
#include <string.h>

/* ---- transfers ---- */

static int add_transfer(struct rkc_local *local, uint32_t path, const struct rkc_traffic *traffic)
{
    const struct rkc_kinds *kinds = &traffic->kinds;
    if (kinds->send >= RKC_KINDS || kinds->recv >= RKC_KINDS)
        return 0;
    int send_device = kinds->send_device == RKC_NO_DEVICE ? -1 : kinds->send_device;
    int recv_device = kinds->recv_device == RKC_NO_DEVICE ? -1 : kinds->recv_device;
    struct rkc_transfer *row = rkc_profile_transfer_get(&local->paths, path, kinds->send,
                                                        send_device, kinds->recv, recv_device);
    if (!row)
        return RKC_ENOMEM;
    row->sent += rkc_local_count(&traffic->sent);
    row->received += rkc_local_count(&traffic->received);
    row->ns += rkc_clock_ns(atomic_load(&traffic->ticks), local->rate);
    row->blocked_ns += rkc_clock_ns(atomic_load(&traffic->blocked), local->rate);
    row->in_flight_ns += rkc_clock_ns(atomic_load(&traffic->in_flight), local->rate);
    row->noncontiguous += atomic_load(&traffic->noncontiguous);
    rkc_local_sizes(local, traffic, row->size);
    return 0;
}

static int add_transfers(struct rkc_local *local)
{
    int status = 0;
    for (uint32_t i = 0; i < local->n_nodes && !status; i++) {
        const struct rkc_traffic *traffic = rkc_local_traffic(local, local->nodes[i].node);
        if (traffic)
            traffic = rkc_local_next_traffic(local, traffic);
        for (; traffic && !status; traffic = rkc_local_next_traffic(local, traffic))
            status = add_transfer(local, local->nodes[i].path, traffic);
    }
    return status;
}

/* ---- waits ---- */

/* Visits in a communicator. */
struct visits {
    uint32_t comm;
    uint64_t visits, ticks;
    uint64_t synced, sync_ticks;
};

struct list {
    struct visits *rows;
    size_t n, room;
    int failed;
};

static void list_add(struct list *list, struct visits row)
{
    if (list->n == list->room) {
        size_t room = 2 * list->room + 8;
        struct visits *rows = realloc(list->rows, room * sizeof *rows);
        list->failed |= !rows;
        if (!rows)
            return;
        list->rows = rows;
        list->room = room;
    }
    list->rows[list->n++] = row;
}

static int by_comm(const void *a, const void *b)
{
    const struct visits *left = a, *right = b;
    return left->comm < right->comm ? -1 : left->comm > right->comm;
}

static const struct rkc_wait_block *wait_at(const struct rkc_local *local, uint32_t unit)
{
    return rkc_local_block(local, unit, RKC_BLOCK_WAIT, sizeof(struct rkc_wait_block));
}

/* A node's visits in each communicator. Lists run to lower units, which a damaged image cannot
 * make a circle. */
static void list_node(struct list *list, const struct rkc_local *local,
                      const struct rkc_local_node *node)
{
    struct visits first = {node->node->comm, node->visits, node->ticks, 0, 0};
    uint32_t before = UINT32_MAX;
    const struct rkc_wait_block *wait;
    for (uint32_t unit = node->node->wait; unit < before && (wait = wait_at(local, unit));
         unit = wait->next) {
        struct visits row = {wait->comm, atomic_load(&wait->visits), atomic_load(&wait->ticks),
                             atomic_load(&wait->synced), atomic_load(&wait->sync_ticks)};
        first.visits -= row.visits < first.visits ? row.visits : first.visits;
        first.ticks -= row.ticks < first.ticks ? row.ticks : first.ticks;
        list_add(list, row);
        before = unit;
    }
    if (first.comm)
        list_add(list, first);
}

/* The row of one call path and communicator. A collective whose ranks need not meet has only
 * what the barrier before it has measured, and is compared by that. */
static int add_wait(struct rkc_local *local, uint32_t path, const struct visits *sum)
{
    const struct rkc_comm_block *comm =
        rkc_local_block(local, sum->comm, RKC_BLOCK_COMM, sizeof *comm);
    uint64_t visits = sum->visits ? sum->visits : sum->synced;
    if (!comm || comm->size < 2 || !visits)
        return 0;
    struct rkc_comm_id id = {comm->key, comm->size, comm->first};
    int64_t sync_ns = sum->synced ? rkc_clock_ns(sum->sync_ticks, local->rate) : RKC_ABSENT;
    int64_t ns = sum->visits ? rkc_clock_ns(sum->ticks, local->rate) : sync_ns;
    int status =
        rkc_profile_wait_add(&local->paths, path, &id, local->row.rank,
                             visits < INT64_MAX ? (int64_t)visits : INT64_MAX, ns, sync_ns);
    return status == RKC_EARG ? 0 : status;
}

/* The rows of one call path; the list is for use in between. */
static int add_path_waits(struct rkc_local *local, uint32_t path, struct list *list)
{
    int status = 0;
    list->n = 0;
    for (uint32_t i = local->first_node[path]; i; i = local->nodes[i - 1].next)
        if (local->nodes[i - 1].node->comm || local->nodes[i - 1].node->wait)
            list_node(list, local, &local->nodes[i - 1]);
    if (list->n > 1)
        qsort(list->rows, list->n, sizeof *list->rows, by_comm);
    for (size_t i = 0; i < list->n && !status;) {
        struct visits sum = list->rows[i];
        while (++i < list->n && list->rows[i].comm == sum.comm) {
            sum.visits += list->rows[i].visits;
            sum.ticks += list->rows[i].ticks;
            sum.synced += list->rows[i].synced;
            sum.sync_ticks += list->rows[i].sync_ticks;
        }
        status = add_wait(local, path, &sum);
    }
    return status;
}

static int add_waits(struct rkc_local *local)
{
    struct list list = {0};
    int status = 0;
    for (uint32_t path = 0; path < local->paths.n_paths && !status; path++)
        status = add_path_waits(local, path, &list);
    free(list.rows);
    return list.failed ? RKC_ENOMEM : status;
}

/* ---- peers ---- */

/* By key, so that equal ones stand together. */
struct counted {
    uint64_t key; /* as in the image; 0: others sent to, 1: others fetched from */
    uint64_t messages, bytes;
};

static int by_key(const void *a, const void *b)
{
    const struct counted *left = a, *right = b;
    return left->key < right->key ? -1 : left->key > right->key;
}

/* The next block of messages, whose slots are all in the view. */
static const struct rkc_peers *next_peers(const struct rkc_local *local,
                                          const struct rkc_block **block)
{
    int broken = 0;
    while ((*block = rkc_view_next(local->view, *block, &broken))) {
        const struct rkc_peers *peers = (const void *)*block;
        if ((*block)->kind == RKC_BLOCK_PEERS && (*block)->bytes >= sizeof *peers &&
            ((*block)->bytes - sizeof *peers) / sizeof *peers->slot > peers->mask)
            return peers;
    }
    return NULL;
}

static void copy_peers(const struct rkc_peers *peers, struct counted *counted, size_t *n)
{
    for (unsigned fetched = 0; fetched < 2; fetched++)
        counted[(*n)++] = (struct counted){fetched, atomic_load(&peers->others[fetched]),
                                           atomic_load(&peers->others_bytes[fetched])};
    for (uint32_t i = 0; i <= peers->mask; i++)
        if (atomic_load(&peers->slot[i].key) > 1)
            counted[(*n)++] = (struct counted){atomic_load(&peers->slot[i].key),
                                               atomic_load(&peers->slot[i].messages),
                                               atomic_load(&peers->slot[i].bytes)};
}

static void add_peer(struct rkc_local *local, const struct counted *sum)
{
    const struct rkc_image_header *header = (const void *)local->view->base;
    int64_t size = atomic_load(&header->size), other = (int64_t)(sum->key >> 1) - 1;
    int32_t own = local->row.rank;
    if (!sum->messages || sum->messages > INT64_MAX || sum->bytes > INT64_MAX || other > INT32_MAX ||
        (size > 0 && other >= size))
        return;
    int fetched = sum->key & 1;
    local->peers[local->n_peers++] =
        (struct rkc_rank_peer){.source = fetched ? (int32_t)other : own,
                               .target = fetched ? own : (int32_t)other,
                               .messages = (int64_t)sum->messages,
                               .bytes = (int64_t)sum->bytes};
}

static int add_peers(struct rkc_local *local)
{
    const struct rkc_peers *peers;
    size_t room = 0, n = 0;
    for (const struct rkc_block *block = NULL; (peers = next_peers(local, &block));)
        room += 3 + (size_t)peers->mask;
    if (!room)
        return 0;
    struct counted *counted = malloc(room * sizeof *counted);
    local->peers = malloc(room * sizeof *local->peers);
    if (!counted || !local->peers) {
        free(counted);
        return RKC_ENOMEM;
    }
    for (const struct rkc_block *block = NULL; (peers = next_peers(local, &block));)
        copy_peers(peers, counted, &n);
    qsort(counted, n, sizeof *counted, by_key);
    for (size_t i = 0; i < n && local->n_peers < RKC_RANK_PEERS_MAX;) {
        struct counted sum = counted[i];
        while (++i < n && counted[i].key == sum.key) {
            sum.messages += counted[i].messages;
            sum.bytes += counted[i].bytes;
        }
        add_peer(local, &sum);
    }
    free(counted);
    return 0;
}

int rkc_local_settle_mpi(struct rkc_local *local)
{
    int status = add_transfers(local);
    if (!status)
        status = add_waits(local);
    return status ? status : add_peers(local);
}
