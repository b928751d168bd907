/* The measured program does not notice that a process was started, and the process starts out
 * clean, whatever the program has done to its files and signals. */
#include "autoconf.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rankclock/status.h>

#include "sink/spawn.h"
#include "tap.h"

static volatile sig_atomic_t children_seen;

static void count_child(int number)
{
    (void)number;
    children_seen++;
}

static int open_files(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int n = 0;
    while (folder && readdir(folder))
        n++;
    if (folder)
        closedir(folder);
    return n;
}

/* Run a script by the shell; what it prints, up to its end. */
static int run_script(const char *script, char *const envp[], const char *input, char *output,
                      size_t size)
{
    char *argv[] = {(char[]){"/bin/sh"}, (char[]){"-c"}, strdup(script), NULL};
    int to, from;
    pid_t pid;
    int status = rkc_spawn(argv, envp, &pid, &to, &from);
    free(argv[2]);
    output[0] = '\0';
    if (status != 0)
        return status;
    send(to, input, strlen(input), MSG_NOSIGNAL);
    close(to);
    size_t used = 0;
    ssize_t n;
    while (used < size - 1 && (n = read(from, output + used, size - 1 - used)) > 0)
        used += (size_t)n;
    output[used] = '\0';
    close(from);
    return 0;
}

static void test_unseen(void)
{
    char output[256];
    char *none[] = {NULL};
    signal(SIGCHLD, count_child);
    is_int(run_script("cat; echo there", none, "here ", output, sizeof output), 0, "it starts");
    is_str(output, "here there\n", "its stdin and stdout are ours");
    is_int(waitpid(-1, NULL, 0), -1, "the program has no child to wait for");
    is_int(errno, ECHILD, "wait says that there is none");
    usleep(20000);
    is_int(children_seen, 0, "no SIGCHLD comes, not even after its end");
}

static void test_process(void)
{
    char *argv[] = {(char[]){"/bin/sh"}, (char[]){"-c"}, (char[]){"exec echo $$"}, NULL};
    char *none[] = {NULL}, line[32] = "";
    int to, from;
    pid_t pid = 0;
    is_int(rkc_spawn(argv, none, &pid, &to, &from), 0, "another one starts");
    if (read(from, line, sizeof line - 1) < 0)
        line[0] = '\0';
    is_int(atoi(line), pid, "its process id is told");
    close(to);
    close(from);
}

static void test_refused(void)
{
    char *argv[] = {(char[]){"/nowhere/rankclock"}, NULL};
    char *none[] = {NULL};
    int to = -2, from = -2;
    pid_t pid = -2;
    int before = open_files();
    is_int(rkc_spawn(argv, none, &pid, &to, &from), RKC_EWRITER, "a program that is not there fails");
    is_int(errno, ENOENT, "the reason is that of execve");
    is_int(to == -2 && from == -2 && pid == -2, 1, "outputs are untouched on failure");
    is_int(open_files(), before, "a failure leaves no file open");
    is_int(waitpid(-1, NULL, 0) == -1 && errno == ECHILD && children_seen == 0, 1,
           "a failure leaves no child");
    char *folder[] = {(char[]){"/tmp"}, NULL};
    is_int(rkc_spawn(folder, none, &pid, &to, &from), RKC_EWRITER, "a folder is refused");
    is_int(errno, EACCES, "as execve refuses it");
}

static void test_signals(void)
{
    char output[256];
    char *none[] = {NULL};
    sigset_t blocked, now;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    run_script("while read -r name value; do case $name in Sig[BI]*) echo $name$value; esac; done "
               "< /proc/self/status",
               none, "", output, sizeof output);
    is_str(output, "SigBlk:0000000000000000\nSigIgn:0000000000000000\n",
           "it blocks and ignores nothing");
    sigprocmask(SIG_SETMASK, NULL, &now);
    is_int(sigismember(&now, SIGUSR1) == 1 && sigismember(&now, SIGTERM) == 0, 1,
           "the program's mask is as it was");
    is_int(signal(SIGTERM, SIG_DFL) == SIG_IGN && signal(SIGPIPE, SIG_DFL) == SIG_IGN, 1,
           "so are its dispositions");
    sigprocmask(SIG_UNBLOCK, &blocked, NULL);
}

static void test_files(void)
{
    char output[256];
    char *none[] = {NULL};
    int secret = open("/dev/null", O_RDONLY); /* without close-on-exec */
    run_script("ls /proc/self/fd | tr '\\n' ' '", none, "", output, sizeof output);
    is_str(output, "0 1 2 3 ", "no file of the program stays open in it (3 is the folder read)");
    close(secret);

    fflush(stdout);
    int saved[3];
    for (int fd = 0; fd < 3; fd++) {
        saved[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 10);
        close(fd);
    }
    char closed[256];
    int status = run_script("cat; echo out; echo err >&2", none, "in ", closed, sizeof closed);
    int to, from;
    pid_t pid;
    char *argv[] = {(char[]){"/bin/true"}, NULL};
    int again = rkc_spawn(argv, none, &pid, &to, &from);
    int low = fcntl(0, F_GETFD) >= 0 || fcntl(1, F_GETFD) >= 0 || fcntl(2, F_GETFD) >= 0;
    for (int fd = 0; fd < 3; fd++) {
        if (saved[fd] < 0)
            continue;
        dup2(saved[fd], fd);
        close(saved[fd]);
    }
    is_int(status, 0, "it starts when the program has closed 0, 1 and 2");
    is_str(closed, "in out\nerr\n", "and has all three");
    is_int(again == 0 && !low, 1, "and the program's 0, 1 and 2 stay closed");
    close(to);
    close(from);
}

static void test_environment(void)
{
    char output[256];
    setenv("LD_PRELOAD", "", 1);
    setenv("RANKCLOCK_OUTPUT", "x.h5", 1);
    setenv("OMPI_COMM_WORLD_RANK", "0", 1);
    setenv("PMI_RANK", "0", 1);
    setenv("PMIX_RANK", "0", 1);
    setenv("RANKCLOCKS", "kept", 1);
    setenv("HDF5_USE_FILE_LOCKING", "kept", 1);
    char **kept = rkc_spawn_environment();
    run_script("env | grep -cE '^(LD_PRELOAD|RANKCLOCK_.*|OMPI_.*|PMIX?_.*)='", kept, "", output,
               sizeof output);
    is_str(output, "0\n", "nothing that is for the program alone is passed on");
    run_script("echo $RANKCLOCKS $HDF5_USE_FILE_LOCKING", kept, "", output, sizeof output);
    is_str(output, "kept kept\n", "everything else is");
    setenv("HDF5_DRIVER", "mpio", 1);
    setenv("HDF5_DRIVER_CONFIG", "x", 1);
    setenv("HDF5_VOL_CONNECTOR", "async", 1);
    free(kept);
    kept = rkc_spawn_environment();
    run_script("env | grep -c ^HDF5_", kept, "", output, sizeof output);
    is_str(output, "1\n", "nor how the program's HDF5 keeps its files");
    is_str(getenv("RANKCLOCK_OUTPUT"), "x.h5", "the program's own environment is untouched");
    free(kept);
}

static void test_many(void)
{
    char output[16];
    char *none[] = {NULL};
    int before = open_files(), good = 0;
    for (int i = 0; i < 100; i++)
        good += run_script("echo x", none, "", output, sizeof output) == 0 && output[0] == 'x';
    is_int(good, 100, "a hundred can be started one after the other");
    is_int(open_files(), before, "and leave no file open");
    is_int(waitpid(-1, NULL, __WALL) == -1 && errno == ECHILD, 1, "and no zombie");
    is_int(children_seen, 0, "and no SIGCHLD");
}

int main(void)
{
    test_unseen();
    test_process();
    test_refused();
    test_signals();
    test_files();
    test_environment();
    test_many();
    return done_testing();
}
