/* group.c - communicators and windows as the ranks of the world that they consist of.
 *
 * What one gets wrong here: MPI gives a handle out again once it was freed, and frees it itself at
 * times. So what belongs to a handle is an attribute, whose deletion tells; entries are used again
 * but never freed, for another thread may be looking at one through the cache. */
#include "autoconf.h"

#include "group.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

#include "mpi_blocks.h"

enum { CACHE_SLOTS = 64 };

/* Of one kind of handle: what is known of them, and how MPI is asked about one. */
struct kept {
    struct rkc_mpi_group *_Atomic cache[CACHE_SLOTS];
    int keyval; /* MPI_KEYVAL_INVALID until the first use */
    pthread_mutex_t lock; /* while one is looked for that is not in the cache */
    int (*make_key)(int *keyval);
    int (*get)(uint64_t handle, int keyval, void *group, int *found);
    int (*set)(uint64_t handle, int keyval, void *group);
    /* The group of ranks that messages go to; whether it is another than the own. */
    int (*members)(uint64_t handle, MPI_Group *group);
};

static struct kept comms, windows;

static pthread_mutex_t groups_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rkc_mpi_group *free_groups;
static _Atomic int has_world;
static const struct rkc_mpi_group unknown = {.unit = RKC_NIL_UNIT};

void rkc_mpi_group_begin(void)
{
    atomic_store(&has_world, 1);
}

/* ---- entries ---- */

static struct rkc_mpi_group *take_group(void)
{
    pthread_mutex_lock(&groups_lock);
    struct rkc_mpi_group *group = free_groups;
    if (group)
        free_groups = group->next_free;
    pthread_mutex_unlock(&groups_lock);
    return group ? group : calloc(1, sizeof *group);
}

static void give_group(struct rkc_mpi_group *group)
{
    int *world = group->world;
    pthread_mutex_lock(&groups_lock);
    group->handle = 0;
    group->world = NULL;
    group->next_free = free_groups;
    free_groups = group;
    pthread_mutex_unlock(&groups_lock);
    free(world);
}

static struct rkc_mpi_group *_Atomic *slot_of(struct kept *kept, uint64_t handle)
{
    return &kept->cache[(handle * UINT64_C(0x9e3779b97f4a7c15)) >> 58];
}

/* An attribute is deleted: with its communicator or window, most times. */
static int forget(struct kept *kept, struct rkc_mpi_group *group)
{
    struct rkc_mpi_group *expected = group;
    atomic_compare_exchange_strong(slot_of(kept, group->handle), &expected, NULL);
    give_group(group);
    return MPI_SUCCESS;
}

static int forget_comm(MPI_Comm comm, int keyval, void *attribute, void *extra)
{
    (void)comm;
    (void)keyval;
    (void)extra;
    return forget(&comms, attribute);
}

static int forget_window(MPI_Win win, int keyval, void *attribute, void *extra)
{
    (void)win;
    (void)keyval;
    (void)extra;
    return forget(&windows, attribute);
}

/* ---- members ---- */

static uint64_t mix(uint64_t value)
{
    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return value ^ value >> 31;
}

/* The block in the image for the ranks: the same for the same ones in any order. */
static uint32_t unit_of(const struct rkc_mpi_group *group)
{
    uint64_t key = 0;
    int first = INT_MAX;
    for (int i = 0; i < group->n; i++) {
        int rank = rkc_mpi_world_rank(group, i);
        if (rank < 0)
            return RKC_NIL_UNIT;
        key += mix((uint64_t)rank + 1);
        first = rank < first ? rank : first;
    }
    return rkc_private_comm(key, group->n, first);
}

/* Ranks in the world; 0 without memory. */
static int translate(struct rkc_mpi_group *group, MPI_Group from, MPI_Group world)
{
    size_t n = (size_t)group->n;
    int *own = malloc(n * sizeof *own);
    group->world = malloc(n * sizeof *group->world);
    if (!own || !group->world) {
        free(own);
        free(group->world);
        group->world = NULL;
        return 0;
    }
    for (int i = 0; i < group->n; i++)
        own[i] = i;
    PMPI_Group_translate_ranks(from, group->n, own, world, group->world);
    for (int i = 0; i < group->n; i++)
        if (group->world[i] == MPI_UNDEFINED)
            group->world[i] = -1;
    free(own);
    return 1;
}

/* Fill in what `members` says; they are freed. */
static void describe(struct rkc_mpi_group *group, MPI_Group members, int is_other)
{
    MPI_Group world;
    int same = MPI_UNEQUAL;
    group->n = 0;
    group->world = NULL;
    group->unit = RKC_NIL_UNIT;
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Group_size(members, &group->n);
    PMPI_Group_compare(members, world, &same);
    if (group->n > 0 && same != MPI_IDENT && !translate(group, members, world))
        group->n = 0;
    PMPI_Group_free(&world);
    PMPI_Group_free(&members);
    if (group->n > 0 && !is_other)
        group->unit = unit_of(group);
}

/* ---- communicators and windows ---- */

static MPI_Comm comm_of(uint64_t handle)
{
    return (MPI_Comm)(uintptr_t)handle;
}

static int make_comm_key(int *keyval)
{
    return PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget_comm, keyval, NULL);
}

static int get_from_comm(uint64_t handle, int keyval, void *group, int *found)
{
    return PMPI_Comm_get_attr(comm_of(handle), keyval, group, found);
}

static int set_on_comm(uint64_t handle, int keyval, void *group)
{
    return PMPI_Comm_set_attr(comm_of(handle), keyval, group);
}

static int members_of_comm(uint64_t handle, MPI_Group *group)
{
    int is_inter = 0;
    PMPI_Comm_test_inter(comm_of(handle), &is_inter);
    if (is_inter)
        PMPI_Comm_remote_group(comm_of(handle), group);
    else
        PMPI_Comm_group(comm_of(handle), group);
    return is_inter;
}

static struct kept comms = {.keyval = MPI_KEYVAL_INVALID,
                            .lock = PTHREAD_MUTEX_INITIALIZER,
                            .make_key = make_comm_key,
                            .get = get_from_comm,
                            .set = set_on_comm,
                            .members = members_of_comm};

static MPI_Win window_of(uint64_t handle)
{
    return (MPI_Win)(uintptr_t)handle;
}

static int make_window_key(int *keyval)
{
    return PMPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, forget_window, keyval, NULL);
}

static int get_from_window(uint64_t handle, int keyval, void *group, int *found)
{
    return PMPI_Win_get_attr(window_of(handle), keyval, group, found);
}

static int set_on_window(uint64_t handle, int keyval, void *group)
{
    return PMPI_Win_set_attr(window_of(handle), keyval, group);
}

/* Nobody meets in a window. */
static int members_of_window(uint64_t handle, MPI_Group *group)
{
    PMPI_Win_get_group(window_of(handle), group);
    return 1;
}

static struct kept windows = {.keyval = MPI_KEYVAL_INVALID,
                              .lock = PTHREAD_MUTEX_INITIALIZER,
                              .make_key = make_window_key,
                              .get = get_from_window,
                              .set = set_on_window,
                              .members = members_of_window};

/* ---- finding ---- */

static struct rkc_mpi_group *make_group(struct kept *kept, uint64_t handle)
{
    MPI_Group members;
    struct rkc_mpi_group *group = take_group();
    if (!group)
        return NULL;
    int is_other = kept->members(handle, &members);
    describe(group, members, is_other);
    group->handle = handle;
    if (kept->set(handle, kept->keyval, group) == MPI_SUCCESS)
        return group;
    give_group(group);
    return NULL;
}

__attribute__((noinline)) static const struct rkc_mpi_group *find(struct kept *kept,
                                                                  uint64_t handle)
{
    struct rkc_mpi_group *group = NULL;
    int found = 0;
    pthread_mutex_lock(&kept->lock);
    if (kept->keyval == MPI_KEYVAL_INVALID)
        kept->make_key(&kept->keyval);
    kept->get(handle, kept->keyval, &group, &found);
    if (!found)
        group = make_group(kept, handle);
    pthread_mutex_unlock(&kept->lock);
    if (!group)
        return &unknown;
    atomic_store_explicit(slot_of(kept, handle), group, memory_order_release);
    return group;
}

/* Of the world there is one, and no attribute, which its program could count. */
static const struct rkc_mpi_group *world_group(void)
{
    static struct rkc_mpi_group world;
    static _Atomic int known;
    if (!atomic_load_explicit(&known, memory_order_acquire)) {
        struct rkc_mpi_group found = {.unit = RKC_NIL_UNIT};
        PMPI_Comm_size(MPI_COMM_WORLD, &found.n);
        found.unit = unit_of(&found);
        pthread_mutex_lock(&groups_lock);
        if (!atomic_load(&known))
            world = found;
        atomic_store_explicit(&known, 1, memory_order_release);
        pthread_mutex_unlock(&groups_lock);
    }
    return &world;
}

static const struct rkc_mpi_group *look_up(struct kept *kept, uint64_t handle)
{
    if (RKC_UNLIKELY(!atomic_load_explicit(&has_world, memory_order_relaxed)))
        return &unknown;
    const struct rkc_mpi_group *group =
        atomic_load_explicit(slot_of(kept, handle), memory_order_acquire);
    return RKC_LIKELY(group && group->handle == handle) ? group : find(kept, handle);
}

const struct rkc_mpi_group *rkc_mpi_group_of(MPI_Comm comm)
{
    if (comm == MPI_COMM_WORLD && atomic_load_explicit(&has_world, memory_order_relaxed))
        return world_group();
    return look_up(&comms, (uint64_t)(uintptr_t)comm);
}

const struct rkc_mpi_group *rkc_mpi_group_of_window(MPI_Win win)
{
    return look_up(&windows, (uint64_t)(uintptr_t)win);
}
