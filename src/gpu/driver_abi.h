/* driver_abi.h - the types and constants of CUDA's driver API that are used, so that no header of
 * NVIDIA's is needed. The constants have names of their own, for they may meet NVIDIA's in a test;
 * who has the types from elsewhere defines RKC_CUDA_TYPES before.
 */
#ifndef RKC_GPU_DRIVER_ABI_H
#define RKC_GPU_DRIVER_ABI_H

#ifndef RKC_CUDA_TYPES
/* Enumerations are unsigned, as compilers make those of cuda.h, which have no negative value. */
typedef unsigned int CUresult;
typedef unsigned int CUstreamCaptureStatus;
typedef unsigned int CUstreamCaptureMode;
typedef unsigned int CUpointer_attribute;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct {
    char bytes[16];
} CUuuid;
typedef struct {
    char reserved[64];
} CUipcEventHandle;
#endif

/* CUDA's constants: RKC_CUDA(name here, name there, value). */
#define RKC_CUDA_LIST(RKC_CUDA)                                                          \
    RKC_CUDA(RKC_CUDA_SUCCESS, CUDA_SUCCESS, 0)                                          \
    RKC_CUDA(RKC_CUDA_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE, 1)                        \
    RKC_CUDA(RKC_CUDA_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY, 2)                        \
    RKC_CUDA(RKC_CUDA_NOT_INITIALIZED, CUDA_ERROR_NOT_INITIALIZED, 3)                    \
    RKC_CUDA(RKC_CUDA_DEINITIALIZED, CUDA_ERROR_DEINITIALIZED, 4)                        \
    RKC_CUDA(RKC_CUDA_NO_DEVICE, CUDA_ERROR_NO_DEVICE, 100)                              \
    RKC_CUDA(RKC_CUDA_INVALID_DEVICE, CUDA_ERROR_INVALID_DEVICE, 101)                    \
    RKC_CUDA(RKC_CUDA_INVALID_CONTEXT, CUDA_ERROR_INVALID_CONTEXT, 201)                  \
    RKC_CUDA(RKC_CUDA_ECC_UNCORRECTABLE, CUDA_ERROR_ECC_UNCORRECTABLE, 214)              \
    RKC_CUDA(RKC_CUDA_INVALID_HANDLE, CUDA_ERROR_INVALID_HANDLE, 400)                    \
    RKC_CUDA(RKC_CUDA_NOT_READY, CUDA_ERROR_NOT_READY, 600)                              \
    RKC_CUDA(RKC_CUDA_ILLEGAL_ADDRESS, CUDA_ERROR_ILLEGAL_ADDRESS, 700)                  \
    RKC_CUDA(RKC_CUDA_LAUNCH_TIMEOUT, CUDA_ERROR_LAUNCH_TIMEOUT, 702)                    \
    RKC_CUDA(RKC_CUDA_CONTEXT_IS_DESTROYED, CUDA_ERROR_CONTEXT_IS_DESTROYED, 709)        \
    RKC_CUDA(RKC_CUDA_ASSERT, CUDA_ERROR_ASSERT, 710)                                    \
    RKC_CUDA(RKC_CUDA_HARDWARE_STACK, CUDA_ERROR_HARDWARE_STACK_ERROR, 714)              \
    RKC_CUDA(RKC_CUDA_LAUNCH_FAILED, CUDA_ERROR_LAUNCH_FAILED, 719)                      \
    RKC_CUDA(RKC_CUDA_NOT_SUPPORTED, CUDA_ERROR_NOT_SUPPORTED, 801)                      \
    RKC_CUDA(RKC_CUDA_CAPTURE_UNSUPPORTED, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, 900)   \
    RKC_CUDA(RKC_CUDA_CAPTURED_EVENT, CUDA_ERROR_CAPTURED_EVENT, 907)                    \
    RKC_CUDA(RKC_CUDA_CAPTURE_WRONG_THREAD, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, 908) \
    RKC_CUDA(RKC_CUDA_CAPTURE_NONE, CU_STREAM_CAPTURE_STATUS_NONE, 0)                    \
    RKC_CUDA(RKC_CUDA_CAPTURE_RELAXED, CU_STREAM_CAPTURE_MODE_RELAXED, 2)                \
    RKC_CUDA(RKC_CUDA_STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING, 1)                    \
    RKC_CUDA(RKC_CUDA_EVENT_BLOCKING_SYNC, CU_EVENT_BLOCKING_SYNC, 1)                    \
    RKC_CUDA(RKC_CUDA_EVENT_DISABLE_TIMING, CU_EVENT_DISABLE_TIMING, 2)                  \
    RKC_CUDA(RKC_CUDA_EVENT_INTERPROCESS, CU_EVENT_INTERPROCESS, 4)                      \
    RKC_CUDA(RKC_CUDA_MEMORY_HOST, CU_MEMORYTYPE_HOST, 1)                                \
    RKC_CUDA(RKC_CUDA_MEMORY_DEVICE, CU_MEMORYTYPE_DEVICE, 2)                            \
    RKC_CUDA(RKC_CUDA_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 2)                  \
    RKC_CUDA(RKC_CUDA_IS_MANAGED, CU_POINTER_ATTRIBUTE_IS_MANAGED, 8)                    \
    RKC_CUDA(RKC_CUDA_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, 9)            \
    RKC_CUDA(RKC_CUDA_LEGACY_STREAM, CU_GET_PROC_ADDRESS_LEGACY_STREAM, 1)

enum {
#define RKC_CUDA_ENUM(name, cuda_name, value) name = value,
    RKC_CUDA_LIST(RKC_CUDA_ENUM)
#undef RKC_CUDA_ENUM
};

#endif
