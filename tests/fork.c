/* fork.c - children of a process that records, however they are made, record and write nothing. */
#include "autoconf.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rankclock/rankclock.h>

#include "runtime.h"
#include "tree.h"

static char folder[] = "/tmp/rankclock-fork.XXXXXX";

static int files_in(const char *path)
{
    DIR *dir = opendir(path);
    int n = 0;
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        n += entry->d_name[0] != '.';
    if (dir)
        closedir(dir);
    return n;
}

static void *regions_of_a_thread(void *arg)
{
    RKC_BEGIN("child");
    RKC_END("child");
    return arg;
}

/* All that a program does with regions. 0 when the child is off everywhere. */
static int live(struct rkc_region *known)
{
    pthread_t thread;
    int bad = rkc_private_recording() != 0;
    rkc_region_end(known); /* what the parent had open */
    rkc_region_begin(known);
    rkc_region_end(known);
    for (int i = 0; i < 1000; i++) {
        RKC_SCOPE("child");
        bad += rkc_begin("child by name") != RKC_EOFF;
        bad += rkc_end("child by name") != RKC_EOFF;
    }
    struct rkc_region *region = rkc_region_get("child");
    bad += !region || rkc_region_mark(region, RKC_WAIT) != 0 || rkc_region_every(known, 5) != 0;
    rkc_region_begin(region);
    rkc_region_end(region);
    rkc_pause();
    rkc_resume();
    bad += rkc_private_recording() != 0;
    if (pthread_create(&thread, NULL, regions_of_a_thread, NULL) == 0)
        pthread_join(thread, NULL);
    return bad;
}

/* Wait for a child; 0 when it exited with 0. What it said goes to stderr. */
static int status_of(pid_t child)
{
    int status = -1;
    if (child < 0 || waitpid(child, &status, 0) != child)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void test_fork(struct rkc_region *open)
{
    int before = files_in(folder);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(30);
        int bad = live(open);
        pid_t grandchild = fork();
        if (grandchild == 0)
            exit(live(open));
        exit(bad + status_of(grandchild)); /* runs what is to be done at exit */
    }
    is_int(status_of(child), 0, "a forked child is off, and its children are");
    is_int(files_in(folder), before, "and write nothing at exit");
}

static void test_clone(struct rkc_region *open)
{
    int before = files_in(folder);
    fflush(NULL);
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
        alarm(30);
        int bad = rkc_private_recording();
        for (int i = 0; i < 1000; i++) {
            rkc_region_begin(open);
            rkc_region_end(open);
            bad += rkc_begin("child") != RKC_EOFF;
        }
        exit(bad);
    }
    is_int(status_of(child), 0, "so is one that the C library knows nothing of");
    is_int(files_in(folder), before, "which writes nothing either");
}

static void test_vfork(void)
{
    pid_t child = vfork();
    if (child == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    is_int(status_of(child), 0, "vfork and exec go their way");
    is_int(rkc_private_recording(), 1, "and leave the parent recording");
}

static _Atomic int enough;

/* Takes the lock as often as it can. */
static void *hold_locks(void *arg)
{
    char name[64];
    for (int i = 0; !atomic_load(&enough); i++) {
        snprintf(name, sizeof name, "lock %p %d", (void *)pthread_self(), i % 1000);
        rkc_begin(name);
        rkc_end(name);
        rkc_resume();
    }
    return arg;
}

static void test_fork_in_storm(struct rkc_region *open)
{
    enum { THREADS = 4, FORKS = 200 };
    pthread_t thread[THREADS];
    int bad = 0;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, hold_locks, NULL);
    fflush(NULL);
    for (int i = 0; i < FORKS && !bad; i++) {
        RKC_BEGIN("storm");
        pid_t child = fork();
        if (child == 0) {
            alarm(30);
            rkc_region_begin(open);
            rkc_region_end(open);
            _exit(rkc_region_get("child") == NULL || rkc_begin("child") != RKC_EOFF);
        }
        bad = status_of(child);
        RKC_END("storm");
    }
    atomic_store(&enough, 1);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    is_int(bad, 0, "no child waits for a lock that a thread of the parent held");
}

static void check(void)
{
    struct rkc_view view;
    struct rkc_local local;
    rkc_view_own(&view, rkc_private_image());
    if (rkc_local_collect(&local, &view, 0) != 0)
        exit(1);
    is_int(local_visits(&local, "open"), 1, "the parent's regions are as it left them");
    is_int(local_value(&local, "open", RKC_METRIC_UNCLOSED), RKC_ABSENT, "ended by itself");
    is_int(local_visits(&local, "open/storm"), 200, "with all its visits");
    int64_t child = 0;
    for (uint32_t i = 0; i < local.paths.n_regions; i++)
        child += strncmp(local.paths.regions[i].name, "child", 5) == 0;
    is_int(child, 0, "and nothing of any child's");
    rkc_local_free(&local);
}

int main(void)
{
    char output[64];
    if (!mkdtemp(folder))
        return 1;
    snprintf(output, sizeof output, "%s/fork.h5", folder);
    setenv("RANKCLOCK_OUTPUT", output, 1);
    setenv("RANKCLOCK_WRITER", "/nowhere", 1);
    setenv("RANKCLOCK_SPOOL", folder,
           1); /* a map that is shared with children unless told not to */
    struct rkc_region *open = rkc_region_get("open");
    rkc_region_begin(open);
    is_int(files_in(folder), 1, "the image is behind a file");
    test_fork(open);
    test_clone(open);
    test_vfork();
    test_fork_in_storm(open);
    rkc_region_end(open);
    rkc_private_stop(RKC_STATE_FINALIZED);
    check();
    rkc_private_done();
    is_int(rmdir(folder), 0, "no file is left behind");
    return done_testing();
}
