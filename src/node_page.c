/* node_page.c - what goes wrong here costs no more than the waiting for others: numbers in a page
 * that processes come to and are killed in at any time are no more than likely. */
#include "autoconf.h"

#include "node_page.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PAGE_BYTES = 4096 };

struct page {
    _Atomic int32_t present, saved;
};

static struct page *page;
static char name[RKC_SPOOL_NAME_MAX];

static const struct timespec SOON = {.tv_nsec = 500000};

/* Beside the image, which ranks of a node have in the same folder as a rule. 0, or -1 for nowhere.
 */
static int find_name(const struct rkc_image *image)
{
    const struct rkc_image_header *header = rkc_image_header(image);
    char run[RKC_SPOOL_RUN_MAX];
    const char *folder = "/dev/shm", *slash = strrchr(image->spool.name, '/');
    int length = (int)strlen(folder);
    if (slash) {
        folder = image->spool.name;
        length = (int)(slash - folder);
    } else if (!rkc_spool_has_room(folder, PAGE_BYTES)) {
        return -1;
    }
    rkc_spool_run_name(header->run_id, header->world_id, run);
    int n = snprintf(name, sizeof name, "%.*s/%s.node", length, folder, run);
    return n > 0 && (size_t)n < sizeof name ? 0 : -1;
}

/* The page behind a file that no other user can have made. */
static struct page *open_page(void)
{
    struct stat stat_;
    void *memory = MAP_FAILED;
    int fd = open(name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
    if (fd < 0)
        return NULL;
    if (fstat(fd, &stat_) == 0 && S_ISREG(stat_.st_mode) && stat_.st_uid == geteuid() &&
        fallocate(fd, 0, 0, PAGE_BYTES) == 0) /* else its first touch could be a SIGBUS */
        memory = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    else
        unlink(name);
    close(fd);
    if (memory == MAP_FAILED)
        return NULL;
    madvise(memory, PAGE_BYTES, MADV_DONTFORK);
    return memory;
}

void rkc_node_page_join(const struct rkc_image *image, int n)
{
    if (page || n == 1 || atomic_load(&rkc_image_header(image)->size) <= 1 || find_name(image) != 0)
        return;
    page = open_page();
    if (page && atomic_fetch_add(&page->present, 1) + 1 == n)
        unlink(name);
}

void rkc_node_page_saved(void)
{
    if (!page)
        return;
    atomic_fetch_add(&page->saved, 1);
    unlink(name); /* where not all have come yet, for who does begins another */
}

void rkc_node_page_wait(int64_t most_ns)
{
    int64_t until_ns = rkc_clock_monotonic_ns() + most_ns;
    while (page && atomic_load(&page->saved) < atomic_load(&page->present) &&
           rkc_clock_monotonic_ns() < until_ns)
        nanosleep(&SOON, NULL);
}

void rkc_node_page_leave(void)
{
    if (page && atomic_fetch_sub(&page->present, 1) == 1)
        unlink(name);
    page = NULL;
}
