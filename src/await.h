/* await.h - what a rank does while it waits in MPI_Finalize for the others: see whether one of them
 * runs without rankclock, so that nobody waits in vain, and tell what is known of those that are
 * awaited.
 */
#ifndef RKC_AWAIT_H
#define RKC_AWAIT_H

#include <stdint.h>

#include "link.h"

/** Wait for an operation that ends when all ranks have come.
 *
 * @param began_ns    rkc_clock_monotonic_ns() when the first such wait of this process began
 * @param timeout_s   RANKCLOCK_FINALIZE_TIMEOUT, for the message
 * @param deadline_ns on the same clock
 *
 * @return 0, RKC_EMPI or RKC_ETIMEOUT: at the deadline, or as soon as it is certain that not all
 *   will come
 */
int rkc_await(const struct rkc_link *link, struct rkc_pending *pending, int64_t began_ns,
              int timeout_s, int64_t deadline_ns);

/* Why the others are waited for no longer, for a message; NULL: it was the deadline, if anything.
 */
const char *rkc_await_why(void);

/* Waiting is over, and the image saved if it has to be: let the others know what this rank has
 * seen. */
void rkc_await_end(void);

#endif
