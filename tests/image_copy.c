/* image_copy.c - copy an image and change what its header says:
 *
 *   image_copy [-r RANK] [-s SIZE] [-t STATE] [-g SIGNAL] [-l LAYOUT] [-w WORLD] [-i RUN] [-p PID]
 *              [-c TICKS] [-n COPIES] IMAGE TO
 *
 * STATE and the like are the numbers in the header; TICKS are added to the time of its last clock
 * pair. With -n TO is a folder, in which as many ranks get one each, from RANK on, 64 to a node.
 * A copy has no byte that is not in use.
 */
#include "autoconf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "image.h"

static char *bytes;
static size_t n_bytes;

static int read_all(const char *path)
{
    FILE *file = fopen(path, "rb");
    const struct rkc_image_header *header;
    if (!file || fseek(file, 0, SEEK_END) != 0)
        return 0;
    long size = ftell(file);
    rewind(file);
    bytes = size >= RKC_HEADER_SIZE ? aligned_alloc(RKC_UNIT, (size_t)size + RKC_UNIT) : NULL;
    if (!bytes || fread(bytes, 1, (size_t)size, file) != (size_t)size)
        return 0;
    fclose(file);
    header = (const void *)bytes;
    n_bytes = header->used < (uint64_t)size ? header->used : (size_t)size;
    return 1;
}

static int write_all(const char *path)
{
    FILE *file = fopen(path, "wb");
    return file && fwrite(bytes, 1, n_bytes, file) == n_bytes && fclose(file) == 0;
}

static void add_ticks(struct rkc_image_header *header, uint64_t ticks)
{
    uint32_t n = header->clock.n;
    header->clock.pair[n >= 2 ? 1 + (n - 1) % 2 : 0].ticks += ticks;
    header->clock.end.ticks += ticks;
}

/* The numbers of 32 bits that an option changes. */
static const struct {
    char option;
    size_t offset;
} numbers[] = {
    {'r', offsetof(struct rkc_image_header, rank)},
    {'s', offsetof(struct rkc_image_header, size)},
    {'t', offsetof(struct rkc_image_header, state)},
    {'g', offsetof(struct rkc_image_header, signal)},
    {'l', offsetof(struct rkc_image_header, layout)},
    {'p', offsetof(struct rkc_image_header, pid)},
};

static void change(struct rkc_image_header *header, int option, const char *value)
{
    int32_t number = (int32_t)atoi(value);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (option == numbers[i].option)
            memcpy((char *)header + numbers[i].offset, &number, sizeof number);
    if (option == 'w')
        snprintf(header->world_id, sizeof header->world_id, "%s", value);
    else if (option == 'i')
        snprintf(header->run_id, sizeof header->run_id, "%s", value);
    else if (option == 'c')
        add_ticks(header, strtoull(value, NULL, 10));
}

int main(int argc, char **argv)
{
    static const char options[] = "r:s:t:g:l:w:i:p:c:n:";
    int copies = 0, option;
    while ((option = getopt(argc, argv, options)) != -1)
        if (option == '?')
            return 2;
    if (argc - optind != 2 || !read_all(argv[optind])) {
        fprintf(stderr, "usage: image_copy [-%s VALUE]... IMAGE TO\n", options);
        return 2;
    }
    struct rkc_image_header *header = (void *)bytes;
    for (optind = 1; (option = getopt(argc, argv, options)) != -1;)
        if (option == 'n')
            copies = atoi(optarg);
        else
            change(header, option, optarg);
    const char *to = argv[optind + 1];
    int first = copies ? header->rank : 0, good = copies || write_all(to);
    for (int i = 0; i < copies && good; i++) {
        char path[4096];
        header->rank = first + i;
        header->pid = 1 + i;
        snprintf(header->host, sizeof header->host, "node%04d", i / 64);
        snprintf(path, sizeof path, "%s/rank-%d.rkci", to, first + i);
        good = write_all(path);
    }
    free(bytes);
    if (!good)
        perror(to);
    return !good;
}
