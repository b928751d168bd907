/* neighbors.c - an image is believed by its header, not by its name: the name says where to look.
 */
#include "autoconf.h"

#include "neighbors.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rankclock/status.h>

#include "spool.h"

enum { ROOM = 16 };

struct rkc_neighbor *rkc_neighbors_find(const struct rkc_neighbors *neighbors, int32_t rank)
{
    for (size_t i = 0; i < neighbors->n; i++)
        if (neighbors->list[i].rank == rank)
            return &neighbors->list[i];
    return NULL;
}

struct rkc_neighbor *rkc_neighbors_get(struct rkc_neighbors *neighbors, int32_t rank)
{
    struct rkc_neighbor *found = rkc_neighbors_find(neighbors, rank);
    if (found)
        return found;
    if (neighbors->n == neighbors->room) {
        size_t room = neighbors->room ? 2 * neighbors->room : ROOM;
        struct rkc_neighbor *list = realloc(neighbors->list, room * sizeof *list);
        if (!list)
            return NULL;
        neighbors->list = list;
        neighbors->room = room;
    }
    size_t i = neighbors->n++;
    for (; i > 0 && neighbors->list[i - 1].rank > rank; i--)
        neighbors->list[i] = neighbors->list[i - 1];
    neighbors->list[i] = (struct rkc_neighbor){.rank = rank};
    return &neighbors->list[i];
}

void rkc_neighbors_free(struct rkc_neighbors *neighbors)
{
    for (size_t i = 0; i < neighbors->n; i++)
        free(neighbors->list[i].image);
    free(neighbors->list);
    *neighbors = (struct rkc_neighbors){0};
}

/* The header of an image of this user's, if it is one of the same world. */
static int read_header(int folder, const char *name, const struct rkc_image_header *own,
                       struct rkc_image_header *header)
{
    struct stat stat_;
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return 0;
    int is_one = fstat(fd, &stat_) == 0 && S_ISREG(stat_.st_mode) && stat_.st_uid == geteuid() &&
                 pread(fd, header, sizeof *header, 0) == (ssize_t)sizeof *header;
    close(fd);
    return is_one && header->magic == RKC_IMAGE_MAGIC && header->layout == RKC_IMAGE_LAYOUT &&
           header->order == RKC_IMAGE_ORDER &&
           strncmp(header->run_id, own->run_id, sizeof header->run_id) == 0 &&
           strncmp(header->world_id, own->world_id, sizeof header->world_id) == 0 &&
           strncmp(header->boot_id, own->boot_id, sizeof header->boot_id) == 0;
}

static int add_image(struct rkc_neighbors *neighbors, const char *folder, const char *name,
                     const struct rkc_image_header *header)
{
    int64_t arrived_ns = atomic_load(&header->arrived_unix_ns);
    struct rkc_neighbor *neighbor = rkc_neighbors_get(neighbors, atomic_load(&header->rank));
    char path[RKC_SPOOL_NAME_MAX];
    if (!neighbor)
        return RKC_ENOMEM;
    neighbor->state = arrived_ns != 0 ? RKC_NEIGHBOR_ARRIVED : RKC_NEIGHBOR_RUNS;
    neighbor->arrived_unix_ns = arrived_ns;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    free(neighbor->image);
    neighbor->image = strdup(path);
    return 0;
}

static int look_in(struct rkc_neighbors *neighbors, const char *folder, const char *start,
                   const struct rkc_image_header *own)
{
    DIR *dir = opendir(folder);
    int status = 0;
    if (!dir)
        return 0;
    for (struct dirent *entry; status == 0 && (entry = readdir(dir));) {
        struct rkc_image_header header;
        if (strncmp(entry->d_name, start, strlen(start)) == 0 &&
            read_header(dirfd(dir), entry->d_name, own, &header) &&
            atomic_load(&header.rank) >= 0 && atomic_load(&header.rank) != atomic_load(&own->rank))
            status = add_image(neighbors, folder, entry->d_name, &header);
    }
    closedir(dir);
    return status;
}

int rkc_neighbors_look(struct rkc_neighbors *neighbors, const struct rkc_image_header *own,
                       const char *setting)
{
    const char *folder[RKC_SPOOL_FOLDERS_MAX];
    char run[RKC_SPOOL_RUN_MAX], start[RKC_SPOOL_RUN_MAX + 8];
    int n = rkc_spool_folders(setting, folder), status = 0;
    rkc_neighbors_free(neighbors);
    rkc_spool_run_name(own->run_id, own->world_id, run);
    snprintf(start, sizeof start, "%s.rank-", run);
    for (int i = 0; i < n && status == 0; i++)
        status = look_in(neighbors, folder[i], start, own);
    return status;
}

int rkc_neighbors_expected(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = secure_getenv(names[i]);
        long n = value ? strtol(value, NULL, 10) : 0;
        if (n > 0 && n <= INT32_MAX)
            return (int)n;
    }
    return 0;
}
