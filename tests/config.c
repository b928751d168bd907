/* config.c - the RANKCLOCK_ variables, names of output files, and filters. */
#include "autoconf.h"

#include "config.h"

#include <signal.h>

#include "tap.h"

extern char **environ;

static struct rkc_config config;
static struct rkc_config_problem problem[4];

/* Read an environment of these variables alone; NULL ends them. The number of problems. */
static int64_t with(char *const *variables)
{
    static char *none[] = {NULL};
    char **saved = environ;
    environ = variables ? (char **)(uintptr_t)variables : none;
    memset(problem, 0, sizeof problem);
    size_t n = rkc_config_read(&config, problem, sizeof problem / sizeof *problem);
    environ = saved;
    return (int64_t)n;
}

#define WITH(...) with((char *[]){__VA_ARGS__, NULL})

static void test_defaults(void)
{
    is_int(with(NULL), 0, "an empty environment is fine");
    ok(config.on && config.mpi && config.tsc, "everything is recorded by default");
    is_str(config.output, "rankclock-%n-%j-%r.h5", "in a file named for program and job");
    is_int(config.mode, 0600, "that its owner alone can read");
    is_int(config.finalize_timeout_s, 600, "the ranks wait ten minutes for each other");
    is_str(config.spool, "auto", "the image is behind a file");
    is_int(config.verbose, 1, "the file written is said");
    ok(!config.gpu_sync && config.gpu_events == 4096,
       "nothing waits for a device, and visits may be pending on it");

    size_t n;
    int bad = 0;
    char why[256];
    const struct rkc_setting *settings = rkc_config_settings(&n);
    for (size_t i = 0; i < n; i++)
        bad += rkc_config_check(settings[i].name, settings[i].fallback, why, sizeof why) != 0 ||
               !*settings[i].meaning;
    is_int(bad, 0, "every variable is explained and takes its own default");
    is_int((int64_t)n, 21, "the table is all there is");
}

static void test_values(void)
{
    is_int(WITH("RANKCLOCK_ENABLE=off", "RANKCLOCK_MPI=no", "RANKCLOCK_CLOCK=gettime",
                "RANKCLOCK_ROWS=none", "RANKCLOCK_COMMAND=name", "RANKCLOCK_PCONTROL=ipm",
                "RANKCLOCK_VERBOSE=2", "RANKCLOCK_MODE=0640", "RANKCLOCK_FINALIZE_TIMEOUT=5",
                "RANKCLOCK_OUTPUT=/tmp/%j.h5", "RANKCLOCK_SPOOL=/dev/shm", "RANKCLOCK_WRITER=/x y",
                "RANKCLOCK_GPU_SYNC=1", "RANKCLOCK_GPU_EVENTS=16", "RANKCLOCK_RUN_ID=17",
                "RANKCLOCK_GPU=on", "RANKCLOCK_SIGNAL=SIGUSR2", "PATH=/bin", "RANKCLOCKWORK=x", "X"),
           0, "all of them can be set");
    ok(!config.on && !config.mpi && !config.tsc && config.gpu_sync, "switches");
    ok(config.rows == RKC_ROWS_NONE && config.command == RKC_COMMAND_NAME &&
           config.pcontrol == RKC_PCONTROL_IPM && config.gpu == RKC_GPU_ON,
       "words");
    ok(config.verbose == 2 && config.mode == 0640 && config.finalize_timeout_s == 5 &&
           config.gpu_events == 16,
       "numbers");
    is_int(config.snapshot_signal, SIGUSR2, "a signal");
    is_str(config.output, "/tmp/%j.h5", "texts");
    is_str(config.spool, "/dev/shm", "folders");
    is_str(config.writer, "/x y", "programs");
    is_str(config.run_id, "17", "identities");
    WITH("RANKCLOCK_ENABLE=1", "RANKCLOCK_SPOOL=off");
    ok(config.on, "a switch may be a digit");
    is_int(config.snapshot_signal, 0, "no signal is taken unasked");
    is_str(config.spool, "", "the spool may be off");
}

static void test_problems(void)
{
    static const struct {
        const char *name, *value;
        int status;
    } bad[] = {
        {"RANKCLOCK_ENABLE", "maybe", RKC_EARG},
        {"RANKCLOCK_ENABLE", "", RKC_EARG},
        {"RANKCLOCK_ROWS", "some", RKC_EARG},
        {"RANKCLOCK_GPU_SYNC", "2", RKC_EARG},
        {"RANKCLOCK_GPU_EVENTS", "0", RKC_EARG},
        {"RANKCLOCK_GPU_EVENTS", "1e6", RKC_EARG},
        {"RANKCLOCK_COMMAND", "FULL", RKC_EARG},
        {"RANKCLOCK_PCONTROL", "2", RKC_EARG},
        {"RANKCLOCK_CLOCK", "tsc2", RKC_EARG},
        {"RANKCLOCK_GPU", "yes", RKC_EARG},
        {"RANKCLOCK_MODE", "rw", RKC_EARG},
        {"RANKCLOCK_MODE", "1777", RKC_EARG},
        {"RANKCLOCK_MODE", "0066", RKC_EARG},
        {"RANKCLOCK_MODE", "0680", RKC_EARG},
        {"RANKCLOCK_SIGNAL", "TERM", RKC_EARG},
        {"RANKCLOCK_SIGNAL", "", RKC_EARG},
        {"RANKCLOCK_FINALIZE_TIMEOUT", "-1", RKC_EARG},
        {"RANKCLOCK_FINALIZE_TIMEOUT", "5s", RKC_EARG},
        {"RANKCLOCK_FINALIZE_TIMEOUT", "99999999999999999999", RKC_EARG},
        {"RANKCLOCK_VERBOSE", "3", RKC_EARG},
        {"RANKCLOCK_OUTPUT", "", RKC_EARG},
        {"RANKCLOCK_OUTPUT", "x%q.h5", RKC_EARG},
        {"RANKCLOCK_OUTPUT", "x%", RKC_EARG},
        {"RANKCLOCK_SPOOL", "relative", RKC_EARG},
        {"RANKCLOCK_SPOOL", "", RKC_EARG},
        {"RANKCLOCK_SPOLL", "/tmp", RKC_ENOTFOUND},
        {"PATH", "/bin", RKC_ENOTFOUND},
    };
    char why[256];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        why[0] = 0;
        int status = rkc_config_check(bad[i].name, bad[i].value, why, sizeof why);
        ok(status == bad[i].status && *why, "a wrong value is refused and told");
    }
    static char longest[RKC_PATTERN_MAX + 1];
    memset(longest, 'x', RKC_PATTERN_MAX);
    is_int(rkc_config_check("RANKCLOCK_WRITER", longest, why, sizeof why), RKC_EARG,
           "and so is one that is too long");

    is_int(WITH("RANKCLOCK_VERBOSE=loud", "RANKCLOCK_OUTPUTS=x", "RANKCLOCK_MODE=0644"), 2,
           "what is wrong in the environment is counted");
    is_int(config.verbose, 1, "and leaves the default");
    is_int(config.mode, 0644, "beside what is right");
    ok(strstr(problem[0].text, "RANKCLOCK_VERBOSE") && strstr(problem[0].text, "loud") &&
           strstr(problem[0].text, "0, 1 or 2"),
       "the text has variable, value and what would be right");
    ok(strstr(problem[1].text, "RANKCLOCK_OUTPUTS") != NULL, "or the name that is none");
    is_int(WITH("RANKCLOCK_A=", "RANKCLOCK_B=", "RANKCLOCK_C=", "RANKCLOCK_D=", "RANKCLOCK_E="), 4,
           "no more are kept than there is room for");
}

static void test_gpu(void)
{
    unsetenv("RANKCLOCK_GPU");
    is_int(rkc_config_gpu(), RKC_GPU_AUTO, "the driver is used if it is there");
    setenv("RANKCLOCK_GPU", "off", 1);
    is_int(rkc_config_gpu(), RKC_GPU_OFF, "or not at all");
    setenv("RANKCLOCK_GPU", "on", 1);
    is_int(rkc_config_gpu(), RKC_GPU_ON, "or loaded");
    setenv("RANKCLOCK_GPU", "On", 1);
    is_int(rkc_config_gpu(), RKC_GPU_AUTO, "what is wrong is the default here, too");
    unsetenv("RANKCLOCK_GPU");
}

static void expands(const char *pattern, const char *want, const char *rule)
{
    struct rkc_pattern_values values = {
        .job = "4711_3", .restart = NULL, .host = "node1", .program = "a/../b", .pid = 42};
    char name[64] = "";
    is_int(rkc_config_expand(pattern, &values, name, sizeof name), 0, rule);
    is_str(name, want, rule);
}

static void test_patterns(void)
{
    expands("run.h5", "run.h5", "a name without letters stays");
    expands("%j/%h-%p.h5", "4711_3/node1-42.h5", "letters stand for job, host and process");
    expands("x-%j-%r.h5", "x-4711_3.h5", "one without a value takes its separator along");
    expands("x_%r_%r.h5", "x.h5", "each time");
    expands("%r-x.h5", "-x.h5", "but none after it");
    expands("100%%.h5", "100%.h5", "two percent signs are one");
    expands("d/%n.h5", "d/a_.._b.h5", "a value cannot name another folder");

    struct rkc_pattern_values values = {.restart = "r2", .pid = 1};
    char name[8];
    is_int(rkc_config_expand("xx-%r.h5", &values, name, sizeof name), RKC_EARG,
           "a name longer than its room is refused");
    is_int(rkc_config_expand("x-%r", &values, name, sizeof name), 0, "one that fits is not");
    is_str(name, "x-r2", "the restart has a letter before it");
    is_int(rkc_config_expand("%j", &values, name, sizeof name), RKC_EARG,
           "nor is an empty name a name");
}

static void test_filters(void)
{
    with(NULL);
    ok(rkc_config_wants(&config, "anything"), "without filters every region is recorded");
    WITH("RANKCLOCK_INCLUDE=solve*,MPI_*", "RANKCLOCK_EXCLUDE=*_internal,MPI_Test");
    ok(rkc_config_wants(&config, "solver"), "one that matches an include is");
    ok(!rkc_config_wants(&config, "halo"), "one that matches none is not");
    ok(!rkc_config_wants(&config, "solve_internal"), "an exclude is stronger");
    ok(rkc_config_wants(&config, "MPI_Testall"), "names match as a whole");
    ok(!rkc_config_wants(&config, "MPI_Test"), "of MPI functions, too");
    WITH("RANKCLOCK_EXCLUDE=,,x[0-9],");
    ok(!rkc_config_wants(&config, "x5") && rkc_config_wants(&config, "x"),
       "empty parts match nothing");
}

int main(void)
{
    test_defaults();
    test_values();
    test_problems();
    test_gpu();
    test_patterns();
    test_filters();
    return done_testing();
}
