/* region.c - the public functions, in a process that records; what they did is looked up at the
 * end.
 *
 * Call paths hang from a region named for the test, so that each test finds its own.
 */
#include "autoconf.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <rankclock/rankclock.h>

#include "runtime.h"
#include "tree.h"

/* ---- what goes to stderr ---- */

static FILE *said;
static int real_stderr;

static void listen(void)
{
    fflush(stderr);
    said = tmpfile();
    real_stderr = dup(STDERR_FILENO);
    fcntl(fileno(said), F_SETFL, O_APPEND); /* as a file for messages is */
    dup2(fileno(said), STDERR_FILENO);
}

/* Lines since listen that have a word. */
static int heard(const char *word)
{
    char line[1024];
    int n = 0;
    dup2(real_stderr, STDERR_FILENO);
    close(real_stderr);
    rewind(said);
    while (fgets(line, sizeof line, said))
        n += strstr(line, word) != NULL;
    fclose(said);
    return n;
}

/* ---- names ---- */

static void test_status(void)
{
    is_str(rkc_version(), PACKAGE_VERSION, "the library tells its version");
    is_str(rkc_strerror(0), "success", "0 is success");
    is_str(rkc_status_name(RKC_ENAME), "RKC_ENAME", "a status has a name");
    int bad = 0;
#define NAMED(name, value, text) \
    bad +=                       \
        name != value || strcmp(rkc_strerror(name), text) || strcmp(rkc_status_name(name), #name);
    RKC_STATUS_LIST(NAMED)
#undef NAMED
    is_int(bad, 0, "and a text, each of them");
    is_str(rkc_strerror(-9999), "unknown status", "a number that is none has, too");
    is_str(rkc_strerror(1), "unknown status", "as have positive ones");
}

static void test_names(void)
{
    char longest[RKC_NAME_MAX + 1];
    memset(longest, 'n', sizeof longest);
    longest[RKC_NAME_MAX - 1] = 0;
    struct rkc_region *region = rkc_region_get("names");
    ok(region && region == rkc_region_get("names"), "a name has one handle");
    ok(region != rkc_region_get("names2"), "which is no other's");
    rkc_region_begin(region);
    is_int(rkc_begin(longest), 0, "a name may have 255 bytes");
    is_int(rkc_end(longest), 0, "and is found again");
    is_int(rkc_begin("Wärme/σ"), 0, "and any letters");
    is_int(rkc_end("Wärme/σ"), 0, "of UTF-8");
    rkc_region_end(region);

    listen();
    longest[RKC_NAME_MAX - 1] = 'n';
    longest[RKC_NAME_MAX] = 0;
    is_int(rkc_begin(longest), RKC_ENAME, "one byte more is too long");
    is_int(rkc_begin(""), RKC_ENAME, "none is too few");
    is_int(rkc_begin(NULL), RKC_ENAME, "and no name is none");
    is_int(rkc_end(NULL), RKC_ENAME, "to end neither");
    struct rkc_region *none = rkc_region_get(longest);
    ok(none && none == rkc_region_get(NULL), "they have a handle all the same");
    rkc_region_begin(none);
    rkc_region_end(none);
    rkc_region_begin(NULL);
    rkc_region_end(NULL);
    is_int(heard("rankclock: "), 1, "of bad names the first is told");
}

static void test_by_name(void)
{
    char copy[] = "inner";
    is_int(rkc_begin("by name"), 0, "a region is begun by name");
    for (int i = 0; i < 10; i++) {
        rkc_begin("inner");
        rkc_begin(i % 2 ? "odd" : "even");
        rkc_end(i % 2 ? "odd" : "even");
        is_int(rkc_end(copy), 0, "and ended by the same letters anywhere");
    }
    rkc_region_begin(rkc_region_get("inner"));
    is_int(rkc_end("inner"), 0, "whether begun by name or by handle");
    is_int(rkc_end("odd"), RKC_ENOTOPEN, "one that is not open is not ended");
    rkc_end("by name");
}

static void check_names(const struct rkc_local *local)
{
    is_int(local_visits(local, "names"), 1, "visits by handle are there");
    int64_t names = local_path(local, "names"), children = 0;
    for (uint32_t path = 0; path < local->paths.n_paths; path++)
        children += local->paths.paths[path].parent == names;
    is_int(children, 2, "and those inside by name; those with bad names are not");
    is_int(local_notes(local, RKC_NOTE_BAD_NAME, NULL), 6, "but noted");
    is_int(local_visits(local, "by name/inner"), 11, "visits by name and by handle are the same");
    is_int(local_visits(local, "by name/inner/odd"), 5, "wherever");
    is_int(local_notes(local, RKC_NOTE_END_WITHOUT_BEGIN, "odd"), 1, "an end of nothing is noted");
}

static void test_filtered(void)
{
    rkc_begin("filtered");
    struct rkc_region *hidden = rkc_region_get("hidden one");
    ok(hidden != NULL, "a region that is filtered out has a handle");
    is_int(rkc_begin("hidden two"), RKC_EOFF, "that says it is off");
    rkc_begin("seen");
    is_int(rkc_end("seen"), 0, "those inside are not");
    is_int(rkc_end("hidden two"), RKC_EOFF, "by name");
    rkc_region_begin(hidden);
    rkc_begin("seen");
    rkc_end("seen");
    rkc_region_end(hidden);
    rkc_end("filtered");
}

static void check_filtered(const struct rkc_local *local)
{
    is_int(local_visits(local, "filtered/seen"), 2,
           "what is in a filtered region hangs from the next");
    is_int(local_path(local, "filtered/hidden one"), -1, "and the region is not there");
}

/* ---- macros ---- */

static int scoped(int way)
{
    RKC_SCOPE("scoped");
    if (way == 0)
        return 1;
    for (int i = 0; i < 3; i++) {
        RKC_SCOPE("turn");
        if (way == 1)
            continue;
        if (way == 2)
            break;
        RKC_SCOPE("rest of turn");
        if (way == 3)
            goto out;
    }
out:
    return 2;
}

static int first_line, scope_line;

static void test_macros(void)
{
    RKC_BEGIN("macros");
    first_line = __LINE__ - 1;
    for (int i = 0; i < 5; i++) {
        RKC_BEGIN("loop");
        RKC_END("loop");
    }
    for (int way = 0; way < 5; way++)
        scoped(way);
    if (first_line)
        RKC_BEGIN("branch");
    else
        RKC_END("macros");
    RKC_END("branch");
    {
        RKC_SCOPE("block");
        scope_line = __LINE__ - 1;
    }
    RKC_END("macros");
}

static void check_macros(const struct rkc_local *local)
{
    is_int(local_visits(local, "macros/loop"), 5, "RKC_BEGIN and RKC_END make visits");
    is_int(local_visits(local, "macros/branch"), 1, "and are statements");
    is_int(local_visits(local, "macros/scoped"), 5, "RKC_SCOPE does, however it is left");
    is_int(local_visits(local, "macros/scoped/turn"), 3 + 1 + 1 + 3, "by continue, break and goto");
    is_int(local_visits(local, "macros/scoped/turn/rest of turn"), 4, "one in another");
    is_int(local_value(local, "macros/scoped", RKC_METRIC_UNCLOSED), RKC_ABSENT, "and ends");
    is_int(local_visits(local, "macros/block"), 1, "with its block");
    for (uint32_t i = 0; i < local->paths.n_regions; i++) {
        const struct rkc_profile_region *region = &local->paths.regions[i];
        if (strcmp(region->name, "macros") == 0)
            ok(region->line == first_line && region->file && strstr(region->file, "region.c"),
               "the first place in the source is kept");
        if (strcmp(region->name, "block") == 0)
            is_int(region->line, scope_line, "of scopes, too");
    }
}

/* ---- settings of a region ---- */

static void test_mark(void)
{
    struct rkc_region *wait = rkc_region_get("waits");
    is_int(rkc_region_mark(NULL, RKC_WAIT), RKC_EARG, "no region has no mark");
    is_int(rkc_region_mark(wait, 0x80), RKC_EARG, "nor one that is unknown");
    is_int(rkc_region_mark(wait, RKC_WAIT), 0, "one may wait");
    is_int(rkc_region_mark(rkc_region_get("hidden one"), RKC_WAIT), 0, "even if filtered out");
    rkc_region_begin(wait);
    rkc_region_end(wait);
}

static void test_every(void)
{
    struct rkc_region *cell = rkc_region_get("cell");
    is_int(rkc_region_every(NULL, 2), RKC_EARG, "no region cannot be sampled");
    is_int(rkc_region_every(cell, 0), RKC_EARG, "nor every none");
    rkc_begin("every");
    is_int(rkc_region_every(cell, 4), 0, "every fourth visit may be timed");
    for (int i = 0; i < 8; i++) {
        rkc_region_begin(cell);
        rkc_begin("in cell");
        rkc_end("in cell");
        rkc_region_end(cell);
    }
    for (int i = 0; i < 8; i++) {
        is_int(rkc_begin("cell"), 0, "a sampled region begins by name");
        is_int(rkc_end("cell"), 0, "and ends");
    }
    is_int(rkc_region_every(cell, 1), 0, "and all of them again");
    for (int i = 0; i < 3; i++) {
        rkc_region_begin(cell);
        rkc_region_end(cell);
    }
    rkc_end("every");
}

static void check_settings(const struct rkc_local *local)
{
    is_int(local_value(local, "waits", RKC_METRIC_USEFUL), 0,
           "a region that waits does nothing useful");
    ok(local_value(local, "waits", RKC_METRIC_INCLUSIVE) > 0, "in the time it takes");
    is_int(local_visits(local, "every/cell"), 19, "a sampled region's visits all count");
    is_int(local_value(local, "every/cell", RKC_METRIC_SAMPLED_OUT), 12, "with those left out");
    is_int(local_counted(local, "every/cell"), 7, "and those timed");
    is_int(local_visits(local, "every/cell/in cell"), 2, "inside a timed visit regions are inside");
    is_int(local_visits(local, "every/in cell"), 6, "inside another they are outside");
    is_int(local_notes(local, RKC_NOTE_SAMPLED, "cell"), 12, "which is noted");
}

static void test_pause(void)
{
    rkc_begin("pause");
    rkc_pause();
    is_int(rkc_begin("paused"), RKC_EOFF, "while paused nothing begins");
    is_int(rkc_end("paused"), 0, "nor ends anything");
    rkc_pause();
    rkc_resume();
    is_int(rkc_begin("resumed"), 0, "one resume is enough");
    rkc_end("resumed");
    rkc_pause();
    rkc_end("pause");
    rkc_resume();
}

static void check_pause(const struct rkc_local *local)
{
    is_int(local_visits(local, "pause"), 1, "an open region ends though paused");
    is_int(local_visits(local, "pause/resumed"), 1, "what is begun before and after is there");
    is_int(local_path(local, "pause/paused"), -1, "what is begun while paused is not");
}

/* ---- threads ---- */

enum { THREADS = 8, TURNS = 5000 };

static void *turn(void *arg)
{
    char name[32];
    for (int i = 0; i < TURNS; i++) {
        snprintf(name, sizeof name, "shared %d", i % 50);
        RKC_SCOPE("thread");
        rkc_begin(name);
        rkc_end(name);
    }
    return arg;
}

static void test_threads(void)
{
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, turn, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
}

static void check_threads(const struct rkc_local *local)
{
    is_int(local_visits(local, "thread"), THREADS * TURNS,
           "threads that meet a name at once share it");
    int bad = 0;
    for (int i = 0; i < 50; i++) {
        char name[64];
        snprintf(name, sizeof name, "thread/shared %d", i);
        bad += local_visits(local, name) != THREADS * TURNS / 50;
    }
    is_int(bad, 0, "and lose no visit");
    is_int(local->row.threads, 1 + THREADS, "each is counted");
}

/* ---- signals ---- */

enum { JUMPS = 10000 };

static sigjmp_buf back;
static volatile sig_atomic_t may_jump, ticks, jumps;

static void on_alarm(int signal)
{
    (void)signal;
    if (!may_jump) {
        ticks = ticks + 1;
        RKC_BEGIN("tick");
        RKC_END("tick");
        return;
    }
    may_jump = 0;
    siglongjmp(back, 1);
}

static void alarm_each(long us)
{
    struct itimerval timer = {{0, us}, {0, us}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

static void busy(void)
{
    char name[32];
    for (unsigned i = 0;; i++) {
        RKC_BEGIN("a");
        for (int j = 0; j < 20; j++) {
            RKC_BEGIN("b");
            RKC_END("b");
        }
        snprintf(name, sizeof name, "new %u", i % 500); /* a new call path now and then */
        rkc_begin(name);
        rkc_end(name);
        RKC_END("a");
    }
}

static void test_jumps(void)
{
    struct sigaction action = {.sa_handler = on_alarm};
    sigaction(SIGALRM, &action, NULL);
    alarm_each(50);
    time_t give_up = time(NULL) + 60;
    RKC_BEGIN("jumps");
    while (jumps < JUMPS && time(NULL) < give_up) {
        RKC_BEGIN("life");
        if (sigsetjmp(back, 1) == 0) {
            may_jump = 1;
            busy();
        }
        jumps = jumps + 1;
        RKC_END("life");
    }
    RKC_END("jumps");
    alarm_each(0);
    is_int(jumps, JUMPS, "signal handlers that jump out of regions hang nothing");
}

static void check_jumps(const struct rkc_local *local)
{
    is_int(local_visits(local, "jumps"), 1, "the region around stays one visit");
    /* A handler that comes while a visit is being committed may take its place, or lose its own. */
    int64_t lives = local_visits(local, "jumps/life");
    ok(lives <= JUMPS && lives >= JUMPS - ticks,
       "each region that was jumped out of inside has one");
    is_int(local_value(local, "jumps/life", RKC_METRIC_UNCLOSED), RKC_ABSENT, "that was ended");
    ok(local_value(local, "jumps/life/a", RKC_METRIC_UNCLOSED) > JUMPS / 2,
       "and those within are unclosed");
    int64_t torn = 0, ticked = 0;
    for (uint32_t i = 0; i < local->paths.n_paths; i++) {
        struct rkc_path_hist hist;
        int64_t timed = 0, counted = 0;
        rkc_local_hist(local, i, &hist);
        for (int bucket = 0; bucket < RKC_TIME_BUCKETS; bucket++)
            counted += (int64_t)hist.time[bucket];
        for (uint32_t n = local->first_node[i]; n; n = local->nodes[n - 1].next)
            timed += (int64_t)local->nodes[n - 1].visits;
        torn += timed != counted;
        const char *name = local->paths.regions[local->paths.paths[i].region].name;
        ticked += strcmp(name, "tick") == 0 ? rkc_local_value(local, i, RKC_METRIC_VISITS) : 0;
    }
    is_int(torn, 0, "no call path has another number of visits than its histogram");
    ok(ticked <= ticks && ticked >= ticks / 2, "a handler may have regions of its own");
    printf("# %d of %d regions in handlers, %d of %d regions around\n", (int)ticked, (int)ticks,
           (int)lives, (int)jumps);
}

/* ---- many names ---- */

static void test_many_names(void)
{
    enum { MORE = 100 };
    char name[32];
    struct rkc_region *other = NULL;
    int bad = 0;
    rkc_begin("many");
    uint32_t before = atomic_load(&rkc_image_header(rkc_private_image())->n_regions);
    int n = RKC_NAMES_MAX - (int)before + MORE; /* "(run)", "(deep)" and "(other)" are names, too */
    listen();
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "name %d", i);
        struct rkc_region *region = rkc_region_get(name);
        rkc_region_begin(region);
        rkc_region_end(region);
        bad += rkc_begin(name) != 0 || rkc_end(name) != 0;
        other = region;
    }
    is_int(heard("(other)"), 1, "beyond the most names one line is said");
    is_int(bad, 0, "and all of them begin and end");
    ok(other == rkc_region_get("yet another"), "with one handle together");
    ok(other != rkc_region_get("name 0"), "the others keep theirs");
    rkc_end("many");
}

static void check_many_names(const struct rkc_local *local)
{
    is_int(local_visits(local, "many/(other)"), 200, "of names beyond the most no visit is lost");
    is_int(local_visits(local, "many/name 0"), 2, "nor of those before");
    is_int(local_notes(local, RKC_NOTE_NAMES, NULL), 200, "a note has their number");
}

/* ---- the end ---- */

static void test_off(void)
{
    struct rkc_region *region = rkc_region_get("names");
    rkc_private_stop(RKC_STATE_FINALIZED);
    is_int(rkc_begin("off"), RKC_EOFF, "once it has stopped nothing begins");
    is_int(rkc_end("off"), RKC_EOFF, "or ends");
    ok(rkc_region_get("names") != NULL, "a handle is never NULL");
    rkc_region_begin(region);
    rkc_region_end(region);
    RKC_BEGIN("names");
    RKC_END("names");
    RKC_SCOPE("names");
    is_int(rkc_region_mark(region, RKC_WAIT), 0, "every function");
    is_int(rkc_region_every(region, 2), 0, "can be called");
    rkc_pause();
    rkc_resume();
    is_int(rkc_private_recording(), 0, "and begins nothing anew");
}

int main(void)
{
    setenv("RANKCLOCK_EXCLUDE", "hidden*", 1);
    setenv("RANKCLOCK_OUTPUT", "/nowhere/region.h5", 1);
    errno = 77;
    test_status();
    is_int(rkc_end("nothing"), RKC_ENOTOPEN, "recording begins with the first call");
    is_int(errno, 77, "which leaves errno alone");
    test_names();
    test_by_name();
    test_filtered();
    test_macros();
    test_mark();
    test_every();
    test_pause();
    test_threads();
    test_jumps();
    test_many_names();
    test_off();

    struct rkc_view view;
    struct rkc_local local;
    rkc_view_own(&view, rkc_private_image());
    if (rkc_local_collect(&local, &view, 0) != 0)
        return 1;
    check_names(&local);
    check_filtered(&local);
    check_macros(&local);
    check_settings(&local);
    check_pause(&local);
    check_threads(&local);
    check_jumps(&local);
    check_many_names(&local);
    is_int(local_notes(&local, RKC_NOTE_LOST, NULL), 0, "no visit is lost");
    rkc_local_free(&local);
    return done_testing();
}
