/* log.c - one write(2) for a line, so that lines of many ranks do not mix. */
#include "autoconf.h"

#include "log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static int max_level = RKC_LOG_INFO;

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
    if (level > max_level)
        return;
    int saved = errno;
    char line[1024] = "rankclock: ";
    size_t used = sizeof "rankclock: " - 1;
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line + used, sizeof line - used - 1, format, args);
    va_end(args);
    if (n > 0)
        used += (size_t)n < sizeof line - used - 1 ? (size_t)n : sizeof line - used - 2;
    line[used++] = '\n';
    if (write(STDERR_FILENO, line, used) < 0) {
        /* Nowhere to say it. */
    }
    errno = saved;
}
