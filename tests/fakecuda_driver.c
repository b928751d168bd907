/* The double of libcuda.so.1: versions and look-up, devices, faults, the end of the driver, the
 * environment's settings. */
#include "autoconf.h"

#include "fakecuda/cuda_abi.h"
#include "fakecuda/fakecuda.h"
#include "tap.h"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

static void start(void)
{
    CUcontext context;
    fakecuda_reset();
    fakecuda_virtual_clock(1);
    cuInit(0);
    cuDevicePrimaryCtxRetain(&context, 0);
    cuCtxSetCurrent(context);
}

/* What a name and a version are found to be. */
static void *found(const char *name, int version, cuuint64_t flags)
{
    CUdriverProcAddressQueryResult status;
    void *function = NULL;
    if (cuGetProcAddress_v2(name, &function, version, flags, &status) != CUDA_SUCCESS)
        return NULL;
    return function;
}

static CUdriverProcAddressQueryResult status_of(const char *name, int version)
{
    CUdriverProcAddressQueryResult status = 99;
    void *function;
    cuGetProcAddress_v2(name, &function, version, CU_GET_PROC_ADDRESS_LEGACY_STREAM, &status);
    return status;
}

static void *by_dlsym(const char *symbol)
{
    return dlsym(RTLD_DEFAULT, symbol);
}

static void test_versions(void)
{
    const int legacy = CU_GET_PROC_ADDRESS_LEGACY_STREAM;
    const int per_thread = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    void *function = NULL;
    int version = 0;

    fakecuda_reset();
    is_int(cuDriverGetVersion(&version), 0, "the version can be had before cuInit");
    is_int(version, 13000, "it is 13.0");
    ok(found("cuEventElapsedTime", 2000, legacy) == by_dlsym("cuEventElapsedTime"),
       "an ABI version gives its form");
    ok(found("cuEventElapsedTime", 12080, legacy) == by_dlsym("cuEventElapsedTime_v2"),
       "a later one the later form");
    ok(found("cuEventElapsedTime", 12079, legacy) == by_dlsym("cuEventElapsedTime"),
       "one between them the earlier");
    ok(found("cuEventRecord", 13000, legacy) == by_dlsym("cuEventRecord"),
       "for legacy streams a record is one");
    ok(found("cuEventRecord", 13000, per_thread) == by_dlsym("cuEventRecord_ptsz"),
       "for per-thread streams it is its twin");
    ok(found("cuEventQuery", 13000, per_thread) == by_dlsym("cuEventQuery"),
       "what takes no stream has none");
    is_int(cuGetProcAddress_v2("cuInit", &function, 13010, legacy, NULL), 1,
           "a version above the driver's is an error");
    is_int(status_of("cuInit", 2000), CU_GET_PROC_ADDRESS_SUCCESS, "found is found");
    is_int(status_of("cuNothing", 2000), CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, "nothing is not");
    is_int(status_of("cuCtxGetId", 11000), CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT,
           "what came later needs a later version");
    is_int(cuGetProcAddress("cuNothing", &function, 11000, legacy), 500,
           "the first form of the look-up has a result for it");
    ok(by_dlsym("cuEventDestroy_v2") && by_dlsym("cuStreamDestroy_v2") &&
           by_dlsym("cuCtxPopCurrent_v2") && by_dlsym("cuMemGetInfo_v2"),
       "dlsym finds the names that the real library exports");

    fakecuda_driver_version(11030);
    cuDriverGetVersion(&version);
    is_int(version, 11030, "an older driver says so");
    is_int(cuGetProcAddress("cuStreamGetCaptureInfo", &function, 11030, legacy), 0,
           "it has the four-argument look-up");
    ok(function == by_dlsym("cuStreamGetCaptureInfo_v2"), "which finds its newest forms");
    is_int(cuGetProcAddress("cuCtxGetId", &function, 11030, legacy), 500, "not newer names");
    is_int(fakecuda_calls_too_new(), 0, "nothing was called that it does not have");
    is_int(cuGetProcAddress_v2("cuInit", &function, 2000, legacy, NULL), 801,
           "the later look-up does not work there");
    is_int(fakecuda_calls_too_new(), 1, "and is counted");
}

static void test_old_library(void)
{
    const char *folder = getenv("RKC_FAKECUDA");
    char path[4096];
    if (!folder) {
        skip(2, "the environment does not say where the libraries are");
        return;
    }
    snprintf(path, sizeof(path), "%s/11.0/.libs/libcuda.so.1", folder);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    ok(library && dlsym(library, "cuEventRecord") && dlsym(library, "cuEventRecord_ptsz"),
       "an 11.0 driver has what came with it");
    ok(library && !dlsym(library, "cuGetProcAddress") && !dlsym(library, "cuEventRecordWithFlags"),
       "and no symbol that came later");
}

static void test_devices(void)
{
    const char *text = NULL;
    char name[64], bus[16];
    CUuuid uuid, uuid_v2;
    CUdevice device;
    int n = 0, value = 0;

    fakecuda_reset();
    fakecuda_devices(0);
    is_int(cuInit(0), 100, "without devices cuInit fails");
    fakecuda_devices(3);
    cuInit(0);
    cuDeviceGetCount(&n);
    is_int(n, 3, "there are as many devices as were set");
    is_int(cuDeviceGet(&device, 3), 101, "and no more");
    snprintf(fakecuda_device(1)->name, 64, "Some GPU");
    cuDeviceGetName(name, sizeof(name), 1);
    cuDeviceGetPCIBusId(bus, sizeof(bus), 1);
    is_str(name, "Some GPU", "a name can be set");
    is_str(bus, "0000:02:00.0", "each has its own bus id");
    is_int(cuDeviceGetPCIBusId(bus, 4, 1), 1, "which must have room");
    fakecuda_device(1)->attributes[CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT] = 7;
    cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 1);
    is_int(value, 7, "attributes can be set");
    cuDeviceGetUuid(&uuid, 1);
    cuDeviceGetUuid_v2(&uuid_v2, 1);
    ok(memcmp(&uuid, &uuid_v2, 16) == 0, "a whole GPU has one uuid");
    fakecuda_device(1)->is_mig = 1;
    cuDeviceGetUuid(&uuid, 1);
    cuDeviceGetUuid_v2(&uuid_v2, 1);
    ok(memcmp(&uuid, &uuid_v2, 16) != 0, "the second form gives that of a MIG instance");
    cuGetErrorName(CUDA_ERROR_NOT_READY, &text);
    is_str(text, "CUDA_ERROR_NOT_READY", "errors have names");
    is_int(cuGetErrorName(12345, &text), 1, "known ones");
    ok(!text, "others have NULL");
}

static void test_faults(void)
{
    CUevent event;
    CUdevice device;
    int n = 0;
    start();
    cuEventCreate(&event, 0);
    is_int(fakecuda_fail("cuNothing", 1, 0, 1), 500, "only what there is can fail");
    fakecuda_fail("cuEventRecord", 999, 1, 2);
    is_int(cuEventRecord(event, NULL), 0, "a fault comes after the calls that are skipped");
    is_int(cuEventRecord(event, NULL), 999, "then");
    is_int(cuEventRecord(event, NULL), 999, "as often as was said");
    is_int(cuEventRecord(event, NULL), 0, "and no more");
    is_int(cuEventQuery(event), 0, "other calls are not touched");

    fakecuda_fail("cuEventQuery", 700, 0, 1);
    is_int(cuEventQuery(event), 700, "an illegal address is found by a query");
    is_int(cuEventRecord(event, NULL), 700, "and stays for every call");
    is_int(cuCtxGetDevice(&device), 700, "about contexts");
    is_int(cuDriverGetVersion(&n), 0, "not about the driver");
    fakecuda_sticky(0);
    is_int(cuEventRecord(event, NULL), 0, "unless it is taken back");

    fakecuda_deinit();
    is_int(cuEventDestroy_v2(event), 4, "after the end of the driver every call returns 4");
    is_int(cuDriverGetVersion(&n), 4, "every one");
    is_int(cuInit(0), 4, "and it does not begin again");

    start();
    fakecuda_fail("cuCtxGetDevice", 4, 0, 1);
    cuCtxGetDevice(&device);
    is_int(cuCtxGetDevice(&device), 4, "that 4 can be injected, too");
}

/* Run a function in a child; its result. */
static int in_child(int (*function)(void))
{
    int status = -1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        _exit(function());
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int call_in_child(void)
{
    CUdevice device;
    return cuCtxGetDevice(&device) == 3 && cuInit(0) == 3;
}

static int read_environment(void)
{
    int version = 0, n = 0;
    char name[64];
    CUevent event = NULL;
    setenv("FAKECUDA_DEVICES", "2", 1);
    setenv("FAKECUDA_DRIVER_VERSION", "12040", 1);
    setenv("FAKECUDA_VIRTUAL", "1", 1);
    setenv("FAKECUDA_NAME", "Some GPU", 1);
    setenv("FAKECUDA_GPU_CLOCK", "5:1.5:64", 1);
    setenv("FAKECUDA_KERNEL_NS", "spin:3000,77", 1);
    setenv("FAKECUDA_FAIL", "cuEventRecord:999:1,cuEventQuery:600", 1);
    start();
    cuDriverGetVersion(&version);
    cuDeviceGetCount(&n);
    cuDeviceGetName(name, sizeof(name), 1);
    cuEventCreate(&event, 0);
    int64_t now_ns = fakecuda_now();
    return version == 12040 && n == 2 && strcmp(name, "Some GPU") == 0 &&
           cuEventRecord(event, NULL) == 0 && cuEventRecord(event, NULL) == 999 &&
           cuEventQuery(event) == 600 && fakecuda_now() == now_ns;
}

static int init_fails(void)
{
    setenv("FAKECUDA_FAIL", "cuInit:999", 1);
    fakecuda_reset();
    return cuInit(0) == 999;
}

static void leave_with_result(void)
{
    int version;
    _exit(cuDriverGetVersion(&version) == 4);
}

static int end_at_exit(void)
{
    setenv("FAKECUDA_DEINIT_AT_EXIT", "1", 1);
    atexit(leave_with_result);
    start();
    exit(2);
}

static void test_processes(void)
{
    start();
    is_int(in_child(call_in_child), 1, "the child of a process that uses CUDA cannot");
    is_int(in_child(read_environment), 1, "the environment sets what the functions do");
    is_int(in_child(init_fails), 1, "cuInit can fail by it");
    is_int(in_child(end_at_exit), 1, "the driver can end before what comes at exit");
}

static void test_zero_cost(void)
{
    CUevent event;
    int pending = 0;
    start();
    fakecuda_zero_cost(1);
    cuEventCreate(&event, 0);
    for (int i = 0; i < 100000; i++) {
        cuEventRecord(event, NULL);
        pending += cuEventQuery(event) != CUDA_SUCCESS;
    }
    is_int(pending, 0, "at zero cost a record is complete at once");
    fakecuda_launch(NULL, 5);
    cuEventRecord(event, NULL);
    is_int(cuEventQuery(event), 600, "unless there is work before it");
    is_int(fakecuda_calls("cuEventRecord"), 100001, "and calls are counted");
}

/* A host function's call of the driver is refused. */
static void call_query(void *event)
{
    cuEventQuery(event);
}

static int refuses_child(void)
{
    CUstreamCaptureStatus status;
    return cuStreamIsCapturing(CU_STREAM_PER_THREAD, &status) == CUDA_ERROR_NOT_INITIALIZED;
}

/* Whatever refuses a call refuses it at zero cost, too, from the next call on. */
static void test_zero_cost_refusals(void)
{
    CUstream stream;
    CUevent event;
    CUgraph graph;
    CUstreamCaptureStatus status = 99;
    CUstreamCaptureMode mode = 9;
    start();
    fakecuda_zero_cost(1);
    cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    cuEventCreate(&event, 0);
    is_int(cuEventRecord(event, stream), 0, "at zero cost there are calls");
    is_int(cuEventRecord((CUevent)(void *)stream, stream), 400,
           "but with no wrong handle");
    is_int(cuThreadExchangeStreamCaptureMode(&mode), 1, "nor a wrong mode");
    fakecuda_fail("cuEventRecord", 999, 0, 1);
    is_int(cuEventRecord(event, stream), 999, "nor one that is to fail");
    is_int(cuEventRecord(event, stream), 0, "but that once");
    fakecuda_fail("cuEventRecord", 0, 0, 0);
    fakecuda_sticky(700);
    is_int(cuEventQuery(event), 700, "an error that stays shows at once");
    fakecuda_sticky(0);
    is_int(cuEventQuery(event), 0, "until it is taken back");
    cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    is_int(cuStreamIsCapturing(stream, &status) + status, 1, "a capture is seen");
    is_int(cuEventQuery(event), 900, "and forbids queries");
    is_int(cuStreamEndCapture(stream, &graph), 901, "which break it");
    is_int(cuEventQuery(event), 0, "after its end they are allowed");
    cuLaunchHostFunc(stream, call_query, event);
    cuEventRecord(event, stream);
    is_int(cuEventQuery(event), 0, "host functions take place");
    is_int(fakecuda_callback_violations(), 1, "and may call nothing");
    is_int(in_child(refuses_child), 1, "nor may a forked child");
    fakecuda_deinit();
    is_int(cuEventQuery(event), 4, "nor anybody after the end");
}

int main(void)
{
    test_versions();
    test_old_library();
    test_devices();
    test_faults();
    test_processes();
    test_zero_cost();
    test_zero_cost_refusals();
    fakecuda_reset();
    return done_testing();
}
