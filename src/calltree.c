/* calltree.c - everything about a region that the hot path does not do.
 *
 * What one gets wrong here: whatever changes where the thread is, or what is hidden, ends by
 * settling the hot path.
 */
#include "autoconf.h"

#include "calltree.h"
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

uint64_t rkc_tree_rate(void)
{
    return atomic_load_explicit(&tree.rate, memory_order_relaxed);
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
    node->up = parent ? node_at(thread, parent) : NULL;
    node->begin = RKC_NO_BEGIN;
    node->region = region;
    node->depth = depth;
    node->self = rkc_pair(rkc_image_unit(thread->base, node), region);
    node->last = node->follow = rkc_pair(RKC_NIL_UNIT, 0);
    node->min = UINT64_MAX;
    struct rkc_nodes_block *block = thread->nodes;
    atomic_fetch_add_explicit(&rkc_image_header(tree.image)->n_nodes, 1, memory_order_relaxed);
    atomic_store_explicit(&block->block.count,
                          atomic_load_explicit(&block->block.count, memory_order_relaxed) + 1,
                          memory_order_release);
    return node;
}

int rkc_tree_root(struct rkc_thread *thread)
{
    uint64_t mask;
    rkc_thread_change(thread, &mask);
    struct rkc_node *root = make_node(thread, 0, tree.names.root, 0);
    rkc_thread_changed(thread, &mask);
    if (!root)
        return RKC_ENOMEM;
    thread->ring->root = rkc_image_unit(thread->base, root);
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
    rkc_thread_change(thread, &mask);
    unit = add_child(thread, parent, region);
    rkc_thread_changed(thread, &mask);
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
    thread->hidden[thread->n_hidden++] = (struct rkc_hidden){region, thread->hot->open->depth};
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
static void expect(struct rkc_thread *thread, struct rkc_node *parent, const struct rkc_node *child)
{
    uint32_t last = rkc_pair_unit(parent->last);
    uint64_t pair = rkc_pair(rkc_pair_unit(child->self), child->region);
    if (last != RKC_NIL_UNIT && node_at(thread, last)->up == parent)
        node_at(thread, last)->follow = pair;
    parent->last = pair;
}

void rkc_tree_settle(struct rkc_thread *thread)
{
    struct rkc_hot *hot = thread->hot;
    struct rkc_node *open = hot->open;
    int plain = !thread->n_hidden && !open->recursion;
    open->self = rkc_pair(rkc_pair_unit(open->self), plain ? open->region : 0);
    rkc_hot_expect(hot, thread->n_hidden ? rkc_pair(RKC_NIL_UNIT, 0) : open->last);
}

static struct rkc_node *begin(struct rkc_thread *thread, const struct rkc_tree_region *region)
{
    struct rkc_node *open = thread->hot->open;
    if (rkc_gate() & RKC_GATE_PAUSED) {
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
        expect(thread, open, node);
    }
    thread->hot->open = node;
    atomic_signal_fence(memory_order_release);
    atomic_store_explicit(&node->begin, rkc_clock_ticks(), memory_order_relaxed);
    return node;
}

struct rkc_node *rkc_tree_begin(struct rkc_thread *thread, const struct rkc_tree_region *region)
{
    struct rkc_node *node = begin(thread, region);
    rkc_tree_settle(thread);
    return node;
}

/* ---- end ---- */

/* The begin of a visit that is one of a loop of polls moves to the node, as any other's. */
static void leave_loop(struct rkc_thread *thread, struct rkc_node *node)
{
    struct rkc_polls *polls = node->polls ? rkc_image_at(thread->base, node->polls) : NULL;
    if (!polls)
        return;
    atomic_store_explicit(&node->begin, rkc_polls_begin(polls), memory_order_relaxed);
    atomic_store_explicit(&polls->begin, RKC_NO_BEGIN, memory_order_relaxed);
}

/* Commit the open node's visit; without a begin it has no time. */
static void commit(struct rkc_thread *thread, struct rkc_node *node, uint64_t now)
{
    if (atomic_load_explicit(&node->begin, memory_order_relaxed) == RKC_NO_BEGIN)
        leave_loop(thread, node);
    if (atomic_load_explicit(&node->begin, memory_order_relaxed) == RKC_NO_BEGIN)
        now = RKC_NO_BEGIN;
    node->recursion = 0;
    node->self = rkc_pair(rkc_pair_unit(node->self), node->region);
    rkc_hot_end(thread->hot, node, node->region, now);
}

static void close_open(struct rkc_thread *thread, uint64_t now)
{
    struct rkc_node *open = thread->hot->open;
    atomic_fetch_add_explicit(&open->unclosed, 1 + open->recursion, memory_order_relaxed);
    commit(thread, open, now);
}

static int end(struct rkc_thread *thread, uint32_t region, uint64_t now);

/* End `region` although other regions are open inside it. */
static int end_outer(struct rkc_thread *thread, uint32_t region, uint64_t now)
{
    const struct rkc_node *node = thread->hot->open;
    while (node->region != region && node->up)
        node = node->up;
    int recorded = node->region == region && node->up;

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
        while (thread->hot->open->depth > depth)
            close_open(thread, now);
        thread->n_hidden = hidden - 1;
        return 0;
    }
    while (thread->hot->open != node)
        close_open(thread, now);
    while (thread->n_hidden && thread->hidden[thread->n_hidden - 1].depth >= node->depth)
        thread->n_hidden--;
    return end(thread, region, now);
}

static int end(struct rkc_thread *thread, uint32_t region, uint64_t now)
{
    struct rkc_node *open = thread->hot->open;
    while (thread->n_hidden && thread->hidden[thread->n_hidden - 1].depth > open->depth)
        thread->n_hidden--;
    if (thread->n_hidden && thread->hidden[thread->n_hidden - 1].depth == open->depth) {
        if (thread->hidden[thread->n_hidden - 1].region != region)
            return end_outer(thread, region, now);
        thread->n_hidden--;
        return 0;
    }
    if ((open->region == region && open->up) || open->region == tree.names.deep) {
        if (open->recursion)
            open->recursion--;
        else
            commit(thread, open, now);
        return 0;
    }
    return end_outer(thread, region, now);
}

int rkc_tree_end(struct rkc_thread *thread, uint32_t region, uint64_t now)
{
    int status = end(thread, region, now);
    rkc_tree_settle(thread);
    return status;
}

void rkc_tree_close(struct rkc_thread *thread, uint64_t now)
{
    struct rkc_node *root = node_at(thread, thread->ring->root);
    while (thread->hot->open != root)
        close_open(thread, now);
    thread->n_hidden = 0;
    commit(thread, root, now);
    thread->hot->open = root;
    rkc_private_fold(thread);
}
