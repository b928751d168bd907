/* rescue.c - images are moved to where the file would be before they are made into one: those of
 * other nodes can be added there, and the node's own folder, which may be memory, is free again. */
#include "autoconf.h"

#include "rescue.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <rankclock/status.h>

#include "config.h"
#include "identity.h"
#include "image.h"
#include "images.h"
#include "recover.h"
#include "spool.h"
#include "tools.h"

enum { TRIES = 20 };
static const struct timespec BETWEEN_TRIES = {.tv_nsec = 100000000};

static const char suffix[] = ".partial";

/* ---- moving ---- */

static size_t count_live(const struct rkc_images *images)
{
    size_t live = 0;
    for (size_t i = 0; i < images->n; i++)
        live += (size_t)rkc_images_is_live(&images->files[i]);
    return live;
}

/* Those of processes that have ended. When a launcher is through the last ranks may just be dying.
 */
static void find_ended(const char *run_id, struct rkc_images *images)
{
    struct rkc_images_wanted wanted = {.run_id = run_id};
    size_t live = 0;
    for (int i = 0; i < TRIES; i++) {
        rkc_images_free(images);
        if (rkc_images_find_spooled(images, &wanted) != 0 || (live = count_live(images)) == 0)
            break;
        nanosleep(&BETWEEN_TRIES, NULL);
    }
    if (live > 0)
        rkc_tool_error(
            "%zu process%s of the run still go%s on: rankclock recover --run %s reads what "
            "they have measured",
            live, live == 1 ? "" : "es", live == 1 ? "es" : "", run_id);
    for (size_t i = images->n; i-- > 0;)
        if (rkc_images_is_live(&images->files[i]))
            rkc_images_drop(images, i);
}

/* What is in a complete file is of no more use. */
static void remove_written(struct rkc_images *images,
                           int (*is_written)(void *context, const char *world_id), void *context)
{
    for (size_t i = images->n; i-- > 0;)
        if (images->files[i].state == RKC_STATE_FINALIZED &&
            is_written(context, images->files[i].world_id)) {
            unlink(images->files[i].path);
            rkc_images_drop(images, i);
        }
}

/* The folder of an image's run, from the pattern; 0 or RKC_EARG. */
static int folder_of(const char *pattern, const struct rkc_image_file *file, char folder[PATH_MAX])
{
    const struct rkc_identity *identity = rkc_identity();
    struct rkc_pattern_values values = {.job = identity->job,
                                        .restart = identity->restart,
                                        .host = file->host,
                                        .program = file->program,
                                        .pid = file->pid};
    int status = rkc_config_expand(pattern, &values, folder, PATH_MAX - sizeof suffix);
    if (status == 0)
        strcat(folder, suffix);
    return status;
}

static size_t move_world(const struct rkc_images *images, size_t first, size_t end,
                         const char *folder)
{
    size_t moved = 0;
    int error = 0;
    for (size_t i = first; i < end; i++) {
        int status = rkc_images_copy(&images->files[i], folder, 1);
        moved += status == 0;
        error = status ? status : error;
    }
    if (error)
        rkc_tool_error(
            "what %zu rank%s had measured cannot be moved to %s (%s): make a file of it with "
            "rankclock recover --run %s -o FILE",
            end - first - moved, end - first - moved == 1 ? "" : "s", folder, strerror(error),
            images->files[first].run_id);
    return moved;
}

static int ends_in(const char *name, const char *end)
{
    size_t length = strlen(name), n = strlen(end);
    return length > n && strcmp(name + length - n, end) == 0;
}

/* Ranks that were killed before all of their node had come have left the page that they share
 * (src/node_page.h). */
static void remove_pages(const char *run_id)
{
    const char *folder[RKC_SPOOL_FOLDERS_MAX], *setting = getenv("RANKCLOCK_SPOOL");
    char start[RKC_SPOOL_RUN_MAX];
    int n = rkc_spool_folders(setting && setting[0] == '/' ? setting : "auto", folder);
    rkc_spool_run_name(run_id, "", start); /* as all worlds of the run begin */
    for (int i = 0; i < n; i++) {
        DIR *dir = opendir(folder[i]);
        for (struct dirent *entry; dir && (entry = readdir(dir));) {
            struct stat status;
            if (strncmp(entry->d_name, start, strlen(start)) == 0 &&
                ends_in(entry->d_name, ".node") &&
                fstatat(dirfd(dir), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                S_ISREG(status.st_mode) && status.st_uid == geteuid())
                unlinkat(dirfd(dir), entry->d_name, 0);
        }
        if (dir)
            closedir(dir);
    }
}

void rkc_rescue_move(const char *pattern, const char *run_id,
                     int (*is_written)(void *context, const char *world_id),
                     void (*found)(void *context, const char *folder), void *context)
{
    struct rkc_images images = {.files = NULL};
    find_ended(run_id, &images);
    remove_pages(run_id);
    remove_written(&images, is_written, context);
    if (images.n > 0)
        rkc_identity_read("", 0); /* for the job's letters in the pattern */
    for (size_t first = 0, end; first < images.n; first = end) {
        char folder[PATH_MAX];
        end = rkc_images_world_end(&images, first);
        if (folder_of(pattern, &images.files[first], folder) == 0 &&
            move_world(&images, first, end, folder) > 0)
            found(context, folder);
    }
    rkc_images_free(&images);
}

/* ---- recovering ---- */

static void say_missing(const struct rkc_recovered *recovered, const char *run_id,
                        const char *folder, const char *(*shown)(const char *))
{
    long missing = (long)recovered->size - (long)recovered->ranks;
    if (missing <= 0)
        return;
    rkc_tool_error(
        "of %ld rank%s nothing was found on this node; on each other node: rankclock gather "
        "--run %s %s",
        missing, missing == 1 ? "" : "s", run_id, folder);
    rkc_tool_error("and then: rankclock recover %s", shown(folder));
}

/* Whom to tell of the files made of a folder. */
struct telling {
    const char *folder, *run_id;
    const char *(*shown)(const char *);
    int written;
};

static void say_made(void *context, const struct rkc_recovered *recovered)
{
    struct telling *telling = context;
    char text[RKC_RECOVERED_TEXT];
    rkc_tool_error("wrote %s (%s) of what was saved of the run", telling->shown(recovered->path),
                   rkc_recovered_text(recovered, text));
    say_missing(recovered, telling->run_id, telling->folder, telling->shown);
    telling->written++;
}

static void recover_world(const struct rkc_images *images, size_t first, size_t end,
                          struct telling *telling)
{
    char output[PATH_MAX];
    const char *folder = telling->folder;
    const char **paths = calloc(end - first, sizeof *paths);
    if (!paths)
        return;
    snprintf(output, sizeof output, "%.*s", (int)(strlen(folder) - strlen(suffix)), folder);
    for (size_t i = first; i < end; i++)
        paths[i - first] = images->files[i].path;
    rkc_recover(paths, end - first, output, say_made, telling);
    free(paths);
}

int rkc_rescue_recover(const char *folder, const char *run_id, const char *(*shown)(const char *))
{
    struct rkc_images images = {.files = NULL};
    struct rkc_images_wanted wanted = {.run_id = run_id};
    struct telling telling = {.folder = folder, .run_id = run_id, .shown = shown};
    if (rkc_images_find(&images, folder, &wanted) == 0)
        for (size_t first = 0, end; first < images.n; first = end) {
            end = rkc_images_world_end(&images, first);
            recover_world(&images, first, end, &telling);
        }
    rkc_images_free(&images);
    return telling.written;
}
