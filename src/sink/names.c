/* names.c - a temporary name holds host and process: on a file system that hosts share, what is
 * removed after a writer must be that writer's. */
#include "autoconf.h"

#include "sink/names.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "identity.h"
#include "line.h"

/* A file name is at most 255 bytes long: two dots, host, process and number are up to 64. */
enum { STEM_MAX = 190, HOST_MAX = 40, NUMBERS_CLEANED = 1000 };

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void own_host(char host[HOST_MAX + 1])
{
    memset(host, 0, HOST_MAX + 1);
    if (gethostname(host, HOST_MAX) != 0 && errno != ENAMETOOLONG)
        host[0] = '\0';
    if (!host[0])
        strcpy(host, "unknown");
}

void rkc_names_temporary(const char *output, pid_t pid, int i, char *name, size_t room)
{
    char host[HOST_MAX + 1];
    const char *base = base_of(output);
    own_host(host);
    snprintf(name, room, "%.*s.%.*s.%s.%ld.%d.tmp", (int)(base - output), output, (int)STEM_MAX,
             base, host, (long)pid, i);
}

void rkc_names_number(const char *output, int n, char *name, size_t room)
{
    const char *base = base_of(output);
    const char *dot = strrchr(base, '.');
    if (!dot || dot == base)
        dot = base + strlen(base);
    struct rkc_line line = rkc_line_in(name, room);
    rkc_line_add_part(&line, output, (size_t)(dot - output));
    if (n > 1) {
        rkc_line_add(&line, ".");
        rkc_line_add_number(&line, n);
    }
    rkc_line_add(&line, dot);
}

/* Whether a writer has made the file only to reserve its name: it is ours, empty, and no older than
 * what was written before. */
static int is_reserved(const char *name, const struct stat *written)
{
    struct stat found;
    return lstat(name, &found) == 0 && S_ISREG(found.st_mode) && found.st_size == 0 &&
           found.st_uid == written->st_uid && found.st_mtime >= written->st_mtime;
}

static void clean_reserved(const char *output, const struct stat *written, char *name, size_t room)
{
    for (int n = 1; n <= NUMBERS_CLEANED; n++) {
        rkc_names_number(output, n, name, room);
        if (is_reserved(name, written))
            unlink(name);
        else if (access(name, F_OK) == 0)
            continue;
        return;
    }
}

void rkc_names_clean(const char *output, pid_t pid)
{
    size_t room = strlen(output) + RKC_NAMES_ROOM;
    char *name = malloc(room);
    struct stat written;
    for (int i = 0; name && i < RKC_NAMES_TEMPORARIES; i++) {
        rkc_names_temporary(output, pid, i, name, room);
        if (lstat(name, &written) != 0)
            break;
        unlink(name);
        if (written.st_nlink == 1) /* else it has its name */
            clean_reserved(output, &written, name, room);
    }
    free(name);
}

/* Whether `name` is .BASE.HOST.PID.N.tmp. */
static int is_temporary(const char *name, const char *base)
{
    size_t length = strlen(base);
    if (length > STEM_MAX)
        length = STEM_MAX;
    if (name[0] != '.' || strncmp(name + 1, base, length) != 0 || name[1 + length] != '.')
        return 0;
    const char *host = name + 2 + length, *end = name + strlen(name);
    if (end - host < 4 || strcmp(end - 4, ".tmp") != 0)
        return 0;
    end -= 4;
    for (int numbers = 0; numbers < 2; numbers++) {
        const char *digits = end;
        while (digits > host && digits[-1] >= '0' && digits[-1] <= '9')
            digits--;
        if (digits == end || digits == host || digits[-1] != '.')
            return 0;
        end = digits - 1;
    }
    return end > host;
}

int rkc_names_is_left(const char *name)
{
    char host[HOST_MAX + 1], end[HOST_MAX + 32];
    long pid;
    int i, read = 0;
    own_host(host);
    for (const char *dot = strchr(name + (name[0] == '.'), '.'); dot; dot = strchr(dot + 1, '.')) {
        size_t length = strlen(host);
        if (strncmp(dot + 1, host, length) != 0 || dot[1 + length] != '.' ||
            sscanf(dot + 1 + length, ".%ld.%d.%n", &pid, &i, &read) != 2 || pid <= 0)
            continue;
        snprintf(end, sizeof end, ".%s.%ld.%d.tmp", host, pid, i);
        if (name[0] == '.' && strcmp(dot, end) == 0)
            return !rkc_identity_runs((int)pid);
    }
    return 0;
}

void rkc_names_find(const char *output, void (*say)(const char *folder, const char *name))
{
    const char *base = base_of(output);
    char *folder = strndup(output, (size_t)(base - output));
    DIR *dir = folder ? opendir(*folder ? folder : ".") : NULL;
    for (struct dirent *entry = dir ? readdir(dir) : NULL; entry; entry = readdir(dir))
        if (is_temporary(entry->d_name, base))
            say(folder, entry->d_name);
    if (dir)
        closedir(dir);
    free(folder);
}
