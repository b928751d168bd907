/* driver.h - CUDA's driver, found at run time: a table of its functions, and whether they may be
 * called.
 *
 * Nothing here or on top of it initialises CUDA, makes a context or keeps one alive: what the
 * program has not set up is not there. A program that forks before its own cuInit would otherwise
 * lose CUDA in its children.
 */
#ifndef RKC_GPU_DRIVER_H
#define RKC_GPU_DRIVER_H

#include <stdatomic.h>
#include <stddef.h>

#include <rankclock/status.h>

#include "gpu/driver_abi.h"

struct rkc_driver {
    int version; /* as cuDriverGetVersion gives it: 13000 is 13.0 */
#define REQUIRED(member, base, version_, symbol, parameters) CUresult(*member) parameters;
#define OPTIONAL(member, base, version_, symbol, parameters) CUresult(*member) parameters;
#include "gpu/driver.def"
};

enum rkc_driver_state {
    RKC_DRIVER_CHILD,   /* in a forked child: off */
    RKC_DRIVER_UNKNOWN, /* not looked for yet */
    RKC_DRIVER_ABSENT,  /* not in the process so far, or not to be looked for */
    RKC_DRIVER_ASLEEP,  /* the program has not called cuInit so far */
    RKC_DRIVER_READY,
    RKC_DRIVER_BROKEN, /* there, and not to be used */
    RKC_DRIVER_GONE,   /* was shut down, as at the end of the process */
};

/* The state lies where a forked child finds it zero. */
extern _Atomic int *rkc_driver_state_word;
extern struct rkc_driver rkc_driver_table;

static inline enum rkc_driver_state rkc_driver_state(void)
{
    return (enum rkc_driver_state)atomic_load_explicit(rkc_driver_state_word, memory_order_acquire);
}

/* The driver's functions, or NULL when none may be called now. Costs a load or two. */
static inline const struct rkc_driver *rkc_driver_get(void)
{
    return rkc_driver_state() == RKC_DRIVER_READY ? &rkc_driver_table : NULL;
}

/** Look for the driver, as RANKCLOCK_GPU says; again as long as it may still come.
 *
 * @return 0 when it is ready, RKC_ENOMEM, RKC_ENODEVICE when it sees no device, or RKC_ENODRIVER;
 *   rkc_driver_reason says more
 *
 * Thread-safe; keeps errno. A miss costs 3 to 18 µs: not for the hot path, which asks
 * rkc_driver_get alone.
 */
int rkc_driver_find(void);

/* Why it is not ready; NULL when it is. The text is constant for each state. */
const char *rkc_driver_reason(void);

/* Write the reason on stderr if a user has to know: a driver is there that cannot be used, or
 * RANKCLOCK_GPU=on finds none. Once in a process. */
void rkc_driver_say(void);

/* rkc_driver_status of what is no success. */
int rkc_driver_failure(CUresult result);

/** The status for a result of the driver's.
 *
 * @return 0; RKC_ENOTREADY, which is no failure; RKC_ENODRIVER, after which the driver is off for
 *   good if it was shut down; RKC_ELOST when the context is destroyed or an error of the program's
 *   has made it unusable; RKC_EHANDLE, RKC_ENOCONTEXT, RKC_ECAPTURE, RKC_ENOTSUP, RKC_ENODEVICE,
 *   RKC_ENOMEM; RKC_ECUDA for the rest
 */
static inline int rkc_driver_status(CUresult result)
{
    return __builtin_expect(result == RKC_CUDA_SUCCESS, 1) ? 0 : rkc_driver_failure(result);
}

/* Forget all: for tests, which begin anew with another driver. No other thread may be here. */
void rkc_driver_forget(void);

#endif
