/* faults.c - a file system that fails, or a process that is killed, at a chosen call; preloaded.
 *
 * Counted are the calls below that touch a file under $FAULTS_FOLDER. With
 *
 *   FAULTS_KILL=N       the process is killed before the N-th of them; FAULTS_SIGNAL names another
 *                       signal than KILL by its number
 *   FAULTS_FAIL=CALL:ERRNO[:N]   such a call fails with that number, from its N-th time on; several
 *                       are apart by commas. CALL is open, write, fsync, link, linked (it fails
 *                       after the link is made, as on NFS), rename, noreplace (renameat2), unlink,
 *                       mkdir, symlink, truncate or flock
 *   FAULTS_LOG=FILE     each is noted in that file
 *
 * Calls of stdio and those that a library makes without the C library are not seen. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WORDS = 16 };

static int calls;             /* that are counted */
static int times[WORDS];      /* of each entry of FAULTS_FAIL */

static int is_under(const char *path)
{
    const char *folder = getenv("FAULTS_FOLDER");
    char full[2 * PATH_MAX] = "", here[PATH_MAX];
    if (!folder || !path)
        return 0;
    if (path[0] != '/' && getcwd(here, sizeof here))
        snprintf(full, sizeof full, "%s/%s", here, path);
    else
        snprintf(full, sizeof full, "%s", path);
    size_t length = strlen(folder);
    return strncmp(full, folder, length) == 0 && (full[length] == '/' || full[length] == '\0');
}

static const char *path_of(int fd, char path[PATH_MAX])
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    path[length > 0 ? length : 0] = '\0';
    return path;
}

static void note(const char *call, const char *path)
{
    const char *name = getenv("FAULTS_LOG");
    char line[PATH_MAX + 64];
    int fd = name ? (int)syscall(SYS_openat, AT_FDCWD, name, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;
    if (fd < 0)
        return;
    int length = snprintf(line, sizeof line, "%d %s %s\n", calls, call, path);
    if (syscall(SYS_write, fd, line, (size_t)length) < 0)
        abort();
    syscall(SYS_close, fd);
}

/* The errno with which this call is to fail; 0 for none. */
static int failure(const char *call)
{
    const char *at = getenv("FAULTS_FAIL");
    for (int i = 0; at && *at && i < WORDS; i++) {
        char word[32] = "";
        int error = 0, from = 1;
        sscanf(at, "%31[^:]:%d:%d", word, &error, &from);
        if (strcmp(word, call) == 0 && ++times[i] >= from)
            return error;
        at = strchr(at, ',');
        at += at != NULL;
    }
    return 0;
}

/* Whether the call has to fail; errno is set. */
static int strikes(const char *call, const char *path)
{
    const char *kill_at = getenv("FAULTS_KILL"), *number = getenv("FAULTS_SIGNAL");
    if (!is_under(path))
        return 0;
    calls++;
    note(call, path);
    if (kill_at && calls == atoi(kill_at))
        kill(getpid(), number ? atoi(number) : SIGKILL);
    int error = failure(call);
    if (error)
        errno = error;
    return error != 0;
}

static int strikes_fd(const char *call, int fd)
{
    char path[PATH_MAX];
    int saved = errno;
    path_of(fd, path);
    errno = saved;
    return strikes(call, path);
}

#define NEXT(result, name, ...) \
    result (*next)(__VA_ARGS__); \
    *(void **)&next = dlsym(RTLD_NEXT, #name)

#define OPENS(name) \
    int name(const char *path, int flags, ...) \
    { \
        va_list rest; \
        va_start(rest, flags); \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
        va_end(rest); \
        NEXT(int, name, const char *, int, ...); \
        if (flags & (O_CREAT | O_WRONLY | O_RDWR) && strikes("open", path)) \
            return -1; \
        return next(path, flags, mode); \
    }
OPENS(open)
OPENS(open64)

#define WRITES_AT(name, offset_type) \
    ssize_t name(int fd, const void *data, size_t size, offset_type offset) \
    { \
        NEXT(ssize_t, name, int, const void *, size_t, offset_type); \
        return strikes_fd("write", fd) ? -1 : next(fd, data, size, offset); \
    }
WRITES_AT(pwrite, off_t)
WRITES_AT(pwrite64, off64_t)

ssize_t write(int fd, const void *data, size_t size)
{
    NEXT(ssize_t, write, int, const void *, size_t);
    return strikes_fd("write", fd) ? -1 : next(fd, data, size);
}

#define TRUNCATES(name, offset_type) \
    int name(int fd, offset_type size) \
    { \
        NEXT(int, name, int, offset_type); \
        return strikes_fd("truncate", fd) ? -1 : next(fd, size); \
    }
TRUNCATES(ftruncate, off_t)
TRUNCATES(ftruncate64, off64_t)

int fsync(int fd)
{
    NEXT(int, fsync, int);
    return strikes_fd("fsync", fd) ? -1 : next(fd);
}

int flock(int fd, int operation)
{
    NEXT(int, flock, int, int);
    return strikes_fd("flock", fd) ? -1 : next(fd, operation);
}

int link(const char *from, const char *to)
{
    NEXT(int, link, const char *, const char *);
    if (strikes("link", to))
        return -1;
    int status = next(from, to), error = failure("linked");
    if (status != 0 || error == 0)
        return status;
    errno = error;
    return -1;
}

int symlink(const char *target, const char *path)
{
    NEXT(int, symlink, const char *, const char *);
    return strikes("symlink", path) ? -1 : next(target, path);
}

int rename(const char *from, const char *to)
{
    NEXT(int, rename, const char *, const char *);
    return strikes("rename", to) ? -1 : next(from, to);
}

int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags)
{
    NEXT(int, renameat2, int, const char *, int, const char *, unsigned);
    return strikes("noreplace", to) ? -1 : next(from_folder, from, to_folder, to, flags);
}

int unlink(const char *path)
{
    NEXT(int, unlink, const char *);
    return strikes("unlink", path) ? -1 : next(path);
}

int mkdir(const char *path, mode_t mode)
{
    NEXT(int, mkdir, const char *, mode_t);
    return strikes("mkdir", path) ? -1 : next(path, mode);
}
