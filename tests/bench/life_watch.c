/* Starts one program and watches it from outside:  life_watch PROGRAM [ARGUMENT ...]
 *
 * BENCH_PRELOAD becomes LD_PRELOAD of that program alone, launchers and shells left out.
 * BENCH_WATCH names a file to which one line is appended, tabs between:
 *   watch  wall_ns  peak_kib
 */
#include "bench.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void become(char **argv)
{
    const char *preload = getenv("BENCH_PRELOAD");
    if (preload && *preload)
        setenv("LD_PRELOAD", preload, 1);
    execvp(argv[0], argv);
    perror(argv[0]);
    _exit(127);
}

/* One write, so that the lines of several ranks do not mix. */
static int append(const char *path, int64_t wall_ns, long peak_kib)
{
    char line[96];
    int length = snprintf(line, sizeof line, "watch\t%lld\t%ld\n", (long long)wall_ns, peak_kib);
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    int failed = fd < 0 || write(fd, line, (size_t)length) != length;
    if (failed)
        perror(path);
    if (fd >= 0)
        close(fd);
    return failed;
}

int main(int argc, char **argv)
{
    const char *path = getenv("BENCH_WATCH");
    struct rusage use;
    int status;
    if (argc < 2) {
        fprintf(stderr, "usage: life_watch PROGRAM [ARGUMENT ...]\n");
        return 2;
    }
    int64_t begin_ns = bench_now_ns();
    pid_t child = fork();
    if (child == 0)
        become(argv + 1);
    if (child < 0 || wait4(child, &status, 0, &use) != child) {
        perror("life_watch");
        return 1;
    }
    if (path && append(path, bench_now_ns() - begin_ns, use.ru_maxrss))
        return 1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
