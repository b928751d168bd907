/* devices.h - the devices of ranks on their way to rank 0: only ranks that have some send any. */
#ifndef RKC_DEVICES_H
#define RKC_DEVICES_H

#include "collect.h"
#include "link.h"

/* Those of a block of ranks; zero it to begin. After a deadline it must stay as it is. */
struct rkc_device_list {
    struct rkc_rank_device *devices; /* malloc'ed */
    size_t n, capacity;
    int failed; /* memory ran out, and a rank's devices were let go */
    struct rkc_rank_device arriving[RKC_RANK_DEVICES_MAX];
};

/* Begin to send the devices of a rank that has some to rank 0. 0 or RKC_EMPI. */
int rkc_devices_send(const struct rkc_link *link, const struct rkc_local *local, int tag,
                     struct rkc_pending *pending);

/** Append the devices that a row says its rank has.
 *
 * @param from   the rank: they are received from it; or our own, whose numbers `local` has
 * @param row    set to have none where there was no memory for them
 *
 * @return 0, RKC_EMPI or RKC_ETIMEOUT
 */
int rkc_devices_take(struct rkc_device_list *list, const struct rkc_link *link, int from, int tag,
                     const struct rkc_local *local, struct rkc_rank_row *row);

#endif
