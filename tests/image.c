/* image.c - the image: how it grows, what is read back of it, and whose it is. */
#include "autoconf.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "identity.h"
#include "image.h"
#include "log.h"
#include "tap.h"

#if defined(__has_feature)
#if !__has_feature(address_sanitizer)
#define WITHOUT_ADDRESS_SANITIZER
#endif
#elif !defined(__SANITIZE_ADDRESS__)
#define WITHOUT_ADDRESS_SANITIZER
#endif

enum { STEP = 64 << 10, BLOCK = 1000 };

static char folder[] = "/tmp/rankclock-image.XXXXXX";

static int fill(struct rkc_image *image, int blocks)
{
    for (int i = 0; i < blocks; i++) {
        struct rkc_fact_block *fact = rkc_image_block(image, RKC_BLOCK_FACT, BLOCK);
        if (!fact)
            return i;
        snprintf(fact->text, 32, "%d", i);
        rkc_image_publish(&fact->block);
    }
    return blocks;
}

/* Blocks that were filled, read in order; -1 when one is not as it was written. */
static int count(const struct rkc_view *view, int *broken)
{
    const struct rkc_block *block = NULL;
    int n = 0;
    *broken = 0;
    while ((block = rkc_view_next(view, block, broken))) {
        char want[32];
        snprintf(want, sizeof want, "%d", n++);
        if (block->kind != RKC_BLOCK_FACT || strcmp((const char *)(block + 1), want) != 0)
            return -1;
    }
    return n;
}

static int count_file(const char *path, int *broken, char text[512])
{
    struct rkc_view view;
    if (rkc_view_open(&view, path, text, 512) != 0)
        return -1;
    int n = count(&view, broken);
    rkc_view_close(&view);
    return n;
}

static void identify(struct rkc_image *image)
{
    struct rkc_image_header *header = rkc_image_header(image);
    struct rkc_identity *identity = rkc_identity();
    rkc_identity_read("", 0);
    strcpy(header->host, identity->host);
    strcpy(header->boot_id, identity->boot_id);
    rkc_clock_read(&header->clock.pair[0]);
    atomic_store(&header->clock.n, 1u);
}

/* ---- growing ---- */

static void test_memory(void)
{
    struct rkc_image image;
    struct rkc_view view;
    int broken;
    is_int(rkc_image_create(&image, NULL, STEP), 0, "an image is made in memory");
    const struct rkc_image_header *header = rkc_image_header(&image);
    is_int(atomic_load(&header->rank), -1, "which knows no rank yet");
    is_int(fill(&image, 1000), 1000, "it grows");
    is_int((int64_t)image.limit % STEP, 0, "by whole steps");
    ok(image.limit >= atomic_load(&header->used) && image.limit - STEP < atomic_load(&header->used),
       "as far as it must");
    is_int((int64_t)atomic_load(&header->backed), (int64_t)image.limit, "and tells how far");
    rkc_view_own(&view, &image);
    is_int(count(&view, &broken), 1000, "its blocks can be walked");
    ok(!broken && !view.live, "and are what they were");
    rkc_view_close(&view);
    struct rkc_block *block = rkc_image_block(&image, RKC_BLOCK_NOTE, 1);
    is_int((int64_t)block->bytes, RKC_UNIT, "a block is whole units");
    is_int((int64_t)atomic_load(&block->count), 0, "and counts when it is complete");
    rkc_image_destroy(&image);
    rkc_image_destroy(&image);
    ok(!image.base, "an image can be given back, and again");
}

static void test_full(void)
{
    struct rkc_image image;
    struct rkc_view view;
    int broken;
    rkc_image_create(&image, NULL, STEP);
    image.reserve = 10 * STEP; /* as if there were no more addresses */
    int n = fill(&image, 10000);
    ok(n > 500 && n < 10000, "an image that is full gives no more blocks");
    ok(!rkc_image_block(&image, RKC_BLOCK_FACT, 5 * STEP), "nor large ones");
    rkc_view_own(&view, &image);
    is_int(count(&view, &broken), n, "what is in it stays");
    rkc_image_destroy(&image);
}

/* In a child, for the limits and the memory are its own. Its status is 0 when `test` gives 0. */
static int in_child(int (*test)(void))
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        _exit(test());
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

#ifdef WITHOUT_ADDRESS_SANITIZER
static int little_addresses(const char *spool)
{
    struct rlimit limit = {64 << 20, 64 << 20};
    struct rkc_image image;
    if (setrlimit(RLIMIT_AS, &limit) != 0 || rkc_image_create(&image, spool, 0) != 0)
        return 1;
    if (image.reserve != (16u << 20))
        return 2;
    int n = fill(&image, 100000);
    void *rest = malloc(8 << 20);            /* the program can still have what it needs */
    int bad = n < 10000 ? 3 : !rest ? 4 : 0; /* 16 MiB in blocks of 1,024 bytes */
    free(rest);
    rkc_image_destroy(&image);
    return bad;
}

static int little_memory(void)
{
    return little_addresses(NULL);
}

static int little_file(void)
{
    return little_addresses(folder);
}

static int some_memory(void)
{
    struct rlimit limit = {(rlim_t)2 << 30, (rlim_t)2 << 30};
    struct rkc_image image;
    if (setrlimit(RLIMIT_AS, &limit) != 0 || rkc_image_create(&image, NULL, 0) != 0)
        return 1;
    return image.reserve > (256u << 20);
}

/* Memory that the kernel has promised to this process: of it alone can there be too little where
 * it promises no more than there is (vm.overcommit_memory 2). */
static long promised_kib(void)
{
    FILE *in = fopen("/proc/self/smaps", "r");
    char line[512];
    long kib = 0, sum = 0;
    while (in && fgets(line, sizeof line, in)) {
        sscanf(line, "Size: %ld", &kib);
        sum += strncmp(line, "VmFlags:", 8) == 0 && strstr(line, " ac") ? kib : 0;
    }
    if (in)
        fclose(in);
    return sum;
}

static int promised(const char *spool)
{
    struct rkc_image image;
    long before = promised_kib();
    if (rkc_image_create(&image, spool, 0) != 0 || fill(&image, 1000) != 1000)
        return 1;
    long more = promised_kib() - before;
    int bad = more > (long)(image.limit >> 10) + 64 ? 2 : 0; /* the heap may have grown, too */
    rkc_image_destroy(&image);
    return bad;
}

static int promised_memory(void)
{
    return promised(NULL);
}

static int promised_file(void)
{
    return promised(folder);
}

/* A limit on what may be written to is met when memory is made so, as that on promises is. */
static int no_more_memory(void)
{
    struct rlimit limit;
    struct rkc_image image;
    struct rkc_view view;
    int broken;
    long kib = 0;
    FILE *in = fopen("/proc/self/status", "r");
    char line[256];
    while (in && fgets(line, sizeof line, in))
        sscanf(line, "VmData: %ld", &kib);
    if (in)
        fclose(in);
    limit.rlim_cur = limit.rlim_max = ((rlim_t)kib << 10) + (2 << 20);
    if (!kib || setrlimit(RLIMIT_DATA, &limit) != 0 || rkc_image_create(&image, NULL, STEP) != 0)
        return 1;
    int n = fill(&image, 10000);
    rkc_view_own(&view, &image);
    return n < 500 || n == 10000 ? 2 : count(&view, &broken) != n || broken ? 3 : 0;
}

static int no_memory(void)
{
    struct rlimit limit = {64 << 20, 64 << 20};
    struct rkc_image image;
    void *volatile taken = &limit;
    setrlimit(RLIMIT_AS, &limit);
    while (taken)
        taken = malloc(8 << 20);
    return rkc_image_create(&image, NULL, 0) == RKC_ENOMEM && !image.base ? 0 : 1;
}

static void test_address_space(void)
{
    is_int(in_child(little_memory), 0, "under a limit of 64 MiB it takes a part of them");
    is_int(in_child(little_file), 0, "also behind a file");
    is_int(in_child(some_memory), 0, "under one of 2 GiB an eighth");
    is_int(in_child(no_memory), 0, "and where there is none, none");
    is_int(in_child(promised_memory), 0, "no more is promised to it than it has in use");
    is_int(in_child(promised_file), 0, "nor behind a file");
    is_int(in_child(no_more_memory), 0,
           "where memory is refused it gives no more blocks, and what is in it stays");
}
#else
static void test_address_space(void)
{
    skip(7, "AddressSanitizer needs more addresses than any limit leaves");
}
#endif

/* ---- the spool ---- */

static void test_spool(void)
{
    struct rkc_image image;
    struct stat file;
    char text[512];
    int broken;
    is_int(rkc_image_create(&image, folder, STEP), 0, "an image is made behind a file");
    ok(image.spool.grows && strncmp(image.spool.name, folder, strlen(folder)) == 0,
       "in the folder wanted");
    is_int(stat(image.spool.name, &file), 0, "it is there at once");
    is_int(file.st_mode & 0777, 0600, "for its owner alone");
    identify(&image);
    fill(&image, 500);
    is_int(count_file(image.spool.name, &broken, text), 500, "others read what is written");
    stat(image.spool.name, &file);
    is_int(file.st_size, (int64_t)image.limit, "the file has all bytes that are used");
    is_int((int64_t)file.st_blocks * 512 >= file.st_size, 1, "and none of them is a hole");
    char name[sizeof image.spool.name];
    strcpy(name, image.spool.name);
    rkc_image_destroy(&image);
    is_int(access(name, F_OK), -1, "it goes with the image");

    is_int(rkc_image_create(&image, "/nowhere/at/all", 0), 0, "without the folder it is in memory");
    ok(!image.spool.name[0], "alone");
    rkc_image_destroy(&image);

    char longest[500] = "";
    while (strlen(longest) < sizeof longest - 10)
        strcat(longest, *longest ? "/." : folder);
    is_int(rkc_image_create(&image, longest, 0), 0, "and for one with too long a name");
    ok(!image.spool.grows, "that is not cut short");
    rkc_image_destroy(&image);
}

/* The file is full after some steps; with SIGXFSZ at its default, one byte too many kills. */
static int small_file(void)
{
    struct rlimit limit = {4 * STEP + 100, RLIM_INFINITY};
    struct rkc_image image;
    struct rkc_view view;
    char text[512];
    int broken;
    setrlimit(RLIMIT_FSIZE, &limit);
    if (rkc_image_create(&image, folder, STEP) != 0 || fill(&image, 1000) != 1000)
        return 1;
    rkc_view_own(&view, &image);
    if (count(&view, &broken) != 1000 || broken || image.spool.grows)
        return 2;
    if (atomic_load(&rkc_image_header(&image)->backed) != 4 * STEP)
        return 3;
    int n = count_file(image.spool.name, &broken, text);
    if (n < 200 || n > 4 * STEP / BLOCK)
        return 4;
    if (rkc_image_save(&image, "too-large", NULL) != RKC_EIO || errno != EFBIG)
        return 5;
    limit.rlim_cur = RLIM_INFINITY;
    setrlimit(RLIMIT_FSIZE, &limit);
    char path[64];
    snprintf(path, sizeof path, "%s/saved", folder);
    if (rkc_image_save(&image, path, NULL) != 0 || count_file(path, &broken, text) != 1000 ||
        broken)
        return 6;
    unlink(path);
    rkc_image_destroy(&image);
    return 0;
}

static int no_file(void)
{
    struct rlimit limit = {100, RLIM_INFINITY};
    struct rkc_image image;
    setrlimit(RLIMIT_FSIZE, &limit);
    int status = rkc_image_create(&image, folder, STEP);
    int bad = status || image.spool.grows || fill(&image, 1000) != 1000;
    rkc_image_destroy(&image);
    return bad;
}

static void test_file_size(void)
{
    is_int(in_child(small_file), 0,
           "beyond the file size limit an image goes on in memory; the file has the beginning");
    is_int(in_child(no_file), 0,
           "with a limit below the first step it is in memory from the start");
}

/* ---- saving and reading back ---- */

static char *read_all(const char *path, size_t *bytes)
{
    FILE *in = fopen(path, "rb");
    char *data = malloc(4 << 20);
    *bytes = fread(data, 1, 4 << 20, in);
    fclose(in);
    return data;
}

static void write_all(const char *path, const char *data, size_t bytes)
{
    FILE *out = fopen(path, "wb");
    fwrite(data, 1, bytes, out);
    fclose(out);
}

static void test_save(void)
{
    struct rkc_image image;
    struct stat file;
    char path[64], text[512] = "";
    int broken;
    rkc_image_create(&image, NULL, STEP);
    fill(&image, 300);
    snprintf(path, sizeof path, "%s/rank-0.rkci", folder);
    is_int(rkc_image_save(&image, path, NULL), 0, "an image is saved");
    stat(path, &file);
    is_int(file.st_size, (int64_t)atomic_load(&rkc_image_header(&image)->used), "all that is used");
    is_int(file.st_mode & 0777, 0600, "for its owner alone");
    is_int(count_file(path, &broken, text), 300, "and read back");
    ok(!broken, "whole");
    is_int(rkc_image_save(&image, "/nowhere/rank-0.rkci", NULL), RKC_EIO,
           "where it cannot be it is not");
    is_int(errno, ENOENT, "for the reason given");

    size_t bytes;
    char *data = read_all(path, &bytes);
    int bad = 0, last = 301, fell = 0;
    for (int i = 200; i >= 0; i--) {
        write_all(path, data, bytes * (size_t)i / 200);
        int n = count_file(path, &broken, text);
        bad += n < 0 && bytes * (size_t)i / 200 >= RKC_BLOCKS_START;
        fell += n > last;
        last = n;
    }
    is_int(bad, 0, "of a file cut short the whole blocks are read");
    is_int(fell, 0, "fewer the shorter it is");
    is_int(last, -1, "an empty one is none");
    ok(strstr(text, "too short") && strstr(text, path), "and is told so");
    free(data);
    unlink(path);
    rkc_image_destroy(&image);
}

/* Read an image whose header was changed by `spoil`. */
static int spoilt(struct rkc_image *image, void (*spoil)(struct rkc_image_header *), char text[512])
{
    struct rkc_image_header *header = rkc_image_header(image), saved;
    struct rkc_view view;
    char path[64];
    snprintf(path, sizeof path, "%s/spoilt", folder);
    memcpy(&saved, header, sizeof saved);
    rkc_image_save(image, path, NULL);
    size_t bytes;
    char *data = read_all(path, &bytes);
    spoil((struct rkc_image_header *)(void *)data);
    write_all(path, data, bytes);
    free(data);
    text[0] = 0;
    int status = rkc_view_open(&view, path, text, 512);
    if (status == 0)
        rkc_view_close(&view);
    unlink(path);
    return status;
}

static void other_magic(struct rkc_image_header *header)
{
    atomic_store(&header->magic, 1u);
}

static void other_layout(struct rkc_image_header *header)
{
    header->layout = 99;
}

static void other_order(struct rkc_image_header *header)
{
    header->order = 0x04030201;
}

static void other_node(struct rkc_image_header *header)
{
    header->node_bytes = 64;
}

static void used_nothing(struct rkc_image_header *header)
{
    atomic_store(&header->used, 1u);
}

static void used_everything(struct rkc_image_header *header)
{
    atomic_store(&header->used, UINT64_MAX);
    atomic_store(&header->backed, UINT64_MAX);
}

static void test_refused(void)
{
    struct rkc_image image;
    struct rkc_view view;
    char text[512];
    rkc_image_create(&image, NULL, STEP);
    fill(&image, 10);
    is_int(spoilt(&image, other_magic, text), RKC_EFORMAT, "another file is no image");
    ok(strstr(text, "not an image") != NULL, "and is told so");
    is_int(spoilt(&image, other_layout, text), RKC_EVERSION, "another layout is another version's");
    ok(strstr(text, "another version") != NULL, "and is told so");
    is_int(spoilt(&image, other_order, text), RKC_EVERSION, "as is another byte order");
    is_int(spoilt(&image, other_node, text), RKC_EVERSION, "or size of a node");
    is_int(spoilt(&image, used_nothing, text), RKC_EFORMAT, "a size that cannot be is damage");
    is_int(spoilt(&image, used_everything, text), 0, "one beyond the file means the file's");
    is_int(rkc_view_open(&view, "/nowhere", text, sizeof text), RKC_EIO, "no file is no image");
    is_int(rkc_view_open(&view, folder, text, sizeof text), RKC_EFORMAT, "nor is a folder");
    is_int(rkc_view_open(&view, "/dev/zero", text, sizeof text), RKC_EFORMAT, "or a device");
    rkc_image_destroy(&image);
}

static void test_broken_chain(void)
{
    struct rkc_image image;
    struct rkc_view view;
    int broken;
    rkc_image_create(&image, NULL, STEP);
    fill(&image, 10);
    rkc_view_own(&view, &image);
    struct rkc_block *block = (void *)(image.base + RKC_BLOCKS_START);
    const uint64_t good = block->bytes,
                   sizes[] = {0,        8,          good - 1,        good + 1,
                              1u << 30, UINT64_MAX, UINT64_MAX - 63, view.bytes};
    int unseen = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        block->bytes = sizes[i];
        unseen += count(&view, &broken) != 0 || !broken;
    }
    is_int(unseen, 0, "a block's size that leads nowhere ends the walk, and is told");
    block->bytes = good;
    is_int(count(&view, &broken), 10, "a right one does not");
    rkc_image_destroy(&image);
}

/* ---- who is alive ---- */

static int opens_live(const struct rkc_image *image)
{
    struct rkc_view view;
    char text[512];
    if (rkc_view_open(&view, image->spool.name, text, sizeof text) != 0)
        return -1;
    int live = view.live;
    rkc_view_close(&view);
    return live;
}

static void test_live(void)
{
    struct rkc_image image;
    rkc_image_create(&image, folder, STEP);
    identify(&image);
    struct rkc_image_header *header = rkc_image_header(&image);
    is_int(opens_live(&image), 1, "an image whose process runs is live");

    atomic_store(&header->state, (uint32_t)RKC_STATE_FINALIZED);
    is_int(opens_live(&image), 0, "one that was finalized is not");
    atomic_store(&header->state, (uint32_t)RKC_STATE_RUNNING);
    atomic_store(&header->clock.ended, 1u);
    is_int(opens_live(&image), 0, "nor one that measures no more");
    atomic_store(&header->clock.ended, 0u);
    header->host[0] ^= 1;
    is_int(opens_live(&image), 0, "or that of another host");
    header->host[0] ^= 1;
    header->boot_id[0] ^= 1;
    is_int(opens_live(&image), 0, "or boot");
    header->boot_id[0] ^= 1;
    int64_t begin_ns = header->clock.pair[0].monotonic_ns;
    header->clock.pair[0].monotonic_ns = 1;
    is_int(opens_live(&image), 0, "or of a process that began later, whatever its number");
    header->clock.pair[0].monotonic_ns = begin_ns;

    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    siginfo_t info;
    waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT);
    header->pid = child;
    is_int(opens_live(&image), 0, "or of a zombie");
    waitpid(child, NULL, 0);
    is_int(opens_live(&image), 0, "or of one that is gone");
    header->pid = -1;
    is_int(opens_live(&image), 0, "or of none");
    header->pid = getpid();
    is_int(opens_live(&image), 1, "which is asked anew each time");
    rkc_image_destroy(&image);
}

int main(void)
{
    if (!mkdtemp(folder))
        return 1;
    rkc_log_set_level(-1);
    test_memory();
    test_full();
    test_address_space();
    test_spool();
    test_file_size();
    test_save();
    test_refused();
    test_broken_chain();
    test_live();
    is_int(rmdir(folder), 0, "no file is left behind");
    return done_testing();
}
