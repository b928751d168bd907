/* double.h - what the double's parts know of each other.
 *
 * All that is not an entry point is called with the lock held. Entry points are defined by
 * FAKE_ENTRY alone, which takes it.
 */
#ifndef FAKECUDA_DOUBLE_H
#define FAKECUDA_DOUBLE_H

#include <pthread.h>
#include <stdatomic.h>

#include "cuda_abi.h"
#include "fakecuda.h"

/* --- state.c: settings, the way into a call and out of it, faults, counters ------------------ */

enum fake_symbol {
#define ENTRY(base, version, symbol, traits, parameters) FAKE_##symbol,
#include "entries.def"
    FAKE_N_SYMBOLS
};

struct fake_state {
    pthread_mutex_t lock;
    unsigned epoch; /* changed by a reset: the threads' own states are void then */
    uint64_t last_id;
    int64_t wake_ns; /* when what was just found waiting may go on; INT64_MAX: by a call only */
    atomic_long violations;
    long too_new;

    int is_initialized;
    int is_ended;
    int is_forked;
    CUresult sticky;

    int is_virtual;
    int is_free; /* of cost */
    int is_logging;
    int n_faults; /* that are set */
    int ends_at_exit;
    int64_t virtual_ns;
    int64_t gpu_offset_ns;
    int64_t gpu_drift_ppb;
    int64_t gpu_tick_ns;
    int driver_version;
    int n_devices;
    struct fakecuda_device devices[FAKECUDA_MAX_DEVICES];
    struct fake_context *primary[FAKECUDA_MAX_DEVICES];
    struct fake_context *contexts; /* those that are gone, too */
    struct fake_capture *captures;
};

/* What belongs to a thread. */
struct fake_thread {
    unsigned epoch;
    uint64_t number;
    int in_callback;
    CUstreamCaptureMode capture_mode;
    int depth; /* of the stack of contexts, the current one on top */
    CUcontext stack[64];
};

extern struct fake_state fake;

/* What the entry points that timing calls again and again may leave out, so that one word decides
 * it. All that could make it wrong passes fake_unlock, which sets it. */
enum fake_shortcut {
    FAKE_NO_SHORTCUT,
    FAKE_PLAIN,  /* zero cost, and nothing can refuse a call: no fault, no capture, no end ... */
    FAKE_HOLLOW, /* fakecuda_hollow */
};
extern enum fake_shortcut fake_shortcut;

extern long fake_calls[]; /* of each symbol */

/* The calling thread's. */
struct fake_thread *fake_self(void);

/* Begin a call: count it, and say whether it fails before it does anything. Holds the lock on
 * success only. */
CUresult fake_enter(enum fake_symbol symbol);
void fake_leave(enum fake_symbol symbol, CUresult result);

void fake_lock(void);
void fake_unlock(void);

/* Define an entry point; the expression is its result. */
#define FAKE_ENTRY(symbol, parameters, expression)   \
    CUresult symbol parameters                       \
    {                                                \
        CUresult result = fake_enter(FAKE_##symbol); \
        if (result == CUDA_SUCCESS) {                \
            result = (expression);                   \
            fake_leave(FAKE_##symbol, result);       \
        }                                            \
        return result;                               \
    }

#define FAKE_HOLLOW_MS 0.0032f

/* The same for one with shortcuts: where it is hollow, `hollow` is all it does. */
#define FAKE_SHORT_ENTRY(symbol, parameters, expression, hollow) \
    CUresult symbol parameters                                   \
    {                                                            \
        if (fake_shortcut == FAKE_PLAIN) {                       \
            fake_calls[FAKE_##symbol]++;                         \
            return (expression);                                 \
        }                                                        \
        if (fake_shortcut == FAKE_HOLLOW) {                      \
            hollow;                                              \
            return CUDA_SUCCESS;                                 \
        }                                                        \
        CUresult result = fake_enter(FAKE_##symbol);             \
        if (result == CUDA_SUCCESS) {                            \
            result = (expression);                               \
            fake_leave(FAKE_##symbol, result);                   \
        }                                                        \
        return result;                                           \
    }

/* fakecuda_fail. */
CUresult fake_set_fault(const char *symbol, int code, int skip, int times);

/* A number that was not given before. */
uint64_t fake_new_id(void);

/* Like calloc, but ends the program when there is no memory: a test cannot go on without. */
void *fake_alloc(size_t size);

/* --- settings.c ------------------------------------------------------------------------------ */

/* Set defaults, then what the environment says. */
void fake_settings(void);

/* --- handles.c: what a handle stands for ----------------------------------------------------- */

enum fake_kind {
    FAKE_CONTEXT = 1,
    FAKE_GREEN,
    FAKE_STREAM,
    FAKE_EVENT,
    FAKE_MODULE,
    FAKE_FUNCTION,
    FAKE_GRAPH,
    FAKE_NODE,
    FAKE_EXEC,
};

void *fake_handle_new(enum fake_kind kind, void *object);
void fake_handle_free(void *handle);

struct fake_slot {
    enum fake_kind kind; /* 0 when it is free */
    uint32_t uses;
    uint32_t next_free;
    void *object;
};
extern struct fake_slot *fake_slots;
extern uint32_t fake_n_slots;

static inline uintptr_t fake_handle_bits(uint32_t slot)
{
    return (uintptr_t)1 << 46 | (uintptr_t)(fake_slots[slot].uses & 0x3fff) << 32 |
           (uintptr_t)slot << 4;
}

/* NULL unless the handle is one of this kind that was not freed. */
static inline void *fake_object(enum fake_kind kind, const void *handle)
{
    uint32_t i = (uint32_t)(uintptr_t)handle >> 4;
    int is_good =
        i < fake_n_slots && fake_handle_bits(i) == (uintptr_t)handle && fake_slots[i].kind == kind;
    return is_good ? fake_slots[i].object : NULL;
}

/* Call a function for every object of a kind; it may free the object and its handle. */
void fake_each(enum fake_kind kind, void (*function)(void *object, void *data), void *data);
void fake_handles_clear(void);

/* --- clock.c --------------------------------------------------------------------------------- */

int64_t fake_real_now(void);

static inline int64_t fake_now(void)
{
    return fake.is_virtual ? fake.virtual_ns : fake_real_now();
}

/* What the devices' clock shows at a time of the host's. */
static inline int64_t fake_gpu_ns(int64_t host_ns)
{
    int64_t gpu_ns = host_ns + fake.gpu_offset_ns;
    if (fake.gpu_drift_ppb)
        gpu_ns += (int64_t)((__int128)host_ns * fake.gpu_drift_ppb / 1000000000);
    if (!(fake.gpu_tick_ns & (fake.gpu_tick_ns - 1))) /* most devices' are powers of two */
        return gpu_ns & -fake.gpu_tick_ns;
    int64_t past_tick = gpu_ns % fake.gpu_tick_ns;
    return gpu_ns - (past_tick < 0 ? past_tick + fake.gpu_tick_ns : past_tick);
}

/* Note that something can go on at a time. */
void fake_wake_at(int64_t ns);

/* Wait until a function of an object is true; the lock is free meanwhile. */
void fake_wait(int (*is_done)(void *object), void *object);

/* --- context.c ------------------------------------------------------------------------------- */

enum { FAKE_LEAST_PRIORITY = 0, FAKE_GREATEST_PRIORITY = -5 };

struct fake_context {
    CUcontext handle;
    uint64_t id;
    int device;
    int is_primary;
    int is_alive;
    unsigned references; /* of a primary context */
    unsigned flags;
    struct fake_green *green; /* NULL for an ordinary one */
    struct fake_stream *streams;
    struct fake_stream *legacy; /* among them */
    struct fake_context *next;
};

struct fake_green {
    CUgreenCtx handle;
    struct fake_context *context;
};

/* The current context, or the one with a handle, if it can be used; NULL is the current one. */
CUresult fake_context_get(CUcontext handle, struct fake_context **context);

/* For fake_wait. */
int fake_context_is_idle(void *context);
void fake_contexts_clear(void);

/* --- queue.c: operations and when they end --------------------------------------------------- */

enum fake_op_kind {
    FAKE_WORK,
    FAKE_HOLD,
    FAKE_WAIT,
    FAKE_RECORD,
    FAKE_HOST,
    FAKE_COPY,
    FAKE_FILL,
    FAKE_KERNEL,
    FAKE_EVENT_NODE, /* in graphs only: a record of an event that is made when the graph runs */
};

/* One recording of an event; what waits for it keeps it. */
struct fake_record {
    int references;
    int is_known;
    int64_t end_ns; /* once it is known */
    struct fake_stream *stream;
    struct fake_shared *shared; /* with other processes, which see the end there; or NULL */
    uint32_t sequence;          /* in there */
};

struct fake_op {
    enum fake_op_kind kind;
    int64_t queued_ns;
    struct fake_op *next;
    size_t size; /* of this, with the arguments */
    union {
        int64_t work_ns;
        struct fake_record *record; /* of FAKE_WAIT and FAKE_RECORD */
        CUevent event;
        struct {
            int is_over;
            int64_t end_ns;
        } hold;
        struct {
            CUhostFn function;
            void *data;
        } host;
        struct {
            void *to;
            const void *from;
            size_t size;
        } copy;
        struct {
            void *to;
            size_t size;
            unsigned char value;
        } fill;
        struct {
            const struct fake_kernel *kernel;
            unsigned grid[3], block[3];
        } launch;
    };
    _Alignas(16) unsigned char arguments[];
};

/* Nodes of a graph, none twice. */
struct fake_set {
    CUgraphNode *nodes;
    size_t n;
};

struct fake_stream {
    CUstream handle;
    uint64_t id;
    struct fake_context *context;
    unsigned flags;
    int priority;
    uint64_t thread;  /* whose per-thread default stream it is, or 0 */
    int is_destroyed; /* its handle is; it goes once it is idle */
    int is_busy;      /* being worked on, perhaps by a thread that is in a host function */
    int64_t tail_ns;  /* when all that is known ends */
    struct fake_op *first, *last; /* what is not known yet */
    struct fake_capture *capture;
    struct fake_set captured; /* what the next node in the capture depends on */
    struct fake_stream *next;
};

struct fake_op *fake_op_new(enum fake_op_kind kind, size_t n_argument_bytes);
struct fake_op *fake_op_copy(const struct fake_op *op);
void fake_op_free(struct fake_op *op);

struct fake_record *fake_record_new(void);
void fake_record_drop(struct fake_record *record);
int fake_record_is_done(struct fake_record *record);

/* Hand an operation over: to the stream's queue, or to the capture it is in. */
CUresult fake_submit(struct fake_stream *stream, struct fake_op *op);

/* To the queue, whatever the state of captures. */
void fake_queue(struct fake_stream *stream, struct fake_op *op);
void fake_queue_record(struct fake_stream *stream, struct fake_record *record);

/* For fake_wait, too. */
int fake_stream_is_idle(void *stream);

struct fake_stream *fake_stream_new(struct fake_context *context, unsigned flags, int priority);

/* End a stream with what it has queued, none of which will take place. */
void fake_stream_drop(struct fake_stream *stream);

/* Free the destroyed streams of a context that are idle by now. */
void fake_streams_reap(struct fake_context *context);

/* --- stream.c -------------------------------------------------------------------------------- */

/* What a special handle stands for, in the current context. */
CUresult fake_stream_find(CUstream handle, struct fake_stream **stream);

/* What a handle stands for. */
static inline CUresult fake_stream_get(CUstream handle, struct fake_stream **stream)
{
    struct fake_stream *found = fake_object(FAKE_STREAM, handle);
    if (!found)
        return fake_stream_find(handle, stream);
    *stream = found;
    return CUDA_SUCCESS;
}

/* --- event.c and ipc.c ----------------------------------------------------------------------- */

struct fake_event {
    CUevent handle;
    struct fake_context *context;
    unsigned flags;
    struct fake_record *record; /* the last one, or NULL */
    uint64_t capture_id;        /* of the capture it was recorded in last, or 0 */
    struct fake_set captured;   /* what it stands for in there */
    struct fake_shared *shared; /* of an interprocess event */
};

struct fake_event *fake_event_new(struct fake_context *context, unsigned flags);
void fake_event_free(struct fake_event *event);

/* Record an event now; outside of captures. */
void fake_event_record(struct fake_event *event, struct fake_stream *stream);

/* A place that other processes see, named in a handle; NULL when it cannot be made or found. */
struct fake_shared *fake_shared_create(void);
struct fake_shared *fake_shared_open(const CUipcEventHandle *handle);
void fake_shared_name(const struct fake_shared *shared, CUipcEventHandle *handle);

/* Take its name away; what waits for it may still look at it. */
void fake_shared_drop(struct fake_shared *shared);

/* Say that a recording is pending, and its number; then when it ends. */
uint32_t fake_shared_begin(struct fake_shared *shared);
void fake_shared_end(struct fake_shared *shared, uint32_t sequence, int64_t end_ns);
int fake_shared_is_last(const struct fake_shared *shared, uint32_t sequence);

/* Whether the end of the last recording, in whichever process, is known; 0 if there was none. */
int fake_shared_is_known(const struct fake_shared *shared, int64_t *end_ns);
void fake_shared_clear(void);

/* --- capture.c ------------------------------------------------------------------------------- */

struct fake_capture {
    uint64_t id;
    CUstreamCaptureMode mode;
    CUstreamCaptureStatus status;
    uint64_t thread;
    struct fake_stream *origin;
    struct fake_graph *graph;
    struct fake_capture *next;
};

/* Whether a capture prohibits an unsafe call to this thread; if so it is invalidated. */
int fake_capture_forbids(void);

/* Whether the stream is a legacy one that must not be used since a blocking stream captures. */
int fake_capture_is_implicit(const struct fake_stream *stream);
void fake_capture_invalidate(struct fake_stream *stream);

/* What a capture makes of an operation: sets *is_taken and takes it if it becomes a node. */
CUresult fake_capture_op(struct fake_stream *stream, struct fake_op *op, int *is_taken);

/* The same for a wait. *is_taken: there is nothing more to do. */
CUresult fake_capture_wait(struct fake_stream *stream, struct fake_event *event, unsigned flags,
                           int *is_taken);

/* The same for a record. */
CUresult fake_capture_record(struct fake_stream *stream, struct fake_event *event, unsigned flags,
                             int *is_taken);

/* Take a stream that goes out of the capture it is in. */
void fake_capture_leave(struct fake_stream *stream);
void fake_captures_clear(void);

/* --- graph.c --------------------------------------------------------------------------------- */

struct fake_node {
    CUgraphNode handle;
    struct fake_op *op;
    struct fake_set dependencies;
};

struct fake_graph {
    CUgraph handle;
    struct fake_node **nodes; /* what a node depends on comes before it */
    size_t n_nodes;
};

struct fake_graph *fake_graph_new(void);
void fake_graph_free(struct fake_graph *graph);
struct fake_node *fake_graph_add(struct fake_graph *graph, struct fake_op *op,
                                 const struct fake_set *dependencies);
void fake_graphs_clear(void);

void fake_set_add(struct fake_set *set, CUgraphNode node);
void fake_set_join(struct fake_set *set, const struct fake_set *other);
void fake_set_clear(struct fake_set *set);

/* --- kernel.c -------------------------------------------------------------------------------- */

struct fake_kernel {
    char name[128];
    int64_t work_ns;
    fakecuda_kernel_fn function;
    unsigned n_arguments;
    size_t argument_sizes[FAKECUDA_MAX_ARGUMENTS];
    struct fake_kernel *next;
};

/* Take a launched kernel's place: what it takes, in ns. */
int64_t fake_kernel_run(struct fake_op *op);

/* Define one; a NULL name is for all that have none. */
struct fake_kernel *fake_kernel_define(const char *name, int64_t work_ns);
void fake_modules_clear(struct fake_context *context);
void fake_kernels_clear(void);

/* --- memory.c -------------------------------------------------------------------------------- */

/* Free what was allocated in a context; in any, if it is NULL. */
void fake_memory_clear(const struct fake_context *context);

#endif
