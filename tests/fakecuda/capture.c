/* Stream capture: what is handed to a stream becomes nodes of a graph instead. A stream comes into
 * a capture by waiting for an event recorded in it, and has to be waited for in turn. */
#include "double.h"

#include <stdlib.h>

/* --- what captures prohibit ------------------------------------------------------------------ */

static void invalidate(struct fake_capture *capture)
{
    capture->status = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
}

int fake_capture_forbids(void)
{
    const struct fake_thread *self = fake_self();
    int forbidden = 0;
    if (self->capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
        return 0;
    for (struct fake_capture *c = fake.captures; c; c = c->next) {
        int is_own = c->thread == self->number && c->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
        int is_global = c->mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
                        self->capture_mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
        if (c->status == CU_STREAM_CAPTURE_STATUS_ACTIVE && (is_own || is_global)) {
            invalidate(c);
            forbidden = 1;
        }
    }
    return forbidden;
}

int fake_capture_is_implicit(const struct fake_stream *stream)
{
    const struct fake_context *context = stream->context;
    if (stream != context->legacy || !fake.captures)
        return 0;
    for (const struct fake_stream *s = context->streams; s; s = s->next)
        if (s->capture && !(s->flags & CU_STREAM_NON_BLOCKING))
            return 1;
    return 0;
}

/* For a legacy stream those are meant that it would wait for. */
void fake_capture_invalidate(struct fake_stream *stream)
{
    if (stream->capture)
        invalidate(stream->capture);
    if (stream != stream->context->legacy)
        return;
    for (struct fake_stream *s = stream->context->streams; s; s = s->next)
        if (s->capture && !(s->flags & CU_STREAM_NON_BLOCKING))
            invalidate(s->capture);
}

/* Whether work may go to a stream; CUDA_SUCCESS with capture NULL: as usual. */
static CUresult admit(struct fake_stream *stream, struct fake_capture **capture)
{
    *capture = NULL;
    if (!fake.captures)
        return CUDA_SUCCESS;
    if (fake_capture_is_implicit(stream)) {
        fake_capture_invalidate(stream);
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    if (stream->capture && stream->capture->status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    *capture = stream->capture;
    return CUDA_SUCCESS;
}

/* --- work in a capture ----------------------------------------------------------------------- */

static void add_node(struct fake_stream *stream, struct fake_op *op)
{
    struct fake_node *node = fake_graph_add(stream->capture->graph, op, &stream->captured);
    fake_set_clear(&stream->captured);
    fake_set_add(&stream->captured, node->handle);
}

CUresult fake_capture_op(struct fake_stream *stream, struct fake_op *op, int *is_taken)
{
    struct fake_capture *capture;
    CUresult result = admit(stream, &capture);
    if (result == CUDA_SUCCESS && capture) {
        add_node(stream, op);
        *is_taken = 1;
    }
    return result;
}

CUresult fake_capture_record(struct fake_stream *stream, struct fake_event *event, unsigned flags,
                             int *is_taken)
{
    struct fake_capture *capture;
    CUresult result = admit(stream, &capture);
    if (result != CUDA_SUCCESS)
        return result;
    if (!capture)
        return flags & CU_EVENT_RECORD_EXTERNAL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    *is_taken = 1;
    if (flags & CU_EVENT_RECORD_EXTERNAL) {
        struct fake_op *op = fake_op_new(FAKE_EVENT_NODE, 0);
        op->event = event->handle;
        add_node(stream, op);
        return CUDA_SUCCESS;
    }
    fake_set_clear(&event->captured);
    fake_set_join(&event->captured, &stream->captured);
    event->capture_id = capture->id;
    return CUDA_SUCCESS;
}

static struct fake_capture *find_capture(uint64_t id)
{
    struct fake_capture *c = fake.captures;
    while (c && c->id != id)
        c = c->next;
    return c;
}

CUresult fake_capture_wait(struct fake_stream *stream, struct fake_event *event, unsigned flags,
                           int *is_taken)
{
    struct fake_capture *capture, *other = find_capture(event->capture_id);
    if (other && stream == stream->context->legacy) {
        invalidate(other);
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    CUresult result = admit(stream, &capture);
    if (result != CUDA_SUCCESS || (!capture && !event->capture_id))
        return result;
    *is_taken = 1;
    if (capture && !event->capture_id) {
        if (!event->record || flags & CU_EVENT_WAIT_EXTERNAL)
            return CUDA_SUCCESS;
        invalidate(capture);
        return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    }
    if (!other)
        return CUDA_ERROR_CAPTURED_EVENT;
    if (other->status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (capture && capture != other) {
        invalidate(capture);
        invalidate(other);
        return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    }
    stream->capture = other;
    fake_set_join(&stream->captured, &event->captured);
    return CUDA_SUCCESS;
}

/* --- begin and end --------------------------------------------------------------------------- */

static CUresult begin(CUstream handle, CUstreamCaptureMode mode)
{
    struct fake_stream *stream;
    CUresult result = fake_stream_get(handle, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    if (mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    if (stream == stream->context->legacy)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (stream->capture)
        return CUDA_ERROR_ILLEGAL_STATE;
    struct fake_capture *capture = fake_alloc(sizeof(*capture));
    capture->id = fake_new_id();
    capture->mode = mode;
    capture->status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    capture->thread = fake_self()->number;
    capture->origin = stream;
    capture->graph = fake_graph_new();
    capture->next = fake.captures;
    fake.captures = capture;
    stream->capture = capture;
    return CUDA_SUCCESS;
}

/* Call a function for each stream in a capture, in whatever context it is. */
static int each_stream(const struct fake_capture *capture,
                       int (*function)(struct fake_stream *stream, const void *data),
                       const void *data)
{
    int n = 0;
    for (struct fake_context *c = fake.contexts; c; c = c->next)
        for (struct fake_stream *s = c->streams; s; s = s->next)
            if (s->capture == capture)
                n += function(s, data);
    return n;
}

static int let_go(struct fake_stream *stream, const void *data)
{
    (void)data;
    stream->capture = NULL;
    fake_set_clear(&stream->captured);
    return 0;
}

static void free_capture(struct fake_capture *capture)
{
    each_stream(capture, let_go, NULL);
    struct fake_capture **link = &fake.captures;
    while (*link != capture)
        link = &(*link)->next;
    *link = capture->next;
    if (capture->graph)
        fake_graph_free(capture->graph);
    free(capture);
}

void fake_captures_clear(void)
{
    while (fake.captures)
        free_capture(fake.captures);
}

void fake_capture_leave(struct fake_stream *stream)
{
    struct fake_capture *capture = stream->capture;
    if (!capture)
        return;
    let_go(stream, NULL);
    invalidate(capture);
    if (capture->origin == stream)
        free_capture(capture);
}

/* Whether one of a stream's nodes is not among those that the end of the capture depends on. */
static int is_unjoined(struct fake_stream *stream, const void *data)
{
    const struct fake_set *reached = data;
    for (size_t i = 0; i < stream->captured.n; i++) {
        size_t j = 0;
        while (j < reached->n && reached->nodes[j] != stream->captured.nodes[i])
            j++;
        if (j == reached->n)
            return 1;
    }
    return 0;
}

static int has_unjoined(const struct fake_capture *capture)
{
    struct fake_set reached = {NULL, 0};
    fake_set_join(&reached, &capture->origin->captured);
    for (size_t i = 0; i < reached.n; i++) {
        const struct fake_node *node = fake_object(FAKE_NODE, reached.nodes[i]);
        fake_set_join(&reached, &node->dependencies);
    }
    int unjoined = each_stream(capture, is_unjoined, &reached);
    fake_set_clear(&reached);
    return unjoined;
}

static CUresult end(CUstream handle, CUgraph *graph)
{
    struct fake_stream *stream;
    CUresult result = fake_stream_get(handle, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    struct fake_capture *capture = stream->capture;
    if (graph)
        *graph = NULL;
    if (!capture)
        return CUDA_ERROR_ILLEGAL_STATE;
    if (capture->origin != stream) {
        invalidate(capture);
        return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    }
    if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != fake_self()->number)
        return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    if (capture->status != CU_STREAM_CAPTURE_STATUS_ACTIVE) {
        result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    } else if (has_unjoined(capture)) {
        result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    } else if (graph) {
        *graph = capture->graph->handle;
        capture->graph = NULL;
    }
    free_capture(capture);
    return result;
}

/* --- what is asked of captures --------------------------------------------------------------- */

static CUresult get_status(CUstream handle, struct fake_stream **stream,
                           CUstreamCaptureStatus *status)
{
    CUresult result = fake_stream_get(handle, stream);
    if (result != CUDA_SUCCESS)
        return result;
    if (!status)
        return CUDA_ERROR_INVALID_VALUE;
    if (fake.captures && fake_capture_is_implicit(*stream))
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    *status = (*stream)->capture ? (*stream)->capture->status : CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}

static CUresult is_capturing(CUstream handle, CUstreamCaptureStatus *status)
{
    struct fake_stream *stream;
    return get_status(handle, &stream, status);
}

static CUresult get_info(CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id,
                         CUgraph *graph, const CUgraphNode **dependencies, size_t *n)
{
    struct fake_stream *stream;
    CUresult result = get_status(handle, &stream, status);
    if (result != CUDA_SUCCESS || *status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
        return result;
    if (id)
        *id = stream->capture->id;
    if (graph)
        *graph = stream->capture->graph->handle;
    if (dependencies)
        *dependencies = stream->captured.nodes;
    if (n)
        *n = stream->captured.n;
    return CUDA_SUCCESS;
}

static CUresult exchange_mode(CUstreamCaptureMode *mode)
{
    struct fake_thread *self = fake_self();
    CUstreamCaptureMode before = self->capture_mode;
    if (*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    self->capture_mode = *mode;
    *mode = before;
    return CUDA_SUCCESS;
}

FAKE_ENTRY(cuStreamBeginCapture_v2, (CUstream stream, CUstreamCaptureMode mode),
           begin(stream, mode))
FAKE_ENTRY(cuStreamEndCapture, (CUstream stream, CUgraph *graph), end(stream, graph))
FAKE_SHORT_ENTRY(cuStreamIsCapturing, (CUstream stream, CUstreamCaptureStatus *status),
                  is_capturing(stream, status), *status = CU_STREAM_CAPTURE_STATUS_NONE)
FAKE_ENTRY(cuStreamGetCaptureInfo, (CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id),
           get_info(stream, status, id, NULL, NULL, NULL))
FAKE_ENTRY(cuStreamGetCaptureInfo_v2,
           (CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
            const CUgraphNode **dependencies, size_t *n),
           get_info(stream, status, id, graph, dependencies, n))
FAKE_ENTRY(cuStreamGetCaptureInfo_v3,
           (CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
            const CUgraphNode **dependencies, const CUgraphEdgeData **edges, size_t *n),
           (edges ? (void)(*edges = NULL) : (void)0,
            get_info(stream, status, id, graph, dependencies, n)))
FAKE_SHORT_ENTRY(cuThreadExchangeStreamCaptureMode, (CUstreamCaptureMode *mode),
                  exchange_mode(mode), (void)0)
