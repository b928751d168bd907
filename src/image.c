/* image.c - memory is made usable a step at a time, in the file before in the map: a page
 * of a shared map that the file system has no room for is a SIGBUS at first touch. */
#include "autoconf.h"

#include "image.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "identity.h"
#include "line.h"
#include "log.h"

enum { DEFAULT_STEP = 256 << 10 };
static const size_t LARGEST = RKC_IMAGE_BYTES_MAX, SMALLEST = (size_t)16 << 20;

static size_t step_bytes = DEFAULT_STEP;

/* ---- growing ---- */

/* The file has no more room: go on in memory over the rest of the map. */
static int leave_file(struct rkc_image *image, int error)
{
    rkc_log(RKC_LOG_WARNING, "%s cannot grow beyond %zu bytes (%s): going on in memory",
            image->spool.name, image->limit, strerror(error));
    void *rest = mmap(image->base + image->limit, image->reserve - image->limit, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    if (rest == MAP_FAILED)
        return RKC_ENOMEM;
    madvise(image->base + image->limit, image->reserve - image->limit, MADV_DONTFORK);
    image->spool.grows = 0;
    if (image->left_file)
        image->left_file();
    return 0;
}

/* Make bytes [limit, upto) usable. */
static int grow(struct rkc_image *image, size_t upto)
{
    size_t to = (upto + step_bytes - 1) / step_bytes * step_bytes;
    if (to > image->reserve)
        to = image->reserve;
    if (upto > to)
        return RKC_ENOMEM;
    if (image->spool.grows) {
        int error = rkc_spool_extend(&image->spool, image->limit, to);
        if (!error) {
            image->limit = to;
            atomic_store_explicit(&rkc_image_header(image)->backed, to, memory_order_release);
            return 0;
        }
        if (leave_file(image, error) != 0)
            return RKC_ENOMEM;
    }
    /* `backed` keeps telling how much of it the spool file holds, if there is one. */
    if (mprotect(image->base + image->limit, to - image->limit, PROT_READ | PROT_WRITE) != 0)
        return RKC_ENOMEM;
    image->limit = to;
    if (!image->spool.name[0])
        atomic_store_explicit(&rkc_image_header(image)->backed, to, memory_order_release);
    return 0;
}

void *rkc_image_block(struct rkc_image *image, enum rkc_block_kind kind, size_t bytes)
{
    struct rkc_image_header *header = rkc_image_header(image);
    bytes = (bytes + RKC_UNIT - 1) / RKC_UNIT * RKC_UNIT;
    size_t used = atomic_load_explicit(&header->used, memory_order_relaxed);
    if (used + bytes > image->limit && grow(image, used + bytes) != 0)
        return NULL;
    struct rkc_block *block = (void *)(image->base + used);
    block->bytes = bytes;
    block->kind = kind;
    atomic_store_explicit(&header->used, used + bytes, memory_order_release);
    return block;
}

/* ---- creating ---- */

/* The most addresses to take: an eighth of what the program may have, for it needs the rest. */
static size_t largest_allowed(void)
{
    struct rlimit limit;
    size_t bytes = LARGEST;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        while (bytes > SMALLEST && bytes > limit.rlim_cur / 8)
            bytes /= 2;
    return bytes;
}

static void *reserve(int prot, int flags, int fd, size_t *size)
{
    for (size_t bytes = largest_allowed(); bytes >= SMALLEST; bytes /= 2) {
        void *base = mmap(NULL, bytes, prot, flags, fd, 0);
        if (base != MAP_FAILED) {
            *size = bytes;
            return base;
        }
    }
    return NULL;
}

static int create_spooled(struct rkc_image *image, const char *setting, size_t first)
{
    int fd;
    char why[RKC_SPOOL_WHY_MAX];
    int status = rkc_spool_create(&image->spool, setting, first, &fd, why);
    if (status == 0) {
        image->base = reserve(PROT_READ | PROT_WRITE, MAP_SHARED, fd, &image->reserve);
        close(fd); /* a number that the program may close, or count on */
        if (!image->base) {
            snprintf(why, sizeof why, "%.200s: %s", image->spool.name, strerror(ENOMEM));
            rkc_spool_remove(&image->spool);
            status = RKC_ENOMEM;
        }
    }
    if (status != 0 && rkc_identity_speaks())
        rkc_log(RKC_LOG_WARNING,
                "recording in memory alone, which a run that is killed does not leave behind: %s "
                "(RANKCLOCK_SPOOL)", why);
    return status;
}

static int create_anonymous(struct rkc_image *image, size_t first)
{
    image->base = reserve(PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                          &image->reserve);
    if (!image->base)
        return RKC_ENOMEM;
    if (mprotect(image->base, first, PROT_READ | PROT_WRITE) != 0) {
        munmap(image->base, image->reserve);
        image->base = NULL;
        return RKC_ENOMEM;
    }
    return 0;
}

static void write_header(struct rkc_image *image)
{
    struct rkc_image_header *header = rkc_image_header(image);
    header->layout = RKC_IMAGE_LAYOUT;
    header->order = RKC_IMAGE_ORDER;
    header->header_bytes = RKC_HEADER_SIZE;
    header->node_bytes = sizeof(struct rkc_node);
    header->ring_records = RKC_RING_RECORDS;
    header->time_buckets = RKC_TIME_BUCKETS;
    header->reserve = image->reserve;
    header->pid = getpid();
    header->uid = getuid();
    atomic_store(&header->rank, -1);
    atomic_store(&header->local_rank, -1);
    atomic_store(&header->cpu, -1);
    atomic_store(&header->used, (uint64_t)RKC_BLOCKS_START);
    atomic_store(&header->backed, (uint64_t)image->limit);
    header->base = (uintptr_t)image->base;
    struct rkc_node *nil = rkc_image_at(image->base, RKC_NIL_UNIT);
    nil->region = UINT32_MAX;
    nil->self = nil->last = nil->follow = rkc_pair(RKC_NIL_UNIT, 0);
    atomic_store_explicit(&header->magic, RKC_IMAGE_MAGIC, memory_order_release);
}

int rkc_image_create(struct rkc_image *image, const char *spool, size_t step)
{
    *image = (struct rkc_image){.base = NULL};
    step_bytes = step ? step : DEFAULT_STEP;
    int spooled = spool && *spool && create_spooled(image, spool, step_bytes) == 0;
    if (!spooled && create_anonymous(image, step_bytes) != 0)
        return RKC_ENOMEM;
    image->limit = step_bytes;
    madvise(image->base, image->reserve, MADV_DONTFORK);
    write_header(image);
    return 0;
}

void rkc_image_destroy(struct rkc_image *image)
{
    if (!image->base)
        return;
    munmap(image->base, image->reserve);
    image->base = NULL;
    rkc_spool_remove(&image->spool);
}

/* ---- saving ---- */

static int write_all(int fd, const char *data, size_t bytes)
{
    while (bytes) {
        ssize_t n = write(fd, data, bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return RKC_EIO;
        data += n;
        bytes -= (size_t)n;
    }
    return 0;
}

/* Not on the stack: a signal handler's may be small. */
static char save_name[PATH_MAX + 8];
static char save_head[RKC_HEADER_SIZE] __attribute__((aligned(RKC_UNIT)));

/* The header of a copy, made last. In it everything is there, also what the spool file had no room
 * for. */
static void write_head(const struct rkc_image *image, size_t used, const struct rkc_image_end *end)
{
    struct rkc_image_header *header = (void *)save_head;
    memcpy(save_head, image->base, sizeof save_head);
    atomic_store(&header->backed, (uint64_t)used);
    if (!end)
        return;
    if (atomic_load(&header->state) == RKC_STATE_RUNNING)
        atomic_store(&header->state, (uint32_t)end->state);
    if (atomic_load(&header->signal) == 0)
        atomic_store(&header->signal, end->signal);
    if (!atomic_load(&header->clock.ended)) {
        rkc_clock_read(&header->clock.end);
        atomic_store(&header->clock.ended, 1);
    }
}

/* How long to wait for threads that go on until their rings are full, and to try for a copy in whose
 * time no visit ended. */
static const int64_t SETTLE_NS = 20000000, STEADY_NS = 250000000;

static void doze(long ns)
{
    struct timespec time = {.tv_nsec = ns};
    nanosleep(&time, NULL);
}

/* A sum that stays the same as long as no visit ends and none is folded; but for those of loops of
 * polls, which no full ring holds up and nothing is inside of. *threads gets how many there are. */
static uint64_t progress(const struct rkc_image *image, int *threads)
{
    struct rkc_view view;
    const struct rkc_block *block = NULL;
    uint64_t sum = 0;
    int broken;
    rkc_view_own(&view, image);
    for (*threads = 0; (block = rkc_view_next(&view, block, &broken));) {
        const struct rkc_ring *ring = (const void *)block;
        if (block->kind != RKC_BLOCK_THREAD)
            continue;
        sum += atomic_load(&ring->head) + atomic_load(&ring->tail);
        *threads += atomic_load(&ring->live) != 0;
    }
    return sum;
}

/* Let other threads come to where they stop. */
static void settle(const struct rkc_image *image)
{
    int64_t until_ns = rkc_clock_monotonic_ns() + SETTLE_NS;
    int threads, settled = 0;
    uint64_t now = progress(image, &threads);
    while (threads > 1 && !settled && rkc_clock_monotonic_ns() < until_ns) {
        uint64_t before = now;
        doze(1000000);
        now = progress(image, &threads);
        settled = now == before;
    }
}

static int write_behind_head(int fd, const struct rkc_image *image, size_t used)
{
    if (lseek(fd, sizeof save_head, SEEK_SET) < 0)
        return RKC_EIO;
    return write_all(fd, image->base + sizeof save_head, used - sizeof save_head);
}

/* A visit that ends as all is copied can be in neither its ring nor open, or in both: copy again then.
 * *used gets the bytes that the copy has. */
static int write_steady(int fd, const struct rkc_image *image, size_t *used)
{
    int64_t until_ns = rkc_clock_monotonic_ns() + STEADY_NS;
    int threads;
    for (settle(image);; doze(50000)) {
        uint64_t before = progress(image, &threads);
        *used = atomic_load_explicit(&rkc_image_header(image)->used, memory_order_acquire);
        if (!rkc_spool_size_allowed(*used)) {
            errno = EFBIG;
            return RKC_EIO;
        }
        if (write_behind_head(fd, image, *used) != 0)
            return RKC_EIO;
        atomic_thread_fence(memory_order_seq_cst);
        if (progress(image, &threads) == before || rkc_clock_monotonic_ns() > until_ns)
            return 0;
    }
}

static int write_at_start(int fd)
{
    return lseek(fd, 0, SEEK_SET) < 0 ? RKC_EIO : write_all(fd, save_head, sizeof save_head);
}

int rkc_image_save(const struct rkc_image *image, const char *path, const struct rkc_image_end *end)
{
    struct rkc_line line = rkc_line_in(save_name, sizeof save_name);
    rkc_line_add(&line, path);
    rkc_line_add(&line, ".tmp");
    if (line.cut) {
        errno = ENAMETOOLONG;
        return RKC_EIO;
    }
    size_t used;
    int fd = open(save_name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return RKC_EIO;
    int status = write_steady(fd, image, &used);
    if (!status) {
        write_head(image, used, end);
        status = write_at_start(fd);
    }
    int error = errno;
    if (close(fd) != 0 && !status) {
        status = RKC_EIO;
        error = errno;
    }
    if (!status && rename(save_name, path) != 0) {
        status = RKC_EIO;
        error = errno;
    }
    if (status)
        unlink(save_name);
    errno = error;
    return status;
}
