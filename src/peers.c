/* peers.c - a rank may have as many peers as there are ranks: they come in pieces, to be received
 * whether there is memory for them or not. */
#include "autoconf.h"

#include "peers.h"

#include <stdlib.h>
#include <string.h>

#include <rankclock/status.h>

int rkc_peers_send(const struct rkc_link *link, const struct rkc_local *local, int tag,
                   struct rkc_outgoing *out)
{
    size_t bytes = local->n_peers * sizeof *local->peers;
    out->body = (struct rkc_buffer){.data = (char *)local->peers, .size = bytes, .capacity = bytes};
    rkc_packet_seal(out);
    return rkc_packet_post(link, out, 0, tag);
}

static int append(struct rkc_peer_list *list, const void *peers, size_t n)
{
    if (list->n + n > list->capacity) {
        size_t capacity = 2 * (list->n + n);
        struct rkc_rank_peer *grown = realloc(list->peers, capacity * sizeof *grown);
        if (!grown)
            return 0;
        list->peers = grown;
        list->capacity = capacity;
    }
    memcpy(list->peers + list->n, peers, n * sizeof *list->peers);
    list->n += n;
    return 1;
}

int rkc_peers_take(struct rkc_peer_list *list, const struct rkc_link *link, int from, int tag,
                   const struct rkc_local *local, struct rkc_rank_row *row)
{
    if (row->n_peers <= 0)
        return 0;
    size_t n = (size_t)row->n_peers;
    const void *peers = local ? local->peers : NULL;
    if (from != link->rank) {
        int status = rkc_packet_receive(link, &list->in, from, tag);
        if (status != 0)
            return status;
        peers = list->in.head.bytes == n * sizeof *list->peers ? list->in.body : NULL;
    }
    if (!peers || !append(list, peers, n)) {
        list->failed = 1;
        row->n_peers = 0;
    }
    return 0;
}

void rkc_peers_free(struct rkc_peer_list *list)
{
    free(list->peers);
    free(list->in.body);
    *list = (struct rkc_peer_list){0};
}
