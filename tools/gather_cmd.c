/* gather_cmd.c - `rankclock gather`: what a run left on this node goes where the others can see it.
 */
#include "autoconf.h"

#include "tools.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rankclock/status.h>

#include "identity.h"
#include "images.h"

struct request {
    const char *run_id, *job, *from, *destination;
    int move;
};

static void print_help(void)
{
    puts("usage: rankclock gather [OPTION]... DESTINATION\n"
         "\n"
         "Copy the images that this job left in the local folders of this node, when its ranks "
         "were\n"
         "killed, into the folder DESTINATION, which all nodes share. On each node once, as by\n"
         "\n"
         "  srun -n $SLURM_NNODES --ntasks-per-node=1 rankclock gather run.h5.partial\n"
         "  rankclock recover run.h5.partial -o run.h5\n"
         "\n"
         "      --run ID       of this run; default: of this Slurm job\n"
         "      --job ID       of this Slurm job, of an array's task 4711_3 or its own number\n"
         "      --from FOLDER  from there; default: the folders that RANKCLOCK_SPOOL stands for\n"
         "      --move         remove what was copied\n"
         "\n"
         "Images of processes that still run are left alone. Exit status: 0 all were copied, or\n"
         "there was none; 1 some were not; 2 wrong arguments.");
}

/* 0, or an exit status + 1. */
static int parse(int argc, char **argv, struct request *request)
{
    *request = (struct request){.run_id = NULL};
    for (int i = 1; i < argc; i++) {
        int option = rkc_tool_option(argc, argv, &i, "run", 0, &request->run_id);
        if (option == 0)
            option = rkc_tool_option(argc, argv, &i, "job", 0, &request->job);
        if (option == 0)
            option = rkc_tool_option(argc, argv, &i, "from", 0, &request->from);
        if (option < 0)
            return rkc_tool_usage("gather", "no value after", argv[i]) + 1;
        if (option)
            continue;
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            print_help();
            return RKC_EXIT_OK + 1;
        }
        if (strcmp(argv[i], "--move") == 0)
            request->move = 1;
        else if (argv[i][0] == '-' && argv[i][1])
            return rkc_tool_usage("gather", "no option", argv[i]) + 1;
        else if (request->destination)
            return rkc_tool_usage("gather", "more than one folder:", argv[i]) + 1;
        else
            request->destination = argv[i];
    }
    if (request->run_id && !*request->run_id)
        return rkc_tool_usage("gather", "nothing after", "--run") + 1;
    if (request->job && !*request->job)
        return rkc_tool_usage("gather", "nothing after", "--job") + 1;
    if (!request->destination || !*request->destination)
        return rkc_tool_usage("gather", "no folder", "to copy to") + 1;
    return 0;
}

/* The run or the job wanted. 0, or RKC_EARG where neither is known. */
static int choose(const struct request *request, struct rkc_images_wanted *wanted)
{
    *wanted = (struct rkc_images_wanted){.run_id = request->run_id, .job = request->job};
    if (request->run_id || request->job)
        return 0;
    rkc_identity_read("", 0);
    wanted->job = rkc_identity()->job;
    if (*wanted->job)
        return 0;
    rkc_tool_error(
        "gather: this is no Slurm job: say --job ID, or --run ID (rankclock recover --list has "
        "them)");
    return RKC_EARG;
}

static int find(const struct request *request, const struct rkc_images_wanted *wanted,
                struct rkc_images *images)
{
    int status = request->from ? rkc_images_find(images, request->from, wanted)
                               : rkc_images_find_spooled(images, wanted);
    if (status == RKC_EIO)
        rkc_tool_error("cannot read the folder %s: %s", request->from, strerror(errno));
    else if (status)
        rkc_tool_error("%s", rkc_strerror(status));
    return status;
}

/* What goes wrong with one goes wrong with most: one line for all. */
static void say_failed(const struct rkc_image_file *first, size_t failed, int error,
                       const struct request *request)
{
    char more[32] = "";
    if (failed > 1)
        snprintf(more, sizeof more, " and %zu more", failed - 1);
    rkc_tool_error("cannot %s %s%s to %s: %s", request->move ? "move" : "copy", first->path, more,
                   request->destination, strerror(error));
}

/* An exit status. */
static int copy_all(const struct request *request, const struct rkc_images *images)
{
    const struct rkc_image_file *first = NULL;
    size_t copied = 0, live = 0, moved = 0, failed = 0;
    int why = 0;
    for (size_t i = 0; i < images->n; i++) {
        const struct rkc_image_file *file = &images->files[i];
        if (rkc_images_is_live(file)) {
            live++;
            continue;
        }
        int error = rkc_images_copy(file, request->destination, request->move);
        copied += error == 0;
        if (error == ENOENT && access(file->path, F_OK) != 0) {
            moved++; /* by another one of us on this node */
        } else if (error && failed++ == 0) {
            first = file;
            why = error;
        }
    }
    printf("%s: %zu image%s\n", request->destination, copied, copied == 1 ? "" : "s");
    if (failed > 0)
        say_failed(first, failed, why, request);
    if (live > 0)
        rkc_tool_error(
            "gather: %zu process%s still run: rankclock recover reads their images where "
            "they are",
            live, live == 1 ? "" : "es");
    return copied + moved == images->n ? RKC_EXIT_OK : RKC_EXIT_FAILED;
}

int rkc_tool_gather(int argc, char **argv)
{
    struct request request;
    struct rkc_images_wanted wanted;
    struct rkc_images images = {.files = NULL};
    int wrong = parse(argc, argv, &request);
    if (wrong)
        return wrong - 1;
    int code = RKC_EXIT_USAGE;
    if (choose(&request, &wanted) == 0 && find(&request, &wanted, &images) == 0)
        code = copy_all(&request, &images);
    rkc_images_free(&images);
    return code;
}
