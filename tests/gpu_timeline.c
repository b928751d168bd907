/* gpu_timeline.c - the arithmetic of device time, on a device whose clock the test makes up. */
#include "autoconf.h"

#include "gpu/cover.h"
#include "gpu/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "tap.h"

/* What the driver gives for two instants of a clock with ticks. */
static float elapsed(int64_t from_ns, int64_t to_ns, int64_t tick_ns)
{
    return (float)((double)(to_ns / tick_ns * tick_ns - from_ns / tick_ns * tick_ns) * 1e-6);
}

static uint64_t random_state = 88172645463325252u;

static uint64_t random_to(uint64_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % n;
}

static void test_step(void)
{
    is_int(rkc_elapsed_step_ns(250), 16, "a float of 0.25 s tells 16 ns apart");
    is_int(rkc_elapsed_step_ns(60000), 3907, "one of a minute 3.9 µs");
    is_int(rkc_elapsed_step_ns(3600000), 250001, "one of an hour 250 µs");
    is_int(rkc_elapsed_step_ns(-250), 16, "whichever came first");
}

static void learn(struct rkc_tick *tick, int64_t tick_ns)
{
    *tick = (struct rkc_tick){0};
    for (int i = 0; i < 2 * RKC_TICKS_SEEN; i++) { /* some may be equal */
        int64_t from = (int64_t)random_to(1000000000), took = 1000 + (int64_t)random_to(900000);
        rkc_tick_learn(tick, elapsed(from, from + took, tick_ns));
    }
}

static void test_tick(void)
{
    static const int64_t ticks[] = {1000, 512, 500, 256, 100, 64, 32, 20, 16, 8};
    struct rkc_tick tick;
    int bad = 0;
    for (size_t i = 0; i < sizeof ticks / sizeof *ticks; i++) {
        learn(&tick, ticks[i]);
        bad += tick.ns != ticks[i];
    }
    is_int(bad, 0, "a clock's tick is learned from short times");
    learn(&tick, 1);
    is_int(tick.ns, 1, "a clock that has none of those known has ns");
    learn(&tick, 32);
    rkc_tick_learn(&tick, 0.00064f);
    is_int(tick.ns, 32, "what is learned stays");
    struct rkc_tick wrong = {0};
    for (int i = 1; i <= RKC_TICKS_SEEN; i++)
        rkc_tick_learn(&wrong, 0.032f * (float)i);
    is_int(wrong.ns, 1000, "times that happen to be multiples of more mislead");
    rkc_tick_learn(&wrong, 0.000704f);
    is_int(wrong.ns, 64, "until another one comes");
    struct rkc_tick same = {0};
    for (int i = 1; i <= 2 * RKC_TICKS_SEEN; i++)
        rkc_tick_learn(&same, 0.0032f);
    is_int(same.ns, 1, "the same again tells nothing");
    is_int(rkc_tick_round(&tick, 0.000065f), 64, "an elapsed time is rounded to the tick");
    is_int(rkc_tick_round(&tick, -0.000065f), -64, "a negative one, too");
    struct rkc_tick unknown = {0};
    rkc_tick_learn(&unknown, 0);
    rkc_tick_learn(&unknown, 200);
    is_int(unknown.n, 0, "nothing is learned from none or from a long time");
    is_int(rkc_tick_round(&unknown, 0.000065f), 65, "as long as it is unknown it is 1 ns");
}

/* A timeline, and the device's clock at its last anchor. */
struct walk {
    struct rkc_timeline line;
    int64_t tick_ns, now_ns;
};

static void step(struct walk *walk, int64_t gap_ns)
{
    struct rkc_anchor anchor = {.event = walk};
    struct rkc_anchor *from = rkc_timeline_anchor(&walk->line, 0);
    int64_t before_ns = walk->now_ns;
    walk->now_ns += gap_ns;
    rkc_timeline_push(&walk->line, &anchor);
    rkc_timeline_link(&walk->line, rkc_timeline_anchor(&walk->line, 0),
                      walk->line.n > 1 ? from : NULL,
                      elapsed(before_ns, walk->now_ns, walk->tick_ns));
}

static int64_t true_ns(const struct walk *walk, int64_t from_ns, int64_t to_ns)
{
    return to_ns / walk->tick_ns * walk->tick_ns - from_ns / walk->tick_ns * walk->tick_ns;
}

static struct rkc_position place(struct walk *walk, int64_t at_ns)
{
    return rkc_timeline_place(&walk->line, rkc_timeline_anchor(&walk->line, 0),
                              elapsed(walk->now_ns, at_ns, walk->tick_ns));
}

/* Ten hours in links of up to 0.25 s; regions of any length begin and end on the way. */
static int64_t worst_error(int64_t tick_ns, int64_t *blur_ns)
{
    enum { OPEN = 50 };
    const int64_t hours_ns = INT64_C(36000000000000);
    struct walk walk = {.tick_ns = tick_ns, .now_ns = 7777777777};
    struct rkc_position begin[OPEN];
    int64_t begin_ns[OPEN], worst = 0, blur;
    learn(&walk.line.tick, tick_ns);
    step(&walk, 0);
    for (int i = 0; i < OPEN; i++) {
        begin_ns[i] = walk.now_ns;
        begin[i] = place(&walk, walk.now_ns);
    }
    *blur_ns = 0;
    for (int64_t end_ns = walk.now_ns + hours_ns; walk.now_ns < end_ns;) {
        step(&walk, 200000000 + (int64_t)random_to(49000000));
        int i = (int)random_to(OPEN);
        int64_t at_ns = walk.now_ns + (int64_t)random_to(200000000);
        struct rkc_position end = place(&walk, at_ns);
        int64_t error =
            rkc_position_span(&begin[i], &end, &blur) - true_ns(&walk, begin_ns[i], at_ns);
        error = error < 0 ? -error : error;
        worst = error > worst ? error : worst;
        *blur_ns = blur > *blur_ns ? blur : *blur_ns;
        if (random_to(4) == 0) {
            begin[i] = end;
            begin_ns[i] = at_ns;
        }
    }
    return worst;
}

static void test_ten_hours(void)
{
    int64_t blur_ns;
    is_int(worst_error(1000, &blur_ns), 0, "over ten hours a clock of 1 µs is followed exactly");
    is_int(worst_error(512, &blur_ns), 0, "one of 512 ns is");
    is_int(worst_error(32, &blur_ns), 0, "and one of 32 ns");
    is_int(blur_ns, 0, "no visit is called coarse");
    int64_t worst = worst_error(1, &blur_ns);
    ok(worst > 0 && worst < 6000, "without ticks to round to errors add up to a few µs");
    printf("# %lld ns\n", (long long)worst);
}

static void test_gap(void)
{
    struct walk walk = {.tick_ns = 32, .now_ns = 1000};
    int64_t blur_ns;
    learn(&walk.line.tick, 32);
    step(&walk, 0);
    struct rkc_position begin = place(&walk, walk.now_ns);
    step(&walk, 200000000);
    struct rkc_position before = place(&walk, walk.now_ns);
    step(&walk, INT64_C(60000000000));
    struct rkc_position after = place(&walk, walk.now_ns);
    step(&walk, 200000000);
    struct rkc_position end = place(&walk, walk.now_ns);
    rkc_position_span(&begin, &before, &blur_ns);
    is_int(blur_ns, 0, "short links are exact");
    rkc_position_span(&before, &after, &blur_ns);
    is_int(blur_ns, 3907, "one of a minute costs its float's step");
    rkc_position_span(&begin, &end, &blur_ns);
    is_int(blur_ns, 3907, "whoever spans it has that");
    rkc_position_span(&after, &end, &blur_ns);
    is_int(blur_ns, 0, "and nobody else");
    end = place(&walk, walk.now_ns + INT64_C(3600000000000));
    rkc_position_span(&after, &end, &blur_ns);
    is_int(blur_ns, 250001, "so does an end far from any anchor");
    begin = place(&walk, walk.now_ns - 1000);
    is_int(begin.after_ns, -992, "an event may come before its anchor");
    is_int(rkc_position_span(&end, &begin, &blur_ns), 0, "a span is never negative");
}

static void test_ring(void)
{
    struct walk walk = {.tick_ns = 32};
    ok(!rkc_timeline_anchor(&walk.line, 0), "at first there is no anchor");
    ok(!rkc_timeline_spare(&walk.line), "nor an event to use again");
    for (int i = 0; i < RKC_ANCHORS + 2; i++)
        step(&walk, 100);
    ok(rkc_timeline_anchor(&walk.line, RKC_ANCHORS - 1) != NULL &&
           !rkc_timeline_anchor(&walk.line, RKC_ANCHORS),
       "the last few are kept");
    ok(rkc_timeline_spare(&walk.line) == &walk, "and the oldest one's event is used again");
}

/* ---- cover ---- */

static int compare(const void *a, const void *b)
{
    const struct rkc_span *x = a, *y = b;
    return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

static int64_t union_of(struct rkc_span *span, int n)
{
    int64_t ns = 0, to = INT64_MIN;
    qsort(span, (size_t)n, sizeof *span, compare);
    for (int i = 0; i < n; i++) {
        int64_t from = span[i].begin_ns > to ? span[i].begin_ns : to;
        if (span[i].end_ns > from)
            ns += span[i].end_ns - from;
        to = span[i].end_ns > to ? span[i].end_ns : to;
    }
    return ns;
}

static void test_cover(void)
{
    struct rkc_cover cover = {.n = 0};
    is_int(rkc_cover_add(&cover, 10, 20), 10, "an interval covers its length");
    is_int(rkc_cover_add(&cover, 15, 25), 5, "what overlaps counts once");
    is_int(rkc_cover_add(&cover, 12, 18), 0, "what lies within not at all");
    is_int(rkc_cover_add(&cover, 40, 50), 10, "what lies apart does");
    is_int(rkc_cover_add(&cover, 0, 100), 75, "what lies around closes the gaps");
    is_int(cover.n, 1, "and is one then");
    is_int(rkc_cover_add(&cover, 7, 7) + rkc_cover_add(&cover, 9, 3), 0, "nothing is nothing");
    is_int(rkc_cover_add(&cover, -5, 0), 5, "neighbours join");
    is_int(cover.n, 1, "to one");
}

static void test_cover_random(void)
{
    enum { N = 2000, TRIALS = 50 };
    static struct rkc_span span[N];
    int wrong = 0;
    for (int trial = 0; trial < TRIALS; trial++) {
        struct rkc_cover cover = {.n = 0};
        int64_t ns = 0, at = 0;
        for (int i = 0; i < N; i++) {
            at += (int64_t)random_to(200);
            span[i].begin_ns = at - (int64_t)random_to(1000); /* some come late */
            span[i].end_ns = span[i].begin_ns + (int64_t)random_to(300);
            ns += rkc_cover_add(&cover, span[i].begin_ns, span[i].end_ns);
        }
        wrong += ns != union_of(span, N);
    }
    is_int(wrong, 0, "intervals nearly in order have their exact union");

    struct rkc_cover cover = {.n = 0};
    int64_t ns = 0;
    for (int i = 0; i < 1000; i++)
        ns += rkc_cover_add(&cover, 100 * i, 100 * i + 50);
    is_int(ns, 50000, "gaps without end need no memory");
    is_int(rkc_cover_add(&cover, 0, 100000), 65 * 50,
           "who comes far too late counts from what is kept on");
    struct rkc_cover old = {.n = 0};
    for (int i = 0; i < RKC_COVER_SPANS; i++)
        rkc_cover_add(&old, 1000 + 100 * i, 1050 + 100 * i);
    is_int(rkc_cover_add(&old, 10, 20), 10, "older than all of a full list is closed at once");
    is_int(rkc_cover_add(&old, 5, 20), 0, "and stays so");
}

int main(void)
{
    test_step();
    test_tick();
    test_ten_hours();
    test_gap();
    test_ring();
    test_cover();
    test_cover_random();
    return done_testing();
}
