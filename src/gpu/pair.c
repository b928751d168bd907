/* pair.c - the length of a visit comes from its own two events as long as a float can tell it, else
 * from where they are on the chain's timeline. */
#include "autoconf.h"

#include "gpu/pair.h"

#include <stdatomic.h>

#include "calltree.h"
#include "clock.h"
#include "gpu/driver.h"
#include "thread.h"

/* ---- what a visit gave ---- */

static struct rkc_timed *timed_of(struct rkc_node *node, const char *base)
{
    if (node->timed)
        return rkc_image_at(base, node->timed);
    struct rkc_timed *timed = rkc_thread_new_block(RKC_BLOCK_TIMED, sizeof *timed);
    if (!timed)
        return NULL;
    timed->node = rkc_image_unit(base, node);
    atomic_store_explicit(&timed->min_ns, UINT64_MAX, memory_order_relaxed);
    rkc_image_publish(&timed->block);
    node->timed = rkc_image_unit(base, timed);
    return timed;
}

/* Only the holder of the list's lock writes these. */
static void add(_Atomic uint64_t *to, uint64_t more)
{
    atomic_store_explicit(to, atomic_load_explicit(to, memory_order_relaxed) + more,
                          memory_order_relaxed);
}

static void set(_Atomic uint64_t *to, uint64_t value, int where)
{
    if (where)
        atomic_store_explicit(to, value, memory_order_relaxed);
}

void rkc_pair_refuse(struct rkc_node *node, const char *base, enum rkc_gpu_reason reason)
{
    struct rkc_timed *timed = timed_of(node, base);
    if (timed)
        add(&timed->unavailable[reason], 1);
}

enum rkc_gpu_reason rkc_pair_reason(int status)
{
    switch (status) {
    case RKC_ECAPTURE:
        return RKC_GPU_CAPTURED;
    case RKC_ELIMIT:
        return RKC_GPU_POOL;
    case RKC_ENOCONTEXT:
        return RKC_GPU_CONTEXT;
    case RKC_ELOST:
    case RKC_ENODRIVER:
        return RKC_GPU_LOST;
    default:
        return RKC_GPU_ERROR;
    }
}

static void book(struct rkc_node *node, const char *base, int64_t ns, int64_t blur_ns)
{
    struct rkc_timed *timed = timed_of(node, base);
    if (!timed)
        return;
    uint64_t took = (uint64_t)ns, blur = (uint64_t)blur_ns;
    add(&timed->visits, 1);
    add(&timed->ns, took);
    set(&timed->min_ns, took, took < atomic_load_explicit(&timed->min_ns, memory_order_relaxed));
    set(&timed->max_ns, took, took > atomic_load_explicit(&timed->max_ns, memory_order_relaxed));
    if (blur == 0)
        return;
    add(&timed->coarse, 1);
    set(&timed->coarse_ns, blur,
        blur > atomic_load_explicit(&timed->coarse_ns, memory_order_relaxed));
}

/* From the host's begin to the device's, where the anchor ties the clocks together. */
static void book_lag(struct rkc_pair *pair, const char *base, const struct rkc_position *begin)
{
    const int64_t usable_ns = 100000;
    if (pair->has_lag || begin->anchor->slack_ns > usable_ns ||
        begin->blur_ns != begin->anchor->blur_ns)
        return;
    int64_t since = (int64_t)(pair->host_begin - begin->anchor->host_ticks);
    uint64_t size = (uint64_t)(since < 0 ? -since : since);
    int64_t host_ns = rkc_clock_ns(size, rkc_tree_rate());
    int64_t lag_ns = begin->after_ns - (since < 0 ? -host_ns : host_ns);
    struct rkc_timed *timed = timed_of(pair->node, base);
    pair->has_lag = 1;
    if (!timed)
        return;
    add(&timed->lag_visits, 1);
    add(&timed->lag_ns, lag_ns > 0 ? (uint64_t)lag_ns : 0);
}

/* ---- settling: the chain's lock is held ---- */

/* Find where a pair's begin is, while anchors are near. */
static int pin(struct rkc_pair *pair, const char *base)
{
    struct rkc_position begin;
    int status = rkc_chain_place(rkc_chain_at(pair->chain), pair->begin, &begin);
    if (status != 0)
        return status;
    pair->begin_ns = begin.ns;
    pair->begin_blur = begin.blur_ns < UINT32_MAX ? (uint32_t)begin.blur_ns : UINT32_MAX;
    pair->is_pinned = 1;
    book_lag(pair, base, &begin);
    return 0;
}

/* The length of a visit that is too long for one float. */
static int span_of(struct rkc_pair *pair, const char *base, float ms, int64_t *ns, int64_t *blur_ns)
{
    struct rkc_chain *chain = rkc_chain_at(pair->chain);
    struct rkc_position begin = {.ns = 0}, end;
    int status = pair->is_pinned ? 0 : pin(pair, base);
    if (status == 0)
        status = rkc_chain_place(chain, pair->end, &end);
    if (status == RKC_ENOTFOUND) { /* no anchors */
        *ns = rkc_tick_round(&chain->timeline.tick, ms);
        *blur_ns = rkc_elapsed_step_ns(ms);
        return 0;
    }
    begin.ns = pair->begin_ns;
    begin.blur_ns = pair->begin_blur;
    if (status == 0)
        *ns = rkc_position_span(&begin, &end, blur_ns);
    return status;
}

/* Book a pair if the device is done with it: 0, RKC_ENOTREADY, or why it never will be. */
static int settle(struct rkc_pair *pair, const char *base)
{
    struct rkc_chain *chain = rkc_chain_at(pair->chain);
    float ms;
    int64_t ns, blur_ns = 0;
    int status = rkc_driver_status(rkc_driver_table.event_elapsed(&ms, pair->begin, pair->end));
    if (status != 0)
        return status;
    if (ms >= -RKC_LINK_MAX_MS && ms <= RKC_LINK_MAX_MS) {
        rkc_tick_learn(&chain->timeline.tick, ms);
        ns = rkc_tick_round(&chain->timeline.tick, ms);
        if (!pair->is_pinned)
            pin(pair, base);
    } else {
        status = span_of(pair, base, ms, &ns, &blur_ns);
    }
    if (status != 0)
        return status;
    if (ns < 0) /* an end on another stream, which was there first */
        ns = 0;
    struct rkc_position at = {.ns = pair->begin_ns};
    rkc_chain_cover(chain, pair->is_pinned ? &at : NULL, ns);
    book(pair->node, base, ns, blur_ns);
    return 0;
}

/* ---- for the lists ---- */

static int is_usable(struct rkc_chain *chain)
{
    return !atomic_load_explicit(&chain->is_lost, memory_order_relaxed) && rkc_driver_get();
}

void rkc_pair_pin(struct rkc_pair *pair, const char *base, struct rkc_chain **held)
{
    struct rkc_chain *chain = rkc_chain_at(pair->chain);
    if (pair->is_pinned || !is_usable(chain))
        return;
    rkc_chain_hold(held, chain);
    pin(pair, base);
}

/* A context that is gone takes its pairs' events along; each is counted when it is met. */
int rkc_pair_settle(struct rkc_pair *pair, const char *base, struct rkc_chain **held)
{
    struct rkc_chain *chain = rkc_chain_at(pair->chain);
    if (!is_usable(chain))
        return RKC_ELOST;
    rkc_chain_hold(held, chain);
    int status = settle(pair, base);
    if (status == RKC_ELOST || status == RKC_EHANDLE)
        rkc_chain_lose(chain);
    return status == RKC_EHANDLE ? RKC_ELOST : status;
}
