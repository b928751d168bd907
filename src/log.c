/* log.c - one write(2) for a line, so that lines of many ranks do not mix. */
#include "autoconf.h"

#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

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
    if (write(STDERR_FILENO, line, size) < 0 && errno == EPIPE && !sigismember(&pending, SIGPIPE))
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

void rkc_log(int level, const char *format, ...)
{
    int saved = errno;
    if (level > max_level || !is_stderr()) {
        errno = saved;
        return;
    }
    char line[1024] = "rankclock: ";
    size_t used = sizeof "rankclock: " - 1;
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line + used, sizeof line - used - 1, format, args);
    va_end(args);
    if (n > 0)
        used += (size_t)n < sizeof line - used - 1 ? (size_t)n : sizeof line - used - 2;
    line[used++] = '\n';
    write_line(line, used);
    errno = saved;
}
