/* A thin libcudart.so.13 over whatever libcuda.so.1 there is, which it opens at the first call, as
 * NVIDIA's does. It has what a program needs that nvcc -cudart shared built: launches, memory,
 * streams, events, captures and graphs. Its handles are the driver's, its errors have the numbers
 * of the driver's, and it works with all drivers since 11.0. A kernel does what fakecuda_kernel
 * says by its name. */
#include "cuda_abi.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

typedef CUresult cudaError_t;

struct size3 {
    unsigned x, y, z;
};

enum { NO_DRIVER = 35, NO_FUNCTION = 98, MAX_DEVICES = 16, OLDEST_DRIVER = 11000 };

/* --- the driver ------------------------------------------------------------------------------ */

static struct {
#define ENTRY(base, version, symbol, traits, parameters) __typeof__(symbol) *symbol;
#include "entries.def"
} driver;

static CUresult driver_status = NO_DRIVER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t kernels_lock = PTHREAD_MUTEX_INITIALIZER;

static _Thread_local int thread_device;
static _Thread_local CUresult last_error;

static void open_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    int n_missing = 0;
    if (!library)
        return;
#define ENTRY(base, version, symbol, traits, parameters) \
    *(void **)&driver.symbol = dlsym(library, #symbol);  \
    n_missing += !driver.symbol && version <= OLDEST_DRIVER;
#include "entries.def"
    if (!n_missing)
        driver_status = driver.cuInit(0);
}

static CUresult need_driver(void)
{
    pthread_once(&once, open_driver);
    return driver_status;
}

/* Make the primary context of the thread's device current, unless a usable one is. */
static CUresult need_context(void)
{
    CUdevice device;
    CUcontext context;
    CUresult result = need_driver();
    if (result != CUDA_SUCCESS)
        return result;
    result = driver.cuCtxGetDevice(&device);
    if (result != CUDA_ERROR_INVALID_CONTEXT && result != CUDA_ERROR_CONTEXT_IS_DESTROYED)
        return result;
    result = driver.cuDevicePrimaryCtxRetain(&context, thread_device);
    return result == CUDA_SUCCESS ? driver.cuCtxSetCurrent(context) : result;
}

/* What is not ready is no error to be kept. */
static cudaError_t keep(CUresult result)
{
    if (result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY)
        last_error = result;
    return result;
}

/* --- definitions ----------------------------------------------------------------------------- */

/* FUNCTION defines a function with a context, DEVICE_FUNCTION one without, STREAM_FUNCTION one and
 * its twin, for which stream 0 is the per-thread one. */
#define DEFINE(name, parameters, need, expression)                   \
    FAKECUDA_API cudaError_t name parameters;                        \
    FAKECUDA_API cudaError_t name parameters                         \
    {                                                                \
        CUresult result = need();                                    \
        return keep(result == CUDA_SUCCESS ? (expression) : result); \
    }
#define FUNCTION(name, parameters, expression) DEFINE(name, parameters, need_context, expression)
#define DEVICE_FUNCTION(name, parameters, expression) \
    DEFINE(name, parameters, need_driver, expression)
#define PER_THREAD(stream) ((stream) ? (stream) : CU_STREAM_PER_THREAD)
#define STREAM_FUNCTION(name, parameters, expression, arguments) \
    FUNCTION(name, parameters, expression)                       \
    FAKECUDA_API cudaError_t name##_ptsz parameters;             \
    FAKECUDA_API cudaError_t name##_ptsz parameters              \
    {                                                            \
        return name arguments;                                   \
    }

/* --- devices and errors ---------------------------------------------------------------------- */

static CUresult set_device(int device)
{
    CUcontext context;
    CUresult result = driver.cuDevicePrimaryCtxRetain(&context, device);
    if (result != CUDA_SUCCESS)
        return result;
    thread_device = device;
    return driver.cuCtxSetCurrent(context);
}

static CUresult get_device(int *device)
{
    if (driver.cuCtxGetDevice(device) != CUDA_SUCCESS)
        *device = thread_device;
    return CUDA_SUCCESS;
}

static CUresult reset_device(void)
{
    int device;
    get_device(&device);
    return driver.cuDevicePrimaryCtxReset(device);
}

static CUresult get_driver_version(int *version)
{
    *version = 0;
    return need_driver() == NO_DRIVER ? CUDA_SUCCESS : driver.cuDriverGetVersion(version);
}

static CUresult no_need(void)
{
    return CUDA_SUCCESS;
}

static CUresult get_runtime_version(int *version)
{
    *version = 13000;
    return CUDA_SUCCESS;
}

static CUresult take_last_error(int is_taken)
{
    CUresult error = last_error;
    if (is_taken)
        last_error = CUDA_SUCCESS;
    return error;
}

static const char *error_name(CUresult error)
{
    static const struct {
        CUresult error;
        const char *name;
    } names[] = {
        {CUDA_SUCCESS, "cudaSuccess"},
        {CUDA_ERROR_INVALID_VALUE, "cudaErrorInvalidValue"},
        {CUDA_ERROR_OUT_OF_MEMORY, "cudaErrorMemoryAllocation"},
        {CUDA_ERROR_NOT_INITIALIZED, "cudaErrorInitializationError"},
        {CUDA_ERROR_DEINITIALIZED, "cudaErrorCudartUnloading"},
        {NO_DRIVER, "cudaErrorInsufficientDriver"},
        {NO_FUNCTION, "cudaErrorInvalidDeviceFunction"},
        {CUDA_ERROR_NO_DEVICE, "cudaErrorNoDevice"},
        {CUDA_ERROR_INVALID_DEVICE, "cudaErrorInvalidDevice"},
        {CUDA_ERROR_INVALID_HANDLE, "cudaErrorInvalidResourceHandle"},
        {CUDA_ERROR_NOT_READY, "cudaErrorNotReady"},
        {CUDA_ERROR_ILLEGAL_ADDRESS, "cudaErrorIllegalAddress"},
        {CUDA_ERROR_LAUNCH_FAILED, "cudaErrorLaunchFailure"},
        {CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "cudaErrorStreamCaptureUnsupported"},
        {CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "cudaErrorStreamCaptureInvalidated"},
        {CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "cudaErrorStreamCaptureImplicit"},
        {CUDA_ERROR_CAPTURED_EVENT, "cudaErrorCapturedEvent"},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (names[i].error == error)
            return names[i].name;
    return "unrecognized error code";
}

FAKECUDA_API const char *cudaGetErrorName(cudaError_t error);
FAKECUDA_API const char *cudaGetErrorName(cudaError_t error)
{
    return error_name(error);
}

FAKECUDA_API const char *cudaGetErrorString(cudaError_t error);
FAKECUDA_API const char *cudaGetErrorString(cudaError_t error)
{
    const char *text = NULL;
    if (need_driver() != NO_DRIVER && driver.cuGetErrorString(error, &text) == CUDA_SUCCESS)
        return text;
    return error_name(error);
}

FAKECUDA_API cudaError_t cudaGetLastError(void);
FAKECUDA_API cudaError_t cudaGetLastError(void)
{
    return take_last_error(1);
}

FAKECUDA_API cudaError_t cudaPeekAtLastError(void);
FAKECUDA_API cudaError_t cudaPeekAtLastError(void)
{
    return take_last_error(0);
}

DEFINE(cudaDriverGetVersion, (int *version), no_need, get_driver_version(version))
DEFINE(cudaRuntimeGetVersion, (int *version), no_need, get_runtime_version(version))
DEVICE_FUNCTION(cudaGetDeviceCount, (int *count), driver.cuDeviceGetCount(count))
DEVICE_FUNCTION(cudaGetDevice, (int *device), get_device(device))
DEVICE_FUNCTION(cudaSetDevice, (int device), set_device(device))
DEVICE_FUNCTION(cudaDeviceGetAttribute, (int *value, unsigned attribute, int device),
                driver.cuDeviceGetAttribute(value, attribute, device))
DEVICE_FUNCTION(cudaDeviceGetPCIBusId, (char *text, int size, int device),
                driver.cuDeviceGetPCIBusId(text, size, device))
DEVICE_FUNCTION(cudaDeviceReset, (void), reset_device())
FUNCTION(cudaDeviceSynchronize, (void), driver.cuCtxSynchronize())
FUNCTION(cudaDeviceGetStreamPriorityRange, (int *least, int *greatest),
         driver.cuCtxGetStreamPriorityRange(least, greatest))

/* --- memory ---------------------------------------------------------------------------------- */

static CUresult allocate(void **pointer, size_t size)
{
    CUdeviceptr device = 0;
    CUresult result = size ? driver.cuMemAlloc_v2(&device, size) : CUDA_SUCCESS;
    if (result == CUDA_SUCCESS)
        *pointer = (void *)(uintptr_t)device;
    return result;
}

static CUresult allocate_managed(void **pointer, size_t size, unsigned flags)
{
    CUdeviceptr managed;
    CUresult result = driver.cuMemAllocManaged(&managed, size, flags);
    if (result == CUDA_SUCCESS)
        *pointer = (void *)(uintptr_t)managed;
    return result;
}

static CUdeviceptr address(const void *pointer)
{
    return (uintptr_t)pointer;
}

/* Copies and memsets that are waited for, in the per-thread default stream. */
static CUresult copy_per_thread(CUdeviceptr to, CUdeviceptr from, size_t size)
{
    CUresult result = driver.cuMemcpyAsync(to, from, size, CU_STREAM_PER_THREAD);
    return result == CUDA_SUCCESS ? driver.cuStreamSynchronize(CU_STREAM_PER_THREAD) : result;
}

static CUresult set_per_thread(CUdeviceptr to, int value, size_t size)
{
    CUresult result = driver.cuMemsetD8Async(to, (unsigned char)value, size, CU_STREAM_PER_THREAD);
    return result == CUDA_SUCCESS ? driver.cuStreamSynchronize(CU_STREAM_PER_THREAD) : result;
}

FUNCTION(cudaMalloc, (void **pointer, size_t size), allocate(pointer, size))
FUNCTION(cudaMallocManaged, (void **pointer, size_t size, unsigned flags),
         allocate_managed(pointer, size, flags))
FUNCTION(cudaMallocHost, (void **pointer, size_t size), driver.cuMemAllocHost_v2(pointer, size))
FUNCTION(cudaHostAlloc, (void **pointer, size_t size, unsigned flags),
         driver.cuMemHostAlloc(pointer, size, flags))
FUNCTION(cudaFree, (void *pointer), driver.cuMemFree_v2(address(pointer)))
FUNCTION(cudaFreeHost, (void *pointer), driver.cuMemFreeHost(pointer))
FUNCTION(cudaHostRegister, (void *pointer, size_t size, unsigned flags),
         driver.cuMemHostRegister_v2(pointer, size, flags))
FUNCTION(cudaHostUnregister, (void *pointer), driver.cuMemHostUnregister(pointer))
FUNCTION(cudaMemGetInfo, (size_t *left_bytes, size_t *total_bytes),
         driver.cuMemGetInfo_v2(left_bytes, total_bytes))
FUNCTION(cudaMemcpy, (void *to, const void *from, size_t size, unsigned kind),
         ((void)kind, driver.cuMemcpy(address(to), address(from), size)))
FUNCTION(cudaMemcpy_ptds, (void *to, const void *from, size_t size, unsigned kind),
         ((void)kind, copy_per_thread(address(to), address(from), size)))
STREAM_FUNCTION(cudaMemcpyAsync,
                (void *to, const void *from, size_t size, unsigned kind, CUstream stream),
                ((void)kind, driver.cuMemcpyAsync(address(to), address(from), size, stream)),
                (to, from, size, kind, PER_THREAD(stream)))
FUNCTION(cudaMemset, (void *to, int value, size_t size),
         driver.cuMemsetD8_v2(address(to), (unsigned char)value, size))
FUNCTION(cudaMemset_ptds, (void *to, int value, size_t size),
         set_per_thread(address(to), value, size))
STREAM_FUNCTION(cudaMemsetAsync, (void *to, int value, size_t size, CUstream stream),
                driver.cuMemsetD8Async(address(to), (unsigned char)value, size, stream),
                (to, value, size, PER_THREAD(stream)))
/* A variable of the device is the host's of that name. */
FUNCTION(cudaMemcpyToSymbol,
         (const void *symbol, const void *from, size_t size, size_t offset, unsigned kind),
         ((void)kind, driver.cuMemcpy(address(symbol) + offset, address(from), size)))
FUNCTION(cudaMemcpyToSymbol_ptds,
         (const void *symbol, const void *from, size_t size, size_t offset, unsigned kind),
         ((void)kind, copy_per_thread(address(symbol) + offset, address(from), size)))
FUNCTION(cudaMemcpyFromSymbol,
         (void *to, const void *symbol, size_t size, size_t offset, unsigned kind),
         ((void)kind, driver.cuMemcpy(address(to), address(symbol) + offset, size)))
FUNCTION(cudaMemcpyFromSymbol_ptds,
         (void *to, const void *symbol, size_t size, size_t offset, unsigned kind),
         ((void)kind, copy_per_thread(address(to), address(symbol) + offset, size)))

/* --- streams, events, captures, graphs ------------------------------------------------------- */

FUNCTION(cudaStreamCreate, (CUstream *stream), driver.cuStreamCreate(stream, CU_STREAM_DEFAULT))
FUNCTION(cudaStreamCreateWithFlags, (CUstream *stream, unsigned flags),
         driver.cuStreamCreate(stream, flags))
FUNCTION(cudaStreamCreateWithPriority, (CUstream *stream, unsigned flags, int priority),
         driver.cuStreamCreateWithPriority(stream, flags, priority))
FUNCTION(cudaStreamDestroy, (CUstream stream), driver.cuStreamDestroy_v2(stream))
STREAM_FUNCTION(cudaStreamGetPriority, (CUstream stream, int *priority),
                driver.cuStreamGetPriority(stream, priority), (PER_THREAD(stream), priority))
STREAM_FUNCTION(cudaStreamGetFlags, (CUstream stream, unsigned *flags),
                driver.cuStreamGetFlags(stream, flags), (PER_THREAD(stream), flags))
STREAM_FUNCTION(cudaStreamQuery, (CUstream stream), driver.cuStreamQuery(stream),
                (PER_THREAD(stream)))
STREAM_FUNCTION(cudaStreamSynchronize, (CUstream stream), driver.cuStreamSynchronize(stream),
                (PER_THREAD(stream)))
STREAM_FUNCTION(cudaStreamWaitEvent, (CUstream stream, CUevent event, unsigned flags),
                driver.cuStreamWaitEvent(stream, event, flags), (PER_THREAD(stream), event, flags))
STREAM_FUNCTION(cudaStreamBeginCapture, (CUstream stream, unsigned mode),
                driver.cuStreamBeginCapture_v2(stream, mode), (PER_THREAD(stream), mode))
STREAM_FUNCTION(cudaStreamEndCapture, (CUstream stream, CUgraph *graph),
                driver.cuStreamEndCapture(stream, graph), (PER_THREAD(stream), graph))
STREAM_FUNCTION(cudaStreamIsCapturing, (CUstream stream, unsigned *status),
                driver.cuStreamIsCapturing(stream, status), (PER_THREAD(stream), status))
FUNCTION(cudaThreadExchangeStreamCaptureMode, (unsigned *mode),
         driver.cuThreadExchangeStreamCaptureMode(mode))
STREAM_FUNCTION(cudaLaunchHostFunc, (CUstream stream, CUhostFn function, void *data),
                driver.cuLaunchHostFunc(stream, function, data),
                (PER_THREAD(stream), function, data))

FUNCTION(cudaEventCreate, (CUevent *event), driver.cuEventCreate(event, CU_EVENT_DEFAULT))
FUNCTION(cudaEventCreateWithFlags, (CUevent *event, unsigned flags),
         driver.cuEventCreate(event, flags))
FUNCTION(cudaEventDestroy, (CUevent event), driver.cuEventDestroy_v2(event))
FUNCTION(cudaEventQuery, (CUevent event), driver.cuEventQuery(event))
FUNCTION(cudaEventSynchronize, (CUevent event), driver.cuEventSynchronize(event))
FUNCTION(cudaEventElapsedTime, (float *ms, CUevent start, CUevent end),
         driver.cuEventElapsedTime(ms, start, end))
STREAM_FUNCTION(cudaEventRecord, (CUevent event, CUstream stream),
                driver.cuEventRecord(event, stream), (event, PER_THREAD(stream)))
STREAM_FUNCTION(cudaEventRecordWithFlags, (CUevent event, CUstream stream, unsigned flags),
                driver.cuEventRecordWithFlags ? driver.cuEventRecordWithFlags(event, stream, flags)
                                              : CUDA_ERROR_NOT_SUPPORTED,
                (event, PER_THREAD(stream), flags))
FUNCTION(cudaIpcGetEventHandle, (CUipcEventHandle *handle, CUevent event),
         driver.cuIpcGetEventHandle(handle, event))
FUNCTION(cudaIpcOpenEventHandle, (CUevent *event, CUipcEventHandle handle),
         driver.cuIpcOpenEventHandle(event, handle))

FUNCTION(cudaGraphInstantiate, (CUgraphExec *exec, CUgraph graph, unsigned long long flags),
         flags ? CUDA_ERROR_NOT_SUPPORTED
               : driver.cuGraphInstantiate_v2(exec, graph, NULL, NULL, 0))
STREAM_FUNCTION(cudaGraphLaunch, (CUgraphExec exec, CUstream stream),
                driver.cuGraphLaunch(exec, stream), (exec, PER_THREAD(stream)))
FUNCTION(cudaGraphExecDestroy, (CUgraphExec exec), driver.cuGraphExecDestroy(exec))
FUNCTION(cudaGraphDestroy, (CUgraph graph), driver.cuGraphDestroy(graph))

/* --- kernels --------------------------------------------------------------------------------- */

/* A kernel is known by the address of the function that launches it, and has a module of its own
 * in each device's context. */
struct kernel {
    const void *launcher;
    const char *name;
    CUfunction functions[MAX_DEVICES];
    struct kernel *next;
};

static struct kernel *kernels;

static struct kernel *find_kernel(const void *launcher)
{
    pthread_mutex_lock(&kernels_lock);
    struct kernel *kernel = kernels;
    while (kernel && kernel->launcher != launcher)
        kernel = kernel->next;
    pthread_mutex_unlock(&kernels_lock);
    return kernel;
}

static CUresult load(struct kernel *kernel, int device)
{
    CUmodule module;
    CUresult result = driver.cuModuleLoadData(&module, "");
    if (result != CUDA_SUCCESS)
        return result;
    return driver.cuModuleGetFunction(&kernel->functions[device], module, kernel->name);
}

static CUresult launch(const void *launcher, struct size3 grid, struct size3 block,
                       void **arguments, size_t shared_bytes, CUstream stream)
{
    struct kernel *kernel = find_kernel(launcher);
    CUdevice device;
    CUresult result = driver.cuCtxGetDevice(&device);
    if (result != CUDA_SUCCESS || !kernel)
        return kernel ? result : NO_FUNCTION;
    /* A second time where the first finds that the module went with a reset of the device. */
    for (int i = 0; i < 2; i++) {
        if (!kernel->functions[device])
            result = load(kernel, device);
        if (result != CUDA_SUCCESS)
            return result;
        result = driver.cuLaunchKernel(kernel->functions[device], grid.x, grid.y, grid.z, block.x,
                                       block.y, block.z, (unsigned)shared_bytes, stream, arguments,
                                       NULL);
        if (result != CUDA_ERROR_INVALID_HANDLE)
            return result;
        kernel->functions[device] = NULL;
        result = CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_HANDLE;
}

STREAM_FUNCTION(cudaLaunchKernel,
                (const void *launcher, struct size3 grid, struct size3 block, void **arguments,
                 size_t shared_bytes, CUstream stream),
                launch(launcher, grid, block, arguments, shared_bytes, stream),
                (launcher, grid, block, arguments, shared_bytes, PER_THREAD(stream)))
STREAM_FUNCTION(__cudaLaunchKernel,
                (const void *launcher, struct size3 grid, struct size3 block, void **arguments,
                 size_t shared_bytes, CUstream stream),
                launch(launcher, grid, block, arguments, shared_bytes, stream),
                (launcher, grid, block, arguments, shared_bytes, PER_THREAD(stream)))

/* --- what nvcc's code calls around main and launches ----------------------------------------- */

static _Thread_local struct {
    struct size3 grid, block;
    size_t shared_bytes;
    CUstream stream;
} configuration;

FAKECUDA_API void **__cudaRegisterFatBinary(const void *image);
FAKECUDA_API void **__cudaRegisterFatBinary(const void *image)
{
    static void *handle;
    (void)image;
    return &handle;
}

FAKECUDA_API void __cudaRegisterFatBinaryEnd(void **handle);
FAKECUDA_API void __cudaRegisterFatBinaryEnd(void **handle)
{
    (void)handle;
}

FAKECUDA_API void __cudaUnregisterFatBinary(void **handle);
FAKECUDA_API void __cudaUnregisterFatBinary(void **handle)
{
    (void)handle;
}

FAKECUDA_API char __cudaInitModule(void **handle);
FAKECUDA_API char __cudaInitModule(void **handle)
{
    (void)handle;
    return 1;
}

FAKECUDA_API void __cudaRegisterVar(void **handle, char *variable, char *address_on_device,
                                    const char *name, int is_external, size_t size, int is_constant,
                                    int is_global);
FAKECUDA_API void __cudaRegisterVar(void **handle, char *variable, char *address_on_device,
                                    const char *name, int is_external, size_t size, int is_constant,
                                    int is_global)
{
    (void)handle, (void)variable, (void)address_on_device, (void)name, (void)is_external;
    (void)size, (void)is_constant, (void)is_global;
}

FAKECUDA_API void __cudaRegisterFunction(void **handle, const char *launcher, char *unused,
                                         const char *name, int thread_limit, void *thread,
                                         void *block, void *block_size, void *grid_size,
                                         int *warp_size);
FAKECUDA_API void __cudaRegisterFunction(void **handle, const char *launcher, char *unused,
                                         const char *name, int thread_limit, void *thread,
                                         void *block, void *block_size, void *grid_size,
                                         int *warp_size)
{
    (void)handle, (void)unused, (void)thread_limit, (void)thread, (void)block;
    (void)block_size, (void)grid_size, (void)warp_size;
    struct kernel *kernel = calloc(1, sizeof(*kernel));
    if (!kernel)
        abort();
    kernel->launcher = launcher;
    kernel->name = name;
    pthread_mutex_lock(&kernels_lock);
    kernel->next = kernels;
    kernels = kernel;
    pthread_mutex_unlock(&kernels_lock);
}

FAKECUDA_API unsigned __cudaPushCallConfiguration(struct size3 grid, struct size3 block,
                                                  size_t shared_bytes, CUstream stream);
FAKECUDA_API unsigned __cudaPushCallConfiguration(struct size3 grid, struct size3 block,
                                                  size_t shared_bytes, CUstream stream)
{
    configuration.grid = grid;
    configuration.block = block;
    configuration.shared_bytes = shared_bytes;
    configuration.stream = stream;
    return 0;
}

FAKECUDA_API cudaError_t __cudaPopCallConfiguration(struct size3 *grid, struct size3 *block,
                                                    size_t *shared_bytes, CUstream *stream);
FAKECUDA_API cudaError_t __cudaPopCallConfiguration(struct size3 *grid, struct size3 *block,
                                                    size_t *shared_bytes, CUstream *stream)
{
    *grid = configuration.grid;
    *block = configuration.block;
    *shared_bytes = configuration.shared_bytes;
    *stream = configuration.stream;
    return CUDA_SUCCESS;
}

/* A kernel's handle is its launcher's address. */
FAKECUDA_API cudaError_t __cudaGetKernel(const void **kernel, const void *launcher);
FAKECUDA_API cudaError_t __cudaGetKernel(const void **kernel, const void *launcher)
{
    *kernel = launcher;
    return CUDA_SUCCESS;
}
