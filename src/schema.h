/* schema.h - the names, units and words of the result file, for its writer and its readers. */
#ifndef RKC_SCHEMA_H
#define RKC_SCHEMA_H

#include <stdint.h>

enum { RKC_SCHEMA_MAJOR = 1, RKC_SCHEMA_MINOR = 0 };
#define RKC_SCHEMA_TEXT "1.0"

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
      "call path, shared equally among the requests a call completed")

enum rkc_metric {
#define RKC_METRIC_ENUM(id, name, unit, description) RKC_METRIC_##id,
    RKC_METRIC_LIST(RKC_METRIC_ENUM)
#undef RKC_METRIC_ENUM
    RKC_METRICS
};

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

/* Why a visit of a GPU region has no device time. */
#define RKC_GPU_REASON_LIST(X)                                                                    \
    X(CAPTURED, "captured", "the stream was being captured into a graph")                         \
    X(POOL, "pool", "too many visits were pending (RANKCLOCK_GPU_EVENTS)")                        \
    X(CONTEXT, "no_context", "a default stream was named where no context was current")           \
    X(LOST, "lost", "the context went away or failed before the device was done")                 \
    X(ERROR, "error", "the driver refused to record or to tell")

enum rkc_gpu_reason {
#define RKC_GPU_REASON_ENUM(id, name, text) RKC_GPU_##id,
    RKC_GPU_REASON_LIST(RKC_GPU_REASON_ENUM)
#undef RKC_GPU_REASON_ENUM
    RKC_GPU_REASONS
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
    X(SATURATED, "saturated", "sums too large for 64 bits, stored as the largest number")

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
