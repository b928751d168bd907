/* rules_event.c - events: their flags, their states, and how exactly they tell the time. */
#include "rules.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "gpu/timeline.h"

static const uint64_t MS = 1000000;

/* --- F: flags and states --------------------------------------------------------------------- */

static int64_t processor_ns(void)
{
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
}

/* The processor's time that it takes to wait 200 ms for an event with flags, in ms. */
static double wait_cost_ms(CUstream stream, unsigned flags)
{
    CUevent event = new_event(flags);
    work(stream, 200 * MS);
    cuda.cuEventRecord(event, stream);
    int64_t before_ns = processor_ns();
    cuda.cuEventSynchronize(event);
    return (double)(processor_ns() - before_ns) * 1e-6;
}

static void try_flags(void)
{
    CUevent event = NULL;
    start();
    warm_up();
    CUresult result = cuda.cuEventCreate(&event, CU_EVENT_INTERPROCESS);
    judge(RULE_F1, result == CUDA_ERROR_INVALID_VALUE, "%s", result_name(result));
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
    double spinning_ms = wait_cost_ms(stream, 0);
    double sleeping_ms = wait_cost_ms(stream, CU_EVENT_BLOCKING_SYNC);
    judge(RULE_F2, sleeping_ms < 50, "to wait 200 ms takes %.1f ms of the processor, else %.1f ms",
          sleeping_ms, spinning_ms);
}

static void try_unrecorded(void)
{
    float ms;
    start();
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
    CUevent done = recorded(stream), event = new_event(0);
    CUevent untimed = new_event(CU_EVENT_DISABLE_TIMING);
    wait_for(done);
    CUresult result = cuda.cuEventQuery(event);
    judge(RULE_F3, result == CUDA_SUCCESS, "%s", result_name(result));
    int64_t before_ns = now_ns();
    result = cuda.cuEventSynchronize(event);
    judge(RULE_F4, result == CUDA_SUCCESS && now_ns() - before_ns < 10 * (int64_t)MS,
          "%s after %.1f us", result_name(result), (double)(now_ns() - before_ns) * 1e-3);
    CUresult to = cuda.cuEventElapsedTime(&ms, done, event);
    CUresult from = cuda.cuEventElapsedTime(&ms, event, done);
    judge(RULE_F5, to == CUDA_ERROR_INVALID_HANDLE && from == CUDA_ERROR_INVALID_HANDLE,
          "to it %s, from it %s", result_name(to), result_name(from));
    cuda.cuEventRecord(untimed, stream);
    wait_for(untimed);
    result = cuda.cuEventElapsedTime(&ms, done, untimed);
    judge(RULE_F6, result == CUDA_ERROR_INVALID_HANDLE, "%s", result_name(result));
}

static void try_pending(void)
{
    start();
    warm_up();
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
    work(stream, 50 * MS);
    CUevent event = recorded(stream), kept = recorded(stream);
    int64_t before_ns = now_ns();
    CUresult result = cuda.cuEventQuery(event);
    double took_us = (double)(now_ns() - before_ns) * 1e-3;
    judge(RULE_F8, result == CUDA_ERROR_NOT_READY && took_us < 10000, "%s after %.1f us",
          result_name(result), took_us);
    result = cuda.cuEventDestroy_v2(event);
    CUresult later = wait_for(kept);
    judge(RULE_F7, result == CUDA_SUCCESS && later == CUDA_SUCCESS, "%s, and what comes later %s",
          result_name(result), result_name(later));

    CUstream other = new_stream(CU_STREAM_NON_BLOCKING);
    work(stream, 100 * MS);
    event = recorded(stream);
    CUresult first = cuda.cuEventQuery(event);
    cuda.cuEventRecord(event, other);
    sleep_ms(10);
    result = cuda.cuEventQuery(event);
    judge(RULE_F9, first == CUDA_ERROR_NOT_READY && result == CUDA_SUCCESS,
          "%s, and recorded again on an idle stream %s", result_name(first), result_name(result));
    cuda.cuStreamSynchronize(stream);
}

/* --- P: precision ---------------------------------------------------------------------------- */

/* Many short times of different lengths. */
static void try_tick(void)
{
    enum { TIMES = 200, SHOWN = 6 };
    struct rkc_tick tick = {.ns = 0};
    char shown[SHOWN * 16] = "";
    float least_ms = 1;
    start();
    warm_up();
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
    for (int i = 0; i < TIMES; i++) {
        float ms = 0;
        CUevent begin = recorded(stream);
        work(stream, (uint64_t)(1000 + i * 3331));
        CUevent end = recorded(stream);
        wait_for(end);
        if (cuda.cuEventElapsedTime(&ms, begin, end) != CUDA_SUCCESS || ms > 1)
            continue;
        rkc_tick_learn(&tick, ms);
        least_ms = ms < least_ms ? ms : least_ms;
        if (i < SHOWN)
            snprintf(shown + strlen(shown), sizeof shown - strlen(shown), " %.1f",
                     (double)ms * 1e6);
    }
    judge(RULE_P1, tick.ns > 1, "the tick is %lld ns; the first times, in ns:%s",
          (long long)tick.ns, shown);
    measured("shortest time between two events with work between", "%.1f ns",
             (double)least_ms * 1e6);
}

/* A chain of events, `gap_ns` apart, that are complete. */
static void record_chain(CUevent *events, int n, uint64_t gap_ns)
{
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
    for (int i = 0; i < n; i++) {
        if (i > 0)
            work(stream, gap_ns);
        events[i] = recorded(stream);
    }
    wait_for(events[n - 1]);
}

static void try_chain(void)
{
    enum { EVENTS = 31 };
    CUevent events[EVENTS];
    float ms = 0, back = 0, again = 0, link;
    double sum_ms = 0, step_ms = 0;
    int different = 0;
    start();
    warm_up();
    record_chain(events, EVENTS, 100 * MS);
    for (int i = 1; i < EVENTS; i++) {
        cuda.cuEventElapsedTime(&link, events[i - 1], events[i]);
        sum_ms += (double)link;
        step_ms += (double)rkc_elapsed_step_ns(link) * 0.5e-6;
    }
    cuda.cuEventElapsedTime(&ms, events[0], events[EVENTS - 1]);
    step_ms += (double)rkc_elapsed_step_ns(ms) * 0.5e-6;
    double off_ms = sum_ms - (double)ms;
    judge(RULE_P2, off_ms <= step_ms && off_ms >= -step_ms,
          "%d links, %.6f ms, less %.6f ms is %.1f ns; the floats' steps allow %.1f ns", EVENTS - 1,
          sum_ms, (double)ms, off_ms * 1e6, step_ms * 1e6);
    CUresult result = cuda.cuEventElapsedTime(&back, events[EVENTS - 1], events[0]);
    judge(RULE_P3, result == CUDA_SUCCESS && back == -ms, "%s, %.6f ms and %.6f ms",
          result_name(result), (double)ms, (double)back);
    for (int i = 0; i < 100; i++) {
        cuda.cuEventElapsedTime(&again, events[0], events[EVENTS - 1]);
        different += again != ms;
    }
    judge(RULE_P4, different == 0, "%d of 100 were another", different);
}

/* An event on a second stream right after one on the first, and the other way around. */
static void try_streams(void)
{
    float there = 0, back = 0;
    start();
    warm_up();
    CUstream a = new_stream(CU_STREAM_NON_BLOCKING), b = new_stream(CU_STREAM_NON_BLOCKING);
    work(a, 10 * MS);
    CUevent first = recorded(a);
    cuda.cuStreamWaitEvent(b, first, 0);
    CUevent second = recorded(b);
    cuda.cuStreamWaitEvent(a, second, 0);
    CUevent third = recorded(a);
    wait_for(third);
    cuda.cuEventElapsedTime(&there, first, second);
    cuda.cuEventElapsedTime(&back, second, third);
    judge(RULE_P5, there >= 0 && back >= 0 && there < 1 && back < 1,
          "to an event that waits for it on another stream %.3f us, and back %.3f us",
          (double)there * 1e3, (double)back * 1e3);
}

int main(int argc, char **argv)
{
    static const struct trial trials[] = {
        {try_flags, "F1 F2", 0}, {try_unrecorded, "F3 F4 F5 F6", 0}, {try_pending, "F7 F8 F9", 0},
        {try_tick, "P1", 0},     {try_chain, "P2 P3 P4", 0},         {try_streams, "P5", 0},
    };
    return rules_main(argc, argv, trials, sizeof trials / sizeof *trials);
}
