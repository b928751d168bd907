/* link.c - every wait polls, for messages have no wait with a deadline: at first without a
 * pause, then sleeping for a share of the time waited so far. */
#include "autoconf.h"

#include "link.h"

#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "clock.h"

enum {
    PIECE = 1 << 18, /* bytes in one message: what a rank without memory can let go */
    SPIN_NS = 50000,
    SLEEP_SHARE = 4,
    SLEEP_MIN_NS = 50000,
    SLEEP_MAX_NS = 1000000,
};

static void pause_after(int64_t waited_ns)
{
    if (waited_ns < SPIN_NS) {
        sched_yield();
        return;
    }
    int64_t sleep_ns = waited_ns / SLEEP_SHARE;
    sleep_ns = sleep_ns < SLEEP_MIN_NS ? SLEEP_MIN_NS : sleep_ns;
    sleep_ns = sleep_ns > SLEEP_MAX_NS ? SLEEP_MAX_NS : sleep_ns;
    nanosleep(&(struct timespec){.tv_nsec = sleep_ns}, NULL);
}

int rkc_private_wait(const struct rkc_carrier *carrier, struct rkc_pending *pending,
                     int64_t deadline_ns)
{
    int64_t begin_ns = rkc_clock_monotonic_ns();
    for (;;) {
        int done = 0;
        int status = carrier->test(pending, &done);
        if (status != 0 || done)
            return status;
        int64_t now_ns = rkc_clock_monotonic_ns();
        if (now_ns >= deadline_ns)
            return RKC_ETIMEOUT;
        pause_after(now_ns - begin_ns);
    }
}

int rkc_link_wait(const struct rkc_link *link, struct rkc_pending *pending)
{
    return rkc_private_wait(link->carrier, pending, link->deadline_ns);
}

int rkc_link_send(const struct rkc_link *link, const void *data, int bytes, int to, int tag,
                  struct rkc_pending *pending)
{
    return link->carrier->send(link->context, data, bytes, to, tag, pending);
}

int rkc_link_receive(const struct rkc_link *link, void *data, int bytes, int from, int tag,
                     struct rkc_pending *pending)
{
    return link->carrier->receive(link->context, data, bytes, from, tag, pending);
}

int rkc_link_parent(const struct rkc_link *link)
{
    return link->rank & (link->rank - 1);
}

int rkc_link_child(const struct rkc_link *link, int i)
{
    int64_t bit = INT64_C(1) << i;
    int64_t child = link->rank + bit;
    return (link->rank & (2 * bit - 1)) == 0 && child < link->size ? (int)child : -1;
}

/* ---- packets ---- */

int rkc_packet_settle(const struct rkc_link *link, struct rkc_outgoing *out)
{
    for (int i = 0; i < out->n_pending; i++) {
        int status = rkc_link_wait(link, &out->pending[i]);
        if (status != 0)
            return status;
    }
    out->n_pending = 0;
    return 0;
}

int rkc_packet_renew(const struct rkc_link *link, struct rkc_outgoing *out)
{
    int status = rkc_packet_settle(link, out);
    if (status != 0)
        return status;
    out->head = (struct rkc_head){0};
    out->body.size = 0;
    out->body.failed = 0;
    return 0;
}

void rkc_packet_seal(struct rkc_outgoing *out)
{
    if (out->body.failed) {
        out->head.status = RKC_ENOMEM;
        out->body.size = 0;
    }
    out->head.bytes = out->body.size;
}

/* What nobody wants. Untouched in most processes, and so without memory. */
static char scrap[PIECE];

/* Bytes of a body in the piece that begins at `at`. */
static int piece_bytes(const struct rkc_head *head, uint64_t at)
{
    return head->bytes - at < PIECE ? (int)(head->bytes - at) : PIECE;
}

int rkc_packet_post(const struct rkc_link *link, struct rkc_outgoing *out, int to, int tag)
{
    struct rkc_head *head = &out->head;
    int status =
        rkc_link_send(link, head, (int)sizeof *head, to, tag, &out->pending[out->n_pending++]);
    for (uint64_t at = 0; at < head->bytes && status == 0; at += PIECE) {
        struct rkc_pending *pending = &out->pending[out->n_pending];
        status = rkc_link_send(link, out->body.data + at, piece_bytes(head, at), to, tag, pending);
        if (status == 0 && head->bytes - at > PIECE)
            status = rkc_link_wait(link, pending);
    }
    out->n_pending += head->bytes > 0;
    return status;
}

int rkc_packet_post_down(const struct rkc_link *link, struct rkc_outgoing *out, int tag)
{
    int n = 0, status = 0;
    while (rkc_link_child(link, n) >= 0)
        n++;
    while (n-- > 0 && status == 0)
        status = rkc_packet_post(link, out, rkc_link_child(link, n), tag);
    return status;
}

/* Receive the pieces of a body, or let them go where it is NULL. */
static int receive_body(const struct rkc_link *link, const struct rkc_incoming *in, int from,
                        int tag)
{
    int status = 0;
    for (uint64_t at = 0; at < in->head.bytes && status == 0; at += PIECE) {
        struct rkc_pending pending;
        status = rkc_link_receive(link, in->body ? in->body + at : scrap,
                                  piece_bytes(&in->head, at), from, tag, &pending);
        if (status == 0)
            status = rkc_link_wait(link, &pending);
    }
    return status;
}

int rkc_packet_receive(const struct rkc_link *link, struct rkc_incoming *in, int from, int tag)
{
    struct rkc_pending pending;
    free(in->body);
    in->body = NULL;
    int status = rkc_link_receive(link, &in->head, (int)sizeof in->head, from, tag, &pending);
    if (status == 0)
        status = rkc_link_wait(link, &pending);
    if (status != 0 || in->head.bytes == 0)
        return status;
    in->body = malloc(in->head.bytes);
    status = receive_body(link, in, from, tag);
    if (!in->body) {
        in->head.bytes = 0;
        in->head.status = RKC_ENOMEM;
    }
    return status;
}
