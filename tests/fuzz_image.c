/* fuzz_image.c - a libFuzzer driver: whatever an image holds, reading, collecting and merging it is
 * safe, twice over and beside another, as rankclock recover does it. What the header has to say for
 * an image to be looked into is put right, so that what is tried is behind it; the first byte of
 * the magic decides whether the image is read as that of a running process.
 *
 * A corpus is made of images that runs have left. Without libFuzzer: fuzz_image FILE...
 */
#include "autoconf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rankclock/status.h>

#include "collect.h"

/* The numbers, by windows as in a reduction, and the rows. */
static int take_numbers(const struct rkc_local *local, struct rkc_profile *sum)
{
    struct rkc_profile bare = rkc_profile_bare(&local->paths);
    struct rkc_numbers numbers;
    uint32_t *map = malloc((local->paths.n_paths + 1) * sizeof *map);
    int64_t *values = calloc((size_t)sum->n_paths * RKC_METRICS + 1, sizeof *values);
    int status = map && values ? rkc_profile_merge(sum, &bare, map) : RKC_ENOMEM;
    if (status == 0)
        status = rkc_numbers_init(&numbers, 0, sum->n_paths);
    if (status == 0) {
        rkc_local_add(local, map, &numbers);
        rkc_local_row(local, map, RKC_ALL_METRICS, sum->n_paths, sum->n_paths, values);
        rkc_numbers_free(&numbers);
    }
    free(map);
    free(values);
    return status;
}

/* The first pass over an image, then the others: nothing new may turn up in them. */
static void take_image(const struct rkc_view *view, int32_t rank, struct rkc_profile *sum)
{
    struct rkc_local local;
    if (rkc_local_collect(&local, view, rank) != 0)
        return;
    if (rkc_profile_merge(sum, &local.paths, NULL) != 0)
        abort();
    uint32_t n_paths = sum->n_paths;
    struct rkc_rank_row row = rkc_local_rank(&local);
    if (row.open_path != RKC_NO_PATH && row.open_path >= local.paths.n_paths)
        abort();
    if (row.n_devices < 0 || row.n_devices > RKC_RANK_DEVICES_MAX || row.n_peers < 0 ||
        row.state < 0 || row.state >= RKC_STATES || !memchr(row.node, '\0', sizeof row.node))
        abort();
    if (take_numbers(&local, sum) != 0 || sum->n_paths != n_paths)
        abort();
    rkc_local_free(&local);
}

static void take_view(const struct rkc_view *view)
{
    struct rkc_profile sum;
    rkc_profile_init(&sum, 0);
    take_image(view, 0, &sum);
    take_image(view, 1, &sum);
    rkc_profile_free(&sum);
}

#ifdef RKC_LIBFUZZER

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

/* Mostly numbers of 32 bits in their place, or units: what is moved is no chain of blocks any
 * longer.
 */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    static const uint32_t values[] = {0,  1,   2,       24,        63,       64,
                                      65, 127, 1 << 20, INT32_MAX, 1u << 31, UINT32_MAX};
    srandom(seed);
    if (size < RKC_BLOCKS_START + RKC_UNIT || random() % 8 == 0)
        return LLVMFuzzerMutate(data, size, max_size);
    size_t words = size / 4, units = size / RKC_UNIT;
    for (long n = 1 + random() % 6; n > 0; n--) {
        uint8_t *at = data + 4 * ((size_t)random() % words);
        uint32_t value;
        memcpy(&value, at, sizeof value);
        switch (random() % 4) {
        case 0:
            value = values[(size_t)random() % (sizeof values / sizeof *values)];
            break;
        case 1:
            value += (uint32_t)(random() % 5) - 2;
            break;
        case 2: /* another number of it, as a unit or a count elsewhere */
            memcpy(&value, data + 4 * ((size_t)random() % words), sizeof value);
            break;
        default:
            memmove(data + RKC_UNIT * ((size_t)random() % units),
                    data + RKC_UNIT * ((size_t)random() % units), RKC_UNIT);
            continue;
        }
        memcpy(at, &value, sizeof value);
    }
    return size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t bytes = size / RKC_UNIT * RKC_UNIT;
    if (bytes < RKC_BLOCKS_START)
        return 0;
    /* As rkc_view_open has it: aligned, nothing behind it. */
    char *copy = aligned_alloc(RKC_UNIT, bytes);
    if (!copy)
        return 0;
    memcpy(copy, data, bytes);
    take_view(&(struct rkc_view){.base = copy, .bytes = bytes, .live = data[0] & 1});
    free(copy);
    return 0;
}

#else

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        struct rkc_view view;
        char text[1024] = "";
        int status = rkc_view_open(&view, argv[i], text, sizeof text);
        if (status == 0) {
            take_view(&view);
            rkc_view_close(&view);
        }
        printf("%s: %s\n", argv[i], status ? text : "ok");
    }
    return 0;
}

#endif
