/* gather.h - small profiles go to rank 0 as they are, all at once.
 *
 * It takes collective operations alone, in which nothing of the program's can be mixed up with
 * ours, and so needs no communicator of our own, and it takes few steps: all agree on the size of
 * a packet, rank 0 gets one from each rank, says that it has them, and after the file was
 * written how it went. What is too large goes by reduce.h.
 */
#ifndef RKC_GATHER_H
#define RKC_GATHER_H

#include <stdint.h>

#include "collect.h"
#include "link.h"

/* Zero it to begin. After RKC_ETIMEOUT or RKC_EMPI it must stay as it is. */
struct rkc_gather {
    int64_t bytes; /* of a packet: at first what this rank needs, then what all agreed on */
    int64_t room;  /* the most there may be */
    struct rkc_buffer packet;
    char *all; /* rank 0: the packets of all ranks */
    struct rkc_pending pending;
    int64_t soon_ns; /* set by the caller: the deadline of what is no work of rank 0's */
    int32_t again;   /* rank 0's word on the packets: not 0, take reduce.h */
    int32_t status;  /* and on the file */
};

/* What the packet of an image needs at most, with something for what other threads may add. */
int64_t rkc_gather_bytes(const struct rkc_image *image);

/* The same of all but the head of a packet: gather_bytes.c. */
int64_t rkc_gather_body_bytes(const struct rkc_image *image);

/* Get ready to agree on gather->bytes, whose maximum over ranks holds; `bytes` is what this rank
 * needs. What can fail is done here: without memory the rank asks for more than there may be. */
void rkc_gather_prepare(struct rkc_gather *gather, const struct rkc_link *link, int64_t bytes);

/* Whether packets of the size agreed on can be gathered. All ranks get the same answer. */
static inline int rkc_gather_fits(const struct rkc_gather *gather)
{
    return gather->bytes <= gather->room;
}

/** Bring the profiles of all ranks to rank 0 and into the sink. Every rank calls it.
 *
 * @param gather  what was agreed on; freed
 * @param again   set to 1 when the profiles turned out too large: rkc_reduce is to be called
 *
 * The rest is as in rkc_reduce, but that rank 0 needs memory for all packets.
 */
int rkc_gather(const struct rkc_link *link, struct rkc_gather *gather, struct rkc_local *local,
               int rows, struct rkc_sink *sink, char text[RKC_SINK_TEXT_MAX], int64_t *write_ns,
               int *again);

void rkc_gather_free(struct rkc_gather *gather);

#endif
