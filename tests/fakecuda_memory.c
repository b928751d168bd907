/* The double of libcuda.so.1: memory and what pointers are, copies, kernels and host functions. */
#include "autoconf.h"

#include "fakecuda/cuda_abi.h"
#include "fakecuda/fakecuda.h"
#include "tap.h"

static CUcontext context;
static CUstream stream;

static void start(void)
{
    fakecuda_reset();
    fakecuda_virtual_clock(1);
    cuInit(0);
    cuDevicePrimaryCtxRetain(&context, 0);
    cuCtxSetCurrent(context);
    cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
}

static void *host(CUdeviceptr pointer)
{
    return (void *)(uintptr_t)pointer;
}

/* What one call tells of a pointer; every slot is wider than what is written to it. */
struct facts {
    uint64_t type, is_managed, device, begin, size, id;
};

static CUresult ask(const void *pointer, struct facts *facts)
{
    CUpointer_attribute attributes[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE,    CU_POINTER_ATTRIBUTE_IS_MANAGED,
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
        CU_POINTER_ATTRIBUTE_RANGE_SIZE,     CU_POINTER_ATTRIBUTE_BUFFER_ID,
    };
    void *values[] = {&facts->type,  &facts->is_managed, &facts->device,
                      &facts->begin, &facts->size,       &facts->id};
    memset(facts, 0, sizeof(*facts));
    return cuPointerGetAttributes(6, attributes, values, (uintptr_t)pointer);
}

static void test_pointers(void)
{
    static char plain[4096], registered[4096];
    CUdeviceptr device, managed;
    void *pinned;
    struct facts facts;
    unsigned type = 9;
    uint64_t slot = UINT64_MAX;

    start();
    cuMemAlloc_v2(&device, 1000);
    cuMemAllocManaged(&managed, 1000, CU_MEM_ATTACH_GLOBAL);
    cuMemAllocHost_v2(&pinned, 1000);
    cuMemHostRegister_v2(registered, sizeof(registered), 0);

    is_int(ask(plain, &facts), 0, "to ask of plain host memory is no error");
    ok(!facts.type && !facts.is_managed && !facts.size, "it has zeros");
    is_int(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (uintptr_t)plain), 1,
           "to ask for one attribute is");
    ask((char *)host(device) + 999, &facts);
    ok(facts.type == CU_MEMORYTYPE_DEVICE && !facts.is_managed, "device memory to its last byte");
    ok(facts.begin == device && facts.size == 1000, "with its range");
    uint64_t id = facts.id;
    ask((char *)host(device) + 1000, &facts);
    is_int(facts.type, 0, "and no further");
    ask(host(managed), &facts);
    ok(facts.type == CU_MEMORYTYPE_DEVICE && facts.is_managed,
       "managed memory is device memory, too");
    ask(pinned, &facts);
    ok(facts.type == CU_MEMORYTYPE_HOST && !facts.is_managed, "pinned memory");
    ask(registered + 17, &facts);
    ok(facts.type == CU_MEMORYTYPE_HOST && facts.begin == (uintptr_t)registered,
       "registered memory");
    is_int(cuMemHostRegister_v2(registered + 8, 8, 0), 712, "which cannot be registered twice");
    is_int(cuMemHostUnregister(registered), 0, "it goes back");
    is_int(cuMemHostUnregister(registered), 713, "once");
    ask(registered, &facts);
    is_int(facts.type, 0, "to be plain memory again");

    cuPointerGetAttribute(&slot, CU_POINTER_ATTRIBUTE_IS_MANAGED, device);
    is_int(slot, UINT64_MAX & ~UINT64_C(255), "a truth is written to one byte of its slot");

    is_int(cuMemFree_v2(device), 0, "memory is freed");
    is_int(cuMemFree_v2(device), 1, "once");
    is_int(cuMemFree_v2(0), 0, "NULL as often as one likes");
    cuMemAlloc_v2(&device, 1000);
    ask(host(device), &facts);
    ok(facts.id != id, "a new allocation has an id that was not there before");
}

static void test_amounts(void)
{
    size_t before = 0, after = 0, total = 0;
    CUdeviceptr pointer;
    start();
    fakecuda_device(0)->memory_bytes = 1 << 20;
    cuMemGetInfo_v2(&before, &total);
    cuMemAlloc_v2(&pointer, 1000000);
    cuMemGetInfo_v2(&after, &total);
    ok(total == 1 << 20 && before - after == 1000000, "memory that is used is not free");
    is_int(cuMemAlloc_v2(&pointer, 100000), 2, "more than there is cannot be had");
}

static void test_copies(void)
{
    const char text[] = "moved";
    char result[sizeof(text)] = "", early[sizeof(text)] = "";
    CUdeviceptr device, other;
    start();
    cuMemAlloc_v2(&device, sizeof(text));
    cuMemAlloc_v2(&other, sizeof(text));
    fakecuda_reset_calls();

    is_int(cuMemcpyHtoDAsync_v2(device, text, sizeof(text) + 1, stream), 1,
           "a copy past the end is refused");
    is_int(cuMemcpyHtoDAsync_v2((uintptr_t)result, text, 1, stream), 1,
           "and so is one to what is no device memory");
    fakecuda_hold(stream);
    cuMemcpyHtoDAsync_v2(device, text, sizeof(text), stream);
    cuMemcpyDtoDAsync_v2(other, device, sizeof(text), stream);
    cuMemcpyDtoHAsync_v2(early, other, sizeof(text), stream);
    is_str(early, "", "copies wait for their turn");
    is_int(fakecuda_calls_synchronizing(), 0, "and nobody for them");
    fakecuda_release(stream);
    cuStreamSynchronize(stream);
    is_str(early, "moved", "then they move data");
    cuMemsetD8_v2(other, 'x', 2);
    cuMemcpyDtoH_v2(result, other, sizeof(text));
    is_str(result, "xxved", "a memset does, too");
    is_int(fakecuda_calls_synchronizing(), 3, "what has no stream is waited for");
}

/* add<<<>>>(int *to, int what): takes a microsecond for each thread. */
static uint64_t add(void **arguments, const unsigned grid[3], const unsigned block[3])
{
    **(int **)arguments[0] += *(int *)arguments[1];
    return (uint64_t)grid[0] * block[0] * 1000;
}

static void test_kernels(void)
{
    const size_t sizes[] = {sizeof(int *), sizeof(int)};
    CUmodule module;
    CUfunction function, unknown;
    CUdeviceptr device;
    CUevent begin, end;
    int value = 0, what = 5;
    float ms = 0;
    start();
    cuMemAlloc_v2(&device, sizeof(int));
    cuEventCreate(&begin, 0);
    cuEventCreate(&end, 0);
    fakecuda_kernel("add", 0, add, 2, sizes);
    cuModuleLoadData(&module, "");
    cuModuleGetFunction(&function, module, "_Z3addPii");
    cuModuleGetFunction(&unknown, module, "_Z5add_2Pii");

    void *arguments[] = {&device, &what};
    fakecuda_hold(stream);
    cuEventRecord(begin, stream);
    is_int(cuLaunchKernel(function, 10, 1, 1, 100, 1, 1, 0, stream, arguments, NULL), 0,
           "a kernel is found by its plain name");
    cuEventRecord(end, stream);
    what = 7;
    cuMemcpyDtoH_v2(&value, device, sizeof(value));
    is_int(value, 0, "a copy on the legacy stream does not wait for a non-blocking one");
    fakecuda_release(stream);
    cuStreamSynchronize(stream);
    cuMemcpyDtoH_v2(&value, device, sizeof(value));
    is_int(value, 5, "its arguments are those of the launch");
    cuEventSynchronize(end);
    cuEventElapsedTime(&ms, begin, end);
    is_near(ms, 1, 1e-4, "it takes as long as its function says");

    fakecuda_kernel(NULL, 2000000, NULL, 0, NULL);
    cuEventRecord(begin, stream);
    cuLaunchKernel(unknown, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL);
    cuEventRecord(end, stream);
    cuEventSynchronize(end);
    cuEventElapsedTime(&ms, begin, end);
    is_near(ms, 2, 1e-4, "one without a name here takes what all such do");
    is_int(cuLaunchKernel(function, 1, 1, 1, 1025, 1, 1, 0, stream, arguments, NULL), 1,
           "a block has 1024 threads at most");
    is_int(cuModuleUnload(module), 0, "a module is unloaded");
    is_int(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL), 400,
           "with its functions");
}

static void call_cuda(void *result)
{
    int n;
    *(CUresult *)result = cuDeviceGetCount(&n);
}

static void count(void *n)
{
    ++*(int *)n;
}

static void test_host_functions(void)
{
    CUresult result = 0;
    int n = 0;
    CUevent event;
    start();
    cuEventCreate(&event, 0);
    cuLaunchHostFunc(stream, count, &n);
    cuEventRecord(event, stream);
    is_int(n, 0, "a host function does not run in a call that queues work");
    is_int(cuEventQuery(event), 0, "it does in one that asks");
    is_int(n, 1, "so that what is behind it is complete");
    n = 0;
    fakecuda_launch(stream, 1000);
    cuLaunchHostFunc(stream, count, &n);
    fakecuda_hold(stream);
    cuEventRecord(event, stream);
    cuStreamQuery(stream);
    is_int(n, 0, "a host function waits for its turn");
    fakecuda_advance(1000);
    cuStreamQuery(stream);
    is_int(n, 1, "and takes it when somebody asks");
    is_int(cuEventQuery(event), 600, "what is behind it waits on");
    cuLaunchHostFunc(stream, call_cuda, &result);
    fakecuda_release(stream);
    cuStreamSynchronize(stream);
    is_int(result, 800, "a CUDA call in a host function fails");
    is_int(fakecuda_callback_violations(), 1, "and is counted");
}

int main(void)
{
    test_pointers();
    test_amounts();
    test_copies();
    test_kernels();
    test_host_functions();
    fakecuda_reset();
    return done_testing();
}
