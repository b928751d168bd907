/* A program that lives with signals, or dies of one, for tests/signals.sh.
 *
 *   signals see        what it finds as dispositions, and what becomes of signals, on stdout
 *   signals die HOW    ends by HOW: segv, bus, fpe, ill, abort, or the name of a signal, which is
 *                      sent to a thread of its own that has no region
 *   signals own        crashes into its own handler, set after MPI_Init: status 5
 *   signals work [N]   works in regions with N threads, 1 at first, until there is a file "stop";
 *                      a file "pid.RANK" says that it has come to that
 *   signals late NAME  waits for its end; but for rank 0 SIGTERM waits until there is a file NAME
 *
 * In what `work` does each visit of "outer" holds three of "inner" and one of one of 1000 others.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int rank;

static void call(const char *function, const char *name)
{
    int (*found)(const char *);
    *(void **)&found = dlsym(RTLD_DEFAULT, function);
    if (found)
        found(name);
}

/* ---- seeing ---- */

static const struct {
    int number;
    const char *name;
} seen[] = {{SIGTERM, "TERM"}, {SIGINT, "INT"},   {SIGXCPU, "XCPU"}, {SIGQUIT, "QUIT"},
            {SIGSEGV, "SEGV"}, {SIGBUS, "BUS"},   {SIGFPE, "FPE"},   {SIGILL, "ILL"},
            {SIGABRT, "ABRT"}, {SIGUSR1, "USR1"}, {SIGUSR2, "USR2"}};

/* Whose a disposition is: the library's name up to the first dot, or the program's. */
static void print_owner(int number)
{
    struct sigaction action;
    Dl_info info = {.dli_fname = NULL};
    void *address;
    sigaction(number, NULL, &action);
    memcpy(&address, &action.sa_handler, sizeof address);
    if (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN) {
        printf("%s", action.sa_handler == SIG_DFL ? "default" : "ignored");
        return;
    }
    dladdr(address, &info);
    const char *name = info.dli_fname ? info.dli_fname : "unknown", *slash = strrchr(name, '/');
    name = slash ? slash + 1 : name;
    printf("%.*s", (int)strcspn(name, "."), name);
}

static void print_owners(const char *when)
{
    printf("%s:", when);
    for (size_t i = 0; i < sizeof seen / sizeof *seen; i++) {
        printf(" %s ", seen[i].name);
        print_owner(seen[i].number);
    }
    printf("\n");
}

static struct sigaction former;
static volatile sig_atomic_t n_calls, value;

static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)number, (void)context;
    n_calls++;
    value = info->si_value.sival_int;
}

/* Calls whatever was there before, as many do. */
static void on_signal_chained(int number)
{
    n_calls++;
    if (former.sa_flags & SA_SIGINFO)
        former.sa_sigaction(number, NULL, NULL);
    else if (former.sa_handler != SIG_DFL && former.sa_handler != SIG_IGN)
        former.sa_handler(number);
}

static void set(int number, int chained)
{
    struct sigaction action = {.sa_flags = chained ? 0 : SA_SIGINFO};
    if (chained)
        action.sa_handler = on_signal_chained;
    else
        action.sa_sigaction = on_signal;
    sigaction(number, &action, &former);
}

static void send_and_print(const char *what, int number)
{
    n_calls = 0;
    value = 0;
    sigqueue(getpid(), number, (union sigval){.sival_int = 42});
    printf("%s: called %d with %d\n", what, (int)n_calls, (int)value);
}

static void print_end_of_child(const char *what, int number)
{
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        call("rkc_begin", "in the child");
        raise(number);
        _exit(1);
    }
    waitpid(child, &status, 0);
    printf("%s: %s %d\n", what, WIFSIGNALED(status) ? "signal" : "status",
           WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

static int see(int argc, char **argv)
{
    signal(SIGINT, SIG_IGN);
    set(SIGQUIT, 0);
    print_owners("before");
    MPI_Init(&argc, &argv);
    print_owners("between");
    send_and_print("a handler from before", SIGQUIT);
    print_end_of_child("a child and SIGTERM", SIGTERM);
    print_end_of_child("a child and SIGINT", SIGINT);
    set(SIGXCPU, 0);
    send_and_print("a handler from later", SIGXCPU);
    set(SIGTERM, 1);
    send_and_print("a handler that calls the former one", SIGTERM);
    sigaction(SIGTERM, &former, NULL);
    call("rkc_begin", "after all");
    call("rkc_end", "after all");
    MPI_Finalize();
    print_owners("after");
    print_end_of_child("a child and SIGTERM, at the end", SIGTERM);
    return 0;
}

/* ---- dying ---- */

static void *sleep_in_thread(void *arg)
{
    for (;;)
        pause();
    return arg;
}

__attribute__((noinline)) static void write_to(uintptr_t address)
{
    *(volatile int *)address = 1;
}

static void write_behind_file(void)
{
    char name[] = "bus.XXXXXX";
    int fd = mkstemp(name);
    unlink(name);
    write_to((uintptr_t)mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, fd, 0));
}

static void kill_thread(const char *name)
{
    pthread_t thread;
    pthread_create(&thread, NULL, sleep_in_thread, NULL);
    for (size_t i = 0; i < sizeof seen / sizeof *seen; i++)
        if (strcmp(seen[i].name, name) == 0)
            pthread_kill(thread, seen[i].number);
    pthread_join(thread, NULL);
}

static void die(const char *how)
{
    static volatile int zero;
    if (strcmp(how, "segv") == 0)
        write_to(16);
    if (strcmp(how, "bus") == 0)
        write_behind_file();
    if (strcmp(how, "fpe") == 0)
        zero = 100 / zero;
    if (strcmp(how, "ill") == 0)
        __builtin_trap();
    if (strcmp(how, "abort") == 0)
        abort();
    kill_thread(how);
}

enum { CRASH_ADDRESS = 24 };

static void on_crash(int number, siginfo_t *info, void *context)
{
    (void)context;
    _exit(number == SIGSEGV && (uintptr_t)info->si_addr == CRASH_ADDRESS &&
                  info->si_code == SEGV_MAPERR
              ? 5
              : 6);
}

static void die_in_own_handler(void)
{
    struct sigaction action = {.sa_sigaction = on_crash, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, NULL);
    write_to(CRASH_ADDRESS);
}

/* ---- working ---- */

static volatile int is_stopped;

static void visit(const char *name)
{
    call("rkc_begin", name);
    call("rkc_end", name);
}

static void *work(void *arg)
{
    unsigned n = 0;
    char name[32];
    (void)arg;
    while (!is_stopped) {
        call("rkc_begin", "outer");
        for (int i = 0; i < 3; i++)
            visit("inner");
        snprintf(name, sizeof name, "other %u", n++ % 1000);
        visit(name);
        call("rkc_end", "outer");
    }
    return NULL;
}

/* All have come to where they may be ended. */
static void show_pid(void)
{
    char name[32];
    MPI_Barrier(MPI_COMM_WORLD);
    snprintf(name, sizeof name, "pid.%d", rank);
    FILE *file = fopen(name, "w");
    if (file) {
        fprintf(file, "%d\n", (int)getpid());
        fclose(file);
    }
}

static void work_in_threads(int n)
{
    pthread_t thread[64];
    n = n < 1 ? 1 : n > 64 ? 64 : n;
    for (int i = 0; i < n; i++)
        pthread_create(&thread[i], NULL, work, NULL);
    usleep(200000);
    show_pid();
    while (access("stop", F_OK) != 0)
        usleep(10000);
    is_stopped = 1;
    for (int i = 0; i < n; i++)
        pthread_join(thread[i], NULL);
}

/* In threads that MPI makes as well. */
static void block_term(int how)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    pthread_sigmask(how, &set, NULL);
}

static void come_late(const char *name)
{
    show_pid();
    while (rank > 0 && access(name, F_OK) != 0)
        usleep(10000);
    block_term(SIG_UNBLOCK);
    for (;;)
        pause();
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "", *how = argc > 2 ? argv[2] : "";
    if (strcmp(way, "see") == 0)
        return see(argc, argv);
    if (strcmp(way, "late") == 0)
        block_term(SIG_BLOCK);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    visit("work");
    call("rkc_begin", "the end");
    if (strcmp(way, "die") == 0)
        die(how);
    if (strcmp(way, "own") == 0)
        die_in_own_handler();
    if (strcmp(way, "work") == 0)
        work_in_threads(atoi(how));
    if (strcmp(way, "late") == 0)
        come_late(how);
    call("rkc_end", "the end");
    MPI_Finalize();
    printf("rank %d done\n", rank);
    return 0;
}
