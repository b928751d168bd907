/* spawn.c - two clones, one inside the other, that borrow the program's memory while it stands
 * still. The middle one sends no signal when it ends and ends at once, so that the new
 * process is nobody's child. Both make system calls alone: what the program or another tool
 * has put before the C library's functions would run in the program's memory. */
#include "autoconf.h"

#include "sink/spawn.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rankclock/status.h>

#include "thread.h"

enum {
    STACK_BYTES = 32 * 1024,
    SIGNALS = 64,
    OLD_KERNEL_FILES = 4096, /* closed one by one where there is no close_range */
};

/* Stacks that a sanitizer does not know of. */
#if defined(__has_attribute)
#if __has_attribute(no_sanitize_address)
#define FOREIGN_STACK __attribute__((no_sanitize_address))
#endif
#endif
#ifndef FOREIGN_STACK
#define FOREIGN_STACK
#endif

typedef int clone_fn(int (*run)(void *), void *stack, int flags, void *arg, ...);

struct start {
    char *const *argv, *const *envp;
    clone_fn *clone;
    int in, out; /* become stdin, and stdout and stderr; both above these */
    char *stack; /* of the inner process: its upper end */
    volatile pid_t pid;
    volatile int error;
};

extern char **environ;

static int is_private(const char *variable)
{
    static const char *const prefixes[] = {"LD_PRELOAD=", "RANKCLOCK_", "OMPI_",
                                           "PMI_",        "PMIX_",      "HDF5_DRIVER",
                                           "HDF5_VOL_CONNECTOR="};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(variable, prefixes[i], strlen(prefixes[i])) == 0)
            return 1;
    return 0;
}

char **rkc_spawn_environment(void)
{
    size_t n = 0;
    while (environ && environ[n])
        n++;
    char **kept = malloc((n + 1) * sizeof *kept);
    if (!kept)
        return NULL;
    size_t n_kept = 0;
    for (size_t i = 0; i < n; i++)
        if (!is_private(environ[i]))
            kept[n_kept++] = environ[i];
    kept[n_kept] = NULL;
    return kept;
}

/* An ignored signal would stay so through the exec. */
FOREIGN_STACK static void reset_signals(void)
{
    char standard[64] = {0}; /* the kernel's struct sigaction: SIG_DFL, no flags, empty mask */
    uint64_t none = 0;
    for (long number = 1; number <= SIGNALS; number++)
        syscall(SYS_rt_sigaction, number, standard, NULL, sizeof none);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof none);
}

FOREIGN_STACK static void arrange_files(const struct start *start)
{
    syscall(SYS_dup3, start->in, STDIN_FILENO, 0);
    syscall(SYS_dup3, start->out, STDOUT_FILENO, 0);
    syscall(SYS_dup3, start->out, STDERR_FILENO, 0);
#ifdef SYS_close_range
    if (syscall(SYS_close_range, STDERR_FILENO + 1, UINT_MAX, 0) == 0)
        return;
#endif
    for (long fd = STDERR_FILENO + 1; fd < OLD_KERNEL_FILES; fd++)
        syscall(SYS_close, fd);
}

FOREIGN_STACK static int run_inner(void *arg)
{
    struct start *start = arg;
    start->pid = (pid_t)syscall(SYS_getpid);
    arrange_files(start);
    reset_signals();
    syscall(SYS_execve, start->argv[0], start->argv, start->envp);
    start->error = errno;
    return 127; /* which clone makes an exit of this process alone */
}

FOREIGN_STACK static int run_middle(void *arg)
{
    struct start *start = arg;
    if (start->clone(run_inner, start->stack, CLONE_VM | CLONE_VFORK | SIGCHLD, start) < 0)
        start->error = errno;
    return 0;
}

/* The C library's own: what the thread sanitizer of clang has put before it takes the new process,
 * which has the program's memory, for one that has a copy of it. */
static clone_fn *find_clone(void)
{
    clone_fn *found = NULL;
    void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    if (libc) {
        *(void **)&found = dlsym(libc, "clone");
        dlclose(libc); /* loaded it stays */
    }
    return found ? found : clone;
}

/* Start the process, having its files. 0 or an errno. */
static int start_process(struct start *start)
{
    char *stacks = mmap(NULL, 2 * STACK_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stacks == MAP_FAILED)
        return errno;
    start->stack = stacks + STACK_BYTES;
    start->error = 0;
    start->clone = find_clone();

    uint64_t mask;
    rkc_thread_signals_block(&mask);
    int middle = start->clone(run_middle, stacks + 2 * STACK_BYTES, CLONE_VM | CLONE_VFORK, start);
    if (middle < 0)
        start->error = errno;
    else
        while (syscall(SYS_wait4, middle, NULL, __WCLONE, NULL) < 0 && errno == EINTR) {
        }
    rkc_thread_signals_restore(&mask);
    munmap(stacks, 2 * STACK_BYTES);
    return start->error;
}

/* Move a descriptor out of the way of stdin, stdout and stderr. */
static int move_up(int *fd)
{
    if (*fd > STDERR_FILENO)
        return 0;
    int moved = fcntl(*fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (moved < 0)
        return RKC_EWRITER;
    close(*fd);
    *fd = moved;
    return 0;
}

static void close_all(const int *fds, int n)
{
    int error = errno;
    for (int i = 0; i < n; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    errno = error;
}

int rkc_spawn(char *const argv[], char *const envp[], pid_t *pid, int *to, int *from)
{
    int fds[4] = {-1, -1, -1, -1}; /* ours, its stdin; ours, its stdout */
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0 ||
        pipe2(fds + 2, O_CLOEXEC) < 0)
        goto failed;
    for (int i = 0; i < 4; i++)
        if (move_up(&fds[i]) != 0)
            goto failed;

    struct start start = {.argv = argv, .envp = envp, .in = fds[1], .out = fds[3]};
    errno = start_process(&start);
    if (errno != 0)
        goto failed;
    close(fds[1]);
    close(fds[3]);
    *pid = start.pid;
    *to = fds[0];
    *from = fds[2];
    return 0;

failed:
    close_all(fds, 4);
    return RKC_EWRITER;
}
