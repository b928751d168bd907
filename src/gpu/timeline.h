/* timeline.h - from elapsed times between events, which are floats, to positions in whole ns.
 *
 * An elapsed time is a float of milliseconds: its step is 15 ns at 0.25 s, 250 µs at an hour. So
 * positions are found along a chain of anchors, events that are near enough to each other that
 * every link can be rounded to the tick of the device's clock, which all events lie on.
 *
 * Arithmetic alone: no call of the driver, no clock. A timeline belongs to one context; its owner
 * keeps threads apart.
 */
#ifndef RKC_GPU_TIMELINE_H
#define RKC_GPU_TIMELINE_H

#include <stdint.h>

/* Beyond this a float cannot tell the ticks apart: what is measured across it is coarse. */
#define RKC_LINK_MAX_MS 250.0f

enum { RKC_ANCHORS = 8, RKC_TICKS_SEEN = 16 };

/* The tick of the device's clock, learned from short elapsed times; 1 ns until it is known. Only
 * different times count, for kernels that take the same multiple of it tell nothing more. */
struct rkc_tick {
    int64_t ns;
    double per_ms; /* ticks; 0 while `ns` is 0 */
    uint32_t n;
    uint32_t fits; /* bit i: the i-th candidate divides all that was seen */
    float seen[RKC_TICKS_SEEN];
};

struct rkc_anchor {
    void *event;
    int64_t position_ns;
    uint64_t host_ticks;       /* when it happened by the host's clock, */
    int64_t slack_ns;          /* give or take so much */
    int64_t blur_ns;           /* resolution lost up to here by links that were too long */
    int is_known;              /* the device has come to it, and its position is right */
};

struct rkc_timeline {
    struct rkc_tick tick;
    struct rkc_anchor anchor[RKC_ANCHORS];
    uint32_t n; /* anchors so far; the last RKC_ANCHORS of them are kept */
};

/* Where an event is. */
struct rkc_position {
    int64_t ns;
    int64_t blur_ns;           /* exact to the tick relative to positions with the same */
    const struct rkc_anchor *anchor; /* that it was found by */
    int64_t after_ns;          /* from there to here */
};

void rkc_tick_learn(struct rkc_tick *tick, float ms);

/* Without libm, which the program may not have loaded. */
static inline int64_t rkc_nearest(double x)
{
    return (int64_t)(x < 0 ? x - 0.5 : x + 0.5);
}

/* An elapsed time in ns, rounded to the tick. */
static inline int64_t rkc_tick_round(const struct rkc_tick *tick, float ms)
{
    return tick->ns ? tick->ns * rkc_nearest((double)ms * tick->per_ms)
                    : rkc_nearest((double)ms * 1e6);
}

/* The distance between neighbouring floats at an elapsed time, in ns, rounded up. */
int64_t rkc_elapsed_step_ns(float ms);

/* The resolution that is lost by an elapsed time that is too long; 0 for others. */
static inline int64_t rkc_elapsed_blur_ns(float ms)
{
    return ms > RKC_LINK_MAX_MS || ms < -RKC_LINK_MAX_MS ? rkc_elapsed_step_ns(ms) : 0;
}

/* The i-th anchor back from the last, i from 0; NULL where there is none. */
struct rkc_anchor *rkc_timeline_anchor(struct rkc_timeline *timeline, uint32_t i);

/* The event of the anchor that the next one pushes out, to be used again; or NULL. */
void *rkc_timeline_spare(const struct rkc_timeline *timeline);

/* Add an anchor that was recorded; the oldest goes. */
void rkc_timeline_push(struct rkc_timeline *timeline, const struct rkc_anchor *anchor);

/** Say where an anchor is.
 *
 * @param from  an anchor whose position is known, or NULL for the first of all
 * @param ms    elapsed from it to `anchor`
 */
void rkc_timeline_link(struct rkc_timeline *timeline, struct rkc_anchor *anchor,
                       const struct rkc_anchor *from, float ms);

/* Where an event is that comes `ms` after an anchor whose position is known; before it if
 * negative. */
static inline struct rkc_position rkc_timeline_place(struct rkc_timeline *timeline,
                                                     const struct rkc_anchor *anchor, float ms)
{
    int64_t ns = rkc_tick_round(&timeline->tick, ms), blur_ns = rkc_elapsed_blur_ns(ms);
    return (struct rkc_position){
        .ns = anchor->position_ns + ns,
        .blur_ns = anchor->blur_ns + (ms < 0 ? -blur_ns : blur_ns),
        .anchor = anchor,
        .after_ns = ns,
    };
}

/* ns between two positions, never negative; *blur_ns is what resolution was lost. */
int64_t rkc_position_span(const struct rkc_position *from, const struct rkc_position *to,
                          int64_t *blur_ns);

#endif
