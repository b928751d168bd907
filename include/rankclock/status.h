/* status.h - the status codes that rankclock's functions return. */
#ifndef RANKCLOCK_STATUS_H
#define RANKCLOCK_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

#ifndef RKC_API
#if defined(__GNUC__)
#define RKC_API __attribute__((visibility("default")))
#else
#define RKC_API
#endif
#endif

/* X(name, value, text) for every status, success first. */
#define RKC_STATUS_LIST(X)                                                       \
    X(RKC_OK, 0, "success")                                                      \
    X(RKC_EARG, -1, "invalid argument")                                          \
    X(RKC_ENAME, -2, "the name is NULL, empty or longer than 255 bytes")         \
    X(RKC_ENOMEM, -3, "out of memory")                                           \
    X(RKC_ENOTOPEN, -4, "no region of this name is open on this thread")         \
    X(RKC_EOFF, -5, "recording is off")                                          \
    X(RKC_ELIMIT, -6, "a limit of the call tree is reached")                     \
    X(RKC_EIO, -7, "an input or output operation failed")                        \
    X(RKC_EFORMAT, -8, "not a rankclock file, or a damaged one")                 \
    X(RKC_EVERSION, -9, "written by a newer, incompatible version of rankclock") \
    X(RKC_EEXIST, -10, "the file exists already")                                \
    X(RKC_EWRITER, -11, "the writer process could not be started or failed")     \
    X(RKC_ETIMEOUT, -12, "the other ranks did not arrive in time")               \
    X(RKC_EMPI, -13, "an MPI call failed")                                       \
    X(RKC_ENOTFOUND, -14, "not found")                                           \
    X(RKC_EOVERFLOW, -15, "a number is too large")

enum rkc_status {
#define RKC_STATUS_ENUM(name, value, text) name = value,
    RKC_STATUS_LIST(RKC_STATUS_ENUM)
#undef RKC_STATUS_ENUM
};

/** Describe a status.
 *
 * @param status  what a rankclock function returned
 *
 * @return a constant English text without a full stop; for a number that is no
 *   status, "unknown status". Never NULL, never to be freed.
 *
 * Thread-safe and async-signal-safe; usable at any time.
 */
RKC_API const char *rkc_strerror(int status);

/** Name a status, as in "RKC_ENAME".
 *
 * @return a constant text; "RKC_?" for a number that is no status.
 *
 * Thread-safe and async-signal-safe; usable at any time.
 */
RKC_API const char *rkc_status_name(int status);

#ifdef __cplusplus
}
#endif

#endif
