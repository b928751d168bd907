/* fuzz_reader.c - give the reader whatever bytes a fuzzer makes up.
 *
 * libFuzzer: clang -DRKC_LIBFUZZER -fsanitize=fuzzer,address; AFL++ and by hand: the names of files
 * as arguments, all of them read. Nothing is expected but that it comes back, with one line where
 * it fails. Under libFuzzer the checksums of HDF5's metadata are put right first, as somebody
 * hostile would; see the HDF5 File Format Specification 3.0, II.A and IV.A. */
#include "autoconf.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rankclock/reader.h>

static int64_t sum_texts(const struct rkc_reader *reader)
{
    size_t n, length = 0;
    for (size_t i = 0; i < rkc_reader_n_job(reader); i++)
        length += strlen(rkc_reader_job(reader, rkc_reader_job_name(reader, i)));
    const struct rkc_reader_region *regions = rkc_reader_regions(reader, &n);
    for (size_t i = 0; i < n; i++)
        length += strlen(regions[i].name) + strlen(regions[i].kind) + strlen(regions[i].file);
    const struct rkc_reader_rank *ranks = rkc_reader_ranks(reader, &n);
    for (size_t i = 0; i < n; i++)
        length += strlen(ranks[i].node) + strlen(ranks[i].state);
    const struct rkc_reader_note *notes = rkc_reader_notes(reader, &n);
    for (size_t i = 0; i < n; i++)
        length += strlen(notes[i].kind) + strlen(notes[i].text);
    return (int64_t)length;
}

static int add_pair(void *context, const struct rkc_reader_pair *pair)
{
    *(uint64_t *)context += (uint64_t)pair->bytes + (uint64_t)pair->source;
    return 0;
}

/* Touch everything, so that an address sanitizer sees what is not there. */
static int64_t touch(struct rkc_reader *reader)
{
    size_t n_paths, n_ranks, n, buckets;
    const int64_t *edges;
    uint64_t sum = (uint64_t)sum_texts(reader);
    const struct rkc_reader_path *paths = rkc_reader_paths(reader, &n_paths);
    rkc_reader_ranks(reader, &n_ranks);
    const struct rkc_reader_region *regions = rkc_reader_regions(reader, &n);
    for (size_t i = 0; i < n_paths; i++)
        sum += (uint64_t)regions[paths[i].region].line +
               (uint64_t)(i ? paths[paths[i].parent].depth : 0);
    for (size_t i = 0; rkc_reader_metric(reader, i); i++) {
        const struct rkc_reader_stat *stats =
            rkc_reader_profile(reader, rkc_reader_metric(reader, i));
        for (size_t k = 0; k < n_paths; k++)
            sum += (uint64_t)stats[k].sum;
    }
    const int64_t *histogram = rkc_reader_histogram(reader, &buckets, &edges);
    for (size_t i = 0; i < n_paths * buckets; i++)
        sum += (uint64_t)histogram[i];
    const struct rkc_reader_transfer *transfers = rkc_reader_transfers(reader, &n);
    buckets = rkc_reader_size_buckets(reader, &edges);
    for (size_t i = 0; i < n; i++)
        sum += (uint64_t)transfers[i].size_histogram[buckets - 1] + (uint64_t)edges[buckets] +
               (uint64_t)transfers[i].noncontiguous;
    const struct rkc_reader_wait *waits = rkc_reader_waits(reader, &n);
    for (size_t i = 0; i < n; i++)
        sum += (uint64_t)waits[i].sum_ns + (uint64_t)paths[waits[i].callpath].depth;
    rkc_reader_matrix(reader, add_pair, &sum);
    int64_t *values = calloc(n_ranks + 1, sizeof *values);
    for (size_t i = 0; values && i < n_paths && i < 16; i++)
        if (rkc_reader_per_rank(reader, "inclusive_ns", i, values) == 0 && n_ranks > 0)
            sum += (uint64_t)values[n_ranks - 1];
    free(values);
    return (int64_t)sum;
}

static int try_file(const char *path, int64_t *sum)
{
    struct rkc_reader *reader;
    char text[512] = "";
    int status = rkc_reader_open(path, &reader, text, sizeof text);
    if (status) {
        /* A failure is told in one line. */
        if (text[0] == '\0' || strchr(text, '\n'))
            abort();
        *sum = 0;
        return status;
    }
    *sum = touch(reader);
    rkc_reader_close(reader);
    return 0;
}

#ifdef RKC_LIBFUZZER

/* Of the HDF5 library, not in its headers. */
uint32_t H5_checksum_metadata(const void *data, size_t size, uint32_t initial);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

static uint64_t number(const uint8_t *at, size_t bytes)
{
    uint64_t value = 0;
    for (size_t i = bytes; i-- > 0;)
        value = value << 8 | at[i];
    return value;
}

static void put_checksum(uint8_t *data, size_t size, size_t from, size_t bytes)
{
    if (from > size || bytes > size - from || size - from - bytes < 4)
        return;
    uint32_t sum = H5_checksum_metadata(data + from, bytes, 0);
    memcpy(data + from + bytes, &sum, sizeof sum);
}

/* Put right the continuation chunks that the messages from `at` on name. */
static void repair_messages(uint8_t *data, size_t size, size_t at, size_t end, size_t header)
{
    while (at + header <= end) {
        size_t bytes = (size_t)number(data + at + 1, 2);
        if (bytes > end - at - header)
            return;
        if (data[at] == 0x10 && bytes >= 16) {
            uint64_t from = number(data + at + header, 8);
            uint64_t length = number(data + at + header + 8, 8);
            if (length >= 8 && from < size && length <= size - from)
                put_checksum(data, size, (size_t)from, (size_t)length - 4);
        }
        at += header + bytes;
    }
}

static void repair(uint8_t *data, size_t size)
{
    put_checksum(data, size, 0, 44);
    for (size_t i = 0; i + 32 < size; i++) {
        if (memcmp(data + i, "OHDR\2", 5) != 0)
            continue;
        unsigned flags = data[i + 5];
        size_t at = i + 6 + (flags & 0x20 ? 16 : 0) + (flags & 0x10 ? 4 : 0);
        size_t width = (size_t)1 << (flags & 3);
        if (at + width > size)
            continue;
        uint64_t bytes = number(data + at, width);
        at += width;
        if (bytes > size - at || size - at - bytes < 4)
            continue;
        repair_messages(data, size, at, at + (size_t)bytes, 4 + (flags & 4 ? 2 : 0));
        put_checksum(data, size, i, at + (size_t)bytes - i);
    }
}

/* Changes in place: what is moved is no file any longer. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    static const uint8_t values[] = {0, 1, 2, 3, 8, 0x10, 0x7f, 0x80, 0xfe, 0xff};
    if (size < 64 || size > max_size)
        return size;
    srandom(seed);
    for (long n = 1 + random() % 6; n > 0; n--) {
        uint8_t *at = data + (size_t)random() % (size - 8);
        size_t from = (size_t)random() % (size - 8);
        switch (random() % 8) {
        case 0:
            memmove(at, data + from, 1 + (size_t)random() % 8);
            break;
        case 1:
            memset(at, values[(size_t)random() % sizeof values], 1 + (size_t)random() % 8);
            break;
        case 2:
            *at ^= (uint8_t)(1 << random() % 8);
            break;
        case 3:
            *at = (uint8_t)(*at + (random() % 2 ? 1 : -1));
            break;
        default:
            *at = values[(size_t)random() % sizeof values];
            break;
        }
    }
    if (random() % 64 == 0)
        size -= (size_t)random() % (size / 2);
    repair(data, size);
    return size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int64_t sum;
    char path[64];
    uint8_t *copy = malloc(size + 1);
    /* HDF5 wants a name that it can resolve, which that of a memfd is not. */
    snprintf(path, sizeof path, "/dev/shm/rankclock_fuzz.%ld", (long)getpid());
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (!copy || fd < 0)
        abort();
    memcpy(copy, data, size);
    repair(copy, size);
    if (write(fd, copy, size) != (ssize_t)size)
        abort();
    free(copy);
    close(fd);
    try_file(path, &sum);
    unlink(path);
    return 0;
}

#else

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        int64_t sum;
        int status = try_file(argv[i], &sum);
        printf("%s: %s %lld\n", argv[i], rkc_status_name(status), (long long)sum);
    }
    return 0;
}

#endif
