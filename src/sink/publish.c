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

#include "sink/names.h"

enum { NAMES_MAX = 1000000 };

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
    for (int i = 0; i < RKC_NAMES_TEMPORARIES; i++) {
        rkc_names_temporary(publish->output, getpid(), i, publish->temporary, room);
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
    size_t room = strlen(output) + RKC_NAMES_ROOM;
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

/* Give the file a name where there are no links. */
static int rename_new(const char *temporary, const char *name)
{
#ifdef RENAME_NOREPLACE
    if (renameat2(AT_FDCWD, temporary, AT_FDCWD, name, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP)
        return errno;
#endif
    return rename_reserved(temporary, name);
}

/* NFS repeats a link whose answer was lost, and then tells that the name is taken: by us. */
static int is_linked(const char *temporary)
{
    struct stat facts;
    return lstat(temporary, &facts) == 0 && facts.st_nlink == 2;
}

/* Give the file one name; 0 or an errno. */
static int take_name(const char *temporary, const char *name)
{
    if (link(temporary, name) == 0 || (errno == EEXIST && is_linked(temporary))) {
        unlink(temporary);
        return 0;
    }
    switch (errno) {
    case EPERM:
    case EACCES:
    case EINVAL:
    case EMLINK:
    case ENOSYS:
    case EOPNOTSUPP:
    case EXDEV:
        return rename_new(temporary, name);
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
        rkc_names_number(publish->output, n, name, room);
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

void rkc_publish_abandon(struct rkc_publish *publish)
{
    if (publish->temporary)
        unlink(publish->temporary);
    free(publish->temporary);
    publish->temporary = NULL;
}

void rkc_publish_abort(struct rkc_publish *publish)
{
    if (publish->fd >= 0)
        close(publish->fd);
    rkc_publish_abandon(publish);
    free(publish->output);
    publish->fd = -1;
    publish->output = NULL;
}
