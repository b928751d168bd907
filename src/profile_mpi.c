/* profile_mpi.c - rows of transfers and waits are found by a hash and keep the order in which they
 * were first seen, as call paths do. */
#include "autoconf.h"

#include "profile_mpi.h"

#include <stdlib.h>

#include "index.h"

void rkc_profile_free_mpi(struct rkc_profile *profile)
{
    free(profile->transfers);
    free(profile->transfer_index);
    free(profile->waits);
    free(profile->wait_index);
    free(profile->spilled);
}

struct rkc_profile rkc_profile_bare(const struct rkc_profile *profile)
{
    struct rkc_profile bare = *profile;
    bare.has_numbers = 0;
    bare.n_transfers = bare.n_waits = bare.n_notes = bare.n_ranks = 0;
    bare.spilled = NULL;
    bare.waits_dropped = bare.paths_folded = 0;
    return bare;
}

/* ---- transfers ---- */

/* All that tells a row from others but its path. */
static uint64_t ends_of(const struct rkc_transfer *row)
{
    return (uint64_t)row->send_kind << 40 | (uint64_t)row->recv_kind << 32 |
           (uint64_t)(uint16_t)row->send_device << 16 | (uint16_t)row->recv_device;
}

static uint32_t hash_transfer(const struct rkc_profile *profile, uint32_t i)
{
    return rkc_hash_words(profile->transfers[i].path, ends_of(&profile->transfers[i]));
}

static struct rkc_transfer *find_transfer(const struct rkc_profile *profile,
                                          const struct rkc_transfer *key)
{
    if (profile->transfer_index_size == 0)
        return NULL;
    uint64_t ends = ends_of(key);
    for (uint32_t hash = rkc_hash_words(key->path, ends);; hash++) {
        uint32_t entry = profile->transfer_index[hash & (profile->transfer_index_size - 1)];
        if (entry == 0)
            return NULL;
        struct rkc_transfer *row = &profile->transfers[entry - 1];
        if (row->path == key->path && ends_of(row) == ends)
            return row;
    }
}

struct rkc_transfer *rkc_profile_spill(struct rkc_profile *profile)
{
    if (profile->spilled)
        return profile->spilled;
    profile->spilled = malloc(sizeof *profile->spilled);
    if (profile->spilled)
        *profile->spilled = (struct rkc_transfer){.path = RKC_NO_PATH,
                                                  .send_kind = RKC_KIND_UNKNOWN,
                                                  .recv_kind = RKC_KIND_UNKNOWN,
                                                  .send_device = -1,
                                                  .recv_device = -1};
    return profile->spilled;
}

static struct rkc_transfer *add_transfer(struct rkc_profile *profile,
                                         const struct rkc_transfer *key)
{
    if (profile->n_transfers == RKC_PROFILE_MOVED_MAX)
        return rkc_profile_spill(profile);
    struct rkc_transfer *rows = rkc_array_grow(profile->transfers, profile->n_transfers,
                                               &profile->cap_transfers, sizeof *rows);
    if (!rows)
        return NULL;
    profile->transfers = rows;
    if (rkc_index_reserve(&profile->transfer_index, &profile->transfer_index_size,
                          profile->n_transfers, profile, hash_transfer) != 0)
        return NULL;
    uint32_t row = profile->n_transfers++;
    rows[row] = *key;
    rkc_index_put(profile->transfer_index, profile->transfer_index_size,
                  hash_transfer(profile, row), row);
    return &rows[row];
}

static int16_t device_number(enum rkc_memory_kind kind, int device)
{
    return kind == RKC_KIND_DEVICE && device >= 0 && device <= INT16_MAX ? (int16_t)device : -1;
}

struct rkc_transfer *rkc_profile_transfer_get(struct rkc_profile *profile, uint32_t path,
                                              enum rkc_memory_kind send_kind, int send_device,
                                              enum rkc_memory_kind recv_kind, int recv_device)
{
    if (path >= profile->n_paths || (unsigned)send_kind >= RKC_KINDS ||
        (unsigned)recv_kind >= RKC_KINDS)
        return NULL;
    struct rkc_transfer key = {.path = path,
                               .send_kind = (uint8_t)send_kind,
                               .recv_kind = (uint8_t)recv_kind,
                               .send_device = device_number(send_kind, send_device),
                               .recv_device = device_number(recv_kind, recv_device)};
    struct rkc_transfer *row = find_transfer(profile, &key);
    return row ? row : add_transfer(profile, &key);
}

void rkc_transfer_add(struct rkc_transfer *into, const struct rkc_transfer *from)
{
    into->sent = rkc_sum_counts(into->sent, from->sent);
    into->received = rkc_sum_counts(into->received, from->received);
    into->ns = rkc_sum_counts(into->ns, from->ns);
    into->blocked_ns = rkc_sum_counts(into->blocked_ns, from->blocked_ns);
    into->in_flight_ns = rkc_sum_counts(into->in_flight_ns, from->in_flight_ns);
    into->noncontiguous = rkc_sum_counts(into->noncontiguous, from->noncontiguous);
    for (int i = 0; i < RKC_SIZE_BUCKETS; i++)
        if (__builtin_add_overflow(into->size[i], from->size[i], &into->size[i]))
            into->size[i] = UINT64_MAX;
}

static int merge_transfers(struct rkc_profile *into, const struct rkc_profile *from,
                           const uint32_t *map)
{
    for (uint32_t i = 0; i < from->n_transfers; i++) {
        const struct rkc_transfer *row = &from->transfers[i];
        struct rkc_transfer *sum =
            rkc_profile_transfer_get(into, map[row->path], row->send_kind, row->send_device,
                                     row->recv_kind, row->recv_device);
        if (!sum)
            return RKC_ENOMEM;
        rkc_transfer_add(sum, row);
    }
    if (!from->spilled)
        return 0;
    struct rkc_transfer *spilled = rkc_profile_spill(into);
    if (!spilled)
        return RKC_ENOMEM;
    rkc_transfer_add(spilled, from->spilled);
    return 0;
}

/* ---- waits ---- */

static uint32_t hash_wait_key(uint32_t path, const struct rkc_comm_id *comm)
{
    return rkc_hash_words((uint64_t)path << 32 | (uint32_t)comm->first,
                          comm->key ^ (uint64_t)(uint32_t)comm->size << 32);
}

static uint32_t hash_wait(const struct rkc_profile *profile, uint32_t i)
{
    return hash_wait_key(profile->waits[i].path, &profile->waits[i].comm);
}

static struct rkc_wait *find_wait(const struct rkc_profile *profile, uint32_t path,
                                  const struct rkc_comm_id *comm)
{
    if (profile->wait_index_size == 0)
        return NULL;
    for (uint32_t hash = hash_wait_key(path, comm);; hash++) {
        uint32_t entry = profile->wait_index[hash & (profile->wait_index_size - 1)];
        if (entry == 0)
            return NULL;
        struct rkc_wait *row = &profile->waits[entry - 1];
        if (row->path == path && row->comm.key == comm->key && row->comm.size == comm->size &&
            row->comm.first == comm->first)
            return row;
    }
}

/* Whether a row may be added; else what it stands for is counted as dropped. */
static int has_room(struct rkc_profile *profile, const struct rkc_wait *wait)
{
    const struct rkc_profile_path *path = &profile->paths[wait->path];
    if (profile->regions[path->region].kind != RKC_REGION_OTHER &&
        profile->n_waits < RKC_PROFILE_MOVED_MAX)
        return 1;
    profile->waits_dropped = rkc_sum_counts(profile->waits_dropped, wait->ranks);
    return 0;
}

static int add_wait(struct rkc_profile *profile, const struct rkc_wait *wait)
{
    if (!has_room(profile, wait))
        return 0;
    struct rkc_wait *rows =
        rkc_array_grow(profile->waits, profile->n_waits, &profile->cap_waits, sizeof *rows);
    if (!rows)
        return RKC_ENOMEM;
    profile->waits = rows;
    if (rkc_index_reserve(&profile->wait_index, &profile->wait_index_size, profile->n_waits,
                          profile, hash_wait) != 0)
        return RKC_ENOMEM;
    uint32_t row = profile->n_waits++;
    rows[row] = *wait;
    rkc_index_put(profile->wait_index, profile->wait_index_size, hash_wait(profile, row), row);
    return 0;
}

static int64_t sum_known(int64_t a, int64_t b)
{
    if (a == RKC_ABSENT || b == RKC_ABSENT)
        return a == RKC_ABSENT ? b : a;
    return rkc_sum_counts(a, b);
}

int rkc_profile_wait_add(struct rkc_profile *profile, uint32_t path,
                         const struct rkc_comm_id *comm, int32_t rank, int64_t calls, int64_t ns,
                         int64_t sync_ns)
{
    if (path >= profile->n_paths || rank < 0 || calls < 0 || ns < 0 || sync_ns < RKC_ABSENT ||
        comm->size < 1 || comm->first < 0)
        return RKC_EARG;
    struct rkc_wait *row = find_wait(profile, path, comm);
    if (!row)
        return add_wait(profile, &(struct rkc_wait){.path = path,
                                                    .ranks = 1,
                                                    .least_rank = rank,
                                                    .comm = *comm,
                                                    .calls_min = calls,
                                                    .calls_max = calls,
                                                    .ns_sum = ns,
                                                    .ns_min = ns,
                                                    .ns_max = ns,
                                                    .sync_ns = sync_ns});
    row->calls_min = row->calls_max = rkc_sum_counts(row->calls_max, calls);
    row->ns_sum = row->ns_min = row->ns_max = rkc_sum_counts(row->ns_sum, ns);
    row->sync_ns = sum_known(row->sync_ns, sync_ns);
    return 0;
}

int rkc_profile_wait_merge(struct rkc_profile *profile, const struct rkc_wait *wait)
{
    struct rkc_wait *row = find_wait(profile, wait->path, &wait->comm);
    if (!row)
        return add_wait(profile, wait);
    if (wait->ns_min < row->ns_min ||
        (wait->ns_min == row->ns_min && wait->least_rank < row->least_rank)) {
        row->ns_min = wait->ns_min;
        row->least_rank = wait->least_rank;
    }
    if (wait->ns_max > row->ns_max)
        row->ns_max = wait->ns_max;
    if (wait->calls_min < row->calls_min)
        row->calls_min = wait->calls_min;
    if (wait->calls_max > row->calls_max)
        row->calls_max = wait->calls_max;
    if (__builtin_add_overflow(row->ranks, wait->ranks, &row->ranks))
        row->ranks = INT32_MAX;
    row->ns_sum = rkc_sum_counts(row->ns_sum, wait->ns_sum);
    row->sync_ns = sum_known(row->sync_ns, wait->sync_ns);
    return 0;
}

int64_t rkc_wait_ns(const struct rkc_wait *wait)
{
    if (wait->ranks != wait->comm.size || wait->calls_min != wait->calls_max ||
        wait->ns_sum == INT64_MAX)
        return RKC_ABSENT;
    int64_t least;
    if (__builtin_mul_overflow(wait->ns_min, (int64_t)wait->ranks, &least))
        return RKC_ABSENT;
    return wait->ns_sum > least ? wait->ns_sum - least : 0;
}

/* ---- both ---- */

int rkc_profile_merge_mpi(struct rkc_profile *into, const struct rkc_profile *from,
                          const uint32_t *map)
{
    int status = merge_transfers(into, from, map);
    for (uint32_t i = 0; i < from->n_waits && status == 0; i++) {
        struct rkc_wait wait = from->waits[i];
        wait.path = map[wait.path];
        status = rkc_profile_wait_merge(into, &wait);
    }
    into->waits_dropped = rkc_sum_counts(into->waits_dropped, from->waits_dropped);
    return status;
}
