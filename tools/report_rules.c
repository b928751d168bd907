/* report_rules.c - what the numbers say in words: one rule, one threshold, one sentence each. */
#include "autoconf.h"

#include "report.h"
#include "text.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const double good_parallel = 0.90;
static const double good_balance = 0.90;
static const double long_init = 0.10;
static const double high_overhead = 0.02;
static const double telling_share = 0.05;
static const double same_excess = 0.80;
static const double half_of_loss = 0.50;
static const double low_coverage = 0.25;
static const double many_lost = 0.01;
enum { SMALL_MESSAGE_BYTES = 1024 };

static const struct rkc_rule rules[] = {
    {"V1", "No rank was measured, or nothing but whole-run times: no region, no MPI call."},
    {"V2", "No MPI call was recorded: the region with most exclusive time is named."},
    {"V3", "Parallel efficiency of the run is 0.90 or more: computation dominates."},
    {"V4",
     "Efficiency below 0.90, and what the others waited for one rank in symmetric collectives, a "
     "lower bound, is half of the time lost or more: ranks x elapsed less useful time. If that "
     "rank has the most useful time, the region is named where it has, as in V5."},
    {"V5",
     "Efficiency below 0.90 otherwise, and imbalance loses at least as much as communication: "
     "(most - mean useful time) / elapsed against (elapsed - most useful time) / elapsed. The "
     "region named is the innermost one that has 80 % of the excess of the one around it, excess "
     "being most less mean useful time."},
    {"V6",
     "Efficiency below 0.90 otherwise: MPI is the loss, and the MPI call path with most time is "
     "named, MPI_Init apart."},
    {"W1", "MPI_Init took 10 % or more of the ranks' mean wall time."},
    {"W2",
     "The tool's own cost, as estimated, is 2 % or more of the ranks' wall time: do not trust "
     "the times of regions and calls that are visited most."},
    {"W3", "Load balance is below 0.90 although it is not the main loss."},
    {"W4",
     "A point-to-point call path moves messages of less than 1 KiB on average and costs, in the "
     "call or blocked in its completion, 5 % or more of the ranks' mean wall time."},
    {"W5", "Several ranks share a device: the one with most of them is named."},
    {"W6", "GPU regions cover less than 25 % of the wall time of the ranks that use a device."},
    {"W7",
     "1 % or more of the visits of GPU regions have no device time: the most frequent reason is "
     "named."},
    {"W8", "The program has GPU regions, and no driver was there to time them: why is named."},
    {"W9",
     "25 % or more of the messages from or to device memory, point to point or one-sided, and at "
     "least 1000, are smaller than 1 KiB: each costs as much as a large one. The call path with "
     "most of them is named."},
    {"W10",
     "1 % or more of a call path's operations on device or managed memory have a datatype with "
     "gaps, which many MPI libraries copy piece by piece: pack it on the device. The one with "
     "most time is named."},
    {"W11",
     "1 % or more of the bytes that MPI moved were in managed memory, for which MPI libraries "
     "lack fast paths, and which moves between host and device itself."},
    {"W12",
     "The program gave MPI device memory, and the MPI library does not say that it takes it: "
     "what works then may go through the host."},
    {"W13",
     "A rank ran, when it first used a device, on another NUMA node of the host than the "
     "device's: bind ranks to the processors near their devices."},
    {"W14",
     "A setting was on that changes the program's timing: do not compare with runs without it."},
    {"W15",
     "Another tool sees the MPI calls, too, or is preloaded: what it costs is in the times."},
    {"W16",
     "Some messages are not told apart by rank: the other one is of another world, or beyond "
     "RANKCLOCK_MATRIX_PEERS. The rank with most bytes of them is named."},
    {"W17",
     "The others waited 5 % of the ranks' wall time or more for one rank in symmetric "
     "collectives, although it is not the main loss."},
};

const struct rkc_rule *rkc_report_rules(size_t *n)
{
    *n = sizeof rules / sizeof *rules;
    return rules;
}

void rkc_report_find(struct rkc_report *report, const char *rule, const char *format, ...)
{
    if (report->n_findings == RKC_REPORT_FINDINGS)
        return;
    struct rkc_finding *finding = &report->findings[report->n_findings++];
    finding->rule = rule;
    va_list values;
    va_start(values, format);
    vsnprintf(finding->text, sizeof finding->text, format, values);
    va_end(values);
}

struct rkc_spot rkc_report_spot(const struct rkc_report *report, uint32_t path)
{
    char name[RKC_NAME_CELL];
    struct rkc_spot spot;
    rkc_report_path(report->reader, path, name, sizeof name);
    rkc_text_fit(name, 60, rkc_text_utf8(), spot.text, sizeof spot.text);
    return spot;
}

/* The region other than the root with the most exclusive time, or NULL. */
static const struct rkc_report_region *busiest(const struct rkc_report *report)
{
    const struct rkc_report_region *most = NULL;
    for (size_t i = 1; i < report->n_regions; i++)
        if (report->regions[i].exclusive_ns > (most ? most->exclusive_ns : 0))
            most = &report->regions[i];
    return most;
}

static double excess(const struct rkc_report *report, const struct rkc_report_region *region)
{
    const struct rkc_reader_stat *useful =
        rkc_report_stat(report->reader, "useful_ns", region->path);
    if (!useful)
        return 0;
    return (double)useful->max - (double)useful->sum / (double)report->n_ranks;
}

/* The innermost region where the excess of useful time over the mean arises, or NULL. */
static const struct rkc_report_region *imbalanced(const struct rkc_report *report)
{
    const struct rkc_report_region *at = NULL;
    int32_t row = 0;
    double least = 0;
    for (;;) {
        const struct rkc_report_region *best = NULL;
        double most = least;
        for (size_t i = 1; i < report->n_regions; i++) {
            const struct rkc_report_region *region = &report->regions[i];
            if (region->parent == row && excess(report, region) > most) {
                best = region;
                most = excess(report, region);
            }
        }
        if (!best)
            return at;
        at = best;
        row = (int32_t)(best - report->regions);
        least = same_excess * most;
    }
}

static const struct rkc_report_call *costliest(const struct rkc_report *report)
{
    for (size_t i = 0; i < report->n_calls; i++) {
        const char *name = rkc_report_region_name(report->reader, report->calls[i].path);
        if (strcmp(name, "MPI_Init") != 0 && strcmp(name, "MPI_Init_thread") != 0)
            return &report->calls[i];
    }
    return NULL;
}

/* What the others waited for one rank, as a share of the ranks' wall time; 0 if not known. */
static double most_awaited(const struct rkc_report *report)
{
    if (report->n_awaited == 0)
        return 0;
    return report->awaited[0].ns / ((double)report->n_ranks * report->mean_wall_ns);
}

/* Whether it is the main loss. */
static int is_waiting(const struct rkc_report *report)
{
    const struct rkc_efficiency *run = &report->efficiency;
    double lost_ns = (1 - run->parallel) * run->elapsed_ns * (double)run->ranks;
    return report->n_awaited > 0 && report->awaited[0].ns >= half_of_loss * lost_ns;
}

/* "waiting for r17 (g07) in step/dot/MPI_Allreduce (>= 9.1 % of wall)" */
static void waiting_text(const struct rkc_report *report, char *out, size_t size)
{
    const struct rkc_report_awaited *awaited = &report->awaited[0];
    const char *sign = report->waits_are_measured ? "" : rkc_text_utf8() ? "\u2265 " : ">= ";
    char name[160], percent[RKC_CELL_MAX];
    rkc_report_rank_name(report, awaited->rank, name, sizeof name);
    rkc_text_percent(most_awaited(report), percent);
    snprintf(out, size, "waiting for %s%s in %s (%s%s %% of wall)", name,
             awaited->path_ns >= same_excess * awaited->ns ? "" : ", most",
             rkc_report_spot(report, awaited->path).text, sign, percent);
}

static void judge_waiting(struct rkc_report *report)
{
    size_t n;
    const struct rkc_reader_rank *most = &rkc_reader_ranks(report->reader, &n)[report->most_useful];
    int is_busiest = most->rank == report->awaited[0].rank && report->mean_useful_ns > 0;
    const struct rkc_report_region *region = is_busiest ? imbalanced(report) : NULL;
    char waiting[400], useful[64] = "";
    waiting_text(report, waiting, sizeof waiting);
    if (is_busiest)
        snprintf(useful, sizeof useful, "; it computes %.2f x the mean",
                 report->most_useful_ns / report->mean_useful_ns);
    rkc_report_find(report, "V4", "main loss: %s%s%s%s", waiting, useful,
                    region ? ", most of it in " : "",
                    region ? rkc_report_spot(report, region->path).text : "");
}

static void judge_balance(struct rkc_report *report, const char *rule, const char *start)
{
    size_t n;
    const struct rkc_reader_rank *ranks = rkc_reader_ranks(report->reader, &n);
    const struct rkc_reader_rank *most = &ranks[report->most_useful];
    const struct rkc_report_region *region = imbalanced(report);
    char node[64], percent[RKC_CELL_MAX];
    rkc_text_fit(most->node, 24, rkc_text_utf8(), node, sizeof node);
    rkc_text_percent(
        (report->most_useful_ns - report->mean_useful_ns) / report->efficiency.elapsed_ns, percent);
    rkc_report_find(
        report, rule,
        "%sload imbalance, %s %% of ranks x elapsed; r%d (%s) computes %.2f x the mean%s%s", start,
        percent, most->rank, node, report->most_useful_ns / report->mean_useful_ns,
        region ? ", most of it in " : "", region ? rkc_report_spot(report, region->path).text : "");
}

static void judge_mpi(struct rkc_report *report)
{
    const struct rkc_report_call *call = costliest(report);
    char lost[RKC_CELL_MAX], share[RKC_CELL_MAX];
    rkc_text_percent(1 - report->efficiency.communication, lost);
    if (!call) {
        rkc_report_find(
            report, "V6",
            "main loss: waiting, in which even the rank that computes most spends %s %% of elapsed",
            lost);
        return;
    }
    rkc_text_percent(call->share, share);
    rkc_report_find(report, "V6",
                    "main loss: MPI, in which even the rank that computes most spends %s %% of "
                    "elapsed; costliest: %s (%s %% of wall)",
                    lost, rkc_report_spot(report, call->path).text, share);
}

static void judge_main(struct rkc_report *report)
{
    const struct rkc_efficiency *run = &report->efficiency;
    const struct rkc_report_region *region = busiest(report);
    char parallel[RKC_CELL_MAX], share[RKC_CELL_MAX];
    if (report->n_ranks == 0 || (report->n_calls == 0 && !region)) {
        rkc_report_find(report, "V1",
                        report->n_ranks == 0
                            ? "nothing can be said: the file holds no rank"
                            : "nothing can be said: no MPI call and no region was recorded");
        return;
    }
    rkc_text_percent(run->parallel, parallel);
    rkc_text_percent(region ? region->exclusive_ns / report->mean_wall_ns : NAN, share);
    if (report->n_calls == 0)
        rkc_report_find(report, "V2", "no MPI calls; most time in %s (%s %% of wall, exclusive)",
                        rkc_report_spot(report, region->path).text, share);
    else if (!(run->parallel < good_parallel))
        rkc_report_find(
            report, "V3", "computation dominates: %s %% of ranks x elapsed is useful%s%s%s%s%s",
            parallel, region ? "; most in " : "",
            region ? rkc_report_spot(report, region->path).text : "", region ? " (" : "",
            region ? share : "", region ? " % of wall, exclusive)" : "");
    else if (is_waiting(report))
        judge_waiting(report);
    else if (report->most_useful_ns - report->mean_useful_ns >=
             run->elapsed_ns - report->most_useful_ns)
        judge_balance(report, "V5", "main loss: ");
    else
        judge_mpi(report);
}

static void warn_of_init(struct rkc_report *report)
{
    char percent[RKC_CELL_MAX], seconds[RKC_CELL_MAX];
    double share = report->init_ns / report->mean_wall_ns;
    if (!(share >= long_init))
        return;
    rkc_report_find(report, "W1", "MPI_Init took %s s per rank, %s %% of wall",
                    rkc_text_seconds(report->init_ns, rkc_text_decimals(report->wall_ns), seconds),
                    rkc_text_percent(share, percent));
}

static void warn_of_overhead(struct rkc_report *report)
{
    if (!(report->overhead >= high_overhead))
        return;
    char percent[RKC_CELL_MAX], visits[RKC_CELL_MAX];
    const struct rkc_report_region *most = NULL;
    for (size_t i = 1; i < report->n_regions; i++)
        if (!most || report->regions[i].visits > most->visits)
            most = &report->regions[i];
    rkc_text_percent(report->overhead, percent);
    if (most)
        rkc_report_find(report, "W2",
                        "tool overhead is %s %% of wall; most visits: %s (%s): leave it out "
                        "(RANKCLOCK_EXCLUDE) or sample it",
                        percent, rkc_report_spot(report, most->path).text,
                        rkc_text_count((double)most->visits, visits));
    else
        rkc_report_find(report, "W2", "tool overhead is %s %% of wall", percent);
}

static void warn_of_small_messages(struct rkc_report *report)
{
    for (size_t i = 0; i < report->n_calls; i++) {
        const struct rkc_report_call *call = &report->calls[i];
        const char *name = rkc_report_region_name(report->reader, call->path);
        double cost_ns = fmax(call->ns, isnan(call->blocked_ns) ? 0 : call->blocked_ns);
        int is_small = call->mean_bytes > 0 && call->mean_bytes < SMALL_MESSAGE_BYTES;
        int is_message = strstr(name, "send") || strstr(name, "Send") || strstr(name, "recv") ||
                         strstr(name, "Recv");
        if (!is_small || !is_message || !(cost_ns >= telling_share * report->mean_wall_ns))
            continue;
        char count[RKC_CELL_MAX], size[RKC_CELL_MAX], percent[RKC_CELL_MAX];
        rkc_report_find(
            report, "W4", "%s: %s messages of %s on average cost %s %% of wall: aggregate",
            rkc_report_spot(report, call->path).text, rkc_text_count((double)call->calls, count),
            rkc_text_size(call->mean_bytes, size),
            rkc_text_percent(cost_ns / report->mean_wall_ns, percent));
        return;
    }
}

static void warn_of_sharing(struct rkc_report *report)
{
    const struct rkc_report_gpu *gpu = &report->gpu;
    size_t most = 0;
    if (gpu->n_shared == 0)
        return;
    for (size_t i = 1; i < gpu->n_devices; i++)
        if (gpu->devices[i].ranks > gpu->devices[most].ranks)
            most = i;
    char name[128], ranks[128], more[48] = "";
    rkc_report_device_name(report->reader, most, name, sizeof name);
    rkc_report_device_ranks(report->reader, most, ranks, sizeof ranks);
    if (gpu->n_shared > 1)
        snprintf(more, sizeof more, "; shared GPUs in all: %zu", gpu->n_shared);
    rkc_report_find(report, "W5", "%zu ranks share one GPU: %s on %s%s", gpu->devices[most].ranks,
                    ranks, name, more);
}

static void warn_of_coverage(struct rkc_report *report)
{
    char percent[RKC_CELL_MAX];
    if (report->gpu.coverage < low_coverage)
        rkc_report_find(
            report, "W6",
            "device time covers %s %% of wall on the ranks that use a GPU; what runs there outside "
            "GPU regions is not seen",
            rkc_text_percent(report->gpu.coverage, percent));
}

static void warn_of_lost_visits(struct rkc_report *report)
{
    const struct rkc_report_gpu *gpu = &report->gpu;
    const struct rkc_report_reason *most = &gpu->reasons[0];
    double all = gpu->visits + gpu->lost;
    char lost[RKC_CELL_MAX], total[RKC_CELL_MAX], count[RKC_CELL_MAX];
    if (!(gpu->lost > 0) || !(gpu->lost >= many_lost * all))
        return;
    for (int i = 1; i < RKC_REPORT_REASONS; i++)
        if (gpu->reasons[i].visits > most->visits)
            most = &gpu->reasons[i];
    rkc_report_find(report, "W7", "%s of %s visits of GPU regions have no device time; of %s: %s",
                    rkc_text_count(gpu->lost, lost), rkc_text_count(all, total),
                    rkc_text_count(most->visits, count), most->text);
}

static void warn_of_no_driver(struct rkc_report *report)
{
    static const char none[] = "none: ";
    const char *gpu = rkc_reader_job(report->reader, "gpu");
    if (gpu && strncmp(gpu, none, sizeof none - 1) == 0)
        rkc_report_find(report, "W8", "GPU regions have host times alone: %.200s",
                        gpu + sizeof none - 1);
}

/* The verdict is about the host: what of the devices is known stands beside it. */
static void add_coverage(struct rkc_report *report)
{
    struct rkc_finding *verdict = &report->findings[0];
    size_t used = strlen(verdict->text);
    char percent[RKC_CELL_MAX];
    if (report->gpu.coverage >= 0)
        snprintf(verdict->text + used, sizeof verdict->text - used,
                 "; GPU regions cover %s %% of wall",
                 rkc_text_percent(report->gpu.coverage, percent));
}

static void warn_of_waiting(struct rkc_report *report)
{
    char waiting[400];
    if (strcmp(report->findings[0].rule, "V4") == 0 || !(most_awaited(report) >= telling_share))
        return;
    waiting_text(report, waiting, sizeof waiting);
    rkc_report_find(report, "W17", "%s", waiting);
}

/* Not where the verdict has said so. */
static void warn_of_imbalance(struct rkc_report *report)
{
    const char *verdict = report->findings[0].rule;
    size_t n;
    const struct rkc_reader_rank *ranks = rkc_reader_ranks(report->reader, &n);
    int is_said =
        strcmp(verdict, "V5") == 0 ||
        (strcmp(verdict, "V4") == 0 && ranks[report->most_useful].rank == report->awaited[0].rank);
    if (report->n_ranks > 1 && report->efficiency.balance < good_balance && !is_said)
        judge_balance(report, "W3", "also ");
}

int rkc_report_judge(struct rkc_report *report)
{
    report->findings = calloc(RKC_REPORT_FINDINGS, sizeof *report->findings);
    if (!report->findings)
        return RKC_ENOMEM;
    judge_main(report);
    if (report->n_ranks == 0)
        return 0;
    add_coverage(report);
    rkc_report_judge_settings(report);
    warn_of_init(report);
    warn_of_overhead(report);
    warn_of_imbalance(report);
    warn_of_waiting(report);
    warn_of_small_messages(report);
    rkc_report_judge_mpi(report);
    warn_of_sharing(report);
    warn_of_coverage(report);
    warn_of_lost_visits(report);
    warn_of_no_driver(report);
    return 0;
}
