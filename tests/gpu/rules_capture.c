/* rules_capture.c - what a stream capture does to events, and which calls break one. */
#include "rules.h"

#include <pthread.h>
#include <stdio.h>

enum { ACTIVE = CU_STREAM_CAPTURE_STATUS_ACTIVE };

static CUstream captured, other, legacy_peer;
static CUevent done;

/* A stream to be captured, another one, and an event that is complete. */
static void set_up(void)
{
    start();
    warm_up();
    captured = new_stream(CU_STREAM_NON_BLOCKING);
    other = new_stream(CU_STREAM_NON_BLOCKING);
    legacy_peer = new_stream(0);
    done = recorded(other);
    cuda.cuStreamSynchronize(other);
    work(captured, 1000);
    cuda.cuStreamSynchronize(captured);
}

static CUresult begin_capture(CUstream stream, CUstreamCaptureMode mode)
{
    return cuda.cuStreamBeginCapture_v2(stream, mode);
}

static CUstreamCaptureStatus status_of(CUstream stream)
{
    CUstreamCaptureStatus status = 99;
    cuda.cuStreamIsCapturing(stream, &status);
    return status;
}

static CUresult end_capture(CUstream stream, CUgraph *graph)
{
    CUgraph made = NULL;
    CUresult result = cuda.cuStreamEndCapture(stream, &made);
    if (graph)
        *graph = made;
    else if (made)
        cuda.cuGraphDestroy(made);
    return result;
}

/* --- events in a capture --------------------------------------------------------------------- */

static void try_status(void)
{
    set_up();
    CUstreamCaptureStatus before = status_of(captured);
    begin_capture(captured, CU_STREAM_CAPTURE_MODE_GLOBAL);
    CUstreamCaptureStatus within = status_of(captured), beside = status_of(other);
    CUresult result = end_capture(captured, NULL);
    judge(RULE_C1, before == 0 && within == ACTIVE && beside == 0 && result == CUDA_SUCCESS,
          "before %u, within %u, of another stream %u, the end %s", before, within, beside,
          result_name(result));
}

static void try_captured_event(void)
{
    float ms;
    set_up();
    CUevent event = new_event(0);
    begin_capture(captured, CU_STREAM_CAPTURE_MODE_RELAXED);
    CUresult record = cuda.cuEventRecord(event, captured);
    CUresult query = cuda.cuEventQuery(event);
    judge(RULE_C2, record == CUDA_SUCCESS && query == CUDA_ERROR_CAPTURED_EVENT,
          "the record %s, the query %s", result_name(record), result_name(query));
    CUresult result = cuda.cuEventSynchronize(event);
    judge(RULE_C3, result == CUDA_ERROR_CAPTURED_EVENT, "%s", result_name(result));
    CUresult to = cuda.cuEventElapsedTime(&ms, done, event);
    CUresult from = cuda.cuEventElapsedTime(&ms, event, done);
    judge(RULE_C4, to == CUDA_ERROR_CAPTURED_EVENT && from == CUDA_ERROR_CAPTURED_EVENT,
          "to it %s, from it %s", result_name(to), result_name(from));
    end_capture(captured, NULL);
    CUresult after = cuda.cuEventQuery(event);
    cuda.cuEventRecord(event, captured);
    CUresult again = wait_for(event);
    judge(RULE_C5, after == CUDA_ERROR_CAPTURED_EVENT && again == CUDA_SUCCESS,
          "after the capture %s, recorded again %s", result_name(after), result_name(again));
}

/* A graph of work, an external record, and work; the times to the record of two replays. */
static CUresult replay(CUevent external, float ms[2])
{
    CUgraph graph;
    CUgraphExec exec;
    begin_capture(captured, CU_STREAM_CAPTURE_MODE_GLOBAL);
    work(captured, 2000000);
    CUresult result = cuda.cuEventRecordWithFlags(external, captured, CU_EVENT_RECORD_EXTERNAL);
    work(captured, 2000000);
    end_capture(captured, &graph);
    if (result == CUDA_SUCCESS)
        result = cuda.cuGraphInstantiateWithFlags(&exec, graph, 0);
    CUevent begin = recorded(captured);
    for (int i = 0; i < 2 && result == CUDA_SUCCESS; i++) {
        result = cuda.cuGraphLaunch(exec, captured);
        cuda.cuStreamSynchronize(captured);
        if (result == CUDA_SUCCESS)
            result = cuda.cuEventElapsedTime(&ms[i], begin, external);
    }
    return result;
}

static void try_external(void)
{
    float ms[2] = {0, 0};
    set_up();
    if (!cuda.cuEventRecordWithFlags || !cuda.cuGraphInstantiateWithFlags) {
        cannot_judge(RULE_C6, "a driver before 11.4 lacks the calls");
        cannot_judge(RULE_C7, "a driver before 11.4 lacks the calls");
        return;
    }
    CUevent event = new_event(0);
    CUresult result = cuda.cuEventRecordWithFlags(event, other, CU_EVENT_RECORD_EXTERNAL);
    judge(RULE_C6, result == CUDA_ERROR_INVALID_VALUE, "%s", result_name(result));
    result = replay(event, ms);
    judge(RULE_C7, result == CUDA_SUCCESS && ms[0] > 0 && ms[1] > ms[0],
          "%s, %g ms in the first replay, %g ms in the second", result_name(result), (double)ms[0],
          (double)ms[1]);
}

static void try_legacy(void)
{
    CUstreamCaptureStatus status = 0;
    set_up();
    begin_capture(legacy_peer, CU_STREAM_CAPTURE_MODE_RELAXED);
    CUresult asked = cuda.cuStreamIsCapturing(NULL, &status);
    CUstreamCaptureStatus after = status_of(legacy_peer);
    judge(RULE_C8, asked == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT && after == ACTIVE,
          "%s, the capture's status then %u", result_name(asked), after);
    CUresult result = cuda.cuEventRecord(new_event(0), NULL);
    after = status_of(legacy_peer);
    judge(RULE_C9, result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT && after != ACTIVE,
          "%s, the capture's status then %u", result_name(result), after);
    end_capture(legacy_peer, NULL);

    begin_capture(captured, CU_STREAM_CAPTURE_MODE_RELAXED);
    asked = cuda.cuStreamIsCapturing(NULL, &status);
    result = cuda.cuEventRecord(new_event(0), NULL);
    after = status_of(captured);
    judge(RULE_C10, asked == CUDA_SUCCESS && result == CUDA_SUCCESS && after == ACTIVE,
          "IsCapturing %s, the record %s, the capture's status then %u", result_name(asked),
          result_name(result), after);
    end_capture(captured, NULL);
}

/* --- calls that break captures --------------------------------------------------------------- */

static CUresult query(void)
{
    return cuda.cuEventQuery(done);
}

static CUresult query_relaxed(void)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    CUresult result = cuda.cuThreadExchangeStreamCaptureMode(&mode);
    if (result == CUDA_SUCCESS)
        result = cuda.cuEventQuery(done);
    cuda.cuThreadExchangeStreamCaptureMode(&mode);
    return result;
}

static CUresult query_captured(void)
{
    return cuda.cuStreamQuery(captured);
}

static CUresult synchronize(void)
{
    return cuda.cuEventSynchronize(done);
}

static CUresult elapsed(void)
{
    float ms;
    return cuda.cuEventElapsedTime(&ms, done, done);
}

static CUresult create(void)
{
    CUevent event;
    return cuda.cuEventCreate(&event, 0);
}

static CUevent spare;

static CUresult destroy(void)
{
    return cuda.cuEventDestroy_v2(spare);
}

static CUresult record(void)
{
    return cuda.cuEventRecord(spare, other);
}

static CUresult ask(void)
{
    CUcontext context;
    CUstreamCaptureStatus status;
    CUresult result = cuda.cuStreamGetCtx(captured, &context);
    return result == CUDA_SUCCESS ? cuda.cuStreamIsCapturing(captured, &status) : result;
}

static CUresult ask_id(void)
{
    CUcontext context;
    unsigned long long id;
    CUresult result = cuda.cuStreamGetCtx(captured, &context);
    return result == CUDA_SUCCESS && cuda.cuCtxGetId ? cuda.cuCtxGetId(context, &id) : result;
}

static CUresult ask_pointer(void)
{
    CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE};
    unsigned type = 0;
    void *values[] = {&type};
    return cuda.cuPointerGetAttributes(1, attributes, values, (CUdeviceptr)(uintptr_t)&type);
}

static CUresult create_stream(void)
{
    CUstream stream;
    return cuda.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0);
}

static CUresult ask_contexts(void)
{
    CUcontext context;
    CUdevice device;
    unsigned flags;
    int n, is_active;
    CUresult result = cuda.cuCtxGetCurrent(&context);
    if (result == CUDA_SUCCESS)
        result = cuda.cuDeviceGetCount(&n);
    if (result == CUDA_SUCCESS)
        result = cuda.cuDeviceGet(&device, 0);
    return result == CUDA_SUCCESS ? cuda.cuDevicePrimaryCtxGetState(device, &flags, &is_active)
                                  : result;
}

/* What polling and anchors call. */
static CUresult all_of_ours(void)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    CUstream stream = NULL;
    CUevent event = NULL;
    float ms;
    cuda.cuThreadExchangeStreamCaptureMode(&mode);
    CUresult result = cuda.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0);
    if (result == CUDA_SUCCESS)
        result = cuda.cuEventCreate(&event, 0);
    if (result == CUDA_SUCCESS)
        result = cuda.cuEventRecord(event, stream);
    if (result == CUDA_SUCCESS)
        result = wait_for(event);
    if (result == CUDA_SUCCESS)
        result = cuda.cuEventElapsedTime(&ms, done, event);
    cuda.cuThreadExchangeStreamCaptureMode(&mode);
    return result;
}

struct call {
    CUresult (*function)(void);
    CUcontext context;
    CUresult result;
};

static void *call_there(void *data)
{
    struct call *call = data;
    cuda.cuCtxSetCurrent(call->context);
    call->result = call->function();
    return NULL;
}

static CUresult elsewhere(CUresult (*function)(void))
{
    struct call call = {function, NULL, CUDA_ERROR_UNKNOWN};
    pthread_t thread;
    cuda.cuCtxGetCurrent(&call.context);
    if (pthread_create(&thread, NULL, call_there, &call) == 0)
        pthread_join(thread, NULL);
    return call.result;
}

/* Make a call in a capture, on this thread or another, and judge whether both survive or neither
 * does. */
static void try_call(enum rule rule, CUresult (*function)(void), CUstreamCaptureMode mode,
                     int is_elsewhere, int survives)
{
    CUgraph graph = NULL;
    begin_capture(captured, mode);
    work(captured, 1000);
    CUresult result = is_elsewhere ? elsewhere(function) : function();
    CUstreamCaptureStatus status = status_of(captured);
    CUresult end = end_capture(captured, &graph);
    int good = result == CUDA_SUCCESS && status == ACTIVE && end == CUDA_SUCCESS;
    int bad = result != CUDA_SUCCESS && status != ACTIVE && end != CUDA_SUCCESS;
    judge(rule, survives ? good : bad, "the call %s, the capture's status then %u, its end %s",
          result_name(result), status, result_name(end));
    if (graph)
        cuda.cuGraphDestroy(graph);
}

/* Each is tried in a capture of its own. */
static const struct {
    enum rule rule;
    CUresult (*function)(void);
    CUstreamCaptureMode mode;
    int is_elsewhere, survives;
} calls[] = {
    {RULE_C11, query, CU_STREAM_CAPTURE_MODE_GLOBAL, 1, 0},
    {RULE_C12, query_relaxed, CU_STREAM_CAPTURE_MODE_GLOBAL, 1, 1},
    {RULE_C13, query, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, 1, 1},
    {RULE_C14, query_captured, CU_STREAM_CAPTURE_MODE_RELAXED, 0, 0},
    {RULE_C15, synchronize, CU_STREAM_CAPTURE_MODE_GLOBAL, 0, 0},
    {RULE_C16, elapsed, CU_STREAM_CAPTURE_MODE_GLOBAL, 0, 1},
    {RULE_C17, create, CU_STREAM_CAPTURE_MODE_GLOBAL, 0, 1},
    {RULE_C18, destroy, CU_STREAM_CAPTURE_MODE_GLOBAL, 0, 1},
    {RULE_C19, record, CU_STREAM_CAPTURE_MODE_GLOBAL, 0, 1},
    {RULE_C20, ask, CU_STREAM_CAPTURE_MODE_GLOBAL, 0, 1},
    {RULE_C21, ask_id, CU_STREAM_CAPTURE_MODE_GLOBAL, 0, 1},
    {RULE_C22, ask_pointer, CU_STREAM_CAPTURE_MODE_GLOBAL, 0, 1},
    {RULE_C23, create_stream, CU_STREAM_CAPTURE_MODE_GLOBAL, 0, 1},
    {RULE_C24, all_of_ours, CU_STREAM_CAPTURE_MODE_GLOBAL, 0, 1},
    {RULE_C25, ask_contexts, CU_STREAM_CAPTURE_MODE_GLOBAL, 0, 1},
};

static void try_calls(void)
{
    set_up();
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        spare = new_event(0);
        try_call(calls[i].rule, calls[i].function, calls[i].mode, calls[i].is_elsewhere,
                 calls[i].survives);
    }
}

int main(int argc, char **argv)
{
    static const struct trial trials[] = {
        {try_status, "C1", 0},
        {try_captured_event, "C2 C3 C4 C5", 0},
        {try_external, "C6 C7", 0},
        {try_legacy, "C8 C9 C10", 0},
        {try_calls, "C11 C12 C13 C14 C15 C16 C17 C18 C19 C20 C21 C22 C23 C24 C25", 40},
    };
    return rules_main(argc, argv, trials, sizeof trials / sizeof *trials);
}
