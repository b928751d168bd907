/* torture_checks.c - what a run has left is held against what its ranks had noted before they were
 * killed: an image counts at least what was noted as ended, and at most what was noted as begun. */
#define _GNU_SOURCE
#include "autoconf.h"

#include "torture.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rankclock/reader.h>

#include "image_checks.h"

static const char *const noted_path[NOTED] = {
#define NOTED_PATH(id, path) path,
    NOTED_LIST(NOTED_PATH)
#undef NOTED_PATH
};

/* What one rank, or all, have noted. */
struct noted {
    int64_t ended[NOTED], begun[NOTED];
};

static void add_notes(struct noted *noted, const struct notes *notes)
{
    for (int i = 0; i < NOTED; i++) {
        noted->ended[i] += atomic_load(&notes->of[i].ended);
        noted->begun[i] += atomic_load(&notes->of[i].begun);
    }
}

/* What an image has to have of its rank: all that was noted until its end or, where measuring ended
 * before that, until the run was hit. */
static struct noted noted_of(const struct job *job, int rank, int ended_before)
{
    struct noted noted = {{0}, {0}}, before = {{0}, {0}};
    add_notes(&noted, job->notes[rank]);
    add_notes(&before, &job->before[rank]);
    if (ended_before)
        memcpy(noted.ended, before.ended, sizeof noted.ended);
    return noted;
}

static int64_t sum_of(const int64_t counts[NOTED])
{
    int64_t sum = 0;
    for (int i = 0; i < NOTED; i++)
        sum += counts[i];
    return sum;
}

static int check_bounds(const char *what, int64_t got, int64_t least, int64_t most)
{
    if (got >= least && got <= most)
        return 0;
    return image_fault("%s: %lld, noted were %lld to %lld", what, (long long)got, (long long)least,
                       (long long)most);
}

static int check_visits(const int64_t visits[NOTED], const struct noted *noted)
{
    int bad = 0;
    for (int i = 0; i < NOTED && !bad; i++)
        bad = check_bounds(noted_path[i], visits[i], noted->ended[i], noted->begun[i]);
    return bad;
}

/* ---- files ---- */

struct paths {
    char *name[FILES_MAX];
    int n;
};

static int has_ending(const char *name, const char *ending)
{
    size_t length = strlen(name), size = strlen(ending);
    return length >= size && strcmp(name + length - size, ending) == 0;
}

/* Add what a folder has whose name ends so. */
static void list_folder(const char *folder, const char *ending, struct paths *paths)
{
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir)) && paths->n < FILES_MAX;)
        if (entry->d_name[0] != '.' && has_ending(entry->d_name, ending) &&
            asprintf(&paths->name[paths->n], "%s/%s", folder, entry->d_name) > 0)
            paths->n++;
    if (dir)
        closedir(dir);
}

static void free_paths(struct paths *paths)
{
    for (int i = 0; i < paths->n; i++)
        free(paths->name[i]);
    paths->n = 0;
}

static int remove_one(const char *path, const struct stat *stat_, int type, struct FTW *at)
{
    (void)stat_;
    (void)type;
    if (at->level > 0)
        remove(path);
    return 0;
}

void empty_folder(const char *folder)
{
    if (folder[0])
        nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

/* ---- images ---- */

/* The header of an image that was told its run; 0 where there is none yet. */
static int read_header(const char *path, struct rkc_image_header *header)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, header, sizeof *header);
    if (fd >= 0)
        close(fd);
    return n == (ssize_t)sizeof *header && atomic_load(&header->magic) == RKC_IMAGE_MAGIC &&
           header->run_id[0];
}

static void count_visits(const struct rkc_local *local, int64_t visits[NOTED])
{
    char name[1024];
    for (int i = 0; i < NOTED; i++)
        visits[i] = i == NOTED_FRESH ? 0 : image_visits(local, noted_path[i]);
    for (uint32_t path = 0; path < local->paths.n_paths; path++) {
        image_path_name(&local->paths, path, name, sizeof name);
        int64_t of_path = rkc_local_value(local, path, RKC_METRIC_VISITS);
        if (strncmp(name, noted_path[NOTED_FRESH], strlen(noted_path[NOTED_FRESH])) == 0 &&
            of_path > 0)
            visits[NOTED_FRESH] += of_path;
    }
}

static int64_t bytes_of(const struct rkc_local *local, int which, int metric)
{
    uint32_t path = image_path(local, noted_path[which]);
    int64_t bytes = path == RKC_NO_PATH ? 0 : rkc_local_value(local, path, metric);
    return bytes > 0 ? bytes : 0;
}

/* Bytes = calls x size; what was sent to the neighbour is in the matrix as well. */
static int check_bytes(const struct rkc_local *local, const struct noted *noted)
{
    int64_t messages = 0, bytes = 0;
    int64_t sent = bytes_of(local, NOTED_ISEND, RKC_METRIC_BYTES_SENT);
    int64_t received = bytes_of(local, NOTED_IRECV, RKC_METRIC_BYTES_RECEIVED);
    int64_t reduced = bytes_of(local, NOTED_ALLREDUCE, RKC_METRIC_BYTES_SENT);
    const int64_t *ended = noted->ended, *begun = noted->begun;
    for (uint32_t i = 0; i < local->n_peers; i++) {
        messages += local->peers[i].messages;
        bytes += local->peers[i].bytes;
    }
    int bad = check_bounds("bytes sent", sent, ended[NOTED_ISEND] * MESSAGE_BYTES,
                           begun[NOTED_ISEND] * MESSAGE_BYTES) ||
              check_bounds("bytes received", received, ended[NOTED_WAITALL] * MESSAGE_BYTES,
                           begun[NOTED_IRECV] * MESSAGE_BYTES) ||
              check_bounds("bytes reduced", reduced, ended[NOTED_ALLREDUCE] * REDUCED_BYTES,
                           begun[NOTED_ALLREDUCE] * REDUCED_BYTES) ||
              check_bounds("messages", messages, ended[NOTED_ISEND], begun[NOTED_ISEND]) ||
              check_bounds("bytes of messages", bytes, (messages - 1) * MESSAGE_BYTES,
                           messages * MESSAGE_BYTES);
    if (!bad && (sent % MESSAGE_BYTES || received % MESSAGE_BYTES || reduced % REDUCED_BYTES ||
                 bytes % MESSAGE_BYTES))
        bad = image_fault("%lld bytes sent, %lld received, %lld reduced: parts of a message",
                          (long long)sent, (long long)received, (long long)reduced);
    return bad;
}

static int check_image(const char *path, const struct notes *notes, const struct noted *noted)
{
    struct rkc_view view;
    struct rkc_local local;
    int64_t visits[NOTED];
    char text[512];
    if (rkc_view_open(&view, path, text, sizeof text) != 0)
        return image_fault("%s", text);
    int bad = view.live ? image_fault("%s is taken for a living process's", path) : 0;
    if (rkc_local_collect(&local, &view, 0) == 0) {
        count_visits(&local, visits);
        bad =
            bad || image_check(&local) || check_visits(visits, noted) || check_bytes(&local, noted);
        int32_t rank = atomic_load(&notes->rank);
        if (!bad && rank >= 0 && local.row.rank != rank)
            bad = image_fault("rank %d is taken for rank %d", rank, local.row.rank);
        rkc_local_free(&local);
    } else if (sum_of(noted->ended)) {
        bad = image_fault("%s: nothing can be collected", path);
    }
    rkc_view_close(&view);
    if (bad)
        image_fault("in %s", path);
    return bad;
}

/* Each image agrees with its rank's notes, and each rank that noted an end has one, unless all is
 * in a complete file. What has to be there is added to `least`. */
static int check_images(const struct paths *images, const struct job *job, int complete,
                        struct findings *findings, struct noted least[RANKS_MAX])
{
    int found[RANKS_MAX] = {0}, bad = 0;
    for (int i = 0; i < images->n && !bad; i++) {
        struct rkc_image_header header;
        int rank = 0;
        if (!read_header(images->name[i], &header)) {
            findings->unborn++;
            continue;
        }
        while (rank < job->n_notes && atomic_load(&job->notes[rank]->pid) != header.pid)
            rank++;
        if (rank == job->n_notes)
            return image_fault("%s is of process %d, which noted nothing", images->name[i],
                               header.pid);
        struct noted noted = noted_of(job, rank, (int)atomic_load(&header.clock.ended));
        findings->images++;
        bad = check_image(images->name[i], job->notes[rank], &noted);
        if (found[rank]++ == 0)
            least[rank] = noted;
    }
    for (int rank = 0; rank < job->n_notes && !bad && !complete; rank++) {
        struct noted noted = noted_of(job, rank, 0);
        if (!found[rank] && sum_of(noted.ended))
            bad = image_fault("rank %d, process %d, has left nothing",
                              atomic_load(&job->notes[rank]->rank),
                              atomic_load(&job->notes[rank]->pid));
    }
    return bad;
}

/* ---- the result file ---- */

static void path_name(const struct rkc_reader *reader, int32_t path, char *name, size_t size)
{
    size_t n, used = 0;
    const struct rkc_reader_path *paths = rkc_reader_paths(reader, &n);
    const struct rkc_reader_region *regions = rkc_reader_regions(reader, &n);
    if (paths[path].parent >= 0) {
        path_name(reader, paths[path].parent, name, size);
        used = strlen(name);
    }
    snprintf(name + used, size - used, "%s%s", used ? "/" : "", regions[paths[path].region].name);
}

/* Sums of what is noted; the histogram holds the visits that were timed, but none twice. */
static int sum_file(const struct rkc_reader *reader, int64_t visits[NOTED])
{
    char name[1024];
    size_t n, buckets;
    const int64_t *edges, *counts = rkc_reader_histogram(reader, &buckets, &edges);
    const struct rkc_reader_stat *stats = rkc_reader_profile(reader, "visits");
    rkc_reader_paths(reader, &n);
    memset(visits, 0, NOTED * sizeof *visits);
    for (size_t path = 0; stats && path < n; path++) {
        int64_t timed = 0;
        if (stats[path].ranks == 0) /* known, and not yet begun when it ended */
            continue;
        for (size_t bucket = 0; counts && bucket < buckets; bucket++)
            timed += counts[path * buckets + bucket];
        if (timed > stats[path].sum)
            return image_fault("the histogram holds %lld of %lld visits", (long long)timed,
                               (long long)stats[path].sum);
        path_name(reader, (int32_t)path, name, sizeof name);
        for (int i = 0; i < NOTED; i++) {
            int is_it = i == NOTED_FRESH ? strncmp(name, noted_path[i], strlen(noted_path[i])) == 0
                                         : strcmp(name, noted_path[i]) == 0;
            visits[i] += is_it ? stats[path].sum : 0;
        }
    }
    return stats ? 0 : image_fault("there are no visits");
}

/* A file has all that was in the images; one that says that it is complete has all. */
static int check_file(const char *path, const struct job *job, const struct noted least[RANKS_MAX],
                      int *is_complete)
{
    struct rkc_reader *reader;
    struct noted noted = {{0}, {0}};
    int64_t visits[NOTED];
    char text[512];
    if (rkc_reader_open(path, &reader, text, sizeof text) != 0)
        return image_fault("%s", text);
    *is_complete = rkc_reader_state(reader) == RKC_READER_COMPLETE;
    int all_came = job->n_notes == job->ranks;
    for (int rank = 0; rank < job->n_notes; rank++) {
        struct noted all = noted_of(job, rank, 0);
        for (int i = 0; i < NOTED; i++) {
            noted.ended[i] += *is_complete ? all.ended[i] : least[rank].ended[i];
            noted.begun[i] += all.begun[i];
        }
        all_came &= atomic_load(&job->notes[rank]->stage) >= STAGE_LAST;
    }
    int bad = *is_complete && !all_came
                  ? image_fault("it is COMPLETE, and not all ranks came to MPI_Finalize")
                  : 0;
    bad = bad || sum_file(reader, visits) || check_visits(visits, &noted);
    rkc_reader_close(reader);
    if (bad)
        image_fault("in %s", path);
    return bad;
}

/* ---- all of it ---- */

/* A folder for what the launcher, killed itself, has not made a file of. */
static int recover(const struct places *places, const struct paths *images, int spooled)
{
    const char *command = getenv("RKC_COMMAND");
    char folder[PATH_ROOM + 16], file[PATH_ROOM + 16];
    struct rkc_image_header header;
    int known = 0;
    for (int i = 0; i < images->n && !known; i++)
        known = read_header(images->name[i], &header);
    if (!known)
        return 0;
    snprintf(folder, sizeof folder, "%s/run.h5.partial", places->out);
    snprintf(file, sizeof file, "%s/run.h5", places->out);
    const char *const gather[] = {command,  "gather",      "--move", "--run", header.run_id,
                                  "--from", places->spool, folder,   NULL};
    const char *const recover[] = {command, "recover", folder, "-o", file, NULL};
    int status = spooled ? run_command(places, gather) : 0;
    if (status != 0)
        return image_fault("rankclock gather ends with status %d", status);
    status = run_command(places, recover);
    return status == 0 ? 0 : image_fault("rankclock recover ends with status %d", status);
}

/* Images of the run that are nobody's yet, and anything that no one knows: faults. */
static int check_rest(const struct places *places, const struct job *job)
{
    struct paths left = {.n = 0};
    struct rkc_image_header header;
    int bad = 0;
    list_folder(places->spool, "", &left);
    for (int i = 0; i < left.n && !bad; i++) {
        /* A page that not all ranks had come to: whoever would remove it was killed, too. */
        int is_known = job->all_were_hit && has_ending(left.name[i], ".node");
        if (!is_known && (read_header(left.name[i], &header) || !has_ending(left.name[i], ".rkci")))
            bad = image_fault("%s is left", left.name[i]);
    }
    DIR *dir = opendir(places->out);
    for (struct dirent *entry; dir && !bad && (entry = readdir(dir));) {
        const char *name = entry->d_name;
        /* What a writer was killed over. */
        int is_known = job->all_were_hit && name[0] == '.' && has_ending(name, ".tmp");
        if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && strncmp(name, "run.", 4) != 0 &&
            !is_known)
            bad = image_fault("%s is left in %s", name, places->out);
    }
    if (dir)
        closedir(dir);
    free_paths(&left);
    return bad;
}

static int check_files(const struct places *places, const struct job *job, int expected,
                       const struct noted least[RANKS_MAX], struct findings *findings)
{
    struct paths files = {.n = 0};
    int bad = 0, is_complete = 0;
    list_folder(places->out, ".h5", &files);
    if (files.n > 1 || files.n < expected)
        bad = image_fault("there are %d result files", files.n);
    for (int i = 0; i < files.n && !bad; i++)
        bad = check_file(files.name[i], job, least, &is_complete);
    findings->files += files.n;
    findings->complete += is_complete;
    free_paths(&files);
    return bad;
}

static int is_complete_there(const struct places *places)
{
    struct paths files = {.n = 0};
    struct rkc_reader *reader;
    char text[512];
    int found = 0;
    list_folder(places->out, ".h5", &files);
    for (int i = 0; i < files.n; i++)
        if (rkc_reader_open(files.name[i], &reader, text, sizeof text) == 0) {
            found |= rkc_reader_state(reader) == RKC_READER_COMPLETE;
            rkc_reader_close(reader);
        }
    free_paths(&files);
    return found;
}

/* Those that a rank was not killed over before they were one. */
static int count_born(const struct paths *images)
{
    struct rkc_image_header header;
    int born = 0;
    for (int i = 0; i < images->n; i++)
        born += read_header(images->name[i], &header);
    return born;
}

int check_left(const struct places *places, const struct job *job, struct findings *findings)
{
    struct paths images = {.n = 0}, folders = {.n = 0}, files = {.n = 0};
    struct noted noted = {{0}, {0}}, least[RANKS_MAX] = {{{0}, {0}}};
    int complete = is_complete_there(places), bad;
    for (int i = 0; i < job->n_notes; i++)
        add_notes(&noted, job->notes[i]);
    findings->noted += sum_of(noted.ended);
    findings->open += sum_of(noted.begun) - sum_of(noted.ended);
    list_folder(places->spool, ".rkci", &images);
    int spooled = count_born(&images);
    list_folder(places->out, ".partial", &folders);
    for (int i = 0; i < folders.n; i++)
        list_folder(folders.name[i], ".rkci", &images);
    list_folder(places->out, ".h5", &files);
    bad = check_images(&images, job, complete, findings, least);
    if (!bad && images.n && !complete && (spooled || (job->all_were_hit && !files.n)))
        bad = recover(places, &images, spooled);
    if (!bad)
        bad = check_files(places, job, sum_of(noted.ended) > 0, least, findings);
    if (!bad && !(complete && job->all_were_hit))
        bad = check_rest(places, job);
    free_paths(&images);
    free_paths(&folders);
    free_paths(&files);
    return bad;
}
