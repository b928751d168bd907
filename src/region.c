/* region.c - names are compared only when they are first seen or when a region is begun or
 * ended by name; everything else knows a region by the unit of its block in the image. */
#include "autoconf.h"

#include "region.h"

#include <stddef.h>
#include <string.h>

#include "hot.h"
#include "log.h"

/* MPI functions are names, too, but have room of their own once the program's names have run out:
 * their time must not be taken for the program's. */
enum { MPI_NAMES_MAX = 1024, HANDLES = RKC_NAMES_MAX + MPI_NAMES_MAX };

/* How many slots the table of names has, at first and at most. */
enum { FIRST_SLOTS = 1024, SLOTS = 2 * RKC_NAMES_MAX };

_Static_assert(offsetof(struct rkc_region, unit) == 0, "region.h reads it there");

struct rkc_region rkc_region_nothing = {.hot = RKC_NEVER_HOT};

static struct {
    struct rkc_image *image;
    struct rkc_region *other;
    uint32_t n;
    int full; /* said once */
    _Atomic uint32_t slots; /* of the table in use */
    struct rkc_region handle[HANDLES];
    /* 1 + index of the handle. A table of n slots is slot[n] to slot[2 * n - 1], so that memory is
     * touched as names come, and whoever looks while a larger one is made finds the former whole. */
    _Atomic uint16_t slot[2 * SLOTS];
} table;

static uint32_t hash_name(const char *name, size_t length, uint32_t seed)
{
    uint64_t h = (length + seed) * UINT64_C(0x9e3779b97f4a7c15), word;
    for (; length >= sizeof word; length -= sizeof word, name += sizeof word) {
        memcpy(&word, name, sizeof word);
        h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        h ^= h >> 29;
    }
    for (; length; length--, name++)
        h = (h ^ (unsigned char)*name) * UINT64_C(0x9e3779b97f4a7c15);
    h = (h ^ h >> 32) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(h >> 32);
}

/* The handle of a name, or NULL; *slot is where it would go. Needs no lock: a slot is published after
 * its handle and never changes. What comes into a larger table meanwhile is found with the lock. */
static struct rkc_region *find(enum rkc_region_kind kind, const char *name, uint32_t length,
                               uint32_t hash, uint32_t *slot)
{
    uint32_t slots = atomic_load_explicit(&table.slots, memory_order_acquire);
    for (*slot = slots + hash % slots;; *slot = slots + (*slot + 1) % slots) {
        uint16_t index = atomic_load_explicit(&table.slot[*slot], memory_order_acquire);
        if (!index)
            return NULL;
        struct rkc_region *region = &table.handle[index - 1];
        if (region->hash == hash && region->length == length && region->kind == kind &&
            memcmp(region->name, name, length) == 0)
            return region;
    }
}

/* The region's block, complete but for its publication. Lock held. */
static struct rkc_region_block *make_block(enum rkc_region_kind kind, const char *name,
                                           uint32_t length, const char *file, int line)
{
    size_t file_bytes = file ? strnlen(file, 4096) : 0;
    struct rkc_region_block *block = rkc_image_block(
        table.image, RKC_BLOCK_REGION, sizeof *block + length + 1 + file_bytes + 1);
    if (!block)
        return NULL;
    block->kind = (uint8_t)kind;
    block->line = line;
    block->name_bytes = length;
    block->file_bytes = (uint32_t)file_bytes;
    memcpy(block->text, name, length);
    if (file)
        memcpy(block->text + length + 1, file, file_bytes);
    rkc_image_publish(&block->block);
    atomic_fetch_add_explicit(&rkc_image_header(table.image)->n_regions, 1, memory_order_relaxed);
    return block;
}

/* Make a table of twice the slots. Lock held. */
static void grow(void)
{
    uint32_t slots = 2 * atomic_load_explicit(&table.slots, memory_order_relaxed);
    for (uint32_t i = 0; i < table.n; i++) {
        uint32_t slot = slots + table.handle[i].hash % slots;
        while (atomic_load_explicit(&table.slot[slot], memory_order_relaxed))
            slot = slots + (slot + 1) % slots;
        atomic_store_explicit(&table.slot[slot], (uint16_t)(i + 1), memory_order_relaxed);
    }
    atomic_store_explicit(&table.slots, slots, memory_order_release);
}

/* Make the handle of a new name. Lock held; NULL when there is no room. A name that the
 * filters exclude is remembered, too, with unit 0, so that it is not matched again. */
static struct rkc_region *add(enum rkc_region_kind kind, const char *name, uint32_t length,
                              uint32_t hash, uint32_t slot, const char *file, int line)
{
    int own = kind == RKC_REGION_ROOT || kind == RKC_REGION_OTHER;
    if (table.n >= (kind == RKC_REGION_USER ? (uint32_t)RKC_NAMES_MAX : (uint32_t)HANDLES))
        return NULL;
    int wanted = own || rkc_config_wants(rkc_private_config(), name);
    struct rkc_region_block *block = make_block(kind, name, length, file, line);
    if (!block)
        return NULL;
    struct rkc_region *region = &table.handle[table.n];
    region->unit = wanted ? rkc_image_unit(table.image->base, block) : 0;
    region->hot = wanted ? region->unit : RKC_NEVER_HOT;
    region->hash = hash;
    region->name = block->text;
    region->length = length;
    region->kind = (uint8_t)kind;
    atomic_store_explicit(&table.slot[slot], (uint16_t)++table.n, memory_order_release);
    uint32_t slots = atomic_load_explicit(&table.slots, memory_order_relaxed);
    if (2 * table.n > slots && slots < SLOTS)
        grow();
    return region;
}

struct rkc_region *rkc_region_intern(enum rkc_region_kind kind, const char *name, const char *file,
                                     int line)
{
    uint32_t length = (uint32_t)strlen(name), slot;
    uint32_t hash = hash_name(name, length, (uint32_t)kind);
    struct rkc_region *region = find(kind, name, length, hash, &slot);
    if (region)
        return region;
    if (table.full && kind == RKC_REGION_USER)
        return table.other;
    rkc_thread_lock();
    region = find(kind, name, length, hash, &slot);
    if (!region)
        region = add(kind, name, length, hash, slot, file, line);
    int say = !region && !table.full;
    if (!region)
        table.full = 1;
    rkc_thread_unlock();
    if (say)
        rkc_log(RKC_LOG_WARNING, "more than %d region names: the others are counted together as "
                "\"(other)\"; the first is \"%.100s\"", RKC_NAMES_MAX, name);
    return region ? region : table.other;
}

int rkc_region_init(struct rkc_image *image, struct rkc_tree_names *names)
{
    table.image = image;
    table.other = &rkc_region_nothing;
    atomic_store(&table.slots, (uint32_t)FIRST_SLOTS);
    struct rkc_region *root = rkc_region_intern(RKC_REGION_ROOT, "(run)", NULL, 0);
    struct rkc_region *deep = rkc_region_intern(RKC_REGION_OTHER, "(deep)", NULL, 0);
    table.other = rkc_region_intern(RKC_REGION_OTHER, "(other)", NULL, 0);
    *names = (struct rkc_tree_names){root->unit, deep->unit, table.other->unit};
    return root->unit && deep->unit && table.other->unit ? 0 : RKC_ENOMEM;
}

/* ---- the public functions ---- */

static int name_valid(const char *name)
{
    return name && *name && strnlen(name, RKC_NAME_MAX) < RKC_NAME_MAX;
}

static void refuse_name(const char *name)
{
    struct rkc_image *image = rkc_private_image();
    if (atomic_fetch_add(&rkc_image_header(image)->bad_names, 1u) == 0)
        rkc_log(RKC_LOG_WARNING, "region names must have 1 to %d bytes: %s%.60s%s is not recorded",
                RKC_NAME_MAX - 1, name ? "\"" : "", name ? name : "NULL",
                !name ? "" : strlen(name) > 60 ? "…\"" : "\"");
}

struct rkc_region *rkc_region_at(const char *name, const char *file, int line)
{
    if (!rkc_private_start())
        return &rkc_region_nothing;
    if (!name_valid(name)) {
        refuse_name(name);
        return &rkc_region_nothing;
    }
    return rkc_region_intern(RKC_REGION_USER, name, file, line);
}

struct rkc_region *rkc_region_get(const char *name)
{
    return rkc_region_at(name, NULL, 0);
}

struct rkc_region *rkc_private_mpi_region(const char *name)
{
    if (!rkc_private_start() || !rkc_private_config()->mpi)
        return &rkc_region_nothing;
    return rkc_region_intern(RKC_REGION_MPI, name, NULL, 0);
}

struct rkc_node *rkc_private_begin(struct rkc_region *region)
{
    if (!region->unit)
        return NULL;
    struct rkc_thread *thread = rkc_thread_own();
    if (!thread)
        thread = rkc_thread_attach();
    if (!thread)
        return NULL;
    struct rkc_tree_region what = {region->unit,
                                   atomic_load_explicit(&region->every, memory_order_relaxed)};
    return rkc_tree_begin(thread, &what);
}

int rkc_private_end(struct rkc_region *region, uint64_t now)
{
    if (!region->unit)
        return RKC_EOFF;
    struct rkc_thread *thread = rkc_thread_own();
    if (!thread)
        thread = rkc_thread_attach();
    return thread ? rkc_tree_end(thread, region->unit, now) : RKC_EOFF;
}

/* A handle comes from a library that has begun to record, or will not: a gate that is shut stays
 * so. What needs care is called last, so that the hot path saves no register. */
void (rkc_region_begin)(struct rkc_region *region)
{
    uint32_t gate = rkc_gate();
    if (RKC_UNLIKELY(!gate || !region))
        return;
    if (RKC_LIKELY(gate == RKC_GATE_OPEN && rkc_hot_begin(&rkc_private_hot, region->hot)))
        return;
    rkc_private_begin(region);
}

static __attribute__((noinline)) void end_by_clock(struct rkc_region *region)
{
    rkc_private_end(region, rkc_clock_ticks());
}

void (rkc_region_end)(struct rkc_region *region)
{
    struct rkc_hot *hot = &rkc_private_hot;
    uint32_t gate = rkc_gate();
    if (RKC_UNLIKELY(!gate || !region))
        return;
    if (RKC_UNLIKELY(gate != RKC_GATE_OPEN)) {
        end_by_clock(region);
        return;
    }
    uint64_t now = rkc_clock_counter();
    struct rkc_node *node = hot->open;
    if (RKC_LIKELY(rkc_pair_region(node->self) == region->hot))
        rkc_hot_end(hot, node, region->hot, now);
    else
        rkc_private_end(region, now);
}

/* Eight bytes of a name, some of which may lie behind its end. */
__attribute__((no_sanitize("address"))) static inline uint64_t word_at(const char *text)
{
    uint64_t word;
    __builtin_memcpy(&word, text, sizeof word);
    return word;
}

/* strcmp(text, name) == 0 where the length of `text` is known, eight bytes at a time, the last
 * ones perhaps twice. What lies behind the end of `name` may be read with it, but only inside its
 * page. */
__attribute__((no_sanitize("address"))) static inline int same_text(const char *text,
                                                                    const char *name, size_t length)
{
    enum { PAGE = 4096, WORD = sizeof(uint64_t) };
    size_t bytes = length + 1, at = 0;
    if (bytes < WORD || (uintptr_t)name % PAGE + bytes > PAGE)
        return strcmp(text, name) == 0;
    for (; at + WORD < bytes; at += WORD)
        if (word_at(text + at) != word_at(name + at))
            return 0;
    return word_at(text + bytes - WORD) == word_at(name + bytes - WORD);
}

/* Whether the unit is that of the user region of this name, and one timed at each visit. */
static inline int is_named(const struct rkc_hot *hot, uint32_t unit, const char *name)
{
    const struct rkc_region_block *block = rkc_image_at(hot->base, unit);
    return unit > RKC_POLLED && same_text(block->text, name, block->name_bytes) &&
           block->kind == RKC_REGION_USER &&
           atomic_load_explicit(&block->every, memory_order_relaxed) <= 1;
}

/* The status of a name that leads to no recorded region. */
static int find_named(const char *name, struct rkc_region **region)
{
    if (!name_valid(name)) {
        if (rkc_private_start())
            refuse_name(name);
        return RKC_ENAME;
    }
    if (!rkc_private_start())
        return RKC_EOFF;
    *region = rkc_region_intern(RKC_REGION_USER, name, NULL, 0);
    return (*region)->unit ? 0 : RKC_EOFF;
}

int rkc_begin(const char *name)
{
    struct rkc_hot *hot = &rkc_private_hot;
    if (RKC_LIKELY(rkc_hot_ready() && name)) {
        uint32_t unit = hot->next_region;
        if (RKC_UNLIKELY(!is_named(hot, unit, name))) {
            unit = rkc_pair_region(hot->next->follow);
            if (!is_named(hot, unit, name))
                unit = RKC_NEVER_HOT;
        }
        if (RKC_LIKELY(rkc_hot_begin(hot, unit)))
            return 0;
    }
    struct rkc_region *region;
    int status = find_named(name, &region);
    if (status)
        return status;
    rkc_private_begin(region);
    return rkc_thread_own() && !(rkc_gate() & RKC_GATE_PAUSED) ? 0 : RKC_EOFF;
}

int rkc_end(const char *name)
{
    struct rkc_hot *hot = &rkc_private_hot;
    uint64_t now = 0;
    if (RKC_LIKELY(rkc_hot_ready() && name)) {
        now = rkc_clock_counter();
        struct rkc_node *node = hot->open;
        uint32_t unit = rkc_pair_region(node->self);
        if (RKC_LIKELY(is_named(hot, unit, name))) {
            rkc_hot_end(hot, node, unit, now);
            return 0;
        }
    }
    struct rkc_region *region;
    int status = find_named(name, &region);
    return status ? status : rkc_private_end(region, now ? now : rkc_clock_ticks());
}

static struct rkc_region_block *block_of(const struct rkc_region *region)
{
    return rkc_image_at(table.image->base, region->unit);
}

int rkc_region_mark(struct rkc_region *region, unsigned flags)
{
    if (!region || (flags & ~RKC_WAIT))
        return RKC_EARG;
    if (region->unit && rkc_thread_alive())
        atomic_store_explicit(&block_of(region)->flags, flags, memory_order_relaxed);
    return 0;
}

int rkc_region_every(struct rkc_region *region, unsigned n)
{
    if (!region || n == 0)
        return RKC_EARG;
    if (!region->unit || !rkc_thread_alive())
        return 0;
    atomic_store_explicit(&region->every, n, memory_order_relaxed);
    region->hot = n > 1 ? RKC_NEVER_HOT : region->unit;
    atomic_store_explicit(&block_of(region)->every, n, memory_order_relaxed);
    return 0;
}

void rkc_pause(void)
{
    if (rkc_private_start())
        rkc_thread_pause(1);
}

void rkc_resume(void)
{
    rkc_thread_pause(0);
}

const char *rkc_version(void)
{
    return PACKAGE_VERSION;
}
