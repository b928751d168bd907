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
    X(RKC_EOVERFLOW, -15, "a number is too large")                               \
    X(RKC_ENODRIVER, -16, "no CUDA driver, or none that can be used")            \
    X(RKC_ENODEVICE, -17, "no such device")                                      \
    X(RKC_EDEVICE, -18, "not of the same device")                                \
    X(RKC_ENOCONTEXT, -19, "no CUDA context is there to be used")                \
    X(RKC_ECONTEXT, -20, "not of the same CUDA context")                         \
    X(RKC_EHANDLE, -21, "a stream or event that is not there, or no longer")     \
    X(RKC_ELOST, -22, "the CUDA context is destroyed or no longer usable")       \
    X(RKC_ECAPTURE, -23, "not possible while the stream is being captured")      \
    X(RKC_ENOTRECORDED, -24, "the event was never recorded")                     \
    X(RKC_ENOTIMING, -25, "the event was made without timing")                   \
    X(RKC_ENOTREADY, -26, "the work is not complete yet")                        \
    X(RKC_ENOTSUP, -27, "not supported")                                         \
    X(RKC_ECUDA, -28, "a CUDA call failed")                                      \
    X(RKC_ESIZE, -29, "the size of a structure is less than it must be")         \
    X(RKC_EABI, -30, "made for another version of the interface")                \
    X(RKC_EFUNCTION, -31, "a function is missing")                               \
    X(RKC_ETAKEN, -32, "the name is taken")                                      \
    X(RKC_EBACKEND, -33, "no timing backend can be used")

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
