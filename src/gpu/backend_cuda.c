/* backend_cuda.c - the backends torch and cupy are cuda on another current stream, which only the
 * framework knows: nothing of it is ever loaded here. */
#include "autoconf.h"

#include "gpu/backend.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "gpu/context.h"
#include "gpu/per_thread.h"

/* Where a framework's current stream comes from. */
struct provider {
    const char *name;
    int (*current)(void *self, int device, void **stream);
    void *self;
};

static struct provider torch = {"torch", NULL, NULL};
static struct provider cupy = {"cupy", NULL, NULL};
static pthread_mutex_t provider_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- libtorch's C interface ---- */

static void *find_symbol(void *library, const char *name)
{
    void *symbol = dlsym(RTLD_DEFAULT, name);
    return symbol || !library ? symbol : dlsym(library, name);
}

/* aoti_torch_get_current_cuda_stream of torch/csrc/inductor/aoti_torch/c/shim.h, or NULL. In an
 * early version its arguments were the other way round; that one has a function to set the stream,
 * too. What is found stays, and its library with it. */
static void *find_shim(void)
{
    static _Atomic(void *) found;
    void *symbol = atomic_load(&found);
    if (symbol)
        return symbol;
    void *library = dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (!find_symbol(library, "aoti_torch_set_current_cuda_stream"))
        symbol = find_symbol(library, "aoti_torch_get_current_cuda_stream");
    if (symbol)
        atomic_store(&found, symbol);
    else if (library)
        dlclose(library);
    return symbol;
}

static int torch_shim(void *self, int device, void **stream)
{
    int32_t (*get)(int32_t device_index, void **ret_stream);
    (void)self;
    void *symbol = find_shim();
    memcpy(&get, &symbol, sizeof symbol);
    return symbol && get(device, stream) == 0 ? 0 : RKC_EBACKEND;
}

/* A copy, so that no lock is held while it is called. */
static struct provider provider_of(void *self)
{
    pthread_mutex_lock(&provider_lock);
    struct provider provider = *(struct provider *)self;
    pthread_mutex_unlock(&provider_lock);
    if (!provider.current && self == &torch && find_shim())
        provider.current = torch_shim;
    return provider;
}

int rkc_gpu_stream_provider(const char *name, int (*current)(void *self, int device, void **stream),
                            void *self)
{
    struct provider *provider = NULL;
    if (name && (strcasecmp(name, "torch") == 0 || strcasecmp(name, "pytorch") == 0))
        provider = &torch;
    else if (name && strcasecmp(name, "cupy") == 0)
        provider = &cupy;
    if (!provider)
        return rkc_gpu_fail(RKC_ENOTFOUND, "\"%.40s\" is not torch or cupy", name ? name : "");
    pthread_mutex_lock(&provider_lock);
    provider->current = current;
    provider->self = self;
    pthread_mutex_unlock(&provider_lock);
    return 0;
}

/* ---- functions of the backends ---- */

static int cuda_available(void *self, char *text, size_t size)
{
    (void)self;
    int status = rkc_driver_find();
    if (!status)
        return 0;
    const char *reason = rkc_driver_reason();
    snprintf(text, size, "%s", reason ? reason : rkc_strerror(status));
    return status;
}

static int framework_available(void *self, char *text, size_t size)
{
    const struct provider provider = provider_of(self);
    if (provider.current)
        return cuda_available(self, text, size);
    snprintf(text, size, "its current stream cannot be found");
    return RKC_EBACKEND;
}

static int record_on(void *stream, void **event)
{
    struct rkc_event *made = NULL;
    if (*event)
        return rkc_event_record(*event, stream);
    int status = rkc_event_create(-1, RKC_EVENT_TIMING, &made);
    if (!status)
        status = rkc_event_record(made, stream);
    if (status)
        rkc_event_destroy(made);
    else
        *event = made;
    return status;
}

static int cuda_record(void *self, void *stream, void **event)
{
    (void)self;
    return event ? record_on(stream, event) : rkc_gpu_fail(RKC_EARG, "no place for the event");
}

/* The framework's legacy default stream is not the stream that is current to cuda. */
static int framework_record(void *self, void *stream, void **event)
{
    const struct provider provider = provider_of(self);
    int device = 0;
    if (stream || !event)
        return cuda_record(self, stream, event);
    if (!provider.current)
        return rkc_gpu_fail(RKC_EBACKEND, "%s: its current stream cannot be found", provider.name);
    int status = rkc_gpu_ready();
    if (!status)
        status = rkc_context_current_device(&device);
    if (status)
        return rkc_gpu_fail(status, "current device: %s", rkc_strerror(status));
    status = provider.current(provider.self, device, &stream);
    if (status)
        return rkc_gpu_fail(status, "%s: the current stream of device %d: %s", provider.name,
                            device, rkc_strerror(status));
    return record_on(stream ? stream : (void *)1, event);
}

static int cuda_query(void *self, void *event)
{
    (void)self;
    return rkc_event_query(event);
}

static int cuda_elapsed(void *self, void *start, void *end, int64_t *ns)
{
    int64_t elapsed_ns;
    (void)self;
    int status = rkc_event_synchronize(end);
    if (!status)
        status = rkc_event_elapsed_ns(start, end, &elapsed_ns);
    if (status)
        return status;
    if (elapsed_ns < 0 || !ns)
        return rkc_gpu_fail(RKC_EARG,
                            ns ? "the end came before the start" : "no place for the time");
    *ns = elapsed_ns;
    return 0;
}

static void cuda_release(void *self, void *event)
{
    (void)self;
    rkc_event_destroy(event);
}

static int cuda_synchronize(void *self)
{
    CUstreamCaptureMode mode;
    (void)self;
    int status = rkc_gpu_ready();
    if (!status)
        status = rkc_capture_relax(&mode);
    if (status)
        return rkc_gpu_fail(status, "cuCtxSynchronize: %s", rkc_strerror(status));
    status = rkc_gpu_check(rkc_driver_table.ctx_synchronize(), "cuCtxSynchronize");
    rkc_capture_restrict(mode);
    return status;
}

#define BACKEND(name_, self_, available_, record_)                                                 \
    {                                                                                              \
        .size = sizeof(struct rkc_gpu_backend), .version = RKC_GPU_BACKEND_VERSION, .name = name_, \
        .self = self_, .available = available_, .record_event = record_, .query = cuda_query,      \
        .elapsed_time_ns = cuda_elapsed, .release = cuda_release, .synchronize = cuda_synchronize  \
    }

const struct rkc_gpu_backend rkc_backend_torch =
    BACKEND("torch", &torch, framework_available, framework_record);
const struct rkc_gpu_backend rkc_backend_cupy =
    BACKEND("cupy", &cupy, framework_available, framework_record);
const struct rkc_gpu_backend rkc_backend_cuda = BACKEND("cuda", NULL, cuda_available, cuda_record);
