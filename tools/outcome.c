/* outcome.c - a pattern's letters are the ranks' to fill in, so a file is known as this run's by
 * the run id in it and not by its name. */
#include "autoconf.h"

#include "outcome.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rankclock/reader.h>

#include "images.h"
#include "rescue.h"
#include "sink/names.h"
#include "tools.h"

enum {
    CLOCK_SKEW_S = 60, /* of a file server */
    DEPTH_MAX = 8,
    FOLDERS_MAX = 64,
};

struct search {
    const char *run_id;
    time_t since;
    int files;  /* written by this run */
    char **worlds; /* whose files are complete */
    int n_worlds;
    char *folders[FOLDERS_MAX]; /* NAME.partial, with images of this run */
    int n_folders;
};

/* The library appends to the id what tells requeued runs apart. */
static int is_ours(const struct search *search, const char *run_id)
{
    size_t length = strlen(search->run_id);
    return run_id && strncmp(run_id, search->run_id, length) == 0 &&
           strchr(".-_", run_id[length]) != NULL;
}

/* A path as the user would write it: below the working directory, relative to it. */
static const char *shown(const char *path)
{
    static char folder[PATH_MAX];
    if (!getcwd(folder, sizeof folder))
        return path;
    size_t length = strlen(folder);
    int below = strncmp(path, folder, length) == 0 && path[length] == '/';
    return below ? path + length + 1 : path;
}

static int begins_with(const char *path, const void *bytes, size_t size)
{
    unsigned char start[16];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return 0;
    ssize_t got = read(fd, start, size);
    close(fd);
    return got == (ssize_t)size && memcmp(start, bytes, size) == 0;
}

static void keep_world(struct search *search, const char *world_id)
{
    char **worlds = realloc(search->worlds, (size_t)(search->n_worlds + 1) * sizeof *worlds);
    if (!worlds)
        return;
    search->worlds = worlds;
    worlds[search->n_worlds] = strdup(world_id ? world_id : "");
    search->n_worlds += worlds[search->n_worlds] != NULL;
}

static int is_written(void *context, const char *world_id)
{
    const struct search *search = context;
    for (int i = 0; i < search->n_worlds; i++)
        if (strcmp(search->worlds[i], world_id) == 0)
            return 1;
    return 0;
}

static void say_file(struct search *search, const char *path)
{
    struct rkc_reader *reader;
    if (!begins_with(path, "\x89HDF\r\n\x1a\n", 8) || !rkc_guard_bears(path) ||
        rkc_reader_open(path, &reader, NULL, 0) != 0)
        return;
    if (is_ours(search, rkc_reader_job(reader, "run_id"))) {
        enum rkc_reader_state state = rkc_reader_state(reader);
        size_t ranks;
        rkc_reader_ranks(reader, &ranks);
        search->files++;
        if (state == RKC_READER_COMPLETE) {
            keep_world(search, rkc_reader_job(reader, "world_id"));
            rkc_tool_error("wrote %s", shown(path));
        } else
            rkc_tool_error("wrote %s (%s: %zu rank%s)", shown(path),
                           state == RKC_READER_PARTIAL ? "PARTIAL" : "ABORTED", ranks,
                           ranks == 1 ? "" : "s");
    }
    rkc_reader_close(reader);
}

/* Remember a folder with images of this run. */
static void keep_folder(void *context, const char *folder)
{
    struct search *search = context;
    for (int i = 0; i < search->n_folders; i++)
        if (strcmp(search->folders[i], folder) == 0)
            return;
    char *copy = search->n_folders < FOLDERS_MAX ? strdup(folder) : NULL;
    if (copy)
        search->folders[search->n_folders++] = copy;
}

static int count_images(const struct search *search, const char *folder)
{
    struct rkc_images images = {.files = NULL};
    struct rkc_images_wanted wanted = {.run_id = search->run_id};
    int n = rkc_images_find(&images, folder, &wanted) == 0 ? (int)images.n : 0;
    rkc_images_free(&images);
    return n;
}

/* Say how many images of this run are in a folder NAME.partial. */
static void say_images(const struct search *search, const char *folder)
{
    int images = count_images(search, folder);
    int stem = (int)(strlen(shown(folder)) - strlen(".partial"));
    rkc_tool_error("%s%d image%s of the run saved in %s: rankclock recover %s -o %.*s",
                   search->files == 0 ? "no file was written; " : "", images,
                   images == 1 ? "" : "s", shown(folder), shown(folder), stem, shown(folder));
}

/* Look at what the run touched in a folder, and in those below as deep as the pattern goes. */
static void look(struct search *search, const char *folder, int depth)
{
    struct dirent **entries;
    int n = scandir(folder, &entries, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        const char *name = entries[i]->d_name;
        char path[PATH_MAX];
        struct stat status;
        size_t length = strlen(name);
        int is_known = name[0] != '.' &&
                       snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path &&
                       stat(path, &status) == 0;
        if (is_known && S_ISREG(status.st_mode) && status.st_mtime >= search->since)
            say_file(search, path);
        else if (is_known && S_ISDIR(status.st_mode)) {
            if (length > 8 && strcmp(name + length - 8, ".partial") == 0) {
                if (count_images(search, path) > 0)
                    keep_folder(search, path);
            } else if (depth > 0)
                look(search, path, depth - 1);
        }
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
}

/* Remove what a writer of this run, and whoever had started it, were killed over. */
static void remove_left(const struct search *search, const char *folder, int depth)
{
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        struct stat status;
        char path[PATH_MAX];
        const char *name = entry->d_name;
        if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path ||
            lstat(path, &status) != 0)
            continue;
        if (S_ISDIR(status.st_mode) && name[0] != '.' && depth > 0)
            remove_left(search, path, depth - 1);
        else if (S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
                 status.st_mtime >= search->since && rkc_names_is_left(name))
            unlink(path);
    }
    if (dir)
        closedir(dir);
}

/* The folder that holds whatever a pattern becomes, "%%" in it undone; returns how many folders
 * deeper the file lies. */
static int pattern_folder(const char *pattern, char folder[PATH_MAX])
{
    size_t used = 0, slash = 0;
    const char *at = pattern;
    for (; *at && used + 1 < PATH_MAX; at++) {
        if (at[0] == '%' && at[1] == '%')
            at++;
        else if (at[0] == '%')
            break;
        if (*at == '/')
            slash = used;
        folder[used++] = *at;
    }
    int depth = 0;
    for (; *at; at++)
        depth += *at == '/';
    folder[slash ? slash : 1] = '\0';
    return depth < DEPTH_MAX ? depth : DEPTH_MAX;
}

/* Where a folder takes no file, images are in others, as src/save.c has them. */
static void look_for_images(struct search *search, const char *looked_at)
{
    const char *temporary = getenv("TMPDIR");
    char folder[PATH_MAX];
    if (search->files == 0 && search->n_folders == 0 && getcwd(folder, sizeof folder) &&
        strcmp(folder, looked_at) != 0)
        look(search, folder, 0);
    if (search->files == 0 && search->n_folders == 0)
        look(search, temporary && *temporary ? temporary : "/tmp", 0);
}

static void search_and_say(const char *pattern, const char *run_id, time_t began)
{
    struct search search = {.run_id = run_id, .since = began - CLOCK_SKEW_S};
    char folder[PATH_MAX];
    int depth = pattern_folder(pattern, folder);
    look(&search, folder, depth);
    look_for_images(&search, folder);
    /* Beside a file there may be a snapshot, or another program of the run that was killed. */
    int files = search.files, snapshots = search.n_folders;
    rkc_rescue_move(pattern, run_id, is_written, keep_folder, &search);
    for (int i = 0; i < search.n_folders; i++)
        if ((files > 0 && i < snapshots) ||
            rkc_rescue_recover(search.folders[i], run_id, shown) == 0)
            say_images(&search, search.folders[i]);
    remove_left(&search, folder, depth);
    if (files == 0 && search.n_folders == 0)
        rkc_tool_error("the program left no file; unless a line above says why: was an MPI "
                       "program, or one with regions, started with the library?");
}

void rkc_outcome_say(const char *pattern, const char *run_id, time_t began)
{
    /* In another process, which any file that may be in the folder can harm. */
    int status;
    pid_t child = fork();
    if (child == 0) {
        search_and_say(pattern, run_id, began);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
        rkc_tool_error("cannot tell what was written: the search in the output's folder failed");
}
