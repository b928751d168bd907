/* guard.c - HDF5 crashes on some files made to harm it; a child process takes the blow. */
#include "autoconf.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools.h"

static int is_crash(int signal_number)
{
    return signal_number == SIGSEGV || signal_number == SIGBUS || signal_number == SIGABRT ||
           signal_number == SIGFPE || signal_number == SIGILL;
}

/* End as the child did. */
static void follow(const char *tool, int status)
{
    if (WIFEXITED(status))
        _exit(WEXITSTATUS(status));
    int signal_number = WTERMSIG(status);
    if (is_crash(signal_number)) {
        rkc_tool_error("%s: its input is damaged or hostile: reading it ended by signal %d", tool,
                       signal_number);
        _exit(RKC_EXIT_USAGE);
    }
    signal(signal_number, SIG_DFL);
    raise(signal_number);
    _exit(128 + signal_number);
}

void rkc_tool_guard(const char *tool)
{
    pid_t parent = getpid(), child = fork();
    if (child < 0)
        return; /* as good as we can */
    if (child == 0) {
        struct rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent)
            _exit(RKC_EXIT_FAILED);
        return;
    }
    /* The terminal sends these to both, and the child decides. */
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            _exit(RKC_EXIT_FAILED);
    follow(tool, status);
}
