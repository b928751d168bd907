/* Events between processes: a page in a file, which holds when the last recording ends. Its writer
 * knows that once it is queued, if nothing holds it up, and then need not call again for others to
 * see it end. The processes must use the real clock. */
#include "double.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct page {
    _Atomic uint32_t n_begun; /* recordings so far, in all processes */
    _Atomic uint32_t known;   /* the one whose end is known */
    _Atomic int64_t end_ns;
};

struct fake_shared {
    struct page *page;
    char name[64];
    pid_t owner; /* whoever made it takes the name away */
    struct fake_shared *next;
};

static struct fake_shared *all;

static void path_of(const char *name, char path[PATH_MAX])
{
    const char *folder = getenv("FAKECUDA_IPC_DIR");
    if (!folder || !*folder)
        folder = getenv("TMPDIR");
    if (!folder || !*folder)
        folder = "/tmp";
    snprintf(path, PATH_MAX, "%s/%s", folder, name);
}

static struct fake_shared *map(const char *name, int flags, pid_t owner)
{
    char path[PATH_MAX];
    path_of(name, path);
    int file = open(path, flags | O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0)
        return NULL;
    void *page = MAP_FAILED;
    if (!(flags & O_CREAT) || ftruncate(file, sizeof(struct page)) == 0)
        page = mmap(NULL, sizeof(struct page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (page == MAP_FAILED)
        return NULL;
    struct fake_shared *shared = fake_alloc(sizeof(*shared));
    shared->page = page;
    shared->owner = owner;
    snprintf(shared->name, sizeof(shared->name), "%s", name);
    shared->next = all;
    all = shared;
    return shared;
}

struct fake_shared *fake_shared_create(void)
{
    char name[64];
    snprintf(name, sizeof(name), "fakecuda-%ld-%llu", (long)getpid(),
             (unsigned long long)fake_new_id());
    return map(name, O_CREAT | O_EXCL, getpid());
}

struct fake_shared *fake_shared_open(const CUipcEventHandle *handle)
{
    char name[sizeof(handle->reserved)];
    memcpy(name, handle->reserved, sizeof(name));
    if (!memchr(name, '\0', sizeof(name)) || strncmp(name, "fakecuda-", 9) != 0 ||
        strchr(name, '/'))
        return NULL;
    return map(name, 0, 0);
}

void fake_shared_name(const struct fake_shared *shared, CUipcEventHandle *handle)
{
    memset(handle, 0, sizeof(*handle));
    memcpy(handle->reserved, shared->name, strlen(shared->name));
}

void fake_shared_drop(struct fake_shared *shared)
{
    char path[PATH_MAX];
    path_of(shared->name, path);
    if (shared->owner == getpid())
        unlink(path);
    shared->owner = 0;
}

uint32_t fake_shared_begin(struct fake_shared *shared)
{
    return atomic_fetch_add(&shared->page->n_begun, 1) + 1;
}

void fake_shared_end(struct fake_shared *shared, uint32_t sequence, int64_t end_ns)
{
    if (!fake_shared_is_last(shared, sequence))
        return;
    atomic_store(&shared->page->end_ns, end_ns);
    atomic_store(&shared->page->known, sequence);
}

int fake_shared_is_last(const struct fake_shared *shared, uint32_t sequence)
{
    return atomic_load(&shared->page->n_begun) == sequence;
}

int fake_shared_is_known(const struct fake_shared *shared, int64_t *end_ns)
{
    if (!fake_shared_is_last(shared, atomic_load(&shared->page->known)))
        return 0;
    *end_ns = atomic_load(&shared->page->end_ns);
    return 1;
}

void fake_shared_clear(void)
{
    while (all) {
        struct fake_shared *shared = all;
        all = shared->next;
        fake_shared_drop(shared);
        munmap(shared->page, sizeof(*shared->page));
        free(shared);
    }
}

/* Programs may end without destroying their events. */
__attribute__((destructor)) static void drop_all(void)
{
    for (struct fake_shared *shared = all; shared; shared = shared->next)
        fake_shared_drop(shared);
}
