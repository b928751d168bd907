/* peers.h - the peers of ranks on their way to rank 0: only ranks that have some send any. */
#ifndef RKC_PEERS_H
#define RKC_PEERS_H

#include "collect.h"
#include "link.h"

/* Those of ranks one after the other; zero it to begin. After a deadline it must stay as it is. */
struct rkc_peer_list {
    struct rkc_rank_peer *peers; /* malloc'ed */
    size_t n, capacity;
    int failed; /* memory ran out, and a rank's peers were let go */
    struct rkc_incoming in;
};

/* Begin to send the peers of a rank that has some to rank 0: `out`, zeroed before, is a packet to
 * be settled, whose body is not its own. 0, RKC_EMPI or RKC_ETIMEOUT. */
int rkc_peers_send(const struct rkc_link *link, const struct rkc_local *local, int tag,
                   struct rkc_outgoing *out);

/* As rkc_devices_take. */
int rkc_peers_take(struct rkc_peer_list *list, const struct rkc_link *link, int from, int tag,
                   const struct rkc_local *local, struct rkc_rank_row *row);

void rkc_peers_free(struct rkc_peer_list *list);

#endif
