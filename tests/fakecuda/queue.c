/* A stream's queue. An operation leaves it as soon as its end is known, which may lie in the
 * future, so that the queue holds what waits for a call, a host function or another stream. */
#include "double.h"

#include <stdlib.h>
#include <string.h>

/* --- operations and records ------------------------------------------------------------------ */

struct fake_op *fake_op_new(enum fake_op_kind kind, size_t n_argument_bytes)
{
    size_t size = sizeof(struct fake_op) + n_argument_bytes;
    struct fake_op *op = fake_alloc(size);
    op->kind = kind;
    op->size = size;
    return op;
}

struct fake_op *fake_op_copy(const struct fake_op *op)
{
    struct fake_op *copy = fake_alloc(op->size);
    memcpy(copy, op, op->size);
    return copy;
}

void fake_op_free(struct fake_op *op)
{
    if (op->kind == FAKE_WAIT || op->kind == FAKE_RECORD)
        fake_record_drop(op->record);
    free(op);
}

struct fake_record *fake_record_new(void)
{
    struct fake_record *record = fake_alloc(sizeof(*record));
    record->references = 1;
    return record;
}

void fake_record_drop(struct fake_record *record)
{
    if (record && --record->references == 0)
        free(record);
}

static void set_end(struct fake_record *record, int64_t end_ns)
{
    record->is_known = 1;
    record->end_ns = end_ns;
    record->stream = NULL;
    if (record->shared)
        fake_shared_end(record->shared, record->sequence, end_ns);
}

/* --- working a queue off --------------------------------------------------------------------- */

/* Host functions run only when somebody asks for a state, never in a call that queues work: its
 * caller may hold what they need. */
enum purpose { QUEUE, ASK };

static int work_off(struct fake_stream *stream, enum purpose purpose);

/* A record without a stream is one in another process. */
static int is_known(struct fake_record *record, enum purpose purpose)
{
    if (!record->is_known && record->stream)
        work_off(record->stream, purpose);
    if (!record->is_known && !record->stream && record->shared)
        record->is_known = fake_shared_is_known(record->shared, &record->end_ns);
    return record->is_known;
}

/* Without the lock, for it may wait for other threads, and takes as long as it takes. */
static int run_host_function(struct fake_stream *stream, const struct fake_op *op, int64_t start_ns)
{
    if (start_ns > fake_now()) {
        fake_wake_at(start_ns);
        return 0;
    }
    int64_t begin_ns = fake_now();
    struct fake_thread *self = fake_self();
    fake_unlock();
    self->in_callback = 1;
    if (fake_shortcut == FAKE_PLAIN)
        fake_shortcut = FAKE_NO_SHORTCUT;
    op->host.function(op->host.data);
    self->in_callback = 0;
    fake_lock();
    stream->tail_ns = start_ns + (fake_now() - begin_ns);
    return 1;
}

/* So long a copy takes: 5 us, and 16 bytes each ns. */
static int64_t copy_ns(size_t size)
{
    return 5000 + (int64_t)(size / 16);
}

/* Whether the end of an operation is known, so that it is the stream's tail now. */
static int perform(struct fake_stream *stream, struct fake_op *op, enum purpose purpose)
{
    int64_t start_ns = op->queued_ns > stream->tail_ns ? op->queued_ns : stream->tail_ns;
    switch (op->kind) {
    case FAKE_WORK:
        start_ns += op->work_ns;
        break;
    case FAKE_HOLD:
        if (!op->hold.is_over)
            return 0;
        if (op->hold.end_ns > start_ns)
            start_ns = op->hold.end_ns;
        break;
    case FAKE_WAIT:
        if (!is_known(op->record, purpose))
            return 0;
        if (op->record->end_ns > start_ns)
            start_ns = op->record->end_ns;
        break;
    case FAKE_RECORD:
        set_end(op->record, start_ns);
        break;
    case FAKE_HOST:
        return purpose == ASK && run_host_function(stream, op, start_ns);
    case FAKE_COPY:
        memmove(op->copy.to, op->copy.from, op->copy.size);
        start_ns += copy_ns(op->copy.size);
        break;
    case FAKE_FILL:
        memset(op->fill.to, op->fill.value, op->fill.size);
        start_ns += copy_ns(op->fill.size);
        break;
    case FAKE_KERNEL:
        start_ns += fake_kernel_run(op);
        break;
    case FAKE_EVENT_NODE:
        break;
    }
    stream->tail_ns = start_ns;
    return 1;
}

/* Whether nothing is left. What an operation waits for was queued before it, so this does not come
 * back to a stream that it is in, but for a host function's thread. */
static int work_off(struct fake_stream *stream, enum purpose purpose)
{
    if (stream->is_busy)
        return 0;
    stream->is_busy = 1;
    while (stream->first && perform(stream, stream->first, purpose)) {
        struct fake_op *op = stream->first;
        stream->first = op->next;
        if (!stream->first)
            stream->last = NULL;
        fake_op_free(op);
    }
    stream->is_busy = 0;
    return !stream->first;
}

int fake_stream_is_idle(void *object)
{
    struct fake_stream *stream = object;
    if (!work_off(stream, ASK))
        return 0;
    if (stream->tail_ns <= fake_now())
        return 1;
    fake_wake_at(stream->tail_ns);
    return 0;
}

int fake_record_is_done(struct fake_record *record)
{
    if (!is_known(record, ASK))
        return 0;
    if (record->end_ns <= fake_now())
        return 1;
    fake_wake_at(record->end_ns);
    return 0;
}

/* --- queueing -------------------------------------------------------------------------------- */

static void append(struct fake_stream *stream, struct fake_op *op)
{
    op->queued_ns = fake_now();
    op->next = NULL;
    if (stream->last)
        stream->last->next = op;
    else
        stream->first = op;
    stream->last = op;
}

/* Let one stream wait for what another has so far. */
static void depend(struct fake_stream *stream, struct fake_stream *on)
{
    struct fake_op *record = fake_op_new(FAKE_RECORD, 0), *wait = fake_op_new(FAKE_WAIT, 0);
    record->record = wait->record = fake_record_new();
    record->record->references = 2;
    record->record->stream = on;
    append(on, record);
    append(stream, wait);
    work_off(on, QUEUE);
}

static int has_work(const struct fake_stream *stream)
{
    return stream->first || stream->tail_ns > fake_now();
}

/* The legacy stream waits for the blocking streams of its context, and they for it. */
static void order(struct fake_stream *stream)
{
    struct fake_stream *legacy = stream->context->legacy;
    if (stream->flags & CU_STREAM_NON_BLOCKING)
        return;
    if (stream != legacy) {
        if (has_work(legacy))
            depend(stream, legacy);
        return;
    }
    for (struct fake_stream *s = stream->context->streams; s; s = s->next)
        if (s != stream && !(s->flags & CU_STREAM_NON_BLOCKING) && has_work(s))
            depend(stream, s);
}

void fake_queue(struct fake_stream *stream, struct fake_op *op)
{
    order(stream);
    append(stream, op);
    work_off(stream, QUEUE);
}

void fake_queue_record(struct fake_stream *stream, struct fake_record *record)
{
    order(stream);
    record->references++;
    if (!stream->first) {
        int64_t now_ns = fake_now();
        if (stream->tail_ns < now_ns)
            stream->tail_ns = now_ns;
        set_end(record, stream->tail_ns);
        record->references--;
        return;
    }
    struct fake_op *op = fake_op_new(FAKE_RECORD, 0);
    op->record = record;
    record->stream = stream;
    append(stream, op);
    work_off(stream, QUEUE);
}

CUresult fake_submit(struct fake_stream *stream, struct fake_op *op)
{
    int is_taken = 0;
    CUresult result = fake_capture_op(stream, op, &is_taken);
    if (result != CUDA_SUCCESS)
        fake_op_free(op);
    else if (!is_taken)
        fake_queue(stream, op);
    return result;
}

/* --- streams as queues ----------------------------------------------------------------------- */

struct fake_stream *fake_stream_new(struct fake_context *context, unsigned flags, int priority)
{
    struct fake_stream *stream = fake_alloc(sizeof(*stream));
    stream->handle = fake_handle_new(FAKE_STREAM, stream);
    stream->id = fake_new_id();
    stream->context = context;
    stream->flags = flags;
    stream->priority = priority;
    stream->next = context->streams;
    context->streams = stream;
    return stream;
}

void fake_stream_drop(struct fake_stream *stream)
{
    struct fake_stream **link = &stream->context->streams;
    while (*link != stream)
        link = &(*link)->next;
    *link = stream->next;
    fake_capture_leave(stream);
    while (stream->first) {
        struct fake_op *op = stream->first;
        stream->first = op->next;
        /* Nobody is to wait for it for ever. */
        if (op->kind == FAKE_RECORD)
            set_end(op->record, fake_now());
        fake_op_free(op);
    }
    if (!stream->is_destroyed)
        fake_handle_free(stream->handle);
    free(stream);
}

void fake_streams_reap(struct fake_context *context)
{
    struct fake_stream *next;
    for (struct fake_stream *s = context->streams; s; s = next) {
        int is_over = s->is_destroyed && !s->is_busy && fake_stream_is_idle(s);
        next = s->next; /* not before: a host function may have let other threads in */
        if (is_over)
            fake_stream_drop(s);
    }
}
