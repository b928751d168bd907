/* nomem.c - when memory runs out a status says so, nothing leaks and what was there stays.
 *
 * The modules are compiled into this program so that their allocations can be made to fail,
 * one after the other. */
#include "autoconf.h"

#include <stdlib.h>
#include <string.h>

#include "tap.h"

/* How many more allocations succeed, and how many are not yet freed. */
static int allowance, live;

static void *count(void *memory)
{
    live += memory != NULL;
    return memory;
}

static int refuse(void)
{
    return allowance-- <= 0;
}

static void *test_malloc(size_t size)
{
    return refuse() ? NULL : count(malloc(size));
}

static void *test_calloc(size_t n, size_t size)
{
    return refuse() ? NULL : count(calloc(n, size));
}

static void *test_realloc(void *old, size_t size)
{
    if (refuse())
        return NULL;
    return old ? realloc(old, size) : count(malloc(size));
}

static char *test_strdup(const char *text)
{
    return refuse() ? NULL : count(strdup(text));
}

static void test_free(void *memory)
{
    live -= memory != NULL;
    free(memory);
}

#undef strdup
#define malloc test_malloc
#define calloc test_calloc
#define realloc test_realloc
#define strdup test_strdup
#define free test_free
#include "../src/numbers.c"
#include "../src/buffer.c"
#include "../src/pack.c"
#include "../src/pack_mpi.c"
#include "../src/profile.c"
#include "../src/profile_mpi.c"
#include "../src/sink/job.c"
#include "../src/sink/stream.c"
#include "../src/stats.c"

/* Four regions, 40 paths, a note, a rank; 0 or the first status that was not. */
static int make(struct rkc_profile *profile, const char *prefix)
{
    rkc_profile_init(profile, 1);
    for (int i = 0; i < 40; i++) {
        char name[32];
        snprintf(name, sizeof name, "%s%d", i ? prefix : "", i % 4);
        int64_t region = rkc_profile_region_get(profile, RKC_REGION_USER, name, "a.c", i);
        int64_t path = region < 0 ? region
                                  : rkc_profile_path_get(profile, (uint32_t)i - 1,
                                                         (uint32_t)region);
        if (path < 0)
            return (int)path;
    }
    for (uint32_t i = 0; i < 40; i++) {
        if (!rkc_profile_transfer_get(profile, i, RKC_KIND_DEVICE, 0, RKC_KIND_NONE, -1))
            return RKC_ENOMEM;
        int status = rkc_profile_wait_add(profile, i, &(struct rkc_comm_id){1, 2, 0}, 0, 1, 1, -1);
        if (status)
            return status;
    }
    if (!rkc_profile_spill(profile))
        return RKC_ENOMEM;
    int status = rkc_profile_note_add(profile, RKC_NOTE_LOST, RKC_NO_PATH, 0, 1, "lost");
    return status ? status : rkc_profile_ranks_add(profile, 0, 0);
}

static int making(void)
{
    struct rkc_profile profile;
    int status = make(&profile, "a");
    rkc_profile_free(&profile);
    return status;
}

static struct rkc_profile one, two;
static struct rkc_buffer packed, streamed_job, streamed_end;

static int merging(void)
{
    struct rkc_profile into;
    rkc_profile_init(&into, 1);
    int status = rkc_profile_merge(&into, &one, NULL);
    if (status == 0)
        status = rkc_profile_merge(&into, &two, NULL);
    /* What is there holds together: it can still be counted and freed. */
    for (uint32_t i = 0; i < into.n_paths; i++)
        rkc_profile_stats(&into, i)->ranks++;
    rkc_profile_free(&into);
    return status;
}

static int packing(void)
{
    struct rkc_buffer buffer = {0};
    int status = rkc_profile_pack(&one, &buffer);
    rkc_buffer_free(&buffer);
    return status;
}

static int unpacking(void)
{
    struct rkc_profile profile;
    struct rkc_cursor cursor = {.at = packed.data, .end = packed.data + packed.size};
    int status = rkc_profile_unpack(&profile, &cursor);
    if (status == 0)
        rkc_profile_free(&profile);
    return status;
}

static int windows(void)
{
    struct rkc_numbers numbers;
    int status = rkc_numbers_init(&numbers, 0, 10);
    if (status == 0)
        rkc_numbers_free(&numbers);
    return status;
}

static int streaming(void)
{
    struct rkc_buffer buffer = {0};
    int status = rkc_stream_profile(&buffer, &one);
    if (status == 0)
        status = rkc_stream_finish(&buffer, RKC_FILE_COMPLETE, NULL, 0);
    rkc_buffer_free(&buffer);
    return status;
}

static int setting(void)
{
    struct rkc_job job;
    rkc_job_init(&job);
    int status = 0;
    for (int i = 0; i < 40 && status == 0; i++) {
        char key[16];
        snprintf(key, sizeof key, "key%d", i / 2);
        status = rkc_job_set(&job, key, key);
    }
    rkc_job_free(&job);
    return status;
}

static struct rkc_cursor body(const struct rkc_buffer *frame)
{
    return (struct rkc_cursor){.at = frame->data + sizeof(struct rkc_frame),
                               .end = frame->data + frame->size};
}

static int receiving(void)
{
    struct rkc_job job;
    struct rkc_cursor cursor = body(&streamed_job);
    int status = rkc_unstream_job(&cursor, &job);
    if (status != 0)
        return status;
    rkc_job_free(&job);

    enum rkc_file_status file_status;
    struct rkc_rank_range *ranges;
    uint32_t n;
    cursor = body(&streamed_end);
    status = rkc_unstream_finish(&cursor, &file_status, &ranges, &n);
    if (status == 0)
        free(ranges);
    return status;
}

/* Run it with room for one allocation more each time, until it needs no more. */
static void exhaust(int (*run)(void), const char *what)
{
    int before = live, wrong = 0, failures = 0;
    for (int room = 0;; room++) {
        allowance = room;
        int status = run();
        wrong += (status != 0) != (allowance < 0) || (status != 0 && status != RKC_ENOMEM);
        wrong += live != before;
        if (status == 0)
            break;
        failures++;
    }
    ok(failures > 0, "memory can run out");
    is_int(wrong, 0, what);
}

int main(void)
{
    allowance = 1000000;
    make(&one, "a");
    make(&two, "b");
    rkc_profile_pack(&one, &packed);
    struct rkc_job job;
    rkc_job_init(&job);
    rkc_job_set(&job, "key", "value");
    rkc_stream_job(&streamed_job, &job);
    rkc_stream_finish(&streamed_end, RKC_FILE_PARTIAL, &(struct rkc_rank_range){0, 1}, 1);

    exhaust(making, "when a profile is made, a status says so and nothing leaks");
    exhaust(merging, "when profiles are merged");
    exhaust(packing, "when a profile is packed");
    exhaust(unpacking, "when a profile is unpacked");
    exhaust(windows, "when a window of numbers is made");
    exhaust(streaming, "when frames are made");
    exhaust(setting, "when facts are set");
    exhaust(receiving, "when frames are taken apart");

    rkc_profile_free(&one);
    rkc_profile_free(&two);
    rkc_buffer_free(&packed);
    rkc_buffer_free(&streamed_job);
    rkc_buffer_free(&streamed_end);
    rkc_job_free(&job);
    is_int(live, 0, "in the end everything is freed");
    return done_testing();
}
