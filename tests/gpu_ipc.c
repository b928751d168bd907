/* Events between two processes, on the double of libcuda.so.1 and the real clock. */
#include "autoconf.h"

#include "gpu_double.h"
#include "tap.h"

#include <rankclock/gpu.h>

static void start(void)
{
    gpu_set_up(1);
    fakecuda_virtual_clock(0);
    rkc_driver_find();
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

/* What the child sees; the parent checks it. */
struct results {
    int32_t opened, before, held, by_stream, elapsed, recorded, exported;
    int32_t synchronized, after, device;
};

static void child(int from, int to)
{
    char handle[RKC_IPC_HANDLE_BYTES];
    struct results results = {0};
    struct rkc_event *event = NULL, *own = NULL;
    struct rkc_stream *stream = NULL;
    int64_t ns;
    if (read(from, handle, sizeof handle) != (ssize_t)sizeof handle)
        _exit(1);
    start();
    results.opened = rkc_event_open(0, handle, sizeof handle, &event);
    if (results.opened != 0 || rkc_stream_create(0, 0, &stream) != 0)
        _exit(1);
    results.device = rkc_event_device(event);
    results.before = rkc_event_query(event);
    tell(to);
    await(from); /* until it is recorded behind a hold */
    results.held = rkc_event_query(event);
    rkc_stream_wait_event(stream, event);
    rkc_stream_record_event(stream, &own, 0);
    results.by_stream = rkc_event_query(own);
    results.elapsed = rkc_event_elapsed_ns(event, event, &ns);
    tell(to);
    results.synchronized = rkc_event_synchronize(event);
    results.after = rkc_event_query(own);
    results.exported = rkc_event_export(event, handle);
    results.recorded = rkc_event_record(event, rkc_stream_handle(stream));
    rkc_event_destroy(event);
    rkc_event_destroy(own);
    rkc_stream_destroy(stream);
    if (write(to, &results, sizeof results) != (ssize_t)sizeof results)
        _exit(1);
    _exit(fakecuda_handles() != 2);
}

static void check(const struct results *results)
{
    is_int(results->opened, 0, "another process opens it");
    is_int(results->device, 0, "on a device of its own");
    is_int(results->before, 0, "not recorded, it is complete there");
    is_int(results->held, RKC_ENOTREADY, "pending here it is pending there");
    is_int(results->by_stream, RKC_ENOTREADY, "a stream there waits for it");
    is_int(results->elapsed, RKC_ENOTIMING, "it has no time");
    is_int(results->synchronized, 0, "it can be waited for");
    is_int(results->after, 0, "and then what waited is complete");
    is_int(results->exported, 0, "it can be handed on");
    is_int(results->recorded, 0, "or recorded there");
}

static void parent(int from, int to)
{
    char handle[RKC_IPC_HANDLE_BYTES] = "";
    struct rkc_event *event = NULL, *ordinary = NULL, *elsewhere = NULL;
    struct rkc_stream *stream = NULL;
    struct results results = {0};
    start();
    rkc_stream_create(0, 0, &stream);
    rkc_event_create(0, 0, &ordinary);
    rkc_event_create(7, RKC_EVENT_INTERPROCESS, &elsewhere);
    is_int(rkc_event_export(ordinary, handle), RKC_EARG, "an ordinary event is not exported");
    is_int(rkc_event_export(NULL, handle), RKC_EARG, "nor none");
    is_int(rkc_event_export(elsewhere, handle), RKC_ENODEVICE,
           "nor one of a device that is not there");
    is_int(rkc_event_create(-1, RKC_EVENT_INTERPROCESS, &event), 0, "an interprocess event");
    is_int(rkc_event_export(event, NULL), RKC_EARG, "needs a place for its handle");
    is_int(rkc_event_export(event, handle), 0, "and then is, before it is recorded");
    is_int(rkc_event_device(event), 0, "on the current device");
    if (write(to, handle, sizeof handle) != (ssize_t)sizeof handle)
        return;
    await(from);
    fakecuda_hold(rkc_stream_handle(stream));
    is_int(rkc_event_record(event, rkc_stream_handle(stream)), 0, "it is recorded here");
    tell(to);
    await(from);
    fakecuda_launch(rkc_stream_handle(stream), 5000000);
    fakecuda_release(rkc_stream_handle(stream));
    is_int(rkc_event_synchronize(event), 0, "and waited for");
    if (read(from, &results, sizeof results) != (ssize_t)sizeof results)
        ok(0, "the other process gives its results");
    check(&results);
    rkc_event_destroy(event);
    rkc_event_destroy(ordinary);
    rkc_event_destroy(elsewhere);
    rkc_stream_destroy(stream);
}

static void test_refused(void)
{
    char handle[RKC_IPC_HANDLE_BYTES] = "what is no handle";
    struct rkc_event *event = NULL;
    start();
    is_int(rkc_event_open(0, handle, sizeof handle, &event), RKC_EHANDLE,
           "what is no handle is not opened");
    is_int(rkc_event_open(0, handle, sizeof handle - 1, &event), RKC_EARG, "its size is checked");
    is_int(rkc_event_open(0, handle, sizeof handle + 1, &event), RKC_EARG, "either way");
    is_int(rkc_event_open(0, NULL, sizeof handle, &event), RKC_EARG, "NULL is none");
    is_int(rkc_event_open(0, handle, sizeof handle, NULL), RKC_EARG, "nor a place for the event");
    is_int(rkc_event_open(-2, handle, sizeof handle, &event), RKC_EARG, "-2 is no device");
    is_int(rkc_event_open(1, handle, sizeof handle, &event), RKC_ENODEVICE,
           "nor is 1 where there is one alone");
    cuCtxSetCurrent(NULL);
    is_int(rkc_event_open(-1, handle, sizeof handle, &event), RKC_ENOCONTEXT,
           "the current device has to be there");
    ok(!event, "no event comes of it");
    is_int(fakecuda_handles(), 2, "nor anything else");
}

int main(void)
{
    char folder[] = "/tmp/rankclock-ipc.XXXXXX";
    int to_child[2], to_parent[2], status = -1;
    if (!mkdtemp(folder) || pipe(to_child) || pipe(to_parent))
        return 1;
    setenv("FAKECUDA_IPC_DIR", folder, 1);
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0)
        child(to_child[0], to_parent[1]);
    parent(to_parent[0], to_child[1]);
    waitpid(pid, &status, 0);
    is_int(status, 0, "the other process ends well, with nothing left");
    test_refused();
    rkc_driver_forget();
    fakecuda_reset();
    is_int(rmdir(folder), 0, "no file is left");
    return done_testing();
}
