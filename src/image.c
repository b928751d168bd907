/* image.c - memory is made usable a step at a time, in the file before in the map: a page
 * of a shared map that the file system has no room for is a SIGBUS at first touch. */
#include "autoconf.h"

#include "image.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "identity.h"
#include "line.h"
#include "log.h"

enum { DEFAULT_STEP = 256 << 10 };
static const size_t LARGEST = (size_t)1 << 30, SMALLEST = (size_t)16 << 20;

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

static int write_behind_head(int fd, const struct rkc_image *image, size_t used)
{
    if (lseek(fd, sizeof save_head, SEEK_SET) < 0)
        return RKC_EIO;
    return write_all(fd, image->base + sizeof save_head, used - sizeof save_head);
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
    size_t used = atomic_load_explicit(&rkc_image_header(image)->used, memory_order_acquire);
    if (!rkc_spool_size_allowed(used)) {
        errno = EFBIG;
        return RKC_EIO;
    }
    int fd = open(save_name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return RKC_EIO;
    int status = write_behind_head(fd, image, used);
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

/* ---- reading ---- */

void rkc_view_own(struct rkc_view *view, const struct rkc_image *image)
{
    *view = (struct rkc_view){
        .base = image->base,
        .bytes = atomic_load_explicit(&rkc_image_header(image)->used, memory_order_acquire)};
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
    if (bytes > LARGEST || bytes < RKC_BLOCKS_START) {
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
 * are left out of the comparison: they would never be equal twice. An image in which no visit ended
 * between the first reading and the last is as good as a dead process's.
 */

enum { STEADY_TRIES = 2000, TRIES_BEFORE_YIELD = 50 };

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
           memcmp(x->hist, y->hist, sizeof x->hist) == 0 && x->high == y->high;
}

static int same_clock(const void *a, const void *b, size_t bytes)
{
    const struct rkc_image_header *x = a, *y = b;
    (void)bytes;
    return memcmp(&x->clock, &y->clock, sizeof x->clock) == 0;
}

/* Read a part of the view again until two readings are the same. A file that is gone or a
 * part that never holds still leaves the last reading. */
static void read_steady(int fd, const struct rkc_view *view, const void *part, size_t bytes,
                        same_fn *same)
{
    char again[RKC_HEADER_SIZE] __attribute__((aligned(RKC_UNIT)));
    size_t offset = (size_t)((const char *)part - view->base), got;
    char *into = (char *)view->owned + offset;
    for (int i = 1; i <= STEADY_TRIES; i++) {
        atomic_thread_fence(memory_order_seq_cst);
        if (read_at(fd, again, bytes, offset, &got) != 0 || got < bytes)
            return;
        int steady = same(into, again, bytes);
        memcpy(into, again, bytes);
        if (steady)
            return;
        if (i % TRIES_BEFORE_YIELD == 0)
            sched_yield();
    }
}

static void read_steady_block(int fd, const struct rkc_view *view, const struct rkc_block *block)
{
    const struct rkc_nodes_block *nodes = (const void *)block;
    uint32_t n = atomic_load(&block->count);
    switch (block->kind) {
    case RKC_BLOCK_NODES:
        if (n > RKC_NODES_PER_BLOCK || block->bytes < sizeof *nodes)
            break;
        for (uint32_t i = 0; i < n; i++)
            read_steady(fd, view, &nodes->node[i], sizeof nodes->node[i], same_sums);
        break;
    case RKC_BLOCK_TRAFFIC:
    case RKC_BLOCK_SIZES:
    case RKC_BLOCK_HIGH:
    case RKC_BLOCK_NOTE:
    case RKC_BLOCK_TIMED:
    case RKC_BLOCK_DEVICE:
        if (block->bytes <= RKC_HEADER_SIZE)
            read_steady(fd, view, block, block->bytes, same_bytes);
        break;
    default:
        break;
    }
}

static void read_steady_image(int fd, const struct rkc_view *view)
{
    const struct rkc_block *block = NULL;
    int broken = 0;
    while ((block = rkc_view_next(view, block, &broken)))
        read_steady_block(fd, view, block);
    read_steady(fd, view, view->base, RKC_HEADER_SIZE, same_clock);
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
    return atomic_load(&header->state) == RKC_STATE_RUNNING &&
           !atomic_load(&header->clock.ended) &&
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
    int live = is_live(header);
    int status = read_blocks(fd, view, bytes_there(header, stat.st_size), path, text, size);
    if (!status && live) {
        read_steady_image(fd, view);
        atomic_thread_fence(memory_order_seq_cst);
        view->still = stands_still(fd, view);
    }
    view->live = live;
    close(fd);
    if (status)
        rkc_view_close(view);
    return status;
}
