/* torture_run.c - a job's processes are those that descend from us: whoever loses its parent
 * becomes our child, so that none gets away and no process of anybody else is ever hit. */
#define _GNU_SOURCE
#include "autoconf.h"

#include "torture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "image_checks.h"

enum { PROCESSES_MAX = 4096, WORDS_MAX = 64, STUCK_S = 15 };

double job_now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void sleep_s(double seconds)
{
    struct timespec time = {.tv_sec = (time_t)seconds};
    time.tv_nsec = (long)(1e9 * (seconds - (double)time.tv_sec));
    nanosleep(&time, NULL);
}

/* ---- processes ---- */

struct process {
    pid_t pid, parent;
    char name[20], state;
    int is_ours;
};

static int read_process(pid_t pid, struct process *process)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = 0;
    char *open_at = strchr(text, '('), *close_at = strrchr(text, ')');
    int parent;
    if (!open_at || !close_at || sscanf(close_at + 1, " %c %d", &process->state, &parent) != 2)
        return 0;
    *close_at = 0;
    process->pid = pid;
    process->parent = parent;
    process->is_ours = 0;
    snprintf(process->name, sizeof process->name, "%.15s", open_at + 1);
    return 1;
}

/* All processes; those that descend from us and have not ended are marked. Returns how many. */
static size_t find_processes(struct process *list)
{
    size_t n = 0;
    DIR *dir = opendir("/proc");
    for (struct dirent *entry; dir && n < PROCESSES_MAX && (entry = readdir(dir));)
        if (atoi(entry->d_name) > 0 && read_process(atoi(entry->d_name), &list[n]))
            n++;
    if (dir)
        closedir(dir);
    for (int more = 1; more;) {
        more = 0;
        for (size_t i = 0; i < n; i++) {
            int is_ours = list[i].parent == getpid();
            for (size_t k = 0; k < n && !is_ours; k++)
                is_ours = list[k].is_ours && list[k].pid == list[i].parent;
            more |= is_ours && !list[i].is_ours;
            list[i].is_ours |= is_ours;
        }
    }
    return n;
}

static int is_rank(const struct process *process)
{
    return process->is_ours && process->state != 'Z' && strcmp(process->name, "victim") == 0;
}

/* The n-th rank, or all for n < 0, or all processes of ours. */
static int signal_ours(int signal_number, int ranks_only, int which)
{
    static struct process list[PROCESSES_MAX];
    size_t n = find_processes(list);
    int sent = 0, met = 0;
    for (size_t i = 0; i < n; i++) {
        if (!list[i].is_ours || list[i].state == 'Z' || (ranks_only && !is_rank(&list[i])))
            continue;
        if (which < 0 || met == which)
            sent += kill(list[i].pid, signal_number) == 0;
        met++;
    }
    return sent;
}

int job_signal_ranks(int signal_number)
{
    return signal_ours(signal_number, 1, -1);
}

int job_signal_rank(int signal_number, unsigned i)
{
    static struct process list[PROCESSES_MAX];
    size_t n = find_processes(list);
    unsigned ranks = 0;
    for (size_t k = 0; k < n; k++)
        ranks += (unsigned)is_rank(&list[k]);
    return ranks ? signal_ours(signal_number, 1, (int)(i % ranks)) : 0;
}

int job_signal_all(struct job *job, int signal_number)
{
    int sent = job->has_ended ? 0 : kill(-job->launcher, signal_number) == 0;
    return sent + signal_ours(signal_number, 0, -1);
}

/* ---- a job ---- */

static void set_folder(const char *name, const char *folder)
{
    if (folder[0])
        setenv(name, folder, 1);
}

static void exec_job(const struct places *places, char *const words[])
{
    static const int heard[] = {SIGHUP, SIGINT, SIGTERM};
    for (size_t i = 0; i < sizeof heard / sizeof *heard; i++)
        signal(heard[i], SIG_DFL);
    int log = open(places->log, O_WRONLY | O_CREAT | O_TRUNC, 0600),
        in = open("/dev/null", O_RDONLY);
    setpgid(0, 0);
    set_folder("TMPDIR", places->tmp);
    set_folder("OMPI_MCA_btl_vader_backing_directory", places->memory);
    set_folder("UCX_POSIX_DIR", places->memory);
    set_folder("RANKCLOCK_SPOOL", places->spool);
    if (chdir(places->root) != 0 || dup2(in, 0) < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0)
        _exit(126);
    execvp(words[0], words);
    fprintf(stderr, "cannot start %s: %s\n", words[0], strerror(errno));
    _exit(127);
}

/* Add the words of a text. */
static size_t add_words(char *text, char **words, size_t n)
{
    char *rest = NULL;
    for (char *word = strtok_r(text, " ", &rest); word && n < WORDS_MAX;
         word = strtok_r(NULL, " ", &rest))
        words[n++] = word;
    return n;
}

int job_start(struct job *job, const struct places *places, int ranks, char *const arguments[])
{
    char output[PATH_ROOM + 8], number[16], launcher[4096];
    char *words[2 * WORDS_MAX] = {getenv("RKC_COMMAND"), "run", "-o", output, "--"};
    size_t n = 5;
    const char *mpirun = getenv("MPIRUN");
    if (!words[0] || !mpirun)
        return image_fault("RKC_COMMAND or MPIRUN is not set");
    snprintf(output, sizeof output, "%s/run.h5", places->out);
    snprintf(number, sizeof number, "%d", ranks);
    snprintf(launcher, sizeof launcher, "%s", mpirun);
    n = add_words(launcher, words, n);
    words[n++] = "-n";
    words[n++] = number;
    for (size_t i = 0; arguments[i] && n < WORDS_MAX; i++)
        words[n++] = arguments[i];
    words[n] = NULL;
    *job = (struct job){.places = places, .ranks = ranks, .begun_s = job_now_s()};
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    job->launcher = fork();
    if (job->launcher < 0)
        return image_fault("cannot fork: %s", strerror(errno));
    if (job->launcher == 0)
        exec_job(places, words);
    setpgid(job->launcher, job->launcher); /* whoever of the two is first */
    return 0;
}

static volatile sig_atomic_t told_to_end;

static void hear(int signal_number)
{
    told_to_end = signal_number;
}

void job_end_when_told(void)
{
    struct sigaction action = {.sa_handler = hear};
    sigaction(SIGHUP, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* Collect what has ended; whether there is a child at all. */
static int reap(struct job *job)
{
    int status;
    pid_t child;
    if (told_to_end) {
        do
            job_signal_all(job, SIGKILL);
        while (waitpid(-1, NULL, 0) > 0);
        exit(1);
    }
    while ((child = waitpid(-1, &status, WNOHANG)) > 0)
        if (child == job->launcher) {
            job->has_ended = 1;
            job->status = status;
        }
    return child == 0;
}

/* Map the notes that have appeared. */
static void find_notes(struct job *job)
{
    DIR *dir = job->n_notes < job->ranks ? opendir(job->places->notes) : NULL;
    if (!dir)
        return;
    for (struct dirent *entry; (entry = readdir(dir)) && job->n_notes < RANKS_MAX;) {
        int known = atoi(entry->d_name) <= 0;
        for (int i = 0; i < job->n_notes && !known; i++)
            known = atomic_load(&job->notes[i]->pid) == atoi(entry->d_name);
        struct stat stat_;
        int fd = known ? -1 : openat(dirfd(dir), entry->d_name, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            continue;
        void *page = MAP_FAILED;
        if (fstat(fd, &stat_) == 0 && stat_.st_size >= (off_t)sizeof(struct notes))
            page = mmap(NULL, sizeof(struct notes), PROT_READ, MAP_SHARED, fd, 0);
        close(fd);
        if (page == MAP_FAILED)
            continue;
        job->notes[job->n_notes] = page;
        if (atomic_load(&job->notes[job->n_notes]->pid) > 0)
            job->n_notes++;
        else
            munmap(page, sizeof(struct notes));
    }
    closedir(dir);
}

/* Keep what is noted, unless a rank has come to its bad end meanwhile. */
static void keep_notes(struct job *job)
{
    struct notes now[RANKS_MAX];
    int struck = job->is_hit;
    for (int i = 0; i < job->n_notes && !struck; i++)
        memcpy(&now[i], (const void *)job->notes[i], sizeof now[i]);
    atomic_thread_fence(memory_order_seq_cst);
    for (int i = 0; i < job->n_notes && !struck; i++)
        struck = atomic_load(&job->notes[i]->struck);
    if (!struck)
        memcpy(job->before, now, (size_t)job->n_notes * sizeof *now);
    job->is_hit = struck;
}

void job_is_to_be_hit(struct job *job)
{
    find_notes(job);
    keep_notes(job);
    job->is_hit = 1;
}

int job_is_at(struct job *job, int stage)
{
    find_notes(job);
    if (job->n_notes < job->ranks || !stage)
        return 0;
    for (int i = 0; i < job->n_notes; i++)
        if (atomic_load(&job->notes[i]->stage) < stage)
            return 0;
    return 1;
}

int job_wait(struct job *job, int stage, double seconds)
{
    for (double end_s = job_now_s() + seconds; job_now_s() < end_s;) {
        if (job_is_at(job, stage))
            return 1;
        keep_notes(job);
        reap(job);
        if (job->has_ended)
            return job_is_at(job, stage);
        double left_s = end_s - job_now_s();
        sleep_s(left_s < 0.0002 ? (left_s > 0 ? left_s : 0) : 0.0002);
    }
    return 0;
}

static void say_left(void)
{
    static struct process list[PROCESSES_MAX];
    size_t n = find_processes(list);
    for (size_t i = 0; i < n; i++)
        if (list[i].is_ours)
            printf("still there: %s, process %d, state %c\n", list[i].name, (int)list[i].pid,
                   list[i].state);
}

/* Open MPI's launcher may wait forever when its ranks are killed while they connect to it, with or
 * without us: when no rank is left, it is killed for that. */
static void end_stuck_launcher(struct job *job)
{
    static struct process list[PROCESSES_MAX];
    size_t n = find_processes(list);
    for (size_t i = 0; i < n; i++)
        if (is_rank(&list[i]))
            return;
    for (size_t i = 0; i < n; i++)
        if (list[i].is_ours && list[i].state != 'Z' && strcmp(list[i].name, "rankclock") != 0) {
            kill(list[i].pid, SIGKILL);
            job->was_stuck = 1;
        }
}

int job_end(struct job *job, double seconds)
{
    int bad = 0;
    double begun_s = job_now_s();
    find_notes(job);
    for (double end_s = begun_s + seconds; reap(job);) {
        if (!job->was_stuck && job_now_s() > begun_s + STUCK_S)
            end_stuck_launcher(job);
        if (!bad && job_now_s() > end_s) {
            bad = image_fault("not ended after %.0f s", seconds);
            say_left();
        }
        if (bad)
            job_signal_all(job, SIGKILL);
        find_notes(job);
        keep_notes(job);
        sleep_s(0.0005);
    }
    find_notes(job);
    return bad;
}

void job_forget(struct job *job)
{
    for (int i = 0; i < job->n_notes; i++)
        munmap((void *)(uintptr_t)job->notes[i], sizeof(struct notes));
    job->n_notes = 0;
}

int run_command(const struct places *places, const char *const arguments[])
{
    pid_t child = fork();
    int status = 0;
    if (child == 0) {
        int log = open(places->log, O_WRONLY | O_CREAT | O_APPEND, 0600);
        setenv("RANKCLOCK_SPOOL", places->spool, 1);
        alarm(60);
        if (dup2(log, 1) >= 0 && dup2(log, 2) >= 0)
            execv(arguments[0], (char *const *)(uintptr_t)arguments);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return 127;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
