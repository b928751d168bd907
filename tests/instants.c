/* instants.c - what an image tells wherever the process stands in its regions.
 *
 * The steps go over the end of a ring, which is folded there, and over regions that are new.
 */
#include "autoconf.h"

#include <rankclock/rankclock.h>

#include "steps.h"
#include "tap.h"
#include "thread.h"

enum { BEFORE_END = 8 }; /* visits at full speed until so many are left in the ring */

static void work(struct rkc_region *outer, struct rkc_region *inner)
{
    rkc_region_begin(outer);
    for (int i = 0; i < 3; i++) {
        rkc_region_begin(inner);
        rkc_region_end(inner);
    }
    rkc_region_end(outer);
}

static void visit(const char *name)
{
    rkc_begin(name);
    rkc_end(name);
}

/* One within its like, one that ends with the one it is in, some that are not timed. */
static void visit_others(void)
{
    struct rkc_region *sampled = rkc_region_get("sampled");
    rkc_region_every(sampled, 3);
    rkc_begin("itself");
    visit("itself");
    rkc_end("itself");
    rkc_begin("ends");
    rkc_begin("is ended");
    rkc_end("ends");
    for (int i = 0; i < 7; i++) {
        rkc_region_begin(sampled);
        rkc_region_end(sampled);
    }
}

static void program(void)
{
    struct rkc_region *outer = rkc_region_get("outer"), *inner = rkc_region_get("inner");
    do
        work(outer, inner);
    while (rkc_private_hot.head % RKC_RING_RECORDS < RKC_RING_RECORDS - BEFORE_END);
    steps_here();
    for (int i = 0; i < 4; i++)
        work(outer, inner);
    rkc_begin("outer");
    visit("new");
    for (int i = 0; i < 3; i++)
        visit("inner");
    rkc_end("outer");
    visit_others();
    steps_here();
}

int main(void)
{
    struct steps steps;
    if (steps_run(program, &steps) != 0) {
        printf("1..0 # SKIP processes may not be traced here\n");
        return 0;
    }
    ok(steps.instants > 1000, "a program is taken through its visits an instruction at a time");
    is_int(steps.bad, 0, "its image is whole at every instant");
    is_int(steps.visits, 21 + 4 + 7, "and no visit is lost or there twice");
    return done_testing();
}
