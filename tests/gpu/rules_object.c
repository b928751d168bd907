/* rules_object.c - streams and events of gpu.h. */
#include "rules.h"

#include <rankclock/gpu.h>

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const uint64_t MS = 1000000;

static void try_priority(void)
{
    struct rkc_stream *urgent = NULL, *idle = NULL;
    int least = 99, greatest = 99, read = 99, read_idle = 99;
    start();
    cuda.cuCtxGetStreamPriorityRange(&least, &greatest);
    int made = rkc_stream_create(0, greatest - 10, &urgent);
    int made_idle = rkc_stream_create(0, least + 10, &idle);
    if (made != 0 || made_idle != 0) {
        judge(RULE_O1, 0, "no stream: %s", rkc_gpu_error());
        return;
    }
    cuda.cuStreamGetPriority(rkc_stream_handle(urgent), &read);
    cuda.cuStreamGetPriority(rkc_stream_handle(idle), &read_idle);
    judge(RULE_O1,
          rkc_stream_priority(urgent) == greatest && read == greatest &&
              rkc_stream_priority(idle) == least && read_idle == least,
          "the device has %d to %d; %d became %d, %d became %d", greatest, least, greatest - 10,
          rkc_stream_priority(urgent), least + 10, rkc_stream_priority(idle));
}

/* Say one byte to the other process, and hear one. */
static int tell(int to)
{
    return write(to, "x", 1) == 1;
}

static int hear(int from)
{
    char byte;
    return read(from, &byte, 1) == 1;
}

/* The process that has the event: gives it away, then work, and the record behind it. */
static int give_event(int to, int from)
{
    char handle[RKC_IPC_HANDLE_BYTES];
    struct rkc_event *event = NULL;
    start();
    warm_up();
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
    int status = rkc_event_create(-1, RKC_EVENT_INTERPROCESS, &event);
    if (status == 0)
        status = rkc_event_record(event, stream);
    if (status == 0)
        status = rkc_event_export(event, handle);
    if (status == 0)
        status = work(stream, 400 * MS) == CUDA_SUCCESS ? 0 : RKC_ECUDA;
    if (status == 0)
        status = rkc_event_record(event, stream);
    if (status == 0 && write(to, handle, sizeof handle) == (ssize_t)sizeof handle)
        hear(from); /* the event lives until the other has done with it */
    return status == RKC_ENOTSUP ? 2 : status != 0;
}

static void take_event(const char *handle, int size)
{
    struct rkc_event *event = NULL;
    start();
    int status = rkc_event_open(0, handle, (size_t)size, &event);
    if (status != 0) {
        judge(RULE_O2, 0, "it cannot be opened: %s", rkc_gpu_error());
        return;
    }
    int64_t before_ns = now_ns();
    int at_once = rkc_event_query(event);
    int waited = rkc_event_synchronize(event), then = rkc_event_query(event);
    judge(RULE_O2, at_once == RKC_ENOTREADY && waited == 0 && then == 0,
          "at once %s, %s after %.1f ms of 400, then %s", rkc_status_name(at_once),
          rkc_status_name(waited), (double)(now_ns() - before_ns) * 1e-6, rkc_status_name(then));
    rkc_event_destroy(event);
}

static void try_processes(void)
{
    int there[2], back[2], status = 0;
    char handle[RKC_IPC_HANDLE_BYTES];
    if (pipe(there) != 0 || pipe(back) != 0)
        return;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        close(there[0]);
        close(back[1]);
        _exit(give_event(there[1], back[0]));
    }
    close(there[1]);
    close(back[0]);
    if (read(there[0], handle, sizeof handle) == (ssize_t)sizeof handle)
        take_event(handle, sizeof handle);
    tell(back[1]);
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
        cannot_judge(RULE_O2, "the device or the system cannot share events");
}

static void try_devices(void)
{
    struct rkc_event *event = NULL;
    start();
    if (n_devices() < 2) {
        cannot_judge(RULE_O3, "there is one device");
        return;
    }
    warm_up();
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
    cuda.cuCtxSetCurrent(primary_context(1));
    CUstream other = new_stream(CU_STREAM_NON_BLOCKING);
    cuda.cuCtxSetCurrent(primary_context(0));
    int status = rkc_event_create(0, 0, &event);
    work(stream, 200 * MS);
    if (status == 0)
        status = rkc_event_record(event, stream);
    if (status == 0)
        status = rkc_event_wait(event, other);
    CUresult at_once = cuda.cuStreamQuery(other), waited = cuda.cuStreamSynchronize(other);
    CUresult then = cuda.cuStreamQuery(stream);
    judge(RULE_O3,
          status == 0 && at_once == CUDA_ERROR_NOT_READY && waited == CUDA_SUCCESS &&
              then == CUDA_SUCCESS,
          "%s; the other device's stream at once %s, and when it was done the first one %s",
          rkc_status_name(status), result_name(at_once), result_name(then));
}

int main(int argc, char **argv)
{
    static const struct trial trials[] = {
        {try_priority, "O1", 0},
        {try_processes, "O2", 0},
        {try_devices, "O3", 0},
    };
    return rules_main(argc, argv, trials, sizeof trials / sizeof *trials);
}
