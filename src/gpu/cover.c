/* cover.c - spans are kept sorted, so that an interval meets a run of them, most often the last. */
#include "autoconf.h"

#include "gpu/cover.h"

#include <string.h>

static int64_t length(const struct rkc_span *span)
{
    return span->end_ns - span->begin_ns;
}

static void close_to(struct rkc_cover *cover, int64_t end_ns)
{
    cover->closed_to_ns = end_ns;
    cover->is_closed = 1;
}

/* Put an interval in place of the spans first .. last - 1, which it touches. */
static int64_t join(struct rkc_cover *cover, int first, int last, struct rkc_span whole)
{
    struct rkc_span *span = cover->span;
    int64_t before_ns = 0;
    for (int i = first; i < last; i++)
        before_ns += length(&span[i]);
    if (span[first].begin_ns < whole.begin_ns)
        whole.begin_ns = span[first].begin_ns;
    if (span[last - 1].end_ns > whole.end_ns)
        whole.end_ns = span[last - 1].end_ns;
    span[first] = whole;
    memmove(&span[first + 1], &span[last], (size_t)(cover->n - last) * sizeof *span);
    cover->n -= last - first - 1;
    return length(&whole) - before_ns;
}

/* Put an interval before the span `at`. */
static int64_t insert(struct rkc_cover *cover, int at, struct rkc_span whole)
{
    struct rkc_span *span = cover->span;
    if (cover->n == RKC_COVER_SPANS) {
        if (at == 0) {
            close_to(cover, whole.end_ns);
            return length(&whole);
        }
        close_to(cover, span[0].end_ns);
        memmove(&span[0], &span[1], (size_t)--cover->n * sizeof *span);
        at--;
    }
    memmove(&span[at + 1], &span[at], (size_t)(cover->n - at) * sizeof *span);
    span[at] = whole;
    cover->n++;
    return length(&whole);
}

int64_t rkc_cover_add(struct rkc_cover *cover, int64_t begin_ns, int64_t end_ns)
{
    if (cover->is_closed && begin_ns < cover->closed_to_ns)
        begin_ns = cover->closed_to_ns;
    if (begin_ns >= end_ns)
        return 0;
    int last = cover->n;
    while (last > 0 && cover->span[last - 1].begin_ns > end_ns)
        last--;
    int first = last;
    while (first > 0 && cover->span[first - 1].end_ns >= begin_ns)
        first--;
    struct rkc_span whole = {begin_ns, end_ns};
    return first < last ? join(cover, first, last, whole) : insert(cover, first, whole);
}
