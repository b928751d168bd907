/* image_reader.c - read images as a stranger does, while the process lives and after it was killed.
 *
 *   image_reader show IMAGE                      its call paths: name, visits, inclusive ns
 *   image_reader work IMAGE                      whether what apps/signals.c makes is whole
 *   image_reader watch IMAGE SECONDS             read it again and again; no count may fall
 *   image_reader kill WRITER FOLDER TIMES        start WRITER, kill it, compare image and notes;
 *                                                of every fourth also while it is stopped
 *   image_reader spoil IMAGE FOLDER TIMES        read copies that are cut short or damaged
 *
 * The status is 0 when all is well; else the first fault is on stdout. WRITER is
 * tests/apps/image_writer, FOLDER one that is empty and on a file system in memory.
 */
#include "autoconf.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "image_checks.h"

enum { NOTED = 5, THREADS = 2 };

static const char *const noted_path[NOTED] = {"(run)/step", "(run)/step/halo",
                                              "(run)/step/halo/pack", "(run)/step/compute",
                                              "(run)/step/compute/flux"};

static int show(const char *file)
{
    struct rkc_view view;
    struct rkc_local local;
    char text[512], name[4096];
    if (rkc_view_open(&view, file, text, sizeof text) != 0)
        return image_fault("%s", text);
    if (rkc_local_collect(&local, &view, 0) != 0)
        return image_fault("%s holds no call path", file);
    printf("live %d, state %d, threads %d\n", view.live, local.row.state, local.row.threads);
    for (uint32_t path = 0; path < local.paths.n_paths; path++) {
        image_path_name(&local.paths, path, name, sizeof name);
        printf("%s %lld %lld\n", name, (long long)rkc_local_value(&local, path, RKC_METRIC_VISITS),
               (long long)rkc_local_value(&local, path, RKC_METRIC_INCLUSIVE));
    }
    for (uint32_t i = 0; i < local.paths.n_notes; i++)
        printf("note %d %lld\n", local.paths.notes[i].kind, (long long)local.paths.notes[i].count);
    int bad = image_check(&local);
    rkc_local_free(&local);
    rkc_view_close(&view);
    return bad;
}

static int work(const char *file)
{
    struct rkc_view view;
    struct rkc_local local;
    char text[512];
    if (rkc_view_open(&view, file, text, sizeof text) != 0)
        return image_fault("%s", text);
    if (rkc_local_collect(&local, &view, 0) != 0)
        return image_fault("%s holds no call path", file);
    int bad = image_check_work(&local) | image_check(&local);
    rkc_local_free(&local);
    rkc_view_close(&view);
    return bad;
}

/* ---- while the process lives ---- */

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Read once; the counts go to `last`, which they must not be below. */
static int watch_once(const char *file, int64_t last[NOTED])
{
    struct rkc_view view;
    struct rkc_local local;
    char text[512];
    if (rkc_view_open(&view, file, text, sizeof text) != 0)
        return image_fault("%s", text);
    int live = view.live;
    view.still = 0; /* what counts then does not the next time */
    if (rkc_local_collect(&local, &view, 0) != 0)
        return image_fault("nothing can be collected");
    int bad = live ? image_check(&local) : image_fault("the image is taken for a dead process's");
    for (int i = 0; i < NOTED && !bad; i++) {
        int64_t visits = image_visits(&local, noted_path[i]);
        if (visits < last[i])
            bad = image_fault("visits of %s fell from %lld to %lld", noted_path[i],
                              (long long)last[i], (long long)visits);
        last[i] = visits;
    }
    rkc_local_free(&local);
    rkc_view_close(&view);
    return bad;
}

static int watch(const char *file, double seconds)
{
    int64_t last[NOTED] = {0}, first = -1;
    int reads = 0;
    /* And until there is something to compare. */
    double begin_s = now_s();
    while (now_s() < begin_s + seconds || (last[0] <= first && now_s() < begin_s + 60)) {
        int bad = watch_once(file, last);
        if (bad)
            return bad;
        first = first < 0 ? last[0] : first;
        reads++;
    }
    if (last[0] <= first)
        return image_fault("in %d readings nothing moved", reads);
    printf("%d readings, from %lld to %lld visits\n", reads, (long long)first, (long long)last[0]);
    return 0;
}

/* ---- after it was killed ---- */

static int read_notes(const char *file, int64_t noted[NOTED])
{
    int64_t all[THREADS * NOTED] = {0};
    int fd = open(file, O_RDONLY);
    ssize_t n = fd < 0 ? 0 : read(fd, all, sizeof all);
    if (fd >= 0)
        close(fd);
    for (int i = 0; i < NOTED; i++)
        noted[i] = all[i] + all[NOTED + i];
    return n == sizeof all;
}

static int any(const int64_t noted[NOTED])
{
    int64_t sum = 0;
    for (int i = 0; i < NOTED; i++)
        sum += noted[i];
    return sum != 0;
}

/* The only image in a folder; 0 when there is none. */
static int find_image(const char *folder, char *file, size_t size)
{
    DIR *dir = opendir(folder);
    int found = 0;
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        if (!strstr(entry->d_name, ".rkci"))
            continue;
        found++;
        snprintf(file, size, "%s/%s", folder, entry->d_name);
    }
    if (dir)
        closedir(dir);
    return found;
}

/* A visit may be ended and not noted, and another of the same region open. */
static int compare(const struct rkc_local *local, const int64_t noted[NOTED])
{
    for (int i = 0; i < NOTED; i++) {
        int64_t visits = image_visits(local, noted_path[i]);
        if (visits < noted[i] || visits > noted[i] + 2 * THREADS)
            return image_fault("%s: %lld visits in the image, %lld noted", noted_path[i],
                               (long long)visits, (long long)noted[i]);
    }
    return 0;
}

static int check_ended(const char *file, const int64_t noted[NOTED], int is_stopped)
{
    struct rkc_view view;
    struct rkc_local local;
    char text[512];
    int bad = 0, status = rkc_view_open(&view, file, text, sizeof text);
    if (status) /* killed before the image was one */
        return any(noted) ? image_fault("%s", text) : 0;
    if (view.live != is_stopped)
        bad = image_fault(is_stopped ? "the image is taken for a dead process's"
                                     : "the image is taken for a living process's");
    if (is_stopped && !bad && !view.still)
        bad = image_fault("the image of a stopped process moves");
    if (rkc_local_collect(&local, &view, 0) == 0) {
        bad = bad ? bad : image_check(&local);
        bad = bad ? bad : compare(&local, noted);
        rkc_local_free(&local);
    } else if (any(noted)) {
        bad = image_fault("nothing can be collected");
    }
    rkc_view_close(&view);
    return bad;
}

static pid_t start(const char *writer, const char *notes)
{
    pid_t child = fork();
    if (child == 0) {
        execl(writer, writer, notes, (char *)NULL);
        _exit(127);
    }
    return child;
}

/* One life of the writer: up to MOST_US after its first visit, or for every tenth from its start.
 */
static int kill_once(const char *writer, const char *folder, int i, long *visits)
{
    enum { MOST_US = 40000, EARLY = 10 };
    char notes[4096], image[4096 + 300];
    int64_t noted[NOTED];
    snprintf(notes, sizeof notes, "%s/notes", folder);
    unlink(notes);
    pid_t child = start(writer, notes);
    if (child < 0)
        return image_fault("cannot start %s: %s", writer, strerror(errno));
    double give_up_s = now_s() + 60;
    while (i % EARLY && !(read_notes(notes, noted) && any(noted)) && now_s() < give_up_s)
        usleep(200);
    usleep((useconds_t)(rand() % (i % EARLY ? MOST_US : MOST_US / 10)));
    int status, bad = 0;
    if (i % 4 == 1) { /* a rank that hangs */
        kill(child, SIGSTOP);
        if (waitpid(child, &status, WUNTRACED) != child || !WIFSTOPPED(status))
            return image_fault("%s did not stop", writer);
        int found = find_image(folder, image, sizeof image);
        bad =
            read_notes(notes, noted) && any(noted) && found == 1 ? check_ended(image, noted, 1) : 0;
    }
    kill(child, SIGKILL);
    if (waitpid(child, &status, 0) != child || !WIFSIGNALED(status))
        return image_fault("%s ended by itself", writer);
    int known = read_notes(notes, noted) && any(noted);
    int found = find_image(folder, image, sizeof image);
    if (found > 1 || (known && !found))
        return image_fault("%d images are in %s", found, folder);
    if (!found)
        return 0;
    bad = bad ? bad : check_ended(image, noted, 0);
    *visits += noted[0];
    if (!bad)
        unlink(image);
    return bad;
}

static int kill_many(const char *writer, const char *folder, int times)
{
    long visits = 0;
    setenv("RANKCLOCK_SPOOL", folder, 1);
    srand((unsigned)getpid());
    for (int i = 0; i < times; i++) {
        int bad = kill_once(writer, folder, i, &visits);
        if (bad)
            return image_fault("in life %d", i);
    }
    if (!visits)
        return image_fault("no life lasted until a visit");
    printf("%d lives, %ld visits of the outermost region\n", times, visits);
    return 0;
}

/* ---- cut short and damaged ---- */

static char *read_file(const char *file, size_t *bytes)
{
    FILE *in = fopen(file, "rb");
    char *data = in && fseek(in, 0, SEEK_END) == 0 ? malloc((size_t)ftell(in) + 1) : NULL;
    if (data) {
        *bytes = (size_t)ftell(in);
        rewind(in);
        *bytes = fread(data, 1, *bytes, in);
    }
    if (in)
        fclose(in);
    return data;
}

static int write_file(const char *file, const char *data, size_t bytes)
{
    FILE *out = fopen(file, "wb");
    size_t n = out ? fwrite(data, 1, bytes, out) : 0;
    return out && fclose(out) == 0 && n == bytes ? 0 : image_fault("cannot write %s", file);
}

/* Read all of a copy that may hold anything; the counts of one that can be read. */
static int read_copy(const char *file, int64_t visits[NOTED])
{
    struct rkc_view view;
    struct rkc_local local;
    char text[512] = "";
    int status = rkc_view_open(&view, file, text, sizeof text);
    memset(visits, 0, NOTED * sizeof *visits);
    if (status)
        return text[0] ? 0 : image_fault("status %d without a text", status);
    if (rkc_local_collect(&local, &view, 0) == 0) {
        for (uint32_t path = 0; path < local.paths.n_paths; path++) {
            struct rkc_path_hist hist;
            rkc_local_hist(&local, path, &hist);
        }
        for (int i = 0; i < NOTED; i++)
            visits[i] = image_visits(&local, noted_path[i]);
        rkc_local_free(&local);
    }
    rkc_view_close(&view);
    return 0;
}

/* No copy may hold more than the whole. */
static int cut(const char *data, size_t bytes, const char *copy, const int64_t whole[NOTED])
{
    int64_t visits[NOTED];
    size_t size = (size_t)rand() % (bytes + 1);
    if (write_file(copy, data, size) != 0 || read_copy(copy, visits) != 0)
        return 1;
    for (int i = 0; i < NOTED; i++)
        if (visits[i] > whole[i])
            return image_fault("cut to %zu bytes it has more visits of %s", size, noted_path[i]);
    return 0;
}

/* Words at random become what a counter, a unit or a size would do the most harm with. */
static int damage(const char *data, size_t bytes, const char *copy)
{
    const struct rkc_image_header *header = (const void *)data;
    size_t used = atomic_load(&header->used) < bytes ? atomic_load(&header->used) : bytes;
    static const uint64_t nasty[] = {
        0,  1,  UINT64_MAX, INT64_MAX, UINT64_C(1) << 63, UINT32_MAX, UINT64_C(0xffffffff00000000),
        64, 128};
    int64_t visits[NOTED];
    char *spoilt = malloc(bytes);
    if (!spoilt)
        return 1;
    memcpy(spoilt, data, bytes);
    for (int i = rand() % 50; i >= 0; i--) {
        uint64_t word =
            rand() % 4 ? nasty[(size_t)rand() % (sizeof nasty / sizeof *nasty)] : (uint64_t)rand();
        size_t width = rand() % 2 ? sizeof word : sizeof(uint32_t);
        size_t at = (size_t)rand() % (used / width) * width;
        memcpy(spoilt + at, &word, width);
    }
    int bad = write_file(copy, spoilt, bytes) != 0 || read_copy(copy, visits) != 0;
    free(spoilt);
    return bad;
}

static int spoil(const char *file, const char *folder, int times)
{
    char copy[4096];
    int64_t whole[NOTED];
    size_t bytes = 0;
    char *data = read_file(file, &bytes);
    int bad = !data || bytes < RKC_BLOCKS_START || read_copy(file, whole) != 0;
    if (bad || !any(whole))
        bad = image_fault("%s holds nothing to begin with", file);
    snprintf(copy, sizeof copy, "%s/copy.rkci", folder);
    for (int i = 0; i < times && !bad; i++) {
        unsigned seed = (unsigned)getpid() * 1000 + (unsigned)i;
        srand(seed);
        bad = i % 2 ? cut(data, bytes, copy, whole) : damage(data, bytes, copy);
        if (bad)
            image_fault("with seed %u", seed);
    }
    unlink(copy);
    free(data);
    return bad;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (strcmp(what, "show") == 0 && argc == 3)
        return show(argv[2]);
    if (strcmp(what, "work") == 0 && argc == 3)
        return work(argv[2]);
    if (strcmp(what, "watch") == 0 && argc == 4)
        return watch(argv[2], atof(argv[3]));
    if (strcmp(what, "kill") == 0 && argc == 5)
        return kill_many(argv[2], argv[3], atoi(argv[4]));
    if (strcmp(what, "spoil") == 0 && argc == 5)
        return spoil(argv[2], argv[3], atoi(argv[4]));
    fputs("usage: image_reader show|work|watch|kill|spoil ... (see its source)\n", stderr);
    return 2;
}
