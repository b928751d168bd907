/* calltree.c - everything about a region that the hot path does not do.
 *
 * What one gets wrong here: a node's sums are never changed in place. The fold writes the
 * copy that is not in force and makes it the one by the release store of `applied`, last;
 * whoever reads meanwhile, or after a kill, sees one whole copy or the other.
 */
#include "autoconf.h"

#include "calltree.h"

#include <string.h>

#include "hot.h"

enum {
    CHILDREN_LISTED = 8,    /* more children than this get an index */
    NOTES_MAX = 256,        /* kinds of note for different regions */
};

/* The first pair of readings after the start is taken soon, to be good for short runs;
 * the later ones each second. */
static const int64_t SOON_NS = 10000000, LATER_NS = 1000000000;

static struct {
    struct rkc_image *image;
    struct rkc_tree_names names;
    _Atomic uint64_t rate;
    _Atomic uint64_t calibrate_at; /* ticks */
    _Atomic uint32_t notes; /* unit of the newest note */
    uint32_t n_notes;
} tree;

static uint64_t ticks_of(int64_t ns, uint64_t rate)
{
    return (uint64_t)(((rkc_u128)ns << 56) / rate);
}

void rkc_tree_init(struct rkc_image *image, const struct rkc_tree_names *names, uint64_t rate)
{
    tree.image = image;
    tree.names = *names;
    atomic_store(&tree.notes, 0);
    tree.n_notes = 0;
    atomic_store(&tree.rate, rate);
    atomic_store(&tree.calibrate_at, rkc_clock_ticks() + ticks_of(SOON_NS, rate));
}

void rkc_tree_calibrate(int force)
{
    uint64_t rate = atomic_load_explicit(&tree.rate, memory_order_relaxed);
    uint64_t due = atomic_load_explicit(&tree.calibrate_at, memory_order_relaxed);
    uint64_t now = rkc_clock_ticks();
    if (!force && now < due)
        return;
    if (!atomic_compare_exchange_strong(&tree.calibrate_at, &due, now + ticks_of(LATER_NS, rate)))
        return;
    struct rkc_image_header *header = rkc_image_header(tree.image);
    uint32_t n = atomic_load_explicit(&header->clock.n, memory_order_relaxed);
    struct rkc_clock_pair *pair = &header->clock.pair[1 + n % 2];
    rkc_clock_read(pair);
    atomic_store_explicit(&header->clock.n, n + 1, memory_order_release);
    rate = rkc_clock_rate(&header->clock.pair[0], pair);
    if (rate)
        atomic_store_explicit(&tree.rate, rate, memory_order_relaxed);
}

static void count(_Atomic uint64_t *counter)
{
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

/* ---- notes ---- */

static struct rkc_note_block *find_note(enum rkc_note_kind kind, uint32_t region)
{
    uint32_t unit = atomic_load_explicit(&tree.notes, memory_order_acquire);
    while (unit) {
        struct rkc_note_block *note = rkc_image_at(tree.image->base, unit);
        if (note->kind == kind && note->region == region)
            return note;
        unit = note->next;
    }
    return NULL;
}

static struct rkc_note_block *add_note(enum rkc_note_kind kind, uint32_t region)
{
    if (tree.n_notes >= NOTES_MAX && region)
        return find_note(kind, 0) ? find_note(kind, 0) : add_note(kind, 0);
    struct rkc_note_block *note =
        rkc_image_block(tree.image, RKC_BLOCK_NOTE, sizeof *note);
    if (!note)
        return NULL;
    note->kind = kind;
    note->region = region;
    note->next = atomic_load_explicit(&tree.notes, memory_order_relaxed);
    rkc_image_publish(&note->block);
    atomic_store_explicit(&tree.notes, rkc_image_unit(tree.image->base, note),
                          memory_order_release);
    tree.n_notes++;
    return note;
}

void rkc_tree_note(enum rkc_note_kind kind, uint32_t region, uint64_t n)
{
    struct rkc_note_block *note = find_note(kind, region);
    if (!note) {
        rkc_thread_lock();
        note = find_note(kind, region);
        if (!note)
            note = add_note(kind, region);
        rkc_thread_unlock();
    }
    if (note)
        atomic_fetch_add_explicit(&note->count, n, memory_order_relaxed);
}

/* ---- nodes ---- */

static struct rkc_node *node_at(const struct rkc_thread *thread, uint32_t unit)
{
    return rkc_image_at(thread->base, unit);
}

/* Room for one more node of this thread, zeroed, not yet counted in its block. */
static struct rkc_node *take_node(struct rkc_thread *thread)
{
    struct rkc_nodes_block *block = thread->nodes;
    if (!block || atomic_load_explicit(&block->block.count, memory_order_relaxed) ==
                      RKC_NODES_PER_BLOCK) {
        rkc_thread_lock();
        block = rkc_image_block(tree.image, RKC_BLOCK_NODES, sizeof *block);
        rkc_thread_unlock();
        if (!block)
            return NULL;
        thread->nodes = block;
    }
    return &block->node[atomic_load_explicit(&block->block.count, memory_order_relaxed)];
}

static struct rkc_node *make_node(struct rkc_thread *thread, uint32_t parent, uint32_t region,
                                  uint32_t depth)
{
    struct rkc_node *node = take_node(thread);
    if (!node)
        return NULL;
    node->parent = parent;
    node->region = region;
    node->depth = depth;
    node->last = node->follow = RKC_NIL_UNIT;
    struct rkc_nodes_block *block = thread->nodes;
    atomic_fetch_add_explicit(&rkc_image_header(tree.image)->n_nodes, 1, memory_order_relaxed);
    atomic_store_explicit(&block->block.count,
                          atomic_load_explicit(&block->block.count, memory_order_relaxed) + 1,
                          memory_order_release);
    return node;
}

int rkc_tree_root(struct rkc_thread *thread)
{
    struct rkc_node *root = make_node(thread, 0, tree.names.root, 0);
    if (!root)
        return RKC_ENOMEM;
    thread->ring->root = rkc_image_unit(thread->base, root);
    atomic_store_explicit(&thread->ring->open, thread->ring->root, memory_order_release);
    return 0;
}

/* ---- children ---- */

static struct rkc_index_block *index_at(const struct rkc_thread *thread, uint32_t unit)
{
    return unit ? rkc_image_at(thread->base, unit) : NULL;
}

static uint32_t hash_region(uint32_t region)
{
    return (region * 0x9e3779b1u) >> 7;
}

static void index_put(struct rkc_thread *thread, struct rkc_index_block *index, uint32_t unit)
{
    uint32_t slot = hash_region(node_at(thread, unit)->region) & index->mask;
    while (index->slot[slot])
        slot = (slot + 1) & index->mask;
    index->slot[slot] = unit;
}

/* Make, or make bigger, the index of a node's children. Without memory the list serves. */
static void build_index(struct rkc_thread *thread, struct rkc_node *parent)
{
    uint32_t slots = 4 * CHILDREN_LISTED;
    while (slots < 4 * parent->children)
        slots *= 2;
    rkc_thread_lock();
    struct rkc_index_block *index =
        rkc_image_block(tree.image, RKC_BLOCK_INDEX, sizeof *index + slots * sizeof(uint32_t));
    rkc_thread_unlock();
    if (!index) {
        parent->index = 0;
        return;
    }
    index->mask = slots - 1;
    for (uint32_t unit = parent->child; unit; unit = node_at(thread, unit)->next)
        index_put(thread, index, unit);
    rkc_image_publish(&index->block);
    parent->index = rkc_image_unit(thread->base, index);
}

static uint32_t find_child(struct rkc_thread *thread, const struct rkc_node *parent,
                           uint32_t region)
{
    if (!parent->index) {
        uint32_t unit = parent->child;
        while (unit && node_at(thread, unit)->region != region)
            unit = node_at(thread, unit)->next;
        return unit;
    }
    const struct rkc_index_block *index = index_at(thread, parent->index);
    uint32_t slot = hash_region(region) & index->mask;
    while (index->slot[slot] && node_at(thread, index->slot[slot])->region != region)
        slot = (slot + 1) & index->mask;
    return index->slot[slot];
}

static uint32_t add_child(struct rkc_thread *thread, struct rkc_node *parent, uint32_t region)
{
    struct rkc_node *child = make_node(thread, rkc_image_unit(thread->base, parent), region,
                                       parent->depth + 1);
    if (!child)
        return 0;
    uint32_t unit = rkc_image_unit(thread->base, child);
    child->next = parent->child;
    parent->child = unit;
    parent->children++;
    struct rkc_index_block *index = index_at(thread, parent->index);
    if (index && 2 * parent->children <= index->mask + 1)
        index_put(thread, index, unit);
    else if (parent->children > CHILDREN_LISTED)
        build_index(thread, parent);
    return unit;
}

/* The child of `parent` for `region`, made if the limits allow; 0 if they do not. */
static uint32_t child_of(struct rkc_thread *thread, struct rkc_node *parent, uint32_t region)
{
    uint32_t unit = find_child(thread, parent, region);
    if (unit)
        return unit;
    const struct rkc_image_header *header = rkc_image_header(tree.image);
    int own = region == tree.names.deep || region == tree.names.other;
    /* The last one is kept for "(other)". */
    if (!own && atomic_load_explicit(&header->n_nodes, memory_order_relaxed) >= RKC_NODES_MAX - 1)
        return 0;
    uint64_t mask;
    rkc_thread_signals_block(&mask);
    unit = add_child(thread, parent, region);
    rkc_thread_signals_restore(&mask);
    return unit;
}

/* ---- begin ---- */

/* Remember a begin that is not recorded, so that its end is not taken for another's. */
static void hide(struct rkc_thread *thread, uint32_t region)
{
    if (thread->n_hidden == thread->cap_hidden && rkc_thread_grow_hidden(thread) != 0) {
        count(&rkc_image_header(tree.image)->lost);
        return;
    }
    thread->hidden[thread->n_hidden++] =
        (struct rkc_hidden){region, rkc_hot_open(thread)->depth};
    atomic_fetch_or_explicit(&thread->gate, RKC_GATE_HIDDEN, memory_order_relaxed);
}

/* Count a visit that finds no node of its own. */
static void begin_other(struct rkc_thread *thread, uint32_t region)
{
    struct rkc_image_header *header = rkc_image_header(tree.image);
    uint32_t unit = child_of(thread, node_at(thread, thread->ring->root), tree.names.other);
    count(unit ? &node_at(thread, unit)->inner : &header->lost);
    count(&header->overnodes);
    hide(thread, region);
}

/* Make the hot path find this child next time; not if its visits must be looked at. */
static void expect(struct rkc_thread *thread, struct rkc_node *parent, uint32_t unit)
{
    struct rkc_node *last = node_at(thread, parent->last);
    if (parent->last != RKC_NIL_UNIT && last->parent == rkc_image_unit(thread->base, parent))
        last->follow = unit;
    parent->last = unit;
}

struct rkc_node *rkc_tree_begin(struct rkc_thread *thread, const struct rkc_tree_region *region)
{
    struct rkc_node *open = rkc_hot_open(thread);
    if (atomic_load_explicit(&thread->gate, memory_order_relaxed) & RKC_GATE_PAUSED) {
        hide(thread, region->unit);
        return NULL;
    }
    int deep = open->region == tree.names.deep;
    if (deep)
        count(&rkc_image_header(tree.image)->overdeep);
    if (deep || open->region == region->unit) {
        open->recursion++;
        count(&open->inner);
        return NULL;
    }
    uint32_t wanted = region->unit;
    if (open->depth >= RKC_DEPTH_MAX) {
        wanted = tree.names.deep;
        count(&rkc_image_header(tree.image)->overdeep);
    }
    uint32_t unit = child_of(thread, open, wanted);
    if (!unit) {
        begin_other(thread, region->unit);
        return NULL;
    }
    struct rkc_node *node = node_at(thread, unit);
    if (region->every > 1 && wanted == region->unit) {
        if (node->turn++ % region->every != 0) {
            count(&node->sampled_out);
            hide(thread, region->unit);
            return NULL;
        }
    } else {
        expect(thread, open, unit);
    }
    node->begin = rkc_clock_ticks();
    atomic_store_explicit(&thread->ring->open, unit, memory_order_release);
    return node;
}

/* ---- end ---- */

static void unhide(struct rkc_thread *thread, uint32_t n)
{
    thread->n_hidden = n;
    if (n == 0)
        atomic_fetch_and_explicit(&thread->gate, ~(uint32_t)RKC_GATE_HIDDEN, memory_order_relaxed);
}

/* Commit the open node's visit. A clock that went backwards gives it no time. */
static void commit(struct rkc_thread *thread, struct rkc_node *node, uint64_t now)
{
    if ((int64_t)(now - node->begin) < 0) {
        count(&rkc_image_header(tree.image)->clock_back);
        now = node->begin;
    }
    node->recursion = 0;
    rkc_hot_end(thread, node, now);
}

static void close_open(struct rkc_thread *thread, uint64_t now)
{
    struct rkc_node *open = rkc_hot_open(thread);
    atomic_fetch_add_explicit(&open->unclosed, 1 + open->recursion, memory_order_relaxed);
    commit(thread, open, now);
}

/* End `region` although other regions are open inside it. */
static int end_outer(struct rkc_thread *thread, uint32_t region, uint64_t now)
{
    const struct rkc_node *node = rkc_hot_open(thread);
    while (node->region != region && node->parent)
        node = node_at(thread, node->parent);
    int recorded = node->region == region && node->parent;

    uint32_t hidden = thread->n_hidden;
    while (hidden && thread->hidden[hidden - 1].region != region)
        hidden--;
    if (!recorded && !hidden) {
        rkc_tree_note(RKC_NOTE_END_WITHOUT_BEGIN, region, 1);
        return RKC_ENOTOPEN;
    }
    rkc_tree_note(RKC_NOTE_END_CROSSING, region, 1);
    if (hidden && (!recorded || thread->hidden[hidden - 1].depth >= node->depth)) {
        uint32_t depth = thread->hidden[hidden - 1].depth;
        while (rkc_hot_open(thread)->depth > depth)
            close_open(thread, now);
        unhide(thread, hidden - 1);
        return 0;
    }
    while (rkc_hot_open(thread) != node)
        close_open(thread, now);
    while (thread->n_hidden && thread->hidden[thread->n_hidden - 1].depth >= node->depth)
        unhide(thread, thread->n_hidden - 1);
    return rkc_tree_end(thread, region, now);
}

int rkc_tree_end(struct rkc_thread *thread, uint32_t region, uint64_t now)
{
    struct rkc_node *open = rkc_hot_open(thread);
    while (thread->n_hidden && thread->hidden[thread->n_hidden - 1].depth > open->depth)
        unhide(thread, thread->n_hidden - 1);
    if (thread->n_hidden && thread->hidden[thread->n_hidden - 1].depth == open->depth) {
        if (thread->hidden[thread->n_hidden - 1].region != region)
            return end_outer(thread, region, now);
        unhide(thread, thread->n_hidden - 1);
        return 0;
    }
    if ((open->region == region && open->parent) || open->region == tree.names.deep) {
        if (open->recursion)
            open->recursion--;
        else
            commit(thread, open, now);
        return 0;
    }
    return end_outer(thread, region, now);
}

void rkc_tree_close(struct rkc_thread *thread, uint64_t now)
{
    while (rkc_hot_open(thread)->parent)
        close_open(thread, now);
    unhide(thread, 0);
    commit(thread, rkc_hot_open(thread), now);
    atomic_store_explicit(&thread->ring->open, thread->ring->root, memory_order_release);
    rkc_private_fold(thread);
}

/* ---- fold ---- */

/* Carry a full bucket into its upper half. */
static void carry(struct rkc_node *node, unsigned bucket)
{
    struct rkc_high_block *high;
    if (!node->high) {
        rkc_thread_lock();
        high = rkc_image_block(tree.image, RKC_BLOCK_HIGH, sizeof *high);
        rkc_thread_unlock();
        if (!high)
            return;
        high->node = rkc_image_unit(tree.image->base, node);
        rkc_image_publish(&high->block);
        node->high = rkc_image_unit(tree.image->base, high);
    }
    high = rkc_image_at(tree.image->base, node->high);
    high->hist[bucket]++;
}

/* A node's sums while the fold is at records of this node. */
struct running {
    struct rkc_node *node;
    uint32_t unit;
    unsigned side; /* of the copy in force */
    uint64_t visits, sum, min, max;
    rkc_u128 square;
};

static inline void turn_to(struct running *now, struct rkc_node *node, uint32_t unit)
{
    const struct rkc_node_sums *sums = rkc_node_current(node);
    now->node = node;
    now->unit = unit;
    now->side = sums != node->sums;
    now->visits = sums->visits;
    now->sum = sums->sum;
    now->min = sums->visits ? sums->min : UINT64_MAX;
    now->max = sums->max;
    now->square = (rkc_u128)sums->square_high << 64 | sums->square_low;
}

static inline void apply(struct running *now, uint64_t ticks, uint64_t number, uint64_t rate)
{
    struct rkc_node *node = now->node;
    unsigned bucket = rkc_time_bucket((uint64_t)((rkc_u128)ticks * rate >> 56));
    uint32_t in_bucket = node->hist[bucket] + 1;
    struct rkc_node_sums *to = &node->sums[now->side ^= 1];
    now->square += (rkc_u128)ticks * ticks;
    to->visits = ++now->visits;
    to->sum = now->sum += ticks;
    to->min = now->min = ticks < now->min ? ticks : now->min;
    to->max = now->max = ticks > now->max ? ticks : now->max;
    to->square_low = (uint64_t)now->square;
    to->square_high = (uint64_t)(now->square >> 64);
    to->redo = (uint64_t)bucket << 32 | in_bucket;
    if (RKC_UNLIKELY(in_bucket == 0))
        carry(node, bucket);
    atomic_store_explicit(&to->applied, number, memory_order_release);
    atomic_thread_fence(memory_order_release); /* a bucket must not be ahead of its redo */
    node->hist[bucket] = in_bucket;
}

void rkc_private_fold(struct rkc_thread *thread)
{
    uint64_t mask;
    rkc_thread_signals_block(&mask);
    struct rkc_ring *ring = thread->ring;
    uint64_t rate = atomic_load_explicit(&tree.rate, memory_order_relaxed);
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    struct running now = {.unit = 0};
    for (; (int64_t)(head - tail) > 0; tail++) {
        const struct rkc_record *record = &ring->record[tail % RKC_RING_RECORDS];
        if (record->node != now.unit)
            turn_to(&now, rkc_image_at(thread->base, record->node), record->node);
        apply(&now, record->ticks, tail + 1, rate);
    }
    atomic_store_explicit(&ring->tail, tail, memory_order_release);
    rkc_tree_calibrate(0);
    rkc_thread_signals_restore(&mask);
}
