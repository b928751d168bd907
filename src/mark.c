/* mark.c - a mark that a run of the same name has left, as where RANKCLOCK_RUN_ID is always the
 * same, is told from ours by its time: it is older than this process. */
#include "autoconf.h"

#include "mark.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "runtime.h"
#include "sink/names.h"
#include "spool.h"

enum {
    FOLDERS_MAX = 1000, /* as in save.c */
    ROOM = RKC_PATTERN_MAX + PATH_MAX + RKC_NAMES_ROOM,
};

/* Clocks of nodes may differ by so much. */
static const int64_t SKEW_NS = 10 * INT64_C(1000000000);

/* The text of a link, with a NUL behind; 0 if there is none. */
static size_t read_link(const char *path, char *text, size_t size)
{
    ssize_t length = readlink(path, text, size - 1);
    text[length > 0 ? length : 0] = '\0';
    return length > 0 ? (size_t)length : 0;
}

/* 0 or an errno. */
static int make_mark(const char *path, const char *text)
{
    char timed[RKC_MARK_TEXT_MAX + 32];
    snprintf(timed, sizeof timed, "%" PRId64 " %s", rkc_clock_unix_ns(), text);
    return symlink(timed, path) == 0 ? 0 : errno;
}

/* Whether there is a mark of this run, and its text. */
static int read_mark(const char *path, const struct rkc_image_header *header,
                     char text[RKC_MARK_TEXT_MAX])
{
    char timed[RKC_MARK_TEXT_MAX + 32], *end;
    if (read_link(path, timed, sizeof timed) == 0)
        return 0;
    int64_t unix_ns = strtoll(timed, &end, 10);
    if (*end != ' ' || unix_ns < header->clock.pair[0].unix_ns - SKEW_NS)
        return 0;
    snprintf(text, RKC_MARK_TEXT_MAX, "%s", end + 1);
    return 1;
}

/* ---- in the folder of the images ---- */

/* Whether it is that of this run and world, as save.c marks it. */
static int is_own_folder(const char *folder, const struct rkc_image_header *header)
{
    char path[ROOM + 16], found[260], mine[260];
    snprintf(mine, sizeof mine, "%.127s %.127s", header->run_id, header->world_id);
    snprintf(path, sizeof path, "%s/.run", folder);
    return read_link(path, found, sizeof found) > 0 && strcmp(found, mine) == 0;
}

/* The folder of this run's images below a place, or 0. */
static int find_below(const char *place, const char *base, const struct rkc_image_header *header,
                      char folder[ROOM])
{
    struct stat stat_;
    char name[ROOM];
    for (int n = 1; n <= FOLDERS_MAX; n++) {
        rkc_names_number(base, n, name, sizeof name);
        int length = snprintf(folder, ROOM, "%s%s%s.partial", place, *place ? "/" : "", name);
        if (length >= ROOM || lstat(folder, &stat_) != 0)
            return 0;
        if (is_own_folder(folder, header))
            return 1;
    }
    return 0;
}

/* The folder of this run's images, wherever they could be saved, or 0. */
static int find_folder(const struct rkc_image_header *header, char folder[ROOM])
{
    const char *output = rkc_private_output(), *slash = strrchr(output, '/');
    const char *temporary = getenv("TMPDIR"), *base = slash ? slash + 1 : output;
    char place[ROOM];
    snprintf(place, sizeof place, "%.*s", slash ? (int)(slash - output) : 0, output);
    return find_below(slash == output ? "/." : place, base, header, folder) ||
           find_below(rkc_private_folder(), base, header, folder) ||
           find_below(temporary && *temporary ? temporary : "/tmp", base, header, folder);
}

int rkc_mark_leave(const struct rkc_image_header *header, const char *why)
{
    char folder[ROOM], path[ROOM + 16], text[RKC_MARK_TEXT_MAX];
    if (!find_folder(header, folder))
        return RKC_EIO;
    snprintf(path, sizeof path, "%s/.without", folder);
    int error = make_mark(path, why);
    if (error == EEXIST && !read_mark(path, header, text)) {
        unlink(path);
        error = make_mark(path, why);
    }
    return error == 0 || error == EEXIST ? 0 : RKC_EIO;
}

int rkc_mark_read(const struct rkc_image_header *header, char why[RKC_MARK_TEXT_MAX])
{
    char folder[ROOM], path[ROOM + 16];
    if (!find_folder(header, folder))
        return 0;
    snprintf(path, sizeof path, "%s/.without", folder);
    return read_mark(path, header, why);
}

/* ---- beside the result file ---- */

static void claim_name(const struct rkc_image_header *header, char *path, size_t size)
{
    const char *output = rkc_private_output(), *slash = strrchr(output, '/');
    char run[RKC_SPOOL_RUN_MAX];
    rkc_spool_run_name(header->run_id, header->world_id, run);
    snprintf(path, size, "%.*s.%s.waiting", slash ? (int)(slash + 1 - output) : 0, output, run);
}

int rkc_mark_claim(const struct rkc_image_header *header)
{
    char path[ROOM + RKC_SPOOL_NAME_MAX], text[RKC_MARK_TEXT_MAX];
    claim_name(header, path, sizeof path);
    int error = make_mark(path, header->host);
    if (error == EEXIST && !read_mark(path, header, text)) {
        unlink(path);
        error = make_mark(path, header->host);
    }
    return error == 0 ? 1 : error == EEXIST ? 0 : RKC_EIO;
}

void rkc_mark_release(const struct rkc_image_header *header)
{
    char path[ROOM + RKC_SPOOL_NAME_MAX];
    claim_name(header, path, sizeof path);
    unlink(path);
}
