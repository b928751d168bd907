/* publish.c - link(2) gives a file its name, because it cannot replace a file of that name. */
#include "autoconf.h"

#include "sink/publish.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rankclock/status.h>

/* Stale temporary files of an earlier process with this id, and names taken already. */
enum { TEMPORARIES_MAX = 100, NAMES_MAX = 1000000 };

/* A file name is at most 255 bytes long; the temporary one adds up to 32. */
enum { STEM_MAX = 220 };

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int explain(char text[RKC_SINK_TEXT_MAX], const char *what, const char *path, int error)
{
    snprintf(text, RKC_SINK_TEXT_MAX, "cannot %s %s: %s", what, path, strerror(error));
    return RKC_EIO;
}

static int create_temporary(struct rkc_publish *publish, size_t room)
{
    const char *base = base_of(publish->output);
    int folder = (int)(base - publish->output);
    for (int i = 0; i < TEMPORARIES_MAX; i++) {
        snprintf(publish->temporary, room, "%.*s.%.*s.%ld.%d.tmp", folder, publish->output,
                 (int)STEM_MAX, base, (long)getpid(), i);
        publish->fd = open(publish->temporary,
                           O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (publish->fd >= 0 || errno != EEXIST)
            return publish->fd >= 0 ? 0 : RKC_EIO;
    }
    return RKC_EIO;
}

int rkc_publish_begin(const char *output, unsigned mode, struct rkc_publish *publish,
                      char text[RKC_SINK_TEXT_MAX])
{
    if (*base_of(output) == '\0') {
        snprintf(text, RKC_SINK_TEXT_MAX, "cannot create \"%s\": not the name of a file", output);
        return RKC_EARG;
    }
    size_t room = strlen(output) + 64;
    publish->fd = -1;
    publish->output = strdup(output);
    publish->temporary = malloc(room);
    int status = RKC_ENOMEM;
    if (!publish->output || !publish->temporary) {
        snprintf(text, RKC_SINK_TEXT_MAX, "cannot create %s: out of memory", output);
        goto failed;
    }
    status = create_temporary(publish, room);
    if (status) {
        explain(text, "create", output, errno);
        goto failed;
    }
    /* File systems without permissions refuse; what they give is all there is. */
    (void)!fchmod(publish->fd, (mode_t)(mode & 0777u));
    return 0;

failed:
    free(publish->temporary);
    free(publish->output);
    publish->temporary = publish->output = NULL;
    return status;
}

/* The n-th name to try: run.h5, run.2.h5, run.3.h5 ... */
static void name_number(const char *output, int n, char *name, size_t room)
{
    const char *base = base_of(output);
    const char *dot = strrchr(base, '.');
    if (!dot || dot == base)
        dot = base + strlen(base);
    if (n == 1)
        snprintf(name, room, "%s", output);
    else
        snprintf(name, room, "%.*s.%d%s", (int)(dot - output), output, n, dot);
}

/* Rename replaces, so the name is first made ours by creating it. */
static int rename_reserved(const char *temporary, const char *name)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno;
    close(fd);
    if (rename(temporary, name) == 0)
        return 0;
    int error = errno;
    unlink(name);
    return error;
}

/* Give the file one name; 0 or an errno. */
static int take_name(const char *temporary, const char *name)
{
    if (link(temporary, name) == 0) {
        unlink(temporary);
        return 0;
    }
    switch (errno) {
    case EPERM:
    case ENOSYS:
    case EMLINK:
    case EOPNOTSUPP:
        return rename_reserved(temporary, name);
    default:
        return errno;
    }
}

static int sync_folder(const struct rkc_publish *publish)
{
    const char *base = base_of(publish->output);
    char *folder = strndup(publish->output, (size_t)(base - publish->output));
    if (!folder)
        return ENOMEM;
    int fd = open(*folder ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(folder);
    /* A folder that may be written but not read, or a file system that cannot do it: the
     * file itself is safe, and no failure of ours. */
    if (fd < 0)
        return 0;
    int error = fsync(fd) && errno != EINVAL && errno != EROFS && errno != ENOTSUP ? errno : 0;
    close(fd);
    return error;
}

int rkc_publish_finish(struct rkc_publish *publish, char text[RKC_SINK_TEXT_MAX])
{
    int status = 0;
    size_t room = strlen(publish->output) + 16;
    char *name = malloc(room);
    if (!name) {
        snprintf(text, RKC_SINK_TEXT_MAX, "cannot create %s: out of memory", publish->output);
        status = RKC_ENOMEM;
        goto done;
    }
    if (fsync(publish->fd) && errno != EINVAL && errno != ENOTSUP) {
        status = explain(text, "write", publish->output, errno);
        goto done;
    }
    int error = EEXIST;
    for (int n = 1; error == EEXIST && n <= NAMES_MAX; n++) {
        name_number(publish->output, n, name, room);
        error = take_name(publish->temporary, name);
    }
    if (error) {
        explain(text, "create", name, error);
        status = error == EEXIST ? RKC_EEXIST : RKC_EIO;
        goto done;
    }
    free(publish->temporary);
    publish->temporary = NULL;
    error = sync_folder(publish);
    if (error) {
        unlink(name);
        status = explain(text, "write the folder of", name, error);
        goto done;
    }
    snprintf(text, RKC_SINK_TEXT_MAX, "%s", name);
done:
    free(name);
    rkc_publish_abort(publish);
    return status;
}

void rkc_publish_abort(struct rkc_publish *publish)
{
    if (publish->fd >= 0)
        close(publish->fd);
    if (publish->temporary)
        unlink(publish->temporary);
    free(publish->temporary);
    free(publish->output);
    publish->fd = -1;
    publish->temporary = publish->output = NULL;
}
