/* gpu_double.h - for tests of src/gpu on the double of libcuda.so.1, which they are linked with. */
#ifndef TESTS_GPU_DOUBLE_H
#define TESTS_GPU_DOUBLE_H

#include "fakecuda/cuda_abi.h"
#include "fakecuda/fakecuda.h"

#define RKC_CUDA_TYPES
#include "gpu/driver.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* Primary contexts of the devices; that of the first is current. */
static CUcontext gpu_contexts[FAKECUDA_MAX_DEVICES];

/* A fresh driver that the program has set up, on the virtual clock, and that is not looked for. */
static inline void gpu_set_up(int n_devices)
{
    rkc_driver_forget();
    fakecuda_reset();
    fakecuda_devices(n_devices);
    fakecuda_virtual_clock(1);
    cuInit(0);
    for (int i = 0; i < n_devices; i++)
        cuDevicePrimaryCtxRetain(&gpu_contexts[i], i);
    cuCtxSetCurrent(gpu_contexts[0]);
}

/* The same, found; calls are counted from here on. */
static inline int gpu_start(int n_devices)
{
    gpu_set_up(n_devices);
    int status = rkc_driver_find();
    fakecuda_reset_calls();
    return status;
}

static inline CUstream gpu_stream(unsigned flags)
{
    CUstream stream = NULL;
    cuStreamCreate(&stream, flags);
    return stream;
}

/* Run a function in a child; its result. */
static inline int gpu_in_child(int (*function)(void))
{
    int status = -1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        _exit(function());
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#endif
