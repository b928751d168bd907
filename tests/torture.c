/* torture.c - bring runs of an MPI program to bad ends, at instants drawn by chance.
 *
 *   torture [-n RUNS] [-r RANKS] [-s SEED] [-w FULL] FOLDER SPOOL MEMORY VICTIM KIND...
 *
 * Each KIND that many times; see `kinds`. The program is VICTIM, tests/apps/victim, under
 * `rankclock run` ($RKC_COMMAND) and $MPIRUN. FOLDER is empty, SPOOL an empty folder in memory,
 * MEMORY one for the MPI's own segments. Of each kind a line is printed:
 *
 *   kill-rank: 40 runs, 38 hit before their end; 103 images, 1 unborn; 39 files, 2 complete; 81234
 *   noted, 211 open; 0 launchers stuck; 31 s
 *
 * The first fault ends it with status 1, after a line on what it is and the seed of its run: with
 * -s that seed and -n 1 the same is drawn again. FULL is where the disk is full: the write of the
 * writer from 1 to which one is drawn that fails, and all after it.
 */
#include "autoconf.h"

#include "torture.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "image_checks.h"

/* No run may take longer, whatever else the machine has to do. */
static const double RUN_S = 100;

enum hit { NOBODY, ONE_RANK, ALL_RANKS, ALL, LIMIT, ALL_WHEN_SAVED };

static const struct kind {
    const char *name, *way;
    enum hit hit;
} kinds[] = {
    {"kill-rank", NULL, ONE_RANK},   /* SIGKILL to one rank */
    {"kill-ranks", NULL, ALL_RANKS}, /* to all ranks */
    {"kill-all", NULL, ALL},  /* to all ranks, the launcher, and whatever they have started */
    {"limit", NULL, LIMIT},   /* SIGTERM to all of these, SIGKILL a second later */
    {"segv", "segv", NOBODY}, /* the ways of tests/apps/victim.c */
    {"overflow", "overflow", NOBODY},
    {"overflow-alt", "overflow-alt", NOBODY},
    {"overflow-thread", "overflow-thread", NOBODY},
    {"overflow-thread-alt", "overflow-thread-alt", NOBODY},
    {"abort", "abort", NOBODY},
    {"never", "never", ALL_WHEN_SAVED}, /* killed once the others have saved their images */
    {"full", NULL, NOBODY},             /* the disk is full */
};

struct campaign {
    struct places places;
    const char *victim;
    int ranks, full;
    double ready_s, end_s; /* of a run: until all work, from the last of them to its end */
};

/* ---- chance ---- */

/* splitmix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014 */
static uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static double draw_part(uint64_t *state)
{
    return (double)(draw(state) >> 11) * 0x1p-53;
}

/* ---- one run ---- */

enum phase { EARLY, WORKING, LATE };

/* What the seed says. */
struct plan {
    enum phase phase;
    double part; /* of the phase */
    unsigned rank, step, full;
    int launcher_alone; /* of those that SIGTERM is for */
};

static struct plan make_plan(uint64_t seed, const struct campaign *campaign)
{
    uint64_t state = seed;
    struct plan plan;
    double phase = draw_part(&state);
    /* Of three runs in a row one is sure to be hit before its end. */
    plan.phase = seed % 3 == 0 ? WORKING : phase < 0.22 ? EARLY : phase < 0.7 ? WORKING : LATE;
    plan.part = draw_part(&state);
    plan.rank = (unsigned)(draw(&state) % 1000);
    plan.step = (unsigned)(draw(&state) % 100);
    plan.full = 1 + (unsigned)(seed % (unsigned)campaign->full);
    plan.launcher_alone = (int)(draw(&state) % 2);
    return plan;
}

static int start(struct job *job, const struct campaign *campaign, const char *seconds,
                 const char *way, unsigned at)
{
    char step[16];
    snprintf(step, sizeof step, "%u", at);
    const char *const words[] = {
        campaign->victim, campaign->places.notes, seconds, way, way ? step : NULL, NULL};
    const struct places *places = &campaign->places;
    const char *const folders[] = {places->out, places->notes, places->tmp, places->spool,
                                   places->memory};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        empty_folder(folders[i]);
    return job_start(job, places, campaign->ranks, (char *const *)(uintptr_t)words);
}

/* Wait for the plan's instant; whether the job has not ended before. */
static int wait_for(struct job *job, const struct campaign *campaign, const struct plan *plan)
{
    switch (plan->phase) {
    case EARLY:
        job_wait(job, 0, 1.1 * plan->part * campaign->ready_s);
        break;
    case WORKING:
        if (job_wait(job, STAGE_WORKING, RUN_S / 2))
            job_wait(job, 0, 0.05 * plan->part);
        break;
    case LATE:
        if (job_wait(job, STAGE_LAST, RUN_S / 2))
            job_wait(job, 0, 1.1 * plan->part * campaign->end_s);
        break;
    }
    return !job->has_ended;
}

static void meet_limit(struct job *job, const struct plan *plan)
{
    if (plan->launcher_alone)
        kill(job->launcher, SIGTERM);
    else
        job_signal_all(job, SIGTERM);
    job_wait(job, 0, 1);
    job->all_were_hit = job_signal_all(job, SIGKILL) > 0;
}

/* Whether each of the others has its image where the file would be. */
static int have_saved(const struct campaign *campaign)
{
    char path[PATH_ROOM + 64];
    for (int rank = 0; rank < campaign->ranks - 1; rank++) {
        snprintf(path, sizeof path, "%s/run.h5.partial/rank-%d.rkci", campaign->places.out, rank);
        if (access(path, F_OK) != 0)
            return 0;
    }
    return 1;
}

static int kill_when_saved(struct job *job, const struct campaign *campaign)
{
    double end_s = job_now_s() + RUN_S / 2;
    while (!have_saved(campaign) && !job->has_ended && job_now_s() < end_s)
        job_wait(job, 0, 0.01);
    int bad = have_saved(campaign) ? 0 : image_fault("the others do not save their images");
    job->all_were_hit = job_signal_all(job, SIGKILL) > 0;
    return bad;
}

/* Bring it to its end. Whether it was hit: 0 or 1; -1 after a message. */
static int hit(struct job *job, const struct campaign *campaign, const struct kind *kind,
               const struct plan *plan)
{
    if (kind->hit == ALL_WHEN_SAVED)
        return kill_when_saved(job, campaign) ? -1 : 1;
    if (kind->hit == NOBODY)
        return 1;
    if (!wait_for(job, campaign, plan))
        return 0;
    job_is_to_be_hit(job);
    switch (kind->hit) {
    case ONE_RANK:
        return job_signal_rank(SIGKILL, plan->rank) > 0;
    case ALL_RANKS:
        return job_signal_ranks(SIGKILL) > 0;
    case ALL:
        job->all_were_hit = 1;
        return job_signal_all(job, SIGKILL) > 0;
    default:
        meet_limit(job, plan);
        return 1;
    }
}

static void set_faults(const struct campaign *campaign, const struct plan *plan)
{
    char text[32];
    snprintf(text, sizeof text, "write:28:%u", plan->full);
    setenv("FAULTS_FAIL", text, 1);
    setenv("FAULTS_FOLDER", campaign->places.out, 1);
}

static void show_log(const struct places *places)
{
    char line[1024];
    FILE *log = fopen(places->log, "r");
    for (int i = 0; log && i < 40 && fgets(line, sizeof line, log); i++)
        printf("  | %s", line);
    if (log)
        fclose(log);
}

static int run_once(const struct campaign *campaign, const struct kind *kind, uint64_t seed,
                    struct findings *findings)
{
    struct job job;
    struct plan plan = make_plan(seed, campaign);
    int is_full = strcmp(kind->name, "full") == 0, short_lived = is_full || plan.phase != WORKING;
    if (is_full)
        set_faults(campaign, &plan);
    if (start(&job, campaign, kind->way || !short_lived ? "60" : "0.05", kind->way, plan.step) != 0)
        return 1;
    int was_hit = hit(&job, campaign, kind, &plan);
    int bad = job_end(&job, RUN_S);
    bad = bad || was_hit < 0;
    findings->runs++;
    findings->disturbed += was_hit > 0;
    findings->stuck += job.was_stuck;
    bad = check_left(&campaign->places, &job, findings) || bad;
    job_forget(&job);
    unsetenv("FAULTS_FAIL");
    if (bad) {
        image_fault("%s: torture -n 1 -s %llu does this again", kind->name,
                    (unsigned long long)seed);
        show_log(&campaign->places);
    }
    return bad;
}

/* ---- many ---- */

/* What an undisturbed run takes, and that it is all well. */
static int measure(struct campaign *campaign)
{
    struct job job;
    struct findings findings = {0};
    if (start(&job, campaign, "0.05", NULL, 0) != 0)
        return 1;
    int came = job_wait(&job, STAGE_WORKING, RUN_S / 2);
    campaign->ready_s = job_now_s() - job.begun_s;
    came = came && job_wait(&job, STAGE_LAST, RUN_S / 2);
    double last_s = job_now_s();
    int bad = job_end(&job, RUN_S);
    campaign->end_s = job_now_s() - last_s;
    if (!bad && !came)
        bad = image_fault("the program does not do what it is to do");
    bad = bad || check_left(&campaign->places, &job, &findings);
    if (!bad && !findings.complete)
        bad = image_fault("undisturbed, there is no complete file");
    job_forget(&job);
    if (bad)
        show_log(&campaign->places);
    else
        printf("undisturbed: %.2f s until all work, %.2f s to end\n", campaign->ready_s,
               campaign->end_s);
    return bad;
}

/* A kind of which nothing was hit has shown nothing. */
static int check_found(const struct kind *kind, const struct findings *found)
{
    int is_sure = kind->hit == NOBODY || kind->hit == ALL_WHEN_SAVED || found->runs >= 3;
    if (is_sure && !found->disturbed)
        return image_fault("%s: each run had ended before it was hit", kind->name);
    if (is_sure && !found->images)
        return image_fault("%s: no run has left an image", kind->name);
    return 0;
}

static int run_kind(const struct campaign *campaign, const struct kind *kind, int runs,
                    uint64_t seed)
{
    struct findings found = {0};
    int bad = 0;
    double begun_s = job_now_s();
    for (int i = 0; i < runs && !bad; i++)
        bad = run_once(campaign, kind, seed + (uint64_t)i, &found);
    bad = bad || check_found(kind, &found);
    printf("%s: %ld runs, %ld hit before their end; %ld images, %ld unborn; %ld files, %ld "
           "complete; %lld noted, %lld open; %ld launchers stuck; %.0f s\n",
           kind->name, found.runs, found.disturbed, found.images, found.unborn, found.files,
           found.complete, (long long)found.noted, (long long)found.open, found.stuck,
           job_now_s() - begun_s);
    return bad;
}

static void make_places(struct places *places, char **folders)
{
    *places = (struct places){.root = ""};
    snprintf(places->root, PATH_ROOM, "%s", folders[0]);
    snprintf(places->spool, PATH_ROOM, "%s", folders[1]);
    snprintf(places->memory, PATH_ROOM, "%s", folders[2]);
    snprintf(places->out, PATH_ROOM, "%.4000s/out", folders[0]);
    snprintf(places->notes, PATH_ROOM, "%.4000s/notes", folders[0]);
    snprintf(places->tmp, PATH_ROOM, "%.4000s/tmp", folders[0]);
    snprintf(places->log, PATH_ROOM, "%.4000s/log", folders[0]);
    mkdir(places->out, 0700);
    mkdir(places->notes, 0700);
    mkdir(places->tmp, 0700);
}

static const struct kind *find_kind(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    return NULL;
}

static int usage(void)
{
    fputs("usage: torture [-n RUNS] [-r RANKS] [-s SEED] [-w FULL] FOLDER SPOOL MEMORY VICTIM "
          "KIND...\n",
          stderr);
    return 2;
}

int main(int argc, char **argv)
{
    struct campaign campaign = {.ranks = 3, .full = 1};
    uint64_t seed = (uint64_t)time(NULL);
    int runs = 1, option;
    setvbuf(stdout, NULL, _IOLBF, 0);
    while ((option = getopt(argc, argv, "n:r:s:w:")) != -1)
        switch (option) {
        case 'n':
            runs = atoi(optarg);
            break;
        case 'r':
            campaign.ranks = atoi(optarg);
            break;
        case 's':
            seed = strtoull(optarg, NULL, 10);
            break;
        case 'w':
            campaign.full = atoi(optarg);
            break;
        default:
            return usage();
        }
    argv += optind;
    argc -= optind;
    if (argc < 5 || runs < 1 || campaign.full < 1 || campaign.ranks < 2 ||
        campaign.ranks > RANKS_MAX)
        return usage();
    job_end_when_told();
    make_places(&campaign.places, argv);
    campaign.victim = argv[3];
    printf("seed %llu\n", (unsigned long long)seed);
    int bad = 0;
    for (int i = 4; i < argc && !bad; i++) {
        const struct kind *kind = find_kind(argv[i]);
        if (!kind)
            return usage();
        if (kind->hit != NOBODY && kind->hit != ALL_WHEN_SAVED && !campaign.ready_s)
            bad = measure(&campaign);
        bad = bad || run_kind(&campaign, kind, runs, seed);
    }
    return bad;
}
