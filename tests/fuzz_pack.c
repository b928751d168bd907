/* fuzz_pack.c - a libFuzzer driver: whatever bytes arrive, unpacking them is safe, and what it
 * accepts can be merged and packed again. The first byte chooses what the rest is taken for. */
#include "autoconf.h"

#include <stdlib.h>
#include <string.h>

#include "pack.h"
#include "sink/stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take_profile(struct rkc_cursor *cursor)
{
    struct rkc_profile profile, sum;
    if (rkc_profile_unpack(&profile, cursor) != 0)
        return;
    rkc_profile_init(&sum, 1);
    rkc_profile_merge(&sum, &profile, NULL);
    rkc_profile_merge(&sum, &profile, NULL);

    struct rkc_buffer buffer = {0};
    struct rkc_profile again;
    if (rkc_profile_pack(&profile, &buffer) == 0) {
        struct rkc_cursor packed = {.at = buffer.data, .end = buffer.data + buffer.size};
        if (rkc_profile_unpack(&again, &packed) != 0)
            abort();
        rkc_profile_free(&again);
    }
    rkc_buffer_free(&buffer);
    rkc_profile_free(&sum);
    rkc_profile_free(&profile);
}

/* Rows alone, for a profile that has the call paths 0 to 3. */
static void take_mpi(struct rkc_cursor *cursor)
{
    static const uint32_t map[4] = {3, 1, 1, 0};
    struct rkc_profile profile;
    struct rkc_cursor again = *cursor;
    rkc_profile_init(&profile, 0);
    rkc_profile_region_get(&profile, RKC_REGION_ROOT, "(run)", NULL, 0);
    for (uint32_t i = 0; i < 4; i++)
        rkc_profile_path_get(&profile, i - 1, 0);
    if (rkc_profile_merge_packed_mpi(&profile, NULL, 4, cursor) == 0)
        rkc_profile_merge_packed_mpi(&profile, map, 4, &again);
    rkc_profile_free(&profile);
}

static void take_numbers(struct rkc_cursor *cursor)
{
    struct rkc_numbers numbers;
    struct rkc_cursor again = *cursor;
    if (rkc_numbers_unpack(&numbers, cursor) != 0)
        return;
    rkc_numbers_merge_packed(&numbers, &again);
    rkc_numbers_free(&numbers);
}

static void take_frame(struct rkc_cursor *cursor)
{
    struct rkc_job job;
    struct rkc_rows rows;
    enum rkc_file_status status;
    struct rkc_rank_range *ranges;
    uint32_t n;
    struct rkc_cursor start = *cursor;
    if (rkc_unstream_job(cursor, &job) == 0)
        rkc_job_free(&job);
    *cursor = start;
    rkc_unstream_rows(cursor, &rows, 1 << RKC_METRIC_VISITS | 1 << RKC_METRIC_MPI);
    *cursor = start;
    if (rkc_unstream_finish(cursor, &status, &ranges, &n) == 0)
        free(ranges);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    /* A copy is aligned, as what arrives in a frame is. */
    char *body = malloc(size);
    if (!body)
        return 0;
    memcpy(body, data + 1, size - 1);
    struct rkc_cursor cursor = {.at = body, .end = body + size - 1};
    if (data[0] % 4 == 0)
        take_profile(&cursor);
    else if (data[0] % 4 == 1)
        take_numbers(&cursor);
    else if (data[0] % 4 == 2)
        take_mpi(&cursor);
    else
        take_frame(&cursor);
    free(body);
    return 0;
}
