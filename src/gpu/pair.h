/* pair.h - the events at the begin and the end of one visit, and what the device's clock makes of
 * them.
 *
 * Whoever calls has the lock of the pair's list. The locks of chains are taken here: *held is the
 * chain whose lock the caller has meanwhile, to be given up by rkc_chain_hold(held, NULL).
 */
#ifndef RKC_GPU_PAIR_H
#define RKC_GPU_PAIR_H

#include <stdint.h>

#include "gpu/driver_abi.h"
#include "gpu/chain.h"
#include "image.h"

struct rkc_pair {
    CUevent begin, end;
    struct rkc_node *node;
    uint64_t host_begin; /* ticks */
    int64_t begin_ns;    /* where the begin is, once pinned */
    uint32_t begin_blur; /* ns, at most UINT32_MAX */
    uint32_t next;
    int16_t chain;
    uint8_t is_pinned, has_lag;
};

_Static_assert(sizeof(struct rkc_pair) <= 64, "what a pending pair may take");

/* Count a visit of a node without device time, and why; `base` is the image's. */
void rkc_pair_refuse(struct rkc_node *node, const char *base, enum rkc_gpu_reason reason);

/* The reason that a status stands for. */
enum rkc_gpu_reason rkc_pair_reason(int status);

/* Find where a pair's begin is, while anchors are near, if the device has come to it. */
void rkc_pair_pin(struct rkc_pair *pair, const char *base, struct rkc_chain **held);

/* Book a pair's visit if the device is done with it: 0, RKC_ENOTREADY, or why it never will be. */
int rkc_pair_settle(struct rkc_pair *pair, const char *base, struct rkc_chain **held);

#endif
