/* child.c - whether a signal was meant for us alone is asked of a second child, the sentinel: what
 * it was sent too was sent to the whole group, so that the command has it already. */
#include "autoconf.h"

#include "child.h"
#include "tools.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    GROUP_MS = 100, /* time within which a signal to a group reaches all of it */
    SETTLE_MS = 20, /* one that came twice, directly and by the group, counts once */
    CAPTURE_S = 10,
    EXIT_CANNOT_RUN = 126,
    EXIT_NOT_FOUND = 127,
};

static const int passed_on[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};

/* The signals to pass on, without those that we are told to ignore. */
static void pass_set(sigset_t *set)
{
    sigemptyset(set);
    for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; i++) {
        struct sigaction action;
        if (sigaction(passed_on[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(set, passed_on[i]);
    }
}

/* Write the number of each signal received to `to`, until killed. */
__attribute__((noreturn)) static void be_sentinel(const sigset_t *set, int to)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        int number = sigwaitinfo(set, NULL);
        unsigned char byte = (unsigned char)number;
        if (number > 0 && write(to, &byte, 1) != 1)
            _exit(0);
    }
}

struct sentinel {
    pid_t pid; /* -1: none, and every signal is passed on */
    int from;
    unsigned seen[NSIG];
};

static void start_sentinel(struct sentinel *sentinel, const sigset_t *set)
{
    int ends[2];
    *sentinel = (struct sentinel){-1, -1, {0}};
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return;
    sentinel->pid = fork();
    if (sentinel->pid == 0)
        be_sentinel(set, ends[1]);
    close(ends[1]);
    sentinel->from = ends[0];
}

static void stop_sentinel(struct sentinel *sentinel)
{
    if (sentinel->pid > 0) {
        kill(sentinel->pid, SIGKILL);
        waitpid(sentinel->pid, NULL, 0);
    }
    if (sentinel->from >= 0)
        close(sentinel->from);
}

/* Whether the sentinel was sent the signal as well. */
static int group_has(struct sentinel *sentinel, int number)
{
    struct pollfd ready = {sentinel->from, POLLIN, 0};
    while (!sentinel->seen[number]) {
        unsigned char byte;
        if (poll(&ready, 1, GROUP_MS) <= 0 || read(sentinel->from, &byte, 1) != 1)
            return 0;
        if (byte < NSIG)
            sentinel->seen[byte]++;
    }
    sentinel->seen[number]--;
    return 1;
}

static void pass_on(struct sentinel *sentinel, pid_t child, int number)
{
    if (!group_has(sentinel, number))
        kill(child, number);

    struct timespec settle = {0, SETTLE_MS * 1000000L};
    sigset_t same;
    sigemptyset(&same);
    sigaddset(&same, number);
    while (sigtimedwait(&same, NULL, &settle) == number)
        sentinel->seen[number] = 0;
}

static int wait_for(pid_t child, struct sentinel *sentinel, const sigset_t *set)
{
    sigset_t all = *set;
    sigaddset(&all, SIGCHLD);
    for (;;) {
        int status;
        if (waitpid(child, &status, WNOHANG) == child) {
            if (WIFSIGNALED(status))
                return 128 + WTERMSIG(status);
            return WEXITSTATUS(status);
        }
        int number = sigwaitinfo(&all, NULL);
        if (number > 0 && number != SIGCHLD)
            pass_on(sentinel, child, number);
    }
}

/* In the child: become the command, or send errno. */
__attribute__((noreturn)) static void become(char *const argv[], const sigset_t *mask, int failed)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    sigprocmask(SIG_SETMASK, mask, NULL);
    execvp(argv[0], argv);
    int error = errno;
    ssize_t sent = write(failed, &error, sizeof error);
    _exit(sent == sizeof error ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN);
}

/* Start the command; 0, or errno of what failed. */
static int start(char *const argv[], const sigset_t *mask, pid_t *child)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return errno;
    int error = 0;
    *child = fork();
    if (*child == 0)
        become(argv, mask, ends[1]);
    if (*child < 0)
        error = errno;
    close(ends[1]);
    if (*child > 0 && read(ends[0], &error, sizeof error) == sizeof error)
        waitpid(*child, NULL, 0);
    close(ends[0]);
    return error;
}

int rkc_child_run(char *const argv[], int *started)
{
    sigset_t set, blocked, mask;
    pass_set(&set);
    blocked = set;
    sigaddset(&blocked, SIGCHLD);
    struct sigaction usual = {.sa_handler = SIG_DFL}, before;
    sigaction(SIGCHLD, &usual, &before);
    sigprocmask(SIG_BLOCK, &blocked, &mask);

    struct sentinel sentinel;
    start_sentinel(&sentinel, &set);
    pid_t child = -1;
    int error = start(argv, &mask, &child);
    *started = error == 0;
    int status;
    if (error) {
        rkc_tool_error("cannot run %s: %s", argv[0], strerror(error));
        status = error == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
    } else {
        status = wait_for(child, &sentinel, &set);
    }
    stop_sentinel(&sentinel);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    sigaction(SIGCHLD, &before, NULL);
    return status;
}

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Read to the end, the deadline or the size; what does not fit is dropped. */
static void read_text(int from, char *text, size_t size)
{
    double deadline = seconds_now() + CAPTURE_S;
    size_t used = 0;
    text[0] = '\0';
    for (double left = CAPTURE_S; left > 0; left = deadline - seconds_now()) {
        struct pollfd ready = {from, POLLIN, 0};
        if (poll(&ready, 1, (int)(left * 1000) + 1) <= 0)
            continue;
        char chunk[4096];
        ssize_t got = read(from, chunk, sizeof chunk);
        if (got <= 0)
            return;
        size_t keep = (size_t)got < size - 1 - used ? (size_t)got : size - 1 - used;
        memcpy(text + used, chunk, keep);
        used += keep;
        text[used] = '\0';
    }
}

void rkc_child_capture(char *const argv[], char *text, size_t size)
{
    int ends[2];
    text[0] = '\0';
    if (pipe2(ends, O_CLOEXEC) != 0)
        return;
    pid_t child = fork();
    if (child == 0) {
        int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
        dup2(nothing, STDIN_FILENO);
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        execvp(argv[0], argv);
        _exit(EXIT_NOT_FOUND);
    }
    close(ends[1]);
    if (child > 0) {
        read_text(ends[0], text, size);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
    close(ends[0]);
}
