/* report_file.c - write a result file for the tests of reports: report_file WHAT OUTPUT.
 *
 *   plain    two ranks of a program that names no region; half of their time is MPI
 *   odd      one of two ranks killed; sampling, threads, and names that want to harm a terminal
 *   many     more regions, MPI call paths and notes than fit on a screen
 *   gpu      two ranks, of which one uses two devices and shares one with the other
 *   many_gpu the same regions as many, all with device time on many devices
 *   startup  one rank whose time is MPI_Init, small messages and the tool's own cost
 *   mpi      four ranks on two nodes that wait for the last one, and send from device memory
 *   full     the same, killed, with notes and settings, and two ranks that share a device
 *   sync     two ranks with a barrier before each collective
 *   odd_mpi  numbers and ranks as large as they can be, and names that want to harm a terminal
 *
 * Times are whole milliseconds, so that every number of a report can be computed by hand.
 */
#include "autoconf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rankclock/status.h>

#include "profile_mpi.h"
#include "sink/hdf5.h"

enum { RANKS_MAX = 4, PEERS_MAX = 8, MS = 1000000, ROOT = 0 };

struct file {
    struct rkc_job job;
    struct rkc_profile profile;
    struct rkc_rank_row rows[RANKS_MAX];
    struct rkc_rank_device
        devices[RANKS_MAX * RKC_RANK_DEVICES_MAX]; /* in the order of the ranks */
    struct rkc_rank_peer peers[PEERS_MAX];         /* the same */
    int n_ranks, n_devices, n_peers;
    enum rkc_file_status status;
};

/* What a rank spent in a call path, ms; all of a negative `wall` is absent. */
struct spent {
    int wall, own, mpi, useful;
};

static void need(int64_t status)
{
    if (status < 0) {
        fprintf(stderr, "report_file: %s\n", rkc_strerror((int)status));
        exit(1);
    }
}

static void put(struct file *file, uint32_t path, int metric, int64_t value, int rank)
{
    struct rkc_stat one;
    rkc_stat_set(&one, value, rank);
    rkc_stat_merge(&rkc_profile_stats(&file->profile, path)[metric], &one);
}

static uint32_t add_path(struct file *file, uint32_t parent, enum rkc_region_kind kind,
                         const char *name)
{
    int64_t region = rkc_profile_region_get(&file->profile, kind, name, NULL, 0);
    need(region);
    int64_t path = rkc_profile_path_get(&file->profile, parent, (uint32_t)region);
    need(path);
    return (uint32_t)path;
}

/* A call path that each rank visited `visits` times. */
static uint32_t add(struct file *file, uint32_t parent, enum rkc_region_kind kind, const char *name,
                    int64_t visits, const struct spent spent[])
{
    uint32_t path = add_path(file, parent, kind, name);
    for (int rank = 0; rank < file->n_ranks; rank++) {
        if (spent[rank].wall < 0)
            continue;
        put(file, path, RKC_METRIC_VISITS, visits, rank);
        put(file, path, RKC_METRIC_INCLUSIVE, (int64_t)spent[rank].wall * MS, rank);
        put(file, path, RKC_METRIC_SLOWEST_THREAD, (int64_t)spent[rank].wall * MS, rank);
        put(file, path, RKC_METRIC_EXCLUSIVE, (int64_t)spent[rank].own * MS, rank);
        put(file, path, RKC_METRIC_MPI, (int64_t)spent[rank].mpi * MS, rank);
        put(file, path, RKC_METRIC_USEFUL, (int64_t)spent[rank].useful * MS, rank);
        put(file, path, RKC_METRIC_THREADS, 1, rank);
    }
    return path;
}

/* An MPI call; ranks beyond the second take as long as the second, but for the last of four. */
static uint32_t add_calls(struct file *file, uint32_t parent, const char *name, int64_t visits,
                          int first_ms, int others_ms, int last_ms)
{
    struct spent spent[RANKS_MAX];
    for (int rank = 0; rank < RANKS_MAX; rank++) {
        int ms = rank == 0 ? first_ms : rank == RANKS_MAX - 1 ? last_ms : others_ms;
        spent[rank] = (struct spent){ms, ms, ms, 0};
    }
    return add(file, parent, RKC_REGION_MPI, name, visits, spent);
}

static uint32_t add_call(struct file *file, uint32_t parent, const char *name, int64_t visits,
                         int first_ms, int second_ms)
{
    return add_calls(file, parent, name, visits, first_ms, second_ms, second_ms);
}

/* The rows of the ranks and the root: wall, MPI_Init, MPI and useful time in ms. */
static void begin(struct file *file, int n_ranks, const int times[][4])
{
    *file = (struct file){.n_ranks = n_ranks, .status = RKC_FILE_COMPLETE};
    rkc_job_init(&file->job);
    rkc_profile_init(&file->profile, 1);
    need(rkc_job_set(&file->job, "command", "./solver -i big.nml"));
    need(rkc_job_set(&file->job, "mpi_library", "Open MPI v9.9, package: someone@somewhere"));
    need(rkc_job_set(&file->job, "per_rank_rows", "none"));
    file->job.start_unix_ns = INT64_C(1777629720) * 1000 * MS; /* 2026-05-01 10:02 UTC */
    file->job.ranks = n_ranks;
    file->job.overhead_ns = 0;
    need(rkc_profile_ranks_add(&file->profile, 0, n_ranks - 1));

    struct spent spent[RANKS_MAX];
    for (int rank = 0; rank < n_ranks; rank++) {
        const int *time = times[rank];
        spent[rank] = (struct spent){time[0], 0, time[2], time[3]};
        file->rows[rank] = (struct rkc_rank_row){.rank = rank,
                                                 .pid = 100 + rank,
                                                 .threads = 1,
                                                 .state = RKC_STATE_FINALIZED,
                                                 .open_path = RKC_NO_PATH,
                                                 .wall_ns = (int64_t)time[0] * MS,
                                                 .init_ns = (int64_t)time[1] * MS,
                                                 .mpi_ns = (int64_t)time[2] * MS,
                                                 .useful_ns = (int64_t)time[3] * MS,
                                                 .start_unix_ns = file->job.start_unix_ns,
                                                 .measured_until_unix_ns = file->job.start_unix_ns};
        snprintf(file->rows[rank].node, sizeof file->rows[rank].node, "secret%d", rank);
    }
    file->job.wall_ns = (int64_t)times[0][0] * MS;
    add(file, RKC_NO_PATH, RKC_REGION_ROOT, "(run)", 1, spent);
}

static void make_plain(struct file *file)
{
    static const int times[][4] = {{1000, 100, 500, 500}, {1000, 100, 600, 400}};
    begin(file, 2, times);
    need(rkc_job_set(&file->job, "gpu", "none: the program has not loaded libcuda.so.1"));
    add_call(file, ROOT, "MPI_Init", 1, 100, 100);
    uint32_t send = add_call(file, ROOT, "MPI_Send", 100, 300, 100);
    for (int rank = 0; rank < 2; rank++)
        put(file, send, RKC_METRIC_BYTES_SENT, 100 * 8192, rank);
    file->profile.numbers.hist[send].size[rkc_size_bucket(8192)] = 200;
    add_call(file, ROOT, "MPI_Barrier", 10, 100, 400);
}

static void make_odd(struct file *file)
{
    static const int times[][4] = {{2000, 0, 200, 1800}, {2000, 0, 1000, 1000}};
    begin(file, 2, times);
    struct spent all[] = {{1000, 1000, 0, 1000}, {500, 500, 0, 500}};
    struct spent one[] = {{100, 100, 0, 100}, {-1, 0, 0, 0}};
    uint32_t threads = add(file, ROOT, RKC_REGION_USER, "threads", 4, all);
    put(file, threads, RKC_METRIC_THREADS, 4, 0);
    uint32_t sampled = add(file, ROOT, RKC_REGION_USER, "sampled", 10, one);
    put(file, sampled, RKC_METRIC_SAMPLED_OUT, 8, 0);
    char longest[256];
    memset(longest, 'x', sizeof longest);
    memcpy(longest, "first", 5);
    memcpy(longest + 250, "last", 5);
    add(file, ROOT, RKC_REGION_USER, longest, 1, one);
    add(file, ROOT, RKC_REGION_USER,
        "gr\xc3\xb6\xc3\x9f"
        "e",
        1, one);
    add(file, ROOT, RKC_REGION_USER,
        "trick\xe2\x80\xae"
        "ed",
        1, one);
    uint32_t wait = add_call(file, threads, "MPI_Waitall", 7, 200, 1000);
    need(rkc_profile_note_add(&file->profile, RKC_NOTE_UNCLOSED,
                              file->profile.paths[threads].region, 1, 2, NULL));
    file->rows[1].state = RKC_STATE_SIGNAL;
    file->rows[1].signal = 9;
    file->rows[1].open_path = wait;
    file->status = RKC_FILE_ABORTED;
}

static void make_many(struct file *file)
{
    static const int times[][4] = {{9000, 0, 100, 8900}, {9000, 0, 100, 8900}};
    static const enum rkc_note_kind kinds[] = {RKC_NOTE_UNCLOSED, RKC_NOTE_DEPTH, RKC_NOTE_NODES,
                                               RKC_NOTE_LOST,     RKC_NOTE_CLOCK, RKC_NOTE_REQUESTS,
                                               RKC_NOTE_FREED,    RKC_NOTE_NAMES};
    begin(file, 2, times);
    uint32_t parent = ROOT;
    for (int i = 0; i < 300; i++) {
        char name[32];
        int ms = 4000 - 10 * i;
        struct spent spent[] = {{ms, 10, 0, ms}, {ms, 10, 0, ms}};
        snprintf(name, sizeof name, "level_%d", i);
        parent = add(file, i % 30 ? parent : ROOT, RKC_REGION_USER, name, 1, spent);
        snprintf(name, sizeof name, "MPI_Call_%d", i);
        add_call(file, parent, name, 1, 1, 1);
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        need(rkc_profile_note_add(&file->profile, kinds[i], RKC_NO_PATH, 0, 5, NULL));
}

/* Give a rank one more device. Ranks are given theirs in their order; they are on one node. */
static void add_device(struct file *file, int rank, const char *uuid, int covered_ms, int sum_ms)
{
    struct rkc_rank_device *device = &file->devices[file->n_devices++];
    *device = (struct rkc_rank_device){.index = file->rows[rank].n_devices++,
                                       .driver_version = 12080,
                                       .covered_ns = (int64_t)covered_ms * MS,
                                       .ns = (int64_t)sum_ms * MS,
                                       .name = "NVIDIA H200"};
    snprintf(device->uuid, sizeof device->uuid, "GPU-%s", uuid);
    snprintf(file->rows[rank].node, sizeof file->rows[rank].node, "secret0");
    file->job.device_uses++;
}

static void put_device(struct file *file, uint32_t path, int64_t visits, int ms, int rank)
{
    put(file, path, RKC_METRIC_DEVICE_VISITS, visits, rank);
    put(file, path, RKC_METRIC_DEVICE, (int64_t)ms * MS, rank);
}

static void make_gpu(struct file *file)
{
    static const int times[][4] = {{1000, 0, 200, 600}, {1000, 0, 300, 700}};
    begin(file, 2, times);
    struct spent kernels[] = {{600, 500, 0, 400}, {600, 600, 0, 600}};
    struct spent copies[] = {{100, 100, 0, 100}, {-1, 0, 0, 0}};
    uint32_t kernel = add(file, ROOT, RKC_REGION_USER, "kernel", 100, kernels);
    uint32_t copy = add(file, kernel, RKC_REGION_USER, "copy", 10, copies);
    add_call(file, ROOT, "MPI_Wait", 10, 200, 300);
    need(rkc_job_set(&file->job, "gpu", "cuda 12.8"));
    need(rkc_job_set(&file->job, "gpu_driver", "570.86"));
    put_device(file, kernel, 95, 120, 0);
    put_device(file, kernel, 100, 40, 1);
    put_device(file, copy, 10, 40, 0);
    put(file, kernel, RKC_METRIC_DEVICE_CAPTURED, 3, 0);
    put(file, kernel, RKC_METRIC_DEVICE_POOL, 2, 0);
    put(file, kernel, RKC_METRIC_LAG, 90 * 20000, 0);
    put(file, kernel, RKC_METRIC_LAG_VISITS, 90, 0);
    add_device(file, 0, "shared", 100, 120);
    add_device(file, 0, "alone", 50, 40);
    add_device(file, 1, "shared", 50, 40);
}

static void make_many_gpu(struct file *file)
{
    make_many(file);
    for (uint32_t path = 1; path < file->profile.n_paths; path++)
        for (int rank = 0; rank < 2; rank++)
            put_device(file, path, 1, 1, rank);
    for (int rank = 0; rank < 2; rank++)
        for (int i = 0; i < RKC_RANK_DEVICES_MAX; i++) {
            char uuid[16];
            snprintf(uuid, sizeof uuid, "%d", i);
            add_device(file, rank, uuid, 10, 20);
        }
}

static void make_startup(struct file *file)
{
    static const int times[][4] = {{1000, 600, 800, 200}};
    begin(file, 1, times);
    add_call(file, ROOT, "MPI_Init", 1, 600, 0);
    uint32_t send = add_call(file, ROOT, "MPI_Send", 2000, 200, 0);
    put(file, send, RKC_METRIC_BYTES_SENT, 2000 * 96, 0);
    file->profile.numbers.hist[send].size[rkc_size_bucket(96)] = 2000;
    file->job.overhead_ns = INT64_C(50) * MS;
}

/* ---- what MPI moved ---- */

/* Operations of a call path in other memory than the host's. */
static struct rkc_transfer *put_transfer(struct file *file, uint32_t path,
                                         enum rkc_memory_kind send_kind, int send_device,
                                         enum rkc_memory_kind recv_kind, int recv_device)
{
    struct rkc_transfer *row = rkc_profile_transfer_get(&file->profile, path, send_kind,
                                                        send_device, recv_kind, recv_device);
    need(row ? 0 : RKC_ENOMEM);
    return row;
}

/* What one rank spent in the collectives of a call path and communicator. */
static void put_wait(struct file *file, uint32_t path, uint64_t key, int size, int rank,
                     int64_t calls, int ms, int sync_ms)
{
    int64_t ns = (int64_t)ms * MS;
    struct rkc_wait wait = {.path = path,
                            .ranks = 1,
                            .least_rank = rank,
                            .comm = {key, size, 0},
                            .calls_min = calls,
                            .calls_max = calls,
                            .ns_sum = ns,
                            .ns_min = ns,
                            .ns_max = ns,
                            .sync_ns = sync_ms < 0 ? RKC_ABSENT : (int64_t)sync_ms * MS};
    need(rkc_profile_wait_merge(&file->profile, &wait));
}

/* In the order of the ranks that counted them, which `rank` is. */
static void put_peer(struct file *file, int rank, int32_t source, int32_t target, int64_t messages,
                     int64_t bytes)
{
    file->peers[file->n_peers++] = (struct rkc_rank_peer){source, target, messages, bytes};
    file->rows[rank].n_peers++;
}

/* 4000 sends: 3000 of 512 bytes from device 0; of 64 KiB, 500 from device 1, most of them with
 * gaps, and 500 from the host. */
static void add_sends(struct file *file, uint32_t halo)
{
    uint32_t send = add_call(file, halo, "MPI_Isend", 1000, 10, 10);
    uint64_t *size = file->profile.numbers.hist[send].size;
    for (int rank = 0; rank < 4; rank++) {
        put(file, send, RKC_METRIC_BYTES_SENT, 750 * 512 + 250 * 65536, rank);
        put(file, send, RKC_METRIC_BLOCKED, 5 * MS, rank);
        put(file, send, RKC_METRIC_IN_FLIGHT, 50 * MS, rank);
    }
    size[rkc_size_bucket(512)] = 3000;
    size[rkc_size_bucket(65536)] = 1000;
    struct rkc_transfer *row = put_transfer(file, send, RKC_KIND_DEVICE, 0, RKC_KIND_NONE, -1);
    row->sent = 3000 * 512;
    row->ns = 10 * MS;
    row->blocked_ns = 4 * MS;
    row->in_flight_ns = 100 * MS;
    row->size[rkc_size_bucket(512)] = 3000;
    row = put_transfer(file, send, RKC_KIND_DEVICE, 1, RKC_KIND_NONE, -1);
    row->sent = 500 * 65536;
    row->ns = 20 * MS;
    row->blocked_ns = 4 * MS;
    row->in_flight_ns = 60 * MS;
    row->noncontiguous = 400;
    row->size[rkc_size_bucket(65536)] = 500;
}

/* All receives are into managed memory. */
static void add_receives(struct file *file, uint32_t halo)
{
    uint32_t receive = add_call(file, halo, "MPI_Irecv", 250, 2, 2);
    for (int rank = 0; rank < 4; rank++)
        put(file, receive, RKC_METRIC_BYTES_RECEIVED, 250 * 65536, rank);
    file->profile.numbers.hist[receive].size[rkc_size_bucket(65536)] = 1000;
    struct rkc_transfer *row = put_transfer(file, receive, RKC_KIND_NONE, -1, RKC_KIND_MANAGED, -1);
    row->received = 1000 * 65536;
    row->ns = 8 * MS;
    row->size[rkc_size_bucket(65536)] = 1000;
}

static void make_mpi(struct file *file)
{
    static const int times[][4] = {
        {1000, 0, 600, 400}, {1000, 0, 600, 400}, {1000, 0, 600, 400}, {1000, 0, 200, 800}};
    begin(file, 4, times);
    need(rkc_job_set(&file->job, "gpu_aware", "no"));
    need(rkc_job_set(&file->job, "mpi_standard", "3.1"));
    need(rkc_job_set(&file->job, "thread_level", "MPI_THREAD_SINGLE"));
    need(rkc_job_set(&file->job, "other_tools", "libmpiP.so"));
    struct spent solve[] = {{450, 0, 450, 0}, {450, 0, 450, 0}, {450, 0, 450, 0}, {50, 0, 50, 0}};
    struct spent halo[] = {{20, 8, 12, 8}, {20, 8, 12, 8}, {20, 8, 12, 8}, {20, 8, 12, 8}};
    struct spent work[] = {
        {400, 400, 0, 400}, {400, 400, 0, 400}, {400, 400, 0, 400}, {800, 800, 0, 800}};
    add(file, ROOT, RKC_REGION_USER, "work", 10, work);
    uint32_t solving = add(file, ROOT, RKC_REGION_USER, "solve", 10, solve);
    uint32_t sum = add_calls(file, solving, "MPI_Allreduce", 100, 430, 430, 30);
    uint32_t meet = add_calls(file, solving, "MPI_Barrier", 10, 20, 20, 20);
    for (int rank = 0; rank < 4; rank++) {
        snprintf(file->rows[rank].node, sizeof file->rows[rank].node, "secret%d", rank / 2);
        put_wait(file, sum, 11, 4, rank, 100, rank == 3 ? 30 : 430, -1);
        put(file, sum, RKC_METRIC_BYTES_SENT, 800, rank);
        put(file, sum, RKC_METRIC_BYTES_RECEIVED, 800, rank);
    }
    file->profile.numbers.hist[sum].size[rkc_size_bucket(8)] = 400;
    put_wait(file, meet, 12, 2, 0, 10, 20, -1);
    put_wait(file, meet, 12, 2, 1, 9, 20, -1);
    uint32_t exchange = add(file, ROOT, RKC_REGION_USER, "halo", 10, halo);
    add_sends(file, exchange);
    add_receives(file, exchange);
    put_peer(file, 0, 0, 1, 100, 1000000);
    put_peer(file, 0, 0, 2, 50, 4000000);
    put_peer(file, 0, 3, 0, 5, 1000000);
    put_peer(file, 1, 1, -1, 7, 2000000);
    put_peer(file, 3, 3, 0, 10, 2000000);
    add_device(file, 0, "far", 0, 0);
    file->devices[0].numa_node = 1;
    file->devices[0].rank_numa_node = 0;
}

static void make_full(struct file *file)
{
    make_mpi(file);
    uint32_t parent = ROOT, last = 0;
    struct spent spent[] = {{90, 10, 0, 90}, {90, 10, 0, 90}, {90, 10, 0, 90}, {90, 10, 0, 90}};
    for (int i = 0; i < 30; i++) {
        char name[200];
        snprintf(name, sizeof name, "a_region_of_a_name_that_is_rather_long_for_a_line_%d", i);
        parent = add(file, parent, RKC_REGION_USER, name, 1, spent);
        snprintf(name, sizeof name, "MPI_Call_%d", i);
        last = add_call(file, parent, name, 1, 1, 1);
        put_device(file, parent, 1, 1, 0);
        put(file, parent, RKC_METRIC_DEVICE_CAPTURED, 1, 0);
    }
    for (int kind = 0; kind < 8; kind++)
        need(rkc_profile_note_add(&file->profile, (enum rkc_note_kind)kind, RKC_NO_PATH, 0, 5,
                                  NULL));
    add_device(file, 1, "far", 0, 0);
    need(rkc_job_set(&file->job, "perturbing", "RANKCLOCK_GPU_SYNC, RANKCLOCK_MPI_SYNC"));
    for (int rank = 1; rank < 4; rank++) {
        file->rows[rank].state = RKC_STATE_SIGNAL;
        file->rows[rank].open_path = rank == 1 ? last : parent;
    }
    file->job.overhead_ns = INT64_C(500) * MS;
    file->status = RKC_FILE_ABORTED;
}

static void make_sync(struct file *file)
{
    static const int times[][4] = {{1000, 0, 100, 900}, {1000, 0, 200, 800}};
    begin(file, 2, times);
    need(rkc_job_set(&file->job, "perturbing", "RANKCLOCK_MPI_SYNC"));
    need(rkc_job_set(&file->job, "gpu_aware", "unknown"));
    uint32_t sum = add_call(file, ROOT, "MPI_Allreduce", 10, 60, 150);
    put_wait(file, sum, 1, 2, 0, 10, 60, 20);
    put_wait(file, sum, 1, 2, 1, 10, 150, 130);
    uint32_t spread = add_call(file, ROOT, "MPI_Bcast", 10, 40, 50);
    put_wait(file, spread, 1, 2, 0, 10, 30, 30);
    put_wait(file, spread, 1, 2, 1, 10, 10, 10);
}

static void make_odd_mpi(struct file *file)
{
    static const int times[][4] = {{1000, 0, 900, 100}, {1000, 0, 900, 100}};
    static const enum rkc_memory_kind kinds[] = {RKC_KIND_NONE,    RKC_KIND_HOST,
                                                 RKC_KIND_PINNED,  RKC_KIND_DEVICE,
                                                 RKC_KIND_MANAGED, RKC_KIND_UNKNOWN};
    const int64_t most = INT64_MAX;
    begin(file, 2, times);
    file->job.ranks = INT32_MAX;
    need(rkc_job_set(&file->job, "other_tools", "\033[31mred\n\xe2\x80\xaetool"));
    need(rkc_job_set(&file->job, "perturbing", "\033[2J"));
    need(rkc_job_set(&file->job, "gpu_aware", "\033[1mperhaps, who would know, and when"));
    uint32_t sum = add_call(file, ROOT, "MPI_Allreduce", 10, 450, 450);
    uint32_t send = add_call(file, ROOT, "MPI_Start_\033[31mall", 10, 450, 450);
    put(file, send, RKC_METRIC_BYTES_SENT, most, 0);
    put(file, send, RKC_METRIC_BYTES_RECEIVED, most, 0);
    for (int from = 0; from < 6; from++)
        for (int to = 0; to < 6; to++) {
            struct rkc_transfer *row =
                put_transfer(file, send, kinds[from], kinds[from] == RKC_KIND_DEVICE ? 32767 : -1,
                             kinds[to], kinds[to] == RKC_KIND_DEVICE ? 32767 : -1);
            row->sent = row->received = row->ns = row->blocked_ns = row->in_flight_ns = most;
            row->noncontiguous = most;
            for (int i = 0; i < RKC_SIZE_BUCKETS; i++)
                row->size[i] = (uint64_t)most;
        }
    struct rkc_comm_id comm = {UINT64_MAX, INT32_MAX, INT32_MAX - 1};
    need(rkc_profile_wait_add(&file->profile, sum, &comm, 1, most, most, most));
    put_peer(file, 0, INT32_MAX - 1, 0, most, most);
    put_peer(file, 0, 0, INT32_MAX - 2, most, most);
    put_peer(file, 0, -1, 0, most, most);
    put_peer(file, 1, 1, 1, 0, most);
}

/* ---- the file ---- */

/* The metrics that some rank has. */
static uint32_t find_metrics(const struct rkc_profile *profile)
{
    uint32_t metrics = 0;
    for (uint32_t path = 0; path < profile->n_paths; path++)
        for (int metric = 0; metric < RKC_METRICS; metric++)
            metrics |= (uint32_t)(rkc_profile_stats(profile, path)[metric].ranks > 0) << metric;
    return metrics;
}

static int write_file(struct file *file, const char *output)
{
    char text[RKC_SINK_TEXT_MAX] = "";
    struct rkc_sink *sink;
    struct rkc_rows rows = {(uint32_t)file->n_ranks,
                            file->profile.n_paths,
                            file->rows,
                            NULL,
                            file->devices,
                            file->peers};
    struct rkc_rank_range none = {0, 0};
    file->job.metrics = find_metrics(&file->profile);
    int status = rkc_sink_hdf5_open(output, 0644, &sink, text);
    if (status == 0) {
        status = sink->ops->job(sink, &file->job);
        if (status == 0)
            status = sink->ops->profile(sink, &file->profile);
        if (status == 0) {
            struct rkc_numbers numbers = file->profile.numbers;
            numbers.n = file->profile.n_paths;
            status = sink->ops->numbers(sink, &numbers);
        }
        if (status == 0)
            status = sink->ops->rows(sink, &rows);
        if (status == 0)
            status = sink->ops->finish(sink, file->status, &none, 0, text);
        sink->ops->close(sink);
    }
    if (status != 0)
        fprintf(stderr, "report_file: %s\n", text[0] ? text : rkc_strerror(status));
    rkc_profile_free(&file->profile);
    rkc_job_free(&file->job);
    return status != 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*make)(struct file *file);
    } files[] = {{"plain", make_plain},    {"odd", make_odd},           {"many", make_many},
                 {"gpu", make_gpu},        {"many_gpu", make_many_gpu}, {"startup", make_startup},
                 {"mpi", make_mpi},        {"full", make_full},         {"sync", make_sync},
                 {"odd_mpi", make_odd_mpi}};
    struct file file;
    for (size_t i = 0; argc == 3 && i < sizeof files / sizeof *files; i++)
        if (strcmp(argv[1], files[i].name) == 0) {
            files[i].make(&file);
            return write_file(&file, argv[2]);
        }
    fputs("usage: report_file plain|odd|many|gpu|many_gpu|startup|mpi|full|sync|odd_mpi OUTPUT\n",
          stderr);
    return 2;
}
