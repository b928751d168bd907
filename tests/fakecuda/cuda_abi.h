/* cuda_abi.h - the types, constants and prototypes of what the double has of the driver API.
 *
 * It stands in for NVIDIA's cuda.h, so that the double and its tests build without a toolkit; do
 * not include both. Enumerations are unsigned here, as compilers make those of cuda.h; abi_check.c
 * compares the rest.
 */
#ifndef FAKECUDA_CUDA_ABI_H
#define FAKECUDA_CUDA_ABI_H

#include <stddef.h>
#include <stdint.h>

#define FAKECUDA_API __attribute__((visibility("default")))

enum {
#define CONSTANT(name, value) name = value,
#include "constants.def"
};

typedef unsigned int CUresult;
typedef unsigned int CUdevice_attribute;
typedef unsigned int CUpointer_attribute;
typedef unsigned int CUstreamCaptureStatus;
typedef unsigned int CUstreamCaptureMode;
typedef unsigned int CUdriverProcAddressQueryResult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef uint64_t cuuint64_t;
typedef struct CUctx_st *CUcontext;
typedef struct CUgreenCtx_st *CUgreenCtx;
typedef struct CUdevResourceDesc_st *CUdevResourceDesc;
typedef struct CUctxCreateParams_st CUctxCreateParams;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUgraphExec_st *CUgraphExec;
typedef struct CUgraphEdgeData_st CUgraphEdgeData;
typedef void (*CUhostFn)(void *data);

typedef struct {
    char bytes[16];
} CUuuid;

typedef struct {
    char reserved[64];
} CUipcEventHandle;

#define CU_STREAM_LEGACY ((CUstream)0x1)
#define CU_STREAM_PER_THREAD ((CUstream)0x2)

#define ENTRY(base, version, symbol, traits, parameters) FAKECUDA_API CUresult symbol parameters;
#define STREAM_ENTRY(base, version, symbol, per_thread, traits, parameters, arguments) \
    FAKECUDA_API CUresult symbol parameters;                                           \
    FAKECUDA_API CUresult symbol##_ptsz parameters;
#include "entries.def"

#endif
