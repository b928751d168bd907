/* rules_life.c - what becomes of CUDA in children, at the end of a process, after an error, and in
 * host functions. */
#include "rules.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static const uint64_t MS = 1000000;

/* Wait for a child for 10 s; its status, or -1 when it was still there and was killed. */
static int end_of(pid_t child)
{
    int status = 0;
    for (int i = 0; i < 1000; i++) {
        if (waitpid(child, &status, WNOHANG) == child)
            return status;
        sleep_ms(10);
    }
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return -1;
}

static void try_fork(void)
{
    CUstreamCaptureStatus status;
    start();
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
    CUevent event = recorded(stream);
    wait_for(event);
    CUresult *results = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child = fork();
    if (child == 0) {
        results[0] = cuda.cuEventQuery(event);
        results[1] = cuda.cuStreamIsCapturing(stream, &status);
        results[2] = cuda.cuEventRecord(event, stream);
        _exit(0);
    }
    int end = end_of(child);
    judge(RULE_L1, end == 0 && results[0] && results[1] && results[2],
          "query %s, IsCapturing %s, record %s; the child %s", result_name(results[0]),
          result_name(results[1]), result_name(results[2]),
          end == 0    ? "ended"
          : end == -1 ? "hung"
                      : "crashed");
}

static CUevent last_event;

static void at_the_end(void)
{
    CUresult result = cuda.cuEventQuery(last_event);
    if (result == CUDA_SUCCESS)
        cannot_judge(RULE_L2, "the driver had not ended when the first exit handler ran");
    else
        judge(RULE_L2, result == CUDA_ERROR_DEINITIALIZED, "%u", result);
    fflush(stdout);
}

static void try_end(void)
{
    setenv("FAKECUDA_DEINIT_AT_EXIT", "1", 1); /* the double does so only when asked */
    atexit(at_the_end);
    start();
    last_event = recorded(new_stream(CU_STREAM_NON_BLOCKING));
    wait_for(last_event);
    exit(0);
}

static void try_error(void)
{
    float ms;
    start();
    warm_up();
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
    CUevent begin = recorded(stream), event = recorded(stream);
    wait_for(event);
    if (!work_that_fails(stream)) {
        cannot_judge(RULE_L3, "no kernel that fails can be launched");
        return;
    }
    CUresult first = cuda.cuStreamSynchronize(stream);
    CUresult query = cuda.cuEventQuery(event), record = cuda.cuEventRecord(event, stream);
    CUresult elapsed = cuda.cuEventElapsedTime(&ms, begin, event);
    judge(RULE_L3, first != CUDA_SUCCESS && query == first && record == first,
          "synchronise %s, query %s, record %s, elapsed %s", result_name(first), result_name(query),
          result_name(record), result_name(elapsed));
}

static void try_exit(void)
{
    int64_t before_ns = now_ns();
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        start();
        warm_up();
        CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
        work(stream, 2000 * MS);
        recorded(stream);
        exit(3);
    }
    int end = end_of(child);
    judge(RULE_L4, end != -1 && WIFEXITED(end) && WEXITSTATUS(end) == 3, "%s, status %d, %.2f s",
          end == -1        ? "killed"
          : WIFEXITED(end) ? "ended"
                           : "crashed",
          end == -1 ? -1 : WEXITSTATUS(end), (double)(now_ns() - before_ns) * 1e-9);
}

static CUresult within;

static void call_cuda(void *event)
{
    within = cuda.cuEventQuery(event);
}

static void sleep_a_while(void *unused)
{
    (void)unused;
    sleep_ms(100);
}

static void try_refused(void)
{
    start();
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
    CUevent event = recorded(stream);
    wait_for(event);
    CUresult result = cuda.cuLaunchHostFunc(stream, call_cuda, event);
    cuda.cuStreamSynchronize(stream);
    judge(RULE_L5, result == CUDA_SUCCESS && within != CUDA_SUCCESS, "%s, within %s",
          result_name(result), result_name(within));
}

static void try_held_up(void)
{
    float ms = 0;
    start();
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
    CUevent begin = recorded(stream);
    cuda.cuLaunchHostFunc(stream, sleep_a_while, NULL);
    CUevent end = recorded(stream);
    CUresult result = wait_for(end);
    cuda.cuEventElapsedTime(&ms, begin, end);
    judge(RULE_L6, result == CUDA_SUCCESS && ms > 90, "100 ms in it, %.1f ms on the stream",
          (double)ms);
}

int main(int argc, char **argv)
{
    static const struct trial trials[] = {
        {try_fork, "L1", 0}, {try_end, "L2", 0},     {try_error, "L3", 0},
        {try_exit, "L4", 0}, {try_refused, "L5", 0}, {try_held_up, "L6", 0},
    };
    return rules_main(argc, argv, trials, sizeof trials / sizeof *trials);
}
