/* show_file.c - print a result file for shell tests to grep: show_file FILE.
 *
 *   file COMPLETE ranks 1
 *   rank 0 finalized threads 2 open -
 *   device 0 node7 GPU-... 0000:3b:00.0 NVIDIA H200
 *   use rank 0 device 0 index 0 covered_ns 1234 device_ns 1300
 *   note unclosed 1 step
 *   path (run)/step visits 10 inclusive_ns 1234 ... timed 10
 *   region step user app.c 12
 *   transfer (run)/step/MPI_Send device 0 none -1 calls 4 sent 4096 received 0 noncontiguous 1
 *   wait (run)/MPI_Barrier size 4 first 0 ranks 4 calls 2 wait_ns 1234 awaited 3
 *   pair 0 1 messages 4 bytes 4096
 *
 * A call path's line has the sums over ranks of all metrics that it has, and as `timed` the visits
 * in its histogram.
 */
#include "autoconf.h"

#include <stdio.h>
#include <string.h>

#include <rankclock/reader.h>

static const char *region_name(const struct rkc_reader *reader, int32_t region)
{
    size_t n;
    const struct rkc_reader_region *regions = rkc_reader_regions(reader, &n);
    return region >= 0 && (size_t)region < n ? regions[region].name : "-";
}

static void print_name(const struct rkc_reader *reader, int32_t path)
{
    size_t n;
    const struct rkc_reader_path *paths = rkc_reader_paths(reader, &n);
    if (path < 0) {
        putchar('-');
        return;
    }
    if (paths[path].parent >= 0) {
        print_name(reader, paths[path].parent);
        putchar('/');
    }
    fputs(region_name(reader, paths[path].region), stdout);
}

static void print_path(const struct rkc_reader *reader, size_t path)
{
    size_t buckets;
    const int64_t *edges, *counts = rkc_reader_histogram(reader, &buckets, &edges);
    const char *metric;
    long long timed = 0;
    printf("path ");
    print_name(reader, (int32_t)path);
    for (size_t i = 0; (metric = rkc_reader_metric(reader, i)); i++) {
        const struct rkc_reader_stat *stats = rkc_reader_profile(reader, metric);
        if (stats && stats[path].ranks > 0)
            printf(" %s %lld", metric, (long long)stats[path].sum);
    }
    for (size_t bucket = 0; counts && bucket < buckets; bucket++)
        timed += counts[path * buckets + bucket];
    printf(" timed %lld\n", timed);
}

static void print_ranks(const struct rkc_reader *reader)
{
    static const char *const states[] = {"COMPLETE", "PARTIAL", "ABORTED"};
    size_t n;
    const struct rkc_reader_rank *ranks = rkc_reader_ranks(reader, &n);
    printf("file %s ranks %zu\n", states[rkc_reader_state(reader)], n);
    for (size_t i = 0; i < n; i++) {
        printf("rank %d %s threads %d open ", ranks[i].rank, ranks[i].state, ranks[i].threads);
        print_name(reader, ranks[i].open_callpath);
        putchar('\n');
    }
}

static void print_devices(const struct rkc_reader *reader)
{
    size_t n;
    const struct rkc_reader_device *devices = rkc_reader_devices(reader, &n);
    for (size_t i = 0; i < n; i++)
        printf("device %zu %s %s %s %s\n", i, devices[i].node, devices[i].uuid,
               devices[i].pci_bus_id, devices[i].name);
    const struct rkc_reader_device_use *use = rkc_reader_device_use(reader, &n);
    for (size_t i = 0; i < n; i++)
        printf("use rank %d device %d index %d covered_ns %lld device_ns %lld\n", use[i].rank,
               use[i].device, use[i].index, (long long)use[i].covered_ns,
               (long long)use[i].device_ns);
}

static int print_pair(void *context, const struct rkc_reader_pair *pair)
{
    (void)context;
    printf("pair %d %d messages %lld bytes %lld\n", pair->source, pair->target,
           (long long)pair->messages, (long long)pair->bytes);
    return 0;
}

static void print_mpi(struct rkc_reader *reader)
{
    size_t n;
    const struct rkc_reader_transfer *row = rkc_reader_transfers(reader, &n);
    for (; n > 0; n--, row++) {
        printf("transfer ");
        print_name(reader, row->callpath);
        printf(" %s %d %s %d calls %lld sent %lld received %lld noncontiguous %lld\n",
               row->send_kind, row->send_device, row->recv_kind, row->recv_device,
               (long long)row->calls, (long long)row->bytes_sent, (long long)row->bytes_received,
               (long long)row->noncontiguous);
    }
    const struct rkc_reader_wait *wait = rkc_reader_waits(reader, &n);
    for (; n > 0; n--, wait++) {
        printf("wait ");
        print_name(reader, wait->callpath);
        printf(" size %d first %d ranks %d calls %lld wait_ns %lld awaited %d\n", wait->comm_size,
               wait->comm_first, wait->ranks, (long long)wait->calls, (long long)wait->wait_ns,
               wait->awaited_rank);
    }
    if (rkc_reader_matrix(reader, print_pair, NULL) != 0)
        puts("pairs damaged");
}

int main(int argc, char **argv)
{
    struct rkc_reader *reader;
    char text[512];
    size_t n;
    if (argc != 2) {
        fputs("usage: show_file FILE\n", stderr);
        return 2;
    }
    if (rkc_reader_open(argv[1], &reader, text, sizeof text) != 0) {
        fprintf(stderr, "%s\n", text);
        return 1;
    }
    print_ranks(reader);
    print_devices(reader);
    const struct rkc_reader_note *notes = rkc_reader_notes(reader, &n);
    for (size_t i = 0; i < n; i++)
        printf("note %s %lld %s\n", notes[i].kind, (long long)notes[i].count,
               region_name(reader, notes[i].region));
    const struct rkc_reader_region *regions = rkc_reader_regions(reader, &n);
    for (size_t i = 0; i < n; i++)
        printf("region %s %s %s %d\n", regions[i].name, regions[i].kind, regions[i].file,
               regions[i].line);
    rkc_reader_paths(reader, &n);
    for (size_t path = 0; path < n; path++)
        print_path(reader, path);
    print_mpi(reader);
    rkc_reader_close(reader);
    return 0;
}
