/* gpu.h - CUDA streams and events as objects, and timing backends.
 *
 * No CUDA header is needed: streams are void pointers, to which a cudaStream_t or CUstream converts
 * by itself. The driver is found when it is first needed, as RANKCLOCK_GPU says; CUDA is never
 * initialised and no context is made: the program, or the runtime it uses, has done so before it
 * has a stream. A function that names a device uses the calling thread's current context if it is
 * one of that device, else the device's primary context if the program keeps it alive. Devices are
 * numbered as by the driver in this process; -1 is the device of the current context.
 *
 * A stream NULL is the calling thread's current stream, see rkc_stream_push, and without one the
 * default stream: the legacy one, or in programs that are compiled for it
 * (CUDA_API_PER_THREAD_DEFAULT_STREAM, nvcc --default-stream per-thread) the thread's own. (void
 * *)1 and (void *)2 name these two in any program. They belong to the context that is current.
 *
 * Any of these functions may be called from any thread, on one object from several at once, but for
 * its destruction, which has to be the last. Those without a list of errors cannot fail. Where they
 * return a status, all may return
 *
 *   RKC_ENODRIVER   no driver, CUDA is not initialised or was shut down, a forked child
 *   RKC_ENODEVICE   the driver sees no device
 *   RKC_ELOST       the context is destroyed, its device was reset, or an error that the driver
 *                   does not recover from has come up before; it is not told again by rankclock
 *   RKC_ECUDA       a call of the driver failed otherwise
 *   RKC_ENOMEM      out of memory
 *
 * and rkc_gpu_error says more. Outputs are set on success alone. None may be called from a signal
 * handler or a CUDA host callback. They work with RANKCLOCK_ENABLE=off, for they measure nothing,
 * and are declared with RKC_DISABLE, too.
 */
#ifndef RANKCLOCK_GPU_H
#define RANKCLOCK_GPU_H

#include <stddef.h>
#include <stdint.h>

#include <rankclock/status.h>

struct rkc_region;

#ifdef __cplusplus
extern "C" {
#endif

/* Flags of events. */
#define RKC_EVENT_TIMING 1u       /* elapsed times can be had; recording costs more */
#define RKC_EVENT_BLOCKING 2u     /* rkc_event_synchronize sleeps; else it may spin */
#define RKC_EVENT_INTERPROCESS 4u /* it can be handed to other processes; not with timing */

#define RKC_IPC_HANDLE_BYTES 64

struct rkc_event;  /* opaque */
struct rkc_stream; /* opaque */

/** What went wrong in the last function of this header that failed on this thread.
 *
 * @return one line, "" if none has failed; valid until the next one fails or the thread ends
 */
RKC_API const char *rkc_gpu_error(void);

/* ---- events -------------------------------------------------------------------------------- */

/** Make an event. CUDA's is made by the first record or export, in the context of that stream.
 *
 * @param device  the one it is for; -1: that of its first record
 * @param flags   RKC_EVENT_*; 0: neither timing, nor blocking, nor for other processes
 * @param event   to be destroyed by rkc_event_destroy
 *
 * @return 0, or
 *   RKC_EARG  event is NULL, device is below -1, unknown flags, or timing with interprocess
 *
 * Needs no driver yet.
 */
RKC_API int rkc_event_create(int device, unsigned flags, struct rkc_event **event);

/** Destroy an event; NULL is none. What waits for it still does. */
RKC_API void rkc_event_destroy(struct rkc_event *event);

/** Its device; -1 while that is not known. */
RKC_API int rkc_event_device(const struct rkc_event *event);

/** CUDA's event, a CUevent or cudaEvent_t; NULL while there is none. It stays the object's. */
RKC_API void *rkc_event_handle(const struct rkc_event *event);

/** Record an event: it stands for all work that the stream has been given so far, and no longer for
 * what it stood for before. On a stream that is captured the record becomes part of the graph.
 *
 * @return 0, or
 *   RKC_EARG        event is NULL
 *   RKC_EDEVICE     the stream is of another device than the event
 *   RKC_ECONTEXT    of the same device, but another context
 *   RKC_ENOCONTEXT  a default stream, and no context is current
 *   RKC_EHANDLE     no such stream
 *   RKC_ECAPTURE    the capture does not allow it
 *
 * Does not wait. An event whose context was destroyed is made anew, unless it was opened from
 * another process.
 */
RKC_API int rkc_event_record(struct rkc_event *event, void *stream);

/** Ask whether the work that an event stands for is complete. Never recorded is complete.
 *
 * @return 0 if it is, or
 *   RKC_ENOTREADY  it is not; rkc_gpu_error does not change
 *   RKC_EARG       event is NULL
 *   RKC_ECAPTURE   it was last recorded in a capture
 *
 * Does not wait, and breaks no capture of other streams or threads.
 */
RKC_API int rkc_event_query(struct rkc_event *event);

/** Wait for the work that an event stands for. Never recorded: returns at once.
 *
 * @return 0, or
 *   RKC_EARG      event is NULL
 *   RKC_ECAPTURE  it was last recorded in a capture
 */
RKC_API int rkc_event_synchronize(struct rkc_event *event);

/** Let what a stream is given from now on wait for an event, of any device. Never recorded: nothing
 * happens. Does not wait itself.
 *
 * @return 0, or
 *   RKC_EARG        event is NULL
 *   RKC_ENOCONTEXT  a default stream, and no context is current
 *   RKC_EHANDLE     no such stream
 *   RKC_ECAPTURE    the capture does not allow it
 */
RKC_API int rkc_event_wait(struct rkc_event *event, void *stream);

/** The time on the device between two events, negative when `end` came first. Does not wait.
 *
 * @param ns  the driver's float in milliseconds, to the nearest ns: it has 24 significant bits, so
 *            that 0.25 s are known to 15 ns, 4 s to 0.24 µs, an hour to 0.25 ms
 *
 * @return 0, or
 *   RKC_EARG          an argument is NULL
 *   RKC_ENOTIMING     an event was made without timing
 *   RKC_ENOTRECORDED  an event was never recorded
 *   RKC_EDEVICE       they are of different devices
 *   RKC_ENOTREADY     an event is not complete; rkc_gpu_error does not change
 *   RKC_ECAPTURE      an event was last recorded in a capture
 */
RKC_API int rkc_event_elapsed_ns(struct rkc_event *start, struct rkc_event *end, int64_t *ns);

/** The same in milliseconds, as the driver gives it. */
RKC_API int rkc_event_elapsed_ms(struct rkc_event *start, struct rkc_event *end, float *ms);

/** Export an event to other processes of this machine. It must live as long as they use it.
 *
 * @param handle  RKC_IPC_HANDLE_BYTES are written
 *
 * @return 0, or
 *   RKC_EARG        an argument is NULL, or the event was made without RKC_EVENT_INTERPROCESS
 *   RKC_ENODEVICE   it was made for a device that there is not
 *   RKC_ENOCONTEXT  it has not been recorded, and its device has no context
 *   RKC_ENOTSUP     the device or the system cannot do it
 */
RKC_API int rkc_event_export(struct rkc_event *event, void *handle);

/** Open an event of another process.
 *
 * @param device  of this process, that of the event; -1: that of the current context
 * @param handle  as rkc_event_export gave it there
 * @param size    of the handle in bytes, to be checked
 * @param event   without timing; to be destroyed here, too
 *
 * @return 0, or
 *   RKC_EARG        an argument is NULL, or size is not RKC_IPC_HANDLE_BYTES
 *   RKC_ENODEVICE   no such device
 *   RKC_ENOCONTEXT  the device has no context
 *   RKC_EHANDLE     no such event, or no longer
 *   RKC_ENOTSUP     the device or the system cannot do it
 */
RKC_API int rkc_event_open(int device, const void *handle, size_t size, struct rkc_event **event);

/* ---- streams ------------------------------------------------------------------------------- */

/** Make a stream that does not wait for the legacy default stream (NON_BLOCKING).
 *
 * @param device    -1: that of the current context
 * @param priority  0 is the least, lower is more urgent; the driver takes the nearest that the
 *                  device has, and rkc_stream_priority tells which
 * @param stream    to be destroyed by rkc_stream_destroy
 *
 * @return 0, or
 *   RKC_EARG        stream is NULL
 *   RKC_ENODEVICE   no such device
 *   RKC_ENOCONTEXT  the device has no context
 */
RKC_API int rkc_stream_create(int device, int priority, struct rkc_stream **stream);

/** Make an object of a stream of the program's, which must live as long as it is used.
 *
 * @param device  to be checked; -1: whichever it is of
 * @param handle  a CUstream or cudaStream_t; NULL is the default stream here
 *
 * @return 0, or
 *   RKC_EARG        stream is NULL
 *   RKC_EDEVICE     the handle is of another device
 *   RKC_ENOCONTEXT  a default stream, and no context is current
 *   RKC_EHANDLE     no such stream
 */
RKC_API int rkc_stream_external(int device, void *handle, struct rkc_stream **stream);

/** Destroy a stream; NULL is none. Work it was given still takes place. Of an external stream only
 * the object goes. */
RKC_API void rkc_stream_destroy(struct rkc_stream *stream);

/** CUDA's stream. It stays the object's. */
RKC_API void *rkc_stream_handle(const struct rkc_stream *stream);

/** Its device. */
RKC_API int rkc_stream_device(const struct rkc_stream *stream);

/** Its priority, as the driver gives it. */
RKC_API int rkc_stream_priority(const struct rkc_stream *stream);

/** Ask whether all work that a stream was given is complete.
 *
 * @return 0 if it is, or
 *   RKC_ENOTREADY  it is not; rkc_gpu_error does not change
 *   RKC_EARG       stream is NULL
 *   RKC_EHANDLE    an external stream that is no longer there
 *   RKC_ECAPTURE   it is being captured, or is the legacy stream beside one that is
 *
 * Does not wait, and breaks no capture.
 */
RKC_API int rkc_stream_query(struct rkc_stream *stream);

/** Wait for all work that a stream was given. Errors as rkc_stream_query, but for RKC_ENOTREADY. */
RKC_API int rkc_stream_synchronize(struct rkc_stream *stream);

/** Let a stream wait for an event: rkc_event_wait. Errors as there. */
RKC_API int rkc_stream_wait_event(struct rkc_stream *stream, struct rkc_event *event);

/** Let what a stream is given from now on wait for all work that another has been given so far.
 * Does not wait itself.
 *
 * @return 0, or
 *   RKC_EARG      a stream is NULL
 *   RKC_EHANDLE   an external stream that is no longer there
 *   RKC_ECAPTURE  a capture does not allow it
 */
RKC_API int rkc_stream_wait_stream(struct rkc_stream *stream, struct rkc_stream *other);

/** Record an event on a stream: rkc_event_record. Errors as there.
 *
 * @param event  *event is recorded; when it is NULL a new one, to be destroyed by the caller
 * @param flags  of the new one, RKC_EVENT_*; not used otherwise
 */
RKC_API int rkc_stream_record_event(struct rkc_stream *stream, struct rkc_event **event,
                                    unsigned flags);

/* ---- the current stream -------------------------------------------------------------------- */

/** Make a stream the calling thread's current one on the stream's device, until it is popped.
 *
 * @param stream  NULL is the default stream here; it must live until it is popped
 *
 * @return 0, or
 *   RKC_ENOCONTEXT  a default stream, and no context is current
 *   RKC_EHANDLE     no such stream
 */
RKC_API int rkc_stream_push(void *stream);

/** Make the stream current again that was so before.
 *
 * @param device  -1: that of the current context
 *
 * @return 0, or
 *   RKC_ENOTFOUND   this thread has pushed none of this device
 *   RKC_ENOCONTEXT  no context is current
 */
RKC_API int rkc_stream_pop(int device);

/** The calling thread's current stream.
 *
 * @param device    -1: that of the current context
 * @param fallback  what to return if none was pushed
 *
 * Makes no call of the driver's while the thread has pushed none.
 */
RKC_API void *rkc_stream_current(int device, void *fallback);

/* ---- timing backends ----------------------------------------------------------------------- */

#define RKC_GPU_BACKEND_VERSION 1u

/** A way to time work: events of one kind, and the stream that is current to it.
 *
 * A program or a binding can bring its own. An event is whatever `record_event` makes; it belongs
 * to its user, who gives it back by `release`. Functions that return a status return 0 or one of
 * rankclock's; outputs are set on success alone. They may be called from any thread, also from
 * several at once with different events.
 */
struct rkc_gpu_backend {
    size_t size;      /* sizeof(struct rkc_gpu_backend) */
    unsigned version; /* RKC_GPU_BACKEND_VERSION */
    const char *name; /* shorter than 32 bytes; case does not matter */
    void *self;       /* what its functions are given first */

    /* Whether it can be used now: 0, or a status with a line that says why not. NULL: always. */
    int (*available)(void *self, char *text, size_t size);

    /* Record *event, or a new event if it is NULL, on a stream; NULL is the backend's current one.
     * Does not wait. */
    int (*record_event)(void *self, void *stream, void **event);

    /* 0 if what the event stands for is complete, RKC_ENOTREADY if not. Does not wait. */
    int (*query)(void *self, void *event);

    /* Wait for `end`, then give the time between the two to the nearest ns. RKC_EARG if `end` came
     * before `start`. */
    int (*elapsed_time_ns)(void *self, void *start, void *end, int64_t *ns);

    /* Take an event back, complete or not; NULL is none. */
    void (*release)(void *self, void *event);

    /* Wait for all work of the current device. NULL: it has no such thing. */
    int (*synchronize)(void *self);
};

/** Register a backend for the rest of the process.
 *
 * @param backend  copied, its name too; `self` and the functions must stay
 *
 * @return 0, or
 *   RKC_EARG       backend is NULL
 *   RKC_ESIZE      its size is less than that of version 1
 *   RKC_EABI       its version is not RKC_GPU_BACKEND_VERSION
 *   RKC_ENAME      its name is NULL, empty or 32 bytes or longer
 *   RKC_EFUNCTION  record_event, query, elapsed_time_ns or release is NULL; rkc_gpu_error says
 * which RKC_ETAKEN     a backend has this name, or it is "auto" RKC_ENOMEM     out of memory
 */
RKC_API int rkc_gpu_backend_register(const struct rkc_gpu_backend *backend);

/** Find a backend that can be used.
 *
 * Built in are "cuda" (rkc_event, on rkc_stream_current), "torch" or "pytorch", and "cupy" (the
 * same, on PyTorch's and CuPy's current stream), "host" (the host's clock: an event is complete
 * when it is recorded) and "none" (nothing is recorded, and there are no times).
 *
 * @param name     of one; case does not matter. NULL or "auto": the first of torch, cupy and cuda
 * that can be used; others only by name.
 * @param backend  valid until the process ends
 * @param text     on failure one line: what was tried, and why it cannot be used; may be NULL
 * @param size     of text in bytes
 *
 * @return 0, or
 *   RKC_EARG       backend is NULL
 *   RKC_ENOTFOUND  no backend has this name
 *   RKC_EBACKEND   none of those that were tried can be used, or it needs a stream provider
 *   RKC_ENODRIVER, RKC_ENODEVICE and others: why the one that was named cannot be used
 */
RKC_API int rkc_gpu_backend_resolve(const char *name, const struct rkc_gpu_backend **backend,
                                    char *text, size_t size);

/** Tell how to find the current stream of PyTorch or CuPy, for "torch" and "cupy".
 *
 * @param name     "torch", "pytorch" or "cupy"
 * @param current  gives the calling thread's current stream on a device, NULL being the legacy
 *                 default stream; returns 0 or a status. Called from any thread, without a lock.
 * NULL takes an earlier one away.
 * @param self     passed on to it
 *
 * @return 0, or RKC_ENOTFOUND for another name
 *
 * Without one "torch" uses libtorch's aoti_torch_get_current_cuda_stream if libtorch is in the
 * process.
 */
RKC_API int rkc_gpu_stream_provider(const char *name,
                                    int (*current)(void *self, int device, void **stream),
                                    void *self);

/* ---- regions on a stream ------------------------------------------------------------------- */

#ifndef RKC_DISABLE

/** Begin a region on the host and on a stream.
 *
 * @param region  a handle from rkc_region_get; NULL does nothing
 * @param stream  whose time is meant; NULL is the current stream, as above
 *
 * The visit's host time is that of any region. Its device time, another metric, lasts from where
 * the device has come to the begin in the stream until it has come to the end: all work that the
 * stream is given in between, and what the stream waits for meanwhile. It is known later; nothing
 * waits for it. Where there is no driver, and for visits that cannot be timed on the device, the
 * host time stays; the file says how many visits have no device time, and why.
 *
 * Two events are recorded for each visit. On the legacy default stream that makes the streams that
 * wait for it wait for the records, too. Not from a signal handler or a CUDA host callback.
 */
RKC_API void rkc_gpu_begin(struct rkc_region *region, void *stream);

/** End it: as rkc_region_end, with the end of the device time on the stream.
 *
 * @param stream  most often that of the begin; another one of the same context will do
 *
 * A visit begun here and ended by rkc_region_end has no device time.
 */
RKC_API void rkc_gpu_end(struct rkc_region *region, void *stream);

#endif

#ifdef __cplusplus
}
#endif

#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM) || defined(__CUDA_API_PER_THREAD_DEFAULT_STREAM)
/* NULL would be the legacy stream to the library, which cannot know how its caller was compiled. */
static inline void *rkc_stream_or_default_(void *stream)
{
    return stream ? stream : (void *)2;
}

static inline void *rkc_stream_or_current_(void *stream)
{
    return stream ? stream : rkc_stream_current(-1, (void *)2);
}

#define rkc_event_record(event, stream) rkc_event_record(event, rkc_stream_or_current_(stream))
#define rkc_event_wait(event, stream) rkc_event_wait(event, rkc_stream_or_current_(stream))
#define rkc_stream_external(device, handle, stream) \
    rkc_stream_external(device, rkc_stream_or_default_(handle), stream)
#define rkc_stream_push(stream) rkc_stream_push(rkc_stream_or_default_(stream))
#ifndef RKC_DISABLE
#define rkc_gpu_begin(region, stream) rkc_gpu_begin(region, rkc_stream_or_current_(stream))
#define rkc_gpu_end(region, stream) rkc_gpu_end(region, rkc_stream_or_current_(stream))
#endif
#endif

#include <rankclock/region.h>

#ifdef RKC_DISABLE
#define rkc_gpu_begin(region, stream) ((void)(region), (void)(stream))
#define rkc_gpu_end(region, stream) ((void)(region), (void)(stream))
#define RKC_SCOPE_GPU(name, stream) ((void)(stream))
#elif !defined(__cplusplus)
struct rkc_gpu_scope_ {
    struct rkc_region *region;
    void *stream;
};

static inline struct rkc_gpu_scope_ rkc_gpu_scope_begin_(struct rkc_region *region, void *stream)
{
    struct rkc_gpu_scope_ scope = {region, stream};
    rkc_gpu_begin(region, stream);
    return scope;
}

static inline void rkc_gpu_scope_end_(struct rkc_gpu_scope_ *scope)
{
    rkc_gpu_end(scope->region, scope->stream);
}

#define RKC_SCOPE_GPU_AT_(name, stream, line)                                      \
    static struct rkc_region *rkc_site_##line##_;                                  \
    __attribute__((unused, cleanup(rkc_gpu_scope_end_)))                           \
    struct rkc_gpu_scope_ rkc_scope_##line##_ =                                    \
        rkc_gpu_scope_begin_(rkc_site_(&rkc_site_##line##_, name, __FILE__, line), stream)
#define RKC_SCOPE_GPU_(name, stream, line) RKC_SCOPE_GPU_AT_(name, stream, line)

/** Time the rest of the enclosing block as the region `name` on the host and on a stream, however
 * it is left. A declaration. C++: see rankclock.hpp. */
#define RKC_SCOPE_GPU(name, stream) RKC_SCOPE_GPU_(name, stream, __LINE__)
#endif

#endif
