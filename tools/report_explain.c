/* report_explain.c - what every number of the report means: kept beside none of the code that
 * prints it, so that it reads as one text. */
#include "autoconf.h"

#include "report.h"
#include "text.h"

#include <string.h>

static const char *const paragraphs[][2] = {
    {"WORDS", NULL},
    {"wall",
     "time of a rank from the begin of measuring, at MPI_Init or the first region, to its end, in "
     "MPI_Finalize or at exit."},
    {"% of wall",
     "a mean over all ranks divided by the mean wall time of all ranks. A rank that lacks a "
     "call path counts as 0."},
    {"useful",
     "wall time less time in MPI less time in regions marked as waiting for a device (RKC_WAIT)."},
    {"elapsed",
     "of the run: the most over ranks of wall time less MPI_Init. Of a region: the most over "
     "ranks of its time, by the thread of the rank with most of it."},
    {"-", "not measured, or meaningless; never 0."},
    {"status",
     "COMPLETE: every rank finalized. ABORTED: one aborted or failed, by SIGSEGV or the like. PARTIAL: ranks "
     "are missing or did not come to their end. k/N ranks: k of N have it."},
    {"AT END",
     "the innermost call path that was open in ranks that did not come to their end, and until "
     "when each measured: a rank that hangs, until it began what it hangs in. --where has all."},
    {"overhead",
     "what measuring cost, estimated: visits x the cost of a begin/end pair, measured at start, "
     "+ MPI calls x 1.5 times that, plus time in Init and Finalize; % of the sum of wall times. "
     "Calls that poll many requests cost up to twice as much."},
    {"EFFICIENCY", NULL},
    {"Parallel",
     "sum of useful / (ranks x elapsed) = load balance x communication. In a region: over the "
     "ranks that have it; \"-\" if several threads of a rank visit it."},
    {"Load balance", "mean useful / most useful of a rank."},
    {"Communication", "most useful of a rank / elapsed."},
    {"GPU", NULL},
    {"source",
     "events that GPU regions record on streams. Host offload, GPU balance and coverage are after "
     "TALP's metrics for accelerated systems (arXiv:2603.26576), with what is covered for what is "
     "busy."},
    {"GPU s",
     "device time: between the events at the begin and the end of a GPU region's visits, on the "
     "device's clock, summed over streams; mean of all ranks. It runs beside host time and is "
     "never part of it. A region's is that of its own events: regions inside it count again."},
    {"%GPU", "device time / device time of all regions, over all ranks."},
    {"coverage",
     "covered / wall, of the ranks that use a device: mean, and the rank with the least. Covered "
     "is the union of the intervals of the rank's GPU regions on a device, not what is busy: "
     "copies and kernels outside of regions are not seen."},
    {"GPU balance",
     "mean covered / most covered of a device; a device that ranks share has the sum of theirs."},
    {"launch lag", "from the begin of a visit on the host to its begin on the device, mean of the "
                   "visits of which both are known."},
    {"GPU wait", "host time in regions marked as waiting for a device (RKC_WAIT), MPI in them "
                 "apart; mean of all ranks. \"-\" if there is none: other waiting is not seen."},
    {"offload", "(useful + MPI) / (useful + MPI + GPU wait)."},
    {"GPU idle", "always \"-\": what is not covered may be busy."},
    {"REGIONS", NULL},
    {"wall s",
     "inclusive time, mean of all ranks; of several threads, the one with the most. ~: visits were "
     "sampled, and times are multiplied by visits / timed visits."},
    {"excl s", "time in the region but in none inside it, MPI calls included as inside."},
    {"MPI s", "time in MPI calls made in the region or inside it."},
    {"imbal",
     "most useful time of a rank / mean useful time. Not of inclusive time: ranks that wait for a "
     "slow one have as much of that. \"-\" if less than 5 % of the region is useful."},
    {"slow", "the rank with the most useful time, for which others wait."},
    {"visits", "begins, over all ranks."},
    {"MPI", NULL},
    {"kind",
     "memory of the buffers as this rank sees them, one letter each for what is sent and what is "
     "received: H host, P pinned, D device, M managed, U unknown, - nothing. A call path with "
     "several has a row for each; shown where some memory is not the host's."},
    {"time s", "time in the calls, mean of all ranks."},
    {"wait>=",
     "waiting in symmetric collectives (nobody leaves before all have come), mean of all ranks. "
     "The rank with the least time in a call path on a communicator waited least, so that the "
     "sum over its members of own time - least time is a lower bound: ranks that are late in "
     "turns cancel out. Known only where all members called equally often; communicators of the "
     "same members are one; not for rooted collectives. With RANKCLOCK_MPI_SYNC, \"wait\": "
     "measured, the time in a barrier before each blocking collective. \"-\": not known."},
    {"for",
     "the rank that is waited for: the one with the least time in the call, of the communicator "
     "with most waiting."},
    {"xfer<=", "time s less wait: at most so much moved data or computed."},
    {"most",
     "the rank with the most time in them: the one that waits longest, not the one awaited."},
    {"blocked",
     "time that completion calls (MPI_Wait ...) spent on requests of this call, mean of all ranks. "
     "It is part of those calls' time s, not of this one's."},
    {"calls", "calls, over all ranks."},
    {"bytes",
     "payload sent + received, over all ranks. A receive counts where it was posted, by what "
     "arrived. Collectives count what a rank hands over and gets."},
    {"mean, p50>=",
     "size of one call, by the larger of bytes sent and received: mean, and the lower edge "
     "of the power of 2 that holds the median."},
    {"GB/s",
     "bytes / time in the call, or / time in flight for nonblocking ones, waiting for the partner "
     "included: a lower bound. Point to point, one-sided and files only, mean of 4 KiB or more."},
    {"BY KIND", "bytes by kinds of memory / all bytes sent + received; letters as in kind."},
    {"TOP PAIRS",
     "pairs of ranks, from -> to, with most bytes of messages, point to point and one-sided, as "
     "counted by the rank that sends or gets; % of bytes of all pairs."},
    {"others",
     "the other end of messages to ranks of another world, or beyond a rank's first "
     "RANKCLOCK_MATRIX_PEERS."},
    {"awaited s>=", "sum over the other ranks of what they waited for this one, as in wait>=."},
    {"gaps", "operations whose datatype has gaps; not asked of host memory."},
    {"MEMORY", NULL},
    {"host", "ordinary memory."},
    {"pinned", "host memory known to the device driver."},
    {"device", "memory of a GPU."},
    {"managed", "memory that the driver moves between host and GPU."},
    {"unknown", "not asked, or no answer. B to EiB are powers of 1024 for sizes; kB to EB of 1000 "
                "for volumes."},
};

void rkc_report_explain(const struct rkc_page *page)
{
    enum { INDENT = 16 };
    for (size_t i = 0; i < sizeof paragraphs / sizeof *paragraphs; i++) {
        if (!paragraphs[i][1]) {
            fprintf(page->out, "%s%s\n", i ? "\n" : "", paragraphs[i][0]);
            continue;
        }
        fprintf(page->out, "  %-*s", INDENT - 2, paragraphs[i][0]);
        rkc_text_wrap(page->out, paragraphs[i][1], INDENT, page->columns);
    }
    rkc_report_explain_bytes(page);
    size_t n;
    const struct rkc_rule *rules = rkc_report_rules(&n);
    fputs("\nRULES of the verdict, the first that holds, and of warnings\n", page->out);
    for (size_t i = 0; i < n; i++) {
        fprintf(page->out, "  %-*s", INDENT - 2, rules[i].name);
        rkc_text_wrap(page->out, rules[i].text, INDENT, page->columns);
    }
}
