/* Which kind of memory a buffer is in, and when that has to be asked; on the double of
 * libcuda.so.1. Where the driver comes into the process is gpu_find.c's. */
#include "autoconf.h"

#include "gpu_double.h"
#include "tap.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "gpu/memory.h"
#include "schema.h"

#define ASK "cuPointerGetAttributes"

static char plain[4096], registered[4096];
static CUdeviceptr device_memory[2], managed_memory;
static void *pinned_memory;

static void *at(CUdeviceptr pointer)
{
    return (void *)(uintptr_t)pointer;
}

static void set_up(int n_devices)
{
    gpu_set_up(n_devices);
    rkc_memory_forget();
}

/* With memory of each kind, device 0 current, and calls counted from here on. */
static void set_up_memory(void)
{
    set_up(2);
    for (int i = 1; i >= 0; i--) {
        cuCtxSetCurrent(gpu_contexts[i]);
        cuMemAlloc_v2(&device_memory[i], 1000);
    }
    cuMemAllocManaged(&managed_memory, 1000, CU_MEM_ATTACH_GLOBAL);
    cuMemAllocHost_v2(&pinned_memory, 1000);
    cuMemHostRegister_v2(registered, sizeof registered, 0);
    rkc_private_memory_look();
    fakecuda_reset_calls();
}

static int kind_of(const void *address)
{
    struct rkc_memory memory = {99, 99};
    rkc_private_memory_of(address, &memory);
    return memory.device == -1 ? memory.kind : 1000;
}

static int device_of(const void *address)
{
    struct rkc_memory memory = {99, 99};
    rkc_private_memory_of(address, &memory);
    return memory.kind == RKC_KIND_DEVICE ? memory.device : -1000;
}

static void test_names(void)
{
    static const char *const names[] = {
#define NAME(id, name) [RKC_KIND_##id] = name,
        RKC_MEMORY_KIND_LIST(NAME)};
    static const char *const wanted[] = {"none", "host", "pinned", "device", "managed", "unknown"};
    int wrong = RKC_KINDS != 6;
    for (int i = 0; i < 6; i++)
        wrong += strcmp(names[i], wanted[i]) != 0;
    is_int(wrong, 0, "kinds are numbered as in files");
}

/* ---- when to ask ---- */

static void test_look(void)
{
    rkc_driver_forget();
    rkc_memory_forget();
    fakecuda_reset();
    fakecuda_devices(2);
    is_int(rkc_private_memory_look(), 0, "before the program's cuInit there is nothing to ask");
    cuInit(0);
    errno = E2BIG;
    is_int(rkc_private_memory_look(), 0, "nor before it has a context");
    is_int(errno, E2BIG, "errno stays");
    is_int(fakecuda_calls("cuInit"), 1, "we never initialise the driver");
    is_int(fakecuda_calls("cuDevicePrimaryCtxRetain") + fakecuda_handles(), 0,
           "nor make a context");

    CUcontext context;
    cuDevicePrimaryCtxRetain(&context, 1);
    fakecuda_reset_calls();
    is_int(rkc_private_memory_look(), 1, "the primary context of any device is one");
    is_int(fakecuda_handles(), 2, "which is the program's, with its stream");
    is_int(fakecuda_calls_synchronizing() + fakecuda_calls("cuCtxSetCurrent") +
               fakecuda_calls("cuCtxPushCurrent_v2") + fakecuda_calls("cuDevicePrimaryCtxRetain"),
           0, "nothing is waited for, retained or made current");
    fakecuda_reset_calls();
    is_int(rkc_private_memory_look(), 1, "once there was one, it stays so");
    is_int(fakecuda_calls_all(), 0, "without a call");
    cuDevicePrimaryCtxRelease_v2(1);
}

static void test_own_context(void)
{
    rkc_driver_forget();
    rkc_memory_forget();
    fakecuda_reset();
    cuInit(0);
    CUcontext context;
    cuCtxCreate_v2(&context, 0, 0);
    is_int(rkc_private_memory_look(), 1, "so is one that the thread has made");
    cuMemAlloc_v2(&device_memory[0], 1000);
    is_int(device_of(at(device_memory[0])), 0, "whose memory is the device's");
    cuCtxDestroy_v2(context);
}

static void test_look_fails(void)
{
    static const char *const calls[] = {"cuCtxGetCurrent", "cuDeviceGetCount", "cuDeviceGet",
                                        "cuDevicePrimaryCtxGetState"};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        set_up(1);
        cuCtxSetCurrent(NULL);
        rkc_driver_find();
        fakecuda_fail(calls[i], 999, 0, -1);
        is_int(rkc_private_memory_look(), 0, "a driver that fails tells of no context");
        fakecuda_fail(calls[i], 0, 0, 0);
        is_int(rkc_private_memory_look(), 1, "but may later");
    }
    set_up(1);
    fakecuda_fail("cuDeviceGetCount", 100, 0, -1);
    is_int(rkc_private_memory_look(), 0, "a driver without a device is not asked");
    fakecuda_fail("cuDeviceGetCount", 0, 0, 0);
    is_int(rkc_private_memory_look(), 0, "ever");
}

/* ---- what is what ---- */

static void test_kinds(void)
{
    char *allocated = malloc(100);
    set_up_memory();
    is_int(kind_of(allocated), RKC_KIND_HOST, "memory of malloc is the host's");
    is_int(kind_of(&allocated), RKC_KIND_HOST, "as is the stack");
    is_int(kind_of(pinned_memory), RKC_KIND_PINNED, "what the driver allocated there is pinned");
    is_int(kind_of(registered), RKC_KIND_PINNED, "as is what was registered with it");
    is_int(kind_of(registered + 4095), RKC_KIND_PINNED, "to the last byte");
    is_int(kind_of(at(managed_memory)), RKC_KIND_MANAGED, "managed memory has no device");
    is_int(device_of(at(device_memory[0])), 0, "device memory has its device");
    is_int(device_of(at(device_memory[0] + 999)), 0, "inside of it, too");
    is_int(device_of(at(device_memory[1])), 1, "whichever is current");
    is_int(fakecuda_calls(ASK), 9, "each costs one query");
    is_int(fakecuda_calls_all(), 9, "and nothing more");
    is_int(kind_of(NULL), RKC_KIND_NONE, "NULL is no memory");
    is_int(fakecuda_calls_all(), 9, "without asking");
    free(allocated);
}

static void test_changes(void)
{
    set_up_memory();
    cuMemFree_v2(device_memory[0]);
    is_int(kind_of(at(device_memory[0])), RKC_KIND_HOST, "what was freed is not known any more");
    is_int(kind_of(plain), RKC_KIND_HOST, "an address may be the host's");
    cuMemHostRegister_v2(plain, sizeof plain, 0);
    is_int(kind_of(plain), RKC_KIND_PINNED, "and another kind the next time");
    cuMemHostUnregister(plain);
    is_int(kind_of(plain), RKC_KIND_HOST, "and back");
    cuDevicePrimaryCtxReset_v2(1);
    is_int(kind_of(at(device_memory[1])), RKC_KIND_HOST, "a reset takes its memory away");
    is_int(kind_of(pinned_memory), RKC_KIND_PINNED, "and that of no other device");
    cuDevicePrimaryCtxReset_v2(0);
    is_int(rkc_private_memory_look(), 1, "one goes on to ask");
    is_int(kind_of(plain), RKC_KIND_HOST, "without any context");
    is_int(fakecuda_calls("cuDevicePrimaryCtxRetain"), 0, "and makes none");
}

static void test_no_context(void)
{
    set_up_memory();
    cuCtxSetCurrent(NULL);
    is_int(device_of(at(device_memory[1])), 1, "a thread without a context can ask");
    is_int(fakecuda_calls("cuCtxSetCurrent") + fakecuda_calls("cuCtxPushCurrent_v2"), 1,
           "and gets none");
    fakecuda_fail(ASK, 201, 0, 1);
    is_int(kind_of(at(device_memory[1])), RKC_KIND_UNKNOWN,
           "if the driver wants one, the kind is unknown");
}

static void test_capture(void)
{
    CUgraph graph = NULL;
    set_up_memory();
    rkc_memory_forget();
    CUstream stream = gpu_stream(CU_STREAM_NON_BLOCKING);
    cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    is_int(rkc_private_memory_look(), 1, "a capture may be going on");
    is_int(device_of(at(device_memory[0])), 0, "anywhere");
    is_int(cuStreamEndCapture(stream, &graph), 0, "which is none the worse");
}

/* ---- what fails ---- */

static void test_failures(void)
{
    static const int errors[] = {3, 100, 201, 709, 800, 999};
    set_up_memory();
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        fakecuda_fail(ASK, errors[i], 0, 1);
        is_int(kind_of(at(device_memory[0])), RKC_KIND_UNKNOWN, "what fails tells nothing");
        is_int(device_of(at(device_memory[0])), 0, "and leaves nothing behind");
    }
    fakecuda_fail(ASK, 1, 0, 1);
    is_int(kind_of(plain), RKC_KIND_HOST, "what is no address of the driver's is the host's");
    fakecuda_sticky(700);
    is_int(kind_of(at(device_memory[0])), RKC_KIND_UNKNOWN, "after a fault of the program's, too");
    fakecuda_sticky(0);
    is_int(fakecuda_calls(ASK), fakecuda_calls_all(), "nothing else is called");
}

static void test_end(void)
{
    set_up_memory();
    fakecuda_deinit();
    is_int(kind_of(at(device_memory[0])), RKC_KIND_UNKNOWN, "after its end a driver tells nothing");
    is_int(fakecuda_calls_all(), 1, "which the first call shows");
    is_int(kind_of(plain), RKC_KIND_UNKNOWN, "of anything");
    is_int(rkc_private_memory_look(), 0, "nor is there anything to ask");
    is_int(fakecuda_calls_all(), 1, "so none is made any more");
}

static int child_asks_nothing(void)
{
    fakecuda_reset_calls();
    return rkc_private_memory_look() == 0 && kind_of(plain) == RKC_KIND_UNKNOWN &&
           kind_of(at(device_memory[0])) == RKC_KIND_UNKNOWN && fakecuda_calls_all() == 0;
}

static void test_fork(void)
{
    set_up_memory();
    is_int(gpu_in_child(child_asks_nothing), 1, "in a forked child nothing is asked");
    is_int(device_of(at(device_memory[1])), 1, "in its parent it goes on");
    rkc_driver_forget();
    rkc_memory_forget();
    fakecuda_reset();
    rkc_private_memory_look();
    is_int(gpu_in_child(child_asks_nothing), 1, "nor when its parent had nothing to ask");
}

static void test_off(void)
{
    setenv("RANKCLOCK_GPU", "off", 1);
    set_up_memory();
    is_int(rkc_private_memory_look(), 0, "with RANKCLOCK_GPU=off there is nothing to ask");
    is_int(kind_of(at(device_memory[0])), RKC_KIND_UNKNOWN, "and nobody knows");
    is_int(fakecuda_calls_all(), 0, "for no call is made");
    unsetenv("RANKCLOCK_GPU");
}

/* ---- threads ---- */

enum { THREADS = 8, ROUNDS = 2000 };

static void *ask_often(void *data)
{
    long wrong = 0;
    (void)data;
    for (int i = 0; i < ROUNDS; i++)
        wrong += rkc_private_memory_look() != 1 || kind_of(plain) != RKC_KIND_HOST ||
                 kind_of(pinned_memory) != RKC_KIND_PINNED ||
                 kind_of(at(managed_memory)) != RKC_KIND_MANAGED ||
                 device_of(at(device_memory[i % 2])) != i % 2;
    return (void *)wrong;
}

static void test_threads(void)
{
    pthread_t threads[THREADS];
    long wrong = 0;
    set_up_memory();
    rkc_memory_forget();
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, ask_often, NULL);
    for (int i = 0; i < THREADS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        wrong += (long)result;
    }
    is_int(wrong, 0, "threads ask all at once, without contexts of their own");
    is_int(fakecuda_calls(ASK), 4L * THREADS * ROUNDS, "a query each time");
}

int main(void)
{
    unsetenv("RANKCLOCK_GPU");
    test_names();
    test_look();
    test_own_context();
    test_look_fails();
    test_kinds();
    test_changes();
    test_no_context();
    test_capture();
    test_failures();
    test_end();
    test_fork();
    test_off();
    test_threads();
    return done_testing();
}
