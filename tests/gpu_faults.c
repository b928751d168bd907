/* Every call that the streams and events make fails once, with errors of each kind: the status is
 * right, nothing is left over, what is current stays so, and all works again. */
#include "autoconf.h"

#include "gpu_double.h"
#include "tap.h"

#include <rankclock/gpu.h>

/* A step of the story: its status, outputs in `it`. */
static struct it {
    struct rkc_event *start, *end, *shared, *opened;
    struct rkc_stream *stream, *other, *external, *legacy;
    int64_t ns;
    char handle[RKC_IPC_HANDLE_BYTES];
} it;

static CUstream program_stream;

#define STEP(name, expression) \
    static int name(void)      \
    {                          \
        return expression;     \
    }

STEP(make_stream, rkc_stream_create(0, -1, &it.stream))
STEP(make_other, rkc_stream_create(1, 0, &it.other))
STEP(wrap_stream, rkc_stream_external(0, program_stream, &it.external))
STEP(wrap_legacy, rkc_stream_external(-1, NULL, &it.legacy))
STEP(push_stream, rkc_stream_push(it.stream ? rkc_stream_handle(it.stream) : program_stream))
STEP(record_start, rkc_stream_record_event(it.stream, &it.start, RKC_EVENT_TIMING))
STEP(record_again, rkc_stream_record_event(it.stream, &it.start, 0))
STEP(record_end, rkc_stream_record_event(it.stream, &it.end, RKC_EVENT_TIMING))
STEP(record_legacy, rkc_stream_record_event(it.legacy, &it.end, 0))
STEP(query_event, rkc_event_query(it.end))
STEP(wait_event, rkc_event_synchronize(it.end))
STEP(elapsed, rkc_event_elapsed_ns(it.start, it.end, &it.ns))
STEP(query_stream, rkc_stream_query(it.legacy))
STEP(wait_stream, rkc_stream_synchronize(it.stream))
STEP(join_event, rkc_stream_wait_event(it.other, it.end))
STEP(join_stream, rkc_stream_wait_stream(it.other, it.external))
STEP(pop_stream, rkc_stream_pop(-1))
STEP(export_event, rkc_event_export(it.shared, it.handle))
STEP(open_event, rkc_event_open(1, it.handle, sizeof it.handle, &it.opened))

static int (*const story[])(void) = {
    make_stream, make_other,  wrap_stream,   wrap_legacy, push_stream,  record_start, record_again,
    record_end,  query_event, record_legacy, query_event, wait_event,   elapsed,      query_stream,
    wait_stream, join_event,  join_stream,   pop_stream,  export_event, open_event,
};

enum { STEPS = sizeof story / sizeof *story };

static const char *const calls[] = {
#define REQUIRED(member, base, version, symbol, parameters) #symbol,
#define OPTIONAL(member, base, version, symbol, parameters) #symbol,
#include "gpu/driver.def"
};

static void begin(void)
{
    gpu_start(2);
    memset(&it, 0, sizeof it);
    program_stream = gpu_stream(0);
    rkc_event_create(-1, RKC_EVENT_INTERPROCESS, &it.shared);
    fakecuda_reset_calls();
}

/* Destroy all that was made; whether the double has what it had at first. */
static int finish(void)
{
    CUcontext current = NULL;
    struct rkc_event *events[] = {it.start, it.end, it.shared, it.opened};
    struct rkc_stream *streams[] = {it.stream, it.other, it.external, it.legacy};
    while (rkc_stream_pop(0) == 0)
        ;
    for (int i = 0; i < 4; i++) {
        rkc_event_destroy(events[i]);
        rkc_stream_destroy(streams[i]);
    }
    cuCtxGetCurrent(&current);
    cuStreamDestroy_v2(program_stream);
    return current == gpu_contexts[0] && fakecuda_handles() == 4;
}

/* Tell the story, each step that fails a second time. The number of failures. */
static int tell(int *status, int *wrong)
{
    int failures = 0;
    for (int i = 0; i < STEPS; i++) {
        int first = story[i]();
        if (!first)
            continue;
        failures++;
        *status = first;
        *wrong += !*rkc_gpu_error() && first != RKC_ENOTREADY;
        *wrong += story[i]() != 0;
    }
    return failures;
}

static struct {
    int wrong, other, left;
} found;

/* Tell the story with the n-th call of a function failing, beginning with 0. */
static void tell_with(const char *call, long n, CUresult code, int wanted)
{
    int status = wanted, wrong = 0;
    begin();
    fakecuda_fail(call, (int)code, (int)n, 1);
    tell(&status, &wrong);
    int left = !finish();
    if (wrong || status != wanted || left)
        printf("# %s, call %ld, result %u: status %d, wrong %d, left %d\n", call, n, code, status,
               wrong, left);
    found.wrong += wrong;
    found.other += status != wanted;
    found.left += left;
}

static long count(const char *call)
{
    int status, wrong = 0;
    begin();
    tell(&status, &wrong);
    long n = fakecuda_calls(call);
    finish();
    return n;
}

/* What cannot be destroyed is left over. */
static int is_end(const char *call)
{
    return strstr(call, "Destroy") != NULL;
}

static void fails(CUresult code, int wanted)
{
    int told = 0;
    memset(&found, 0, sizeof found);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        long n = is_end(calls[i]) ? 0 : count(calls[i]);
        told += n > 0;
        for (long at = 0; at < n; at++)
            tell_with(calls[i], at, code, wanted);
    }
    ok(told >= 22, "most of the driver's functions are called");
    is_int(found.wrong, 0, "a call that fails is told, and what was tried works the next time");
    is_int(found.other, 0, "the status is that of the call");
    is_int(found.left, 0, "nothing is left over, and what is current stays so");
}

/* The driver is shut down in the middle, or an error that stays comes up. */
static void ends(CUresult code, int wanted)
{
    int wrong = 0, called = 0;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        long n = is_end(calls[i]) ? 0 : count(calls[i]);
        for (long at = 0; at < n; at++) {
            begin();
            fakecuda_fail(calls[i], (int)code, (int)at, 1);
            for (int step = 0; step < STEPS; step++)
                story[step]();
            struct rkc_stream *none = NULL;
            wrong += rkc_stream_create(0, 0, &none) != wanted;
            fakecuda_reset_calls();
            rkc_event_destroy(it.start);
            rkc_event_destroy(it.end);
            rkc_event_destroy(it.shared);
            rkc_event_destroy(it.opened);
            called += (int)fakecuda_calls_all();
            rkc_stream_destroy(it.stream);
            rkc_stream_destroy(it.other);
            rkc_stream_destroy(it.external);
            rkc_stream_destroy(it.legacy);
        }
    }
    is_int(wrong, 0, "what ends the driver's use is told from then on");
    if (code == CUDA_ERROR_DEINITIALIZED)
        is_int(called, 0, "and a driver that was shut down is not called to destroy events");
}

int main(void)
{
    char folder[] = "/tmp/rankclock-faults.XXXXXX";
    int status = 0, wrong = 0;
    if (!mkdtemp(folder))
        return 1;
    setenv("FAKECUDA_IPC_DIR", folder, 1);
    begin();
    is_int(tell(&status, &wrong), 0, "without faults no step fails");
    is_int(finish(), 1, "and nothing is left");
    fails(999, RKC_ECUDA);
    fails(2, RKC_ENOMEM);
    fails(801, RKC_ENOTSUP);
    ends(CUDA_ERROR_DEINITIALIZED, RKC_ENODRIVER);
    ends(CUDA_ERROR_ILLEGAL_ADDRESS, RKC_ELOST);
    rkc_driver_forget();
    fakecuda_reset();
    is_int(rmdir(folder), 0, "no file is left");
    return done_testing();
}
