/* steps.c - only where the last instruction, or the next one, is the test program's own, which the
 * library is linked into, can the image be another than before.
 */
#include "autoconf.h"

#include "steps.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "image_checks.h"

enum { MOST_BAD = 10, CANNOT = 77 };

static char folder[] = "/tmp/rankclock-test-XXXXXX";

void steps_here(void)
{
    raise(SIGSTOP);
}

static pid_t start(void (*program)(void))
{
    char output[64];
    pid_t child = fork();
    if (child == 0) {
        snprintf(output, sizeof output, "%s/run.h5", folder);
        setenv("RANKCLOCK_SPOOL", folder, 1);
        setenv("RANKCLOCK_OUTPUT", output, 1);
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
            _exit(CANNOT);
        program();
        exit(0);
    }
    return child;
}

/* ---- its image ---- */

/* A file in the folder whose name ends so. */
static int find(const char *end, char *path, size_t size)
{
    DIR *dir = opendir(folder);
    int found = 0;
    for (struct dirent *entry; dir && !found && (entry = readdir(dir));) {
        found = strstr(entry->d_name, end) != NULL;
        snprintf(path, size, "%s/%s", folder, entry->d_name);
    }
    if (dir)
        closedir(dir);
    return found;
}

/* The image's file, mapped, for it is read often; or NULL. */
static const char *map_image(void)
{
    char path[512];
    struct stat file;
    if (!find(".rkci", path, sizeof path))
        return NULL;
    int fd = open(path, O_RDONLY);
    void *map = fstat(fd, &file) == 0
                    ? mmap(NULL, (size_t)file.st_size, PROT_READ, MAP_SHARED, fd, 0)
                    : MAP_FAILED;
    close(fd);
    return map != MAP_FAILED ? map : NULL;
}

/* All visits but the root's: ended, open, within their like, and sampled out. */
static int64_t all_visits(const struct rkc_local *local)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < local->n_nodes; i++)
        if (local->nodes[i].parent != UINT32_MAX)
            sum += (int64_t)local->nodes[i].visits + local->nodes[i].is_open +
                   (int64_t)local->nodes[i].node->inner +
                   (int64_t)local->nodes[i].node->sampled_out;
    return sum;
}

/* One instant. *visits gets how many there are, which are never fewer than before, nor two more. */
static int check(const char *image, int64_t *visits)
{
    const struct rkc_image_header *header = (const void *)image;
    struct rkc_view view = {.base = image, .bytes = atomic_load(&header->used)};
    struct rkc_local local;
    if (rkc_local_collect(&local, &view, 0) != 0)
        return image_fault("nothing can be collected");
    int bad = image_check(&local) || image_check_work(&local);
    int64_t now = all_visits(&local);
    if (*visits && (now < *visits || now > *visits + 1))
        bad |= image_fault("%lld visits, and %lld before", (long long)now, (long long)*visits);
    *visits = now;
    rkc_local_free(&local);
    return bad;
}

/* ---- its steps ---- */

/* Whether the next instruction is the test program's own. */
static int is_inside(pid_t child)
{
#if defined(__x86_64__)
    extern const char __executable_start, etext;
    errno = 0;
    uintptr_t at =
        (uintptr_t)ptrace(PTRACE_PEEKUSER, child, offsetof(struct user_regs_struct, rip), NULL);
    return errno || (at >= (uintptr_t)&__executable_start && at < (uintptr_t)&etext);
#else
    (void)child;
    return 1;
#endif
}

/* Until the program stops itself again. */
static void walk(struct steps *steps, pid_t child, const char *image)
{
    int status = 0, inside = 1, was_inside = 1;
    int64_t visits = 0, first;
    check(image, &visits);
    first = visits;
    while (steps->bad < MOST_BAD) {
        if (ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) != 0 ||
            waitpid(child, &status, 0) != child || !WIFSTOPPED(status) ||
            WSTOPSIG(status) != SIGTRAP)
            break;
        inside = is_inside(child);
        if (inside || was_inside) {
            steps->instants++;
            steps->bad += check(image, &visits);
        }
        was_inside = inside;
    }
    if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGSTOP)
        steps->bad +=
            image_fault("the program did not come to its end: status 0x%x", (unsigned)status);
    steps->visits = visits - first;
}

/* Until the program stops itself for the first time; other signals are its own. */
static int is_there(pid_t child)
{
    int status = 0, signal = 0;
    do {
        if (signal && ptrace(PTRACE_CONT, child, NULL, (void *)(intptr_t)signal) != 0)
            return 0;
        if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
            return 0;
        signal = WSTOPSIG(status);
    } while (signal != SIGSTOP);
    return 1;
}

int steps_run(void (*program)(void), struct steps *steps)
{
    int status = 0, result = -1;
    *steps = (struct steps){0};
    if (!mkdtemp(folder))
        return -1;
    pid_t child = start(program);
    if (child > 0 && is_there(child)) {
        const char *image = map_image();
        if (image)
            walk(steps, child, image);
        ptrace(PTRACE_DETACH, child, NULL, NULL);
        kill(child, steps->bad ? SIGKILL : SIGCONT);
        while (waitpid(child, &status, 0) == child && WIFSTOPPED(status))
            kill(child, SIGCONT);
        result = 0;
    }
    char path[512];
    while (find(".rkci", path, sizeof path) || find(".h5", path, sizeof path))
        if (unlink(path) != 0)
            break;
    rmdir(folder);
    return result;
}
