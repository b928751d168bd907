/* link.h - packets between the ranks of a run, whoever carries them, and the tree they go along.
 *
 * The tree: the parent of a rank is the rank without its lowest bit, so that its subtree is
 * the ranks from itself on, and merging itself, then its children from the nearest on, keeps
 * ranks in order.
 *
 * Every wait ends at the deadline. After RKC_ETIMEOUT or RKC_EMPI operations are pending for
 * good: link, packets and what they refer to must stay as they are.
 */
#ifndef RKC_LINK_H
#define RKC_LINK_H

#include <stdint.h>

#include <rankclock/status.h>

#include "finish.h"
#include "pack.h"

/* An operation under way, as its carrier knows it. */
struct rkc_pending {
    void *handle;
};

enum { RKC_AGREE_MAX = 4, RKC_TELL_MAX = 8 };

/* None of these blocks; each returns 0 or RKC_EMPI. */
struct rkc_carrier {
    int (*test)(struct rkc_pending *pending, int *done);

    /* Begun by all ranks in the same order. The first makes each of the `n` values, RKC_AGREE_MAX
     * at most, the largest of any rank; while it is under way nothing else is. */
    int (*agree)(void *context, int64_t *values, int n, struct rkc_pending *pending);
    /* Bytes of every rank to rank 0, rank by rank; `all` is rank 0's alone. */
    int (*gather)(void *context, const void *data, int bytes, void *all,
                  struct rkc_pending *pending);
    /* Bytes of rank 0, RKC_TELL_MAX at most, to all. */
    int (*tell)(void *context, void *data, int bytes, struct rkc_pending *pending);
    /* Set our messages apart from the program's; and once that is done. */
    int (*separate)(void *context, struct rkc_pending *pending);
    void (*separated)(void *context);

    /* After that. Messages between two ranks with one tag arrive in order. */
    int (*send)(void *context, const void *data, int bytes, int to, int tag,
                struct rkc_pending *pending);
    /* A message of at most `bytes`. */
    int (*receive)(void *context, void *data, int bytes, int from, int tag,
                   struct rkc_pending *pending);
};

struct rkc_link {
    const struct rkc_carrier *carrier;
    void *context; /* the carrier's own */
    int rank, size;
    int64_t deadline_ns; /* rkc_clock_monotonic_ns() */
};

enum { RKC_CHILDREN_MAX = 31 };

/* What a packet begins with; the body follows in messages of its own. */
struct rkc_head {
    uint64_t bytes;
    int32_t status; /* of the sender, or of those it speaks for */
    uint32_t n_paths, row_metrics;
    int32_t folded; /* call paths have lost their own numbers */
    int32_t stop;   /* not 0: there will be no file, for this reason */
    int32_t zero;
    struct rkc_finish_sums sums;
};

/* A packet to send; zero it to begin. */
struct rkc_outgoing {
    struct rkc_head head;
    struct rkc_buffer body;
    struct rkc_pending pending[2 * RKC_CHILDREN_MAX];
    int n_pending;
};

/* The last packet received; zero it to begin. */
struct rkc_incoming {
    struct rkc_head head;
    char *body; /* malloc'ed */
};

/* Wait for an operation. 0, RKC_EMPI or RKC_ETIMEOUT. */
RKC_API int rkc_private_wait(const struct rkc_carrier *carrier, struct rkc_pending *pending,
                             int64_t deadline_ns);
int rkc_link_wait(const struct rkc_link *link, struct rkc_pending *pending);

int rkc_link_send(const struct rkc_link *link, const void *data, int bytes, int to, int tag,
                  struct rkc_pending *pending);
int rkc_link_receive(const struct rkc_link *link, void *data, int bytes, int from, int tag,
                     struct rkc_pending *pending);

int rkc_link_parent(const struct rkc_link *link);
/* Children from the nearest on; -1 past the last. */
int rkc_link_child(const struct rkc_link *link, int i);

/* Make a packet ready to be filled: sent, and empty. */
int rkc_packet_renew(const struct rkc_link *link, struct rkc_outgoing *out);
/* The body is complete. Where memory ran out the packet says so and has none. */
void rkc_packet_seal(struct rkc_outgoing *out);
/* Send a packet, which must not be touched then until it is settled. */
int rkc_packet_post(const struct rkc_link *link, struct rkc_outgoing *out, int to, int tag);
/* The same to all children, the largest subtree first. */
int rkc_packet_post_down(const struct rkc_link *link, struct rkc_outgoing *out, int tag);
int rkc_packet_settle(const struct rkc_link *link, struct rkc_outgoing *out);

/* Receive a packet, in place of the one before. A body for which there is no memory is let
 * go, and the packet's status is RKC_ENOMEM. */
int rkc_packet_receive(const struct rkc_link *link, struct rkc_incoming *in, int from, int tag);

static inline struct rkc_cursor rkc_packet_body(const struct rkc_incoming *in)
{
    return (struct rkc_cursor){.at = in->body, .end = in->body + in->head.bytes};
}

#endif
