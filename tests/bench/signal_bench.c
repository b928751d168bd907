/* How long it takes from SIGTERM until the image of a process is written that has THREADS threads
 * at work, each in PATHS call paths.
 *
 *   signal_bench
 *
 * It starts itself, with BENCH_PRELOAD preloaded, as an MPI program of one rank whose result would
 * be bench.h5, and prints "sigterm MS -" and "sigterm_kib KIB -", the latter of the image.
 */
#include "bench.h"

#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 8, PATHS = 1000, PATIENCE_S = 30 };

static const char folder[] = "bench.h5.partial", image[] = "bench.h5.partial/rank-0.rkci";

struct rkc_region;

static struct rkc_region *region[PATHS];
static struct rkc_region *(*region_get)(const char *name);
static void (*region_begin)(struct rkc_region *region);
static void (*region_end)(struct rkc_region *region);

/* ---- the process that is measured ---- */

static pthread_barrier_t all_ready;

static void *work(void *arg)
{
    for (unsigned round = 0;; round++) {
        for (int i = 0; i < PATHS; i++) {
            region_begin(region[i]);
            region_end(region[i]);
        }
        if (round == 1)
            pthread_barrier_wait(&all_ready);
    }
    return arg;
}

static int be_measured(int ready)
{
    pthread_t thread[THREADS];
    char name[32];
    *(void **)&region_get = dlsym(RTLD_DEFAULT, "rkc_region_get");
    *(void **)&region_begin = dlsym(RTLD_DEFAULT, "rkc_region_begin");
    *(void **)&region_end = dlsym(RTLD_DEFAULT, "rkc_region_end");
    if (!region_get || MPI_Init(NULL, NULL) != MPI_SUCCESS)
        return 1;
    for (int i = 0; i < PATHS; i++) {
        snprintf(name, sizeof name, "solver_step_%04d", i);
        region[i] = region_get(name);
    }
    pthread_barrier_init(&all_ready, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, work, NULL);
    pthread_barrier_wait(&all_ready);
    if (write(ready, "", 1) != 1)
        return 1;
    alarm(PATIENCE_S);
    for (;;)
        pause();
}

/* ---- the one that measures ---- */

static pid_t start(const char *self, int *ready)
{
    int fds[2];
    char number[16], byte;
    if (pipe(fds) != 0)
        return -1;
    snprintf(number, sizeof number, "%d", fds[1]);
    pid_t child = fork();
    if (child == 0) {
        const char *library = getenv("BENCH_PRELOAD");
        if (library)
            setenv("LD_PRELOAD", library, 1);
        execl(self, self, number, (char *)NULL);
        _exit(127);
    }
    close(fds[1]);
    *ready = read(fds[0], &byte, 1) == 1;
    close(fds[0]);
    return child;
}

/* From the signal until the image is there; below 0 where it never is. */
static int64_t time_image(pid_t child, off_t *bytes)
{
    struct stat found;
    struct timespec soon = {.tv_nsec = 100000};
    int64_t begin_ns = bench_now_ns(), ns = 0;
    kill(child, SIGTERM);
    while (stat(image, &found) != 0) {
        nanosleep(&soon, NULL);
        if (bench_now_ns() - begin_ns > (int64_t)PATIENCE_S * 1000000000)
            return -1;
    }
    ns = bench_now_ns() - begin_ns;
    *bytes = found.st_size;
    return ns;
}

int main(int argc, char **argv)
{
    int ready = 0, status = 0;
    off_t bytes = 0;
    if (argc > 1)
        return be_measured(atoi(argv[1]));
    pid_t child = start(argv[0], &ready);
    int64_t ns = ready ? time_image(child, &bytes) : -1;
    if (child > 0) {
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
    }
    unlink(image);
    unlink("bench.h5.partial/.run");
    rmdir(folder);
    if (ns < 0) {
        fprintf(stderr, "signal_bench: no image\n");
        return 1;
    }
    printf("sigterm %.3f -\nsigterm_kib %ld -\n", (double)ns / 1e6, (long)(bytes / 1024));
    return 0;
}
