/* run.c - `rankclock run`: a command's ranks get the library by their environment alone; how it
 * reaches them is the launcher's matter, and launch.c's. */
#include "autoconf.h"

#include "child.h"
#include "launch.h"
#include "outcome.h"
#include "tools.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <rankclock/status.h>

#include "config.h"

#define LIBRARY "librankclock-mpi.so"

extern char **environ;

enum { RUN_ID_MAX = 100, VERSION_MAX = 16384 };

static int help(void)
{
    puts("usage: rankclock run [OPTION]... [--] COMMAND [ARGUMENT]...\n"
         "\n"
         "Run COMMAND, an MPI launcher or a program, with rankclock in each of its ranks. The\n"
         "exit status is the command's. At the end stderr says which file was written.\n"
         "\n"
         "  -o, --output PATTERN  name of the result file; %n program, %j job, %r restart,\n"
         "                        %h host, %p process id (RANKCLOCK_OUTPUT)\n"
         "  -v, --verbose         say how the command is changed\n"
         "  -h, --help            this text\n"
         "\n"
         "The launchers known are Open MPI's and MPICH's mpirun and mpiexec, srun, aprun and\n"
         "jsrun, also behind env, timeout, nice and the like.");
    return RKC_EXIT_OK;
}

struct options {
    const char *output; /* NULL: RANKCLOCK_OUTPUT, or the default */
    int verbose;
    char **command;
};

/* 0, or an exit status + 1. */
static int parse(int argc, char **argv, struct options *options)
{
    int i = 1;
    for (; i < argc && argv[i][0] == '-' && argv[i][1]; i++) {
        if (strcmp(argv[i], "--") == 0) {
            i++;
            break;
        }
        int is_output = rkc_tool_option(argc, argv, &i, "output", 'o', &options->output);
        if (is_output < 0)
            return rkc_tool_usage("run", "no name after", argv[i]) + 1;
        if (is_output)
            continue;
        if (strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "--help") == 0)
            return help() + 1;
        if (strcmp(argv[i], "-v") != 0 && strcmp(argv[i], "--verbose") != 0)
            return rkc_tool_usage("run", "no option", argv[i]) + 1;
        options->verbose = 1;
    }
    options->command = argv + i;
    if (i >= argc)
        return rkc_tool_usage("run", "no command", "to run") + 1;
    return 0;
}

/* Our own file, links resolved. */
static int own_path(char path[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
    path[length > 0 ? length : 0] = '\0';
    return length > 0;
}

/* The library beside the command: as installed, or in the build directory. */
static int find_library(const char *own, char library[PATH_MAX])
{
    static const char *const folders[] = {"../lib", "../lib64", "../lib/*", "../.libs"};
    int length = (int)(strrchr(own, '/') - own);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char pattern[PATH_MAX];
        glob_t found;
        int fits = snprintf(pattern, sizeof pattern, "%.*s/%s/" LIBRARY, length, own, folders[i]) <
                   (int)sizeof pattern;
        if (!fits || glob(pattern, 0, NULL, &found) != 0)
            continue;
        int known = found.gl_pathc > 0 && realpath(found.gl_pathv[0], library);
        globfree(&found);
        if (known)
            return 0;
    }
#ifdef RKC_LIBDIR
    if (realpath(RKC_LIBDIR "/" LIBRARY, library))
        return 0;
#endif
    rkc_tool_error("run: " LIBRARY " was not found beside %s", own);
    return RKC_ENOTFOUND;
}

/* Whether the user has turned recording off. */
static int is_off(void)
{
    static const char *const words[] = {"off", "0", "no", "false"};
    const char *value = getenv("RANKCLOCK_ENABLE");
    for (size_t i = 0; value && i < sizeof words / sizeof *words; i++)
        if (strcmp(value, words[i]) == 0)
            return 1;
    return 0;
}

static int set(const char *name, const char *value, int replace)
{
    if (setenv(name, value, replace) == 0)
        return 0;
    rkc_tool_error("run: cannot set %s: %s", name, strerror(errno));
    return RKC_ENOMEM;
}

/* An id that no other run has: host, process, time and chance. */
static void make_run_id(char id[RUN_ID_MAX])
{
    char host[33] = "";
    uint32_t chance = 0;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (gethostname(host, sizeof host - 1) != 0)
        strcpy(host, "host");
    if (getrandom(&chance, sizeof chance, GRND_NONBLOCK) != sizeof chance)
        chance = (uint32_t)now.tv_nsec;
    snprintf(id, RUN_ID_MAX, "%s.%ld.%lld.%08x", host, (long)getpid(), (long long)now.tv_sec,
             (unsigned)chance);
}

static const char *default_output(void)
{
    size_t n;
    const struct rkc_setting *settings = rkc_config_settings(&n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(settings[i].name, "RANKCLOCK_OUTPUT") == 0)
            return settings[i].fallback;
    return "rankclock.h5";
}

/* Make an output pattern absolute: ranks may run elsewhere. 0 or a status, said. */
static int absolute_output(const char *output, char absolute[RKC_PATTERN_MAX])
{
    char folder[PATH_MAX];
    size_t used = 0;
    if (output[0] != '/') {
        if (!getcwd(folder, sizeof folder)) {
            rkc_tool_error("run: the working directory is unknown: %s", strerror(errno));
            return RKC_EIO;
        }
        for (const char *at = folder; *at && used + 3 < RKC_PATTERN_MAX; at++) {
            absolute[used++] = *at;
            if (*at == '%')
                absolute[used++] = '%';
        }
        absolute[used++] = '/';
    }
    if (used + strlen(output) < RKC_PATTERN_MAX) {
        strcpy(absolute + used, output);
        return 0;
    }
    rkc_tool_error("run: the output's name is too long");
    return RKC_ENAME;
}

/* Better said now than after two days; but the ranks may run where it can be written. */
static void check_folder(const char *output)
{
    char folder[RKC_PATTERN_MAX];
    size_t length = (size_t)(strrchr(output, '/') - output);
    memcpy(folder, output, length);
    folder[length] = 0;
    if (length && !strchr(folder, '%') && access(folder, W_OK | X_OK) != 0)
        rkc_tool_error("cannot write in %s from here: %s", folder, strerror(errno));
}

/* Set what every rank needs but LD_PRELOAD. 0 or a status, said. */
static int set_variables(const struct options *options, const char *own, const char *run_id,
                         char output[RKC_PATTERN_MAX])
{
    const char *wanted = options->output ? options->output : getenv("RANKCLOCK_OUTPUT");
    char why[256];
    if (wanted && rkc_config_check("RANKCLOCK_OUTPUT", wanted, why, sizeof why) != 0) {
        rkc_tool_error("run: output \"%s\": %s", wanted, why);
        return RKC_EARG;
    }
    int status = absolute_output(wanted && *wanted ? wanted : default_output(), output);
    if (status == 0)
        check_folder(output);
    if (status == 0)
        status = set("RANKCLOCK_OUTPUT", output, 1);
    if (status == 0)
        status = set("RANKCLOCK_RUN_ID", run_id, 1);
    if (status == 0)
        status = set("RANKCLOCK_WRITER", own, 0);
    /* We say what was written. */
    if (status == 0)
        status = set("RANKCLOCK_VERBOSE", "0", 0);
    return status;
}

/* The names of all our variables that are set, NULL at the end. To be freed with its strings. */
static char **our_names(void)
{
    size_t n = 0;
    for (char **entry = environ; *entry; entry++)
        n++;
    char **names = calloc(n + 1, sizeof *names);
    n = 0;
    for (char **entry = environ; names && *entry; entry++) {
        if (strncmp(*entry, "RANKCLOCK_", 10) != 0)
            continue;
        names[n] = strndup(*entry, strcspn(*entry, "="));
        n += names[n] != NULL;
    }
    return names;
}

static void free_names(char **names)
{
    for (size_t i = 0; names && names[i]; i++)
        free(names[i]);
    free(names);
}

static char *read_file(const char *path)
{
    FILE *in = fopen(path, "re");
    char *text = NULL;
    size_t room = 0;
    ssize_t length = in ? getdelim(&text, &room, '\0', in) : -1;
    if (in)
        fclose(in);
    if (length >= 0)
        return text;
    free(text);
    return NULL;
}

/* mca_base_env_list as the user's own Open MPI settings have it, to be freed; or NULL. */
static char *env_list_of_file(void)
{
    char path[PATH_MAX];
    const char *home = getenv("HOME");
    if (!home || snprintf(path, sizeof path, "%s/.openmpi/mca-params.conf", home) >= PATH_MAX)
        return NULL;
    char *text = read_file(path);
    char *list = NULL, *state = NULL;
    for (char *line = text ? strtok_r(text, "\n", &state) : NULL; line;
         line = strtok_r(NULL, "\n", &state)) {
        char value[4096];
        if (sscanf(line, " mca_base_env_list = %4095[^\n]", value) == 1) {
            free(list);
            list = strdup(value);
        }
    }
    free(text);
    return list;
}

/* Whose launcher it is, where its name does not tell. */
static void ask_launcher(char *const argv[], struct rkc_launch_place *place)
{
    if (place->launcher != RKC_LAUNCH_ASK)
        return;
    static char text[VERSION_MAX];
    char *const question[] = {argv[place->word], (char[]){"--version"}, NULL};
    rkc_child_capture(question, text, sizeof text);
    place->launcher = rkc_launch_identify(text);
}

/* Put a copy of Open MPI's application file, rewritten, in its place. `path` is the copy's name
 * or "". 0 or a status, said. */
static int replace_app_file(struct rkc_launched *launched, const struct rkc_launch *launch,
                            char path[PATH_MAX])
{
    path[0] = '\0';
    if (launched->app_file == 0)
        return 0;
    char **word = &launched->argv[launched->app_file];
    const char *folder = getenv("TMPDIR");
    char *text = read_file(*word);
    if (!text)
        return 0; /* mpirun knows best what to say */

    char *ours = rkc_launch_app_file(text, launch);
    free(text);
    snprintf(path, PATH_MAX, "%s/rankclock-app-XXXXXX", folder && *folder ? folder : "/tmp");
    int fd = ours ? mkostemp(path, O_CLOEXEC) : -1;
    size_t length = ours ? strlen(ours) : 0;
    int is_written = fd >= 0 && write(fd, ours, length) == (ssize_t)length;
    if (fd >= 0)
        close(fd);
    free(ours);
    char *name = is_written ? strdup(path) : NULL;
    if (!name) {
        rkc_tool_error("run: cannot write a copy of the application file as %s: %s", path,
                       strerror(errno));
        return RKC_EIO;
    }
    free(*word);
    *word = name;
    return 0;
}

static void say_command(const struct rkc_launch_place *place, const struct rkc_launched *launched)
{
    static const char *const names[] = {"a program",
                                        "an unknown launcher",
                                        "Open MPI's launcher",
                                        "hydra",
                                        "srun",
                                        "a launcher that hands on all variables"};
    fprintf(stderr, "rankclock: run: %s:", names[place->launcher]);
    for (char **word = launched->argv; *word; word++) {
        const char *quote = **word && !strpbrk(*word, " \t\n\"$;&|<>()*?") ? "" : "'";
        fprintf(stderr, " %s%s%s", quote, *word, quote);
    }
    fputc('\n', stderr);
}

/* Run the command with the library added; an exit status. */
static int run_command(const struct options *options, const char *library, int *started)
{
    struct rkc_launch_place place = rkc_launch_find(options->command);
    struct rkc_launched launched = {NULL, NULL, NULL, 0};
    char app_file[PATH_MAX] = "";
    char **names = our_names();
    const char *list = getenv("OMPI_MCA_mca_base_env_list");
    ask_launcher(options->command, &place);
    char *list_of_file = place.launcher == RKC_LAUNCH_OPENMPI && !list ? env_list_of_file() : NULL;
    struct rkc_launch launch = {library, (const char *const *)names, getenv("LD_PRELOAD"),
                                list ? list : list_of_file, getenv("SLURM_EXPORT_ENV")};

    int status =
        names ? rkc_launch_rewrite(options->command, &place, &launch, &launched) : RKC_ENOMEM;
    if (status != 0)
        rkc_tool_error("run: %s", rkc_strerror(status));
    if (status == 0)
        status = replace_app_file(&launched, &launch, app_file);
    if (status == 0 && launched.env_list)
        status = set("OMPI_MCA_mca_base_env_list", launched.env_list, 1);
    if (status == 0 && launched.preload)
        status = set("LD_PRELOAD", launched.preload, 1);
    if (status == 0 && options->verbose)
        say_command(&place, &launched);

    int result = status == 0 ? rkc_child_run(launched.argv, started) : RKC_EXIT_FAILED;
    if (app_file[0])
        unlink(app_file);
    rkc_launched_free(&launched);
    free(list_of_file);
    free_names(names);
    return result;
}

int rkc_tool_run(int argc, char **argv)
{
    struct options options = {NULL, 0, NULL};
    int wrong = parse(argc, argv, &options);
    if (wrong)
        return wrong - 1;

    char own[PATH_MAX], library[PATH_MAX], run_id[RUN_ID_MAX], output[RKC_PATTERN_MAX];
    if (!own_path(own)) {
        rkc_tool_error("run: /proc/self/exe cannot be read: %s", strerror(errno));
        return RKC_EXIT_FAILED;
    }
    if (find_library(own, library) != 0)
        return RKC_EXIT_FAILED;
    if (strpbrk(library, " \t:")) {
        rkc_tool_error("run: LD_PRELOAD cannot name %s: it holds a blank or a colon", library);
        return RKC_EXIT_FAILED;
    }
    make_run_id(run_id);
    int status = set_variables(&options, own, run_id, output);
    if (status != 0)
        return status == RKC_EARG ? RKC_EXIT_USAGE : RKC_EXIT_FAILED;

    time_t began = time(NULL);
    int started = 0;
    int result = run_command(&options, library, &started);
    if (started && is_off())
        rkc_tool_error("nothing was recorded: RANKCLOCK_ENABLE is off");
    else if (started)
        rkc_outcome_say(output, run_id, began);
    return result;
}
