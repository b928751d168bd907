/* launch.c - only words before a program's name are options of its launcher; what follows is the
 * program's own and must not be touched, however much it looks like an option. */
#include "autoconf.h"

#include "launch.h"
#include "launch_env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rankclock/status.h>

#define ENV_LIST "mca_base_env_list"
#define OMPI_ENV_LIST "OMPI_MCA_" ENV_LIST

/* Commands that run the command in their arguments. */
struct prefix {
    const char *name;
    int arguments;       /* words between the options and the command */
    const char *letters; /* options followed by a value */
    const char *words;   /* the long ones */
};

static const struct prefix prefixes[] = {
    {"env", 0, "uCS", " unset chdir split-string "},
    {"timeout", 1, "ks", " kill-after signal "},
    {"nice", 0, "n", " adjustment "},
    {"ionice", 0, "cn", " class classdata "},
    {"time", 0, "fo", " format output "},
    {"stdbuf", 0, "ioe", " input output error "},
    {"numactl", 0, "imNCpPw", " interleave membind cpunodebind physcpubind preferred "},
    {"taskset", 1, "", " "},
    {"chrt", 1, "TPD", " sched-runtime sched-period sched-deadline "},
    {"nohup", 0, "", " "},
    {"setsid", 0, "", " "},
    {"strace", 0, "abeEIoOPpSsuUX", " "},
};

/* The options of each launcher that are followed by one value, or by two. */
struct grammar {
    const char *one, *two;
};

/* Open MPI 4's mpirun --help full, and PRRTE's prterun. */
static const struct grammar openmpi_grammar = {
    " am app bind-to c np n cf cartofile cpu-list cpu-set cpus-per-proc cpus-per-rank debugger"
    " default-hostfile H host hnp hostfile launch-agent machinefile map-by max-restarts max-vm-size"
    " N npernode npersocket ompi-server output-filename path personality ppr prefix preload-files"
    " rank-by report-events report-pid report-uri rf rankfile stdin timeout tune wd wdir x xml-file"
    " xterm add-host add-hostfile app-prefix display dvm-uri exec-agent output pset"
    " runtime-options set-sid stream-buffering memory-alloc-kinds with-ft ",
    " mca gmca omca gomca prtemca pmixmca gpmixmca "};

/* MPICH's mpiexec.hydra --help, and Intel's. */
static const struct grammar hydra_grammar = {
    " genvlist f hosts host hostlist machinefile wdir wd dir path umask arch configfile envlist"
    " n np launcher launcher-exec bootstrap bootstrap-exec rmk topolib bind-to map-by membind demux"
    " iface ppn perhost prepend-pattern outfile-pattern errfile-pattern nameserver order-nodes"
    " localhost usize gpus-per-proc l-prefix genvexcl envexcl binding gtool gtoolfile"
    " profile-output ",
    " genv env "};

/* srun(1) of Slurm 22 and 23, without the words that take "=value" alone. */
static const struct grammar srun_grammar = {
    " A B c C d D e E F G i J L m M n N o p q r S t T w W x Z"
    " account acctg-freq batch bb bbf cluster-constraint clusters chdir constraint container"
    " context core-spec cores-per-socket cpu-bind cpu-freq cpus-per-gpu cpus-per-task deadline"
    " delay-boot dependency distribution epilog error export export-file extra extra-node-info gid "
    "gpu-bind"
    " gpu-freq gpus gpus-per-node gpus-per-socket gpus-per-task gres gres-flags hint input"
    " job-name jobid licenses mail-type mail-user max-threads mcs-label mem mem-bind mem-per-cpu"
    " mem-per-gpu mincpus mpi msg-timeout multi-prog-file network nodefile nodelist nodes ntasks"
    " ntasks-per-core ntasks-per-gpu ntasks-per-node ntasks-per-socket ntasks-per-tres open-mode"
    " output partition power prefer priority prolog profile qos relative reservation signal"
    " slurmd-debug sockets-per-node switches task-epilog task-prolog thread-spec"
    " threads-per-core time time-min tmp tres-bind tres-per-task uid wait wckey ",
    " "};

static const struct {
    const char *name;
    enum rkc_launcher launcher;
} launchers[] = {
    {"mpirun", RKC_LAUNCH_ASK},
    {"mpiexec", RKC_LAUNCH_ASK},
    {"orterun", RKC_LAUNCH_OPENMPI},
    {"prterun", RKC_LAUNCH_OPENMPI},
    {"mpirun.openmpi", RKC_LAUNCH_OPENMPI},
    {"mpiexec.openmpi", RKC_LAUNCH_OPENMPI},
    {"mpiexec.hydra", RKC_LAUNCH_HYDRA},
    {"mpirun.mpich", RKC_LAUNCH_HYDRA},
    {"mpiexec.mpich", RKC_LAUNCH_HYDRA},
    {"srun", RKC_LAUNCH_SRUN},
    {"aprun", RKC_LAUNCH_OTHER},
    {"jsrun", RKC_LAUNCH_OTHER},
};

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Whether `word` is one of the words in a list, which has a blank on both sides of each. */
static int is_listed(const char *list, const char *word)
{
    size_t length = strlen(word);
    if (length == 0 || strchr(word, ' '))
        return 0;
    for (const char *at = strstr(list, word); at; at = strstr(at + 1, word))
        if (at[-1] == ' ' && at[length] == ' ')
            return 1;
    return 0;
}

static int begins(const char *word, const char *start)
{
    return strncmp(word, start, strlen(start)) == 0;
}

static const struct prefix *find_prefix(const char *word)
{
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strcmp(base_name(word), prefixes[i].name) == 0)
            return &prefixes[i];
    return NULL;
}

static enum rkc_launcher launcher_of(const char *word)
{
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
        if (strcmp(base_name(word), launchers[i].name) == 0)
            return launchers[i].launcher;
    return RKC_LAUNCH_NONE;
}

/* The index of the command that the prefix at `i` runs. */
static size_t skip_prefix(char *const argv[], size_t i, const struct prefix *prefix,
                          struct rkc_launch_place *place)
{
    int is_env = strcmp(prefix->name, "env") == 0;
    for (i++; argv[i] && argv[i][0] == '-' && argv[i][1]; i++) {
        const char *word = argv[i];
        if (strcmp(word, "--") == 0) {
            i++;
            break;
        }
        int takes_value = begins(word, "--") ? is_listed(prefix->words, word + 2)
                                             : !word[2] && strchr(prefix->letters, word[1]);
        if (takes_value && argv[i + 1])
            i++;
    }
    for (; is_env && argv[i] && strchr(argv[i], '='); i++) {
        if (begins(argv[i], RKC_PRELOAD "="))
            place->preload_word = i;
        else if (begins(argv[i], OMPI_ENV_LIST "="))
            place->env_list_word = i;
    }
    for (int n = prefix->arguments; n > 0 && argv[i]; n--)
        i++;
    return i;
}

struct rkc_launch_place rkc_launch_find(char *const argv[])
{
    struct rkc_launch_place place = {RKC_LAUNCH_NONE, 0, 0, 0};
    const struct prefix *prefix;
    while (argv[place.word] && (prefix = find_prefix(argv[place.word])))
        place.word = skip_prefix(argv, place.word, prefix, &place);
    if (argv[place.word])
        place.launcher = launcher_of(argv[place.word]);
    return place;
}

enum rkc_launcher rkc_launch_identify(const char *version)
{
    static const char *const openmpi[] = {"Open MPI", "OpenRTE", "PRRTE", "prterun",
                                          "Spectrum MPI"};
    static const char *const hydra[] = {"HYDRA", "Intel(R) MPI", "MPICH", "MVAPICH"};
    for (size_t i = 0; i < sizeof openmpi / sizeof *openmpi; i++)
        if (strstr(version, openmpi[i]))
            return RKC_LAUNCH_OPENMPI;
    for (size_t i = 0; i < sizeof hydra / sizeof *hydra; i++)
        if (strstr(version, hydra[i]))
            return RKC_LAUNCH_HYDRA;
    return RKC_LAUNCH_OTHER;
}

/* The growing new command. */
struct words {
    char **argv;
    size_t n, room;
    int failed;
};

/* Append a word, which becomes the list's; NULL is a failure. */
static void push(struct words *words, char *word)
{
    if (word && words->n + 1 >= words->room) {
        size_t room = words->room ? 2 * words->room : 64;
        char **argv = realloc(words->argv, room * sizeof *argv);
        if (argv) {
            words->argv = argv;
            words->room = room;
        } else {
            free(word);
            word = NULL;
        }
    }
    if (!word) {
        words->failed = 1;
        return;
    }
    words->argv[words->n++] = word;
    words->argv[words->n] = NULL;
}

static void push_copy(struct words *words, const char *word)
{
    push(words, rkc_launch_join(word, "", ""));
}

/* How many words the option at `word` takes after itself. */
static size_t option_values(const struct grammar *grammar, const char *word)
{
    const char *name = word + 1 + (word[1] == '-');
    return is_listed(grammar->one, name) ? 1 : is_listed(grammar->two, name) ? 2 : 0;
}

static int is_option(const char *word, const char *name)
{
    return word[0] == '-' && strcmp(word + 1 + (word[1] == '-'), name) == 0;
}

/* Words of a context's options: from argv[i] up to the program, ":" or the end. */
static size_t options_end(const struct grammar *grammar, char *const argv[], size_t i)
{
    while (argv[i] && argv[i][0] == '-' && argv[i][1]) {
        if (strcmp(argv[i], "--") == 0)
            return i + 1;
        for (size_t n = option_values(grammar, argv[i]); n > 0 && argv[i + 1]; n--)
            i++;
        i++;
    }
    return i;
}

/* Copy a program and its arguments up to ":" or the end; returns the index there. In
 * `env LD_PRELOAD=x program` the assignment would undo ours, so ours is added to it. */
static size_t copy_program(struct words *words, char *const argv[], size_t i,
                           const struct rkc_launch *launch)
{
    struct rkc_launch_place place = rkc_launch_find(argv + i);
    size_t assignment = place.preload_word ? i + place.preload_word : 0;
    for (; argv[i] && strcmp(argv[i], ":") != 0; i++) {
        if (assignment && i == assignment)
            push(words, rkc_launch_assignment(argv[i], launch));
        else
            push_copy(words, argv[i]);
    }
    return i;
}

/* What a user's own list of variables makes of an Open MPI command. */
enum env_list_use { NO_LIST, LIST_IN_ENVIRONMENT, LIST_IN_COMMAND };

static enum env_list_use find_env_list(char *const argv[], size_t i, const char *env_list)
{
    while (argv[i]) {
        size_t end = options_end(&openmpi_grammar, argv, i);
        for (; i + 2 < end; i++)
            if (is_listed(openmpi_grammar.two, argv[i] + 1 + (argv[i][1] == '-')) &&
                strcmp(argv[i + 1], ENV_LIST) == 0)
                return LIST_IN_COMMAND;
        for (i = end; argv[i] && strcmp(argv[i], ":") != 0;)
            i++;
        i += argv[i] != NULL;
    }
    return env_list && *env_list ? LIST_IN_ENVIRONMENT : NO_LIST;
}

/* -x for each of our variables; a user's own -x LD_PRELOAD is extended where it stands. */
static void push_exports(struct words *words, const struct rkc_launch *launch, int has_preload)
{
    if (!has_preload) {
        push_copy(words, "-x");
        push(words, rkc_launch_assignment(RKC_PRELOAD, launch));
    }
    for (size_t i = 0; launch->names[i]; i++) {
        push_copy(words, "-x");
        push_copy(words, launch->names[i]);
    }
}

static size_t openmpi_context(struct words *words, char *const argv[], size_t i,
                              const struct rkc_launch *launch, enum env_list_use use,
                              size_t *app_file)
{
    size_t end = options_end(&openmpi_grammar, argv, i);
    int has_preload = 0;
    for (size_t j = i; j + 1 < end; j++)
        has_preload |= is_option(argv[j], "x") && rkc_launch_is_preload(argv[j + 1]);
    if (use == NO_LIST)
        push_exports(words, launch, has_preload);

    for (; i < end; i++) {
        int is_value = i > 0 && is_option(argv[i - 1], "x") && rkc_launch_is_preload(argv[i]);
        int is_list = i > 1 && strcmp(argv[i - 1], ENV_LIST) == 0 &&
                      option_values(&openmpi_grammar, argv[i - 2]) == 2;
        if (is_value)
            push(words, rkc_launch_assignment(argv[i], launch));
        else if (is_list)
            push(words, rkc_launch_list(argv[i], ';', launch, 1));
        else
            push_copy(words, argv[i]);
        if (use == NO_LIST && is_option(argv[i], "app") && i + 1 < end)
            *app_file = words->n;
    }
    return copy_program(words, argv, i, launch);
}

/* Hydra hands on every variable, but -genv keeps LD_PRELOAD out of mpiexec itself and holds with
 * -genvnone and -genvlist too. The last -genv of a name counts, and -env counts more. */
static size_t hydra_context(struct words *words, char *const argv[], size_t i,
                            const struct rkc_launch *launch)
{
    size_t end = options_end(&hydra_grammar, argv, i);
    for (; i < end; i++) {
        int is_value = i > 1 && strcmp(argv[i - 1], RKC_PRELOAD) == 0 &&
                       option_values(&hydra_grammar, argv[i - 2]) == 2;
        if (is_value)
            push(words, rkc_launch_preload(argv[i], launch->library));
        else
            push_copy(words, argv[i]);
    }
    return copy_program(words, argv, i, launch);
}

static void push_hydra_exports(struct words *words, const struct rkc_launch *launch)
{
    push_copy(words, "-genv");
    push_copy(words, RKC_PRELOAD);
    push(words, rkc_launch_preload(launch->preload, launch->library));
}

static size_t srun_context(struct words *words, char *const argv[], size_t i,
                           const struct rkc_launch *launch, int value_in_list)
{
    size_t end = options_end(&srun_grammar, argv, i);
    int has_export = 0;
    for (size_t j = i; j < end; j++)
        has_export |= is_option(argv[j], "export") || begins(argv[j], "--export=");
    if (!has_export) {
        const char *base = launch->export_env && *launch->export_env ? launch->export_env : "ALL";
        char *list = rkc_launch_export(base, launch, value_in_list);
        push(words, list ? rkc_launch_join("--export=", list, "") : NULL);
        free(list);
    }
    for (; i < end; i++) {
        int is_value = i > 0 && is_option(argv[i - 1], "export");
        int is_joined = begins(argv[i], "--export=");
        if (is_value || is_joined) {
            const char *value = argv[i] + (is_joined ? strlen("--export=") : 0);
            char *list = rkc_launch_export(value, launch, value_in_list);
            push(words, list ? rkc_launch_join(is_joined ? "--export=" : "", list, "") : NULL);
            free(list);
        } else {
            push_copy(words, argv[i]);
        }
    }
    return copy_program(words, argv, i, launch);
}

/* Everything behind the launcher's own word: contexts with ":" between them. */
static void push_contexts(struct words *words, char *const argv[], size_t i,
                          enum rkc_launcher launcher, const struct rkc_launch *launch,
                          struct rkc_launched *launched)
{
    enum env_list_use use = NO_LIST;
    int value_in_list = 1;
    if (launcher == RKC_LAUNCH_OPENMPI) {
        use = find_env_list(argv, i, launch->env_list);
        if (use == LIST_IN_ENVIRONMENT)
            launched->env_list = rkc_launch_list(launch->env_list, ';', launch, 1);
        words->failed |= use == LIST_IN_ENVIRONMENT && !launched->env_list;
    } else if (launcher == RKC_LAUNCH_HYDRA) {
        push_hydra_exports(words, launch);
    } else if ((launch->preload && *launch->preload) || strchr(launch->library, ',')) {
        /* With ALL srun prefers the environment to its list, which has no way to write a comma. */
        launched->preload = rkc_launch_preload(launch->preload, launch->library);
        value_in_list = 0;
        words->failed |= !launched->preload;
    }
    while (argv[i]) {
        if (launcher == RKC_LAUNCH_OPENMPI)
            i = openmpi_context(words, argv, i, launch, use, &launched->app_file);
        else if (launcher == RKC_LAUNCH_HYDRA)
            i = hydra_context(words, argv, i, launch);
        else
            i = srun_context(words, argv, i, launch, value_in_list);
        if (argv[i])
            push_copy(words, argv[i++]);
    }
}

/* Replace the assignment at `word`, unless that is 0 or there is no value. */
static void set_word(struct words *words, size_t word, const char *name, const char *value)
{
    if (word == 0 || !value || word >= words->n)
        return;
    char *assignment = rkc_launch_join(name, "=", value);
    if (assignment) {
        free(words->argv[word]);
        words->argv[word] = assignment;
    }
    words->failed |= !assignment;
}

int rkc_launch_rewrite(char *const argv[], const struct rkc_launch_place *place,
                       const struct rkc_launch *launch, struct rkc_launched *launched)
{
    struct words words = {NULL, 0, 0, 0};
    struct rkc_launch known = *launch;
    *launched = (struct rkc_launched){NULL, NULL, NULL, 0};
    int hands_on_options = place->launcher == RKC_LAUNCH_OPENMPI ||
                           place->launcher == RKC_LAUNCH_HYDRA ||
                           place->launcher == RKC_LAUNCH_SRUN;

    /* What `env` sets before the launcher is what the launcher will see. */
    if (hands_on_options && place->preload_word)
        known.preload = argv[place->preload_word] + strlen(RKC_PRELOAD "=");
    if (place->env_list_word)
        known.env_list = argv[place->env_list_word] + strlen(OMPI_ENV_LIST "=");

    size_t i = 0;
    if (hands_on_options) {
        for (; i <= place->word; i++)
            push_copy(&words, argv[i]);
        push_contexts(&words, argv, i, place->launcher, &known, launched);
        set_word(&words, place->env_list_word, OMPI_ENV_LIST, launched->env_list);
        set_word(&words, place->preload_word, RKC_PRELOAD, launched->preload);
    } else {
        for (; argv[i]; i++) {
            if (place->preload_word && i == place->preload_word)
                push(&words, rkc_launch_assignment(argv[i], &known));
            else
                push_copy(&words, argv[i]);
        }
        launched->preload = rkc_launch_preload(launch->preload, launch->library);
        words.failed |= !launched->preload;
    }
    launched->argv = words.argv;
    if (words.failed) {
        rkc_launched_free(launched);
        return RKC_ENOMEM;
    }
    return 0;
}

/* Open MPI splits a line at blanks and knows no quotes; "#" begins a comment. */
static void rewrite_app_line(char *line, const struct rkc_launch *launch, char **out)
{
    struct words given = {NULL, 0, 0, 0}, words = {NULL, 0, 0, 0};
    char *state = NULL;
    for (char *word = strtok_r(line, " \t\r", &state); word; word = strtok_r(NULL, " \t\r", &state))
        push_copy(&given, word);
    if (given.n > 0 && given.argv[0][0] != '#') {
        size_t nested = 0;
        openmpi_context(&words, given.argv, 0, launch, NO_LIST, &nested);
        for (size_t i = 0; i < words.n; i++) {
            if (i > 0)
                rkc_launch_append(out, ' ', words.argv[i]);
            else
                rkc_launch_append(out, '\n', words.argv[i]);
        }
    }
    if (given.failed || words.failed) {
        free(*out);
        *out = NULL;
    }
    for (size_t i = 0; i < given.n; i++)
        free(given.argv[i]);
    for (size_t i = 0; i < words.n; i++)
        free(words.argv[i]);
    free(given.argv);
    free(words.argv);
}

char *rkc_launch_app_file(const char *text, const struct rkc_launch *launch)
{
    char *copy = strdup(text);
    char *out = rkc_launch_join("", "", "");
    char *state = NULL;
    for (char *line = copy ? strtok_r(copy, "\n", &state) : NULL; line && out;
         line = strtok_r(NULL, "\n", &state))
        rewrite_app_line(line, launch, &out);
    if (!copy || !out) {
        free(copy);
        free(out);
        return NULL;
    }
    free(copy);
    char *ended = rkc_launch_join(out, "\n", "");
    free(out);
    return ended;
}

void rkc_launched_free(struct rkc_launched *launched)
{
    for (size_t i = 0; launched->argv && launched->argv[i]; i++)
        free(launched->argv[i]);
    free(launched->argv);
    free(launched->preload);
    free(launched->env_list);
    *launched = (struct rkc_launched){NULL, NULL, NULL, 0};
}
