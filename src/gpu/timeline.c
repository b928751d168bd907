/* timeline.c - what one gets wrong here: rounding to the tick mends the float's error only while
 * that is less than half a tick, so a link must be short, not merely finished. */
#include "autoconf.h"

#include "gpu/timeline.h"

#include <stddef.h>
#include <string.h>

/* Ticks that devices are known to have, or may have, in ns, from the coarsest on: the largest that
 * divides all that was seen is taken. */
static const int64_t candidates[] = {1000, 512, 500, 256, 250, 128, 100, 64, 50, 40, 32, 25, 20, 16,
                                     10, 8};
enum { CANDIDATES = sizeof candidates / sizeof *candidates };

static const float LEARN_MS = 1; /* the float is exact to 0.06 ns up to here */
static const double NEAR_NS = 0.2;

static int divides(int64_t tick_ns, float ms)
{
    double ns = (double)ms * 1e6;
    double off = ns - (double)(tick_ns * rkc_nearest(ns / (double)tick_ns));
    return off < NEAR_NS && off > -NEAR_NS;
}

/* Whether a time is another one than those seen; then it is remembered while there is room. */
static int is_new(struct rkc_tick *tick, float ms)
{
    for (uint32_t i = 0; i < tick->n; i++)
        if (tick->seen[i] == ms)
            return 0;
    if (tick->n < RKC_TICKS_SEEN)
        tick->seen[tick->n++] = ms;
    return 1;
}

void rkc_tick_learn(struct rkc_tick *tick, float ms)
{
    if (ms <= 0 || ms > LEARN_MS)
        return;
    if (tick->n == RKC_TICKS_SEEN && (tick->ns <= 1 || divides(tick->ns, ms)))
        return;
    if (tick->n == 0)
        tick->fits = (1u << CANDIDATES) - 1;
    if (!is_new(tick, ms))
        return;
    for (int i = 0; i < CANDIDATES; i++)
        if (!divides(candidates[i], ms))
            tick->fits &= ~(1u << i);
    tick->ns = 1;
    if (tick->n == RKC_TICKS_SEEN && tick->fits)
        tick->ns = candidates[__builtin_ctz(tick->fits)];
    tick->per_ms = 1e6 / (double)tick->ns;
}

int64_t rkc_elapsed_step_ns(float ms)
{
    float size = ms < 0 ? -ms : ms, next;
    uint32_t bits;
    memcpy(&bits, &size, sizeof bits);
    bits++;
    memcpy(&next, &bits, sizeof next);
    return 1 + (int64_t)((double)(next - size) * 1e6);
}

struct rkc_anchor *rkc_timeline_anchor(struct rkc_timeline *timeline, uint32_t i)
{
    if (i >= timeline->n || i >= RKC_ANCHORS)
        return NULL;
    return &timeline->anchor[(timeline->n - 1 - i) % RKC_ANCHORS];
}

void *rkc_timeline_spare(const struct rkc_timeline *timeline)
{
    return timeline->anchor[timeline->n % RKC_ANCHORS].event;
}

void rkc_timeline_push(struct rkc_timeline *timeline, const struct rkc_anchor *anchor)
{
    timeline->anchor[timeline->n++ % RKC_ANCHORS] = *anchor;
}

void rkc_timeline_link(struct rkc_timeline *timeline, struct rkc_anchor *anchor,
                       const struct rkc_anchor *from, float ms)
{
    anchor->is_known = 1;
    if (!from)
        return;
    rkc_tick_learn(&timeline->tick, ms);
    anchor->position_ns = from->position_ns + rkc_tick_round(&timeline->tick, ms);
    anchor->blur_ns = from->blur_ns + rkc_elapsed_blur_ns(ms);
}

int64_t rkc_position_span(const struct rkc_position *from, const struct rkc_position *to,
                          int64_t *blur_ns)
{
    int64_t blur = to->blur_ns - from->blur_ns;
    *blur_ns = blur < 0 ? -blur : blur;
    return to->ns > from->ns ? to->ns - from->ns : 0;
}
