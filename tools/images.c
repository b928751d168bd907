/* images.c - of each file only the beginning is read: there the header is, and what the run said
 * about itself. In a folder that all may write to, only one's own files are what they seem. */
#include "autoconf.h"

#include "images.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rankclock/status.h>

#include "identity.h"
#include "image.h"

enum { BEGINNING = 128 << 10, COPIED_AT_ONCE = 64 << 10, NUMBERS_MAX = 1000 };

/* ---- one image ---- */

static void take_text(char *to, size_t size, const char *from)
{
    memcpy(to, from, size);
    to[size - 1] = 0;
}

/* A fact's value, if it is the one named: text of up to size - 1 bytes. */
static void take_fact(const struct rkc_block *block, const char *name, char *value, size_t size)
{
    const char *text = (const char *)(block + 1), *end = (const char *)block + block->bytes;
    size_t before = strlen(name) + 1;
    if (end - text <= (ptrdiff_t)before || memcmp(text, name, before) != 0)
        return;
    size_t room = (size_t)(end - text) - before;
    size_t length = strnlen(text + before, room < size - 1 ? room : size - 1);
    memcpy(value, text + before, length);
    value[length] = 0;
}

/* The job's ids, from what is there of the blocks. */
static void take_job(struct rkc_image_file *file, const char *beginning, size_t bytes)
{
    struct rkc_view view = {.base = beginning, .bytes = bytes / RKC_UNIT * RKC_UNIT};
    const struct rkc_block *block = NULL;
    int broken = 0;
    while ((block = rkc_view_next(&view, block, &broken))) {
        if (block->kind != RKC_BLOCK_FACT)
            continue;
        take_fact(block, "job_id", file->job, sizeof file->job);
        take_fact(block, "job_raw", file->job_raw, sizeof file->job_raw);
    }
}

/* What an image says of itself. 0, or a status where it is none. */
static int read_beginning(int fd, struct rkc_image_file *file)
{
    static char beginning[BEGINNING] __attribute__((aligned(RKC_UNIT)));
    const struct rkc_image_header *header = (const void *)beginning;
    ssize_t got = pread(fd, beginning, sizeof beginning, 0);
    if (got < RKC_HEADER_SIZE || header->magic != RKC_IMAGE_MAGIC)
        return RKC_EFORMAT;
    take_text(file->run_id, sizeof file->run_id, header->run_id);
    take_text(file->world_id, sizeof file->world_id, header->world_id);
    take_text(file->boot_id, sizeof file->boot_id, header->boot_id);
    take_text(file->host, sizeof file->host, header->host);
    take_text(file->program, sizeof file->program, header->program);
    file->begun_unix_ns = header->clock.pair[0].unix_ns;
    file->begun_monotonic_ns = header->clock.pair[0].monotonic_ns;
    file->pid_space = header->pid_space;
    file->pid = header->pid;
    file->rank = header->rank;
    file->size = header->size;
    file->state = header->state;
    size_t used = header->used;
    take_job(file, beginning, used < (size_t)got ? used : (size_t)got);
    return 0;
}

int rkc_images_is_live(const struct rkc_image_file *file)
{
    return rkc_identity_lives(file->host, file->boot_id, file->pid_space, file->pid,
                              file->begun_monotonic_ns);
}

int rkc_images_same_run(const char *run_id, const char *wanted)
{
    size_t length = strlen(wanted);
    return strncmp(run_id, wanted, length) == 0 &&
           (!run_id[length] || (run_id[length] == '-' && run_id[length + 1] == 'r'));
}

static int is_wanted(const struct rkc_image_file *file, const struct rkc_images_wanted *wanted)
{
    if (wanted->run_id && *wanted->run_id && !rkc_images_same_run(file->run_id, wanted->run_id))
        return 0;
    return !wanted->job || !*wanted->job || strcmp(file->job, wanted->job) == 0 ||
           strcmp(file->job_raw, wanted->job) == 0;
}

/* ---- a folder ---- */

static int add(struct rkc_images *images, const struct rkc_image_file *file, const char *path)
{
    if (images->n == images->cap) {
        size_t cap = images->cap ? 2 * images->cap : 64;
        struct rkc_image_file *bigger = realloc(images->files, cap * sizeof *bigger);
        if (!bigger)
            return RKC_ENOMEM;
        images->files = bigger;
        images->cap = cap;
    }
    char *copy = strdup(path);
    if (!copy)
        return RKC_ENOMEM;
    images->files[images->n] = *file;
    images->files[images->n++].path = copy;
    return 0;
}

/* Whether others may put files there. */
static int is_shared(int dir)
{
    struct stat stat_;
    return fstat(dir, &stat_) != 0 || (stat_.st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

static int add_entry(struct rkc_images *images, const char *folder, int dir, const char *name,
                     const struct rkc_images_wanted *wanted)
{
    struct rkc_image_file file = {.path = NULL};
    struct stat stat_;
    char path[PATH_MAX];
    size_t length = strlen(name);
    if (length <= 5 || strcmp(name + length - 5, ".rkci") != 0 ||
        snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return 0;
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return 0;
    int is_ours = fstat(fd, &stat_) == 0 && S_ISREG(stat_.st_mode) &&
                  (!is_shared(dir) || stat_.st_uid == geteuid() || geteuid() == 0);
    int status = is_ours && read_beginning(fd, &file) == 0 && is_wanted(&file, wanted)
                     ? add(images, &file, path)
                     : 0;
    close(fd);
    return status;
}

static int by_world(const void *a, const void *b)
{
    const struct rkc_image_file *x = a, *y = b;
    int order = strcmp(x->run_id, y->run_id);
    if (order == 0)
        order = strcmp(x->world_id, y->world_id);
    if (order == 0)
        order = x->rank < y->rank ? -1 : x->rank > y->rank;
    return order != 0 ? order : strcmp(x->path, y->path);
}

int rkc_images_find(struct rkc_images *images, const char *folder,
                    const struct rkc_images_wanted *wanted)
{
    DIR *dir = opendir(folder);
    int status = 0;
    if (!dir)
        return RKC_EIO;
    for (struct dirent *entry; status == 0 && (entry = readdir(dir));)
        status = add_entry(images, folder, dirfd(dir), entry->d_name, wanted);
    closedir(dir);
    if (images->n > 0)
        qsort(images->files, images->n, sizeof *images->files, by_world);
    return status;
}

/* Whether a folder is one before it by another name. */
static int is_again(const char *const *folder, int i)
{
    struct stat here, before;
    for (int j = 0; j < i; j++)
        if (stat(folder[i], &here) == 0 && stat(folder[j], &before) == 0 &&
            here.st_dev == before.st_dev && here.st_ino == before.st_ino)
            return 1;
    return 0;
}

int rkc_images_find_spooled(struct rkc_images *images, const struct rkc_images_wanted *wanted)
{
    const char *folder[RKC_SPOOL_FOLDERS_MAX];
    const char *setting = getenv("RANKCLOCK_SPOOL");
    int n = rkc_spool_folders(setting && setting[0] == '/' ? setting : "auto", folder);
    int status = 0;
    for (int i = 0; i < n && status != RKC_ENOMEM; i++)
        if (!is_again(folder, i))
            status = rkc_images_find(images, folder[i], wanted);
    return status == RKC_ENOMEM ? status : 0;
}

void rkc_images_drop(struct rkc_images *images, size_t i)
{
    free(images->files[i].path);
    images->n--;
    memmove(&images->files[i], &images->files[i + 1], (images->n - i) * sizeof *images->files);
}

void rkc_images_free(struct rkc_images *images)
{
    for (size_t i = 0; i < images->n; i++)
        free(images->files[i].path);
    free(images->files);
    *images = (struct rkc_images){.files = NULL};
}

size_t rkc_images_world_end(const struct rkc_images *images, size_t first)
{
    const struct rkc_image_file *files = images->files;
    size_t end = first + 1;
    while (end < images->n && strcmp(files[end].run_id, files[first].run_id) == 0 &&
           strcmp(files[end].world_id, files[first].world_id) == 0)
        end++;
    return end;
}

/* ---- copying ---- */

static int copy_bytes(int from, int to)
{
    static char bytes[COPIED_AT_ONCE];
    ssize_t got;
    while ((got = read(from, bytes, sizeof bytes)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return errno;
        for (ssize_t done = 0; done < got;) {
            ssize_t n = write(to, bytes + done, (size_t)(got - done));
            if (n < 0 && errno != EINTR)
                return errno;
            done += n > 0 ? n : 0;
        }
    }
    return fsync(to) == 0 || errno == EINVAL || errno == EROFS ? 0 : errno;
}

/* 0 or an errno. The copy is whole or not there. */
static int copy_to(const char *from, const char *to)
{
    int in = open(from, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (in < 0)
        return errno;
    int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    int error = out < 0 ? errno : copy_bytes(in, out);
    close(in);
    if (out < 0)
        return error;
    if (close(out) != 0 && error == 0)
        error = errno;
    if (error != 0)
        unlink(to);
    return error;
}

/* Whether there is an earlier copy of an image. */
static int is_copy(const struct rkc_image_file *file, const char *path)
{
    struct rkc_image_file other = {.path = NULL};
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return 0;
    int same = read_beginning(fd, &other) == 0 && other.pid == file->pid &&
               other.begun_unix_ns == file->begun_unix_ns && strcmp(other.host, file->host) == 0;
    close(fd);
    return same;
}

/* Give a finished copy its name. 0 or an errno; EEXIST where another image has it. */
static int name_copy(const struct rkc_image_file *file, const char *copy, const char *name)
{
    if (link(copy, name) == 0) {
        unlink(copy);
        return 0;
    }
    if (errno == EEXIST && !is_copy(file, name))
        return EEXIST;
    return rename(copy, name) == 0 ? 0 : errno;
}

/* Whether an image lies in a folder already, by whatever name. */
static int lies_in(const struct rkc_image_file *file, const char *folder)
{
    struct stat there, here;
    char path[PATH_MAX];
    const char *name = strrchr(file->path, '/');
    snprintf(path, sizeof path, "%s/%s", folder, name ? name + 1 : file->path);
    return stat(path, &there) == 0 && stat(file->path, &here) == 0 &&
           there.st_dev == here.st_dev && there.st_ino == here.st_ino;
}

static int copy_into(const struct rkc_image_file *file, const char *folder)
{
    char copy[PATH_MAX], to[PATH_MAX];
    const char *name = strrchr(file->path, '/');
    name = name ? name + 1 : file->path;
    int stem = (int)(strlen(name) - strlen(".rkci"));
    if (snprintf(copy, sizeof copy, "%s/.%.*s.%d.tmp", folder, stem, name, (int)getpid()) >=
        (int)sizeof copy)
        return ENAMETOOLONG;
    int error = copy_to(file->path, copy);
    if (error != 0)
        return error;
    error = EEXIST;
    for (int i = 1; error == EEXIST && i <= NUMBERS_MAX; i++) {
        char number[16] = "";
        if (i > 1)
            snprintf(number, sizeof number, ".%d", i);
        int length = snprintf(to, sizeof to, "%s/%.*s%s.rkci", folder, stem, name, number);
        error = length < (int)sizeof to ? name_copy(file, copy, to) : ENAMETOOLONG;
    }
    if (error != 0)
        unlink(copy);
    return error;
}

int rkc_images_copy(const struct rkc_image_file *file, const char *folder, int move)
{
    if (mkdir(folder, 0700) != 0 && errno != EEXIST)
        return errno;
    if (lies_in(file, folder))
        return 0;
    int error = copy_into(file, folder);
    if (error == 0 && move && unlink(file->path) != 0 && errno != ENOENT)
        return errno;
    return error;
}
