/* finish.c - a run of one process goes to the sink as a reduction over one rank would. */
#include "autoconf.h"

#include "finish.h"

#include <inttypes.h>
#include <stdlib.h>

#include "await.h"
#include "clock.h"
#include "collect.h"
#include "gather.h"
#include "identity.h"
#include "link.h"
#include "log.h"
#include "reduce.h"
#include "runtime.h"
#include "signals.h"
#include "sink/pipe.h"

enum { WINDOW = RKC_NUMBERS_WINDOW }; /* call paths whose numbers are sent at once */

static const int64_t ROWS_BYTES_MAX = INT64_C(256) << 20; /* of per-rank values, by default */
static const int64_t SECOND_NS = 1000000000;
/* Once all ranks have met, messages take no longer. But a rank that gave up earlier has left
 * its part of the meeting behind: who comes late finds it there, and nobody afterwards. So where
 * the last one came when another one's patience was at its end, or within LATE_S of it as their
 * clocks tell, all meet once more before anything large is sent: MPICH's MPI_Finalize does not end
 * while a message is pending that its receiver has to fetch. So they do where
 * somebody has waited for APART_S or more, who may have seen that it would be in vain (await.h):
 * which takes longer than that. */
static const int64_t MET_S = 20;
static const int64_t LATE_S = 10;
static const int64_t APART_S = 1;

/* What all ranks tell as they meet, and of which the largest holds. */
enum { PACKET_BYTES_WANTED, CAME_NS, CAME_FIRST_NS, LEAVES_NS, MEETING };

_Static_assert((int)MEETING <= (int)RKC_AGREE_MAX, "they are told at once");

static struct {
    int rank;
    int64_t timeout_ns;
    struct rkc_gather gather;
    struct rkc_pending pending;
    int64_t meeting[MEETING]; /* times are Unix ns, the earliest ones negative */
    int64_t here;             /* of the second meeting, where only coming counts */
    struct rkc_sink *sink; /* rank 0: NULL when the writer could not be started */
    struct rkc_view view;
    struct rkc_local local;
    int collected;
    char text[RKC_SINK_TEXT_MAX];
    /* What took how long, for RANKCLOCK_VERBOSE=2. */
    int64_t begin_ns, spawn_ns, wait_ns, collect_ns, write_ns;
} ending;

/* ---- meeting ---- */

static void start_writer(void)
{
    uint64_t begin = rkc_clock_ticks();
    int64_t begin_ns = rkc_clock_monotonic_ns();
    if (rkc_sink_pipe_open(rkc_private_writer(), rkc_private_output(), rkc_private_config()->mode,
                           ending.begin_ns + ending.timeout_ns, &ending.sink) != 0)
        ending.sink = NULL;
    if (rkc_private_recording()) /* else it is no part of the time measured */
        atomic_fetch_add(&rkc_image_header(rkc_private_image())->finalize_ticks,
                         rkc_clock_ticks() - begin);
    ending.spawn_ns = rkc_clock_monotonic_ns() - begin_ns;
}

/* Wait for an operation that ends when all ranks have come. */
static int wait_for_all(const struct rkc_link *link, struct rkc_pending *pending,
                        int64_t deadline_ns)
{
    return rkc_await(link, pending, ending.begin_ns, rkc_private_config()->finalize_timeout_s,
                     deadline_ns);
}

int rkc_private_finish_meet(struct rkc_link *link)
{
    int status = 0;
    ending.rank = link->rank;
    ending.timeout_ns = rkc_private_config()->finalize_timeout_s * SECOND_NS;
    ending.begin_ns = rkc_clock_monotonic_ns();
    if (link->size > 1) {
        rkc_gather_prepare(&ending.gather, link, rkc_gather_bytes(rkc_private_image()));
        int64_t now_ns = rkc_clock_unix_ns();
        if (rkc_private_recording())
            atomic_store(&rkc_image_header(rkc_private_image())->arrived_unix_ns, now_ns);
        ending.meeting[PACKET_BYTES_WANTED] = ending.gather.bytes;
        ending.meeting[CAME_NS] = now_ns;
        ending.meeting[CAME_FIRST_NS] = -now_ns;
        ending.meeting[LEAVES_NS] = -(now_ns + ending.timeout_ns);
        status = link->carrier->agree(link->context, ending.meeting, MEETING, &ending.gather.pending);
    }
    if (link->rank == 0)
        start_writer();
    if (link->size == 1 || status != 0)
        return status;
    int64_t begin_ns = rkc_clock_monotonic_ns();
    status = wait_for_all(link, &ending.gather.pending, begin_ns + ending.timeout_ns);
    ending.wait_ns = rkc_clock_monotonic_ns() - begin_ns;
    ending.gather.bytes = ending.meeting[PACKET_BYTES_WANTED];
    return status;
}

/* Whether a rank may have given up before the last one came: all ranks get the same answer. */
static int may_be_late(void)
{
    const int64_t *all = ending.meeting;
    return all[CAME_NS] > -all[LEAVES_NS] - LATE_S * SECOND_NS ||
           all[CAME_NS] > -all[CAME_FIRST_NS] + APART_S * SECOND_NS;
}

static void collect(void)
{
    int64_t begin_ns = rkc_clock_monotonic_ns();
    rkc_view_own(&ending.view, rkc_private_image());
    int status = rkc_local_collect(&ending.local, &ending.view, ending.rank);
    ending.collected = status == 0;
    ending.collect_ns = rkc_clock_monotonic_ns() - begin_ns;
    if (status != 0)
        rkc_log(RKC_LOG_WARNING, "rank %d cannot collect its profile: %s", ending.rank,
                rkc_strerror(status));
}

/* ---- what all ranks' rows come to ---- */

struct rkc_finish_sums rkc_finish_sums_of(const struct rkc_rank_row *row, uint32_t metrics)
{
    return (struct rkc_finish_sums){.ranks = 1,
                                    .start_unix_ns = row->start_unix_ns,
                                    .wall_ns = row->wall_ns,
                                    .overhead_ns = row->overhead_ns,
                                    .device_uses = row->n_devices,
                                    .metrics = metrics};
}

void rkc_finish_sums_add(struct rkc_finish_sums *into, const struct rkc_finish_sums *from)
{
    if (from->ranks == 0)
        return;
    if (into->ranks == 0) {
        *into = *from;
        return;
    }
    into->ranks += from->ranks;
    into->device_uses += from->device_uses;
    into->metrics |= from->metrics;
    if (from->start_unix_ns < into->start_unix_ns)
        into->start_unix_ns = from->start_unix_ns;
    if (from->wall_ns > into->wall_ns)
        into->wall_ns = from->wall_ns;
    if (__builtin_add_overflow(into->overhead_ns, from->overhead_ns, &into->overhead_ns))
        into->overhead_ns = INT64_MAX;
}

/* Which of the metrics that there are, `all`, the rows have. */
static uint32_t choose_rows(int setting, uint32_t all, int32_t n_ranks, uint32_t n_paths,
                            const char **word)
{
    const uint32_t times = UINT32_C(1) << RKC_METRIC_INCLUSIVE | UINT32_C(1) << RKC_METRIC_MPI |
                           UINT32_C(1) << RKC_METRIC_DEVICE;
    unsigned n_metrics = (unsigned)__builtin_popcount(all);
    rkc_u128 bytes = (rkc_u128)(uint32_t)n_ranks * n_paths * n_metrics * sizeof(int64_t);
    if (setting == RKC_ROWS_NONE) {
        *word = "none";
        return 0;
    }
    if (setting == RKC_ROWS_ALL || bytes <= (rkc_u128)ROWS_BYTES_MAX) {
        *word = "all";
        return all;
    }
    *word = "host";
    return all & times;
}

int rkc_finish_job(struct rkc_job *job, const struct rkc_finish_sums *sums, int setting,
                   int32_t n_ranks, uint32_t n_paths)
{
    const char *word;
    job->metrics = sums->metrics;
    job->row_metrics = choose_rows(setting, sums->metrics, n_ranks, n_paths, &word);
    job->device_uses = sums->device_uses;
    job->ranks = n_ranks;
    job->start_unix_ns = sums->start_unix_ns;
    job->wall_ns = sums->wall_ns;
    job->overhead_ns = sums->ranks > 0 ? sums->overhead_ns : RKC_ABSENT;
    return rkc_job_set(job, "per_rank_rows", word);
}

uint32_t *rkc_finish_numbering(uint32_t n_paths)
{
    uint32_t *map = malloc((n_paths ? n_paths : 1) * sizeof *map);
    for (uint32_t i = 0; map && i < n_paths; i++)
        map[i] = i;
    return map;
}

/* ---- a file of one rank ---- */

static int send_numbers(const struct rkc_local *local, const uint32_t *map, struct rkc_sink *sink)
{
    uint32_t n_paths = local->paths.n_paths;
    int status = 0;
    for (uint32_t first = 0; first < n_paths && status == 0; first += WINDOW) {
        struct rkc_numbers numbers;
        status =
            rkc_numbers_init(&numbers, first, n_paths - first < WINDOW ? n_paths - first : WINDOW);
        if (status != 0)
            break;
        rkc_local_add(local, map, &numbers);
        status = sink->ops->numbers(sink, &numbers);
        rkc_numbers_free(&numbers);
    }
    return status;
}

static int send_row(const struct rkc_local *local, const uint32_t *map, struct rkc_sink *sink)
{
    uint32_t n_paths = local->paths.n_paths, metrics = local->job.row_metrics;
    size_t n = (size_t)n_paths * (unsigned)__builtin_popcount(metrics);
    int64_t *values = malloc((n ? n : 1) * sizeof *values);
    if (!values)
        return RKC_ENOMEM;
    rkc_local_row(local, map, metrics, n_paths, n_paths, values);
    struct rkc_rank_row row = rkc_local_rank(local);
    struct rkc_rows rows = {.n_ranks = 1,
                            .n_paths = n_paths,
                            .ranks = &row,
                            .values = values,
                            .devices = local->devices,
                            .peers = local->peers};
    int status = sink->ops->rows(sink, &rows);
    free(values);
    return status;
}

static enum rkc_file_status file_status(int32_t state)
{
    if (state == RKC_STATE_FINALIZED)
        return RKC_FILE_COMPLETE;
    return state == RKC_STATE_RUNNING ? RKC_FILE_PARTIAL : RKC_FILE_ABORTED;
}

/* Write a file of this rank alone. */
static int write_one(void)
{
    struct rkc_local *local = &ending.local;
    struct rkc_sink *sink = ending.sink;
    struct rkc_finish_sums sums = rkc_finish_sums_of(&local->row, local->metrics);
    uint32_t *map = rkc_finish_numbering(local->paths.n_paths);
    int status = map ? rkc_finish_job(&local->job, &sums, rkc_private_config()->rows, 1,
                                      local->paths.n_paths)
                     : RKC_ENOMEM;
    if (status == 0)
        status = sink->ops->job(sink, &local->job);
    if (status == 0)
        status = sink->ops->profile(sink, &local->paths);
    if (status == 0)
        status = send_numbers(local, map, sink);
    if (status == 0)
        status = send_row(local, map, sink);
    if (status == 0)
        status = sink->ops->finish(sink, file_status(local->row.state), NULL, 0, ending.text);
    free(map);
    if (status == RKC_ENOMEM)
        rkc_log(RKC_LOG_WARNING, "cannot write the profile: out of memory");
    return status;
}

/* ---- a file of all ranks ---- */

/* Whoever waits for messages has to give up soon, for all ranks have come. */
static int64_t soon_ns(void)
{
    int64_t most_ns = MET_S * SECOND_NS;
    return rkc_clock_monotonic_ns() + (ending.timeout_ns < most_ns ? ending.timeout_ns : most_ns);
}

/* Set the deadlines of what follows. The other ranks wait for our word a little longer than we do
 * for the writer's. */
static void set_deadlines(struct rkc_link *link)
{
    int64_t now_ns = rkc_clock_monotonic_ns();
    link->deadline_ns = now_ns + ending.timeout_ns;
    if (ending.sink)
        rkc_sink_pipe_set_deadline(ending.sink, now_ns + ending.timeout_ns - ending.timeout_ns / 8);
}

static int write_alone(struct rkc_link *link)
{
    collect();
    set_deadlines(link);
    int64_t begin_ns = rkc_clock_monotonic_ns();
    int status = ending.sink && ending.collected ? write_one() : RKC_EWRITER;
    ending.write_ns = rkc_clock_monotonic_ns() - begin_ns;
    return status;
}

/* By messages. */
static int write_by_tree(struct rkc_link *link)
{
    int status = link->carrier->separate(link->context, &ending.pending);
    if (status == 0)
        status = rkc_private_wait(link->carrier, &ending.pending, soon_ns());
    if (status != 0)
        return status;
    link->carrier->separated(link->context);
    set_deadlines(link);
    return rkc_reduce(link, ending.collected ? &ending.local : NULL, rkc_private_config()->rows,
                      ending.sink, ending.text, &ending.write_ns);
}

/* Numbers are collected while the others come. */
static int collect_and_meet_again(const struct rkc_link *link)
{
    if (!may_be_late()) {
        collect();
        return 0;
    }
    int status = link->carrier->agree(link->context, &ending.here, 1, &ending.pending);
    collect();
    return status == 0 ? wait_for_all(link, &ending.pending, soon_ns()) : status;
}

static int write_with_all(struct rkc_link *link)
{
    int again = 0, status = collect_and_meet_again(link);
    if (status != 0)
        return status;
    if (!rkc_gather_fits(&ending.gather)) {
        rkc_gather_free(&ending.gather);
        return write_by_tree(link);
    }
    ending.gather.soon_ns = soon_ns();
    set_deadlines(link);
    status =
        rkc_gather(link, &ending.gather, ending.collected ? &ending.local : NULL,
                   rkc_private_config()->rows, ending.sink, ending.text, &ending.write_ns, &again);
    return status == 0 && again ? write_by_tree(link) : status;
}

static void say_phases(void)
{
    int64_t total_ns = rkc_clock_monotonic_ns() - ending.begin_ns;
    int64_t reduce_ns =
        total_ns - ending.wait_ns - ending.spawn_ns - ending.collect_ns - ending.write_ns;
    rkc_log(RKC_LOG_DETAIL,
            "finalize phases ns: wait=%" PRId64 " spawn=%" PRId64 " collect=%" PRId64
            " reduce=%" PRId64 " write=%" PRId64 " total=%" PRId64,
            ending.wait_ns, ending.spawn_ns, ending.collect_ns, reduce_ns, ending.write_ns,
            total_ns);
}

static const char *reason(int status)
{
    if (status == RKC_ETIMEOUT && rkc_await_why())
        return rkc_await_why();
    if (status == RKC_ETIMEOUT)
        return "not all ranks came to MPI_Finalize in time";
    if (status == RKC_EMPI)
        return "an MPI call of rankclock failed in MPI_Finalize";
    return "the result file could not be written";
}

/* ---- the whole ---- */

int rkc_private_finish(struct rkc_link *link, int status)
{
    if (status == 0)
        status = link->size > 1 ? write_with_all(link) : write_alone(link);
    if (ending.sink)
        ending.sink->ops->close(ending.sink);
    if (status == 0 && ending.rank == 0) {
        rkc_log(RKC_LOG_INFO, "wrote %s", ending.text);
        say_phases();
    }
    if (status == 0 || rkc_private_save(reason(status)) == 0)
        rkc_private_done();
    rkc_await_end();
    rkc_signals_give_back();
    if (ending.collected && status != RKC_ETIMEOUT && status != RKC_EMPI) {
        rkc_local_free(&ending.local);
        rkc_view_close(&ending.view);
    }
    return status;
}

int rkc_finish_alone(void)
{
    struct rkc_link nobody = {.size = 1};
    rkc_private_finish_meet(&nobody);
    return rkc_private_finish(&nobody, 0);
}

void rkc_private_refuse(const char *why)
{
    if (rkc_identity_speaks()) /* it is so for all ranks of a job */
        rkc_log(RKC_LOG_WARNING, "%s: recording is off", why);
    rkc_private_stop(RKC_STATE_RUNNING);
    rkc_private_done();
}
