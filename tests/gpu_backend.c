/* Timing backends: registered, resolved, used; on the doubles of libcuda.so.1 and libtorch. */
#include "autoconf.h"

#include "gpu_double.h"
#include "tap.h"

#include <rankclock/gpu.h>

#include <dlfcn.h>

/* ---- a backend of a user's: its events count from 10 ns on, 10 ns each ---- */

struct own {
    int64_t now_ns;
    int released, is_broken;
};

static int own_available(void *self, char *text, size_t size)
{
    const struct own *own = self;
    if (own->is_broken)
        snprintf(text, size, "it is broken");
    return own->is_broken ? RKC_ENOTSUP : 0;
}

static int own_record(void *self, void *stream, void **event)
{
    struct own *own = self;
    (void)stream;
    own->now_ns += 10;
    *event = (void *)(uintptr_t)own->now_ns;
    return 0;
}

static int own_query(void *self, void *event)
{
    (void)self;
    (void)event;
    return 0;
}

static int own_elapsed(void *self, void *start, void *end, int64_t *ns)
{
    (void)self;
    *ns = (int64_t)((uintptr_t)end - (uintptr_t)start);
    return 0;
}

static void own_release(void *self, void *event)
{
    (void)event;
    ((struct own *)self)->released++;
}

static struct own own;
static const struct rkc_gpu_backend good = {
    .size = sizeof good,
    .version = RKC_GPU_BACKEND_VERSION,
    .name = "Mine",
    .self = &own,
    .available = own_available,
    .record_event = own_record,
    .query = own_query,
    .elapsed_time_ns = own_elapsed,
    .release = own_release,
};

static int register_without(size_t offset)
{
    struct rkc_gpu_backend backend = good;
    memset((char *)&backend + offset, 0, sizeof(void *));
    return rkc_gpu_backend_register(&backend);
}

static int register_as(const char *name)
{
    struct rkc_gpu_backend backend = good;
    backend.name = name;
    return rkc_gpu_backend_register(&backend);
}

static void test_refused(void)
{
    struct rkc_gpu_backend backend = good;
    is_int(rkc_gpu_backend_register(NULL), RKC_EARG, "NULL is no backend");
    backend.size = sizeof backend - 1;
    is_int(rkc_gpu_backend_register(&backend), RKC_ESIZE, "one that is too small is refused");
    backend = good;
    backend.version = 0;
    is_int(rkc_gpu_backend_register(&backend), RKC_EABI, "and one without a version");
    backend.version = RKC_GPU_BACKEND_VERSION + 1;
    is_int(rkc_gpu_backend_register(&backend), RKC_EABI, "and one of a later version");
    is_int(register_as(NULL), RKC_ENAME, "a name is needed");
    is_int(register_as(""), RKC_ENAME, "that is not empty");
    is_int(register_as("a name of thirty-two bytes, which"), RKC_ENAME, "nor too long");
    is_int(register_without(offsetof(struct rkc_gpu_backend, record_event)), RKC_EFUNCTION,
           "events have to be recorded");
    is_str(rkc_gpu_error(), "the backend Mine has no record_event", "the text names the function");
    is_int(register_without(offsetof(struct rkc_gpu_backend, query)), RKC_EFUNCTION, "and asked");
    is_int(register_without(offsetof(struct rkc_gpu_backend, elapsed_time_ns)), RKC_EFUNCTION,
           "for their time");
    is_int(register_without(offsetof(struct rkc_gpu_backend, release)), RKC_EFUNCTION,
           "and given back");
    static const char *const taken[] = {"auto", "torch", "pytorch", "PyTorch",
                                        "cupy", "CUDA",  "host",    "none"};
    int wrong = 0;
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        wrong += register_as(taken[i]) != RKC_ETAKEN;
    is_int(wrong, 0, "the names of what is built in are taken, in any case");
}

static void test_registered(void)
{
    const struct rkc_gpu_backend *found = NULL;
    void *start = NULL, *end = NULL;
    char text[512] = "", name[] = "Mine";
    int64_t ns = 0;
    struct rkc_gpu_backend backend = good;
    backend.name = name;
    is_int(rkc_gpu_backend_register(&backend), 0, "what is whole is registered");
    is_int(rkc_gpu_backend_register(&backend), RKC_ETAKEN, "once");
    is_int(register_as("MINE"), RKC_ETAKEN, "whatever the case");
    is_int(register_without(offsetof(struct rkc_gpu_backend, synchronize)), RKC_ETAKEN,
           "a synchronise is not needed");
    memset(&backend, 0, sizeof backend);
    memset(name, 0, sizeof name);
    is_int(rkc_gpu_backend_resolve("mIne", &found, text, sizeof text), 0, "it can be found");
    is_str(found->name, "Mine", "under its name");
    is_int(found->record_event(found->self, NULL, &start), 0, "and be used");
    found->record_event(found->self, NULL, &end);
    is_int(found->elapsed_time_ns(found->self, start, end, &ns), 0, "to the end");
    is_int(ns, 10, "with its own times");
    found->release(found->self, start);
    is_int(own.released, 1, "and events");
    own.is_broken = 1;
    found = NULL;
    is_int(rkc_gpu_backend_resolve("mine", &found, text, sizeof text), RKC_ENOTSUP,
           "it may say that it cannot be used");
    is_str(text, "Mine: it is broken", "and why");
    ok(!found, "there is no result then");
    own.is_broken = 0;
}

/* ---- resolving ---- */

static void test_auto(void)
{
    const struct rkc_gpu_backend *found = NULL;
    char text[512] = "";
    static const char *const names[] = {NULL, "auto", "AUTO"};
    gpu_start(1);
    for (size_t i = 0; i < 3; i++) {
        found = NULL;
        is_int(rkc_gpu_backend_resolve(names[i], &found, text, sizeof text), 0,
               "without a name what can be used is taken");
        is_str(found->name, "cuda", "here CUDA");
    }
    is_int(rkc_gpu_backend_resolve("Cuda", &found, NULL, 0), 0, "by name it is found, too");
    is_int(rkc_gpu_backend_resolve("auto", NULL, text, sizeof text), RKC_EARG,
           "there has to be a place for it");

    rkc_driver_forget();
    fakecuda_reset();
    found = NULL;
    is_int(rkc_gpu_backend_resolve(NULL, &found, text, sizeof text), RKC_EBACKEND,
           "it may be that none can be used");
    is_str(text,
           "torch: its current stream cannot be found; cupy: its current stream cannot be found; "
           "cuda: the program has not initialised CUDA",
           "the text has all that were tried, in order, and why not");
    is_str(rkc_gpu_error(), text, "as has the thread's error");
    ok(!found, "host is not taken instead");
    char little[8] = "";
    rkc_gpu_backend_resolve(NULL, &found, little, sizeof little);
    is_str(little, "torch: ", "what does not fit is cut off");
    is_int(rkc_gpu_backend_resolve("cuda", &found, text, sizeof text), RKC_ENODRIVER,
           "by name the status is the reason");
    cuInit(0);
    fakecuda_fail("cuDeviceGetCount", 100, 0, -1);
    is_int(rkc_gpu_backend_resolve("cuda", &found, text, sizeof text), RKC_ENODEVICE,
           "no device is another one");
    is_str(text, "cuda: the driver sees no device", "and is said");
    is_int(rkc_gpu_backend_resolve("vulkan", &found, text, sizeof text), RKC_ENOTFOUND,
           "an unknown name is yet another");
    is_str(text,
           "\"vulkan\": no backend has this name; there are auto, torch, cupy, cuda, host, none, "
           "Mine",
           "the text has the known ones");
    is_int(rkc_gpu_backend_resolve("", &found, text, sizeof text), RKC_ENOTFOUND,
           "as is an empty one");
}

/* ---- those built in ---- */

static const struct rkc_gpu_backend *get(const char *name)
{
    const struct rkc_gpu_backend *found = NULL;
    char text[512];
    if (rkc_gpu_backend_resolve(name, &found, text, sizeof text) != 0)
        printf("# %s\n", text);
    return found;
}

static void test_cuda(void)
{
    void *start = NULL, *end = NULL;
    int64_t ns = 0;
    gpu_start(1);
    fakecuda_gpu_clock(0, 0, 1);
    const struct rkc_gpu_backend *cuda = get("cuda");
    CUstream stream = gpu_stream(CU_STREAM_NON_BLOCKING);
    is_int(cuda->record_event(NULL, stream, &start), 0, "cuda records on a stream");
    fakecuda_launch(stream, 5001);
    rkc_stream_push(stream);
    is_int(cuda->record_event(NULL, NULL, &end), 0, "or on the current one");
    rkc_stream_pop(-1);
    is_int(cuda->query(NULL, start), 0, "it can be asked");
    is_int(cuda->query(NULL, end), RKC_ENOTREADY, "without waiting");
    is_int(fakecuda_calls_synchronizing(), 0, "for the device");
    is_int(cuda->elapsed_time_ns(NULL, start, end, &ns), 0, "the time waits");
    is_int(ns, 5001, "and is that of the work");
    is_int(fakecuda_calls("cuEventSynchronize"), 1, "by one call");
    is_int(cuda->elapsed_time_ns(NULL, end, start, &ns), RKC_EARG, "backwards it is an error");
    is_int(cuda->elapsed_time_ns(NULL, NULL, end, &ns), RKC_EARG, "without a start");
    is_int(cuda->elapsed_time_ns(NULL, start, NULL, &ns), RKC_EARG, "or an end");
    is_int(cuda->elapsed_time_ns(NULL, start, end, NULL), RKC_EARG, "or a place for it, too");
    void *same = start;
    is_int(cuda->record_event(NULL, stream, &start), 0, "an event can be recorded again");
    ok(start == same, "as the same one");
    is_int(cuda->record_event(NULL, stream, NULL), RKC_EARG, "but there has to be a place");
    fakecuda_launch(stream, 100);
    is_int(cuda->synchronize(NULL), 0, "the device can be waited for");
    is_int(cuStreamQuery(stream), 0, "to the end of its work");
    fakecuda_fail("cuCtxSynchronize", 719, 0, 1);
    is_int(cuda->synchronize(NULL), RKC_ELOST, "unless that fails");
    fakecuda_sticky(0);
    cuda->release(NULL, start);
    cuda->release(NULL, end);
    cuda->release(NULL, NULL);
    void *none = NULL;
    fakecuda_fail("cuEventRecord", 999, 0, 1);
    is_int(cuda->record_event(NULL, stream, &none), RKC_ECUDA, "a failure is told");
    ok(!none, "and leaves no event");
    is_int(fakecuda_handles(), 3, "all are given back");
}

static void test_host(void)
{
    const struct rkc_gpu_backend *host = get("host"), *none = get("NONE");
    void *start = NULL, *end = NULL, *nothing = NULL;
    int64_t ns = -1;
    rkc_driver_forget();
    is_int(host->record_event(NULL, NULL, &start), 0, "host needs no driver");
    usleep(2000);
    is_int(host->record_event(NULL, (void *)1, &end), 0, "nor a stream");
    is_int(host->query(NULL, end), 0, "its events are complete");
    is_int(host->elapsed_time_ns(NULL, start, end, &ns), 0, "and have a time");
    ok(ns >= 2000000, "by the host's clock");
    is_int(host->elapsed_time_ns(NULL, end, start, &ns), RKC_EARG, "not backwards");
    is_int(host->elapsed_time_ns(NULL, NULL, end, &ns), RKC_EARG, "nor from nowhere");
    is_int(host->query(NULL, NULL), RKC_EARG, "NULL is no event");
    is_int(host->record_event(NULL, NULL, NULL), RKC_EARG, "nor a place for one");
    void *same = start;
    host->record_event(NULL, NULL, &start);
    ok(start == same, "an event is recorded again");
    is_int(host->synchronize(NULL), 0, "there is nothing to wait for");
    host->release(NULL, start);
    host->release(NULL, end);
    host->release(NULL, NULL);

    is_int(none->record_event(NULL, NULL, &nothing), 0, "none records nothing");
    ok(!nothing && none->query(NULL, nothing) == 0, "which is complete");
    ns = -1;
    is_int(none->elapsed_time_ns(NULL, nothing, nothing, &ns), RKC_ENOTSUP, "and has no time");
    is_int(ns, -1, "not even 0");
    none->release(NULL, nothing);
}

/* ---- frameworks ---- */

static int asked_device;

static int give_stream(void *self, int device, void **stream)
{
    asked_device = device;
    if (!self)
        return RKC_ENOTSUP;
    *stream = *(void **)self;
    return 0;
}

static int goes_to(const struct rkc_gpu_backend *backend, void *given, void *stream)
{
    void *event = NULL;
    fakecuda_hold(stream);
    int status = backend->record_event(backend->self, given, &event);
    int held = !status && backend->query(backend->self, event) == RKC_ENOTREADY;
    fakecuda_release(stream);
    backend->release(backend->self, event);
    return held;
}

static void test_frameworks(void)
{
    static const char *const names[] = {"cupy", "torch"};
    const struct rkc_gpu_backend *found = NULL;
    char text[512];
    gpu_start(2);
    CUstream a = gpu_stream(CU_STREAM_NON_BLOCKING), b = gpu_stream(CU_STREAM_NON_BLOCKING);
    void *current = a, *event = NULL;
    is_int(rkc_gpu_stream_provider("jax", give_stream, &current), RKC_ENOTFOUND,
           "only these frameworks have a current stream");
    is_int(rkc_gpu_stream_provider(NULL, give_stream, &current), RKC_ENOTFOUND, "NULL is none");
    for (int i = 0; i < 2; i++) {
        is_int(rkc_gpu_backend_resolve(names[i], &found, text, sizeof text), RKC_EBACKEND,
               "a framework whose stream cannot be found is not used");
        is_int(rkc_gpu_stream_provider(names[i], give_stream, &current), 0,
               "its stream can be told");
        const struct rkc_gpu_backend *backend = get(names[i]);
        is_str(backend->name, names[i], "then it is found");
        is_str(get("auto")->name, names[i], "before those that come after it");
        current = a;
        ok(goes_to(backend, NULL, a), "a record goes to its stream");
        ok(goes_to(backend, b, b), "or to one that is named");
        rkc_stream_push(b);
        ok(goes_to(backend, NULL, a), "what is current to CUDA's backend is not to it");
        current = NULL;
        ok(goes_to(backend, NULL, (void *)1), "its default stream is the legacy one");
        rkc_stream_pop(-1);
        cuCtxSetCurrent(gpu_contexts[1]);
        backend->record_event(backend->self, NULL, &event);
        is_int(asked_device, 1, "it is asked for the current device");
        backend->release(backend->self, event);
        event = NULL;
        cuCtxSetCurrent(NULL);
        is_int(backend->record_event(backend->self, NULL, &event), RKC_ENOCONTEXT,
               "without which there is no stream");
        cuCtxSetCurrent(gpu_contexts[0]);
        rkc_gpu_stream_provider(names[i], give_stream, NULL);
        is_int(backend->record_event(backend->self, NULL, &event), RKC_ENOTSUP, "it may fail, too");
        ok(strstr(rkc_gpu_error(), names[i]) && !event, "and is told by name");
        rkc_gpu_stream_provider(names[i], give_stream, &current);
    }
    is_str(get("PyTorch")->name, "torch", "PyTorch is torch");
    is_int(rkc_gpu_stream_provider("pytorch", NULL, NULL), 0, "a provider can be taken away");
    is_str(get("auto")->name, "cupy", "then the next is used");
    rkc_gpu_stream_provider("CuPy", NULL, NULL);
    is_str(get("auto")->name, "cuda", "and the next");
    rkc_driver_forget();
    fakecuda_reset();
    rkc_gpu_stream_provider("cupy", give_stream, &current);
    is_int(rkc_gpu_backend_resolve("cupy", &found, text, sizeof text), RKC_ENODRIVER,
           "without a driver a provider is not enough");
    rkc_gpu_stream_provider("cupy", NULL, NULL);
}

/* ---- libtorch ---- */

static void *load_torch(const char *which)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/../faketorch/%s.libs/libtorch_cuda.so", getenv("RKC_FAKECUDA"),
             which);
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static int uses_libtorch(void)
{
    const struct rkc_gpu_backend *found = NULL;
    char text[512];
    void *event = NULL;
    /* Without the parent's driver, which is off in a child: one of its own. */
    gpu_start(1);
    CUstream stream = gpu_stream(CU_STREAM_NON_BLOCKING);
    if (rkc_gpu_backend_resolve("torch", &found, text, sizeof text) != RKC_EBACKEND)
        return 2;
    void *library = load_torch("");
    void **streams = library ? dlsym(library, "faketorch_streams") : NULL;
    if (!streams || rkc_gpu_backend_resolve("torch", &found, text, sizeof text) != 0)
        return 3;
    streams[0] = stream;
    if (!goes_to(found, NULL, stream))
        return 4;
    streams[0] = NULL;
    if (!goes_to(found, NULL, (void *)1))
        return 5;
    streams[0] = (void *)-1;
    if (found->record_event(found->self, NULL, &event) != RKC_EBACKEND)
        return 6;
    dlclose(library);
    return found->record_event(found->self, NULL, &event) == RKC_EBACKEND ? 1 : 7;
}

static int leaves_early_libtorch(void)
{
    const struct rkc_gpu_backend *found = NULL;
    char text[512];
    gpu_start(1);
    void *library = load_torch("early/");
    const int *asked = library ? dlsym(library, "faketorch_asked") : NULL;
    return asked && rkc_gpu_backend_resolve("torch", &found, text, sizeof text) == RKC_EBACKEND &&
           *asked == 0;
}

static void test_libtorch(void)
{
    rkc_driver_forget();
    fakecuda_reset();
    if (!getenv("RKC_FAKECUDA")) {
        skip(2, "the environment does not say where the doubles are");
        return;
    }
    is_int(gpu_in_child(uses_libtorch), 1, "libtorch tells the current stream if it is there");
    is_int(gpu_in_child(leaves_early_libtorch), 1,
           "an early one, with the arguments the other way round, is not called");
}

int main(void)
{
    test_refused();
    test_registered();
    test_auto();
    test_cuda();
    test_host();
    test_frameworks();
    test_libtorch();
    rkc_driver_forget();
    fakecuda_reset();
    return done_testing();
}
