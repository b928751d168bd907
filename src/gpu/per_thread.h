/* per_thread.h - what a thread keeps: its current streams, and what last went wrong. */
#ifndef RKC_GPU_PER_THREAD_H
#define RKC_GPU_PER_THREAD_H

#include <stddef.h>

#include <rankclock/gpu.h>

#include "gpu/driver.h"

/* Note what went wrong, for rkc_gpu_error, and return the status. */
int rkc_gpu_fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The status of a call of the driver's, noted if it is a failure. */
int rkc_gpu_check(CUresult result, const char *call);

/* Whether the driver can be called, after looking for it: 0, or a status with the reason noted. */
int rkc_gpu_ready(void);

/* The driver's handle for a stream that was given to a public function: NULL is the current one. */
static inline CUstream rkc_gpu_stream(void *stream)
{
    return stream ? stream : rkc_stream_current(-1, NULL);
}

#endif
