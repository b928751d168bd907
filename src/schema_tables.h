/* schema_tables.h - the columns of the result file's tables, for its writer and its readers. */
#ifndef RKC_SCHEMA_TABLES_H
#define RKC_SCHEMA_TABLES_H

enum rkc_column_kind { RKC_COLUMN_INT, RKC_COLUMN_TEXT };

/* A column is a dataset in its table's group: int64, or text of one fixed length. */
struct rkc_column {
    const char *name;
    enum rkc_column_kind kind;
    const char *units, *description;
};

#define RKC_COLUMN_ENUM(id, name, kind, units, description) RKC_##id,
#define RKC_COLUMN_ROW(id, name, kind, units, description) \
    {name, RKC_COLUMN_##kind, units, description},

/* X(id, name, kind, units, description) */
#define RKC_RANKS_LIST(X)                                                                       \
    X(RANKS_RANK, "rank", INT, "1", "number of the process in MPI_COMM_WORLD, rising")          \
    X(RANKS_NODE, "node", INT, "index", "its node, a row of /nodes")                            \
    X(RANKS_PID, "pid", INT, "1", "process id")                                                 \
    X(RANKS_LOCAL_RANK, "local_rank", INT, "1", "its number among the ranks of its node")       \
    X(RANKS_CPU, "cpu", INT, "1", "processor it last ran on")                                   \
    X(RANKS_THREADS, "threads", INT, "1", "threads that recorded something")                    \
    X(RANKS_WALL, "wall_ns", INT, "ns", "from the begin of measuring to its end")               \
    X(RANKS_INIT, "init_ns", INT, "ns", "of wall_ns, time in MPI_Init")                         \
    X(RANKS_MPI, "mpi_ns", INT, "ns", "time in MPI, MPI_Init included, on the thread with the " \
      "most")                                                                                   \
    X(RANKS_USEFUL, "useful_ns", INT, "ns", "wall_ns less MPI and known waiting for a device")  \
    X(RANKS_OVERHEAD, "overhead_ns", INT, "ns", "time that measuring itself took")              \
    X(RANKS_STATE, "state", TEXT, "text", "how it ended: running, finalized, aborted, signal; " \
      "running means that its end was not seen")                                                \
    X(RANKS_SIGNAL, "signal", INT, "1", "number of the signal that ended it, or 0")             \
    X(RANKS_OPEN, "open_callpath", INT, "index", "innermost call path open at the end, or -1")  \
    X(RANKS_START, "start_unix_ns", INT, "ns", "begin of measuring, since 1970 UTC")            \
    X(RANKS_UNTIL, "measured_until_unix_ns", INT, "ns", "end of measuring, since 1970 UTC")

/* Beside these where a rank used a device. */
#define RKC_RANKS_DEVICE_LIST(X)                                                                \
    X(RANKS_DEVICE, "device", INT, "index", "the device it used most, a row of /devices, or -1") \
    X(RANKS_DEVICE_NS, "device_ns", INT, "ns", "device time on all its devices, or -1")

#define RKC_NODES_LIST(X) X(NODES_NAME, "name", TEXT, "text", "host name")

#define RKC_REGIONS_LIST(X)                                                        \
    X(REGIONS_NAME, "name", TEXT, "text", "name given by the program, or of the "  \
      "MPI function")                                                              \
    X(REGIONS_KIND, "kind", TEXT, "text", "root, user, mpi or other")              \
    X(REGIONS_FILE, "file", TEXT, "text", "source file where known, else empty")   \
    X(REGIONS_LINE, "line", INT, "1", "line in that file, 0 where unknown")

#define RKC_CALLPATHS_LIST(X)                                                                 \
    X(CALLPATHS_PARENT, "parent", INT, "index", "call path that encloses it; less than its "  \
      "own index, and -1 for the root, which is row 0")                                       \
    X(CALLPATHS_REGION, "region", INT, "index", "its innermost region, a row of /regions")    \
    X(CALLPATHS_DEPTH, "depth", INT, "1", "regions above it, 0 for the root")

#define RKC_TRANSFERS_LIST(X)                                                                 \
    X(TRANSFERS_CALLPATH, "callpath", INT, "index", "call path of the MPI calls")             \
    X(TRANSFERS_CALL, "call", INT, "index", "the MPI function, a row of /regions")            \
    X(TRANSFERS_SEND_KIND, "send_kind", TEXT, "text", "memory sent from: host, pinned, "      \
      "device, managed, unknown; none where nothing was sent")                                \
    X(TRANSFERS_RECV_KIND, "recv_kind", TEXT, "text", "memory received into: the same words") \
    X(TRANSFERS_CALLS, "calls", INT, "1", "calls, over all ranks; beside other memory than "  \
      "the host's, operations, of which a call may start several")                            \
    X(TRANSFERS_BYTES_SENT, "bytes_sent", INT, "bytes", "payload handed to MPI")              \
    X(TRANSFERS_BYTES_RECEIVED, "bytes_received", INT, "bytes", "payload that arrived, "      \
      "booked to the call that posted the receive")                                           \
    X(TRANSFERS_NS, "ns", INT, "ns", "time in the calls")                                     \
    X(TRANSFERS_BLOCKED, "blocked_ns", INT, "ns", "time spent in completion calls for "       \
      "requests of these calls")                                                              \
    X(TRANSFERS_IN_FLIGHT, "in_flight_ns", INT, "ns", "time from the calls to the "           \
      "completion of their requests")

/* Beside these from schema 1.2 on. */
#define RKC_TRANSFERS_KIND_LIST(X)                                                            \
    X(TRANSFERS_SEND_DEVICE, "send_device", INT, "1", "number that the rank knows the "       \
      "device by whose memory was sent from, or -1")                                          \
    X(TRANSFERS_RECV_DEVICE, "recv_device", INT, "1", "the same of the memory received into") \
    X(TRANSFERS_NONCONTIGUOUS, "noncontiguous", INT, "1", "of the operations, those whose "   \
      "datatype has gaps; -1 for host memory, which is not asked")

/* There where a symmetric collective was called. */
#define RKC_WAITS_LIST(X)                                                                     \
    X(WAITS_CALLPATH, "callpath", INT, "index", "call path of the collective")                \
    X(WAITS_COMM_KEY, "comm_key", INT, "1", "tells communicators apart; the same for those "  \
      "of the same members")                                                                  \
    X(WAITS_COMM_SIZE, "comm_size", INT, "1", "ranks in the communicator")                    \
    X(WAITS_COMM_FIRST, "comm_first", INT, "1", "the lowest rank in it, as in /ranks")        \
    X(WAITS_RANKS, "ranks", INT, "1", "of these ranks, those that called here")               \
    X(WAITS_CALLS, "calls", INT, "1", "calls of the rank that called most; of each rank, if " \
      "wait_ns is known")                                                                     \
    X(WAITS_SUM, "sum_ns", INT, "ns", "time in the calls, over the ranks")                    \
    X(WAITS_LEAST, "least_ns", INT, "ns", "time of the rank with the least")                  \
    X(WAITS_MOST, "most_ns", INT, "ns", "time of the rank with the most")                     \
    X(WAITS_WAIT, "wait_ns", INT, "ns", "a lower bound of waiting: sum_ns less ranks x "      \
      "least_ns; -1 where not all ranks of the communicator called equally often")            \
    X(WAITS_AWAITED, "awaited_rank", INT, "1", "the rank with the least time, for which the " \
      "others wait")                                                                          \
    X(WAITS_SYNC, "sync_ns", INT, "ns", "of sum_ns, time in a barrier of rankclock's put "    \
      "before each call (RANKCLOCK_MPI_SYNC); -1 if there was none")

/* There where messages were counted by pairs of ranks. */
#define RKC_MATRIX_LIST(X)                                                                    \
    X(MATRIX_SOURCE, "source", INT, "1", "the rank that the data come from, or -1: ranks "    \
      "that the target had no room to tell apart")                                            \
    X(MATRIX_TARGET, "target", INT, "1", "the rank that they go to, or -1: ranks that the "   \
      "source had no room to tell apart")                                                     \
    X(MATRIX_MESSAGES, "messages", INT, "1", "how many")                                      \
    X(MATRIX_BYTES, "bytes", INT, "bytes", "their payload")

#define RKC_DEVICES_LIST(X)                                                                   \
    X(DEVICES_NODE, "node", INT, "index", "its node, a row of /nodes")                        \
    X(DEVICES_INDEX, "index", INT, "1", "number that the first rank to use it knows it by; "  \
      "ranks that see a part of the devices count for themselves")                            \
    X(DEVICES_NAME, "name", TEXT, "text", "product name")                                     \
    X(DEVICES_UUID, "uuid", TEXT, "text", "GPU-... or MIG-..., empty where unknown")          \
    X(DEVICES_BUS_ID, "pci_bus_id", TEXT, "text", "domain:bus:device.function")               \
    X(DEVICES_DRIVER, "driver_version", INT, "1", "CUDA version of the driver: 1000 x major " \
      "+ 10 x minor")                                                                         \
    X(DEVICES_NUMA, "numa_node", INT, "1", "NUMA node of the host that the device is near "   \
      "to, -1 where the system does not tell; since schema 1.2")

#define RKC_DEVICE_USE_LIST(X)                                                                \
    X(DEVICE_USE_RANK, "rank", INT, "1", "a rank of /ranks, rising")                          \
    X(DEVICE_USE_DEVICE, "device", INT, "index", "a device that it used, a row of /devices")  \
    X(DEVICE_USE_INDEX, "index", INT, "1", "number that the rank knows the device by")        \
    X(DEVICE_USE_COVERED, "covered_ns", INT, "ns", "time in which at least one of the rank's " \
      "GPU regions was at work on the device: their union")                                   \
    X(DEVICE_USE_NS, "device_ns", INT, "ns", "device time of the rank's GPU regions: their "  \
      "sum")                                                                                  \
    X(DEVICE_USE_NUMA, "rank_numa_node", INT, "1", "NUMA node of the processor that the rank " \
      "ran on when it first used the device, -1 where the system does not tell; since "       \
      "schema 1.2")

#define RKC_NOTES_LIST(X)                                                             \
    X(NOTES_KIND, "kind", TEXT, "text", "what happened, in one word")                 \
    X(NOTES_REGION, "region", INT, "index", "the region concerned, or -1")            \
    X(NOTES_RANK, "rank", INT, "1", "the first rank that has it, or -1")              \
    X(NOTES_COUNT, "count", INT, "1", "how often it happened, over all ranks")        \
    X(NOTES_TEXT, "text", TEXT, "text", "what it means, or more about it")

enum {
    RKC_RANKS_LIST(RKC_COLUMN_ENUM) RKC_RANKS_DEVICE_LIST(RKC_COLUMN_ENUM) RKC_RANKS_COLUMNS,
    RKC_RANKS_HOST_COLUMNS = RKC_RANKS_DEVICE
};
enum { RKC_NODES_LIST(RKC_COLUMN_ENUM) RKC_NODES_COLUMNS };
enum { RKC_REGIONS_LIST(RKC_COLUMN_ENUM) RKC_REGIONS_COLUMNS };
enum { RKC_CALLPATHS_LIST(RKC_COLUMN_ENUM) RKC_CALLPATHS_COLUMNS };
enum {
    RKC_TRANSFERS_LIST(RKC_COLUMN_ENUM) RKC_TRANSFERS_KIND_LIST(RKC_COLUMN_ENUM)
    RKC_TRANSFERS_COLUMNS,
    RKC_TRANSFERS_OLD_COLUMNS = RKC_TRANSFERS_SEND_DEVICE
};
enum { RKC_WAITS_LIST(RKC_COLUMN_ENUM) RKC_WAITS_COLUMNS };
enum { RKC_MATRIX_LIST(RKC_COLUMN_ENUM) RKC_MATRIX_COLUMNS };
/* NUMA nodes come last, for files of schema 1.1 lack them. */
enum { RKC_DEVICES_LIST(RKC_COLUMN_ENUM) RKC_DEVICES_COLUMNS };
enum { RKC_DEVICE_USE_LIST(RKC_COLUMN_ENUM) RKC_DEVICE_USE_COLUMNS };
enum { RKC_NOTES_LIST(RKC_COLUMN_ENUM) RKC_NOTES_COLUMNS };

/* X(id, name, unit, prefix of the description): the datasets of a metric in /profile.
 * A unit of NULL is the metric's own, "^2" that squared. */
#define RKC_PROFILE_STAT_LIST(X)                                          \
    X(SUM, "sum", NULL, "sum over ranks: ")                               \
    X(MIN, "min", NULL, "least over ranks: ")                             \
    X(MAX, "max", NULL, "most over ranks: ")                              \
    X(SUMSQ, "sumsq", "^2", "sum of squares over ranks: ")                \
    X(MIN_RANK, "min_rank", "1", "the rank with the least: ")             \
    X(MAX_RANK, "max_rank", "1", "the rank with the most: ")              \
    X(RANKS, "ranks", "1", "how many ranks have it: ")

enum {
#define RKC_PROFILE_STAT_ENUM(id, name, unit, prefix) RKC_PROFILE_##id,
    RKC_PROFILE_STAT_LIST(RKC_PROFILE_STAT_ENUM)
#undef RKC_PROFILE_STAT_ENUM
    RKC_PROFILE_STATS
};

/* X(name, description): facts of /job with a meaning known here; others may follow. */
#define RKC_FACT_LIST(X)                                                                      \
    X("launcher", "what started the ranks")                                                   \
    X("mpi_library", "MPI_Get_library_version, its first line")                               \
    X("mpi_standard", "version of the MPI standard that the library follows")                 \
    X("thread_level", "MPI thread support that was provided")                                 \
    X("gpu_aware", "whether the MPI library takes device buffers: yes, no, unknown")          \
    X("gpu_aware_by", "what said so: the function or variable of the MPI library")            \
    X("gpu", "GPU timing: its driver interface and version, or why there is none")            \
    X("gpu_driver", "version of the GPU's kernel driver")                                     \
    X("clock_source", "clock that the times come from")                                       \
    X("program", "file name of the program")                                                  \
    X("command", "command line of rank 0, as far as it is to be stored")                      \
    X("job_id", "number of the batch job")                                                    \
    X("job_raw", "of a job array's task the number that it has as a job of its own")          \
    X("job_step", "step of the batch job")                                                    \
    X("restart", "how often the batch job was restarted")                                     \
    X("run_id", "identifies the run")                                                         \
    X("world_id", "identifies the MPI_COMM_WORLD within the run")                             \
    X("perturbing", "settings that change the program's timing")                              \
    X("other_tools", "other measuring tools found in the process")                            \
    X("per_rank_rows", "which metrics /per_rank holds: all, host (times alone) or none")      \
    X("overhead_method", "how overhead_ns was found")

#endif
