/* report_gpu.c - the devices: what events tell of them, and "-" for what they cannot. Time outside
 * GPU regions is not seen, so that what is covered is not what is busy, and nothing is idle. */
#include "autoconf.h"

#include "report.h"
#include "text.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { INDENT = 5 };

/* ---- the numbers ---- */

/* Sum over call paths of a metric's sums over ranks; 0 if nothing has it. */
static double sum_over_paths(const struct rkc_reader *reader, const char *metric)
{
    size_t n;
    const struct rkc_reader_stat *stats = rkc_reader_profile(reader, metric);
    double sum = 0;
    rkc_reader_paths(reader, &n);
    for (size_t i = 0; stats && i < n; i++)
        sum += stats[i].ranks > 0 ? (double)stats[i].sum : 0;
    return sum;
}

static void measure_visits(struct rkc_report *report)
{
    static const struct rkc_report_reason reasons[] = {
        {"device_captured", "captured into a graph", 0},
        {"device_pool", "too many pending (RANKCLOCK_GPU_EVENTS)", 0},
        {"device_no_context", "a default stream without a context", 0},
        {"device_lost", "the context went away", 0},
        {"device_error", "the driver refused", 0},
    };
    struct rkc_report_gpu *gpu = &report->gpu;
    memcpy(gpu->reasons, reasons, sizeof reasons);
    gpu->visits = sum_over_paths(report->reader, "device_visits");
    gpu->device_ns = sum_over_paths(report->reader, "device_ns");
    for (int i = 0; i < RKC_REPORT_REASONS; i++) {
        gpu->reasons[i].visits = sum_over_paths(report->reader, gpu->reasons[i].metric);
        gpu->lost += gpu->reasons[i].visits;
    }
    double lag_visits = sum_over_paths(report->reader, "launch_lag_visits");
    if (lag_visits > 0)
        gpu->lag_ns = sum_over_paths(report->reader, "launch_lag_ns") / lag_visits;
}

/* Waiting for the device is what is neither useful nor MPI; without any region that is marked as
 * waiting, nobody knows how long it was. */
static void measure_waits(struct rkc_report *report)
{
    size_t n;
    const struct rkc_reader_rank *ranks = rkc_reader_ranks(report->reader, &n);
    double wall_ns = 0, wait_ns = 0;
    for (size_t i = 0; i < n; i++) {
        double own_ns =
            (double)ranks[i].wall_ns - (double)ranks[i].mpi_ns - (double)ranks[i].useful_ns;
        wall_ns += (double)ranks[i].wall_ns;
        if (ranks[i].mpi_ns >= 0 && ranks[i].useful_ns >= 0 && own_ns > 0)
            wait_ns += own_ns;
    }
    if (!(wait_ns > 0))
        return;
    report->gpu.wait_ns = wait_ns / (double)n;
    report->gpu.offload = (wall_ns - wait_ns) / wall_ns;
}

/* Each rank's coverage of its devices, and what each device has of all ranks. */
static void measure_coverage(struct rkc_report *report)
{
    struct rkc_report_gpu *gpu = &report->gpu;
    size_t n, n_ranks, at = 0;
    const struct rkc_reader_device_use *use = rkc_reader_device_use(report->reader, &n);
    const struct rkc_reader_rank *ranks = rkc_reader_ranks(report->reader, &n_ranks);
    double covered_sum = 0, possible_sum = 0;
    for (size_t i = 0; i < n;) {
        double covered = 0, possible = 0;
        int32_t rank = use[i].rank;
        while (at < n_ranks && ranks[at].rank < rank)
            at++;
        for (; i < n && use[i].rank == rank; i++) {
            covered += (double)use[i].covered_ns;
            possible += (double)ranks[at].wall_ns;
            gpu->devices[use[i].device].covered_ns += (double)use[i].covered_ns;
            gpu->devices[use[i].device].ranks++;
        }
        covered_sum += covered;
        possible_sum += possible;
        gpu->n_ranks++;
        if (possible > 0 && !(covered / possible >= gpu->least_coverage)) {
            gpu->least_coverage = covered / possible;
            gpu->least = rank;
        }
    }
    if (possible_sum > 0)
        gpu->coverage = covered_sum / possible_sum;
}

static void measure_devices(struct rkc_report *report)
{
    struct rkc_report_gpu *gpu = &report->gpu;
    double sum = 0, most = 0;
    for (size_t i = 0; i < gpu->n_devices; i++) {
        sum += gpu->devices[i].covered_ns;
        most = fmax(most, gpu->devices[i].covered_ns);
        gpu->n_shared += gpu->devices[i].ranks > 1;
    }
    if (most > 0)
        gpu->balance = sum / (double)gpu->n_devices / most;
}

static int has_gpu_region(const struct rkc_reader *reader)
{
    size_t n;
    rkc_reader_paths(reader, &n);
    for (size_t i = 0; i < n; i++)
        if (rkc_report_stat(reader, "device_visits", (uint32_t)i))
            return 1;
    return 0;
}

int rkc_report_measure_gpu(struct rkc_report *report)
{
    struct rkc_report_gpu *gpu = &report->gpu;
    *gpu = (struct rkc_report_gpu){.coverage = NAN, .least_coverage = NAN, .least = -1,
                                   .balance = NAN, .lag_ns = NAN, .offload = NAN, .wait_ns = NAN};
    rkc_reader_devices(report->reader, &gpu->n_devices);
    gpu->exists = gpu->n_devices > 0 || has_gpu_region(report->reader);
    gpu->devices = calloc(gpu->n_devices + 1, sizeof *gpu->devices);
    if (!gpu->devices)
        return RKC_ENOMEM;
    if (!gpu->exists)
        return 0;
    measure_visits(report);
    measure_waits(report);
    measure_coverage(report);
    measure_devices(report);
    return 0;
}

/* ---- the texts ---- */

void rkc_report_device_name(const struct rkc_reader *reader, size_t i, char *out, size_t size)
{
    size_t n;
    char node[RKC_NAME_CELL];
    const struct rkc_reader_device *device = &rkc_reader_devices(reader, &n)[i];
    rkc_text_fit(device->node, 24, rkc_text_utf8(), node, sizeof node);
    if (device->pci_bus_id[0])
        snprintf(out, size, "%s %.23s", node, device->pci_bus_id);
    else if (device->uuid[0])
        snprintf(out, size, "%s %.47s", node, device->uuid);
    else
        snprintf(out, size, "%s device %" PRId32, node, device->index);
}

/* "r0-r3, r8": the ranks of a device, as far as they fit. */
void rkc_report_device_ranks(const struct rkc_reader *reader, size_t device, char *out, size_t size)
{
    size_t n, used = 0;
    const struct rkc_reader_device_use *use = rkc_reader_device_use(reader, &n);
    int32_t first = -2, last = -2;
    out[0] = '\0';
    for (size_t i = 0; i <= n && used + 40 < size; i++) {
        if (i < n && use[i].device != (int32_t)device)
            continue;
        if (i < n && use[i].rank == last)
            continue;
        if (i < n && use[i].rank == last + 1) {
            last++;
            continue;
        }
        if (first >= 0)
            used += (size_t)snprintf(out + used, size - used, last > first ? "%sr%d-r%d" : "%sr%d",
                                     used ? ", " : "", first, last);
        if (i < n)
            first = last = use[i].rank;
        else
            return;
    }
    snprintf(out + used, size - used, ", ...");
}

void rkc_report_gpu_kind(const struct rkc_report *report, char *out, size_t size)
{
    size_t n;
    char name[RKC_NAME_CELL];
    const struct rkc_reader_device *devices = rkc_reader_devices(report->reader, &n);
    int is_one = n > 0 && devices[0].name[0];
    for (size_t i = 1; i < n; i++)
        is_one &= strcmp(devices[i].name, devices[0].name) == 0;
    out[0] = '\0';
    if (n == 0)
        return;
    rkc_text_fit(is_one ? devices[0].name : n == 1 ? "GPU" : "GPUs", 30, rkc_text_utf8(), name,
                 sizeof name);
    snprintf(out, size, ", %zu %s", n, name);
}

/* The devices that several ranks use, as many as a line holds. */
static void print_shared(const struct rkc_report *report, const struct rkc_page *page)
{
    const struct rkc_report_gpu *gpu = &report->gpu;
    char text[RKC_NAME_CELL];
    size_t shown = 0;
    size_t used = (size_t)snprintf(text, sizeof text, "shared by ranks: ");
    for (size_t i = 0; i < gpu->n_devices; i++) {
        char name[128], ranks[128], more[300];
        if (gpu->devices[i].ranks < 2)
            continue;
        rkc_report_device_name(report->reader, i, name, sizeof name);
        rkc_report_device_ranks(report->reader, i, ranks, sizeof ranks);
        snprintf(more, sizeof more, "%s%s %s", shown ? "; " : "", name, ranks);
        if (shown > 0 && page->lines != INT_MAX &&
            used + strlen(more) + INDENT + 12 > (size_t)page->columns)
            break;
        if (used + strlen(more) + 12 > sizeof text)
            break;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s", more);
        shown++;
    }
    if (shown < gpu->n_shared)
        snprintf(text + used, sizeof text - used, "; %zu more", gpu->n_shared - shown);
    fprintf(page->out, "%*s", INDENT, "");
    rkc_text_wrap(page->out, text, INDENT, page->columns);
}

/* As a ratio, but never 0.00 where it is not 0. */
static char *coverage_text(double coverage, char out[RKC_CELL_MAX])
{
    if (coverage > 0 && coverage < 0.005)
        snprintf(out, RKC_CELL_MAX, "<.01");
    else
        rkc_text_ratio(coverage, out);
    return out;
}

void rkc_report_print_gpu(const struct rkc_report *report, const struct rkc_page *page)
{
    const struct rkc_report_gpu *gpu = &report->gpu;
    if (!gpu->exists)
        return;
    char mean[RKC_CELL_MAX], least[RKC_CELL_MAX], on[RKC_CELL_MAX], balance[RKC_CELL_MAX];
    char lag[RKC_CELL_MAX] = "-", offload[RKC_CELL_MAX], wait[RKC_CELL_MAX];
    if (gpu->lag_ns >= 0)
        snprintf(lag, sizeof lag, "%.1f us", gpu->lag_ns / 1000);
    fprintf(page->out,
            "\nGPU  %zu/%zu ranks use one: coverage of wall %s mean, %s least (%s) | GPU balance %s\n",
            gpu->n_ranks, report->n_ranks, coverage_text(gpu->coverage, mean),
            coverage_text(gpu->least_coverage, least), rkc_text_rank(gpu->least, on),
            rkc_text_ratio(gpu->balance, balance));
    fprintf(page->out, "     launch lag %s | host offload %s | GPU wait s %s | GPU idle -\n", lag,
            rkc_text_ratio(gpu->offload, offload),
            rkc_text_seconds(gpu->wait_ns, rkc_text_decimals(report->wall_ns), wait));
    if (gpu->n_shared > 0)
        print_shared(report, page);
}

void rkc_report_print_device_visits(const struct rkc_report *report, const struct rkc_page *page,
                                    uint32_t path)
{
    const struct rkc_reader *reader = report->reader;
    const struct rkc_reader_stat *visits = rkc_report_stat(reader, "device_visits", path);
    const struct rkc_reader_stat *time = rkc_report_stat(reader, "device_ns", path);
    const struct rkc_reader_stat *lag = rkc_report_stat(reader, "launch_lag_ns", path);
    const struct rkc_reader_stat *lag_visits = rkc_report_stat(reader, "launch_lag_visits", path);
    if (!visits)
        return;
    char text[512], count[RKC_CELL_MAX], mean[RKC_CELL_MAX], delay[RKC_CELL_MAX];
    double mean_ns = time && visits->sum > 0 ? (double)time->sum / (double)visits->sum : NAN;
    double lag_ns = lag && lag_visits ? (double)lag->sum / (double)lag_visits->sum : NAN;
    size_t used = (size_t)snprintf(
        text, sizeof text, "on the device: %s visits, mean %s s, launch lag %s s",
        rkc_text_count((double)visits->sum, count), rkc_text_seconds(mean_ns, 6, mean),
        rkc_text_seconds(lag_ns, 6, delay));
    for (int i = 0; i < RKC_REPORT_REASONS; i++) {
        const struct rkc_report_reason *reason = &report->gpu.reasons[i];
        const struct rkc_reader_stat *lost = rkc_report_stat(reader, reason->metric, path);
        if (lost && used < sizeof text)
            used += (size_t)snprintf(text + used, sizeof text - used, "; %s not timed: %s",
                                     rkc_text_count((double)lost->sum, count), reason->text);
    }
    rkc_text_wrap(page->out, text, 2, page->columns);
}
