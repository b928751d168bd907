/* The merge of many pretend ranks by a binomial tree, in one process.
 *
 *   merge_bench [-r RANKS] [-p PATHS]
 *
 * As in a reduction there are two passes, the call paths and then their numbers by windows,
 * and in each every rank joins what the subtrees below it sent to its own and sends it up.
 * Ranks meet their call paths in different orders. A few of these are collectives, in which ranks
 * wait, and move device memory. Prints, tabs between:
 *   merge_seconds  time of all ranks  -
 *   merge_root     memory that rank 0 needs, KiB  -
 * What rank 0 needs is what it holds while it receives: the subtrees, other ranks' business,
 * are finished and gone by then.
 */
#include "bench.h"

#include "pack.h"
#include "profile_mpi.h"

#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>

enum { ORDERS = 8, FANOUT = 4, VISITS = 10, WINDOW_PATHS = 64, MOVING = 16, GROUPS = 64 };

static struct rkc_buffer template[ORDERS];

static void need(int ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "merge_bench: %s failed\n", what);
        exit(1);
    }
}

static void add_path(struct rkc_profile *profile, int64_t path_of[], int i)
{
    char name[32];
    snprintf(name, sizeof name, "solver_step_%04d", i);
    int64_t region = rkc_profile_region_get(profile, RKC_REGION_USER, name, NULL, 0);
    need(region >= 0, "rkc_profile_region_get");
    path_of[i] =
        rkc_profile_path_get(profile, (uint32_t)path_of[(i - 1) / FANOUT], (uint32_t)region);
    need(path_of[i] >= 0, "rkc_profile_path_get");
}

/* The same tree in each template; the children of a path come in a rotated order. */
static void make_template(struct rkc_buffer *packed, int order, int n_paths)
{
    struct rkc_profile profile;
    int64_t *path_of = calloc((size_t)n_paths, sizeof *path_of);
    need(path_of != NULL, "calloc");
    rkc_profile_init(&profile, 0);
    int64_t root = rkc_profile_region_get(&profile, RKC_REGION_ROOT, "(run)", NULL, 0);
    path_of[0] = rkc_profile_path_get(&profile, RKC_NO_PATH, (uint32_t)root);
    need(root >= 0 && path_of[0] == 0, "the root");
    for (int first = 1; first < n_paths; first += FANOUT)
        for (int c = 0; c < FANOUT; c++) {
            int i = first + (c + order) % FANOUT;
            if (i < n_paths)
                add_path(&profile, path_of, i);
        }
    need(!rkc_profile_pack(&profile, packed), "rkc_profile_pack");
    rkc_profile_free(&profile);
    free(path_of);
}

/* Bytes that malloc has handed out. Resident memory would tell of fragmentation as well, by a
 * few hundred KiB that differ from run to run. */
static size_t held_bytes(void)
{
#if __GLIBC_PREREQ(2, 33)
    struct mallinfo2 held = mallinfo2();
#else
    struct mallinfo held = mallinfo();
#endif
    return (size_t)held.uordblks + (size_t)held.hblkhd;
}

/* The most that rank 0 held when it was looked at, above what the process had before. */
struct watch {
    size_t before_bytes, most_bytes;
};

static void look(struct watch *watch)
{
    size_t bytes = watch ? held_bytes() - watch->before_bytes : 0;
    if (watch && bytes > watch->most_bytes)
        watch->most_bytes = bytes;
}

static void receive_paths(struct rkc_profile *sum, struct rkc_buffer *message, struct watch *watch)
{
    struct rkc_cursor cursor = {message->data, message->data + message->size, 0};
    struct rkc_profile other;
    need(!rkc_profile_unpack(&other, &cursor), "rkc_profile_unpack");
    look(watch);
    rkc_buffer_free(message);
    need(!rkc_profile_merge(sum, &other, NULL), "rkc_profile_merge");
    look(watch);
    rkc_profile_free(&other);
}

/* A rank's waits in a communicator of all and in one of some, and what it sent from a device. */
static void move(struct rkc_profile *paths, uint32_t path, int32_t rank)
{
    const struct rkc_comm_id all = {1, INT32_MAX, 0}, some = {2, GROUPS, rank % GROUPS};
    struct rkc_transfer *row = rkc_profile_transfer_get(paths, path, RKC_KIND_DEVICE, rank % 8,
                                                        RKC_KIND_NONE, -1);
    need(row != NULL, "rkc_profile_transfer_get");
    row->sent = rank;
    row->size[rkc_size_bucket((uint64_t)rank)]++;
    need(!rkc_profile_wait_add(paths, path, &all, rank, VISITS, rank, RKC_ABSENT) &&
             !rkc_profile_wait_add(paths, path, &some, rank, VISITS, rank, RKC_ABSENT),
         "rkc_profile_wait_add");
}

static void make_paths(int32_t rank, struct rkc_profile *paths)
{
    const struct rkc_buffer *packed = &template[rank % ORDERS];
    struct rkc_cursor cursor = {packed->data, packed->data + packed->size, 0};
    need(!rkc_profile_unpack(paths, &cursor), "rkc_profile_unpack");
    need(!rkc_profile_ranks_add(paths, rank, rank), "rkc_profile_ranks_add");
    for (uint32_t path = 1; path <= MOVING && path < paths->n_paths; path++)
        move(paths, path, rank);
}

/* The size of the subtree below the child `span` ranks further on. */
static int32_t child_size(int32_t n, int32_t span)
{
    return n - span < span ? n - span : span;
}

static void send_paths(int32_t first, int32_t n, struct rkc_buffer *message)
{
    struct rkc_profile sum;
    make_paths(first, &sum);
    for (int32_t span = 1; span < n; span *= 2) {
        struct rkc_buffer part = {0};
        send_paths(first + span, child_size(n, span), &part);
        receive_paths(&sum, &part, NULL);
    }
    need(!rkc_profile_pack(&sum, message), "rkc_profile_pack");
    rkc_profile_free(&sum);
}

struct window {
    uint32_t first, n;
};

/* Durations differ between ranks and call paths by up to some dozen microseconds. */
static void make_numbers(int32_t rank, struct window window, struct rkc_buffer *packed)
{
    rkc_numbers_pack_begin(packed, window.first, window.n, window.n);
    for (uint32_t path = window.first; path < window.first + window.n; path++) {
        int64_t ns = 1000 + (int64_t)((uint32_t)rank * 2654435761u >> 16) + path;
        int64_t values[RKC_METRICS];
        struct rkc_path_hist hist = {0};
        for (int m = 0; m < RKC_METRICS; m++)
            values[m] = m >= RKC_HOST_METRICS     ? RKC_ABSENT
                        : m == RKC_METRIC_VISITS ? VISITS
                                                 : ns + m;
        hist.time[rkc_time_bucket((uint64_t)ns)] = VISITS;
        hist.size[rkc_size_bucket((uint64_t)ns)] = VISITS;
        hist.visit_sumsq_ns2 = (rkc_u128)ns * (rkc_u128)ns * VISITS;
        rkc_numbers_pack_path(packed, path, rank, values, &hist);
    }
    need(!packed->failed, "rkc_numbers_pack_path");
}

static void receive_numbers(struct rkc_numbers *sum, struct rkc_buffer *message,
                            struct watch *watch)
{
    struct rkc_cursor cursor = {message->data, message->data + message->size, 0};
    need(!rkc_numbers_merge_packed(sum, &cursor), "rkc_numbers_merge_packed");
    look(watch);
    rkc_buffer_free(message);
}

static void begin_numbers(int32_t rank, struct window window, struct rkc_numbers *sum)
{
    struct rkc_buffer own = {0};
    need(!rkc_numbers_init(sum, window.first, window.n), "rkc_numbers_init");
    make_numbers(rank, window, &own);
    receive_numbers(sum, &own, NULL);
}

static void send_numbers(int32_t first, int32_t n, struct window window, struct rkc_buffer *message)
{
    struct rkc_numbers sum;
    if (n == 1) {
        make_numbers(first, window, message);
        return;
    }
    begin_numbers(first, window, &sum);
    for (int32_t span = 1; span < n; span *= 2) {
        struct rkc_buffer part = {0};
        send_numbers(first + span, child_size(n, span), window, &part);
        receive_numbers(&sum, &part, NULL);
    }
    need(!rkc_numbers_pack(&sum, message), "rkc_numbers_pack");
    rkc_numbers_free(&sum);
}

static void merge_paths(int32_t ranks, struct rkc_profile *sum, struct watch *watch)
{
    make_paths(0, sum);
    for (int32_t span = 1; span < ranks; span *= 2) {
        struct rkc_buffer message = {0};
        send_paths(span, child_size(ranks, span), &message);
        receive_paths(sum, &message, watch);
    }
}

static void merge_numbers(int32_t ranks, struct window window, struct watch *watch)
{
    struct rkc_numbers sum;
    begin_numbers(0, window, &sum);
    for (int32_t span = 1; span < ranks; span *= 2) {
        struct rkc_buffer message = {0};
        send_numbers(span, child_size(ranks, span), window, &message);
        receive_numbers(&sum, &message, watch);
    }
    const struct rkc_stat *visits = &sum.stats[RKC_METRIC_VISITS];
    need(visits->ranks == ranks && visits->sum == (rkc_i128)ranks * VISITS,
         "the merge, which lost ranks,");
    rkc_numbers_free(&sum);
}

/* Returns what rank 0 needed, in bytes. */
static size_t merge_all(int32_t ranks, int n_paths)
{
    struct rkc_profile paths;
    struct watch watch = {held_bytes(), 0};
    merge_paths(ranks, &paths, &watch);
    need((int)paths.n_paths == n_paths && paths.n_ranks == 1 &&
             (n_paths <= MOVING || (paths.waits[0].ranks == ranks &&
                                    paths.waits[0].ns_sum == (int64_t)ranks * (ranks - 1) / 2)),
         "the merge, which lost or doubled call paths or waits,");
    for (uint32_t first = 0; first < paths.n_paths; first += WINDOW_PATHS) {
        uint32_t rest = paths.n_paths - first;
        struct window window = {first, rest < WINDOW_PATHS ? rest : WINDOW_PATHS};
        merge_numbers(ranks, window, &watch);
    }
    rkc_profile_free(&paths);
    return watch.most_bytes;
}

int main(int argc, char **argv)
{
    int ranks = 100000, n_paths = 500, option;
    while ((option = getopt(argc, argv, "r:p:")) != -1) {
        if (option == 'r')
            ranks = atoi(optarg);
        else if (option == 'p')
            n_paths = atoi(optarg);
        else
            return 2;
    }
    if (ranks < 2 || n_paths < 1) {
        fprintf(stderr, "usage: merge_bench [-r RANKS] [-p PATHS]\n");
        return 2;
    }
    for (int order = 0; order < ORDERS; order++)
        make_template(&template[order], order, n_paths);
    int64_t begin_ns = bench_now_ns();
    size_t root_bytes = merge_all(ranks, n_paths);
    printf("merge_seconds\t%.3f\t-\n", (double)(bench_now_ns() - begin_ns) / 1e9);
    printf("merge_root\t%.1f\t-\n", (double)root_bytes / 1024);
    for (int order = 0; order < ORDERS; order++)
        rkc_buffer_free(&template[order]);
    return 0;
}
