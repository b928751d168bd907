/* spool.c - the file behind an image: which folders are taken and which not, what happens when
 * there is no room, and whose file is left alone. What the file systems say is made up where it
 * must be. */
#include "autoconf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rankclock/status.h>

#include "spool.h"
#include "tap.h"

enum { STEP = 64 << 10 };

static const uint64_t MIB = 1 << 20;
static char folder[] = "/tmp/rankclock-spool.XXXXXX";

/* ---- what the system says ---- */

static struct {
    const char *no_room;      /* a folder that has none */
    long type;                /* of all file systems, or 0 */
    uint64_t size, free;      /* in bytes, or 0 */
    uint64_t taken_by_others; /* from the second question on */
    int asked;
    int fallocate_error, pwrite_error;
    size_t pwrite_room;
} made_up;

static int answer(const char *path, struct statfs *fs)
{
    *fs = (struct statfs){.f_type = made_up.type ? made_up.type : 0x01021994,
                          .f_bsize = 4096,
                          .f_blocks = (made_up.size ? made_up.size : 1000 * MIB) / 4096};
    uint64_t free_bytes = made_up.free ? made_up.free : 1000 * MIB;
    if (path && made_up.no_room && strcmp(path, made_up.no_room) == 0)
        fs->f_type = 0x6969;
    if (made_up.asked++ > 0)
        free_bytes -= made_up.taken_by_others;
    fs->f_bavail = free_bytes / 4096;
    return 0;
}

int statfs(const char *path, struct statfs *fs)
{
    int status = (int)syscall(SYS_statfs, path, fs); /* so that there must be such a folder */
    made_up.asked = 0;
    return status == 0 ? answer(path, fs) : status;
}

int fstatfs(int fd, struct statfs *fs)
{
    (void)fd;
    return answer(NULL, fs);
}

int fallocate(int fd, int mode, off_t from, off_t bytes)
{
    if (!made_up.fallocate_error)
        return (int)syscall(SYS_fallocate, fd, mode, from, bytes);
    errno = made_up.fallocate_error;
    return -1;
}

ssize_t pwrite(int fd, const void *data, size_t bytes, off_t at)
{
    if (made_up.pwrite_error && (size_t)at + bytes > made_up.pwrite_room) {
        errno = made_up.pwrite_error;
        return -1;
    }
    return (ssize_t)syscall(SYS_pwrite64, fd, data, bytes, at);
}

static void as_it_is(void)
{
    memset(&made_up, 0, sizeof made_up);
}

/* ---- ways to try ---- */

static struct rkc_spool spool;
static char why[RKC_SPOOL_WHY_MAX];

/* Make a file; what was made before is gone. */
static int create(const char *setting)
{
    int fd = -1;
    int status = rkc_spool_create(&spool, setting, STEP, &fd, why);
    if (fd >= 0)
        close(fd);
    return status;
}

static int can_be_made(const char *setting)
{
    int status = create(setting);
    rkc_spool_remove(&spool);
    return status == 0;
}

static void refused(const char *setting, const char *word, const char *what)
{
    tap_ok(!can_be_made(setting) && strstr(why, word), what, __FILE__, __LINE__, "%s", why);
}

static int files_in(const char *path)
{
    char command[128];
    snprintf(command, sizeof command, "find %s -type f | wc -l", path);
    FILE *in = popen(command, "r");
    int n = -1;
    if (!in || fscanf(in, "%d", &n) != 1)
        n = -1;
    if (in)
        pclose(in);
    return n;
}

static off_t size_of(const char *path)
{
    struct stat file;
    return stat(path, &file) == 0 ? file.st_size : -1;
}

static int in_child(int (*test)(void))
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        _exit(test());
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* ---- which folder ---- */

static void test_candidates(void)
{
    const char *found[RKC_SPOOL_FOLDERS_MAX];
    setenv("SLURM_TMPDIR", "/job", 1);
    setenv("TMPDIR", folder, 1);
    is_int(rkc_spool_folders("auto", found), 3, "auto has three folders to try");
    is_str(found[0], "/dev/shm", "memory");
    is_str(found[1], "/job", "the job's folder");
    is_str(found[2], folder, "and the one for temporary files");
    setenv("TMPDIR", "here", 1);
    unsetenv("SLURM_TMPDIR");
    is_int(rkc_spool_folders("auto", found), 1, "none that is not set, or relative");
    is_int(rkc_spool_folders("/x", found), 1, "a folder that is named is the only one");
    is_int(rkc_spool_folders("", found), 0, "off is none");
}

static void test_order(void)
{
    setenv("TMPDIR", folder, 1);
    made_up.no_room = "/dev/shm";
    is_int(create("auto"), 0, "where the first cannot be used the next is");
    ok(strncmp(spool.name, folder, strlen(folder)) == 0, "the file is there");
    rkc_spool_remove(&spool);
    setenv("TMPDIR", "/nowhere/at/all", 1);
    ok(!can_be_made("auto") && strstr(why, "/dev/shm: ") && strstr(why, "; /nowhere/at/all: "),
       "where none can the reasons are told");
    as_it_is();
    unsetenv("TMPDIR");
}

static void test_types(void)
{
    static const long remote[] = {0x6969,     0x0bd00bd0, 0x47504653, 0x19830326,
                                  0x65735546, 0xff534d42, 0xfe534d42, 0x00c36400,
                                  0x5346414f, 0x01021997, 0x9123683e, 0x2fc12fc1};
    static const long local[] = {0x01021994, 0xef53, 0x58465342, 0x794c7630};
    int taken = 0;
    for (size_t i = 0; i < sizeof remote / sizeof *remote; i++) {
        made_up.type = remote[i];
        taken += can_be_made(folder);
    }
    is_int(taken, 0,
           "NFS, Lustre, GPFS, BeeGFS, FUSE, SMB, Ceph, AFS, 9P, btrfs and ZFS are not taken");
    refused(folder, "local", "which is said");
    for (size_t i = 0; i < sizeof local / sizeof *local; i++) {
        made_up.type = local[i];
        taken += can_be_made(folder);
    }
    is_int(taken, 4, "tmpfs, ext4, XFS and overlayfs are");
    as_it_is();
}

static int without_permission(void)
{
    char own[64];
    snprintf(own, sizeof own, "%s/own", folder);
    mkdir(own, 0700);
    if (setgid(65534) != 0 || setuid(65534) != 0)
        return 77;
    return !can_be_made(own) && strstr(why, "Permission denied") ? 0 : 1;
}

static void test_folders(void)
{
    char path[64];
    refused("/nowhere/at/all", "No such file", "a folder that is not there is not taken");
    snprintf(path, sizeof path, "%s/file", folder);
    close(open(path, O_CREAT | O_WRONLY, 0600));
    refused(path, "Not a directory", "nor is a file");
    unlink(path);
    chmod(folder, 0777);
    refused(folder, "sticky", "nor one that others can write, who could put another file there");
    chmod(folder, 0770);
    refused(folder, "sticky", "nor one that a group can");
    chmod(folder, 01777);
    ok(can_be_made(folder), "with the sticky bit they cannot");
    chmod(folder, 0700);
    char longest[RKC_SPOOL_NAME_MAX] = "";
    while (strlen(longest) < sizeof longest - 10)
        strcat(longest, *longest ? "/." : folder);
    refused(longest, "too long", "one with a name that is too long is not taken");
    if (geteuid() == 0)
        is_int(in_child(without_permission), 0, "one without permission is not taken");
    else
        skip(1, "only root can become another user");
}

/* ---- the file ---- */

static void test_file(void)
{
    struct stat file;
    char start[64];
    int before = dup(0);
    close(before);
    is_int(create(folder), 0, "a file is made");
    stat(spool.name, &file);
    is_int(file.st_mode & 07777, 0600, "for its owner alone");
    is_int((int64_t)file.st_size, STEP, "as large as wanted");
    ok((int64_t)file.st_blocks * 512 >= STEP, "without a hole");
    snprintf(start, sizeof start, "%s/rankclock-%d-", folder, (int)getpid());
    ok(strncmp(spool.name, start, strlen(start)) == 0 &&
           strcmp(spool.name + strlen(spool.name) - 5, ".rkci") == 0,
       "its name has the process");
    char first[sizeof spool.name];
    strcpy(first, spool.name);
    rkc_spool_remove(&spool);
    create(folder);
    ok(strcmp(first, spool.name) != 0, "and chance");
    int after = dup(0);
    close(after);
    is_int(after, before, "no number of an open file is kept");
    is_int(rkc_spool_extend(&spool, STEP, 3 * STEP), 0, "it grows all the same");
    is_int((int64_t)size_of(spool.name), 3 * STEP, "by what is wanted");
    rkc_spool_remove(&spool);
    mode_t mask = umask(0777);
    create(folder);
    umask(mask);
    stat(spool.name, &file);
    is_int(file.st_mode & 07777, 0600, "its owner can read it whatever the program lets others");
    rkc_spool_remove(&spool);
    is_int(files_in(folder), 0, "removed, it is gone");
    ok(!spool.name[0] && !spool.grows, "and known to be");
    rkc_spool_remove(&spool);
}

/* ---- room ---- */

static void test_room(void)
{
    made_up.size = 1000 * MIB;
    made_up.free = 50 * MIB + STEP;
    ok(can_be_made(folder), "of 1000 MiB all but a twentieth is taken");
    made_up.free -= 4096;
    refused(folder, "not enough room", "which is left to others");
    made_up.size = 64 * MIB;
    made_up.free = 16 * MIB + STEP;
    ok(can_be_made(folder), "of 64 MiB all but 16");
    made_up.free -= 4096;
    refused(folder, "not enough room", "which are left, too");
    made_up.size = made_up.free = 64 << 10;
    refused(folder, "not enough room", "a folder of 64 KiB, as containers have it, is not taken");
    as_it_is();

    made_up.free = 60 * MIB;
    create(folder);
    made_up.asked = 0;
    made_up.taken_by_others = 20 * MIB;
    is_int(rkc_spool_extend(&spool, STEP, 2 * STEP), ENOSPC,
           "where others take the rest at the same time it gives its part back");
    is_int((int64_t)size_of(spool.name), STEP, "and is as large as before");
    as_it_is();
    rkc_spool_remove(&spool);
}

static void test_errors(void)
{
    create(folder);
    made_up.fallocate_error = ENOSPC;
    is_int(rkc_spool_extend(&spool, STEP, 2 * STEP), ENOSPC, "a full file system is told");
    made_up.fallocate_error = EDQUOT;
    is_int(rkc_spool_extend(&spool, STEP, 2 * STEP), EDQUOT, "so is a quota");
    is_int((int64_t)size_of(spool.name), STEP, "the file keeps its size");
    made_up.fallocate_error = EOPNOTSUPP;
    struct stat file;
    is_int(rkc_spool_extend(&spool, STEP, 2 * STEP), 0,
           "where room cannot be reserved it is written");
    stat(spool.name, &file);
    ok(file.st_size == 2 * STEP && (int64_t)file.st_blocks * 512 >= 2 * STEP, "every byte of it");
    made_up.pwrite_error = EDQUOT;
    made_up.pwrite_room = 2 * STEP + 10000;
    is_int(rkc_spool_extend(&spool, 2 * STEP, 3 * STEP), EDQUOT, "as far as there is room");
    is_int((int64_t)size_of(spool.name), 2 * STEP, "or not at all");
    as_it_is();
    made_up.fallocate_error = EINTR;
    is_int(rkc_spool_extend(&spool, 2 * STEP, 3 * STEP), 0, "signals without end do not keep it");
    as_it_is();
    rkc_spool_remove(&spool);
    made_up.fallocate_error = EDQUOT;
    refused(folder, "quota", "without room for the first step there is no file");
    is_int(files_in(folder), 0, "and none is left");
    as_it_is();
}

/* ---- whose it is ---- */

static void test_others(void)
{
    char name[sizeof spool.name];
    create(folder);
    strcpy(name, spool.name);
    int mapped = open(name, O_RDONLY); /* as the image is: its inode is not given to another */
    unlink(name);
    is_int(rkc_spool_extend(&spool, STEP, 2 * STEP), ENOENT,
           "a file that somebody removed is not made again");
    FILE *other = fopen(name, "w");
    fputs("another's", other);
    fclose(other);
    is_int(rkc_spool_extend(&spool, STEP, 2 * STEP), ESTALE, "nor is one of its name taken for it");
    is_int((int64_t)size_of(name), 9, "which stays as it is");
    rkc_spool_remove(&spool);
    is_int((int64_t)size_of(name), 9, "also at the end");
    unlink(name);
    if (symlink("/etc/passwd", name) == 0) {
        strcpy(spool.name, name);
        is_int(rkc_spool_extend(&spool, STEP, 2 * STEP), ELOOP, "no link is followed");
        unlink(name);
    }
    close(mapped);
    spool.name[0] = 0;
}

static void test_rename(void)
{
    char wanted[256], first[sizeof spool.name];
    create(folder);
    rkc_spool_rename(&spool, "job/4711.0", "../x y", 12);
    snprintf(wanted, sizeof wanted, "%s/rankclock-job_4711.0._._x_y.rank-12.rkci", folder);
    is_str(spool.name, wanted, "once they are known its name has run, world and rank");
    is_int((int64_t)size_of(wanted), STEP, "and is the file's");
    is_int(rkc_spool_extend(&spool, STEP, 2 * STEP), 0, "which still grows");
    struct rkc_spool older = spool;
    create(folder);
    strcpy(first, spool.name);
    rkc_spool_rename(&spool, "job/4711.0", "../x y", 12);
    is_str(spool.name, first, "where that name is taken it keeps its own");
    is_int((int64_t)size_of(wanted), 2 * STEP, "and the other stays");
    rkc_spool_remove(&spool);
    rkc_spool_remove(&older);
    is_int(files_in(folder), 0, "both are removed by their names");
}

static int as_a_child(void)
{
    struct rkc_spool own;
    int fd;
    rkc_spool_rename(&spool, "run", "world", 0);
    rkc_spool_remove(&spool);
    if (rkc_spool_create(&own, folder, STEP, &fd, why) != 0)
        return 1;
    rkc_spool_remove_former(&own);
    rkc_spool_remove(&own);
    return 0;
}

static void test_child(void)
{
    create(folder);
    is_int(in_child(as_a_child), 0, "a child has a file of its own");
    is_int((int64_t)size_of(spool.name), STEP, "and leaves its parent's where it is");
    rkc_spool_remove(&spool);
}

/* What exec leaves: the process is the same, and knows nothing of the file. */
static void test_former(void)
{
    create(folder);
    struct rkc_spool former = spool;
    create(folder);
    char foreign[sizeof spool.name];
    snprintf(foreign, sizeof foreign, "%s/rankclock-%d-0123456789abcdef-0123456789abcdef.rkci",
             folder, (int)getpid());
    close(open(foreign, O_CREAT | O_WRONLY, 0600));
    rkc_spool_remove_former(&spool);
    is_int((int64_t)size_of(former.name), -1, "what a process left before exec is removed");
    is_int((int64_t)size_of(spool.name), STEP, "but not what it has now");
    is_int((int64_t)size_of(foreign), 0, "nor what another left that had its number");
    unlink(foreign);
    rkc_spool_remove(&spool);
}

int main(void)
{
    if (!mkdtemp(folder))
        return 1;
    test_candidates();
    test_order();
    test_types();
    test_folders();
    test_file();
    test_room();
    test_errors();
    test_others();
    test_rename();
    test_child();
    test_former();
    char own[64];
    snprintf(own, sizeof own, "%s/own", folder);
    rmdir(own);
    is_int(rmdir(folder), 0, "nothing is left");
    return done_testing();
}
