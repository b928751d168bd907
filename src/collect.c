/* collect.c - one pass over the blocks finds regions and nodes, a second one the rings.
 * Nothing in the image is changed: what is still in a ring is added to copies, and skipped
 * where a node's `applied` says that it has it already; the histogram may have it before. What was
 * open is in collect_open.c, what is made of the nodes then in local.c and local_mpi.c. Every unit
 * and count is checked: an image may be cut short or hostile.
 */
#include "autoconf.h"

#include "collect.h"

#include <stdlib.h>
#include <string.h>

#include <rankclock/region.h>

struct collector {
    struct rkc_local *local;
    const struct rkc_view *view;
    const struct rkc_image_header *header;
    uint32_t *index_of;  /* by unit: 1 + index of the node, or of the region */
    int broken, failed;
};

static uint32_t units_of(const struct rkc_view *view)
{
    return (uint32_t)(view->bytes / RKC_UNIT);
}

/* ---- clock ---- */

/* The rate from the two pairs furthest apart; 0 when the image has one pair alone. */
static uint64_t image_rate(const struct rkc_image_header *header)
{
    uint32_t n = atomic_load_explicit(&header->clock.n, memory_order_acquire);
    uint64_t rate = 0;
    if (atomic_load_explicit(&header->clock.ended, memory_order_acquire))
        rate = rkc_clock_rate(&header->clock.pair[0], &header->clock.end);
    if (!rate && n >= 2)
        rate = rkc_clock_rate(&header->clock.pair[0], &header->clock.pair[1 + (n - 1) % 2]);
    return rate;
}

/* The last instant that the image knows of, in ticks. */
static uint64_t last_ticks(const struct rkc_image_header *header)
{
    uint32_t n = atomic_load_explicit(&header->clock.n, memory_order_acquire);
    if (atomic_load_explicit(&header->clock.ended, memory_order_acquire))
        return header->clock.end.ticks;
    return header->clock.pair[n >= 2 ? 1 + (n - 1) % 2 : 0].ticks;
}

/* ---- blocks ---- */

static void take_region(struct collector *c, const struct rkc_block *at)
{
    const struct rkc_region_block *block = (const void *)at;
    uint32_t unit = rkc_image_unit(c->view->base, block);
    size_t room = block->block.bytes - sizeof *block;
    if (!atomic_load_explicit(&block->block.count, memory_order_acquire))
        return;
    if (block->name_bytes >= RKC_NAME_MAX || block->file_bytes > room ||
        block->name_bytes + 2 + block->file_bytes > room || block->kind >= RKC_REGION_KINDS ||
        block->text[block->name_bytes] || block->text[block->name_bytes + 1 + block->file_bytes]) {
        c->broken = 1;
        return;
    }
    const char *file = block->text + block->name_bytes + 1;
    int64_t region = rkc_profile_region_get(&c->local->paths, block->kind, block->text,
                                            *file ? file : NULL, block->line);
    if (region < 0) { /* a name that no process of ours gave it, or no memory */
        c->failed |= region == RKC_ENOMEM;
        c->broken = 1;
        return;
    }
    struct rkc_profile_region *known = &c->local->paths.regions[region];
    known->flags = (uint8_t)atomic_load_explicit(&block->flags, memory_order_relaxed);
    known->every = atomic_load_explicit(&block->every, memory_order_relaxed);
    c->index_of[unit] = 1 + (uint32_t)region;
}

static struct rkc_local_node *new_local_node(struct collector *c)
{
    struct rkc_local *local = c->local;
    if (local->n_nodes == local->cap_nodes) {
        uint32_t known = atomic_load_explicit(&c->header->n_nodes, memory_order_relaxed);
        uint32_t cap = local->cap_nodes ? 2 * local->cap_nodes
                       : known && known <= RKC_NODES_MAX ? known
                                                         : 256;
        struct rkc_local_node *bigger = realloc(local->nodes, cap * sizeof *bigger);
        if (!bigger) {
            c->failed = 1;
            return NULL;
        }
        local->nodes = bigger;
        local->cap_nodes = cap;
    }
    struct rkc_local_node *node = &local->nodes[local->n_nodes++];
    *node = (struct rkc_local_node){.parent = UINT32_MAX};
    return node;
}

/* Where a node is in the image. */
static uint32_t unit_of(const struct collector *c, uint32_t index)
{
    return rkc_image_unit(c->view->base, c->local->nodes[index].node);
}

/* The path of a node, made if need be: its parent's path and its region. */
static int64_t path_of(struct collector *c, uint32_t parent_index, uint32_t region)
{
    struct rkc_local *local = c->local;
    uint32_t parent = parent_index == UINT32_MAX ? RKC_NO_PATH : local->nodes[parent_index].path;
    int64_t path = rkc_profile_path_get(&local->paths, parent, region);
    if (path < 0)
        c->failed = 1;
    return path;
}

static void take_sums(struct rkc_local_node *local, const struct rkc_node *node)
{
    const struct rkc_sums *sums = rkc_node_current(node);
    local->visits = sums->visits;
    local->ticks = sums->sum;
    local->min = node->min;
    local->max = node->max;
    local->square = (rkc_u128)sums->square_high << 64 | sums->square_low;
    local->applied = atomic_load_explicit(&sums->applied, memory_order_relaxed);
    local->ahead = rkc_node_ahead(node);
}

/* Add the sums of visits in loops of polls. Returns how many are in them. */
static uint64_t take_folded_polls(struct rkc_local_node *local, const struct rkc_polls *polls)
{
    const struct rkc_sums *sums = rkc_sums_current(polls->sums);
    uint64_t min = atomic_load_explicit(&polls->min, memory_order_relaxed);
    uint64_t max = atomic_load_explicit(&polls->max, memory_order_relaxed);
    local->visits += sums->visits;
    local->ticks += sums->sum;
    local->min = min < local->min ? min : local->min;
    local->max = max > local->max ? max : local->max;
    local->square =
        rkc_u128_add(local->square, (rkc_u128)sums->square_high << 64 | sums->square_low);
    return sums->visits;
}

static void add_ticks(struct rkc_local_node *node, uint64_t ticks);
static int keep_pending(struct rkc_local *local, uint32_t node, uint64_t ticks);

/* All of them, the pending ones too, of which the histogram has the first so many as it is ahead. */
static void take_polls(struct collector *c, struct rkc_local_node *local)
{
    const struct rkc_polls *polls = rkc_local_polls(c->local, local->node);
    if (!polls)
        return;
    uint64_t visits = atomic_load_explicit(&polls->visits, memory_order_acquire);
    uint64_t folded = take_folded_polls(local, polls);
    uint64_t counted = rkc_polls_counted(polls);
    uint64_t pending = visits > folded ? visits - folded : 0;
    pending = pending < RKC_POLLS_PENDING ? pending : RKC_POLLS_PENDING;
    local->polled = folded + pending;
    for (uint64_t i = 0; i < pending; i++) {
        uint64_t ticks = atomic_load_explicit(
            &polls->pending[(folded + i) % RKC_POLLS_PENDING], memory_order_relaxed);
        add_ticks(local, ticks);
        if (folded + i >= counted &&
            keep_pending(c->local, (uint32_t)(local - c->local->nodes), ticks) != 0)
            c->failed = 1;
    }
}

static void take_node(struct collector *c, const struct rkc_node *node)
{
    uint32_t unit = rkc_image_unit(c->view->base, node), parent_index = UINT32_MAX;
    if (node->region >= units_of(c->view) || !c->index_of[node->region] ||
        (node->parent && (node->parent >= unit || !c->index_of[node->parent]))) {
        c->broken = 1;
        return;
    }
    if (node->parent)
        parent_index = c->index_of[node->parent] - 1;
    if (parent_index != UINT32_MAX &&
        (parent_index >= c->local->n_nodes || unit_of(c, parent_index) != node->parent)) {
        c->broken = 1;
        return;
    }
    uint32_t region = c->index_of[node->region] - 1;
    if (region >= c->local->paths.n_regions) {
        c->broken = 1;
        return;
    }
    int64_t path = path_of(c, parent_index, region);
    struct rkc_local_node *local = path < 0 ? NULL : new_local_node(c);
    if (!local)
        return;
    local->node = node;
    local->parent = parent_index;
    local->path = (uint32_t)path;
    local->kind = c->local->paths.regions[region].kind;
    local->wait = c->local->paths.regions[region].flags & RKC_WAIT;
    take_sums(local, node);
    if (rkc_view_moves(c->view)) /* caught in a fold that stands still: the times follow with its end */
        local->visits += local->ahead;
    take_polls(c, local);
    c->index_of[unit] = c->local->n_nodes;
}

static void take_nodes(struct collector *c, const struct rkc_block *at)
{
    const struct rkc_nodes_block *block = (const void *)at;
    uint32_t n = atomic_load_explicit(&block->block.count, memory_order_acquire);
    if (n > RKC_NODES_PER_BLOCK) {
        c->broken = 1;
        return;
    }
    for (uint32_t i = 0; i < n && !c->failed; i++)
        take_node(c, &block->node[i]);
}

static void take_fact(struct collector *c, const struct rkc_block *at)
{
    const struct rkc_fact_block *block = (const void *)at;
    size_t room = block->block.bytes - sizeof *block;
    size_t key = strnlen(block->text, room);
    if (!atomic_load_explicit(&block->block.count, memory_order_acquire))
        return;
    if (key + 1 >= room || key + 1 + strnlen(block->text + key + 1, room - key - 1) >= room) {
        c->broken = 1;
        return;
    }
    if (rkc_job_set(&c->local->job, block->text, block->text + key + 1) != 0)
        c->failed = 1;
}

static void take_note(struct collector *c, const struct rkc_block *at)
{
    const struct rkc_note_block *block = (const void *)at;
    uint32_t region = RKC_NO_PATH;
    if (!atomic_load_explicit(&block->block.count, memory_order_acquire))
        return;
    if (block->kind >= RKC_NOTES || block->region >= units_of(c->view)) {
        c->broken = 1;
        return;
    }
    if (block->region && c->index_of[block->region] &&
        c->index_of[block->region] <= c->local->paths.n_regions)
        region = c->index_of[block->region] - 1;
    uint64_t count = atomic_load_explicit(&block->count, memory_order_relaxed);
    if (count && rkc_profile_note_add(&c->local->paths, block->kind, region, c->local->row.rank,
                                      count < INT64_MAX ? (int64_t)count : INT64_MAX, NULL) != 0)
        c->failed = 1;
}

/* A text of the image that may lack its end. */
static void copy_text(struct collector *c, char *to, size_t room, const char *from, size_t size)
{
    size_t length = strnlen(from, size);
    if (length == size)
        c->broken = 1;
    length = length < room ? length : room - 1;
    memcpy(to, from, length);
    to[length] = 0;
}

static void take_device(struct collector *c, const struct rkc_block *at)
{
    const struct rkc_device_block *block = (const void *)at;
    struct rkc_local *local = c->local;
    if (!atomic_load_explicit(&block->block.count, memory_order_acquire))
        return;
    if (!local->devices)
        local->devices = calloc(RKC_RANK_DEVICES_MAX, sizeof *local->devices);
    if (!local->devices) {
        c->failed = 1;
        return;
    }
    if (local->row.n_devices == RKC_RANK_DEVICES_MAX) {
        local->devices_left_out++;
        return;
    }
    struct rkc_rank_device *device = &local->devices[local->row.n_devices++];
    device->index = block->index;
    device->driver_version = block->driver_version;
    device->numa_node = block->numa_node < -1 ? -1 : block->numa_node;
    device->rank_numa_node = block->rank_numa_node < -1 ? -1 : block->rank_numa_node;
    device->covered_ns = rkc_local_count(&block->covered_ns);
    device->ns = rkc_local_count(&block->ns);
    copy_text(c, device->uuid, sizeof device->uuid, block->uuid, sizeof block->uuid);
    copy_text(c, device->bus_id, sizeof device->bus_id, block->bus_id, sizeof block->bus_id);
    copy_text(c, device->name, sizeof device->name, block->name, sizeof block->name);
}

static int big_enough(const struct rkc_block *block)
{
    static const size_t least[RKC_BLOCK_KINDS] = {
        [RKC_BLOCK_REGION] = sizeof(struct rkc_region_block) + 2,
        [RKC_BLOCK_THREAD] = sizeof(struct rkc_ring),
        [RKC_BLOCK_NODES] = sizeof(struct rkc_nodes_block),
        [RKC_BLOCK_TRAFFIC] = sizeof(struct rkc_traffic),
        [RKC_BLOCK_HIGH] = sizeof(struct rkc_high_block),
        [RKC_BLOCK_NOTE] = sizeof(struct rkc_note_block),
        [RKC_BLOCK_DEVICE] = sizeof(struct rkc_device_block),
    };
    return block->kind < RKC_BLOCK_KINDS && block->bytes >= least[block->kind];
}

/* Call `take` for each block of a kind. */
static void each_block(struct collector *c, enum rkc_block_kind kind,
                       void (*take)(struct collector *, const struct rkc_block *))
{
    const struct rkc_block *block = NULL;
    while (!c->failed && (block = rkc_view_next(c->view, block, &c->broken))) {
        if (block->kind != kind)
            continue;
        if (big_enough(block))
            take(c, block);
        else
            c->broken = 1;
    }
}

/* ---- rings ---- */

/* The node at a unit, or NULL. */
static struct rkc_local_node *node_at(const struct collector *c, uint32_t unit)
{
    if (unit >= units_of(c->view) || !c->index_of[unit] ||
        c->index_of[unit] > c->local->n_nodes)
        return NULL;
    uint32_t index = c->index_of[unit] - 1;
    return unit_of(c, index) == unit ? &c->local->nodes[index] : NULL;
}

/* The node at an address in the process that wrote the image, or NULL. */
static struct rkc_local_node *node_of(const struct collector *c, uint64_t address)
{
    uint64_t offset = address - c->header->base;
    return offset < c->view->bytes && offset % RKC_UNIT == 0
               ? node_at(c, (uint32_t)(offset / RKC_UNIT))
               : NULL;
}

static void add_ticks(struct rkc_local_node *node, uint64_t ticks)
{
    node->visits++;
    node->ticks += ticks;
    node->min = ticks < node->min ? ticks : node->min;
    node->max = ticks > node->max ? ticks : node->max;
    node->square = rkc_u128_add(node->square, (rkc_u128)ticks * ticks);
}

static int keep_pending(struct rkc_local *local, uint32_t node, uint64_t ticks)
{
    if (local->n_pending == local->cap_pending) {
        uint32_t cap = local->cap_pending ? 2 * local->cap_pending : 256;
        struct rkc_local_pending *bigger = realloc(local->pending, cap * sizeof *bigger);
        if (!bigger)
            return RKC_ENOMEM;
        local->pending = bigger;
        local->cap_pending = cap;
    }
    local->pending[local->n_pending++] = (struct rkc_local_pending){node, ticks};
    return 0;
}

static void add_record(struct collector *c, struct rkc_local_node *node,
                       const struct rkc_record *record)
{
    uint64_t ticks = (int64_t)record->ticks < 0 ? 0 : record->ticks;
    c->local->clock_back += (int64_t)record->ticks < 0;
    add_ticks(node, ticks);
    if (node->ahead > 0)
        node->ahead--;
    else if (keep_pending(c->local, (uint32_t)(node - c->local->nodes), ticks) != 0)
        c->failed = 1;
}

/* The visit that was ending: no longer open, and not yet before the ring's head. */
static void add_ending(struct collector *c, const struct rkc_ring *ring, uint64_t head)
{
    const struct rkc_record *record = &ring->record[head % RKC_RING_RECORDS];
    struct rkc_local_node *node = node_of(c, rkc_record_node(record));
    uint64_t address = atomic_load_explicit(&record->node, memory_order_relaxed);
    if (node && (address & 1) == rkc_record_round(head) &&
        rkc_local_begin(c->local, node) == RKC_NO_BEGIN)
        add_record(c, node, record);
}

static void add_pending(struct collector *c, const struct rkc_ring *ring)
{
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
    if (rkc_view_moves(c->view) || head - tail > RKC_RING_RECORDS)
        return;
    for (; tail != head; tail++) {
        const struct rkc_record *record = &ring->record[tail % RKC_RING_RECORDS];
        struct rkc_local_node *node = node_of(c, rkc_record_node(record));
        if (!node)
            c->broken = 1;
        else if (tail + 1 > node->applied)
            add_record(c, node, record);
    }
    add_ending(c, ring, head);
}

static void take_ring(struct collector *c, const struct rkc_block *block)
{
    const struct rkc_ring *ring = (const void *)block;
    struct rkc_local_node *root = node_at(c, ring->root);
    if (!atomic_load_explicit(&ring->block.count, memory_order_acquire))
        return;
    if (!root || root->parent != UINT32_MAX) {
        c->broken = 1;
        return;
    }
    uint64_t uses = atomic_load_explicit(&ring->uses, memory_order_relaxed);
    if (uses > (uint64_t)(INT32_MAX - c->local->row.threads)) {
        c->broken = 1;
        uses = 0;
    }
    c->local->row.threads += (int32_t)uses;
    add_pending(c, ring);
    root->is_open = atomic_load_explicit(&ring->live, memory_order_acquire) != 0;
}

/* ---- the whole ---- */

static void fill_identity(struct collector *c, int32_t rank)
{
    struct rkc_rank_row *row = &c->local->row;
    const struct rkc_image_header *header = c->header;
    int32_t known = atomic_load(&header->rank);
    *row = (struct rkc_rank_row){
        .rank = known < 0 ? rank : known,
        .pid = header->pid,
        .local_rank = atomic_load(&header->local_rank),
        .cpu = atomic_load(&header->cpu),
        .signal = atomic_load(&header->signal),
        .open_path = RKC_NO_PATH,
    };
    uint32_t state = atomic_load(&header->state);
    row->state = state < RKC_STATES ? (int32_t)state : RKC_STATE_RUNNING;
    memcpy(row->node, header->host, sizeof row->node - 1);
}

static int collect(struct collector *c, int32_t rank)
{
    struct rkc_local *local = c->local;
    fill_identity(c, rank);
    c->index_of = calloc(units_of(c->view) + 1, sizeof *c->index_of);
    if (!c->index_of)
        return RKC_ENOMEM;
    local->rate = image_rate(c->header);
    if (!local->rate)
        local->rate = c->header->clock.quick_rate ? c->header->clock.quick_rate : UINT64_C(1) << 56;
    local->end_ticks = last_ticks(c->header);

    /* A block of nodes is filled over time: its nodes may be of regions that come behind it. */
    each_block(c, RKC_BLOCK_REGION, take_region);
    each_block(c, RKC_BLOCK_FACT, take_fact);
    each_block(c, RKC_BLOCK_NODES, take_nodes);
    each_block(c, RKC_BLOCK_NOTE, take_note);
    each_block(c, RKC_BLOCK_THREAD, take_ring);
    each_block(c, RKC_BLOCK_DEVICE, take_device);
    if (rkc_local_add_open(local) != 0)
        c->failed = 1;
    free(c->index_of); /* what follows finds room there */
    c->index_of = NULL;
    local->broken = c->broken;
    local->approximate = !image_rate(c->header);
    if (!c->failed && rkc_local_settle(local) != 0)
        c->failed = 1;
    if (!c->failed && rkc_profile_ranks_add(&local->paths, local->row.rank, local->row.rank) != 0)
        c->failed = 1;
    if (c->failed)
        return RKC_ENOMEM;
    return local->paths.n_paths ? 0 : RKC_EFORMAT;
}

int rkc_local_collect(struct rkc_local *local, const struct rkc_view *view, int32_t rank)
{
    *local = (struct rkc_local){.view = view};
    rkc_profile_init(&local->paths, 0);
    rkc_job_init(&local->job);
    struct collector c = {.local = local, .view = view, .header = (const void *)view->base};
    int status = collect(&c, rank);
    free(c.index_of);
    if (status)
        rkc_local_free(local);
    return status;
}
