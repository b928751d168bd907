/* schema.h - the names, units and words of the result file, for its writer and its readers. */
#ifndef RKC_SCHEMA_H
#define RKC_SCHEMA_H

#include <stdint.h>

enum { RKC_SCHEMA_MAJOR = 1, RKC_SCHEMA_MINOR = 2 };
#define RKC_SCHEMA_TEXT "1.2"

/* Why a visit of a GPU region has no device time: ROW(X, id, name, text). */
#define RKC_GPU_REASON_ROWS(ROW, X)                                                              \
    ROW(X, CAPTURED, "captured", "the stream was being captured into a graph")                   \
    ROW(X, POOL, "pool", "too many visits were pending (RANKCLOCK_GPU_EVENTS)")                  \
    ROW(X, CONTEXT, "no_context", "a default stream was named where no context was current")     \
    ROW(X, LOST, "lost", "the context went away or failed before the device was done")           \
    ROW(X, ERROR, "error", "the driver refused to record or to tell")

/* The same as X(id, name, text). */
#define RKC_GPU_REASON_LIST(X) RKC_GPU_REASON_ROWS(RKC_GPU_REASON_ROW, X)
#define RKC_GPU_REASON_ROW(X, id, name, text) X(id, name, text)

enum rkc_gpu_reason {
#define RKC_GPU_REASON_ENUM(id, name, text) RKC_GPU_##id,
    RKC_GPU_REASON_LIST(RKC_GPU_REASON_ENUM)
#undef RKC_GPU_REASON_ENUM
    RKC_GPU_REASONS
};

/* X(id, name, unit, description): one number for each call path and rank. */
#define RKC_METRIC_LIST(X)                                                                     \
    X(VISITS, "visits", "1", "begin/end pairs of the call path, visits that were not timed "   \
      "included; for an MPI call path, its calls")                                             \
    X(INCLUSIVE, "inclusive_ns", "ns", "host time in the call path, call paths below it "      \
      "included, summed over the rank's threads")                                              \
    X(EXCLUSIVE, "exclusive_ns", "ns", "host time in the call path but in none below it")      \
    X(MPI, "mpi_ns", "ns", "host time in MPI calls made in the call path or below it")         \
    X(USEFUL, "useful_ns", "ns", "host time neither in MPI nor in regions marked as waiting "  \
      "for a device")                                                                          \
    X(VISIT_MIN, "visit_min_ns", "ns", "shortest timed visit")                                 \
    X(VISIT_MAX, "visit_max_ns", "ns", "longest timed visit")                                  \
    X(THREADS, "threads", "1", "threads that visited the call path")                           \
    X(SLOWEST_THREAD, "slowest_thread_ns", "ns", "inclusive time of the thread with the most") \
    X(UNCLOSED, "unclosed", "1", "visits that the program did not end: closed at thread "      \
      "exit, at the end of the run or by the end of an outer region")                          \
    X(SAMPLED_OUT, "sampled_out", "1", "visits that were counted but not timed")               \
    X(BYTES_SENT, "bytes_sent", "bytes", "payload handed to MPI")                              \
    X(BYTES_RECEIVED, "bytes_received", "bytes", "payload that arrived, booked to the call "   \
      "that posted the receive")                                                               \
    X(IN_FLIGHT, "in_flight_ns", "ns", "time from a nonblocking call to the completion of "    \
      "its request, summed over requests")                                                     \
    X(BLOCKED, "blocked_ns", "ns", "time spent in completion calls for requests of this "      \
      "call path, shared equally among the requests a call completed")                         \
    X(DEVICE_VISITS, "device_visits", "1", "visits of a GPU region with device time")          \
    X(DEVICE, "device_ns", "ns", "time on the device's clock between the begin and the end "   \
      "of the visits on their streams; not added up over the regions inside, nor to host time") \
    X(DEVICE_MIN, "device_visit_min_ns", "ns", "shortest visit on the device")                 \
    X(DEVICE_MAX, "device_visit_max_ns", "ns", "longest visit on the device")                  \
    X(LAG, "launch_lag_ns", "ns", "from the begin of a visit on the host to its begin on the " \
      "device, summed over the visits of which both are known")                                \
    X(LAG_VISITS, "launch_lag_visits", "1", "visits whose launch lag is known")                \
    X(COARSE, "device_coarse", "1", "of device_visits, those not exact to the event clock's "  \
      "tick")                                                                                  \
    X(RESOLUTION, "device_resolution_ns", "ns", "the worst resolution among them")             \
    RKC_GPU_REASON_ROWS(RKC_GPU_REASON_METRIC, X)

/* Those that GPU regions alone have come last. */
#define RKC_HOST_METRICS RKC_METRIC_DEVICE_VISITS

#define RKC_GPU_REASON_METRIC(X, id, name, text) \
    X(DEVICE_##id, "device_" name, "1", "visits of a GPU region without device time: " text)

enum rkc_metric {
#define RKC_METRIC_ENUM(id, name, unit, description) RKC_METRIC_##id,
    RKC_METRIC_LIST(RKC_METRIC_ENUM)
#undef RKC_METRIC_ENUM
    RKC_METRICS
};

/* Sets of metrics have bit 1 << metric for each. */
#define RKC_ALL_METRICS ((UINT32_C(1) << RKC_METRICS) - 1)
#define RKC_GPU_METRICS (RKC_ALL_METRICS & ~((UINT32_C(1) << RKC_HOST_METRICS) - 1))

/* Those that are in a file only if some call path has them. */
#define RKC_RARE_METRICS                                                                           \
    (RKC_GPU_METRICS | UINT32_C(1) << RKC_METRIC_IN_FLIGHT | UINT32_C(1) << RKC_METRIC_BLOCKED |   \
     UINT32_C(1) << RKC_METRIC_SAMPLED_OUT | UINT32_C(1) << RKC_METRIC_UNCLOSED)
_Static_assert(RKC_METRICS < 32 && RKC_METRIC_DEVICE_CAPTURED + RKC_GPU_REASONS == RKC_METRICS,
               "a set is one word, and the reasons are the last metrics, in their order");

/* Kinds of region; the number is what images and streams hold. */
#define RKC_REGION_KIND_LIST(X) \
    X(ROOT, "root")             \
    X(USER, "user")             \
    X(MPI, "mpi")               \
    X(OTHER, "other")

enum rkc_region_kind {
#define RKC_REGION_KIND_ENUM(id, name) RKC_REGION_##id,
    RKC_REGION_KIND_LIST(RKC_REGION_KIND_ENUM)
#undef RKC_REGION_KIND_ENUM
    RKC_REGION_KINDS
};

/* Where the memory lies that MPI sends from or receives into. */
#define RKC_MEMORY_KIND_LIST(X) \
    X(NONE, "none")             \
    X(HOST, "host")             \
    X(PINNED, "pinned")         \
    X(DEVICE, "device")         \
    X(MANAGED, "managed")       \
    X(UNKNOWN, "unknown")

enum rkc_memory_kind {
#define RKC_MEMORY_KIND_ENUM(id, name) RKC_KIND_##id,
    RKC_MEMORY_KIND_LIST(RKC_MEMORY_KIND_ENUM)
#undef RKC_MEMORY_KIND_ENUM
    RKC_KINDS
};

/* How a process ended, as far as its image knows. */
#define RKC_STATE_LIST(X)     \
    X(RUNNING, "running")     \
    X(FINALIZED, "finalized") \
    X(ABORTED, "aborted")     \
    X(SIGNAL, "signal")

enum rkc_state {
#define RKC_STATE_ENUM(id, name) RKC_STATE_##id,
    RKC_STATE_LIST(RKC_STATE_ENUM)
#undef RKC_STATE_ENUM
    RKC_STATES
};

/* What can go wrong with a measurement without ending it: rows of /notes. */
#define RKC_NOTE_LIST(X)                                                                        \
    X(END_WITHOUT_BEGIN, "end_without_begin", "region ends ignored: it was not open on the "    \
      "thread")                                                                                 \
    X(END_CROSSING, "end_crossing", "regions ended while inner regions were open, which were "  \
      "closed with them")                                                                       \
    X(UNCLOSED, "unclosed", "visits still open at thread exit or at the end")                   \
    X(DEPTH, "depth", "begins nested deeper than 256, counted in \"(deep)\"")                   \
    X(NAMES, "names", "begins of regions beyond 8,192 names, counted in \"(other)\"")           \
    X(NODES, "nodes", "begins on call paths beyond the limit, counted in \"(other)\"")          \
    X(BAD_NAME, "bad_name", "region names refused: NULL, empty or too long")                    \
    X(CLOCK, "clock", "visits whose clock went backwards, counted with no time")                \
    X(LOST, "lost", "visits that could not be recorded")                                        \
    X(REQUESTS, "requests", "nonblocking operations whose request could not be tracked")        \
    X(FREED, "freed", "requests freed by the program before they completed")                    \
    X(DAMAGED, "damaged", "parts of an image that could not be read")                           \
    X(PERTURBED, "perturbed", "settings that change the program's timing were on")              \
    X(APPROXIMATE, "approximate", "times are approximate: the clock could not be calibrated")   \
    X(SAMPLED, "sampled", "visits counted but not timed; reports extrapolate and mark it")      \
    X(SATURATED, "saturated", "sums too large for 64 bits, stored as the largest number")      \
    RKC_GPU_REASON_ROWS(RKC_GPU_REASON_NOTE, X)                                                 \
    X(GPU_COARSE, "gpu_coarse", "device times not exact to the event clock's tick: nothing "    \
      "called rankclock for more than 0.25 s")                                                  \
    X(DEVICES, "devices", "devices of a rank beyond its first 16, left out")                    \
    X(TRANSFERS, "transfers", "operations on other memory than the host's whose row had no "    \
      "room: counted as the host's")                                                            \
    X(WAITS, "waits", "rows of waiting in collectives that had no room, left out")

#define RKC_GPU_REASON_NOTE(X, id, name, text) \
    X(GPU_##id, "gpu_" name, "visits without device time: " text)

enum rkc_note_kind {
#define RKC_NOTE_ENUM(id, name, text) RKC_NOTE_##id,
    RKC_NOTE_LIST(RKC_NOTE_ENUM)
#undef RKC_NOTE_ENUM
    RKC_NOTES
};

/* How much of a run a file holds. */
enum rkc_file_status { RKC_FILE_COMPLETE, RKC_FILE_PARTIAL, RKC_FILE_ABORTED };

/* What a per-rank array holds where the rank lacks the call path. */
#define RKC_ABSENT INT64_C(-1)

#endif
