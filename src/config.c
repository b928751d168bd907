/* config.c - the table below is all there is: `rankclock config` and rankclock(7) print it. */
#include "autoconf.h"

#include "config.h"

#include <errno.h>
#include <fnmatch.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "log.h"

extern char **environ;

static const struct rkc_setting settings[] = {
    {"RANKCLOCK_ENABLE", "on", "on records; off makes every function do nothing"},
    {"RANKCLOCK_OUTPUT", "rankclock-%n-%j-%r.h5",
     "name of the result file: %j job id, %r restart count, %h host, %p process id, %n program; "
     "a letter without a value vanishes with the separator before it; a taken name gets a number"},
    {"RANKCLOCK_MPI", "on", "on records MPI calls; off records regions alone"},
    {"RANKCLOCK_INCLUDE", "",
     "comma-separated globs: only regions whose name matches one are recorded; empty: all. "
     "MPI functions are regions, too"},
    {"RANKCLOCK_EXCLUDE", "", "comma-separated globs: regions whose name matches one are not recorded"},
    {"RANKCLOCK_ROWS", "auto",
     "values of single ranks in the file: all; none; auto writes all of them up to 256 MiB, "
     "beyond that host, MPI and device time alone"},
    {"RANKCLOCK_COMMAND", "full", "command line in the file: full, name (the program's name alone) or none"},
    {"RANKCLOCK_MODE", "0600", "permissions of the result file, octal"},
    {"RANKCLOCK_FINALIZE_TIMEOUT", "600",
     "seconds that MPI_Finalize waits for the other ranks before it saves this rank's image and "
     "goes on"},
    {"RANKCLOCK_PCONTROL", "standard",
     "standard: MPI_Pcontrol(0) pauses, (1) resumes, (2) saves a snapshot; ipm: (1, \"name\") begins "
     "and (-1, \"name\") ends a region"},
    {"RANKCLOCK_MPI_SYNC", "0",
     "1 puts a barrier before each blocking collective and measures the wait in it: this changes the "
     "program's timing"},
    {"RANKCLOCK_MATRIX_PEERS", "1024",
     "ranks for which each rank counts the messages that it exchanges with them; the messages of "
     "further ones are counted together; 0: none are counted"},
    {"RANKCLOCK_SPOOL", "auto",
     "where the image of a running rank lies, so that a kill leaves it: auto is the first of /dev/shm, "
     "$SLURM_TMPDIR and $TMPDIR that is local and has room; or a local folder; off: in memory alone"},
    {"RANKCLOCK_SIGNAL", "off",
     "USR1 or USR2: each rank saves a snapshot on that signal and goes on; off: those signals are left "
     "alone"},
    {"RANKCLOCK_GPU_EVENTS", "4096",
     "visits of GPU regions that may be pending on each thread; beyond that they have no device time"},
    {"RANKCLOCK_GPU_SYNC", "0",
     "1 waits for the device at the end of each GPU region, so that host time includes device time: "
     "this changes the program's timing"},
    {"RANKCLOCK_CLOCK", "auto", "auto uses the processor's counter where it is invariant; gettime never"},
    {"RANKCLOCK_WRITER", "", "path of the rankclock command that writes the file; empty: found beside the library"},
    {"RANKCLOCK_RUN_ID", "", "identity of the run, set by rankclock run; empty: the launcher's"},
    {"RANKCLOCK_GPU", "auto",
     "auto uses the CUDA driver that the program has loaded; on loads it, and says so where there "
     "is none; off never looks for it"},
    {"RANKCLOCK_VERBOSE", "1", "messages on stderr: 0 warnings, 1 also the file written, 2 also times of each phase"},
};

enum { SETTINGS = sizeof settings / sizeof *settings };

const struct rkc_setting *rkc_config_settings(size_t *n)
{
    *n = SETTINGS;
    return settings;
}

/* ---- one value ---- */

/* The position of `value` in a list of words; -1 when it is none of them. */
static int word_of(const char *value, const char *const *words)
{
    for (int i = 0; words[i]; i++)
        if (strcmp(value, words[i]) == 0)
            return i;
    return -1;
}

static int on_off(const char *value)
{
    static const char *const words[] = {"off", "on", "0", "1", "no", "yes", "false", "true", NULL};
    int i = word_of(value, words);
    return i < 0 ? -1 : i & 1;
}

static int number(const char *value, int base, long min, long max, long *result)
{
    char *end;
    errno = 0;
    long n = strtol(value, &end, base);
    if (errno || end == value || *end || n < min || n > max)
        return RKC_EARG;
    *result = n;
    return 0;
}

/* Nothing is written where nothing changes: a page that nothing else touches costs memory then. */
static int keep_text(const char *value, char *out, size_t size)
{
    if (strlen(value) >= size)
        return RKC_EARG;
    if (strcmp(out, value) != 0)
        strcpy(out, value);
    return 0;
}

static const char *const rows_words[] = {"auto", "all", "none", NULL};
static const char *const command_words[] = {"full", "name", "none", NULL};
static const char *const pcontrol_words[] = {"standard", "ipm", NULL};
static const char *const gpu_words[] = {"off", "auto", "on", NULL};
static const char *const clock_words[] = {"gettime", "auto", NULL};

static int take_word(const char *value, const char *const *words, int *field, const char **wanted,
                     const char *text)
{
    int i = word_of(value, words);
    *wanted = text;
    if (i < 0)
        return RKC_EARG;
    *field = i;
    return 0;
}

static int take_switch(const char *value, int *field, const char **wanted)
{
    int on = on_off(value);
    *wanted = "on or off";
    if (on < 0)
        return RKC_EARG;
    *field = on;
    return 0;
}

static int take_number(const char *value, int base, long min, long max, int *field)
{
    long n;
    if (number(value, base, min, max, &n) != 0)
        return RKC_EARG;
    *field = (int)n;
    return 0;
}

static int take_output(const char *value, struct rkc_config *config, const char **wanted)
{
    char expanded[RKC_PATTERN_MAX];
    struct rkc_pattern_values values = {"1", "r1", "h", "p", 1};
    *wanted = "a file name with %j, %r, %h, %p, %n or %% in it";
    if (!*value || rkc_config_expand(value, &values, expanded, sizeof expanded) != 0)
        return RKC_EARG;
    return keep_text(value, config->output, sizeof config->output);
}

static int take_spool(const char *value, struct rkc_config *config, const char **wanted)
{
    *wanted = "auto, off or the absolute name of a folder";
    if (strcmp(value, "off") == 0) {
        config->spool[0] = 0;
        return 0;
    }
    if (value[0] != '/' && strcmp(value, "auto") != 0)
        return RKC_EARG;
    return keep_text(value, config->spool, sizeof config->spool);
}

static int take_signal(const char *value, struct rkc_config *config, const char **wanted)
{
    static const char *const words[] = {"off", "USR1", "SIGUSR1", "USR2", "SIGUSR2", NULL};
    static const int numbers[] = {0, SIGUSR1, SIGUSR1, SIGUSR2, SIGUSR2};
    int i = word_of(value, words);
    *wanted = "USR1, USR2 or off";
    if (i < 0)
        return RKC_EARG;
    config->snapshot_signal = numbers[i];
    return 0;
}

/* Put one value into `config`. 0, RKC_EARG with *wanted, or RKC_ENOTFOUND. */
static int take(const char *name, const char *value, struct rkc_config *config,
                const char **wanted)
{
    const char *what = name + strlen("RANKCLOCK");
    *wanted = "a shorter text";
    if (strcmp(what, "_ENABLE") == 0)
        return take_switch(value, &config->on, wanted);
    if (strcmp(what, "_OUTPUT") == 0)
        return take_output(value, config, wanted);
    if (strcmp(what, "_MPI") == 0)
        return take_switch(value, &config->mpi, wanted);
    if (strcmp(what, "_INCLUDE") == 0)
        return keep_text(value, config->include, sizeof config->include);
    if (strcmp(what, "_EXCLUDE") == 0)
        return keep_text(value, config->exclude, sizeof config->exclude);
    if (strcmp(what, "_ROWS") == 0)
        return take_word(value, rows_words, &config->rows, wanted, "auto, all or none");
    if (strcmp(what, "_COMMAND") == 0)
        return take_word(value, command_words, &config->command, wanted, "full, name or none");
    if (strcmp(what, "_PCONTROL") == 0)
        return take_word(value, pcontrol_words, &config->pcontrol, wanted, "standard or ipm");
    if (strcmp(what, "_CLOCK") == 0)
        return take_word(value, clock_words, &config->tsc, wanted, "auto or gettime");
    if (strcmp(what, "_GPU") == 0)
        return take_word(value, gpu_words, &config->gpu, wanted, "auto, on or off");
    if (strcmp(what, "_SPOOL") == 0)
        return take_spool(value, config, wanted);
    if (strcmp(what, "_SIGNAL") == 0)
        return take_signal(value, config, wanted);
    if (strcmp(what, "_WRITER") == 0)
        return keep_text(value, config->writer, sizeof config->writer);
    if (strcmp(what, "_RUN_ID") == 0)
        return keep_text(value, config->run_id, sizeof config->run_id);
    if (strcmp(what, "_MODE") == 0) {
        int mode = 0;
        *wanted = "an octal number such as 0640, readable by its owner";
        if (take_number(value, 8, 0400, 0777, &mode) != 0 || !(mode & 0400))
            return RKC_EARG;
        config->mode = (unsigned)mode;
        return 0;
    }
    if (strcmp(what, "_GPU_SYNC") == 0)
        return take_switch(value, &config->gpu_sync, wanted);
    if (strcmp(what, "_GPU_EVENTS") == 0) {
        *wanted = "a number from 1 to 1048576";
        return take_number(value, 10, 1, 1 << 20, &config->gpu_events);
    }
    if (strcmp(what, "_MPI_SYNC") == 0)
        return take_switch(value, &config->mpi_sync, wanted);
    if (strcmp(what, "_MATRIX_PEERS") == 0) {
        *wanted = "a number from 0 to 65536";
        return take_number(value, 10, 0, 65536, &config->matrix_peers);
    }
    if (strcmp(what, "_FINALIZE_TIMEOUT") == 0) {
        *wanted = "a number of seconds from 0 to 86400";
        return take_number(value, 10, 0, 86400, &config->finalize_timeout_s);
    }
    if (strcmp(what, "_VERBOSE") == 0) {
        *wanted = "0, 1 or 2";
        return take_number(value, 10, 0, 2, &config->verbose);
    }
    return RKC_ENOTFOUND;
}

static void take_defaults(struct rkc_config *config)
{
    const char *wanted;
    memset(config, 0, offsetof(struct rkc_config, output));
    keep_text("", config->output, sizeof config->output);
    keep_text("", config->include, sizeof config->include);
    keep_text("", config->exclude, sizeof config->exclude);
    keep_text("", config->spool, sizeof config->spool);
    keep_text("", config->writer, sizeof config->writer);
    keep_text("", config->run_id, sizeof config->run_id);
    for (size_t i = 0; i < SETTINGS; i++)
        take(settings[i].name, settings[i].fallback, config, &wanted);
}

static int is_ours(const char *name)
{
    return strncmp(name, "RANKCLOCK_", 10) == 0;
}

int rkc_config_check(const char *name, const char *value, char *why, size_t size)
{
    struct rkc_config *scratch = calloc(1, sizeof *scratch);
    if (!scratch)
        return RKC_ENOMEM;
    const char *wanted = "";
    int status = is_ours(name) ? take(name, value, scratch, &wanted) : RKC_ENOTFOUND;
    free(scratch);
    if (status == RKC_EARG)
        snprintf(why, size, "must be %s", wanted);
    else if (status == RKC_ENOTFOUND)
        snprintf(why, size, "is not a variable of rankclock");
    return status;
}

/* ---- the environment ---- */

size_t rkc_config_read(struct rkc_config *config, struct rkc_config_problem *problems, size_t max)
{
    size_t n = 0;
    take_defaults(config);
    if (getauxval(AT_SECURE)) {
        config->on = 0;
        return 0;
    }
    for (char **entry = environ; entry && *entry; entry++) {
        const char *equals = strchr(*entry, '=');
        char name[64];
        size_t length = equals ? (size_t)(equals - *entry) : 0;
        if (!length || length >= sizeof name)
            continue;
        memcpy(name, *entry, length);
        name[length] = 0;
        if (!is_ours(name))
            continue;
        const char *wanted = "";
        int status = take(name, equals + 1, config, &wanted);
        if (!status || n == max)
            continue;
        if (status == RKC_ENOTFOUND)
            snprintf(problems[n++].text, sizeof problems->text,
                     "%s is not a variable of rankclock and is ignored (rankclock config lists them)",
                     name);
        else
            snprintf(problems[n++].text, sizeof problems->text,
                     "%s=\"%.80s\" is ignored: it must be %s", name, equals + 1, wanted);
    }
    return n;
}

int rkc_config_gpu(void)
{
    const char *value = getenv("RANKCLOCK_GPU");
    int gpu = value ? word_of(value, gpu_words) : RKC_GPU_AUTO;
    if (getauxval(AT_SECURE))
        return RKC_GPU_OFF;
    return gpu < 0 ? RKC_GPU_AUTO : gpu;
}

/* ---- patterns ---- */

static const char *value_of(char letter, const struct rkc_pattern_values *values, char pid[16])
{
    const char *value = NULL;
    switch (letter) {
    case '%':
        return "%";
    case 'j':
        value = values->job;
        break;
    case 'r':
        value = values->restart;
        break;
    case 'h':
        value = values->host;
        break;
    case 'n':
        value = values->program;
        break;
    case 'p':
        snprintf(pid, 16, "%d", values->pid);
        return pid;
    default:
        return NULL;
    }
    return value ? value : "";
}

int rkc_config_expand(const char *pattern, const struct rkc_pattern_values *values, char *out,
                      size_t size)
{
    size_t used = 0;
    for (const char *at = pattern; *at; at++) {
        char pid[16], plain[2] = {*at, 0};
        const char *value = plain;
        if (*at == '%') {
            value = value_of(*++at, values, pid);
            if (!value)
                return RKC_EARG;
            if (!*value && used && strchr("._-", out[used - 1]))
                used--;
        }
        size_t length = strlen(value);
        if (used + length >= size)
            return RKC_EARG;
        for (size_t i = 0; i < length; i++) /* a value must not lead into another folder */
            out[used++] = value != plain && value[i] == '/' ? '_' : value[i];
    }
    out[used] = 0;
    return used ? 0 : RKC_EARG;
}

/* ---- filters ---- */

static int matches(const char *globs, const char *name)
{
    while (*globs) {
        size_t length = strcspn(globs, ",");
        char glob[RKC_FILTER_MAX];
        memcpy(glob, globs, length);
        glob[length] = 0;
        if (length && fnmatch(glob, name, 0) == 0)
            return 1;
        globs += length + (globs[length] == ',');
    }
    return 0;
}

int rkc_config_wants(const struct rkc_config *config, const char *region)
{
    if (config->include[0] && !matches(config->include, region))
        return 0;
    return !matches(config->exclude, region);
}
