/* cover.h - how long at least one of many intervals lasted: their union, in bounded memory.
 *
 * Intervals come nearly in order. The last RKC_COVER_SPANS disjoint ones are kept for those that
 * come late; what is older than all of them is closed, and whoever comes that late counts only from
 * there on.
 */
#ifndef RKC_GPU_COVER_H
#define RKC_GPU_COVER_H

#include <stdint.h>

enum { RKC_COVER_SPANS = 64 };

/* Zero it to begin. */
struct rkc_cover {
    struct rkc_span {
        int64_t begin_ns, end_ns;
    } span[RKC_COVER_SPANS]; /* rising, disjoint */
    int n;
    int is_closed; /* something has been closed */
    int64_t closed_to_ns; /* up to here nothing more counts */
};

/* Add an interval. Returns how much of it nothing covered before. */
int64_t rkc_cover_add(struct rkc_cover *cover, int64_t begin_ns, int64_t end_ns);

#endif
