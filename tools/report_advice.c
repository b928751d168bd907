/* report_advice.c - the rules about what MPI moved and where it lay. Only what is known to be so is
 * said: memory that nobody could tell is not device memory. */
#include "autoconf.h"

#include "report.h"
#include "text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double many_small = 0.25;
static const double some_gaps = 0.01;
static const double some_managed = 0.01;
enum { SMALL_BYTES = 1024, LEAST_MESSAGES = 1000, LIST_COLUMNS = 60 };

static int is_kind(const struct rkc_reader_transfer *row, const char *kind)
{
    return strcmp(row->send_kind, kind) == 0 || strcmp(row->recv_kind, kind) == 0;
}

/* Operations of a row, and those whose bucket ends at SMALL_BYTES or before. */
static double operations(const struct rkc_reader *reader, const struct rkc_reader_transfer *row,
                         double *small)
{
    const int64_t *edges;
    size_t n = rkc_reader_size_buckets(reader, &edges);
    double all = 0;
    *small = 0;
    for (size_t i = 0; i < n; i++) {
        all += (double)row->size_histogram[i];
        *small += edges[i + 1] <= SMALL_BYTES ? (double)row->size_histogram[i] : 0;
    }
    return all;
}

static void judge_small(struct rkc_report *report)
{
    size_t n;
    const struct rkc_reader_transfer *rows = rkc_reader_transfers(report->reader, &n);
    double all = 0, small = 0, most = 0;
    uint32_t where = 0;
    for (size_t i = 0; i < n; i++) {
        double few;
        uint32_t path = (uint32_t)rows[i].callpath;
        if (!is_kind(&rows[i], "device") ||
            !rkc_report_is_message(rkc_report_region_name(report->reader, path)))
            continue;
        all += operations(report->reader, &rows[i], &few);
        small += few;
        if (few > most) {
            most = few;
            where = path;
        }
    }
    char percent[RKC_CELL_MAX], count[RKC_CELL_MAX];
    if (small >= LEAST_MESSAGES && small >= many_small * all)
        rkc_report_find(report, "W9",
                        "%s %% of %s messages from or to device memory are < 1 KiB, most in %s: "
                        "aggregate per neighbour",
                        rkc_text_percent(small / all, percent), rkc_text_count(all, count),
                        rkc_report_spot(report, where).text);
}

static void judge_gaps(struct rkc_report *report)
{
    size_t n;
    const struct rkc_reader_transfer *rows = rkc_reader_transfers(report->reader, &n);
    const struct rkc_reader_transfer *most = NULL;
    for (size_t i = 0; i < n; i++) {
        double few, gaps = (double)rows[i].noncontiguous;
        double all = operations(report->reader, &rows[i], &few);
        if ((is_kind(&rows[i], "device") || is_kind(&rows[i], "managed")) && gaps > 0 &&
            gaps >= some_gaps * all && (!most || rows[i].ns > most->ns))
            most = &rows[i];
    }
    if (!most)
        return;
    double few, all = operations(report->reader, most, &few);
    char gaps[RKC_CELL_MAX], count[RKC_CELL_MAX];
    rkc_report_find(report, "W10",
                    "%s of %s operations of %s on %s memory have a datatype with gaps: pack them "
                    "on the device",
                    rkc_text_count((double)most->noncontiguous, gaps), rkc_text_count(all, count),
                    rkc_report_spot(report, (uint32_t)most->callpath).text,
                    is_kind(most, "device") ? "device" : "managed");
}

static void judge_managed(struct rkc_report *report)
{
    size_t n;
    const struct rkc_reader_transfer *rows = rkc_reader_transfers(report->reader, &n);
    double all = 0, managed = 0, most = 0;
    uint32_t where = 0;
    for (size_t i = 0; i < n; i++) {
        double sent = (double)rows[i].bytes_sent, received = (double)rows[i].bytes_received;
        double own = (strcmp(rows[i].send_kind, "managed") == 0 ? fmax(sent, 0) : 0) +
                     (strcmp(rows[i].recv_kind, "managed") == 0 ? fmax(received, 0) : 0);
        all += fmax(sent, 0) + fmax(received, 0);
        managed += own;
        if (own > most) {
            most = own;
            where = (uint32_t)rows[i].callpath;
        }
    }
    char percent[RKC_CELL_MAX], bytes[RKC_CELL_MAX];
    if (managed > 0 && managed >= some_managed * all)
        rkc_report_find(report, "W11",
                        "%s %% of %s that MPI moved is managed memory, most in %s: MPI lacks fast "
                        "paths for it",
                        rkc_text_percent(managed / all, percent), rkc_text_volume(all, bytes),
                        rkc_report_spot(report, where).text);
}

static void judge_aware(struct rkc_report *report)
{
    size_t n;
    const struct rkc_reader_transfer *rows = rkc_reader_transfers(report->reader, &n);
    const char *aware = rkc_reader_job(report->reader, "gpu_aware");
    double calls = 0;
    if (!aware || strcmp(aware, "yes") == 0)
        return;
    for (size_t i = 0; i < n; i++) {
        double small;
        if (is_kind(&rows[i], "device"))
            calls += operations(report->reader, &rows[i], &small);
    }
    char count[RKC_CELL_MAX];
    if (calls > 0)
        rkc_report_find(report, "W12",
                        "%s operations on device memory, and MPI %s: they may be staged through "
                        "the host",
                        rkc_text_count(calls, count),
                        strcmp(aware, "no") == 0 ? "says that it is not GPU-aware"
                                                 : "does not say whether it is GPU-aware");
}

static void judge_numa(struct rkc_report *report)
{
    size_t n, n_devices, far = 0;
    const struct rkc_reader_device_use *use = rkc_reader_device_use(report->reader, &n);
    const struct rkc_reader_device *devices = rkc_reader_devices(report->reader, &n_devices);
    const struct rkc_reader_device_use *first = NULL;
    int32_t last = -1;
    for (size_t i = 0; i < n; i++) {
        int32_t near_to = devices[use[i].device].numa_node;
        if (near_to < 0 || use[i].rank_numa_node < 0 || near_to == use[i].rank_numa_node)
            continue;
        first = first ? first : &use[i];
        far += use[i].rank != last;
        last = use[i].rank;
    }
    if (!first)
        return;
    char name[160], device[160];
    rkc_report_rank_name(report, first->rank, name, sizeof name);
    rkc_report_device_name(report->reader, (size_t)first->device, device, sizeof device);
    rkc_report_find(report, "W13",
                    "%zu rank%s far from %s GPU: %s on NUMA node %" PRId32 ", %s at node %" PRId32
                    ": bind near it",
                    far, far == 1 ? " is" : "s are", far == 1 ? "its" : "their", name,
                    first->rank_numa_node, device, devices[first->device].numa_node);
}

static void judge_others(struct rkc_report *report)
{
    const struct rkc_report_matrix *matrix = &report->matrix;
    char name[160], count[RKC_CELL_MAX], bytes[RKC_CELL_MAX], percent[RKC_CELL_MAX];
    if (!(matrix->others.messages > 0))
        return;
    rkc_report_rank_name(report, matrix->others_rank, name, sizeof name);
    rkc_report_find(report, "W16",
                    "%s messages, %s (%s %% of all bytes), are not told apart by rank; most of %s "
                    "(RANKCLOCK_MATRIX_PEERS)",
                    rkc_text_count(matrix->others.messages, count),
                    rkc_text_volume(matrix->others.bytes, bytes),
                    rkc_text_percent(matrix->others.bytes / matrix->all.bytes, percent), name);
}

static void judge_tools(struct rkc_report *report)
{
    const char *tools = rkc_reader_job(report->reader, "other_tools");
    char text[RKC_NAME_CELL];
    if (!tools || !tools[0])
        return;
    rkc_text_fit(tools, LIST_COLUMNS, rkc_text_utf8(), text, sizeof text);
    rkc_report_find(report, "W15", "other tools in the program, whose cost is in the times: %.250s",
                    text);
}

void rkc_report_judge_mpi(struct rkc_report *report)
{
    judge_aware(report);
    judge_small(report);
    judge_gaps(report);
    judge_managed(report);
    judge_numa(report);
    judge_others(report);
    judge_tools(report);
}

void rkc_report_judge_settings(struct rkc_report *report)
{
    const char *settings = rkc_reader_job(report->reader, "perturbing");
    char text[RKC_NAME_CELL];
    if (!settings || !settings[0])
        return;
    rkc_text_fit(settings, LIST_COLUMNS, rkc_text_utf8(), text, sizeof text);
    rkc_report_find(report, "W14",
                    "%.250s changed the program's timing: do not compare with runs without it",
                    text);
}
