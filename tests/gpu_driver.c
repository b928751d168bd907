/* The driver's functions, contexts, captures and devices, on the double of libcuda.so.1. */
#include "autoconf.h"

#include "gpu_double.h"
#include "tap.h"

#include "gpu/context.h"
#include "gpu/device.h"

#include <dlfcn.h>
#include <pthread.h>

/* The prototypes are those of the double, which abi_check.c compares with NVIDIA's. */
#define REQUIRED(member, base, version_, symbol, parameters)                                      \
    _Static_assert(__builtin_types_compatible_p(__typeof__(&symbol), CUresult(*) parameters) &&   \
                       __builtin_types_compatible_p(__typeof__(((struct rkc_driver *)0)->member), \
                                                    CUresult(*) parameters),                      \
                   #symbol);
#define OPTIONAL(member, base, version_, symbol, parameters) \
    REQUIRED(member, base, version_, symbol, parameters)
#include "gpu/driver.def"

#define SAME(name, cuda_name, value) _Static_assert((int)(name) == (int)(cuda_name), #name);
RKC_CUDA_LIST(SAME)

static const struct {
    const char *symbol;
    int version;
    int is_required;
    size_t offset;
} rows[] = {
#define ROW(member, version_, symbol, is_required) \
    {#symbol, version_, is_required, offsetof(struct rkc_driver, member)},
#define REQUIRED(member, base, version_, symbol, parameters) ROW(member, version_, symbol, 1)
#define OPTIONAL(member, base, version_, symbol, parameters) ROW(member, version_, symbol, 0)
#include "gpu/driver.def"
};

enum { ROWS = sizeof rows / sizeof *rows };

/* How many functions of the table are not what dlsym finds by their exact name. */
static int count_wrong(int version)
{
    int wrong = 0;
    for (size_t i = 0; i < ROWS; i++) {
        void *found;
        memcpy(&found, (const char *)&rkc_driver_table + rows[i].offset, sizeof found);
        void *wanted = rows[i].version <= version ? dlsym(RTLD_DEFAULT, rows[i].symbol) : NULL;
        wrong += found != wanted;
    }
    return wrong;
}

static void test_versions(void)
{
    static const int versions[] = {11000, 11010, 11030, 11040, 12000, 12030, 12050, 12080, 13000};
    int old_required = 0;
    for (size_t i = 0; i < ROWS; i++)
        old_required += rows[i].is_required && rows[i].version > 10010;
    is_int(old_required, 0, "what is required is in every driver that is supported");
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        gpu_set_up(1);
        fakecuda_driver_version(versions[i]);
        is_int(rkc_driver_find(), 0, "a driver from 11.0 to 13.0 is found");
        is_int(rkc_driver_table.version, versions[i], "its version is known");
        is_int(count_wrong(versions[i]), 0, "each function is of its exact version, no newer one");
        is_int(fakecuda_calls_too_new(), 0, "nothing is called that it does not have");
    }
    gpu_set_up(1);
    fakecuda_driver_version(10020);
    is_int(rkc_driver_find(), RKC_ENODRIVER, "an older driver is not used");
    is_str(rkc_driver_reason(), "the driver is for CUDA 10.2, older than 11.0", "and it is said");
}

static void test_states(void)
{
    rkc_driver_forget();
    fakecuda_reset();
    is_int(rkc_driver_state(), RKC_DRIVER_UNKNOWN, "at first nothing is known");
    ok(!rkc_driver_get(), "and nothing may be called");
    is_int(rkc_driver_find(), RKC_ENODRIVER, "a driver that is not initialised is not ready");
    is_int(rkc_driver_state(), RKC_DRIVER_ASLEEP, "but may become so");
    is_int(fakecuda_calls("cuInit"), 0, "we never initialise it");
    cuInit(0);
    is_int(rkc_driver_find(), 0, "after the program's cuInit it is");
    ok(rkc_driver_get() == &rkc_driver_table && !rkc_driver_reason(), "and may be used");
    fakecuda_reset_calls();
    is_int(rkc_driver_find(), 0, "found once it is not looked for again");
    is_int(fakecuda_calls_all(), 0, "by any call");
    is_int(fakecuda_calls("cuDevicePrimaryCtxRetain") + fakecuda_handles(), 0,
           "no context was made");

    fakecuda_deinit();
    ok(rkc_driver_get() != NULL, "that it was shut down is not known");
    is_int(rkc_driver_status(rkc_driver_table.event_query(NULL)), RKC_ENODRIVER,
           "until a call tells");
    ok(!rkc_driver_get() && rkc_driver_state() == RKC_DRIVER_GONE, "then nothing is called");
    is_int(rkc_driver_find(), RKC_ENODRIVER, "ever again");
    is_str(rkc_driver_reason(), "CUDA was shut down", "with a reason");
    rkc_driver_find();

    gpu_set_up(1);
    fakecuda_deinit();
    is_int(rkc_driver_find(), RKC_ENODRIVER, "a driver may be shut down before it is found");
    ok(rkc_driver_reason() != NULL, "which is a reason, too");
}

static void breaks(const char *symbol, int code, int status, const char *reason)
{
    gpu_set_up(1);
    fakecuda_fail(symbol, code, 0, -1);
    is_int(rkc_driver_find(), status, "a driver that fails is not used");
    is_str(rkc_driver_reason(), reason, "the reason says in what");
    fakecuda_fail(symbol, 0, 0, 0);
    is_int(rkc_driver_find(), status, "nor later");
}

static void test_broken(void)
{
    breaks("cuDriverGetVersion", 34, RKC_ENODRIVER, "cuDriverGetVersion fails with error 34");
    breaks("cuDeviceGetCount", 803, RKC_ENODRIVER, "cuDeviceGetCount fails with error 803");
    breaks("cuDeviceGetCount", 100, RKC_ENODEVICE, "the driver sees no device");
    gpu_set_up(1);
    fakecuda_fail("cuGetProcAddress_v2", 999, 0, -1);
    is_int(rkc_driver_find(), 0, "without a look-up that works the symbols are enough");
    is_int(count_wrong(13000), 0, "the same ones");
}

static void test_results(void)
{
    static const struct {
        CUresult result;
        int status;
    } results[] = {
        {0, 0},
        {600, RKC_ENOTREADY},
        {3, RKC_ENODRIVER},
        {2, RKC_ENOMEM},
        {100, RKC_ENODEVICE},
        {101, RKC_ENODEVICE},
        {201, RKC_ENOCONTEXT},
        {400, RKC_EHANDLE},
        {801, RKC_ENOTSUP},
        {709, RKC_ELOST},
        {700, RKC_ELOST},
        {214, RKC_ELOST},
        {702, RKC_ELOST},
        {710, RKC_ELOST},
        {714, RKC_ELOST},
        {719, RKC_ELOST},
        {900, RKC_ECAPTURE},
        {906, RKC_ECAPTURE},
        {907, RKC_ECAPTURE},
        {1, RKC_ECUDA},
        {999, RKC_ECUDA},
        {713, RKC_ECUDA},
        {720, RKC_ECUDA},
        {899, RKC_ECUDA},
        {909, RKC_ECUDA},
    };
    gpu_start(1);
    int wrong = 0;
    for (size_t i = 0; i < sizeof results / sizeof *results; i++)
        wrong += rkc_driver_status(results[i].result) != results[i].status;
    is_int(wrong, 0, "each result of the driver's has its status");
    ok(rkc_driver_get() != NULL, "only 4 ends its use");
}

static int child_is_off(void)
{
    fakecuda_reset_calls();
    return !rkc_driver_get() && rkc_driver_find() == RKC_ENODRIVER &&
           strcmp(rkc_driver_reason(), "this is a forked child") == 0 && fakecuda_calls_all() == 0;
}

static void test_fork(void)
{
    gpu_start(1);
    is_int(gpu_in_child(child_is_off), 1, "in a forked child nothing is called");
    ok(rkc_driver_get() != NULL, "in its parent it goes on");
}

/* ---- contexts ---- */

static void test_streams_contexts(void)
{
    CUcontext found = NULL;
    int device = -1;
    gpu_start(2);
    cuCtxSetCurrent(gpu_contexts[1]);
    CUstream other = gpu_stream(CU_STREAM_NON_BLOCKING);
    cuCtxSetCurrent(gpu_contexts[0]);
    is_int(rkc_context_of_stream(other, &found), 0, "a stream has a context");
    ok(found == gpu_contexts[1], "whichever is current");
    is_int(rkc_context_device(found, &device), 0, "which has a device");
    is_int(device, 1, "the stream's");
    for (uintptr_t handle = 0; handle <= 2; handle++) {
        found = NULL;
        ok(rkc_stream_is_special((CUstream)handle) &&
               rkc_context_of_stream((CUstream)handle, &found) == 0 && found == gpu_contexts[0],
           "a default stream is one of the current context");
    }
    cuCtxSetCurrent(NULL);
    is_int(rkc_context_of_stream(other, &found), 0, "a stream needs no current context");
    for (uintptr_t handle = 0; handle <= 2; handle++)
        is_int(rkc_context_of_stream((CUstream)handle, &found), RKC_ENOCONTEXT,
               "a default stream does");
    is_int(rkc_context_of_stream((CUstream)77, &found), RKC_EHANDLE, "what is no stream has none");
    is_int(fakecuda_calls_synchronizing(), 0, "nothing waited for the device");
}

static void test_devices_contexts(void)
{
    CUcontext found = NULL, own, current = NULL;
    unsigned flags;
    int active = 1;
    rkc_driver_forget();
    fakecuda_reset();
    fakecuda_devices(2);
    cuInit(0);
    rkc_driver_find();
    is_int(rkc_context_of_device(0, &found), RKC_ENOCONTEXT,
           "a device that the program does not use has no context");
    cuDevicePrimaryCtxGetState(0, &flags, &active);
    is_int(active, 0, "none is made");
    is_int(fakecuda_calls("cuDevicePrimaryCtxRetain"), 0, "nor tried to");
    cuDevicePrimaryCtxRetain(&gpu_contexts[1], 1);
    is_int(rkc_context_of_device(1, &found), 0, "the primary one is found where it is alive");
    ok(found == gpu_contexts[1], "though it is not current");
    cuDevicePrimaryCtxRelease_v2(1);
    cuDevicePrimaryCtxGetState(1, &flags, &active);
    is_int(active, 0, "it stays no longer alive for us");
    cuCtxCreate_v2(&own, 0, 0);
    is_int(rkc_context_of_device(0, &found), 0, "a context of the program's will do");
    ok(found == own, "when it is current");
    is_int(rkc_context_of_device(1, &found), RKC_ENOCONTEXT, "for its own device");
    is_int(rkc_context_of_device(2, &found), RKC_ENODEVICE, "there is no third device");
    is_int(rkc_context_of_device(-1, &found), RKC_ENODEVICE, "nor one before the first");
    cuCtxGetCurrent(&current);
    ok(current == own, "what is current stays so");
}

static void test_events(void)
{
    CUcontext current = NULL, own;
    CUevent event = NULL;
    gpu_start(2);
    CUstream stream = gpu_stream(0);
    cuCtxSetCurrent(NULL);
    is_int(rkc_context_new_event(gpu_contexts[0], 0, &event), 0,
           "an event is made in a context that is not current");
    is_int(cuEventRecord(event, stream), 0, "for its streams");
    cuCtxGetCurrent(&current);
    ok(!current, "and what was current is again");
    is_int(rkc_event_poll(event), 0, "it is complete");
    fakecuda_hold(stream);
    cuEventRecord(event, stream);
    is_int(rkc_event_poll(event), RKC_ENOTREADY, "or not");
    fakecuda_fail("cuEventCreate", 2, 0, 1);
    is_int(rkc_context_new_event(gpu_contexts[1], 0, &event), RKC_ENOMEM, "failures are told");
    cuCtxGetCurrent(&current);
    ok(!current, "with the current context as it was");
    cuCtxCreate_v2(&own, 0, 0);
    uint64_t id = rkc_context_id(own);
    ok(id && id != rkc_context_id(gpu_contexts[0]), "contexts have ids of their own");
    cuCtxDestroy_v2(own);
    is_int(rkc_context_new_event(own, 0, &event), RKC_ENOCONTEXT, "a destroyed one is not used");
    fakecuda_release(stream);
}

/* ---- captures ---- */

static void *poll_event(void *event)
{
    is_int(rkc_event_poll(event), 0, "another thread can poll meanwhile");
    return NULL;
}

static void test_captures(void)
{
    CUgraph graph = NULL;
    CUevent event = NULL;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    pthread_t thread;
    gpu_start(1);
    CUstream stream = gpu_stream(0);
    rkc_context_new_event(gpu_contexts[0], 0, &event);
    cuEventRecord(event, stream);
    is_int(rkc_stream_check_capture(stream), 0, "a stream that is not captured is fine");
    cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    is_int(rkc_stream_check_capture(stream), RKC_ECAPTURE, "one that is captured is not");
    is_int(rkc_stream_check_capture(NULL), RKC_ECAPTURE, "nor is the legacy stream beside it");
    is_int(rkc_event_poll(event), 0, "events can be polled during a capture");
    pthread_create(&thread, NULL, poll_event, event);
    pthread_join(thread, NULL);
    cuThreadExchangeStreamCaptureMode(&mode);
    is_int(mode, CU_STREAM_CAPTURE_MODE_GLOBAL, "the thread's mode is as it was");
    is_int(cuStreamEndCapture(stream, &graph), 0, "and the capture is not broken");
    cuGraphDestroy(graph);

    cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    cuEventQuery(event);
    is_int(rkc_stream_check_capture(stream), RKC_ECAPTURE, "a broken capture is one, too");
    cuStreamEndCapture(stream, &graph);
    fakecuda_fail("cuThreadExchangeStreamCaptureMode", 999, 0, 1);
    fakecuda_reset_calls();
    is_int(rkc_event_poll(event), RKC_ECUDA, "what cannot be done without harm");
    is_int(fakecuda_calls("cuEventQuery"), 0, "is not done");
}

/* ---- devices ---- */

static void test_devices(void)
{
    struct rkc_device device = {.index = -1};
    int n = 0;
    gpu_start(3);
    is_int(rkc_device_count(&n), 0, "devices can be counted");
    is_int(n, 3, "there are three");
    fakecuda_device(2)->is_mig = 1;
    is_int(rkc_device_read(1, &device), 0, "and asked");
    is_int(device.index, 1, "one has an index");
    is_str(device.name, "Fake GPU 1", "a name");
    is_str(device.pci_bus_id, "0000:02:00.0", "a place on the bus");
    is_str(device.uuid, "GPU-10111213-1415-1617-1819-1a1b1c1d1e1f", "and a UUID");
    rkc_device_read(2, &device);
    is_str(device.uuid, "MIG-a0a1a2a3-a4a5-a6a7-a8a9-aaabacadaeaf", "an instance has its own");
    is_int(rkc_device_read(3, &device), RKC_ENODEVICE, "a device must be there");
    is_int(device.index, 2, "what fails leaves the result alone");

    static const char *const calls[] = {"cuDeviceGet", "cuDeviceGetName", "cuDeviceGetPCIBusId",
                                        "cuDeviceGetUuid", "cuDeviceGetUuid_v2"};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        fakecuda_fail(calls[i], 999, 0, 1);
        is_int(rkc_device_read(0, &device), RKC_ECUDA, "a call that fails is told");
        is_int(rkc_device_read(0, &device), 0, "and no more when it works");
    }
    fakecuda_fail("cuDeviceGetCount", 999, 0, 1);
    is_int(rkc_device_count(&n), RKC_ECUDA, "of the count, too");

    gpu_set_up(1);
    fakecuda_driver_version(11030);
    fakecuda_device(0)->is_mig = 1;
    rkc_driver_find();
    rkc_device_read(0, &device);
    is_str(device.uuid, "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f",
           "before 11.4 a driver does not tell an instance");
}

static void context_fails(const char *symbol, int (*call)(CUcontext *context))
{
    CUcontext context = NULL, current = NULL;
    fakecuda_fail(symbol, 999, 0, 1);
    is_int(call(&context), RKC_ECUDA, "a call about contexts that fails is told");
    ok(!context, "and gives nothing");
    cuCtxGetCurrent(&current);
    ok(current == gpu_contexts[0], "the current one stays");
}

static int ask_device(CUcontext *context)
{
    return rkc_context_of_device(1, context);
}

static int ask_stream(CUcontext *context)
{
    return rkc_context_of_stream(NULL, context);
}

static int ask_device_of(CUcontext *context)
{
    int device;
    (void)context;
    return rkc_context_device(gpu_contexts[1], &device);
}

static void test_faults(void)
{
    CUcontext context = NULL;
    gpu_start(2);
    context_fails("cuDeviceGet", ask_device);
    context_fails("cuCtxGetCurrent", ask_device);
    context_fails("cuDevicePrimaryCtxGetState", ask_device);
    context_fails("cuDevicePrimaryCtxRetain", ask_device);
    context_fails("cuStreamGetCtx", ask_stream);
    context_fails("cuCtxPushCurrent_v2", ask_device_of);
    context_fails("cuCtxGetDevice", ask_device_of);
    fakecuda_fail("cuCtxGetId", 999, 0, 1);
    is_int((int64_t)rkc_context_id(gpu_contexts[0]), 0, "an id that is not to be had is 0");
    fakecuda_sticky(700);
    is_int(ask_stream(&context), RKC_ELOST, "an error of the program's is none of ours");
    ok(rkc_driver_get() != NULL, "and can pass, by a reset");
}

int main(void)
{
    unsetenv("RANKCLOCK_GPU");
    test_versions();
    test_states();
    test_broken();
    test_results();
    test_fork();
    test_streams_contexts();
    test_devices_contexts();
    test_events();
    test_captures();
    test_devices();
    test_faults();
    rkc_driver_forget();
    fakecuda_reset();
    return done_testing();
}
