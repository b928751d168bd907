/* save.c - a folder belongs to one run: images that nobody has made a file of yet are not replaced
 * by those of the next run, nor one world's by those of another that it has spawned.
 *
 * From rkc_save_now down all is async-signal-safe: names and texts are put together by hand, in
 * static memory, for the stack may be a small one, and one thread at a time has its turn. */
#include "autoconf.h"

#include "save.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "line.h"
#include "log.h"
#include "runtime.h"
#include "sink/names.h"

enum {
    FOLDERS_MAX = 1000, /* of other runs, under one name */
    BASE_MAX = 220,     /* of a name of up to 255 bytes, with a number and .partial */
    ROOM = RKC_PATTERN_MAX + PATH_MAX + RKC_NAMES_ROOM,
    OWNER_ROOM = 260,
    TEXT_ROOM = 1024,
};

/* How long a thread waits for its turn at most. */
static const int64_t TURN_NS = 10000000000;
static const struct timespec SOON = {.tv_nsec = 200000};

/* Known when recording begins; "" where there is none. */
static struct {
    const char *beside; /* folder of the result file */
    const char *working;
    const char *temporary;
    char base[BASE_MAX + 1]; /* of the result file's name */
} places = {.beside = "", .working = "", .temporary = ""};

/* The folders' names, one behind the other, for most are short. */
static char place_names[ROOM + PATH_MAX];

/* Of the thread whose turn it is. */
static struct {
    char folder[ROOM];
    char name[ROOM];
    char path[ROOM + 32];
    char owner[OWNER_ROOM], found[OWNER_ROOM];
    char text[TEXT_ROOM];
    int is_first; /* of the run, in that folder */
} work;

static _Atomic int taken;            /* somebody has their turn */
static _Atomic int is_over;          /* an image is saved that is the last */
static _Atomic uint32_t n_last_ones; /* images saved of what has ended */

/* ---- one folder ---- */

/* The run and the world whose images a folder has, as its mark tells. */
static void owner_text(const struct rkc_image_header *header)
{
    struct rkc_line line = rkc_line_in(work.owner, sizeof work.owner);
    rkc_line_add_part(&line, header->run_id, strnlen(header->run_id, 127));
    rkc_line_add(&line, " ");
    rkc_line_add_part(&line, header->world_id, strnlen(header->world_id, 127));
}

static void mark_name(const char *folder)
{
    struct rkc_line line = rkc_line_in(work.path, sizeof work.path);
    rkc_line_add(&line, folder);
    rkc_line_add(&line, "/.run");
}

/* Make the folder, or take one that is ours: 0 or an errno. */
static int make_folder(const char *folder)
{
    struct stat stat_;
    if (mkdir(folder, 0700) == 0)
        return 0;
    int error = errno;
    if (error != EEXIST || lstat(folder, &stat_) != 0)
        return error;
    return !S_ISDIR(stat_.st_mode) ? ENOTDIR : stat_.st_uid != geteuid() ? EPERM : 0;
}

/* Mark the folder as this run's. 1 where this process is the first of the run, 0 where it is not,
 * -1 where it is another's. Without symbolic links each is the first. */
static int mark_folder(const char *folder, const struct rkc_image_header *header)
{
    mark_name(folder);
    owner_text(header);
    if (symlink(work.owner, work.path) == 0)
        return 1;
    if (errno != EEXIST)
        return 1;
    ssize_t length = readlink(work.path, work.found, sizeof work.found - 1);
    work.found[length > 0 ? length : 0] = '\0';
    return strcmp(work.found, work.owner) == 0 ? 0 : -1;
}

/* Leave no folder behind in which nothing could be saved. */
static void release_folder(const char *folder, const struct rkc_image_header *header)
{
    mark_name(folder);
    unlink(work.path);
    if (rmdir(folder) != 0) /* another rank had more luck */
        mark_folder(folder, header);
}

/* Whether there is an image of another run under a name. */
static int is_others(const char *path, const struct rkc_image_header *header)
{
    struct rkc_image_header found;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t got = pread(fd, &found, sizeof found, 0);
    close(fd);
    return got == (ssize_t)sizeof found && found.magic == RKC_IMAGE_MAGIC &&
           (strncmp(found.run_id, header->run_id, sizeof found.run_id) != 0 ||
            strncmp(found.world_id, header->world_id, sizeof found.world_id) != 0);
}

static void image_name(const char *folder, int rank)
{
    struct rkc_line line = rkc_line_in(work.path, sizeof work.path);
    rkc_line_add(&line, folder);
    rkc_line_add(&line, rank < 0 ? "/pid-" : "/rank-");
    rkc_line_add_number(&line, rank < 0 ? (long)getpid() : rank);
    rkc_line_add(&line, ".rkci");
}

/* Save in one folder: 0, an errno, or EEXIST where it is another run's. */
static int save_in(const char *folder, const struct rkc_image_end *end)
{
    const struct rkc_image_header *header = rkc_image_header(rkc_private_image());
    int rank = atomic_load(&header->rank);
    int error = make_folder(folder);
    if (error != 0)
        return error;
    work.is_first = rank < 0 ? 1 : mark_folder(folder, header);
    image_name(folder, rank);
    if (work.is_first < 0 || is_others(work.path, header))
        return EEXIST;
    if (rkc_image_save(rkc_private_image(), work.path, end) == 0)
        return 0;
    error = errno;
    release_folder(folder, header);
    return error;
}

/* ---- all of them ---- */

/* Save in NAME.partial below a place, or NAME.2.partial and so on where other runs have left
 * theirs: 0 with the folder's name in `work`, or an errno. */
static int save_below(const char *place, const struct rkc_image_end *end)
{
    int error = EEXIST;
    for (int n = 1; n <= FOLDERS_MAX && error == EEXIST; n++) {
        struct rkc_line line = rkc_line_in(work.folder, sizeof work.folder);
        rkc_names_number(places.base, n, work.name, sizeof work.name);
        rkc_line_add(&line, place);
        rkc_line_add(&line, *place ? "/" : "");
        rkc_line_add(&line, work.name);
        rkc_line_add(&line, ".partial");
        error = line.cut ? ENAMETOOLONG : save_in(work.folder, end);
    }
    return error;
}

/* As strerror, which may not be called in a signal handler. */
static void add_error(struct rkc_line *line, int error)
{
    static const struct {
        int error;
        const char *text;
    } texts[] = {
        {EACCES, "Permission denied"},
        {EDQUOT, "Disk quota exceeded"},
        {EEXIST, "File exists"},
        {EFBIG, "File too large"},
        {EIO, "Input/output error"},
        {ELOOP, "Too many levels of symbolic links"},
        {EMFILE, "Too many open files"},
        {ENAMETOOLONG, "File name too long"},
        {ENFILE, "Too many open files in system"},
        {ENOENT, "No such file or directory"},
        {ENOSPC, "No space left on device"},
        {ENOTDIR, "Not a directory"},
        {EPERM, "Operation not permitted"},
        {EROFS, "Read-only file system"},
        {ESTALE, "Stale file handle"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].error == error) {
            rkc_line_add(line, texts[i].text);
            return;
        }
    rkc_line_add(line, "error ");
    rkc_line_add_number(line, error);
}

static void add_all(struct rkc_line *line, const char *const *texts)
{
    for (; *texts; texts++)
        rkc_line_add(line, *texts);
}

static void say_saved(const char *why, const char *host)
{
    struct rkc_line line = rkc_line_in(work.text, sizeof work.text);
    add_all(&line, (const char *const[]){why, ": what was measured is saved in ", work.folder,
                                         *host ? " on " : "", host,
                                         "; make a file of it with rankclock recover ", work.folder,
                                         " -o FILE", NULL});
    rkc_log_line(RKC_LOG_WARNING, line.text);
}

/* Nothing can be written anywhere: only a spool file is left. */
static void say_unsaved(const char *why, int error)
{
    const struct rkc_image *image = rkc_private_image();
    int spooled = image->spool.name[0] != 0;
    struct rkc_line line = rkc_line_in(work.text, sizeof work.text);
    add_all(&line, (const char *const[]){why,
                                         spooled ? ", nor can images in "
                                                 : ", and what was measured cannot be saved in ",
                                         rkc_private_output(),
                                         spooled ? ".partial (" : ".partial: ", NULL});
    add_error(&line, error);
    if (spooled)
        add_all(&line, (const char *const[]){"): what was measured is left in ", image->spool.name,
                                             " on ", rkc_image_header(image)->host,
                                             "; make a file of it with rankclock recover ",
                                             image->spool.name, " -o FILE", NULL});
    rkc_log_line(RKC_LOG_WARNING, line.text);
}

static int save(const struct rkc_image_end *end, const char *why)
{
    int error = save_below(places.beside, end), status = error;
    if (status != 0 && strcmp(places.beside, places.working) != 0)
        status = save_below(places.working, end);
    const char *host = "";
    if (status != 0) { /* which other nodes may not see */
        host = rkc_image_header(rkc_private_image())->host;
        status = save_below(places.temporary, end);
    }
    if (status == 0 && work.is_first)
        say_saved(why, host);
    if (status != 0)
        say_unsaved(why, error);
    return status == 0 ? 0 : RKC_EIO;
}

/* ---- whose turn it is ---- */

/* Wait for it. 1, or 0 when it does not come. */
static int take_turn(void)
{
    int64_t until_ns = rkc_clock_monotonic_ns() + TURN_NS;
    while (atomic_exchange(&taken, 1)) {
        if (rkc_clock_monotonic_ns() > until_ns)
            return 0;
        nanosleep(&SOON, NULL);
    }
    return 1;
}

int rkc_save_now(enum rkc_state state, int signal, int is_last, const char *why)
{
    int status = 0;
    uint32_t before = atomic_load(&n_last_ones);
    if (!rkc_private_image()->base || !take_turn())
        return RKC_EIO;
    if (atomic_load(&n_last_ones) == before && !atomic_load(&is_over)) {
        struct rkc_image_end end = {.state = state, .signal = signal};
        rkc_thread_freeze();
        status = save(&end, why);
        rkc_thread_thaw();
        if (status == 0 && state != RKC_STATE_RUNNING)
            atomic_fetch_add(&n_last_ones, 1);
        if (status == 0 && is_last)
            atomic_store(&is_over, 1);
    }
    atomic_store(&taken, 0);
    return status;
}

int rkc_private_save(const char *why)
{
    const struct rkc_image *image = rkc_private_image();
    uint64_t mask;
    if (!image->base)
        return RKC_EIO;
    rkc_thread_signals_block(&mask); /* a handler that saves would wait for itself */
    int status = rkc_save_now(atomic_load(&rkc_image_header(image)->state), 0, 0, why);
    rkc_thread_signals_restore(&mask);
    return status;
}

void rkc_save_prepare(void)
{
    const char *output = rkc_private_output(), *slash = strrchr(output, '/');
    const char *temporary = getenv("TMPDIR");
    snprintf(places.base, sizeof places.base, "%s", slash ? slash + 1 : output);
    snprintf(place_names, ROOM, "%.*s", slash ? (int)(slash - output) : 0, output);
    if (slash == output)
        strcpy(place_names, "/.");
    char *behind = place_names + strlen(place_names) + 1;
    snprintf(behind, PATH_MAX, "%s", temporary && *temporary ? temporary : "/tmp");
    places.beside = place_names;
    places.temporary = behind;
    places.working = rkc_private_folder();
}
