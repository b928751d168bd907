/* backend.h - the timing backends that are built in. */
#ifndef RKC_GPU_BACKEND_H
#define RKC_GPU_BACKEND_H

#include <rankclock/gpu.h>

extern const struct rkc_gpu_backend rkc_backend_torch;
extern const struct rkc_gpu_backend rkc_backend_cupy;
extern const struct rkc_gpu_backend rkc_backend_cuda;
extern const struct rkc_gpu_backend rkc_backend_host;
extern const struct rkc_gpu_backend rkc_backend_none;

#endif
