/* guard.c - HDF5 crashes on some files made to harm it; a child process takes the blow. */
#include "autoconf.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rankclock/reader.h>
#include <rankclock/status.h>

#include "tools.h"

static char *read_path; /* in the page */

static void share_page(void)
{
    void *page = mmap(NULL, PATH_MAX, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    read_path = page == MAP_FAILED ? NULL : page;
}

void rkc_guard_reads(const char *path)
{
    if (read_path)
        snprintf(read_path, PATH_MAX, "%s", path);
}

static int is_crash(int signal_number)
{
    return signal_number == SIGSEGV || signal_number == SIGBUS || signal_number == SIGABRT ||
           signal_number == SIGFPE || signal_number == SIGILL;
}

static void say_crash(const char *path, int signal_number)
{
    rkc_tool_error("%.*s is damaged or hostile: reading it ended by signal %d", PATH_MAX - 1, path,
                   signal_number);
}

static void leave_no_core(void)
{
    struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
}

static int wait_for(pid_t child, int *status)
{
    while (waitpid(child, status, 0) < 0)
        if (errno != EINTR)
            return RKC_EIO;
    return 0;
}

int rkc_guard_bears(const char *path)
{
    struct rkc_reader *reader;
    int status;
    pid_t child = fork();
    if (child == 0) {
        leave_no_core();
        rkc_reader_open(path, &reader, NULL, 0);
        _exit(0);
    }
    if (child < 0 || wait_for(child, &status) != 0 || !WIFSIGNALED(status))
        return 1;
    say_crash(path, WTERMSIG(status));
    return 0;
}

/* End as the child did. */
static void follow(int status)
{
    if (WIFEXITED(status))
        _exit(WEXITSTATUS(status));
    int signal_number = WTERMSIG(status);
    if (is_crash(signal_number)) {
        say_crash(read_path && *read_path ? read_path : "a file", signal_number);
        _exit(RKC_EXIT_USAGE);
    }
    signal(signal_number, SIG_DFL);
    raise(signal_number);
    _exit(128 + signal_number);
}

void rkc_tool_guard(void)
{
    share_page();
    pid_t parent = getpid(), child = fork();
    if (child < 0)
        return; /* as good as we can */
    if (child == 0) {
        leave_no_core();
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent)
            _exit(RKC_EXIT_FAILED);
        return;
    }
    /* The terminal sends these to both, and the child decides. */
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    int status;
    if (wait_for(child, &status) != 0)
        _exit(RKC_EXIT_FAILED);
    follow(status);
}
