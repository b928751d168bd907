/* The double of libcuda.so.1: events of one process in another, on the real clock. */
#include "autoconf.h"

#include "fakecuda/cuda_abi.h"
#include "fakecuda/fakecuda.h"
#include "tap.h"

#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>

static CUstream stream;

static void start(void)
{
    CUcontext context;
    fakecuda_reset();
    cuInit(0);
    cuDevicePrimaryCtxRetain(&context, 0);
    cuCtxSetCurrent(context);
    cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
}

/* A step of one process that the other waits for. */
static void tell(int to)
{
    if (write(to, "", 1) != 1)
        _exit(1);
}

static void await(int from)
{
    char byte;
    if (read(from, &byte, 1) != 1)
        _exit(1);
}

/* The child has the event's handle and asks; it writes its results, the parent checks them. */
struct results {
    CUresult opened, before, held, by_stream, synchronized;
    int64_t end_ns;
};

static void child(int from, int to)
{
    CUipcEventHandle handle;
    CUevent event = NULL, own;
    struct results results;
    if (read(from, &handle, sizeof(handle)) != (ssize_t)sizeof(handle))
        _exit(1);
    start();
    cuEventCreate(&own, 0);
    results.opened = cuIpcOpenEventHandle(&event, handle);
    results.before = cuEventQuery(event);
    tell(to);
    await(from); /* until it is recorded behind a hold */
    results.held = cuEventQuery(event);
    cuStreamWaitEvent(stream, event, 0);
    cuEventRecord(own, stream);
    results.by_stream = cuEventQuery(own);
    tell(to);
    await(from); /* until that is released; 20 ms of work are left */
    results.synchronized = cuEventSynchronize(event);
    if (results.synchronized == CUDA_SUCCESS)
        results.synchronized = cuStreamSynchronize(stream);
    results.end_ns = fakecuda_now();
    cuEventDestroy_v2(event);
    if (write(to, &results, sizeof(results)) != (ssize_t)sizeof(results))
        _exit(1);
    _exit(0);
}

static void parent(int from, int to)
{
    CUipcEventHandle handle;
    CUevent event, ordinary;
    struct results results = {0};
    start();
    cuEventCreate(&ordinary, CU_EVENT_DISABLE_TIMING);
    is_int(cuIpcGetEventHandle(&handle, ordinary), 400,
           "an ordinary event has no handle for others");
    cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
    is_int(cuIpcGetEventHandle(&handle, event), 0, "an interprocess event has");
    if (write(to, &handle, sizeof(handle)) != (ssize_t)sizeof(handle))
        return;
    await(from);
    fakecuda_hold(stream);
    fakecuda_launch(stream, 20000000);
    cuEventRecord(event, stream);
    tell(to);
    await(from);
    int64_t begin_ns = fakecuda_now();
    fakecuda_release(stream);
    tell(to);
    /* No call from here on: the other process sees the end by itself. */
    if (read(from, &results, sizeof(results)) != (ssize_t)sizeof(results))
        ok(0, "the other process gives its results");
    is_int(results.opened, 0, "another process opens the handle");
    is_int(results.before, 0, "not recorded, it is complete there");
    is_int(results.held, 600, "pending here it is pending there");
    is_int(results.by_stream, 600, "a stream there waits for it");
    is_int(results.synchronized, 0, "then it is complete");
    ok(results.end_ns - begin_ns >= 20000000, "and not before the work is");
    is_int(cuEventQuery(event), 0, "here, too");
    cuEventDestroy_v2(event);
    is_int(cuIpcOpenEventHandle(&ordinary, handle), 400, "a destroyed event cannot be opened");
    memset(&handle, 'x', sizeof(handle));
    is_int(cuIpcOpenEventHandle(&ordinary, handle), 400, "nor can what is no handle");
}

static int entries_of(const char *folder)
{
    int n = -2; /* . and .. */
    DIR *listing = opendir(folder);
    while (readdir(listing))
        n++;
    closedir(listing);
    return n;
}

int main(void)
{
    char folder[] = "/tmp/fakecuda.XXXXXX";
    int to_child[2], to_parent[2], status = -1;
    if (!mkdtemp(folder) || pipe(to_child) || pipe(to_parent))
        return 1;
    setenv("FAKECUDA_IPC_DIR", folder, 1);
    pid_t pid = fork();
    if (pid == 0)
        child(to_child[0], to_parent[1]);
    parent(to_parent[0], to_child[1]);
    waitpid(pid, &status, 0);
    is_int(status, 0, "the other process ends well");
    is_int(entries_of(folder), 0, "no file is left");
    rmdir(folder);
    fakecuda_reset();
    return done_testing();
}
