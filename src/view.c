/* view.c - an image to read, one's own or a file's bytes. Of a file whose process goes on the pages
 * come one by one, each from another instant: what must fit together is read until it holds still.
 */
#include "autoconf.h"

#include "image.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "identity.h"

void rkc_view_own(struct rkc_view *view, const struct rkc_image *image)
{
    *view = (struct rkc_view){
        .base = image->base,
        .bytes = atomic_load_explicit(&rkc_image_header(image)->used, memory_order_acquire)};
    if (image->spool.name[0])
        view->kept = atomic_load_explicit(&rkc_image_header(image)->backed, memory_order_acquire);
}

/* What this process alone has of a shared map are its page tables. */
void rkc_view_let_go(const struct rkc_view *view, size_t from, size_t to)
{
    from = (from + RKC_VIEW_STEP - 1) / RKC_VIEW_STEP * RKC_VIEW_STEP;
    to = (to < view->kept ? to : view->kept) / RKC_VIEW_STEP * RKC_VIEW_STEP;
    if (from < to)
        madvise((void *)(uintptr_t)(view->base + from), to - from, MADV_DONTNEED);
}

void rkc_view_close(struct rkc_view *view)
{
    free(view->owned);
    *view = (struct rkc_view){0};
}

const struct rkc_block *rkc_view_next(const struct rkc_view *view, const struct rkc_block *block,
                                      int *broken)
{
    size_t at = RKC_BLOCKS_START;
    if (block)
        at = (size_t)((const char *)block - view->base) + block->bytes;
    if (at + sizeof *block > view->bytes)
        return NULL;
    const struct rkc_block *next = (const void *)(view->base + at);
    uint64_t bytes = next->bytes;
    if (bytes < sizeof *block || bytes % RKC_UNIT || bytes > view->bytes - at) {
        *broken = 1;
        return NULL;
    }
    return next;
}

/* Read up to `bytes` from an offset; *got is less where the file ends. */
static int read_at(int fd, void *data, size_t bytes, size_t offset, size_t *got)
{
    for (*got = 0; *got < bytes;) {
        ssize_t n = pread(fd, (char *)data + *got, bytes - *got, (off_t)(offset + *got));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return RKC_EIO;
        if (n == 0)
            break;
        *got += (size_t)n;
    }
    return 0;
}

static int check_header(const struct rkc_image_header *header, const char *path, char *text,
                        size_t size)
{
    if (atomic_load(&header->magic) != RKC_IMAGE_MAGIC) {
        snprintf(text, size, "%s is not an image of rankclock", path);
        return RKC_EFORMAT;
    }
    if (header->order != RKC_IMAGE_ORDER || header->layout != RKC_IMAGE_LAYOUT ||
        header->header_bytes != RKC_HEADER_SIZE || header->node_bytes != sizeof(struct rkc_node) ||
        header->ring_records != RKC_RING_RECORDS || header->time_buckets != RKC_TIME_BUCKETS) {
        snprintf(text, size,
                 "%s was written by another version of rankclock (layout %u, this one reads %d)",
                 path, header->layout, RKC_IMAGE_LAYOUT);
        return RKC_EVERSION;
    }
    return 0;
}

/* Read and check the header. */
static int read_header(int fd, struct rkc_image_header *header, const char *path, char *text,
                       size_t size)
{
    size_t got;
    if (read_at(fd, header, RKC_HEADER_SIZE, 0, &got) != 0) {
        snprintf(text, size, "cannot read %s: %s", path, strerror(errno));
        return RKC_EIO;
    }
    if (got < RKC_HEADER_SIZE) {
        snprintf(text, size, "%s is too short to be an image of rankclock", path);
        return RKC_EFORMAT;
    }
    return check_header(header, path, text, size);
}

/* Bytes that the file holds of what its header says is there. */
static size_t bytes_there(const struct rkc_image_header *header, off_t file_size)
{
    uint64_t bytes = atomic_load(&header->used), backed = atomic_load(&header->backed);
    if (backed && bytes > backed)
        bytes = backed;
    return bytes < (uint64_t)file_size ? (size_t)bytes : (size_t)file_size;
}

static int read_blocks(int fd, struct rkc_view *view, size_t bytes, const char *path, char *text,
                       size_t size)
{
    size_t got;
    if (bytes > RKC_IMAGE_BYTES_MAX || bytes < RKC_BLOCKS_START) {
        snprintf(text, size, "%s is damaged: its header gives a size that cannot be", path);
        return RKC_EFORMAT;
    }
    view->owned = aligned_alloc(RKC_UNIT, (bytes + RKC_UNIT - 1) / RKC_UNIT * RKC_UNIT);
    if (!view->owned) {
        snprintf(text, size, "not enough memory to read %s", path);
        return RKC_ENOMEM;
    }
    view->base = view->owned;
    if (read_at(fd, view->owned, bytes, 0, &got) != 0) {
        snprintf(text, size, "cannot read %s: %s", path, strerror(errno));
        return RKC_EIO;
    }
    view->bytes = got / RKC_UNIT * RKC_UNIT;
    if (view->bytes >= RKC_BLOCKS_START)
        return 0;
    snprintf(text, size, "%s was cut short while it was read", path);
    return RKC_EFORMAT;
}

/* ---- reading what is being written ----
 *
 * Two readings that are equal were true at the instant between them, as every number only
 * grows (a minimum only falls). Numbers that change with each visit and stand for themselves
 * are left out of the comparison: they would never be equal twice. What was counted of a node's
 * full buckets belongs to it, and is read between the two. An image in which no visit ended between
 * the first reading and the last is as good as a dead process's.
 */

enum { STEADY_TRIES = 2000, TRIES_BEFORE_YIELD = 50, READ_TRIES = 10 };

/* A file that is read while its process goes on. */
struct reading {
    int fd;
    struct rkc_view *view;
    int behind; /* something that a node points to came behind what was read */
};

/* Whether a part of the image came out the same in two readings. */
typedef int same_fn(const void *a, const void *b, size_t bytes);

static int same_bytes(const void *a, const void *b, size_t bytes)
{
    return memcmp(a, b, bytes) == 0;
}

/* In the middle of a fold the sums are the same for some microseconds, behind the histogram. */
static int same_sums(const void *a, const void *b, size_t bytes)
{
    const struct rkc_node *x = a, *y = b;
    (void)bytes;
    return rkc_node_ahead(x) == 0 && memcmp(x->sums, y->sums, sizeof x->sums) == 0 &&
           memcmp(x->hist, y->hist, sizeof x->hist) == 0 && x->min == y->min && x->max == y->max &&
           x->high == y->high && x->filled == y->filled;
}

static int same_polls(const void *a, const void *b, size_t bytes)
{
    const struct rkc_polls *x = a, *y = b;
    (void)bytes;
    return rkc_polls_counted(x) == rkc_sums_current(x->sums)->visits &&
           memcmp(x->sums, y->sums, sizeof x->sums) == 0 &&
           memcmp(x->hist, y->hist, sizeof x->hist) == 0;
}

static int same_clock(const void *a, const void *b, size_t bytes)
{
    const struct rkc_image_header *x = a, *y = b;
    (void)bytes;
    return memcmp(&x->clock, &y->clock, sizeof x->clock) == 0;
}

/* Read what was counted of a node's full buckets. */
static void read_high(struct reading *reading, const void *part)
{
    const struct rkc_node *node = part;
    const struct rkc_view *view = reading->view;
    uint32_t unit = node->high, below = UINT32_MAX;
    while (unit && unit < below) {
        struct rkc_high_block *high = (void *)((char *)view->owned + (size_t)unit * RKC_UNIT);
        size_t offset = (size_t)unit * RKC_UNIT, got;
        if (offset > view->bytes || view->bytes - offset < sizeof *high) {
            reading->behind = 1;
            return;
        }
        if (high->block.kind != RKC_BLOCK_HIGH ||
            read_at(reading->fd, high, sizeof *high, offset, &got) != 0)
            return;
        below = unit;
        unit = high->next;
    }
}

/* Read a part of the view again until two readings are the same, with what belongs to it in
 * between. A file that is gone or a part that never holds still leaves the last reading. */
static void read_steady(struct reading *reading, const void *part, size_t bytes, same_fn *same,
                        void (*between)(struct reading *, const void *))
{
    char again[RKC_HEADER_SIZE] __attribute__((aligned(RKC_UNIT)));
    size_t offset = (size_t)((const char *)part - reading->view->base), got;
    char *into = (char *)reading->view->owned + offset;
    for (int i = 1; i <= STEADY_TRIES; i++) {
        atomic_thread_fence(memory_order_seq_cst);
        if (between)
            between(reading, into);
        if (read_at(reading->fd, again, bytes, offset, &got) != 0 || got < bytes)
            return;
        int steady = same(into, again, bytes);
        memcpy(into, again, bytes);
        if (steady)
            return;
        if (i % TRIES_BEFORE_YIELD == 0)
            sched_yield();
    }
}

static void read_steady_block(struct reading *reading, const struct rkc_block *block)
{
    const struct rkc_nodes_block *nodes = (const void *)block;
    uint32_t n = atomic_load(&block->count);
    switch (block->kind) {
    case RKC_BLOCK_NODES:
        if (n > RKC_NODES_PER_BLOCK || block->bytes < sizeof *nodes)
            break;
        for (uint32_t i = 0; i < n; i++)
            read_steady(reading, &nodes->node[i], sizeof nodes->node[i], same_sums, read_high);
        break;
    case RKC_BLOCK_POLLS:
        if (block->bytes >= sizeof(struct rkc_polls) && block->bytes <= RKC_HEADER_SIZE)
            read_steady(reading, block, block->bytes, same_polls, NULL);
        break;
    case RKC_BLOCK_TRAFFIC:
    case RKC_BLOCK_SIZES:
    case RKC_BLOCK_NOTE:
    case RKC_BLOCK_TIMED:
    case RKC_BLOCK_DEVICE:
        if (block->bytes <= RKC_HEADER_SIZE)
            read_steady(reading, block, block->bytes, same_bytes, NULL);
        break;
    default:
        break;
    }
}

/* Whether the view holds all that belongs to its nodes. */
static int read_steady_image(int fd, struct rkc_view *view)
{
    struct reading reading = {.fd = fd, .view = view};
    const struct rkc_block *block = NULL;
    int broken = 0;
    while ((block = rkc_view_next(view, block, &broken)))
        read_steady_block(&reading, block);
    read_steady(&reading, view->base, RKC_HEADER_SIZE, same_clock, NULL);
    return !reading.behind;
}

/* Whether all rings are as they were when the whole was read, first of all: then no visit ended
 * since, and what is in them belongs to the nodes as they are. */
static int stands_still(int fd, const struct rkc_view *view)
{
    enum { HEAD = offsetof(struct rkc_ring, record) };
    struct rkc_ring again;
    const struct rkc_block *block = NULL;
    int broken = 0, still = 1;
    while (still && (block = rkc_view_next(view, block, &broken))) {
        size_t got, offset = (size_t)((const char *)block - view->base);
        if (block->kind == RKC_BLOCK_THREAD && block->bytes >= sizeof again)
            still = read_at(fd, &again, HEAD, offset, &got) == 0 && got == HEAD &&
                    memcmp(&again, block, HEAD) == 0;
    }
    return still && !broken;
}

/* A saved image says that measuring has ended. */
static int is_live(const struct rkc_image_header *header)
{
    return atomic_load(&header->state) == RKC_STATE_RUNNING && !atomic_load(&header->clock.ended) &&
           rkc_identity_lives(header->host, header->boot_id, header->pid_space, header->pid,
                              header->clock.pair[0].monotonic_ns);
}

/* Open an image file and read its header, with what the file system says of it. A file descriptor,
 * or a status. */
static int open_image(const char *path, struct rkc_image_header *header, struct stat *stat,
                      char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int status = RKC_EFORMAT;
    if (fd < 0) {
        snprintf(text, size, "cannot open %s: %s", path, strerror(errno));
        return RKC_EIO;
    }
    if (fstat(fd, stat) != 0 || !S_ISREG(stat->st_mode))
        snprintf(text, size, "%s is not an image of rankclock", path);
    else
        status = read_header(fd, header, path, text, size);
    if (status == 0)
        return fd;
    close(fd);
    return status;
}

int rkc_view_peek(struct rkc_image_header *header, const char *path, char *text, size_t size)
{
    char head[RKC_HEADER_SIZE] __attribute__((aligned(RKC_UNIT)));
    struct stat stat;
    int fd = open_image(path, (void *)head, &stat, text, size);
    if (fd < 0)
        return fd;
    close(fd);
    memcpy(header, head, sizeof *header);
    return 0;
}

/* What the header says is there; a file cut short gives what it has. */
static int read_view(int fd, struct rkc_view *view, const char *path, char *text, size_t size)
{
    char head[RKC_HEADER_SIZE] __attribute__((aligned(RKC_UNIT)));
    struct rkc_image_header *header = (void *)head;
    struct stat stat;
    for (int i = 1;; i++) {
        int status = read_header(fd, header, path, text, size);
        if (!status && fstat(fd, &stat) != 0)
            stat.st_size = 0;
        if (!status)
            status = read_blocks(fd, view, bytes_there(header, stat.st_size), path, text, size);
        if (status || !view->live)
            return status;
        int whole = read_steady_image(fd, view);
        atomic_thread_fence(memory_order_seq_cst);
        view->still = stands_still(fd, view);
        if (whole || i == READ_TRIES)
            return 0;
        free(view->owned);
        view->owned = NULL;
    }
}

int rkc_view_open(struct rkc_view *view, const char *path, char *text, size_t size)
{
    char head[RKC_HEADER_SIZE] __attribute__((aligned(RKC_UNIT)));
    struct rkc_image_header *header = (void *)head;
    struct stat stat;
    *view = (struct rkc_view){0};
    int fd = open_image(path, header, &stat, text, size);
    if (fd < 0)
        return fd;
    /* Asked first: what dies later is read as carefully as what lives. */
    view->live = is_live(header);
    int status = read_view(fd, view, path, text, size);
    close(fd);
    if (status)
        rkc_view_close(view);
    return status;
}
