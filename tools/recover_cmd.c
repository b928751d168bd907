/* recover_cmd.c - `rankclock recover`. In a folder that is named every image counts, also one that
 * is damaged and has to be told; by their run images are found where the ranks had them. */
#include "autoconf.h"

#include "tools.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <rankclock/status.h>

#include "images.h"
#include "recover.h"
#include "sink/names.h"
#include "text.h"

struct request {
    const char *output, *run_id;
    int list;
    char **arguments;
    int n_arguments;
};

struct paths {
    char **path;
    size_t n, cap;
};

/* ---- folders and images as they are named ---- */

static int add_path(struct paths *paths, const char *path)
{
    if (paths->n == paths->cap) {
        size_t cap = paths->cap ? 2 * paths->cap : 64;
        char **bigger = realloc(paths->path, cap * sizeof *bigger);
        if (!bigger)
            return RKC_ENOMEM;
        paths->path = bigger;
        paths->cap = cap;
    }
    char *copy = strdup(path);
    if (!copy)
        return RKC_ENOMEM;
    paths->path[paths->n++] = copy;
    return 0;
}

static void free_paths(struct paths *paths)
{
    for (size_t i = 0; i < paths->n; i++)
        free(paths->path[i]);
    free(paths->path);
}

static int is_image_name(const char *name)
{
    size_t length = strlen(name);
    return length > 5 && strcmp(name + length - 5, ".rkci") == 0;
}

/* In a folder that others may write to, theirs is theirs. */
static int is_others(const struct stat *folder, const char *path)
{
    struct stat file;
    if (!(folder->st_mode & (S_IWGRP | S_IWOTH)) || geteuid() == 0)
        return 0;
    return lstat(path, &file) != 0 || !S_ISREG(file.st_mode) || file.st_uid != geteuid();
}

static int add_folder(struct paths *paths, const char *folder, const struct stat *stat_)
{
    DIR *dir = opendir(folder);
    size_t before = paths->n;
    int status = 0;
    if (!dir) {
        rkc_tool_error("cannot read the folder %s: %s", folder, strerror(errno));
        return RKC_EIO;
    }
    for (struct dirent *entry; !status && (entry = readdir(dir));) {
        char path[PATH_MAX];
        int n = snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (n > 0 && (size_t)n < sizeof path && is_image_name(entry->d_name) &&
            !is_others(stat_, path))
            status = add_path(paths, path);
    }
    closedir(dir);
    if (!status && paths->n == before) {
        rkc_tool_error("%s holds no images (files that end in .rkci)", folder);
        return RKC_ENOTFOUND;
    }
    return status;
}

static int add_argument(struct paths *paths, const char *path)
{
    struct stat stat_;
    if (stat(path, &stat_) != 0) {
        rkc_tool_error("cannot open %s: %s", path, strerror(errno));
        return RKC_EIO;
    }
    return S_ISDIR(stat_.st_mode) ? add_folder(paths, path, &stat_) : add_path(paths, path);
}

static void say_file(void *context, const struct rkc_recovered *recovered)
{
    char text[RKC_RECOVERED_TEXT];
    (void)context;
    printf("%s: %s\n", recovered->path, rkc_recovered_text(recovered, text));
}

static int recover_named(const struct request *request)
{
    struct paths paths = {.path = NULL};
    int status = 0, code = RKC_EXIT_USAGE;
    for (int i = 0; i < request->n_arguments && !status; i++)
        status = add_argument(&paths, request->arguments[i]);
    if (!status && !request->output)
        status = rkc_tool_usage("recover", "no name for the file: say", "-o FILE");
    if (!status)
        code = rkc_recover((const char *const *)paths.path, paths.n, request->output, say_file,
                           NULL);
    free_paths(&paths);
    return code;
}

/* ---- images by their run ---- */

static int find(const struct request *request, struct rkc_images *images)
{
    struct rkc_images_wanted wanted = {.run_id = request->run_id};
    if (request->n_arguments == 0)
        return rkc_images_find_spooled(images, &wanted);
    for (int i = 0; i < request->n_arguments; i++) {
        int status = rkc_images_find(images, request->arguments[i], &wanted);
        if (status == RKC_EIO)
            rkc_tool_error("cannot read the folder %s: %s", request->arguments[i], strerror(errno));
        if (status)
            return status;
    }
    return 0;
}

static int recover_world(const struct rkc_images *images, size_t first, size_t end,
                         const char *output)
{
    const char **paths = calloc(end - first, sizeof *paths);
    if (!paths)
        return RKC_EXIT_FAILED;
    for (size_t i = first; i < end; i++)
        paths[i - first] = images->files[i].path;
    int code = rkc_recover(paths, end - first, output, say_file, NULL);
    free(paths);
    return code;
}

static int recover_run(const struct request *request, const struct rkc_images *images)
{
    int worst = RKC_EXIT_OK;
    if (images->n == 0) {
        rkc_tool_error("no image of run %s was found on this machine", request->run_id);
        return RKC_EXIT_USAGE;
    }
    for (size_t first = 0, end; first < images->n; first = end) {
        end = rkc_images_world_end(images, first);
        int code = recover_world(images, first, end, request->output);
        worst = code > worst ? code : worst;
    }
    return worst;
}

static void list_world(const struct rkc_images *images, size_t first, size_t end)
{
    const struct rkc_image_file *file = &images->files[first];
    time_t begun = (time_t)(file->begun_unix_ns / 1000000000);
    struct tm tm;
    char when[32] = "?", ranks[32], live[48] = "";
    size_t n_live = 0;
    int32_t size = 0;
    for (size_t i = first; i < end; i++) {
        n_live += (size_t)rkc_images_is_live(&images->files[i]);
        size = images->files[i].size > size ? images->files[i].size : size;
    }
    if (gmtime_r(&begun, &tm))
        strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &tm);
    if (size > 0)
        snprintf(ranks, sizeof ranks, "%zu/%d", end - first, (int)size);
    else
        snprintf(ranks, sizeof ranks, "%zu", end - first);
    if (n_live > 0)
        snprintf(live, sizeof live, "  (%zu still running)", n_live);
    char id[sizeof file->run_id], program[sizeof file->program];
    int folder = (int)(strrchr(file->path, '/') - file->path), utf8 = rkc_text_utf8();
    rkc_text_clean(file->run_id, utf8, id, sizeof id);
    rkc_text_clean(file->program, utf8, program, sizeof program);
    printf("%-32s %9s  %-20s  %-16s %.*s%s\n", id, ranks, when, program, folder, file->path, live);
}

static int list(const struct rkc_images *images)
{
    if (images->n > 0)
        printf("%-32s %9s  %-20s  %-16s %s\n", "run", "images", "begun", "program", "folder");
    for (size_t first = 0, end; first < images->n; first = end) {
        end = rkc_images_world_end(images, first);
        list_world(images, first, end);
    }
    return RKC_EXIT_OK;
}

static int by_run(const struct request *request)
{
    struct rkc_images images = {.files = NULL};
    int status = find(request, &images), code = RKC_EXIT_USAGE;
    if (status == RKC_ENOMEM)
        rkc_tool_error("%s", rkc_strerror(status));
    else if (!status && request->list)
        code = list(&images);
    else if (!status && !request->output)
        rkc_tool_usage("recover", "no name for the file: say", "-o FILE");
    else if (!status)
        code = recover_run(request, &images);
    rkc_images_free(&images);
    return code;
}

/* ---- the command ---- */

static void print_help(void)
{
    puts(
        "usage: rankclock recover [-o FILE] FOLDER|IMAGE ...\n"
        "       rankclock recover --run ID -o FILE [FOLDER ...]\n"
        "       rankclock recover --list [FOLDER ...]\n"
        "\n"
        "Make one result file of the images that the ranks of a run left when it ended early:\n"
        "killed, aborted, without MPI_Finalize, or when the file could not be written. Those of a\n"
        "run that still goes on are read as well, and it notices nothing.\n"
        "\n"
        "  -o, --output FILE   name of the file; default: the folder's name without .partial.\n"
        "                      A taken name gets a number, nothing is overwritten\n"
        "      --run ID        only images of this run; without a folder those that lie where\n"
        "                      killed ranks left them on this machine: in the folders that\n"
        "                      RANKCLOCK_SPOOL stands for. Each world gets a file of its own\n"
        "      --list          say what runs there are images of\n"
        "\n"
        "Nothing is removed. Exit status: 0 all images were used; 1 some were left out or the "
        "file\n"
        "could not be written; 2 wrong arguments or no image could be used.");
}

/* Nobody else removes it: whoever started that writer was killed, too. */
static void name_leftover(const char *folder, const char *name)
{
    rkc_tool_error("%s%s is what a writer that was killed has left, if none runs any more: it is no "
                   "whole file and can be removed", folder, name);
}

/* "run.h5.partial/" gives "run.h5". */
static char *default_output(const char *argument)
{
    size_t length = strlen(argument);
    while (length > 1 && argument[length - 1] == '/')
        length--;
    if (length <= 8 || strncmp(argument + length - 8, ".partial", 8) != 0)
        return NULL;
    return strndup(argument, length - 8);
}

/* 0, or an exit status + 1. The words that are no options are gathered at the front of argv. */
static int parse(int argc, char **argv, struct request *request)
{
    *request = (struct request){.arguments = argv + 1};
    for (int i = 1; i < argc; i++) {
        int option = rkc_tool_option(argc, argv, &i, "output", 'o', &request->output);
        if (option == 0)
            option = rkc_tool_option(argc, argv, &i, "run", 0, &request->run_id);
        if (option < 0)
            return rkc_tool_usage("recover", "no value after", argv[i]) + 1;
        if (option)
            continue;
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            print_help();
            return RKC_EXIT_OK + 1;
        }
        if (strcmp(argv[i], "--list") == 0)
            request->list = 1;
        else if (argv[i][0] == '-' && argv[i][1])
            return rkc_tool_usage("recover", "no option", argv[i]) + 1;
        else
            request->arguments[request->n_arguments++] = argv[i];
    }
    if (request->n_arguments == 0 && !request->list && !request->run_id)
        return rkc_tool_usage("recover", "no folder or image", "to read") + 1;
    return 0;
}

int rkc_tool_recover(int argc, char **argv)
{
    struct request request;
    int wrong = parse(argc, argv, &request);
    if (wrong)
        return wrong - 1;
    struct stat stat_;
    if (request.output && stat(request.output, &stat_) == 0 && !S_ISREG(stat_.st_mode))
        return rkc_tool_usage("recover", "not the name of a file:", request.output);
    char *named = request.n_arguments > 0 ? default_output(request.arguments[0]) : NULL;
    if (!request.output)
        request.output = named;
    int code = request.list || request.run_id ? by_run(&request) : recover_named(&request);
    if (request.output && !request.list)
        rkc_names_find(request.output, name_leftover);
    free(named);
    return code;
}
