/* context.h - which context a stream is of, and what must be right around a call of the driver:
 * the current context, and the rules of a capture.
 *
 * For all of them the driver is ready. They return what rkc_driver_status makes of a failure.
 */
#ifndef RKC_GPU_CONTEXT_H
#define RKC_GPU_CONTEXT_H

#include <stdint.h>

#include "gpu/driver.h"

/* Whether a handle stands for a default stream of the current context: 0, 1 (legacy) or 2 (of the
 * thread). */
static inline int rkc_stream_is_special(CUstream stream)
{
    return (uintptr_t)stream <= 2;
}

/** The context of a stream, in which its events have to be made.
 *
 * @return 0; RKC_ENOCONTEXT for a default stream when no context is current
 */
int rkc_context_of_stream(CUstream stream, CUcontext *context);

/* What tells a context from one that had the same handle before it; 0 before CUDA 12.0. */
uint64_t rkc_context_id(CUcontext context);

/* Whether a context is still the one that had this id, as its streams' and events' handles are only
 * then to be used: 0, RKC_ELOST, or what else kept it from being asked. */
int rkc_context_check(CUcontext context, uint64_t id);

/* The index of a context's device. */
int rkc_context_device(CUcontext context, int *device);

/* The index of the current context's device; RKC_ENOCONTEXT if there is none. */
int rkc_context_current_device(int *device);

/** A context of a device for new streams and events: the current one if it is of that device, else
 * the primary one if the program has it alive.
 *
 * @return 0, RKC_ENODEVICE or RKC_ENOCONTEXT
 */
int rkc_context_of_device(int device, CUcontext *context);

/* Make a context current until rkc_context_pop. */
int rkc_context_push(CUcontext context);
void rkc_context_pop(void);

/* Make an event in a context, with flags as RKC_CUDA_EVENT_*. */
int rkc_context_new_event(CUcontext context, unsigned flags, CUevent *event);

/** Whether a record or a query on a stream would take place at once.
 *
 * @return 0, or RKC_ECAPTURE if the stream is being captured or is the legacy stream beside one
 * that is; no capture is broken by asking
 */
static inline int rkc_stream_check_capture(CUstream stream)
{
    CUstreamCaptureStatus capture = RKC_CUDA_CAPTURE_NONE;
    int status = rkc_driver_status(rkc_driver_table.stream_is_capturing(stream, &capture));
    return !status && capture != RKC_CUDA_CAPTURE_NONE ? RKC_ECAPTURE : status;
}

/* Let this thread make calls that would break another's capture, such as queries of events, until
 * rkc_capture_restrict with the mode. */
int rkc_capture_relax(CUstreamCaptureMode *mode);
void rkc_capture_restrict(CUstreamCaptureMode mode);

/* Query an event without breaking a capture: 0 when it is complete, or RKC_ENOTREADY. */
int rkc_event_poll(CUevent event);

#endif
