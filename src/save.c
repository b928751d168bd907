/* save.c - a folder belongs to one run: images that nobody has made a file of yet are not replaced
 * by those of the next run, nor one world's by those of another that it has spawned. */
#include "autoconf.h"

#include "runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image.h"
#include "log.h"
#include "sink/names.h"

enum {
    FOLDERS_MAX = 1000, /* of other runs, under one name */
    BASE_MAX = 220,     /* of a name of up to 255 bytes, with a number and .partial */
    ROOM = RKC_PATTERN_MAX + PATH_MAX + RKC_NAMES_ROOM,
};

/* The run and the world whose images a folder has, as its mark tells. */
static void owner_text(const struct rkc_image_header *header, char *text, size_t size)
{
    snprintf(text, size, "%.127s %.127s", header->run_id, header->world_id);
}

static void mark_name(const char *folder, char *path, size_t size)
{
    snprintf(path, size, "%s/.run", folder);
}

/* Make the folder, or take one that is ours: 0 or an errno. */
static int make_folder(const char *folder)
{
    struct stat stat_;
    if (mkdir(folder, 0700) == 0)
        return 0;
    int error = errno;
    if (error != EEXIST || lstat(folder, &stat_) != 0)
        return error;
    return !S_ISDIR(stat_.st_mode) ? ENOTDIR : stat_.st_uid != geteuid() ? EPERM : 0;
}

/* Mark the folder as this run's. 1 where this process is the first of the run, 0 where it is not,
 * -1 where it is another's. Without symbolic links each is the first. */
static int mark_folder(const char *folder, const struct rkc_image_header *header)
{
    char path[ROOM + 8], mine[260], found[260];
    mark_name(folder, path, sizeof path);
    owner_text(header, mine, sizeof mine);
    if (symlink(mine, path) == 0)
        return 1;
    if (errno != EEXIST)
        return 1;
    ssize_t length = readlink(path, found, sizeof found - 1);
    found[length > 0 ? length : 0] = '\0';
    return strcmp(found, mine) == 0 ? 0 : -1;
}

/* Leave no folder behind in which nothing could be saved. */
static void release_folder(const char *folder, const struct rkc_image_header *header)
{
    char path[ROOM + 8];
    mark_name(folder, path, sizeof path);
    unlink(path);
    if (rmdir(folder) != 0) /* another rank had more luck */
        mark_folder(folder, header);
}

/* Whether there is an image of another run under a name. */
static int is_others(const char *path, const struct rkc_image_header *header)
{
    struct rkc_image_header found;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t got = pread(fd, &found, sizeof found, 0);
    close(fd);
    return got == (ssize_t)sizeof found && found.magic == RKC_IMAGE_MAGIC &&
           (strncmp(found.run_id, header->run_id, sizeof found.run_id) != 0 ||
            strncmp(found.world_id, header->world_id, sizeof found.world_id) != 0);
}

/* Save in one folder: 0, an errno, or EEXIST where it is another run's. */
static int save_in(const char *folder, int *first)
{
    const struct rkc_image_header *header = rkc_image_header(rkc_private_image());
    int rank = atomic_load(&header->rank);
    char path[ROOM + 32];
    int error = make_folder(folder);
    if (error != 0)
        return error;
    *first = rank < 0 ? 1 : mark_folder(folder, header);
    snprintf(path, sizeof path, "%s/%s-%d.rkci", folder, rank < 0 ? "pid" : "rank",
             rank < 0 ? (int)getpid() : rank);
    if (*first < 0 || is_others(path, header))
        return EEXIST;
    if (rkc_image_save(rkc_private_image(), path) == 0)
        return 0;
    error = errno;
    release_folder(folder, header);
    return error;
}

/* Save in NAME.partial below a place, or NAME.2.partial and so on where other runs have left theirs:
 * 0 with the folder's name, or an errno. */
static int save_below(const char *place, const char *base, char folder[ROOM], int *first)
{
    char name[ROOM];
    int error = EEXIST;
    for (int n = 1; n <= FOLDERS_MAX && error == EEXIST; n++) {
        rkc_names_number(base, n, name, sizeof name);
        int length = snprintf(folder, ROOM, "%s%s%s.partial", place, *place ? "/" : "", name);
        error = length < ROOM ? save_in(folder, first) : ENAMETOOLONG;
    }
    return error;
}

static void say_saved(const char *why, const char *folder, const char *host)
{
    rkc_log(RKC_LOG_WARNING,
            "%s: what was measured is saved in %s%s%s; make a file of it with rankclock recover %s "
            "-o FILE",
            why, folder, *host ? " on " : "", host, folder);
}

/* Nothing can be written anywhere: only a spool file is left. */
static void say_unsaved(const char *why, const char *first_place, int error)
{
    const struct rkc_image *image = rkc_private_image();
    if (image->spool.name[0])
        rkc_log(RKC_LOG_WARNING,
                "%s, nor can images in %s.partial (%s): what was measured is left in %s on %s; make a "
                "file of it with rankclock recover %s -o FILE",
                why, first_place, strerror(error), image->spool.name,
                rkc_image_header(image)->host, image->spool.name);
    else
        rkc_log(RKC_LOG_WARNING, "%s, and what was measured cannot be saved in %s.partial: %s", why,
                first_place, strerror(error));
}

int rkc_private_save(const char *why)
{
    const struct rkc_image *image = rkc_private_image();
    if (!image->base)
        return RKC_EIO;
    const char *output = rkc_private_output(), *slash = strrchr(output, '/');
    const char *temporary = getenv("TMPDIR");
    char place[ROOM], base[BASE_MAX + 1], folder[ROOM];
    snprintf(base, sizeof base, "%s", slash ? slash + 1 : output);
    snprintf(place, sizeof place, "%.*s", slash ? (int)(slash - output) : 0, output);
    if (slash == output)
        strcpy(place, "/.");

    int first, error = save_below(place, base, folder, &first);
    int status = error;
    if (status != 0 && strcmp(place, rkc_private_folder()) != 0)
        status = save_below(rkc_private_folder(), base, folder, &first);
    const char *host = "";
    if (status != 0) { /* which other nodes may not see */
        host = rkc_image_header(image)->host;
        status = save_below(temporary && *temporary ? temporary : "/tmp", base, folder, &first);
    }
    if (status == 0 && first)
        say_saved(why, folder, host);
    if (status != 0)
        say_unsaved(why, output, error);
    return status == 0 ? 0 : RKC_EIO;
}
