/* The double of libcuda.so.1: stream capture, what it prohibits and to whom, and graphs. */
#include "autoconf.h"

#include "fakecuda/cuda_abi.h"
#include "fakecuda/fakecuda.h"
#include "tap.h"

#include <pthread.h>

static CUcontext context;
static CUstream stream, other_stream;
static CUevent event;

/* Two blocking streams and an event that is complete. */
static void start(void)
{
    fakecuda_reset();
    fakecuda_virtual_clock(1);
    cuInit(0);
    cuDevicePrimaryCtxRetain(&context, 0);
    cuCtxSetCurrent(context);
    cuStreamCreate(&stream, 0);
    cuStreamCreate(&other_stream, 0);
    cuEventCreate(&event, 0);
    cuEventRecord(event, other_stream);
}

static CUstreamCaptureStatus status_of(CUstream of)
{
    CUstreamCaptureStatus status = 99;
    cuStreamIsCapturing(of, &status);
    return status;
}

/* End the capture in `stream`; what it says. */
static CUresult end_capture(void)
{
    CUgraph graph = NULL;
    CUresult result = cuStreamEndCapture(stream, &graph);
    if ((result == CUDA_SUCCESS) != (graph != NULL))
        return CUDA_ERROR_UNKNOWN;
    if (graph)
        cuGraphDestroy(graph);
    return result;
}

/* A call on another thread, which has exchanged its mode for another. */
struct call {
    CUstreamCaptureMode mode;
    CUresult (*function)(void);
    CUresult result;
};

static void *call_with_mode(void *data)
{
    struct call *call = data;
    cuThreadExchangeStreamCaptureMode(&call->mode);
    call->result = call->function();
    return NULL;
}

static CUresult elsewhere(CUresult (*function)(void), CUstreamCaptureMode mode)
{
    struct call call = {mode, function, 0};
    pthread_t thread;
    pthread_create(&thread, NULL, call_with_mode, &call);
    pthread_join(thread, NULL);
    return call.result;
}

static CUresult query_event(void)
{
    return cuEventQuery(event);
}

static CUresult synchronize_stream(void)
{
    return cuStreamSynchronize(other_stream);
}

static void test_begin_and_end(void)
{
    CUgraph graph;
    start();
    is_int(status_of(stream), 0, "a stream does not capture at first");
    is_int(cuStreamEndCapture(stream, &graph), 401, "there is no capture to end");
    is_int(cuStreamBeginCapture_v2(NULL, 0), 900, "the legacy stream cannot be captured");
    is_int(cuStreamBeginCapture_v2(stream, 3), 1, "there are three modes");
    is_int(cuStreamBeginCapture_v2(stream, 0), 0, "a capture begins");
    is_int(status_of(stream), 1, "the stream captures then");
    is_int(status_of(other_stream), 0, "another does not");
    is_int(cuStreamBeginCapture_v2(stream, 0), 401, "it cannot begin twice");
    is_int(elsewhere(end_capture, 0), 908, "another thread cannot end it");
    is_int(end_capture(), 0, "it ends, with a graph");
    is_int(status_of(stream), 0, "and the stream is as before");
    cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
    is_int(elsewhere(end_capture, 0), 0, "another thread can end a relaxed one");
}

static void test_records(void)
{
    CUevent captured, external;
    start();
    cuEventCreate(&captured, 0);
    cuEventCreate(&external, 0);
    is_int(cuEventRecordWithFlags(external, stream, CU_EVENT_RECORD_EXTERNAL), 1,
           "an external record is invalid outside of a capture");
    cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
    is_int(cuEventRecord(captured, stream), 0, "a record in a capturing stream works");
    is_int(cuEventQuery(captured), 907, "but makes the event one of the capture");
    is_int(cuEventSynchronize(captured), 907, "that cannot be waited for");
    is_int(cuEventRecordWithFlags(external, stream, CU_EVENT_RECORD_EXTERNAL), 0,
           "an external record is valid in a capture");
    is_int(cuEventQuery(external), 0, "and leaves the event as it was");
    is_int(end_capture(), 0, "none of this breaks a relaxed capture");
    is_int(cuEventQuery(captured), 907, "an event stays one of the capture after its end");
    is_int(cuStreamWaitEvent(other_stream, captured, 0), 907, "no stream can wait for it");
    cuEventRecord(captured, stream);
    is_int(cuEventQuery(captured), 0, "until it is recorded again");
}

static void test_unsafe_calls(void)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    start();
    cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    is_int(elsewhere(query_event, CU_STREAM_CAPTURE_MODE_RELAXED), 0,
           "a thread in relaxed mode may query during a global capture");
    is_int(elsewhere(query_event, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), 0,
           "and so may one in thread-local mode that captures nothing");
    cuThreadExchangeStreamCaptureMode(&mode);
    is_int(mode, CU_STREAM_CAPTURE_MODE_GLOBAL, "the exchange gives the mode before, global");
    is_int(cuEventQuery(event), 0, "and lets the capturing thread query");
    cuThreadExchangeStreamCaptureMode(&mode);
    is_int(mode, CU_STREAM_CAPTURE_MODE_RELAXED, "back and forth");
    is_int(status_of(stream), 1, "the capture goes on all the time");

    is_int(elsewhere(query_event, CU_STREAM_CAPTURE_MODE_GLOBAL), 900,
           "a query from any thread fails during a global capture");
    is_int(status_of(stream), 2, "and invalidates it");
    is_int(cuEventRecord(event, stream), 901, "nothing can be added to it");
    is_int(end_capture(), 901, "and its end says so");

    cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    is_int(elsewhere(synchronize_stream, CU_STREAM_CAPTURE_MODE_GLOBAL), 900,
           "to synchronise another stream does the same");
    is_int(end_capture(), 901, "to the capture");

    cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    is_int(elsewhere(query_event, CU_STREAM_CAPTURE_MODE_GLOBAL), 0,
           "a thread-local capture leaves other threads alone");
    is_int(cuEventQuery(event), 900, "not its own");
    is_int(end_capture(), 901, "which invalidates it");

    cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
    is_int(cuEventQuery(event), 0, "a relaxed capture leaves all alone");
    is_int(cuStreamQuery(stream), 900, "but its stream cannot be queried");
    is_int(end_capture(), 901, "which invalidates it");
}

static void test_legacy_stream(void)
{
    CUstreamCaptureStatus status;
    CUstream free_stream;
    start();
    cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
    is_int(cuStreamIsCapturing(NULL, &status), 906,
           "beside a blocking stream that captures the legacy one has no status");
    is_int(status_of(stream), 1, "to ask does not invalidate");
    is_int(cuEventRecord(event, NULL), 906, "a record on it is refused");
    is_int(status_of(stream), 2, "which does");
    end_capture();

    cuStreamCreate(&free_stream, CU_STREAM_NON_BLOCKING);
    cuStreamBeginCapture_v2(free_stream, CU_STREAM_CAPTURE_MODE_RELAXED);
    is_int(cuStreamIsCapturing(NULL, &status), 0, "beside a non-blocking one it has");
    is_int(cuEventRecord(event, NULL), 0, "and can be recorded on");
}

static void test_fork_and_join(void)
{
    CUevent fork, join;
    start();
    cuEventCreate(&fork, 0);
    cuEventCreate(&join, 0);
    cuStreamBeginCapture_v2(stream, 0);
    fakecuda_launch(stream, 1000);
    cuEventRecord(fork, stream);
    cuStreamWaitEvent(other_stream, fork, 0);
    is_int(status_of(other_stream), 1, "a stream that waits for a captured event captures too");
    fakecuda_launch(other_stream, 1000);
    is_int(cuStreamEndCapture(other_stream, NULL), 903, "the capture does not end there");
    is_int(end_capture(), 901, "to try invalidates it");
    is_int(status_of(other_stream), 0, "at its end all its streams are as before");

    cuStreamBeginCapture_v2(stream, 0);
    fakecuda_launch(stream, 1000);
    cuEventRecord(fork, stream);
    cuStreamWaitEvent(other_stream, fork, 0);
    fakecuda_launch(other_stream, 1000);
    is_int(end_capture(), 904, "work in a stream that was not joined is an error");

    cuStreamBeginCapture_v2(stream, 0);
    fakecuda_launch(stream, 1000);
    cuEventRecord(fork, stream);
    cuStreamWaitEvent(other_stream, fork, 0);
    fakecuda_launch(other_stream, 1000);
    cuEventRecord(join, other_stream);
    cuStreamWaitEvent(stream, join, 0);
    is_int(end_capture(), 0, "joined it is none");

    cuStreamBeginCapture_v2(stream, 0);
    is_int(cuStreamWaitEvent(stream, event, 0), 905, "a capture cannot depend on other work");
    end_capture();

    cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
    cuStreamBeginCapture_v2(other_stream, CU_STREAM_CAPTURE_MODE_RELAXED);
    cuEventRecord(fork, stream);
    is_int(cuStreamWaitEvent(other_stream, fork, 0), 902, "nor on another capture");
    end_capture();
    cuStreamDestroy_v2(other_stream);
}

static void test_info(void)
{
    CUstreamCaptureStatus status;
    cuuint64_t id = 0, id_again = 0;
    CUgraph graph = NULL;
    const CUgraphNode *dependencies;
    const CUgraphEdgeData *edges = (const CUgraphEdgeData *)&id;
    size_t n = 99;
    start();
    cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
    fakecuda_launch(stream, 1000);
    cuStreamGetCaptureInfo(stream, &status, &id);
    ok(status == 1 && id != 0, "a capture has an id");
    cuStreamGetCaptureInfo_v2(stream, &status, &id_again, &graph, &dependencies, &n);
    ok(id == id_again && graph && n == 1 && dependencies,
       "a graph, and what the next node follows");
    cuStreamGetCaptureInfo_v3(stream, &status, NULL, NULL, &dependencies, &edges, &n);
    ok(n == 1 && !edges, "and no edges with data");
    end_capture();
    cuStreamGetCaptureInfo(stream, &status, NULL);
    is_int(status, 0, "that is over at the end");
    is_int(cuGraphDestroy(graph), 1, "and the graph was given away once");
}

static void test_graphs(void)
{
    CUevent external, begin, end;
    CUgraph graph;
    CUgraphExec exec;
    float ms = 0;
    size_t n = 0;
    start();
    cuEventCreate(&external, 0);
    cuEventCreate(&begin, 0);
    cuEventCreate(&end, 0);
    cuStreamBeginCapture_v2(stream, 0);
    fakecuda_launch(stream, 2000000);
    cuEventRecordWithFlags(external, stream, CU_EVENT_RECORD_EXTERNAL);
    fakecuda_launch(stream, 3000000);
    cuStreamEndCapture(stream, &graph);
    cuGraphGetNodes(graph, NULL, &n);
    is_int(n, 3, "what was captured are the graph's nodes");
    is_int(cuStreamQuery(stream), 0, "none of it has run");
    is_int(cuGraphInstantiateWithFlags(&exec, graph, 0), 0, "the graph can be made to run");
    cuGraphDestroy(graph);

    cuEventRecord(begin, stream);
    is_int(cuGraphLaunch(exec, stream), 0, "and runs");
    cuEventRecord(end, stream);
    fakecuda_advance(2000000);
    is_int(cuEventQuery(external), 0, "an external record is one of its nodes");
    is_int(cuEventQuery(end), 600, "before others");
    fakecuda_advance(3000000);
    cuEventElapsedTime(&ms, begin, end);
    is_near(ms, 5, 1e-4, "it takes as long as its nodes");
    cuGraphLaunch(exec, stream);
    fakecuda_advance(9000000);
    cuEventElapsedTime(&ms, begin, external);
    is_near(ms, 7, 1e-4, "the external event is that of the last replay");
    cuGraphExecDestroy(exec);
    is_int(cuGraphLaunch(exec, stream), 1, "what was destroyed does not run");
}

int main(void)
{
    test_begin_and_end();
    test_records();
    test_unsafe_calls();
    test_legacy_stream();
    test_fork_and_join();
    test_info();
    test_graphs();
    fakecuda_reset();
    return done_testing();
}
