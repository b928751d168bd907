/* profile_mpi.c - transfers and waits add up over ranks, and what has no room is counted. */
#include "autoconf.h"

#include "profile_mpi.h"

#include <stdlib.h>
#include <string.h>

#include <rankclock/status.h>

#include "pack.h"
#include "tap.h"

/* (run) and in it MPI_Send and MPI_Allreduce, and "(other)". */
enum { RUN, SEND, ALLREDUCE, OTHER };

static void make(struct rkc_profile *profile)
{
    static const struct {
        enum rkc_region_kind kind;
        const char *name;
    } regions[] = {{RKC_REGION_ROOT, "(run)"}, {RKC_REGION_MPI, "MPI_Send"},
                   {RKC_REGION_MPI, "MPI_Allreduce"}, {RKC_REGION_OTHER, "(other)"}};
    rkc_profile_init(profile, 0);
    for (uint32_t i = 0; i < 4; i++) {
        rkc_profile_region_get(profile, regions[i].kind, regions[i].name, NULL, 0);
        rkc_profile_path_get(profile, i ? 0 : RKC_NO_PATH, i);
    }
}

static struct rkc_transfer *get(struct rkc_profile *profile, uint32_t path, int send, int device)
{
    return rkc_profile_transfer_get(profile, path, (enum rkc_memory_kind)send, device,
                                    RKC_KIND_NONE, -1);
}

static void transfers(void)
{
    struct rkc_profile profile, other;
    make(&profile);
    struct rkc_transfer *row = get(&profile, SEND, RKC_KIND_DEVICE, 3);
    ok(row && row->path == SEND && row->send_device == 3 && row->recv_device == -1 &&
           row->sent == 0 && row->size[5] == 0, "a new row is all zero");
    row->sent = 100;
    row->size[7] = 1;
    ok(get(&profile, SEND, RKC_KIND_DEVICE, 3)->sent == 100, "it is found again");
    get(&profile, SEND, RKC_KIND_DEVICE, 4)->sent = 1;
    get(&profile, SEND, RKC_KIND_PINNED, 3)->sent = 2;
    get(&profile, ALLREDUCE, RKC_KIND_DEVICE, 3)->sent = 3;
    is_int(profile.n_transfers, 4, "another device, kind or path is another row");
    is_int(get(&profile, SEND, RKC_KIND_PINNED, 9)->sent, 2, "what is no device has no number");
    is_int(get(&profile, SEND, RKC_KIND_DEVICE, 1 << 20)->send_device, -1,
           "nor has one beyond what is kept");
    ok(!get(&profile, 4, RKC_KIND_DEVICE, 0), "there is no row of an unknown path");
    ok(!get(&profile, 0, RKC_KINDS, 0), "nor of an unknown kind");

    make(&other);
    *get(&other, SEND, RKC_KIND_DEVICE, 3) = (struct rkc_transfer){
        .path = SEND, .send_kind = RKC_KIND_DEVICE, .send_device = 3, .recv_device = -1,
        .sent = INT64_MAX - 50, .received = 1, .ns = 2, .blocked_ns = 3, .in_flight_ns = 4,
        .noncontiguous = 5, .size = {[7] = UINT64_MAX, [63] = 6}};
    is_int(rkc_profile_merge(&profile, &other, NULL), 0, "rows are merged");
    row = get(&profile, SEND, RKC_KIND_DEVICE, 3);
    is_int(row->sent, INT64_MAX, "values add up, and saturate");
    ok(row->received == 1 && row->ns == 2 && row->blocked_ns == 3 && row->in_flight_ns == 4 &&
           row->noncontiguous == 5, "each of them");
    ok(row->size[7] == UINT64_MAX && row->size[63] == 6, "sizes too");
    rkc_profile_free(&profile);
    rkc_profile_free(&other);
}

/* Rank 0 is in two calls for 5 ns, rank 2 for 9, rank 1 for 5. */
static void waits(void)
{
    static const struct rkc_comm_id comm = {77, 3, 0}, sub = {77, 2, 1};
    static const int64_t ns[] = {5, 5, 9};
    struct rkc_profile all;
    make(&all);
    for (int32_t rank = 2; rank >= 0; rank--) {
        struct rkc_profile one;
        make(&one);
        rkc_profile_wait_add(&one, ALLREDUCE, &comm, rank, 1, ns[rank] - 3, RKC_ABSENT);
        rkc_profile_wait_add(&one, ALLREDUCE, &comm, rank, 1, 3, rank ? RKC_ABSENT : 2);
        is_int(one.waits[0].ranks, 1, "a rank that calls twice is one");
        if (rank > 0)
            rkc_profile_wait_add(&one, ALLREDUCE, &sub, rank, (int64_t)rank, 1, RKC_ABSENT);
        rkc_profile_merge(&all, &one, NULL);
        if (rank == 1)
            is_int(rkc_wait_ns(&all.waits[0]), RKC_ABSENT, "without all ranks nothing is known");
        rkc_profile_free(&one);
    }
    const struct rkc_wait *row = &all.waits[0];
    is_int(all.n_waits, 2, "each communicator has a row");
    ok(row->ranks == 3 && row->calls_min == 2 && row->calls_max == 2, "of all its ranks");
    ok(row->ns_sum == 19 && row->ns_min == 5 && row->ns_max == 9, "and their time");
    is_int(row->least_rank, 0, "of those with the least time the lowest is awaited");
    is_int(row->sync_ns, 2, "what was measured is kept");
    is_int(rkc_wait_ns(row), 4, "waiting is what ranks take more than the quickest");
    is_int(rkc_wait_ns(&all.waits[1]), RKC_ABSENT, "where calls differ it is not known");

    struct rkc_wait odd = *row;
    odd.ns_sum = INT64_MAX;
    is_int(rkc_wait_ns(&odd), RKC_ABSENT, "nor where the sum is not");
    odd = (struct rkc_wait){.ranks = 4, .comm.size = 4, .ns_min = INT64_MAX / 2, .ns_sum = 1};
    is_int(rkc_wait_ns(&odd), RKC_ABSENT, "nor where it cannot be");

    is_int(rkc_profile_wait_add(&all, 4, &comm, 0, 1, 1, 0), RKC_EARG, "a path there is not");
    is_int(rkc_profile_wait_add(&all, 0, &comm, 0, 1, -1, 0), RKC_EARG, "less than no time");
    is_int(rkc_profile_wait_add(&all, OTHER, &comm, 6, 1, 1, 0), 0,
           "what fell into \"(other)\"");
    ok(all.n_waits == 2 && all.waits_dropped == 1, "is counted and left out");
    rkc_profile_free(&all);
}

/* One more row than there may be, and what is left of it after merging and packing. */
static void limits(void)
{
    struct rkc_profile full, twice;
    make(&full);
    for (int i = 0; i < RKC_PROFILE_MOVED_MAX + 1; i++) {
        struct rkc_comm_id comm = {(uint64_t)i, 1, 0};
        struct rkc_transfer *row = rkc_profile_transfer_get(
            &full, (uint32_t)i % 4, RKC_KIND_DEVICE, i >> 2 & 255, RKC_KIND_DEVICE, i >> 10);
        row->sent += i;
        row->size[3]++;
        rkc_profile_wait_add(&full, ALLREDUCE, &comm, 0, 1, 1, RKC_ABSENT);
    }
    ok(full.n_transfers == RKC_PROFILE_MOVED_MAX && full.n_waits == RKC_PROFILE_MOVED_MAX,
       "there are so many rows and no more");
    ok(full.spilled && full.spilled->sent == RKC_PROFILE_MOVED_MAX && full.spilled->size[3] == 1,
       "of transfers the rest is summed");
    is_int(full.waits_dropped, 1, "waits are counted");

    struct rkc_buffer buffer = {0};
    rkc_profile_pack(&full, &buffer);
    struct rkc_cursor cursor = {.at = buffer.data, .end = buffer.data + buffer.size};
    is_int(rkc_profile_unpack(&twice, &cursor), 0, "a full profile is packed and unpacked");
    ok(twice.n_transfers == full.n_transfers && twice.spilled->sent == full.spilled->sent &&
           twice.waits_dropped == 1, "with all of it");
    rkc_profile_merge(&twice, &full, NULL);
    ok(twice.n_waits == RKC_PROFILE_MOVED_MAX && twice.waits_dropped == 2 &&
           twice.spilled->size[3] == 2, "two of them are no more");
    is_int(twice.waits[RKC_PROFILE_MOVED_MAX - 1].ranks, 2, "and rows that are there go on");

    struct rkc_profile bare = rkc_profile_bare(&full), copy;
    rkc_profile_init(&copy, 0);
    rkc_profile_merge(&copy, &bare, NULL);
    ok(copy.n_paths == 4 && !rkc_profile_has_mpi(&copy), "call paths alone have none of it");
    rkc_profile_free(&copy);
    rkc_profile_free(&twice);
    rkc_profile_free(&full);
    rkc_buffer_free(&buffer);
}

static struct rkc_cursor cursor_of(const struct rkc_buffer *buffer)
{
    return (struct rkc_cursor){.at = buffer->data, .end = buffer->data + buffer->size};
}

/* A transfer and two waits, one of two ranks. */
static void make_packed(struct rkc_buffer *buffer)
{
    static const struct rkc_comm_id comm = {UINT64_MAX, 2, 0};
    struct rkc_profile profile, other;
    make(&profile);
    make(&other);
    struct rkc_transfer *row = get(&profile, SEND, RKC_KIND_DEVICE, 3);
    row->sent = 4096;
    row->ns = 70;
    row->size[13] = 1;
    rkc_profile_wait_add(&profile, RUN, &comm, 5, 1, 9, RKC_ABSENT);
    rkc_profile_wait_add(&profile, ALLREDUCE, &comm, 5, 1, 9, RKC_ABSENT);
    rkc_profile_wait_add(&other, ALLREDUCE, &comm, 6, 2, 4, 1);
    rkc_profile_merge(&profile, &other, NULL);
    is_int(rkc_profile_pack_mpi(&profile, buffer), 0, "rows are packed");
    is_int((int64_t)buffer->size,
           20 + RKC_PACKED_TRANSFER_BYTES + RKC_PACKED_BUCKET_BYTES + 2 * RKC_PACKED_WAIT_BYTES +
               3 * 8, "into no more than they say");
    rkc_profile_free(&profile);
    rkc_profile_free(&other);
}

static void packed(void)
{
    static const uint32_t map[] = {RUN, ALLREDUCE, SEND, OTHER};
    struct rkc_buffer buffer = {0};
    struct rkc_profile copy;
    make_packed(&buffer);
    make(&copy);
    struct rkc_cursor cursor = cursor_of(&buffer);
    is_int(rkc_profile_merge_packed_mpi(&copy, map, 4, &cursor), 0, "and merged");
    ok(cursor.at == cursor.end, "to their last byte");
    const struct rkc_transfer *row = copy.transfers;
    ok(copy.n_transfers == 1 && row->path == ALLREDUCE && row->send_kind == RKC_KIND_DEVICE &&
           row->send_device == 3 && row->recv_device == -1 && row->sent == 4096 &&
           row->ns == 70 && row->size[13] == 1, "a transfer is what it was, on its path's number");
    const struct rkc_wait *wait = &copy.waits[1];
    ok(copy.n_waits == 2 && wait->path == SEND && wait->ranks == 2 && wait->least_rank == 6 &&
           wait->comm.key == UINT64_MAX && wait->comm.size == 2 && wait->calls_min == 1 &&
           wait->calls_max == 2 && wait->ns_sum == 13 && wait->ns_min == 4 && wait->ns_max == 9 &&
           wait->sync_ns == 1, "so is a wait");
    ok(copy.waits[0].ranks == 1 && copy.waits[0].ns_sum == 9 && copy.waits[0].ns_max == 9,
       "and one of one rank");
    cursor = cursor_of(&buffer);
    is_int(rkc_profile_merge_packed_mpi(&copy, map, 1, &cursor), RKC_EFORMAT,
           "a path that the numbering does not have is refused");
    cursor = cursor_of(&buffer);
    is_int(rkc_profile_merge_packed_mpi(&copy, (uint32_t[]){0, 4, 0, 0}, 4, &cursor), RKC_EFORMAT,
           "so is one that the profile does not have");

    /* Whatever bit is wrong, it is refused or gives rows that can be packed again. */
    int odd = 0;
    for (size_t size = 0; size < buffer.size; size++) {
        struct rkc_profile into;
        make(&into);
        struct rkc_cursor cut = {.at = buffer.data, .end = buffer.data + size};
        odd += rkc_profile_merge_packed_mpi(&into, NULL, 4, &cut) != RKC_EFORMAT;
        rkc_profile_free(&into);
    }
    is_int(odd, 0, "rows cut short anywhere are refused");
    for (size_t bit = 0; bit < 8 * buffer.size; bit++) {
        struct rkc_profile into;
        make(&into);
        buffer.data[bit / 8] ^= (char)(1 << bit % 8);
        struct rkc_cursor flipped = cursor_of(&buffer);
        int status = rkc_profile_merge_packed_mpi(&into, NULL, 4, &flipped);
        struct rkc_buffer again = {0};
        odd += (status != 0 && status != RKC_EFORMAT) || rkc_profile_pack_mpi(&into, &again) != 0;
        rkc_buffer_free(&again);
        rkc_profile_free(&into);
        buffer.data[bit / 8] ^= (char)(1 << bit % 8);
    }
    is_int(odd, 0, "a flipped bit is refused or gives rows");
    rkc_profile_free(&copy);
    rkc_buffer_free(&buffer);
}

/* A field of a packed wait or transfer with a number that is none. */
static void bad_rows(void)
{
    static const struct {
        size_t at;
        uint32_t value;
        const char *what;
    } cases[] = {
        {4, RKC_PROFILE_MOVED_MAX + 1, "more rows than there may be"},
        {8, 2, "more than one rest"},
        {16, UINT32_MAX, "fewer dropped than none"},
        {20, 4, "a transfer on no path"},
        {24, RKC_KINDS, "memory of no kind"},
        {24, 1 << 16, "nor beyond it"},
        {36, UINT32_MAX, "fewer than no bytes"},
        {20 + 70, 4, "a wait on no path"},
        {20 + 74, 0, "of no rank"},
        {20 + 78, UINT32_MAX, "for a negative rank"},
        {20 + 90, 0, "on a communicator of nobody"},
        {20 + 94, UINT32_MAX, "that begins below rank 0"},
        {20 + 102, UINT32_MAX, "with fewer than no calls"},
    };
    struct rkc_buffer buffer = {0};
    make_packed(&buffer);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rkc_profile into;
        uint32_t before;
        make(&into);
        memcpy(&before, buffer.data + cases[i].at, sizeof before);
        memcpy(buffer.data + cases[i].at, &cases[i].value, sizeof before);
        struct rkc_cursor cursor = cursor_of(&buffer);
        is_int(rkc_profile_merge_packed_mpi(&into, NULL, 4, &cursor), RKC_EFORMAT, cases[i].what);
        memcpy(buffer.data + cases[i].at, &before, sizeof before);
        rkc_profile_free(&into);
    }
    rkc_buffer_free(&buffer);
}

int main(void)
{
    transfers();
    waits();
    limits();
    packed();
    bad_rows();
    return done_testing();
}
