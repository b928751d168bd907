/* spool.c - a page of a shared map that the file system has no room for, or that is on a server
 * which does not answer, is a SIGBUS or a hang at first touch, in the middle of the program: hence
 * local file systems alone, of which it is known that room given once stays given. */
#include "autoconf.h"

#include "spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <rankclock/status.h>

#include "clock.h"
#include "identity.h"

/* From linux/magic.h; see statfs(2). Those that copy on write (btrfs, ZFS, F2FS) are not here: they
 * may need more room when a page is written that they have given already. */
static const struct {
    uint32_t type;
    const char *name;
} local_types[] = {
    {0x01021994, "tmpfs"},
    {0x0000ef53, "ext2, ext3, ext4"},
    {0x58465342, "XFS"},
    {0x794c7630, "overlayfs"},
};

enum { ZEROS = 4096, TRIES_MAX = 100, RUN_CHARACTERS = 100, WORLD_CHARACTERS = 80 };

/* ---- the folder ---- */

int rkc_spool_folders(const char *setting, const char *folder[RKC_SPOOL_FOLDERS_MAX])
{
    if (!setting || !*setting)
        return 0;
    if (strcmp(setting, "auto") != 0) {
        folder[0] = setting;
        return 1;
    }
    static const char *const names[] = {"SLURM_TMPDIR", "TMPDIR"};
    int n = 0;
    folder[n++] = "/dev/shm";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = secure_getenv(names[i]);
        if (value && value[0] == '/')
            folder[n++] = value;
    }
    return n;
}

static int is_local(const struct statfs *fs)
{
    for (size_t i = 0; i < sizeof local_types / sizeof *local_types; i++)
        if ((uint32_t)fs->f_type == local_types[i].type)
            return 1;
    return 0;
}

/* What speaks against a folder, or NULL. */
static const char *fault_of(const char *folder, const struct statfs *fs)
{
    struct stat stat_;
    if (stat(folder, &stat_) != 0)
        return strerror(errno);
    if (!S_ISDIR(stat_.st_mode))
        return strerror(ENOTDIR);
    if ((stat_.st_mode & (S_IWGRP | S_IWOTH)) && !(stat_.st_mode & S_ISVTX))
        return "others can write there, and it is without the sticky bit";
    return is_local(fs) ? NULL : "not a local file system that is known to be safe";
}

/* ---- room ---- */

int rkc_spool_size_allowed(size_t bytes)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
           bytes <= limit.rlim_cur;
}

/* Whether others keep their room when `bytes` are taken. A tmpfs may have no limit. */
static int leaves_room(const struct statfs *fs, size_t bytes)
{
    uint64_t size = (uint64_t)fs->f_blocks * (uint64_t)fs->f_bsize;
    uint64_t kept = size / RKC_SPOOL_KEEP_PART;
    if (kept < RKC_SPOOL_KEEP_BYTES)
        kept = RKC_SPOOL_KEEP_BYTES;
    return size == 0 || (uint64_t)fs->f_bavail * (uint64_t)fs->f_bsize >= kept + bytes;
}

int rkc_spool_has_room(const char *folder, size_t bytes)
{
    struct statfs fs;
    return statfs(folder, &fs) == 0 && !fault_of(folder, &fs) && leaves_room(&fs, bytes);
}

static int write_zeros(int fd, size_t from, size_t to)
{
    static const char zeros[ZEROS];
    while (from < to) {
        size_t bytes = to - from < ZEROS ? to - from : ZEROS;
        ssize_t n = pwrite(fd, zeros, bytes, (off_t)from);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? errno : ENOSPC;
        from += (size_t)n;
    }
    return 0;
}

/* The C library's posix_fallocate would write a byte a block, which is not the same everywhere. */
static int allocate(int fd, size_t from, size_t to)
{
    int error;
    for (int tries = 0; tries < TRIES_MAX; tries++) {
        error = fallocate(fd, 0, (off_t)from, (off_t)(to - from)) == 0 ? 0 : errno;
        if (error != EINTR)
            break;
    }
    if (error == EOPNOTSUPP || error == ENOSYS || error == EINTR)
        error = write_zeros(fd, from, to);
    return error;
}

/* As rkc_spool_extend. Ranks may ask at the same time: what they took is looked at once more. */
static int take_room(int fd, size_t from, size_t to)
{
    struct statfs fs;
    if (!rkc_spool_size_allowed(to))
        return EFBIG;
    if (fstatfs(fd, &fs) != 0)
        return errno;
    int error = leaves_room(&fs, to - from) ? allocate(fd, from, to) : ENOSPC;
    if (!error && fstatfs(fd, &fs) == 0 && !leaves_room(&fs, 0))
        error = ENOSPC;
    if (error && ftruncate(fd, (off_t)from) != 0)
        return error; /* it is longer than it is used, no more */
    return error;
}

/* The file by its name, if it is still the same. -1 with errno. */
static int open_again(const struct rkc_spool *spool)
{
    struct stat stat_;
    int fd = open(spool->name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return -1;
    if (fstat(fd, &stat_) == 0 && stat_.st_dev == spool->device && stat_.st_ino == spool->inode)
        return fd;
    close(fd);
    errno = ESTALE;
    return -1;
}

int rkc_spool_extend(struct rkc_spool *spool, size_t from, size_t to)
{
    int fd = open_again(spool);
    if (fd < 0)
        return errno;
    int error = take_room(fd, from, to);
    close(fd);
    return error;
}

/* ---- making it ---- */

/* What this process's first names begin with, behind the folder. */
static int name_start(char *start, size_t size)
{
    return snprintf(start, size, "rankclock-%d-%016llx-", (int)getpid(),
                    (unsigned long long)rkc_identity_process());
}

static uint64_t chance(void)
{
    uint64_t value;
    if (getrandom(&value, sizeof value, GRND_NONBLOCK) != (ssize_t)sizeof value)
        value = (uint64_t)rkc_clock_unix_ns() ^ (uintptr_t)&value;
    return value;
}

/* 0 or an errno. */
static int make_file(struct rkc_spool *spool, const char *folder, size_t bytes, int *fd)
{
    char start[64];
    struct stat stat_;
    name_start(start, sizeof start);
    int length = snprintf(spool->name, sizeof spool->name, "%s/%s%016llx.rkci", folder, start,
                          (unsigned long long)chance());
    if (length < 0 || (size_t)length >= sizeof spool->name)
        return ENAMETOOLONG;
    *fd = open(spool->name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (*fd < 0)
        return errno;
    int error = fstat(*fd, &stat_) == 0 ? take_room(*fd, 0, bytes) : errno;
    if (!error && fchmod(*fd, 0600) != 0) /* whatever the umask is: it is opened again to grow */
        error = errno;
    if (error) {
        unlink(spool->name);
        close(*fd);
        return error;
    }
    spool->device = stat_.st_dev;
    spool->inode = stat_.st_ino;
    spool->owner = getpid();
    spool->grows = 1;
    return 0;
}

/* What speaks against a folder, or NULL when the file is made in it. */
static const char *try_folder(struct rkc_spool *spool, const char *folder, size_t bytes, int *fd)
{
    struct statfs fs;
    if (statfs(folder, &fs) != 0)
        return strerror(errno);
    const char *fault = fault_of(folder, &fs);
    if (fault)
        return fault;
    int error = make_file(spool, folder, bytes, fd);
    return error == 0 ? NULL : error == ENOSPC ? "not enough room" : strerror(error);
}

int rkc_spool_create(struct rkc_spool *spool, const char *setting, size_t bytes, int *fd,
                     char why[RKC_SPOOL_WHY_MAX])
{
    const char *folder[RKC_SPOOL_FOLDERS_MAX];
    int n = rkc_spool_folders(setting, folder);
    size_t used = 0;
    why[0] = 0;
    for (int i = 0; i < n; i++) {
        *spool = (struct rkc_spool){.owner = -1};
        const char *fault = try_folder(spool, folder[i], bytes, fd);
        if (!fault)
            return 0;
        int more = snprintf(why + used, RKC_SPOOL_WHY_MAX - used, "%s%.100s: %s", used ? "; " : "",
                            folder[i], fault);
        used += more > 0 ? (size_t)more : 0;
        if (used >= RKC_SPOOL_WHY_MAX)
            used = RKC_SPOOL_WHY_MAX - 1;
    }
    *spool = (struct rkc_spool){.owner = -1};
    return RKC_EIO;
}

/* ---- its name ---- */

/* A part of a file's name from any text. */
static void make_part(const char *text, char *part, size_t size)
{
    size_t n = 0;
    for (; text[n] && n + 1 < size; n++) {
        char c = text[n];
        int plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        part[n] = plain || (n > 0 && strchr(".-_@", c)) ? c : '_';
    }
    part[n] = 0;
}

void rkc_spool_run_name(const char *run_id, const char *world_id, char name[RKC_SPOOL_RUN_MAX])
{
    char run[RUN_CHARACTERS + 1], world[WORLD_CHARACTERS + 1];
    make_part(run_id, run, sizeof run);
    make_part(world_id, world, sizeof world);
    snprintf(name, RKC_SPOOL_RUN_MAX, "rankclock-%s.%s", run, world);
}

/* 0 or an errno; never over another file. */
static int move(const char *from, const char *to)
{
#ifdef SYS_renameat2
    enum { NO_REPLACE = 1 }; /* RENAME_NOREPLACE */
    if (syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, NO_REPLACE) == 0)
        return 0;
    if (errno != ENOSYS && errno != EINVAL)
        return errno;
#endif
    if (link(from, to) != 0)
        return errno;
    unlink(from);
    return 0;
}

void rkc_spool_rename(struct rkc_spool *spool, const char *run_id, const char *world_id, int rank)
{
    char name[RKC_SPOOL_NAME_MAX], run[RKC_SPOOL_RUN_MAX];
    if (!spool->name[0] || spool->owner != getpid())
        return;
    rkc_spool_run_name(run_id, world_id, run);
    int folder = (int)(strrchr(spool->name, '/') - spool->name);
    int length =
        snprintf(name, sizeof name, "%.*s/%s.rank-%d.rkci", folder, spool->name, run, rank);
    if (length < 0 || (size_t)length >= sizeof name || move(spool->name, name) != 0)
        return;
    strcpy(spool->name, name);
}

void rkc_spool_remove_former(const struct rkc_spool *spool)
{
    char start[64], folder[RKC_SPOOL_NAME_MAX];
    if (!spool->name[0])
        return;
    size_t length = (size_t)name_start(start, sizeof start);
    strcpy(folder, spool->name);
    char *own = strrchr(folder, '/');
    *own++ = 0;
    DIR *dir = opendir(folder);
    if (!dir)
        return;
    for (struct dirent *entry; (entry = readdir(dir));)
        if (strncmp(entry->d_name, start, length) == 0 && strcmp(entry->d_name, own) != 0)
            unlinkat(dirfd(dir), entry->d_name, 0);
    closedir(dir);
}

void rkc_spool_remove(struct rkc_spool *spool)
{
    struct stat stat_;
    if (!spool->name[0] || spool->owner != getpid())
        return;
    if (lstat(spool->name, &stat_) == 0 && stat_.st_dev == spool->device &&
        stat_.st_ino == spool->inode)
        unlink(spool->name);
    spool->name[0] = 0;
    spool->grows = 0;
}
