/* neighbors_proc.c - that a process is without rankclock must be certain, for on it all others stop
 * waiting: it is one that the launcher told that it is that rank, it has MPI in memory, and neither
 * one of our libraries, nor an image, nor our text in a program that is linked statically. And no
 * other process of the rank has: the launcher may have started a shell that starts the program. */
#include "autoconf.h"

#include "neighbors.h"

#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rankclock/status.h>

enum {
    SAME_MAX = 3,
    TEXT_MAX = 8 << 20,
    FILES_STEP = 1 << 16,
    ANCESTORS_MAX = 64,
    PROGRAM_MAX = 1 << 28
};

/* In every build of the library, and in few other programs. */
static const char text_of_ours[] = "RANKCLOCK_FINALIZE_TIMEOUT";

/* How a launcher's processes tell of which rank they are: a variable has it, others are the same
 * for all of the world on this node. */
struct way {
    const char *rank;
    const char *same[SAME_MAX];
    const char *without; /* a variable that says that it is another launcher's */
    int hydra;           /* their nearest hydra_pmi_proxy is the same process */
};

static const struct way ways[] = {
    {.rank = "PMIX_RANK", .same = {"PMIX_NAMESPACE", "PMIX_SERVER_URI2"}},
    {.rank = "PMIX_RANK", .same = {"PMIX_NAMESPACE", "PMIX_SERVER_URI21"}},
    {.rank = "PMI_RANK", .hydra = 1},
    {.rank = "SLURM_PROCID",
     .same = {"SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_NODEID"},
     .without = "OMPI_COMM_WORLD_SIZE"},
};

/* A file of /proc, with a NUL behind; malloc'ed. */
struct text {
    char *at;
    size_t bytes;
};

/* This process, and what it has that others are held against. */
struct self {
    const struct way *way;
    struct text variables;
    pid_t proxy;
    char mpi[NAME_MAX + 1]; /* the file that has it */
};

/* ---- /proc ---- */

static int read_file(pid_t pid, const char *what, struct text *text)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, what);
    *text = (struct text){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    size_t room = 0;
    ssize_t n = 1;
    while (n != 0 && text->bytes < TEXT_MAX) {
        if (room - text->bytes < 2) {
            char *grown = realloc(text->at, room += FILES_STEP);
            if (!grown)
                break;
            text->at = grown;
        }
        n = read(fd, text->at + text->bytes, room - text->bytes - 1);
        if (n < 0 && errno != EINTR)
            break;
        text->bytes += n > 0 ? (size_t)n : 0;
    }
    close(fd);
    if (n == 0 && text->bytes > 0) {
        text->at[text->bytes] = 0;
        return 1;
    }
    free(text->at);
    *text = (struct text){0};
    return 0;
}

/* The value of a variable in a process's first environment, or NULL. */
static const char *value_of(const struct text *variables, const char *name)
{
    size_t length = strlen(name);
    const char *end = variables->at + variables->bytes;
    for (const char *at = variables->at; at < end; at += strlen(at) + 1)
        if (strncmp(at, name, length) == 0 && at[length] == '=')
            return at + length + 1;
    return NULL;
}

/* What /proc/PID/stat tells; see proc(5), whose fields 2 to 4 and 22 these are. */
struct process {
    char name[64], state;
    int parent;
    unsigned long long started;
};

/* 0 where it is not there. */
static int read_stat(pid_t pid, struct process *process)
{
    struct text text;
    if (!read_file(pid, "stat", &text))
        return 0;
    const char *open = strchr(text.at, '('), *close = strrchr(text.at, ')');
    int ok = 0;
    if (open && close) {
        snprintf(process->name, sizeof process->name, "%.*s", (int)(close - open - 1), open + 1);
        ok = sscanf(close + 1,
                    " %c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
                    &process->state, &process->parent, &process->started) == 3;
    }
    free(text.at);
    return ok;
}

/* The nearest of its ancestors that starts ranks for Hydra, or 0. */
static pid_t proxy_of(pid_t pid)
{
    struct process process;
    for (int i = 0; pid > 1 && i < ANCESTORS_MAX && read_stat(pid, &process); i++) {
        if (strcmp(process.name, "hydra_pmi_proxy") == 0)
            return pid;
        pid = process.parent;
    }
    return 0;
}

/* Whether it must not be asked for its variables and its memory: one that waits for a disk or a
 * server may hold what the kernel needs to tell, and who asks would wait, too. */
static int is_stuck(pid_t pid)
{
    struct process process;
    return read_stat(pid, &process) && process.state == 'D';
}

/* ---- of which rank it is ---- */

/* -1: of none. */
static int32_t rank_of(const struct way *way, const struct text *variables)
{
    const char *value = value_of(variables, way->rank);
    char *end;
    long rank = value && isdigit((unsigned char)*value) ? strtol(value, &end, 10) : -1;
    return rank >= 0 && rank <= INT32_MAX && *end == '\0' ? (int32_t)rank : -1;
}

static int is_same(const char *a, const char *b)
{
    return a && b && *a && strcmp(a, b) == 0;
}

/* A way that is right for this process. */
static int takes_way(struct self *self, const struct way *way, int32_t rank)
{
    if (rank_of(way, &self->variables) != rank ||
        (way->without && value_of(&self->variables, way->without)))
        return 0;
    for (int i = 0; i < SAME_MAX && way->same[i]; i++)
        if (!value_of(&self->variables, way->same[i]))
            return 0;
    self->proxy = way->hydra ? proxy_of(getpid()) : 0;
    self->way = way;
    return !way->hydra || self->proxy != 0;
}

static int know_self(struct self *self, const struct rkc_image_header *own)
{
    Dl_info info;
    char file[PATH_MAX];
    *self = (struct self){0};
    const void *mpi = dlsym(RTLD_DEFAULT, "PMPI_Init");
    if (!mpi)
        dlerror(); /* the program's is not to tell of ours */
    if (!mpi || !dladdr(mpi, &info) || !realpath(info.dli_fname, file) ||
        !read_file(getpid(), "environ", &self->variables))
        return 0;
    snprintf(self->mpi, sizeof self->mpi, "%s", strrchr(file, '/') + 1);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (takes_way(self, &ways[i], atomic_load(&own->rank)))
            return 1;
    free(self->variables.at);
    return 0;
}

/* The rank in our world of a process with these variables, or -1. */
static int32_t rank_beside(const struct self *self, pid_t pid, const struct text *variables)
{
    const struct way *way = self->way;
    for (int i = 0; i < SAME_MAX && way->same[i]; i++)
        if (!is_same(value_of(variables, way->same[i]), value_of(&self->variables, way->same[i])))
            return -1;
    int32_t rank = rank_of(way, variables);
    return rank >= 0 && way->hydra && proxy_of(pid) != self->proxy ? -1 : rank;
}

/* ---- what it has loaded ---- */

/* Whether a file is one of ours, by its name. */
static int is_ours(const char *name)
{
    return strncmp(name, "librankclock", strlen("librankclock")) == 0 ||
           (strncmp(name, "rankclock-", strlen("rankclock-")) == 0 && strstr(name, ".rkci"));
}

/* Whether our text is in the first so many bytes of a file: 0, 1, or -1 where that cannot be told.
 * It is read, not mapped: a file on a server may become shorter meanwhile. */
static int holds_text(int fd)
{
    const size_t length = sizeof text_of_ours - 1;
    static char piece[FILES_STEP];
    size_t kept = 0;
    ssize_t n;
    for (off_t at = 0; (n = pread(fd, piece + kept, sizeof piece - kept, at)) > 0; at += n) {
        size_t bytes = kept + (size_t)n;
        if (memmem(piece, bytes, text_of_ours, length))
            return 1;
        if (at > PROGRAM_MAX)
            return -1;
        kept = bytes < length ? bytes : length;
        memmove(piece, piece + bytes - kept, kept);
    }
    return n == 0 ? 0 : -1;
}

/* Whether the program itself holds our library. */
static int program_has_ours(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int has = fd < 0 ? -1 : holds_text(fd);
    if (fd >= 0)
        close(fd);
    return has;
}

enum found { NOTHING, OURS, MPI_ALONE };

/* The files in its memory. */
static enum found loaded(pid_t pid, const char *mpi)
{
    struct text maps;
    enum found found = NOTHING;
    if (!read_file(pid, "maps", &maps))
        return NOTHING;
    char *more = NULL;
    for (char *line = strtok_r(maps.at, "\n", &more); line && found != OURS;
         line = strtok_r(NULL, "\n", &more)) {
        const char *path = strchr(line, '/');
        const char *name = path ? strrchr(path, '/') + 1 : "";
        if (is_ours(name))
            found = OURS;
        else if (strcmp(name, mpi) == 0)
            found = MPI_ALONE;
    }
    free(maps.at);
    return found == MPI_ALONE && program_has_ours(pid) != 0 ? NOTHING : found;
}

static int is_off(const struct text *variables)
{
    static const char *const words[] = {"off", "0", "no", "false"};
    const char *value = value_of(variables, "RANKCLOCK_ENABLE");
    for (size_t i = 0; value && i < sizeof words / sizeof *words; i++)
        if (strcmp(value, words[i]) == 0)
            return 1;
    return 0;
}

/* ---- the whole ---- */

/* What one process says of its rank: its own word counts that has our library, and the others' only
 * where there is none. */
static int add_process(struct rkc_neighbors *neighbors, const struct self *self, pid_t pid,
                       const struct text *variables, int32_t rank)
{
    struct process process;
    struct rkc_neighbor *neighbor = rkc_neighbors_get(neighbors, rank);
    if (!neighbor)
        return RKC_ENOMEM;
    if (neighbor->image || neighbor->pid < 0)
        return 0;
    enum found found = loaded(pid, self->mpi);
    if (found == OURS && is_off(variables))
        found = MPI_ALONE;
    if (found == OURS) {
        neighbor->state = RKC_NEIGHBOR_UNSEEN;
        neighbor->pid = -1; /* whatever others of this rank are */
    } else if (found == MPI_ALONE && read_stat(pid, &process) &&
               (neighbor->pid == 0 ||
                process.started < neighbor->started)) { /* not one of its children */
        neighbor->state = RKC_NEIGHBOR_WITHOUT;
        neighbor->pid = pid;
        neighbor->started = process.started;
    }
    return 0;
}

/* The processes of this user, by their numbers: the next one, or 0. */
static pid_t next_process(DIR *dir)
{
    struct stat stat_;
    for (struct dirent *entry; (entry = readdir(dir));) {
        pid_t pid = isdigit((unsigned char)entry->d_name[0]) ? atoi(entry->d_name) : 0;
        if (pid > 0 && pid != getpid() && fstatat(dirfd(dir), entry->d_name, &stat_, 0) == 0 &&
            stat_.st_uid == geteuid())
            return pid;
    }
    return 0;
}

static int search(struct rkc_neighbors *neighbors, const struct self *self,
                  const struct rkc_image_header *own, DIR *dir)
{
    int status = 0, all = 1;
    for (pid_t pid; status == 0 && (pid = next_process(dir)) != 0;) {
        struct text variables;
        int stuck = is_stuck(pid);
        all &= !stuck;
        if (stuck || !read_file(pid, "environ", &variables))
            continue;
        int32_t rank = rank_beside(self, pid, &variables);
        if (rank >= 0 && rank != atomic_load(&own->rank) && rank < atomic_load(&own->size))
            status = add_process(neighbors, self, pid, &variables, rank);
        free(variables.at);
    }
    for (size_t i = 0; i < neighbors->n; i++) /* the one that was left out may be one with us */
        if (neighbors->list[i].state == RKC_NEIGHBOR_WITHOUT && !all)
            neighbors->list[i].state = RKC_NEIGHBOR_UNSEEN;
    return status;
}

int rkc_neighbors_search(struct rkc_neighbors *neighbors, const struct rkc_image_header *own)
{
    struct self self;
    int status = 0;
    if (!know_self(&self, own))
        return 0;
    DIR *dir = opendir("/proc");
    if (dir) {
        status = search(neighbors, &self, own, dir);
        closedir(dir);
    }
    free(self.variables.at);
    return status;
}
