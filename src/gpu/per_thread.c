/* per_thread.c - the streams of all devices lie on one stack: a device's current stream is the last
 * one of that device. */
#include "autoconf.h"

#include "gpu/per_thread.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <rankclock/gpu.h>

#include "gpu/context.h"

struct entry {
    int device;
    void *stream;
};

struct per_thread {
    struct entry *stack;
    size_t depth, capacity;
    char error[256];
};

static _Thread_local struct per_thread *own __attribute__((tls_model("initial-exec")));
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static int has_key;

static void thread_ends(void *arg)
{
    struct per_thread *thread = arg;
    own = NULL;
    free(thread->stack);
    free(thread);
}

static void make_key(void)
{
    has_key = pthread_key_create(&key, thread_ends) == 0;
}

/* NULL without memory. */
static struct per_thread *get_own(void)
{
    if (own)
        return own;
    pthread_once(&once, make_key);
    struct per_thread *thread = has_key ? calloc(1, sizeof *thread) : NULL;
    if (thread && pthread_setspecific(key, thread) != 0) {
        free(thread);
        thread = NULL;
    }
    own = thread;
    return thread;
}

/* ---- what went wrong ---- */

int rkc_gpu_fail(int status, const char *format, ...)
{
    struct per_thread *thread = get_own();
    va_list values;
    if (!thread)
        return status;
    va_start(values, format);
    vsnprintf(thread->error, sizeof thread->error, format, values);
    va_end(values);
    return status;
}

int rkc_gpu_check(CUresult result, const char *call)
{
    const char *name = NULL;
    int status = rkc_driver_status(result);
    if (status == 0 || status == RKC_ENOTREADY)
        return status;
    if (rkc_driver_table.get_error_name(result, &name) != RKC_CUDA_SUCCESS || !name)
        name = "an unknown error";
    return rkc_gpu_fail(status, "%s: %s, %s (%u)", call, rkc_strerror(status), name, result);
}

const char *rkc_gpu_error(void)
{
    return own ? own->error : "";
}

int rkc_gpu_ready(void)
{
    int status = rkc_driver_find();
    if (!status)
        return 0;
    const char *reason = status == RKC_ENOMEM ? rkc_strerror(status) : rkc_driver_reason();
    return rkc_gpu_fail(status, "no CUDA: %s", reason ? reason : "it has come just now");
}

/* ---- current streams ---- */

static int find_device(int device, int *found)
{
    *found = device;
    if (device >= 0)
        return 0;
    int status = rkc_gpu_ready();
    if (status)
        return status;
    status = rkc_context_current_device(found);
    return status ? rkc_gpu_fail(status, "current device: %s", rkc_strerror(status)) : 0;
}

/* The last entry of a device, or NULL. */
static struct entry *find_entry(struct per_thread *thread, int device)
{
    for (size_t i = thread ? thread->depth : 0; i > 0; i--)
        if (thread->stack[i - 1].device == device)
            return &thread->stack[i - 1];
    return NULL;
}

static int device_of_stream(void *stream, int *device)
{
    CUcontext context;
    int status = rkc_gpu_ready();
    if (status)
        return status;
    status = rkc_context_of_stream(stream, &context);
    if (!status)
        status = rkc_context_device(context, device);
    return status ? rkc_gpu_fail(status, "stream %p: %s", stream, rkc_strerror(status)) : 0;
}

static int append(struct per_thread *thread, struct entry entry)
{
    if (thread->depth == thread->capacity) {
        size_t capacity = thread->capacity ? 2 * thread->capacity : 8;
        struct entry *stack = realloc(thread->stack, capacity * sizeof *stack);
        if (!stack)
            return rkc_gpu_fail(RKC_ENOMEM, "no memory for the current stream");
        thread->stack = stack;
        thread->capacity = capacity;
    }
    thread->stack[thread->depth++] = entry;
    return 0;
}

int rkc_stream_push(void *stream)
{
    struct entry entry = {.stream = stream};
    int status = device_of_stream(stream, &entry.device);
    if (status)
        return status;
    struct per_thread *thread = get_own();
    return thread ? append(thread, entry) : RKC_ENOMEM;
}

int rkc_stream_pop(int device)
{
    int status = find_device(device, &device);
    if (status)
        return status;
    struct entry *entry = find_entry(own, device);
    if (!entry)
        return rkc_gpu_fail(RKC_ENOTFOUND, "no stream of device %d is to be popped", device);
    own->depth--;
    for (; entry < own->stack + own->depth; entry++)
        entry[0] = entry[1];
    return 0;
}

/* Not a failure where there is no current device: the default stream will tell. */
void *rkc_stream_current(int device, void *fallback)
{
    if (!own || own->depth == 0)
        return fallback;
    if (device < 0 && (!rkc_driver_get() || rkc_context_current_device(&device) != 0))
        return fallback;
    const struct entry *entry = find_entry(own, device);
    return entry ? entry->stream : fallback;
}
