/* nompi.c - a program without MPI that has regions, in one of several ways: nompi WAY.
 *
 * Its status is 0 when all went as it should for the program itself; what the library made of it
 * is in the result file. tests/nompi.sh has what must be there.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rankclock/rankclock.h>

static void work(void)
{
    for (int i = 0; i < 3; i++) {
        RKC_BEGIN("step");
        for (int j = 0; j < 2; j++) {
            RKC_SCOPE("halo");
            rkc_begin("pack");
            rkc_end("pack");
        }
        RKC_END("step");
    }
}

static int steps(void)
{
    RKC_SCOPE("main");
    work();
    return 0;
}

static int nothing(void)
{
    return rkc_strerror(0) == NULL; /* it knows the library, and has no region */
}

static int leaves_by_exit(void)
{
    RKC_BEGIN("main");
    work();
    RKC_BEGIN("fatal");
    exit(42);
}

static int paused(void)
{
    work();
    rkc_pause();
    work();
    rkc_resume();
    work();
    return 0;
}

static int sampled(void)
{
    rkc_region_every(rkc_region_get("step"), 2);
    for (int i = 0; i < 10; i++)
        work();
    return 0;
}

static void at_exit(void)
{
    RKC_BEGIN("at exit");
    RKC_END("at exit");
}

__attribute__((constructor)) static void before_main(void)
{
    if (getenv("NOMPI_CONSTRUCTOR"))
        rkc_begin("constructor");
    if (getenv("NOMPI_CONSTRUCTOR"))
        rkc_end("constructor");
}

static int around_main(void)
{
    atexit(at_exit);
    work();
    return 0;
}

static int moves(void)
{
    work();
    if (chdir("/") != 0)
        return 1;
    close(STDIN_FILENO);
    close(STDOUT_FILENO);
    close(STDERR_FILENO);
    return 0;
}

/* ---- threads ---- */

static void *thread_works(void *leave)
{
    RKC_BEGIN("thread");
    work();
    if (leave)
        return NULL;
    RKC_END("thread");
    return NULL;
}

static void *thread_stays(void *arg)
{
    RKC_BEGIN("stays");
    *(_Atomic int *)arg = 1;
    for (;;) {
        RKC_BEGIN("busy");
        RKC_END("busy");
    }
    return NULL;
}

static int threads(void)
{
    enum { THREADS = 4 };
    pthread_t thread[THREADS], other;
    static _Atomic int stays;
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, thread_works, i % 2 ? "leave" : NULL) != 0)
            return 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    if (pthread_create(&other, NULL, thread_stays, (void *)&stays) != 0)
        return 1;
    while (!stays)
        usleep(1000);
    return 0; /* while the other thread is in the middle of it */
}

static void *outlives(void *arg)
{
    usleep(100000);
    thread_works(NULL);
    return arg;
}

static int main_ends_first(void)
{
    pthread_t thread;
    RKC_BEGIN("main");
    if (pthread_create(&thread, NULL, outlives, NULL) != 0)
        return 1;
    pthread_exit(NULL);
}

/* ---- processes ---- */

static int forks(void)
{
    int status = -1;
    RKC_BEGIN("main");
    for (int i = 0; i < 3; i++) {
        pid_t child = fork();
        if (child == 0) {
            work();
            RKC_END("main");
            exit(7);
        }
        if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 7)
            return 1;
    }
    RKC_END("main");
    return 0;
}

static int runs_another(const char *self)
{
    pid_t child = fork();
    if (child == 0) {
        execl(self, self, "steps", (char *)NULL);
        _exit(1);
    }
    int status = -1;
    RKC_BEGIN("parent");
    waitpid(child, &status, 0);
    RKC_END("parent");
    return status != 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } ways[] = {
        {"steps", steps},   {"nothing", nothing}, {"exit", leaves_by_exit},
        {"paused", paused}, {"sampled", sampled}, {"around", around_main},
        {"moves", moves},   {"threads", threads}, {"main_ends_first", main_ends_first},
        {"forks", forks},
    };
    const char *way = argc > 1 ? argv[1] : "";
    if (strcmp(way, "runs") == 0)
        return runs_another(argv[0]);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (strcmp(way, ways[i].name) == 0)
            return ways[i].run();
    fputs("usage: nompi WAY (see its source)\n", stderr);
    return 2;
}
