/* timed.h - the device side of regions: events at begin and end, pairs that are pending until the
 * device is done, and what becomes of them.
 *
 * Each thread has a list of pairs, and each context a chain of anchors, shared by the threads. A
 * pair belongs to one context, whose events it keeps. Nothing here waits for the device but
 * rkc_timed_drain, and with RANKCLOCK_GPU_SYNC.
 */
#ifndef RKC_GPU_TIMED_H
#define RKC_GPU_TIMED_H

#include <stdint.h>

#include "gpu/driver_abi.h"
#include "thread.h"

/* Before the first of all: how many pairs a thread may have, and whether ends are waited for
 * (RANKCLOCK_GPU_SYNC). */
void rkc_timed_init(uint32_t capacity, int sync);

/* Record the begin of a visit that has just begun on the host. What cannot be recorded is
 * counted. */
void rkc_timed_begin(struct rkc_thread *thread, struct rkc_node *node, CUstream stream);

/* Record the end of the visit of `node`, which ends next on the host. */
void rkc_timed_end(struct rkc_thread *thread, struct rkc_node *node, CUstream stream);

/* Look at what is pending in the calling thread, at most now and then; for whoever enters the
 * library. */
void rkc_timed_poll(struct rkc_thread *thread);
RKC_API void rkc_private_timed_poll(void);

/* Recording has stopped: wait until all threads' pairs are done, for `limit_ns` at most, and count
 * the rest as lost. */
void rkc_timed_drain(int64_t limit_ns);

/* How often pending pairs are looked at, and what lasts is pinned to the timeline; tests change
 * it. */
extern int64_t rkc_timed_poll_ns, rkc_timed_pin_ns;

/* Forget all, for tests, which begin anew with another driver. */
void rkc_timed_forget(void);

#endif
