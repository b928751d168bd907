/* identity.c - under mpirun or hydra inside a Slurm job only the job's id is to be believed: step
 * and rank variables describe the launcher's own step. */
#include "autoconf.h"

#include "identity.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "config.h"

static struct rkc_identity self;

struct rkc_identity *rkc_identity(void)
{
    return &self;
}

static const char *variable(const char *name)
{
    const char *value = secure_getenv(name);
    return value ? value : "";
}

/* Read a small file whole; its length, 0 when there is none. */
static size_t read_file(const char *path, char *out, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t used = 0;
    ssize_t n;
    if (fd < 0)
        return 0;
    while (used < size && ((n = read(fd, out + used, size - used)) > 0 || (n < 0 && errno == EINTR)))
        used += n > 0 ? (size_t)n : 0;
    close(fd);
    return used;
}

/* The command line with its words apart by spaces; words with spaces in quotes. */
static void read_command(int setting)
{
    char raw[sizeof self.command / 2];
    size_t bytes = read_file("/proc/self/cmdline", raw, sizeof raw - 1), used = 0;
    raw[bytes] = 0;
    const char *base = strrchr(raw, '/');
    snprintf(self.program, sizeof self.program, "%.60s", base ? base + 1 : raw);
    if (setting == RKC_COMMAND_NONE)
        return;
    if (setting == RKC_COMMAND_NAME) {
        snprintf(self.command, sizeof self.command, "%s", self.program);
        return;
    }
    for (const char *word = raw; word < raw + bytes; word += strlen(word) + 1) {
        const char *quote = *word && !strpbrk(word, " \t\n") ? "" : "'";
        int n = snprintf(self.command + used, sizeof self.command - used, "%s%s%s%s",
                         used ? " " : "", quote, word, quote);
        if (n < 0 || (size_t)n >= sizeof self.command - used)
            break;
        used += (size_t)n;
    }
    for (char *c = self.command; *c; c++)
        if (iscntrl((unsigned char)*c))
            *c = ' ';
}

/* hydra's ranks know their launch only by the options of their parent, hydra_pmi_proxy. */
static void read_hydra(char *launch, size_t launch_size, char *group, size_t group_size)
{
    char path[64], raw[4096];
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)getppid());
    size_t bytes = read_file(path, raw, sizeof raw - 1);
    raw[bytes] = 0;
    if (!strstr(raw, "hydra_pmi_proxy"))
        return;
    for (const char *word = raw; word < raw + bytes; word += strlen(word) + 1) {
        const char *next = word + strlen(word) + 1;
        if (next >= raw + bytes)
            break;
        if (strcmp(word, "--control-port") == 0)
            snprintf(launch, launch_size, "%s", next);
        if (strcmp(word, "--pgid") == 0)
            snprintf(group, group_size, "%s", next);
    }
}

/* A rank whose parent was killed before it came here. The world that came first is group 0. */
static void guess_group(char *group, size_t size)
{
    if (*variable("HYDI_CONTROL_FD") && *variable("PMI_RANK") && !*variable("PMI_SPAWNED"))
        snprintf(group, size, "0");
}

/* `launch`: hydra's, or "". */
static void read_job(const char *launch)
{
    const char *array = variable("SLURM_ARRAY_JOB_ID"), *task = variable("SLURM_ARRAY_TASK_ID");
    const char *restart = variable("SLURM_RESTART_COUNT"), *id = variable("SLURM_JOB_ID");
    if (*array && *task) {
        snprintf(self.job, sizeof self.job, "%.40s_%.20s", array, task);
        snprintf(self.job_raw, sizeof self.job_raw, "%.60s", id);
    } else {
        snprintf(self.job, sizeof self.job, "%.60s", id);
    }
    if (!*variable("OMPI_COMM_WORLD_SIZE") && !*launch)
        snprintf(self.step, sizeof self.step, "%.30s", variable("SLURM_STEP_ID"));
    if (*restart && strcmp(restart, "0") != 0)
        snprintf(self.restart, sizeof self.restart, "r%.12s", restart);
}

static void read_run(const char *given, const char *launch, const char *group)
{
    char own[64];
    const char *namespace = variable("PMIX_NAMESPACE"), *id = given;
    char step[128] = "";
    snprintf(own, sizeof own, "%d-%lld", (int)getpid(), (long long)rkc_clock_unix_ns());
    if (*variable("SLURM_JOB_ID") && self.step[0])
        snprintf(step, sizeof step, "%.60s.%s", variable("SLURM_JOB_ID"), self.step);
    if (!*id)
        id = *namespace ? namespace : step[0] ? step : launch[0] ? launch : own;
    snprintf(self.run_id, sizeof self.run_id, "%.100s%s%s", id, self.restart[0] ? "-" : "",
             self.restart);
    id = *namespace ? namespace : group[0] ? group : step[0] ? step : own;
    snprintf(self.world_id, sizeof self.world_id, "%.120s", id);
}

static void read_boot_id(char *boot_id, size_t size)
{
    size_t n = read_file("/proc/sys/kernel/random/boot_id", boot_id, size - 1);
    boot_id[n] = 0;
    boot_id[strcspn(boot_id, "\n")] = 0;
}

void rkc_identity_read(const char *run_id, int command)
{
    read_boot_id(self.boot_id, sizeof self.boot_id);
    gethostname(self.host, sizeof self.host - 1);
    read_command(command);
    char launch[64] = "", group[32] = "";
    read_hydra(launch, sizeof launch, group, sizeof group);
    if (!launch[0])
        guess_group(group, sizeof group);
    read_job(launch);
    read_run(run_id, launch, group);
}

int rkc_identity_speaks(void)
{
    /* Inside a job Slurm's describe the launcher, so that the others are asked first. */
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                        "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (*variable(names[i]))
            return strcmp(variable(names[i]), "0") == 0;
    return 1;
}

/* Field 22 of /proc/self/stat: when the process began, in ticks since the machine did. 0: unknown. */
static unsigned long long start_ticks(void)
{
    char stat[1024];
    size_t bytes = read_file("/proc/self/stat", stat, sizeof stat - 1);
    stat[bytes] = 0;
    const char *field = strrchr(stat, ')'); /* the name before it may hold anything */
    for (int i = 2; field && i < 22; i++)
        field = strchr(field + 1, ' ');
    return field ? strtoull(field, NULL, 10) : 0;
}

static uint64_t mix(uint64_t hash, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    while (bytes--)
        hash = (hash ^ *at++) * UINT64_C(0x100000001b3); /* FNV-1a */
    return hash;
}

uint64_t rkc_identity_pid_space(void)
{
    struct stat space;
    return stat("/proc/self/ns/pid", &space) == 0 ? (uint64_t)space.st_ino : 0;
}

uint64_t rkc_identity_process(void)
{
    char boot_id[sizeof self.boot_id];
    unsigned long long start = start_ticks();
    uint64_t hash = UINT64_C(0xcbf29ce484222325), space = rkc_identity_pid_space();
    read_boot_id(boot_id, sizeof boot_id);
    if (start == 0 || !boot_id[0] || space == 0)
        return (uint64_t)rkc_clock_unix_ns(); /* which no name has had */
    hash = mix(hash, boot_id, strlen(boot_id));
    hash = mix(hash, &space, sizeof space);
    return mix(hash, &start, sizeof start);
}

/* Time since boot, sleep included, that /proc's start times are in. */
static int64_t boottime_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* From /proc/PID/stat; see proc(5), whose fields 3, 20 and 22 these are. */
static int lives_by_stat(const char *stat, int64_t monotonic_ns)
{
    const char *fields = strrchr(stat, ')'); /* the name before it may hold anything */
    char state;
    long threads;
    unsigned long long start;
    if (!fields || sscanf(fields + 1,
                          " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %ld "
                          "%*s %llu", &state, &threads, &start) != 3)
        return 1;
    if (state == 'X' || (state == 'Z' && threads <= 1)) /* others may outlive the first thread */
        return 0;
    int64_t asleep_ns = boottime_ns() - rkc_clock_monotonic_ns();
    int64_t tick_ns = 1000000000 / sysconf(_SC_CLK_TCK);
    return (int64_t)start * tick_ns - asleep_ns <= monotonic_ns + tick_ns;
}

/* The last of a process's ids in /proc/PID/status, which is that in its own name space; or 0. */
static int innermost_pid(int pid)
{
    char path[64], status[4096];
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    size_t bytes = read_file(path, status, sizeof status - 1);
    status[bytes] = 0;
    char *ids = strstr(status, "\nNSpid:");
    if (!ids)
        return 0;
    ids += strlen("\nNSpid:");
    ids[strcspn(ids, "\n")] = 0;
    const char *last = strrchr(ids, '\t');
    return last ? atoi(last) : 0;
}

/* The id that a process of another name space has in ours, where it can be seen; or 0. */
static int pid_from(uint64_t pid_space, int pid)
{
    DIR *proc = opendir("/proc");
    int found = 0;
    for (struct dirent *entry; proc && !found && (entry = readdir(proc));) {
        char path[64];
        struct stat space;
        int other = atoi(entry->d_name);
        snprintf(path, sizeof path, "/proc/%d/ns/pid", other);
        if (other > 0 && stat(path, &space) == 0 && space.st_ino == pid_space &&
            innermost_pid(other) == pid)
            found = other;
    }
    if (proc)
        closedir(proc);
    return found;
}

static int lives(int pid, int64_t monotonic_ns)
{
    char path[64], stat[1024];
    if (pid <= 0 || (kill(pid, 0) != 0 && errno != EPERM))
        return 0;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    size_t bytes = read_file(path, stat, sizeof stat - 1);
    stat[bytes] = 0;
    return lives_by_stat(stat, monotonic_ns);
}

int rkc_identity_runs(int pid)
{
    return lives(pid, INT64_MAX / 2);
}

int rkc_identity_lives(const char *host, const char *boot_id, uint64_t pid_space, int pid,
                       int64_t monotonic_ns)
{
    char own_host[sizeof self.host] = "", own_boot_id[sizeof self.boot_id];
    gethostname(own_host, sizeof own_host - 1);
    read_boot_id(own_boot_id, sizeof own_boot_id);
    if (strncmp(host, own_host, sizeof own_host) != 0 ||
        strncmp(boot_id, own_boot_id, sizeof own_boot_id) != 0)
        return 0;
    if (pid_space != 0 && pid_space != rkc_identity_pid_space())
        pid = pid_from(pid_space, pid);
    return lives(pid, monotonic_ns);
}
