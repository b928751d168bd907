/* log.c - one write(2) for a line, so that lines of many ranks do not mix. */
#include "autoconf.h"

#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "line.h"

enum { LINE_MAX_BYTES = 1024, READER_MS = 1000 };

static int max_level = RKC_LOG_INFO;

static struct {
    int known, open;
    dev_t device;
    ino_t inode;
} begun;

void rkc_log_begin(void)
{
    struct stat now;
    begun.open = fstat(STDERR_FILENO, &now) == 0;
    if (begun.open) {
        begun.device = now.st_dev;
        begun.inode = now.st_ino;
    }
    begun.known = 1;
}

/* Whether the descriptor is still that of stderr: the same file, or one that a program puts there for
 * its messages; not a connection, nor a file that is read as well. */
static int is_stderr(void)
{
    struct stat now;
    if (!begun.known)
        return 1;
    if (!begun.open || fstat(STDERR_FILENO, &now) != 0)
        return 0;
    if (now.st_dev == begun.device && now.st_ino == begun.inode)
        return 1;
    int flags = fcntl(STDERR_FILENO, F_GETFL);
    if (S_ISREG(now.st_mode))
        return (flags & O_ACCMODE) == O_WRONLY || (flags & O_APPEND) != 0;
    return S_ISCHR(now.st_mode) || S_ISFIFO(now.st_mode);
}

/* Write, though nobody may read any more: no SIGPIPE of ours reaches the program. */
static void write_line(const char *line, size_t size)
{
    sigset_t pipe_alone, pending, mask;
    struct timespec none = {0, 0};
    sigemptyset(&pipe_alone);
    sigaddset(&pipe_alone, SIGPIPE);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &pipe_alone, &mask);
    struct pollfd reader = {.fd = STDERR_FILENO, .events = POLLOUT};
    if (poll(&reader, 1, READER_MS) == 0) /* a pipe that is full: nobody reads it */
        size = 0;
    if (size && write(STDERR_FILENO, line, size) < 0 && errno == EPIPE &&
        !sigismember(&pending, SIGPIPE))
        sigtimedwait(&pipe_alone, NULL, &none);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

void rkc_log_set_level(int level)
{
    max_level = level;
}

int rkc_log_level(void)
{
    return max_level;
}

void rkc_log_line(int level, const char *text)
{
    int saved = errno;
    if (level <= max_level && is_stderr()) {
        char room[LINE_MAX_BYTES];
        struct rkc_line line = rkc_line_in(room, sizeof room);
        rkc_line_add(&line, "rankclock: ");
        rkc_line_add_part(&line, text, strnlen(text, sizeof room - line.used - 2));
        rkc_line_add(&line, "\n");
        write_line(line.text, line.used);
    }
    errno = saved;
}

void rkc_log(int level, const char *format, ...)
{
    int saved = errno;
    char text[LINE_MAX_BYTES];
    va_list args;
    if (level > max_level)
        return;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n >= 0)
        rkc_log_line(level, text);
    errno = saved;
}
