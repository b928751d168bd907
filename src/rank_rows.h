/* rank_rows.h - the row of each rank, with its values, devices and peers, to rank 0 and into a
 * sink. */
#ifndef RKC_RANK_ROWS_H
#define RKC_RANK_ROWS_H

#include <stdint.h>

#include "collect.h"
#include "devices.h"
#include "link.h"
#include "peers.h"
#include "sink/sink.h"

/* A sink in use. Once its status is not 0 it is left alone. */
struct rkc_outlet {
    struct rkc_sink *sink;
    int status;
    int64_t write_ns; /* spent in it */
};

/* Note what a function of the sink gave back, and how long it took. */
void rkc_outlet_did(struct rkc_outlet *outlet, int64_t begin_ns, int status);
/* The sink cannot be given what it should get, which is logged the first time. */
void rkc_outlet_fail(struct rkc_outlet *outlet, int status);

struct rkc_row_message {
    int32_t present, zero;
    struct rkc_rank_row row;
};

/* Zero it to begin. After RKC_ETIMEOUT or RKC_EMPI it must stay as it is. */
struct rkc_rank_rows {
    /* Set by the caller. */
    const struct rkc_link *link;
    struct rkc_local *local; /* NULL: this rank takes part with nothing */
    const uint32_t *map;     /* number of each of its call paths */
    uint32_t n_paths, row_metrics;

    struct rkc_row_message row;
    int64_t *values; /* of one rank, or of a block of ranks */
    struct rkc_outgoing peers_out;
    int32_t go;

    /* Rank 0 alone. */
    struct rkc_row_message *rows; /* of a block */
    int64_t *arrived;             /* its values as they come, rank by rank */
    struct rkc_rank_row *ranks;
    struct rkc_pending *pending;
    struct rkc_device_list devices; /* of as many of its ranks as go into the sink at once */
    struct rkc_peer_list peers;
    struct rkc_rank_range *missing; /* of all ranks */
    uint32_t n_missing, cap_missing;
};

/* When rank 0 asks for it, send the row. Without memory the values stay out of it. 0, RKC_EMPI or
 * RKC_ETIMEOUT. */
int rkc_rank_rows_send(struct rkc_rank_rows *rows);

/* Rank 0: gather the rows of all ranks, in blocks, and find out who is missing. The same; whatever
 * else fails is left in `outlet`. */
int rkc_rank_rows_gather(struct rkc_rank_rows *rows, struct rkc_outlet *outlet);

void rkc_rank_rows_free(struct rkc_rank_rows *rows);

#endif
