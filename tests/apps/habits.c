/* A program that would notice, or hinder, a process that is started for it; for the shell tests.
 *
 * Each rank takes part in one MPI_Allreduce and says what it has noticed; by its status where it
 * cannot print. habits WAY:
 *   wait         it waits for any child all the time and counts SIGCHLD; it has one child of its own
 *   closed       it has closed stdin, stdout and stderr, in whose places its data files are
 *   no-exec      it may not execute programs any more
 *   no-process   it may have no further processes
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t signals;
static atomic_int children, over;
static int rank;

static void count(int number)
{
    (void)number;
    signals++;
}

static void *wait_for_any(void *unused)
{
    while (!atomic_load(&over)) {
        if (waitpid(-1, NULL, 0) > 0)
            atomic_fetch_add(&children, 1);
        usleep(100);
    }
    return unused;
}

/* Refuse a system call from now on, if its first argument has one of the bits. */
static void refuse(unsigned call, unsigned bits, unsigned error)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        puts("cannot refuse");
}

/* Open a data file in the place of each of stdin, stdout and stderr. */
static void take_places(void)
{
    for (int fd = 0; fd < 3; fd++)
        close(fd);
    for (int fd = 0; fd < 3; fd++) {
        char name[64];
        snprintf(name, sizeof name, "data-%d-%d", rank, fd);
        if (open(name, O_RDWR | O_CREAT | O_TRUNC, 0600) != fd || write(fd, "mine", 4) != 4)
            _exit(4);
    }
}

/* Whether the data files are as they were, and their positions. */
static int have_places(void)
{
    for (int fd = 0; fd < 3; fd++) {
        char data[8];
        if (lseek(fd, 0, SEEK_CUR) != 4 || pread(fd, data, sizeof data, 0) != 4 ||
            memcmp(data, "mine", 4) != 0)
            return 0;
    }
    return 1;
}

static void begin(const char *way, pthread_t *thread)
{
    if (strcmp(way, "wait") == 0) {
        signal(SIGCHLD, count);
        if (fork() == 0)
            _exit(0);
        pthread_create(thread, NULL, wait_for_any, NULL);
    }
    if (strcmp(way, "no-exec") == 0)
        refuse(SYS_execve, ~0u, EPERM);
    if (strcmp(way, "no-process") == 0)
        refuse(SYS_clone, CLONE_VFORK, EAGAIN);
}

int main(int argc, char **argv)
{
    int level, sum = 0, one = 1;
    pthread_t thread;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const char *way = argc > 1 ? argv[1] : "";
    begin(way, &thread);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (strcmp(way, "closed") == 0)
        take_places();
    MPI_Finalize();
    if (strcmp(way, "closed") == 0)
        _exit(have_places() ? 0 : 5);
    if (strcmp(way, "wait") == 0) {
        usleep(200000); /* for what comes late */
        atomic_store(&over, 1);
        pthread_join(thread, NULL);
    }
    printf("sum %d, %d children, %d signals\n", sum, atomic_load(&children), (int)signals);
    return 0;
}
